"""Which claims the tests try that look at every claim: at effort deep all of them, else a part that is always the same.

The claims of a module are about the same definitions, and those of one relation are compared in the same way.  So the part
is the first claim of every relation in every module.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from verify.vocabulary import Claim


def in_part(claims: Iterable[Claim]) -> list[Claim]:
    """The first claim of every relation in every module, in the order of `claims`."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        found.setdefault((claim.module, claim.relation.kind), claim)
    return list(found.values())


def tried(claims: Iterable[Claim], config: pytest.Config) -> list[Claim]:
    """All claims at the effort deep, else the part."""
    return list(claims) if config.option.effort == "deep" else in_part(claims)
