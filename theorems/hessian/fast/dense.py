"""The whole Hessian of the attention loss as a matrix, fused: as fast as its products and the writing of its entries."""

from __future__ import annotations

import math
from typing import Any

from theorems.hessian.fast.contracted_moments import (
    ContractedMoments, chunks, contracted_moments, require_tensors_and_part,
)  # fmt: skip
from theorems.hessian.settings import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from verify.vocabulary import InputError, checked

#: Entries of a block that are made, permuted and transposed together, in a processor's cache.
PANEL = 2**20


@checked
def attention_hessian(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, part: str = "hessian", out: Any = None
) -> Any:
    """The Hessian of ||A X W_V - Y||^2 / (L d_V) over (W_Q, W_K, W_V), shape (n, n) with n = 2 d_V d_K + d_V^2.

    Parameters
    ----------
    X, Y: tokens and labels, shape (L, d_V); W_Q, W_K: shape (d_V, d_K); W_V: shape (d_V, d_V).  Float tensors on any device.
    part: "hessian"; "outer-product", H_o, which is the Gauss-Newton matrix; "functional", H_f (Eq. (2)).
    out: a tensor of shape (n, n) to write into, row-major.  Fresh memory may cost more than the computation.

    Layout: weights row by row (vec_r), W_Q, W_K and W_V one after the other.  Blocks across the diagonal are copies.

    Cost: 4 L^2 d_V^2 operations for the moments, seven products of 2 L d_V^2 d_K^2 (of 2 L d_V^3 d_K with W_V), n^2 writes.
    No derivatives are recorded.  Memory beside the result: L^2 + 9 L d_V^2 + 2 max(d_V, d_K)^3 numbers.

    Accuracy: that of the closed form, within a few roundings times the size of its terms; attention near one-hot loses
    nothing, since moments are centred before they are summed where that matters (docs/benchmarks.md).

    Raises InputError, naming the argument, for what does not fit, is not finite or is no tensor.

    Certified by hessian.full-outer-product, hessian.full-functional and hessian.full-gauss-newton.
    """
    import torch

    require_tensors_and_part(part, X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, Y=Y)
    X, W_Q, W_K, W_V, Y = (value.detach() for value in (X, W_Q, W_K, W_V, Y))
    d_V, d_K = W_Q.shape
    n = 2 * d_V * d_K + d_V * d_V
    if out is None:
        out = X.new_empty(n, n)
    elif not isinstance(out, torch.Tensor):
        raise InputError("out", f"a tensor ({n}, {n}), or None", type(out).__name__)
    elif tuple(out.shape) != (n, n) or out.dtype != X.dtype or out.device != X.device or not out.is_contiguous():
        raise InputError("out", f"a contiguous tensor ({n}, {n}) of the dtype and device of X", f"{tuple(out.shape)}")
    moments = contracted_moments(X, W_Q, W_K, W_V, Y, part)
    panels = _Panels(out, max(d_V, d_K) * d_V * d_K)
    _logit_blocks(panels, X, W_Q, W_K, W_V, moments)
    _value_blocks(panels, X, W_Q, W_K, W_V, moments)
    return out


class _Panels:
    """Some rows of a block at a time: summed, permuted and transposed in memory that is used again and again."""

    def __init__(self, out: Any, least: int) -> None:
        self.out, self.memory = out, out.new_empty(2, max(PANEL, least))

    def sum(self, left: Any, right: Any) -> Any:
        """sum_i left_i (x) right_i for left (a, b, L) and right (c, e, L); shape (a, b, c, e), valid until the next."""
        import torch

        shape = (*left.shape[:2], *right.shape[:2])
        result = self.memory[0, : math.prod(shape)].view(shape[0] * shape[1], shape[2] * shape[3])
        return torch.mm(left.flatten(0, 1), right.flatten(0, 1).T, out=result).view(shape)

    def copy(self, panel: Any) -> Any:
        """A panel made contiguous, valid until the next.  Permutations that leave the last index in place are fast."""
        return self.memory[1, : panel.numel()].view(panel.shape).copy_(panel)

    def write(self, panel: Any, row: int, column: int) -> None:
        """A panel (a, q, c, e) as rows a q and columns c e of the matrix."""
        a, q, c, e = panel.shape
        self.out[row : row + a * q, column : column + c * e].unflatten(1, (c, e)).unflatten(0, (a, q)).copy_(panel)

    def write_across(self, panel: Any, row: int, column: int) -> None:
        """A contiguous panel and, on the other side of the diagonal, its transpose."""
        panel = panel.flatten(2).flatten(0, 1)
        rows, columns = panel.shape
        self.out[row : row + rows, column : column + columns] = panel
        transposed = self.memory[0, : panel.numel()].view(columns, rows).copy_(panel.T)
        self.out[column : column + columns, row : row + rows] = transposed


# Tokens come last below, (a, b, L): entrywise products then run over long rows, and one product serves all tokens.


def _logit_blocks(panels: _Panels, X: Any, W_Q: Any, W_K: Any, W_V: Any, moments: ContractedMoments) -> None:
    """The four blocks of W_Q and W_K: x_i x_i^T, x_i s_i^T or s_i s_i^T (x) N_i between W_K, for s_i = W_Q^T x_i."""
    import torch

    (L, d), k = X.shape, W_Q.shape[1]
    n, x, core = d * k, X.T.contiguous(), _tokens_last(moments.core)
    s, scaled = W_Q.T @ x, x * (2 / (L * d * k))
    for a in chunks(d, d * k * k, PANEL):
        panels.write(panels.sum(core[a], _outer(W_Q.T @ scaled, s)).permute(0, 2, 1, 3), n + a.start * k, n)
    core_K = W_K.T @ core
    pull = torch.bmm(moments.covariance, (moments.residual @ W_V.T)[:, :, None])[:, :, 0]
    slope = x @ pull * (2 / (L * d) / math.sqrt(k))
    for a in chunks(d, d * k * k, PANEL):
        mixed = panels.copy(panels.sum(core_K, _outer(scaled[a], s)).permute(2, 1, 0, 3))
        mixed.diagonal(dim1=1, dim2=3).add_(slope[a, :, None])
        panels.write_across(mixed, a.start * k, n)
    between_K = (W_K.T @ core_K.view(d, k * L)).view(k, k, L)
    for a in chunks(d, d * k * k, PANEL):
        panels.write(panels.sum(_outer(scaled[a], x), between_K).permute(0, 2, 1, 3), a.start * k, 0)


def _value_blocks(panels: _Panels, X: Any, W_Q: Any, W_K: Any, W_V: Any, moments: ContractedMoments) -> None:
    """The blocks of W_V: x_i (x) W_K^T C_i W_V (x) m_i + x_i (x) W_K^T C_i (x) r_i, and s_i, C_i for x_i, W_K^T C_i."""
    (L, d), k = X.shape, W_Q.shape[1]
    n, scale, functional = d * k, 2 / (L * d), moments.part != "outer-product"
    x, covariance = X.T * (scale / math.sqrt(k)), _tokens_last(moments.covariance)
    s, m, r = W_Q.T @ x, moments.mean.T.contiguous(), moments.residual.T.contiguous()
    for a in chunks(d, d * d * k, PANEL):
        panel = panels.copy(panels.sum(_outer(s, m), W_V.T @ covariance[a]).permute(2, 0, 1, 3))
        if functional:
            panel += panels.sum(covariance[a], _outer(s, r)).permute(0, 2, 1, 3)
        panels.write_across(panel, n + a.start * k, 2 * n)
    at_query = (W_K.T @ covariance.view(d, d * L)).view(k, d, L)
    at_query_V = W_V.T @ at_query
    for a in chunks(d, d * d * k, PANEL):
        panel = panels.copy(panels.sum(_outer(x[a], m), at_query_V).permute(0, 2, 1, 3))
        if functional:
            panel += panels.sum(at_query, _outer(x[a], r)).permute(2, 0, 1, 3)
        panels.write_across(panel, a.start * k, 2 * n)
    square = panels.out[2 * n :, 2 * n :].unflatten(1, (d, d)).unflatten(0, (d, d))
    square.zero_()
    square.diagonal(dim1=1, dim2=3).copy_((m @ m.T * scale)[:, :, None])


def _tokens_last(matrices: Any) -> Any:
    """Matrices (L, a, b) in the shape (a, b, L)."""
    return matrices.flatten(1).T.contiguous().view(*matrices.shape[1:], -1)


def _outer(left: Any, right: Any) -> Any:
    """left_i right_i^T for every column i, shape (a, b, L)."""
    return left[:, None] * right[None]
