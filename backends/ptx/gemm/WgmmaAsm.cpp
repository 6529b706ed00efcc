// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes wgmma as inline assembly with the accumulators tied in place.

#include "backends/ptx/gemm/WgmmaAsm.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace epifold::ptx;

// A descriptor's bits 0-13: address / 16. 16-29: distance along k, not used
// with a swizzle. 32-45: distance / 16 from eight rows to the next eight.
// 62-63: the 128-byte swizzle.
static constexpr int64_t kLowBits = int64_t(1) << 16;
static constexpr int64_t kHighWord = (int64_t(1) << 30) | (1024 / 16);

Value epifold::ptx::matrixDescriptor(KernelBuilder &b, Value memory,
                                     Value byte) {
  Value first = LLVM::PtrToIntOp::create(b, b.getI32Type(), memory);
  Value address = b.bitAnd(b.shiftRight(b.add(first, byte), 4), b.i32(0x3fff));
  return b.bitOr(b.i32(kLowBits), address);
}

/// Inline assembly whose outputs are `accumulators`, each in the register it
/// comes in, and whose inputs after those are `inputs` (i32).
static KernelBuilder::Values tiedAsm(KernelBuilder &b, llvm::StringRef text,
                                     ValueRange accumulators,
                                     ValueRange inputs) {
  std::string constraints;
  llvm::raw_string_ostream stream(constraints);
  for (size_t i : llvm::seq(accumulators.size()))
    stream << (i ? ",=f" : "=f");
  for (size_t i : llvm::seq(accumulators.size()))
    stream << "," << i;
  for (size_t i = 0; i < inputs.size(); ++i)
    stream << ",r";
  stream << ",~{memory}";
  KernelBuilder::Values operands(accumulators);
  llvm::append_range(operands, inputs);
  Type type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(accumulators.getTypes()));
  Value results =
      LLVM::InlineAsmOp::create(
          b, type, operands, text, constraints, /*has_side_effects=*/true,
          /*is_align_stack=*/false, LLVM::TailCallKind::None,
          LLVM::AsmDialectAttr(), ArrayAttr())
          .getRes();
  KernelBuilder::Values values;
  for (size_t i : llvm::seq(accumulators.size()))
    values.push_back(LLVM::ExtractValueOp::create(b, results, int64_t(i)));
  return values;
}

KernelBuilder::Values epifold::ptx::startWgmma(KernelBuilder &b, Type element,
                                               ArrayRef<WgmmaPart> parts,
                                               int64_t depth,
                                               ValueRange accumulators) {
  constexpr int64_t kStep = 16;
  llvm::StringRef name = element.isF16() ? "f16" : "bf16";
  KernelBuilder::Values descriptors;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "{\n.reg .b64 a, b;\n.reg .b32 low, high;\nmov.b32 high, "
         << kHighWord << ";\nwgmma.fence.sync.aligned;\n";
  size_t input = 2 * accumulators.size();
  int64_t first = 0;
  for (const WgmmaPart &part : parts) {
    descriptors.append({part.rows, part.columnLines});
    int64_t count = part.columns / 2;
    for (int64_t k = 0; k < depth; k += kStep) {
      // A descriptor counts 16 bytes; a step is 32 bytes of a line. The sum
      // stays inside the address bits.
      for (size_t i : {0, 1})
        stream << "add.s32 low, $" << input + i << ", " << k / kStep * 2
               << ";\nmov.b64 " << "ab"[i] << ", {low, high};\n";
      stream << "wgmma.mma_async.sync.aligned.m64n" << part.columns
             << "k16.f32." << name << "." << name << " {";
      for (int64_t i : llvm::seq(count))
        stream << (i ? ", $" : "$") << first + i;
      stream << "}, a, b, 1, 1, 1, 0, 0;\n";
    }
    input += 2;
    first += count;
  }
  stream << "wgmma.commit_group.sync.aligned;\n}";
  return tiedAsm(b, text, accumulators, descriptors);
}

KernelBuilder::Values epifold::ptx::waitForWgmma(KernelBuilder &b,
                                                 ValueRange accumulators,
                                                 int64_t running) {
  return tiedAsm(
      b, "wgmma.wait_group.sync.aligned " + std::to_string(running) + ";",
      accumulators, {});
}

KernelBuilder::Values epifold::ptx::roundPairs(KernelBuilder &b, Type element,
                                               ValueRange values) {
  std::string text = std::string("cvt.rn.") +
                     (element.isF16() ? "f16x2" : "bf16x2") +
                     ".f32 $0, $2, $1;";
  KernelBuilder::Values pairs;
  for (size_t i = 0; i < values.size(); i += 2)
    pairs.push_back(LLVM::InlineAsmOp::create(
                        b, b.getI32Type(), {values[i], values[i + 1]}, text,
                        "=r,f,f", /*has_side_effects=*/false,
                        /*is_align_stack=*/false, LLVM::TailCallKind::None,
                        LLVM::AsmDialectAttr(), ArrayAttr())
                        .getRes());
  return pairs;
}
