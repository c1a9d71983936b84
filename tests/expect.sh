# Sourced by the tests of the command line; they set $work.
failures=0

# expect CODE PATTERN command...: exit code, and a regular expression in what it prints.
expect() {
  local code=$1 pattern=$2 actual=0
  shift 2
  "$@" >"$work/out" 2>&1 || actual=$?
  if [ "$actual" != "$code" ] || ! grep -qE -- "$pattern" "$work/out"; then
    printf 'FAILED: %s\n  exit %s (expected %s), expected to print: %s\n' "$*" "$actual" "$code" "$pattern"
    sed 's/^/  | /' "$work/out"
    failures=$((failures + 1))
  fi
}
