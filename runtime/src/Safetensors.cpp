// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Safetensors files: access to a parsed file, and writing.

#include "epifold/runtime/Safetensors.h"

#include "ErrorFormat.h"
#include "FileIo.h"
#include "SafetensorsHeader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little-endian and is used in place");

namespace epifold::runtime {

struct SafetensorsFile::Content {
  std::string path;
  std::shared_ptr<const MappedFile> file; // null for bytes of the caller
  std::span<const std::byte> data;        // the area after the header
  SafetensorsHeader header;
};

Expected<SafetensorsFile>
SafetensorsFile::parse(std::span<const std::byte> bytes, std::string name) {
  auto corrupt = [&](std::string what) {
    return makeError(ErrorCode::Corrupt,
                     "'{}' is not a valid safetensors file: {}", name, what);
  };
  if (bytes.size() < kSafetensorsPrefix)
    return corrupt(fmt::format("it has {} bytes, fewer than the {} of the "
                               "header's length",
                               bytes.size(), kSafetensorsPrefix));
  uint64_t length;
  std::memcpy(&length, bytes.data(), sizeof(length));
  uint64_t rest = bytes.size() - kSafetensorsPrefix;
  if (length > rest)
    return corrupt(fmt::format("its header claims {} bytes where {} are left",
                               length, rest));
  if (length > kSafetensorsMaxHeader)
    return corrupt(fmt::format("its header of {} bytes is longer than {}",
                               length, kSafetensorsMaxHeader));
  std::string_view text(reinterpret_cast<const char *>(bytes.data()) +
                            kSafetensorsPrefix,
                        length);
  Expected<SafetensorsHeader> header =
      parseSafetensorsHeader(text, rest - length);
  if (!header)
    return corrupt(header.error().message());
  auto content = std::make_shared<Content>();
  content->path = std::move(name);
  content->data = bytes.subspan(kSafetensorsPrefix + length);
  content->header = std::move(*header);
  return SafetensorsFile(std::move(content));
}

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.error();
  Expected<SafetensorsFile> parsed = parse((*file)->bytes(), path);
  if (!parsed)
    return parsed;
  auto content = std::make_shared<Content>(*parsed->content_);
  content->file = *file;
  return SafetensorsFile(std::move(content));
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto &entry : content_->header.entries)
    names.push_back(entry.first);
  return names;
}

bool SafetensorsFile::contains(std::string_view name) const {
  return content_->header.entries.contains(name);
}

Expected<HostTensor> SafetensorsFile::tensor(std::string_view name) const {
  auto found = content_->header.entries.find(name);
  if (found == content_->header.entries.end())
    return makeError(ErrorCode::NotFound, "'{}' holds no tensor '{}'",
                     content_->path, name);
  const SafetensorsEntry &entry = found->second;
  if (!entry.type)
    return makeError(ErrorCode::Unsupported,
                     "tensor '{}' of '{}' has dtype {}, which Epifold does not "
                     "compute with: convert it to one of F64, F32, BF16, F16, "
                     "I64, I32, I16, I8, U8 or BOOL",
                     name, content_->path, entry.typeName);
  const std::byte *data = content_->data.data() + entry.begin;
  size_t bytes = entry.end - entry.begin;
  if (*entry.type == DataType::I1)
    for (size_t i = 0; i < bytes; ++i)
      if (static_cast<uint8_t>(data[i]) > 1)
        return makeError(ErrorCode::Corrupt,
                         "tensor '{}' of '{}' is BOOL, but element {} is {}",
                         name, content_->path, i,
                         static_cast<unsigned>(data[i]));
  if (reinterpret_cast<uintptr_t>(data) % byteSize(*entry.type) == 0)
    return HostTensor::borrowConst(*entry.type, entry.shape, data, content_);
  // The format does not promise alignment; loads of whole elements need it.
  Expected<HostTensor> copy = HostTensor::allocate(*entry.type, entry.shape);
  if (copy && bytes != 0)
    std::memcpy(copy->mutableData(), data, bytes);
  return copy;
}

const Metadata &SafetensorsFile::metadata() const {
  return content_->header.metadata;
}

const std::string &SafetensorsFile::path() const { return content_->path; }

Expected<void> writeSafetensors(const std::string &path,
                                const TensorMap &tensors,
                                const Metadata &metadata) {
  // Wide elements first, so that every tensor starts aligned for its type.
  std::vector<const TensorMap::value_type *> order;
  for (const auto &entry : tensors) {
    if (entry.first == "__metadata__")
      return makeError(ErrorCode::InvalidArgument,
                       "cannot write '{}': the format keeps the name "
                       "'__metadata__' for itself",
                       path);
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) {
    size_t aBytes = byteSize(a->second.type());
    size_t bBytes = byteSize(b->second.type());
    return aBytes != bBytes ? aBytes > bBytes : a->first < b->first;
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto *entry : order) {
    const HostTensor &tensor = entry->second;
    header[entry->first] = {
        {"dtype", safetensorsName(tensor.type())},
        {"shape", tensor.shape()},
        {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  // Names are the caller's: text that is not UTF-8 is replaced, not thrown at.
  std::string text =
      header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // Spaces up to a multiple of 64 keep the first tensor aligned in a map.
  constexpr size_t kAlignment = 64;
  while ((kSafetensorsPrefix + text.size()) % kAlignment != 0)
    text.push_back(' ');
  uint64_t length = text.size();

  std::vector<std::span<const std::byte>> chunks;
  chunks.push_back(std::as_bytes(std::span(&length, 1)));
  chunks.push_back(std::as_bytes(std::span(text)));
  for (const auto *entry : order)
    chunks.push_back(entry->second.span());
  return writeFileAtomically(path, chunks);
}

} // namespace epifold::runtime
