"""What the evidence supports, and what it does not cover."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from verify.checks import checks_of
from verify.checks.record import Record
from verify.checks.settings import Settings
from verify.evidence.data_files import data_file
from verify.evidence.fingerprints import fingerprint
from verify.evidence.released import FILE, read_released
from verify.evidence.store import Rejected, current, in_force, read
from verify.evidence.verdicts import Verdict, disagreements, facts_in, judge_all
from verify.report.provenance import provenance
from verify.report.sides import Violation, short, violation
from verify.report.weights import stated, weights_of
from verify.report.wording import counted
from verify.vocabulary.claims import Claim
from verify.vocabulary.sections import Paper

#: Order in which statuses are shown.
ORDER = ("refuted", "gap", "open", "reading", "empirical", "holds")

#: Slips that repeat the misprint of another claim, which is counted there.
REPEATED = "refuted (repeated)"

#: The same with refutations by severity.
KINDS_OF_VERDICT = ("refuted (error)", "refuted (slip)", REPEATED, *ORDER[1:])


@dataclass(frozen=True)
class Shortfall:
    """Something that the evidence does not cover, and the ids of the claims it concerns.

    What is said `once`, on the front page, holds for a whole run and makes no claim's evidence partial.
    """

    text: str
    claims: frozenset[str]
    once: bool = False


@dataclass(frozen=True)
class Report:
    """Everything a rendering needs."""

    claims: Mapping[str, Claim]
    records: list[Record]
    verdicts: dict[str, Verdict]
    rejected: list[Rejected]
    weights: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0  #: claims that exist but that this report does not show
    outdated: frozenset[str] = frozenset()  #: claims with evidence about other code than the present
    #: Claims whose verdicts are as released, since nothing about the present code was found here; what releases say of
    #: themselves, by package; and if anything was found here, the verdicts that follow from that alone.
    released: frozenset[str] = frozenset()
    outdated_release: frozenset[str] = frozenset()  #: of those, claims whose code or libraries were others then
    releases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    found_here: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def disagreements(self) -> list[str]:
        """Where evidence disagrees with the source: what was found here, if anything was, else what was released."""
        return disagreements(self.claims, self.found_here or self.verdicts)

    @cached_property
    def as_released(self) -> bool:
        """Whether nothing that is shown was found here."""
        return bool(self.released) and self.released >= {record.claim for record in self.records}

    @cached_property
    def records_of(self) -> dict[str, list[Record]]:
        """Records by claim."""
        found: dict[str, list[Record]] = {claim_id: [] for claim_id in self.claims}
        for record in self.records:
            if record.claim in found:
                found[record.claim].append(record)
        return found

    @cached_property
    def missing(self) -> dict[str, list[str]]:
        """Checks without evidence about the present code, by claim."""
        wanted = {}
        for claim_id, claim in self.claims.items():
            found = {record.check for record in self.records_of[claim_id]}
            names = [check.name for check in checks_of(claim, Settings())]
            wanted[claim_id] = [name for name in names if name not in found and claim_id not in self.released]
        return {claim_id: checks for claim_id, checks in wanted.items() if checks}

    @property
    def stale(self) -> frozenset[str]:
        """Claims with evidence of which some speaks about other code and was not found anew."""
        return self.outdated & (self.missing.keys() | self.released)

    @cached_property
    def judged(self) -> dict[str, Claim]:
        """Claims with evidence about the present code, they themselves and all that their verdicts rest on."""
        seen = {record.claim for record in self.records}
        if not self.as_released:
            seen -= self.released
        return {
            claim_id: claim
            for claim_id, claim in self.claims.items()
            if all(other in seen for other in (claim_id, *claim.presumes, *claim.proof))
        }

    @cached_property
    def used_by(self) -> dict[str, list[str]]:
        """Claims that use, presume or prove themselves by each claim."""
        found: dict[str, list[str]] = {claim_id: [] for claim_id in self.claims}
        for claim in self.claims.values():
            for other in dict.fromkeys((*claim.uses, *claim.presumes, *claim.proof)):
                if other in found:
                    found[other].append(claim.id)
        return found

    @cached_property
    def facts_of(self) -> dict[str, list[str]]:
        """The claims that each claim's derivation rests on, as its evidence says."""
        return {claim_id: facts_in(records) for claim_id, records in self.records_of.items()}

    @cached_property
    def fact_in(self) -> dict[str, list[str]]:
        """The claims whose derivations rest on each claim."""
        found: dict[str, list[str]] = {claim_id: [] for claim_id in self.claims}
        for claim_id, facts in self.facts_of.items():
            for fact in facts:
                found.setdefault(fact, []).append(claim_id)
        return found

    @cached_property
    def resting_on(self) -> dict[str, int]:
        """How many claims rest on each claim, directly or not."""
        return {claim_id: len(self._above(claim_id)) for claim_id in self.claims}

    def _above(self, claim_id: str) -> set[str]:
        seen: set[str] = set()
        stack = [claim_id]
        while stack:
            for other in self.used_by[stack.pop()]:
                if other not in seen and other != claim_id:
                    seen.add(other)
                    stack.append(other)
        return seen

    def chosen(self, paper: str | None = None, own: bool | None = None, weight: str | None = None) -> list[Claim]:
        """Claims of a paper, printed ones or the project's own, of a weight; None leaves that open."""
        return [
            claim
            for claim in self.claims.values()
            if paper in (None, claim.paper.key)
            and own in (None, claim.of_project)
            and weight in (None, self.weights.get(claim.id, "text"))
        ]

    def kinds(self, paper: str | None = None, own: bool | None = None, weight: str | None = None) -> dict[str, int]:
        """How many of those have each kind of verdict; a misprint that several claims repeat is a slip once."""
        chosen = self.chosen(paper, own, weight)
        repeated = sum(map(self.is_repeated, chosen))
        found = kinds(self.verdicts[claim.id] for claim in chosen)
        return {**found, "refuted (slip)": found["refuted (slip)"] - repeated, REPEATED: repeated}

    def is_repeated(self, claim: Claim) -> bool:
        """Whether a claim repeats the misprint of another one that is shown, both with that verdict."""
        if claim.repeats not in self.verdicts or claim.repeats is None:
            return False
        return status_of(self.verdicts[claim.id]) == status_of(self.verdicts[claim.repeats]) == "refuted (slip)"

    @cached_property
    def papers(self) -> list[Paper]:
        """The papers of the claims shown, then collections of this project's own claims."""
        found = {claim.paper.key: claim.paper for claim in self.claims.values()}
        return sorted(found.values(), key=lambda paper: paper.of_project)

    @property
    def printed_papers(self) -> list[Paper]:
        """The papers of the claims shown, without collections of this project's own claims."""
        return [paper for paper in self.papers if not paper.of_project]

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Where the report comes from."""
        packages = sorted({claim.package for claim in self.claims.values()})
        if self.as_released and len(packages) == 1:
            found = provenance(self.records, None)
            about = {"platform": "", "machine": "", **self.releases[packages[0]]}
            return {name: about.get(name, value) for name, value in found.items()}
        here = [record for record in self.records if record.claim not in self.released]
        return provenance(here, packages[0] if len(packages) == 1 else None)

    @cached_property
    def not_encoded(self) -> dict[str, int]:
        """Printed claims that the packages' catalogues name but that are not claims yet, by paper."""
        packages = {claim.package for claim in self.claims.values()}
        known = [claim_id for package in packages for claim_id in stated(package)]
        absent = [claim_id for claim_id in known if claim_id not in self.claims] if not self.left_out else []
        return {paper.key: sum(item.startswith(paper.key + ".") for item in absent) for paper in self.papers}

    @cached_property
    def shortfalls(self) -> list[Shortfall]:
        """What keeps the evidence from being complete, gravest first."""
        everything = frozenset(self.claims)
        found = []
        if self.released:
            found.append(Shortfall(self._about_releases(), self.released))
        if self.missing:
            own = frozenset(self.missing)
            above = {user for claim_id in own for user in self.used_by[claim_id]}
            text = (
                f"Partial evidence: {len(own)} of {len(everything)} claims lack checks,"
                " because a run was interrupted or chose claims, or because the code has changed since."
            )
            found.append(Shortfall(text, own | above))
        if self.left_out:
            total = len(everything) + self.left_out
            found.append(Shortfall(f"This report shows {len(everything)} of {total} claims.", everything))
        if self.rejected:
            number, first = len(self.rejected), self.rejected[0]
            where = f"{first.path.name}, line {first.line}: {first.reason}"
            lines = "line of evidence was" if number == 1 else "lines of evidence were"
            found.append(Shortfall(f"{number} {lines} rejected (first: {where}).", everything))
        quick = frozenset(record.claim for record in self.records if record.effort == "quick")
        if quick:
            found.append(Shortfall(f"{counted(len(quick), 'claim has', 'claims have')} checks of effort quick.", quick))
        in_floats = frozenset(record.claim for record in self.records if record.arithmetic.startswith("float"))
        elsewhere = frozenset(record.claim for record in self.records if record.device != "cpu")
        on_cpu = in_floats - elsewhere
        if on_cpu:
            which = "Floating-point" if on_cpu == in_floats else f"For {counted(len(on_cpu), 'claim')}, floating-point"
            found.append(Shortfall(f"{which} checks ran on the CPU only.", on_cpu, once=True))
        return found

    def _about_releases(self) -> str:
        number, total = len(self.released), len(self.claims)
        versions = sorted({str(about["version"]) for about in self.releases.values() if about.get("version")})
        of = f" with version {' and '.join(versions)}" if versions else ""
        which = "These verdicts are" if number == total else f"{number} of {total} verdicts are"
        text = f"{which} as released{of}. They were not checked again here; `verify run` does that."
        if changed := sum(claim_id in self.outdated_release for claim_id in self.released):
            text += f" For {counted(changed, 'claim')} the code or a library has changed since."
        return text

    def shortfalls_of(self, claim_id: str) -> list[Shortfall]:
        """Those that concern one claim and are not said once for all."""
        return [item for item in self.shortfalls if claim_id in item.claims and not item.once]

    @cached_property
    def violations(self) -> dict[str, list[Violation]]:
        """What certified counterexamples show, by claim; only claims that have some."""
        found = {
            claim_id: [
                violation(claim, item)
                for record in self.records_of[claim_id]
                for item in record.details.get("certificates", [])
            ]
            for claim_id, claim in self.claims.items()
        }
        return {claim_id: items for claim_id, items in found.items() if items}

    def quality(self, claim_id: str) -> str:
        """In few characters: for what is refuted its violation, else how tight a bound is and how far wrong variants are."""
        verdict, broken = self.verdicts[claim_id], self.violations.get(claim_id)
        if verdict.status == "refuted" and broken:
            worst = max(broken, key=lambda item: item.ratio or 0.0)
            if worst.sides.sign == "≤" and worst.ratio is not None:
                return f"violated: ratio {worst.ratio:.4g}"
            shown = worst.as_printed
            return f"violated: {short(shown.left, 4)} {shown.sign} {short(shown.right, 4)}"
        return quality(verdict)


def build(claims: Mapping[str, Claim], folder: Path, released: bool = False) -> Report:
    """The report that the evidence in `folder` supports; stale evidence and broken lines are left out and counted.

    If `released`, claims without evidence there are shown with the evidence that the release of their package carries.
    """
    records, rejected = read(folder)
    fingerprints = {claim_id: fingerprint(claim) for claim_id, claim in claims.items()}
    present = in_force(current(records, fingerprints))
    outdated = frozenset(r.claim for r in records if r.claim in fingerprints and r.fingerprint != fingerprints[r.claim])
    here = judge_all(claims, present)
    report = Report(claims, present, here, rejected, weights_of(claims), outdated=outdated)
    return _with_releases(report, fingerprints) if released else report


def _with_releases(report: Report, fingerprints: Mapping[str, str]) -> Report:
    """The report with the evidence of releases for claims about which nothing was found here."""
    here = {record.claim for record in report.records}
    records, releases = list(report.records), {}
    for package in sorted({claim.package for claim in report.claims.values()}):
        if (found := read_released(data_file(package, FILE))) is None:
            continue
        releases[package] = found.about
        for claim_id, own in found.records.items():
            if claim_id in report.claims and claim_id not in here:
                records += own
    used = frozenset(record.claim for record in records) - here
    return replace(
        report,
        records=records,
        verdicts=judge_all(report.claims, records),
        released=used,
        releases=releases,
        outdated_release=frozenset(
            r.claim for r in records if r.claim in used and r.fingerprint != fingerprints[r.claim]
        ),
        found_here=report.verdicts if here else {},
    )


def restricted(report: Report, chosen: list[Claim]) -> Report:
    """The same report, showing only some claims (verdicts still know about all of them)."""
    ids = {claim.id for claim in chosen}
    return replace(
        report,
        claims={claim.id: claim for claim in chosen},
        records=[record for record in report.records if record.claim in ids],
        released=report.released & ids,
        verdicts={claim_id: verdict for claim_id, verdict in report.verdicts.items() if claim_id in ids},
        left_out=report.left_out + len(report.claims) - len(ids),
    )


def kinds(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """How many verdicts are of each kind, worst first, zeros included: the one source of every total that is shown."""
    found = [status_of(verdict) for verdict in verdicts]
    return {kind: found.count(kind) for kind in KINDS_OF_VERDICT}


def nonzero(found: Mapping[str, int]) -> dict[str, int]:
    """Without the entries that are zero."""
    return {kind: number for kind, number in found.items() if number}


def counts(verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    """How many claims have each status, worst first, zeros left out."""
    found = {status: sum(verdict.status == status for verdict in verdicts.values()) for status in ORDER}
    return {status: number for status, number in found.items() if number}


def status_of(verdict: Verdict) -> str:
    """The verdict with its severity, such as "refuted (slip)"."""
    return verdict.status if verdict.severity is None else f"{verdict.status} ({verdict.severity})"


def quality(verdict: Verdict) -> str:
    """Tightest ratio of a bound and separation from the nearest mutant, in few characters; refutations aside."""
    parts = []
    if verdict.tightest_ratio is not None:
        parts.append(f"ratio {verdict.tightest_ratio:.6g}")
    if verdict.separation is not None:
        far = f"{verdict.separation:.1e}" if math.isfinite(verdict.separation) else "exact"
        parts.append(f"separation {far}")
    return ", ".join(parts)
