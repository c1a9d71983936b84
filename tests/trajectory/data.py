"""Data sets small enough for a training in seconds; sizes are no multiples of the batch."""
import os
import random
import subprocess

import numpy as np
from small_data import sets

WORDS = "good bad film plot dull bright the a of was is very not actor story end".split()
# Settings of tasks that are generated.
SIZES = {
    "listops": ["train_examples=331", "validation_examples=60", "test_examples=60", "min_length_tokens=5", "max_length_tokens=100"],
    "copy": ["train_examples=300", "validation_examples=40", "test_examples=40", "min_symbols=4", "max_symbols=12"],
    "near_majority": ["train_examples=61", "validation_examples=50", "test_examples=50"],
}


def some_words(draw, low, high):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(low, high)))


def write_texts(folder):
    """Labels say whether there is more good than bad; those of test are as good as random."""
    draw = random.Random(1)
    os.makedirs(folder)
    for split, examples in ("train", 61), ("test", 50):
        with open(f"{folder}/{split}.csv", "w", encoding="utf-8") as file:
            file.write("label,text\n")
            for i in range(examples):
                text = some_words(draw, 3, 14)
                label = int(text.count("good") > text.count("bad")) if split == "train" else i % 2
                file.write(f"{label},{text}\n")


def write_pairs(folder):
    draw = random.Random(2)
    os.makedirs(folder)
    for split, examples in ("train", 45), ("eval", 30), ("test", 30):
        with open(f"{folder}/new_aan_pairs.{split}.tsv", "w", encoding="utf-8") as file:
            for i in range(examples):
                file.write(f"{i % 2}.0\t{i}\t{i + 1}\tb'{some_words(draw, 2, 9)}'\tb'{some_words(draw, 2, 9)}'\n")


def write_pictures(folder):
    """6 x 6 pixels, with zeros among them (view.zero_is_padding), also in the first place."""
    draw = np.random.default_rng(1)
    os.makedirs(folder)
    for split, examples in ("train", 75), ("test", 40):
        images = draw.integers(0, 256, (examples, 6, 6)).astype("uint8")
        images[:, :2] //= 3
        images[draw.random(images.shape) < 0.3] = 0
        images[::2, 0, 0] = 0
        upper, lower = (half.astype(int).sum((1, 2)) for half in (images[:, :3], images[:, 3:]))
        labels = (lower > 1.6 * upper).astype("uint8")
        labels[:4] = 0, 1, 0, 1
        np.savez(f"{folder}/{split}.npz", images=images, labels=labels)


def commands(task):
    """Arguments of `lra data` that make a task's data, after its raw files are written."""
    if task in SIZES:
        return ["prepare", task, *sets(SIZES[task])]
    raw = f"raw_{task}"
    if task == "pictures":
        write_pictures(raw)
        return ["import", task, "--train", f"{raw}/train.npz", "--test", f"{raw}/test.npz"]
    {"text": write_texts, "retrieval": write_pairs}[task](raw)
    return ["prepare", task, "--raw", raw]


def make(lra, task):
    """The folder of a task's data in $LRA_DATA; made by the program where it is not there."""
    folder = f"{os.environ['LRA_DATA']}/{task}"
    if not os.path.exists(folder):
        subprocess.run([lra, "data", *commands(task), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return folder
