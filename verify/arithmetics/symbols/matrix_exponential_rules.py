"""Rewriting rules of exp(M), phi(M) and D(M, N): opposite exponentials, push-through, products with M itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from verify.arithmetics.symbols.canonical import Factor, canonical
from verify.arithmetics.symbols.heads import Head, Size, delta
from verify.arithmetics.symbols.matrix_exponential import LEGGED, comes_first, exponential_of_matrix, legs_of, with_leg
from verify.arithmetics.symbols.product_rules import leading_term, match, occurrences, of_kind
from verify.arithmetics.symbols.scalars import Scalar
from verify.arithmetics.symbols.sums import Product, Sum, contract, fresh, instance, rule, single, sum_of_head

#: At most so many matrices are looked for between two exponentials.
LONGEST_CHAIN = 4


def _readings(factor: Factor) -> Iterator[tuple[int, Sum, int, int]]:
    """Every leg, by its number, as exp(s M)(i, j), for M and for its transpose."""
    made, indices = factor
    for number, leg in enumerate(legs_of(made)):
        i, j = indices[leg.row], indices[leg.column]
        yield number, leg.matrix, i, j
        yield number, leg.turned, j, i


def _moved(factor: Factor, number: int, matrix: Sum, i: int, j: int) -> tuple[Sum, tuple[int, ...]]:
    """The factor with its leg exp(s `matrix`)(i, j), as a sum at indices."""
    made, indices = factor
    leg = legs_of(made)[number]
    places = list(indices)
    places[leg.row], places[leg.column] = i, j
    return with_leg(made, number, matrix), tuple(places)


def _without(summed: dict[int, Size], gone: set[int]) -> dict[int, Size]:
    return {index: size for index, size in summed.items() if index not in gone}


@rule("exp(M) C exp(-N) = C where M C = C N", "expm")
def opposite_exponentials(product: Product, slots: int) -> list[Product] | None:
    """Two exponentials, one after the other or or with a few matrices C between them; C = I of opposite ones."""
    coefficient, factors, summed = product
    places = [k for k, (made, _) in enumerate(factors) if made.kind == "expm"]
    if len(places) < 2:
        return None
    for one in places:
        for _, first, i, j in _readings(factors[one]):
            for path, k in _chains(factors, one, j, summed):
                other = next((n for n in places if n not in (one, *path) and k in factors[n][1]), None)
                if other is None:
                    continue
                for _, second, begin, m in _readings(factors[other]):
                    if begin != k or m == k or not _intertwined(first, second, [factors[n] for n in path], j, k):
                        continue
                    rest = [factor for n, factor in enumerate(factors) if n not in (one, other, *path)]
                    if not path:
                        return [(coefficient, [*rest, (delta(first.slots[0]), (i, m))], _without(summed, {j}))]
                    moved = [
                        (made, tuple(i if n == j else m if n == k else n for n in indices))
                        for made, indices in (factors[n] for n in path)
                    ]
                    return [(coefficient, [*rest, *moved], _without(summed, {j, k}))]
    return None


def _chains(
    factors: Sequence[Factor], start: int, j: int, summed: dict[int, Size]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """No, one and more matrices that follow the factor `start` at its index j, by position, and the index they end at."""
    counts = occurrences(list(factors))
    path: tuple[int, ...] = ()
    while j in summed and counts[j] == 2:
        yield path, j
        following = next((k for k, (_, at) in enumerate(factors) if j in at and k != start and k not in path), None)
        if following is None or len(path) == LONGEST_CHAIN:
            return
        made, indices = factors[following]
        if made.kind not in ("tensor", "named") or len(indices) != 2 or indices[0] == indices[1]:
            return
        path, j = (*path, following), indices[1 - indices.index(j)]


def _intertwined(first: Sum, second: Sum, chain: list[Factor], j: int, k: int) -> bool:
    """Whether M C = -C N for the product C of a chain of matrices between the indices j and k."""
    if not chain:
        return first.slots == second.slots and not first.plus(second)
    between = [(sum_of_head(made), list(indices)) for made, indices in chain]
    left = contract([(first, [-1, j]), *between], [-1, k])
    return not left.plus(contract([*between, (second, [k, -1])], [j, -1]))


# -- push-through ------------------------------------------------------------------------------------------------------


def without_left(inner: Sum, made: Head, place: int) -> Sum | None:
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


@rule("push-through f(AB) A = A f(BA)", *LEGGED)
def push_through(product: Product, slots: int) -> list[Product] | None:
    """exp(s A R) A = A exp(s R A), in the direction that leaves the leg that comes first in a fixed order."""
    coefficient, factors, summed = product
    counts = occurrences(factors)
    for position, *_ in of_kind(factors, *LEGGED):
        factor = factors[position]
        for number, inner, i, j in _readings(factor):
            if j not in summed or counts[j] != 2 or i == j:
                continue
            neighbour = next((k for k, (_, others) in enumerate(factors) if j in others and k != position), None)
            if neighbour is None:  # two legs of one factor
                continue
            tensor, others = factors[neighbour]
            if tensor.kind != "tensor" or len(others) != 2:
                continue
            place = others.index(j)
            rest = without_left(inner, tensor, place)
            if rest is None:
                continue
            own = sum_of_head(tensor)
            other_way = contract([(rest, [0, 5]), (own, [5, 1] if place == 0 else [1, 5])], [0, 1])
            if not comes_first(other_way, inner):
                continue
            middle = fresh()
            left = [other for k, other in enumerate(factors) if k not in (position, neighbour)]
            kept = {**_without(summed, {j}), middle: tensor.sizes[1 - place]}
            outside = (tensor, (i, middle) if place == 0 else (middle, i))
            found, at = _moved(factor, number, other_way, middle, others[1 - place])
            return list(instance(found, at, coefficient, [*left, outside], kept))
    return None


# -- products with the matrix itself -----------------------------------------------------------------------------------


class _Attached:
    """The leading term of M where it is multiplied to an end of a leg: exp(s M) M or M exp(s M)."""

    def __init__(self, matrix: Sum, rest: list[Factor], summed: dict[int, Size], scale: Scalar, ends: tuple[int, int]):
        self.matrix, self.rest, self.summed, self.scale, self.ends = matrix, rest, summed, scale, ends

    def remainder(self, factor: Factor, lead: object) -> list[Product]:
        """The product with the other terms of M in the place of the leading one, subtracted."""
        others = Sum(self.matrix.slots, {key: value for key, value in self.matrix.terms.items() if key != lead})
        return list(instance(others, self.ends, -self.scale, [*self.rest, factor], self.summed))


def _between(
    product: Product, position: int, matrix: Sum, row: int | None, column: int | None
) -> tuple[_Attached, object] | None:
    """M from the summed index `row` to `column`; an end that is None is found, the others belong to the factor."""
    coefficient, factors, summed = product
    lead = leading_term(matrix)
    shared = [index for index in (row, column) if index is not None]
    if lead is None or any(index not in summed for index in shared) or len(set(shared)) != len(shared):
        return None
    key, value = lead
    others = factors[:position] + factors[position + 1 :]
    bound = {slot: index for slot, index in ((0, row), (1, column)) if index is not None}
    free = tuple(slot for slot, index in ((0, row), (1, column)) if index is None)
    found = match(key, bound, others, summed, 2, [factors[position]], free)
    if found is None:
        return None
    used, private, sign = found
    if any(slot not in bound for slot in (0, 1)):
        return None
    rest = [factor for k, factor in enumerate(others) if k not in used]
    counts = occurrences([*rest, factors[position]])
    if any(counts[index] != 1 for index in shared) or (free and bound[free[0]] in shared):
        return None
    kept = _without(summed, private)
    return _Attached(matrix, rest, kept, coefficient * sign * value.power(Fraction(-1)), (bound[0], bound[1])), key


def _ends_of(leg_row: int, leg_column: int) -> list[tuple[int | None, int | None]]:
    """M to the left of the row of a leg, and to the right of its column."""
    return [(None, leg_row), (leg_column, None)]


#: Before push-through, which parts M = A B from phi(A B), this rule proves other identities than after it.
MEAN_TIMES_MATRIX = "M phi(M) = exp(M) - I"


@rule(MEAN_TIMES_MATRIX, "phi")
def mean_times_matrix(product: Product, slots: int) -> list[Product] | None:
    """phi(M) M and M phi(M)."""
    for position, made, indices, _ in of_kind(product[1], "phi"):
        (leg,) = legs_of(made)
        for row, column in _ends_of(*indices):
            found = _between(product, position, leg.matrix, row, column)
            if found is None:
                continue
            at, lead = found
            ends = (at.ends[0], indices[1]) if row is None else (indices[0], at.ends[1])
            kept = _without(at.summed, {column if row is None else row})  # type: ignore[arg-type]
            results = list(instance(exponential_of_matrix(leg.matrix), ends, at.scale, at.rest, kept))
            results.append((-at.scale, [*at.rest, (delta(leg.matrix.slots[0]), ends)], kept))
            return results + at.remainder((made, indices), lead)
    return None


@rule("M D(M, N) = D(M, N) N + exp(M) - exp(N)", "dexpm")
def frechet_times_matrix(product: Product, slots: int) -> list[Product] | None:
    """The integral of the derivative in s of exp(s M)_ab exp((1 - s) N)_cd, which frees the first leg of M."""
    for position, made, indices, _ in of_kind(product[1], "dexpm"):
        first, second = (leg.matrix for leg in legs_of(made))
        if first.slots == second.slots and first.key == second.key:
            continue
        a, b, c, d = indices
        for row, column in _ends_of(a, b):
            found = _between(product, position, first, row, column)
            if found is None:
                continue
            at, lead = found
            one, two = (at.ends[0], b) if row is None else (a, at.ends[1])
            kept = _without(at.summed, {column if row is None else row})  # type: ignore[arg-type]
            middle = fresh()
            with_middle = {**kept, middle: second.slots[0]}
            results = list(
                instance(second, (c, middle), at.scale, [*at.rest, (made, (one, two, middle, d))], with_middle)
            )
            unit_two, unit_one = (delta(second.slots[0]), (c, d)), (delta(first.slots[0]), (one, two))
            results += instance(exponential_of_matrix(first), (one, two), at.scale, [*at.rest, unit_two], kept)
            results += instance(exponential_of_matrix(second), (c, d), -at.scale, [*at.rest, unit_one], kept)
            return results + at.remainder((made, indices), lead)
    return None


@rule("int exp(s M) exp((1 - s) M) ds = exp(M)", "dexpm")
def joined_legs(product: Product, slots: int) -> list[Product] | None:
    """D(M, M) with its legs one after the other, at once or with M between them."""
    coefficient, factors, summed = product
    counts = occurrences(factors)
    for position, made, indices, rest in of_kind(factors, "dexpm"):
        first, second = (leg.matrix for leg in legs_of(made))
        if first.slots != second.slots or first.key != second.key:
            continue
        for a, b, c, d in {tuple(indices[slot] for slot in perm) for perm, _ in made.symmetries}:
            if b == c and b in summed and counts[b] == 2:
                return list(instance(exponential_of_matrix(first), (a, d), coefficient, rest, _without(summed, {b})))
            found = _between(product, position, first, b, c)
            if found is not None:
                at, lead = found
                middle = fresh()
                kept = {**_without(at.summed, {b, c}), middle: first.slots[0]}
                results: list[Product] = []
                for value, grown, more in instance(first, (a, middle), at.scale, at.rest, kept):
                    results += instance(exponential_of_matrix(first), (middle, d), value, grown, more)
                return results + at.remainder((made, indices), lead)
    return None


@rule("exp(M) M = M exp(M)", "expm")
def commuted(product: Product, slots: int) -> list[Product] | None:
    """M to the left of its exponential, unless M is symmetric, where left and right are one."""
    for position, made, indices, _ in of_kind(product[1], "expm"):
        if len(made.symmetries) > 1:
            continue
        (leg,) = legs_of(made)
        found = _between(product, position, leg.matrix, indices[1], None)
        if found is None:
            continue
        at, lead = found
        middle = indices[1]
        results = list(
            instance(leg.matrix, (indices[0], middle), at.scale, [*at.rest, (made, (middle, at.ends[1]))], at.summed)
        )
        return results + at.remainder((made, indices), lead)
    return None


@rule("exp(V M V^T) = I + V (exp(M) - I) V^T where V^T V = I", "expm")
def conjugated(product: Product, slots: int) -> list[Product] | None:
    """Matrices with orthonormal columns are taken out of an exponential."""
    coefficient, factors, summed = product
    for _, made, indices, rest in of_kind(factors, "expm"):
        matrix = legs_of(made)[0].matrix
        first = next((factor for key in matrix.terms for factor in key if 0 in factor[1]), None)
        if first is None or first[0].kind != "tensor" or len(first[1]) != 2:
            continue
        tensor, place = first[0], first[1].index(0)
        right = without_left(matrix, tensor, place)
        inside = None if right is None else without_left(right.permuted([1, 0]), tensor, place)
        own, size = sum_of_head(tensor), tensor.sizes[1 - place]
        columns = [[5, 0], [5, 1]] if place == 0 else [[0, 5], [1, 5]]
        gram = contract([(own, columns[0]), (own, columns[1])], [0, 1])
        if inside is None or gram.key != sum_of_head(delta(size)).key:
            continue
        (i, j), (a, b) = indices, (fresh(), fresh())
        at_i, at_j = ((tensor, (end, k) if place == 0 else (k, end)) for end, k in ((i, a), (j, b)))
        alone = (tensor, (j, a) if place == 0 else (a, j))
        moved = exponential_of_matrix(inside.permuted([1, 0]))
        return [
            (coefficient, [*rest, (delta(matrix.slots[0]), (i, j))], summed),
            (-coefficient, [*rest, at_i, alone], {**summed, a: size}),
            *instance(moved, (a, b), coefficient, [*rest, at_i, at_j], {**summed, a: size, b: size}),
        ]
    return None


@rule("exp(V M V^-1) = V exp(M) V^-1", "expm")
def similar(product: Product, slots: int) -> list[Product] | None:
    """A matrix and its inverse at the two ends of an exponent are taken out of the exponential."""
    coefficient, factors, summed = product
    for _, made, indices, others in of_kind(factors, "expm"):
        matrix = legs_of(made)[0].matrix
        ends = [_at_end(matrix, slot) for slot in (0, 1)]
        if ends[0] is None or ends[1] is None or "inverse" not in (ends[0][0].kind, ends[1][0].kind):
            continue
        (left, i), (right, j) = ends[0], ends[1]
        rest = without_left(matrix, left, i)
        inside = None if rest is None else without_left(rest.permuted([1, 0]), right, j)
        V, other = single(left, (i, 1 - i), left.sizes), single(right, (1 - j, j), right.sizes)
        size = left.sizes[i]
        identity = sum_of_head(delta(size)).key
        # V V^-1 = I makes the square V regular, so that V^-1 V = I as well
        if inside is None or {*left.sizes, *right.sizes} != {size}:
            continue
        if contract([(V, [0, 5]), (other, [5, 1])], [0, 1]).key != identity:
            continue
        a, b = fresh(), fresh()
        around = [(left, (indices[0], a) if i == 0 else (a, indices[0]))]
        around.append((right, (b, indices[1]) if j == 1 else (indices[1], b)))
        moved = exponential_of_matrix(inside.permuted([1, 0]))
        return list(instance(moved, (a, b), coefficient, [*others, *around], {**summed, a: size, b: size}))
    return None


def _at_end(matrix: Sum, slot: int) -> tuple[Head, int] | None:
    """The matrix that a first term has at one end, and the place of its index there."""
    for made, indices in next(iter(matrix.terms), ()):
        if slot in indices and made.kind in ("tensor", "inverse") and len(indices) == 2:
            return made, indices.index(slot)
    return None


@rule("exp(M) C = exp(M) + C - I where M C = M", *LEGGED)
def projected(product: Product, slots: int) -> list[Product] | None:
    """exp(s M) C for C = T T^T: M (C - I) vanishes, so that every power of M but the zeroth does so on C - I."""
    coefficient, factors, summed = product
    counts = occurrences(factors)
    for position, *_ in of_kind(factors, *LEGGED):
        factor = factors[position]
        for number, inner, i, j in _readings(factor):
            if j not in summed or counts[j] != 2 or i == j:
                continue
            for one, other, end in _twice(factors, j, summed, counts):
                tensor, indices = factors[one]
                place = indices.index(j)
                labels = [[1, 5], [2, 5]] if place == 0 else [[5, 1], [5, 2]]
                own = sum_of_head(tensor)
                times = contract([(inner, [0, 1]), (own, labels[0]), (own, labels[1])], [0, 2])
                if times.key != inner.key:
                    continue
                rest = [made for k, made in enumerate(factors) if k not in (position, one, other)]
                pair = [factors[one], factors[other]]
                alone = _without(summed, {indices[1 - place]})
                found, at = _moved(factor, number, inner, i, end)
                results = list(instance(found, at, coefficient, rest, _without(alone, {j})))
                # exp(s M) is I in front of C - I
                zeroth, at = _moved(factor, number, Sum(inner.slots, {}), i, j)
                results += instance(zeroth, at, coefficient, [*rest, *pair], summed)
                zeroth, at = _moved(factor, number, Sum(inner.slots, {}), i, end)
                return results + list(instance(zeroth, at, -coefficient, rest, _without(alone, {j})))
    return None


def _twice(
    factors: Sequence[Factor], j: int, summed: dict[int, Size], counts: dict[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Positions of two factors T(j, b) T(end, b) of one tensor, whose shared index occurs nowhere else, and `end`."""
    for one, (tensor, indices) in enumerate(factors):
        if tensor.kind != "tensor" or len(indices) != 2 or j not in indices:
            continue
        place = indices.index(j)
        middle = indices[1 - place]
        if middle not in summed or counts[middle] != 2 or middle == j:
            continue
        for other, (made, places) in enumerate(factors):
            if other != one and made is tensor and places[1 - place] == middle:
                yield one, other, places[place]
