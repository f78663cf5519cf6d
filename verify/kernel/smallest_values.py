"""Singular values in certificates of bounds: the smallest ones, shifts of them, and smallest eigenvalues of Gram matrices.

sigma_min(A) is the last of the min(m, n) singular values of A of shape (m, n).  It is no norm: of no rule that takes a kind of
norm may it be one, since sigma_min(A + B) <= sigma_min(A) + sigma_min(B) is false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.kernel import quantities as q
from verify.kernel.quantities import Matrix, Scalar, norm, number

SMALLEST, EIGENVALUE, SHIFT = "smallest singular value", "smallest eigenvalue", "largest shift of singular values"


def smallest(A: Matrix) -> Scalar:
    """The last of the min(m, n) singular values of A (m, n), as a multiple of one that A, -A and A^T share."""
    if not A.terms:
        return number(0)
    if number(1) in (A.rows, A.columns):  # the only one
        return norm("F", A)
    content = q.content_of(A)
    core, size = A.divided(content), q.absolute(content)
    if len(core.terms) == 1:
        ((word, c),) = core.terms.items()
        if len(c.terms) > 1:  # (a + b) A
            return size * q.absolute(c) * smallest(Matrix(A.rows, A.columns, {word: number(1)}))
        if c.number() is not None and (word == () or (len(word) == 1 and word[0][0] == "embedding")):
            return size * q.absolute(c)  # of the identity, and of some of its rows or columns, all are equal
    variants = frozenset(X.times(number(s)) for X in (core, core.T) for s in (1, -1))
    return q.generator(SMALLEST, variants) * size


def smallest_eigenvalue(A: Matrix) -> Scalar:
    """The smallest eigenvalue of A A^T, which is not negative."""
    return q.generator(EIGENVALUE, A) if A.terms else number(0)


def shift(A: Matrix, B: Matrix) -> Scalar:
    """The largest |sigma_i(A) - sigma_i(B)|, in decreasing order, of two matrices of one shape."""
    return q.generator(SHIFT, A, B) if (A - B).terms else number(0)


def is_tall(A: Matrix) -> tuple[Scalar, Scalar]:
    """What has to be shown of a matrix with no more columns than rows."""
    return A.columns, A.rows


#: Each says that one scalar is at most another, as in `bound_rules`; what is in pairs has to be shown.
RULES: dict[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "smallest singular value of a sum": (
        "sigma_min(A) <= sigma_min(A + B) + ||B||_2",
        lambda A, B: (smallest(A), smallest(A + B) + norm("2", B)),
    ),
    "smallest singular value of a product": (
        "sigma_min(A) sigma_min(B) <= sigma_min(A B) where neither A nor B has more columns than rows",
        lambda A, B: (smallest(A) * smallest(B), smallest(A @ B), is_tall(A), is_tall(B)),
    ),
    "product from below": (
        "sigma_min(A) ||B|| <= ||A B|| where A has no more columns than rows, as ||A x|| is at least sigma_min(A) ||x||",
        lambda kind, A, B: (smallest(A) * norm(kind, B), norm(kind, A @ B), kind in ("2", "F"), is_tall(A)),
    ),
    "smallest at most largest singular value": (
        "sigma_min(A) <= ||A||_2", lambda A: (smallest(A), norm("2", A)),
    ),
    "Weyl": ("|sigma_i(A) - sigma_i(B)| <= ||A - B||_2", lambda A, B: (shift(A, B), norm("2", A - B))),
    "smallest eigenvalue of a Gram matrix": (
        "lambda_min(A A^T) <= ||A||_F^2 / m for the m rows of A",
        lambda A: (smallest_eigenvalue(A), norm("F", A) ** 2 * A.rows**-1),
    ),
}  # fmt: skip
