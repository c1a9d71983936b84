#!/usr/bin/env python3
"""How often an ablation of near_majority claims the effect that is there, and the one that is not.

Each repetition makes data of its own, trains the planned runs (none and decay, five paired seeds, a model that takes a
second a run) with `lra run`, and asks `lra ablate`. With near_probability = 1 decay helps, by construction, so a claim
in its favour is right; with 0 no re-weighting can, and every claim, in either direction, is wrong.

usage: control_power.py LRA [--repetitions 100] [--near-probability 1] [--seeds 5] [--first 0] [--out FILE.log]
       control_power.py --say FILE.log...

--out keeps a JSON object a line: what was asked of which program on which machine, then each repetition as soon as it has
ended, with its effect and the digest of its runs' results. Begun again, only those without a line are made, by the same build
on the same machine. Processes that share the repetitions (--first) have a file each.
--say counts what is in such files, whose repetitions are put together where they asked the same. The project keeps its own in
docs/records/control_power.
"""
import argparse
import hashlib
import json
import math
import os
import pathlib
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


def digest_of(runs):
    """Of what the runs of a repetition scored, in the order of their names; without what they took."""
    results = [json.loads(path.read_text())["results"] for path in sorted(runs.glob("*-s*/record.json"))]
    return hashlib.sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()


def made_by(runs):
    record = json.loads(next(runs.glob("*-s*/record.json")).read_text())
    return {"versions": record["versions"], "machine": record["machine"]}


def repeat(lra, repetition, options):
    """A line of the log: the main effect of one repetition, as `lra ablate --json` has it. With whom the runs were made by."""
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
        effect = json.loads(run([lra, "ablate", runs, "--json"], environment))["designs"][0]["effects"][0]
        folder = pathlib.Path(runs)
        line = {"repetition": repetition, "difference": effect.get("difference"), "p": effect.get("p"),
                "verdict": effect["verdict"], "results_sha256": digest_of(folder)}
        return line, made_by(folder)


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


def asked(options):
    """What repetitions have to have in common to be counted together."""
    return {"near_probability": options.near_probability, "seeds": options.seeds, "data": DATA, "suite": SUITE}


def read(path):
    """The first line of a log, and its repetitions; behind the last newline a line may be cut off."""
    lines = [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []
    return (lines[0], lines[1:]) if lines else (None, [])


def train(options):
    """All repetitions that were asked for, from the log or made now."""
    path = pathlib.Path(options.out) if options.out else None
    head, lines = read(path) if path else (None, [])
    if head and head["asked"] != asked(options):
        sys.exit(f"{path}: asked for {head['asked']}, not for {asked(options)}: another --out would keep both")
    for repetition in range(options.first, options.first + options.repetitions):
        if any(line["repetition"] == repetition for line in lines):
            continue
        line, maker = repeat(os.path.abspath(options.lra), repetition, options)
        if head and any(head[part] != maker[part] for part in maker):
            sys.exit(f"{path}: begun by {[head[part] for part in maker]}; this is {list(maker.values())}: name another --out")
        lines.append(line)
        head = head or {"asked": asked(options), **maker}
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_text("".join(json.dumps(each) + "\n" for each in [head, *lines]))
            part.replace(path)
    return head, lines


def say(head, lines):
    told = [line for line in lines if line["verdict"] == "told apart"]
    better = sum(line["difference"] > 0 for line in told)
    low, high = interval(len(told), len(lines))
    return (f"near_probability {head['asked']['near_probability']:g}, {head['asked']['seeds']} seeds: decay was told apart "
            f"from none in {len(told)} of {len(lines)} repetitions ({100 * low:.1f} to {100 * high:.1f} %), {better} times "
            "as better")


def say_files(paths):
    """A sentence for each question that was asked, over all files; no repetition counts twice."""
    found = {}
    for path in paths:
        head, lines = read(path)
        if not head:
            sys.exit(f"{path}: no repetition")
        _, known = found.setdefault(json.dumps(head["asked"], sort_keys=True), (head, {}))
        for line in lines:
            if known.setdefault(line["repetition"], line) != line:
                sys.exit(f"{path}: repetition {line['repetition']} is in another file, too, with another result")
    for head, known in found.values():
        print(say(head, list(known.values())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lra", nargs="?")
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first repetition, to share them")
    parser.add_argument("--near-probability", type=float, default=1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", default="")
    parser.add_argument("--say", type=pathlib.Path, nargs="+", metavar="FILE.log")
    options = parser.parse_args()
    if options.say:
        return say_files(options.say)
    if not options.lra:
        parser.error("name the program, or files with --say")
    print(say(*train(options)))
    return None


if __name__ == "__main__":
    sys.exit(main())
