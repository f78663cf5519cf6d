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
from verify.gate.rounding import Reference
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
    made.points.halves = [prepared(*ROWS)] * 2  # type: ignore[attr-defined]
    assert run(made, SIZES).examples == 3
    assert run(made, SIZES, "bfloat16").examples == 3


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
    calls.clear()
    run(comparison(counts, *points), SIZES)
    assert len(calls) == len(points) + of_gate.PATIENCE, "once it is given up, no derivative is asked for"
    wrong = run(comparison(lambda T: refuses(T) * (1 + 1e-6), *points), SIZES)
    assert (wrong.status, wrong.why) == (BROKEN, "the value is wrong")


@pytest.mark.parametrize("refused", [(), (SECOND,), (SECOND, FORWARD)])
def test_what_large_points_alone_refuse_is_said_with_their_sizes(refused: tuple[str, ...]) -> None:
    sizes = {"m": 17, "n": 33}
    large = [prepared(*ROWS, order=2, sizes=sizes), prepared(*ROWS, forward=True, sizes=sizes)]
    made = comparison(softmax, *large, prepared(*ROWS))
    small = {SECOND: [prepared(*ROWS, order=2)], FORWARD: [prepared(*ROWS, forward=True)]}
    made.points.others = small  # type: ignore[attr-defined]
    found_at = made._gap

    def refusing(point: Point, *given: Any, **asked: Any) -> Gap | None:
        if point.is_beyond_first and (point.sizes or (FORWARD if point.forward else SECOND) in refused):
            raise NotDifferentiable("no")
        return found_at(point, *given, **asked)

    made._gap = refusing  # type: ignore[method-assign]
    searched: list[bool] = []
    run_one = made.run
    made.run = lambda *given, shrinking=True: searched.append(shrinking) or run_one(*given, shrinking)  # type: ignore
    found = run(made, SIZES)
    assert searched == [False] * 3, "of what small points show an example is looked for elsewhere"
    assert (found.status, found.examples) == (SATISFIED, 1)
    where = "where m = 17, n = 33"
    said = {
        SECOND: f"no second derivatives {where}, {NOT_DIFFERENTIABLE}: no",
        FORWARD: f"it has no forward mode {where} (no)",
    }
    assert found.why == "; ".join(said[check] for check in said if check not in refused)


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

    def passing(T: Any) -> Any:
        return T + 1 / (1e30 * T * 1e30)

    # a number on the way is too large for float32, and the value of the definition is a number there all the same
    point = prepared((1.0,), order=0, definition=passing)
    point.point.of = passing
    assert run(comparison(lambda T: T / 0, point), SIZES, "float32").status == BROKEN


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


def repeated(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, calls: int = 4, dtype: str = "float64",
    points: list[Any] | None = None,
) -> Finding:  # fmt: skip
    made = comparison(function)
    monkeypatch.setattr(of_gate, "REPETITIONS", calls)

    def ordinary(profile: Any, settings: Any, count: int) -> Iterator[Any]:
        assert profile is made.profile and settings is made.settings and count == 1
        return iter([prepared(*ROWS, title="ordinary").point] if points is None else points)

    monkeypatch.setattr(of_gate, "ordinary_points", ordinary)
    return run(made, REPEATED, dtype)


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


@dataclass
class Scripted:
    """A point whose results are written down by their order, in units of one; keeps how it was asked."""

    by_order: dict[int, list[Any]]
    order: int = 1
    title: str = "scripted"
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    known: tuple[int, ...] = (1, 0)  #: orders in which the definition has a value

    def reference(self, definition: Any) -> Any:
        self.asked.append(("definition", self.order))
        unit = 0.0 if self.by_order.get(1) == [[], []] else 1.0  # of a value without entries
        return SimpleNamespace(unit=lambda name, eps: unit) if self.order in self.known else None

    def in_dtype(self, dtype: torch.dtype, device: str) -> Any:
        self.asked.append((dtype, device))
        return "arguments"

    def evaluate(self, standing: Any, arguments: Any) -> dict[str, torch.Tensor]:
        assert arguments == "arguments"
        found = self.by_order[self.order].pop(0)
        if isinstance(found, Exception):
            raise found
        return {"the value": torch.tensor(found, dtype=torch.float64)}


CHANGES_AT_2 = "call 2 at the same arguments: the value is not that of the first"


@pytest.mark.parametrize(("by_order", "known", "dtype", "status", "why", "examples"), [
    ({1: [[1.0], [1.0 + ALLOWED]]}, (1, 0), "float64", SATISFIED, "", 2),
    ({1: [[1.0], [1.5 - ALLOWED]]}, (1, 0), "float64", SATISFIED, "", 2),
    ({1: [[1.0], [1.5 + ALLOWED]]}, (1, 0), "float64", BROKEN, CHANGES_AT_2, 0),
    ({1: [[1.0], [4.0]]}, (1, 0), "bfloat16", BROKEN, CHANGES_AT_2, 0),
    ({1: [[], []]}, (1, 0), "float64", SATISFIED, "", 2),
    ({0: [[1.0], [1.0]]}, (0,), "float64", SATISFIED, "", 2),
    ({}, (), "float64", UNCHECKABLE, "the definition has no value", 0),
    ({1: [NotDifferentiable("no")], 0: [NotDifferentiable("never")]}, (1, 0), "float64", UNCHECKABLE,
     f"{NOT_DIFFERENTIABLE}: never", 0),
    ({1: [NotDifferentiable("no")]}, (1,), "float64", UNCHECKABLE, f"{NOT_DIFFERENTIABLE}: no", 0),
    ({1: [RuntimeError("no")], 0: [[1.0], [1.0]]}, (1, 0), "float64", SATISFIED, "", 2),
    ({1: [[1.0], WrongResult("result", "one", "none")]}, (1, 0), "float64", BROKEN,
     "call 2 at the same arguments: result: expected one; got none", 0),
])  # fmt: skip
def test_what_many_calls_come_to(
    by_order: dict[int, list[Any]], known: tuple[int, ...], dtype: str, status: str, why: str, examples: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    point = Scripted({order: list(results) for order, results in by_order.items()}, known=known)
    found = repeated(softmax, monkeypatch, 2, dtype, [point])
    assert (found.status, found.why, found.examples) == (status, why, examples)
    asked = [each for each in point.asked if each[0] != "definition"]
    assert set(asked) <= {(getattr(torch, dtype), "cpu")} and bool(asked) is bool(known)


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


def of_bias(
    monkeypatch: pytest.MonkeyPatch, errors: list[Any], found: list[Bias], dtype: str = "bfloat16"
) -> tuple[Finding, list[int]]:
    """What is found where errors in first derivatives, and then in values, are written down; and which were asked for."""
    made, orders = comparison(softmax), []
    made.settings = replace(made.settings, device="elsewhere")
    points, scripted = [at(1.0), at(2.0)], iter(errors)

    def ordinary(profile: Any, settings: Any, count: int) -> Iterator[Point]:
        assert profile is made.profile and settings is made.settings and count == 32
        return iter(points)

    def errors_of(asked: Any, mine: Any, definition: Any, in_dtype: Any, device: str) -> Any:
        assert mine is made.standing and definition is made.standing.definition
        assert in_dtype == getattr(torch, dtype) and device == "elsewhere"
        orders.extend({point.order for point in asked})
        answer = next(scripted)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def biases_of(of: Any, eps: float) -> list[Bias]:
        assert of == {"d/dx": [1.0]} and eps == torch.finfo(getattr(torch, dtype)).eps
        return found

    for name, value in {"ordinary_points": ordinary, "relative_errors": errors_of, "biases": biases_of}.items():
        monkeypatch.setattr(of_gate, name, value)
    return made.run(BIAS, dtype), orders


def test_what_a_mean_error_comes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    errors, no = {"d/dx": [1.0]}, NotDifferentiable("no")
    wrong, right = Bias("d/dx", -0.9, 1e-30), Bias("d/dx", 0.25, 0.5)
    assert wrong.is_rejected and not right.is_rejected
    for given, found, dtype, status, why, examples, expected in (
        ([errors], [right, wrong], "bfloat16", BROKEN, "d/dx is off by -90 % on average (p = 1e-30)", 2, [1]),
        ([errors], [wrong, right], "float16", SATISFIED, "", 2, [1]),
        ([errors], [], "bfloat16", UNCHECKABLE, "", 0, [1]),
        ([no, errors], [right], "bfloat16", SATISFIED, f"{NOT_DIFFERENTIABLE}: no", 2, [1, 0]),
        ([no, RuntimeError("never")], [], "bfloat16", UNCHECKABLE, f"{NOT_DIFFERENTIABLE}: never", 0, [1, 0]),
        ([Raised("ValueError: no")], [], "bfloat16", BROKEN, "ValueError: no", 0, [1]),
        ([WrongResult("result", "one", "none")], [], "bfloat16", BROKEN, "result: expected one; got none", 0, [1]),
    ):  # fmt: skip
        finding, orders = of_bias(monkeypatch, given, found, dtype)  # type: ignore[arg-type]
        assert (finding.status, finding.why, finding.examples, orders) == (status, why, examples, expected)


# -- where some arguments need a gradient ------------------------------------------------------------------------------

TURNED = "dynamics.normalised_oscillation"


def turned(x: Any, Omega: Any, eta: Any) -> Any:
    y = x + eta * (x @ Omega.mT)
    return y / y.norm(dim=-1, keepdim=True)


def of_three(function: Callable[..., Any], *etas: float) -> Comparison:
    """At points at which no derivative by x, Omega or eta vanishes, but where eta is 0 that by Omega."""
    load("theorems")
    x, Omega = torch.tensor([[0.5, -1.0]]).double(), torch.tensor([[0.25, 2.0], [-1.0, 0.5]]).double()
    made = Comparison(profile_of(TURNED), Standing(TURNED, function), settings_for("quick"))
    known = []
    for number, eta in enumerate(etas):
        point = Point({"x": x, "Omega": Omega, "eta": torch.tensor(eta).double()}, 1, 0, title=f"point {number}")
        truth = point.reference(made.standing.definition)
        assert truth is not None
        known.append(Prepared(point, truth, None))
    made.points = Known(known)  # type: ignore[assignment]
    made.points.claim = made.claim
    return made


def recorded(function: Callable[..., Any], needing: list[str]) -> Callable[..., Any]:
    """Keeps which arguments of calls need a gradient where not all do, once for calls that follow each other."""

    def called(x: Any, Omega: Any, eta: Any) -> Any:
        names = zip(("x", "Omega", "eta"), (x, Omega, eta), strict=True)
        found = " ".join(name for name, value in names if isinstance(value, torch.Tensor) and value.requires_grad)
        needing.extend([found] if found not in ("x Omega eta", *needing[-1:]) else [])
        return function(x, Omega, eta)

    return called


def run_of_three(made: Comparison, dtype: str = "float64") -> Finding:
    with replaced(TURNED, made.standing):
        return made.run(FIRST, dtype, shrinking=False)


def test_each_argument_alone_and_all_but_one_need_a_gradient_in_turn() -> None:
    needing: list[str] = []
    found = run_of_three(of_three(recorded(turned, needing), *[0.5] * 8))
    assert (found.status, found.examples) == (SATISFIED, 8)
    assert needing == ["x", "Omega", "eta", "Omega eta", "x eta", "x Omega"]


def test_where_a_derivative_vanishes_another_choice_is_taken() -> None:
    needing: list[str] = []
    run_of_three(of_three(recorded(turned, needing), 0.5, 0.0, 0.5))
    assert needing == ["x", "eta", "Omega"]


def test_a_number_that_is_taken_for_a_constant_is_in_no_choice() -> None:
    needing: list[str] = []
    run_of_three(of_three(recorded(lambda x, Omega, eta: turned(x, Omega, float(eta.detach())), needing), *[0.5] * 4))
    assert needing == ["x", "Omega"]


def frozen(names: str, factor: float) -> Callable[..., Any]:
    """Wrong derivatives where only the arguments that are named need a gradient."""

    def called(x: Any, Omega: Any, eta: Any) -> Any:
        needing: list[str] = []
        recorded(lambda *_: None, needing)(x, Omega, eta)
        value = turned(x, Omega, eta)
        return value * factor - (value * (factor - 1)).detach() if needing == [names] else value

    return called


@pytest.mark.parametrize(("names", "said", "at"), [
    ("x", "d/dx is wrong where only x needs a gradient", "point 0"),
    ("Omega eta", " is wrong where only Omega and eta need a gradient", "point 3"),
])  # fmt: skip
def test_a_derivative_that_is_wrong_where_some_arguments_need_none_is_named_with_the_others(
    names: str, said: str, at: str
) -> None:
    found = run_of_three(of_three(frozen(names, 1 + 1e-6), *[0.5] * 8))
    assert (found.status, found.at) == (BROKEN, at) and found.why.endswith(said) and found.why.startswith("d/d")
    assert found.residual is not None and found.residual > ALLOWED
    assert found.entries == (2 if names == "x" else 5) and set(found.inputs) == {"x", "Omega", "eta"}
    assert run_of_three(of_three(frozen(names, 1 + 1e-15), *[0.5] * 8)).status == SATISFIED
    assert run_of_three(of_three(frozen(names, 1 + 1e-6), *[0.5] * 8), "float32").status == SATISFIED
    assert run_of_three(of_three(frozen(names, 1 + 1e-2), *[0.5] * 8), "float32").status == BROKEN


def test_what_is_refused_where_some_arguments_need_no_gradient_is_broken() -> None:
    def refusing(x: Any, Omega: Any, eta: Any) -> Any:
        if not x.requires_grad and Omega.requires_grad:
            raise NotDifferentiable("no")
        return turned(x, Omega, eta)

    found = run_of_three(of_three(refusing, *[0.5] * 8))
    assert (found.status, found.at, found.why) == (BROKEN, "point 1", "no, where only Omega needs a gradient")


def test_a_choice_that_could_not_be_compared_or_is_off_within_what_is_allowed_is_not_broken() -> None:
    made = of_three(turned, 0.5)
    (known,) = made.points.prepared(FIRST)
    scripted = iter([None, within(ALLOWED), within(ALLOWED + 1, agrees=True), within(ALLOWED + 1)])
    made._gap = lambda *given, **asked: next(scripted)  # type: ignore[method-assign]
    searches: list[bool] = []
    describe = made._describe
    made._describe = lambda *given, shrinking: searches.append(shrinking) or describe(*given, shrinking)  # type: ignore
    finding, asked = walk().finding, []  # type: ignore[var-annotated]
    assert not made._is_wrong_in_part(finding, known, asked) and asked == []
    assert not made._is_wrong_in_part(finding, known, asked) and asked == [["x"]]
    assert not made._is_wrong_in_part(finding, known, asked) and asked == [["x"], ["Omega"]]
    assert made._is_wrong_in_part(finding, known, asked) and finding.residual == ALLOWED + 1
    assert searches == [False], "no smaller example is searched for"
    scripted = iter([within(3.0)])
    assert made._is_wrong_in_part(walk(dtype="bfloat16").finding, known, [])


class Recording(Point):
    """Keeps in which precision and on which device its arguments are asked for, and gives them on the CPU."""

    def in_dtype(self, dtype: torch.dtype, device: str) -> dict[str, Any]:
        ASKED.append((dtype, device))
        return super().in_dtype(dtype, "cpu")


ASKED: list[tuple[torch.dtype, str]] = []


def test_arguments_are_asked_for_on_the_device_of_the_settings_and_those_of_the_definition_on_the_cpu() -> None:
    made = of_three(turned, 0.5)
    made.settings = replace(made.settings, device="elsewhere")
    (known,) = made.points.prepared(FIRST)
    known.point.__class__ = Recording
    ASKED.clear()
    assert run_of_three(made, "float32").status == SATISFIED
    assert len(ASKED) >= 3 and set(ASKED) == {(torch.float32, "elsewhere")}
    made = of_three(lambda x, Omega, eta: turned(x, Omega, eta) / 0, 0.5)
    made.settings = replace(made.settings, device="elsewhere")
    (known,) = made.points.prepared(FIRST)
    known.point.__class__ = Recording
    ASKED.clear()
    assert run_of_three(made, "float32").status == BROKEN
    assert list(ASKED) == [(torch.float32, "elsewhere"), (torch.float32, "cpu")]


def test_all_calls_are_in_the_precision_that_is_asked_for() -> None:
    seen: set[torch.dtype] = set()

    def called(x: Any, Omega: Any, eta: Any) -> Any:
        seen.add(x.dtype)
        return turned(x, Omega, eta)

    run_of_three(of_three(called, 0.5), "float32")
    assert seen == {torch.float32}


def test_a_point_counts_where_something_was_compared_or_no_kink_is_in_the_way() -> None:
    made = comparison(softmax)
    for found, smooth, compared, examples in (
        (None, True, 1, 0), (None, False, 0, 0), (within(1.0), False, 1, 1), (within(1.0), True, 1, 1),
    ):  # fmt: skip
        made._gap = lambda *given, found=found, **asked: found  # type: ignore[method-assign]
        of, point = walk(SECOND, examples=0), Point({}, 2, 0, title="here")
        assert not made._is_broken_at(Prepared(point, SimpleNamespace(smooth=smooth), None), of, False)  # type: ignore[arg-type]
        assert (of.compared, of.finding.examples, of.finding.at) == (compared, examples, "here" * examples)


@pytest.mark.parametrize(("dtype", "most"), [("float64", ALLOWED), ("bfloat16", 2.0)])
def test_what_is_off_within_what_is_allowed_is_not_broken(dtype: str, most: float) -> None:
    made, described = comparison(softmax), []  # type: ignore[var-annotated]
    made._describe = lambda *given, **asked: described.append((*given[1:], *asked.values()))  # type: ignore[method-assign]
    point = prepared(*ROWS, title="ordinary, m = 2")
    cases = ((None, False), (within(most), False), (within(most + 1, agrees=True), False), (within(most + 1), True))
    for found, is_wrong in cases:
        asked: list[Any] = []

        def gap_of(point: Point, *given: Any, found: Any = found, asked: list[Any] = asked, **how: Any) -> Any:
            asked.append((point.order, how))
            return found

        made._gap = gap_of  # type: ignore[method-assign]
        assert made._is_wrong_without_gradients(walk(dtype=dtype).finding, point) is is_wrong
        assert asked == [(0, {"around": torch.no_grad})]
        asked.clear()
        assert made._is_broken_at(point, walk(SECOND, dtype=dtype), True) is is_wrong
        assert asked == [(1, {"values": False})]
    (without, gap, shrinking), (with_gradients, same, searched_for) = described
    assert (without.point.order, without.truth, shrinking) == (0, point.truth, False) and gap is same
    assert with_gradients is point and searched_for


def test_what_is_refused_where_no_gradient_is_asked_for_is_said_as_it_is() -> None:
    def refusing(T: Any) -> Any:
        if not torch.is_grad_enabled():
            raise WrongResult("result", "one", "none")
        return softmax(T)

    found = run(comparison(refusing, prepared(*ROWS, title="ordinary")), SIZES)
    assert found.why == "result: expected one; got none, where no gradient is asked for"


def within(residual: float, agrees: bool = False, name: str = "d/dx", again: bool = False) -> Any:
    """A result that is so many units off."""
    x = torch.tensor([1.0])
    return SimpleNamespace(residual=residual, agrees=agrees, name=name, again=again, yours=x, truth=2 * x)


# -- what excuses a distance -------------------------------------------------------------------------------------------


def gap_of(
    function: Callable[..., Any], point: Prepared, dtype: str = "float64", jumps: bool | None = None, **asked: Any
) -> tuple[Gap | None, list[tuple[Any, ...]]]:
    """A distance, and what was asked about kinks."""
    questions: list[tuple[Any, ...]] = []

    def answered(evaluate: Any, *given: Any) -> bool:
        assert torch.equal(evaluate(point.point.arguments)["the value"], point.truth.results["the value"])
        questions.append(given)
        return bool(jumps)

    point.truth.jumps = answered  # type: ignore[method-assign,assignment]
    made = comparison(function, point)
    with replaced(SOFTMAX, made.standing):
        return made._gap(point.point, point.truth, dtype, **asked), questions


def test_only_a_wrong_result_is_asked_for_a_kink_that_may_explain_it() -> None:
    def wrong(T: Any) -> Any:
        return softmax(T) * (1 + 1e-6)

    point = prepared(*ROWS)
    found, questions = gap_of(softmax, point)
    assert found is not None and found.agrees and questions == []
    found, questions = gap_of(wrong, point, jumps=False)
    definition = Standing(SOFTMAX, softmax).definition
    assert found is not None and found.residual > ALLOWED
    assert questions == [("float64", "the value", (definition, 1, "T"))]
    assert gap_of(wrong, point, jumps=True)[0] is None
    found, questions = gap_of(wrong, point, jumps=True, kinks=False)
    assert found is not None and questions == []
    found, questions = gap_of(wrong, point, jumps=False, values=True)
    assert found is not None and questions == [("float64", "the value", (definition, 0, "T"))]
    found, _ = gap_of(lambda T: softmax(T) * (1 + 5e-7), prepared(*ROWS), "float32", jumps=False)
    assert found is not None and found.residual <= ALLOWED
    point.point.of = softmax
    assert gap_of(wrong, point, jumps=False)[1][0][2] == (point.point.of, 1, "T")


@pytest.mark.parametrize(("dtype", "most"), [("float64", ALLOWED), ("bfloat16", 2.0)])
def test_what_agrees_or_is_within_what_is_allowed_needs_no_excuse(
    dtype: str, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    point, definition = prepared(*ROWS), Standing(SOFTMAX, softmax).definition
    for found, is_asked in (
        (None, False), (within(most), False), (within(most + 1, agrees=True, name="the value"), False),
        (within(most + 1, name="the value"), True),
    ):  # fmt: skip

        def gap_at(
            of: Any, mine: Any, truth: Any, in_dtype: Any, device: str, at_most: float, *around: Any, found: Any = found
        ) -> Any:
            assert in_dtype == getattr(torch, dtype) and (device, at_most) == ("cpu", most)
            return found

        monkeypatch.setattr(of_gate, "gap_at", gap_at)
        kept, questions = gap_of(softmax, point, dtype, jumps=True)
        assert questions == ([(dtype, "the value", (definition, 1, "T"))] if is_asked else [])
        assert kept is (None if is_asked else found)


def test_what_overflows_in_half_precision_is_excused_where_numbers_of_the_definition_may() -> None:
    def definition(T: Any) -> Any:
        return 600 * torch.tanh(T)

    for factor, excused in ((1000.0, True), (1.0, False)):

        def scaled(T: Any, factor: float = factor) -> Any:
            return factor * definition(T) / factor

        point = prepared((1.0, -1.0), order=0, definition=scaled, of=scaled)
        found, questions = gap_of(lambda T: definition(T) * math.inf, point, "float16")
        assert (found is None) is excused and questions == []
    assert gap_of(lambda T: 2 * definition(T), point, "float16", jumps=False)[1]


def test_the_shape_of_the_value_is_known_and_kernels_of_a_call_are_counted() -> None:
    def fused(T: Any) -> Any:
        x = torch.ones(1, 1, 2, 8)
        torch.nn.functional.scaled_dot_product_attention(x, x, x)
        return softmax(T)

    point = prepared(*ROWS)
    made = comparison(fused, point)
    with replaced(SOFTMAX, made.standing):
        made._gap(point.point, point.truth, "float64")
        assert sum(made.kernels.values()) == 1 and made.standing._shapes == {}
        modes: list[bool] = []
        made.standing.implementation = lambda T: modes.append(torch.is_grad_enabled()) or softmax(T)
        made._gap(prepared(*ROWS, order=0).point, point.truth, "float64", around=torch.no_grad)
        assert modes == [False]


# -- the example that is shown -----------------------------------------------------------------------------------------


def searched(function: Callable[..., Any], *points: Prepared, dtype: str = "float64", **drawn: Any) -> Finding:
    """What a comparison of sizes finds, with a search for a small example."""
    made = comparison(function, *points)
    with replaced(SOFTMAX, made.standing):
        return made.run(SIZES, dtype)


def test_an_example_is_made_as_small_as_the_claim_admits_where_arrays_were_drawn() -> None:
    rows = ((0.5, -1.0, 2.0), (2.0, 0.25, 1.0))
    point = prepared(*rows)
    point.arrays = {"T": point.point.arguments["T"].numpy()[None]}
    found = searched(lambda T: softmax(T) * (1 + 1e-6), point)
    assert found.inputs == {"T": [[0.0]]} and found.entries == 1 and found.expected == [1.0]
    assert found.why == "the value is wrong"
    found = searched(lambda T: softmax(T) * (1 + 1e-6 * (T.shape[1] > 1 and bool((T > 1.5).any()))), point)
    assert found.inputs == {"T": [[0.0, 0.0, 2.0]]}
    found = searched(lambda T: softmax(T) * (1 + 1e-2 * (T.shape[0] > 1)), point, dtype="float32")
    assert found.inputs == {"T": [[0.0], [0.0]]}
    made = comparison(lambda T: softmax(T) * (1 + 1e-6), point)
    assert run(made, SIZES).inputs == {"T": list(map(list, rows))}, "no search where none is asked for"


def test_an_example_that_a_kink_explains_is_searched_for_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    point = prepared((0.5, -1.0))
    point.arrays = {"T": point.point.arguments["T"].numpy()[None]}
    monkeypatch.setattr(Reference, "jumps", lambda self, *given: self.results["the value"].numel() < 2)
    found = searched(lambda T: softmax(T) * (1 + 1e-6), point)
    assert found.inputs == {"T": [[0.0, 0.0]]}
    monkeypatch.setattr(
        Reference, "jumps", lambda self, *given: bool((self.arguments["T"] != point.point.arguments["T"]).any())
    )
    monkeypatch.setattr(of_gate, "SHRINKING", 1)
    assert searched(lambda T: softmax(T) * (1 + 1e-6), point).inputs == {"T": [[0.5, -1.0]]}


def test_a_smaller_example_is_in_range_and_a_kink_is_looked_for_at_the_last_one_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point, asked = prepared((0.5, -1.0)), []  # type: ignore[var-annotated]
    point.arrays = {"T": point.point.arguments["T"].numpy()[None]}
    monkeypatch.setattr(Reference, "jumps", lambda self, *given: asked.append(self.arguments["T"].tolist()))
    assert searched(lambda T: softmax(T) * (1 + 1e-6), point).inputs == {"T": [[0.0]]}
    assert asked == [[[0.5, -1.0]], [[0.0]]], "where it was found to be wrong, and at the small example"
    tries: list[int] = []
    with monkeypatch.context() as inside:
        inside.setattr(of_gate, "shrunk", lambda claim, seed, breaks, most: tries.append(most) or seed)
        searched(lambda T: softmax(T) * (1 + 1e-6), point)
    assert tries == [of_gate.SHRINKING]
    monkeypatch.setattr(of_gate, "in_range", lambda claim, seed: bool((seed["T"] > 0.25).any()))
    assert searched(lambda T: softmax(T) * (1 + 1e-6), point).inputs == {"T": [[0.5]]}


def remade(sizes: Any) -> Point:
    return Point({"T": torch.zeros(sizes["m"], sizes["n"]).double()}, 1, 0, title=f"m = {sizes['m']}", sizes=sizes)


def test_an_example_is_made_smaller_size_by_size_where_its_point_can_be_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def smaller(profile: Any, claim: Any, sizes: Any) -> Iterator[dict[str, int]]:
        assert profile.name == SOFTMAX and claim is made.claim
        for m in range(1, sizes["m"]):
            asked.append(m)
            yield {"m": m, "n": 1}

    monkeypatch.setattr(of_gate, "smaller_sizes", smaller)
    point = prepared(*[(0.0,)] * 9, sizes={"m": 9, "n": 1}, remade=remade)

    def wrong(T: Any) -> Any:
        return softmax(T) * (1 + 1e-6 * (T.shape[0] >= 4))

    made = comparison(wrong, point)
    with replaced(SOFTMAX, made.standing):
        found = made.run(SIZES, "float64")
    assert (found.at, found.entries) == ("m = 4", 4) and asked == [1, 2, 3, 4, 1, 2, 3]
    for most, at, calls in ((7, "m = 4", 7), (5, "m = 4", 5), (4, "m = 4", 4), (3, "made up", 3)):
        monkeypatch.setattr(of_gate, "SHRINKING", most)
        asked.clear()
        made = comparison(wrong, point)
        with replaced(SOFTMAX, made.standing):
            found = made.run(SIZES, "float64")
        assert found.at == at and len(asked) == calls


def test_a_search_that_ends_with_an_error_keeps_what_was_found() -> None:
    def broken(sizes: Any) -> Point:
        raise RuntimeError("no\nmore of it")

    point = prepared(*ROWS, sizes={"m": 2, "n": 2}, remade=broken)
    found = searched(lambda T: softmax(T) * (1 + 1e-6), point)
    assert found.status == BROKEN and found.inputs == {"T": [list(row) for row in ROWS]}
    assert found.why == "the value is wrong; the search for a smaller example ended with RuntimeError: no"


def test_where_nothing_can_be_compared_there_is_no_smaller_example() -> None:
    made = comparison(softmax)
    point = prepared(*ROWS).point
    scripted = iter([None, within(ALLOWED + 1, agrees=True), within(ALLOWED), within(ALLOWED + 1)])
    made._gap = lambda *given, **asked: next(scripted)  # type: ignore[method-assign]
    assert [made._broken_at(point, "float64") is None for _ in range(4)] == [True, True, True, False]
    for problem in (NotDifferentiable("no"), Raised("no"), WrongResult("result", "one", "none")):

        def raising(*given: Any, problem: Exception = problem, **asked: Any) -> Any:
            raise problem

        made._gap = raising  # type: ignore[method-assign]
        assert made._broken_at(point, "float64") is None
    asked: list[Any] = []
    made._gap = lambda *given, **how: asked.append((*given[2:], how)) or within(3.0)  # type: ignore
    never = Point({"T": torch.full((1, 1), math.nan).double()}, 1, 0)
    assert made._broken_at(never, "float64") is None and asked == []
    assert made._broken_at(point, "float64") is None and made._broken_at(point, "bfloat16", False) is not None
    assert asked == [("float64", {"kinks": True}), ("bfloat16", {"kinks": False})]


def test_a_second_pass_is_said_and_what_needs_no_gradient_is_no_entry() -> None:
    made, finding = comparison(softmax), walk().finding
    x, mask = torch.tensor([-0.0, 1.0]).double().requires_grad_(), torch.tensor([True])
    point = Point({"x": x, "mask": mask, "n": 3}, 1, 0, title="here")
    made._describe(finding, Prepared(point, None, None), within(20.0, again=True), True)  # type: ignore[arg-type]
    assert finding.why == "d/dx is wrong in a second backward pass through the same graph" and finding.entries == 2
    assert repr(finding.inputs) == repr({"x": [0.0, 1.0], "mask": [True], "n": 3})
    assert (finding.yours, finding.expected, finding.at, finding.residual) == ([1.0], [2.0], "here", 20.0)
