#!/usr/bin/env bash
# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Records what the GPU of this machine gives: record.sh EPIFOLD FOLDER, with the multi-call program. Each case of cases.txt
# becomes NAME.in.safetensors (random inputs and parameters) and NAME.out.safetensors (every result).

set -euo pipefail

epifold=$1
folder=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$folder"

grep -v '^#' "$here/cases.txt" | while read -r name arguments; do
  # shellcheck disable=SC2086 # the arguments are words
  "$epifold" gen $arguments -o "$scratch/graph.mlir"
  "$epifold" exact "$scratch/graph.mlir" --label "$name" --int-bound 32 --write-inputs "$folder/$name.in.safetensors"
  "$epifold" run "$scratch/graph.mlir" --device=cuda:0 --inputs "$folder/$name.in.safetensors" \
    --outputs "$folder/$name.out.safetensors"
done
