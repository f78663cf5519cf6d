"""Scalars and matrices of symbolic sizes in normal form: what the checker of bounds computes with.

A scalar is a polynomial with rational exponents in generators; a matrix is a sum of multiples of products of atoms.  Equal
expressions of either kind have equal normal forms as far as the laws of rings, transposes and blocks tell.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

from verify.kernel.refusal import Refused

Monomial = frozenset[tuple[Any, Fraction]]
BINDERS = ("sum over", "max over", "stack", "block diagonal")  # their first datum is an index that they bind
SPECTRAL = ("spectral radius", "smallest singular value", "smallest eigenvalue", "largest shift of singular values")
NONNEGATIVE = ("size", "norm", "exp", "abs", "power", "mean of exponentials", "weight off the diagonal", *SPECTRAL)
ENTRYWISE, ROWWISE = ("relu", "step", "absolute", "reciprocal"), ("softmax", "normalised rows")
SYMMETRIC = ("diagonal", "projection", "rows as diagonals", "rows as outer products")


class Index(NamedTuple):
    """An index; it runs from 0 to size - 1."""

    name: str
    size: Scalar


def free_in(item: Any) -> frozenset[Index]:
    """The free indices of a datum: of a generator or an atom, or of what these are made of."""
    if isinstance(item, Index):
        return frozenset({item})
    if isinstance(item, (Scalar, Matrix)):
        return item.free
    if isinstance(item, (tuple, frozenset)):
        found = frozenset().union(*map(free_in, item))
        return found - {item[1]} if isinstance(item, tuple) and item and item[0] in BINDERS else found
    return frozenset()


def inputs_in(item: Any) -> frozenset[Any]:
    """The names of the inputs that occur in a datum, whether a derivative binds them or not."""
    if isinstance(item, (Scalar, Matrix)):
        if item._inputs is None:  # found once: a scalar or matrix does not change
            item._inputs = inputs_in(tuple(item.terms.items()))
        return item._inputs
    if not isinstance(item, (tuple, frozenset)):
        return frozenset()
    found = frozenset().union(*map(inputs_in, item))
    return found | {item[4]} if isinstance(item, tuple) and item[:1] == ("input",) else found


class Scalar:
    """A sum of multiples of monomials; `terms` maps monomials to coefficients."""

    __slots__ = ("_free", "_inputs", "key", "terms")

    def __init__(self, terms: dict[Monomial, Fraction]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c}
        self.key = frozenset(self.terms.items())
        self._free: frozenset[Index] | None = None
        self._inputs: frozenset[Any] | None = None

    @property
    def free(self) -> frozenset[Index]:
        """The free indices, found when they are asked for: most scalars on the way to another are never asked."""
        if self._free is None:
            self._free = frozenset().union(*(free_in(g) for m in self.terms for g, _ in m))
        return self._free

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Scalar) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __add__(self, other: Scalar) -> Scalar:
        found = dict(self.terms)
        for monomial, c in other.terms.items():
            found[monomial] = found[monomial] + c if monomial in found else c
        return Scalar(found)

    def __sub__(self, other: Scalar) -> Scalar:
        return self + other * number(-1)

    def __mul__(self, other: Scalar) -> Scalar:
        found = Scalar({})
        plain: dict[Monomial, Fraction] = {}
        for one, c in self.terms.items():
            for two, d in other.terms.items():
                exponents = dict(one)
                for g, e in two:
                    exponents[g] = exponents[g] + e if g in exponents else e
                rest = _reduced(exponents)
                if rest is None:
                    monomial = frozenset((g, e) for g, e in exponents.items() if e)
                    plain[monomial] = plain[monomial] + c * d if monomial in plain else c * d
                else:
                    found = found + Scalar({frozenset((g, e) for g, e in exponents.items() if e): c * d}) * rest
        return found + Scalar(plain)

    def __pow__(self, exponent: Any) -> Scalar:
        e = Fraction(exponent)
        if e.denominator == 1 and e >= 0:
            found = number(1)
            for _ in range(int(e)):
                found = found * self
            return found
        if len(self.terms) != 1:
            if not self.terms and e < 0:
                raise Refused("a division by zero")
            return generator("sum", self, exponent=e) if self.terms else self
        ((monomial, c),) = self.terms.items()
        if e.denominator != 1 and (c < 0 or not all(nonnegative_power(g, d) for g, d in monomial)):
            raise Refused("a fractional power of what may be negative")
        found = number(c**e) if e.denominator == 1 else _root_of_number(c, e)
        for g, d in monomial:  # the root of x^2 is |x|
            is_even = e.denominator > 1 and d % 2 == 0
            found = found * (absolute(generator_of(g)) ** (d * e) if is_even else generator_of(g, d * e))
        return found

    def over(self, divisor: Scalar) -> Scalar:
        """The quotient by a monomial, generator by generator."""
        ((shared, d),) = divisor.terms.items()
        found = {}
        for monomial, c in self.terms.items():
            exponents = dict(monomial)
            for g, e in shared:
                exponents[g] = exponents.get(g, Fraction(0)) - e
            found[frozenset((g, e) for g, e in exponents.items() if e)] = c / d
        return Scalar(found)

    def number(self) -> Fraction | None:
        """Its value, where it is a rational number."""
        return self.terms.get(frozenset(), Fraction(0)) if set(self.terms) <= {frozenset()} else None


def _reduced(exponents: dict[Any, Fraction]) -> Scalar | None:
    """Takes whole powers of sums and even ones of absolute values out of a monomial, and returns their product."""
    found = None
    for g, e in list(exponents.items()):
        if g[0] == "sum":
            value = g[1].number()
            whole = math.floor(e) if value is not None or e >= 1 else 0
            if whole:
                exponents[g] = e - whole
                more = number(value**whole) if value is not None else g[1] ** whole
                found = more if found is None else found * more
        elif g[0] == "abs" and e and e % 2 == 0:
            del exponents[g]
            more = Scalar({frozenset({(g[1], e)}): Fraction(1)})
            found = more if found is None else found * more
    return found


def _root_of_number(c: Fraction, e: Fraction) -> Scalar:
    """c^e for an odd multiple e of 1/2: a rational number times the root of a whole one without small square factors."""
    whole, square = c.numerator * c.denominator, 1
    for p in range(2, 100):
        while whole % (p * p) == 0:
            whole, square = whole // (p * p), square * p
    root = math.isqrt(whole) if whole == math.isqrt(whole) ** 2 else 0
    left = number(root) if root else generator("sum", number(whole), exponent=Fraction(1, 2))
    if e.denominator != 2:
        raise Refused(f"the power {e} of {c}")
    return left * number(Fraction(square, c.denominator) * c ** (e - Fraction(1, 2)).numerator)


def is_whole(value: Scalar, least: int = 0) -> bool:
    """Whether a scalar is made of whole numbers and sizes, and at least 0 or 1; or one product of sizes by another."""
    whole = all(g[0] == "size" and e.denominator == 1 and e > 0 for monomial in value.terms for g, e in monomial)
    whole = whole and all(c.denominator == 1 for c in value.terms.values())
    return is_quotient(value) or (whole and is_nonnegative(value - number(least)))


def is_quotient(value: Scalar) -> bool:
    """Whether a scalar is a product of sizes by another, or by a number: a size only where it is whole, as is to be asked."""
    if len(value.terms) != 1:
        return False
    ((monomial, c),) = value.terms.items()
    of_sizes = c > 0 and bool(monomial) and all(g[0] == "size" and e.denominator == 1 for g, e in monomial)
    return of_sizes and (c.denominator > 1 or any(e < 0 for _, e in monomial))


def number(value: Any) -> Scalar:
    return Scalar({frozenset(): Fraction(value)})


def generator(*data: Any, exponent: Any = 1) -> Scalar:
    return Scalar({frozenset({(data, Fraction(exponent))}): Fraction(1)}) * number(1)


def generator_of(g: Any, exponent: Any = 1) -> Scalar:
    """A power of a generator as a scalar."""
    return generator(*g, exponent=exponent)


def is_positive_generator(g: Any) -> bool:
    return g[0] in ("size", "exp", "power") or (g[0] == "scalar" and g[2] == "positive")


def only_generator(value: Scalar) -> tuple[Scalar, Any]:
    """c and q of a scalar c q with a generator q and a positive number or product of sizes c; anything else is refused."""
    if len(value.terms) == 1:
        ((monomial, c),) = value.terms.items()
        rest = {(g, e) for g, e in monomial if g[0] != "exp" and (is_positive_generator(g) or _is_number(g))}
        moving = [g for g, e in monomial - rest if e == 1]
        if c > 0 and len(monomial) - len(rest) == len(moving) == 1:
            return Scalar({frozenset(rest): c}), moving[0]
    raise Refused("the left side of a rule is no positive multiple of a quantity")


# -- signs -------------------------------------------------------------------------------------------------------------


def is_nonnegative_generator(g: Any) -> bool:
    if g[0] == "scalar":
        return g[2] != "real"
    if g[0] in ("sum", "sum over", "max over"):
        return is_nonnegative(g[-1])
    return any(map(is_nonnegative, g[1])) if g[0] == "max" else g[0] in NONNEGATIVE


def nonnegative_power(g: Any, e: Fraction) -> bool:
    return e % 2 == 0 or (e.denominator != 1 and g[0] == "sum") or is_nonnegative_generator(g)


def is_nonnegative(value: Scalar) -> bool:
    """Whether every term is certainly at least 0, or so with (1 + t)^2, t >= 0, for each size and each e^x with x >= 0."""
    found = {g for m in value.terms for g, _ in m if g[0] in ("size", "exp")}
    return any(_terms_are_nonnegative(in_roots_of_sizes(value, some)) for some in (set(), *({g} for g in found), found))


def is_positive(value: Scalar) -> bool:
    """Whether a scalar is certainly above 0: no term is negative, and one is a multiple of what is positive."""
    positive = [m for m in value.terms if all(is_positive_generator(g) for g, _ in m)]
    return bool(positive) and _terms_are_nonnegative(value)


def _is_number(g: Any) -> bool:
    return g[0] == "sum" and g[1].number() is not None


def _terms_are_nonnegative(value: Scalar) -> bool:
    totals: dict[Any, Fraction] = {}
    for monomial, c in value.terms.items():
        rest = frozenset((g, e) for g, e in monomial if not _is_number(g))
        if not all(nonnegative_power(g, e) for g, e in rest):
            return False
        for g, e in monomial - rest:  # roots of numbers, from below where they add, from above where they are taken off
            c *= _root(g[1].number(), e, up=c < 0)
        totals[rest] = totals.get(rest, Fraction(0)) + c
    return all(total >= 0 for total in totals.values())


def _root(value: Fraction, e: Fraction, up: bool) -> Fraction:
    """A rational number at most value^e, or with `up` at least, for a positive number and 0 < e < 1; a square root."""
    if e != Fraction(1, 2) or value <= 0:
        raise Refused(f"the power {e} of {value}")
    digits = 10**40
    return Fraction(math.isqrt(value.numerator * value.denominator * digits**2) + up, value.denominator * digits)


def in_roots_of_sizes(value: Scalar, some: set[Any]) -> Scalar:
    """A scalar times powers of sizes, with s = (1 + t)^2 for some sizes s and t >= 0; no exponent of s is below 0 then.

    Powers of e with an exponent that is not negative are at least 1 as sizes are.
    """
    for g in {g for g in some if g[0] == "size" or is_nonnegative(g[1])}:
        least = min(dict(m).get(g, Fraction(0)) for m in value.terms)
        root, found = number(1) + generator("scalar", ("root of", g), "nonnegative"), Scalar({})
        for monomial, c in value.terms.items():
            count = 2 * (dict(monomial).get(g, Fraction(0)) - least)
            if count.denominator != 1:
                return value
            found = found + Scalar({frozenset(i for i in monomial if i[0] != g): c}) * root**count
        value = found
    return value


# -- largest values and sums --------------------------------------------------------------------------------------------


def exponential(x: Scalar) -> Scalar:
    """e^x, which is the inverse of e^-x where all terms of x are negative."""
    if x.terms and all(c < 0 for c in x.terms.values()):
        return generator("exp", x * number(-1)) ** -1
    return generator("exp", x) if x.terms else number(1)


def mean_of_exponentials(x: Scalar) -> Scalar:
    """The integral of e^(t x) over t from 0 to 1, which grows with x: (e^x - 1) / x, and 1 at 0."""
    return generator("mean of exponentials", x) if x.terms else number(1)


def logarithm(x: Scalar) -> Scalar:
    """log x."""
    return number(0) if x == number(1) else generator("log", x)


def largest(values: Any) -> Scalar:
    distinct = frozenset(values)
    return next(iter(distinct)) if len(distinct) == 1 else generator("max", distinct)


def over(kind: str, index: Index, value: Scalar) -> Scalar:
    """The sum ("sum over") or the largest value ("max over") of a scalar over an index; what is fixed stands outside."""
    if index not in value.free:
        return value * index.size if kind == "sum over" else value
    if kind == "max over" and len(value.terms) > 1:
        return generator(kind, index, value)
    found = Scalar({})
    for monomial, c in value.terms.items():
        fixed = Scalar({frozenset(item for item in monomial if index not in free_in(item[0])): abs(c)})
        moving = Scalar(
            {frozenset(item for item in monomial if index in free_in(item[0])): Fraction(1 if c > 0 else -1)}
        )
        if kind == "max over" and not is_nonnegative(fixed):
            fixed, moving = number(1), value
        found = found + (fixed * index.size * moving if moving.number() else fixed * generator(kind, index, moving))
    return found


# -- matrices ----------------------------------------------------------------------------------------------------------


class Matrix:
    """A sum of multiples of products of atoms (kind, transposed, rows, columns, data...) of the given shape."""

    __slots__ = ("_free", "_inputs", "_turned", "columns", "key", "rows", "terms")

    def __init__(self, rows: Scalar, columns: Scalar, terms: dict[tuple[Any, ...], Scalar]) -> None:
        self.rows, self.columns = rows, columns
        self.terms = {word: c for word, c in terms.items() if c.terms}
        self.key = (rows, columns, frozenset(self.terms.items()))
        self._free: frozenset[Index] | None = None
        self._inputs: frozenset[Any] | None = None
        self._turned: Matrix | None = None

    @property
    def free(self) -> frozenset[Index]:
        """The free indices, found when they are asked for."""
        if self._free is None:
            inside = (free_in(_datum(a)) for w in self.terms for a in w)
            self._free = frozenset().union(*inside, *(c.free for c in self.terms.values()))
        return self._free

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Matrix) and self.key == other.key)

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
        found = zeros(self.rows, other.columns)
        for one, c in self.terms.items():
            for two, d in other.terms.items():
                found = found + _joined(one, two, self.rows, other.columns).times(c * d)
        return found

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
            part = Matrix(A.rows, A.columns, {word: Scalar({inside: Fraction(1)})})
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
        exponents = [m.get(g, Fraction(0)) for m, _ in terms]
        least = min(exponents, key=abs)
        if all(least * other > 0 for other in exponents):
            shared[g] = least
    top, bottom = math.gcd(*(c.numerator for _, c in terms)), math.lcm(*(c.denominator for _, c in terms))
    return Scalar({frozenset(shared.items()): Fraction(top, bottom)})


def absolute(value: Scalar) -> Scalar:
    """The absolute value, of a monomial factor by factor; of an entry, the norm of the matrix of shape (1, 1)."""
    if len(value.terms) != 1:
        either = next(filter(is_nonnegative, (value, value * number(-1))), None)
        return either if either is not None else generator("abs", ("sum", value))
    ((monomial, c),) = value.terms.items()
    found = number(abs(c))
    for g, e in monomial:
        plain = nonnegative_power(g, e)
        size = norm("F", g[1]) ** e if g[0] == "entry" and not plain else generator("abs", g, exponent=e)
        found = found * (Scalar({frozenset({(g, e)}): Fraction(1)}) if plain else size)
    return found
