"""`lra train` in this process, with an attention that may be written in Python."""
from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from lra import _lra
from lra.config import Config, Path
from lra.errors import Error

if TYPE_CHECKING:
    from lra.reference import MakeAttention


@dataclass(frozen=True)
class Run:
    """A finished run."""

    path: str  # its folder: record.textproto, predictions.npy, curve.jsonl, checkpoint/
    method: str  # its row in tables: the attention's name, "python-NAME" for one in Python
    seed: int
    selected_step: int
    # What the selected checkpoint scores, by split: "examples", the metric's sums such as "correct", "metric", "value".
    scores: Mapping[str, Mapping[str, Any]]

    def __str__(self) -> str:
        parts = [f"{split} {score['metric']} {score['value']:.4f}" for split, score in self.scores.items()]
        return f"{self.method} seed {self.seed}: {', '.join(parts)} at step {self.selected_step} -> {self.path}"


def train(config: Config, attention: Optional[MakeAttention] = None, *, out: Path = "", seed: Optional[int] = None,
          resume: bool = False, name: str = "", data: Path = "", device: str = "cpu", threads: int = 0, quiet: bool = False,
          start: Path = "", init_from: Path = "", **runtime: Any) -> Run:
    """Trains, selects, tests and records a model, as `lra train` does: the same numbers in the same files (docs/training.md).

    attention: called for each layer with heads, head_width and longest; returns a function or torch.nn.Module of q, k, v
    [B, H, N, D] and keep [B, N] bool, which returns [B, H, N, D]. It takes the place of the configuration's own, whose
    sizes and rules stay. Without one, the configuration's is trained. name: of its row in tables, "python-NAME".
    out: the run's folder, by default runs/TASK-METHOD-PRESET-sSEED. seed: in place of the configuration's. resume: go on from
    the latest checkpoint; a finished run is returned as it is. data: the folder, if it is not $LRA_DATA/TASK. start and
    init_from: what `--from` and `--init-from` take. runtime: what changes no result, as `lra train` has it: checkpoint_every_steps,
    checkpoint_every_minutes (10), keep_checkpoints, micro_batch_examples, memory_budget_bytes.

    Ctrl-C saves and raises KeyboardInterrupt, another stop signal Error; an exception of the attention is saved before, too, and is
    the cause of the Error. Raises AlreadyExistsError where `out` holds a run and resume is off, InvalidArgumentError where it
    holds one with other settings or another attention.
    """
    trainer = _load()
    import torch
    directory = _lra.data_directory(os.fspath(data) or config.task)
    _lra.check_data_of_task(directory, config.task)
    choice = trainer.Choice()
    choice.seeds, choice.resume = "" if seed is None else str(seed), resume
    choice.start, choice.init_from = os.fspath(start), os.fspath(init_from)
    choice.command_line = f"lra.train (Python {sys.version_info.major}.{sys.version_info.minor})"
    choice.graphs = "off" if attention is not None else "auto"
    choice.set_runtime(json.dumps({"out_dir": os.fspath(out), "data_dir": directory, "device": device, "threads": threads,
                                   "quiet": quiet, "checkpoint_every_minutes": 10, "keep_checkpoints": 1, **runtime}))
    mixer = None
    if attention is not None:
        from lra.mixer import Mixer
        mixer = Mixer(attention, name)
    elif name:
        raise ValueError(f"name is {name!r}: it is for an attention that is given")
    listens = threading.current_thread() is threading.main_thread()
    try:
        with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
            made = json.loads(trainer.train(config._config, mixer, choice, listens))
    except Error as error:
        if error.code == "CANCELLED" and trainer.stopped_by() == signal.SIGINT:
            raise KeyboardInterrupt(str(error)) from None
        raise error from (mixer and mixer.error)
    facts = {key: made.pop(key) for key in ("run", "method", "seed", "selected_step")}
    return Run(facts.pop("run"), **facts, scores=made)


def _load() -> Any:
    """The extension module with the trainer, which runs with one version of PyTorch. Raises ImportError that says which."""
    needed = _lra.torch_version
    if not needed:
        raise ImportError("this build of lra has no trainer in Python: it takes a LibTorch from the wheel of torch")
    try:
        import torch  # its libraries are the trainer's
    except ImportError:
        raise ImportError(f"lra.train needs torch {needed}: python -m pip install torch=={needed}") from None
    if torch.__version__.partition("+")[0] != needed:
        raise ImportError(f"lra.train needs torch {needed}, here is {torch.__version__}: python -m pip install torch=={needed}")
    from lra import _trainer
    return _trainer
