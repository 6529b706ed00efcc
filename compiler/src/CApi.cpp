// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The C interface that the runtime's tools open.

#include "epifold/c/compiler.h"

#include "epifold/Compiler.h"

#include <nlohmann/json.hpp>

using namespace epifold;

namespace {

void report(epifold_error_sink sink, void *context,
            const std::string &message) {
  if (sink)
    sink(context, message.data(), message.size());
}

/// The options object, or an error that names what is wrong with it.
Expected<nlohmann::json> parseOptions(const char *text) {
  if (!text || !*text)
    return nlohmann::json::object();
  nlohmann::json options =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!options.is_object())
    return Error(ErrorCode::InvalidArgument,
                 "options are not a JSON object: " + std::string(text));
  return options;
}

/// String option `key`, or `fallback` when it is absent or of another type.
std::string stringOption(const nlohmann::json &options, const char *key,
                         const std::string &fallback) {
  auto entry = options.find(key);
  return entry != options.end() && entry->is_string()
             ? entry->get<std::string>()
             : fallback;
}

struct Request {
  Graph graph;
  nlohmann::json options;
};

Expected<Request> open(const char *data, size_t size, const char *optionsText) {
  Expected<nlohmann::json> options = parseOptions(optionsText);
  if (!options)
    return options.error();
  Expected<Graph> graph =
      Graph::parse({data, size}, stringOption(*options, "name", "graph"));
  if (!graph)
    return graph.error();
  if (std::string name = stringOption(*options, "math", ""); !name.empty()) {
    Expected<MathMode> mode = parseMathMode(name);
    if (!mode)
      return mode.error();
    graph->setMathMode(*mode);
  }
  return Request{std::move(*graph), std::move(*options)};
}

Expected<CompiledGraph> compileRequest(const Request &request) {
  CompileOptions options;
  options.fusion = stringOption(request.options, "fusion", options.fusion);
  if (auto targets = request.options.find("targets");
      targets != request.options.end() && targets->is_array()) {
    options.targets.clear();
    for (const nlohmann::json &target : *targets)
      if (target.is_string())
        options.targets.push_back(target.get<std::string>());
  }
  if (std::string text = stringOption(request.options, "tuning", "");
      !text.empty()) {
    Expected<Tuning> tuning = Tuning::parse(text, "option \"tuning\"");
    if (!tuning)
      return tuning.error();
    options.tuning = std::move(*tuning);
  }
  return compile(request.graph, options);
}

Expected<std::vector<std::string>> remarksOf(const Request &request) {
  std::string kinds = stringOption(request.options, "remarks", "all");
  std::vector<std::string> lines;
  CompileOptions options;
  options.fusion = stringOption(request.options, "fusion", options.fusion);
  options.onFusionRemark = [&](const FusionRemark &remark) {
    if (isOfKind(remark, kinds))
      lines.push_back(toString(remark));
  };
  Expected<std::string> lowered = emitStage(request.graph, "kernel", options);
  if (!lowered)
    return lowered.error();
  return lines;
}

Expected<Evaluation> evaluateRequest(const Request &request,
                                     const epifold_tensor *inputs,
                                     size_t count) {
  EvaluateOptions options;
  if (stringOption(request.options, "level", "graph") == "kernel")
    options.level = EvaluationLevel::Kernel;
  options.fusion = stringOption(request.options, "fusion", options.fusion);
  if (auto threads = request.options.find("threads");
      threads != request.options.end() && threads->is_number_unsigned())
    options.threads = threads->get<unsigned>();
  runtime::TensorMap tensors;
  for (size_t i = 0; i < count; ++i) {
    const epifold_tensor &input = inputs[i];
    std::optional<DataType> type = dataTypeFromNumber(input.dtype);
    if (!type)
      return Error(ErrorCode::InvalidArgument,
                   std::string(input.name) + " has the unknown type number " +
                       std::to_string(input.dtype));
    auto tensor = runtime::HostTensor::borrowConst(
        *type, runtime::Shape(input.shape, input.shape + input.rank),
        input.data, nullptr);
    if (!tensor)
      return tensor.error().withContext(input.name);
    tensors.emplace(input.name, std::move(*tensor));
  }
  return evaluate(request.graph, tensors, options);
}

} // namespace

extern "C" {

int epifold_abi_version(void) { return EPIFOLD_ABI_VERSION; }

int epifold_compile(const char *data, size_t size, const char *options_json,
                    epifold_bytes_sink out, void *out_context,
                    epifold_error_sink error, void *error_context) {
  Expected<Request> request = open(data, size, options_json);
  if (!request)
    return report(error, error_context, request.error().message()), 1;
  Expected<CompiledGraph> compiled = compileRequest(*request);
  if (!compiled)
    return report(error, error_context, compiled.error().message()), 1;
  out(out_context, compiled->executable.data(), compiled->executable.size());
  return 0;
}

int epifold_load_pass_plugin(const char *path, epifold_text_sink out,
                             void *out_context, epifold_error_sink error,
                             void *error_context) {
  Expected<std::vector<std::string>> names = loadPassPlugin(path);
  if (!names)
    return report(error, error_context, names.error().message()), 1;
  for (const std::string &name : *names)
    out(out_context, name.c_str());
  return 0;
}

void epifold_fusion_names(epifold_text_sink out, void *out_context) {
  for (const std::string &name : fusionNames())
    out(out_context, name.c_str());
}

int epifold_fusion_remarks(const char *data, size_t size,
                           const char *options_json, epifold_text_sink out,
                           void *out_context, epifold_error_sink error,
                           void *error_context) {
  Expected<Request> request = open(data, size, options_json);
  if (!request)
    return report(error, error_context, request.error().message()), 1;
  Expected<std::vector<std::string>> remarks = remarksOf(*request);
  if (!remarks)
    return report(error, error_context, remarks.error().message()), 1;
  for (const std::string &remark : *remarks)
    out(out_context, remark.c_str());
  return 0;
}

int epifold_signature(const char *data, size_t size, const char *options_json,
                      epifold_signature_sink out, void *out_context,
                      epifold_error_sink error, void *error_context) {
  Expected<Request> request = open(data, size, options_json);
  if (!request)
    return report(error, error_context, request.error().message()), 1;
  for (const TensorSignature &tensor : request->graph.signature()) {
    epifold_signature_entry entry = {
        tensor.name.c_str(), static_cast<uint32_t>(tensor.kind),
        static_cast<uint32_t>(tensor.type),
        static_cast<uint32_t>(tensor.shape.size()), tensor.shape.data()};
    out(out_context, &entry);
  }
  return 0;
}

int epifold_reference_run(const char *data, size_t size,
                          const epifold_tensor *inputs, size_t input_count,
                          const char *options_json, epifold_tensor_sink out,
                          void *out_context, epifold_run_status *status,
                          epifold_error_sink error, void *error_context) {
  *status = {0, runtime::kStatusNoRow, runtime::kStatusNoRow};
  Expected<Request> request = open(data, size, options_json);
  if (!request)
    return report(error, error_context, request.error().message()), 1;
  Expected<Evaluation> evaluation =
      evaluateRequest(*request, inputs, input_count);
  if (!evaluation)
    return report(error, error_context, evaluation.error().message()), 1;
  *status = {evaluation->status.bits, evaluation->status.firstNanRow,
             evaluation->status.firstIndexRow};
  for (const auto &[name, tensor] : evaluation->results) {
    epifold_tensor entry = {name.c_str(), static_cast<uint32_t>(tensor.type()),
                            static_cast<uint32_t>(tensor.shape().size()),
                            tensor.shape().data(), tensor.data()};
    out(out_context, &entry);
  }
  return 0;
}

} // extern "C"
