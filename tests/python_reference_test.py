#!/usr/bin/env python3
"""The training loop in plain PyTorch gives the losses of `lra train`: 50 steps from the same weights, without dropout.
usage: python_reference_test.py LRA    exit code 77 (skipped) where Python has no package "torch"; the package is on PYTHONPATH
"""
import json, os, re, subprocess, sys, tempfile
try:
    import numpy, torch
except ImportError as missing:
    print(f"skipped: torch is not installed ({missing}); python3 -m pip install torch numpy")
    sys.exit(77)
import lra
from lra import reference
from small_data import prepare, sets

program, STEPS, TOLERANCE = sys.argv[1], 50, 1e-5
COMMON = ["model.dropout=0", "train.log_every_steps=1", "train.eval_every_steps=25", "train.batch_examples=16",
          "schedule.learning_rate=0.003"]
# name: (task, attention, settings)
CASES = {name: ("listops", name, ["view.max_length_tokens=200"]) for name in reference.ATTENTIONS}
CASES.update({"pairs": ("review_halves", "linear", []), "pixels": ("pathfinder32", "transformer", ["view.pixels=REAL"]),
              "cls, linear schedule": ("listops", "cosformer", ["view.max_length_tokens=200", "model.pooling=CLS",
                                                                "schedule.kind=LINEAR", "model.norm_placement=AFTER"])})


def call(*arguments):
    subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)


def run_program(task, attention, settings, folder, *more):
    call("train", "--task", task, "--attention", attention, "--preset", "smoke", "--data", f"data/{task}", "--out", folder,
         "--threads", "1", "--quiet", *sets(settings + list(more)))


def try_case(number, name, task, attention, settings):
    prepare(program, task)
    settings = settings + COMMON
    # A step at rate 0 leaves the initial weights as they are.
    run_program(task, attention, settings, f"start{number}", "train.steps=1", "schedule.learning_rate=0")
    call("export", f"start{number}", "--pytorch", "--checkpoint", "last", "--out", f"exported{number}")
    run_program(task, attention, settings, f"run{number}", f"train.steps={STEPS}")
    points = [json.loads(line) for line in open(f"run{number}/curve.jsonl")]
    wanted = numpy.array([point["train_loss"] for point in points])
    config = lra.Config(task, attention, preset="smoke", set=settings + [f"train.steps={STEPS}"])
    trained = reference.train(config, reference.ATTENTIONS[attention], data=f"data/{task}",
                              weights=f"exported{number}/weights.safetensors")
    losses = numpy.array(trained.losses)
    assert len(losses) == len(wanted) == STEPS and wanted.std() > 0.01, wanted
    difference = abs(losses - wanted).max()
    accuracies = {point["step"]: point["validation_accuracy"] for point in points if "validation_accuracy" in point}
    close = set(accuracies) == set(trained.validation) and all(
        abs(accuracies[s] - trained.validation[s]) < 0.03 for s in accuracies)
    right = difference <= TOLERANCE and close
    print(f"{'ok  ' if right else 'FAIL'} {name}: losses differ by {difference:.2g} at most; they go from {losses[0]:.3f} to "
          f"{losses[-1]:.3f}; validation {trained.validation} and {accuracies}", flush=True)
    return right


def try_parts():
    """Dropout is on in training only, a module attention trains, and what is not covered is refused."""
    config = lra.Config("listops", preset="smoke", set={"train.steps": 3, "view.max_length_tokens": 200})

    class Scaled(torch.nn.Module):
        def __init__(self, heads):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(heads, 1, 1))

        def forward(self, q, k, v, keep):
            return reference.softmax(0, 0, 0)(self.scale * q, k, v, keep)

    trained = reference.train(config, lambda heads, width, longest: Scaled(heads), data="data/listops")
    scales = [p for name, p in trained.model.named_parameters() if name.endswith("function.scale")]
    assert len(scales) == config["model.layers"] and all((p != 1).any() for p in scales)
    batch = lra.open("data/listops", config)["train"].batch([0, 1, 2]).torch()
    out = lambda: reference.logits_of(trained.model, batch)
    trained.model.eval()
    assert torch.equal(out(), out())
    trained.model.train()
    assert not torch.equal(out(), out())
    logits = reference.evaluate(trained.model, "test", config, data="data/listops")
    assert lra.score(logits, "data/listops", view={"max_length_tokens": 200})["examples"] == len(logits)
    for setting in "model.norm=BATCH", "optimizer.clip_value=1", "schedule.kind=ONE_CYCLE":
        try:
            reference.train(lra.Config("listops", preset="smoke", set=[setting]), reference.softmax, data="data/listops")
            raise AssertionError(setting)
        except ValueError as error:
            assert setting.split("=")[0] in str(error), error


def try_page():
    """The code of docs/python.md runs, in the order of the page, with the smallest preset and on the CPU."""
    page = open(f"{os.path.dirname(os.path.abspath(__file__))}/../docs/python.md").read()
    names = {"logits": torch.zeros(40, 10)}
    os.environ["LRA_DATA"] = "data"
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) >= 6
    for block in blocks:
        if "lra.train(" in block and torch.__version__.partition("+")[0] != lra._lra.torch_version:
            block = block.partition("run = ")[0]
        block = block.replace('preset="small")  ', 'preset="smoke", set={"train.steps": 2})  ').replace('"cuda"', '"cpu"')
        exec(block, names)
    assert names["trained"].losses and names["logits"].shape == (40, 10)


def main():
    torch.set_num_threads(1)
    for make in reference.ATTENTIONS.values():
        report = lra.check(make(2, 8, 640))
        assert report, report
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        tried = [try_case(number, name, *case) for number, (name, case) in enumerate(CASES.items())]
        try_parts()
        try_page()
        printed = subprocess.run([sys.executable, "-m", "lra.reference", "listops", "linear", "--preset", "smoke", "--data",
                                  "data/listops", "--set", "train.steps=2"], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert "test: " in printed, printed
        os.chdir("/")
    return 0 if all(tried) else 1


sys.exit(main())
