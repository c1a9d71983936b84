"""Does an attention that is written in PyTorch keep the promises that models rest on? `lra.check`.

The promises are those of `lra check` (models/conformance/conformance.h), with its ids, cases and bounds, as far as they can be
seen from outside. Shapes: B batch, N tokens, H heads, D head width.
"""
from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Optional

import torch
from torch import Tensor

# out [B, H, N, D] of q, k, v [B, H, N, D] and keep [B, N] bool: False where a token is padding.
Attention = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

PROMISES = {
    "T1": "the fast form equals the dense oracle in float64",
    "T2": "its gradients equal the oracle's by autograd",
    "T2n": "its gradients equal central differences",
    "T3": "garbage and NaN in padded positions change nothing",
    "T4": "the amount of padding changes what the traits say",
    "T9": "an example alone equals the same in a batch",
    "T13": "no keys give zeros and zero gradients",
    "T5": "later tokens reach no earlier output, nor its gradient",
    "T10": "equal runs and equal seeds give equal bits",
    "F32": "float32 stays near the float64 oracle",
}
# Largest errors, relative to the largest value (at least 1) in float64; F32's is relative to the largest value.
FORWARD, GRADIENT, NUMERIC, UNCHANGED, FLOAT = 1e-10, 1e-9, 1e-6, 1e-12, 1e-4


@dataclass(frozen=True)
class Result:
    """One comparison."""

    id: str
    measured: float  # the worst error; infinite where a NaN got through or the attention raised
    bound: float
    detail: str

    @property
    def passed(self) -> bool:
        return self.measured <= self.bound


@dataclass
class Report:
    """What `check` found: true if every promise was kept; print it to read it."""

    results: list[Result] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results)

    @property
    def broken(self) -> list[str]:
        """Ids of the promises that were not kept, in the order of PROMISES."""
        return [id for id in PROMISES if any(r.id == id and not r.passed for r in self.results)]

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        lines = [f"        {'id':4} {'promise':60} {'tried':>5} {'worst':>9} {'bound':>9}"]
        for id, promise in PROMISES.items():
            tried = [r for r in self.results if r.id == id]
            if not tried:
                continue
            worst = max(tried, key=lambda r: r.measured / r.bound if r.bound else r.measured * 1e300)
            mark = "ok" if id not in self.broken else "BROKEN"
            lines.append(f"{mark:7} {id:4} {promise:60} {len(tried):5} {worst.measured:9.1e} {worst.bound:9.1e}")
        lines += [f"  {r.id}: {r.detail}: {r.measured:.1e}, at most {r.bound:.1e}" for r in self.results if not r.passed]
        return "\n".join(lines)


def check(attention: Attention, *, causal: bool = False, oracle: Optional[Attention] = None, padding_invariant: bool = True,
          nan: bool = False, heads: int = 2, head_width: int = 8) -> Report:
    """Tries the promises on an attention: a torch.nn.Module or function (q, k, v, keep) -> out.

    q, k, v, out [B, H, N, D] with H = heads, D = head_width; keep [B, N] bool, False at padding. A module is copied, put into
    evaluation, and its parameters are tried in float64. What is written for padded queries does not matter, except that no
    NaN may reach a gradient.
    causal: token i sees the tokens up to i only. oracle: a slow attention that is obviously right, to compare with (T1, T2).
    padding_invariant=False: the amount of padding may change the output (no T4). nan: also put NaN into padded keys and
    values, as `lra check` does (T3); PyTorch's own attention lets it through, and no model has it there.
    """
    suite = _Suite(attention, oracle, heads, head_width)
    tries = [suite.numeric_gradients, lambda: suite.pad_content(nan), suite.batch_independence, suite.fully_masked, suite.repeats,
             suite.float32]
    tries += [suite.pad_amount] if padding_invariant else []
    tries += [suite.future] if causal else []
    tries += [suite.compare_with_oracle] if oracle is not None else []
    for attempt in tries:
        attempt()
    return Report(sorted(suite.results, key=lambda result: list(PROMISES).index(result.id)))


@dataclass(frozen=True)
class _Case:
    q: Tensor
    k: Tensor
    v: Tensor
    keep: Tensor
    upstream: Tensor  # the gradient of the output: 0 at padding

    def to(self, dtype: torch.dtype) -> _Case:
        return replace(self, **{name: getattr(self, name).to(dtype) for name in ("q", "k", "v", "upstream")})

    def example(self, b: int, tokens: int) -> _Case:
        """Its first tokens, alone."""
        cut = {name: getattr(self, name)[b:b + 1, :, :tokens] for name in ("q", "k", "v", "upstream")}
        return replace(self, keep=self.keep[b:b + 1, :tokens], **cut)


@dataclass(frozen=True)
class _Outcome:
    """Output, 0 at padding, and gradients of sum(output * upstream)."""

    output: Tensor
    dq: Tensor
    dk: Tensor
    dv: Tensor

    def tensors(self) -> list[Tensor]:
        return [self.output, self.dq, self.dk, self.dv]

    def map(self, function: Callable[[Tensor], Tensor]) -> _Outcome:
        return _Outcome(*(function(t) for t in self.tensors()))


def _difference(a: Tensor, b: Tensor, floor: float = 1.0) -> float:
    """The largest difference over the largest value of b; infinite for what is not a number."""
    error = ((a.double() - b.double()).abs().max() / b.double().abs().max().clamp_min(floor)).item()
    return error if not math.isnan(error) else math.inf


def _outcome_difference(a: _Outcome, b: _Outcome, floor: float = 1.0) -> float:
    return max(_difference(x, y, floor) for x, y in zip(a.tensors(), b.tensors()))


class _Suite:
    def __init__(self, attention: Attention, oracle: Optional[Attention], heads: int, head_width: int) -> None:
        self.attention, self.oracle, self.heads, self.head_width = attention, oracle, heads, head_width
        self.results: list[Result] = []
        self.in_type = {dtype: self._copy(attention, dtype) for dtype in (torch.float64, torch.float32)}

    @staticmethod
    def _copy(attention: Attention, dtype: torch.dtype) -> Attention:
        return copy.deepcopy(attention).to(dtype).eval() if isinstance(attention, torch.nn.Module) else attention

    def case(self, seed: int, lengths: list[int], tokens: int) -> _Case:
        """Random values in float64; the example b has lengths[b] real tokens in front."""
        random = torch.Generator().manual_seed(seed)
        shape = len(lengths), self.heads, tokens, self.head_width
        q, k, v, upstream = (torch.randn(shape, generator=random, dtype=torch.float64) for _ in range(4))
        keep = torch.arange(tokens) < torch.tensor(lengths)[:, None]
        return _Case(q, k, v, keep, upstream * keep[:, None, :, None])

    def attend(self, c: _Case) -> Tensor:
        """The output with zeros at padded queries."""
        out = self.in_type[c.q.dtype](c.q, c.k, c.v, c.keep)
        if out.shape != c.v.shape:
            raise ValueError(f"the output has shape {tuple(out.shape)}, not that of v, {tuple(c.v.shape)}")
        return out.masked_fill(~c.keep[:, None, :, None], 0)

    def run(self, c: _Case, attend: Optional[Callable[[_Case], Tensor]] = None) -> _Outcome:
        inputs = [t.detach().clone().requires_grad_() for t in (c.q, c.k, c.v)]
        output = (attend or self.attend)(replace(c, q=inputs[0], k=inputs[1], v=inputs[2]))
        gradients = torch.autograd.grad((output * c.upstream).sum(), inputs, allow_unused=True)
        return _Outcome(output.detach(), *(torch.zeros_like(i) if g is None else g for i, g in zip(inputs, gradients)))

    def attend_oracle(self, c: _Case) -> Tensor:
        assert self.oracle is not None
        return self.oracle(c.q, c.k, c.v, c.keep).masked_fill(~c.keep[:, None, :, None], 0)

    def add(self, id: str, bound: float, detail: str, measure: Callable[[], float]) -> None:
        """Measures; what the attention raises breaks the promise."""
        try:
            self.results.append(Result(id, measure(), bound, detail))
        except Exception as error:  # whatever somebody's attention raises
            self.results.append(Result(id, math.inf, bound, f"{detail}: {type(error).__name__}: {error}"))

    def compare_with_oracle(self) -> None:
        for n in 1, 2, 37, 130:
            for lengths in [n, n], [n, 1]:
                c = self.case(n, lengths, n)
                what = f"N = {n}, lengths {lengths[0]} and {lengths[1]}"
                self.add("T1", FORWARD, what, lambda: _difference(self.attend(c), self.attend_oracle(c)))
                self.add("T2", GRADIENT, what, lambda: _outcome_difference(self.run(c), self.run(c, self.attend_oracle)))
        c = self.case(300, [41, 41, 41], 41)
        keep = torch.rand(c.keep.shape, generator=torch.Generator().manual_seed(301)) < 2 / 3
        c = replace(c, keep=keep, upstream=c.upstream * keep[:, None, :, None])
        what = "N = 41, a random third masked"
        self.add("T1", FORWARD, what, lambda: _difference(self.attend(c), self.attend_oracle(c)))
        self.add("T2", GRADIENT, what, lambda: _outcome_difference(self.run(c), self.run(c, self.attend_oracle)))

    def numeric_gradients(self) -> None:
        c = self.case(400, [11, 7], 11)
        for name, gradient in ("q", "dq"), ("k", "dk"), ("v", "dv"):
            self.add("T2n", NUMERIC, f"central differences of {name}", lambda: self._numeric(
                c, getattr(c, name), getattr(self.run(c), gradient)))
        module = self.in_type[torch.float64]
        if not isinstance(module, torch.nn.Module):
            return
        for name, parameter in module.named_parameters():
            if not parameter.requires_grad:
                continue

            def measure() -> float:
                (gradient,) = torch.autograd.grad((self.attend(c) * c.upstream).sum(), [parameter], allow_unused=True)
                return self._numeric(c, parameter.detach(), torch.zeros_like(parameter) if gradient is None else gradient)

            self.add("T2n", NUMERIC, f"central differences of {name}", measure)

    def _numeric(self, c: _Case, values: Tensor, gradient: Tensor, step: float = 1e-5) -> float:
        """The worst error at 20 random coordinates of a tensor that the case or the attention holds."""
        random = torch.Generator().manual_seed(401)
        flat, worst = values.view(-1), 0.0
        for at in torch.randint(flat.numel(), (20,), generator=random).tolist():
            kept, sums = flat[at].item(), []
            for moved in kept + step, kept - step:
                flat[at] = moved
                with torch.no_grad():
                    sums.append((self.attend(c) * c.upstream).sum().item())
            flat[at] = kept
            exact = gradient.reshape(-1)[at].item()
            error = abs((sums[0] - sums[1]) / (2 * step) - exact) / max(1.0, abs(exact))
            worst = max(worst, math.inf if math.isnan(error) else error)
        return worst

    def pad_content(self, nan: bool) -> None:
        c = self.case(500, [23, 10, 1], 23)
        padded = ~c.keep[:, None, :, None]
        for garbage in [1e3] + ([math.nan] if nan else []):
            dirty = replace(c, k=c.k.masked_fill(padded, garbage), v=c.v.masked_fill(padded, garbage))
            what = f"{garbage} in padded keys and values"
            self.add("T3", UNCHANGED, what, lambda: _outcome_difference(self.run(dirty), self.run(c)))

            def leak() -> float:
                outcome = self.run(dirty)
                reached = [(t * padded).abs().max().item() for t in (outcome.dk, outcome.dv)]
                return max(math.inf if math.isnan(r) else r for r in reached)

            self.add("T3", 0, f"gradient of padded keys and values, {what}", leak)

    def pad_amount(self) -> None:
        c = self.case(600, [21], 21 + 17)
        for pads in 3, 17:
            self.add("T4", UNCHANGED, f"{pads} pads against none", lambda: _outcome_difference(
                self.run(c.example(0, 21 + pads)).map(lambda t: t[:, :, :21]), self.run(c.example(0, 21))))

    def batch_independence(self) -> None:
        c = self.case(900, [29, 12, 20], 29)
        for b in range(3):
            self.add("T9", UNCHANGED, f"example {b} alone against in a batch of 3", lambda: _outcome_difference(
                self.run(c).map(lambda t: t[b:b + 1]), self.run(c.example(b, 29))))

    def fully_masked(self) -> None:
        c = self.case(1000, [13, 0], 13)

        def empty() -> float:
            outputs = self.in_type[torch.float64](c.q, c.k, c.v, c.keep)[1]
            worst = max(t.abs().max().item() for t in [outputs] + [t[1] for t in self.run(c).tensors()])
            return math.inf if math.isnan(worst) or not outputs.isfinite().all() else worst

        self.add("T13", 0, "an example without keys", empty)
        self.add("T13", UNCHANGED, "the example beside it", lambda: _difference(
            self.attend(c)[0], self.attend(c.example(0, 13))[0]))

    def future(self) -> None:
        n = 139
        c = self.case(1200, [n, 90], n)
        for last in 0, 5, 62, 63, 64, 127, 137:
            later = (torch.arange(n) > last)[:, None]
            moved = {name: torch.where(later, -7 * getattr(c, name) + 3, getattr(c, name)) for name in ("q", "k", "v")}
            self.add("T5", UNCHANGED, f"other tokens behind token {last}", lambda: _difference(
                self.attend(replace(c, **moved))[:, :, :last + 1], self.attend(c)[:, :, :last + 1]))
            prefix = replace(c, upstream=c.upstream.masked_fill(later, 0))
            self.add("T5", UNCHANGED, f"gradient from outputs up to token {last} to later tokens", lambda: max(
                t[:, :, last + 1:].abs().max().item() for t in self.run(prefix).tensors()[1:]))

    def repeats(self) -> None:
        c = self.case(1400, [31, 12], 31)
        same = lambda: all(torch.equal(a, b) for a, b in zip(self.run(c).tensors(), self.run(c).tensors()))
        self.add("T10", 0, "two equal runs", lambda: 0.0 if same() else math.inf)

    def float32(self) -> None:
        c = self.case(1100, [523, 301], 523)
        right = self.attend_oracle if self.oracle is not None else None
        self.add("F32", FLOAT, "output and gradients, N = 523", lambda: _outcome_difference(
            self.run(c.to(torch.float32)), self.run(c, right), 1e-30))
