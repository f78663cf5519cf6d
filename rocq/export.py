"""Certificates of identities as files for Rocq: tables of functions, steps, statements, and what the kernel checks of each.

Everything here is search and trusted with nothing: what it writes is proved by the kernel or refused.
"""

from __future__ import annotations

import itertools
import json
import lzma
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from normal_forms import (
    Expr,
    Index,
    Key,
    Term,
    above,
    added,
    collected,
    difference,
    entries_in,
    free,
    instance,
    negative,
    normal,
    number,
    of_key,
    of_term,
    place,
    product,
    rewritten,
    summed_over,
)

FIRST_NAME = 1000
ONE = Fraction(1)


class NotExported(Exception):
    """A claim that this writes no file for; the text is the reason."""


@dataclass(frozen=True)
class Node:
    """A function of an expression; `head` is ("Exp",), ("Raised", Fraction), ("Softmax", 1), ("Inverse", 1), ..."""

    head: tuple[Any, ...]
    slots: tuple[Index, ...]
    argument: Expr


@dataclass
class Proof:
    """Passes of rewriting, uses of equations, and the exchanges of each term."""

    passes: list[list[int]]
    uses: list[Expr]
    exchanges: list[Any]


# -- text --------------------------------------------------------------------------------------------------------------


def _z(value: int) -> str:
    return f"({value})%Z" if value < 0 else f"{value}%Z"


def _ratio(value: Fraction) -> str:
    return f"({_z(value.numerator)}, {value.denominator}%positive)"


def _index(index: Index) -> str:
    return f"(i {index[0]} {index[1]})"


def _listed(items: Iterable[str]) -> str:
    found = "; ".join(items)
    return f"[:: {found}]" if found else "[::]"


def _indices(items: Iterable[Index]) -> str:
    return _listed(map(_index, items))


def _base(base: tuple[str, int]) -> str:
    return f"(in{base[0]} {base[1]})"


def _expr(e: Expr) -> str:
    kind = e[0]
    if kind == "n":
        return f"(Int {_z(e[1])})" if e[2] == 1 else f"(Number {_ratio(Fraction(e[1], e[2]))})"
    if kind == "p":
        q = Fraction(e[2], e[3])
        return f"(Size {e[1][1]})" if q == 1 and e[1][0] == "l" else f"(Power {_base(e[1])} {_ratio(q)})"
    if kind == "d":
        return f"(Delta {_index(e[1])} {_index(e[2])})"
    if kind == "e":
        return f"(Entry {e[1]} {_indices(e[2])})"
    if kind == "D":
        return f"(derivative T{e[5]} {e[1]} {_indices(e[2])} {_expr(e[3])})"
    if kind == "s":
        return f"(Sum {_index(e[1])} {_expr(e[2])})"
    return f"({'Add' if kind == '+' else 'Mul'} {_expr(e[1])} {_expr(e[2])})"


def has_derivative(e: Expr) -> bool:
    """Whether a derivative is yet to be carried out in it."""
    kind = e[0]
    if kind in "+*":
        return has_derivative(e[1]) or has_derivative(e[2])
    return kind == "D" or (kind == "s" and has_derivative(e[2]))


def _formula(e: Expr) -> str:
    """A statement's side, in which derivatives are real ones."""
    if not has_derivative(e):
        return f"(Plain {_expr(e)})"
    kind = e[0]
    if kind == "D":
        return f"(Partial {e[1]} {_indices(e[2])} {_formula(e[3])})"
    if kind == "s":
        return f"(Total {_index(e[1])} {_formula(e[2])})"
    return f"({'Plus' if kind == '+' else 'Product'} {_formula(e[1])} {_formula(e[2])})"


def _head(head: tuple[Any, ...]) -> str:
    if head[0] == "Raised":
        return f"(Raised {_ratio(head[1])})"
    return f"({' '.join(map(str, head))})" if len(head) > 1 else head[0]


def expanded(e: Expr) -> Expr:
    """The expression with derivatives written out."""
    kind = e[0]
    if kind == "D":
        return expanded(e[4])
    if kind in "+*":
        return (kind, expanded(e[1]), expanded(e[2]))
    return ("s", e[1], expanded(e[2])) if kind == "s" else e


# -- one claim ---------------------------------------------------------------------------------------------------------


@dataclass
class Checked:
    """What the kernel checked of a claim."""

    blocks: int = 0
    functions: int = 0
    derivatives: int = 0
    rules: set[str] = field(default_factory=set)
    hypotheses: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)


class Claim:
    """A certificate being turned into definitions and proofs."""

    def __init__(self, certificate: dict[str, Any]) -> None:
        self.certificate = certificate
        self.claim: str = certificate["claim"]
        self.sizes: dict[str, int] = {}
        self.entries: dict[str, int] = {}
        self.scalars: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.nodes: list[tuple[int, Node]] = []
        self.by_number: dict[int, Node] = {}
        self.raw: dict[Any, int] = {}
        self.made: dict[Any, int] = {}
        self.rules: dict[int, tuple[tuple[Index, ...], Expr]] = {}
        self.rule_number: dict[int, int] = {}
        self.equations: list[tuple[Expr, Expr]] = []
        self.steps: list[str] = []
        self.known_steps: dict[str, int] = {}
        self.conditions: list[tuple[str, int]] = []
        self.symmetries: dict[int, list[tuple[int, ...]]] = {}
        self.definitions = {name: (own, e) for name, own, e in certificate["definitions"]}
        self.checked = Checked()
        self._names = itertools.count(FIRST_NAME)
        self._numbers = itertools.count()
        self._points: dict[str, Any] = {}
        self._derivatives: dict[Any, Expr] = {}
        for name in certificate["sizes"]:
            self.size(name)
        for name, item in [*certificate["inputs"].items(), *certificate["variables"].items()]:
            if item.get("positive"):
                self.scalars[name] = len(self.scalars)
            else:
                self.entries[name] = next(self._numbers)
                self.names[self.entries[name]] = name

    # -- what certificates say -----------------------------------------------------------------------------------------

    def size(self, name: str) -> int:
        return self.sizes.setdefault(name, len(self.sizes))

    def index(self, size: str) -> Index:
        return next(self._names), self.sizes[size]

    def bound(self, pairs: Sequence[Sequence[str]]) -> dict[str, Index]:
        return {name: self.index(size) for name, size in pairs}

    def read(self, e: list[Any], scope: dict[str, Index], points: dict[str, tuple[int, tuple[Index, ...]]]) -> Expr:
        """An expression of the certificate; `points` are the entries that stand for variables."""
        kind, *rest = e
        if kind == "q":
            return number(Fraction(*rest))
        if kind == "size":
            value = self.certificate["sizes"][rest[0]]
            return ("p", ("l", self.sizes[rest[0]]), 1, 1) if value is None else self.read(value, {}, {})
        if kind == "delta":
            return ("d", scope[rest[0]], scope[rest[1]])
        if kind == "unit":
            return self.apply(("Unit", rest[0]), (scope[rest[1]],), number(0))
        if kind == "t":
            return self._tensor(rest[0], [scope[i] for i in rest[1]], scope, points)
        if kind in "+*":
            parts = [self.read(part, scope, points) for part in rest]
            return added(parts) if kind == "+" else product(parts)
        if kind == "sum":
            own = self.bound([rest[0]])
            return ("s", *own.values(), self.read(rest[1], {**scope, **own}, points))
        if kind == "power":
            return self._power(Fraction(rest[0], rest[1]), rest[2], scope, points)
        if kind == "f":
            return self._function(*rest, scope, points)
        if kind == "diff":
            return self._derivative(rest[0], [scope[i] for i in rest[1]], self.read(rest[2], scope, points), points)
        if kind == "at":
            name, pairs, point, inner = rest
            own = self.bound(pairs)
            value = self.read(point, {**scope, **own}, points)
            more = tuple(i for i in free(expanded(value)) if i not in own.values())
            entry = self.function(("Raised", ONE), (*more, *own.values()), value)
            self.names.setdefault(entry, f"{name} at a point")
            return self.read(inner, scope, {**points, name: (entry, more)})
        raise NotExported(f"expressions that begin with {kind}")

    def _tensor(self, name: str, at: list[Index], scope: Any, points: Any) -> Expr:
        if name in self.definitions:
            own, e = self.definitions[name]
            inner = dict(zip([i for i, _ in own], at, strict=True))
            return self.read(e, inner, points)
        if name in points:
            entry, more = points[name]
            return ("e", entry, (*more, *at))
        if name in self.scalars:
            return ("p", ("r", self.scalars[name]), 1, 1)
        return ("e", self.entries[name], tuple(at))

    def _power(self, q: Fraction, inner: list[Any], scope: Any, points: Any) -> Expr:
        if q.denominator == 1 and 0 <= q <= 8:
            return product([self.read(inner, scope, points) for _ in range(int(q))])
        e = self.read(inner, scope, points)
        if e[0] == "p":
            q *= Fraction(e[2], e[3])
            return ("p", e[1], q.numerator, q.denominator)
        return self.apply(("Raised", q), (), e)

    def _function(self, head: str, arguments: Any, at: list[str], scope: Any, points: Any) -> Expr:
        ((pairs, inner),) = arguments
        own = self.bound(pairs)
        e = self.read(inner, {**scope, **own}, points)
        there = tuple(scope[i] for i in at)
        if head in ("relu", "abs"):
            step = self.apply(("Step",), (), e)
            if head == "relu":
                return ("*", e, step)
            return difference(("*", e, step), ("*", e, self.apply(("Step",), (), negative(e))))
        heads: dict[str, tuple[Any, ...]] = {
            "exp": ("Exp",),
            "log": ("Log",),
            "step": ("Step",),
            "softmax": ("Softmax", len(own)),
            "inverse": ("Inverse", len(own) // 2),
            "expm": ("Arbitrary", 0),
        }
        if head not in heads:
            raise NotExported(f"the function {head}")
        return self.apply(heads[head], tuple(own.values()), e, there)

    def apply(
        self, head: tuple[Any, ...], own: tuple[Index, ...], e: Expr, at: tuple[Index, ...] | None = None
    ) -> Expr:
        """The function of e, which binds `own`, at these indices."""
        outside = tuple(i for i in free(expanded(e)) if i not in own)
        outside = self._ordered(head, outside, own, e)
        entry = self.function(head, (*outside, *own), e)
        self.checked.functions += 1
        return ("e", entry, (*outside, *(own if at is None else at)))

    # -- functions -----------------------------------------------------------------------------------------------------

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

    def function(self, head: tuple[Any, ...], slots: tuple[Index, ...], e: Expr) -> int:
        """The number of the function of e over these indices."""
        own = {w: (n, w[1]) for n, w in enumerate(slots)}
        argument = place_at(own, e)
        key = (head, tuple(own.values()), alpha(expanded(argument)))
        if key in self.raw:
            return self.raw[key]
        entry = next(self._numbers)
        self.raw[key] = entry
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
        self.rule(entry, f"SameEntries {entry} {_indices(slots)} {found[1]} {_indices(found[2])}", proof, found)
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
                f"Equal ({_expr(('e', entry, node.slots))}, {_expr(final)}) {self.shown(whole)}",
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
        form = self._form(node.argument)
        if kind == "Softmax" and self._softmax(entry, node, form):
            return
        if kind == "Exp" and self._exponential(entry, node, form):
            return
        if kind == "Raised" and self._raised(entry, node, form):
            return
        if kind == "Step" and self._step(entry, node, form):
            return
        key = (head, tuple(w[1] for w in slots), frozenset(form.items()))
        if key not in self.made:
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
        self.rule(entry, f"SoftmaxShift {entry} {other} {_expr(dropped)}", proof, ("e", other, node.slots))
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
        factors: list[Expr] = [number(value)] if value != 1 else []
        factors += [("p", base, e.numerator, e.denominator) for base, e in t.powers]
        if t.bound or t.deltas:
            if not factors or ((t.entries or t.deltas) and q.denominator != 1 and not self._is_positive(of_term(t))):
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
                    f"PowerOfBase {entry} {_base(e[1])} {_ratio(Fraction(e[2], e[3]))}",
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
                    f"PowerOfNumber {entry} {_ratio(Fraction(e[1], e[2]))} {_ratio(found)}",
                    self.proof(node.argument, e),
                    number(found),
                )
                return True
            return False
        if q.denominator != 1 and not all(map(self._is_positive, factors)):
            return False
        rest = product(factors[1:])
        one, two = self.aligned(node.head, factors[0]), self.aligned(node.head, rest)
        proof = self.proof(node.argument, ("*", factors[0], rest))
        made = ("*", ("e", one, self.by_number[one].slots), ("e", two, self.by_number[two].slots))
        self.rule(entry, f"PowerOfProduct {entry} {one} {two}", proof, made)
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
        key, value = min(form.items(), key=lambda item: repr(item[0]))
        t = of_key(key, value)
        scale = [number(value)] if value != 1 else []
        scale += [("p", base, e.numerator, e.denominator) for base, e in t.powers]
        if not scale or (
            node.head[0] == "Raised"
            and node.head[1].denominator != 1
            and not (value > 0 and all(v > 0 for v in form.values()))
        ):
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

    def _step(self, entry: int, node: Node, form: dict[Key, Fraction]) -> bool:
        if not form:
            return False
        key, value = min(form.items(), key=lambda item: repr(item[0]))
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
        self.rule(entry, f"StepScale {entry} {number_} {_expr(scale)}", proof, ("e", number_, node.slots))
        return True

    # -- derivatives ---------------------------------------------------------------------------------------------------

    def _derivative(self, name: str, at: list[Index], e: Expr, points: Any) -> Expr:
        entry, more = points[name] if name in points else (self.entries[name], ())
        if more:
            raise NotExported("a derivative in one matrix of a family")
        inside = expanded(e)
        self._slopes_exist(entries_in(inside), entry)
        found = self.derivative(entry, tuple(at), inside)
        self.checked.derivatives += 1
        return ("D", entry, tuple(at), e, found, len(self.nodes))

    def _slopes_exist(self, entries: set[int], by: int) -> None:
        """The functions that slopes are made of get numbers."""
        for k in sorted(entries):
            node = self.by_number.get(k)
            if node is None or k == by:
                continue
            inner = entries_in(expanded(node.argument))
            self._slopes_exist(inner, by)
            if node.head == ("Raised", ONE) or not self.depends(k, by):
                continue
            if node.head[0] in ("Log", "Raised"):
                q = Fraction(0) if node.head[0] == "Log" else node.head[1]
                self._beside(node, ("Raised", q - 1))
            self._smooth(k, node)

    def _smooth(self, k: int, node: Node) -> None:
        """The condition under which a function has a derivative, assumed where its argument does not show it."""
        head = node.head
        if self._is_positive(expanded(node.argument)):
            return
        if head[0] == "Log" or (head[0] == "Raised" and head[1].denominator != 1):
            self._assume("IsPositive", k)
        elif head[0] == "Step" or (head[0] == "Raised" and head[1] < 0):
            self._assume("IsNonzero", k)

    def _beside(self, node: Node, head: Any) -> int:
        """The function `head` of the same argument over the same slots."""
        for k, other in self.nodes:
            if other == Node(head, node.slots, node.argument):
                return k
        entry = next(self._numbers)
        self.add_node(entry, Node(head, node.slots, node.argument))
        self._simplify(entry, self.by_number[entry])
        return entry

    def depends(self, k: int, by: int) -> bool:
        if k == by:
            return True
        node = self.by_number.get(k)
        return node is not None and any(self.depends(j, by) for j in entries_in(expanded(node.argument)))

    def derivative(self, by: int, at: tuple[Index, ...], e: Expr) -> Expr:
        k = above([*at, *every_index(e)])
        return self._diff(by, at, place(fixed(k), k, e))

    def _diff(self, by: int, at: tuple[Index, ...], e: Expr) -> Expr:
        kind = e[0]
        if kind == "e":
            return self._slope(by, at, e[1], e[2])
        if kind == "+":
            return ("+", self._diff(by, at, e[1]), self._diff(by, at, e[2]))
        if kind == "*":
            return ("+", ("*", self._diff(by, at, e[1]), e[2]), ("*", e[1], self._diff(by, at, e[2])))
        if kind == "s":
            return ("s", e[1], self._diff(by, at, e[2]))
        return number(0)

    def _slope(self, by: int, at: tuple[Index, ...], k: int, vs: tuple[Index, ...]) -> Expr:
        if k == by:
            found = number(1)
            for a, b in reversed(list(zip(vs, at, strict=True))):
                found = ("*", ("d", a, b), found)
            return found
        node = self.by_number.get(k)
        if node is None:
            return number(0)
        argument = expanded(node.argument)
        m = above([*at, *vs, *node.slots, *every_index(argument)])
        inside = self._diff(by, at, place(fixed(m), m, argument))
        m = above([*at, *vs, *node.slots, *every_index(inside)])

        def there(ws: tuple[Index, ...], k: int = m) -> Expr:
            names = dict(zip(reversed(node.slots), reversed(ws), strict=True))
            return place(lambda w: names.get(w) or fixed(k)(w), k, inside)

        head = node.head
        if head[0] == "Exp":
            return ("*", ("e", k, vs), there(vs))
        if head == ("Raised", ONE):
            return there(vs)
        if head[0] in ("Log", "Raised"):
            if not self.depends(k, by):
                return number(0)
            q = Fraction(0) if head[0] == "Log" else head[1]
            beside = self._beside(node, ("Raised", q - 1))
            scale = [] if head[0] == "Log" else [number(q)]
            return product([*scale, ("e", beside, vs), there(vs)])
        if head[0] == "Softmax":
            front, last = vs[: len(vs) - head[1]], vs[len(vs) - head[1] :]
            ls = tuple((m + n, w[1]) for n, w in enumerate(last))
            k2 = m + len(ls)
            mean = summed_over(ls, ("*", ("e", k, (*front, *ls)), there((*front, *ls), k2)))
            return ("*", ("e", k, vs), difference(there(vs, k2), mean))
        if head[0] == "Inverse":
            count = head[1]
            rows, columns = vs[:count], vs[count:]
            one = tuple((m + n, w[1]) for n, w in enumerate(vs[:count]))
            two = tuple((m + count + n, w[1]) for n, w in enumerate(vs[count:]))
            middle = there((*one, *two), m + 2 * count)
            inner = ("*", ("e", k, (*rows, *one)), ("*", middle, ("e", k, (*two, *columns))))
            return negative(summed_over((*one, *two), inner))
        if head[0] in ("Step", "Unit"):
            return number(0)
        if self.depends(k, by):
            raise NotExported("the slope of a matrix exponential")
        return number(0)

    # -- proofs --------------------------------------------------------------------------------------------------------

    def proof(
        self, left: Expr, right: Expr, uses: Sequence[Expr] = (), first: tuple[int, int, Expr] | None = None
    ) -> Proof:
        """How the checker sees that both are equal; raises `NotExported` if terms are left."""
        left, right = expanded(left), expanded(right)
        found = list(uses)
        rules = self.rules
        passes: list[list[int]] = []
        sides = difference(left, right)
        if first is not None:
            entry, place_, body = first
            sides = rewritten({entry: (self.by_number[entry].slots, body)}, sides)
            passes.append([place_])
        mentioned = entries_in(sides)
        terms = normal(rewritten(rules, sides))
        for use in found:
            mentioned |= entries_in(use[4])
            terms += normal(rewritten(rules, negative(use[4])))
        for _ in range(2000):
            rest, names = collected(terms)
            if not rest:
                passes.append(sorted({self.rule_number[k] for k in mentioned if k in self.rule_number}))
                return Proof([p for p in passes if p], found, names)
            new = self._next_use(rest)
            if new is None:
                shown = ", ".join(str(of_term(of_key(k, v)))[:150] for k, v in list(rest.items())[:2])
                raise NotExported(f"{len(rest)} terms are left: {shown}")
            found.append(new)
            mentioned |= entries_in(new[4])
            terms += normal(rewritten(rules, negative(new[4])))
        raise NotExported("too many uses")

    def use(self, equation: int, by: Sequence[Index], at: Sequence[Index], factor: Expr, over: Sequence[Index]) -> Expr:
        """A use of an equation, and what it is worth."""
        left, right = (instance(by, at, expanded(side)) for side in self.equations[equation])
        worth = summed_over(over, ("*", factor, difference(left, right)))
        text = f"(Use {_indices(over)} {_expr(factor)} {equation} {_indices(by)} {_indices(at)})"
        return ("use", text, equation, factor, worth)

    def _next_use(self, rest: dict[Key, Fraction]) -> Expr | None:
        """A use that takes a term away for another that is simpler."""
        for key, value in sorted(rest.items(), key=repr):
            t = of_key(key, value)
            for make in (self._use_rows, self._use_square, self._use_exponentials, self._use_powers, self._use_size):
                found = make(t)
                if found is not None:
                    return found
        return None

    def _without(self, t: Term, *positions: int) -> Term:
        return t._replace(entries=tuple(e for n, e in enumerate(t.entries) if n not in positions))

    def _renamed_use(self, t: Term, equation: int, by: Sequence[Index], at: Sequence[Index], kept: Term) -> Expr:
        """Summed indices of the term that are left get new names, so that none is captured."""
        needed = set(kept.indices) | set(at)
        over = [b for b in t.bound if b in needed]
        names = {b: (next(self._names), b[1]) for b in over}

        def f(w: Index) -> Index:
            return names.get(w, w)

        factor = Term(
            t.value,
            (),
            kept.powers,
            tuple((f(a), f(b)) for a, b in kept.deltas),
            tuple((k, tuple(map(f, ws))) for k, ws in kept.entries),
        )
        return self.use(equation, by, [f(w) for w in at], of_term(factor), list(names.values()))

    def _use_rows(self, t: Term) -> Expr | None:
        counts: dict[Index, int] = {}
        for w in t.indices:
            counts[w] = counts.get(w, 0) + 1
        for n, (k, at) in enumerate(t.entries):
            node = self.by_number.get(k)
            if node is None or node.head[0] != "Softmax":
                continue
            m = len(at) - node.head[1]
            if all(w in t.bound and counts[w] == 1 for w in at[m:]):
                whole = summed_over(node.slots[m:], ("e", k, node.slots))
                equation = self.step(f"SoftmaxRows {k}", whole, number(1))
                return self._renamed_use(t, equation, node.slots[:m], at[:m], self._without(t, n))
        return None

    def _use_square(self, t: Term) -> Expr | None:
        for n, (k, at) in enumerate(t.entries):
            node = self.by_number.get(k)
            if node is not None and node.head[0] == "Step" and (k, at) in t.entries[n + 1 :]:
                this = ("e", k, node.slots)
                equation = self.step(f"StepSquare {k}", ("*", this, this), this)
                other = t.entries.index((k, at), n + 1)
                return self._renamed_use(t, equation, node.slots, at, self._without(t, n, other))
        return None

    def _pairs(self, t: Term, head: str) -> Iterable[tuple[int, int]]:
        own = [n for n, (k, _) in enumerate(t.entries) if k in self.by_number and self.by_number[k].head[0] == head]
        return itertools.combinations(own, 2)

    def _argument_at(self, k: int, at: tuple[Index, ...]) -> Expr:
        node = self.by_number[k]
        return rewritten(self.rules, instance(node.slots, at, expanded(node.argument)))

    def _use_exponentials(self, t: Term) -> Expr | None:
        """exp(a x) exp(b x) = exp((a + b) x)."""
        for n, m in self._pairs(t, "Exp"):
            (_, at), (_, there) = t.entries[n], t.entries[m]
            own = list(dict.fromkeys((*at, *there)))
            names = {w: (slot, w[1]) for slot, w in enumerate(own)}
            a, b = (
                place(lambda w: names.get(w, w), 0, self._argument_at(*entry)) for entry in (t.entries[n], t.entries[m])
            )
            one, two = self._form(a), self._form(b)
            if {key[0:1] + key[2:] for key in one} != {key[0:1] + key[2:] for key in two}:
                continue
            first, second, both = (
                self.aligned(("Exp",), a),
                self.aligned(("Exp",), b),
                self.aligned(("Exp",), ("+", a, b)) if self._form(("+", a, b)) else None,
            )
            if both is None:
                both = next(self._numbers)
                self.add_node(both, Node(("Exp",), tuple(names.values()), ("+", a, b)))
                self._simplify(both, self.by_number[both])
            made = ("*", *(("e", x, self.by_number[x].slots) for x in (first, second)))
            total = ("e", both, self.by_number[both].slots)
            equation = self.step(
                f"ExpSum {both} {first} {second} {self.shown(self.proof(expanded(self.by_number[both].argument), ('+', a, b)))}",
                total,
                made,
            )
            return self._renamed_use(
                t._replace(value=-t.value), equation, list(names.values()), own, self._without(t, n, m)
            )
        return None

    def _use_powers(self, t: Term) -> Expr | None:
        """x^p x^q = x^(p + q) for positive x."""
        for n, m in self._pairs(t, "Raised"):
            (k, at), (j, there) = t.entries[n], t.entries[m]
            if at != there:
                continue
            one, two = self.by_number[k], self.by_number[j]
            if one.slots != two.slots or self._form(one.argument) != self._form(two.argument):
                continue
            both = next(self._numbers)
            self.add_node(both, Node(("Raised", one.head[1] + two.head[1]), one.slots, one.argument))
            if not self._is_positive(rewritten(self.rules, expanded(one.argument))):
                self._assume("IsPositive", both)
            self._simplify(both, self.by_number[both])
            proofs = [self.shown(self.proof(x.argument, one.argument)) for x in (one, two)]
            left = ("*", ("e", k, one.slots), ("e", j, two.slots))
            equation = self.step(f"PowerSum {both} {k} {j} {' '.join(proofs)}", left, ("e", both, one.slots))
            return self._renamed_use(t, equation, one.slots, at, self._without(t, n, m))
        return None

    def _use_size(self, t: Term) -> Expr | None:
        """A size that is declared as a value."""
        declared = {
            self.sizes[name]: (name, value) for name, value in self.certificate["sizes"].items() if value is not None
        }
        for n, ((side, base), q) in enumerate(t.powers):
            if side == "l" and base in declared and q.denominator == 1:
                equation = self.size_equations[base]
                factor = list(t.powers)
                if q > 0:
                    factor[n] = ((side, base), q - 1)
                    kept = t._replace(powers=tuple(p for p in factor if p[1]))
                    return self._renamed_use(t, equation, [], [], kept)
                terms = normal(self.equations[equation][1])
                if len(terms) != 1 or terms[0].entries:
                    continue
                inverse = tuple((base_, -e) for base_, e in terms[0].powers)
                kept = t._replace(powers=(*t.powers, *inverse))
                used = t._replace(value=-t.value / terms[0].value)
                return self._renamed_use(used, equation, [], [], kept)
        return None

    def _assume(self, what: str, entry: int) -> None:
        if (what, entry) not in self.conditions:
            self.conditions.append((what, entry))

    def shown(self, proof: Proof | None) -> str:
        """A proof as text."""
        assert proof is not None
        passes = _listed(_listed(map(str, p)) for p in proof.passes)
        uses = _listed(use[1] for use in proof.uses)
        renames = _listed(_listed(f"({_index(a)}, {_index(b)})" for a, b in names) for names in proof.exchanges)
        return f"(Shown {passes} (Certificate {uses} {renames}))"

    # -- the whole -----------------------------------------------------------------------------------------------------

    def write(self, name: str) -> str:
        """The claim as a section of a file."""
        self.size_equations: dict[int, int] = {}
        hypotheses: list[str] = []
        for size, value in self.certificate["sizes"].items():
            if value is not None:
                self.size_equations[self.sizes[size]] = len(self.equations)
                left: Expr = ("p", ("l", self.sizes[size]), 1, 1)
                self.equations.append((left, self.read(value, {}, {})))
                hypotheses.append(f"({_expr(left)}, {_expr(self.equations[-1][1])})")
        said = []
        for item in self.certificate["hypotheses"]:
            own = self.bound(item["indices"])
            sides = [self.read(item[side], own, {}) for side in ("left", "right")]
            said.append((tuple(own.values()), len(self.equations)))
            self.equations.append((sides[0], sides[1]))
            hypotheses.append(f"({', '.join(map(_expr, sides))})")
            self.checked.hypotheses.append(item["name"])
        first = len(self.equations)
        if self.steps:
            raise NotExported("functions in hypotheses that need a rule")
        parts = []
        for part in self.certificate["parts"]:
            own = self.bound(part["indices"])
            sides = [self.read(part[side], own, {}) for side in ("left", "right")]
            uses = [u for item in part["uses"] for u in [self._read_use(item, own, said)] if u is not None]
            parts.append((sides, self.proof(sides[0], sides[1], uses)))
            self.checked.blocks += 1
        assert first == len(hypotheses)
        self.checked.conditions = [f"{what} {entry}" for what, entry in self.conditions]
        return self._text(name, hypotheses, parts)

    def _read_use(self, item: dict[str, Any], own: dict[str, Index], said: list[Any]) -> Expr | None:
        """A use of the certificate; those of rules that are found here anyway are left out."""
        over = self.bound(item["over"])
        scope = {**own, **over}
        if "hypothesis" in item:
            by, equation = said[item["hypothesis"]]
            return self.use(
                equation,
                by,
                [scope[i] for i in item["at"]],
                expanded(self.read(item["times"], scope, {})),
                list(over.values()),
            )
        factor = expanded(self.read(item["times"], scope, {}))
        rule = item["rule"]
        if rule == "softmax rows":
            ((pairs, inner),) = item["arguments"]
            bound = self.bound(pairs)
            made = rewritten(
                self.rules,
                self.apply(("Softmax", len(bound)), tuple(bound.values()), self.read(inner, {**scope, **bound}, {})),
            )
            if made[0] != "e" or self.by_number[made[1]].head[0] != "Softmax":
                raise NotExported("the rows of a softmax that is none")
            k, at = made[1], made[2]
            node = self.by_number[k]
            m = len(node.slots) - node.head[1]
            equation = self.step(f"SoftmaxRows {k}", summed_over(node.slots[m:], ("e", k, node.slots)), number(1))
            return self.use(equation, node.slots[:m], at[:m], factor, list(over.values()))
        if rule == "softmax":
            ((pairs, inner),) = item["arguments"]
            bound = self.bound(pairs)
            e = self.read(inner, {**scope, **bound}, {})
            made = self.apply(("Softmax", len(bound)), tuple(bound.values()), e)
            k, node = made[1], self.by_number[made[1]]
            exponential = self._beside(node, ("Exp",))
            m = len(node.slots) - node.head[1]
            this = ("e", exponential, node.slots)
            left = ("*", ("e", k, node.slots), summed_over(node.slots[m:], this))
            equation = self.step(
                f"SoftmaxRatio {k} {exponential} {self.shown(self.proof(node.argument, node.argument))}", left, this
            )
            return self.use(
                equation, node.slots, (*made[2][:m], *(scope[i] for i in item["at"])), factor, list(over.values())
            )
        if rule == "power":
            (pairs, inner), p, q = item["arguments"]
            e = self.read(inner, scope, {})
            return self._read_power(e, Fraction(p, q), factor, list(over.values()))
        if rule in ("inverse left", "inverse right"):
            ((pairs, inner),) = item["arguments"]
            bound = self.bound(pairs)
            made = self.apply(
                ("Inverse", len(bound) // 2), tuple(bound.values()), self.read(inner, {**scope, **bound}, {})
            )
            return self._read_inverse(rule, made, [scope[i] for i in item["at"]], factor, list(over.values()))
        raise NotExported(f"the rule {rule}")

    def _read_power(self, e: Expr, q: Fraction, factor: Expr, over: list[Index]) -> Expr:
        raised = self.apply(("Raised", q), (), e)
        node = self.by_number[raised[1]]
        this = ("e", raised[1], node.slots)
        if q == -1:
            if not self._is_positive(rewritten(self.rules, expanded(node.argument))) or not self._is_positive(
                expanded(node.argument)
            ):
                self._assume("IsNonzero", raised[1])
            equation = self.step(f"PowerInverse {raised[1]}", ("*", node.argument, this), number(1))
            return self.use(equation, node.slots, raised[2], factor, over)
        one, after = self._beside(node, ("Raised", ONE)), self._beside(node, ("Raised", q + 1))
        if not self._is_positive(expanded(node.argument)):
            self._assume("IsPositive", after)
        same = self.shown(self.proof(node.argument, node.argument))
        left = ("*", ("e", one, node.slots), this)
        equation = self.step(f"PowerSum {after} {one} {raised[1]} {same} {same}", left, ("e", after, node.slots))
        return self.use(equation, node.slots, raised[2], factor, over)

    def _read_inverse(self, rule: str, made: Expr, at: list[Index], factor: Expr, over: list[Index]) -> Expr:
        k, node = made[1], self.by_number[made[1]]
        count = node.head[1]
        if len(node.slots) != 2 * count:
            raise NotExported("an inverse that depends on further indices")
        self._assume("IsInvertible", k)
        ws = tuple((next(self._names), w[1]) for w in node.slots[:count])
        rows, columns = node.slots[:count], node.slots[count:]
        argument = expanded(node.argument)
        if rule == "inverse left":
            left = ("*", ("e", k, (*rows, *ws)), instance(node.slots, (*ws, *columns), argument))
        else:
            left = ("*", instance(node.slots, (*rows, *ws), argument), ("e", k, (*ws, *columns)))
        right = number(1)
        for a, b in reversed(list(zip(rows, columns, strict=True))):
            right = ("*", ("d", a, b), right)
        step = "InverseLeft" if rule == "inverse left" else "InverseRight"
        equation = self.step(f"{step} {k} {_indices(ws)}", summed_over(ws, left), right)
        return self.use(equation, node.slots, at, factor, over)

    def _text(self, name: str, hypotheses: list[str], parts: list[Any]) -> str:
        lines = [f"(* {self.claim} *)", f"Module {name}."]
        lines += [f"(* size {n}: {size} *)" for size, n in self.sizes.items()]
        lines += [f"(* entry {n}: {text} *)" for n, text in self.names.items()]
        lines.append("Definition T0 : table := [::].")
        for n, (entry, node) in enumerate(self.nodes):
            lines.append(
                f"Definition T{n + 1} : table := ({entry}, Node {_head(node.head)} {_indices(node.slots)} {_expr(node.argument)}) :: T{n}."  # noqa: E501
            )
        lines.append(f"Definition functions := T{len(self.nodes)}.")
        lines.append(
            f"Definition conditions : seq condition := {_listed(f'{what} {k}' for what, k in self.conditions)}."
        )
        lines.append(f"Definition hypotheses : seq equation := {_listed(hypotheses)}.")
        lines.append(
            "Definition steps : seq step := [::\n  " + ";\n  ".join(self.steps) + "]."
            if self.steps
            else "Definition steps : seq step := [::]."
        )
        for n, (sides, proof) in enumerate(parts):
            lines.append(f"Definition left{n} := {_formula(sides[0])}.\nDefinition right{n} := {_formula(sides[1])}.")
            lines.append(f"Definition proof{n} := {self.shown(proof)}.")
            lines.append(
                f"Lemma accepted{n} : accepts functions conditions hypotheses steps (left{n}, right{n}) proof{n}.\nProof. by vm_cast_no_check (erefl true). Qed."  # noqa: E501
            )
            lines.append(
                f"Theorem identity{n} : always functions conditions hypotheses (left{n}, right{n}).\nProof. exact: (accepts_correct accepted{n}). Qed."  # noqa: E501
            )
        lines.append(f"End {name}.")
        return "\n".join(lines) + "\n"


def fixed(k: int) -> Callable[[Index], Index]:
    """Names below k stay."""
    return lambda w: w if w[0] < k else (w[0] + k, w[1])


def every_index(e: Expr) -> list[Index]:
    """All indices, bound ones too."""
    kind = e[0]
    if kind == "d":
        return [e[1], e[2]]
    if kind == "e":
        return list(e[2])
    if kind in "+*":
        return every_index(e[1]) + every_index(e[2])
    return [e[1], *every_index(e[2])] if kind == "s" else []


def place_at(names: dict[Index, Index], e: Expr) -> Expr:
    """Free indices by other names that no bound one has."""
    kind = e[0]
    if kind == "D":
        at = tuple(names.get(w, w) for w in e[2])
        return ("D", e[1], at, place_at(names, e[3]), place_at(names, e[4]), e[5])
    if kind == "d":
        return ("d", names.get(e[1], e[1]), names.get(e[2], e[2]))
    if kind == "e":
        return ("e", e[1], tuple(names.get(w, w) for w in e[2]))
    if kind in "+*":
        return (kind, place_at(names, e[1]), place_at(names, e[2]))
    return ("s", e[1], place_at(names, e[2])) if kind == "s" else e


def alpha(e: Expr) -> Any:
    """The expression with its bound indices numbered in turn."""
    count = itertools.count(FIRST_NAME)

    def walk(e: Expr, names: dict[Index, Index]) -> Any:
        kind = e[0]
        if kind == "d":
            return ("d", names.get(e[1], e[1]), names.get(e[2], e[2]))
        if kind == "e":
            return ("e", e[1], tuple(names.get(w, w) for w in e[2]))
        if kind in "+*":
            return (kind, walk(e[1], names), walk(e[2], names))
        if kind == "s":
            new = (-next(count), e[1][1])
            return ("s", new, walk(e[2], {**names, e[1]: new}))
        return e

    return walk(e, {})


# -- files -------------------------------------------------------------------------------------------------------------

HEADER = """(* Written by rocq/export.py from certificates. *)
From Coq Require Import ZArith NArith.
From mathcomp Require Import all_ssreflect.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Tables Slopes Statements Claims.
Set Warnings "-abstract-large-number".
Local Notation i := index_of.
"""


def module_name(claim: str) -> str:
    return "C_" + re.sub(r"\W", "_", claim)


def assumptions(found: Sequence[Written]) -> str:
    """What all theorems of these claims together rest on, to be printed: one search through the libraries takes seconds."""
    names = [f"{module_name(item.claim)}.identity{n}" for item in found for n in range(item.checked.blocks)]
    return f"Definition every := ({', '.join([*names, 'tt'])}).\nPrint Assumptions every.\n"


def read_certificates(path: Path) -> list[dict[str, Any]]:
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    found = [json.loads(line) for line in data.decode().splitlines() if line]
    return [item for item in found if item.get("kind") == "identity"]


@dataclass(frozen=True)
class Written:
    """A claim's section of a file and what the kernel checks in it, or why there is none."""

    claim: str
    text: str
    checked: Checked
    reason: str = ""
    sha256: str = ""  #: of the certificate's line


def written(certificate: dict[str, Any]) -> Written:
    """A certificate as text for Rocq."""
    claim = Claim(certificate)
    name = certificate["claim"]
    line = json.dumps(certificate, separators=(",", ":"), ensure_ascii=False)
    try:
        return Written(name, claim.write(module_name(name)), claim.checked, sha256=sha256(line.encode()).hexdigest())
    except NotExported as reason:
        return Written(name, "", claim.checked, str(reason))
    except RecursionError:
        return Written(name, "", claim.checked, "expressions that are nested too deeply")


def in_files(found: Sequence[Written], count: int) -> list[list[Written]]:
    """Claims shared out among files, since loading the libraries costs most."""
    groups: list[list[Written]] = [[] for _ in range(count)]
    for item in sorted(found, key=lambda item: (-len(item.text), item.claim)):
        min(groups, key=lambda group: sum(len(other.text) for other in group)).append(item)
    return [sorted(group, key=lambda item: item.claim) for group in groups if group]


__all__ = ["HEADER", "Checked", "Written", "assumptions", "in_files", "module_name", "read_certificates", "written"]
