"""Certificates of derivations: what `verify.kernel.bounds` checks, written from the steps that a search has found.

Nothing here is trusted: what a derivation leaves out is tried, and whatever comes out the checker has to accept.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import sympy

from verify.arithmetics.norms import isometry_instances, lower_instances, subdivision
from verify.arithmetics.norms.atoms import SMALLEST
from verify.arithmetics.norms.derivations import BoundProof, EntryBound
from verify.arithmetics.norms.instances import Instances, Steps
from verify.arithmetics.norms.recording import (
    LARGEST_SIZE,
    NotCertified,
    Writer,
    any_of,
    beside,
    generators,
    matrix_of_rows,
    size_of,
    text_of,
)
from verify.arithmetics.norms.two_block_instances import TwoBlocks
from verify.arithmetics.norms.world import resumed
from verify.kernel import bounds as kernel
from verify.kernel import places, quantities
from verify.kernel.bound_rules import multiplied
from verify.kernel.refusal import Refused

#: Whether a claim is about sizes from a number on alone.
IsAtLeast = Callable[[sympy.Symbol, int], bool]


def certificate_of(
    claim_id: str,
    proof: BoundProof,
    steps: bool = True,
    is_at_least: IsAtLeast = lambda size, least: False,
    granted: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Any]:
    """The certificate of a proved bound; raises `NotCertified` where a part of it cannot be written yet.

    Without `steps` it has the statement alone, and the checker would not accept it.  `is_at_least` says of which sizes the
    claim is only from 2 on: where a derivation needs that, the certificate says it, or has a case for what is smaller.  Of a
    bound that was stated and not derived, `granted` has those sizes, with what they are at least.
    """
    assert proof.world is not None
    least = {**granted, **{name: value + 1 for name, value in proof.cases}}
    least |= {size.name: 2 for size in _shortened(proof) if is_at_least(size, 2)}
    cases = [
        {"size": name, "value": value, "certificate": certificate_of(claim_id, case, steps)}
        for (name, value), case in proof.cases.items()
    ]
    with resumed(proof.world):
        writer = Writer(proof.world, least)
        facts = list(_assumptions(writer, proof.world.facts))
        facts += [
            writer.add("+", writer.scalar(bound), writer.scalar(-symbol))
            for symbol, bound in proof.world.assumed.items()
        ]
        frames = list(map(writer.node, writer.frames))
        multiples = list(isometry_instances.assumed(writer))
        writer.assumed = kernel.Assumed(
            [writer.value(fact) for fact in facts],
            [writer.value(frame) for frame in frames],
            [(writer.value(P), writer.value(c)) for P, c in multiples],
        )
        writer.given = len(facts)
        for entry in proof.entries:
            writer.scalar(entry.left), writer.scalar(entry.right)
        writer.stated = True
        replays = [_Replay(writer, entry, facts) for entry in proof.entries]
        parts = [replay.part() if steps else replay.stated() for replay in replays]
    return {
        "format": kernel.FORMAT, "kind": "bound", "claim": claim_id,
        "sizes": [[name, k] if k > 1 else name for name, k in sorted(writer.sizes.items())],
        "scalars": writer.scalars, "inputs": writer.inputs, "table": writer.entries, "nonzero": sorted(writer.nonzero),
        "assumptions": facts, "orthonormal": frames,
        "parts": parts,
    } | ({"cases": cases} if cases else {}) | ({"multiples": multiples} if multiples else {})  # fmt: skip


def _shortened(proof: BoundProof) -> set[Any]:
    """The sizes n of which n - 1 is the size of a matrix without a column, or is divided by."""
    assert proof.world is not None
    every = proof.world.nodes.values()
    sizes = {sympy.expand(node.shape[1] + 1) for node in every if node.kind == "without column"}
    if "distance from rank one" in proof.rules:
        sizes |= {sympy.expand(item.expression + 2) for item in proof.conditions if item.least == 0}
    return {size for size in sizes if size.is_Symbol and size.is_integer}


def _assumptions(writer: Writer, facts: Iterable[Any]) -> Iterator[int]:
    """The assumptions that have an expression: what is certified without one of the others is only more general."""
    for fact in facts:
        with contextlib.suppress(NotCertified):
            yield writer.scalar(fact)


#: How many multiples of assumptions are taken off in a row, and are tried.
DEPTH, ATTEMPTS = 8, 40
#: Times that a value gives way to another, in one derivation.
LONGEST = 600
#: Terms of both sides beyond which no reason is sought but the plainest.
LARGEST_COMPARED = 80


class _Replay(Instances):
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
        if (written := TwoBlocks(self.w, self.entry, self._subtracted).written()) is not None:
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
            made = _Replay(self.w, case, self.facts).part()
            reason = ["steps", made["steps"], made["comparison"]] if made["steps"] else made["comparison"]
            found.append([self.w.scalar(value), reason])
        return ["cases", self.w.scalar(symbol), found]

    def stated(self) -> dict[str, Any]:
        """What is to be shown, without steps."""
        index = None if self.entry.index is None else self.w.index(self.entry.index)
        found: dict[str, Any] = {"index": index, "left": self.left, "right": self.right, "steps": [], "comparison": []}
        return found | ({"turned": True} if self.entry.turned else {})

    def _subtracted(self, gap: Any, known: list[Any]) -> list[list[Any]] | None:
        """Few multiples of facts before many."""
        tried = (_subtracted(gap, self.w, known, depth, [ATTEMPTS]) for depth in range(1, DEPTH))
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
                node = w.known.atoms[step.bound].payload[0]
                node = node.parts[0] if node.kind == "transpose" else node
                parts = list(map(w.node, node.parts))
                family = [w.index(node.data[0])] if node.kind == "stack" else []
                rule = "squares of a stack" if family else "squares of blocks"
                reason = ["instance", rule, [*family, *parts], [], w.scalar(1), reason]
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


class _Lowering(_Replay):
    """-whole <= -b, by the steps of a derivation."""

    def __init__(self, outer: _Replay, whole: Any, b: Any) -> None:
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


# -- comparisons -------------------------------------------------------------------------------------------------------


def comparison_of(a: Any, b: Any, w: Writer, facts: list[int], depth: int = 4) -> list[Any] | None:
    """A reason for a <= b that the checker accepts."""
    for reason in _reasons(a, b, w, facts, depth):
        try:
            kernel.compare(a, b, reason, w.assumed, w.reader.table)
        except (Refused, *kernel.ERRORS):
            continue
        return reason
    return None


def _reasons(a: Any, b: Any, w: Writer, facts: list[int], depth: int) -> Iterator[list[Any]]:
    yield ["terms"]
    several = sorted({g for side in (a, b) for g in generators(side) if g[0] == "max"}, key=_by_compounds)
    apart = bool(several) and _by_compounds(several[0])[0] < 0  # without telling them apart nothing is known of these
    if apart and depth > 0:
        yield from _cases(several, a, b, w, facts, depth)
    if (pairs := _in_pairs(a, b)) is not None:
        parts = [[w.of_scalar(one), w.of_scalar(other), ["squares", ["terms"]]] for one, other in pairs]
        yield ["parts", parts]
    if size_of(a) + size_of(b) > LARGEST_COMPARED:
        return
    yield from _at_ones(a, w)
    minus = quantities.number(-1)
    if a.terms and b.terms and all(quantities.is_nonnegative(side * minus) for side in (a, b)):  # to compare squares
        yield from (["turned", reason] for reason in _reasons(b * minus, a * minus, w, facts, depth))
        return
    yield ["squares", ["terms"]]
    yield ["denominators", ["terms"]]
    yield ["squares", ["denominators", ["terms"]]]
    if depth == 0:
        return
    for g in [*generators(b), *generators(a)]:
        if g[0] == "exp":
            yield ["growth", w.of_generator(g), ["terms"]]
            yield ["denominators", ["growth", w.of_generator(g), ["terms"]]]
            yield ["growth", w.of_generator(g), ["denominators", ["terms"]]]
    exponents = [[g[1] * quantities.number(e) for m in side.terms for g, e in m if g[0] == "exp"] for side in (a, b)]
    if all(len(found) == 1 for found in exponents):
        (x,), (y,) = exponents
        inner = comparison_of(x, y, w, facts, depth - 1)
        if inner is not None:
            yield ["exponents", w.of_scalar(x), w.of_scalar(y), inner]
    yield from _ranges(a, b, w)
    yield from _at_ones(a, w)
    yield from _means(a, w)
    yield from lower_instances.reasons(a, b, w)
    yield from _reverse_triangles(b, w)
    yield from _by_frobenius(a, b, w)
    yield from _skew_images(a, w)
    yield from isometry_instances.reasons(a, w)
    gaps: list[tuple[Any, Any]] = [(b - a, lambda why: why), (b * b - a * a, lambda why: ["squares", why])]
    with contextlib.suppress(Refused):
        gaps.append((kernel.without_denominators(b - a, w.assumed.facts), lambda why: ["denominators", why]))
        gaps.append(
            (
                kernel.without_denominators(b * b - a * a, w.assumed.facts),
                lambda why: ["squares", ["denominators", why]],
            )
        )
    every = range(len(facts))
    yield from _by_facts(gaps, every[w.given :], 1, w, facts)  # those of a case first
    if not apart:
        yield from _by_facts(gaps, every, 1, w, facts)
        yield from _cases(several, a, b, w, facts, depth)
        yield from _by_facts(gaps, every, 1, w, facts, any_term=True)
        yield from _by_facts(gaps, every, 2, w, facts)


def _in_pairs(a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """Each term of a with one of b whose square is no smaller, where there are roots of sums among their factors."""
    rooted = [[m for m in side.terms if any(g[0] == "sum" and e.denominator == 2 for g, e in m)] for side in (a, b)]
    if len(a.terms) < 2 or not all(rooted):
        return None
    one, other = ([quantities.Scalar({m: c}) for m, c in side.terms.items()] for side in (a, b))
    if not all(map(quantities.is_nonnegative, (*one, *other))):
        return None
    found = []
    for term in one:
        larger = next((more for more in other if quantities.is_nonnegative(more**2 - term**2)), None)
        if larger is None:
            return None
        other.remove(larger)
        found.append((term, larger))
    return found


def _by_facts(
    gaps: Any, used: Any, most: int, w: Writer, facts: list[int], any_term: bool = False
) -> Iterator[list[Any]]:
    """Multiples of assumptions, or of products of two, taken off what the right side is above the left one."""
    products = [list(chosen) for chosen in itertools.combinations_with_replacement(used, most)]
    values = [(chosen, multiplied(*(w.value(facts[k]) for k in chosen))) for chosen in products]
    for gap, reason in gaps if products else ():
        if (taken := _subtracted(gap, w, values, DEPTH, [ATTEMPTS], any_term)) is not None:
            yield reason(["facts", taken, ["terms"]])


def _cases(several: list[Any], a: Any, b: Any, w: Writer, facts: list[int], depth: int) -> Iterator[list[Any]]:
    """Both sides with each of several numbers in the place of their largest."""
    for g in several[:1]:
        members = {w.of_scalar(member): member for member in sorted(g[1], key=text_of)}
        cases, before = [], w.assumed
        try:
            for place, member in members.items():
                known = [*facts, *(w.difference(place, other) for other in members)]
                w.assumed = before._replace(facts=[w.value(fact) for fact in known])
                left, right = (places.replaced(side, g, member) for side in (a, b))
                cases.append([place, comparison_of(left, right, w, known, depth - 1)])
                if cases[-1][1] is None:
                    return
        finally:
            w.assumed = before
        yield ["cases", w.of_generator(g), cases]


def _by_compounds(g: Any) -> tuple[int, str]:
    return -sum(size_of(member) > 1 or any(len(m) > 1 for m in member.terms) for member in g[1]), text_of(g)


def _ranges(a: Any, b: Any, w: Writer) -> Iterator[list[Any]]:
    """A multiple of the largest range of the rows of a matrix, which is not negative."""
    for g in (g for g in generators(b) if g[0] == "max over" and not quantities.is_nonnegative_generator(g)):
        values = [h for m in g[2].terms for h, _ in m if h[0] == "largest value"]
        rows = [T for h in values for X in sorted(h[1], key=text_of) if (T := matrix_of_rows(X, g[1])) is not None]
        for T in rows:
            multiplier = w.of_scalar(beside(b - a, g))
            yield ["instance", "range", [w.place_of(g[1]), w.matrix(T)], [], multiplier, ["terms"]]


def _at_ones(a: Any, w: Writer) -> Iterator[list[Any]]:
    """-||softmax(T)||_2 <= -sqrt(m / n)."""
    for g in (g for g in generators(a) if g[:2] == ("norm", "2") and a.terms.get(frozenset({(g, Fraction(1))})) == -1):
        item = next(filter(None, (quantities.single_atom(A, "softmax") for A in sorted(g[2], key=text_of))), None)
        if item is not None:
            yield ["instance", "softmax at the vector of ones", [w.matrix(item[4])], [], w.scalar(1), ["terms"]]


def _means(a: Any, w: Writer) -> Iterator[list[Any]]:
    """c x int_0^1 e^(t x) dt = c (e^x - 1)."""
    for g in (g for g in generators(a) if g[0] == "mean of exponentials" and len(g[1].terms) == 1):
        multiplier = w.of_scalar(beside(a, g).over(g[1]))
        yield ["instance", "mean of exponentials", [w.of_scalar(g[1])], [], multiplier, ["terms"]]


def _reverse_triangles(b: Any, w: Writer) -> Iterator[list[Any]]:
    """||A|| <= ||A + B|| + ||B|| for the norms of sums A + B on the right."""
    for _, kind, variants in (g for g in generators(b) if g[0] == "norm"):
        X = any_of(variants)
        for word, c in X.terms.items() if 1 < len(X.terms) < 4 else ():
            rest = X.times(quantities.number(-1)) + quantities.Matrix(X.rows, X.columns, {word: c})
            one, whole = w.of_scalar(quantities.number(1)), w.matrix(X)
            for own in dict.fromkeys([kind, "2"]):
                reason = ["instance", "triangle inequality", [own, whole, w.matrix(rest)], [], one, ["terms"]]
                yield reason if own == kind else ["instance", "spectral at most Frobenius", [whole], [], one, reason]


def _by_frobenius(a: Any, b: Any, w: Writer) -> Iterator[list[Any]]:
    """A spectral norm on the left of a matrix of which the right side has the Frobenius norm."""
    there = {g[2] for g in generators(b) if g[:2] == ("norm", "F")}
    for g in generators(a):
        if g[:2] == ("norm", "2") and g[2] in there:
            multiplier = w.of_scalar(beside(a, g))
            yield ["instance", "spectral at most Frobenius", [w.matrix(any_of(g[2]))], [], multiplier, ["terms"]]


def _skew_images(a: Any, w: Writer) -> Iterator[list[Any]]:
    """||x + c x S||^-1 = (1 + c^2 ||x S||^2)^(-1/2) for a unit row x and a skew matrix S."""
    for g in (g for g in generators(a) if g[:2] == ("norm", "F") and len(a.terms) == 1):
        for X in sorted(g[2], key=text_of):
            words = sorted(X.terms, key=len)
            if (
                [len(word) for word in words] == [1, 2]
                and words[1][0] == words[0][0]
                and X.terms[words[0]].number() == 1
            ):
                x, S = (
                    w.matrix(quantities.Matrix(word[-1][2], word[-1][3], {word[-1:]: quantities.number(1)}))
                    for word in words
                )
                multiplier = w.of_scalar(a.over(quantities.Scalar({frozenset({(g, Fraction(-1))}): Fraction(1)})))
                arguments = [x, w.of_scalar(X.terms[words[1]]), S]
                yield ["instance", "unit row and its skew image", arguments, [], multiplier, ["terms"]]


def _subtracted(
    gap: Any, w: Writer, facts: Any, depth: int, attempts: list[int], any_term: bool = False
) -> list[list[Any]] | None:
    """Products of assumptions with multipliers that are not negative, of which a scalar is the sum and more.

    They outweigh one negative term after another, in an order of degrees, or with `any_term` whichever leaves the least.
    """
    if quantities.is_nonnegative(gap):
        return []
    gap = _absorbed(gap) if any_term else gap
    negative = [(m, c) for m, c in gap.terms.items() if c < 0]
    attempts[0] -= 1
    if depth == 0 or not negative or attempts[0] < 0:
        return None
    taken = [own for _, fact in facts for own, d in fact.terms.items() if d < 0]
    negative.sort(  # first one that an assumption takes whole, if there is one: what is left may outweigh the others
        key=lambda item: (_is_multiple(item[0], taken), sum(e for _, e in item[0]), text_of(item)), reverse=True
    )
    options: list[Any] = []
    for monomial, c in negative if any_term else negative[:1]:
        for chosen, fact in facts:
            for own, d in fact.terms.items():
                factor = quantities.Scalar({monomial: c}).over(quantities.Scalar({own: d})) if d < 0 else None
                if factor is None or not quantities.is_nonnegative(factor):
                    continue
                rest = gap - factor * fact
                left = (
                    sum(e < 0 for e in (_absorbed(rest) if any_term else rest).terms.values()),
                    sum(map(len, rest.terms)),
                )  # what is left to outweigh, plain first
                options.append((*left, len(options), chosen, factor, rest))
    for *_, chosen, factor, rest in sorted(options, key=lambda option: option[:3])[:3]:
        used = _subtracted(rest, w, facts, depth - 1, attempts, any_term)
        if used is not None:
            return [[chosen[0] if len(chosen) == 1 else chosen, w.of_scalar(factor)], *used]
    return None


def _absorbed(gap: Any) -> Any:
    """A scalar without terms -c m that terms d m s outweigh, for products s >= 1 of sizes: what is left is no larger."""
    found = dict(gap.terms)
    for monomial in [
        m for m, c in gap.terms.items() if c < 0 and quantities.is_nonnegative(quantities.Scalar({m: Fraction(1)}))
    ]:
        for other in [m for m, c in found.items() if c > 0]:
            ((more, _),) = (
                quantities.Scalar({other: Fraction(1)}).over(quantities.Scalar({monomial: Fraction(1)})).terms.items()
            )
            if found[monomial] < 0 and all(g[0] == "size" and e > 0 for g, e in more):
                part = min(found[other], -found[monomial])
                found[other], found[monomial] = found[other] - part, found[monomial] + part
    return quantities.Scalar(found)


def _is_multiple(monomial: Any, others: Iterable[Any]) -> bool:
    """Whether one of the other products divides a product without a remainder."""
    exponents = dict(monomial)
    return any(all(exponents.get(g, 0) >= e for g, e in other) for other in others)
