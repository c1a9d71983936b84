"""Learning rates, decay and clipping as lra/config.proto describes them; torch.optim makes the updates."""
import math

import numpy as np
import torch


def single(value):
    """The value that a float field of the configuration has."""
    return float(np.float32(value))


# --- Learning rates ---


def warmup_steps(schedule, total):
    if hasattr(schedule, "warmup_steps"):
        return schedule.warmup_steps
    return int(math.floor(float(np.float32(schedule.warmup_fraction) * np.float32(total)) + 0.5))


def one_cycle(rate, warmup, step, total):
    """Rate and beta1 of torch's own schedule."""
    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], betas=(0.9, 0.999))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=total, pct_start=warmup / total, anneal_strategy="linear")
    for _ in range(step):
        optimizer.step()
        schedule.step()
    return optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["betas"][0]


def rate_and_beta1(schedule, optimizer, step, total, reductions=0):
    """At a step from 0 on of `total`. reductions: how often PLATEAU has reduced the rate."""
    peak, kind, warmup = single(schedule.learning_rate), schedule.kind, warmup_steps(schedule, total)
    if kind == "ONE_CYCLE":
        return one_cycle(peak, warmup, step, total)
    rising = min(1.0, step / warmup) if warmup else 1.0
    done = min(1.0, max(0, step - warmup) / max(1, total - warmup))
    factor = {
        "CONSTANT": lambda: rising,
        "LINEAR": lambda: rising if step < warmup else 1 - done,
        "COSINE": lambda: rising if step < warmup else (1 + math.cos(math.pi * done)) / 2,
        "INVERSE_SQRT": lambda: rising / math.sqrt(max(step, warmup, 1)),
        "COSINE_CYCLE": lambda: rising * (1 + math.cos(math.pi * (max(0, step - warmup) / total % 1))) / 2,
        "STEP": lambda: rising * (single(schedule.drop_factor) if step >= schedule.drop_step else 1),
        "PLATEAU": lambda: rising * single(schedule.plateau_factor) ** reductions,
    }[kind]()
    return peak * factor, single(optimizer.beta1)


# --- Updates ---


def decays(name, weight, scope):
    """Whether weight decay acts on a parameter (OptimizerConfig.DecayScope)."""
    if scope == "ALL_PARAMETERS":
        return True
    if scope == "ALL_BUT_NORMS_AND_LAYER_BIASES":
        is_norm = "norm." in name
        return not is_norm and not (name.startswith("encoder.layer") and name.endswith(".bias"))
    # MATRICES; the map of a mixture of pixel values does not decay there either.
    left_out = ("embedding.token", "embedding.position", "head.mixture")
    return name.endswith(".weight") and weight.dim() == 2 and not name.startswith(left_out)


def depth(name, layers):
    """How many layers lie above, for optimizer.layer_rate_decay: the head 0, the embedding one more than the layers."""
    if name.startswith("embedding."):
        return layers + 1
    return layers - int(name[len("encoder.layer"):].split(".")[0]) if name.startswith("encoder.layer") else 0


def make_optimizer(c, trained, is_pretraining):
    """Of parameters by name; a group each, with the factor of its rate as "scale"."""
    o = c.optimizer
    groups = [{
        "params": [weight],
        "scale": 1.0 if is_pretraining else single(o.layer_rate_decay) ** depth(name, c.model.layers),
        "weight_decay": single(o.weight_decay) if decays(name, weight, o.decay_scope) else 0.0,
    } for name, weight in trained.items()]
    common = {"lr": 0.0, "betas": (single(o.beta1), single(o.beta2)), "eps": single(o.epsilon)}
    if o.kind == "RADAM":
        return torch.optim.RAdam(groups, decoupled_weight_decay=o.decay == "DECOUPLED", **common)
    return (torch.optim.AdamW if o.decay == "DECOUPLED" else torch.optim.Adam)(groups, **common)


def norm_of(tensors):
    return math.sqrt(sum(float(tensor.square().sum()) for tensor in tensors))


def clip(o, gradients):
    """Clips in place; the norm before it."""
    raw = norm_of(gradients)
    for gradient in gradients if o.clip_value else []:
        gradient.clamp_(-o.clip_value, o.clip_value)
    for part in [[g] for g in gradients] if o.clip_scope == "EACH_PARAMETER" else [gradients]:
        norm = norm_of(part)
        for gradient in part if o.clip_norm and norm > o.clip_norm else []:
            gradient.mul_(o.clip_norm / norm)
    return raw
