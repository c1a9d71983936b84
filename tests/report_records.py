#!/usr/bin/env python3
"""Writes made-up records for tests of the report: report_records.py FOLDER METHODS SEEDS [POINTS]
Every method is "trained" on five tasks; one learns a choice of its own, one has a name, a warning
and a description that are HTML.
"""
import hashlib, math, os, sys

TASKS = {"listops": (10, 2000), "text": (2, 25000), "retrieval": (2, 17000), "image": (10, 10000), "pathfinder32": (2, 20000)}
HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"


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


def record(method, task, seed, rank, points):
    classes, examples = TASKS[task]
    share = 1 / classes + (1 - 1 / classes) * 0.6 * (1 - rank / 40) + 0.004 * math.sin(7 * seed + rank)
    correct = int(share * examples)
    warning = f"warning: {quoted(HOSTILE)}" if method == HOSTILE else ""
    return f"""schema_version: 2
kind: MEASURED
method: {quoted(method)}
config {{ protocol: "fair@1" preset: "small" task: "{task}" attention {{ name: {quoted(method)} dropout: 0 }}
  train {{ steps: {10 * points} batch_examples: 32 }} seed: {seed} }}
data {{ task: "{task}" task_version: 1 origin: "generated" is_canonical: true view_fingerprint: "{'b' * 64}"
  split_fingerprint {{ key: "test" value: "{hashlib.sha256(task.encode()).hexdigest()}" }} }}
spec {{ name: "{task}" version: 1 classes: {classes} metric: ACCURACY }}
seed: {seed}
parameters: {77000 + rank}
{curve(points, share, seed, rank == 1)}
results {{ split: "test" examples: {examples} step: {10 * points} checkpoint: "selected"
  sums {{ counts {{ key: "correct" value: {correct} }} counts {{ key: "targets" value: {examples} }}
    totals {{ key: "nats" value: {examples}.5 }} }}
  {"".join(f"confusion: {n} " for n in confusion(classes, examples, correct))} }}
selected_step: {10 * points}
machine {{ cpu: "a processor" cores: 2 memory_bytes: 8000000000 system: "a system" kernels: "avx2" }}
versions {{ lra: "0.1.0" commit: "abc" libtorch: "2.15.0" compiler: "g++" }}
efficiency {{ wall_seconds: {100 * (1 + rank):.1f} steps_per_second: 3 tokens_per_second: 90000 peak_memory_bytes: 300000000 threads: 2 }}
provenance {{ key: "train.steps" value: "--set" }}
changed_rule {{ path: "train.steps" protocol_value: "30000" value: "{10 * points}" origin: "--set" }}
{warning}
"""


def confusion(classes, examples, correct):
    counts = [0] * (classes * classes)
    for i in range(examples):
        counts[i % classes * classes + (i % classes if i < correct else (i + 1) % classes)] += 1
    return counts


def main(folder, methods, seeds, points=200):
    names = [f"method_{i:02d}" for i in range(methods - 1)] + [HOSTILE]
    for rank, method in enumerate(names):
        for task in TASKS:
            for seed in range(seeds):
                run = f"{folder}/{task}-{rank:02d}-s{seed}"
                os.makedirs(run)
                text = record(method, task, seed, rank, points)
                with open(f"{run}/record.textproto", "w") as file:
                    file.write(f"{text}# sha256: {hashlib.sha256(text.encode()).hexdigest()}\n")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
