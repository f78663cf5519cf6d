"""What an author would want to know: what does not hold as printed, why, and what does instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from verify.evidence.verdicts import Verdict
from verify.report.citations import edition
from verify.report.model import Report, status_of
from verify.report.paste import paste
from verify.report.sides import Violation, violation
from verify.report.weights import WEIGHTS
from verify.report.wording import does_not_hold, sentence, titled
from verify.vocabulary.claims import Claim
from verify.vocabulary.sections import Paper


@dataclass(frozen=True)
class CertifiedCounterexample:
    """A certified counterexample, and the claim it is about: the erratum's own, or one that it stands on."""

    claim: Claim
    certificate: Mapping[str, Any]

    @property
    def snippet(self) -> str:
        """Python that evaluates both sides there."""
        return paste(self.claim, self.certificate["inputs"])

    @property
    def sides(self) -> list[tuple[str, str]]:
        """Both sides in the paper's own sign, and their difference, with a name each."""
        found = self.violation.as_printed
        return [(found.sides.left, found.left), (found.sides.right, found.right), ("difference", found.difference)]

    @property
    def violation(self) -> Violation:
        """Both sides by name."""
        return violation(self.claim, self.certificate)


@dataclass(frozen=True)
class Erratum:
    """A printed claim that is refuted or has a gap."""

    claim: Claim
    verdict: Verdict
    weight: str
    resting: int  #: claims that rest on it
    counterexamples: list[CertifiedCounterexample]
    corrections: list[tuple[Claim, Verdict]]
    elsewhere: tuple[str, ...] = ()  #: claims whose counterexamples stand at another erratum of the same list

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


def in_all(items: list[Erratum]) -> str:
    """How many of a paper's statements do not hold, each misprint counted once."""
    listed = {item.claim.id for item in items}
    return does_not_hold((item.verdict for item in items), sum(item.claim.repeats in listed for item in items))


def of_paper(items: list[Erratum], paper: Paper) -> list[Erratum]:
    """Those of one paper, each counterexample once."""
    return without_repeats([item for item in items if item.claim.paper.key == paper.key])


def without_repeats(items: list[Erratum]) -> list[Erratum]:
    """Each counterexample at the erratum of its own claim, else at the first that needs it; the others name that claim."""
    listed, shown, found = {item.claim.id for item in items}, set[str](), []
    for item in items:
        own = [w for w in item.counterexamples if w.claim.id == item.claim.id or w.claim.id not in listed | shown]
        ids = dict.fromkeys(w.claim.id for w in item.counterexamples)
        kept = {w.claim.id for w in own}
        shown |= kept
        found.append(replace(item, counterexamples=own, elsewhere=tuple(name for name in ids if name not in kept)))
    return found


def counterexamples_of(report: Report, claim: Claim) -> list[CertifiedCounterexample]:
    """The counterexamples that evidence certifies for a claim."""
    return [
        CertifiedCounterexample(claim, certificate)
        for record in report.records_of[claim.id]
        for certificate in record.details.get("certificates", [])
    ]


def _erratum(report: Report, claim: Claim) -> Erratum:
    sources = [name for name in dict.fromkeys((claim.id, *claim.presumes, *claim.proof)) if name in report.claims]
    counterexamples = [
        counterexample for name in sources for counterexample in counterexamples_of(report, report.claims[name])
    ]
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
        counterexamples,
        corrections,
    )


def erratum_markdown(item: Erratum, level: int = 3) -> list[str]:
    """One erratum as lines of Markdown."""
    claim = item.claim
    lines = ["#" * level + f" {titled(claim)} (`{claim.id}`): {item.status}", "", f"$${claim.statement}$$", ""]
    lines += [sentence(item.verdict.why), ""]
    if claim.consequence:
        lines += [f"What follows: {sentence(claim.consequence)}", ""]
    for counterexample in item.counterexamples:
        values = [f"# {name}: {value}" for name, value in counterexample.sides]
        arithmetic, title = counterexample.certificate["arithmetic"], counterexample.certificate["title"]
        lines += [f"Counterexample to `{counterexample.claim.id}`, {arithmetic} arithmetic: {title}", ""]
        lines += [f"Violated: {counterexample.violation.one_line}", ""]
        lines += ["```python", counterexample.snippet, *values, "```", ""]
    if item.elsewhere:
        lines += [f"Counterexamples that it shares: see {', '.join(f'`{name}`' for name in item.elsewhere)}.", ""]
    for correction, verdict in item.corrections:
        lines += [f"Correction `{correction.id}` ({verdict.status}):", "", f"$${correction.statement}$$", ""]
    if claim.repeats:
        lines += [f"It repeats the misprint of `{claim.repeats}`, which is counted there.", ""]
    for name, remark in remarks_of(claim):
        lines += [f"{name}: {remark}", ""]
    return lines


def remarks_of(claim: Claim) -> list[tuple[str, str]]:
    """What is said about a claim beside its statement, by the heading it stands under."""
    remarks = {"Missing hypothesis": claim.missing, "Note": claim.note, "Doubt about the text": claim.doubt}
    return [(name, str(remark)) for name, remark in remarks.items() if remark]


def errata_markdown(paper: Paper, items: list[Erratum], shortfalls: list[str]) -> str:
    """The errata of one paper as a Markdown document."""
    lines = [f"# Errata: {paper.title}", "", f"{paper.citation}. {in_all(items)}", ""]
    lines += [edition(paper), ""] * bool(paper.checked)
    for text in shortfalls:
        lines += [f"**{text}**", ""]
    for item in items:
        lines += erratum_markdown(item, level=2)
    return "\n".join(lines)
