// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program epifold-bench, which times a workload.

#include "compiler/tools/ToolMains.h"

int main(int argc, char **argv) { return epifoldBenchMain(argc, argv); }
