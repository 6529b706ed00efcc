// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Declares and reads tuning files.

#include "compiler/tools/support/TuningOption.h"

#include "compiler/tools/support/ToolSupport.h"

namespace epifold::tools {

void addTuningFile(CLI::App &app, std::string &path) {
  app.add_option("--tuning-file", path,
                 "Measured schedules, as epifold-bench tune writes them; the "
                 "bits are the same")
      ->type_name("FILE");
}

Expected<Tuning> readTuning(const std::string &path) {
  if (path.empty())
    return Tuning();
  Expected<std::string> text = readFile(path);
  if (!text)
    return text.error();
  return Tuning::parse(*text, path);
}

} // namespace epifold::tools
