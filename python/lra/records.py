"""Scores of predictions, and tables of records."""
from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from lra import _lra
from lra.config import Path, Settings, assignments
from lra.errors import Error, of_status


def score(predictions: Any, data: Path, *, name: str = "", split: str = "test", index: Any = None, protocol: str = "fair",
          preset: str = "small", view: Settings = (), seed: int = 0, description: str = "", out: Path = "") -> dict[str, Any]:
    """Scores predictions of any program: what `lra score` does (docs/scoring.md).

    predictions: logits float [n, C], or classes of any integer type [n]; arrays or tensors, in the split's order, or in
    that of index, int64 [n] (Split.index). data: a folder or a task.
    With a name the result is kept as a record, which joins tables: in `out`, else in runs/external-NAME-TASK. Without one
    nothing is kept. Returns task, split, examples, sums such as "correct", metric, value, interval (95 %, of this run, as in
    tables), text, warnings and, with a name, the folder "run".
    Raises InvalidArgumentError for predictions that do not fit the split.
    """
    out = os.fspath(out)
    if out and not name:
        raise ValueError(f"out is {out!r}: a record needs a name, which is its row's in tables")
    directory = _lra.data_directory(os.fspath(data))
    with tempfile.TemporaryDirectory() as folder:
        files = {"predictions": predictions, "index": index}
        paths = {key: _save(os.path.join(folder, key + ".npy"), array) for key, array in files.items()}
        run = out if name else os.path.join(folder, "record")
        if name and not run:
            run = _lra.external_directory(json.loads(_lra.manifest_json(directory))["spec"]["name"], name, seed)
        try:
            made = _lra.score(directory, split, paths["predictions"], paths["index"], protocol, preset, assignments(view),
                              name or "unnamed", description, seed, run)
        except Error as error:
            raise _named(error, paths) from None
    result = json.loads(made)
    return {"run": run, **result} if name else {key: value for key, value in result.items() if key != "method"}


def _named(error: Error, paths: dict[str, str]) -> Error:
    """The same error, in which an array stands for the file that it was written to."""
    message = str(error)
    for name, path in paths.items():
        if path:
            message = message.replace(f"the {name} {path}", f"the {name}").replace(path, name)
    return of_status(error.code, message)


def _save(path: str, array: Any) -> str:
    """The path of the array as a file; "" for None."""
    if array is None:
        return ""
    if hasattr(array, "detach"):
        array = array.detach().cpu().numpy()
    np.save(path, np.asarray(array))
    return path


def table(records: Union[Path, Sequence[Path]], *, split: str = "test", metric: str = "",
          tasks: Sequence[str] = (), methods: Sequence[str] = (), published: Sequence[str] = (),
          pandas: Optional[bool] = None) -> Any:
    """A row for each cell of the leaderboard of these run folders, or folders that hold some: what `lra table --format csv`
    writes (docs/results_format.md). Runs that were stopped, which have no record, are not counted.

    Returns a pandas.DataFrame where pandas is installed, otherwise a list of dictionaries; `pandas` says which.
    Raises NotFoundError where there are no runs, DataLossError where a record is damaged.
    """
    paths = [records] if isinstance(records, (str, os.PathLike)) else records
    made = _lra.table([os.fspath(path) for path in paths], list(published), split, metric, list(tasks), list(methods), "csv")
    if made.damaged:
        from lra.errors import DataLossError
        raise DataLossError("; ".join(made.damaged))
    rows = [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(made.text))]
    if pandas is False:
        return rows
    try:
        import pandas as library
    except ImportError:
        if pandas:
            raise
        return rows
    return library.DataFrame(rows)


def _number(text: str) -> Union[int, float, str, None]:
    """A cell of a CSV file as Python's own type; None for an empty one."""
    if text == "":
        return None
    for kind in int, float:
        try:
            return kind(text)
        except ValueError:
            pass
    return text
