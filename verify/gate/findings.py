"""What one check of an implementation found, and the report that collects them."""

from __future__ import annotations

import fnmatch
import json
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from verify.evidence.store import as_json
from verify.gate.subject_errors import SubjectFailure

#: Checks that are no claims: the values, and other comparisons of the implementation with the definition.
DEFINITION, FIRST, SECOND, FORWARD, SIZES, LONG, BIAS, LAW, REPEATED = (
    "definition", "first-derivatives", "second-derivatives", "forward-derivatives", "sizes", "long-sequences", "bias",
    "law", "repeated-calls",
)  # fmt: skip
COMPARISONS = {
    FIRST: "derivatives in every tensor argument, and where some need none, beside those of the definition",
    SECOND: "second derivatives in every tensor argument, beside those of the definition",
    FORWARD: "derivatives in forward mode along drawn directions, beside those of the definition",
    SIZES: "values and first derivatives at sizes that break blocks, at extreme tokens, in other layouts of memory",
    LONG: "a few rows and their derivatives at many tokens",
    BIAS: "in half precision, the mean of the signed error of values and first derivatives",
    REPEATED: "thousands of calls at the same arguments, beside the first",
    LAW: "its samples at larger sizes, beside those of the definition",
}
#: How the reasons begin why derivatives are undecided.
NOT_DIFFERENTIABLE = "not differentiable"

SATISFIED, BROKEN, UNCHECKABLE, UNREACHED, LEFT_OUT = (
    "satisfied", "broken", "not checkable", "not reached", "left out",
)  # fmt: skip
#: What a whole report comes to.
OK, NOT_OK, UNDECIDED = "ok", "broken", "undecided"


@dataclass
class Finding:
    """The outcome of one check in one dtype.

    `residual` is in rounding units of the evaluation, `ulps` in eps times the largest entry (against an enclosure;
    of the definition only).  `inputs`, `yours` and `expected` belong to the shrunk input at which it broke,
    which has so many `entries`, and was prepared from what was `drawn`; `calls` counts those of the implementation.
    """

    check: str
    label: str
    dtype: str
    status: str
    why: str = ""
    residual: float | None = None
    ulps: float | None = None
    at: str = ""
    examples: int = 0
    entries: int = 0
    calls: int = 0
    inputs: Mapping[str, Any] = field(default_factory=dict)
    drawn: Mapping[str, Any] = field(default_factory=dict, repr=False)
    yours: Any = None
    expected: Any = None

    @property
    def is_undecided(self) -> bool:
        """Whether the check could not be made, or derivatives were left out of it.

        What was left out by choice, of sizes or of an effort, was not asked, and is not undecided.
        """
        return self.status == UNCHECKABLE or (self.status == SATISFIED and NOT_DIFFERENTIABLE in self.why)

    @property
    def says_nothing(self) -> bool:
        """Whether it decides nothing, for whatever reason: that is not enough of a check that is required."""
        return self.is_undecided or self.status in (UNREACHED, LEFT_OUT)

    def is_among(self, globs: tuple[str, ...]) -> bool:
        """Whether it is meant: "derivatives" stands for those that are not there, other words are globs of checks."""
        absent = NOT_DIFFERENTIABLE in self.why or (self.check == FORWARD and self.status == LEFT_OUT)
        return any(absent if glob == "derivatives" else fnmatch.fnmatchcase(self.check, glob) for glob in globs)

    def accuracy(self) -> str:
        """How far from right it is, or why nothing was measured."""
        parts = [] if self.residual is None else [f"{self.residual:.3g} units"]
        parts += [] if self.ulps is None else [f"{self.ulps:.3g} ulps of the largest entry"]
        parts += [f"at {self.at!r} inputs"] if self.at and self.residual is not None and self.residual > 1 else []
        return ", ".join(parts) + (f"; {self.why}" if parts and self.why else self.why)

    def example(self) -> str:
        """The smallest inputs found at which it breaks, ready to paste, and both values there."""
        own = self.check in (DEFINITION, *COMPARISONS)
        first, second = ("yours", "definition") if own else ("one side", "other side")
        lines = ["at", *(f"  {_as_python(name, value, self.dtype)}" for name, value in self.inputs.items())]
        return "\n".join([*lines, f"{first:11s} {_short(self.yours)}", f"{second:11s} {_short(self.expected)}"])

    def describe(self) -> str:
        """One finding in full."""
        text = f"{self.status}: {self.check} in {self.dtype} ({self.label}): {self.accuracy()}"
        return text + ("\n" + textwrap.indent(self.example(), "  ") if self.inputs else "")


def _some(names: list[str], shown: int = 3) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def _as_python(name: str, value: Any, dtype: str) -> str:
    if isinstance(value, (int, float)):
        return f"{name} = {value}"
    first = value
    while isinstance(first, list) and first:
        first = first[0]
    return f"{name} = torch.tensor({_short(value)}, dtype=torch.{'bool' if isinstance(first, bool) else dtype})"


def _short(value: Any, limit: int = 400) -> str:
    text = json.dumps(value).replace("true", "True").replace("false", "False")
    return text if len(text) <= limit else text[:limit] + " ..."


@dataclass
class SubjectReport:
    """What an implementation of a subject satisfies, to what accuracy, what it breaks, and why as far as that shows."""

    subject: str
    implementation: str
    findings: list[Finding] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    required: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    kernels: Mapping[str, int] = field(default_factory=dict)
    not_exercised: tuple[str, ...] = ()

    def with_status(self, status: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.status == status]

    @property
    def outcome(self) -> str:
        """ "ok", "broken" (also where something required is undecided), or "undecided", which is neither."""
        if self.with_status(BROKEN) or self.missing:
            return NOT_OK
        return OK if self.with_status(SATISFIED) and not self.open else UNDECIDED

    @property
    def ok(self) -> bool:
        """Nothing is broken, and everything was decided but for what may stay undecided."""
        return self.outcome == OK

    @property
    def undecided(self) -> list[str]:
        """Names of the checks that could not be decided in some dtype."""
        return list(dict.fromkeys(finding.check for finding in self.findings if finding.is_undecided))

    @property
    def missing(self) -> list[str]:
        """Names of the checks that were required and not decided, those that were left out or not reached among them."""
        missing = (finding for finding in self.findings if finding.says_nothing and finding.is_among(self.required))
        return list(dict.fromkeys(finding.check for finding in missing))

    @property
    def open(self) -> list[str]:
        """Names of the checks that could not be decided, and may not stay so."""
        found = (finding for finding in self.findings if finding.is_undecided and not finding.is_among(self.accepted))
        return list(dict.fromkeys(finding.check for finding in found))

    @property
    def verdict(self) -> str:
        """In a few words; "ok" alone only where everything was decided."""
        if self.with_status(BROKEN):
            return "NOT the definition"
        if self.missing:
            return f"NOT decided, though required: {_some(self.missing)}"
        if self.outcome == UNDECIDED:
            return (
                f"UNDECIDED: {len(self.open)} not decided, {_some(self.open)}; nothing is broken"
                if self.open
                else ("UNDECIDED: no check was made")
            )
        if self.undecided:
            return f"ok, with {len(self.undecided)} accepted as undecided: {_some(self.undecided)}"
        return "ok"

    @property
    def accuracy(self) -> dict[str, float]:
        """The largest error of the values in each dtype, in ulps of the largest entry."""
        return {finding.dtype: finding.ulps for finding in self.findings if finding.ulps is not None}

    @property
    def satisfied(self) -> list[str]:
        """Ids of the claims satisfied in every dtype in which they were checked."""
        claims = dict.fromkeys(
            finding.check for finding in self.findings if finding.check not in (DEFINITION, *COMPARISONS)
        )
        return [
            claim
            for claim in claims
            if {finding.status for finding in self.findings if finding.check == claim} == {SATISFIED}
        ]

    @property
    def broken(self) -> list[str]:
        """Ids of the claims broken in some dtype; "definition" for the values themselves."""
        return list(dict.fromkeys(finding.check for finding in self.with_status(BROKEN)))

    def __bool__(self) -> bool:
        """Whether it is ok, so that ``assert verify.check(...)`` fails where it is not."""
        return self.ok

    def raise_if_broken(self) -> None:
        """Raise `SubjectFailure` with the report as its message if it is broken, or nothing at all was decided."""
        if self.outcome == NOT_OK or not self.with_status(SATISFIED):
            raise SubjectFailure(str(self))

    def raise_unless_ok(self) -> None:
        """Raise `SubjectFailure` with the report as its message unless it is ok: undecided is not ok."""
        if not self.ok:
            raise SubjectFailure(str(self))

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it; numbers that are not finite are text."""
        return {
            "subject": self.subject,
            "implementation": self.implementation,
            "outcome": self.outcome,
            "verdict": self.verdict,
            "causes": self.causes,
            "broken": self.broken,
            "undecided": self.undecided,
            "kernels": dict(self.kernels),
            "not_exercised": list(self.not_exercised),
            "findings": [as_json(asdict(finding)) for finding in self.findings],
        }

    def __str__(self) -> str:
        lines = [f"{self.subject} implemented by {self.implementation}: {self.verdict}"]
        lines += [f"  likely cause: {cause}" for cause in self.causes]
        shown: set[bool] = set()
        for status in (BROKEN, SATISFIED):
            found = self.with_status(status)
            lines += ["", f"{status}: {len(dict.fromkeys(finding.check for finding in found))}"] if found else []
            for name in dict.fromkeys(finding.check for finding in found):
                same = [finding for finding in found if finding.check == name]
                numbers = ", ".join(f"{finding.dtype} {finding.accuracy()}" for finding in same)
                lines.append(f"  {name}  ({same[0].label})  {numbers}")
                # the values and one theorem in full are what a person looks at
                if same[0].inputs and (name == DEFINITION) not in shown:
                    shown.add(name == DEFINITION)
                    lines.append(textwrap.indent(same[0].example(), "  "))
        if self.kernels:
            calls = ", ".join(f"{name} {count} times" for name, count in sorted(self.kernels.items()))
            lines += ["", f"kernels that ran: {calls}"]
        for status in (UNCHECKABLE, UNREACHED, LEFT_OUT):
            found = self.with_status(status)
            for why in dict.fromkeys(finding.why for finding in found):
                names = dict.fromkeys(finding.check for finding in found if finding.why == why)
                lines += [
                    "",
                    f"{status}: {len(names)}, {why}",
                    textwrap.indent(textwrap.fill(", ".join(names), 110), "  "),
                ]
        if self.not_exercised:
            lines += ["", f"not exercised: {'; '.join(self.not_exercised)}"]
        return "\n".join(lines)
