"""Functions of scalars, applied to every entry: exponential, roots, signs; and the sum and the largest of all entries."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from verify.arithmetics.adaptable import elementwise, settled
from verify.arithmetics.constants import Constant, Surd
from verify.arithmetics.conversions import exact_scalar
from verify.arithmetics.free_exponentials import exponentials_are_free, free_rational
from verify.arithmetics.jets import Jet
from verify.arithmetics.kinds import Kind, has_jets, is_symbolic, kind_of, scalar_kind
from verify.arithmetics.numbers import Number
from verify.arithmetics.rational_functions import Quotient
from verify.arithmetics.tracing import primitive
from verify.vocabulary.errors import ArithmeticUnsupported
from verify.vocabulary.shapes import is_tensor

#: The smallest positive number of the float format that has so many bits of precision.
SUBNORMAL = {53: 2.0**-1074, 24: 2.0**-149}


@primitive
def exp(x: Any) -> Any:
    """Entrywise exponential, any shape."""
    return x.exp() if is_tensor(x) else elementwise(_exp_scalar, _promoted(x))


@primitive
def log(x: Any) -> Any:
    """Entrywise natural logarithm of floats or balls, any shape."""
    return x.log() if is_tensor(x) else elementwise(_log_scalar, x)


@primitive
def cos(x: Any) -> Any:
    """Entrywise cosine of floats, balls or sympy expressions, any shape."""
    return x.cos() if is_tensor(x) else elementwise(_cos_scalar, _promoted(x))


@primitive
def sin(x: Any) -> Any:
    """Entrywise sine of floats, balls or sympy expressions, any shape."""
    return x.sin() if is_tensor(x) else elementwise(_sin_scalar, _promoted(x))


@primitive
def sqrt(x: Any) -> Any:
    """Entrywise square root, any shape; of a Python integer, the exact scalar that adapts to its partner."""
    if isinstance(x, int):
        return Surd(1, x)
    if hasattr(x, "__sym_sqrt__"):  # a size that torch has as a symbol
        return x**0.5
    return x.sqrt() if is_tensor(x) else elementwise(_sqrt_scalar, _promoted(x))


@primitive
def relu(x: Any) -> Any:
    """Entrywise max(x, 0), with derivative 0 at 0, any shape."""
    return x.relu() if is_tensor(x) else elementwise(_relu_scalar, x)


@primitive
def step(x: Any) -> Any:
    """Entrywise derivative of relu, with the value 0 at 0, any shape."""
    return (x > 0).to(x.dtype) if is_tensor(x) else elementwise(_step_scalar, x)


@primitive
def absolute(x: Any) -> Any:
    """Entrywise absolute value, any shape."""
    return x.abs() if is_tensor(x) else elementwise(_abs_scalar, x)


def total(x: Any) -> Any:
    """The sum of all entries, a scalar."""
    return x.sum() if not isinstance(x, Constant) else int(x.array.sum())


@primitive
def vanishes(A: Any) -> bool:
    """Whether every entry is 0; a matrix whose norms are bounded is taken not to, and that is recorded."""
    entries = (A.array if isinstance(A, Constant) else A).reshape(-1)
    if not is_tensor(entries) and kind_of(entries) is Kind.POLYNOMIAL:
        raise ArithmeticUnsupported("whether entries that are indeterminates are all 0")
    return all(bool(entry == 0) for entry in entries)


@primitive
def maximum(x: Any) -> Any:
    """The largest entry, a scalar; in balls an enclosure of it."""
    if is_tensor(x):
        return x.max()
    if has_jets(x):
        raise ArithmeticUnsupported("the maximum of jets is not differentiable where two entries tie")
    entries = list(settled(x).flat)
    if kind_of(settled(x)) is Kind.BALL:
        best = flint.arb(entries[0])
        for entry in entries[1:]:
            best = best.max(flint.arb(entry))
        return best
    return max(entries, key=_SortKey)


class _SortKey:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _SortKey) -> bool:
        return sign_of(self.value - other.value) < 0


def sign_of(x: Any) -> int:
    """The sign (-1, 0, 1) of a real scalar; raises when a ball does not determine it."""
    if isinstance(x, Jet):
        return sign_of(x.value)
    if isinstance(x, Number):
        return x.sign()
    if isinstance(x, flint.arb):
        if x > 0:
            return 1
        if x < 0:
            return -1
        if x.is_zero():
            return 0
        raise ArithmeticUnsupported(f"the sign of {x} is not determined at this precision")
    if is_symbolic(x):
        if x.is_positive:
            return 1
        if x.is_negative:
            return -1
        if x.is_zero:
            return 0
        raise ArithmeticUnsupported(f"the sign of {x} is not known")
    return (x > 0) - (x < 0)


def _exp_scalar(x: Any) -> Any:
    if isinstance(x, Jet):
        value = _exp_scalar(x.value)
        return x.chain(value, value, value)
    if isinstance(x, float):
        return math.exp(x)
    if isinstance(x, flint.arb):
        # at the precision of a float format the radius holds what floats lose where they underflow, which balls do not
        lost = SUBNORMAL.get(flint.ctx.prec)
        return x.exp() if lost is None else x.exp() + flint.arb(0, lost)
    if isinstance(x, (Quotient, Number)):
        return x.exp()
    if is_symbolic(x):
        import sympy

        return sympy.exp(x)
    if x == 0:
        return flint.fmpq(1)
    if exponentials_are_free():
        return free_rational(f"exp {flint.fmpq(x)}")
    raise ArithmeticUnsupported(
        "exp of a nonzero rational is irrational: evaluate in balls, or within free_exponentials"
    )


def _log_scalar(x: Any) -> Any:
    if not isinstance(x, (flint.arb, Number)):
        raise ArithmeticUnsupported("logarithms are irrational: evaluate in balls")
    return x.log()


def _cos_scalar(x: Any) -> Any:
    if isinstance(x, Jet):
        value = _cos_scalar(x.value)
        return x.chain(value, -_sin_scalar(x.value), -value)
    return _trigonometric("cos", x)


def _sin_scalar(x: Any) -> Any:
    if isinstance(x, Jet):
        value = _sin_scalar(x.value)
        return x.chain(value, _cos_scalar(x.value), -value)
    return _trigonometric("sin", x)


def _trigonometric(name: str, x: Any) -> Any:
    if isinstance(x, float):
        return getattr(math, name)(x)
    if isinstance(x, (flint.arb, Number)):
        return getattr(x, name)()
    if is_symbolic(x):
        import sympy

        return getattr(sympy, name)(x)
    if not isinstance(x, Quotient) and x == 0:
        return flint.fmpq(1 if name == "cos" else 0)
    raise ArithmeticUnsupported(
        f"{name} of a nonzero rational is irrational: evaluate in balls, or make the rotation from a rational t, with the"
        " cosine (1 - t^2) / (1 + t^2) and the sine 2 t / (1 + t^2)"
    )


def _rational_sqrt(x: Any) -> flint.fmpq:
    q = exact_scalar(x)
    p, r = int(q.p), int(q.q)
    if p >= 0 and math.isqrt(p) ** 2 == p and math.isqrt(r) ** 2 == r:
        return flint.fmpq(math.isqrt(p), math.isqrt(r))
    raise ArithmeticUnsupported(f"sqrt({q}) is irrational: exact arithmetic needs a rational square here")


def _sqrt_scalar(x: Any) -> Any:
    if isinstance(x, Jet):
        root = _sqrt_scalar(x.value)
        first = 1 / (2 * root)
        return x.chain(root, first, -first / (2 * x.value))
    if isinstance(x, float):
        return math.sqrt(x)
    if isinstance(x, (flint.arb, Quotient, Number)):
        return x.sqrt()
    if is_symbolic(x):
        import sympy

        return sympy.sqrt(x)
    return _rational_sqrt(x)


def _relu_scalar(x: Any) -> Any:
    return x if sign_of(x) > 0 else 0 * x


def _step_scalar(x: Any) -> int:
    return 1 if sign_of(x) > 0 else 0


def _abs_scalar(x: Any) -> Any:
    if isinstance(x, Jet):
        sign = sign_of(x)
        if sign == 0:
            raise ArithmeticUnsupported("the absolute value has no derivative at zero")
        return sign * x
    return abs(x)


def _promoted(x: Any) -> Any:
    """Exact entries among balls or symbols lifted to the arithmetic of the others; any shape."""
    x = settled(x)
    if isinstance(x, np.ndarray) and set(map(type, x.flat)) == {flint.arb}:  # most are
        return x
    kind = kind_of(x)

    def lifted(entry: Any) -> Any:
        if isinstance(entry, Jet):
            return Jet(lifted(entry.value), entry.gradient, entry.hessian)
        if isinstance(entry, float):  # inside a jet
            return entry
        if scalar_kind(entry) is not Kind.EXACT:
            return entry
        q = exact_scalar(entry)
        return Surd(Fraction(int(q.p), int(q.q))).as_scalar(kind, x)

    return x if kind is Kind.EXACT else elementwise(lifted, x)
