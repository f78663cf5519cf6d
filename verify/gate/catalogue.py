"""The list of subjects: signature, shapes, layout, dtypes, and the claims that an implementation has to satisfy."""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass

from verify.checks.settings import Settings
from verify.gate.profiles import profile_of
from verify.gate.reach import claims_by_subject
from verify.vocabulary.registry import load
from verify.vocabulary.shapes import Real, Shape, Size
from verify.vocabulary.subjects import definition_of
from verify.vocabulary.subjects import subjects as signatures


@dataclass(frozen=True)
class SubjectCard:
    """What a replacement of a subject has to look like, and what it will be held to."""

    name: str
    signature: str
    summary: str
    shapes: dict[str, str]
    layout: str
    dtypes: tuple[str, ...]
    variants: tuple[str, ...]
    claims: tuple[str, ...]

    def __str__(self) -> str:
        shapes = ", ".join(f"{name} {shape}" for name, shape in self.shapes.items())
        lines = [f"{self.name}{self.signature}", f"  {self.summary}"]
        lines += [f"  shapes   {shapes}"] if shapes else []
        lines += [f"  layout   {self.layout}"] if self.layout else []
        lines += [f"  dtypes   {', '.join(self.dtypes)}", f"  claims   {', '.join(self.claims) or 'none'}"]
        return "\n".join(lines)


def subjects(package: str = "theorems") -> dict[str, SubjectCard]:
    """The definitions of `package` that other implementations can stand in for, by name."""
    load(package)
    held = claims_by_subject(package)
    inside = [name for name in sorted(signatures()) if f"{definition_of(name).__module__}.".startswith(f"{package}.")]
    return {name: _card(name, tuple(claim.id for claim in held.get(name, ()))) for name in inside}


def _card(name: str, claims: tuple[str, ...]) -> SubjectCard:
    definition = definition_of(name)
    profile = profile_of(name)
    parameters = ", ".join(
        parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
        for parameter in inspect.signature(definition).parameters.values()
    )
    summary = (inspect.getdoc(definition) or "").splitlines()
    return SubjectCard(
        name,
        f"({parameters})",
        summary[0] if summary else "",
        _shapes(name),
        profile.layout,
        Settings.dtypes,
        tuple(variant.name for variant in profile.variants),
        claims,
    )


def _shapes(name: str) -> dict[str, str]:
    found = {}
    for parameter, hint in typing.get_type_hints(definition_of(name), include_extras=True).items():
        for spec in getattr(hint, "__metadata__", ()):
            if isinstance(spec, Shape):
                found[parameter] = "(" + ", ".join(spec.dims) + ")"
            elif isinstance(spec, Real):
                found[parameter] = f"number in [{spec.low:g}, {spec.high:g}]"
            elif isinstance(spec, Size):
                found[parameter] = f"integer {spec.name}"
    return found
