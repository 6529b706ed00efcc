#!/usr/bin/env bash
# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks what the exactness contract promises on this machine's GPU, then times the workloads.
#
# Usage: run.sh [--quick] [--no-times] [--sanitize] [FOLDER]. FOLDER (default: results) takes the logs. --sanitize runs small
# cases under compute-sanitizer as well. Exit 1 when a check fails.

set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
quick=0
times=1
sanitize=0
out=$here/results
while [[ $# -gt 0 ]]; do
  case $1 in
  --quick) quick=1 ;;
  --no-times) times=0 ;;
  --sanitize) sanitize=1 ;;
  -*)
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
    ;;
  *) out=$1 ;;
  esac
  shift
done
mkdir -p "$out"
cd "$here" || exit 1
export EPIFOLD_CACHE_DIR=${EPIFOLD_CACHE_DIR:-$out/kernel-cache}

failed=0

# exact LABEL SHORTER|- MODEL ARG…: writes the graph, and one of SHORTER tokens, and compares. `options` go to the comparison.
options=()
exact() {
  local label=$1 shorter=$2 model=$3
  shift 3
  local graph=$out/graph.mlir rows=()
  ./epifold gen "$model" "$@" -o "$graph" || { failed=1; return; }
  if [[ $shorter != - ]]; then
    ./epifold gen "$model" "${@/#--tokens=*/--tokens=$shorter}" -o "$out/shorter.mlir" || { failed=1; return; }
    rows=(--rows "$out/shorter.mlir")
  fi
  ./epifold exact "$graph" --label "$label" --int-bound 32 "${rows[@]}" "${options[@]}" || failed=1
}

# vector FILE BOUND MODEL ARGS…: compares the GPU with float64 results of PyTorch.
vector() {
  local file=data/$1 bound=$2 model=$3
  shift 3
  [[ -f $file ]] || return
  ./epifold gen "$model" "$@" -o "$out/graph.mlir" &&
    ./epifold run "$out/graph.mlir" --device=cuda:0 --cast --inputs "$file" --expect "$file" --rtol "$bound" --atol 0 \
      >"$out/vector.log" 2>&1
  local rc=$?
  printf '%-52s %s\n' "$(basename "$file" .safetensors), ${*: -1}" "$([[ $rc -eq 0 ]] && echo "within $bound of the maximum" || echo DIFFERS)"
  if [[ $rc -ne 0 ]]; then
    failed=1
    cat "$out/vector.log"
  fi
}

command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version --format=csv,noheader

echo
echo "== Against float64 results"
for type in f64:1e-12 f32:1e-5; do
  dtype=--dtype=${type%:*}
  bound=${type#*:}
  vector "fold_E30_T16_d8_dil1_${type%:*}.safetensors" "$bound" expert_conv_fold --experts=30 --tokens=16 --width=8 "$dtype"
  vector "fold_E30_T16_d8_dil2_${type%:*}.safetensors" "$bound" expert_conv_fold --experts=30 --tokens=16 --width=8 --dilation=2 "$dtype"
  vector "fold_E4_T24_d8_dil1_${type%:*}.safetensors" "$bound" expert_conv_fold --experts=4 --tokens=24 --width=8 "$dtype"
  vector clm_B1_T16_d8_E4.safetensors "$bound" clm_conv_moe --batch=1 --tokens=16 --width=8 --experts=4 --vocab=32 "$dtype"
  vector clm_B2_T24_d16_E2_dil2_step.safetensors "$bound" clm_conv_moe --batch=2 --tokens=24 --width=16 --experts=2 --vocab=256 --dilation=2 "$dtype"
  vector moe_T33_d64_n48_E8_K2.safetensors "$bound" moe_swiglu --tokens=33 --width=64 --hidden=48 --experts=8 --topk=2 "$dtype"
  vector moe_T20_d32_n16_E4_K2_ties.safetensors "$bound" moe_swiglu --tokens=20 --width=32 --hidden=16 --experts=4 --topk=2 "$dtype"
  vector moe_T16_d64_n32_E8_K2_empty.safetensors "$bound" moe_swiglu --tokens=16 --width=64 --hidden=32 --experts=8 --topk=2 "$dtype"
  vector moe_T1_d64_n32_E16_K4.safetensors "$bound" moe_swiglu --tokens=1 --width=64 --hidden=32 --experts=16 --topk=4 --no-renormalise "$dtype"
done

echo
echo "== To the bit"
for dtype in f64 f32 bf16; do
  for shape in "30 16 8 1" "30 16 8 2" "4 24 8 1" "30 256 512 1"; do
    read -r E T d dil <<<"$shape"
    [[ $quick -eq 1 && $d -gt 64 ]] && continue
    exact "fold E$E T$T d$d dil$dil $dtype" - expert_conv_fold \
      --experts="$E" --tokens="$T" --width="$d" --dilation="$dil" --dtype="$dtype"
  done
  exact "clm B2 T24 d16 E2 $dtype" - clm_conv_moe --batch=2 --tokens=24 --width=16 --experts=2 --vocab=32 --dtype="$dtype"
  exact "clm B1 T130 d128 E4 $dtype" - clm_conv_moe --batch=1 --tokens=130 --width=128 --experts=4 --vocab=256 --dtype="$dtype"
  exact "moe T33 d64 n48 E8 K2 $dtype" 1 moe_swiglu \
    --tokens=33 --width=64 --hidden=48 --experts=8 --topk=2 --dtype="$dtype"
  exact "moe T333 d256 n128 E64 K8 $dtype" 1 moe_swiglu \
    --tokens=333 --width=256 --hidden=128 --experts=64 --topk=8 --dtype="$dtype"
done

# every_small_bf16 FILE: the 33280 bf16 numbers below 8 in magnitude as in.x, each once.
every_small_bf16() {
  local header='{"in.x":{"dtype":"BF16","shape":[130,256],"data_offsets":[0,66560]}}  ' high low
  {
    # shellcheck disable=SC2059 # escapes are what the formats are for
    printf "\\x$(printf %x ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
    for high in {0..64} {128..192}; do
      for low in {0..255}; do
        printf '\\x%x\\x%x' "$low" "$high"
      done
    done | { read -r bytes; printf '%b' "$bytes"; }
  } >"$1"
}

# fast_error FUNCTION BOUND: fast math differs by at most BOUND of the largest value from the CPU's portable function.
fast_error() {
  local out_of='tensor<130x256xf32>' rc
  cat >"$out/function.mlir" <<END
func.func @main(%x: tensor<130x256xbf16> {graph.input = "in.x"}) -> ($out_of {graph.result = "out.y"}) {
  %0 = graph.cast %x : tensor<130x256xbf16> -> $out_of
  %1 = graph.exp %0 : $out_of -> $out_of
  %y = $1 : $out_of -> $out_of
  return %y : $out_of
}
END
  ./epifold run "$out/function.mlir" --device=reference --inputs "$out/small.st" --outputs "$out/portable.st" >"$out/fast.log" 2>&1 &&
    ./epifold run "$out/function.mlir" --math=fast --device=cuda:0 --inputs "$out/small.st" --expect "$out/portable.st" \
      --rtol "$2" --atol 0 >>"$out/fast.log" 2>&1
  rc=$?
  printf '%-52s %s\n' "fast $1" "$([[ $rc -eq 0 ]] && echo "within $2 of the maximum" || echo DIFFERS)"
  [[ $rc -eq 0 ]] || { failed=1; cat "$out/fast.log"; }
}

echo
echo "== Fast math, against portable"
every_small_bf16 "$out/small.st"
for accuracy in bf16 f32; do
  bound=$([[ $accuracy == bf16 ]] && echo 2e-4 || echo 2e-6)
  fast_error "graph.exp %0 accuracy $accuracy" "$bound"
  fast_error "graph.log %1 accuracy $accuracy" "$bound"
  fast_error "graph.tanh %0 accuracy $accuracy" 7e-4
  fast_error "graph.sigmoid %0 accuracy $accuracy" "$bound"
  fast_error "graph.silu %0 accuracy $accuracy" "$bound"
  fast_error "graph.gelu %0 approximate tanh accuracy $accuracy" "$bound"
done
fast_error "graph.rsqrt %1" 1e-6
fast_error "graph.sqrt %1" 1e-6

echo
echo "== Fast math, to the bit with itself"
options=(--math=fast)
for dtype in f32 bf16; do
  exact "fast clm B1 T130 d128 E4 $dtype" - clm_conv_moe --batch=1 --tokens=130 --width=128 --experts=4 --vocab=256 --dtype="$dtype"
  exact "fast moe T333 d256 n128 E64 K8 $dtype" 1 moe_swiglu \
    --tokens=333 --width=256 --hidden=128 --experts=64 --topk=8 --dtype="$dtype"
done
options=()

# schedules WORKLOAD ARG…: every schedule of each product gives the bits of the default one.
schedules() {
  ./epifold bench tune "$@" --warmup 0 --repeat 1 -o "$out/tuning.json" >"$out/schedules.log" 2>&1
  local rc=$?
  printf '%-52s %s\n' "${*:1:1} ${*: -1}" \
    "$([[ $rc -eq 0 ]] && echo "$(grep -c ' ms  ' "$out/schedules.log") schedules, equal" || echo DIFFERS)"
  [[ $rc -eq 0 ]] || { failed=1; tail -5 "$out/schedules.log"; }
}

echo
echo "== Every schedule"
for dtype in bf16 f32; do
  schedules moe_swiglu --tokens=333 --width=256 --hidden=136 --experts=16 --topk=4 --dtype=$dtype
  [[ $quick -eq 1 ]] && continue
  schedules moe_swiglu --tokens=45 --width=192 --hidden=96 --experts=64 --topk=8 --skew=one --dtype=$dtype
  schedules conv --batch=2 --tokens=130 --width=136 --experts=3 --dilation=2 --dtype=$dtype
  schedules gemm --m=1000 --n=520 --k=328 --batch=2 --epilogue=bias-gelu --dtype=$dtype
done

echo
echo "== Random graphs"
./epifold exact --random --seed=1 --count=$((quick ? 5 : 40)) --failures "$out" || failed=1

if [[ $quick -eq 0 ]]; then
  echo
  echo "== Past 2^31 elements"
  # The whole batch is too much for the CPU: some of its rows, the last among them, are compared with the reference.
  options=(--no-reference)
  exact "weights of E512 d4096 n1024 bf16" 4 moe_swiglu \
    --tokens=64 --width=4096 --hidden=1024 --experts=512 --topk=10 --dtype=bf16 --results=min
  exact "rows of T65536 K8 d7168 bf16" 4 moe_swiglu \
    --tokens=65536 --width=7168 --hidden=256 --experts=64 --topk=8 --dtype=bf16 --results=min
  options=()
fi

echo
echo "== One executable for every token count"
for dtype in f32 bf16; do
  model=(moe_swiglu --width=128 --hidden=96 --experts=16 --topk=4 --dtype="$dtype")
  ./epifold gen "${model[@]}" --tokens=? -o "$out/any.mlir" && ./epifold compile "$out/any.mlir" -o "$out/any.efx" || failed=1
  for tokens in 1 45 4096; do
    ./epifold gen "${model[@]}" --tokens="$tokens" -o "$out/graph.mlir" &&
      ./epifold exact "$out/graph.mlir" --label "moe T$tokens $dtype" --no-reference --write-inputs "$out/in.st" >"$out/any.log" &&
      ./epifold run "$out/graph.mlir" --device=cuda:0 --inputs "$out/in.st" --outputs "$out/fixed.st" >>"$out/any.log" &&
      ./epifold run "$out/any.efx" --device=cuda:0 --inputs "$out/in.st" --expect "$out/fixed.st" >>"$out/any.log" 2>&1
    rc=$?
    printf '%-32s %s\n' "moe T=$tokens $dtype" "$([[ $rc -eq 0 ]] && echo "compiled for any T = compiled for T" || echo DIFFERS)"
    [[ $rc -eq 0 ]] || { failed=1; cat "$out/any.log"; }
  done
  ./epifold run "$out/any.efx" --device=cuda:0 --inputs "$out/in.st" | grep '^loaded'
done

if [[ $sanitize -eq 1 ]]; then
  echo
  echo "== compute-sanitizer"
  while read -r name arguments; do
    # shellcheck disable=SC2086 # the arguments are words
    ./epifold gen $arguments -o "$out/graph.mlir" &&
      ./epifold exact "$out/graph.mlir" --no-reference --int-bound 32 --write-inputs "$out/in.st" >/dev/null || failed=1
    for fusion in none all; do
      for check in memcheck racecheck; do
        compute-sanitizer --tool "$check" --error-exitcode 9 ./epifold run "$out/graph.mlir" --device=cuda:0 \
          --fusion="$fusion" --inputs "$out/in.st" >"$out/sanitizer.log" 2>&1
        rc=$?
        printf '%-12s %-5s %-10s %s\n' "$name" "$fusion" "$check" "$([[ $rc -eq 0 ]] && echo clean || echo "FAILED ($rc)")"
        [[ $rc -eq 0 ]] || { failed=1; tail -40 "$out/sanitizer.log"; }
      done
    done
  done < <(grep -v '^#' cases.txt)
fi

if [[ $times -eq 1 ]]; then
  echo
  echo "== Times"
  for fusion in none all; do
    ./epifold bench expert_conv_fold --experts=30 --tokens=512 --width=1536 --dtype=bf16 --fusion=$fusion || failed=1
    ./epifold bench clm_conv_moe --batch=1 --tokens=512 --width=1536 --experts=2 --vocab=256 --dtype=bf16 --fusion=$fusion || failed=1
    ./epifold bench moe_swiglu --tokens=4096 --width=2048 --hidden=1024 --experts=64 --topk=8 --dtype=bf16 --fusion=$fusion || failed=1
  done
fi

echo
if [[ $failed -eq 0 ]]; then
  echo "All checks passed."
else
  echo "Some checks FAILED (see above)."
fi
exit $failed
