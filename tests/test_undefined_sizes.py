"""Proofs for all sizes are about sizes at which both sides are defined: what sizes leave undefined is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
import sympy

from tests.claims_that_fail import toy
from verify.arithmetics.conditions import recording_conditions, rely_on_divisor, rely_on_power, rely_on_root
from verify.checks.bound_proofs import prove_bound_claim
from verify.checks.operands import real_symbol, size_symbol
from verify.checks.proofs import prove_claim
from verify.matrix import absolute, frobenius_norm, maximum, spectral_norm, sqrt, total
from verify.vocabulary import AtMost, Claim, Equal, Real, Shape, Size
from verify.vocabulary.errors import ArithmeticUnsupported

pytestmark = pytest.mark.kept

Wide = Annotated[Any, Shape("m", "n")]
Scalar = Annotated[Any, Real()]
Steps = Annotated[int, Size("K")]
#: From 1 on, and from where every divisor below is positive.
SMALL, LARGE = {"m": (1, 3), "n": (1, 4)}, {"m": (40, 42), "n": (2, 3)}

m, n = size_symbol("m"), size_symbol("n")
c, d = real_symbol("c", Real()), real_symbol("d", Real())

#: What a norm is divided by, or multiplied with, and whether that is defined from m = 40 and n = 2 on.
WEIGHTS: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "1 / (m - 1)": (lambda m, n: 1 / (m - 1), True),
    "(m - 1) / (m - 1)": (lambda m, n: (m - 1) / (m - 1), True),
    "(m - 37)^-2": (lambda m, n: (m - 37) ** -2, True),
    "1 / |m - 1|": (lambda m, n: 1 / absolute(m - 1), True),
    "1 / (m - n)^2": (lambda m, n: 1 / (m - n) ** 2, False),
    "1 / (m n - 1001)^2": (lambda m, n: 1 / (m * n - 1001) ** 2, False),
    "1 / ((m - 37)^2 + (n - 41)^2)": (lambda m, n: 1 / ((m - 37) ** 2 + (n - 41) ** 2), False),
    "1 / (sqrt(m) - 7)^2": (lambda m, n: 1 / (sqrt(m) - 7) ** 2, False),
    "1 / (2^m - 2)^2": (lambda m, n: 1 / (2**m - 2) ** 2, False),
    "1 / (0.5 m - 24.5)": (lambda m, n: 1 / (m * 0.5 - 24.5), False),
    "1 / (0.5 m - 24.5)^2": (lambda m, n: 1 / (m * 0.5 - 24.5) ** 2, False),
    "1 / |0.5 m n - 24.5|": (lambda m, n: 1 / absolute(m * n * 0.5 - 24.5), False),
    "sqrt(m - 2)": (lambda m, n: sqrt(m - 2), True),
    "(m - 2)^-0.5": (lambda m, n: (m - 2) ** -0.5, False),
}


def bound_of(weight: Callable[[Any, Any], Any], **options: Any) -> Claim:
    def bound(A: Wide) -> Any:
        return frobenius_norm(A) * weight(*A.shape)

    def bounded(A: Wide) -> Any:
        return spectral_norm(A) * weight(*A.shape)

    claim = toy("weighted", AtMost(), all_sizes=True, **options)
    claim.formula(bound)
    claim.oracle(bounded)
    return claim


@pytest.mark.parametrize(("weight", "defined"), WEIGHTS.values(), ids=WEIGHTS)
def test_a_bound_is_not_proved_where_sizes_leave_a_side_undefined(weight: Any, defined: bool) -> None:
    assert not prove_bound_claim(bound_of(weight, sizes=SMALL)).proved
    proof = prove_bound_claim(bound_of(weight, sizes=LARGE))
    assert proof.proved or not defined, proof.reason


def test_a_quotient_of_norms_and_sizes_is_not_either() -> None:
    def bounded(A: Wide) -> Any:
        return spectral_norm(A) / (A.shape[0] - 1)

    def bound(A: Wide) -> Any:
        return frobenius_norm(A / (A.shape[0] - 1))

    for formula, sizes, expected in ((bounded, SMALL, False), (bounded, LARGE, True), (bound, SMALL, False)):
        claim = toy("quotient", AtMost(), all_sizes=True, sizes=sizes)
        claim.formula(formula)
        claim.oracle(formula)
        assert prove_bound_claim(claim).proved is expected


def test_a_number_of_steps_that_may_be_0_is_no_divisor() -> None:
    def bound(A: Wide, K: Steps) -> Any:
        return frobenius_norm(A) / K

    def bounded(A: Wide, K: Steps) -> Any:
        return maximum(absolute(A)) / K

    for least, expected in ((0, False), (1, True)):
        claim = toy("steps", AtMost(), all_sizes=True, sizes={**SMALL, "K": (least, 3)})
        claim.formula(bound)
        claim.oracle(bounded)
        proof = prove_bound_claim(claim)
        assert proof.proved is expected
        assert expected or "K is not 0" in str(proof.reason)


@pytest.mark.parametrize("weight", [item[0] for item in WEIGHTS.values()], ids=WEIGHTS)
def test_an_identity_is_not_proved_where_sizes_leave_a_side_undefined(weight: Any) -> None:
    def left(A: Wide) -> Any:
        return A * weight(*A.shape)

    def right(A: Wide) -> Any:
        return (A.T * weight(*A.shape)).T

    claim = toy("weighted", Equal(), all_sizes=True, sizes=SMALL)
    claim.formula(left)
    claim.oracle(right)
    assert not prove_claim(claim).proved


@pytest.mark.parametrize(
    ("sizes", "expected"), [({"m": (1, 3), "n": (1, 4)}, False), ({"m": (2, 3), "n": (1, 4)}, True)]
)
def test_a_multiple_of_a_scalar_vanishes_with_what_sizes_make_of_it(sizes: Any, expected: bool) -> None:
    """c (m - 1) is 0 at m = 1 whatever c is; where c alone makes it 0, nothing is said."""

    def left(A: Wide, c: Scalar) -> Any:
        return A / (c * A.shape[0] - c)

    def right(A: Wide, c: Scalar) -> Any:
        return (A.T / (c * (A.shape[0] - 1))).T

    claim = toy("multiple", Equal(), all_sizes=True, sizes=sizes)
    claim.formula(left)
    claim.oracle(right)
    assert prove_claim(claim).proved is expected


def test_a_divisor_that_inputs_make_0_is_still_left_to_the_statement() -> None:
    def bound(A: Wide) -> Any:
        return frobenius_norm(A) / (total(A) - 1) ** 2

    def bounded(A: Wide) -> Any:
        return spectral_norm(A) / (total(A) - 1) ** 2

    claim = toy("scalar", AtMost(), all_sizes=True, sizes=SMALL)
    claim.formula(bound)
    claim.oracle(bounded)
    assert prove_bound_claim(claim).proved


@pytest.mark.parametrize(
    ("rely", "operands", "noted"),
    [
        (rely_on_divisor, (m + 1,), set()),
        (rely_on_divisor, (m * n,), set()),
        (rely_on_divisor, (c,), set()),
        (rely_on_divisor, (m - 1,), {"m - 1 is not 0"}),
        (rely_on_divisor, (c * m - c,), {"m - 1 is not 0"}),
        (rely_on_divisor, (1 / (m - 3),), set()),  # which is never 0
        (rely_on_divisor, (c * (m - 1) + d,), set()),
        (rely_on_divisor, (c * (m - 1) + d * (n - 1),), {"m**2 - 2*m + n**2 - 2*n + 2 is not 0"}),
        (rely_on_root, (m - 2,), {"m - 2 >= 0"}),
        (rely_on_root, (n * (m - 2),), {"m - 2 >= 0"}),
        (rely_on_root, ((m - 2) ** 2,), set()),
        (rely_on_root, (c,), set()),
        (rely_on_root, (c - m,), set()),
        (rely_on_power, (m - 2, 3), set()),
        (rely_on_power, (m - 2, -2), {"m - 2 is not 0"}),
        (rely_on_power, (m - 2, n), set()),
        (rely_on_power, (m - 2, n - 3), {"m - 2 is not 0"}),
        (rely_on_power, (m - 2, sympy.Rational(1, 2)), {"m - 2 >= 0"}),
        (rely_on_power, (m - 2, sympy.Rational(-1, 2)), {"m - 2 >= 0", "m - 2 is not 0"}),
    ],
)
def test_what_is_noted_of_sizes(rely: Any, operands: Any, noted: set[str]) -> None:
    with recording_conditions() as conditions:
        rely(*operands)
    assert set(map(str, conditions)) == noted


def test_what_is_undefined_for_certain_is_refused() -> None:
    for refused in (lambda: rely_on_divisor(0 * m), lambda: rely_on_root(-m), lambda: rely_on_power(m - m, -1)):
        with pytest.raises(ArithmeticUnsupported):
            refused()
