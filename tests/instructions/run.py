#!/usr/bin/env python3
"""Counts the instructions of a training step with each attention, and compares them with committed counts.

usage: tests/instructions/run.py PROGRAM [--write] [ATTENTION...]

PROGRAM is build/release/tests/step_instructions. It runs under valgrind's callgrind with the AVX2 kernels, which valgrind
knows, on one thread. Counts depend on the compiler and on LibTorch: after a change of those, and after a change that is
meant, --write writes them anew. LibTorch's libraries look at the processor and its caches in ways that valgrind does not hide,
so on another processor than the committed counts are from, the comparison is printed and nothing fails.
Exit codes: 0 all within the tolerance, or another processor; 1 some outside; 77 valgrind is missing.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COUNTS = pathlib.Path(__file__).with_name("counts.tsv")
TOLERANCE = 0.03


def counted(program, attentions):
    """Attention to instructions, in millions."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "counts")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, *attentions]
        environment = dict(os.environ, LRA_KERNELS="avx2", OMP_NUM_THREADS="1", LRA_CONFIGS=str(COUNTS.parents[2] / "configs"))
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"run.py: {' '.join(command)} failed:\n{run.stderr[-2000:]}")
        counts = {}
        for dump in folder_files(folder):
            text = dump.read_text()
            trigger = re.search(r"^desc: Trigger: Client Request: (\S+)$", text, re.M)
            if trigger:
                counts[trigger[1]] = int(re.search(r"^(?:totals|summary): (\d+)", text, re.M)[1]) / 1e6
        return counts


def processor():
    """Vendor, family and model as Linux numbers them."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    return " ".join(re.search(rf"^{field}\s*: (\S+)$", text, re.M)[1] for field in ("vendor_id", "cpu family", "model"))


def folder_files(folder):
    return sorted(path for path in pathlib.Path(folder).iterdir() if path.is_file())


def committed():
    rows = (line.split("\t") for line in COUNTS.read_text().splitlines() if line and not line.startswith("#"))
    return {name: float(count) for name, count in rows}


def committed_processor():
    return re.search(r"^# processor\t(.*)$", COUNTS.read_text(), re.M)[1]


def write(counts):
    lines = ["# Millions of instructions of one training step (tests/instructions/run.py --write).",
             f"# processor\t{processor()}",
             "# attention\tmillions"]
    COUNTS.write_text("\n".join(lines + [f"{name}\t{count:.2f}" for name, count in sorted(counts.items())]) + "\n")


def compare(now, before):
    """Prints a line for each attention; returns how many are outside the tolerance."""
    bad = 0
    for name in sorted(now):
        if name not in before:
            print(f"{name:16} {now[name]:10.2f}  no count is committed: run.py PROGRAM --write")
            bad += 1
            continue
        ratio = now[name] / before[name]
        is_outside = abs(ratio - 1) > TOLERANCE
        bad += is_outside
        advice = ("  MORE than committed" if ratio > 1 else "  fewer: --write keeps the gain") if is_outside else ""
        print(f"{name:16} {now[name]:10.2f} {before[name]:10.2f}  {ratio:.3f}{advice}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("attentions", nargs="*")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_intermixed_args()
    if shutil.which("valgrind") is None:
        print("run.py: valgrind is missing: apt-get install valgrind")
        return 77
    now = counted(arguments.program, arguments.attentions)
    if not now:
        sys.exit("run.py: callgrind wrote no counts")
    if arguments.write:
        write({**(committed() if COUNTS.exists() and arguments.attentions else {}), **now})
        return 0
    print(f"{'attention':16} {'millions':>10} {'committed':>10}  ratio (at most {TOLERANCE:.0%} off)")
    before = committed()
    missing = [] if arguments.attentions else sorted(set(before) - set(now))
    for name in missing:
        print(f"{name:16} is committed, but was not counted")
    is_outside = compare(now, before) > 0 or bool(missing)
    if is_outside and processor() != committed_processor():
        print(f"counts are of processor {committed_processor()}, this is {processor()}: shown only")
        return 0
    return 1 if is_outside else 0


if __name__ == "__main__":
    sys.exit(main())
