#!/usr/bin/env bash
# Every C++ file of the tree must be what clang-format makes of it (.clang-format says how).
#
# usage: check_format.sh ROOT         self-test, then the check of ROOT; exit code 1 names file and line
#        check_format.sh --self-test  plants a badly formatted file and demands that it is found
#
# Other major versions of clang-format break lines elsewhere, so only version 14 (Debian 12's) is asked; exit code 77
# says that it is missing and that nothing was checked. CLANG_FORMAT names another program of that version.
set -euo pipefail
version=14

find_program() {
  local program
  for program in "${CLANG_FORMAT:-clang-format-$version}" clang-format; do
    if "$program" --version 2>/dev/null | grep -q "version $version\."; then echo "$program"; return; fi
  done
  echo "check_format: skipped, clang-format $version is not installed (apt-get install clang-format-$version)" >&2
  exit 77
}

# check ROOT: prints what is badly formatted, exit code 1 if anything is.
check() {
  local files
  cd "$1"
  mapfile -d '' files < <(find . \( -path './.*' -o -path ./build -o -path ./third_party \) -prune -o \
    \( -name '*.h' -o -name '*.cc' \) -type f -print0)
  if [ ${#files[@]} = 0 ]; then echo "$1: holds no C++ files"; return 1; fi
  "$program" --dry-run -Werror "${files[@]}"
}

self_test() {
  local tree code=0 output
  tree=$(mktemp -d)
  cp "$(dirname "${BASH_SOURCE[0]}")/../.clang-format" "$tree"
  printf 'int a;\n\n//   an example  that   stays\nint b;\n' >"$tree/good.cc"
  output=$( (check "$tree") 2>&1) || { echo "self-test: a well formatted file was not accepted: $output"; return 1; }
  printf 'int  c ;\n' >"$tree/bad.h"
  output=$( (check "$tree") 2>&1) || code=$?
  rm -rf "$tree"
  if [ "$code" != 1 ] || [[ "$output" != *bad.h:1:* ]]; then
    echo "self-test: exit code $code, expected 1; printed: $output"
    return 1
  fi
}

program=$(find_program)
case "${1:-}" in
  --self-test) self_test && echo "check_format: the planted violation was found" ;;
  "" | -*) echo "usage: check_format.sh ROOT | --self-test" >&2; exit 2 ;;
  *) self_test && (check "$1") && echo "check_format: every file is formatted" ;;
esac
