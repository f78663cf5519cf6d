"""Certificates of bounds: written from a derivation, and checked by `verify.kernel`."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

from verify.arithmetics.conditions import Condition
from verify.arithmetics.norms.bound_certificates import certificate_of
from verify.arithmetics.norms.derivations import BoundProof
from verify.arithmetics.norms.recording import NotCertified
from verify.checks.certified import NONE_KEPT, Certified, stale, without
from verify.checks.granted import exception_to
from verify.kernel import read
from verify.kernel.bounds import checked, statement
from verify.kernel.refusal import Refused
from verify.vocabulary.claims import Claim


def _is_at_least(claim: Claim, size: Any, least: int) -> bool:
    """Whether a claim is only about sizes from a number on."""
    return exception_to(Condition(size - least, least=0), claim) is None


def certified_bound(claim: Claim, proof: BoundProof, before: str | None = None, anew: bool = True) -> Certified:
    """Write the certificate of a derivation and check it, or say why there is none yet.

    `before` is the line that is kept of the claim: it has to be accepted too, and to state what the functions give now.
    Not `anew`, it is the certificate, and its steps are not sought again; without it none are sought.  It is the certificate
    too where none can be written anew: what an earlier search has found proves as much.
    """
    if before is None and not anew:
        return without(claim, NONE_KEPT, None)
    try:
        made = certificate_of(claim.id, proof, anew, functools.partial(_is_at_least, claim))
        fresh = json.dumps(made, separators=(",", ":"), ensure_ascii=False)
    except (NotCertified, Refused) as reason:
        if anew and before is not None:
            kept = certified_bound(claim, proof, before, anew=False)
            return replace(kept, details={**kept.details, "not written anew": str(reason)})
        return without(claim, str(reason), before)
    except Exception as error:  # what writes certificates is trusted with nothing, nor is a proof by its failure lost
        return without(claim, f"{type(error).__name__} while it was written", before)
    line = fresh if anew or before is None else before
    try:
        written = read(line)
        found, says = checked(written)
        if before is not None:  # the line that was checked is the kept one, unless it was sought anew
            of_kept = checked(read(before))[1] if anew else says
            if of_kept != (says if anew else statement(read(fresh))):
                return stale(claim, before)
    except Refused as refusal:
        return Certified(line, {"refused": str(refusal)}, f"the checker refuses the certificate: {refusal}")
    every = [written, *(case["certificate"] for case in written.get("cases", []))]
    details = {
        "inequalities": sum(len(item["parts"]) for item in every),
        "steps": sum(len(part["steps"]) for item in every for part in item["parts"]),
        "rules": list(found.rules),
        "sha256": sha256(line.encode()).hexdigest(),
    }
    return Certified(line, details)
