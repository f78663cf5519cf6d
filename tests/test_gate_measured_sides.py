"""How far an implementation is from one claim at a draw, in which units, and what is kept of a break."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pytest
import torch

from tests.measured_toys import QUICK, TOYS, Matrix, finding, sample, toy
from verify.checks.units import Unit
from verify.gate import measure
from verify.gate.findings import BROKEN, DEFINITION, Finding
from verify.gate.measure import ALLOWED, CALLS, ComparedSides, Sample
from verify.gate.profiles import WITHIN_HALF
from verify.gate.subject_errors import NotDifferentiable, Raised, WrongResult
from verify.inputs.generators import Draw
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Shape
from verify.vocabulary.errors import NotFiniteError
from verify.vocabulary.registry import load
from verify.vocabulary.shapes import Real, Size
from verify.vocabulary.subjects import public_name_of

pytestmark = pytest.mark.kept


# -- both sides at a draw ----------------------------------------------------------------------------------------------


def at(
    left: Callable[[Any], Any], right: Callable[[Any], Any], T: Any, dtype: str = "float64", relation: Any = None,
    may_overflow: bool = True, standing: Any = None, **given: Any,
) -> Sample | None:  # fmt: skip
    claim = toy(left, right, relation, **given)
    of = ComparedSides.of(claim, standing)
    assert of is not None
    return measure._at(claim, of, {"T": np.array([T])}, QUICK, dtype, may_overflow)


def test_the_distance_of_two_sides_is_the_largest_and_is_counted_in_roundings_of_their_largest_entries() -> None:
    found = at(lambda T: 2 * T, lambda T: T, [[1.0, -3.0]])
    assert found is not None and (found.gap, found.residual) == (3.0, math.inf)
    assert found.roundings == pytest.approx(3.0 / (2.0**-53 * (6.0 + 3.0)))
    assert found.left.tolist() == [2.0, -6.0] and found.right.tolist() == [1.0, -3.0]
    single = at(lambda T: 2 * T, lambda T: T, [[1.0, -3.0]], "float32")
    assert single is not None and single.roundings == pytest.approx(3.0 / (2.0**-24 * 9.0))
    assert single.left.dtype == single.right.dtype == torch.float32
    equal = at(lambda T: T, lambda T: T, [[0.0]])
    assert equal is not None and (equal.gap, equal.roundings) == (0.0, 0.0)
    bound = at(lambda T: T, lambda T: 2 * T, [[1.0, -3.0]], relation=AtMost())
    assert bound is not None and (bound.gap, bound.roundings) == (1.0, math.inf)


def test_a_number_fits_every_shape_and_other_numbers_of_entries_are_infinitely_far() -> None:
    one = at(lambda T: T, lambda T: T[:1, :1] * 0 + 1, [[1.0, 3.0]])
    assert one is not None and one.gap == 2.0
    two = at(lambda T: T, lambda T: T[:, :2], [[1.0, 3.0, 5.0]])
    assert two is not None and (two.gap, two.roundings) == (math.inf, math.inf)
    none = at(lambda T: T[:0], lambda T: T[:0], [[1.0]])
    assert none is not None and (none.gap, none.roundings) == (0.0, math.inf)


def test_a_left_side_without_end_is_infinitely_far_and_a_right_one_is_no_example() -> None:
    for relation in (Equal(), AtMost()):
        found = at(*[lambda T: -T / 0, lambda T: T][:: -1 if relation != Equal() else 1], [[1.0]], relation=relation)
        assert found is not None and (found.gap, found.roundings) == (math.inf, math.inf)
    assert at(lambda T: T, lambda T: T / 0, [[1.0]]) is None
    claim = toy(lambda T: T, lambda T: T)

    def scaled(factor: float) -> Callable[[Any], Any]:
        return lambda T: factor * T

    for factor, gap in ((3.0, 3.0), (math.inf, None)):
        alone = ComparedSides(scaled(factor), None, False)
        kept = measure._at(claim, alone, {"T": np.ones((1, 1, 1))}, QUICK, "float64")
        assert (None if kept is None else kept.gap) == gap
        assert kept is None or (kept.right.tolist() == [0.0] and kept.roundings == math.inf)


def test_assumptions_that_fail_leave_no_example() -> None:
    positive = (Assumption("T is positive", positive=lambda T: T),)
    assert at(lambda T: T, lambda T: T, [[-1.0]], assumptions=positive) is None
    assert at(lambda T: T, lambda T: T, [[1.0]], assumptions=positive) is not None


def test_in_half_precision_the_other_side_is_that_of_float64_at_the_rounded_numbers() -> None:
    seen: list[torch.dtype] = []

    def side(T: Any) -> Any:
        seen.append(T.dtype)
        return 2 * T

    found = at(side, side, [[1 / 3, 1.0]], "bfloat16")
    third = float(torch.tensor(1 / 3).bfloat16())
    assert found is not None and seen == [torch.bfloat16, torch.float64] and found.left.dtype == torch.float64
    assert isinstance(found.arrays["T"], np.ndarray) and found.arrays["T"].tolist() == [[[third, 1.0]]]
    assert found.right.tolist() == [2 * third, 2.0]
    assert at(side, side, [[1e6]], "float16") is None and at(side, side, [[1e6]], "bfloat16") is not None


def test_what_overflows_in_half_precision_is_excused_where_the_definition_overflows_too() -> None:
    def far(T: Any) -> Any:
        return 60000 * T * 0.001

    for right, may_overflow, excused in ((far, True, True), (far, False, False), (lambda T: 60 * T, True, False)):
        found = at(lambda T: T / 0, right, [[2.3]], "float16", may_overflow=may_overflow)
        assert (found is None) is excused and (found is None or found.gap == math.inf)
    assert at(lambda T: 60 * T, far, [[2.0]], "float16") is not None
    near = at(lambda T: T / 0, lambda T: 3003.3 * T * 1.25, [[4.203] * 64], "float16")
    assert near is not None, "the numbers are those of the definition without any error"
    claim = toy(lambda T: T / 0, far)
    of = ComparedSides.of(claim)
    assert of is not None and measure._at(claim, of, {"T": np.full((1, 1, 1), 2.0)}, QUICK, "float16") is None


def test_sizes_stay_integers_in_half_precision() -> None:
    claim = Claim(TOYS, "measured.sized", label="l", statement="s", relation=Equal(), sizes={"m": (1, 3), "n": (1, 3)})

    @claim.formula
    def formula(T: Matrix, n: Annotated[int, Size("n")]) -> Any:
        assert isinstance(n, int)
        return n * T

    @claim.oracle
    def oracle(T: Matrix) -> Any:
        return 2 * T

    claim.batched = False
    of = ComparedSides.of(claim)
    assert of is not None
    found = measure._at(claim, of, {"T": np.ones((1, 1, 2)), "n": 2}, QUICK, "float16")
    assert found is not None and found.gap == 0.0 and found.arrays["n"] == 2


def test_a_formula_of_the_paper_without_a_value_is_no_example_and_an_implementation_without_one_is() -> None:
    mine = SimpleNamespace(calls=0, name="nobody")

    def calling(T: Any) -> Any:
        mine.calls += 1
        return T / 0

    assert at(lambda T: T / 0, lambda T: T, [[1.0]], standing=mine) is None
    found = at(calling, lambda T: T, [[1.0]], standing=mine)
    assert found is not None and found.gap == math.inf
    assert at(lambda T: T / 0, lambda T: T, [[1.0]]) is not None


@pytest.mark.parametrize("problem", [NotFiniteError("value", "finite", "none"), Raised("no")])
def test_what_raises_at_inputs_that_are_none_is_no_example(problem: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(T: Any) -> Any:
        raise problem

    with pytest.raises(type(problem)):
        at(raising, lambda T: T, [[1.0]])
    monkeypatch.setattr(measure, "_has_inputs", lambda claim, raw: list(raw) != ["T"])
    assert at(raising, lambda T: T, [[1.0]]) is None


def test_whether_assumptions_are_met_and_a_side_are_found_once_where_they_cannot_call_the_implementation() -> None:
    calls: list[str] = []

    def positive(T: Any) -> Any:
        calls.append("test")
        return T

    def side(T: Any) -> Any:
        calls.append("side")
        return T

    for mine, times in ((None, 2), (SimpleNamespace(calls=0, name="nobody"), 1)):
        claim = toy(side, lambda T: T, assumptions=(Assumption("T is positive", positive=positive),))
        of = ComparedSides.of(claim, mine)  # type: ignore[arg-type]
        assert of is not None
        calls.clear()
        for _ in range(2):
            assert measure._at(claim, of, {"T": np.ones((1, 1, 1))}, QUICK, "float64") is not None
        assert calls.count("test") == calls.count("side") == times
        if mine:  # each precision, and each name in whose place it stands, by itself
            measure._at(claim, of, {"T": np.ones((1, 1, 1))}, QUICK, "float32")
            mine.name = "somebody"
            measure._at(claim, of, {"T": np.ones((1, 1, 1))}, QUICK, "float32")
            assert (calls.count("test"), calls.count("side")) == (2, 3)


@pytest.mark.parametrize("where", ["side", "test", "inputs"])
def test_what_may_call_the_implementation_is_evaluated_each_time(where: str) -> None:
    """Also where it does not call it this time, and where it calls it in a way that its code does not show."""
    load("theorems")
    public, calls, hidden = public_name_of("hessian.softmax"), [], False

    def calling(T: Any) -> Any:
        calls.append(T)
        mine.calls += hidden
        return T if hidden else 1 + public(T)

    def plain(T: Any) -> Any:
        return T

    def asked(T: Any) -> Any:
        calls.append(T)
        mine.calls += hidden
        return 1 + T

    def prepared(T: Matrix) -> dict[str, Any]:
        return {"T": public(T)}

    for name, hidden in (("hessian.softmax", False), ("nobody", True)):
        mine = SimpleNamespace(calls=0, name=name)
        test = {"side": plain, "test": calling, "inputs": asked}[where]
        claim = toy(
            calling if where == "side" else plain, plain, assumptions=(Assumption("T is positive", positive=test),)
        )
        if where == "inputs" and not hidden:
            claim.inputs(prepared)
        of = ComparedSides.of(claim, mine)  # type: ignore[arg-type]
        assert of is not None
        calls.clear()
        for _ in range(2):
            measure._at(claim, of, {"T": np.ones((1, 1, 2))}, QUICK, "float64")
        assert len(calls) == 2


def test_inputs_are_those_of_one_seed_and_finite() -> None:
    claim = Claim(TOYS, "measured.inputs", label="l", statement="s", relation=Equal(), sizes={"m": (1, 3), "n": (1, 3)})

    @claim.inputs
    def inputs(T: Matrix, n: Annotated[int, Size("n")]) -> dict[str, Any]:
        assert T.shape == (1, 2) and n == 2
        return {"T": 1 / T, "n": n}

    for x, finite in ((1.0, True), (0.0, False)):
        assert measure._has_inputs(claim, {"T": torch.tensor([[[1.0, x]]]), "n": 2}) is finite


def test_a_sample_is_measured_where_units_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = toy(lambda T: T, lambda T: T)
    of = ComparedSides.of(claim)
    assert of is not None
    found = measure.sample_at(claim, of, {"T": np.ones((1, 1, 1))}, QUICK, "float64")
    assert found is not None and found.residual == 0.0 and found.ulps is None
    found = measure.sample_at(claim, of, {"T": np.ones((1, 1, 1))}, QUICK, "float64", of_values=True)
    assert found is not None and found.ulps == 0.0
    monkeypatch.setattr(measure, "_measured", lambda *_: False)
    assert measure.sample_at(claim, of, {"T": np.ones((1, 1, 1))}, QUICK, "float64") is None


# -- units -------------------------------------------------------------------------------------------------------------


def measured(
    unit: float, monkeypatch: pytest.MonkeyPatch, gap: float = 3.0, dtype: str = "float64", of_values: bool = False,
    spread: float = 2.0, right: bool = True, left: Any = (1.0,),
) -> tuple[bool, Sample, list[Any]]:  # fmt: skip
    claim, asked = toy(lambda T: T, lambda T: T), []  # type: ignore[var-annotated]
    arrays = {"T": np.ones((1, 1, 1))}
    found = Sample(torch.tensor(left), None, math.inf, arrays=arrays, gap=gap)

    def unit_at(of: Any, functions: Any, seed: Any, bits: int) -> Unit:
        assert of is claim and len(functions) == 1 + right and seed["T"].shape == (1, 1)
        asked.append(bits)
        return Unit(unit)

    def spread_of(*given: Any) -> float:
        assert given == (claim, claim.the_oracle, arrays, dtype)
        asked.append("spread")
        return spread

    monkeypatch.setattr(measure, "unit_at", unit_at)
    monkeypatch.setattr(measure, "_spread_of", spread_of)
    monkeypatch.setattr(measure, "_compare_with_enclosure", lambda *given: asked.append(given[3:]))
    of = ComparedSides(claim.the_formula, claim.the_oracle if right else None, False)
    return measure._measured(claim, of, found, dtype, of_values), found, asked


def test_a_distance_is_divided_by_the_unit_of_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    is_decided, found, asked = measured(2.0, monkeypatch)
    assert (is_decided, found.residual, found.unit, asked) == (True, 1.5, 2.0, [53])
    claim, mine = toy(lambda T: T, lambda T: T), SimpleNamespace(calls=0)
    of = ComparedSides.of(claim, mine)  # type: ignore[arg-type]
    assert of is not None
    found.arrays, mine.asked = {"T": np.full((1, 1, 1), 3.0)}, 0

    def unit_at(of: Any, functions: Any, seed: Any, bits: int) -> Unit:
        mine.asked, mine.calls = mine.asked + 1, mine.calls + (bits == 24)
        return Unit(float(bits))

    monkeypatch.setattr(measure, "unit_at", unit_at)
    for dtype, bits, times in (("float64", 53, 1), ("float64", 53, 1), ("float32", 24, 2), ("float32", 24, 3)):
        assert measure._measured(claim, of, found, dtype, False) and (found.unit, mine.asked) == (bits, times)
    assert measured(0.0, monkeypatch)[1].residual == math.inf and measured(0.0, monkeypatch, gap=0.0)[1].residual == 0.0
    assert measured(2.0, monkeypatch, dtype="float32")[2] == [24]
    assert measured(2.0, monkeypatch, of_values=True)[2] == [53, (2.0, "float64")]
    assert measured(2.0, monkeypatch, gap=math.inf, of_values=True)[2] == [53]


def test_where_balls_give_no_unit_only_a_value_that_is_not_finite_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    for left, of_values, expected in (
        ((1.0,), True, False), ((math.nan, 1.0), True, True), ((math.nan,), False, False),
    ):  # fmt: skip
        is_decided, found, _ = measured(math.inf, monkeypatch, of_values=of_values, left=left)
        assert (is_decided, found.residual) == (expected, math.inf)


def test_in_half_precision_the_spread_of_the_definition_stands_in_for_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    is_decided, found, asked = measured(math.inf, monkeypatch, dtype="float16")
    assert (is_decided, found.residual, asked) == (True, 1.5, [11, "spread"])
    is_decided, found, _ = measured(math.inf, monkeypatch, dtype="bfloat16", spread=math.inf)
    assert (is_decided, found.residual) == (False, 0.0)
    for other in ({"gap": math.inf}, {"right": False}):
        assert measured(math.inf, monkeypatch, dtype="float16", **other)[::2] == (False, [11])  # type: ignore[arg-type]
    assert measured(2.0, monkeypatch, dtype="float16")[1:][1] == [11]


def test_the_spread_is_that_of_half_precision_and_infinite_at_a_kink() -> None:
    claim = toy(lambda T: T, lambda T: T)
    for function, finite in ((lambda T: 2 * T, True), (lambda T: torch.sign(1 * T), False), (lambda T: T / 0, False)):
        spread = measure._spread_of(claim, function, {"T": np.zeros((1, 1, 2)) + (1.0 if finite else 0.0)}, "bfloat16")
        assert math.isfinite(spread) is finite
    for dtype, eps in (("bfloat16", 2.0**-7), ("float16", 2.0**-10)):
        spread = measure._spread_of(claim, lambda T: 2 * T, {"T": np.ones((1, 1, 2))}, dtype)
        assert 2 * eps <= spread <= 12 * eps
    assert math.isfinite(measure._spread_of(claim, lambda T, n: n * T, {"T": np.ones((1, 1, 2)), "n": 2}, "float16"))


def test_another_call_that_gives_other_values_is_a_change_but_for_roundings(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = toy(lambda T: T, lambda T: T)

    def changed(by: Any, residual: float = 0.0, unit: float = 1.0, dtype: str = "float64") -> tuple[bool, int]:
        calls: list[Any] = []

        def left(T: Any) -> Any:
            assert T.dtype == getattr(torch, dtype)
            calls.append(T)
            return T + (by if len(calls) == 3 or residual == 0.0 else 0.0)

        found = Sample(torch.ones(1, dtype=torch.float64), None, residual, unit=unit, arrays={"T": np.ones((1, 1, 1))})
        return measure._changes(claim, ComparedSides(left, None, False), found, QUICK, dtype), len(calls)

    assert changed(0.0) == (False, 1) and changed(1e-9, unit=0.0) == (True, 1) and changed(0.0, unit=0.0) == (False, 1)
    assert changed(ALLOWED) == (False, 1) and changed(ALLOWED + 1) == (True, 1) and changed(-ALLOWED - 1) == (True, 1)
    assert changed(math.nan) == (False, 1) and changed(0.0, ALLOWED) == (False, 1)
    assert changed(0.0, ALLOWED + 1) == (False, CALLS) and changed(99.0, ALLOWED + 1) == (True, 3)
    assert changed(0.0, 3.0, dtype="float16") == (False, CALLS)
    assert changed(math.nan, unit=0.0) == (False, 1) and changed(20.0, unit=2.0) == (False, 1)
    nothing = Sample(torch.ones(0), None, 0.0, unit=0.0, arrays={"T": np.ones((1, 1, 1))})
    assert not measure._changes(claim, ComparedSides(lambda T: T[:0], None, False), nothing, QUICK, "float64")


def test_a_value_is_held_to_an_enclosure_and_ulps_are_given_where_it_is_well_conditioned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    eps = 2.0**-52

    def compared(unit: float, truth: Any = (2.0, -4.0), left: Any = (2.0, -4.5), residual: float = 0.0) -> Sample:
        claim = toy(lambda T: T, lambda T: T)
        monkeypatch.setattr(measure, "_enclosed", lambda *_: None if truth is None else np.array(truth))
        found = Sample(torch.tensor(left).double(), None, residual)
        measure._compare_with_enclosure(claim, found, {"T": np.ones((1, 1))}, unit, "float64")
        return found

    found = compared(0.25)
    assert (found.residual, found.ulps) == (2.0, None)
    assert compared(0.25, residual=3.0).residual == 3.0
    assert compared(1024 * 4 * eps).ulps == 0.5 / (4 * eps) and compared(1025 * 4 * eps).ulps is None
    assert compared(0.0).ulps is None and compared(0.0).residual == math.inf
    for nothing in (compared(0.25, None), compared(0.25, left=()), compared(0.25, left=(math.inf, 1.0))):
        assert (nothing.residual, nothing.ulps) == (0.0, None)


def test_an_enclosure_is_that_of_the_definition_and_is_none_where_it_has_no_value() -> None:
    found = measure._enclosed(toy(lambda T: T, lambda T: 3 * T), {"T": np.array([[1.0, 2.0]])})
    assert found is not None and found.tolist() == [3.0, 6.0]

    def undefined(T: Any) -> Any:
        raise ZeroDivisionError("no")

    assert measure._enclosed(toy(lambda T: T, undefined), {"T": np.array([[1.0]])}) is None


def test_distances_in_units() -> None:
    assert [measure._in_units(*pair) for pair in ((0.0, 0.0), (1.0, 0.0), (3.0, 2.0), (0.0, 2.0))] == [
        0.0, math.inf, 1.5, 0.0,
    ]  # fmt: skip


def test_inputs_are_in_range_where_numbers_are_as_declared() -> None:
    claim = SimpleNamespace(parameters={"T": Shape("m", "n"), "beta": Real(0.5, 2.0)})
    for beta, inside in ((0.5, True), (2.0, True), (0.25, False), (2.5, False)):
        assert measure.in_range(claim, {"T": np.ones((1, 1)), "beta": np.array(beta)}) is inside  # type: ignore[arg-type]


# -- what is kept of a break -------------------------------------------------------------------------------------------


def described(
    wrong: Callable[[np.ndarray], float], T: Any, monkeypatch: pytest.MonkeyPatch, check: str = "toy",
    domain: str = "generic", dtype: str = "float64", right: Callable[[Any], Any] = lambda T: T, **given: Any,
) -> tuple[Finding, int]:  # fmt: skip
    """What is kept of a break at T, where an identity is off by `wrong`, and how often that was asked."""
    calls: list[int] = []

    def left(T: Any) -> Any:
        if isinstance(T, torch.Tensor):
            calls.append(1)
            return right(T) + wrong(T.detach().numpy())
        return right(T)

    claim = toy(left, right, **given)
    of = ComparedSides.of(claim)
    assert of is not None
    found, array = finding(check, dtype), np.array(T)
    draw = Draw((("m", array.shape[0]), ("n", array.shape[1])), domain, 3)
    measure._describe_break(claim, of, found, {"T": array}, draw, QUICK)
    return found, len(calls)


def test_an_example_is_made_small_while_it_stays_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = described(lambda T: 1.0 * (T[0, 0] > 1.5), [[3.0, 0.25], [-1.0, 0.5]], monkeypatch)
    assert found.status == BROKEN and found.drawn == found.inputs == {"T": [[3.0]]} and found.entries == 1
    assert (found.yours, found.expected) == ([4.0], [3.0])
    assert found.residual is not None and found.residual > 1e14
    of_values, _ = described(lambda T: 1.0, [[3.0, 0.25]], monkeypatch, DEFINITION)
    assert of_values.inputs == {"T": [[0.0]]} == of_values.drawn
    small, _ = described(lambda T: 1e-16 * abs(T[0, 0]) if T[0, 0] != 3.0 else 1.0, [[3.0]], monkeypatch)
    assert small.inputs == {"T": [[3.0]]}, "what is within what is allowed is no smaller example"


def test_a_search_costs_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def shrunk(claim: Any, seed: Any, breaks: Any, tries: int) -> Any:
        asked.append(tries)
        return seed

    monkeypatch.setattr(measure, "shrunk", shrunk)
    for check in (DEFINITION, "toy"):
        described(lambda T: 1.0, [[3.0]], monkeypatch, check)
    assert asked == [measure.TRIES, measure.TRIES // 2]


def test_what_raises_on_the_way_or_has_numbers_out_of_range_is_no_smaller_example(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for problem in (WrongResult("result", "one", "none"), Raised("no"), NotDifferentiable("no"), RuntimeError("no")):

        def wrong(T: np.ndarray, problem: Exception = problem) -> float:
            if T[0, 0] != 3.0:
                raise problem
            return 1.0

        assert described(wrong, [[3.0]], monkeypatch)[0].inputs == {"T": [[3.0]]}
    monkeypatch.setattr(measure, "in_range", lambda claim, seed: seed["T"][0, 0] >= 2.5)
    assert described(lambda T: 1.0, [[2.75]], monkeypatch)[0].inputs == {"T": [[3.0]]}
    assert described(lambda T: 1.0, [[-0.0]], monkeypatch)[0].inputs == {"T": [[0.0]]}
    positive = (Assumption("T is positive", positive=lambda T: T),)
    monkeypatch.setattr(measure, "in_range", lambda claim, seed: True)
    assert described(lambda T: 1.0, [[3.0]], monkeypatch, assumptions=positive)[0].inputs == {"T": [[1.0]]}


def test_a_large_example_is_drawn_anew_at_the_smallest_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "READABLE", 4)
    monkeypatch.setattr(measure, "SMALLEST", 5)
    monkeypatch.setattr(measure, "shrunk", lambda claim, seed, breaks, tries: seed)
    # by the sum of sizes: (1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1)
    for at_least, shape in ((1, (1, 1)), (3, (1, 3)), (4, (2, 2)), (5, (3, 3))):
        found, _ = described(lambda T, least=at_least: 1.0 * (T.size >= least), np.ones((3, 3)), monkeypatch)
        assert np.shape(found.inputs["T"]) == shape
    assert np.shape(described(lambda T: 1.0, np.ones((2, 2)), monkeypatch)[0].inputs["T"]) == (2, 2)
    monkeypatch.setattr(measure, "READABLE", 3)
    found, _ = described(lambda T: 1.0 * (T.size >= 4), np.ones((2, 2)), monkeypatch)
    assert found.inputs == {"T": [[1.0, 1.0], [1.0, 1.0]]}, "another draw of as many entries is no smaller one"


@pytest.mark.parametrize(("check", "dtype", "roundings", "residual", "is_usable", "is_taken"), [
    ("toy", "float64", ALLOWED, 99.0, True, False),
    ("toy", "float64", ALLOWED + 1, 99.0, True, True),
    ("toy", "float64", 99.0, 99.0, False, False),
    ("toy", "float64", 99.0, ALLOWED, True, False),
    ("toy", "float16", 3.0, 3.0, True, True),
    ("toy", "float16", 3.0, 2.0, True, False),
    (DEFINITION, "float64", 1.0, ALLOWED + 1, True, True),
])  # fmt: skip
def test_a_smaller_example_has_to_be_wrong_beyond_what_is_allowed_in_its_precision(
    check: str, dtype: str, roundings: float, residual: float, is_usable: bool, is_taken: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A theorem's is not even measured where roundings of its largest entries explain it."""
    answers: list[bool] = []

    def shrunk(claim: Any, seed: Any, breaks: Any, tries: int) -> Any:
        answers.append(breaks(seed))
        return seed

    def is_measured(claim: Any, of: Any, found: Sample, asked_in: str, of_values: bool) -> bool:
        assert asked_in == dtype and of_values is (check == DEFINITION)
        return is_usable

    for name, value in {
        "shrunk": shrunk, "_measured": is_measured, "_at": lambda *given, **how: sample(residual, roundings),
    }.items():  # fmt: skip
        monkeypatch.setattr(measure, name, value)
    described(lambda T: 1.0, [[3.0]], monkeypatch, check, dtype=dtype)
    assert answers == [is_taken]


@pytest.mark.parametrize(("check", "inputs"), [
    (DEFINITION, {"T": [[0.0, 6.0]], "M": [[False, True]], "n": 2}),
    ("toy", {"T": [[0.0, 3.0]], "n": 2}),
])  # fmt: skip
def test_an_example_of_values_is_what_the_implementation_is_called_with_and_one_of_a_theorem_what_was_drawn(
    check: str, inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = Claim(TOYS, "measured.called", label="l", statement="s", relation=Equal(), sizes={"m": (1, 3), "n": (1, 3)})

    @claim.inputs
    def made(T: Matrix, n: Annotated[int, Size("n")]) -> dict[str, Any]:
        return {"T": n * T, "M": T > 0, "n": n}

    @claim.formula
    def formula(T: Any, M: Any, n: int) -> Any:
        return T + 1

    @claim.oracle
    def oracle(T: Any, M: Any, n: int) -> Any:
        return T

    claim.batched = False
    of, found = ComparedSides.of(claim), finding(check)
    assert of is not None
    monkeypatch.setattr(measure, "shrunk", lambda claim, seed, breaks, tries: seed)
    seed = {"T": np.array([[-0.0, 3.0]]), "n": 2}
    measure._describe_break(claim, of, found, seed, Draw((("m", 1), ("n", 2)), "generic", 3), QUICK)
    # as text, since True equals 1, 2.0 equals 2, 0.0 equals -0.0, and an array of one entry equals a list
    assert repr(found.inputs) == repr(inputs) and repr(found.drawn) == repr({"T": [[0.0, 3.0]], "n": 2})
    assert found.entries == 2


def test_what_a_break_gives_is_cut_and_an_example_that_overflows_is_excused_by_its_own_domain_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measure, "shrunk", lambda claim, seed, breaks, tries: seed)
    monkeypatch.setattr(measure, "READABLE", 65)
    found, _ = described(lambda T: 1.0, np.ones((5, 13)), monkeypatch)
    assert len(found.yours) == len(found.expected) == 64
    name = next(iter(WITHIN_HALF), "within")
    monkeypatch.setattr(measure, "WITHIN_HALF", {name})
    kept, _ = described(
        lambda T: math.inf, [[2.0]], monkeypatch, DEFINITION, name, "float16", lambda T: 60000 * T * 0.001
    )
    assert kept.status == BROKEN and kept.residual == math.inf


def test_the_arguments_of_a_break_are_those_that_were_prepared() -> None:
    claim = toy(lambda T: T, lambda T: T)

    @claim.inputs
    def inputs(T: Matrix) -> dict[str, Any]:
        return {"T": -0.0 * T, "M": T > 0, "n": 3}

    found = measure._as_called(claim, {"T": np.array([[1 / 3, -1.0]])}, QUICK, "float32")
    assert found == {"T": [[0.0, 0.0]], "M": [[True, False]], "n": 3}
    assert math.copysign(1, found["T"][0][0]) == 1.0


def test_as_many_draws_of_values_as_meet_every_domain_and_place_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "applicable_domains", lambda claim: claim.domains)
    for domains, around, examples, expected in ((7, 3, 5, 14), (2, 9, 5, 18), (2, 3, 40, 40)):
        monkeypatch.setattr(measure, "ROUND", around)
        settings = SimpleNamespace(effort=SimpleNamespace(examples=examples))
        claim = SimpleNamespace(domains=[""] * domains)
        assert measure._draws_of_values(claim, settings) == expected  # type: ignore[arg-type]
    assert measure._draws_of_a_theorem(SimpleNamespace(effort=SimpleNamespace(examples=9))) == 4  # type: ignore[arg-type]
