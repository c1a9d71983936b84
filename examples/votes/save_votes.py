"""Saves labelled sequences of ids as arrays for `lra data import`: who has more votes, A (id 1) or B (id 2)?"""
import numpy as np

random = np.random.default_rng(0)
for split, examples in {"train": 2000, "test": 200}.items():
    tokens = random.integers(1, 4, (examples, 64)).astype("uint8")
    lengths = random.integers(16, 65, examples)
    tokens[np.arange(64) >= lengths[:, None]] = 0  # behind the end
    lead = (tokens == 1).sum(1) - (tokens == 2).sum(1)
    decided = lead != 0
    np.savez(f"{split}.npz", tokens=tokens[decided], labels=(lead < 0)[decided].astype("uint8"))
