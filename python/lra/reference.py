"""Training in plain PyTorch what `lra train` trains: the same model, batches, optimiser, schedule and selection, to be read.

    config = lra.Config("listops", preset="small")
    trained = train(config, my_attention)             # my_attention(heads, head_width, longest) -> (q, k, v, keep) -> out
    lra.score(evaluate(trained.model, "test", config), "listops", name="mine")

or `python -m lra.reference listops cosformer --preset smoke`. From equal weights and without dropout the losses are those of
`lra train` but for rounding. With dropout the masks are PyTorch's own, and so are the initial weights without `weights`.

Shapes: B batch, N tokens, H heads, D head width, C classes, n examples.
"""
from __future__ import annotations

import argparse
import copy
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Optional

from lra.config import Config, Path
from lra.data import Batch, Split, loader, open
from lra.errors import need_torch
from lra.records import score

need_torch("lra.reference")
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lra import model as plain

# out [B, H, N, D] of q, k, v [B, H, N, D] and keep [B, N] bool, False at padding: what lra.check tries.
AttentionFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
# A function or module for one layer, of heads, head width and longest sequence.
MakeAttention = Callable[[int, int, int], AttentionFunction]


# --- Three attentions ---


def softmax(heads: int, head_width: int, longest: int) -> AttentionFunction:
    """Vaswani et al. 2017, eq. 1."""
    return lambda q, k, v, keep: F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :])


def normalised(q: Tensor, k: Tensor, v: Tensor, epsilon: float) -> Tensor:
    """sum_j (q_i . k_j) v_j / sum_j q_i . k_j, in O(N): the sums over j are taken first."""
    total = (q @ k.sum(2).unsqueeze(3)).clamp_min(epsilon)  # [B, H, N, 1]
    return q @ (k.transpose(2, 3) @ v) / total


def linear(heads: int, head_width: int, longest: int) -> AttentionFunction:
    """Katharopoulos et al. 2020, eqs. 4-7: phi(x) = elu(x) + 1."""
    return lambda q, k, v, keep: normalised(F.elu(q) + 1, (F.elu(k) + 1) * keep[:, None, :, None], v, 1e-30)


def cosformer(heads: int, head_width: int, longest: int) -> AttentionFunction:
    """Qin et al. 2022, eqs. 7-12: w_ij = relu(q_i) . relu(k_j) cos(pi (i - j) / 2M), M the longest sequence; the cosine of a
    difference is a sum of products."""

    def attend(q: Tensor, k: Tensor, v: Tensor, keep: Tensor) -> Tensor:
        angle = math.pi / 2 * torch.arange(q.shape[2], device=q.device).double() / longest
        turn = lambda x: torch.cat([x * angle.cos().to(x)[:, None], x * angle.sin().to(x)[:, None]], 3)
        return normalised(turn(q.relu()), turn(k.relu() * keep[:, None, :, None]), v, 1e-6)

    return attend


ATTENTIONS: dict[str, MakeAttention] = {"transformer": softmax, "linear": linear, "cosformer": cosformer}


# --- The model ---


class Layer(plain.Attention):
    """The projections of lra.model around an attention function."""

    def __init__(self, c: Any, make: MakeAttention) -> None:
        super().__init__(c)
        self.function = make(self.heads, self.head_width, c.longest_tokens)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor, x: Tensor) -> Tensor:
        return self.function(q, k, v, keep)


def make_model(config: Config, split: Split, make: MakeAttention) -> plain.Model:
    """The classifier, with initial weights from the config's seed. Raises ValueError for what is not covered here."""
    check_covered(config, split)
    c = json.loads(config._config.json(), object_hook=lambda fields: SimpleNamespace(**fields))
    defaults = {"is_pair": False, "is_real": False, "zero_is_token": False, "image_side_pixels": 0}
    c.task = SimpleNamespace(**{**defaults, **split.spec})
    longest = c.view.max_length_tokens
    if getattr(c.view, "pad_to", "") == "POWER_OF_TWO":
        longest = 1 << (longest - 1).bit_length()
    c.longest_tokens = longest + (c.model.pooling == "CLS")
    c.zero_is_padding = getattr(c.view, "zero_is_padding", False)
    plain.ATTENTIONS["python"], c.attention.name = lambda c: Layer(c, make), "python"
    torch.manual_seed(c.seed)
    model = plain.Model(c)
    set_initial_values(model, c)
    add_dropout(model, c)
    return model


def check_covered(config: Config, split: Split) -> None:
    covered = {"block.name": ["attention_mlp"], "model.norm": ["LAYER"], "model.pooled_norm": ["NO_POOLED_NORM"],
               "model.dropout_mask": ["EACH_TOKEN"], "view.target": ["LABEL"], "attention.dropout": [0],
               "optimizer.kind": ["ADAM"], "optimizer.decay": ["DECOUPLED"], "optimizer.decay_scope": ["MATRICES"],
               "optimizer.clip_value": [0], "optimizer.layer_rate_decay": [1], "optimizer.average_decay": [0],
               "optimizer.clip_scope": ["ALL_GRADIENTS"],
               "schedule.kind": ["CONSTANT", "LINEAR", "COSINE"], "train.last_batch": ["FULL_STEP"],
               "train.early_stop_evaluations": [0], "evaluation.drop_last": [False],
               "evaluation.selection": ["BEST_VALIDATION"], "numerics.precision": ["FP32"]}
    for name, values in covered.items():
        if name in config and config[name] not in values:
            raise ValueError(f"{name} is {config[name]}; lra.reference has {', '.join(map(str, values))}")
    if split.spec.get("metric_name", "") not in ("", "accuracy"):
        raise ValueError(f"the metric is {split.spec['metric_name']}; lra.reference has accuracy")


def set_initial_values(model: nn.Module, c: Any) -> None:
    """Glorot uniform for maps, LeCun normal for the head and for real inputs, 0 for biases; a module attention keeps its own."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=c.model.embedding_stddev if name == "embedding.token" else 0.02)
        elif isinstance(module, nn.Linear) and ".function" not in name and c.model.initial_values == "GLOROT":
            if name.startswith(("head.", "embedding.")):
                nn.init.normal_(module.weight, std=module.in_features ** -0.5)
            else:
                nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def add_dropout(model: nn.Module, c: Any) -> None:
    """After the embedding, the attention and both layers of the MLP; lra.model is written for evaluation and has none."""
    drop = lambda module, _, out: F.dropout(out, c.model.dropout, module.training)
    if c.model.embedding_dropout:
        model.embedding.register_forward_hook(lambda module, _, out: (drop(module, None, out[0]), out[1]))
    for module in list(model.modules()):
        if isinstance(module, plain.AttentionMlp):
            for part in module.attention, module.mlp["projection"]:
                part.register_forward_hook(drop)
            module.mlp["projection"].register_forward_pre_hook(lambda part, inputs: drop(part, None, inputs[0]))


def logits_of(model: nn.Module, batch: Batch) -> Tensor:
    """[B, C]"""
    return model(batch.inputs, batch.keep, batch.ids_b, batch.keep_b)


# --- Training ---


def learning_rate(config: Config, step: int) -> float:
    """Of the step, counted from 0: up over the warm-up, then as schedule.kind says."""
    rate, total = float(config["schedule.learning_rate"]), int(config["train.steps"])
    warmup = int(config["schedule.warmup_steps"]) if "schedule.warmup_steps" in config else math.floor(
        float(config["schedule.warmup_fraction"]) * total + 0.5)
    if step < warmup:
        return rate * step / warmup
    done = min(1.0, (step - warmup) / max(1, total - warmup))
    return rate * {"CONSTANT": 1.0, "LINEAR": 1 - done, "COSINE": (1 + math.cos(math.pi * done)) / 2}[
        str(config["schedule.kind"])]


def make_optimizer(config: Config, model: nn.Module) -> torch.optim.AdamW:
    """Weights of linear maps decay; biases, norms and embeddings do not."""
    decaying = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    groups = [{"params": [p for p in model.parameters() if (id(p) in decaying) == decays],
               "weight_decay": config["optimizer.weight_decay"] if decays else 0.0} for decays in (True, False)]
    return torch.optim.AdamW(groups, lr=0.0, betas=(config["optimizer.beta1"], config["optimizer.beta2"]),
                             eps=config["optimizer.epsilon"])


def clip(parameters: list[Tensor], largest: float) -> None:
    """Scales the gradients so that their norm together is at most `largest`; 0 = no bound."""
    norm = torch.stack([p.grad.norm() for p in parameters if p.grad is not None]).norm()
    if largest > 0 and norm > largest:
        for p in parameters:
            if p.grad is not None:
                p.grad.mul_(largest / norm)


@dataclass
class Trained:
    model: nn.Module  # with the weights of the best validation
    losses: list[float] = field(default_factory=list)  # of each step's batch, before the step
    validation: dict[int, float] = field(default_factory=dict)  # accuracy, by step
    best_step: int = -1


def train(config: Config, make: MakeAttention, *, data: Path = "", weights: Path = "", device: str = "cpu",
          say: Callable[[str], None] = lambda line: None) -> Trained:
    """Trains for train.steps and keeps the weights that validate best.

    data: the folder, if it is not $LRA_DATA/TASK. weights: a file weights.safetensors of `lra export`, to start from.
    """
    batches = loader(config, data=data)
    model = make_model(config, batches.split, make)
    if weights:
        model.load_state_dict(plain.read_safetensors(weights))
    model.to(device).train()
    optimizer, parameters, trained = make_optimizer(config, model), list(model.parameters()), Trained(model)
    best: Optional[dict[str, Tensor]] = None
    steps, every = int(config["train.steps"]), int(config["train.eval_every_steps"])
    for step, batch in zip(range(steps), batches.steps()):
        batch = batch.torch(device)
        loss = F.cross_entropy(logits_of(model, batch), batch.labels)
        optimizer.zero_grad()
        loss.backward()
        clip(parameters, float(config["optimizer.clip_norm"]))
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(config, step)
        optimizer.step()
        trained.losses.append(loss.item())
        done = step + 1
        if done % every and done != steps:
            continue
        held = open(data or config.task, config, check_hashes=False)["validation"]
        seen = int(config["train.validation_examples"]) or len(held)
        logits = evaluate(model, "validation", config, data=data, device=device)
        right = logits.argmax(1) == torch.from_numpy(held.labels)
        trained.validation[done] = right[:seen].double().mean().item()
        say(f"step {done}: loss {trained.losses[-1]:.4f}, validation {100 * trained.validation[done]:.2f} %")
        if best is None or trained.validation[done] > trained.validation[trained.best_step]:
            best, trained.best_step = copy.deepcopy(model.state_dict()), done
    if best is not None:
        model.load_state_dict(best)
    return trained


@torch.no_grad()
def evaluate(model: nn.Module, split: str, config: Config, *, data: Path = "", device: str = "cpu") -> Tensor:
    """Logits [n, C] in the split's order: what lra.score takes."""
    batches = loader(config, split=split, data=data, check_hashes=False)
    was_training = model.training
    model.eval()
    logits = torch.empty(len(batches.split), batches.split.spec["classes"])
    for batch in batches:
        batch = batch.torch(device)
        logits[batch.example_ids.cpu()] = logits_of(model, batch).cpu()
    model.train(was_training)
    return logits


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m lra.reference", description="Training in plain PyTorch.")
    parser.add_argument("task")
    parser.add_argument("attention", choices=list(ATTENTIONS))
    parser.add_argument("--protocol", default="fair")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--data", default="", help="folder of the data (default: $LRA_DATA/TASK)")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    config = Config(given.task, given.attention, given.protocol, given.preset, set=given.set)
    trained = train(config, ATTENTIONS[given.attention], data=given.data, device=given.device, say=print)
    logits = evaluate(trained.model, "test", config, data=given.data, device=given.device)
    view = open(given.data or given.task, config, check_hashes=False).view
    made = score(logits, given.data or given.task, protocol=given.protocol, preset=given.preset, view=view)
    print(f"test: {made['text']}")


if __name__ == "__main__":
    main()
