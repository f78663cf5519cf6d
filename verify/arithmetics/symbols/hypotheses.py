"""Hypotheses on named tensors as rewriting rules, applied only where they are asked for and recorded by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy

from verify.arithmetics.symbols.heads import Size, delta, tensor
from verify.arithmetics.symbols.part_hypotheses import skew_blocks_rule, unit_parts_rule
from verify.arithmetics.symbols.rules import occurrences
from verify.arithmetics.symbols.sums import Product, Rule
from verify.vocabulary.errors import ArithmeticUnsupported, InputError
from verify.vocabulary.hypotheses import NORMAL_ENTRIES, UNIT_PARTS


@dataclass(frozen=True)
class Hypothesis:
    """A property of one tensor: its name in the record of a proof, and its rule."""

    name: str
    rule: Rule

    def rules(self) -> list[tuple[str, frozenset[str], Rule]]:
        """The rule as the rewriting of products takes it."""
        return [(self.name, frozenset({"tensor"}), self.rule)]


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


def normal_entries(name: str) -> Hypothesis:
    """Leave to pair equal entries in an expectation over W; nothing is rewritten by it."""
    return Hypothesis(f"{name} {NORMAL_ENTRIES}", lambda product, slots: None)


def hypothesis_on(name: str, wanted: str, sizes: Sequence[Size]) -> Hypothesis:
    """The hypothesis that the tensor `name` with these sizes has the property `wanted`, such as "is skew"."""
    if wanted == NORMAL_ENTRIES:
        return normal_entries(name)
    if len(sizes) != 2:
        raise InputError(name, f"two indices, for that it {wanted}", f"sizes {tuple(sizes)}")
    if wanted.startswith(UNIT_PARTS):
        width = sympy.Symbol(wanted.removeprefix(UNIT_PARTS), positive=True, integer=True)
        return Hypothesis(f"{name} {wanted}", unit_parts_rule(name, width))
    if wanted in ("is symmetric", "is skew", "is idempotent") and sizes[0] != sizes[1]:
        raise InputError(name, f"a square matrix, for that it {wanted}", f"sizes {tuple(sizes)}")
    known: dict[str, Callable[[], Hypothesis]] = {
        "has orthonormal columns": lambda: orthonormal_columns(name, sizes[1]),
        "has orthonormal rows": lambda: orthonormal_rows(name, sizes[0]),
        "has unit rows": lambda: unit_rows(name),
        "is symmetric": lambda: symmetric(name),
        "is skew": lambda: skew(name),
        "is idempotent": lambda: idempotent(name),
        "has skew blocks": lambda: Hypothesis(f"{name} has skew blocks", skew_blocks_rule(name)),
    }
    if wanted not in known:
        raise ArithmeticUnsupported(f"the hypothesis that {name} {wanted} has no rule")
    return known[wanted]()
