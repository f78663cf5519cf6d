"""The whole Hessian of the attention loss as a matrix, fused: as fast as its products and the writing of its entries."""

from __future__ import annotations

import math
from typing import Any

from theorems.hessian.contracted_moments import ContractedMoments, contracted_moments, require_tensors_and_part
from theorems.hessian.definitions import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from verify.errors import InputError
from verify.shapes import checked


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
    Memory beside the result: L^2 + 5 L d_V^2 + 2 d_V^2 max(d_V, d_K)^2 numbers.

    Accuracy: that of the closed form, within a few roundings times the size of its terms; attention near one-hot loses
    nothing, since moments are centred before they are summed (docs/benchmarks.md).

    Raises InputError, naming the argument, for what does not fit, is not finite or is no tensor.

    Certified by hessian.full-outer-product, hessian.full-functional and hessian.full-gauss-newton.
    """
    require_tensors_and_part(part, X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, Y=Y)
    d_V, d_K = W_Q.shape
    n = 2 * d_V * d_K + d_V * d_V
    if out is None:
        out = X.new_empty(n, n)
    elif tuple(out.shape) != (n, n) or out.dtype != X.dtype or out.device != X.device or not out.is_contiguous():
        raise InputError("out", f"a contiguous tensor ({n}, {n}) of the dtype and device of X", f"{tuple(out.shape)}")
    moments = contracted_moments(X, W_Q, W_K, W_V, Y, part)
    sums = _Sums(X, d_K)
    _logit_blocks(out, X, W_Q, W_K, W_V, moments, sums)
    _value_blocks(out, X, W_Q, W_K, W_V, moments, sums)
    return out


class _Sums:
    """Sums over tokens of outer products, each one matrix product, in memory that is used again and again."""

    def __init__(self, X: Any, d_K: int) -> None:
        (self.L, d), widest = X.shape, max(d_K, X.shape[1])
        self.memory = X.new_empty(2, d * d * widest * widest)

    def product(self, left: Any, right: Any) -> Any:
        """sum_i left_i (x) right_i for left (L, a, b) and right (L, c, e); shape (a, b, c, e), valid until the next."""
        import torch

        shape = (*left.shape[1:], *right.shape[1:])
        rows, columns = left[0].numel(), right[0].numel()
        result = self.memory[0, : rows * columns].view(rows, columns)
        return torch.mm(left.reshape(self.L, -1).T, right.reshape(self.L, -1), out=result).view(shape)

    def block(self, *shape: int) -> Any:
        """Memory for a block of the given shape, valid until the next."""
        return self.memory[1, : math.prod(shape)].view(shape)

    def store(self, block: Any, out: Any, row: int, column: int) -> None:
        """Write a block and its transpose, which is made contiguous first: entries far apart are slow to write."""
        rows, columns = block.shape
        transposed = self.memory[0, : block.numel()].view(columns, rows).copy_(block.T)
        out[row : row + rows, column : column + columns] = block
        out[column : column + columns, row : row + rows] = transposed


def _logit_blocks(out: Any, X: Any, W_Q: Any, W_K: Any, W_V: Any, moments: ContractedMoments, sums: _Sums) -> None:
    """The four blocks of W_Q and W_K: x_i x_i^T, x_i s_i^T or s_i s_i^T (x) N_i between W_K, for s_i = W_Q^T x_i."""
    (L, d), k = X.shape, W_Q.shape[1]
    n = d * k
    S, core = X @ W_Q, moments.core * (2 / (L * d * k))
    core_K = core @ W_K
    blocks = out[: 2 * n, : 2 * n].unflatten(1, (2, d, k)).unflatten(0, (2, d, k))
    # Entry (a, q; c, r) of a block; every permutation leaves the last index in place, since whole runs are copied fast.
    blocks[0, :, :, 0] = sums.product(_outer(X, X), W_K.T @ core_K).permute(0, 2, 1, 3)
    blocks[1, :, :, 1] = sums.product(core, _outer(S, S)).permute(0, 2, 1, 3)
    mixed = sums.block(d, k, d, k)
    mixed.copy_(sums.product(core_K, _outer(X, S)).permute(2, 1, 0, 3))
    pull = (moments.covariance @ (moments.residual @ W_V.T)[:, :, None])[:, :, 0]
    slope = X.T @ pull * (2 / (L * d) / math.sqrt(k))
    mixed.diagonal(dim1=1, dim2=3).add_(slope[:, :, None])
    sums.store(mixed.view(n, n), out, 0, n)


def _value_blocks(out: Any, X: Any, W_Q: Any, W_K: Any, W_V: Any, moments: ContractedMoments, sums: _Sums) -> None:
    """The blocks of W_V: x_i (x) W_K^T C_i W_V (x) m_i + x_i (x) W_K^T C_i (x) r_i, and s_i, C_i for x_i, W_K^T C_i."""
    (L, d), k = X.shape, W_Q.shape[1]
    n, scale = d * k, 2 / (L * d)
    covariance = moments.covariance * (scale / math.sqrt(k))
    S, at_query = X @ W_Q, W_K.T @ covariance
    block = sums.block(d, k, d, d)
    block.copy_(sums.product(_outer(X, moments.mean), at_query @ W_V).permute(0, 2, 1, 3))
    if moments.part != "outer-product":
        block.add_(sums.product(at_query, _outer(X, moments.residual)).permute(2, 0, 1, 3))
    sums.store(block.view(n, d * d), out, 0, 2 * n)
    block = sums.block(d, k, d, d)
    block.copy_(sums.product(_outer(S, moments.mean), covariance @ W_V).permute(2, 0, 1, 3))
    if moments.part != "outer-product":
        block.add_(sums.product(covariance, _outer(S, moments.residual)).permute(0, 2, 1, 3))
    sums.store(block.view(n, d * d), out, n, 2 * n)
    square = out[2 * n :, 2 * n :].unflatten(1, (d, d)).unflatten(0, (d, d))
    square.zero_()
    square.diagonal(dim1=1, dim2=3).copy_((moments.mean.T @ moments.mean * scale)[:, :, None])


def _outer(left: Any, right: Any) -> Any:
    """left_i right_i^T for every row i, shape (L, a, b)."""
    return left[:, :, None] * right[:, None, :]
