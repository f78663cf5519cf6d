"""How many entries the matrices of a formula have, for every size: what it takes to evaluate it at large ones."""

from __future__ import annotations

import contextlib
import contextvars
import math
from collections import Counter
from collections.abc import Callable, Sequence

from verify.arithmetics.symbols.heads import Size
from verify.vocabulary.contexts import assigned

#: The sizes whose product is the number of entries, and those over which a formula runs in a loop.
Extent = tuple[tuple[Size, ...], tuple[Size, ...]]

_noted: contextvars.ContextVar[Counter[Extent] | None] = contextvars.ContextVar("extents", default=None)


def recording_extents() -> contextlib.AbstractContextManager[Counter[Extent]]:
    """Collect the extents of all matrices that are made inside the block, with how often each is."""
    return assigned(_noted, Counter())


def note_extent(slots: Sequence[Size], loops: Sequence[Size]) -> None:
    """Note a matrix with these indices, those of loops included."""
    noted = _noted.get()
    if noted is not None:
        noted[tuple(slots), tuple(loops)] += 1


def note_for_each(slots: Sequence[Size], inside: Counter[Extent]) -> None:
    """Note what was collected in a block once for each entry over `slots`, as derivatives are taken in numbers."""
    noted = _noted.get()
    if noted is not None:
        for (own, loops), count in inside.items():
            noted[(*slots, *own), loops] += count


def work(extents: Counter[Extent], size: Callable[[Size], int]) -> tuple[int, int]:
    """The number of entries of all matrices at these sizes, and the number of matrices."""
    entries = loops = 0
    for (own, over), count in extents.items():
        entries += count * math.prod(map(size, own))
        loops += count * math.prod(map(size, over))
    return entries, loops
