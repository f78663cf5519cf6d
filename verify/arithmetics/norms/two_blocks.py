"""Two blocks side by side: the norm of [A B], its smallest gain, and their quotient, by the norms and gains of A and B.

The smallest gain of A is min |A x| over unit vectors x: the last singular value of a matrix with no more columns than rows,
and 0 for any other.  What it is at least is known of its square alone, which may be more than a negative number says.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.assumed import follows
from verify.arithmetics.norms.atoms import FROBENIUS, GAIN, SPECTRAL, gain, largest, norm
from verify.arithmetics.norms.derivation_search import Step
from verify.arithmetics.norms.monotone import direction
from verify.arithmetics.norms.rules import QUANTITIES, RULES, one_after_another
from verify.arithmetics.norms.signs import is_nonnegative, is_positive, symbols_of
from verify.arithmetics.norms.statements import RuleBound, rule
from verify.arithmetics.norms.telescoping import HALF
from verify.arithmetics.norms.text import scalar_text
from verify.arithmetics.norms.world import Node, quantities_in, quantity, world

#: Rules by the names that steps have.
NORM, PRODUCT = "norm of two blocks", "product of blocks"
GAIN_OF_TWO, GAIN_OF_PRODUCT = "smallest gain of two blocks", "smallest gain of a product"
OF_BOUNDED_NORM = f"{NORM} of bounded norm"  # as the checker calls one of them
ROOT, SMALLER = "root of two squares", "smaller of two gains"
Between = tuple[Any, tuple[Step, ...]]
ZERO = sympy.Integer(0)


def side_by_side(node: Node) -> tuple[Node, Node] | None:
    """A and B where a node is [A B]."""
    turned = nodes.transposed(node)
    if turned.kind != "concatenate" or len(turned.parts) != 2:
        return None
    A, B = map(nodes.transposed, turned.parts)
    return A, B


def coherence(A: Node, B: Node) -> Any:
    """||A^T B||_2."""
    return norm(SPECTRAL, nodes.product([nodes.transposed(A), B]))


def eigenvalue(a: Any, b: Any, c: Any, sign: int) -> Any:
    """The larger (sign 1) or the smaller (-1) eigenvalue of [[a, c], [c, b]]."""
    return (a + b) / 2 + sign * sympy.sqrt((a / 2 - b / 2) ** 2 + c**2)


# -- rules -------------------------------------------------------------------------------------------------------------


@rule(
    NORM,
    says="||[A B]||_2^2 is at most the larger eigenvalue of [[||A||_2^2, r], [r, ||B||_2^2]] for r = ||A^T B||_2, and so "
    "at most max(||A||_2, ||B||_2)^2 + r",
    rests_on=("norm-of-two-blocks",),
)
def _norm_of_two(kind: str, node: Node) -> Iterator[RuleBound]:
    blocks = side_by_side(nodes.transposed(node)) if kind == SPECTRAL else None
    if blocks is None or not symbols_of(coherence(*blocks)) & world().targets:
        return
    a, b = (norm(SPECTRAL, block) for block in blocks)
    larger, r = largest([a, b]), coherence(*blocks)
    yield RuleBound(NORM, sympy.sqrt(eigenvalue(a**2, b**2, r, 1)), (NORM, *blocks))
    yield RuleBound(NORM, sympy.sqrt(larger**2 + r), (OF_BOUNDED_NORM, larger, *blocks))


@rule(
    PRODUCT,
    says="||A x + B y||_F <= ||[A B]||_2 (||x||_F^2 + ||y||_F^2)^(1/2), as it is [A B] [x; y]",
    rests_on=("product", "blocks"),
)
def _product_of_blocks(kind: str, node: Node) -> Iterator[RuleBound]:
    for target in quantities_in(world().targets, SPECTRAL) if kind == FROBENIUS else ():
        M = nodes.transposed(world().atoms[target].payload[0])
        parts = factored(node, M)
        if parts is not None:
            written = functools.partial(_as_product, M, parts)
            yield RuleBound(PRODUCT, target * sympy.sqrt(_squares(parts)), written)


def _as_product(M: Node, parts: tuple[Node, Node], _: Any) -> list[Any]:
    return [[("product, left", M, nodes.concatenated(parts, 0)), ("blocks", FROBENIUS, *parts)]]


def factored(node: Node, M: Node) -> tuple[Node, Node] | None:
    """x and y where a node is A x + B y for M = [A B]."""
    blocks, terms = side_by_side(M), nodes.terms_of(node)
    if blocks is None or len(terms) != 2 or any(c != 1 for c, _ in terms):
        return None
    for (_, one), (_, other) in (terms, terms[::-1]):
        found = [_right_factor(*pair) for pair in zip((one, other), blocks, strict=True)]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    return None


def _right_factor(node: Node, A: Node) -> Node | None:
    """x where a node is A x."""
    ours, theirs = nodes.factors_of(node), nodes.factors_of(A)
    rest = ours[len(theirs) :]
    return nodes.product(rest) if rest and ours[: len(theirs)] == theirs else None


def _squares(parts: tuple[Node, Node]) -> Any:
    return sympy.Add(*(norm(FROBENIUS, part) ** 2 for part in parts))


@rule(
    "smallest gain at most norm", says="min |A x| over unit vectors x is at most ||A||_2", rests_on=("smallest-gain",)
)
def _gain(node: Node) -> Iterator[RuleBound]:
    yield RuleBound("smallest gain at most norm", norm(SPECTRAL, node))


QUANTITIES[GAIN] = _gain
RULES |= {
    "concatenate": one_after_another(RULES["concatenate"], _norm_of_two),
    "sum": one_after_another(RULES["sum"], _product_of_blocks),
}


# -- derivations -------------------------------------------------------------------------------------------------------


def derived_by_blocks(left: Any, right: Any) -> Between | None:
    """A scalar between both sides, and the steps that say so; None where none is found."""
    tried = (_gain_of_two, _gain_of_product, _split_roots, _condition_number, _by_smaller_block)
    return next((found for attempt in tried if (found := attempt(left, right)) is not None), None)


def _gains(value: Any) -> list[Any]:
    return quantities_in(symbols_of(value), GAIN)


def _follows(left: Any, right: Any, own: list[Any]) -> bool:
    """Whether left <= right is certain by what is assumed and by facts of its own; what was used is recorded.

    Facts that speak of other quantities than the two sides are tried last, since there are many.
    """
    every = list(dict.fromkeys([*world().facts, *own]))
    there = symbols_of(left) | symbols_of(right)
    near = [fact for fact in every if symbols_of(fact) & world().atoms.keys() <= there]
    used = follows(left, right, near)
    used = follows(left, right, every) if used is None and len(near) < len(every) else used
    world().used.update(f"{scalar_text(fact, world())} >= 0" for fact in used or () if fact in world().facts)
    return used is not None


def _with_square(value: Any, g: Any, square: Any) -> Any:
    """A scalar that is c g^2 + d, c > 0, with another number in the place of g^2; None for any other.

    That number may be negative, so that it is not enough to grow with what is not: -1 / (1 + g^2) has a pole below.
    """
    probe = sympy.Dummy("square", real=True)
    moved = value.xreplace({g**2: probe})
    slope = sympy.diff(moved, probe)
    is_linear = not {g, probe} & (symbols_of(slope) | symbols_of(moved) - {probe})
    return moved.xreplace({probe: square}) if is_linear and is_positive(slope) else None


@rule(
    GAIN_OF_TWO,
    says="min |[A B] v|^2 over unit vectors v is at least the smaller eigenvalue of [[min |A x|^2, -r], [-r, min |B y|^2]] for "
    "r = ||A^T B||_2, and so at least the smaller of min |A x|^2 and min |B y|^2, less r",
    rests_on=("smallest-gain-of-two-blocks",),
)
def _gain_of_two(left: Any, right: Any) -> Between | None:
    for g in _gains(right):
        blocks = side_by_side(world().atoms[g].payload[0])
        if blocks is None:
            continue
        a, b = (gain(block) for block in blocks)
        less = eigenvalue(a**2, b**2, coherence(*blocks), -1)
        value = _with_square(right, g, less)
        if value is not None and _follows(left, value, []):
            return value, (Step(GAIN_OF_TWO, less, g**2),)
    return None


@rule(
    GAIN_OF_PRODUCT,
    says="min |A x|^2 over unit vectors x, times ||B||_F^2, is at most ||A B||_F^2",
    rests_on=("smallest-gain-of-a-product",),
)
def _gain_of_product(left: Any, right: Any) -> Between | None:
    """The square of a gain by the quotient of ||A x||^2 by ||x||^2, where the right side divides by that."""
    known = world().atoms
    divisors = [power.base for power in right.atoms(sympy.Pow) if power.exp == -1]
    norms = quantities_in(symbols_of(right), FROBENIUS) if divisors else []
    for g, image in itertools.product(_gains(left), norms):
        parts = factored(known[image].payload[0], known[g].payload[0])
        whole = _squares(parts) if parts is not None else ZERO
        if whole in divisors:
            value = _with_square(left, g, image**2 / whole)
            if value is not None and _follows(value, right, []):
                return value, (Step(GAIN_OF_PRODUCT, g**2, image**2 / whole),)
    return None


@rule(ROOT, says="(x^2 + y^2)^(1/2) <= x + y for x and y that are not negative", rests_on=("root-of-two-squares",))
def _split_roots(left: Any, right: Any) -> Between | None:
    """A root of two squares that is taken off the right side or added to the left one, in each case of a largest of two."""
    for several in largest_of_two(left + right):
        steps: list[Step] = []
        for value, other in _in_order(several):
            gap = (right - left).xreplace({several: value})
            step = next((step for step in _roots_taken_off(gap, [value - other])), None)
            if step is None:
                break
            steps.append(step)
        else:
            return left, tuple(dict.fromkeys(steps))
    return None


def largest_of_two(value: Any) -> list[Any]:
    """The quantities in a scalar that are the largest of two numbers, in a fixed order."""
    known = world().atoms
    found = [s for s in quantities_in(symbols_of(value), "largest of") if len(known[s].payload) == 2]
    return sorted(found, key=lambda symbol: str(known[symbol].payload))


def _in_order(several: Any) -> list[tuple[Any, Any]]:
    """The larger and the smaller one, in both cases of the largest of two."""
    one, other = world().atoms[several].payload
    return [(one, other), (other, one)]


def _roots_taken_off(gap: Any, own: list[Any]) -> Iterator[Step]:
    """The steps by which a scalar is not negative, in which a root of two squares has a negative number beside it."""
    for root in sorted(gap.atoms(sympy.Pow), key=sympy.default_sort_key):
        squares = root.base.args if root.exp == HALF and root.base.is_Add else ()
        if len(squares) != 2 or not all(term.is_Pow and term.exp == 2 for term in squares):
            continue
        probe = sympy.Dummy("root", nonnegative=True)
        moved = gap.xreplace({root: probe})
        if not is_positive(-sympy.diff(moved, probe)):
            continue
        for x, y in itertools.product(*((term.base, -term.base) for term in squares)):
            whole = sympy.expand(moved.xreplace({probe: x + y}))
            if all(_follows(ZERO, value, own) for value in (x, y, whole)):
                yield Step(ROOT, root, x + y)


# -- quotients of norms and gains --------------------------------------------------------------------------------------


def _condition_number(left: Any, right: Any) -> Between | None:
    """||[A B]||_2 over the smallest gain of [A B], by a multiple of the larger norm over one of the smaller gain."""
    for g in _gains(left):
        M = world().atoms[g].payload[0]
        blocks = side_by_side(M)
        if blocks is None or sympy.cancel(left * g / norm(SPECTRAL, M)) != 1:
            continue
        norms, gains, r = [norm(SPECTRAL, X) for X in blocks], list(map(gain, blocks)), coherence(*blocks)
        t, smaller = largest(norms), largest([-value for value in gains])
        above, below = roots_of(right, HALF), roots_of(right, -HALF)
        for b, top in itertools.product(below, above):  # the roots themselves, whichever gain is the smaller one
            if _follows(b**2, smaller**2 - r, []) and _follows(t**2 + r, top**2, []) and _follows(top / b, right, []):
                return top / b, (Step(NORM, norm(SPECTRAL, M), top), Step(GAIN_OF_TWO, b, g))
        found = [_quotient_in_case(right, t, r, case, below, above) for case in _cases(*blocks, right)]
        if None not in found:
            bounds = [bound for pair in found if pair is not None for bound in pair]
            steps = [Step(GAIN_OF_TWO if k % 2 else NORM, *item) for k, item in
                     enumerate((norm(SPECTRAL, M), b) if not k % 2 else (b, g) for k, b in enumerate(bounds))]  # fmt: skip
            return left, tuple(dict.fromkeys(steps))
    return None


def roots_of(value: Any, exponent: Any) -> list[Any]:
    """The roots of sums that a scalar has as factors to this power."""
    factors = [factor for factor in sympy.Mul.make_args(value) if factor.is_Pow and factor.base.is_Add]
    return [sympy.sqrt(factor.base) for factor in factors if factor.exp == exponent]


class _Case(NamedTuple):
    """What holds where one of two gains is the smaller one."""

    smaller: Any
    facts: list[Any]
    rights: list[Any]
    changes: dict[Any, Any]


def _cases(A: Node, B: Node, right: Any) -> list[_Case]:
    """Both cases, with lower bounds of the right side in each: quantities in the places of the largest and smallest of two."""
    norms, gains = [norm(SPECTRAL, X) for X in (A, B)], list(map(gain, (A, B)))
    found = []
    for k, smaller in enumerate(gains):
        changes = {largest([-value for value in gains]): -smaller}
        own = [
            gains[1 - k] - smaller,
            *(a - b for a, b in zip(norms, gains, strict=True)),
            *(largest(norms) - a for a in norms),
        ]
        own += [fact for given in world().facts for fact in _lowered(given.xreplace(changes), -1)]
        found.append(_Case(smaller, own, list(_lowered(right.xreplace(changes), 1)), changes))
    return found


def _lowered(value: Any, sign: int) -> Iterator[Any]:
    """Scalars that are at most a given one (sign 1) or at least that (-1): members for the largest or the smallest of two.

    The largest of two norms stays what it is.  A number that may be negative does not take the place of one that is not: several
    places may change, and the value grows with one of them for the sign that the other has.
    """
    smallest = {several: sympy.Dummy("smallest", nonnegative=True) for several in largest_of_two(value)
                if all(is_nonnegative(-member) for member in world().atoms[several].payload)}  # fmt: skip
    value = value.xreplace({several: -probe for several, probe in smallest.items()})
    choices = []
    for several in (*smallest, *largest_of_two(value)):
        members = world().atoms[several].payload
        rises, falls = direction(value, smallest.get(several, several))
        if several in smallest and (falls if sign == 1 else rises):
            choices.append([(smallest[several], -member) for member in members])
        elif several in smallest:
            choices.append([(smallest[several], -several)])
        elif (rises if sign == 1 else falls) and not all(member.is_Symbol for member in members):
            kept = [member for member in members if is_nonnegative(member) or not several.is_nonnegative]
            choices.append([(several, member) for member in kept])  # one is kept: by it the largest is known not to be
    for choice in itertools.product(*choices):
        yield value.xreplace(dict(choice))


def _quotient_in_case(
    right: Any, t: Any, r: Any, case: _Case, below: list[Any], above: list[Any]
) -> tuple[Any, Any] | None:
    """What the norm is at most, and the gain at least, where one of two gains is the smaller one."""
    s, own = case.smaller, case.facts
    for b, top in itertools.product(below, above):
        # t^2 + r <= t^2 top^2 for t >= s, where it holds of s, and top >= 1
        enough = _follows(s**2 + r, s**2 * top**2, own) and _follows(sympy.Integer(1), top**2, own)
        if not (enough and _follows(s**2 * b**2, s**2 - r, own)):
            continue
        for lower in case.rights:
            if s in _divided_by(lower) and _is_at_most(t * top / (s * b), lower, own):
                return t * top, s * b
    return None


def _divided_by(value: Any) -> set[Any]:
    return {power.base for power in value.atoms(sympy.Pow) if is_positive(-power.exp)}


def _is_at_most(left: Any, right: Any, own: list[Any]) -> bool:
    """Whether left <= right follows once the roots that are factors of both are left out."""
    for factor in sympy.Mul.make_args(left):
        if factor.is_Pow and factor.exp in (HALF, -HALF) and factor in sympy.Mul.make_args(right):
            left, right = left / factor, right / factor
    return _follows(left, right, own)


@rule(SMALLER, says="what holds with each of two gains in the place of the smaller one holds")
def _by_smaller_block(left: Any, right: Any) -> Between | None:
    """A scalar in the smaller of two gains, in both cases."""
    for several in largest_of_two(left):
        gains = [-value for value in world().atoms[several].payload]
        if any(quantity(g, GAIN) is None for g in gains):
            continue
        A, B = (world().atoms[g].payload[0] for g in gains)
        every = _cases(A, B, right)
        if all(
            any(_is_at_most(left.xreplace(case.changes), lower, case.facts) for lower in case.rights) for case in every
        ):
            return left, (Step(SMALLER, left, right),)
    return None
