#!/usr/bin/env python3
"""Curves of runs on record, for `lra doctor`: records of docs/records -> configs/doctor/curves.textproto, on standard
output. Of each task and attention one run: the first that recorded update-to-weight ratios.

usage: benchmarks/landmark_curves.py docs/records/labels docs/records/first_steps
"""
import pathlib
import re
import sys

FIELDS = ("train_loss", "gradient_norm", "update_ratio")


def values(block):
    return dict(re.findall(r"^ *(\w+): (\S+)$", block, re.M))


def curve(record, text):
    config = re.search(r"^config \{\n(.*?)^\}", text, re.M | re.S).group(1)
    attention = re.search(r"^  attention \{\n    name: (\S+)", config, re.M).group(1)
    lines = ["curve {", f"  task: {values(config)['task']}", f"  attention: {attention}", f'  source: "{record.parent}"']
    for block in re.findall(r"^curve \{\n(.*?)^\}", text, re.M | re.S):
        point = values(block)
        numbers = f"step: {point['step']} " + " ".join(f"{name}: {float(point[name]):.4g}" for name in FIELDS if name in point)
        lines.append(f"  point {{ {numbers} }}")
    return (values(config)["task"], attention), "\n".join(lines + ["}"])


# Records of older versions have no ratios.
def records(folders):
    found = [(path, path.read_text()) for folder in folders for path in sorted(pathlib.Path(folder).glob("*/record.textproto"))]
    measured = [(path, text) for path, text in found if "\nkind: MEASURED" in text]
    return sorted(measured, key=lambda each: "update_ratio" not in each[1])


def main():
    print("# proto-file: eval/landmarks.proto\n# proto-message: lra.Landmarks\n#")
    print("# Made from docs/records by `benchmarks/results.sh write`; a test compares.")
    chosen = {}
    for record, text in records(sys.argv[1:]):
        key, block = curve(record, text)
        chosen.setdefault(key, block)
    for key in sorted(chosen):
        print("\n" + chosen[key])


if __name__ == "__main__":
    main()
