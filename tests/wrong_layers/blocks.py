"""Right at small sizes, wrong beyond: blocks without rescaling, windows, remainders, limits of widths and lengths."""

from __future__ import annotations

import math
from typing import Any

import torch

from tests.wrong_layers import WRONG, Function, add


def attend(Q: Any, K: Any, V: Any) -> Any:
    return torch.softmax(Q @ K.T / math.sqrt(Q.shape[1]), -1) @ V


def layer(kernel: Function) -> Function:
    return lambda X, W_Q, W_K, W_V: kernel(X @ W_Q, X @ W_K, X @ W_V)


def blocked(size: int, rescaled: bool = True, remainder: bool = True, sums: bool = True) -> Function:
    """Attention over blocks of keys with a running maximum, as in online softmax."""

    def kernel(Q: Any, K: Any, V: Any) -> Any:
        T = Q @ K.T / math.sqrt(Q.shape[1])
        top = torch.full((len(Q), 1), -math.inf, dtype=Q.dtype)
        total, result = torch.zeros_like(top), torch.zeros(len(Q), V.shape[1], dtype=Q.dtype)
        last = len(K) if remainder or len(K) < size else len(K) // size * size
        for start in range(0, last, size):
            part = T[:, start : start + size]
            higher = torch.maximum(top, part.amax(-1, keepdim=True)) if rescaled or start == 0 else top
            weights = torch.exp(part - higher)
            factor = torch.exp(top - higher)
            total = total * (factor if sums else 1) + weights.sum(-1, keepdim=True)
            result = result * factor + weights @ V[start : start + size]
            top = higher
        return result / total

    return layer(kernel)


def own_blocks(size: int) -> Function:
    """A softmax over each block of keys of its own."""
    return layer(
        lambda Q, K, V: (
            sum(attend(Q, K[i : i + size], V[i : i + size]) for i in range(0, len(K), size)) / -(-len(K) // size)
        )
    )


def windowed(size: int) -> Function:
    def kernel(Q: Any, K: Any, V: Any) -> Any:
        T = Q @ K.T / math.sqrt(Q.shape[1])
        far = (torch.arange(len(Q))[:, None] - torch.arange(len(K))).abs() >= size
        return torch.softmax(T.masked_fill(far, -math.inf), -1) @ V

    return layer(kernel)


def beyond(condition: Function, wrong: Function) -> Function:
    """Wrong where `condition` of queries and values says so."""
    return layer(lambda Q, K, V: wrong(Q, K, V) if condition(Q, V) else attend(Q, K, V))


def padded(block: int, fill: float) -> Function:
    """Keys padded to a multiple of `block` with zeros, masked with `fill`."""

    def kernel(Q: Any, K: Any, V: Any) -> Any:
        more = -len(K) % block
        K, V = (torch.nn.functional.pad(x, (0, 0, 0, more)) for x in (K, V))
        T = Q @ K.T / math.sqrt(Q.shape[1])
        T = torch.cat([T[:, : len(K) - more], torch.full_like(T[:, len(K) - more :], fill)], 1)
        return torch.softmax(T, -1) @ V

    return layer(kernel)


def collect() -> None:
    for size in (8, 16, 32, 64, 128):
        add(WRONG, f"blocks of {size}, a softmax of each", own_blocks(size))
        add(WRONG, f"window of {size}", windowed(size))
        add(WRONG, f"blocks of {size}, the remainder dropped", blocked(size, remainder=False))
        add(WRONG, f"blocks of {size}, sums not rescaled", blocked(size, sums=False))
    for block, fill in ((4, 0.0), (8, 0.0), (8, -10.0), (8, -1e2), (8, -1e3), (16, 0.0), (64, 0.0)):
        add(WRONG, f"keys padded to a multiple of {block}, masked with {fill:g}", padded(block, fill))
    conditions: dict[str, Function] = {
        "d_K > 64": lambda Q, V: Q.shape[1] > 64,
        "d_K > 128": lambda Q, V: Q.shape[1] > 128,
        "d_V > 64": lambda Q, V: V.shape[1] > 64,
        "L > 32": lambda Q, V: len(Q) > 32,
        "L > 128": lambda Q, V: len(Q) > 128,
        "L > 1000": lambda Q, V: len(Q) > 1000,
        "d_K no multiple of 8, beyond 8": lambda Q, V: Q.shape[1] > 8 and Q.shape[1] % 8 != 0,
        "L no multiple of 16, beyond 16": lambda Q, V: len(Q) > 16 and len(Q) % 16 != 0,
    }
    wrong: dict[str, Function] = {
        "no scale": lambda Q, K, V: torch.softmax(Q @ K.T, -1) @ V,
        "last key dropped": lambda Q, K, V: attend(Q, K[:-1], V[:-1]),
        "keys detached": lambda Q, K, V: attend(Q, K.detach(), V),
    }
    for title, condition in conditions.items():
        for name, kernel in wrong.items():
            add(WRONG, f"{name} where {title}", beyond(condition, kernel))
    add(WRONG, "features beyond 64 dropped from the logits",
        layer(lambda Q, K, V: torch.softmax(Q[:, :64] @ K[:, :64].T / math.sqrt(Q.shape[1]), -1) @ V))  # fmt: skip
    add(WRONG, "memory taken for row-major", lambda X, Q, K, V: attend(
        X.as_strided(X.shape, (X.shape[1], 1)) @ Q if X.numel() and X.storage_offset() == 0 else X @ Q, X @ K, X @ V))  # fmt: skip
