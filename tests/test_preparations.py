"""Preparations of inputs reach all that the stated conditions admit, or say what they leave out; both are tested."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Annotated, Any

import pytest

from tests.efforts import tried
from verify.checks import checks_of
from verify.checks.invariants import nothing_unstated, unstated
from verify.checks.preparations import all_reached, coverage, problems_of_preparation
from verify.checks.settings import settings_for
from verify.evidence.sources import source_of
from verify.matrix import basis_vector, diag, eye, frobenius_norm, inverse, row_sums, sqrt, step
from verify.vocabulary import Assumption, Claim, Equal, Paper, Real, RegistryError, Shape, load, realises

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
QUICK = settings_for("quick", 0)
Square = Annotated[Any, Shape("n", "n")]
Row = Annotated[Any, Shape("1", "n")]

ORTHOGONAL = Assumption("A is orthogonal", zero=lambda A: A.T @ A - eye(A.shape[0]))
SKEW = Assumption("A is skew", zero=lambda A: A + A.T)
SYMMETRIC = Assumption("A is symmetric", zero=lambda A: A - A.T)
UNIT = Assumption("x is a unit vector", zero=lambda x: row_sums(x * x) - 1)


def identity(A: Any) -> Any:
    return A


def prepared(
    preparation: Callable[..., Any], *assumptions: Assumption, formula: Any = identity, **options: Any
) -> Claim:
    """A claim about nothing, A = A, of inputs that the preparation makes."""
    it = Claim(
        PAPER, "toy.a", "a", name="toy", statement="x", relation=Equal(), assumptions=assumptions,
        **{"sizes": {"n": (2, 3)}, **options},
    )  # fmt: skip
    it.inputs(preparation)
    it.formula(formula)
    it.oracle(formula)
    return it


def cayley(A: Square) -> dict[str, Any]:
    K = A - A.T
    return {"A": (eye(A.shape[0]) - K) @ inverse(eye(A.shape[0]) + K)}


def skew(A: Square) -> dict[str, Any]:
    return {"A": A - A.T}


def unit(y: Row) -> dict[str, Any]:
    return {"x": y / sqrt(row_sums(y * y))}


def of_row(x: Any) -> Any:
    return x


#: Preparations that reach all: every small move that the equations admit is made.
WHOLE: dict[str, Claim] = {
    "orthogonal matrices": prepared(cayley, ORTHOGONAL),
    "skew matrices": prepared(skew, SKEW),
    "unit vectors": prepared(unit, UNIT, formula=of_row),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_of_what_is_reached_nothing_is_missing_and_the_condition_is_to_be_declared(kind: str) -> None:
    claim = WHOLE[kind]
    found = coverage(claim, QUICK)
    assert found is not None and found.forbidden > 0 and found.missing == 0
    (text,) = found.realised
    (problem,) = problems_of_preparation(claim, QUICK)
    assert text in problem and "expected @realises" in problem


def test_a_declared_condition_is_no_problem() -> None:
    assert problems_of_preparation(prepared(_declared_skew, SKEW), QUICK) == []
    assert all_reached(prepared(_declared_skew, SKEW), QUICK).outcome == "upheld"
    assert all_reached(prepared(skew, SKEW), QUICK).outcome == "not certified"


@realises({"A is skew": "with G = A/2"})
def _declared_skew(A: Square) -> dict[str, Any]:
    return skew(A)


def test_a_declared_condition_that_the_claim_does_not_state_is_refused() -> None:
    problems = problems_of_preparation(prepared(_declared_skew, Assumption("A is small", nonnegative=identity)), QUICK)
    assert any("no assumption says 'A is skew'" in problem for problem in problems)


#: Preparations that reach a thin part of what is stated.
THIN: dict[str, Claim] = {}


def planted(name: str, *assumptions: Assumption, formula: Any = identity, **options: Any) -> Any:
    def declare(function: Any) -> Any:
        THIN[name] = prepared(function, *assumptions, formula=formula, **options)
        return function

    return declare


@planted("matrices of rank one", sizes={"n": (3, 3)})
def _(u: Row, v: Row) -> dict[str, Any]:
    return {"A": u.T @ v}


@planted("diagonal matrices for symmetric ones", SYMMETRIC)
def _(u: Row) -> dict[str, Any]:
    return {"A": diag(u)}


@planted("a fixed vector for any unit vector", UNIT, formula=of_row)
def _(y: Row) -> dict[str, Any]:
    return {"x": y * 0 + basis_vector(y.shape[1], 0).T}


@planted("one plane of rotations of three", ORTHOGONAL, sizes={"n": (3, 3)})
def _(t: Annotated[Any, Real(-1.0, 1.0)]) -> dict[str, Any]:
    e = [basis_vector(3, k) for k in range(3)]
    turn = (e[0] @ e[0].T + e[1] @ e[1].T) * ((1 - t * t) / (1 + t * t)) + e[2] @ e[2].T
    return {"A": turn + (e[0] @ e[1].T - e[1] @ e[0].T) * (2 * t / (1 + t * t))}


@planted("a bound that is met with equality", Assumption("||A||_F <= c", nonnegative=lambda A, c: c - frobenius_norm(A)),
         formula=lambda A, c: A * c)  # fmt: skip
def _(A: Square) -> dict[str, Any]:
    return {"A": A, "c": frobenius_norm(A)}


@planted("the same matrix twice", formula=lambda A, B: A @ B)
def _(A: Square) -> dict[str, Any]:
    return {"A": A, "B": A}


@pytest.mark.parametrize("kind", THIN)
def test_a_thin_part_is_found_and_may_be_declared(kind: str) -> None:
    claim = THIN[kind]
    found = coverage(claim, QUICK)
    assert found is not None and found.missing > 0
    assert any(
        "directions that the stated equations leave open" in each for each in problems_of_preparation(claim, QUICK)
    )


def test_what_is_left_out_is_declared_with_a_reason() -> None:
    assert problems_of_preparation(prepared(_least_bound, BOUND, formula=lambda A, c: A * c), QUICK) == []


BOUND = Assumption("||A||_F <= c", nonnegative=lambda A, c: c - frobenius_norm(A))


@realises(but="c is the least that is admitted")
def _least_bound(A: Square) -> dict[str, Any]:
    return {"A": A, "c": frobenius_norm(A)}


def test_a_part_of_full_dimension_is_found_as_a_property_of_all_inputs() -> None:
    """Positive diagonals and rotations alone leave no direction out; no assumption states what they have in common."""
    positive = prepared(positive_diagonal, Assumption("A is diagonal", zero=lambda A: A - A * eye(A.shape[0])))
    assert coverage(positive, QUICK).missing == 0  # type: ignore[union-attr]
    assert "has no negative entry" in {each.property for each in unstated(positive, QUICK)}
    rotations = prepared(cayley, ORTHOGONAL)
    assert "has a positive determinant" in {each.property for each in unstated(rotations, QUICK)}


def positive_diagonal(u: Row) -> dict[str, Any]:
    return {"A": diag(u * u + 1)}


# -- where nothing is to be said ---------------------------------------------------------------------------------------


def as_drawn(A: Square, B: Square) -> dict[str, Any]:
    return {"A": B, "B": A}


def a_choice(A: Square, S: Square) -> dict[str, Any]:
    return {"A": A, "B": step(S)}


def another_parameter(A: Square, E: Square) -> dict[str, Any]:
    return {"A": A, "B": A @ A - E}


@pytest.mark.parametrize("preparation", [as_drawn, a_choice, another_parameter])
def test_inputs_as_drawn_choices_and_other_parameters_need_no_words(preparation: Any) -> None:
    assert problems_of_preparation(prepared(preparation, formula=lambda A, B: A @ B), QUICK) == []


def test_what_no_function_takes_does_not_matter() -> None:
    assert problems_of_preparation(prepared(with_an_idle_input), QUICK) == []


def with_an_idle_input(A: Square) -> dict[str, Any]:
    return {"A": A, "idle": A + 1}


def test_of_what_is_refuted_a_part_is_enough() -> None:
    it = prepared(THIN["matrices of rank one"]._inputs, expects="refuted", severity="error", sizes={"n": (3, 3)})
    assert problems_of_preparation(it, QUICK) == []


def test_words_without_use_are_refused() -> None:
    @realises({"A is skew": "with G = A/2"})
    def nothing(A: Square) -> dict[str, Any]:
        return {"A": A}

    assert "changes nothing" in problems_of_preparation(prepared(nothing, SKEW), QUICK)[0]
    with pytest.raises(RegistryError, match="got neither"):
        realises({})
    with pytest.raises(RegistryError, match="for a reason"):
        realises({"A is skew": " "})


def test_what_is_said_of_a_preparation_is_no_part_of_the_code_that_evidence_is_about(tmp_path: Any) -> None:
    file, texts = tmp_path / "module.py", []
    for line in ("", '@realises({"A is skew": "with G = A/2"})\n', '@other({"A is skew": "with G = A/2"})\n'):
        file.write_text(f"from verify.vocabulary import realises\n\n\n{line}def f(A):\n    return A\n")
        texts.append(source_of(file).digest)
    assert texts[0] == texts[1] != texts[2]


# -- the registry ------------------------------------------------------------------------------------------------------

PREPARED = sorted((item for item in load().values() if item.prepares_inputs), key=lambda item: item.module)
MODULES = {module: list(items) for module, items in groupby(PREPARED, key=lambda item: item.module)}


@pytest.mark.parametrize("module", MODULES)
def test_preparations_reach_all_or_say_what_they_leave_out(module: str, pytestconfig: pytest.Config) -> None:
    items = tried(MODULES[module], pytestconfig)
    assert [problem for item in items for problem in problems_of_preparation(item, QUICK)] == []


def test_every_condition_that_is_declared_is_stated_by_a_claim() -> None:
    texts: dict[Any, set[str]] = {}
    for item in PREPARED:
        if item.realised is not None:
            texts.setdefault(item.named_functions()["inputs"], set()).update(item.assumption_texts)
    for preparation, stated in texts.items():
        for condition in preparation.realised.conditions:
            assert any(condition in text for text in stated), (preparation.__qualname__, condition)


def test_both_are_checks_at_the_effort_deep_alone() -> None:
    claim = prepared(_declared_skew, SKEW)
    names = {effort: [check.name for check in checks_of(claim, settings_for(effort, 0))] for effort in ("ci", "deep")}
    assert [name for name in names["deep"] if name not in names["ci"]] == [
        "as stated", "nothing unstated", "all reached",
    ]  # fmt: skip
    refuted = prepared(_declared_skew, SKEW, expects="refuted", severity="error")
    assert "nothing unstated" not in [check.name for check in checks_of(refuted, settings_for("deep", 0))]


def test_what_is_unsaid_is_no_violation_and_no_pass() -> None:
    unsaid = prepared(skew, Assumption("A is small", nonnegative=lambda A: 1 - A * A))
    assert nothing_unstated(unsaid, QUICK).outcome == "upheld"  # A = A needs nothing
    needed = prepared(skew, formula=lambda A: A)
    needed._oracle = lambda A: -A.T
    record = nothing_unstated(needed, QUICK)
    assert record.outcome == "not certified" and "A is skew, which is not stated" in record.message
