"""Trains a run again and compares what its curve, checkpoints and record say."""
import glob
import json
import os
from types import SimpleNamespace

import torch
from lra.model import read_safetensors

from trajectory.optimizer import norm_of
from trajectory.training import Training, copy_of

# Largest relative deviations; weights: of the distance that all of them have moved. Rounding of float32 gives less than half of
# these in the worst configuration, a tenth in most (docs/policy.md).
BOUNDS = {"loss": 1e-5, "gradient norm": 1e-4, "learning rate": 1e-12, "validation loss": 5e-6, "weights": 2e-4}


def namespace(value):
    return SimpleNamespace(**{k: namespace(v) for k, v in value.items()}) if isinstance(value, dict) else value


def read_weights(folder):
    """Of a checkpoint, float64 by name."""
    return {name: w.double() for name, w in read_safetensors(f"{folder}/weights.safetensors").items()}


def initial_weights(start):
    """Of a run of one step at rate 0; its step has moved running statistics, which begin with 0 and 1."""
    weights = read_weights(f"{start}/checkpoint/step-1")
    for name, w in weights.items():
        if "running_" in name:
            w.fill_(float(name.endswith("running_var")))
    return weights


def weights_after_pretraining(run, start):
    """What labels begin with: the encoder that pretraining ended with, under a new head."""
    weights = initial_weights(start)
    last = max(glob.glob(f"{run}/pretrain/checkpoint/step-*"), key=lambda path: int(path.rpartition("-")[2]))
    encoder = read_weights(last)
    # The embedding of pretraining also has the hidden token, its last row.
    return {name: encoder[name][:len(w)] if name in encoder else w for name, w in weights.items()}


def relative(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-12)


class Comparison:
    """largest: deviations by the names of BOUNDS. differs: what must be equal and is not, in words.

    run: trained with train.log_every_steps=1 and every checkpoint kept. data: an lra.Data with the run's view. weights: before the
    first step. stage: "train", or "pretrain".
    """

    def __init__(self, run, data, weights, stage):
        self.run, self.folder = run, run if stage == "train" else f"{run}/pretrain"
        with open(f"{run}/record.json", encoding="utf-8") as file:
            self.record = json.load(file)
        with open(f"{self.folder}/curve.jsonl", encoding="utf-8") as file:
            self.curve = [json.loads(line) for line in file]
        self.c, self.has_labels = namespace(self.record["config"]), stage == "train"
        self.is_accuracy = "metric_name" not in data["train"].spec  # others, of guessed tokens, fall with the loss
        self.training = Training(self.c, data, weights, stage == "pretrain")
        self.start = copy_of(self.training.model.weights)
        self.largest, self.differs = dict.fromkeys(BOUNDS, 0.0), []
        # The best value and its step; validations since then, and since the last reduction by PLATEAU; where it stops early.
        self.best, self.without_gain, self.waited, self.stopped = None, 0, 0, 0

    def is_right(self):
        return not self.differs and all(self.largest[name] <= bound for name, bound in BOUNDS.items())

    def note(self, name, deviation):
        self.largest[name] = max(self.largest[name], deviation)

    def expect(self, what, wanted, got):
        if wanted != got:
            self.differs.append(f"{what}: {wanted}, here {got}")

    def replay(self):
        """Trains as far as the run went."""
        steps = self.training.ends()[-1]
        for number, batch in zip(range(min(steps, len(self.curve))), self.training.examples.steps()):
            self.check_step(number, batch)
            self.check_validation(number + 1)
            self.check_weights(number + 1)
            if self.stopped:
                break
        self.expect("points of the curve", len(self.curve), self.stopped or steps)
        if self.has_labels:
            self.check_end()
        return self

    def check_step(self, number, batch):
        got, wanted, at = self.training.step(number, batch), self.curve[number], f"step {number + 1}"
        self.expect(at, wanted["step"], number + 1)
        self.note("loss", relative(got.loss, wanted["train_loss"]))
        self.note("gradient norm", relative(got.norm, wanted["gradient_norm"]))
        self.note("learning rate", relative(got.rate, wanted["learning_rate"]))
        self.expect(f"{at}: tokens", wanted["tokens"], batch.tokens)
        if "train_accuracy" in wanted:
            self.expect(f"{at}: right in training", round(wanted["train_accuracy"] * got.count), got.right)
        if "label_examples" in wanted and self.has_labels and not self.training.model.guesses:
            counts = torch.bincount(batch.labels, minlength=len(wanted["label_examples"])).tolist()
            self.expect(f"{at}: labels", wanted["label_examples"], counts)

    # --- Validation ---

    def check_validation(self, step):
        wanted, fixed = self.curve[step - 1], getattr(self.c.evaluation, "step", 0)
        is_due = step % self.c.train.eval_every_steps == 0 or step in [*self.training.ends(), fixed]
        self.expect(f"step {step}: validated", "validation_loss" in wanted, is_due)
        if not is_due or "validation_loss" not in wanted:
            return
        got = self.training.validate()
        self.note("validation loss", relative(got.loss, wanted["validation_loss"]))
        if "validation_accuracy" in wanted and abs(got.accuracy - wanted["validation_accuracy"]) > 1e-9:
            self.differs.append(f"step {step}: validation accuracy {wanted['validation_accuracy']}, here {got.accuracy}")
        if self.has_labels:
            self.follow(step, wanted["validation_accuracy"] if self.is_accuracy else -wanted["validation_loss"], fixed)

    def follow(self, step, value, fixed):
        """Selection, PLATEAU and early stopping: by the run's own values, whose last digits may decide."""
        if self.best is None or value > self.best[0]:
            self.best, self.without_gain, self.waited = (value, step), 0, 0
            return
        self.without_gain, self.waited = self.without_gain + 1, self.waited + 1
        if self.c.schedule.kind == "PLATEAU" and self.waited > self.c.schedule.plateau_patience_evaluations:
            self.training.reductions, self.waited = self.training.reductions + 1, 0
        patience = self.c.train.early_stop_evaluations
        if patience and self.without_gain >= patience and fixed <= step < self.c.train.steps:
            self.stopped = step

    # --- Weights ---

    def check_weights(self, step):
        path = f"{self.folder}/checkpoint/step-{step}"
        if not os.path.exists(path):
            self.differs.append(f"step {step}: there is no {path}")
            return
        kept, judged = read_weights(path), copy_of(self.training.judged)
        # During the first steps, rounding is more than a thousandth of the way.
        moved = max(norm_of(judged[name] - self.start[name] for name in kept), 1e-3 * norm_of(self.start.values()))
        for name in kept.keys() - self.idle():
            self.note("weights", float((kept[name] - judged[name]).norm()) / moved)

    def idle(self):
        """Parameters whose gradient is but rounding, such as a bias in front of a batch norm: Adam makes whole steps of it."""
        state = self.training.optimizer.state
        return {name for name, w in self.training.model.weights.items() if w in state and state[w]["exp_avg_sq"].max() < 1e-20}

    # --- The record ---

    def check_end(self):
        self.expect("stopped at step", int(self.record.get("stopped_at_step", 0)), self.stopped)
        selection = self.c.evaluation.selection
        chosen = {"LAST": len(self.curve), "FIXED_STEP": getattr(self.c.evaluation, "step", 0)}.get(selection, self.best[1])
        self.expect("selected step", int(self.record["selected_step"]), chosen)
        weights = read_weights(f"{self.run}/checkpoint/step-{self.record['selected_step']}")
        for result in self.record["results"]:
            if result.get("checkpoint", "selected") == "selected":
                self.check_score(result, dict(weights))

    def check_score(self, result, weights):
        got, split, sums = self.training.score_with(weights, result["split"]), result["split"], result["sums"]
        self.expect(f"{split}: right", int(sums["counts"]["correct"]), got.right)
        wanted = sums["totals"]["nats"] / int(sums["counts"]["targets"])
        if relative(wanted, got.loss) > BOUNDS["loss"]:
            self.differs.append(f"{split}: loss {wanted}, here {got.loss}")
