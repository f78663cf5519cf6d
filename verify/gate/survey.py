"""What layers of installed libraries satisfy: a list of them, each checked in every precision, and a page of what was found.

The packages that hold definitions declare the layers, `surveyed(...)`; a library that cannot be imported is said to be
absent, and nothing is downloaded.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
    """What was found of one layer: its reports in each precision, by seed, or why there is none.

    What a row says holds at all its seeds: an error is the largest, and one seed at which the layer is broken is enough.
    """

    layer: Surveyed
    version: str = ""
    torch: str = ""  #: the version of torch beside which it was checked, its own where torch computes the layer
    absent: str = ""
    reports: dict[str, dict[int, SubjectReport]] = field(default_factory=dict)
    #: What an earlier page says of the layer, by column, and of its deviations, where it is not checked again.
    kept: Mapping[str, str] = field(default_factory=dict)
    kept_deviations: str = ""

    def check_at(self, seed: int, effort: str = "quick") -> None:
        """Check the layer in all its precisions at one seed more; one that cannot be imported is said to be absent."""
        try:
            implementation = self.layer.make()
            self.version = importlib.metadata.version(self.layer.library.replace("_", "-"))
            self.torch = importlib.metadata.version("torch")
        except Exception as problem:  # whatever an import raises: a missing library, or one built for another torch
            own = getattr(problem, "name", None) in (None, self.layer.library)  # or one that the library needs
            missing = own and isinstance(problem, ImportError)
            self.absent = "not installed" if missing else f"cannot be imported: {str(problem).partition(chr(10))[0]}"
            return
        for dtype in self.layer.precisions:
            self.reports.setdefault(dtype, {})[seed] = check(
                self.layer.subject, implementation, adapter=self.layer.adapter, dtypes=[dtype], effort=effort,
                where=self.layer.where, sizes=self.layer.sizes, seed=seed,
            )  # fmt: skip

    @property
    def seeds(self) -> str:
        """At which seeds the layer was checked, in words."""
        return self.kept.get("seeds", in_words({seed for found in self.reports.values() for seed in found}))

    def why(self, dtype: str) -> dict[str, list[int]]:
        """Why the layer is broken in a precision, in words, and at which seeds; it may be judged in float32 instead."""
        found: dict[str, list[int]] = {}
        for seed, report in self.reports[dtype].items():
            broken = report.with_status(BROKEN)
            if broken and not self._is_narrower(dtype, report):
                why = "; ".join(report.causes) or broken[0].why or broken[0].accuracy()
                found.setdefault(why, []).append(seed)
        return found

    @property
    def deviations(self) -> str:
        """What deviates, in words; a layer that computes in float32 inside is judged in float32."""
        if self.kept or self.layer.convention:
            return self.kept_deviations
        told = []
        for dtype, found in self.reports.items():
            for why, seeds in self.why(dtype).items():
                where = "" if len(seeds) == len(found) else f" at seed{'s' * (len(seeds) > 1)} {in_words(seeds)}"
                told.append(f"{dtype}{where}: {why}")
        return "; ".join(told)

    def _is_narrower(self, dtype: str, report: SubjectReport) -> bool:
        """Whether all that is wrong in `dtype` is that the layer computes in float32."""
        return NARROWER.get(dtype) in report.causes and "float32" in self.reports

    def accuracy(self, dtype: str) -> str:
        """One cell of the page: how exact the values are at worst, or what stands against it."""
        if self.kept:
            return self.kept[dtype]
        if self.absent or dtype not in self.reports:
            return "" if dtype != PRECISIONS[0] else self.absent
        if why := self.why(dtype):
            if all(RAISED in text for text in why):
                return "raises"
            return "another convention" if self.layer.convention else "**deviates**"
        if any(report.with_status(BROKEN) for report in self.reports[dtype].values()):
            return "computes in float32"
        own = [
            [f.ulps for f in report.findings if f.check == DEFINITION and f.status == SATISFIED]
            for report in self.reports[dtype].values()
        ]
        if not all(own):
            return "not checkable"
        ulps = [each for found in own for each in found if each is not None]
        return f"{max(ulps):.2g} ulps" if ulps else "satisfied"

    def _unbroken(self, precisions: Sequence[str]) -> Iterator[list[SubjectReport]]:
        """The reports at all seeds, of each of the precisions in which none of them is broken."""
        for dtype in precisions:
            reports = list(self.reports.get(dtype, {}).values())
            if reports and not any(report.with_status(BROKEN) for report in reports):
                yield reports

    @property
    def derivatives(self) -> str:
        """Which derivatives agree, and which cannot be had, in the precision in which the layer is judged."""
        if self.kept:
            return self.kept["derivatives"]
        reports = next(self._unbroken(PRECISIONS[:2]), [])
        agree, absent = [], []
        for check_name, title in DERIVATIVES.items():
            found = [f for report in reports for f in report.findings if f.check == check_name]
            if any(f.status == LEFT_OUT or f.is_undecided for f in found):
                absent.append(title)
            elif found and all(f.status == SATISFIED for f in found):
                agree.append(title)
        return "; ".join(filter(None, (", ".join(agree), f"no {', '.join(absent)}" if absent else "")))

    @property
    def theorems(self) -> int:
        """How many theorems hold of it at every seed."""
        if self.kept:
            return int(self.kept["theorems"] or 0)
        held = (set.intersection(*(set(each.satisfied) for each in reports)) for reports in self._unbroken(PRECISIONS))
        return max((len(names - {*COMPARISONS}) for names in held), default=0)

    @property
    def cells(self) -> tuple[str, ...]:
        """Its cells on the page, one for each of `COLUMNS`."""
        accuracies = map(self.accuracy, PRECISIONS)
        versions = (self.version, self.torch) if self.seeds else ("", "")
        return *self.layer.key, *accuracies, self.derivatives, str(self.theorems or ""), *versions, self.seeds


#: The columns of a page.
COLUMNS = ("library", "layer", "as", *PRECISIONS, "derivatives", "theorems", "version", "torch", "seeds")


def in_words(seeds: Collection[int]) -> str:
    """Seeds as a page names them: "0 to 9" where none between is missing, else "0, 2, 5"."""
    known = sorted(seeds)
    if len(known) > 1 and known == list(range(known[0], known[-1] + 1)):
        return f"{known[0]} to {known[-1]}"
    return ", ".join(map(str, known))


def examine_layer(layer: Surveyed, effort: str = "quick", seeds: Iterable[int] = (0,)) -> SurveyRow:
    """Check one layer in all its precisions at each of the seeds; a library that cannot be imported gives a row that says so."""
    row = SurveyRow(layer)
    for seed in seeds:
        row.check_at(seed, effort)
    return row


#: What a page says of a layer that was not checked.
NOT_CHECKED = ("not installed", "not run", "cannot be imported")


def rows_of(text: str, layers: Sequence[Surveyed]) -> list[SurveyRow]:
    """The rows of an earlier page with the same columns, of those of `layers` that it has, each as it was checked then."""
    split = [tuple(cell.strip() for cell in line[2:-2].split(" | ")) for line in text.split("\n") if line[:2] == "| "]
    table = {cells[:3]: dict(zip(COLUMNS, cells, strict=True)) for cells in split if len(cells) == len(COLUMNS)}
    found = []
    for layer in layers:
        if (kept := table.get(layer.key)) is None:
            continue
        row = SurveyRow(layer, kept["version"], kept["torch"], kept=kept)
        row.absent = kept[PRECISIONS[0]] if kept[PRECISIONS[0]].startswith(NOT_CHECKED) else ""
        told = re.search(rf"^{re.escape(_named(row))}: (.*)\.$", text.partition("## Conv")[0], re.MULTILINE)
        row.kept_deviations = told[1].removesuffix(f". {layer.note.removesuffix('.')}") if told else ""
        found.append(row)
    return found


def merged(text: str, layers: Sequence[Surveyed], rows: Iterable[SurveyRow]) -> list[SurveyRow]:
    """The rows of an earlier page of `layers`, with those of `rows` that were checked in the place of theirs.

    A layer that cannot be imported here may have been checked elsewhere, beside another torch say: that row stays.
    """
    found = {row.layer.key: row for row in rows_of(text, layers)}
    for row in rows:
        earlier = found.get(row.layer.key)
        if row.seeds or (row.absent and (earlier is None or earlier.absent)):
            found[row.layer.key] = row
    return [found[layer.key] for layer in layers if layer.key in found]


def _named(row: SurveyRow) -> str:
    """How the lists of a page name a layer."""
    return f"- {row.layer.library} {row.version}, {row.layer.layer}, as `{row.layer.subject}`"


def _at_seeds(rows: Sequence[SurveyRow]) -> str:
    """At which seeds all layers of a page were checked, as a sentence."""
    seeds = {row.seeds for row in rows}
    if len(seeds) != 1:
        return "Each layer was checked at the seeds that its row names: what a row says holds at all of them."
    (all_of_them,) = seeds
    if all_of_them.isdecimal():
        return f"Every layer was checked at seed {all_of_them}."
    return f"Every layer was checked at the seeds {all_of_them}: what a row says holds at all of them."


def page(rows: Sequence[SurveyRow], effort: str) -> str:
    """The survey as a page in Markdown."""
    present = [row for row in rows if not row.absent]
    deviating = [row for row in present if row.deviations]
    other = [row for row in present if row.layer.convention]
    versions = sorted(
        {f"{row.layer.library} {row.version}" for row in present} | {f"torch {row.torch}" for row in present}
    )
    lines = [
        "# What attention layers of libraries satisfy",
        "",
        f"`verify survey` checks {len(rows)} layers at effort {effort}. Installed: {len(present)}. Satisfying their definition: "
        f"{len(present) - len(deviating) - len(other)}; deviating from it: {len(deviating)}; "
        f"following another convention: {len(other)}."
        " A layer that was not checked says why in its row."
        f" {_at_seeds(present)}",
        f"Versions: {', '.join(versions)}; Python {platform.python_version()}, {platform.machine()}. The "
        "column torch says beside which version of torch a layer was checked. All run on the CPU, with "
        "random weights of small sizes and of those that break blocks; nothing is downloaded.",
        "",
        "**ulps** are the largest error of the values at any of the seeds, in eps of the precision times the largest entry, "
        'against an enclosure of the definition at small sizes. "computes in float32" says that a layer rounds to float32 inside, '
        "whatever it is given: it is judged in float32. Derivatives are those that agree with the definition's; "
        '"no second" says that the layer refuses them, which is no fault. Theorems are the claims of this project that were '
        "decided of the layer, and hold.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'---|' * len(COLUMNS)}",
        *(f"| {' | '.join(row.cells)} |" for row in rows),
    ]
    lines += ["", "## Deviations", ""]
    for row in deviating:
        lines += [f"{_named(row)}: {row.deviations}."]
        lines[-1] += f" {row.layer.note}" if row.layer.note else ""
    lines += ["None."] if not deviating else []
    lines += ["", "## Conventions and conditions", ""]
    lines += [f"{_named(row)}: {row.layer.convention}" for row in other]
    notes = dict.fromkeys(
        (row.layer.library, row.layer.note) for row in rows if row.layer.note and row not in deviating
    )
    lines += [f"- {library}: {note}" for library, note in notes]
    return "\n".join([*lines, ""])
