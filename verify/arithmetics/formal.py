"""Operands that are no arrays of numbers: they bring a form of every primitive of their own."""

from __future__ import annotations

import contextvars
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from verify.arithmetics.kinds import is_symbolic
from verify.vocabulary.errors import ArithmeticUnsupported


class Formal:
    """Base of operands that are no arrays of numbers: each primitive looks up the form it has for them."""

    __slots__ = ()
    is_family = False  #: whether it stands for what is a list where sizes are numbers

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of its axes."""
        raise NotImplementedError

    def described(self) -> str:
        """Its text in a message of the engine."""
        return repr(self)

    @property
    def called(self) -> str:
        """What messages call an operand like it."""
        return f"a matrix of shape {self.shape}"

    def adapted(self, other: Any) -> Any:
        """A constant or an exact scalar in the arithmetic of this operand."""
        raise NotImplementedError

    def __iter__(self) -> Any:
        raise ArithmeticUnsupported(f"a loop over the rows of {self.called}")

    def __bool__(self) -> bool:
        raise ArithmeticUnsupported(f"a decision on the entries of {self.called}")

    def _undecided(self, other: Any) -> Any:
        raise ArithmeticUnsupported(f"a comparison of the entries of {self.called}")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _undecided  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class EntryByEntry(Formal):
    """Base of operands of which sums, differences and products are taken in one way, `_with`."""

    __slots__ = ()
    __array_ufunc__ = None  # numpy and constants hand the operation over

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        """The operation, with another operand or a scalar."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    def __neg__(self) -> Any:
        return self * -1

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__


_forms: dict[str, dict[str, Callable[..., Any]]] = {"symbols": {}, "norms": {}}
#: What the derivation of norms in progress knows; within one, primitives have the forms of `norms`.
derived: contextvars.ContextVar[Any] = contextvars.ContextVar("derived", default=None)


def register_forms(forms: Mapping[str, Callable[..., Any]], arithmetic: str = "symbols") -> None:
    """Give primitives, by name, the form they have for `Formal` operands and for sizes that are sympy expressions."""
    _forms[arithmetic].update(forms)


#: Types of which no value is formal, as far as they were met: every primitive asks this of every operand.
_NUMBERS: set[type] = set()


def _is_formal(value: Any) -> bool:
    kind = type(value)
    if kind in _NUMBERS:
        return False
    if isinstance(value, Formal) or is_symbolic(value):  # first: a family says that it is a list
        return True
    if isinstance(value, (list, tuple)):
        return any(map(_is_formal, value))
    if isinstance(value, np.ndarray):
        return value.dtype == object and derived.get() is not None and any(map(_is_formal, value.flat))
    _NUMBERS.add(kind)
    return False


def is_guarded(value: Any) -> bool:
    """Whether `value` is a size or scalar as the formulas of a proof see it."""
    return getattr(type(value), "is_symbolic", False)


def registered_form(name: str, *operands: Any) -> Callable[..., Any] | None:
    """The form that the primitive `name` has for its operands, None where they are numbers."""
    forms = _forms["symbols" if derived.get() is None else "norms"]
    if not forms or not any(map(_is_formal, operands)):
        return None
    if name not in forms:
        operand = next(filter(_is_formal, operands))
        said = operand.described() if isinstance(operand, Formal) else f"a {type(operand).__name__}"
        raise ArithmeticUnsupported(f"{name} of {said} has no form for all sizes")
    return forms[name]
