"""Expectations over matrices of independent normal entries, by adding up what Isserlis' theorem gives each monomial.

For numbers the function runs once on polynomials with rational coefficients, whose moments are known; on symbolic sizes the
same function runs on named tensors, and equal entries are paired.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from verify.arithmetics import Constant, form_of, rational
from verify.arithmetics.formal import is_guarded
from verify.matrix import concatenate
from verify.vocabulary.errors import InputError

#: A polynomial in the entries of the arguments: coefficients by exponents.
Moment = tuple[tuple[tuple[int, ...], Fraction], ...]


@dataclass(frozen=True)
class Normal:
    """A matrix (rows, columns) of independent normal entries of mean 0 and of one variance, a number or a quotient of sizes."""

    rows: Any
    columns: Any
    variance: Any = 1


class Drawn:
    """In the place of a generator of random numbers: hands out matrices that `make` gives by name, and notes their shapes.

    >>> drawn = Drawn(lambda name, rows, columns: name)
    >>> drawn.normal(2, 5, 3), drawn.normal(5, 1), drawn.shapes["draw3"]
    (['draw1', 'draw2'], 'draw3', (5, 1))
    """

    def __init__(self, make: Callable[[str, Any, Any], Any]) -> None:
        self.make = make
        self.shapes: dict[str, tuple[Any, Any]] = {}

    def normal(self, *shape: Any) -> Any:
        """A matrix of independent standard normal entries; of three sizes, a list of as many matrices as the first says."""
        if len(shape) == 3:
            return [self.normal(*shape[1:]) for _ in range(shape[0])]
        shape = tuple(size.expression if is_guarded(size) else size for size in shape)
        name = f"draw{len(self.shapes) + 1}"
        self.shapes[name] = (shape[0], shape[1])
        return self.make(name, *shape)


def standard_normal(generator: Any, like: Any, *shape: int) -> Any:
    """A tensor of independent N(0, 1) entries, of the type and on the device of `like`; in float64 where that is None.

    Of the given shape.  A generator that hands out matrices, for an expectation or for all that can be drawn, is asked for
    them.  So a claim need not ask itself which of the two it is handed.

    >>> standard_normal(Drawn(lambda name, rows, columns: (name, rows, columns)), None, 5, 3)
    ('draw1', 5, 3)
    """
    if isinstance(generator, Drawn):
        return generator.normal(*shape)
    import torch

    kind = (
        {"dtype": torch.float64, "device": generator.device}
        if like is None
        else {"dtype": like.dtype, "device": like.device}
    )
    return torch.randn(*shape, generator=generator, **kind)


def expected_over_draws(f: Callable[..., Any], make: Callable[[str, Any, Any], Any], **arguments: Any) -> Any:
    """E f(generator, arguments) over the standard normal matrices that f asks its generator for, shape as f's.

    f is polynomial in what it draws and in its arguments, which are matrices.  `make` gives matrices with which f runs once
    to see what it draws.
    """
    noted = Drawn(make)
    f(noted, **arguments)
    names = (*noted.shapes, *arguments)

    def drawing(**given: Any) -> Any:
        return f(Drawn(lambda name, *_: given[name]), **{name: given[name] for name in arguments})

    drawing.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    )
    return expectation(drawing, **{name: Normal(*shape) for name, shape in noted.shapes.items()})(**arguments)


def expectation(f: Callable[..., Any], **normals: Normal) -> Callable[..., Any]:
    """The function of the other arguments of f that returns E f over independent matrices `normals`, shape as f's.

    f is polynomial in the entries of all its arguments, with rational coefficients, and its value is a matrix.
    """
    for name in normals:
        if name not in inspect.signature(f).parameters:
            raise InputError("normals", f"some of {list(inspect.signature(f).parameters)}", repr(name))

    def mean(**arguments: Any) -> Any:
        sizes = [value for normal in normals.values() for value in (normal.rows, normal.columns, normal.variance)]
        form = form_of("expectation", *sizes, *arguments.values())
        if form is not None:
            return form(f, normals, arguments)
        shapes = tuple((name, tuple(value.shape)) for name, value in arguments.items())
        given = tuple((name, n.rows, n.columns, _fraction(n.variance)) for name, n in normals.items())
        rows, columns, moments = _moments(f, given, shapes)
        entries = [value[i : i + 1, j : j + 1] for value in arguments.values() for i, j in np.ndindex(*value.shape)]
        values = [_value(moment, entries) for moment in moments]
        lines = [concatenate(values[k * columns : (k + 1) * columns], axis=1) for k in range(rows)]
        return concatenate(lines, axis=0)

    return mean


def _fraction(variance: Any) -> Fraction:
    value = rational(1) * variance
    if value.radicand != 1:
        raise InputError("variance", "a rational number", repr(variance))
    return Fraction(value.coefficient)


@functools.lru_cache(maxsize=1024)
def _moments(
    f: Callable[..., Any],
    normals: tuple[tuple[str, int, int, Fraction], ...],
    shapes: tuple[tuple[str, tuple[int, int]], ...],
) -> tuple[int, int, list[Moment]]:
    """The shape of f and the expectation of each of its entries, a polynomial in the entries of its other arguments."""
    wanted = [*shapes, *((name, (rows, columns)) for name, rows, columns, _ in normals)]
    counts = [math.prod(shape) for _, shape in wanted]
    generators = iter(flint.fmpq_mpoly_ctx.get(("x", sum(counts)), "lex").gens())
    arguments = {}
    for name, shape in wanted:
        arguments[name] = np.empty(shape, dtype=object)
        for place in np.ndindex(*shape):
            arguments[name][place] = next(generators)
    value = np.asarray(f(**arguments), dtype=object)
    if value.ndim != 2:
        raise InputError("f", "a matrix", f"shape {value.shape}")
    own = sum(counts[: len(shapes)])
    variances = [variance for _, rows, columns, variance in normals for _ in range(rows * columns)]
    return (*value.shape, [_moment(entry, own, variances) for entry in value.flat])


def forget_moments() -> None:
    """Drop the moments that are kept, so that the next expectation takes its full time."""
    _moments.cache_clear()


def _moment(polynomial: Any, own: int, variances: list[Fraction]) -> Moment:
    """The expectation over all but the first `own` generators: E g^m = (m - 1)!! variance^(m / 2), 0 for odd m."""
    found: dict[tuple[int, ...], Fraction] = {}
    for powers, coefficient in polynomial.to_dict().items():
        exponents = tuple(map(int, powers))
        random = exponents[own:]
        if any(m % 2 for m in random):
            continue
        weight = Fraction(int(coefficient.p), int(coefficient.q))
        for m, variance in zip(random, variances, strict=True):
            if m:
                weight *= math.prod(range(1, m, 2)) * variance ** (m // 2)
        found[exponents[:own]] = found.get(exponents[:own], Fraction(0)) + weight
    return tuple((key, value) for key, value in found.items() if value)


def _value(moment: Moment, entries: list[Any]) -> Any:
    """A polynomial at given entries, each of shape (1, 1)."""
    total = entries[0] * 0 if entries else Constant([[0]])
    for exponents, coefficient in moment:
        term: Any = rational(coefficient.numerator, coefficient.denominator)
        for entry, exponent in zip(entries, exponents, strict=True):
            for _ in range(exponent):
                term = entry * term
        total = total + (term if any(exponents) else Constant([[1]]) * term)
    return total
