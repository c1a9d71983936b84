"""The Long-Range Arena evaluation suite in Python: the data, batches, configurations and tables of the program `lra`.

    data = lra.open("listops")                    # splits; data["train"][0] is (ids, label)
    for batch in lra.loader("listops"):           # one epoch of the batches that `lra train` takes
        logits = model(batch.ids, batch.keep)     # [B, N], [B, N] -> [B, C]
    lra.score(logits, "listops")                  # the value of the task's metric, with an interval
    print(lra.check(my_attention))                # does it keep an attention's promises?
    lra.train(config, make_attention)             # `lra train`, with an attention in PyTorch

NumPy is all that it needs; lra.check, lra.train and lra.reference take PyTorch. docs/python.md
"""
from typing import TYPE_CHECKING, Any

from lra import errors
from lra._lra import __version__
from lra.config import Config
from lra.data import Batch, Data, Loader, Split, loader, open
from lra.errors import Error
from lra.records import score, table
from lra.training import Run, train

if TYPE_CHECKING:
    from lra.conformance import check
else:
    def check(*arguments: Any, **options: Any) -> Any:
        """Which promises an attention in PyTorch keeps: help(lra.conformance.check)."""
        errors.need_torch("lra.check")
        from lra import conformance
        return conformance.check(*arguments, **options)


__all__ = ["Batch", "Config", "Data", "Error", "Loader", "Run", "Split", "check", "errors", "loader", "open", "score", "table",
           "train", "__version__"]
