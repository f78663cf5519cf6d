"""Orders of growth proved: the count is at most a stated constant times the order, at all sizes; a smaller order is not one.

The claim's part "constant" gives the constants, one for each row, as a function of the sizes that the statement holds fixed; a
constant that takes no size is the same for all.  The inequality is a bound of sizes, derived and certified like every other.
Where a claim also says that no smaller order will do, its part "constant from below" gives constants times which the order is at
most the count.
That a wrong variant is no order is decided exactly: along one of the claim's directions the count outgrows it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy

from verify.arithmetics.asymptotics import leading
from verify.arithmetics.conditions import recording_conditions
from verify.arithmetics.guarded import guarded
from verify.arithmetics.norms.derivations import BoundProof, prove_bound
from verify.arithmetics.norms.world import derivation
from verify.checks.asked_kinds import kind_asked
from verify.checks.bound_proofs import details_of
from verify.checks.certified import kept_of
from verify.checks.certified_bounds import certified_bound
from verify.checks.granted import first_exception
from verify.checks.operands import size_symbol
from verify.checks.record import UPHELD, VIOLATED, Record, blank, scored, sizes_text
from verify.checks.settings import Settings
from verify.checks.size_orders import orders_of
from verify.inputs.generators import systematic
from verify.oracles.counting import SMALLEST_SYMBOLIC, recording_programs
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported, RegistryError
from verify.vocabulary.relations import OrderOfGrowth
from verify.vocabulary.shapes import Size, parameter_names

#: Sizes at which an expression of the count is compared with the count itself.
SPOTS = 12
#: How far beyond a claim's ranges some of them are.
BEYOND = 7
#: The residual of a wrong variant that the count outgrows.
BEYOND_ALL = 1e300
#: The growing variable.
T = sympy.Symbol("t", positive=True, integer=True)


@dataclass
class OrderProof:
    """The bound that was derived, the rows as expressions of sizes, and what was decided of wrong variants."""

    bound: BoundProof
    cost: list[Any]
    orders: list[Any]
    constants: list[Any]
    #: The smallest size at which the expressions are right: of a program that was counted at symbolic sizes they are from 2 on.
    least: int
    #: Constants times which the order is at most the count, where the claim has them.
    below: list[Any]


#: The part of a claim that says: an order from below too.
FROM_BELOW = "constant from below"


def prove_order_claim(claim: Claim) -> OrderProof:
    """Try to prove that each row of the count is at most its constant times its order, for all sizes of at least 1.

    Where the claim has constants from below, each row also has to be at least those times its order.
    """
    assert isinstance(claim.relation, OrderOfGrowth)
    sizes = _symbols(claim)
    constant = claim.the_part("constant")
    growing = {name for direction in claim.relation.along for name in direction.split()}
    from_below = _from_below(claim)
    names = [*parameter_names(constant), *(parameter_names(from_below) if from_below is not None else [])]
    taken = (claim.parameters.get(name) for name in names)
    if moving := growing & {spec.name for spec in taken if isinstance(spec, Size)}:
        raise RegistryError(f"{claim.id}: a constant cannot depend on {sorted(moving)}, along which sizes grow")
    with recording_conditions() as conditions, recording_programs() as programs:
        cost, orders, constants = (
            _rows(claim, part, sizes) for part in (claim.the_part("cost"), claim.the_formula, constant)
        )
        below = _rows(claim, from_below, sizes) if from_below is not None else []
    constants, below = (rows * len(orders) if len(rows) == 1 else rows for rows in (constants, below))
    bounds = [_at_most(row, order) for row, order in zip(cost, orders, strict=True)]
    left = [one for row in bounds for one in row]
    right = [sympy.expand(c * order) for row, order, c in zip(bounds, orders, constants, strict=True) for _ in row]
    if not all(c.is_positive for c in below):
        raise RegistryError(f"{claim.id}: a constant from below has to be positive, as {below} are not for certain")
    if below:
        least = [sympy.expand(c * order) for order, c in zip(orders, below, strict=True)]
        left, right = left + least, right + [_at_least(row, one) for row, one in zip(cost, least, strict=True)]
    with derivation() as known:
        known.orders += orders_of(claim.where, tuple(claim.sizes))
        unmet = kind_asked(claim) or first_exception(conditions, claim)
        bound = BoundProof(False, unmet) if unmet else prove_bound(lambda _: right, lambda _: left, dict, {})
    return OrderProof(bound, cost, orders, constants, SMALLEST_SYMBOLIC if programs else 1, below)


def _from_below(claim: Claim) -> Any:
    try:
        return claim.the_part(FROM_BELOW)
    except RegistryError:  # the claim says of no smaller order that it will not do
        return None


def _symbols(claim: Claim) -> dict[str, Any]:
    for name, spec in claim.parameters.items():
        if not isinstance(spec, Size):
            raise RegistryError(f"{claim.id}: an order of growth takes sizes only, and {name} is none")
    return {name: size_symbol(spec.name) for name, spec in claim.parameters.items() if isinstance(spec, Size)}


def _rows(claim: Claim, function: Any, sizes: dict[str, Any]) -> list[Any]:
    """The rows of a function, which decides on no size silently."""
    found = claim.evaluate(function, {name: guarded(size) for name, size in sizes.items()})
    return [sympy.sympify(row) for row in (found if isinstance(found, (list, tuple)) else [found])]


def _at_most(row: Any, order: Any) -> list[Any]:
    """Sums of products of sizes of which the row is at most the largest: for a ceiling of x there is x + 1."""
    found = []
    for one in _members(row):
        terms = map(_rounded_up, sympy.Add.make_args(one))
        monomials = sympy.Add.make_args(sympy.expand(sympy.Add(*terms)))
        found.append(sympy.Add(*(_without_smallest(term, order) for term in monomials)))
        if found[-1].has(sympy.Max, sympy.Min, sympy.ceiling):
            raise ArithmeticUnsupported(f"a bound of {one} by products of sizes")
    return found


def _at_least(row: Any, wanted: Any) -> Any:
    """A sum of products of sizes that the row is at least: of several in a largest one that is at least what is wanted."""
    several = row.args if isinstance(row, sympy.Max) else (row,)
    terms = {one: sympy.Add.make_args(sympy.expand(one - wanted)) for one in several}
    found = next((one for one in several if all(term.as_coeff_Mul()[0] >= 0 for term in terms[one])), several[0])
    if found.has(sympy.Max, sympy.Min, sympy.ceiling):
        raise ArithmeticUnsupported(f"a bound of {row} from below by products of sizes")
    return sympy.expand(found)


def _rounded_up(term: Any) -> Any:
    """c (x + 1) for a term c ceiling(x), c > 0; any other as it is."""
    c, rest = term.as_coeff_Mul()
    return c * (rest.args[0] + 1) if isinstance(rest, sympy.ceiling) and c.is_positive else term


def _members(row: Any) -> list[Any]:
    """The row with each of several expressions in the place of their largest, with which it has to grow."""
    several = next(iter(sorted(row.atoms(sympy.Max), key=str)), None)
    if several is None:
        return [row]
    symbol = sympy.Dummy("largest", positive=True)
    slope = sympy.expand(sympy.diff(row.xreplace({several: symbol}), symbol))
    if not all(term.is_positive for term in sympy.Add.make_args(slope)):
        raise ArithmeticUnsupported(f"whether {row} grows with {several}")
    return [found for member in several.args for found in _members(row.xreplace({several: member}))]


def _without_smallest(term: Any, order: Any) -> Any:
    """A term with a or b in the place of each factor min(a, b): such that a term of the order is no smaller, if that can be.

    A term below 0 with such a factor is left out.  All other factors, a and b have to be positive; a smallest number that is no
    factor, but within what is rounded up for example, stays, and so the term is refused.
    """
    sign, product = term.as_coeff_Mul()
    factors = sympy.Mul.make_args(product)
    bases = [factor for factor in factors if isinstance(factor.as_base_exp()[0], sympy.Min)]
    if not bases or not all(factor.is_positive for factor in factors):
        return term
    smallest, times = bases[0].as_base_exp()
    if not (times.is_Integer and times > 0 and all(member.is_positive for member in smallest.args)):
        return term
    if not sign.is_positive:
        return sympy.Integer(0)
    rest = term / bases[0]
    several = itertools.combinations_with_replacement(smallest.args, int(times))
    ways = [_without_smallest(sympy.expand(rest * sympy.Mul(*some)), order) for some in several]
    return next((way for way in ways if any(_divides(way, own) for own in sympy.Add.make_args(order))), ways[0])


def _divides(term: Any, other: Any) -> bool:
    powers = (term / other).as_powers_dict()
    return all(exponent <= 0 for base, exponent in powers.items() if not base.is_number)


# -- the check ---------------------------------------------------------------------------------------------------------


def proved_order(claim: Claim, settings: Settings) -> Record:
    """The bound derived, its expressions compared with the count at drawn sizes, and every wrong variant outgrown."""
    proof = prove_order_claim(claim)
    bound = proof.bound
    spots = _spots(claim, proof, settings) if bound.proved else []
    outgrown = {mutant.name: _outgrown(claim, mutant.function, proof) for mutant in claim.mutants}
    certificate = certified_bound(claim, bound, kept_of(claim), settings.effort.anew) if bound.proved else None
    problem = bound.reason if not bound.proved else next((text for _, text in spots if text), None)
    problem = problem or (None if spots else "no sizes to compare the expressions with the count at")
    alive = [
        f"the count does not outgrow the wrong variant {name!r}" for name, text in outgrown.items() if text is None
    ]
    problem = problem or next(iter(alive), None)
    problem = problem or (certificate.problem if certificate is not None else None)
    bound.mutants = {name: text or "not outgrown along any direction" for name, text in outgrown.items()}
    details = details_of(claim, bound, []) | {
        "constants": list(map(str, proof.constants)),
        "constants from below": list(map(str, proof.below)),
        "counted": [
            {"count": str(row), "order": str(order)} for row, order in zip(proof.cost, proof.orders, strict=True)
        ],
        "spots": len(spots),
        "sizes from": proof.least,
    }
    return blank(
        claim,
        "proved",
        "norms",
        UPHELD if problem is None else VIOLATED,
        examples=len(spots),
        satisfied=sum(text is None for _, text in spots),
        worst_residual=0.0 if problem is None else None,
        mutants={name: scored(BEYOND_ALL if text else 0.0) for name, text in outgrown.items()},
        message=problem or "",
        details=details | ({"certificate": certificate.details} if certificate is not None else {}),
    )


def _spots(claim: Claim, proof: OrderProof, settings: Settings) -> list[tuple[dict[str, int], str | None]]:
    """The expressions of the count beside the count itself, exactly, at drawn sizes and at larger ones; what is wrong there."""
    drawn = [dict(sizes) for sizes in dict.fromkeys(draw.sizes for draw in systematic(claim, SPOTS, settings.seed))]
    far = [{name: value * BEYOND + k for k, (name, value) in enumerate(sizes.items())} for sizes in drawn[:2]]
    found = []
    for sizes in (at for at in (*drawn, *far) if claim.where(at) and min(at.values()) >= proof.least):
        arguments = {name: sizes[spec.name] for name, spec in claim.parameters.items() if isinstance(spec, Size)}
        values = {size_symbol(name): sympy.Integer(value) for name, value in sizes.items()}
        text = None
        for said, part in ((proof.cost, claim.the_part("cost")), (proof.orders, claim.the_formula)):
            numbers = [Fraction(row.p, row.q) for row in _rows(claim, part, arguments)]
            expressed = [sympy.sympify(row).xreplace(values).doit() for row in said]
            if numbers != [Fraction(int(row.p), int(row.q)) for row in expressed]:
                text = f"the expressions of the count give {expressed} at {sizes_text(sizes)}, the count is {numbers}"
        found.append((sizes, text))
    return found


def _outgrown(claim: Claim, mutant: Any, proof: OrderProof) -> str | None:
    """Along which direction the count outgrows a wrong variant, and how fast; None where that is not decided."""
    assert isinstance(claim.relation, OrderOfGrowth)
    with recording_conditions() as conditions:
        wrong = _rows(claim, mutant, _symbols(claim))
    if conditions:  # another one where they are not met
        return None
    start = _start(claim, proof.least)
    for direction in claim.relation.along:
        names = direction.split()
        path = {name: value * T ** names.count(name) for name, value in start.items()}
        if not all(claim.where(_at(path, scale)) for scale in (1, *claim.relation.scales)):
            continue  # the claim says nothing there, and so the wrong variant neither
        moved = {size_symbol(name): value for name, value in path.items()}
        for row, (count, order) in enumerate(zip(proof.cost, wrong, strict=True), 1):
            try:
                growth, _ = leading(sympy.sympify(count / order).subs(moved), T)
                _, sign = leading(order.subs(moved), T)
            except ArithmeticUnsupported:
                continue
            if growth > growth**0 and sign.is_positive:
                return f"row {row} outgrows it along {direction} like {growth}"
    return None


def _start(claim: Claim, least: int) -> dict[str, int]:
    """The first sizes in the claim's ranges, of those at which a count is right, that meet its condition on them."""
    ranges = [range(max(low, least), max(high, least) + 1) for low, high in claim.sizes.values()]
    every = (dict(zip(claim.sizes, sizes, strict=True)) for sizes in itertools.product(*ranges))
    found = next(filter(claim.where, every), None)
    if found is None:
        raise RegistryError(f"{claim.id}: no sizes in its ranges from {least} on meet its condition")
    return found


def _at(path: dict[str, Any], scale: int) -> dict[str, int]:
    return {name: int(sympy.sympify(value).subs(T, scale)) for name, value in path.items()}


__all__ = ["OrderProof", "prove_order_claim", "proved_order"]
