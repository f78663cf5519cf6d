"""The relation that a statement displays is the one that is compared; a planted difference is found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.statements.displayed_signs import asserted_signs, difference, problem_of
from verify.vocabulary import AtMost, Claim, Equal, FollowsLaw, HasStructure, OrderOfGrowth, Paper, TendsTo, load
from verify.vocabulary.relations import PowerRate

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
LIMIT = TendsTo(scales=(1, 2, 4, 8, 16), rate=PowerRate(1.0))
ORDER = OrderOfGrowth(along=("N",))


def claim(statement: str, relation: Any, **options: Any) -> Claim:
    options.setdefault("of_project", True)
    return Claim(PAPER, "toy.a", "a", statement, relation, name="toy", **options)


@pytest.mark.parametrize(
    ("statement", "relation"),
    [
        (r"\|e^S\|_2 = 1", AtMost()),
        (r"\|e^S\|_2 \le 1", Equal()),
        (r"A = B \le C", Equal()),
        (r"x > 0 \Rightarrow f(x) = 1", AtMost()),
        (r"f(x) = 1", LIMIT),
        (r"f(x) \le 1", FollowsLaw()),
        (r"c(N) = N^2", ORDER),
        (r"A \to B", HasStructure()),
        (r"A = B \text{ for } x \le 1", AtMost()),  # the inequality is a condition
        (r"A = B,\ \text{so that } A \le B", AtMost()),  # or a consequence
    ],
)
def test_a_planted_difference_is_found(statement: str, relation: Any) -> None:
    assert problem_of(claim(statement, relation))


@pytest.mark.parametrize(
    ("statement", "relation"),
    [
        (r"\|e^S\|_2 \le 1", AtMost()),
        (r"A = B", Equal()),
        (r"x > 0,\ y \ge 1:\ A = B", Equal()),
        (r"A = B,\quad n \ge 2", Equal()),
        (r"A = B \text{ for } x \le 1", Equal()),
        (r"A = B,\ \text{so that } \operatorname{rank}A \le 2", Equal()),
        (r"A = B \le C", AtMost()),  # a chain
        (r"\min\{x : x \ge 2\} = 2", Equal()),
        (r"\lim_{n\to\infty} f(n) = 1", LIMIT),
        (r"f(n) \text{ tends to } 1", LIMIT),
        (r"P(x > 1) \le 1/2", FollowsLaw()),
        (r"\text{with probability at least } 1/2,\ x \le 1", FollowsLaw()),
        (r"c(N) = O(N^2)", ORDER),
        (r"\operatorname{rank}A = 2", HasStructure()),
        (r"A \succeq 0", HasStructure()),
        (r"\text{the matrix is what it was}", Equal()),  # words alone
        (r"\Omega A = E B", Equal()),  # letters, no order and no expectation
    ],
)
def test_the_relation_itself_is_no_difference(statement: str, relation: Any) -> None:
    assert difference(claim(statement, relation)) == ""


def test_what_is_printed_stands_and_its_note_says_what_is_compared() -> None:
    printed = {"of_project": False}
    assert problem_of(claim("A = B", AtMost(), **printed))
    assert problem_of(claim("A = B", AtMost(), note="It is well known.", **printed))
    assert problem_of(claim("A = B", AtMost(), note="Compared are both directions.", **printed)) == ""
    assert problem_of(claim("A = B", AtMost(), note="Compared are both directions."))  # ours displays it


def test_signs_behind_the_last_colon_count() -> None:
    assert asserted_signs(r"A = B:\ C \le D") == {r"\le"}
    assert asserted_signs(r"A := B,\ C \le D") == {"=", r"\le"}
    assert asserted_signs(r"a = 1 \Rightarrow b < 2;\ c = 3 \Rightarrow d > 4") == {"<", ">"}


def test_every_claim_displays_what_is_compared() -> None:
    found = {claim.id: problem_of(claim) for claim in load("theorems").values()}
    assert {claim_id: problem for claim_id, problem in found.items() if problem} == {}
