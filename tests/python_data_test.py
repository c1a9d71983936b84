#!/usr/bin/env python3
"""The package lra without PyTorch: data, batches, configurations, scores and tables are those of the program.
usage: python_data_test.py LRA BATCH_HASHES [DATA]    exit code 77 (skipped) where Python has no NumPy

DATA: a folder of data sets, each of which is read in place of the small ones that are made. The package is on PYTHONPATH.
"""
import hashlib, json, os, pathlib, pickle, subprocess, sys, tempfile, threading, time
try:
    import numpy
except ImportError as missing:
    print(f"skipped: NumPy is not installed ({missing}); python3 -m pip install numpy")
    sys.exit(77)
import lra
from small_data import SIZES, prepare

program, batch_hashes = sys.argv[1:3]
PROTOCOLS = {"fair": "small", "strong": "small", "lra2020": "lra2020", "lra2020_paper": "lra2020_paper", "s4": "s4",
             "nystrom": "nystrom"}
EPOCHS = 2
NEXT_TOKEN = "bytes_lm", "cifar_pixels", "copy", "mnist_pixels"


def run(*command, check=True):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=None if check else subprocess.PIPE, text=True)


def raised(kind, call):
    """The message of the exception that the call must raise."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def add(batch, sha256):
    """What tests/batch_hashes.cc hashes of a batch."""
    sizes = [len(batch), batch.inputs.shape[1], 0 if batch.ids_b is None else batch.ids_b.shape[1]]
    sha256.update(numpy.array(sizes, "int64").tobytes())
    for field in "ids", "ids_b", "values", "labels", "prompts", "hidden", "example_ids", "keep":
        array = getattr(batch, field)
        if array is not None:
            sha256.update(array.tobytes())


def hashes(loader):
    found = []
    for _ in range(EPOCHS):
        sha256 = hashlib.sha256()
        for batch in loader:
            add(batch, sha256)
        found.append(sha256.hexdigest())
    return found


def compare_batches(task, directory, settings):
    """Every protocol that has rules for the task: two epochs in Python and in C++, or the same refusal in both."""
    compared = 0
    settings = settings + (["attention.causal=true"] if task in NEXT_TOKEN else [])
    for protocol, preset in PROTOCOLS.items():
        made = run(batch_hashes, task, protocol, preset, directory, str(EPOCHS), *settings, check=False)
        if made.returncode:
            load = lambda: lra.loader(task, protocol, preset=preset, data=directory, set=settings)
            assert f"batch_hashes: {raised(lra.Error, load)}\n" == made.stderr, (task, protocol, made.stderr)
            continue
        loader = lra.loader(task, protocol, preset=preset, data=directory, set=settings)
        assert hashes(loader) == made.stdout.split(), (task, protocol)
        other = lra.loader(task, protocol, seed=loader.config["seed"] + 1, preset=preset, data=directory, set=settings)
        assert hashes(other) != made.stdout.split(), (task, protocol)
        compared += 1
    assert compared, task
    print(f"{task}: batches of {EPOCHS} epochs are equal under {compared} protocols", flush=True)


def try_views_of_columns():
    data = lra.open("data/listops", check_hashes=True)
    train = data["train"]
    shard = train.shards[0]
    stored = numpy.load("data/listops/train-00000-of-00001.tokens.npy")
    assert numpy.array_equal(shard["tokens"], stored) and not shard["tokens"].flags.writeable
    maps = lambda: [line.split()[0] for line in open("/proc/self/maps") if "listops/train-00000-of-00001.tokens.npy" in line]
    address = shard["tokens"].ctypes.data
    ranges = [[int(end, 16) for end in line.split("-")] for line in maps()]
    assert any(first <= address < last for first, last in ranges), "the tokens are a copy"
    kept = shard["tokens"]
    del data, train, shard
    assert numpy.array_equal(kept, stored)  # the array keeps the map


def try_split():
    data = lra.open("data/listops", {"max_length_tokens": 50})
    train = data["train"]
    assert data.view["max_length_tokens"] == 50 and list(data) == ["train", "validation", "test"]
    assert "test" in data and "foo" not in data and 3 not in data and data.get("foo") is None
    for kind in KeyError, lra.errors.InvalidArgumentError:
        assert raised(kind, lambda: data["foo"]) == 'unknown split "foo". Known: train, validation, test'
    assert len(lra.open(pathlib.Path("data/listops"))["test"]) == len(data["test"])
    ids, label = train[3]
    assert ids.dtype == numpy.int32 and len(ids) == train.lengths()[3] <= 50 and label == train.labels[3]
    assert (train[-1][0] == train[len(train) - 1][0]).all()
    assert len(list(train)) == len(train)
    raised(IndexError, lambda: train[len(train)])
    raised(IndexError, lambda: train[-len(train) - 1])
    again = pickle.loads(pickle.dumps(train))
    assert len(again) == len(train) and (again[3][0] == ids).all()
    one_thread = lra.open("data/listops", threads=1)["train"].__reduce__()
    assert one_thread[0](*one_thread[1]).__reduce__()[1][-1] == 1
    batch = train.batch([3, 0])
    assert batch.ids.shape == batch.keep.shape and (batch.ids[0, batch.keep[0]] == ids).all()
    assert list(batch.labels) == [train[3][1], train[0][1]] and not batch.ids[~batch.keep].any()
    pairs = lra.open("data/review_halves")["train"]
    (ids, ids_b), _ = pairs[0]
    assert len(ids_b) == pairs.lengths(1)[0]


def try_loader():
    loader = lra.loader("listops", batch=7, seed=3, data="data/listops")
    steps, two = loader.steps(), list(loader) + list(loader)
    for batch in two:
        assert (next(steps).example_ids == batch.example_ids).all()
    assert (next(loader.steps(1, 2)).ids == two[len(loader) + 2].ids).all()
    assert [list(b.example_ids) for b in two[:len(loader)]] == loader.plan(0)
    held = lra.loader(lra.Config("listops", set={"train.batch_examples": 7}), split="validation", data="data/listops")
    seen = [list(b.example_ids) for b in held]
    assert sorted(sum(seen, [])) == list(range(len(held.split))) and seen == [list(b.example_ids) for b in held]
    assert all(max(len(held.split[i][0]) for i in a) >= max(len(held.split[i][0]) for i in b) for a, b in zip(seen, seen[1:]))
    raised(ValueError, lambda: next(held.steps()))
    for call in (lambda: next(loader.steps(-1, -2)), lambda: next(loader.steps(0, -1)), lambda: loader.plan(-1)):
        assert "both must be at least 0" in raised(ValueError, call)
    assert lra.loader("listops", batch=7, seed=3, data=pathlib.Path("data/listops")).plan() == loader.plan()
    assert "attention" in raised(ValueError, lambda: lra.loader(loader.config, attention="linear", data="data/listops"))
    copies = next(iter(lra.loader("copy", data="data/copy", set=["attention.causal=true"])))
    assert len(copies.labels) == (copies.keep.sum(1) - copies.prompts).sum() > len(copies)


def try_errors():
    """Messages are the program's."""
    said = run(program, "config", "--task", "listops", "--attention", "linea", check=False).stderr
    message = raised(lra.errors.InvalidArgumentError, lambda: lra.Config("listops", "linea"))
    assert message in said and "linear" in message, (message, said)
    assert isinstance(lra.errors.InvalidArgumentError("x"), ValueError)
    message = raised(lra.errors.NotFoundError, lambda: lra.open("data/nothing"))
    assert "data/nothing" in message and message in run(program, "data", "verify", "data/nothing", check=False).stderr
    os.makedirs("damaged", exist_ok=True)
    for name in os.listdir("data/listops"):
        content = open(f"data/listops/{name}", "rb").read()
        open(f"damaged/{name}", "wb").write(content[:-1] + bytes([content[-1] ^ 1]) if name.startswith("train") else content)
    message = raised(lra.errors.DataLossError, lambda: lra.open("damaged")["train"])
    assert "was changed" in message, message
    raised(ValueError, lambda: lra.loader("text", data="data/listops"))


def try_config():
    flags = ["--task", "listops", "--attention", "cosformer", "--preset", "smoke", "--set", "train.steps=7"]
    printed = json.loads(run(program, "config", *flags, "--json").stdout)
    config = lra.Config("listops", "cosformer", preset="smoke", set={"train.steps": 7})
    fields = {path: field["value"] for path, field in printed["fields"].items()}
    assert set(config) == set(fields), set(config) ^ set(fields)
    for path, text in fields.items():
        value = config[path]
        same = value == float(text) if isinstance(value, float) else str(value).lower() == text.strip('"').lower()
        assert same, (path, value, text)
        assert config.provenance.get(path, "") == printed["fields"][path]["from"]
    assert config["train.steps"] == 7 and config["attention.options.scale"] and config["model.layers"] >= 1
    search = {"search.learning_rate": [0.25, 0.5], "search.budget_trials": 2, "search.select": "VALIDATION"}
    assert lra.Config("listops", set=search)["search.learning_rate"] == [0.25, 0.5]
    assert config.fingerprint == printed["config_fingerprint"] and config.cell_fingerprint == printed["cell_fingerprint"]


def try_records():
    test = lra.open("data/listops")["test"]
    logits = numpy.random.default_rng(0).normal(size=(len(test), test.spec["classes"])).astype("float32")
    made = lra.score(logits, "data/listops")
    assert made["metric"] == "accuracy" and "run" not in made, made
    right = (logits.argmax(1) == test.labels).sum()
    assert made["correct"] == right and abs(made["value"] * len(test) - right) < 1e-9, made
    numpy.save("logits.npy", logits)
    flags = ["--data", "data/listops", "--predictions", "logits.npy", "--name", "mine", "--out", "runs/theirs", "--json"]
    printed = json.loads(run(program, "score", *flags).stdout)
    order = numpy.argsort(-test.index)
    kept = lra.score(logits[order], "data/listops", name="other", index=test.index[order], out=pathlib.Path("runs/other"))
    assert kept["value"] == printed["value"] and kept["run"] == "runs/other"
    assert "logits" in raised(ValueError, lambda: lra.score(logits[:, :3], "data/listops"))
    said = raised(lra.errors.InvalidArgumentError, lambda: lra.score(logits[:, 0] > 0, "data/listops"))
    assert said.startswith("predictions: not a column") and "'|b1'" in said and tempfile.gettempdir() not in said, said
    said = raised(ValueError, lambda: lra.score(logits[:5], "data/listops", index=test.index[:7]))
    assert said.startswith("predictions: holds <f4") and said.endswith("5 examples; the index has 7"), said
    said = raised(ValueError, lambda: lra.score(logits[:2], "data/listops", index=numpy.zeros(2, "i8")))
    assert said == "index: row 1: the index 0 stands in row 0 already", said
    raised(FileExistsError, lambda: lra.score(logits, "data/listops", name="third", out="runs/other"))
    rows = lra.table("runs", pandas=False)
    assert {row["method"]: row["value"] for row in rows} == {"mine": rows[0]["value"], "other": rows[0]["value"]}, rows
    lines = run(program, "table", "runs", "--format", "csv").stdout.splitlines()
    assert list(rows[0]) == lines[0].split(",") and len(lines) == 1 + len(rows)
    raised(lra.errors.NotFoundError, lambda: lra.table("data"))


def try_gil():
    """Other threads run while a split is opened and batches are made."""
    counted, over = [0], threading.Event()

    def count():
        while not over.is_set():
            counted[0] += 1
            time.sleep(1e-4)

    other = threading.Thread(target=count)
    sys.setswitchinterval(100)  # nobody is interrupted: the other thread runs only while this one has let go
    other.start()

    def lets_others_run(call):
        before = counted[0]
        return any(call() is not None and counted[0] > before for _ in range(2000))

    batches = lra._lra.Batches(lra.open("data/listops")["train"]._split, lra.Config("listops")._config, 0, 0)
    holds = lets_others_run(lambda: lra._lra.config_names("tasks"))  # a call that keeps the lock
    opens, loads = lets_others_run(lambda: lra.open("data/listops")["train"]), lets_others_run(batches.next)
    sys.setswitchinterval(0.005)
    over.set()
    other.join()
    assert (holds, opens, loads) == (False, True, True)


def try_without_torch():
    """What takes PyTorch says so where there is none, and stands in nobody's way."""
    said = run(sys.executable, "-c", """
import sys
sys.modules["torch"] = None
from lra import *
import lra
assert hasattr(lra, "check")
for use in lambda: lra.check(print), lambda: __import__("lra.reference"):
    try:
        use()
    except ImportError as error:
        print(error)
""").stdout
    assert said == "".join(f"lra.{what} needs torch: python -m pip install torch\n" for what in ("check", "reference")), said


def main():
    assert "torch" not in sys.modules
    if len(sys.argv) > 3:
        for task in sorted(os.listdir(sys.argv[3])):
            compare_batches(json.loads(lra._lra.manifest_json(f"{sys.argv[3]}/{task}"))["spec"]["name"], f"{sys.argv[3]}/{task}", [])
        return
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for task in SIZES:
            prepare(program, task)
            compare_batches(task, f"data/{task}", ["train.batch_examples=8"])
        for part in try_views_of_columns, try_split, try_loader, try_errors, try_config, try_records, try_gil, try_without_torch:
            part()
            print(f"{part.__name__}: ok", flush=True)
        assert "torch" not in sys.modules
        os.chdir("/")


main()
