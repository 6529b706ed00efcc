// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Hopper's asynchronous machinery: barriers in shared memory, tiles copied by
// the tensor memory accelerator, registers moved between warpgroups.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_ASYNCASM_H
#define EPIFOLD_BACKENDS_PTX_GEMM_ASYNCASM_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// Fetches a tensor map, which the first copy would wait for.
void prefetchMap(KernelBuilder &b, mlir::Value tensorMap);

/// i32 address of `pointer` in shared memory.
mlir::Value sharedAddress(KernelBuilder &b, mlir::Value pointer);

/// The barriers below are i32 shared addresses of 8-byte mbarrier objects. One
/// completes a phase when its arrivals and the bytes they announced are in.

/// Starts the barrier with `arrivals` a phase.
void initBarrier(KernelBuilder &b, mlir::Value barrier, int64_t arrivals);
/// Makes the calling thread's `initBarrier`s visible to the copy machinery; a
/// block barrier does so for threads.
void fenceBarrierInits(KernelBuilder &b);
/// Arrives; writes of the thread before it are seen past the wait.
void arrive(KernelBuilder &b, mlir::Value barrier);
/// Arrives and announces `bytes` (i32) that copies will bring in this phase.
void arriveExpecting(KernelBuilder &b, mlir::Value barrier, mlir::Value bytes);
/// Arrives when all cp.async of the calling thread so far are done.
void arriveAfterCopies(KernelBuilder &b, mlir::Value barrier);
/// Waits for the end of the phase whose parity is `parity` (i32).
void waitForPhase(KernelBuilder &b, mlir::Value barrier, mlir::Value parity);

/// Starts the copy of a tensor map's box at `coordinates` (i32, innermost
/// first) to shared address `target`; its bytes arrive at `barrier`.
void copyBox(KernelBuilder &b, mlir::Value target, mlir::Value tensorMap,
             mlir::ValueRange coordinates, mlir::Value barrier);

/// Makes the calling thread's writes to shared memory visible to
/// wgmma.
void fenceShared(KernelBuilder &b);
/// A barrier of `threads` threads, number `barrier` (i32) of the block's 16;
/// number 0 is the whole block's.
void syncThreads(KernelBuilder &b, mlir::Value barrier, int64_t threads);

/// Sets the registers of each thread of the calling warpgroup; all its warps
/// must come here.
void giveRegistersBack(KernelBuilder &b, int64_t count);
void takeRegisters(KernelBuilder &b, int64_t count);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_ASYNCASM_H
