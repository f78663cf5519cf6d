"""The report as JSON: one object, whose shape `schema.json` beside this module describes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from verify.evidence.store import as_json as json_of
from verify.report.attempts import kept
from verify.report.model import Report, nonzero
from verify.report.sides import sides_of
from verify.report.wording import how_sure
from verify.vocabulary.claims import Claim
from verify.vocabulary.sections import Paper

#: Version of the JSON report.  2: papers, shortfalls, left_out; per claim weight and used_by.  3: totals of printed and own
#: claims apart; provenance; per claim name, consequence, sides, violations, how_sure.
#: 4: of papers authors, venue, arXiv number, and the text checked; of claims whether they are
#: shown as released.  5: of claims the one whose misprint they repeat, which the summaries count once.
REPORT_SCHEMA = 5
SCHEMA_PATH = Path(__file__).with_name("schema.json")
#: What the report has of a record.
CHECK = (
    "check", "arithmetic", "device", "outcome", "examples", "satisfied", "undefined", "domains", "worst_residual",
    "tightest_ratio", "separation", "mutants", "message", "details", "effort", "seed", "duration", "run",
)  # fmt: skip


def as_json(report: Report) -> dict[str, Any]:
    """The report as data; numbers that are not finite become strings."""
    return {
        "schema": REPORT_SCHEMA,
        "complete": not report.missing and not report.released,
        "shortfalls": [{"text": item.text, "claims": sorted(item.claims)} for item in report.shortfalls],
        "left_out": report.left_out,
        "summary": _summary(report),
        "provenance": report.provenance,
        "papers": [_paper_json(report, paper) for paper in report.papers],
        "disagreements": report.disagreements,
        "rejected_evidence": [f"{item.path.name}:{item.line}: {item.reason}" for item in report.rejected],
        "claims": [claim_json(report, claim) for claim in report.claims.values()],
    }


def _said(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    """Attributes as JSON, by their names."""
    return {name: json_of(getattr(thing, name)) for name in names}


def _paper_json(report: Report, paper: Paper) -> dict[str, Any]:
    return {
        **_said(paper, ("key", "title", "citation", "authors", "venue", "arxiv")),
        "text_checked": paper.checked,
        "claims": len(report.chosen(paper.key)),
        "not_encoded": report.not_encoded[paper.key],
        "summary": _summary(report, paper.key),
        "core": nonzero(report.kinds(paper.key, own=False, weight="core")),
    }


def _summary(report: Report, paper: str | None = None) -> dict[str, dict[str, int]]:
    """Kinds of verdicts, of printed claims and of the project's own."""
    return {origin: nonzero(report.kinds(paper, own)) for origin, own in (("printed", False), ("own", True))}


def summary_json(report: Report, claim: Claim) -> dict[str, Any]:
    """One claim in a line: what it is called, and what the evidence says of it."""
    return {**_head(report, claim), "has_evidence": bool(report.records_of[claim.id])}


def _head(report: Report, claim: Claim) -> dict[str, Any]:
    """What a claim is called, and its verdict."""
    verdict = report.verdicts[claim.id]
    return {
        **_said(claim, ("id", "label", "name")),
        "paper": claim.paper.key,
        "relation": claim.relation.kind,
        "verdict": verdict.status,
        **_said(verdict, ("severity", "grade", "why", "separation", "tightest_ratio")),
        "expected": claim.expects,
        "as_released": claim.id in report.released,
    }


def claim_json(report: Report, claim: Claim) -> dict[str, Any]:
    """One claim with its verdict and its evidence."""
    verdict, records = report.verdicts[claim.id], report.records_of[claim.id]
    formula, sides = claim.the_formula, sides_of(claim)
    return {
        **_head(report, claim),
        **_said(claim, ("of_project", "statement", "missing", "consequence", "note")),
        "weight": report.weights.get(claim.id, "text"),
        "assumptions": claim.assumption_texts,
        "examples": verdict.examples,
        "standing_on": list(verdict.unsound_uses),
        "formula": {
            "module": formula.__module__,
            "name": formula.__qualname__,
            "line": inspect.getsourcelines(formula)[1],
        },
        "links": {
            **_said(claim, ("uses", "proof", "presumes", "correction", "corrects", "repeats")),
            "facts": report.facts_of[claim.id],
        },
        "sides": _said(sides, ("left", "right", "sign")),
        "violations": [
            _said(item, ("title", "left", "right", "ratio")) for item in report.violations.get(claim.id, [])
        ],
        "how_sure": how_sure(claim, verdict, records),
        "used_by": report.used_by[claim.id],
        "attempt": kept(claim),
        "reading": str(claim.reading) if claim.reading else None,
        "doubt": str(claim.doubt) if claim.doubt else None,
        "mutants": [mutant.name for mutant in claim.mutants],
        "missing_checks": report.missing.get(claim.id, []),
        "checks": [_said(record, CHECK) for record in records],
    }
