"""Attention as an operator that torch.compile sees as a whole, with its first derivatives.

The compiler traces no function with a derivative in forward mode, hence not those of `functions`, and takes no second
derivative of what it compiles; so that compiled code holds the values and the gradient as two operators.
"""

from __future__ import annotations

from typing import Any

import torch

from theorems.transformer.fast import formulas, functions
from theorems.transformer.fast.blocks import Options

Optional = torch.Tensor | None


#: Weights of short sequences are kept if all together they are no more than these: a cache holds them.
KEPT = 2**19


def attend(Q: Any, K: Any, V: Any, bias: Any, excluded: Any, options: Options) -> Any:
    """F; derivatives of every order outside of compiled code, of first order in it."""
    if short(Q, K):
        return formulas.values(Q, K, V, bias, excluded, options)
    if torch.compiler.is_dynamo_compiling():
        return torch.ops.attention_theorems.values(Q, K, V, bias, excluded, *options)[0]
    return functions.Attention.apply(Q, K, V, bias, excluded, options)[0]


def short(Q: Any, K: Any) -> bool:
    """Whether there are so few weights that to keep them, with the derivatives of torch, is the fastest way."""
    return bool(Q.shape[:-1].numel() * K.shape[-2] <= KEPT)


@torch.library.custom_op("attention_theorems::values", mutates_args=())
def values(
    Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, bias: Optional, excluded: Optional, scale: float, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    F, sums = functions.values(Q, K, V, bias, excluded, Options(scale, causal))
    return F.contiguous(), sums.contiguous()


@values.register_fake
def _(Q: Any, K: Any, V: Any, bias: Any, excluded: Any, scale: float, causal: bool) -> Any:
    kept = Q.shape[:-1] if functions.fused(Q, K, V, bias, excluded) else (*Q.shape[:-1], 0)
    kind = torch.promote_types(Q.dtype, torch.float32)
    return Q.new_empty(*Q.shape[:-1], V.shape[-1]), Q.new_empty(kept, dtype=kind)


@torch.library.custom_op("attention_theorems::gradient", mutates_args=())
def gradient(
    W: torch.Tensor, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, bias: Optional, excluded: Optional,
    F: torch.Tensor, sums: torch.Tensor, scale: float, causal: bool, of_bias: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    found = functions.gradient(W, Q, K, V, bias, excluded, F, sums, Options(scale, causal), of_bias)
    G_Q, G_K, G_V, *G_B = (G.contiguous() for G in found)
    return G_Q, G_K, G_V, G_B[0] if G_B else Q.new_empty(0)


@gradient.register_fake
def _(
    W: Any,
    Q: Any,
    K: Any,
    V: Any,
    bias: Any,
    excluded: Any,
    F: Any,
    sums: Any,
    scale: float,
    causal: bool,
    of_bias: bool,
) -> Any:
    return (*(X.new_empty(X.shape) for X in (Q, K, V)), Q.new_empty(bias.shape if of_bias else (0,)))


def _kept(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, Any]) -> None:
    *tensors, ctx.scale, ctx.causal = inputs
    ctx.save_for_backward(*tensors, *output)


def _derivative(ctx: Any, W: Any, _: Any) -> tuple[Any, ...]:
    of_bias = ctx.needs_input_grad[3]
    *found, G_B = torch.ops.attention_theorems.gradient(W, *ctx.saved_tensors, ctx.scale, ctx.causal, of_bias)
    return (*found, G_B if of_bias else None, None, None, None)


values.register_autograd(_derivative, setup_context=_kept)
