"""Matrices of symbolic sizes in normal form, and their norms, beside the scalars that stand before them: what the checker of
bounds computes with.

A matrix is a sum of multiples of products of atoms.  Equal matrices have equal normal forms as far as the laws of rings,
transposes and blocks tell.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from verify.kernel.refusal import Refused
from verify.kernel.scalar_forms import (
    Expression,
    Index,
    Monomial,
    Scalar,
    absolute,
    exponential,
    free_in,
    generator,
    generator_of,
    inputs_in,
    is_nonnegative,
    is_nonnegative_generator,
    is_positive,
    is_positive_generator,
    is_quotient,
    is_whole,
    largest,
    logarithm,
    mean_of_exponentials,
    nonnegative_power,
    number,
    only_generator,
    over,
    plain,
)

ENTRYWISE, ROWWISE = ("relu", "step", "absolute", "reciprocal"), ("softmax", "normalised rows")
SYMMETRIC = ("diagonal", "projection", "rows as diagonals", "rows as outer products")

# -- matrices ----------------------------------------------------------------------------------------------------------


class Matrix(Expression):
    """A sum of multiples of products of atoms (kind, transposed, rows, columns, data...) of the given shape."""

    __slots__ = ("_free", "_key", "_turned", "columns", "rows")

    def __init__(self, rows: Scalar, columns: Scalar, terms: dict[tuple[Any, ...], Scalar]) -> None:
        self.rows, self.columns = rows, columns
        self.terms = {word: c for word, c in terms.items() if c.terms}
        self._key: tuple[Scalar, Scalar, frozenset[Any]] | None = None
        self._free: frozenset[Index] | None = None
        self._inputs: frozenset[Any] | None = None
        self._turned: Matrix | None = None

    @property
    def key(self) -> tuple[Scalar, Scalar, frozenset[Any]]:
        """The shape, and the terms as a set, made when it is asked for."""
        if self._key is None:
            self._key = (self.rows, self.columns, frozenset(self.terms.items()))
        return self._key

    @property
    def free(self) -> frozenset[Index]:
        """The free indices, found when they are asked for."""
        if self._free is None:
            inside = (free_in(_datum(a)) for w in self.terms for a in w)
            self._free = frozenset().union(*inside, *(c.free for c in self.terms.values()))
        return self._free

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Matrix):
            return self is other
        if self.key is not other.key:
            if self.key != other.key:
                return False
            other._key = self.key  # the next comparison finds one key
        return True

    def __hash__(self) -> int:
        return hash(self.key[2])

    def __add__(self, other: Matrix) -> Matrix:
        if (self.rows, self.columns) != (other.rows, other.columns):
            raise Refused("a sum of matrices of different shapes")
        found = dict(self.terms)
        for word, c in other.terms.items():
            found[word] = found[word] + c if word in found else c
        return Matrix(self.rows, self.columns, found)

    def times(self, c: Scalar) -> Matrix:
        return Matrix(self.rows, self.columns, {word: c * d for word, d in self.terms.items()})

    def divided(self, c: Scalar) -> Matrix:
        return Matrix(self.rows, self.columns, {word: d.over(c) for word, d in self.terms.items()})

    def __sub__(self, other: Matrix) -> Matrix:
        return self + other.times(number(-1))

    def __matmul__(self, other: Matrix) -> Matrix:
        if self.columns != other.rows:
            raise Refused("a product of matrices whose shapes do not fit")
        found: dict[tuple[Any, ...], Scalar] = {}
        for one, c in self.terms.items():
            for two, d in other.terms.items():
                for word, e in _joined(one, two, self.rows, other.columns).terms.items():
                    value = c * d * e
                    found[word] = found[word] + value if word in found else value
        return Matrix(self.rows, other.columns, found)

    @property
    def T(self) -> Matrix:
        if self._turned is None:
            found = zeros(self.columns, self.rows)
            for word, c in self.terms.items():
                turned = identity(self.columns)
                for item in reversed(word):
                    turned = turned @ _turned(item)
                found = found + turned.times(c)
            self._turned = found
        return self._turned

    @property
    def length(self) -> Scalar:
        """The Frobenius norm, which is the absolute value of a matrix of one entry."""
        return norm("F", self)


def _datum(item: Any) -> Any:
    """An atom's kind and data, for what it binds."""
    return (item[0], *item[4:], item[2], item[3])


def zeros(rows: Scalar, columns: Scalar) -> Matrix:
    return Matrix(rows, columns, {})


def identity(n: Scalar) -> Matrix:
    return Matrix(n, n, {(): number(1)})


def atom(kind: str, rows: Scalar, columns: Scalar, *data: Any, turned: bool = False) -> Matrix:
    return Matrix(rows, columns, {((kind, turned, rows, columns, *data),): number(1)})


def applied(name: str, A: Matrix) -> Matrix:
    """A function of a matrix, of the same shape."""
    if name in ("exponential", "inverse") and A.rows != A.columns:
        raise Refused(f"the {name} of a matrix that is not square")
    if not A.terms and name in ("relu", "absolute"):
        return A
    if not A.terms and name == "exponential":
        return identity(A.rows)
    if not A.terms and name == "softmax":
        return atom("ones", A.rows, A.columns).times(A.columns**-1)
    return atom(name, A.rows, A.columns, A)


def linear(kind: str, A: Matrix, rows: Scalar, columns: Scalar, *data: Any) -> Matrix:
    """What is linear in a matrix, a family over an index among the data; what does not depend on that stands outside."""
    found, index = zeros(rows, columns), next((item for item in data if isinstance(item, Index)), None)
    if kind == "sum over" and index is not None and index not in A.free:
        return A.times(index.size)
    for word, c in A.terms.items():
        for monomial, d in c.terms.items():
            inside = frozenset(item for item in monomial if index is not None and index in free_in(item[0]))
            part = Matrix(A.rows, A.columns, {word: Scalar({inside: 1})})
            found = found + atom(kind, rows, columns, *data, part).times(Scalar({monomial - inside: d}))
    return found


def bilinear(kind: str, A: Matrix, B: Matrix) -> Matrix:
    """The entrywise ("entrywise") or Kronecker product ("kronecker")."""
    if kind == "entrywise" and (A.rows, A.columns) != (B.rows, B.columns):
        raise Refused("an entrywise product of different shapes")
    shape = (A.rows, A.columns) if kind == "entrywise" else (A.rows * B.rows, A.columns * B.columns)
    found = zeros(*shape)
    for one, c in A.terms.items():
        for two, d in B.terms.items():
            X, Y = Matrix(A.rows, A.columns, {one: number(1)}), Matrix(B.rows, B.columns, {two: number(1)})
            if kind == "entrywise":
                ones = [Z for Z, W in ((X, Y), (Y, X)) if single_atom(W, "ones")]
                made = ones[0] if ones else atom(kind, *shape, frozenset({X, Y}))
            elif one == () and (two == () or X.rows == number(1)):
                made = identity(shape[0]) if two == () else Y
            else:
                made = atom(kind, *shape, X, Y)
            found = found + made.times(c * d)
    return found


def single_atom(A: Matrix, kind: str) -> Any:
    """The one atom of a matrix that is an atom of this kind."""
    words = [word for word, c in A.terms.items() if c == number(1)]
    return words[0][0] if len(words) == len(A.terms) == len(words[0]) == 1 and words[0][0][0] == kind else None


def is_input(item: Any, property: str) -> bool:
    """Whether an atom is an input that is declared to have a property."""
    return item is not None and item[0] == "input" and property in item[-1]


def embedding(total: Scalar, count: Scalar, start: Any) -> Matrix:
    """The columns start to start + count - 1 of the identity; the start is a number, an index, or that of a part of equal size."""
    if isinstance(start, Scalar):
        within = is_whole(start) and is_nonnegative(total - start - count)
    elif isinstance(start, Index):
        within = (start.size, number(1)) == (total, count)
    else:
        within = start[0] == "part" and start[1].size * count == total
    if not within or not is_whole(count, 1):
        raise Refused("rows that may lie outside of a matrix")
    return atom("embedding", total, count, start)


def selected(A: Matrix, start: Any, count: Scalar) -> Matrix:
    """Rows start to start + count - 1 of a matrix."""
    return embedding(A.rows, count, start).T @ A


def _turned(item: Any) -> Matrix:
    kind, turned, rows, columns, *data = item
    if kind in ENTRYWISE or kind in ("exponential", "inverse"):
        return applied(kind, data[0].T)
    if kind == "entrywise":
        return bilinear(kind, *(X.T for X in (*data[0], *data[0])[:2]))
    if kind == "kronecker":
        return bilinear(kind, data[0].T, data[1].T)
    if kind in SYMMETRIC or is_input(item, "is symmetric"):
        return atom(kind, rows, columns, *data)
    if is_input(item, "is skew"):
        return atom(kind, rows, columns, *data).times(number(-1))
    return atom(kind, columns, rows, *data, turned=kind != "ones" and not turned)


def _joined(one: tuple[Any, ...], two: tuple[Any, ...], rows: Scalar, columns: Scalar) -> Matrix:
    """The product of two products, where rows of functions entry by entry are functions of rows."""
    if one and two:
        last, first = one[-1], two[0]
        met = _met(last, first)
        if met is not None:
            left = Matrix(rows, last[2], {one[:-1]: number(1)})
            return left @ met @ Matrix(first[3], columns, {two[1:]: number(1)})
    return Matrix(rows, columns, {(*one, *two): number(1)})


def _met(last: Any, first: Any) -> Matrix | None:
    """The product of two neighbours, where it is simpler."""
    takes, puts = (last[0], last[1]) == ("embedding", True), (first[0], first[1]) == ("embedding", False)
    if takes and puts and (last[2], last[4]) == (first[3], first[4]):
        return identity(last[2])
    if takes and puts and isinstance(last[4], Scalar) and isinstance(first[4], Scalar):
        apart = (first[4] - last[4] - last[2], last[4] - first[4] - first[3])
        return zeros(last[2], first[3]) if any(map(is_nonnegative, apart)) else None
    if takes and (first[0] in ENTRYWISE or (first[0] in ROWWISE and not first[1])):
        return applied(first[0], selected(first[4], last[4], last[2]))
    if takes and first[0] == "entrywise":
        return bilinear("entrywise", *(selected(X, last[4], last[2]) for X in (*first[4], *first[4])[:2]))
    if puts and (last[0] in (*ENTRYWISE, "entrywise") or (last[0] in ROWWISE and last[1])):
        flipped = atom(first[0], first[3], first[2], *first[4:], turned=True) @ _turned(last)
        return flipped.T
    if last[0] == first[0] == "kronecker" and last[4].columns == first[4].rows and last[5].columns == first[5].rows:
        return bilinear("kronecker", last[4] @ first[4], last[5] @ first[5])
    return None


def concatenated(*blocks: Matrix) -> Matrix:
    """Blocks on top of each other."""
    total = sum((A.rows for A in blocks[1:]), blocks[0].rows)
    found, start = zeros(total, blocks[0].columns), number(0)
    for A in blocks:
        found, start = found + embedding(total, A.rows, start) @ A, start + A.rows
    return found


# -- norms -------------------------------------------------------------------------------------------------------------


def norm(kind: str, A: Matrix) -> Scalar:
    """A norm, "2", "F", "max" or "1" (the largest absolute value of an entry, and the sum of all), as a multiple of one that
    A, -A and A^T share."""
    if kind not in ("2", "F", "max", "1"):
        raise Refused(f"no norm {kind!r}")
    if not A.terms:
        return number(0)
    if number(1) in (A.rows, A.columns) and (kind == "2" or A.rows == A.columns):
        kind = "F"
    content = content_of(A)
    core = A.divided(content)
    size = absolute(content)
    if len(core.terms) == 1 and len(next(iter(core.terms.values())).terms) > 1:  # (a + b) A, |a + b| times as long as A
        ((word, c),) = core.terms.items()
        return size * absolute(c) * norm(kind, Matrix(A.rows, A.columns, {word: number(1)}))
    if (item := single_atom(core, "ones")) is not None:
        entries = A.rows * A.columns
        return size * (number(1) if kind == "max" else entries if kind == "1" else entries ** Fraction(1, 2))
    if set(core.terms) == {()} and core.terms[()].number() is not None and kind in ("2", "F"):
        return size * (number(1) if kind == "2" else A.rows ** Fraction(1, 2))
    for rearranged, other in (("reshape", kind), ("diagonal", {"2": "max", "F": "F"}.get(kind, ""))):
        if (
            (kind, rearranged) != ("2", "reshape")
            and other
            and all(len(w) == 1 and w[0][:2] == (rearranged, False) for w in core.terms)
        ):
            inner = None
            for (item,), c in core.terms.items():
                inner = item[-1].times(c) if inner is None else inner + item[-1].times(c)
            assert inner is not None
            return size * norm(other, inner)
    variants = frozenset(X.times(number(s)) for X in (core, core.T) for s in (1, -1))
    return size * generator("norm", kind, variants)


def content_of(A: Matrix) -> Scalar:
    """A monomial, with a positive coefficient, that divides all coefficients."""
    terms = [(dict(m), c) for d in A.terms.values() for m, c in d.terms.items()]
    shared = {}
    for g in terms[0][0]:
        exponents = [m.get(g, 0) for m, _ in terms]
        least = min(exponents, key=abs)
        if all(least * other > 0 for other in exponents):
            shared[g] = least
    top, bottom = math.gcd(*(c.numerator for _, c in terms)), math.lcm(*(c.denominator for _, c in terms))
    return Scalar({frozenset(shared.items()): plain(Fraction(top, bottom))})


__all__ = [
    "ENTRYWISE",
    "ROWWISE",
    "SYMMETRIC",
    "Expression",
    "Index",
    "Matrix",
    "Monomial",
    "Scalar",
    "absolute",
    "applied",
    "atom",
    "bilinear",
    "concatenated",
    "content_of",
    "embedding",
    "exponential",
    "free_in",
    "generator",
    "generator_of",
    "identity",
    "inputs_in",
    "is_input",
    "is_nonnegative",
    "is_nonnegative_generator",
    "is_positive",
    "is_positive_generator",
    "is_quotient",
    "is_whole",
    "largest",
    "linear",
    "logarithm",
    "mean_of_exponentials",
    "nonnegative_power",
    "norm",
    "number",
    "only_generator",
    "over",
    "selected",
    "single_atom",
    "zeros",
]
