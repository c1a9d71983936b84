"""Short trainings on a device that are held against each other (scripts/gpu_check)."""
import hashlib
import json
import math
import shutil
import subprocess
import time

# Bars of the losses of 50 steps on both devices, relative.
LOSS_BAR = 1e-4
# How often a training that is to be killed may end before.
KILL_TRIES = 3


def losses_of(run):
    return [json.loads(line)["train_loss"] for line in (run / "curve.jsonl").read_text().splitlines()]


def has_data(report, options):
    """Whether WORK/data has short ListOps data, which is made at its first use."""
    data = options.work / "data"
    sizes = ["--set", "train_examples=2000", "--set", "validation_examples=64", "--set", "test_examples=64"]
    if options.is_rehearsal:
        sizes = ["--set", "train_examples=160", "--set", "validation_examples=16", "--set", "test_examples=16",
                 "--set", "min_length_tokens=10", "--set", "max_length_tokens=60"]
    prepare = [options.lra, "data", "prepare", "listops", "--out", str(data), "--force", "--quiet", *sizes]
    options.has_data = options.has_data or report.run("data", prepare, 60)
    return options.has_data


def training_of(options, name, attention, steps, every, *flags):
    """The command that trains a small model on the data of has_data() in a folder of that name, which is empty, and the folder."""
    run = options.work / "runs" / name
    for old in run.parent.glob(name + "*"):
        shutil.rmtree(old, ignore_errors=True)
    return [options.lra, "train", "--task", "listops", "--attention", attention, "--preset", "smoke", "--data",
            str(options.work / "data"), "--out", str(run), "--quiet", "--no-last", "--set", f"train.steps={steps}",
            "--set", f"train.eval_every_steps={steps}", "--set", f"train.log_every_steps={every}", *flags], run


def train(report, options, name, attention, steps, every, most_seconds, *flags):
    """Trains such a model; returns the folder, or None if that fails."""
    if not has_data(report, options):
        return None
    command, run = training_of(options, name, attention, steps, every, *flags)
    return run if report.run(name, command, most_seconds) else None


def add_comparison(report, stage, expected, found, note=""):
    """A stage that says how far two lists of losses are apart; a loss that is no number is near to none."""
    furthest = float("inf")
    if len(expected) != len(found):
        outcome = f"failed: {len(expected)} losses against {len(found)}"
    elif not all(isinstance(loss, (int, float)) and math.isfinite(loss) for loss in [*expected, *found]):
        outcome = "failed: a loss is not finite"
    else:
        furthest = max((abs(a - b) / abs(a) for a, b in zip(expected, found)), default=furthest)
        outcome = "ok" if furthest <= LOSS_BAR else f"failed: losses differ by {furthest:.1e}, at most {LOSS_BAR:.0e}"
    report.add(stage, ["compare"], outcome, 0, f"largest relative difference {furthest:.1e}{note}")


# A stem, filters in front of q, k and v, and rotary positions, as protocol strong has them.
FILTERS = ("model.stem_tokens=7", "model.attention_filter_tokens=3", "model.positions=ROTARY")


def flags_of(sets):
    return [flag for value in sets for flag in ("--set", value)]


def compare_losses(report, options, attention, *sets):
    """50 steps on the CPU and on the device: the same weights, batches and masks, so the same losses."""
    steps = 4 if options.is_rehearsal else 50
    threads = ("--threads", "2")
    name = " ".join([attention, *sets])
    runs = [train(report, options, f"{name} on {device}", attention, steps, 1, 90, "--device", device, *threads, *flags_of(sets))
            for device in ("cpu", options.device)]
    if all(runs):
        add_comparison(report, f"{name}: {steps} losses", losses_of(runs[0]), losses_of(runs[1]))


def seconds_of(run):
    record = json.loads((run / "record.json").read_text())
    return record["efficiency"]["wall_seconds"]


def compare_graphs(report, options):
    """Steps that are asked for operator by operator against steps that are repeated as graphs: losses, and the time of both.
    Between the curve's points, which are read, lie many that are not; without a plug-in this fails by its reason."""
    steps, every = (16, 8) if options.is_rehearsal else (300, 50)
    for attention, *sets in (("transformer",), ("linear",), ("cosformer",), ("linear", *FILTERS), ("linear", "schedule.kind=ONE_CYCLE"),
                             ("linear", "optimizer.kind=RADAM"), ("linear", "optimizer.average_decay=0.9"),
                             ("transformer", "view.target=NEXT", "attention.causal=true")):
        name = " ".join([attention, *sets])
        runs = [train(report, options, f"{name} graphs {graphs}", attention, steps, every, 60, "--device", options.device,
                      "--graphs", graphs, *flags_of(sets)) for graphs in ("off", "on")]
        if not all(runs):
            continue
        times = [seconds_of(run) for run in runs]
        repeated = json.loads((runs[1] / "record.json").read_text())["efficiency"].get("graph_steps", 0)
        note = f"; {times[0]:.2f} s without graphs, {times[1]:.2f} s with; {repeated} of {steps} steps repeated"
        add_comparison(report, f"{name}: graphs", losses_of(runs[0]), losses_of(runs[1]), note)
        if int(repeated) == 0:
            report.add(f"{name}: graphs are used", ["compare"], "failed: no step was repeated", 0, "")


def compare_at_once(report, options):
    """Seeds one after the other against all at once: the losses of each, and the time of all."""
    steps, every = (6, 3) if options.is_rehearsal else (200, 50)
    seeds = range(2 if options.is_rehearsal else 5)
    for graphs in ("off", "on"):
        found, times = [], []
        for at_once in (1, len(seeds)):
            name = f"{len(seeds)} seeds, {at_once} at once, graphs {graphs}"
            run = train(report, options, name, "linear", steps, every, 120, "--device", options.device, "--graphs", graphs,
                        "--seeds", f"0-{seeds[-1]}", "--at-once", str(at_once))
            if run is None:
                break
            times.append(report.stages[-1]["seconds"])
            found.append([loss for seed in seeds for loss in losses_of(run.with_name(f"{run.name}-s{seed}"))])
        if len(found) == 2:
            note = f"; {times[0]} s one after the other, {times[1]} s at once"
            add_comparison(report, f"{len(seeds)} seeds at once, graphs {graphs}", *found, note)


def add_equality(report, stage, runs, steps):
    """A stage that says whether runs left the same bits: weights after so many steps, and the curve."""
    def hash_of(run):
        parts = (run / f"checkpoint/step-{steps}/weights.safetensors", run / "curve.jsonl")
        return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()

    try:
        hashes = [hash_of(run) for run in runs]
        outcome = "ok" if len(set(hashes)) == 1 else "failed: other bits"
        report.add(stage, ["compare"], outcome, 0, "\n".join(f"{one} {run.name}" for one, run in zip(hashes, runs)))
    except OSError as error:
        report.add(stage, ["compare"], f"failed: {error}", 0, "")


def compare_repeat(report, options):
    """One training twice: dropout, fused kernels and graphs give the same bits."""
    steps = 12 if options.is_rehearsal else 100
    runs = [train(report, options, f"repeat {number}", "transformer", steps, steps // 2, 60, "--device", options.device)
            for number in (1, 2)]
    if all(runs):
        add_equality(report, "the same bits again", runs, steps)


def kill_at_checkpoint(report, command, run):
    """Kills a training once its first checkpoint is on disk; returns whether it had ended before."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    latest = run / "checkpoint/latest"
    while process.poll() is None and not latest.exists() and time.monotonic() < began + 60 * report.patience and report.seconds_left() > 0:
        time.sleep(0.01)
    process.kill()
    process.wait()
    return (run / "record.json").exists()


def kill_training(report, options, steps, saved, *flags):
    """Trains a small model and kills it under way; returns the command and the folder, or None. What ends before this process
    comes to look, as on a busy machine, is begun again."""
    began = time.monotonic()
    for _ in range(KILL_TRIES):
        command, run = training_of(options, "killed", "linear", steps, saved, *flags)
        has_ended = kill_at_checkpoint(report, command, run)
        if not has_ended:
            break
    was_under_way = not has_ended and (run / "checkpoint/latest").exists()
    outcome = "ok" if was_under_way else "failed: it was not under way with a checkpoint"
    return (command, run) if report.add("killed", command, outcome, time.monotonic() - began, "") else None


def compare_killed(report, options):
    """A training that is killed by SIGKILL and resumed leaves the bits of one that is not. Without graphs: a resumed run captures
    them at other steps."""
    steps, saved = (120, 12) if options.is_rehearsal else (300, 20)
    flags = ("--device", options.device, "--graphs", "off", "--checkpoint-every", str(saved))
    undisturbed = train(report, options, "undisturbed", "linear", steps, saved, 60, *flags)
    if not undisturbed:
        return
    killed = kill_training(report, options, steps, saved, *flags)
    if killed and report.run("resumed", [*killed[0], "--resume"], 60):
        add_equality(report, "killed and resumed", (undisturbed, killed[1]), steps)


def sanitize(report, options, attention, *sets):
    """A few steps in which each access to the card's memory is checked, where CUDA's tool for that is there: our kernels have no
    other guard against a write beside their tensors that happens to change nothing. LibTorch gives each tensor memory of its own
    meanwhile: in its pools a write beside one tensor is a write into the next. And the program doesn't start itself anew."""
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        report.add(f"{attention}: compute-sanitizer", ["compute-sanitizer"], "ok", 0, "not tried: it is not installed")
        return
    if not has_data(report, options):
        return
    command, _ = training_of(options, f"sanitized {attention}", attention, 3, 1, "--device", options.device, "--graphs", "off",
                             "--threads", "2", *flags_of(sets))
    report.run(f"{attention}: compute-sanitizer",
               [tool, "--tool", "memcheck", "--target-processes", "all", "--error-exitcode", "99", *command], 240,
               {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "OMP_WAIT_POLICY": "passive"})
