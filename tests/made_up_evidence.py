"""Evidence made up for tests of the report: as if every check had upheld its claim, with real counterexamples."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from verify.checks import checks_of
from verify.checks.attack import Check
from verify.checks.record import UPHELD, Record
from verify.checks.settings import Settings
from verify.evidence.fingerprints import fingerprint
from verify.report import Report, write
from verify.site import write_site
from verify.vocabulary import Claim


def with_links(claims: Mapping[str, Claim], chosen: Iterable[str]) -> dict[str, Claim]:
    """The chosen claims and everything they link to, in the order of `claims`."""
    found, stack = set(), [claim_id for claim_id in chosen if claim_id in claims]
    while stack:
        claim = claims[stack.pop()]
        found.add(claim.id)
        links = [*claim.uses, *claim.proof, *claim.presumes, claim.correction, *claim.corrects]
        stack += [link for link in links if link and link not in found]
    return {claim_id: claim for claim_id, claim in claims.items() if claim_id in found}


def made_up(claims: Mapping[str, Claim]) -> list[Record]:
    """One record for every check of every claim."""
    return [_record(claim, check) for claim in claims.values() for check in checks_of(claim, Settings())]


def written(report: Report, folder: Path) -> Path:
    """The folder, with the report in the forms that programs read and the site in it."""
    write(report, folder)
    write_site(report, folder)
    return folder


def _record(claim: Claim, check: Check) -> Record:
    if check.name == "counterexample":
        record = check.run(claim, Settings())
    else:
        record = Record(
            claim=claim.id,
            check=check.name,
            arithmetic=check.arithmetic,
            outcome=UPHELD,
            fingerprint="",
            examples=64,
            satisfied=60,
            undefined=4,
            domains={"generic": 40, "ties": 20},
            worst_residual=0.0 if check.arithmetic == "exact" else 0.25,
            tightest_ratio=0.96 if claim.relation.kind == "at most" else None,
            separation=1e12,
            mutants={mutant.name: {"residual": 1e12, "killed": True} for mutant in claim.mutants},
            details=_details(claim, check),
            effort="ci",
            duration=0.5,
        )
    record.fingerprint, record.run, record.when = fingerprint(claim), "made-up", time.time()
    return record


def _details(claim: Claim, check: Check) -> dict[str, Any]:
    """What the plots of each relation are drawn from."""
    scales = [2**k for k in range(1, 7)]
    if claim.relation.kind == "at most":
        rises = [[16, 0.5], [64, 0.75], [900, 0.96]]
        return {"search": {"of": "ratio", "inputs": 1000, "ascent from": 512, "rises": rises}}
    if claim.relation.kind == "tends to" and check.arithmetic == "ball":
        return {"order": 2.0, "curves": [{"scales": [1, 2, 3, 4, 5], "log10 error": [-1.0, -2.0, -4.0, -8.0, -16.0]}]}
    if claim.relation.kind == "tends to":
        return {"curves": [{"scales": scales, "rms error": [scale**-0.5 for scale in scales]}]}
    if claim.relation.kind == "order":
        return {"curves": [{"along": "N", "scales": scales, "counts": [[scale**2] for scale in scales]}]}
    if claim.relation.kind == "follows law":
        at = [k / 10 for k in range(11)]
        drawn = {"name": "entry", "sizes": "n = 3", "p": 0.4, "samples": 1000}
        observed = [{"at": at, "found": at, "stated": at}, {"mean": 1.02, "error": 0.02, "stated": 1.0}]
        return {"tests": [{**drawn, "observed": item} for item in observed]}
    return {}
