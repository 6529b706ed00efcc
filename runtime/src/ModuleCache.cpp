// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled kernels on disk, keyed by what they were compiled from and for.

#include "ModuleCache.h"

#include "FileIo.h"
#include "Hash.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace epifold::runtime {
namespace {

/// In front of each cubin. An entry is used only when every field is as
/// expected, so a half-written, foreign or damaged file reads as absent.
struct EntryHeader {
  char magic[8] = {'E', 'P', 'I', 'C', 'U', 'B', 'I', '1'};
  uint64_t ptxHash[2];
  uint64_t ptxBytes;
  int32_t driverVersion;
  int32_t capability;
  uint64_t cubinBytes;
  uint64_t cubinHash;

  EntryHeader(const ModuleKey &key, std::span<const uint8_t> cubin)
      : ptxHash{hashBytes(key.ptx, 1), hashBytes(key.ptx, 2)},
        ptxBytes(key.ptx.size()), driverVersion(key.driverVersion),
        capability(key.major * 10 + key.minor), cubinBytes(cubin.size()),
        cubinHash(hashBytes(cubin)) {}
};
static_assert(sizeof(EntryHeader) == 56, "written to files as it is");

std::string defaultDirectory() {
  auto variable = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  if (std::string own = variable("EPIFOLD_CACHE_DIR"); !own.empty())
    return own;
  if (std::string base = variable("XDG_CACHE_HOME"); !base.empty())
    return base + "/epifold";
  if (std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/epifold";
  return "";
}

} // namespace

ModuleCache::ModuleCache(const std::string &directory)
    : directory_(directory.empty() ? defaultDirectory() : directory) {}

std::string ModuleCache::pathOf(const ModuleKey &key) const {
  if (directory_.empty())
    return "";
  EntryHeader header(key, {});
  return fmt::format("{}/{:016x}{:016x}-{}-sm_{}.cubin", directory_,
                     header.ptxHash[0], header.ptxHash[1], header.driverVersion,
                     header.capability);
}

std::optional<std::vector<uint8_t>>
ModuleCache::find(const ModuleKey &key) const {
  if (directory_.empty())
    return std::nullopt;
  auto file = MappedFile::open(pathOf(key));
  if (!file || (*file)->bytes().size() < sizeof(EntryHeader))
    return std::nullopt;
  std::span<const std::byte> bytes = (*file)->bytes();
  const auto *cubin =
      reinterpret_cast<const uint8_t *>(bytes.data() + sizeof(EntryHeader));
  std::vector<uint8_t> content(cubin,
                               cubin + bytes.size() - sizeof(EntryHeader));
  EntryHeader expected(key, content);
  if (std::memcmp(bytes.data(), &expected, sizeof(expected)) != 0)
    return std::nullopt;
  return content;
}

bool ModuleCache::store(const ModuleKey &key,
                        std::span<const uint8_t> cubin) const {
  if (directory_.empty())
    return false;
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error)
    return false;
  EntryHeader header(key, cubin);
  std::span<const std::byte> chunks[] = {std::as_bytes(std::span(&header, 1)),
                                         std::as_bytes(cubin)};
  return bool(writeFileAtomically(pathOf(key), chunks));
}

} // namespace epifold::runtime
