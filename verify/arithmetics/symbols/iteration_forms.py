"""The form of `verify.matrix.iterated` for symbolic sizes: a loop where the count is a number, a head of its own elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from verify.arithmetics.formal import Formal, register_forms
from verify.arithmetics.guarded import unguarded
from verify.arithmetics.symbols.blocks import as_matrix
from verify.arithmetics.symbols.canonical import Factor
from verify.arithmetics.symbols.extents import note_for_each, recording_extents
from verify.arithmetics.symbols.heads import Head, tensor
from verify.arithmetics.symbols.indexed import Indexed, lifted
from verify.arithmetics.symbols.iterates import GENERIC, ITERATE, Iteration, commuted_iterate, iterate_of
from verify.arithmetics.symbols.product_rules import numbers_of, occurrences
from verify.arithmetics.symbols.sizes import steps_of
from verify.arithmetics.symbols.summation import ANY_STEP, taken_at
from verify.arithmetics.symbols.sums import (
    Product,
    ProductRule,
    Rewriting,
    Sum,
    collected,
    extra_rules,
    note_rule,
    recording_rules,
    rule,
    sizes_summed,
    step_named,
    sum_of_head,
)
from verify.vocabulary.errors import ArithmeticUnsupported

GENERIC_START = "iterate~start"
SYMMETRIC = "an iterate B of M has symmetric B^T M and B M^T, by induction"
#: More arrangements of one product are not compared.
MOST_EXCHANGES = 60
BY_INDUCTION = step_named("iterates commute with what each step commutes with, by induction")


def iterated(count: Any, step: Callable[[Any], Any], start: Any) -> Any:
    """step(step(... start)), `count` times."""
    number = unguarded(count)
    if isinstance(number, int):
        for _ in range(number):
            start = step(start)
        return start
    if not isinstance(start, Formal):
        raise ArithmeticUnsupported(f"a symbolic number of steps from {start!r}")
    number, point = steps_of(count), as_matrix(start)
    if point.ndim != 2 or point.bound:
        raise ArithmeticUnsupported(f"a symbolic number of steps from {start!r}")
    with taken_at(ANY_STEP):
        with recording_extents() as inside:
            image = _image(step, point)
        note_for_each((number,), inside)
        iteration = Iteration(number, image, point.axes[0], step, keeps_symmetry(step, point))
        commuting = commuting_factor(step, point)
    if commuting is not None:
        note_rule(BY_INDUCTION)
        rest, factor = commuting
        alone = iterate_of(rest.value, iteration)
        return Indexed(commuted_iterate(point.value, iteration, alone, factor.value), (1, 1), ())
    value = iterate_of(point.value, iteration)
    axes = [int(size != 1) for size in point.dims]
    return Indexed(value, axes, ())


def _image(step: Callable[[Any], Any], point: Indexed) -> Any:
    """What a step makes of a generic matrix; raises where that depends on more than the matrix."""
    slots = point.value.slots
    made = tensor(GENERIC, slots)
    found = lifted(step(Indexed(sum_of_head(made), point.axes, ())))
    if not isinstance(found, Indexed) or found.value.slots != slots or found.axes != point.axes or found.bound:
        raise ArithmeticUnsupported("a step that leads to a matrix of another shape")
    if any(other.kind == "tensor" and other is not made for other in found.value.heads()):
        raise ArithmeticUnsupported("a step in which other matrices stand")
    return found.value.key


# -- induction over the steps -------------------------------------------------------------------------------------------


def commuting_factor(step: Callable[[Any], Any], point: Indexed) -> tuple[Indexed, Indexed] | None:
    """M and R where the start is M R for a square input R with step(Z R) = step(Z) R for every Z; None where it is not.

    Then the iterates commute with R too.  None of the steps changes M R to M R, and if step^k(Z R) = step^k(Z) R for every Z,
    then step^(k+1)(Z R) = step(step^k(Z) R) = step^(k+1)(Z) R.
    """
    found = _last_factor(point)
    if found is None:
        return None
    rest, factor = found
    slots = point.value.slots
    generic = Indexed(sum_of_head(tensor(GENERIC, slots)), (1, 1), ())
    left, right = lifted(step(generic @ factor)), lifted(step(generic)) @ factor
    if not isinstance(left, Indexed) or left.dims != right.dims or (left - right).value.terms:
        return None
    return rest, factor


def _last_factor(point: Indexed) -> tuple[Indexed, Indexed] | None:
    """M and R where every term of a matrix is one of M times the square input R, or its transpose."""
    if point.axes != (1, 1):
        return None
    factors: set[tuple[Head, int]] = set()
    products: list[Product] = []
    for key, coefficient in point.value.terms.items():
        own = [(made, indices) for made, indices in key if 1 in indices]
        if (
            len(own) != 1
            or own[0][0].kind != "tensor"
            or len(own[0][1]) != 2
            or own[0][0].sizes[0] != own[0][0].sizes[1]
        ):
            return None
        made, indices = own[0]
        column = indices.index(1)
        middle = indices[1 - column]
        if middle < 2:
            return None
        factors.add((made, column))
        kept = [(other, tuple(1 if i == middle else i for i in at)) for other, at in key if 1 not in at]
        products.append((coefficient, kept, sizes_summed(kept, 2)))
    if len(factors) != 1:
        return None
    ((made, column),) = factors
    factor = Indexed(sum_of_head(made), (1, 1), ())
    rest = Indexed(collected(products, point.value.slots), (1, 1), ())
    return rest, factor if column == 1 else factor.T


def keeps_symmetry(step: Callable[[Any], Any], point: Indexed) -> bool:
    """Whether the start is one input S, and a step keeps Z^T S and Z S^T symmetric for every Z of which they are.

    Both are of the start itself; so they are of all iterates.
    """
    if point.axes != (1, 1) or _named(point.value) is None:
        return False
    slots = point.value.slots
    Z, S = (tensor(name, slots) for name in (GENERIC, GENERIC_START))
    generic, start = (Indexed(sum_of_head(made), (1, 1), ()) for made in (Z, S))
    exchanging = _exchanging(lambda one, other: {one, other} == {Z, S})
    given = ProductRule("of generic matrices", frozenset({"tensor"}), exchanging)
    with recording_rules(), extra_rules([given]):  # what is used of generic matrices is not what a proof rests on
        after = lifted(step(generic))
        if not isinstance(after, Indexed) or after.dims != point.dims:
            return False
        products = (after.T @ start, after @ start.T)
        return not any((product - product.T).value.terms for product in products)


def _named(value: Sum | None) -> Head | None:
    """The input that a matrix is."""
    if value is None:
        return None
    ((key, coefficient),) = value.terms.items() if len(value.terms) == 1 else [((), None)]
    if len(key) != 1 or coefficient is None or not coefficient.is_one or key[0][1] != (0, 1):
        return None
    return key[0][0] if key[0][0].kind == "tensor" else None


def _exchanging(are_pair: Callable[[Head, Head], bool]) -> Rewriting:
    """A^T S = S^T A and A S^T = S A^T for pairs A and S: of all products that these lead to, the first in order."""

    def neighbours(factors: list[Factor], summed: Mapping[int, Any]) -> Iterator[list[Factor]]:
        counts = occurrences(factors)
        for (p, (one, at)), (q, (other, there)) in itertools.combinations(enumerate(factors), 2):
            if len(at) == len(there) == 2 and are_pair(one, other):
                for slot in (0, 1):
                    if at[slot] == there[slot] and at[slot] in summed and counts[at[slot]] == 2:
                        changed = list(factors)
                        changed[p], changed[q] = (other, at), (one, there)
                        yield changed

    def apply(product: Product, slots: int) -> list[Product] | None:
        coefficient, factors, summed = product
        found = {numbers_of(factors, slots): factors}
        before = first = next(iter(found))
        waiting = [factors]
        while waiting and len(found) < MOST_EXCHANGES:
            for changed in neighbours(waiting.pop(), summed):
                if (key := numbers_of(changed, slots)) not in found:
                    found[key] = changed
                    waiting.append(changed)
                    first = min(first, key)
        return None if first == before else [(coefficient, found[first], summed)]

    return apply


def _are_iterate_and_start(one: Head, other: Head) -> bool:
    return any(
        iterate.kind == ITERATE and iterate.parameter.keeps and _named(iterate.inner) is start
        for iterate, start in ((one, other), (other, one))
    )


rule(SYMMETRIC, ITERATE)(_exchanging(_are_iterate_and_start))
register_forms({"iterated": iterated})
