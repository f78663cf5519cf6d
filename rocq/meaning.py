"""What expressions mean in numbers: `entries_of` of Functions.v and `condition_holds` of Rules.v, in balls.

A ball encloses the value, so that what is found of a condition is certain: it holds, it does not, or balls cannot tell.
Functions are those of Functions.v outside their domains too: a root or a logarithm of what is not positive is 0, and so is 1 / 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import flint
from normal_forms import Expr, Index
from syntax import Node, expanded

#: Bits of the balls, more where these do not tell.
PRECISIONS = (128, 1024)
Place = tuple[int, ...]


class Unknown(Exception):
    """Balls cannot tell a value, or nothing says what it is; the text is the reason."""


class Meaning:
    """Sizes by number, scalars by number, entries of inputs by number, and the functions of a claim."""

    def __init__(
        self,
        sizes: Mapping[int, int],
        scalars: Mapping[int, Any],
        inputs: Mapping[int, Mapping[Place, Any]],
        functions: Mapping[int, Node],
    ) -> None:
        self.sizes, self.scalars, self.inputs, self.functions = sizes, scalars, inputs, functions
        self._known: dict[tuple[int, Place], Any] = {}

    def places(self, indices: Sequence[Index]) -> Iterator[Place]:
        """All values of these indices."""
        return itertools.product(*(range(self._size(w[1])) for w in indices))

    def _size(self, number: int) -> int:
        if number not in self.sizes:
            raise Unknown("a size has no value")
        return self.sizes[number]

    def value(self, e: Expr, at: Mapping[Index, int]) -> Any:
        """An expression, in which derivatives are written out, at values of its free indices."""
        kind = e[0]
        if kind == "n":
            return flint.arb(e[1]) / e[2]
        if kind == "p":
            return self.base(e[1]) ** flint.arb(flint.fmpq(e[2], e[3]))
        if kind == "d":
            return flint.arb(at[e[1]] == at[e[2]])
        if kind == "e":
            return self.entry(e[1], tuple(at[w] for w in e[2]))
        if kind == "+":
            return self.value(e[1], at) + self.value(e[2], at)
        if kind == "*":
            return self.value(e[1], at) * self.value(e[2], at)
        total = flint.arb(0)
        for place in range(self._size(e[1][1])):
            total += self.value(e[2], {**at, e[1]: place})
        return total

    def base(self, base: tuple[str, int]) -> Any:
        if base[0] == "l":
            return flint.arb(self._size(base[1]))
        if base[1] not in self.scalars:
            raise Unknown("a scalar has no value")
        return self.scalars[base[1]]

    def entry(self, number: int, place: Place) -> Any:
        """An entry of an input or of a function."""
        if number not in self.functions:
            if number not in self.inputs:
                raise Unknown("an input has no value")
            return self.inputs[number][place]
        if (number, place) not in self._known:
            self._known[number, place] = self._function(self.functions[number], place)
        return self._known[number, place]

    def argument(self, node: Node, place: Place) -> Any:
        return self.value(expanded(node.argument), dict(zip(node.slots, place, strict=True)))

    def _function(self, node: Node, place: Place) -> Any:
        kind = node.head[0]
        if kind == "Unit":
            return flint.arb(place[0] == node.head[1])
        if kind == "Softmax":
            front = place[: len(place) - node.head[1]]
            last = list(self.places(node.slots[len(front) :]))
            exps = {end: self.argument(node, (*front, *end)).exp() for end in last}
            return exps[place[len(front) :]] / sum(exps.values(), flint.arb(0))
        if kind == "Inverse":
            rows = list(self.places(node.slots[: node.head[1]]))
            inverse = inverted(self.matrix(node))
            return inverse[rows.index(place[: node.head[1]]), rows.index(place[node.head[1] :])]
        if kind not in ("Exp", "Log", "Step", "Raised"):
            raise Unknown(f"the function {kind} has no value here")
        x = self.argument(node, place)
        if kind == "Exp":
            return x.exp()
        if kind == "Raised" and node.head[1].denominator == 1:
            return whole_power(x, int(node.head[1]))
        if not is_positive(x):
            return flint.arb(0)
        if kind == "Step":
            return flint.arb(1)
        return (
            x.log() if kind == "Log" else x ** flint.arb(flint.fmpq(node.head[1].numerator, node.head[1].denominator))
        )

    def matrix(self, node: Node) -> Any:
        """The argument of an inverse as a matrix of balls."""
        half = len(node.slots) // 2
        rows, columns = (list(self.places(part)) for part in (node.slots[:half], node.slots[half:]))
        return flint.arb_mat([[self.argument(node, (*row, *column)) for column in columns] for row in rows])

    def holds(self, what: str, number: int) -> bool:
        """Whether a condition holds at all values of the indices; raises `Unknown` where balls cannot tell."""
        node = self.functions[number]
        if what == "IsInvertible":
            inverted(self.matrix(node))
            return True
        test = {"IsPositive": is_positive, "IsNonzero": is_nonzero}[what]
        return all(test(self.argument(node, place)) for place in self.places(node.slots))


def is_positive(x: Any) -> bool:
    if x > 0:
        return True
    if x <= 0:
        return False
    raise Unknown("the sign of a value is not known")


def is_nonzero(x: Any) -> bool:
    if x == 0:
        return False
    if x.contains(0):
        raise Unknown("whether a value is 0 is not known")
    return True


def whole_power(x: Any, exponent: int) -> Any:
    if exponent >= 0:
        return x**exponent
    return 1 / x**-exponent if is_nonzero(x) else flint.arb(0)


def inverted(M: Any) -> Any:
    try:
        return M.inv()
    except ZeroDivisionError:
        raise Unknown("whether a matrix has an inverse is not known") from None


def as_ball(x: Any) -> Any:
    """A float as the number that it is."""
    found = flint.arb(float(x))
    if not found.is_finite():
        raise Unknown("an input is not finite")
    return found


__all__ = ["PRECISIONS", "Meaning", "Unknown", "as_ball", "is_positive"]
