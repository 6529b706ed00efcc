// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Declares the size options of workloads of products.

#include "ProductOptions.h"

#include "compiler/tools/support/ModelOptions.h"

#include <map>

namespace epifold::tools {

/// Which products of a linear layer there are to time.
static std::string checkForm(const std::string &form) {
  if (form == "forward")
    return "";
  if (form == "dgrad" || form == "wgrad")
    return "'" + form +
           "' is not there: graphs are forward only, and products read both "
           "operands along the reduction";
  return "'" + form + "' is not a form: forward is";
}

void addProductOptions(CLI::App &app, GemmProduct &product) {
  addSize(app, "--m", product.m, "Rows of x");
  addSize(app, "--n", product.n, "Rows of w: columns of the result");
  addSize(app, "--k", product.k, "Columns of x and w");
  addSize(app, "--batch", product.batch, "Such products in one launch");
  app.add_option_function<std::string>(
         "--form", [](const std::string &) {},
         "forward (x·wᵀ); gradients are not there")
      ->check(
          CLI::Validator([](std::string &text) { return checkForm(text); }, ""))
      ->type_name("FORM")
      ->default_str("forward");
  static const std::map<std::string, Epilogue> kEpilogues = {
      {"none", Epilogue::None},
      {"bias-gelu", Epilogue::BiasGelu},
      {"swiglu", Epilogue::Swiglu}};
  app.add_option_function<std::string>(
         "--epilogue",
         [&product](const std::string &text) {
           product.epilogue = kEpilogues.at(text);
         },
         "none, bias-gelu, or swiglu (2n rows of w: gate, then up)")
      ->check(CLI::IsMember({"none", "bias-gelu", "swiglu"}))
      ->type_name("NAME")
      ->default_str("none");
  static const std::map<std::string, MathAccuracy> kAccuracies = {
      {"bf16", MathAccuracy::BF16},
      {"f32", MathAccuracy::F32},
      {"f64", MathAccuracy::F64}};
  app.add_option_function<std::string>(
         "--accuracy",
         [&product](const std::string &text) {
           product.accuracy = kAccuracies.at(text);
         },
         "Of the epilogue's function, which is portable: bf16, f32 or f64 "
         "(default: as --dtype needs)")
      ->check(CLI::IsMember({"bf16", "f32", "f64"}))
      ->type_name("TYPE");
}

void addProductOptions(CLI::App &app, ConvProduct &product) {
  addSize(app, "--batch", product.batch, "Samples");
  addSize(app, "--tokens", product.tokens, "Tokens of a sample");
  addSize(app, "--width", product.width, "Channels in and out");
  addSize(app, "--experts", product.experts, "Convolutions of one input");
  addSize(app, "--kernel", product.kernel, "Taps");
  addSize(app, "--dilation", product.dilation, "Steps between taps");
}

void addSkewOption(CLI::App &app, Skew &skew, bool fromFile) {
  std::string text = "Tokens to experts: random, even, zipf or one";
  if (fromFile)
    text += ", or a file of as many numbers of rows as experts";
  CLI::Option *option = app.add_option_function<std::string>(
      "--skew", [&skew](const std::string &name) { skew = parseSkew(name); },
      text);
  option->type_name(fromFile ? "NAME|FILE" : "NAME")->default_str("random");
  if (!fromFile)
    option->check(CLI::IsMember({"random", "even", "zipf", "one"}));
}

static void addExpertOptions(CLI::App &app, GroupedProduct &product) {
  addSize(app, "--experts", product.experts, "Experts");
  addSize(app, "--n", product.n, "Rows of an expert's w (of gate, of up)");
  addSize(app, "--k", product.k, "Columns of x and w");
  app.add_option("--products", product.products,
                 "1, or 2: gate and up, joined by SwiGLU")
      ->check(CLI::IsMember({1, 2}))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", product.seed, "Of the choice of experts")
      ->type_name("N")
      ->capture_default_str();
}

void addGroupedOptions(CLI::App &app, GroupedProduct &product) {
  addSize(app, "--rows", product.tokens, "Rows of x, each of one expert");
  addExpertOptions(app, product);
  app.add_flag("--gather", product.gather,
               "Rows are anywhere in x, and the product finds them");
  addSkewOption(app, product.skew, /*fromFile=*/true);
}

void addDecodeOptions(CLI::App &app, GroupedProduct &product) {
  product.name = "decode";
  product.tokens = 1;
  product.gather = true;
  product.copies = 0;
  addSize(app, "--tokens", product.tokens, "Tokens");
  addSize(app, "--topk", product.topk, "Experts a token goes to");
  addExpertOptions(app, product);
  addSkewOption(app, product.skew, /*fromFile=*/false);
  app.add_option("--copies", product.copies,
                 "Sets of weights that take turns (default: as many as make "
                 "200 MB of chosen experts)")
      ->check(positive())
      ->type_name("N");
}

} // namespace epifold::tools
