"""A paper as its readers know it: its parts in their order, what is written about it, and what to rely on."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

from verify.report.contents import package_of, summary
from verify.report.errata import Erratum
from verify.report.model import Report
from verify.report.weights import WEIGHTS
from verify.vocabulary.claims import Claim
from verify.vocabulary.sections import Paper

#: Verdicts whose statement may be used as printed; a reading under the meaning that is given.
USABLE = ("holds", "reading")
#: What a consequence asks of those who build on the claim.
_ACTION = re.compile(
    r"(?<!\bthe )(?<!\ba )(?<!\bto )(?<!\bno )(?<!\bmay )(?<!\bcan )\b(?:add|assume|check|choose|compute|divide|expect|keep"
    r"|multiply|plan|read|replace|square|take|use)\b",
    re.IGNORECASE,
)
#: The table of modules that closes a paper's page in the docs; the site has its own.
_TABLE = re.compile(r"## Where a label lives.*", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A part of a paper: what it is about, and its claims in the order of the listing."""

    title: str
    claims: list[Claim]


def parts(report: Report, paper: Paper) -> list[Part]:
    """The parts of a paper in its order, each with the claims that are shown."""
    found: dict[str, list[Claim]] = {}
    for claim in sorted(report.chosen(paper.key), key=lambda claim: package_of(claim.module)):
        found.setdefault(package_of(claim.module), []).append(claim)
    return [Part(summary(package).rstrip("."), claims) for package, claims in found.items()]


def about(report: Report, paper: Paper) -> str:
    """What the docs say of a paper, as Markdown without title and table of modules; empty where there are no docs."""
    packages = {claim.package for claim in report.chosen(paper.key)}
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        path = Path(spec.origin).parents[1] / "docs" / "papers" / f"{paper.key}.md"
        if path.is_file():
            text = _TABLE.sub("", path.read_text(encoding="utf-8"))
            return re.sub(r"\A# .*\n", "", text).strip()
    return ""


def reliable(report: Report, paper: Paper) -> list[Claim]:
    """Core statements that may be used as printed."""
    return [
        claim
        for claim in report.chosen(paper.key, own=False, weight="core")
        if report.verdicts[claim.id].status in USABLE
    ]


def replaced(items: list[Erratum]) -> list[Erratum]:
    """Errata with a correction that holds, steps of proofs aside: use this, not that."""
    return [
        item
        for item in items
        if item.weight != WEIGHTS[-1]
        and item.claim.correction is not None
        and any(c.id == item.claim.correction and verdict.status in USABLE for c, verdict in item.corrections)
    ]


def findings(items: list[Erratum], papers: list[Paper], number: int) -> list[Erratum]:
    """The headlines: the gravest errors across papers, in turns; fewer where there are not so many."""
    queues = [
        sorted(
            (item for item in items if item.claim.paper.key == paper.key and is_headline(item)), key=lambda i: i.gravity
        )
        for paper in papers
    ]
    found: list[Erratum] = []
    for turn in range(max(map(len, queues), default=0)):
        found += sorted((queue[turn] for queue in queues if turn < len(queue)), key=lambda item: item.gravity)
    return found[:number]


def is_headline(item: Erratum) -> bool:
    """Whether a finding may stand among those that matter most: a core statement that is false, and what to do about it.

    A misprint is none, whatever follows from it, and neither is a consequence that asks nothing of anybody.
    """
    return item.weight == WEIGHTS[0] and item.status == "refuted (error)" and says_what_to_do(item.claim)


def says_what_to_do(claim: Claim) -> bool:
    """Whether the consequence of a claim tells those who build on it what to do: use, compute, check, keep, ..."""
    return bool(_ACTION.search(claim.consequence or ""))
