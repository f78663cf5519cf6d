"""Attention moments row by row, contracted with the residual as they arise: what the Hessian is made of, in O(L d_V^2).

Over W_Q, W_K and W_V the Hessian needs of row i of attention only the mean m_i and covariance C_i of its tokens, and

    N_i = C_i W_V W_V^T C_i + sum_j A_ij ((W_V r_i) . y_ij) y_ij y_ij^T,    y_ij = x_j - m_i,    r_i = (F - Y)_i,

the outer-product term and the third moment along W_V r_i.  M_3 (L d_V^3) and the second derivative of the softmax (L^6
entries) never exist.  Moments are sums of centred products, not differences of raw ones, so that rows of attention near
one-hot keep their digits, and tokens are centred first, so that a common offset costs none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from verify.errors import InputError

#: The parts of the Hessian of Eq. (2): H_o + H_f, H_o alone, H_f alone.
PARTS = ("hessian", "outer-product", "functional")
#: Deviations x_j - m_i held at once; as many as fit a processor's cache are faster than more.
DEVIATIONS = 2**15


class ContractedMoments(NamedTuple):
    """Per row of attention, without the factors 2 / (L d_V) and 1 / d_K; what another part is made of is zero."""

    mean: Any  # (L, d_V): m_i, zero for the functional part
    covariance: Any  # (L, d_V, d_V): C_i
    core: Any  # (L, d_V, d_V): N_i, or one of its two terms
    residual: Any  # (L, d_V): r_i, zero for the outer product
    part: str


def contracted_moments(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, part: str = "hessian") -> ContractedMoments:
    """The moments in 4 L^2 d_V^2 operations and L^2 + 2 L d_V^2 numbers of memory."""
    import torch

    L, d_V = X.shape
    center = X.mean(0)
    tokens = X - center  # changes each row of logits by a constant, and no central moment
    A = torch.softmax((X @ W_Q) @ (tokens @ W_K).T / math.sqrt(W_Q.shape[1]), dim=1)
    offset = A @ tokens
    mean = offset + center
    residual = mean @ W_V - Y if part != "outer-product" else torch.zeros_like(X)
    direction = residual @ W_V.T
    covariance, core = X.new_empty(L, d_V, d_V), X.new_zeros(L, d_V, d_V)
    for rows in chunks(L, L * d_V, DEVIATIONS):
        deviations = tokens - offset[rows, None]
        weighted = A[rows, :, None] * deviations
        torch.bmm(weighted.mT, deviations, out=covariance[rows])
        if part != "outer-product":
            weighted *= deviations @ direction[rows, :, None]
            torch.bmm(weighted.mT, deviations, out=core[rows])
    if part != "functional":
        half = covariance @ W_V
        core.baddbmm_(half, half.mT)
    else:
        mean = torch.zeros_like(mean)
    return ContractedMoments(mean, covariance, core, residual, part)


def chunks(length: int, size: int, budget: int) -> Iterator[slice]:
    """Slices of range(length), each of items of `size` numbers that fit the budget, or of one item."""
    step = max(1, budget // size)
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def require_tensors_and_part(part: str, **arguments: Any) -> None:
    """Raise `InputError` for other arithmetics than torch's, and for a part that is not of Eq. (2)."""
    import torch

    if part not in PARTS:
        raise InputError("part", f"one of {list(PARTS)}", repr(part))
    for name, value in arguments.items():
        if not isinstance(value, torch.Tensor):
            raise InputError(name, "a torch tensor", type(value).__name__)
