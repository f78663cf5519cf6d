"""The arithmetics a formula can run in, recognised from its operands.

A matrix is one of

* a ``torch.Tensor`` (*float*), on any device;
* a numpy object array whose entries are ``flint.fmpq`` or integers (*exact*), ``flint.arb`` (*ball*),
  sympy expressions (*symbolic*), or `verify.jets.Jet` over any of those;
* a `Constant`: an integer matrix such as an identity, which takes on the arithmetic of whatever it meets.

Formulas never name an arithmetic.  Scalars that are not integers are written `rational(2, 3)` and `sqrt(5)`, so
that they stay exact until they meet a matrix.  A new arithmetic is one more entry of `KINDS` with its scalar
functions; nothing else in the engine enumerates them.
"""

from __future__ import annotations

import contextlib
import contextvars
import enum
import hashlib
import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import numpy as np

from verify.errors import ArithmeticUnsupported, InputError
from verify.jets import Jet

if TYPE_CHECKING:
    import sympy
    import torch

#: Precision of ball arithmetic, in bits, unless a `precision` block says otherwise.
DEFAULT_BITS = 300
flint.ctx.prec = DEFAULT_BITS


class Kind(enum.IntEnum):
    """Arithmetics in the order in which mixed operands are promoted."""

    EXACT = 0
    SYMBOLIC = 1
    BALL = 2
    FLOAT = 3


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Evaluate ball arithmetic with `bits` bits inside the block."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def is_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor, without importing torch for those who never use it."""
    torch_module = sys.modules.get("torch")
    return torch_module is not None and isinstance(value, torch_module.Tensor)


def _is_symbolic(value: Any) -> bool:
    sympy_module = sys.modules.get("sympy")
    return sympy_module is not None and isinstance(value, sympy_module.Basic)


def scalar_kind(value: Any) -> Kind:
    """The arithmetic of one scalar entry; raises `InputError` for anything that is not one."""
    if isinstance(value, Jet):
        return Kind.FLOAT if isinstance(value.value, float) else scalar_kind(value.value)
    if isinstance(value, flint.arb):
        return Kind.BALL
    if isinstance(value, (int, np.integer, flint.fmpq, flint.fmpz, Fraction)):
        return Kind.EXACT
    if _is_symbolic(value):
        return Kind.SYMBOLIC
    raise InputError(
        "entries of a matrix",
        "integers, flint.fmpq, flint.arb, sympy expressions or jets (floats belong in a torch tensor)",
        f"{type(value).__name__} {value!r}",
    )


def kind_of(*operands: Any) -> Kind:
    """The arithmetic in which an expression of these operands is evaluated."""
    kind = Kind.EXACT
    for operand in operands:
        if is_tensor(operand):
            return Kind.FLOAT
        if isinstance(operand, np.ndarray):
            for entry in operand.flat:
                if type(entry) is not int:
                    kind = max(kind, scalar_kind(entry))
        elif not isinstance(operand, (Constant, Surd)):
            kind = max(kind, scalar_kind(operand))
    return kind


def has_jets(array: Any) -> bool:
    """Whether any entry of an object array is a jet."""
    return isinstance(array, np.ndarray) and any(isinstance(entry, Jet) for entry in array.flat)


# -- scalars and matrices that have no arithmetic of their own ---------------------------------------------------------


class _Adaptable:
    """Base of values that take the arithmetic of the other operand."""

    __array_ufunc__ = None  # numpy object arrays hand the operation over to us

    def adapt(self, other: Any) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self.adapt(other) + _settled(other)

    def __radd__(self, other: Any) -> Any:
        return _settled(other) + self.adapt(other)

    def __sub__(self, other: Any) -> Any:
        return self.adapt(other) - _settled(other)

    def __rsub__(self, other: Any) -> Any:
        return _settled(other) - self.adapt(other)

    def __mul__(self, other: Any) -> Any:
        return self.adapt(other) * _settled(other)

    def __rmul__(self, other: Any) -> Any:
        return _settled(other) * self.adapt(other)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tensor = next(arg for arg in args if is_tensor(arg))
        return func(*(arg.adapt(tensor) if isinstance(arg, _Adaptable) else arg for arg in args), **(kwargs or {}))


def _settled(other: Any) -> Any:
    return other.array if isinstance(other, Constant) else other


class Constant(_Adaptable):
    """A matrix of integers or rationals that adapts to the arithmetic, dtype and device of what it is combined with.

    Shape (m, n).  Produced by `verify.matrix.eye`, `commutation_matrix` and their like.
    """

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array, dtype=object)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def T(self) -> Constant:
        return Constant(self.array.T)

    def __getitem__(self, key: Any) -> Constant:
        return Constant(self.array[key])

    def reshape(self, *shape: int) -> Constant:
        return Constant(self.array.reshape(*shape))

    def sum(self, axis: int) -> Constant:
        return Constant(self.array.sum(axis))

    def adapt(self, other: Any) -> Any:
        """This matrix in the arithmetic of `other`."""
        if is_tensor(other):
            torch = sys.modules["torch"]
            return torch.tensor(midpoints(self.array), dtype=other.dtype, device=other.device)
        return self.array

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Constant):
            return Constant(self.array @ other.array)
        return self.adapt(other) @ other

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.adapt(other)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (int, Constant)):
            return Constant(self.array * _settled(other))
        if isinstance(other, Surd):
            return other * self
        return super().__mul__(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return rational(1) / other * self if isinstance(other, (int, Surd)) else self.adapt(other) / other

    def __add__(self, other: Any) -> Any:
        return Constant(self.array + other.array) if isinstance(other, Constant) else super().__add__(other)

    def __sub__(self, other: Any) -> Any:
        return Constant(self.array - other.array) if isinstance(other, Constant) else super().__sub__(other)

    def __neg__(self) -> Constant:
        return Constant(-self.array)

    def __repr__(self) -> str:
        return f"Constant({self.array.tolist()!r})"


class Surd(_Adaptable):
    """The exact scalar ``coefficient * sqrt(radicand)``; closed under products and quotients with rationals."""

    def __init__(self, coefficient: Fraction | int, radicand: int = 1) -> None:
        if radicand < 0:
            raise InputError("radicand", "an integer >= 0", repr(radicand))
        root = math.isqrt(radicand)
        if root * root == radicand:
            coefficient, radicand = coefficient * root, 1
        self.coefficient = Fraction(coefficient)
        self.radicand = radicand

    @property
    def T(self) -> Surd:
        return self

    def adapt(self, other: Any) -> Any:
        """This scalar in the arithmetic of `other`."""
        if is_tensor(other):
            return float(self.coefficient) * math.sqrt(self.radicand)
        if isinstance(other, Constant):
            return self.as_scalar(Kind.EXACT)
        return self.as_scalar(kind_of(other))

    def as_scalar(self, kind: Kind) -> Any:
        """This scalar as an entry of the arithmetic `kind`."""
        numerator, denominator = self.coefficient.numerator, self.coefficient.denominator
        if kind is Kind.BALL:
            return flint.arb(flint.fmpq(numerator, denominator)) * flint.arb(self.radicand).sqrt()
        if kind is Kind.SYMBOLIC:
            import sympy

            return sympy.Rational(numerator, denominator) * sympy.sqrt(self.radicand)
        if kind is Kind.FLOAT:
            return float(self.coefficient) * math.sqrt(self.radicand)
        if self.radicand != 1:
            raise ArithmeticUnsupported(
                f"sqrt({self.radicand}) is irrational: exact arithmetic needs a perfect square here"
            )
        return flint.fmpq(numerator, denominator)

    def _times(self, other: Any) -> Any:
        if isinstance(other, Surd):
            return Surd(self.coefficient * other.coefficient, self.radicand * other.radicand)
        if isinstance(other, (int, Fraction)):
            return Surd(self.coefficient * other, self.radicand)
        if isinstance(other, Constant):
            return Constant(other.array * self.as_scalar(Kind.EXACT))
        return other * self.adapt(other)

    __mul__ = _times
    __rmul__ = _times

    def _inverse(self) -> Surd:
        return Surd(1 / (self.coefficient * self.radicand), self.radicand)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Surd):
            return self * other._inverse()
        if isinstance(other, (int, Fraction)):
            return Surd(self.coefficient / other, self.radicand)
        return self.adapt(other) / other

    def __rtruediv__(self, other: Any) -> Any:
        return self._inverse() * other

    def __neg__(self) -> Surd:
        return Surd(-self.coefficient, self.radicand)

    def _plus(self, other: Any, sign: int) -> Any:
        if isinstance(other, (int, Fraction)):
            other = Surd(other)
        if isinstance(other, Surd):
            if 0 in (self.coefficient, other.coefficient):
                return self if other.coefficient == 0 else other * sign
            if self.radicand != other.radicand:
                raise ArithmeticUnsupported("sums of different square roots are not kept exact")
            return Surd(self.coefficient + sign * other.coefficient, self.radicand)
        return self.adapt(other) + sign * _settled(other)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def _sympy_(self) -> Any:
        return self.as_scalar(Kind.SYMBOLIC)  # without it sympy would take the float

    def __float__(self) -> float:
        return float(self.coefficient) * math.sqrt(self.radicand)

    def __repr__(self) -> str:
        return f"{self.coefficient}" if self.radicand == 1 else f"{self.coefficient}*sqrt({self.radicand})"


def rational(numerator: int, denominator: int = 1) -> Surd:
    """The exact scalar numerator / denominator, to be combined with matrices of any arithmetic."""
    if not isinstance(numerator, int):
        raise InputError("numerator", "an integer", repr(numerator))
    if not isinstance(denominator, int) or denominator == 0:
        raise InputError("denominator", "a nonzero integer", repr(denominator))
    return Surd(Fraction(numerator, denominator))


# -- scalar functions --------------------------------------------------------------------------------------------------

_free: contextvars.ContextVar[int | None] = contextvars.ContextVar("free_exponentials", default=None)


@contextlib.contextmanager
def free_exponentials(seed: int) -> Iterator[None]:
    """Inside the block, exp of a rational t is an arbitrary positive rational E(t), with E' = E, instead of an error.

    An identity that holds for every such E holds for exp, and can be decided in exact arithmetic: softmax rows become
    free points of the simplex, the matrix exponential a polynomial with free coefficients and constant term I.  The
    additive law exp(a + b) = exp(a) exp(b) is not available, so an identity that needs it fails here although true.
    """
    token = _free.set(seed)
    try:
        yield
    finally:
        _free.reset(token)


def free_rational(label: str) -> flint.fmpq:
    """A positive rational up to 2^11 that depends on the active seed and on `label` alone."""
    digest = hashlib.sha256(f"{_free.get()}:{label}".encode()).digest()
    return flint.fmpq(1 + int.from_bytes(digest[:4], "big") % 2**21, 2**10)


def exponentials_are_free() -> bool:
    """Whether a `free_exponentials` block is active."""
    return _free.get() is not None


def _exp_scalar(x: Any) -> Any:
    if isinstance(x, Jet):
        value = _exp_scalar(x.value)
        return x.chain(value, value, value)
    if isinstance(x, float):
        return math.exp(x)
    if isinstance(x, flint.arb):
        return x.exp()
    if _is_symbolic(x):
        import sympy

        return sympy.exp(x)
    if x == 0:
        return flint.fmpq(1)
    if exponentials_are_free():
        return free_rational(f"exp {flint.fmpq(x)}")
    raise ArithmeticUnsupported(
        "exp of a nonzero rational is irrational: evaluate in balls, or within free_exponentials"
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
    if isinstance(x, flint.arb):
        return x.sqrt()
    if _is_symbolic(x):
        import sympy

        return sympy.sqrt(x)
    return _rational_sqrt(x)


def sign_of(x: Any) -> int:
    """The sign (-1, 0, 1) of a real scalar; raises when a ball does not determine it."""
    if isinstance(x, Jet):
        return sign_of(x.value)
    if isinstance(x, flint.arb):
        if x > 0:
            return 1
        if x < 0:
            return -1
        if x.is_zero():
            return 0
        raise ArithmeticUnsupported(f"the sign of {x} is not determined at this precision")
    if _is_symbolic(x):
        if x.is_positive:
            return 1
        if x.is_negative:
            return -1
        if x.is_zero:
            return 0
        raise ArithmeticUnsupported(f"the sign of {x} is not known")
    return (x > 0) - (x < 0)


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


def elementwise(scalar_function: Callable[[Any], Any], x: Any) -> Any:
    """Apply a scalar function to an object array, a constant or a single scalar."""
    if isinstance(x, Constant):
        x = x.array
    if isinstance(x, np.ndarray):
        result = np.empty(x.shape, dtype=object)
        for index, entry in np.ndenumerate(x):
            result[index] = scalar_function(entry)
        return result
    return scalar_function(x)


def _promoted(x: Any) -> Any:
    """Exact entries among balls or symbols lifted to the arithmetic of the others; any shape."""
    x = _settled(x)
    kind = kind_of(x)

    def lifted(entry: Any) -> Any:
        if isinstance(entry, Jet):
            return Jet(lifted(entry.value), entry.gradient, entry.hessian)
        if isinstance(entry, float):  # inside a jet
            return entry
        if scalar_kind(entry) is not Kind.EXACT:
            return entry
        q = exact_scalar(entry)
        return Surd(Fraction(int(q.p), int(q.q))).as_scalar(kind)

    return x if kind is Kind.EXACT else elementwise(lifted, x)


def exp(x: Any) -> Any:
    """Entrywise exponential, any shape."""
    return x.exp() if is_tensor(x) else elementwise(_exp_scalar, _promoted(x))


def log(x: Any) -> Any:
    """Entrywise natural logarithm of floats or balls, any shape."""
    return x.log() if is_tensor(x) else elementwise(_log_scalar, x)


def _log_scalar(x: Any) -> Any:
    if not isinstance(x, flint.arb):
        raise ArithmeticUnsupported("logarithms of rationals are irrational: evaluate in balls")
    return x.log()


def sqrt(x: Any) -> Any:
    """Entrywise square root, any shape; of a Python integer, the exact scalar that adapts to its partner."""
    if isinstance(x, int):
        return Surd(1, x)
    return x.sqrt() if is_tensor(x) else elementwise(_sqrt_scalar, _promoted(x))


def relu(x: Any) -> Any:
    """Entrywise max(x, 0), with derivative 0 at 0, any shape."""
    return x.relu() if is_tensor(x) else elementwise(_relu_scalar, x)


def step(x: Any) -> Any:
    """Entrywise derivative of relu, with the value 0 at 0, any shape."""
    return (x > 0).to(x.dtype) if is_tensor(x) else elementwise(_step_scalar, x)


def absolute(x: Any) -> Any:
    """Entrywise absolute value, any shape."""
    return x.abs() if is_tensor(x) else elementwise(_abs_scalar, x)


def total(x: Any) -> Any:
    """The sum of all entries, a scalar."""
    return x.sum() if not isinstance(x, Constant) else int(x.array.sum())


def maximum(x: Any) -> Any:
    """The largest entry, a scalar; in balls an enclosure of it."""
    if is_tensor(x):
        return x.max()
    if has_jets(x):
        raise ArithmeticUnsupported("the maximum of jets is not differentiable where two entries tie")
    entries = list(_settled(x).flat)
    if kind_of(_settled(x)) is Kind.BALL:
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


# -- conversions: the same numbers in every arithmetic -----------------------------------------------------------------


def to_tensor(array: np.ndarray, *, dtype: torch.dtype, device: str = "cpu") -> torch.Tensor:
    """A float array (or an exact object array) as a tensor of the same shape."""
    import torch

    return torch.as_tensor(np.asarray(array, dtype=np.float64), dtype=dtype, device=device)


def exact_scalar(value: Any) -> flint.fmpq:
    """A finite float, integer, fraction or surd with rational value as ``flint.fmpq``, without rounding."""
    if isinstance(value, Surd):
        return value.as_scalar(Kind.EXACT)
    if isinstance(value, (flint.fmpq, flint.fmpz)):
        return flint.fmpq(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError("value", "a finite number", repr(value))
    fraction = Fraction(value)
    return flint.fmpq(int(fraction.numerator), int(fraction.denominator))


def to_rationals(array: Any) -> np.ndarray:
    """An array of floats, integers or fractions as an object array of exact rationals, same shape."""
    return elementwise(exact_scalar, np.asarray(array, dtype=object))


def to_balls(array: Any) -> np.ndarray:
    """An array of floats, integers or rationals as an object array of balls of radius zero or one rounding, same shape."""
    return elementwise(lambda value: flint.arb(exact_scalar(value)), np.asarray(array, dtype=object))


def to_symbols(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """An object array of real sympy symbols ``name_i_j`` with the given shape."""
    import sympy

    result = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        result[index] = sympy.Symbol("_".join([name, *map(str, index)]), real=True)
    return result


def simplified(array: np.ndarray) -> np.ndarray:
    """Each symbolic entry simplified."""
    import sympy

    def simplify(entry: sympy.Expr) -> Any:
        return sympy.simplify(entry)

    return elementwise(simplify, array)


def midpoint(x: Any) -> float:
    """The float nearest to an exact or ball scalar."""
    if isinstance(x, flint.arb):
        return float(x.mid())
    return float(Fraction(int(x.p), int(x.q))) if isinstance(x, flint.fmpq) else float(x)


def midpoints(array: Any) -> np.ndarray:
    """The float64 array nearest to an object array."""
    array = np.asarray(_settled(array), dtype=object)
    if set(map(type, array.flat)) <= {int, float}:
        return array.astype(np.float64)
    return np.array([midpoint(entry) for entry in array.flat], dtype=np.float64).reshape(array.shape)


def radius(x: Any) -> float:
    """The radius of a ball, 0 for exact scalars."""
    return float(x.rad()) if isinstance(x, flint.arb) else 0.0


def largest_radius(array: Any) -> float:
    """The largest radius among the entries of an object array."""
    return max((radius(entry) for entry in np.asarray(_settled(array), dtype=object).flat), default=0.0)
