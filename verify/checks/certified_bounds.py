"""Certificates of bounds: written from a derivation, and checked by `verify.kernel.bounds`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from verify.arithmetics.norms.certificates import NotCertified, certificate_of
from verify.arithmetics.norms.proof import BoundProof
from verify.kernel.bounds import check, statement
from verify.kernel.refusal import Refused


@dataclass(frozen=True)
class CertifiedBound:
    """The line that was written and what the record keeps of it; `problem` where the checker refused it."""

    line: str | None
    details: dict[str, Any]
    problem: str | None = None


def certified_bound(claim_id: str, proof: BoundProof, before: str | None = None) -> CertifiedBound:
    """Write the certificate of a derivation and check it, or say why there is none yet.

    `before` is the line that is kept of the claim: it has to be accepted too, and to state what the functions give now.
    """
    try:
        certificate = certificate_of(claim_id, proof)
        line = json.dumps(certificate, separators=(",", ":"), ensure_ascii=False)
    except NotCertified as reason:
        return CertifiedBound(None, {"missing": str(reason)})
    except Exception as error:  # what writes certificates is trusted with nothing, nor is a proof by its failure lost
        return CertifiedBound(None, {"missing": f"{type(error).__name__} while it was written"})
    try:
        check(json.loads(line))
        if before is not None:
            check(json.loads(before))
            if statement(json.loads(before)) != statement(certificate):
                raise Refused("the certificate that is kept states something else")
    except Refused as refusal:
        return CertifiedBound(line, {"refused": str(refusal)}, f"the checker refuses the certificate: {refusal}")
    return CertifiedBound(line, _details(certificate, line))


def _details(certificate: Mapping[str, Any], line: str) -> dict[str, Any]:
    steps = [step["rule"] for part in certificate["parts"] for step in part["steps"]]
    return {
        "parts": len(certificate["parts"]),
        "steps": len(steps),
        "rules": sorted(set(steps)),
        "assumptions": len(certificate["assumptions"]) + len(certificate["orthonormal"]),
        "sha256": sha256(line.encode()).hexdigest(),
    }
