"""Which pages have to be made again: what each is made of as a key, what stands already, and workers that make the rest."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from verify.evidence.fingerprints import ENGINE, reached_by
from verify.evidence.parallel import worker_pool
from verify.report.attempts import kept
from verify.report.baseline import Change
from verify.report.history import Changes
from verify.report.model import Report
from verify.report.papers import about, parts
from verify.vocabulary.claims import Claim
from verify.vocabulary.registry import load

#: What stands in the folder: for each page its key, its files with their digests, and formulas shown as source.
MANIFEST = ".pages.json"
#: Pages in one task of a worker; neighbours share much of their code and notation.
TOGETHER = 20
#: A worker takes seconds to start: fewer pages than this are made without.
FEW = 60
#: Distributions whose versions show on pages; what computes the verdicts is in the evidence.
_TYPESETTING = ("jinja2", "latex2mathml", "pygments", "markdown-it-py", "pylatexenc", "fast-sugiyama", "numpy")
#: Parts of a source tree that pages are made of.
_SOURCES = (".py", ".html", ".css", ".js", ".md", ".json")
#: What a claim says of itself.
_TEXTS = (
    "label", "name", "statement", "expects", "severity", "reading", "doubt", "missing", "consequence", "note", "observed",
    "assumption_texts", "uses", "proof", "presumes", "correction", "corrects", "of_project", "relation", "module",
)  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A page that stands: the key of what it was made of, digests of its files by name, formulas shown as source."""

    key: str
    files: dict[str, str]
    plain: list[str]

    def stands(self, folder: Path, key: str) -> bool:
        """Whether the page was made of the same, and nobody has changed its files since."""
        return self.key == key and all(digest_of_file(folder / name) == told for name, told in self.files.items())


def digest(*parts: Any) -> str:
    """A hash of texts, bytes, or of what has a faithful `repr`."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else (part if isinstance(part, str) else repr(part)).encode()
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def digest_of_file(path: Path) -> str | None:
    """The digest of a file's content; None where there is no such file."""
    try:
        return digest(path.read_bytes())
    except OSError:
        return None


def keys(
    report: Report, changes: list[Change] | None, log: Sequence[Changes], pdf: bool, docs: str | None
) -> Callable[[str, Claim | None], str]:
    """What a page is made of: ``key(kind, claim)``, with the claim for pages of claims.

    Of a claim count its texts, the modules that its functions reach, its evidence, and title, statement and verdict of
    every claim that its page names; of all other pages all of that for every claim.
    """
    common = digest(_engine(), sys.version, [importlib.metadata.version(name) for name in _TYPESETTING], list(report.claims),
                    report.papers, docs)  # fmt: skip
    order = list(report.claims)

    def shown(claim_id: str) -> Any:
        claim, verdict = report.claims.get(claim_id), report.verdicts.get(claim_id)
        return claim_id, claim and (claim.label, claim.name, claim.statement), verdict

    @functools.cache
    def of_claim(claim_id: str) -> str:
        claim, verdict = report.claims[claim_id], report.verdicts[claim_id]
        place = order.index(claim_id)
        named = [
            *claim.uses, *claim.proof, *claim.presumes, *report.used_by[claim_id], *verdict.unsound_uses,
            *report.facts_of[claim_id], *report.fact_in[claim_id],
            *filter(None, (claim.correction, *claim.corrects)), *order[max(place - 1, 0) : place + 2],
        ]  # fmt: skip
        modules = sorted({claim.module, *(module for module, _ in reached_by(claim))})
        return digest(
            common,
            claim_id,
            [getattr(claim, name) for name in _TEXTS],
            [mutant.name for mutant in claim.mutants],
            [_module(module) for module in modules],
            report.records_of[claim_id],
            report.weights.get(claim_id),
            report.missing.get(claim_id),
            kept(claim),
            [item.text for item in report.shortfalls_of(claim_id)],
            [shown(other) for other in named],
        )

    everything = digest(common, *map(of_claim, report.claims))
    prose = [(about(report, paper), [part.title for part in parts(report, paper)]) for paper in report.papers]
    shortfalls = [(item.text, sorted(item.claims), item.once) for item in report.shortfalls]
    whole = digest(everything, prose, shortfalls, report.disagreements, report.left_out)

    def key(kind: str, claim: Claim | None) -> str:
        if claim is not None:
            return of_claim(claim.id)
        more = {
            "index": (report.provenance, changes, bool(log)),
            "papers": report.provenance,
            "changes": log,
            "errata": pdf,
        }
        return digest(whole, more.get(kind))

    return key


@functools.cache
def _engine() -> str:
    """The sources of this package."""
    files = sorted(path for path in ENGINE.rglob("*") if path.suffix in _SOURCES)
    return digest(*(part for path in files for part in (path.relative_to(ENGINE).as_posix(), path.read_bytes())))


@functools.cache
def _module(name: str) -> str | None:
    """The source of an imported module."""
    path = getattr(sys.modules.get(name), "__file__", None)
    return digest_of_file(Path(path)) if path else None


def made_before(folder: Path) -> dict[str, Made]:
    """What the manifest of an earlier report says; nothing where there is none that can be read."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {name: Made(**item) for name, item in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def manifest(made: Mapping[str, Made]) -> str:
    """The manifest as text."""
    return json.dumps({name: asdict(item) for name, item in sorted(made.items())}, indent=0) + "\n"


# -- workers -----------------------------------------------------------------------------------------------------------


class Maker(Protocol):
    """A site, as far as workers know it."""

    report: Report
    folder: Path
    pdf: bool
    docs: str | None

    def __init__(self, report: Report, folder: Path, *, pdf: bool, docs: str | None) -> None: ...

    def make(self, name: str) -> tuple[dict[str, str], list[str]]:
        """Write one page; returns its files with their digests, and the formulas that it shows as source."""


def make(
    site: Maker, names: list[str], jobs: int, package: str, progress: Callable[[int], None]
) -> dict[str, tuple[dict[str, str], list[str]]]:
    """Pages by name, each with its files and the formulas shown as source; in worker processes where that pays.

    Workers declare the claims of `package` themselves, since functions cannot be sent; all else is sent.
    """
    found: dict[str, tuple[dict[str, str], list[str]]] = {}
    if jobs == 1 or len(names) < FEW:
        for name in names:
            found[name] = site.make(name)
            progress(1)
        return found
    # the log of changes is on one page, which is made here
    found = {name: site.make(name) for name in names if name == "changes"}
    progress(len(found))
    with tempfile.TemporaryDirectory() as folder, worker_pool(jobs) as pool:
        sent = Path(folder) / "report"
        report = replace(site.report, claims={})
        about = site.report.provenance  # the state of the repository, asked for once
        sent_along = (type(site), package, list(site.report.claims), report, about, site.folder, site.pdf, site.docs)
        sent.write_bytes(pickle.dumps(sent_along))
        waiting = [
            pool.submit(_made_by_worker, sent, chunk) for chunk in _chunks(name for name in names if name not in found)
        ]
        for task in waiting:
            result = task.result()
            found |= result
            progress(len(result))
    return found


def _chunks(names: Iterable[str]) -> list[list[str]]:
    """Pages of claims in rows of neighbours, after the others, which take longer."""
    every = list(names)
    claims = [name for name in every if name.startswith("claims/")]
    rows = [claims[start : start + TOGETHER] for start in range(0, len(claims), TOGETHER)]
    return [[name] for name in every if not name.startswith("claims/")] + rows


def _made_by_worker(sent: Path, names: list[str]) -> dict[str, tuple[dict[str, str], list[str]]]:
    site = _site_of_worker(sent)
    return {name: site.make(name) for name in names}


@functools.lru_cache(maxsize=1)
def _site_of_worker(sent: Path) -> Maker:
    kind: type[Maker]
    kind, package, ids, report, about, folder, pdf, docs = pickle.loads(sent.read_bytes())
    claims = load(package)
    report = replace(report, claims={claim_id: claims[claim_id] for claim_id in ids})
    vars(report)["provenance"] = about
    return kind(report, folder, pdf=pdf, docs=docs)
