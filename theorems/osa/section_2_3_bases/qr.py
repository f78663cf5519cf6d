"""The basis by reduced QR (Section 2.3): its gradients explode near rank deficiency, and it fixes the first column."""

from __future__ import annotations

from typing import Any

from theorems.osa import OSA
from theorems.osa.definitions import orthonormal_columns
from theorems.osa.shapes import Factor, Square, TokenFrame, Value
from verify.claims import Claim
from verify.derivatives import jacobian
from verify.matrix import (
    concatenate,
    eye,
    frobenius_norm,
    ones,
    rational,
    smallest_singular_value,
    spectral_norm,
    zeros,
)
from verify.relations import Equal, HasStructure
from verify.subjects import subject


@subject("osa.qr_basis")
def qr_basis(M: Factor) -> Any:
    """The factor Q of the reduced QR decomposition with positive diagonal of R, shape that of M (N, m), rank M = m.

    By Gram-Schmidt, the columns in turn.
    """
    columns: list[Any] = []
    for j in range(M.shape[1]):
        rest = M[:, j : j + 1]
        for q in columns:
            rest = rest - q @ (q.T @ rest)
        columns.append(rest / frobenius_norm(rest))
    return concatenate(columns, axis=1)


QR_GRADIENT = Claim(
    OSA,
    "osa.qr-gradient",
    label="Section 2.3, text",
    statement=r"\text{reduced QR of } \mathbf{M} \text{ can suffer from exploding gradients when } \mathbf{M} \text{ is close"
    r" to rank deficient}",
    assumptions=["M = [u, u cos eta + v sin eta] with u, v orthonormal in R^N, N >= 3, 0 < eta <= pi/3"],
    relation=Equal(),
    sizes={"N": (3, 5)},
    expects="reading",
    reading="the spectral norm of d vec B / d vec M has no bound near some rank deficient matrix; for the stated family it is"
    " 1 / sigma_min(M)",
    note="For N = 2 the family does not explode: the second column of Q is then fixed by the first.",
)


@QR_GRADIENT.inputs
def nearly_parallel_columns(frame: TokenFrame, x: Value) -> Any:
    uv = orthonormal_columns(frame, 2)
    t = rational(1, 2) / (1 + x * x)  # tan(eta / 2), at most 1/2
    combination = concatenate([eye(1) + 0 * t, 0 * t], axis=0), concatenate([1 - t * t, 2 * t], axis=0) / (1 + t * t)
    return {"M": uv @ concatenate(combination, axis=1)}


@QR_GRADIENT.formula
def qr_jacobian_norm(M: Factor) -> Any:
    """||d vec Q / d vec M||_2 = 1 / sigma_min(M), a scalar, for M (N, 2) with unit columns at an angle eta <= pi/3, N >= 3."""
    return 1 / smallest_singular_value(M)


QR_GRADIENT.oracle(lambda M: spectral_norm(jacobian(qr_basis, "M")(M)))
QR_GRADIENT.mutant("1 / sigma_min^2", lambda M: 1 / smallest_singular_value(M) ** 2)
QR_GRADIENT.mutant("1 / r_22", lambda M: 1 / frobenius_norm(M[:, 1:] - M[:, :1] @ (M[:, :1].T @ M[:, 1:])))
QR_GRADIENT.mutant("condition number of M", lambda M: spectral_norm(M) / smallest_singular_value(M))

QR_FIRST_COLUMN = Claim(
    OSA,
    "osa.qr-first-column",
    label="Section 2.3, text",
    statement=r"\text{QR fixes the first column of } \mathbf{M} \text{ up to scaling: } \mathbf{B}_{:,1} \propto \mathbf{M}_{:,1}",
    assumptions=["M = B R, B with orthonormal columns, R upper triangular", "M has nonzero first column"],
    relation=HasStructure(),
    sizes={"N": (2, 5), "m": (2, 4)},
    where=lambda sizes: sizes["m"] <= sizes["N"],
    exact=True,
)


@QR_FIRST_COLUMN.inputs
def product_with_triangular_factor(frame: TokenFrame, factor: Square) -> Any:
    m = factor.shape[0]
    B = orthonormal_columns(frame, m)
    columns = [concatenate([factor[: j + 1, j : j + 1], zeros(m - j - 1, 1)], axis=0) for j in range(m)]
    return {"B": B, "M": B @ concatenate(columns, axis=1)}


@QR_FIRST_COLUMN.formula
def first_basis_direction(M: Factor) -> Any:
    """M_{:,1}, shape (N, 1): the direction of the first column of every QR basis of M (N, m)."""
    return M[:, :1]


@QR_FIRST_COLUMN.part("structure")
def parallel_to_first_column(value: Any, B: Factor) -> Any:
    """Two vectors are parallel exactly if their 2 x 2 minors vanish."""
    return value @ B[:, :1].T - B[:, :1] @ value.T


QR_FIRST_COLUMN.mutant("last column", lambda M: M[:, -1:])
QR_FIRST_COLUMN.mutant("mean of the columns", lambda M: M @ ones(M.shape[1], 1) / M.shape[1])
