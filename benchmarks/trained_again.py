#!/usr/bin/env python3
"""Whether runs on record come out the same when they are trained again, and how long that took beside what was planned.

usage: benchmarks/trained_again.py LRA docs/records/SUITE AGAIN [--out FILE.log]

AGAIN is the folder of `lra run SUITE` (or of a part of it: --shard, --reuse) by another build, on another machine or another
day. Of each run that was trained there, not reused, and has a record in both, a line says which fields of configuration, data, results and curve
`lra diff` finds unlike, and whom the two were made by. Circumstances are not compared, nor where a setting came from
(provenance) and the digest of the weights' file, which describes its configuration and grows with it. Exit code 1 if
anything else differs.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

NOT_COMPARED = re.compile(r"provenance\b|weights_sha256$")
# What records of before have not counted (docs/results_format.md), which `lra diff` finds unset in them.
COUNTED_LATER = re.compile(r"results\[[^]]*\]\.(exact|sequences|example_scores\[1\]\..*)$")


def field(text, block, name):
    inside = re.search(rf"^{block} {{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)
    found = inside and re.search(rf'^  {name}: "?([^"\n]*)"?$', inside.group(1), re.MULTILINE)
    return found.group(1) if found else ""


def made_by(folder):
    text = (folder / "record.textproto").read_text()
    return {"commit": field(text, "versions", "commit"), "libtorch": field(text, "versions", "libtorch"),
            "cpu": field(text, "machine", "cpu"), "kernels": field(text, "machine", "kernels"),
            "finished_unix_seconds": int(re.search(r"^finished_unix_seconds: (\d+)$", text, re.MULTILINE).group(1))}


def seconds(path):
    """What a run was predicted to take by the clock, or took."""
    if not path.exists():
        return None
    return round(float(re.search(r"^ *wall_seconds: ([0-9.e+-]+)$", path.read_text(), re.MULTILINE).group(1)), 1)


def compare(program, before, after):
    done = subprocess.run([program, "diff", "--json", before, after], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{before.name}: lra diff ended with {done.returncode}: {done.stderr}")
    fields = [entry["field"] for entry in json.loads(done.stdout)["differences"]]
    return [field for field in fields if not NOT_COMPARED.match(field) and not COUNTED_LATER.match(field)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("kept", type=pathlib.Path)
    parser.add_argument("again", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="a line of JSON for each run")
    options = parser.parse_args()
    lines, unknown = [], 0
    for after in sorted(path.parent for path in options.again.glob("*-s*/record.textproto")):
        before, took = options.kept / after.name, options.again / "times" / (after.name + ".textproto")
        if not took.exists():
            continue  # reused
        if not (before / "record.textproto").exists():
            unknown += 1
            continue
        plan = options.again / "plan" / (after.name.rsplit("-s", 1)[0] + ".textproto")
        lines.append({"run": after.name, "differing": compare(options.program, before, after),
                      "planned_seconds": seconds(plan), "took_seconds": seconds(took),
                      "before": made_by(before), "again": made_by(after)})
    unlike = [line for line in lines if line["differing"]]
    for line in unlike:
        print(f"{line['run']}: {', '.join(line['differing'])}")
    print(f"{len(lines)} runs trained again, {len(lines) - len(unlike)} with the same results, bit for bit"
          + (f"; {unknown} others have no record in {options.kept}" if unknown else ""))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    sys.exit(1 if unlike or not lines else 0)


if __name__ == "__main__":
    main()
