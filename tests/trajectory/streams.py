"""Random numbers as lra/random.h and models/kernels/dropout.h describe them."""
import hashlib

import numpy as np
import torch

DROPOUT, EXAMPLE_ORDER, HIDDEN_TOKENS, PRETRAIN_ORDER = 3, 4, 9, 10  # domains given out by hand
LOW_WORD = 0xFFFFFFFF


def philox(counter, key):
    """Philox4x32-10 of four arrays of words, which broadcast, under a key of two words: four arrays uint32."""
    c = [np.asarray(words, np.uint64) for words in np.broadcast_arrays(*counter)]
    low, half = np.uint64(LOW_WORD), np.uint64(32)
    for turn in range(10):
        k0, k1 = ((int(key[0]) + turn * 0x9E3779B9) & LOW_WORD, (int(key[1]) + turn * 0xBB67AE85) & LOW_WORD)
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> half) ^ c[1] ^ np.uint64(k0), b & low, (a >> half) ^ c[3] ^ np.uint64(k1), a & low]
    return [words.astype(np.uint32) for words in c]


class Stream:
    """Draws in order; the counter is (block, *identity)."""

    BLOCKS = 256  # made at once, for speed

    def __init__(self, seed, domain, identity):
        self.key, self.identity, self.block, self.words = (seed, domain), identity, 0, []

    def next32(self):
        if not self.words:
            blocks = np.arange(self.block, self.block + self.BLOCKS)
            self.words = np.stack(philox([blocks, *self.identity], self.key), 1).ravel().tolist()[::-1]
            self.block += self.BLOCKS
        return self.words.pop()

    def below(self, bound):
        """Uniform in [0, bound), unbiased."""
        while True:
            product = self.next32() * bound
            if product & LOW_WORD >= 2**32 % bound:
                return product >> 32

    def uniform(self):
        low = self.next32()
        return ((low | self.next32() << 32) >> 11) * 2.0**-53


def named_domain(name):
    return (int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little") & LOW_WORD) | 16


def permutation(n, stream):
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = stream.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def mask_of(counter, channels, probability, key):
    """0 where dropped, else what keeps the mean: counter words shaped [..., channels / 8] -> [..., channels]."""
    threshold = int(probability * 65536 + 0.5)
    words = np.stack(philox(counter, key), -1)[..., None]
    bits = np.concatenate([words & 0xFFFF, words >> 16], -1)
    bits = bits.reshape(*words.shape[:-3], -1)[..., :channels]
    return torch.from_numpy((bits >= threshold) * np.float64(np.float32(65536) / np.float32(65536 - threshold)))


def dropout_mask(probability, seed, step, site, example_ids, tokens, channels, is_tied=False):
    """[B, tokens, channels]; tied: the same for all tokens."""
    ids, blocks = np.asarray(example_ids) & LOW_WORD, np.arange((channels + 7) // 8)
    token = np.zeros(tokens, int) if is_tied else np.arange(tokens)
    counter = [blocks[None, None, :], token[None, :, None], ids[:, None, None], step]
    return mask_of(counter, channels, probability, (seed, site << 8 | DROPOUT))


def weight_mask(probability, seed, step, site, example_ids, heads, tokens):
    """The mask of attention weights. [B, H, tokens, tokens]"""
    ids, blocks = np.asarray(example_ids) & LOW_WORD, np.arange((tokens + 7) // 8)
    head_and_block = (np.arange(heads)[:, None] << 18 | blocks)[None, :, None, :]
    counter = [head_and_block, np.arange(tokens)[None, None, :, None], ids[:, None, None, None], step]
    return mask_of(counter, tokens, probability, (seed, site << 8 | DROPOUT))
