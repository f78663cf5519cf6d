"""Which steps of the checker may stand for a step of a derivation, and for what no step of a derivation says."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from verify.arithmetics.norms.recording import Steps, Writer, any_of, beside, family_of, generators, row_source, text_of
from verify.kernel import bound_rules, quantities
from verify.kernel import bounds as kernel
from verify.kernel.refusal import Refused

ONE = quantities.number(1)
#: Rules of the checker by which nothing has to be shown.
UNCONDITIONAL: set[str] = set()


class Instances:
    """Steps for the inequality whose right side has the generators `kept`, and perhaps sums over an index."""

    w: Writer
    facts: list[int]
    kept: set[Any]
    outside: list[Any]
    value: Any
    aims_at_sums: bool

    def _reason(self, a: Any, b: Any) -> list[Any] | None:
        """A reason for a <= b."""
        raise NotImplementedError

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
        if g[0] == "norm":
            for A in sorted(g[2], key=text_of):
                if (family := family_of(A)) is not None:
                    kind, index, inner = family
                    if kind == "stack":
                        yield from self._stacks(g[1], self.w.place_of(index), self.w.matrix(inner))
                        continue
                    yield [("sum over an index", [g[1], self.w.place_of(index), self.w.matrix(inner)])]
            weights = [
                item
                for A in sorted(g[2], key=text_of)
                if (item := quantities.single_atom(A, "softmax")) and not item[1]
            ]
            for item in weights:
                yield [("softmax row", [self.w.matrix(item[4])])]
        for A in sorted(g[2], key=text_of) if g[:2] == ("norm", "2") else ():
            if (item := quantities.single_atom(A, "exponential")) is not None:
                yield [("exponential of a skew matrix", [self.w.matrix(item[4])])]

    def _stacks_of(self, g: Any) -> Iterator[Steps]:
        for A in sorted(g[2], key=text_of) if g[0] == "norm" else ():
            if (family := family_of(A)) is not None and family[0] == "stack":
                yield from self._stacks(g[1], self.w.place_of(family[1]), self.w.matrix(family[2]))

    def _stacks(self, kind: str, index: int, inner: int) -> Iterator[Steps]:
        if self.aims_at_sums:
            yield [("stack", [kind, index, inner])]
        yield [("stack of one length", [kind, index, inner])]

    def _of_sum_over(self, index: Any, body: Any) -> Iterator[Steps]:
        i = self.w.place_of(index)
        for monomial in body.terms:
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
