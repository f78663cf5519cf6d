"""The part of the claims that tests try at effort ci has one of each kind in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.part_of_claims import in_part, tried
from verify.vocabulary import load

pytestmark = pytest.mark.kept

CLAIMS = list(load().values())


def test_every_module_and_relation_is_tried_and_at_deep_every_claim() -> None:
    def config(effort: str) -> Any:
        return SimpleNamespace(option=SimpleNamespace(effort=effort))

    part, kinds = tried(CLAIMS, config("ci")), [(claim.module, claim.relation.kind) for claim in CLAIMS]
    assert [(claim.module, claim.relation.kind) for claim in part] == list(dict.fromkeys(kinds))
    assert all(claim is CLAIMS[kinds.index((claim.module, claim.relation.kind))] for claim in part)
    assert len(CLAIMS) / 4 < len(part) < len(CLAIMS) / 2
    assert tried(CLAIMS, config("deep")) == CLAIMS
    assert in_part(CLAIMS[:1]) == CLAIMS[:1]
