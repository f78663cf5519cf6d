"""What tests try at effort ci is a part of what they try at effort deep, with one of each kind in it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.efforts import in_part, is_deep, tried, whole_or_part
from tests.part_of_comparisons import GROUPS, is_met
from verify.gate.findings import BIAS, COMPARISONS, DEFINITION, REPEATED
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


def test_a_list_of_four_layers_meets_every_comparison_of_whole_precisions() -> None:
    """Of half precision there are other tests, and calls are repeated at effort deep alone."""
    four = range(len(GROUPS))
    assert {check for check in COMPARISONS if not any(is_met(check, number) for number in four)} == {BIAS, REPEATED}
    assert all(is_met(check, number) for check in (DEFINITION, "a theorem") for number in four)
    assert not any(is_met(group[0], number) for group in GROUPS for number in four if GROUPS[number] != group)
