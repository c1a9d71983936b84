"""Functions of the model that have no parameters of their own."""
import math

import torch
from torch.nn import functional as F


def sinusoid(tokens, width):
    """[tokens, width], sine and cosine in turn, rounded to float32."""
    angle = torch.arange(tokens)[:, None] * 10000.0 ** -(torch.arange(0, width, 2) / width)
    return torch.stack([angle.sin(), angle.cos()], 2).flatten(1).float().double()


def sinusoid_2d(side, width):
    """[side * side, width]: half of it for the row, half for the column."""
    line = sinusoid(side, width // 2)
    rows, columns = line[:, None].expand(side, side, -1), line[None].expand(side, side, -1)
    return torch.cat([rows, columns], 2).flatten(0, 1)


def rotate(x):
    """Rotary positions: x [..., N, D], channels in pairs."""
    tokens, width = x.shape[-2:]
    angle = torch.arange(tokens)[:, None] * 10000.0 ** -(torch.arange(0, width, 2) / width)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1).flatten(-2)


def filter_tokens(x, filters, is_causal):
    """Depthwise convolution of x [B, N, E] with filters [taps, E]: around the token, or up to it."""
    taps = filters.shape[0]
    ahead = 0 if is_causal else taps // 2
    x = F.pad(x, (0, 0, taps - 1 - ahead, ahead))
    return sum(x[:, tap:tap + x.shape[1] - taps + 1] * filters[tap] for tap in range(taps))


def alibi(heads, tokens):
    """Distance times the head's slope. [H, N, N]"""
    distance = (torch.arange(tokens)[:, None] - torch.arange(tokens)).abs()
    slopes = torch.tensor([2.0 ** (-8 * (head + 1) / heads) for head in range(heads)])
    return slopes[:, None, None] * distance


def softmax_weights(q, k, distance, allowed):
    """[B, H, N, N] of queries and keys [B, H, N, D]; a row without keys is zero."""
    scores = q @ k.mT / math.sqrt(q.shape[-1]) - distance
    return torch.softmax(scores.masked_fill(~allowed, -1e300), -1) * allowed


def linear_weights(q, k, distance, allowed):
    """The same with features elu + 1 for exp."""
    weights = (F.elu(q) + 1) @ (F.elu(k) + 1).mT * torch.exp(-distance) * allowed
    return weights / (weights.sum(-1, keepdim=True) + 1e-6)


ATTENTIONS = {"transformer": softmax_weights, "linear": linear_weights}


def mixture(outputs):
    """log P [G, 256] of pixel values from outputs [G, 3 K]: weights, means and log scales of logistic distributions."""
    outputs = outputs.unflatten(1, (3, -1))
    weight, mean, scale = torch.softmax(outputs[:, 0], -1), outputs[:, 1], outputs[:, 2].clamp_min(-7).exp()
    value = torch.arange(256)[:, None]
    below = lambda edge: torch.sigmoid((2 * value / 255 - 1 + edge / 255 - mean[:, None]) / scale[:, None])
    upper = torch.where(value == 255, 1.0, below(1))
    lower = torch.where(value == 0, 0.0, below(-1))
    return torch.log((weight[:, None] * (upper - lower)).sum(-1))
