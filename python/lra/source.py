"""What a function's source is: what tells a changed attention from the one that a run was trained with."""
from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import types
from collections.abc import Iterator
from typing import Any, Union

Named = Union[types.FunctionType, type]
_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE"))
_WRAPPERS = (staticmethod, classmethod, property, functools.cached_property, type(functools.lru_cache(len)))


def source_sha256(make: Any) -> str:
    """64 hexadecimal digits: the source of the function, method or class, of the functions and classes of its module that it
    names (globals, variables around it, defaults, bases, members) and that these name, and what a functools.partial gives
    it; "" where Python finds no source of it. What other modules hold is not in it, nor what is reached by attributes alone,
    nor values that are no functions or classes."""
    given = []
    while isinstance(make, functools.partial):
        given += [_text(value) for value in (*make.args, *(pair for item in sorted(make.keywords.items()) for pair in item))]
        make = make.func
    first = make if isinstance(make, type) else getattr(make, "__func__", make)
    first = first if hasattr(first, "__qualname__") else type(first)
    try:
        source = inspect.getsource(first)
    except (OSError, TypeError):
        return ""
    return hashlib.sha256("".join([source, *_sources_named_by(first), *given]).encode()).hexdigest()


def _text(value: Any) -> str:
    """The same in every process, where repr() would have an address."""
    own = [f"{one.__qualname__} {source_sha256(one)}" for one in _inside(value)]
    return "".join(own) or repr(value)


def _sources_named_by(first: Any) -> list[str]:
    module = first.__module__
    found: dict[int, Named] = {id(one): one for one in _inside(first)}
    waiting: list[Any] = [*found.values()] or [first]
    while waiting:
        for other in _named_by(waiting.pop()):
            if other.__module__ == module and id(other) not in found:
                found[id(other)] = other
                waiting.append(other)
    sources = set()
    for other in found.values():
        try:
            # A wrapper's own, where inspect would go on to what it wraps.
            sources.add(inspect.getsource(other if isinstance(other, type) else other.__code__))
        except (OSError, TypeError):
            continue  # made without a file
    return sorted(sources)


def _named_by(one: Any) -> Iterator[Named]:
    """The functions and classes that a function, or the members and bases of a class, name."""
    if isinstance(one, type):
        for value in (*one.__bases__, *vars(one).values()):
            yield from _inside(value)
    if not isinstance(one, types.FunctionType):
        return
    held = {**one.__globals__, **_closure(one)}
    named = [held[name] for name in _names(one.__code__) if name in held]
    for value in (*named, *(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()):
        yield from _inside(value)


def _inside(value: Any) -> Iterator[Named]:
    """The functions and classes that a value is or wraps. Only of known types is anything asked: an attribute of another
    object may be made, or raise, at each access."""
    if isinstance(value, (types.FunctionType, type)):
        yield value
        if "__wrapped__" in vars(value):
            yield from _inside(vars(value)["__wrapped__"])
    elif isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _inside(part)
    elif isinstance(value, types.MethodType):  # such as Function.apply
        yield from _inside(value.__func__)
        if isinstance(value.__self__, type):
            yield value.__self__
    elif type(value) in _WRAPPERS:
        for name in ("__func__", "fget", "fset", "func", "__wrapped__"):
            yield from _inside(getattr(value, name, None))


def _closure(function: types.FunctionType) -> dict[str, Any]:
    held = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            held[name] = cell.cell_contents
        except ValueError:
            continue  # not yet assigned
    return held


def _names(code: types.CodeType) -> Iterator[str]:
    """What the code and the functions in it name: globals, and variables of functions around it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in _GLOBALS:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
