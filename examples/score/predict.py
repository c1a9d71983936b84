"""Predictions of a program of your own, for `lra score`: usage: predict.py DATA OUT.npy [SPLIT]

The "model" here is a table: how often each label follows each first token in train.
"""
import glob
import sys

import numpy as np


def read(folder, split):
    """The examples of a stored split in data-set order: list of ids, array of labels."""
    tokens, labels = [], []
    for path in sorted(glob.glob(f"{folder}/{split}-*.tokens.npy")):
        ids = np.load(path)
        ends = np.load(path.replace(".tokens.", ".offsets."))
        tokens += [ids[a:b] for a, b in zip(ends[:-1], ends[1:])]
        labels.append(np.load(path.replace(".tokens.", ".labels.")))
    return tokens, np.concatenate(labels)


folder, out = sys.argv[1:3]
split = sys.argv[3] if len(sys.argv) > 3 else "test"
train_tokens, train_labels = read(folder, "train")
counts = np.zeros((65536, train_labels.max() + 1))
for ids, label in zip(train_tokens, train_labels):
    counts[ids[0], label] += 1

tokens, _ = read(folder, split)
logits = np.stack([counts[ids[0]] for ids in tokens])  # [examples, C], one row an example
np.save(out, logits)
print(f"{out}: logits {list(logits.shape)}")
