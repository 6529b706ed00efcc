// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The part of the CUDA driver's binary interface that Epifold calls.
//
// Declared here so that building needs no CUDA toolkit. Numbers and layouts are
// fixed by the driver's interface; names follow it where a reader of CUDA's
// manual would look them up.

#ifndef EPIFOLD_RUNTIME_SRC_DRIVERTYPES_H
#define EPIFOLD_RUNTIME_SRC_DRIVERTYPES_H

#include <cstddef>
#include <cstdint>

namespace epifold::runtime::driver {

using Device = int;
using DevicePointer = unsigned long long;
using Context = struct ContextObject *;
using Module = struct ModuleObject *;
using Function = struct FunctionObject *;
using Stream = struct StreamObject *;
using Event = struct EventObject *;
using LinkState = struct LinkStateObject *;
using Graph = struct GraphObject *;
using GraphExec = struct GraphExecObject *;

/// CUresult; only the values that change what Epifold does or says.
enum Result : int {
  kSuccess = 0,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kJitCompilerNotFound = 221,
  kNotFound = 500,
};

/// CUdevice_attribute.
enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerBlockOptin = 97,
};

/// CUfunction_attribute.
enum FunctionAttribute : int { kMaxDynamicSharedSizeBytes = 8 };

/// CUjit_option.
enum JitOption : int {
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferBytes = 6,
};

/// CUjitInputType.
enum JitInputType : int { kJitInputPtx = 1 };

/// CUtensorMap, whose content is the driver's.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

/// CUtensorMapDataType.
enum TensorMapType : int {
  kMapU8 = 0,
  kMapU16 = 1,
  kMapI32 = 3,
  kMapI64 = 5,
  kMapF16 = 6,
  kMapF32 = 7,
  kMapF64 = 8,
  kMapBF16 = 9,
};

/// CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion and
/// CUtensorMapFloatOOBfill.
enum TensorMapInterleave : int { kNoInterleave = 0 };
enum TensorMapSwizzle : int { kSwizzle128Bytes = 3 };
enum TensorMapPromotion : int { kPromote256Bytes = 3 };
enum TensorMapFill : int { kFillZeros = 0 };

/// CUlaunchAttribute: the value is a union of 64 bytes, of which launches here
/// use an int.
enum LaunchAttributeId : int { kProgrammaticStreamSerialization = 6 };
struct LaunchAttribute {
  LaunchAttributeId id;
  char padding[4];
  int value;
  char rest[60];
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// CUstream_flags, CUevent_flags and CUstreamCaptureMode.
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
enum CaptureMode : int { kCaptureThreadLocal = 1 };

} // namespace epifold::runtime::driver

#endif // EPIFOLD_RUNTIME_SRC_DRIVERTYPES_H
