"""Jacobians and Hessians of definitions at symbolic operands: the definition runs on a fresh tensor, which is
differentiated by and then replaced by the point."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from verify.arithmetics.formal import register_forms
from verify.arithmetics.symbols.blocks import Blocks, joined
from verify.arithmetics.symbols.calculus import derivative, substituted
from verify.arithmetics.symbols.extents import note_for_each, recording_extents
from verify.arithmetics.symbols.heads import Head, tensor
from verify.arithmetics.symbols.indexed import Indexed, lifted
from verify.arithmetics.symbols.sums import Product, ProductRule, Sum, contract, extra_rules, step_named, sum_of_head
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

SECOND_ORDER = step_named("terms of second order have no slope at 0")
_numbers = itertools.count()


def _variable(name: str, point: Any) -> tuple[Head, Indexed, Indexed]:
    """A fresh tensor of the shape of the point, as a head and as an operand, and the point as an operand."""
    at = lifted(point)
    if not isinstance(at, Indexed):
        raise ArithmeticUnsupported(f"a derivative with respect to {point!r}")
    made = tensor(f"{name}~{next(_numbers)}", at.value.slots)
    return made, Indexed(sum_of_head(made), at.axes, at.bound), at


def _slope(value: Sum, made: Head, point: Indexed) -> Sum:
    """d value / d made over the axes of the point.

    Where the point is one row for each value of a summation index, the value at that index depends on that row alone:
    the sum over the rows that are differentiated by leaves the one derivative that is not zero.
    """
    slope = derivative(value, made)
    count, inner = len(value.slots), sum(point.axes)
    return contract([(slope, range(len(slope.slots)))], list(range(count + inner)))


def _flattened(operand: Indexed, order: str) -> list[int]:
    """The slots of an operand in the order of its vectorisation; column-major, it has at most two axes."""
    if operand.ndim > 2 and order != "row-major":
        raise InputError("f or wrt", "at most two dimensions", f"shape {operand.dims}")
    groups = operand.groups
    return [slot for group in (groups if order == "row-major" else reversed(groups)) for slot in group]


def _without_squares(made: Head) -> ProductRule:
    """The rule that a product with two factors `made` vanishes."""

    def apply(product: Product, slots: int) -> list[Product] | None:
        return [] if sum(head is made for head, _ in product[1]) > 1 else None

    return ProductRule(SECOND_ORDER, frozenset({"tensor"}), apply)


def jacobian(f: Callable[..., Any], arguments: Mapping[str, Any], wrt: str, layout: Any) -> Any:
    """d vec f / d vec wrt, the indices of f in the rows and those of the argument in the columns."""
    if isinstance(arguments[wrt], Blocks):
        return _jacobian_in_blocks(f, arguments, wrt, layout)
    made, x, point = _variable(wrt, arguments[wrt])

    def differentiated(result: Indexed) -> Indexed:
        if made not in result.value.heads():
            slope = Sum((*result.value.slots, *made.sizes[: sum(point.axes)]), {})
        else:
            slope = substituted(_slope(result.value, made, point), made, point.value)
        count = len(result.value.slots)
        rows = _flattened(result, layout.value)
        columns = [count + slot for slot in _flattened(point, layout.value)]
        bound = list(range(sum(result.axes), count))
        value = slope.permuted([*rows, *columns, *bound])
        return Indexed(value, (len(rows), len(columns)), result.bound)

    # at 0 nothing of second order has a slope, so that it need not be written out
    with extra_rules([] if point.value.terms else [_without_squares(made)]), recording_extents() as inside:
        result = lifted(f(**{**arguments, wrt: x}))
    for part in parts_along(result):
        note_for_each(part.value.slots, inside)
    if isinstance(result, Blocks):
        if layout.value != "row-major" or len(result.grid[0]) > 1:
            raise ArithmeticUnsupported("the Jacobian of blocks that are not on top of each other")
        return result.each(differentiated)
    return differentiated(result)


def _stacked_point(point: Blocks, layout: Any) -> list[Indexed]:
    """The blocks of a point whose vectorisation is that of its blocks, one after the other."""
    by_rows = layout.value == "row-major"
    point._require_plain("a derivative")
    if len(point.grid[0]) > 1 if by_rows else len(point.grid) > 1:
        raise ArithmeticUnsupported(f"a derivative with respect to {point!r}, whose blocks interleave")
    return point.every


def _jacobian_in_blocks(f: Callable[..., Any], arguments: Mapping[str, Any], wrt: str, layout: Any) -> Any:
    """The Jacobians in each block of the argument, side by side."""
    point = arguments[wrt]
    blocks = _stacked_point(point, layout)

    def in_block(k: int) -> Any:
        def along(**changed: Any) -> Any:
            parts = [changed["block"] if j == k else block for j, block in enumerate(blocks)]
            whole = Blocks([[part] for part in parts] if len(point.grid) > 1 else [parts])
            return f(**{**arguments, wrt: whole})

        return jacobian(along, {"block": blocks[k]}, "block", layout)

    return joined([in_block(k) for k in range(len(blocks))], axis=1)


def _hessian_in_blocks(f: Callable[..., Any], arguments: Mapping[str, Any], wrt: str, layout: Any) -> Any:
    """The Hessian in one argument made of blocks, as the grid of its blocks; f is a scalar."""
    point = arguments[wrt]
    blocks = _stacked_point(point, layout)

    def along(**changed: Any) -> Any:
        parts = [changed.get(f"block_{k}", block) for k, block in enumerate(blocks)]
        return f(**{**arguments, wrt: Blocks([[part] for part in parts] if len(point.grid) > 1 else [parts])})

    own = {f"block_{k}": block for k, block in enumerate(blocks)}
    rows = [joined([hessian(along, own, (one, other), layout) for other in own], axis=1) for one in own]
    if any(sum(found.axes) for found in parts_along(along(**own))):
        raise ArithmeticUnsupported("the Hessian of a matrix in an argument made of blocks")
    return joined(rows, axis=0)


def parts_along(value: Any) -> list[Indexed]:
    """The operands that a value consists of."""
    found = lifted(value)
    return found.every if isinstance(found, Blocks) else [found]


def hessian(f: Callable[..., Any], arguments: Mapping[str, Any], wrt: tuple[str, str], layout: Any) -> Any:
    """d^2 f / d vec W_i d vec W_j, the indices of f and of the first argument in the rows."""
    if isinstance(arguments[wrt[0]], Blocks) and wrt[0] == wrt[1]:
        return _hessian_in_blocks(f, arguments, wrt[0], layout)
    first, x, point = _variable(wrt[0], arguments[wrt[0]])
    changed = {wrt[0]: x}
    second, other = first, point
    if wrt[1] != wrt[0]:
        second, y, other = _variable(wrt[1], arguments[wrt[1]])
        changed[wrt[1]] = y
    with recording_extents() as inside:
        result = lifted(f(**{**arguments, **changed}))
    if isinstance(result, Blocks):
        raise ArithmeticUnsupported("the Hessian of blocks")
    note_for_each((*result.value.slots, *point.value.slots), inside)
    curvature = _slope(_slope(result.value, first, point), second, other)
    curvature = substituted(curvature, first, point.value)
    if second is not first:
        curvature = substituted(curvature, second, other.value)
    count, middle = len(result.value.slots), sum(point.axes)
    rows = _flattened(result, layout.value) + [count + slot for slot in _flattened(point, layout.value)]
    columns = [count + middle + slot for slot in _flattened(other, layout.value)]
    bound = list(range(sum(result.axes), count))
    value = curvature.permuted([*rows, *columns, *bound])
    return Indexed(value, (len(rows), len(columns)), result.bound)


register_forms({"jacobian": jacobian, "hessian": hessian})
