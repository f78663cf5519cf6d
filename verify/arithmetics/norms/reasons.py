"""Reasons for inequalities between scalars in certificates: what the checker accepts as the comparison of two sides."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from verify.arithmetics.norms import isometry_instances
from verify.arithmetics.norms.atoms import SMALLEST
from verify.arithmetics.norms.monomials import absorbed
from verify.arithmetics.norms.recording import Writer, any_of, beside, generators, matrix_of_rows, size_of, text_of
from verify.kernel import bounds as kernel
from verify.kernel import places, quantities
from verify.kernel.bound_rules import multiplied
from verify.kernel.refusal import Refused

#: How many multiples of assumptions are taken off in a row, and are tried.
DEPTH, ATTEMPTS = 8, 40
#: Terms of both sides beyond which no reason is sought but the plainest.
LARGEST_COMPARED = 80
#: A rule, what it is of, and the generator with its exponent that a multiple of what it says may take away.
Offer = tuple[str, list[int], Any, int]


def comparison_of(a: Any, b: Any, w: Writer, facts: list[int], depth: int = 4) -> list[Any] | None:
    """A reason for a <= b that the checker accepts."""
    for reason in _reasons(a, b, w, facts, depth):
        try:
            kernel.compare(a, b, reason, w.assumed, w.reader.table)
        except (Refused, *kernel.ERRORS):
            continue
        return reason
    return None


def _reasons(a: Any, b: Any, w: Writer, facts: list[int], depth: int) -> Iterator[list[Any]]:
    yield ["terms"]
    several = sorted({g for side in (a, b) for g in generators(side) if g[0] == "max"}, key=_by_compounds)
    apart = bool(several) and _by_compounds(several[0])[0] < 0  # without telling them apart nothing is known of these
    if apart and depth > 0:
        yield from _cases(several, a, b, w, facts, depth)
    if (pairs := _in_pairs(a, b)) is not None:
        parts = [[w.of_scalar(one), w.of_scalar(other), ["squares", ["terms"]]] for one, other in pairs]
        yield ["parts", parts]
    if size_of(a) + size_of(b) > LARGEST_COMPARED:
        return
    yield from _by_a_rule(a, b, w, _at_ones(a, w))
    minus = quantities.number(-1)
    if a.terms and b.terms and all(quantities.is_nonnegative(side * minus) for side in (a, b)):  # to compare squares
        yield from (["turned", reason] for reason in _reasons(b * minus, a * minus, w, facts, depth))
        return
    yield ["squares", ["terms"]]
    yield ["denominators", ["terms"]]
    yield ["squares", ["denominators", ["terms"]]]
    if depth == 0:
        return
    for g in [*generators(b), *generators(a)]:
        if g[0] == "exp":
            yield ["growth", w.of_generator(g), ["terms"]]
            yield ["denominators", ["growth", w.of_generator(g), ["terms"]]]
            yield ["growth", w.of_generator(g), ["denominators", ["terms"]]]
    exponents = [[g[1] * quantities.number(e) for m in side.terms for g, e in m if g[0] == "exp"] for side in (a, b)]
    if all(len(found) == 1 for found in exponents):
        (x,), (y,) = exponents
        inner = comparison_of(x, y, w, facts, depth - 1)
        if inner is not None:
            yield ["exponents", w.of_scalar(x), w.of_scalar(y), inner]
    offers = [_ranges(b, w), _at_ones(a, w), _means(a, w), _smallest(a, b, w)]
    yield from _by_a_rule(a, b, w, itertools.chain(*offers))
    yield from _reverse_triangles(b, w)
    offers = [_by_frobenius(a, b, w), _skew_images(a, w), isometry_instances.unit_rows(a, w)]
    yield from _by_a_rule(a, b, w, itertools.chain(*offers))
    gaps = [*_gaps(b - a, w), *((gap, _of_squares(reason)) for gap, reason in _gaps(b * b - a * a, w))]
    every = range(len(facts))
    yield from _by_facts(gaps, every[w.given :], 1, w, facts)  # those of a case first
    if not apart:
        yield from _by_facts(gaps, every, 1, w, facts)
        yield from _cases(several, a, b, w, facts, depth)
        yield from _by_facts(gaps, every, 1, w, facts, any_term=True)
        yield from _by_facts(gaps, every, 2, w, facts)


def _in_pairs(a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """Each term of a with one of b whose square is no smaller, where there are roots of sums among their factors."""
    rooted = [[m for m in side.terms if any(g[0] == "sum" and e.denominator == 2 for g, e in m)] for side in (a, b)]
    if len(a.terms) < 2 or not all(rooted):
        return None
    one, other = ([quantities.Scalar({m: c}) for m, c in side.terms.items()] for side in (a, b))
    if not all(map(quantities.is_nonnegative, (*one, *other))):
        return None
    found = []
    for term in one:
        larger = next((more for more in other if quantities.is_nonnegative(more**2 - term**2)), None)
        if larger is None:
            return None
        other.remove(larger)
        found.append((term, larger))
    return found


def _by_facts(
    gaps: Any, used: Any, most: int, w: Writer, facts: list[int], any_term: bool = False
) -> Iterator[list[Any]]:
    """Multiples of assumptions, or of products of two, taken off what the right side is above the left one."""
    products = [list(chosen) for chosen in itertools.combinations_with_replacement(used, most)]
    values = [(chosen, multiplied(*(w.value(facts[k]) for k in chosen))) for chosen in products]
    for gap, reason in gaps if products else ():
        if (taken := subtracted(gap, w, values, DEPTH, [ATTEMPTS], any_term)) is not None:
            yield reason(["facts", taken, ["terms"]])


def _cases(several: list[Any], a: Any, b: Any, w: Writer, facts: list[int], depth: int) -> Iterator[list[Any]]:
    """Both sides with each of several numbers in the place of their largest."""
    for g in several[:1]:
        members = {w.of_scalar(member): member for member in sorted(g[1], key=text_of)}
        cases, before = [], w.assumed
        try:
            for place, member in members.items():
                known = [*facts, *(w.difference(place, other) for other in members)]
                w.assumed = before._replace(facts=[w.value(fact) for fact in known])
                left, right = (places.replaced(side, g, member) for side in (a, b))
                cases.append([place, comparison_of(left, right, w, known, depth - 1)])
                if cases[-1][1] is None:
                    return
        finally:
            w.assumed = before
        yield ["cases", w.of_generator(g), cases]


def _by_compounds(g: Any) -> tuple[int, str]:
    return -sum(size_of(member) > 1 or any(len(m) > 1 for m in member.terms) for member in g[1]), text_of(g)


def _by_a_rule(a: Any, b: Any, w: Writer, offers: Iterable[Offer]) -> Iterator[list[Any]]:
    """The multiple of what a rule says that takes a generator away, which it offers, out of what b is above a."""
    for rule, arguments, g, exponent in offers:
        with contextlib.suppress(Refused, *kernel.ERRORS):
            less, more = kernel.instance(rule, list(map(w.value, arguments)), [], w.assumed, w.reader.table)
            own = beside(more - less, g, exponent)
            for gap, reason in _gaps(b - a, w):
                multiplier = beside(gap, g, exponent).over(own)
                if multiplier.terms and quantities.is_nonnegative(multiplier):
                    yield reason(["instance", rule, arguments, [], w.of_scalar(multiplier), ["terms"]])


def _of_squares(reason: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda why: ["squares", reason(why)]


def _gaps(gap: Any, w: Writer) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """What one side is above another, as it is and without denominators, with what a reason for 0 <= it is one for."""
    yield gap, lambda why: why
    with contextlib.suppress(Refused):
        yield kernel.without_denominators(gap, w.assumed.facts), lambda why: ["denominators", why]


def _ranges(b: Any, w: Writer) -> Iterator[Offer]:
    """The largest range of the rows of a matrix is not negative."""
    for g in (g for g in generators(b) if g[0] == "max over" and not quantities.is_nonnegative_generator(g)):
        values = [h for m in g[2].terms for h, _ in m if h[0] == "largest value"]
        rows = [T for h in values for X in sorted(h[1], key=text_of) if (T := matrix_of_rows(X, g[1])) is not None]
        yield from (("range", [w.place_of(g[1]), w.matrix(T)], g, 1) for T in rows)


def _at_ones(a: Any, w: Writer) -> Iterator[Offer]:
    """-||softmax(T)||_2 <= -sqrt(m / n)."""
    for g in (g for g in generators(a) if g[:2] == ("norm", "2") and a.terms.get(frozenset({(g, Fraction(1))})) == -1):
        item = next(filter(None, (quantities.single_atom(A, "softmax") for A in sorted(g[2], key=text_of))), None)
        if item is not None:
            yield "softmax at the vector of ones", [w.matrix(item[4])], g, 1


def _means(a: Any, w: Writer) -> Iterator[Offer]:
    """x int_0^1 e^(t x) dt = e^x - 1."""
    for g in (g for g in generators(a) if g[0] == "mean of exponentials" and len(g[1].terms) == 1):
        yield "mean of exponentials", [w.of_scalar(g[1])], g, 1


def _smallest(a: Any, b: Any, w: Writer) -> Iterator[Offer]:
    """What is known of two smallest singular values, or of one and the largest."""
    found = {g: any_of(g[1]) for side in (a, b) for g in generators(side) if g[0] == SMALLEST}
    for g, A in found.items():
        rules = [("smallest at most largest singular value", [w.matrix(A)])]
        for B in (B for h, B in found.items() if h != g and (A.rows, A.columns) == (B.rows, B.columns)):
            for other in (B, B.times(quantities.number(-1))):
                rules.append(("smallest singular value of a sum", [w.matrix(A), w.matrix(other - A)]))
        yield from ((*rule, h, 1) for rule in rules for h in found)


def _reverse_triangles(b: Any, w: Writer) -> Iterator[list[Any]]:
    """||A|| <= ||A + B|| + ||B|| for the norms of sums A + B on the right."""
    for _, kind, variants in (g for g in generators(b) if g[0] == "norm"):
        X = any_of(variants)
        for word, c in X.terms.items() if 1 < len(X.terms) < 4 else ():
            rest = X.times(quantities.number(-1)) + quantities.Matrix(X.rows, X.columns, {word: c})
            one, whole = w.of_scalar(quantities.number(1)), w.matrix(X)
            for own in dict.fromkeys([kind, "2"]):
                reason = ["instance", "triangle inequality", [own, whole, w.matrix(rest)], [], one, ["terms"]]
                yield reason if own == kind else ["instance", "spectral at most Frobenius", [whole], [], one, reason]


def _by_frobenius(a: Any, b: Any, w: Writer) -> Iterator[Offer]:
    """A spectral norm on the left of a matrix of which the right side has the Frobenius norm."""
    there = {g[2] for g in generators(b) if g[:2] == ("norm", "F")}
    for g in (g for g in generators(a) if g[:2] == ("norm", "2") and g[2] in there):
        yield "spectral at most Frobenius", [w.matrix(any_of(g[2]))], g, 1


def _skew_images(a: Any, w: Writer) -> Iterator[Offer]:
    """||x + c x S||^-1 = (1 + c^2 ||x S||^2)^(-1/2) for a unit row x and a skew matrix S."""
    for g in (g for g in generators(a) if g[:2] == ("norm", "F") and len(a.terms) == 1):
        for X in sorted(g[2], key=text_of):
            words = sorted(X.terms, key=len)
            starts_alike = [len(word) for word in words] == [1, 2] and words[1][0] == words[0][0]
            if starts_alike and X.terms[words[0]].number() == 1:
                x, S = (
                    w.matrix(quantities.Matrix(word[-1][2], word[-1][3], {word[-1:]: quantities.number(1)}))
                    for word in words
                )
                yield "unit row and its skew image", [x, w.of_scalar(X.terms[words[1]]), S], g, -1


def subtracted(
    gap: Any, w: Writer, facts: Any, depth: int, attempts: list[int], any_term: bool = False
) -> list[list[Any]] | None:
    """Products of assumptions with multipliers that are not negative, of which a scalar is the sum and more.

    They outweigh one negative term after another, in an order of degrees, or with `any_term` whichever leaves the least.
    """
    if quantities.is_nonnegative(gap):
        return []
    gap = _absorbed(gap) if any_term else gap
    negative = [(m, c) for m, c in gap.terms.items() if c < 0]
    attempts[0] -= 1
    if depth == 0 or not negative or attempts[0] < 0:
        return None
    taken = [own for _, fact in facts for own, d in fact.terms.items() if d < 0]
    negative.sort(  # first one that an assumption takes whole, if there is one: what is left may outweigh the others
        key=lambda item: (_is_multiple(item[0], taken), sum(e for _, e in item[0]), text_of(item)), reverse=True
    )
    options: list[Any] = []
    for monomial, c in negative if any_term else negative[:1]:
        for chosen, fact in facts:
            for own, d in fact.terms.items():
                factor = quantities.Scalar({monomial: c}).over(quantities.Scalar({own: d})) if d < 0 else None
                if factor is None or not quantities.is_nonnegative(factor):
                    continue
                rest = gap - factor * fact
                left = (
                    sum(e < 0 for e in (_absorbed(rest) if any_term else rest).terms.values()),
                    sum(map(len, rest.terms)),
                )  # what is left to outweigh, plain first
                options.append((*left, len(options), chosen, factor, rest))
    for *_, chosen, factor, rest in sorted(options, key=lambda option: option[:3])[:3]:
        used = subtracted(rest, w, facts, depth - 1, attempts, any_term)
        if used is not None:
            return [[chosen[0] if len(chosen) == 1 else chosen, w.of_scalar(factor)], *used]
    return None


def _absorbed(gap: Any) -> Any:
    def is_nonnegative(monomial: Any) -> bool:
        return quantities.is_nonnegative(quantities.Scalar({monomial: Fraction(1)}))

    terms: dict[Any, Any] = absorbed(gap.terms, is_nonnegative, lambda g: g[0] == "size")
    return quantities.Scalar(terms)


def _is_multiple(monomial: Any, others: Iterable[Any]) -> bool:
    """Whether one of the other products divides a product without a remainder."""
    exponents = dict(monomial)
    return any(all(exponents.get(g, 0) >= e for g, e in other) for other in others)
