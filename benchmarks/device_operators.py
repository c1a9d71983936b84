#!/usr/bin/env python3
"""Times single operators of PyTorch on a GPU at the shapes of our models, in ms: which form of a convolution or of a norm is
the fast one there. Needs a Python with torch and a GPU.

usage: python3 benchmarks/device_operators.py

Convolutions along the tokens with taps apart: of cuDNN (`conv`, `conv dw`: the gradient of its weight), and as products of what
each token reads (`columns`, `columns dw`). Both need the tokens with those around them first (`pad`). Layer norms: `norm`, its gradient
of the input alone (`norm dx`) and of the parameters, too (`norm dx dw`). `add` is what reading two tensors and writing one takes.
Deterministic algorithms only; each figure is the mean of twenty runs after two.
"""
import os

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before CUDA starts

import torch
import torch.nn.functional as functional

RUNS = 20
CONVOLUTIONS = (  # name, batch, tokens, width, taps, how far they stand apart
    ("pathfinder", 64, 1024, 64, 3, (1, 4, 32, 128)),
    ("listops", 32, 2000, 64, 3, (1, 8)),
    ("review halves", 64, 512, 256, 7, (1,)),
    ("text", 32, 1000, 512, 7, (1,)),
)
NORMS = ((65536, 64), (32768, 256), (32000, 512))  # rows, width


def milliseconds(body):
    for _ in range(2):
        body()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(RUNS):
        body()
    end.record()
    torch.cuda.synchronize()
    return f"{begin.elapsed_time(end) / RUNS:.3f}"


def as_picture(x):
    return x.unsqueeze(1).permute(0, 3, 1, 2)


def random(*shape):
    return torch.randn(*shape, device="cuda")


def convolution(batch, tokens, width, taps, apart):
    """One row of the table."""
    far = taps // 2 * apart
    x, dy, weight = random(batch, tokens, width), random(batch, tokens, width), random(width, taps * width)

    def pad():
        return torch.cat([x[:, tokens - far:], x, x[:, :far]], 1)

    padded, filters = pad(), as_picture(weight.view(width, taps, width))
    shape, strides = (batch, tokens, taps, width), ((tokens + 2 * far) * width, width, apart * width, 1)
    how = ([1, 1], [0, 0], [1, apart], False, [0, 0], 1)

    def columns():
        return padded.as_strided(shape, strides).reshape(batch * tokens, taps * width)

    aten = torch.ops.aten
    return [milliseconds(body) for body in (
        lambda: x + dy, pad, lambda: aten.convolution(as_picture(padded), filters, None, *how), lambda: columns() @ weight.t(),
        lambda: aten.convolution_backward(as_picture(dy), as_picture(padded), filters, None, *how, [False, True, False]),
        lambda: dy.view(-1, width).t() @ columns())]


def norm(rows, width):
    x, dy, weight, bias = random(rows, width), random(rows, width), random(width), random(width)
    aten = torch.ops.aten
    _, mean, scale = aten.native_layer_norm(x, (width,), weight, bias, 1e-5)

    def backward(wanted):
        return aten.native_layer_norm_backward(dy, x, (width,), mean, scale, weight, bias, wanted)

    return [milliseconds(body) for body in (
        lambda: x + dy, lambda: functional.layer_norm(x, (width,), weight, bias), lambda: backward([True, False, False]),
        lambda: backward([True, True, True]))]


def main():
    torch.use_deterministic_algorithms(True)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, ms\n")
    print("| convolution | B, N, E, taps, apart | type | add | pad | conv | columns | conv dw | columns dw |\n|---|---|---|" + "--:|" * 6)
    for is_rounded in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = is_rounded
        for name, *sizes, distances in CONVOLUTIONS:
            for apart in distances:
                cells = convolution(*sizes, apart)
                print(f"| {name} | {', '.join(map(str, [*sizes, apart]))} | {'TF32' if is_rounded else 'float32'} | {' | '.join(cells)} |")
    print("\n| rows, width | add | norm | norm dx | norm dx dw |\n|---|" + "--:|" * 4)
    for sizes in NORMS:
        print(f"| {sizes[0]}, {sizes[1]} | {' | '.join(norm(*sizes))} |")


main()
