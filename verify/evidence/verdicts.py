"""Verdicts: computed from evidence, never written by hand.

=============  =====================================================================================================
holds          every check upheld it, every mutant is dead, right and wrong are at least 1000x apart
reading        the same, for a statement that needs a stated reading
empirical      the same, for an observation that is not a mathematical statement
gap            the statement stands, but a step of its printed proof or something it presupposes is refuted (a step that
               is an evident misprint leaves the verdict and is named in the reason)
refuted        a counterexample is certified: assumptions met, violation enclosed away from zero
open           anything else, with the reason
=============  =====================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from verify.checks.record import CERTIFIED, ERROR, PROOFS, SEPARATION, UPHELD, VIOLATED, Record
from verify.evidence.by_rocq import confirmed
from verify.evidence.runner import CONFIRMING
from verify.vocabulary.claims import Claim

#: Grades of evidence, weakest first.
GRADES = ("sampled", "enclosed", "exact", "some sizes", "all sizes", "kernel")


@dataclass(frozen=True)
class Verdict:
    """What the evidence says about one claim."""

    claim: str
    status: str
    why: str
    grade: str | None = None
    severity: str | None = None
    examples: int = 0
    separation: float | None = None
    tightest_ratio: float | None = None
    unsound_uses: tuple[str, ...] = ()  #: refuted or gapped claims among those it uses, directly or not

    @property
    def decided(self) -> bool:
        return self.status != "open"


def grade_of(arithmetic: str) -> str:
    """The grade that evidence in an arithmetic has."""
    known = {
        "ball": "enclosed", "exact": "exact", "polynomials": "some sizes", "symbols": "all sizes", "norms": "all sizes",
    }  # fmt: skip
    return known.get(arithmetic, "sampled")


def judge_all(claims: Mapping[str, Claim], records: Iterable[Record]) -> dict[str, Verdict]:
    """The verdict of every claim, from the newest evidence about the present code."""
    by_claim: dict[str, list[Record]] = {claim_id: [] for claim_id in claims}
    for record in records:
        if record.claim in by_claim:
            by_claim[record.claim].append(record)
    alone = {claim_id: judge_alone(claims[claim_id], by_claim[claim_id]) for claim_id in claims}
    for claim_id, wrong in unfounded(claims, by_claim).items():
        if alone[claim_id].status in ("holds", "reading"):
            why = f"not proved, its derivation uses what does not stand: {'; '.join(wrong)}"
            alone[claim_id] = replace(alone[claim_id], status="open", grade=None, why=why)
    found = {claim_id: _in_context(claims, alone, claim_id) for claim_id in claims}

    def unsound(other: str) -> bool:
        return found[other].status in ("refuted", "gap")

    return {
        claim_id: replace(verdict, unsound_uses=tuple(sorted(_reached(claims, claim_id, "uses", unsound))))
        for claim_id, verdict in found.items()
    }


def facts_in(records: Iterable[Record]) -> list[str]:
    """The claims that the derivations among these records rest on."""
    return list(dict.fromkeys(fact for record in records for fact in record.details.get("facts", ())))


def unfounded(claims: Mapping[str, Claim], by_claim: Mapping[str, list[Record]]) -> dict[str, list[str]]:
    """Claims whose derivation rests on what does not stand, with the reasons, "a.b is no claim".

    A fact does not stand if some check of it failed or refuted it, if that is expected, or if its own derivation is
    unfounded.  Of a collection that `claims` holds nothing of, as where a package is judged by itself, nothing is known.
    """
    collections = {claim.paper.key for claim in claims.values()}
    wrong = {fact: "is not upheld" for fact, own in by_claim.items() if any(item.outcome != UPHELD for item in own)}
    wrong |= {
        fact: f"is {claim.expects}" for fact, claim in claims.items() if claim.expects not in ("holds", "reading")
    }
    named = {claim_id: facts_in(own) for claim_id, own in by_claim.items()}
    absent = {fact for own in named.values() for fact in own if fact not in claims}
    wrong |= {fact: "is no claim" for fact in absent if fact.partition(".")[0] in collections}
    found: dict[str, list[str]] = {}
    more = True
    while more:  # what is not proved itself is no fact of others
        reasons = {
            claim_id: [f"{fact} {wrong[fact]}" for fact in own if fact in wrong] for claim_id, own in named.items()
        }
        found = {claim_id: own for claim_id, own in reasons.items() if own}
        more = bool(found.keys() - wrong.keys())
        wrong = {claim_id: "is not proved" for claim_id in found} | wrong
    return found


def judge_alone(claim: Claim, records: list[Record]) -> Verdict:
    """The verdict that a claim's own evidence gives, links aside."""
    facts = {
        "examples": sum(record.satisfied for record in records),
        "tightest_ratio": max((r.tightest_ratio for r in records if r.tightest_ratio is not None), default=None),
        "separation": _separation(records),
    }

    def verdict(status: str, why: str, grade: str | None = None, severity: str | None = None) -> Verdict:
        return Verdict(claim.id, status, why, grade, severity, **facts)  # type: ignore[arg-type]

    if not records:
        return verdict("open", "no evidence about the present code")
    errors = [record for record in records if record.outcome == ERROR]
    if errors:
        return verdict("open", f"{errors[0].check}: {errors[0].message}")
    certified = [record for record in records if record.outcome == CERTIFIED]
    alive = _alive(claim, records)
    if certified:
        if alive:
            return verdict("open", f"a counterexample is certified, but mutants survive: {', '.join(alive)}")
        grade = grade_of(certified[0].arithmetic)
        titles = [item["title"] for item in certified[0].details.get("certificates", [])]
        return verdict(
            "refuted", f"certified counterexample: {titles[0] if titles else ''}", grade, claim.severity or "error"
        )
    broken = [record for record in records if record.outcome != UPHELD]
    if broken:
        return verdict("open", _what_broke(claim, broken))
    if not any(record.satisfied for record in records):
        return verdict("open", "no example satisfied the assumptions")
    if alive:
        return verdict("open", f"mutants survive: {', '.join(alive)}")
    separation = facts["separation"]
    if separation is None or not separation >= SEPARATION:  # NaN is no separation
        return verdict("open", f"right and wrong are only {separation} apart, {SEPARATION:g} are needed")
    grade = max((grade_of(record.arithmetic) for record in records), key=GRADES.index)
    if grade == "all sizes" and confirmed(claim, records):
        grade = "kernel"
    if claim.observed is not None:
        return verdict("empirical", f"observed: {claim.observed}", grade)
    if claim.reading is not None:
        return verdict("reading", f"under a reading: {claim.reading}", grade)
    return verdict("holds", "upheld by every check", grade)


def found_by_search(claim: Claim, record: Record) -> bool:
    """Whether a record shows inputs at which the statement fails for certain: in balls, or in exact arithmetic."""
    certain = record.arithmetic in ("ball", "exact") or claim.relation.one_sided
    return record.outcome == VIOLATED and certain and bool(record.details.get("inputs"))


def _what_broke(claim: Claim, broken: list[Record]) -> str:
    """Why a claim is open that some check did not uphold, by the check that says most."""
    for record in broken:
        if found_by_search(claim, record):
            return f"refuted by search ({record.check}): {record.message}; declare the counterexample to certify it"
    for record in broken:
        if record.outcome == VIOLATED and record.check not in PROOFS:
            return f"violated, but not for certain: {record.check}: {record.message}"
    record = next((record for record in broken if record.check not in PROOFS), broken[0])
    if record.check in PROOFS:
        mark = "all_sizes" if record.check == "proved" else "at_sizes"
        return f"not proved: {record.message}; without {mark} the other checks decide"
    return f"not certified: {record.check}: {record.message}"


def _alive(claim: Claim, records: list[Record]) -> list[str]:
    """Mutants that no check killed."""
    dead = {name for record in records for name, result in record.mutants.items() if result["killed"]}
    return [mutant.name for mutant in claim.mutants if mutant.name not in dead]


def _separation(records: list[Record]) -> float | None:
    """The worst separation among the searches; among the confirming checks only where there was no search.

    What a counterexample refutes is told from its mutants at the counterexample, where the violation is certain.
    """
    certified = [r.separation for r in records if r.outcome == CERTIFIED and r.separation is not None]
    searches = [r.separation for r in records if r.check not in CONFIRMING and r.separation is not None]
    others = [r.separation for r in records if r.separation is not None]
    found = certified or searches or others
    return math.nan if any(map(math.isnan, found)) else min(found, default=None)


def _in_context(claims: Mapping[str, Claim], alone: Mapping[str, Verdict], claim_id: str) -> Verdict:
    claim, own = claims[claim_id], alone[claim_id]
    values = dict(own.__dict__)
    if own.status in ("holds", "reading"):
        steps = (*claim.presumes, *claim.proof)
        refuted = [other for other in steps if alone[other].status == "refuted" and alone[other].severity != "slip"]
        slips = [other for other in steps if alone[other].status == "refuted" and alone[other].severity == "slip"]
        if slips:
            values["why"] = f"{own.why}; evident misprints on the way: {', '.join(slips)}"
        if refuted:
            kind = "presupposes" if refuted[0] in claim.presumes else "its printed proof uses"
            why = f"the statement stands, but {kind} what is refuted: {', '.join(refuted)}"
            if claim.missing:
                without = [other for other in refuted if other in claim.presumes]
                why = f"true if {claim.missing}, which is nowhere assumed; without it refuted: {', '.join(without)}"
                if used := [other for other in refuted if other not in without]:
                    why += f"; its printed proof uses what is refuted: {', '.join(used)}"
            values.update(status="gap", why=why)
        unknown = [other for other in (*claim.presumes, *claim.proof) if alone[other].status == "open"]
        if unknown and not refuted:
            values.update(status="open", why=f"undecided: {', '.join(unknown)}")
    upheld = ("holds", "reading", "empirical")
    if own.status == "refuted" and claim.correction and alone[claim.correction].status not in upheld:
        values["why"] = f"{own.why}; its correction {claim.correction} does not hold: {alone[claim.correction].why}"
    return Verdict(**values)


def _reached(claims: Mapping[str, Claim], start: str, link: str, wanted: Callable[[str], bool]) -> set[str]:
    found: set[str] = set()
    seen, stack = {start}, list(getattr(claims[start], link))
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        if wanted(current):
            found.add(current)
        stack.extend(getattr(claims[current], link))
    return found


def disagreements(claims: Mapping[str, Claim], verdicts: Mapping[str, Verdict]) -> list[str]:
    """Where evidence disagrees with the verdict that the sources of `claims` expect."""
    return [
        f"{claim_id}: expected {claim.expects}, evidence says {verdicts[claim_id].status} ({verdicts[claim_id].why})"
        for claim_id, claim in claims.items()
        if verdicts[claim_id].status != claim.expects
    ]
