#!/usr/bin/env python3
"""lra.train trains what `lra train` trains, bit for bit; with an attention in Python it has the losses of the C++ one, and its
parameters, interruptions, errors and records are those of any run.
usage: python_train_test.py LRA    exit code 77 (skipped) where Python has no "torch" of the build's version; the package is on
PYTHONPATH
"""
import glob, json, os, signal, subprocess, sys, tempfile
import built_torch
import numpy, torch
import lra
from lra import mixer, reference
from lra.source import source_sha256
from lra.model import read_safetensors
from small_data import prepare, sets
from torch import nn
from torch.nn import functional as F

program, TOLERANCE, DATA = sys.argv[1], 1e-5, "data/listops"
SETTINGS = ["view.max_length_tokens=200", "train.log_every_steps=1", "train.eval_every_steps=10", "train.batch_examples=16",
            "schedule.learning_rate=0.003", "train.steps=20"]
INIT = "encoder.layer0.attention."


def config(attention="transformer", *more):
    return lra.Config("listops", attention, preset="smoke", set=SETTINGS + list(more))


def train(attention, out, *more, **keys):
    return lra.train(config("transformer", *more), attention, out=out, data=DATA, threads=1, quiet=True, **keys)


def call(*arguments, check=True):
    return subprocess.run([program, *arguments], check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_program(attention, out, *more):
    call("train", "--task", "listops", "--attention", attention, "--preset", "smoke", "--data", DATA, "--out", out, "--threads",
         "1", "--quiet", *sets(SETTINGS + list(more)))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def checkpoints(run):
    """Steps of the checkpoints, in order, and what is in the folders beside them."""
    names = os.listdir(f"{run}/checkpoint")
    assert not [path for path in glob.glob(f"{run}/**", recursive=True) if ".tmp-" in path]
    return sorted(int(name.partition("-")[2]) for name in names if name.startswith("step-"))


def weights(run, step):
    return read_safetensors(f"{run}/checkpoint/step-{step}/weights.safetensors")


def losses(run):
    return numpy.array([json.loads(line)["train_loss"] for line in open(f"{run}/curve.jsonl")])


def assert_same_run(a, b, step=20):
    """The same bits: weights, predictions, losses."""
    ours, theirs = weights(a, step), weights(b, step)
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours), (a, b)
    assert read(f"{a}/predictions.npy") == read(f"{b}/predictions.npy"), (a, b)
    assert (losses(a) == losses(b)).all()


def raised(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


# --- Attentions ---


def function_of(attend):
    """The attention of every layer, as lra.train takes it."""
    return lambda heads, head_width, longest: attend


class Learned(nn.Module):
    """Softmax attention with learned parts, one of each kind, and dropout of its own."""

    def __init__(self, heads, head_width, longest):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(heads, 1, 1))
        self.norm = nn.LayerNorm(head_width)
        self.map = nn.Linear(head_width, head_width)
        self.idle = nn.Linear(head_width, 2)
        self.unused = nn.Parameter(torch.ones(2))
        self.register_buffer("positions", torch.randn(longest))
        self.register_buffer("lookup", torch.arange(longest))

    def forward(self, q, k, v, keep):
        q = F.dropout(self.norm(self.map(q)), 0.1, self.training)
        out = F.scaled_dot_product_attention(self.scale * q, k, v, attn_mask=keep[:, None, None, :])
        return out + 0 * self.idle(v).sum()


class Counted(Learned):
    """At the call numbered `at`, of training or of evaluation, something happens."""

    calls = {True: 0, False: 0}
    at = (None, 0)

    def forward(self, q, k, v, keep):
        Counted.calls[self.training] += 1
        if Counted.at == (self.training, Counted.calls[self.training]):
            self.happens()
        return super().forward(q, k, v, keep)


class Interrupted(Counted):
    def happens(self):
        os.kill(os.getpid(), signal.SIGINT)


class Raising(Counted):
    def happens(self):
        raise ValueError("no such luck")


def train_until(attention, out, training=None, number=0, **keys):
    """Trains; the calls before the first step, which measure memory, are given back."""
    Counted.calls, Counted.at = {True: 0, False: 0}, (training, number)
    run = train(attention, out, **keys)
    return run, Counted.calls[True] - 20


# --- What must hold ---


def try_program():
    """Without an attention: the bits of the program."""
    run_program("cosformer", "program")
    run = lra.train(config("cosformer"), out="same", data=DATA, threads=1, quiet=True)
    assert_same_run("program", "same")
    assert (run.path, run.method, run.seed) == ("same", "cosformer", 0) and run.scores["test"]["examples"] == 40, run
    assert call("diff", "program", "same").returncode == 0
    assert str(run).startswith("cosformer seed 0: "), run


def try_copies():
    """Copies of the program's attentions have their losses."""
    for name in "linear", "transformer":
        run_program(name, f"program-{name}", "train.steps=30")
        run = train(reference.ATTENTIONS[name], f"copy-{name}", "train.steps=30")
        here, there = losses(f"copy-{name}"), losses(f"program-{name}")
        difference = abs(here - there).max()
        print(f"{name}: losses differ by {difference:.2g} at most; they go from {here[0]:.3f} to {here[-1]:.3f}", flush=True)
        assert len(here) == 30 and here.std() > 0.01 and difference < TOLERANCE, (here, there)
        assert run.method == f"python-{reference.ATTENTIONS[name].__name__}", run
        assert {key: value.shape for key, value in weights(f"copy-{name}", 30).items()} == {
            key: value.shape for key, value in weights(f"program-{name}", 30).items()}


def try_parameters():
    """Parameters are trained, counted, saved and decay as linear maps' matrices do; frozen ones and buffers are saved."""
    train(Learned, "learned", "optimizer.weight_decay=0.5", "train.steps=10")
    last, first = weights("learned", 10), Learned(2, 16, 200)
    own = {key[len(INIT) + len("function."):]: value for key, value in last.items() if key.startswith(INIT + "function.")}
    assert set(own) == {"scale", "norm.weight", "norm.bias", "map.weight", "map.bias", "idle.weight", "idle.bias",
                        "unused", "positions"}, own.keys()
    assert (own["scale"] != 1).any() and (own["norm.weight"] != 1).any() and (own["unused"] == 1).all()
    start = mixer.Mixer(Learned).layer(2, 16, 200, seed=5).module
    assert set(name for name, _ in start.named_parameters()) == set(own) - {"positions"}
    record = read("learned/record.textproto").decode()
    trained = sum(value.numel() for key, value in last.items() if not key.endswith("positions"))
    assert f"\nparameters: {trained}\n" in record, trained
    # What has no gradient moves by decay alone: under MATRICES the matrix of a linear map.
    train(Learned, "undecayed", "optimizer.weight_decay=0", "train.steps=10")
    other = weights("undecayed", 10)
    idle, bias = (INIT + f"function.idle.{part}" for part in ("weight", "bias"))
    ratio = last[idle] / other[idle]
    assert ratio.max() < 0.999 and ratio.max() - ratio.min() < 1e-4 and torch.equal(last[bias], other[bias]), ratio
    # Queries and keys need not be used.
    train(function_of(lambda q, k, v, keep: v), "values", "train.steps=2")


def try_interruption():
    """Ctrl-C saves; the resumed run is the undisturbed one, its random numbers included."""
    _, probes = train_until(Interrupted, "undisturbed")
    error = raised(KeyboardInterrupt, lambda: train_until(Interrupted, "interrupted", True, probes + 13))
    assert "stopped at step 13 of 20; saved in interrupted" in str(error), error
    assert 13 in checkpoints("interrupted") and not os.path.exists("interrupted/record.textproto")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run, _ = train_until(Interrupted, "interrupted", resume=True)
    assert_same_run("undisturbed", "interrupted")
    assert train(Interrupted, "interrupted", resume=True) == run


def try_error():
    """An exception ends the run with its message and keeps what was trained, but for a run that has not begun."""
    _, probes = train_until(Raising, "whole")
    for out, training, number, step in ("step", True, probes + 15, 14), ("score", False, 2, 10), ("next", True, probes + 11, 10):
        error = raised(lra.Error, lambda: train_until(Raising, out, training, number))
        assert error.code == "ABORTED" and "python-Raising: ValueError: no such luck (python_train_test.py:" in str(error), error
        assert isinstance(error.__cause__, ValueError) and error.__cause__.__traceback__ is not None
        assert checkpoints(out)[-1] == step, checkpoints(out)
        train_until(Raising, out, resume=True)
        assert_same_run("whole", out)
    raised(lra.Error, lambda: train_until(Raising, "never", True, 1))
    assert not os.path.exists("never/checkpoint")


def try_backward():
    """An exception in a backward pass, too."""

    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ArithmeticError("no way back")

    error = raised(lra.Error, lambda: train(function_of(lambda q, k, v, keep: Bad.apply(v)), "backward"))
    assert "no way back" in str(error) and isinstance(error.__cause__, ArithmeticError), error


def try_padding():
    """The mask is the batch's; what stands at padding reaches nothing, NaN neither."""
    seen = []

    def attend(q, k, v, keep):
        if torch.is_grad_enabled():
            seen.append(keep.clone())
        assert keep.dtype == torch.bool and (keep.int().diff(dim=1) <= 0).all()  # padding is on the right
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :])

    def with_nan(q, k, v, keep):
        return attend(q, k, v, keep).masked_fill(~keep[:, None, :, None], float("nan"))

    train(function_of(attend), "clean")
    steps = seen[-20:]
    batches = zip(range(20), lra.loader(config(), data=DATA).steps())
    for (_, batch), keep in zip(batches, steps):
        assert keep.sum(1).tolist() == batch.keep.sum(1).tolist(), (keep.sum(1), batch.keep.sum(1))
    assert any((~keep).any() for keep in steps)
    train(function_of(with_nan), "nan")
    assert_same_run("clean", "nan")


def try_refusals():
    """What is wrong with an attention is said before the first step."""
    value = lambda call: str(raised(lra.Error, call))
    flat = function_of(lambda q, k, v, keep: v.flatten(2))
    assert "must be [B, H, N, D] = [" in value(lambda: train(flat, "bad"))
    assert "its output is NoneType" in value(lambda: train(function_of(lambda q, k, v, keep: None), "bad"))
    shared = Learned(2, 16, 200)
    assert "returned a module that it had returned before" in value(lambda: train(function_of(shared), "bad"))
    gain = nn.Parameter(torch.ones(()))

    class Gained(nn.Module):
        def __init__(self, *sizes):
            super().__init__()
            self.own, self.gain = nn.Parameter(torch.ones(())), gain

        def forward(self, q, k, v, keep):
            return self.own * self.gain * v

    both = "parameter gain of encoder.layer1.attention is parameter gain of encoder.layer0.attention, too; layers and models cannot"
    assert both in value(lambda: train(Gained, "bad", "model.layers=2"))
    gain.requires_grad_(False)
    train(Gained, "frozen", "model.layers=2", "train.steps=2")
    assert "torch.float64; it must be" in value(lambda: train(lambda *sizes: Learned(*sizes).double(), "bad"))
    assert "attention.causal" in value(lambda: train(reference.linear, "bad", "attention.causal=true"))
    raised(TypeError, lambda: train(shared, "bad"))
    assert not os.path.exists("bad/record.textproto") and not os.path.exists("bad/checkpoint")

    class Counting(nn.Module):
        def __init__(self, *sizes):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, q, k, v, keep):
            self.calls += 1
            return v

    assert "changed its buffers" in value(lambda: train(Counting, "bad"))
    raised(lra.errors.AlreadyExistsError, lambda: train(reference.linear, "copy-linear", "train.steps=30"))
    other = value(lambda: train(reference.cosformer, "copy-linear", "train.steps=30", resume=True))
    assert "attention.options.name is cosformer, the checkpoint has linear" in other, other


def try_records():
    """A row in the tables, and what the program says where it would have to call Python."""
    rows = lra.table(["copy-linear", "program-linear", "learned"], pandas=False)
    labels = sorted((row["method"], row["label"]) for row in rows)
    assert labels == [(name, name) for name in ("linear", "python-Learned", "python-linear")], labels
    verified = call("table", "copy-linear", "--verify").stdout
    assert "files as recorded; not made anew: attention \"python\" (lra.reference.linear) lives in Python" in verified, verified
    assert "python-linear" in call("table", "copy-linear").stdout
    record = read("copy-linear/record.textproto").decode()
    assert 'function: "lra.reference.linear"' in record and f'source_sha256: "{source_sha256(reference.linear)}"' in record
    needs = "lives in Python, where this program cannot call it: lra.train("
    for words in (["eval", "copy-linear"], ["export", "copy-linear", "--pytorch", "--out", "exported"],
                  ["train", "--task", "listops", "--attention", "python"], ["attend", "copy-linear", "--out", "maps"]):
        made = call(*words, check=False)
        assert made.returncode != 0 and needs in made.stderr, (words, made.stderr)
    run = train(reference.linear, "", "train.steps=2", name="mine", seed=3)
    assert run.path.startswith("runs/listops-python-mine-smoke-") and run.path.endswith("-s3") and run.seed == 3, run


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        prepare(program, "listops")
        for attempt in (try_program, try_copies, try_parameters, try_interruption, try_error, try_backward, try_padding,
                        try_refusals, try_records):
            attempt()
            print(f"ok   {attempt.__name__}", flush=True)
        os.chdir("/")


main()
