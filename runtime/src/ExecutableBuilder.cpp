// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shared expressions of an executable under construction, and its bytes.

#include "epifold/runtime/ExecutableBuilder.h"

#include "ExecutableFormat.h"
#include "Expr.h"
#include "Hash.h"
#include "efx_generated.h"

#include <algorithm>

namespace epifold::runtime {

ExprIndex ExecutableDesc::addExpr(ExprDesc expr) {
  auto found = std::find(exprs.begin(), exprs.end(), expr);
  if (found == exprs.end())
    found = exprs.insert(found, std::move(expr));
  return static_cast<ExprIndex>(found - exprs.begin());
}

ExprIndex ExecutableDesc::addConstant(int64_t value) {
  return addExpr({{{ExprOp::Constant, value}}});
}

ExprIndex ExecutableDesc::addSymbol(uint32_t symbol) {
  return addExpr({{{ExprOp::Symbol, symbol}}});
}

ExprIndex ExecutableDesc::addBinary(ExprOp op, ExprIndex lhs, ExprIndex rhs) {
  ExprDesc joined = exprs.at(lhs);
  const ExprDesc &right = exprs.at(rhs);
  auto isConstant = [](const ExprDesc &expr) {
    return expr.steps.size() == 1 && expr.steps[0].op == ExprOp::Constant;
  };
  if (isConstant(joined) && isConstant(right))
    if (std::optional<int64_t> folded =
            applyExprOp(op, joined.steps[0].value, right.steps[0].value))
      return addConstant(*folded);
  joined.steps.insert(joined.steps.end(), right.steps.begin(),
                      right.steps.end());
  joined.steps.push_back({op, 0});
  return addExpr(std::move(joined));
}

namespace {

/// Writes the tables of a plan. Nothing is shared between tables: a reader may
/// count on the decoded size being bounded by the file's.
class PlanWriter {
public:
  explicit PlanWriter(const ExecutableDesc &desc) : desc_(desc) {}

  std::vector<uint8_t> write() {
    auto producer = builder_.CreateString(desc_.producer);
    auto fusion = builder_.CreateString(desc_.fusion);
    std::vector<flatbuffers::Offset<flatbuffers::String>> symbolNames;
    for (const std::string &symbol : desc_.symbols)
      symbolNames.push_back(builder_.CreateString(symbol));
    auto symbols = builder_.CreateVector(symbolNames);
    auto exprs = each<efx::Expr>(desc_.exprs);
    auto tensors = each<efx::Tensor>(desc_.tensors);
    auto buffers = each<efx::Buffer>(desc_.buffers);
    auto modules = each<efx::Module>(desc_.modules);
    auto launches = each<efx::Launch>(desc_.launches);
    auto graph = bytes(desc_.graph);
    builder_.Finish(efx::CreatePlan(builder_, producer, fusion, symbols, exprs,
                                    tensors, buffers, modules, launches,
                                    graph));
    return {builder_.GetBufferPointer(),
            builder_.GetBufferPointer() + builder_.GetSize()};
  }

private:
  template <typename Table>
  using TableVector = flatbuffers::Vector<flatbuffers::Offset<Table>>;

  template <typename Table, typename Desc>
  flatbuffers::Offset<TableVector<Table>> each(const std::vector<Desc> &descs) {
    std::vector<flatbuffers::Offset<Table>> offsets;
    for (const Desc &desc : descs)
      offsets.push_back(write(desc));
    return builder_.CreateVector(offsets);
  }

  flatbuffers::Offset<flatbuffers::Vector<uint8_t>>
  bytes(const std::vector<uint8_t> &data) {
    return builder_.CreateVector(data);
  }

  flatbuffers::Offset<efx::Expr> write(const ExprDesc &expr) {
    std::vector<efx::ExprStep> steps;
    for (const ExprStep &step : expr.steps)
      steps.emplace_back(step.value, static_cast<uint8_t>(step.op));
    return efx::CreateExpr(builder_, builder_.CreateVectorOfStructs(steps));
  }

  flatbuffers::Offset<efx::Tensor> write(const TensorDesc &tensor) {
    auto name = builder_.CreateString(tensor.name);
    auto shape = builder_.CreateVector(tensor.shape);
    auto layout = builder_.CreateVector(tensor.layout);
    return efx::CreateTensor(builder_, name, static_cast<uint8_t>(tensor.kind),
                             static_cast<uint8_t>(tensor.type), shape, layout,
                             tensor.buffer);
  }

  flatbuffers::Offset<efx::Buffer> write(const BufferDesc &buffer) {
    auto data = bytes(buffer.data);
    return efx::CreateBuffer(builder_, static_cast<uint8_t>(buffer.kind),
                             buffer.size, data);
  }

  flatbuffers::Offset<efx::Image> write(const ImageDesc &image) {
    auto target = builder_.CreateString(image.target);
    auto ptx = bytes(image.ptx);
    auto cubin = bytes(image.cubin);
    return efx::CreateImage(builder_, target, ptx, cubin);
  }

  flatbuffers::Offset<efx::Module> write(const ModuleDesc &module) {
    auto entry = builder_.CreateString(module.entry);
    auto images = each<efx::Image>(module.images);
    return efx::CreateModule(builder_, entry, images);
  }

  static efx::Arg arg(const PointerArg &pointer) {
    return efx::Arg(pointer.buffer, pointer.offset.value_or(kNoExpr),
                    efx::ArgKind_Pointer);
  }
  static efx::Arg arg(const IntArg &integer) {
    return efx::Arg(0, integer.value, efx::ArgKind_Int);
  }

  flatbuffers::Offset<efx::TensorMap> write(const TensorMapArg &map) {
    efx::Arg base = arg(map.base);
    auto sizes = builder_.CreateVector(map.sizes);
    auto strides = builder_.CreateVector(map.strides);
    auto box = builder_.CreateVector(map.box);
    return efx::CreateTensorMap(builder_, &base, static_cast<uint8_t>(map.type),
                                sizes, strides, box);
  }

  flatbuffers::Offset<efx::KernelVariant> write(const KernelVariant &variant) {
    std::vector<efx::Arg> args;
    std::vector<TensorMapArg> maps;
    for (const ArgDesc &desc : variant.args) {
      if (const auto *map = std::get_if<TensorMapArg>(&desc)) {
        args.emplace_back(0, static_cast<uint32_t>(maps.size()),
                          efx::ArgKind_TensorMap);
        maps.push_back(*map);
      } else if (const auto *pointer = std::get_if<PointerArg>(&desc)) {
        args.push_back(arg(*pointer));
      } else {
        args.push_back(arg(std::get<IntArg>(desc)));
      }
    }
    auto argVector = builder_.CreateVectorOfStructs(args);
    auto mapVector = each<efx::TensorMap>(maps);
    efx::Dim3 grid(variant.grid[0], variant.grid[1], variant.grid[2]);
    efx::Dim3 block(variant.block[0], variant.block[1], variant.block[2]);
    return efx::CreateKernelVariant(
        builder_, variant.module, variant.limit ? variant.limit->size : kNoExpr,
        variant.limit ? variant.limit->most : 0, &grid, &block,
        variant.sharedBytes, argVector, mapVector, variant.overlapsPrevious,
        variant.isResident);
  }

  flatbuffers::Offset<void> body(const KernelLaunch &kernel) {
    return efx::CreateKernelLaunch(builder_,
                                   each<efx::KernelVariant>(kernel.variants))
        .Union();
  }

  flatbuffers::Offset<void> body(const MemsetLaunch &memset) {
    efx::Arg target = arg(memset.target);
    return efx::CreateMemsetLaunch(builder_, &target, memset.size, memset.value)
        .Union();
  }

  flatbuffers::Offset<void> body(const CopyLaunch &copy) {
    efx::Arg target = arg(copy.target);
    efx::Arg source = arg(copy.source);
    return efx::CreateCopyLaunch(builder_, &target, &source, copy.size).Union();
  }

  flatbuffers::Offset<efx::Launch> write(const LaunchDesc &launch) {
    // The variant's alternatives stand in the order of the union's members.
    auto type = static_cast<efx::LaunchBody>(launch.body.index() + 1);
    auto bodyOffset =
        std::visit([&](const auto &b) { return body(b); }, launch.body);
    auto label = builder_.CreateString(launch.label);
    return efx::CreateLaunch(builder_, type, bodyOffset, label,
                             launch.flops.value_or(kNoExpr),
                             launch.bytes.value_or(kNoExpr));
  }

  const ExecutableDesc &desc_;
  flatbuffers::FlatBufferBuilder builder_;
};

} // namespace

std::vector<uint8_t> serializePlan(const ExecutableDesc &desc) {
  return PlanWriter(desc).write();
}

std::vector<uint8_t> wrapPlan(std::span<const uint8_t> plan) {
  flatbuffers::FlatBufferBuilder builder(plan.size() + 128);
  builder.ForceVectorAlignment(plan.size(), 1, kPlanAlignment);
  auto bytes = builder.CreateVector(plan.data(), plan.size());
  auto envelope =
      efx::CreateEnvelope(builder, kFormatVersion, hashBytes(plan), bytes);
  efx::FinishEnvelopeBuffer(builder, envelope);
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

std::vector<uint8_t> serialize(const ExecutableDesc &desc) {
  return wrapPlan(serializePlan(desc));
}

} // namespace epifold::runtime
