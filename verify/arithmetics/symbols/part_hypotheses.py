"""Hypotheses on the parts of a tensor's axis: parts of unit norm in each row, skew square blocks on top of each other."""

from __future__ import annotations

import sympy

from verify.arithmetics.symbols.canonical import Factor
from verify.arithmetics.symbols.heads import Size, tensor
from verify.arithmetics.symbols.product_rules import occurrences
from verify.arithmetics.symbols.scalars import scalar
from verify.arithmetics.symbols.sums import Product, Rewriting

SKEW_BLOCKS = "has skew blocks"


def _own(factors: list[Factor], name: str, rank: int) -> list[int]:
    """The positions of a tensor in its given shape."""
    wanted = (("tensor", name), rank)
    return [k for k, (made, _) in enumerate(factors) if ((made.kind, made.name), len(made.sizes)) == wanted]


def unit_parts_rule(name: str, width: Size) -> Rewriting:
    """sum_a X_s(j a)^2 = 1 for the parts j of `width` entries of every row s, and sum_i X_si^2 = their number."""

    def apply(product: Product, slots: int) -> list[Product] | None:
        coefficient, factors, summed = product
        own, counts = _own(factors, name, 2), occurrences(factors)
        for k, one in enumerate(own):
            for other in own[k + 1 :]:
                made, (_, whole) = factors[one]
                if factors[one] != factors[other] or whole not in summed:
                    continue
                if counts[whole] == 2:
                    gone, used, number = {whole}, {one, other}, scalar(sympy.sympify(made.sizes[1]) / width)
                else:
                    at = _alone_within(factors, summed, whole, width)
                    if at is None or counts[whole] != 3:
                        continue
                    gone, used, number = {whole, factors[at][1][2]}, {one, other, at}, scalar(1)
                rest = [factor for position, factor in enumerate(factors) if position not in used]
                return [(coefficient * number, rest, {i: size for i, size in summed.items() if i not in gone})]
        return None

    return apply


def _alone_within(factors: list[Factor], summed: dict[int, Size], whole: int, width: Size) -> int | None:
    """The position of G(whole, j, a) with parts of this width, where a is summed and in no other factor."""
    counts = occurrences(factors)
    for position, (made, indices) in enumerate(factors):
        if made.kind == "grouping" and indices[0] == whole and made.sizes[2] == width:
            return position if indices[2] in summed and counts[indices[2]] == 1 else None
    return None


def skew_blocks_rule(name: str) -> Rewriting:
    """Omega_(j a)b = -Omega_(j b)a: the blocks Omega_j become a tensor of three indices, skew in the last two."""

    def apply(product: Product, slots: int) -> list[Product] | None:
        coefficient, factors, summed = product
        counts = occurrences(factors)
        for position in _own(factors, name, 2):
            made, (whole, column) = factors[position]
            if whole not in summed or counts[whole] != 2:
                continue
            for at, (group, indices) in enumerate(factors):
                if group.kind == "grouping" and indices[0] == whole and group.sizes[2] == made.sizes[1]:
                    blocks = tensor(name, (group.sizes[1], made.sizes[1], made.sizes[1]), [((0, 2, 1), -1)])
                    rest = [factor for k, factor in enumerate(factors) if k not in (position, at)]
                    kept = {index: size for index, size in summed.items() if index != whole}
                    return [(coefficient, [*rest, (blocks, (*indices[1:], column))], kept)]
        return None

    return apply
