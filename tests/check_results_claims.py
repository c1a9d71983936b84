#!/usr/bin/env python3
"""Holds what is typed at the top of docs/results.md, in README.md and in docs/reproduce.md against the pages they link to, which are
made from records.

Each score with an interval, "48.0 [45.6, 50.5]", must be on a page that its row, point or paragraph links to, rounded at most; so must each
decimal beside a link in README.md's points and in docs/reproduce.md. Each page of docs/tables and docs/ablations must be linked from docs/results.md.

usage: check_results_claims.py SOURCE
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
docs = root / "docs"
NUMBER = r"[-+]?\d+(?:\.\d+)?"
UNIT = r"(?: (?:points|nats|bits|bits/byte|nats a symbol))?"
SCORE = re.compile(rf"({NUMBER}){UNIT} \[({NUMBER}), ({NUMBER})\]")
DECIMAL = re.compile(r"(?<![\w.,-])\d+\.\d+")
LINK = re.compile(r"\]\(([^)#]*)(?:#[^)]*)?\)")


def scores(text):
    return [match.groups() for match in SCORE.finditer(" ".join(text.split()))]


def rounds_to(exact, typed):
    """Whether each number of the page is the typed one to as many digits as that has."""
    decimals = [len(number.partition(".")[2]) for number in typed]
    return all(abs(float(e) - float(t)) <= 0.5 * 10**-d + 1e-9 for e, t, d in zip(exact, typed, decimals))


def parts(text):
    return re.split(r"\n\n|\n(?=\||\* )", text)


def check(name, text, own=""):
    """Returns the problems of a page's text, how many scores it has, and its links; a link to the page itself is to `own`."""
    folder, problems, count, linked = (root / name).parent, [], 0, set()
    for part in parts(text):
        links = set(LINK.findall(part))
        answer = part.split("|")[2] if part.startswith("| ") and part.count("|") > 3 else "0"
        if any(link.startswith(("tables/", "ablations/")) for link in links) and not re.search(r"\d", answer):
            problems.append(f"{name}: a row that links {', '.join(sorted(links))} answers without a number: {part[:60]}")
        linked |= links
        pages = [own if link == "" else (folder / link).read_text() for link in links if link == "" or (folder / link).is_file()]
        known = [score for page in pages for score in scores(page)]
        for score in scores(part):
            count += 1
            if not any(rounds_to(exact, score) for exact in known):
                beside = ", ".join(sorted(links)) or "none is"
                problems.append(f"{name}: {score[0]} [{score[1]}, {score[2]}] is on no page linked beside it: {beside}")
    return problems, count, linked


def check_decimals(name, text):
    """The problems of single decimals in points with links: those that none of the pages has, rounded at most, whatever they are of."""
    folder, problems = (root / name).parent, []
    for part in parts(text):
        links = [link for link in LINK.findall(part) if (folder / link).is_file() and link.endswith(".md")]
        exact = [float(number) for link in links for number in DECIMAL.findall((folder / link).read_text())]
        for number in DECIMAL.findall(re.sub(r"\]\([^)]*\)", "]", part)) if links else []:
            half = 0.5 * 10**-len(number.partition(".")[2]) + 1e-9
            if not any(abs(float(number) - other) <= half for other in exact):
                problems.append(f"{name}: {number} is on no page linked beside it: {', '.join(links)}")
    return problems


typed, _, made = (docs / "results.md").read_text().partition("<!-- results begin -->")
failures, checked, linked = check("docs/results.md", typed, made)
summary = (root / "README.md").read_text().partition("**On record so far**")[2].partition("**Not on record**")[0]
problems, count, _ = check("README.md", summary)
failures += problems + check_decimals("README.md", summary)
if count == 0:
    failures.append("README.md: no score with an interval was found under \"On record so far\"")
checked += count
advice = (docs / "reproduce.md").read_text()
problems, count, _ = check("docs/reproduce.md", advice)
failures += problems + check_decimals("docs/reproduce.md", advice)
checked += count
for page in sorted([*docs.glob("tables/*.md"), *docs.glob("ablations/*.md")]):
    if str(page.relative_to(docs)) not in linked:
        failures.append(f"docs/results.md: {page.relative_to(docs)} is not linked")
if checked == 0:
    failures.append("no score with an interval was found")
for failure in failures:
    print(failure)
print(f"{checked} scores were looked up, {len(failures)} problems")
sys.exit(1 if failures else 0)
