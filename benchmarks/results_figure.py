#!/usr/bin/env python3
"""The picture of what has been found: each result of the first table of docs/results.md beside its bar. Needs gnuplot.

usage: benchmarks/results_figure.py SOURCE            draws SOURCE/docs/pictures/results.svg
       benchmarks/results_figure.py --check SOURCE    says whether that picture is of the table; exit code 1 if not

The numbers are the table's, which tests/check_results_claims.py holds against the pages that are made from records. The picture
keeps them in a comment, by which the check goes, since another gnuplot draws other bytes.
"""
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

NUMBER = r"(\d+(?:\.\d+)?)"
RESULT = re.compile(rf"\[{NUMBER} \[{NUMBER}, {NUMBER}\]\]\([^)]*\), ([^,|]+)")
BAR = re.compile(rf" over ([^,|]+?)(?:, {NUMBER})? \|")
ATTENTION = re.compile(r"^`.*`$")
ROW_PIXELS, FRAME_PIXELS, WIDTH_PIXELS = 46, 96, 900


def table_rows(page):
    """Task, score, interval, method, bar and its name, of each row that has a score."""
    rows, bars = [], {}
    for line in page.partition("## Suites on record")[0].splitlines():
        found = RESULT.search(line)
        if not line.startswith("| ") or not found:
            continue
        bar = BAR.search(line)
        if not bar or not (bar[2] or bar[1] in bars):
            sys.exit(f"docs/results.md: no bar as \"over NAME, NUMBER\", nor one of that name above: {line[:80]}")
        bars[bar[1]] = bar[2] or bars[bar[1]]
        task = line.split("|")[1].strip().replace(", an attention", "")
        rows.append((task, *found.groups()[:3], found[4].strip(), bars[bar[1]], bar[1]))
    return rows


def comment_of(rows):
    return "\n".join(["<!-- task; accuracy in percent; low; high; method; bar; its name", *("; ".join(row) for row in rows), "-->"])


def quoted(text):
    return '"' + text.replace('"', "") + '"'


def gnuplot_program(rows, path):
    lines = [f"set terminal svg size {WIDTH_PIXELS},{FRAME_PIXELS + ROW_PIXELS * len(rows)} dynamic noenhanced font 'sans,13' background 'white'",
             f"set output '{path}'", "$rows << END"]
    for place, (task, score, low, high, method, bar, name) in enumerate(rows):
        is_attention = bool(ATTENTION.match(method))
        lines.append(" ".join([str(place), score, low, high, bar, str(int(is_attention)), quoted(f"{score}  {method.strip('`').partition(' of ')[0]}"),
                               quoted(f"{name} {bar}")]))
    lines += ["END", f"set yrange [{len(rows) - 0.5}:-0.6]", "set xrange [0:112]", "set xtics 0,10,100", "set grid x lc rgb '#dddddd'",
              "set xlabel 'accuracy on test in percent, with 95 % interval for new seeds and examples'",
              "set border 1", "set tics nomirror", "set ytics scale 0 (" + ", ".join(f"{quoted(row[0])} {place}" for place, row in enumerate(rows)) + ")",
              "set key above horizontal maxrows 1 Left reverse", "set lmargin 27"]
    kinds = ((1, 7, "#0072b2", "an attention"), (0, 6, "#d55e00", "convolutions or a state space"))
    plots = ["$rows using 5:($1-0.25):(0):(0.5) with vectors nohead lw 3 lc rgb '#777777' title 'the bar, which needs no such model'"]
    plots += [f"$rows using ($6=={kind} ? $2 : NaN):1:3:4 with xerrorbars pt {point} ps 0.9 lw 2 lc rgb '{colour}' title '{title}'"
              for kind, point, colour, title in kinds]
    plots += ["$rows using ($4+1):1:7 with labels left font ',12' notitle",
              "$rows using ($5-1):1:8 with labels right font ',12' tc rgb '#666666' notitle"]
    return "\n".join([*lines, "plot " + ", \\\n  ".join(plots)]) + "\n"


def main():
    is_check = sys.argv[1:2] == ["--check"]
    arguments = sys.argv[1 + is_check:]
    if len(arguments) != 1:
        sys.exit(__doc__)
    docs = pathlib.Path(arguments[0]) / "docs"
    picture = docs / "pictures/results.svg"
    rows = table_rows((docs / "results.md").read_text())
    if not rows:
        sys.exit("docs/results.md: no row of its first table has a score")
    if is_check:
        text = picture.read_text()
        xml.etree.ElementTree.fromstring(text)
        if comment_of(rows) not in text:
            sys.exit("docs/pictures/results.svg is not of the first table of docs/results.md: benchmarks/results_figure.py draws it")
        print(f"{len(rows)} results are drawn as the table has them")
        return
    subprocess.run(["gnuplot", "-"], input=gnuplot_program(rows, picture), text=True, check=True)
    picture.write_text(picture.read_text().rstrip() + "\n" + comment_of(rows) + "\n")


if __name__ == "__main__":
    main()
