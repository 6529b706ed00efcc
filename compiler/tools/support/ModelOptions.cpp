// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Declares the size options of the built-in models.

#include "compiler/tools/support/ModelOptions.h"

namespace epifold::tools {

const CLI::Validator &positive() {
  static const CLI::Validator validator(
      [](std::string &text) {
        int64_t value = 0;
        bool isNumber = CLI::detail::lexical_cast(text, value);
        return isNumber && value >= 1 ? std::string()
                                      : "must be at least 1, got " + text;
      },
      "");
  return validator;
}

void addSize(CLI::App &app, const std::string &flag, int64_t &value,
             const std::string &text) {
  app.add_option(flag, value, text)
      ->check(positive())
      ->type_name("N")
      ->capture_default_str();
}

void addModelOptions(CLI::App &app, ExpertConvFoldModel &model) {
  addSize(app, "--experts", model.experts, "Experts");
  addSize(app, "--width", model.width, "Channels in and out");
  addSize(app, "--kernel", model.kernel, "Taps");
  addSize(app, "--dilation", model.dilation, "Steps between taps");
}

void addModelOptions(CLI::App &app, ClmConvMoeModel &model) {
  addSize(app, "--batch", model.batch, "Samples");
  addSize(app, "--width", model.width, "Channels");
  addSize(app, "--experts", model.experts, "Experts");
  addSize(app, "--vocab", model.vocab, "Vocabulary");
  addSize(app, "--dilation", model.dilation, "Steps between taps");
}

void addModelOptions(CLI::App &app, MoeSwigluModel &model) {
  addSize(app, "--width", model.width, "Model width");
  addSize(app, "--hidden", model.hidden, "Hidden width of an expert");
  addSize(app, "--experts", model.experts, "Experts");
  addSize(app, "--topk", model.topk, "Experts a token goes to");
  app.add_flag("!--no-renormalise", model.renormalise,
               "Keep the chosen weights as they are");
}

} // namespace epifold::tools
