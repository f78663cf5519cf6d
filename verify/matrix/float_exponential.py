"""The matrix exponential of tensors, with derivatives that do not depend on how large the direction is.

torch differentiates exp(A) along E by the exponential of [[A, E], [0, A]] with E as it comes.  Scaling and squaring then halves
the whole block as often as E asks for, A / 2^s is lost beside the identity, and the derivative loses digits as |E| grows:
relative errors of 2e-8 in float64, and none right in float32 where E is large and exp(A) sensitive.  The derivative is
linear in E, so in reverse mode E is brought to the size of A here, by a power of two, and the result back.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad


def exponential(A: torch.Tensor) -> torch.Tensor:
    """exp(A) for a tensor of shape (..., n, n), n >= 1; differentiable to every order, in both modes, and under vmap."""
    # two derivatives in forward mode through a function with rules of its own are silently wrong (pytorch #197867)
    if forward_ad._current_level >= 0:
        return _of_torch(A)
    return FloatExponential.apply(A)  # type: ignore[no-untyped-call, no-any-return]


class FloatExponential(torch.autograd.Function):
    """exp(A), and in reverse mode its derivative by `_along`."""

    @staticmethod
    def forward(A: torch.Tensor) -> torch.Tensor:
        return _of_torch(A)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        (A,) = ctx.saved_tensors
        return _along(A.mT, gradients[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], A: torch.Tensor) -> tuple[torch.Tensor, int]:
        return exponential(A.movedim(in_dims[0], 0)), 0


def _of_torch(A: torch.Tensor) -> torch.Tensor:
    # torch 2.13 computes a single matrix of small norm with too short a series (error 2e-11 at norm 0.03 in float64),
    # a batch of them correctly: a batch of two is asked for.  It takes no batch of batches whose axes are not in order.
    if A.dim() == 2:
        return A.expand(2, *A.shape).matrix_exp()[0]
    return A.contiguous().matrix_exp() if len(A) > 1 else torch.cat((A, A)).matrix_exp()[:1]


def _along(A: torch.Tensor, E: torch.Tensor) -> torch.Tensor:
    """The derivative of exp at A along E, both of shape (..., n, n)."""
    n, scale = A.shape[-1], _power_of_two(A, E)
    block = torch.cat([torch.cat([A, E / scale], -1), torch.cat([torch.zeros_like(A), A], -1)], -2)
    return exponential(block)[..., :n, n:] * scale


def _power_of_two(A: torch.Tensor, E: torch.Tensor) -> torch.Tensor:
    """Of the size of E beside that of A, or beside 1 where A is smaller; a constant, since no result depends on it."""
    size, direction = (matrix.detach().abs().amax((-2, -1), keepdim=True) for matrix in (A, E))
    sizes = direction / size.clamp(min=1)
    return torch.exp2(sizes.where((sizes > 0) & sizes.isfinite(), torch.ones_like(sizes)).log2().floor())
