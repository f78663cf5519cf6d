"""What Rocq's kernel checked of a claim's certificate (`make kernel`), kept beside the claims of a package in `kernel.json`."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from verify.checks.record import UPHELD, Record
from verify.evidence.data_files import data_file
from verify.vocabulary.claims import Claim


@functools.cache
def checked_by_rocq(package: str) -> dict[str, Any]:
    """What `make kernel` found of the certificates of a package; nothing where it has no such file."""
    source = data_file(package, "kernel.json")
    return dict(json.loads(source.read_text(encoding="utf-8"))) if source.is_file() else {"claims": {}, "axioms": []}


def checked(claim: Claim, certificate: Mapping[str, Any]) -> dict[str, Any] | None:
    """What Rocq's kernel checked of this very certificate; nothing where it checked none, or another."""
    found = checked_by_rocq(claim.package)["claims"].get(claim.id)
    if found is None or "sha256" not in certificate or found["certificate"] != certificate["sha256"]:
        return None
    return dict(found)


def assumes_no_more(found: Mapping[str, Any]) -> bool:
    """Whether all that a theorem assumes held wherever it was tested, which was at inputs that the claim draws.

    A condition that no input meets would make a theorem empty; one that some do not meet leaves a part of the claim out.
    """
    met = found.get("met", {})
    return met.get("inputs", 0) > 0 and met.get("not met") == {}


def confirmed(claim: Claim, records: Iterable[Record]) -> bool:
    """Whether the kernel accepts a theorem of the certificate that a proof among these records has.

    Its derivatives have to be real ones, and it may assume no more than the claim does.  Of a limit the certificate says what the
    mean of a bound is, and not the limit.
    """
    if not claim.relation.entrywise:
        return False
    certificates = (record.details.get("certificate", {}) for record in records if record.outcome == UPHELD)
    found = (checked(claim, certificate) for certificate in certificates)
    return any(item is not None and item.get("real") is True and assumes_no_more(item) for item in found)
