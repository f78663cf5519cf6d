"""Truncated Taylor numbers against derivatives known in closed form and against sympy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tests.arithmetics import quietly
from verify.arithmetics import Jet, exp, precision, sqrt, to_balls, to_rationals
from verify.arithmetics.jets import FLAT, gradient_part, hessian_part, value_part, variables
from verify.matrix import expm, rational

pytestmark = pytest.mark.kept

points = st.tuples(st.integers(1, 5), st.integers(1, 5))

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum and difference": lambda x, y: (x + 2) - (3 - y) + (x - y),
    "product": lambda x, y: x * y * 2 * x,
    "quotient": lambda x, y: x / y + 1 / x + y / 3,
    "powers": lambda x, y: x**3 * y**2 + x**0 + (-y) ** 1,
    "square root of a square": lambda x, y: 1 / (x * x + y),
    "surd coefficients": lambda x, y: rational(2, 3) * x * y / rational(7) - x * rational(1, 5),
}
IRRATIONAL: dict[str, Callable[[Any, Any], Any]] = {
    "exponential": lambda x, y: exp(x * y / 4),
    "root": lambda x, y: sqrt(x * x + y),
    "softmax-like": lambda x, y: exp(x) / (exp(x) + exp(y)),
    "surd": lambda x, y: x * sqrt(2) / sqrt(3) + sqrt(5) * y * x,
}


def jet_of(
    function: Callable[[Any, Any], Any], point: tuple[int, int], lift: Callable[[Any], np.ndarray], order: int
) -> Jet:
    (lifted,) = variables([lift(list(point))], order)
    return function(*lifted)


def derivatives_by_sympy(function: Callable[[Any, Any], Any], point: tuple[int, int]) -> list[sympy.Expr]:
    """Value, the two first and the four second derivatives."""
    symbols = sympy.symbols("x y", positive=True)
    value = function(*symbols)
    first = [sympy.diff(value, s) for s in symbols]
    second = [sympy.diff(d, s) for d in first for s in symbols]
    return [expression.subs(dict(zip(symbols, point, strict=True))) for expression in [value, *first, *second]]


@pytest.mark.parametrize("name", FUNCTIONS)
@quietly
@given(point=points)
def test_jets_over_rationals_differentiate_exactly(name, point):
    jet = jet_of(FUNCTIONS[name], point, to_rationals, order=2)
    parts = [value_part(jet), *gradient_part(jet, 2), *hessian_part(jet, 2).flat]
    expected = [flint.fmpq(int(x.p), int(x.q)) for x in derivatives_by_sympy(FUNCTIONS[name], point)]
    assert parts == expected
    first_order = jet_of(FUNCTIONS[name], point, to_rationals, order=1)
    assert first_order.hessian is None and first_order.value == jet.value
    assert list(first_order.gradient) == list(jet.gradient)


@pytest.mark.parametrize("name", [*FUNCTIONS, *IRRATIONAL])
@quietly
@given(point=points)
def test_jets_over_balls_enclose_the_derivatives(name, point):
    function = {**FUNCTIONS, **IRRATIONAL}[name]
    jet = jet_of(function, point, to_balls, order=2)
    parts = [jet.value, *jet.gradient, *hessian_part(jet, 2).flat]
    for ball, expected in zip(parts, derivatives_by_sympy(function, point), strict=True):
        reference = flint.arb(str(sympy.N(expected, 60)))
        assert abs(flint.arb(ball) - reference) < 1e-50


@quietly
@given(point=points)
def test_second_derivatives_are_symmetric_and_orders_agree(point):
    jet = jet_of(IRRATIONAL["softmax-like"], point, to_balls, order=2)
    assert all((x - y).contains(0) for x, y in zip(jet.hessian.flat, jet.hessian.T.flat, strict=True))
    first = jet_of(IRRATIONAL["softmax-like"], point, to_balls, order=1)
    assert all((x - y).contains(0) for x, y in zip(jet.gradient, first.gradient, strict=True))


def test_variables_are_numbered_in_row_major_order():
    X, y = variables([to_rationals([[1, 2, 3], [4, 5, 6]]), to_rationals([7])], order=2)
    assert X.shape == (2, 3) and y.shape == (1,)
    assert [list(entry.gradient).index(1) for entry in [*X.flat, *y]] == list(range(7))
    assert X[1, 0].value == 4 and not hessian_part(X[1, 0], 7).any()


def test_what_is_linear_has_no_hessian_unless_a_factor_is_no_number():
    """Zeros are not multiplied entry by entry; a factor that is undefined still leaves an undefined Hessian."""
    (x, y), three = variables([to_balls([1, 2])], order=2)[0], flint.arb(3)
    assert all(jet.hessian is FLAT for jet in (x, x + y, 3 - y, three * x - y / 7, -x))
    assert all(jet.hessian is not FLAT for jet in (x * y, 1 / x, (x + y) * x + y, exp(x)))
    assert not any(entry.is_finite() for entry in hessian_part(x * (three / 0), 2).flat)
    assert not any(entry.is_finite() for entry in hessian_part(x * y * (three / 0) + x, 2).flat)
    (of_floats,) = variables([np.array([2.0], dtype=object)], order=2)[0]
    with np.errstate(invalid="ignore"):
        assert math.isnan(hessian_part(of_floats * math.inf, 1)[0, 0])


def test_plain_scalars_have_no_derivatives():
    assert value_part(3) == 3 and list(gradient_part(3, 2)) == [0, 0] and not hessian_part(3, 2).any()


def test_matrix_exponential_of_jets_along_a_line():
    """exp(s A) with scalar s: the derivatives are A exp(s A) and A^2 exp(s A)."""
    A = to_balls([[1, 2], [0, -1]]) / 3
    (s,) = variables([to_balls([1])], order=2)
    value = expm(A * s[0])
    direct = expm(A)
    for part, expected in (
        (lambda jet: jet.value, direct),
        (lambda jet: jet.gradient[0], A @ direct),
        (lambda jet: jet.hessian[0, 0], A @ A @ direct),
    ):
        assert all((part(x) - y).contains(0) for x, y in zip(value.flat, expected.flat, strict=True))


def test_matrix_exponential_of_jets_along_a_curve():
    """exp(s^2 A) at s = 2: the curvature of the argument enters, as 2 A exp + 16 A^2 exp."""
    A = to_balls([[1, 2], [0, -1]]) / 3
    (s,) = variables([to_balls([2])], order=2)
    value, direct = expm(A * (s[0] * s[0])), expm(4 * A)
    expected = 2 * A @ direct + 16 * A @ A @ direct
    assert all((x.hessian[0, 0] - y).contains(0) for x, y in zip(value.flat, expected.flat, strict=True))


def test_matrix_exponential_of_jets_in_two_noncommuting_directions():
    """Mixed second derivative of exp(x A + y B) by central differences in balls of high precision."""
    A, B = to_balls([[0, 1], [0, 0]]), to_balls([[1, 0], [2, -1]])
    with precision(800):
        x, y = variables([to_balls([1, 2])], order=2)[0] / to_balls([4])
        jets = expm(A * x + B * y)
        h = flint.arb(2) ** -120

        def at(dx: int, dy: int) -> np.ndarray:
            return expm(A * ((1 + dx * h) / 4) + B * ((2 + dy * h) / 4))

        mixed = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * h * h)
        for jet, difference in zip(jets.flat, mixed.flat, strict=True):
            assert abs(jet.hessian[0, 1] - difference) < 1e-60
            assert abs(jet.hessian[0, 1] - jet.hessian[1, 0]).contains(0)


def test_division_by_a_jet_of_value_zero_is_an_error():
    (x,) = variables([to_rationals([0])], order=1)
    with pytest.raises(ZeroDivisionError):
        1 / x[0]
