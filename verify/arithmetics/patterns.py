"""Patterns of indices: which an operand has, and how those of a result are grouped into axes."""

from __future__ import annotations

import re

from verify.vocabulary.errors import InputError


def groups_of(pattern: str) -> tuple[list[str], list[str]]:
    """The indices of each operand, and those of each axis of the result, of a pattern "il,ij->(i j)(l)"."""
    if not re.fullmatch(r"[a-z]*(,[a-z]*)*->(\([a-z ]*\))*", pattern):
        raise InputError("pattern", 'one like "il,ij->(i j)(l)"', repr(pattern))
    inputs, output = pattern.split("->")
    return inputs.split(","), [group.replace(" ", "") for group in re.findall(r"\(([a-z ]*)\)", output)]
