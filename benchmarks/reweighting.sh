#!/usr/bin/env bash
# Copies tables of docs/ablations, which are made from records (benchmarks/kept_suites.sh), into docs/reweighting.md. A block is named
# SUITE_PART: `cells` is the table of scores, `words` the sentences about effects, `effects` the main effects, `locality` how local the cells
# attend, `printed` what a paper prints, `power` what the logs of benchmarks/control_power.py say. A block of locality stays as it was typed
# while the kept records have no locality.json.
#
# usage: benchmarks/reweighting.sh write    copy them
#        benchmarks/reweighting.sh check    compare the page with docs/ablations
set -euo pipefail
unset CDPATH
cd "$(dirname "$0")/.."
page=docs/reweighting.md
source benchmarks/page_blocks.sh

# The first table of the page.
cells() { awk '/^\|/ { print; is_table = 1; next } is_table { exit }' "$1"; }

words() { sed -n 's/^The effect of /* &/p' "$1"; }

# Main effects of all designs; which one, where there are several.
effects() {
  awk -F ' *[|] *' '
    NR == FNR { designs += /^## .* on /; next }
    /^## / { design = substr($0, 4); sub(/ on .*/, "", design) }
    /^Main effects$/ { is_main = 1; next }
    is_main && /^\|/ {
      is_table = 1
      is_head = $2 == "effect"
      if ($0 ~ /^\|-/ || is_head && printed++) next
      row = "| " $2 " | " $3 " | " $4 " | " $6 " | " $9 " |"
      if (designs > 1) row = "| " (is_head ? "design" : design) " " row
      print row
      if (is_head) { gsub(/[^|]+/, "---", row); print row }
      next
    }
    is_table { is_main = is_table = 0 }
  ' "$1" "$1"
}

# What stands between a line of the page and the heading behind it; with the line, where that is no heading.
from_line() { # PAGE START
  awk -v start="$2" '
    is_inside && /^## / { exit }
    is_inside { lines = lines $0 "\n"; if ($0 != "") { printf "%s", lines; lines = "" } }
    index($0, start) == 1 { is_inside = 1; if ($0 !~ /^##/) print }
  ' "$1"
}

locality() { from_line "$1" '## Locality' | sed '1{/^$/d}; s/^### \(.*\)/\1:/'; }

printed() { from_line "$1" 'In print, not measured here: '; }

# What stands between the markers.
as_it_was() { sed -n "/^<!-- $1 begins -->\$/,/^<!-- $1 ends -->\$/p" "$page" | sed '1d;$d'; }

# Between blank lines, which tables and lists need.
block() {
  local what=${1##*_} source=docs/ablations/${1%_*}.md
  if [ "$what" = locality ] && ! grep -q '^## Locality$' "$source"; then
    as_it_was "$1"
    return
  fi
  printf '\n'
  case $what in
    cells | words | effects | locality | printed) "$what" "$source" ;;
    power) python3 benchmarks/control_power.py --say docs/records/control_power/*.log | sed 's/^/* /; s/$/./' ;;
    *) echo "$page: unknown block $1" >&2; exit 2 ;;
  esac
  printf '\n'
}

case "${1:-}" in
  write) write_page ;;
  check) check_page ;;
  *) sed -n '2,7p' "$0"; exit 2 ;;
esac
