"""What a search leaves out that repeats an earlier one, and what it does not: domains, kinds of inputs, the worst residual.

And that the wrong variants of laws meet fewer samples first.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import torch

from tests import claims_of_every_kind as every
from tests import claims_that_fail as toy
from verify.arithmetics import rational, total
from verify.checks import attack_on, equality, inequality, laws, units
from verify.checks.equality import CLEARLY_DEAD, EqualityAttack, _Sampling
from verify.checks.evaluation import one_of
from verify.checks.foresight import MORE_SIZES, SINGLY, SIZES, at_few_sizes, foreseen, kinds_of, plan
from verify.checks.inequality import BoundAttack
from verify.checks.laws import LawAttack
from verify.checks.record import SEPARATION, UPHELD, VIOLATED, Record
from verify.checks.search import Tally, drawn, everywhere, one_of_each_domain
from verify.checks.settings import Settings, settings_for
from verify.inputs.generators import Draw, applicable_domains, size_features
from verify.inputs.witnesses import Witnesses, data_of
from verify.oracles.statistics import LawTest
from verify.vocabulary import Claim
from verify.vocabulary.claims import Mutant
from verify.vocabulary.variants import Variant

pytestmark = pytest.mark.kept

try:
    from hypothesis.internal.conjecture import providers
except ImportError:  # of an earlier release
    providers = None
DRAWS_NUMBERS_OF_CODE = pytest.mark.skipif(
    not hasattr(providers, "_get_local_constants"), reason="this release of Hypothesis draws no numbers of code"
)
CODE = "the code that was searched"
REPEATED = dataclasses.replace(settings_for("ci"), code=CODE)


def attacked(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Record:
    monkeypatch.setattr(inequality, "witnesses_of", lambda *_: Witnesses(code=CODE))
    return BoundAttack(toy.TRUE_BOUND.relation).attacked(toy.TRUE_BOUND, settings)


def sampled(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Record:
    monkeypatch.setattr(equality, "witnesses_of", lambda *_: Witnesses(code=CODE))
    return EqualityAttack(toy.TRUE_IDENTITY.relation).sampled(toy.TRUE_IDENTITY, settings, "float64")


OTHERS = {
    "another code": dataclasses.replace(REPEATED, code="other"),
    "a code that is not known": dataclasses.replace(REPEATED, code=""),
    "a seed": dataclasses.replace(settings_for("ci", seed=3), code=CODE),
}


@pytest.mark.parametrize("check", [attacked, sampled])
def test_a_repeated_search_takes_every_domain(check, monkeypatch):
    claim = toy.TRUE_BOUND if check is attacked else toy.TRUE_IDENTITY
    fewer, first = check(REPEATED, monkeypatch), len(one_of_each_domain(claim, REPEATED))
    assert fewer.outcome == UPHELD and all(result["killed"] for result in fewer.mutants.values())
    batch = REPEATED.effort.batch  # a kind of sizes that is left undecided takes a draw more
    assert batch * first <= fewer.examples <= batch * (first + 1)
    for name, settings in OTHERS.items():
        found = check(settings, monkeypatch)
        assert found.examples >= REPEATED.effort.batch * (first + REPEATED.effort.examples), name
        assert set(fewer.domains) >= {kind for kind, number in found.domains.items() if number}, name


@pytest.mark.parametrize("claim", [toy.TRUE_BOUND, toy.TRUE_IDENTITY], ids=lambda claim: claim.id)
def test_a_repeated_search_of_a_proved_claim_takes_every_domain_once_at_few_sizes(claim, monkeypatch):
    """Its draws at other sizes are left for kinds that nothing decided."""
    proved, kept = copy.copy(claim), Witnesses(code=CODE)
    proved.all_sizes = True
    planned = plan(proved, REPEATED, kept)
    assert sorted(draw.domain for draw in planned.certain) == sorted(applicable_domains(proved))
    assert len({draw.sizes for draw in planned.certain}) == SIZES
    assert planned.draws[planned.most :] == tuple(everywhere(proved, REPEATED))
    assert plan(proved, REPEATED, kept, "float32").draws == planned.draws[: -(-planned.most // 4)]
    for name, settings in OTHERS.items():
        whole = plan(proved, settings, kept)
        assert whole.certain == whole.draws == foreseen(proved, settings, REPEATED.effort.examples // 4), name


@pytest.mark.parametrize("claim", [toy.TRUE_BOUND, toy.TRUE_IDENTITY], ids=lambda claim: claim.id)
def test_a_repeated_search_of_another_claim_takes_every_domain_once_at_two_sizes(claim):
    first, own = everywhere(claim, REPEATED), Draw((("m", 1), ("n", 1), ("p", 1)), "kinds", 1, seeds=64)
    for kept in (Witnesses(code=CODE), Witnesses(points=[data_of(own, 64)], code=CODE)):
        planned = plan(claim, REPEATED, kept)
        assert planned.certain == planned.draws
        assert [draw.domain for draw in planned.draws] == [draw.domain for draw in first]
        assert len({draw.sizes for draw in planned.draws}) == MORE_SIZES < len({draw.sizes for draw in first})
        assert (own.sizes in {draw.sizes for draw in planned.draws}) is bool(kept.points)
        further = tuple(planned.further())
        assert further[: len(first)] == tuple(first), "what is left undecided is drawn at all sizes"
        others = further[len(first) :]
        assert {kind for draw in others for kind in size_features(dict(draw.sizes))} | set(
            applicable_domains(claim)
        ) == kinds_of(claim) and {draw.domain for draw in others} == set(applicable_domains(claim))
        assert not {draw.seed for draw in others} & {draw.seed for draw in first}


@pytest.mark.parametrize("claim", [toy.TRUE_BOUND, toy.TRUE_IDENTITY], ids=lambda claim: claim.id)
def test_a_repeated_search_measures_a_variant_where_the_earlier_one_found_it_dead(claim, monkeypatch):
    """One of which nothing is kept is measured at every point, and so are all if the code has changed."""
    names = [mutant.name for mutant in claim.mutants]
    one, two = (data_of(draw, 64) for draw in everywhere(claim, REPEATED)[:2])
    module, attack = (inequality if claim is toy.TRUE_BOUND else equality), attack_on(claim)
    check = attack.attacked if claim is toy.TRUE_BOUND else functools.partial(attack.sampled, dtype="float64")
    whole, measured = module.all_in_batch, []
    monkeypatch.setattr(
        module, "all_in_batch", lambda *given: measured.append(len(given[1])) or whole(*given)
    )  # of the mutants alone
    for dead, code, first in (
        ({names[0]: one, names[1]: two}, CODE, len(names) - 1),
        ({names[0]: one}, CODE, len(names)),
        ({names[0]: one, names[1]: two}, "other", len(names)),
    ):
        measured.clear()
        kept = Witnesses(dead, code=code)
        monkeypatch.setattr(module, "witnesses_of", lambda *_, kept=kept: kept)
        record = check(claim, REPEATED)
        assert record.outcome == UPHELD and not record.surviving and measured[0] == first


ONE_ROW = Draw((("m", 1), ("n", 3), ("p", 2)), "generic", 1)


def _attained(lost: int) -> Claim:
    """The bound sum of squares <= itself, of which `lost` parts in 10^9 are lost where A has several rows."""
    claim, third = copy.copy(toy.TRUE_BOUND), rational(1, 3)  # which floats round

    def sum_of_squares(A, B):
        return total(A * A) * rational(10**9 - lost * (A.shape[0] > 1), 9 * 10**9)

    claim._formula = functools.wraps(claim.the_formula)(sum_of_squares)
    claim._oracle = functools.wraps(claim.the_oracle)(lambda A, B: total(A * third * (A * third)))
    claim.mutants = [Mutant("half", Variant(lambda A: total(A * A) * rational(1, 18), None, {}))]
    return claim


def test_balls_are_asked_once_where_floats_see_an_attained_bound_broken_by_rounding(monkeypatch):
    whole, asked = BoundAttack._settled, []
    kept = Witnesses(points=[data_of(ONE_ROW, 64)], code=CODE)
    monkeypatch.setattr(inequality, "witnesses_of", lambda *_: kept)
    monkeypatch.setattr(
        BoundAttack, "_settled", lambda self, score, place: asked.append(score > 1) or whole(self, score, place)
    )
    claim = _attained(0)
    for settings in (REPEATED, OTHERS["another code"]):
        asked.clear()
        record = BoundAttack(claim.relation).attacked(claim, settings)
        assert record.outcome == UPHELD and record.tightest_ratio == pytest.approx(1) and not record.surviving
        assert (sum(asked) == 1) is (settings is REPEATED) and sum(asked)


def test_a_bound_that_is_attained_at_the_kept_input_is_found_broken_by_more_than_rounding_elsewhere(monkeypatch):
    kept = Witnesses(points=[data_of(ONE_ROW, 64)], code=CODE)
    monkeypatch.setattr(inequality, "witnesses_of", lambda *_: kept)
    claim = _attained(1)
    assert BoundAttack(claim.relation).attacked(claim, REPEATED).outcome == VIOLATED
    monkeypatch.setattr(inequality, "NOISE", 1e-6)
    assert BoundAttack(claim.relation).attacked(claim, REPEATED).outcome == UPHELD


def test_a_repeated_search_measures_few_differences_and_each_that_may_be_a_violation(monkeypatch):
    claim, asked, whole = copy.copy(toy.TRUE_IDENTITY), [], units.flat_objects
    kept = Witnesses({mutant.name: data_of(ONE_ROW, 64) for mutant in claim.mutants}, code=CODE)
    monkeypatch.setattr(equality, "witnesses_of", lambda *_: kept)
    monkeypatch.setattr(units, "flat_objects", lambda value: asked.append(value) or whole(value))
    attack, numbers, right, third = attack_on(claim), [], claim.the_formula, rational(1, 3)
    claim._formula = functools.wraps(right)(lambda A, B: right(A * third, B * 3))  # which floats round
    for settings in (REPEATED, OTHERS["another code"]):
        asked.clear()
        assert attack.sampled(claim, settings, "float64").outcome == UPHELD
        numbers.append(len(asked))
    assert 0 < numbers[0] < numbers[1] / 2
    claim._formula = functools.wraps(right)(lambda A, B: right(A, B) * rational(10**13 + (A.shape[0] > 1), 10**13))
    assert attack.sampled(claim, REPEATED, "float64").outcome == VIOLATED


@pytest.mark.parametrize("claim", [every.REFUTED_IN_BALLS, every.FALSE_STRUCTURE, every.REFUTED_BOUND])
def test_balls_ask_no_further_where_a_claim_is_broken_that_is_expected_to_be(claim):
    """Once its wrong variants are dead.  Of one that is expected to hold, and at effort deep, all inputs are decided."""
    deep = dataclasses.replace(REPEATED, effort=dataclasses.replace(REPEATED.effort, anew=True))
    held, living = copy.copy(claim), copy.copy(claim)
    held.expects, living.mutants = "holds", [Mutant("the oracle", Variant(lambda t: t * 0, None, {}))]
    if claim is not every.FALSE_STRUCTURE:  # of a structure it is what the formula gives
        living.mutants = [Mutant("the oracle", Variant(claim.the_oracle, None, {}))]
    few, most = attack_on(claim).enclosed(claim, REPEATED), REPEATED.effort.enclosed
    assert few.outcome == VIOLATED and not few.surviving and few.satisfied < most
    others = [(claim, deep), (held, REPEATED)] + [(living, REPEATED)] * (claim is not every.FALSE_STRUCTURE)
    for other, settings in others:
        record = attack_on(other).enclosed(other, settings)
        assert record.outcome == VIOLATED and record.satisfied == most


@pytest.mark.parametrize("claim", [every.REFUTED_IN_BALLS, every.REFUTED_BOUND])
def test_balls_ask_everywhere_where_a_claim_that_is_expected_to_be_broken_holds(claim):
    """Its wrong variants are dead at the first input, which does not end the search."""
    held = copy.copy(claim)
    held._formula = functools.wraps(claim.the_formula)(functools.partial(claim.the_oracle))
    held.mutants = [
        Mutant("less", Variant(functools.wraps(claim.the_oracle)(lambda t: claim.the_oracle(t) - 1), None, {}))
    ]
    record = attack_on(held).enclosed(held, REPEATED)
    assert record.outcome == UPHELD and not record.surviving and record.satisfied == REPEATED.effort.enclosed


def test_a_repeated_search_ends_where_a_claim_is_broken_again_that_is_expected_to_be(monkeypatch):
    claim = every.REFUTED_IN_BALLS
    broken = next(draw for draw in everywhere(claim, REPEATED) if draw.domain == "generic")
    sampled = functools.partial(attack_on(claim).sampled, dtype="float64")
    for code, ends in ((CODE, True), ("other", False)):
        kept = Witnesses(points=[data_of(broken, 64)], code=code)
        monkeypatch.setattr(equality, "witnesses_of", lambda *_, kept=kept: kept)
        record = sampled(claim, REPEATED)
        assert record.outcome == VIOLATED and (record.examples == 64) is ends
    elsewhere = dataclasses.replace(broken, domain="tiny", sizes=(("n", 1),))
    upheld = copy.copy(claim)
    upheld._formula = functools.wraps(claim.the_formula)(functools.partial(claim.the_oracle))
    monkeypatch.setattr(equality, "witnesses_of", lambda *_: Witnesses(points=[data_of(elsewhere, 64)], code=CODE))
    assert sampled(upheld, REPEATED).examples > 64, "what is not broken there is searched on"


@pytest.mark.parametrize("is_proved", [True, False])
def test_float32_has_the_kept_draws_alone_if_they_detect_all_wrong_variants(is_proved):
    claim = copy.copy(toy.TRUE_IDENTITY)
    claim.all_sizes = is_proved
    names, point = [mutant.name for mutant in claim.mutants], data_of(everywhere(claim, REPEATED)[0], 64)
    for dead, code, planned in ((names, CODE, 0), (names[1:], CODE, None), (names, "other", None)):
        kept = Witnesses(dict.fromkeys(dead, point), code=code)
        found = plan(claim, REPEATED, kept, "float32").draws
        assert len(found) == planned if planned is not None else found
    kept = Witnesses(dict.fromkeys(names, point), code=CODE)
    for name, settings in OTHERS.items():
        assert plan(claim, settings, kept, "float32").draws, name


def test_further_draws_are_made_only_if_a_kind_of_inputs_is_left_undecided():
    planned, tally = plan(toy.TRUE_IDENTITY, REPEATED, Witnesses(code=CODE)), Tally()
    asked: list[str] = []
    watched = dataclasses.replace(planned, further=lambda: asked.append("further") or planned.further())
    for draw in watched.examined(tally):
        tally.count(draw, 1, 1, 0)
    assert not asked and set(tally.domains) >= watched.kinds
    own = next(kind for kind in sorted(watched.kinds) if kind in applicable_domains(toy.TRUE_IDENTITY))
    without = Tally()
    seen = []
    for draw in watched.examined(without):
        seen.append(draw)
        without.count(draw, 1, int(draw.domain != own), 0)
    assert asked and [draw.domain for draw in seen[watched.most :]].count(own) > 0


def test_a_proved_claim_is_decided_at_one_input_in_balls_and_exactly_once_its_wrong_variants_are_dead():
    proved = copy.copy(toy.TRUE_IDENTITY)
    proved.all_sizes = True
    attack, deep = (
        attack_on(proved),
        dataclasses.replace(REPEATED, effort=dataclasses.replace(REPEATED.effort, anew=True)),
    )
    for check, most in ((attack.enclosed, 2), (attack.decided, REPEATED.effort.exact)):
        found = check(proved, REPEATED)
        assert found.satisfied == 1 and not found.surviving
        assert check(proved, deep).satisfied == most
        living = copy.copy(proved)
        living.mutants = [Mutant("the formula itself", Variant(living.the_formula, None, {}))]
        assert check(living, REPEATED).satisfied == most


def test_a_false_formula_of_a_proved_claim_is_refuted_by_every_check_that_takes_fewer_inputs(monkeypatch):
    false = copy.copy(toy.TRUE_IDENTITY)
    point, names = data_of(everywhere(false, REPEATED)[0], 64), [mutant.name for mutant in false.mutants]
    false.all_sizes, false._formula = True, functools.wraps(false.the_formula)(false.mutants[0].function)
    kept = Witnesses(dict.fromkeys(names, point), code=CODE)
    monkeypatch.setattr("verify.checks.equality.witnesses_of", lambda *_: kept)
    attack = attack_on(false)
    for found in (
        attack.enclosed(false, REPEATED),
        attack.decided(false, REPEATED),
        attack.sampled(false, REPEATED, "float64"),
        attack.sampled(false, REPEATED, "float32"),
    ):
        assert found.outcome == VIOLATED, found.check


def test_a_domain_of_the_claims_own_stays_at_its_sizes():
    claim = copy.copy(toy.TRUE_BOUND)
    claim.special_domains = {"own": lambda *_: None}
    drawn = everywhere(claim, REPEATED)
    (own,) = [draw for draw in drawn if draw.domain == "own"]
    other = next(draw for draw in drawn if draw.sizes != own.sizes)
    assert at_few_sizes(claim, [], [own, other])[0] == own
    usual = dataclasses.replace(own, domain="tied")
    assert at_few_sizes(claim, [], [usual, other])[0].sizes == other.sizes
    first, second = at_few_sizes(claim, [usual], [usual, other])
    assert first.sizes == second.sizes == own.sizes, "the sizes of kept draws come first"


def test_a_repeated_search_in_float32_takes_a_quarter_of_the_draws():
    planned = plan(toy.TRUE_IDENTITY, REPEATED, Witnesses(code=CODE))
    fewer = plan(toy.TRUE_IDENTITY, REPEATED, Witnesses(code=CODE), "float32")
    assert fewer.draws == fewer.certain == planned.draws[: -(-planned.most // 4)]


def test_of_functions_that_take_one_seed_at_a_time_fewer_are_drawn():
    claim = copy.copy(toy.TRUE_IDENTITY)
    claim.batched = False
    assert {draw.seeds for draw in plan(claim, REPEATED, Witnesses(code=CODE)).draws} == {SINGLY}
    assert {draw.seeds for draw in plan(claim, OTHERS["a seed"], Witnesses(code=CODE)).draws} == {None}


@pytest.mark.parametrize("check", [attacked, sampled])
def test_draws_of_kinds_that_nothing_decided_are_not_passed_over(check, monkeypatch):
    """Those of every domain at few sizes come in addition to those at all."""
    claim = toy.TRUE_BOUND if check is attacked else toy.TRUE_IDENTITY
    monkeypatch.setattr(Tally, "has_decided_kinds", lambda *_: False)
    planned = plan(claim, REPEATED, Witnesses(code=CODE))
    draws = [*planned.certain, *planned.further()]
    assert check(REPEATED, monkeypatch).examples == REPEATED.effort.batch * len(draws)


def test_a_kind_is_decided_where_its_domain_and_every_feature_of_its_sizes_are():
    draw, other = Draw((("m", 1), ("n", 3)), "tied", 0), Draw((("m", 2), ("n", 2)), "tied", 0)
    tally = Tally()
    tally.count(other, 64, 5, 0)
    assert tally.has_decided(other) and not tally.has_decided(draw)
    tally.count(draw, 64, 0, 64)
    assert not tally.has_decided(draw)
    tally.count(draw, 64, 1, 63)
    assert tally.has_decided(draw)


def test_at_effort_deep_nothing_is_passed_over():
    deep, kept = dataclasses.replace(settings_for("deep"), code=CODE), Witnesses(code=CODE)
    for dtype in deep.dtypes:
        planned = plan(toy.TRUE_IDENTITY, deep, kept, dtype)
        assert planned.certain == planned.draws == foreseen(toy.TRUE_IDENTITY, deep, deep.effort.examples)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_not_measured_in_units_would_not_have_been_the_worst(dtype, monkeypatch):
    """The record of a search that measures every draw, and both sides of each, is the same."""
    attack, sides = EqualityAttack(toy.TRUE_IDENTITY.relation), []
    whole = units.flat_objects
    monkeypatch.setattr(units, "flat_objects", lambda value: sides.append(value) or whole(value))
    found = dataclasses.asdict(attack.sampled(toy.TRUE_IDENTITY, REPEATED, dtype))
    fewer = len(sides)
    at = units.unit_at
    monkeypatch.setattr(equality, "unit_at", lambda *given: at(*given[:4]))
    several = dataclasses.asdict(attack.sampled(toy.TRUE_IDENTITY, REPEATED, dtype))
    both = len(sides) - fewer
    monkeypatch.setattr(equality, "CLEARLY_DEAD", math.inf)
    measured = dataclasses.asdict(attack.sampled(toy.TRUE_IDENTITY, REPEATED, dtype))
    for other in (several, measured):
        assert found["worst_residual"] == other["worst_residual"] and found["satisfied"] == other["satisfied"]
    assert 0 < fewer <= both < (len(sides) - both - fewer) / 2


def test_a_unit_that_is_no_less_than_asked_for_is_that_of_the_first_sides():
    claim, (draw, *_) = toy.TRUE_IDENTITY, everywhere(toy.TRUE_IDENTITY, REPEATED)
    seed = one_of(claim, draw.arrays(claim, 1), 0)
    first, both = (
        units.unit_at(claim, sides, seed, 53) for sides in ([claim.the_formula], [claim.the_formula, claim.the_oracle])
    )
    sides = [claim.the_formula, claim.the_oracle]
    assert 0 < first.value < both.value
    assert units.unit_at(claim, sides, seed, 53, first.value).value == first.value
    assert units.unit_at(claim, sides, seed, 53, 2 * both.value).value == both.value


@pytest.mark.parametrize(("found", "is_passed_over"), [(1.0, True), (0.99, False), (math.inf, False)])
def test_a_seed_is_passed_over_where_the_first_sides_have_a_unit_that_is_large_enough(
    found, is_passed_over, monkeypatch
):
    """By 1 % less than it takes to be no worse than what is known, and where it is undecided, the seed counts."""
    claim, asked = toy.TRUE_IDENTITY, []

    def unit(claim, sides, seed, bits, least=math.inf):
        asked.append(least)
        return units.Unit(found * least)

    sampling = _Sampling(EqualityAttack(claim.relation), claim, REPEATED, "float64")
    at = sampling._evaluated(everywhere(claim, REPEATED)[0])
    left, right = at.values[0] * (1 + 1e-12), at.values[1]
    difference, size = (left - right).abs().amax(1), left.abs().amax(1)
    usable = torch.ones(len(left), dtype=torch.bool)
    sampling.worst, sampling.mutants = 0.5, dict.fromkeys(sampling.mutants, math.inf)
    monkeypatch.setattr(equality, "unit_at", unit)
    worst = sampling._worst_seed(at, difference, size, usable)
    assert (worst is None) is is_passed_over
    assert asked[0] == float(difference[int((difference / size).argmax())]) / 0.5
    first, sampling.worst = len(asked), 2.0
    sampling._worst_seed(at, difference, size, torch.ones(len(left), dtype=torch.bool))
    assert asked[first] == asked[0] / 2, "of a second violation too the whole unit is found"
    sampling.worst, sampling.mutants[next(iter(sampling.mutants))] = 0.5, 0.0
    sampling._worst_seed(at, difference, size, usable)
    assert asked[-1] == math.inf, "what is left to be measured needs the whole unit"


def test_a_repeated_search_measures_variants_until_they_are_dead_and_others_until_they_are_clearly(monkeypatch):
    claim = toy.TRUE_IDENTITY
    monkeypatch.setattr(equality, "witnesses_of", lambda *_: Witnesses(code=CODE))
    for settings, bar in ((REPEATED, SEPARATION), (OTHERS["a seed"], CLEARLY_DEAD)):
        sampling = _Sampling(EqualityAttack(claim.relation), claim, settings, "float64")
        assert sampling._settled == bar


@pytest.mark.parametrize(("settings", "most"), [(REPEATED, inequality.FEW), (OTHERS["a seed"], inequality.KEPT)])
def test_in_a_repeated_search_balls_decide_the_two_tightest_inputs(settings, most, monkeypatch):
    halls: list[inequality.Hall] = []

    class Noted(inequality.Hall):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            halls.append(self)

    monkeypatch.setattr(inequality, "Hall", Noted)
    assert attacked(settings, monkeypatch).outcome == UPHELD
    assert [hall.most for hall in halls] == [most]
    assert [len(hall.decided(toy.TRUE_BOUND.the_formula)) for hall in halls] == [most]


def integers_drawn(plainly: bool) -> set[int]:
    """What Hypothesis draws of a million integers while `AMONG_THE_CODE` stands in the source of a module."""
    seen: set[int] = set()
    whole = st.integers(0, 10**6)
    if plainly:

        @hypothesis.settings(max_examples=300, database=None, derandomize=True)
        @hypothesis.given(whole)
        def draw(value: int) -> None:
            seen.add(value)

        draw()
    else:
        drawn("integers", whole, Settings(), seen.add, 300)  # type: ignore[arg-type]
    return seen


AMONG_THE_CODE = 718_281


@DRAWS_NUMBERS_OF_CODE
def test_what_is_drawn_does_not_depend_on_the_numbers_in_other_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    before = integers_drawn(plainly=False)
    constants = providers.Constants(integers=type(providers.GLOBAL_CONSTANTS.integers)([AMONG_THE_CODE]))
    monkeypatch.setattr(providers, "_get_local_constants", lambda: constants)
    monkeypatch.setattr(providers, "CONSTANTS_CACHE", {})
    assert AMONG_THE_CODE in integers_drawn(plainly=True)  # which fills the cache of Hypothesis
    assert integers_drawn(plainly=False) == before
    assert AMONG_THE_CODE not in before
    assert AMONG_THE_CODE in integers_drawn(plainly=True)


@DRAWS_NUMBERS_OF_CODE
def test_the_numbers_of_code_are_drawn_again_after_a_search_that_fails() -> None:
    before = providers._get_local_constants, providers.CONSTANTS_CACHE
    with pytest.raises(ZeroDivisionError):
        drawn("integers", st.integers(0, 1), Settings(), lambda _: 1 // 0, 3)
    assert (providers._get_local_constants, providers.CONSTANTS_CACHE) == before


@pytest.mark.parametrize("effort", ["ci", "deep"])
def test_mutants_of_a_law_meet_a_quarter_of_the_samples_first_and_all_where_these_decide_nothing(effort, monkeypatch):
    """At effort deep all at once.  The law itself has all, but for a quarter at the sizes that a source names."""
    claim, settings = every.GAUSSIAN, settings_for(effort)
    whole = laws.law_tests
    asked: dict[str, list[int]] = {}

    def counted(claim: Claim, formula: Any, raw: Any, seed: int, settings: Settings, samples: int) -> list[LawTest]:
        asked.setdefault("law" if formula is claim.the_formula else "mutant", []).append(samples)
        return whole(claim, formula, raw, seed, settings, samples)

    monkeypatch.setattr(laws, "law_tests", counted)
    record = LawAttack(claim.relation).tested(claim, settings)
    assert record.outcome == UPHELD and not record.surviving
    full = claim.relation.samples
    fewer = full if effort == "deep" else full // 4
    assert asked["law"] == [full] * claim.relation.instances + [fewer] * len(claim.scales) and claim.scales
    assert set(asked["mutant"]) == {fewer}

    def weak(claim: Claim, formula: Any, raw: Any, seed: int, settings: Settings, samples: int) -> list[LawTest]:
        found = counted(claim, formula, raw, seed, settings, samples)
        return found if samples == full else [dataclasses.replace(test, p=1.0) for test in found]

    monkeypatch.setattr(laws, "law_tests", weak)
    asked.clear()
    again = LawAttack(claim.relation).tested(claim, settings)
    assert again.outcome == UPHELD and not again.surviving, "what is not decided by a few is tried on all"
    assert asked["mutant"].count(full) >= len(claim.mutants)
    survivor = LawAttack(every.LAW_WITH_A_SURVIVOR.relation).tested(every.LAW_WITH_A_SURVIVOR, settings)
    assert survivor.surviving
