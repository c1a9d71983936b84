#!/usr/bin/env bash
# Checks docs/footguns.md: `lra config` takes every switch, every guard is a test of the sources, and all seventeen
# traps are there.
# usage: check_footguns.sh SOURCE LRA
set -euo pipefail
cd "$1"
lra=$2
page=docs/footguns.md
failed=0
fail() { echo "$page: $*"; failed=1; }

# Prints one line for each bullet, with its continuation lines joined.
bullets=$(mktemp)
trap 'rm -f "$bullets"' EXIT
awk '/^  [^ ]/ { sub(/^ +/, " "); printf "%s", $0; next } { printf "\n%s", $0 } END { print "" }' "$page" >"$bullets"

# Prints the bullets of trap N, which stand between its heading and the next one.
trap_bullets() { awk -v head="## $1. " 'index($0, "## ") == 1 { inside = index($0, head) == 1 } inside' "$bullets"; }

for n in $(seq 17); do
  text=$(trap_bullets "$n")
  grep -q '^\* Here: .' <<<"$text" || fail "trap $n does not say what happens here"
  grep -q '^\* Switch: .' <<<"$text" || fail "trap $n has no switch and no \"none\""
  guards=$(grep '^\* Guard: ' <<<"$text" | grep -oE '`[^`]+`' | tr -d '`' || true)
  [ -n "$guards" ] || fail "trap $n has no guard"
  for guard in $guards; do
    if [[ $guard == *.* ]]; then
      grep -rqE "^TEST(_F|_P)?\(${guard%.*}, ${guard#*.}\)" --include='*_test.cc' datasets eval inspect lra models run_folder tasks tests train ||
        fail "trap $n: there is no test $guard"
    else
      grep -q "add_test(NAME $guard " tests/CMakeLists.txt || fail "trap $n: there is no ctest $guard"
    fi
  done
done

switches=0
while IFS= read -r switch; do
  switches=$((switches + 1))
  [[ $switch == *--attention* ]] || switch="$switch --attention transformer"
  # shellcheck disable=SC2086
  output=$("$lra" config $switch 2>&1 >/dev/null) || fail "switch \"$switch\": $output"
done < <(grep '^\* Switch: `' "$bullets" | sed -E 's/^\* Switch: `([^`]+)`.*/\1/')
[ "$switches" -ge 10 ] || fail "only $switches switches were found"

echo "17 traps, $switches switches"
exit $failed
