"""The arithmetics under test: the same integer matrices lifted into each of them, and what "equal" means there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
import pytest
import sympy
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from verify.arithmetics import DEFAULT_BITS, Constant, Jet, Surd, precision, to_balls, to_rationals, to_tensor
from verify.arithmetics.jets import gradient_part, hessian_part, value_part, variables

torch.set_num_threads(1)

#: Deterministic and without a clock: the first torch.func call of a process takes a second.
quietly = settings(
    deadline=None,
    derandomize=True,
    max_examples=10,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def _symbols(array: np.ndarray) -> np.ndarray:
    """Integers, the first of them made a symbol, so that symbolic code is really taken."""
    result = np.array([sympy.Integer(int(x)) for x in array.flat], dtype=object).reshape(array.shape)
    if result.size:
        result.flat[0] = result.flat[0] + sympy.Symbol("x", real=True)
    return result


def _jets(lift: Callable[[Any], np.ndarray], order: int) -> Callable[[np.ndarray], np.ndarray]:
    """Jets of `order` in four shared directions: entry k moves along direction k mod 4."""

    def lifted(array: np.ndarray) -> np.ndarray:
        directions = variables([lift(np.zeros(4, dtype=int))], order)[0]
        values = lift(array)
        result = np.empty(array.shape, dtype=object)
        for k, index in enumerate(np.ndindex(array.shape)):
            result[index] = directions[k % 4] + values[index]
        return result

    return lifted


@dataclass(frozen=True)
class Arithmetic:
    """A name and the lift of an integer matrix; `rounding` bounds relative float errors, None where equality is decided."""

    name: str
    lift: Callable[[np.ndarray], Any]
    rounding: float | None = None

    def __repr__(self) -> str:
        return self.name


FLOAT64 = Arithmetic("float64", lambda a: to_tensor(a, dtype=torch.float64), 1e-12)
FLOAT32 = Arithmetic("float32", lambda a: to_tensor(a, dtype=torch.float32), 1e-4)
EXACT = Arithmetic("exact", to_rationals)
BALL = Arithmetic("ball", to_balls)
SYMBOLIC = Arithmetic("symbolic", _symbols)
JETS = [
    Arithmetic(f"order-{order} jets over {name}", _jets(lift, order))
    for order in (1, 2)
    for name, lift in (("balls", to_balls), ("rationals", to_rationals))
]
BALL_JETS, EXACT_JETS = JETS[0::2], JETS[1::2]
FLOATS = [FLOAT64, FLOAT32]
EVERY = [*FLOATS, EXACT, BALL, SYMBOLIC, *JETS]


def over(*arithmetics: Arithmetic) -> Any:
    """Parametrise a test over arithmetics."""
    return pytest.mark.parametrize("arithmetic", arithmetics, ids=repr)


def integer_matrices(m: int, n: int, bound: int = 3) -> st.SearchStrategy[np.ndarray]:
    """Integer matrices of shape (m, n) with entries of absolute value at most `bound`."""
    # fill would repeat entries, and repeated entries hide transposes
    return st.lists(st.integers(-bound, bound), min_size=m * n, max_size=m * n).map(
        lambda entries: np.array(entries, dtype=int).reshape(m, n)
    )


sizes = st.integers(1, 3)


def _parts(entry: Any, like: Any) -> list[Any]:
    """Value, gradient and Hessian of an entry, as one list of scalars."""
    if not isinstance(like, Jet):
        return [entry]
    count = like.gradient.shape[0]
    parts = [value_part(entry), *gradient_part(entry, count)]
    return parts if like.hessian is None else [*parts, *hessian_part(entry, count).flat]


def _scalars_agree(a: Any, b: Any) -> bool:
    if isinstance(a, flint.arb) or isinstance(b, flint.arb):
        difference = flint.arb(a) - flint.arb(b)
        return bool(difference.contains(0)) and float(difference.rad()) < 1e-60 * (1 + abs(float(flint.arb(a).mid())))
    if isinstance(a, sympy.Basic) or isinstance(b, sympy.Basic):
        return bool(sympy.simplify(a - b) == 0)
    return bool(a == b)


def plain(value: Any) -> Any:
    """Constants and surds as ordinary object arrays."""
    if isinstance(value, Constant):
        return value.array
    return np.asarray(flint.arb(0) + value if isinstance(value, Surd) else value, dtype=object)


def assert_same(a: Any, b: Any, arithmetic: Arithmetic) -> None:
    """Equal shapes and entries: up to rounding in floats, overlapping narrow balls, identical otherwise."""
    if arithmetic.rounding is not None:
        tensor = a if isinstance(a, torch.Tensor) else b
        a, b = (x if isinstance(x, torch.Tensor) else x.adapt(tensor) for x in (a, b))
        assert a.dtype == b.dtype == arithmetic.lift(np.zeros((1, 1))).dtype
        assert tuple(a.shape) == tuple(b.shape)
        scale = max(1.0, float(a.abs().max()), float(b.abs().max())) if a.numel() else 1.0
        assert not a.numel() or float((a - b).abs().max()) <= arithmetic.rounding * scale
        return
    a, b = plain(a), plain(b)
    assert a.shape == b.shape
    for x, y in zip(a.flat, b.flat, strict=True):
        like = x if isinstance(x, Jet) else y
        for p, q in zip(_parts(x, like), _parts(y, like), strict=True):
            assert _scalars_agree(p, q), f"{p} is not {q}"


def assert_contains(balls: Any, exact: Any) -> None:
    """Every ball contains the rational at its place."""
    balls, exact = plain(balls), plain(exact)
    assert balls.shape == exact.shape
    with precision(4 * DEFAULT_BITS):  # so that the rounding of the rational itself does not decide
        for ball, number in zip(balls.flat, exact.flat, strict=True):
            assert flint.arb(ball).contains(flint.arb(flint.fmpq(number)))
