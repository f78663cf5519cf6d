"""Claims about two functions of one matrix, and what the gate is given to measure on them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Annotated, Any

import torch

from verify.checks.settings import settings_for
from verify.gate.findings import UNCHECKABLE, Finding
from verify.gate.measure import ComparedSides, Sample
from verify.vocabulary import Claim, Equal, Paper, Shape

QUICK = settings_for("quick")
TOYS = Paper("measured", "t", "", "row-major")
_NUMBERS = itertools.count()

Matrix = Annotated[Any, Shape("m", "n")]


def toy(left: Callable[[Any], Any], right: Callable[[Any], Any], relation: Any = None, **given: Any) -> Claim:
    """A claim about two functions of one matrix."""
    claim = Claim(
        TOYS, f"measured.{next(_NUMBERS)}", label="toy", statement="s", relation=relation or Equal(),
        sizes={"m": (1, 3), "n": (1, 3)}, **given,
    )  # fmt: skip

    @claim.formula
    def formula(T: Matrix) -> Any:
        return left(T)

    @claim.oracle
    def oracle(T: Matrix) -> Any:
        return right(T)

    claim.batched = False
    return claim


def finding(check: str = "toy", dtype: str = "float64") -> Finding:
    return Finding(check, "label", dtype, UNCHECKABLE)


def sides(left: Any = None, right: Any = True, bound: bool = False, standing: Any = None) -> Any:
    return ComparedSides(left, right, bound, standing)


def sample(
    residual: float = 1.0, roundings: float = math.inf, unit: float = 1.0, left: Any = (1.0,), **given: Any
) -> Sample:
    left = torch.tensor(left, dtype=torch.float64)
    return Sample(left, left, residual, unit=unit, roundings=roundings, **given)
