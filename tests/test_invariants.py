"""Properties that every drawn input has: of each kind a hidden one is found, and none is reported of a free generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch

from verify.arithmetics import Constant
from verify.checks.invariants import JUDGED, PROPERTIES, invariants, problems_of_invariants, unstated
from verify.checks.settings import settings_for
from verify.matrix import absolute, expm, eye, frobenius_norm, hadamard, ones, row_sums, sqrt, step, total
from verify.vocabulary import Assumption, Claim, Equal, Paper, Real, Shape, TendsTo, load
from verify.vocabulary.relations import PowerRate

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
QUICK = settings_for("quick", 0)
Square = Annotated[Any, Shape("n", "n")]
Matrix = Annotated[Any, Shape("n", "m")]


def claim(relation: Any, assumptions: Any = (), **options: Any) -> Claim:
    options.setdefault("sizes", {"n": (2, 3), "m": (2, 3)})
    return Claim(PAPER, "toy.a", "a", name="toy", statement="x", relation=relation, assumptions=assumptions, **options)


def identity(A: Any) -> Any:
    return A


def prepared(preparation: Callable[..., Any], assumptions: Any = (), **options: Any) -> Claim:
    """A claim about nothing, A = A, of inputs that the preparation makes."""
    it = claim(Equal(), assumptions, **options)
    it.inputs(preparation)
    it.formula(identity)
    it.oracle(lambda A: 1 * A)
    return it


def square(change: Callable[[Any], Any]) -> Callable[..., Any]:
    def preparation(A: Square) -> dict[str, Any]:
        return {"A": change(A)}

    return preparation


def _of(A: Any) -> Any:
    """A multiple of A below 1 in norm, whatever A."""
    return A / (1 + frobenius_norm(A))


def _rotation(A: Any) -> Any:
    return expm((A - A.T) / 8)


def _counted(A: Any) -> Any:
    """1, 2, ... row by row, whatever A."""
    n = A.shape[0]
    return A * 0 + torch.arange(1.0, n * n + 1, dtype=torch.float64).reshape(n, n)


#: A preparation that hides each property.
HIDING: dict[str, Callable[[Any], Any]] = {
    "has positive entries": lambda A: A * A + 1,
    "has no negative entry": lambda A: A * A,
    "has negative entries": lambda A: -(A * A) - 1,
    "has no positive entry": lambda A: -(A * A),
    "has entries of at most 1 in absolute value": lambda A: A / (1 + absolute(A)),
    "has singular values of at most 1": _of,
    "has whole entries": _counted,
    "has distinct entries": _counted,
    "has distinct rows": lambda A: A * 0 + eye(A.shape[0]),
    "has unit rows": lambda A: A / sqrt(row_sums(A * A)),
    "has unit columns": lambda A: (A.T / sqrt(row_sums(A.T * A.T))).T,
    "has Frobenius norm 1": lambda A: A / frobenius_norm(A),
    "has trace 0": lambda A: A - eye(A.shape[0]) * total(A * eye(A.shape[0])) / A.shape[0],
    "is diagonal": lambda A: A * eye(A.shape[0]),
    "is idempotent": lambda A: A * 0 + eye(A.shape[0])[:, :1] @ eye(A.shape[0])[:1],
    "has equal rows": lambda A: ones(A.shape[0], 1) @ A[:1],
    "has rows of sum 0": lambda A: A - row_sums(A) @ ones(1, A.shape[1]) / A.shape[1],
    "has rows of sum 1": lambda A: A + (1 - row_sums(A)) @ ones(1, A.shape[1]) / A.shape[1],
    "has columns of sum 0": lambda A: (A.T - row_sums(A.T) @ ones(1, A.shape[1]) / A.shape[1]).T,
    "has columns of sum 1": lambda A: (A.T + (1 - row_sums(A.T)) @ ones(1, A.shape[1]) / A.shape[1]).T,
    "has orthonormal columns": _rotation,
    "has orthonormal rows": _rotation,
    "has a condition number below 100": lambda A: 2 * eye(A.shape[0]) + _of(A),
    "has full rank": lambda A: expm(_of(A) * 8) * (eye(A.shape[0])[:, :1].T * (2 * step(total(A)) - 2) + 1),
    "is symmetric": lambda A: A + A.T,
    "is skew": lambda A: A - A.T,
    "has a symmetric part that is positive definite": lambda A: A @ A.T + eye(A.shape[0]),
    "has a symmetric part without negative eigenvalues": lambda A: A @ A.T,
    "has a symmetric part without positive eigenvalues": lambda A: -(A @ A.T),
    "has a positive determinant": lambda A: expm(_of(A) * 8),
    "has no zero entry": lambda A: A + (2 * step(A) - 1),
    "is lower triangular": lambda A: hadamard(
        A, Constant([[int(i >= j) for j in range(len(A))] for i in range(len(A))])
    ),
    "is upper triangular": lambda A: hadamard(
        A, Constant([[int(i <= j) for j in range(len(A))] for i in range(len(A))])
    ),
}


def away_from_zero(c: Annotated[Any, Real(-4.0, 4.0)]) -> dict[str, Any]:
    """A number of either sign and of size 1 at least."""
    return {"c": c + (2 * step(c) - 1)}


def number(c: Any) -> Any:
    return c


def test_a_hidden_property_of_a_number_is_found() -> None:
    it = claim(Equal())
    it.inputs(away_from_zero)
    it.formula(number)
    it.oracle(lambda c: 1 * c)
    assert {each.property: each.outcome for each in unstated(it, QUICK)} == {
        "is at least 1 in absolute value": "needless"
    }


@pytest.mark.parametrize("name", HIDING)
def test_a_hidden_property_of_each_kind_is_found(name: str) -> None:
    found = {each.property: each.outcome for each in unstated(prepared(square(HIDING[name])), QUICK)}
    assert found.get(name) == "needless"  # A = A needs nothing


def test_every_kind_has_a_planted_case() -> None:
    assert {item.name for item in PROPERTIES} - set(HIDING) == {"is at least 1 in absolute value"}  # of a number, above


def test_of_a_free_generator_nothing_is_found() -> None:
    it = claim(Equal())
    it.formula(transposed)
    assert invariants(it, QUICK) == {}


def transposed(A: Matrix, S: Square, row: Annotated[Any, Shape("1", "m")], c: Annotated[Any, Real()]) -> Any:
    return A.T


# -- what the statement does without it --------------------------------------------------------------------------------


def absolute_of(A: Square) -> Any:
    return absolute(A)


def of_absolute_values(assumptions: Any = (), **options: Any) -> Claim:
    """|A| = A, of squares: every entry is 0 or more."""
    it = claim(Equal(), assumptions, **options)
    it.inputs(square(lambda A: A * A))
    it.formula(absolute_of)
    it.oracle(identity)
    return it


def test_a_hypothesis_that_the_statement_needs_is_a_problem_until_it_is_stated() -> None:
    (problem,) = problems_of_invariants(of_absolute_values(), QUICK)
    assert "A has no negative entry, which is not stated; the statement fails without it" in problem
    stated = of_absolute_values([Assumption("A >= 0", nonnegative=lambda A: A)])
    assert unstated(stated, QUICK) == []


def test_a_hypothesis_in_a_range_is_found() -> None:
    def of_number(c: Annotated[Any, Real(0.5, 2.0)]) -> Any:
        return absolute(c)

    it = claim(Equal())
    it.formula(of_number)
    it.oracle(lambda c: 1 * c)
    (problem,) = problems_of_invariants(it, QUICK)
    assert "c has positive entries, which is not stated; the statement fails" in problem


def test_a_property_without_which_there_is_no_value_is_no_hypothesis() -> None:
    def inverse(A: Square) -> Any:
        return 1 / A

    it = claim(Equal())
    it.inputs(square(lambda A: A * A + 1))
    it.formula(inverse)
    it.oracle(lambda A: A / A / A)
    assert {each.property: each.outcome for each in unstated(it, QUICK)} == {"has positive entries": "needless"}


def test_what_cannot_be_tried_is_declared_needless_with_a_reason() -> None:
    def limit(options: Any) -> Claim:
        it = claim(TendsTo(scales=(1, 2, 4, 8, 16), rate=PowerRate(1)), **options)
        it.inputs(square(lambda A: A + A.T))
        it.formula(identity_of)
        return it

    (problem,) = problems_of_invariants(limit({}), QUICK)
    assert "A is symmetric, which is not stated; the statement cannot be tried without it" in problem
    assert (
        problems_of_invariants(limit({"needless": {"A is symmetric": "the limit is taken entry by entry"}}), QUICK)
        == []
    )
    stale = limit({"needless": {"A is symmetric": "...", "A is skew": "..."}})
    assert (
        "'A is skew' is declared needless, but not every input has it unstated"
        in problems_of_invariants(stale, QUICK)[0]
    )


def identity_of(A: Square) -> Any:
    return A


# -- the registry ------------------------------------------------------------------------------------------------------

CLAIMS = load()
TRIED = [item for item in CLAIMS.values() if item.expects in JUDGED]
SAMPLE = TRIED[::48]  # the rest at the effort deep


@pytest.mark.parametrize("item", SAMPLE, ids=lambda item: item.id)
def test_hypotheses_of_a_sample_of_claims_are_stated(item: Claim) -> None:
    assert problems_of_invariants(item, QUICK) == []


def test_a_condition_that_chooses_by_numbers_is_read_input_by_input() -> None:
    """Such a test takes no batch, and what its claim hides is found all the same."""
    chooses = Assumption(
        "A is no multiple of 1000", positive=lambda A: A * 0 + (1.0 if float(A.sum()) != 1000 else -1.0)
    )
    found = {each.property for each in unstated(prepared(square(lambda A: A * A + 1), [chooses]), QUICK)}
    assert "has positive entries" in found
    free = prepared(square(lambda A: 1 * A), [chooses])
    assert unstated(free, QUICK) == []
