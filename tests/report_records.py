#!/usr/bin/env python3
"""Writes made-up records for tests of the report: report_records.py FOLDER METHODS SEEDS [POINTS]
Every method is "trained" on five tasks; one learns a choice of its own, one is in print, one has a name and a
warning that are HTML. ListOps has baselines and the scores of each example; a run has attention maps and a profile.
"""
import hashlib, json, math, os, struct, sys, zlib

TASKS = {"listops": (10, 2000), "text": (2, 25000), "retrieval": (2, 17000), "image": (10, 10000), "pathfinder32": (2, 20000)}
HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
# A row of configs/published/cosformer2022.textproto.
PRINTED = "linear"
# Baselines of ListOps: the bar that each sets, and which examples it has right.
BASELINES = {"majority": ("majority class", lambda i: i % 10 == 0), "root_operator": ("root operator", lambda i: i < 400)}
# The run with maps and a profile, its maps and its profile's rows.
LOOKED_AT = "image-01-s0"
MAPS = ("all", "layer0", "layer0-head0")
PROFILE = [{"name": "1", "examples": 6000, "value": 0.5, "interval": [0.45, 0.55]}, {"name": "2", "examples": 4000, "value": 0.25}]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def curve(points, final, seed, learns):
    lines = []
    for i in range(1, points + 1):
        loss = 2.3 * math.exp(-3 * i / points) + 0.5 + 0.01 * math.sin(i + seed)
        value = final * (1 - math.exp(-4 * i / points))
        point = f'step: {10 * i} learning_rate: 0.001 train_loss: {loss:.6f} train {{ key: "accuracy" value: {value:.6f} }}'
        if i % 10 == 0:
            point += f' validation_loss: {loss + 0.1:.6f} validation {{ key: "accuracy" value: {0.97 * value:.6f} }}'
            if learns:
                for head in range(2):
                    point += f' learned {{ key: "layer0.head{head}.scale_tokens" value: {1000 - i - 3 * head - seed} }}'
        lines.append(f"curve {{ {point} }}")
    return "\n".join(lines)


def data(task):
    return f"""data {{ task: "{task}" task_version: 1 origin: "generated" is_canonical: true view_fingerprint: "{'b' * 64}"
  split_fingerprint {{ key: "test" value: "{hashlib.sha256(task.encode()).hexdigest()}" }} }}
spec {{ name: "{task}" version: 1 classes: {TASKS[task][0]} metric: ACCURACY }}"""


def results(task, correct, step, confusion, scores):
    examples = TASKS[task][1]
    return f"""results {{ split: "test" examples: {examples} step: {step} {'checkpoint: "selected"' if step >= 0 else ""}
  sums {{ counts {{ key: "correct" value: {correct} }} counts {{ key: "targets" value: {examples} }}
    totals {{ key: "nats" value: {examples}.5 }} }}
  {scores} {"".join(f"confusion: {n} " for n in confusion)} }}
selected_step: {step}"""


def record(run, method, task, seed, rank, points):
    classes, examples = TASKS[task]
    share = 1 / classes + (1 - 1 / classes) * 0.6 * (1 - rank / 40) + 0.004 * math.sin(7 * seed + rank)
    correct = int(share * examples)
    scores = write_scores(run, [i < correct for i in range(examples)]) if task == "listops" else ""
    warning = f"warning: {quoted(HOSTILE)}" if method == HOSTILE else ""
    return f"""schema_version: 2
kind: MEASURED
method: {quoted(method)}
config {{ protocol: "fair@1" preset: "small" task: "{task}" attention {{ name: {quoted(method)} dropout: 0 }}
  train {{ steps: {10 * points} batch_examples: 32 }} seed: {seed} }}
{data(task)}
seed: {seed}
parameters: {77000 + rank}
{curve(points, share, seed, rank == 1)}
{results(task, correct, 10 * points, confusion(classes, examples, correct), scores)}
machine {{ cpu: "a processor" cores: 2 memory_bytes: 8000000000 system: "a system" kernels: "avx2" }}
versions {{ lra: "0.1.0" commit: "abc" libtorch: "2.15.0" compiler: "g++" }}
efficiency {{ wall_seconds: {100 * (1 + rank):.1f} steps_per_second: 3 tokens_per_second: 90000 peak_memory_bytes: 300000000 threads: 2 }}
provenance {{ key: "train.steps" value: "--set" }}
changed_rule {{ path: "train.steps" protocol_value: "30000" value: "{10 * points}" origin: "--set" }}
{warning}
"""


def baseline(run, method):
    bar, is_right = BASELINES[method]
    right = [is_right(i) for i in range(TASKS["listops"][1])]
    return f"""schema_version: 2
kind: BASELINE
method: "{method}"
config {{ protocol: "fair@1" preset: "small" task: "listops" }}
{data("listops")}
{results("listops", sum(right), -1, [], write_scores(run, right))}
machine {{ cpu: "a processor" cores: 2 memory_bytes: 8000000000 system: "a system" }}
versions {{ lra: "0.1.0" commit: "abc" compiler: "g++" }}
description: "Knows nothing but its {bar}."
bar {{ name: "{bar}" ignores: "all but its {bar}" is_required: true }}
"""


def confusion(classes, examples, correct):
    """Labels take turns. The first `correct` examples are guessed, the others are taken for the next label."""
    def of_label(label, count):
        return (count - label + classes - 1) // classes

    counts = [0] * (classes * classes)
    for label in range(classes):
        counts[label * classes + label] = of_label(label, correct)
        counts[label * classes + (label + 1) % classes] = of_label(label, examples) - of_label(label, correct)
    return counts


def write_scores(run, is_right):
    """The score of each example, packed as in eval/example_scores.h; returns what the record says of the file."""
    digits = "".join("1" if right else "0" for right in is_right)
    size = -(-len(digits) // 8)
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},), }}".ljust(117) + "\n"
    npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    npy += int(digits.ljust(8 * size, "0"), 2).to_bytes(size, "big")
    with open(f"{run}/accuracy.npy", "wb") as file:
        file.write(npy)
    return f'example_scores {{ metric: "accuracy" file: "accuracy.npy" sha256: "{hashlib.sha256(npy).hexdigest()}" }}'


def write_record(run, write, *facts):
    os.makedirs(run)
    text = write(run, *facts)
    with open(f"{run}/record.textproto", "w") as file:
        file.write(f"{text}# sha256: {hashlib.sha256(text.encode()).hexdigest()}\n")


def png(side):
    """A grey picture with a dark diagonal."""
    rows = b"".join(b"\0" + bytes(min(255, 60 * abs(x - y)) for x in range(side)) for y in range(side))

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_maps_and_profile(run):
    """What `lra attend RUN --out RUN/maps` and `lra profile RUN --json` leave, as far as a page reads it."""
    os.makedirs(f"{run}/maps")
    for name in MAPS:
        with open(f"{run}/maps/{name}-mean.png", "wb") as file:
            file.write(png(16))
    with open(f"{run}/maps/maps.json", "w") as file:
        json.dump({"split": "test", "maps": {name: [f"{name}-mean.npy", f"{name}-mean.png"] for name in MAPS}}, file)
    with open(f"{run}/profile.json", "w") as file:
        json.dump({"metric": "accuracy", "tables": [{"by": "brightness", "definition": "quarters", "rows": PROFILE}]}, file)


def main(folder, methods, seeds, points=200):
    names = [f"method_{i:02d}" for i in range(methods - 1)] + [HOSTILE]
    names[2] = PRINTED
    for rank, method in enumerate(names):
        for task in TASKS:
            for seed in range(seeds):
                write_record(f"{folder}/{task}-{rank:02d}-s{seed}", record, method, task, seed, rank, points)
    for method in BASELINES:
        write_record(f"{folder}/baselines/listops-baseline-{method}", baseline, method)
    write_maps_and_profile(f"{folder}/{LOOKED_AT}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
