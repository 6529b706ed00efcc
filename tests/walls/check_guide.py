# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Checks that the code of the guides is the code of the examples, which the tests compile and run.

A line `<!-- whole of PATH -->` or `<!-- parts of PATH -->` stands before the first block of a file; blocks of the same
language that follow are of that file, too. Each must stand in it word for word, in that order; those of a whole file must
be all of it but its licence.

Usage: check_guide.py GUIDE…
"""

import re
import sys
from pathlib import Path

MARK_OR_BLOCK = re.compile(r"^<!-- (whole|parts) of (\S+) -->$|^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LICENCE = re.compile(r"\A(?:(?://|#) (?:Part of Epifold|SPDX-).*\n)*\n?")


def blocks_of(guide):
    """Lists (scope, path, blocks) for each file that the guide shows."""
    shown, language, scope = [], None, None
    for match in MARK_OR_BLOCK.finditer(guide):
        if match.group(1):
            scope, language = (match.group(1), match.group(2), []), None
            shown.append(scope)
        elif scope and language in (None, match.group(3)):
            language = match.group(3)
            scope[2].append(match.group(4))
    return shown


def findings(root, guide):
    shown = blocks_of(guide.read_text())
    if not shown:
        yield f"{guide}: shows no file"
    for scope, path, blocks in shown:
        code = LICENCE.sub("", (root / path).read_text())
        begin = 0
        for block in blocks:
            found = code.find(block, begin)
            if found < 0:
                yield f"{guide}: {path} has no such lines after those shown before: {block.splitlines()[0]!r} …"
                continue
            if scope == "whole" and code[begin:found].strip():
                yield f"{guide}: of {path} is not shown: {code[begin:found].strip().splitlines()[0]!r} …"
            begin = found + len(block)
        if scope == "whole" and code[begin:].strip():
            yield f"{guide}: of {path} is not shown: {code[begin:].strip().splitlines()[0]!r} …"


def main():
    found = [finding for guide in sys.argv[1:] for finding in findings(Path.cwd(), Path(guide))]
    print("\n".join(found) if found else "the guides show the examples' code")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
