"""Pictures of counterexamples: which line is drawn, where it ends, when there is none; and bounds in the paper's own sign."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Annotated, Any

import pytest

from tests import claims_that_fail as toy
from verify.checks import attack_on
from verify.checks.counterexamples import certify
from verify.matrix import absolute, step, total
from verify.report.sides import Sides, arranged, in_its_own_sign, negated
from verify.site import lines as drawing
from verify.site.lines import LARGEST, lines, picture
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, Shape

pytestmark = pytest.mark.kept("docs/papers")

Number = Annotated[Any, Real()]
Row = Annotated[Any, Shape("1", "n")]
_NUMBERS = itertools.count()


def refuted(relation: Any, formula: Any, oracle: Any, inputs: dict[str, Any], **options: Any) -> Claim:
    """A claim with one counterexample."""
    claim = toy.toy(f"line-{next(_NUMBERS)}", relation, expects="refuted", severity="error", **options)
    claim.formula(formula)
    claim.oracle(oracle)
    claim.mutant("shifted", lambda value: value + 1)
    claim.counterexample("as given", lambda: inputs)
    return claim


def certificate(claim: Claim) -> dict[str, Any]:
    (found,) = certify(claim, attack_on(claim)).details["certificates"]
    return found


def drawn(claim: Claim) -> Any:
    return picture(claim, certificate(claim))


def square(x: Number) -> Any:
    return x * x


def number(x: Number) -> Any:
    return x


def sum_of(x: Any) -> Any:
    return total(x)


def one(x: Number) -> Any:
    return x * 0 + 1


def test_a_bound_that_fails_beyond_a_point_is_drawn_from_where_it_holds() -> None:
    claim = refuted(AtMost(left="the square", right="the bound"), number, square, {"x": "3/2"})
    found = drawn(claim)
    assert found is not None and found.drawn
    assert "never lies above" in found.caption and "Only x changes" in found.caption
    assert found.svg.count("<polyline") == 2 and ">the square<" in found.svg and ">the bound<" in found.svg


def test_lines_end_where_an_assumption_fails() -> None:
    assumption = Assumption("x >= 1", nonnegative=lambda x: x - 1)
    claim = refuted(AtMost(), number, square, {"x": "3/2"}, assumptions=[assumption])
    found = drawn(claim)
    assert "end where an assumption fails" in found.caption
    assert "end where" not in drawn(refuted(AtMost(), number, square, {"x": "3/2"})).caption


def test_nothing_is_drawn_where_there_is_nothing_to_see() -> None:
    constant = refuted(AtMost(), one, lambda x: x * 0 + 2, {"x": "3/2"})
    assert drawn(constant) is None, "two constants show nothing"
    fine = refuted(AtMost(), number, lambda x: x + x * x / 10**6, {"x": "1"})
    assert drawn(fine) is None, "the lines lie on each other"
    whole = refuted(Equal(), lambda n: n * n, lambda n: n, {"n": 2})
    assert list(lines(whole, {"n": 2})) == [], "a whole number of which nothing is said may be a size"
    many = {"x": [[str(k) for k in range(LARGEST + 1)]]}
    claim = refuted(AtMost(), sum_of, lambda x: total(x) + 1, many, sizes={"n": (1, LARGEST + 1)})
    assert drawn(claim) is None, "too many entries to follow"


def test_a_matrix_moves_by_a_factor_and_by_its_largest_entries() -> None:
    claim = refuted(Equal(), sum_of, lambda x: total(absolute(x)), {"x": [["1", "-2", "0"]]})
    moved = [line.moved for line in lines(claim, {"x": [["1", "-2", "0"]]})]
    assert moved == ["t, with t x in the place of x", "entry (1, 2) of x", "entry (1, 1) of x", "entry (1, 3) of x"]
    found = drawn(claim)
    assert "Only entry (1, 2) of x changes" in found.caption, "only there the two sides come to agree"
    first = next(iter(lines(claim, {"x": [["1", "-2", "0"]]})))
    assert first.at(first.here) == {"x": [["1", "-2", "0"]]} and first.places(2)[0] == 0


def test_a_value_that_jumps_at_one_point_is_joined_to_nothing() -> None:
    def at_zero(x: Number) -> Any:
        return 1 - step(x) - step(-x)

    found = drawn(refuted(Equal(), at_zero, lambda x: x * 0, {"x": "0"}))
    assert found.svg.count("<polyline") == 3, "the curve is cut at the point, the straight line is not"


@pytest.mark.parametrize(
    ("left", "right", "expected", "values"),
    [
        ("0", "-dE/dt here", Sides("dE/dt here", "the claimed bound", "≤"), ("2", "0")),
        ("0, as nothing is lost", "minus the rate", Sides("the rate", "the claimed bound", "≤"), ("2", "0")),
        ("0", "a - b", Sides("a - b", "the claimed bound", "≥"), ("-2", "0")),
        ("0", "-a + b", Sides("-a + b", "the claimed bound", "≥"), ("-2", "0")),
        ("0", "-f(a + b)", Sides("f(a + b)", "the claimed bound", "≤"), ("2", "0")),
        ("-p", "minus q", Sides("q", "p", "≤"), ("2", "0")),
        ("0.5", "-q", Sides("0.5", "-q", "≤"), ("0", "-2")),
        ("p", "q", Sides("p", "q", "≤"), ("0", "-2")),
    ],
)
def test_bounds_stand_in_the_papers_own_sign(left: str, right: str, expected: Sides, values: tuple[str, str]) -> None:
    sides, signs = in_its_own_sign(Sides(left, right, "≤"))
    assert sides == expected and arranged(signs, "0", "-2", negated) == values
    same = Sides(left, right, "=")
    assert in_its_own_sign(same)[0] == same, "an equality has no sign to lose"


def test_pages_show_the_picture_beside_the_statement(site: Any) -> None:
    page = (site / "claims" / "dynamics.prop-4.1.html").read_text(encoding="utf-8")
    statement, counterexample = page.index('id="statement"'), page.index('id="counterexample"')
    shown = page[statement:counterexample]
    assert re.search(r"<figure>.*?dE/dt here.*?never lies above the dashed one", shown, re.S)
    assert shown.index("<figure>") < shown.index('id="proof"')


@pytest.mark.parametrize(("defined", "ends"), [(lambda x: x - 1, "below"), (lambda x: 2 - x, "above")])
def test_points_beyond_a_break_are_not_drawn_nor_asked_for(
    defined: Any, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line goes from the counterexample at 3/2 to the assumption's end on one side, and to its own on the other."""
    asked: list[Fraction] = []
    sides = drawing._sides

    def counted(claim: Claim, given: Any, entry: int) -> Any:
        asked.append(Fraction(given["x"]))
        return sides(claim, given, entry)

    monkeypatch.setattr(drawing, "_sides", counted)
    claim = refuted(AtMost(), number, square, {"x": "3/2"}, assumptions=[Assumption("inside", nonnegative=defined)])
    sides_at = drawing._sides_once(claim, 0)
    (line, *_) = lines(claim, {"x": "3/2"})
    course = drawing._course(claim, sides_at, line, 24)
    assert course is not None and course.points == sorted(course.points, key=lambda point: point.place)
    places = [point.place for point in course.points]
    assert places == [place for place in line.places(24) if defined(place) >= 0]
    beyond = [place for place in asked if defined(place) < 0]
    assert len(beyond) == 1 and len(asked) == len(set(asked)) == len(places) + 1, ends
    drawing._course(claim, sides_at, line, 3)
    assert len(asked) == len(set(asked)), "the same inputs are asked for once"
    assert [place for place in asked if defined(place) >= 0][len(places) :] == []


def test_whole_numbers_are_told_from_the_same_numbers_in_words() -> None:
    """An integer may be a size, and stays one; its text is a number."""
    claim = refuted(AtMost(), number, square, {"x": "3"})
    seen: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_sides", lambda claim, given, entry: seen.append(given["x"]))
        sides_at = drawing._sides_once(claim, 0)
        for value in ("3", "6/2", 3):
            sides_at({"x": value})
    assert seen == ["3", 3]
