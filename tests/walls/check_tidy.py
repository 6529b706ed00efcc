# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Runs clang-tidy on the C++ sources that changed since the upstream branch, or else since the last commit.

Usage: check_tidy.py --clang-tidy CLANG_TIDY --build-dir DIR. EPIFOLD_TIDY_BASE names another base commit.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys


def git(*arguments):
    result = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def base_commit():
    if "EPIFOLD_TIDY_BASE" in os.environ:
        return os.environ["EPIFOLD_TIDY_BASE"]
    upstream = git("merge-base", "HEAD", "origin/main")
    # On the upstream branch itself the last commit is what changed.
    return upstream if upstream and upstream != git("rev-parse", "HEAD") else git("rev-parse", "HEAD~1")


def changed_sources(build_dir):
    database = json.loads((build_dir / "compile_commands.json").read_text())
    compiled = {pathlib.Path(entry["directory"], entry["file"]).resolve() for entry in database}
    names = git("diff", "--name-only", "--diff-filter=d", base_commit() or "HEAD", "--", "*.cpp").split("\n")
    return [name for name in names if name and pathlib.Path(name).resolve() in compiled]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang-tidy", required=True)
    parser.add_argument("--build-dir", required=True, type=pathlib.Path)
    arguments = parser.parse_args()

    def tidy(name):
        command = [arguments.clang_tidy, "--quiet", "-p", str(arguments.build_dir), name]
        return name, subprocess.run(command, capture_output=True, text=True)

    sources = changed_sources(arguments.build_dir)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, result in pool.map(tidy, sources):
            if result.returncode != 0:
                failed = True
                print(f"{name}:\n{result.stdout}{result.stderr}")
    print(f"{len(sources)} changed sources analysed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
