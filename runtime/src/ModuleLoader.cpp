// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Turns an executable's modules into functions on a device.

#include "ModuleLoader.h"

#include "ErrorFormat.h"
#include "ModuleCache.h"
#include "Parallel.h"
#include "Target.h"

#include <algorithm>
#include <chrono>
#include <mutex>

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
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes numbers so.
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
  std::string context; ///< "kernel 'k' for sm_80", in front of errors.
};

} // namespace

LoadedModules::LoadedModules(std::shared_ptr<DeviceState> device,
                             const ExecutableDesc &desc,
                             const LaunchSupport &support,
                             const SessionOptions &options)
    : device_(std::move(device)), desc_(desc), options_(options),
      modules_(desc.modules.size()) {
  for (ModuleIndex i = 0; i < modules_.size(); ++i)
    modules_[i].image = support.images[i];
  for (size_t i = 0; i < desc.launches.size(); ++i)
    for (uint32_t number : support.variants[i]) {
      const auto &kernel = std::get<KernelLaunch>(desc.launches[i].body);
      const KernelVariant &variant = kernel.variants[number];
      uint32_t &most = modules_[variant.module].sharedBytes;
      most = std::max(most, variant.sharedBytes);
    }
}

Expected<void> LoadedModules::load(const std::vector<ModuleIndex> &wanted,
                                   LoadReport &report) {
  const Driver &driver = *device_->driver;
  const DeviceInfo &info = device_->info;
  const auto start = std::chrono::steady_clock::now();

  std::vector<Job> jobs;
  for (ModuleIndex i : wanted)
    if (!modules_[i].function)
      jobs.push_back({i, &desc_.modules[i],
                      fmt::format("kernel '{}' for {}", desc_.modules[i].entry,
                                  target(i))});
  if (jobs.empty())
    return {};

  ModuleCache cache =
      options_.useCache ? ModuleCache(options_.cacheDir) : ModuleCache();
  std::mutex mutex; // guards the report and the first error
  std::optional<Error> firstError;
  size_t firstFailed = jobs.size();

  auto loadOne = [&](Job &job) -> Expected<void> {
    if (auto ok = device_->enter(); !ok)
      return ok;
    Loaded &target = modules_[job.index];
    auto loadCubin = [&](const std::vector<uint8_t> &cubin) {
      return driver.cuModuleLoadData(&target.module, cubin.data());
    };
    auto finish = [&]() -> Expected<void> {
      driver::Function function = nullptr;
      if (auto ok = driver.check(
              driver.cuModuleGetFunction(&function, target.module,
                                         job.module->entry.c_str()),
              "cuModuleGetFunction", job.context);
          !ok)
        return ok;
      if (auto ok =
              driver.check(driver.cuFuncSetAttribute(
                               function, driver::kMaxDynamicSharedSizeBytes,
                               static_cast<int>(target.sharedBytes)),
                           "cuFuncSetAttribute", job.context);
          !ok)
        return ok;
      target.function = function;
      return {};
    };

    if (target.module) // an earlier call came as far as this
      return finish();
    const ImageDesc &image = *target.image;
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

  parallelFor(jobs.size(), options_.threads, [&](size_t i) {
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
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  report.milliseconds += elapsed.count();
  if (firstError)
    return *firstError;
  report.modules += static_cast<int>(jobs.size());
  for (const Job &job : jobs)
    report.targets.push_back(target(job.index));
  return {};
}

LoadedModules::~LoadedModules() {
  if (!device_ || !device_->enter())
    return;
  for (const Loaded &loaded : modules_)
    if (loaded.module)
      device_->driver->cuModuleUnload(loaded.module);
}

} // namespace epifold::runtime
