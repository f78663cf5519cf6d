"""Derivatives of a softmax in a certificate, read by what they are: polynomials in deltas and entries of its value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from syntax import ONE, NotExported

Term = tuple[Any, ...]
Names = tuple[str, ...]
#: Products of deltas ("d", i, j) and entries ("t", name, i, j), sorted, each with its factor.
Polynomial = dict[tuple[tuple[str, ...], ...], Fraction]


class NotRead(NotExported):
    """An expression that the vocabulary of matrices does not reach; the text is the reason."""


def factors_of(e: list[Any]) -> Iterator[Any]:
    if e[0] == "*":
        for part in e[1:]:
            yield from factors_of(part)
    else:
        yield e


def _sum_of(a: Polynomial, b: Polynomial) -> Polynomial:
    made = {key: a.get(key, Fraction(0)) + b.get(key, Fraction(0)) for key in {**a, **b}}
    return {key: value for key, value in made.items() if value}


def _product_of(a: Polynomial, b: Polynomial) -> Polynomial:
    made: Polynomial = {}
    for (one, p), (two, q) in itertools.product(a.items(), b.items()):
        made = _sum_of(made, {tuple(sorted((*one, *two))): p * q})
    return made


def _second_derivative(name: str, i: str, j: str, l: str, n: str) -> Polynomial:
    """(d[j,l] - A[i,l]) (d[j,n] - A[i,n]) - A[i,l] (d[l,n] - A[i,n])"""

    def difference(one: str, other: str) -> Polynomial:
        return {(("d", *sorted((one, other))),): ONE, (("t", name, i, other),): -ONE}

    return _sum_of(
        _product_of(difference(j, l), difference(j, n)), _product_of({(("t", name, i, l),): -ONE}, difference(l, n))
    )


def with_names(names: dict[str, str], e: Any, labels: Iterator[int]) -> Any:
    """The expression with other names for free indices; bound ones get new names."""
    kind, *rest = e
    if kind in ("q", "size"):
        return e
    if kind == "delta":
        return [kind, *(names.get(i, i) for i in rest)]
    if kind == "unit":
        return [kind, rest[0], names.get(rest[1], rest[1])]
    if kind == "t":
        return [kind, rest[0], [names.get(i, i) for i in rest[1]]]
    if kind == "softmax hessian":
        return [kind, with_names(names, rest[0], labels), *({names.get(i, i) for i in part} for part in rest[1:])]
    if kind in "+*":
        return [kind, *(with_names(names, part, labels) for part in rest)]
    if kind == "power":
        return [kind, rest[0], rest[1], with_names(names, rest[2], labels)]
    if kind == "diff":
        return [kind, rest[0], [names.get(i, i) for i in rest[1]], with_names(names, rest[2], labels)]

    def fresh(pairs: Any) -> tuple[list[list[str]], dict[str, str]]:
        new = [[f"b{next(labels)}", size] for _, size in pairs]
        return new, {**names, **{old: made for (old, _), (made, _) in zip(pairs, new, strict=True)}}

    if kind == "sum":
        (new,), inner = fresh([rest[0]])
        return [kind, new, with_names(inner, rest[1], labels)]
    if kind == "f":
        arguments = []
        for pairs, body in rest[1]:
            new, inner = fresh(pairs)
            arguments.append([new, with_names(inner, body, labels)])
        return [kind, rest[0], arguments, [names.get(i, i) for i in rest[2]]]
    if kind == "at":
        new, inner = fresh(rest[1])
        return [kind, rest[0], new, with_names(inner, rest[2], labels), with_names(names, rest[3], labels)]
    raise NotRead(f"expressions that begin with {kind}")


class SoftmaxTerms:
    """Derivatives of a softmax in a certificate that is being turned into a statement about matrices."""

    def _softmax_jacobian(self, parts: list[Any], rows: Names, columns: Names, points: Any) -> Term | None:
        """A[i,j] d[j,l] d[i,k] - A[i,j] A[i,l] d[i,k] at rows (i, j) and columns (k, l)."""
        (i, j), (k, l) = rows, columns
        if len(parts) != 2:
            return None
        one, two = (list(factors_of(part)) for part in parts)

        def take(factors: list[Any], *wanted: Any) -> list[Any] | None:
            left = list(factors)
            for options in wanted:
                hit = next((f for f in left if f in options), None)
                if hit is None:
                    return None
                left.remove(hit)
            return left

        same_row = [["delta", i, k], ["delta", k, i]]
        first = take(one, same_row, [["delta", j, l], ["delta", l, j]])
        second = take(two, same_row, [["q", -1, 1]])
        if first is None or second is None or len(first) != 1 or len(second) != 2:
            return None
        A = self.term(first[0], (i,), (j,), points)
        shown = sorted((self.term(f, (i,), (j,) if j in self.free(f) else (l,), points) for f in second), key=repr)
        return ("SoftmaxJacobian", A) if shown == [A, A] else None

    def _softmax_hessian(
        self, A: Any, same: set[str], others: set[str], rows: Names, columns: Names, points: Any
    ) -> Term:
        """The second derivative at rows (i, j, k, l) and columns (m, n): i, k and m are the same, j, l and n are in one row."""
        if (
            len(rows) != 4
            or len(columns) != 2
            or {*rows[::2], columns[0]} != same
            or {*rows[1::2], columns[1]} != others
        ):
            raise NotRead("a second derivative whose indices are in another order")
        return ("SoftmaxHessian", self.term(A, *((name,) for name in A[2]), points))

    def _with_hessians(self, factors: list[Any]) -> list[Any]:
        """The factors, with those that make the second derivative of a softmax A as one.

        It is A[i,j] ((d[j,l] - A[i,l]) (d[j,n] - A[i,n]) - A[i,l] (d[l,n] - A[i,n])) d[i,k] d[i,m].  As it is symmetric in j, l and
        n, which of them are rows is left to what is read around it.
        """
        flat = [g for f in factors for g in factors_of(f)]
        for inner in (f for f in flat if f[0] == "+"):
            found = self._polynomial(inner)
            entries = {atom for key in found or () for atom in key if atom[0] == "t"}
            if found is None or len({atom[:3] for atom in entries}) != 1:
                continue
            _, name, i, _ = next(iter(entries))
            outer = [f for f in flat if f[0] == "t" and f[1] == name and f[2][:1] == [i] and len(f[2]) == 2]
            equal = [f for f in flat if f[0] == "delta" and i in f[1:]][-2:]
            if len(outer) != 1 or len(equal) != 2:
                continue
            j = outer[0][2][1]
            if len(others := self.free(inner) - {i, j}) != 2:
                continue
            for l, n in itertools.permutations(sorted(others)):
                if found == _second_derivative(name, i, j, l, n):
                    used = [inner, *outer, *equal]
                    same = {i, *(name for f in equal for name in f[1:])}
                    word = ["softmax hessian", outer[0], same, {j, l, n}]
                    return [*(f for f in flat if not any(f is g for g in used)), word]
        return factors

    def _polynomial(self, e: Any) -> Polynomial | None:
        """A sum of products of deltas and entries of matrices, or None; definitions that are sums are written out."""
        kind, *rest = e
        if kind == "q":
            return {(): Fraction(*rest)}
        if kind == "delta":
            return {(("d", *sorted(rest)),): ONE}
        if kind == "t" and rest[0] in self.definitions and self.definitions[rest[0]][1][0] == "+":
            own, inner = self.definitions[rest[0]]
            return self._polynomial(
                with_names(dict(zip([i for i, _ in own], rest[1], strict=True)), inner, self._labels)
            )
        if kind == "t" and len(rest[1]) == 2:
            return {(("t", rest[0], *rest[1]),): ONE}
        if kind not in "+*":
            return None
        parts = [self._polynomial(part) for part in rest]
        made: Polynomial = {} if kind == "+" else {(): ONE}
        for part in parts:
            if part is None:
                return None
            made = _sum_of(made, part) if kind == "+" else _product_of(made, part)
        return made
