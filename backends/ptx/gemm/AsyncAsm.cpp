// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes barriers and bulk copies as inline assembly on 32-bit shared
// addresses, which costs no conversions to generic ones.

#include "backends/ptx/gemm/AsyncAsm.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace epifold::ptx;

/// Assembly without results. It touches memory, so nothing moves across it.
static void emitAsm(KernelBuilder &b, llvm::StringRef text,
                    llvm::StringRef constraints, ValueRange operands) {
  LLVM::InlineAsmOp::create(b, LLVM::LLVMVoidType::get(b.getContext()),
                            operands, text, (constraints + ",~{memory}").str(),
                            /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            LLVM::AsmDialectAttr(), ArrayAttr());
}

Value epifold::ptx::sharedAddress(KernelBuilder &b, Value pointer) {
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer);
}

void epifold::ptx::initBarrier(KernelBuilder &b, Value barrier,
                               int64_t arrivals) {
  emitAsm(b, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,n",
          {barrier, b.i32(arrivals)});
}

void epifold::ptx::fenceBarrierInits(KernelBuilder &b) {
  NVVM::FenceMbarrierInitOp::create(b);
}

void epifold::ptx::arrive(KernelBuilder &b, Value barrier) {
  emitAsm(b, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r", {barrier});
}

void epifold::ptx::arriveExpecting(KernelBuilder &b, Value barrier,
                                   Value bytes) {
  emitAsm(b, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r",
          {barrier, bytes});
}

void epifold::ptx::arriveAfterCopies(KernelBuilder &b, Value barrier) {
  emitAsm(b, "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", "r",
          {barrier});
}

void epifold::ptx::waitForPhase(KernelBuilder &b, Value barrier, Value parity) {
  // try_wait suspends the thread for a while, then says whether to go on.
  emitAsm(b,
          "{\n.reg .pred done;\nwait:\n"
          "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
          "@!done bra wait;\n}",
          "r,r", {barrier, parity});
}

void epifold::ptx::prefetchMap(KernelBuilder &b, Value tensorMap) {
  emitAsm(b, "prefetch.tensormap [$0];", "l", {tensorMap});
}

/// The registers of `coordinates` as assembly writes them, appended to the
/// operands.
static std::string listCoordinates(ValueRange coordinates,
                                   KernelBuilder::Values &operands,
                                   std::string &constraints) {
  std::string list;
  for (Value coordinate : coordinates) {
    list += (list.empty() ? "$" : ", $") + std::to_string(operands.size());
    operands.push_back(coordinate);
    constraints += ",r";
  }
  return "{" + list + "}";
}

void epifold::ptx::copyBox(KernelBuilder &b, Value target, Value tensorMap,
                           ValueRange coordinates, Value barrier) {
  std::string constraints = "r,l,r";
  KernelBuilder::Values operands = {target, tensorMap, barrier};
  std::string list = listCoordinates(coordinates, operands, constraints);
  emitAsm(b,
          "cp.async.bulk.tensor." + std::to_string(coordinates.size()) +
              "d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], "
              "[$1, " +
              list + "], [$2];",
          constraints, operands);
}

void epifold::ptx::fenceShared(KernelBuilder &b) {
  auto kind =
      NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared);
  auto space =
      NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  NVVM::FenceProxyOp::create(b, kind, space);
}

void epifold::ptx::syncThreads(KernelBuilder &b, Value barrier,
                               int64_t threads) {
  emitAsm(b, "bar.sync $0, $1;", "r,n", {barrier, b.i32(threads)});
}

void epifold::ptx::giveRegistersBack(KernelBuilder &b, int64_t count) {
  NVVM::SetMaxRegisterOp::create(b, count,
                                 NVVM::SetMaxRegisterAction::decrease);
}

void epifold::ptx::takeRegisters(KernelBuilder &b, int64_t count) {
  NVVM::SetMaxRegisterOp::create(b, count,
                                 NVVM::SetMaxRegisterAction::increase);
}
