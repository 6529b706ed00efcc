# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Checks that a binary needs nothing but the C library, and holds no MLIR or LLVM symbol.

Usage: check_links.py --readelf READELF BINARY…
"""

import argparse
import re
import subprocess
import sys

C_LIBRARY = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so\.\d+$")
COMPILER_SYMBOL = re.compile(r"_ZN?K?(4mlir|4llvm)|\bLLVM[A-Z]\w+|\bmlir[A-Z]\w+")


def findings(readelf, binary):
    def read(option):
        return subprocess.run([readelf, option, binary], check=True, capture_output=True, text=True).stdout

    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", read("--dynamic"))
    if not needed:
        yield f"{binary}: lists no library at all; is it the dynamic binary?"
    yield from (f"{binary}: needs {name}" for name in needed if not C_LIBRARY.match(name))
    symbols = sorted({match.group(0) for match in COMPILER_SYMBOL.finditer(read("--symbols"))})
    if symbols:
        yield f"{binary}: holds compiler symbols: {', '.join(symbols[:5])}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readelf", required=True)
    parser.add_argument("binary", nargs="+")
    arguments = parser.parse_args()
    found = [finding for binary in arguments.binary for finding in findings(arguments.readelf, binary)]
    print("\n".join(found) if found else "only the C library is needed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
