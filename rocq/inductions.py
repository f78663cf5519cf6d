"""Proofs by induction over the steps of iterations in a claim, as Iterates.v has them: starts, images, and invariants of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exponentials import is_link
from normal_forms import Expr, Index
from syntax import NotExported, Proof, expanded, rocq_expr, rocq_formula, rocq_indices, rocq_listed

Said = list[tuple[tuple[Index, ...], int]]


@dataclass(frozen=True)
class Iterate:
    """The number of an iterate, of the variable of its map, and of the image; indices, start and image."""

    value: int
    variable: int
    next: int
    own: tuple[Index, ...]
    start: Expr
    image: Expr

    def text(self) -> str:
        return (
            f"Iterate {self.value} {self.variable} {self.next} {rocq_indices(self.own)} "
            f"{rocq_expr(expanded(self.start))} {rocq_formula(self.image)}"
        )


def relabelled(numbers: dict[int, int], more: Sequence[Index], e: Expr) -> Expr:
    """Entries under other numbers, with more indices.

    >>> relabelled({0: 5}, [(9, 1)], ("*", ("e", 0, ((1, 0),)), ("e", 2, ())))
    ('*', ('e', 5, ((1, 0), (9, 1))), ('e', 2, ()))
    """
    kind = e[0]
    if kind == "e":
        return ("e", numbers[e[1]], (*e[2], *more)) if e[1] in numbers else e
    if kind in "+*":
        return (kind, relabelled(numbers, more, e[1]), relabelled(numbers, more, e[2]))
    return ("s", e[1], relabelled(numbers, more, e[2])) if kind == "s" else e


class Inductions:
    """The induction of a claim that is being written."""

    def _iterates(self) -> tuple[list[Iterate], tuple[Index, ...]]:
        """The iterates of the certificate, and the index that numbers the steps in their images."""
        items = self.certificate["iterates"]
        counts = {item["count"] for item in items}
        if len(counts) != 1:
            raise NotExported("iterates of several numbers of steps")
        clock = (self.index(*counts),) if any("step" in item for item in items) else ()
        found = []
        for item in items:
            own = self.bound(item["indices"])
            at = {item["step"]: clock[0]} if "step" in item else {}
            start, image = self.read(item["start"], own, {}), self.read(item["image"], {**own, **at}, {})
            numbers = [self.entries[item[key]] for key in ("value", "variable")]
            found.append(Iterate(*numbers, next(self._numbers), tuple(own.values()), start, image))
            self.names[found[-1].next] = f"the image of {item['variable']}"
        return found, clock

    def _again(self, known: Sequence[tuple[Expr, Expr]]) -> None:
        """Nothing is known but these equations and what follows from them about the functions."""
        self.equations, self.steps, self.known_steps = list(known), [], {}
        self.rules, self.rule_number, self.made, self.symmetric = {}, {}, {}, {}
        for entry, node in list(self.nodes):
            self._simplify(entry, node)

    def _shown(self, sides: Sequence[Expr], uses: Sequence[Any], scope: dict[str, Index], said: Said) -> Proof:
        read = [u for item in uses for u in [self._read_use(item, scope, said)] if u is not None]
        return self.proof(sides[0], sides[1], read)

    def _by(self, numbers: Sequence[int], equations: Sequence[tuple[Expr, Expr]], first: int) -> None:
        """Entries that the equations from number `first` on are about are replaced before all others."""
        self.replaced = {
            k: (left[2], right, first + n) for n, (k, (left, right)) in enumerate(zip(numbers, equations, strict=True))
        }

    def _induction(self, said: Said) -> tuple[list[str], Said]:
        """The induction as definitions, and the equations that are known afterwards, invariants of the iterates too."""
        inductions = self.certificate.get("inductions", [])
        base = list(self.equations)
        its, clock = self._iterates()
        if len(inductions) > 1 or any(len(item["iterates"]) != len(its) for item in inductions):
            raise NotExported("an induction over some of the iterates")
        items = [item for induction in inductions for item in induction["invariants"]]
        steps = {induction["step"]: clock[0] for induction in inductions if "step" in induction}
        scopes = [self.bound(item["indices"]) for item in items]
        sides = [
            tuple(expanded(self.read(item[side], scope, {})) for side in ("left", "right"))
            for item, scope in zip(items, scopes, strict=True)
        ]
        numbered = [(tuple(scope.values()), len(base) + n) for n, scope in enumerate(scopes)]
        starts = [(("e", it.variable, it.own), expanded(it.start)) for it in its]
        images = [(("e", it.next, (*it.own, *clock)), expanded(it.image)) for it in its]
        lines = [
            f"Definition iterates : seq iterate := {rocq_listed(it.text() for it in its)}.",
            f"Definition clock : seq index := {rocq_indices(clock)}.",
        ]

        self._again([*base, *starts])
        self._by([it.variable for it in its], starts, len(base))
        at_start = [self._shown(*each, said) for each in zip(sides, [i["start"] for i in items], scopes, strict=True)]
        self.replaced = {}
        lines.append(self._steps_text("at_start_steps"))

        self._again([*base, *sides, *images])
        next_ = {it.variable: it.next for it in its}
        self._by([it.next for it in its], images, len(base) + len(sides))
        ahead = [tuple(relabelled(next_, clock, e) for e in pair) for pair in sides]
        timed = [{**scope, **steps} for scope in scopes]
        at_image = [
            self._shown(*each, [*said, *numbered])
            for each in zip(ahead, [i["step"] for i in items], timed, strict=True)
        ]
        self.replaced = {}
        lines.append(self._steps_text("at_image_steps"))

        pairs = rocq_listed(f"({rocq_expr(left)}, {rocq_expr(right)})" for left, right in sides)
        proofs = " ".join(
            f"{name} {rocq_listed(map(self.shown, found))}"
            for name, found in (("at_start_steps", at_start), ("at_image_steps", at_image))
        )
        lines.append(f"Definition by_induction := Induction {pairs} {proofs}.")
        value = {it.variable: it.value for it in its}
        self._again([*base, *(tuple(relabelled(value, (), e) for e in pair) for pair in sides)])
        self.checked.rules.add("Induction")
        return lines, [*said, *numbered]

    def _steps_text(self, name: str) -> str:
        if any(map(is_link, self.steps)):
            raise NotExported("an induction with a rule about exponentials")
        return f"Definition {name} : seq step := {rocq_listed(self.steps)}."
