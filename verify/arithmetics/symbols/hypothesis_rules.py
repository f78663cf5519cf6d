"""Hypotheses on named tensors as rewriting rules, applied only where they are asked for and recorded by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy

from verify.arithmetics.conditions import rely_on_nonzero
from verify.arithmetics.symbols.canonical import Key
from verify.arithmetics.symbols.heads import Size, delta, head, tensor
from verify.arithmetics.symbols.part_hypotheses import skew_blocks_rule, unit_parts_rule
from verify.arithmetics.symbols.product_rules import instance, match, numbers_of, occurrences
from verify.arithmetics.symbols.scalars import ONE, Scalar, rational_scalar
from verify.arithmetics.symbols.sums import Product, Rule, Sum, as_built, contract, extra_rules, single
from verify.vocabulary.errors import ArithmeticUnsupported, InputError
from verify.vocabulary.hypotheses import NORMAL_ENTRIES, UNIT_PARTS


@dataclass(frozen=True)
class HypothesisRule:
    """A property of one tensor or of several: its name in the record of a proof, and its rules.

    What it says is that the matrices `zero` vanish, or that the tensor `of` has the property `wanted`.
    """

    name: str
    named_rules: tuple[tuple[str, Rule], ...]
    zero: tuple[Sum, ...] = ()
    of: str = ""
    wanted: str = ""
    sizes: tuple[Size, ...] = ()

    def rules(self) -> list[tuple[str, frozenset[str], Rule]]:
        """The rules as the rewriting of products takes them, with their names."""
        return [(name, frozenset({"tensor", "named"}), rule) for name, rule in self.named_rules]


def _hypothesis(name: str, rule: Rule) -> HypothesisRule:
    """A hypothesis with one rule, recorded by its name."""
    return HypothesisRule(name, ((name, rule),))


#: Given the positions in a product of two factors of the tensor, whose indices are given too, and how often each index
#: occurs: the factors in their place (None for the tensor itself) and the summed indices that disappear, or None.
Pair = Callable[[tuple[int, ...], tuple[int, ...], Callable[[int], bool]], tuple[list, set[int]] | None]  # type: ignore[type-arg]


def _on_pairs(name: str, rewrite: Pair) -> Rule:
    def apply(product: Product, slots: int) -> list[Product] | None:
        coefficient, factors, summed = product
        own = [k for k, (made, at) in enumerate(factors) if (made.kind, made.name, len(at)) == ("tensor", name, 2)]
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


def _orthonormal(shared: int, size: Size) -> Pair:
    """Two factors with an index of their own in common, at this place, are an identity of this size at the other."""
    other_place = 1 - shared
    return lambda one, other, private: (
        ([(delta(size), (one[other_place], other[other_place]))], {one[shared]})
        if one[shared] == other[shared] and private(one[shared])
        else None
    )


def orthonormal_columns(name: str, columns: Size) -> HypothesisRule:
    """W^T W = I for W of shape (m, n) with n = `columns`."""
    return _hypothesis(f"{name} has orthonormal columns", _on_pairs(name, _orthonormal(0, columns)))


def orthonormal_rows(name: str, rows: Size) -> HypothesisRule:
    """W W^T = I for W of shape (m, n) with m = `rows`."""
    return _hypothesis(f"{name} has orthonormal rows", _on_pairs(name, _orthonormal(1, rows)))


def unit_rows(name: str) -> HypothesisRule:
    """sum_j X_ij^2 = 1 for every i."""
    rule = _on_pairs(name, lambda one, other, private: ([], {one[1]}) if one == other and private(one[1]) else None)
    return _hypothesis(f"{name} has unit rows", rule)


def idempotent(name: str) -> HypothesisRule:
    """P P = P."""
    rule = _on_pairs(
        name,
        lambda one, other, private: (
            ([(None, (one[0], other[1]))], {one[1]}) if one[1] == other[0] and private(one[1]) else None
        ),
    )
    return _hypothesis(f"{name} is idempotent", rule)


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


def symmetric(name: str) -> HypothesisRule:
    """S^T = S."""
    return _hypothesis(f"{name} is symmetric", _with_symmetry(name, 1))


def skew(name: str) -> HypothesisRule:
    """S^T = -S."""
    return _hypothesis(f"{name} is skew", _with_symmetry(name, -1))


def normal_entries(name: str) -> HypothesisRule:
    """Leave to pair equal entries in an expectation over W; nothing is rewritten by it."""
    return _hypothesis(f"{name} {NORMAL_ENTRIES}", lambda product, slots: None)


def hypothesis_on(name: str, wanted: str, sizes: Sequence[Size]) -> HypothesisRule:
    """The hypothesis that the tensor `name` with these sizes has the property `wanted`, such as "is skew"."""
    return replace(_on_tensor(name, wanted, sizes), of=name, wanted=wanted, sizes=tuple(sizes))


def _on_tensor(name: str, wanted: str, sizes: Sequence[Size]) -> HypothesisRule:
    if wanted == NORMAL_ENTRIES:
        return normal_entries(name)
    if len(sizes) != 2:
        raise InputError(name, f"two indices, for that it {wanted}", f"sizes {tuple(sizes)}")
    if wanted.startswith(UNIT_PARTS):
        width = sympy.Symbol(wanted.removeprefix(UNIT_PARTS), positive=True, integer=True)
        return _hypothesis(f"{name} {wanted}", unit_parts_rule(name, width))
    if wanted not in KNOWN:
        raise ArithmeticUnsupported(f"the hypothesis that {name} {wanted} has no rule")
    if wanted in ("is symmetric", "is skew", "is idempotent") and sizes[0] != sizes[1]:
        raise InputError(name, f"a square matrix, for that it {wanted}", f"sizes {tuple(sizes)}")
    return KNOWN[wanted](name, sizes)


#: Each property of a matrix, with the hypothesis that a named one of these sizes has it.
KNOWN: dict[str, Callable[[str, Sequence[Size]], HypothesisRule]] = {
    "has orthonormal columns": lambda name, sizes: orthonormal_columns(name, sizes[1]),
    "has orthonormal rows": lambda name, sizes: orthonormal_rows(name, sizes[0]),
    "has unit rows": lambda name, sizes: unit_rows(name),
    "is symmetric": lambda name, sizes: symmetric(name),
    "is skew": lambda name, sizes: skew(name),
    "is idempotent": lambda name, sizes: idempotent(name),
    "has skew blocks": lambda name, sizes: _hypothesis(f"{name} has skew blocks", skew_blocks_rule(name)),
}


# -- equations between products of inputs ------------------------------------------------------------------------------


def vanishing(name: str, parts: Sequence[Sum]) -> HypothesisRule:
    """What an assumption says of its inputs, as matrices that vanish: in each the longest product gives way to the rest.

    One input that is made of others gives way to them, and that a product T is symmetric or skew gives it a name with
    that symmetry.  Where several products are longest, as in P (T - T^T) = T - T^T, T gives way to its symmetric and skew
    part first; if several are longest still, any of them gives way where that leaves products that come first in the
    order of normal forms, so that rewriting ends.
    """
    rules: list[tuple[str, Rule]] = []
    for part in parts:
        rules += _rules_of(name, part)
    if not rules:
        raise ArithmeticUnsupported(f"the assumption {name!r} says nothing of matrices of any size")
    return HypothesisRule(name, tuple(rules), tuple(parts))


def _rules_of(name: str, part: Sum) -> list[tuple[str, Rule]]:
    """The rules that a vanishing matrix stands for, each with its name in the record."""
    made_of_others = _made_of_others(part)
    if made_of_others is not None:
        remaining = Sum(part.slots, {key: value for key, value in part.terms.items() if key != made_of_others})
        return [(name, _in_place_of(made_of_others, part.terms[made_of_others], remaining, ()))]
    leading = _longest(part)
    if len(leading) == len(part.terms) == 2 and (sign := _own_transpose(part)) is not None:
        (made, *others), value = leading[0], part.terms[leading[0]]
        if not others and made[0].kind == "tensor" and set(made[1]) == {0, 1}:
            rely_on_nonzero(value.expression, always=True)
            return [(name, _with_symmetry(made[0].name, -sign))]  # sign of T^T in T -+ T^T = 0
        part_of = [(named_part(Sum(part.slots, {leading[0]: ONE}), -sign), ONE)]
        return [(name, _in_place_of(leading[0], value, _combined(part_of, -value), ()))]
    rest = Sum(part.slots, {key: value for key, value in part.terms.items() if key not in leading})
    rules: list[tuple[str, Rule]] = []
    if len(leading) > 1 and len(rest.terms) == 2 and _own_transpose(rest) is not None:
        key = next(iter(rest.terms))
        once = Sum(part.slots, {key: ONE})
        turned = once.permuted([1, 0])
        halves = [(named_part(once.plus(turned, factor), sign), HALF) for factor, sign in ((ONE, 1), (-ONE, -1))]
        rules.append((SPLIT, _in_place_of(key, ONE, _combined(halves, -ONE), ())))
        with extra_rules([(SPLIT, frozenset({"tensor"}), rules[0][1])]):
            part = contract([(part, range(len(part.slots)))], range(len(part.slots)))
        leading = _longest(part)
    for key in leading:
        remaining = Sum(part.slots, {k: v for k, v in part.terms.items() if k != key})
        rules.append((name, _in_place_of(key, part.terms[key], remaining, leading)))
    return rules


#: The rule that names the two parts of a product in the record of a proof.
SPLIT = "a product is the sum of its symmetric and its skew part"
HALF = rational_scalar(Fraction(1, 2))


def _made_of_others(part: Sum) -> Key | None:
    """The term that is one input alone, where the others are made of different inputs: B in B = U Sigma V^T."""
    for key in part.terms:
        others = {made for other in part.terms if other != key for made, _ in other}
        if len(key) != 1 or not others or key[0][0] in others or set(key[0][1]) != set(range(len(part.slots))):
            continue
        if all(made.kind == "tensor" for made in (key[0][0], *others)):
            return key
    return None


def _longest(part: Sum) -> list[Key]:
    most = max((len(key) for key in part.terms), default=0)
    return [key for key in part.terms if len(key) == most]


def _own_transpose(part: Sum) -> int | None:
    """The sign with which a matrix of two different terms is its own transpose."""
    if len(part.slots) != 2 or part.slots[0] != part.slots[1]:
        return None
    turned = part.permuted([1, 0])
    return 1 if turned.key == part.key else -1 if turned.key == part.times(-ONE).key else None


@as_built("named part")
def named_part(inner: Sum, sign: int) -> Sum:
    """A matrix under a name of its own, of which it is known that its transpose is `sign` times it."""
    return single(head("named", "named", inner.slots, [((1, 0), sign)], inner), (0, 1), inner.slots)


def _combined(parts: Sequence[tuple[Sum, Scalar]], factor: Scalar) -> Sum:
    found = Sum(parts[0][0].slots, {})
    for part, value in parts:
        found = found.plus(part, value * factor)
    return found


def _in_place_of(key: Key, coefficient: Scalar, others: Sum, leading: Sequence[Key]) -> Rule:
    """The rule that replaces a product by the negative of the other terms, divided by its coefficient."""
    slots = tuple(range(len(others.slots)))
    open_slots = {index for _, indices in key for index in indices if index in slots}
    if (
        any(made.kind not in ("tensor", "named") for made, _ in key)
        or len(coefficient.terms) != 1
        or len(open_slots) < len(slots)
    ):
        raise ArithmeticUnsupported("an assumption whose longest product is not one of inputs alone")
    tied = Sum(others.slots, {k: v for k, v in others.terms.items() if k in leading})

    def apply(product: Product, count: int) -> list[Product] | None:
        value, factors, summed = product
        bound: dict[int, int] = {}
        found = match(key, bound, factors, summed, len(slots), [], slots)
        if found is None:
            return None
        scale = value.divided(-coefficient)  # c A = 0 says nothing of A where c = 0, but all of c A
        if scale is None:
            return None
        used, gone, sign = found
        rest = [factor for k, factor in enumerate(factors) if k not in used]
        kept = {index: size for index, size in summed.items() if index not in gone}
        at = tuple(bound[slot] for slot in slots)
        if tied:
            before = numbers_of(factors, count)
            if any(numbers_of(grown, count) >= before for _, grown, _ in instance(tied, at, value, rest, kept)):
                return None
        return list(instance(others, at, scale * sign, rest, kept))

    return apply
