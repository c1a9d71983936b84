#!/usr/bin/env python3
"""Whether two builds of lra train the same models, bit for bit.

usage: benchmarks/equal_results.py BEFORE [AFTER] [--out DIR] [--quickstart] [--only NAME[,NAME]] [--seeds 0-1]

Both programs train every registered attention (preset smoke, ListOps of 20 to 200 tokens; with --quickstart also the
three runs of configs/runs/quickstart.textproto on canonical data, minutes each). Compared are each checkpoint's tensors,
the predictions, the fingerprints of configuration, cell and data, and the numbers of the results. Runs in DIR are kept
and reused: remove DIR/after to compare another build with the same BEFORE. Without AFTER only the runs of BEFORE are made.
Exit code 1 names what differs.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

SMALL_DATA = ["min_length_tokens=20", "max_length_tokens=200", "train_examples=600", "validation_examples=100",
              "test_examples=100"]
QUICKSTART = ["transformer", "linear", "cosformer"]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def tensors(path):
    """Name to type, shape and bytes, without the file's description of itself."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size:]
    return {name: (t["dtype"], tuple(t["shape"]), body[slice(*t["data_offsets"])]) for name, t in header.items()}


def record_facts(directory):
    record = json.loads((directory / "record.json").read_text())
    facts = {field: record.get(field) for field in ("config_fingerprint", "cell_fingerprint")}
    facts["split_fingerprint"] = record["data"].get("split_fingerprint")
    facts["view_fingerprint"] = record["data"].get("view_fingerprint")
    facts["selected_step"] = record.get("selected_step")
    facts["parameters"] = record.get("parameters")
    for result in record["results"]:
        facts[f"{result['split']} {result.get('checkpoint')}"] = (result["examples"], result["predictions_sha256"])
    return facts


def differences(before, after):
    """What differs between two run folders, as sentences."""
    found = []
    a, b = record_facts(before), record_facts(after)
    found += [f"{key}: {a.get(key)} and {b.get(key)}" for key in sorted({*a, *b}) if a.get(key) != b.get(key)]
    names = [sorted(str(p.relative_to(d)) for p in d.glob("checkpoint/step-*/*.safetensors")) for d in (before, after)]
    if names[0] != names[1] or not names[0]:
        found.append(f"checkpoint files: {names[0]} and {names[1]}")
    for name in sorted({*names[0]} & {*names[1]}):
        x, y = tensors(before / name), tensors(after / name)
        if x.keys() != y.keys():
            found.append(f"{name}: tensors {sorted(x.keys() ^ y.keys())} are in one of them only")
        found += [f"{name}: {key}" for key in sorted(x.keys() & y.keys()) if x[key] != y[key]]
    return found


def attentions(program):
    return [entry["name"] for entry in json.loads(run(program, "list", "attentions", "--json"))["attentions"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path, nargs="?")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--quickstart", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", default="0-1")
    args = parser.parse_args()
    scratch = tempfile.TemporaryDirectory() if args.out is None else None
    out = pathlib.Path(scratch.name) if scratch else args.out
    programs = {"before": args.before.resolve()}
    if args.after:
        programs["after"] = args.after.resolve()

    small, canonical = out / "data" / "small", out / "data" / "listops"
    if not small.exists():
        sets = [word for setting in SMALL_DATA for word in ("--set", setting)]
        run(programs["before"], "data", "prepare", "listops", "--quiet", "--out", small, *sets)
    names = args.only.split(",") if args.only else attentions(programs["before"])
    jobs = [(name, ["--task", "listops", "--attention", name, "--preset", "smoke", "--data", small, "--seeds", args.seeds])
            for name in names]
    if args.quickstart:
        if not canonical.exists():
            run(programs["before"], "data", "prepare", "listops", "--quiet", "--out", canonical)
        jobs += [(f"quickstart-{name}", ["--config", "configs/runs/quickstart.textproto", "--attention", name, "--data",
                                         canonical]) for name in QUICKSTART]
    compared = failed = 0
    for name, flags in jobs:
        for which, program in programs.items():
            root = pathlib.Path(__file__).resolve().parent.parent
            here = [str(root / flag) if str(flag).startswith("configs/") else flag for flag in flags]
            run(program, "train", *here, "--out", out / which / name, "--threads", 1, "--quiet", "--resume")
        if not args.after:
            continue
        runs = sorted(p.parent.relative_to(out / "before") for pattern in (name, f"{name}-s[0-9]*")
                      for p in (out / "before").glob(f"{pattern}/record.json"))
        if not runs:
            sys.exit(f"{name}: no run")
        for path in runs:
            compared += 1
            found = differences(out / "before" / path, out / "after" / path)
            if found:
                failed += 1
                print(f"{path}: differs: " + "; ".join(found))
        print(f"{name}: {len(runs)} runs compared", flush=True)
    if args.after:
        print(f"{compared - failed} of {compared} runs are equal bit for bit")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
