#!/usr/bin/env bash
# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Packs the GPU bundle: pack.sh PROGRAM FOLDER [VECTORS]. The program is the static multi-call tool.

set -euo pipefail

program=$1
folder=$2
vectors=${3:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

for library in $(ldd "$program" | awk '{print $1}'); do
  case $(basename "$library") in
  linux-vdso.so.1 | libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-x86-64.so.2) ;;
  *)
    echo "pack.sh: $program needs $library, which a GPU machine may not have" >&2
    exit 1
    ;;
  esac
done

# Only what this script writes is replaced; other things in the folder stay.
mkdir -p "$folder/data"
strip -o "$folder/epifold" "$program"
cp "$here/run.sh" "$here/../recorded/cases.txt" "$here/../recorded/record.sh" "$folder/"
cp "$here/../../LICENSE" "$folder/LICENSE"
if [[ -n $vectors && -d $vectors ]]; then
  cp "$vectors"/*.safetensors "$folder/data/"
fi

# What it costs to send is the compressed size.
printf '%s: %s of program (%s through xz), %s of data; start %s/run.sh on the GPU machine\n' "$folder" \
  "$(du -h "$folder/epifold" | cut -f1)" "$(xz -T0 -c "$folder/epifold" | wc -c | numfmt --to=iec)" \
  "$(du -sh "$folder/data" | cut -f1)" "$folder"
