"""Differentiation and substitution of tensors in sums."""

from __future__ import annotations

from collections.abc import Callable

from verify.arithmetics.symbols.head_kinds import KINDS
from verify.arithmetics.symbols.heads import Head
from verify.arithmetics.symbols.sums import (
    Product,
    Sum,
    as_built,
    collected,
    contract,
    identity_over,
    instance,
    note_rule,
    sizes_summed,
    sum_of_head,
)
from verify.vocabulary.errors import ArithmeticUnsupported


@as_built("diff")
def derivative(value: Sum, by: Head) -> Sum:
    """d value / d by, with the slots of `by` after those of `value`."""
    return _derivative(value, by, {})


def _derivative(value: Sum, by: Head, known: dict[Head, Sum | None]) -> Sum:
    count, more = len(value.slots), len(by.sizes)
    ends = tuple(range(count, count + more))
    products: list[Product] = []
    for key, coefficient in value.terms.items():
        factors = [(made, tuple(i if i < count else i + more for i in indices)) for made, indices in key]
        summed = sizes_summed(factors, count + more)
        for position, (made, indices) in enumerate(factors):
            if made not in known:
                known[made] = _of_head(made, by, known)
            slope = known[made]
            if slope is not None:
                rest = factors[:position] + factors[position + 1 :]
                products += instance(slope, (*indices, *ends), coefficient, rest, summed)
    return collected(products, (*value.slots, *by.sizes))


def _of_head(made: Head, by: Head, known: dict[Head, Sum | None]) -> Sum | None:
    """d head / d by over the slots of both, or None where it does not depend on it."""
    if made is by:
        return identity_over(by.sizes)
    if made.inner is None or by not in made.inner.heads():
        return None
    kind = KINDS[made.kind]
    if kind.flat:
        return None
    if kind.along is None:
        raise ArithmeticUnsupported(f"the {kind.title or f'derivative of {made.kind}'} has no symbolic form")
    change = _derivative(made.inner, by, known)
    if kind.slope:
        note_rule(kind.slope)
    return kind.along(made, change)


# -- substitution ------------------------------------------------------------------------------------------------------


def rebuilt(value: Sum, replace: Callable[[Head], Sum | None]) -> Sum:
    """The sum with every head for which `replace` gives a sum over its slots replaced by it, inside functions too."""
    return _rebuilt(value, replace, {})


def _rebuilt(value: Sum, replace: Callable[[Head], Sum | None], known: dict[Head, Sum | None]) -> Sum:
    found = Sum(value.slots, {})
    for key, coefficient in value.terms.items():
        parts = []
        changed = False
        for made, indices in key:
            if made not in known:
                known[made] = _replaced(made, replace, known)
            new = known[made]
            changed = changed or new is not None
            parts.append((new if new is not None else sum_of_head(made), list(indices)))
        if not changed:
            found = found.plus(Sum(value.slots, {key: coefficient}))
            continue
        sizes = dict(enumerate(value.slots))
        found = found.plus(contract(parts, list(range(len(value.slots))), sizes), coefficient)
    return found


def _replaced(made: Head, replace: Callable[[Head], Sum | None], known: dict[Head, Sum | None]) -> Sum | None:
    direct = replace(made)
    if direct is not None or made.inner is None:
        return direct
    inner = _rebuilt(made.inner, replace, known)
    if inner.key == made.inner.key:
        return None
    again = KINDS[made.kind].again
    if again is None:
        raise ArithmeticUnsupported(f"{made.kind} of another argument has no symbolic form")
    return again(inner, made.parameter)


@as_built("at")
def substituted(value: Sum, tensor: Head, point: Sum) -> Sum:
    """`value` with the sum `point`, over the slots of `tensor`, in place of `tensor`."""
    return rebuilt(value, lambda made: point if made is tensor else None)
