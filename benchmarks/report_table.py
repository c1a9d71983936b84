#!/usr/bin/env python3
"""The table of docs/report.md from what the browser's test wrote, on standard output.

usage: benchmarks/report_table.py docs/records/report/browser.json
"""
import json
import sys


def violations(found):
    """How many of each impact, and where."""
    some = [f"{where}: " + ", ".join(f"{count} {impact}" for impact, count in counts.items() if count)
            for where, counts in found.items() if any(counts.values())]
    return "; ".join(some) or "no violation of any impact"


def main(path):
    with open(path) as file:
        found = json.load(file)
    if not found["axe"]:
        sys.exit(f"{path}: was measured without axe-core; pip install axe-playwright-python, then benchmarks/report.sh measure")
    loads = ", ".join(str(time) for time in found["load_milliseconds"])
    rows = [
        ("what", "figure"),
        ("---", "---"),
        (f"page of {found['records']:,} records ({found['methods']} methods, 5 tasks, {found['seeds']} seeds; 200 points a curve)",
         f"{found['page_bytes'] / 1e6:.1f} MB, made in {found['processor_seconds']:.1f} s of processor time"),
        ("loaded, after one load to warm up", f"{loads} ms; the test fails above {found['load_limit_milliseconds']:,}"),
        (f"axe-core {found['axe']}, all its rules: {', '.join(found['violations'])}", violations(found["violations"])),
        ("where and when", f"{found['browser']}, {found['cores']} cores of {found['processor']}, {found['date']}"),
    ]
    for row in rows:
        print("|" + "|".join(row) + "|" if row[0] == "---" else "| " + " | ".join(row) + " |")


main(sys.argv[1])
