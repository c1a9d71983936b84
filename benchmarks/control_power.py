#!/usr/bin/env python3
"""How often an ablation of near_majority claims the effect that is there, and the one that is not.

Each repetition makes data of its own, trains the planned runs (none and decay, five paired seeds, a model that takes a
second a run) with `lra run`, and asks `lra ablate`. With near_probability = 1 decay helps, by construction, so a claim
in its favour is right; with 0 no re-weighting can, and every claim, in either direction, is wrong.

usage: control_power.py LRA [--repetitions 100] [--near-probability 0] [--seeds 5] [--first 0] [--out FILE.csv]
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

DATA = ["min_length_tokens=24", "max_length_tokens=24", "marks=1", "distance_tokens=3", "train_examples=10000",
        "validation_examples=500", "test_examples=2000"]

SUITE = """description: "One factor, as small as it can be"
group {
  task: "near_majority"
  attention: "factorized"
  seeds: "0-%d"
  preset: "smoke"
  set: ["view.max_length_tokens=24", "schedule.learning_rate=0.01", "train.steps=400", "train.batch_examples=32",
        "train.eval_every_steps=100", "train.log_every_steps=100", "train.validation_examples=500",
        "evaluation.scored_examples=2000", "model.positions=NO_POSITIONS", "model.dropout=0", "model.width=16",
        "model.mlp_width=32", "model.heads=1", "attention.options.half_life_tokens=2"]
  factor {
    name: "reweighting"
    level { name: "none" set: "attention.options.reweighting=NO_REWEIGHTING" }
    level { name: "decay" set: "attention.options.reweighting=DECAY" }
  }
}
"""


def run(command, environment):
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stderr}")
    return result.stdout


def effect_of(lra, repetition, options):
    """The main effect of one repetition, as `lra ablate --json` has it."""
    with tempfile.TemporaryDirectory() as work:
        environment = dict(os.environ, LRA_DATA=work, OMP_NUM_THREADS="1")
        settings = DATA + [f"near_probability={options.near_probability}"]
        run([lra, "data", "prepare", "near_majority", "--quiet", "--seed", str(repetition)] +
            [word for setting in settings for word in ("--set", setting)], environment)
        suite, runs = os.path.join(work, "tiny.textproto"), os.path.join(work, "runs")
        with open(suite, "w", encoding="utf-8") as file:
            file.write(SUITE % (options.seeds - 1))
        run([lra, "run", suite, "--quiet", "--workers", "1", "--out", runs], environment)
        run([lra, "baseline", "near_majority", "--quiet", "--out", os.path.join(runs, "baselines")] +
            ["--set", "max_length_tokens=24"], environment)
        effects = json.loads(run([lra, "ablate", runs, "--json"], environment))["designs"][0]["effects"]
        return effects[0]


def interval(successes, trials):
    """Clopper-Pearson at 95 %, by bisection on the binomial distribution."""
    def tail(p, low, high):
        return sum(math.comb(trials, k) * p**k * (1 - p)**(trials - k) for k in range(low, high + 1))

    def solve(is_low):
        a, b = 0.0, 1.0
        for _ in range(60):
            p = (a + b) / 2
            above = tail(p, successes, trials) > 0.025 if is_low else tail(p, 0, successes) < 0.025
            a, b = (a, p) if above else (p, b)
        return a
    return (solve(True) if successes > 0 else 0.0), (solve(False) if successes < trials else 1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lra")
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first repetition, to go on or to share")
    parser.add_argument("--near-probability", type=float, default=1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    rows = []
    for repetition in range(options.first, options.first + options.repetitions):
        effect = effect_of(os.path.abspath(options.lra), repetition, options)
        rows.append([repetition, effect.get("difference", ""), effect.get("p", ""), effect["verdict"]])
        if options.out:
            with open(options.out, "w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([["repetition", "difference", "p", "verdict"]] + rows)
    told = [row for row in rows if row[3] == "told apart"]
    better = sum(row[1] > 0 for row in told)
    low, high = interval(len(told), len(rows))
    print(f"near_probability {options.near_probability:g}, {options.seeds} seeds: decay was told apart from none in "
          f"{len(told)} of {len(rows)} repetitions ({100 * low:.1f} to {100 * high:.1f} %), {better} times as better")


if __name__ == "__main__":
    main()
