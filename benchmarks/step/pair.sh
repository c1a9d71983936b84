#!/usr/bin/env bash
# Times a training step of two builds in interleaved pairs, and prints medians, their ratio and peak memory.
#
#   [PAIRS=5] [N=2000] [B=16] [T=2] benchmarks/step/pair.sh OLD NEW [METHOD...]
#
# OLD and NEW are built lra_step_benchmark programs; methods are softmax, linear and cosformer.
set -euo pipefail
old=${1:?usage: pair.sh OLD NEW [METHOD...]} new=${2:?usage: pair.sh OLD NEW [METHOD...]}
shift 2
[ $# -gt 0 ] || set -- softmax linear cosformer
pairs=${PAIRS:-5} n=${N:-2000} b=${B:-16}
export T=${T:-2}

median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
milliseconds() { sed -E 's/.*: ([0-9.]+) ms a step.*/\1/' | median; }
peak() { sed -E 's/.*peak ([0-9.]+) GB.*/\1/' | median; }

echo "| step, N = $n, B = $b, $T threads | old ms | new ms | ratio | old GB | new GB |"
echo "|---|---|---|---|---|---|"
for method in "$@"; do
  before="" after=""
  for _ in $(seq "$pairs"); do
    before+=$("$old" "$method" "$n" "$b")$'\n'
    after+=$("$new" "$method" "$n" "$b")$'\n'
  done
  o=$(printf %s "$before" | milliseconds) a=$(printf %s "$after" | milliseconds)
  echo "| $method | $o | $a | $(awk "BEGIN {printf \"%.3f\", $a / $o}") | $(printf %s "$before" | peak) | $(printf %s "$after" | peak) |"
done
