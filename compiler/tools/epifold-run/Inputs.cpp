// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds a graph's arguments in the files that the user named.

#include "Inputs.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace epifold::tools {

using runtime::HostTensor;
using runtime::SafetensorsFile;
using runtime::TensorKind;

namespace {

std::string describeWanted(const SignatureEntry &entry) {
  std::vector<std::string> sizes;
  for (int64_t size : entry.shape)
    sizes.push_back(size < 0 ? "?" : std::to_string(size));
  return fmt::format("{}[{}]", name(entry.type), fmt::join(sizes, ", "));
}

bool shapeFits(const runtime::Shape &actual, const runtime::Shape &wanted) {
  return std::equal(actual.begin(), actual.end(), wanted.begin(), wanted.end(),
                    [](int64_t a, int64_t w) { return w < 0 || a == w; });
}

} // namespace

Signature signatureOf(const runtime::Executable &executable) {
  const runtime::ExecutableDesc &desc = executable.desc();
  Signature signature;
  for (const runtime::TensorDesc &tensor : desc.tensors) {
    SignatureEntry &entry = signature.emplace_back();
    entry.name = tensor.name;
    entry.kind = tensor.kind;
    entry.type = tensor.type;
    for (runtime::ExprIndex index : tensor.shape) {
      const auto &steps = desc.exprs[index].steps;
      bool isConstant =
          steps.size() == 1 && steps[0].op == runtime::ExprOp::Constant;
      entry.shape.push_back(isConstant ? steps[0].value : -1);
    }
  }
  return signature;
}

Expected<runtime::TensorMap>
gatherArguments(const Signature &signature,
                const std::vector<SafetensorsFile> &files, bool cast) {
  runtime::TensorMap arguments;
  for (const SignatureEntry &entry : signature) {
    if (entry.kind == TensorKind::Result)
      continue;
    auto file =
        std::find_if(files.begin(), files.end(), [&](const SafetensorsFile &f) {
          return f.contains(entry.name);
        });
    if (file == files.end()) {
      std::vector<std::string> paths;
      for (const SafetensorsFile &f : files)
        paths.push_back("'" + f.path() + "'");
      return Error(
          ErrorCode::NotFound,
          fmt::format(
              "{} '{}' ({}) is missing: {}",
              entry.kind == TensorKind::Input ? "input" : "parameter",
              entry.name, describeWanted(entry),
              paths.empty()
                  ? std::string("no file was given with --inputs or --params")
                  : fmt::format("it is not in {}", fmt::join(paths, ", "))));
    }
    Expected<HostTensor> tensor = file->tensor(entry.name);
    if (!tensor)
      return tensor.error();
    std::string found = runtime::describe(tensor->type(), tensor->shape());
    if (!shapeFits(tensor->shape(), entry.shape))
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("tensor '{}' in '{}' is {}, the graph wants {}",
                               entry.name, file->path(), found,
                               describeWanted(entry)));
    if (tensor->type() != entry.type) {
      if (!cast)
        return Error(
            ErrorCode::InvalidArgument,
            fmt::format("tensor '{}' in '{}' is {}, the graph wants {}: "
                        "convert it, or add --cast",
                        entry.name, file->path(), found,
                        describeWanted(entry)));
      tensor = castTensor(*tensor, entry.type);
      if (!tensor)
        return tensor.error().withContext("tensor '" + entry.name + "'");
    }
    arguments.emplace(entry.name, std::move(*tensor));
  }
  return arguments;
}

} // namespace epifold::tools
