"""The points of comparisons, which every implementation meets, and what is found once for all of them."""

from __future__ import annotations

import dataclasses
import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from verify.checks.settings import EFFORTS
from verify.gate import known, prepared
from verify.gate.autograd import Point
from verify.gate.findings import FIRST, FORWARD, LONG, SECOND, SIZES
from verify.gate.known import found_once
from verify.gate.prepared import Points, points_of
from verify.gate.probes import DRAWS_OF_FIRST, DRAWS_OF_SECOND
from verify.gate.profiles import profile_of
from verify.vocabulary.registry import load

pytestmark = pytest.mark.kept

SOFTMAX = "hessian.softmax"


# -- what is found once ------------------------------------------------------------------------------------------------


def of_claim(name: str = "a", inputs: Any = None) -> Any:
    return SimpleNamespace(id=name, named_functions=lambda: {"inputs": inputs} if inputs else {})


def one() -> None: ...


def other() -> None: ...


def test_what_was_found_is_kept_by_claim_functions_inputs_and_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_known", {})
    numbers = itertools.count()
    x, row = np.array([[1.0, 2.0]]), np.array([1.0, 2.0])

    def found(claim: Any = None, functions: Any = (one,), seed: Any = None, what: Any = "unit") -> int:
        return found_once(
            claim or of_claim(), functions, {"x": x} if seed is None else seed, what, lambda: next(numbers)
        )

    assert [found(), found(), found(seed={"x": x.copy()})] == [0, 0, 0]
    others: list[dict[str, Any]] = [
        {"claim": of_claim("b")}, {"claim": of_claim(inputs=one)}, {"claim": of_claim(inputs=other)},
        {"functions": (other,)}, {"functions": (one, other)}, {"what": "other"}, {"seed": {"y": x}},
        {"seed": {"x": row}}, {"seed": {"x": np.array([[1.0, np.nextafter(2.0, 3.0)]])}}, {"seed": {"x": 3}},
        {"seed": {"x": 4}}, {"seed": {"x": x, "n": 1}},
    ]  # fmt: skip
    assert [found(**each) for each in others] == list(range(1, 13))
    assert [found(**each) for each in others] == list(range(1, 13)) and found() == 0


def test_what_an_implementation_was_called_for_is_not_kept_and_what_is_kept_has_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known, "_known", kept := {})
    calls = [0]

    def asked(n: int, calling: bool) -> int:
        def find() -> int:
            calls[0] += calling
            return 10 * n + calls[0]

        return found_once(of_claim(), [one], {"n": n}, "unit", find, lambda: calls[0])

    assert [asked(1, True), asked(1, True), asked(1, False), asked(1, True)] == [11, 12, 12, 12] and len(kept) == 1
    monkeypatch.setattr(known, "MOST", 3)
    for n in (2, 3):
        asked(n, False)
    assert len(kept) == 3
    asked(1, False)
    assert len(kept) == 3
    asked(4, False)
    assert len(kept) == 1


# -- points ------------------------------------------------------------------------------------------------------------


def made(effort: str = "quick", seed: int = 5) -> Points:
    load("theorems")
    return Points(profile_of(SOFTMAX), EFFORTS[effort], seed)


def at(x: float, title: str = "") -> Point:
    return Point({"T": torch.tensor([[x, 1.0]]).double()}, 1, 0, title=title)


def test_points_are_about_a_subject_at_an_effort_and_a_seed() -> None:
    points = made("ci")
    assert points.profile is profile_of(SOFTMAX) and points.claim.id == f"gate.{SOFTMAX}"
    assert points.claim.batched is False and points.settings.effort is EFFORTS["ci"] and points.settings.seed == 5
    assert points.definition(torch.zeros(1, 2)).tolist() == [[0.5, 0.5]]
    counts = {FIRST: DRAWS_OF_FIRST["ci"], SECOND: DRAWS_OF_SECOND["ci"], FORWARD: DRAWS_OF_SECOND["ci"]}
    assert {check: points.count(check) for check in (FIRST, SECOND, FORWARD, SIZES, LONG)} == {
        **counts, SIZES: None, LONG: None,
    }  # fmt: skip
    profile = points.profile
    kept = points_of(profile, EFFORTS["ci"], 5)
    assert kept is points_of(profile, EFFORTS["ci"], 5) and kept.settings.seed == 5 and kept.profile is profile
    assert kept.settings.effort is EFFORTS["ci"] and kept is not points_of(profile, EFFORTS["ci"], 6)


def test_points_are_made_one_by_one_and_kept_by_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    points, drawn = made(), []  # type: ignore[var-annotated]

    def draw(check: str, in_half: bool = False) -> Any:
        for number, x in enumerate((0.5, float("nan"), 2.0)):
            drawn.append((check, in_half, number))
            yield at(x, f"{check} {number}"), {"T": number}

    monkeypatch.setattr(points, "drawn", draw)
    first = points.prepared(SIZES)
    found = next(first)
    assert found.point.title == f"{SIZES} 0" and found.arrays == {"T": 0} and drawn == [(SIZES, False, 0)]
    assert torch.allclose(found.truth.results["the value"], torch.softmax(found.point.arguments["T"], -1))
    assert [each.arrays for each in points.prepared(SIZES)] == [{"T": 0}, {"T": 2}]
    assert next(first) is list(points.prepared(SIZES))[1] and next(first, None) is None and len(drawn) == 3
    assert len(list(points.prepared(SIZES, in_half=True))) == 2 and drawn[3:] == [(SIZES, True, n) for n in range(3)]
    assert len(list(points.prepared(LONG))) == 2 and len(drawn) == 9


def test_each_comparison_has_points_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    points, asked = made(), []  # type: ignore[var-annotated]

    def small(claim: Any, order: int, count: int, settings: Any) -> Any:
        assert claim is points.claim and settings is points.settings
        asked.append((order, count))
        return iter([(at(n), {"T": n}) for n in range(4)])

    def of(name: str) -> Any:
        def drawn(profile: Any, settings: Any, **given: Any) -> Any:
            assert profile is points.profile and settings is points.settings
            asked.append((name, given))
            return iter([at(1.0, name)])

        return drawn

    monkeypatch.setattr(prepared, "small_points", small)
    for name in ("large_points", "long_points", "summing_points"):
        monkeypatch.setattr(prepared, name, of(name))
    for check, forward, twice in (
        (FIRST, [False] * 4, [False, True, False, True]), (SECOND, [False] * 4, [False] * 4), (FORWARD, [True] * 4, [False] * 4),
    ):  # fmt: skip
        found = list(points.drawn(check))
        assert [point.forward for point, _ in found] == forward and [point.twice for point, _ in found] == twice
        assert [arrays for _, arrays in found] == [{"T": n} for n in range(4)]
        assert found[2][0].arguments["T"][0, 0] == 2.0
    assert asked == [(1, 12), (2, 6), (1, 6)]
    asked.clear()
    for check, in_half, name, given in (
        (SIZES, False, "large_points", {}), (LONG, False, "long_points", {}),
        (SIZES, True, "summing_points", {}), (LONG, True, "long_points", {"in_half": True}),
    ):  # fmt: skip
        ((point, arrays),) = points.drawn(check, in_half)
        assert point.title == name and arrays is None and asked[-1] == (name, given)
    assert list(points.drawn(FIRST, in_half=True)) == [] and dataclasses.is_dataclass(prepared.Prepared)
