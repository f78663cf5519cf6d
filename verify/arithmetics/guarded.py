"""Numbers made of symbols, as a formula sees them: they add and multiply as sympy's do, and are not silently decided on.

To sympy n % 6 == 0 is false, since the symbol n % 6 is another one than 0; to a formula it is a question about every n.
What is certain is answered.  Of two sizes that are not certainly different it is noted that they have to be; a quotient
is noted to be a whole number where its remainder is asked for; what is divided by is noted to vanish at no sizes, since sympy
makes (n - 1) / (n - 1) a 1.  Whatever else is asked is refused.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.conditions import (
    is_certain_at_least,
    rely_on_different,
    rely_on_divisor,
    rely_on_power,
    rely_on_whole,
)  # fmt: skip
from verify.vocabulary.errors import ArithmeticUnsupported

#: Floats that a size is compared with are fractions with a power of 2 below, and not large: so products of sizes are exact.
LARGEST_DENOMINATOR = 2**10
LARGEST_FLOAT = 2**20
_NUMBERS = (int, float, Fraction, np.integer, np.floating)


def guarded(value: Any) -> Any:
    """A sympy expression as a number that is not silently decided on; anything else as it is."""
    return SymbolicNumber(value) if isinstance(value, sympy.Expr) else value


def unguarded(value: Any) -> Any:
    """The sympy expression of a guarded number, slices of them included; anything else as it is."""
    if isinstance(value, SymbolicNumber):
        return value.expression
    if isinstance(value, slice):
        return slice(*(unguarded(end) for end in (value.start, value.stop, value.step)))
    return value


class UnknownNumber:
    """A number of which a formula may ask nothing: to Python another object is unequal and true, whatever it stands for.

    It is itself, and not None; no dictionary may look it up among numbers.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @property
    def text(self) -> str:
        """What messages call it; a formula gets no text of it, since that would tell it from a number."""
        raise NotImplementedError

    def __repr__(self) -> str:  # which the engine's own messages ask too, of a use that has no form
        raise ArithmeticUnsupported(f"the text of {self.text}, or a use of it that has no form")

    def __bool__(self) -> bool:
        raise ArithmeticUnsupported(f"a decision on {self.text}")

    def __eq__(self, other: object) -> bool:
        return self is other or (other is not None and self._undecided(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _undecided(self, other: Any) -> Any:
        raise ArithmeticUnsupported(f"a comparison of {self.text}")

    __lt__ = __le__ = __gt__ = __ge__ = _undecided


class SymbolicNumber:
    """A size, a scalar, or what is calculated from them."""

    __slots__ = ("expression",)
    __hash__ = None  # type: ignore[assignment]  # a dictionary would decide on it
    is_symbolic = True  #: recognised so by what does not import sympy
    _op_priority = 100.0  # sympy hands the operation over to us

    def __init__(self, expression: sympy.Expr) -> None:
        self.expression = expression

    def _sympy_(self) -> sympy.Expr:
        return self.expression

    def __repr__(self) -> str:  # a decision on these letters would be one on the number; a list of numbers asks so too
        raise ArithmeticUnsupported(f"the text of {self.expression}")

    def __format__(self, how: str) -> str:
        return self.__str__()

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    def _with(self, other: Any, operation: Callable[[Any, Any], Any], turned: bool = False) -> Any:
        found = _expression(other)
        if found is None:
            return NotImplemented
        return guarded(operation(found, self.expression) if turned else operation(self.expression, found))

    def __neg__(self) -> Any:
        return guarded(-self.expression)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return guarded(abs(self.expression))

    def __divmod__(self, other: Any) -> Any:
        return self._with(other, _whole_quotient), self._with(other, _no_remainder)

    def __rdivmod__(self, other: Any) -> Any:
        return self._with(other, _whole_quotient, turned=True), self._with(other, _no_remainder, turned=True)

    # -- decisions -----------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Any:
        if isinstance(other, np.ndarray):  # which compares entry by entry
            return NotImplemented
        return not self != other

    def __ne__(self, other: object) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return other is None or _are_different(self.expression, _required(other))

    def __bool__(self) -> bool:
        return _are_different(self.expression, sympy.Integer(0))

    def __lt__(self, other: Any) -> bool:
        return not self.__ge__(other)

    def __le__(self, other: Any) -> bool:
        return not self.__gt__(other)

    def __gt__(self, other: Any) -> bool:
        return _is_above(self.expression, _required(other), strictly=True)

    def __ge__(self, other: Any) -> bool:
        return _is_above(self.expression, _required(other), strictly=False)

    def __index__(self) -> int:
        if not self.expression.is_Integer:
            raise ArithmeticUnsupported(f"a number in the place of {self.expression}")
        return int(self.expression)

    __int__ = __index__

    def _undecided(self, *_: Any) -> Any:
        raise ArithmeticUnsupported(f"a number in the place of {self.expression}")

    def __array_ufunc__(self, operation: Any, method: str, *operands: Any, **options: Any) -> Any:
        """An operation of numpy on arrays and this number, entry by entry: ``n * np.ones(3)``."""
        if (
            method != "__call__"
            or options
            or any(isinstance(x, np.ndarray) and x.dtype.kind in "iub" for x in operands)
        ):
            raise ArithmeticUnsupported(f"numpy's {operation.__name__} of {self.expression}")  # integers overflow
        return operation(*(_entry(x) for x in operands))

    __float__ = __complex__ = __round__ = __floor__ = __ceil__ = __trunc__ = _undecided


def _entry(value: Any) -> Any:
    """A number as an array of objects without axes, and arrays as arrays of objects."""
    if isinstance(value, np.ndarray):
        return value.astype(object)
    found = np.empty((), dtype=object)
    found[()] = value
    return found


def _expression(value: Any) -> sympy.Expr | None:
    """A number as a sympy expression, None for anything else."""
    if isinstance(value, SymbolicNumber):
        return value.expression
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, _NUMBERS):
        return sympy.sympify(value.item() if isinstance(value, np.generic) else value)
    return value if isinstance(value, sympy.Expr) else None


def _required(value: Any) -> sympy.Expr:
    found = _expression(value)
    if found is None:
        raise ArithmeticUnsupported(f"a comparison of a symbol with {value!r}")
    return found


def _quotient(whole: sympy.Expr, part: sympy.Expr) -> sympy.Expr:
    rely_on_divisor(part)
    return whole / part


def _power(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    rely_on_power(base, exponent)
    return base**exponent


def _whole_quotient(whole: sympy.Expr, part: sympy.Expr) -> sympy.Expr:
    quotient = _quotient(whole, part)
    rely_on_whole(quotient)
    return quotient


def _no_remainder(whole: sympy.Expr, part: sympy.Expr) -> sympy.Expr:
    rely_on_whole(_quotient(whole, part))
    return sympy.Integer(0)


for _name, _operation in {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": _quotient, "pow": _power,
    "floordiv": _whole_quotient, "mod": _no_remainder,
}.items():  # fmt: skip
    setattr(SymbolicNumber, f"__{_name}__", lambda self, other, of=_operation: self._with(other, of))
    setattr(SymbolicNumber, f"__r{_name}__", lambda self, other, of=_operation: self._with(other, of, turned=True))


def _are_different(one: sympy.Expr, other: sympy.Expr) -> bool:
    """Whether two numbers differ; where sizes may differ, they do, and that they always do is noted."""
    gap = _exact_gap(one, other)
    if gap == 0:
        return False
    if gap.is_nonzero:
        return True
    symbols = gap.free_symbols
    linear = all(symbol.is_integer and symbol.is_positive for symbol in symbols) and gap.is_polynomial(*symbols)
    if not linear or sympy.Poly(gap, *symbols).total_degree() > 1:
        raise ArithmeticUnsupported(f"a decision on whether {one} is {other}")
    rely_on_different(one, other)
    return True


@functools.lru_cache(maxsize=4096)
def _exact_gap(one: sympy.Expr, other: sympy.Expr) -> sympy.Expr:
    """The difference of two numbers that are compared; raises where a float rounds, overflows or is no fraction in sight.

    In floats n x = y holds where rounding lets it, and 10^305 n = oo from some n on: exact numbers say nothing of that.
    """
    gap = sympy.expand(one - other)
    if gap.has(sympy.oo, -sympy.oo, sympy.zoo, sympy.nan):
        raise ArithmeticUnsupported(f"a comparison of {one} with {other}")
    for number in one.atoms(sympy.Float) | other.atoms(sympy.Float):
        if sympy.Rational(number).q > LARGEST_DENOMINATOR or abs(number) > LARGEST_FLOAT:
            raise ArithmeticUnsupported(f"a comparison with the float {number}")
    return sympy.nsimplify(gap, rational=True) if gap.has(sympy.Float) else gap


def _is_above(one: sympy.Expr, other: sympy.Expr, strictly: bool) -> bool:
    """Whether `one` is above `other` at all values of the symbols, or nowhere; raises where neither is certain."""
    gap = _exact_gap(one, other)
    above, below = (gap.is_positive, gap.is_nonpositive) if strictly else (gap.is_nonnegative, gap.is_negative)
    least = int(strictly)
    if above or (gap.is_integer and is_certain_at_least(gap, least)):
        return True
    if below or (gap.is_integer and is_certain_at_least(-gap, 1 - least)):
        return False
    raise ArithmeticUnsupported(f"a decision on whether {one} is above {other}")
