"""The search for uses of rules and hypotheses: what is left of left - right is rewritten until nothing is.

Everything that is found is written down and checked by `verify.kernel`; nothing here has to be right.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from verify.kernel.expressions import Hypothesis, Language
from verify.kernel.functions import Algebra
from verify.kernel.identities import use_of
from verify.kernel.normal_forms import ONE, Factor, Form, Index, Key, Number, summed_in
from verify.kernel.refusal import Refused

Expression = list[Any]
Names = dict[Index, str]
#: So many uses in one part are the most; a search that needs more is given up.
MOST_USES = 400
#: So many uses are tried out in vain in one part before the search is given up.
MOST_TRIALS = 300
#: So many products that are equal to a term are looked through for another term.
MOST_ARRANGEMENTS = 60


class Reader:
    """Normal forms as expressions, with names for indices that nothing else has."""

    def __init__(self, algebra: Algebra, taken: itertools.count[int]) -> None:
        self.algebra, self._numbers = algebra, taken

    def fresh(self) -> str:
        """A name that no index has."""
        return f"u{next(self._numbers)}"

    def of_form(self, form: Form, names: Names) -> Expression:
        """The form, its open indices under these names."""
        terms = [self.of_term(key, value, names) for key, value in form.items()]
        return terms[0] if len(terms) == 1 else ["+", *terms]

    def of_term(self, key: Sequence[Factor], value: Number, names: Names) -> Expression:
        """One term with its sums."""
        over = sorted({i for _, at, _ in key for i in at if i[0] < 0}, reverse=True)
        inside = {**names, **{index: self.fresh() for index in over}}
        found = self.product(key, value, inside)
        for index in over:
            found = ["sum", [inside[index], index[1]], found]
        return found

    def product(self, factors: Sequence[Factor], value: Number, names: Names) -> Expression:
        """A number times factors."""
        parts = [self.of_factor(factor, names) for factor in factors]
        if value != 1 or not parts:
            parts.insert(0, ["q", value.numerator, value.denominator])
        return parts[0] if len(parts) == 1 else ["*", *parts]

    def argument(self, factor: Factor, names: Names) -> list[Any]:
        """The argument of a function, the indices that it binds and its form at the others."""
        atom, at, _ = factor
        own = self.algebra.owns[atom]
        fresh = [self.algebra.fresh(index[1]) for index in at[:own]]
        bound = {index: self.fresh() for index in fresh}
        opened = {index: self.algebra.fresh(index[1]) if index[0] < 0 else index for index in at[own:]}
        form = self.algebra.instance((atom, (*fresh, *(opened[index] for index in at[own:])), ONE))
        inside = {**names, **bound, **{new: names[old] for old, new in opened.items()}}
        return [[[bound[index], index[1]] for index in fresh], self.of_form(form, inside)]

    def of_factor(self, factor: Factor, names: Names) -> Expression:
        """A factor to its power."""
        atom, at, power = factor
        kind, payload = self.algebra.kinds[atom], self.algebra.payloads[atom]
        shown = [names[index] for index in at]
        if kind in ("t", "positive"):
            found: Expression = ["t", payload, shown]
        elif kind in ("size", "delta"):
            found = ["size", payload] if kind == "size" else ["delta", *shown]
        elif kind == "unit":
            found = ["unit", payload[0], *shown]
        elif kind == "prime":
            found = ["q", payload, 1]
        elif kind == "base":
            found = self.argument(factor, names)[1]
        else:
            found = ["f", kind, [self.argument(factor, names)], shown[: self.algebra.owns[atom]]]
        return found if power == 1 else ["power", power.numerator, power.denominator, found]


def use_at(rule: str, arguments: list[Any], at: Any, over: Any, times: Expression) -> dict[str, Any]:
    """One use of a rule of the checker."""
    return {"rule": rule, "arguments": arguments, "at": list(at), "over": over, "times": times}


def bound_at(shown: Names, over: Sequence[Index]) -> list[list[str]]:
    """Indices as a use binds them."""
    return [[shown[index], index[1]] for index in over]


@dataclass(frozen=True)
class Equation:
    """left - right of a rule or hypothesis, over open indices, and how it is used at given ones."""

    form: Form
    use: Callable[[Mapping[Index, Index], Names], dict[str, Any]]


def matches(algebra: Algebra, pattern: Key, term: Key) -> Iterator[tuple[dict[Index, Index], list[Factor]]]:
    """Every way to find a product in a term: its indices as those of the term, and what remains of the term."""

    def extend(done: int, names: dict[Index, Index], left: dict[int, Number]) -> Iterator[Any]:
        if done == len(pattern):
            yield names, left
            return
        atom, places, power = pattern[done]
        for position, (other, at, _) in enumerate(term):
            had = left[position]
            if other != atom or not (had >= power > 0 or had <= power < 0):
                continue
            for order in algebra.groups[atom]:
                trial = dict(names)
                if all(trial.setdefault(p, at[k]) == at[k] for p, k in zip(places, order, strict=True)):
                    yield from extend(done + 1, trial, {**left, position: had - power})

    for names, left in extend(0, {}, {k: factor[2] for k, factor in enumerate(term)}):
        rest = [(atom, at, left[k]) for k, (atom, at, _) in enumerate(term) if left[k]]
        inside = [index for place, index in names.items() if place[0] < 0]
        outside = {i for _, at, _ in rest for i in at} | {i for place, i in names.items() if place[0] >= 0}
        if len(set(inside)) == len(inside) and all(i[0] < 0 and i not in outside for i in inside):
            yield names, rest


class UseSearch:
    """The uses in one part."""

    def __init__(
        self,
        language: Language,
        scope: Mapping[str, Index],
        numbers: itertools.count[int],
        moves: Sequence[Callable[[UseSearch, Form], Form | None]] = (),
    ) -> None:
        self.moves = moves  # what is tried where nothing else applies
        self.language, self.scope, self.hypotheses = language, scope, language.hypotheses
        self.algebra = language.algebra
        self.reader, self.numbers = Reader(self.algebra, numbers), numbers
        self.open = {index: name for name, index in scope.items()}
        self.uses: list[dict[str, Any]] = []
        self._equations: dict[Any, list[Equation]] = {}
        self._trials = 0
        self._failed: set[Any] = set()
        self._settled: set[Any] = set()
        self.passed: set[tuple[int, int]] = set()

    def run(self, form: Form) -> Form:
        """Rewrite as long as anything applies; what is left."""
        while form and len(self.uses) < MOST_USES and self._trials < MOST_TRIALS:
            steps: list[Callable[[Form], Form | None]] = [self._step, self._with_other_argument]
            steps += [*(partial(move, self) for move in self.moves), self._rearranged]
            changed = next((found for step in steps if (found := step(form)) is not None), None)
            if changed is None:
                return form
            form = changed
        return form

    def _step(self, form: Form) -> Form | None:
        equations = list(self._of_hypotheses()) + list(self._of_functions(form))
        for key in sorted(form, key=self._weight, reverse=True):
            for equation in equations:
                found = self._applied(form, key, equation)
                if found is not None:
                    return found
        for key in sorted(form, key=self._weight, reverse=True):
            for factor in key:
                if self.algebra.kinds[factor[0]] == "softmax" and self._has_exponentials(form):
                    found = self._as_quotient(form, key, factor)
                    if found is not None:
                        return found
        return None

    def _applied(self, form: Form, key: Key, equation: Equation) -> Form | None:
        for lead in sorted(equation.form, key=self._weight, reverse=True):
            if not lead or any(self._weight(other)[0] > self._weight(lead)[0] for other in equation.form):
                continue
            for names, rest in matches(self.algebra, lead, key):
                given = {i for form_key in equation.form for _, at, _ in form_key for i in at if i[0] >= 0}
                if not given <= names.keys():
                    continue
                attempt = (id(equation.form), lead, key, tuple(sorted(names.items())))
                if attempt in self._failed:
                    continue
                found = self._with(form, key, equation, names, rest)
                if found is not None:
                    return found
                self._failed.add(attempt)
                self._trials += 1
                if self._trials > MOST_TRIALS:
                    return None
        return None

    def _with(
        self, form: Form, key: Key, equation: Equation, names: Mapping[Index, Index], rest: list[Factor]
    ) -> Form | None:
        """What is left after this use, if it takes the term away for smaller ones."""
        found = self._instance(equation, names, rest)
        if found is None:
            return None
        use, worth, shown = found
        if key not in worth or any(self._weight(other) >= self._weight(key) for other in worth if other != key):
            return None
        value = Fraction(form[key]) / worth[key]
        use["times"] = self.reader.product(rest, value, shown)
        self.uses.append(use)
        return self.algebra.plus([(form, ONE), (worth, -value)])

    def _instance(
        self, equation: Equation, names: Mapping[Index, Index], rest: list[Factor]
    ) -> tuple[dict[str, Any], Form, Names] | None:
        """A use of an equation times what remains of a term, what it is worth, and the names of its indices."""
        kept = {i for _, at, _ in rest for i in at} | {index for place, index in names.items() if place[0] >= 0}
        over = sorted((index for index in kept if index[0] < 0), reverse=True)
        shown = {**self.open, **{index: self.reader.fresh() for index in over}}
        use = {**equation.use(names, shown), "over": bound_at(shown, over)}
        use["times"] = self.reader.product(rest, ONE, shown)
        try:
            return use, use_of(self.language, use, self.scope), shown
        except Refused:
            return None

    def _rearranged(self, form: Form) -> Form | None:
        """One term gives way to another one of the form, by hypotheses that say of two products that they are equal."""
        equations = [equation for equation in self._of_hypotheses() if len(equation.form) == 2]
        for start in sorted(form, key=self._weight, reverse=True):
            found: dict[Key, tuple[Number, list[dict[str, Any]]]] = {start: (form[start], [])}
            waiting = [start]
            while waiting and len(found) < MOST_ARRANGEMENTS:
                key = waiting.pop(0)
                for other, value, use in self._arrangements(key, found[key][0], equations):
                    if other not in found:
                        found[other] = value, [*found[key][1], use]
                        waiting.append(other)
                    if other in form and other != start:
                        self.uses += found[other][1]
                        return self.algebra.plus(
                            [(form, ONE), ({start: form[start]}, -ONE), ({other: found[other][0]}, ONE)]
                        )
        return None

    def _arrangements(
        self, key: Key, value: Number, equations: Sequence[Equation]
    ) -> Iterator[tuple[Key, Number, dict[str, Any]]]:
        """What one use puts in the place of a term: the product, its coefficient, and the use."""
        for equation in equations:
            for lead in equation.form:
                for names, rest in matches(self.algebra, lead, key):
                    if not {i for term in equation.form for _, at, _ in term for i in at if i[0] >= 0} <= names.keys():
                        continue
                    made = self._instance(equation, names, rest)
                    if made is None or len(made[1]) != 2 or key not in made[1]:
                        continue
                    use, worth, shown = made
                    times = Fraction(value) / worth[key]
                    use["times"] = self.reader.product(rest, times, shown)
                    ((other, left),) = ((k, v) for k, v in worth.items() if k != key)
                    yield other, -left * times, use

    def _with_other_argument(self, form: Form) -> Form | None:
        """A function whose argument the hypotheses and rules make smaller, with that in its place."""
        for key in sorted(form, key=self._weight, reverse=True):
            for factor in key:
                atom, at, _ = factor
                known = (atom, tuple(sorted(at).index(index) for index in at))
                if isinstance(self.algebra.payloads[atom], dict) and known not in self._settled:
                    found = self._rewritten(form, key, factor)
                    if found is not None:
                        return found
                    self._settled.add(known)
        return None

    def _rewritten(self, form: Form, key: Key, factor: Factor) -> Form | None:
        (atom, at, power), algebra = factor, self.algebra
        kind, own = algebra.kinds[atom], algebra.owns[atom]
        shown, summed = self.named(key)
        over = bound_at(shown, summed)
        bound, argument = self.reader.argument((atom, at, ONE), shown)
        together = kind in ("exp", "base")  # the power goes with it
        if kind == "exp" and power != 1:
            argument = ["*", ["q", power.numerator, power.denominator], argument]
        scope = dict(self.scope)
        scope |= {name: algebra.fresh(size) for name, size in (*over, *bound)}
        inner = UseSearch(self.language, scope, self.numbers)
        rest = inner.run(self.language.form(argument, scope))
        if not inner.uses:
            return None
        head = ["power", power.numerator, power.denominator] if kind == "base" else kind
        other = inner.reader.of_form(rest, {index: name for name, index in scope.items()})
        left = [] if together or power == 1 else [(atom, at, power - 1)]
        times = self.reader.product([*(f for f in key if f != factor), *left], form[key], shown)
        ends = [shown[index] for index in at[:own]]
        return self.after(
            form, key, use_at("equal arguments", [head, [bound, argument], other, inner.uses], ends, over, times)
        )

    def after(self, form: Form, key: Key, use: dict[str, Any]) -> Form | None:
        """What is left after a use, if it takes the term away."""
        return self.after_all(form, key, [use])

    def after_all(
        self, form: Form, key: Key, uses: Sequence[dict[str, Any]], most_more: float = math.inf
    ) -> Form | None:
        """What is left after several uses, if together they take the term away, for at most so many terms more."""
        worth = self.worth(uses)
        found = None if worth is None else self.algebra.plus([(form, ONE), (worth, -ONE)])
        if found is None or key in found or len(found) > len(form) + most_more:
            return None
        self.uses += uses
        return found

    def named(self, key: Key) -> tuple[Names, list[Index]]:
        """The names of the indices of a term, and the summed ones."""
        over = sorted(summed_in(key), reverse=True)
        return {**self.open, **{index: self.reader.fresh() for index in over}}, over

    def worth(self, uses: Sequence[dict[str, Any]]) -> Form | None:
        """What several uses are worth together, unless one is refused."""
        try:
            worths = [use_of(self.language, use, self.scope) for use in uses]
        except Refused:
            return None
        return self.algebra.plus((worth, ONE) for worth in worths)

    # -- equations -----------------------------------------------------------------------------------------------------

    def _of_hypotheses(self) -> Iterator[Equation]:
        for number, item in enumerate(self.hypotheses):

            def use(names: Mapping[Index, Index], shown: Names, number: int = number, item: Hypothesis = item) -> Any:
                return {"hypothesis": number, "at": [shown[names[index]] for index in item.indices]}

            yield Equation(item.difference, use)

    def _of_functions(self, form: Form) -> Iterator[Equation]:
        """What the rules say of the functions that occur."""
        for key in form:
            for atom, at, power in key:
                kind = self.algebra.kinds[atom]
                makers = {
                    "softmax": self._rows,
                    "base": self._next_power,
                    "inverse": self._inverses,
                    "expm": self._opposite,
                }
                if kind not in makers or (kind == "base" and power > 0):
                    continue
                known = (atom, power if kind == "base" else ONE)
                if known not in self._equations:
                    own = [self.algebra.fresh(index[1]) for index in at]
                    self._equations[known] = list(makers[kind]((atom, tuple(own), known[1])))
        for equations in self._equations.values():
            yield from equations

    def _moved(self, factor: Factor, names: Mapping[Index, Index], shown: Names) -> list[Any]:
        """The argument of a function whose free indices are at others; those that it binds do not matter."""
        atom, at, power = factor
        return self.reader.argument((atom, tuple(names.get(i, i) for i in at), power), shown)

    def _rows(self, factor: Factor) -> Iterator[Equation]:
        atom, at, _ = factor
        own = at[: self.algebra.owns[atom]]
        total = self.algebra.summed(self.algebra.collected([(ONE, [factor], frozenset())]), own)

        def use(names: Mapping[Index, Index], shown: Names) -> Any:
            return {"rule": "softmax rows", "arguments": [self._moved(factor, names, shown)], "at": []}

        yield Equation(self.algebra.plus([(total, ONE), ({(): ONE}, -ONE)]), use)

    def _next_power(self, factor: Factor) -> Iterator[Equation]:
        atom, at, power = factor
        inner = self.algebra.instance((atom, at, ONE))
        itself = self.algebra.collected([(ONE, [factor], frozenset())])
        following = self.algebra.collected([(ONE, [(atom, at, power + 1)], frozenset())])

        def use(names: Mapping[Index, Index], shown: Names) -> Any:
            argument = self._moved(factor, names, shown)
            return {"rule": "power", "arguments": [argument, power.numerator, power.denominator], "at": []}

        yield Equation(self.algebra.plus([(self.algebra.times(inner, itself), ONE), (following, -ONE)]), use)

    def _inverses(self, factor: Factor) -> Iterator[Equation]:
        for rule in ("inverse left", "inverse right"):
            yield from self._at_ends(rule, factor)

    def _opposite(self, factor: Factor) -> Iterator[Equation]:
        yield from self._at_ends("opposite exponentials", factor)

    def _at_ends(self, rule: str, factor: Factor) -> Iterator[Equation]:
        """A rule whose argument is that of the function, for new ends."""
        atom, at, _ = factor
        own = self.algebra.owns[atom]
        ends = [self.algebra.fresh(index[1]) for index in at[:own]]

        def use(names: Mapping[Index, Index], shown: Names) -> Any:
            at = [shown[names[index]] for index in ends]
            return {"rule": rule, "arguments": [self._moved(factor, names, shown)], "at": at}

        free = {index: index for index in (*ends, *at[own:])}
        shown = {index: f"e{index[0]}" for index in free}
        scope = {name: index for index, name in shown.items()}
        made = {**use(free, shown), "over": [], "times": ["q", 1, 1]}
        yield Equation(use_of(self.language, made, scope), use)

    # -- softmax as a quotient -----------------------------------------------------------------------------------------

    def _has_exponentials(self, form: Form) -> bool:
        return any(self.algebra.kinds[atom] in ("exp", "base") for key in form for atom, _, _ in key)

    def _as_quotient(self, form: Form, key: Key, factor: Factor) -> Form | None:
        """A_j = E_j / Z in one term, by two uses: A_j Z = E_j times 1 / Z, and Z / Z = 1 times A_j."""
        atom, at, power = factor
        own = self.algebra.owns[atom]
        rest = [*(other for other in key if other != factor), *([(atom, at, power - 1)] if power != 1 else [])]
        shown, summed = self.named(key)
        bound, argument = bound_at(shown, summed), self.reader.argument(factor, shown)
        total: Expression = ["f", "exp", [[[], argument[1]]], []]
        for index in argument[0]:
            total = ["sum", index, total]
        outside = self.reader.product(rest, form[key], shown)
        names = [shown[index] for index in at[:own]]
        again = self.reader.argument(factor, shown)
        once = ["*", outside, ["power", -1, 1, total]]
        less = ["*", ["q", -1, 1], outside, ["f", "softmax", [again], names]]
        uses = use_at("softmax", [argument], names, bound, once), use_at("power", [[[], total], -1, 1], [], bound, less)
        return self.after_all(form, key, uses)

    def _weight(self, key: Key) -> tuple[Any, ...]:
        """What rewriting makes smaller: how many factors with indices there are, deltas aside, then which."""
        kinds = self.algebra.kinds
        return sum(abs(power) for atom, at, power in key if at and kinds[atom] != "delta"), len(key), key
