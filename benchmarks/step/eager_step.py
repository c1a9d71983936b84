"""The yardstick of `lra bench step --against PYTHON`: one training step of the same model in eager PyTorch.

usage: [T=2 L=2 E=64 HD=32 M=128 S=6] eager_step.py {softmax|linear|cosformer|s4d} N B
       eager_step.py has-fla    exit code 0 where flash-linear-attention is installed

Pre-LN encoder with biases everywhere, learned positions, dropout, masked mean pooling, Dense-ReLU-Dense head, AdamW.
Prints the median step time and the peak resident memory. T threads, L layers, E model width, HD head width, M MLP width,
S timed steps; DROPOUT=0.1 of hidden states, WEIGHT_DROPOUT=0 of attention weights (softmax only); with PADDED=1 lengths
fall evenly from N to N / 2, otherwise nothing is masked, with BF16=1 matrix products are in bfloat16 (autocast), with COMPILE=1 by torch.compile.
With DEVICE=cuda it runs there, AdamW fused, with TF32=1 in TF32, and the peak is that of tensors on the device. With CAUSAL=1 a
token sees none after it (not of s4d); with FLA=1 causal linear attention is flash-linear-attention's chunk_linear_attn.
"""
import importlib.util
import math
import os
import resource
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

if sys.argv[1:] == ["has-fla"]:
    sys.exit(not importlib.util.find_spec("fla"))
KIND, TOKENS, BATCH = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
THREADS, LAYERS, WIDTH, HEAD, MLP, STEPS = (
    int(os.environ.get(name, default))
    for name, default in (("T", 2), ("L", 2), ("E", 64), ("HD", 32), ("M", 128), ("S", 6)))
DROPOUT, WEIGHT_DROPOUT = float(os.environ.get("DROPOUT", 0.1)), float(os.environ.get("WEIGHT_DROPOUT", 0))
PADDED, BF16, TF32, COMPILE, CAUSAL, FLA = (
    os.environ.get(name, "0") == "1" for name in ("PADDED", "BF16", "TF32", "COMPILE", "CAUSAL", "FLA"))
DEVICE = torch.device(os.environ.get("DEVICE", "cpu"))
ON_GPU = DEVICE.type == "cuda"
CHUNK = 64  # tokens, of causal linear attention
if FLA:
    from fla.ops.linear_attn import chunk_linear_attn


def softmax(q, k, v, keep):
    if CAUSAL:  # what is padded comes last, so that no token before it sees any
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=WEIGHT_DROPOUT)
    mask = None if keep is None else keep[:, None, None, :]
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=WEIGHT_DROPOUT)


def kept(x, keep):
    return x if keep is None else x * keep[:, None, :, None]


def causal(q, k, v):
    """A token and those before it: sums over whole chunks, and products within one."""
    rest = -q.shape[-2] % CHUNK
    q, k, v = (functional.pad(x, (0, 0, 0, rest)).unflatten(-2, (-1, CHUNK)) for x in (q, k, functional.pad(v, (0, 1), value=1)))
    states = (k.transpose(-1, -2) @ v).cumsum(-3)
    before = functional.pad(states[..., :-1, :, :], (0, 0, 0, 0, 1, 0))
    sums = (q @ before + (q @ k.transpose(-1, -2)).tril() @ v).flatten(-3, -2)[..., :TOKENS, :]
    return sums[..., :-1] / sums[..., -1:].clamp_min(1e-6)


def normalised(q, k, v):
    if FLA:
        heads_last = [x.transpose(1, 2) for x in (q, k, v)]
        return chunk_linear_attn(*heads_last, scale=1.0)[0].transpose(1, 2)
    if CAUSAL:
        return causal(q, k, v)
    total = (q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True).clamp_min(1e-6)
    return q @ (k.transpose(-1, -2) @ v) / total


def linear(q, k, v, keep):
    return normalised(functional.elu(q) + 1, kept(functional.elu(k) + 1, keep), v)


def cosformer(q, k, v, keep):
    angle = torch.arange(q.shape[-2], device=q.device)[:, None] * (math.pi / 2 / q.shape[-2])
    q, k = functional.relu(q), kept(functional.relu(k), keep)
    rotate = lambda x: torch.cat((x * angle.cos(), x * angle.sin()), -1)
    return normalised(rotate(q), rotate(k), v)


class S4d(nn.Module):
    """A bidirectional S4D-Lin as published: kernels by exponentials of [E, P, N], convolution by transforms of 2 N."""

    def __init__(self, pairs=32):
        super().__init__()
        self.log_step = nn.Parameter(math.log(1e-3) + torch.rand(WIDTH) * math.log(1e2))
        self.read_out = nn.Parameter(torch.randn(2, WIDTH, pairs, 2) * 0.5**0.5)
        self.log_decay = nn.Parameter(torch.full((WIDTH, pairs), math.log(0.5)))
        self.frequency = nn.Parameter(math.pi * torch.arange(pairs).expand(WIDTH, pairs).clone())
        self.skip = nn.Parameter(torch.randn(WIDTH))
        self.output = nn.Conv1d(WIDTH, 2 * WIDTH, 1)

    def forward(self, y, keep):
        u, tokens = (y if keep is None else y * keep[:, :, None]).transpose(1, 2), y.shape[1]
        a = -self.log_decay.exp() + 1j * self.frequency
        rate = a * self.log_step.exp()[:, None]
        weight = torch.view_as_complex(self.read_out) * (rate.exp() - 1) / a
        powers = (rate[:, :, None] * torch.arange(tokens, device=y.device)).exp()
        kernels = 2 * torch.einsum("xhp,hpl->xhl", weight, powers).real
        kernel = functional.pad(kernels[0], (0, tokens)) + functional.pad(kernels[1].flip(-1), (tokens, 0))
        spectrum = torch.fft.rfft(u, n=2 * tokens) * torch.fft.rfft(kernel, n=2 * tokens)
        mixed = torch.fft.irfft(spectrum, n=2 * tokens)[..., :tokens] + u * self.skip[:, None]
        return functional.glu(self.output(functional.gelu(mixed)), dim=1).transpose(1, 2)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        if KIND == "s4d":
            self.mixer = S4d()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.attention_norm, self.mlp_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, MLP), nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(MLP, WIDTH), nn.Dropout(DROPOUT))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x, keep):
        y = self.attention_norm(x)
        x = x + self.dropout(self.mixer(y, keep) if KIND == "s4d" else self.attend(y, keep))
        return x + self.mlp(self.mlp_norm(x))

    def attend(self, y, keep):
        split = lambda t: t.unflatten(-1, (WIDTH // HEAD, HEAD)).transpose(1, 2)
        attended = globals()[KIND](split(self.query(y)), split(self.key(y)), split(self.value(y)), keep)
        return self.output(attended.transpose(1, 2).flatten(-2))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(512, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.dropout, self.norm = nn.Dropout(DROPOUT), nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Sequential(nn.Linear(WIDTH, MLP), nn.ReLU(), nn.Linear(MLP, 10))

    def forward(self, tokens, keep):
        x = self.dropout(self.token(tokens) + self.position.weight)
        for layer in self.layers:
            x = layer(x, keep)
        x = self.norm(x)
        if keep is None:
            return self.head(x.mean(1))
        return self.head((x * keep[:, :, None]).sum(1) / keep.sum(1, keepdim=True))


def main():
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = TF32
    model = Model().to(DEVICE)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-4, fused=ON_GPU)
    tokens, labels = torch.randint(1, 256, (BATCH, TOKENS)), torch.randint(0, 10, (BATCH,))
    cut = [TOKENS // 2 * b // max(1, BATCH - 1) if PADDED else 0 for b in range(BATCH)]
    keep = torch.arange(TOKENS)[None, :] < torch.tensor([TOKENS - c for c in cut])[:, None]
    tokens, labels, keep = tokens.to(DEVICE), labels.to(DEVICE), keep.to(DEVICE) if PADDED else None
    forward = torch.compile(model) if COMPILE else model
    seconds = []
    for _ in range(STEPS + 2):
        start = time.perf_counter()
        optimiser.zero_grad()
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=BF16):
            loss = functional.cross_entropy(forward(tokens, keep), labels)
        loss.backward()
        optimiser.step()
        if ON_GPU:
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    t = statistics.median(seconds[2:])
    peak = torch.cuda.max_memory_allocated() / 1e9 if ON_GPU else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{KIND} N={TOKENS} B={BATCH} L={LAYERS} E={WIDTH}: {t * 1e3:.3f} ms a step, "
          f"{BATCH * TOKENS / t / 1e3:.1f} ktokens/s, peak {peak:.2f} GB")


main()
