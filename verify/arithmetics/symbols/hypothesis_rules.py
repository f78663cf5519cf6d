"""Hypotheses on named tensors as rewriting rules, applied only where they are asked for and recorded by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import sympy

from verify.arithmetics.conditions import rely_on_nonzero
from verify.arithmetics.symbols.canonical import Key
from verify.arithmetics.symbols.head_kinds import below, head_kind
from verify.arithmetics.symbols.heads import Size, head, tensor
from verify.arithmetics.symbols.part_hypotheses import SKEW_BLOCKS, skew_blocks_rule, unit_parts_rule
from verify.arithmetics.symbols.product_rules import match, numbers_of
from verify.arithmetics.symbols.scalars import ONE, Scalar, rational_scalar
from verify.arithmetics.symbols.sums import (
    Product,
    ProductRule,
    Rewriting,
    Sum,
    as_built,
    constant,
    contract,
    extra_rules,
    identity_over,
    instance,
    sum_of_head,
)
from verify.vocabulary.errors import ArithmeticUnsupported, InputError
from verify.vocabulary.hypotheses import NORMAL_ENTRIES, UNIT_PARTS


@dataclass(frozen=True)
class BothSides:
    """What a hypothesis says: left = right, a number or a sum over the same slots; of equal indices alone if `on_diagonal`."""

    left: Sum
    right: Sum | int = 0
    on_diagonal: bool = False

    @property
    def difference(self) -> Sum:
        """left - right, which vanishes."""
        left = contract([(self.left, [0, 0])], [0]) if self.on_diagonal else self.left
        right = constant(rational_scalar(self.right), left.slots) if isinstance(self.right, int) else self.right
        return left.plus(right, -ONE)


@dataclass(frozen=True)
class HypothesisRule:
    """A property of one tensor or of several: its name in the record of a proof, its rules, and what certificates say of it.

    Those are equations, or that the tensor `of` has the property `wanted` of its parts.  Its rules rest on others too, those
    whose names are in `read`, where what it says was rewritten by them.
    """

    name: str
    rules: tuple[ProductRule, ...] = ()
    equations: tuple[BothSides, ...] = ()
    of: str = ""
    wanted: str = ""
    sizes: tuple[Size, ...] = ()
    read: frozenset[str] = frozenset()


def _of_products(name: str, rewriting: Rewriting) -> ProductRule:
    """A rule for products of named matrices."""
    return ProductRule(name, frozenset({"tensor", "named"}), rewriting)


def _gram(W: Sum, along: int) -> Sum:
    """The products of columns (along 0) or of rows (along 1) of a matrix."""
    labels = [[2, 0], [2, 1]] if along == 0 else [[0, 2], [1, 2]]
    return contract([(W, labels[0]), (W, labels[1])], [0, 1])


#: Each property of a matrix that is an equation, of which rewriting and certificate are made.
SIDES: Mapping[str, Callable[[Sum], BothSides]] = {
    "has orthonormal columns": lambda W: BothSides(_gram(W, 0), identity_over(W.slots[1:])),
    "has orthonormal rows": lambda W: BothSides(_gram(W, 1), identity_over(W.slots[:1])),
    "has unit rows": lambda X: BothSides(_gram(X, 1), 1, on_diagonal=True),
    "is symmetric": lambda S: BothSides(S, S.permuted([1, 0]).times(ONE)),
    "is skew": lambda S: BothSides(S, S.permuted([1, 0]).times(-ONE)),
    "is idempotent": lambda P: BothSides(contract([(P, [0, 2]), (P, [2, 1])], [0, 1]), P),
}
#: Each property of the parts of an axis, some with a size after it: how the parts are rewritten.
OF_PARTS: Mapping[str, Callable[[str, str], Rewriting]] = {
    SKEW_BLOCKS: lambda name, _: skew_blocks_rule(name),
    UNIT_PARTS: lambda name, width: unit_parts_rule(name, size_symbol(width)),
}


def size_symbol(name: str) -> Size:
    """The size of this name."""
    return sympy.Symbol(name, integer=True, positive=True)


def hypothesis_on(name: str, wanted: str, sizes: Sequence[Size]) -> HypothesisRule:
    """The hypothesis that the tensor `name` with these sizes has the property `wanted`, such as "is skew"."""
    title, sizes = f"{name} {wanted}", tuple(sizes)
    if wanted == NORMAL_ENTRIES:  # leaves to pair equal entries in an expectation; nothing is rewritten by it
        return HypothesisRule(title, (_of_products(title, lambda product, slots: None),))
    if len(sizes) != 2:
        raise InputError(name, f"two indices, for that it {wanted}", f"sizes {sizes}")
    of_parts = next((known for known in OF_PARTS if wanted.startswith(known)), None)
    if of_parts is not None:
        rewriting = OF_PARTS[of_parts](name, wanted.removeprefix(of_parts))
        return HypothesisRule(title, (_of_products(title, rewriting),), of=name, wanted=wanted, sizes=sizes)
    if wanted not in SIDES:
        raise ArithmeticUnsupported(f"the hypothesis that {name} {wanted} has no rule")
    if wanted.startswith("is ") and sizes[0] != sizes[1]:
        raise InputError(name, f"a square matrix, for that it {wanted}", f"sizes {sizes}")
    equation = SIDES[wanted](sum_of_head(tensor(name, sizes)))
    return HypothesisRule(title, tuple(_rules_of(title, equation.difference)), (equation,))


# -- equations between products of inputs ------------------------------------------------------------------------------


def vanishing(name: str, parts: Sequence[Sum]) -> HypothesisRule:
    """What an assumption says of its inputs, as matrices that vanish: in each the longest product gives way to the rest.

    One input that is made of others gives way to them, and that a product T is symmetric or skew gives it a name with
    that symmetry.  Where several products are longest, as in P (T - T^T) = T - T^T, T gives way to its symmetric and skew
    part first; if several are longest still, any of them gives way where that leaves products that come first in the
    order of normal forms, so that rewriting ends.
    """
    rules = [rule for part in parts for rule in _rules_of(name, part)]
    if not rules:
        raise ArithmeticUnsupported(f"the assumption {name!r} says nothing of matrices of any size")
    return HypothesisRule(name, tuple(rules), tuple(map(BothSides, parts)))


def _rules_of(name: str, part: Sum) -> list[ProductRule]:
    """The rules that a vanishing matrix stands for."""
    made_of_others = _made_of_others(part)
    if made_of_others is not None:
        remaining = Sum(part.slots, {key: value for key, value in part.terms.items() if key != made_of_others})
        return [_in_place_of(name, made_of_others, part.terms[made_of_others], remaining)]
    leading = _longest(part)
    if len(leading) == len(part.terms) == 2 and (sign := _own_transpose(part)) is not None:
        (made, *others), value = leading[0], part.terms[leading[0]]
        if not others and made[0].kind == "tensor" and set(made[1]) == {0, 1}:
            rely_on_nonzero(value.expression, always=True)
            return [_of_products(name, _with_symmetry(made[0].name, -sign))]  # sign of T^T in T -+ T^T = 0
        part_of = [(named_part(Sum(part.slots, {leading[0]: ONE}), -sign), ONE)]
        return [_in_place_of(name, leading[0], value, _combined(part_of, -value))]
    rest = Sum(part.slots, {key: value for key, value in part.terms.items() if key not in leading})
    rules: list[ProductRule] = []
    if len(leading) > 1 and len(rest.terms) == 2 and _own_transpose(rest) is not None:
        key = next(iter(rest.terms))
        once = Sum(part.slots, {key: ONE})
        turned = once.permuted([1, 0])
        halves = [(named_part(once.plus(turned, factor), sign), HALF) for factor, sign in ((ONE, 1), (-ONE, -1))]
        rules.append(_in_place_of(SPLIT, key, ONE, _combined(halves, -ONE)))
        with extra_rules(rules):
            part = contract([(part, range(len(part.slots)))], range(len(part.slots)))
        leading = _longest(part)
    for key in leading:
        remaining = Sum(part.slots, {k: v for k, v in part.terms.items() if k != key})
        rules.append(_in_place_of(name, key, part.terms[key], remaining, leading))
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
    """The terms with the most inputs; what else stands in them, such as a delta, does not count."""
    inputs = {key: sum(made.kind in ("tensor", "named") for made, _ in key) for key in part.terms}
    most = max(inputs.values(), default=0)
    return [key for key, count in inputs.items() if count == most]


def _with_symmetry(name: str, sign: int) -> Rewriting:
    """The tensor of this name becomes one with that symmetry."""

    def apply(product: Product, slots: int) -> list[Product] | None:
        coefficient, factors, summed = product
        changed, found = False, []
        for made, indices in factors:
            if made.kind == "tensor" and made.name == name and len(made.symmetries) == 1:
                made, changed = tensor(name, made.sizes, [((1, 0), sign)]), True
            found.append((made, indices))
        return [(coefficient, found, summed)] if changed else None

    return apply


def _own_transpose(part: Sum) -> int | None:
    """The sign with which a matrix of two different terms is its own transpose."""
    if len(part.slots) != 2 or part.slots[0] != part.slots[1]:
        return None
    turned = part.permuted([1, 0])
    return 1 if turned.key == part.key else -1 if turned.key == part.times(-ONE).key else None


@as_built("named part")
def named_part(inner: Sum, sign: int) -> Sum:
    """A matrix under a name of its own, of which it is known that its transpose is `sign` times it."""
    return sum_of_head(head("named", "named", inner.slots, [((1, 0), sign)], inner))


head_kind(
    "named",
    values=lambda made, point: point.values(made.inner),
    latex=lambda made, at, written: rf"\left({written(made.inner)}\right){below(at)}",
    again=lambda inner, _: inner,
    along=lambda made, change: change,
    slope="",
)


def _combined(parts: Sequence[tuple[Sum, Scalar]], factor: Scalar) -> Sum:
    found = Sum(parts[0][0].slots, {})
    for part, value in parts:
        found = found.plus(part, value * factor)
    return found


def _in_place_of(name: str, key: Key, coefficient: Scalar, others: Sum, leading: Sequence[Key] = ()) -> ProductRule:
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

    return _of_products(name, apply)
