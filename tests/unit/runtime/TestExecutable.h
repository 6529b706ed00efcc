// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A small executable that uses every part of the format.

#ifndef EPIFOLD_TESTS_UNIT_RUNTIME_TESTEXECUTABLE_H
#define EPIFOLD_TESTS_UNIT_RUNTIME_TESTEXECUTABLE_H

#include "epifold/runtime/ExecutableBuilder.h"

#include <string>
#include <vector>

namespace epifold::test {

/// A module with PTX of `entry` for the targets.
inline runtime::ModuleDesc
makeModule(const std::string &entry,
           const std::vector<std::string> &targets = {"sm_80", "sm_90a"}) {
  runtime::ModuleDesc module;
  module.entry = entry;
  for (const std::string &target : targets) {
    std::string ptx = ".version 8.0\n.target ";
    ptx += target;
    ptx += "\n.visible .entry ";
    ptx += entry;
    ptx += "()\n{}\n";
    module.images.push_back({target, {ptx.begin(), ptx.end()}, {}});
  }
  return module;
}

/// t = 2 x and y = t + 0.5 over x[n, 4] with n dynamic, up to `rows` rows; a
/// NaN in x raises the status word. Parameter w.m[2, 4] is packed transposed
/// and not used. The launches: double_f32, a memset, add_f32, flag_nan.
inline runtime::ExecutableDesc makeDoubleAdd(int64_t rows) {
  using namespace runtime;
  ExecutableDesc desc;
  desc.producer = "test";
  desc.fusion = "none";
  desc.symbols = {"n"};
  ExprIndex n = desc.addSymbol(0);
  ExprIndex four = desc.addConstant(4);
  ExprIndex elements = desc.addBinary(ExprOp::Mul, n, four);
  ExprIndex bytes = desc.addBinary(ExprOp::Mul, elements, four);
  ExprIndex fixedBytes = desc.addConstant(rows * 16);
  ExprIndex one = desc.addConstant(1);
  ExprIndex blocks =
      desc.addBinary(ExprOp::CeilDiv, elements, desc.addConstant(128));
  std::vector<float> constant(static_cast<size_t>(rows) * 4, 0.5f);
  const auto *raw = reinterpret_cast<const uint8_t *>(constant.data());
  desc.buffers = {
      {BufferKind::Input, bytes, {}},
      {BufferKind::Scratch, bytes, {}},
      {BufferKind::Result, bytes, {}},
      {BufferKind::Constant, fixedBytes, {raw, raw + constant.size() * 4}},
      {BufferKind::Status, desc.addConstant(32), {}},
      {BufferKind::Parameter, desc.addConstant(32), {}},
  };
  desc.tensors = {
      {"in.x", TensorKind::Input, DataType::F32, {n, four}, {}, 0},
      {"w.m",
       TensorKind::Parameter,
       DataType::F32,
       {desc.addConstant(2), four},
       {1, 0},
       5},
      {"out.y", TensorKind::Result, DataType::F32, {n, four}, {}, 2},
      {"out.t", TensorKind::Result, DataType::F32, {n, four}, {}, 1},
  };
  desc.modules = {makeModule("double_f32"), makeModule("add_f32"),
                  makeModule("flag_nan")};
  auto kernel = [&](ModuleIndex module, std::vector<ArgDesc> args) {
    KernelLaunch launch;
    launch.module = module;
    launch.grid = {blocks, one, one};
    launch.block = {128, 1, 1};
    launch.args = std::move(args);
    launch.args.push_back(IntArg{elements});
    return launch;
  };
  auto at = [](BufferIndex buffer) { return PointerArg{buffer, {}}; };
  desc.launches = {
      {kernel(0, {at(0), at(1)}), "double at m.mlir:1", elements, bytes},
      {MemsetLaunch{at(2), bytes, 0}, "clear", {}, {}},
      {kernel(1, {at(1), at(3), at(2)}), "add at m.mlir:2", {}, {}},
      {kernel(2, {at(0), at(4)}), "flag", {}, {}},
  };
  return desc;
}

} // namespace epifold::test

#endif // EPIFOLD_TESTS_UNIT_RUNTIME_TESTEXECUTABLE_H
