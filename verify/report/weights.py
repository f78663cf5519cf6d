"""How much a claim weighs in its paper: a core statement, a remark in the text, or a step of a proof.

The package that declares the claims may hold a file `weights.json`, an object from claim ids to weights, which also names
printed claims that are not encoded yet.  Claims that it does not name, this project's own among them, take the weight of
what they correct; failing that they are steps if a printed proof names them, and remarks otherwise.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping

from verify.evidence.data_files import data_file
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError

#: Heaviest first.
WEIGHTS = ("core", "text", "step")


@functools.cache
def stated(package: str) -> dict[str, str]:
    """The weights that a package states; empty where it has no such file."""
    source = data_file(package, "weights.json")
    if not source.is_file():
        return {}
    found = json.loads(source.read_text(encoding="utf-8"))
    for claim_id, weight in found.items():
        if weight not in WEIGHTS:
            raise InputError(f"weights.json of {package}, {claim_id}", f"one of {WEIGHTS}", repr(weight))
    return dict(found)


def weights_of(claims: Mapping[str, Claim]) -> dict[str, str]:
    """The weight of every claim."""
    steps = {step for claim in claims.values() for step in (*claim.proof, *claim.presumes)}

    def weight(claim: Claim) -> str:
        known = stated(claim.package)
        for claim_id in (claim.id, *claim.corrects):
            if claim_id in known:
                return known[claim_id]
        return "step" if claim.id in steps else "text"

    return {claim_id: weight(claim) for claim_id, claim in claims.items()}
