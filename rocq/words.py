"""What a theorem assumes beside its hypotheses as text, with the names that the certificate has."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from normal_forms import Expr, Index, free, number
from syntax import ONE, expanded, place_at

#: Names for indices in a text, in turn.
LETTERS = "ijklmnpqrstuvwxyz"
SAID = {"IsPositive": "is positive", "IsNonzero": "is not 0", "IsInvertible": "has an inverse"}


def words_of(claim: Any) -> list[str]:
    """Each thing assumed once: "sum_j M[i,j] exp(T[i,j]) is positive", for all values of the indices that are not summed."""
    found = dict.fromkeys(f"{name} is positive" for name in claim.scalars)
    for what, said in SAID.items():
        for entry in [entry for kind, entry in claim.conditions if kind == what]:
            e = inlined(claim, expanded(claim.by_number[entry].argument))
            # a power of what is positive is not 0
            base = e[3] if e[0] == "f" and e[1][0] == "Raised" else e
            if what != "IsNonzero" or f"{text(claim, base)} is positive" not in found:
                found[f"{text(claim, e)} {said}"] = None
    return list(found)


def inlined(claim: Any, e: Expr) -> Expr:
    """Functions in the place of their entries, ("f", head, indices, argument); the matrix that a point stands for itself."""
    if e[0] in "+*":
        return (e[0], inlined(claim, e[1]), inlined(claim, e[2]))
    if e[0] == "s":
        return ("s", e[1], inlined(claim, e[2]))
    if e[0] != "e" or e[1] not in claim.by_number:
        return e
    node = claim.by_number[e[1]]
    fresh = {w: (next(claim._names), w[1]) for w in _bound(expanded(node.argument))}
    argument = _renamed(fresh, expanded(node.argument))
    placed = inlined(claim, place_at(dict(zip(node.slots, e[2], strict=True)), argument))
    return placed if node.head == ("Raised", ONE) else ("f", node.head, e[2], placed)


def _free(e: Expr, bound: frozenset[Index]) -> list[Index]:
    """Indices that no sum binds, with functions inlined."""
    if e[0] in "+*":
        return _free(e[1], bound) + _free(e[2], bound)
    if e[0] == "s":
        return _free(e[2], bound | {e[1]})
    if e[0] == "f":
        return [*(w for w in e[2] if w not in bound), *_free(e[3], bound)]
    return [w for w in free(e) if w not in bound]


def _bound(e: Expr) -> list[Index]:
    if e[0] in "+*":
        return _bound(e[1]) + _bound(e[2])
    return [e[1], *_bound(e[2])] if e[0] == "s" else []


def _renamed(names: Mapping[Index, Index], e: Expr) -> Expr:
    """Bound indices by other names."""
    if e[0] in "+*":
        return (e[0], _renamed(names, e[1]), _renamed(names, e[2]))
    if e[0] == "s":
        return ("s", names[e[1]], _renamed(names, e[2]))
    return place_at(dict(names), e)


def text(claim: Any, e: Expr) -> str:
    """An expression with functions inlined; indices are named in turn."""
    made = Text(claim)
    for w in _free(e, frozenset()):
        made.index(w)
    return made.sum(e)


class Text:
    """The names that indices got so far."""

    def __init__(self, claim: Any) -> None:
        self.sizes = {k: name for name, k in claim.sizes.items()}
        self.scalars = {k: name for name, k in claim.scalars.items()}
        self.entries = claim.names
        self.letters: dict[Index, str] = {}
        taken = {*claim.sizes, *claim.scalars, *claim.names.values()}
        letters = (letter for letter in LETTERS if letter not in taken)
        self._left = itertools.chain(letters, (f"i{k}" for k in itertools.count(1)))

    def index(self, w: Index) -> str:
        if w not in self.letters:
            self.letters[w] = next(self._left)
        return self.letters[w]

    def sum(self, e: Expr) -> str:
        shown = ""
        for term in _flat("+", e):
            sign, factors = 1, []
            for factor in _flat("*", term):
                sign *= -1 if factor == number(-1) else 1
                factors += [factor] * (factor != number(-1))
            shown += (" - " if sign < 0 else " + ") + self.product(factors)
        return shown.removeprefix(" + ").lstrip() if shown.startswith(" + ") else "-" + shown[3:]

    def product(self, factors: list[Expr]) -> str:
        ordered = sorted((e for e in factors if e != number(1)), key=_rank)
        parts, last = [], len(ordered) - 1
        for n, (factor, group) in enumerate(_powers(ordered)):
            inside = self.factor(factor, alone=last == 0)
            if group > 1:
                inside = (
                    f"({inside})^{group}" if factor[0] in "+s" and not inside.startswith("(") else f"{inside}^{group}"
                )
            elif factor[0] == "s" and n < last:
                inside = f"({inside})"
            parts.append(inside)
        return " ".join(parts) or "1"

    def factor(self, e: Expr, alone: bool) -> str:
        kind = e[0]
        if kind == "n":
            return str(Fraction(e[1], e[2]))
        if kind == "p":
            return self.power(self.sizes[e[1][1]] if e[1][0] == "l" else self.scalars[e[1][1]], Fraction(e[2], e[3]))
        if kind == "d":
            return f"[{self.index(e[1])} = {self.index(e[2])}]"
        if kind == "e":
            at = ",".join(map(self.index, e[2]))
            return f"{self.entries[e[1]]}[{at}]" if at else self.entries[e[1]]
        if kind == "s":
            name, inside = self.index(e[1]), self.product(_flat("*", e[2]))
            return f"sum_{name} ({inside})" if e[2][0] == "+" else f"sum_{name} {inside}"
        if kind == "f":
            return self.function(*e[1:])
        return self.sum(e) if alone else f"({self.sum(e)})"

    def power(self, base: str, q: Fraction) -> str:
        return base if q == 1 else f"{base}^{q}" if q > 0 and q.denominator == 1 else f"{base}^({q})"

    def function(self, head: tuple[Any, ...], at: tuple[Index, ...], argument: Expr) -> str:
        kind = head[0]
        if kind == "Raised":
            return self.power(f"({self.sum(argument)})", head[1])
        if kind == "Unit":
            return f"[{self.index(at[0])} = {head[1]}]"
        over = at[len(at) - head[1] :] if kind == "Softmax" else at if kind in ("Inverse", "Arbitrary") else ()
        names = {"Step": "step", "Arbitrary": "matrix exponential"}
        shown = f"{names.get(kind, kind.lower())}({self.sum(argument)})"
        return f"{shown}[{','.join(map(self.index, over))}]" if over else shown


def _flat(sign: str, e: Expr) -> list[Expr]:
    return [*_flat(sign, e[1]), *_flat(sign, e[2])] if e[0] == sign else [e]


def _rank(e: Expr) -> Any:
    """Numbers, powers of sizes and scalars, entries, functions, sums."""
    return ("npdef+s".index(e[0]), e[1] if e[0] in "pe" else 0)


def _powers(factors: list[Expr]) -> list[tuple[Expr, int]]:
    """Equal factors next to each other, together; bound indices do not matter."""
    found: list[tuple[Expr, int]] = []
    for e in factors:
        if found and _same(found[-1][0], e):
            found[-1] = (e, found[-1][1] + 1)
        else:
            found.append((e, 1))
    return found


def _same(a: Expr, b: Expr, names: Mapping[Index, Index] | None = None) -> bool:
    names = names or {}
    if a[0] != b[0]:
        return False
    if a[0] in "+*":
        return _same(a[1], b[1], names) and _same(a[2], b[2], names)
    if a[0] == "s":
        return a[1][1] == b[1][1] and _same(a[2], b[2], {**names, a[1]: b[1]})
    if a[0] == "f":
        return a[1] == b[1] and tuple(names.get(w, w) for w in a[2]) == b[2] and _same(a[3], b[3], names)
    return place_at(dict(names), a) == b


__all__ = ["words_of"]
