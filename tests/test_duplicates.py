"""Claims that say what another says: planted copies are found, and claims that say something else are not."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from tests.statements.duplicates import duplicates, says_the_same
from verify.checks.settings import settings_for
from verify.matrix import eye, frobenius_norm, ones, spectral_norm, trace
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Paper, Real, Shape, load

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
QUICK = settings_for("quick", 0)
Square = Annotated[Any, Shape("n", "n")]
Number = Annotated[Any, Real(-2.0, 2.0)]
Positive = Annotated[Any, Real(0.5, 2.0)]


def claim(name: str, relation: Any, formula: Any, oracle: Any, **options: Any) -> Claim:
    it = Claim(PAPER, f"toy.{name}", name, name=name, statement="x", relation=relation, sizes={"n": (2, 4)}, **options)
    it.formula(formula)
    it.oracle(oracle)
    return it


def scaled(A: Square, c: Number) -> Any:
    return ones(1, 1) * spectral_norm(A) * c * c


def scaled_otherwise(A: Square, c: Number) -> Any:
    return ones(1, 1) * (c * spectral_norm(A)) * c


def scaled_loosely(A: Square, c: Number) -> Any:
    return ones(1, 1) * frobenius_norm(A) * c * c


def scaled_by_a_positive_number(A: Square, c: Positive) -> Any:
    return ones(1, 1) * spectral_norm(A) * c * c


def traced(A: Square) -> Any:
    return A + eye(A.shape[0]) * trace(A)


def traced_of_the_transpose(A: Square) -> Any:
    return A + eye(A.shape[0]) * trace(A.T)


def norm(A: Square, c: Number) -> Any:
    return ones(1, 1) * spectral_norm(A * c * c)


def norm_by_scaling_first(A: Square, c: Number) -> Any:
    return ones(1, 1) * spectral_norm(c * c * A)


POSITIVE = Assumption("c > 0", positive=lambda c: c)
BOUND = claim("bound", AtMost(), scaled, norm)

PAIRS = {
    "a copy": (BOUND, claim("copy", AtMost(), scaled, norm), True),
    "a bound that is written otherwise": (BOUND, claim("b", AtMost(), scaled_otherwise, norm_by_scaling_first), True),
    "a looser bound": (BOUND, claim("b", AtMost(), scaled_loosely, norm), False),
    "the same about fewer inputs": (
        BOUND,
        claim("b", AtMost(), scaled_by_a_positive_number, norm, assumptions=[POSITIVE]),
        False,
    ),
    "another relation": (BOUND, claim("b", Equal(), scaled, norm), False),
    "a copy of an identity": (
        claim("a", Equal(), traced, lambda A: A + eye(A.shape[0]) * trace(A)),
        claim("b", Equal(), traced, lambda A: A + eye(A.shape[0]) * trace(A)),
        True,
    ),
    "another expression of one quantity": (
        claim("a", Equal(), traced, lambda A: A + eye(A.shape[0]) * trace(A)),
        claim("b", Equal(), traced_of_the_transpose, lambda A: eye(A.shape[0]) * trace(A) + 2 * A - A),
        False,
    ),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_copies_are_found_and_nothing_else_is(kind: str) -> None:
    one, other, same = PAIRS[kind]
    assert says_the_same(one, other, QUICK) is same
    assert says_the_same(other, one, QUICK) is same


def test_printed_claims_may_repeat_each_other_and_ours_may_not() -> None:
    printed = {"toy.a": claim("a", AtMost(), scaled, norm), "toy.b": claim("b", AtMost(), scaled, norm)}
    assert duplicates(printed, QUICK) == []
    ours = {**printed, "toy.c": claim("c", AtMost(), scaled, norm, of_project=True)}
    assert duplicates(ours, QUICK) == [("toy.a", "toy.c"), ("toy.b", "toy.c")]


CLAIMS = load()


@pytest.mark.parametrize("paper", sorted({claim.paper.key for claim in CLAIMS.values()}))
def test_no_claim_of_ours_says_what_another_of_its_paper_says(paper: str) -> None:
    """A gap is true under a hypothesis that nobody states; its correction states it, and is the one exception."""
    found = duplicates({name: each for name, each in CLAIMS.items() if each.paper.key == paper}, QUICK)
    assert [pair for pair in found if not any(CLAIMS[each].expects == "gap" for each in pair)] == []
