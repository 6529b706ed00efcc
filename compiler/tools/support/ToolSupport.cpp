// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Exit codes, files and messages of the tools.

#include "compiler/tools/support/ToolSupport.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace epifold::tools {

/// What is wrong with the command line, by the tool's name.
static std::string describeMistake(const CLI::App *app,
                                   const CLI::Error &error) {
  std::string message = error.what();
  std::vector<const CLI::App *> commands = app->get_subcommands({});
  if (error.get_name() == "RequiredError" && !commands.empty() &&
      app->get_subcommands().empty()) {
    // CLI11 says that a subcommand is missing, but not which there are.
    std::string known;
    for (const CLI::App *command : commands)
      known += (known.empty() ? "" : ", ") + command->get_name();
    std::vector<std::string> given = app->remaining();
    message = given.empty() ? "name one of " + known
                            : "'" + given.front() + "' is none of " + known;
  }
  return app->get_name() + ": " + message +
         "\nRun with --help for more information.\n";
}

std::optional<int> parseCommandLine(CLI::App &app, int argc, char **argv) {
  app.failure_message(describeMistake);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // --help and --version arrive as errors with exit code 0.
    return app.exit(error) == 0 ? kOk : kBadUsage;
  }
  return std::nullopt;
}

int fail(const std::string &tool, const Error &error) {
  std::cerr << tool << ": " << error.message() << "\n";
  return kFailed;
}

void addRemarksOption(CLI::App &app, std::string &kinds) {
  app.add_flag("--remarks{all}", kinds,
               "Say on stderr what fused and what did not, and why; "
               "=fused or =missed for a part of it")
      ->check(CLI::IsMember({"all", "fused", "missed"}))
      ->type_name("");
}

void addMathOption(CLI::App &app, std::optional<MathMode> &mode) {
  app.add_option_function<std::string>(
         "--math",
         [&mode](const std::string &name) {
           mode = name == "fast" ? MathMode::Fast : MathMode::Portable;
         },
         "portable (the same bits on every device) or fast (a GPU's own "
         "approximations of f32 transcendentals); default: as the graph says, "
         "which is portable if it says nothing")
      ->check(CLI::IsMember({"portable", "fast"}))
      ->type_name("MODE");
}

void addPluginOption(CLI::App &app, std::vector<std::string> &files) {
  app.add_option("--load-pass-plugin", files,
                 "Pass plugin whose fusions --fusion may name; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
}

Expected<std::string> readFile(const std::string &path) {
  if (std::error_code error; std::filesystem::is_directory(path, error))
    return Error(ErrorCode::Io, "cannot read " + path + ": it is a folder");
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return Error(ErrorCode::Io,
                 "cannot open " + path + ": " + std::strerror(errno));
  std::ostringstream content;
  content << stream.rdbuf();
  if (stream.bad())
    return Error(ErrorCode::Io,
                 "cannot read " + path + ": " + std::strerror(errno));
  return content.str();
}

Expected<void> writeFile(const std::string &path, std::string_view content) {
  if (path == "-") {
    std::cout
        .write(content.data(), static_cast<std::streamsize>(content.size()))
        .flush();
    return std::cout ? Expected<void>()
                     : Error(ErrorCode::Io, "cannot write to standard output");
  }
  // A device or a pipe is written to; replacing it would take it away from
  // everyone else.
  std::error_code ignored;
  auto kind = std::filesystem::status(path, ignored).type();
  bool replaces = kind == std::filesystem::file_type::not_found ||
                  kind == std::filesystem::file_type::regular;
  std::string temporary =
      replaces ? path + ".tmp" + std::to_string(getpid()) : path;
  auto failed = [&](const char *what) {
    Error error(ErrorCode::Io, std::string("cannot ") + what + " " + path +
                                   ": " + std::strerror(errno));
    if (replaces)
      std::remove(temporary.c_str());
    return error;
  };
  std::ofstream stream(temporary, std::ios::binary);
  if (!stream)
    return failed("write");
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  stream.close();
  if (!stream)
    return failed("write");
  if (replaces && std::rename(temporary.c_str(), path.c_str()) != 0)
    return failed("replace");
  return {};
}

} // namespace epifold::tools
