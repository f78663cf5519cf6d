"""Signs of scalars and what follows from assumptions: where nothing may be concluded."""

from __future__ import annotations

import pytest
import sympy

from verify.arithmetics.norms.assumed import follows
from verify.arithmetics.norms.signs import is_positive, sign_of

pytestmark = pytest.mark.kept

p, q, r = sympy.Symbol("p", positive=True), sympy.Symbol("q", nonnegative=True), sympy.Symbol("r", real=True)


n, m = (sympy.Symbol(name, positive=True, integer=True) for name in "nm")


@pytest.mark.parametrize(
    "value",
    [
        p,
        p + q,
        p / (p + q),
        sympy.exp(r),
        p * sympy.exp(r),
        p**-2,
        1 + q,
        m * n - sympy.Rational(1, 2),
        n**2 - 2 * n + 3,
    ],
)
def test_what_is_certainly_positive(value: sympy.Expr) -> None:
    assert is_positive(value) and sign_of(value) == 1


@pytest.mark.parametrize(
    "value",
    [
        q,
        p * q,
        q * sympy.exp(r),
        r**2,
        sympy.Abs(r),
        q**2 + q,
        p * sympy.Abs(r),
        n - 1,
        m * n - n,
        (n - 1) * m,
        m + n - 2,
    ],
)
def test_what_may_vanish_is_not_positive(value: sympy.Expr) -> None:
    assert not is_positive(value) and sign_of(value) == 1


@pytest.mark.parametrize(
    "value",
    [
        r,
        p - q,
        sympy.log(p),
        sympy.log(1 + q),
        p * r,
        sympy.cos(q),
        r**3,
        (n - 3) ** 2 - 2,
        n - 2,
        1 - m * (n - 2) ** 2,
    ],
)
def test_of_what_nothing_is_known(value: sympy.Expr) -> None:
    assert sign_of(value) is None and not is_positive(value)


def test_exponents_are_compared_of_exponentials_alone() -> None:
    assert follows(sympy.exp(r), sympy.exp(p), [p - r]) is not None
    assert follows(2 * q, sympy.exp(r), [r - 2]) is None
    assert follows(sympy.exp(r), 3 * q, [3 - r]) is None


def test_of_a_product_nothing_follows_for_a_factor_where_the_other_one_may_vanish() -> None:
    """x y >= 0 with x = 0 says nothing of y; where the statement divides by x, it is not 0."""
    x = sympy.Symbol("x", nonnegative=True)
    assert follows(q, x, [x**2 - x * q]) is None
    assert follows(q, p, [p**2 - p * q]) is not None
    assert follows(q / x, 1, [x**2 - x * q]) is not None
    assert follows(q, x, [x - q]) is not None
    assert follows(q, p, [r**2 * (p - q)]) is None
