"""Rational functions of indeterminates: their values are those of the functions, and their relations are those of real numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pytest

from verify.arithmetics import kind_of, polynomial_for_expm
from verify.arithmetics.kinds import Kind
from verify.arithmetics.rational_functions import Field, Quotient, RootsNeeded, entry_name, within
from verify.matrix import (
    absolute,
    determinant,
    diag,
    exp,
    expm,
    eye,
    frobenius_norm,
    inverse,
    log,
    maximum,
    normalize_rows,
    rational,
    relu,
    singular_values,
    softmax,
    sqrt,
    trace,
)
from verify.oracles import hessian, jacobian
from verify.vocabulary import ArithmeticUnsupported

pytestmark = pytest.mark.kept

NAMES = [entry_name("A", index) for index in np.ndindex(2, 2)] + [entry_name("B", index) for index in np.ndindex(2, 2)]


def operands(field: Field) -> tuple[Any, Any]:
    return field.array("A", (2, 2)), field.array("B", (2, 2))


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "sums and products": lambda A, B: (A + 2 * B - A @ B) @ B.T * rational(3, 7) - A / 5,
    "quotients": lambda A, B: (A / trace(B) + B / (trace(A) + 1)) @ (A / trace(B)),
    "denominators that cancel": lambda A, B: (A * trace(B) ** 2 - B * trace(B)) / trace(B) ** 3,
    "inverse": lambda A, B: inverse(A @ B + eye(2)) @ A,
    "determinant": lambda A, B: eye(2) * determinant(A @ B) / determinant(A),
    "exponential": lambda A, B: exp(A) * exp(B) - exp(A + B) * 2 + exp(-A),
    "softmax": lambda A, B: softmax(A @ B.T) @ B,
    "softmax of rational functions": lambda A, B: softmax(A / trace(B)) - softmax(A / trace(B) - B),
    "derivative": lambda A, B: jacobian(lambda T: softmax(T @ B), "T")(A),
    "second derivative": lambda A, B: hessian(softmax, ("T", "T"))(A),
    "roots": lambda A, B: normalize_rows(A) @ normalize_rows(B) / frobenius_norm(A),
    "roots of roots": lambda A, B: frobenius_norm(A * A + frobenius_norm(B)) * A,
    "roots of integers": lambda A, B: sqrt(6) * A / sqrt(3) + B / sqrt(8),
    "exponential with roots": lambda A, B: softmax(A @ B / sqrt(2)),
    "derivative of a norm": lambda A, B: jacobian(normalize_rows, "A")(A) @ diag(B.reshape(-1)),
    "exponential of a matrix": lambda A, B: expm(A @ B) @ A + expm(B),
    "derivative of that": lambda A, B: jacobian(expm, "A")(A - B),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_functions(name: str) -> None:
    field = Field(NAMES, degree=2)
    with within(field):
        found = np.asarray(CASES[name](*operands(field)), dtype=object).reshape(-1)
    rng = np.random.default_rng(0)
    for _ in range(3):
        numbers = [flint.arb(flint.fmpq(int(n), 64)) for n in rng.integers(-150, 150, len(NAMES))]
        A, B = np.array(numbers[:4], dtype=object).reshape(2, 2), np.array(numbers[4:], dtype=object).reshape(2, 2)
        coefficients = [flint.fmpq(3, 5), flint.fmpq(-2, 7)]
        with polynomial_for_expm(coefficients):
            direct = np.asarray(CASES[name](A, B), dtype=object).reshape(-1)
        values = field.completed(numbers, coefficients[: len(field.coefficients)])
        for one, other in zip(direct, found, strict=True):
            value = (field.constant(0) + other).at(values)
            assert flint.arb(one).overlaps(value)
            assert float((flint.arb(one) - value).abs_upper()) < 1e-60


def test_rational_expressions_have_the_values_that_rationals_give() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        field = Field(["x", "y", "z"])
        numbers = [
            flint.fmpq(int(n), int(d)) for n, d in zip(rng.integers(-9, 10, 3), rng.integers(1, 9, 3), strict=True)
        ]
        pool: list[tuple[Any, flint.fmpq]] = [(field.generator(i), number) for i, number in enumerate(numbers)]
        for _ in range(12):
            (a, p), (b, q) = (pool[int(k)] for k in rng.integers(len(pool), size=2))
            operation = int(rng.integers(4))
            if operation == 3 and q == 0:
                continue
            results = [(a + b, p + q), (a - b, p - q), (a * b, p * q)]
            pool.append(results[operation] if operation < 3 else (a / b, p / q) if b != 0 else (a, p))
        for quotient, number in pool:
            assert quotient.at([flint.arb(n) for n in numbers]).overlaps(flint.arb(number))


def test_what_cancels_is_zero_and_nothing_else_is() -> None:
    field = Field(["x", "y"])
    x, y = field.generator(0), field.generator(1)
    assert x / (x + y) + y / (x + y) == 1
    assert 1 / (x - y) - 1 / (x + y) == 2 * y / (x * x - y * y)
    assert (x * x - y * y) / (x - y) == x + y
    assert x / y != y / x
    assert 1 / x - 1 / (x + flint.fmpq(1, 10**30)) != 0
    with pytest.raises(ZeroDivisionError):
        _ = 1 / (x - x)


def test_exponentials_multiply_as_their_arguments_add() -> None:
    field = Field(["x", "y"], parts=2)
    x, y = field.generator(0), field.generator(1)
    assert x.exp() * y.exp() == (x + y).exp()
    assert (2 * x - y).exp() == x.exp() ** 2 / y.exp()
    assert (x / y).exp() * (x / y + x).exp() == (2 * x / y + x).exp()
    assert (x / 2).exp() ** 2 == x.exp()
    assert (x * x).exp() != x.exp() ** 2
    assert (x - x).exp() == 1
    with pytest.raises(RootsNeeded, match="divided by 6"):
        (x / 3).exp()


def test_a_root_is_known_by_its_square_alone() -> None:
    field = Field(["x", "y"])
    x, y = field.generator(0), field.generator(1)
    root = (x * x + y * y).sqrt()
    assert root * root == x * x + y * y
    assert (4 * (x * x + y * y)).sqrt() == 2 * root
    assert 1 / root == root / (x * x + y * y)
    assert (x * x).sqrt() != x  # it is |x|
    with within(field):
        assert sqrt(12) * x == 2 * (sqrt(3) * x)
        assert sqrt(6) * x == sqrt(2) * (sqrt(3) * x)
        assert sqrt(2) * x != sqrt(3) * x


def test_a_square_root_that_loses_its_square_is_seen() -> None:
    field = Field(["x"])
    x = field.generator(0)
    root = (x + 3).sqrt()
    assert field.reduced(root.num**2) == x + 3
    assert (root + 1) ** 5 == (root + 1) * ((root + 1) * (root + 1)) ** 2
    assert Quotient(field, root.num**2, ()).num != (x + 3).num  # no relation is in the polynomials themselves


def test_signs_and_spectra_are_refused() -> None:
    field = Field(NAMES)
    A, _ = operands(field)
    assert kind_of(A) is Kind.POLYNOMIAL
    for function in (relu, absolute, maximum, singular_values, log):
        with pytest.raises(ArithmeticUnsupported):
            function(A)
    assert relu(field.constant(3)) == 3  # a constant has a sign
    with pytest.raises(ArithmeticUnsupported, match="within one"):
        _ = sqrt(2) * A


def test_too_many_terms_are_refused_whatever_the_machine() -> None:
    field = Field([f"x{i}" for i in range(12)])
    value = sum((field.generator(i) for i in range(12)), field.constant(1))
    with pytest.raises(ArithmeticUnsupported, match="products of terms"):
        for _ in range(12):
            value = value * value


def needed(matrices: Callable[[Field], list[Any]]) -> int:
    field = Field(NAMES, degree=1)
    with within(field):
        for matrix in matrices(field):
            expm(matrix)
    return field.spectra.needed_degree()


def test_the_degree_suffices_to_interpolate_at_every_matrix() -> None:
    assert needed(lambda field: [field.array("A", (2, 2))]) == 2
    assert needed(lambda field: [field.array("A", (2, 2)), field.array("A", (2, 2)).T]) == 2  # one spectrum
    assert needed(lambda field: list(operands(field))) == 4
    assert needed(lambda field: [operands(field)[0] @ operands(field)[1], operands(field)[1] @ operands(field)[0]]) == 2
    A = np.array([[0, 1], [0, 0]], dtype=object)
    assert needed(lambda field: [field.constant(1) * A * field.generator(0)]) == 1  # nilpotent: t^2 and nothing else
    # the derivative at A takes the square of the characteristic polynomial
    field = Field(NAMES, degree=1)
    with within(field):
        jacobian(expm, "A")(field.array("A", (2, 2)))
    assert field.spectra.needed_degree() == 4
