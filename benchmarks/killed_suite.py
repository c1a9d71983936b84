#!/usr/bin/env python3
"""Whether a suite that is killed again and again ends in the same records as one that is left alone.

usage: benchmarks/killed_suite.py LRA SUITE --out DIR [--kills 10] [--pause 5,60] [--seed 0]

`lra run SUITE` into DIR/killed gets `kill -9` at random moments, between the two seconds of --pause after it was begun,
and is begun again at once. Then the suite runs once more, into DIR/whole, and is left alone. Compared are every run's
checkpoints, predictions and results (as in benchmarks/equal_results.py), and what `lra table` and `lra ablate` print but
for the cost. Begun again, this program goes on where it was; DIR/kills counts. Exit code 1: something differs,
which is named, or the suite ended before its last kill.
"""
import argparse
import csv
import io
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

from equal_results import differences

TABLES = ["md", "csv", "tex", "json"]
EFFECTS = ["md", "csv", "json"]


def suite_command(args, name):
    return [args.program, "run", args.suite, "--quiet", "--out", args.out / name]


def train_killed(args):
    """Returns how often the suite was killed; the rest of it is trained undisturbed."""
    count_file = args.out / "kills"
    count = int(count_file.read_text()) if count_file.exists() else 0
    draw = random.Random(args.seed)
    waits = [draw.uniform(*args.pause) for _ in range(args.kills)]
    for wait in waits[count:]:
        process = subprocess.Popen([str(part) for part in suite_command(args, "killed")], stdout=subprocess.DEVNULL)
        try:
            process.wait(timeout=wait)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            count += 1
            count_file.write_text(str(count))
            print(f"kill {count} of {args.kills} after {wait:.1f} s, "
                  f"{len(runs(args.out / 'killed'))} runs finished", flush=True)
    train_whole(args, "killed")
    return count


def train_whole(args, name):
    """A suite with runs that diverged ends with exit code 1 and a record of each: what counts is that all are there."""
    start = time.monotonic()
    subprocess.run([str(part) for part in suite_command(args, name)], stdout=subprocess.DEVNULL)
    print(f"{name}: {len(runs(args.out / name))} runs finished, {time.monotonic() - start:.0f} s since it was last begun",
          flush=True)


def runs(folder):
    return sorted(path.parent.name for path in folder.glob("*/record.json"))


def without_cost(page, form):
    """A page without what the runs took, which no two runs have in common."""
    if form == "json":
        return re.sub(r'"(core_hours|joules)": [0-9.e+-]+', r'"\1": ', page)
    if form == "csv":
        rows = list(csv.reader(io.StringIO(page)))
        kept = [i for i, name in enumerate(rows[0]) if name not in ("core_hours", "joules")]
        return [[row[i] for i in kept] for row in rows]
    return page


def page_differences(args, command, form):
    """Whether a page made of each folder by `lra command` reads the same, but for the folder's name and the cost."""
    pages = []
    for name in ("whole", "killed"):
        done = subprocess.run([str(args.program), command, name, "--format", form], capture_output=True, text=True,
                              cwd=args.out)
        pages.append((done.returncode, without_cost(done.stdout.replace(name, "whole"), form) if done.stdout else ""))
    return [] if pages[0] == pages[1] and pages[0][1] else [f"lra {command} --format {form}"]


def compare(args):
    names = runs(args.out / "whole")
    if not names or names != runs(args.out / "killed"):
        return [f"runs: {names} and {runs(args.out / 'killed')}"]
    found = []
    for name in names:
        found += [f"{name}: {text}" for text in differences(args.out / "whole" / name, args.out / "killed" / name)]
    for form in TABLES:
        found += page_differences(args, "table", form)
    for form in EFFECTS:
        found += page_differences(args, "ablate", form)
    print(f"{len(names)} runs and {len(TABLES) + len(EFFECTS)} pages compared")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("suite")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--pause", type=lambda text: tuple(float(part) for part in text.split(",")), default=(5, 60))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["killed", "whole", "compare"])
    args = parser.parse_args()
    args.program = args.program.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.only in (None, "killed"):
        count = train_killed(args)
        if count < args.kills:
            print(f"the suite ended after {count} kills of {args.kills}: a shorter --pause would catch it")
            return 1
    if args.only in (None, "whole"):
        train_whole(args, "whole")
    if args.only not in (None, "compare"):
        return 0
    found = compare(args)
    print("\n".join(found) if found else "equal, bit for bit")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
