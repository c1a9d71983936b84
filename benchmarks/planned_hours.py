#!/usr/bin/env python3
"""What a kept suite was predicted to take, beside what it took by the clock.

usage: benchmarks/planned_hours.py docs/records/SUITE [--stretch FROM TO]...
  --stretch FROM TO   minutes after the first run ended, between which nothing else ran on the machine

A record has the time at which it was finished, and docs/records/SUITE/plan what each cell was predicted to take before
the suite began (`lra status` says the same of a suite's own folder, in CPU time). Of a stretch, the runs that ended in it
are compared with its length; pauses between them that are longer than 20 minutes count as nobody working. Of stretches
together, a last line says how many of the suite's cells they have a run of: the seeds of a cell cost the same.
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
    """(finished, predicted wall seconds, was resumed, cell) of each run, by the time at which it ended."""
    runs, workers = [], set()
    for path in sorted(folder.glob("*-s*/record.textproto")):
        cell = path.parent.name.rsplit("-s", 1)[0]
        plan, record = (folder / "plan" / f"{cell}.textproto").read_text(), path.read_text()
        workers.add(number(plan, "workers"))
        runs.append((number(record, "finished_unix_seconds"), number(plan, "wall_seconds"), number(record, "resumes") > 0,
                     cell))
    if len(workers) != 1:
        sys.exit(f"{folder}: no runs, or plans for different numbers of workers: {sorted(workers)}")
    return sorted(runs), int(workers.pop())


def elapsed(runs):
    """The time between the first end and the last, without long pauses."""
    gaps = [later[0] - earlier[0] for earlier, later in zip(runs, runs[1:])]
    return sum(gap for gap in gaps if gap <= LONGEST_GAP_SECONDS)


def compare(runs, workers):
    """What runs were predicted to take and took; the first ones, one of each worker, began before the first one ended."""
    return sum(run[1] for run in runs[workers:]) / workers, elapsed(runs)


def say(name, predicted, took):
    print(f"{name} predicted {predicted / 60:.0f} min, took {took / 60:.0f} min ({took / predicted - 1:+.0%})")


def say_stretches(stretches, cells, workers):
    inside = [run for stretch in stretches for run in stretch[workers:]]
    predicted, took = (sum(parts) for parts in zip(*(compare(stretch, workers) for stretch in stretches)))
    say(f"stretches together: these {len(inside)} runs are of {len({run[3] for run in inside})} of {cells} cells;", predicted, took)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--stretch", nargs=2, type=float, action="append", default=[], metavar=("FROM", "TO"))
    arguments = parser.parse_args()
    runs, workers = read_runs(arguments.folder)
    print(f"planned: {sum(run[1] for run in runs) / workers / 3600:.2f} h on {workers} workers")
    say(f"all: {len(runs)} runs; after the first {workers},", *compare(runs, workers))
    stretches = []
    for first, last in arguments.stretch:
        stretches.append([run for run in runs if first <= (run[0] - runs[0][0]) / 60 <= last and not run[2]])
        if len(stretches[-1]) <= workers:
            sys.exit(f"minutes {first:.0f} to {last:.0f}: {len(stretches[-1])} runs, and {workers} of a stretch do not count")
        say(f"minutes {first:.0f} to {last:.0f}: {len(stretches[-1])} runs; after the first {workers},",
            *compare(stretches[-1], workers))
    ends = sorted(arguments.stretch)
    if any(later[0] < earlier[1] for earlier, later in zip(ends, ends[1:])):
        sys.exit("stretches overlap")
    if len(stretches) > 1:
        say_stretches(stretches, len({run[3] for run in runs}), workers)


if __name__ == "__main__":
    main()
