"""Certificates of identities: left - right is the sum of the uses of rules and hypotheses, in normal form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from verify.kernel.expressions import Hypothesis, Language, Scope, fields, listed, named, rational
from verify.kernel.functions import Algebra
from verify.kernel.inductions import duties_of, induction_of, iterates_of
from verify.kernel.normal_forms import ONE, Asked, Form, Index
from verify.kernel.refusal import Refused

Rule = Callable[[Language, list[Any], Any, Scope], Form]
KEYS = ("format", "kind", "claim", "sizes", "inputs", "variables", "definitions", "hypotheses", "parts")
WITH_ITERATES = ("iterates", "inductions")


@dataclass(frozen=True)
class Accepted:
    """What an accepted certificate proves and rests on: the number of terms of both sides, rules and hypotheses used."""

    claim: str
    terms: tuple[int, int]
    rules: tuple[str, ...]
    hypotheses: tuple[str, ...]


def check_identity(certificate: Any) -> Accepted:
    """Check one certificate; raises `Refused`."""
    fields(certificate, "the certificate", KEYS, WITH_ITERATES)
    claim = named(certificate["claim"], "the claim")
    where = "the declarations"
    try:
        if (certificate["format"], certificate["kind"]) != (1, "identity"):
            raise Refused("this is no certificate of an identity in format 1")
        language = Language(certificate)
        algebra = language.algebra
        algebra.asked.clear()
        for number, item in enumerate(listed(certificate["hypotheses"], "hypotheses")):
            where = f"hypothesis {number}"
            language.hypotheses.append(hypothesis_of(language, item))
        given = frozenset(algebra.asked)
        where = "the iterates"
        iterates = iterates_of(language, certificate.get("iterates", []))
        for number, item in enumerate(listed(certificate.get("inductions", []), "inductions")):
            where = f"induction {number}"
            for place, which, form, scope in duties_of(language, induction_of(language, iterates, item)):
                vanishes(language, form, item["invariants"][place][which], scope, f"invariant {place}, {which}")
        parts = listed(certificate["parts"], "parts")
        if not parts:
            raise Refused("nothing is said")
        terms = [0, 0]
        for number, part in enumerate(parts):
            where = f"part {number}"
            fields(part, "it", ["indices", "left", "right", "uses"])
            scope = language.bound(part["indices"], {})
            sides = sides_of(language, part, scope, given)
            terms = [count + len(side) for count, side in zip(terms, sides, strict=True)]
            vanishes(language, _minus(algebra, *sides), part["uses"], scope, "left - right")
    except Refused as refusal:
        raise Refused(f"{claim}: {where}: {refusal}") from None
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise Refused(f"{claim}: {where}: {type(error).__name__}") from None
    return Accepted(
        claim, (terms[0], terms[1]), *(tuple(sorted(language.used[kind])) for kind in ("rule", "hypothesis"))
    )


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


def vanishes(language: Language, form: Form, uses: Any, scope: Scope, what: str) -> None:
    """Refuse what is not the sum of the uses."""
    for place, use in enumerate(listed(uses, "uses")):
        try:
            form = _minus(language.algebra, form, use_of(language, use, scope))
        except Refused as refusal:
            raise Refused(f"use {place}: {refusal}") from None
    if form:
        raise Refused(f"{len(form)} terms are left of {what}")


def use_of(language: Language, use: Any, scope: Scope) -> Form:
    """The sum over the indices of a use of its multiplier times left - right of what is used."""
    algebra, kind = language.algebra, "hypothesis" if isinstance(use, dict) and "hypothesis" in use else "rule"
    fields(use, "it", [kind, "at", "over", "times", *(["arguments"] if kind == "rule" else [])])
    before, algebra.asked = algebra.asked, set()
    over = language.bound(use["over"], scope)
    inside = {**scope, **over}
    multiplier = language.form(use["times"], inside)
    if kind == "hypothesis":
        number = use["hypothesis"]
        if type(number) is not int or not 0 <= number < len(language.hypotheses):
            raise Refused(f"there is no hypothesis {number!r}")
        found = language.hypotheses[number]
        kind, name = found.used_as, found.name
        at = language.at(use["at"], inside, [index[1] for index in found.indices])
        difference = algebra.renamed(found.difference, dict(zip(found.indices, at, strict=True)))
    else:
        name = named(use["rule"], "the rule")
        if name not in RULES:
            raise Refused(f"there is no rule {name!r}")
        difference = RULES[name](language, listed(use["arguments"], "arguments"), use["at"], inside)
    if any(what != "seen" for _, _, what in algebra.asked - language.stated):
        raise Refused("it divides by, takes a root of or inverts what the statement does not")
    algebra.asked |= before
    language.used[kind].add(name)
    return algebra.times(multiplier, difference, over=list(over.values()))


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


class Entries(NamedTuple):
    """A matrix: its entry as a form over indices of rows and columns."""

    form: Form
    rows: Sequence[Index]
    columns: Sequence[Index]


def _square(language: Language, argument: Any, scope: Scope) -> Entries:
    own, form = language.argument(argument, scope)
    return Entries(form, own[: len(own) // 2], own[len(own) // 2 :])


def _of(language: Language, kind: str, M: Entries) -> Entries:
    return Entries(language.algebra.of_matrix(kind, M.form, [*M.rows, *M.columns]), M.rows, M.columns)


def product_of(language: Language, A: Entries, B: Entries, rows: Sequence[Index], columns: Sequence[Index]) -> Form:
    """The entry of A B at these indices."""
    algebra = language.algebra
    if [index[1] for index in A.columns] != [index[1] for index in B.rows]:
        raise Refused("a product of matrices of other sizes")
    middle = [algebra.fresh(index[1]) for index in A.columns]
    left = algebra.renamed(A.form, dict(zip([*A.rows, *A.columns], [*rows, *middle], strict=True)))
    right = algebra.renamed(B.form, dict(zip([*B.rows, *B.columns], [*middle, *columns], strict=True)))
    return algebra.times(left, right, over=middle)


def _identity(language: Language, rows: Sequence[Index], columns: Sequence[Index]) -> Form:
    return language.algebra.times(*map(language.algebra.delta, rows, columns))


def _to_identity(kind: str, is_left: bool) -> Rule:
    """A matrix times its inverse, the inverse times the matrix, or exp(M) exp(-M) is the identity."""

    def difference(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
        M = _square(language, _only(arguments), scope)
        ends = language.at(at, scope, [index[1] for index in (*M.rows, *M.columns)])
        rows, columns = ends[: len(ends) // 2], ends[len(ends) // 2 :]
        first, second = _of(language, kind, M), M
        if kind == "expm":
            second = _of(language, kind, M._replace(form=language.algebra.plus([(M.form, -ONE)])))
        elif not is_left:
            first, second = second, first
        product = product_of(language, first, second, rows, columns)
        return _minus(language.algebra, product, _identity(language, rows, columns))

    return difference


def _intertwined(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
    """exp(M) A = A exp(N) where M A = A N by the uses that are given."""
    first, second, third, uses = listed(arguments, "arguments", 4)
    M, N = _square(language, first, scope), _square(language, second, scope)
    bound, form = language.within(third, scope)
    own, inside = list(bound.values()), {**scope, **bound}
    A = Entries(form, own[: len(M.rows)], own[len(M.rows) :])
    sides = (product_of(language, M, A, A.rows, A.columns), product_of(language, A, N, A.rows, A.columns))
    vanishes(language, _minus(language.algebra, *sides), uses, inside, "M A - A N")
    ends = language.at(at, scope, [index[1] for index in own])
    rows, columns = ends[: len(A.rows)], ends[len(A.rows) :]
    left = product_of(language, _of(language, "expm", M), A, rows, columns)
    return _minus(language.algebra, left, product_of(language, A, _of(language, "expm", N), rows, columns))


def _fixed(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
    """exp(M) v = v where M v = 0 by the uses that are given."""
    first, second, uses = listed(arguments, "arguments", 3)
    M = _square(language, first, scope)
    bound, form = language.within(second, scope)
    own, v = list(bound.values()), Entries(form, list(bound.values()), [])
    vanishes(language, product_of(language, M, v, own, []), uses, {**scope, **bound}, "M v")
    ends = language.at(at, scope, [index[1] for index in own])
    at_ends = language.algebra.renamed(form, dict(zip(own, ends, strict=True)))
    return _minus(language.algebra, product_of(language, _of(language, "expm", M), v, ends, []), at_ends)


def _equal_arguments(language: Language, arguments: list[Any], at: Any, scope: Scope) -> Form:
    """A function of equal arguments, which are equal by the uses that are given; a head ["power", p, q] is a power."""
    head, first, second, uses = listed(arguments, "arguments", 4)
    bound, form = language.within(first, scope)
    algebra, own, inside = language.algebra, list(bound.values()), {**scope, **bound}
    forms = [form, language.form(second, inside)]
    vanishes(language, _minus(algebra, *forms), uses, inside, "the difference of the arguments")
    places = dict(zip(own, language.at(at, scope, [index[1] for index in own]), strict=True))
    if isinstance(head, list):
        _, p, q = listed(head, "a power", 3)
        values = [algebra.power(form, rational(p, q)) for form in forms]
    else:
        values = [algebra.of(head, form, own) for form in forms]
    return algebra.renamed(_minus(algebra, *values), places)


def _only(arguments: list[Any]) -> Any:
    return listed(arguments, "arguments", 1)[0]


#: Every rule that a certificate may use, by name; each is stated where it is defined and in docs/certificates.md.
RULES: Mapping[str, Rule] = {
    "softmax rows": _softmax_rows,
    "softmax": _softmax,
    "power": _power,
    "inverse left": _to_identity("inverse", True),
    "inverse right": _to_identity("inverse", False),
    "opposite exponentials": _to_identity("expm", True),
    "intertwined exponentials": _intertwined,
    "exponential of what annihilates": _fixed,
    "equal arguments": _equal_arguments,
}
