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

# expect_picture STEM: STEM.svg, STEM.pdf and STEM.png are what their names say, and the PNG is a column wide, 84 mm or
# 952 dots of 288 an inch.
expect_picture() {
  local png
  png=$(head -c 20 "$1.png" 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
  if ! grep -qsF '</svg>' "$1.svg" || [ "$(head -c 5 "$1.pdf" 2>/dev/null)" != %PDF- ] ||
    [[ "$png" != 89504e470d0a1a0a0000000d49484452000003b8 ]]; then
    echo "FAILED: $1.svg, .pdf and .png are not one picture in three formats"
    failures=$((failures + 1))
  fi
}
