# The tests of the command line source this file. They set $work, a folder.
failures=0

# expect CODE PATTERN command...: runs the command and checks its exit code, and that what it prints
# matches the regular expression.
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
