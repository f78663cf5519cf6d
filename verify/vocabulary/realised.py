"""What a preparation of inputs declares: which stated conditions it realises, and why it reaches all of each.

    @realises({"Omega is antisymmetric": "it is G - G^T of G = Omega / 2"})
    def antisymmetric(G: Square): ...

A condition is named by words that one assumption of the claim contains.  Where a preparation makes some of the admissible
inputs alone, `but` says which, and why these are enough.  Whether that is so is tested (`verify.checks.preparations`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from verify.vocabulary.errors import RegistryError

F = TypeVar("F", bound=Callable[..., Any])

#: Where a function keeps what it declares.
_DECLARED = "realised"


@dataclass(frozen=True)
class Realised:
    """What a preparation declares.

    Parameters
    ----------
    conditions: why every input that meets a condition is made, by words of the condition.
    but: which admissible inputs are not made, and why the others are enough; empty where all are.
    """

    conditions: Mapping[str, str] = field(default_factory=dict)
    but: str = ""

    def __post_init__(self) -> None:
        if not self.conditions and not self.but:
            raise RegistryError(
                "a preparation declares the conditions that it realises, or what it leaves out; got neither"
            )
        for condition, why in self.conditions.items():
            if not condition.strip() or not why.strip():
                raise RegistryError(f"{condition!r}: a condition is realised for a reason, in words; got {why!r}")

    def of(self, text: str) -> str:
        """The reasons that speak of an assumption with this text; none, an empty text, where no condition is part of it."""
        return "; ".join(why for condition, why in self.conditions.items() if condition in text)


def realises(conditions: Mapping[str, str] | None = None, *, but: str = "") -> Callable[[F], F]:
    """Declare what a preparation realises; returns a decorator that gives the function back as it was.

    Raises `RegistryError` where neither a condition nor an exception is named, or a reason is empty.

    Example: ``@realises({"Omega is antisymmetric": "it is G - G^T of G = Omega / 2"})`` above a preparation.
    """
    declared = Realised(dict(conditions or {}), but)

    def declare(function: F) -> F:
        setattr(function, _DECLARED, declared)
        return function

    return declare


def realised_by(function: Callable[..., Any] | None) -> Realised | None:
    """What a preparation declares, if it does."""
    return getattr(function, _DECLARED, None)
