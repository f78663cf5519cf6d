"""Products that are multiples of the identity in the checker of bounds: what follows from that, and what is refused."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernel_values import Values
from tests.test_kernel_bounds import SIZES, Table, arrays, refused
from verify.kernel import isometries
from verify.kernel.bounds import Assumed, check, instance, statement
from verify.kernel.quantities import number
from verify.kernel.refusal import Refused

pytestmark = pytest.mark.kept

NORM, UNIT_ROW = isometries.RULES
TERMS = ["terms"]


def negative(t: Table, a: int) -> int:
    return t.add("*", t.add("q", -1, 1), a)


def squared(t: Table, a: int) -> int:
    return t.add("^", a, 2, 1)


def skew_square(t: Table, name: str = "S") -> list[int]:
    """S S = -z^2 I."""
    S = t.matrix(name, "n", "n")
    return [t.add("product", S, S), negative(t, squared(t, t.add("scalar", "z")))]


def turned(t: Table, name: str = "S", factor: str = "x") -> int:
    """I + x S."""
    identity = t.add("identity", t.add("size", "n"))
    return t.add("sum", t.one(), identity, t.add("scalar", factor), t.matrix(name, "n", "n"))


def gain(t: Table) -> int:
    """1 + x^2 z^2."""
    x, z = t.add("scalar", "x"), t.add("scalar", "z")
    return t.add("+", t.one(), t.add("*", squared(t, x), squared(t, z)))


def turn(t: Table, bound: int, assumed: list[list[int]]) -> dict[str, Any]:
    """||I + x S||_2 <= bound."""
    A = turned(t)
    return t.certificate(t.norm("2", A), bound, [(NORM, [A])], multiples=assumed)


def step(t: Table, assumed: list[list[int]], row: int | None = None, share: tuple[int, int] = (1, 1)) -> dict[str, Any]:
    """||I + x S||_2 / ||u (I + x S)|| <= share."""
    u = t.matrix("u", "1", "n") if row is None else row
    A = turned(t)
    y = t.norm("F", t.add("product", u, A))
    t.reader.nonzero.add(t.reader.table[y])
    left = t.add("*", t.norm("2", A), t.add("^", y, -1, 1))
    why = ["instance", UNIT_ROW, [u, A], [], t.add("^", gain(t), 1, 2), TERMS]
    return t.certificate(left, t.add("q", *share), [(NORM, [A])], why, multiples=assumed, nonzero=[y])


# -- in numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_what_is_known_holds_in_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t, found, n, z = Table(), arrays(rng, 1.0), SIZES["n"], float(rng.uniform(0.5, 2))
    frame = np.linalg.qr(rng.normal(size=(n, n)))[0]
    found["S"] = z * frame @ np.kron(np.eye(n // 2), [[0, 1], [-1, 0]]) @ frame.T
    found["Q"] = 3 * np.linalg.inv(found["Y"])
    values = Values(SIZES, {"x": -0.7, "e": 0.3, "z": z}, found)
    Y, Q, S = (t.matrix(name, "n", "n") for name in "YQS")
    pairs = [skew_square(t), [t.add("product", Y, Q), t.add("q", 3, 1)]]
    multiples = [isometries.multiple(*(t.reader.table[place] for place in pair)) for pair in pairs]
    wide = t.matrix("A", "m", "n")
    words = [
        [S, S], [S, S, S], [wide, S, S, Y], [Y, Q], [t.add("transpose", Q), t.add("transpose", Y)], [Q, Y],
        [S, Y, Q, S], [wide, Y, S, S, Q],
    ]  # fmt: skip
    for word in words:
        A = t.reader.table[t.add("product", *word)]
        after = isometries.reduced(A, multiples)
        assert values.array(after) == pytest.approx(values.array(A), abs=1e-9)
        assert (after == A) == (word == [Q, Y])
    assert isometries.reduced(t.reader.table[t.add("product", S, Y, Q, S)], multiples).terms.keys() == {()}
    u, A = t.reader.table[t.matrix("u", "1", "n")], t.reader.table[turned(t)]
    for rule, *arguments in ((NORM, A), (NORM, A @ A), (UNIT_ROW, u, A), (UNIT_ROW, u, A @ A.T @ A)):
        left, right, *conditions = isometries.RULES[rule][1](multiples, *arguments)
        assert values.number(left) == pytest.approx(values.number(right), rel=1e-9) and all(conditions)


# -- certificates ------------------------------------------------------------------------------------------------------


def test_certificates_that_are_accepted() -> None:
    t = Table()
    check(turn(t, t.add("^", gain(t), 1, 2), [skew_square(t)]))
    t = Table()
    check(step(t, [skew_square(t)]))


def test_a_smaller_bound_is_refused() -> None:
    t = Table()
    assert "final comparison" in refused(turn(t, t.one(), [skew_square(t)]))
    t = Table()
    assert "final comparison" in refused(step(t, [skew_square(t)], share=(99, 100)))


def test_without_the_assumption_nothing_is_known() -> None:
    for names in ("", "R", "Y"):
        t = Table()
        assumed = [skew_square(t, name) for name in names]
        assert "no multiple of an isometry" in refused(turn(t, t.add("^", gain(t), 1, 2), assumed))


def test_another_multiple_leads_to_another_bound() -> None:
    t = Table()
    S = t.matrix("S", "n", "n")
    assumed = [[t.add("product", S, S), negative(t, t.add("q", 4, 1))]]
    assert "final comparison" in refused(turn(t, t.add("^", gain(t), 1, 2), assumed))


#: Arguments of a rule, and what is assumed, where it does not hold.
WRONG: dict[str, Callable[[Table], tuple[str, list[int], list[list[int]]]]] = {
    "a matrix that is not skew": lambda t: (NORM, [turned(t, "Y")], [skew_square(t, "Y")]),
    "a symmetric matrix": lambda t: (NORM, [turned(t, "G")], [skew_square(t, "G")]),
    "another product": lambda t: (
        NORM, [turned(t)], [[t.add("product", t.matrix("S", "n", "n"), t.matrix("R", "n", "n")), t.one()]],
    ),
    "a multiple of the transpose's square, of a wide matrix": lambda t: (
        NORM, [A := t.matrix("A", "m", "n")], [[t.add("product", A, t.add("transpose", A)), t.one()]],
    ),
    "a row that may have any length": lambda t: (UNIT_ROW, [t.matrix("t", "1", "n"), turned(t)], [skew_square(t)]),
    "two unit rows": lambda t: (UNIT_ROW, [t.matrix("U", "m", "n"), turned(t)], [skew_square(t)]),
    "a column of unit rows": lambda t: (
        UNIT_ROW, [t.add("transpose", t.matrix("u", "n", "1")), turned(t)], [skew_square(t)],
    ),
    "a multiple that may be 0": lambda t: (
        UNIT_ROW, [t.matrix("u", "1", "n"), t.matrix("S", "n", "n")], [skew_square(t)],
    ),
    "the multiple of the wrong side": lambda t: (
        UNIT_ROW, [t.matrix("u", "1", "n"), t.matrix("Y", "n", "n")],
        [[t.add("product", t.add("transpose", Y := t.matrix("Y", "n", "n")), Y), t.one()]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_rule_is_refused_where_a_condition_fails(case: str) -> None:
    t = Table()
    rule, arguments, pairs = WRONG[case](t)
    multiples = [isometries.multiple(*(t.reader.table[place] for place in pair)) for pair in pairs]
    with pytest.raises(Refused):
        instance(rule, [t.reader.table[k] for k in arguments], [], Assumed([], [], multiples), t.reader.table)


#: What is no assumption that a product is a multiple of the identity.
NO_MULTIPLES: dict[str, Callable[[Table], list[Any]]] = {
    "a multiple of a product": lambda t: [t.add("sum", t.add("q", 2, 1), skew_square(t)[0]), t.one()],
    "a sum": lambda t: [turned(t), t.one()],
    "the identity": lambda t: [t.add("identity", t.add("size", "n")), t.add("q", 2, 1)],
    "nothing": lambda t: [t.add("zeros", t.add("size", "n"), t.add("size", "n")), t.one()],
    "a matrix that is not square": lambda t: [t.matrix("A", "m", "n"), t.one()],
    "one of a stack": lambda t: [
        t.matrix("X", "n", "n", t.add("index", "i", t.add("size", "k"))), t.one(),
    ],
    "a multiple that varies": lambda t: [
        t.matrix("Y", "n", "n"), t.norm("F", t.matrix("X", "m", "n", t.add("index", "i", t.add("size", "k")))),
    ],
    "a matrix for a multiple": lambda t: [t.matrix("Y", "n", "n"), t.matrix("Y", "n", "n")],
    "a scalar for a product": lambda t: [t.one(), t.one()],
    "a number that is no place": lambda t: [t.matrix("Y", "n", "n"), 1.5],
    "a place alone": lambda t: [t.matrix("Y", "n", "n")],
}  # fmt: skip


@pytest.mark.parametrize("case", NO_MULTIPLES)
def test_what_is_assumed_is_one_square_product(case: str) -> None:
    t = Table()
    pair, x = NO_MULTIPLES[case](t), t.add("scalar", "x")
    refused(t.certificate(x, x, [], multiples=[pair]))
    check(t.certificate(x, x, [], multiples=[skew_square(t)]))


def test_an_assumption_is_part_of_what_is_said() -> None:
    t = Table()
    x = t.add("scalar", "x")
    some, none = (t.certificate(x, x, [], multiples=pairs) for pairs in ([skew_square(t)], []))
    assert statement(some) != statement(none) == statement(t.certificate(x, x, []))


# -- kept certificates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", ["dynamics.a.5", "dynamics.eq-85-87"])
def test_a_changed_certificate_is_refused(claim: str) -> None:
    path = Path(__file__).parents[1] / "theorems" / "dynamics" / "certificates.jsonl.xz"
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    (kept,) = (line for line in lines if f'"claim":"{claim}"' in line)
    assert all(json.dumps(rule) in kept for rule in isometries.RULES)
    check(json.loads(kept))
    ((product, multiple),) = json.loads(kept)["multiples"]
    changed: list[Callable[[dict[str, Any]], Any]] = [
        lambda c: c.pop("multiples"),
        lambda c: c.update(multiples=[[product, c["parts"][0]["right"]]]),
        lambda c: c.update(multiples=[[c["table"][product][1], multiple]]),
        lambda c: c["inputs"].update(Omega=[]),
        lambda c: c["inputs"].update(Omega=["is symmetric"]),
        lambda c: c["inputs"].update(x=[]),
        *(lambda c, k=k: c["parts"][-1]["steps"].pop(k) for k in range(len(json.loads(kept)["parts"][-1]["steps"]))),
        lambda c: c["parts"][-1].update(comparison=TERMS),
        lambda c: (c["table"].append(["q", 99, 100]), c["parts"][-1].update(right=len(c["table"]) - 1)),
    ]
    for change in changed:
        certificate = json.loads(kept)
        change(certificate)
        refused(certificate)


def test_numbers_of_the_identity_stand_in_no_product() -> None:
    t = Table()
    P, c = (t.reader.table[place] for place in skew_square(t))
    assert isometries.reduced(t.reader.table[turned(t)], [(P, c)]) == t.reader.table[turned(t)]
    assert isometries.square(t.reader.table[t.matrix("S", "n", "n")], [(P, c)]) == c * number(-1)
