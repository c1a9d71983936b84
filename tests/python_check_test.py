#!/usr/bin/env python3
"""lra.check names the promise that a wrong attention breaks, and passes right ones.
usage: python_check_test.py LRA    exit code 77 (skipped) where Python has no package "torch"; the package is on PYTHONPATH
"""
import json, subprocess, sys
try:
    import numpy, torch
except ImportError as missing:
    print(f"skipped: torch is not installed ({missing}); python3 -m pip install torch numpy")
    sys.exit(77)
import lra
from lra.conformance import PROMISES
from torch.nn import functional as F


def dense(q, k, v, keep, seen=None):
    """softmax(q k^T / sqrt(D)) v over the keys that are kept."""
    mask = keep[:, None, None, :] if seen is None else keep[:, None, None, :] & seen
    scores = (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).masked_fill(~mask, -1e30)
    return (scores.softmax(3) * mask) @ v


def sdpa(q, k, v, keep):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :])


def ignores_padding(q, k, v, keep):
    return F.scaled_dot_product_attention(q, k, v)


def mixes_examples(q, k, v, keep):
    """Keys less their mean, of every example in the batch."""
    real = keep[:, None, :, None]
    mean = (k * real).sum((0, 2), True) / real.sum((0, 2), True)
    return dense(q - mean, k, v, keep)


def looks_ahead(q, k, v, keep):
    """Causal, but for the token behind each."""
    n = q.shape[2]
    return dense(q, k, v, keep, torch.ones(n, n, dtype=torch.bool).tril(1))


def causal(q, k, v, keep):
    n = q.shape[2]
    return dense(q, k, v, keep, torch.ones(n, n, dtype=torch.bool).tril())


def counts_padding(q, k, v, keep):
    """Scores are divided by the padded length."""
    return dense(q / k.shape[2], k, v, keep)


def other_scale(q, k, v, keep):
    return dense(q * 1.01, k, v, keep)


def draws(q, k, v, keep):
    return dense(q + 1e-3 * torch.randn_like(q), k, v, keep)


def wrong_shape(q, k, v, keep):
    return dense(q, k, v, keep).transpose(1, 2)


def means_without_keys(q, k, v, keep):
    """Where there is no key, all keys are seen."""
    return dense(q, k, v, keep | ~keep.any(1, True))


class WrongGradient(torch.nn.Module):
    """A learned scale that the backward pass forgets."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, q, k, v, keep):
        return self.scale.detach() * dense(q, k, v, keep)


class Linear(torch.nn.Module):
    """Katharopoulos et al. 2020, eqs. 4-7, with a learned scale of the queries."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(2, 1, 1))

    def forward(self, q, k, v, keep):
        q, k = F.elu(self.scale * q) + 1, (F.elu(k) + 1) * keep[:, None, :, None]
        total = q @ k.sum(2).unsqueeze(3)
        return q @ (k.transpose(2, 3) @ v) / total.masked_fill(total == 0, 1)


def linear_oracle(q, k, v, keep):
    weights = (F.elu(q) + 1) @ (F.elu(k) + 1).transpose(2, 3) * keep[:, None, None, :]
    return weights / weights.sum(3, True).clamp_min(1e-30) @ v


CASES = [  # attention, what is said of it, broken promises
    (sdpa, dict(oracle=dense), []),
    (dense, {}, []),
    (Linear(), dict(oracle=linear_oracle), []),
    (causal, dict(causal=True), []),
    (counts_padding, dict(padding_invariant=False), []),
    (ignores_padding, {}, ["T3", "T4", "T13"]),
    (mixes_examples, {}, ["T9"]),
    (looks_ahead, dict(causal=True), ["T5"]),
    (sdpa, dict(causal=True), ["T5"]),
    (sdpa, dict(nan=True), ["T3"]),
    (counts_padding, {}, ["T4"]),
    (other_scale, dict(oracle=dense), ["T1", "T2", "F32"]),
    (means_without_keys, {}, ["T13"]),
    (WrongGradient(), {}, ["T2n"]),
]


def main():
    torch.set_num_threads(1)
    printed = json.loads(subprocess.run([sys.argv[1], "check", "transformer", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    said = json.dumps(printed)
    for id, promise in PROMISES.items():
        assert json.dumps(promise) in said, f"{id} is called otherwise by lra check: {promise}"
    failures = 0
    for attention, options, wanted in CASES:
        report = lra.check(attention, **options)
        name = getattr(attention, "__name__", type(attention).__name__)
        right = report.broken == wanted and bool(report) == (not wanted)
        print(f"{'ok  ' if right else 'FAIL'} {name} {sorted(options)}: broken {report.broken}", flush=True)
        failures += not right
        if not right:
            print(report)
    assert "T10" in lra.check(draws).broken
    assert "has shape" in str(lra.check(wrong_shape))
    return 1 if failures else 0


sys.exit(main())
