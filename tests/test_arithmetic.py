"""Scalars and constants that take on the arithmetic of what they meet, entrywise functions, conversions."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.arithmetics import (
    BALL,
    BALL_JETS,
    EVERY,
    EXACT,
    EXACT_JETS,
    FLOAT64,
    FLOATS,
    JETS,
    SYMBOLIC,
    assert_contains,
    assert_same,
    integer_matrices,
    over,
    quietly,
    sizes,
)
from verify.arithmetics import (
    Constant,
    Kind,
    LargeBalls,
    Surd,
    free_exponentials,
    kind_of,
    largest_radius,
    midpoints,
    precision,
    sign_of,
    to_balls,
    to_rationals,
    to_tensor,
)
from verify.checks.evaluation import as_balls
from verify.matrix import absolute, cos, exp, eye, maximum, ones, rational, relu, sin, softmax, sqrt, step, total
from verify.vocabulary import ArithmeticUnsupported

pytestmark = pytest.mark.kept

small = st.integers(-4, 4)
nonzero = small.filter(bool)


# -- which arithmetic --------------------------------------------------------------------------------------------------


def test_kinds_are_recognised_and_promoted():
    expected = [
        Kind.FLOAT,
        Kind.FLOAT,
        Kind.EXACT,
        Kind.BALL,
        Kind.SYMBOLIC,
        Kind.BALL,
        Kind.EXACT,
        Kind.BALL,
        Kind.EXACT,
    ]
    order = [*FLOATS, EXACT, BALL, SYMBOLIC, JETS[0], JETS[1], JETS[2], JETS[3]]
    assert [kind_of(arithmetic.lift(np.eye(2, dtype=int))) for arithmetic in order] == expected
    assert kind_of(to_rationals([1]), to_balls([1])) is Kind.BALL
    assert kind_of(eye(2), rational(1, 2)) is Kind.EXACT


# -- exact scalars -----------------------------------------------------------------------------------------------------


@over(*[arithmetic for arithmetic in EVERY if arithmetic is not EXACT and arithmetic not in EXACT_JETS])
@quietly
@given(data=st.data(), p=nonzero, q=nonzero, r=st.integers(1, 7))
def test_surds_scale_matrices_in_every_arithmetic(arithmetic, data, p, q, r):
    A = arithmetic.lift(data.draw(integer_matrices(2, 3)))
    surd = rational(p, q) * sqrt(r)
    assert_same(surd * A, A * surd, arithmetic)
    assert_same(surd * A * surd, A * rational(p * p * r, q * q), arithmetic)
    assert_same(A / surd * surd, A, arithmetic)
    assert_same(A / sqrt(r), sqrt(r) * A / r, arithmetic)
    assert_same(A + surd - surd, A, arithmetic)
    assert_same(surd - A, -(A - surd), arithmetic)


@over(*EVERY)
@quietly
@given(data=st.data(), p=small, q=nonzero)
def test_rationals_scale_matrices_in_every_arithmetic(arithmetic, data, p, q):
    A = arithmetic.lift(data.draw(integer_matrices(2, 3)))
    assert_same(A * rational(p, q) * q, A * p, arithmetic)
    assert_same(total_as_matrix(A * rational(1, q), arithmetic) * q, total_as_matrix(A, arithmetic), arithmetic)
    # scalars of the arithmetic, on either side
    assert_same(as_matrix(total(A) * rational(p, q)), as_matrix(rational(p, q) * total(A)), arithmetic)
    assert_same(as_matrix(total(A) / rational(q)), as_matrix(total(A) * rational(1, q)), arithmetic)


@over(*[arithmetic for arithmetic in EVERY if arithmetic is not EXACT and arithmetic not in EXACT_JETS])
def test_surds_combine_with_scalars_on_either_side(arithmetic):
    x, root = total(arithmetic.lift(np.array([[1, 2], [3, 4]]))), sqrt(2)
    assert_same(as_matrix(x * root), as_matrix(root * x), arithmetic)
    assert_same(as_matrix(x / root), as_matrix(root * x / 2), arithmetic)
    assert_same(as_matrix(x + root), as_matrix(root + x), arithmetic)
    assert_same(as_matrix(x - root), as_matrix(-(root - x)), arithmetic)


def as_matrix(x):
    return x.reshape(1, 1) if isinstance(x, torch.Tensor) else np.array([[x]], dtype=object)


def total_as_matrix(x, arithmetic):
    return as_matrix(total(x))


@quietly
@given(p=small, q=nonzero, r=st.integers(0, 12), s=st.integers(1, 12))
def test_surds_form_a_field_where_they_stay_exact(p, q, r, s):
    a, b = rational(p, q) * sqrt(r), sqrt(s)
    assert float(a * b) == pytest.approx(p / q * math.sqrt(r * s))
    assert float(a / b) == pytest.approx(p / q * math.sqrt(r / s))
    product = a * a
    assert product.radicand == 1 and product.coefficient == Fraction(p * p * r, q * q)
    assert float(a + a) == pytest.approx(2 * p / q * math.sqrt(r))
    assert float(a - a) == 0
    assert float(sum([a, a, a])) == pytest.approx(3 * p / q * math.sqrt(r))
    assert float(-a) == -float(a)


def test_squares_leave_the_root():
    assert sqrt(36).radicand == 1 and float(sqrt(36)) == 6
    assert float(sqrt(0)) == 0
    assert (to_rationals([[2]]) * sqrt(9))[0, 0] == 6


def test_sums_of_different_roots_and_irrational_rationals_are_refused():
    with pytest.raises(ArithmeticUnsupported, match="sums of different square roots"):
        sqrt(2) + sqrt(3)
    with pytest.raises(
        ArithmeticUnsupported, match=r"sqrt\(2\) is irrational: exact arithmetic needs a perfect square"
    ):
        to_rationals([[1]]) * sqrt(2)
    with pytest.raises(ArithmeticUnsupported, match=r"sqrt\(3\) is irrational"):
        EXACT_JETS[0].lift(np.eye(2, dtype=int)) * sqrt(3)


def test_symbols_keep_roots_exact():
    x = sympy.Symbol("x", real=True)
    for value in (x * sqrt(2), sqrt(2) * x, (np.array([x], dtype=object) * sqrt(2))[0]):
        assert value == x * sympy.sqrt(2)
    assert x / sqrt(2) == x * sympy.sqrt(2) / 2
    assert x + rational(1, 3) == x + sympy.Rational(1, 3)


# -- constants ---------------------------------------------------------------------------------------------------------


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_constants_behave_like_their_entries_in_every_arithmetic(arithmetic, data, m, n):
    A, C = arithmetic.lift(data.draw(integer_matrices(m, n))), data.draw(integer_matrices(m, n))
    entries = A * 0 + Constant(C)
    constant = Constant(C)
    assert_same(constant + A, A + entries, arithmetic)
    assert_same(A + constant, A + entries, arithmetic)
    assert_same(constant - A, entries - A, arithmetic)
    assert_same(A - constant, A - entries, arithmetic)
    assert_same(constant * A, A * entries, arithmetic)
    assert_same(A * constant, A * entries, arithmetic)
    assert_same(constant.T @ A, entries.T @ A, arithmetic)
    assert_same(A @ constant.T, A @ entries.T, arithmetic)
    assert_same(-constant + A, A - entries, arithmetic)
    assert_same(constant[:1] + A[:1], (entries + A)[:1], arithmetic)
    assert_same(constant * 3 + A, 3 * entries + A, arithmetic)
    assert_same(total(A) * constant, constant * total(A), arithmetic)
    assert_same(total(A) * constant, total(A) * entries, arithmetic)


@over(*EVERY)
@quietly
@given(data=st.data(), n=sizes, q=nonzero)
def test_rational_multiples_of_constants_still_adapt(arithmetic, data, n, q):
    A = arithmetic.lift(data.draw(integer_matrices(n, n)))
    expected = ones(n, n) @ A / q
    for mean in (ones(n, n) / q, ones(n, n) * rational(1, q), rational(1, q) * ones(n, n), ones(n, n) / rational(q)):
        assert isinstance(mean, Constant)
        assert_same(mean @ A, expected, arithmetic)
        assert_same((eye(n) - mean) @ A, A - expected, arithmetic)
        assert_same(A @ mean.T, (mean @ A.T).T, arithmetic)


def test_constants_divide_by_scalars():
    assert (eye(2) / flint.arb(2))[0, 0] == flint.arb(1) / 2
    assert (eye(2) / flint.fmpq(3))[1, 1] == flint.fmpq(1, 3)
    assert torch.equal(eye(2) / torch.tensor(2.0), torch.eye(2) / 2)


# -- torch transforms --------------------------------------------------------------------------------------------------


def mixed(X):
    """Constants and surds on every side of X, shape (2, 2)."""
    half = rational(1, 2)
    return (
        eye(2) @ X * sqrt(3) / sqrt(2)
        + X @ ones(2, 2) * half
        - half * X
        + (ones(2, 2) / 3 - X) * 2
        + X / sqrt(5)
        + half
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_adaptation_keeps_dtype_and_works_under_vmap_and_jacrev(dtype):
    X = torch.arange(12, dtype=dtype).reshape(3, 2, 2) / 4
    each = torch.stack([mixed(x) for x in X])
    together = torch.func.vmap(mixed)(X)
    assert together.dtype == each.dtype == dtype
    assert torch.allclose(together, each)
    J = torch.func.vmap(torch.func.jacrev(mixed))(X)
    assert J.dtype == dtype and J.shape == (3, 2, 2, 2, 2)
    # mixed is affine, so its Jacobian maps a difference of inputs to the difference of outputs
    assert torch.allclose(torch.einsum("ijkl,kl->ij", J[0], X[1] - X[0]), each[1] - each[0], rtol=1e-5)
    H = torch.func.vmap(torch.func.jacfwd(torch.func.jacrev(lambda x: total(mixed(x) * mixed(x)) / sqrt(2))))(X)
    assert H.dtype == dtype and torch.isfinite(H).all()


def test_float_adaptation_agrees_with_balls():
    X = np.array([[0.25, -1.5], [2.0, 0.75]])
    value, enclosure = mixed(to_tensor(X, dtype=torch.float64)), mixed(to_balls(X))
    assert np.abs(midpoints(enclosure) - value.numpy()).max() < 1e-14


# -- entrywise functions -----------------------------------------------------------------------------------------------


@over(*FLOATS, BALL, SYMBOLIC, *BALL_JETS)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_exponentials_multiply(arithmetic, data, m, n):
    A, B = (arithmetic.lift(data.draw(integer_matrices(m, n))) for _ in range(2))
    assert_same(exp(A) * exp(B), exp(A + B), arithmetic)
    assert_same(sqrt(exp(A)) * sqrt(exp(A)), exp(A), arithmetic)


@over(*FLOATS, BALL, *BALL_JETS)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_angles_add(arithmetic, data, m, n):
    A, B = (arithmetic.lift(data.draw(integer_matrices(m, n))) for _ in range(2))
    assert_same(cos(A) * cos(B) - sin(A) * sin(B), cos(A + B), arithmetic)
    assert_same(sin(A) * cos(B) + cos(A) * sin(B), sin(A + B), arithmetic)


def test_cosines_of_fractions_are_refused_and_symbols_keep_them():
    assert cos(to_rationals([[0]]))[0, 0] == 1 and sin(to_rationals([[0]]))[0, 0] == 0
    with pytest.raises(ArithmeticUnsupported, match="cos of a nonzero rational is irrational"):
        cos(to_rationals([[1]]))
    x = sympy.Symbol("x")
    assert sin(np.array([[x]], dtype=object))[0, 0] == sympy.sin(x)


@over(*FLOATS, EXACT, BALL, *JETS)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_relu_step_and_absolute_value(arithmetic, data, m, n):
    A = arithmetic.lift(data.draw(integer_matrices(m, n)) * 2 + 1)  # odd: away from the kink
    assert_same(relu(A), step(A) * A, arithmetic)
    assert_same(relu(A) - relu(-A), A, arithmetic)
    assert_same(relu(A) + relu(-A), absolute(A), arithmetic)


@over(*FLOATS, EXACT, BALL)
def test_at_the_kink(arithmetic):
    zero = arithmetic.lift(np.zeros((1, 1), dtype=int))
    assert relu(zero)[0, 0] == 0 and step(zero)[0, 0] == 0 and absolute(zero)[0, 0] == 0


@over(*FLOATS, EXACT, BALL)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_maximum(arithmetic, data, m, n):
    matrix = data.draw(integer_matrices(m, n))
    assert maximum(arithmetic.lift(matrix)) == int(matrix.max())


def test_maximum_of_overlapping_balls_encloses_both():
    best = maximum(np.array([flint.arb(0, 2), flint.arb(1, 0.5)], dtype=object))
    assert best.contains(1.5) and best.contains(1) and best.contains(1.99)


@over(*JETS)
def test_what_jets_cannot_do_is_said(arithmetic):
    A = arithmetic.lift(np.array([[0, 1]]))
    with pytest.raises(ArithmeticUnsupported, match="maximum of jets is not differentiable"):
        maximum(A)
    with pytest.raises(ArithmeticUnsupported, match="absolute value has no derivative at zero"):
        absolute(A)


def test_undetermined_signs_are_refused():
    wide, x = flint.arb(0, 1), sympy.Symbol("x", real=True)
    for function in (relu, step, sign_of):
        with pytest.raises(ArithmeticUnsupported, match="not determined at this precision"):
            function(wide)
        with pytest.raises(ArithmeticUnsupported, match="sign of x is not known"):
            function(x)
    assert sign_of(sympy.Symbol("p", positive=True)) == 1


@over(BALL, SYMBOLIC, *BALL_JETS)
def test_exact_entries_among_others_are_promoted(arithmetic):
    mixed_entries = arithmetic.lift(np.array([[3, 1], [2, 5]])).copy()
    mixed_entries[0, 1], mixed_entries[1, 0] = 1, flint.fmpq(2)
    pure = arithmetic.lift(np.array([[3, 0], [0, 5]]))
    one, two = (arithmetic.lift(np.array([[k]])).item() for k in (1, 2))
    for function in (exp, sqrt, softmax):
        values = function(mixed_entries)
        assert values.shape == (2, 2)
    assert kind_of(exp(mixed_entries)) is kind_of(pure)
    if arithmetic is BALL:
        assert_contains(sqrt(mixed_entries) * sqrt(mixed_entries), to_rationals([[3, 1], [2, 5]]))
        assert (exp(mixed_entries)[0, 1] - exp(one)).contains(0) and (exp(mixed_entries)[1, 0] - exp(two)).contains(0)


def test_free_exponentials_are_reproducible_positive_and_end_with_the_block():
    t = to_rationals([[1, 2], [1, 0]])
    with free_exponentials(5):
        first, again = exp(t), exp(t)
    with free_exponentials(6):
        other = exp(t)
    assert (first == again).all() and first[0, 0] == first[1, 0] and first[1, 1] == 1
    assert first[0, 0] != other[0, 0] and all(x > 0 for x in first.flat)
    with pytest.raises(ArithmeticUnsupported, match="exp of a nonzero rational is irrational"):
        exp(t)


# -- conversions -------------------------------------------------------------------------------------------------------


@quietly
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4))
def test_conversions_lose_nothing(values):
    exact, balls = to_rationals(values), to_balls(values)
    assert midpoints(exact).tolist() == midpoints(balls).tolist() == values
    assert all(Fraction(int(q.p), int(q.q)) == Fraction(x) for q, x in zip(exact, values, strict=True))
    assert_contains(balls, exact)
    assert largest_radius(exact) == 0
    assert to_tensor(np.array(values), dtype=torch.float64).tolist() == values


def test_thirds_become_balls_of_one_rounding():
    (third,) = to_balls([Fraction(1, 3)])
    assert third.contains(flint.fmpq(1, 3)) and 0 < float(third.rad()) < 1e-89


def test_precision_is_restored_even_after_an_error():
    before = flint.ctx.prec
    with pytest.raises(RuntimeError), precision(80):
        assert flint.ctx.prec == 80
        raise RuntimeError
    assert flint.ctx.prec == before


def test_representations_can_be_read():
    assert repr(sqrt(5) * rational(2, 3)) == "2/3*sqrt(5)"
    assert repr(rational(1, 2)) == "1/2"
    assert repr(eye(2)) == "Constant([[1, 0], [0, 1]])"
    assert isinstance(sqrt(5).T, Surd)
    assert FLOAT64.lift(np.eye(1)).dtype == torch.float64


@pytest.mark.parametrize(("bits", "lost"), [(53, 2.0**-1074), (24, 2.0**-149)])
def test_exponentials_at_the_precision_of_a_float_hold_what_it_loses_in_underflow(bits: int, lost: float) -> None:
    with precision(bits):
        assert float(exp(flint.arb(-2000)).rad()) >= lost
        assert exp(flint.arb(1)).rel_accuracy_bits() >= bits - 4
        # a softmax subtracts its largest logit, as every kernel does, and loses nothing where all are far below 0
        weights = softmax(to_balls(np.array([[-2000.0, -2001.0]])))
        assert min(weight.rel_accuracy_bits() for weight in weights.flat) >= bits - 16
    assert exp(flint.arb(-2000)).rel_accuracy_bits() > 250


def test_large_matrices_of_balls_are_multiplied_by_flint_and_enclose_what_numpy_gives() -> None:
    numbers = np.random.default_rng(0).integers(-9, 10, (16, 16))
    third, exact = to_balls(numbers) / flint.arb(3), numbers.astype(object)
    large = third.view(LargeBalls)
    for left, right in ((large, large), (large, third), (third, large), (large.T * 2, third[:, :3])):
        found, wanted = left @ right, np.asarray(left) @ np.asarray(right)
        assert isinstance(found, LargeBalls) and found.shape == wanted.shape
        assert all(one.overlaps(other) for one, other in zip(found.flat, wanted.flat, strict=True))
        assert largest_radius(found) <= largest_radius(wanted)
    for left, right in ((large, exact), (exact, large), (large, third[0]), (third[0], large)):
        wanted = np.asarray(left) @ np.asarray(right)
        assert [str(entry) for entry in (left @ right).flat] == [str(entry) for entry in wanted.flat]
    assert (large @ Constant(exact)).shape == (Constant(exact) @ large).shape == (16, 16)
    assert type(large.sum()) is type((large * large).sum()) is type(large[0, 0]) is flint.arb
    assert str(large.sum()) == str(third.sum()) and isinstance(large * 2, LargeBalls)


def test_drawn_matrices_are_large_from_a_number_of_entries_on() -> None:
    few, many = (as_balls({"A": np.ones((size, 16))})["A"] for size in (15, 16))
    assert type(few) is np.ndarray and type(many) is LargeBalls
