"""Sums of products of tensors over indices, kept in normal form.

A `Sum` has slots (open indices, each with a size) and terms: a canonical product of factors, whose indices below the
number of slots are the slots and whose other indices are summed, with its coefficient.  `contract` multiplies sums and
sums over indices, `simplified` applies the rewriting rules to one product.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec

from verify.arithmetics.conditions import conditions_noted
from verify.arithmetics.symbols.canonical import Factor, Key, canonical
from verify.arithmetics.symbols.heads import Head, Size, delta
from verify.arithmetics.symbols.scalars import ONE, Scalar, scalar
from verify.vocabulary.contexts import assigned
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

#: A product being rewritten: its coefficient, its factors, and the indices summed over with their sizes.
Product = tuple[Scalar, list[Factor], dict[int, Size]]
#: What rewrites a product: None where it does not apply, otherwise the products that take the product's place.
Rewriting = Callable[[Product, int], list[Product] | None]


class ProductRule(NamedTuple):
    """A rewriting rule: its name in records, the kinds of heads of which one has to occur, and what it does."""

    name: str
    kinds: frozenset[str]
    rewriting: Rewriting


#: More terms than this in one sum are refused.
MOST_TERMS = 20000

_rules: list[ProductRule] = []
_steps: list[str] = []
_used: contextvars.ContextVar[set[str] | None] = contextvars.ContextVar("rules_used", default=None)
_keeping: contextvars.ContextVar[bool] = contextvars.ContextVar("origins_kept", default=False)
_known: contextvars.ContextVar[dict[Any, Any] | None] = contextvars.ContextVar("products_known", default=None)
_fresh = itertools.count(1_000_000)


class InForce:
    """Rules in the order in which they are tried; what was found by one such object is never used under another."""

    __slots__ = ("_by_kinds", "rules")

    def __init__(self, rules: Iterable[ProductRule]) -> None:
        self.rules = tuple(rules)
        self._by_kinds: dict[frozenset[str], list[ProductRule]] = {}

    def of(self, kinds: frozenset[str]) -> list[ProductRule]:
        """The rules of which one of these kinds has to occur."""
        found = self._by_kinds.get(kinds)
        if found is None:
            found = self._by_kinds[kinds] = [item for item in self.rules if item[1] & kinds]
        return found


#: The rules of a block with hypotheses or another order: of its context alone, so that no thread proves by those of another.
_inside: contextvars.ContextVar[InForce | None] = contextvars.ContextVar("rules_in_force", default=None)
#: The registered rules as they are in force elsewhere, with the list that they are of.
_registered: list[tuple[list[ProductRule], InForce]] = []


def fresh() -> int:
    """An index number that no sum uses."""
    return next(_fresh)


def rule(name: str, *kinds: str) -> Callable[[Rewriting], Rewriting]:
    """Register a rewriting rule for products in which a head of one of `kinds` occurs."""

    def register(function: Rewriting) -> Rewriting:
        _rules.append(ProductRule(name, frozenset(kinds), function))
        _registered.clear()
        return function

    return register


def _in_force() -> InForce:
    found = _inside.get()
    if found is not None:
        return found
    if not _registered or _registered[0][0] is not _rules:
        _registered[:] = [(_rules, InForce(_rules))]
    return _registered[0][1]


def remembering_products() -> contextlib.AbstractContextManager[dict[Any, Any] | None]:
    """Multiply equal sums once inside the block: a formula and its oracle have much in common."""
    return assigned(_known, {})


def step_named(name: str) -> str:
    """Register a step of the rewriting that is no rule for products, and return its name for `note_rule`."""
    _steps.append(name)
    return name


def names_of_rules() -> list[str]:
    """Every rule for products and every other named step that a proof may take, hypotheses aside."""
    return [name for name, _, _ in _rules] + _steps


def recording_rules() -> contextlib.AbstractContextManager[set[str]]:
    """Collect the names of the rules that are applied inside the block."""
    return assigned(_used, set())


def note_rule(name: str) -> None:
    """Record that the rule `name` was applied."""
    used = _used.get()
    if used is not None:
        used.add(name)


@contextlib.contextmanager
def extra_rules(rules: Iterable[ProductRule]) -> Iterator[None]:
    """Apply more rules inside the block, and in no other thread: the hypotheses of a claim."""
    before, added = _in_force(), tuple(rules)
    with assigned(_inside, InForce((*before.rules, *added)) if added else before):
        yield


@contextlib.contextmanager
def trying_first(name: str) -> Iterator[None]:
    """Try the rule `name` before all others inside the block: two orders may lead to two normal forms, both of them right."""
    with assigned(_inside, InForce(sorted(_in_force().rules, key=lambda item: item[0] != name))):
        yield


def is_rule(name: str) -> bool:
    """Whether a rule or hypothesis of this name is in force."""
    return any(known == name for known, _, _ in _in_force().rules)


P = ParamSpec("P")


def keeping_origins() -> contextlib.AbstractContextManager[bool]:
    """Let every sum made inside the block remember the call that made it: what is written down is that, not its terms."""
    return assigned(_keeping, True)


def as_built(kind: str) -> Callable[[Callable[P, Sum]], Callable[P, Sum]]:
    """The sums that a function returns have as origin this kind and the arguments, whatever calls it makes itself."""

    def decorate(function: Callable[P, Sum]) -> Callable[P, Sum]:
        @functools.wraps(function)
        def called(*arguments: P.args, **more: P.kwargs) -> Sum:
            if not _keeping.get():
                return function(*arguments, **more)
            with assigned(_keeping, False):
                found = function(*arguments, **more)
            found = found.again()  # it may be one of the arguments
            found.origin = (kind, *arguments, *more.values())
            return found

        return called

    return decorate


class Sum:
    """Terms over `slots`; immutable.  `origin` is the call that made it, where those are kept."""

    __slots__ = ("_key", "origin", "slots", "terms")

    def __init__(self, slots: Sequence[Size], terms: Mapping[Key, Scalar]) -> None:
        self.slots, self.terms = tuple(slots), dict(terms)
        self._key: Any = None
        self.origin: tuple[Any, ...] | None = None

    def again(self) -> Sum:
        """An equal sum, which may have another origin."""
        found = Sum(self.slots, {})
        found.terms, found._key = self.terms, self._key
        return found

    @property
    def key(self) -> Any:
        """Hashable, equal exactly for equal sums over equal slots."""
        if self._key is None:
            self._key = (self.slots, frozenset(self.terms.items()))
        return self._key

    @property
    def order(self) -> tuple[Any, ...]:
        """Sortable among sums over equal slots."""
        return tuple(sorted((tuple((h.number, i) for h, i in key), value.key) for key, value in self.terms.items()))

    def __bool__(self) -> bool:
        return bool(self.terms)

    @as_built("plus")
    def plus(self, other: Sum, factor: Scalar = ONE) -> Sum:
        """self + factor * other, over the same slots."""
        terms = dict(self.terms)
        for key, value in other.terms.items():
            _accumulate(terms, key, value * factor)
        return Sum(self.slots, terms)

    @as_built("times")
    def times(self, factor: Scalar) -> Sum:
        """factor * self."""
        if factor.is_one:
            return self
        return Sum(self.slots, {key: value for key, old in self.terms.items() if (value := old * factor)})

    def permuted(self, order: Sequence[int]) -> Sum:
        """The sum whose slot k is slot order[k] of this one."""
        if tuple(order) == tuple(range(len(self.slots))):
            return self
        place = {slot: k for k, slot in enumerate(order)}
        return contract([(self, [place[slot] for slot in range(len(self.slots))])], list(range(len(order))))

    def without(self, slot: int) -> Sum:
        """The sum over one slot fewer; no term may depend on the slot."""
        moved = {old: old - (old > slot) for old in range(len(self.slots))}
        slots = [size for k, size in enumerate(self.slots) if k != slot]
        terms: dict[Key, Scalar] = {}
        for key, value in self.terms.items():
            shifted = [(head, tuple(moved.get(i, i - 1) for i in indices)) for head, indices in key]
            found, sign = canonical(shifted, len(slots))
            _accumulate(terms, found, value if sign > 0 else -value)
        return Sum(slots, terms)

    def depends_on(self, slot: int) -> bool:
        """Whether a factor of some term carries the slot."""
        return any(slot in indices for key in self.terms for _, indices in key)

    def heads(self) -> set[Head]:
        """Every head in the sum, those inside functions included."""
        found: set[Head] = set()
        for key in self.terms:
            for head, _ in key:
                if head not in found:
                    found.add(head)
                    if head.inner is not None:
                        found |= head.inner.heads()
        return found


def _accumulate(terms: dict[Key, Scalar], key: Key, value: Scalar) -> None:
    if key in terms:
        value = terms[key] + value
        if not value:
            del terms[key]
            return
    if value:
        terms[key] = value


@as_built("constant")
def constant(value: Scalar, slots: Sequence[Size] = ()) -> Sum:
    """The same scalar in every entry."""
    return Sum(slots, {(): value} if value else {})


@as_built("single")
def single(head: Head, indices: Sequence[int], slots: Sequence[Size]) -> Sum:
    """One factor; indices beyond the slots are summed."""
    factors = [(head, tuple(indices))]
    return collected([(ONE, factors, sizes_summed(factors, len(slots)))], slots)


def sum_of_head(head: Head) -> Sum:
    """A head as a sum over its own slots."""
    return single(head, range(len(head.sizes)), head.sizes)


def identity_over(sizes: Sequence[Size]) -> Sum:
    """1 where indices of these sizes are equal to others of the same sizes, one by one; slots: the ones, then the others."""
    count = len(sizes)
    return contract([(sum_of_head(delta(size)), [k, count + k]) for k, size in enumerate(sizes)], range(2 * count))


def sizes_summed(factors: Sequence[Factor], slots: int) -> dict[int, Size]:
    """The indices of a product that are no slots, with their sizes."""
    return {index: head.sizes[k] for head, indices in factors for k, index in enumerate(indices) if index >= slots}


def collected(products: Sequence[Product], slots: Sequence[Size]) -> Sum:
    """Products rewritten to normal form and added."""
    terms: dict[Key, Scalar] = {}
    for product in products:
        for coefficient, factors in simplified(product, len(slots)):
            key, sign = canonical(factors, len(slots))
            if sign:
                _accumulate(terms, key, coefficient if sign > 0 else -coefficient)
        if len(terms) > MOST_TERMS:
            raise ArithmeticUnsupported(f"an expression of more than {MOST_TERMS} terms")
    return Sum(slots, terms)


@as_built("contract")
def contract(
    operands: Sequence[tuple[Sum, Sequence[int]]], out: Sequence[int], sizes: Mapping[int, Size] | None = None
) -> Sum:
    """The product of sums, each with a label for every slot, summed over the labels that are not in `out`.

    Labels are integers; equal labels are one index.  `sizes` gives the size of a label that no operand has.
    """
    remembered = _known.get()
    if remembered is None:
        return _contracted(operands, out, sizes)
    key = (
        _in_force(),
        tuple([(operand.key, tuple(labels)) for operand, labels in operands]),
        tuple(out),
        tuple((sizes or {}).items()),
    )
    found, *noted = remembered.get(key, (None, None, None))
    # what was noted then, of rules and of conditions, was noted where it would be now
    if found is None or noted[0] is not _used.get() or noted[1] is not conditions_noted():
        found = _contracted(operands, out, sizes)
        remembered[key] = found, _used.get(), conditions_noted()
    return found  # type: ignore[no-any-return]


def _contracted(
    operands: Sequence[tuple[Sum, Sequence[int]]], out: Sequence[int], sizes: Mapping[int, Size] | None
) -> Sum:
    known: dict[int, Size] = dict(sizes or {})
    for operand, labels in operands:
        for label, size in zip(labels, operand.slots, strict=True):
            if known.setdefault(label, size) != size:
                raise InputError("indices", f"equal sizes, {known[label]}", str(size))
    if len(set(out)) != len(out):
        raise InputError("indices of a result", "no index twice", str(list(out)))
    slots = [known[label] for label in out]
    names = {label: k for k, label in enumerate(out)}
    summed: dict[int, Size] = {}
    for label, size in known.items():
        if label not in names:
            names[label] = fresh()
            summed[names[label]] = size
    products: list[Product] = [(ONE, [], summed)]
    for operand, labels in operands:
        opened = tuple(names[label] for label in labels)
        products = [grown for product in products for grown in instance(operand, opened, *product)]
        if len(products) > MOST_TERMS:
            raise ArithmeticUnsupported(f"a product of more than {MOST_TERMS} terms")
    return collected(products, slots)


def instance(
    inner: Sum, indices: Sequence[int], coefficient: Scalar, factors: list[Factor], summed: dict[int, Size]
) -> Iterator[Product]:
    """The product of `factors` with each term of `inner` at `indices`."""
    for key, value in inner.terms.items():
        names: dict[int, int] = dict(enumerate(indices))
        more = dict(summed)
        grown = list(factors)
        for head, places in key:
            for slot, place in enumerate(places):
                if place not in names:
                    names[place] = fresh()
                    more[names[place]] = head.sizes[slot]
            grown.append((head, tuple(names[place] for place in places)))
        yield coefficient * value, grown, more


DELTAS = step_named("sums over Kronecker deltas")


# -- one product -------------------------------------------------------------------------------------------------------


#: What one product may become, step by step: two assumptions may each give way to the other, which would never end.
MOST_REWRITINGS = 20_000


def simplified(product: Product, slots: int) -> Iterator[tuple[Scalar, list[Factor]]]:
    """The products, free of deltas that can be summed and of whatever a rule removes, that a product reduces to."""
    pending, done, in_force = [product], 0, _in_force()
    while pending:
        coefficient, factors, summed = pending.pop()
        if (done := done + 1) > MOST_REWRITINGS:
            raise ArithmeticUnsupported("rules that undo each other, or go on for too long")
        if not coefficient:
            continue
        factors, summed = _without_deltas(factors, summed, slots)
        for name, _, apply in in_force.of(frozenset([head.kind for head, _ in factors])):
            found = apply((coefficient, factors, summed), slots)
            if found is not None:
                note_rule(name)
                pending.extend(found)
                break
        else:
            present = {index for _, indices in factors for index in indices}
            for index, size in summed.items():
                if index not in present:
                    coefficient = coefficient * scalar(size)
            yield coefficient, factors


def _without_deltas(factors: list[Factor], summed: dict[int, Size], slots: int) -> tuple[list[Factor], dict[int, Size]]:
    """Indices joined by deltas made one: a summed index disappears with its delta, two open ones keep theirs."""
    pairs = [indices for head, indices in factors if head.kind == "delta"]
    if not pairs:
        return factors, summed
    note_rule(DELTAS)
    root: dict[int, int] = {}

    def find(index: int) -> int:
        while root.get(index, index) != index:
            index = root[index]
        return index

    for a, b in pairs:
        a, b = sorted((find(a), find(b)))  # open indices are the smaller ones
        if a != b:
            root[b] = a
    sizes = {index: head.sizes[0] for head, indices in factors if head.kind == "delta" for index in indices}
    renamed = [(head, tuple(find(index) for index in indices)) for head, indices in factors if head.kind != "delta"]
    kept = [(delta(sizes[index]), (find(index), index)) for index in sizes if index < slots and find(index) != index]
    return renamed + kept, {index: size for index, size in summed.items() if find(index) == index}
