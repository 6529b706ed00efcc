// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds a routed layer in C++, compiles it in process and runs it: on a GPU
// when there is one, and on the CPU in any case. Both give the same bits.

#include "epifold/Compiler.h"
#include "epifold/GraphBuilder.h"
#include "epifold/runtime/Device.h"
#include "epifold/runtime/Executable.h"
#include "epifold/runtime/Session.h"

#include <cstdio>
#include <cstring>
#include <vector>

using namespace epifold;
using namespace epifold::runtime;

namespace {

constexpr int64_t kWidth = 32, kHidden = 16, kExperts = 4, kTopK = 2;

/// y = x + Σ_k w[k] · W_down[e]·gelu(W_up[e]·x): a residual around two of four
/// experts, for any number of tokens. Written naively, one branch per expert;
/// the compiler folds them.
Expected<Graph> buildLayer() {
  GraphBuilder b;
  GraphValue x = b.input("in.x", DataType::F32, {kDynamic, kWidth});
  GraphValue router =
      b.parameter("w.router", DataType::F32, {kExperts, kWidth});
  GraphValue up =
      b.parameter("w.up", DataType::F32, {kExperts, kHidden, kWidth});
  GraphValue down =
      b.parameter("w.down", DataType::F32, {kExperts, kWidth, kHidden});

  GraphBuilder::TopK chosen = b.topK(b.softmax(b.matmul(x, router)), kTopK);
  GraphBuilder::Routing routing = b.route(chosen.indices, kExperts);
  std::vector<GraphValue> branches;
  for (int64_t e = 0; e < kExperts; ++e) {
    GraphValue rows = b.dispatch(x, routing.routing, e);
    GraphValue hidden = b.gelu(b.matmul(rows, b.select(up, 0, e)));
    GraphValue product = b.matmul(hidden, b.select(down, 0, e));
    branches.push_back(
        b.mul(product, b.dispatchSlot(chosen.values, routing.routing, e)));
  }
  b.result("out.y", b.add(x, b.combine(routing.routing, branches)));
  return b.finish();
}

/// A tensor over memory of the caller's; here a ramp, in a program the data.
Expected<HostTensor> wrap(std::vector<float> &values, Shape shape, int step) {
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(i * step % 31) - 15) / 16;
  return HostTensor::borrow(DataType::F32, std::move(shape), values.data());
}

Expected<HostTensor> runOnDevice(Device device, const Graph &graph,
                                 const TensorMap &tensors) {
  auto compiled = compile(graph);
  if (!compiled)
    return compiled.error();
  std::printf("compiled: %zu kernels, %zu launches a step\n", compiled->kernels,
              compiled->launches);
  auto executable = Executable::load(compiled->executable);
  if (!executable)
    return executable.error();
  auto session = Session::create(std::move(device), *executable);
  if (!session)
    return session.error();
  if (auto bound = session->bindParameters(tensors); !bound)
    return bound.error();
  auto outcome = session->run(tensors);
  if (!outcome)
    return outcome.error();
  return outcome->results.at("out.y");
}

Expected<bool> runExample(int64_t tokens) {
  auto graph = buildLayer();
  if (!graph)
    return graph.error();

  std::vector<float> x(tokens * kWidth), router(kExperts * kWidth);
  std::vector<float> up(kExperts * kHidden * kWidth), down(up.size());
  TensorMap tensors;
  auto bind = [&](const char *name, std::vector<float> &values, Shape shape,
                  int step) {
    if (auto tensor = wrap(values, std::move(shape), step))
      tensors.emplace(name, *tensor);
  };
  bind("in.x", x, {tokens, kWidth}, 7);
  bind("w.router", router, {kExperts, kWidth}, 11);
  bind("w.up", up, {kExperts, kHidden, kWidth}, 5);
  bind("w.down", down, {kExperts, kWidth, kHidden}, 3);

  auto reference = evaluate(*graph, tensors);
  if (!reference)
    return reference.error();
  const HostTensor &expected = reference->results.front().second;
  std::printf("CPU: y[0][0] = %.9g for %lld tokens\n",
              expected.dataAs<float>()[0], static_cast<long long>(tokens));

  auto device = Device::open();
  if (!device) {
    std::printf("not run on a GPU: %s\n", device.error().message().c_str());
    // The kernels that a GPU would run, evaluated on the CPU instead.
    auto kernels =
        evaluate(*graph, tensors, {.level = EvaluationLevel::Kernel});
    if (!kernels)
      return kernels.error();
    const HostTensor &actual = kernels->results.front().second;
    return std::memcmp(actual.data(), expected.data(), expected.bytes()) == 0;
  }
  auto actual = runOnDevice(*device, *graph, tensors);
  if (!actual)
    return actual.error();
  return std::memcmp(actual->data(), expected.data(), expected.bytes()) == 0;
}

} // namespace

int main() {
  // The same graph for every token count.
  for (int64_t tokens : {1, 45}) {
    auto equal = runExample(tokens);
    if (!equal) {
      std::fprintf(stderr, "%s\n", equal.error().message().c_str());
      return 1;
    }
    std::printf("fused and reference are %s\n",
                *equal ? "equal to the bit" : "DIFFERENT");
    if (!*equal)
      return 1;
  }
  return 0;
}
