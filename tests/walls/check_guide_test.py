# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Shows that check_guide.py finds code that is not the example's, and nothing in a guide that is current."""

import pathlib
import tempfile
import unittest

import check_guide

CODE = "// Part of Epifold\n\n// Adds.\nint add(int a, int b);\n\n// Subtracts.\nint sub(int a, int b);\n"
ADD = "```cpp\n// Adds.\nint add(int a, int b);\n```\n"
SUB = "```cpp\n// Subtracts.\nint sub(int a, int b);\n```\n"


class CheckGuideTest(unittest.TestCase):
    def count(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.cpp").write_text(CODE, encoding="utf-8")
            (root / "guide.md").write_text(text, encoding="utf-8")
            return len(list(check_guide.findings(root, root / "guide.md")))

    def test_current(self):
        self.assertEqual(self.count("<!-- whole of a.cpp -->\n" + ADD + "and\n\n" + SUB), 0)
        self.assertEqual(self.count("<!-- parts of a.cpp -->\n" + SUB + "```\nother text\n```\n"), 0)

    def test_other_code(self):
        self.assertEqual(self.count("<!-- parts of a.cpp -->\n" + ADD.replace("int b", "int c")), 1)

    def test_other_order(self):
        self.assertEqual(self.count("<!-- parts of a.cpp -->\n" + SUB + ADD), 1)

    def test_left_out(self):
        for shown in (ADD, SUB):
            self.assertEqual(self.count("<!-- whole of a.cpp -->\n" + shown), 1)

    def test_nothing_shown(self):
        self.assertEqual(self.count(ADD), 1)


if __name__ == "__main__":
    unittest.main()
