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

from verify.arithmetics.symbols.head_kinds import head_kind
from verify.arithmetics.symbols.heads import Head, Size, head
from verify.arithmetics.symbols.sums import Sum, as_built, contract, sum_of_head
from verify.arithmetics.tracing import handed_over

#: The value of an iterate, and its derivative in the start, over the slots of both.
ITERATE, ITERATE_SLOPE = "iterate", "iterate slope"
#: The generic matrix to which a step is applied once: no input and no variable has this name.
GENERIC = "iterate~generic"
#: How an iterate of M R was built that is that of M, times R.
COMMUTED = "commuted iterate"


@dataclass(frozen=True)
class Iteration:
    """`step`, `count` times: `image`, what it makes of the tensor `GENERIC`, by its key tells steps apart.

    The first `rows` slots of the start are those of its rows.  `keeps` says that Z^T S and Z S^T stay symmetric in each step,
    for the start S.
    """

    count: Size
    image: Any
    rows: int
    step: Callable[[Any], Any] = field(compare=False, repr=False)
    keeps: bool = field(compare=False, default=False)

    @property
    def generic_image(self) -> Sum:
        """What a step makes of the tensor `GENERIC`."""
        slots, terms = self.image
        return Sum(slots, dict(terms))

    def sizes(self, start: Sum) -> tuple[Size, ...]:
        """The sizes of the value: one index for the rows, one for the columns."""
        every = (sympy.Mul(*start.slots[: self.rows]), sympy.Mul(*start.slots[self.rows :]))
        return tuple(size for size in every if size != 1)


@as_built(ITERATE)
def iterate_of(start: Sum, iteration: Iteration) -> Sum:
    """The value at a start, over the index of its rows and that of its columns."""
    return sum_of_head(head(ITERATE, ITERATE, iteration.sizes(start), (), start, iteration))


@as_built(COMMUTED)
def commuted_iterate(start: Sum, iteration: Iteration, rest: Sum, factor: Sum) -> Sum:
    """The value at a start M R, of which `rest` is the value at M, and `factor` is R."""
    return contract([(rest, (0, 2)), (factor, (2, 1))], (0, 1))


def slope_of(start: Sum, iteration: Iteration) -> Sum:
    """The derivative in the start, over the indices of the value and the slots of the start."""
    sizes = (*iteration.sizes(start), *start.slots)
    return sum_of_head(head(ITERATE_SLOPE, ITERATE_SLOPE, sizes, (), start, iteration))


def _along(made: Head, change: Sum) -> Sum:
    """The slope times a change of the start, whose first slots are those of the start."""
    out, own = len(made.sizes), len(made.inner.slots)
    middle, ends = range(out, out + own), range(out + own, out + len(change.slots))
    slope = slope_of(made.inner, made.parameter)
    return contract([(slope, range(out + own)), (change, [*middle, *ends])], [*range(out), *ends])


def _values(made: Head, point: Any) -> np.ndarray:
    """The value in numbers."""
    found = point.values(made.inner)
    for _ in range(point.size(made.parameter.count)):
        found = point.at({GENERIC: found}).values(made.parameter.generic_image)
    return np.asarray(found)


def _slope(made: Head, point: Any) -> np.ndarray:
    """The slope at a start in numbers."""
    import torch

    start, iteration = point.values(made.inner), made.parameter
    rows, step = int(np.prod(start.shape[: iteration.rows], dtype=int)), handed_over(iteration.step)

    def value(entries: Any) -> Any:
        found = entries.reshape(rows, -1)
        for _ in range(point.size(iteration.count)):
            found = step(found)
        return found

    return np.asarray(torch.func.jacrev(value)(torch.as_tensor(np.ascontiguousarray(start))).detach())


head_kind(ITERATE, values=_values, again=iterate_of, along=_along)
head_kind(ITERATE_SLOPE, values=_slope, again=slope_of, title="second derivative of an iterate")
