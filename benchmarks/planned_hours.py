#!/usr/bin/env python3
"""What a kept suite was predicted to take, beside what it took by the clock.

usage: benchmarks/planned_hours.py docs/records/SUITE [--stretch FROM TO]... [--again FILE.log]
  --stretch FROM TO   minutes after the first run ended, between which nothing else ran on the machine
  --again FILE.log    runs of other days with nothing beside them (benchmarks/trained_again.py --out FILE.log), each with its own day's plan

A record has the time at which it was finished, and docs/records/SUITE/plan what each cell was predicted to take before
the suite began (`lra status` says the same of a suite's own folder, in CPU time). Of a stretch, the runs that ended in it
are compared with its length; pauses between them that are longer than 20 minutes count as nobody working. Of stretches
together, a last line says how many of the suite's cells they have a run of: the seeds of a cell cost the same.
"""
import argparse
import json
import pathlib
import re
import sys

LONGEST_GAP_SECONDS = 20 * 60


def number(text, name):
    found = re.search(rf"^ *{name}: ([0-9.e+-]+)$", text, re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def read_runs(folder):
    """(finished, predicted wall seconds, was resumed, cell, name) of each run, by the time at which it ended."""
    runs, workers = [], set()
    for path in sorted(folder.glob("*-s*/record.textproto")):
        cell = path.parent.name.rsplit("-s", 1)[0]
        plan, record = (folder / "plan" / f"{cell}.textproto").read_text(), path.read_text()
        workers.add(number(plan, "workers"))
        runs.append((number(record, "finished_unix_seconds"), number(plan, "wall_seconds"), number(record, "resumes") > 0,
                     cell, path.parent.name))
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


def read_days(file):
    """The runs of each day on which a part was trained again, as read_runs() gives them with what each took, by day."""
    days = []
    for line in sorted(map(json.loads, file.read_text().splitlines()), key=lambda line: line["again"]["finished_unix_seconds"]):
        end = line["again"]["finished_unix_seconds"]
        if not days or end - line["took_seconds"] - days[-1][-1][0] > LONGEST_GAP_SECONDS:
            days.append([])
        days[-1].append((end, line["planned_seconds"], False, line["run"].rsplit("-s", 1)[0], line["run"], line["took_seconds"]))
    return days


def compare_day(runs, workers):
    return sum(run[1] for run in runs) / workers, runs[-1][0] - min(run[0] - run[5] for run in runs)


def say_together(parts, runs, compared):
    """Whose runs were compared, of all the suite's."""
    inside = [run for part in parts for run in part]
    predicted, took = (sum(times) for times in zip(*compared))
    cells, names = ({run[i] for run in inside} for i in (3, 4))
    say(f"together: {len(names)} of {len(runs)} runs, {len(cells)} of {len({run[3] for run in runs})} cells"
        + (f", {len(inside) - len(names)} runs twice" if len(inside) > len(names) else "") + ";", predicted, took)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--stretch", nargs=2, type=float, action="append", default=[], metavar=("FROM", "TO"))
    parser.add_argument("--again", type=pathlib.Path)
    arguments = parser.parse_args()
    runs, workers = read_runs(arguments.folder)
    print(f"planned: {sum(run[1] for run in runs) / workers / 3600:.2f} h on {workers} workers")
    say(f"all: {len(runs)} runs; after the first {workers},", *compare(runs, workers))
    parts, compared = [], []
    for first, last in arguments.stretch:
        inside = [run for run in runs if first <= (run[0] - runs[0][0]) / 60 <= last and not run[2]]
        if len(inside) <= workers:
            sys.exit(f"minutes {first:.0f} to {last:.0f}: {len(inside)} runs, and {workers} of a stretch do not count")
        parts.append(inside[workers:])
        compared.append(compare(inside, workers))
        say(f"minutes {first:.0f} to {last:.0f}: {len(inside)} runs; after the first {workers},", *compared[-1])
    for day in read_days(arguments.again) if arguments.again else []:
        parts.append(day)
        compared.append(compare_day(day, workers))
        say(f"again: {len(day)} runs;", *compared[-1])
    ends = sorted(arguments.stretch)
    if any(later[0] < earlier[1] for earlier, later in zip(ends, ends[1:])):
        sys.exit("stretches overlap")
    if len(parts) > 1:
        say_together(parts, runs, compared)


if __name__ == "__main__":
    main()
