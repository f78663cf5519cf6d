"""Uses of inverses: P P^T = (P + P^T) / 2c for the inverse P of c I + K with a skew K, and 1 / (x y) = 1/x 1/y for sums x, y."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from verify.arithmetics.symbols.uses import UseSearch, bound_at, use_at
from verify.kernel.normal_forms import ONE, Factor, Form, Key, Number, summed_in

#: So many terms more may be left after these uses, which the next ones take away.
MOST_MORE = 3


# -- the inverse of a multiple of the identity and a skew matrix -------------------------------------------------------


def _pairs(search: UseSearch, key: Key) -> Iterator[tuple[Factor, Factor, int]]:
    """Two entries of one inverse, and the place of the summed index that they share and nothing else has."""
    own = [f for f in key if search.algebra.kinds[f[0]] == "inverse" and len(f[1]) == 2 and f[2] == 1]
    for n, one in enumerate(own):
        for other in own[n + 1 :]:
            for place in (0, 1):
                shared = one[1][place]
                alone = sum(at.count(shared) for _, at, _ in key) == 2
                if one[0] == other[0] and shared == other[1][place] and shared[0] < 0 and alone:
                    yield one, other, place


def of_skew(search: UseSearch, form: Form) -> Form | None:
    """P P^T, or P^T P, gives way to P and P^T: P M P^T = P^T and P M^T P^T = P, where M + M^T is a multiple of I."""
    for key in sorted(form):
        for one, other, place in _pairs(search, key):
            worth = search.worth(_of_inverse(search, key, one, other, place, Fraction(1)))
            if worth and key in worth:
                times = Fraction(form[key]) / worth[key]
                uses = _of_inverse(search, key, one, other, place, times)
                found = search.after_all(form, key, uses, MOST_MORE)
                if found is not None:
                    return found
    return None


def _of_inverse(
    search: UseSearch, key: Key, one: Factor, other: Factor, place: int, times: Fraction
) -> list[dict[str, Any]]:
    """P M = I times one entry of P, and times the other, where both are joined at this place."""
    shown, summed = search.named(key)
    rest = [factor for factor in key if factor not in (one, other)]
    rule, over = "inverse left" if place == 1 else "inverse right", bound_at(shown, summed)
    found = []
    for factor, kept in ((one, other), (other, one)):
        at = [shown[factor[1][1 - place]], shown[one[1][place]]]
        argument, outside = search.reader.argument(one, shown), search.reader.product([*rest, kept], times, shown)
        found.append(use_at(rule, [argument], at if place == 1 else at[::-1], over, outside))
    return found


# -- the reciprocal of a product of sums -------------------------------------------------------------------------------


def of_product(search: UseSearch, form: Form) -> Form | None:
    """1 / (x y) gives way to 1/x 1/y: (x y) / (x y) = 1 times 1/x 1/y, less x / x = 1 and y / y = 1 times 1 / (x y)."""
    for key in sorted(form):
        for factor in key:
            uses = _of_product(search, key, factor, form[key])
            found = search.after_all(form, key, uses, MOST_MORE) if uses else None
            if found is not None:
                return found
    return None


def _of_product(search: UseSearch, key: Key, factor: Factor, value: Number) -> list[dict[str, Any]]:
    (atom, at, power), algebra = factor, search.algebra
    if algebra.kinds[atom] != "base" or power >= 0 or power.denominator != 1:
        return []
    opened = {index: algebra.fresh(index[1]) for index in at}
    parts = _parts(search, algebra.instance((atom, tuple(opened[index] for index in at), ONE)))
    shown, summed = search.named(key)
    if parts is None:
        return []
    names = {new: shown[old] for old, new in opened.items()}
    x, y = (search.reader.of_form(part, names) for part in parts)
    left = [*(f for f in key if f != factor), *([(atom, at, power + 1)] if power != -1 else [])]
    rest, less = (search.reader.product(left, c, shown) for c in (value, -value))
    whole = search.reader.product([(atom, at, -1)], ONE, shown)
    one_over_x, one_over_y = (["power", -1, 1, e] for e in (x, y))
    steps = [(["*", x, y], [rest, one_over_x, one_over_y]), (x, [less, whole, y, one_over_y]), (y, [less, whole])]
    over = bound_at(shown, summed)
    return [use_at("power", [[[], e], -1, 1], [], over, ["*", *times]) for e, times in steps]


def _parts(search: UseSearch, inner: Form) -> tuple[Form, Form] | None:
    """A product of two sums that share no summed index; the first one has the first factor."""
    if len(inner) != 1:
        return None
    ((key, value),) = inner.items()
    first = list(key[:1])
    while more := [f for f in key if f not in first and summed_in(first) & summed_in([f])]:
        first += more
    rest = [f for f in key if f not in first]
    if not summed_in(first) or not summed_in(rest):
        return None
    return tuple(search.algebra.collected([(c, part, summed_in(part))]) for c, part in ((value, first), (ONE, rest)))  # type: ignore[return-value]
