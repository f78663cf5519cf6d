"""The numbers of an arithmetic that a package adds: one class, and every formula runs in it.

The entries of an object array may be of such a class.  Constants, `rational(2, 3)` and `sqrt(5)` adapt to it, the functions of
entries call its methods, and jets over it are derivatives in it.  docs/extending.md adds the integers modulo a prime.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from verify.vocabulary.errors import ArithmeticUnsupported


class Number:
    """Base of such a class, which has `+`, `-`, `*` and `/`, also with integers, `Fraction` and ``flint.fmpq`` on either side.

    Each function that it does not override raises `ArithmeticUnsupported`; none is ever approximated.
    """

    __slots__ = ()

    @classmethod
    def of(cls, value: Fraction) -> Any:
        """The number that a rational is."""
        raise NotImplementedError

    def exp(self) -> Any:
        raise self._unsupported("exp")

    def log(self) -> Any:
        raise self._unsupported("log")

    def sqrt(self) -> Any:
        raise self._unsupported("sqrt")

    def cos(self) -> Any:
        raise self._unsupported("cos")

    def sin(self) -> Any:
        raise self._unsupported("sin")

    def sign(self) -> int:
        """-1, 0 or 1; relu, steps, absolute values and maxima decide by it."""
        raise self._unsupported("sign")

    def __abs__(self) -> Any:
        itself: Any = self
        return self.sign() * itself

    def _unsupported(self, function: str) -> ArithmeticUnsupported:
        return ArithmeticUnsupported(f"{type(self).__name__} has no {function}")
