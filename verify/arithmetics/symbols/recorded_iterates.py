"""How iterates are written down: an input for the value at a point, another for the slope there.

Of an iterate of a start that is differentiated by, only the value and the slope at the point take part in a proof.  A
certificate has B + J (M - M_0) in its place, where M is the start, M_0 the start at the point, and B and J are inputs of which
nothing is known: an identity that holds for all B and J holds for the value and the slope of the iterate.
"""

from __future__ import annotations

from typing import Any

from verify.arithmetics.symbols.calculus import rebuilt, substituted
from verify.arithmetics.symbols.heads import Head, tensor
from verify.arithmetics.symbols.iterates import Iteration
from verify.arithmetics.symbols.sums import Sum, keeping_origins, single


class Iterates:
    """The points at which variables are taken, and the names of iterates by their start there."""

    def __init__(self) -> None:
        self._points: dict[Head, Sum | None] = {}
        self._found: dict[int, tuple[Sum, Sum]] = {}
        self._names: dict[Any, int] = {}

    def note(self, value: Sum) -> None:
        """Note where a sum takes a variable: at one point, or at none that is known."""
        if value.origin is not None and value.origin[0] == "at":
            _, _, variable, point = value.origin
            before = self._points.setdefault(variable, point)
            if before is None or before.key != point.key:
                self._points[variable] = None

    def point_of(self, start: Sum) -> Sum | None:
        """The start at the point of its only variable; itself where it has none, None where the point is not known."""
        variables = [made for made in start.heads() if made.kind == "tensor" and "~" in made.name]
        if not variables:
            return start
        if len(variables) > 1 or (point := self._points.get(variables[0])) is None:
            return None
        if any("~" in made.name for made in point.heads() if made.kind == "tensor"):
            return None
        if id(start) not in self._found:
            with keeping_origins():
                self._found[id(start)] = start, substituted(start, variables[0], point)
        return self._found[id(start)][1]

    def names(self, point: Sum, iteration: Iteration) -> tuple[str, str]:
        """The names of the value and of the slope at a point: equal ones for equal iterations and points."""
        number = self._names.setdefault((_met_here(point).key, iteration), len(self._names) + 1)
        return f"iterate({number})", f"slope of iterate({number})"


def _met_here(point: Sum) -> Sum:
    """A sum over other tensors, all functions of which are met anew: of equal points of a proof, some are made after it."""

    def other(made: Head) -> Sum | None:
        if made.kind != "tensor":
            return None
        return single(tensor(f"{made.name}~", made.sizes, made.symmetries), range(len(made.sizes)), made.sizes)

    return rebuilt(point, other)


__all__ = ["Iterates"]
