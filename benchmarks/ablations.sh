#!/usr/bin/env bash
# Keeps the records of suites that are designed experiments, and makes their pages and figures (docs/ablations, docs/pictures).
#
# usage: benchmarks/ablations.sh keep FOLDER   copy what tables need of a finished suite into a folder of docs/records/, named as
#                                              FOLDER's last part is; baselines are in FOLDER/baselines (lra baseline). Of a suite
#                                              that is not finished, the runs that are; its page comes with the last one
#        benchmarks/ablations.sh resume FOLDER put the runs that are kept of a suite into FOLDER, where `lra run SUITE --out FOLDER`
#                                              trains the rest
#        benchmarks/ablations.sh write         make the pages of all suites that are kept (figures need gnuplot)
#        benchmarks/ablations.sh check         compare the pages with the records
set -euo pipefail
cd "$(dirname "$0")/.."
lra=${LRA:-build/release/lra}

is_finished() { "$lra" status "$1" | grep -Eq '^([0-9]+) of \1 runs finished'; }

keep() {
  local from=${1%/} to=docs/records/$(basename "$1") run file
  [ -f "$from/suite.textproto" ] || { echo "$from holds no suite" >&2; exit 2; }
  rm -rf "$to.new"
  for run in "$from"/*/record.textproto "$from"/baselines/*/record.textproto; do
    [ -f "$run" ] || continue # a suite without baselines
    run=$(dirname "$run")
    mkdir -p "$to.new/${run#"$from"/}"
    for file in record.textproto accuracy.npy accuracy-validation.npy; do
      # A run that diverged has no scores.
      [ ! -f "$run/$file" ] || cp "$run/$file" "$to.new/${run#"$from"/}"
    done
  done
  if is_finished "$from"; then
    cp "$from/suite.textproto" "$to.new"
  else
    cp -r "$from/plan" "$to.new" # what was predicted
    echo "$from is not finished: its page is for later" >&2
  fi
  rm -rf "$to"
  mv "$to.new" "$to"
}

resume() {
  local from=docs/records/$(basename "$1") run
  mkdir -p "$1"
  for run in "$from"/*/; do
    [ "$(basename "$run")" = baselines ] || [ -e "$1/$(basename "$run")" ] || cp -r "$run" "$1"
  done
}

suites() {
  local file
  for file in docs/records/*/suite.textproto; do basename "$(dirname "$file")"; done
}

# Each design under its heading: its figure, and what `lra ablate` says. Then the learning curves.
page() {
  local figure
  "$lra" ablate "docs/records/$1" --baselines "docs/records/$1/baselines" --format md |
    awk -v name="$1" '{ print } /^## / { printf "\n![%s](../pictures/%s-%d.svg)\n", substr($0, 4), name, ++n }'
  printf '\n## Learning curves\n'
  for figure in docs/pictures/"$1"-curves-*.svg; do printf '\n![Learning curves](../pictures/%s)\n' "${figure##*/}"; done
}

write() {
  local suite
  mkdir -p docs/ablations
  for suite in $(suites); do
    "$lra" ablate "docs/records/$suite" --baselines "docs/records/$suite/baselines" --figure "docs/pictures/$suite" >/dev/null
    rm "docs/pictures/$suite"-*.gp
    page "$suite" >"docs/ablations/$suite.md.new"
    mv "docs/ablations/$suite.md.new" "docs/ablations/$suite.md"
  done
}

case "${1:-}" in
  keep) keep "${2:?the folder of a suite}" ;;
  resume) resume "${2:?the folder of a suite}" ;;
  write) write ;;
  check) for suite in $(suites); do page "$suite" | diff - "docs/ablations/$suite.md"; done ;;
  *) sed -n '2,10p' "$0"; exit 2 ;;
esac
