// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The JSON header of a safetensors file, parsed and checked.

#include "SafetensorsHeader.h"

#include "ErrorFormat.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace epifold::runtime {
namespace {

using Json = nlohmann::json;

/// Receives the parser's events and accepts only the two-level object of the
/// format. A tree is never built, so depth and size cost nothing.
class HeaderReader {
public:
  explicit HeaderReader(SafetensorsHeader &header) : header_(header) {}

  const std::string &failure() const { return failure_; }

  bool start_object(size_t) {
    switch (where_) {
    case Where::Start:
      where_ = Where::Top;
      return true;
    case Where::TopValue:
      where_ = inMetadata_ ? Where::Metadata : Where::Tensor;
      return true;
    default:
      return unexpected("an object");
    }
  }

  bool end_object() {
    if (where_ == Where::Metadata) {
      where_ = Where::Top;
      return true;
    }
    if (where_ == Where::Tensor)
      return finishTensor();
    where_ = Where::End;
    return true;
  }

  bool key(std::string &text) {
    key_ = text;
    switch (where_) {
    case Where::Top:
      return startEntry();
    case Where::Metadata:
      if (header_.metadata.contains(key_))
        return fail(fmt::format("metadata key '{}' appears twice", key_));
      where_ = Where::MetadataValue;
      return true;
    case Where::Tensor:
      return startField();
    default:
      return unexpected("a key");
    }
  }

  bool start_array(size_t) {
    if (where_ == Where::Shape && !inArray_) {
      inArray_ = true;
      return true;
    }
    if (where_ == Where::Offsets && !inArray_) {
      inArray_ = true;
      return true;
    }
    return unexpected("an array");
  }

  bool end_array() {
    inArray_ = false;
    if (where_ == Where::Offsets && offsets_ != 2)
      return fail(fmt::format("tensor '{}': data_offsets has {} numbers, not 2",
                              tensor_, offsets_));
    where_ = Where::Tensor;
    return true;
  }

  bool string(std::string &text) {
    if (where_ == Where::MetadataValue) {
      header_.metadata.emplace(key_, text);
      where_ = Where::Metadata;
      return true;
    }
    if (where_ == Where::Type) {
      entry_.typeName = text;
      where_ = Where::Tensor;
      return true;
    }
    return unexpected("a string");
  }

  bool number_unsigned(uint64_t value) {
    if (where_ == Where::Shape && inArray_) {
      if (entry_.shape.size() == kMaxRank)
        return fail(fmt::format("tensor '{}' has more than {} dimensions",
                                tensor_, kMaxRank));
      if (value > static_cast<uint64_t>(INT64_MAX))
        return fail(fmt::format("tensor '{}': size {} is past 2^63 - 1",
                                tensor_, value));
      entry_.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (where_ == Where::Offsets && inArray_ && offsets_ < 2) {
      (offsets_ == 0 ? entry_.begin : entry_.end) = value;
      ++offsets_;
      return true;
    }
    return unexpected("a number");
  }

  bool number_integer(int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string &) {
    return unexpected("a number with a fraction");
  }
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a truth value"); }
  bool binary(Json::binary_t &) { return unexpected("binary data"); }

  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &) {
    return fail(fmt::format("the header is not JSON (at byte {})", position));
  }

private:
  static constexpr size_t kMaxRank = 64;

  enum class Where {
    Start,         // before the outer object
    Top,           // in it, before a key
    TopValue,      // after a tensor's name or "__metadata__"
    Metadata,      // in the metadata object
    MetadataValue, // after a key of it
    Tensor,        // in a tensor's object
    Type,          // after "dtype"
    Shape,         // after "shape"
    Offsets,       // after "data_offsets"
    End,
  };

  bool fail(std::string message) {
    if (failure_.empty())
      failure_ = std::move(message);
    return false;
  }

  bool unexpected(const char *what) {
    return fail(fmt::format("unexpected {} after key '{}'", what, key_));
  }

  bool startEntry() {
    where_ = Where::TopValue;
    inMetadata_ = key_ == "__metadata__";
    if (inMetadata_) {
      if (seenMetadata_)
        return fail("'__metadata__' appears twice");
      seenMetadata_ = true;
      return true;
    }
    if (header_.entries.contains(key_))
      return fail(fmt::format("tensor '{}' appears twice", key_));
    tensor_ = key_;
    entry_ = {};
    seenType_ = seenShape_ = seenOffsets_ = false;
    offsets_ = 0;
    return true;
  }

  bool startField() {
    auto enter = [&](bool &seen, Where where) {
      if (seen)
        return fail(
            fmt::format("tensor '{}': '{}' appears twice", tensor_, key_));
      seen = true;
      where_ = where;
      return true;
    };
    if (key_ == "dtype")
      return enter(seenType_, Where::Type);
    if (key_ == "shape")
      return enter(seenShape_, Where::Shape);
    if (key_ == "data_offsets")
      return enter(seenOffsets_, Where::Offsets);
    return fail(
        fmt::format("tensor '{}' has the unknown field '{}'", tensor_, key_));
  }

  bool finishTensor() {
    for (auto [seen, field] : {std::pair{seenType_, "dtype"},
                               {seenShape_, "shape"},
                               {seenOffsets_, "data_offsets"}})
      if (!seen)
        return fail(fmt::format("tensor '{}' has no '{}'", tensor_, field));
    header_.entries.emplace(tensor_, std::move(entry_));
    where_ = Where::Top;
    return true;
  }

  SafetensorsHeader &header_;
  std::string failure_;
  Where where_ = Where::Start;
  std::string key_;
  std::string tensor_;
  SafetensorsEntry entry_;
  int offsets_ = 0;
  bool inMetadata_ = false;
  bool inArray_ = false;
  bool seenMetadata_ = false;
  bool seenType_ = false;
  bool seenShape_ = false;
  bool seenOffsets_ = false;
};

/// Element bytes of a type of the format, 0 when it is none.
uint64_t formatTypeBytes(std::string_view typeName) {
  if (std::optional<DataType> type = dataTypeFromSafetensorsName(typeName))
    return byteSize(*type);
  // Types of the format that Epifold has no tensors of: a file may hold them
  // beside the tensors that are wanted.
  struct Other {
    std::string_view name;
    uint64_t bytes;
  };
  for (const Other &other :
       {Other{"U16", 2}, Other{"U32", 4}, Other{"U64", 8}, Other{"C64", 8},
        Other{"F8_E4M3", 1}, Other{"F8_E5M2", 1}, Other{"F8_E8M0", 1}})
    if (other.name == typeName)
      return other.bytes;
  return 0;
}

Expected<void> checkEntry(const std::string &name, SafetensorsEntry &entry,
                          uint64_t dataBytes) {
  auto corrupt = [&](std::string what) {
    return makeError(ErrorCode::Corrupt, "tensor '{}': {}", name, what);
  };
  uint64_t elementBytes = formatTypeBytes(entry.typeName);
  if (elementBytes == 0)
    return corrupt(fmt::format("unknown dtype '{}'", entry.typeName));
  entry.type = dataTypeFromSafetensorsName(entry.typeName);
  if (entry.begin > entry.end || entry.end > dataBytes)
    return corrupt(
        fmt::format("data_offsets [{}, {}] leave the data area of {} bytes",
                    entry.begin, entry.end, dataBytes));
  Expected<int64_t> elements = elementCount(entry.shape);
  if (!elements)
    return corrupt(elements.error().message());
  uint64_t bytes;
  if (__builtin_mul_overflow(static_cast<uint64_t>(*elements), elementBytes,
                             &bytes) ||
      bytes != entry.end - entry.begin)
    return corrupt(fmt::format(
        "{} elements of {} do not fill the {} bytes of its data_offsets",
        *elements, entry.typeName, entry.end - entry.begin));
  return {};
}

/// The tensors' byte ranges must tile the data area.
Expected<void> checkTiling(const SafetensorsHeader &header,
                           uint64_t dataBytes) {
  std::vector<std::pair<const std::string *, const SafetensorsEntry *>> order;
  order.reserve(header.entries.size());
  for (const auto &[name, entry] : header.entries)
    order.emplace_back(&name, &entry);
  std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) {
    return std::pair(a.second->begin, a.second->end) <
           std::pair(b.second->begin, b.second->end);
  });
  uint64_t reached = 0;
  for (const auto &[name, entry] : order) {
    if (entry->begin != reached)
      return makeError(ErrorCode::Corrupt,
                       "tensor '{}' starts at byte {} of the data area where "
                       "byte {} is next: {}",
                       *name, entry->begin, reached,
                       entry->begin < reached ? "tensors overlap"
                                              : "there is a hole");
    reached = entry->end;
  }
  if (reached != dataBytes)
    return makeError(ErrorCode::Corrupt,
                     "{} bytes after the last tensor belong to none",
                     dataBytes - reached);
  return {};
}

} // namespace

Expected<SafetensorsHeader> parseSafetensorsHeader(std::string_view text,
                                                   uint64_t dataBytes) {
  if (text.empty() || text.front() != '{')
    return makeError(ErrorCode::Corrupt, "the header does not start with '{{'");
  SafetensorsHeader header;
  HeaderReader reader(header);
  if (!Json::sax_parse(text, &reader))
    return makeError(ErrorCode::Corrupt, "{}", reader.failure());
  for (auto &[name, entry] : header.entries)
    if (Expected<void> checked = checkEntry(name, entry, dataBytes); !checked)
      return checked.error();
  if (Expected<void> checked = checkTiling(header, dataBytes); !checked)
    return checked.error();
  return header;
}

} // namespace epifold::runtime
