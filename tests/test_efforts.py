"""What tests try at effort ci is a part of what they try at effort deep, with one of each kind in it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.efforts import in_part, is_deep, tried, whole_or_part
from tests.part_of_comparisons import GROUPS, TURNS, part
from tests.part_of_comparisons import in_part as in_part_of_checks
from verify.gate.checking import gate
from verify.gate.findings import COMPARISONS, DEFINITION, REPEATED
from verify.vocabulary import load

CLAIMS = list(load().values())


def config(effort: str) -> Any:
    return SimpleNamespace(option=SimpleNamespace(effort=effort))


def test_every_module_and_relation_is_tried_and_at_deep_every_claim() -> None:
    part, kinds = tried(CLAIMS, config("ci")), [(claim.module, claim.relation.kind) for claim in CLAIMS]
    assert [(claim.module, claim.relation.kind) for claim in part] == list(dict.fromkeys(kinds))
    assert all(claim is CLAIMS[kinds.index((claim.module, claim.relation.kind))] for claim in part)
    assert len(CLAIMS) / 4 < len(part) < len(CLAIMS) / 2
    assert tried(CLAIMS, config("deep")) == CLAIMS
    assert in_part(CLAIMS[:1]) == CLAIMS[:1]


def test_at_deep_there_is_all_and_else_a_part_of_it() -> None:
    for effort, deep in (("quick", False), ("ci", False), ("deep", True)):
        assert is_deep(config(effort)) is deep
        assert whole_or_part(config(effort), 8, 3) == (8 if deep else 3)
        assert whole_or_part(config(effort), ["a", "b"], ["b"]) == (["a", "b"] if deep else ["b"])


@pytest.mark.parametrize("effort", ["ci", "deep"])
@pytest.mark.parametrize(("whole", "part"), [(3, 8), (3, 0), (["a"], ["b"]), (["a"], ["a", "b"]), (["a"], [])])
def test_what_is_no_part_is_refused(effort: str, whole: Any, part: Any) -> None:
    with pytest.raises(ValueError, match="is no part of"):
        whole_or_part(config(effort), whole, part)


def test_no_test_asks_for_the_effort_in_its_own_way() -> None:
    asked = "option." + "effort =="
    assert [path.name for path in Path(__file__).parent.glob("*.py") if asked in path.read_text(encoding="utf-8")] == [
        "efforts.py"
    ]


def test_a_list_of_four_layers_meets_every_comparison_and_every_theorem() -> None:
    """Calls are repeated at effort deep alone; what is named is met by all."""
    theorems, dtypes = [f"theorem {number}" for number in range(10)], ("float64", "float32")
    checks = [(check, dtype) for check in (DEFINITION, *COMPARISONS, *theorems) for dtype in dtypes]
    parts = [part(checks, number) for number in range(len(GROUPS))]
    assert {check for check, _ in checks} - {check for some in parts for check, _ in some} == {REPEATED}
    assert all(some == [cell for cell in checks if cell in some] and (DEFINITION, "float32") in some for some in parts)
    for group in GROUPS:
        assert sum((group[0], "float64") in some for some in parts) == 1
    for theorem in theorems:
        assert sum((theorem, "float64") in some for some in parts) == 1
        assert all(
            {(theorem, dtype) for dtype in dtypes} <= set(part(checks, number, [theorem])) for number in range(4)
        )
    few = [(theorem, "float64") for theorem in theorems[:2]]
    assert [part(few, number) for number in range(TURNS)] == [few[:1], few[1:]] * 2
    assert part(few[:1], 3) == few[:1] and part([], 1) == []


@pytest.mark.parametrize("effort", ["ci", "deep"])
def test_a_gate_has_its_part_inside_the_block_alone(effort: str) -> None:
    made = gate("hessian.softmax", lambda T: T, dtypes=["float64"])
    whole = made.checks
    with in_part_of_checks(1, config(effort), ["hessian.lem-C.1-entry"]):
        some = made.checks
    assert made.checks == whole
    expected = part(whole, 1, ["hessian.lem-C.1-entry"])
    assert some == (whole if effort == "deep" else expected) and expected != whole
    assert ("hessian.lem-C.1-entry", "float64") in some
