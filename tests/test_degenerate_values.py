"""Values at which a comparison says nothing or the wrong thing: bounds below zero, 0 / 0, infinities, what is no number.

None of them may hide a violation, uphold a statement or kill a mutant.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import flint
import numpy as np
import pytest
import torch

from tests import claims_that_fail as toy
from verify.arithmetics import is_tensor
from verify.checks import bound_proofs, checks_of
from verify.checks.ascent import ascents
from verify.checks.equality import _relative
from verify.checks.inequality import BEYOND, TELLING, BoundAttack, Scores
from verify.checks.limits import _mean_p
from verify.checks.record import UPHELD, VIOLATED, Record
from verify.checks.settings import EFFORTS, Settings, settings_for
from verify.evidence.runner import run_check
from verify.matrix import absolute, exp, frobenius_norm, total
from verify.oracles.statistics import LawTest, kolmogorov_smirnov, moment_test, proportion_test, same_law
from verify.vocabulary import AtMost, Claim, Equal, FollowsLaw, HasStructure, PowerRate, QuadraticRate, Shape, TendsTo
from verify.vocabulary.shapes import Real

pytestmark = pytest.mark.kept

QUICK = settings_for("quick")
#: A search of few draws and no ascent.
BRIEF = Settings(replace(EFFORTS["quick"], examples=2, batch=8, ascent=0))


def record_of(claim: Claim, name: str, settings: Settings = QUICK) -> Record:
    (check,) = [check for check in checks_of(claim, settings) if check.name == name]
    return run_check(claim, check, settings)


def pair(name: str, formula: Any, oracle: Any, relation: Any, **options: Any) -> Claim:
    """A claim about one row t, with mutants that any check kills."""
    claim = toy.toy(name, relation, **{"sizes": {"n": (1, 2)}, **options})

    def left(t: toy.Row) -> Any:
        return formula(t)

    def right(t: toy.Row) -> Any:
        return oracle(t)

    claim.formula(left)
    claim.oracle(right)
    claim.mutant("far above", lambda value: value + 100)
    claim.mutant("far below", lambda value: value - 100)
    return claim


# -- bounds whose right side changes sign ------------------------------------------------------------------------------

INTERVAL = Annotated[Any, Real(-1, 1)]
SHIFT = flint.fmpq(95, 100)


def _shifted(x: Any) -> Any:
    return x + 0.95 if is_tensor(x) else x + SHIFT


HALF_OF_THE_SIZE = toy.toy("bound-below-zero", AtMost(), sizes={})


@HALF_OF_THE_SIZE.formula
def shifted(x: INTERVAL) -> Any:
    return _shifted(x)


@HALF_OF_THE_SIZE.oracle
def half_of_the_size(x: INTERVAL) -> Any:
    return absolute(_shifted(x)) / 2


HALF_OF_THE_SIZE.mutant("a tenth", lambda value: value / 10)
HALF_OF_THE_SIZE.mutant("one less", lambda value: value - 1)


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_that_is_broken_only_below_zero_is_broken_at_every_seed(seed: int) -> None:
    """|x + 0.95| / 2 <= x + 0.95 is false for x < -0.95, which is a fortieth of all inputs, and nowhere else."""
    settings = replace(QUICK, seed=seed)
    record = record_of(HALF_OF_THE_SIZE, "attacked float64", settings)
    assert (record.outcome, record.message) == (VIOLATED, "the bound is broken for certain")
    assert record.details["inputs"]["x"] < -0.95
    assert record.details["search"]["rises"][-1][1] == BEYOND


@pytest.mark.parametrize(
    ("left", "right", "score"),
    [
        (1.0, 2.0, 0.5), (3.0, 2.0, 1.5), (0.0, 2.0, 0.0), (-1.0, 2.0, -0.5),  # above zero by left / right
        (-4.0, 2.0, -0.5), (-4.0, 0.0, -0.0), (-4.0, -2.0, 0.5), (-2.0, -4.0, 2.0),  # below it by right / left
        (1.0, -2.0, math.inf), (1.0, 0.0, math.inf), (0.0, -2.0, math.inf), (0.0, 0.0, 0.0), (1.0, 1e-320, math.inf),
        (math.nan, 1.0, math.nan), (1.0, math.nan, math.nan), (math.inf, 1.0, math.inf), (1.0, math.inf, 0.0),
    ],
)  # fmt: skip
def test_a_score_is_above_one_where_a_bound_is_broken_whatever_the_signs(
    left: float, right: float, score: float
) -> None:
    found = BoundAttack(AtMost())._score(*(torch.tensor([[side]], dtype=torch.float64) for side in (left, right)))
    assert found.tolist() == pytest.approx([score], nan_ok=True)
    if math.isfinite(left) and math.isfinite(right):
        assert bool(found > 1) == (left > right)


def test_a_score_has_a_slope_everywhere_and_is_no_number_nowhere() -> None:
    for left, right in itertools.product((-2.0, -1.0, 0.0, 1.0), repeat=2):
        sides = [torch.tensor([[side]], dtype=torch.float64, requires_grad=True) for side in (left, right)]
        score = BoundAttack(AtMost())._score(*sides)
        (score[score.isfinite()].sum() + 0 * sum(side.sum() for side in sides)).backward()
        assert all(bool(side.grad.isfinite().all()) for side in sides), (left, right)


def test_signed_scores_do_not_overflow() -> None:
    left, right = torch.tensor([[1.6e308], [-1.6e308]]).double(), torch.tensor([[-1.6e308], [1.6e308]]).double()
    left = torch.tensor([[1.6e308], [-1.6e308]], dtype=torch.float64)
    right = -left
    assert BoundAttack(AtMost(signed=True))._score(left, right).tolist() == [1.0, -1.0]


def test_the_bound_that_is_broken_by_most_is_looked_at_beside_the_highest_ratios() -> None:
    """Where both sides nearly vanish ratios are rounding, which must not hide that another bound is broken."""
    left = torch.tensor([[3e-17], [4e-17], [5e-17], [6e-17], [1.5], [0.1]], dtype=torch.float64)
    right = torch.tensor([[1e-17], [1e-17], [1e-17], [1e-17], [1.0], [1.0]], dtype=torch.float64)
    attack = BoundAttack(AtMost())
    usable, no = torch.ones(6, dtype=torch.bool), torch.zeros(6, dtype=torch.bool)
    score, excess = attack._score(left, right), (left - right).amax(1)
    assert Scores(left, score, excess, usable, no, 0).telling(TELLING) == [3, 2, 1, 4]
    unclear = torch.tensor([False, False, False, False, False, True])
    score = score.masked_fill(unclear, math.nan)
    assert Scores(left, score, excess, ~unclear, unclear, 0).telling(TELLING) == [3, 2, 1, 4, 5]
    assert Scores(left, score, excess, no, no, 0).telling(TELLING) == []
    below = torch.tensor([[1e-17], [2e-17], [1e4], [0.5], [0.9], [0.8]], dtype=torch.float64)
    bound = torch.tensor([[0.0], [-1e-17], [1e4 - 1e-11], [-0.5], [1.0], [1.0]], dtype=torch.float64)
    score, excess = attack._score(below, bound), (below - bound).amax(1)
    excess[2] = 2.0  # as large sides may be apart by rounding alone
    assert Scores(below, score, excess, usable, no, 0).telling(TELLING) == [2, 4, 5, 3]


def test_a_bound_that_is_broken_where_floats_overflow_is_decided_in_balls() -> None:
    """exp(|t|^2 + 800) overflows everywhere, and is above exp(700)."""
    above = pair(
        "overflows", lambda t: exp(total(t * 0) + 700), lambda t: exp(total(t * t) + 800), AtMost(), domains=["generic"]
    )
    record = record_of(above, "attacked float64", BRIEF)
    assert (record.outcome, record.message) == (VIOLATED, "the bound is broken for certain")
    below = pair(
        "overflows-too",
        lambda t: exp(total(t * t) + 801),
        lambda t: exp(total(t * t) + 800),
        AtMost(),
        domains=["generic"],
    )
    record = record_of(below, "attacked float64", BRIEF)
    assert record.message == "no example satisfied the assumptions" and record.undefined == record.examples
    assert record.tightest_ratio == pytest.approx(math.exp(-1))


def test_what_an_ascent_crosses_is_kept() -> None:
    """The score is infinite only on the way: at the end of the ascent nothing is seen of it any more."""

    def score(current: Mapping[str, Any]) -> Any:
        x = current["x"].sum(1)
        return x.masked_fill((x > 0.4) & (x < 0.5), math.inf)

    start = {"x": torch.tensor([[0.0], [0.2], [3.0]], dtype=torch.float64), "n": 1}
    (found,) = ascents({"x": Shape("n")}, [start], score, 60)
    assert bool((found.raw["x"] > 0.5).all())
    crossed = torch.cat([raw["x"] for raw in found.crossed])
    assert len(crossed) == 2 and bool(((crossed > 0.4) & (crossed < 0.5)).all())
    assert all(raw["n"] == 1 for raw in found.crossed)


def test_an_ascent_that_crosses_a_violation_finds_it() -> None:
    """The right side is below zero in a narrow gap between the start and where the ascent ends."""

    def gap(t: Any) -> Any:
        x = total(absolute(t))
        if is_tensor(t):
            return torch.where((x > 3.0) & (x < 3.1), -1.0, 1.0).to(x)
        return flint.arb(-1) if 3 < x < flint.arb("3.1") else flint.arb(1)

    def rising(t: Any) -> Any:
        x = total(absolute(t))
        return x / (1 + x)

    claim = pair("crossed", gap, rising, AtMost(), sizes={"n": (1, 1)}, domains=["generic"])
    blind, seeing = (
        record_of(claim, "attacked float64", Settings(replace(EFFORTS["quick"], examples=1, batch=1, ascent=steps)))
        for steps in (0, 400)
    )
    assert (blind.outcome, seeing.outcome) == (UPHELD, VIOLATED)
    assert 3 < abs(seeing.details["inputs"]["t"][0][0]) < 3.1


# -- equalities --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sides_that_vanish_hide_no_difference(dtype: torch.dtype) -> None:
    """In float32 the smallest size was 0, and 0 / 0 the largest of all differences."""
    difference, size = torch.tensor([0.0, 0.5, 0.1], dtype=dtype), torch.tensor([0.0, 1.0, 2.0], dtype=dtype)
    assert _relative(difference, size).tolist() == pytest.approx([0.0, 0.5, 0.05])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_identity_that_is_false_is_violated_though_a_seed_of_every_batch_vanishes(dtype: str) -> None:
    def some(t: Any) -> Any:
        """t where it is above 1, else 0: most batches have seeds of both kinds."""
        return (t * (t > 1)) if is_tensor(t) else np.array([[x if x > 1 else 0 * x for x in t[0]]], dtype=object)

    claim = pair("vanishing", some, lambda t: some(t) * (1 + rational_of(t)), Equal(), sizes={"n": (1, 1)})
    record = record_of(claim, f"sampled {dtype}", BRIEF)
    assert record.outcome == VIOLATED and "units" in record.message


def rational_of(t: Any) -> Any:
    return 0.01 if is_tensor(t) else flint.fmpq(1, 100)


def test_a_difference_between_huge_sides_is_not_lost_in_their_sum() -> None:
    """Where the sum of both sides overflows their difference came out as nothing of it."""
    claim = pair(
        "huge",
        lambda t: t * 0 + (0.9e308 if is_tensor(t) else flint.fmpq(9 * 10**307)),
        lambda t: t * 0 + (1e308 if is_tensor(t) else flint.fmpq(10**308)),
        Equal(),
    )
    assert record_of(claim, "sampled float64", BRIEF).outcome == VIOLATED


def test_sides_of_which_one_overflows_are_decided_in_balls() -> None:
    large = pair("one-overflows", lambda t: exp(t * 0 + 800), lambda t: exp(t * 0 + 700), Equal())
    record = record_of(large, "sampled float64", BRIEF)
    assert record.outcome == VIOLATED and "differ for certain (ball), where floats overflow" in record.message
    assert record.details["oracle"][0] == pytest.approx(math.exp(700))
    same = pair(
        "one-overflows-the-other-not", lambda t: exp(t * 0 + 800) / exp(t * 0 + 800), lambda t: t * 0 + 1, Equal()
    )
    record = record_of(same, "sampled float64", BRIEF)
    assert (record.message, record.undefined) == ("no example satisfied the assumptions", record.examples)


def test_a_structure_whose_defect_overflows_is_decided_in_balls() -> None:
    claim = toy.toy("defect-overflows", HasStructure(), sizes={"n": (1, 2)})

    @claim.formula
    def grown(t: toy.Row) -> Any:
        return exp(t * 0 + 800)

    claim.part("structure")(lambda value: value)
    claim.mutant("one more", lambda value: value + 1)
    claim.mutant("twice", lambda value: value * 2)
    record = record_of(claim, "sampled float64", BRIEF)
    assert record.outcome == VIOLATED and "for certain (ball)" in record.message


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan])
def test_a_mutant_that_overflows_is_not_detected_by_that(dtype: str, wrong: float) -> None:
    """It is the formula itself wherever it has a value."""
    claim = pair("overflowing-mutant", lambda t: t * 1, lambda t: t + 0 * t, Equal(), domains=["generic"])
    claim.mutant("somewhere", lambda value: value.where(value > 0, wrong) if is_tensor(value) else value)
    claim.mutant("everywhere", lambda value: value * 0 + wrong if is_tensor(value) else value)
    record = record_of(claim, f"sampled {dtype}", BRIEF)
    assert record.outcome == UPHELD and set(record.surviving) == {"somewhere", "everywhere"}
    assert record.mutants["somewhere"]["residual"] < 1.0 and record.mutants["far above"]["killed"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_mutant_that_is_wrong_at_one_seed_and_overflows_at_others_is_detected(dtype: str) -> None:
    """What is measured is the largest finite difference, at the seed where it is relatively farthest."""
    claim = pair(
        "seldom-wrong", lambda t: t * 1, lambda t: t + 0 * t, Equal(), domains=["generic"], sizes={"n": (1, 1)}
    )

    def seldom(value: Any) -> Any:
        if not is_tensor(value):
            return value
        return (value * 2).where(value > 0.7, value.where(value > -0.7, math.inf))

    claim.mutant("seldom", seldom)
    record = record_of(claim, f"sampled {dtype}", BRIEF)
    assert record.outcome == UPHELD and record.surviving == []


# -- limits ------------------------------------------------------------------------------------------------------------


def limit(name: str, sequence: Any, relation: TendsTo, formula: Any = lambda v: v * 0) -> Claim:
    claim = toy.toy(name, relation, sizes={"n": (2, 2)}, domains=["generic"])

    def tends_to(v: toy.Row) -> Any:
        return formula(v)

    claim.formula(tends_to)
    claim.part("sequence")(sequence)
    claim.mutant("one", lambda value: value + 1)
    claim.mutant("two", lambda value: value + 2)
    return claim


def test_every_input_has_to_converge_at_the_order_that_is_stated() -> None:
    """Quadratic at every second input, linear but fast at the others."""
    count = itertools.count()

    def sequence(scale: int, v: toy.Row) -> Any:
        nonlocal quadratic
        if scale == 1:
            quadratic = next(count) % 2 == 0
        exponent = 2**scale if quadratic else 4 * scale
        return v * 0 + flint.fmpq(1, 10**exponent)

    quadratic = True
    record = record_of(limit("two-orders", sequence, TendsTo((1, 2, 3, 4, 5), QuadraticRate())), "rate")
    assert record.outcome == VIOLATED and record.details["order"] == pytest.approx(1.0, abs=0.01)
    assert max(float(order) for order in record.message.split("[")[1].rstrip("]").split(", ")) > 1.9


def test_an_error_that_vanishes_at_one_scale_is_no_sign_of_convergence() -> None:
    """The error stays as it is but for a scale at which it happens to be 0."""

    def sequence(scale: int, v: toy.Row) -> Any:
        return v * 0 + (0 if scale == 8 else 1)

    record = record_of(
        limit("zero-by-chance", sequence, TendsTo((1, 2, 4, 8, 16), PowerRate(1.0, deterministic=True))), "rate"
    )
    assert record.outcome == VIOLATED and record.details["order"] == pytest.approx(0.0)


def test_an_error_beyond_floats_is_a_violation_and_no_crash() -> None:
    claim = limit(
        "diverges", lambda scale, v: v * 0 + flint.fmpq(10) ** (100 * scale), TendsTo((1, 2, 3, 4, 5), QuadraticRate())
    )
    assert record_of(claim, "rate").outcome == VIOLATED


def test_a_wrong_limit_without_a_value_is_not_detected_by_that() -> None:
    claim = limit(
        "right",
        lambda scale, v: v * 0 + flint.fmpq(1, 2) ** scale,
        TendsTo((8, 16, 32, 64, 128), PowerRate(1.0, deterministic=True)),
    )
    claim.mutant("undefined", lambda value: value / (value * 0))
    claim.mutant("without end", lambda value: value + flint.arb("inf"))
    record = record_of(claim, "rate")
    assert record.outcome == UPHELD and set(record.surviving) == {"undefined", "without end"}


@pytest.mark.parametrize("wrong_at", [128, 1024])
def test_a_random_sequence_that_is_no_number_upholds_no_limit(wrong_at: int) -> None:
    def sequence(scale: int, generator: Any, v: toy.Row) -> Any:
        mean = torch.randn(scale, generator=generator, dtype=torch.float64).mean()
        return v * 0 + (mean if scale != wrong_at else math.nan)

    claim = limit("no-number", sequence, TendsTo((64, 128, 256, 512, 1024), PowerRate(0.5)))
    record = record_of(claim, "rate")
    assert record.outcome == VIOLATED and record.satisfied == 0 and record.undefined == record.examples > 0


def test_a_mean_is_compared_with_finite_limits_only() -> None:
    samples = torch.zeros(8, 1, dtype=torch.float64) + torch.arange(8)[:, None]
    for wrong in (math.nan, math.inf):
        assert _mean_p(samples, torch.tensor([wrong], dtype=torch.float64)) == 1.0


# -- laws --------------------------------------------------------------------------------------------------------------


def test_samples_that_are_no_numbers_follow_no_law() -> None:
    samples = np.array([0.1, 0.5, math.nan, 0.7] * 600)
    tests = [
        kolmogorov_smirnov("uniform", samples, lambda x: x),
        same_law("two", samples, np.linspace(0, 1, 2400)),
        same_law("two", np.linspace(0, 1, 2400), samples),
        moment_test("mean", samples, 0.5),
        moment_test("mean", samples, 0.5, 1 / 12),
        proportion_test("share", samples, 0.5),
    ]
    assert all(math.isnan(test.p) for test in tests)


def law(name: str, p_of: Any) -> Claim:
    claim = toy.toy(name, FollowsLaw(samples=10), sizes={"n": (1, 1)})

    @claim.formula
    def scale(v: toy.Row) -> Any:
        return 1.0

    @claim.part("laws")
    def tests(formula: Any, generator: Any, samples: int, v: toy.Row) -> list[LawTest]:
        return [LawTest("first", 0.5, samples), LawTest("second", p_of(formula(v)), samples)]

    claim.mutant("no number", lambda value: math.nan)
    claim.mutant("wrong", lambda value: 1e-200)
    return claim


def test_a_test_without_a_p_value_upholds_no_law_and_detects_no_mutant() -> None:
    record = record_of(law("nan-law", lambda value: math.nan), "law")
    assert record.outcome == VIOLATED and "second" in record.message and "a sample is no number" in record.message
    record = record_of(law("nan-mutant", lambda value: 0.5 if value == 1.0 else value), "law")
    assert record.outcome == UPHELD and record.surviving == ["no number"]


# -- derivations -------------------------------------------------------------------------------------------------------


def norm(t: toy.Row) -> Any:
    return frobenius_norm(t)


def twice_the_norm(t: toy.Row) -> Any:
    return 2 * frobenius_norm(t)


def test_a_derivation_whose_quantities_are_no_numbers_is_not_upheld(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = toy.toy("doubled", AtMost(), sizes={"n": (1, 2)}, all_sizes=True)
    claim.formula(twice_the_norm)
    claim.oracle(norm)
    claim.mutant("half", lambda value: value / 4)
    proof = bound_proofs.prove_bound_claim(claim)
    assert proof.proved and bound_proofs.spots_of(claim, proof, QUICK)
    raw = {"t": np.array([[1.0, 2.0]])}
    for which in range(3):  # of left, right and the computed bound
        asked = itertools.count()
        monkeypatch.setattr(
            bound_proofs.Values,
            "number",
            lambda *_, asked=asked, which=which: math.nan if next(asked) % 3 == which else 1.0,
        )
        monkeypatch.setattr(bound_proofs, "_blurred", lambda *_: False)
        spot = bound_proofs._spot(claim, proof, raw, {"n": 2})
        assert spot is not None and spot.worst == spot.above == math.inf
