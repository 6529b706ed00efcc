// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes the workloads as graph text.

#include "tests/unit/reference/Models.h"

#include "llvm/Support/FormatVariadic.h"

using namespace epifold::reference::test;
using llvm::formatv;

namespace {

/// Lines of a graph; `$T` stands for the element type and `$C` for the compute
/// type.
class Writer {
public:
  explicit Writer(Types types) : types(std::move(types)) {}

  void line(llvm::StringRef code) {
    for (size_t i = 0; i < code.size(); ++i) {
      if (code[i] != '$') {
        text += code[i];
        continue;
      }
      text += code[++i] == 'T' ? types.element : types.compute;
    }
    text += '\n';
  }
  template <typename... Values>
  void line(const char *code, Values &&...values) {
    line(llvm::StringRef(formatv(code, std::forward<Values>(values)...).str()));
  }

  /// result = round(conv(input, weight) + bias), of width `width`.
  void conv(llvm::StringRef result, llvm::StringRef input,
            llvm::StringRef weight, llvm::StringRef bias, llvm::StringRef shape,
            int64_t width, int64_t dilation) {
    line("{0}_a = graph.causal_conv1d {1}, {2} {{dilation = {3}} : "
         "(tensor<{4}x{5}x$T>, tensor<{5}x{5}x3x$T>) -> "
         "tensor<{4}x{5}x$C>",
         result, input, weight, dilation, shape, width);
    line("{0}_b = graph.cast {1} : tensor<{2}x$T> -> tensor<{2}x$C>", result,
         bias, width);
    line("{0}_s = graph.add {0}_a, {0}_b : (tensor<{1}x{2}x$C>, "
         "tensor<{2}x$C>) -> tensor<{1}x{2}x$C>",
         result, shape, width);
    line("{0} = graph.cast {0}_s : tensor<{1}x{2}x$C> -> tensor<{1}x{2}x$T>",
         result, shape, width);
  }

  std::string text;

private:
  Types types;
};

} // namespace

std::string epifold::reference::test::writeFold(const Types &types,
                                                int64_t experts, int64_t width,
                                                int64_t dilation) {
  Writer w(types);
  w.line("func.func @fold(%x: tensor<?x{1}x$T> {{graph.input = \"in.x\"}, %w: "
         "tensor<{0}x{1}x{1}x3x$T> {{graph.param = "
         "\"w.conv\"}, %b: tensor<{0}x{1}x$T> {{graph.param = \"w.bias\"}) -> "
         "(tensor<{0}x?x{1}x$T> {{graph.result = "
         "\"out.y\"}) {{",
         experts, width);
  std::string parts, partTypes;
  for (int64_t e = 0; e < experts; ++e) {
    w.line("%w{0} = graph.select %w {{index = {0}} : tensor<{1}x{2}x{2}x3x$T> "
           "-> tensor<{2}x{2}x3x$T>",
           e, experts, width);
    w.line("%b{0} = graph.select %b {{index = {0}} : tensor<{1}x{2}x$T> -> "
           "tensor<{2}x$T>",
           e, experts, width);
    w.conv(formatv("%y{0}", e).str(), "%x", formatv("%w{0}", e).str(),
           formatv("%b{0}", e).str(), "?", width, dilation);
    parts += formatv("{0}%y{1}", e == 0 ? "" : ", ", e).str();
    partTypes +=
        formatv("{0}tensor<?x{1}x$T>", e == 0 ? "" : ", ", width).str();
  }
  w.line("%y = graph.stack {0} : ({1}) -> tensor<{2}x?x{3}x$T>", parts,
         partTypes, experts, width);
  w.line("return %y : tensor<{0}x?x{1}x$T> }", experts, width);
  return w.text;
}

std::string epifold::reference::test::writeClm(const Types &types,
                                               int64_t batch, int64_t width,
                                               int64_t experts, int64_t vocab,
                                               int64_t dilation) {
  Writer w(types);
  auto conv = formatv("tensor<{0}x{0}x3x$T>", width).str(),
       vector = formatv("tensor<{0}x$T>", width).str();
  auto shape = formatv("{0}x?", batch).str(),
       x = formatv("tensor<{0}x{1}x$T>", shape, width).str();
  w.line(
      "func.func @clm(%tok: tensor<{0}x?xi64> {{graph.input = \"in.tokens\"}",
      batch);
  const std::pair<const char *, std::string> params[] = {
      {"emb", formatv("tensor<{0}x{1}x$T>", vocab, width).str()},
      {"c0.w", conv},
      {"c0.b", vector},
      {"c1.w", conv},
      {"c1.b", vector},
      {"gn1.g", vector},
      {"gn1.b", vector},
      {"gn2.g", vector},
      {"gn2.b", vector},
      {"expert.w", formatv("tensor<{0}x{1}x{1}x3x$T>", experts, width).str()},
      {"expert.b", formatv("tensor<{0}x{1}x$T>", experts, width).str()},
      {"router.w", formatv("tensor<{0}x{1}x$T>", experts, width).str()},
      {"router.b", formatv("tensor<{0}x$T>", experts).str()},
      {"readout.w", formatv("tensor<{0}x{1}x$T>", vocab, width).str()},
      {"readout.b", formatv("tensor<{0}x$T>", vocab).str()}};
  for (const auto &[name, type] : params)
    w.line(", %{0}: {1} {{graph.param = \"w.{0}\"}", name, type);
  w.line(") -> (tensor<$C> {{graph.result = \"out.loss\"}, {0} {{graph.result "
         "= \"out.xt\"}, tensor<{1}x{2}x$C> "
         "{{graph.result = \"out.router\"}, {0} {{graph.result = \"out.moe\"}, "
         "tensor<{1}x{3}x$C> {{graph.result = "
         "\"out.logits\"}) {{",
         x, shape, experts, vocab);
  w.line("%in = graph.slice %tok {{dim = 1, begin = 0, end = -1} : "
         "tensor<{0}xi64> -> tensor<{0}xi64>",
         shape);
  w.line("%target = graph.slice %tok {{dim = 1, begin = 1} : tensor<{0}xi64> "
         "-> tensor<{0}xi64>",
         shape);
  w.line("%xe = graph.embedding %in, %emb : (tensor<{0}xi64>, "
         "tensor<{1}x{2}x$T>) -> {3}",
         shape, vocab, width, x);
  w.conv("%xec", "%xe", "%c0.w", "%c0.b", shape, width, dilation);
  w.conv("%h", "%xec", "%c1.w", "%c1.b", shape, width, dilation);
  w.line("%hn = graph.group_norm %h, %gn1.g, %gn1.b : ({0}, {1}, {1}) -> {0}",
         x, vector);
  w.line("%hg = graph.gelu %hn : {0} -> {0}", x);
  w.line("%xt = graph.add %xec, %hg : ({0}, {0}) -> {0}", x);
  // Gates.
  w.line("%ra = graph.matmul %xt, %router.w : ({0}, tensor<{1}x{2}x$T>) -> "
         "tensor<{3}x{1}x$C>",
         x, experts, width, shape);
  w.line("%rb = graph.cast %router.b : tensor<{0}x$T> -> tensor<{0}x$C>",
         experts);
  w.line("%r = graph.add %ra, %rb : (tensor<{0}x{1}x$C>, tensor<{1}x$C>) -> "
         "tensor<{0}x{1}x$C>",
         shape, experts);
  w.line("%g = graph.softmax %r : tensor<{0}x{1}x$C> -> tensor<{0}x{1}x$C>",
         shape, experts);
  // Dense mixture.
  std::string parts, partTypes;
  for (int64_t e = 0; e < experts; ++e) {
    w.line("%w{0} = graph.select %expert.w {{index = {0}} : "
           "tensor<{1}x{2}x{2}x3x$T> -> tensor<{2}x{2}x3x$T>",
           e, experts, width);
    w.line("%b{0} = graph.select %expert.b {{index = {0}} : tensor<{1}x{2}x$T> "
           "-> tensor<{2}x$T>",
           e, experts, width);
    w.conv(formatv("%e{0}", e).str(), "%xt", formatv("%w{0}", e).str(),
           formatv("%b{0}", e).str(), shape, width, dilation);
    w.line("%a{0} = graph.gelu %e{0} : {1} -> {1}", e, x);
    w.line("%ac{0} = graph.cast %a{0} : {1} -> tensor<{2}x{3}x$C>", e, x, shape,
           width);
    w.line("%g{0} = graph.slice %g {{dim = 2, begin = {0}, end = {1}} : "
           "tensor<{2}x{3}x$C> -> tensor<{2}x1x$C>",
           e, e + 1, shape, experts);
    w.line("%p{0} = graph.mul %g{0}, %ac{0} : (tensor<{1}x1x$C>, "
           "tensor<{1}x{2}x$C>) -> tensor<{1}x{2}x$C>",
           e, shape, width);
    parts += formatv("{0}%p{1}", e == 0 ? "" : ", ", e).str();
    partTypes +=
        formatv("{0}tensor<{1}x{2}x$C>", e == 0 ? "" : ", ", shape, width)
            .str();
  }
  w.line("%all = graph.stack {0} : ({1}) -> tensor<{2}x{3}x{4}x$C>", parts,
         partTypes, experts, shape, width);
  w.line("%sum = graph.reduce_sum %all order ascending {{dim = 0} : "
         "tensor<{0}x{1}x{2}x$C> -> tensor<{1}x{2}x$C>",
         experts, shape, width);
  w.line("%moe = graph.cast %sum : tensor<{0}x{1}x$C> -> {2}", shape, width, x);
  // Readout.
  w.line("%n = graph.group_norm %moe, %gn2.g, %gn2.b : ({0}, {1}, {1}) -> {0}",
         x, vector);
  w.line("%la = graph.matmul %n, %readout.w : ({0}, tensor<{1}x{2}x$T>) -> "
         "tensor<{3}x{1}x$C>",
         x, vocab, width, shape);
  w.line("%lb = graph.cast %readout.b : tensor<{0}x$T> -> tensor<{0}x$C>",
         vocab);
  w.line("%logits = graph.add %la, %lb : (tensor<{0}x{1}x$C>, tensor<{1}x$C>) "
         "-> tensor<{0}x{1}x$C>",
         shape, vocab);
  w.line("%loss = graph.cross_entropy %logits, %target : (tensor<{0}x{1}x$C>, "
         "tensor<{0}xi64>) -> tensor<$C>",
         shape, vocab);
  w.line("return %loss, %xt, %g, %moe, %logits : tensor<$C>, {0}, "
         "tensor<{1}x{2}x$C>, {0}, tensor<{1}x{3}x$C> }",
         x, shape, experts, vocab);
  return w.text;
}

std::string epifold::reference::test::writeMoe(const Types &types,
                                               int64_t width, int64_t hidden,
                                               int64_t experts, int64_t topk,
                                               bool renormalise) {
  Writer w(types);
  w.line("func.func @moe(%x: tensor<?x{0}x$T> {{graph.input = \"in.x\"}, "
         "%router: tensor<{2}x{0}x$T> {{graph.param = "
         "\"w.router.w\"}, %up: tensor<{2}x{3}x{0}x$T> {{graph.param = "
         "\"w.gate_up.w\"}, %down: tensor<{2}x{0}x{1}x$T> "
         "{{graph.param = \"w.down.w\"}) -> (tensor<?x{0}x$T> {{graph.result = "
         "\"out.y\"}, tensor<?x{4}x$C> "
         "{{graph.result = \"out.topk_weight\"}, tensor<?x{4}xi32> "
         "{{graph.result = \"out.topk_index\"}, tensor<{2}xi64> "
         "{{graph.result = \"out.tokens_per_expert\"}) {{",
         width, hidden, experts, 2 * hidden, topk);
  w.line("%l = graph.matmul %x, %router : (tensor<?x{0}x$T>, "
         "tensor<{1}x{0}x$T>) -> tensor<?x{1}x$C>",
         width, experts);
  w.line("%p = graph.softmax %l : tensor<?x{0}x$C> -> tensor<?x{0}x$C>",
         experts);
  w.line("%v, %i = graph.top_k %p {{k = {1}} : tensor<?x{0}x$C> -> "
         "tensor<?x{1}x$C>, tensor<?x{1}xi32>",
         experts, topk);
  w.line("%r, %n = graph.route %i : tensor<?x{1}xi32> -> "
         "!graph.routing<experts = {0}, topk = {1}>, tensor<{0}xi64>",
         experts, topk);
  std::string weight = "%v";
  if (renormalise) {
    w.line("%s = graph.reduce_sum %v {{dim = 1, keepdim} : tensor<?x{0}x$C> -> "
           "tensor<?x1x$C>",
           topk);
    w.line("%vn = graph.div %v, %s : (tensor<?x{0}x$C>, tensor<?x1x$C>) -> "
           "tensor<?x{0}x$C>",
           topk);
    weight = "%vn";
  }
  auto routing =
      formatv("!graph.routing<experts = {0}, topk = {1}>", experts, topk).str();
  std::string parts, partTypes;
  for (int64_t e = 0; e < experts; ++e) {
    auto rows = [](int64_t columns, const char *type) {
      return formatv("!graph.ragged<?x{0}x{1}>", columns, type).str();
    };
    w.line("%x{0} = graph.dispatch %x, %r {{expert = {0}} : (tensor<?x{1}x$T>, "
           "{2}) -> {3}",
           e, width, routing, rows(width, "$T"));
    w.line("%w{0} = graph.dispatch_slot {1}, %r {{expert = {0}} : "
           "(tensor<?x{2}x$C>, {3}) -> {4}",
           e, weight, topk, routing, rows(1, "$C"));
    w.line("%gu{0} = graph.select %up {{index = {0}} : tensor<{1}x{2}x{3}x$T> "
           "-> tensor<{2}x{3}x$T>",
           e, experts, 2 * hidden, width);
    w.line("%gw{0} = graph.slice %gu{0} {{dim = 0, end = {1}} : "
           "tensor<{2}x{3}x$T> -> tensor<{1}x{3}x$T>",
           e, hidden, 2 * hidden, width);
    w.line("%uw{0} = graph.slice %gu{0} {{dim = 0, begin = {1}} : "
           "tensor<{2}x{3}x$T> -> tensor<{1}x{3}x$T>",
           e, hidden, 2 * hidden, width);
    w.line("%d{0} = graph.select %down {{index = {0}} : tensor<{1}x{2}x{3}x$T> "
           "-> tensor<{2}x{3}x$T>",
           e, experts, width, hidden);
    for (const char *name : {"g", "u"})
      w.line("%{0}{1} = graph.matmul %x{1}, %{0}w{1} : ({2}, "
             "tensor<{3}x{4}x$T>) -> {5}",
             name, e, rows(width, "$T"), hidden, width, rows(hidden, "$T"));
    for (const char *name : {"g", "u"})
      w.line("%{0}c{1} = graph.cast %{0}{1} : {2} -> {3}", name, e,
             rows(hidden, "$T"), rows(hidden, "$C"));
    w.line("%sg{0} = graph.silu %gc{0} : {1} -> {1}", e, rows(hidden, "$C"));
    w.line("%hc{0} = graph.mul %sg{0}, %uc{0} : ({1}, {1}) -> {1}", e,
           rows(hidden, "$C"));
    w.line("%h{0} = graph.cast %hc{0} : {1} -> {2}", e, rows(hidden, "$C"),
           rows(hidden, "$T"));
    w.line(
        "%o{0} = graph.matmul %h{0}, %d{0} : ({1}, tensor<{2}x{3}x$T>) -> {4}",
        e, rows(hidden, "$T"), width, hidden, rows(width, "$C"));
    w.line("%ow{0} = graph.mul %o{0}, %w{0} : ({1}, {2}) -> {1}", e,
           rows(width, "$C"), rows(1, "$C"));
    w.line("%y{0} = graph.cast %ow{0} : {1} -> {2}", e, rows(width, "$C"),
           rows(width, "$T"));
    parts += formatv(", %y{0}", e).str();
    partTypes += ", " + rows(width, "$T");
  }
  w.line("%y = graph.combine %r{0} : ({1}{2}) -> tensor<?x{3}x$T>", parts,
         routing, partTypes, width);
  w.line("return %y, {0}, %i, %n : tensor<?x{1}x$T>, tensor<?x{2}x$C>, "
         "tensor<?x{2}xi32>, tensor<{3}xi64> }",
         weight, width, topk, experts);
  return w.text;
}
