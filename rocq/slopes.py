"""Derivatives, carried out as `derivative` of Derivatives.v does, with the conditions under which they exist."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from normal_forms import Expr, Index, above, difference, entries_in, negative, number, place, product, summed_over
from syntax import ONE, Node, NotExported, every_index, expanded, fixed


class Slopes:
    """Derivatives in a claim that is being written."""

    def _derivative(self, name: str, at: list[Index], e: Expr, points: Any) -> Expr:
        if self.certificate.get("iterates") and name in self.certificate["inputs"]:
            raise NotExported("a derivative in an input on which iterates may depend")
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
        if head[0] == "Inverse":
            self._assume("IsInvertible", k)
            return
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
