"""Rules about matrix exponentials in a claim, as links of ExponentialRules.v; a claim that has one is about exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from normal_forms import Expr, Index, free, instance, number, place, product, summed_over
from syntax import ONE, Node, NotExported, expanded, rocq_indices

#: Links that are no steps of Rules.v.
LINKS = ("Intertwined", "Fixes", "Opposite", "Transposed")
#: The rules of certificates that these are.
RULES = ("intertwined exponentials", "exponential of what annihilates", "opposite exponentials")


def is_link(step: str) -> bool:
    """Whether a step rests on what an exponential is.

    >>> is_link("Opposite 3 4 [::] p"), is_link("SoftmaxRows 3")
    (True, False)
    """
    return step.split(maxsplit=1)[0] in LINKS


def deltas(vs: Sequence[Index], ws: Sequence[Index]) -> Expr:
    """The product of deltas between indices, as `deltas_between` of Rules.v writes it."""
    return product([*(("d", a, b) for a, b in zip(vs, ws, strict=True)), number(1)])


class Exponentials:
    """Exponentials of matrices in a claim that is being written."""

    def _read_exponentials(
        self, item: dict[str, Any], scope: dict[str, Index], said: list[Any], factor: Expr, over: list[Index]
    ) -> Expr:
        """A use of a rule about exponentials."""
        ends = tuple(scope[i] for i in item["at"])
        if item["rule"] == "opposite exponentials":
            ((pairs, inner),) = item["arguments"]
            own = self.bound(pairs)
            e = self.read(inner, {**scope, **own}, {})
            one, two = (self._matrix_exponential(own, argument) for argument in (e, ("*", number(-1), e)))
            return self._opposite(one, two, ends, factor, over)
        *matrices, third, uses = item["arguments"]
        found = []
        for pairs, inner in matrices:
            own = self.bound(pairs)
            found.append(self._matrix_exponential(own, self.read(inner, {**scope, **own}, {})))
        pairs, inner = third
        own = self.bound(pairs)
        between = expanded(self.read(inner, {**scope, **own}, {}))
        outside = tuple(w for w in free(between) if w not in own.values())
        a = self.function(("Raised", ONE), (*outside, *own.values()), between)
        names = {w: self._fresh(w) for w in (*outside, *own.values())}
        here = {name: names.get(w, w) for name, w in {**scope, **own}.items()}
        own_names = tuple(names[w] for w in own.values())
        count = len(self.by_number[found[0]].slots) // 2
        others, rows, columns = tuple(names[w] for w in outside), own_names[:count], own_names[count:]
        read = [u for use in uses if (u := self._read_use(use, here, said)) is not None]
        equation = self._intertwined(found, a, others, rows, columns, read)
        return self.use(equation, (*others, *rows, *columns), (*outside, *ends), factor, over)

    def _fresh(self, w: Index) -> Index:
        return next(self._names), w[1]

    def _matrix_exponential(self, own: dict[str, Index], e: Expr) -> int:
        """The number of the exponential of a matrix with these indices of rows, then of columns."""
        slots = tuple(own.values())
        if any(w not in slots for w in free(expanded(e))):
            raise NotExported("the exponentials of a family of matrices")
        return self.function(("Arbitrary", len(slots) // 2), slots, e)

    def _intertwined(
        self,
        found: Sequence[int],
        a: int,
        others: tuple[Index, ...],
        rows: tuple[Index, ...],
        columns: tuple[Index, ...],
        uses: Sequence[Expr],
    ) -> int:
        """The number of the equation exp(M) A = A exp(N), or exp(M) v = v where there is one matrix; A is entry `a`."""
        k, m = found[0], self.by_number[found[0]]
        ws = tuple(map(self._fresh, rows))
        at_rows = ("e", a, (*others, *ws, *columns))
        before = summed_over(ws, ("*", instance(m.slots, (*rows, *ws), expanded(m.argument)), at_rows))
        left = summed_over(ws, ("*", ("e", k, (*rows, *ws)), at_rows))
        if len(found) == 1:
            proof = self.shown(self.proof(before, number(0), uses))
            names = " ".join(map(rocq_indices, (others, rows, ws)))
            return self.step(f"Fixes {k} {a} {names} {proof}", left, ("e", a, (*others, *rows)))
        l, n = found[1], self.by_number[found[1]]
        vs = tuple(map(self._fresh, columns))
        at_columns = ("e", a, (*others, *rows, *vs))
        after = summed_over(vs, ("*", at_columns, instance(n.slots, (*vs, *columns), expanded(n.argument))))
        right = summed_over(vs, ("*", at_columns, ("e", l, (*vs, *columns))))
        proof = self.shown(self.proof(before, after, uses))
        names = " ".join(map(rocq_indices, (others, rows, columns, ws, vs)))
        return self.step(f"Intertwined {k} {l} {a} {names} {proof}", left, right)

    def _opposite(self, k: int, l: int, ends: tuple[Index, ...], factor: Expr, over: list[Index]) -> Expr:
        """exp(M) exp(-M) = I at these indices."""
        one, two = self.by_number[k], self.by_number[l]
        count = one.head[1]
        rows, columns = one.slots[:count], one.slots[count:]
        ws = tuple(map(self._fresh, rows))
        proof = self.shown(self.proof(("+", one.argument, two.argument), number(0)))
        left = summed_over(ws, ("*", ("e", k, (*rows, *ws)), ("e", l, (*ws, *columns))))
        equation = self.step(f"Opposite {k} {l} {rocq_indices(ws)} {proof}", left, deltas(rows, columns))
        return self.use(equation, one.slots, ends, factor, over)

    def _of_transpose(self, entry: int, node: Node) -> tuple[int, tuple[Index, ...]] | None:
        """The known exponential of the transpose of a matrix, or of each of a family, and its indices as slots of the node."""
        count = node.head[1]
        front, rows, columns = node.slots[: -2 * count], node.slots[-2 * count : -count], node.slots[-count:]
        if [w[1] for w in rows] != [w[1] for w in columns]:
            return None
        turned = (*front, *columns, *rows)
        names = dict(zip(node.slots, turned, strict=True))
        argument = place(lambda w: names.get(w, w), 0, expanded(node.argument))
        key = (node.head, tuple(w[1] for w in turned), frozenset(self._form(argument).items()))
        other = self.made.get(key, entry)
        return None if other == entry else (other, turned)

    def _as_transposed_exponential(self, entry: int, node: Node) -> bool:
        """Whether the exponential of the transpose of a matrix is known; then this one is made of it."""
        found = self._of_transpose(entry, node) if len(node.slots) == 2 * node.head[1] else None
        if found is None:
            return False
        other, turned = found
        known = self.by_number[other]
        proof = self.proof(node.argument, instance(known.slots, turned, expanded(known.argument)))
        self.rule(entry, f"Transposed {other} {entry}", proof, ("e", other, turned))
        return True

    def _turned(self, e: Expr) -> Expr:
        """The expression with exponentials of transposes as transposes of exponentials: for factors, which are only sought."""
        kind = e[0]
        if kind in "+*":
            return (kind, self._turned(e[1]), self._turned(e[2]))
        if kind == "s":
            return ("s", e[1], self._turned(e[2]))
        node = self.by_number.get(e[1]) if kind == "e" else None
        if node is None or node.head[0] != "Arbitrary" or e[1] in self.rules:
            return e
        found = self._of_transpose(e[1], node)
        if found is None:
            return e
        other, turned = found
        names = dict(zip(node.slots, e[2], strict=True))
        return ("e", other, tuple(names[w] for w in turned))
