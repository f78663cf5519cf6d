"""Multiples of isometries, where a claim assumes that a product of matrices is a multiple of the identity.

An assumption P = c I has a single product P without a factor.  In it stand matrices that do not vary with an index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from verify.kernel import quantities as q
from verify.kernel.quantities import Matrix, Scalar, norm, number
from verify.kernel.refusal import Refused

HALF = Fraction(1, 2)


def multiple(P: Matrix, c: Scalar) -> tuple[Matrix, Scalar]:
    """The assumption that the product P is c I; refused where P is no product, not square, or either varies with an index."""
    if not isinstance(c, Scalar) or P.rows != P.columns or P.free or c.free:
        raise Refused("no product that may be a multiple of the identity")
    if len(P.terms) != 1 or any(not word or d != number(1) for word, d in P.terms.items()):
        raise Refused("no single product without a factor")
    return P, c


def reduced(A: Matrix, multiples: Sequence[tuple[Matrix, Scalar]]) -> Matrix:
    """A matrix with c in the place of each product, or its transpose, that is assumed to be c I."""
    known = [(word, c) for P, c in multiples for X in (P, P.T) for word, d in X.terms.items() if d == number(1)]
    for word, d in A.terms.items():
        for part, c in known:
            for k in range(len(word) - len(part) + 1):
                if word[k : k + len(part)] == part:
                    n = part[0][2]
                    left = Matrix(A.rows, n, {word[:k]: number(1)})
                    right = Matrix(n, A.columns, {word[k + len(part) :]: number(1)})
                    rest = Matrix(A.rows, A.columns, {other: e for other, e in A.terms.items() if other != word})
                    return reduced(rest + (left @ right).times(c * d), multiples)  # shorter by at least one factor
    return A


def square(A: Matrix, multiples: Sequence[tuple[Matrix, Scalar]]) -> Scalar:
    """c where A^T A = c I; refused where that is not so."""
    found = reduced(A.T @ A, multiples)
    if set(found.terms) != {()}:
        raise Refused("no multiple of an isometry")
    return found.terms[()]


def _is_unit_row(x: Matrix) -> bool:
    item = q.single_atom(x, "input")
    return x.rows == number(1) and q.is_input(item, "has unit rows") and not item[1]


#: Each takes what is assumed besides its arguments, and says that one scalar is at most another, as in `bound_rules`.
RULES: dict[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "multiple of an isometry": (
        "||A||_2 = c^(1/2) where A^T A = c I by an assumption",
        lambda multiples, A: (norm("2", A), square(A, multiples) ** HALF),
    ),
    "unit row times a multiple of an isometry": (
        "||x A||^-1 = c^(-1/2) for a unit row x, where A A^T = c I by an assumption, and c > 0",
        # for c = 0 both sides would be divided by 0, where the statement may be defined
        lambda multiples, x, A: (
            norm("F", x @ A) ** -1, square(A.T, multiples) ** -HALF,
            _is_unit_row(x), q.is_positive(square(A.T, multiples)),
        ),
    ),
}  # fmt: skip
