"""Kinds of inputs that are drawn for a claim and that none of its checks decides, and why they cannot be decided.

A domain of the generators, or a feature of sizes, at which every draw is passed over (an assumption fails, floats overflow,
balls cannot tell) tells nothing of the claim.  `why_undecided` draws inputs of the kind again and says what is the matter
with them; where it finds an input at which nothing is the matter, the kind ought to be decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from verify.checks.evaluation import UNDEFINED, flat_tensor, raw_tensors
from verify.checks.record import Record
from verify.checks.settings import Settings
from verify.inputs.generators import applicable_domains, size_features, systematic
from verify.vocabulary.claims import Claim

#: At how many inputs of a kind the reason is sought, and among how many draws for those of a feature of sizes.
TRIED, DRAWS = 6, 48


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


def why_undecided(claim: Claim, kind: str, settings: Settings) -> str | None:
    """Why no check decides a claim at inputs of a kind, by what is the matter with all that are drawn; None where nothing is.

    Example: ``why_undecided(load()["skipless.a4.3-kappa-gap"], "tiny", settings_for("ci", 0))`` says that the condition
    delta < 1 fails.
    """
    if kind in applicable_domains(claim):
        drawn = list(systematic(claim, TRIED, settings.seed, domain=kind))
    else:
        every = systematic(claim, DRAWS, settings.seed)
        drawn = [draw for draw in every if kind in size_features(dict(draw.sizes))][:TRIED]
    reasons: list[str] = []
    for draw in drawn:
        raw = {
            name: value if isinstance(value, int) else value[0]
            for name, value in raw_tensors(claim, draw.arrays(claim, 1), settings, "float64").items()
        }
        reason = _matter(claim, raw)
        if reason is None:
            return None
        reasons += [reason] if reason not in reasons else []
    return "; ".join(reasons) or None


def _matter(claim: Claim, raw: Mapping[str, Any]) -> str | None:
    """What is the matter with one drawn input: a condition that it fails, or a side without a finite value."""
    like = next(value for value in raw.values() if not isinstance(value, int))
    try:
        inputs = claim.prepare(raw)
        if not all(
            bool(flat_tensor(value, like).isfinite().all()) for value in inputs.values() if hasattr(value, "dtype")
        ):
            return "the preparation makes no finite inputs of what is drawn"
        for item in claim.tested_assumptions:
            for test, strict in ((item.positive, True), (item.nonnegative, False)):
                if test is not None:
                    value = flat_tensor(claim.evaluate(test, inputs), like)
                    if not bool((value > 0 if strict else value >= -1e-9 * (1 + value.abs())).all()):
                        return f"the condition {item.text!r} fails"
        sides = [claim.the_formula, *([claim.the_oracle] if claim.has_oracle else [])]
        if not all(bool(flat_tensor(claim.evaluate(side, inputs), like).isfinite().all()) for side in sides):
            return "a side of the statement has no finite value in double precision"
    except (*UNDEFINED, RuntimeError, TypeError, ValueError) as problem:
        return f"a side of the statement is not defined ({type(problem).__name__})"
    return None
