#!/usr/bin/env bash
# Measures the papers' items of time and memory at a size for two cores, and makes their page, docs/efficiency.md. Cells are kept in
# docs/records/efficiency, a line each; what is there is not measured again.
#
# usage: benchmarks/efficiency.sh measure [GRID...]   (about 20 minutes on two cores on which nothing else runs)
#        benchmarks/efficiency.sh write    put the tables into the page, and draw its figures (needs gnuplot)
#        benchmarks/efficiency.sh check    compare the page with the records
set -euo pipefail
unset CDPATH
cd "$(dirname "$0")/.."
lra=${LRA:-build/release/lra}
page=docs/efficiency.md kept=docs/records/efficiency scores=docs/records/cosformer_table4_small
grids=(streaming linear_transformers_table1 linear_transformers_table2 causal cottention_figure2 cottention_figure5_width cottention_figure5_length_small linear_transformers_figure1_small
  cosformer_table5_small lra2020_table2_small)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source benchmarks/page_blocks.sh

measure() {
  local grid
  mkdir -p "$kept"
  for grid in "$@"; do
    "$lra" bench efficiency --grid "$grid" --records "$kept/$grid.jsonl" >/dev/null
    # Beside the tiles, what they took the place of.
    [ "$grid" != causal ] || "$lra" bench efficiency --grid "$grid" --kernels generic --records "$kept/$grid.jsonl" >/dev/null
  done
}

# Tables of a grid. Figure 1 has the speeds of Table 5 beside the accuracies of Table 4.
tables() { # GRID further flags
  local grid=$1 beside=()
  shift
  [ "$grid" != cosformer_table5_small ] || beside=(--scores "$scores")
  "$lra" bench efficiency --grid "$grid" --table "$kept/$grid.jsonl" "${beside[@]}" "$@"
}

block() {
  local figure
  tables "$1" | sed 's/^# /## /'
  for figure in docs/pictures/efficiency-"$1"-*.svg; do
    [ ! -e "$figure" ] || printf '\n![%s](pictures/%s)\n' "$1" "${figure##*/}"
  done
}

draw() {
  local grid
  for grid in "${grids[@]}"; do tables "$grid" --figure "$work/efficiency-$grid" >/dev/null; done
  rm -f docs/pictures/efficiency-*.svg # with those of earlier grids
  cp "$work"/*.svg docs/pictures
}

case "${1:-}" in
  measure)
    shift
    [ $# -gt 0 ] || set -- "${grids[@]}"
    measure "$@"
    ;;
  write)
    draw
    write_page
    ;;
  check) check_page ;;
  *) sed -n '2,8p' "$0"; exit 2 ;;
esac
