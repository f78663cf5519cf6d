"""What an author would want to know: what does not hold as printed, why, and what does instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verify.evidence.verdicts import Verdict
from verify.report.model import Report, status_of
from verify.report.paste import paste, sides
from verify.report.weights import WEIGHTS
from verify.vocabulary.claims import Claim, Paper


@dataclass(frozen=True)
class Witness:
    """A certified counterexample, and the claim it is about: the erratum's own, or one that it stands on."""

    claim: Claim
    certificate: Mapping[str, Any]

    @property
    def snippet(self) -> str:
        """Python that evaluates both sides there."""
        return paste(self.claim.id, self.certificate["inputs"])

    @property
    def sides(self) -> list[tuple[str, str]]:
        """Both sides and their difference, with a name each."""
        formula, oracle = sides(self.claim)
        values = self.certificate
        return [(formula, values["formula"]), (oracle, values["oracle"]), ("violation", values["violation"])]


@dataclass(frozen=True)
class Erratum:
    """A printed claim that is refuted or has a gap."""

    claim: Claim
    verdict: Verdict
    weight: str
    resting: int  #: claims that rest on it
    witnesses: list[Witness]
    corrections: list[tuple[Claim, Verdict]]

    @property
    def status(self) -> str:
        return status_of(self.verdict)

    @property
    def gravity(self) -> tuple[int, int, int]:
        """Smaller is graver: errors before gaps before slips, core statements first, then what most rests on."""
        kind = {"refuted (error)": 0, "gap": 1}.get(self.status, 2)
        return kind, WEIGHTS.index(self.weight), -self.resting


def errata(report: Report) -> list[Erratum]:
    """Every printed claim that does not hold, gravest first."""
    found = [
        _erratum(report, claim)
        for claim in report.claims.values()
        if not claim.of_project and report.verdicts[claim.id].status in ("refuted", "gap")
    ]
    return sorted(found, key=lambda item: item.gravity)


def of_paper(items: list[Erratum], paper: Paper) -> list[Erratum]:
    """Those of one paper."""
    return [item for item in items if item.claim.paper.key == paper.key]


def witnesses_of(report: Report, claim: Claim) -> list[Witness]:
    """The counterexamples that evidence certifies for a claim."""
    return [
        Witness(claim, certificate)
        for record in report.records_of[claim.id]
        for certificate in record.details.get("certificates", [])
    ]


def _erratum(report: Report, claim: Claim) -> Erratum:
    sources = [name for name in dict.fromkeys((claim.id, *claim.presumes, *claim.proof)) if name in report.claims]
    witnesses = [witness for name in sources for witness in witnesses_of(report, report.claims[name])]
    links = [claim.correction]
    links += [report.claims[other].correction for other in (*claim.presumes, *claim.proof) if other in report.claims]
    corrections = [
        (report.claims[link], report.verdicts[link]) for link in dict.fromkeys(links) if link and link in report.claims
    ]
    return Erratum(
        claim,
        report.verdicts[claim.id],
        report.weights.get(claim.id, "text"),
        report.resting_on[claim.id],
        witnesses,
        corrections,
    )


def erratum_markdown(item: Erratum, level: int = 3) -> list[str]:
    """One erratum as lines of Markdown."""
    claim = item.claim
    lines = ["#" * level + f" {claim.label} (`{claim.id}`): {item.status}", "", f"$${claim.statement}$$", ""]
    lines += [f"{item.verdict.why}.", ""]
    for witness in item.witnesses:
        values = [f"# {name}: {value}" for name, value in witness.sides]
        arithmetic, title = witness.certificate["arithmetic"], witness.certificate["title"]
        lines += [f"Counterexample to `{witness.claim.id}`, {arithmetic} arithmetic: {title}", ""]
        lines += ["```python", witness.snippet, *values, "```", ""]
    for correction, verdict in item.corrections:
        lines += [f"Correction `{correction.id}` ({verdict.status}):", "", f"$${correction.statement}$$", ""]
    for name, remark in remarks_of(claim):
        lines += [f"{name}: {remark}", ""]
    return lines


def remarks_of(claim: Claim) -> list[tuple[str, str]]:
    """What is said about a claim beside its statement, by the heading it stands under."""
    remarks = {"Missing hypothesis": claim.missing, "Note": claim.note, "Doubt about the text": claim.doubt}
    return [(name, str(remark)) for name, remark in remarks.items() if remark]


def errata_markdown(paper: Paper, items: list[Erratum], shortfalls: list[str]) -> str:
    """The errata of one paper as a Markdown document."""
    lines = [
        f"# Errata: {paper.title}",
        "",
        f"{paper.citation}. {len(items)} printed claims do not hold as printed.",
        "",
    ]
    for text in shortfalls:
        lines += [f"**{text}**", ""]
    for item in items:
        lines += erratum_markdown(item, level=2)
    return "\n".join(lines)
