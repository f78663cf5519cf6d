"""Canonical names for summed indices: colour refinement, then permutations among what stays tied."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence

from verify.arithmetics.symbols.heads import Head
from verify.vocabulary.errors import ArithmeticUnsupported

Factor = tuple[Head, tuple[int, ...]]
Key = tuple[Factor, ...]
Numbers = tuple[tuple[int, tuple[int, ...]], ...]

#: A product with more symmetric orderings than this is refused rather than searched.
MOST_LEAVES = 5000
#: So many products are remembered with their canonical form.
MOST_KEPT = 16384


def canonical(factors: Sequence[Factor], slots: int) -> tuple[Key, int]:
    """The canonical product with slots 0, ..., `slots` - 1 kept and every other index renamed, and its sign.

    The sign is 0 where the product vanishes by a skew symmetry.
    """
    if len(factors) == 1 and all(i < slots for i in factors[0][1]):  # the commonest case
        (head, indices), sign = settled(factors[0])
        return ((head, indices),), sign
    names: dict[int, int] = {}
    numbered = tuple(
        [
            (head, tuple([i if i < slots else names.setdefault(i, slots + len(names)) for i in indices]))
            for head, indices in factors
        ]
    )
    return _canonical(numbered, slots)


@functools.lru_cache(maxsize=MOST_KEPT)
def _canonical(factors: Key, slots: int) -> tuple[Key, int]:
    """The same for summed indices that are numbered in the order in which they occur: products recur."""
    sign, parts = 1, []
    for component in components(factors, slots):
        found, its_sign = _component(component, slots)
        if not its_sign:
            return (), 0
        sign *= its_sign
        parts.append(found)
    parts.sort(key=_numbers)
    result: list[Factor] = []
    offset = 0
    for part in parts:
        used = 0
        for head, indices in part:
            used = max([used, *(i - slots + 1 for i in indices)])
            result.append((head, tuple(i if i < slots else i + offset for i in indices)))
        offset += used
    ordered = []
    for factor in result:
        kept, its_sign = settled(factor)
        ordered.append(kept)
        sign *= its_sign
    ordered.sort(key=_number)
    return tuple(ordered), sign


def _number(factor: Factor) -> tuple[int, tuple[int, ...]]:
    return factor[0].number, factor[1]


def _numbers(factors: Sequence[Factor]) -> Numbers:
    return tuple((head.number, indices) for head, indices in factors)


def settled(factor: Factor) -> tuple[Factor, int]:
    """The factor with the least indices among its symmetric forms; sign 0 where one form has both signs."""
    head, indices = factor
    if len(head.symmetries) == 1:
        return factor, 1
    forms = {(tuple(indices[i] for i in perm), sign) for perm, sign in head.symmetries}
    least, sign = min(forms)
    return (head, least), 0 if (least, -sign) in forms else sign


def components(factors: Sequence[Factor], slots: int) -> list[list[Factor]]:
    """Factors that share summed indices, directly or through others."""
    owner: dict[int, int] = {}
    groups: dict[int, list[Factor]] = {}
    for position, factor in enumerate(factors):
        groups[position] = [factor]
        for index in factor[1]:
            if index < slots:
                continue
            other = owner.get(index)
            if other is None:
                owner[index] = position
            elif other != position:
                groups[position] = groups.pop(other) + groups[position]
                for name, place in owner.items():
                    if place == other:
                        owner[name] = position
    return list(groups.values())


def _component(factors: list[Factor], slots: int) -> tuple[list[Factor], int]:
    sizes: dict[int, str] = {}
    for head, indices in factors:
        for slot, index in enumerate(indices):
            if index >= slots:
                sizes[index] = head.size_names[slot]
    if not sizes:
        kept, sign = settled(factors[0])
        return [kept], sign
    ranks = {size: rank for rank, size in enumerate(sorted(set(sizes.values())))}
    colours = _refined(factors, {index: ranks[size] for index, size in sizes.items()}, slots)
    leaves: dict[Numbers, tuple[list[Factor], int]] = {}
    budget = [MOST_LEAVES]
    _search(factors, colours, slots, leaves, budget)
    return leaves[min(leaves)]


def _refined(factors: Sequence[Factor], colours: dict[int, int], slots: int) -> dict[int, int]:
    """Colours split until indices of one colour have the same neighbours."""
    while True:
        sharing = Counter(colours.values())
        if len(sharing) == len(colours):  # nothing is tied: the order of the colours stays
            ranks = {colour: rank for rank, colour in enumerate(sorted(sharing))}
            return {index: ranks[colour] for index, colour in colours.items()}
        signatures: dict[int, list[tuple[object, ...]]] = {index: [] for index in colours}
        tied = {index for index, colour in colours.items() if sharing[colour] > 1}
        for head, indices in factors:
            if tied.isdisjoint(indices):
                continue
            seen = tuple(colours[i] if i >= slots else -1 - i for i in indices)
            if len(head.symmetries) == 1:
                around: tuple[object, ...] = seen
            else:
                around = tuple(sorted(zip(head.orbits, seen, strict=True)))
            for slot, index in enumerate(indices):
                if index in tied:
                    signatures[index].append((head.number, head.orbits[slot], around))
        found = {index: (colours[index], tuple(sorted(signatures[index]))) for index in colours}  # type: ignore[type-var]
        order = {signature: rank for rank, signature in enumerate(sorted(set(found.values())))}
        refined = {index: order[signature] for index, signature in found.items()}
        if len(order) in (len(colours), len(sharing)):
            return refined  # all told apart, or none more than before
        colours = refined


def _search(
    factors: list[Factor],
    colours: Mapping[int, int],
    slots: int,
    leaves: dict[Numbers, tuple[list[Factor], int]],
    budget: list[int],
) -> None:
    """Every way to order tied indices, each a leaf, but for those that an exchange of two indices makes equal."""
    classes: dict[int, list[int]] = {}
    for index, colour in colours.items():
        classes.setdefault(colour, []).append(index)
    tied = [colour for colour in sorted(classes) if len(classes[colour]) > 1]
    if not tied:
        budget[0] -= 1
        if budget[0] < 0:
            raise ArithmeticUnsupported(f"a product of {len(factors)} factors with too many symmetric orderings")
        names = {index: slots + rank for rank, index in enumerate(sorted(colours, key=colours.__getitem__))}
        _leaf(factors, names, leaves)
        return
    signed = any(head.is_signed for head, _ in factors)
    explored: list[int] = []
    for index in classes[tied[0]]:
        if not signed and any(_exchangeable(factors, index, other) for other in explored):
            continue
        explored.append(index)
        split = {name: 2 * colour + (colour == tied[0] and name != index) for name, colour in colours.items()}
        _search(factors, _refined(factors, split, slots), slots, leaves, budget)


def _exchangeable(factors: list[Factor], one: int, other: int) -> bool:
    swap = {one: other, other: one}
    swapped = [settled((head, tuple(swap.get(i, i) for i in indices)))[0] for head, indices in factors]
    return sorted(map(_number, swapped)) == sorted(_number(settled(factor)[0]) for factor in factors)


def _leaf(factors: list[Factor], names: Mapping[int, int], leaves: dict[Numbers, tuple[list[Factor], int]]) -> None:
    sign, renamed = 1, []
    for head, indices in factors:
        kept, its_sign = settled((head, tuple(names.get(i, i) for i in indices)))
        sign *= its_sign
        renamed.append(kept)
    renamed.sort(key=_number)
    numbers = _numbers(renamed)
    if numbers in leaves and leaves[numbers][1] != sign:
        sign = 0  # an automorphism with sign -1
    leaves[numbers] = (renamed, sign)
