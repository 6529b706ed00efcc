#!/usr/bin/env bash
# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares the CPU reference with one recorded run of a GPU, to the bit: check.sh BIN_DIR NAME. Both levels, the graph and the
# kernels that every fusion set makes of it, must give the recorded bits.

set -euo pipefail

bin=$1
name=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

arguments=$(sed -n "s/^$name //p" "$here/cases.txt")
# shellcheck disable=SC2086 # the arguments are words
"$bin/epifold-gen" $arguments -o "$scratch/graph.mlir"
for level in "graph none" "kernel none" "kernel all"; do
  read -r which fusion <<<"$level"
  echo "== $which level, fusion $fusion"
  "$bin/epifold-run" "$scratch/graph.mlir" --device=reference --level="$which" --fusion="$fusion" \
    --inputs "$here/data/$name.in.safetensors" --expect "$here/data/$name.out.safetensors"
done
