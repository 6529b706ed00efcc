#!/usr/bin/env bash
# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What `./dev demo` shows once everything is built: demo.sh TOOLS.

set -euo pipefail

tools=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
show() {
  printf '   $ %s\n' "${*//$work\//}"
  "$@"
}

step "A mixture-of-experts layer as its author writes it: eight branches, one per expert"
show "$tools/epifold-gen" moe_swiglu --tokens=33 --width=64 --hidden=48 --experts=8 --topk=2 --dtype=bf16 -o "$work/moe.mlir"
grep -c 'graph\.' "$work/moe.mlir" | sed 's/^/   ops in the graph: /'

step "Compiled ahead of time, to PTX for Hopper and Ampere: unfused and fused"
for fusion in none all; do
  show "$tools/epifold-compile" "$work/moe.mlir" --fusion=$fusion --verbose -o "$work/$fusion.efx"
done
show "$tools/epifold-compile" "$work/moe.mlir" --emit=ptx -o "$work/moe.ptx"
grep -m1 -A4 '\.entry' "$work/moe.ptx" | sed 's/^/   /'

step "What is equal to what, to the bit"
for dtype in f64 f32 bf16; do
  "$tools/epifold-gen" moe_swiglu --tokens=33 --width=64 --hidden=48 --experts=8 --topk=2 --dtype=$dtype -o "$work/moe.mlir"
  "$tools/epifold-gen" moe_swiglu --tokens=1 --width=64 --hidden=48 --experts=8 --topk=2 --dtype=$dtype -o "$work/row.mlir"
  "$tools/epifold-exact" "$work/moe.mlir" --label "moe_swiglu $dtype" --rows "$work/row.mlir"
  "$tools/epifold-gen" expert_conv_fold --experts=30 --tokens=16 --width=8 --dtype=$dtype -o "$work/fold.mlir"
  "$tools/epifold-exact" "$work/fold.mlir" --label "expert_conv_fold $dtype"
  "$tools/epifold-gen" clm_conv_moe --batch=2 --tokens=24 --width=16 --experts=2 --vocab=32 --dtype=$dtype -o "$work/clm.mlir"
  "$tools/epifold-exact" "$work/clm.mlir" --label "clm_conv_moe $dtype" --int-bound 32
done

printf '\nThe tools are in %s; README.md shows how to use them.\n' "$tools"
