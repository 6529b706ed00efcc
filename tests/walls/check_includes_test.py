# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Shows that check_includes.py finds what it is there to find, and nothing in a clean file."""

import pathlib
import tempfile
import unittest

import check_includes

HEAD = "".join(f"// {line}\n" for line in check_includes.LICENCE) + "\n// Says what this file is for.\n"


class CheckIncludesTest(unittest.TestCase):
    def findings(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return list(check_includes.findings(root, sorted(files)))

    def assert_include(self, path, included, allowed):
        found = self.findings({path: f'{HEAD}#include "{included}"\n'})
        self.assertEqual(len(found), 0 if allowed else 1, f"{path} includes {included}: {found}")

    def test_walls(self):
        for path, included in [
            ("ir/graph/GraphOps.cpp", "passes/FoldExperts.h"),
            ("ir/graph/GraphOps.cpp", "epifold/runtime/Tensor.h"),
            ("ir/numerics/Reduce.h", "mlir/IR/Value.h"),
            ("passes/FoldExperts.cpp", "backends/ptx/Emit.h"),
            ("backends/ptx/Emit.cpp", "runtime/src/Driver.h"),
            ("backends/ptx/Emit.cpp", "compiler/include/epifold/Compiler.h"),
            ("runtime/src/Driver.cpp", "llvm/ADT/SmallVector.h"),
            ("runtime/src/Driver.cpp", "ir/graph/Graph.h"),
            ("runtime/src/Driver.cpp", "compiler/src/Pipeline.h"),
            ("runtime/include/epifold/runtime/Tensor.h", "runtime/src/Driver.h"),
            ("compiler/tools/epifold-run/Main.cpp", "mlir/IR/Value.h"),
            ("examples/jit/main.cpp", "passes/KernelFusion.h"),
            ("examples/pass_plugin/Fuse.cpp", "backends/ptx/Emit.h"),
            ("examples/jit/main.cpp", "ir/graph/Graph.h"),
        ]:
            self.assert_include(path, included, allowed=False)

    def test_open_ways(self):
        for path, included in [
            ("ir/graph/GraphOps.cpp", "mlir/IR/Value.h"),
            ("ir/graph/GraphOps.cpp", "ir/numerics/Reduce.h"),
            ("passes/FoldExperts.cpp", "ir/graph/Graph.h"),
            ("backends/ptx/Emit.cpp", "passes/Passes.h"),
            ("backends/ptx/Emit.cpp", "epifold/runtime/ExecutableBuilder.h"),
            ("runtime/src/CompilerLibrary.cpp", "epifold/c/compiler.h"),
            ("compiler/src/Pipeline.cpp", "backends/ptx/Emit.h"),
            ("examples/jit/main.cpp", "epifold/Compiler.h"),
            ("examples/pass_plugin/Fuse.cpp", "passes/KernelFusion.h"),
            ("tests/unit/ptx/EmitTest.cpp", "backends/ptx/Emit.h"),
        ]:
            self.assert_include(path, included, allowed=True)

    def test_tablegen_includes_are_seen(self):
        self.assertEqual(len(self.findings({"ir/graph/A.td": f'{HEAD}include "passes/Passes.td"\n'})), 1)

    def test_licence(self):
        self.assertTrue(self.findings({"ir/A.h": "// A file.\n\n\n// More of it.\n"}))
        self.assertTrue(self.findings({"ir/CMakeLists.txt": "add_subdirectory(graph)\n"}))

    def test_purpose(self):
        text = "".join(f"// {line}\n" for line in check_includes.LICENCE) + "\n#pragma once\n"
        self.assertEqual(len(self.findings({"ir/A.h": text})), 1)

    def test_length(self):
        self.assertEqual(len(self.findings({"ir/A.h": HEAD + "\n" * 600})), 1)

    def test_layout(self):
        self.assertEqual(len(self.findings({"scripts/run.txt": "", ".ci/run": "", "docs/a.md": ""})), 1)


if __name__ == "__main__":
    unittest.main()
