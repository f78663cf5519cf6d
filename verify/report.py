"""The theorem report: verdicts and their evidence as JSON (versioned schema) and as Markdown."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.claims import Claim
from verify.evidence import Record, Rejected, current, latest, read
from verify.runner import fingerprint
from verify.settings import Settings
from verify.verdicts import Verdict, disagreements, judge_all

#: Version of the JSON report; `report_schema.json` beside this module describes it.
REPORT_SCHEMA = 1
SCHEMA_PATH = Path(__file__).with_name("report_schema.json")

#: Order in which statuses are shown.
ORDER = ("refuted", "gap", "open", "reading", "empirical", "holds")


@dataclass(frozen=True)
class Report:
    """Everything a rendering needs."""

    claims: Mapping[str, Claim]
    records: list[Record]
    verdicts: dict[str, Verdict]
    rejected: list[Rejected]

    @property
    def disagreements(self) -> list[str]:
        """Where evidence disagrees with the source."""
        return disagreements(self.claims, self.verdicts)

    @property
    def missing(self) -> dict[str, list[str]]:
        """Checks without evidence about the present code, by claim."""
        found = {(record.claim, record.check) for record in self.records}
        wanted = {
            claim_id: [
                check.name for check in claim.relation.checks(claim, Settings()) if (claim_id, check.name) not in found
            ]
            for claim_id, claim in self.claims.items()
        }
        return {claim_id: checks for claim_id, checks in wanted.items() if checks}


def build(claims: Mapping[str, Claim], folder: Path) -> Report:
    """The report that the evidence in `folder` supports; stale evidence and broken lines are left out and counted."""
    records, rejected = read(folder)
    fingerprints = {claim_id: fingerprint(claim) for claim_id, claim in claims.items()}
    present = latest(current(records, fingerprints))
    return Report(claims, present, judge_all(claims, present), rejected)


def restricted(report: Report, chosen: list[Claim]) -> Report:
    """The same report, showing only some claims (verdicts still know about all of them)."""
    ids = {claim.id for claim in chosen}
    return Report(
        {claim.id: claim for claim in chosen},
        [record for record in report.records if record.claim in ids],
        {claim_id: verdict for claim_id, verdict in report.verdicts.items() if claim_id in ids},
        report.rejected,
    )


# -- JSON --------------------------------------------------------------------------------------------------------------


def as_json(report: Report) -> dict[str, Any]:
    """The report as data; numbers that are not finite become strings."""
    return {
        "schema": REPORT_SCHEMA,
        "complete": not report.missing,
        "summary": counts(report.verdicts),
        "disagreements": report.disagreements,
        "rejected_evidence": [f"{item.path.name}:{item.line}: {item.reason}" for item in report.rejected],
        "claims": [_claim_json(report, claim) for claim in report.claims.values()],
    }


def _claim_json(report: Report, claim: Claim) -> dict[str, Any]:
    verdict = report.verdicts[claim.id]
    formula = claim.the_formula
    return {
        "id": claim.id,
        "label": claim.label,
        "paper": claim.paper.key,
        "of_project": claim.of_project,
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
        "standing_on": list(verdict.standing_on),
        "formula": {
            "module": formula.__module__,
            "name": formula.__qualname__,
            "line": inspect.getsourcelines(formula)[1],
        },
        "links": {
            "uses": list(claim.uses),
            "proof": list(claim.proof),
            "presumes": list(claim.presumes),
            "correction": claim.correction,
            "corrects": claim.corrects,
        },
        "reading": claim.reading,
        "doubt": claim.doubt,
        "note": claim.note,
        "mutants": [mutant.name for mutant in claim.mutants],
        "missing_checks": report.missing.get(claim.id, []),
        "checks": [_check_json(record) for record in report.records if record.claim == claim.id],
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


def counts(verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    """How many claims have each status, worst first, zeros left out."""
    found = {status: sum(verdict.status == status for verdict in verdicts.values()) for status in ORDER}
    return {status: number for status, number in found.items() if number}


# -- Markdown ----------------------------------------------------------------------------------------------------------


def as_markdown(report: Report) -> str:
    """The report for people who read it in a terminal or on a CI page."""
    printed = {
        claim_id: verdict for claim_id, verdict in report.verdicts.items() if not report.claims[claim_id].of_project
    }
    own = {claim_id: verdict for claim_id, verdict in report.verdicts.items() if report.claims[claim_id].of_project}
    lines = ["# Theorem report", ""]
    if report.missing:
        lines += [
            f"**Partial evidence.** {len(report.missing)} claims lack checks: {', '.join(sorted(report.missing))}.",
            "",
        ]
    if report.rejected:
        lines += [
            f"**{len(report.rejected)} lines of evidence were rejected** (first: {_where(report.rejected[0])}).",
            "",
        ]
    lines += [f"{len(printed)} printed claims: {_sentence(counts(printed))}.  "]
    lines += [f"{len(own)} claims of this project (corrections, presuppositions): {_sentence(counts(own))}.", ""]
    if report.disagreements:
        lines += ["## Evidence disagrees with the source", "", *(f"- {line}" for line in report.disagreements), ""]
    lines += ["## Printed claims", "", *_table(report, printed)]
    broken = [claim_id for claim_id in printed if printed[claim_id].status in ("refuted", "gap")]
    if broken:
        lines += ["## What does not hold, and what does instead", ""]
        for claim_id in broken:
            lines += _erratum(report, claim_id)
    if own:
        lines += ["## Claims of this project", "", *_table(report, own)]
    return "\n".join(lines) + "\n"


def _where(item: Rejected) -> str:
    return f"{item.path.name}, line {item.line}: {item.reason}"


def _sentence(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {status}" for status, number in found.items()) or "none"


def _table(report: Report, verdicts: Mapping[str, Verdict]) -> list[str]:
    head = "| claim | label | verdict | grade | examples | separation or tightness | why |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for claim_id, verdict in verdicts.items():
        claim = report.claims[claim_id]
        status = verdict.status if verdict.severity is None else f"{verdict.status} ({verdict.severity})"
        cells = [f"`{claim_id}`", claim.label, f"**{status}**", verdict.grade or "", str(verdict.examples)]
        cells += [quality(verdict), verdict.why.replace("|", "\\|").replace("\n", " ")]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def quality(verdict: Verdict) -> str:
    """Tightest ratio of a bound and separation from the nearest mutant, in few characters."""
    parts = []
    if verdict.tightest_ratio is not None:
        parts.append(f"ratio {verdict.tightest_ratio:.6g}")
    if verdict.separation is not None:
        parts.append(f"mutants x{verdict.separation:.1e}" if math.isfinite(verdict.separation) else "mutants exact")
    return ", ".join(parts)


def _erratum(report: Report, claim_id: str) -> list[str]:
    claim, verdict = report.claims[claim_id], report.verdicts[claim_id]
    lines = [
        f"### {claim.label} (`{claim_id}`): {verdict.status}",
        "",
        f"$${claim.statement}$$",
        "",
        f"{verdict.why}.",
        "",
    ]
    sources = [claim_id, *claim.presumes, *claim.proof]
    for record in report.records:
        if record.claim in sources and record.claim in report.claims:
            for item in record.details.get("certificates", []):
                lines += _certificate(report.claims[record.claim], item)
    links = [claim.correction, *(report.claims[other].correction for other in claim.presumes if other in report.claims)]
    for correction in dict.fromkeys(link for link in links if link):
        if correction in report.claims:
            standing = report.verdicts[correction].status
            lines += [f"Correction `{correction}` ({standing}):", "", f"$${report.claims[correction].statement}$$", ""]
    if claim.note:
        lines += [claim.note, ""]
    if claim.doubt:
        lines += [f"Doubt about the text: {claim.doubt}", ""]
    return lines


def _certificate(claim: Claim, item: Mapping[str, Any]) -> list[str]:
    bound = claim.relation.kind == "at most"
    printed, truth = ("right side", "left side") if bound else ("as printed", "in truth")
    return [
        f"Counterexample to `{claim.id}`, {item['arithmetic']} arithmetic: {item['title']}",
        "",
        "```python",
        paste(claim.id, item["inputs"]),
        f"# {printed}: {item['formula']}",
        f"# {truth}: {item['oracle']}",
        f"# violation: {item['violation']}",
        "```",
        "",
    ]


def paste(claim_id: str, inputs: Mapping[str, Any]) -> str:
    """Python that evaluates both sides of a claim at explicit inputs."""
    arguments = ", ".join(f"{name}={_literal(value)}" for name, value in inputs.items())
    return f'from verify.replay import at_inputs\nat_inputs("{claim_id}", {arguments})'


def _literal(value: Any) -> str:
    """Nested lists with integers as integers and fractions as text."""
    if isinstance(value, list):
        return "[" + ", ".join(_literal(entry) for entry in value) + "]"
    text = str(value)
    return text if text.lstrip("-").isdigit() else f'"{text}"'


def write(report: Report, folder: Path) -> tuple[Path, Path]:
    """Write report.json and report.md into `folder`; returns both paths."""
    folder.mkdir(parents=True, exist_ok=True)
    data, text = folder / "report.json", folder / "report.md"
    _replace(data, json.dumps(as_json(report), indent=1, allow_nan=False) + "\n")
    _replace(text, as_markdown(report))
    return data, text


def _replace(path: Path, content: str) -> None:
    """Write a file so that no reader ever sees half of it."""
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_text(content, encoding="utf-8")
    temporary.replace(path)
