"""The report as JSON: one object, whose shape `schema.json` beside this module describes."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Any

from verify.checks.record import Record
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


def _paper_json(report: Report, paper: Paper) -> dict[str, Any]:
    return {
        "key": paper.key,
        "title": paper.title,
        "citation": paper.citation,
        "authors": list(paper.authors),
        "venue": paper.venue,
        "arxiv": paper.arxiv,
        "text_checked": paper.checked,
        "claims": len(report.chosen(paper.key)),
        "not_encoded": report.not_encoded[paper.key],
        "summary": _summary(report, paper.key),
        "core": nonzero(report.kinds(paper.key, own=False, weight="core")),
    }


def _summary(report: Report, paper: str | None = None) -> dict[str, dict[str, int]]:
    """Kinds of verdicts, of printed claims and of the project's own."""
    return {origin: nonzero(report.kinds(paper, own)) for origin, own in (("printed", False), ("own", True))}


def claim_json(report: Report, claim: Claim) -> dict[str, Any]:
    """One claim with its verdict and its evidence."""
    verdict = report.verdicts[claim.id]
    formula, sides = claim.the_formula, sides_of(claim)
    return {
        "id": claim.id,
        "label": claim.label,
        "name": claim.name,
        "paper": claim.paper.key,
        "of_project": claim.of_project,
        "weight": report.weights.get(claim.id, "text"),
        "statement": claim.statement,
        "assumptions": claim.assumption_texts,
        "relation": claim.relation.kind,
        "verdict": verdict.status,
        "why": verdict.why,
        "expected": claim.expects,
        "grade": verdict.grade,
        "severity": verdict.severity,
        "examples": verdict.examples,
        "separation": _number(verdict.separation),
        "tightest_ratio": _number(verdict.tightest_ratio),
        "standing_on": list(verdict.unsound_uses),
        "formula": {
            "module": formula.__module__,
            "name": formula.__qualname__,
            "line": inspect.getsourcelines(formula)[1],
        },
        "links": {
            "uses": list(claim.uses),
            "proof": list(claim.proof),
            "presumes": list(claim.presumes),
            "facts": report.facts_of[claim.id],
            "correction": claim.correction,
            "corrects": list(claim.corrects),
            "repeats": claim.repeats,
        },
        "sides": {"left": sides.left, "right": sides.right, "sign": sides.sign},
        "violations": [
            {"title": item.title, "left": item.left, "right": item.right, "ratio": item.ratio}
            for item in report.violations.get(claim.id, [])
        ],
        "how_sure": how_sure(claim, verdict, report.records_of[claim.id]),
        "used_by": report.used_by[claim.id],
        "attempt": kept(claim),
        "reading": str(claim.reading) if claim.reading else None,
        "doubt": str(claim.doubt) if claim.doubt else None,
        "missing": claim.missing,
        "consequence": claim.consequence,
        "note": claim.note,
        "mutants": [mutant.name for mutant in claim.mutants],
        "missing_checks": report.missing.get(claim.id, []),
        "as_released": claim.id in report.released,
        "checks": [_check_json(record) for record in report.records_of[claim.id]],
    }


def summary_json(report: Report, claim: Claim) -> dict[str, Any]:
    """One claim in a line: what it is called, and what the evidence says of it."""
    verdict = report.verdicts[claim.id]
    return {
        "id": claim.id,
        "label": claim.label,
        "name": claim.name,
        "paper": claim.paper.key,
        "relation": claim.relation.kind,
        "verdict": verdict.status,
        "severity": verdict.severity,
        "grade": verdict.grade,
        "expected": claim.expects,
        "why": verdict.why,
        "separation": _number(verdict.separation),
        "tightest_ratio": _number(verdict.tightest_ratio),
        "has_evidence": bool(report.records_of[claim.id]),
        "as_released": claim.id in report.released,
    }


def _check_json(record: Record) -> dict[str, Any]:
    return {
        "check": record.check,
        "arithmetic": record.arithmetic,
        "device": record.device,
        "outcome": record.outcome,
        "examples": record.examples,
        "satisfied": record.satisfied,
        "undefined": record.undefined,
        "domains": record.domains,
        "worst_residual": _number(record.worst_residual),
        "tightest_ratio": _number(record.tightest_ratio),
        "separation": _number(record.separation),
        "mutants": {
            name: {"residual": _number(result["residual"]), "killed": result["killed"]}
            for name, result in record.mutants.items()
        },
        "message": record.message,
        "details": record.details,
        "effort": record.effort,
        "seed": record.seed,
        "duration": record.duration,
        "run": record.run,
    }


def _number(value: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
    return value if math.isfinite(value) else str(float(value))
