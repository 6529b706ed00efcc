# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Checks that every tracked C++ file is formatted; `./dev format` mends it.

Usage: check_format.py --clang-format CLANG_FORMAT
"""

import argparse
import pathlib
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang-format", required=True)
    arguments = parser.parse_args()
    listing = subprocess.run(["git", "ls-files", "-z", "--", "*.h", "*.cpp"], check=True, capture_output=True, text=True)
    files = [path for path in listing.stdout.split("\0") if path and pathlib.Path(path).is_file()]
    if not files:
        print("no tracked C++ file")
        return 1
    return subprocess.run([arguments.clang_format, "--dry-run", "--Werror", *files]).returncode


if __name__ == "__main__":
    sys.exit(main())
