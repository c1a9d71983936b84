#!/bin/bash
# Times the full ListOps data: preparation (generate, encode, write, hash, flush) and verification (hash, ranges,
# fingerprints, duplicates, every label evaluated anew). Prints a Markdown table: wall-clock, and user + system CPU
# seconds, which other work on the machine disturbs less.
#
#   benchmarks/data.sh [LRA_PROGRAM] [THREADS] [RUNS]
set -euo pipefail
lra=${1:-build/release/lra}
threads=${2:-2}
runs=${3:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# time_of COMMAND...: "wall user+sys"
time_of() {
  local TIMEFORMAT='%R %U %S' times
  if ! times=$({ time "$@" >/dev/null 2>"$folder/errors"; } 2>&1); then
    cat "$folder/errors" >&2
    kill $$  # from inside a process substitution
  fi
  awk '{printf "%.2f %.2f\n", $1, $2 + $3}' <<<"$times"
}

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs), $(nproc) cores, $threads threads, $(uname -sr)"
echo
echo "| run | prepare, s | prepare, CPU s | verify, s | verify, CPU s |"
echo "|---|---|---|---|---|"
for run in $(seq "$runs"); do
  out="$folder/listops-$run"
  read -r prepare_wall prepare_cpu < <(time_of "$lra" data prepare listops --out "$out" --threads "$threads" --quiet)
  read -r verify_wall verify_cpu < <(time_of "$lra" data verify "$out" --threads "$threads" --quiet)
  echo "| $run | $prepare_wall | $prepare_cpu | $verify_wall | $verify_cpu |"
  rm -rf "$out"
done
