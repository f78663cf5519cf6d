"""The report as Markdown: in full for a terminal, and as a summary that fits a CI job page."""

from __future__ import annotations

from collections.abc import Mapping

from verify.evidence.verdicts import Verdict
from verify.report.baseline import Change
from verify.report.errata import errata, erratum_markdown
from verify.report.model import KINDS_OF_VERDICT, Report, counts, quality, status_of

#: How many errata, disagreements and changes a summary lists; job pages are cut at a megabyte, readers sooner.
LISTED = 15


def as_markdown(report: Report) -> str:
    """The report for people who read it in a terminal."""
    printed = {
        claim_id: verdict for claim_id, verdict in report.verdicts.items() if not report.claims[claim_id].of_project
    }
    own = {claim_id: verdict for claim_id, verdict in report.verdicts.items() if report.claims[claim_id].of_project}
    lines = ["# Theorem report", ""]
    for shortfall in report.shortfalls:
        lines += [f"**{shortfall.text}**", ""]
    if report.missing:
        lines += [f"Claims that lack checks: {', '.join(sorted(report.missing))}.", ""]
    lines += [f"{len(printed)} printed claims: {_sentence(counts(printed))}.  "]
    lines += [f"{len(own)} claims of this project (corrections, presuppositions): {_sentence(counts(own))}.", ""]
    if report.disagreements:
        lines += ["## Evidence disagrees with the source", "", *(f"- {line}" for line in report.disagreements), ""]
    lines += ["## Printed claims", "", *_table(report, printed)]
    broken = errata(report)
    if broken:
        lines += ["## What does not hold, and what does instead", ""]
        for item in broken:
            lines += erratum_markdown(item)
    if own:
        lines += ["## Claims of this project", "", *_table(report, own)]
    return "\n".join(lines) + "\n"


def as_summary(report: Report, changes: list[Change] | None = None) -> str:
    """The verdicts by paper, what changed, what disagrees, and the errata that matter most."""
    lines = ["# Theorem report", ""]
    lines += [f"> **{item.text}**\n" for item in report.shortfalls]
    shown = [kind for kind in KINDS_OF_VERDICT if any(status_of(v) == kind for v in report.verdicts.values())]
    lines += ["| paper | " + " | ".join(shown) + " | claims |", "|---" * (len(shown) + 2) + "|"]
    for paper in report.papers:
        of_paper = [report.verdicts[claim.id] for claim in report.claims.values() if claim.paper.key == paper.key]
        numbers = [sum(status_of(verdict) == kind for verdict in of_paper) for kind in shown]
        lines.append(f"| {paper.title} | " + " | ".join(map(str, numbers)) + f" | {len(of_paper)} |")
    lines.append("")
    if changes is not None:
        lines += ["## Against the baseline", "", *_listed([change.text for change in changes] or ["nothing changed"])]
    if report.disagreements:
        lines += ["## Evidence disagrees with the source", "", *_listed(report.disagreements)]
    broken = errata(report)
    if broken:
        rows = [f"**{item.claim.label}** (`{item.claim.id}`), {item.status}: {item.verdict.why}" for item in broken]
        lines += ["## What does not hold as printed, gravest first", "", *_listed(rows)]
    return "\n".join(lines).rstrip() + "\n"


def _listed(rows: list[str]) -> list[str]:
    more = [f"- and {len(rows) - LISTED} more"] if len(rows) > LISTED else []
    return [*(f"- {_one_line(row)}" for row in rows[:LISTED]), *more, ""]


def _one_line(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _sentence(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {status}" for status, number in found.items()) or "none"


def _table(report: Report, verdicts: Mapping[str, Verdict]) -> list[str]:
    head = "| claim | label | verdict | grade | examples | separation or tightness | why |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for claim_id, verdict in verdicts.items():
        cells = [f"`{claim_id}`", report.claims[claim_id].label, f"**{status_of(verdict)}**", verdict.grade or ""]
        cells += [str(verdict.examples), quality(verdict), _one_line(verdict.why)]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]
