#!/usr/bin/env python3
"""Times every attention of two builds, forward and backward, and prints both with their ratio.

    benchmarks/attention_pair.py OLD NEW [--methods linear,bigbird] [--rounds 3] [--max-tokens 2048]

OLD and NEW are built `lra` programs. Rounds alternate between the builds, on one thread, and the least
time of each cell counts, which is the one that the rest of the machine disturbed least. A cell whose ratio is above
--limit is measured anew with three times the rounds before it is printed; it is marked if it stays there, and so is
one that OLD measures and NEW does not. The exit code is then 1.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

CONFIGS = pathlib.Path(__file__).resolve().parents[1] / "configs" / "attentions"


def times(program, method, arguments):
    """Returns {(label, N): milliseconds} of the growth of one method."""
    command = [program, "bench", "attention", "--skip-speed", "--only", method, "--threads", "1", "--max-tokens",
               str(arguments.max_tokens), "--repetitions", "5", "--quiet", "--json"]
    records = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["growth"]
    cells = {}
    for record in records:
        request, seconds = record["request"], record["result"].get("passes", {}).get("seconds")
        if seconds:
            label = request["attention"] + (", causal" if request.get("causal") else "")
            cells[label, request["tokens"]] = 1e3 * statistics.median(seconds)
    return cells


def least(programs, method, arguments, rounds):
    """Returns one {cell: least milliseconds} for each program."""
    best = [{}, {}]
    for _ in range(rounds):
        for found, program in zip(best, programs):
            for cell, value in times(program, method, arguments).items():
                found[cell] = min(value, found.get(cell, value))
    return best


def compare(method, arguments):
    """Prints the rows of one method and returns how many are above the limit or are not measured by the new build."""
    programs = [arguments.old, arguments.new]
    old, new = least(programs, method, arguments, arguments.rounds)
    if any(new[cell] > arguments.limit * old[cell] for cell in old if cell in new):
        old, new = least(programs, method, arguments, 3 * arguments.rounds)
    marked = 0
    for cell in old:
        row = f"| {cell[0]} | {cell[1]} | {old[cell]:.1f} |"
        mark = "not measured"
        if cell in new:
            row += f" {new[cell]:.1f} | {new[cell] / old[cell]:.3f} |"
            mark = "slower" if new[cell] > arguments.limit * old[cell] else ""
        else:
            row += " – | – |"
        marked += bool(mark)
        print(f"{row} {mark}".rstrip(), flush=True)
    return marked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--methods", help="names with commas; without it, all that the configurations name")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-tokens", type=int, default=2048)
    parser.add_argument("--limit", type=float, default=1.03)
    arguments = parser.parse_args()
    methods = arguments.methods.split(",") if arguments.methods else sorted(path.stem for path in CONFIGS.glob("*.textproto"))
    print("| attention | N | old ms | new ms | ratio |\n|---|---|---|---|---|")
    return 1 if sum([compare(method, arguments) for method in methods]) else 0


if __name__ == "__main__":
    sys.exit(main())
