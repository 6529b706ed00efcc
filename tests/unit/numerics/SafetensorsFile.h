// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A reader of trusted safetensors files for these tests, which must not depend
// on the runtime.

#ifndef EPIFOLD_TESTS_UNIT_NUMERICS_SAFETENSORSFILE_H
#define EPIFOLD_TESTS_UNIT_NUMERICS_SAFETENSORSFILE_H

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace epifold::numerics::test {

/// The tensors of one file by name; names must exist, files must be well
/// formed, else it throws.
class SafetensorsFile {
public:
  explicit SafetensorsFile(const std::filesystem::path &path) {
    std::ifstream stream(path, std::ios::binary);
    stream.exceptions(std::ios::failbit | std::ios::badbit);
    uint64_t headerSize = 0;
    stream.read(reinterpret_cast<char *>(&headerSize), sizeof headerSize);
    std::string text(headerSize, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(headerSize));
    header = nlohmann::json::parse(text);
    bytes.resize(std::filesystem::file_size(path) - sizeof headerSize -
                 headerSize);
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (auto &[name, entry] : header.items())
      if (name != "__metadata__")
        result.push_back(name);
    return result;
  }

  std::vector<size_t> shape(const std::string &name) const {
    return header.at(name).at("shape").get<std::vector<size_t>>();
  }

  template <typename T>
  std::vector<T> read(const std::string &name) const {
    auto offsets =
        header.at(name).at("data_offsets").get<std::vector<size_t>>();
    std::vector<T> values((offsets.at(1) - offsets.at(0)) / sizeof(T));
    std::memcpy(values.data(), bytes.data() + offsets.at(0),
                values.size() * sizeof(T));
    return values;
  }

private:
  nlohmann::json header;
  std::vector<char> bytes;
};

} // namespace epifold::numerics::test

#endif // EPIFOLD_TESTS_UNIT_NUMERICS_SAFETENSORSFILE_H
