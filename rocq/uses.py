"""Proofs of equations: which equations are used where, found by taking terms away."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction

from functions import ENTRYWISE
from normal_forms import (
    Expr,
    Index,
    Key,
    Term,
    canonical,
    collected,
    difference,
    entries_in,
    instance,
    negative,
    normal,
    number,
    of_key,
    of_term,
    place,
    rewritten,
    summed_over,
)
from syntax import Node, NotExported, Proof, expanded, rocq_expr, rocq_index, rocq_indices, rocq_listed

#: More uses are not sought: the longest proof that was found has 33.
MOST_USES = 200


class Uses:
    """Proofs in a claim that is being written."""

    def proof(
        self, left: Expr, right: Expr, uses: Sequence[Expr] = (), first: tuple[int, int, Expr] | None = None
    ) -> Proof:
        """How the checker sees that both are equal; raises `NotExported` if terms are left."""
        left, right = expanded(left), expanded(right)
        found = list(uses)
        rules = self.rules
        passes: list[list[int]] = []
        before = {k: (own, body) for k, (own, body, _) in self.replaced.items()}
        sides = rewritten(before, difference(left, right))
        if before:
            passes.append(sorted(place_ for _, _, place_ in self.replaced.values()))
        if first is not None:
            entry, place_, body = first
            sides = rewritten({entry: (self.by_number[entry].slots, body)}, sides)
            passes.append([place_])
        mentioned = entries_in(sides)
        terms = normal(rewritten(rules, sides))
        for use in found:
            worth = rewritten(before, negative(use[4]))
            mentioned |= entries_in(worth)
            terms += normal(rewritten(rules, worth))
        rest: dict[Key, Fraction] = {}
        names: list[list[tuple[Index, Index]]] = []
        for _ in range(MOST_USES):
            rest, exchanges = collected(terms, rest)
            names += exchanges
            if not rest:
                passes.append(sorted({self.rule_number[k] for k in mentioned if k in self.rule_number}))
                return Proof([p for p in passes if p], found, names)
            new = self._next_use(rest)
            if new is None:
                shown = ", ".join(str(of_term(of_key(k, v)))[:150] for k, v in list(rest.items())[:2])
                raise NotExported(f"{len(rest)} terms are left: {shown}")
            found.append(new)
            worth = rewritten(before, negative(new[4]))
            mentioned |= entries_in(worth)
            terms = normal(rewritten(rules, worth))
        raise NotExported("too many uses")

    def simpler(self, form: dict[Key, Fraction]) -> dict[Key, Fraction] | None:
        """A form after all uses that take a term away for a simpler one, if there is any."""
        rest, changed = dict(form), False
        for _ in range(MOST_USES):
            new = self._next_use(rest)
            if new is None:
                break
            rest, changed = collected(normal(rewritten(self.rules, negative(new[4]))), rest)[0], True
        return rest if changed else None

    def use(self, equation: int, by: Sequence[Index], at: Sequence[Index], factor: Expr, over: Sequence[Index]) -> Expr:
        """A use of an equation, and what it is worth."""
        left, right = (instance(by, at, expanded(side)) for side in self.equations[equation])
        worth = summed_over(over, ("*", factor, difference(left, right)))
        text = f"(Use {rocq_indices(over)} {rocq_expr(factor)} {equation} {rocq_indices(by)} {rocq_indices(at)})"
        return ("use", text, equation, factor, worth)

    def _next_use(self, rest: dict[Key, Fraction]) -> Expr | None:
        """A use that takes a term away for another that is simpler."""
        for key, value in sorted(rest.items(), key=repr):
            t = of_key(key, value)
            for make in (
                self._use_rows, self._use_square, self._use_exponentials, self._use_powers, self._use_size, self._use_units,
                self._use_symmetry, self._use_diagonal,
            ):  # fmt: skip
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

    def _use_units(self, t: Term) -> Expr | None:
        """e_p(i) e_p(i) = e_p(i), e_p(i) e_q(i) = 0 for different p and q, and the sum of e_p is 1."""
        for n, m in self._pairs(t, "Unit"):
            (k, at), (l, there) = t.entries[n], t.entries[m]
            if at == there and self.by_number[k].slots == self.by_number[l].slots:
                slots = self.by_number[k].slots
                one, two = ("e", k, slots), ("e", l, slots)
                step = f"UnitSquare {k}" if k == l else f"UnitsApart {k} {l}"
                equation = self.step(step, ("*", one, two), one if k == l else number(0))
                return self._renamed_use(t, equation, slots, at, self._without(t, n, m))
        for n, (k, at) in enumerate(t.entries):
            node = self.by_number.get(k)
            alone = at and at[0] in t.bound and t.indices.count(at[0]) == 1
            if node is None or node.head[0] != "Unit" or not alone:
                continue
            found = self._values_of(node.slots[0][1], node.head[1])
            if found is not None:
                equation = self.step(
                    f"UnitSum {k} {found[0]}%positive {self.shown(found[1])}",
                    ("s", node.slots[0], ("e", k, node.slots)),
                    number(1),
                )
                return self._renamed_use(t, equation, [], [], self._without(t, n))
        return None

    def _use_symmetry(self, t: Term) -> Expr | None:
        """f(i, j) = f(j, i) for a function whose argument is symmetric, in the order by which the term comes first."""
        if not self.reduces:
            return None
        before = repr(canonical(t)[0])
        for n, (k, at) in enumerate(t.entries):
            if len(at) != 2 or at[0] == at[1] or not self._is_symmetric(k):
                continue
            kept, back = self._without(t, n), at[::-1]
            if repr(canonical(kept._replace(entries=(*kept.entries, (k, back))))[0]) >= before:
                continue
            node = self.by_number[k]
            slots, turned = node.slots, node.slots[::-1]
            proof = self.proof(*(instance(slots, w, node.argument) for w in (slots, turned)))
            equation = self.step(
                f"SameEntries {k} {rocq_indices(slots)} {k} {rocq_indices(turned)} {self.shown(proof)}",
                ("e", k, slots),
                ("e", k, turned),
            )
            return self._renamed_use(t, equation, slots, at, kept)
        return None

    def _use_diagonal(self, t: Term) -> Expr | None:
        """f(i, i) as the function of the argument there."""
        if not self.reduces:
            return None
        for n, (k, at) in enumerate(t.entries):
            node = self.by_number.get(k)
            if node is None or node.head[0] not in ENTRYWISE or len(set(at)) == len(at):
                continue
            own = tuple(dict.fromkeys(at))
            slots = {w: (number_, w[1]) for number_, w in enumerate(own)}
            there = tuple(slots[w] for w in at)
            argument = place(lambda w, s=slots: s.get(w, w), 0, self._argument_at(k, at))  # type: ignore[misc]
            other = self.aligned(node.head, argument)
            known = self.by_number[other]
            ends = known.slots
            proof = self.proof(instance(node.slots, there, node.argument), instance(ends, ends, known.argument))
            equation = self.step(
                f"SameEntries {k} {rocq_indices(there)} {other} {rocq_indices(ends)} {self.shown(proof)}",
                ("e", k, there),
                ("e", other, ends),
            )
            return self._renamed_use(t, equation, list(slots.values()), own, self._without(t, n))
        return None

    def _is_symmetric(self, k: int) -> bool:
        node = self.by_number.get(k)
        if node is None or node.head[0] not in ENTRYWISE or len(node.slots) != 2:
            return False
        if k not in self.symmetric:
            argument = expanded(node.argument)
            alike = node.slots[0][1] == node.slots[1][1]
            self.symmetric[k] = alike and self._form(argument) == self._form(
                instance(node.slots, node.slots[::-1], argument)
            )
        return self.symmetric[k]

    def _values_of(self, size: int, position: int) -> tuple[int, Proof] | None:
        """How many values an index has, which are more than a position, and the proof; of position 0 nothing has to be shown."""
        if position == 0:
            return 1, Proof([], [], [])
        name = next(name for name, number_ in self.sizes.items() if number_ == size)
        value = self.certificate["sizes"][name]
        if value is None or value[0] != "q" or value[2] != 1 or value[1] <= position:
            return None
        return value[1], self.proof(("p", ("l", size), 1, 1), number(value[1]))

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
        passes = rocq_listed(rocq_listed(map(str, p)) for p in proof.passes)
        uses = rocq_listed(use[1] for use in proof.uses)
        renames = rocq_listed(
            rocq_listed(f"({rocq_index(a)}, {rocq_index(b)})" for a, b in names) for names in proof.exchanges
        )
        return f"(Shown {passes} (Certificate {uses} {renames}))"
