#!/usr/bin/env python3
"""Holds what is typed at the top of docs/results.md against the pages it links to, which are made from records.

Each score with an interval, "48.0 [45.6, 50.5]", must be on a page that its row or paragraph links to, rounded at most; and each page of
docs/tables and docs/ablations must be linked.

usage: check_results_claims.py SOURCE
"""
import pathlib
import re
import sys

docs = pathlib.Path(sys.argv[1]) / "docs"
NUMBER = r"[-+]?\d+(?:\.\d+)?"
UNIT = r"(?: (?:points|nats|bits|bits/byte|nats a symbol))?"
SCORE = re.compile(rf"({NUMBER}){UNIT} \[({NUMBER}), ({NUMBER})\]")
LINK = re.compile(r"\]\(([^)#]*)(?:#[^)]*)?\)")


def scores(text):
    return [match.groups() for match in SCORE.finditer(" ".join(text.split()))]


def rounds_to(exact, typed):
    """Whether each number of the page is the typed one to as many digits as that has."""
    decimals = [len(number.partition(".")[2]) for number in typed]
    return all(abs(float(e) - float(t)) <= 0.5 * 10**-d + 1e-9 for e, t, d in zip(exact, typed, decimals))


typed, _, made = (docs / "results.md").read_text().partition("<!-- results begin -->")
failures, checked, linked = [], 0, set()
for part in re.split(r"\n\n|\n(?=\|)", typed):
    names = set(LINK.findall(part))
    answer = part.split("|")[2] if part.startswith("| ") and part.count("|") > 3 else "0"
    if any(name.startswith(("tables/", "ablations/")) for name in names) and not re.search(r"\d", answer):
        failures.append(f"a row that links {', '.join(sorted(names))} answers without a number: {part[:60]}")
    linked |= names
    pages = [made if name == "" else (docs / name).read_text() for name in names if name == "" or (docs / name).is_file()]
    known = [score for page in pages for score in scores(page)]
    for score in scores(part):
        checked += 1
        if not any(rounds_to(exact, score) for exact in known):
            failures.append(f"{score[0]} [{score[1]}, {score[2]}] is on no page linked beside it: {', '.join(sorted(names)) or 'none is'}")
for page in sorted([*docs.glob("tables/*.md"), *docs.glob("ablations/*.md")]):
    if str(page.relative_to(docs)) not in linked:
        failures.append(f"{page.relative_to(docs)} is not linked")
if checked == 0:
    failures.append("no score with an interval was found")
for failure in failures:
    print(f"docs/results.md: {failure}")
print(f"{checked} scores were looked up, {len(failures)} problems")
sys.exit(1 if failures else 0)
