"""Claims that cannot fail: planted ones of each kind are found, and claims that say something are not."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from tests.efforts import tried
from tests.statements.emptiness import empty
from verify.checks.settings import settings_for
from verify.matrix import frobenius_norm, hadamard, ones, row_sums, softmax, spectral_norm, sqrt, total
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, HasStructure, Paper, Shape, load

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
QUICK = settings_for("quick", 0)
Square = Annotated[Any, Shape("n", "n")]


def weights(X: Square) -> Any:
    """Attention of tokens to themselves."""
    return softmax(X @ X.T)


ATTENTION = Definition("A = softmax(X X^T)", by=weights)


def claim(relation: Any, assumptions: Any = (), **options: Any) -> Claim:
    return Claim(PAPER, "toy.a", "a", name="toy", statement="x", relation=relation, assumptions=assumptions,
        sizes={"n": (2, 3)}, **options)  # fmt: skip


def skew(G: Square) -> dict[str, Any]:
    return {"S": G - G.T}


def repeats_its_hypothesis() -> Claim:
    it = claim(HasStructure(), [Assumption("S is skew", zero=lambda S: S + S.T)])
    it.inputs(skew)
    it.formula(identity)
    it.part("structure", lambda value: value.T + value)
    return it


def identity(S: Square) -> Any:
    return S


def repeats_it_as_a_bound() -> Claim:
    it = claim(AtMost(), [Assumption("||S||_F^2 <= 9", nonnegative=lambda S: 9 - total(S * S))])
    it.formula(nine)
    it.oracle(lambda S: ones(1, 1) * total(S * S))
    return it


def nine(S: Square) -> Any:
    return ones(1, 1) * 9


def compares_a_thing_with_itself() -> Claim:
    it = claim(Equal())
    it.formula(root_of_squares)
    it.oracle(lambda S: sqrt(total(hadamard(S, S))) * ones(1, 1))
    return it


def root_of_squares(S: Square) -> Any:
    return sqrt(total(hadamard(S, S))) * ones(1, 1)


def is_true_of_any_weights() -> Claim:
    it = claim(AtMost(), [ATTENTION])
    it.formula(product_of_norms)
    it.oracle(lambda X: ones(1, 1) * frobenius_norm(weights(X) @ X))
    return it


def product_of_norms(X: Square) -> Any:
    return ones(1, 1) * spectral_norm(weights(X)) * frobenius_norm(X)


def is_true_of_any_differentiable_function() -> Claim:
    it = claim(Equal(), [ATTENTION])
    it.formula(twice_the_derivative)
    it.oracle(lambda X: 1 * jacobian(twice, "X")(X))
    return it


def twice(X: Square) -> Any:
    return 2 * weights(X)


def twice_the_derivative(X: Square) -> Any:
    return 2 * jacobian(weights, "X")(X)


EMPTY = {
    repeats_its_hypothesis: "it repeats its hypothesis 'S is skew'",
    repeats_it_as_a_bound: "it repeats its hypothesis '||S||_F^2 <= 9'",
    compares_a_thing_with_itself: "both sides do the same",
    is_true_of_any_weights: "it holds of any function in the place of weights",
    is_true_of_any_differentiable_function: "it holds of any function in the place of weights",
}


@pytest.mark.parametrize("make", EMPTY, ids=lambda make: make.__name__)
def test_a_planted_claim_that_cannot_fail_is_found(make: Any) -> None:
    assert empty(make(), QUICK) == EMPTY[make]


# -- claims that say something -----------------------------------------------------------------------------------------


def uses_its_hypothesis() -> Claim:
    it = claim(Equal(), [Assumption("S is skew", zero=lambda S: S + S.T)])
    it.inputs(skew)
    it.formula(minus_the_square)
    it.oracle(lambda S: S.T @ S)
    return it


def minus_the_square(S: Square) -> Any:
    return -(S @ S)


def says_what_a_softmax_is() -> Claim:
    it = claim(Equal(), [ATTENTION])
    it.formula(one_per_row)
    it.oracle(lambda X: row_sums(weights(X)))
    return it


def one_per_row(X: Square) -> Any:
    return ones(X.shape[0], 1)


def bounds_attention() -> Claim:
    it = claim(AtMost(), [ATTENTION])
    it.formula(root_of_size)
    it.oracle(lambda X: ones(1, 1) * frobenius_norm(weights(X)))
    return it


def root_of_size(X: Square) -> Any:
    return ones(1, 1) * sqrt(X.shape[0])


def has_a_short_derivative() -> Claim:
    """The derivative of A S B, both sides of which are products of the same entries."""
    it = claim(Equal())
    it.formula(trace_of_square)
    it.oracle(lambda S: total(hadamard(S.T, S)) * ones(1, 1))
    return it


def trace_of_square(S: Square) -> Any:
    return total(hadamard(S @ S, ones(S.shape[0], S.shape[0]) * 0 + _identity(S))) * ones(1, 1)


def _identity(S: Any) -> Any:
    from verify.matrix import eye

    return eye(S.shape[0])


@pytest.mark.parametrize(
    "make", [uses_its_hypothesis, says_what_a_softmax_is, bounds_attention, has_a_short_derivative]
)
def test_a_claim_that_says_something_is_not(make: Any) -> None:
    assert empty(make(), QUICK) is None


def test_functions_are_put_back() -> None:
    before = weights
    empty(is_true_of_any_weights(), QUICK)
    assert weights is before and globals()["weights"] is before


# -- the registry ------------------------------------------------------------------------------------------------------

CLAIMS = load()


#: The claims are tried in so many tests, for workers to share.
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_no_claim_is_empty_and_says_so_nowhere(part: int, pytestconfig: pytest.Config) -> None:
    """Those that cannot fail, or that hold of any object, say so in a sentence of their note, and no others do."""
    claims = {item.id: item for item in tried(CLAIMS.values(), pytestconfig)[part::PARTS]}
    found = {claim_id: reason for claim_id, item in claims.items() if (reason := empty(item, QUICK))}
    assert {claim_id: reason for claim_id, reason in found.items() if claims[claim_id].general is None} == {}
    assert [claim_id for claim_id, item in claims.items() if item.general and claim_id not in found] == []
