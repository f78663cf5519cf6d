"""Functions of sums as heads of their own, in a form that equal values share as far as it is cheap to see.

Entrywise: exp (of a sum, the product of the exponentials of its terms), powers, step, relu(x) = x step(x),
|x| = x step(x) - x step(-x), log.  Of matrices: row softmax and the inverse.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.symbols.canonical import Factor, canonical, components
from verify.arithmetics.symbols.head_kinds import below, head_kind, scaled_latex, times_change
from verify.arithmetics.symbols.heads import Head, head
from verify.arithmetics.symbols.scalars import ONE, Scalar, rational_scalar, scalar
from verify.arithmetics.symbols.sums import (
    Sum,
    as_built,
    constant,
    contract,
    note_rule,
    single,
    step_named,
    sum_of_head,
)
from verify.vocabulary.errors import ArithmeticUnsupported

EXP_OF_LOG = step_named("exp(log x) = x")
LOG_OF_EXP = step_named("log(exp x) = x")
STEP_OF_NUMBER = step_named("a step of a number of known sign")
STEP_OF_MULTIPLE = step_named("step(c x) = step(x) for c > 0")
POWER_OF_PRODUCT = step_named("(c x)^p = c^p x^p for whole p or c > 0")
POWER_OF_FACTORS = step_named("(x y)^p = x^p y^p for whole p")
POWER_OF_POWER = step_named("(x^a)^p = x^(a p) for whole p or a root x^a")
POWER_OF_EXP = step_named("exp(x)^p = exp(p x)")
UNIFORM = step_named("a softmax of equal entries is uniform")
SHIFTED = step_named("a softmax takes no notice of what is constant in its rows")
PERMUTED = step_named("the inverse of a permutation is its transpose")
MULTIPLE = step_named("(c M)^-1 = M^-1 / c")
TURNED = step_named("the inverse of a transpose is the transpose of the inverse")

#: Orders of slots beyond this many are not searched for a common form.
MOST_ORDERS = 720


def _used_slots(inner: Sum) -> list[int]:
    return [slot for slot in range(len(inner.slots)) if inner.depends_on(slot)]


def _restricted(inner: Sum, kept: Sequence[int]) -> Sum:
    """The sum over `kept` slots only; it depends on no other."""
    for slot in reversed(range(len(inner.slots))):
        if slot not in kept:
            inner = inner.without(slot)
    return inner


def function_of(kind: str, inner: Sum, parameter: Any = None, movable: Sequence[Sequence[int]] = ()) -> Sum:
    """The head `kind` of `inner`, over its slots.

    Slots within each of the groups `movable` may be exchanged, which brings the function of a transpose and the
    transpose of a function to one form.
    """
    orders = [tuple(range(len(inner.slots)))]
    if movable and math.prod(math.factorial(len(group)) for group in movable) <= MOST_ORDERS:
        choices = itertools.product(*(itertools.permutations(group) for group in movable))
        exchanges = [dict(zip(itertools.chain(*movable), itertools.chain(*choice), strict=True)) for choice in choices]
        orders = [tuple(exchanged.get(slot, slot) for slot in orders[0]) for exchanged in exchanges]
    ranked = []
    for order in orders:
        moved = inner.permuted(order)
        ranked.append(((tuple(map(str, moved.slots)), moved.order), order, moved))
    least, first, chosen = min(ranked, key=lambda item: item[0])
    place = {slot: k for k, slot in enumerate(first)}
    symmetries = [(tuple(place[slot] for slot in order), 1) for rank, order, _ in ranked if rank == least]
    made = head(kind, kind, chosen.slots, symmetries, chosen, parameter)
    return single(made, first, inner.slots)


def _entrywise(kind: str, inner: Sum, parameter: object = None) -> Sum:
    """An entrywise function, whose slots are all alike; those on which it does not depend are left out."""
    used = _used_slots(inner)
    found = function_of(kind, _restricted(inner, used), parameter, [range(len(used))])
    return _placed(found, used, inner.slots)


def _only_term(inner: Sum) -> tuple[tuple[Factor, ...], Scalar] | None:
    return next(iter(inner.terms.items())) if len(inner.terms) == 1 else None


def _leading(inner: Sum) -> Scalar:
    """The coefficient of the term that comes first whatever the coefficients."""
    return min(inner.terms.items(), key=lambda item: tuple((h.number, i) for h, i in item[0]))[1]


def _placed(value: Sum, indices: Sequence[int], slots: Sequence[object]) -> Sum:
    """A sum with its slots at some of others."""
    return contract([(value, indices)], list(range(len(slots))), dict(enumerate(slots)))


def product_of_sums(parts: Sequence[Sum], slots: Sequence[object]) -> Sum:
    """The entrywise product of sums over the same slots."""
    labels = list(range(len(slots)))
    return contract([(part, labels) for part in parts], labels, dict(enumerate(slots)))


@as_built("exp")
def exponential(inner: Sum) -> Sum:
    """exp of every entry."""
    parts = []
    for key, coefficient in inner.terms.items():
        if not key:
            parts.append(constant(scalar(sympy.exp(coefficient.expression)), inner.slots))
        elif len(key) == 1 and key[0][0].kind == "log" and coefficient.is_one and not _has_summed(key[0], inner):
            note_rule(EXP_OF_LOG)
            log_head, indices = key[0]
            parts.append(_placed(log_head.inner, indices, inner.slots))
        else:
            parts.append(_entrywise("exp", Sum(inner.slots, {key: ONE}), coefficient))
    return product_of_sums(parts, inner.slots)


@as_built("log")
def logarithm(inner: Sum) -> Sum:
    """log of every entry."""
    only = _only_term(inner)
    plain = only is not None and only[1].is_one and len(only[0]) == 1 and not _has_summed(only[0][0], inner)
    if only is not None and plain and only[0][0][0].kind == "exp":
        note_rule(LOG_OF_EXP)
        made, indices = only[0][0]
        found = _placed(made.inner, indices, inner.slots)
        return found.times(made.parameter)
    return _entrywise("log", inner)


@as_built("step")
def step_of(inner: Sum) -> Sum:
    """1 where an entry is positive, 0 elsewhere; positive factors do not matter."""
    if not inner:
        return constant(rational_scalar(0), inner.slots)
    only = _only_term(inner)
    if only is not None:
        key, coefficient = only
        kept = tuple(factor for factor in key if not _is_positive(factor[0]) or _has_summed(factor, inner))
        if not kept and (coefficient.is_positive or (-coefficient).is_positive):
            note_rule(STEP_OF_NUMBER if not key else STEP_OF_MULTIPLE)
            return constant(ONE if coefficient.is_positive else rational_scalar(0), inner.slots)
        sign = ONE if coefficient.is_positive else -ONE if (-coefficient).is_positive else coefficient
        if len(kept) < len(key) or sign != coefficient:
            note_rule(STEP_OF_MULTIPLE)
        found, turned = canonical(kept, len(inner.slots))
        return _entrywise("step", Sum(inner.slots, {found: sign if turned > 0 else -sign}))
    leading = _leading(inner)
    if len(leading.terms) == 1 and (leading.is_positive or (-leading).is_positive):
        scale = leading if leading.is_positive else -leading
        if not scale.is_one:
            note_rule(STEP_OF_MULTIPLE)
        inner = inner.times(scale.power(Fraction(-1)))
    return _entrywise("step", inner)


def _has_summed(factor: Factor, inner: Sum) -> bool:
    return any(index >= len(inner.slots) for index in factor[1])


def _is_positive(made: Head) -> bool:
    """Whether every entry of the head is known to be positive (where it is defined)."""
    return made.kind in ("exp", "softmax") or (
        made.kind == "power" and made.parameter.denominator == 2 and made.parameter < 0
    )


@as_built("power")
def power(inner: Sum, exponent: Fraction) -> Sum:
    """Every entry to a rational power; a square root is of what is not negative, where it is defined at all."""
    if exponent == 0:
        return constant(ONE, inner.slots)
    if exponent.denominator == 1 and exponent > 0:
        return product_of_sums([inner] * exponent.numerator, inner.slots)
    if not inner:
        if exponent < 0:
            raise ArithmeticUnsupported("division by a matrix of zeros")
        return inner
    whole = exponent.denominator == 1
    only = _only_term(inner)
    if only is None:
        leading = _leading(inner)
        if len(leading.terms) == 1 and (whole or leading.is_positive) and not leading.is_one:
            note_rule(POWER_OF_PRODUCT)
            scale = leading.power(Fraction(-1))
            return _entrywise("power", inner.times(scale), exponent).times(leading.power(exponent))
        return _entrywise("power", inner, exponent)
    key, coefficient = only
    outside = ONE
    if whole or coefficient.is_positive:
        if not coefficient.is_one:
            note_rule(POWER_OF_PRODUCT)
        outside, coefficient = coefficient.power(exponent), ONE
    if not key:
        return constant(outside * (ONE if coefficient.is_one else coefficient.power(exponent)), inner.slots)
    # (x^a)^p = x^(a p) without a second thought only for whole p, for roots x^a >= 0, and for odd a standing alone
    plain = coefficient.is_one and all(made.kind == "power" and made.parameter.numerator % 2 == 1 for made, _ in key)
    parts, left = [], []
    for factor in key:
        made, indices = factor
        alone = not _has_summed(factor, inner)
        if alone and made.kind == "exp":
            note_rule(POWER_OF_EXP)
            found = _entrywise("exp", made.inner, made.parameter * rational_scalar(exponent))
        elif alone and made.kind == "power" and (whole or made.parameter.denominator == 2 or (len(key) == 1 and plain)):
            note_rule(POWER_OF_POWER)
            found = power(made.inner, made.parameter * exponent)
        elif alone and whole and made.kind not in ("delta", "unit", "step"):
            if len(key) > 1:
                note_rule(POWER_OF_FACTORS)
            found = _entrywise("power", sum_of_head(made), exponent)
        else:
            left.append(factor)
            continue
        parts.append(_placed(found, indices, inner.slots))
    if left:
        # a whole power of a product is the product of the powers of what shares no summed index
        parted = components(left, len(inner.slots)) if whole else [left]
        if len(parted) > 1:
            note_rule(POWER_OF_FACTORS)
        for component in parted:
            kept, sign = canonical(component, len(inner.slots))
            remaining = Sum(inner.slots, {kept: coefficient if sign > 0 else -coefficient})
            parts.append(_entrywise("power", remaining, exponent))
    elif not coefficient.is_one:
        parts.append(constant(coefficient.power(exponent), inner.slots))
    return product_of_sums(parts, inner.slots).times(outside)


@as_built("relu")
def relu_of(inner: Sum) -> Sum:
    """max(x, 0) = x step(x)."""
    return product_of_sums([inner, step_of(inner)], inner.slots)


@as_built("abs")
def absolute_of(inner: Sum) -> Sum:
    """|x| = x step(x) - x step(-x)."""
    minus = inner.times(-ONE)
    return relu_of(inner).plus(relu_of(minus))


@as_built("softmax")
def softmax_of(inner: Sum, last: int) -> Sum:
    """The softmax over the `last` slots together; what does not depend on them cancels."""
    count = len(inner.slots)
    over = range(count - last, count)
    terms = {key: value for key, value in inner.terms.items() if any(i in over for _, idx in key for i in idx)}
    if len(terms) < len(inner.terms):
        note_rule(SHIFTED)
    if not terms:
        note_rule(UNIFORM)
        size = ONE
        for slot in over:
            size = size * scalar(inner.slots[slot])
        return constant(size.power(Fraction(-1)), inner.slots)
    inner = Sum(inner.slots, terms)
    used = sorted({*_used_slots(inner), *over})
    kept = _restricted(inner, used)
    rows = range(len(used) - last)
    found = function_of("softmax", kept, last, [rows, range(len(used) - last, len(used))])
    return _placed(found, used, inner.slots)


def _leading_unit(inner: Sum) -> Scalar:
    """The coefficient of the term that comes first whatever its sign, if it is one monomial; 1 otherwise."""
    leading = _leading(inner)
    return leading if len(leading.terms) == 1 else ONE


def _is_permutation(key: Sequence[Factor], rows: int) -> bool:
    """Whether a product is one delta for each of the rows, that joins it to a column of its own."""
    pairs = [sorted(indices) for made, indices in key if made.kind == "delta"]
    return len(pairs) == len(key) == rows and (
        [first for first, _ in sorted(pairs)] == list(range(rows))
        and sorted(second for _, second in pairs) == list(range(rows, 2 * rows))
    )


@as_built("inverse")
def inverse_of(inner: Sum, rows: int) -> Sum:
    """The inverse of the matrix whose first `rows` slots are its rows; slots: its columns, then its rows."""
    columns = len(inner.slots) - rows
    turned = inner.permuted([*range(rows, len(inner.slots)), *range(rows)])
    if rows != columns:
        raise ArithmeticUnsupported("the inverse of a matrix whose rows and columns are grouped differently")
    only = _only_term(inner)
    if only is not None and _is_permutation(only[0], rows):
        note_rule(PERMUTED)
        return Sum(turned.slots, {key: value.power(Fraction(-1)) for key, value in turned.terms.items()})
    back = [*range(rows, 2 * rows), *range(rows)]
    scale, turned_scale = _leading_unit(inner), _leading_unit(turned)
    if not scale.is_one:
        note_rule(MULTIPLE)
    inner = inner.times(scale.power(Fraction(-1)))
    turned = turned.times(turned_scale.power(Fraction(-1)))
    if turned.order < inner.order:  # M^-1 = ((M^T)^-1)^T, so that both are functions of one matrix
        note_rule(TURNED)
        found = sum_of_head(head("inverse", "inverse", inner.slots, [], turned, rows)).permuted(back)
        return found.times(turned_scale.power(Fraction(-1)))
    symmetries = [(tuple(back), 1)] if turned.key == inner.key and turned_scale == scale else []
    made = head("inverse", "inverse", turned.slots, symmetries, inner, rows)
    return sum_of_head(made).times(scale.power(Fraction(-1)))


# -- their values, texts and derivatives -------------------------------------------------------------------------------


def _softmax_in_floats(made: Head, point: Any) -> Any:
    logits = point.values(made.inner)
    over = tuple(range(logits.ndim - made.parameter, logits.ndim))
    weights = np.exp(logits - logits.max(axis=over, keepdims=True))
    return weights / weights.sum(axis=over, keepdims=True)


def _of_softmax(made: Head, change: Sum) -> Sum:
    """dA_j = A_j (dT_j - sum_l A_l dT_l) for the softmax over the last slots."""
    count, slots = len(made.sizes), list(range(len(change.slots)))
    elsewhere = [slot if slot < count - made.parameter else 1000 + slot for slot in range(count)]
    itself = sum_of_head(made)
    first = contract([(itself, slots[:count]), (change, slots)], slots)
    mean = contract([(itself, slots[:count]), (itself, elsewhere), (change, [*elsewhere, *slots[count:]])], slots)
    return first.plus(mean, -ONE)


def _inverse_in_floats(made: Head, point: Any) -> Any:
    matrix = point.values(made.inner)
    return np.linalg.inv(matrix.reshape(math.prod(matrix.shape[: made.parameter]), -1))


def _of_inverse(made: Head, change: Sum) -> Sum:
    """d M^-1 = -M^-1 dM M^-1; the slots of the inverse are the columns of M, then its rows."""
    rows, count, itself = made.parameter, len(made.sizes), sum_of_head(made)
    left_row, right_column = ([start + k for k in range(rows)] for start in (1000, 2000))
    parts = [
        (itself, [*range(rows), *left_row]),
        (change, [*left_row, *right_column, *range(count, len(change.slots))]),
        (itself, [*right_column, *range(rows, count)]),
    ]
    return contract(parts, list(range(len(change.slots)))).times(-ONE)


head_kind(
    "exp",
    values=lambda made, point: np.exp(point.number(made.parameter.expression) * point.values(made.inner)),
    latex=lambda made, at, text: rf"\exp({scaled_latex(made.parameter, f'({text(made.inner)})')}){below(at)}",
    again=lambda inner, factor: exponential(inner.times(factor)),
    along=lambda made, change: times_change(sum_of_head(made), change).times(made.parameter),
)
head_kind(
    "power",
    values=lambda made, point: point.values(made.inner) ** float(made.parameter),
    latex=lambda made, at, written: rf"({written(made.inner)}){below(at)}^{{{made.parameter}}}",
    again=power,
    along=lambda made, change: times_change(power(made.inner, made.parameter - 1), change).times(
        rational_scalar(made.parameter)
    ),
)
head_kind(
    "log",
    values=lambda made, point: np.log(point.values(made.inner)),
    again=lambda inner, _: logarithm(inner),
    along=lambda made, change: times_change(power(made.inner, Fraction(-1)), change),
)
head_kind(
    "step",
    values=lambda made, point: point.values(made.inner) > 0,
    again=lambda inner, _: step_of(inner),
    flat=True,  # where it has a derivative
)
head_kind("softmax", values=_softmax_in_floats, again=softmax_of, along=_of_softmax)
head_kind(
    "inverse",
    values=_inverse_in_floats,
    latex=lambda made, at, written: rf"[({written(made.inner)})^{{-1}}]{below(at)}",
    again=inverse_of,
    along=_of_inverse,
)
