"""The checker of certificates of identities: what it accepts, and false certificates that it refuses."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from verify import kernel
from verify.arithmetics.symbols.difference import prove
from verify.arithmetics.symbols.identity_certificates import NotRecorded, statement_of
from verify.checks.certified import accepted, certified, kept, kept_of, path_of
from verify.checks.operands import inputs_of, sides_of
from verify.checks.proofs import prove_claim, proved
from verify.checks.record import VIOLATED
from verify.checks.settings import EFFORTS, Settings
from verify.kernel import Refused
from verify.kernel import check_identity as check
from verify.kernel.__main__ import main
from verify.vocabulary.registry import load

pytestmark = pytest.mark.kept("docs/certificates.md")

DOCUMENT = Path(__file__).parents[1] / "docs" / "certificates.md"

Expression = list[Any]
ZERO, ONE = ["q", 0, 1], ["q", 1, 1]


def t(name: str, *indices: str) -> Expression:
    return ["t", name, list(indices)]


def f(head: str, argument: Expression) -> Expression:
    return ["f", head, [[[], argument]], []]


def softmax(argument: Expression, bound: str, at: str, size: str = "n") -> Expression:
    return ["f", "softmax", [[[[bound, size]], argument]], [at]]


def inverse(name: str, a: str, b: str) -> Expression:
    return ["f", "inverse", [[[["r", "n"], ["c", "n"]], t(name, "r", "c")]], [a, b]]


def minus(expression: Expression) -> Expression:
    return ["*", ["q", -1, 1], expression]


def certificate(left: Expression, right: Expression, uses: Any = (), indices: Any = (), **more: Any) -> dict[str, Any]:
    """left = right about vectors x, y, z, square matrices M, N and S, and scalars a, b, and p > 0."""
    tensors = {
        **{name: {"sizes": ["n"]} for name in "xyz"},
        **{name: {"sizes": ["n", "n"]} for name in "MNS"},
        **{name: {"sizes": []} for name in "ab"},
        "p": {"sizes": [], "positive": True},
    }
    return {
        "format": 1,
        "kind": "identity",
        "claim": "made up",
        "sizes": {"n": None, "m": None, "3": ["q", 3, 1]},
        "inputs": tensors,
        "variables": {"v": {"sizes": ["n"]}},
        "definitions": [],
        "hypotheses": [],
        "parts": [{"indices": list(indices), "left": left, "right": right, "uses": list(uses)}],
        **more,
    }


def is_refused(made: Any) -> str:
    with pytest.raises(Refused) as refusal:
        check(made)
    return str(refusal.value)


I, J = ["i", "n"], ["j", "n"]

#: What the checker knows: equations that hold, and beside them false ones that look like them.
TRUE = {
    "delta": (["sum", J, ["*", ["delta", "i", "j"], t("x", "j")]], t("x", "i"), [I]),
    "size": (["sum", J, t("x", "i")], ["*", ["size", "n"], t("x", "i")], [I]),
    "order of sums": (
        ["sum", I, ["sum", J, ["*", t("M", "i", "j"), t("x", "i"), t("y", "j")]]],
        ["sum", I, ["sum", J, ["*", t("M", "j", "i"), t("x", "j"), t("y", "i")]]],
        [],
    ),
    "renamed": (
        ["sum", I, ["sum", J, ["*", t("M", "i", "j"), t("M", "j", "i")]]],
        ["sum", J, ["sum", ["k", "n"], ["*", t("M", "k", "j"), t("M", "j", "k")]]],
        [],
    ),
    "powers": (["*", ["power", 1, 2, t("a")], ["power", 1, 2, t("a")]], t("a"), []),
    "whole power of a product": (
        ["power", -1, 1, ["*", t("a"), t("b")]],
        ["*", ["power", -1, 1, t("a")], ["power", -1, 1, t("b")]],
        [],
    ),
    "positive factor of a root": (
        ["power", 1, 2, ["*", t("p"), t("b")]],
        ["*", ["power", 1, 2, t("p")], ["power", 1, 2, t("b")]],
        [],
    ),
    "root of a number": (["power", 1, 2, ["q", 8, 9]], ["*", ["q", 2, 3], ["power", 1, 2, ["q", 2, 1]]], []),
    "exp": (f("exp", ["+", t("a"), t("b")]), ["*", f("exp", t("a")), f("exp", t("b"))], []),
    "opposite exp": (["*", f("exp", t("a")), f("exp", minus(t("a")))], ONE, []),
    "log of exp": (f("log", f("exp", t("a"))), t("a"), []),
    "exp of log": (f("exp", f("log", t("a"))), t("a"), []),
    "step squared": (["*", f("step", t("a")), f("step", t("a"))], f("step", t("a")), []),
    "step of a positive multiple": (f("step", ["*", t("p"), t("a")]), f("step", t("a")), []),
    "relu": (
        ["+", f("relu", t("a")), minus(f("relu", minus(t("a"))))],
        ["+", ["*", t("a"), f("step", t("a"))], ["*", t("a"), f("step", minus(t("a")))]],
        [],
    ),
    "softmax shifted": (softmax(["+", t("x", "j"), t("a")], "j", "i"), softmax(t("x", "j"), "j", "i"), [I]),
    "softmax of equal entries": (softmax(t("a"), "j", "i"), ["power", -1, 1, ["size", "n"]], [I]),
    "equal arguments": (f("exp", ["*", t("a"), t("b")]), f("exp", ["*", t("b"), t("a")]), []),
    "arguments over other sums": (f("exp", ["sum", I, t("x", "i")]), f("exp", ["sum", J, t("x", "j")]), []),
    "function on the diagonal": (
        ["sum", I, ["sum", J, ["*", ["delta", "i", "j"], f("exp", ["*", t("x", "i"), t("y", "j")])]]],
        ["sum", I, f("exp", ["*", t("x", "i"), t("y", "i")])],
        [],
    ),
    "inverse of a transpose": (
        ["f", "inverse", [[[["r", "n"], ["c", "n"]], t("M", "c", "r")]], ["i", "j"]],
        inverse("M", "j", "i"),
        [I, J],
    ),
    "inverse of the identity": (
        ["f", "inverse", [[[["r", "n"], ["c", "n"]], ["delta", "r", "c"]]], ["i", "j"]],
        ["delta", "i", "j"],
        [I, J],
    ),
    "units": (["sum", ["i", "3"], ["*", ["unit", 0, "i"], ["unit", 2, "i"]]], ZERO, []),
    "units of one place at two indices": (
        ["sum", I, ["sum", J, ["*", ["unit", 0, "i"], ["unit", 0, "j"], t("M", "i", "j")]]],
        ["sum", I, ["*", ["unit", 0, "i"], t("M", "i", "i")]],
        [],
    ),
    "units of one place at an open index": (
        ["sum", J, ["*", ["unit", 0, "i"], ["unit", 0, "j"], t("x", "j")]],
        ["*", ["unit", 0, "i"], t("x", "i")],
        [I],
    ),
    "slope of a power": (["diff", "a", [], ["power", 3, 1, t("a")]], ["*", ["q", 3, 1], t("a"), t("a")], []),
    "slope of exp": (
        ["diff", "x", ["i"], f("exp", t("x", "j"))],
        ["*", ["delta", "i", "j"], f("exp", t("x", "j"))],
        [I, J],
    ),
    "slope of log": (["diff", "a", [], f("log", t("a"))], ["power", -1, 1, t("a")], []),
    "slope of relu": (["diff", "a", [], f("relu", t("a"))], f("step", t("a")), []),
    "slope of the softmax": (
        ["diff", "x", ["k"], softmax(t("x", "j"), "j", "i")],
        [
            "+",
            ["*", ["delta", "i", "k"], softmax(t("x", "j"), "j", "i")],
            minus(["*", softmax(t("x", "j"), "j", "i"), softmax(t("x", "l"), "l", "k")]),
        ],
        [I, ["k", "n"]],
    ),
    "slope of the inverse": (
        ["diff", "M", ["k", "l"], inverse("M", "i", "j")],
        minus(["*", inverse("M", "i", "k"), inverse("M", "l", "j")]),
        [I, J, ["k", "n"], ["l", "n"]],
    ),
    "a derivative at a point": (
        [
            "at",
            "v",
            [["k", "n"]],
            ["*", t("a"), t("x", "k")],
            ["diff", "v", ["i"], ["sum", J, ["*", t("v", "j"), t("v", "j")]]],
        ],
        ["*", ["q", 2, 1], t("a"), t("x", "i")],
        [I],
    ),
    "a point in an argument": (
        ["at", "v", [["k", "n"]], t("x", "k"), softmax(t("v", "j"), "j", "i")],
        softmax(t("x", "j"), "j", "i"),
        [I],
    ),
}
K, M_ENTRY = ["k", "n"], [[["r", "n"], ["c", "n"]], t("M", "r", "c")]
EXPONENTIAL = ["f", "expm", [M_ENTRY], ["i", "j"]]
TRUE |= {
    "slope of the exponential": (
        ["diff", "M", ["k", "l"], EXPONENTIAL],
        ["f", "dexpm", [[[["r", "n"], ["d", "n"], ["e", "n"], ["c", "n"]], t("M", "r", "c")]], ["i", "k", "l", "j"]],
        [I, J, K, ["l", "n"]],
    ),
    "slope of the exponential of a transpose": (
        ["f", "dexpm", [[[["r", "n"], ["d", "n"], ["e", "n"], ["c", "n"]], t("M", "c", "r")]], ["i", "k", "l", "j"]],
        ["f", "dexpm", [[[["r", "n"], ["d", "n"], ["e", "n"], ["c", "n"]], t("M", "r", "c")]], ["j", "l", "k", "i"]],
        [I, J, K, ["l", "n"]],
    ),
    "mean of a square": (
        ["mean", "v", t("p"), ["*", t("v", "i"), t("v", "j")]],
        ["*", t("p"), ["delta", "i", "j"]],
        [I, J],
    ),
    "mean of what is fixed": (["mean", "v", t("p"), t("x", "i")], t("x", "i"), [I]),
    "mean of a fourth power": (
        ["mean", "v", t("p"), ["power", 4, 1, t("v", "i")]],
        ["*", ["q", 3, 1], t("p"), t("p")],
        [I],
    ),
    "mean of a sum of squares, squared": (
        ["mean", "v", ONE, ["power", 2, 1, ["sum", I, ["*", t("v", "i"), t("v", "i")]]]],
        ["+", ["*", ["size", "n"], ["size", "n"]], ["*", ["q", 2, 1], ["size", "n"]]],
        [],
    ),
}
FALSE = {
    "slope of the exponential as of commuting matrices": (
        ["diff", "M", ["k", "l"], EXPONENTIAL],
        ["*", ["delta", "i", "k"], ["f", "expm", [M_ENTRY], ["l", "j"]]],
        [I, J, K, ["l", "n"]],
    ),
    "slope of the exponential turned": (
        ["diff", "M", ["k", "l"], EXPONENTIAL],
        ["f", "dexpm", [[[["r", "n"], ["d", "n"], ["e", "n"], ["c", "n"]], t("M", "r", "c")]], ["i", "l", "k", "j"]],
        [I, J, K, ["l", "n"]],
    ),
    "mean of a product as a product": (["mean", "v", t("p"), ["*", t("v", "i"), t("v", "j")]], ZERO, [I, J]),
    "mean of a fourth power as that of a square": (
        ["mean", "v", t("p"), ["power", 4, 1, t("v", "i")]],
        ["*", t("p"), t("p")],
        [I],
    ),
    "delta at another index": (["sum", J, ["*", ["delta", "i", "j"], t("x", "j")]], ["sum", J, t("x", "j")], [I]),
    "size of another index": (["sum", ["j", "m"], t("x", "i")], ["*", ["size", "n"], t("x", "i")], [I]),
    "transposed": (
        ["sum", J, ["*", t("M", "i", "j"), t("x", "j")]],
        ["sum", J, ["*", t("M", "j", "i"), t("x", "j")]],
        [I],
    ),
    "sums joined": (
        ["*", ["sum", I, t("x", "i")], ["sum", I, t("x", "i")]],
        ["sum", I, ["*", t("x", "i"), t("x", "i")]],
        [],
    ),
    "chained otherwise": (
        ["sum", I, ["sum", J, ["*", t("M", "i", "j"), t("M", "j", "i")]]],
        ["sum", I, ["sum", J, ["*", t("M", "i", "j"), t("M", "i", "j")]]],
        [],
    ),
    "root of a square": (["power", 1, 2, ["*", t("a"), t("a")]], t("a"), []),
    "root of a product": (
        ["power", 1, 2, ["*", t("a"), t("b")]],
        ["*", ["power", 1, 2, t("a")], ["power", 1, 2, t("b")]],
        [],
    ),
    "power of a sum": (
        ["power", -1, 1, ["+", t("a"), t("b")]],
        ["+", ["power", -1, 1, t("a")], ["power", -1, 1, t("b")]],
        [],
    ),
    "power of a sum over an index": (
        ["power", -1, 1, ["sum", I, t("x", "i")]],
        ["sum", I, ["power", -1, 1, t("x", "i")]],
        [],
    ),
    "square of a sum": (["power", 2, 1, ["sum", I, t("x", "i")]], ["sum", I, ["power", 2, 1, t("x", "i")]], []),
    "exp of a product": (f("exp", ["*", t("a"), t("b")]), ["*", f("exp", t("a")), f("exp", t("b"))], []),
    "exp of a sum over an index": (f("exp", ["sum", I, t("x", "i")]), ["sum", I, f("exp", t("x", "i"))], []),
    "log of a product": (f("log", ["*", t("a"), t("b")]), ["+", f("log", t("a")), f("log", t("b"))], []),
    "step of the negative": (f("step", minus(t("a"))), f("step", t("a")), []),
    "step of a multiple": (f("step", ["*", t("b"), t("a")]), f("step", t("a")), []),
    "absolute value": (f("abs", t("a")), t("a"), []),
    "softmax shifted by its own index": (
        softmax(["+", t("x", "j"), t("y", "j")], "j", "i"),
        softmax(t("x", "j"), "j", "i"),
        [I],
    ),
    "softmax at another index": (
        softmax(["*", t("a"), t("x", "j")], "j", "i"),
        softmax(["*", t("a"), t("x", "j")], "j", "k"),
        [I, ["k", "n"]],
    ),
    "softmax over rows": (
        ["f", "softmax", [[[["c", "n"]], t("M", "i", "c")]], ["j"]],
        ["f", "softmax", [[[["r", "n"]], t("M", "r", "j")]], ["i"]],
        [I, J],
    ),
    "inverse as reciprocal entries": (inverse("M", "i", "j"), ["power", -1, 1, t("M", "i", "j")], [I, J]),
    "inverse of a sum": (
        ["f", "inverse", [[[["r", "n"], ["c", "n"]], ["+", t("M", "r", "c"), t("N", "r", "c")]]], ["i", "j"]],
        ["+", inverse("M", "i", "j"), inverse("N", "i", "j")],
        [I, J],
    ),
    "inverse on the diagonal": (["sum", I, inverse("M", "i", "i")], ["sum", I, ["power", -1, 1, t("M", "i", "i")]], []),
    "a unit at one of two indices": (
        ["sum", I, ["sum", J, ["*", ["unit", 0, "i"], t("M", "i", "j")]]],
        ["sum", I, ["*", ["unit", 0, "i"], t("M", "i", "i")]],
        [],
    ),
    "units of two places at two indices": (
        ["sum", ["i", "3"], ["sum", ["j", "3"], ["*", ["unit", 0, "i"], ["unit", 1, "j"]]]],
        ["sum", ["i", "3"], ["*", ["unit", 0, "i"], ["unit", 1, "i"]]],
        [],
    ),
    "units of one place": (["sum", I, ["*", ["unit", 0, "i"], ["unit", 0, "i"]]], ZERO, []),
    "slope with a wrong sign": (["diff", "a", [], ["power", -1, 1, t("a")]], ["power", -2, 1, t("a")], []),
    "slope of a softmax without its mean": (
        ["diff", "x", ["k"], softmax(t("x", "j"), "j", "i")],
        ["*", ["delta", "i", "k"], softmax(t("x", "j"), "j", "i")],
        [I, ["k", "n"]],
    ),
    "slope of the inverse turned": (
        ["diff", "M", ["k", "l"], inverse("M", "i", "j")],
        minus(["*", inverse("M", "i", "l"), inverse("M", "k", "j")]),
        [I, J, ["k", "n"], ["l", "n"]],
    ),
    "the point before the derivative": (
        ["at", "v", [["k", "n"]], t("x", "k"), ["diff", "v", ["i"], ["sum", J, ["*", t("v", "j"), t("x", "j")]]]],
        ["*", ["q", 2, 1], t("x", "i")],
        [I],
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_the_checker_knows(name: str) -> None:
    left, right, indices = TRUE[name]
    check(certificate(left, right, indices=indices))
    is_refused(certificate(left, ["+", right, right, ONE], indices=indices))


@pytest.mark.parametrize("name", FALSE)
def test_what_it_must_not_believe(name: str) -> None:
    left, right, indices = FALSE[name]
    assert "terms are left" in is_refused(certificate(left, right, indices=indices))


# -- rules -------------------------------------------------------------------------------------------------------------


def _product(one: Expression, other: Expression) -> Expression:
    return ["sum", ["k", "n"], ["*", one, other]]


def _matrix(name: str) -> list[Any]:
    return [[["r", "n"], ["c", "n"]], t(name, "r", "c")]


def _expm(entry: Expression, a: str, b: str) -> Expression:
    return ["f", "expm", [[[["r", "n"], ["c", "n"]], entry]], [a, b]]


_MN = ["sum", ["d", "n"], ["*", t("M", "r", "d"), t("N", "d", "c")]]
_NM = ["sum", ["d", "n"], ["*", t("N", "r", "d"), t("M", "d", "c")]]
_TOTAL = ["sum", ["h", "n"], ["*", t("a"), softmax(t("x", "w"), "w", "h")]]


def _across(at: str) -> Expression:
    """An entry of (z^T z) x - (z^T x) z, which z^T takes to 0."""
    square, product = (["sum", ["d", "n"], ["*", t("z", "d"), t(name, "d")]] for name in "zx")
    return ["+", ["*", square, t("x", at)], minus(["*", product, t("z", at)])]


RULES: dict[str, tuple[Expression, Expression, dict[str, Any], Any]] = {
    "softmax rows": (
        ["sum", I, softmax(t("x", "j"), "j", "i")],
        ONE,
        {"arguments": [[[J], t("x", "j")]], "at": []},
        [],
    ),
    "softmax": (
        ["*", softmax(t("x", "j"), "j", "i"), ["sum", ["k", "n"], f("exp", t("x", "k"))]],
        f("exp", t("x", "i")),
        {"arguments": [[[J], t("x", "j")]], "at": ["i"]},
        [I],
    ),
    "power": (
        ["*", ["+", t("a"), t("b")], ["power", -1, 1, ["+", t("a"), t("b")]]],
        ONE,
        {"arguments": [[[], ["+", t("a"), t("b")]], -1, 1], "at": []},
        [],
    ),
    "inverse left": (
        _product(inverse("M", "i", "k"), t("M", "k", "j")),
        ["delta", "i", "j"],
        {"arguments": [_matrix("M")], "at": ["i", "j"]},
        [I, J],
    ),
    "inverse right": (
        _product(t("M", "i", "k"), inverse("M", "k", "j")),
        ["delta", "i", "j"],
        {"arguments": [_matrix("M")], "at": ["i", "j"]},
        [I, J],
    ),
    "opposite exponentials": (
        _product(_expm(t("M", "r", "c"), "i", "k"), _expm(minus(t("M", "r", "c")), "k", "j")),
        ["delta", "i", "j"],
        {"arguments": [_matrix("M")], "at": ["i", "j"]},
        [I, J],
    ),
    "intertwined exponentials": (
        _product(_expm(_MN, "i", "k"), t("M", "k", "j")),
        _product(t("M", "i", "k"), _expm(_NM, "k", "j")),
        {
            "arguments": [
                [[["r", "n"], ["c", "n"]], _MN],
                [[["r", "n"], ["c", "n"]], _NM],
                [[["e", "n"], ["g", "n"]], t("M", "e", "g")],
                [],
            ],
            "at": ["i", "j"],
        },
        [I, J],
    ),
    "exponential of what annihilates": (
        _product(_expm(["*", t("y", "r"), t("z", "c")], "i", "k"), _across("k")),
        _across("i"),
        {
            "arguments": [
                [[["r", "n"], ["c", "n"]], ["*", t("y", "r"), t("z", "c")]],
                [[["e", "n"]], _across("e")],
                [],
            ],
            "at": ["i"],
        },
        [I],
    ),
    "equal arguments": (
        f("exp", _TOTAL),
        f("exp", t("a")),
        {
            "arguments": [
                "exp",
                [[], _TOTAL],
                t("a"),
                [
                    {
                        "rule": "softmax rows",
                        "arguments": [[[["w", "n"]], t("x", "w")]],
                        "at": [],
                        "over": [],
                        "times": t("a"),
                    }
                ],
            ],
            "at": [],
        },
        [],
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_used_where_it_is_named_and_nowhere_else(rule: str) -> None:
    from verify.kernel import identities

    assert identities.RULES.keys() == RULES.keys()
    left, right, use, indices = RULES[rule]
    use = {"rule": rule, **use, "over": [], "times": ONE}
    assert check(certificate(left, right, [use], indices)).rules[0] == rule
    is_refused(certificate(left, right, [], indices))
    is_refused(certificate(left, right, [use, use], indices))
    is_refused(certificate(left, right, [{**use, "times": minus(ONE)}], indices))
    is_refused(certificate(left, ["*", ["q", 2, 1], right], [use], indices))
    is_refused(certificate(left, right, [{**use, "arguments": []}], indices))
    is_refused(certificate(left, right, [{**use, "at": ["q"]}], indices))
    for other in RULES.keys() - {rule}:
        assert other in ("inverse left", "inverse right") or is_refused(
            certificate(left, right, [{**use, "rule": other}], indices)
        )


def test_rules_with_reasons_need_them() -> None:
    """exp(M) A = A exp(N), exp(M) v = v and f(e) = f(g) are refused where M A = A N, M v = 0 and e = g do not follow."""
    for rule, wrong in (
        ("intertwined exponentials", {0: [[["r", "n"], ["c", "n"]], t("M", "r", "c")]}),
        ("intertwined exponentials", {2: [[["e", "n"], ["g", "n"]], t("M", "g", "e")]}),
        ("intertwined exponentials", {2: [[["e", "n"], ["g", "m"]], ONE]}),
        ("exponential of what annihilates", {1: [[["e", "n"]], t("x", "e")]}),
        ("exponential of what annihilates", {1: [[["e", "m"]], ZERO]}),
        ("equal arguments", {3: []}),
        ("equal arguments", {2: t("b")}),
        ("equal arguments", {0: "sin"}),
        ("equal arguments", {0: ["power", 1, 0]}),
    ):
        left, right, use, indices = RULES[rule]
        arguments = [wrong.get(k, argument) for k, argument in enumerate(use["arguments"])]
        made = {"rule": rule, **use, "arguments": arguments, "over": [], "times": ONE}
        is_refused(certificate(left, right, [made], indices))


def test_reasons_rest_on_hypotheses_and_say_so() -> None:
    """exp(a) = exp(b) of a hypothesis a = b, whose name is among those of what was used."""
    equal = {"name": "a is b", "indices": [], "left": t("a"), "right": t("b")}
    reason = {"hypothesis": 0, "at": [], "over": [], "times": ONE}
    for head, left, right in (
        ("exp", f("exp", t("a")), f("exp", t("b"))),
        (["power", 1, 2], ["power", 1, 2, t("a")], ["power", 1, 2, t("b")]),
    ):
        use = {
            "rule": "equal arguments",
            "arguments": [head, [[], t("a")], t("b"), [reason]],
            "at": [],
            "over": [],
            "times": ONE,
        }
        found = check(certificate(left, right, [use], hypotheses=[equal]))
        assert (found.rules, found.hypotheses) == (("equal arguments",), ("a is b",))
        is_refused(certificate(left, right, [use]))
        use["arguments"][3] = [{**reason, "times": ["q", 2, 1]}]
        assert "are left of the difference" in is_refused(certificate(left, right, [use], hypotheses=[equal]))


def test_hypotheses_are_used_only_as_they_are_declared() -> None:
    unit = {"name": "x has norm 1", "indices": [], "left": ["sum", I, ["*", t("x", "i"), t("x", "i")]], "right": ONE}
    left = ["sum", ["k", "n"], ["*", t("x", "k"), t("x", "k"), t("a")]]
    use = {"hypothesis": 0, "at": [], "over": [], "times": t("a")}
    assert check(certificate(left, t("a"), [use], hypotheses=[unit])).hypotheses == ("x has norm 1",)
    is_refused(certificate(left, t("a"), hypotheses=[unit]))
    assert "no hypothesis 0" in is_refused(certificate(left, t("a"), [use]))
    assert "no hypothesis -1" in is_refused(certificate(left, t("a"), [{**use, "hypothesis": -1}], hypotheses=[unit]))
    assert "no hypothesis True" in is_refused(
        certificate(left, t("a"), [{**use, "hypothesis": True}], hypotheses=[unit])
    )
    is_refused(certificate(left, t("a"), [{**use, "times": t("b")}], hypotheses=[unit]))
    skew = {"name": "S is skew", "indices": [I, J], "left": t("S", "i", "j"), "right": minus(t("S", "j", "i"))}
    turned = {"hypothesis": 0, "at": ["i", "j"], "over": [], "times": ONE}
    check(certificate(t("S", "i", "j"), minus(t("S", "j", "i")), [turned], [I, J], hypotheses=[skew]))
    is_refused(certificate(t("M", "i", "j"), minus(t("M", "j", "i")), [turned], [I, J], hypotheses=[skew]))


def test_an_index_is_not_captured() -> None:
    """x_i (sum over i) has to be refused, whoever binds the name again: a definition, a use, an argument, a sum."""
    assert "bound twice" in is_refused(certificate(["sum", I, ["sum", I, t("x", "i")]], ZERO))
    assert "bound twice" in is_refused(certificate(["sum", I, t("x", "i")], ZERO, indices=[I]))
    assert "bound twice" in is_refused(certificate(softmax(t("x", "i"), "i", "i"), ZERO, indices=[I]))
    use = {"rule": "softmax rows", "arguments": [[[J], t("x", "j")]], "at": [], "over": [I], "times": ONE}
    assert "bound twice" in is_refused(certificate(ZERO, ZERO, [use], [I]))
    # the i that a definition binds is not the i of the place where it is named
    row = ["D", [J], ["sum", I, ["*", t("M", "i", "j"), t("x", "i")]]]
    right = ["sum", ["k", "n"], ["*", t("M", "k", "i"), t("x", "k")]]
    check(certificate(t("D", "i"), right, indices=[I], definitions=[row]))
    wrong = ["sum", ["k", "n"], ["*", t("M", "k", "i"), t("x", "i")]]
    is_refused(certificate(t("D", "i"), wrong, indices=[I], definitions=[row]))
    is_refused(
        certificate(t("D", "i"), ["*", ["size", "n"], t("M", "i", "i"), t("x", "i")], indices=[I], definitions=[row])
    )


DEFECTS: dict[str, dict[str, Any]] = {
    "unknown key": {"more": 1},
    "another format": {"format": 2},
    "no parts": {"parts": []},
    "a tensor twice": {"variables": {"x": {"sizes": []}}},
    "a tensor defined": {"definitions": [["x", [], ONE]]},
    "a tensor of no size": {"inputs": {"x": {"sizes": ["k"]}}},
    "a positive vector": {"inputs": {"x": {"sizes": ["n"], "positive": True}}},
    "a positive variable": {"variables": {"w": {"sizes": [], "positive": True}}},
    "a size by itself": {"sizes": {"n": ["size", "n"]}},
    "a hypothesis without a name": {"hypotheses": [{"name": "", "indices": [], "left": ONE, "right": ONE}]},
    "a later definition": {"definitions": [["D", [], t("E")], ["E", [], ONE]]},
}


@pytest.mark.parametrize("name", DEFECTS)
def test_what_is_not_as_it_has_to_be_is_refused(name: str) -> None:
    good = certificate(ONE, ONE)
    check(good)
    is_refused({**good, **DEFECTS[name]})


@pytest.mark.parametrize("key", certificate(ONE, ONE))
def test_no_key_may_be_missing(key: str) -> None:
    good = certificate(ONE, ONE)
    is_refused({name: value for name, value in good.items() if name != key})


WRONG = [
    None,
    [],
    ["q", 1],
    ["q", 1, 0],
    ["q", 1, -1],
    ["q", 0.5, 1],
    ["q", True, 1],
    ["nothing", 1],
    ["t", "x", []],
    ["t", "x", ["i", "i"]],
    ["t", "w", []],
    ["t", "x", ["j"]],
    ["delta", "i", "k"],
    ["size", "k"],
    ["sum", ["j", "k"], ONE],
    ["f", "sin", [[[], ONE]], []],
    ["f", "exp", [], []],
    ["f", "exp", [[[["j", "n"]], ONE]], ["i"]],
    ["f", "softmax", [[[["j", "n"]], ONE]], []],
    ["f", "inverse", [[[["j", "n"]], ONE]], ["i"]],
    ["power", 1, 2],
    ["power", -1, 1, ZERO],
    ["at", "x", [["j", "n"]], ONE, ONE],
    ["diff", "w", [], ONE],
    ["mean", "x", ONE, ONE],
    ["mean", "v", t("v", "i"), t("v", "i")],
    ["mean", "v", ONE, ["f", "exp", [[[], t("v", "i")]], []]],
    ["mean", "v", ONE, ["power", -1, 1, t("v", "i")]],
    ["mean", "v", ONE, ["*", ["power", 1, 2, t("v", "i")], ["power", 1, 2, t("v", "i")]]],
    ["f", "dexpm", [[[["r", "n"], ["c", "n"]], t("M", "r", "c")]], ["i", "i"]],
    ["f", "dexpm", [[[["r", "n"], ["d", "n"], ["e", "n"], ["c", "n"]], t("M", "d", "c")]], ["i", "i", "i", "i"]],
    ["unit", -1, "i"],
    ["unit", 1, "i"],
    ["sum", ["j", "3"], ["unit", 3, "j"]],
]


@pytest.mark.parametrize("expression", WRONG, ids=json.dumps)
def test_what_is_no_expression_is_refused(expression: Any) -> None:
    is_refused(certificate(expression, expression, indices=[I]))


@pytest.mark.parametrize("value", [None, 1, [], "x", {}, {"kind": "bound of nothing"}, {"kind": ["identity"]}])
def test_what_is_no_certificate_is_refused(value: Any) -> None:
    is_refused(value)


# -- certificates of claims --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def registry() -> Any:
    return load("theorems")


@pytest.fixture(scope="module")
def theorem(registry: Any) -> dict[str, Any]:
    """The certificate of Theorem 3.2 (query, key)."""
    claim = registry["hessian.thm-3.2-qk"]
    line = certified(claim, prove_claim(claim)).line
    assert line is not None
    return json.loads(line)


def test_the_theorem_is_accepted_without_rules(theorem: dict[str, Any]) -> None:
    found = check(theorem)
    assert (found.terms, found.rules, found.hypotheses) == ((14, 14), (), ())


def _paths(expression: Any, at: tuple[int, ...] = ()) -> Any:
    if isinstance(expression, list):
        yield at, expression
        for k, part in enumerate(expression):
            yield from _paths(part, (*at, k))


def test_a_wrong_sign_anywhere_is_refused(theorem: dict[str, Any]) -> None:
    places = [at for at, part in _paths(theorem["parts"][0]["left"]) if part[:1] == ["q"] and part[1]]
    assert places
    for at in places:
        wrong = copy.deepcopy(theorem)
        part = wrong["parts"][0]["left"]
        for k in at:
            part = part[k]
        part[1] = -part[1]
        is_refused(wrong)


def test_two_indices_exchanged_are_refused(theorem: dict[str, Any]) -> None:
    wrong = copy.deepcopy(theorem)
    first = wrong["parts"][0]["indices"]
    first[0][0], first[2][0] = first[2][0], first[0][0]  # of one size
    check(wrong)  # renamed on both sides
    one = copy.deepcopy(theorem)
    text = json.dumps(one["parts"][0]["left"])
    a, b = first[0][0], first[2][0]
    text = re.sub(rf'"({a}|{b})"', lambda found: f'"{b if found[1] == a else a}"', text)
    one["parts"][0]["left"] = json.loads(text)
    is_refused(one)


@pytest.mark.parametrize("name", ["osa.thm-2.1", "osa.f7-lemma-orthogonal", "skipless.eq-18", "norms.rows"])
def test_the_search_finds_what_the_checker_accepts(registry: Any, name: str) -> None:
    """Exponentials that intertwine, of skew matrices, means, functions of equal arguments; without their uses they are refused."""
    claim = registry[name]
    line = certified(claim, prove_claim(claim)).line
    assert line is not None and accepted(line).problem is None
    made = json.loads(line)
    for part in made["parts"]:
        for k in range(len(part["uses"])):
            kept_use = part["uses"].pop(k)
            is_refused(made)
            part["uses"].insert(k, kept_use)


@pytest.mark.parametrize("name", ["hessian.thm-3.2-qk", "hessian.def-3.1", "osa.thm-2.1"])
def test_mutants_are_refused(registry: Any, name: str) -> None:
    """The sides of wrong variants in the place of the formula."""
    claim = registry[name]
    _, oracle, mutants = sides_of(claim)
    assert oracle is not None
    refused = 0
    for mutant in mutants.values():
        proof = prove(mutant, oracle, lambda: inputs_of(claim))
        if proof.blocks:
            assert "terms are left" in is_refused(statement_of(name, proof))
            refused += 1
    assert refused


def test_a_claim_whose_certificate_is_refused_is_not_proved(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = registry["hessian.def-3.1"]
    settings = Settings(EFFORTS["quick"])
    assert proved(claim, settings).details["certificate"]["rules"] == ["softmax rows"]
    import verify.checks.certified as module

    false = certificate(ONE, ZERO)
    monkeypatch.setattr("verify.checks.proofs.kept_of", lambda claim: json.dumps(false))
    record = proved(claim, settings)
    assert (
        record.outcome == VIOLATED and "`verify prove hessian.def-3.1 --certificate` writes it again" in record.message
    )
    monkeypatch.setattr(module, "statement_of", lambda name, proof: false)
    record = proved(claim, settings)
    assert record.outcome == VIOLATED and "the checker refuses the certificate" in record.message


def test_a_certificate_that_is_kept_states_what_the_functions_give_now(registry: Any) -> None:
    claim = registry["hessian.def-3.1"]
    proof, line = prove_claim(claim), kept_of(claim)
    assert line is not None and certified(claim, proof, line).problem is None
    for change in (
        lambda made: made["parts"][0].update(left=["*", ["q", 2, 1], made["parts"][0]["left"]]),
        lambda made: made["parts"][0].update(right=["+", made["parts"][0]["right"], ZERO]),
        lambda made: made["hypotheses"].append({"name": "so it is", "indices": [], "left": ONE, "right": ONE}),
        lambda made: made["sizes"].update({"L": ["q", 1, 1]}),
        lambda made: next(iter(made["inputs"].values())).update(positive=True),
    ):
        other = json.loads(line)
        change(other)
        problem = certified(claim, proof, json.dumps(other)).problem
        assert (
            problem is not None and "states something else" in problem and "--certificate` writes it again" in problem
        )
    without_uses = json.loads(line)
    for part in without_uses["parts"]:
        part["uses"] = []
    problem = certified(claim, proof, json.dumps(without_uses)).problem
    assert problem is not None and "the checker refuses" in problem


def test_a_kept_certificate_that_none_can_be_written_for_is_a_problem(
    registry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str, proof: Any) -> Any:
        raise NotRecorded("no expression")

    monkeypatch.setattr("verify.checks.certified.statement_of", fail)
    claim = registry["hessian.def-3.1"]
    found = certified(claim, prove_claim(claim), kept_of(claim))
    assert found.problem is not None and "drops it" in found.problem


def test_without_a_kept_certificate_one_is_sought_at_effort_deep_alone(
    registry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = registry["hessian.def-3.1"]
    monkeypatch.setattr("verify.checks.proofs.kept_of", lambda claim: None)
    assert "none is kept" in proved(claim, Settings(EFFORTS["ci"])).details["certificate"]["missing"]
    assert proved(claim, Settings(EFFORTS["deep"])).details["certificate"]["rules"] == ["softmax rows"]


def test_a_certificate_without_its_uses_is_refused(registry: Any) -> None:
    claim = registry["hessian.def-3.1"]
    line = certified(claim, prove_claim(claim)).line
    assert line is not None and accepted(line).problem is None
    made = json.loads(line)
    uses = made["parts"][0]["uses"]
    for k in range(len(uses)):
        wrong = copy.deepcopy(made)
        del wrong["parts"][0]["uses"][k]
        assert accepted(json.dumps(wrong)).problem is not None


def test_certificates_that_are_kept_are_accepted(registry: Any) -> None:
    """A sample of each paper; `python -m verify.kernel` checks all of them."""
    paths = sorted({path_of(claim) for claim in registry.values() if claim.all_sizes})
    for path in paths:
        lines = kept(path)
        assert lines and list(lines) == sorted(lines)
        for name in list(lines)[::10]:
            assert kernel.check(json.loads(lines[name])).claim == name


def test_the_example_of_the_documentation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = re.search(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    made = json.loads(example[1])
    assert check(made).rules == ("softmax rows",)
    path = tmp_path / "certificates.jsonl"
    path.write_text(json.dumps(made) + "\n")
    assert main([str(path)]) == 0
    made["parts"][0]["uses"] = []
    path.write_text(json.dumps(made) + "\n")
    assert main([str(path)]) == 1
    assert "example: part 0: 2 terms are left" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"claim": "true", %s, "claim": "false"}', "stands twice"),
        ('{"claim": NaN, %s}', "is no number"),
        ('{"claim": Infinity, %s}', "is no number"),
        ("[" * 100_000, "no JSON"),
        ('{"claim": "cut", %s', "no JSON"),
    ],
)
def test_a_line_that_reads_in_two_ways_or_in_none_is_refused(
    line: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person reads the first of two values, and the checker would see the last."""
    whole = json.dumps(certificate(t("a"), t("a")))
    rest = whole[1:-1].replace('"claim"', '"no claim"') if "%s" in line else ""
    path = tmp_path / "certificates.jsonl"
    path.write_text(line.replace("%s", rest) + "\n")
    assert main([str(path)]) == 1 and why in capsys.readouterr().out
    problem = accepted(path.read_text()).problem
    assert problem is not None and why in problem
    path.write_text(whole + "\n")
    assert main([str(path)]) == 0 and accepted(whole).problem is None
