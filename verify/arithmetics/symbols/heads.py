"""What can stand in a product: named tensors, Kronecker deltas, unit vectors, and functions of sums.

A head with its indices is a factor; equal heads are one object, numbered in the order in which they are first met, so
that factors compare fast.  A size is a sympy expression or an integer.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

Size = Any
#: The sum that a function is applied to, None of a tensor; sums are made of heads, so that they are not named here.
Inner = Any
#: A permutation of the slots of a head under which its entries keep their value, up to the sign.
Symmetry = tuple[tuple[int, ...], int]


class Head:
    """A tensor or function without its indices.

    kind: "tensor", "delta", "unit" (a unit vector), "softmax", "exp", "power", "step", "log", "inverse", ...
    sizes: one size per slot.  symmetries: the whole group, identity included.
    inner: the sum that a function is applied to, whose slots are the head's.  parameter: an exponent, a position, ...
    """

    __slots__ = (
        "inner", "is_signed", "kind", "name", "number", "orbits", "parameter", "size_names", "sizes", "symmetries",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        name: str,
        sizes: tuple[Size, ...],
        symmetries: tuple[Symmetry, ...],
        inner: Inner,
        parameter: Any,
        number: int,
    ) -> None:
        self.kind, self.name, self.sizes, self.symmetries = kind, name, sizes, symmetries
        self.inner, self.parameter, self.number = inner, parameter, number
        self.size_names = tuple(map(str, sizes))
        self.is_signed = any(sign < 0 for _, sign in symmetries)
        self.orbits = tuple(min(perm[slot] for perm, _ in symmetries) for slot in range(len(sizes)))

    def __repr__(self) -> str:
        return f"{self.name or self.kind}#{self.number}"


_heads: dict[Hashable, Head] = {}
_count = itertools.count()  # no two heads ever have one number, or normal forms could take them for each other


@contextlib.contextmanager
def met_afresh() -> Iterator[None]:
    """Meet all heads anew inside the block: in the order of their numbers, normal forms do not depend on earlier proofs."""
    kept = dict(_heads)
    _heads.clear()
    try:
        yield
    finally:
        _heads.clear()
        _heads.update(kept)


def head(
    kind: str,
    name: str,
    sizes: Sequence[Size],
    symmetries: Sequence[Symmetry] = (),
    inner: Inner = None,
    parameter: Hashable = None,
) -> Head:
    """The one head with these attributes."""
    sizes = tuple(sizes)
    group = tuple(sorted({(tuple(range(len(sizes))), 1), *symmetries}))
    key = (kind, name, sizes, group, inner.key if inner is not None else None, parameter)
    if key not in _heads:
        _heads[key] = Head(kind, name, sizes, group, inner, parameter, next(_count))
    return _heads[key]


def delta(size: Size) -> Head:
    """The Kronecker delta over indices of one size."""
    return head("delta", "", (size, size), [((1, 0), 1)])


def tensor(name: str, sizes: Sequence[Size], symmetries: Sequence[Symmetry] = ()) -> Head:
    """A named tensor of which nothing else is known."""
    return head("tensor", name, sizes, symmetries)


def unit(size: Size, position: int) -> Head:
    """The unit vector e_position, positions counted from 0."""
    return head("unit", f"e_{position}", (size,), parameter=position)


#: The kind of the vector that is 1 at one step and 0 at the others: whatever is read at the step is a product with it.
AT_STEP = "at step"


def at_step(size: Size) -> Head:
    """The unit vector of the step at which a map is taken, one of `size`; it has one name, as only one is looked at."""
    return head(AT_STEP, AT_STEP, (size,))


def generated_group(generators: Sequence[Symmetry], slots: int) -> list[Symmetry]:
    """All products of some signed permutations of `slots` slots."""
    group = {(tuple(range(slots)), 1)}
    while True:
        products = {
            (tuple(p[i] for i in q), s * t) for (p, s), (q, t) in itertools.product(group, [*group, *generators])
        }
        if products <= group:
            return sorted(group)
        group |= products


def selection(size: Size, start: Size, length: Size) -> Head:
    """The matrix (size, length) of the columns start, ..., start + length - 1 of the identity, all of which exist."""
    return head("selection", "S", (size, length), parameter=start)


def grouping(whole: Size, first: Size, rest: Size) -> Head:
    """G (whole, first, rest): 1 where an index of size `whole` = first * rest is that of its two, row-major; 0 elsewhere."""
    return head("grouping", "G", (whole, first, rest))
