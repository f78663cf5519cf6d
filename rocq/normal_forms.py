"""The normal form of rocq/Expressions.v and rocq/Derivatives.v, step by step: what names and which order it gives.

A certificate names exchanges of summed indices for each term of a normal form, so that its writer has to know the terms.
Nothing here is trusted: where it differs from the checker, the checker refuses.

Expressions: ("n", p, q), ("p", base, p, q), ("d", i, j), ("e", number, indices), ("+", a, b), ("*", a, b), ("s", index, a).
An index is (name, size), both numbers; a base is ("l", size) or ("r", scalar).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

Index = tuple[int, int]
Expr = tuple[Any, ...]
Power = tuple[tuple[str, int], Fraction]


class Term(NamedTuple):
    """A number, summed indices, and a product of powers, deltas and entries."""

    value: Fraction
    bound: tuple[Index, ...]
    powers: tuple[Power, ...]
    deltas: tuple[tuple[Index, Index], ...]
    entries: tuple[tuple[int, tuple[Index, ...]], ...]

    @property
    def indices(self) -> list[Index]:
        """Of deltas, then of entries."""
        return [i for d in self.deltas for i in d] + [i for _, at in self.entries for i in at]


# -- expressions -------------------------------------------------------------------------------------------------------


def number(value: Fraction | int) -> Expr:
    value = Fraction(value)
    return ("n", value.numerator, value.denominator)


def product(parts: Iterable[Expr]) -> Expr:
    """Nested to the right, as the checker's own products are."""
    *rest, last = list(parts) or [number(1)]
    for part in reversed(rest):
        last = ("*", part, last)
    return last


def added(parts: Iterable[Expr]) -> Expr:
    *rest, last = list(parts) or [number(0)]
    for part in reversed(rest):
        last = ("+", part, last)
    return last


def summed_over(indices: Sequence[Index], e: Expr) -> Expr:
    for index in reversed(indices):
        e = ("s", index, e)
    return e


def negative(e: Expr) -> Expr:
    return ("*", number(-1), e)


def difference(a: Expr, b: Expr) -> Expr:
    return ("+", a, negative(b))


def free(e: Expr) -> list[Index]:
    """Free indices, in the order of their first occurrence."""
    found: dict[Index, None] = {}

    def walk(e: Expr, inside: frozenset[Index]) -> None:
        if e[0] == "s":
            walk(e[2], inside | {e[1]})
        elif e[0] in "+*":
            walk(e[1], inside)
            walk(e[2], inside)
        else:
            for index in e[1:] if e[0] == "d" else e[2] if e[0] == "e" else ():
                if index not in inside:
                    found.setdefault(index)

    walk(e, frozenset())
    return list(found)


def entries_in(e: Expr) -> set[int]:
    if e[0] == "e":
        return {e[1]}
    return set().union(
        *(
            entries_in(part)
            for part in e[1:]
            if isinstance(part, tuple) and part and isinstance(part[0], str) and part[0] in "+*snped"
        )
    )


def place(f: Callable[[Index], Index], k: int, e: Expr) -> Expr:
    """Free indices by f, names of bound ones greater by k."""
    kind = e[0]
    if kind == "d":
        return ("d", f(e[1]), f(e[2]))
    if kind == "e":
        return ("e", e[1], tuple(map(f, e[2])))
    if kind in "+*":
        return (kind, place(f, k, e[1]), place(f, k, e[2]))
    if kind == "s":
        bound, new = e[1], (e[1][0] + k, e[1][1])
        return ("s", new, place(lambda w: new if w == bound else f(w), k, e[2]))
    return e


def above(indices: Iterable[Index]) -> int:
    return max((name + 1 for name, _ in indices), default=0)


def instance(own: Sequence[Index], at: Sequence[Index], e: Expr) -> Expr:
    """e with the indices `at` in the place of its own."""
    k = above(at)
    names = dict(zip(reversed(own), reversed(at), strict=True))
    return place(lambda w: names.get(w) or (w[0] + k, w[1]), k, e)


def rewritten(rules: dict[int, tuple[Sequence[Index], Expr]], e: Expr) -> Expr:
    """Entries replaced by what rules say they are."""
    if e[0] == "e" and e[1] in rules:
        own, body = rules[e[1]]
        return instance(own, e[2], body)
    if e[0] in "+*":
        return (e[0], rewritten(rules, e[1]), rewritten(rules, e[2]))
    if e[0] == "s":
        return ("s", e[1], rewritten(rules, e[2]))
    return e


# -- terms -------------------------------------------------------------------------------------------------------------


def _swap(u: Index, v: Index) -> Callable[[Index], Index]:
    return lambda w: v if w == u else u if w == v else w


def renamed(f: Callable[[Index], Index], t: Term) -> Term:
    deltas = tuple((f(a), f(b)) for a, b in t.deltas if f(a) != f(b))
    return t._replace(deltas=deltas, entries=tuple((k, tuple(map(f, at))) for k, at in t.entries))


def exchange(u: Index, v: Index, t: Term) -> Term:
    used = set(t.indices) - set(t.bound)
    if u[1] != v[1] or u in used or v in used:
        return t
    f = _swap(u, v)
    return renamed(f, t)._replace(bound=tuple(map(f, t.bound)))


def _apart(taken: set[Index], top: int, t: Term) -> Term:
    for b in t.bound:
        if b in taken:
            t = exchange(b, (top, b[1]), t)
            top += 1
    return t


def multiply(t: Term, u: Term) -> Term:
    vt, vu = [*t.bound, *t.indices], [*u.bound, *u.indices]
    if set(t.bound) & set(vu) or set(u.bound) & set(vt):
        t = _apart(set(vu), above([*vt, *vu]), t)
        vt = [*t.bound, *t.indices]
        u = _apart(set(vt), above([*vt, *vu]), u)
    return Term(t.value * u.value, t.bound + u.bound, t.powers + u.powers, t.deltas + u.deltas, t.entries + u.entries)


def sum_over(v: Index, t: Term) -> Term:
    for n, (a, b) in enumerate(t.deltas):
        if v in (a, b) and a != b:
            j = b if a == v else a
            if j[1] != v[1] or j in t.bound or v in t.bound:
                break
            return renamed(lambda w: j if w == v else w, t._replace(deltas=t.deltas[:n] + t.deltas[n + 1 :]))
    if v in t.indices:
        return t._replace(bound=(v, *t.bound))
    return t._replace(powers=((("l", v[1]), Fraction(1)), *t.powers))


def normal(e: Expr) -> list[Term]:
    """The terms of an expression, in the checker's order."""
    kind, one = e[0], Fraction(1)
    if kind == "n":
        return [Term(Fraction(e[1], e[2]), (), (), (), ())] if e[1] else []
    if kind == "p":
        return [Term(one, (), ((e[1], Fraction(e[2], e[3])),), (), ())]
    if kind == "d":
        return [Term(one, (), (), ((e[1], e[2]),) if e[1] != e[2] else (), ())]
    if kind == "e":
        return [Term(one, (), (), (), ((e[1], e[2]),))]
    if kind == "+":
        return normal(e[1]) + normal(e[2])
    if kind == "*":
        right = normal(e[2])
        return [multiply(t, u) for t in normal(e[1]) for u in right]
    return [sum_over(e[1], t) for t in normal(e[2])]


# -- one form for equal terms ------------------------------------------------------------------------------------------


def _joined(deltas: Iterable[tuple[Index, Index]]) -> dict[Index, Index]:
    """Each index that deltas make equal to a smaller one, with the smallest."""
    root: dict[Index, Index] = {}

    def find(w: Index) -> Index:
        while w in root:
            w = root[w]
        return w

    for pair in deltas:
        a, b = sorted(map(find, pair))
        if a != b:
            root[b] = a
    return {w: find(w) for w in root}


def sorted_form(t: Term) -> Term:
    """Powers, deltas and entries as the checker sorts them; equal forms are equal terms."""
    powers: dict[tuple[str, int], Fraction] = {}
    for base, q in t.powers:
        powers[base] = powers.get(base, Fraction(0)) + q
    root = _joined(t.deltas)
    entries = sorted((k, tuple(root.get(w, w) for w in at)) for k, at in t.entries)
    deltas = sorted((smallest, w) for w, smallest in root.items())
    kept = tuple(sorted((base, q) for base, q in powers.items() if q))
    return Term(t.value, tuple(sorted(t.bound)), kept, tuple(deltas), tuple(entries))


#: Names that summed indices have in canonical forms, which nothing else has.
CANONICAL = 100
MOST_LEAVES = 60


def naming(t: Term) -> list[tuple[Index, Index]]:
    """Exchanges that give the summed indices canonical names: colours refined by neighbours, ties tried in turn."""
    t = renamed(lambda w, root=_joined(t.deltas): root.get(w, w), t)  # type: ignore[misc]
    bound = list(dict.fromkeys(t.bound))
    if not bound:
        return []
    uses: dict[Index, list[tuple[Any, int, tuple[Index, ...]]]] = {b: [] for b in bound}
    for k, at in [*t.entries, *((-1, d) for d in t.deltas)]:
        for place_, w in enumerate(at):
            if w in uses:
                uses[w].append((k, place_, at))
    best: list[Any] = []
    leaves = 0

    def refined(colour: dict[Index, int]) -> dict[Index, int]:
        while True:

            def seen(w: Index) -> Any:
                return (0, colour[w]) if w in colour else (1, *w)

            shapes = {
                b: (colour[b], tuple(sorted((k, p, tuple(seen(w) for w in at)) for k, p, at in uses[b]))) for b in bound
            }
            order = {shape: n for n, shape in enumerate(sorted(set(shapes.values())))}
            new = {b: order[shapes[b]] for b in bound}
            if len(order) == len(set(colour.values())):
                return new
            colour = new

    def search(colour: dict[Index, int]) -> None:
        nonlocal leaves, best
        colour = refined(colour)
        cells: dict[int, list[Index]] = {}
        for b, c in colour.items():
            cells.setdefault(c, []).append(b)
        tied = next((cell for _, cell in sorted(cells.items()) if len(cell) > 1), None)
        if tied is None:
            ranked = sorted(bound, key=lambda b: colour[b])
            names = {b: (CANONICAL + n, b[1]) for n, b in enumerate(ranked)}
            key = sorted_form(renamed(lambda w: names.get(w, w), t)._replace(bound=tuple(names.values())))[1:]
            if not best or key < best[0]:
                best = [key, list(names.items())]
            leaves += 1
            return
        for b in tied:
            if leaves < MOST_LEAVES:
                search({w: 2 * c + (w != b) for w, c in colour.items()})

    sizes = sorted({b[1] for b in bound})
    search({b: sizes.index(b[1]) for b in bound})
    return best[1]


Key = tuple[Any, ...]


def canonical(t: Term) -> tuple[Key, list[tuple[Index, Index]]]:
    """The canonical form of a term without its number, and the exchanges that give it."""
    names = naming(t)
    for u, v in names:
        t = exchange(u, v, t)
    return tuple(sorted_form(t))[1:], names


def collected(
    terms: Iterable[Term], before: dict[Key, Fraction] | None = None
) -> tuple[dict[Key, Fraction], list[list[tuple[Index, Index]]]]:
    """Equal terms added to those of `before`, those that cancel left out; the exchanges for each term."""
    total = dict(before or {})
    names = []
    for t in terms:
        key, exchanges = canonical(t)
        names.append(exchanges)
        total[key] = total.get(key, Fraction(0)) + t.value
    return {key: value for key, value in total.items() if value}, names


def of_key(key: Key, value: Fraction) -> Term:
    return Term(value, *key)


def of_term(t: Term, *, with_sums: bool = True) -> Expr:
    """A term as an expression."""
    parts: list[Expr] = [] if t.value == 1 else [number(t.value)]
    parts += [("p", base, q.numerator, q.denominator) for base, q in t.powers]
    parts += [("d", a, b) for a, b in t.deltas]
    parts += [("e", k, at) for k, at in t.entries]
    return summed_over(t.bound if with_sums else (), product(parts))
