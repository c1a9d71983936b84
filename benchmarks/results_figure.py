#!/usr/bin/env python3
"""The picture of what has been found: each result of the first table of docs/results.md beside its bar. Needs gnuplot.

usage: benchmarks/results_figure.py SOURCE            draws SOURCE/docs/pictures/results.svg
       benchmarks/results_figure.py --check SOURCE    says whether that picture is of the table; exit code 1 if not

The numbers are the table's, which tests/check_results_claims.py holds against the pages that are made from records. The picture
keeps them in a comment, by which the check goes, beside the labels that are drawn, since another gnuplot draws other bytes. A
result of which the table says "not told apart from BAR" is drawn open; a task's higher bars are pale; below an attention stands
what the table says of the same model without it.
"""
import collections
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

NUMBER = r"(\d+(?:\.\d+)?)"
RESULT = re.compile(rf"\[{NUMBER} \[{NUMBER}, {NUMBER}\]\]\([^)]*\), ([^,|]+)")
CONTROL = re.compile(rf"the same model without attention(?:,| has)? {NUMBER} \[{NUMBER}, {NUMBER}\]")
BAR = re.compile(rf" over ([^,|]+?)(?:, {NUMBER})? \|")
ROW_PIXELS, FRAME_PIXELS, WIDTH_PIXELS = 46, 120, 900

# In percent, as the table has them; `is_above` is false where it says that the result is not told apart from its bar.
Row = collections.namedtuple("Row", "task score low high method bar bar_name is_above control control_low control_high")


def table_rows(page):
    rows, bars = [], {}
    for line in page.partition("## Suites on record")[0].splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if not line.startswith("| ") or len(cells) < 6 or not re.search(r"\d", cells[2]):
            continue  # text, a heading, or a task that nobody has trained
        found, bar, control = RESULT.search(line), BAR.search(line), CONTROL.search(line)
        task = cells[1].partition(",")[0]
        if not found or not bar or not (bar[2] or (task, bar[1]) in bars):
            sys.exit(f"docs/results.md: a row without \"[SCORE [LOW, HIGH]](PAGE), METHOD\", or without a bar, as \"over NAME, NUMBER\" "
                     f"or, where a row of the task above has the number, \"over NAME\": {line[:90]}")
        value = bars.setdefault((task, bar[1]), bar[2])
        rows.append(Row(cells[1].replace(", an attention", ""), *found.groups()[:3], found[4].strip(), value, bar[1],
                        str(f"not told apart from {bar[1]}" not in line), *(control.groups() if control else ("", "", ""))))
    return rows


def comment_of(rows):
    return "\n".join(["<!-- " + "; ".join(Row._fields), *("; ".join(row) for row in rows), "-->"])


def label_of(row):
    return f"{row.score}  {row.method.strip('`').partition(' of ')[0]}"


def bar_label_of(row):
    return f"{row.bar_name} {row.bar}"


def is_attention(row):
    return row.method.startswith("`")


def quoted(text):
    return '"' + text.replace('"', "") + '"'


def higher_bars(rows):
    """Places and values of higher bars of the same task, which are other rows' own."""
    def task_of(row):
        return row.task.partition(",")[0]

    return {(place, other.bar) for place, row in enumerate(rows) for other in rows
            if task_of(other) == task_of(row) and float(other.bar) > float(row.bar)}


def blocks(rows):
    """The data: results of each kind, bars, other bars, and labels."""
    others = higher_bars(rows)
    kinds = {"attention": lambda row: is_attention(row), "other": lambda row: not is_attention(row) and row.is_above == "True",
             "unsure": lambda row: not is_attention(row) and row.is_above != "True"}
    data = {name: [f"{row.score} {place} {row.low} {row.high}" for place, row in enumerate(rows) if of(row)] for name, of in kinds.items()}
    data["control"] = [f"{row.control} {place + 0.24} {row.control_low} {row.control_high}" for place, row in enumerate(rows) if row.control]
    data["bars"] = [f"{row.bar} {place}" for place, row in enumerate(rows)]
    data["others"] = [f"{bar} {place}" for place, bar in sorted(others)]
    ends = [max([float(row.high), *(float(bar) for at, bar in others if at == place and float(bar) < float(row.high) + 8)])
            for place, row in enumerate(rows)]
    data["labels"] = [f"{end} {place} {quoted(label_of(row))}" for place, (row, end) in enumerate(zip(rows, ends))]
    data["names"] = [f"{row.bar} {place} {quoted(bar_label_of(row))}" for place, row in enumerate(rows)]
    return data


def gnuplot_program(rows, path):
    data = blocks(rows)
    lines = [f"set terminal svg size {WIDTH_PIXELS},{FRAME_PIXELS + ROW_PIXELS * len(rows)} dynamic noenhanced font 'sans,13' background 'white'",
             f"set output '{path}'", *(line for name, block in data.items() for line in (f"${name} << END", *block, "END")),
             f"set yrange [{len(rows) - 0.5}:-0.6]", "set xrange [0:118]", "set xtics 0,10,100", "set grid x lc rgb '#dddddd'",
             "set xlabel 'accuracy on test in percent, with 95 % interval for new seeds and examples'", "set border 1",
             "set tics nomirror", "set ytics scale 0 (" + ", ".join(f"{quoted(row.task)} {place}" for place, row in enumerate(rows)) + ")",
             "set key above horizontal maxrows 3 Left reverse", "set lmargin 27"]
    styles = (("attention", 7, "#0072b2", "an attention"), ("control", 4, "#56a0d0", "its model without attention"),
              ("other", 7, "#d55e00", "convolutions or a state space"),
              ("unsure", 6, "#d55e00", "the same, not told apart from its bar"))
    plots = ["$bars using 1:($2-0.25):(0):(0.5) with vectors nohead lw 3 lc rgb '#777777' title 'its bar, which needs no such model'",
             "$others using 1:($2-0.25):(0):(0.5) with vectors nohead lw 3 lc rgb '#c0c0c0' title 'a higher bar of the task'"]
    plots += [f"${name} using 1:2:3:4 with xerrorbars pt {point} ps 0.9 lw 2 lc rgb '{colour}' title '{title}'"
              for name, point, colour, title in styles]
    plots += ["$labels using ($1+1):2:3 with labels left font ',12' notitle",
              "$names using ($1-1):2:3 with labels right font ',12' tc rgb '#666666' notitle"]
    filled = [plot for plot in plots if data[plot.split()[0].strip("$")]]
    return "\n".join([*lines, "plot " + ", \\\n  ".join(filled)]) + "\n"


def problem_of(text, rows):
    """Why the picture is not of the rows; empty if it is."""
    shown = [" ".join("".join(element.itertext()).split()) for element in xml.etree.ElementTree.fromstring(text).iter()
             if element.tag.endswith("}text")]
    missing = [label for row in rows for label in (row.task, label_of(row), bar_label_of(row)) if " ".join(label.split()) not in shown]
    if missing:
        return f"it does not show \"{missing[0]}\""
    return "" if comment_of(rows) in text else "its numbers are others"


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
        if problem := problem_of(picture.read_text(), rows):
            sys.exit(f"docs/pictures/results.svg is not of the first table of docs/results.md: {problem}; benchmarks/results_figure.py draws it")
        print(f"{len(rows)} results are drawn as the table has them")
        return
    subprocess.run(["gnuplot", "-"], input=gnuplot_program(rows, picture), text=True, check=True)
    picture.write_text(picture.read_text().rstrip() + "\n" + comment_of(rows) + "\n")


if __name__ == "__main__":
    main()
