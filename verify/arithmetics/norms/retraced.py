"""The derivation of one entry again, in the normal forms of the checker: which of its steps lead on, and what they leave out.

Nothing here is trusted: what a derivation leaves out is tried, and whatever comes out the checker has to accept.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy

from verify.arithmetics.norms import subdivision
from verify.arithmetics.norms.atoms import SMALLEST
from verify.arithmetics.norms.derivations import EntryBound
from verify.arithmetics.norms.reasons import ATTEMPTS, DEPTH, comparison_of, subtracted
from verify.arithmetics.norms.recording import (
    LARGEST_SIZE,
    NotCertified,
    Steps,
    Writer,
    any_of,
    beside,
    family_of,
    generators,
    row_source,
    size_of,
    text_of,
)
from verify.arithmetics.norms.two_block_instances import TwoBlocks
from verify.kernel import bound_rules, places, quantities
from verify.kernel import bounds as kernel
from verify.kernel.refusal import Refused

ONE = quantities.number(1)
#: Times that a value gives way to another, in one derivation.
LONGEST = 600
#: Rules of the checker by which nothing has to be shown.
UNCONDITIONAL: set[str] = set()


class Retraced:
    """One entry: its value as the checker sees it, and the steps that have led there."""

    smallest_first = True  # whether smallest singular values are replaced before anything else

    def __init__(self, writer: Writer, entry: EntryBound, facts: list[int]) -> None:
        self.w, self.entry, self.facts = writer, entry, facts
        self.left, self.right = writer.scalar(entry.left), writer.scalar(entry.right)
        self.value, self.aim = writer.value(self.left), writer.value(self.right)
        if entry.turned:
            self.value, self.aim = (side * quantities.number(-1) for side in (self.aim, self.value))
        self.steps: list[dict[str, Any]] = []
        self.outside = [
            g
            for g in generators(self.aim)
            if g[0] in ("max", "max over", "sum over") or (g[0] == "sum" and g[1].number() is None)
        ]
        self.kept: set[Any] = set(generators(self.aim, self.outside))
        self.aims_at_sums = any(g[0] == "sum over" for g in generators(self.aim))
        self.offers: dict[Any, list[Any]] = {}

    def part(self) -> dict[str, Any]:
        if any(step.rule == subdivision.BOXES for step in self.entry.steps):
            tree = subdivision.tree_of(self.aim - self.value, self.w.assumed.facts)
            if tree is None:
                raise NotCertified("no tree of boxes")
            return {**self.stated(), "comparison": ["boxes", tree]}
        if self.entry.cases:
            return {**self.stated(), "comparison": self._by_cases()}
        if (written := TwoBlocks(self.w, self.entry, self._fewest).written()) is not None:
            return {**self.stated(), "steps": written[0], "comparison": written[1]}
        self.w.point_directions(self.entry.steps)
        for step in self.entry.steps:
            self._offer(step)
        start, steps, attempts = self.value, list(self.steps), [(self.kept, True)]
        if self.kept & self.offers.keys():
            attempts.append((set(self.outside), True))
        if any(g[0] == SMALLEST for g in self.offers):
            attempts.append((self.kept, False))
        for last, (kept, self.smallest_first) in enumerate(attempts, 1 - len(attempts)):
            self.value, self.steps, self.kept = start, list(steps), kept
            try:
                return {**self.stated(), "comparison": self._finished(), "steps": self.steps}
            except NotCertified:
                if last == 0:
                    raise
        raise AssertionError("no attempt")

    def _by_cases(self) -> list[Any]:
        """The reason for each of several numbers in the place of their largest on the right-hand side."""
        symbol, found = self.entry.steps[0].quantity, []
        for value, case in zip(self.w.known.atoms[symbol].payload, self.entry.cases, strict=True):
            made = Retraced(self.w, case, self.facts).part()
            reason = ["steps", made["steps"], made["comparison"]] if made["steps"] else made["comparison"]
            found.append([self.w.scalar(value), reason])
        return ["cases", self.w.scalar(symbol), found]

    def stated(self) -> dict[str, Any]:
        """What is to be shown, without steps."""
        index = None if self.entry.index is None else self.w.index(self.entry.index)
        found: dict[str, Any] = {"index": index, "left": self.left, "right": self.right, "steps": [], "comparison": []}
        return found | ({"turned": True} if self.entry.turned else {})

    def _fewest(self, gap: Any, known: list[Any]) -> list[list[Any]] | None:
        """Few multiples of facts before many."""
        tried = (subtracted(gap, self.w, known, depth, [ATTEMPTS]) for depth in range(1, DEPTH))
        return next((taken for taken in tried if taken is not None), None)

    def _offer(self, step: Any) -> None:
        value = self._said(step.quantity)
        if value is None or value == self._said(step.bound):
            return  # the checker sees no difference
        for g in {g for monomial in value.terms for g, _ in monomial if g[0] not in ("size", "scalar", "sum", "abs")}:
            self.offers.setdefault(g, []).append(step)

    def _said(self, scalar: Any) -> Any:
        """A scalar as the checker has it; None if it has no expression, and a rule of the checker passes over it."""
        with contextlib.suppress(NotCertified, Refused):
            return self.w.value(self.w.scalar(scalar))
        return None

    def _finished(self) -> list[Any]:
        if (reason := self._by_blocks()) is not None:
            return reason
        for _ in range(LONGEST):
            if not self._step():
                break
        reason = comparison_of(self.value, self.aim, self.w, self.facts)
        if reason is None:
            left = {rule.split("; ")[0] for g in generators(self.value) for rule in self._rules_for(g)}
            raise NotCertified(f"not written yet: {', '.join(sorted(left)) or 'the final comparison'}")
        return reason

    def _by_blocks(self) -> list[Any] | None:
        """The reason by the squares of the blocks that a norm on the right is made of."""
        w, reason = self.w, list[Any](["terms"])
        for step in self.entry.steps:
            if step.rule == "blocks" and step.quantity not in w.known.atoms:  # of the right side, where they are equal
                reason = ["instance", *w.step(*step.written), [], w.scalar(1), reason]
        if len(reason) == 1:
            return None
        reason = ["squares", reason]
        try:
            kernel.compare(self.value, w.value(self.right), reason, w.assumed, w.reader.table)
        except (Refused, *kernel.ERRORS):
            return None
        return reason

    def _reason(self, a: Any, b: Any) -> list[Any] | None:
        return comparison_of(a, b, self.w, self.facts, 1)

    def _rules_for(self, g: Any) -> list[str]:
        return [step.rule for step in self.offers.get(g, ())] if g not in self.kept else []

    def _step(self) -> bool:
        if self._leads_on(self._from_below([quantities.number(1)])):  # before what is beside it has no certain sign
            return True
        reached = [g for g in generators(self.value, set(self.outside)) if g not in self.kept]
        if self.smallest_first:  # before what it is divided by, of which nothing may be written later
            reached.sort(key=lambda g: g[0] != SMALLEST)
        if not self.aims_at_sums and any(
            self._leads_on(self._stacks_of(g)) for g in reached if set(self._rules_for(g)) <= {"blocks"}
        ):
            return True
        for exactly in (True, False):
            for g in reached:
                for step in self.offers.get(g, ()):
                    wanted = self._said(step.quantity), self._said(step.bound)
                    if exactly and None in wanted:
                        continue
                    if self._leads_on(self._instances(g, step), (g, *wanted) if exactly else None):
                        return True
        if any(self._leads_on(self._by_assumption(g)) for g in reached):
            return True
        if self._leads_on(self._from_below(_divisors(self.aim))):
            return True
        return any(self._leads_on(self._own(g)) for g in reached)

    def _from_below(self, smaller: list[Any]) -> Iterator[Steps]:
        """Some numbers, as what the right side divides by, in the place of something larger that the value divides by."""
        there = _divisors(self.aim)
        lower = {g for g, steps in self.offers.items() if any(-step.quantity in self.w.known.atoms for step in steps)}
        for whole, b in itertools.product(_divisors(self.value), smaller):
            if whole in there or not lower & set(generators(whole)):
                continue
            why = _Lowering(self, whole, b).reason()
            positive = comparison_of(quantities.number(0), b, self.w, self.facts)
            if why is None or positive is None:
                continue
            sides = [self.w.of_scalar(side) for side in (whole, b)]
            step = ("from below", [*sides, self.w.power(sides[1], sympy.Integer(-1))], [why, positive])
            (g,) = {g for m in (b**-1).terms for g, _ in m} or {None}
            if g is not None:  # the right side with what is to be replaced, if the value is at most that
                aim = places.replaced(self.aim, g, whole)
                reason = comparison_of(self.value, aim, self.w, self.facts)
                if reason is not None:
                    yield [("comparison", [self.w.of_scalar(aim)], reason), step]
            yield [step]

    def _leads_on(self, choices: Iterator[Steps], wanted: Any = None) -> bool:
        """Take the first of several choices that leads on."""
        try:
            return any(self._take(steps, wanted) for steps in choices)
        except (Refused, StopIteration):  # a choice that cannot even be written
            return False

    def _take(self, steps: Steps, wanted: Any = None) -> bool:
        """Take steps, where they lead on; with what is wanted only where they lead to that bound of the quantity."""
        before = self.value, len(self.steps)
        self.w.try_one(1 + size_of(self.value) // 8)
        if wanted is not None:
            g, quantity, bound = wanted
            ((monomial, c),) = quantity.terms.items()
            factor = quantities.Scalar({monomial - {(g, Fraction(1))}: c})
            after = places.replaced(before[0], g, bound.over(factor), self.outside)
        try:
            for step in steps:
                made: dict[str, Any] = {"rule": step[0], "arguments": step[1]}
                inside = generators(self.value, set())
                if outside := [self.w.in_a_scalar(g) for g in self.outside if g in inside]:
                    made["outside"] = outside
                if reasons := step[2] if len(step) > 2 else self._reasons_for(*step):
                    made["reasons"] = reasons
                self.value = kernel.stepped(self.value, made, self.w.assumed, self.w.reader.table)
                self.steps.append(made)
        except (Refused, *kernel.ERRORS):
            pass
        else:
            if self.value != before[0] and (wanted is None or self.value == after):
                if size_of(self.value) > LARGEST_SIZE:
                    raise NotCertified(f"more than {LARGEST_SIZE} terms on the way")
                return True
        self.value = before[0]
        del self.steps[before[1] :]
        return False

    # -- steps of derivations ------------------------------------------------------------------------------------------

    def _instances(self, g: Any, step: Any) -> Iterator[Steps]:
        """Steps of the checker that may stand for one step of the derivation, which is about the generator g."""
        for steps in self.w.alternatives(step.written):
            if self.aims_at_sums or not any(rule == "stack" for rule, *_ in steps):
                with contextlib.suppress(Refused, *kernel.ERRORS):
                    yield [self._compared(g, *made) if rule == "instance" else (rule, *made) for rule, *made in steps]

    def _compared(self, g: Any, rule: str, arguments: list[Any]) -> tuple[Any, ...]:
        """The value with a multiple of what a rule says added, which takes away the generator g on either side of it."""
        reasons = self._reasons_for(rule, arguments)
        less, more = kernel.instance(rule, self._values(arguments), reasons, self.w.assumed, self.w.reader.table)
        own = beside(less, g) if beside(less, g).terms else beside(more, g) * quantities.number(-1)
        multiplier = beside(self.value, g).over(own)
        after = self.value + multiplier * (more - less)
        why = ["instance", rule, arguments, reasons, self.w.of_scalar(multiplier), ["terms"]]
        return "comparison", [self.w.of_scalar(after)], why

    def _values(self, arguments: list[Any]) -> list[Any]:
        return [self.w.value(item) if isinstance(item, int) else item for item in arguments]

    def _reasons_for(self, rule: str, arguments: list[Any]) -> list[Any]:
        """Reasons for what a rule of the checker asks of its arguments; refused where there is none for a part of it."""
        if rule in UNCONDITIONAL or rule not in bound_rules.RULES:
            return []
        _, _, *conditions = bound_rules.RULES[rule][1](*self._values(arguments))
        found = [self._shown(*condition) for condition in conditions if isinstance(condition, tuple)]
        if None in found:
            raise Refused("what a rule asks for is not known")
        if not found:
            UNCONDITIONAL.add(rule)
        return found

    def _shown(self, a: Any, b: Any) -> list[Any] | None:
        """A reason for what a rule asks for; few are tried for sizes, and for norms that are at most 1: all would take minutes."""
        w, norms = self.w, [g for monomial in a.terms for g, _ in monomial if g[:2] == ("norm", "2")]
        tried: list[Any] = [["terms"], *(["facts", [[k, w.scalar(1)]], ["terms"]] for k in range(len(self.facts)))]
        if b == ONE and norms:
            matrix, multiple = w.matrix(any_of(norms[0][2])), w.of_scalar(beside(a, norms[0]))
            for name in ("spectral at most Frobenius", "orthonormal", "orthonormal by assumption"):
                for why in (["terms"], ["denominators", ["terms"]]):
                    tried.append(["instance", name, [matrix], [], multiple, why])
        elif any(g[0] != "size" for g in (*generators(a), *generators(b))):
            return self._reason(a, b)
        for reason in tried:
            with contextlib.suppress(Refused, *kernel.ERRORS):
                kernel.compare(a, b, reason, w.assumed, w.reader.table)
                return reason  # type: ignore[no-any-return]
        return None

    # -- what no step of a derivation says -----------------------------------------------------------------------------

    def _by_assumption(self, g: Any) -> Iterator[Steps]:
        """What an assumption says that a largest value is at most."""
        for fact in self.facts if g[0] == "max over" else ():
            if g not in generators(self.w.value(fact) + quantities.generator_of(g)):
                yield [("assumption", [fact, self.w.of_generator(g)])]

    def _own(self, g: Any) -> Iterator[Steps]:
        if g[0] == "sum":
            for h in self.outside:
                if h[0] == "sum" and (reason := self._reason(g[1], h[1])) is not None:
                    yield [("sum", [self.w.of_scalar(g[1]), self.w.of_scalar(h[1])], [reason])]
        if g[0] == "sum over":
            yield from self._of_sum_over(g[1], g[2])
        for A in sorted(g[2], key=text_of) if g[0] == "norm" else ():
            kind, index, inner = family_of(A) or (None, None, None)
            if kind == "sum over":
                yield [("sum over an index", [g[1], self.w.place_of(index), self.w.matrix(inner)])]
            for name, rule in (("softmax", "softmax row"), ("exponential", "exponential of a skew matrix")):
                if (item := quantities.single_atom(A, name)) is not None:
                    yield [(rule, [self.w.matrix(item[4])])]
        yield from self._stacks_of(g)

    def _stacks_of(self, g: Any) -> Iterator[Steps]:
        for A in sorted(g[2], key=text_of) if g[0] == "norm" else ():
            if (family := family_of(A)) is not None and family[0] == "stack":
                arguments = [g[1], self.w.place_of(family[1]), self.w.matrix(family[2])]
                rules = ("stack", "stack of one length") if self.aims_at_sums else ("stack of one length",)
                yield from ([(rule, arguments)] for rule in rules)

    def _of_sum_over(self, index: Any, body: Any) -> Iterator[Steps]:
        i = self.w.place_of(index)
        for monomial in (sorted(one, key=text_of) for one in sorted(body.terms, key=text_of)):
            rows = [(h, e, A) for h, e in monomial if (A := row_source(h, index)) is not None]
            for _, e, A in rows:
                total = {h for m in bound_rules.total(A).terms for h, _ in m}
                if len(monomial) == 1 and e == 1 and total & self.kept:
                    yield [("sum of absolute values", [i, self.w.matrix(A)])]
                if len(monomial) == 1 and e == 2:
                    yield [("squares of rows", [i, self.w.matrix(A)])]
                if len(monomial) == 1 and e == 1:
                    yield [("Cauchy-Schwarz", [i, self.w.matrix(A)])]
            for h, _ in monomial:
                if not (len(rows) == 1 and h == rows[0][0]) and index in quantities.free_in(h):
                    yield [("largest over an index", [i, self.w.of_generator(h)])]
            for h, _, _ in rows:
                yield [("largest over an index", [i, self.w.of_generator(h)])]


class _Lowering(Retraced):
    """-whole <= -b, by the steps of a derivation."""

    def __init__(self, outer: Retraced, whole: Any, b: Any) -> None:
        self.w, self.facts, self.offers = outer.w, outer.facts, outer.offers
        minus = quantities.number(-1)
        self.value, self.aim = whole * minus, b * minus
        self.steps, self.outside, self.kept, self.aims_at_sums = [], [], set(generators(b)), False

    def _by_blocks(self) -> list[Any] | None:
        return None

    def reason(self) -> list[Any] | None:
        with contextlib.suppress(NotCertified):
            last = self._finished()
            return ["steps", self.steps, last] if self.steps else last
        return None

    def _from_below(self, smaller: list[Any]) -> Iterator[Steps]:
        return iter(())


def _divisors(value: Any) -> list[Any]:
    """What a scalar is divided by: quantities, and sums in the form in which they are replaced."""
    found = {g for m in value.terms for g, e in m if e < 0 and g[0] not in ("size", "scalar", "exp", "power")}
    return [g[1] if g[0] == "sum" else quantities.generator_of(g) for g in sorted(found, key=text_of)]
