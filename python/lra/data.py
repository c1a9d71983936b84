"""Data sets as a model reads them, and the batches that training takes of them.

Shapes: B batch, N tokens, n examples, G what is to be guessed.
"""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Optional, Union

import numpy as np

from lra import _lra
from lra.config import Config, Path, Settings, assignments, flatten
from lra.errors import InvalidArgumentError, UnknownSplitError

SPLITS = ("train", "validation", "test")


def open(path: Path, view: Union[Config, Settings] = (), *, protocol: str = "fair", preset: str = "small",
         check_hashes: bool = True, threads: int = 0) -> Data:
    """A prepared data set, seen as a protocol and a preset say.

    path: its folder, or a task, which means $LRA_DATA/TASK. view: a Config, whose view it then is, or fields over those of
    protocol and preset: {"max_length_tokens": 1000}. With check_hashes size and SHA-256 of every file are compared with
    the manifest before a split is read. threads: 0 = all.
    Raises NotFoundError with the command that makes the data, InvalidArgumentError for a view that does not apply.
    """
    directory = _lra.data_directory(os.fspath(path))
    if isinstance(view, Config):
        return Data(directory, view._config.view(), check_hashes, threads)
    task = json.loads(_lra.manifest_json(directory))["spec"]["name"]
    return Data(directory, _lra.View.load(task, protocol, preset, assignments(view)), check_hashes, threads)


class Data(Mapping[str, "Split"]):
    """The splits train, validation and test by name; a split is mapped when it is first asked for."""

    def __init__(self, directory: str, view: _lra.View, check_hashes: bool = True, threads: int = 0) -> None:
        self.directory = directory
        self.manifest: dict[str, Any] = json.loads(_lra.manifest_json(directory))
        # Every field of the view that applies, by name.
        self.view: dict[str, Any] = dict(flatten(json.loads(_lra.resolve_view(directory, view).json())))
        self._view, self._check_hashes, self._threads = view, check_hashes, threads
        self._splits: dict[str, Split] = {}

    def __getitem__(self, split: str) -> Split:
        if split not in self._splits:
            try:
                self._splits[split] = Split(self.directory, split, self._view, self._check_hashes, self._threads)
            except InvalidArgumentError as error:
                if split in self:
                    raise
                raise UnknownSplitError(str(error)) from None
        return self._splits[split]

    def __contains__(self, split: object) -> bool:
        return split in SPLITS

    def __iter__(self) -> Iterator[str]:
        return iter(SPLITS)

    def __len__(self) -> int:
        return len(SPLITS)

    def __repr__(self) -> str:
        return f"<lra.Data {self.directory}>"


class Split:
    """A split, to be used as a torch.utils.data.Dataset: `split[i]` is (ids [N], label).

    Of pairs it is ((ids [N], ids_b [N_b]), label); where the view has real pixels, ids are float32 values. Lengths differ
    from example to example; `batch` pads. Processes of a torch DataLoader share the mapped files.
    """

    def __init__(self, directory: str, name: str, view: _lra.View, check_hashes: bool = True, threads: int = 0) -> None:
        self._made_of, self._threads = (directory, name, view), threads
        self._split = _lra.Split.open(directory, name, view, check_hashes, threads)
        self.name = name
        # What the view yields: vocabulary_size, classes, max_length_tokens, is_pair, is_real, token_names, ...
        self.spec: dict[str, Any] = json.loads(self._split.spec_json())

    def __reduce__(self) -> tuple:
        return Split, (*self._made_of, False, self._threads)  # the files were checked when this one was opened

    def __len__(self) -> int:
        return len(self._split)

    def __getitem__(self, example: int) -> tuple[Any, int]:
        place = example + len(self) if example < 0 else example
        ids = self._split.read(place, 0)
        if self.spec.get("is_pair", False):
            ids = ids, self._split.read(place, 1)
        return ids, self._split.label(place)

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<lra.Split {self.name} of {self._made_of[0]}: {len(self)} examples>"

    @property
    def labels(self) -> np.ndarray:
        """int32 [n]."""
        return self._split.labels()

    @property
    def index(self) -> np.ndarray:
        """int64 [n]: where each example stands in `stored_split`."""
        return self._split.index()

    def lengths(self, column: int = 0) -> np.ndarray:
        """int32 [n], in tokens; column 1 is the second text of pairs."""
        return self._split.lengths(column)

    @property
    def stored_split(self) -> str:
        """The split on disk that this one is taken from."""
        return self._split.stored_split()

    @property
    def shards(self) -> list[dict[str, np.ndarray]]:
        """The mapped columns of the stored split, as they are on disk (docs/format.md), read-only and without a copy.

        Each shard has tokens uint8 or uint16 [all its tokens], offsets int64 [n + 1], labels int32 [n], tokens_b and
        offsets_b of pairs, and what else the task stores. The view is not applied.
        """
        return self._split.shards()

    def batch(self, examples: Sequence[int]) -> Batch:
        """These examples, padded as training pads them."""
        return Batch._of(_lra.batch_of(self._split, [int(i) for i in examples]))


@dataclass(frozen=True)
class Batch:
    """B examples, right-padded to N tokens. Arrays are NumPy's; `torch()` has the same as tensors. None: there is none."""

    ids: Any  # int32 [B, N], 0 at padding
    values: Any  # float32 [B, N] in place of ids, where the view has real pixels
    keep: Any  # bool [B, N]: False at padding
    labels: Any  # int32 [G]: the labels [B]; where tokens are guessed, these, example by example
    example_ids: Any  # int64 [B]: place in the split
    ids_b: Any = None  # int32 [B, N_b]: the second texts of pairs
    keep_b: Any = None  # bool [B, N_b]
    prompts: Any = None  # int32 [B]: tokens that are given, where tokens are guessed (view.target=NEXT)
    hidden: Any = None  # uint8 [B, N]: 1 where a token is hidden (view.target=MASKED); ids have the mask's there

    def __len__(self) -> int:
        return len(self.example_ids)

    @property
    def inputs(self) -> Any:
        """ids, or the values in their place. [B, N]"""
        return self.values if self.ids is None else self.ids

    def torch(self, device: Optional[Any] = None) -> Batch:
        """The batch as tensors, integers as int64, which embeddings and losses take."""
        import torch

        def tensor(array: Any) -> Any:
            if array is None:
                return None
            made = torch.from_numpy(np.ascontiguousarray(array))
            return made.to(device=device, dtype=made.dtype if made.dtype in (torch.bool, torch.float32) else torch.int64)

        return Batch(**{field.name: tensor(getattr(self, field.name)) for field in fields(self)})

    @staticmethod
    def _of(made: _lra.Batch) -> Batch:
        return Batch(**{field.name: getattr(made, field.name) for field in fields(Batch)})


def loader(task: Union[str, Config], protocol: str = "", split: str = "train", batch: Optional[int] = None,
           seed: Optional[int] = None, *, preset: str = "", attention: str = "", set: Settings = (),
           data: Path = "", check_hashes: bool = True) -> Loader:
    """The batches that `lra train` trains on, or those that an evaluation scores.

    task: a name, or a Config that says everything else. batch, seed: over those of protocol and preset. The attention,
    transformer by default, matters only where a protocol sets another batch for it. data: the folder, if it is not
    $LRA_DATA/TASK.
    Raises the errors of Config and of open; InvalidArgumentError for data of another task.
    """
    if isinstance(task, str):
        settings = assignments(set)
        settings += [f"train.batch_examples={batch}"] if batch is not None else []
        settings += [f"seed={seed}"] if seed is not None else []
        config = Config(task, attention or "transformer", protocol, preset, set=settings)
    elif batch is None and seed is None and not set and not protocol and not preset and not attention:
        config = task
    else:
        raise ValueError("a Config says protocol, preset, attention, batch, seed and settings already: leave them out")
    directory = _lra.data_directory(os.fspath(data) or config.task)
    _lra.check_data_of_task(directory, config.task)
    return Loader(config, open(directory, config, check_hashes=check_hashes)[split])


class Loader:
    """Batches of a split under a configuration.

    Of train: each pass over the loader is one epoch, the first epoch first, in training's order; a pass that is left
    early counts as an epoch. `steps` goes on without end from any position. Of other splits: every example once, longest
    first, in each pass. Batches are made in advance, while Python does something else.
    """

    def __init__(self, config: Config, split: Split) -> None:
        self.config, self.split = config, split
        self.next_epoch = 0  # the epoch of the next pass; may be set
        self._is_training = split.name == "train"

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._plan(0))

    def __iter__(self) -> Iterator[Batch]:
        if not self._is_training:
            return (self.split.batch(examples) for examples in self._plan(0))
        epoch, self.next_epoch = self.next_epoch, self.next_epoch + 1
        return self._epoch(epoch)

    def steps(self, epoch: int = 0, batch: int = 0) -> Iterator[Batch]:
        """Training batches without end, epoch after epoch, from the position on. ValueError where it is below 0."""
        if not self._is_training:
            raise ValueError(f"split {self.split.name} is not trained on: iterate over the loader")
        batches = _lra.Batches(self.split._split, self.config._config, epoch, batch)
        while True:
            yield Batch._of(batches.next())

    def plan(self, epoch: int = 0) -> list[list[int]]:
        """The examples of each batch of an epoch, by place in the split."""
        return self._plan(epoch)

    def _plan(self, epoch: int) -> list[list[int]]:
        if self._is_training:
            return _lra.plan_epoch(self.split._split, self.config._config, epoch)
        return _lra.plan_evaluation(self.split._split, self.config._config)

    def _epoch(self, epoch: int) -> Iterator[Batch]:
        batches = self.steps(epoch)
        for _ in range(len(self)):
            yield next(batches)
