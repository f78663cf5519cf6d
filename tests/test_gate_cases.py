"""Sizes for which kernels have cases of their own, and calls of which one in hundreds fails: nothing else shows these layers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from tests.efforts import whole_or_part
from tests.false_alarms import alarms, main, seeded
from tests.part_of_comparisons import in_part
from tests.wrong_layers import Layer, layers
from tests.wrong_layers.cases import CASES, last_row_lost
from tests.wrong_layers.in_use import masked
from verify.gate import comparison, probes
from verify.gate.checking import Gate, gate
from verify.gate.findings import BROKEN, LONG, REPEATED, SATISFIED, SIZES, UNCHECKABLE, Finding
from verify.gate.prepared import Points
from verify.gate.probes import cases_of_kernels

pytestmark = pytest.mark.kept

layers()


#: By subject, and by whether cases of kernels are among them: the points that its layers share.
POINTS: dict[tuple[str, bool], Points] = {}


def with_points(layer: Layer, cases: bool) -> Gate:
    """The gate of a layer, with the points of its subject."""
    made = gate(layer.subject, layer.make(), dtypes=["float64"])
    if (layer.subject, cases) not in POINTS:
        POINTS[layer.subject, cases] = Points(made.profile, made.settings.effort, made.settings.seed)
    assert made.comparison is not None
    made.comparison.points = POINTS[layer.subject, cases]
    return made


@pytest.mark.parametrize("layer", CASES, ids=[layer.name for layer in CASES])
def test_only_cases_of_kernels_show_it(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_points(layer, cases=True).run(SIZES, "float64", shrinking=False).status == BROKEN
    monkeypatch.setattr(probes, "cases_of_kernels", lambda profile, effort: [])
    made = with_points(layer, cases=False)
    assert made.run(SIZES, "float64").status == SATISFIED


def test_cases_have_every_width_and_ratio_and_keep_to_what_is_chosen() -> None:
    profile = gate("transformer.batched_attention", lambda *given: given[0]).profile
    found = cases_of_kernels(profile, "quick")
    assert {80, 96, 112, 128, 256} <= {sizes["d_K"] for sizes in found if sizes["d_K"] == sizes["d_V"]}
    assert set(range(1, 9)) <= {sizes["H"] // sizes["G"] for sizes in found}
    assert {(4, 8), (8, 16), (2, 32), (8, 40)} <= {(sizes["G"], sizes["H"]) for sizes in found}
    assert {(64, 128), (192, 128)} <= {(sizes["d_K"], sizes["d_V"]) for sizes in found}
    assert {1, 5} <= {sizes["m"] for sizes in found if sizes["n"] == 129}
    assert any(sizes["n"] % 256 == 0 for sizes in found) and any(sizes["B"] > 8 for sizes in found)
    assert any(sizes["B"] * sizes["H"] > 64 for sizes in found) and any(65 < sizes["n"] < 128 for sizes in found)
    few = gate("transformer.batched_attention", lambda *given: given[0], sizes={"d_K": (8, 100), "H": 4}).profile
    chosen = cases_of_kernels(few, "quick")
    assert {80, 96} <= {sizes["d_K"] for sizes in chosen} and all(8 <= sizes["d_K"] <= 100 for sizes in chosen)
    assert {sizes["H"] for sizes in chosen} == {4}
    assert all(len(cases_of_kernels(profile, effort)) >= len(found) for effort in ("ci", "deep"))


#: At which efforts a layer is tried that is wrong beyond 4096 rows, and what is found there.
EFFORTS = [("quick", SATISFIED), ("ci", BROKEN)]


@pytest.mark.long("attention to 4097 tokens")
def test_a_layer_that_is_wrong_beyond_4096_rows_is_caught_at_effort_ci(pytestconfig: pytest.Config) -> None:
    wrong = last_row_lost(4097, 10**9)
    for effort, status in whole_or_part(pytestconfig, EFFORTS, EFFORTS[1:]):
        made = gate("transformer.masked_attention", wrong, dtypes=["float32"], effort=effort)
        assert made.run(LONG, "float32", shrinking=False).status == status


class Now:
    """A softmax that is wrong at one call in so many."""

    def __init__(self, every: int) -> None:
        self.calls, self.every = itertools.count(1), every

    def __call__(self, Q: Any, K: Any, V: Any, M: Any) -> Any:
        return masked()(Q, K, V, M) * (2.0 if next(self.calls) % self.every == 0 else 1.0)


def test_a_failure_of_one_call_in_hundreds_is_caught_at_effort_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    assert REPEATED not in dict(gate("transformer.masked_attention", masked()).checks)
    for layer, status in ((Now(700), BROKEN), (masked(), SATISFIED)):
        made = gate("transformer.masked_attention", layer, dtypes=["float64"], effort="deep")
        found = made.run(REPEATED, "float64")
        assert found.status == status, found.describe()
        assert ("at the same arguments" in found.why) == (status == BROKEN)
    monkeypatch.setattr(comparison, "REPETITIONS", 600)
    made = gate("transformer.masked_attention", Now(700), dtypes=["float64"], effort="deep")
    assert made.run(REPEATED, "float64").status == SATISFIED


def test_what_has_no_derivatives_is_called_as_often() -> None:
    once = Now(700)
    made = gate(
        "transformer.masked_attention",
        lambda *given: once(*(x.detach() for x in given)),
        dtypes=["float64"],
        effort="deep",
    )
    assert made.run(REPEATED, "float64").status == BROKEN


@pytest.mark.parametrize(("factor", "rejected"), [(1.0, False), (1.01, True)])
def test_the_count_of_false_alarms_sees_what_is_rejected(
    factor: float, rejected: bool, pytestconfig: pytest.Config
) -> None:
    layer = Layer("planted", lambda: lambda T: factor * torch.softmax(T, -1), subject="hessian.softmax")
    with in_part(0, pytestconfig):
        assert bool(alarms(layer, 3, shrinking=False)) == rejected
    assert seeded(layer, 3).comparison.settings.seed == 3  # type: ignore[union-attr]


def test_the_count_of_false_alarms_fails_where_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    assert main("0", "no.such.subject") == 1
    monkeypatch.setattr(
        Gate, "run", lambda self, check, dtype, **kwargs: Finding(check, "", dtype, UNCHECKABLE, "lost")
    )
    layer = Layer("planted", lambda: lambda X, gamma, epsilon: X, subject="transformer.rms_norm_of_samples")
    assert {finding.status for finding in alarms(layer, 3)} == {UNCHECKABLE}
