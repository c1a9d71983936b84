#!/usr/bin/env python3
"""Exported models give in plain PyTorch the logits that their runs recorded: every attention, block and choice of a model.
usage: export_test.py LRA [CASE...]    exit code 77 (skipped) where Python has no package "torch"

A case is a short run; what `lra export` writes of it must load, and all logits of test must agree.
"""
import importlib.util, json, os, re, subprocess, sys, tempfile

from small_data import prepare, sets
try:
    import numpy, torch
except ImportError as missing:
    print(f"skipped: torch is not installed ({missing}); python3 -m pip install torch numpy")
    sys.exit(77)

TOLERANCE = 1e-5  # times max(1, the largest logit)
lra, chosen = sys.argv[1], sys.argv[2:]


def option(**fields):
    return [f"attention.options.{field}={value}" for field, value in fields.items()]


def model(**fields):
    return [f"model.{field}={value}" for field, value in fields.items()]


BLOCK16, PADDED = option(block_tokens=16), ["view.pad_to=POWER_OF_TWO"]
LRA2020 = option(variant="LRA2020")
CAUSAL = ["attention.causal=true"]
# name: (attention, settings); the task is listops unless the name begins with another one.
CASES = {
    "transformer": ("transformer", []),
    "transformer-alibi-causal": ("transformer", model(positions="ALIBI") + CAUSAL),
    "transformer-rotary-cls-stem": ("transformer", model(positions="ROTARY", pooling="CLS", stem_tokens=5)),
    "transformer-learned-first-filter": (
        "transformer", model(positions="LEARNED", pooling="FIRST", attention_filter_tokens=4)),
    "transformer-none-last-causal-filters": (
        "transformer", model(positions="NO_POSITIONS", pooling="LAST_TOKEN", stem_tokens=4, attention_filter_tokens=3) + CAUSAL),
    "transformer-outer-mean-of-all": (
        "transformer", model(mask="OUTER", pooling="MEAN_OF_ALL", norm_placement="AFTER") + PADDED),
    "transformer-no-mask": ("transformer", model(mask="NO_MASK", pooling="SUM_OVER_N", activation="GELU_TANH")),
    "transformer-batch-norm": ("transformer", model(norm="BATCH", pooling="MAX", attention_bias="true")),
    "transformer-batch-norm-after": ("transformer", model(norm="BATCH", norm_placement="AFTER", head="LINEAR")),
    "transformer-pooled-norm": ("transformer", model(pooled_norm="OVER_EXAMPLES", pooling="QUERY", head_activation="GELU")),
    "transformer-positions-beside": (
        "transformer", model(positions="CONCATENATED", activation="RELU_MLP", norm_placement="AFTER", final_norm="true")),
    "local": ("local", BLOCK16),
    "local-causal": ("local", BLOCK16 + CAUSAL),
    "local-lra2020": ("local", BLOCK16 + LRA2020),
    "sparse": ("sparse", BLOCK16 + option(summary_tokens=3)),
    "sparse-strided": ("sparse", BLOCK16 + option(pattern="STRIDED")),
    "sparse-lra2020": ("sparse", BLOCK16 + option(summary_tokens=3, opens_first_token="true") + LRA2020 + model(pooling="CLS")),
    "longformer": ("longformer", option(window_tokens=5, global_tokens=2)),
    "longformer-tied": ("longformer", option(window_tokens=5, global_tokens=2, tied_global_projections="true")),
    "longformer-lra2020": ("longformer", option(window_tokens=5, global_tokens=0) + LRA2020),
    "linformer": ("linformer", option(rank=16)),
    "linformer-none": ("linformer", option(rank=16, sharing="NONE")),
    "linformer-headwise": ("linformer", option(rank=0, sharing="HEADWISE")),
    "reformer": ("reformer", option(chunk_tokens=16)),
    "reformer-deduplicated": ("reformer", option(chunk_tokens=16, is_deduplicated="true", buckets=6)),
    "reformer-causal": ("reformer", option(chunk_tokens=16, buckets=4) + CAUSAL),
    "sinkhorn": ("sinkhorn", BLOCK16),
    "sinkhorn-causal": ("sinkhorn", BLOCK16 + CAUSAL),
    "sinkhorn-lra2020": ("sinkhorn", BLOCK16 + LRA2020),
    "synthesizer": ("synthesizer", []),
    "synthesizer-random": ("synthesizer", option(mode="RANDOM") + LRA2020),
    "synthesizer-dense": ("synthesizer", option(mode="DENSE") + CAUSAL),
    "bigbird": ("bigbird", BLOCK16 + option(random_blocks=2)),
    "bigbird-lra2020": ("bigbird", BLOCK16 + option(random_blocks=2) + LRA2020),
    "linear": ("linear", []),
    "linear-alibi": ("linear", model(positions="ALIBI")),
    "linear-causal-rotary": ("linear", model(positions="ROTARY") + CAUSAL),
    "performer": ("performer", option(features=32)),
    "performer-hyperbolic-causal": ("performer", option(kernel="HYPERBOLIC", features=32) + CAUSAL),
    "performer-relu": ("performer", option(kernel="RELU")),
    "performer-lra2020": ("performer", option(features=2) + LRA2020),
    "cosformer": ("cosformer", []),
    "cosformer-length": ("cosformer", option(scale="LENGTH")),
    "relu": ("relu", []),
    "identity": ("identity", []),
    "identity-key-count": ("identity", option(normalizer="KEY_COUNT")),
    "leaky_relu": ("leaky_relu", option(slope=0.3)),
    "factorized": ("factorized", []),
    "factorized-exp-decay": ("factorized", option(feature_map="EXP", reweighting="DECAY", normalizer="SUM_PLUS", epsilon=0)),
    "factorized-random-learned-decay": (
        "factorized", option(feature_map="POSITIVE_RANDOM", reweighting="LEARNED_DECAY", normalizer="NO_NORMALIZER")),
    "factorized-learned-cosine": (
        "factorized", option(feature_map="SQUARED_RELU", scale="LEARNED", cosine_terms=3, normalizer="LENGTH_POWER")),
    "factorized-unit-cosine": ("factorized", option(feature_map="UNIT", cosine_terms=2, normalizer="SIGNED_FLOOR")),
    "factorized-leaky-decay": ("factorized", option(
        feature_map="LEAKY_RELU", leaky_slope=0.5, reweighting="DECAY", normalizer="SIGNED_FLOOR") + CAUSAL),
    "cottention": ("cottention", []),
    "cottention-value": ("cottention", option(causal_scaling="VALUE") + CAUSAL),
    "nystromformer": ("nystromformer", option(landmarks=24, convolution_tokens=5)),
    "rfa": ("rfa", option(features=16)),
    "rfa-alibi": ("rfa", option(features=16) + model(positions="ALIBI")),
    "rfa-gate": ("rfa", option(features=16, is_gated="true")),
    "rfa-arc-cosine": ("rfa", option(features=16, kernel="ARC_COSINE")),
    "fnet": ("fnet", []),
    "no_mixing": ("no_mixing", []),
    "s4d": ("s4d", option(state_size=8)),
    "s4d-mixer-legs": ("s4d", ["block.name=mixer"] + option(
        state_size=8, init="LEGS", train_input="true", state_groups=4, step_transform="SOFTPLUS")),
    "s4d-past": ("s4d", option(state_size=8, bidirectional="false")),
    "transformer-mixer": ("transformer", ["block.name=mixer"] + model(norm_placement="AFTER")),
    "gated_attention": ("none", ["block.name=gated_attention"]),
    "gated_attention-causal-after": ("none", ["block.name=gated_attention"] + model(norm_placement="AFTER") + CAUSAL),
    "dilated_convolution": ("none", ["block.name=dilated_convolution", "block.options.convolutions=5"]),
    "dilated_convolution-picture": ("none", ["block.name=dilated_convolution", "block.options.row_tokens=8"]),
    "dilated_convolution-zeros": ("none", ["block.name=dilated_convolution", "block.options.circular=false"] + CAUSAL),
}
# Other kinds of inputs; the case's name begins with the task's.
OTHERS = {
    "text-cosformer": ("cosformer", []),
    "text-batch-norm-after-mark": ("transformer", ["view.end_mark=true"] + model(norm="BATCH", norm_placement="AFTER")),
    "pathfinder32-places": ("linear", model(positions="SINUSOID_2D", pooling="CLS")),
    "pathfinder32-real": ("transformer", ["view.pixels=REAL"]),
    "pathfinder32-zero-is-padding": (
        "linear", ["view.pixels=IDS", "view.zero_is_padding=true"] + model(cls_mask="AS_FIRST_TOKEN", pooling="CLS", mask="OUTER")),
    "review_halves-linear": ("linear", []),
    "review_halves-concatenation": ("transformer", model(pair_head="CONCATENATION", pooling="FIRST", head_activation="GELU")),
}


def call(*arguments, **more):
    return subprocess.run([lra, *arguments], check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def program(folder):
    """The exported file as a module."""
    spec = importlib.util.spec_from_file_location("exported", f"{folder}/model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def difference(task, run, folder):
    """The largest difference of test logits over max(1, the largest logit), and how many examples there are."""
    config = json.load(open(f"{folder}/config.json"))
    view = f"view-{run}"
    fields = [f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in config["view"].items()]
    call("data", "export", f"data/{task}", "--split", "test", "--quiet", "--out", view, *sets(fields))
    module = program(folder)
    model, wanted = module.load(folder), numpy.load(f"{run}/predictions.npy")
    data = module.Exported(view, "test", model.config.task)
    sys.stderr = open(os.devnull, "w")  # its progress
    got = module.predict(model, data, len(wanted), len(wanted)).numpy()
    sys.stderr = sys.__stderr__
    return abs(got - wanted).max() / max(1, abs(wanted).max()), len(wanted)


def try_case(name, task, attention, settings):
    prepare(lra, task)
    lengths = ["view.max_length_tokens=200"] if task == "listops" else []
    call("train", "--task", task, "--attention", attention, "--preset", "smoke", "--quiet", "--threads", "1", "--data",
         f"data/{task}", "--out", name, *sets(["train.validation_examples=8", "train.steps=10"] + lengths + settings))
    call("export", name, "--pytorch", "--out", f"{name}-exported")
    error, examples = difference(task, name, f"{name}-exported")
    print(f"{'ok  ' if error <= TOLERANCE else 'FAIL'} {name}: {error:.2g} of {examples} examples", flush=True)
    return error <= TOLERANCE


def check_names():
    """model.py has nothing that the program lacks, and every one of its attentions and blocks has a case."""
    text = open(f"{os.path.dirname(os.path.abspath(__file__))}/../inspect/model.py").read()
    for kind, place in ("attention", 0), ("block", 1):
        covered = set(re.findall(rf'^@{kind}\("(\w+)"\)', text, re.M))
        listed = {entry["name"] for entry in json.loads(call("list", f"{kind}s", "--json"))[f"{kind}s"]}
        assert covered <= listed, (kind, covered - listed)
        tried = {attention for attention, _ in CASES.values()} if place == 0 else {"attention_mlp"} | {
            setting[11:] for _, settings in CASES.values() for setting in settings if setting.startswith("block.name=")}
        assert covered <= tried, (kind, covered - tried)


def try_program(name):
    """The exported file as a program, on ids of its own and against the run."""
    folder = f"{name}-exported"
    ids = [[11, 5, 3, 15, 0, 0], [12, 2, 2, 11, 3, 15]]
    numpy.save("ids.npy", numpy.array(ids))
    run = lambda *more: subprocess.run([sys.executable, f"{folder}/model.py", folder, *more], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
    printed = [[float(word) for word in line.split()] for line in run("--tokens", "ids.npy").stdout.splitlines()]
    module = program(folder)
    alone = module.load(folder)(torch.tensor([ids[0][:4]]))[0]  # without its padding
    assert len(printed) == 2 and torch.allclose(torch.tensor(printed[0]), alone, atol=1e-4), (printed, alone)
    for wrong, said in ([1.5, 2], "is of type float64"), ([1, 99], "the token id 99, must be 0 to"), ([1] * 201, "a row of 201 tokens"):
        numpy.save("wrong.npy", numpy.array(wrong))
        refused = subprocess.run([sys.executable, f"{folder}/model.py", folder, "--tokens", "wrong.npy"], capture_output=True, text=True)
        assert refused.returncode == 2 and said in refused.stderr, (said, refused)
    against = ["--check", f"{name}/predictions.npy", "--data", f"view-{name}"]
    assert run(*against).returncode == 0
    assert run(*against, "--float64").returncode == 0
    numpy.save("moved.npy", numpy.load(f"{name}/predictions.npy") + 1e-3)
    assert run("--check", "moved.npy", "--data", f"view-{name}").returncode == 1


def main():
    cases = [(name, "listops", *case) for name, case in CASES.items()]
    cases += [(name, name.split("-")[0], *case) for name, case in OTHERS.items()]
    check_names()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        tried = [try_case(*case) for case in cases if not chosen or case[0] in chosen]
        if os.path.exists("transformer"):
            try_program("transformer")
        os.chdir("/")
    print(f"{sum(tried)} of {len(tried)} cases agree")
    return 0 if all(tried) and tried else 1


sys.exit(main())
