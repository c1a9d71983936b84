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


class Base:
    def norm(self, x):
        return x


class Layer(Base):
    def __init__(self, *sizes):
        pass

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


enclosed = enclosing(attention)
partial = functools.partial(mine, 2)
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
                    for name in ("mine", "Layer", "enclosed", "cached", "partial")}

        first = digests(MINE)
        assert all(len(digest) == 64 for digest in first.values()), first
        assert len(set(first.values())) == len(first), first
        assert digests(MINE) == first, "the same source, from another file"
        for before, after, noticed in (
                ("math.exp(x)", "math.exp(-x)", set(first)), ("kernel(q) * v", "kernel(k) * v", set(first) - {"Layer"}),
                ("norm(self, x):\n        return x", "norm(self, x):\n        return -x", {"Layer"}),
                ("self.features(q)", "self.features(k)", {"Layer"}), ("return x\n\n\nclass Base", "return -x\n\n\nclass Base", set()),
                ("functools.partial(mine, 2)", "functools.partial(mine, 3)", {"partial"})):
            assert MINE.count(before) == 1, before
            now = digests(MINE.replace(before, after))
            changed = {name for name in first if now[name] != first[name]}
            assert changed == noticed, (before, changed, noticed)
        assert source.source_sha256(len) == "", "Python finds no source of a builtin"
    print("edits are noticed where they change what is called")


if __name__ == "__main__":
    main()
