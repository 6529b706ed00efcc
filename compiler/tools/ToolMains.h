// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The entry points of the tools, each in a library of its own, so that a tool
// is a program by itself and also a part of the static multi-call program.

#ifndef EPIFOLD_COMPILER_TOOLS_TOOLMAINS_H
#define EPIFOLD_COMPILER_TOOLS_TOOLMAINS_H

/// Each takes what `main` takes and returns the exit status: 0 ok, 1 failed, 2
/// bad usage.
int epifoldGenMain(int argc, char **argv);
int epifoldCompileMain(int argc, char **argv);
int epifoldRunMain(int argc, char **argv);
int epifoldBenchMain(int argc, char **argv);
int epifoldExactMain(int argc, char **argv);

#endif // EPIFOLD_COMPILER_TOOLS_TOOLMAINS_H
