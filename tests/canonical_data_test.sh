#!/usr/bin/env bash
# Generates data in full: the program must make what configs/tasks/ pins, and every label must be right.
# usage: canonical_data_test.sh LRA TASK...
set -euo pipefail
lra=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for task in "$@"; do
  "$lra" data prepare "$task" --out "$work/$task" --quiet >/dev/null
  "$lra" data verify "$work/$task" --quiet | tee "$work/report"
  grep -q 'valid, canonical: yes' "$work/report" || { echo "FAILED: $task is not the canonical data"; exit 1; }
  rm -rf "${work:?}/$task"
done
