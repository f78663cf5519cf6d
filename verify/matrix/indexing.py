"""Sums, products and families over an index, written once for every arithmetic."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from verify.arithmetics import Constant, is_tensor, primitive
from verify.arithmetics.patterns import groups_of
from verify.matrix.products import aligned, concatenate
from verify.vocabulary.errors import InputError


@primitive
def indexed(pattern: str, *operands: Any) -> Any:
    """The sum of products of entries over all indices that the result lacks: ``indexed("il,ij->(i j)(l)", A, B)``.

    Each group of the result is one axis, row-major in its indices; an index that is repeated there is a diagonal.
    """
    inputs, groups = groups_of(pattern)
    if len(inputs) != len(operands):
        raise InputError("operands", f"{len(inputs)}, as many as in {pattern!r}", str(len(operands)))
    sizes: dict[str, int] = {}
    for names, operand in zip(inputs, operands, strict=True):
        if len(names) != len(operand.shape):
            raise InputError("operands", f"{len(names)} indices for {names!r}", f"shape {tuple(operand.shape)}")
        for name, size in zip(names, operand.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise InputError("operands", f"size {sizes[name]} for the index {name}", f"{size}")
    flat = "".join(groups)
    unknown = set(flat) - set(sizes)
    if unknown:
        raise InputError("pattern", "indices of an operand in the result", f"{sorted(unknown)}")
    if all(isinstance(operand, Constant) for operand in operands):
        return Constant(indexed(pattern, *(operand.array for operand in operands)))
    arrays = aligned(*operands)
    once = "".join(dict.fromkeys(flat))
    subscripts = ",".join(inputs) + "->" + once
    shape = [math.prod(sizes[name] for name in group) for group in groups]
    if is_tensor(arrays[0]):
        import torch

        return _on_diagonals(torch.einsum(subscripts, *arrays), once, flat, sizes).reshape(shape)
    compact = np.einsum(subscripts, *arrays)
    if once == flat:
        return compact.reshape(shape)
    result = np.zeros([sizes[name] for name in flat], dtype=object)
    np.einsum(f"{flat}->{once}", result)[...] = compact  # a view of the diagonals
    return result.reshape(shape)


def _on_diagonals(compact: Any, once: str, flat: str, sizes: Mapping[str, int]) -> Any:
    """The tensor with indices `flat`, some repeated, that is `compact` where the repeated ones agree and 0 elsewhere."""
    import torch

    inputs, arrays, names = [once], [compact], ""
    spare = iter("ZYXWVUTSRQPONMLKJIHGFEDCBA")
    for name in flat:
        if name in names:
            inputs.append(name + next(spare))
            arrays.append(torch.eye(sizes[name], dtype=compact.dtype, device=compact.device))
            names += inputs[-1][1]
        else:
            names += name
    return torch.einsum(",".join(inputs) + "->" + names, *arrays)


@primitive
def summed(n: int, term: Callable[[Any], Any]) -> Any:
    """term(0) + ... + term(n - 1), for matrices of one shape."""
    if n < 1:
        raise InputError("n", "at least one term", repr(n))
    total = term(0)
    for i in range(1, n):
        total = total + term(i)
    return total


@primitive
def iterated(count: int, step: Callable[[Any], Any], start: Any) -> Any:
    """step(step(... start)), `count` times; `start` itself for a count of 0."""
    for _ in range(count):
        start = step(start)
    return start


@primitive
def stepped(count: int, step: Callable[..., Any], *starts: Any) -> Any:
    """What `step` makes of matrices that move together: step(k, ...) takes them from step k to step k + 1, k < count.

    One matrix, or a tuple of as many as there are starts; the starts themselves for a count of 0.

    >>> from verify.matrix import eye
    >>> stepped(3, lambda k, M: M * (k + 1), 2)
    12
    """
    states: Any = starts
    for k in range(count):
        found = step(k, *states)
        states = found if isinstance(found, (list, tuple)) else (found,)
    return states[0] if len(states) == 1 else tuple(states)


@primitive
def visited(count: int, step: Callable[..., Any], *starts: Any) -> Any:
    """What `stepped` comes to after 1, ..., `count` steps, to be handed on as what `each` gives; a tuple of such for several.

    For a count of 0 there are none, of each start.

    >>> visited(3, lambda k, M: M * (k + 1), 2)
    [2, 4, 12]
    >>> visited(0, lambda k, M, P: (P, M), 2, 3)
    ([], [])
    """
    states: Any = starts
    families: tuple[list[Any], ...] = tuple([] for _ in starts)
    for k in range(count):
        made = step(k, *states)
        states = made if isinstance(made, (list, tuple)) else (made,)
        for family, state in zip(families, states, strict=True):
            family.append(state)
    return families[0] if len(starts) == 1 else families


@primitive
def each(n: int, entry: Callable[[Any], Any]) -> Any:
    """entry(0), ..., entry(n - 1), to be handed to `concatenate`, `block_diag` or `khatri_rao`."""
    return [entry(i) for i in range(n)]


@primitive
def parts(M: Any, count: Any, axis: int) -> Any:
    """The `count` parts of equal size that M consists of along an axis, to be handed on as what `each` gives."""
    size = M.shape[axis]
    if count < 1 or size % count:
        raise InputError("count", f"a divisor of the size {size} of axis {axis}", repr(count))
    return parts_of_width(M, size // count, axis)


@primitive
def parts_of_width(M: Any, width: Any, axis: int) -> Any:
    """The parts of equal size `width` that M consists of along an axis, as `parts` gives them."""
    size = M.shape[axis]
    if width < 1 or size % width:
        raise InputError("width", f"a divisor of the size {size} of axis {axis}", repr(width))
    return [M[(slice(None),) * axis + (slice(k, k + width),)] for k in range(0, size, width)]


@primitive
def without_column(A: Any, i: Any) -> Any:
    """A (m, n) without its column i, shape (m, n - 1)."""
    n = A.shape[1]
    if not 0 <= i < n:
        raise InputError("i", f"a column of {n}", repr(i))
    return concatenate([A[:, :i], A[:, i + 1 :]], axis=1)


@primitive
def rows_within(M: Any, first: Any, end: Any) -> Any:
    """The rows first, ..., end - 1 of M, as far as there are such rows: ``rows_within(K, i - w + 1, i + 1)`` is a window."""
    return M[max(first, 0) : max(end, 0)]


@primitive
def mapped(function: Callable[..., Any], *families: Any) -> Any:
    """function(A_0, B_0, ...), function(A_1, B_1, ...), ... for what `each`, `parts` or `mapped` gave."""
    return [function(*matrices) for matrices in zip(*families, strict=True)]


@primitive
def added(family: Any) -> Any:
    """The sum of what `each`, `parts` or `mapped` gave, at least one matrix."""
    if not family:
        raise InputError("family", "at least one matrix", "none")
    return functools.reduce(operator.add, family)
