"""What the checker of identities knows, held against numbers: its rules, its normal forms, and where they are defined."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from tests.efforts import whole_or_part
from tests.kernel_points import DIGITS, Point, Undefined
from tests.test_kernel import FALSE, ONE, RULES, TRUE, certificate, f, minus, softmax, t
from verify.kernel import identities
from verify.kernel.expressions import Language
from verify.kernel.functions import Algebra
from verify.kernel.normal_forms import Form, Number
from verify.kernel.refusal import Refused

pytestmark = pytest.mark.kept

SIZES = {"n": 2, "m": 2, "3": 3}
NUMBERS = [Fraction(p, q) for p in range(-5, 6) for q in (1, 2, 3)]


@pytest.fixture(autouse=True)
def digits() -> Any:
    with mpmath.workdps(DIGITS):
        yield


def drawn(rng: random.Random, kind: str = "any") -> Point:
    """Entries of both signs; `kind` "positive" has no others, "zeros" many of 0."""

    def number(positive: bool) -> Any:
        if kind == "zeros" and not positive and rng.random() < 0.4:
            return mpmath.mpf(0)
        found = mpmath.mpf(rng.randrange(1, 10**6)) / 10**6 * 2
        return found if positive or kind == "positive" or rng.random() < 0.5 else -found

    declared = certificate(ONE, ONE)
    every = {**declared["inputs"], **declared["variables"]}
    point = Point(SIZES, {})
    for name, item in every.items():
        places = point.each([[str(k), size] for k, size in enumerate(item["sizes"])])
        point = point.changed(name, {tuple(at.values()): number(item.get("positive", False)) for at in places})
    return point


def both(expression: Any, indices: Any, point: Point) -> list[tuple[Any, Any]]:
    """The value of an expression and of its normal form, at all values of the indices where the first has one."""
    language = Language(certificate(ONE, ONE))
    scope = language.bound(list(indices), {})
    form = language.form(expression, scope)
    found = []
    for at in point.each(indices):
        try:
            value = point.value(expression, at)
        except Undefined:
            continue
        found.append((value, point.worth(language, form, {scope[name]: place for name, place in at.items()})))
    return found


def agree(pairs: list[tuple[Any, Any]], digits: int = 12) -> bool:
    return all(abs(one - other) <= mpmath.mpf(10) ** -digits * (1 + abs(one)) for one, other in pairs)


# -- facts: an expression and its normal form have one value --------------------------------------------------------------

EXPRESSIONS = {
    f"{name}, {side}": (item[k], item[2])
    for name, item in {**TRUE, **FALSE}.items()
    for k, side in enumerate(("left", "right"))
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_normal_form_has_the_value_of_its_expression(name: str) -> None:
    expression, indices = EXPRESSIONS[name]
    rng, count = random.Random(5), 0
    for kind in ("any", "positive"):
        pairs = both(expression, indices, drawn(rng, kind))
        assert agree(pairs)
        count += len(pairs)
    assert count


@pytest.mark.parametrize("name", TRUE)
def test_what_the_checker_knows_is_true(name: str) -> None:
    left, right, indices = TRUE[name]
    rng, count = random.Random(6), 0
    for _ in range(4):
        point = drawn(rng, "positive")
        for at in point.each(indices):
            assert agree([(point.value(left, at), point.value(right, at))])
            count += 1
    assert count


def random_expression(rng: random.Random, scope: dict[str, str], depth: int) -> Any:
    """An expression over the indices in scope."""
    fresh = f"k{depth}_{rng.randrange(10**6)}"
    ofn = [name for name, size in scope.items() if size == "n"]
    leaves: list[Callable[[], Any]] = [
        lambda: ["q", *(rng.choice(NUMBERS).as_integer_ratio())], lambda: ["size", "n"], lambda: t(rng.choice("abp")),
    ]  # fmt: skip
    if ofn:
        leaves += [
            lambda: t(rng.choice("xy"), rng.choice(ofn)), lambda: t(rng.choice("MN"), rng.choice(ofn), rng.choice(ofn)),
            lambda: ["delta", rng.choice(ofn), rng.choice(ofn)], lambda: ["unit", 0, rng.choice(ofn)],
        ]  # fmt: skip
    if depth == 0:
        return rng.choice(leaves)()

    def part(more: dict[str, str] | None = None) -> Any:
        return random_expression(rng, {**scope, **(more or {})}, rng.randrange(depth))

    def over(head: str) -> Any:
        own = [fresh] if head == "softmax" else [fresh, fresh + "c"]
        inner = part(dict.fromkeys(own, "n"))
        if head == "inverse":  # far from singular, mostly
            inner = ["+", ["*", ["q", 9, 1], ["delta", *own]], inner]
        return ["f", head, [[[[name, "n"] for name in own], inner]], [rng.choice(ofn) for _ in own]]

    makers: list[Callable[[], Any]] = [
        lambda: ["+", part(), part()], lambda: ["*", part(), part()], lambda: ["*", part(), part(), part()],
        lambda: ["sum", [fresh, "n"], part({fresh: "n"})],
        lambda: ["power", *rng.choice([(2, 1), (-1, 1), (1, 2), (-1, 2), (3, 2), (1, 3), (-2, 1)]), part()],
        lambda: f(rng.choice(["exp", "log", "step", "relu", "abs"]), part()),
    ]  # fmt: skip
    if ofn:
        makers += [lambda: over("softmax"), lambda: over("inverse"), lambda: over("expm")]
    return rng.choice(makers)()


def compared(seed: int, kind: str) -> tuple[int, bool]:
    """At how many indices a random expression has a value, and whether its normal form has the same one there."""
    rng = random.Random(seed)
    expression = random_expression(rng, {"i": "n", "j": "n"}, 4)
    try:
        pairs = both(expression, [["i", "n"], ["j", "n"]], drawn(rng, kind))
    except (Refused, OverflowError):
        return 0, True
    return len(pairs), agree(pairs, 8)


@pytest.mark.parametrize("kind", ["any", "positive", "zeros"])
def test_random_expressions_keep_their_values(kind: str, pytestconfig: pytest.Config) -> None:
    """Wherever an expression is defined its normal form is, with the same value: at zeros and negative numbers as well."""
    count, tried = 0, whole_or_part(pytestconfig, 250, 100)
    for seed in range(tried):
        found, same = compared(seed, kind)
        assert same, seed
        count += found > 0
    assert count > tried // 4


def _sum_of_exponentials(self: Algebra, form: Form) -> Form:
    parts = [self.function("exp", {key: value}, [], [()]) for key, value in form.items()]
    return self.collected((1, [part], frozenset()) for part in parts)


def _root_factor_by_factor(self: Algebra, form: Form, e: Number, old: Any = Algebra.power) -> Form:
    if len(form) != 1 or e.denominator == 1:
        return old(self, form, e)
    ((key, value),) = form.items()
    roots = [self.collected([(1, [(atom, at, p * e)], frozenset())]) for atom, at, p in key]
    return self.times(*roots, old(self, {(): abs(value)}, e))


def _step_of_either_sign(self: Algebra, form: Form, old: Any = Algebra.step) -> Form:
    return old(self, form if min(form.values(), default=1) > 0 else self.plus([(form, -1)]))


def _softmax_of_the_negative(self: Algebra, form: Form, own: Any, old: Any = Algebra.softmax) -> Form:
    return old(self, self.plus([(form, -1)]), own)


def _turned(self: Algebra, kind: str, form: Form, own: Any, old: Any = Algebra.of_matrix) -> Form:
    half = len(own) // 2
    return self.renamed(old(self, kind, form, own), dict(zip(own, [*own[half:], *own[:half]], strict=True)))


WRONG_FACTS: dict[str, tuple[str, Callable[..., Form]]] = {
    "exp(x + y) = exp(x) + exp(y)": ("exponential", _sum_of_exponentials),
    "step(-x) = step(x)": ("step", _step_of_either_sign),
    "the softmax is that of the negative": ("softmax", _softmax_of_the_negative),
    "roots of products are products of roots": ("power", _root_factor_by_factor),
    "the inverse of a matrix is its transpose's": ("of_matrix", _turned),
}


@pytest.mark.parametrize("wrong", WRONG_FACTS)
def test_a_wrong_fact_is_seen(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, instead = WRONG_FACTS[wrong]
    monkeypatch.setattr(Algebra, method, instead)

    def is_seen(point: Point) -> bool:
        try:
            return not all(agree(both(*item, point)) for item in EXPRESSIONS.values())
        except Undefined:  # a normal form that is not defined where its expression is
            return True

    assert any(is_seen(drawn(random.Random(seed), "any")) for seed in range(6))


# -- rules: left - right is 0 ---------------------------------------------------------------------------------------------


def differences(rule: str, kind: str = "positive") -> list[Any]:
    """What a rule says is 0, in numbers."""
    _, _, use, indices = RULES[rule]
    language = Language(certificate(ONE, ONE))
    scope = language.bound(list(indices), {})
    form = identities.RULES[rule](language, use["arguments"], use["at"], scope)
    rng, found = random.Random(8), []
    for _ in range(3):
        point = drawn(rng, kind)
        for at in point.each(indices):
            found.append(point.worth(language, form, {scope[name]: place for name, place in at.items()}))
    return found


@pytest.mark.parametrize("kind", ["any", "positive"])
@pytest.mark.parametrize("rule", identities.RULES)
def test_a_rule_holds_in_numbers(rule: str, kind: str) -> None:
    found = differences(rule, kind)
    assert found and all(abs(value) < mpmath.mpf(10) ** -30 for value in found)


@pytest.mark.parametrize("rule", identities.RULES)
def test_a_wrong_rule_is_seen(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each rule: with its terms added up instead of taken from each other, and with one term twice."""
    right = identities.RULES[rule]
    for wrong in (abs, lambda value: 2 * value if value > 0 else value):
        monkeypatch.setitem(
            identities.RULES,
            rule,
            lambda *given, wrong=wrong: {key: wrong(value) for key, value in right(*given).items()},
        )
        assert any(abs(value) > mpmath.mpf(10) ** -3 for value in differences(rule))


def test_the_evaluation_sees_what_differs() -> None:
    point = drawn(random.Random(2))
    value = point.value(softmax(t("x", "j"), "j", "i"), {"i": 0})
    assert not agree([(value, point.value(softmax(minus(t("x", "j")), "j", "i"), {"i": 0}))])
    with pytest.raises(Undefined):
        point.changed("a", {(): mpmath.mpf(0)}).value(["power", -1, 1, t("a")], {})
