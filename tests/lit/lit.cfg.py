# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# How lit finds and runs the tests of this folder.
#
# Substitutions: %source (the repository), %vectors (the float64 workload files), %ptxas.
# Features: ptxas, gpu, vectors: a test that needs one says `REQUIRES: ptxas`.

import os

import lit.formats

config.name = "Epifold"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.epifold_binary_dir, "tests", "lit")

# The tools under test come first, so that no installed Epifold is tested by mistake.
tool_dirs = [
    os.path.join(config.epifold_binary_dir, "bin"),
    os.path.join(config.epifold_binary_dir, "tests", "bin"),
    config.llvm_tools_dir,
]
config.environment["PATH"] = os.pathsep.join(tool_dirs + [config.environment["PATH"]])
# Cached kernels of an earlier run or of the user must not decide a test.
config.environment["EPIFOLD_CACHE_DIR"] = os.path.join(config.test_exec_root, "kernel-cache")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    ("%source", config.epifold_source_dir),
    ("%vectors", config.vectors_dir),
    ("%ptxas", config.ptxas),
]

if config.ptxas:
    config.available_features.add("ptxas")
if os.path.exists("/dev/nvidiactl"):
    config.available_features.add("gpu")
if os.path.isdir(config.vectors_dir):
    config.available_features.add("vectors")
