// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A CUDA driver on host memory, so that the runtime is tested without a GPU.
//
// Built as a shared library of its own; the runtime opens it as it opens the
// real one. It exports only what the real one must: the resolver.

#include "FakeDriver.h"

#include "DriverTypes.h"
#include "FakeKernels.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>

using namespace epifold::runtime::driver;
using epifold::test::FakeCuda;
using epifold::test::FakeKernel;
using epifold::test::FakeLaunch;
using epifold::test::findKernel;

namespace epifold::runtime::driver {

// What the opaque handles point to.
struct StreamObject {
  std::vector<std::function<void()>> *captured = nullptr;
};
struct EventObject {
  float time = 0;
};
struct FunctionObject {
  std::string name;
};
struct ModuleObject {
  FunctionObject function;
};
struct LinkStateObject {
  char *log = nullptr;
  size_t logBytes = 0;
  std::string cubin;
};
struct GraphObject {
  std::vector<std::function<void()>> work;
};
struct GraphExecObject {
  std::vector<std::function<void()>> work;
};
struct ContextObject {};

} // namespace epifold::runtime::driver

namespace {

constexpr Result kInvalidValue = static_cast<Result>(1);
constexpr Result kLaunchFailed = static_cast<Result>(719);
constexpr const char kCubinMark[] = "fake cubin of ";

std::recursive_mutex mutex;
FakeCuda fake;
float clockMs = 0;
std::map<DevicePointer, size_t> blocks; // allocations, by address
ContextObject context;
thread_local Context currentContext = nullptr;

/// Guards the state, and answers for calls that are told to fail.
struct Call {
  std::lock_guard<std::recursive_mutex> lock{mutex};
  bool fails;
  explicit Call(std::string_view name) : fails(fake.failingCall == name) {}
};
#define ENTER(name)                                                            \
  Call call(name);                                                             \
  if (call.fails)                                                              \
  return kLaunchFailed
#define NEED_CONTEXT()                                                         \
  if (!currentContext)                                                         \
  return static_cast<Result>(201)

template <typename T>
T *track(T *object) {
  ++fake.liveObjects;
  return object;
}
template <typename T>
Result destroy(T *object) {
  --fake.liveObjects;
  delete object;
  return kSuccess;
}

/// True when [pointer, pointer + bytes) lies in one allocation.
bool valid(DevicePointer pointer, size_t bytes) {
  auto block = blocks.upper_bound(pointer);
  if (block == blocks.begin())
    return false;
  --block;
  return pointer + bytes <= block->first + block->second;
}

void *host(DevicePointer pointer) { return reinterpret_cast<void *>(pointer); }

/// Runs work now, or keeps it for the graph that the stream captures.
Result submit(Stream stream, std::function<void()> work) {
  if (stream && stream->captured)
    stream->captured->push_back(std::move(work));
  else
    work();
  return kSuccess;
}

// ---- Entries ----------------------------------------------------------------

Result cuInit(unsigned) {
  ENTER("cuInit");
  return fake.deviceCount == 0 ? kNoDevice : kSuccess;
}
Result cuDriverGetVersion(int *version) {
  *version = fake.driverVersion;
  return kSuccess;
}
Result cuGetErrorName(Result result, const char **text) {
  *text = result == kOutOfMemory             ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == kLaunchFailed          ? "CUDA_ERROR_LAUNCH_FAILED"
          : result == kUnsupportedPtxVersion ? "CUDA_ERROR_UNSUPPORTED_PTX"
                                             : "CUDA_ERROR_OF_THE_FAKE";
  return kSuccess;
}
Result cuGetErrorString(Result, const char **text) {
  *text = "words of the driver";
  return kSuccess;
}
Result cuDeviceGetCount(int *count) {
  *count = fake.deviceCount;
  return kSuccess;
}
constexpr int kMultiprocessors = 4;
Result cuDeviceGet(Device *device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
Result cuDeviceGetName(char *text, int size, Device) {
  std::snprintf(text, static_cast<size_t>(size), "Fake GPU");
  return kSuccess;
}
Result cuDeviceGetAttribute(int *value, DeviceAttribute attribute, Device) {
  switch (attribute) {
  case kMultiprocessorCount:
    *value = kMultiprocessors;
    return kSuccess;
  case kComputeCapabilityMajor:
    *value = fake.major;
    return kSuccess;
  case kComputeCapabilityMinor:
    *value = fake.minor;
    return kSuccess;
  case kMaxSharedMemoryPerBlockOptin:
    *value = 232448;
    return kSuccess;
  }
  return kInvalidValue;
}
Result cuDeviceTotalMem(size_t *bytes, Device) {
  *bytes = fake.totalBytes;
  return kSuccess;
}
Result cuDevicePrimaryCtxRetain(Context *result, Device) {
  *result = &context;
  return kSuccess;
}
Result cuDevicePrimaryCtxRelease(Device) { return kSuccess; }
Result cuCtxSetCurrent(Context chosen) {
  currentContext = chosen;
  return kSuccess;
}
Result cuCtxSynchronize() { return kSuccess; }

Result cuMemGetInfo(size_t *free, size_t *total) {
  ENTER("cuMemGetInfo");
  *free = fake.totalBytes - fake.usedBytes;
  *total = fake.totalBytes;
  return kSuccess;
}
Result cuMemAlloc(DevicePointer *pointer, size_t bytes) {
  ENTER("cuMemAlloc");
  NEED_CONTEXT();
  if (bytes == 0)
    return kInvalidValue;
  if (bytes > fake.totalBytes - fake.usedBytes)
    return kOutOfMemory;
  void *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(memory, 0xcd, bytes); // what nobody wrote must look like it
  *pointer = reinterpret_cast<DevicePointer>(memory);
  blocks[*pointer] = bytes;
  fake.usedBytes += bytes;
  ++fake.allocations;
  return kSuccess;
}
Result cuMemFree(DevicePointer pointer) {
  ENTER("cuMemFree");
  auto block = blocks.find(pointer);
  if (block == blocks.end())
    return kInvalidValue;
  fake.usedBytes -= block->second;
  blocks.erase(block);
  std::free(host(pointer));
  return kSuccess;
}
Result cuMemAllocHost(void **pointer, size_t bytes) {
  *pointer = std::malloc(bytes);
  return kSuccess;
}
Result cuMemFreeHost(void *pointer) {
  std::free(pointer);
  return kSuccess;
}
Result cuMemcpyHtoD(DevicePointer target, const void *source, size_t bytes) {
  ENTER("cuMemcpyHtoD");
  NEED_CONTEXT();
  if (!valid(target, bytes))
    return kInvalidValue;
  std::memcpy(host(target), source, bytes);
  return kSuccess;
}
Result cuMemcpyDtoH(void *target, DevicePointer source, size_t bytes) {
  ENTER("cuMemcpyDtoH");
  NEED_CONTEXT();
  if (!valid(source, bytes))
    return kInvalidValue;
  std::memcpy(target, host(source), bytes);
  return kSuccess;
}
Result cuMemcpyDtoHAsync(void *target, DevicePointer source, size_t bytes,
                         Stream stream) {
  ENTER("cuMemcpyDtoHAsync");
  if (!valid(source, bytes))
    return kInvalidValue;
  return submit(stream, [=] { std::memcpy(target, host(source), bytes); });
}
Result cuMemcpyDtoDAsync(DevicePointer target, DevicePointer source,
                         size_t bytes, Stream stream) {
  ENTER("cuMemcpyDtoDAsync");
  if (!valid(target, bytes) || !valid(source, bytes))
    return kInvalidValue;
  return submit(stream,
                [=] { std::memmove(host(target), host(source), bytes); });
}
Result cuMemsetD8Async(DevicePointer target, unsigned char value, size_t bytes,
                       Stream stream) {
  ENTER("cuMemsetD8Async");
  if (!valid(target, bytes))
    return kInvalidValue;
  return submit(stream, [=] { std::memset(host(target), value, bytes); });
}

Result cuStreamCreate(Stream *stream, unsigned) {
  ENTER("cuStreamCreate");
  NEED_CONTEXT();
  *stream = track(new StreamObject);
  return kSuccess;
}
Result cuStreamDestroy(Stream stream) { return destroy(stream); }
Result cuStreamSynchronize(Stream) {
  ENTER("cuStreamSynchronize");
  return kSuccess;
}
Result cuEventCreate(Event *event, unsigned) {
  *event = track(new EventObject);
  return kSuccess;
}
Result cuEventDestroy(Event event) { return destroy(event); }
Result cuEventRecord(Event event, Stream) {
  event->time = clockMs;
  return kSuccess;
}
Result cuEventElapsedTime(float *milliseconds, Event start, Event end) {
  *milliseconds = end->time - start->time;
  return kSuccess;
}

Result cuModuleLoadData(Module *module, const void *image) {
  ENTER("cuModuleLoadData");
  NEED_CONTEXT();
  std::string_view text(static_cast<const char *>(image));
  if (!text.starts_with(kCubinMark))
    return static_cast<Result>(200);
  *module = track(new ModuleObject);
  (*module)->function.name = text.substr(std::strlen(kCubinMark));
  return kSuccess;
}
Result cuModuleUnload(Module module) { return destroy(module); }
Result cuModuleGetFunction(Function *function, Module module,
                           const char *name) {
  ENTER("cuModuleGetFunction");
  if (module->function.name != name)
    return kNotFound;
  *function = &module->function;
  return kSuccess;
}
Result cuFuncSetAttribute(Function, FunctionAttribute, int) {
  ENTER("cuFuncSetAttribute");
  return kSuccess;
}
/// Of all launch calls.
Result launch(const LaunchConfig &config, Function function, void **parameters,
              bool cooperative = false) {
  NEED_CONTEXT();
  const FakeKernel *kernel = findKernel(function->name);
  if (!kernel || config.gridX == 0 || config.gridY == 0 || config.gridZ == 0)
    return kInvalidValue;
  std::vector<uint64_t> args;
  for (size_t i = 0; i < kernel->arguments; ++i)
    args.push_back(*static_cast<uint64_t *>(parameters[i]));
  FakeLaunch seen = {kernel->name,
                     {config.gridX, config.gridY, config.gridZ},
                     {config.blockX, config.blockY, config.blockZ},
                     config.sharedBytes,
                     false,
                     cooperative};
  for (unsigned i = 0; i < config.attributeCount; ++i) {
    if (config.attributes[i].id != kProgrammaticStreamSerialization)
      return kInvalidValue;
    seen.overlaps = config.attributes[i].value != 0;
  }
  return submit(config.stream, [=] {
    clockMs += 1;
    fake.launches.push_back(seen);
    kernel->run(args);
  });
}
Result cuLaunchKernel(Function function, unsigned gridX, unsigned gridY,
                      unsigned gridZ, unsigned blockX, unsigned blockY,
                      unsigned blockZ, unsigned sharedBytes, Stream stream,
                      void **parameters, void **) {
  ENTER("cuLaunchKernel");
  return launch({gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,
                 stream, nullptr, 0},
                function, parameters);
}
Result cuLaunchKernelEx(const LaunchConfig *config, Function function,
                        void **parameters, void **) {
  ENTER("cuLaunchKernelEx");
  return launch(*config, function, parameters);
}
Result cuLaunchCooperativeKernel(Function function, unsigned gridX,
                                 unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY,
                                 unsigned blockZ, unsigned sharedBytes,
                                 Stream stream, void **parameters) {
  ENTER("cuLaunchCooperativeKernel");
  if (gridX * gridY * gridZ >
      unsigned(kMultiprocessors * fake.blocksPerProcessor))
    return kInvalidValue;
  return launch({gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,
                 stream, nullptr, 0},
                function, parameters, /*cooperative=*/true);
}
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function, int,
                                                   size_t) {
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = fake.blocksPerProcessor;
  return kSuccess;
}
Result cuTensorMapEncodeTiled(TensorMap *map, TensorMapType type, uint32_t rank,
                              void *address, const uint64_t *sizes,
                              const uint64_t *strides, const uint32_t *box,
                              const uint32_t *elementStrides,
                              TensorMapInterleave, TensorMapSwizzle swizzle,
                              TensorMapPromotion, TensorMapFill) {
  ENTER("cuTensorMapEncodeTiled");
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 ||
      std::any_of(elementStrides, elementStrides + rank,
                  [](uint32_t stride) { return stride != 1; }))
    return kInvalidValue;
  map->opaque[0] = reinterpret_cast<uint64_t>(address);
  fake.tensorMaps.push_back({type,
                             map->opaque[0],
                             {sizes, sizes + rank},
                             {strides, strides + rank - 1},
                             {box, box + rank},
                             swizzle});
  return kSuccess;
}

Result cuLinkCreate(unsigned count, JitOption *options, void **values,
                    LinkState *link) {
  ENTER("cuLinkCreate");
  NEED_CONTEXT();
  *link = track(new LinkStateObject);
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kJitErrorLogBuffer)
      (*link)->log = static_cast<char *>(values[i]);
    if (options[i] == kJitErrorLogBufferBytes)
      (*link)->logBytes = reinterpret_cast<size_t>(values[i]);
  }
  return kSuccess;
}
Result cuLinkAddData(LinkState link, JitInputType, void *data, size_t bytes,
                     const char *, unsigned, JitOption *, void **) {
  ENTER("cuLinkAddData");
  std::string_view text(static_cast<const char *>(data), bytes);
  if (text.empty() || text.back() != '\0')
    return kInvalidValue; // the real one reads on past the end
  if (text.find("error") != std::string_view::npos) {
    std::snprintf(link->log, link->logBytes, "line 7: unexpected 'error'");
    return kInvalidPtx;
  }
  constexpr std::string_view kEntry = ".entry ";
  size_t at = text.find(kEntry);
  if (at == std::string_view::npos)
    return kInvalidPtx;
  std::string_view name = text.substr(at + kEntry.size());
  link->cubin = kCubinMark;
  link->cubin += name.substr(0, name.find('('));
  ++fake.compilations;
  return kSuccess;
}
Result cuLinkComplete(LinkState link, void **cubin, size_t *bytes) {
  ENTER("cuLinkComplete");
  *cubin = link->cubin.data();
  *bytes = link->cubin.size() + 1;
  return kSuccess;
}
Result cuLinkDestroy(LinkState link) { return destroy(link); }

Result cuStreamBeginCapture(Stream stream, CaptureMode) {
  ENTER("cuStreamBeginCapture");
  stream->captured = new std::vector<std::function<void()>>;
  ++fake.captures;
  return kSuccess;
}
Result cuStreamEndCapture(Stream stream, Graph *graph) {
  ENTER("cuStreamEndCapture");
  *graph = track(new GraphObject{std::move(*stream->captured)});
  delete stream->captured;
  stream->captured = nullptr;
  return kSuccess;
}
Result cuGraphInstantiateWithFlags(GraphExec *executable, Graph graph,
                                   unsigned long long) {
  ENTER("cuGraphInstantiateWithFlags");
  *executable = track(new GraphExecObject{graph->work});
  return kSuccess;
}
Result cuGraphLaunch(GraphExec executable, Stream) {
  ENTER("cuGraphLaunch");
  ++fake.graphLaunches;
  for (const std::function<void()> &work : executable->work)
    work();
  return kSuccess;
}
Result cuGraphExecDestroy(GraphExec executable) { return destroy(executable); }
Result cuGraphDestroy(Graph graph) { return destroy(graph); }

struct Entry {
  const char *name;
  int since;
  void *function;
};
const Entry kEntries[] = {
#define EPIFOLD_DRIVER_REQUIRED(name, since, parameters)                       \
  {#name, since, reinterpret_cast<void *>(&name)},
#include "DriverSymbols.def"
};

} // namespace

extern "C" __attribute__((visibility("default"))) FakeCuda *epifoldFakeCuda() {
  return &fake;
}

extern "C" __attribute__((visibility("default"))) Result cuGetProcAddress_v2(
    const char *name, void **function, int version, uint64_t, void *) {
  *function = nullptr;
  if (fake.missingEntry == name || version > fake.driverVersion)
    return kNotFound;
  for (const Entry &entry : kEntries)
    if (std::strcmp(entry.name, name) == 0 && version >= entry.since) {
      *function = entry.function;
      return kSuccess;
    }
  return kNotFound;
}
