"""What training minimises: each objective gives the sum of losses, how many there are, and how many guesses are right."""
from types import SimpleNamespace

import torch
from torch.nn import functional as F

from trajectory.batches import choose_hidden
from trajectory.model import SECOND_TEXT_SITES, Pass
from trajectory.streams import HIDDEN_TOKENS, LOW_WORD, Stream

NOT_A_STEP = LOW_WORD  # validation of pretraining hides the same tokens each time


def label_loss(model, b, is_training, step=0):
    """Of a label each, or of guessed tokens."""
    out = model.logits(b, is_training, step)
    if "head.mixture.weight" in model.weights:
        loss = -out.gather(1, b.labels[:, None]).sum()
    else:
        loss = F.cross_entropy(out, b.labels, reduction="sum")
    return loss, len(b.labels), int((out.argmax(1) == b.labels).sum())


def pretraining_loss(model, b, is_training, step=NOT_A_STEP):
    """Of hidden tokens (MASKED) or next ones (CAUSAL), each text by itself."""
    results = []
    for column, text in enumerate(b.texts):
        model.now = Pass(b.example_ids, is_training, step, column * SECOND_TEXT_SITES)
        results.append(text_loss(model, b.example_ids, column, text, step))
    return tuple(sum(part) for part in zip(*results))


def text_loss(model, example_ids, column, text, step):
    ids, rows, seen, wanted, is_causal = text.ids.clone(), [], [], [], model.c.pretrain.objective == "CAUSAL"
    for row, example in enumerate(example_ids):
        n = text.lengths[row]
        stream = Stream(model.c.seed, HIDDEN_TOKENS, (example & LOW_WORD, step & LOW_WORD, column))
        at = list(range(n - 1)) if is_causal else choose_hidden(stream, model.c.pretrain.masked_fraction, 0, n)
        rows, seen = rows + [row] * len(at), seen + at
        wanted += text.ids[row, [k + is_causal for k in at]].tolist()
        if not is_causal:
            ids[row, at] = len(model.weights["pretrain.head.weight"])  # one id above the vocabulary
    x, _ = model.encode(SimpleNamespace(ids=ids, keep=text.keep))
    out, wanted = model.linear(x[rows, [k + model.has_cls for k in seen]], "pretrain.head"), torch.tensor(wanted)
    return F.cross_entropy(out, wanted, reduction="sum"), len(wanted), int((out.argmax(1) == wanted).sum())
