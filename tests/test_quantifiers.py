"""Numbers that checks fix are named; levels of probability are tried at several values."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from tests.statements.quantifiers import unsaid_numbers, untried_levels
from verify.vocabulary import AtMost, Claim, Equal, Paper, Real, Shape, load

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
STEPS = 6


def claim(statement: str = "x", **options: Any) -> Claim:
    options.setdefault("sizes", {"n": (1, 3)})
    it = Claim(PAPER, "toy.a", "a", name="toy", statement=statement, relation=Equal(), **options)
    it.formula(after_steps)
    it.oracle(lambda A: A)
    return it


def after_steps(A: Annotated[Any, Shape("n", "n")]) -> Any:
    for _ in range(STEPS):
        A = A.T
    return A


def in_the_plane(A: Annotated[Any, Shape("n", "2")]) -> Any:
    return A


@pytest.mark.parametrize("said", ["after six steps", "for $t = 6$", "$A^6$"])
def test_a_count_of_steps_is_named_in_digits_or_in_words(said: str) -> None:
    assert unsaid_numbers(claim()) == ["STEPS of after_steps is 6"]
    assert unsaid_numbers(claim(note=said)) == []


@pytest.mark.parametrize("unsaid", ["for $t = 16$", "for 0.6", "1.6", "sixteen"])
def test_another_number_names_it_not(unsaid: str) -> None:
    assert unsaid_numbers(claim(note=unsaid)) == ["STEPS of after_steps is 6"]


def test_a_size_of_one_value_is_named() -> None:
    assert "the size n is 2" in unsaid_numbers(claim(note="six", sizes={"n": (2, 2)}))
    assert unsaid_numbers(claim(note="six, for pairs", sizes={"n": (2, 2)})) == []
    assert unsaid_numbers(claim(note="six", sizes={"n": (1, 1)})) == []


def test_a_width_in_an_annotation_is_named() -> None:
    it = Claim(PAPER, "toy.a", "a", name="toy", statement="x", relation=Equal(), sizes={"n": (1, 3)})
    it.formula(in_the_plane)
    assert unsaid_numbers(it) == ["a size of A is 2"]
    it.note = "In the plane."
    assert unsaid_numbers(it) == []


def three_times(A: Annotated[Any, Shape("n", "n")]) -> Any:
    for _ in range(3):
        A = A.T
    return sum(A * k for k in range(1, 5))


def of_two_names(A: Annotated[Any, Shape("n", "n")]) -> Any:
    one, other = (A * k for k in range(2))
    return one + other


def test_a_count_that_stands_in_the_code_is_named() -> None:
    it = Claim(PAPER, "toy.a", "a", name="toy", statement="x", relation=Equal(), sizes={"n": (1, 3)})
    it.formula(three_times)
    assert unsaid_numbers(it) == ["range(3) in three_times is 3", "range(5) in three_times is 5"]
    it.note = "After three steps, for $k < 5$."
    assert unsaid_numbers(it) == []


def test_as_many_as_there_are_names_is_no_count() -> None:
    it = Claim(PAPER, "toy.a", "a", name="toy", statement="x", relation=Equal(), sizes={"n": (1, 3)})
    it.formula(of_two_names)
    assert unsaid_numbers(it) == []


# -- levels ------------------------------------------------------------------------------------------------------------


def with_level(
    levels: Any = None, statement: str = r"|X| \le t \text{ with probability at least } 1 - \delta"
) -> Claim:
    it = Claim(PAPER, "toy.a", "a", name="toy", statement=statement, relation=AtMost(), levels=levels or {})
    it.formula(bound)
    it.oracle(lambda level: level)
    return it


def bound(level: Annotated[Any, Real(0.5, 4.0)], fixed: Annotated[Any, Real(1.0, 1.0)]) -> Any:
    return level + fixed


def test_a_level_is_declared() -> None:
    (problem,) = untried_levels(with_level())
    assert "expected levels={name: the values tried" in problem
    assert untried_levels(with_level({"delta": (1 / 2, 1 / 8, 1 / 32)})) == []
    assert untried_levels(with_level({"delta": "level"})) == []


@pytest.mark.parametrize(
    ("levels", "what"),
    [
        ({"delta": (1 / 8, 1 / 32)}, "expected one of at least 0.5"),
        ({"delta": (1 / 2, 1 / 8)}, "one of at most 0.05"),
        ({"delta": "ell"}, "which is not drawn"),
        ({"delta": "fixed"}, "which has one value"),
    ],
)
def test_one_level_is_not_every_level(levels: Any, what: str) -> None:
    (problem,) = untried_levels(with_level(levels))
    assert what in problem


@pytest.mark.parametrize("statement", [r"\sigma \in [1 - \delta, 1 + \delta]", r"\text{with probability 1}", "x"])
def test_without_a_probability_and_a_level_nothing_is_asked(statement: str) -> None:
    assert untried_levels(with_level(statement=statement)) == []
    assert untried_levels(with_level({"delta": (0.5, 0.01)}, statement)) != []


# -- the registry ------------------------------------------------------------------------------------------------------

JUDGED = [item for item in load().values() if item.expects in ("holds", "reading", "gap")]


def test_numbers_that_checks_fix_are_named_on_the_page() -> None:
    assert {item.id: found for item in JUDGED if (found := unsaid_numbers(item))} == {}


def test_levels_are_tried_at_several_values() -> None:
    """Of what is refuted one level is enough."""
    assert {item.id: found for item in JUDGED if (found := untried_levels(item))} == {}
