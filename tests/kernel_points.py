"""Certificates in numbers: expressions as docs/certificates.md has them, and normal forms of the checker, at given points.

Both are evaluated on their own, with 36 digits; a derivative of an expression is a difference quotient, so that nothing of the
checker's rules enters. What is not defined (a root of a negative number, a power of 0, an inverse that does not exist) raises
`Undefined`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath

from verify.kernel.expressions import Language
from verify.kernel.normal_forms import Form

DIGITS = 36
STEP = mpmath.mpf(10) ** -12


class Undefined(Exception):
    """An expression has no value at a point."""


def power(base: Any, exponent: Fraction) -> Any:
    """A real power, where there is one."""
    if (exponent < 0 and abs(base) < mpmath.mpf(10) ** -30) or (exponent.denominator > 1 and base < 0):
        raise Undefined
    if exponent.denominator == 1:
        return base ** int(exponent)
    return mpmath.power(base, mpmath.mpf(exponent.numerator) / exponent.denominator) if base else mpmath.mpf(0)


def function(head: str, values: Mapping[tuple[int, ...], Any], shape: Sequence[int], at: tuple[int, ...]) -> Any:
    """A function of the numbers over some indices, at one place."""
    places = list(itertools.product(*map(range, shape)))
    places = list(itertools.product(*map(range, shape)))
    if head == "softmax":
        return mpmath.exp(values[at]) / sum(mpmath.exp(values[place]) for place in places)
    if head == "dexpm":
        return _slope(values, shape[0], at)
    if head in ("inverse", "expm"):
        rows = list(itertools.product(*map(range, shape[: len(shape) // 2])))
        M = mpmath.matrix([[values[(*row, *column)] for column in rows] for row in rows])
        try:
            found = M**-1 if head == "inverse" else mpmath.expm(M, method="taylor")
        except ZeroDivisionError:
            raise Undefined from None
        return found[rows.index(at[: len(at) // 2]), rows.index(at[len(at) // 2 :])]
    x = values[()]
    if head == "log" and x <= 0:
        raise Undefined
    made = {
        "exp": mpmath.exp, "log": mpmath.log, "step": lambda x: mpmath.mpf(x > 0), "relu": lambda x: max(x, 0), "abs": abs,
    }  # fmt: skip
    return made[head](x)


def _slope(values: Any, n: int, at: tuple[int, ...]) -> Any:
    """The slope of exp at M along e_k e_l^T, as a corner of the exponential of blocks; M is a matrix of one row index."""
    i, k, m, j = at
    blocks = mpmath.zeros(2 * n)
    for a, b in itertools.product(range(n), repeat=2):
        blocks[a, b] = blocks[n + a, n + b] = values[(a, k, m, b)]
    blocks[k, n + m] = 1
    return mpmath.expm(blocks, method="taylor")[i, n + j]


def nodes() -> list[tuple[Any, Any]]:
    """Nodes and weights with which polynomials of degree 7 have their mean over a standard normal variable."""
    squares = [3 + side * mpmath.sqrt(6) for side in (1, -1)]
    return [(sign * mpmath.sqrt(square), 1 / (4 * square)) for square in squares for sign in (1, -1)]


class Point:
    """Sizes and entries of tensors: `value` evaluates expressions, `worth` normal forms of a language that declares them."""

    def __init__(self, sizes: Mapping[str, int], tensors: Mapping[str, Mapping[tuple[int, ...], Any]]) -> None:
        self.sizes, self.tensors = sizes, tensors

    def each(self, indices: Sequence[Sequence[str]]) -> Iterator[dict[str, int]]:
        """All values of indices, [name, size] each."""
        for at in itertools.product(*(range(self.sizes[size]) for _, size in indices)):
            yield {name: place for (name, _), place in zip(indices, at, strict=True)}

    def changed(self, name: str, entries: Mapping[tuple[int, ...], Any]) -> Point:
        """The point with other entries of a tensor."""
        return Point(self.sizes, {**self.tensors, name: {**self.tensors.get(name, {}), **entries}})

    def value(self, e: Any, at: Mapping[str, int]) -> Any:
        """An expression at values of its indices."""
        kind, *rest = e
        if kind in ("+", "*"):
            total = mpmath.mpf(kind == "*")
            for part in rest:
                total = total * self.value(part, at) if kind == "*" else total + self.value(part, at)
            return total
        return getattr(self, f"_{kind}")(at, *rest)

    def _q(self, at: Any, p: int, q: int) -> Any:
        return mpmath.mpf(p) / q

    def _size(self, at: Any, name: str) -> Any:
        return mpmath.mpf(self.sizes[name])

    def _delta(self, at: Any, i: str, j: str) -> Any:
        return mpmath.mpf(at[i] == at[j])

    def _unit(self, at: Any, place: int, i: str) -> Any:
        return mpmath.mpf(at[i] == place)

    def _t(self, at: Any, name: str, indices: list[str]) -> Any:
        return self.tensors[name][tuple(at[i] for i in indices)]

    def _sum(self, at: Any, index: list[str], e: Any) -> Any:
        return sum(self.value(e, {**at, **own}) for own in self.each([index]))

    def _power(self, at: Any, p: int, q: int, e: Any) -> Any:
        return power(self.value(e, at), Fraction(p, q))

    def _f(self, at: Any, head: str, arguments: Any, indices: list[str]) -> Any:
        ((own, e),) = arguments
        values = {tuple(places.values()): self.value(e, {**at, **places}) for places in self.each(own)}
        return function(head, values, [self.sizes[size] for _, size in own], tuple(at[i] for i in indices))

    def _diff(self, at: Any, name: str, indices: list[str], e: Any) -> Any:
        place = tuple(at[i] for i in indices)
        there = self.tensors[name][place]
        up, down = (self.changed(name, {place: there + h}).value(e, at) for h in (STEP, -STEP))
        return (up - down) / (2 * STEP)

    def _at(self, at: Any, name: str, indices: Any, point: Any, e: Any) -> Any:
        entries = {tuple(own.values()): self.value(point, {**at, **own}) for own in self.each(indices)}
        return self.changed(name, entries).value(e, at)

    def _mean(self, at: Any, name: str, variance: Any, e: Any) -> Any:
        root = mpmath.sqrt(self.value(variance, at))
        total = mpmath.mpf(0)
        for chosen in itertools.product(nodes(), repeat=len(self.tensors[name])):
            entries = {place: root * node for place, (node, _) in zip(self.tensors[name], chosen, strict=True)}
            total += mpmath.fprod(weight for _, weight in chosen) * self.changed(name, entries).value(e, at)
        return total

    def worth(self, language: Language, form: Form, at: Mapping[Any, int]) -> Any:
        """A normal form at values of its open indices."""
        total = mpmath.mpf(0)
        for key, c in form.items():
            summed = sorted({i for _, places, _ in key for i in places if i[0] < 0})
            for values in itertools.product(*(range(self.sizes[size]) for _, size in summed)):
                here = {**at, **dict(zip(summed, values, strict=True))}
                term = mpmath.mpf(Fraction(c).numerator) / Fraction(c).denominator
                for atom, places, p in key:
                    entry = self._atom(language, atom, tuple(here[i] for i in places), [i[1] for i in places])
                    term *= power(entry, Fraction(p))
                total += term
        return total

    def _atom(self, language: Language, atom: int, at: tuple[int, ...], sizes: list[str]) -> Any:
        algebra = language.algebra
        kind, payload, own = algebra.kinds[atom], algebra.payloads[atom], algebra.owns[atom]
        if kind in ("t", "positive"):
            return self.tensors[payload][at]
        if kind in ("size", "prime"):
            return mpmath.mpf(self.sizes[payload] if kind == "size" else payload)
        if kind == "delta":
            return mpmath.mpf(at[0] == at[1])
        if kind == "unit":
            return mpmath.mpf(at[0] == payload[0])
        values = {}
        for mine in itertools.product(*(range(self.sizes[size]) for size in sizes[:own])):
            places = (*mine, *at[own:])
            values[mine] = self.worth(language, payload, {(k, sizes[k]): place for k, place in enumerate(places)})
        if kind == "base":
            return values[()]
        return function(kind, values, [self.sizes[size] for size in sizes[:own]], at[:own])
