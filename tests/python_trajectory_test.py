#!/usr/bin/env python3
"""A whole `lra train`, trained again in float64 PyTorch by a program of its own (tests/trajectory): losses, gradient norms, learning
rates, validations and weights of every step agree up to the rounding of float32; labels, right answers, the selected step, where it stops
early and the final scores agree exactly.
usage: python_trajectory_test.py LRA [CASE...]    exit code 77 (skipped) where Python has no package "torch"; the package is on PYTHONPATH

Prints the largest deviations of a case (trajectory/compare.py says of what, and how large they may be); then the same with
faults planted in the replay, which must be noticed.
"""
import os, subprocess, sys, tempfile
from types import SimpleNamespace
try:
    import numpy, torch
except ImportError as missing:
    print(f"skipped: torch is not installed ({missing}); python3 -m pip install torch numpy")
    sys.exit(77)
import lra
from small_data import sets
from trajectory import data
from trajectory.cases import CASES
from trajectory.compare import BOUNDS, Comparison, initial_weights, weights_after_pretraining

program, chosen = sys.argv[1], sys.argv[2:]
# A step at rate 0 leaves the initial weights as they are. A field of the second line is changed where the case sets it.
START = ["schedule.learning_rate=0", "schedule.warmup_steps=0", "train.steps=1"]
PLANTED = "nystrom_text"  # the case that faults are planted in
SHORT = {"evaluation.step": 1, "pretrain.learning_rate": 0, "pretrain.examples": 8, "pretrain.continued_from_examples": 4}


def train(case, settings, out):
    """A run that keeps every step's weights and says every step's loss."""
    task, attention, protocol, _ = case
    command = [program, "train", "--task", task, "--attention", attention, "--protocol", protocol, "--preset", "smoke", "--threads", "1",
               "--checkpoint-every", "1", "--keep-checkpoints", "100000", "--quiet", "--out", out]
    # Libraries that Python was started with are no business of the program.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "PYTHON"))}
    done = subprocess.run(command + sets(settings + ["train.log_every_steps=1"]), env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{out}: lra train ended with exit code {done.returncode}: {done.stderr}")


def prepare(name):
    """Trains the case and its initial weights, once; the settings."""
    case, settings = CASES[name], CASES[name][3].split()
    data.make(program, case[0])
    if not os.path.exists(name):
        fields = {setting.partition("=")[0] for setting in settings}
        train(case, settings + START + [f"{field}={value}" for field, value in SHORT.items() if field in fields], f"{name}-start")
        train(case, settings, name)
    return settings


def comparison(name, stage):
    task, attention, protocol, _ = CASES[name]
    config = lra.Config(task, attention, protocol, "smoke", set=prepare(name))
    start = f"{name}-start"
    if stage == "pretrain":
        weights = initial_weights(f"{start}/pretrain")
    else:
        weights = weights_after_pretraining(name, start) if os.path.exists(f"{name}/pretrain") else initial_weights(start)
    return Comparison(name, lra.open(task, config), weights, stage)


def said(result):
    return ", ".join(f"{what} {deviation:.1e}" for what, deviation in result.largest.items())


def try_stage(name, stage):
    result = comparison(name, stage).replay()
    print(f"{'ok  ' if result.is_right() else 'FAIL'} {name}{'' if stage == 'train' else ', pretraining'}: {said(result)}", flush=True)
    for what in result.differs[:5]:
        print(f"     {what}", flush=True)
    return result.is_right()


def try_case(name):
    prepare(name)
    stages = (["pretrain"] if os.path.exists(f"{name}/pretrain") else []) + ["train"]
    return all([try_stage(name, stage) for stage in stages])


def more_decay(training):
    for group in training.optimizer.param_groups:
        group["weight_decay"] *= 1.1


def other_masks(training):
    training.model.m.dropout += 1 / 65536


def other_order(training):
    training.examples.c = SimpleNamespace(**{**vars(training.c), "seed": training.c.seed + 1})


def try_planted(name):
    """Whether the comparison notices each fault."""
    noticed = []
    for fault in more_decay, other_masks, other_order:
        wrong = comparison(name, "train")
        fault(wrong.training)
        noticed.append(not wrong.replay().is_right())
        print(f"{'ok  ' if noticed[-1] else 'FAIL'} {name} with a planted fault, {fault.__name__}: {said(wrong)}", flush=True)
    return all(noticed)


def main():
    unknown = set(chosen) - set(CASES)
    if unknown:
        print(f"there is no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
        return 2
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        os.environ["LRA_DATA"] = f"{work}/data"
        tried = [try_case(name) for name in CASES if not chosen or name in chosen]
        is_noticed = PLANTED not in (chosen or CASES) or try_planted(PLANTED)
        os.chdir("/")
    print(f"{sum(tried)} of {len(tried)} cases agree")
    return 0 if all(tried) and is_noticed else 1


sys.exit(main())
