#!/bin/bash
# Times the preparation (generate or import, encode, write, hash, flush) and verification (hash, ranges, fingerprints,
# duplicates, labels recomputed where they follow from the data) of every task's full data. Prints a Markdown table with
# examples and stored megabytes per second of wall-clock time, and user + system CPU seconds, which other work on the
# machine disturbs less. Tasks whose raw data is missing are named and skipped.
#
#   benchmarks/data.sh [LRA_PROGRAM] [THREADS] [RUNS] [TASK...]
#   LRA_TEST_DATA=FOLDER    holds aclImdb_v1.tar.gz, cifar-10-binary.tar.gz, lra_release-sample.gz
set -euo pipefail
lra=${1:-build/release/lra}
threads=${2:-2}
runs=${3:-3}
shift $(($# < 3 ? $# : 3))
tasks=("$@")
[ ${#tasks[@]} -gt 0 ] || tasks=(listops text retrieval image pathfinder32 pathx)
raw_folder=${LRA_TEST_DATA:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# time_of COMMAND... prints "wall user+sys" in seconds.
time_of() {
  local TIMEFORMAT='%R %U %S' times
  if ! times=$({ time "$@" >/dev/null 2>"$folder/errors"; } 2>&1); then
    cat "$folder/errors" >&2
    kill $$  # exit would end only the process substitution
  fi
  awk '{printf "%.2f %.2f\n", $1, $2 + $3}' <<<"$times"
}

# Prints the options that prepare a task; fails if its raw data is missing.
options_of() {
  local file
  case $1 in
    text) file=aclImdb_v1.tar.gz ;;
    image) file=cifar-10-binary.tar.gz ;;
    retrieval) file=lra_release-sample.gz ;;
    # All 200,000 take ten minutes or more; a fiftieth of them is enough to measure the rate.
    pathx | pathfinder64 | pathfinder256) echo "--set images=4000"; return ;;
    *) return ;;
  esac
  [ -n "$raw_folder" ] && [ -e "$raw_folder/$file" ] || { echo "$1 left out: no $file in \$LRA_TEST_DATA" >&2; return 1; }
  echo "--raw $raw_folder/$file"
}

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs), $(nproc) cores, $threads threads, $(uname -sr)"
echo
echo "| task | run | examples | MB | prepare, s | CPU s | examples/s | MB/s | verify, s | CPU s |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for task in "${tasks[@]}"; do
  options=$(options_of "$task") || continue
  for run in $(seq "$runs"); do
    out="$folder/$task"
    # shellcheck disable=SC2086
    read -r prepare_wall prepare_cpu < <(time_of "$lra" data prepare "$task" $options --out "$out" --threads "$threads" --quiet)
    read -r verify_wall verify_cpu < <(time_of "$lra" data verify "$out" --threads "$threads" --quiet)
    examples=$(awk '/^[a-z]/ { inside = /^splits/ } /^  examples:/ && inside { n += $2 } END { print n }' "$out/manifest.textproto")
    megabytes=$(du -sb "$out" | awk '{ printf "%.0f", $1 / 1e6 }')
    awk -v task="$task" -v run="$run" -v n="$examples" -v mb="$megabytes" -v w="$prepare_wall" -v c="$prepare_cpu" \
      -v vw="$verify_wall" -v vc="$verify_cpu" 'BEGIN {
        printf "| %s | %d | %d | %d | %.2f | %.2f | %.0f | %.0f | %.2f | %.2f |\n", task, run, n, mb, w, c, n / w, mb / w, vw, vc }'
    rm -rf "$out"
  done
done
