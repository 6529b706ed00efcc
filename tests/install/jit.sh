#!/usr/bin/env bash
# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs examples/jit and reads what it says: jit.sh TOOLS EXACT BUILD_DIR.

set -euo pipefail

output=$("$3/jit")
printf '%s\n' "$output"
[[ $(grep -cx 'fused and reference are equal to the bit' <<<"$output") -eq 2 ]] || {
  echo "jit.sh: two token counts should have been compared and found equal" >&2
  exit 1
}
