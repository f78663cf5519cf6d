"""Certificates of bounds: written from a derivation, and checked by `verify.kernel`."""

from __future__ import annotations

import json
from hashlib import sha256

from verify.arithmetics.norms.bound_certificates import certificate_of
from verify.arithmetics.norms.derivations import BoundProof
from verify.arithmetics.norms.recording import NotCertified
from verify.checks.certified import NONE_KEPT, Certified, stale, without
from verify.kernel.bounds import check, statement
from verify.kernel.refusal import Refused
from verify.vocabulary.claims import Claim


def certified_bound(claim: Claim, proof: BoundProof, before: str | None = None, anew: bool = True) -> Certified:
    """Write the certificate of a derivation and check it, or say why there is none yet.

    `before` is the line that is kept of the claim: it has to be accepted too, and to state what the functions give now.
    Not `anew`, it is the certificate, and its steps are not sought again; without it none are sought.
    """
    if before is None and not anew:
        return without(claim, NONE_KEPT, None)
    try:
        fresh = json.dumps(certificate_of(claim.id, proof, steps=anew), separators=(",", ":"), ensure_ascii=False)
    except (NotCertified, Refused) as reason:
        return without(claim, str(reason), before)
    except Exception as error:  # what writes certificates is trusted with nothing, nor is a proof by its failure lost
        return without(claim, f"{type(error).__name__} while it was written", before)
    line = fresh if anew or before is None else before
    written = json.loads(line)
    try:
        found = check(written)
        if before is not None:
            if anew:
                check(json.loads(before))
            if statement(json.loads(before)) != statement(json.loads(fresh)):
                return stale(claim, before)
    except Refused as refusal:
        return Certified(line, {"refused": str(refusal)}, f"the checker refuses the certificate: {refusal}")
    details = {
        "inequalities": len(written["parts"]),
        "steps": sum(len(part["steps"]) for part in written["parts"]),
        "rules": list(found.rules),
        "sha256": sha256(line.encode()).hexdigest(),
    }
    return Certified(line, details)
