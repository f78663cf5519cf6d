"""The search for a derivation: quantities of the left-hand side replaced by bounds until only those of the right are left."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import (
    FROBENIUS,
    MEAN_EXPONENTIAL,
    NORMS,
    largest,
    largest_over,
    norm,
    row_of,
    sum_over,
)  # fmt: skip
from verify.arithmetics.norms.deciding import at_most
from verify.arithmetics.norms.entries import speaks_of_sums
from verify.arithmetics.norms.monomials import difference, expanded, has_no_negative_term
from verify.arithmetics.norms.monotone import grows_with
from verify.arithmetics.norms.rules import candidates
from verify.arithmetics.norms.signs import is_nonnegative, is_positive, symbols_of
from verify.arithmetics.norms.world import Index, Node, quantities_in, quantity, world
from verify.vocabulary.errors import ArithmeticUnsupported

#: Alternatives kept for one quantity, and combinations of them tried in one expression.
KEPT, TRIED = 4, 24
#: Quantities that one derivation may look at.
MOST = 4000


def numbers_of(node: Node) -> tuple[int, ...]:
    """The numbers of the factors of a node."""
    return tuple(part.number for part in nodes.factors_of(nodes.single(node)[1]))


@dataclass(frozen=True)
class Step:
    """quantity <= bound, by a rule, and how that is written (see `RuleBound`)."""

    rule: str
    quantity: Any
    bound: Any
    written: Any = field(default=None, compare=False, repr=False)


@dataclass
class Alternative:
    """A bound in the quantities of the right-hand side (`complete`), and the steps that lead to it."""

    bound: Any
    steps: tuple[Step, ...]
    complete: bool


@dataclass
class DerivationSearch:
    """Bounds of quantities by those in `targets`; with `through` also by what these are bounded by in turn."""

    targets: frozenset[Any]
    through: bool = False
    #: Sizes and scalars that the right-hand side contains; bounds without others come first.
    scalars: frozenset[Any] = frozenset()
    _known: dict[Any, list[Alternative]] = field(default_factory=dict)
    _open: set[Any] = field(default_factory=set)
    #: Quantities under a sum over an index that is a target: they are kept until the sum is taken.
    inner: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        world().targets = self.targets
        todo = list(self.targets)
        while todo:  # sums within sums as well
            if (atom := quantity(todo.pop(), "sum over")) is not None:
                found = set(quantities_in(symbols_of(atom.payload[1])))
                todo += found - self.inner
                self.inner |= found
        world().entrywise = world().entrywise or speaks_of_sums(self.targets)
        for target in self.targets | self.inner:
            if (atom := quantity(target, *NORMS)) is None:
                continue
            for node in (atom.payload[0], nodes.transposed(atom.payload[0])):
                if atom.payload[0].kind == "product":
                    world().pieces.add(numbers_of(node))
                for (c, A), (d, B) in nodes.both_orders(node):
                    if c == -d and A.kind == B.kind == "product":
                        world().pairs.add((numbers_of(A), numbers_of(B)))

    # -- expressions ---------------------------------------------------------------------------------------------------

    def of_expression(self, value: Any) -> list[Alternative]:
        """Bounds of a scalar that is monotone in what is replaced."""
        value = sympy.sympify(value)
        moving = sorted(replaceable(value), key=sympy.default_sort_key)
        options = [self.of_quantity(item) for item in moving]
        found = []
        for choice in itertools.islice(itertools.product(*options), TRIED):
            changes = dict(zip(moving, (item.bound for item in choice), strict=True))
            moved = value.xreplace(changes)
            steps = tuple(dict.fromkeys(step for item in choice for step in item.steps))
            complete = all(item.complete for item in choice) and self._is_reached(moved)
            found.append(Alternative(moved, steps, complete))
        return self._pruned(found)

    def _pruned(self, found: Iterable[Alternative]) -> list[Alternative]:
        """Alternatives without repetitions and without those that another one is below; complete ones where there are any."""
        distinct: dict[Any, Alternative] = {}
        for item in found:
            key = frozenset(expanded(item.bound).items())
            if key not in distinct or (item.complete and not distinct[key].complete):
                distinct[key] = item
        # a distance between two sets of weights, where the right-hand side has one, is what they are compared by: first
        items = sorted(distinct.values(), key=lambda item: (
            not item.complete, not _has_root(item.bound), bool(symbols_of(item.bound) - world().atoms.keys() - self.scalars),
        ))[: 4 * KEPT]  # fmt: skip
        if any(item.complete for item in items):
            items = [item for item in items if item.complete]
        kept: list[Alternative] = []
        for item in items:
            if any(_is_below(other.bound, item.bound) for other in kept):
                continue
            kept = [other for other in kept if not _is_below(item.bound, other.bound)] + [item]
        return kept[:KEPT]

    def _is_reached(self, value: Any) -> bool:
        return all(symbol in self.targets or symbol in self.inner or symbol not in world().atoms
                   for symbol in symbols_of(value))  # fmt: skip

    # -- quantities ----------------------------------------------------------------------------------------------------

    def of_quantity(self, item: Any) -> list[Alternative]:
        """Bounds of one quantity, or of the absolute value of an entry."""
        if item in self._known:
            return self._known[item]
        if item in self._open:
            return []
        if len(self._known) > MOST:
            raise ArithmeticUnsupported(f"more than {MOST} quantities")
        self._open.add(item)
        found = []
        symbol = item.args[0] if isinstance(item, sympy.Abs) else item
        if symbol in self.targets:
            found.append(Alternative(item, (), True))
        kept = [Alternative(item, (), True)] if symbol in self.inner and not found else []
        if not found or self.through:
            found += [
                Alternative(bound, (Step("definition of the largest", item, bound, written),), True)
                for bound, written in self._dominating(item).items()
            ]
        if not found or self.through:
            found += self._by_rules(item)
        found += kept
        self._open.discard(item)
        self._known[item] = self._pruned(found) or [Alternative(item, (), False)]
        return self._known[item]

    def _by_rules(self, item: Any) -> list[Alternative]:
        if isinstance(item, sympy.Abs):
            return self._of_entry(item)
        atom = world().atoms[item]
        if atom.kind == "largest over":
            index, value = atom.payload
            return self._over_an_index(item, index, value, of_sum=False)
        if atom.kind == "sum over":
            index, value = atom.payload
            return self._over_an_index(item, index, value, of_sum=True)
        if atom.kind == "largest of":
            return self._largest_of(item, atom.payload)
        if atom.kind == MEAN_EXPONENTIAL:
            return self._mean_exponential(item, *atom.payload)
        found = []
        for rule, bound, written in candidates(item):
            if rule == "rank" and not self.through:
                continue  # seldom of use, and it doubles the alternatives
            for inner in self.of_expression(bound):
                step = Step(rule, item, bound, written)
                found.append(Alternative(inner.bound, (step, *inner.steps), inner.complete))
        return found

    def _of_entry(self, item: Any) -> list[Alternative]:
        atom = world().atoms[item.args[0]]
        if atom.kind != "entry":
            return []
        node, _, _ = atom.payload
        bound = norm("largest entry", node)
        return [
            Alternative(inner.bound, (Step("largest entry", item, bound), *inner.steps), inner.complete)
            for inner in self.of_expression(bound)
        ]

    def _over_an_index(self, item: Any, index: Index, value: Any, of_sum: bool) -> list[Alternative]:
        rule = "sum over an index" if of_sum else "largest of several"
        found = []
        for entries, rest, before in self._splits(index, value) if of_sum else [(sympy.Integer(1), value, ())]:
            for inner in self.of_expression(rest):
                term = inner.bound * entries
                if entries.is_Pow or entries == 1 or index in world().indices_of(inner.bound):
                    whole = (sum_over if of_sum else largest_over)(index, term)
                else:
                    whole = self._uniform(index, term)
                if whole == item or item in symbols_of(whole):
                    whole = self._uniform(index, term) if of_sum else None
                if whole is None:
                    continue
                for outer in self.of_expression(whole):
                    steps = (
                        *before,
                        *inner.steps,
                        Step(rule + self._of_rows(index, entries), item, whole),
                        *outer.steps,
                    )
                    found.append(Alternative(outer.bound, steps, outer.complete))
        return found

    def _splits(self, index: Index, value: Any) -> list[tuple[Any, Any, tuple[Step, ...]]]:
        """What is kept of a term of a sum over i until the sum is taken, the other factors, and the steps that led there.

        |e_i| for a column e, or ||a_i|| or its square for the rows a_i of a matrix, that do not depend on i; or nothing.
        """
        for factor in sympy.Mul.make_args(value):
            atom = quantity(factor.args[0], "entry") if isinstance(factor, sympy.Abs) else None
            if atom is not None:
                node, i, j = atom.payload
                if i == index and j == 0 and node.shape == (index.size, 1) and index not in node.indices:
                    return [(factor, value / factor, ())]
        return [*self._row_splits(index, value), (sympy.Integer(1), value, ())]

    @staticmethod
    def _of_rows(index: Index, entries: Any) -> str:
        """Which other rules a sum over the norms of rows, or their squares, is taken by."""
        base, exponent = entries.as_base_exp()
        if row_of(base, index) is None:
            return ""
        return "; row norms" if exponent == 2 else "; row norms; Cauchy-Schwarz"

    def _row_splits(self, index: Index, value: Any) -> list[tuple[Any, Any, tuple[Step, ...]]]:
        """The norms of rows among the factors, or else after one step."""
        factors = sympy.Mul.make_args(value)
        terms: list[tuple[Any, tuple[Step, ...]]] = [(value, ())]
        for factor in factors:
            atom = quantity(factor, *NORMS)
            if atom is not None and atom.payload[0].kind in ("product", "sum"):
                terms += [(value / factor * c, (Step(name, factor, c, how),)) for name, c, how in candidates(factor)]
        for term, steps in terms:
            for factor in sympy.Mul.make_args(term):
                base, exponent = factor.as_base_exp()
                if exponent in (1, 2) and row_of(base, index) is not None:
                    return [(factor, term / factor, steps)]
        return []

    def _uniform(self, index: Index, value: Any) -> Any:
        """A bound of a sum of one term: Cauchy-Schwarz for |e_i|, n times the largest for anything else.

        What stands beside a bounded factor must not be negative.
        """
        known, fixed = world().atoms, sympy.Integer(1)
        entries: list[Any] = []
        if not all(map(is_nonnegative, sympy.Mul.make_args(value))):
            whole = index.size * largest_over(index, value)
            return None if index in world().indices_of(whole) else whole
        rows = [(factor, A) for factor in sympy.Mul.make_args(value) if (A := row_of(factor, index)) is not None]
        if len(rows) == 1 and index not in world().indices_of(value / rows[0][0]):
            return value / rows[0][0] * sympy.sqrt(index.size) * norm(FROBENIUS, rows[0][1])
        for factor in sympy.Mul.make_args(value):
            if index not in world().indices_of(factor):
                fixed *= factor
            elif isinstance(factor, sympy.Abs) and factor.args[0] in known and not entries:
                entries.append(factor)
            else:
                fixed *= largest_over(index, factor)
        if not entries:
            return fixed * index.size if index not in world().indices_of(fixed) else None
        node, i, j = known[entries[0].args[0]].payload
        if index in world().indices_of(fixed):
            return None
        if i == index and j == 0 and node.shape == (index.size, 1) and index not in node.indices:
            total = world().atom("total", (nodes.of("absolute", node),))
            return fixed * (total if total in self.targets else sympy.sqrt(index.size) * norm(FROBENIUS, node))
        return fixed * index.size * largest_over(index, entries[0])

    def _mean_exponential(self, item: Any, exponent: Any) -> list[Alternative]:
        """(e^b - 1) / b for bounds b of the exponent."""
        found = []
        for inner in self.of_expression(exponent):
            whole = (sympy.exp(inner.bound) - 1) / inner.bound if inner.bound != 0 else sympy.Integer(1)
            step = Step("mean of exponentials", item, whole)
            found.append(Alternative(step.bound, (*inner.steps, step), inner.complete))
        return found

    def _largest_of(self, item: Any, values: tuple[Any, ...]) -> list[Alternative]:
        options = [self.of_expression(value) for value in values]
        found = []
        for choice in itertools.islice(itertools.product(*options), TRIED):
            bound = choice[0].bound
            for other in choice[1:]:
                if at_most(bound, other.bound):
                    bound = other.bound
                elif not at_most(other.bound, bound):
                    both = is_nonnegative(bound) and is_nonnegative(other.bound)
                    bound = bound + other.bound if both else largest([bound, other.bound])
            steps = tuple(dict.fromkeys(step for part in choice for step in part.steps))
            step = Step("largest of several", item, bound)
            found.append(Alternative(bound, (*steps, step), all(part.complete for part in choice)))
        return found

    # -- what the right-hand side has that is larger by definition -----------------------------------------------------

    def _dominating(self, item: Any) -> dict[Any, Any]:
        """Targets that are at least `item` by what they are, as the largest of several or a root, and how that is written."""
        found: dict[Any, Any] = {}
        for target in quantities_in(self.targets):
            atom = world().atoms[target]
            if atom.kind == "largest of":
                for value in atom.payload:
                    if (bound := _scaled_to(value, item, target)) is not None:
                        others = (other for other in atom.payload if other != value)
                        found.setdefault(bound, ("one of several", value, *others))
            if atom.kind == "largest over" and _is_member(item, *atom.payload):
                found.setdefault(target, functools.partial(_as_member, item, *atom.payload))
            if atom.kind == "root" and all(map(is_nonnegative, sympy.Add.make_args(atom.payload[0]))):
                for term in sympy.Add.make_args(atom.payload[0]):
                    if (bound := _scaled_to(sympy.sqrt(term), item, target)) is not None:
                        rest = atom.payload[0] - term
                        found.setdefault(bound, ("root of a sum of squares", sympy.sqrt(term), rest))
        return found


def search_for(targets: frozenset[Any], through: bool, scalars: frozenset[Any]) -> DerivationSearch:
    """The search of this derivation that ends at `targets`, with all that it has found before."""
    known, key = world().searches, (targets, through, scalars, world().divisors)
    if key not in known:
        known[key] = DerivationSearch(targets, through, scalars)
    world().targets = targets
    return known[key]


def _scaled_to(value: Any, item: Any, target: Any) -> Any:
    """target / c where value = c item for a positive number c."""
    if not symbols_of(item) <= symbols_of(value):
        return None
    ratio = value / item
    return target / ratio if ratio.is_number and is_positive(ratio) else None


def _is_member(item: Any, index: Index, moving: Any) -> bool:
    """Whether `item` is `moving` at some value that the index takes: at 0, a smaller number, or an index of the same size."""
    for value in _values_in(item) | {index}:
        if value.size != index.size if isinstance(value, Index) else not is_nonnegative(index.size - 1 - value):
            continue
        try:
            if nodes.scalar_at(moving, index, value) == item:
                return True
        except ArithmeticUnsupported:
            continue
    return False


def _as_member(item: Any, index: Index, moving: Any, writer: Any) -> list[Any]:
    """How it is written that `item` is at most the largest of `moving` over an index."""
    one, other = (writer.known.atoms.get(value) for value in (item, moving))
    ways: list[Any] = [[("largest over an index", index, moving)]]
    if one is not None and other is not None and one.kind == other.kind and one.kind in NORMS:
        ways.append([("one of a stack", one.kind, index, other.payload[0], one.payload[0])])
    return ways


def _values_in(item: Any) -> set[Any]:
    """Indices and integers that a quantity speaks of."""
    found: set[Any] = set()
    todo: list[Any] = [world().atoms[symbol].payload for symbol in symbols_of(item) if symbol in world().atoms]
    while todo:
        part = todo.pop()
        if isinstance(part, tuple):
            todo += part
        elif hasattr(part, "parts"):
            todo += [part.parts, part.data]
        elif isinstance(part, Index) or (isinstance(part, int) and not isinstance(part, bool)):
            found.add(part)
    return found


# -- monotone expressions ----------------------------------------------------------------------------------------------


def replaceable(value: Any) -> set[Any]:
    """The quantities, and absolute values of entries, with which a scalar certainly grows."""
    known = world().atoms
    every = {symbol for symbol in symbols_of(value) if symbol in known}
    parts = {symbol for symbol in every if symbol.is_nonnegative or known[symbol].kind == "largest value"}
    for size in value.atoms(sympy.Abs):
        inner = size.args[0]
        if inner in every and not (value.xreplace({size: sympy.Dummy(nonnegative=True)}).free_symbols & {inner}):
            parts.add(size)
    return {part for part in parts if grows_with(value, part)}


def _has_root(value: Any) -> bool:
    return bool(quantities_in(symbols_of(value), "root"))


@functools.lru_cache(maxsize=200_000)
def _is_below(one: Any, other: Any) -> bool:
    return has_no_negative_term(difference(other, one))
