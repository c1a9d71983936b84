"""What a function's source is: what tells a changed attention from the one that a run was trained with."""
from __future__ import annotations

import functools
import hashlib
import inspect
import types
from collections.abc import Iterator
from typing import Any, Union

Named = Union[types.FunctionType, type]


def source_sha256(make: Any) -> str:
    """64 hexadecimal digits: the source of the function or class, of the functions and classes of its module that it names
    and that these name, and what a functools.partial gives it; "" where Python finds no source of it. What other modules
    hold, and values that are no functions or classes, are not in it."""
    given = ""
    while isinstance(make, functools.partial):
        given += repr((make.args, sorted(make.keywords.items())))
        make = make.func
    named = make if hasattr(make, "__qualname__") else type(make)
    try:
        source = inspect.getsource(named)
    except (OSError, TypeError):
        return ""
    return hashlib.sha256("".join([source, *_sources_named_by(named), given]).encode()).hexdigest()


def _sources_named_by(first: Named) -> list[str]:
    found: dict[int, Named] = {id(first): first}
    waiting = [first]
    while waiting:
        for other in _named_by(waiting.pop()):
            if other.__module__ == first.__module__ and id(other) not in found:
                found[id(other)] = other
                waiting.append(other)
    sources = []
    for other in sorted(found.values(), key=lambda one: one.__qualname__):
        try:
            sources += [inspect.getsource(other)] if other is not first else []
        except (OSError, TypeError):
            continue  # made without a file
    return sources


def _named_by(one: Named) -> Iterator[Named]:
    """The functions and classes that a function, or the methods and bases of a class, name."""
    if isinstance(one, type):
        yield from one.__bases__
    for function in _functions_of(one):
        held = {**function.__globals__, **_closure(function)}
        for name in _names(function.__code__):
            try:
                value = inspect.unwrap(held.get(name))
            except ValueError:
                continue  # it claims to wrap itself
            if isinstance(value, (types.FunctionType, type)):
                yield value


def _functions_of(one: Named) -> list[types.FunctionType]:
    if not isinstance(one, type):
        return [function] if isinstance(function := inspect.unwrap(one), types.FunctionType) else []
    members = (getattr(member, "fget", None) or getattr(member, "__func__", member) for member in vars(one).values())
    return [function for member in members if isinstance(function := inspect.unwrap(member), types.FunctionType)]


def _closure(function: types.FunctionType) -> dict[str, Any]:
    held = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            held[name] = cell.cell_contents
        except ValueError:
            continue  # not yet assigned
    return held


def _names(code: types.CodeType) -> Iterator[str]:
    """What the code and the functions in it name: globals, attributes and variables of functions around it."""
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
