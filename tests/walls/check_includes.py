# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Checks the walls between the layers, the top-level layout, licence lines and file lengths.

Usage: check_includes.py [ROOT]. Prints one line per finding, `path:line: message`; exit 1 when there is one.
"""

import pathlib
import re
import subprocess
import sys

# What a folder's C++ and TableGen files must not include. The longest matching folder decides.
# A rule is a regular expression over the included path as written.
MLIR = r"(mlir|llvm)(-c)?/"
RUNTIME_INTERNALS = r"runtime/(?!include/epifold/runtime/)"
FORBIDDEN = {
    "ir/": [r"passes/", r"backends/", r"runtime/", r"epifold/runtime/", r"compiler/", r"epifold/"],
    "ir/numerics/": [MLIR, r"ir/(graph|kernel)/", r"passes/", r"backends/", r"runtime/", r"compiler/", r"epifold/"],
    "passes/": [r"backends/", r"runtime/", r"epifold/", r"compiler/"],
    "backends/": [RUNTIME_INTERNALS, r"compiler/", r"epifold/(?!runtime/)"],
    "runtime/": [MLIR, r"ir/(?!numerics/)", r"passes/", r"backends/", r"compiler/(?!include/epifold/c/)",
                 r"epifold/(?!runtime/|c/)"],
    "compiler/tools/epifold-run/": [MLIR, r"ir/", r"passes/", r"backends/", r"compiler/(?!include/epifold/c/|tools/)",
                                    r"epifold/(?!runtime/|c/)"],
    # Public headers are read by programs that have no repository beside them.
    "compiler/include/": [r"ir/", r"passes/", r"backends/", r"runtime/", r"compiler/"],
    "runtime/include/": [MLIR, r"ir/", r"passes/", r"backends/", r"runtime/", r"compiler/", r"flatbuffers/"],
    "examples/": [r"ir/", r"passes/", r"backends/", r"runtime/", r"compiler/"],
    # A pass plugin is written against MLIR and the installed headers of the dialects and passes.
    "examples/pass_plugin/": [r"ir/numerics/", r"backends/", r"runtime/", r"compiler/", r"epifold/"],
}

TOP_LEVEL = {
    "ir", "passes", "backends", "runtime", "compiler", "tests", "examples", "docs",
    "CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "dev",
}
LICENSED = {".h", ".cpp", ".td", ".def", ".fbs", ".py", ".sh", ".cmake", ".inc"}
LICENCE = (
    "Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.",
    "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
)
LIMITED = {".h", ".cpp", ".td", ".py", ".sh", ".cmake"}
MAX_LINES = 500
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s+["<]([^">]+)[">]')


def rules_of(path):
    matching = [folder for folder in FORBIDDEN if path.startswith(folder)]
    return FORBIDDEN[max(matching, key=len)] if matching else []


def check_includes(path, lines):
    rules = rules_of(path)
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match and any(re.match(rule, match.group(1)) for rule in rules):
            layer = path.rsplit("/", 1)[0]
            yield f"{path}:{number}: {layer} must not include \"{match.group(1)}\""


def check_licence(path, lines):
    head = lines[:3]
    for wanted in LICENCE:
        if not any(wanted in line for line in head):
            yield f"{path}:1: the first lines lack \"{wanted}\""


def check_purpose(path, lines):
    """After the licence and one blank line, a comment says what the file is for."""
    if len(lines) < 4 or lines[2].strip() not in ("", "//") or not re.match(r"//|/?\*| \*", lines[3]) or len(lines[3]) < 10:
        yield f"{path}:4: after the licence and a blank line, one sentence must say the file's purpose"


def check_layout(paths):
    for entry in sorted({path.split("/", 1)[0] for path in paths}):
        if not entry.startswith(".") and entry not in TOP_LEVEL:
            yield f"{entry}:1: does not belong at the top level"


def check_file(root, path):
    suffix = pathlib.PurePosixPath(path).suffix
    name = pathlib.PurePosixPath(path).name
    if suffix not in LICENSED and name != "CMakeLists.txt":
        return
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    yield from check_licence(path, lines)
    if suffix in (".h", ".cpp", ".td", ".def", ".fbs", ".inc"):
        yield from check_purpose(path, lines)
    if suffix in (".h", ".cpp", ".td", ".def", ".inc"):
        yield from check_includes(path, lines)
    if suffix in LIMITED and len(lines) > MAX_LINES:
        yield f"{path}:{len(lines)}: {len(lines)} lines, more than {MAX_LINES}: is it two things?"


def tracked_files(root):
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True)
    # A file that is deleted but not yet committed is still listed.
    return [path for path in listing.stdout.split("\0") if path and (root / path).is_file()]


def findings(root, paths):
    yield from check_layout(paths)
    for path in paths:
        yield from check_file(root, path)


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    paths = tracked_files(root)
    if not paths:
        print(f"no tracked file under {root}")
        return 1
    found = list(findings(root, paths))
    print("\n".join(found) if found else f"{len(paths)} files: no finding")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
