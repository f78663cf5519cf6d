"""Derivatives in certificates of bounds: the differential of an expression along a direction, and one step of the chain rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verify.kernel import quantities as q
from verify.kernel.quantities import Index, Matrix, Scalar, number
from verify.kernel.refusal import Refused

LINEAR = ("stack", "block diagonal", "sum over", "reshape", "diagonal")
SMOOTH = ("exponential", "softmax", "iterate", "normalised rows")  # with a differential of a kind of its own


def within(item: Any) -> Iterator[tuple[Any, ...]]:
    """All generators and atoms in a datum, itself among them, whether a derivative binds a name of theirs or not."""
    left = [item]
    while left:
        item = left.pop()
        if isinstance(item, (Scalar, Matrix)):
            item = tuple(item.terms.items())
        if isinstance(item, tuple):
            yield item
        if isinstance(item, (tuple, frozenset)):
            left.extend(item)


def mentions(item: Any, x: str) -> bool:
    """Whether the input x occurs in a datum."""
    return x in q.inputs_in(item)


class Differential:
    """Pairs of an expression and its derivative along `direction` where the input `x` is `point`."""

    def __init__(self, x: str, point: Matrix, direction: Matrix) -> None:
        self.x, self.point, self.direction = x, point, direction

    def of(self, A: Matrix) -> tuple[Matrix, Matrix]:
        still: dict[Any, Scalar] = {}
        value = change = q.zeros(A.rows, A.columns)
        varying: dict[Any, Matrix] = {}
        for word, c in A.terms.items():
            if not mentions(c, self.x):
                still[word] = c
                continue
            for monomial, d in c.terms.items():
                moving = frozenset(item for item in monomial if mentions(item[0], self.x))
                part = Matrix(A.rows, A.columns, {word: Scalar({monomial - moving: d})})
                varying[moving] = varying[moving] + part if moving in varying else part
        for word, c in still.items():
            here, move = self.word(word, A.rows, A.columns)
            value, change = value + here.times(c), change + move.times(c)
        for moving, B in varying.items():
            here, move = self.normalised(moving, B)
            value, change = value + here, change + move
        return value, change

    def word(self, word: Any, rows: Scalar, columns: Scalar) -> tuple[Matrix, Matrix]:
        value, change = q.identity(rows), q.zeros(rows, rows)
        for item in word:
            here, move = self.atom(item)
            value, change = value @ here, change @ here + value @ move
        return value, change if word else q.zeros(rows, columns)

    def normalised(self, moving: Any, B: Matrix) -> tuple[Matrix, Matrix]:
        """c M / (||M||_F + e) for e > 0, where c and e do not vary."""
        content = q.content_of(B)
        M = B.divided(content)
        (g, exponent), *others = moving
        offset = g[1] - q.norm("F", M) if g[0] == "sum" else number(0)
        if others or exponent != -1 or mentions(offset, self.x) or not q.is_positive(offset):
            raise Refused("the differential of a coefficient that varies")
        here, move = self.of(M)
        change = q.atom("normalised differential", B.rows, B.columns, here, move, offset)
        return here.times(content * (q.norm("F", here) + offset) ** -1), change.times(content)

    def atom(self, item: Any) -> tuple[Matrix, Matrix]:
        kind, turned, rows, columns, *data = item
        if not mentions(item, self.x):
            return Matrix(rows, columns, {(item,): number(1)}), q.zeros(rows, columns)
        if turned:
            here, move = self.atom((kind, False, columns, rows, *data))
            return here.T, move.T
        if kind == "input" and data == [self.x, (), frozenset()] and (rows, columns) == self.shape:
            return self.point, self.direction
        if kind in ("entrywise", "kronecker"):
            A, B = data if kind == "kronecker" else (*data[0], *data[0])[:2]
            (a, da), (b, db) = self.of(A), self.of(B)
            return q.bilinear(kind, a, b), q.bilinear(kind, da, b) + q.bilinear(kind, a, db)
        if kind in LINEAR and not {i for i in data if isinstance(i, Index)} & (self.point.free | self.direction.free):
            here, move = (q.linear(kind, A, rows, columns, *data[:-1]) for A in self.of(data[-1]))
            return here, move
        if kind in SMOOTH and not any(mentions(other, self.x) for other in data[1:]):
            here, move = self.of(data[0])
            value = q.atom(kind, rows, columns, here, *data[1:]) if kind == "iterate" else q.applied(kind, here)
            return value, q.atom(f"{kind} differential", rows, columns, here, move, *data[1:])
        raise Refused(f"the differential of a {kind}")

    @property
    def shape(self) -> tuple[Scalar, Scalar]:
        return self.point.rows, self.point.columns


def derivative(J: Matrix) -> tuple[Any, ...]:
    """The value, the point, the layout and the variable where a matrix is a derivative of what certainly has one."""
    item = q.single_atom(J, "derivative")
    if item is None or item[1] or item[6] not in ("row-major", "column-major"):
        raise Refused("no derivative")
    V, P = item[4:6]
    if (J.rows, J.columns) != (V.rows * V.columns, P.rows * P.columns):
        raise Refused("a derivative of another shape")
    Differential(item[7], P, q.zeros(P.rows, P.columns)).of(V)  # refused if it is not certain to have one
    return V, P, item[6], item[7]


def derivative_of(V: Matrix, P: Matrix, layout: Any, x: Any) -> Matrix:
    """d vec(V) / d vec(x) at x = P; terms of V that do not vary are left out, and that of x itself is the identity."""
    terms = {word: c for word, c in V.terms.items() if mentions(word, x) or mentions(c, x)}
    V = Matrix(V.rows, V.columns, terms)
    item = q.single_atom(V, "input")
    if item is not None and item[1:] == (False, P.rows, P.columns, x, (), frozenset()):
        return q.identity(P.rows * P.columns)
    return q.atom("derivative", V.rows * V.columns, P.rows * P.columns, V, P, layout, x)


def along(J: Matrix, D: Matrix) -> Matrix:
    """The differential of a derivative's value along a direction."""
    V, P, _, x = derivative(J)
    if (D.rows, D.columns) != (P.rows, P.columns):
        raise Refused("a direction of another shape")
    return Differential(x, P, D).of(V)[1]


def termwise(J: Matrix, inside: bool) -> Matrix:
    """d vec(c F + ...) = c d vec F + ...; `inside` c (A (x) B^T) d vec f for F = A f B by rows, (B^T (x) A) by columns."""
    V, P, layout, x = derivative(J)
    found = q.zeros(J.rows, J.columns)
    for word, c in V.terms.items():
        if mentions(c, x):
            raise Refused("a coefficient that varies")
        moving = [k for k, item in enumerate(word) if not inside or mentions(item, x)]
        first, last = word[moving[0]], word[moving[-1]]
        A = Matrix(V.rows, first[2], {word[: moving[0]]: number(1)})
        f = Matrix(first[2], last[3], {word[moving[0] : moving[-1] + 1]: number(1)})
        B = Matrix(last[3], V.columns, {word[moving[-1] + 1 :]: number(1)})
        outer = (A, B.T) if layout == "row-major" else (B.T, A)
        found = found + (q.bilinear("kronecker", *outer) @ derivative_of(f, P, layout, x)).times(c)
    return found


def chain(A: Matrix, J: Matrix, B: Matrix) -> tuple[Matrix, Matrix]:
    """d vec(A f B), and (A (x) B^T) d vec f by rows or (B^T (x) A) d vec f by columns, for J = d vec f and fixed A and B."""
    f, P, layout, x = derivative(J)
    if mentions((A, B), x):
        raise Refused("a factor that varies")
    outer = (A, B.T) if layout == "row-major" else (B.T, A)
    return derivative_of(A @ f @ B, P, layout, x), q.bilinear("kronecker", *outer) @ J


def product(F: Matrix, J: Matrix, C: Matrix) -> tuple[Matrix, Matrix]:
    """d vec(F X C) - C^T (x) F, and ((X C)^T (x) I) d vec F, for the variable X, J = d vec F by columns and a fixed C."""
    _, P, layout, x = derivative(J)
    if layout != "column-major" or mentions(C, x) or derivative_of(F, P, layout, x) != J:
        raise Refused("no derivative of the first factor by columns, or a factor that varies")
    X, here = (
        q.atom("input", P.rows, P.columns, x, (), frozenset()),
        Differential(x, P, q.zeros(P.rows, P.columns)).of(F)[0],
    )
    first = q.bilinear("kronecker", (P @ C).T, q.identity(F.rows)) @ J
    return derivative_of(F @ X @ C, P, layout, x) - q.bilinear("kronecker", C.T, here), first


def chain_of_rows(J: Matrix, i: Any) -> Matrix:
    """d vec(f B) = blockdiag_i(B^T (I - y^T y / |y|^2) / |y|) d vec Y by rows, for the normalised rows f of Y, y its row i."""
    V, P, layout, x = derivative(J)
    (word,) = V.terms
    Y = word[0][4] if word[0][:2] == ("normalised rows", False) else None
    if (
        Y is None
        or layout != "row-major"
        or V.terms[word] != number(1)
        or any(mentions(other, x) for other in word[1:])
    ):
        raise Refused("no normalised rows")
    B = Matrix(Y.columns, V.columns, {word[1:]: number(1)})
    here = Differential(x, P, q.zeros(P.rows, P.columns)).of(Y)[0]
    if i.size != Y.rows or i in J.free:
        raise Refused("no index of the rows")
    y = here if Y.rows == number(1) else q.selected(here, i, number(1))
    block = (B.T @ q.atom("projection", Y.columns, Y.columns, y)).times(q.norm("F", y) ** -1)
    inner = derivative_of(Y, P, layout, x)
    outer = q.linear("block diagonal", block, V.rows * V.columns, Y.rows * Y.columns, i)
    return (block if Y.rows == number(1) else outer) @ inner
