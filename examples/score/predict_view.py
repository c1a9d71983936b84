"""Predictions on exactly what a model of ours reads: usage: predict_view.py EXPORT OUT.npz [SPLIT]

EXPORT is what `lra data export` wrote. Rows may come in any order, here a shuffled one, because
their index goes along. The "model" is a table: how often each label follows each first token.
"""
import sys

import numpy as np


class View:
    """A split of an export; a torch.utils.data.Dataset needs no more than these two methods."""

    def __init__(self, folder, split):
        load = lambda column: np.load(f"{folder}/{split}.{column}.npy", mmap_mode="r")
        self.ids, self.offsets = load("ids"), load("offsets")
        self.labels, self.index = load("labels"), load("index")

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        ids = self.ids[self.offsets[i]:self.offsets[i + 1]].astype(np.int64)  # without padding
        return ids, int(self.labels[i]), int(self.index[i])


folder, out = sys.argv[1:3]
train, split = View(folder, "train"), View(folder, sys.argv[3] if len(sys.argv) > 3 else "test")
counts = np.zeros((65536, train.labels.max() + 1), dtype=np.float32)
for ids, label, _ in train:
    counts[ids[0], label] += 1

rows = [split[i] for i in np.random.default_rng(0).permutation(len(split))]
np.savez(out, predictions=np.stack([counts[ids[0]] for ids, _, _ in rows]),
         index=np.array([index for _, _, index in rows]))
print(f"{out}: {len(rows)} rows")
