"""Operands without an arithmetic of their own: they take on that of what they are combined with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from verify.vocabulary.shapes import is_tensor


class Adaptable:
    """Base of values that take the arithmetic of the other operand."""

    __array_ufunc__ = None  # numpy object arrays hand the operation over to us

    def adapt(self, other: Any) -> Any:
        """This operand in the arithmetic of `other`."""
        raise NotImplementedError

    def settled(self) -> Any:
        """What numpy may combine with entries of any arithmetic."""
        return self

    def __add__(self, other: Any) -> Any:
        return self.adapt(other) + settled(other)

    def __radd__(self, other: Any) -> Any:
        return settled(other) + self.adapt(other)

    def __sub__(self, other: Any) -> Any:
        return self.adapt(other) - settled(other)

    def __rsub__(self, other: Any) -> Any:
        return settled(other) - self.adapt(other)

    def __mul__(self, other: Any) -> Any:
        return self.adapt(other) * settled(other)

    def __rmul__(self, other: Any) -> Any:
        return settled(other) * self.adapt(other)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tensor = next(arg for arg in args if is_tensor(arg))
        return func(*(arg.adapt(tensor) if isinstance(arg, Adaptable) else arg for arg in args), **(kwargs or {}))


def settled(value: Any) -> Any:
    """`value`, a constant matrix as the object array of its entries."""
    return value.settled() if isinstance(value, Adaptable) else value


def elementwise(scalar_function: Callable[[Any], Any], x: Any) -> Any:
    """Apply a scalar function to an object array, a constant or a single scalar."""
    x = settled(x)
    if isinstance(x, np.ndarray):
        result = np.empty(x.shape, dtype=object)
        for index, entry in np.ndenumerate(x):
            result[index] = scalar_function(entry)
        return result
    return scalar_function(x)
