"""Functions of matrices: row softmax, also under a mask, matrix exponential, row norms and normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flint
import numpy as np

from verify.arithmetics import (
    Constant,
    Kind,
    exp,
    has_jets,
    is_tensor,
    kind_of,
    primitive,
    rational,
    series_coefficients,
    sqrt,
)
from verify.arithmetics.jets import Jet, gradient_part, hessian_part, value_part
from verify.arithmetics.rational_functions import active_field
from verify.matrix.layout import eye, require_matrix, require_square
from verify.matrix.products import aligned
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

#: Up to these norms torch takes the exponential of a matrix by a Taylor polynomial without halving: float32, float64.
TAYLOR_RADII = (3.01, 1.09)
#: Balls of so many bits, or fewer, say how large the roundings of a float are; with more they enclose values alone.
FLOATS = 64


def row_sums(A: Any) -> Any:
    """Sums over each row, shape (m, 1) for A of shape (m, n)."""
    return A.sum(1).reshape(-1, 1)


def row_norms(A: Any) -> Any:
    """Euclidean norms of the rows, shape (m, 1) for A of shape (m, n)."""
    return sqrt(row_sums(A * A))


def normalize_rows(A: Any) -> Any:
    """Each row divided by its Euclidean norm, shape (m, n); a zero row divides by zero (dynamics paper, Eq. (5))."""
    return A / row_norms(A)


def centred(A: Any) -> Any:
    """Each row less its mean, shape (m, n)."""
    return A - row_sums(A) * rational(1, A.shape[1])


def layer_norm(A: Any) -> Any:
    """Each row less its mean, then scaled to the squared norm n, shape (m, n): no gain, no shift, no constant under the root.

    A row whose entries are all equal divides by zero.
    """
    return normalize_rows(centred(A)) * sqrt(A.shape[1])


@primitive
def softmax(T: Any) -> Any:
    """Row softmax, shape (m, n): entry (i, j) is exp(T_ij) / sum_k exp(T_ik)."""
    require_matrix("T", T)
    if isinstance(T, Constant):
        T = T.array
    if is_tensor(T):
        return T.softmax(-1)
    weights = exp(T - _row_maxima(T) if kind_of(T) is Kind.BALL else T)
    return weights / row_sums(weights)


@primitive
def masked_softmax(T: Any, M: Any) -> Any:
    """Row softmax over the entries that a mask allows, shape (m, n): M_ij exp(T_ij) / sum_k M_ik exp(T_ik).

    M, of shape (m, n), is 1 where an entry is allowed and 0 elsewhere; other nonnegative entries are weights.  A row
    of zeros divides by zero.
    """
    require_matrix("T", T)
    if tuple(M.shape) != tuple(T.shape):
        raise InputError("M", f"the shape of T, {tuple(T.shape)}", f"shape {tuple(M.shape)}")
    T, M = aligned(T, M)
    if isinstance(T, Constant):
        T, M = T.array, M.array
    if is_tensor(T):
        allowed = T.masked_fill(M == 0, -float("inf"))
        weights = (allowed - allowed.amax(1, keepdim=True).detach()).exp() * M
    else:
        weights = exp(T - _row_maxima(T, M) if kind_of(T) is Kind.BALL else T) * M
    return weights / row_sums(weights)


def _row_maxima(T: np.ndarray, M: np.ndarray | None = None) -> np.ndarray:
    """The largest midpoint of each row of balls, or of jets of them, as every kernel subtracts it, shape (m, 1).

    Where a mask M of shape (m, n) is given, entries at its zeros do not count.
    """
    allowed = np.ones(T.shape, dtype=bool) if M is None else np.array([[value_part(x) != 0 for x in row] for row in M])
    found = [
        [flint.arb(value_part(entry)).mid() for entry, counts in zip(row, among, strict=True) if counts]
        for row, among in zip(T, allowed, strict=True)
    ]
    return np.array([[max(row, key=float, default=0)] for row in found], dtype=object).reshape(-1, 1)


@primitive
def expm(A: Any) -> Any:
    """The matrix exponential, shape (n, n).

    Floats use torch.linalg.matrix_exp, with derivatives of our own in reverse mode (`verify.matrix.float_exponential`), balls a
    certified enclosure, symbols sympy; jets over balls the block-triangular Frechet identity; indeterminates a polynomial
    that interpolates exp.  Rationals work only within `verify.arithmetics.free_exponentials`.
    """
    require_square("A", A)
    if is_tensor(A):
        from verify.matrix.float_exponential import exponential  # which torch has to be loaded for

        return exponential(A) if A.shape[-1] else A
    if isinstance(A, Constant):
        A = A.array
    kind = kind_of(A)
    coefficients = series_coefficients()
    if kind is Kind.EXACT or (kind is Kind.BALL and coefficients is not None):
        return _power_series(A, coefficients)
    if kind is Kind.POLYNOMIAL:
        return _expm_of_jets(A) if has_jets(A) else active_field().matrix_exponential(A)
    if has_jets(A):
        return _expm_of_jets(A)
    if kind is Kind.BALL:
        return _expm_of_balls(A)
    import sympy

    return np.array(sympy.Matrix(A).exp().tolist(), dtype=object).reshape(A.shape)


def _expm_of_balls(A: np.ndarray) -> np.ndarray:
    n = A.shape[0]
    if n == 0:
        return A
    matrix = flint.arb_mat([[flint.arb(entry) for entry in row] for row in A])
    exact = matrix.exp()
    found = np.array(exact.tolist(), dtype=object).reshape(n, n)
    if flint.ctx.prec > FLOATS:
        return found
    # Balls can be sharper than any kernel, exact at A = 0 even.
    return found + flint.arb(0, _error_of_kernels(matrix, exact))


def _error_of_kernels(A: flint.arb_mat, exact: flint.arb_mat) -> flint.arb:
    """By how much exp(A) of floats of the present precision may be off.

    A kernel that is backward stable computes exp(A + E) with |E| one rounding of |A|.  To first order that moves the result
    by |E| times the mean of |exp(sA)| |exp((1 - s)A)| over 0 <= s <= 1: by |A| |exp(A)| roundings at normal A, by M times that
    where exp(sA) grows before it falls; and |exp(A + E)| may be exp(M |E|) times as large, which counts once |A| comes near
    to the reciprocal of a rounding.  At small A the roundings of the kernel's products are left, sums of n terms, which add
    up like sqrt(n) (torch's: to 2.1 sqrt(n) roundings for n up to 12); 2 sqrt(n) of |A| stand for them.

    torch sums a Taylor polynomial of A / 2^s, whose terms are as large as exp(|A| / 2^s) however small exp(A) is, and squares
    it s times: each of the 2^s factors is off by three roundings of such terms while the others stand beside it.
    """
    n, rounding = A.nrows(), flint.arb(2) ** -flint.ctx.prec
    step = (A * flint.arb(0.125)).exp()
    powers = [flint.arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)]), step]
    for _ in range(6):
        powers.append(powers[-1] * step)
    norms = [*map(_norm_bound, powers), _norm_bound(exact)]

    size = sum((entry * entry for row in A.tolist() for entry in row), flint.arb(4 * n)).sqrt().abs_upper()
    largest, moved = max((norms[k] * norms[8 - k] for k in range(5)), key=float), size * rounding
    growth = (moved * largest / norms[8]).exp() if norms[8] > 0 else flint.arb(1)

    radius, whole = TAYLOR_RADII[0 if flint.ctx.prec <= 24 else 1], _norm_bound(A)
    # How many eighths of A a factor stands for.
    width = next((width for width in (8, 4, 2) if whole <= radius * 8 / width), 1)
    others = max((norms[k] * norms[8 - width - k] for k in range(0, 9 - width, width)), key=float)
    terms = 3 * whole.min(radius).exp() * (whole / radius).max(1) * others
    return (moved * largest * growth + rounding * terms).abs_upper()


def _norm_bound(M: flint.arb_mat) -> flint.arb:
    """An upper bound of the spectral norm: the root of the largest row sum of M^T M, 1 for orthogonal M."""
    rows = (sum((entry.abs_upper() for entry in row), flint.arb(0)) for row in (M.transpose() * M).tolist())
    return max(rows, key=float).sqrt().abs_upper()


def _power_series(A: np.ndarray, coefficients: Sequence[Any] | None) -> np.ndarray:
    """I + sum of c_k A^k: an identity linear in a power series holds for exp if it holds for all c_k."""
    n = A.shape[0]
    if all(value_part(entry) == 0 and not isinstance(entry, Jet) for entry in A.flat):
        return eye(n).array
    if coefficients is None:
        raise ArithmeticUnsupported("expm of rationals is irrational: evaluate in balls, or within free_exponentials")
    result, power = eye(n).array, eye(n).array
    for coefficient in coefficients:
        power = power @ A
        result = result + power * coefficient
    return result


def _expm_of_jets(A: np.ndarray) -> np.ndarray:
    """exp of a jet matrix from exp of [[A, E], [0, A]] (order 1) and its four-block analogue (order 2)."""
    n = A.shape[0]
    sample = next(entry for entry in A.flat if isinstance(entry, Jet))
    count, second = sample.gradient.shape[0], sample.hessian is not None
    base = np.array([value_part(entry) for entry in A.flat], dtype=object).reshape(n, n)
    first = np.array([gradient_part(entry, count) for entry in A.flat], dtype=object).reshape(n, n, count)
    value = expm(base)
    gradients = np.empty((n, n, count), dtype=object)
    hessians = np.empty((n, n, count, count), dtype=object) if second else None
    O = np.zeros((n, n), dtype=object)
    for i in range(count):
        gradients[:, :, i] = expm(np.block([[base, first[:, :, i]], [O, base]]))[:n, n:]
    if hessians is not None:
        curvature = np.array([hessian_part(entry, count) for entry in A.flat], dtype=object)
        curvature = curvature.reshape(n, n, count, count)
        for i in range(count):
            for j in range(i, count):
                E, F, H = first[:, :, i], first[:, :, j], curvature[:, :, i, j]
                blocks = [[base, E, F, H], [O, base, O, F], [O, O, base, E], [O, O, O, base]]
                hessians[:, :, i, j] = hessians[:, :, j, i] = expm(np.block(blocks))[:n, 3 * n :]
    result = np.empty((n, n), dtype=object)
    for index in np.ndindex(n, n):
        result[index] = Jet(value[index], gradients[index], None if hessians is None else hessians[index])
    return result
