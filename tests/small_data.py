"""Small data sets for tests in Python."""
import os, random, subprocess

SIZES = {
    "copy": ["train_examples=100", "validation_examples=20", "test_examples=20"],
    "listops": ["min_length_tokens=10", "max_length_tokens=200", "train_examples=100", "validation_examples=40",
                "test_examples=40"],
    "pathfinder32": ["images=400"], "review_halves": ["text_bytes=60", "gap_bytes=10"], "text": []}


def sets(settings):
    return [word for setting in settings for word in ("--set", setting)]


def write_reviews(folder):
    """The IMDB archive's form, with random words."""
    random.seed(1)
    for split, first in ("train", 0), ("test", 10000):
        for name, rating in ("neg", 3), ("pos", 8):
            os.makedirs(f"{folder}/aclImdb/{split}/{name}")
            films = [first + (60 if name == "pos" else 0) + i // 2 for i in range(120)]
            for i, film in enumerate(films):
                words = [f"f{film}r{i}w{random.randrange(30)}" for _ in range(random.randrange(14, 24))]
                with open(f"{folder}/aclImdb/{split}/{name}/{i}_{rating}.txt", "w") as review:
                    review.write(" ".join(words))
            with open(f"{folder}/aclImdb/{split}/urls_{name}.txt", "w") as urls:
                urls.writelines(f"http://www.imdb.com/title/tt{film}/usercomments\n" for film in films)


def prepare(lra, task):
    """Makes data/TASK in the working folder, if it is not there."""
    if os.path.exists(f"data/{task}"):
        return
    raw = ["--raw", "raw"] if task in ("text", "review_halves") else []
    if raw and not os.path.exists("raw"):
        write_reviews("raw")
    subprocess.run([lra, "data", "prepare", task, "--quiet", "--out", f"data/{task}", *raw, *sets(SIZES[task])], check=True,
                   stdout=subprocess.DEVNULL)
