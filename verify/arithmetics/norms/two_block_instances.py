"""How certificates say what is derived of two blocks side by side: steps and reasons that the checker accepts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import sympy

from verify.arithmetics.norms.atoms import GAIN, SPECTRAL, gain, largest, norm
from verify.arithmetics.norms.recording import NotCertified, Writer, generators
from verify.arithmetics.norms.telescoping import HALF
from verify.arithmetics.norms.two_blocks import (
    GAIN_OF_PRODUCT,
    GAIN_OF_TWO,
    ROOT,
    SMALLER,
    coherence,
    factored,
    largest_of_two,
    roots_of,
    side_by_side,
)
from verify.arithmetics.norms.world import Node, world
from verify.kernel import bounds as kernel
from verify.kernel import quantities

Reason = list[Any]
#: Multiples of facts, which come with their numbers, that a scalar is above; None where none are found.
Subtracted = Callable[[Any, list[Any]], list[list[Any]] | None]
ONE = sympy.Integer(1)


def _below_largest(w: Writer, values: list[Any]) -> list[Reason]:
    """Reasons why each of several numbers is at most their largest."""
    return [one_of(w, value, values, ONE, ["terms"]) for value in values]


def instance(
    w: Writer, rule: str, of: list[Any], rest: Reason, whys: list[Reason] | None = None, times: Any = ONE
) -> Reason:
    """A reason by a multiple of what a rule of the checker says of nodes and scalars, and by what is left."""
    return ["instance", rule, list(map(w.operand, of)), whys or [], w.scalar(times), rest]


def one_of(w: Writer, value: Any, values: list[Any], multiplier: Any, reason: Reason) -> Reason:
    """A reason by a multiple of: one of several numbers is at most their largest."""
    every = [value, *(other for other in values if other != value)]
    return instance(w, "one of several", every, reason, times=multiplier)


class TwoBlocks:
    """The steps and the reason for one inequality that was derived by the rules of `two_blocks`."""

    def __init__(self, w: Writer, entry: Any, subtracted: Subtracted) -> None:
        self.w, self.entry, self.subtracted = w, entry, subtracted
        self.rules = {step.rule for step in entry.steps}

    def written(self) -> tuple[list[Any], Reason] | None:
        """Steps and the reason for what is left, or None of an inequality of another kind."""
        if ROOT in self.rules:
            return [], self._roots()
        if GAIN_OF_PRODUCT in self.rules:
            return [], self._gain_of_product()
        if SMALLER in self.rules:
            return [], self._smaller_block()
        if GAIN_OF_TWO in self.rules:
            g = self._gain_in(self.entry.left)
            return self._condition_number(g) if g is not None else ([], self._gain_of_two())
        return None

    def _gain_in(self, value: Any) -> Any:
        """The gain of two blocks side by side that a scalar contains."""
        known = self.w.known.atoms
        symbols = sorted(value.free_symbols & known.keys(), key=sympy.default_sort_key)
        gains = (g for g in symbols if known[g].kind == GAIN and side_by_side(known[g].payload[0]) is not None)
        return next(gains, None)

    def _blocks(self, g: Any) -> tuple[Node, Node]:
        blocks = side_by_side(self.w.known.atoms[g].payload[0])
        assert blocks is not None
        return blocks

    # -- squares -------------------------------------------------------------------------------------------------------

    def _gain_of_two(self) -> Reason:
        blocks = self._blocks(self._gain_in(self.entry.right))
        return instance(self.w, "smallest gain of two blocks", list(blocks), ["terms"])

    def _gain_of_product(self) -> Reason:
        (step,) = (step for step in self.entry.steps if step.rule == GAIN_OF_PRODUCT)
        M = self.w.known.atoms[self._gain_in(step.quantity)].payload[0]
        found = (
            factored(self.w.known.atoms[s].payload[0], M) for s in step.bound.free_symbols & self.w.known.atoms.keys()
        )
        parts = next(filter(None, found))
        return ["denominators", instance(self.w, GAIN_OF_PRODUCT, [M, *parts], ["terms"])]

    def _roots(self) -> Reason:
        """The root is at most the sum of both, in either order of the two numbers of which the largest is spoken."""
        w, steps = self.w, [step for step in self.entry.steps if step.rule == ROOT]
        (several,) = largest_of_two(self.entry.left + self.entry.right)
        members = list(w.known.atoms[several].payload)
        cases = []
        for step, value in zip(steps, members, strict=True):
            known = self._case(several, value, members)
            (other,) = (member for member in members if member != value)
            size = (value + other) / (2 if value.is_Symbol else -2)
            squares = [(term.base, -term.base) for term in step.quantity.base.args]
            x, y = next(pair for pair in itertools.product(*squares) if sympy.expand(sum(pair) - step.bound) == 0)
            why = ["facts", [[_number(w, known, value - other), w.scalar(size)]], ["terms"]]
            whys = [why if term.is_Add else ["terms"] for term in (x, y)]
            cases.append([w.scalar(value), instance(w, ROOT, [x, y], ["terms"], whys)])
        return ["cases", w.scalar(several), cases]

    def _case(self, several: Any, value: Any, members: list[Any]) -> list[Any]:
        """What the checker knows where one of several numbers is the largest."""
        w = self.w
        _, g = quantities.only_generator(w.value(w.scalar(several)))
        one, every = w.value(w.scalar(value)), [w.value(w.scalar(member)) for member in members]
        return list(kernel.in_case(w.assumed, g, one, every).facts)

    # -- quotients -----------------------------------------------------------------------------------------------------

    def _smaller_block(self) -> Reason:
        """A common factor left out; then each gain in the place of the smaller one."""
        w, left, right = self.w, self.entry.left, self.entry.right
        shared = sympy.Mul(*(factor for factor in sympy.Mul.make_args(left)
                             if factor in sympy.Mul.make_args(right) and not factor.is_number))  # fmt: skip
        one, other = left / shared, right / shared
        several = next(s for s in largest_of_two(one) if _are_gains(w, s))
        members, cases = list(w.known.atoms[several].payload), []
        for value in members:
            block = w.known.atoms[-value].payload[0]
            why = self._by_members(one.xreplace({several: value}), other, -value, norm(SPECTRAL, block), [])
            cases.append([w.scalar(value), why])
        return ["common factor", w.scalar(shared), w.scalar(one), w.scalar(other), ["cases", w.scalar(several), cases]]

    def _by_members(self, one: Any, other: Any, s: Any, size: Any, known: list[Any]) -> Reason:
        """one <= other, by the quotient of the norm by the gain s of one block, and its norm, for the largest and the smallest."""
        w, gap, found = self.w, sympy.expand(other - one), list[Any]()
        several = largest_of_two(other + sum(world().facts))
        norms = next(N for N in several if -size in w.known.atoms[N].payload)
        for fact in world().facts:
            if norms in fact.free_symbols and norms not in gap.free_symbols:
                multiplier = -norms / s
                found.append(("fact", fact, multiplier))
                gap = sympy.expand(gap - multiplier * fact)
        for largest_one, member in (
            (next(K for K in several if size / s in w.known.atoms[K].payload), size / s),
            (norms, -size),
        ):
            multiplier = sympy.factor(sympy.diff(gap, largest_one))
            if largest_one is norms:
                multiplier = sympy.cancel(gap / (norms + size))
            found.append((largest_one, member, multiplier))
            gap = sympy.expand(gap - multiplier * (largest_one - member))
        reason: Reason = ["terms"]
        for what, member, multiplier in reversed(found):
            if what == "fact":
                reason = ["facts", [[_number(w, known, member), w.scalar(multiplier)]], reason]
            else:
                reason = one_of(w, member, list(w.known.atoms[what].payload), multiplier, reason)
        return reason

    def _condition_number(self, g: Any) -> tuple[list[Any], Reason]:
        blocks, right = self._blocks(g), self.entry.right
        gains, norms = list(map(gain, blocks)), [norm(SPECTRAL, block) for block in blocks]
        several = largest([-value for value in gains])
        (below,), (above,) = roots_of(right, -HALF), roots_of(right, HALF)
        if several in below.free_symbols:  # whichever gain is the smaller one
            s, whys = -several, [["terms"], *_below_largest(self.w, [-value for value in gains])]
            return self._steps(blocks, g, s, whys, ONE, below, ["terms"]), ["terms"]
        cases, members = [], list(self.w.known.atoms[several].payload)
        for value in members:
            known, s = self._case(several, value, members), -value
            size, t = norms[gains.index(s)], largest(norms)
            facts = [
                ["facts", [[_number(self.w, known, value + a), self.w.scalar(1)]], ["terms"]] for a in gains if a != s
            ]
            own = [["terms"], facts.pop() if gains[0] != s else ["terms"], facts.pop() if facts else ["terms"]]
            steps = self._steps(
                blocks, g, s, own, s, below, self._by_facts(known, s**2 * (1 - below**2) - coherence(*blocks))
            )
            steps.append(self._longer(blocks, s, size, t, below, above, known))
            shared = above / below * (t if t in sympy.Mul.make_args(right) else 1)
            one, other = t * above / (s * below) / shared, right / shared
            why = self._by_members(one, other, s, size, known)
            last = ["common factor", self.w.scalar(shared), self.w.scalar(one), self.w.scalar(other), why]
            cases.append([self.w.scalar(value), ["steps", steps, last]])
        return [], ["cases", self.w.scalar(several), cases]

    def _steps(
        self, blocks: tuple[Node, Node], g: Any, s: Any, whys: list[Reason], factor: Any, root: Any, rest: Reason
    ) -> list[Any]:
        """||[A B]|| / gain([A B]) <= (t^2 + r)^(1/2) / (factor root), for the larger norm t and what s is at most both gains."""
        w, places = self.w, list(map(self.w.node, blocks))
        norms = [norm(SPECTRAL, block) for block in blocks]
        larger = {"rule": "norm of two blocks of bounded norm", "arguments": [w.scalar(largest(norms)), *places],
                  "reasons": _below_largest(w, norms)}  # fmt: skip
        at_least = instance(w, "smallest gain of two blocks of bounded gain", [s, *blocks], rest, whys)
        arguments = [w.scalar(g), w.scalar(factor * root), w.scalar(1 / (factor * root))]
        smaller = {
            "rule": "from below",
            "arguments": arguments,
            "reasons": [["turned", ["squares", at_least]], ["terms"]],
        }
        return [larger, smaller]

    def _longer(
        self, blocks: tuple[Node, Node], s: Any, size: Any, t: Any, below: Any, above: Any, known: list[Any]
    ) -> dict[str, Any]:
        """(t^2 + r)^(1/2) <= t above, as s^2 + r <= s^2 above^2 and s <= t; both over s below."""
        w, r = self.w, coherence(*blocks)
        excess, block = above**2 - 1, blocks[[norm(SPECTRAL, X) for X in blocks].index(size)]
        reason = instance(w, "smallest gain at most norm", [block], ["terms"], times=excess * (size + s))
        reason = one_of(w, size, [norm(SPECTRAL, X) for X in blocks], excess * (t + size), reason)
        reason = ["squares", self._by_facts(known, s**2 * excess - r, reason)]
        one, other, shared = sympy.sqrt(t**2 + r), t * above, 1 / (s * below)
        why = ["common factor", w.scalar(shared), w.scalar(one), w.scalar(other), reason]
        return {"rule": "comparison", "arguments": [w.scalar(other * shared)], "reasons": why}

    def _by_facts(self, known: list[Any], gap: Any, rest: Reason | None = None) -> Reason:
        """The reason by multiples of facts that a scalar is above, which speak of nothing else."""
        value = self.w.value(self.w.scalar(sympy.expand(gap)))
        there = set(generators(value))
        taken = self.subtracted(value, [([k], fact) for k, fact in enumerate(known) if set(generators(fact)) <= there])
        if taken is None:
            raise NotCertified("multiples of assumptions for two blocks")
        return ["facts", taken, rest or ["terms"]]


def _are_gains(w: Writer, several: Any) -> bool:
    known = w.known.atoms
    return all(-value in known and known[-value].kind == GAIN for value in known[several].payload)


def _number(w: Writer, known: list[Any], fact: Any) -> int:
    """The number that a fact has for the checker."""
    value = w.value(w.scalar(fact))
    if value not in known:
        raise NotCertified("an assumption about two blocks that has no expression")
    return known.index(value)
