"""Batches as datasets/loader.h describes them."""
from types import SimpleNamespace

import numpy as np
import torch

from trajectory.streams import EXAMPLE_ORDER, LOW_WORD, Stream, named_domain, permutation


class Loader:
    """Batches of a split (lra.Split) under configuration c.

    A batch has: example_ids, texts (one, of pairs two; each with ids [B, N], keep [B, N] and lengths), labels [B], or [G] where tokens
    are guessed, then with places, (row, position) of each guess; tokens, all real ones.
    """

    def __init__(self, c, split, order=EXAMPLE_ORDER):
        self.c, self.split, self.order, self.spec = c, split, order, split.spec
        columns = 2 if self.spec.get("is_pair") else 1
        self.longest = np.stack([split.lengths(column) for column in range(columns)]).max(0)
        prompts = [shard["prompt_tokens"].reshape(-1) for shard in split.shards if "prompt_tokens" in shard]
        self.prompts = np.concatenate(prompts)[split.index] if prompts else np.zeros(len(split), int)

    def __len__(self):
        return len(self.split)

    def plan(self, epoch):
        """Lists of examples, one a batch."""
        t, b, n = self.c.train, self.c.train.batch_examples, len(self)
        stream = lambda purpose: Stream(self.c.seed, self.order, (epoch & LOW_WORD, epoch >> 32, purpose))
        order = list(range(n)) if t.shuffle == "WHOLE_BATCHES" else permutation(n, stream(0))
        if t.drop_last and n >= b:
            order = order[:n - n % b]
        window = b * t.bucket_window_batches if t.shuffle == "EXAMPLES" else len(order)
        batches = []
        for at in range(0, len(order), window):
            part = order[at:at + window]
            if t.shuffle == "EXAMPLES":
                part = sorted(part, key=lambda i: self.longest[i])
            batches += [part[i:i + b] for i in range(0, len(part), b)]
        return [batches[i] for i in permutation(len(batches), stream(1))]

    def steps(self):
        """Batches of training, without end."""
        epoch = 0
        while True:
            for examples in self.plan(epoch):
                yield self.batch(examples, epoch)
            epoch += 1

    def evaluation(self, limit):
        """Batches of the first `limit` examples (0: of all), longest first."""
        n, b = (min(limit, len(self)) if limit else len(self)), self.c.train.batch_examples
        if self.c.evaluation.drop_last and n >= b:
            n -= n % b
        order = sorted(range(n), key=lambda i: -self.longest[i])
        return [self.batch(order[i:i + b]) for i in range(0, n, b)]

    def batch(self, examples, epoch=-1):
        """epoch: -1 in evaluation."""
        inputs, labels = zip(*(self.split[i] for i in examples))
        columns = zip(*inputs) if self.spec.get("is_pair") else [inputs]
        b = SimpleNamespace(example_ids=list(examples), texts=[self.pad(column) for column in columns], labels=torch.tensor(labels))
        if self.c.view.target in ("NEXT", "MASKED"):
            self.set_guesses(b, epoch)
        b.tokens = sum(sum(text.lengths) for text in b.texts)
        return b

    def padded_length(self, longest):
        pad_to = getattr(self.c.view, "pad_to", "LONGEST")
        if pad_to == "MAX_LENGTH":
            return self.c.view.max_length_tokens
        return 1 << (self.c.view.max_length_tokens - 1).bit_length() if pad_to == "POWER_OF_TWO" else longest

    def pad(self, rows):
        """Examples, each [its tokens], as a text of the batch."""
        shape = len(rows), self.padded_length(max(len(row) for row in rows))
        kind = torch.float64 if self.spec.get("is_real") else torch.long
        ids, keep = torch.zeros(shape, dtype=kind), torch.zeros(shape, dtype=torch.bool)
        for number, row in enumerate(rows):
            ids[number, :len(row)] = torch.from_numpy(np.asarray(row)).to(kind)
            keep[number, :len(row)] = True
        if getattr(self.c.view, "zero_is_padding", False):
            keep &= ids != 0
        return SimpleNamespace(ids=ids, keep=keep, lengths=[len(row) for row in rows])

    def set_guesses(self, b, epoch):
        """Every token behind the prompt, or hidden ones, which become the last id of the vocabulary."""
        text, b.places = b.texts[0], []
        for row, example in enumerate(b.example_ids):
            first, end = int(self.prompts[example]), text.lengths[row]
            hides = self.c.view.target == "MASKED"
            b.places += [(row, n) for n in (self.hidden(example, epoch, first, end) if hides else range(first, end))]
        rows, positions = zip(*b.places)
        b.labels = text.ids[rows, positions].clone()
        if self.c.view.target == "MASKED":
            text.ids[rows, positions] = self.spec["vocabulary_size"] - 1

    def hidden(self, example, epoch, first, end):
        seed = self.c.seed if epoch >= 0 else 0
        stream = Stream(seed, named_domain("masked_tokens"), (example & LOW_WORD, (epoch + 1) & LOW_WORD, 0))
        return choose_hidden(stream, self.c.view.masked_fraction, first, end)


def choose_hidden(stream, fraction, first, end):
    """Positions of [first, end), each with probability `fraction`; where there would be none, one of them."""
    hidden = [n for n in range(first, end) if stream.uniform() < np.float32(fraction)]
    return hidden or [first + stream.below(end - first)]
