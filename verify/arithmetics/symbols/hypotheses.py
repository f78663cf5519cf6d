"""Hypotheses on named tensors as rewriting rules, applied only where they are asked for and recorded by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from verify.arithmetics.symbols.canonical import Factor, Key, canonical
from verify.arithmetics.symbols.heads import Size, delta, tensor
from verify.arithmetics.symbols.rules import instance, match, occurrences
from verify.arithmetics.symbols.scalars import Scalar
from verify.arithmetics.symbols.sums import Product, Rule, Sum
from verify.vocabulary.errors import ArithmeticUnsupported, InputError


@dataclass(frozen=True)
class Hypothesis:
    """A property of one tensor or of several: its name in the record of a proof, and its rules."""

    name: str
    rule: Rule
    more: tuple[Rule, ...] = ()

    def rules(self) -> list[tuple[str, frozenset[str], Rule]]:
        """The rules as the rewriting of products takes them."""
        return [(self.name, frozenset({"tensor"}), rule) for rule in (self.rule, *self.more)]


#: Given the positions in a product of two factors of the tensor, whose indices are given too, and how often each index
#: occurs: the factors in their place (None for the tensor itself) and the summed indices that disappear, or None.
Pair = Callable[[tuple[int, ...], tuple[int, ...], Callable[[int], bool]], tuple[list, set[int]] | None]  # type: ignore[type-arg]


def _on_pairs(name: str, rewrite: Pair) -> Rule:
    def apply(product: Product, slots: int) -> list[Product] | None:
        coefficient, factors, summed = product
        own = [k for k, (made, _) in enumerate(factors) if made.kind == "tensor" and made.name == name]
        if len(own) < 2:
            return None
        counts = occurrences(factors)

        def private(index: int) -> bool:
            return index in summed and counts[index] == 2

        for one in own:
            for other in own:
                if one == other:
                    continue
                found = rewrite(factors[one][1], factors[other][1], private)
                if found is not None:
                    rest = [factor for k, factor in enumerate(factors) if k not in (one, other)]
                    new, gone = found
                    new = [(made or factors[one][0], indices) for made, indices in new]
                    return [(coefficient, rest + new, {i: size for i, size in summed.items() if i not in gone})]
        return None

    return apply


def orthonormal_columns(name: str, columns: object) -> Hypothesis:
    """W^T W = I for W of shape (m, n) with n = `columns`."""

    def rewrite(one: tuple[int, ...], other: tuple[int, ...], private: Callable[[int], bool]) -> object:
        if one[0] == other[0] and private(one[0]):
            return [(delta(columns), (one[1], other[1]))], {one[0]}
        return None

    return Hypothesis(f"{name} has orthonormal columns", _on_pairs(name, rewrite))  # type: ignore[arg-type]


def orthonormal_rows(name: str, rows: object) -> Hypothesis:
    """W W^T = I for W of shape (m, n) with m = `rows`."""

    def rewrite(one: tuple[int, ...], other: tuple[int, ...], private: Callable[[int], bool]) -> object:
        if one[1] == other[1] and private(one[1]):
            return [(delta(rows), (one[0], other[0]))], {one[1]}
        return None

    return Hypothesis(f"{name} has orthonormal rows", _on_pairs(name, rewrite))  # type: ignore[arg-type]


def unit_rows(name: str) -> Hypothesis:
    """sum_j X_ij^2 = 1 for every i."""

    def rewrite(one: tuple[int, ...], other: tuple[int, ...], private: Callable[[int], bool]) -> object:
        return ([], {one[1]}) if one == other and private(one[1]) else None

    return Hypothesis(f"{name} has unit rows", _on_pairs(name, rewrite))  # type: ignore[arg-type]


def idempotent(name: str) -> Hypothesis:
    """P P = P."""

    def rewrite(one: tuple[int, ...], other: tuple[int, ...], private: Callable[[int], bool]) -> object:
        if one[1] == other[0] and private(one[1]):
            return [(None, (one[0], other[1]))], {one[1]}
        return None

    return Hypothesis(f"{name} is idempotent", _on_pairs(name, rewrite))  # type: ignore[arg-type]


def _with_symmetry(name: str, sign: int) -> Rule:
    def apply(product: Product, slots: int) -> list[Product] | None:
        coefficient, factors, summed = product
        changed, found = False, []
        for made, indices in factors:
            if made.kind == "tensor" and made.name == name and len(made.symmetries) == 1:
                made, changed = tensor(name, made.sizes, [((1, 0), sign)]), True
            found.append((made, indices))
        return [(coefficient, found, summed)] if changed else None

    return apply


def symmetric(name: str) -> Hypothesis:
    """S^T = S."""
    return Hypothesis(f"{name} is symmetric", _with_symmetry(name, 1))


def skew(name: str) -> Hypothesis:
    """S^T = -S."""
    return Hypothesis(f"{name} is skew", _with_symmetry(name, -1))


def hypothesis_on(name: str, wanted: str, sizes: Sequence[Size]) -> Hypothesis:
    """The hypothesis that the tensor `name` with these sizes has the property `wanted`, such as "is skew"."""
    if len(sizes) != 2:
        raise InputError(name, f"two indices, for that it {wanted}", f"sizes {tuple(sizes)}")
    if wanted in ("is symmetric", "is skew", "is idempotent") and sizes[0] != sizes[1]:
        raise InputError(name, f"a square matrix, for that it {wanted}", f"sizes {tuple(sizes)}")
    known: dict[str, Callable[[], Hypothesis]] = {
        "has orthonormal columns": lambda: orthonormal_columns(name, sizes[1]),
        "has orthonormal rows": lambda: orthonormal_rows(name, sizes[0]),
        "has unit rows": lambda: unit_rows(name),
        "is symmetric": lambda: symmetric(name),
        "is skew": lambda: skew(name),
        "is idempotent": lambda: idempotent(name),
    }
    if wanted not in known:
        raise ArithmeticUnsupported(f"the hypothesis that {name} {wanted} has no rule")
    return known[wanted]()


# -- equations between products of inputs ------------------------------------------------------------------------------


def vanishing(name: str, parts: Sequence[Sum]) -> Hypothesis:
    """What an assumption says of its inputs, as matrices that vanish: in each the longest product gives way to the rest.

    Where several products are longest, any of them gives way where that leaves products that come first in the order of
    normal forms, so that rewriting ends.
    """
    rules: list[Rule] = []
    for part in parts:
        longest = max((len(key) for key in part.terms), default=0)
        leading = [key for key in part.terms if len(key) == longest]
        for key in leading:
            others = Sum(part.slots, {k: v for k, v in part.terms.items() if k != key})
            rules.append(_in_place_of(key, part.terms[key], others, leading))
    if not rules:
        raise ArithmeticUnsupported(f"the assumption {name!r} says nothing of matrices of any size")
    return Hypothesis(name, rules[0], tuple(rules[1:]))


def _in_place_of(key: Key, coefficient: Scalar, others: Sum, leading: Sequence[Key]) -> Rule:
    """The rule that replaces a product by the negative of the other terms, divided by its coefficient."""
    slots = tuple(range(len(others.slots)))
    open_slots = {index for _, indices in key for index in indices if index in slots}
    if any(made.kind != "tensor" for made, _ in key) or len(coefficient.terms) != 1 or len(open_slots) < len(slots):
        raise ArithmeticUnsupported("an assumption whose longest product is not one of inputs alone")
    scale = -coefficient.power(Fraction(-1))
    tied = Sum(others.slots, {k: v for k, v in others.terms.items() if k in leading})

    def apply(product: Product, count: int) -> list[Product] | None:
        value, factors, summed = product
        bound: dict[int, int] = {}
        found = match(key, bound, factors, summed, len(slots), [], slots)
        if found is None:
            return None
        used, gone = found
        rest = [factor for k, factor in enumerate(factors) if k not in used]
        kept = {index: size for index, size in summed.items() if index not in gone}
        at = tuple(bound[slot] for slot in slots)
        if tied:
            before = numbers_of(factors, count)
            if any(numbers_of(grown, count) >= before for _, grown, _ in instance(tied, at, value, rest, kept)):
                return None
        return list(instance(others, at, value * scale, rest, kept))

    return apply


def numbers_of(factors: list[Factor], count: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """A product by the numbers of its heads and its canonical indices, indices below `count` being open."""
    return tuple((made.number, indices) for made, indices in canonical(factors, count)[0])
