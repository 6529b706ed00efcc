#!/usr/bin/env bash
# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs examples/aot on an executable made with the installed tools: aot.sh TOOLS EXACT BUILD_DIR, where EXACT is epifold-exact.

set -euo pipefail

tools=$1
exact=$2
example=$3/aot
work=$3/run
mkdir -p "$work"
fail() {
  echo "aot.sh: $*" >&2
  exit 1
}

"$tools/epifold-gen" expert_conv_fold --experts=4 --tokens=24 --width=8 --dtype=f32 -o "$work/fold.mlir"
"$tools/epifold-compile" "$work/fold.mlir" -o "$work/fold.efx"
"$exact" "$work/fold.mlir" --write-inputs "$work/inputs.safetensors"

rm -f "$work/results.safetensors"
status=0
"$example" "$work/fold.efx" "$work/inputs.safetensors" "$work/results.safetensors" \
  >"$work/stdout" 2>"$work/stderr" || status=$?
for line in "input     in.x" "parameter w.conv" "result    out.y"; do
  grep -qxF "$line" "$work/stdout" || fail "did not list '$line'"
done

case $status in
0) "$tools/epifold-run" "$work/fold.mlir" --device=reference --inputs "$work/inputs.safetensors" \
  --expect "$work/results.safetensors" ;;
3) # No GPU: the example says so and leaves nothing behind.
  grep -q driver "$work/stderr" || fail "exit 3 without a word of the driver: $(cat "$work/stderr")"
  [[ ! -e $work/results.safetensors ]] || fail "wrote results without a device"
  ;;
*) fail "exit $status: $(cat "$work/stderr")" ;;
esac

head -c 100 "$work/fold.efx" >"$work/truncated.efx"
status=0
"$example" "$work/truncated.efx" "$work/inputs.safetensors" "$work/results.safetensors" 2>"$work/stderr" || status=$?
[[ $status -eq 1 && -s $work/stderr ]] || fail "a truncated executable gave exit $status"
