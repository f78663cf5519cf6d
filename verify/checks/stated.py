"""Whether the statement of a claim holds at inputs that meet its tested assumptions and nothing else.

The claim's own preparation does not make these inputs (`broken_as_stated`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verify.checks.evaluation import raw_tensors
from verify.checks.free_inputs import SMALL, certainly_broken, excess, free, masks_of, met, moved
from verify.checks.record import UNCERTIFIED, UPHELD, VIOLATED, Record, blank
from verify.checks.settings import Settings
from verify.inputs.generators import systematic
from verify.vocabulary.assumptions import Assumption
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import AtMost, Equal, HasStructure

#: Above so many free entries one point is tried: there the search for it is what takes the time.
MANY = 48
#: What lies above this, relative to both sides and the floor, is no rounding of double precision at inputs of order one.
CLEAR = 1e-5


@dataclass(frozen=True)
class Broken:
    """Inputs that meet every tested assumption of a claim, at which its statement fails."""

    claim: str
    inputs: Mapping[str, Any]
    excess: float  #: by how much, relative to both sides

    def __str__(self) -> str:
        shown = ", ".join(f"{name} = {_shown(value)}" for name, value in self.inputs.items())
        return f"{self.claim}: the tested assumptions hold, the statement does not (off by {self.excess:.2g}): {shown}"


def _shown(value: Any) -> str:
    return str(value.tolist() if hasattr(value, "tolist") else value)


@dataclass(frozen=True)
class Freed:
    """What a search at free inputs saw: how many points met the conditions and were compared, and what broke."""

    compared: int
    broken: Broken | None


def broken_as_stated(claim: Claim, settings: Settings, count: int) -> Freed:
    """Look for inputs that meet the tested assumptions and nothing else, and break the statement.

    Inputs have the shapes that the claim's preparation gives them, and values that it does not choose.  Equations among
    the assumptions are met by Newton's method from there, inequalities by a penalty.  Where it converges from no free
    values, it starts at prepared ones that are moved a little.
    """
    import torch

    compared, worst = 0, None
    masks = masks_of(claim)
    for draw in systematic(claim, count, settings.seed):
        raw = {
            name: value if isinstance(value, int) else value[0]
            for name, value in raw_tensors(claim, draw.arrays(claim, 1), settings, "float64").items()
        }
        if compared and sum(value.numel() for value in raw.values() if isinstance(value, torch.Tensor)) > MANY:
            continue
        generator = torch.Generator().manual_seed(draw.seed % 2**31)
        prepared = claim.prepare(raw)
        found = met(claim, free(prepared, masks, generator), masks)
        if found is None and not compared:
            found = met(claim, moved(prepared, masks, generator), masks, SMALL)
        off = None if found is None else excess(claim, found)
        if found is None or off is None or (off > CLEAR and not certainly_broken(claim, found)):
            continue
        compared += 1
        if off > CLEAR and (worst is None or off > worst.excess):
            worst = Broken(claim.id, found, off)
    return Freed(compared, worst)


def comparable(claim: Claim) -> bool:
    """Whether the statement of a claim can be tried at free inputs.

    It is expected to hold, entry by entry, and none of its assumptions is words alone, which free inputs need not meet.
    """
    words_alone = any(
        isinstance(item, str) or (isinstance(item, Assumption) and not item.tested) for item in claim.assumptions
    )
    holds = claim.expects in ("holds", "reading", "gap")
    return isinstance(claim.relation, (Equal, HasStructure, AtMost)) and holds and not words_alone


def as_stated(claim: Claim, settings: Settings) -> Record:
    """The search at free inputs as a check; where no input met the conditions nothing is upheld."""
    freed = broken_as_stated(claim, settings, settings.effort.enclosed)
    if not freed.compared:
        missed = "no inputs were found that meet the stated conditions: nothing was compared"
        return blank(claim, "as stated", "float64", UNCERTIFIED, examples=settings.effort.enclosed, message=missed)
    return blank(
        claim,
        "as stated",
        "float64",
        UPHELD if freed.broken is None else VIOLATED,
        examples=settings.effort.enclosed,
        satisfied=freed.compared,
        message="" if freed.broken is None else str(freed.broken),
    )
