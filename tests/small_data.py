"""Small data sets for tests in Python."""
import os, random, subprocess

COUNTS = ["train_examples=100", "validation_examples=40", "test_examples=40"]
SIZES = {
    "bytes_lm": ["piece_bytes=60"], "copy": COUNTS, "listops": ["min_length_tokens=10", "max_length_tokens=200", *COUNTS],
    "near_majority": COUNTS, "pathfinder32": ["images=400"], "pathfinder64": ["images=100"], "pathfinder256": ["images=40"],
    "pathx": ["images=40"], "retrieval": [], "review_halves": ["text_bytes=60", "gap_bytes=10"], "text": []}


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


def write_papers(folder):
    """The AAN archive's form, with random words."""
    random.seed(1)
    os.makedirs(folder)
    text = lambda: " ".join(f"w{random.randrange(300)}" for _ in range(random.randrange(20, 60)))
    for split, pairs in ("train", 60), ("eval", 16), ("test", 16):
        with open(f"{folder}/new_aan_pairs.{split}.tsv", "w") as file:
            file.writelines(f"{i % 2}\t{split}{i}a\t{split}{i}b\t{text()}\t{text()}\n" for i in range(pairs))


# What writes the raw data that a task is made from.
WRITERS = {"bytes_lm": write_reviews, "retrieval": write_papers, "review_halves": write_reviews, "text": write_reviews}


def prepare(lra, task):
    """Makes data/TASK in the working folder, if it is not there."""
    if os.path.exists(f"data/{task}"):
        return
    raw = []
    if task in WRITERS:
        folder = WRITERS[task].__name__
        raw = ["--raw", folder]
        if not os.path.exists(folder):
            WRITERS[task](folder)
    subprocess.run([lra, "data", "prepare", task, "--quiet", "--out", f"data/{task}", *raw, *sets(SIZES[task])], check=True,
                   stdout=subprocess.DEVNULL)
