"""Maps of matrices that are applied a symbolic number of times, as functions of their start of which only the slope is known.

What is proved of such an iterate holds of every differentiable map in its place: equal starts have equal values and slopes,
and nothing else is known.  Two iterates are of one map where the count is the same, and the step takes a generic matrix to the
same normal form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.symbols.heads import Size, head
from verify.arithmetics.symbols.sums import Sum, as_built, contract, single

#: The value of an iterate, and its derivative in the start, over the slots of both.
ITERATE, ITERATE_SLOPE = "iterate", "iterate slope"


@dataclass(frozen=True)
class Iteration:
    """`step`, `count` times: `image` is what it makes of a generic matrix, by which steps are told apart.

    The first `rows` slots of the start are those of its rows.
    """

    count: Size
    image: Any
    rows: int
    step: Callable[[Any], Any] = field(compare=False, repr=False)

    def sizes(self, start: Sum) -> tuple[Size, ...]:
        """The sizes of the value: one index for the rows, one for the columns."""
        every = (sympy.Mul(*start.slots[: self.rows]), sympy.Mul(*start.slots[self.rows :]))
        return tuple(size for size in every if size != 1)


@as_built(ITERATE)
def iterate_of(start: Sum, iteration: Iteration) -> Sum:
    """The value at a start, over the index of its rows and that of its columns."""
    sizes = iteration.sizes(start)
    made = head(ITERATE, ITERATE, sizes, (), start, iteration)
    return single(made, range(len(sizes)), sizes)


def slope_of(start: Sum, iteration: Iteration) -> Sum:
    """The derivative in the start, over the indices of the value and the slots of the start."""
    sizes = (*iteration.sizes(start), *start.slots)
    return single(head(ITERATE_SLOPE, ITERATE_SLOPE, sizes, (), start, iteration), range(len(sizes)), sizes)


def along(start: Sum, iteration: Iteration, change: Sum) -> Sum:
    """The slope times a change of the start, whose first slots are those of the start."""
    out, own = len(iteration.sizes(start)), len(start.slots)
    middle, ends = range(out, out + own), range(out + own, out + len(change.slots))
    return contract([(slope_of(start, iteration), range(out + own)), (change, [*middle, *ends])], [*range(out), *ends])


def in_floats(kind: str, iteration: Iteration, count: int, start: np.ndarray) -> np.ndarray:
    """The value or the slope at a start in numbers."""
    import torch

    rows = int(np.prod(start.shape[: iteration.rows], dtype=int))

    def value(entries: Any) -> Any:
        found = entries.reshape(rows, -1)
        for _ in range(count):
            found = iteration.step(found)
        return found

    entries = torch.as_tensor(np.ascontiguousarray(start))
    found = value(entries) if kind == ITERATE else torch.func.jacrev(value)(entries)
    return np.asarray(found.detach())


__all__ = ["ITERATE", "ITERATE_SLOPE", "Iteration", "along", "in_floats", "iterate_of", "slope_of"]
