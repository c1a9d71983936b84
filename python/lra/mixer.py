"""An attention in Python as the program's encoder calls it: what lra.train hands to the extension module.

Shapes: B batch, N tokens, H heads, D head width.
"""
from __future__ import annotations

import functools
import re
import traceback
import weakref
from typing import Any, Optional

import torch
from torch import Tensor, nn

from lra.reference import AttentionFunction, MakeAttention
from lra.source import source_sha256

_NORMS = tuple(getattr(nn, name) for name in ("LayerNorm", "GroupNorm", "RMSNorm", "BatchNorm1d") if hasattr(nn, name))
# Modules that are a layer's already, with the layer's place.
_taken: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()


class Mixer:
    """Makes the attention of each layer, and says which one it is, for records."""

    def __init__(self, make: MakeAttention, name: str = "") -> None:
        """name: of the row in tables, letters, digits, "_", "." and "-"; by default that of the function or class."""
        if not callable(make) or isinstance(make, nn.Module):
            raise TypeError(f"attention is {describe_value(make)}; it must be a function or class that is called for each "
                            "layer with heads, head_width and longest, and returns a function or module of q, k, v, keep")
        if name and not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            raise ValueError(f"name is {name!r}; it may have letters, digits, _, . and -")
        self.make = make
        self.function = qualified_name(make)
        self.name = name or re.sub(r"\W+", "_", self.function.rpartition(".")[2], flags=re.ASCII).strip("_")
        self.source_sha256 = source_sha256(make)
        self.error: Optional[BaseException] = None  # what ended the run

    def layer(self, heads: int, head_width: int, longest: int, seed: int, place: str = "a layer") -> Layer:
        """The attention of one more layer; `seed` is what its initial values are drawn from, `place` such as
        "encoder.layer0.attention"."""
        torch.manual_seed(seed)
        return Layer(self.make(heads, head_width, longest), place)


class Layer:
    """One layer's attention, with the parameters that the program trains."""

    def __init__(self, function: AttentionFunction, place: str) -> None:
        if not callable(function):
            raise TypeError(f"the attention of a layer is {describe_value(function)}; it must be a function or module of "
                            "q, k, v, keep")
        self.function = function
        self.module = function if isinstance(function, nn.Module) else None
        if self.module is not None:
            check_module(self.module, place)
            _taken[self.module] = place
        self.device = torch.device("cpu")

    def parameters(self) -> list[tuple[str, Tensor, bool, bool]]:
        """Name, value, whether it is the matrix of a linear map, whether it belongs to a norm."""
        if self.module is None:
            return []
        modules = list(self.module.modules())
        matrices = {id(m.weight) for m in modules if isinstance(m, nn.Linear)}
        of_norms = {id(p) for m in modules if isinstance(m, _NORMS) for p in m.parameters(recurse=False)}
        return [(f"function.{name}", p, id(p) in matrices, id(p) in of_norms)
                for name, p in self.module.named_parameters() if p.requires_grad]

    def buffers(self) -> list[tuple[str, Tensor]]:
        """What is saved with the weights and never trained."""
        if self.module is None:
            return []
        frozen = [(name, p) for name, p in self.module.named_parameters() if not p.requires_grad]
        return [(f"function.{name}", value) for name, value in [*frozen, *self.module.named_buffers()]
                if value.dtype == torch.float32]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor, is_training: bool, seed: int) -> Tensor:
        """[B, H, N, D]; `seed` is what random numbers of the call are drawn from."""
        torch.manual_seed(seed)
        if self.module is None:
            return self.function(q, k, v, keep)
        self._prepare(q.device, is_training)
        return call_unchanged(self.module, q, k, v, keep)

    def _prepare(self, device: torch.device, is_training: bool) -> None:
        assert self.module is not None
        if device != self.device:  # parameters are there already
            self.module.to(device)
            self.device = device
        if self.module.training != is_training:
            self.module.train(is_training)


def call_unchanged(function: AttentionFunction, q: Tensor, k: Tensor, v: Tensor, keep: Tensor) -> Tensor:
    """Its output, [B, H, N, D]. Raises RuntimeError for a module that changed what it holds."""
    if not isinstance(function, nn.Module):
        return function(q, k, v, keep)
    before = _state(function)
    out = function(q, k, v, keep)
    if _state(function) != before:
        raise RuntimeError("the module changed its buffers or replaced a parameter while it was called; what an "
                           "attention learns must be in its parameters, or no run could be resumed")
    return out


def _state(module: nn.Module) -> list[tuple[int, int]]:
    return [*((id(p), 0) for p in module.parameters()), *((id(b), b._version) for b in module.buffers())]


def check_parameters(module: nn.Module) -> None:
    """Raises ValueError for parameters that cannot be trained here."""
    for name, p in module.named_parameters():
        if isinstance(p, nn.parameter.UninitializedParameter):
            raise ValueError(f"parameter {name} has no shape yet: a lazy module is not covered")
        if p.requires_grad and p.dtype != torch.float32:
            raise ValueError(f"parameter {name} is {p.dtype}; it must be torch.float32")
        if p.device.type != "cpu":
            raise ValueError(f"parameter {name} is on {p.device}; the run moves it to its device itself")


def check_module(module: nn.Module, place: str) -> None:
    """Raises ValueError for a module that belongs to a layer already, and for parameters that cannot be trained here: each
    is trained by one layer, or the optimiser would update it once for each of them in every step."""
    if module in _taken:
        raise ValueError("the function returned a module that it had returned before; each layer of each model needs one "
                         "of its own, made anew")
    check_parameters(module)
    trained = {id(p): name for name, p in module.named_parameters() if p.requires_grad}
    for other, where in _taken.items():
        for name, p in other.named_parameters():
            if p.requires_grad and id(p) in trained:
                raise ValueError(f"parameter {trained[id(p)]} of {place} is parameter {name} of {where}, too; layers and models "
                                 "cannot share what is trained: make it anew in each call, or freeze it with requires_grad_(False)")


def qualified_name(make: Any) -> str:
    """Such as my_package.MyAttention; of a functools.partial that of what it calls."""
    while isinstance(make, functools.partial):
        make = make.func
    named = make if hasattr(make, "__qualname__") else type(make)
    return f"{named.__module__}.{named.__qualname__}"


def describe_value(value: Any) -> str:
    return f"a {type(value).__module__}.{type(value).__name__}"


def describe(error: BaseException) -> str:
    """Such as "ValueError: no such thing (mine.py:12)": the exception and where it was raised."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else text
