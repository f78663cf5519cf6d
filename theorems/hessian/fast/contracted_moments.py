"""Attention moments row by row, contracted with the residual as they arise: what the Hessian is made of, in O(L d_V^2).

Over W_Q, W_K and W_V the Hessian needs of row i of attention only the mean m_i and covariance C_i of its tokens, and

    N_i = C_i W_V W_V^T C_i + sum_j A_ij ((W_V r_i) . y_ij) y_ij y_ij^T,    y_ij = x_j - m_i,    r_i = (F - Y)_i,

the outer-product term and the third moment along W_V r_i.  M_3 (L d_V^3) and the second derivative of the softmax (L^6
entries) never exist.  Tokens are centred first, so that a common offset costs no digits.  Where every row of attention
spreads over tokens, moments are differences of raw ones, which are two large products; where one does not, near one-hot,
they are sums of centred products, several times slower, and keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from verify.vocabulary import InputError

#: The parts of the Hessian of Eq. (2): H_o + H_f, H_o alone, H_f alone.
PARTS = ("hessian", "outer-product", "functional")
#: Deviations x_j - m_i held at once; as many as fit a processor's cache are faster than more.
DEVIATIONS = 2**15
#: The largest E|x|^2 / E|x - m|^2 under a row of attention at which raw moments are used: what they lose against centred ones.
LARGEST_LOSS = 4.0
#: Entries of attention weighted at once.
WEIGHTS = 2**20


class ContractedMoments(NamedTuple):
    """Per row of attention, without the factors 2 / (L d_V) and 1 / d_K; what another part is made of is zero."""

    mean: Any  # (L, d_V): m_i, zero for the functional part
    covariance: Any  # (L, d_V, d_V): C_i
    core: Any  # (L, d_V, d_V): N_i, or one of its two terms
    residual: Any  # (L, d_V): r_i, zero for the outer product
    part: str


def contracted_moments(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, part: str = "hessian") -> ContractedMoments:
    """The moments in 4 L^2 d_V^2 operations and L^2 + 4 L d_V^2 numbers of memory."""
    import torch

    center = X.mean(0)
    tokens = X - center  # changes each row of logits by a constant, and no central moment
    A = torch.softmax((X @ W_Q) @ (tokens @ W_K).T / math.sqrt(W_Q.shape[1]), dim=1)
    offset = A @ tokens
    mean = offset + center
    residual = mean @ W_V - Y if part != "outer-product" else torch.zeros_like(X)
    direction = residual @ W_V.T
    third = part != "outer-product"
    squares = A @ (tokens * tokens).sum(1)
    if bool((squares <= LARGEST_LOSS * (squares - (offset * offset).sum(1))).all()):
        covariance, core = _raw_moments(tokens, A, offset, direction, third)
    else:
        covariance, core = _centred_moments(tokens, A, offset, direction, third)
    if part != "functional":
        for rows in chunks(len(X), W_V.numel(), WEIGHTS):
            half = covariance[rows] @ W_V
            core[rows].baddbmm_(half, half.mT)
    else:
        mean = torch.zeros_like(mean)
    return ContractedMoments(mean, covariance, core, residual, part)


def _raw_moments(tokens: Any, A: Any, offset: Any, direction: Any, third: bool) -> tuple[Any, Any]:
    """C_i, and the third moment along direction i (or zero), from sums of A_ij x_j x_j^T, of which half the entries do."""
    import torch

    L, d = tokens.shape
    row, column = torch.triu_indices(d, d, device=tokens.device)
    place = torch.empty(d, d, dtype=torch.long, device=tokens.device)
    place[row, column] = place[column, row] = torch.arange(len(row), device=tokens.device)
    transposed = tokens.T.contiguous()
    pairs = transposed.index_select(0, row).mul_(transposed.index_select(0, column)).T

    def sums(weights: Any, out: Any) -> Any:
        torch.gather(weights @ pairs, 1, place.view(-1).expand(len(out), -1), out=out.view(-1, d * d))
        return out

    covariance, core = tokens.new_empty(L, d, d), tokens.new_empty(L, d, d) if third else tokens.new_zeros(L, d, d)
    for rows in chunks(L, max(L, d * d), WEIGHTS):
        means = offset[rows]
        sums(A[rows], covariance[rows]).baddbmm_(means[:, :, None], means[:, None, :], alpha=-1)
        if third:
            # Weights sum to zero under each row, so that only products of one deviation with the mean are left to subtract.
            weights = direction[rows] @ transposed
            weights -= (direction[rows] * means).sum(1, keepdim=True)
            weights *= A[rows]
            slopes = weights @ tokens
            both, other = torch.stack([slopes, means], dim=2), torch.stack([means, slopes], dim=1)
            sums(weights, core[rows]).baddbmm_(both, other, alpha=-1)
    return covariance, core


def _centred_moments(tokens: Any, A: Any, offset: Any, direction: Any, third: bool) -> tuple[Any, Any]:
    """The same from sums of A_ij y_ij y_ij^T."""
    import torch

    L, d = tokens.shape
    covariance, core = tokens.new_empty(L, d, d), tokens.new_zeros(L, d, d)
    for rows in chunks(L, L * d, DEVIATIONS):
        deviations = tokens - offset[rows, None]
        weighted = A[rows, :, None] * deviations
        torch.bmm(weighted.mT, deviations, out=covariance[rows])
        if third:
            weighted *= deviations @ direction[rows, :, None]
            torch.bmm(weighted.mT, deviations, out=core[rows])
    return covariance, core


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
        if value.is_meta:
            raise InputError(name, "a tensor with values", "one on the device meta")
