"""Kinds of inputs that are drawn for a claim and that none of its checks decides.

A domain of the generators, or a feature of sizes, at which every draw is passed over (an assumption fails, floats overflow,
balls cannot tell) tells nothing of the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from verify.checks.record import Record


def undecided(records: Mapping[str, Iterable[Record]]) -> dict[str, list[str]]:
    """By claim, the kinds of inputs that its checks drew and at which none of them decided an example.

    Example: ``undecided(read_released(path).records)`` of the evidence that a release carries.
    """
    found = {}
    for claim_id, of_claim in records.items():
        decided: dict[str, int] = {}
        for record in of_claim:
            for kind, number in record.domains.items():
                decided[kind] = decided.get(kind, 0) + number
        if kinds := sorted(kind for kind, number in decided.items() if not number):
            found[claim_id] = kinds
    return found
