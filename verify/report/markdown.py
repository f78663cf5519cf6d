"""The report as Markdown: in full for a terminal, and as a summary that fits a CI job page."""

from __future__ import annotations

from collections.abc import Mapping

from verify.report.baseline import Change
from verify.report.errata import errata, erratum_markdown, without_repeats
from verify.report.model import Report, nonzero, status_of
from verify.report.wording import titled
from verify.vocabulary.claims import Claim

#: How many errata, disagreements and changes a summary lists; job pages are cut at a megabyte, readers sooner.
LISTED = 15


def as_markdown(report: Report) -> str:
    """The report for people who read it in a terminal."""
    printed, own = report.chosen(own=False), report.chosen(own=True)
    lines = ["# Theorem report", ""]
    for shortfall in report.shortfalls:
        lines += [f"**{shortfall.text}**", ""]
    if report.missing:
        lines += [f"Claims that lack checks: {', '.join(sorted(report.missing))}.", ""]
    lines += [f"{len(printed)} printed claims: {_sentence(report.kinds(own=False))}.  "]
    lines += [
        f"{len(own)} claims of this project (corrections, presuppositions): {_sentence(report.kinds(own=True))}.",
        "",
    ]
    if report.disagreements:
        lines += ["## Evidence disagrees with the source", "", *(f"- {line}" for line in report.disagreements), ""]
    lines += ["## Printed claims", "", *_table(report, printed)]
    broken = without_repeats(errata(report))
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
    lines += ["Printed claims by verdict:", ""]
    shown = list(nonzero(report.kinds(own=False)))
    lines += ["| paper | printed claims | " + " | ".join(shown) + " |", "|---" * (len(shown) + 2) + "|"]
    for paper in report.printed_papers:
        found = report.kinds(paper.key, own=False)
        numbers = [len(report.chosen(paper.key, own=False)), *(found[kind] for kind in shown)]
        lines.append(f"| {paper.title} | " + " | ".join(map(str, numbers)) + " |")
    own = report.chosen(own=True)
    lines += ["", f"Besides, {len(own)} claims of this project's own: {_sentence(report.kinds(own=True))}.", ""]
    if changes is not None:
        lines += ["## Against the baseline", "", *_listed([change.text for change in changes] or ["nothing changed"])]
    if report.disagreements:
        lines += ["## Evidence disagrees with the source", "", *_listed(report.disagreements)]
    broken = errata(report)
    if broken:
        rows = [f"**{titled(item.claim)}** (`{item.claim.id}`), {item.status}: {item.verdict.why}" for item in broken]
        lines += ["## What does not hold as printed, gravest first", "", *_listed(rows)]
    return "\n".join(lines).rstrip() + "\n"


def _listed(rows: list[str]) -> list[str]:
    more = [f"- and {len(rows) - LISTED} more"] if len(rows) > LISTED else []
    return [*(f"- {_one_line(row)}" for row in rows[:LISTED]), *more, ""]


def _one_line(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _sentence(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in nonzero(found).items()) or "none"


def _table(report: Report, claims: list[Claim]) -> list[str]:
    head = "| claim | label | verdict | grade | examples | separation or tightness | why |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for claim in claims:
        verdict = report.verdicts[claim.id]
        cells = [f"`{claim.id}`", titled(claim), f"**{status_of(verdict)}**", verdict.grade or ""]
        cells += [str(verdict.examples), report.quality(claim.id), _one_line(verdict.why)]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]
