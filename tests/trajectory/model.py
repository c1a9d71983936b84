"""The model: embedding, encoder of attention and MLP, pooling, heads."""
import math
from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch.nn import functional as F

from trajectory import layers
from trajectory.streams import dropout_mask, weight_mask

SECOND_TEXT_SITES = 1 << 16  # added to a place's number while the second text of a pair is read
ACTIVATIONS = {"GELU_ERF": F.gelu, "GELU_TANH": lambda x: F.gelu(x, approximate="tanh"), "RELU_MLP": torch.relu}


@dataclass
class Pass:
    """What a forward pass is for: with seed and place it decides dropout masks."""
    example_ids: list
    is_training: bool = False
    step: int = 0
    first_site: int = 0


class Model:
    """weights: float64 by name, running statistics among them, which training moves. side: of a picture, in pixels."""

    def __init__(self, c, weights, side=0):
        self.c, self.m, self.side = c, c.model, side
        self.weights = {name: w.clone().requires_grad_("running_" not in name) for name, w in weights.items()}
        self.guesses = c.view.target in ("NEXT", "MASKED")
        self.has_cls = c.view.target == "NEXT" or (c.view.target == "LABEL" and self.m.pooling == "CLS")
        self.measured_share = 0.0  # what a batch counts while evaluation.batch_statistics=PRECISE measures
        self.now = Pass([])

    def trained(self):
        return {name: w for name, w in self.weights.items() if w.requires_grad}

    # --- Parts of layers ---

    def linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"], self.weights.get(name + ".bias"))

    def norm(self, x, name, real):
        """Over channels, or over the real tokens of the batch where there are running statistics. real: [B, N], or None for x [B, E]."""
        scale, shift = self.weights[name + ".weight"], self.weights[name + ".bias"]
        if name + ".running_mean" not in self.weights:
            return F.layer_norm(x, (x.shape[-1],), scale, shift, self.m.norm_epsilon)
        mean, variance = self.weights[name + ".running_mean"], self.weights[name + ".running_var"]
        rows = x if real is None else x[real]
        if (self.now.is_training or self.measured_share) and len(rows) > 1:
            self.move_statistics(name, rows.detach())
            mean, variance = rows.mean(0), rows.var(0, unbiased=False)
        return (x - mean) / (variance + self.m.norm_epsilon).sqrt() * scale + shift

    def move_statistics(self, name, rows):
        share = self.measured_share or 0.1
        for kind, value in ("mean", rows.mean(0)), ("var", rows.var(0)):  # the running variance is unbiased
            key = f"{name}.running_{kind}"
            self.weights[key] = self.weights[key] + share * (value - self.weights[key])

    def drop(self, x, site):
        if not self.now.is_training or not self.m.dropout:
            return x
        return x * dropout_mask(self.m.dropout, self.c.seed, self.now.step, site + self.now.first_site, self.now.example_ids,
                                x.shape[1], x.shape[2], self.m.dropout_mask == "ALL_TOKENS")

    def filter(self, x, name, real):
        if self.m.mask != "NO_MASK":
            x = x * real[..., None]
        return layers.filter_tokens(x, self.weights[name], self.c.attention.causal)

    # --- Embedding and encoder ---

    def embed(self, text):
        """x [B, N, E] and which positions are real [B, N]."""
        x = self.linear(text.ids[..., None], "embedding.value") if text.ids.is_floating_point() else (
            self.weights["embedding.token.weight"][text.ids])
        real = text.keep
        if "embedding.stem.filter" in self.weights:
            y = self.filter(x, "embedding.stem.filter", real) + self.weights["embedding.stem.filter_bias"]
            x = x + self.linear(F.gelu(y), "embedding.stem.map")
        if self.has_cls:
            x = torch.cat([self.weights["embedding.cls"].expand(len(x), 1, -1), x], 1)
            as_first = self.m.cls_mask == "AS_FIRST_TOKEN" and not self.guesses
            real = torch.cat([real[:, :1] if as_first else torch.ones(len(x), 1, dtype=torch.bool), real], 1)
        x = self.with_positions(x)
        return (self.drop(x, 0) if self.m.embedding_dropout else x), real

    def with_positions(self, x):
        tokens, width, kind = x.shape[1], self.m.width, self.m.positions
        if kind == "SINUSOID":
            return x + layers.sinusoid(tokens, width)
        if kind == "LEARNED":
            return x + self.weights["embedding.position.weight"][:tokens]
        if kind == "CONCATENATED":
            return torch.cat([x, layers.sinusoid(tokens, width // 2).expand(len(x), -1, -1)], 2)
        if kind == "SINUSOID_2D":
            table = layers.sinusoid_2d(self.side, width)
            return x + (F.pad(table, (0, 0, 1, 0)) if self.has_cls else table)
        return x  # ROTARY and ALIBI belong to the attention

    def attend(self, x, real, layer):
        """x [B, N, E] -> [B, N, E]."""
        name, heads, tokens = f"encoder.layer{layer}.attention.", self.m.heads, x.shape[1]
        q, k, v = (self.linear(x, name + part).unflatten(2, (heads, -1)).transpose(1, 2) for part in ("query", "key", "value"))
        if self.m.positions == "ROTARY":
            q, k = layers.rotate(q), layers.rotate(k)
        allowed = torch.ones(len(x), 1, tokens, tokens, dtype=torch.bool)
        if self.m.mask != "NO_MASK":
            allowed = allowed & real[:, None, None, :]
        if self.c.attention.causal:
            allowed = allowed.tril()
        distance = layers.alibi(heads, tokens) if self.m.positions == "ALIBI" else torch.zeros(heads, 1, 1)
        weights = layers.ATTENTIONS[self.c.attention.name](q, k, distance, allowed)
        if self.m.mask == "OUTER":  # queries at padding see every token alike
            weights = torch.where(real[:, None, :, None], weights, 1 / tokens)
        weights = self.drop_weights(weights, 1 + 4 * layer)
        return self.linear((weights @ v).transpose(1, 2).flatten(2), name + "output")

    def drop_weights(self, weights, site):
        if not self.now.is_training or not self.c.attention.dropout:
            return weights
        return weights * weight_mask(self.c.attention.dropout, self.c.seed, self.now.step, site + self.now.first_site,
                                     self.now.example_ids, *weights.shape[1:3])

    def mlp(self, x, layer):
        name = f"encoder.layer{layer}.mlp."
        hidden = ACTIVATIONS[self.m.activation](self.linear(x, name + "hidden"))
        return self.linear(self.drop(hidden, 3 + 4 * layer), name + "projection")

    def encode(self, text):
        """x [B, N, E] and which positions are real [B, N]."""
        x, real = self.embed(text)
        is_before = self.m.norm_placement == "BEFORE"
        norm = lambda x, name, here: self.norm(x, name, real) if here else x
        for i in range(self.m.layers):
            name = f"encoder.layer{i}."
            y = norm(x, name + "attention_norm", is_before)
            if name + "attention.filter" in self.weights:
                y = self.filter(y, name + "attention.filter", real)
            x = norm(x + self.drop(self.attend(y, real, i), 2 + 4 * i), name + "attention_norm", not is_before)
            y = self.mlp(norm(x, name + "mlp_norm", is_before), i)
            x = norm(x + self.drop(y, 4 + 4 * i), name + "mlp_norm", not is_before)
        return norm(x, "encoder.norm", is_before or self.m.final_norm), real

    # --- Pooling and heads ---

    def pool(self, text):
        """[B, E]"""
        x, real = self.encode(text)
        kind, weight = self.m.pooling, real[..., None].double()
        if kind == "MEAN":
            y = (x * weight).sum(1) / weight.sum(1).clamp_min(1)
        elif kind == "MEAN_OF_ALL":
            y = x.mean(1)
        elif kind == "SUM_OVER_N":
            y = (x * weight).sum(1) / x.shape[1]
        elif kind == "LAST_TOKEN":
            y = x[torch.arange(len(x)), [int(torch.nonzero(row)[-1]) for row in real]]
        elif kind == "MAX":
            y = x.masked_fill(~real[..., None], -math.inf).amax(1)
        elif kind == "QUERY":
            scores = (x @ self.weights["encoder.query"] / math.sqrt(x.shape[2])).masked_fill(~real, -math.inf)
            y = (torch.softmax(scores, 1)[..., None] * x).sum(1)
        else:  # CLS, FIRST
            y = x[:, 0]
        return self.norm(y, "encoder.pooled_norm", None) if "encoder.pooled_norm.weight" in self.weights else y

    def pool_pair(self, texts, example_ids):
        """Each text by itself, or both at once, where norms over examples see them so: two tensors [B, E]."""
        is_over_examples = self.m.norm == "BATCH" or self.m.pooled_norm == "OVER_EXAMPLES"
        if is_over_examples and (self.measured_share or (self.now.is_training and self.m.joint_pair_statistics)):
            n = max(text.ids.shape[1] for text in texts)
            join = lambda field: torch.cat([F.pad(getattr(text, field), (0, n - text.ids.shape[1])) for text in texts])
            self.now.example_ids = example_ids + [i + 2**31 for i in example_ids]
            return self.pool(SimpleNamespace(ids=join("ids"), keep=join("keep"))).chunk(2)
        first = self.pool(texts[0])
        self.now.first_site = SECOND_TEXT_SITES
        return first, self.pool(texts[1])

    def class_head(self, x):
        activation = F.gelu if self.m.head_activation == "GELU" else torch.relu
        for name in ("head.hidden", "head.hidden2"):
            if self.m.head == "TWO_LAYERS" and name + ".weight" in self.weights:
                x = activation(self.linear(x, name))
        return self.linear(x, "head.logits")

    def guess(self, b):
        """log P or logits of guessed tokens. [G, vocabulary]"""
        x, _ = self.encode(b.texts[0])
        x = x[tuple(zip(*b.places))]  # with CLS in front, place n has seen the tokens before n
        if "head.mixture.weight" in self.weights:
            return layers.mixture(self.linear(x, "head.mixture"))
        return self.linear(x, "head.logits")

    def logits(self, b, is_training=False, step=0):
        """[B, C], or of guesses."""
        self.now = Pass(b.example_ids, is_training, step)
        if self.guesses:
            return self.guess(b)
        if len(b.texts) == 1:
            return self.class_head(self.pool(b.texts[0]))
        x, y = self.pool_pair(b.texts, b.example_ids)
        return self.class_head(torch.cat([x, y, x * y, x - y] if self.m.pair_head == "INTERACTION" else [x, y], 1))
