// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs ptxas on a temporary file and reads its report.

#include "backends/ptx/PtxasCheck.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace epifold::ptx;

std::optional<std::string> epifold::ptx::findPtxas(llvm::StringRef path) {
  if (!path.empty())
    return llvm::sys::fs::can_execute(path) ? std::optional(path.str())
                                            : std::nullopt;
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  if (llvm::ErrorOr<std::string> found =
          llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *found;
  return std::nullopt;
}

/// `0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads`: whether
/// something is spilled.
static bool hasSpill(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef> parts;
  line.split(parts, ',');
  return llvm::any_of(parts, [](llvm::StringRef part) {
    return part.contains("spill") && !part.trim().starts_with("0 bytes");
  });
}

static void readReport(llvm::StringRef text, PtxasReport &report) {
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    if (line.contains("C75") || hasSpill(line))
      report.remarks.push_back(line.trim().str());
    else if (line.contains("Used ") && line.contains("registers"))
      report.resources = line.trim().str();
  }
}

PtxasReport epifold::ptx::checkWithPtxas(llvm::StringRef ptxas,
                                         llvm::StringRef ptx,
                                         llvm::StringRef target) {
  PtxasReport report;
  auto fail = [&](const llvm::Twine &what) {
    report.error = what.str();
    return report;
  };
  llvm::SmallString<128> input, output, log;
  if (llvm::sys::fs::createTemporaryFile("epifold", "ptx", input) ||
      llvm::sys::fs::createTemporaryFile("epifold", "cubin", output) ||
      llvm::sys::fs::createTemporaryFile("epifold", "log", log))
    return fail("cannot create temporary files for ptxas");
  llvm::FileRemover removeInput(input), removeOutput(output), removeLog(log);
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(input, error);
    if (error)
      return fail("cannot write '" + input + "': " + error.message());
    stream << ptx;
  }
  std::string arch = ("-arch=" + target).str();
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(""), llvm::StringRef(log), llvm::StringRef(log)};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(
      ptxas, {ptxas, arch, "-v", "-o", output, input}, std::nullopt, redirects,
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  auto text = llvm::MemoryBuffer::getFile(log);
  llvm::StringRef said = text ? (*text)->getBuffer() : "";
  if (code != 0)
    return fail("ptxas " + arch + " fails: " +
                (message.empty() ? said.trim() : llvm::StringRef(message)));
  readReport(said, report);
  return report;
}
