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


def confirmed(claim: Claim, records: Iterable[Record]) -> bool:
    """Whether the kernel accepts a theorem, with real derivatives, of the certificate that a proof among these records has."""
    certificates = (record.details.get("certificate", {}) for record in records if record.outcome == UPHELD)
    found = (checked(claim, certificate) for certificate in certificates)
    return any(item is not None and item.get("real") is True for item in found)


__all__ = ["checked", "checked_by_rocq", "confirmed"]
