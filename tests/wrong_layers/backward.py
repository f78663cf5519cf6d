"""Right values, wrong derivatives: cut arguments, and autograd.Functions with a mistake in their backward pass."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from tests.wrong_layers import WRONG, Function, add


def attend(Q: Any, K: Any, V: Any) -> Any:
    return torch.softmax(Q @ K.T / math.sqrt(Q.shape[1]), -1) @ V


def own_backward(gradient: Function, old: bool = True, once: bool = False) -> Function:
    """Attention of queries, keys and values as an autograd.Function with the given products of the backward pass."""

    def products(ctx: Any, g: Any) -> tuple[Any, ...]:
        Q, K, V = ctx.saved_tensors
        A = torch.softmax(Q @ K.T / math.sqrt(Q.shape[1]), -1)
        return gradient(Q, K, V, A, g)

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, Q: Any, K: Any, V: Any) -> Any:
            ctx.save_for_backward(Q, K, V)
            return attend(Q, K, V)

        backward = staticmethod(torch.autograd.function.once_differentiable(products) if once else products)

    class New(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(Q: Any, K: Any, V: Any) -> Any:
            return attend(Q, K, V)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        backward = staticmethod(products)

    kernel = (Old if old else New).apply
    return lambda X, W_Q, W_K, W_V: kernel(X @ W_Q, X @ W_K, X @ W_V)


def right(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    P = g @ V.T
    S = A * (P - (P * A).sum(-1, keepdim=True)) / math.sqrt(Q.shape[1])
    return S @ K, S.T @ Q, A.T @ g


def without_scale(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    dQ, dK, dV = right(Q, K, V, A, g)
    return dQ * math.sqrt(Q.shape[1]), dK * math.sqrt(Q.shape[1]), dV


def without_row_sums(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    S = A * (g @ V.T) / math.sqrt(Q.shape[1])
    return S @ K, S.T @ Q, A.T @ g


def column_sums(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    P = g @ V.T
    S = A * (P - (P * A).sum(0, keepdim=True)) / math.sqrt(Q.shape[1])
    return S @ K, S.T @ Q, A.T @ g


def last_token_alone(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    Y = torch.cat([X[:-1].detach(), X[-1:]])
    return attend(Y @ W_Q, Y @ W_K, Y @ W_V)


def half_of_it(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    F = attend(X @ W_Q, X @ W_K, X @ W_V)
    return F / 2 + F.detach() / 2


def not_transposed(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    dQ, dK, _ = right(Q, K, V, A, g)
    return dQ, dK, A @ g


def changed(place: int, change: Function) -> Function:
    def gradient(*given: Any) -> tuple[Any, ...]:
        found = list(right(*given))
        found[place] = change(found[place])
        return tuple(found)

    return gradient


GRADIENTS: dict[str, Function] = {
    "the scale is missing": without_scale,
    "the sums of the rows are missing": without_row_sums,
    "the values' weights are not transposed": not_transposed,
    "queries and keys exchanged": lambda Q, K, V, A, g: (
        right(Q, K, V, A, g)[1], right(Q, K, V, A, g)[0], right(Q, K, V, A, g)[2]),
    "column sums for row sums": column_sums,
    "contiguous cotangents assumed": lambda Q, K, V, A, g: right(
        Q, K, V, A, g.as_strided(g.shape, (g.shape[1], 1)) if g.stride(-1) != 0 and g.storage_offset() == 0
        and g.untyped_storage().nbytes() == g.numel() * g.element_size() else g),
    "cotangents of ones assumed": lambda Q, K, V, A, g: right(Q, K, V, A, torch.ones_like(g)),
    **{
        f"the gradient of {name} is {title}": changed(place, change)
        for place, name in enumerate(("queries", "keys", "values"))
        for title, change in (
            ("zero", lambda x: x * 0), ("doubled", lambda x: 2 * x), ("of the opposite sign", lambda x: -x),
            ("in float16", lambda x: x.half().to(x.dtype)), ("clipped at 0.5", lambda x: x.clamp(-0.5, 0.5)),
        )
    },
}  # fmt: skip


def collect() -> None:
    for name, gradient in GRADIENTS.items():
        add(WRONG, f"backward, old style: {name}", own_backward(gradient))
    for name in ("the scale is missing", "the gradient of keys is zero", "the sums of the rows are missing"):
        add(WRONG, f"backward, new style: {name}", own_backward(GRADIENTS[name], old=False))
        add(WRONG, f"backward, once differentiable: {name}", own_backward(GRADIENTS[name], once=True))
    add(WRONG, "checkpoint with detached keys",
        lambda X, Q, K, V: checkpoint(lambda X: attend(X @ Q, (X @ K).detach(), X @ V), X, use_reentrant=False))  # fmt: skip
    cuts: dict[str, Function] = {
        "X of the queries": lambda X, Q, K, V: attend(X.detach() @ Q, X @ K, X @ V),
        "X of the keys": lambda X, Q, K, V: attend(X @ Q, X.detach() @ K, X @ V),
        "X of the values": lambda X, Q, K, V: attend(X @ Q, X @ K, X.detach() @ V),
        "W_Q": lambda X, Q, K, V: attend(X @ Q.detach(), X @ K, X @ V),
        "W_K": lambda X, Q, K, V: attend(X @ Q, X @ K.detach(), X @ V),
        "W_V": lambda X, Q, K, V: attend(X @ Q, X @ K, X @ V.detach()),
        "the keys, by .data": lambda X, Q, K, V: attend(X @ Q, (X @ K).data, X @ V),
        "the weights": lambda X, Q, K, V: attend((X @ Q).detach(), (X @ K).detach(), X @ V),
        "the values": lambda X, Q, K, V: attend(X @ Q, X @ K, (X @ V).detach()),
        "all of X": lambda X, Q, K, V: attend(X.detach() @ Q, X.detach() @ K, X.detach() @ V),
        "all but the last token": last_token_alone,
        "half the result": half_of_it,
    }  # fmt: skip
    for name, cut in cuts.items():
        add(WRONG, f"cut: {name}", cut)
    for factor in (2.0, 0.5, -1.0):

        def weighted(X: Any, Q: Any, K: Any, V: Any, factor: float = factor) -> Any:
            Y = X * factor - (X * (factor - 1)).detach()
            return attend(Y @ Q, Y @ K, Y @ V)

        add(WRONG, f"the gradient in X times {factor:g}", weighted)

    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, T: Any) -> Any:
            return torch.softmax(T, -1)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    add(WRONG, "softmax with a straight-through gradient", Straight.apply, subject="hessian.softmax")
    add(WRONG, "output projection detached", lambda X, Q, K, V, O: torch.softmax(X @ Q @ (X @ K).T, -1) @ X @ V @ O.detach(),
        subject="skipless.self_attention")  # fmt: skip
