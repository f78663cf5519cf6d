"""Certificates of identities: left - right is the sum of the uses of rules and hypotheses, in normal form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from verify.kernel.expressions import Language, Scope, fields, listed, named, rational
from verify.kernel.normal_forms import ONE, Algebra, Asked, Form, Index
from verify.kernel.refusal import Refused

KEYS = ("format", "kind", "claim", "sizes", "inputs", "variables", "definitions", "hypotheses", "parts")


@dataclass(frozen=True)
class Accepted:
    """What an accepted certificate proves and rests on: the number of terms of both sides, rules and hypotheses used."""

    claim: str
    terms: tuple[int, int]
    rules: tuple[str, ...]
    hypotheses: tuple[str, ...]


def check_identity(certificate: Any) -> Accepted:
    """Check one certificate; raises `Refused`."""
    fields(certificate, "the certificate", KEYS)
    claim = named(certificate["claim"], "the claim")
    where = "the declarations"
    try:
        if (certificate["format"], certificate["kind"]) != (1, "identity"):
            raise Refused("this is no certificate of an identity in format 1")
        language = Language(certificate)
        algebra = language.algebra
        hypotheses = []
        algebra.asked.clear()
        for number, item in enumerate(listed(certificate["hypotheses"], "hypotheses")):
            where = f"hypothesis {number}"
            hypotheses.append(hypothesis_of(language, item))
        parts = listed(certificate["parts"], "parts")
        if not parts:
            raise Refused("nothing is said")
        given = frozenset(algebra.asked)
        terms, used = [0, 0], {"rule": set[str](), "hypothesis": set[str]()}
        for number, part in enumerate(parts):
            where = f"part {number}"
            fields(part, "it", ["indices", "left", "right", "uses"])
            scope = language.bound(part["indices"], {})
            sides = sides_of(language, part, scope, given)
            terms = [count + len(side) for count, side in zip(terms, sides, strict=True)]
            rest = algebra.plus([(sides[0], ONE), (sides[1], -ONE)])
            for place, use in enumerate(listed(part["uses"], "uses")):
                where = f"part {number}, use {place}"
                kind, name, worth = use_of(language, use, scope, hypotheses)
                used[kind].add(name)
                rest = algebra.plus([(rest, ONE), (worth, -ONE)])
            where = f"part {number}"
            if rest:
                raise Refused(f"{len(rest)} terms are left of left - right")
    except Refused as refusal:
        raise Refused(f"{claim}: {where}: {refusal}") from None
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise Refused(f"{claim}: {where}: {type(error).__name__}") from None
    return Accepted(claim, (terms[0], terms[1]), tuple(sorted(used["rule"])), tuple(sorted(used["hypothesis"])))


@dataclass(frozen=True)
class Hypothesis:
    name: str
    indices: list[Index]
    difference: Form


def hypothesis_of(language: Language, item: Any) -> Hypothesis:
    fields(item, "it", ["name", "indices", "left", "right"])
    scope = language.bound(item["indices"], {})
    sides = [language.form(item[side], scope) for side in ("left", "right")]
    difference = language.algebra.plus([(sides[0], ONE), (sides[1], -ONE)])
    return Hypothesis(named(item["name"], "the name"), list(scope.values()), difference)


def sides_of(language: Language, part: Any, scope: Scope, given: frozenset[Asked]) -> list[Form]:
    """Both sides of a part; what they ask, beside what hypotheses do, is all that a use may ask."""
    language.algebra.asked = set(given)
    sides = [language.form(part[side], scope) for side in ("left", "right")]
    language.stated = frozenset(language.algebra.asked)
    return sides


def use_of(language: Language, use: Any, scope: Scope, hypotheses: list[Hypothesis]) -> tuple[str, str, Form]:
    """What is used, its name, and the sum over its indices of its multiplier times its difference of sides."""
    kind = "hypothesis" if isinstance(use, dict) and "hypothesis" in use else "rule"
    fields(use, "it", [kind, "at", "over", "times", *(["arguments"] if kind == "rule" else [])])
    language.algebra.asked = set()
    over = language.bound(use["over"], scope)
    inside = {**scope, **over}
    multiplier = language.form(use["times"], inside)
    if kind == "hypothesis":
        number = use["hypothesis"]
        if type(number) is not int or not 0 <= number < len(hypotheses):
            raise Refused(f"there is no hypothesis {number!r}")
        found = hypotheses[number]
        at = language.at(use["at"], inside, [index[1] for index in found.indices])
        name, difference = (
            found.name,
            language.algebra.renamed(found.difference, dict(zip(found.indices, at, strict=True))),
        )
    else:
        name = named(use["rule"], "the rule")
        if name not in RULES:
            raise Refused(f"there is no rule {name!r}")
        difference = RULES[name](language, listed(use["arguments"], "arguments"), use["at"], inside)
    if any(what != "seen" for _, _, what in language.algebra.asked - language.stated):
        raise Refused("it divides by, takes a root of or inverts what the statement does not")
    worth = language.algebra.times(multiplier, difference)
    return kind, name, language.algebra.summed(worth, list(over.values()))


# -- rules: each gives left - right of its instance --------------------------------------------------------------------


def _minus(algebra: Algebra, left: Form, right: Form) -> Form:
    return algebra.plus([(left, ONE), (right, -ONE)])


def _softmax_rows(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
    """The softmax adds up to 1 over its indices."""
    own, form = language.argument(_only(arguments), scope)
    language.at(at, scope, [])
    algebra = language.algebra
    return _minus(algebra, algebra.summed(algebra.softmax(form, own), own), algebra.number(ONE))


def _softmax(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
    """A softmax times the sum of the exponentials is the exponential."""
    own, form = language.argument(_only(arguments), scope)
    places = dict(zip(own, language.at(at, scope, [index[1] for index in own]), strict=True))
    algebra = language.algebra
    exponential = algebra.exponential(form)
    weight = algebra.renamed(algebra.softmax(form, own), places)
    return _minus(
        algebra, algebra.times(weight, algebra.summed(exponential, own)), algebra.renamed(exponential, places)
    )


def _power(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
    """e times a power of e is the next power."""
    argument, p, q = listed(arguments, "arguments", 3)
    own, form = language.argument(argument, scope)
    if own:
        raise Refused("a power binds no index")
    language.at(at, scope, [])
    algebra, exponent = language.algebra, rational(p, q)
    return _minus(algebra, algebra.times(form, algebra.power(form, exponent)), algebra.power(form, exponent + 1))


def _inverse(is_left: bool) -> Callable[[Language, list[Any], Any, Scope], Form]:
    def difference(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
        """A matrix times its inverse, or the inverse times the matrix, is the identity."""
        own, form = language.argument(_only(arguments), scope)
        algebra, half = language.algebra, len(own) // 2
        inverse = algebra.of_matrix("inverse", form, own)
        ends = language.at(at, scope, [index[1] for index in own])
        middle = [algebra.fresh(index[1]) for index in own[:half]]
        first, second = (inverse, form) if is_left else (form, inverse)
        left = algebra.renamed(first, dict(zip(own, [*ends[:half], *middle], strict=True)))
        right = algebra.renamed(second, dict(zip(own, [*middle, *ends[half:]], strict=True)))
        deltas = (algebra.delta(ends[k], ends[half + k]) for k in range(half))
        return _minus(algebra, algebra.summed(algebra.times(left, right), middle), algebra.times(*deltas))

    return difference


def _opposite(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
    """exp(M) exp(-M) is the identity."""
    own, form = language.argument(_only(arguments), scope)
    algebra, half = language.algebra, len(own) // 2
    ends = language.at(at, scope, [index[1] for index in own])
    middle = [algebra.fresh(index[1]) for index in own[:half]]
    both = (algebra.of_matrix("expm", sign, own) for sign in (form, algebra.plus([(form, -ONE)])))
    at_both = ([*ends[:half], *middle], [*middle, *ends[half:]])
    product = algebra.times(
        *(algebra.renamed(f, dict(zip(own, at, strict=True))) for f, at in zip(both, at_both, strict=True))
    )
    return _minus(
        algebra, algebra.summed(product, middle), algebra.times(*(map(algebra.delta, ends[:half], ends[half:])))
    )


def _push_through(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
    """exp(A B) A = A exp(B A)."""
    first, second = listed(arguments, "arguments", 2)
    (one, A), (two, B) = language.argument(first, scope), language.argument(second, scope)
    if len(one) != 2 or [index[1] for index in two] != [one[1][1], one[0][1]]:
        raise Refused("the two matrices of a push-through have other sizes")
    algebra, (i, j) = language.algebra, language.at(at, scope, [index[1] for index in one])

    def entry(form: Form, own: list[Index], *ends: Index) -> Form:
        return algebra.renamed(form, dict(zip(own, ends, strict=True)))

    (a, b, c), (d, e, f) = (algebra.fresh(one[0][1]) for _ in range(3)), (algebra.fresh(one[1][1]) for _ in range(3))
    product = algebra.summed(algebra.times(entry(A, one, a, d), entry(B, two, d, b)), [d])
    turned = algebra.summed(algebra.times(entry(B, two, d, a), entry(A, one, a, e)), [a])
    left = entry(algebra.of_matrix("expm", product, [a, b]), [a, b], i, c)
    right = entry(algebra.of_matrix("expm", turned, [d, e]), [d, e], f, j)
    left = algebra.summed(algebra.times(left, entry(A, one, c, j)), [c])
    return _minus(algebra, left, algebra.summed(algebra.times(entry(A, one, i, f), right), [f]))


def _only(arguments: list[Any]) -> Any:
    return listed(arguments, "arguments", 1)[0]


#: Every rule that a certificate may use, by name; each is stated where it is defined and in docs/certificates.md.
RULES: Mapping[str, Callable[[Language, list[Any], Any, Scope], Form]] = {
    "softmax rows": _softmax_rows,
    "softmax": _softmax,
    "power": _power,
    "inverse left": _inverse(True),
    "inverse right": _inverse(False),
    "opposite exponentials": _opposite,
    "push-through": _push_through,
}
