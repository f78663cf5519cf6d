"""Where the operands stand among the entries of a batch: every place in turn, in batches of several lengths.

An adapter puts a matrix at one place behind leading axes and multiples of it everywhere else, calls a kernel, and takes
the value at that place.  The check moves the place from draw to draw, so that every entry of every axis is compared.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
from typing import Any

from verify.arithmetics import is_tensor
from verify.gate.subject_errors import WrongResult
from verify.vocabulary.contexts import assigned

#: Lengths of leading axes, over and over: unequal ones, so that exchanged axes show, and one entry alone.
LENGTHS = ((2, 3), (3, 1), (1, 2), (1, 1))
#: What the entries beside the operands are multiplied by: no two neighbours alike, none larger than the operands.
MULTIPLES = (-0.5, 0.75, -0.25, 0.625, 0.375)

_number: contextvars.ContextVar[int] = contextvars.ContextVar("place", default=0)


def place(number: int) -> contextlib.AbstractContextManager[int]:
    """Let operands stand at the place `number`, modulo the number of places, inside the block."""
    return assigned(_number, number)


@functools.cache
def places(axes: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of lengths and indices of `axes` leading axes; the last entry of the largest batch is the first."""
    found = []
    for lengths in dict.fromkeys(tuple(pattern[axis % 2] for axis in range(axes)) for pattern in LENGTHS):
        indices = list(itertools.product(*map(range, lengths)))
        found += [(lengths, index) for index in reversed(indices)]
    # neighbours in this order differ in lengths where they can: few draws meet several
    return sorted(found, key=lambda pair: found.index(pair) * 5 % (len(found) + (len(found) % 5 == 0)))


def stacked(value: Any, axes: int) -> Any:
    """A matrix, shape (m, n), at the present place behind `axes` leading axes; other values as they are."""
    if not is_tensor(value) or value.ndim < 2:
        return value
    import torch

    lengths, index = _present(axes)
    every = [
        value if at == index else value * MULTIPLES[number % len(MULTIPLES)]
        for number, at in enumerate(itertools.product(*map(range, lengths)))
    ]
    return torch.stack(every).reshape(*lengths, *value.shape)


def unstacked(value: Any, axes: int) -> Any:
    """The entry at the present place of the leading axes.

    Raises `WrongResult` when the leading axes are not those of the operands.
    """
    lengths, index = _present(axes)
    if tuple(value.shape[:axes]) != lengths:
        raise WrongResult("result", f"leading axes of lengths {lengths}", f"shape {tuple(value.shape)}")
    return value[index]


def _present(axes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    every = places(axes)
    return every[_number.get() % len(every)]
