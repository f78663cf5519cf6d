"""How near a bound comes to equality: the largest quotient of its sides that a search found, and why it is no larger.

A reader who builds on a bound of ours wants to know how much it gives away.  The page of a bound shows the quotient, which
follows from the evidence.  A bound of ours that nothing brings near equality says why (`Claim.loose`), or is sharpened.
"""

from __future__ import annotations

from verify.evidence.verdicts import Verdict
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import AtMost


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
