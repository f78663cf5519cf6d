"""Random and stateful layers, layers that change their arguments, and results that no theorem can use."""

from __future__ import annotations

import math
from typing import Any

import torch

from tests.wrong_layers import WRONG, Function, Layer, add

TWICE = "two calls at the same arguments differ: it is random, or keeps a state"


def attend(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return torch.softmax(X @ W_Q @ (X @ W_K).T / math.sqrt(W_Q.shape[1]), -1) @ X @ W_V


def counting(wrong: Function) -> Function:
    calls = [0]

    def layer(*given: Any) -> Any:
        calls[0] += 1
        return wrong(calls[0], attend(*given))

    return layer


def cached() -> Function:
    """Keys that are kept for the next tokens of the same shape."""
    keys: dict[Any, Any] = {}

    def layer(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        K = keys.setdefault((X.shape, W_K.shape, X.dtype), (X @ W_K).detach())
        return torch.softmax(X @ W_Q @ K.T / math.sqrt(W_Q.shape[1]), -1) @ X @ W_V

    return layer


def changing(change: Function) -> Function:
    def layer(*given: Any) -> Any:
        result = attend(*given)
        change(*given)
        return result

    return layer


def collect() -> None:
    drop = torch.nn.functional.dropout
    add(WRONG, "dropout left on", lambda *given: drop(attend(*given), 0.1), cause=TWICE)
    add(WRONG, "noise of 1e-3", lambda *given: attend(*given) * (1 + 1e-3 * torch.rand(())), cause=TWICE)
    stateful: dict[str, Function] = {
        "every second call doubled": lambda n, F: F * (1 + n % 2),
        "a running mean": lambda n, F: F * (1 - 0.5**n),
        "right from the tenth call on": lambda n, F: F if n > 9 else F * 0.9,
    }
    for name, wrong in stateful.items():
        # two calls in a row may agree, and both be wrong
        cause = "" if "tenth" in name else TWICE
        WRONG.append(Layer(name, lambda wrong=wrong: counting(wrong), cause=cause))
    WRONG.append(Layer("stale keys", cached))
    changes: dict[str, Function] = {
        "in place": lambda X, Q, K, V: V.add_(1),
        "by .data": lambda X, Q, K, V: V.data.mul_(2),
        "by numpy": lambda X, Q, K, V: V.detach().numpy().fill(0.0),
        "the tokens": lambda X, Q, K, V: X.data.sub_(X.data.mean() + 1),
    }
    for name, change in changes.items():
        add(WRONG, f"an argument changed: {name}", changing(change))
    add(WRONG, "shape with an axis more", lambda *given: attend(*given)[None])
    add(WRONG, "result in half precision", lambda *given: attend(*given).half(), cause="it computes in float16")
    add(WRONG, "a number", lambda *given: 0.0)
    add(WRONG, "transposed result", lambda *given: attend(*given).T)
    add(WRONG, "not a number", lambda *given: attend(*given) * math.nan)
