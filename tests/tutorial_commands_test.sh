#!/usr/bin/env bash
# Runs what tutorials say: of each page docs/tutorial_*.md the listings under "<!-- run -->", in order, all in one folder, as who reads them all does.
# usage: tutorial_commands_test.sh SOURCE LRA
set -euo pipefail
LRA_SOURCE=$(realpath "$1")
lra=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LRA_SOURCE PATH=$(dirname "$lra"):$PATH
unset LRA_DATA
mkdir "$work/here" && cd "$work/here"
pages=0 commands=0
for page in "$LRA_SOURCE"/docs/tutorial_*.md; do
  awk '/^<!-- run -->$/ { wanted = 1; next } /^```sh$/ && wanted { on = 1; next } /^```$/ { on = wanted = 0 } on' "$page" >../commands.sh
  [ -s ../commands.sh ] || { echo "FAILED: $page says nothing to run"; exit 1; }
  if ! bash -euxo pipefail ../commands.sh >../out 2>&1; then
    echo "FAILED: $page"
    tail -30 ../out
    exit 1
  fi
  pages=$((pages + 1)) commands=$((commands + $(grep -c '^+ lra' ../out)))
done
[ "$pages" -ge 3 ] || { echo "FAILED: $pages pages"; exit 1; }
echo "ok: $commands commands of $pages pages"
