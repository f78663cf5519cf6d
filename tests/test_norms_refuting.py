"""Points at which an inequality is false for certain: no derivation is lost by them, and none is looked for in vain."""

import pytest
import sympy
import torch

from verify.arithmetics.norms import assumed, deciding
from verify.arithmetics.norms.assumed import follows
from verify.arithmetics.norms.deciding import at_most, quotient_of
from verify.arithmetics.norms.float_values import Values
from verify.arithmetics.norms.refuting import POINTS, failing_points, is_refuted
from verify.arithmetics.norms.world import derivation
from verify.arithmetics.symbols.points import NumericPoint
from verify.checks.evaluation import all_in_batch, at_only_seed
from verify.checks.satisfied import float_satisfies, one_satisfies
from verify.vocabulary.registry import load

A, B, C = (sympy.Dummy(name, nonnegative=True) for name in "abc")
pytestmark = pytest.mark.kept

R = sympy.Dummy("r", real=True)
N = sympy.Symbol("n", integer=True, positive=True)
K = sympy.Symbol("K", integer=True, nonnegative=True)
UNKNOWN = sympy.Symbol("z")

TRUE = [
    (A, A + B),
    (2 * A * B, A**2 + B**2),
    (A / (A + B + 1), sympy.Integer(1)),
    (1 + R, sympy.exp(R)),
    (R, abs(R)),
    (sympy.Integer(1), N),
    (sympy.Integer(0), K),
    (sympy.sqrt(A + B), sympy.sqrt(A) + sympy.sqrt(B)),
    (A, A),
]
FALSE = [
    (A + 1, A),
    (A**2 + B**2 + sympy.Rational(1, 100), A**2 + B**2),
    (abs(R) + 1, R),
    (N + 1, N),
    (sympy.exp(A) + 1, sympy.exp(A)),
    (A + B, sympy.sqrt(A**2 + B**2)),
]


@pytest.mark.parametrize(("left", "right"), TRUE)
def test_what_is_true_fails_at_no_point(left, right):
    assert not list(failing_points(left, right))


@pytest.mark.parametrize(("left", "right"), FALSE)
def test_what_is_false_nearly_everywhere_fails_at_some_point(left, right):
    assert list(failing_points(left, right))
    assert not at_most(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (UNKNOWN + 1, UNKNOWN),  # of a symbol without a sign nothing is known
        (sympy.sqrt(-1 - A) + 1, sympy.sqrt(-1 - A)),  # no number
        (sympy.zoo, sympy.Integer(0)),  # a division by 0
        (sympy.log(A) + 1, sympy.log(A)),  # a function that balls are not asked for
    ],
)
def test_what_has_no_value_is_not_refuted(left, right):
    assert not list(failing_points(left, right))


def test_points_do_not_depend_on_what_was_asked_before():
    first = list(failing_points(A + 1, A + B))
    list(failing_points(B, A))
    assert list(failing_points(A + 1, A + B)) == first


def test_a_fact_that_fails_where_the_inequality_does_refutes_nothing():
    points = list(failing_points(A, B))
    assert points
    assert not is_refuted(points, (B - A,))
    assert is_refuted(points, (A - B,))
    assert is_refuted(points, ())
    assert not is_refuted((), ())


def test_what_follows_from_a_fact_is_found():
    with derivation():
        assert follows(A, B, (B - A,)) == (B - A,)
        assert follows(A + C, B + C, (B - A, C - 1)) == (B - A,)
        assert follows(A, B, (A - B,)) is None


def test_a_derivation_would_be_lost_if_facts_were_not_asked(monkeypatch):
    monkeypatch.setattr(assumed, "is_refuted", lambda points, facts: bool(points))
    with derivation():
        assert follows(A, B, (B - A,)) is None


def test_a_bound_would_be_lost_if_points_were_wrong(monkeypatch):
    left, right = sympy.sqrt(A), sympy.sqrt(A + B)
    assert at_most(left, right)
    monkeypatch.setattr(deciding, "failing_points", lambda left, right: iter(range(POINTS)))
    assert not at_most(left, right)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (3 * A * B, 2 * A * B), (A, B), (A + B, 2 * A + 2 * B), (A + 2 * B, A + B), (A * sympy.sqrt(N), A * sympy.sqrt(N)),
        (A**2 - B**2, (A - B) * (A + B)), (A * sympy.sqrt(2), A), (A / (A + B), 3 * A / (A + B)), (sympy.Integer(0), A),
        (A + 1, A), (A * N, A), (sympy.exp(A), 2 * sympy.exp(A)), (sympy.exp(A + B), sympy.exp(A) * sympy.exp(B)),
    ],
)  # fmt: skip
def test_a_quotient_is_what_sympy_cancels_it_to(one, other):
    ratio = sympy.cancel(one / other)
    assert quotient_of(one, other) == (ratio if ratio.is_number else None)


def test_scalars_in_floats_are_those_of_sympy():
    x, y = sympy.Symbol("x", positive=True), sympy.Symbol("y", real=True)
    with derivation() as known:
        values = Values(known, {x: 1e-14, y: -2.5, N: 3}, {})
        for value in ((sympy.exp(x) - 1) / x, x * y**3 + N, abs(y) ** sympy.Rational(3, 2), sympy.log(N) * y, x - x):
            expected = sympy.sympify(value).subs({x: sympy.Float(1e-14, 60), y: sympy.Float(-2.5, 60), N: 3})
            assert values.number(value) == pytest.approx(float(expected), rel=1e-15)


def test_sizes_at_a_point_are_those_of_sympy():
    m = sympy.Symbol("m", integer=True, positive=True)
    point = NumericPoint({N: 6, m: 4}, {})
    for size, value in ((N, 6), (N * m + 1, 25), (N - 1, 5), (N / 3, 2), (sympy.Integer(7), 7), (N**2, 36)):
        assert point.size(size) == value
    assert NumericPoint({N: 6}, {}).size(N) == 6
    with pytest.raises(Exception, match="sizes"):
        point.size(N / m)


@pytest.mark.parametrize("name", ["convergence.lemma-9", "skipless.eq-31-gap", "osa.lemma-f.2"])
def test_one_seed_has_the_values_of_a_batch_of_one(name):
    from verify.checks.evaluation import raw_tensors
    from verify.checks.settings import Settings
    from verify.inputs.generators import systematic

    claim = load("theorems")[name]
    sides = [claim.the_oracle, claim.the_formula]
    for draw in systematic(claim, 3, 0)[:3]:
        raw = raw_tensors(claim, draw.arrays(claim, 1), Settings(), "float64")
        for one, other in zip(at_only_seed(claim, sides, raw), all_in_batch(claim, sides, raw), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12, equal_nan=True)
        assert one_satisfies(claim, raw) == bool(float_satisfies(claim, raw).all())
