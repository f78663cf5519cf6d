"""Layers with mistakes that other projects had and mended, each beside a right one: backward passes of right values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch

from tests.wrong_layers import Function, beside
from tests.wrong_layers.backward import changed, own_backward, right
from tests.wrong_layers.history import rows_of_parts
from tests.wrong_layers.in_use import interleaved, scores, under


def padded_scale(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    """The scale of the width that the kernel pads to, a multiple of 16."""
    dQ, dK, dV = right(Q, K, V, A, g)
    factor = math.sqrt(Q.shape[1] / (-(-Q.shape[1] // 16) * 16))
    return dQ * factor, dK * factor, dV


def causal_behind(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    """A causal mask that the forward pass does not have."""
    return right(Q, K, V, A.tril(), g)


def narrow_values(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    """Of values and cotangents as many features as keys have."""
    P = g[:, : Q.shape[1]] @ V[:, : Q.shape[1]].T
    S = A * (P - (P * A).sum(-1, keepdim=True)) / math.sqrt(Q.shape[1])
    return S @ K, S.T @ Q, A.T @ g


def unchecked_bounds(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    """No numbers where the length is no multiple of a block."""
    return tuple(x * math.nan if len(K) % 16 else x for x in right(Q, K, V, A, g))


def at_width_64(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    return tuple(x * (150 if Q.shape[1] == 64 else 1) for x in right(Q, K, V, A, g))


def where_peaked(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    """Rows of which one key has nearly all the weight get five times their gradient."""
    dQ, dK, dV = right(Q, K, V, A, g)
    return dQ * torch.where(A.amax(-1, keepdim=True) > 0.9, 5, 1), dK, dV


def whole_blocks(dQ: Any) -> Any:
    """Rows beyond the last whole block of 32, which no block covers, are left at zero."""
    last = len(dQ) // 32 * 32 if len(dQ) > 32 else len(dQ)
    return torch.cat([dQ[:last], 0 * dQ[last:]])


def products(Q: Any, K: Any, V: Any, P: Any, g: Any) -> tuple[Any, ...]:
    """Gradients in queries, keys and values of every head, shapes (B, H, m, d_K), (B, H, n, d_K) and (B, H, n, d_V)."""
    D = g @ interleaved(V, Q.shape[1]).mT
    S = P * (D - (D * P).sum(-1, keepdim=True)) / math.sqrt(Q.shape[-1])
    return S @ interleaved(K, Q.shape[1]), S.mT @ Q, P.mT @ g


def by_group(x: Any, G: int) -> Any:
    return x.unflatten(1, (G, -1)).sum(2)


def in_turns(x: Any, G: int) -> Any:
    return x.unflatten(1, (-1, G)).sum(1)


def of_heads(gathered: Function = by_group, read: Function = lambda x: x, values: Function = lambda dV: dV) -> Function:
    """Attention of heads as an autograd.Function; `gathered` adds gradients of heads that share keys."""

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, Q: Any, K: Any, V: Any, M: Any) -> Any:
            ctx.save_for_backward(Q, K, V, M)
            return under(scores(Q, interleaved(K, Q.shape[1])), M) @ interleaved(V, Q.shape[1])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            Q, K, V, M = ctx.saved_tensors
            P = under(scores(Q, interleaved(K, Q.shape[1])), M)
            dQ, dK, dV = products(read(Q), K, V, P, g)
            return dQ, gathered(dK, K.shape[1]), gathered(values(dV), K.shape[1]), None

    return Attention.apply


def with_bias(kept: Function) -> Function:
    """Attention with an additive bias as an autograd.Function; `kept` says whether the backward pass finds its weights."""

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, Q: Any, K: Any, V: Any, B: Any, M: Any, s: float) -> Any:
            P = under(s * Q @ K.T + B, M)
            ctx.save_for_backward(Q, K, V, P if kept(*ctx.needs_input_grad[:4]) else P * math.nan)
            ctx.scale = s
            return P @ V

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            Q, K, V, P = ctx.saved_tensors
            D = g @ V.T
            S = P * (D - (D * P).sum(-1, keepdim=True))
            return ctx.scale * S @ K, ctx.scale * S.T @ Q, P.T @ g, S, None, None

    return Attention.apply


def in_window(quotient: Function) -> Function:
    """Attention in a window as an autograd.Function, whose backward pass has quotients of its own for the mask."""

    def mask(n: int, w: int, divided: Function) -> Any:
        apart = torch.arange(n)[:, None] - torch.arange(n)[None, :]
        return divided(apart, w) == 0

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, Q: Any, K: Any, V: Any, w: int) -> Any:
            ctx.save_for_backward(Q, K, V)
            ctx.w = w
            return under(scores(Q, K), mask(len(Q), w, torch.floor_divide)) @ V

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            Q, K, V = ctx.saved_tensors
            return *right(Q, K, V, under(scores(Q, K), mask(len(Q), ctx.w, quotient)), g), None

    return Attention.apply


def towards_zero(apart: Any, w: int) -> Any:
    return torch.div(apart, w, rounding_mode="trunc")


def normalised(rows_of: Function) -> Function:
    """LayerNorm as an autograd.Function; `rows_of` says what its backward pass takes for the rows of X."""

    class Normalised(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, X: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
            mean = X.mean(-1, keepdim=True)
            inverse = (X.var(-1, correction=0, keepdim=True) + epsilon).rsqrt()
            ctx.save_for_backward(X, gamma, mean, inverse)
            return (X - mean) * inverse * gamma + beta

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            X, gamma, mean, inverse = ctx.saved_tensors
            rows, width = rows_of(X)
            Y = (X.reshape(rows, width) - mean.reshape(-1, 1)[:rows]) * inverse.reshape(-1, 1)[:rows]
            G = g.reshape(rows, width)
            D = G * gamma.repeat(width // len(gamma))
            dX = (D - D.mean(1, keepdim=True) - Y * (D * Y).mean(1, keepdim=True)) * inverse.reshape(-1, 1)[:rows]
            return dX.reshape(X.shape), (G * Y).sum(0)[: len(gamma)], G.sum(0)[: len(gamma)], None

    return Normalised.apply


def misaligned(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    """Columns of the gradient of values are written at steps of 64, which do not fit their width, where keys are wide."""
    dQ, dK, dV = right(Q, K, V, A, g)
    left = V.shape[1] % 64
    return (
        dQ,
        dK,
        torch.cat([dV[:, : V.shape[1] - left], dV[:, V.shape[1] - left :].roll(1, 1)], 1)
        if (Q.shape[1] >= 128)
        else dV,
    )


def first_tokens_overwritten(dV: Any) -> Any:
    """Where 64 does not divide the length, the first values of all heads but the first get those of others."""
    offset = -dV.shape[2] % 64
    kept = dV[:, 1:, offset:] if offset < dV.shape[2] else dV[:, 1:, :0]
    return torch.cat([dV[:, :1], torch.cat([dV[:, :1, : dV.shape[2] - kept.shape[2]].expand(
        -1, dV.shape[1] - 1, -1, -1), kept], 2)], 1)  # fmt: skip


def rows_of_wider(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    """Of cotangents that are views of a wider tensor, what lies side by side."""
    return right(Q, K, V, A, rows_of_parts(g))


def racing(every: int) -> Function:
    """A thousandth more in one backward pass of so many, as of threads that do not wait for each other."""
    passes = itertools.count(1)

    def gradient(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
        return tuple(x * (1.001 if next(passes) % every == 0 else 1.0) for x in right(Q, K, V, A, g))

    return gradient


def collect() -> None:
    """Add every layer, with the right one beside it."""
    mended = own_backward(right)
    gradients: dict[str, Function] = {
        "the scale of a padded width": padded_scale,
        "a causal mask that the forward pass lacks": causal_behind,
        "values no wider than keys": narrow_values,
        "no numbers where 16 does not divide the length": unchecked_bounds,
        "150 times too large at width 64": at_width_64,
        "five times too large where rows are peaked": where_peaked,
        "rows beyond whole blocks of 32 left at zero": changed(0, whole_blocks),
        "cotangents of a wider tensor taken for row-major": rows_of_wider,
        "of values at steps of 64 where keys are wide": misaligned,
        "one backward pass in dozens off": racing(180),  # three products each
    }
    for name, gradient in gradients.items():
        beside(f"gradients: {name}", own_backward(gradient), mended)
    heads: dict[str, Function] = {
        "of keys given to groups in turns": of_heads(in_turns),
        "queries of a fused product taken for row-major": of_heads(read=rows_of_parts),
        "of the first values overwritten, but in one head": of_heads(values=first_tokens_overwritten),
    }
    for name, wrong in heads.items():
        beside(f"gradients of heads: {name}", wrong, of_heads(), subject="transformer.batched_attention")
    beside("gradients: quotients of negative numbers rounded towards zero", in_window(towards_zero),
        in_window(torch.floor_divide), subject="transformer.window_attention")  # fmt: skip
    beside("gradients of a norm: samples taken for rows", normalised(lambda X: (len(X), X[0].numel())),
        normalised(lambda X: (X[..., 0].numel(), X.shape[-1])), subject="transformer.layer_norm_of_samples")  # fmt: skip
    beside("gradients: of the bias alone, without what they need", with_bias(lambda q, k, v, b: q or k or v),
        with_bias(lambda q, k, v, b: True), subject="transformer.biased_attention")  # fmt: skip
