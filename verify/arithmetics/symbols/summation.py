"""Summation indices: what `verify.matrix.summed` and `each` hand to a formula, alone or with an offset."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
from typing import Any

import sympy

from verify.arithmetics.formal import Formal
from verify.arithmetics.guarded import UnknownNumber, unguarded
from verify.arithmetics.symbols.heads import Size
from verify.vocabulary.contexts import assigned
from verify.vocabulary.errors import ArithmeticUnsupported

_variables = itertools.count()


class SummationIndex(UnknownNumber):
    """A summation index in a formula: what `verify.matrix.summed` and `stacked` hand to the summand."""

    def __init__(self, size: Size) -> None:
        self.size, self.number = size, next(_variables)

    def __add__(self, offset: Any) -> ShiftedIndex:
        return ShiftedIndex(self, sympy.Integer(0)) + offset

    def __sub__(self, offset: Any) -> ShiftedIndex:
        return ShiftedIndex(self, sympy.Integer(0)) - offset

    @property
    def text(self) -> str:
        return f"i_{self.number}"


class StepNumber(UnknownNumber):
    """The number of one step, any of `size`: what `verify.matrix.stepped` hands to a step, to read stacks at."""

    def __init__(self, size: Size) -> None:
        self.size, self.number = size, next(_variables)

    @property
    def text(self) -> str:
        return f"step of {self.size}"


#: The step at which a map is taken at generic matrices, or `ANY_STEP` for a map that does not depend on it.
_taken: contextvars.ContextVar[Any] = contextvars.ContextVar("taken", default=None)
ANY_STEP = "any step"


def taken_at(step: Any) -> contextlib.AbstractContextManager[Any]:
    """Take a map at generic matrices inside the block, at this step or `ANY_STEP`; no map within another of the same kind.

    Generic matrices and the step have one name, so that those of the one map would be taken for those of the other.
    """
    before = _taken.get()
    if before is ANY_STEP or (before is not None and step is not ANY_STEP):
        raise ArithmeticUnsupported("steps within a step")
    return assigned(_taken, step)


def is_taken(step: StepNumber) -> bool:
    """Whether a map is just taken at this step, and not at that of another, or at none any more."""
    return _taken.get() is step


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
        raise ArithmeticUnsupported(f"a comparison of {self.index.text} + {self.offset}")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _undecided  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise ArithmeticUnsupported(f"the text of {self.index.text} + {self.offset}")


def is_next(stop: Any, index: SummationIndex) -> bool:
    """Whether `stop` is the index plus 1."""
    return isinstance(stop, ShiftedIndex) and stop.index is index and bool(stop.offset == 1)
