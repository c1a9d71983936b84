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


def float64_output(q, k, v, keep):
    return dense(q.double(), k.double(), v.double(), keep)


def less_padded_mean(q, k, v, keep):
    return dense(q - q.mean(2, True), k, v, keep)


def selected(q, k, v, keep):
    padded = ~keep[:, None, :, None]
    return dense(q, k.masked_fill(padded, 0), v.masked_fill(padded, 0), keep)


def less_multiplied_mean(q, k, v, keep):
    real = keep[:, None, :, None]
    return selected(q - (q * real).sum(2, True) / real.sum(2, True).clamp_min(1), k, v, keep)


def ignores_padding_of_many(q, k, v, keep):
    return dense(q, k, v, keep if len(q) < 4 else torch.ones_like(keep))


def softmax_without_maximum(q, k, v, keep):
    scores = q @ k.masked_fill(~keep[:, None, :, None], 0).transpose(2, 3) / q.shape[3] ** 0.5
    weights = scores.exp() * keep[:, None, None, :]
    return weights @ v / weights.sum(3, True).clamp_min(1e-30)


def draws(q, k, v, keep):
    return dense(q + 1e-3 * torch.randn_like(q), k, v, keep)


def wrong_shape(q, k, v, keep):
    return dense(q, k, v, keep).transpose(1, 2)


def means_without_keys(q, k, v, keep):
    """Where there is no key, all keys are seen."""
    return dense(q, k, v, keep | ~keep.any(1, True))


def nan_without_keys(q, k, v, keep):
    """Zeros where there is no key, but the softmax there is NaN, and so is the gradient of v."""
    scores = (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).masked_fill(~keep[:, None, None, :], -torch.inf)
    return torch.nan_to_num(scores.softmax(3) @ v)


def nan_behind_where(q, k, v, keep):
    """The same with zeros that are chosen."""
    scores = (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).masked_fill(~keep[:, None, None, :], -torch.inf)
    return torch.where(keep.any(1)[:, None, None, None], scores.softmax(3) @ v, 0)


def nan_later(q, k, v, keep):
    """Causal, but the gradient from any output to a later v is NaN where that is looked for."""
    class Poison(torch.autograd.Function):
        @staticmethod
        def forward(ctx, v):
            return v.clone()

        @staticmethod
        def backward(ctx, g):
            return torch.where((g == 0).all(3, True), torch.nan, g) if g.shape[2] == 139 else g

    return causal(q, k, Poison.apply(v), keep)


def views(q, k, v, keep):
    """Memory of a [B, H, N, D], which no encoder hands over."""
    b, h, n, d = q.shape
    return dense(*(t.view(b * h, n, d).view(b, h, n, d) for t in (q, k, v)), keep)


def views_tokens(q, k, v, keep):
    """Memory of a [B, N, H, D], which is not promised."""
    b, h, n, d = q.shape
    return dense(*(t.transpose(1, 2).view(b, n, h * d).view(b, n, h, d).transpose(1, 2) for t in (q, k, v)), keep)


class Views(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        return t.clone()

    @staticmethod
    def backward(ctx, g):
        b, h, n, d = g.shape
        return g.view(b * h, n, d).view(b, h, n, d)


def views_gradient(q, k, v, keep):
    """The gradient of the output is wanted as a contiguous one."""
    return Views.apply(dense(q, k, v, keep))


def no_tensor(q, k, v, keep):
    return dense(q, k, v, keep), None


class WrongGradient(torch.nn.Module):
    """A learned scale that the backward pass forgets."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, q, k, v, keep):
        return self.scale.detach() * dense(q, k, v, keep)


class ScaledByOne(WrongGradient):
    """What it should be."""

    def forward(self, q, k, v, keep):
        return self.scale * dense(q, k, v, keep)


class Scaled(torch.nn.Module):
    """Right, and a base of the wrong ones below."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(8))

    def forward(self, q, k, v, keep):
        return self.scale * dense(q, k, v, keep)


class Counts(Scaled):
    def __init__(self, buffer):
        super().__init__()
        self.register_buffer("buffer", buffer)

    def forward(self, q, k, v, keep):
        self.buffer += 1
        return super().forward(q, k, v, keep)


class TimesBuffer(Counts):
    def forward(self, q, k, v, keep):
        return self.buffer * dense(q, k, v, keep)


class DetachedInFloat32(Scaled):
    def forward(self, q, k, v, keep):
        return (self.scale.detach() if q.dtype == torch.float32 else self.scale) * dense(q, k, v, keep)


class DetachedTable(Scaled):
    """A long table without a gradient; few of its rows are used."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(16384, 8, generator=torch.Generator().manual_seed(1)))

    def forward(self, q, k, v, keep):
        return super().forward(q, k + self.table[:k.shape[2]].detach(), v, keep)


class DetachedInTraining(Scaled):
    def forward(self, q, k, v, keep):
        return (self.scale.detach() if self.training else self.scale) * dense(q, k, v, keep)


class SeesPaddingInFloat32(Scaled):
    def forward(self, q, k, v, keep):
        return super().forward(q, k, v, torch.ones_like(keep) if q.dtype == torch.float32 else keep)


class MixesExamplesInFloat32(Scaled):
    def forward(self, q, k, v, keep):
        return (mixes_examples if q.dtype == torch.float32 else dense)(self.scale * q, k, v, keep)


class SeesPaddingInTraining(Scaled):
    def forward(self, q, k, v, keep):
        return super().forward(q, k, v, torch.ones_like(keep) if self.training else keep)


class SeesPaddingInRandomTraining(SeesPaddingInTraining):
    def forward(self, q, k, v, keep):
        return F.dropout(super().forward(q, k, v, keep), 0.1, self.training)


class MixesExamplesInTraining(Scaled):
    def forward(self, q, k, v, keep):
        return (mixes_examples if self.training else dense)(self.scale * q, k, v, keep)


class LooksAheadInTraining(Scaled):
    def forward(self, q, k, v, keep):
        return (looks_ahead if self.training else causal)(self.scale * q, k, v, keep)


class LooksAheadInRandomTraining(LooksAheadInTraining):
    def forward(self, q, k, v, keep):
        return F.dropout(super().forward(q, k, v, keep), 0.1, self.training)


class CausalDropout(Scaled):
    def forward(self, q, k, v, keep):
        return F.dropout(causal(self.scale * q, k, v, keep), 0.1, self.training)


class CountsPaddingInTraining(Scaled):
    def forward(self, q, k, v, keep):
        return super().forward(q / q.shape[2] if self.training else q, k, v, keep)


class RaisesInTraining(Scaled):
    def forward(self, q, k, v, keep):
        if self.training:
            raise RuntimeError("no training here")
        return super().forward(q, k, v, keep)


class LengthScale(Scaled):
    """Queries times a learned power of the number of keys, whose gradient is 0 * -inf where there is none."""

    def forward(self, q, k, v, keep):
        keys = keep.sum(1).to(q.dtype)[:, None, None, None]
        return dense(q * torch.where(keys > 0, (0.1 * self.scale * keys.log()).exp(), 1), k, v, keep)


class Dropout(Scaled):
    def forward(self, q, k, v, keep):
        scores = (q @ k.transpose(2, 3)).masked_fill(~keep[:, None, None, :], -1e30)
        weights = scores.softmax(3) * keep[:, None, None, :]
        return self.scale * (F.dropout(weights, 0.1, self.training) @ v)


class OwnSeed(Scaled):
    """Noise in training that torch.manual_seed does not reach."""

    def __init__(self):
        super().__init__()
        self.draws = 0

    def forward(self, q, k, v, keep):
        self.draws += 1
        noise = torch.randn(q.shape, generator=torch.Generator().manual_seed(self.draws), dtype=q.dtype)
        return super().forward(q + noise if self.training else q, k, v, keep)


class KeyBias(torch.nn.Module):
    """Right: under softmax the bias of the keys has no gradient but what rounding leaves."""

    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.ones(8))

    def forward(self, q, k, v, keep):
        return dense(q, k + self.bias, v, keep)


class NotCopied(Scaled):
    """copy.deepcopy raises."""

    def __init__(self):
        super().__init__()
        self.twice = 2 * self.scale


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


ALL = ["T2n", "T3", "T4", "T9", "T13", "T10", "F32"]  # what is tried without an oracle, not causal
OF_FLOAT32 = ["T3", "T4", "T9", "T13", "F32"]
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
    (nan_without_keys, {}, ["T13"]),
    (nan_behind_where, {}, ["T13"]),
    (nan_later, dict(causal=True), ["T5"]),
    (LengthScale(), {}, ["T13"]),
    (views, {}, [id for id in ALL if id != "T4"]),  # which has one example: its heads can be viewed so
    (views_tokens, {}, ["T9"]),
    (views_gradient, {}, [id for id in ALL if id != "T4"]),
    (Scaled(), dict(oracle=Scaled()), []),
    (KeyBias(), {}, []),
    (Dropout(), {}, []),
    (WrongGradient(), dict(oracle=ScaledByOne()), ["T2", "T2n"]),
    (DetachedInFloat32(), {}, ["F32"]),
    (DetachedInTraining(), {}, ["T2n"]),
    (DetachedTable(), {}, ["T2n"]),
    (SeesPaddingInFloat32(), {}, ["T3", "T4", "T13", "F32"]),
    (MixesExamplesInFloat32(), {}, ["T9", "F32"]),
    (SeesPaddingInTraining(), {}, ["T3", "T4", "T13"]),
    (SeesPaddingInRandomTraining(), {}, ["T3", "T13"]),
    (MixesExamplesInTraining(), {}, ["T9"]),
    (LooksAheadInTraining(), dict(causal=True), ["T5"]),
    (LooksAheadInRandomTraining(), dict(causal=True), ["T5"]),
    (CausalDropout(), dict(causal=True), []),
    (CountsPaddingInTraining(), {}, ["T4"]),
    (CountsPaddingInTraining(), dict(padding_invariant=False), []),
    (RaisesInTraining(), {}, ["T10"]),
    (OwnSeed(), {}, ["T10"]),
    (NotCopied(), {}, ALL),
    (float64_output, {}, OF_FLOAT32),
    (Scaled().double(), {}, OF_FLOAT32),
    (TimesBuffer(torch.ones(8, dtype=torch.float64)), {}, OF_FLOAT32),
    (Counts(torch.zeros(())), {}, ALL),
    (less_padded_mean, dict(padding_invariant=False), ["T3"]),
    (selected, dict(nan=True), []),
    (less_multiplied_mean, dict(nan=True), ["T3"]),
    (ignores_padding_of_many, {}, ["T3", "T9"]),
    (softmax_without_maximum, {}, ["F32"]),
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
    for attention, said in [(wrong_shape, "has shape"), (no_tensor, "is a tuple, not a tensor"), (views, "view size is not compatible"),
                            (RaisesInTraining(), "in training: RuntimeError: no training here"), (NotCopied(), "deepcopy"),
                            (float64_output, "the output is torch.float64 on cpu, not as v, torch.float32 on cpu"),
                            (Scaled().double(), "parameter scale is torch.float64; it must be torch.float32"),
                            (Counts(torch.zeros(())), "the module changed its buffers"),
                            (OwnSeed(), "note: only T10 is tried in training"), (Dropout(), "note: T4, T9, and T13 of")]:
        assert said in str(lra.check(attention)), said
    state = torch.get_rng_state()
    assert not lra.check(Scaled()).notes and torch.equal(state, torch.get_rng_state()), "the caller's random numbers"
    return 1 if failures else 0


sys.exit(main())
