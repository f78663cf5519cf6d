"""What the attacks on equalities and bounds decide, residual by residual, and what their records say of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import flint
import numpy as np
import pytest
import torch

from tests import claims_that_fail as toy
from verify.arithmetics import is_tensor, precision
from verify.checks import attack_on, checks_of
from verify.checks.ascent import ascents
from verify.checks.decisions import PRECISIONS, Decision, Place
from verify.checks.equality import EqualityAttack, _described, _in_units, _mismatch, _object_residual
from verify.checks.foresight import Ahead
from verify.checks.inequality import KEPT, RESERVE, BoundAttack, Hall, _largest
from verify.checks.record import ERROR, UPHELD, VIOLATED, Record
from verify.checks.search import Tally, Violated
from verify.checks.settings import EFFORTS, Settings, settings_for
from verify.evidence.runner import run_check
from verify.inputs.generators import WIDE, Draw
from verify.inputs.witnesses import Given
from verify.matrix import absolute, exp, frobenius_norm, log, sqrt, total
from verify.vocabulary import ArithmeticUnsupported, Assumption, AtMost, Claim, Equal, Real, Shape, Size

pytestmark = pytest.mark.kept

QUICK = settings_for("quick")
#: A search of two draws, of four seeds each.
BRIEF = Settings(replace(EFFORTS["quick"], examples=1, batch=4, ascent=0))


def record_of(claim: Claim, name: str, settings: Settings = QUICK) -> Record:
    (check,) = [check for check in checks_of(claim, settings) if check.name == name]
    return run_check(claim, check, settings)


def balls(*entries: float, radius: float = 0.0) -> np.ndarray:
    return np.array([flint.arb(entry, radius) for entry in entries], dtype=object)


def pair(name: str, formula: Any, oracle: Any, relation: Any = None, **options: Any) -> Claim:
    """A claim about one row t, with mutants that any check kills."""
    claim = toy.toy(name, relation or Equal(), **{"sizes": {"n": (2, 3)}, **options})

    def left(t: toy.Row) -> Any:
        return formula(t)

    def right(t: toy.Row) -> Any:
        return oracle(t)

    claim.formula(left)
    claim.oracle(right)
    claim.mutant("far above", lambda value: value + 100)
    claim.mutant("far below", lambda value: value - 100)
    return claim


# -- residuals ---------------------------------------------------------------------------------------------------------


def test_a_difference_is_counted_in_units() -> None:
    assert _in_units(0.0, 0.0) == 0.0 and _in_units(6.0, 2.0) == 3.0
    assert _in_units(1e-300, 0.0) == math.inf and _in_units(0.0, 1.0) == 0.0


def test_a_mismatch_is_the_largest_finite_difference() -> None:
    right = torch.tensor([1.0, 2.0, 3.0])
    assert _mismatch(torch.tensor([1.5, 2.0, math.inf]), right) == 0.5
    assert _mismatch(torch.tensor([1.0, -1.0, 3.0]), right) == 3.0
    assert _mismatch(torch.tensor([math.nan, math.nan, math.inf]), right) == 0.0
    assert _mismatch(torch.tensor([1.0]), right) == math.inf


def test_rationals_agree_or_do_not() -> None:
    left = np.array([flint.fmpq(1, 3), flint.fmpq(2)], dtype=object)
    near = np.array([flint.fmpq(1, 3), flint.fmpq(2) + flint.fmpq(1, 10**40)], dtype=object)
    assert _object_residual(left, left.copy(), "exact") == (0.0, -math.inf)
    assert _object_residual(left, near, "exact") == (math.inf, -math.inf)


def test_balls_differ_for_certain_or_are_told_how_closely_they_agree() -> None:
    with precision(200):
        same = _object_residual(balls(1, 2), balls(1, 2), "ball")
        assert same == (0.0, -math.inf)
        residual, _ = _object_residual(balls(1, 3), balls(1, 1), "ball")
        assert residual == pytest.approx(0.5 * 2.0**200)  # 2 over 3 + 1, in units of 2^-200
        residual, _ = _object_residual(balls(1 + 2.0**-50), balls(1), "ball")
        assert residual == pytest.approx(2.0**149, rel=1e-9)
        residual, digits = _object_residual(balls(1, radius=2.0**-100), balls(1), "ball")
        assert residual == 0.0 and digits == pytest.approx(math.log10(2.0**-101), abs=1e-6)
        assert _object_residual(balls(0, 0), balls(0, 0), "ball") == (0.0, -math.inf)
        assert _object_residual(balls(), balls(), "ball") == (0.0, -math.inf), "nothing differs from nothing"
        assert _object_residual(balls(radius=1.0), balls(), "ball") == (0.0, -math.inf)
        nearly = _object_residual(balls(0, radius=2.0**-60), balls(0), "ball")
        assert nearly == (0.0, -math.inf), "both sides vanish, as far as a narrow enclosure tells"


def test_balls_too_wide_to_decide_are_refused_unless_they_differ_for_certain() -> None:
    with precision(200):
        with pytest.raises(ArithmeticUnsupported, match=r"^the enclosure is too wide to decide$"):
            _object_residual(balls(1, radius=0.01), balls(1), "ball")
        wide = np.array([flint.arb(0, 1e308) * flint.arb(2) ** 5000], dtype=object)
        for around_zero in (wide, balls(0, radius=1.0), balls(0, radius=2.0**-49)):
            with pytest.raises(ArithmeticUnsupported, match=r"^the enclosure is too wide to decide$"):
                _object_residual(around_zero, balls(0), "ball")
        residual, digits = _object_residual(balls(3, radius=0.01), balls(1), "ball")
        assert residual > 2.0**190 and digits == pytest.approx(math.log10(0.5), abs=0.01)
        with pytest.raises(ArithmeticUnsupported):
            _object_residual(np.array([flint.arb("nan")], dtype=object), balls(1), "ball")


def test_what_a_violation_says_can_be_replayed() -> None:
    draw = Draw((("n", 2),), "ties", 7)
    seed = {"t": np.array([[0.5, 1.0]]), "n": 2}
    left, right = torch.arange(100.0).reshape(10, 10), np.arange(100.0).reshape(10, 10)
    assert _described(draw, seed, left, right, 3.0) == {
        "domain": "ties",
        "sizes": {"n": 2},
        "inputs": {"t": [[0.5, 1.0]], "n": 2},
        "formula": [float(k) for k in range(64)],
        "oracle": [float(k) for k in range(64)],
        "residual": 3.0,
    }
    assert _described(draw, seed, [1.0, 2.0], right, 3.0)["formula"] == [1.0, 2.0]


# -- equalities --------------------------------------------------------------------------------------------------------

HAIR = pair(
    "a-hair-apart", lambda t: t * 1, lambda t: t * 1 if is_tensor(t) else t * (1 + flint.fmpq(1, 10**40)), exact=True
)


def test_what_floats_cannot_see_is_seen_in_balls_and_exactly() -> None:
    assert record_of(HAIR, "sampled float64", BRIEF).outcome == UPHELD
    for name, arithmetic in (("enclosed", "ball"), ("exact", "exact")):
        record = record_of(HAIR, name)
        assert (record.outcome, record.check, record.arithmetic, record.device) == (VIOLATED, name, arithmetic, "cpu")
        assert record.message == f"the two sides differ for certain ({arithmetic})"
        assert record.worst_residual is not None and record.worst_residual > 1e9
        assert set(record.details) >= {"domain", "sizes", "inputs", "formula", "oracle", "residual"}
        assert len(record.details["formula"]) == record.details["sizes"]["n"]


def test_exact_checks_draw_numbers_of_large_height_only() -> None:
    record = record_of(toy.TRUE_IDENTITY, "exact")
    assert (record.outcome, record.satisfied, record.examples) == (UPHELD, QUICK.effort.exact, QUICK.effort.exact)
    assert record.domains[WIDE] == record.satisfied and record.worst_residual == 0.0
    assert not set(record.domains) & {"generic", "tied", "kinks"}
    assert set(record.mutants) == {mutant.name for mutant in toy.TRUE_IDENTITY.mutants} and not record.surviving


def test_enclosed_checks_stop_at_as_many_examples_as_are_wanted() -> None:
    record = record_of(toy.TRUE_IDENTITY, "enclosed")
    assert (record.outcome, record.satisfied) == (UPHELD, QUICK.effort.enclosed) and not record.surviving


@pytest.mark.parametrize("check", ["enclosed", "exact"])
def test_where_the_first_draws_decide_nothing_further_ones_do(check: str) -> None:
    met: dict[str, int] = {}

    def rarely(t: Any) -> Any:
        if met.setdefault(str(t), len(met)) < 40:
            raise ArithmeticUnsupported("the root of a size, say")
        return t + t

    claim = pair("rarely-decided", rarely, lambda t: t + t, exact=True)
    record = record_of(claim, check)
    assert record.outcome == UPHELD and record.satisfied == 1 and record.examples > 8 * QUICK.effort.enclosed


def test_enclosed_checks_tell_how_closely_both_sides_agree() -> None:
    record = record_of(pair("exponentials", exp, lambda t: 1 / exp(-t)), "enclosed")
    assert record.outcome == UPHELD and 0.0 < record.details["agreement"] < 1e-60


@pytest.mark.parametrize("claim", [toy.IDENTITY_FALSE_AT_SCALE, toy.BOUND_FALSE_AT_SCALE], ids=lambda c: c.id)
def test_at_scale_it_is_the_statement_that_fails_and_no_mutant_that_is_asked(claim: Claim) -> None:
    record = record_of(claim, "at scale")
    assert (record.outcome, record.check, record.arithmetic) == (VIOLATED, "at scale", "ball")
    assert "for certain" in record.message and record.mutants == {} and record.separation is None
    assert (record.examples, record.satisfied, record.undefined) == (QUICK.effort.scaled, QUICK.effort.scaled, 0)
    assert record.domains["forty entries"] == 1


def test_every_scale_of_a_claim_that_is_proved_is_decided() -> None:
    claim = pair("wrong-at-the-second", lambda t: t * (1 + int(t.shape[-1] == 5)), lambda t: t * 1, all_sizes=True)
    for n in (4, 5):
        claim.at_scale(f"{n} ones", n=n)(lambda arrays, sizes, rng: arrays["t"].fill(1))
    record = record_of(claim, "at scale")
    assert (record.outcome, record.examples) == (VIOLATED, 2 * QUICK.effort.scaled)


def scaled_bound(name: str, factor: int, **options: Any) -> Claim:
    claim = pair(name, lambda t: factor * frobenius_norm(t), lambda t: total(absolute(t)), AtMost(), **options)
    claim.at_scale("one entry of three", n=3)(
        lambda arrays, sizes, rng: arrays["t"].__setitem__(slice(None), [1, 0, 0])
    )
    return claim


def test_a_bound_that_holds_at_scale_is_upheld_with_its_ratio() -> None:
    record = record_of(scaled_bound("scaled-bound", 2), "at scale", Settings(replace(EFFORTS["quick"], scaled=3)))
    assert (record.outcome, record.message, record.examples, record.satisfied) == (UPHELD, "", 3, 3)
    assert record.tightest_ratio == pytest.approx(0.5)


def test_a_scale_that_breaks_the_assumptions_upholds_nothing() -> None:
    never = [Assumption("t^2 < 0", positive=lambda t: -1 - total(t * t))]
    for claim in (
        scaled_bound("scaled-in-vain", 2, assumptions=never),
        pair("in-vain", lambda t: t * 1, lambda t: t * 1, assumptions=never, exact=True),
    ):
        for check in checks_of(claim, BRIEF):
            record = run_check(claim, check, BRIEF)
            assert (record.outcome, record.satisfied) == (VIOLATED, 0), check.name
            assert record.message == "no example satisfied the assumptions"


def test_a_judged_search_is_violated_by_what_raised_or_by_what_is_too_far() -> None:
    attack = EqualityAttack(Equal())
    seen = Tally()
    seen.count(Draw((("n", 2),), "generic", 1), 4, 4, 0)
    mutants = {"far above": 5000.0, "far below": 10.0}

    def judged(tally: Tally = seen, worst: float = 0.5, found: Violated | None = None, **values: Any) -> Record:
        return attack._record(HAIR, "c", "float64", tally, worst, mutants, found, QUICK, **values)

    good = judged()
    assert (good.outcome, good.worst_residual, good.separation, good.message) == (UPHELD, 0.5, 10.0, "")
    assert good.surviving == ["far below"] and good.device == "cpu" and good.satisfied == 4
    assert judged(worst=1.0).outcome == UPHELD and judged(worst=1.01).outcome == VIOLATED
    assert judged(worst=1.5, limit=2.0).outcome == UPHELD
    raised = judged(found=Violated("by far", {"residual": 3.0}))
    assert (raised.outcome, raised.message, raised.details) == (VIOLATED, "by far", {"residual": 3.0})
    assert judged(tally=Tally()).message == "no example satisfied the assumptions"
    assert judged(tally=Tally()).outcome == VIOLATED


# -- bounds ------------------------------------------------------------------------------------------------------------


class DecidedByScore(Place):
    """Inputs at which floats find a ratio, where balls may find none, or say nothing at all."""

    def decide(self, bound: Any) -> Decision | None:
        score = self.raw["score"]
        return None if score > 0.97 else Decision(False, False, None if score > 0.95 else score, math.inf)


def hall_of(scores: Iterable[float]) -> Hall:
    hall = Hall()
    for score in scores:
        hall.offer(score, DecidedByScore(SHORT, {"score": score}), {})
    return hall


def test_the_best_candidates_come_first_and_few_are_decided() -> None:
    found = hall_of((0.1, 0.5, math.nan, 0.3, math.inf, 0.9, 0.2, 0.7, 0.6, 0.4)).decided(SHORT.the_formula)
    assert [candidate.score for candidate, _ in found] == [0.9, 0.7, 0.6, 0.5, 0.4, 0.3] and len(found) == KEPT
    assert [candidate.place.raw["score"] for candidate, _ in found] == [decision.ratio for _, decision in found]


@pytest.mark.parametrize("least", [0.96, 0.98], ids=["both sides vanish", "an assumption is undecided"])
def test_candidates_of_which_balls_find_no_ratio_do_not_crowd_out_others(least: float) -> None:
    noise = [least + k / 10_000 for k in range(RESERVE)]
    found = hall_of([0.1, 0.9, *noise[: KEPT + 1]]).decided(SHORT.the_formula)
    assert [decision.ratio for _, decision in found[:2]] == [0.9, 0.1] and len(found) == (KEPT if least < 0.97 else 2)
    assert all(decision.ratio is None for _, decision in hall_of([0.1, *noise]).decided(SHORT.the_formula))


def test_the_largest_usable_scores_come_first() -> None:
    score = torch.tensor([1.0, 5.0, 3.0, 4.0, 2.0])
    usable = torch.tensor([True, False, True, True, True])
    assert _largest(score, usable, 3) == [3, 2, 4] and _largest(score, usable, 1) == [3]
    assert _largest(score, torch.tensor([False, True, False, False, False]), 3) == [1]


def test_a_comparison_is_certain_undecided_or_neither() -> None:
    above = Decision.of(balls(1, 3), balls(2, 2))
    assert above is not None and above.certain and not above.undecided and above.ratio == 1.5
    assert above.units == pytest.approx(1 / (2.0**-53 * 5))  # an excess of 1, values up to 3 and 2
    below = Decision.of(balls(1, 2), balls(2, 2))
    assert below is not None and not below.certain and not below.undecided and below.ratio == 1.0 and below.units == 0.0
    unclear = Decision.of(balls(2, radius=0.1), balls(2))
    assert unclear is not None and unclear.undecided and not unclear.certain
    both = Decision.of(np.concatenate([balls(2, radius=0.1), balls(3)]), balls(2, 2))
    assert both is not None and both.certain and both.undecided
    one_bound = Decision.of(balls(1, 3), balls(2))
    assert one_bound is not None and one_bound.certain and one_bound.ratio == 1.5
    no_ratio = Decision.of(balls(-1, 1), balls(-2, 0))
    assert no_ratio is not None and no_ratio.ratio is None and no_ratio.certain
    assert Decision.of(balls(math.nan), balls(1)) is None and Decision.of(balls(1), balls(math.inf)) is None
    nothing = Decision.of(balls(0), balls(0))
    assert nothing is not None and not nothing.certain and nothing.ratio is None


def test_of_a_bound_an_excess_above_zero_is_excluded() -> None:
    attack = attack_on(toy.TRUE_BOUND)
    excess = attack.violation(balls(1, 2), balls(3, 1))
    assert [float(entry) for entry in excess] == [2.0, -1.0]
    assert attack.excludes(flint.arb(2)) and attack.excludes(flint.fmpq(1, 2)) and not attack.excludes(flint.arb(-1))
    assert (
        not attack.excludes(flint.fmpq(0))
        and not attack.excludes(flint.arb(0, 1))
        and not attack.excludes(flint.arb(0))
    )


def test_scores_are_ratios_or_relative_excesses() -> None:
    left, right = torch.tensor([[1.0, 0.0], [3.0, 1.0]]), torch.tensor([[2.0, 0.0], [2.0, 4.0]])
    assert BoundAttack(AtMost())._score(left, right).tolist() == [0.5, 1.5]
    one_bound = BoundAttack(AtMost())._score(torch.tensor([[1.0, 3.0], [-1.0, -3.0]]), torch.tensor([[2.0], [-2.0]]))
    assert one_bound.tolist() == [1.5, 2.0]
    signed = BoundAttack(AtMost(signed=True))._score(left, right)
    assert signed.tolist() == pytest.approx([0.0, 1 / 5])


#: Broken only where |t - 3| is small: no draw comes there, an ascent does, along a slope that rises towards it.
NARROW = pair(
    "broken-at-a-peak",
    lambda t: total(t * 0) + 1 - flint.fmpq(1, 10**5) if not is_tensor(t) else total(t * 0) + 1 - 1e-5,
    lambda t: (
        1 / (1 + total((t - flint.fmpq(301, 97)) * (t - flint.fmpq(301, 97))))
        if not is_tensor(t)
        else 1 / (1 + ((t - 301 / 97) ** 2).sum())
    ),
    AtMost(),
    sizes={"n": (1, 1)},
    domains=["generic"],
)


def test_an_exact_comparison_with_a_root_decides_nothing() -> None:
    root = np.array([flint.arb(2).sqrt()], dtype=object)
    with pytest.raises(ArithmeticUnsupported, match="no rational"):
        _object_residual(root, root, "exact")
    assert _object_residual(root, root + 1, "exact") == (math.inf, -math.inf), "what balls tell is certain"


@pytest.mark.parametrize("steepness", [math.inf, -math.inf, math.nan])
def test_an_ascent_stays_where_the_slope_is_no_number(steepness: float) -> None:
    specs = {"x": Shape("n"), "y": Shape("n")}

    def score(current: Mapping[str, Any]) -> Any:
        steep = current["x"] * 1
        steep.register_hook(lambda gradient: gradient * steepness)
        return (steep + current["y"]).sum(1)

    start = {"x": torch.zeros(1, 2, dtype=torch.float64), "y": torch.zeros(1, 2, dtype=torch.float64)}
    (found,) = ascents(specs, [start], score, 4)
    assert found.seen == 4
    assert found.raw["x"].tolist() == [[0.0, 0.0]] and bool((found.raw["y"] > 0.1).all())


def test_ascents_of_one_shape_are_taken_together_and_keep_apart() -> None:
    def batch(*rows: list[float]) -> dict[str, Any]:
        return {"x": torch.tensor(rows, dtype=torch.float64), "n": 2}

    def score(current: Mapping[str, Any]) -> Any:
        return -(current["x"] - current["n"]).square().sum(1)

    starts = [batch([0.0, 1.0]), batch([3.0, 3.5], [2.0, 2.0]), batch([1.0])]
    together = ascents({"x": Shape("n"), "n": Size("n")}, starts, score, 30)
    for start, found in zip(starts, together, strict=True):
        (alone,) = ascents({"x": Shape("n"), "n": Size("n")}, [start], score, 30)
        assert torch.equal(alone.raw["x"], found.raw["x"]) and alone.seen == found.seen == 30 * len(start["x"])
        assert found.raw["n"] == 2 and bool((score(found.raw) >= score(start)).all())


def test_an_ascent_stays_within_the_interval_of_a_scalar() -> None:
    specs = {"t": Real(0, 0.125), "x": Shape("n")}
    start = {"t": torch.tensor([0.0, 0.1]).double(), "x": torch.full((2, 1), 63.99).double()}
    (found,) = ascents(specs, [start], lambda current: current["t"] + current["x"].sum(1), 40)
    assert found.raw["t"].tolist() == [0.125, 0.125] and found.raw["x"].tolist() == [[64.0], [64.0]]


def test_draws_evaluated_ahead_are_told_from_others_and_used_up() -> None:
    first, other = (Draw((("m", 2), ("n", 2)), "generic", seed) for seed in (1, 2))
    functions = [toy.TRUE_IDENTITY.the_formula, toy.TRUE_IDENTITY.the_oracle]
    ahead = Ahead(toy.TRUE_IDENTITY, functions, [first, first], QUICK, "float64")
    kept = Given((), {"A": [[1.0]], "B": [[2.0]]})
    assert first in ahead and other not in ahead and kept not in ahead
    left, right = ahead.at(first).values
    assert torch.equal(left, right) and left.shape == (QUICK.effort.batch, 4)
    assert first in ahead and ahead.at(first).arrays["A"].shape == (QUICK.effort.batch, 2, 2)
    assert first not in ahead


def test_an_ascent_finds_what_no_draw_does() -> None:
    blind, seeing = (
        record_of(NARROW, "attacked float64", Settings(replace(EFFORTS["quick"], examples=2, batch=8, ascent=steps)))
        for steps in (0, 400)
    )
    assert blind.outcome == UPHELD and blind.tightest_ratio is not None and blind.tightest_ratio < 1.0
    assert seeing.outcome == VIOLATED and seeing.message == "the bound is broken for certain"
    assert abs(seeing.details["inputs"]["t"][0][0] - 301 / 97) < 0.01 and seeing.worst_residual == math.inf
    assert seeing.details["search"]["ascent from"] is not None and seeing.tightest_ratio > 1.0
    assert flint.arb(seeing.details["oracle"]) > flint.arb(seeing.details["formula"])


SHORT = pair("sum-norm-by-euclid", frobenius_norm, lambda t: total(absolute(t)), AtMost(), sizes={"n": (2, 3)})


def test_a_broken_bound_is_shrunk_to_what_can_be_read() -> None:
    for name in ("attacked float64", "enclosed"):
        record = record_of(SHORT, name)
        assert (record.outcome, record.message) == (VIOLATED, "the bound is broken for certain")
        (row,) = record.details["inputs"]["t"]
        assert len(row) == 2 and all(abs(entry) in (1.0, 2.0) for entry in row)
        assert flint.arb(record.details["oracle"]) == abs(row[0]) + abs(row[1])
        assert record.details["search"]["of"] == "ratio"
    assert record.arithmetic == "ball" and record.check == "enclosed"
    assert record.satisfied == QUICK.effort.enclosed


def test_where_nothing_is_defined_nothing_is_upheld() -> None:
    claim = pair("undefined", lambda t: log(-1 - t * t), lambda t: t * 0, AtMost(), sizes={"n": (1, 2)})
    record = record_of(claim, "enclosed")
    assert (record.outcome, record.satisfied, record.message) == (VIOLATED, 0, "no example satisfied the assumptions")
    assert record.undefined == record.examples == 4 * QUICK.effort.enclosed and record.tightest_ratio is None


def test_rounding_alone_breaks_no_bound() -> None:
    """In floats the left side is above the right by a rounding, in balls it is equal: upheld, and as tight as can be."""
    claim = pair(
        "equal-bound", lambda t: (t * 3) / 3 * 1, lambda t: t * (1 + 2.0**-52) if is_tensor(t) else t, AtMost()
    )
    raw = {"t": np.array([[0.5, 0.75]])}
    attack, signed = BoundAttack(AtMost()), BoundAttack(AtMost(signed=True))
    place = Place(claim, raw)
    assert attack._settled(1.5, place) == 1.0 and attack._settled(0.5, place) == 0.5
    assert signed._settled(1e-9, place) == 0.0 and signed._settled(-0.5, place) == -0.5
    assert (
        signed._settled(math.nan, place) == -math.inf
    )  # floats say nothing, and nothing is broken: it is not near either
    assert attack._settled(1.4, Place(SHORT, raw)) == 1.4  # broken for certain
    undefined = pair("undefined-too", lambda t: log(-1 - t * t), lambda t: t * 0, AtMost())
    assert attack._settled(1.4, Place(undefined, raw)) == -math.inf


def test_what_is_too_close_is_decided_at_a_finer_precision() -> None:
    """Above the bound by 2^-500, which 300 bits of a square root do not show, and 1000 do; to rank inputs 300 suffice."""
    tiny = flint.fmpq(1, 2**500)
    close = pair("close", lambda t: sqrt(t * t), lambda t: sqrt(t * t) + tiny, AtMost())
    place = Place(close, {"t": np.array([[flint.fmpq(1, 3), flint.fmpq(2, 3)]], dtype=object)})
    assert place.ranked(close.the_formula).undecided and BoundAttack(AtMost())._settled(1.4, place) == 1.0
    decision = place.decide(close.the_formula)
    assert PRECISIONS == (300, 1000) and decision.certain and decision.units > 0.0
    assert place.ranked(close.the_formula).undecided and place.excess(close.the_formula) == 0.0
    far = Place(close, {"t": np.array([[flint.fmpq(1, 3)]], dtype=object)})
    assert far.decide(lambda t: 1 + t) == Decision(False, False, pytest.approx(0.25), 0.0)


def test_a_place_that_breaks_the_assumptions_decides_nothing() -> None:
    positive = [Assumption("t > 0", positive=lambda t: t)]
    claim = pair("guarded", frobenius_norm, lambda t: total(absolute(t)), AtMost(), assumptions=positive)
    for entries, certain in (([1.0, 1.0], True), ([1.0, -1.0], None), ([1.0, 0.0], None)):
        decision = Place(claim, {"t": np.array([entries])}).decide(claim.the_formula)
        assert (decision and decision.certain) == certain
    assert Place(claim, {"t": np.array([[1.0, -1.0]])}).excess(claim.the_formula) == 0.0


def test_mutants_of_a_bound_die_only_where_it_is_certainly_broken() -> None:
    place = Place(SHORT, {"t": np.array([[1.0, 1.0]])})
    assert place.excess(SHORT.the_formula) > 1e14
    assert place.excess(lambda t: 2 * total(absolute(t))) == 0.0
    assert place.excess(lambda t: total(absolute(t))) == 0.0  # equal is not broken
    record = record_of(scaled_bound("weak-mutants", 2), "attacked float64", BRIEF)
    assert record.surviving == ["far above"] and record.mutants["far below"]["killed"]


def test_a_start_of_explicit_inputs_is_one_seed() -> None:
    record = record_of(SHORT, "attacked float64", BRIEF)
    assert record.examples % BRIEF.effort.batch == 0 and record.domains["generic"] > 0
    assert Given({"t": [[1.0, 2.0]]}).arrays(SHORT, 64)["t"].shape == (1, 1, 2)
    assert ERROR not in {record.outcome}
