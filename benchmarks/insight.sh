#!/usr/bin/env bash
# Makes the tables and figures of docs/insight.md: of which examples the scores on record are made, and what models do with inputs that they
# were not trained on. What follows from records and from data that is generated in seconds is made anew each time; what takes trained models
# or imported data is kept in docs/records/insight, as the page has it (.md) and for programs (.json).
#
# usage: benchmarks/insight.sh measure RUNS   run the trained models below RUNS (suites strong_text_small, pretraining_image_small,
#                                             listops_curriculum_small, pathfinder_curriculum) on data in $LRA_DATA, and keep what they say
#        benchmarks/insight.sh from_records   the part of it that needs no trained model
#        benchmarks/insight.sh write          put everything into docs/insight.md, and draw its figures (needs gnuplot)
#        benchmarks/insight.sh check          compare the page with the records
set -euo pipefail
unset CDPATH
cd "$(dirname "$0")/.."
lra=${LRA:-build/release/lra}
page=docs/insight.md kept=docs/records/insight lengths=docs/records/listops_lengths
published=(lra2020 cosformer2022 nystromformer skyformer s4_line)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source benchmarks/page_blocks.sh

# ListOps of the benchmark, and of every length.
generate() {
  [ -d "$work/listops" ] || "$lra" data prepare listops --quiet --out "$work/listops"
  [ -d "$work/lengths" ] || "$lra" data prepare listops --quiet --out "$work/lengths" --set min_length_tokens=2 --set max_length_tokens=16000 \
    --set train_examples=2000 --set validation_examples=500 --set test_examples=4000
}

# Runs of one task, with the baselines beside them.
of_task() {
  local task=$1 folder
  shift
  for folder in "$@"; do
    printf '%s\n' docs/records/"$folder"/"$task"-* docs/records/"$folder"/baselines/"$task"-*
  done | while read -r folder; do [ ! -d "$folder" ] || echo "$folder"; done
}

# What is made anew each time; arguments go to `lra profile`.
listops_depth() {
  local runs
  mapfile -t runs < <(of_task listops cosformer_table4_small labels listops_curriculum_small listops_state_space_small listops_attention_small)
  LRA_DATA=$work "$lra" profile "${runs[@]}" --published "${published[@]}" "$@"
}
# The comparison whose expressions have no closing brackets, and a run that kept them.
listops_nystrom() {
  local runs
  mapfile -t runs < <(of_task listops nystrom_listops_mixed nystrom_listops_brackets)
  LRA_DATA=$work "$lra" profile "${runs[@]}" "$@"
}
listops_lengths() { "$lra" profile "$lengths" --data "$work/lengths" "$@"; }

keep() { # NAME: what `lra profile` says of the arguments, as text and for programs
  local name=$1
  shift
  mkdir -p "$kept"
  # What is kept stays where this fails, for want of data say.
  "$lra" profile "$@" --quiet --out "$work/$name.json" >"$work/$name.md"
  mv "$work/$name.json" "$work/$name.md" "$kept"
}

# A record without its predictions.
keep_record() { # EVALUATION TO
  mkdir -p "$2"
  cp "$1/record.textproto" "$1/accuracy.npy" "$2"
}

measure() {
  local runs=$1 run
  generate
  for run in "$runs"/listops_curriculum_small/listops-*-s?; do
    "$lra" eval "$run" --split test --data "$work/lengths" --other-data --max-length 16000 --out "$work/evaluation" --quiet
    keep_record "$work/evaluation" "$work/kept/$(basename "$run")"
    rm -r "$work/evaluation"
  done
  "$lra" baseline listops --all --data "$work/lengths" --set view.max_length_tokens=16000 --out "$work/bars" --quiet
  for run in "$work"/bars/*; do keep_record "$run" "$work/kept/baselines/$(basename "$run")"; done
  rm -rf "$lengths"
  mv "$work/kept" "$lengths"
  from_records
  keep text_order "$runs"/strong_text_small/text-*-s? --perturb --examples 2000
  keep image_patches "$runs"/pretraining_image_small/image-*-s? --perturb --examples 2000
}

# What needs imported or much data, but no trained model.
from_records() {
  # shellcheck disable=SC2046
  keep text_places $(of_task text strong_text_small strong_text_longer_small text_control_small text_control cosformer_table4_small) --published "${published[@]}"
  # shellcheck disable=SC2046
  keep pathfinder_reach $(of_task pathfinder32 pathfinder_curriculum)
}

# The block of a name.
block() {
  case $1 in
    listops_depth | listops_nystrom | listops_lengths) "$1" ;;
    *) cat "$kept/$1.md" ;;
  esac
}

draw() {
  local runs
  mapfile -t runs < <(of_task listops labels listops_curriculum_small listops_state_space_small listops_attention_small)
  LRA_DATA=$work "$lra" profile "${runs[@]}" --figure "$work/depth" >/dev/null
  cp "$work/depth-1.svg" docs/pictures/insight_listops_depth.svg # the first way to sort them: by depth
  "$lra" report docs/records/cosformer_table4_small --figures "$work/figures" --out "$work/report.html" --quiet
  cp "$work/figures/cost-1.svg" docs/pictures/insight_cost.svg # of ListOps
}

write() {
  generate
  write_page
  draw
}

check() {
  generate
  check_page
}

case "${1:-}" in
  measure) measure "${2:?a folder with the suites}" ;;
  from_records) from_records ;;
  write) write ;;
  check) check ;;
  *) sed -n '2,12p' "$0"; exit 2 ;;
esac
