"""Writes the data of a task of your own in the format of docs/format.md. usage: write_votes.py FOLDER"""
import hashlib
import os
import sys

import numpy as np

# The task: who has more votes, A (label 0) or B (label 1)? Id 0 is padding and never stored.
TOKENS = ["<pad>", "A", "B", "none"]
CLASSES, LONGEST = 2, 64
EXAMPLES = {"train": 2000, "validation": 200, "test": 200}


def example(random):
    """Ids of one example, and its label."""
    while True:
        ids = random.integers(1, len(TOKENS), random.integers(16, LONGEST + 1))
        votes_a, votes_b = (ids == 1).sum(), (ids == 2).sum()
        if votes_a != votes_b:
            return ids, int(votes_b > votes_a)


def sha256(data):
    return hashlib.sha256(data)


def write_split(folder, name, examples):
    """Writes the columns of a split as one shard; the manifest's part about it."""
    ids = [np.asarray(ids, "<u2") for ids, _ in examples]
    labels = np.array([label for _, label in examples], "<i4")
    columns = {"tokens": np.concatenate(ids).astype("u1"),  # "u1" up to 256 ids, "<u2" above
               "offsets": np.cumsum([0] + [len(row) for row in ids]).astype("<i8"),
               "labels": labels}
    content = sha256(b"".join(sha256(sha256(row.tobytes()).digest() + label.tobytes()).digest()
                              for row, label in zip(ids, labels)))
    files = ""
    for column, values in columns.items():
        file = f"{name}-00000-of-00001.{column}.npy"
        np.save(os.path.join(folder, file), values)
        with open(os.path.join(folder, file), "rb") as stream:
            data = stream.read()
        files += f'files {{ name: "{file}" size_bytes: {len(data)} sha256: "{sha256(data).hexdigest()}" }} '
    counts = " ".join(f"label_count: {n}" for n in np.bincount(labels, minlength=CLASSES))
    return (f'splits {{ name: "{name}" examples: {len(ids)} tokens: {len(columns["tokens"])} {counts} '
            f'content_fingerprint: "{content.hexdigest()}" shards {{ examples: {len(ids)} {files}}} }}\n')


def write(folder):
    os.makedirs(folder)
    names = " ".join(f'token_names: "{name}"' for name in TOKENS)
    manifest = (f'format_version: 1\norigin: "imported"\n'
                f'spec {{ name: "votes" version: 1 vocabulary_size: {len(TOKENS)} {names} '
                f'max_length_tokens: {LONGEST} classes: {CLASSES} metric: ACCURACY }}\n')
    random = np.random.default_rng(0)
    for name, count in EXAMPLES.items():
        manifest += write_split(folder, name, [example(random) for _ in range(count)])
    # The last line seals the manifest.
    manifest += f"# sha256: {sha256(manifest.encode()).hexdigest()}\n"
    with open(os.path.join(folder, "manifest.textproto"), "w") as stream:
        stream.write(manifest)


write(sys.argv[1])
