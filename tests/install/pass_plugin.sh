#!/usr/bin/env bash
# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the tests that examples/pass_plugin has of its own, then loads its plugin where it does not belong:
# pass_plugin.sh TOOLS EXACT BUILD_DIR.

set -euo pipefail

tools=$1
plugin=$3/FuseIntoReaders.so
work=$3/run
mkdir -p "$work"
fail() {
  echo "pass_plugin.sh: $*" >&2
  exit 1
}

ctest --test-dir "$3" --output-on-failure

"$tools/epifold-gen" expert_conv_fold --experts=2 --tokens=4 --width=4 -o "$work/fold.mlir"
# Loaded twice, by two names: its fusion is there once.
ln -sf "$plugin" "$work/again.so"
"$tools/epifold-compile" "$work/fold.mlir" --emit=kernel -o "$work/kernel" \
  --load-pass-plugin="$plugin" --load-pass-plugin="$work/again.so"
# A copy is another plugin, and its fusion has a name that is taken.
cp "$plugin" "$work/copy.so"
status=0
"$tools/epifold-compile" "$work/fold.mlir" --emit=kernel -o "$work/kernel" \
  --load-pass-plugin="$plugin" --load-pass-plugin="$work/copy.so" 2>"$work/stderr" || status=$?
[[ $status -eq 1 ]] || fail "a second fusion of one name gave exit $status"
grep -q "a fusion is named 'fuse-into-readers' already" "$work/stderr" || fail "$(cat "$work/stderr")"
# Every tool that compiles takes it.
"$tools/epifold-bench" graph "$work/fold.mlir" --device=reference --warmup=0 --repeat=1 \
  --load-pass-plugin="$plugin" --fusion=fuse-into-readers >"$work/bench"
"$2" "$work/fold.mlir" --device=-1 --load-pass-plugin="$plugin" --write-inputs "$work/inputs.safetensors"
"$tools/epifold-run" "$work/fold.mlir" --device=reference --inputs "$work/inputs.safetensors" \
  --load-pass-plugin="$plugin" --fusion=fuse-into-readers
