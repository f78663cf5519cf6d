"""Matrices for each value of a summation index: what a list of matrices is for sizes that are numbers."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import sympy

from verify.arithmetics.formal import Formal, register_forms
from verify.arithmetics.symbols.blocks import Blocks
from verify.arithmetics.symbols.indexed import Indexed, identity, lifted
from verify.arithmetics.symbols.sizes import size_of
from verify.arithmetics.symbols.summation import SummationIndex
from verify.arithmetics.symbols.sums import contract
from verify.vocabulary.errors import ArithmeticUnsupported, InputError


class IndexedFamily(Formal):
    """A matrix for each value of a summation index: what a list of matrices is for sizes that are numbers."""

    is_family = True

    def __init__(self, index: SummationIndex, entry: Indexed) -> None:
        self.index, self.entry = index, entry

    def __iter__(self) -> Any:
        raise ArithmeticUnsupported(f"a loop over {self.index.size} matrices of shape {self.entry.dims}")

    def __getitem__(self, item: Any) -> Indexed:
        if isinstance(item, int) and item == 0:
            return over(self.entry * identity(self.index.size)[0, self.index], self.index)
        if not isinstance(item, SummationIndex):
            raise ArithmeticUnsupported(f"the entry {item!r} of {self.index.size} matrices")
        if item.size != self.index.size:
            raise InputError("index", f"one of size {self.index.size}", f"one of size {item.size}")
        return renamed(self.entry, self.index, item)

    def __repr__(self) -> str:
        return f"Family({self.index.size} of shape {self.entry.dims})"


def renamed(operand: Indexed, old: SummationIndex, new: SummationIndex) -> Indexed:
    """The operand with one summation index in place of another."""
    if old is new or not any(index is old for index in operand.bound):
        return operand
    start, count = sum(operand.axes), len(operand.value.slots)
    labels = {index.number: start + k for k, index in enumerate(operand.bound)}
    moved = [labels.get(new.number, start + k) if index is old else start + k for k, index in enumerate(operand.bound)]
    kept = {(new if index is old else index).number: label for index, label in zip(operand.bound, moved, strict=True)}
    indices = {index.number: index for index in (*operand.bound, new)}
    order = sorted(kept)
    value = contract([(operand.value, [*range(start), *moved])], [*range(start), *(kept[number] for number in order)])
    assert count == start + len(moved)
    return Indexed(value, operand.axes, [indices[number] for number in order])


# -- the primitives that take families ---------------------------------------------------------------------------------


def mapped(function: Callable[..., Any], *families: Any) -> Any:
    """A function of the matrices of one or several families, or lists."""
    if not any(isinstance(family, IndexedFamily) for family in families):
        return [function(*matrices) for matrices in zip(*families, strict=True)]
    if not all(isinstance(family, IndexedFamily) for family in families):
        raise ArithmeticUnsupported("a function of families and of lists together")
    index = SummationIndex(families[0].index.size)  # of its own: the function may map the same family again
    return IndexedFamily(index, _one(function(*(family[index] for family in families))))


def added(family: Any) -> Any:
    """The sum of the matrices of a family or a list."""
    return (
        over(family.entry, family.index)
        if isinstance(family, IndexedFamily)
        else functools.reduce(operator.add, family)
    )


def over(found: Any, index: SummationIndex) -> Any:
    """The sum of an operand over one of its summation indices."""
    if isinstance(found, Blocks):
        return found.each(lambda block: over(block, index))
    found = _one(found)
    count = len(found.value.slots)
    kept = [item for item in found.bound if item is not index]
    if len(kept) == len(found.bound):
        return found * index.size
    out = [slot for slot in range(count) if slot < sum(found.axes) or found.bound[slot - sum(found.axes)] is not index]
    value = contract([(found.value, range(count))], out)
    return Indexed(value, found.axes, kept)


def parts(M: Any, count: Any, axis: int) -> Any:
    """The parts of an axis whose first index is, or is split to have, the size `count`: a family, few ones a list."""
    found, count = _one(M), size_of("count", count)
    if count == 1:
        return [found]
    group = found.groups[axis]
    if not group:
        raise InputError("count", f"a divisor of the size {found.dims[axis]} of axis {axis}", str(count))
    if found.value.slots[group[0]] != count:
        found = found.split(group[0], count)
    slot, slots = found.groups[axis][0], len(found.value.slots)
    index = SummationIndex(count)
    axes = [n - (k == axis) for k, n in enumerate(found.axes)]
    bound = [*found.bound, index]
    out = [*(label for label in range(slots) if label != slot), slot]
    entry = Indexed(found.value.permuted(out), axes, bound)
    if count.is_Integer:
        ones = [identity(count)[k, index] for k in range(int(count))]
        return [over(entry * one, index) for one in ones]
    return IndexedFamily(index, entry)


def parts_of_width(M: Any, width: Any, axis: int) -> Any:
    """The parts of an axis of this size each."""
    return parts(M, sympy.sympify(_one(M).dims[axis]) / size_of("width", width), axis)


def _one(operand: Any) -> Indexed:
    found = lifted(operand)
    if not isinstance(found, Indexed):
        raise ArithmeticUnsupported(f"{operand!r} in a family has no form for all sizes")
    return found


register_forms({"mapped": mapped, "added": added, "parts": parts, "parts_of_width": parts_of_width})
