#!/usr/bin/env python3
"""How black the pictures are that models of MNIST draw from nothing, beside the data.

usage: benchmarks/drawn_pictures.py LRA RAW RUN... [--examples 100] [--seed 0] [--out FILE.log]

RAW is the folder of MNIST's four files, RUN a run of mnist_pixels. Each draws pictures (`lra generate --given 0`); the share of
their values that are 0 stands beside that of the data, with an interval over pictures (95 %, normal). Exit code 1: a share is
more than 3 points from the data's. --out keeps a JSON object a line: the data, then each run with what its record says of it
and the digests of its weights and of what it drew, which the same program draws again from the same weights and seed. The
project's own are in docs/records/drawn_pictures.
"""
import argparse
import gzip
import hashlib
import json
import math
import pathlib
import statistics
import subprocess
import sys

VALUES, MOST_POINTS = 784, 3.0


def share_of_zeros(values):
    return 100 * sum(value == 0 for value in values) / len(values)


def data_share(raw):
    """Of both splits together."""
    values = b""
    for split in ("train", "t10k"):
        found = next(raw.glob(f"{split}-images-idx3-ubyte*"), None)
        if found is None:
            sys.exit(f"{raw}: holds no {split}-images-idx3-ubyte, with or without .gz: name the folder of MNIST's four files")
        data = found.read_bytes()
        values += (gzip.decompress(data) if found.suffix == ".gz" else data)[16:]
    return 100 * values.count(0) / len(values), len(values) // VALUES


def draw(lra, run, options):
    command = [lra, "generate", run, "--given", "0", "--tokens", VALUES, "--examples", options.examples, "--seed",
               options.seed, "--json", "--quiet"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{run}: lra generate ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def facts_of(run):
    """What the run's record says of it; nothing while it has none."""
    path = run / "record.json"
    if not path.exists():
        return {}
    record = json.loads(path.read_text())
    sums = next(result["sums"] for result in record["results"] if result["split"] == "test")
    bits = sums["totals"]["nats"] / int(sums["counts"]["tokens"]) / math.log(2)
    return {"config_fingerprint": record["config_fingerprint"], "seed_of_training": record["config"]["train"].get("seed", 0),
            "steps": record["selected_step"], "test_bits_per_value": round(bits, 4), "commit": record["versions"]["commit"]}


def line_of(lra, run, options):
    drawn = draw(lra, run, options)
    pictures = [text["ids"] for text in drawn["texts"]]
    shares = [share_of_zeros(picture) for picture in pictures]
    return {"run": run.name, "attention": drawn["attention"], **facts_of(run), "weights_sha256": drawn["weights_sha256"],
            "seed": drawn["seed"], "temperature": drawn["temperature"], "pictures": len(pictures), "zeros_percent": round(statistics.mean(shares), 2),
            "half_interval_points": round(1.96 * statistics.stdev(shares) / math.sqrt(len(shares)), 2),
            "ids_sha256": hashlib.sha256(json.dumps(pictures).encode()).hexdigest()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lra")
    parser.add_argument("raw", type=pathlib.Path)
    parser.add_argument("runs", type=pathlib.Path, nargs="+")
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    if options.examples < 2:
        parser.error(f"--examples {options.examples}: an interval needs two pictures or more")
    share, count = data_share(options.raw)
    print(f"data: {share:.2f} % of the values of {count:,} pictures are 0")
    lines = [{"data": "MNIST", "pictures": count, "zeros_percent": round(share, 2)}]
    for run in options.runs:
        line = line_of(options.lra, run, options)
        lines.append(line)
        print(f"{line['attention']}: {line['zeros_percent']:.2f} +- {line['half_interval_points']:.2f} % of the values of "
              f"{line['pictures']} drawn pictures ({line['run']})")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return int(any(abs(line["zeros_percent"] - lines[0]["zeros_percent"]) > MOST_POINTS for line in lines))


if __name__ == "__main__":
    sys.exit(main())
