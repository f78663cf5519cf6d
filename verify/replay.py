"""Evaluate both sides of a claim at given inputs, in balls: what a failing check asks you to paste."""

from __future__ import annotations

from typing import Any

import numpy as np

from verify.registry import load
from verify.relations.base import exact_text
from verify.residuals import as_balls, at_objects, satisfies


def replay(claim_id: str, package: str = "theorems", **drawn: Any) -> dict[str, Any]:
    """Both sides at drawn parameters (nested lists of numbers, by name), printed and returned as enclosures.

    Raises `verify.errors.InputError` for an unknown claim id.
    """
    claim = load(package)[claim_id]
    raw = as_balls(
        {name: value if isinstance(value, int) else np.asarray(value, dtype=float) for name, value in drawn.items()}
    )
    sides = {"formula": at_objects(claim, claim.the_formula, raw)}
    if claim.has_oracle:
        sides["oracle"] = at_objects(claim, claim.the_oracle, raw)
    result: dict[str, Any] = {name: [exact_text(entry) for entry in value] for name, value in sides.items()}
    result["assumptions hold"] = satisfies(claim, claim.prepare(raw))
    print(f"{claim.label} [{claim.id}]")
    for name, value in result.items():
        print(f"  {name}: {value}")
    return result
