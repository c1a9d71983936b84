#!/usr/bin/env python3
"""A model that lra trained, in plain PyTorch: `lra export RUN --pytorch --out DIR` put this file beside its weights.

usage: model.py DIR --tokens IDS.npy [--tokens-b IDS_B.npy]    prints the logits of each row of token ids (or values)
       model.py DIR --check PREDICTIONS.npy --data EXPORT      compares with a run's predictions on what
                [--split test]                                 `lra data export` wrote

In a program:  model = load("DIR");  logits = model(ids, real)    # [B, N] int64, [B, N] bool -> [B, C]

The file is the same for all models; config.json says which one this is. It is written to be read: every method stands
as its definition, with dense N x N weights where these are the clearest, and computes what the fast program computes up
to rounding. It is for evaluation: there is no dropout, and initial values are those of the file.

Shapes: B batch, N tokens, H heads, D head width, E model width, M features, L longest sequence, C classes.
"""
import argparse
import json
import math
import os
import sys
import types

import torch
from torch import nn
from torch.nn import functional as F

ATTENTIONS, BLOCKS = {}, {}


def attention(name):
    return lambda made: ATTENTIONS.setdefault(name, made)


def block(name):
    return lambda made: BLOCKS.setdefault(name, made)


# --- The model ---


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.encoder = Encoder(config)
        self.head = Head(config)

    def forward(self, x, real=None, x_b=None, real_b=None):
        """x [B, N]: token ids or real values; real [B, N] bool: False at padding; x_b, real_b: the second texts of pairs.
        Returns logits [B, C]."""
        pooled = []
        for text, is_real in [(x, real)] + ([(x_b, real_b)] if self.config.task.is_pair else []):
            is_real = torch.ones_like(text, dtype=torch.bool) if is_real is None else is_real
            pooled.append(self.encoder(*self.embedding(text, is_real)))
        return self.head(*pooled)


class Embedding(nn.Module):
    """Token ids or real values -> vectors, CLS in front where the pooling asks for it, positions added."""

    def __init__(self, c):
        super().__init__()
        self.c, self.is_beside = c, c.model.positions == "CONCATENATED"
        width = c.model.width // 2 if self.is_beside else c.model.width
        if c.task.is_real:
            self.value = nn.Linear(1, width)
        else:
            self.token = nn.Embedding(c.task.vocabulary_size, width)
        if c.model.positions == "LEARNED":
            self.position = nn.Embedding(c.longest_tokens, width)
        if c.model.pooling == "CLS":
            self.cls = nn.Parameter(torch.zeros(1, 1, width))
        if c.model.stem_tokens:
            self.stem = Stem(c)

    def forward(self, x, real):
        if self.c.zero_is_padding:
            real = real & (x != 0)
        h = self.value(x.unsqueeze(-1)) if self.c.task.is_real else self.token(x)  # [B, N, E]
        if self.c.model.stem_tokens:
            h = self.stem(h, real)
        if self.c.model.pooling == "CLS":
            first = real[:, :1] if self.c.model.cls_mask == "AS_FIRST_TOKEN" else torch.ones_like(real[:, :1])
            h, real = torch.cat([self.cls.expand(len(h), 1, -1), h], 1), torch.cat([first, real], 1)
        places = self.positions(h.shape[1]).to(h)
        return (torch.cat([h, places.expand(len(h), -1, -1)], 2) if self.is_beside else h + places), real

    def positions(self, n):
        """What is added to n tokens or stands beside them: [N, E], half of that, or 0."""
        kind, width = self.c.model.positions, self.c.model.width
        if kind == "LEARNED":
            return self.position.weight[:n]
        if kind == "SINUSOID":
            return sinusoid(n, width)
        if kind == "CONCATENATED":
            return sinusoid(n, width // 2)
        if kind != "SINUSOID_2D":
            return torch.zeros(())
        side = self.c.task.image_side_pixels
        line = sinusoid(side, width // 2)
        rows, columns = line[:, None].expand(side, side, -1), line[None].expand(side, side, -1)
        table = torch.cat([rows, columns], 2).flatten(0, 1)
        return F.pad(table, (0, 0, 1, 0))[:n] if self.c.model.pooling == "CLS" else table[:n]  # CLS stands nowhere


def sinusoid(n, width):
    """Vaswani et al. 2017, section 3.5: pe[p, 2i] = sin(p / 10000^(2i / E)), pe[p, 2i + 1] the cosine. [N, E]"""
    channel = torch.arange(width)
    speed = 10000.0 ** (-(channel // 2 * 2).double() / width)
    angle = torch.arange(n).double()[:, None] * speed
    return torch.where(channel % 2 == 0, angle.sin(), angle.cos())


class Stem(nn.Module):
    """A depthwise convolution, GELU and a linear map between embedding and positions."""

    def __init__(self, c):
        super().__init__()
        width = c.model.width
        self.is_causal, self.is_masked = c.attention.causal, c.model.mask != "NO_MASK"
        self.filter = nn.Parameter(torch.zeros(c.model.stem_tokens, width))
        self.filter_bias = nn.Parameter(torch.zeros(width))
        self.map = nn.Linear(width, width)

    def forward(self, x, real):
        keep = real if self.is_masked else torch.ones_like(real)
        return x + self.map(F.gelu(filter_tokens(x, keep, self.filter, self.is_causal) + self.filter_bias))


def filter_tokens(x, keep, taps, is_causal):
    """A filter for each channel: y_n = sum_t f_t x_{n + t - before}; x [B, N, E], taps [W, E]."""
    width = len(taps)
    before = width - 1 if is_causal else width - 1 - width // 2
    x = F.pad((x * keep.unsqueeze(2)).transpose(1, 2), (before, width - 1 - before))  # [B, E, N + W - 1]
    return F.conv1d(x, taps.t().unsqueeze(1), groups=taps.shape[1]).transpose(1, 2)


class Encoder(nn.Module):
    """Layers, the norm behind them if there is one, and pooling to [B, E]."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        for i in range(c.model.layers):
            self.add_module(f"layer{i}", BLOCKS[c.block.name](c, i))
        self.has_norm = c.model.norm_placement != "AFTER" or c.model.final_norm
        if self.has_norm:
            self.norm = Norm(c)
        if c.model.pooling == "QUERY":
            self.query = nn.Parameter(torch.zeros(c.model.width))
        if c.model.pooled_norm == "OVER_EXAMPLES":
            self.pooled_norm = Norm(c, "BATCH")

    def forward(self, x, real):
        for i in range(self.c.model.layers):
            x = getattr(self, f"layer{i}")(x, real)
        x = self.norm(x) if self.has_norm else x
        pooled = self.pool(x, real)
        return self.pooled_norm(pooled) if self.c.model.pooled_norm == "OVER_EXAMPLES" else pooled

    def pool(self, x, real):
        kind, n, mask = self.c.model.pooling, x.shape[1], real.unsqueeze(2)  # [B, N, 1]
        if kind in ("CLS", "FIRST"):
            return x[:, 0]
        if kind == "LAST_TOKEN":
            last = (torch.arange(1, n + 1, device=x.device) * real).amax(1) - 1
            return x[torch.arange(len(x)), last]
        if kind == "MAX":
            return torch.where(real.any(1, True), x.masked_fill(~mask, torch.finfo(x.dtype).min).amax(1), 0)
        if kind == "QUERY":
            scores = (x @ self.query / math.sqrt(x.shape[2])).masked_fill(~real, -1e30)
            return (scores.softmax(1).unsqueeze(2) * x.masked_fill(~mask, 0)).sum(1)
        if kind == "MEAN_OF_ALL":
            return x.mean(1)
        total = x.masked_fill(~mask, 0).sum(1)
        return total / (n if kind == "SUM_OVER_N" else real.sum(1, True).clamp_min(1))


class Norm(nn.Module):
    """LAYER: Ba et al. 2016. BATCH: with the statistics that the checkpoint holds, as in every evaluation."""

    def __init__(self, c, kind=None):
        super().__init__()
        width = c.model.width
        self.epsilon, self.is_batch = c.model.norm_epsilon, (kind or c.model.norm) == "BATCH"
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        if self.is_batch:
            self.register_buffer("running_mean", torch.zeros(width))
            self.register_buffer("running_var", torch.ones(width))

    def forward(self, x):
        mean, variance = (self.running_mean, self.running_var) if self.is_batch else (
            x.mean(-1, True), x.var(-1, unbiased=False, keepdim=True))
        return (x - mean) / (variance + self.epsilon).sqrt() * self.weight + self.bias


class Head(nn.Module):
    """Pooled vectors a (and b) [B, E] -> logits [B, C]."""

    def __init__(self, c):
        super().__init__()
        m, is_pair = c.model, c.task.is_pair
        self.has_products = m.pair_head != "CONCATENATION"
        self.activation = F.gelu if m.head_activation == "GELU" else F.relu
        width = m.width * ((4 if self.has_products else 2) if is_pair else 1)
        self.hidden_names = []
        if m.head != "LINEAR":
            self.hidden, width = nn.Linear(width, m.head_width), m.head_width
            self.hidden_names = ["hidden"]
            if is_pair and not self.has_products:
                self.hidden2, width = nn.Linear(width, width // 2), width // 2
                self.hidden_names = ["hidden", "hidden2"]
        self.logits = nn.Linear(width, c.task.classes)

    def forward(self, a, b=None):
        x = a
        if b is not None:
            x = torch.cat([a, b, a * b, a - b] if self.has_products else [a, b], 1)
        for name in self.hidden_names:
            x = self.activation(getattr(self, name)(x))
        return self.logits(x)


# --- Blocks: one layer of the encoder, x [B, N, E], real [B, N] -> [B, N, E] ---


def activation_of(c):
    if c.model.activation == "RELU_MLP":
        return nn.ReLU()
    return nn.GELU(approximate="tanh" if c.model.activation == "GELU_TANH" else "none")


def keep_of(c, real):
    """Which tokens others may see."""
    return torch.ones_like(real) if c.model.mask == "NO_MASK" else real


@block("attention_mlp")
class AttentionMlp(nn.Module):
    """Vaswani et al. 2017, section 3.1; norms in front (Xiong et al. 2020) or behind."""

    def __init__(self, c, index):
        super().__init__()
        self.is_post_norm = c.model.norm_placement == "AFTER"
        self.attention_norm, self.mlp_norm = Norm(c), Norm(c)
        self.attention = ATTENTIONS[c.attention.name](c)
        self.mlp = nn.ModuleDict({"hidden": nn.Linear(c.model.width, c.model.mlp_width),
                                  "projection": nn.Linear(c.model.mlp_width, c.model.width)})
        self.activation = activation_of(c)

    def forward(self, x, real):
        mlp = lambda y: self.mlp["projection"](self.activation(self.mlp["hidden"](y)))
        if self.is_post_norm:
            h = self.attention_norm(x + self.attention(x, real))
            return self.mlp_norm(h + mlp(h))
        h = x + self.attention(self.attention_norm(x), real)
        return h + mlp(self.mlp_norm(h))


@block("mixer")
class Mixer(nn.Module):
    """Gu et al. 2022 (S4), appendix D.2: the attention alone, with norm and residual."""

    def __init__(self, c, index):
        super().__init__()
        self.is_post_norm = c.model.norm_placement == "AFTER"
        self.attention_norm = Norm(c)
        self.attention = ATTENTIONS[c.attention.name](c)

    def forward(self, x, real):
        if self.is_post_norm:
            return self.attention_norm(x + self.attention(x, real))
        return x + self.attention(self.attention_norm(x), real)


class ScaleAndOffset(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.offset = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return x * self.scale + self.offset


@block("gated_attention")
class GatedAttention(nn.Module):
    """Hua et al. 2022 ("Transformer Quality in Linear Time"), section 2.2 and appendix:
    y = x + (u * sum_j a_ij v_j) Wo,  a_ij = relu(q_i . k_j / n_i + r(i - j))^2, n_i the number of tokens that i sees,
    r(d) = rope(l, i) . rope(m, j)."""

    def __init__(self, c, index):
        super().__init__()
        width, s = c.model.width, c.block.options.key_width
        e = c.block.options.expansion_factor * width
        self.c, self.norm = c, Norm(c)
        self.gate, self.value, self.base = nn.Linear(width, e), nn.Linear(width, e), nn.Linear(width, s)
        self.query, self.key, self.output = ScaleAndOffset(s), ScaleAndOffset(s), nn.Linear(e, width)
        self.bias = nn.ParameterDict({"left": torch.zeros(s), "right": torch.zeros(s)})

    def forward(self, x, real):
        keep, is_post_norm = keep_of(self.c, real), self.c.model.norm_placement == "AFTER"
        y = (x if is_post_norm else self.norm(x)) * keep.unsqueeze(2)
        u, v, z = F.silu(self.gate(y)), F.silu(self.value(y)), F.silu(self.base(y))
        n = x.shape[1]
        seen = keep.unsqueeze(1).expand(-1, n, -1)  # [B, N, N]
        seen = seen.tril() if self.c.attention.causal else seen
        counts = seen.sum(2, True).clamp_min(1)
        bias = self.rope(self.bias["left"], n) @ self.rope(self.bias["right"], n).t()
        weights = F.relu(self.query(z) @ self.key(z).transpose(1, 2) / counts + bias).square() * seen
        total = x + self.output(u * (weights @ v))
        return self.norm(total) if is_post_norm else total

    @staticmethod
    def rope(vector, n):
        """The vector [s] turned by the angles of positions 0 .. n - 1: [N, s]."""
        left, right = vector.chunk(2)
        angles = torch.arange(n).double()[:, None] * 10000.0 ** (-torch.arange(len(left)).double() / len(left))
        cosine, sine = angles.cos().to(vector), angles.sin().to(vector)
        return torch.cat([left * cosine - right * sine, right * cosine + left * sine], 1)


class Convolution(nn.Linear):
    """The map of all taps [E, W E], and the norm in front of it or behind."""

    def __init__(self, c, taps):
        super().__init__(taps * c.model.width, c.model.width)
        self.norm = Norm(c)


@block("dilated_convolution")
class DilatedConvolutions(nn.Module):
    """Cheng et al. 2022 (CDIL-CNN), section 3: y_n = x_n + gelu(b + sum_t W_t x_{n + (t - W / 2) d}), d = 1, 2, 4, ...;
    circular: n + ... modulo the example's tokens up to its last real one. Causal: the last tap reads the token itself."""

    def __init__(self, c, index):
        super().__init__()
        o = c.block.options
        self.c, self.index, self.activation = c, index, activation_of(c)
        for i in range(o.convolutions):
            self.add_module(f"convolution{i}", Convolution(c, o.kernel_tokens))

    def forward(self, x, real):
        o, n = self.c.block.options, x.shape[1]
        keep, is_post_norm = keep_of(self.c, real), self.c.model.norm_placement == "AFTER"
        places = torch.arange(n, device=x.device)
        ends = (keep * (places + 1)).amax(1, True)  # [B, 1]
        own = o.kernel_tokens - 1 if self.c.attention.causal else o.kernel_tokens // 2
        for i in range(o.convolutions):
            convolution = getattr(self, f"convolution{i}")
            place, row = self.index * o.convolutions + i, o.row_tokens
            along_column = row > 0 and place % 2 == 1  # rows and columns of a picture in turn
            dilation = 2 ** ((place // 2 if row > 0 else place) % o.dilations) * (row if along_column else 1)
            y = (x if is_post_norm else convolution.norm(x)) * keep.unsqueeze(2)
            taps = []
            for t in range(o.kernel_tokens):
                source = places + (t - own) * dilation  # [N]
                source = source % ends.clamp_min(1) if o.circular else source.expand(len(x), -1)
                there = (source >= 0) & (source < ends) & (places < ends)
                taps.append(y.gather(1, source.clamp(0, n - 1)[..., None].expand_as(y)) * there.unsqueeze(2))
            x = x + self.activation(convolution(torch.cat(taps, 2)))
            x = convolution.norm(x) if is_post_norm else x
        return x


# --- What every attention has in common ---


class TokenMixer(nn.Module):
    """x [B, N, E], real [B, N] -> [B, N, E]."""

    def __init__(self, c):
        super().__init__()
        self.c, self.o, self.is_causal = c, c.attention.options, c.attention.causal
        if c.model.attention_filter_tokens:
            self.filter = nn.Parameter(torch.zeros(c.model.attention_filter_tokens, c.model.width))

    def forward(self, x, real):
        keep = keep_of(self.c, real)
        if self.c.model.attention_filter_tokens:
            x = filter_tokens(x, keep, self.filter, self.is_causal)
        return self.mix(x, keep)


class Attention(TokenMixer):
    """Queries, keys and values of H heads, and a map of what attend() makes of them."""
    shares_keys = False  # keys are the queries

    def __init__(self, c):
        super().__init__(c)
        m = c.model
        self.heads, self.head_width = m.heads, m.qkv_width // m.heads
        self.query = nn.Linear(m.width, m.qkv_width, m.attention_bias)
        if not self.shares_keys:
            self.key = nn.Linear(m.width, m.qkv_width, m.attention_bias)
        self.value = nn.Linear(m.width, m.qkv_width, m.attention_bias)
        self.output = nn.Linear(m.qkv_width, m.width, m.attention_bias)

    def split(self, x):
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)  # [B, H, N, D]

    def mix(self, x, keep):
        q, v = self.split(self.query(x)), self.split(self.value(x))
        k = q if self.shares_keys else self.split(self.key(x))
        if self.c.model.positions == "ROTARY":
            q, k = rotary(q), rotary(k)
        out = self.attend(q, k, v, keep, x)  # [B, H, N, D]
        if self.c.model.mask == "OUTER":  # a padded query attends to all positions alike
            out = torch.where(keep[:, None, :, None], out, v.mean(2, keepdim=True))
        return self.output(out.transpose(1, 2).flatten(2))

    def attend(self, q, k, v, keep, x):
        """q, k, v [B, H, N, D], keep [B, N] bool, x [B, N, E] -> [B, H, N, D]."""
        raise NotImplementedError

    def slopes(self, like):
        """ALiBi (Press et al. 2022, section 3): 2^(-8 h / H) of head h = 1 .. H, [H, 1, 1]; None without it."""
        if self.c.model.positions != "ALIBI":
            return None
        return (2.0 ** (-8.0 * torch.arange(1, self.heads + 1) / self.heads)).view(-1, 1, 1).to(like)


def rotary(x):
    """Su et al. 2021, eq. 34: pairs of channels turned by angles of their position. [B, H, N, D]"""
    n, width = x.shape[2:]
    speeds = 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    angles = torch.arange(n).double()[:, None] * speeds
    cosine, sine = angles.cos().to(x), angles.sin().to(x)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cosine - odd * sine, odd * cosine + even * sine], -1).flatten(-2)


def products(q, k):
    """q_i . k_j / sqrt(D): [.., N, Nk]."""
    return q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])


def softmax_over(scores, seen):
    """The softmax over the keys that a query sees; 0 in rows that see none."""
    return scores.masked_fill(~seen, -1e30).softmax(-1).masked_fill(~seen, 0)


def kept_rows(x, keep):
    """x [B, H, N, D] with 0 at padded tokens."""
    return x * keep[:, None, :, None]


def distances(n, like):
    """i - j: [N, N]."""
    places = torch.arange(n, device=like.device)
    return places[:, None] - places


def earlier(n, like):
    """Whether j <= i: [N, N] bool."""
    return distances(n, like) >= 0


# --- Softmax attentions: exact, by patterns, by learned logits ---


@attention("transformer")
class Transformer(Attention):
    """Vaswani et al. 2017, eq. 1: o_i = sum_j softmax_j(q_i . k_j / sqrt(D)) v_j."""

    def attend(self, q, k, v, keep, x):
        n, scores, slopes = q.shape[2], products(q, k), self.slopes(q)
        if slopes is not None:
            scores = scores - slopes * distances(n, q).abs()
        seen = keep[:, None, None, :] & (earlier(n, q) if self.is_causal else torch.ones_like(earlier(n, q)))
        return softmax_over(scores, seen) @ kept_rows(v, keep)


class Pattern(Attention):
    """Softmax attention over the pairs (i, j) that pairs() names."""

    def pairs(self, i, j, keep):
        """i [N, 1], j [1, N]: bool, broadcastable to [B, H, N, N]."""
        raise NotImplementedError

    def attend(self, q, k, v, keep, x):
        places = torch.arange(q.shape[2], device=q.device)
        seen = self.pairs(places[:, None], places[None, :], keep) & keep[:, None, None, :]
        if self.is_causal:
            seen = seen & earlier(q.shape[2], q)
        return softmax_over(products(q, k), seen) @ kept_rows(v, keep)


@attention("local")
class Local(Pattern):
    """Liu et al. 2018, section 4.2.3: within blocks of b tokens. LRA2020, as long-range-arena's program: a group is every
    (N' / b)-th token of the sequence with zeros up to N', and the mask is that of neighbours."""

    def pairs(self, i, j, keep):
        return i // self.o.block_tokens == j // self.o.block_tokens

    def attend(self, q, k, v, keep, x):
        if self.o.variant != "LRA2020":
            return super().attend(q, k, v, keep, x)
        n, b = q.shape[2], self.o.block_tokens
        more = b - n % b
        longer = lambda t: F.pad(t, (0, 0, 0, more))
        q, k, v = longer(q), longer(kept_rows(k, keep)), longer(kept_rows(v, keep))
        judged = F.pad(keep, (0, more), value=True).view(len(keep), -1, b).transpose(1, 2).flatten(1)
        group = torch.arange(n + more, device=q.device) % ((n + more) // b)
        seen = (group[:, None] == group) & judged[:, None, None, :]
        return (softmax_over(products(q, k), seen) @ kept_rows(v, judged))[:, :, :n]


@attention("no_mixing")
class NoMixing(Attention):
    """Each token keeps its own value."""

    def attend(self, q, k, v, keep, x):
        return kept_rows(v, keep)


@attention("sparse")
class Sparse(Pattern):
    """Child et al. 2019, sections 4.2 and 4.3, heads merged. FIXED: the own block of l, and the last c of every block;
    STRIDED: |i - j| < l or (i - j) mod l = 0. LRA2020: j <= i always, and FIXED also the first of every block."""

    def pairs(self, i, j, keep):
        o, l = self.o, self.o.block_tokens
        is_open = int(o.opens_first_token)
        a, b = i - is_open, j - is_open  # the pattern starts behind an open first token
        if o.pattern == "STRIDED":
            seen = ((a - b).abs() < l) | ((a - b) % l == 0)
        else:
            place = b % l
            summary = (place >= l - o.summary_tokens) | ((place == 0) & (o.variant == "LRA2020"))
            seen = (a.div(l, rounding_mode="floor") == b.div(l, rounding_mode="floor")) | summary
        seen = seen & (j <= i) if o.variant == "LRA2020" else seen
        return seen | (i == 0) | (j == 0) if is_open else seen


@attention("longformer")
class Longformer(Pattern):
    """Beltagy et al. 2020, section 3.1: a window of w tokens to each side, and g global tokens that see all and are seen by
    all, with projections of their own unless tied."""

    def __init__(self, c):
        super().__init__(c)
        is_lra2020, w = self.o.variant == "LRA2020", self.o.window_tokens
        self.after = w or (256 if is_lra2020 or c.longest_tokens >= 2048 else 128)
        self.before = self.after - 1 if is_lra2020 else self.after
        self.has_own = self.o.global_tokens > 0 and not self.o.tied_global_projections
        if self.has_own:
            own = lambda: nn.Linear(c.model.width, c.model.qkv_width, bias=False)
            self.global_query, self.global_key, self.global_value = own(), own(), own()

    def pairs(self, i, j, keep):
        g = self.o.global_tokens
        return ((j - i >= -self.before) & (j - i <= self.after)) | (i < g) | (j < g)

    def attend(self, q, k, v, keep, x):
        out = super().attend(q, k, v, keep, x)
        if not self.has_own:
            return out
        x = x * keep.unsqueeze(2)
        q, k, v = (self.split(map(x)) for map in (self.global_query, self.global_key, self.global_value))
        every = softmax_over(products(q, k), keep[:, None, None, :]) @ v
        is_global = torch.arange(q.shape[2], device=q.device) < self.o.global_tokens
        return torch.where(is_global[:, None], every, out)


@attention("bigbird")
class BigBird(Pattern):
    """Zaheer et al. 2020, section 2 and appendix D (ITC): the first and the last block see all and are seen by all; others
    see their neighbours, and r more: those of the lowest priority, which the weights file holds."""

    def __init__(self, c):
        super().__init__(c)
        blocks = max(1, -(-c.longest_tokens // self.o.block_tokens))
        self.register_buffer("block_priorities", torch.zeros(self.heads, blocks, blocks))

    def pairs(self, i, j, keep):
        b, n = self.o.block_tokens, keep.shape[1]
        blocks = -(-n // b)
        last = ((torch.arange(n, device=keep.device) * keep).amax(1) // b).view(-1, 1, 1, 1)  # [B, 1, 1, 1]
        places = torch.arange(blocks, device=keep.device)
        i, j = places[:, None], places[None, :]
        inside = (i <= last) & (j <= last)
        always = (i == 0) | (i == last) | (j == 0) | (j == last) | ((i - j).abs() <= 1)
        drawn = inside & ~always & ((j < 1024 // b) | (self.o.variant != "LRA2020"))
        priority = self.block_priorities[:, :blocks, :blocks].masked_fill(~drawn, math.inf)  # [B, H, blocks, blocks]
        rank = priority.argsort(-1).argsort(-1)
        seen = inside & (always | (drawn & (rank < self.o.random_blocks)))
        return seen.repeat_interleave(b, 2).repeat_interleave(b, 3)[:, :, :n, :n]


@attention("synthesizer")
class Synthesizer(Attention):
    """Tay et al. 2021, eqs. 2-6: softmax of learned logits. RANDOM: s = R; FACTORIZED_RANDOM: s = R_1 R_2^T;
    DENSE: s_i = W_2 relu(W_1 x_i + b_1) + b_2; with dot_product q . k / sqrt(D) is added."""

    def __init__(self, c):
        super().__init__(c)
        heads, longest = self.heads, c.longest_tokens
        if self.o.mode == "RANDOM":
            self.logits = nn.Parameter(torch.zeros(heads, longest, longest))
        elif self.o.mode == "FACTORIZED_RANDOM":
            table = lambda: nn.Parameter(torch.zeros(heads, longest, self.o.rank))
            self.logits = nn.ParameterDict({"rows": table(), "columns": table()})
        else:
            self.logits = nn.ModuleDict({"hidden": nn.Linear(c.model.width, heads * self.head_width),
                                         "output": nn.Linear(self.head_width, heads * longest)})

    def learned(self, x, n):
        """[B or 1, H, N, N]"""
        if self.o.mode == "RANDOM":
            return self.logits[None, :, :n, :n]
        if self.o.mode == "FACTORIZED_RANDOM":
            return (self.logits["rows"][:, :n] @ self.logits["columns"][:, :n].transpose(1, 2)).unsqueeze(0)
        hidden = self.split(F.relu(self.logits["hidden"](x)))  # [B, H, N, D]
        out = self.logits["output"]
        weight, bias = out.weight.view(self.heads, -1, self.head_width), out.bias.view(self.heads, 1, -1)
        return (hidden @ weight.transpose(1, 2) + bias)[..., :n]

    def attend(self, q, k, v, keep, x):
        n = q.shape[2]
        scores = self.learned(x * keep.unsqueeze(2), n)
        scores = scores + products(q, k) if self.o.dot_product else scores
        seen = keep[:, None, None, :] & (earlier(n, q) if self.is_causal else torch.ones_like(earlier(n, q)))
        return softmax_over(scores, seen) @ kept_rows(v, keep)


@attention("linformer")
class Linformer(Attention):
    """Wang et al. 2020, eq. 7: o_i = sum_r softmax_r(q_i . (E k)_r / sqrt(D)) (F v)_r with learned E, F [R, L]."""

    def __init__(self, c):
        super().__init__(c)
        rank = self.o.rank or min(128, c.longest_tokens)
        heads = (self.heads,) if self.o.sharing == "NONE" else ()
        self.key_projection = nn.Parameter(torch.zeros(*heads, rank, c.longest_tokens))
        self.has_own_values = self.o.sharing in ("NONE", "HEADWISE")
        if self.has_own_values:
            self.value_projection = nn.Parameter(torch.zeros(*heads, rank, c.longest_tokens))

    def attend(self, q, k, v, keep, x):
        n = q.shape[2]
        of_keys = self.key_projection[..., :n]
        of_values = self.value_projection[..., :n] if self.has_own_values else of_keys
        mixed = of_keys @ kept_rows(k, keep)  # [B, H, R, D]
        return products(q, mixed).softmax(-1) @ (of_values @ kept_rows(v, keep))


@attention("reformer")
class Reformer(Attention):
    """Kitaev et al. 2020, section 2: keys are the queries at length 1, s_ii = -1e5. In round r tokens are sorted by bucket
    argmax [q_i M_r, -q_i M_r] and cut into chunks; one sees its own chunk and the one before. One softmax covers all
    rounds: o_i = sum_j softmax_j(s_ij + log c_ij) v_j, c_ij the number of rounds in which i sees j. Causal: chunks begin
    anew in each bucket.

    A query on the border between two buckets may go to the other one by rounding alone."""
    shares_keys = True

    def __init__(self, c):
        super().__init__(c)
        pair = 2 * self.o.chunk_tokens
        buckets = self.o.buckets or 2 * max(1, -(-c.longest_tokens // pair))
        self.register_buffer("rotations", torch.zeros(self.o.rounds, self.head_width, buckets // 2))

    def attend(self, q, k, v, keep, x):
        q, n = kept_rows(q, keep), q.shape[2]
        k = q / q.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        counts = torch.zeros((), dtype=torch.long)
        for rotation in self.rotations:
            turned = q @ rotation
            bucket = torch.cat([turned, -turned], -1).argmax(-1)  # [B, H, N]
            bucket = bucket.masked_fill(~keep.unsqueeze(1), 2 * rotation.shape[1])  # padded tokens last
            counts = counts + (self.earlier_pairs(bucket) if self.is_causal else self.pairs(bucket))
        seen = (counts > 0) & keep[:, None, None, :]
        counts = counts.clamp(1, 1) if self.o.is_deduplicated else counts.clamp_min(1)
        scores = products(q, k).masked_fill(torch.eye(n, dtype=torch.bool, device=q.device), -1e5)
        return softmax_over(scores + counts.to(q.dtype).log(), seen) @ kept_rows(v, keep)

    def pairs(self, bucket):
        """Which token sees which in a round with the buckets [B, H, N]: [B, H, N, N]."""
        n = bucket.shape[2]
        rank = (bucket * n + torch.arange(n, device=bucket.device)).argsort(-1).argsort(-1)
        chunk = rank // self.o.chunk_tokens
        back = chunk.unsqueeze(3) - chunk.unsqueeze(2)
        return (back == 0) | (back == 1)

    def earlier_pairs(self, bucket):
        """The same of the causal form; a rank is the number of earlier tokens in the bucket."""
        same = (bucket.unsqueeze(3) == bucket.unsqueeze(2)).tril()
        chunk = (same.sum(3) - 1) // self.o.chunk_tokens
        return same & (chunk.unsqueeze(3) - chunk.unsqueeze(2) <= 1)


@attention("sinkhorn")
class Sinkhorn(Attention):
    """Tay et al. 2020, sections 3.1-3.3: o_i = softmax over the keys of i's block n and over one mixture of all blocks,
    k~_n[s] = sum_m P_nm k_m[s] for each place s, with P = Sinkhorn(r / tau), r_nm = (mean key of block n) . w_m.
    Causal: P is a softmax over earlier blocks, r_n the mean of all keys before block n. LRA2020: strided(), not sorted."""

    def __init__(self, c):
        super().__init__(c)
        if self.o.variant != "LRA2020":
            self.sort = nn.Linear(self.head_width, -(-c.longest_tokens // self.o.block_tokens), bias=False)

    def attend(self, q, k, v, keep, x):
        if self.o.variant == "LRA2020":
            return self.strided(q, k, v, keep)
        n, b = q.shape[2], self.o.block_tokens
        cut = lambda t: F.pad(t, (0, 0, 0, -n % b)).unflatten(2, (-1, b))  # [B, H, n, b, D]
        k, v, q = cut(kept_rows(k, keep)), cut(kept_rows(v, keep)), cut(q)
        keep = F.pad(keep, (0, -n % b)).unflatten(1, (-1, b))  # [B, n, b]
        log_p, admitted = self.permutation(k, keep)
        p = log_p.exp().masked_fill(~admitted, 0)  # [B, H, n, n]
        has = keep.to(p.dtype).unsqueeze(1)  # [B, 1, n, b]
        total = p @ has  # what the blocks weigh that have a token at place s
        scale = p.sum(3, True) / total.masked_fill(total == 0, 1)  # [B, H, n, b]
        mixed_k, mixed_v = (torch.einsum("bhnm,bhmsd->bhnsd", p, t) * scale.unsqueeze(4) for t in (k, v))
        is_mixed = (admitted.to(p.dtype) @ has > 0).unsqueeze(3)  # [B, 1, n, 1, b]
        own = keep[:, None, :, None, :] & (earlier(b, q) if self.is_causal else torch.ones_like(earlier(b, q)))
        seen = torch.cat([own, is_mixed.expand(-1, -1, -1, b, -1)], 4)
        out = softmax_over(products(q, torch.cat([k, mixed_k], 3)), seen) @ torch.cat([v, mixed_v], 3)
        return out.flatten(2, 3)[:, :, :n]

    def permutation(self, k, keep):
        """k [B, H, n, b, D] -> log P [B, H, n, n], and which blocks may be in it [B, 1, n, n]."""
        n, is_block = k.shape[2], keep.any(2)
        sums, counts = k.sum(3), keep.sum(2)[:, None, :, None]
        admitted = is_block.unsqueeze(2) & is_block.unsqueeze(1)
        if self.is_causal:
            before = lambda t: F.pad(t.cumsum(2)[:, :, :-1], (0, 0, 1, 0))
            sums, counts = before(sums), before(counts)
            admitted = is_block.unsqueeze(1) & (distances(n, k) > 0)
        admitted = admitted.unsqueeze(1)
        log_p = sums / counts.clamp_min(1) @ self.sort.weight[:n].t() / self.o.temperature
        never = lambda t: t.masked_fill(~admitted, -1e30)
        log_p = never(log_p)
        for _ in range(1 if self.is_causal else self.o.iterations):
            log_p = never(log_p - log_p.logsumexp(3, True))
            log_p = log_p if self.is_causal else never(log_p - log_p.logsumexp(2, True))
        return log_p, admitted

    def strided(self, q, k, v, keep):
        """What google-research/long-range-arena computes: a softmax over the tokens j = i modulo g groups, and a second
        one over the sums of runs of g tokens."""
        n = q.shape[2]
        groups = -(-n // self.o.block_tokens)
        k, v = kept_rows(k, keep), kept_rows(v, keep)
        same = distances(n, q) % groups == 0
        local = softmax_over(products(q, k), same & keep[:, None, None, :]) @ v
        run = torch.arange(n, device=q.device) // groups
        member = torch.arange(int(run[-1]) + 1, device=q.device)[:, None] == run  # [runs, N]
        is_run = (member & keep.unsqueeze(1)).any(2)[:, None, None, :]
        member = member.to(k.dtype)
        return local + softmax_over(products(q, member @ k), is_run) @ (member @ v)


@attention("nystromformer")
class Nystromformer(Attention):
    """Xiong et al. 2021, eqs. 9, 13 and 14: softmax(q k~^T) Z softmax(q~ k^T) v + conv(v), k~ and q~ the means of M segments
    of the kept tokens, Z an approximate inverse of softmax(q~ k~^T). Exact attention with fewer tokens than landmarks."""

    def __init__(self, c):
        super().__init__(c)
        if self.o.convolution_tokens:
            self.convolution = nn.Parameter(torch.zeros(self.heads, self.o.convolution_tokens))

    def attend(self, q, k, v, keep, x):
        out = torch.zeros_like(v)
        for example, kept in enumerate(keep):
            out[example][:, kept] = self.of_tokens(*(t[example][:, kept] for t in (q, k, v)))
        if self.o.convolution_tokens:
            width = self.o.convolution_tokens
            channels = kept_rows(v, keep).transpose(2, 3).flatten(1, 2)  # [B, H D, N]
            taps = self.convolution.repeat_interleave(self.head_width, 0).unsqueeze(1)
            out = out + F.conv1d(channels, taps, padding=width // 2, groups=len(taps)).unflatten(
                1, (self.heads, -1)).transpose(2, 3)
        return kept_rows(out, keep)

    def of_tokens(self, q, k, v):
        """The kept tokens of one example, [H, n, D]."""
        marks, n = self.o.landmarks, q.shape[1]
        soft = lambda a, b: products(a, b).softmax(-1)
        if n < marks:
            return soft(q, k) @ v
        segment = torch.arange(n, device=q.device) * marks // n
        member = (torch.arange(marks, device=q.device)[:, None] == segment).to(q.dtype)
        means = member / member.sum(1, True)  # [M, n]
        q_marks, k_marks = means @ q, means @ k
        a, one = soft(q_marks, k_marks), torch.eye(marks).to(q)
        z = a.transpose(1, 2) / a.sum(1).amax(-1).view(-1, 1, 1)
        for _ in range(self.o.iterations):
            az = a @ z
            z = z @ (13 * one - az @ (15 * one - az @ (7 * one - az))) / 4
        return soft(q, k_marks) @ (z @ (soft(q_marks, k) @ v))


# --- The family of linear attentions ---


class KernelAttention(Attention):
    """o_i = sum_j w_ij v_j / n_i,  w_ij = phi(q_i) . phi(k_j) r(i, j) (Katharopoulos et al. 2020, eqs. 4-6).

    A method is a choice of the feature map phi, the re-weighting r and the normaliser n. It is O(N) where the sums over j
    are taken first; here stand the weights themselves."""
    feature, reweighting, normalizer = "IDENTITY", "NO_REWEIGHTING", "SUM_PLUS"
    frequencies, is_gated, scales_values = [1.0], False, False

    def __init__(self, c):
        super().__init__(c)
        o = self.o
        self.epsilon, self.floor_ratio = getattr(o, "epsilon", 0), getattr(o, "floor_ratio", 0)
        self.leaky_slope = getattr(o, "leaky_slope", getattr(o, "slope", 0))
        self.norm_epsilon, self.feature_floor = getattr(o, "norm_epsilon", 1e-6), getattr(o, "relu_floor", 0)

    def add_projection(self, directions):
        self.register_buffer("projection", torch.zeros(directions, self.head_width))

    # phi

    def log_phi(self, x):
        """log phi(x) [B, H, N, M] of features that are exponentials; None for others."""
        if self.feature == "EXP":
            return x
        if self.feature not in ("POSITIVE_RANDOM", "HYPERBOLIC_RANDOM"):
            return None
        x = x * self.head_width ** -0.25
        u, half_square = x @ self.projection.t(), x.square().sum(-1, True) / 2
        u = torch.cat([u, -u], -1) if self.feature == "HYPERBOLIC_RANDOM" else u
        return u - half_square - math.log(u.shape[-1]) / 2

    def phi(self, x):
        kind = self.feature
        if self.log_phi(x) is not None:
            return self.log_phi(x).exp()
        if kind == "IDENTITY":
            return x
        if kind == "RELU":
            return x.relu()
        if kind == "LEAKY_RELU":
            return F.leaky_relu(x, self.leaky_slope)
        if kind == "ELU_PLUS_ONE":
            return F.elu(x) + 1
        if kind == "SQUARED_RELU":
            return x.relu().square()
        if kind == "RELU_PLUS_FLOOR":
            return x.relu() + self.feature_floor
        if kind == "UNIT":
            return unit(x, self.norm_epsilon)
        z = (unit(x, 0) * self.scale.unsqueeze(1)) @ self.projection.t()  # of RFA: [B, H, N, M]
        z = torch.cat([z.sin(), z.cos()], -1) / math.sqrt(z.shape[-1]) if kind == "TRIGONOMETRIC" else \
            z.relu() / math.sqrt(z.shape[-1])
        return z

    def features(self, q, k, keep):
        """phi(q), phi(k) [B, H, N, M]. Factors of exponentials that cancel in the quotient are left out: they overflow."""
        log_k = self.log_phi(k)
        if log_k is None or self.normalizer != "SUM_PLUS" or self.epsilon != 0:
            return self.phi(q), self.phi(k)
        log_k = log_k.masked_fill(~keep[:, None, :, None], -1e30)
        shift = log_k.amax(2, True)  # [B, H, 1, M]
        shift = shift.masked_fill(shift < -1e29, 0)
        log_q = self.log_phi(q) + shift
        return (log_q - log_q.amax(-1, True)).exp(), (log_k - shift).exp()

    # r

    def radians(self, keep):
        """pi / 2M, [B or 1, H or 1, 1, 1] float64."""
        kind, n = getattr(self.o, "scale", "FIXED"), keep.shape[1]
        if kind == "LENGTH":  # up to the last kept token
            m = (keep * torch.arange(1, n + 1, device=keep.device)).amax(1).clamp_min(1).double().view(-1, 1, 1, 1)
        else:
            m = torch.full((1, 1, 1, 1), float(self.o.scale_tokens or self.c.longest_tokens), dtype=torch.double)
        if kind == "LEARNED":
            m = m * (1 + self.scale.double().exp()).view(1, -1, 1, 1)
        return math.pi / 2 / m.to(keep.device)

    def log_decay(self):
        """log g of each head, [H, 1, 1] float64: half-lives that double from head to head, or ALiBi's slopes."""
        if self.c.model.positions == "ALIBI":
            return -self.slopes(torch.zeros((), dtype=torch.double))
        half_lives = self.o.half_life_tokens * 2.0 ** torch.arange(self.heads).double()
        logs = -math.log(2) / half_lives
        if self.reweighting == "LEARNED_DECAY":
            logs = logs / self.half_life.detach().cpu().double().exp()
        return logs.view(-1, 1, 1)

    def ratios(self, n, keep, x):
        """r(i, j), broadcastable to [B, H, N, N]."""
        between = distances(n, x)
        if self.is_gated:  # Peng et al. 2021, eq. 8: prod_{j < s <= i} g_s (1 - g_j)
            gates = self.gate(x * keep.unsqueeze(2)).sigmoid().transpose(1, 2)  # [B, H, N]
            gates = gates.masked_fill(~keep.unsqueeze(1), 1)
            sums = gates.log().cumsum(-1)
            logs = (sums.unsqueeze(-1) - sums.unsqueeze(-2)).masked_fill(between < 0, 0)
            return logs.exp() * (1 - gates).unsqueeze(-2)
        if self.reweighting == "COSINE":
            angle = between * self.radians(keep)
            return (sum(torch.cos(f * angle) for f in self.frequencies) / len(self.frequencies)).to(x.dtype)
        if self.has_decay():
            return (between.abs() * self.log_decay().to(x.device)).exp().to(x.dtype)
        return torch.ones((), dtype=x.dtype, device=x.device)

    def has_decay(self):
        alibi = self.c.model.positions == "ALIBI" and self.reweighting == "NO_REWEIGHTING" and not self.is_gated
        return alibi or self.reweighting in ("DECAY", "LEARNED_DECAY")

    # n, and the whole

    def attend(self, q, k, v, keep, x):
        n = q.shape[2]
        q, k = self.features(q, kept_rows(k, keep), keep)
        is_causal = self.is_causal or self.is_gated
        seen = keep[:, None, None, :] & (earlier(n, q) if is_causal else torch.ones_like(earlier(n, q)))
        ratios = self.ratios(n, keep, x)
        weights = (q @ k.transpose(2, 3) * ratios).masked_fill(~seen, 0)  # [B, H, N, N]
        v, counts = kept_rows(v, keep), seen.sum(-1, True).clamp_min(1).to(v.dtype)  # [B, 1, N, 1]
        if self.normalizer == "LENGTH_POWER" and is_causal and self.scales_values:
            return weights @ (v / counts ** self.power())
        divisor = self.divisor(weights.sum(-1, True), counts, q, k, seen, ratios, keep)
        return torch.where(divisor == 0, 0, weights @ v / divisor.masked_fill(divisor == 0, 1))

    def power(self):
        return self.length_exponent.sigmoid().view(1, -1, 1, 1)

    def divisor(self, total, counts, q, k, seen, ratios, keep):
        """n_i: broadcastable to [B, H, N, 1]."""
        kind = self.normalizer
        if kind == "SUM_PLUS":
            return total + self.epsilon
        if kind == "SUM_CLAMP":
            return total.clamp_min(self.epsilon)
        if kind == "COUNT_FLOOR":
            return torch.maximum(total, (ratios * seen).sum(-1, True) * self.epsilon)
        if kind == "KEY_COUNT":
            return counts
        if kind == "LENGTH_POWER":
            return counts ** self.power()
        if kind == "NO_NORMALIZER":
            return torch.ones_like(total)
        # SIGNED_FLOOR: the sum, kept away from 0 by floor_ratio |phi(q_i)| |sum_j phi(k_j)| with the sum's sign.
        floor = q.norm(dim=-1, keepdim=True) * self.key_sum_norms(k, seen, ratios, keep) * self.floor_ratio
        floor = floor.clamp_min(self.epsilon)
        return torch.where(total.abs() >= floor, total, torch.where(total < 0, -floor, floor))

    def key_sum_norms(self, k, seen, ratios, keep):
        """|sum_j phi(k_j)| of the keys that a row sees, as they are re-weighted: [B, H, N, 1]."""
        seen = seen.to(k.dtype)
        if self.reweighting != "COSINE":
            seen = seen * ratios if self.has_decay() else seen
            return (seen @ k).norm(dim=-1, keepdim=True)
        angles = torch.arange(k.shape[2], device=k.device).view(1, 1, -1, 1) * self.radians(keep)
        parts = [turn(f * angles).to(k.dtype) for f in self.frequencies for turn in (torch.cos, torch.sin)]
        squares = sum((seen @ (k * part)).square().sum(-1, True) for part in parts)
        return (squares / len(self.frequencies)).sqrt()


def unit(x, epsilon):
    """x / sqrt(|x|^2 + epsilon), 0 for 0 / 0."""
    squares = x.square().sum(-1, True) + epsilon
    return torch.where(squares == 0, 0, x / squares.masked_fill(squares == 0, 1).sqrt())


@attention("linear")
class LinearTransformer(KernelAttention):
    """Katharopoulos et al. 2020, eqs. 4-12: phi(x) = elu(x) + 1."""
    feature = "ELU_PLUS_ONE"


@attention("relu")
class Relu(KernelAttention):
    """Qin et al. 2022, section 2.3 and table 6: cosFormer without its re-weighting."""
    feature, normalizer = "RELU", "SUM_CLAMP"


@attention("cosformer")
class Cosformer(KernelAttention):
    """Qin et al. 2022, eqs. 7-12: w_ij = relu(q_i) . relu(k_j) cos(pi (i - j) / 2M)."""
    feature, reweighting, normalizer = "RELU", "COSINE", "SUM_CLAMP"


@attention("identity")
class Identity(KernelAttention):
    """Qin et al. 2022, section 2.3 and table 1: w_ij = q_i . k_j."""

    def __init__(self, c):
        super().__init__(c)
        self.normalizer = self.o.normalizer


@attention("leaky_relu")
class LeakyRelu(Identity):
    """Qin et al. 2022, section 2.3 and table 1."""
    feature = "LEAKY_RELU"


@attention("factorized")
class Factorized(KernelAttention):
    """Any point of the family."""

    def __init__(self, c):
        super().__init__(c)
        o = self.o
        self.feature, self.reweighting, self.normalizer = o.feature_map, o.reweighting, o.normalizer
        self.norm_epsilon = 1e-6
        self.frequencies = [o.frequency_ratio ** t for t in range(o.cosine_terms)]
        if self.feature == "POSITIVE_RANDOM":
            self.add_projection(o.random_features)
        if self.reweighting == "LEARNED_DECAY":
            self.half_life = nn.Parameter(torch.zeros(self.heads))
        if self.reweighting == "COSINE" and o.scale == "LEARNED":
            self.scale = nn.Parameter(torch.zeros(self.heads))
        if self.normalizer == "LENGTH_POWER":
            self.length_exponent = nn.Parameter(torch.zeros(self.heads))


@attention("cottention")
class Cottention(KernelAttention):
    """Mongaras et al. 2024, eqs. 3-8: o_i = s^-sigmoid(m) sum_j cos(q_i, k_j) v_j, s the number of keys seen."""
    feature, normalizer = "UNIT", "LENGTH_POWER"

    def __init__(self, c):
        super().__init__(c)
        self.scales_values = self.o.causal_scaling == "VALUE"
        self.length_exponent = nn.Parameter(torch.zeros(self.heads))


@attention("rfa")
class Rfa(KernelAttention):
    """Peng et al. 2021, eqs. 3-8: phi(x) = M^-1/2 [sin(W x^); cos(W x^)] or M^-1/2 relu(W x^), x^ = x / |x|."""

    def __init__(self, c):
        super().__init__(c)
        is_arc_cosine = self.o.kernel == "ARC_COSINE"
        self.feature, self.normalizer, self.epsilon = (
            ("ARC_COSINE", "SUM_CLAMP", 1e-6) if is_arc_cosine else ("TRIGONOMETRIC", "COUNT_FLOOR", 0.02))
        self.is_gated = self.o.is_gated
        self.add_projection(self.o.features)
        self.scale = nn.Parameter(torch.ones(self.heads, self.head_width))  # sigma / tau
        if self.is_gated:
            self.gate = nn.Linear(c.model.width, self.heads)


@attention("performer")
class Performer(KernelAttention):
    """Choromanski et al. 2021, eqs. 4-7: phi(x)_r = exp(w_r . x' - |x'|^2 / 2), x' = x D^-1/4. LRA2020: 1e-6 is added to
    features whose largest exponents were taken out, as in google-research/long-range-arena."""

    def __init__(self, c):
        super().__init__(c)
        self.feature = {"RELU": "RELU_PLUS_FLOOR", "HYPERBOLIC": "HYPERBOLIC_RANDOM"}.get(self.o.kernel, "POSITIVE_RANDOM")
        if self.o.kernel != "RELU":
            self.add_projection(self.o.features)

    def attend(self, q, k, v, keep, x):
        if self.o.variant != "LRA2020" or self.o.kernel == "RELU":
            return super().attend(q, k, v, keep, x)
        q, k = q * self.head_width ** -0.25, kept_rows(k, keep) * self.head_width ** -0.25
        of_q, of_k = q @ self.projection.t(), k @ self.projection.t()  # [B, H, N, M]
        largest = of_k.masked_fill(~keep[:, None, :, None], -1e30).amax((2, 3), True)
        largest = largest.masked_fill(largest < -1e29, 0)
        phi_q = (of_q - q.square().sum(3, True) / 2 - of_q.amax(3, True)).exp() + 1e-6
        phi_k = (of_k - k.square().sum(3, True) / 2 - largest).exp() + 1e-6
        weights = kept_rows(phi_k, keep)
        weights = phi_q @ weights.transpose(2, 3) / len(self.projection)  # [B, H, N, N]
        total = weights.sum(3, True)
        return weights @ kept_rows(v, keep) / (total + 2e-6 * (total <= 1e-6))


# --- Methods without queries and keys ---


@attention("fnet")
class Fnet(TokenMixer):
    """Lee-Thorp et al. 2022, eq. 3: the real part of the Fourier transform over tokens and channels."""

    def mix(self, x, keep):
        scaling = "ortho" if self.o.scaling != "NONE" else "backward"
        return torch.fft.fft2(x * keep.unsqueeze(2), norm=scaling).real


@attention("s4d")
class S4d(TokenMixer):
    """Gu et al. 2022 (S4D), eq. 4: a diagonal state space of each channel, as a long convolution:
    y_i = sum_{j <= i} K_0[i - j] u_j + sum_{j > i} K_1[j - i - 1] u_j + skip u_i,
    K_x[l] = 2 Re sum_p C_xp B_p (e^{dt A_p} - 1) / A_p e^{l dt A_p},  out = a * sigmoid(g), [a, g] = W gelu(y) + b."""

    def __init__(self, c):
        super().__init__(c)
        o, width, pairs = self.o, c.model.width, self.o.state_size // 2
        spaces = o.state_groups or width
        self.step_name = "raw_step" if o.step_transform == "SOFTPLUS" else "log_step"
        self.register_parameter(self.step_name, nn.Parameter(torch.zeros(width)))
        self.log_decay = nn.Parameter(torch.zeros(spaces, pairs))
        self.frequency = nn.Parameter(torch.zeros(spaces, pairs))
        if o.train_input:
            self.input = nn.Parameter(torch.zeros(spaces, pairs, 2))
        self.read_out = nn.Parameter(torch.zeros(2 if o.bidirectional else 1, width, pairs, 2))
        self.skip, self.output = nn.Parameter(torch.zeros(width)), nn.Linear(width, 2 * width)

    def kernels(self, n):
        """K_x[l] of each channel, [X, E, N] float64."""
        of_channels = lambda t: t.repeat(len(self.skip) // len(t), 1)  # channel c has space c mod S
        a = of_channels(torch.complex(-self.log_decay.double().exp(), self.frequency.double()))  # [E, P]
        step = getattr(self, self.step_name).double()
        dt = F.softplus(step) if self.step_name == "raw_step" else step.exp()
        rate = a * dt.unsqueeze(1)
        weight = torch.view_as_complex(self.read_out.double()) * ((rate.exp() - 1) / a)  # [X, E, P]
        if self.o.train_input:
            weight = weight * of_channels(torch.view_as_complex(self.input.double()))
        powers = (rate.unsqueeze(2) * torch.arange(n, device=rate.device)).exp()  # [E, P, N]
        return 2 * torch.einsum("xep,epn->xen", weight, powers).real

    def mix(self, x, keep):
        u, n = (x * keep.unsqueeze(2)).transpose(1, 2), x.shape[1]  # [B, E, N]
        kernels = self.kernels(n)
        convolve = lambda t, kernel: torch.fft.irfft(
            torch.fft.rfft(t.double(), 2 * n) * torch.fft.rfft(kernel, 2 * n), 2 * n)[..., :n]
        y = convolve(u, kernels[0])
        if self.o.bidirectional and not self.is_causal:  # the other direction starts at the next token
            y = y + F.pad(convolve(u.flip(2), kernels[1]).flip(2)[..., 1:], (0, 1))
        y = (y.to(u.dtype) + self.skip.unsqueeze(1) * u).transpose(1, 2)
        return F.glu(self.output(F.gelu(y))) * keep.unsqueeze(2)


# --- Files ---

TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}


def read_safetensors(path):
    """The format is a JSON header with its length in front, and the bytes of the tensors."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = json.loads(bytes(data[8:start]))
    tensors.pop("__metadata__", None)
    read = lambda t: torch.frombuffer(data[start + t["data_offsets"][0]:start + t["data_offsets"][1]],
                                      dtype=TYPES[t["dtype"]]).reshape(t["shape"])
    return {name: read(tensor) for name, tensor in tensors.items()}


def load(folder):
    """The model of an exported folder, in evaluation."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file, object_hook=lambda fields: types.SimpleNamespace(**fields))
    model = Model(config)
    model.load_state_dict(read_safetensors(os.path.join(folder, "weights.safetensors")))  # strict: no name more or less
    return model.eval().requires_grad_(False)


def pad(rows, config):
    """Rows of ids or values -> x [B, N], real [B, N]; N is the longest row, or what the model pads all to."""
    n = config.pad_to_tokens or max(len(row) for row in rows)
    x = torch.zeros(len(rows), n, dtype=torch.float32 if config.task.is_real else torch.int64)
    real = torch.zeros(len(rows), n, dtype=torch.bool)
    for b, row in enumerate(rows):
        x[b, :len(row)], real[b, :len(row)] = torch.as_tensor(row), True
    return x, real


# --- The program ---


class Exported:
    """A split as `lra data export` writes it; rows(i) are the texts of example i: one, or two of pairs."""

    def __init__(self, folder, split, task):
        import numpy
        column = lambda name: numpy.load(os.path.join(folder, f"{split}.{name}.npy"))
        self.columns = [(column("values" if task.is_real else "ids"), column("offsets"))]
        if task.is_pair:
            self.columns.append((column("ids_b"), column("offsets_b")))

    def rows(self, example):
        kind = lambda ids: ids.astype("float32" if ids.dtype.kind == "f" else "int64")
        return [kind(ids[offsets[example]:offsets[example + 1]]) for ids, offsets in self.columns]


def predict(model, data, examples, limit):
    """Logits [n, C]; rows from `limit` on may be NaN. Where padding matters, batches are those of lra: longest first."""
    c = model.config
    length = lambda i: max(len(row) for row in data.rows(i))
    order = sorted(range(examples), key=lambda i: -length(i))
    size = c.evaluation_batch_examples if c.padding_matters else 1
    logits = torch.full((examples, c.task.classes), math.nan, dtype=next(model.parameters()).dtype)
    for first in range(0, examples, size):
        batch = order[first:first + size]
        if min(batch) >= limit:
            continue
        inputs = [t for rows in zip(*(data.rows(i) for i in batch)) for t in pad(rows, c)]
        logits[batch] = model(*inputs)
        print(f"\r{min(first + size, examples)} of {examples} examples", end="", file=sys.stderr)
    print(file=sys.stderr)
    return logits


def check(model, arguments):
    """Prints the largest difference of logits; whether it is at most the tolerance times max(1, largest logit)."""
    import numpy
    wanted = torch.as_tensor(numpy.load(arguments.check)).float()
    data = Exported(arguments.data, arguments.split, model.config.task)
    limit = min(len(wanted), arguments.examples or len(wanted))
    wanted, got = wanted[:limit], predict(model, data, len(wanted), limit)[:limit]
    largest, difference = wanted.abs().max().item(), (got - wanted).abs().max().item()
    relative = difference / max(1.0, largest)
    print(f"{len(got)} examples: largest difference {difference:.3g}, {relative:.3g} of max(1, {largest:.3g})")
    return 0 if relative <= arguments.tolerance else 1


def read_rows(path, c):
    """Rows of token ids or values, without the padding that they may end in: zeros, of tasks where 0 is no token. Raises
    ValueError for what the model was not made for."""
    import numpy
    array, kind, most = numpy.atleast_2d(numpy.load(path)), "float32" if c.task.is_real else "int64", c.view.max_length_tokens
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{path}: has shape {list(array.shape)}, must be [N] or [B, N]")
    if array.dtype.kind not in ("iuf" if c.task.is_real else "iu"):
        raise ValueError(f"{path}: is of type {array.dtype}, must be of {'numbers' if c.task.is_real else 'integers, token ids'}")
    wrong = [] if c.task.is_real else array[(array < 0) | (array >= c.task.vocabulary_size)]
    if len(wrong):
        raise ValueError(f"{path}: has the token id {wrong[0]}, must be 0 to {c.task.vocabulary_size - 1}")
    rows = list(array.astype(kind))
    if not (c.task.zero_is_token or c.task.is_real):
        rows = [row[:numpy.flatnonzero(row)[-1] + 1] if row.any() else row for row in rows]
    longest = max(len(row) for row in rows)
    if longest > most:
        raise ValueError(f"{path}: has a row of {longest} tokens, must be at most {most}, view.max_length_tokens of the run")
    return rows


def print_logits(model, inputs):
    for row in model(*inputs).tolist():
        print(" ".join(f"{logit:.6g}" for logit in row))
    return 0


def main():
    parser = argparse.ArgumentParser(description="A model that lra trained, in plain PyTorch.")
    parser.add_argument("folder", metavar="DIR", help="what `lra export` wrote")
    parser.add_argument("--tokens", help=".npy of token ids (or real values), [N] or [B, N]")
    parser.add_argument("--tokens-b", help="the second texts of pairs")
    parser.add_argument("--check", metavar="PREDICTIONS", help="predictions.npy of the run; exit code 1 if logits differ")
    parser.add_argument("--data", metavar="EXPORT", help="what `lra data export` wrote under the run's view")
    parser.add_argument("--split", default="test")
    parser.add_argument("--examples", type=int, help="only the first ones")
    parser.add_argument("--tolerance", type=float, default=1e-5, help="times max(1, largest logit)")
    parser.add_argument("--float64", action="store_true", help="compute in double precision")
    arguments = parser.parse_args()
    if (arguments.check is None) == (arguments.tokens is None) or (arguments.check and not arguments.data):
        parser.error("give --tokens IDS.npy, or --check PREDICTIONS.npy and --data EXPORT")
    model = load(arguments.folder)
    if arguments.float64:
        model = model.double()
    if arguments.check:
        return check(model, arguments)
    c = model.config
    if c.task.is_pair and arguments.tokens_b is None:
        parser.error("the model is one of pairs: give --tokens-b, too")
    try:
        paths = [arguments.tokens] + ([arguments.tokens_b] if c.task.is_pair else [])
        inputs = [t for path in paths for t in pad(read_rows(path, c), c)]
    except ValueError as error:
        parser.error(str(error))
    return print_logits(model, inputs)


if __name__ == "__main__":
    sys.exit(main())
