"""Certificates of bounds: written from a derivation, and checked by `verify.kernel`."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from verify.arithmetics.conditions import Condition
from verify.arithmetics.norms.bound_certificates import certificate_of
from verify.arithmetics.norms.derivations import BoundProof
from verify.arithmetics.norms.recording import NotCertified
from verify.checks.certified import NONE_KEPT, Certified, stale, without
from verify.checks.granted import exception_to
from verify.checks.operands import size_symbol
from verify.kernel import read
from verify.kernel.bounds import checked, declared_size, statement
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
    return Certified(line, _details(line, written, found.rules))


def _details(line: str, written: Mapping[str, Any], rules: tuple[str, ...]) -> dict[str, Any]:
    """What a record keeps of a certificate that the checker accepts."""
    every = [written, *(case["certificate"] for case in written.get("cases", []))]
    return {
        "inequalities": sum(len(item["parts"]) for item in every),
        "steps": sum(len(part["steps"]) for item in every for part in item["parts"]),
        "rules": list(rules),
        "sha256": sha256(line.encode()).hexdigest(),
    }


# -- in the place of a derivation --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KeptBound:
    """A kept certificate that states what the functions give now and that the checker accepts, read."""

    certified: Certified
    certificate: dict[str, Any]


def kept_bound(claim: Claim, stated: BoundProof, before: str) -> KeptBound | None:
    """The certificate that is kept of a bound, in the place of a derivation; None where a derivation has to say more.

    The bound is stated as the functions of the claim give it now.  The certificate counts only if it says the same, and if
    the checker accepts it; of sizes for which it says nothing the claim has to say nothing.
    """
    assert stated.world is not None
    try:
        written = read(before)
        found, says = checked(written)
        sizes = dict(map(declared_size, written["sizes"]))
        granted = {name: k for name, k in sizes.items() if k > 1 and _is_at_least(claim, size_symbol(name), k)}
        if not _is_stated(written, says, claim, stated, granted):
            orders = [order for order in stated.world.orders if order not in stated.world.facts]
            stated.world.facts += orders  # which a certificate assumes where there is none without
            if not orders or not _is_stated(written, says, claim, stated, granted):
                return None
    except Exception:  # of what cannot be written or compared a derivation gives the reason
        return None
    return KeptBound(Certified(before, _details(before, written, found.rules)), written)


def _is_stated(
    written: Mapping[str, Any], says: Any, claim: Claim, stated: BoundProof, granted: Mapping[str, int]
) -> bool:
    """Whether a certificate says what is stated: to the letter, or else in normal form."""
    made = certificate_of(claim.id, stated, False, granted=granted)
    fresh = read(json.dumps(made, separators=(",", ":"), ensure_ascii=False))
    return _agree_to_the_letter(written, fresh) or bool(says == statement(fresh))


def _agree_to_the_letter(written: Mapping[str, Any], fresh: Mapping[str, Any]) -> bool:
    """Whether two certificates declare, assume and say the same in the same words; the one may have more expressions.

    What is said at a place is made of earlier places alone.  As texts, since 1, 1.0 and true are equal to Python.
    """
    one, other = (json.dumps(_said(item, fresh), sort_keys=True) for item in (written, fresh))
    return one == other


def _said(certificate: Mapping[str, Any], fresh: Mapping[str, Any]) -> list[Any]:
    """What a certificate says, by as many expressions as another one has."""
    cases, others = certificate.get("cases", []), fresh.get("cases", [])
    return [
        [certificate.get(key) for key in WORDS],
        certificate["table"][: len(fresh["table"])],
        [[part[key] for key in ("index", "left", "right")] for part in certificate["parts"]],
        [
            len(cases),
            *(
                [case["size"], case["value"], _said(case["certificate"], other["certificate"])]
                for case, other in zip(cases, others, strict=False)
            ),
        ],
    ]


#: What certificates declare and assume; the places among it are of the table.
WORDS = ("claim", "sizes", "scalars", "inputs", "nonzero", "assumptions", "orthonormal", "multiples")
