#!/usr/bin/env python3
"""What a suite gains by workers that are pinned to cores, on a machine on which nothing else runs.

usage: benchmarks/pinned_workers.py LRA SUITE [--pairs 5]

Runs the suite into folders that are removed again, without and with --pin-workers in turn, and prints the seconds of each
pair, the median of either and that of the ratios. Plans are measured in the first pass of either and not timed.
"""
import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def run(options, out, flags):
    """Seconds of the suite with a plan that is there already."""
    for path in out.glob("*-s[0-9]*"):
        shutil.rmtree(path)
    command = [options.lra, "run", options.suite, "--out", str(out), "--quiet", *flags]
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")  # also where no core was free
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lra")
    parser.add_argument("suite")
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    flags = {"free": [], "pinned": ["--pin-workers"]}
    pairs = []
    with tempfile.TemporaryDirectory() as work:
        folders = {name: pathlib.Path(work) / name for name in flags}
        for name in flags:
            run(options, folders[name], flags[name])
        for _ in range(options.pairs):
            pairs.append({name: run(options, folders[name], flags[name]) for name in flags})
            print("free {free:.2f} s, pinned {pinned:.2f} s".format(**pairs[-1]), flush=True)
    free, pinned = (statistics.median(pair[name] for pair in pairs) for name in flags)
    ratio = statistics.median(pair["pinned"] / pair["free"] for pair in pairs)
    print(f"medians: free {free:.2f} s, pinned {pinned:.2f} s; median of the ratios {ratio:.3f}")


if __name__ == "__main__":
    main()
