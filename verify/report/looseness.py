"""How near a bound comes to equality: the largest quotient of its sides that a search found, and why it is no larger.

A reader who builds on a bound of ours wants to know how much it gives away.  The page of a bound shows the quotient, which
follows from the evidence.  A bound of ours that nothing brings near equality says why (`Claim.loose`), or is sharpened.
"""

from __future__ import annotations

from collections.abc import Mapping

from verify.evidence.verdicts import Verdict
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import AtMost

#: Below this quotient a bound of ours says why it is loose.
LOOSE = 0.5


def nearest(claim: Claim, verdict: Verdict) -> float | None:
    """The largest quotient of the sides of a bound that holds; None where there is none, as for sides of either sign.

    >>> from verify.vocabulary import load
    >>> nearest(load()["osa.eq-57"], Verdict("osa.eq-57", "gap", "", tightest_ratio=0.25))
    0.25
    """
    holds = verdict.status in ("holds", "reading", "gap")
    return (
        verdict.tightest_ratio if holds and isinstance(claim.relation, AtMost) and not claim.relation.signed else None
    )


def unexplained(claims: Mapping[str, Claim], verdicts: Mapping[str, Verdict]) -> dict[str, str]:
    """Bounds of ours that are loose and do not say why, and those that say why and are not loose, each with its fault."""
    found = {}
    for claim_id, claim in claims.items():
        ratio = nearest(claim, verdicts[claim_id]) if claim.of_project else None
        if claim.loose is None and ratio is not None and ratio < LOOSE:
            found[claim_id] = f"no search came nearer than {ratio:.3g}, and `loose` does not say why"
        elif claim.loose is not None and (ratio is None or ratio >= LOOSE):
            found[claim_id] = (
                f"`loose` is for bounds that nothing brings near equality; the largest quotient is {ratio}"
            )
    return found
