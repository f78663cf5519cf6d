"""Differentiation and substitution of tensors in sums."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from verify.arithmetics.symbols.function_heads import inverse_of, of_entries, power, softmax_of
from verify.arithmetics.symbols.heads import Head
from verify.arithmetics.symbols.iterates import ITERATE, ITERATE_SLOPE, along, iterate_of, slope_of
from verify.arithmetics.symbols.matrix_exponential import (
    exponential_of_matrix,
    frechet_derivative,
    mean_exponential,
    part_of_pair,
)
from verify.arithmetics.symbols.scalars import ONE, rational_scalar
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
    step_named,
    sum_of_head,
)
from verify.vocabulary.errors import ArithmeticUnsupported

#: The heads that have a derivative, each with the name of its rule.
SLOPES = {
    kind: step_named(f"derivative of {kind}") for kind in ("exp", "power", "log", "softmax", "inverse", "expm", ITERATE)
}


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
    if made.kind == "step":
        return None  # where it has a derivative
    if made.kind == ITERATE_SLOPE:
        raise ArithmeticUnsupported("the second derivative of an iterate has no symbolic form")
    if made.kind in ("phi", "dexpm"):
        raise ArithmeticUnsupported("the derivative of an integral of matrix exponentials has no symbolic form")
    if made.kind != "named" and made.kind not in SLOPES:
        raise ArithmeticUnsupported(f"the derivative of {made.kind} has no symbolic form")
    inner = made.inner
    slope = _derivative(inner, by, known)
    if made.kind == "named":
        return slope
    note_rule(SLOPES[made.kind])
    if made.kind == ITERATE:
        return along(inner, made.parameter, slope)
    count, more = len(inner.slots), len(by.sizes)
    slots = list(range(count + more))
    own = list(range(count))
    itself = sum_of_head(made)
    if made.kind == "exp":
        return contract([(itself, own), (slope, slots)], slots).times(made.parameter)
    if made.kind == "power":
        lowered = power(inner, made.parameter - 1)
        return contract([(lowered, own), (slope, slots)], slots).times(rational_scalar(made.parameter))
    if made.kind == "log":
        return contract([(power(inner, Fraction(-1)), own), (slope, slots)], slots)
    if made.kind == "softmax":
        return _of_softmax(itself, slope, count, made.parameter)
    if made.kind == "inverse":
        return _of_inverse(itself, slope, made.parameter, count, more)
    return _of_exponential(inner, slope, more)


def _of_softmax(itself: Sum, slope: Sum, count: int, last: int) -> Sum:
    """dA_j = A_j (dT_j - sum_l A_l dT_l) for the softmax over the `last` slots."""
    slots = list(range(len(slope.slots)))
    own = list(range(count))
    elsewhere = [slot if slot < count - last else 1000 + slot for slot in own]
    beyond = slots[count:]
    first = contract([(itself, own), (slope, slots)], slots)
    mean = contract([(itself, own), (itself, elsewhere), (slope, [*elsewhere, *beyond])], slots)
    return first.plus(mean, -ONE)


def _of_inverse(itself: Sum, slope: Sum, rows: int, count: int, more: int) -> Sum:
    """d M^-1 = -M^-1 dM M^-1; the slots of the inverse are the columns of M, then its rows."""
    ends = list(range(count, count + more))
    left_row = [1000 + k for k in range(rows)]
    right_column = [2000 + k for k in range(rows)]
    parts = [
        (itself, [*range(rows), *left_row]),
        (slope, [*left_row, *right_column, *ends]),
        (itself, [*right_column, *range(rows, count)]),
    ]
    return contract(parts, list(range(count + more))).times(-ONE)


def _of_exponential(inner: Sum, slope: Sum, more: int) -> Sum:
    """d exp(M)_ij = D(M, M)_{ik,lj} dM_kl, the Frechet derivative."""
    ends = list(range(2, 2 + more))
    return contract([(frechet_derivative(inner, inner), [0, 100, 101, 1]), (slope, [100, 101, *ends])], [0, 1, *ends])


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
    if made.kind == "named":
        return inner
    if made.kind in ("exp", "power", "step", "log"):
        return of_entries(made.kind, inner, made.parameter)
    if made.kind == "softmax":
        return softmax_of(inner, made.parameter)
    if made.kind == "expm":
        return exponential_of_matrix(inner)
    if made.kind == "phi":
        return mean_exponential(inner)
    if made.kind == "dexpm":
        return frechet_derivative(part_of_pair(inner, 0), part_of_pair(inner, 1))
    if made.kind == "inverse":
        return inverse_of(inner, made.parameter)
    if made.kind in (ITERATE, ITERATE_SLOPE):
        return (iterate_of if made.kind == ITERATE else slope_of)(inner, made.parameter)
    raise ArithmeticUnsupported(f"{made.kind} of another argument has no symbolic form")


@as_built("at")
def substituted(value: Sum, tensor: Head, point: Sum) -> Sum:
    """`value` with the sum `point`, over the slots of `tensor`, in place of `tensor`."""
    return rebuilt(value, lambda made: point if made is tensor else None)
