// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks an executable's description before anything relies on it.

#include "ErrorFormat.h"
#include "Expr.h"
#include "Target.h"
#include "epifold/runtime/ExecutableBuilder.h"
#include "epifold/runtime/Status.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

namespace epifold::runtime {
namespace {

// Limits of every CUDA device that the targets name.
constexpr uint64_t kMaxThreadsPerBlock = 1024;
constexpr uint32_t kMaxBlockZ = 64;
constexpr size_t kMaxArgBytes = 4096;
constexpr size_t kMaxRank = 64;
// Of tensor maps in the 128-byte swizzle.
constexpr size_t kMaxMapRank = 5;
constexpr uint32_t kMaxBox = 256;
constexpr size_t kMaxBoxRowBytes = 128;
constexpr size_t kMapBytes = 128, kMapAlignment = 64;

template <typename... Args>
Error invalid(fmt::format_string<Args...> format, Args &&...args) {
  return makeError(ErrorCode::InvalidArgument, format,
                   std::forward<Args>(args)...);
}

class Validator {
public:
  explicit Validator(const ExecutableDesc &desc) : desc_(desc) {}

  Expected<void> run() {
    for (auto step : {&Validator::checkExprs, &Validator::checkBuffers,
                      &Validator::checkTensors, &Validator::checkOwners,
                      &Validator::checkSymbolsBound, &Validator::checkModules,
                      &Validator::checkLaunches})
      if (Expected<void> checked = (this->*step)(); !checked)
        return checked;
    return {};
  }

private:
  bool isExpr(ExprIndex index) const { return index < desc_.exprs.size(); }
  bool isExpr(const std::optional<ExprIndex> &index) const {
    return !index || isExpr(*index);
  }

  std::optional<int64_t> constantValue(ExprIndex index) const {
    const std::vector<ExprStep> &steps = desc_.exprs[index].steps;
    if (steps.size() == 1 && steps[0].op == ExprOp::Constant)
      return steps[0].value;
    return std::nullopt;
  }

  Expected<void> checkExprs() {
    for (size_t i = 0; i < desc_.exprs.size(); ++i)
      if (Expected<void> checked =
              checkExpr(desc_.exprs[i], desc_.symbols.size());
          !checked)
        return invalid("expression {}: {}", i, checked.error().message());
    return {};
  }

  Expected<void> checkBuffers() {
    bool sawStatus = false;
    for (size_t i = 0; i < desc_.buffers.size(); ++i) {
      const BufferDesc &buffer = desc_.buffers[i];
      if (buffer.kind > BufferKind::Status)
        return invalid("buffer {} has the unknown kind {}", i,
                       static_cast<unsigned>(buffer.kind));
      if (!isExpr(buffer.size))
        return invalid("buffer {}: expression {} of {}", i, buffer.size,
                       desc_.exprs.size());
      std::optional<int64_t> size = constantValue(buffer.size);
      if (buffer.kind == BufferKind::Constant) {
        if (!size || static_cast<uint64_t>(*size) != buffer.data.size())
          return invalid("constant buffer {} holds {} bytes of data, which is "
                         "not its size",
                         i, buffer.data.size());
      } else if (!buffer.data.empty()) {
        return invalid("buffer {} holds data but is no constant", i);
      }
      if (buffer.kind == BufferKind::Status) {
        if (sawStatus)
          return invalid("buffer {} is a second status buffer", i);
        sawStatus = true;
        if (!size || *size != sizeof(StatusWord))
          return invalid("status buffer {} is not of {} bytes", i,
                         sizeof(StatusWord));
      }
    }
    return {};
  }

  Expected<void> checkTensors() {
    std::set<std::string_view> arguments, results;
    for (const TensorDesc &tensor : desc_.tensors) {
      if (tensor.name.empty())
        return invalid("a tensor has no name");
      if (tensor.kind > TensorKind::Result)
        return invalid("tensor '{}' has the unknown kind {}", tensor.name,
                       static_cast<unsigned>(tensor.kind));
      if (!dataTypeFromNumber(static_cast<uint64_t>(tensor.type)))
        return invalid("tensor '{}' has the unknown element type {}",
                       tensor.name, static_cast<unsigned>(tensor.type));
      bool isResult = tensor.kind == TensorKind::Result;
      if (!(isResult ? results : arguments).insert(tensor.name).second)
        return invalid("two {} are named '{}'",
                       isResult ? "results" : "arguments", tensor.name);
      if (tensor.shape.size() > kMaxRank)
        return invalid("tensor '{}' has {} dimensions", tensor.name,
                       tensor.shape.size());
      for (ExprIndex size : tensor.shape)
        if (!isExpr(size))
          return invalid("tensor '{}': expression {} of {}", tensor.name, size,
                         desc_.exprs.size());
      if (tensor.buffer >= desc_.buffers.size())
        return invalid("tensor '{}': buffer {} of {}", tensor.name,
                       tensor.buffer, desc_.buffers.size());
      if (Expected<void> checked = checkLayout(tensor); !checked)
        return checked;
    }
    return {};
  }

  Expected<void> checkLayout(const TensorDesc &tensor) {
    if (tensor.layout.empty())
      return {};
    if (tensor.kind != TensorKind::Parameter)
      return invalid("tensor '{}' has a layout but is no parameter",
                     tensor.name);
    std::vector<uint32_t> sorted = tensor.layout;
    std::sort(sorted.begin(), sorted.end());
    for (uint32_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != i)
        return invalid("the layout of '{}' is no permutation", tensor.name);
    if (sorted.size() != tensor.shape.size())
      return invalid("the layout of '{}' has {} dimensions, its shape {}",
                     tensor.name, sorted.size(), tensor.shape.size());
    return {};
  }

  /// Input and parameter buffers have exactly one tensor each.
  Expected<void> checkOwners() {
    std::vector<const TensorDesc *> owner(desc_.buffers.size());
    for (const TensorDesc &tensor : desc_.tensors) {
      BufferKind kind = desc_.buffers[tensor.buffer].kind;
      if (tensor.kind == TensorKind::Result) {
        if (kind == BufferKind::Status)
          return invalid("result '{}' lives in the status buffer", tensor.name);
        continue;
      }
      BufferKind wanted = tensor.kind == TensorKind::Input
                              ? BufferKind::Input
                              : BufferKind::Parameter;
      if (kind != wanted)
        return invalid("buffer {} of tensor '{}' is not of the tensor's kind",
                       tensor.buffer, tensor.name);
      if (owner[tensor.buffer])
        return invalid("tensors '{}' and '{}' share buffer {}",
                       owner[tensor.buffer]->name, tensor.name, tensor.buffer);
      owner[tensor.buffer] = &tensor;
    }
    for (size_t i = 0; i < desc_.buffers.size(); ++i) {
      BufferKind kind = desc_.buffers[i].kind;
      if ((kind == BufferKind::Input || kind == BufferKind::Parameter) &&
          !owner[i])
        return invalid("nothing fills buffer {}", i);
    }
    return {};
  }

  Expected<void> checkSymbolsBound() {
    std::vector<bool> bound(desc_.symbols.size());
    for (const TensorDesc &tensor : desc_.tensors)
      if (tensor.kind != TensorKind::Result)
        for (ExprIndex size : tensor.shape)
          if (std::optional<uint32_t> symbol = loneSymbol(desc_.exprs[size]))
            bound[*symbol] = true;
    for (size_t i = 0; i < bound.size(); ++i)
      if (!bound[i])
        return invalid("no input's shape gives dimension '{}'",
                       desc_.symbols[i]);
    return {};
  }

  Expected<void> checkModules() {
    for (size_t i = 0; i < desc_.modules.size(); ++i) {
      const ModuleDesc &module = desc_.modules[i];
      if (module.entry.empty() || module.entry.find('\0') != std::string::npos)
        return invalid("module {} has no usable entry name", i);
      if (module.images.empty())
        return invalid("module '{}' has no image", module.entry);
      std::set<std::string_view> targets;
      for (const ImageDesc &image : module.images) {
        if (!parseTarget(image.target))
          return invalid("module '{}' has an image for '{}', which is no "
                         "target",
                         module.entry, image.target);
        if (!targets.insert(image.target).second)
          return invalid("module '{}' has two images for {}", module.entry,
                         image.target);
        if (image.ptx.empty() && image.cubin.empty())
          return invalid("module '{}' has an empty image for {}", module.entry,
                         image.target);
        if (std::find(image.ptx.begin(), image.ptx.end(), 0) != image.ptx.end())
          return invalid("the PTX of '{}' for {} holds a zero byte",
                         module.entry, image.target);
      }
    }
    return {};
  }

  Expected<void> checkPointer(const PointerArg &pointer, bool written) {
    if (pointer.buffer >= desc_.buffers.size())
      return invalid("buffer {} of {}", pointer.buffer, desc_.buffers.size());
    if (!isExpr(pointer.offset))
      return invalid("expression {} of {}", *pointer.offset,
                     desc_.exprs.size());
    BufferKind kind = desc_.buffers[pointer.buffer].kind;
    bool writable = kind == BufferKind::Scratch || kind == BufferKind::Result;
    if (written && !writable)
      return invalid("buffer {} is written but is neither scratch nor result",
                     pointer.buffer);
    return {};
  }

  Expected<void> checkTensorMap(const TensorMapArg &map) {
    if (Expected<void> checked = checkPointer(map.base, false); !checked)
      return checked;
    if (!dataTypeFromNumber(static_cast<uint64_t>(map.type)))
      return invalid("a tensor map has the unknown element type {}",
                     static_cast<unsigned>(map.type));
    size_t rank = map.box.size();
    if (rank < 1 || rank > kMaxMapRank || map.sizes.size() != rank ||
        map.strides.size() != rank - 1)
      return invalid("a tensor map has a box of {} dimensions, {} sizes and {} "
                     "strides",
                     rank, map.sizes.size(), map.strides.size());
    for (const std::vector<ExprIndex> *exprs : {&map.sizes, &map.strides})
      for (ExprIndex index : *exprs)
        if (!isExpr(index))
          return invalid("expression {} of {}", index, desc_.exprs.size());
    for (uint32_t size : map.box)
      if (size < 1 || size > kMaxBox)
        return invalid("a box of {} elements is not within 1 to {}", size,
                       kMaxBox);
    size_t rowBytes = map.box[0] * byteSize(map.type);
    if (rowBytes % 16 != 0 || rowBytes > kMaxBoxRowBytes)
      return invalid("a box has rows of {} bytes, which is no multiple of 16 "
                     "up to {}",
                     rowBytes, kMaxBoxRowBytes);
    return {};
  }

  Expected<void> checkArgs(const std::vector<ArgDesc> &args) {
    size_t bytes = 0;
    for (const ArgDesc &arg : args) {
      Expected<void> checked;
      if (const auto *pointer = std::get_if<PointerArg>(&arg)) {
        checked = checkPointer(*pointer, false);
        bytes += 8;
      } else if (const auto *map = std::get_if<TensorMapArg>(&arg)) {
        checked = checkTensorMap(*map);
        bytes = (bytes + kMapAlignment - 1) / kMapAlignment * kMapAlignment +
                kMapBytes;
      } else {
        ExprIndex value = std::get<IntArg>(arg).value;
        if (!isExpr(value))
          checked = invalid("expression {} of {}", value, desc_.exprs.size());
        bytes += 8;
      }
      if (!checked)
        return checked;
    }
    if (bytes > kMaxArgBytes)
      return invalid("{} arguments take {} bytes, more than {}", args.size(),
                     bytes, kMaxArgBytes);
    return {};
  }

  Expected<void> checkVariant(const KernelVariant &variant) {
    if (variant.module >= desc_.modules.size())
      return invalid("module {} of {}", variant.module, desc_.modules.size());
    if (variant.limit && !isExpr(variant.limit->size))
      return invalid("expression {} of {}", variant.limit->size,
                     desc_.exprs.size());
    for (ExprIndex size : variant.grid)
      if (!isExpr(size))
        return invalid("expression {} of {}", size, desc_.exprs.size());
    auto [x, y, z] = variant.block;
    // Each factor is bounded first, so the product cannot wrap.
    if (x == 0 || y == 0 || z == 0 || x > kMaxThreadsPerBlock ||
        y > kMaxThreadsPerBlock || z > kMaxBlockZ ||
        uint64_t(x) * y * z > kMaxThreadsPerBlock)
      return invalid("block {} x {} x {} is not within 1 to {} threads", x, y,
                     z, kMaxThreadsPerBlock);
    if (variant.overlapsPrevious)
      for (const ImageDesc &image : desc_.modules[variant.module].images)
        if (parseTarget(image.target)->major < 9)
          return invalid("module '{}' has an image for {}, which cannot wait "
                         "for the launch before",
                         desc_.modules[variant.module].entry, image.target);
    return checkArgs(variant.args);
  }

  Expected<void> checkBody(const KernelLaunch &kernel) {
    if (kernel.variants.empty())
      return invalid("no variant");
    for (const KernelVariant &variant : kernel.variants)
      if (Expected<void> checked = checkVariant(variant); !checked)
        return checked;
    return {};
  }

  Expected<void> checkBody(const MemsetLaunch &memset) {
    if (!isExpr(memset.size))
      return invalid("expression {} of {}", memset.size, desc_.exprs.size());
    return checkPointer(memset.target, true);
  }

  Expected<void> checkBody(const CopyLaunch &copy) {
    if (!isExpr(copy.size))
      return invalid("expression {} of {}", copy.size, desc_.exprs.size());
    if (Expected<void> checked = checkPointer(copy.source, false); !checked)
      return checked;
    return checkPointer(copy.target, true);
  }

  Expected<void> checkLaunches() {
    for (size_t i = 0; i < desc_.launches.size(); ++i) {
      const LaunchDesc &launch = desc_.launches[i];
      Expected<void> checked = std::visit(
          [&](const auto &body) { return checkBody(body); }, launch.body);
      if (!checked)
        return invalid("launch {} ('{}'): {}", i, launch.label,
                       checked.error().message());
      if (!isExpr(launch.flops) || !isExpr(launch.bytes))
        return invalid("launch {} ('{}') counts by an unknown expression", i,
                       launch.label);
    }
    return {};
  }

  const ExecutableDesc &desc_;
};

} // namespace

Expected<void> validate(const ExecutableDesc &desc) {
  return Validator(desc).run();
}

} // namespace epifold::runtime
