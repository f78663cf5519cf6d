"""Certificates read as formulas about matrices: the terms of Matrices.v, their entries at indices, and the statement as text.

A certificate has the expression that the functions built, in indices.  Here its products over an index are read as products of
matrices, deltas as identities, and so on, as far as the vocabulary goes.  What is read is trusted with nothing: the kernel
proves the statement about matrices itself, and `export.py` checks that its entries are those of the certificate.

Terms: ("Given", number), ("OfNumber", fraction), ("OfBase", base, exponent), ("Ones", rows, columns), ("Eye", sizes), ("Jacobian",
number, term, point), and otherwise the constructor's name with the numbers of functions and terms that it has.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from export import Claim
from normal_forms import Index
from softmax_terms import Names, NotRead, SoftmaxTerms, Term, factors_of, with_names
from syntax import ONE

Shape = tuple[tuple[int, ...], tuple[int, ...]]
FIRST_ROW = 1000
#: Parts of an expression that are read before a search is given up.
MOST_READ = 3000
HEADS = {"exp": ("Exp",), "log": ("Log",), "step": ("Step",)}


def indices_named(first: int, sizes: Sequence[int]) -> tuple[Index, ...]:
    return tuple((first + n, size) for n, size in enumerate(sizes))


class MatrixClaim(SoftmaxTerms, Claim):
    """A certificate being turned into a statement about matrices."""

    def __init__(self, certificate: dict[str, Any]) -> None:
        super().__init__(certificate)
        self.givens = [name for name, item in certificate["inputs"].items() if not item.get("positive")]
        self.shapes: dict[int, Shape] = {}
        self.size_at: dict[str, int] = {}
        for name in [*self.givens, *certificate["variables"]]:
            item = certificate["inputs"].get(name) or certificate["variables"][name]
            sizes = tuple(self.sizes[size] for size in item["sizes"])
            self.shapes[self.entries[name]] = (sizes[:1], sizes[1:])
        self.exact: dict[Any, int] = {}
        self._found: dict[Any, tuple[Any, Any]] = {}
        self._left = MOST_READ
        self._labels = itertools.count()

    # -- what a certificate says, as terms -----------------------------------------------------------------------------

    def term(self, e: list[Any], rows: Names, columns: Names, points: dict[str, Any]) -> Term:
        """The matrix whose entry at these names of indices is the expression."""
        if not rows and len(columns) > 1:
            return self._transposed(self.term(e, columns, rows, points))
        for k in range(1, len(rows)) if not columns else ():
            try:
                return ("Vec", self._matrix(e, rows[:k], rows[k:], points))
            except NotRead:
                continue
        try:
            return self._matrix(e, rows, columns, points)
        except NotRead:
            if not rows and not columns:
                raise
            return self._transposed(self._matrix(e, columns, rows, points))

    def _matrix(self, e: list[Any], rows: Names, columns: Names, points: dict[str, Any]) -> Term:
        """As `term`, with no transpose; what was found of a part is kept, and long searches are given up."""
        key = (id(e), rows, columns, tuple(points), tuple(map(len, points.values())))
        if key not in self._found:
            self._left -= 1
            if self._left < 0:
                raise NotRead("a search that takes too long")
            try:
                self._found[key] = (e, self._read_term(e, rows, columns, points))
            except NotRead as reason:
                self._found[key] = (e, reason)
        found = self._found[key][1]
        if isinstance(found, NotRead):
            raise found
        return found

    def _transposed(self, a: Term) -> Term:
        return a[1] if a[0] == "Transpose" else ("Transpose", a)

    def _read_term(self, e: list[Any], rows: Names, columns: Names, points: dict[str, Any]) -> Term:
        kind, *rest = e
        free = self.free(e)
        if not free <= {*rows, *columns}:
            raise NotRead("indices that are neither rows nor columns")
        if kind in ("q", "size", "power") and not free:
            return self._filled(self._scalar(e, points), rows, columns)
        if kind == "t":
            return self._tensor_term(rest[0], tuple(rest[1]), rows, columns, points)
        if kind == "+" and not rest:
            return self._filled(("OfNumber", Fraction(0)), rows, columns)
        if kind == "+" and len(rows) == len(columns) == 2:
            found = self._softmax_jacobian(rest, rows, columns, points)
            if found is not None:
                return found
        if kind == "+":
            parts = [self.term(part, rows, columns, points) for part in rest]
            made = parts[-1]
            for part in reversed(parts[:-1]):
                made = ("AddM", part, made)
            return made
        if kind == "softmax hessian":
            return self._softmax_hessian(*rest, rows, columns, points)
        if kind in ("*", "sum", "delta"):
            return self._contraction(e, rows, columns, points)
        if kind == "power":
            return self._power_term(Fraction(rest[0], rest[1]), self.term(rest[2], rows, columns, points))
        if kind == "f":
            return self._function_term(rest[0], rest[1], tuple(rest[2]), rows, columns, points)
        if kind == "diff":
            return self._jacobian(rest[0], tuple(rest[1]), rest[2], rows, columns, points)
        if kind == "at":
            name, pairs, point, inner = rest
            return self._matrix(inner, rows, columns, {**points, name: (pairs, point, points)})
        raise NotRead(f"expressions that begin with {kind}")

    def free(self, e: list[Any]) -> set[str]:
        """The names of indices that an expression has and does not bind."""
        kind, *rest = e
        if kind in ("q", "size"):
            return set()
        if kind == "delta":
            return set(rest)
        if kind == "unit":
            return {rest[1]}
        if kind == "softmax hessian":
            return rest[1] | rest[2]
        if kind == "t":
            return set(rest[1])
        if kind in "+*":
            return set().union(*map(self.free, rest))
        if kind == "sum":
            self.size_at[rest[0][0]] = self.sizes[rest[0][1]]
            return self.free(rest[1]) - {rest[0][0]}
        if kind == "power":
            return self.free(rest[2])
        if kind == "f":
            return set(rest[2]).union(*(self.free(inner) - self._bind(pairs) for pairs, inner in rest[1]))
        if kind == "diff":
            return {*rest[1]} | self.free(rest[2])
        if kind == "at":
            return (self.free(rest[2]) - self._bind(rest[1])) | self.free(rest[3])
        raise NotRead(f"expressions that begin with {kind}")

    def _bind(self, pairs: Sequence[Sequence[str]]) -> set[str]:
        self.size_at.update((name, self.sizes[size]) for name, size in pairs)
        return {name for name, _ in pairs}

    def _scalar(self, e: list[Any], points: dict[str, Any]) -> Term:
        kind, *rest = e
        if kind == "q":
            return ("OfNumber", Fraction(*rest))
        if kind == "size":
            return ("OfBase", ("l", self.sizes[rest[0]]), ONE)
        inner = self._matrix(rest[2], (), (), points)
        q = Fraction(rest[0], rest[1])
        return ("OfBase", inner[1], inner[2] * q) if inner[0] == "OfBase" else self._power_term(q, inner)

    def _filled(self, scalar: Term, rows: Names, columns: Names) -> Term:
        if not rows and not columns:
            return scalar
        ones = ("Ones", self._sizes(rows), self._sizes(columns))
        return ones if scalar == ("OfNumber", ONE) else ("Scale", scalar, ones)

    def _sizes(self, names: Names) -> tuple[int, ...]:
        return tuple(self.size_at[name] for name in names)

    def _tensor_term(self, name: str, at: Names, rows: Names, columns: Names, points: dict[str, Any]) -> Term:
        if name in self.definitions:
            own, e = self.definitions[name]
            self._bind(own)
            return self._matrix(
                with_names(dict(zip([i for i, _ in own], at, strict=True)), e, self._labels), rows, columns, points
            )
        if name in self.scalars:
            return self._filled(("OfBase", ("r", self.scalars[name]), ONE), rows, columns)
        k = points[name][3] if name in points and len(points[name]) > 3 else self.entries[name]
        if name in points and len(points[name]) == 3:
            raise NotRead("a matrix at a point that nothing differentiates by")
        shape = self.shapes[k]
        if len(set(at)) < len(at):
            if len(at) == 2 and rows == at[:1] and not columns:
                return ("DiagPart", ("Given", k))
            raise NotRead("an entry whose indices are equal")
        if at == (*rows, *columns) and len(rows) == len(shape[0]):
            return ("Given", k)
        if at == (*columns, *rows) and len(columns) == len(shape[0]):
            return ("Transpose", ("Given", k))
        if at == rows and not columns:
            return ("Vec", ("Given", k))
        if at == columns and not rows:
            return ("Transpose", ("Vec", ("Given", k)))
        raise NotRead("an entry in an order that no matrix has")

    def _power_term(self, q: Fraction, a: Term) -> Term:
        if q.denominator == 1 and 1 <= q <= 8:
            made = a
            for _ in range(int(q) - 1):
                made = ("Entries", a, made)
            return made
        return ("Each", ("Raised", q), a)

    def _function_term(
        self, head: str, arguments: Any, at: Names, rows: Names, columns: Names, points: dict[str, Any]
    ) -> Term:
        ((pairs, inner),) = arguments
        self._bind(pairs)
        own = tuple(name for name, _ in pairs)
        if head in HEADS:
            return ("Each", HEADS[head], self.term(inner, rows, columns, points))
        if head == "relu":
            return ("Relu", self.term(inner, rows, columns, points))
        if head == "softmax" and at == columns:
            return ("SoftmaxRows_", self.term(inner, rows, own, points))
        if head == "inverse" and at == (*rows, *columns) and len(rows) == len(columns):
            return ("InverseM", self.term(inner, own[: len(rows)], own[len(rows) :], points))
        raise NotRead(f"the function {head} over other indices")

    def _jacobian(self, name: str, by: Names, inner: Any, rows: Names, columns: Names, points: dict[str, Any]) -> Term:
        if len(by) == 2 and by == columns[::-1]:  # what is differentiated by is read column by column
            crossed = ("Commutation", self._sizes(by[:1]), self._sizes(by[1:]))
            return ("MulM", self._jacobian(name, by, inner, rows, by, points), crossed)
        if by != columns or name not in points:
            raise NotRead("a derivative whose indices are not the columns")
        k, outer, point = self._point(name, points)
        return ("Jacobian", k, self.column(inner, rows, outer), point)

    def _point(self, name: str, points: dict[str, Any]) -> tuple[int, dict[str, Any], Term]:
        """The number of a variable, what is known inside of the derivative, and the point."""
        found = points[name]
        if len(found) == 4:
            return found[3], points, ("Given", found[3])
        pairs, point, before = found
        self._bind(pairs)
        own = tuple(i for i, _ in pairs)
        made = self.term(point, own[:1], own[1:], before)
        k = self.entries[name]
        return k, {**points, name: (pairs, point, before, k)}, made

    def column(self, e: Any, rows: Names, points: dict[str, Any]) -> Term:
        """A column with these indices: vec_r of a matrix where it is one."""
        inside = e
        while inside[0] == "at":
            inside = inside[4]
        splits = range(len(rows)) if inside[0] == "diff" else range(1, len(rows))
        for read, k in [*((self._matrix, k) for k in splits), *((self.term, k) for k in range(1, len(rows)))]:
            try:
                return ("Vec", read(e, rows[:k], rows[k:], points))
            except NotRead:
                continue
        return self.term(e, rows, (), points)

    def _contraction(self, e: list[Any], rows: Names, columns: Names, points: dict[str, Any]) -> Term:
        bound: list[str] = []
        while e[0] == "sum":
            self._bind([e[1]])
            bound.append(e[1][0])
            e = e[2]
        factors = list(e[1:]) if e[0] == "*" else [e]
        if any(not self.free(f) for f in factors) or len(factors) != 2 or not bound:
            factors = list(factors_of(e))
        scalars = [factor for factor in factors if not self.free(factor)]
        rest = self._with_hessians([factor for factor in factors if self.free(factor)])
        made = self._product(rest, tuple(bound), rows, columns, points)
        if not scalars:
            return made
        scale = [self._matrix(s, (), (), points) for s in scalars]
        scale = [s for s in scale if s != ("OfNumber", ONE)]
        if not scale:
            return made
        whole = scale[0]
        for s in scale[1:]:
            whole = ("Entries", whole, s)
        return whole if made == ("OfNumber", ONE) else ("Scale", whole, made)

    def _product(self, factors: list[Any], bound: Names, rows: Names, columns: Names, points: dict[str, Any]) -> Term:
        """The sum over `bound` of a product of factors, as a matrix."""
        try:
            return self._of_matrices(factors, bound, rows, columns, points)
        except NotRead:
            flat = [g for f in factors for g in factors_of(f)]
            if len(flat) == len(factors):
                raise
            return self._product(flat, bound, rows, columns, points)

    def _of_matrices(self, factors: list[Any], bound: Names, rows: Names, columns: Names, points: Any) -> Term:
        if not factors:
            if bound:
                raise NotRead("a sum of nothing that has indices")
            return self._filled(("OfNumber", ONE), rows, columns)
        groups = self._groups(factors, bound)
        if len(groups) > 1:
            return self._kron(groups, bound, rows, columns, points)
        if not bound:
            return self._together(factors, rows, columns, points)
        if len(factors) == 1:
            return self._summed(factors[0], bound, rows, columns, points)
        for n in range(1, len(factors)):
            for left in itertools.combinations(factors, n):
                right = [f for f in factors if not any(f is g for g in left)]
                found = self._split(list(left), right, bound, rows, columns, points)
                if found is not None:
                    return found
        raise NotRead("a sum of products that is no product of matrices")

    def _split(self, left: Any, right: Any, bound: Names, rows: Names, columns: Names, points: Any) -> Term | None:
        one, two = (set().union(*map(self.free, part)) for part in (left, right))
        middle = tuple(b for b in bound if b in one and b in two)
        if one & set(columns) or two & set(rows) or not middle or set(rows) - one or set(columns) - two:
            return None
        mine, theirs = (tuple(b for b in bound if b in s and b not in middle) for s in (one, two))
        for order in itertools.permutations(middle) if len(middle) < 4 else [middle]:
            try:
                return (
                    "MulM",
                    self._product(left, mine, rows, order, points),
                    self._product(right, theirs, order, columns, points),
                )
            except NotRead:
                continue
        return None

    def _summed(self, factor: Any, bound: Names, rows: Names, columns: Names, points: Any) -> Term:
        if not columns:
            return ("MulM", self.term(factor, rows, bound, points), ("Ones", self._sizes(bound), ()))
        if not rows:
            return ("MulM", ("Ones", (), self._sizes(bound)), self.term(factor, bound, columns, points))
        raise NotRead("a sum over one index of three")

    def _groups(self, factors: list[Any], bound: Names) -> list[list[Any]]:
        """Factors that share indices, those of sums and others, together."""
        groups: list[tuple[set[str], list[Any]]] = []
        for factor in factors:
            free = self.free(factor)
            mine = [group for group in groups if group[0] & free]
            groups = [group for group in groups if not group[0] & free]
            groups.append((free.union(*(g[0] for g in mine)), [*(f for g in mine for f in g[1]), factor]))
        return [group for _, group in groups]

    def _kron(self, groups: list[list[Any]], bound: Names, rows: Names, columns: Names, points: Any) -> Term:
        found = []
        for group in groups:
            free = set().union(*map(self.free, group))
            mine = tuple(r for r in rows if r in free), tuple(c for c in columns if c in free)
            found.append((mine, group, tuple(b for b in bound if b in free)))
        found.sort(
            key=lambda item: [rows.index(r) for r in item[0][0]] or [columns.index(item[0][1][0]) if item[0][1] else -1]
        )
        places = [(r, c) for (r, c), _, _ in found]
        if (
            len(found) == 2
            and not any(c for _, c in places[:1])
            and not places[1][0]
            and places[0][0] == rows
            and places[1][1] == columns
        ):
            (_, one, b1), (_, two, b2) = found
            return ("MulM", self._product(one, b1, rows, (), points), self._product(two, b2, (), columns, points))
        if any(len(found) == 2 and places[k] == (rows, columns) and not any(places[1 - k]) for k in (0, 1)) or any(
            p == ((), ()) for p in places
        ):
            scalars = [item for item in found if item[0] == ((), ())]
            others = [item for item in found if item[0] != ((), ())]
            made = self._product(
                [f for _, g, _ in others for f in g], tuple(b for _, _, bs in others for b in bs), rows, columns, points
            )
            for _, group, own in scalars:
                made = ("Scale", self._product(group, own, (), (), points), made)
            return made
        made = None
        for mine, theirs, block in self._blocks(found, rows, columns):
            if len(block) == 1:
                ((_, group, own),) = block
                part = self._product(group, own, mine, theirs, points)
            else:
                crossed = self._commutation([group for _, group, _ in block], mine, theirs)
                if crossed is None:
                    raise NotRead("a product whose rows and columns interleave")
                part = crossed
            made = part if made is None else _kron_of(made, part)
        if {*rows, *columns} - {i for mine, _, _ in found for axis in mine for i in axis}:
            raise NotRead("rows or columns that no factor has")
        return made  # type: ignore[return-value]

    def _blocks(self, found: Any, rows: Names, columns: Names) -> Iterator[tuple[Names, Names, Any]]:
        """Factors in the order of rows and columns, those together that interleave."""
        left = list(found)
        while left:
            first = next((item for item in left if not item[0][0] and item[0][1][:1] == columns[:1]), None)
            first = first or next((item for item in left if item[0][0][:1] == rows[:1] or not rows), None)
            if first is None:
                raise NotRead("rows or columns that no factor has")
            block = [first]
            while True:
                mine = {r for (own, _), _, _ in block for r in own}
                theirs = {c for (_, own), _, _ in block for c in own}
                n = max((rows.index(r) + 1 for r in mine), default=0)
                m = max((columns.index(c) + 1 for c in theirs), default=0)
                wanted = {*rows[:n], *columns[:m]} - mine - theirs
                if not wanted:
                    break
                more = [item for item in left if item not in block and wanted & {*item[0][0], *item[0][1]}]
                if not more:
                    raise NotRead("rows or columns that no factor has")
                block += more
            yield rows[:n], columns[:m], block
            left = [item for item in left if item not in block]
            rows, columns = rows[n:], columns[m:]

    def _commutation(self, groups: list[list[Any]], rows: Names, columns: Names) -> Term | None:
        """Deltas that join the rows (a, b) to the columns (b, a)."""
        if len(rows) != 2 or len(columns) != 2 or any(len(g) != 1 or g[0][0] != "delta" for g in groups):
            return None
        joined = {frozenset(g[0][1:]) for g in groups}
        crossed = {frozenset((rows[0], columns[1])), frozenset((rows[1], columns[0]))}
        return ("Commutation", self._sizes(rows[:1]), self._sizes(rows[1:])) if joined == crossed else None

    def _together(self, factors: list[Any], rows: Names, columns: Names, points: Any) -> Term:
        """A product of factors that share rows or columns."""
        if len(factors) == 1:
            (factor,) = factors
            if factor[0] == "delta":
                one, other = factor[1:]
                if {(one,), (other,)} == {rows, columns}:
                    return ("Eye", self._sizes(rows))
                if rows in ((one, other), (other, one)):
                    return ("Vec", ("Eye", self._sizes(rows[:1])))
                if columns in ((one, other), (other, one)):
                    return ("Transpose", ("Vec", ("Eye", self._sizes(columns[:1]))))
                raise NotRead("a delta that joins no row to a column")
            return self.term(factor, rows, columns, points)
        everything = {*rows, *columns}
        full = [f for f in factors if self.free(f) == everything and f[0] != "delta"]
        if rows and columns and len(rows) == len(columns) == 1:
            deltas = [f for f in factors if f[0] == "delta" and set(f[1:]) == everything]
            if deltas:
                other = [f for f in factors if f is not deltas[0]]
                renamed = [with_names({columns[0]: rows[0]}, f, self._labels) for f in other]
                return ("Diag", self._product(renamed, (), rows, (), points))
            by_row = [f for f in factors if self.free(f) == set(rows)]
            by_column = [f for f in factors if self.free(f) == set(columns)]
            if full and (by_row or by_column) and len(full) + len(by_row) + len(by_column) == len(factors):
                made = self._together(full, rows, columns, points)
                if by_row:
                    made = ("MulM", ("Diag", self._product(by_row, (), rows, (), points)), made)
                if by_column:
                    made = ("MulM", made, ("Diag", self._product(by_column, (), columns, (), points)))
                return made
        if len(full) < len(factors):
            raise NotRead("a product in which indices of several factors meet")
        made = self.term(factors[-1], rows, columns, points)
        for factor in reversed(factors[:-1]):
            made = ("Entries", self.term(factor, rows, columns, points), made)
        return made


def _kron_of(a: Term, b: Term) -> Term:
    if a[0] == b[0] == "Eye":
        return ("Eye", (*a[1], *b[1]))
    return ("Kron", a, b)
