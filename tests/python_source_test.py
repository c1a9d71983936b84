#!/usr/bin/env python3
"""What lra.source takes for a changed attention: an edit of the function, or of what it names in its module, and nothing else.

usage: python_source_test.py ROOT     (needs no PyTorch)
"""
import importlib.util
import pathlib
import sys
import tempfile

MINE = """
import functools
import math

SCALE = 2


def kernel(x):
    return math.exp(x)


def attention(q, k, v, keep):
    return kernel(q) * v


def unused(x):
    return x


def softmax(x):  # unused, too: an attribute of this name is another one's
    return x


def decorated(function):
    @functools.wraps(function)
    def wrapper(*inputs):
        return function(*inputs) + 0
    return wrapper


def default(x):
    return x


class Settings(dict):
    __getattr__ = dict.__getitem__  # raises KeyError for what is not there


settings = Settings(scale=2)


@decorated
def wrapped(q, k, v, keep, kernel=default):
    return kernel(q.softmax(-1)) * settings.scale


class Apply:
    @classmethod
    def apply(cls, q):
        return q / 1


apply = Apply.apply
half = functools.partial(default, 2)


class Base:
    def norm(self, x):
        return x


class Layer(Base):
    def __init__(self, *sizes):
        pass

    settings = settings
    feature = staticmethod(default)

    @functools.cached_property
    def scale(self):
        return 1 * 1

    @staticmethod
    def features(x):
        return kernel(x)

    def __call__(self, q, k, v, keep):
        return self.norm(self.features(q))


def mine(heads, head_width, longest):
    def inner(q, k, v, keep):
        return attention(q, k, v, keep)
    return inner


def enclosing(function):
    def made(heads, head_width, longest):
        return function
    return made


@functools.lru_cache
def cached(heads):
    return attention


def applying(heads, head_width, longest):
    return lambda q, k, v, keep: apply(half(q))


enclosed = enclosing(attention)
partial = functools.partial(mine, default)
bound = Layer().norm
"""


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where Python looks for the source of classes
    spec.loader.exec_module(module)
    return module


def main():
    source = load(pathlib.Path(sys.argv[1]) / "python" / "lra" / "source.py", "source")
    with tempfile.TemporaryDirectory() as folder:
        made = 0

        def digests(text):
            nonlocal made
            made += 1
            path = pathlib.Path(folder) / f"mine{made}.py"
            path.write_text(text)
            module = load(path, f"mine{made}")
            return {name: source.source_sha256(getattr(module, name))
                    for name in ("mine", "Layer", "enclosed", "cached", "partial", "wrapped", "applying", "bound")}

        first = digests(MINE)
        assert all(len(digest) == 64 for digest in first.values()), first
        assert len(set(first.values())) == len(first), first
        assert digests(MINE) == first, "the same source, from another file"
        of_attention = {"mine", "enclosed", "cached", "partial"}
        for before, after, noticed in (
                ("math.exp(x)", "math.exp(-x)", of_attention | {"Layer"}), ("kernel(q) * v", "kernel(k) * v", of_attention),
                ("norm(self, x):\n        return x", "norm(self, x):\n        return -x", {"Layer", "bound"}),
                ("self.features(q)", "self.features(k)", {"Layer"}), ("1 * 1", "1 * 2", {"Layer"}),
                ("def unused(x):\n    return x", "def unused(x):\n    return -x", set()),
                ("another one's\n    return x", "another one's\n    return -x", set()),
                ("(*inputs) + 0", "(*inputs) + 1", {"wrapped"}), ("settings.scale", "-settings.scale", {"wrapped"}),
                ("def default(x):\n    return x", "def default(x):\n    return -x", {"wrapped", "partial", "Layer", "applying"}),
                ("return q / 1", "return q / 2", {"applying"}),
                ("functools.partial(mine, default)", "functools.partial(mine, 3)", {"partial"})):
            assert MINE.count(before) == 1, before
            now = digests(MINE.replace(before, after))
            changed = {name for name in first if now[name] != first[name]}
            assert changed == noticed, (before, changed, noticed)
        assert source.source_sha256(len) == "", "Python finds no source of a builtin"
    print("edits are noticed where they change what is called")


if __name__ == "__main__":
    main()
