"""Functions in a claim: each has a number, and a rule where it is known or made of others."""

from __future__ import annotations

import itertools
from collections.abc import Container
from fractions import Fraction
from typing import Any

from normal_forms import (
    Expr,
    Index,
    Key,
    Term,
    added,
    collected,
    free,
    instance,
    normal,
    number,
    of_key,
    of_term,
    place,
    product,
    rewritten,
)
from syntax import ONE, Node, Proof, alpha, expanded, place_at, rocq_base, rocq_expr, rocq_indices, rocq_ratio


def leading(form: dict[Key, Fraction]) -> tuple[Key, Fraction]:
    """The term by which a sum is scaled: the same one of the sum and of its multiples by powers, so that scaling ends."""
    bases = sorted({base for key in form for base, _ in key[1]})

    def rank(item: tuple[Key, Fraction]) -> tuple[str, list[Fraction]]:
        powers = dict(item[0][1])
        return repr((item[0][0], item[0][2:])), [powers.get(base, Fraction(0)) for base in bases]

    return min(form.items(), key=rank)


#: Functions whose value at an index depends on the argument at that index alone.
ENTRYWISE = ("Exp", "Log", "Step", "Raised")


class Functions:
    """Functions of a claim that is being written."""

    def _form(self, e: Expr) -> dict[Key, Fraction]:
        return collected(normal(rewritten(self.rules, expanded(e))))[0]

    def _ordered(self, head: Any, outside: tuple[Index, ...], own: tuple[Index, ...], e: Expr) -> tuple[Index, ...]:
        """The indices outside in the order that gives the least form, so that transposes are one function."""
        if len(outside) < 2 or len(outside) > 4:
            return outside
        best: Any = None
        for order in itertools.permutations(outside):
            slots = {w: (n, w[1]) for n, w in enumerate((*order, *own))}
            sizes = tuple(w[1] for w in order)
            form = self._form(place(lambda w, s=slots: s.get(w, w), 0, expanded(e)))  # type: ignore[misc]
            rank = (sizes, repr(sorted(form.items(), key=repr)))
            if best is None or rank < best[0]:
                best = (rank, order)
        return best[1]

    def function(
        self, head: tuple[Any, ...], slots: tuple[Index, ...], e: Expr, taken: Container[int] = frozenset()
    ) -> int:
        """The number of the function of e over these indices, none of those that are taken.

        Two variables at one point are differentiated by apart, so that the inner one may not have the outer one's number.
        """
        own = {w: (n, w[1]) for n, w in enumerate(slots)}
        argument = place_at(own, e)
        key = (head, tuple(own.values()), alpha(expanded(argument)))
        known = self.raw.setdefault(key, [])
        free_ones = [entry for entry in known if entry not in taken]
        if free_ones:
            return free_ones[0]
        entry = next(self._numbers)
        known.append(entry)
        node = Node(head, tuple(own.values()), argument)
        self.add_node(entry, node)
        self._simplify(entry, node)
        return entry

    def add_node(self, entry: int, node: Node) -> None:
        self.nodes.append((entry, node))
        self.by_number[entry] = node

    def aligned(self, head: tuple[Any, ...], e: Expr) -> int:
        """The entrywise function of e with its own indices as slots, which is made the common one of its form."""
        slots = tuple(free(e))
        entry = next(self._numbers)
        self.add_node(entry, Node(head, slots, e))
        found = self.apply(head, (), e)
        proof = self.proof(
            instance(slots, slots, e),
            instance(self.by_number[found[1]].slots, found[2], self.by_number[found[1]].argument),
        )
        self.rule(entry, f"SameEntries {entry} {rocq_indices(slots)} {found[1]} {rocq_indices(found[2])}", proof, found)
        return entry

    def rule(self, entry: int, step: str, proof: Proof | None, body: Expr) -> None:
        """The entry is what a step says it is."""
        node, body = self.by_number[entry], expanded(body)
        place_ = self.step(
            step + (f" {self.shown(proof)}" if proof is not None else ""), ("e", entry, node.slots), body
        )
        final = rewritten(self.rules, expanded(body))
        if final != body:
            base = len(self.equations)
            whole = self.proof(("e", entry, node.slots), final, first=(entry, place_, body))
            place_ = self.step(
                f"Equal ({rocq_expr(('e', entry, node.slots))}, {rocq_expr(final)}) {self.shown(whole)}",
                ("e", entry, node.slots),
                final,
            )
            assert place_ >= base
        self.rules[entry], self.rule_number[entry] = (node.slots, final), place_

    def step(self, text: str, left: Expr, right: Expr) -> int:
        """The number of the equation that a step gives."""
        self.checked.rules.add(text.split(maxsplit=1)[0])
        if text not in self.known_steps:
            self.known_steps[text] = len(self.equations)
            self.equations.append((left, right))
            self.steps.append(text)
        return self.known_steps[text]

    def _simplify(self, entry: int, node: Node) -> None:
        """The rule for a new function, if it is one that is known or made of others."""
        head, slots = node.head, node.slots
        kind = head[0]
        if kind == "Unit":
            return
        if head == ("Raised", ONE):
            self.rule(entry, f"PowerOne {entry}", None, node.argument)
            return
        if head == ("Raised", Fraction(0)):
            self.rule(entry, f"PowerZero {entry}", None, number(1))
            return
        form = self._form(node.argument)
        if kind == "Softmax" and self._softmax(entry, node, form):
            return
        if kind == "Exp" and self._exponential(entry, node, form):
            return
        if kind == "Raised" and self._raised(entry, node, form):
            return
        if kind == "Step" and (self._of_known_sign(entry, node, form) or self._step(entry, node, form)):
            return
        if self.reduces and self._reduced(entry, node, form):
            return
        key = (head, tuple(w[1] for w in slots), frozenset(form.items()))
        if key not in self.made:
            turned = kind == "Arbitrary" and self._as_transposed_exponential(entry, node)
            if not turned and not (self.reduces and self._as_transposed(entry, node)):
                self.made[key] = entry
            return
        other = self.made[key]
        proof = self.proof(node.argument, self.by_number[other].argument)
        self.rule(entry, f"SameFunctions {entry} {other}", proof, ("e", other, slots))

    def _softmax(self, entry: int, node: Node, form: dict[Key, Fraction]) -> bool:
        last = set(node.slots[len(node.slots) - node.head[1] :])
        kept = {key: value for key, value in form.items() if last & set(of_key(key, value).indices)}
        if len(kept) == len(form) and form:
            return False
        rest = added(self._term(key, value) for key, value in kept.items()) if kept else number(0)
        if not kept and node.argument == number(0):
            body = product(("p", ("l", w[1]), -1, 1) for w in node.slots if w in last)
            body = number(1)
            for w in reversed(node.slots[len(node.slots) - node.head[1] :]):
                body = ("*", ("p", ("l", w[1]), -1, 1), body)
            self.rule(entry, f"SoftmaxUniform {entry}", None, body)
            return True
        dropped = added(self._term(key, value) for key, value in form.items() if key not in kept)
        other = next(self._numbers)
        self.add_node(other, Node(node.head, node.slots, rest))
        self._simplify(other, self.by_number[other])
        proof = self.proof(node.argument, ("+", rest, dropped))
        self.rule(entry, f"SoftmaxShift {entry} {other} {rocq_expr(dropped)}", proof, ("e", other, node.slots))
        return True

    def _term(self, key: Key, value: Fraction) -> Expr:
        """A term with summed indices of its own."""
        t = of_key(key, value)
        names = {b: (next(self._names), b[1]) for b in t.bound}
        return of_term(
            Term(
                value,
                tuple(names.values()),
                t.powers,
                tuple((names.get(a, a), names.get(b, b)) for a, b in t.deltas),
                tuple((k, tuple(names.get(w, w) for w in at)) for k, at in t.entries),
            )
        )

    def _exponential(self, entry: int, node: Node, form: dict[Key, Fraction]) -> bool:
        if not form:
            self.rule(entry, f"ExpZero {entry}", self.proof(node.argument, number(0)), number(1))
            return True
        if len(form) == 1:
            return False
        parts = [self._term(key, value) for key, value in sorted(form.items(), key=repr)]
        first, rest = self.aligned(("Exp",), parts[0]), self.aligned(("Exp",), added(parts[1:]))
        proof = self.proof(node.argument, ("+", parts[0], added(parts[1:])))
        made = ("*", ("e", first, self.by_number[first].slots), ("e", rest, self.by_number[rest].slots))
        self.rule(entry, f"ExpSum {entry} {first} {rest}", proof, made)
        return True

    def _raised(self, entry: int, node: Node, form: dict[Key, Fraction]) -> bool:
        q = node.head[1]
        if len(form) != 1:
            return self._scaled_sum(entry, node, form)
        ((key, value),) = form.items()
        t = of_key(key, value)
        if value == 1 and not (t.bound or t.powers or t.deltas or t.entries):
            return self._power_of_one(entry, node, q)
        factors: list[Expr] = [number(value)] if value != 1 else []
        factors += [("p", base, e.numerator, e.denominator) for base, e in t.powers]
        if t.bound or t.deltas:
            unknown = bool(t.entries or t.deltas) and q.denominator != 1 and not self._is_positive(of_term(t))
            if not factors or (unknown and not (self.reduces and value > 0)):
                return False
            if factors:
                inside = self._term(key, ONE)
                inside = self._term(tuple([key[0], (), *key[2:]]), ONE)
                factors.append(inside)
        else:
            factors += [("e", k, at) for k, at in t.entries]
        if not factors:
            return False
        return self._factored(entry, node, q, factors)

    def _factored(self, entry: int, node: Node, q: Fraction, factors: list[Expr]) -> bool:
        if len(factors) == 1:
            (e,) = factors
            if e[0] == "p":
                exponent = q * Fraction(e[2], e[3])
                body = ("p", e[1], exponent.numerator, exponent.denominator)
                self.rule(
                    entry,
                    f"PowerOfBase {entry} {rocq_base(e[1])} {rocq_ratio(Fraction(e[2], e[3]))}",
                    self.proof(node.argument, e),
                    body,
                )
                return True
            inner = self.by_number.get(e[1]) if e[0] == "e" else None
            if inner is not None and inner.head[0] in ("Raised", "Exp"):
                return self._power_of(entry, node, q, e, inner)
            if e[0] == "n" and q.denominator == 1:
                found = Fraction(e[1], e[2]) ** int(q)
                self.rule(
                    entry,
                    f"PowerOfNumber {entry} {rocq_ratio(Fraction(e[1], e[2]))} {rocq_ratio(found)}",
                    self.proof(node.argument, e),
                    number(found),
                )
                return True
            return False
        rest = product(factors[1:])
        unknown = [e for e in (factors[0], rest) if q.denominator != 1 and not self._is_positive(e)]
        if unknown and not self.reduces:
            return False
        one, two = self.aligned(node.head, factors[0]), self.aligned(node.head, rest)
        for e, number_ in ((factors[0], one), (rest, two)):
            if e in unknown:
                self._assume("IsPositive", number_)
        proof = self.proof(node.argument, ("*", factors[0], rest))
        made = ("*", ("e", one, self.by_number[one].slots), ("e", two, self.by_number[two].slots))
        self.rule(entry, f"PowerOfProduct {entry} {one} {two}", proof, made)
        return True

    def _power_of_one(self, entry: int, node: Node, q: Fraction) -> bool:
        """1^q = exp(0)^q = exp(q 0)."""
        one, two = self.aligned(("Exp",), number(0)), self.aligned(("Exp",), ("*", number(q), number(0)))
        proof = self.shown(self.proof(node.argument, ("e", one, ())))
        same = self.proof(self.by_number[two].argument, ("*", number(q), self.by_number[one].argument))
        self.rule(entry, f"PowerOfExp {entry} {one} {two} {proof}", same, ("e", two, ()))
        return True

    def _power_of(self, entry: int, node: Node, q: Fraction, e: Expr, inner: Node) -> bool:
        """(x^a)^q = x^(a q) for positive x, exp(x)^q = exp(q x)."""
        x = instance(inner.slots, e[2], expanded(inner.argument))
        x = place_at({}, x)
        one = self.aligned(inner.head, x)
        if inner.head[0] == "Exp":
            head: tuple[Any, ...] = ("Exp",)
            y: Expr = ("*", number(q), x)
        else:
            head, y = ("Raised", inner.head[1] * q), x
            if not self._is_positive(x):
                self._assume("IsPositive", one)
        two = self.aligned(head, y)
        this = ("e", one, self.by_number[one].slots)
        step = "PowerOfExp" if inner.head[0] == "Exp" else "PowerOfPower"
        proof = self.shown(self.proof(node.argument, this))
        same = self.proof(y, y)
        self.rule(entry, f"{step} {entry} {one} {two} {proof}", same, ("e", two, self.by_number[two].slots))
        return True

    def _scaled_sum(self, entry: int, node: Node, form: dict[Key, Fraction]) -> bool:
        if not form:
            return False
        key, value = leading(form)
        if self.reduces and node.head[0] == "Raised" and node.head[1].denominator != 1:
            value = abs(value)  # a root is taken of a positive number
        t = of_key(key, value)
        scale = [number(value)] if value != 1 else []
        scale += [("p", base, e.numerator, e.denominator) for base, e in t.powers]
        is_root = node.head[0] == "Raised" and node.head[1].denominator != 1
        if not scale or (is_root and not (value > 0 and (self.reduces or all(v > 0 for v in form.values())))):
            return False
        rest: dict[Key, Fraction] = {}
        for other, v in form.items():
            powers = dict(other[1])
            for base, e in t.powers:
                powers[base] = powers.get(base, Fraction(0)) - e
            kept = tuple(sorted((base, e) for base, e in powers.items() if e))
            rest[(other[0], kept, *other[2:])] = v / value
        inside = added(self._term(k, v) for k, v in sorted(rest.items(), key=repr))
        return self._factored(entry, node, node.head[1], [product(scale), inside])

    def _is_positive(self, e: Expr) -> bool:
        kind = e[0]
        if kind in "+*":
            return self._is_positive(e[1]) and self._is_positive(e[2])
        if kind == "s":
            return self._is_positive(e[2])
        if kind == "e":
            return e[1] in self.by_number and self.by_number[e[1]].head[0] in ("Exp", "Softmax")
        return kind == "p" or (kind == "n" and e[1] > 0)

    def _of_known_sign(self, entry: int, node: Node, form: dict[Key, Fraction]) -> bool:
        """A step of what is positive, negative or 0."""
        if not all(map(self._is_positive, (self._term(key, abs(value)) for key, value in form.items()))):
            return False
        signs = {value > 0 for value in form.values()}
        if signs <= {False}:
            rest = added(self._term(key, -value) for key, value in form.items()) if form else number(0)
            proof = self.proof(("+", node.argument, rest), number(0))
            self.rule(entry, f"StepZero {entry} {rocq_expr(rest)}", proof, number(0))
            return True
        if signs == {True} and self._is_positive(expanded(node.argument)):
            self.rule(entry, f"StepOne {entry}", None, number(1))
            return True
        return False

    def _as_transposed(self, entry: int, node: Node) -> bool:
        """A function that is known of the same indices in another order."""
        if node.head[0] not in ENTRYWISE or not 2 <= len(node.slots) <= 3:
            return False
        for order in itertools.permutations(node.slots):
            names = {old: (n, old[1]) for n, old in enumerate(order)}
            argument = place(lambda w, names=names: names.get(w, w), 0, expanded(node.argument))  # type: ignore[misc]
            key = (node.head, tuple(w[1] for w in order), frozenset(self._form(argument).items()))
            if key in self.made:
                other = self.made[key]
                known = self.by_number[other]
                proof = self.proof(
                    instance(node.slots, node.slots, node.argument), instance(known.slots, order, known.argument)
                )
                step = f"SameEntries {entry} {rocq_indices(node.slots)} {other} {rocq_indices(order)}"
                self.rule(entry, step, proof, ("e", other, order))
                return True
        return False

    def _reduced(self, entry: int, node: Node, form: dict[Key, Fraction]) -> bool:
        """The function of an argument that rules make simpler."""
        rest = self.simpler(form)
        if rest is None:
            return False
        argument = added(self._term(key, value) for key, value in rest.items()) if rest else number(0)
        other = next(self._numbers)
        self.add_node(other, Node(node.head, node.slots, argument))
        self._simplify(other, self.by_number[other])
        proof = self.proof(node.argument, argument)
        self.rule(entry, f"SameFunctions {entry} {other}", proof, ("e", other, node.slots))
        return True

    def _step(self, entry: int, node: Node, form: dict[Key, Fraction]) -> bool:
        if not form:
            return False
        key, value = leading(form)
        powers = of_key(key, value).powers
        if abs(value) == 1 and not powers:
            return False
        scale = product([number(abs(value)), *(("p", base, e.numerator, e.denominator) for base, e in powers)])
        rest = []
        for other, v in sorted(form.items(), key=repr):
            mine = dict(other[1])
            for base, e in powers:
                mine[base] = mine.get(base, Fraction(0)) - e
            rest.append(
                self._term((other[0], tuple(sorted((b, e) for b, e in mine.items() if e)), *other[2:]), v / abs(value))
            )
        other_node = Node(("Step",), node.slots, added(rest))
        number_ = next(self._numbers)
        self.add_node(number_, other_node)
        self._simplify(number_, other_node)
        proof = self.proof(node.argument, ("*", scale, added(rest)))
        self.rule(entry, f"StepScale {entry} {number_} {rocq_expr(scale)}", proof, ("e", number_, node.slots))
        return True
