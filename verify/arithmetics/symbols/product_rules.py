"""The rewriting rules of products: each an identity that holds for every size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from verify.arithmetics.symbols.canonical import Factor, canonical
from verify.arithmetics.symbols.function_heads import _entrywise, power
from verify.arithmetics.symbols.head_kinds import KINDS
from verify.arithmetics.symbols.heads import Head, Size, delta, unit
from verify.arithmetics.symbols.scalars import Scalar, rational_scalar
from verify.arithmetics.symbols.sums import Product, Sum, contract, instance, rule

#: An identity of a larger given size is left as it is.
MOST_VALUES = 4
#: Rules that certificates name too.
COLUMNS, TWO_PARTS = "columns of the identity are orthonormal", "an index is its two parts"


def occurrences(factors: list[Factor]) -> Counter[int]:
    """How often each index occurs in a product."""
    return Counter(index for _, indices in factors for index in indices)


def numbers_of(factors: list[Factor], count: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """A product by the numbers of its heads and its canonical indices, indices below `count` being open."""
    return tuple((made.number, indices) for made, indices in canonical(factors, count)[0])


def of_kind(factors: list[Factor], *kinds: str) -> Iterator[tuple[int, Head, tuple[int, ...], list[Factor]]]:
    """The factors of some kinds: the position, the head, its indices, and all other factors."""
    for position, (made, indices) in enumerate(factors):
        if made.kind in kinds:
            yield position, made, indices, factors[:position] + factors[position + 1 :]


@rule("softmax rows sum to one", "softmax")
def softmax_row_sum(product: Product, slots: int) -> list[Product] | None:
    """sum_j A_ij = 1 where j occurs nowhere else."""
    coefficient, factors, summed = product
    counts: Counter[int] | None = None
    for _, made, indices, rest in of_kind(factors, "softmax"):
        counts = counts or occurrences(factors)
        over = indices[-made.parameter :]
        if all(index in summed and counts[index] == 1 for index in over):
            kept = {index: size for index, size in summed.items() if index not in over}
            return [(coefficient, rest, kept)]
    return None


@rule("a step is 0 or 1", "step")
def idempotent_step(product: Product, slots: int) -> list[Product] | None:
    """step(x)^2 = step(x)."""
    coefficient, factors, summed = product
    seen: set[tuple[int, tuple[int, ...]]] = set()
    for _, made, indices, rest in of_kind(factors, "step"):
        forms = {(made.number, tuple(indices[i] for i in perm)) for perm, _ in made.symmetries}
        if forms & seen:
            return [(coefficient, rest, summed)]
        seen |= forms
    return None


@rule("unit vectors are orthonormal", "unit")
def unit_vectors(product: Product, slots: int) -> list[Product] | None:
    """e_p(i) e_q(i) = delta_pq e_p(i), sum_i e_p(i) = 1, and e_p(i) e_p(j) = delta_ij e_p(i) where i or j is summed."""
    coefficient, factors, summed = product
    counts = occurrences(factors)
    seen: dict[int, int] = {}
    at: dict[Head, int] = {}
    for _, made, (index,), rest in of_kind(factors, "unit"):
        if index in seen:
            return [(coefficient, rest, summed)] if seen[index] == made.parameter else []
        if index in summed and counts[index] == 1:
            return [(coefficient, rest, {name: size for name, size in summed.items() if name != index})]
        other = at.setdefault(made, index)
        if other != index and (index in summed or other in summed):
            return [(coefficient, [*rest, (delta(made.sizes[0]), (other, index))], summed)]
        seen[index] = made.parameter
    return None


@rule("an identity of a given size is a sum over unit vectors", "delta")
def small_identity(product: Product, slots: int) -> list[Product] | None:
    """delta_ij = sum_p e_p(i) e_p(j) over the few values p of an index whose size is a number."""
    coefficient, factors, summed = product
    for _, made, indices, rest in of_kind(factors, "delta"):
        if made.sizes[0].is_Integer and made.sizes[0] <= MOST_VALUES:
            heads = [unit(made.sizes[0], p) for p in range(int(made.sizes[0]))]
            return [(coefficient, [*rest, *((head, (index,)) for index in indices)], summed) for head in heads]
    return None


@rule(COLUMNS, "selection")
def selections(product: Product, slots: int) -> list[Product] | None:
    """sum_i S(i, a) S(i, b) = delta_ab for one selection, 0 for two that follow one another; sum_ij S(i, j) = length."""
    coefficient, factors, summed = product
    counts = occurrences(factors)
    seen: dict[int, tuple[int, Head, int]] = {}
    for position, made, (whole, part), others in of_kind(factors, "selection"):
        if whole not in summed:
            continue
        if counts[whole] == 1:  # a column of the identity sums to one
            return [(coefficient, others, {name: size for name, size in summed.items() if name != whole})]
        if whole in seen and counts[whole] == 2:
            before, other, place = seen[whole]
            rest = [factor for k, factor in enumerate(factors) if k not in (before, position)]
            kept = {name: size for name, size in summed.items() if name != whole}
            if other is made:
                return [(coefficient, [*rest, (delta(made.sizes[1]), (place, part))], kept)]
            ends = (other.parameter + other.sizes[1], made.parameter + made.sizes[1])
            if ends[0] == made.parameter or ends[1] == other.parameter:
                return []
        seen[whole] = (position, made, part)
    return None


@rule(TWO_PARTS, "grouping")
def groupings(product: Product, slots: int) -> list[Product] | None:
    """G(i, p, q) G(i, r, s) = delta_pr delta_qs G(i, p, q), G(i, p, q) G(j, p, q) = delta_ij G(i, p, q),
    sum_i G(i, p, q) = 1 = sum_pq G(i, p, q): each i is one pair (p, q)."""
    coefficient, factors, summed = product
    own = [position for position, (made, _) in enumerate(factors) if made.kind == "grouping"]
    counts = occurrences(factors)
    for position in own:
        made, (whole, *parts) = factors[position]
        rest = factors[:position] + factors[position + 1 :]
        for alone in ([whole], parts):
            if len(set(alone)) == len(alone) and all(index in summed and counts[index] == 1 for index in alone):
                return [(coefficient, rest, {name: size for name, size in summed.items() if name not in alone})]
        for later in own:
            other, (its_whole, *its_parts) = factors[later]
            if later <= position or other is not made or (whole != its_whole and parts != its_parts):
                continue
            pairs = zip(made.sizes, factors[position][1], factors[later][1], strict=True)
            deltas = [(delta(size), (one, two)) for size, one, two in pairs if one != two]
            return [(coefficient, [f for k, f in enumerate(factors) if k != later] + deltas, summed)]
    return None


def _same_place(one: Factor, other: Factor) -> bool:
    """Whether two factors, heads alike but for the parameter, are taken at the same indices."""
    return any(tuple(one[1][i] for i in perm) == other[1] for perm, _ in one[0].symmetries)


@rule("a function at equal indices is the function of the diagonal", "exp", "power", "step", "log")
def function_on_diagonal(product: Product, slots: int) -> list[Product] | None:
    """f(T)_ii = f(t)_i for t_i = T_ii."""
    coefficient, factors, summed = product
    for _, made, indices, rest in of_kind(factors, "exp", "power", "step", "log"):
        again = KINDS[made.kind].again
        if len(set(indices)) == len(indices):
            continue
        assert again is not None
        once = list(dict.fromkeys(indices))
        places = [once.index(index) for index in indices]
        found = again(contract([(made.inner, places)], list(range(len(once)))), made.parameter)
        return list(instance(found, tuple(once), coefficient, rest, summed))
    return None


@rule("exponentials and powers of one argument multiply", "exp", "power")
def merged_powers(product: Product, slots: int) -> list[Product] | None:
    """exp(a x) exp(b x) = exp((a + b) x) and x^a x^b = x^(a + b)."""
    coefficient, factors, summed = product
    for position, one in enumerate(factors):
        if one[0].kind not in ("exp", "power"):
            continue
        for later in range(position + 1, len(factors)):
            other = factors[later]
            if other[0].kind != one[0].kind or other[0].inner is None or other[0].inner.key != one[0].inner.key:
                continue
            if not _same_place(one, other):
                continue
            rest = [factor for k, factor in enumerate(factors) if k not in (position, later)]
            together = one[0].parameter + other[0].parameter
            if not together:
                return [(coefficient, rest, summed)]
            raised = (
                _entrywise("exp", one[0].inner, together) if one[0].kind == "exp" else power(one[0].inner, together)
            )
            return list(instance(raised, one[1], coefficient, rest, summed))
    return None


@rule("an entry times its inverse power", "power")
def plain_into_power(product: Product, slots: int) -> list[Product] | None:
    """t x^p, where x is or contains the product t: t = (x - rest) / c, and x x^p = x^(p + 1)."""
    coefficient, factors, summed = product
    for _, made, indices, others in of_kind(factors, "power"):
        if made.parameter > 0:
            continue
        lead = leading_term(made.inner)
        if lead is None:
            continue
        key, value = lead
        matched = match(key, dict(enumerate(indices)), others, summed, len(made.sizes), [(made, indices)])
        if matched is None:
            continue
        used, bound, sign = matched
        rest = [factor for k, factor in enumerate(others) if k not in used]
        kept = {index: size for index, size in summed.items() if index not in bound}
        scale = coefficient * sign * value.power(Fraction(-1))
        raised = power(made.inner, made.parameter + 1)
        found = list(instance(raised, indices, scale, rest, kept))
        remainder = Sum(made.inner.slots, {k: v for k, v in made.inner.terms.items() if k != key})
        found += instance(remainder, indices, -scale, [*rest, (made, indices)], kept)
        return found
    return None


def leading_term(inner: Sum) -> tuple[tuple[Factor, ...], Scalar] | None:
    """The term with the most factors that are no deltas, if it can be told apart and divided by."""

    def rank(item: tuple[tuple[Factor, ...], Scalar]) -> tuple[object, ...]:
        key = item[0]
        return (sum(made.kind != "delta" for made, _ in key), tuple((made.number, places) for made, places in key))

    key, value = max(inner.terms.items(), key=rank)
    if not key or all(made.kind == "delta" for made, _ in key) or len(value.terms) != 1:
        return None
    return key, value


def _is_same(one: Head, other: Head) -> bool:
    """Whether two heads are one, or one tensor of which symmetries became known in between."""
    return one is other or (one.kind == other.kind == "tensor" and (one.name, one.sizes) == (other.name, other.sizes))


def match(
    pattern: tuple[Factor, ...],
    bound: dict[int, int],
    factors: list[Factor],
    summed: dict[int, Size],
    slots: int,
    around: list[Factor],
    free: tuple[int, ...] = (),
) -> tuple[set[int], set[int], Scalar] | None:
    """Positions of `factors` that form the product `pattern`, the summed indices that disappear with it, and its sign.

    `bound` gives the pattern's open indices (those in `free` are found, and need not be private); its other indices
    must be summed in the product and occur in nothing else, be it a factor or one of `around`.
    """
    order = sorted(pattern, key=lambda factor: factor[0].number)

    def extend(
        done: int, names: dict[int, int], used: set[int], sign: int
    ) -> tuple[set[int], dict[int, int], int] | None:
        if done == len(order):
            return (used, names, sign) if private(names, used) else None
        made, places = order[done]
        for position, (candidate, indices) in enumerate(factors):
            if position in used or not _is_same(candidate, made):
                continue
            for perm, its_sign in candidate.symmetries:
                trial = dict(names)
                if all(trial.setdefault(place, indices[perm[k]]) == indices[perm[k]] for k, place in enumerate(places)):
                    found = extend(done + 1, trial, used | {position}, sign * its_sign)
                    if found is not None:
                        return found
        return None

    def private(names: dict[int, int], used: set[int]) -> bool:
        inside = {place: index for place, index in names.items() if place >= slots}
        if len(set(inside.values())) != len(inside) or any(index not in summed for index in inside.values()):
            return False
        outside = {index for k, (_, indices) in enumerate(factors) if k not in used for index in indices}
        outside |= {index for _, indices in around for index in indices}
        outside |= {index for place, index in names.items() if place < slots}
        return not outside & set(inside.values())

    found = extend(0, dict(bound), set(), 1)
    if found is None:
        return None
    used, names, sign = found
    bound.update({place: names[place] for place in free if place in names})
    return used, {index for place, index in names.items() if place >= slots}, rational_scalar(sign)


def _twice_symmetric_part(made: Head) -> Scalar | None:
    """2 c where the inverted matrix is c I + K with K skew, None elsewhere."""
    count: int = made.parameter
    turned = made.inner.permuted([*range(count, 2 * count), *range(count)])
    together = made.inner.plus(turned)
    if len(together.terms) != 1:
        return None
    ((key, value),) = together.terms.items()
    pairs = {tuple(sorted(indices)) for factor, indices in key if factor.kind == "delta"}
    is_identity = len(key) == count and pairs == {(k, count + k) for k in range(count)}
    return value if is_identity and len(value.terms) == 1 else None


@rule("P P^T = (P + P^T) / 2c for the inverse P of c I + K, K skew", "inverse")
def inverse_of_skew(product: Product, slots: int) -> list[Product] | None:
    """P (M + M^T) P^T = P^T + P, and likewise P^T (M + M^T) P."""
    coefficient, factors, summed = product
    counts: Counter[int] | None = None
    for position, made, indices, _ in of_kind(factors, "inverse"):
        count: int = made.parameter
        for later in range(position + 1, len(factors)):
            other, places = factors[later]
            if other is not made:
                continue
            counts = counts or occurrences(factors)
            for shared, ends in ((slice(count, None), slice(count)), (slice(count), slice(count, None))):
                joined = indices[shared]
                if joined != places[shared] or any(i not in summed or counts[i] != 2 for i in joined):
                    continue
                if len(set(joined)) != count:
                    continue
                twice = _twice_symmetric_part(made)
                if twice is None:
                    break
                rest = [factor for k, factor in enumerate(factors) if k not in (position, later)]
                kept = {index: size for index, size in summed.items() if index not in joined}
                scale = coefficient * twice.power(Fraction(-1))
                one, two = indices[ends], places[ends]
                return [(scale, [*rest, (made, (*one, *two))], kept), (scale, [*rest, (made, (*two, *one))], kept)]
    return None


@rule("a matrix times its inverse", "inverse")
def inverse_product(product: Product, slots: int) -> list[Product] | None:
    """M M^-1 = I and M^-1 M = I, applied to the leading term of M."""
    coefficient, factors, summed = product
    for _, made, indices, others in of_kind(factors, "inverse"):
        lead = leading_term(made.inner)
        if lead is None:
            continue
        key, value = lead
        count: int = made.parameter
        rows, columns = tuple(range(count)), tuple(range(count, 2 * count))
        # the head's slots are the columns of M, then its rows: M^-1[columns, rows]
        forms = {tuple(indices[i] for i in perm) for perm, _ in made.symmetries}
        for form in sorted(forms):
            own_columns, own_rows = form[:count], form[count:]
            for joined, shared, free in ((columns, own_columns, rows), (rows, own_rows, columns)):
                if len(set(shared)) != count or any(index not in summed for index in shared):
                    continue
                bound = dict(zip(joined, shared, strict=True))
                found = match(key, bound, others, summed, 2 * count, [(made, indices)], free)
                if found is None:
                    continue
                used, private, sign = found
                rest = [factor for k, factor in enumerate(others) if k not in used]
                counts = occurrences(rest)
                ends = tuple(bound[slot] for slot in free) if all(slot in bound for slot in free) else None
                across = own_rows if joined == columns else own_columns
                if ends is None or any(counts[index] for index in shared) or set(shared) & {*ends, *across}:
                    continue
                kept = {index: size for index, size in summed.items() if index not in private}
                without = {index: size for index, size in kept.items() if index not in shared}
                scale = coefficient * sign * value.power(Fraction(-1))
                deltas: list[Factor] = [
                    (delta(made.inner.slots[slot]), (one, other))
                    for slot, one, other in zip(free, ends, across, strict=True)
                ]
                results: list[Product] = [(scale, rest + deltas, without)]
                remainder = Sum(made.inner.slots, {k: v for k, v in made.inner.terms.items() if k != key})
                places = {**dict(zip(joined, shared, strict=True)), **dict(zip(free, ends, strict=True))}
                at = tuple(places[slot] for slot in range(2 * count))
                results += instance(remainder, at, -scale, [*rest, (made, indices)], kept)
                return results
    return None
