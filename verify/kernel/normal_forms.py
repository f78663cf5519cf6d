"""Normal forms of index expressions: sums of rational numbers times products of factors over summed indices.

An index is a number with its size; a summed one is negative.  A factor is an atom, the indices at which it is taken and
a rational exponent.  An atom is a tensor, a size, a delta, or a function of normal forms whose indices are the atom's
slots: so equal arguments make equal functions.  Names of summed indices and orders of slots are chosen by a fixed
procedure; whatever it chose, the result would be equal, since all of it is renaming.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from verify.kernel.refusal import Refused

Index = tuple[int, str]
#: A rational number, an int where it is whole.
Number = int | Fraction
Factor = tuple[int, tuple[Index, ...], Number]
Key = tuple[Factor, ...]
Form = dict[Key, Number]
#: A product that is not in normal form: a number, factors, and the indices that are summed.
Product = tuple[Number, Sequence[Factor], frozenset[Index]]

#: What is asked of an atom where some of its indices agree.
Asked = tuple[int, tuple[int, ...], str]

ONE: Number = 1
#: What is 0 or 1: every positive power of it is itself.
IDEMPOTENT = ("delta", "unit", "step")
POSITIVE = ("size", "positive", "exp", "softmax", "prime")
#: What is not everywhere.
PARTIAL = ("inverse", "log")
#: Tensors of which nothing is known: their powers add up, and that is all.
UNKNOWN = ("t", "positive", "size")
#: More terms in a sum than this, and more products in all, are refused; more orders of slots are not compared.
MOST_TERMS, MOST_PRODUCTS, MOST_ORDERS = 50_000, 100_000, 120


class Products:
    """The atoms that a certificate speaks of, and sums and products over them; `Algebra` knows what functions are."""

    def __init__(self, size_value: Callable[[str], Form]) -> None:
        self.size_value = size_value
        self.kinds: list[str] = []
        self.payloads: list[Any] = []
        self.groups: list[list[tuple[int, ...]]] = []
        self.orbits: list[tuple[int, ...]] = []
        self.owns: list[int] = []
        self._known: dict[Any, int] = {}
        self._made: dict[Any, tuple[int, tuple[int, ...]]] = {}
        self._named: dict[Any, Key] = {}
        self._mentions: dict[tuple[int, int], bool] = {}
        self._partial: list[bool] = []
        self._unknown: list[bool] = []
        self._joins: list[bool] = []
        self.positive: list[bool] = []
        #: What was asked of atoms so far: to be there, not to be 0, not to be negative; with which of their indices agree.
        self.asked: set[Asked] = set()
        self._numbers = itertools.count(1)
        self._products = 0

    # -- atoms ---------------------------------------------------------------------------------------------------------

    def fresh(self, size: str) -> Index:
        """An index that nothing carries yet."""
        return next(self._numbers), size

    def atom(
        self, kind: str, payload: Any, slots: int, group: Iterable[tuple[int, ...]] = (), own: tuple[str, ...] = ()
    ) -> int:
        """The one atom of this kind and payload that binds slots of the sizes `own`; `group` does not change it."""
        key = (kind, tuple(sorted(payload.items())) if isinstance(payload, dict) else payload, own)
        if key not in self._known:
            self._known[key] = len(self.kinds)
            every = sorted({tuple(range(slots)), *group})
            self.owns.append(len(own))
            self.kinds.append(kind)
            self.payloads.append(payload)
            terms = payload if isinstance(payload, dict) else {}
            inner = [factor for term in terms for factor in term]
            self._partial.append(kind in PARTIAL or any(self._asks(*f) for f in inner))
            sum_of_positive = all(c > 0 for c in terms.values()) and all(self.positive[atom] for atom, _, _ in inner)
            self.positive.append(kind in POSITIVE or (kind == "base" and sum_of_positive))
            self._unknown.append(kind in UNKNOWN)
            self._joins.append(kind in ("delta", "unit"))
            self.groups.append(every)
            self.orbits.append(tuple(min(order[slot] for order in every) for slot in range(slots)))
        return self._known[key]

    def tensor(self, kind: str, name: Any, indices: Sequence[Index]) -> Form:
        """An entry of a named tensor; `kind` is "t", "positive" (a scalar), "size" or "unit"."""
        return self.collected([(ONE, [(self.atom(kind, name, len(indices)), tuple(indices), ONE)], frozenset())])

    def delta(self, one: Index, other: Index) -> Form:
        """1 where both indices agree."""
        if one[1] != other[1]:
            raise Refused(f"a delta between indices of sizes {one[1]} and {other[1]}")
        made = self.atom("delta", "", 2, [(1, 0)])
        return self.collected([(ONE, [(made, (one, other), ONE)], frozenset())])

    def function(self, kind: str, form: Form, own: Sequence[Index], orders: Iterable[Sequence[int]]) -> Factor:
        """The function `kind` of a form whose indices `own` it binds, in an order of slots that like arguments share.

        `orders` are those of its own slots that the function allows; the indices that it does not bind follow.
        """
        count = len(own)
        seen: dict[Index, list[Any]] = {index: [] for key in form for _, at, _ in key for index in at if index[0] >= 0}
        for key, value in form.items():
            for atom, at, power in key:
                for slot, index in enumerate(at):
                    if index in seen:
                        seen[index].append((atom, self.orbits[atom][slot], power, value))
        free = sorted((index for index in seen if index not in own), key=lambda i: (i[1], sorted(seen[i]), i[0]))
        places = {index: (slot, index[1]) for slot, index in enumerate([*own, *free])}
        form = self.renamed(form, places)
        known = (kind, tuple(sorted(form.items())), tuple(index[1] for index in own))
        if known not in self._made:
            alike = [
                [count + k for k, _ in group]
                for _, group in itertools.groupby(enumerate(free), key=lambda item: (item[1][1], sorted(seen[item[1]])))
            ]
            many = math.prod(math.factorial(len(group)) for group in alike)
            ways = itertools.product(*(itertools.permutations(g) for g in alike)) if many <= MOST_ORDERS else [alike]
            sizes = [index[1] for index in [*own, *free]]
            trials: dict[tuple[int, ...], Form] = {}
            for mine, way in itertools.product(list(orders), list(ways)):
                order = (*mine, *(slot for group in way for slot in group))
                trials[order] = self.renamed(form, {(s, sizes[s]): (order[s], sizes[s]) for s in range(len(sizes))})
            ranks = {order: tuple(sorted(found.items())) for order, found in trials.items()}
            best = min(ranks, key=lambda order: (ranks[order], order))
            group = []
            for order in (order for order in ranks if ranks[order] == ranks[best]):
                back = {order[s]: best[s] for s in range(len(sizes))}
                group.append(tuple(back[s] for s in range(len(sizes))))
            bound = tuple(sizes[best.index(slot)] for slot in range(count))
            self._made[known] = self.atom(kind, trials[best], len(sizes), group, bound), best
        atom, order = self._made[known]
        placed = dict(zip(order, [*own, *free], strict=True))
        return atom, tuple(placed[slot] for slot in range(len(order))), ONE

    # -- products ------------------------------------------------------------------------------------------------------

    def collected(self, products: Iterable[Product]) -> Form:
        """The sum of products, in normal form."""
        total: Form = {}
        for product in products:
            self._add(total, self._canonical(*product))
        return total

    def _add(self, total: Form, form: Form, factor: Number = ONE) -> None:
        for key, value in form.items():
            found = total.get(key, 0) + (value if factor == 1 else value * factor)
            if type(found) is not int:
                found = plain(found)
            if found:
                total[key] = found
            else:
                total.pop(key, None)
        if len(total) > MOST_TERMS:
            raise Refused(f"a sum of more than {MOST_TERMS} terms")

    def plus(self, forms: Iterable[tuple[Form, Number]]) -> Form:
        """The sum of forms times numbers."""
        total: Form = {}
        for form, factor in forms:
            self._add(total, form, factor)
        return total

    def times(self, *forms: Form, over: Sequence[Index] = ()) -> Form:
        """The product of forms, summed over open indices.

        It is brought to normal form at its end, and before only where two factors have several terms each, since terms of
        the one may cancel: a product in normal form and the same before are equal, whatever it is multiplied by.
        """
        found: list[Product] = [(ONE, (), frozenset())]
        for form in forms:
            if form == {(): ONE}:
                continue
            if len(found) > 1 and len(form) > 1:
                found = [(value, key, summed_in(key)) for key, value in self.collected(found).items()]
            others: list[Product] = [(b, other, summed_in(other)) for other, b in form.items()]
            found = others if found == [(ONE, (), frozenset())] else list(_multiplied(found, others))
        return self.collected(self._over(found, over) if over else found)

    def _over(self, products: Iterable[Product], over: Sequence[Index]) -> Iterator[Product]:
        """The products with open indices summed."""
        for value, factors, own in products:
            down = min((i[0] for i in own), default=0)
            names = {index: (down - 1 - k, index[1]) for k, index in enumerate(over)}
            moved = [(atom, tuple([names.get(i, i) for i in at]), p) for atom, at, p in factors]
            yield value, moved, own | frozenset(names.values())

    def renamed(self, form: Form, names: Mapping[Index, Index]) -> Form:
        """The form with other open indices."""
        return self.collected(
            (value, moved, summed_in(moved))
            for key, value in form.items()
            for moved in [[(atom, tuple([names.get(i, i) for i in at]), p) for atom, at, p in key]]
        )

    def summed(self, form: Form, over: Sequence[Index]) -> Form:
        """The sum over open indices."""
        if not over:
            return form
        return self.collected(self._over(((value, key, summed_in(key)) for key, value in form.items()), over))

    def opened(self, key: Key) -> tuple[list[Factor], list[Index]]:
        """The factors of a term with its summed indices made open, and those."""
        names = {index: self.fresh(index[1]) for index in sorted(summed_in(key))}
        return [(atom, tuple(names.get(i, i) for i in at), p) for atom, at, p in key], list(names.values())

    def instance(self, factor: Factor) -> Form:
        """The argument of a function at the indices of a factor; those that it binds are among them."""
        atom, at, _ = factor
        if any(index[0] < 0 for index in at):
            raise Refused("an argument at an index that is summed elsewhere")
        return self.renamed(self.payloads[atom], {(slot, i[1]): i for slot, i in enumerate(at)})

    def _canonical(self, value: Number, factors: Sequence[Factor], over: frozenset[Index]) -> Form:
        self._products += 1
        if self._products > MOST_PRODUCTS:
            raise Refused(f"more than {MOST_PRODUCTS} products")
        if not value:
            return {}
        partial, positive, groups, joins = self._partial, self.positive, self.groups, self._joins
        is_joined = False
        for atom, at, power in factors:  # the question of `_asks`, in line: most of the work of the checker is here
            if partial[atom] or ((type(power) is not int or power < 0) and not positive[atom]):
                self._ask(atom, at, power)
            if joins[atom]:
                is_joined = True
        if is_joined:
            factors, over = self._joined(factors, over)
        merged: dict[tuple[int, tuple[Index, ...]], Number] = {}
        for atom, at, power in factors:
            settled = (atom, at if len(groups[atom]) == 1 else self._settled(atom, at))
            before = merged.get(settled)
            if before is not None:
                power = before + power
            merged[settled] = power if type(power) is int else plain(power)
        kept: list[Factor] = []
        wholes: list[tuple[Factor, int]] = []
        again: list[Factor] = []
        has_unit = False
        unknown = self._unknown
        for (atom, at), power in merged.items():
            if unknown[atom]:
                if power:
                    kept.append((atom, at, power))
                continue
            kind, whole = self.kinds[atom], math.floor(power)
            has_unit = has_unit or kind == "unit"
            if kind in IDEMPOTENT:
                if power <= 0:
                    raise Refused(f"a power of a {kind} that is not positive")
                power = ONE
            elif kind == "prime":
                value *= Fraction(self.payloads[atom]) ** whole
                power = plain(power - whole)
            elif kind == "base" and whole > 0:
                wholes.append(((atom, at, ONE), whole))
                power = plain(power - whole)
            if power and self._repeats(atom, at):
                again.append((atom, at, power))
            elif power:
                kept.append((atom, at, power))
        if wholes or again:  # a sum to a positive whole power is multiplied out
            names = {index: self.fresh(index[1]) for index in over}
            moved = [(atom, tuple(names.get(i, i) for i in at), p) for atom, at, p in kept]
            parts = [self.collected([(value, moved, frozenset())])]
            for (atom, at, _), whole in wholes:
                parts += [self.instance((atom, tuple(names.get(i, i) for i in at), ONE))] * whole
            parts += [
                self._rebuilt((atom, tuple(names.get(i, i) for i in at), p), lambda f: f) for atom, at, p in again
            ]
            return self.times(*parts, over=list(names.values()))
        if has_unit:
            kept, over, is_zero = self._at_units(kept, over)
            if is_zero:
                return {}
        if not over:
            return {tuple(sorted(kept)): value}
        present = {index for _, at, _ in kept for index in at}
        found = {self._with_names(kept, over & present): value}
        for index in over - present:
            found = self.times(found, self.size_value(index[1]))
        return found

    def _asks(self, atom: int, at: tuple[Index, ...], power: Number) -> bool:
        """Whether a factor is not defined everywhere."""
        return self._partial[atom] or ((power < 0 or power.denominator > 1) and not self.positive[atom])

    def _ask(self, atom: int, at: tuple[Index, ...], power: Number) -> None:
        """Note what has to be so where a factor is defined, and what is in the arguments of a function."""
        kind, pattern, own = self.kinds[atom], tuple(map(at.index, at)), self.owns[atom]
        if not self.positive[atom]:
            wanted = {"there": kind in PARTIAL, "not 0": power < 0, "not negative": power.denominator > 1}
            self.asked.update((atom, pattern, what) for what, needed in wanted.items() if needed)
        if self._partial[atom] and (atom, pattern, "seen") not in self.asked:
            self.asked.add((atom, pattern, "seen"))
            free = at[own:]
            self.renamed(
                self.payloads[atom], {(own + k, i[1]): (own + free.index(i), i[1]) for k, i in enumerate(free)}
            )

    def _joined(self, factors: Sequence[Factor], over: frozenset[Index]) -> tuple[Sequence[Factor], frozenset[Index]]:
        """Sums over deltas carried out; of open indices that deltas join, the first stands for all.

        Two units of one place join a summed index to another as a delta does: both are 0 wherever the indices differ.
        """
        kinds = self.kinds
        pairs: list[Sequence[Index]] = [at for atom, at, _ in factors if kinds[atom] == "delta"]
        units: dict[int, set[Index]] = {}
        for atom, at, _ in factors:
            if kinds[atom] == "unit":
                units.setdefault(atom, set()).update(at)
        for places in units.values():
            first, *others = sorted(places, key=lambda i: (i in over, i))
            pairs += [(first, other) for other in others if other in over]
        if not pairs:
            return factors, over
        root: dict[Index, Index] = {}

        def find(index: Index) -> Index:
            while index in root:
                index = root[index]
            return index

        for one, other in pairs:
            first, second = sorted((find(one), find(other)), key=lambda i: (i in over, i))
            if first != second:
                root[second] = first
        made = self.atom("delta", "", 2, [(1, 0)])
        kept = [(atom, tuple(find(i) for i in at), p) for atom, at, p in factors if self.kinds[atom] != "delta"]
        kept += [(made, (find(i), i), ONE) for i in root if i not in over]
        return kept, frozenset(index for index in over if index not in root)

    def _at_units(self, factors: list[Factor], over: frozenset[Index]) -> tuple[list[Factor], frozenset[Index], bool]:
        """unit_p(i) unit_q(i) = 0 for p different from q; the sum of unit_p is 1."""
        units: dict[Index, int] = {}
        for atom, at, _ in factors:
            if self.kinds[atom] == "unit" and units.setdefault(at[0], atom) != atom:
                return [], over, True
        for index in units:
            if index in over and sum(index in at for _, at, _ in factors) == 1:
                factors = [factor for factor in factors if index not in factor[1]]
                over -= {index}
        return factors, over, False

    def _settled(self, atom: int, at: tuple[Index, ...]) -> tuple[Index, ...]:
        group = self.groups[atom]
        return at if len(group) == 1 else min(tuple(at[slot] for slot in order) for order in group)

    def _with_names(self, factors: Sequence[Factor], over: frozenset[Index]) -> Key:
        """The product with -1, -2, ... for its summed indices: told apart by what is around them, ties broken in turn."""
        if not over:
            return tuple(sorted(factors))
        first: dict[Index, Index] = {}
        for _, at, _ in factors:
            for index in at:
                if index in over:
                    first.setdefault(index, (-1 - len(first), index[1]))
        known = tuple([(atom, tuple([first.get(i, i) for i in at]), p) for atom, at, p in factors])
        found = self._named.get(known)
        if found is None:
            names = self._ranked(known, list(first.values()))
            moved = [(atom, tuple([names.get(i, i) for i in at]), p) for atom, at, p in known]
            found = tuple(sorted([(atom, self._settled(atom, at), p) for atom, at, p in moved]))
            self._named[known] = found
        return found

    def _ranked(self, factors: Key, over: Sequence[Index]) -> dict[Index, Index]:
        """The places of summed indices, which are given as -1, -2, ...: what is told apart already is not looked at again."""
        sizes = sorted({index[1] for index in over})
        rank = {index: sizes.index(index[1]) for index in over}
        classes = len(sizes)
        while classes < len(over):
            sharing: dict[int, int] = {}
            for own in rank.values():
                sharing[own] = sharing.get(own, 0) + 1
            around: dict[Index, list[Any]] = {index: [] for index in over if sharing[rank[index]] > 1}
            for atom, at, power in factors:
                if around.keys().isdisjoint(at):
                    continue
                shown = [(1, rank[i], "") if i in rank else (0, *i) for i in at]
                orbit = self.orbits[atom]
                seen = tuple(sorted(zip(orbit, shown, strict=True))) if len(self.groups[atom]) > 1 else tuple(shown)
                for slot, index in enumerate(at):
                    if index in around:
                        around[index].append((atom, power, orbit[slot], seen))
            told: dict[Index, Any] = {index: (rank[index], sorted(around.get(index, ()))) for index in over}
            order = sorted(over, key=told.__getitem__)
            before, classes, former, rank = len(sharing), 0, rank, {order[0]: 0}
            for index, other in itertools.pairwise(order):
                classes += told[index] != told[other]
                rank[other] = classes
            classes += 1
            if classes == before < len(over):  # tied: the first of a class goes before its fellows
                place = next(rank[index] for index in order if sharing[former[index]] > 1)
                first = next(index for index in over if rank[index] == place)
                rank = {i: 2 * own + (own == place and i != first) for i, own in rank.items()}
        return {index: (-1 - place, index[1]) for index, place in rank.items()}

    def number(self, value: Number) -> Form:
        """A rational number."""
        return {(): plain(value)} if value else {}

    def _rebuilt(self, factor: Factor, change: Callable[[Form], Form]) -> Form:
        raise NotImplementedError

    def _repeats(self, atom: int, at: tuple[Index, ...]) -> bool:
        """Whether a function is taken at the diagonal of indices that it does not bind."""
        free = at[self.owns[atom] :]
        return len(set(free)) < len(free) and isinstance(self.payloads[atom], dict)


def plain(value: Number) -> Number:
    """The number as an int where it is whole."""
    return value.numerator if value.denominator == 1 else value


def summed_in(factors: Iterable[Factor]) -> frozenset[Index]:
    return frozenset([index for _, at, _ in factors for index in at if index[0] < 0])


def _multiplied(products: Sequence[Product], others: Sequence[Product]) -> Iterator[Product]:
    """All products of two, in which no summed index of the one is one of the other."""
    for a, one, mine in products:
        down = min((i[0] for i in mine), default=0)
        for b, other, theirs in others:
            moved, names = other, theirs
            if mine and theirs:
                moved = [
                    (atom, tuple([(i[0] + down, i[1]) if i[0] < 0 else i for i in at]), p) for atom, at, p in other
                ]
                names = frozenset([(i[0] + down, i[1]) for i in theirs])
            yield a * b, (*one, *moved), mine | names
