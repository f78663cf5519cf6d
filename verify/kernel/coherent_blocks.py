"""Two blocks side by side in certificates of bounds: the norm of [A B], and its smallest gain, by those of A and B.

The smallest gain of A is min |A x| over unit vectors x.  It is 0 for a matrix with more columns than rows, and so another
number for A^T than for A.  It is no norm: of no rule that takes a kind of norm may it be one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from verify.kernel import quantities as q
from verify.kernel.quantities import Matrix, Scalar, norm, number

GAIN = "smallest gain"
HALF = Fraction(1, 2)


def smallest_gain(A: Matrix) -> Scalar:
    """min |A x| over unit vectors x, as a multiple of one that A and -A share."""
    if not A.terms:
        return number(0)
    if A.columns == number(1):  # x is 1 or -1
        return norm("F", A)
    content = q.content_of(A)
    core, size = A.divided(content), q.absolute(content)
    if len(core.terms) == 1:
        ((word, c),) = core.terms.items()
        if len(c.terms) > 1:  # (a + b) A
            return size * q.absolute(c) * smallest_gain(Matrix(A.rows, A.columns, {word: number(1)}))
        if word == () and c.number() is not None:
            return size * q.absolute(c)
    return q.generator(GAIN, frozenset({core, core.times(number(-1))})) * size


def beside(A: Matrix, B: Matrix) -> Matrix:
    """[A B]."""
    return q.concatenated(A.T, B.T).T


def eigenvalue(a: Scalar, b: Scalar, c: Scalar, sign: int) -> Scalar:
    """The larger (sign 1) or the smaller (-1) eigenvalue of [[a, c], [c, b]]."""
    half = number(HALF)
    return half * (a + b) + number(sign) * ((half * (a - b)) ** 2 + c**2) ** HALF


#: Each says that one scalar is at most another, as in `bound_rules`; what is in pairs has to be shown.
RULES: dict[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "norm of two blocks": (
        "||[A B]||_2^2 is at most the larger eigenvalue of [[||A||_2^2, r], [r, ||B||_2^2]], r = ||A^T B||_2",
        lambda A, B: (
            norm("2", beside(A, B)), eigenvalue(norm("2", A) ** 2, norm("2", B) ** 2, norm("2", A.T @ B), 1) ** HALF,
        ),
    ),
    "norm of two blocks of bounded norm": (
        "||[A B]||_2^2 <= t^2 + ||A^T B||_2 where ||A||_2 <= t and ||B||_2 <= t",
        lambda t, A, B: (
            norm("2", beside(A, B)), (t**2 + norm("2", A.T @ B)) ** HALF, (norm("2", A), t), (norm("2", B), t),
        ),
    ),
    "smallest gain of two blocks": (
        "gain([A B])^2 is at least the smaller eigenvalue of [[gain(A)^2, r], [r, gain(B)^2]], r = ||A^T B||_2",
        lambda A, B: (
            eigenvalue(smallest_gain(A) ** 2, smallest_gain(B) ** 2, norm("2", A.T @ B), -1), smallest_gain(beside(A, B)) ** 2,
        ),
    ),
    "smallest gain of two blocks of bounded gain": (
        "s^2 - ||A^T B||_2 <= gain([A B])^2 where 0 <= s <= gain(A) and s <= gain(B)",
        lambda s, A, B: (
            s**2 - norm("2", A.T @ B), smallest_gain(beside(A, B)) ** 2,
            (number(0), s), (s, smallest_gain(A)), (s, smallest_gain(B)),
        ),
    ),
    "smallest gain of a product": (
        "gain(A)^2 (||B||_F^2 + ||C||_F^2 + ...) <= ||A [B; C; ...]||_F^2",
        lambda A, *blocks: (
            smallest_gain(A) ** 2 * sum((norm("F", B) ** 2 for B in blocks), number(0)),
            norm("F", A @ q.concatenated(*blocks)) ** 2,
        ),
    ),
    "smallest gain at most norm": ("gain(A) <= ||A||_2", lambda A: (smallest_gain(A), norm("2", A))),
    "root of two squares": (
        "sqrt(x^2 + y^2) <= x + y where x and y are at least 0",
        lambda x, y: ((x**2 + y**2) ** HALF, x + y, (number(0), x), (number(0), y)),
    ),
}  # fmt: skip
