// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds workloads from the models and from files.

#include "Workload.h"

#include "compiler/tools/support/ToolSupport.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace epifold::tools {
namespace {

/// How many products make one element of what a weight gives: the last
/// dimension, and for a convolution [..., in, taps] the last two.
double fanIn(const runtime::Shape &shape, bool convolution) {
  double products = 1;
  size_t dims = std::min<size_t>(shape.size(), convolution ? 2 : 1);
  for (size_t i = 0; i < dims; ++i)
    products *= static_cast<double>(shape[shape.size() - 1 - i]);
  return std::max(products, 1.0);
}

/// A model's graph, with the count of tokens left open when `dynamic`.
template <typename Model>
Expected<Graph> buildGraph(Model model, bool dynamic) {
  model.results = ModelResults::Min;
  if (dynamic)
    model.tokens = kDynamic;
  return buildModel(model);
}

/// FNV-1a of a tensor's name: what seeds its numbers.
uint64_t seedOf(std::string_view name) {
  uint64_t seed = 0xCBF29CE484222325u;
  for (char c : name)
    seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return seed;
}

/// Puts `columns` in place of the first ones of `tensor`; both are matrices of
/// as many rows.
void pasteColumns(runtime::HostTensor &tensor,
                  const runtime::HostTensor &columns) {
  size_t bytes = byteSize(tensor.type());
  size_t width = static_cast<size_t>(tensor.shape()[1]) * bytes,
         pasted = static_cast<size_t>(columns.shape()[1]) * bytes;
  for (size_t row = 0; row < static_cast<size_t>(tensor.shape()[0]); ++row)
    std::memcpy(tensor.mutableData() + row * width,
                columns.data() + row * pasted, pasted);
}

Expected<runtime::HostTensor> drawArgument(const WorkloadArgument &argument) {
  if (argument.values)
    return *argument.values;
  Expected<runtime::HostTensor> tensor =
      randomTensor(argument.type, argument.shape, argument.distribution,
                   seedOf(argument.name));
  if (tensor && argument.leadingColumns)
    pasteColumns(*tensor, *argument.leadingColumns);
  return tensor;
}

} // namespace

std::vector<WorkloadArgument>
argumentsOf(const Graph &graph, int64_t size, int64_t limit,
            std::initializer_list<std::string_view> convolutions) {
  std::vector<WorkloadArgument> arguments;
  for (const TensorSignature &entry : graph.signature()) {
    if (entry.kind == TensorSignature::Kind::Result)
      continue;
    WorkloadArgument &argument = arguments.emplace_back(
        WorkloadArgument{entry.name, entry.kind, entry.type, entry.shape, {}});
    std::replace(argument.shape.begin(), argument.shape.end(), kDynamic, size);
    argument.distribution.limit = limit;
    bool convolution = std::find(convolutions.begin(), convolutions.end(),
                                 entry.name) != convolutions.end();
    if (entry.kind == TensorSignature::Kind::Parameter)
      argument.distribution.deviation =
          1 / std::sqrt(fanIn(argument.shape, convolution));
  }
  return arguments;
}

WorkloadArgument &find(Workload &workload, std::string_view name) {
  return *std::find_if(
      workload.arguments.begin(), workload.arguments.end(),
      [&](const WorkloadArgument &argument) { return argument.name == name; });
}

double bytesOfSignature(const Workload &workload, int64_t size) {
  double bytes = 0;
  for (const WorkloadArgument &argument : workload.arguments) {
    double elements = 1;
    for (int64_t dim : argument.shape)
      elements *= static_cast<double>(dim);
    bytes += argument.share * elements *
             static_cast<double>(byteSize(argument.type));
  }
  for (const TensorSignature &entry : workload.graph.signature()) {
    if (entry.kind != TensorSignature::Kind::Result)
      continue;
    double elements = 1;
    for (int64_t dim : entry.shape)
      elements *= static_cast<double>(dim == kDynamic ? size : dim);
    bytes += elements * static_cast<double>(byteSize(entry.type));
  }
  return bytes;
}

double productOf(std::initializer_list<int64_t> sizes) {
  double result = 1;
  for (int64_t size : sizes)
    result *= static_cast<double>(size);
  return result;
}

Expected<Workload> makeWorkload(ExpertConvFoldModel m, bool dynamic) {
  Expected<Graph> graph = buildGraph(m, dynamic);
  if (!graph)
    return graph.error();
  std::vector<WorkloadArgument> arguments =
      argumentsOf(*graph, m.tokens, 0, {"w.conv"});
  Workload workload{
      "expert_conv_fold",
      {{"experts", m.experts},
       {"tokens", m.tokens},
       {"width", m.width},
       {"kernel", m.kernel},
       {"dilation", m.dilation}},
      m.type,
      std::move(*graph),
      std::move(arguments),
      2 * productOf({m.experts, m.tokens, m.width, m.width, m.kernel})};
  workload.leastBytes = bytesOfSignature(workload, m.tokens);
  return workload;
}

Expected<Workload> makeWorkload(ClmConvMoeModel m, bool dynamic) {
  Expected<Graph> graph = buildGraph(m, dynamic);
  if (!graph)
    return graph.error();
  std::vector<WorkloadArgument> arguments = argumentsOf(
      *graph, m.tokens + 1, m.vocab, {"w.c0.w", "w.c1.w", "w.expert.w"});
  // Two convolutions and one an expert, of three taps; router and readout.
  double perToken = 3 * productOf({m.width, m.width, 2 + m.experts}) +
                    productOf({m.width, m.experts + m.vocab});
  Workload workload{"clm_conv_moe",
                    {{"batch", m.batch},
                     {"tokens", m.tokens},
                     {"width", m.width},
                     {"experts", m.experts},
                     {"vocab", m.vocab},
                     {"dilation", m.dilation}},
                    m.type,
                    std::move(*graph),
                    std::move(arguments),
                    2 * productOf({m.batch, m.tokens}) * perToken};
  // Rows of a table are activations, and gains are about one.
  find(workload, "w.emb").distribution.deviation = 1;
  for (std::string_view gain : {"w.gn1.g", "w.gn2.g"})
    find(workload, gain).distribution.mean = 1;
  workload.leastBytes = bytesOfSignature(workload, m.tokens);
  return workload;
}

Expected<Workload> makeWorkload(const SkewedMoeSwiglu &m, bool dynamic) {
  Expected<Graph> graph = buildGraph<MoeSwigluModel>(m, dynamic);
  if (!graph)
    return graph.error();
  std::vector<WorkloadArgument> arguments =
      argumentsOf(*graph, m.tokens, 0, {});
  Workload workload{"moe_swiglu",
                    {{"tokens", m.tokens},
                     {"width", m.width},
                     {"hidden", m.hidden},
                     {"experts", m.experts},
                     {"topk", m.topk}},
                    m.type,
                    std::move(*graph),
                    std::move(arguments),
                    6 * productOf({m.tokens, m.topk, m.hidden, m.width}) +
                        2 * productOf({m.tokens, m.width, m.experts})};
  for (std::string_view weight : {"w.gate_up.w", "w.down.w"})
    find(workload, weight).share = std::min(
        1.0, productOf({m.tokens, m.topk}) / static_cast<double>(m.experts));
  workload.leastBytes = bytesOfSignature(workload, m.tokens);
  if (m.skew.kind == Skew::Kind::Random)
    return workload;
  workload.shape["skew"] = describe(m.skew);
  constexpr uint64_t kSeed = 1;
  Expected<RouterColumns> columns = routerColumns(
      m.tokens, m.topk, m.experts, m.width, m.type, m.skew, kSeed);
  if (!columns)
    return columns.error();
  find(workload, "in.x").leadingColumns = std::move(columns->tokens);
  find(workload, "w.router.w").leadingColumns = std::move(columns->router);
  return workload;
}

Expected<Workload> makeWorkload(const GraphFile &file) {
  Expected<std::string> text = readFile(file.path);
  if (!text)
    return text.error();
  Expected<Graph> graph = Graph::parse(*text, file.path);
  if (!graph)
    return graph.error();
  for (const TensorSignature &entry : graph->signature())
    if (file.size == 0 && entry.kind != TensorSignature::Kind::Result &&
        std::find(entry.shape.begin(), entry.shape.end(), kDynamic) !=
            entry.shape.end())
      return Error(ErrorCode::InvalidArgument,
                   file.path + ": '" + entry.name +
                       "' has a dynamic dimension: give its size with --size");
  std::vector<WorkloadArgument> arguments =
      argumentsOf(*graph, file.size, file.limit, {});
  nlohmann::ordered_json shape = nlohmann::ordered_json::object();
  std::optional<DataType> type;
  for (const WorkloadArgument &argument : arguments) {
    if (argument.kind == TensorSignature::Kind::Input)
      shape[argument.name] = argument.shape;
    if (!type && isFloat(argument.type))
      type = argument.type;
  }
  bool sized = true;
  for (const TensorSignature &entry : graph->signature())
    if (entry.kind == TensorSignature::Kind::Result)
      sized &= std::find(entry.shape.begin(), entry.shape.end(), kDynamic) ==
               entry.shape.end();
  Workload workload{
      file.path,         std::move(shape),     type.value_or(DataType::F32),
      std::move(*graph), std::move(arguments), std::nullopt};
  if (sized)
    workload.leastBytes = bytesOfSignature(workload, 0);
  return workload;
}

Expected<runtime::TensorMap> drawArguments(const Workload &workload) {
  runtime::TensorMap tensors;
  for (const WorkloadArgument &argument : workload.arguments) {
    Expected<runtime::HostTensor> tensor = drawArgument(argument);
    if (!tensor)
      return tensor.error().withContext("'" + argument.name + "'");
    tensors.emplace(argument.name, std::move(*tensor));
  }
  return tensors;
}

} // namespace epifold::tools
