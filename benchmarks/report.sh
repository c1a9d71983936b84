#!/usr/bin/env bash
# Opens pages of `lra report` in a browser, and keeps what docs/report.md says and shows of them: figures in docs/records/report, pictures
# in docs/pictures.
#
# usage: benchmarks/report.sh measure    run the browser's test, keep its figures and pictures (needs Chromium; Pillow for small pictures;
#                                        the package axe-playwright-python for axe-core's rules)
#        benchmarks/report.sh write      put the table into the page
#        benchmarks/report.sh check      compare the page with the figures
set -euo pipefail
unset CDPATH
cd "$(dirname "$0")/.."
lra=${LRA:-build/release/lra}
page=docs/report.md kept=docs/records/report/browser.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source benchmarks/page_blocks.sh

block() { python3 benchmarks/report_table.py "$kept"; }

measure() {
  mkdir -p "$(dirname "$kept")"
  LRA_RESULTS=$work/browser.json LRA_SCREENSHOTS=$work python3 tests/report_browser_test.py "$lra"
  cp "$work/browser.json" "$kept"
  cp "$work"/report*.png docs/pictures
}

case "${1:-}" in
  measure) measure ;;
  write) write_page ;;
  check) check_page ;;
  *) sed -n '2,9p' "$0"; exit 2 ;;
esac
