#!/usr/bin/env python3
"""TensorBoard's own reader reads the event file of a run and finds what curve.jsonl says.
usage: tensorboard_test.py LRA        exit code 77 (skipped) where Python has no package "tensorboard"
"""
import json, os, struct, subprocess, sys, tempfile
try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as missing:
    print(f"skipped: tensorboard is not installed ({missing}); python3 -m pip install tensorboard")
    sys.exit(77)

TAGS = {"train/loss": "train_loss", "train/accuracy": "train_accuracy", "learning_rate": "learning_rate",
        "gradient_norm": "gradient_norm", "validation/loss": "validation_loss", "validation/accuracy": "validation_accuracy"}
lra = sys.argv[1]
with tempfile.TemporaryDirectory() as work:
    data, run = f"{work}/data", f"{work}/run"
    sizes = dict(min_length_tokens=10, max_length_tokens=60, train_examples=100, validation_examples=20, test_examples=20)
    subprocess.run([lra, "data", "prepare", "listops", "--quiet", "--out", data] +
                   [x for f, v in sizes.items() for x in ("--set", f"{f}={v}")], check=True)
    subprocess.run([lra, "train", "--task", "listops", "--attention", "linear", "--preset", "smoke", "--quiet",
                    "--data", data, "--out", run], check=True, stdout=subprocess.DEVNULL)
    curve = [json.loads(line) for line in open(f"{run}/curve.jsonl")]
    events = EventAccumulator(f"{run}/tensorboard")
    events.Reload()
    assert sorted(events.Tags()["scalars"]) == sorted(TAGS), events.Tags()
    read = 0
    for tag, field in TAGS.items():
        scalars = [(scalar.step, scalar.value) for scalar in events.Scalars(tag)]
        as_float32 = lambda value: struct.unpack("f", struct.pack("f", value))[0]
        expected = [(point["step"], as_float32(point[field])) for point in curve if field in point]
        assert expected and scalars == expected, (tag, scalars, expected)
        read += len(scalars)
    print(f"TensorBoard read {read} scalars of {len(curve)} points, equal to curve.jsonl")
