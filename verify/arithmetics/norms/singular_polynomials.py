"""Polynomials of singular values, of which the largest absolute value is asked; and rotations near the identity.

max_i |q(sigma_i(M))| over all singular values of M is the norm of M p(M^T M) for q(s) = s p(s^2), and of M p(M^T M) M^T for
q(s) = s^2 p(s^2): where they have a zero more than M has singular values, it adds |q(0)| = 0 to the maximum.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import sympy

from verify.arithmetics.formal import EntryByEntry, Formal
from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import SHIFT, SPECTRAL, mean_exponential, norm, smallest
from verify.arithmetics.norms.bounded import Bounded, is_scalar, scalar
from verify.arithmetics.norms.odd_polynomials import largest_on_unit_interval
from verify.arithmetics.norms.rules import RULES, is_contraction, one_after_another
from verify.arithmetics.norms.signs import is_nonnegative
from verify.arithmetics.norms.statements import RuleBound, rule
from verify.arithmetics.norms.world import Node, world
from verify.vocabulary.errors import ArithmeticUnsupported

#: The singular value that a polynomial is in.
S = sympy.Symbol("s", nonnegative=True)


class OfSingularValues(Formal):
    """Base of what is said of all singular values at once: there is no form of each, of their number, and of their sum."""

    __slots__ = ()

    def _one_by_one(self, *_: Any) -> Any:
        raise ArithmeticUnsupported("singular values one by one, which have no form for all sizes")

    shape = property(_one_by_one)
    sum = _one_by_one

    def adapted(self, other: Any) -> Any:
        """Refused: no number stands beside all singular values."""
        return self._one_by_one()


class Spectrum(OfSingularValues, EntryByEntry):
    """A polynomial of every singular value of a node; `size`: absolute values of it."""

    __slots__ = ("node", "size", "value")

    def __init__(self, node: Node, value: Any = S, size: bool = False) -> None:
        self.node, self.value, self.size = node, value, size

    def _with(self, other: Any, combine: Any) -> Spectrum:
        if isinstance(other, Spectrum):
            if other.node is not self.node:
                return self._less(other, combine)
            size, other = other.size, other.value
        elif is_scalar(other):
            size, other = False, scalar(other)
        else:
            raise ArithmeticUnsupported(f"singular values and {other!r} in one operation")
        if self.size or size:
            raise ArithmeticUnsupported("absolute values of singular values in an operation")
        return Spectrum(self.node, sympy.expand(combine(self.value, other)))

    def _less(self, other: Spectrum, combine: Any) -> Any:
        """The differences of the singular values of two matrices, in decreasing order."""
        if self.value != S or other.value != S or self.size or other.size or combine is not operator.sub:
            raise ArithmeticUnsupported("singular values of two matrices in an operation that is no difference")
        return Shifts(self.node, other.node)

    def __getitem__(self, key: Any) -> Any:
        if self.value == S and not self.size and isinstance(key, int) and key in (0, -1):
            c, rest = _less_identity(self.node)
            return c + (norm(SPECTRAL, rest) if key == 0 else smallest(rest))
        raise ArithmeticUnsupported(
            f"some of the singular values of {Bounded(self.node)!r} alone have no form for all sizes"
        )

    def reshape(self, *shape: Any) -> Any:
        return self[shape]

    def absolute(self) -> Spectrum:
        return Spectrum(self.node, self.value, True)

    @rule("polynomials of singular values", rests_on=("polynomial-of-singular-values",))
    def largest(self) -> Any:
        """The largest of the absolute values, a norm."""
        if not self.size:
            raise ArithmeticUnsupported("the largest of a polynomial of singular values without absolute values")
        terms = {int(power): c for (power,), c in sympy.Poly(self.value, S).terms()}
        parity = {power % 2 for power in terms}
        if len(parity) != 1 or min(terms) == 0:
            raise ArithmeticUnsupported(f"the largest of {self.value}, neither odd nor even without a constant")
        square, first = (nodes.transposed(self.node), self.node), 2 - min(parity)
        powers = [(c, nodes.product([nodes.identity(self.node.shape[1]), *square * ((power - first) // 2)]))
                  for power, c in terms.items()]  # fmt: skip
        inner = nodes.sum_of(powers, powers[0][1].shape)
        world().simplified.add("polynomials of singular values")
        return norm(SPECTRAL, nodes.product([self.node, inner, *[square[0]] * (first - 1)]))


@rule(
    "shifted Gram matrix",
    says="the singular values of A A^T + c I are those of A A^T plus c, for c >= 0",
    rests_on=("shifted-gram",),
)
def _less_identity(node: Node) -> tuple[Any, Node]:
    """c >= 0 and b A A^T where a node is b A A^T + c I with b >= 0; 0 and itself for any other."""
    for (b, P), (c, identity) in nodes.both_orders(node):
        signs = is_nonnegative(b) and is_nonnegative(c)
        if identity.kind == "identity" and signs and nodes.gram_factor(P) is not None:
            world().simplified.add("shifted Gram matrix")
            return c, nodes.scaled(b, P)
    return sympy.Integer(0), node


class Shifts(OfSingularValues):
    """sigma_i(A) - sigma_i(B) for all i, of which the largest size is asked."""

    __slots__ = ("nodes", "size")
    __array_ufunc__ = None

    def __init__(self, A: Node, B: Node, size: bool = False) -> None:
        self.nodes, self.size = (A, B), size

    def absolute(self) -> Shifts:
        return Shifts(*self.nodes, True)

    def largest(self) -> Any:
        if not self.size:
            raise ArithmeticUnsupported("the largest difference of singular values without absolute values")
        return world().atom(SHIFT, self.nodes)


# -- rotations near the identity ---------------------------------------------------------------------------------------


def rotation_less_identity(node: Node) -> Node | None:
    """A where a node is exp(A) - I with skew A."""
    for (c, E), (d, identity) in nodes.both_orders(node):
        if (c, E.kind, d, identity.kind) == (1, "exponential", -1, "identity"):
            return E.parts[0] if nodes.is_skew(E.parts[0]) else None
    return None


@rule(
    "Gram matrix of a rotation",
    says="D + D^T + D^T D = L R^T (L^T L - I) R L^T for D = L R L^T, R = exp(A) - I with skew A, as R + R^T = -R^T R",
    rests_on=("gram-of-rotation",),
)
def _gram_of_rotation(kind: str, node: Node) -> Iterator[RuleBound]:
    """D + D^T + D^T D in factored form."""
    terms = nodes.terms_of(node)
    if len(terms) != 3 or any(c != 1 for c, _ in terms):
        return
    for _, D in terms:
        others = [part for _, part in terms if part is not D]
        factors = nodes.factors_of(D)
        if nodes.transposed(D) in others and nodes.product([nodes.transposed(D), D]) in others and len(factors) == 3:
            left, R, right = factors
            A = rotation_less_identity(R)
            if right is nodes.transposed(left) and A is not None:
                defect = nodes.minus(nodes.product([right, left]), nodes.identity(left.shape[1]))
                whole = nodes.product([left, nodes.transposed(R), defect, R, right])
                yield RuleBound(
                    "Gram matrix of a rotation", norm(kind, whole), ("Gram matrix of a rotation", kind, left, A)
                )
                return


@rule(
    "mean of rotations",
    says="exp(A) - I = A F = F A with F = int_0^1 exp(t A) dt, of spectral norm at most 1 for skew A",
    rests_on=("mean-of-rotations", "norm-of-mean-of-rotations"),
)
def _with_means(kind: str, node: Node) -> Iterator[RuleBound]:
    """One factor exp(A) - I as A F and as F A; two of them as F A ... A F."""
    places = [k for k, factor in enumerate(node.parts) if rotation_less_identity(factor) is not None]
    for first in {1: (False, True), 2: (True,)}.get(len(places), ()):  # whether the first F stands before its A
        found, taken = list(node.parts), []
        for place in reversed(places):
            A = rotation_less_identity(node.parts[place])
            assert A is not None
            pair, turned = [nodes.of("mean of rotations", A), A], first == (place == places[0])
            taken.append((tuple(found[:place]), A, tuple(found[place + 1 :]), turned))
            found[place : place + 1] = pair if turned else pair[::-1]
        yield RuleBound(
            "mean of rotations", norm(kind, nodes.product(found)), functools.partial(_by_means, kind, taken)
        )


def _by_means(kind: str, taken: list[Any], _: Any) -> list[Any]:
    """How rotations less the identity, between matrices, are written by their means."""
    steps = []
    for before, A, after, turned in taken:
        name = "rotation by its mean, reversed" if turned else "rotation by its mean"
        ends = (nodes.product(side or [nodes.identity(A.shape[0])]) for side in (before, after))
        steps.append((name, kind, next(ends), A, next(ends)))
    return [steps]


def _mean_of_rotations(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind == SPECTRAL and nodes.is_skew(node.parts[0]):
        yield RuleBound("mean of rotations", sympy.Integer(1), ("mean of rotations", *node.parts))


@rule(
    "polynomial of a contraction",
    says="the norm of M p(M^T M) M^T is at most max |s^2 p(s^2)| on [0, 1] for ||M||_2 <= 1",
    rests_on=("polynomial-of-singular-values",),
)
def _polynomial_of_contraction(kind: str, node: Node) -> Iterator[RuleBound]:
    M = node.parts[0]
    if kind != SPECTRAL or len(node.parts) < 3 or node.parts[-1] is not nodes.transposed(M) or not is_contraction(M):
        return
    p = nodes.odd_polynomial(nodes.product(node.parts[:-1]), M)
    if p is not None:
        name, bound, written = "polynomial of a contraction", largest_on_unit_interval(p), None
        if (
            len(p) == 2 and p[1] != 0
        ):  # the checker knows degree 1, where c is taken at the end or where the slope vanishes
            written = (name, M, bound, abs(p[1]), -p[0] / (2 * p[1]), *p)
        yield RuleBound(name, bound, written)


# -- blocks of an exponential ------------------------------------------------------------------------------------------


def blocks_of_exponential(node: Node) -> tuple[Node, ...] | None:
    """P, C, Z, R where a node is the transpose of the upper right block of exp [[P, C], [Z, R]], of four equal sizes."""
    size = node.shape[0]
    upper = node.parts[0].parts[0] if node.parts[0].kind == "transpose" else None
    if upper is None or upper.kind != "rows" or node.data != (size, 2 * size) or upper.data != (0, size):
        return None
    whole = upper.parts[0]
    if node.shape != (size, size) or whole.kind != "exponential" or whole.parts[0].kind != "concatenate":
        return None
    found: list[Node] = []
    for part in whole.parts[0].parts:
        row = nodes.transposed(part)
        if part.kind == "zeros":
            found += [nodes.zeros((size, size))] * 2
        elif row.kind == "concatenate" and len(row.parts) == 2:
            found += [nodes.transposed(block) for block in row.parts]
    return tuple(found) if len(found) == 4 and all(block.shape == (size, size) for block in found) else None


@rule(
    "integral of orthogonal matrices",
    says="int_0^1 exp((1 - s) P) exp(s R) ds, a block of exp [[P, I], [0, R]], is a mean of orthogonal "
    "matrices for skew P and R, so that its spectral norm is at most 1",
    rests_on=("integral-of-orthogonal",),
)
@rule(
    "series of an exponential",
    says="sum_{n >= 1} P^(n - 1) C / n!, a block of exp [[P, C], [0, 0]], has spectral norm at most ||C||_2 "
    "(e^a - 1) / a at a = ||P||_2",
    rests_on=("series-of-an-exponential",),
)
def _corner_of_exponential(kind: str, node: Node) -> Iterator[RuleBound]:
    """Bounds of the spectral norm of the upper right block of exp [[P, C], [0, R]]."""
    blocks = blocks_of_exponential(node) if kind == SPECTRAL else None
    if blocks is None:
        return
    P, C, below, R = blocks
    if C.kind == "identity" and below.kind == "zeros" and nodes.is_skew(P) and nodes.is_skew(R):
        yield RuleBound("integral of orthogonal matrices", sympy.Integer(1), ("integral of orthogonal matrices", P, R))
    if below.kind == R.kind == "zeros":
        bound = norm(SPECTRAL, C) * mean_exponential(norm(SPECTRAL, P))
        yield RuleBound("series of an exponential", bound, ("series of an exponential", P, C))


RULES |= {
    "rows": one_after_another(_corner_of_exponential, RULES["rows"]),
    "product": one_after_another(RULES["product"], _with_means, _polynomial_of_contraction),
    "sum": one_after_another(_gram_of_rotation, RULES["sum"]),
    "mean of rotations": _mean_of_rotations,
}
