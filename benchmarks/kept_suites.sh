#!/usr/bin/env bash
# Keeps the records of suites, and makes their pages and figures. The page of a designed experiment, a suite with factors or pairs, is what
# `lra ablate` says (docs/ablations); that of any other is its table (docs/tables), below the words that stand there already. A record's folder
# may hold, beside what is kept of the suite, words.md, which an ablation's page ends with, locality.json, what `lra ablate --locality` said while
# the checkpoints were there, locality.txt, what `lra locality` said, published, the table in print that stands beside it where `lra papers` names
# none, paired, rows "A - B" that a table's page compares seed by seed (for suites whose runs of one seed share the order of the data), and bars,
# rows "A - BASELINE" that it compares on test and on validation.
#
# usage: benchmarks/kept_suites.sh keep FOLDER   copy what tables need of a finished suite into a folder of docs/records/, named as
#                                                FOLDER's last part is; baselines are in FOLDER/baselines (`baselines`). Of a suite
#                                                that is not finished, the runs that are; its page comes with the last one or,
#                                                for a table, with its words, a page in docs/tables
#        benchmarks/kept_suites.sh resume FOLDER put the runs that are kept of a suite into FOLDER, where `lra run SUITE --out FOLDER`
#                                                trains the rest
#        benchmarks/kept_suites.sh baselines FOLDER   record into FOLDER/baselines what each of the suite's tasks requires
#        benchmarks/kept_suites.sh write         make the pages of all suites that are kept (figures need gnuplot), and the digests
#        benchmarks/kept_suites.sh digests       make the digests alone, docs/records/made.sha256: of what `lra` makes of two suites in each format
#        benchmarks/kept_suites.sh check         compare pages and digests with the records, and name figures that no page shows
set -euo pipefail
unset CDPATH
cd "$(dirname "$0")/.."
lra=${LRA:-build/release/lra}
made=docs/records/made.sha256
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

is_finished() { "$lra" status "$1" | grep -E '^([0-9]+) of \1 runs finished' >/dev/null; }

is_ablation() { grep -Eq '^ *(factor|pair) {' "$1/suite.textproto"; }

# How local each cell of an ablation attends, measured while the runs have their checkpoints and their data is there.
keep_locality() { # FROM TO
  local baselines=
  [ ! -d "$1/baselines" ] || baselines="--baselines $1/baselines"
  if "$lra" ablate "$1" $baselines --locality --json --quiet >"$work/locality.json" && grep -q mean_distance_tokens "$work/locality.json"; then
    # Under another name than designs have, since a report takes a file of these for a suite's effects.
    python3 -c 'import json, sys; it = json.load(sys.stdin); it["localities"] = it.pop("designs"); print(json.dumps(it, indent=2))' \
      <"$work/locality.json" >"$2/locality.json"
  else
    echo "$1 has no checkpoints (or no data) to say how local its cells attend: locality.json stays as it was" >&2
  fi
}

# The suite, and the run files that its folder keeps.
keep_suite() { # FROM TO
  cp "$1/suite.textproto" "$2"
  [ ! -d "$1/run_files" ] || cp -r "$1/run_files" "$2"
}

keep() {
  local from=${1%/} to=docs/records/$(basename "$1") run file
  [ -f "$from/suite.textproto" ] || { echo "$from holds no suite" >&2; exit 2; }
  rm -rf "$to.new"
  for run in "$from"/*/record.textproto "$from"/baselines/*/record.textproto; do
    [ -f "$run" ] || continue # a suite without baselines
    run=$(dirname "$run")
    mkdir -p "$to.new/${run#"$from"/}"
    # Scores of examples, by the metric's name; a run that diverged has none.
    for file in record.textproto {accuracy,sequence_accuracy,nats,bits_per_token}{,-validation}.npy; do
      [ ! -f "$run/$file" ] || cp "$run/$file" "$to.new/${run#"$from"/}"
    done
  done
  [ ! -d "$from/plan" ] || cp -r "$from/plan" "$to.new" # what was predicted (benchmarks/planned_hours.py)
  for file in words.md paired bars published locality.{json,txt}; do [ ! -f "$to/$file" ] || cp "$to/$file" "$to.new"; done
  if is_finished "$from"; then
    keep_suite "$from" "$to.new"
    ! is_ablation "$from" || keep_locality "$from" "$to.new"
  elif ! is_ablation "$from" && [ -f "docs/tables/$(basename "$1").md" ]; then
    keep_suite "$from" "$to.new"
    echo "$from is not finished: the words of its page must say so" >&2
  else
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

# One run of each task says how its data is seen.
baselines() {
  local task run
  for task in $(sed -n 's/^ *task: "\(.*\)"$/\1/p' "$1/suite.textproto" | sort -u); do
    for run in "$1/$task"-*-s0; do break; done
    "$lra" baseline --all --like "$run" --out "$1/baselines" --quiet
  done
}

# The names of all that are kept: those with factors or pairs (ablations), or those without (tables).
suites() {
  local file
  for file in docs/records/*/suite.textproto; do
    if is_ablation "$(dirname "$file")"; then [ "$1" = ablations ]; else [ "$1" = tables ]; fi || continue
    basename "$(dirname "$file")"
  done
}

# What the suite's paper prints, where `lra papers` sets it beside this suite by `lra COMMAND`.
printed_beside() { # COMMAND SUITE
  [ -e "$work/papers.json" ] || "$lra" papers --json >"$work/papers.json" || { rm -f "$work/papers.json"; return 1; }
  sed -n "s|.*lra $1 runs/$2 --published \([a-z0-9_ ]*\).*|\1|p" "$work/papers.json" | head -1
}

# Each design, under its heading where there are several: its figure, and what `lra ablate` says. Then the learning curves. Designs of which no
# effect is known have no figure, and do not count in the figures' names.
ablation_page() {
  local printed
  printed=$(printed_beside ablate "$1")
  "$lra" ablate "docs/records/$1" --baselines "docs/records/$1/baselines" ${printed:+--published $printed} --format md >"$work/ablation.md"
  awk -v name="$1" '
    FNR == 1 { design = 0; title = "Effects" }
    /^## / { title = substr($0, 4) }
    begins = /^Factors, each with its reference first: / { ++design }
    NR == FNR { if (/\| (not )?told apart/) known[design] = 1; next }
    begins && design in known { printf "![%s](../pictures/%s-%d.svg)\n\n", title, name, ++n }
    { print }
  ' "$work/ablation.md" "$work/ablation.md"
  [ ! -f "docs/records/$1/locality.json" ] || locality "$1"
  printf '\n## Learning curves\n'
  curves "$1"
  [ ! -f "docs/records/$1/words.md" ] || { echo && cat "docs/records/$1/words.md"; }
}

locality() {
  printf '\n## Locality\n\n'
  "$lra" ablate "docs/records/$1" --baselines "docs/records/$1/baselines" --json >"$work/effects.json"
  python3 benchmarks/locality_table.py "docs/records/$1/locality.json" "$work/effects.json"
}

curves() {
  local figure
  printf '%s\n' docs/pictures/"$1"-curves-*.svg | sort -V |
    while IFS= read -r figure; do [ ! -e "$figure" ] || printf '\n![Learning curves](../pictures/%s)\n' "${figure##*/}"; done
}

# The words of the page, then the table, beside what is printed of the methods and tasks.
table_page() {
  sed '/<!-- results begin -->/q' "docs/tables/$1.md"
  local printed
  printed=$(cat "docs/records/$1/published" 2>/dev/null || printed_beside table "$1") # without any, the benchmark's own numbers stand beside ours
  # shellcheck disable=SC2086
  "$lra" table "docs/records/$1" --published ${printed:-cosformer2022 lra2020} --cost --format md
  [ ! -f "docs/records/$1/bars" ] || bars "$1"
  [ ! -f "docs/records/$1/paired" ] || paired "$1"
  printf '\n## Learning curves\n\nOf more than seven rows the seven best are drawn.\n'
  curves "$1"
}

# Each row's difference to a baseline, on the split that it was judged by and on the one that chose its checkpoint.
bars() {
  local line split
  printf '\n## Beside the bars\n\nDifferences to baselines on the same examples; each comparison is by itself, not corrected for the others.\n'
  for split in test validation; do
    printf '\nOn %s%s:\n\n```text\n' "$split" "$([ $split = test ] || echo ', by which a run chose its checkpoint and a baseline its settings')"
    while IFS= read -r line; do "$lra" compare "${line% - *}" "${line#* - }" --split "$split" --runs "docs/records/$1"; done <"docs/records/$1/bars"
    printf '```\n'
  done
}

# What is left of a difference between rows whose runs share a seed, and so the order of the data.
paired() {
  local line
  printf '\n## Paired by seed\n\nRuns of one seed read the same examples in the same order. Each comparison is by itself, not corrected for the others.\n\n```text\n'
  while IFS= read -r line; do "$lra" compare "${line% - *}" "${line#* - }" --paired --runs "docs/records/$1"; done <"docs/records/$1/paired"
  printf '```\n'
}

# Effects and curves of an ablation, as pages show them, without those of an earlier form of it.
draw_effects() {
  "$lra" ablate "docs/records/$1" --baselines "docs/records/$1/baselines" --figure "$work/$1" >/dev/null
  rm -f "docs/pictures/$1"-[0-9]*.svg "docs/pictures/$1"-curves-*.svg
  cp "$work/$1"-*.svg docs/pictures
}

# Curves of a table's suite, without those of an earlier form of it.
draw_curves() {
  local figure
  "$lra" report "docs/records/$1" --figures "$work/$1" --out "$work/$1.html" --quiet >/dev/null
  rm -f "docs/pictures/$1"-curves-*.svg
  for figure in "$work/$1"/curves-*.svg; do cp "$figure" "docs/pictures/$1-${figure##*/}"; done
}

# What is made of a suite's records in every format, by digest. All of it follows from the records and their folder's name as given, so any clone on
# any machine has the same bytes. The report lies elsewhere than the records, to which it then has no links.
suite_digests() { # SUITE
  local records=docs/records/$1 form
  local to=$work/made/$1
  mkdir -p "$to"
  for form in md csv tex json html; do "$lra" table "$records" --format "$form" >"$to/table.$form"; done
  if is_ablation "$records"; then
    for form in md csv json; do "$lra" ablate "$records" --baselines "$records/baselines" --format "$form" >"$to/ablate.$form"; done
  fi
  "$lra" report "$records" --out "$to/report.html" --quiet
  (cd "$work/made" && sha256sum "$1"/*)
}

# Two tasks with effects, and a table of twelve methods on four tasks.
digests() {
  suite_digests cosformer_table6_small
  suite_digests cosformer_table4_small
}

write_digests() {
  digests >"$made.new"
  mv "$made.new" "$made"
}

# Tables of docs/reweighting.md are copies of some pages: benchmarks/reweighting.sh.
write() {
  local suite
  mkdir -p docs/ablations
  for suite in $(suites ablations); do
    draw_effects "$suite"
    ablation_page "$suite" >"docs/ablations/$suite.md.new"
    mv "docs/ablations/$suite.md.new" "docs/ablations/$suite.md"
  done
  for suite in $(suites tables); do
    draw_curves "$suite"
    table_page "$suite" >"docs/tables/$suite.md.new"
    mv "docs/tables/$suite.md.new" "docs/tables/$suite.md"
  done
  write_digests
}

# Figures that no page shows.
unshown() {
  local figure
  cat docs/*.md docs/{ablations,tables}/*.md >"$work/pages.md"
  for figure in docs/pictures/*.svg; do grep -qF "pictures/${figure##*/})" "$work/pages.md" || echo "$figure is shown by no page"; done
}

check() {
  local suite
  for suite in $(suites ablations); do ablation_page "$suite" | diff - "docs/ablations/$suite.md"; done
  for suite in $(suites tables); do table_page "$suite" | diff - "docs/tables/$suite.md"; done
  digests | diff - "$made"
  unshown | diff - /dev/null
}

case "${1:-}" in
  keep) keep "${2:?the folder of a suite}" ;;
  resume) resume "${2:?the folder of a suite}" ;;
  baselines) baselines "${2:?the folder of a suite}" ;;
  write) write ;;
  digests) write_digests ;;
  check) check ;;
  *) sed -n '2,16p' "$0"; exit 2 ;;
esac
