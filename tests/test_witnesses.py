"""Witnesses: what a search found once is where the next one begins, and a stale witness fails."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests import claims_that_fail as toy
from tests.test_cli import verify
from verify.checks import checks_of
from verify.checks.record import ERROR, UPHELD, VIOLATED, Record
from verify.checks.settings import settings_for
from verify.cli.running import _tells_more
from verify.evidence.fingerprints import code_of
from verify.evidence.runner import run_check
from verify.inputs import witnesses
from verify.inputs.generators import Draw
from verify.inputs.witnesses import Given, Witnesses, data_of, given, point_of
from verify.vocabulary import Claim, Equal, load

pytestmark = pytest.mark.kept

QUICK = settings_for("quick")
DRAW = Draw((("m", 2), ("n", 3)), "generic", 7, ((0, 1, 2),))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the toy claims' witnesses are."""
    path = tmp_path / "witnesses.json"
    monkeypatch.setattr(witnesses, "file_of", lambda module: path)
    witnesses._read.cache_clear()
    yield path
    witnesses._read.cache_clear()


def write(path: Path, claim: Claim, check: str, found: Witnesses) -> None:
    path.write_text(json.dumps({claim.id: {check: found.data()}}))
    witnesses._read.cache_clear()


def first(claim: Claim) -> Record:
    return run_check(claim, checks_of(claim, QUICK)[0], QUICK)


def test_a_draw_survives_the_round_trip_with_its_number_of_seeds() -> None:
    back = point_of(json.loads(json.dumps(data_of(DRAW, 16))))
    assert back == Draw(DRAW.sizes, "generic", 7, ((0, 1, 2),), seeds=16)


def test_explicit_inputs_survive_the_round_trip_to_the_last_bit() -> None:
    raw = {"A": np.array([[1 / 3, -0.1]]), "n": 2}
    back = point_of(json.loads(json.dumps(given(raw))))
    assert isinstance(back, Given) and data_of(back, 64) == given(raw)
    arrays = back.arrays(toy.TRUE_IDENTITY, 64)
    assert arrays["n"] == 2 and arrays["A"].shape == (1, 1, 2) and (arrays["A"][0] == raw["A"]).all()


def test_every_point_is_kept_once() -> None:
    found = Witnesses({"one": {"inputs": {"n": 1}}, "two": {"inputs": {"n": 1}}}, [{"inputs": {"n": 2}}])
    assert found.data() == {"points": [{"inputs": {"n": 1}}, {"inputs": {"n": 2}}], "dead": {"one": 0, "two": 0}}


@pytest.mark.parametrize("claim", [toy.TRUE_IDENTITY, toy.TRUE_BOUND], ids=["identity", "bound"])
def test_what_a_search_finds_kills_again_at_once(claim: Claim, kept: Path) -> None:
    record = first(claim)
    found = record.details["witnesses"]
    assert set(found["dead"]) == {mutant.name for mutant in claim.mutants}
    kept.write_text(json.dumps({claim.id: {record.check: found}}))
    witnesses._read.cache_clear()
    again = first(claim)
    assert again.outcome == UPHELD and not again.surviving
    assert again.details["witnesses"]["dead"].keys() == found["dead"].keys()


@pytest.mark.parametrize("claim", [toy.TRUE_IDENTITY, toy.TRUE_BOUND], ids=["identity", "bound"])
def test_a_stale_witness_is_a_failing_check(claim: Claim, kept: Path) -> None:
    nowhere = {"inputs": {"A": np.zeros((2, 3)).tolist(), "B": np.zeros((3, 2)).tolist()}}
    name = claim.mutants[0].name
    check = checks_of(claim, QUICK)[0].name
    write(kept, claim, check, Witnesses({name: nowhere}))
    record = first(claim)
    assert record.outcome == ERROR and f"mutants are dead: {name}; renew it: verify run" in record.message


def test_a_mutant_that_is_gone_needs_no_witness(kept: Path) -> None:
    check = checks_of(toy.TRUE_IDENTITY, QUICK)[0].name
    write(kept, toy.TRUE_IDENTITY, check, Witnesses({"a mutant of yesterday": data_of(DRAW, 16)}))
    assert first(toy.TRUE_IDENTITY).outcome == UPHELD


def test_points_of_other_inputs_or_sizes_are_dropped(kept: Path) -> None:
    claim = toy.TRUE_IDENTITY
    name, found = first(claim).check, Witnesses()
    own = data_of(Draw(tuple((size, 1) for size in claim.sizes), "generic", 7), 4)
    inputs = given({parameter: np.ones((1, 1)) for parameter in claim.parameters})
    found.points = [
        own,
        {**own, "sizes": {**own["sizes"], "other": 1}},
        {**own, "sizes": {}},
        inputs,
        given({"other": 1}),
    ]
    found.dead = {claim.mutants[0].name: own, claim.mutants[1].name: given({"other": 1})}
    write(kept, claim, name, found)
    left = witnesses.witnesses_of(claim, name)
    assert left.points == [own, inputs] and left.dead == {claim.mutants[0].name: own}
    assert first(claim).outcome == UPHELD


def test_what_is_not_dead_has_no_witness() -> None:
    found = Witnesses()
    found.note({"one": 0.0, "two": 0.0}, {"one": 999.0, "two": 1000.0}, {"inputs": {"n": 1}}, 1000.0)
    assert list(found.dead) == ["two"]


RARE = toy.toy("rarely-wrong", Equal(), sizes={"n": (2, 2)})
NEEDLE = [0.12345, 0.54321]


@RARE.formula
def wrong_at_one_point(t: toy.Row) -> object:
    return t * (1 + 1e-3 * toy_indicator(t))


@RARE.oracle
def itself(t: toy.Row) -> object:
    return t * 1


def toy_indicator(t: object) -> object:
    """1 within a thousandth of the needle, 0 elsewhere: a search does not come there."""
    import torch

    if not isinstance(t, torch.Tensor):
        return 0
    return ((t - torch.tensor(NEEDLE, dtype=t.dtype)).abs().amax() < 1e-3).to(t.dtype)


RARE.mutant("doubled", lambda value: 2 * value)
RARE.mutant("wrong sign", lambda value: -value)


def test_a_search_begins_where_an_earlier_one_ended(kept: Path) -> None:
    assert first(RARE).outcome == UPHELD
    write(kept, RARE, checks_of(RARE, QUICK)[0].name, Witnesses(points=[{"inputs": {"t": NEEDLE}}]))
    record = first(RARE)
    assert record.outcome == VIOLATED and record.details["inputs"] == {"t": NEEDLE}


def test_a_bound_is_at_least_as_tight_as_it_was_found_once(kept: Path) -> None:
    tight = {"A": [[1.0, 0.0]], "B": [[1.0], [0.0]]}
    write(kept, toy.TRUE_BOUND, "attacked float64", Witnesses(points=[{"inputs": tight}]))
    assert first(toy.TRUE_BOUND).tightest_ratio == 1


@pytest.mark.parametrize(
    ("code", "tight", "effort", "climbs"),
    [
        ("that of the claim", [1.0, 0.0], "quick", False),
        ("that of the claim", [1.0, 0.0], "deep", True),
        ("that of another formula", [1.0, 0.0], "quick", True),
        ("", [1.0, 0.0], "quick", True),
        ("that of the claim", [1e-9, 1.0], "quick", True),  # draws come closer
    ],
)
def test_ascents_start_again_where_the_code_changed_or_a_draw_beats_what_is_kept(
    kept: Path, code: str, tight: list[float], effort: str, climbs: bool
) -> None:
    own = code_of(toy.TRUE_BOUND) if code == "that of the claim" else code
    found = {"points": [{"inputs": {"A": [tight], "B": [[1.0], [0.0]]}}], "dead": {}, "code": own}
    kept.write_text(json.dumps({toy.TRUE_BOUND.id: {"attacked float64": found}}))
    witnesses._read.cache_clear()
    settings = replace(QUICK, effort=replace(QUICK.effort, anew=effort == "deep"))
    record = run_check(toy.TRUE_BOUND, checks_of(toy.TRUE_BOUND, settings)[0], settings)
    assert record.outcome == UPHELD and (record.details["search"]["ascent from"] is not None) == climbs


def test_the_command_keeps_what_runs_found_and_later_runs_use_it(tmp_path: Path) -> None:
    from tests.conftest import write_claim

    write_claim(tmp_path / "demo_claims", "sound")
    write_claim(tmp_path / "demo_claims", "other")
    none = verify(tmp_path, "witnesses")
    assert none.returncode == 2 and "claims: expected claims with evidence about this code" in none.stderr
    verify(tmp_path, "run", "--effort", "quick", "--jobs", "1")
    assert "1 claims" in verify(tmp_path, "witnesses", "demo.sound").stdout
    path = tmp_path / "demo_claims/witnesses.json"
    found = json.loads(path.read_text())
    assert len(found["demo.sound"]["sampled float64"]["code"]) == 16
    assert list(found) == ["demo.sound"] and {"sampled float64", "sampled float32"} <= set(found["demo.sound"])
    assert "2 claims" in verify(tmp_path, "witnesses").stdout
    assert json.loads(path.read_text())["demo.sound"] == found["demo.sound"]
    again = verify(tmp_path, "run", "--effort", "quick", "--seed", "5", "--jobs", "1")
    assert again.returncode == 0, again.stdout + again.stderr


def test_of_several_seeds_the_one_that_tells_most_is_kept() -> None:
    record = first(toy.TRUE_BOUND)
    loose, tight = replace(record, tightest_ratio=0.5, effort="deep"), replace(record, tightest_ratio=0.9)
    assert _tells_more(tight, loose) and not _tells_more(loose, tight)
    blind = replace(tight, details={"witnesses": {"dead": {}, "points": []}})
    assert _tells_more(loose, blind) and not _tells_more(blind, loose)
    equal = replace(loose, effort="quick")
    assert _tells_more(loose, equal) and not _tells_more(equal, loose) and _tells_more(loose, loose)


def test_where_assumptions_are_rarely_met_balls_look_at_the_tightest_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, settings = load()["skipless.a4.3-conclusion-share"], settings_for("quick", 7)
    (enclosed,) = (check for check in checks_of(claim, settings) if check.name == "enclosed")
    assert run_check(claim, enclosed, settings).outcome == UPHELD
    monkeypatch.setattr("verify.checks.inequality.witnesses_of", lambda *given: Witnesses())
    record = run_check(claim, enclosed, settings)
    assert record.outcome == VIOLATED and record.message == "no example satisfied the assumptions"
