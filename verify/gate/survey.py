"""What layers of installed libraries satisfy: a list of them, each checked in every precision, and a page of what was found.

The packages that hold definitions declare the layers, `surveyed(...)`; a library that cannot be imported is said to be
absent, and nothing is downloaded.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verify.gate.checking import check
from verify.gate.findings import (
    BROKEN,
    COMPARISONS,
    DEFINITION,
    FIRST,
    FORWARD,
    LEFT_OUT,
    SATISFIED,
    SECOND,
    SubjectReport,
)  # fmt: skip
from verify.vocabulary.errors import InputError
from verify.vocabulary.registry import load

#: Precisions of a survey, and how a report says that a layer computes in less than it is given.
PRECISIONS = ("float64", "float32", "bfloat16")
NARROWER = {"float64": "it computes in float32"}
RAISED = "it raised "
#: How the derivatives are called, in the order of their comparisons.
DERIVATIVES = {FIRST: "first", SECOND: "second", FORWARD: "forward"}


@dataclass(frozen=True)
class Surveyed:
    """A layer of a library, as a subject: `make` imports it, `note` says under which conditions it is compared.

    `convention` says by which convention it is known to differ from the definition, which is no mistake.
    """

    library: str
    layer: str
    subject: str
    make: Callable[[], Any]
    adapter: Any = None
    note: str = ""
    convention: str = ""
    where: Callable[..., Any] | None = None
    sizes: Mapping[str, Any] | None = None
    precisions: tuple[str, ...] = PRECISIONS

    @property
    def key(self) -> tuple[str, str, str]:
        """The first three cells of its row: no two layers have the same."""
        return self.library, self.layer, f"`{self.subject}`"


_layers: list[Surveyed] = []


def surveyed(library: str, layer: str, subject: str, make: Callable[[], Any], **options: Any) -> None:
    """Declare a layer that a survey covers, with the options of `Surveyed`."""
    _layers.append(Surveyed(library, layer, subject, make, **options))


def layers_of(package: str = "theorems", glob: str = "*") -> list[Surveyed]:
    """The layers that `package` declares whose "library: layer" matches; raises `InputError` where none does."""
    import fnmatch

    load(package)
    found = [each for each in _layers if fnmatch.fnmatchcase(f"{each.library}: {each.layer}", glob)]
    if not found:
        raise InputError(
            "layers", f"a glob that matches one of {[f'{e.library}: {e.layer}' for e in _layers]}", repr(glob)
        )
    return found


@dataclass
class SurveyRow:
    """What was found of one layer: its report in each precision, or why there is none."""

    layer: Surveyed
    version: str = ""
    absent: str = ""
    reports: dict[str, SubjectReport] = field(default_factory=dict)
    #: What an earlier page says of the layer, from the column float64 on, and of its deviations, where it is not checked again.
    kept: tuple[str, ...] = ()
    kept_deviations: tuple[str, ...] = ()

    def why(self, dtype: str) -> str:
        """Why the layer is broken in a precision, in words; empty where it is not, or is judged in float32."""
        report = self.reports[dtype]
        broken = report.with_status(BROKEN)
        if not broken or self.is_narrower(dtype):
            return ""
        return "; ".join(report.causes) or broken[0].why or broken[0].accuracy()

    @property
    def deviations(self) -> list[str]:
        """What deviates, in words; a layer that computes in float32 inside is judged in float32."""
        return list(self.kept_deviations) or [
            f"{dtype}: {self.why(dtype)}" for dtype in self.reports if self.why(dtype) and not self.layer.convention
        ]

    def is_narrower(self, dtype: str) -> bool:
        """Whether all that is wrong in `dtype` is that the layer computes in float32."""
        return NARROWER.get(dtype) in self.reports[dtype].causes and "float32" in self.reports

    def accuracy(self, dtype: str) -> str:
        """One cell of the page: how exact the values are, or what stands against it."""
        if self.kept:
            return self.kept[PRECISIONS.index(dtype)]
        if self.absent or dtype not in self.reports:
            return "" if dtype != PRECISIONS[0] else self.absent
        report = self.reports[dtype]
        if report.with_status(BROKEN):
            if RAISED in self.why(dtype):
                return "raises"
            if self.layer.convention:
                return "another convention"
            return "computes in float32" if self.is_narrower(dtype) else "**deviates**"
        own = [f for f in report.findings if f.check == DEFINITION and f.status == SATISFIED]
        if not own:
            return "not checkable"
        ulps = own[0].ulps
        return "satisfied" if ulps is None else f"{ulps:.2g} ulps"

    @property
    def derivatives(self) -> str:
        """Which derivatives agree, and which cannot be had, in the precision in which the layer is judged."""
        if self.kept:
            return self.kept[len(PRECISIONS)]
        report = next((r for d, r in self.reports.items() if d in PRECISIONS[:2] and not r.with_status(BROKEN)), None)
        if report is None:
            return ""
        status = {f.check: f for f in report.findings if f.check in DERIVATIVES}
        agree = [DERIVATIVES[c] for c, f in status.items() if f.status == SATISFIED and not f.is_undecided]
        absent = [DERIVATIVES[c] for c, f in status.items() if f.status == LEFT_OUT or f.is_undecided]
        return "; ".join(filter(None, (", ".join(agree), f"no {', '.join(absent)}" if absent else "")))

    @property
    def theorems(self) -> int:
        """How many theorems hold of it."""
        if self.kept:
            return int(self.kept[-1] or 0)
        reports = [report for report in self.reports.values() if not report.with_status(BROKEN)]
        return max(
            (len([name for name in report.satisfied if name not in COMPARISONS]) for report in reports), default=0
        )


def examine_layer(layer: Surveyed, effort: str = "quick") -> SurveyRow:
    """Check one layer in all its precisions; a library that cannot be imported gives a row that says so."""
    try:
        implementation = layer.make()
        version = importlib.metadata.version(layer.library.replace("_", "-"))
    except Exception as problem:  # whatever an import raises: a missing library, or one built for another torch
        return SurveyRow(
            layer, absent="not installed" if isinstance(problem, ImportError) else f"cannot be imported: {problem}"
        )
    row = SurveyRow(layer, version)
    for dtype in layer.precisions:
        row.reports[dtype] = check(
            layer.subject, implementation, adapter=layer.adapter, dtypes=[dtype], effort=effort,
            where=layer.where, sizes=layer.sizes,
        )  # fmt: skip
    return row


#: What a page says of a layer that was not checked.
NOT_CHECKED = ("not installed", "not run", "cannot be imported")


def rows_of(text: str, layers: Sequence[Surveyed]) -> list[SurveyRow]:
    """The rows of an earlier page, of those of `layers` that it has; each keeps the version it was checked with."""
    versions = dict(re.findall(r"([\w-]+) (\d[^,;\s]*)", text.partition("Versions: ")[2].partition(";")[0]))
    table = {
        cells[:3]: cells[3:]
        for cells in (tuple(line[2:-2].split(" | ")) for line in text.split("\n") if line[:2] == "| ")
    }
    found = []
    for layer in layers:
        if layer.key not in table:
            continue
        cells = tuple(cell.strip() for cell in table[layer.key])
        told = re.findall(rf"^- {re.escape(layer.library)} \S+, {re.escape(layer.layer)}: (.*)\.$", text, re.MULTILINE)
        found.append(
            SurveyRow(layer, versions.get(layer.library, ""), cells[0] if cells[0].startswith(NOT_CHECKED) else "", kept=cells,
                kept_deviations=tuple(told) if any("**" in c or c == "raises" for c in cells) else ())
        )  # fmt: skip
    return found


def page(rows: Sequence[SurveyRow], effort: str) -> str:
    """The survey as a page in Markdown."""
    present = [row for row in rows if not row.absent]
    deviating = [row for row in present if row.deviations]
    other = [row for row in present if row.layer.convention]
    versions = sorted({f"{row.layer.library} {row.version}" for row in present})
    lines = [
        "# What attention layers of libraries satisfy",
        "",
        f"`verify survey` checks {len(rows)} layers at effort {effort}. Installed: {len(present)}. Satisfying their definition: "
        f"{len(present) - len(deviating) - len(other)}; deviating from it: {len(deviating)}; "
        f"following another convention: {len(other)}."
        " A layer that was not checked says why in its row.",
        f"Versions: {', '.join(versions)}; Python {platform.python_version()}, {platform.machine()}. All run on the CPU, with "
        "random weights of small sizes and of those that break blocks; nothing is downloaded.",
        "",
        "**ulps** are the largest error of the values, in eps of the precision times the largest entry, against an enclosure of "
        'the definition at small sizes. "computes in float32" says that a layer rounds to float32 inside, whatever it is given: it '
        'is judged in float32. Derivatives are those that agree with the definition\'s; "no second" says that the layer refuses '
        "them, which is no fault. Theorems are the claims of this project that were decided of the layer, and hold.",
        "",
        "| library | layer | as | float64 | float32 | bfloat16 | derivatives | theorems |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [*row.layer.key, *map(row.accuracy, PRECISIONS)]
        lines.append(f"| {' | '.join(cells)} | {row.derivatives} | {row.theorems or ''} |")
    lines += ["", "## Deviations", ""]
    for row in deviating:
        lines += [f"- {row.layer.library} {row.version}, {row.layer.layer}: {'; '.join(row.deviations)}."]
        lines[-1] += f" {row.layer.note}" if row.layer.note else ""
    lines += ["None."] if not deviating else []
    lines += ["", "## Conventions and conditions", ""]
    lines += [f"- {row.layer.library} {row.version}, {row.layer.layer}: {row.layer.convention}" for row in other]
    notes = dict.fromkeys(
        (row.layer.library, row.layer.note) for row in rows if row.layer.note and row not in deviating
    )
    lines += [f"- {library}: {note}" for library, note in notes]
    return "\n".join([*lines, ""])
