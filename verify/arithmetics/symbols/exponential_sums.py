"""Rewriting rules that join exponentials, their sums over one index, and the softmax: A_ij = E_ij / Z_i."""

from __future__ import annotations

from fractions import Fraction

from verify.arithmetics.symbols.canonical import Factor, settled
from verify.arithmetics.symbols.function_heads import exponential, power, softmax_of
from verify.arithmetics.symbols.heads import Head, Size
from verify.arithmetics.symbols.product_rules import occurrences
from verify.arithmetics.symbols.scalars import ONE
from verify.arithmetics.symbols.sums import Product, Sum, contract, fresh, instance, rule

#: What E_ij is made of: exponentials whose indices are those of the rows, then that of the column.
Pattern = tuple[Factor, ...]


def _pattern(inner: Sum) -> Pattern | None:
    """The exponentials whose product is exp of the sum, where they all depend on its last slot."""
    found = exponential(inner)
    if len(found.terms) != 1:
        return None
    ((key, coefficient),) = found.terms.items()
    last = len(inner.slots) - 1
    plain = all(head.kind == "exp" and last in indices and max(indices) == last for head, indices in key)
    return key if key and plain and coefficient.is_one else None


def _at(pattern: Pattern, places: tuple[int, ...]) -> list[Factor]:
    return [settled((head, tuple(places[i] for i in indices)))[0] for head, indices in pattern]


def _groups(
    pattern: Pattern, rows: tuple[int, ...], factors: list[Factor], summed: dict[int, Size]
) -> tuple[list[int], list[int]]:
    """The columns j for which E_ij is in the product: those that occur elsewhere too, and those that make a Z_i."""
    present = {settled(factor)[0] for factor in factors if factor[0].kind == "exp"}
    counts = occurrences(factors)
    entries: list[int] = []
    masses: list[int] = []
    for column in sorted({index for _, indices in present for index in indices} - set(rows)):
        wanted = _at(pattern, (*rows, column))
        if not present.issuperset(wanted):
            continue
        alone = column in summed and counts[column] == sum(indices.count(column) for _, indices in wanted)
        (masses if alone else entries).append(column)
    return entries, masses


def _without(factors: list[Factor], pattern: Pattern, rows: tuple[int, ...], columns: list[int]) -> list[Factor]:
    """The product without E_ij for each of the columns j."""
    gone = {factor for column in columns for factor in _at(pattern, (*rows, column))}
    return [factor for factor in factors if factor[0].kind != "exp" or settled(factor)[0] not in gone]


@rule("softmax times its normaliser is the exponential", "softmax")
def softmax_times_sum(product: Product, slots: int) -> list[Product] | None:
    """A_ij Z_i = E_ij where each A_ij of a row i has its Z_i; elsewhere E_ij = A_ij Z_i, so that no entry is preferred."""
    coefficient, factors, summed = product
    if not any(head.kind == "exp" for head, _ in factors):
        return None
    for made, rows in dict.fromkeys((head, indices[:-1]) for head, indices in factors if head.kind == "softmax"):
        pattern = _pattern(made.inner) if made.parameter == 1 and made.inner is not None else None
        if pattern is None:
            continue
        entries, masses = _groups(pattern, rows, factors, summed)
        own = [indices[-1] for head, indices in factors if head is made and indices[:-1] == rows]
        if len(masses) >= len(own):
            gone = masses[: len(own)]
            rest = _without(factors, pattern, rows, gone)
            rest = [factor for factor in rest if factor[0] is not made or factor[1][:-1] != rows]
            new = [factor for column in own for factor in _at(pattern, (*rows, column))]
            return [(coefficient, rest + new, {i: size for i, size in summed.items() if i not in gone})]
        if entries:
            rest = _without(factors, pattern, rows, entries)
            more = {fresh(): made.sizes[-1] for _ in entries}
            new = [(made, (*rows, column)) for column in entries]
            new += [factor for column in more for factor in _at(pattern, (*rows, column))]
            return [(coefficient, rest + new, {**summed, **more})]
    return None


@rule("exponentials over their sum are a softmax", "power")
def exponential_over_sum(product: Product, slots: int) -> list[Product] | None:
    """E_ij Z_i^-p = A_ij Z_i^(1 - p) for whole p > 0."""
    coefficient, factors, summed = product
    if not any(head.kind == "exp" for head, _ in factors):
        return None
    for position, (made, rows) in enumerate(factors):
        if made.kind != "power" or made.parameter > 0 or Fraction(made.parameter).denominator != 1:
            continue
        logits = _logits(made)
        pattern = _pattern(logits) if logits is not None else None
        if logits is None or pattern is None:
            continue
        rest = factors[:position] + factors[position + 1 :]
        entries, _ = _groups(pattern, rows, rest, summed)
        if not entries:
            continue
        rest = _without(rest, pattern, rows, entries)
        parts = [(softmax_of(logits, 1), [*rows, column]) for column in entries]
        parts.append((power(made.inner, made.parameter + len(entries)), list(rows)))  # type: ignore[arg-type]
        open_labels = sorted({*rows, *entries})
        sizes = dict(zip((*rows, entries[0]), logits.slots, strict=True)) | {j: logits.slots[-1] for j in entries}
        return list(instance(contract(parts, open_labels, sizes), open_labels, coefficient, rest, summed))
    return None


def _logits(made: Head) -> Sum | None:
    """T where the head is a power of Z_i = sum_j exp(T_ij), its rows and then j as slots."""
    if made.inner is None or len(made.inner.terms) != 1:
        return None
    ((key, coefficient),) = made.inner.terms.items()
    count = len(made.inner.slots)
    columns = {i for _, indices in key for i in indices if i >= count}
    if not coefficient.is_one or len(columns) != 1 or any(head.kind != "exp" for head, _ in key):
        return None
    (column,) = columns
    if any(column not in indices for _, indices in key):
        return None
    size = next(head.sizes[indices.index(column)] for head, indices in key)
    slots = (*made.inner.slots, size)
    labels = list(range(count + 1))
    found = Sum(slots, {})
    for head, indices in key:
        places = [count if i == column else i for i in indices]
        if len(set(places)) < len(places):
            return None
        found = found.plus(contract([(head.inner, places)], labels, dict(enumerate(slots))), head.parameter or ONE)
    return found
