# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Writes a safetensors file of repeatable values: make_tensors.py FILE NAME=SHAPE[:index=N]…

A tensor is normally distributed f32, about as large as one over the root of its last size, so that products of any width
stay near 1. With `index=N` it is i32 and each row holds different numbers below N. The same name and shape give the same values.
"""

import json
import math
import random
import struct
import sys


def values(name, shape, index):
    source = random.Random(f"{name}{shape}")
    count = math.prod(shape)
    if index:
        rows = [source.sample(range(index), shape[-1]) for _ in range(count // shape[-1])]
        return "I32", struct.pack(f"<{count}i", *(value for row in rows for value in row))
    scale = 1 / math.sqrt(shape[-1]) if name.startswith("w.") else 1
    return "F32", struct.pack(f"<{count}f", *(scale * source.gauss(0, 1) for _ in range(count)))


def main():
    header, data = {}, b""
    for spec in sys.argv[2:]:
        name, _, rest = spec.partition("=")
        size, _, index = rest.partition(":index=")
        shape = [int(part) for part in size.split("x")]
        dtype, raw = values(name, shape, int(index or 0))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(sys.argv[1], "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


main()
