"""Kronecker, Khatri-Rao and block products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from verify.arithmetics import Constant, Surd, is_tensor, primitive
from verify.matrix.layout import ones, require_matrix, require_square
from verify.vocabulary.errors import InputError


def aligned(*operands: Any) -> list[Any]:
    """The operands as arrays of one arithmetic: constants adapt to the first operand that is not one."""
    leader = next((x for x in operands if not isinstance(x, (Constant, Surd))), None)
    return [x.adapt(leader) if leader is not None and isinstance(x, (Constant, Surd)) else x for x in operands]


@primitive
def kron(A: Any, B: Any, *more: Any) -> Any:
    """Kronecker product A (x) B (x) ..., shape (m p, n q) for A (m, n) and B (p, q) (Hessian paper, Definition A.1)."""
    require_matrix("A", A)
    require_matrix("B", B)
    if isinstance(A, Constant) and isinstance(B, Constant):
        product: Any = Constant(np.kron(A.array, B.array))
    else:
        A, B = aligned(A, B)
        shape = (A.shape[0] * B.shape[0], A.shape[1] * B.shape[1])
        product = (A[:, None, :, None] * B[None, :, None, :]).reshape(shape)
    return kron(product, *more) if more else product


@primitive
def kron_matmul(factors: Sequence[Any], M: Any) -> Any:
    """(A_1 (x) ... (x) A_r) M, shape (m_1 ... m_r, c), for factors (m_i, n_i) and M (n_1 ... n_r, c).

    One factor after another, so that neither the Kronecker product nor its zeros are formed.
    """
    require_matrix("M", M)
    rows = math.prod(factor.shape[1] for factor in factors)
    if M.shape[0] != rows:
        raise InputError("M", f"{rows} rows, as many as the factors have columns together", f"shape {tuple(M.shape)}")
    before, after = 1, M.shape[0] * M.shape[1]
    for A in factors:
        require_matrix("A", A)
        m, n = A.shape
        after //= n
        if not (isinstance(A, Constant) and m == n and (A.array == np.eye(n, dtype=int)).all()):
            A, M = aligned(A, M)
            columns = M.reshape(before, n, after).swapaxes(0, 1).reshape(n, before * after)
            M = (A @ columns).reshape(m, before, after).swapaxes(0, 1)
        before *= m
    return M.reshape(math.prod(factor.shape[0] for factor in factors), -1)


def hadamard(A: Any, B: Any) -> Any:
    """Entrywise product, both of shape (m, n)."""
    if tuple(A.shape) != tuple(B.shape):
        raise InputError("B", f"the shape of A, {tuple(A.shape)}", f"{tuple(B.shape)}")
    return A * B


@primitive
def concatenate(blocks: Sequence[Any], axis: int) -> Any:
    """Blocks joined along `axis` (0: on top of each other, 1: side by side); a list among them gives its members."""
    blocks = [part for block in blocks for part in (block if isinstance(block, list) else [block])]
    if not blocks:
        raise InputError("blocks", "at least one matrix", "none")
    for block in blocks:
        if block.shape[1 - axis] != blocks[0].shape[1 - axis]:
            shapes = [tuple(block.shape) for block in blocks]
            raise InputError("blocks", f"matrices of equally many {('columns', 'rows')[axis]}", f"shapes {shapes}")
    if all(isinstance(block, Constant) for block in blocks):
        return Constant(np.concatenate([block.array for block in blocks], axis=axis))
    arrays = aligned(*blocks)
    if is_tensor(arrays[0]):
        import torch

        return torch.cat(arrays, dim=axis)
    return np.concatenate(arrays, axis=axis)


@primitive
def stack_rows(rows: Sequence[Any]) -> Any:
    """One-dimensional rows, each of shape (n,), as a matrix of shape (m, n)."""
    return concatenate([row.reshape(1, -1) for row in rows], axis=0)


@primitive
def khatri_rao(A_blocks: Sequence[Any], B_blocks: Sequence[Any]) -> Any:
    """Block-wise Khatri-Rao product of two block columns: block i is A_i (x) B_i (Hessian paper, Definition A.2).

    A_blocks and B_blocks hold equally many matrices; for blocks of shapes (m_i, n) and (p_i, q) the result has shape
    (sum m_i p_i, n q).
    """
    if len(A_blocks) != len(B_blocks):
        raise InputError("B_blocks", f"as many blocks as A_blocks, {len(A_blocks)}", str(len(B_blocks)))
    return concatenate([kron(A, B) for A, B in zip(A_blocks, B_blocks, strict=True)], axis=0)


@primitive
def block_diag(blocks: Sequence[Any]) -> Any:
    """The block-diagonal matrix of the given matrices, shape (sum m_i, sum n_i)."""
    arrays = aligned(*blocks)
    total_columns = sum(block.shape[1] for block in arrays)
    rows, before = [], 0
    for block in arrays:
        m, n = block.shape
        after = total_columns - before - n
        parts = [Constant(np.zeros((m, before), dtype=int)), block, Constant(np.zeros((m, after), dtype=int))]
        rows.append(concatenate(parts, axis=1))
        before += n
    return concatenate(rows, axis=0)


@primitive
def diag(v: Any) -> Any:
    """The diagonal matrix of a vector of shape (n,), (n, 1) or (1, n); shape (n, n)."""
    if sum(size != 1 for size in v.shape) > 1:
        raise InputError("v", "a vector", f"shape {tuple(v.shape)}")
    entries = v.reshape(-1)
    n = entries.shape[0]
    identity = Constant(np.eye(n, dtype=int))
    return identity * entries.reshape(1, n)


@primitive
def diag_part(A: Any) -> Any:
    """The diagonal of a square matrix (n, n), shape (n,)."""
    require_square("A", A)
    if is_tensor(A):
        return A.diagonal()
    return np.diagonal(A.array if isinstance(A, Constant) else A)


def trace(A: Any) -> Any:
    """The trace of a square matrix (n, n), a scalar."""
    return diag_part(A).sum()


def vector(*scalars: Any) -> Any:
    """Scalars of one arithmetic, and lists of them as `each` gives, as a vector, shape (count,)."""
    scalars = tuple(x for scalar in scalars for x in (scalar if isinstance(scalar, list) else [scalar]))
    if is_tensor(scalars[0]):
        import torch

        return torch.stack(scalars)
    return np.array(scalars, dtype=object)


def column(*scalars: Any) -> Any:
    """Scalars of any arithmetic, or matrices of shape (1, 1), on top of each other, shape (count, 1)."""
    return concatenate([ones(1, 1) * scalar for scalar in scalars], axis=0)
