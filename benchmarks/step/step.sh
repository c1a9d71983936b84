#!/usr/bin/env bash
# Times a training step of three attentions and of the same model in eager PyTorch, in interleaved pairs on the same
# cores. Prints medians, their ratio and peak memory as a Markdown table.
#
#   [PYTHON=python3] [PAIRS=5] [N=2000] [B=16] [T=2] benchmarks/step/step.sh PROGRAM [YARDSTICK.py]
#
# PROGRAM is the built lra_step_benchmark; PYTHON must have torch (`pip install torch` in an environment of its own).
set -euo pipefail
program=${1:?usage: step.sh PROGRAM [YARDSTICK.py]}
yardstick=${2:-$(dirname "$0")/eager_step.py}
python=${PYTHON:-python3} pairs=${PAIRS:-5} n=${N:-2000} b=${B:-16}
export T=${T:-2}

median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
field() { sed -E "s/.*[ :]([0-9.]+) $1.*/\1/" | median; }
peak() { sed -E 's/.*peak ([0-9.]+) GB.*/\1/' | sort -n | tail -1; }

echo "| step, N = $n, B = $b, $T threads | eager ms | lra ms | ratio | eager GB | lra GB |"
echo "|---|---|---|---|---|---|"
for attention in softmax linear cosformer; do
  eager="" ours=""
  for _ in $(seq "$pairs"); do
    eager+=$("$python" "$yardstick" "$attention" "$n" "$b")$'\n'
    ours+=$("$program" "$attention" "$n" "$b")$'\n'
  done
  e=$(printf %s "$eager" | field 'ms a step') o=$(printf %s "$ours" | field 'ms a step')
  echo "| $attention | $e | $o | $(awk "BEGIN {printf \"%.2f\", $o / $e}") | $(printf %s "$eager" | peak) | $(printf %s "$ours" | peak) |"
done
