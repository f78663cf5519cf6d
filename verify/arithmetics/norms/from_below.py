"""Derivations of bounds in which a quantity is replaced by a smaller one, where the left-hand side falls as it grows.

A condition number falls with the smallest singular value.  What takes the place of a quantity is certainly not negative, by its
form or by an assumption, and where it is divided by, it is positive for certain or the right-hand side divides by it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sympy

from verify.arithmetics.norms.assumed import assumed_bounds, follows, follows_in_cases, largest_in
from verify.arithmetics.norms.atoms import SMALLEST, SPECTRAL, norm
from verify.arithmetics.norms.derivation_search import Step, search_for
from verify.arithmetics.norms.monotone import direction
from verify.arithmetics.norms.signs import is_nonnegative, is_positive, symbols_of
from verify.arithmetics.norms.smallest import LOWER, is_range, lower_candidates
from verify.arithmetics.norms.text import scalar_text
from verify.arithmetics.norms.world import quantities_in, quantity, world

#: Replacements in a row, and values that are looked at, at most.
DEPTH, MOST = 6, 40
Moved = tuple[Any, tuple[Step, ...]]


def speaks_from_below(value: Any) -> bool:
    """Whether a scalar contains a smallest singular value, or an assumption the largest of values that may be negative."""
    if has_smallest(value):
        return True
    assumed = frozenset().union(*map(symbols_of, world().facts))
    return any(not symbol.is_nonnegative for symbol in quantities_in(assumed, "largest over"))


def has_smallest(value: Any) -> bool:
    """Whether a scalar contains a smallest singular value."""
    return bool(quantities_in(symbols_of(value), SMALLEST))


def derived_from_below(left: Any, right: Any, reversed_steps: Iterable[Step]) -> tuple[Any, tuple[Step, ...]] | None:
    """A scalar between both sides, and the steps from the left one to it; None where none is found.

    `reversed_steps` say ||A|| <= ||A + B|| + ||B|| of the norms that the right-hand side contains.
    """
    search = _Search(right, tuple(reversed_steps))
    start = sympy.sympify(left)
    search.smallest = frozenset(quantities_in(symbols_of(start), SMALLEST))
    for value, steps in (*search.above(start, True), *search.above(sympy.expand(start), True)):
        if not search.is_reached(value):
            continue
        facts = search.facts(value)
        used = _is_at_most(value, right, tuple(facts))
        if used is None and largest_in(value, right):
            used = _in_cases(value, right, tuple(facts))
        if used is not None:
            world().used.update(search.named(facts, used))
            steps = (*steps, *(step for fact in used if (step := facts[fact]) is not None))
            return value, steps
    return None


class _Search:
    """What a scalar is at most, in the quantities of an aim."""

    def __init__(self, right: Any, reversed_steps: tuple[Step, ...]) -> None:
        known = world().atoms
        self.reversed_steps = reversed_steps
        self.denominators = _denominators(right)
        self.targets = frozenset(quantities_in(symbols_of(right)))
        assumed = frozenset().union(*map(symbols_of, world().facts))
        inside = frozenset().union(
            *(symbols_of(value) for symbol in largest_in(right) for value in known[symbol].payload)
        )
        self.allowed = self.targets | ((assumed | inside) & known.keys())
        self.lower: dict[Any, list[Moved]] = {}
        #: smallest singular values on the left, which others may be compared with
        self.smallest: frozenset[Any] = frozenset()
        self.search = search_for(self.allowed, False, frozenset(symbols_of(right) - known.keys()))

    def facts(self, value: Any) -> dict[Any, Step | None]:
        """What is at least 0: by assumptions, and the largest singular value less the smallest, with the step that says so."""
        found: dict[Any, Step | None] = dict.fromkeys(world().facts)
        for symbol in quantities_in(symbols_of(value) | self.targets):
            if (atom := quantity(symbol, SMALLEST)) is not None:
                above = norm(SPECTRAL, atom.payload[0])
                found[above - symbol] = Step("smallest at most largest singular value", symbol, above)
            if is_range(symbol):
                found[symbol] = Step("range", sympy.Integer(0), symbol)
        return found

    def named(self, facts: dict[Any, Step | None], used: tuple[Any, ...]) -> set[str]:
        """The assumptions among the facts that were used, as a record names them."""
        return {f"{scalar_text(fact, world())} >= 0" for fact in used if facts[fact] is None}

    def is_reached(self, value: Any) -> bool:
        """Whether all quantities of a scalar are those of the aim or of assumptions."""
        return symbols_of(value) & world().atoms.keys() <= self.allowed

    def above(self, start: Any, from_below: bool = False) -> Iterator[Moved]:
        """The scalar, and others that are at least as large, the nearest first; with or without smaller quantities in it."""
        seen = {start}
        front: list[Moved] = [(start, ())]
        for _ in range(DEPTH):
            following: list[Moved] = []
            for value, steps in front:
                yield value, steps
                for moved, more in self._once(value, from_below):
                    if moved not in seen and len(seen) < MOST:
                        seen.add(moved)
                        following.append((moved, (*steps, *more)))
            front = following
        yield from front

    def _once(self, value: Any, from_below: bool) -> Iterator[Moved]:
        """One quantity replaced: by a larger one where the scalar grows with it, by a smaller one where it falls."""
        for symbol in quantities_in(symbols_of(value)):
            rises, falls = direction(value, symbol)
            if rises:
                for name, bound, written in assumed_bounds(symbol):
                    yield value.xreplace({symbol: bound}), (Step(name, symbol, bound, written),)
            if rises and symbol.is_nonnegative and symbol not in self.targets:
                options = self.search.of_quantity(symbol)
                complete = [option for option in options if option.complete]
                for option in complete or options:
                    if option.bound != symbol:
                        yield value.xreplace({symbol: option.bound}), option.steps
                for step in self.reversed_steps:
                    if step.quantity == symbol:
                        yield value.xreplace({symbol: step.bound}), (step,)
            if falls and from_below and quantity(symbol, *LOWER) is not None:
                for less, steps in self._below(symbol):
                    moved = self._with_less(value, symbol, less)
                    if moved is not None:
                        yield moved, steps

    def _below(self, symbol: Any) -> list[Moved]:
        """What a quantity is at least, and the steps that say so."""
        if symbol not in self.lower:
            world().targets = self.targets | self.smallest
            found: dict[Any, tuple[Step, ...]] = {}
            for name, bound, written in lower_candidates(symbol):
                for negated, steps in self.above(-bound) if symbols_of(bound) else [(-bound, ())]:
                    found.setdefault(sympy.expand(-negated), (Step(name, -symbol, -bound, written), *steps))
            self.lower[symbol] = list(found.items())
        return self.lower[symbol]

    def _with_less(self, value: Any, symbol: Any, less: Any) -> Any:
        """The scalar with something smaller in the place of a quantity that it falls with, where that is not negative.

        Of q >= a - b with a scalar that depends on q + b, a takes the place of that.  None where neither is certain.
        """
        if not symbols_of(value.xreplace({symbol: less})) & world().atoms.keys() <= symbols_of(value) | self.allowed:
            return None
        if self._is_allowed(value, symbol, less):
            return value.xreplace({symbol: less})
        taken = sympy.Add(*(-term for term in sympy.Add.make_args(less) if is_nonnegative(-term)))
        whole = sympy.Dummy("sum", nonnegative=True)
        shifted = value.xreplace({symbol: whole - taken})
        if taken == 0 or symbol in symbols_of(shifted) or not direction(shifted, whole)[1]:
            return None
        return shifted.xreplace({whole: less + taken}) if self._is_allowed(shifted, whole, less + taken) else None

    def _is_allowed(self, value: Any, symbol: Any, less: Any) -> bool:
        """Whether what takes the place of a quantity is not negative, and not zero where the aim has a value."""
        if is_positive(less):
            return True
        if not is_nonnegative(less) and _is_at_most(sympy.Integer(0), less, tuple(world().facts)) is None:
            return False
        return symbol not in _symbols_below(value) or any(_is_multiple(part, less) for part in self.denominators)


def _denominators(value: Any) -> list[Any]:
    """What a scalar is certainly divided by: the bases of its negative powers."""
    return [power.base for power in value.atoms(sympy.Pow) if is_positive(-power.exp)]


def _symbols_below(value: Any) -> frozenset[Any]:
    """The symbols that stand in denominators."""
    return frozenset().union(*(symbols_of(base) for base in _denominators(value)))


def _is_multiple(part: Any, value: Any) -> bool:
    ratio = sympy.cancel(part / value)
    return bool(ratio.is_number) and is_positive(ratio)


def _is_at_most(left: Any, right: Any, facts: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The facts from which left <= right is certain; denominators that facts say are not negative are cleared."""
    used = follows(left, right, facts)
    if used is not None:
        return used
    (ours, below), (theirs, beneath) = map(_fraction, (left, right))
    found: list[Any] = []
    for factor in sympy.Mul.make_args(below * beneath):
        base = factor.base if factor.is_Pow and factor.exp.is_Integer else factor
        if is_nonnegative(base):
            continue
        says = follows(sympy.Integer(0), sympy.expand(base), facts)
        if says is None:
            return None
        found += says
    ratio = sympy.cancel(below / beneath)
    if ratio.is_number and is_positive(ratio):
        below, beneath = ratio, sympy.Integer(1)
    whole = [_with_collected_roots(sympy.expand(side)) for side in (ours * beneath, theirs * below)]
    rest = follows(whole[0], whole[1], facts)
    return tuple(dict.fromkeys([*found, *rest])) if rest is not None else None


def _in_cases(left: Any, right: Any, facts: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The facts from which left <= right is certain case by case; as -right <= -left where both are below 0, to compare squares."""
    used = follows_in_cases(left, right, facts, _is_at_most)
    return follows_in_cases(-right, -left, facts, _is_at_most) if used is None else used


def _fraction(value: Any) -> tuple[Any, Any]:
    """Numerator and denominator; an exponential, whatever the sign of its exponent, is a factor of neither of its own accord."""
    value = _with_collected_roots(value)
    names = {power: sympy.Dummy("power", positive=True) for power in value.atoms(sympy.exp)}
    back = {name: power for power, name in names.items()}
    numerator, denominator = sympy.fraction(sympy.together(value.xreplace(names)))
    return numerator.xreplace(back), denominator.xreplace(back)


def _with_collected_roots(value: Any) -> Any:
    """Equal roots of sums of exponentials in one form, 1 + (n - 1) e^x, whose sign is seen."""
    roots = [power for power in value.atoms(sympy.Pow) if power.base.is_Add and not power.exp.is_Integer]
    changes = {}
    for power in roots:
        terms = sorted(power.base.atoms(sympy.exp), key=sympy.default_sort_key)
        changes[power] = sympy.collect(sympy.expand(power.base), terms) ** power.exp
    return value.xreplace(changes)
