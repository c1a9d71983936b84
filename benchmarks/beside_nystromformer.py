#!/usr/bin/env python3
"""Times a training step of mlpen/Nystromformer's LRA code beside ours, and prints both with their ratio.

    git clone https://github.com/mlpen/Nystromformer
    python -m venv env && env/bin/pip install torch numpy performer-pytorch
    benchmarks/beside_nystromformer.py env/bin/python Nystromformer/LRA/code build/release/lra

Theirs is the model of its `lra_config.py` (2 layers of width 64, dropout 0.1, attention dropout 0.1 in softmax, whose
attention is checkpointed) at N = 2000, B = 16, with a mean pool, a linear head and Adam, on the CPU in float32; ours is
`lra bench step` at the same sizes (softmax with the same attention dropout), whose head has one layer more. Rounds alternate
between both. linformer-256 and performer-256 are given their ranks; ours has the features of
the softmax kernel, theirs ReLU of as many projections. linear there leaves the row sum out.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

# attn_type there, its settings there, `lra bench step` arguments here.
METHODS = {
    "softmax": ({"attention_grad_checkpointing": True}, ["--attention", "transformer", "--weight-dropout", "0.1"]),
    "linear": ({"attention_grad_checkpointing": False}, ["--attention", "linear"]),
    "linformer-256": ({"attention_grad_checkpointing": False, "linformer_k": 256}, ["--attention", "linformer:rank=256"]),
    "performer-256": ({"attention_grad_checkpointing": False, "rp_dim": 256, "kernel_type": "relu"},
                      ["--attention", "performer:features=256"]),
}


def their_step(method, tokens, batch, threads, steps):
    """Runs in their Python: prints the median seconds of a step."""
    import time

    import torch
    from model import Model

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    config = {"learn_pos_emb": True, "tied_weights": False, "embedding_dim": 64, "transformer_dim": 64,
              "transformer_hidden_dim": 128, "head_dim": 32, "num_head": 2, "num_layers": 2, "vocab_size": 512,
              "max_seq_len": tokens, "dropout_prob": 0.1, "attention_dropout": 0.1, "attn_type": method,
              **METHODS[method][0]}
    model, head = Model(config), torch.nn.Linear(64, 10)
    optimiser = torch.optim.Adam([*model.parameters(), *head.parameters()], 1e-4)
    ids, labels = torch.randint(1, 256, (batch, tokens)), torch.randint(0, 10, (batch,))
    mask = torch.ones(batch, tokens)
    seconds = []
    for _ in range(steps + 2):
        start = time.perf_counter()
        optimiser.zero_grad()
        pooled = (model(ids, mask) * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        torch.nn.functional.cross_entropy(head(pooled), labels).backward()
        optimiser.step()
        seconds.append(time.perf_counter() - start)
    print(statistics.median(seconds[2:]))


def measure(command, environment=None):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if ended.returncode:
        sys.exit(f"beside_nystromformer: {' '.join(command)} ended with {ended.returncode}:\n{ended.stderr[-1500:]}")
    return ended.stdout


def compare(method, arguments):
    theirs, ours = [], []
    sizes = [str(arguments.tokens), str(arguments.batch), str(arguments.threads), str(arguments.steps)]
    for _ in range(arguments.rounds):
        environment = dict(os.environ, PYTHONPATH=arguments.code, PYTHONWARNINGS="ignore")
        theirs.append(float(measure([arguments.python, __file__, "--their-step", method, *sizes], environment)))
        result = json.loads(measure([
            arguments.lra, "bench", "step", *METHODS[method][1], "--tokens", sizes[0], "--batch", sizes[1], "--threads",
            sizes[2], "--steps", sizes[3], "--repetitions", "1", "--no-profile", "--quiet", "--json"]))
        ours.append(result["rows"][0]["seconds"]["median"])
    ratios = sorted(t / o for t, o in zip(theirs, ours))
    print(f"| {method} | {1e3 * statistics.median(theirs):.0f} | {1e3 * statistics.median(ours):.0f} | "
          f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} – {ratios[-1]:.1f}) |", flush=True)


def main():
    if sys.argv[1:2] == ["--their-step"]:
        return their_step(sys.argv[2], *map(int, sys.argv[3:7]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", help="a Python with torch (and performer-pytorch)")
    parser.add_argument("code", help="LRA/code of a clone of mlpen/Nystromformer")
    parser.add_argument("lra", help="our program")
    parser.add_argument("--methods", default=",".join(METHODS), help="of " + ", ".join(METHODS))
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3, help="timed steps, after two others")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print("| attention | theirs, ms | ours, ms | times faster |\n|---|---|---|---|")
    for method in arguments.methods.split(","):
        if method not in METHODS:
            parser.error(f"unknown method \"{method}\"; known: {', '.join(METHODS)}")
        compare(method, arguments)


main()
