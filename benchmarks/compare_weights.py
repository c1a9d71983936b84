#!/usr/bin/env python3
"""Prints how far the weights of runs of two builds are apart: what rounding in another order does to training.

    benchmarks/compare_weights.py OLD/lra NEW/lra [--attention linear,cosformer,transformer] [--steps 50] [--data data/listops]

Trains each attention with both programs (ListOps, preset small, one thread, one seed) into a temporary folder. Needs NumPy.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import tempfile

import numpy


def load(path):
    """Returns {name: float32 array} of a safetensors file."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    return {name: numpy.frombuffer(content[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]], numpy.float32)
            for name, entry in header.items() if name != "__metadata__"}


def train(program, attention, arguments, out):
    settings = [f"train.steps={arguments.steps}", f"train.eval_every_steps={arguments.steps}", "train.validation_examples=64",
                "evaluation.scored_examples=64", "schedule.learning_rate=0.002"]
    command = [program, "train", "--task", "listops", "--attention", attention, "--preset", "small", "--threads", "1", "--out", out,
               "--quiet", "--no-last"] + (["--data", arguments.data] if arguments.data else [])
    for setting in settings:
        command += ["--set", setting]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return load(pathlib.Path(out) / "checkpoint" / f"step-{arguments.steps}" / "weights.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--attention", default="linear,cosformer,transformer")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--data", help="prepared ListOps (default: as `lra train`)")
    arguments = parser.parse_args()
    print("| attention | largest difference | norm of the difference / norm |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for attention in arguments.attention.split(","):
            a, b = (train(program, attention, arguments, f"{folder}/{attention}-{i}")
                    for i, program in enumerate((arguments.old, arguments.new)))
            largest = max(numpy.abs(a[name] - b[name]).max() for name in a)
            norms = [numpy.sqrt(sum((x ** 2).sum() for x in tensors)) for tensors in ([a[n] - b[n] for n in a], a.values())]
            print(f"| {attention} | {largest:.1e} | {norms[0] / norms[1]:.1e} |", flush=True)


main()
