#!/usr/bin/env python3
"""What a kept suite was predicted to take, beside what it took by the clock.

usage: benchmarks/planned_hours.py docs/records/SUITE [--stretch FROM TO]...
  --stretch FROM TO   minutes after the first run ended, between which nothing else ran on the machine

A record has the time at which it was finished, and docs/records/SUITE/plan what each cell was predicted to take before
the suite began (`lra status` says the same of a suite's own folder, in CPU time). Of a stretch, the runs that ended in it
are compared with its length; pauses between them that are longer than 20 minutes count as nobody working.
"""
import argparse
import pathlib
import re
import sys

LONGEST_GAP_SECONDS = 20 * 60


def number(text, name):
    found = re.search(rf"^ *{name}: ([0-9.e+-]+)$", text, re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def read_runs(folder):
    """(finished, predicted wall seconds, was resumed) of each run, by the time at which it ended."""
    runs, workers = [], set()
    for path in sorted(folder.glob("*-s*/record.textproto")):
        cell = path.parent.name.rsplit("-s", 1)[0]
        plan, record = (folder / "plan" / f"{cell}.textproto").read_text(), path.read_text()
        workers.add(number(plan, "workers"))
        runs.append((number(record, "finished_unix_seconds"), number(plan, "wall_seconds"), number(record, "resumes") > 0))
    if len(workers) != 1:
        sys.exit(f"{folder}: no runs, or plans for different numbers of workers: {sorted(workers)}")
    return sorted(runs), int(workers.pop())


def elapsed(runs):
    """The time between the first end and the last, without long pauses."""
    gaps = [later[0] - earlier[0] for earlier, later in zip(runs, runs[1:])]
    return sum(gap for gap in gaps if gap <= LONGEST_GAP_SECONDS)


def say(name, runs, workers):
    # The first runs, one of each worker, began before the first one ended.
    predicted, took = sum(run[1] for run in runs[workers:]) / workers, elapsed(runs)
    print(f"{name}: {len(runs)} runs; after the first {workers}, predicted {predicted / 60:.0f} min, took {took / 60:.0f} min "
          f"({took / predicted - 1:+.0%})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--stretch", nargs=2, type=float, action="append", default=[], metavar=("FROM", "TO"))
    arguments = parser.parse_args()
    runs, workers = read_runs(arguments.folder)
    print(f"planned: {sum(run[1] for run in runs) / workers / 3600:.2f} h on {workers} workers")
    say("all", runs, workers)
    for first, last in arguments.stretch:
        inside = [run for run in runs if first <= (run[0] - runs[0][0]) / 60 <= last and not run[2]]
        say(f"minutes {first:.0f} to {last:.0f}", inside, workers)


if __name__ == "__main__":
    main()
