// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prints and reads schedules, word by word.

#include "backends/ptx/gemm/ScheduleText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
/// A number that a word of the text gives, "name=N", and the value that it has
/// where there is no such word.
struct NumberWord {
  llvm::StringLiteral name;
  int64_t GemmSchedule::*field;
  std::optional<int64_t> absent;
};

/// A word that is there or not.
struct FlagWord {
  llvm::StringLiteral name;
  bool GemmSchedule::*field;
};
} // namespace

static constexpr NumberWord kNumbers[] = {
    {"stages", &GemmSchedule::stages, std::nullopt},
    {"raster", &GemmSchedule::rasterRows, std::nullopt},
    {"blocks", &GemmSchedule::minBlocks, 1},
    {"resident", &GemmSchedule::residentBlocks, 0},
};

static constexpr FlagWord kFlags[] = {
    {"swapped", &GemmSchedule::swapsOperands},
    {"deferred", &GemmSchedule::defersEpilogue},
};

/// The word for what a block is made of.
static llvm::StringRef unitsOf(llvm::StringRef instruction) {
  return llvm::StringSwitch<llvm::StringRef>(instruction)
      .Case("wgmma", "warpgroups")
      .Case("mma", "warps")
      .Case("fma", "threads")
      .Default("");
}

static llvm::StringRef instructionOf(const GemmProblem &problem,
                                     const GemmSchedule &schedule) {
  if (schedule.usesWgmma)
    return "wgmma";
  return problem.usesMatrixUnit() ? "mma" : "fma";
}

std::string epifold::ptx::printProblem(const GemmProblem &problem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto element = [&](Value value) {
    os << cast<ShapedType>(value.getType()).getElementType();
  };
  os << problem.element << " columns=" << problem.columns
     << " depth=" << problem.depth;
  if (problem.isConvolution)
    os << " taps=" << problem.taps;
  if (problem.products > 1)
    os << " products=" << problem.products;
  if (problem.groups > 1)
    os << " groups=" << problem.groups;
  os << " rows="
     << (problem.isRagged      ? problem.hasGroup ? "expert" : "ragged"
         : problem.hasGroupedA ? "grouped"
                               : "shared");
  if (problem.hasGather)
    os << " gathered";
  kernel::GemmOp op = problem.op;
  size_t glue = op.getEpilogue().front().getOperations().size() - 1;
  if (glue > 0)
    os << " epilogue=" << glue;
  if (!op.getExtras().empty()) {
    os << " extras=";
    llvm::interleave(op.getExtras(), os, element, ",");
  }
  os << " to=";
  llvm::interleave(op.getOuts(), os, element, ",");
  return text;
}

std::string epifold::ptx::printSchedule(const GemmProblem &problem,
                                        const GemmSchedule &schedule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::StringRef instruction = instructionOf(problem, schedule);
  os << instruction << " " << schedule.tileRows << "x" << schedule.tileColumns
     << "x" << schedule.tileDepth;
  auto printNumber = [&](const NumberWord &word) {
    if (schedule.*word.field != word.absent)
      os << " " << word.name << "=" << schedule.*word.field;
  };
  llvm::for_each(llvm::ArrayRef(kNumbers).take_front(2), printNumber);
  os << " " << unitsOf(instruction) << "=" << schedule.rowUnits << "x"
     << schedule.columnUnits;
  llvm::for_each(llvm::ArrayRef(kNumbers).drop_front(2), printNumber);
  for (const FlagWord &word : kFlags)
    if (schedule.*word.field)
      os << " " << word.name;
  return text;
}

/// "2x4" into as many numbers.
static bool parseSizes(llvm::StringRef text,
                       llvm::ArrayRef<int64_t *> numbers) {
  SmallVector<llvm::StringRef> parts;
  text.split(parts, 'x');
  if (parts.size() != numbers.size())
    return false;
  for (auto [part, number] : llvm::zip(parts, numbers))
    if (part.getAsInteger(10, *number) || *number < 1)
      return false;
  return true;
}

/// Reads one word behind the tile; false when it is none.
static bool parseWord(llvm::StringRef word, llvm::StringRef units,
                      GemmSchedule &schedule) {
  for (const FlagWord &flag : kFlags)
    if (word == flag.name)
      return schedule.*flag.field = true;
  auto [name, value] = word.split('=');
  if (name == units)
    return parseSizes(value, {&schedule.rowUnits, &schedule.columnUnits});
  for (const NumberWord &number : kNumbers)
    if (name == number.name)
      return parseSizes(value, {&(schedule.*number.field)});
  return false;
}

FailureOr<GemmSchedule> epifold::ptx::parseSchedule(
    const GemmProblem &problem, llvm::StringRef text,
    llvm::function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<llvm::StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  llvm::StringRef units = words.empty() ? "" : unitsOf(words[0]);
  if (units.empty())
    return emitError() << "schedule '" << text
                       << "' does not start with wgmma, mma or fma";
  if ((words[0] == "fma") == problem.usesMatrixUnit())
    return emitError() << "schedule '" << text << "' is not for "
                       << problem.element << ", which is multiplied by "
                       << (problem.usesMatrixUnit() ? "wgmma or mma" : "fma");
  GemmSchedule schedule{};
  schedule.usesWgmma = words[0] == "wgmma";
  for (const NumberWord &number : kNumbers)
    schedule.*number.field = number.absent.value_or(0);
  if (words.size() < 2 ||
      !parseSizes(words[1], {&schedule.tileRows, &schedule.tileColumns,
                             &schedule.tileDepth}))
    return emitError() << "schedule '" << text
                       << "' has no tile as 128x256x64 behind '" << words[0]
                       << "'";
  for (llvm::StringRef word : llvm::ArrayRef(words).drop_front(2))
    if (!parseWord(word, units, schedule))
      return emitError() << "schedule '" << text << "' has the word '" << word
                         << "', which says nothing";
  if (schedule.stages == 0 || schedule.rasterRows == 0 ||
      schedule.rowUnits == 0)
    return emitError() << "schedule '" << text << "' lacks stages=, raster= or "
                       << units << "=";
  return schedule;
}
