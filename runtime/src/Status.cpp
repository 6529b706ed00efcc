// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The device status word in words.

#include "epifold/runtime/Status.h"

#include <fmt/format.h>

namespace epifold::runtime {

std::string describe(const StatusWord &status) {
  std::string text;
  auto line = [&](std::string sentence) {
    if (!text.empty())
      text += '\n';
    text += sentence;
  };
  if (status.bits & kStatusNanLogits)
    line(fmt::format("token {}: router logits hold NaN; it and any other such "
                     "token have NaN results, all other tokens are unaffected",
                     status.firstNanRow));
  if (status.bits & kStatusIndexOutOfRange)
    line(fmt::format("row {}: an index is outside its table; the rows of such "
                     "indices have NaN results, all others are unaffected",
                     status.firstIndexRow));
  if (status.bits & ~int64_t(kStatusNanLogits | kStatusIndexOutOfRange))
    line(fmt::format("the step reports the unknown condition {:#x}",
                     status.bits));
  return text;
}

} // namespace epifold::runtime
