// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A kernel's parameters as a launch passes them: addresses, integers and
// encoded tensor maps.

#include "LaunchArguments.h"

#include "ErrorFormat.h"

#include <string>

namespace epifold::runtime {
namespace {

driver::TensorMapType mapType(DataType type) {
  switch (type) {
  case DataType::F64:
    return driver::kMapF64;
  case DataType::F32:
    return driver::kMapF32;
  case DataType::BF16:
    return driver::kMapBF16;
  case DataType::F16:
    return driver::kMapF16;
  case DataType::I64:
    return driver::kMapI64;
  case DataType::I32:
    return driver::kMapI32;
  case DataType::I16:
    return driver::kMapU16;
  case DataType::I8:
  case DataType::U8:
  case DataType::I1:
    return driver::kMapU8;
  }
  return driver::kMapU8;
}

/// "bf16, sizes 64 8, strides 128, box 64 8, at 0x1000".
std::string describe(const BoundTensorMap &map, uint64_t address) {
  std::string text(name(map.type));
  auto append = [&](const char *what, const auto &numbers) {
    text += what;
    for (auto number : numbers)
      text += fmt::format(" {}", number);
  };
  append(", sizes", map.sizes);
  append(", strides", map.strides);
  append(", box", map.box);
  return text + fmt::format(", at {:#x}", address);
}

Expected<driver::TensorMap> encode(const driver::Driver &driver,
                                   const BoundTensorMap &map,
                                   uint64_t address) {
  constexpr uint64_t kAlignment = 16;
  if (address % kAlignment != 0)
    return makeError(ErrorCode::InvalidArgument,
                     "a tensor map ({}) does not start at a multiple of {} "
                     "bytes",
                     describe(map, address), kAlignment);
  driver::TensorMap encoded;
  const std::vector<uint32_t> elementStrides(map.box.size(), 1);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes it so here.
  auto *start = reinterpret_cast<void *>(address);
  driver::Result result = driver.cuTensorMapEncodeTiled(
      &encoded, mapType(map.type), static_cast<uint32_t>(map.box.size()), start,
      map.sizes.data(), map.strides.data(), map.box.data(),
      elementStrides.data(), driver::kNoInterleave, driver::kSwizzle128Bytes,
      driver::kPromote256Bytes, driver::kFillZeros);
  if (result != driver::kSuccess)
    return driver.error("cuTensorMapEncodeTiled", result,
                        "a tensor map (" + describe(map, address) + ")");
  return encoded;
}

} // namespace

Expected<LaunchArguments>
LaunchArguments::make(const driver::Driver &driver,
                      const std::vector<BoundArg> &args,
                      std::span<const uint64_t> addresses) {
  auto addressOf = [&](const BoundPointer &pointer) {
    return addresses[pointer.buffer] + static_cast<uint64_t>(pointer.offset);
  };
  LaunchArguments made;
  for (size_t i = 0; i < args.size(); ++i) {
    if (const auto *map = std::get_if<BoundTensorMap>(&args[i])) {
      auto encoded = encode(driver, *map, addressOf(map->base));
      if (!encoded)
        return encoded.error().withContext(fmt::format("argument {}", i));
      made.maps_.push_back(*encoded);
    } else if (const auto *pointer = std::get_if<BoundPointer>(&args[i])) {
      made.words_.push_back(addressOf(*pointer));
    } else {
      made.words_.push_back(static_cast<uint64_t>(std::get<int64_t>(args[i])));
    }
  }
  // Pointers are taken once nothing moves any more.
  size_t words = 0, maps = 0;
  for (const BoundArg &arg : args)
    made.pointers_.push_back(std::holds_alternative<BoundTensorMap>(arg)
                                 ? static_cast<void *>(&made.maps_[maps++])
                                 : &made.words_[words++]);
  return made;
}

} // namespace epifold::runtime
