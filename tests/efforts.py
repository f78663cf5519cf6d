"""What tests try at the effort deep, and the part of it that they try at other efforts.

The claims of a module are about the same definitions, and those of one relation are compared in the same way.  So where a
test looks at every claim, the part is the first claim of every relation in every module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

import pytest

from verify.vocabulary import Claim

T = TypeVar("T", bound="int | Collection[object]")


def is_deep(config: pytest.Config) -> bool:
    """Whether everything is asked for."""
    return bool(config.option.effort == "deep")


def whole_or_part(config: pytest.Config, whole: T, part: T) -> T:
    """The whole at the effort deep, else a part of it: a number that is not larger, or some of its items.

    Raises `ValueError` at any effort if it is no part, or if nothing is in it.
    """
    if isinstance(whole, int) and isinstance(part, int):
        is_part = 0 < part <= whole
    else:
        is_part = bool(part) and all(item in whole for item in part)  # type: ignore[union-attr, operator]
    if not is_part:
        raise ValueError(f"{part!r} is no part of {whole!r}")
    return whole if is_deep(config) else part


def in_part(claims: Iterable[Claim]) -> list[Claim]:
    """The first claim of every relation in every module, in the order of `claims`."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        found.setdefault((claim.module, claim.relation.kind), claim)
    return list(found.values())


def tried(claims: Iterable[Claim], config: pytest.Config) -> list[Claim]:
    """All claims at the effort deep, else the part."""
    return list(claims) if is_deep(config) else in_part(claims)
