"""Resolved configurations: what `lra config` prints."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

from lra import _lra

Value = Union[bool, int, float, str, list]
# Fields and values, as a mapping or as `--set` takes them: {"train.steps": 100} or ["train.steps=100"].
Settings = Union[Mapping[str, Value], Sequence[str]]
Path = Union[str, "os.PathLike[str]"]


def assignments(settings: Settings) -> list[str]:
    """Settings as "field=value"."""
    if not isinstance(settings, Mapping):
        return list(settings)
    return [f"{field}={_text(value)}" for field, value in settings.items()]


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_text(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def flatten(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Value]]:
    """Dotted paths and values of nested fields. The value of a field that holds options is their type's name."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        elif name == "@type":
            yield prefix[:-1], value.rpartition("/")[2]
        else:
            yield prefix + name, value


class Config(Mapping[str, Value]):
    """What a run does, field by dotted path: `config["train.batch_examples"]`, `dict(config)`.

    Merged as `lra train` does it: protocol, preset, attention, run file, `set`, in this order. `provenance` says what set
    a field; `changed_rules` where the run departs from its protocol and what the protocol says; `warnings` what follows.
    Raises InvalidArgumentError for an unknown name or field, a value out of range, and fields that do not agree.
    """

    def __init__(self, task: str, attention: str = "transformer", protocol: str = "", preset: str = "", *,
                 set: Settings = (), run_file: Path = "") -> None:
        """Names are those of `lra list`; an empty one means the run file's, else `fair` and `small`."""
        self._config = _lra.Config.resolve(task, attention, protocol, preset, os.fspath(run_file), assignments(set))
        self._values = dict(flatten(json.loads(self._config.json())))
        self.provenance: dict[str, str] = dict(self._config.provenance)
        self.changed_rules: dict[str, str] = dict(self._config.changed_rules())
        self.warnings: list[str] = list(self._config.warnings)

    def __getitem__(self, field: str) -> Value:
        return self._values[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<lra.Config {self.name}>"

    @property
    def task(self) -> str:
        return str(self["task"])

    @property
    def name(self) -> str:
        """What a run of it is called: "listops-linear-small-s0"."""
        return self._config.name()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that changes the result, 64 hexadecimal digits."""
        return self._config.fingerprint()

    @property
    def cell_fingerprint(self) -> str:
        """The same without the seed: runs that share it are repeats."""
        return self._config.cell_fingerprint()
