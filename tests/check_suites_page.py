#!/usr/bin/env python3
"""Holds docs/suites.md against configs/suites: every suite is named there, and small twins train as many steps as it says.

usage: check_suites_page.py SOURCE
"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
page = (source / "docs" / "suites.md").read_text()
suites = {path.stem: path.read_text() for path in (source / "configs" / "suites").glob("*.textproto")}
TABLE = "| steps of the small twins |"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def steps_of(suite, task):
    """All that the suite's groups say of one task."""
    found = re.findall(r'for_task \{[^}]*?task: "(\w+)"[^}]*?train\.steps=(\d+)', suites[suite])
    return sorted({steps for name, steps in found if name == task})


failures = [f"{name} is not named" for name in sorted(suites) if f"`{name}`" not in page]
lines = page[page.index(TABLE):].split("\n\n")[0].splitlines()
tasks = cells(lines[0])[1:]
checked = 0
for line in lines[2:]:
    names, *steps = cells(line)
    for name in re.findall("`(.*?)`", names):
        if name not in suites:
            failures.append(f"there is no suite {name}")
            continue
        for task, said in zip(tasks, steps):
            checked += 1
            if steps_of(name, task) != ([said] if said else []):
                failures.append(f"{name} trains {steps_of(name, task)} steps on {task}, not {said or 'none'}")
if checked < 20:
    failures.append(f"only {checked} numbers of steps were found")
for failure in failures:
    print("docs/suites.md:", failure)
print(f"{len(suites)} suites, {checked} numbers of steps")
sys.exit(bool(failures))
