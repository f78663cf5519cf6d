"""The matrix exponential as a formal function: transposes, exp(M) exp(-M) = I, and push-through f(AB) A = A f(BA)."""

from __future__ import annotations

from typing import Any

from verify.arithmetics.symbols.canonical import Factor, canonical
from verify.arithmetics.symbols.heads import Head, delta, head
from verify.arithmetics.symbols.rules import occurrences
from verify.arithmetics.symbols.sums import Product, Sum, contract, fresh, rule, single
from verify.vocabulary.errors import ArithmeticUnsupported


def exponential_of_matrix(inner: Sum) -> Sum:
    """exp of a matrix with one index for its rows and one for its columns, over the same slots."""
    if len(inner.slots) != 2:
        raise ArithmeticUnsupported("the exponential of a matrix whose rows group several indices")
    if not inner:
        return single(delta(inner.slots[0]), (0, 1), inner.slots)
    turned = inner.permuted([1, 0])
    if turned.order < inner.order:  # exp(M)^T = exp(M^T)
        return single(head("expm", "expm", inner.slots, [], turned), (1, 0), inner.slots)
    symmetries = [((1, 0), 1)] if turned.key == inner.key else []
    return single(head("expm", "expm", inner.slots, symmetries, inner), (0, 1), inner.slots)


def _readings(factor: Factor) -> list[tuple[Sum, int, int]]:
    """An exponential as exp(M)(i, j), for M and for its transpose."""
    made, (i, j) = factor
    assert made.inner is not None
    return [(made.inner, i, j), (made.inner.permuted([1, 0]), j, i)]


@rule("exp(M) exp(-M) = I", "expm")
def opposite_exponentials(product: Product, slots: int) -> list[Product] | None:
    """Two exponentials of opposite matrices, one after the other."""
    coefficient, factors, summed = product
    places = [k for k, (made, _) in enumerate(factors) if made.kind == "expm"]
    if len(places) < 2:
        return None
    counts = occurrences(factors)
    for one in places:
        for other in places:
            if one == other:
                continue
            for first, i, j in _readings(factors[one]):
                for second, k, m in _readings(factors[other]):
                    if j != k or j not in summed or counts[j] != 2 or first.plus(second):
                        continue
                    rest = [factor for n, factor in enumerate(factors) if n not in (one, other)]
                    kept = {index: size for index, size in summed.items() if index != j}
                    return [(coefficient, [*rest, (delta(first.slots[0]), (i, m))], kept)]
    return None


def _without_left(inner: Sum, made: Head, place: int) -> Sum | None:
    """R where the matrix is A R for the tensor A whose row index is its slot `place`; slots: columns of A, columns of R."""
    found = Sum((made.sizes[1 - place], inner.slots[1]), {})
    for key, coefficient in inner.terms.items():
        left = [k for k, (other, indices) in enumerate(key) if other is made and indices[place] == 0]
        if len(left) != 1 or occurrences(list(key))[0] != 1:
            return None
        column = key[left[0]][1][1 - place]
        if column < 2:
            return None
        # slot 0 is now the column of A; the indices that are summed keep away from the slots
        rest = [
            (other, tuple(0 if index == column else index + 10 if index > 1 else index for index in indices))
            for k, (other, indices) in enumerate(key)
            if k != left[0]
        ]
        moved, sign = canonical(rest, 2)
        if sign:
            found = found.plus(Sum(found.slots, {moved: coefficient if sign > 0 else -coefficient}))
    return found


@rule("push-through f(AB) A = A f(BA)", "expm")
def push_through(product: Product, slots: int) -> list[Product] | None:
    """exp(A R) A = A exp(R A), in the direction that leaves the exponential that comes first in a fixed order."""
    coefficient, factors, summed = product
    counts = occurrences(factors)
    for position, (made, indices) in enumerate(factors):
        if made.kind != "expm":
            continue
        for inner, i, j in _readings((made, indices)):
            if j not in summed or counts[j] != 2 or i == j:
                continue
            neighbour = next(k for k, (_, others) in enumerate(factors) if j in others and k != position)
            tensor, others = factors[neighbour]
            if tensor.kind != "tensor" or len(others) != 2:
                continue
            place = others.index(j)
            rest = _without_left(inner, tensor, place)
            if rest is None:
                continue
            own = single(tensor, (0, 1), tensor.sizes)
            other_way = contract([(rest, [0, 5]), (own, [5, 1] if place == 0 else [1, 5])], [0, 1])
            if not _comes_first(other_way, inner):
                continue
            moved = exponential_of_matrix(other_way)
            left = [factor for k, factor in enumerate(factors) if k not in (position, neighbour)]
            middle = fresh()
            kept = {index: size for index, size in summed.items() if index != j}
            kept[middle] = tensor.sizes[1 - place]
            outside = (tensor, (i, middle) if place == 0 else (middle, i))
            ends = {0: middle, 1: others[1 - place]}
            return [
                (coefficient * value, [*left, outside, *((h, tuple(ends[s] for s in at)) for h, at in key)], kept)
                for key, value in moved.terms.items()
            ]
    return None


def _comes_first(one: Sum, other: Sum) -> bool:
    """Whether the exponential of `one` is preferred to that of `other`: a total order, so that rewriting ends."""

    def rank(value: Sum) -> tuple[Any, ...]:
        turned = value.permuted([1, 0])
        return str(value.slots[0]), len(value.terms), min(value.order, turned.order)

    return rank(one) < rank(other)
