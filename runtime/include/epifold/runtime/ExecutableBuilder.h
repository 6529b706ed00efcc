// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The content of an executable as plain structs, and its bytes.
//
// The compiler fills an ExecutableDesc and serializes it; the runtime reads the
// same structs back (see Executable.h). Indices refer to the vectors of the
// ExecutableDesc that holds them.

#ifndef EPIFOLD_RUNTIME_EXECUTABLEBUILDER_H
#define EPIFOLD_RUNTIME_EXECUTABLEBUILDER_H

#include "epifold/runtime/DataType.h"
#include "epifold/runtime/Error.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace epifold::runtime {

/// Operation of one step of an integer expression. Numbers are part of the
/// format.
enum class ExprOp : uint8_t {
  Constant = 0, ///< Pushes `value`.
  Symbol = 1,   ///< Pushes the dynamic dimension number `value`.
  Add = 2,      ///< Pops b, then a; pushes a + b. The others likewise.
  Sub = 3,
  Mul = 4,
  FloorDiv = 5, ///< Rounds toward minus infinity; a zero divisor is an error.
  CeilDiv = 6,  ///< Rounds toward plus infinity; a zero divisor is an error.
  Max = 7,
  Min = 8,
};

/// One step of a postfix program.
struct ExprStep {
  ExprOp op = ExprOp::Constant;
  int64_t value = 0; ///< Of Constant and Symbol; 0 otherwise.
  bool operator==(const ExprStep &) const = default;
};

/// An integer expression over the dynamic dimensions, in postfix order. It is
/// evaluated in 64 bits; overflow is an error, never a wrap.
struct ExprDesc {
  std::vector<ExprStep> steps;
  bool operator==(const ExprDesc &) const = default;
};

using ExprIndex = uint32_t;   ///< Into ExecutableDesc::exprs.
using BufferIndex = uint32_t; ///< Into ExecutableDesc::buffers.
using ModuleIndex = uint32_t; ///< Into ExecutableDesc::modules.

/// What a named tensor is to the caller.
enum class TensorKind : uint8_t { Input = 0, Parameter = 1, Result = 2 };

/// A named argument or result of the graph.
struct TensorDesc {
  std::string name;
  TensorKind kind = TensorKind::Input;
  DataType type = DataType::F32;
  /// Logical sizes, outermost first. A size that is a lone Symbol takes its
  /// value from the first input or parameter that carries it; every other size
  /// is checked against what the caller passed.
  std::vector<ExprIndex> shape;
  /// Memory order of a packed parameter: dimension layout[i] of the logical
  /// tensor is the i-th in memory, outermost first. Empty means as is. Only
  /// parameters may have one.
  std::vector<uint32_t> layout;
  /// Where the tensor lives. Input tensors and Input buffers pair one to one,
  /// parameters likewise; a result may live in any buffer but Status, and
  /// several results may share one.
  BufferIndex buffer = 0;
  bool operator==(const TensorDesc &) const = default;
};

/// Who fills a buffer and how long it lives.
enum class BufferKind : uint8_t {
  Scratch = 0,   ///< In the arena of a step; undefined at its start.
  Input = 1,     ///< Filled from an input tensor before each run.
  Parameter = 2, ///< Filled once, when parameters are bound.
  Result = 3,    ///< Read back after a run; undefined at its start.
  Constant = 4,  ///< `data`, uploaded once.
  Status = 5,    ///< The status word (StatusWord), reset before each run.
};

/// A piece of device memory, 256-byte aligned.
struct BufferDesc {
  BufferKind kind = BufferKind::Scratch;
  ExprIndex size = 0;        ///< Bytes; at least what its tensors need.
  std::vector<uint8_t> data; ///< Of a Constant: exactly `size` bytes.
  bool operator==(const BufferDesc &) const = default;
};

/// A kernel's code for one target.
struct ImageDesc {
  std::string target;         ///< "sm_80", "sm_90a", ...
  std::vector<uint8_t> ptx;   ///< Text, without a terminating zero.
  std::vector<uint8_t> cubin; ///< Empty, or the same kernel assembled.
  bool operator==(const ImageDesc &) const = default;
};

/// One kernel: a module with one entry.
struct ModuleDesc {
  std::string entry;             ///< Name of the `.entry` in the PTX.
  std::vector<ImageDesc> images; ///< At least one; at most one a target.
  bool operator==(const ModuleDesc &) const = default;
};

/// A pointer argument: the address of a buffer plus a byte offset.
struct PointerArg {
  BufferIndex buffer = 0;
  std::optional<ExprIndex> offset; ///< Bytes; absent means 0.
  bool operator==(const PointerArg &) const = default;
};

/// A 64-bit integer argument.
struct IntArg {
  ExprIndex value = 0;
  bool operator==(const IntArg &) const = default;
};

/// A tensor map argument: how the unit for tensor copies sees a piece of
/// memory, as a tensor of one to five dimensions that it copies box by box.
///
/// In shared memory the rows of a box lie in the 128-byte swizzle; elements
/// out of bounds are read as zeros and not written.
struct TensorMapArg {
  PointerArg base; ///< Must come out 16-byte aligned.
  DataType type = DataType::F32;
  std::vector<ExprIndex> sizes; ///< Elements, innermost first; 1 to 2^32.
  /// Bytes from one index to the next of every dimension but the innermost;
  /// multiples of 16 below 2^40.
  std::vector<ExprIndex> strides;
  /// Elements of a box in each dimension, 1 to 256; a row of it takes a
  /// multiple of 16 bytes, at most 128.
  std::vector<uint32_t> box;
  bool operator==(const TensorMapArg &) const = default;
};

/// One kernel parameter, in order: 8 bytes, or 128 of a tensor map.
using ArgDesc = std::variant<PointerArg, IntArg, TensorMapArg>;

/// A bound of the runs that a variant is for: those where `size` ≤ `most`.
struct SizeLimit {
  ExprIndex size = 0;
  int64_t most = 0;
  bool operator==(const SizeLimit &) const = default;
};

/// One way to launch a kernel. Skipped when a grid size is zero.
struct KernelVariant {
  ModuleIndex module = 0;
  std::optional<SizeLimit> limit;            ///< Absent: for any run.
  std::array<ExprIndex, 3> grid = {0, 0, 0}; ///< Blocks in x, y, z.
  std::array<uint32_t, 3> block = {1, 1, 1}; ///< Threads in x, y, z.
  uint32_t sharedBytes = 0;                  ///< Dynamic shared memory.
  std::vector<ArgDesc> args;
  /// The kernel itself waits for the end of the launch before it, so it may be
  /// started while that one still runs; then all its images are for compute
  /// capability 9.0 or later.
  bool overlapsPrevious = false;
  /// The blocks wait for one another, so all must be on the device at once.
  /// The grid is one-dimensional and says how many blocks find work; where
  /// fewer fit, that many are launched.
  bool isResident = false;
  bool operator==(const KernelVariant &) const = default;
};

/// Launches a kernel: the first of its variants whose module has an image for
/// the device, whose needs the device and its driver fulfil, and whose limit
/// the run keeps.
struct KernelLaunch {
  std::vector<KernelVariant> variants; ///< At least one.
  bool operator==(const KernelLaunch &) const = default;
};

/// Fills `size` bytes with `value`. Skipped when the size is zero.
struct MemsetLaunch {
  PointerArg target;
  ExprIndex size = 0;
  uint8_t value = 0;
  bool operator==(const MemsetLaunch &) const = default;
};

/// Copies `size` bytes between buffers. Skipped when the size is zero.
struct CopyLaunch {
  PointerArg target;
  PointerArg source;
  ExprIndex size = 0;
  bool operator==(const CopyLaunch &) const = default;
};

/// One entry of the launch plan; entries run in order.
struct LaunchDesc {
  std::variant<KernelLaunch, MemsetLaunch, CopyLaunch> body;
  std::string label;              ///< For profiles and errors: op and place.
  std::optional<ExprIndex> flops; ///< Useful floating-point operations.
  std::optional<ExprIndex> bytes; ///< Bytes that must move.
  bool operator==(const LaunchDesc &) const = default;
};

/// Everything an executable holds.
struct ExecutableDesc {
  std::string producer;             ///< Tool and version that wrote it.
  std::string fusion;               ///< The fusion set it was compiled with.
  std::vector<std::string> symbols; ///< Names of the dynamic dimensions.
  std::vector<ExprDesc> exprs;
  std::vector<TensorDesc> tensors;
  std::vector<BufferDesc> buffers;
  std::vector<ModuleDesc> modules;
  std::vector<LaunchDesc> launches;
  std::vector<uint8_t> graph; ///< MLIR bytecode, for the reference device.

  bool operator==(const ExecutableDesc &) const = default;

  /// Each returns the index of the expression, adding it when it is new.
  ExprIndex addExpr(ExprDesc expr);
  ExprIndex addConstant(int64_t value);
  ExprIndex addSymbol(uint32_t symbol);
  /// `op` applied to two earlier expressions, folded when both are constant
  /// and the result is defined.
  ExprIndex addBinary(ExprOp op, ExprIndex lhs, ExprIndex rhs);
};

/// Checks every index, expression, size and limit that can be checked before
/// the dynamic dimensions are known. Errors name the entry and the value seen.
Expected<void> validate(const ExecutableDesc &desc);

/// The bytes of an `.efx` file. `desc` must pass `validate`; the bytes depend
/// on nothing else.
std::vector<uint8_t> serialize(const ExecutableDesc &desc);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_EXECUTABLEBUILDER_H
