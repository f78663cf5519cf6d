"""Norms of Jacobians: ||d vec f / d vec X||_2 is the largest ||df||_F along directions with ||dX||_F = 1.

The differential of an expression is an expression again; of functions that have none, a node of a kind of its own, which
the rules below bound.  Vectorisation by rows or columns makes no difference to the norm.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL, entry, largest_over, norm
from verify.arithmetics.norms.odd_polynomials import is_concave, largest_slope
from verify.arithmetics.norms.rules import RULES, one_after_another, starts_in_unit_ball  # fmt: skip
from verify.arithmetics.norms.signs import is_positive
from verify.arithmetics.norms.statements import RuleBound, rule
from verify.arithmetics.norms.telescoping import HALF
from verify.arithmetics.norms.world import Kind, Node, unused_index, world
from verify.vocabulary.errors import ArithmeticUnsupported

# -- differentials -----------------------------------------------------------------------------------------------------


def differential(value: Node, variable: Node, point: Node, direction: Node) -> Node:
    """The derivative of `value` along `direction` where the `variable` is the `point`."""
    return _Differential(variable, point, direction).of(value)[1]


class _Differential:
    """Pairs of a node at the point and its derivative along the direction, by node."""

    def __init__(self, variable: Node, point: Node, direction: Node) -> None:
        self.variable = variable
        self.known = {variable.number: (point, direction)}

    def of(self, node: Node) -> tuple[Node, Node]:
        if node.number not in self.known:
            self.known[node.number] = (
                self._of(node) if depends(node, self.variable) else (node, nodes.zeros(node.shape))
            )
        return self.known[node.number]

    def _of(self, node: Node) -> tuple[Node, Node]:
        if node.kind == "sum":
            pairs = [self._of_term(c, part) for c, part in nodes.terms_of(node)]
            return tuple(nodes.sum_of([(1, pair[k]) for pair in pairs], node.shape) for k in (0, 1))  # type: ignore
        if any(depends_on(item, self.variable) for item in node.data):
            raise ArithmeticUnsupported(f"the differential of a {node.kind} whose data vary")
        at = [self.of(part) for part in node.parts]
        here, moves = [pair[0] for pair in at], [pair[1] for pair in at]
        value = nodes.rebuilt(node, here, node.data)
        if node.kind in MULTILINEAR:
            changes = [
                nodes.rebuilt(node, [*here[:k], moves[k], *here[k + 1 :]], node.data)
                for k in range(len(here)) if moves[k].kind != "zeros"
            ]  # fmt: skip
            return value, nodes.sum_of([(1, change) for change in changes], node.shape)
        if node.kind in LINEAR:
            return value, nodes.rebuilt(node, moves, node.data)
        if node.kind in FUNCTIONS:
            return value, nodes.of(FUNCTIONS[node.kind], here[0], moves[0], data=node.data, shape=node.shape)
        raise ArithmeticUnsupported(f"the differential of a {node.kind}")

    def _of_term(self, coefficient: Any, part: Node) -> tuple[Node, Node]:
        """A term c A of a sum; c may vary only as k / (||A||_F + e)."""
        value, move = self.of(part)
        if not depends_on(coefficient, self.variable):
            return nodes.scaled(coefficient, value), nodes.scaled(coefficient, move)
        if self.variable.shape == (1, 1):
            symbol = entry(self.variable, 0, 0)
            slope = sympy.diff(coefficient, symbol)
            here = entry(self.known[self.variable.number][0], 0, 0)
            if not any(depends_on(c.subs(symbol, 0), self.variable) for c in (coefficient, slope)):
                coefficient, slope = coefficient.subs(symbol, here), slope.subs(symbol, here)
                return nodes.scaled(coefficient, value), nodes.sum_of([(coefficient, move), (slope, value)], part.shape)
        size = norm(FROBENIUS, part)
        numerator, denominator = sympy.sympify(coefficient).as_numer_denom()
        offset = sympy.expand(denominator - size)
        if depends_on(numerator, self.variable) or depends_on(offset, self.variable) or not is_positive(offset):
            raise ArithmeticUnsupported("the differential of a coefficient that varies")
        change = nodes.of("normalised differential", value, move, data=(offset,), shape=part.shape)
        return nodes.scaled(numerator / (norm(FROBENIUS, value) + offset), value), nodes.scaled(numerator, change)


#: Kinds that are linear in each operand, in their operands together, and functions with a differential of their own kind.
MULTILINEAR: tuple[Kind, ...] = ("product", "kronecker", "entrywise")
LINEAR: tuple[Kind, ...] = (
    "transpose",
    "concatenate",
    "stack",
    "reshape",
    "rows",
    "diagonal",
    "sum over",
    "block diagonal",
)
#: What functions become, of which nothing is known but that they have a differential.
FUNCTIONS: dict[Kind, Kind] = {
    "exponential": "exponential differential", "softmax": "softmax differential", "iterate": "iterate differential",
}  # fmt: skip


def depends(node: Node, variable: Node) -> bool:
    """Whether a node, or a coefficient in it, contains the variable."""
    found = world().depending.setdefault(variable, {})
    if node not in found:
        found[node] = (
            node is variable
            or any(depends(part, variable) for part in node.parts)
            or any(depends_on(item, variable) for item in node.data)
        )
    return found[node]


def depends_on(item: Any, variable: Node) -> bool:
    """Whether a datum of a node or of a quantity contains the variable."""
    if isinstance(item, Node):
        return depends(item, variable)
    if isinstance(item, tuple):
        return any(depends_on(part, variable) for part in item)
    if isinstance(item, sympy.Basic):
        known = world().atoms
        return any(depends_on(known[symbol].payload, variable) for symbol in item.free_symbols if symbol in known)
    return False


# -- rules -------------------------------------------------------------------------------------------------------------


@rule("derivative along a unit direction", says="||d vec f / d vec X||_2 is the largest ||df||_F for ||dX||_F <= 1")
@rule(
    "constant factors of a derivative",
    says="||d vec(L f R) / d vec X||_2 <= ||L||_2 ||d vec f / d vec X||_2 ||R||_2",
    rests_on=("chain-rule", "constant-factors"),
)
def _derivative(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind != SPECTRAL:
        return
    value, point = node.parts
    variable = nodes.leaf(node.data[1], point.shape)
    inner = nodes.factors_of(nodes.single(value)[1])
    moving = [k for k, factor in enumerate(inner) if depends(factor, variable)]
    coefficient = nodes.single(value)[0]
    if len(moving) == 1 and len(inner) > 1 and not depends_on(coefficient, variable):
        core = inner[moving[0]]
        size = core.shape[0] * core.shape[1]
        J = nodes.of("derivative", core, point, data=node.data, shape=(size, node.shape[1]))
        sides = [nodes.product(side) if side else None for side in (inner[: moving[0]], inner[moving[0] + 1 :])]
        bound = abs(coefficient) * sympy.Mul(norm(SPECTRAL, J), *(norm(SPECTRAL, side) for side in sides if side))
        written = functools.partial(_constant_factors, node, J, coefficient, *sides)
        yield RuleBound("constant factors of a derivative", bound, written)
        if norm(SPECTRAL, J).free_symbols & world().targets:
            return
    name = f"direction of {node.data[1]}"
    try:
        change = differential(value, variable, point, nodes.leaf(name, point.shape))
    except ArithmeticUnsupported:
        return
    world().properties.add(("has Frobenius norm at most 1", name))
    name = "derivative along a unit direction"
    yield RuleBound(name, norm(FROBENIUS, change), (name, node))


def _constant_factors(node: Node, J: Node, c: Any, left: Node | None, right: Node | None, _: Any) -> list[Any]:
    """How a derivative of c A f B is written, by the norms of A, B and d vec f, or that of f^T."""
    A, B = (
        side or nodes.identity(size) for side, size in zip((left, right), J.parts[0].shape, strict=True)
    )  # what stands beside f has as many columns, or rows, as f has rows, or columns
    L, R = map(nodes.identity, node.shape)
    A = nodes.scaled(c, A)
    turned = (A, nodes.transposed(B)) if node.data[0] == "row-major" else (nodes.transposed(B), A)
    return [[
        ("chain rule", SPECTRAL, L, A, J, B, R), ("product", nodes.kronecker(*turned), J), ("Kronecker product", SPECTRAL, *turned),
    ]]  # fmt: skip


@rule(
    "differential of the exponential",
    says="d exp(A) = int_0^1 exp((1 - s) A) dA exp(s A) ds, so that ||d exp(A)|| <= ||dA|| for skew A, in both norms",
    rests_on=("exponential-differential",),
)
def _of_exponential(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind != LARGEST and nodes.is_skew(node.parts[0]):
        name = "differential of the exponential"
        yield RuleBound(name, norm(kind, node.parts[1]), (name, kind, *node.parts))


@rule(
    "differential of softmax",
    says="row by row da_i = dt_i (diag(a_i) - a_i a_i^T), so that ||dA||_F <= max_i ||diag(a_i) - a_i "
    "a_i^T||_2 ||dT||_F, at most ||dT||_F / 2",
    rests_on=("softmax-differential",),
)
def _of_softmax(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind != FROBENIUS:
        return
    T, change = node.parts
    index = unused_index(node.shape[0], node)
    row = nodes.transposed(nodes.rows(nodes.of("softmax", T), index, index + 1, 1))
    covariance = nodes.minus(nodes.diagonal(row), nodes.product([row, nodes.transposed(row)]))
    name, largest = "differential of softmax", largest_over(index, norm(SPECTRAL, covariance))
    for factor in (largest, HALF):
        yield RuleBound(name, factor * norm(FROBENIUS, change), (name, index, T, change))


@rule(
    "differential of a normalisation",
    says="||d(M / (||M||_F + e))||_F <= ||dM||_F / e for e > 0, at M = 0 too",
    rests_on=("normalisation-differential",),
)
def _of_normalisation(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind == FROBENIUS:
        name = "differential of a normalisation"
        yield RuleBound(name, norm(FROBENIUS, node.parts[1]) / node.data[0], (name, *node.parts, *node.data))


@rule(
    "differential of an iteration",
    says="M -> M p(M^T M) acts on dM, in singular bases, by divided differences of g(s) = s p(s^2) on [-1, 1], "
    "at most max |g'|: ||dM_K||_F <= max |g'|^K ||dM_0||_F from ||M_0||_2 <= 1 if g keeps [-1, 1]",
    rests_on=("iteration-differential",),
)
def _of_iteration(kind: str, node: Node) -> Iterator[RuleBound]:
    count, *coefficients = node.data
    if kind == FROBENIUS and starts_in_unit_ball(node.parts[0], tuple(coefficients)):
        slope = largest_slope(tuple(coefficients))
        # written as the quotient of two powers, in which powers of rationals of symbolic exponents are compared
        power = sympy.Integer(slope.p) ** count / sympy.Integer(slope.q) ** count
        name = "differential of an iteration"
        yield RuleBound(name, power * norm(FROBENIUS, node.parts[1]), (name, slope, *node.parts, *node.data))


@rule(
    "differential of an iteration beside its start",
    says="for g increasing and concave on [0, 1] with g(0) = 0, g(1) <= 1: ||dB M_0^T||_F, ||dB^T M_0||_F <= "
    "sqrt(2) ||dM_0||_F; and B^T M = M^T B lets dB B^T, and dB^T, meet an M of S = M J M^T",
    rests_on=("iteration-beside-its-start", "iterate-and-start"),
)
def _beside_the_start(kind: str, node: Node) -> Iterator[RuleBound]:
    """dB M^T, dB^T M, and dB B^T S, dB^T S with S = c (P R^T - R P^T), [P, R] = M, for the iterate B of M_0, a multiple of M."""
    if kind != FROBENIUS:
        return
    for factors in (node.parts, nodes.factors_of(nodes.single(nodes.transposed(node))[1])):
        for place, factor in enumerate(factors):
            flipped = factor.kind == "transpose"
            D = factor.parts[0] if flipped else factor
            if D.kind != "iterate differential" or place + 1 == len(factors):
                continue
            (start, change), (_, *coefficients) = D.parts, D.data
            multiple, M = nodes.single(start)
            if not is_concave(tuple(coefficients)) or not starts_in_unit_ball(start, tuple(coefficients)):
                continue
            name, others = "differential of an iteration beside its start", [*factors[:place], *factors[place + 2 :]]
            side = "columns" if flipped else "rows"
            if factors[place + 1] is (M if flipped else nodes.transposed(M)):
                size = norm(FROBENIUS, change) / abs(multiple)
                bound = sympy.sqrt(2) * size * sympy.Mul(*(norm(SPECTRAL, other) for other in others))
                yield RuleBound(name, bound, (name, side, *D.parts, *D.data))
            size, skew = _change_before_normalisation(multiple, M, change), factors[place + 1]
            if not flipped:
                B = nodes.of("iterate", start, data=D.data, shape=D.shape)
                if place + 2 == len(factors) or factors[place + 1] is not nodes.transposed(B):
                    continue
                skew, others = factors[place + 2], [*factors[:place], B, *factors[place + 3 :]]
            frame = nodes.skew_factors(skew, M)
            if size is not None and frame is not None:  # c (P R^T - R P^T) = [P, R] [[0, c I], [-c I, 0]] [P, R]^T
                sides = sympy.Mul(norm(SPECTRAL, M), *(norm(SPECTRAL, other) for other in others))
                ends = factors[:place], factors[place + (2 if flipped else 3) :]
                bound = sympy.sqrt(2) * abs(nodes.terms_of(skew)[0][0]) * size * sides
                yield RuleBound(name, bound, functools.partial(_in_the_frame, side, *ends, skew, frame, D))


def _in_the_frame(
    side: str, A: tuple[Node, ...], C: tuple[Node, ...], S: Node, frame: tuple[Node, Node], D: Node, writer: Any
) -> list[Any]:
    """How ||A dB^T S C||_F and ||A dB B^T S C||_F are written for skew S = c (P R^T - R P^T) of the columns [P R] = M."""
    inner, rows = nodes.single(D.parts[1])[1], D.shape[1] if side == "columns" else D.shape[0]
    ends = [nodes.product(part or [nodes.identity(size)]) for part, size in ((A, rows), (C, S.shape[1]))]
    data = (inner.parts[1], *inner.data, *D.data)
    name = "differential of an iteration in the frame of its start"
    apart = [step for part in (A, C) for step in writer.split(part)]
    return [[(name, side, ends[0], *frame, ends[1], *data), *apart]]


def _change_before_normalisation(multiple: Any, M: Node, change: Node) -> Any:
    """||dM||_F where M_0 = c M / (||M||_F + e): it is at least ||dM_0||_F (||M||_F + e) / c."""
    numerator, inner = nodes.single(change)
    if inner.kind != "normalised differential" or inner.parts[0] is not M:
        return None
    if sympy.cancel(multiple * (norm(FROBENIUS, M) + inner.data[0]) - numerator) != 0:
        return None
    return norm(FROBENIUS, inner.parts[1])


@rule("product rule", says="d vec(A X C) = ((X C)^T (x) I) d vec A + (C^T (x) A) d vec X", rests_on=("product-rule",))
def _product_rule(kind: str, node: Node) -> Iterator[RuleBound]:
    """d vec(A(X) X C) - C^T (x) A = ((X C)^T (x) I) d vec A, column-major."""
    for (c, J), (d, K) in (nodes.terms_of(node), nodes.terms_of(node)[::-1]) if len(node.parts) == 2 else ():
        if kind != SPECTRAL or c != -d or J.kind != "derivative" or J.data[0] != "column-major":
            continue
        value, point = J.parts
        variable, factors = nodes.leaf(J.data[1], point.shape), nodes.factors_of(value)
        if len(factors) < 3 or factors[1] is not variable or any(depends(other, variable) for other in factors[2:]):
            continue
        try:
            here = _Differential(variable, point, nodes.leaf(f"direction of {J.data[1]}", point.shape)).of(factors[0])[
                0
            ]
        except ArithmeticUnsupported:
            continue
        C, size = nodes.product(factors[2:]), here.shape[0]
        if K is nodes.kronecker(nodes.transposed(C), here):
            outer = nodes.kronecker(nodes.transposed(nodes.product([point, C])), nodes.identity(size))
            dF = nodes.of("derivative", factors[0], point, data=J.data, shape=(size * size, J.shape[1]))
            bound = abs(c) * norm(SPECTRAL, nodes.product([outer, dF]))
            yield RuleBound("product rule", bound, ("product rule", SPECTRAL, factors[0], dF, C))


RULES |= {
    "product": one_after_another(RULES["product"], _beside_the_start),
    "sum": one_after_another(_product_rule, RULES["sum"]),
    "derivative": one_after_another(RULES["derivative"], _derivative),
    "exponential differential": _of_exponential,
    "softmax differential": _of_softmax,
    "normalised differential": _of_normalisation,
    "iterate differential": _of_iteration,
}
