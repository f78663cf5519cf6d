"""What a search leaves out that repeats an earlier one, and what it does not: domains, kinds of inputs, the worst residual."""

from __future__ import annotations

import dataclasses
import math

import hypothesis
import hypothesis.strategies as st
import pytest

from tests import claims_that_fail as toy
from verify.checks import equality, inequality
from verify.checks.equality import EqualityAttack
from verify.checks.inequality import BoundAttack
from verify.checks.record import UPHELD, Record
from verify.checks.search import Tally, drawn, enough, one_of_each_domain
from verify.checks.settings import Settings, settings_for
from verify.inputs.generators import Draw
from verify.inputs.witnesses import Witnesses

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
def test_a_repeated_search_takes_every_domain_and_a_quarter_of_the_other_draws(check, monkeypatch):
    claim = toy.TRUE_BOUND if check is attacked else toy.TRUE_IDENTITY
    fewer, first = check(REPEATED, monkeypatch), len(one_of_each_domain(claim, REPEATED))
    assert fewer.outcome == UPHELD and all(result["killed"] for result in fewer.mutants.values())
    assert fewer.examples == REPEATED.effort.batch * (first + REPEATED.effort.examples // 4)
    for name, settings in OTHERS.items():
        found = check(settings, monkeypatch)
        assert found.examples >= REPEATED.effort.batch * (first + REPEATED.effort.examples), name
        assert set(fewer.domains) >= {kind for kind, number in found.domains.items() if number}, name


@pytest.mark.parametrize("check", [attacked, sampled])
def test_draws_of_kinds_that_nothing_decided_are_not_passed_over(check, monkeypatch):
    monkeypatch.setattr(Tally, "has_decided", lambda *_: False)
    assert check(REPEATED, monkeypatch).examples == check(OTHERS["another code"], monkeypatch).examples


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
    deep = dataclasses.replace(settings_for("deep"), code=CODE)
    assert enough(toy.TRUE_BOUND, deep, 2, CODE) == math.inf > enough(toy.TRUE_BOUND, REPEATED, 2, CODE)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_not_measured_in_units_would_not_have_been_the_worst(dtype, monkeypatch):
    """The record of a search that measures every draw is the same."""
    attack, units = EqualityAttack(toy.TRUE_IDENTITY.relation), []
    whole = equality.unit_at
    monkeypatch.setattr(equality, "unit_at", lambda *given: units.append(given) or whole(*given))
    found = dataclasses.asdict(attack.sampled(toy.TRUE_IDENTITY, REPEATED, dtype))
    fewer = len(units)
    monkeypatch.setattr(equality, "CLEARLY_DEAD", math.inf)
    every = dataclasses.asdict(attack.sampled(toy.TRUE_IDENTITY, REPEATED, dtype))
    assert found["worst_residual"] == every["worst_residual"] and found["satisfied"] == every["satisfied"]
    assert 0 < fewer < len(units) - fewer


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
