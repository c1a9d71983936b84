#!/usr/bin/env python3
"""Whether operators of the kinds that the program uses have a deterministic form on CUDA (models/base/runtime.cc asks for these).

usage: benchmarks/cuda_determinism.py    with a Python that has torch, on a machine with a GPU; exit code 1 if one refuses
"""
import os
import sys

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before CUDA starts
import torch

torch.use_deterministic_algorithms(True)
torch.utils.deterministic.fill_uninitialized_memory = False
d = "cuda"
x = torch.randn(4, 64, 32, device=d, requires_grad=True)
i = torch.randint(0, 64, (4, 16, 32), device=d)
r = torch.randint(0, 64, (40,), device=d)
q = torch.randn(2, 2, 300, 32, device=d, requires_grad=True)
keep = torch.ones(2, 1, 1, 300, dtype=torch.bool, device=d)
keep[0, ..., 200:] = False
tries = {
    "gather": lambda: x.gather(1, i).sum().backward(),
    "gather dim 2": lambda: x.gather(2, torch.randint(0, 32, (4, 64, 8), device=d)).sum().backward(),
    "index_select": lambda: x.index_select(1, r).sum().backward(),
    "index": lambda: x[:, r].sum().backward(),
    "index_add": lambda: torch.zeros(64, 8, device=d).index_add_(0, r, torch.randn(40, 8, device=d)),
    "scatter_add": lambda: torch.zeros(4, 64, 32, device=d).scatter_add_(1, i, torch.randn(4, 16, 32, device=d)),
    "scatter": lambda: torch.zeros(4, 64, 32, device=d).scatter_(1, i, torch.randn(4, 16, 32, device=d)),
    "index_put accumulate": lambda: torch.zeros(64, 8, device=d).index_put_((r,), torch.randn(40, 8, device=d), accumulate=True),
    "cumsum float": lambda: x.cumsum(1).sum().backward(),
    "cumsum int": lambda: i.cumsum(1),
    "embedding": lambda: torch.nn.functional.embedding(r, torch.randn(64, 8, device=d, requires_grad=True)).sum().backward(),
    "conv1d": lambda: torch.nn.functional.conv1d(x.transpose(1, 2), torch.randn(32, 32, 3, device=d, requires_grad=True)).sum().backward(),
    "depthwise": lambda: torch.nn.functional.conv1d(x.transpose(1, 2), torch.randn(32, 1, 3, device=d, requires_grad=True), groups=32).sum().backward(),
    "fft": lambda: torch.fft.irfft(torch.fft.rfft(x, dim=1), dim=1).sum().backward(),
    "sort": lambda: x.sort(1).values.sum().backward(),
    "topk": lambda: x.topk(4, 1).values.sum().backward(),
    "max": lambda: x.max(1).values.sum().backward(),
    "amax": lambda: x.amax(1).sum().backward(),
    "cross entropy": lambda: torch.nn.functional.cross_entropy(x[:, 0], r[:4] % 32).backward(),
    "sdpa": lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=keep).sum().backward(),
    "sdpa causal": lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward(),
    "repeat_interleave": lambda: x.repeat_interleave(2, 1).sum().backward(),
    "masked_select": lambda: x.masked_select(x > 0).sum().backward(),
    "pad": lambda: torch.nn.functional.pad(x, (0, 0, 3, 3)).sum().backward(),
    "unfold": lambda: x.unfold(1, 5, 1).sum().backward(),
    "roll": lambda: x.roll(3, 1).sum().backward(),
    "bincount": lambda: torch.bincount(r),
    "histogram": lambda: torch.zeros(64, device=d).scatter_add_(0, r, torch.ones(40, device=d)),
    "max_pool": lambda: torch.nn.functional.max_pool1d(x, 3).sum().backward(),
}
refused = 0
for name, call in tries.items():
    try:
        call()
        torch.cuda.synchronize()
        print("ok     ", name)
    except RuntimeError as error:
        refused += 1
        print("REFUSED", name, str(error)[:120])
a = torch.autograd.grad(torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=keep).square().sum(), q)[0]
b = torch.autograd.grad(torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=keep).square().sum(), q)[0]
difference = (a - b).abs().max().item()
print("sdpa backward twice, strict:", difference)
sys.exit(refused > 0 or difference != 0)
