// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the compiler library and wraps its C interface.

#include "CompilerLibrary.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>

namespace epifold::tools {
namespace {

constexpr const char *kLibraryName = "libEpifoldCompiler.so";

/// Where the library may be, in the order of trying.
std::vector<std::string> candidates() {
  if (const char *chosen = std::getenv("EPIFOLD_COMPILER_LIBRARY");
      chosen && *chosen)
    return {chosen};
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    std::filesystem::path folder = program.parent_path();
    paths.push_back(folder / kLibraryName);
    paths.push_back(folder.parent_path() / "lib" / kLibraryName);
  }
  paths.push_back(kLibraryName);
  return paths;
}

/// Collects the messages of a failing call.
void appendMessage(void *context, const char *message, size_t size) {
  auto &text = *static_cast<std::string *>(context);
  if (!text.empty())
    text += '\n';
  text.append(message, size);
}

/// Collects texts that a call gives one by one.
void appendText(void *context, const char *text) {
  static_cast<std::vector<std::string> *>(context)->emplace_back(text);
}

Error failed(std::string message) {
  if (message.empty())
    message = "the compiler failed without a message";
  return Error(ErrorCode::Compile, std::move(message));
}

const char *chars(std::span<const uint8_t> bytes) {
  return reinterpret_cast<const char *>(bytes.data());
}

/// Receives results; a bad one is remembered, since a C callback cannot fail.
struct ResultCollector {
  runtime::TensorMap results;
  std::optional<Error> error;

  static void receive(void *context, const epifold_tensor *tensor) {
    auto &self = *static_cast<ResultCollector *>(context);
    std::optional<DataType> type = dataTypeFromNumber(tensor->dtype);
    if (!type) {
      self.error.emplace(
          ErrorCode::Compile,
          fmt::format("result '{}' has the unknown element type {}",
                      tensor->name, tensor->dtype));
      return;
    }
    auto copy = runtime::HostTensor::allocate(
        *type, runtime::Shape(tensor->shape, tensor->shape + tensor->rank));
    if (!copy) {
      self.error.emplace(copy.error());
      return;
    }
    if (copy->bytes() != 0)
      std::memcpy(copy->mutableData(), tensor->data, copy->bytes());
    self.results.insert_or_assign(tensor->name, std::move(*copy));
  }
};

} // namespace

Expected<CompilerLibrary> CompilerLibrary::open() {
  void *library = RTLD_DEFAULT;
  if (!dlsym(RTLD_DEFAULT, "epifold_abi_version")) {
    std::string tried;
    library = nullptr;
    for (const std::string &path : candidates()) {
      library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library)
        break;
      const char *reason = dlerror();
      tried += fmt::format("\n  {}", reason ? reason : path.c_str());
    }
    if (!library)
      return Error(ErrorCode::NotFound,
                   fmt::format("the compiler library is needed for graphs and "
                               "for the reference device, and was not found; "
                               "set EPIFOLD_COMPILER_LIBRARY to its path. "
                               "Tried:{}",
                               tried));
  }
  auto version = reinterpret_cast<decltype(&epifold_abi_version)>(
      dlsym(library, "epifold_abi_version"));
  int found = version ? version() : 0;
  if (found != EPIFOLD_ABI_VERSION)
    return Error(ErrorCode::Unsupported,
                 fmt::format("the compiler library has interface version {}, "
                             "this program wants {}: install matching versions",
                             found, EPIFOLD_ABI_VERSION));
  CompilerLibrary compiler;
  auto find = [&]<typename Function>(Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  };
  if (!find(compiler.loadPassPlugin_, "epifold_load_pass_plugin") ||
      !find(compiler.fusionNames_, "epifold_fusion_names") ||
      !find(compiler.fusionRemarks_, "epifold_fusion_remarks") ||
      !find(compiler.compile_, "epifold_compile") ||
      !find(compiler.signature_, "epifold_signature") ||
      !find(compiler.evaluate_, "epifold_reference_run"))
    return Error(ErrorCode::Unsupported,
                 "the compiler library lacks a function of its interface: "
                 "install it anew");
  return compiler;
}

Expected<void> CompilerLibrary::loadPassPlugin(const std::string &path) const {
  std::string messages;
  int result = loadPassPlugin_(
      path.c_str(), [](void *, const char *) {}, nullptr, appendMessage,
      &messages);
  if (result != 0)
    return failed(std::move(messages));
  return {};
}

std::vector<std::string> CompilerLibrary::fusionNames() const {
  std::vector<std::string> names;
  fusionNames_(appendText, &names);
  return names;
}

Expected<std::vector<std::string>>
CompilerLibrary::fusionRemarks(std::span<const uint8_t> graph,
                               const std::string &options) const {
  std::vector<std::string> remarks;
  std::string messages;
  int result = fusionRemarks_(chars(graph), graph.size(), options.c_str(),
                              appendText, &remarks, appendMessage, &messages);
  if (result != 0)
    return failed(std::move(messages));
  return remarks;
}

Expected<std::vector<uint8_t>>
CompilerLibrary::compile(std::span<const uint8_t> graph,
                         const std::string &options) const {
  std::vector<uint8_t> bytes;
  std::string messages;
  int result = compile_(
      chars(graph), graph.size(), options.c_str(),
      [](void *context, const void *data, size_t size) {
        const auto *begin = static_cast<const uint8_t *>(data);
        static_cast<std::vector<uint8_t> *>(context)->assign(begin,
                                                             begin + size);
      },
      &bytes, appendMessage, &messages);
  if (result != 0)
    return failed(std::move(messages));
  return bytes;
}

Expected<Signature>
CompilerLibrary::signature(std::span<const uint8_t> graph,
                           const std::string &options) const {
  Signature entries;
  std::string messages;
  int result = signature_(
      chars(graph), graph.size(), options.c_str(),
      [](void *context, const epifold_signature_entry *entry) {
        // An unknown number from a library of the same version cannot be; f32
        // then makes the type check of the tensor say so.
        static_cast<Signature *>(context)->push_back(
            {entry->name, static_cast<runtime::TensorKind>(entry->kind),
             dataTypeFromNumber(entry->dtype).value_or(DataType::F32),
             runtime::Shape(entry->shape, entry->shape + entry->rank)});
      },
      &entries, appendMessage, &messages);
  if (result != 0)
    return failed(std::move(messages));
  return entries;
}

Expected<ReferenceOutcome>
CompilerLibrary::evaluate(std::span<const uint8_t> graph,
                          const runtime::TensorMap &inputs,
                          const std::string &options) const {
  std::vector<epifold_tensor> tensors;
  for (const auto &[name, tensor] : inputs)
    tensors.push_back({name.c_str(), static_cast<uint32_t>(tensor.type()),
                       static_cast<uint32_t>(tensor.shape().size()),
                       tensor.shape().data(), tensor.data()});
  ResultCollector collector;
  epifold_run_status status = {0, runtime::kStatusNoRow, runtime::kStatusNoRow};
  std::string messages;
  int result =
      evaluate_(chars(graph), graph.size(), tensors.data(), tensors.size(),
                options.c_str(), ResultCollector::receive, &collector, &status,
                appendMessage, &messages);
  if (result != 0)
    return failed(std::move(messages));
  if (collector.error)
    return *collector.error;
  return ReferenceOutcome{
      std::move(collector.results),
      {status.bits, status.first_nan_row, status.first_index_row, 0}};
}

} // namespace epifold::tools
