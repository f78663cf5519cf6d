"""Steps by which something smaller takes the place of a quantity, denominators of unknown sign, and sizes from a number on."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.test_kernel_bounds import Table, refused
from verify.kernel.bounds import check, statement

pytestmark = pytest.mark.kept


def lowering(whole_is: str = "smallest", power: int = -1) -> tuple[Table, dict[str, Any]]:
    """||A||_F / sigma_min(A + C) <= ||A||_F / (sigma_min(A) - ||C||_2) where the divisor on the right is not negative."""
    t = Table()
    A, C, one, minus = t.matrix("A", "m", "n"), t.matrix("C", "m", "n"), t.one(), t.add("q", -1, 1)
    size, whole = t.norm("F", A), t.add("smallest singular value", t.add("sum", one, A, one, C))
    b = t.add("+", t.add("smallest singular value", A), t.add("*", minus, t.norm("2", C)))
    t.reader.nonzero |= {t.reader.table[whole], t.reader.table[b]}
    left = t.add("*", size, t.add("^", whole, power, 1))
    inverse = t.add("^", b, -1, 1)
    right = t.add("*", size, t.add("^", b, power, 1))
    why = ["instance", "smallest singular value of a sum", [A, C], [], one, ["terms"]]
    steps = [("from below", [whole, b, inverse], [why, ["facts", [[0, one]], ["terms"]]])]
    return t, t.certificate(left, right, steps, nonzero=[whole, b], assumptions=[b])


def test_what_is_divided_by_gives_way_to_something_smaller_that_is_positive() -> None:
    _, certificate = lowering()
    check(certificate)
    (step,) = certificate["parts"][0]["steps"]
    refused(certificate | {"assumptions": []})  # b may be negative
    whole, b, inverse = step["arguments"]
    for arguments in ([b, whole, inverse], [whole, b, b], [whole, whole, inverse]):
        step["arguments"] = arguments
        refused(copy.deepcopy(certificate))


def test_what_may_be_0_takes_no_place_below() -> None:
    """The statement does not divide by b >= 0, which is 0 where the left side is finite."""
    table, certificate = lowering()
    part = certificate["parts"][0]
    part["right"] = table.add("*", table.add("q", 2, 1), part["left"])
    assert "what the statement does not" in refused(certificate)


def test_a_smaller_quantity_where_the_whole_grows_with_it_is_refused() -> None:
    _, certificate = lowering(power=1)
    assert "may grow" in refused(certificate) or "what the statement does not" in refused(certificate)


def test_a_smaller_quantity_within_a_root_is_refused() -> None:
    """-sqrt(q - 1) is undefined where something smaller than q takes its place."""
    t = Table()
    A, one, minus = t.matrix("A", "m", "n"), t.one(), t.add("q", -1, 1)
    q_, b = t.norm("F", A), t.norm("2", A)
    sides = [t.add("*", minus, t.add("^", t.add("+", value, minus), 1, 2)) for value in (q_, b)]
    step = (
        "from below",
        [q_, b, one],
        [["instance", "spectral at most Frobenius", [A], [], one, ["terms"]], ["terms"]],
    )
    t.reader.nonzero.add(t.reader.table[b])
    step[1][2] = t.add("^", b, -1, 1)
    assert "within another" in refused(t.certificate(*sides, [step], nonzero=[b], assumptions=[step[1][2]]))


def test_steps_within_a_reason_are_those_of_rules() -> None:
    """||A B||_F <= ||A||_F ||B||_2 <= ||A||_F ||B||_F, all of it as the reason of a comparison."""
    t = Table()
    A, B = t.matrix("A", "m", "n"), t.matrix("B", "n", "k")
    left, right = t.norm("F", t.add("product", A, B)), t.add("*", t.norm("F", A), t.norm("F", B))
    product = {"rule": "product, right", "arguments": [A, B]}
    steps = [product, {"rule": "spectral at most Frobenius", "arguments": [B]}]
    check(t.certificate(left, right, [], ["steps", steps, ["terms"]]))
    for wrong in ([product], steps[1:], [], [{"rule": "product, left", "arguments": [A, B]}], [{"rule": "sorcery"}]):
        refused(t.certificate(left, right, [], ["steps", wrong, ["terms"]]))
    refused(t.certificate(right, left, [], ["steps", steps, ["terms"]]))


def test_sizes_from_2_on_are_a_statement_about_these_alone() -> None:
    t = Table()
    two, size = t.add("q", 2, 1), t.add("size", "s")
    certificate = t.certificate(two, size, [])
    check(certificate)
    refused(certificate | {"sizes": ["m", "n", "k", "s"]})
    for wrong in (["s", 0], ["s", 1.5], ["s", True], ["s"], ["s", 2, 1], [1, 2]):
        refused(certificate | {"sizes": ["m", "n", "k", wrong]})
    assert statement(certificate) != statement(certificate | {"sizes": ["m", "n", "k", ["s", 3]]})


def test_cases_are_for_all_smaller_sizes() -> None:
    t = Table()
    two, size = t.add("q", 2, 1), t.add("size", "s")
    certificate = t.certificate(two, size, [])
    small = {**t.certificate(two, two, []), "sizes": ["m", "n", "k"], "table": t.entries[:1]}
    case = {"size": "s", "value": 1, "certificate": small}
    check(certificate | {"cases": [case]})
    wrong = [
        [], [case, case], [case | {"value": 2}], [case | {"size": "n"}], [case | {"certificate": small | {"claim": "other"}}],
        [case | {"certificate": small | {"sizes": ["m", "n", "k", "s"]}}],  # of a size that it is to be given
        [case | {"certificate": small | {"sizes": ["m", ["n", 2], "k"]}}],  # nothing is said of n = 1 and s = 1
        [case | {"certificate": small | {"parts": []}}],
    ]  # fmt: skip
    for cases_ in wrong:
        refused(certificate | {"cases": cases_})
    other = small | {"parts": [small["parts"][0] | {"left": 0, "right": 0}], "table": [["q", 3, 1]]}
    assert statement(certificate | {"cases": [case]}) != statement(
        certificate | {"cases": [case | {"certificate": other}]}
    )
