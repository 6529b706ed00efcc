// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Turns an executable's modules into functions on a device.

#include "ModuleLoader.h"

#include "ErrorFormat.h"
#include "ModuleCache.h"
#include "Parallel.h"
#include "Target.h"

#include <algorithm>
#include <mutex>
#include <tuple>

namespace epifold::runtime {
namespace {

using driver::Driver;

/// Checks that the driver knows the PTX version, where both are known, so that
/// the usual deployment mistake gets its own words.
Expected<void> checkPtxVersion(const ImageDesc &image, const Driver &driver,
                               const std::string &context) {
  std::string_view text(reinterpret_cast<const char *>(image.ptx.data()),
                        image.ptx.size());
  std::optional<PtxVersion> stated = statedPtxVersion(text);
  std::optional<PtxVersion> newest = newestPtxVersion(driver.version);
  if (!stated || !newest || *stated <= *newest)
    return {};
  return makeError(ErrorCode::Unsupported,
                   "{}: the kernel is PTX {}.{}, newer than the PTX {}.{} that "
                   "this driver (CUDA {}) accepts: update the driver, or "
                   "compile the executable for an older PTX version",
                   context, stated->major, stated->minor, newest->major,
                   newest->minor, cudaVersionText(driver.version));
}

/// Compiles PTX by the driver. The log of the compiler goes into the error.
Expected<std::vector<uint8_t>> compilePtx(const ImageDesc &image,
                                          const Driver &driver,
                                          const std::string &context) {
  char log[8192] = {};
  driver::JitOption options[] = {driver::kJitErrorLogBuffer,
                                 driver::kJitErrorLogBufferBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  driver::LinkState link = nullptr;
  if (auto ok = driver.check(driver.cuLinkCreate(2, options, values, &link),
                             "cuLinkCreate", context);
      !ok)
    return ok.error();
  struct Destroy {
    const Driver &driver;
    driver::LinkState link;
    ~Destroy() { driver.cuLinkDestroy(link); }
  } destroy{driver, link};

  auto failure = [&](const char *call, driver::Result result) {
    Error error = driver.error(call, result, context);
    std::string message = error.message();
    if (result == driver::kUnsupportedPtxVersion)
      message += ": the PTX is newer than this driver (CUDA " +
                 cudaVersionText(driver.version) + "); update the driver";
    if (log[0] != '\0')
      message += fmt::format("; compiler log: {}", log);
    return Error(result == driver::kUnsupportedPtxVersion
                     ? ErrorCode::Unsupported
                     : error.code(),
                 std::move(message));
  };
  std::string text(image.ptx.begin(), image.ptx.end()); // zero-terminated
  if (driver::Result result = driver.cuLinkAddData(
          link, driver::kJitInputPtx, text.data(), text.size() + 1,
          "kernel.ptx", 0, nullptr, nullptr))
    return failure("cuLinkAddData", result);
  void *cubin = nullptr;
  size_t bytes = 0;
  if (driver::Result result = driver.cuLinkComplete(link, &cubin, &bytes))
    return failure("cuLinkComplete", result);
  const auto *begin = static_cast<const uint8_t *>(cubin);
  return std::vector<uint8_t>(begin, begin + bytes);
}

/// The code of one module on its way from the executable to the device.
struct Job {
  ModuleIndex index;
  const ModuleDesc *module;
  const ImageDesc *image = nullptr;
  std::string context; ///< "kernel 'k' for sm_80", in front of errors.
};

} // namespace

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

Expected<LoadedModules> LoadedModules::load(std::shared_ptr<DeviceState> device,
                                            const ExecutableDesc &desc,
                                            const SessionOptions &options,
                                            LoadReport &report) {
  const Driver &driver = *device->driver;
  const DeviceInfo &info = device->info;
  LoadedModules loaded(device);
  loaded.modules_.resize(desc.modules.size());

  std::vector<uint32_t> sharedBytes(desc.modules.size());
  std::vector<bool> used(desc.modules.size());
  for (const LaunchDesc &launch : desc.launches)
    if (const auto *kernel = std::get_if<KernelLaunch>(&launch.body)) {
      used[kernel->module] = true;
      sharedBytes[kernel->module] =
          std::max(sharedBytes[kernel->module], kernel->sharedBytes);
    }

  std::vector<Job> jobs;
  for (ModuleIndex i = 0; i < desc.modules.size(); ++i) {
    if (!used[i])
      continue;
    Job job{i, &desc.modules[i], nullptr, ""};
    auto image =
        chooseImage(*job.module, info.major, info.minor, options.target);
    if (!image)
      return image.error();
    job.image = *image;
    job.context =
        fmt::format("kernel '{}' for {}", job.module->entry, job.image->target);
    if (sharedBytes[i] > static_cast<uint32_t>(info.maxSharedBytesPerBlock))
      return makeError(ErrorCode::Unsupported,
                       "{} needs {} bytes of shared memory in a block, {} has "
                       "{}: compile the executable for this device",
                       job.context, sharedBytes[i], info.name,
                       info.maxSharedBytesPerBlock);
    loaded.modules_[i].target = job.image->target;
    report.targets.push_back(job.image->target);
    jobs.push_back(std::move(job));
  }
  report.modules = static_cast<int>(jobs.size());

  ModuleCache cache =
      options.useCache ? ModuleCache(options.cacheDir) : ModuleCache();
  std::mutex mutex; // guards the report and the first error
  std::optional<Error> firstError;
  size_t firstFailed = jobs.size();

  auto loadOne = [&](Job &job) -> Expected<void> {
    if (auto ok = device->enter(); !ok)
      return ok;
    Loaded &target = loaded.modules_[job.index];
    auto loadCubin = [&](const std::vector<uint8_t> &cubin) {
      return driver.cuModuleLoadData(&target.module, cubin.data());
    };
    auto finish = [&]() -> Expected<void> {
      if (auto ok = driver.check(
              driver.cuModuleGetFunction(&target.function, target.module,
                                         job.module->entry.c_str()),
              "cuModuleGetFunction", job.context);
          !ok)
        return ok;
      return driver.check(
          driver.cuFuncSetAttribute(target.function,
                                    driver::kMaxDynamicSharedSizeBytes,
                                    static_cast<int>(sharedBytes[job.index])),
          "cuFuncSetAttribute", job.context);
    };

    const ImageDesc &image = *job.image;
    if (!image.cubin.empty() &&
        cubinRunsOn(*parseTarget(image.target), info.major, info.minor)) {
      driver::Result result = loadCubin(image.cubin);
      if (result == driver::kSuccess)
        return finish();
      // A cubin of a newer toolkit than the driver: its PTX may still do.
      if (image.ptx.empty())
        return driver.error("cuModuleLoadData", result, job.context);
    }
    if (auto ok = checkPtxVersion(image, driver, job.context); !ok)
      return ok;

    ModuleKey key{image.ptx, info.driverVersion, info.major, info.minor};
    if (std::optional<std::vector<uint8_t>> cubin = cache.find(key))
      if (loadCubin(*cubin) == driver::kSuccess) {
        std::lock_guard lock(mutex);
        ++report.cacheHits;
        return finish();
      }
    auto cubin = compilePtx(image, driver, job.context);
    if (!cubin)
      return cubin.error();
    cache.store(key, *cubin);
    {
      std::lock_guard lock(mutex);
      ++report.compiled;
    }
    if (auto ok =
            driver.check(loadCubin(*cubin), "cuModuleLoadData", job.context);
        !ok)
      return ok;
    return finish();
  };

  parallelFor(jobs.size(), options.threads, [&](size_t i) {
    Expected<void> done = loadOne(jobs[i]);
    if (done)
      return;
    // The first failing module in the executable's order is reported, however
    // the threads ran.
    std::lock_guard lock(mutex);
    if (i < firstFailed) {
      firstFailed = i;
      firstError.emplace(done.error());
    }
  });
  if (firstError)
    return *firstError;
  return loaded;
}

LoadedModules::~LoadedModules() {
  if (!device_ || !device_->enter())
    return;
  for (const Loaded &loaded : modules_)
    if (loaded.module)
      device_->driver->cuModuleUnload(loaded.module);
}

} // namespace epifold::runtime
