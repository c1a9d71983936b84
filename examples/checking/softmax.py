"""Softmax attention in NumPy, and its gradients, for `lra check transformer --against softmax.safetensors`."""
import json, struct, sys
import numpy as np

def save(path, tensors, **metadata):
    header, offset = {"__metadata__": metadata}, 0
    for name, a in tensors.items():
        header[name] = {"dtype": {"f": "F", "u": "U"}[a.dtype.kind] + str(8 * a.itemsize), "shape": a.shape,
                        "data_offsets": [offset, offset := offset + a.nbytes]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in tensors.values()))

B, H, N, D = 2, 3, 37, 8
random = np.random.default_rng(1)
q, k, v, grad_out = (random.standard_normal((B, H, N, D)) for _ in range(4))
keep = np.ones((B, N), np.uint8)
keep[1, 20:] = 0                             # the second example has 20 tokens
grad_out *= keep[:, None, :, None]           # padded queries: their output is not compared

scores = q @ k.swapaxes(2, 3) / np.sqrt(D)
weights = np.exp(scores - scores.max(-1, keepdims=True)) * keep[:, None, None, :]
weights /= weights.sum(-1, keepdims=True)
out = weights @ v

grad_v = weights.swapaxes(2, 3) @ grad_out
grad_weights = grad_out @ v.swapaxes(2, 3)
grad_scores = weights * (grad_weights - (weights * grad_weights).sum(-1, keepdims=True)) / np.sqrt(D)
save(sys.argv[1], {"q": q, "k": k, "v": v, "keep": keep, "out": out, "grad_out": grad_out,
                   "grad_q": grad_scores @ k, "grad_k": grad_scores.swapaxes(2, 3) @ q, "grad_v": grad_v}, causal="false")
