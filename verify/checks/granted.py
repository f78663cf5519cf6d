"""Whether a claim grants what a proof takes for granted of sizes, at every assignment of sizes that it admits.

A condition is looked at where it is likely to fail: within the claim's ranges, beyond them, and where an equation or the root
of a polynomial says that it fails.  An inequality between products of sizes has to follow from the least values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import sympy

from verify.arithmetics.conditions import Condition
from verify.checks.operands import (
    MOST_STEPS,
    admitted_sizes,
    beyond_range,
    combined,
    size_symbol,
    sizes_beyond,
    sizes_that_solve,
    symbols_of_size,
)
from verify.checks.record import sizes_text
from verify.vocabulary.claims import Claim


def first_exception(conditions: Iterable[Condition], claim: Claim) -> str | None:
    """Why some condition of a proof is not met, by the first that is not."""
    ordered = sorted(conditions, key=str)
    return next((found for item in ordered if (found := exception_to(item, claim)) is not None), None)


def exception_to(condition: Condition, claim: Claim) -> str | None:
    """Why a condition of the proof is not met, if it is not: the first sizes that the claim admits where it fails."""
    condition = _of_sizes(condition, claim)
    symbols = condition.expression.free_symbols
    scalars = {symbol for symbol in symbols if not (symbol.is_integer and symbol.is_positive)}
    if scalars:
        return f"the proof rests on {condition}, which the claim does not grant" if condition.always else None
    known = {size_symbol(name): name for name in claim.sizes}
    if not symbols <= known.keys():
        return f"the proof rests on {condition}, in sizes of which the claim says nothing"
    if condition.least is not None and _follows_from_least(condition, claim):
        return None
    numbers = [abs(int(number)) + k for number in condition.expression.atoms(sympy.Integer) if number for k in (0, 1)]
    seen: set[tuple[int, ...]] = set()
    for sizes in itertools.chain(
        admitted_sizes(claim), sizes_beyond(claim, numbers), _where_it_may_fail(condition, claim)
    ):
        values = {symbol: sizes[known[symbol]] for symbol in symbols}
        if (key := tuple(values.values())) not in seen and condition.holds(values) is False:
            return f"the proof rests on {condition}, which the claim does not grant at {sizes_text(sizes)}"
        seen.add(key)
    unequal = condition.least is None and not condition.whole
    if unequal and not all(_is_decided(factor, claim) for factor in _factors(condition)):
        return f"the proof rests on {condition}, of which it is not known whether sizes solve it"
    if condition.least is not None and len(symbols) > 1 and not _is_sum(condition.expression):
        return f"the proof rests on {condition}, of which no sizes are known where it fails, and no reason why there are none"
    return None


def _of_sizes(condition: Condition, claim: Claim) -> Condition:
    """A condition in the symbols of sizes, also where the proof has others for those that may be 0."""
    names = [name for name, (low, _) in claim.sizes.items() if low < 1]
    own = {symbol: size_symbol(name) for name in names for symbol in symbols_of_size(name)}
    return replace(condition, expression=condition.expression.xreplace(own))


def _factors(condition: Condition) -> list[sympy.Expr]:
    """The factors of what a condition says is not 0, but for numbers that are not 0."""
    exact = sympy.nsimplify(condition.expression, rational=True)  # floats in a factor are rounded
    numerator = sympy.fraction(sympy.together(exact))[0]
    bases = (factor.as_base_exp()[0] for factor in sympy.Mul.make_args(sympy.factor(numerator)))
    return [base for base in bases if base.free_symbols or not base.is_nonzero]


def _is_decided(factor: sympy.Expr, claim: Claim) -> bool:
    """Whether the sizes at which a factor vanishes have been calculated, or it vanishes at none."""
    if _is_sum(factor) or (len(factor.free_symbols) == 1 and factor.is_polynomial(*factor.free_symbols)):
        return True
    beyond = {
        size_symbol(name): low + sympy.Dummy(nonnegative=True, integer=True) if low < high else low
        for name, (low, high) in claim.sizes.items()
    }
    return bool(sympy.expand(factor.subs(beyond, simultaneous=True)).is_nonzero)


def _gap(condition: Condition) -> sympy.Expr:
    """What an inequality says is not negative."""
    return sympy.expand(condition.expression - (condition.least or 0))


def _is_sum(expression: sympy.Expr) -> bool:
    """Whether an expression is a sum of multiples of sizes and a number."""
    symbols = expression.free_symbols
    return bool(expression.is_polynomial(*symbols) and sympy.Poly(expression, *symbols).total_degree() <= 1)


def _follows_from_least(condition: Condition, claim: Claim) -> bool:
    """Whether an inequality holds at all sizes of at least the claim's least ones: in what they exceed these by, all grows."""
    numerator, denominator = sympy.fraction(sympy.together(_gap(condition)))
    beyond = {}
    for name, (low, high) in claim.sizes.items():
        more = sympy.Dummy(positive=True) if low < high else 0
        beyond[size_symbol(name)] = low + more
    parts = [sympy.expand(part.subs(beyond, simultaneous=True)) for part in (numerator, denominator)]
    if not all(part.is_polynomial(*part.free_symbols) for part in parts):
        return False
    return all(bool(c >= 0) for part in parts for c in part.as_coefficients_dict().values()) and parts[1] != 0


def _where_it_may_fail(condition: Condition, claim: Claim) -> Iterator[dict[str, int]]:
    """Assignments of sizes at which a condition fails, if it does, as far as they can be calculated."""
    expression = condition.expression
    if condition.whole:
        yield from _residues(expression, claim)
    elif condition.least is None:
        for factor in _factors(condition):
            yield from sizes_that_solve(claim, factor) if _is_sum(factor) else _beside_roots(factor, claim)
    elif _is_sum(expression):
        gap = _gap(condition)
        steps = max(map(abs, gap.as_coefficients_dict().values()))
        for below in range(1, min(math.ceil(steps), MOST_STEPS) + 1):
            yield from sizes_that_solve(claim, gap + below)
    else:
        yield from _beside_roots(_gap(condition), claim)


def _residues(quotient: sympy.Expr, claim: Claim) -> Iterator[dict[str, int]]:
    """All remainders of sizes by the number that a polynomial in them is divided by."""
    numerator, denominator = sympy.fraction(sympy.together(quotient))
    names = [name for name in claim.sizes if size_symbol(name) in numerator.free_symbols]
    if denominator.is_Integer and numerator.is_polynomial(*numerator.free_symbols):
        steps = min(int(abs(denominator)), MOST_STEPS)
        lows = {name: claim.sizes[name][0] for name in claim.sizes}
        values = {name: [low, *range(low, low + steps)] if name in names else [low] for name, low in lows.items()}
        yield from (sizes for sizes in combined(values) if _admits(claim, sizes))


def _beside_roots(gap: sympy.Expr, claim: Claim) -> Iterator[dict[str, int]]:
    """The whole numbers next to where a polynomial in one size changes its sign, each with others of all other sizes."""
    numerator, denominator = sympy.fraction(sympy.together(gap))
    symbols = gap.free_symbols
    if len(symbols) != 1 or not (numerator * denominator).is_polynomial(*symbols):
        return
    (symbol,) = symbols
    roots = [math.floor(root) for root in sympy.Poly(numerator * denominator, symbol).real_roots()]
    near = sorted({root + k for root in roots for k in (-1, 0, 1, 2)})
    values = {name: near if size_symbol(name) == symbol else beyond_range(claim, name, ()) for name in claim.sizes}
    yield from (sizes for sizes in combined(values) if _admits(claim, sizes))


def _admits(claim: Claim, sizes: dict[str, int]) -> bool:
    """Whether sizes are at least the claim's least ones, given where these are given, and meet its condition."""
    ranges = claim.sizes
    return all(
        low <= sizes[name] and (low < high or sizes[name] == low) for name, (low, high) in ranges.items()
    ) and bool(claim.where(sizes))
