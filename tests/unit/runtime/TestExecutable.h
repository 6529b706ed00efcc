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

/// The only variant of a launch of makeDoubleAdd.
inline runtime::KernelVariant &variantOf(runtime::ExecutableDesc &desc,
                                         size_t launch) {
  return std::get<runtime::KernelLaunch>(desc.launches[launch].body)
      .variants.front();
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
    KernelVariant variant;
    variant.module = module;
    variant.grid = {blocks, one, one};
    variant.block = {128, 1, 1};
    variant.args = std::move(args);
    variant.args.push_back(IntArg{elements});
    return KernelLaunch{{std::move(variant)}};
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

/// makeDoubleAdd with more variants. Its first launch has one that reads x by a
/// tensor map, in blocks of 64 threads, for up to 8 rows; one for compute
/// capability 9.0, in blocks of 96; and the original one, in blocks of 128. All
/// kernels for 9.0 overlap the launch before.
inline runtime::ExecutableDesc makeVariants(int64_t rows) {
  using namespace runtime;
  ExecutableDesc desc = makeDoubleAdd(rows);
  ExprIndex n = desc.addSymbol(0);
  for (size_t launch : {0, 2, 3}) {
    auto &variants =
        std::get<KernelLaunch>(desc.launches[launch].body).variants;
    KernelVariant variant = variants.front();
    variant.overlapsPrevious = true;
    desc.modules.push_back(
        makeModule(desc.modules[variant.module].entry, {"sm_90a"}));
    variant.module = static_cast<ModuleIndex>(desc.modules.size() - 1);
    variant.block = {96, 1, 1};
    variants.insert(variants.begin(), variant);
  }
  auto &variants = std::get<KernelLaunch>(desc.launches[0].body).variants;
  KernelVariant mapped = variants.front();
  desc.modules.push_back(makeModule("double_f32", {"sm_90a"}));
  desc.modules.back().images[0].ptx.push_back(' '); // for a cubin of its own
  mapped.module = static_cast<ModuleIndex>(desc.modules.size() - 1);
  mapped.limit = {n, 8};
  mapped.block = {64, 1, 1};
  mapped.args[0] = TensorMapArg{PointerArg{0, {}},
                                DataType::F32,
                                {desc.addConstant(4), n},
                                {desc.addConstant(16)},
                                {4, 8}};
  variants.insert(variants.begin(), std::move(mapped));
  return desc;
}

} // namespace epifold::test

#endif // EPIFOLD_TESTS_UNIT_RUNTIME_TESTEXECUTABLE_H
