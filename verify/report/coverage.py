"""What of a paper is covered: every sentence that asserts something, with the claims that compare it.

The package that declares the claims of a paper may hold a file `coverage.yaml` in the folder of that paper: a list of
rows in the order of the text, each a quotation with the ids of the claims that cover it, with what is missing, or with
the reason why it is no claim.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.evidence.data_files import data_file, read_yaml
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError
from verify.vocabulary.sections import Paper

#: Why a sentence is no claim, and how that is said.
REASONS = {
    "motivation": "says why something is done",
    "definition": "defines a word or an object",
    "notation": "fixes notation",
    "citation": "cites a result that is not used",
    "training": "needs the authors' training runs",
    "experiment": "describes an experiment",
    "outlook": "says what may be done later",
    "repeats": "says again what another sentence says",
    "lost": "is destroyed in our copy of the text",
}
#: What a row is: compared, compared in part, checkable and not compared, no claim.
COVERED, PARTLY, MISSING, NO_CLAIM = STATES = ("covered", "partly", "missing", "no claim")
#: How the page calls them.
STATE_WORDS = {COVERED: "covered", PARTLY: "covered in part", MISSING: "not covered", NO_CLAIM: "no claim"}


@dataclass(frozen=True)
class CoverageRow:
    """One sentence or display of a paper: its first words, and what compares it."""

    quote: str
    label: str = ""  #: of a numbered display or a labelled statement: "(12)", "Lemma B.1"
    claims: tuple[str, ...] = ()
    partly: str = ""  #: what no claim compares
    missing: str = ""  #: what a claim would compare
    reason: str = ""  #: why it is no claim, one of `REASONS`
    note: str = ""

    @property
    def state(self) -> str:
        """One of `STATES`."""
        if self.reason:
            return NO_CLAIM
        return MISSING if self.missing else PARTLY if self.partly else COVERED

    @property
    def remark(self) -> str:
        """What the row says beside its claims."""
        said = (REASONS.get(self.reason, ""), self.missing, self.partly, self.note)
        return "; ".join(text for text in said if text)


def row_of(data: Any, where: str) -> CoverageRow:
    """A row as a file has it; raises `InputError`, which names the place, where it is none."""
    if not isinstance(data, Mapping) or not str(data.get("quote") or "").strip():
        raise InputError(where, "a mapping with a quote", repr(data))
    known = set(CoverageRow.__dataclass_fields__)
    if unknown := sorted(set(data) - known):
        raise InputError(where, f"the keys {', '.join(sorted(known))}", ", ".join(unknown))
    texts = {name: str(value) for name, value in data.items() if name != "claims"}
    row = CoverageRow(claims=tuple(data.get("claims") or ()), **texts)
    if row.reason and row.reason not in REASONS:
        raise InputError(f"{where}, reason", f"one of {', '.join(REASONS)}", repr(row.reason))
    given = [name for name in ("reason", "missing", "partly") if getattr(row, name)]
    if len(given) > 1 or (row.missing and row.claims) or (row.state in (COVERED, PARTLY) and not row.claims):
        raise InputError(where, "claims (and what they leave out), or what is missing, or a reason", repr(dict(data)))
    return row


@dataclass(frozen=True)
class Coverage:
    """The rows of a paper in the order of its text."""

    rows: tuple[CoverageRow, ...]

    @property
    def counts(self) -> Counter[str]:
        """How many rows are in which state."""
        return Counter(row.state for row in self.rows)

    @property
    def checkable(self) -> int:
        """How many rows assert something that can be compared."""
        return len(self.rows) - self.counts[NO_CLAIM]

    @property
    def complete(self) -> bool:
        """Whether every checkable sentence is covered whole."""
        return self.counts[COVERED] == self.checkable


@functools.cache
def read(path: Path) -> Coverage:
    """The coverage file at a path; raises `InputError`, which names the row, where it is no list of rows."""
    data = read_yaml(path)
    if not isinstance(data, list):
        raise InputError(str(path), "a list of rows", type(data).__name__)
    return Coverage(tuple(row_of(item, f"{path}, row {number}") for number, item in enumerate(data, 1)))


def coverage_of(paper: Paper, claims: Mapping[str, Claim]) -> Coverage | None:
    """The coverage of a paper, or None where its package has no such file."""
    for package in sorted({claim.package for claim in claims.values() if claim.paper.key == paper.key}):
        path = data_file(package, f"{paper.key}/coverage.yaml")
        if path.is_file():
            return read(path)
    return None
