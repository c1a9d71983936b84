"""Does an attention that is written in PyTorch keep the promises that models rest on? `lra.check`.

The promises are those of `lra check` (models/conformance/conformance.h), with its ids and bounds, as far as they can be
seen from outside. Shapes: B batch, N tokens, H heads, D head width.
"""
from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Optional

import torch
from torch import Tensor

from lra.mixer import call_unchanged, check_parameters
from lra.promises import PROMISES, Report, Result

# out [B, H, N, D] of q, k, v [B, H, N, D] and keep [B, N] bool: False where a token is padding.
Attention = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

# Largest errors, relative to the largest value (at least 1). F32's is relative to the largest value itself, but for parameters,
# whose gradients can be nothing but rounding (that of a bias of the keys under softmax).
FORWARD, GRADIENT, NUMERIC, UNCHANGED, UNCHANGED32, FLOAT = 1e-10, 1e-9, 1e-6, 1e-12, 2e-5, 1e-4


def check(attention: Attention, *, causal: bool = False, oracle: Optional[Attention] = None, padding_invariant: bool = True,
          nan: bool = False, heads: int = 2, head_width: int = 8) -> Report:
    """Tries the promises on an attention: a torch.nn.Module or function (q, k, v, keep) -> out.

    q, k, v, out [B, H, N, D] with H = heads, D = head_width; keep [B, N] bool, False at padding. out has the
    type of v, float64 or float32. N is 1 to 523, B 1 to 5: a module that is made for a longest sequence is made for 523 tokens.
    As in an encoder, the memory of q, k, v and of the gradient of out is that of a [B, N, H, D], once that of a [B, H, N, D].
    What is written for padded queries does not matter, except that no NaN may reach a gradient. What the attention raises breaks
    the promise that was being tried.
    A module is copied, and tried in evaluation, as it is and with float64 parameters and buffers, and in training, where calls
    with one seed of torch.manual_seed must agree. What `lra.train` refuses breaks a promise here: trained parameters that are not
    float32 on the CPU, and buffers that a call changes.
    causal: token i sees the tokens up to i only. oracle: a slow attention that is obviously right, to compare with (T1, T2); if it
    is a module, gradients of parameters that have the same name in both are compared, too.
    padding_invariant=False: the amount of padding may change the output (no T4). nan: also put NaN into padded keys and
    values and, for outputs, queries, as `lra check` does (T3); PyTorch's own attention lets it through, and no model has it
    there.
    """
    suite = _Suite(attention, oracle, heads, head_width)
    if oracle is not None:
        suite.compare_with_oracle()
    suite.numeric_gradients(_FLOAT64)
    for mode in _FLOAT64, _FLOAT32:
        suite.pad_content(mode, nan)
        if padding_invariant:
            suite.pad_amount(mode)
        suite.batch_independence(mode)
        suite.fully_masked(mode)
    if causal:
        suite.future(_FLOAT64)
    suite.repeats()
    suite.float32()
    if isinstance(attention, torch.nn.Module):
        suite.training(nan, padding_invariant, causal)
    return Report(sorted(suite.results, key=lambda result: list(PROMISES).index(result.id)), suite.notes)


@dataclass(frozen=True)
class _Mode:
    """How an attention is called."""

    dtype: torch.dtype = torch.float64
    training: bool = False

    @property
    def unchanged(self) -> float:
        return UNCHANGED if self.dtype == torch.float64 else UNCHANGED32

    def __str__(self) -> str:
        """For the end of a detail; evaluation in float64 goes without saying."""
        return (", float32" if self.dtype == torch.float32 else "") + (", in training" if self.training else "")


_FLOAT64, _FLOAT32, _TRAINING = _Mode(), _Mode(torch.float32), _Mode(training=True)


@dataclass(frozen=True)
class _Case:
    q: Tensor
    k: Tensor
    v: Tensor
    keep: Tensor
    upstream: Tensor  # the gradient of the output: 0 at padding
    mode: _Mode
    seed: int = 0  # of what is drawn in training

    def map(self, function: Callable[[Tensor], Tensor]) -> _Case:
        """All but `keep`."""
        return replace(self, **{name: function(getattr(self, name)) for name in ("q", "k", "v", "upstream")})

    def to(self, mode: _Mode) -> _Case:
        return replace(self.map(lambda t: t.to(mode.dtype)), mode=mode)

    def example(self, b: int, tokens: int) -> _Case:
        """Its first tokens, alone."""
        return replace(self.map(lambda t: t[b:b + 1, :, :tokens]), keep=self.keep[b:b + 1, :tokens])


@dataclass(frozen=True)
class _Outcome:
    """Output, 0 at padding, and gradients of sum(output * upstream)."""

    output: Tensor
    dq: Tensor
    dk: Tensor
    dv: Tensor
    parameters: dict[str, Tensor] = field(default_factory=dict)  # gradients, by name

    def token_tensors(self) -> list[Tensor]:
        return [self.output, self.dq, self.dk, self.dv]

    def tensors(self) -> list[Tensor]:
        return self.token_tensors() + list(self.parameters.values())

    def map(self, function: Callable[[Tensor], Tensor]) -> _Outcome:
        """All but the parameters."""
        return _Outcome(*(function(t) for t in self.token_tensors()), self.parameters)


def _largest(*tensors: Tensor) -> float:
    """The largest size of a value; infinite where one is not finite. (Python's max() would lose a NaN.)"""
    return max(t.abs().max().item() if t.isfinite().all() else math.inf for t in tensors)


def _difference(a: Tensor, b: Tensor, floor: float = 1.0) -> float:
    """The largest difference over the largest value of b; infinite for what is not a number."""
    error = ((a.double() - b.double()).abs().max() / b.double().abs().max().clamp_min(floor)).item()
    return error if not math.isnan(error) else math.inf


def _outcome_difference(a: _Outcome, b: _Outcome, floor: float = 1.0) -> float:
    """Parameters are compared where both have one of that name."""
    errors = [_difference(x, y, floor) for x, y in zip(a.token_tensors(), b.token_tensors())]
    return max(errors + [_difference(a.parameters[name], b.parameters[name]) for name in a.parameters if name in b.parameters])


def _same_bits(a: _Outcome, b: _Outcome) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.tensors(), b.tensors()))


def _trained(attention: Attention) -> dict[str, Tensor]:
    """The parameters that are trained."""
    named = attention.named_parameters() if isinstance(attention, torch.nn.Module) else []
    return {name: parameter for name, parameter in named if parameter.requires_grad}


class _Subject:
    """An attention, copied for each mode, so that none sees what calls in another one changed."""

    def __init__(self, attention: Attention, output: str = "output") -> None:
        """output: what its output is called in messages."""
        self.attention, self.output = attention, output
        self.copies: dict[_Mode, torch.nn.Module] = {}

    def of(self, mode: _Mode) -> Attention:
        if not isinstance(self.attention, torch.nn.Module):
            return self.attention
        if mode not in self.copies:
            module = copy.deepcopy(self.attention)
            if mode.dtype == torch.float32:  # as lra.train has it: what is of another type stays so
                check_parameters(module)
            else:
                module = module.to(mode.dtype)
            self.copies[mode] = module.train(mode.training)
        return self.copies[mode]

    def raw(self, c: _Case) -> Tensor:
        """The output as it comes."""
        if c.mode.training:
            torch.default_generator.manual_seed(c.seed)  # a GPU's goes on as it was
        out = call_unchanged(self.of(c.mode), c.q, c.k, c.v, c.keep)
        if not isinstance(out, Tensor):
            raise TypeError(f"the {self.output} is a {type(out).__name__}, not a tensor")
        if out.shape != c.v.shape:
            raise ValueError(f"the {self.output} has shape {tuple(out.shape)}, not that of v, {tuple(c.v.shape)}")
        if (out.dtype, out.device) != (c.v.dtype, c.v.device):
            raise TypeError(f"the {self.output} is {out.dtype} on {out.device}, not as v, {c.v.dtype} on {c.v.device}")
        return out

    def attend(self, c: _Case) -> Tensor:
        """The output with zeros at padded queries."""
        return torch.where(c.keep[:, None, :, None], self.raw(c), 0)  # masked_fill would lose the strides of the gradient

    def run(self, c: _Case) -> _Outcome:
        inputs = [t.detach().clone().requires_grad_() for t in (c.q, c.k, c.v)]  # clones have the strides
        parameters = _trained(self.of(c.mode))
        of = [*inputs, *parameters.values()]
        output = self.attend(replace(c, q=inputs[0], k=inputs[1], v=inputs[2]))
        found = torch.autograd.grad((output * c.upstream).sum(), of, allow_unused=True)
        gradients = [torch.zeros_like(t) if g is None else g for t, g in zip(of, found)]
        return _Outcome(output.detach(), *gradients[:3], dict(zip(parameters, gradients[3:])))


class _Suite:
    def __init__(self, attention: Attention, oracle: Optional[Attention], heads: int, head_width: int) -> None:
        self.fast, self.oracle = _Subject(attention), _Subject(oracle, "oracle's output") if oracle is not None else None
        self.heads, self.head_width = heads, head_width
        self.results: list[Result] = []
        self.notes: list[str] = []
        self.attend, self.run = self.fast.attend, self.fast.run

    def case(self, seed: int, lengths: list[int], tokens: int, mode: _Mode = _FLOAT64) -> _Case:
        """Random values; the example b has lengths[b] real tokens in front. Projections of a [B, N, H * D] are what an encoder
        hands over, so in memory a token's heads lie side by side."""
        random = torch.Generator().manual_seed(seed)
        shape = len(lengths), tokens, self.heads, self.head_width
        q, k, v, upstream = (torch.randn(shape, generator=random, dtype=torch.float64).transpose(1, 2) for _ in range(4))
        keep = torch.arange(tokens) < torch.tensor(lengths)[:, None]
        return _Case(q, k, v, keep, upstream * keep[:, None, :, None], _FLOAT64).to(mode)

    def add(self, id: str, bound: float, detail: str, measure: Callable[[], float]) -> None:
        """Measures; what the attention raises breaks the promise."""
        try:
            self.results.append(Result(id, measure(), bound, detail))
        except Exception as error:  # whatever somebody's attention raises
            self.results.append(Result(id, math.inf, bound, f"{detail}: {type(error).__name__}: {error}"))

    def compare_with_oracle(self) -> None:
        assert self.oracle is not None
        oracle = self.oracle
        masked = self.case(300, [41, 41, 41], 41)
        keep = torch.rand(masked.keep.shape, generator=torch.Generator().manual_seed(301)) < 2 / 3
        cases = {f"N = {n}, lengths {n} and {other}": self.case(n, [n, other], n) for n in (1, 2, 37, 130) for other in (n, 1)}
        cases["N = 41, a random third masked"] = replace(masked, keep=keep, upstream=masked.upstream * keep[:, None, :, None])
        for what, c in cases.items():
            self.add("T1", FORWARD, what, lambda: _difference(self.attend(c), oracle.attend(c)))
            self.add("T2", GRADIENT, what, lambda: _outcome_difference(self.run(c), oracle.run(c)))

    def numeric_gradients(self, mode: _Mode) -> None:
        c = self.case(400, [11, 7], 11, mode)
        for name, gradient in ("q", "dq"), ("k", "dk"), ("v", "dv"):
            self.add("T2n", NUMERIC, f"central differences of {name}{mode}", lambda: self._numeric(
                c, getattr(c, name), getattr(self.run(c), gradient)))
        for name in _trained(self.fast.attention):
            self.add("T2n", NUMERIC, f"central differences of {name}{mode}", lambda: self._numeric(
                c, _trained(self.fast.of(mode))[name].detach(), self.run(c).parameters[name]))

    def _numeric(self, c: _Case, values: Tensor, gradient: Tensor, step: float = 1e-5) -> float:
        """The worst error at 20 random coordinates of a tensor that the case or the attention holds, and along a random direction,
        which sees all of them: those of a long table are mostly of no use to the case."""
        random, worst, kept = torch.Generator().manual_seed(401), 0.0, values.clone()
        for is_coordinate in [True] * 20 + [False] if values.numel() else []:
            direction = torch.zeros_like(values)
            if is_coordinate:
                direction[tuple(int(torch.randint(size, (), generator=random)) for size in values.shape)] = 1
            else:
                direction.normal_(generator=random).div_(direction.norm())
            try:
                sums = []
                for moved in step, -step:
                    values.copy_(kept + moved * direction)
                    with torch.no_grad():
                        sums.append((self.attend(c) * c.upstream).sum().item())
            finally:
                values.copy_(kept)
            exact = (gradient * direction).sum().item()
            error = abs((sums[0] - sums[1]) / (2 * step) - exact) / max(1.0, abs(exact))
            worst = max(worst, math.inf if math.isnan(error) else error)
        return worst

    def pad_content(self, mode: _Mode, nan: bool) -> None:
        c = self.case(500, [23, 10, 1, 17, 23], 23, mode)
        padded = ~c.keep[:, None, :, None]

        def fill(t: Tensor, garbage: Any) -> Tensor:
            return torch.where(padded, garbage, t)  # which keeps the strides

        for garbage in [1e3] + ([math.nan] if nan else []):
            dirty = replace(c, q=fill(c.q, 3 - 7 * c.q), k=fill(c.k, garbage), v=fill(c.v, garbage))
            what = f"other padded queries, {garbage} in padded keys and values{mode}"
            self.add("T3", mode.unchanged, what, lambda: _outcome_difference(self.run(dirty), self.run(c)))

            def leak() -> float:
                outcome = self.run(dirty)
                return _largest(outcome.dk * padded, outcome.dv * padded)

            self.add("T3", 0, f"gradient of padded keys and values, {what}", leak)
        if nan:  # outputs only: a row of NaN times a gradient of 0 is NaN
            self.add("T3", mode.unchanged, f"nan in padded queries, output{mode}", lambda: _difference(
                self.attend(replace(c, q=fill(c.q, math.nan))), self.attend(c)))

    def pad_amount(self, mode: _Mode) -> None:
        c = self.case(600, [21], 21 + 17, mode)
        for pads in 3, 17:
            self.add("T4", mode.unchanged, f"{pads} pads against none{mode}", lambda: _outcome_difference(
                self.run(c.example(0, 21 + pads)).map(lambda t: t[:, :, :21]), self.run(c.example(0, 21))))

    def batch_independence(self, mode: _Mode) -> None:
        c = self.case(900, [29, 12, 20, 29, 5], 29, mode)
        for b in range(5):
            layout = ", contiguous [B, H, N, D]," if b == 1 else ""  # the only one
            alone = c.example(b, 29).map(lambda t: t.contiguous() if b == 1 else t)
            self.add("T9", mode.unchanged, f"example {b} alone{layout} against in a batch of 5{mode}", lambda: _outcome_difference(
                replace(self.run(c), parameters={}).map(lambda t: t[b:b + 1]), self.run(alone)))

    def fully_masked(self, mode: _Mode, beside: bool = True) -> None:
        c = self.case(1000, [13, 0], 13, mode)

        def empty() -> float:
            outcome = self.run(c)
            worst = _largest(self.fast.raw(c)[1], *(t[1] for t in outcome.token_tensors()))
            return worst if all(g.isfinite().all() for g in outcome.parameters.values()) else math.inf

        self.add("T13", 0, f"an example without keys{mode}", empty)
        if beside:
            self.add("T13", mode.unchanged, f"the example beside it{mode}", lambda: _outcome_difference(
                self.run(c).map(lambda t: t[:1]), self.run(c.example(0, 13))))

    def future(self, mode: _Mode) -> None:
        n = 139
        c = self.case(1200, [n, 90], n, mode)
        for last in 0, 5, 62, 63, 64, 127, 137:
            later = (torch.arange(n) > last)[:, None]
            moved = {name: torch.where(later, -7 * getattr(c, name) + 3, getattr(c, name)) for name in ("q", "k", "v")}
            self.add("T5", mode.unchanged, f"other tokens behind token {last}{mode}", lambda: _difference(
                self.attend(replace(c, **moved))[:, :, :last + 1], self.attend(c)[:, :, :last + 1]))
            prefix = replace(c, upstream=torch.where(later, 0, c.upstream))
            self.add("T5", mode.unchanged, f"gradient from outputs up to token {last} to later tokens{mode}", lambda: _largest(
                *(t[:, :, last + 1:] for t in self.run(prefix).token_tensors()[1:])))

    def repeats(self) -> None:
        c = self.case(1400, [31, 12], 31)
        self.add("T10", 0, "two equal runs", lambda: 0.0 if _same_bits(self.run(c), self.run(c)) else math.inf)

    def float32(self) -> None:
        c = self.case(1100, [523, 301], 523)
        right = self.oracle or self.fast
        self.add("F32", FLOAT, "output and gradients, N = 523", lambda: _outcome_difference(
            self.run(c.to(_FLOAT32)), replace(right.run(c), parameters=self.run(c).parameters), 1e-30))
        small = self.case(1101, [31, 12], 31, _FLOAT32)  # exp() of these logits has no float32
        each = math.sqrt(100 / math.sqrt(small.q.shape[-1]))  # q k / sqrt(D) is about 100
        large = replace(small, q=torch.full_like(small.q, each), k=each + small.k / 10)
        self.add("F32", FLOAT, "finite output and gradients of large queries and keys", lambda: (
            0.0 if math.isfinite(_largest(*self.run(large).tensors())) else math.inf))

    def training(self, nan: bool, padding_invariant: bool, causal: bool) -> None:
        """Promises in training, where a module may draw random numbers. It must draw the same ones for the same seed."""
        c, is_random = self.case(1400, [31, 12], 31, _TRAINING), False

        def repeat() -> float:
            nonlocal is_random
            first, again, other = self.run(c), self.run(c), self.run(replace(c, seed=1))
            is_random = not _same_bits(first, other)
            return 0.0 if _same_bits(first, again) else math.inf

        with torch.random.fork_rng(devices=[]):
            self.add("T10", 0, f"two runs with one seed{_TRAINING}", repeat)
            if not self.results[-1].passed:
                self.notes.append("only T10 is tried in training, where two runs with one seed are not equal")
                return
            self.numeric_gradients(_TRAINING)
            self.pad_content(_TRAINING, nan)
            self.fully_masked(_TRAINING, beside=not is_random)
            if causal:
                self.future(_TRAINING)
            if is_random:
                self.notes.append("T4, T9, and T13 of the example beside an empty one, are not tried in training: random numbers "
                                  "are drawn there, others for other shapes")
                return
            self.batch_independence(_TRAINING)
            if padding_invariant:
                self.pad_amount(_TRAINING)
