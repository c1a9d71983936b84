#!/usr/bin/env python3
"""Times training with 1, 2, 4 processes on this machine (docs/scaling.md).

usage: benchmarks/scaling.py LRA [--processes 1,2,4] [--repeats 3] [--case NAME]

For every model and number of processes W, milliseconds a step, the median over repeats:
  shared       W processes train one run, one thread each
  independent  W processes train a run of their own at the same time, each with a share's number of examples
The difference is what sharing costs: the reduction and the wait for the slowest. Strong: the batch stays, so a share is
batch / W. Weak: a share stays, so the batch grows. The order of measurements alternates, so that drift hits all alike.
"""
import argparse, json, os, random, shutil, statistics, subprocess, sys, tempfile

# Name, settings, steps. The batch is that of one process; ListOps of 60 to 120 tokens.
CASES = [
    ("2 x 64", ["model.layers=2", "model.width=64", "model.qkv_width=64", "model.mlp_width=128", "model.heads=2"], 32, 60),
    ("4 x 256", ["model.layers=4", "model.width=256", "model.qkv_width=256", "model.mlp_width=1024", "model.heads=4"], 32, 16),
    ("6 x 512", ["model.layers=6", "model.width=512", "model.qkv_width=512", "model.mlp_width=2048", "model.heads=8"], 16, 8),
]


def environment(rank, size, port):
    env = dict(os.environ, OMP_NUM_THREADS="1")
    if size > 1:
        env |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return env


def train(args, data, settings, batch, steps, processes, is_shared, extra):
    """Returns seconds a step and the number of parameters."""
    work = tempfile.mkdtemp()
    port = random.randrange(10000, 30000)
    commands = []
    for rank in range(processes):
        out = os.path.join(work, "run" if is_shared else f"run{rank}")
        commands.append([args.lra, "train", "--task", "listops", "--attention", "cosformer", "--preset", "smoke", "--data", data,
                         "--out", out, "--threads", "1", "--quiet", "--no-last", "--micro-batch", str(batch), *extra]
                        + [word for s in settings + [f"train.batch_examples={batch}", f"train.steps={steps}",
                                                     f"train.eval_every_steps={steps}", f"train.log_every_steps={steps}",
                                                     "train.validation_examples=1", "evaluation.scored_examples=1"]
                           for word in ("--set", s)])
    children = [subprocess.Popen(c, env=environment(r, processes if is_shared else 1, port), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True) for r, c in enumerate(commands)]
    for child in children:
        _, errors = child.communicate()
        if child.returncode:
            sys.exit(f"{' '.join(child.args)}: exit {child.returncode}: {errors}")
    records = [json.load(open(os.path.join(work, run, "record.json"))) for run in sorted(os.listdir(work)) if "." not in run]
    shutil.rmtree(work)
    return max(float(r["efficiency"]["wall_seconds"]) for r in records) / steps, int(records[0]["parameters"])


def measure(args, data, name, settings, batch, steps):
    rows = {}
    for repeat in range(args.repeats):
        for processes in args.processes:
            for kind, whole in (("strong", batch), ("weak", batch * processes)):
                share = whole // processes
                for is_shared in ((True, False) if repeat % 2 else (False, True)):
                    seconds, count = train(args, data, settings, whole if is_shared else share, steps, processes, is_shared, [])
                    rows.setdefault((kind, processes), {}).setdefault(is_shared, []).append(1000 * seconds)
    base = {}
    for (kind, processes), times in sorted(rows.items()):
        shared, alone = (statistics.median(times[x]) for x in (True, False))
        base.setdefault(kind, shared)
        gain = base[kind] / shared * (processes if kind == "weak" else 1)
        print(f"| {name} | {count:,} | {kind} | {processes} | {shared:.2f} | {alone:.2f} | {shared - alone:.2f} | {gain:.2f} |",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lra")
    parser.add_argument("--processes", type=lambda t: [int(x) for x in t.split(",")], default=[1, 2, 4])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--case", choices=[c[0] for c in CASES])
    args = parser.parse_args()
    work = tempfile.mkdtemp()
    try:
        data = os.path.join(work, "data")
        subprocess.run([args.lra, "data", "prepare", "listops", "--quiet", "--out", data]
                       + [w for s in ("min_length_tokens=60", "max_length_tokens=120", "train_examples=2000",
                                      "validation_examples=50", "test_examples=50") for w in ("--set", s)],
                       check=True, stdout=subprocess.DEVNULL)
        print("| model | parameters | scaling | processes | shared, ms a step | independent | difference | faster than one |")
        print("|---|--:|---|--:|--:|--:|--:|--:|")
        for case in CASES:
            if args.case in (None, case[0]):
                measure(args, data, *case)
    finally:
        shutil.rmtree(work)


main()
