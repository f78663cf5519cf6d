"""How an implementation is measured on one claim: which draws count, what an examination gives, laws and limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.measured_toys import QUICK, finding, sample, sides, toy
from verify.checks.limits import LimitAttack
from verify.checks.record import UPHELD, VIOLATED
from verify.checks.settings import settings_for
from verify.gate import measure
from verify.gate.batch_places import _number
from verify.gate.findings import (
    BROKEN,
    DEFINITION,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    SATISFIED,
    UNCHECKABLE,
    UNREACHED,
    Finding,
)
from verify.gate.measure import ALLOWED, TWICE, ComparedSides, Sample, judge_laws
from verify.gate.profiles import profile_of
from verify.gate.subject_errors import NotDifferentiable, Raised, WrongResult
from verify.oracles.statistics import FALSE_ALARM, LawTest
from verify.vocabulary import AtMost, Equal
from verify.vocabulary.registry import load
from verify.vocabulary.relations import PowerRate

pytestmark = pytest.mark.kept


# -- which draws count -------------------------------------------------------------------------------------------------


class Draws:
    """Draws whose samples are written down: in the place of what draws and evaluates; keeps what was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *samples: Sample | None, domains: tuple[str, ...] = ()) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.measured: list[tuple[float, int]] = []
        self.described: list[Any] = []
        self.undecided: list[Sample] = []
        self.changing: list[Sample] = []
        self.taken: list[tuple[int, bool, str]] = []
        names = domains or [f"domain {number}" for number in range(len(samples))]
        every = [SimpleNamespace(domain=name, sample=each) for name, each in zip(names, samples, strict=True)]
        self.square = every[:0]

        def draws_of(claim: Any, count: int, seed: int) -> list[Any]:
            assert claim is self.claim
            self.asked.append((count, seed))
            return every

        def at(claim: Any, of: Any, arrays: Any, settings: Any, dtype: str, may_overflow: bool) -> Any:
            assert claim is self.claim and claim.batched is False and of is self.sides and settings is self.settings
            self.taken.append((_number.get(), may_overflow, dtype))
            return arrays.sample

        def is_measured(claim: Any, of: Any, found: Sample, dtype: str, of_values: bool) -> bool:
            assert claim is self.claim and of is self.sides and dtype == self.finding.dtype
            assert of_values is (self.finding.check == DEFINITION)
            self.measured.append((found.residual, _number.get()))
            return not any(found is each for each in self.undecided)

        def changes(claim: Any, of: Any, found: Sample, settings: Any, dtype: str) -> bool:
            assert claim is self.claim and of is self.sides and settings is self.settings
            assert dtype == self.finding.dtype
            return any(found is each for each in self.changing)

        def square_draws(claim: Any, seed: int) -> list[Any]:
            assert claim is self.claim
            self.asked.append(("square", seed))
            return self.square

        def arrays_of(claim: Any, draw: Any) -> Any:
            assert claim is self.claim
            return draw

        def one_of(claim: Any, arrays: Any, index: int) -> dict[str, Any]:
            assert claim is self.claim and arrays == {}
            return {"T": np.zeros((2, 3 + index))}

        def draws_of_values(claim: Any, settings: Any) -> int:
            assert claim is self.claim and settings is self.settings
            return 3

        for name, value in {
            "draws_of": draws_of, "_at": at, "_measured": is_measured, "_changes": changes, "square_draws": square_draws,
            "arrays_of": arrays_of, "one_of": one_of, "_draws_of_values": draws_of_values,
            "_describe_break": lambda *given: self.described.append(given),
        }.items():  # fmt: skip
            monkeypatch.setattr(measure, name, value)
        monkeypatch.setattr(ComparedSides, "of", staticmethod(self.of))
        self.sides = sides()

    def of(self, claim: Any, standing: Any = None) -> Any:
        assert claim is self.claim
        self.standing = standing
        return self.sides

    def compare(
        self, check: str = "toy", dtype: str = "float64", briefly: bool = False, shrinking: bool = False, again: bool = False
    ) -> Finding:  # fmt: skip
        self.settings, self.finding = settings_for("quick", 7), finding(check, dtype)
        self.claim = SimpleNamespace(batched=True, relation=SimpleNamespace(kind="a kind"))
        measure._compare(self.claim, "mine", self.finding, self.settings, briefly, shrinking, again)  # type: ignore[arg-type]
        return self.finding


def test_of_a_theorem_the_draw_that_differs_most_is_measured_first_and_near_ones_count_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near = [sample(9.0, 0.25), sample(8.0, 3.0), sample(2.0, 20.0), sample(7.0, ALLOWED)]
    draws = Draws(monkeypatch, *near, sample(5.0, 30.0))
    found = draws.compare()
    assert (found.status, found.examples, found.residual, found.at) == (SATISFIED, 4, 2.0, "domain 2")
    assert draws.measured == [(2.0, 2)] and draws.asked == [(16, 7)] and draws.standing == "mine"
    assert draws.taken == [(n, True, "float64") for n in range(4)] and found.why == ""
    draws = Draws(monkeypatch, sample(9.0, 0.25), sample(9.0, 1.0), sample(9.0, 0.5), sample(9.0, 0.5))
    found = draws.compare()
    assert (found.status, found.examples, found.residual, draws.measured) == (SATISFIED, 4, 1.0, [])
    draws = Draws(monkeypatch, *[sample(0.5, ALLOWED + 1)] * 2, sample(0.25, 1.5), sample(3.0, 0.75))
    found = draws.compare()
    assert (found.examples, found.residual, len(draws.measured)) == (4, 0.75, 2)
    assert Draws(monkeypatch, sample(0.5, 3.0), sample(0.25, 2.0)).compare("toy", "float16").examples == 2
    for first in (3.0, 1.5):  # beyond one rounding the first is measured, and then what is beyond what is allowed
        draws = Draws(monkeypatch, *[sample(0.5, first)] * 4)
        assert draws.compare().residual == 0.5 and len(draws.measured) == 1
    draws = Draws(monkeypatch, sample(0.5, 3.0), sample(0.25, 2.5), sample(0.125, 2.0))
    draws.compare(dtype="float16")
    assert [residual for residual, _ in draws.measured] == [0.5, 0.25]


def test_how_many_draws_count_is_less_for_a_theorem_that_was_tried_and_one_where_it_is_brief(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for asked, expected in (({}, 4), ({"again": True}, 1), ({"briefly": True}, 1)):
        draws = Draws(monkeypatch, *[sample(0.5)] * 9)
        assert draws.compare(**asked).examples == expected and draws.asked[0][0] == 4 * expected  # type: ignore[arg-type]


def test_draws_that_decide_nothing_are_replaced_by_others_until_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = sample(0.5), sample(99.0)
    draws = Draws(monkeypatch, None, bad, good, good, None, good, good, good)
    draws.undecided = [bad]
    found = draws.compare()
    assert (found.status, found.examples, found.residual) == (SATISFIED, 4, 0.5) and len(draws.taken) == 7
    for rest in ([], [None], [bad]):
        draws = Draws(monkeypatch, *rest)
        draws.undecided = [bad]
        found = draws.compare()
        assert (found.status, found.examples, found.residual) == (UNCHECKABLE, 0, None)
        assert found.why == "no example satisfied the assumptions"


def test_a_theorem_is_broken_beyond_what_is_allowed_and_at_the_limit_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Draws(monkeypatch, *[sample(ALLOWED)] * 4).compare()
    assert (found.status, found.residual, found.examples) == (SATISFIED, ALLOWED, 4)
    for shrinking in (False, True):
        draws = Draws(monkeypatch, sample(1.0, 60.0), sample(ALLOWED + 1, 50.0), sample(2.0, 70.0), sample(3.0, 40.0))
        found = draws.compare(shrinking=shrinking)
        assert (found.status, found.residual, found.at) == (BROKEN, ALLOWED + 1, "domain 1")
        assert found.entries == 6 and found.examples == 3 and len(draws.described) == shrinking
        if shrinking:
            claim, of, kept, seed, draw, settings = draws.described[0]
            assert claim is draws.claim and of is draws.sides and kept is found and settings is draws.settings
            assert seed["T"].shape == (2, 3) and draw.domain == "domain 1"
    assert Draws(monkeypatch, *[sample(3.0)] * 4).compare(dtype="bfloat16").status == BROKEN


def test_values_are_measured_one_after_the_other_at_equal_sizes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = Draws(monkeypatch, sample(2.0, 0.5, ulps=3.0), sample(1.0, 0.1, ulps=1.0), *[sample(1.0)] * 6)
    draws.square = [SimpleNamespace(domain="square", sample=sample(0.5, 0.0))]
    found = draws.compare(DEFINITION)
    assert (found.status, found.examples, found.residual, found.ulps) == (SATISFIED, 4, 2.0, 3.0)
    assert [residual for residual, _ in draws.measured] == [0.5, 2.0, 1.0, 1.0] and found.at == "domain 0"
    assert draws.asked == [(12, 7), ("square", 7)]
    assert Draws(monkeypatch, *[sample(1.0)] * 5).compare(DEFINITION).ulps is None
    assert Draws(monkeypatch, *[sample(1.0, ulps=0.25)] * 5).compare(DEFINITION).ulps == 0.25
    assert Draws(monkeypatch, *[sample(0.0)] * 5).compare(DEFINITION).at == "domain 2", "of equal ones the last"


def test_values_that_change_from_call_to_call_end_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    changing = sample(2.0)
    draws = Draws(monkeypatch, sample(1.0), changing, sample(1.0))
    draws.changing = [changing]
    found = draws.compare(DEFINITION)
    assert (found.status, found.residual, found.why, found.examples) == (BROKEN, math.inf, TWICE, 2)
    draws = Draws(monkeypatch, *[changing] * 4)
    draws.changing = [changing]
    assert draws.compare().status == SATISFIED, "a theorem is not called twice"


def test_the_place_of_a_draw_is_that_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ROUND", 2)
    draws = Draws(monkeypatch, *[sample(n) for n in range(4)])
    draws.compare()
    assert [number for number, _, _ in draws.taken] == [0, 1, 3, 4]
    assert draws.measured == [(0, 0), (1, 1), (2, 3), (3, 4)]


def test_where_nothing_that_is_kept_overflows_nothing_excuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "WITHIN_HALF", {"within"})
    draws = Draws(monkeypatch, *[sample(1.0)] * 2, domains=("within", "other"))
    draws.compare(dtype="float16")
    assert [may_overflow for _, may_overflow, _ in draws.taken] == [False, True]


def test_a_relation_that_floats_do_not_decide_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = Draws(monkeypatch, sample(1.0))
    draws.sides = None
    found = draws.compare()
    assert (found.status, found.why) == (LEFT_OUT, "statements of kind 'a kind' are not decided in floats")


def test_sides_know_which_subjects_they_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    load("theorems")
    monkeypatch.setattr(measure, "_CALLED", called := {})
    monkeypatch.setattr(measure, "_REACHED", found := {})
    of = ComparedSides.of(profile_of("hessian.softmax").claim())
    assert of is not None and of.right is not None
    assert of.reached(of.left) == {"hessian.softmax"} and of.reached(of.right) == frozenset()
    assert called and set(found) == {of.left, of.right} and of.reached(of.left) is found[of.left]
    monkeypatch.setattr(measure, "attack_on", lambda claim: SimpleNamespace(compared=lambda of: None))
    assert ComparedSides.of(toy(lambda T: T, lambda T: T)) is None


def test_sides_know_their_standing_and_count_its_calls() -> None:
    claim = toy(lambda T: T, lambda T: T, AtMost())
    of = ComparedSides.of(claim, SimpleNamespace(calls=3))  # type: ignore[arg-type]
    assert of is not None and of.bound and of.calls() == 3 and of.left is claim.the_oracle
    assert of.functions == [of.left, of.right]
    assert sides(right=None, left=1).functions == [1] and sides().calls() == 0
    assert sides().excess(torch.tensor([1.0, 3.0]), 2.0).tolist() == [1.0, 1.0]
    assert sides(bound=True).excess(torch.tensor([1.0, 3.0]), 2.0).tolist() == [0.0, 1.0]


# -- what an examination gives -----------------------------------------------------------------------------------------


def examined(work: Callable[..., None], monkeypatch: pytest.MonkeyPatch, standing: Any = None, **asked: Any) -> Finding:
    claim = toy(lambda T: T, lambda T: T)
    mine = standing or SimpleNamespace(calls=9, differentiated=True)

    def compared(copied: Any, of: Any, found: Finding, settings: Any, *how: bool) -> None:
        assert copied is not claim and copied.id == claim.id and of is mine and settings is QUICK
        assert (mine.calls, mine.differentiated) == (0, False)
        work(mine, found, *how)

    monkeypatch.setattr(measure, "_compare", compared)
    return measure.examine(claim, mine, QUICK, "float32", **asked)


def test_what_is_raised_becomes_part_of_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(problem: Exception, differentiated: bool = False) -> Callable[..., None]:
        def work(mine: Any, found: Finding, *how: bool) -> None:
            mine.differentiated, mine.calls = differentiated, 2
            raise problem

        return work

    for problem, differentiated, status, why in (
        (WrongResult("result", "one", "none"), False, BROKEN, "result: expected one; got none"),
        (Raised("ValueError: no"), False, BROKEN, "it raised ValueError: no"),
        (NotDifferentiable("no"), False, UNCHECKABLE, f"{NOT_DIFFERENTIABLE}: no"),
        (KeyError("no"), True, UNCHECKABLE, f"{NOT_DIFFERENTIABLE}: KeyError: 'no'"),
        (KeyError("no"), False, UNCHECKABLE, "no value: KeyError: 'no'"),
    ):
        found = examined(raising(problem, differentiated), monkeypatch)
        assert (found.status, found.why, found.calls, found.dtype) == (status, why, 2, "float32")


def test_a_finding_has_the_name_that_is_asked_for_and_is_unreached_where_nothing_was_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for calls, status in ((0, UNREACHED), (1, SATISFIED)):

        def work(mine: Any, found: Finding, *how: bool, calls: int = calls) -> None:
            found.status, mine.calls = SATISFIED, calls
            assert how == (False, True, False)

        found = examined(work, monkeypatch)
        assert (found.status, found.calls) == (status, calls) and found.check.startswith("measured.")
        assert found.label == "toy"
    assert found.why == ""
    assert examined(lambda *_: None, monkeypatch, check="other").check == "other"
    assert examined(lambda *_: None, monkeypatch).status == UNCHECKABLE
    unreached = examined(lambda mine, found, *how: setattr(found, "status", SATISFIED), monkeypatch)
    assert unreached.why == "no check of this claim called the implementation"
    asked: list[Any] = []
    examined(lambda mine, found, *how: asked.append(how), monkeypatch, briefly=True, shrinking=False, again=True)
    assert asked == [(True, False, True)]


def test_a_relation_with_a_measure_of_its_own_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, seen = toy(lambda T: T, lambda T: T), []  # type: ignore[var-annotated]
    monkeypatch.setattr(measure, "MEASURES", {Equal: lambda *given: seen.append(given)})
    found = measure.examine(claim, SimpleNamespace(calls=0), QUICK, "float64")  # type: ignore[arg-type]
    assert seen == [(claim, found, QUICK)]


# -- laws and limits ---------------------------------------------------------------------------------------------------


def judged(*p: float, names: str = "") -> Finding:
    found = finding("law")
    judge_laws(found, [LawTest(names or f"test {number}", value, 100) for number, value in enumerate(p)])
    return found


def test_a_law_is_rejected_below_the_probability_of_a_false_alarm_and_three_tests_are_named() -> None:
    assert judged(FALSE_ALARM).status == SATISFIED and judged(FALSE_ALARM / 2).status == BROKEN
    found = judged(4e-12, 3e-12, 2e-12, 1e-12)
    assert found.why == ("4 of 4 statistical tests reject it: test 3, p = 1e-12; test 2, p = 2e-12; test 1, p = 3e-12")
    assert judged(1e-12, 1e-12, names="one").why == "2 of 2 statistical tests reject it: one, p = 1e-12"
    assert found.examples == 400
    assert judged(0.5, 0.5).why == "none of 2 statistical tests rejects it (false alarm below 2e-09)"
    assert judged(math.nan).why == "1 of 1 statistical tests reject it: test 0, a sample is no number"


def test_tests_of_a_law_are_made_at_a_few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, seen = toy(lambda T: T, lambda T: T), []  # type: ignore[var-annotated]
    other = SimpleNamespace(calls=0)

    def law_tests(*given: Any) -> list[LawTest]:
        seen.append(given)
        return [LawTest("one", [0.5, 1e-12, FALSE_ALARM][len(seen) % 3], 10)]

    monkeypatch.setattr(measure, "law_tests", law_tests)
    found = finding("law")
    measure._test_laws(claim, found, QUICK)
    assert (found.status, found.examples, len(seen)) == (BROKEN, 30, measure.LAW_INSTANCES)
    for of, formula, raw, seed, settings, samples in seen:
        assert of is claim and formula is claim.the_formula and settings is QUICK and samples == measure.LAW_SAMPLES
        assert raw["T"].ndim == 2 and isinstance(seed, int)
    seen.clear()
    assert [test.p for test in measure.rejected_laws(claim, other, settings_for("quick", 5))] == [1e-12]  # type: ignore[arg-type]
    assert len(seen) == measure.LAW_INSTANCES and seen[0][1] is other and seen[0][3] != 0
    assert seen[0][4] == settings_for("quick", 5)


class Limit(LimitAttack):
    def __init__(self, rate: Any, record: Any) -> None:
        self.made, self.asked = record, []  # type: ignore[var-annotated]
        self.__dict__["relation"] = SimpleNamespace(rate=rate)

    def random(self, claim: Any, settings: Any) -> Any:
        self.asked.append((claim, settings))
        return self.made


def test_a_limit_is_tested_by_its_own_check_from_effort_ci_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ci, rate = settings_for("ci"), PowerRate.__new__(PowerRate)
    claim = SimpleNamespace(relation=SimpleNamespace(kind="limit"))

    def limit(settings: Any, attack: Any) -> Finding:
        monkeypatch.setattr(measure, "attack_on", lambda of: attack if of is claim else None)
        found = finding()
        measure._test_limit(claim, found, settings)  # type: ignore[arg-type]
        return found

    def record(outcome: str, message: str) -> Any:
        return SimpleNamespace(outcome=outcome, message=message, examples=12, details={"exponent": -0.50123})

    found = limit(ci, attack := Limit(rate, record(UPHELD, "")))
    assert (found.status, found.examples, found.why) == (SATISFIED, 12, "observed rate of convergence: width^-0.501")
    assert attack.asked == [(claim, ci)]
    found = limit(ci, Limit(rate, record(VIOLATED, "it grows")))
    assert (found.status, found.why) == (BROKEN, "it grows")
    found = limit(QUICK, Limit(rate, None))
    assert (found.status, found.why) == (LEFT_OUT, "a limit over growing widths: checked from effort ci on")
    for attack in (Limit(None, None), None):
        assert limit(ci, attack).why == "statements of kind 'limit' are not decided in floats"
