"""Summation indices: what `verify.matrix.summed` and `each` hand to a formula, alone or with an offset."""

from __future__ import annotations

import itertools
from typing import Any

import sympy

from verify.arithmetics.formal import Formal
from verify.arithmetics.guarded import unguarded
from verify.arithmetics.symbols.heads import Size
from verify.vocabulary.errors import ArithmeticUnsupported

_variables = itertools.count()


class SummationIndex:
    """A summation index in a formula: what `verify.matrix.summed` and `stacked` hand to the summand."""

    def __init__(self, size: Size) -> None:
        self.size, self.number = size, next(_variables)

    def __add__(self, offset: Any) -> ShiftedIndex:
        return ShiftedIndex(self, sympy.Integer(0)) + offset

    def __sub__(self, offset: Any) -> ShiftedIndex:
        return ShiftedIndex(self, sympy.Integer(0)) - offset

    def __repr__(self) -> str:
        return f"i_{self.number}"


class StepNumber:
    """The number of one step, any of `size`: what `verify.matrix.stepped` hands to a step, to read stacks at."""

    def __init__(self, size: Size) -> None:
        self.size, self.number = size, next(_variables)

    def __repr__(self) -> str:
        return f"step of {self.size}"


class ShiftedIndex(Formal):
    """i + `offset`, a number or sum of sizes: i + 1 is the end of the slice i:i + 1."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, index: SummationIndex, offset: sympy.Expr) -> None:
        self.index, self.offset = index, offset

    def __add__(self, more: Any) -> ShiftedIndex:
        found = unguarded(more)
        if not isinstance(found, (int, sympy.Expr)) or isinstance(found, bool) or not sympy.sympify(found).is_integer:
            raise ArithmeticUnsupported(f"an index plus {more!r} has no symbolic form")
        return ShiftedIndex(self.index, sympy.expand(self.offset + found))

    def __sub__(self, less: Any) -> ShiftedIndex:
        return self + -1 * less

    def _undecided(self, other: Any) -> Any:
        raise ArithmeticUnsupported(f"a comparison of {self!r}")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _undecided  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.index!r} + {self.offset}"


def is_next(stop: Any, index: SummationIndex) -> bool:
    """Whether `stop` is the index plus 1."""
    return isinstance(stop, ShiftedIndex) and stop.index is index and bool(stop.offset == 1)
