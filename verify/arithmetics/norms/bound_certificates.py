"""Certificates of derivations: what `verify.kernel.bounds` checks, written from the steps that a search has found.

Nothing here is trusted: what a derivation leaves out is tried, and whatever comes out the checker has to accept.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from verify.arithmetics.norms import lower_instances
from verify.arithmetics.norms.derivations import BoundProof, EntryBound
from verify.arithmetics.norms.instances import Instances, Steps
from verify.arithmetics.norms.recording import LARGEST_SIZE, NotCertified, Writer, any_of, generators, size_of, text_of
from verify.arithmetics.norms.world import resumed
from verify.kernel import bounds as kernel
from verify.kernel import places, quantities
from verify.kernel.bound_rules import multiplied
from verify.kernel.refusal import Refused


def certificate_of(claim_id: str, proof: BoundProof, steps: bool = True) -> dict[str, Any]:
    """The certificate of a proved bound; raises `NotCertified` where a part of it cannot be written yet.

    Without `steps` it has the statement alone, and the checker would not accept it.
    """
    assert proof.world is not None
    if proof.cases:
        raise NotCertified("sizes with a derivation of their own")
    with resumed(proof.world):
        writer = Writer(proof.world)
        facts = list(_assumptions(writer, proof.world.facts))
        facts += [
            writer.add("+", writer.scalar(bound), writer.scalar(-symbol))
            for symbol, bound in proof.world.assumed.items()
        ]
        frames = list(map(writer.node, writer.frames))
        writer.assumed = kernel.Assumed(
            [writer.value(fact) for fact in facts], [writer.value(frame) for frame in frames]
        )
        for entry in proof.entries:
            writer.scalar(entry.left), writer.scalar(entry.right)
        writer.stated = True
        replays = [_Replay(writer, entry, facts) for entry in proof.entries]
        parts = [replay.part() if steps else replay.stated() for replay in replays]
    return {
        "format": kernel.FORMAT, "kind": "bound", "claim": claim_id, "sizes": sorted(writer.sizes),
        "scalars": writer.scalars, "inputs": writer.inputs, "table": writer.entries, "nonzero": sorted(writer.nonzero),
        "assumptions": facts, "orthonormal": frames,
        "parts": parts,
    }  # fmt: skip


def _assumptions(writer: Writer, facts: Iterable[Any]) -> Iterator[int]:
    """The assumptions that have an expression: what is certified without one of the others is only more general."""
    for fact in facts:
        with contextlib.suppress(NotCertified):
            yield writer.scalar(fact)


#: How many multiples of assumptions are taken off in a row, and are tried.
DEPTH, ATTEMPTS = 8, 40
#: Terms of both sides beyond which no reason is sought but the plainest.
LARGEST_COMPARED = 80


class _Replay(Instances):
    """One entry: its value as the checker sees it, and the steps that have led there."""

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
        self.w.point_directions(self.entry.steps)
        for step in self.entry.steps:
            self._offer(step)
        start = self.value, list(self.steps)
        try:
            comparison = self._finished()
        except NotCertified:
            if not self.kept & self.offers.keys():
                raise
            self.value, self.steps = start[0], list(start[1])
            self.kept = set(self.outside)
            comparison = self._finished()
        return {**self.stated(), "steps": self.steps, "comparison": comparison}

    def stated(self) -> dict[str, Any]:
        """What is to be shown, without steps."""
        index = None if self.entry.index is None else self.w.index(self.entry.index)
        found: dict[str, Any] = {"index": index, "left": self.left, "right": self.right, "steps": [], "comparison": []}
        return found | ({"turned": True} if self.entry.turned else {})

    def _offer(self, step: Any) -> None:
        value = self.w.value(self.w.scalar(step.quantity))
        if value == self.w.value(self.w.scalar(step.bound)):
            return  # the checker sees no difference
        for g in {g for monomial in value.terms for g, _ in monomial if g[0] not in ("size", "scalar", "sum", "abs")}:
            self.offers.setdefault(g, []).append(step)

    def _finished(self) -> list[Any]:
        if (reason := self._by_blocks()) is not None:
            return reason
        for _ in range(150):
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
        reached = [g for g in generators(self.value, set(self.outside)) if g not in self.kept]
        if not self.aims_at_sums and any(
            self._leads_on(self._stacks_of(g)) for g in reached if set(self._rules_for(g)) <= {"blocks"}
        ):
            return True
        for exactly in (True, False):
            for g in reached:
                for step in self.offers.get(g, ()):
                    wanted = self.w.value(self.w.scalar(step.quantity)), self.w.value(self.w.scalar(step.bound))
                    if self._leads_on(self._instances(g, step), (g, *wanted) if exactly else None):
                        return True
        return any(self._leads_on(self._own(g)) for g in reached)

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
                if len(step) > 2:
                    made["reasons"] = step[2]
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
    if size_of(a) + size_of(b) > LARGEST_COMPARED:
        return
    yield ["squares", ["terms"]]
    yield ["denominators", ["terms"]]
    yield ["squares", ["denominators", ["terms"]]]
    if depth == 0:
        return
    for g in generators(a):
        if g[0] == "max" and places.rises(a, g):
            members = [(w.of_scalar(member), member) for member in sorted(g[1], key=text_of)]
            cases = [
                [place, comparison_of(places.replaced(a, g, member), b, w, facts, depth - 1)]
                for place, member in members
            ]
            if all(reason for _, reason in cases):
                yield ["cases", w.of_generator(g), cases]
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
    yield from lower_instances.reasons(a, b, w)
    yield from _reverse_triangles(b, w)
    yield from _skew_images(a, w)
    gaps: list[tuple[Any, Any]] = [(b - a, lambda why: why), (b * b - a * a, lambda why: ["squares", why])]
    with contextlib.suppress(Refused):
        gaps.append((kernel.without_denominators(b - a, w.assumed.facts), lambda why: ["denominators", why]))
    for most in (1, 2) if facts else ():  # assumptions in one product
        products = [list(chosen) for chosen in itertools.combinations_with_replacement(range(len(facts)), most)]
        values = [(chosen, multiplied(*(w.value(facts[k]) for k in chosen))) for chosen in products]
        for gap, reason in gaps:
            if (used := _subtracted(gap, w, values, DEPTH, [ATTEMPTS])) is not None:
                yield reason(["facts", used, ["terms"]])


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


def _subtracted(gap: Any, w: Writer, facts: Any, depth: int, attempts: list[int]) -> list[list[Any]] | None:
    """Products of assumptions with multipliers that are not negative, of which a scalar is the sum and more."""
    if quantities.is_nonnegative(gap):
        return []
    negative = [(m, c) for m, c in gap.terms.items() if c < 0]
    attempts[0] -= 1
    if depth == 0 or not negative or attempts[0] < 0:
        return None
    monomial, c = max(negative, key=lambda item: (sum(e for _, e in item[0]), text_of(item)))
    options: list[Any] = []
    for chosen, fact in facts:
        for own, d in fact.terms.items():
            factor = quantities.Scalar({monomial: c}).over(quantities.Scalar({own: d})) if d < 0 else None
            if factor is None or not quantities.is_nonnegative(factor):
                continue
            rest = gap - factor * fact
            options.append((sum(e < 0 for e in rest.terms.values()), len(options), chosen, factor, rest))
    for *_, chosen, factor, rest in sorted(options, key=lambda option: option[:2])[:3]:
        used = _subtracted(rest, w, facts, depth - 1, attempts)
        if used is not None:
            return [[chosen[0] if len(chosen) == 1 else chosen, w.of_scalar(factor)], *used]
    return None
