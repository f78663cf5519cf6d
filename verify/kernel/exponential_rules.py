"""Rules about matrix exponentials in certificates of bounds: of skew matrices, and of those that keep lengths in a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.kernel import quantities as q
from verify.kernel.quantities import Matrix, norm, number
from verify.kernel.smallest_values import is_tall, smallest


def is_skew(S: Matrix) -> bool:
    return S.times(number(-1)) == S.T


def rotation(S: Matrix) -> Matrix:
    return q.applied("exponential", S)


def keeps_lengths(X: Matrix, A: Matrix) -> bool:
    """Whether X^T X A is skew.  Then the derivative of exp(sA)^T X^T X exp(sA) is 0, so that it is X^T X for every s."""
    return is_skew(X.T @ X @ A)


EXPONENTIAL_RULES: dict[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "exponential of a skew matrix": (
        "||exp(S)||_2 <= 1 for skew S",
        lambda S: (norm("2", rotation(S)), number(1), is_skew(S)),
    ),
    "exponentials of skew matrices": (
        "||exp(S) - exp(R)|| <= ||S - R|| for skew S and R",
        lambda kind, S, R: (
            norm(kind, rotation(S) - rotation(R)), norm(kind, S - R), is_skew(S) and is_skew(R) and kind in ("2", "F"),
        ),
    ),
    "mean of exponentials": (
        "x int_0^1 e^(t x) dt = e^x - 1",
        lambda x: (x * q.mean_of_exponentials(x), q.exponential(x) - number(1)),
    ),
    "similar matrices": (
        "||exp(V M W)||_2 <= ||V||_2 ||W||_2 ||exp(M)||_2 for the inverse W of V",
        lambda V, W, M: (
            norm("2", rotation(V @ M @ W)), norm("2", V) * norm("2", W) * norm("2", rotation(M)), q.applied("inverse", V) == W,
        ),
    ),
    "exponential that keeps lengths": (
        "||X exp(A) C|| <= ||X C|| where X^T X A is skew",
        lambda kind, X, A, C: (
            norm(kind, X @ rotation(A) @ C), norm(kind, X @ C), keeps_lengths(X, A) and kind in ("2", "F"),
        ),
    ),
    "exponentials that keep lengths": (
        "sigma_min(Y) ||X (exp(A) - exp(B))|| <= ||Y||_2 ||X (A - B)|| where X^T X B and Y^T Y A are skew and Y has no more "
        "columns than rows, as the integral of exp((1 - s) B) (A - B) exp(s A) from 0 to 1 is exp(A) - exp(B)",
        lambda kind, X, Y, A, B: (
            smallest(Y) * norm(kind, X @ (rotation(A) - rotation(B))), norm("2", Y) * norm(kind, X @ (A - B)),
            keeps_lengths(X, B) and keeps_lengths(Y, A) and kind in ("2", "F"), is_tall(Y),
        ),
    ),
}  # fmt: skip
