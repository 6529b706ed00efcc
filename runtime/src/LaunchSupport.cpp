// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which variants of an executable's kernels a device and its driver can launch.

#include "LaunchSupport.h"

#include "ErrorFormat.h"
#include "Target.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace epifold::runtime {

Expected<const ImageDesc *> chooseImage(const ModuleDesc &module, int major,
                                        int minor, const std::string &target) {
  const ImageDesc *best = nullptr;
  auto rank = [](const ImageDesc &image) {
    Target t = *parseTarget(image.target);
    return std::tuple(t.major, t.minor, t.specific);
  };
  std::string held;
  for (const ImageDesc &image : module.images) {
    held += (held.empty() ? "" : ", ") + image.target;
    if (!target.empty() && image.target != target)
      continue;
    Target parsed = *parseTarget(image.target);
    bool runs = image.ptx.empty() ? cubinRunsOn(parsed, major, minor)
                                  : ptxRunsOn(parsed, major, minor);
    if (runs && (!best || rank(image) > rank(*best)))
      best = &image;
  }
  if (best)
    return best;
  return makeError(ErrorCode::Unsupported,
                   "kernel '{}' holds code for {}{}, none of which runs on "
                   "this device of compute capability {}.{}: compile the "
                   "executable for sm_{}{}",
                   module.entry, held,
                   target.empty() ? "" : " (only " + target + " was asked for)",
                   major, minor, major, minor);
}

namespace {

class SupportFinder {
public:
  SupportFinder(const ExecutableDesc &desc, const DeviceInfo &device,
                bool hasTensorMaps)
      : desc_(desc), device_(device), hasTensorMaps_(hasTensorMaps) {}

  Expected<LaunchSupport> run(const std::string &target) {
    for (const ModuleDesc &module : desc_.modules) {
      auto image = chooseImage(module, device_.major, device_.minor, target);
      support_.images.push_back(image ? *image : nullptr);
      noImage_.push_back(image ? "" : image.error().message());
    }
    for (size_t i = 0; i < desc_.launches.size(); ++i) {
      const LaunchDesc &launch = desc_.launches[i];
      support_.variants.emplace_back();
      if (const auto *kernel = std::get_if<KernelLaunch>(&launch.body))
        if (auto found = findVariants(*kernel); !found)
          return found.error();
    }
    return std::move(support_);
  }

private:
  /// Why a variant cannot be launched; empty when it can.
  std::string obstacle(const KernelVariant &variant) const {
    if (!support_.images[variant.module])
      return noImage_[variant.module];
    std::string kernel =
        fmt::format("kernel '{}' for {}", desc_.modules[variant.module].entry,
                    support_.images[variant.module]->target);
    if (variant.sharedBytes >
        static_cast<uint32_t>(std::max(device_.maxSharedBytesPerBlock, 0)))
      return fmt::format("{} needs {} bytes of shared memory in a block, {} "
                         "has {}: compile the executable for this device",
                         kernel, variant.sharedBytes, device_.name,
                         device_.maxSharedBytesPerBlock);
    bool takesMaps = std::any_of(
        variant.args.begin(), variant.args.end(), [](const ArgDesc &arg) {
          return std::holds_alternative<TensorMapArg>(arg);
        });
    if (takesMaps && !hasTensorMaps_)
      return fmt::format("{} takes tensor maps, which this driver lacks: "
                         "install an NVIDIA driver for CUDA 12.0 or later",
                         kernel);
    return "";
  }

  Expected<void> findVariants(const KernelLaunch &kernel) {
    std::string reasons;
    std::vector<uint32_t> &usable = support_.variants.back();
    for (uint32_t i = 0; i < kernel.variants.size(); ++i) {
      std::string reason = obstacle(kernel.variants[i]);
      if (reason.empty())
        usable.push_back(i);
      else if (reasons.find(reason) == std::string::npos)
        reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    if (usable.empty())
      return Error(ErrorCode::Unsupported, reasons);
    return {};
  }

  const ExecutableDesc &desc_;
  const DeviceInfo &device_;
  bool hasTensorMaps_;
  LaunchSupport support_;
  std::vector<std::string> noImage_; // by module
};

} // namespace

std::vector<ModuleIndex>
LaunchSupport::modulesOfEveryRun(const ExecutableDesc &desc) const {
  std::vector<bool> isWanted(desc.modules.size());
  for (size_t i = 0; i < desc.launches.size(); ++i) {
    const auto *kernel = std::get_if<KernelLaunch>(&desc.launches[i].body);
    if (!kernel)
      continue;
    const KernelVariant &first = kernel->variants[variants[i].front()];
    if (!first.limit)
      isWanted[first.module] = true;
  }
  std::vector<ModuleIndex> modules;
  for (ModuleIndex i = 0; i < isWanted.size(); ++i)
    if (isWanted[i])
      modules.push_back(i);
  return modules;
}

Expected<LaunchSupport> findLaunchSupport(const ExecutableDesc &desc,
                                          const DeviceInfo &device,
                                          bool hasTensorMaps,
                                          const std::string &target) {
  return SupportFinder(desc, device, hasTensorMaps).run(target);
}

} // namespace epifold::runtime
