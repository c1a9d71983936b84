#!/usr/bin/env bash
# Fuzzes the parsers of foreign bytes with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer (clang 14 or newer;
# Debian: clang libclang-rt-14-dev libomp-14-dev). Starts from tests/fuzz/corpus/<name>/ and what former runs found
# (build/fuzz/found).
#
# usage: tests/fuzz/run.sh [SECONDS] [NAME...]     60 seconds each of all targets, one after the other
# Exit code 1 if a target failed: the input is then build/fuzz/failed/<name>-..., and this repeats it:
#   build/fuzz/tests/fuzz/fuzz_<name> build/fuzz/failed/<name>-...
set -euo pipefail
unset CDPATH
cd "$(dirname "$0")/../.."
seconds=${1:-60}
case $seconds in '' | *[!0-9]*) echo "usage: tests/fuzz/run.sh [SECONDS] [NAME...]" >&2; exit 2 ;; esac
shift $(($# > 0 ? 1 : 0))
if [ $# = 0 ]; then
  for source in tests/fuzz/*_fuzz.cc; do name=${source##*/}; set -- "$@" "${name%_fuzz.cc}"; done
fi
for name in "$@"; do
  if [ ! -e "tests/fuzz/${name}_fuzz.cc" ]; then echo "run.sh: no tests/fuzz/${name}_fuzz.cc" >&2; exit 2; fi
done
command -v clang++ >/dev/null || { echo "run.sh: clang++ is missing (Debian: clang libclang-rt-14-dev libomp-14-dev)" >&2; exit 2; }

build=build/fuzz
mkdir -p "$build/failed"
if [ ! -e $build/build.ninja ]; then
  cmake --preset fuzz >$build/configure.log 2>&1 || { cat $build/configure.log >&2; exit 2; }
fi
echo "building (the first time a few minutes)" >&2
cmake --build --preset fuzz --target "${@/#/fuzz_}" >$build/build.log 2>&1 ||
  { grep -E -A5 'error|FAILED' $build/build.log | head -60 >&2; exit 2; }

# ASan keeps freed memory. It keeps less here, so that the limit applies to memory in use.
export ASAN_OPTIONS=quarantine_size_mb=32${ASAN_OPTIONS:+:$ASAN_OPTIONS}
# No single allocation may exceed what the parsers promise; longer inputs are made of the same parts.
failed=0
for name in "$@"; do
  mkdir -p "$build/found/$name"
  if $build/tests/fuzz/fuzz_"$name" -max_total_time="$seconds" -timeout=10 -malloc_limit_mb=64 -rss_limit_mb=1024 \
    -max_len=4096 -print_final_stats=1 -artifact_prefix="$build/failed/$name-" "$build/found/$name" \
    "tests/fuzz/corpus/$name" >"$build/$name.log" 2>&1; then
    awk -v name="$name" '/ cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
      /number_of_executed_units/ { runs = $2 } /peak_rss_mb/ { rss = $2 }
      END { printf "%-13s ok: %d runs, %d branches, %d MB\n", name, runs, cov, rss }' "$build/$name.log"
  else
    failed=1
    echo "$name FAILED; the whole log is $build/$name.log"
    grep -E -m1 -A12 'ERROR|check failed|runtime error' "$build/$name.log" || tail -20 "$build/$name.log"
  fi
done
exit $failed
