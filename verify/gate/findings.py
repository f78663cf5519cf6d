"""What one check of an implementation found, and the report that collects them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verify.gate.errors import SubjectFailure

SATISFIED, BROKEN, UNCHECKABLE, UNREACHED = "satisfied", "broken", "not checkable", "not reached"


@dataclass
class Finding:
    """The outcome of one check in one dtype.

    `residual` is in rounding units of the evaluation, `ulps` in eps times the largest entry (against an enclosure;
    of the definition only).  `inputs`, `yours` and `expected` belong to the shrunk input at which it broke,
    which has so many `entries`.
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
    inputs: Mapping[str, Any] = field(default_factory=dict)
    yours: Any = None
    expected: Any = None

    def accuracy(self) -> str:
        """How far from right it is, or why nothing was measured."""
        parts = [] if self.residual is None else [f"{self.residual:.3g} units"]
        parts += [] if self.ulps is None else [f"{self.ulps:.3g} ulps of the largest entry"]
        parts += [f"at {self.at!r} inputs"] if self.at and self.residual is not None and self.residual > 1 else []
        return ", ".join(parts) + (f"; {self.why}" if parts and self.why else self.why)

    def example(self) -> str:
        """The smallest inputs found at which it breaks, ready to paste, and both values there."""
        first, second = ("yours", "definition") if self.check == "definition" else ("one side", "other side")
        lines = ["at", *(f"  {_as_python(name, value, self.dtype)}" for name, value in self.inputs.items())]
        return "\n".join([*lines, f"{first:11s} {_short(self.yours)}", f"{second:11s} {_short(self.expected)}"])

    def describe(self) -> str:
        """One finding in full."""
        text = f"{self.status}: {self.check} in {self.dtype} ({self.label}): {self.accuracy()}"
        return text + ("\n" + textwrap.indent(self.example(), "  ") if self.inputs else "")


def _as_python(name: str, value: Any, dtype: str) -> str:
    return (
        f"{name} = {value}"
        if isinstance(value, int)
        else f"{name} = torch.tensor({_short(value)}, dtype=torch.{dtype})"
    )


def _short(value: Any, limit: int = 400) -> str:
    text = json.dumps(value)
    return text if len(text) <= limit else text[:limit] + " ..."


@dataclass
class SubjectReport:
    """What an implementation of a subject satisfies, to what accuracy, what it breaks, and why as far as that shows."""

    subject: str
    implementation: str
    findings: list[Finding] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)

    def with_status(self, status: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.status == status]

    @property
    def ok(self) -> bool:
        """Nothing is broken, and something was decided."""
        return not self.with_status(BROKEN) and bool(self.with_status(SATISFIED))

    @property
    def accuracy(self) -> dict[str, float]:
        """The largest error of the values in each dtype, in ulps of the largest entry."""
        return {finding.dtype: finding.ulps for finding in self.findings if finding.ulps is not None}

    @property
    def satisfied(self) -> list[str]:
        """Ids of the claims satisfied in every dtype in which they were checked."""
        claims = dict.fromkeys(finding.check for finding in self.findings if finding.check != "definition")
        return [
            claim
            for claim in claims
            if {finding.status for finding in self.findings if finding.check == claim} == {SATISFIED}
        ]

    @property
    def broken(self) -> list[str]:
        """Ids of the claims broken in some dtype; "definition" for the values themselves."""
        return list(dict.fromkeys(finding.check for finding in self.with_status(BROKEN)))

    def raise_if_broken(self) -> None:
        """Raise `SubjectFailure` with the report as its message unless it is ok."""
        if not self.ok:
            raise SubjectFailure(str(self))

    def __str__(self) -> str:
        lines = [f"{self.subject} implemented by {self.implementation}: {'ok' if self.ok else 'NOT the definition'}"]
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
                if same[0].inputs and (name == "definition") not in shown:
                    shown.add(name == "definition")
                    lines.append(textwrap.indent(same[0].example(), "  "))
        for status in (UNCHECKABLE, UNREACHED):
            found = self.with_status(status)
            for why in dict.fromkeys(finding.why for finding in found):
                names = dict.fromkeys(finding.check for finding in found if finding.why == why)
                lines += [
                    "",
                    f"{status}: {len(names)}, {why}",
                    textwrap.indent(textwrap.fill(", ".join(names), 110), "  "),
                ]
        return "\n".join(lines)
