// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The size options of workloads of products.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_PRODUCTOPTIONS_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_PRODUCTOPTIONS_H

#include "ProductWorkloads.h"

#include <CLI/CLI.hpp>

namespace epifold::tools {

void addProductOptions(CLI::App &app, GemmProduct &product);
void addProductOptions(CLI::App &app, ConvProduct &product);
/// Rows that each belong to one expert.
void addGroupedOptions(CLI::App &app, GroupedProduct &product);
/// Few tokens with several experts each, whose weights come from memory.
void addDecodeOptions(CLI::App &app, GroupedProduct &product);

/// `--skew`; `fromFile` when it may name a file of sizes.
void addSkewOption(CLI::App &app, Skew &skew, bool fromFile);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_PRODUCTOPTIONS_H
