"""Kinds of inputs that are drawn for a claim and that none of its checks decides, and why they cannot be decided.

A domain of the generators, or a feature of sizes, at which every draw is passed over (an assumption fails, floats overflow,
balls cannot tell) tells nothing of the claim.  `why_undecided` draws inputs of the kind again and says what is the matter
with them; where it finds an input at which nothing is the matter, `decided_further` runs the claim's check in balls at
inputs of that kind alone, of which a run over all kinds draws a few, at telling sizes first.  `remarks_on` says what came
of it, for a reader.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from verify.checks import checks_of
from verify.checks.evaluation import UNDEFINED, flat_tensor, raw_tensors
from verify.checks.record import UPHELD, Record
from verify.checks.settings import Settings, settings_for
from verify.inputs.generators import Draw, applicable_domains, size_features, systematic, telling_sizes
from verify.vocabulary.claims import Claim

#: The checks in balls at drawn inputs, whatever the relation.
IN_BALLS = ("enclosed", "rate")
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
    reasons: list[str] = []
    for draw in _drawn(claim, kind, settings):
        raw = {
            name: value if isinstance(value, int) else value[0]
            for name, value in raw_tensors(claim, draw.arrays(claim, 1), settings, "float64").items()
        }
        reason = _matter(claim, raw)
        if reason is None:
            return None
        reasons += [reason] if reason not in reasons else []
    return "; ".join(reasons) or None


def _drawn(claim: Claim, kind: str, settings: Settings) -> list[Draw]:
    if kind in applicable_domains(claim):
        return systematic(claim, TRIED, settings.seed, domain=kind)
    every = systematic(claim, DRAWS, settings.seed)
    return [draw for draw in every if kind in size_features(dict(draw.sizes))][:TRIED]


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
                        return f"the condition '{item.text}' fails"
        sides = [claim.the_formula, *([claim.the_oracle] if claim.has_oracle else [])]
        if not all(bool(flat_tensor(claim.evaluate(side, inputs), like).isfinite().all()) for side in sides):
            return "a side of the statement has no finite value in double precision"
    except (*UNDEFINED, RuntimeError, TypeError, ValueError) as problem:
        return f"a side of the statement is not defined ({type(problem).__name__})"
    return None


def decided_further(claim: Claim, kind: str, settings: Settings) -> Record | None:
    """What the claim's check in balls finds at inputs of one kind alone; None where it has none, or decides none of them.

    Example: ``decided_further(load()["skipless.eq-1-2"], "huge", settings_for("quick", 0)).outcome`` is "upheld".
    """
    if not _drawn(claim, kind, settings):
        return None
    alone = _drawn_as(claim, kind)
    for tried in (_at_telling_sizes(alone), alone):
        for check in checks_of(tried, settings):
            if check.name in IN_BALLS and check.arithmetic == "ball":
                record = check.run(tried, settings)
                if record.domains.get(kind):
                    return record
    return None


def _at_telling_sizes(claim: Claim) -> Claim:
    """The claim at its telling sizes alone: balls begin at the smallest ones, where a statement may say next to nothing."""
    at, telling = copy.copy(claim), [dict(sizes) for sizes in telling_sizes(claim)]
    at.where = lambda sizes: dict(sizes) in telling
    return at


def _drawn_as(claim: Claim, kind: str) -> Claim:
    """The claim without mutants, whose inputs are all of a kind: of a domain, or of sizes with a feature."""
    alone = copy.copy(claim)
    alone.mutants = []
    if kind in applicable_domains(claim):
        own = {kind: claim.special_domains[kind]} if kind in claim.special_domains else {}
        alone.special_domains, alone.domains = own, [] if own else [kind]
    else:
        admitted = claim.where
        alone.where = lambda sizes: admitted(sizes) and kind in size_features(sizes)
    return alone


def remarks_on(claim: Claim, records: Iterable[Record]) -> dict[str, str]:
    """By kind of inputs that none of a claim's checks decided, what a reader is to know of it, in words.

    Nothing of a claim that is refuted: a search for what breaks it ends where it is broken, and other kinds are not drawn.

    Example: ``remarks_on(claim, report.records_of[claim.id])`` is what the claim's page shows.
    """
    if claim.expects == "refuted":
        return {}
    settings, remarks = settings_for("ci", 0), {}
    for kind in undecided({claim.id: records}).get(claim.id, []):
        try:
            remark = _remark(claim, kind, settings)
        except Exception as problem:  # the functions of a claim may raise anything, and a page is still to be made
            remark = f"to evaluate inputs of this kind raises {type(problem).__name__}"
        if remark is not None:
            remarks[kind] = remark
    return remarks


def _remark(claim: Claim, kind: str, settings: Settings) -> str | None:
    if kind in claim.without_domains:
        return claim.without_domains[kind]
    if reason := why_undecided(claim, kind, settings):
        return f"none of {len(_drawn(claim, kind, settings))} inputs of this kind, drawn since, can decide: {reason}"
    if (record := decided_further(claim, kind, settings)) is None:
        return None
    found = "upheld" if record.outcome == UPHELD else f"broken ({record.message})"
    inputs = f"{record.domains[kind]} further input{'s' if record.domains[kind] > 1 else ''}"
    return f"at {inputs} of this kind, drawn since, the statement is {found}, in ball arithmetic"
