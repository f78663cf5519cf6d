"""Whatever changes in what checks record is noticed: the draws are always the same.

After a change that is meant, `python -m tests.whole_records` keeps what is recorded now; what it changes is to be read.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import whole_records
from tests.whole_records import differences, drawn_in, record_of
from verify.vocabulary import Claim

pytestmark = pytest.mark.kept("tests/whole_records.json")


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return json.loads(whole_records.KEPT.read_text())  # type: ignore[no-any-return]


CLAIMS = whole_records.claims()


def test_every_claim_is_kept(kept: dict[str, Any]) -> None:
    assert {claim.id: whole_records.described_checks(claim) for claim in CLAIMS} == kept["checks"]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_checks_record_what_they_did(claim: Claim, kept: dict[str, Any]) -> None:
    for name in whole_records.names_of(claim):
        assert not list(differences(record_of(claim, name), kept["records"][claim.id][name], name))


@pytest.mark.parametrize("domain", whole_records.domains())
def test_domains_draw_what_they_did(domain: str, kept: dict[str, Any]) -> None:
    assert not list(differences(drawn_in(domain), kept["domains"][domain], domain))
