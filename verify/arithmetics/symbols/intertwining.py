"""Uses of matrix exponentials: exp(M) A = A exp(N) where M A = A N, exp(M) v = v where M v = 0, exp(M)^T = exp(-M) for skew M."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from verify.arithmetics.symbols.uses import UseSearch, bound_at, use_at
from verify.kernel.identities import Entries, product_of
from verify.kernel.normal_forms import ONE, Factor, Form, Index, Key


class Exponential:
    """An exponential that stands in a term: the ends at which it is taken, and its matrix as an argument."""

    def __init__(self, search: UseSearch, factor: Factor, shown: dict[Index, str], turned: bool) -> None:
        atom, at, _ = factor
        count = search.algebra.owns[atom]
        half, own = count // 2, at[:count]
        indices, expression = search.reader.argument(factor, shown)
        if turned:
            own, indices = (*own[half:], *own[:half]), [*indices[half:], *indices[:half]]
        self.rows, self.columns = own[:half], own[half:]
        self.argument = [indices, expression]
        self.sizes = [size for _, size in indices[:half]]

    def entries(self, search: UseSearch, scope: dict[str, Index]) -> Entries:
        own, form = search.language.argument(self.argument, scope)
        return Entries(form, own[: len(self.rows)], own[len(self.rows) :])


def exponentials(search: UseSearch, form: Form) -> Iterator[tuple[Key, Factor]]:
    """The exponentials that stand in a form, once in their terms."""
    for key in sorted(form):
        for factor in key:
            if search.algebra.kinds[factor[0]] == "expm" and factor[2] == 1:
                yield key, factor


def _inside(search: UseSearch, shown: dict[Index, str], over: Sequence[Index]) -> dict[str, Index]:
    return {**search.scope, **{shown[index]: search.algebra.fresh(index[1]) for index in over}}


def _moved(search: UseSearch, factors: Sequence[Factor], names: dict[Index, Index]) -> tuple[Form, list[Index]]:
    """A product with other indices, as a form over these."""
    moved = [(atom, tuple(names.get(i, i) for i in at), p) for atom, at, p in factors]
    summed = frozenset(i for _, at, _ in moved for i in at if i[0] < 0)
    return search.algebra.collected([(ONE, moved, summed)]), list(names.values())


def _matrix(search: UseSearch, factors: Sequence[Factor], places: Sequence[Index]) -> tuple[Form, list[Index]]:
    """A product as a form over new open indices in the places of some of its own."""
    return _moved(search, factors, {index: search.algebra.fresh(index[1]) for index in places})


def _vanishing(search: UseSearch, form: Form, scope: dict[str, Index]) -> list[dict[str, Any]] | None:
    """The uses by which a form vanishes, if they are found."""
    inner = UseSearch(search.language, scope, search.numbers)
    return None if inner.run(form) else inner.uses


def _component(
    search: UseSearch, rest: Sequence[Factor], start: Sequence[Index], ends: Sequence[Index]
) -> list[Factor]:
    """The factors that summed indices join to the first ones, those at the ends left alone."""
    found: list[Factor] = []
    reached = set(start)
    while more := [f for f in rest if f not in found and reached.intersection(f[1])]:
        found += more
        reached |= {i for _, at, _ in more for i in at if i[0] < 0 and i not in ends}
    return found


def through(search: UseSearch, form: Form) -> Form | None:
    """exp(M) A gives way to A exp(N), for an N that has its exponential in the form."""
    every = list(exponentials(search, form))
    for (key, factor), turned in itertools.product(every, (False, True)):
        shown, over = search.named(key)
        one = Exponential(search, factor, shown, turned)
        rest = [other for other in key if other != factor]
        if any(index[0] >= 0 or index in one.rows for index in one.columns):
            continue
        for (_, other), back in itertools.product(every, (False, True)):
            free = other[1][search.algebra.owns[other[0]] :]
            if other[0] == factor[0] or (other[0], factor[0]) in search.passed or any(i[0] < 0 for i in free):
                continue
            two = Exponential(search, other, search.open, back) if _is_open(other) else None
            two = two or Exponential(search, _opened(search, other), search.open, back)
            candidates = sorted({i for _, at, _ in rest for i in at} - set(one.columns))
            for ends in itertools.permutations(candidates, len(two.sizes)):
                if [index[1] for index in ends] != two.sizes:
                    continue
                found = _passed(search, form, key, one, two, rest, ends, shown, over)
                if found is not None:
                    search.passed.add((factor[0], other[0]))
                    return found
    return None


def _is_open(factor: Factor) -> bool:
    return all(index[0] >= 0 for index in factor[1])


def _opened(search: UseSearch, factor: Factor) -> Factor:
    """The exponential at new ends, with its free indices."""
    atom, at, power = factor
    own = search.algebra.owns[atom]
    return atom, (*(search.algebra.fresh(index[1]) for index in at[:own]), *at[own:]), power


def _passed(
    search: UseSearch, form: Form, key: Key, one: Exponential, two: Exponential, rest: list[Factor], ends: Sequence[Index],
    shown: dict[Index, str], over: list[Index],
) -> Form | None:  # fmt: skip
    factors = _component(search, rest, one.columns, ends)
    outside = [factor for factor in rest if factor not in factors]
    kept = {*one.rows, *ends, *(i for _, at, _ in outside for i in at)}
    if kept.intersection(one.columns) or not factors:
        return None
    A, places = _matrix(search, factors, [*one.columns, *ends])
    if any(i in kept and i not in ends and i[0] < 0 for _, at, _ in factors for i in at):
        return None
    names = {index: search.reader.fresh() for index in places}
    argument = [bound_at(names, places), search.reader.of_form(A, {**search.open, **names})]
    scope = _inside(search, shown, [i for i in over if i in kept])
    inner = scope | {names[index]: index for index in places}
    count = len(one.rows)
    entries = Entries(A, places[:count], places[count:])
    try:
        M, N = one.entries(search, scope), two.entries(search, scope)
        sides = [
            product_of(search.language, *pair, entries.rows, entries.columns) for pair in ((M, entries), (entries, N))
        ]
    except Exception:  # shapes that do not fit
        return None
    uses = _vanishing(search, search.algebra.plus([(sides[0], ONE), (sides[1], -ONE)]), inner)
    if uses is None:
        return None
    at, summed = [shown[index] for index in (*one.rows, *ends)], bound_at(shown, [i for i in over if i in kept])
    times = search.reader.product(outside, form[key], shown)
    arguments = [one.argument, two.argument, argument, uses]
    return search.after(form, key, use_at("intertwined exponentials", arguments, at, summed, times))


def fixed(search: UseSearch, form: Form) -> Form | None:
    """All terms c exp(M) v with one c give way to c v, where M times the sum of the v is 0."""
    for (key, factor), turned in itertools.product(list(exponentials(search, form)), (False, True)):
        one = Exponential(search, factor, search.named(key)[0], turned)
        if any(index[0] < 0 for index in factor[1][search.algebra.owns[factor[0]] :]):
            continue
        rows, columns = ([search.algebra.fresh(size) for size in one.sizes] for _ in range(2))
        totals: dict[Any, tuple[Form, Form]] = {}
        for other, value in form.items():
            for item in (item for item in other if item[0] == factor[0] and item[2] == 1):
                found = _outside_and_vector(search, other, item, turned, one, rows, columns)
                if found is not None:
                    outside, vector = found
                    known = tuple(sorted(outside.items()))
                    before = totals.get(known, (outside, {}))[1]
                    totals[known] = outside, search.algebra.plus([(before, ONE), (vector, value)])
        for outside, vector in totals.values():
            if (changed := _with_fixed(search, form, key, one, outside, vector, rows, columns)) is not None:
                return changed
    return None


def _outside_and_vector(
    search: UseSearch, key: Key, item: Factor, turned: bool, one: Exponential, rows: list[Index], columns: list[Index]
) -> tuple[Form, Form] | None:
    """A term with an exponential as what is multiplied from the left, over its rows, and what it is applied to."""
    ends = Exponential(search, item, search.named(key)[0], turned)
    rest = [f for f in key if f != item]
    summed = [i for i in ends.columns if i[0] < 0]
    if any(i[0] >= 0 for i in one.rows) and ends.rows != one.rows:
        return None
    if all(i[0] >= 0 for i in ends.rows):
        left, right = [], rest
    else:
        right = _component(search, rest, summed, ends.rows)
        left = [f for f in rest if f not in right]
    if any(i in ends.rows for f in right for i in f[1] if i[0] < 0) or any(i in ends.rows for i in ends.columns):
        return None
    if any(i in summed for f in left for i in f[1]):
        return None
    outside, _ = _moved(search, left, dict(zip(ends.rows, rows, strict=True)))
    vector, _ = _moved(search, right, {i: k for i, k in zip(ends.columns, columns, strict=True) if i[0] < 0})
    deltas = [search.algebra.delta(k, i) for i, k in zip(ends.columns, columns, strict=True) if i[0] >= 0]
    return outside, search.algebra.times(vector, *deltas)


def _with_fixed(
    search: UseSearch, form: Form, key: Key, one: Exponential, outside: Form, vector: Form, rows: list[Index], columns: list[Index]
) -> Form | None:  # fmt: skip
    names = {index: search.reader.fresh() for index in (*rows, *columns)}
    shown = {**search.open, **names}
    image = product_of(
        search.language, one.entries(search, dict(search.scope)), Entries(vector, columns, []), columns, []
    )
    uses = _vanishing(search, image, {**search.scope, **{names[k]: k for k in columns}})
    if uses is None:
        return None
    is_open = all(index[0] >= 0 for index in one.rows)
    arguments = [one.argument, [bound_at(names, columns), search.reader.of_form(vector, shown)], uses]
    at, over = (
        ([search.open[i] for i in one.rows], []) if is_open else ([names[k] for k in rows], bound_at(names, rows))
    )
    times = search.reader.of_form(outside, shown)
    return search.after(form, key, use_at("exponential of what annihilates", arguments, at, over, times))


def skew(search: UseSearch, form: Form) -> Form | None:
    """exp(M) gives way to exp(-M)^T in one of two exponentials of a skew M whose ends do not meet."""
    for key, factor in exponentials(search, form):
        shown, over = search.named(key)
        one = Exponential(search, factor, shown, False)
        fellow = [f for f in key if f[0] == factor[0] and f != factor and set(f[1]) & {*one.rows, *one.columns}]
        if not fellow:
            continue
        indices, expression = one.argument
        half = len(one.rows)
        scope = _inside(search, shown, over)
        scope |= {name: search.algebra.fresh(size) for name, size in indices}
        names = [name for name, _ in indices]
        swapped = dict(zip([scope[n] for n in names], [scope[n] for n in (*names[half:], *names[:half])], strict=True))
        M = search.language.form(expression, scope)
        turned = search.algebra.plus([(search.algebra.renamed(M, swapped), -ONE)])
        uses = _vanishing(search, search.algebra.plus([(M, ONE), (turned, -ONE)]), scope)
        if uses is None:
            continue
        other = search.reader.of_form(turned, {index: name for name, index in scope.items()})
        at, times = (*one.rows, *one.columns), search.reader.product([f for f in key if f != factor], form[key], shown)
        arguments = ["expm", [indices, expression], other, uses]
        use = use_at("equal arguments", arguments, [shown[index] for index in at], bound_at(shown, over), times)
        if (found := search.after(form, key, use)) is not None:
            return found
    return None
