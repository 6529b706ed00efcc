// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An executable's plan with all sizes known: what one step does, in numbers.

#include "LaunchPlan.h"

#include "ErrorFormat.h"
#include "Expr.h"
#include "ShapeBinding.h"

namespace epifold::runtime {
namespace {

template <typename... Args>
Error invalid(fmt::format_string<Args...> format, Args &&...args) {
  return makeError(ErrorCode::InvalidArgument, format,
                   std::forward<Args>(args)...);
}

class Binder {
public:
  Binder(const ExecutableDesc &desc, const LaunchSupport &support,
         std::vector<int64_t> symbols)
      : desc_(desc), support_(support) {
    plan_.symbols = std::move(symbols);
  }

  Expected<LaunchPlan> run() {
    for (auto step :
         {&Binder::evaluateAll, &Binder::sizeBuffers, &Binder::fitTensors,
          &Binder::placeBuffers, &Binder::bindLaunches})
      if (Expected<void> done = (this->*step)(); !done)
        return done.error();
    return std::move(plan_);
  }

private:
  Expected<void> evaluateAll() {
    for (const ExprDesc &expr : desc_.exprs) {
      Expected<int64_t> value = evaluateExpr(expr, plan_.symbols);
      if (!value)
        return value.error();
      values_.push_back(*value);
    }
    return {};
  }

  Expected<void> sizeBuffers() {
    for (size_t i = 0; i < desc_.buffers.size(); ++i) {
      int64_t size = values_[desc_.buffers[i].size];
      if (size < 0)
        return invalid("buffer {} has the negative size {}", i, size);
      plan_.bufferBytes.push_back(size);
    }
    return {};
  }

  Expected<void> fitTensors() {
    for (const TensorDesc &tensor : desc_.tensors) {
      Expected<Shape> shape = evaluateShape(desc_, tensor, plan_.symbols);
      if (!shape)
        return shape.error();
      int64_t bytes = *byteCount(tensor.type, *shape);
      if (bytes > plan_.bufferBytes[tensor.buffer])
        return invalid("tensor '{}' is {} and needs {} bytes, its buffer {} "
                       "has {}",
                       tensor.name, describe(tensor.type, *shape), bytes,
                       tensor.buffer, plan_.bufferBytes[tensor.buffer]);
      plan_.tensorShapes.push_back(std::move(*shape));
    }
    return {};
  }

  Expected<void> place(BufferKind kind) {
    for (size_t i = 0; i < desc_.buffers.size(); ++i) {
      if (desc_.buffers[i].kind != kind)
        continue;
      plan_.placement[i] = plan_.totalBytes;
      int64_t end;
      if (__builtin_add_overflow(plan_.totalBytes, plan_.bufferBytes[i],
                                 &end) ||
          __builtin_add_overflow(end, kBufferAlignment - 1, &end))
        return invalid("the step's buffers exceed 2^63 - 1 bytes");
      plan_.totalBytes = end / kBufferAlignment * kBufferAlignment;
    }
    return {};
  }

  Expected<void> placeBuffers() {
    plan_.placement.assign(desc_.buffers.size(), -1);
    if (Expected<void> placed = place(BufferKind::Scratch); !placed)
      return placed;
    plan_.arenaBytes = plan_.totalBytes;
    if (Expected<void> placed = place(BufferKind::Input); !placed)
      return placed;
    return place(BufferKind::Result);
  }

  Expected<BoundPointer> pointer(const PointerArg &arg, int64_t bytes) {
    BoundPointer bound{arg.buffer, arg.offset ? values_[*arg.offset] : 0};
    int64_t size = plan_.bufferBytes[arg.buffer];
    // `bytes` is zero for a kernel's pointer: how far it reaches is its own
    // matter, but it must start in the buffer.
    if (bound.offset < 0 || bound.offset > size || bytes > size - bound.offset)
      return invalid("{} bytes at offset {} leave buffer {} of {} bytes", bytes,
                     bound.offset, arg.buffer, size);
    return bound;
  }

  /// The number of the first variant that runs here and is for these sizes.
  Expected<uint32_t> chooseVariant(size_t launch, const KernelLaunch &kernel) {
    std::string limits;
    for (uint32_t number : support_.variants[launch]) {
      const std::optional<SizeLimit> &limit = kernel.variants[number].limit;
      if (!limit || values_[limit->size] <= limit->most)
        return number;
      limits += fmt::format("{}{} > {}", limits.empty() ? "" : ", ",
                            values_[limit->size], limit->most);
    }
    return invalid("no variant that runs on this device is for these sizes "
                   "({})",
                   limits);
  }

  Expected<BoundTensorMap> bindMap(const TensorMapArg &map) {
    constexpr int64_t kMostElements = int64_t(1) << 32,
                      kStrideEnd = int64_t(1) << 40, kStrideUnit = 16;
    Expected<BoundPointer> base = pointer(map.base, 0);
    if (!base)
      return base.error();
    BoundTensorMap bound{*base, map.type, {}, {}, map.box};
    // Bytes from the first element to the end of the last one.
    int64_t reach = 0;
    auto extend = [&](int64_t count, int64_t stride) {
      int64_t bytes;
      return !__builtin_mul_overflow(count, stride, &bytes) &&
             !__builtin_add_overflow(reach, bytes, &reach);
    };
    bool isBounded = true;
    for (size_t i = 0; i < map.sizes.size(); ++i) {
      int64_t size = values_[map.sizes[i]];
      if (size < 1 || size > kMostElements)
        return invalid("a tensor map has size {} in dimension {}, which is not "
                       "within 1 to {}",
                       size, i, kMostElements);
      bound.sizes.push_back(static_cast<uint64_t>(size));
      if (i == 0) {
        isBounded &= extend(size, static_cast<int64_t>(byteSize(map.type)));
        continue;
      }
      int64_t stride = values_[map.strides[i - 1]];
      if (stride < kStrideUnit || stride >= kStrideEnd ||
          stride % kStrideUnit != 0)
        return invalid("a tensor map has stride {} in dimension {}, which is "
                       "no multiple of {} below {}",
                       stride, i, kStrideUnit, kStrideEnd);
      bound.strides.push_back(static_cast<uint64_t>(stride));
      isBounded &= extend(size - 1, stride);
    }
    if (!isBounded)
      return invalid("a tensor map reaches over more than 2^63 - 1 bytes");
    if (Expected<BoundPointer> whole = pointer(map.base, reach); !whole)
      return whole.error();
    return bound;
  }

  Expected<BoundArg> bindArg(const ArgDesc &arg) {
    if (const auto *integer = std::get_if<IntArg>(&arg))
      return BoundArg(values_[integer->value]);
    if (const auto *map = std::get_if<TensorMapArg>(&arg)) {
      Expected<BoundTensorMap> bound = bindMap(*map);
      if (!bound)
        return bound.error();
      return BoundArg(std::move(*bound));
    }
    Expected<BoundPointer> where = pointer(std::get<PointerArg>(arg), 0);
    if (!where)
      return where.error();
    return BoundArg(*where);
  }

  Expected<void> bind(const KernelLaunch &kernel, BoundLaunch &bound) {
    Expected<uint32_t> chosen =
        chooseVariant(plan_.launches.size() - 1, kernel);
    if (!chosen)
      return chosen.error();
    bound.variant = *chosen;
    const KernelVariant &variant = kernel.variants[*chosen];
    constexpr int64_t kLimits[] = {2147483647, 65535, 65535};
    for (int i = 0; i < 3; ++i) {
      int64_t size = values_[variant.grid[i]];
      if (size < 0 || size > kLimits[i])
        return invalid("grid size {} of dimension {} is not within 0 to {}",
                       size, "xyz"[i], kLimits[i]);
      bound.grid[i] = static_cast<unsigned>(size);
      bound.skipped |= size == 0;
    }
    if (variant.isResident && (bound.grid[1] > 1 || bound.grid[2] > 1))
      return invalid("kernel '{}', whose blocks wait for one another, has a "
                     "grid of {} x {} x {} blocks, not of one dimension",
                     desc_.modules[variant.module].entry, bound.grid[0],
                     bound.grid[1], bound.grid[2]);
    if (bound.skipped) // tensor maps, for one, cannot be empty
      return {};
    for (size_t i = 0; i < variant.args.size(); ++i) {
      Expected<BoundArg> arg = bindArg(variant.args[i]);
      if (!arg)
        return invalid("argument {} of kernel '{}': {}", i,
                       desc_.modules[variant.module].entry,
                       arg.error().message());
      bound.args.push_back(std::move(*arg));
    }
    return {};
  }

  Expected<void> bindSize(ExprIndex size, BoundLaunch &bound) {
    bound.size = values_[size];
    if (bound.size < 0)
      return invalid("{} bytes", bound.size);
    bound.skipped = bound.size == 0;
    return {};
  }

  Expected<void> bind(const MemsetLaunch &memset, BoundLaunch &bound) {
    if (Expected<void> sized = bindSize(memset.size, bound); !sized)
      return sized;
    Expected<BoundPointer> target = pointer(memset.target, bound.size);
    if (!target)
      return target.error();
    bound.target = *target;
    return {};
  }

  Expected<void> bind(const CopyLaunch &copy, BoundLaunch &bound) {
    if (Expected<void> sized = bindSize(copy.size, bound); !sized)
      return sized;
    Expected<BoundPointer> target = pointer(copy.target, bound.size);
    if (!target)
      return target.error();
    Expected<BoundPointer> source = pointer(copy.source, bound.size);
    if (!source)
      return source.error();
    bound.target = *target;
    bound.source = *source;
    return {};
  }

  Expected<void> bindLaunches() {
    for (size_t i = 0; i < desc_.launches.size(); ++i) {
      const LaunchDesc &launch = desc_.launches[i];
      BoundLaunch &bound = plan_.launches.emplace_back();
      Expected<void> done = std::visit(
          [&](const auto &body) { return bind(body, bound); }, launch.body);
      if (!done)
        return invalid("launch {} ('{}'): {}", i, launch.label,
                       done.error().message());
      bound.flops = launch.flops ? values_[*launch.flops] : 0;
      bound.bytes = launch.bytes ? values_[*launch.bytes] : 0;
    }
    return {};
  }

  const ExecutableDesc &desc_;
  const LaunchSupport &support_;
  LaunchPlan plan_;
  std::vector<int64_t> values_; // by expression
};

} // namespace

Expected<LaunchPlan> bindLaunchPlan(const ExecutableDesc &desc,
                                    const LaunchSupport &support,
                                    std::vector<int64_t> symbols) {
  return Binder(desc, support, std::move(symbols)).run();
}

} // namespace epifold::runtime
