"""Smallest singular values in the checker of bounds: normal forms, certificates that are turned, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.kernel_values import Values
from tests.test_kernel_bounds import SIZES, Table, arrays, refused
from verify.kernel import quantities as q
from verify.kernel.bound_rules import RULES
from verify.kernel.bounds import check
from verify.kernel.quantities import number
from verify.kernel.refusal import Refused
from verify.kernel.smallest_values import smallest, smallest_eigenvalue

pytestmark = pytest.mark.kept

SMALLEST = "smallest singular value"


def least(t: Table, A: int) -> int:
    return t.add(SMALLEST, A)


def minus(t: Table, a: int, b: int) -> int:
    return t.add("+", a, t.add("*", t.add("q", -1, 1), b))


def plus(t: Table, A: int, B: int, sign: int = 1) -> int:
    return t.add("sum", t.one(), A, t.add("q", sign, 1), B)


def weyl(t: Table, A: int, B: int, multiplier: int | None = None) -> list[Any]:
    """The reason by sigma_min(A) <= sigma_min(A + B) + ||B||_2."""
    one = t.one() if multiplier is None else multiplier
    return ["instance", "smallest singular value of a sum", [A, B], [], one, ["terms"]]


# -- normal forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_normal_forms_are_smallest_singular_values(seed: int) -> None:
    t = Table()
    A, C, Y = t.matrix("A", "m", "n"), t.matrix("C", "m", "n"), t.matrix("Y", "n", "n")
    x, one, two = t.add("scalar", "x"), t.one(), t.add("q", 2, 1)
    identity = t.add("identity", t.add("size", "n"))
    places = [
        A, t.add("transpose", A), plus(t, A, C), plus(t, A, C, -1), t.add("product", A, Y), t.add("sum", x, A),
        t.add("sum", minus(t, x, two), A), identity, t.add("sum", x, identity), plus(t, identity, Y),
        t.add("zeros", t.add("size", "m"), t.add("size", "n")), t.matrix("v", "n", "1"), t.matrix("t", "1", "n"),
        t.add("rows", identity, one, two), t.add("transpose", t.add("rows", identity, one, two)),
        t.add("sum", t.add("q", -3, 1), t.add("rows", identity, one, two)), t.add("rows", Y, one, two),
        t.add("opaque", "ones", t.add("size", "m"), t.add("size", "n")), t.add("concatenate", A, C),
        t.add("diagonal", t.matrix("v", "n", "1")), t.add("reshape", Y, t.add("^", t.add("size", "n"), 2, 1), one),
        t.add("reshape", Y, t.add("*", two, t.add("size", "n")), t.add("*", t.add("q", 1, 2), t.add("size", "n"))),
    ]  # fmt: skip
    values = Values(SIZES, {"x": -0.7, "e": 0.3, "z": 0.0}, arrays(np.random.default_rng(seed), 1.0))
    for place in places:
        A_ = t.reader.table[place]
        exact = np.linalg.svd(values.array(A_), compute_uv=False)[-1]
        assert values.number(smallest(A_)) == pytest.approx(exact, abs=1e-12), place
        for other in (A_.T, A_.times(number(-1))):
            assert values.number(smallest(other)) == pytest.approx(exact, abs=1e-12), place
        assert q.is_nonnegative(smallest(A_)) and q.is_nonnegative(smallest_eigenvalue(A_))
        eigenvalue = np.linalg.eigvalsh(values.array(A_) @ values.array(A_).T)[0]
        assert values.number(smallest_eigenvalue(A_)) == pytest.approx(eigenvalue, abs=1e-12)


def test_matrices_of_other_smallest_values_are_told_apart() -> None:
    t = Table()
    A, C = (t.reader.table[t.matrix(name, "m", "n")] for name in "AC")
    assert smallest(A) != smallest(C) and smallest(A + C) != smallest(A - C) and smallest(A) != q.norm("2", A)
    assert smallest(A + C) == smallest(A.T + C.T) == smallest((A + C).times(number(-1)))
    assert smallest(A.times(number(2))) == smallest(A.times(number(-2))) == number(2) * smallest(A)


@pytest.mark.parametrize("kind", [SMALLEST, "least", "smallest"])
def test_it_is_no_kind_of_norm(kind: str) -> None:
    """sigma_min(A + B) <= sigma_min(A) + sigma_min(B), which the triangle inequality would say, is false."""
    t = Table()
    with pytest.raises(Refused, match="no norm"):
        t.norm(kind, t.matrix("A", "m", "n"))
    with pytest.raises(Refused, match="no norm"):
        RULES["triangle inequality"][1](kind, *(t.reader.table[t.matrix(name, "m", "n")] for name in "AC"))


# -- certificates ------------------------------------------------------------------------------------------------------


def turned(t: Table, left: int, right: int, steps: Any, comparison: Any = None, **changes: Any) -> dict[str, Any]:
    made = t.certificate(left, right, steps, comparison, **changes)
    made["parts"][0]["turned"] = True
    return made


def perturbed(t: Table) -> tuple[int, int, list[Any]]:
    """sigma_min(A) - ||A||_2 ||Y||_2 <= sigma_min(A + A Y), from the right-hand side downwards."""
    A, Y = t.matrix("A", "m", "n"), t.matrix("Y", "n", "n")
    AY = t.add("product", A, Y)
    whole = plus(t, A, AY)
    left = minus(t, least(t, A), t.add("*", t.norm("2", A), t.norm("2", Y)))
    between = minus(t, t.norm("2", AY), least(t, A))
    return left, least(t, whole), [("comparison", [between], weyl(t, A, AY)), ("product", [A, Y])]


def test_a_certificate_from_the_right_hand_side_downwards() -> None:
    t = Table()
    left, right, steps = perturbed(t)
    check(turned(t, left, right, steps))
    refused(t.certificate(left, right, steps))
    refused(turned(t, left, right, steps[:1]))
    refused(turned(t, right, left, steps))


def test_smallest_singular_values_of_blocks_add_up_as_squares() -> None:
    """sqrt(2) sigma_min(Y) <= sigma_min([Y; Y]); that each adds itself is false, and is refused."""
    t = Table()
    Y = t.matrix("Y", "n", "n")
    whole = least(t, t.add("concatenate", Y, Y))
    reason = ["instance", "smallest singular value of blocks", [Y, Y], [["terms"], ["terms"]], t.one(), ["terms"]]
    root = t.add("*", t.add("^", t.add("q", 2, 1), 1, 2), least(t, Y))
    check(t.certificate(root, whole, [], reason))
    refused(t.certificate(t.add("+", least(t, Y), least(t, Y)), whole, [], reason))
    refused(t.certificate(whole, root, [], reason))


def test_what_is_turned_is_not_proved_the_other_way_round() -> None:
    t = Table()
    A = t.matrix("A", "m", "n")
    small, large = least(t, A), t.norm("2", A)
    reason = ["instance", "smallest at most largest singular value", [A], [], t.one(), ["terms"]]
    check(t.certificate(small, large, [], reason))
    check(turned(t, small, large, [], reason))
    refused(turned(t, large, small, [], reason))
    refused(t.certificate(large, small, [], reason))


@pytest.mark.parametrize("value", [False, None, 1, 0, "yes", []])
def test_a_part_is_turned_or_says_nothing_of_it(value: Any) -> None:
    t = Table()
    made = turned(t, *perturbed(t))
    made["parts"][0]["turned"] = value
    refused(made)


def test_a_perturbation_is_taken_off_and_not_added() -> None:
    t = Table()
    A, C = t.matrix("A", "m", "n"), t.matrix("C", "m", "n")
    whole = plus(t, A, C)
    check(t.certificate(minus(t, least(t, A), t.norm("2", C)), least(t, whole), [], weyl(t, A, C)))
    for left in (least(t, A), t.add("+", least(t, A), t.norm("2", C)), minus(t, least(t, A), least(t, C))):
        refused(t.certificate(left, least(t, whole), [], weyl(t, A, C)))


def product_of(t: Table, first: tuple[str, str], second: tuple[str, str], reasons: Any) -> tuple[int, int, list[Any]]:
    """sigma_min(A) sigma_min(B) <= sigma_min(A B) of shapes that are given."""
    A, B = t.matrix("A", *first), t.matrix("B", *second)
    left = t.add("*", least(t, A), least(t, B))
    why = ["instance", "smallest singular value of a product", [A, B], reasons, t.one(), ["terms"]]
    return left, least(t, t.add("product", A, B)), why


def test_a_product_needs_an_order_of_sizes() -> None:
    """Of a wide A and a tall B the product may vanish; m >= n >= k is an assumption, and may be assumed only where it is one."""
    by_facts = [["facts", [[k, 0]], ["terms"]] for k in (0, 1)]
    for assumed, accepted in ((True, True), (False, False)):
        t = Table()
        t.one()
        m, n, k, _ = (t.add("size", name) for name in SIZES)
        facts = [minus(t, m, n), minus(t, n, k)]
        left, right, why = product_of(t, ("m", "n"), ("n", "k"), by_facts)
        made = t.certificate(left, right, [], why, assumptions=facts if assumed else facts[1:])
        if accepted:
            check(made)
        else:
            refused(made)
    for wide in ([["terms"], by_facts[1]], [by_facts[0], ["terms"]], []):
        t = Table()
        t.one()
        m, n, k, _ = (t.add("size", name) for name in SIZES)
        left, right, why = product_of(t, ("m", "n"), ("n", "k"), wide)
        refused(t.certificate(left, right, [], why, assumptions=[minus(t, m, n), minus(t, n, k)]))


# -- where a quotient has a denominator of unknown sign ----------------------------------------------------------------


def quotient(t: Table) -> tuple[int, int, list[Any], int]:
    """||A||_2 / sigma_min(A + C) <= ||A||_2 / (sigma_min(A) - ||C||_2), where that is positive."""
    A, C = t.matrix("A", "m", "n"), t.matrix("C", "m", "n")
    whole = plus(t, A, C)
    margin = minus(t, least(t, A), t.norm("2", C))
    for place in (margin, least(t, whole)):
        t.reader.nonzero.add(t.reader.table[place])
    left = t.add("*", t.norm("2", A), t.add("^", least(t, whole), -1, 1))
    right = t.add("*", t.norm("2", A), t.add("^", margin, -1, 1))
    return left, right, ["denominators", weyl(t, A, C, left)], margin


def test_a_denominator_is_multiplied_by_where_an_assumption_says_its_sign() -> None:
    t = Table()
    left, right, why, margin = quotient(t)
    nonzero = [margin, margin - 2]
    nonzero = [k for k, value in enumerate(t.reader.table) if value in t.reader.nonzero]
    check(t.certificate(left, right, [], why, nonzero=nonzero, assumptions=[margin]))
    assert "may be negative" in refused(t.certificate(left, right, [], why, nonzero=nonzero))
    other = t.norm("2", t.matrix("A", "m", "n"))
    refused(t.certificate(left, right, [], why, nonzero=nonzero, assumptions=[other]))


# -- rows of which sizes are asked -------------------------------------------------------------------------------------


def first_rows(t: Table) -> int:
    """The first k rows of I_n."""
    return t.add("rows", t.add("identity", t.add("size", "n")), t.add("q", 0, 1), t.add("size", "k"))


def test_rows_within_a_matrix_are_asked_of_the_statement() -> None:
    t = Table()
    E = first_rows(t)
    check(t.certificate(t.one(), least(t, E), []))
    refused(t.certificate(t.add("q", 2, 1), least(t, E), []))
    refused(t.certificate(t.add("q", 1, 1), t.add("*", t.add("q", 1, 2), least(t, E)), []))


def test_a_proof_asks_no_rows_of_which_the_statement_says_nothing() -> None:
    """1 <= ||A||_2 + 1 by way of sigma_min(E), which is 1 for k <= n only."""
    t = Table()
    A, E = t.matrix("A", "m", "n"), first_rows(t)
    right = t.add("+", t.norm("2", A), t.one())
    check(t.certificate(t.one(), right, []))
    by_way = t.add("+", least(t, E), t.norm("2", A))
    assert "place" in refused(t.certificate(t.one(), right, [("comparison", [by_way], ["terms"])]))


@pytest.mark.parametrize("start, count", [(3, 4), (0, Fraction(1, 2)), (-1, 1), (Fraction(1, 2), 1), (0, 0)])
def test_rows_outside_of_a_matrix_are_none(start: Any, count: Any) -> None:
    t = Table()
    places = [t.add("q", Fraction(value).numerator, Fraction(value).denominator) for value in (start, count)]
    rows = t.add("identity", t.add("q", 4, 1))
    with pytest.raises(Refused):
        t.add("rows", rows, *places)
    with pytest.raises(Refused):
        t.add("embedding", t.add("q", 4, 1), *places[::-1])
    with pytest.raises(Refused):  # of a number of rows that is a size, too
        t.add("rows", t.add("identity", t.add("size", "n")), places[0], t.add("*", places[1], t.add("q", -1, 1)))
