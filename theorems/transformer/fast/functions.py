"""Attention and its derivatives as torch differentiates them: each a function whose derivatives are the next ones.

    Attention     F                                    derivatives: Gradient, Differential
    Gradient      G_Q, G_K, G_V, G_B of <W, F>         derivatives: Second
    Differential  dF                                   derivatives: Second and Gradient; in forward mode those of `formulas`
    Second        the Hessian of <W, F> in (Q, K, V, B, W) times a direction; derivatives: those of `formulas`

Operands are (..., m, d) with the same leading axes; a bias and a mask have as many axes, of sizes that may be one.  Under
vmap the mapped axis becomes the first leading one.  Derivatives of Second, of third order and above, hold arrays m x n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from theorems.transformer.fast import blocks, formulas
from theorems.transformer.fast.blocks import Masked, Options

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


class Attention(torch.autograd.Function):
    """(Q, K, V, bias, excluded, options) to F and the logarithms of the row sums, of size 0 where torch's kernel gives none."""

    @staticmethod
    def forward(Q: Any, K: Any, V: Any, bias: Any, excluded: Any, options: Options) -> tuple[Any, Any]:
        return values(Q, K, V, bias, excluded, options)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, Any]) -> None:
        *tensors, ctx.options = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *output)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, W: Any, _: Any) -> tuple[Any, ...]:
        if W is None:
            return (None,) * 6
        *tensors, F, sums = ctx.saved_tensors
        found = Gradient.apply(W, *tensors, F, sums, ctx.options, ctx.needs_input_grad[3])
        return (*found, *(None,) * (6 - len(found)))

    @staticmethod
    def jvp(ctx: Any, dQ: Any, dK: Any, dV: Any, dB: Any, *_: Any) -> tuple[Any, Any]:
        *tensors, excluded = ctx.saved_tensors
        return Differential.apply(*tensors, dQ, dK, dV, dB, excluded, ctx.options), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        return Attention.apply(*_folded(info, in_dims, args, biases=(3, 4))), (0, 0)


class Gradient(torch.autograd.Function):
    """(W, Q, K, V, bias, excluded, F, sums, options, of_bias) to G_Q, G_K, G_V and, if `of_bias`, G_B."""

    @staticmethod
    def forward(
        W: Any, Q: Any, K: Any, V: Any, bias: Any, excluded: Any, F: Any, sums: Any, options: Options, of_bias: bool
    ) -> tuple[Any, ...]:
        return gradient(W, Q, K, V, bias, excluded, F, sums, options, of_bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        *tensors, _, _, ctx.options, ctx.of_bias = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *directions: Any) -> tuple[Any, ...]:
        if all(direction is None for direction in directions):
            return (None,) * 10
        W, Q, K, V, bias, excluded = ctx.saved_tensors
        dQ, dK, dV, *dB = directions
        along, needs = (dQ, dK, dV, dB[0] if dB else None), ctx.needs_input_grad
        if not any(needs[1:5]):
            return (Differential.apply(Q, K, V, bias, *along, excluded, ctx.options), *(None,) * 9)
        of_values, of_bias = needs[0], needs[4]
        found = Second.apply(W, Q, K, V, bias, None, *along, excluded, ctx.options, of_values, of_bias)
        of_operands, rest = found[:3], list(found[3:])
        dF = rest.pop(0) if of_values else None
        return (dF, *of_operands, rest.pop(0) if of_bias else None, *(None,) * 5)

    @staticmethod
    def jvp(ctx: Any, dW: Any, dQ: Any, dK: Any, dV: Any, dB: Any, *_: Any) -> tuple[Any, ...]:
        *tensors, excluded = ctx.saved_tensors
        return Second.apply(*tensors, dW, dQ, dK, dV, dB, excluded, ctx.options, False, ctx.of_bias)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        whole = (4,) if args[9] else ()
        found = Gradient.apply(*_folded(info, in_dims, args, biases=(4, 5), whole=whole))
        return found, (0,) * len(found)


class Differential(torch.autograd.Function):
    """(Q, K, V, bias, dQ, dK, dV, dB, excluded, options) to dF."""

    @staticmethod
    def forward(
        Q: Any, K: Any, V: Any, bias: Any, dQ: Any, dK: Any, dV: Any, dB: Any, excluded: Any, options: Options
    ) -> Any:
        return differential(Q, K, V, bias, dQ, dK, dV, dB, excluded, options)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.options = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, W: Any) -> tuple[Any, ...]:
        Q, K, V, bias, *along, excluded = ctx.saved_tensors
        needs = ctx.needs_input_grad
        of_operands: tuple[Any, ...] = (None,) * 4
        of_directions: tuple[Any, ...] = (None,) * 4
        if any(needs[:4]):
            found = Second.apply(W, Q, K, V, bias, None, *along, excluded, ctx.options, False, needs[3])
            of_operands = (*found, *(None,) * (4 - len(found)))
        if any(needs[4:8]):
            nothing = W.new_empty(*W.shape[:-1], 0)
            found = Gradient.apply(W, Q, K, V, bias, excluded, nothing, nothing, ctx.options, needs[7])
            of_directions = tuple(None if d is None else G for d, G in zip(along, (*found, None), strict=False))
        return (*of_operands, *of_directions, None, None)

    @staticmethod
    def jvp(ctx: Any, *changes: Any) -> Any:
        return _along(_differential, ctx.saved_tensors, changes, ctx.options)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        return Differential.apply(*_folded(info, in_dims, args, biases=(3, 7, 8))), 0


class Second(torch.autograd.Function):
    """(W, Q, K, V, bias, dW, dQ, dK, dV, dB, excluded, options, of_values, of_bias) to dG_Q, dG_K, dG_V, and dF, dG_B if so."""

    @staticmethod
    def forward(
        W: Any, Q: Any, K: Any, V: Any, bias: Any, dW: Any, dQ: Any, dK: Any, dV: Any, dB: Any, excluded: Any,
        options: Options, of_values: bool, of_bias: bool,
    ) -> tuple[Any, ...]:  # fmt: skip
        return second(W, Q, K, V, bias, dW, dQ, dK, dV, dB, excluded, options, of_values, of_bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        *tensors, ctx.options, ctx.of_values, ctx.of_bias = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        function, tensors = _plain(_second, ctx.saved_tensors, ctx.options, ctx.of_values, ctx.of_bias)
        found = iter(torch.func.vjp(function, *tensors)[1](tuple(cotangents)))
        return (*(None if value is None else next(found) for value in ctx.saved_tensors[:10]), *(None,) * 4)

    @staticmethod
    def jvp(ctx: Any, *changes: Any) -> Any:
        return _along(_second, ctx.saved_tensors, changes, ctx.options, ctx.of_values, ctx.of_bias)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        whole = (4,) if args[13] else ()
        found = Second.apply(*_folded(info, in_dims, args, biases=(4, 9, 10), whole=whole))
        return found, (0,) * len(found)


# -- what is computed --------------------------------------------------------------------------------------------------


def values(Q: Any, K: Any, V: Any, bias: Any, excluded: Any, options: Options) -> tuple[Any, Any]:
    """F and the logarithms of the row sums, by torch's kernel where there is one that gives both."""
    if not fused(Q, K, V, bias, excluded):
        return _by_blocks(blocks.forward, (Q, K, V), bias, excluded, options), Q.new_empty(*Q.shape[:-1], 0)
    mask = _additive(Q, bias, excluded)
    F, sums = _forward(*(_four(X) for X in (Q, K, V)), 0.0, options.causal, attn_mask=mask, scale=options.scale)
    return F.reshape(*Q.shape[:-1], V.shape[-1]), sums.reshape(Q.shape[:-1])


def gradient(
    W: Any, Q: Any, K: Any, V: Any, bias: Any, excluded: Any, F: Any, sums: Any, options: Options, of_bias: bool
) -> tuple[Any, ...]:
    """G_Q, G_K, G_V and G_B; torch's kernel has no G_B, and is slower in float64."""
    if sums.shape == Q.shape[:-1] and Q.dtype != torch.float64 and not of_bias:
        mask, as_four = _additive(Q, bias, excluded), [_four(X) for X in (W, Q, K, V, F)]
        sums = sums.reshape(as_four[1].shape[:-1])
        found = _backward(*as_four, sums, 0.0, options.causal, attn_mask=mask, scale=options.scale)
        return tuple(G.reshape(X.shape) for G, X in zip(found, (Q, K, V), strict=True))
    G_B = _zeros(bias) if of_bias else None
    found = _by_blocks(blocks.gradient, (W, Q, K, V), bias, excluded, G_B, options)
    return found if G_B is None else (*found, G_B.to(bias.dtype))


def differential(
    Q: Any, K: Any, V: Any, bias: Any, dQ: Any, dK: Any, dV: Any, dB: Any, excluded: Any, options: Options
) -> Any:
    """dF."""
    return _by_blocks(blocks.differential, (Q, K, V, dQ, dK, dV), dB, bias, excluded, options)


def second(
    W: Any, Q: Any, K: Any, V: Any, bias: Any, dW: Any, dQ: Any, dK: Any, dV: Any, dB: Any, excluded: Any,
    options: Options, of_values: bool, of_bias: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """dG_Q, dG_K, dG_V, and dF and dG_B where they are wanted."""
    dG_B = _zeros(bias) if of_bias else None
    operands = (W, Q, K, V, dW, dQ, dK, dV)
    found = _by_blocks(blocks.second_differential, operands, dB, bias, excluded, dG_B, options, of_values)
    dF, *of_operands = found
    return (*of_operands, *([dF] if of_values else []), *([] if dG_B is None else [dG_B.to(bias.dtype)]))


def _by_blocks(function: Callable[..., Any], operands: tuple[Any, ...], *rest: Any) -> Any:
    """`function` of operands (Z, m, d), masks and what else it takes; 16 bits are widened to 32 inside."""
    like = next(X for X in operands if X is not None)
    leading, dtype = like.shape[:-2], like.dtype
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    flat = (None if X is None else X.reshape(leading.numel(), *X.shape[-2:]).to(wide) for X in operands)
    masks = (Masked(X, leading) if isinstance(X, torch.Tensor) else X for X in rest)

    def restored(X: Any) -> Any:
        return None if X is None else X.to(dtype).reshape(*leading, *X.shape[-2:])

    found = function(*flat, *masks)
    if isinstance(found, torch.Tensor):
        return restored(found)
    return tuple(map(restored, found))


def _zeros(bias: Any) -> Any:
    """Memory for derivatives in the bias, with the digits that sums need."""
    return torch.zeros(bias.shape, dtype=torch.promote_types(bias.dtype, torch.float32), device=bias.device)


# -- torch's kernel for processors -------------------------------------------------------------------------------------


def fused(Q: Any, K: Any, V: Any, bias: Any, excluded: Any) -> bool:
    """Whether torch's kernel takes these operands: of one width, with a mask whose leading axes are two or of size one."""
    on_processor = Q.device.type == "cpu" and Q.shape[-1] == V.shape[-1]
    masks = [M for M in (bias, excluded) if M is not None]
    simple = all(Q.ndim <= 4 or M.shape[:-2].numel() == 1 for M in masks)
    return on_processor and simple and all(X.numel() for X in (Q, K, V))


def _four(X: Any) -> Any:
    """(Z, Z', m, d): further leading axes become one, missing ones have size one."""
    return X if X.ndim == 4 else X.reshape(1, -1, *X.shape[-2:])


def _additive(Q: Any, bias: Any, excluded: Any) -> Any:
    """Bias and mask in one, with four axes; None if there is neither."""
    if excluded is not None:
        nothing = torch.zeros((), dtype=Q.dtype, device=Q.device) if bias is None else bias
        bias = torch.where(excluded, -torch.inf, nothing)
    return None if bias is None else _four(bias)


# -- the axis of vmap --------------------------------------------------------------------------------------------------


def _folded(
    info: Any, in_dims: tuple[Any, ...], args: tuple[Any, ...], biases: tuple[int, ...], whole: tuple[int, ...] = ()
) -> list[Any]:
    """Arguments with the mapped axis in front: of its size for operands and for biases in `whole`, of size one for others."""
    found = []
    for place, (value, axis) in enumerate(zip(args, in_dims, strict=True)):
        if not isinstance(value, torch.Tensor):
            found.append(value)
        elif axis is not None:
            found.append(value.movedim(axis, 0))
        elif place in biases and place not in whole:
            found.append(value.unsqueeze(0))
        else:
            found.append(value.expand(info.batch_size, *value.shape))
    return found


# -- third derivatives -------------------------------------------------------------------------------------------------


def _plain(
    formula: Callable[..., Any], saved: tuple[Any, ...], options: Options, *flags: bool
) -> tuple[Any, list[Any]]:
    """`formula` as a function of the tensors that there are, the mask held fixed, and these tensors."""
    *values, excluded = saved
    there = [place for place, value in enumerate(values) if value is not None]

    def function(*tensors: Any) -> Any:
        given = dict(zip(there, tensors, strict=True))
        return formula(*(given.get(place) for place in range(len(values))), excluded, options, *flags)

    return function, [values[place] for place in there]


def _along(
    formula: Callable[..., Any], saved: tuple[Any, ...], changes: tuple[Any, ...], options: Options, *flags: bool
) -> Any:
    """The differential of `formula` along changes of its tensors, of which None are zero."""
    function, tensors = _plain(formula, saved, options, *flags)
    of_tensors = tuple(d for d, X in zip(changes, saved[:-1], strict=False) if X is not None)
    # copies, since forward mode refuses what vmap has expanded
    along = tuple(d.clone() for d in _or_zero(of_tensors, tuple(tensors)))
    return torch.func.jvp(function, tuple(X.clone() for X in tensors), along)[1]


def _or_zero(changes: tuple[Any, ...], tensors: tuple[Any, ...]) -> list[Any]:
    return [torch.zeros_like(X) if d is None else d for d, X in zip(changes, tensors, strict=True)]


def _differential(
    Q: Any, K: Any, V: Any, bias: Any, dQ: Any, dK: Any, dV: Any, dB: Any, excluded: Any, options: Options
) -> Any:
    P = formulas.weights(Q, K, bias, excluded, options)
    dQ, dK, dV = _or_zero((dQ, dK, dV), (Q, K, V))
    return formulas.differential(P, Q, K, V, dQ, dK, dV, dB, options.scale)


def _second(
    W: Any, Q: Any, K: Any, V: Any, bias: Any, dW: Any, dQ: Any, dK: Any, dV: Any, dB: Any, excluded: Any,
    options: Options, of_values: bool, of_bias: bool,
) -> tuple[Any, ...]:  # fmt: skip
    P = formulas.weights(Q, K, bias, excluded, options)
    dW, dQ, dK, dV = _or_zero((dW, dQ, dK, dV), (W, Q, K, V))
    dF, dG_Q, dG_K, dG_V, dG_B = formulas.second_differential(P, Q, K, V, W, dQ, dK, dV, dB, dW, options.scale)
    of_rows = (dG_B.sum_to_size(bias.shape),) if of_bias else ()
    return (dG_Q, dG_K, dG_V, *((dF,) if of_values else ()), *of_rows)
