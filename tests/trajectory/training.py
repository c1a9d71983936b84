"""A training as `lra train` has it: steps, averaged weights, validation."""
import math
from types import SimpleNamespace

import torch

from trajectory.batches import Loader
from trajectory.model import Model
from trajectory.objectives import label_loss, pretraining_loss
from trajectory.optimizer import clip, make_optimizer, rate_and_beta1, single
from trajectory.streams import EXAMPLE_ORDER, PRETRAIN_ORDER, Stream, named_domain, permutation


def copy_of(weights):
    return {name: w.detach().clone() for name, w in weights.items()}


class Training:
    """c: the configuration, as nested namespaces; data: an lra.Data; weights: those before the first step, by name."""

    def __init__(self, c, data, weights, is_pretraining):
        self.c, self.data, self.is_pretraining = c, data, is_pretraining
        if is_pretraining:
            c.attention.causal |= c.pretrain.objective == "CAUSAL"
        self.model = Model(c, weights, int(data["train"].spec.get("image_side_pixels", 0)))
        self.optimizer = make_optimizer(c, self.model.trained(), is_pretraining)
        self.examples = Loader(c, data["train"], PRETRAIN_ORDER if is_pretraining else EXAMPLE_ORDER)
        self.validation = Loader(c, data["validation"])
        self.loss = pretraining_loss if is_pretraining else label_loss
        self.reductions = self.updates = 0
        has_average = not is_pretraining and getattr(c.optimizer, "average_decay", 0)
        self.average = copy_of(self.model.weights) if has_average else None
        self.judged = self.model.weights  # what a validation scores and a checkpoint keeps: averaged ones where there are

    # --- Steps ---

    def ends(self):
        """Steps at which a budget ends; all but the last are those that pretraining was continued from."""
        if not self.is_pretraining:
            return [self.c.train.steps]
        budgets = [*getattr(self.c.pretrain, "continued_from_examples", []), self.c.pretrain.examples]
        return [math.ceil(examples / self.c.train.batch_examples) for examples in budgets]

    def scheduled(self, step):
        """Rate and beta1."""
        schedule = self.c.schedule
        if self.is_pretraining:
            schedule = SimpleNamespace(**vars(schedule))
            vars(schedule).pop("warmup_steps", None)
            schedule.learning_rate, schedule.warmup_fraction = self.c.pretrain.learning_rate, self.c.pretrain.warmup_fraction
            schedule.kind = "CONSTANT" if schedule.kind == "STEP" else schedule.kind
        total = next(end for end in self.ends() if end > step)
        return rate_and_beta1(schedule, self.c.optimizer, step, total, self.reductions)

    def step(self, number, batch):
        """number: from 0 on. What the curve says of the step."""
        loss, count, right = self.loss(self.model, batch, True, number)
        part = 1.0
        if self.c.train.last_batch == "BY_EXAMPLES":
            part = len(batch.example_ids) / min(self.c.train.batch_examples, len(self.examples))
        self.optimizer.zero_grad()
        (loss / count * part).backward()
        norm = clip(self.c.optimizer, [w.grad for w in self.model.trained().values()])
        rate, beta1 = self.scheduled(number)
        for group in self.optimizer.param_groups:
            group["lr"], group["betas"] = rate * group["scale"], (beta1, group["betas"][1])
        self.optimizer.step()
        if self.average is not None:
            self.move_average()
        self.judged = self.average or self.model.weights
        return SimpleNamespace(loss=float(loss.detach()) / count, right=right, count=count, norm=norm, rate=rate)

    def move_average(self):
        self.updates += 1
        keep = min(single(self.c.optimizer.average_decay), self.updates / (9 + self.updates))
        for name, w in self.model.weights.items():
            self.average[name] = keep * self.average[name] + (1 - keep) * w.detach()

    # --- Validation ---

    def score(self, loader, limit):
        """Loss and accuracy of the first `limit` examples (0: of all)."""
        parts = [self.loss(self.model, batch, False) for batch in loader.evaluation(limit)]
        loss, count, right = (sum(part) for part in zip(*parts))
        return SimpleNamespace(loss=float(loss) / count, accuracy=right / count, right=right)

    def measure_statistics(self):
        """Norms over examples take their statistics from up to 32 batches of training (evaluation.batch_statistics=PRECISE)."""
        size, n = self.c.train.batch_examples, len(self.examples)
        order = permutation(n, Stream(self.c.seed, named_domain("batch_statistics"), (0, 0, 0)))
        for i in range(max(1, min(32, n // size))):
            self.model.measured_share = 1 / (i + 1)
            self.model.logits(self.examples.batch(order[i * size:(i + 1) * size]))
        self.model.measured_share = 0.0

    @torch.no_grad()
    def validate(self):
        """Loss and accuracy with the judged weights, whose running statistics may be measured first."""
        model, trained = self.model, self.model.weights
        model.weights = self.judged
        is_precise = not self.is_pretraining and self.c.evaluation.batch_statistics == "PRECISE"
        if is_precise and any("running_" in name for name in model.weights):
            self.measure_statistics()
        result = self.score(self.validation, self.c.train.validation_examples)
        model.weights = trained
        return result

    @torch.no_grad()
    def score_with(self, weights, split):
        """The score of given weights on a whole split, or as much of it as a run scores."""
        trained, self.model.weights = self.model.weights, weights
        result = self.score(Loader(self.c, self.data[split]), int(getattr(self.c.evaluation, "scored_examples", 0)))
        self.model.weights = trained
        return result
