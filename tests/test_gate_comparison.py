"""Comparisons step by step, at a few made-up points: what ends one, what is kept of it, and what roundings alone explain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from verify.checks.settings import settings_for
from verify.gate import comparison as of_gate
from verify.gate.autograd import Gap, Point
from verify.gate.bias import Bias, biases, relative_errors
from verify.gate.comparison import Comparison, Walk
from verify.gate.findings import (
    BIAS,
    BROKEN,
    COMPARISONS,
    FIRST,
    FORWARD,
    LEFT_OUT,
    LONG,
    NOT_DIFFERENTIABLE,
    REPEATED,
    SATISFIED,
    SECOND,
    SIZES,
    UNCHECKABLE,
    Finding,
)
from verify.gate.measure import ALLOWED, READABLE
from verify.gate.prepared import Prepared
from verify.gate.profiles import profile_of
from verify.gate.standing import Standing
from verify.gate.subject_errors import NotDifferentiable, Raised, WrongResult
from verify.vocabulary.registry import load
from verify.vocabulary.subjects import replaced

pytestmark = pytest.mark.kept

SOFTMAX = "hessian.softmax"


def softmax(T: Any) -> Any:
    return torch.softmax(T, -1)


# -- the mean error in half precision ----------------------------------------------------------------------------------


def test_the_probability_of_a_mean_is_that_of_student() -> None:
    """With two degrees of freedom it is 1 - t / sqrt(t^2 + 2)."""
    for sign in (1, -1):
        (found,) = biases({"a": [sign * 0.2, sign * 0.3, sign * 0.4]}, 0.1)
        t = 0.2 / math.sqrt(0.02 / 2 / 3)
        assert found.name == "a" and found.mean == pytest.approx(sign * 0.3)
        assert found.p == pytest.approx(1 - t / math.sqrt(t * t + 2), rel=1e-6)


def test_a_mean_within_a_rounding_is_no_bias_and_one_beyond_it_without_spread_is_for_certain() -> None:
    assert [bias.p for bias in biases({"a": [0.25] * 3, "b": [0.125] * 3}, 0.25)] == [1.0, 1.0]
    (found,) = biases({"a": [-0.5] * 3}, 0.25)
    assert (found.p, found.mean, found.is_rejected) == (0.0, -0.5, True)
    assert not Bias("a", 0.5, 1e-3).is_rejected


def test_the_worst_result_comes_last_and_one_of_two_points_is_none() -> None:
    errors = {"two": [9.0, 9.0], "worst": [4.0] * 3, "bad": [3.0] * 3, "right": [1.0] * 3, "smaller": [-0.5] * 3}
    assert [bias.name for bias in biases(errors, 1.0)] == ["smaller", "right", "bad", "worst"]


def at(*x: float, order: int = 0) -> Point:
    return Point({"x": torch.tensor(x, dtype=torch.float64), "mask": torch.tensor([True])}, order, 0)


def test_errors_are_projected_on_the_right_result_which_float64_finds() -> None:
    seen: list[tuple[torch.dtype, torch.dtype]] = []

    def definition(x: Any, mask: Any) -> Any:
        seen.append((x.dtype, mask.dtype))
        return 2 * x

    def yours(x: Any, mask: Any) -> Any:
        seen.append((x.dtype, mask.dtype))
        return x * torch.tensor([3.0, 2.0], dtype=x.dtype)[: x.numel()]

    found = relative_errors([at(1.0, 2.0), at(3.0)], yours, definition, torch.bfloat16, "cpu")
    # (1, 0) . (2, 4) / 20, and 3 . 6 / 36
    assert found == {"the value": [pytest.approx(0.1), pytest.approx(0.5)]}
    assert set(seen) == {(torch.float64, torch.bool), (torch.bfloat16, torch.bool)}


def test_points_at_which_there_is_nothing_to_divide_by_or_no_number_are_left_out() -> None:
    def yours(x: Any, mask: Any) -> Any:
        return torch.where(x == 3.0, math.nan, 0.5 * x)

    points = [at(0.0), at(3.0, 1.0), at(1.0), at(2.0)]
    found = relative_errors(points, yours, lambda x, mask: x, torch.bfloat16, "cpu")
    assert found == {"the value": [-0.5, -0.5]}
    assert relative_errors([at(1.0)], yours, lambda x, mask: x * 1e200, torch.bfloat16, "cpu") == {}


def test_the_implementation_gets_its_arguments_in_the_precision_and_on_the_device_that_are_asked_for() -> None:
    asked: list[tuple[torch.dtype, str]] = []

    class Recording(Point):
        def in_dtype(self, dtype: torch.dtype, device: str) -> dict[str, Any]:
            asked.append((dtype, device))
            return super().in_dtype(dtype, "cpu")

    point = Recording(at(1.0).arguments, 0, 0)
    relative_errors([point], lambda x, mask: x, lambda x, mask: x, torch.float16, "elsewhere")
    assert asked == [(torch.float16, "elsewhere")]


# -- a comparison on its way -------------------------------------------------------------------------------------------


@dataclass
class Known:
    """The points of a comparison, and after how many of them it ends."""

    points: list[Prepared]
    ends: int | None = None
    others: dict[str, list[Prepared]] = field(default_factory=dict)  #: of some comparisons, by their names
    halves: list[Prepared] = field(default_factory=list)  #: that tell something in half precision alone

    def prepared(self, check: str, in_half: bool = False) -> Iterator[Prepared]:
        assert check in COMPARISONS
        return iter(self.halves if in_half else self.others.get(check, self.points))

    def count(self, check: str) -> int | None:
        assert check in COMPARISONS
        return self.ends


def prepared(
    *rows: tuple[float, ...], order: int = 1, title: str = "made up", definition: Any = None, **asked: Any
) -> Prepared:
    load("theorems")
    point = Point({"T": torch.tensor(rows, dtype=torch.float64)}, order, 0, title=title)
    for name, value in asked.items():
        setattr(point, name, value)
    truth = point.reference(definition or Standing(SOFTMAX, softmax).definition)
    assert truth is not None
    return Prepared(point, truth, None)


def comparison(function: Callable[..., Any], *points: Prepared, ends: int | None = None) -> Comparison:
    made = Comparison(profile_of(SOFTMAX), Standing(SOFTMAX, function), settings_for("quick"))
    made.points = Known(list(points), ends)  # type: ignore[assignment]
    made.points.claim = made.claim
    return made


def run(made: Comparison, check: str, dtype: str = "float64") -> Finding:
    with replaced(SOFTMAX, made.standing):
        return made.run(check, dtype, shrinking=False)


ROWS = [(0.5, -1.0), (2.0, 0.25)]


def test_points_are_those_of_the_subject_the_effort_and_the_seed() -> None:
    load("theorems")
    settings = replace(settings_for("ci"), seed=7)
    made = Comparison(profile_of(SOFTMAX), Standing(SOFTMAX, softmax), settings)
    assert made.points.profile is made.profile and made.points.settings.seed == 7
    assert made.points.settings.effort == settings.effort and made.claim is made.points.claim
    assert made.kernels == Counter()


def test_a_finding_says_what_was_compared_and_in_which_precision() -> None:
    for check, dtype in ((FIRST, "float64"), (SIZES, "float32")):
        found = run(comparison(softmax, prepared(*ROWS)), check, dtype)
        assert (found.check, found.label, found.dtype) == (check, COMPARISONS[check], dtype)


def test_a_comparison_ends_after_as_many_points_as_are_asked_for() -> None:
    points = [prepared((0.5, -1.0 * n)) for n in range(1, 5)]
    assert run(comparison(softmax, *points, ends=2), FIRST).examples == 2
    assert run(comparison(softmax, *points), FIRST).examples == 4

    def wrong(T: Any) -> Any:
        return softmax(T) * (1 + 1e-6 * bool(T[0, 1] == -3.0))

    found = run(comparison(wrong, *points), FIRST)
    assert (found.status, found.examples, found.at) == (BROKEN, 3, "made up")
    assert run(comparison(wrong, *points, ends=2), FIRST).status == SATISFIED


def test_points_that_tell_something_in_half_precision_alone_are_for_that_alone() -> None:
    made = comparison(softmax, prepared(*ROWS), prepared(*ROWS, order=2), prepared(*ROWS, forward=True))
    made.points.halves = [prepared(*ROWS)]  # type: ignore[attr-defined]
    assert run(made, SIZES).examples == 3
    assert run(made, SIZES, "bfloat16").examples == 2


def test_the_place_of_an_example_is_that_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = of_gate.place
    monkeypatch.setattr(of_gate, "place", lambda number: seen.append(number) or real(number))
    monkeypatch.setattr(of_gate, "ROUND", 2)
    run(comparison(softmax, *[prepared(*ROWS)] * 5), FIRST)
    assert seen == [0, 1, 3, 4, 6]


def test_what_a_wrong_value_is_kept_of() -> None:
    def wrong(T: Any) -> Any:
        return softmax(T) + torch.tensor([1e-3, 0.0], dtype=T.dtype)

    point = prepared((0.0, 0.0), (0.0, 0.0), order=0, title="zero")
    found = run(comparison(wrong, point), SIZES)
    assert (found.status, found.at, found.entries, found.why) == (BROKEN, "zero", 4, "the value is wrong")
    assert found.inputs == {"T": [[0.0, 0.0], [0.0, 0.0]]}
    assert found.yours == pytest.approx([0.501, 0.5, 0.501, 0.5]) and found.expected == [0.5] * 4
    assert found.residual == pytest.approx(1e-3 / point.truth.unit("the value", 2.0**-52), rel=1e-6)


@pytest.mark.parametrize(("columns", "shown"), [(READABLE, True), (READABLE + 1, False)])
def test_an_example_that_nobody_can_read_is_not_shown(columns: int, shown: bool) -> None:
    found = run(comparison(lambda T: 2 * softmax(T), prepared((0.0,) * columns, order=0)), SIZES)
    assert found.status == BROKEN and found.entries == columns
    assert bool(found.inputs) is shown and bool(found.yours) is shown and bool(found.expected) is shown


@pytest.mark.parametrize(("problem", "why"), [
    (WrongResult("result", "a softmax", "nothing"), "result: expected a softmax; got nothing"),
    (Raised("ValueError: no"), "it raised ValueError: no"),
])  # fmt: skip
def test_what_raises_ends_a_comparison_with_the_place(problem: Exception, why: str) -> None:
    def raising(T: Any) -> Any:
        raise problem

    found = run(comparison(raising, prepared(*ROWS, title="here")), FIRST)
    assert (found.status, found.at, found.why) == (BROKEN, "here", f"{why}, at here")


def test_a_path_that_is_taken_where_no_gradient_is_asked_for_is_compared_at_ordinary_large_points() -> None:
    def other_path(T: Any) -> Any:
        return softmax(T) * (1.0 if torch.is_grad_enabled() else 1 + 1e-6)

    where = "where no gradient is asked for"
    ordinary, steep = (prepared(*ROWS, title=f"{title}, m = 2") for title in ("ordinary", "steep"))
    for check in (SIZES, LONG):
        found = run(comparison(other_path, steep, ordinary), check)
        assert (found.status, found.at) == (BROKEN, "ordinary, m = 2") and found.why == f"the value is wrong {where}"
    assert run(comparison(other_path, steep), SIZES).status == SATISFIED
    assert run(comparison(other_path, ordinary), FIRST).status == SATISFIED

    def raising(T: Any) -> Any:
        if not torch.is_grad_enabled():
            raise ValueError("no")
        return softmax(T)

    found = run(comparison(raising, ordinary), SIZES)
    assert (found.status, found.at) == (BROKEN, "ordinary, m = 2")
    assert found.why.startswith("it raised ") and found.why.endswith(f"no, {where}")


def refuses(T: Any) -> Any:
    if T.requires_grad:
        raise NotDifferentiable("no")
    return softmax(T)


def test_where_derivatives_are_refused_values_are_compared_at_large_sizes_alone() -> None:
    points = [prepared(*ROWS, title="steep") for _ in range(5)]
    found = run(comparison(refuses, *points), SIZES)
    assert (found.status, found.examples, found.why) == (SATISFIED, 5, f"values alone, {NOT_DIFFERENTIABLE}: no")
    calls: list[int] = []

    def counts(T: Any) -> Any:
        calls.append(1)
        return refuses(T)

    assert run(comparison(counts, *points), FIRST).examples == 0 and len(calls) == of_gate.PATIENCE
    wrong = run(comparison(lambda T: refuses(T) * (1 + 1e-6), *points), SIZES)
    assert (wrong.status, wrong.why) == (BROKEN, "the value is wrong")


@pytest.mark.parametrize("everywhere", [False, True])
def test_what_large_points_alone_refuse_is_said_with_their_sizes(everywhere: bool) -> None:
    sizes = {"m": 17, "n": 33}
    large = [prepared(*ROWS, order=2, sizes=sizes), prepared(*ROWS, forward=True, sizes=sizes)]
    made = comparison(softmax, *large, prepared(*ROWS))
    small = {SECOND: [prepared(*ROWS, order=2)], FORWARD: [prepared(*ROWS, forward=True)]}
    made.points.others = small  # type: ignore[attr-defined]
    found_at = made._gap

    def refusing(point: Point, *given: Any, **asked: Any) -> Gap | None:
        if point.is_beyond_first and (everywhere or point.sizes):
            raise NotDifferentiable("no")
        return found_at(point, *given, **asked)

    made._gap = refusing  # type: ignore[method-assign]
    found = run(made, SIZES)
    assert (found.status, found.examples) == (SATISFIED, 1)
    where = "where m = 17, n = 33"
    said = f"no second derivatives {where}, {NOT_DIFFERENTIABLE}: no; it has no forward mode {where} (no)"
    assert found.why == ("" if everywhere else said)


def test_a_wrong_number_in_float32_is_excused_only_where_the_definition_has_none_either() -> None:
    """e^(x + 80) is too large for float32 at 10, and at 1 it is not."""

    def definition(T: Any) -> Any:
        return torch.exp(T + 80)

    def never(T: Any) -> Any:
        return definition(T) / 0

    for x, status in ((10.0, UNCHECKABLE), (1.0, BROKEN)):
        point = prepared((x,), order=0, definition=definition)
        point.point.of = definition
        found = run(comparison(never, point), SIZES, "float32")
        assert found.status == status
    assert run(comparison(never, point), SIZES, "float64").status == BROKEN


# -- what a comparison concludes ---------------------------------------------------------------------------------------


def walk(check: str = FIRST, examples: int = 1, refused: str = "", dtype: str = "float64") -> Walk:
    return Walk(Finding(check, "", dtype, UNCHECKABLE, examples=examples), refused=refused)


REFUSED = f"{NOT_DIFFERENTIABLE}: RuntimeError: no"


@pytest.mark.parametrize(("check", "examples", "refused", "status", "why"), [
    (FIRST, 1, "", SATISFIED, ""),
    (FIRST, 0, "", UNCHECKABLE, "rounding leaves nothing to compare"),
    (FIRST, 1, REFUSED, UNCHECKABLE, REFUSED),
    (SIZES, 1, REFUSED, SATISFIED, f"values alone, {REFUSED}"),
    (SIZES, 0, REFUSED, UNCHECKABLE, REFUSED),
    (FORWARD, 1, REFUSED, LEFT_OUT, "it has no forward mode (RuntimeError: no)"),
    (FORWARD, 0, "", UNCHECKABLE, "rounding leaves nothing to compare"),
    (SECOND, 1, REFUSED, UNCHECKABLE, REFUSED),
])  # fmt: skip
def test_what_is_concluded_where_nothing_wrong_was_met(
    check: str, examples: int, refused: str, status: str, why: str
) -> None:
    found = walk(check, examples, refused).concluded()
    assert (found.status, found.why, found.residual) == (status, why, 0.0)


def test_the_largest_distance_is_kept_and_of_equal_ones_the_last() -> None:
    made = walk()
    for residual, title in ((0.0, "none"), (2.0, "first"), (1.0, "smaller"), (2.0, "second")):
        made.measured(residual, title)
    assert (made.finding.residual, made.finding.at) == (2.0, "second")


def gap(roundings: float, near: bool, smooth: bool = True, at_most: float = 0.25, residual: float = 0.125) -> Any:
    return SimpleNamespace(
        roundings=roundings, is_near=near, at_most=at_most, residual=residual, reference=SimpleNamespace(smooth=smooth)
    )


@pytest.mark.parametrize(("dtype", "agreeing", "residual", "at"), [
    ("float64", [gap(1.0, False), gap(2.0, True)], 0.25, "1"),
    ("bfloat16", [gap(1.0, False), gap(2.0, True)], 0.125, "1"),
    ("float64", [gap(2.0, False, smooth=False), gap(1.0, False)], 0.125, "1"),
    ("float64", [gap(3.0, False), gap(1.0, True, at_most=0.5)], 0.125, "0"),
    ("float64", [gap(2.0, False, smooth=False)], 0.0, ""),
])  # fmt: skip
def test_of_results_that_agree_the_one_is_measured_that_differs_most_and_can_be(
    dtype: str, agreeing: list[Gap], residual: float, at: str
) -> None:
    made = walk(dtype=dtype)
    made.agreeing = [(each, str(number)) for number, each in enumerate(agreeing)]
    found = made.concluded()
    assert (found.residual, found.at or "") == (residual, at)


# -- many calls, and what is not asked for -----------------------------------------------------------------------------


def repeated(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, calls: int = 4) -> Finding:
    made = comparison(function)
    monkeypatch.setattr(of_gate, "REPETITIONS", calls)
    points = [prepared(*ROWS, title="ordinary").point]
    monkeypatch.setattr(of_gate, "ordinary_points", lambda *_: iter(points))
    return run(made, REPEATED)


def test_a_result_that_changes_from_call_to_call_is_named_with_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def changing(size: float) -> Callable[..., Any]:
        left = iter([0.0, 0.0, size, 0.0, 0.0, 0.0, 0.0, 0.0])
        return lambda T: softmax(T) + next(left)

    found = repeated(changing(1e-9), monkeypatch)
    assert (found.check, found.label, found.dtype) == (REPEATED, COMPARISONS[REPEATED], "float64")
    assert (found.status, found.at) == (BROKEN, "ordinary")
    assert found.why == "call 3 at the same arguments: the value is not that of the first"
    assert repeated(changing(math.nan), monkeypatch).status == BROKEN
    within = repeated(changing(1e-16), monkeypatch)
    assert (within.status, within.why, within.examples) == (SATISFIED, "", 4)


def test_what_refuses_derivatives_is_called_for_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    found = repeated(refuses, monkeypatch)
    assert (found.status, found.examples) == (SATISFIED, 4)
    left = iter([0.0, 1.0, 0.0, 0.0])
    found = repeated(lambda T: refuses(T) + next(left), monkeypatch)
    assert (found.status, found.why) == (BROKEN, "call 2 at the same arguments: the value is not that of the first")

    def raising(T: Any) -> Any:
        raise Raised("ValueError: no")

    found = repeated(raising, monkeypatch)
    assert (found.status, found.why) == (BROKEN, "call 1 at the same arguments: ValueError: no")


def test_a_subject_is_compared_as_far_as_it_has_derivatives_large_sizes_and_rows() -> None:
    made = comparison(softmax)
    for derivatives, largest, rows, expected in (
        (0, 0, None, []), (1, 0, None, [FIRST, FORWARD]), (2, 0, None, [FIRST, SECOND, FORWARD]),
        (0, 65, None, [SIZES]), (1, 65, softmax, [FIRST, FORWARD, SIZES, LONG, BIAS]),
    ):  # fmt: skip
        made.profile = SimpleNamespace(derivatives=derivatives, largest=largest, few_rows=rows)  # type: ignore[assignment]
        assert made.checks == expected
    made.settings = settings_for("deep")
    assert made.checks == [FIRST, FORWARD, SIZES, LONG, BIAS, REPEATED]


def biased(factor: float, monkeypatch: pytest.MonkeyPatch) -> Finding:
    points = [prepared((0.5 + n / 8, -1.0, n / 4), (2.0 - n / 8, 0.25, 1.0)).point for n in range(8)]
    monkeypatch.setattr(of_gate, "ordinary_points", lambda *_: iter(points))
    return run(comparison(lambda T: (torch.softmax(T.float(), -1) * factor).to(T.dtype)), BIAS, "bfloat16")


def test_a_bias_is_named_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    found = biased(1.0, monkeypatch)
    assert (found.check, found.label, found.dtype) == (BIAS, COMPARISONS[BIAS], "bfloat16")
    assert (found.status, found.why, found.examples) == (SATISFIED, "", 8)
    found = biased(0.9, monkeypatch)
    assert found.status == BROKEN and found.examples == 8
    assert " is off by -10 % on average (p = " in found.why or " is off by -9.9 % on average (p = " in found.why
    assert ALLOWED == 16.0


def test_a_bias_of_what_refuses_derivatives_is_that_of_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [prepared((0.5 + n / 8, -1.0), (2.0 - n / 8, 0.25)).point for n in range(8)]
    monkeypatch.setattr(of_gate, "ordinary_points", lambda *_: iter(points))
    found = run(comparison(refuses), BIAS, "bfloat16")
    assert (found.status, found.why) == (SATISFIED, f"{NOT_DIFFERENTIABLE}: no")
    found = run(comparison(lambda T: 0.9 * refuses(T)), BIAS, "bfloat16")
    assert found.status == BROKEN and found.why.startswith("the value is off by -")
