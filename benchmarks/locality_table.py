#!/usr/bin/env python3
"""How local the cells of a kept ablation attend, as Markdown: a table for each design and task.

usage: benchmarks/locality_table.py LOCALITY EFFECTS

LOCALITY is what `lra ablate RUNS --locality --json` said while the runs had their checkpoints, its designs called localities, EFFECTS what `lra ablate` says
of their records, as JSON: without the same cells and scores in both, LOCALITY is of other runs, which is an error.
"""
import json
import math
import sys


def number(value):
    return "-" if value is None else f"{value:.3g}"


def measures(locality, windows):
    """The cells of a row; locality may be missing, and its rank."""
    if locality is None:
        return ["-"] * (len(windows) + 2)
    return [number(value) for value in (locality["mean_distance_tokens"], *locality["mass_within"], locality.get("effective_rank"))]


def markdown(rows):
    """Padded, the first column to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["| " + " | ".join(cell.rjust(width) if n and cell[0] in "-0123456789" else cell.ljust(width)
                               for n, (cell, width) in enumerate(zip(row, widths))) + " |\n" for row in rows]
    return "".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|\n", *lines[1:]])


def task_table(design, task):
    measured = task["locality"]
    factors = [factor["name"] for factor in design["factors"]]
    windows = measured["windows"]
    rows = [[*factors, "mean distance", *(f"within {window}" for window in windows), "effective rank"]]
    for cell in task["cells"]:
        rows.append([*(cell["levels"][factor] for factor in factors), *measures(cell.get("locality"), windows)])
    rows.append(["equal weights", *["-"] * (len(factors) - 1), *measures(measured.get("equal_weights"), windows)])
    return (f"Locality on {task['task']}: the first {measured['examples']} examples of {measured['split']}, means over seeds\n\n"
            + markdown(rows))


def scores(report):
    return {(design["title"], task["task"], tuple(cell["levels"].values())): cell.get("mean")
            for design in report["designs"] for task in design["tasks"] for cell in task["cells"]}


def are_equal(a, b):
    return a is None and b is None or a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    measured, recorded = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
    measured["designs"] = measured.pop("localities")
    theirs, ours = scores(measured), scores(recorded)
    for cell in sorted({*theirs, *ours}):
        if cell not in theirs or cell not in ours or not are_equal(theirs[cell], ours[cell]):
            sys.exit(f"{sys.argv[1]}: {', '.join((*cell[:2], *cell[2]))} scores {theirs.get(cell)}, on record is {ours.get(cell)}: "
                     "these are other runs; keep the suite again while its checkpoints are there")
    tables = []
    for design in measured["designs"]:
        title = f"### {design['title']}\n\n" if design["title"] else ""
        tables += [title * (n == 0) + task_table(design, task) for n, task in enumerate(design["tasks"])]
    print("\n".join(tables), end="")


if __name__ == "__main__":
    main()
