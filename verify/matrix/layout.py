"""Identities, unit vectors, vectorisations and the permutations between them."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from verify.arithmetics import Constant, is_tensor, primitive
from verify.vocabulary.errors import InputError


class Layout(enum.Enum):
    """How a matrix is flattened before it is differentiated."""

    ROW = "row-major"
    COLUMN = "column-major"


ROW, COLUMN = Layout.ROW, Layout.COLUMN


def _size(argument: str, value: int, least: int = 0) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InputError(argument, f"an integer >= {least}", repr(value))
    return int(value)


def require_matrix(argument: str, value: Any) -> None:
    """Raise `InputError` unless `value` is two-dimensional, and no numpy array of floats."""
    shape = getattr(value, "shape", None)
    if shape is None or len(shape) != 2:
        raise InputError(
            argument, "a matrix (two dimensions)", f"shape {tuple(shape)}" if shape is not None else repr(value)
        )
    if isinstance(value, np.ndarray) and value.dtype.kind not in "Oiu":
        raise InputError(
            argument, "a torch tensor or an array of exact, ball or symbolic entries", f"dtype {value.dtype}"
        )


def require_square(argument: str, value: Any) -> None:
    """Raise `InputError` unless `value` is a square matrix."""
    require_matrix(argument, value)
    if value.shape[0] != value.shape[1]:
        raise InputError(argument, "a square matrix", f"shape {tuple(value.shape)}")


@primitive
def eye(n: int) -> Constant:
    """The identity matrix, shape (n, n)."""
    return Constant(np.eye(_size("n", n), dtype=int).astype(object))


@primitive
def zeros(m: int, n: int) -> Constant:
    """The zero matrix, shape (m, n)."""
    return Constant(np.zeros((_size("m", m), _size("n", n)), dtype=int).astype(object))


@primitive
def ones(m: int, n: int) -> Constant:
    """The matrix of ones, shape (m, n)."""
    return Constant(np.ones((_size("m", m), _size("n", n)), dtype=int).astype(object))


@primitive
def not_later(m: int, n: int, shift: int = 0) -> Constant:
    """1 where j <= i + shift, 0 elsewhere, shape (m, n): ``not_later(2, 3, 1)`` has the rows 1 1 0 and 1 1 1.

    Raises `InputError` where `m` or `n` is no size.
    """
    return Constant(np.tri(_size("m", m), _size("n", n), shift, dtype=int).astype(object))


def causal_mask(n: int) -> Any:
    """1 where the key is not later than the query (j <= i), 0 elsewhere, shape (n, n); a mask for `masked_softmax`."""
    return not_later(n, n)


@primitive
def basis_vector(n: int, i: int) -> Constant:
    """The unit vector e_i as a column, shape (n, 1), with i counted from 0."""
    if _size("i", i) >= n:
        raise InputError("i", f"an index below {n}", repr(i))
    return eye(n)[:, i : i + 1]


def basis_matrix(m: int, n: int, i: int, j: int) -> Constant:
    """E_{i,j} = e_i e_j^T, shape (m, n), indices counted from 0 (Hessian paper, Lemma C.1)."""
    return basis_vector(m, i) @ basis_vector(n, j).T


def transpose(A: Any) -> Any:
    """A^T, shape (n, m) for A of shape (m, n)."""
    require_matrix("A", A)
    return A.T


def vec_r(A: Any) -> Any:
    """Row-stacking vectorisation, shape (m n, 1) for A of shape (m, n) (Hessian paper, Section 2)."""
    require_matrix("A", A)
    return A.reshape(-1, 1)


def vec_c(A: Any) -> Any:
    """Column-stacking vectorisation, shape (m n, 1) for A of shape (m, n) (OSA paper, Theorem C.1)."""
    return vec_r(transpose(A))


@primitive
def unvec_r(v: Any, m: int, n: int) -> Any:
    """The matrix of shape (m, n) whose row-stacking vectorisation is v, shape (m n, 1)."""
    if tuple(v.shape) != (_size("m", m) * _size("n", n), 1):
        raise InputError("v", f"a column of shape ({m * n}, 1)", f"shape {tuple(v.shape)}")
    return v.reshape(m, n)


@primitive
def commutation_matrix(n: int, m: int) -> Constant:
    """K_{n,m} of shape (m n, m n): K_{n,m} vec_r(A) = vec_r(A^T) for A of shape (m, n) (Hessian paper, Appendix B.1).

    For column-stacking the same matrix reads K_{n,m} vec_c(B) = vec_c(B^T) for B of shape (n, m).
    """
    n, m = _size("n", n), _size("m", m)
    order = np.arange(m * n).reshape(m, n).T.reshape(-1)
    return Constant(np.eye(m * n, dtype=int)[order].astype(object))


def moved_to_layout(J: Any, out_shape: tuple[int, ...], in_shape: tuple[int, ...], layout: Layout) -> Any:
    """A Jacobian with row-major rows and columns, shape (out, in), reordered to `layout`."""
    if layout is ROW:
        return J
    rows = np.arange(J.shape[0]).reshape(out_shape).T.reshape(-1)
    columns = np.arange(J.shape[1]).reshape(in_shape).T.reshape(-1)
    if is_tensor(J):
        import torch

        return J[torch.as_tensor(rows)][:, torch.as_tensor(columns)]
    return J[rows][:, columns]
