"""Two blocks side by side in the checker of bounds: smallest gains, common factors, cases of a largest, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernel_values import Values
from tests.test_kernel_bounds import SIZES, Table, arrays, refused
from verify.kernel import quantities as q
from verify.kernel.bound_rules import RULES
from verify.kernel.bounds import check
from verify.kernel.coherent_blocks import smallest_gain
from verify.kernel.quantities import number
from verify.kernel.refusal import Refused

pytestmark = pytest.mark.kept

GAIN = "smallest gain"
TERMS = ["terms"]


def minus(t: Table, a: int, b: int) -> int:
    return t.add("+", a, t.add("*", t.add("q", -1, 1), b))


def negative(t: Table, a: int) -> int:
    return t.add("*", t.add("q", -1, 1), a)


def squared(t: Table, a: int) -> int:
    return t.add("^", a, 2, 1)


def beside(t: Table, A: int, B: int) -> int:
    return t.add("transpose", t.add("concatenate", t.add("transpose", A), t.add("transpose", B)))


def coherence(t: Table, A: int, B: int) -> int:
    return t.norm("2", t.add("product", t.add("transpose", A), B))


# -- smallest gains ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_normal_forms_are_smallest_gains(seed: int) -> None:
    t = Table()
    A, C, Y = t.matrix("A", "m", "n"), t.matrix("C", "m", "n"), t.matrix("Y", "n", "n")
    x, identity, one = t.add("scalar", "x"), t.add("identity", t.add("size", "n")), t.one()
    wide = [A, t.add("sum", one, A, one, C), t.matrix("t", "1", "n"), t.add("rows", Y, one, t.add("q", 2, 1))]
    square = [Y, identity, t.add("sum", x, identity), t.add("sum", one, identity, one, Y), t.add("sum", x, Y)]
    places = [*wide, *square, *(t.add("transpose", place) for place in (*wide, *square)), t.matrix("v", "n", "1"),
              t.add("zeros", t.add("size", "m"), t.add("size", "n")), beside(t, A, C), t.add("concatenate", A, C),
              t.add("sum", minus(t, x, one), t.add("transpose", A))]  # fmt: skip
    values = Values(SIZES, {"x": -0.7, "e": 0.3, "z": 0.0}, arrays(np.random.default_rng(seed), 1.0))
    for place in places:
        A_ = t.reader.table[place]
        array = values.array(A_)
        exact = np.linalg.svd(array, compute_uv=False)[-1] if len(array) >= len(array[0]) else 0.0
        for other in (A_, A_.times(number(-1))):
            assert values.number(smallest_gain(other)) == pytest.approx(exact, abs=1e-12), place
        assert q.is_nonnegative(smallest_gain(A_))


def test_the_gain_of_a_transpose_is_another_one() -> None:
    """|A^T x| may vanish where |A x| does not; so may that of a matrix of which some columns are taken."""
    t = Table()
    A, C = (t.reader.table[t.matrix(name, "m", "n")] for name in "AC")
    assert smallest_gain(A) != smallest_gain(A.T) and smallest_gain(A) != smallest_gain(C)
    assert smallest_gain(A) != q.norm("2", A) and smallest_gain(A.times(number(-2))) == number(2) * smallest_gain(A)


@pytest.mark.parametrize("kind", [GAIN, "gain"])
def test_it_is_no_kind_of_norm(kind: str) -> None:
    t = Table()
    with pytest.raises(Refused, match="no norm"):
        RULES["triangle inequality"][1](kind, *(t.reader.table[t.matrix(name, "m", "n")] for name in "AC"))


# -- two blocks --------------------------------------------------------------------------------------------------------


def norm_of_two(t: Table, share: tuple[int, int], which: str = "2") -> tuple[int, int, list[Any]]:
    """||[A C]||_2^2 <= max(||A||_2, ||C||_2)^2 + share ||A^T C||_2, with the steps for the share 1."""
    A, C = t.matrix("A", "m", "n"), t.matrix("C", "m", "n")
    norms = [t.norm(which, A), t.norm(which, C)]
    largest = t.add("max", *norms)
    right = t.add("+", squared(t, largest), t.add("*", t.add("q", *share), coherence(t, A, C)))
    whys = [["instance", "one of several", pair, [], t.one(), TERMS] for pair in (norms, norms[::-1])]
    steps = [("norm of two blocks of bounded norm", [largest, A, C], whys)]
    return squared(t, t.norm("2", beside(t, A, C))), right, steps


def test_the_norm_of_two_blocks() -> None:
    t = Table()
    left, right, steps = norm_of_two(t, (1, 1))
    check(t.certificate(left, right, steps))
    refused(t.certificate(left, right, []))
    refused(t.certificate(right, left, steps))


@pytest.mark.parametrize("share", [(1, 2), (0, 1), (-1, 1)])
def test_the_whole_coherence_is_added(share: tuple[int, int]) -> None:
    t = Table()
    refused(t.certificate(*norm_of_two(t, share)))


def gain_of_two(t: Table, kept: str, share: tuple[int, int]) -> tuple[int, int, list[Any]]:
    """min(gain A, gain C)^2 - share ||A^T C||_2 <= gain([A C])^2, with the reason for the share 1."""
    A, C = t.matrix("A", "m", "n"), t.matrix("C", "m", "n")
    gains = [t.add(kept, A), t.add(kept, C)]
    negatives = [negative(t, gain) for gain in gains]
    smaller = negative(t, t.add("max", *negatives))
    left = minus(t, squared(t, smaller), t.add("*", t.add("q", *share), coherence(t, A, C)))
    whys = [TERMS, *(["instance", "one of several", pair, [], t.one(), TERMS] for pair in (negatives, negatives[::-1]))]
    why = ["instance", "smallest gain of two blocks of bounded gain", [smaller, A, C], whys, t.one(), TERMS]
    return left, squared(t, t.add(GAIN, beside(t, A, C))), why


def test_the_smallest_gain_of_two_blocks() -> None:
    t = Table()
    left, right, why = gain_of_two(t, GAIN, (1, 1))
    check(t.certificate(left, right, [], why))
    refused(t.certificate(right, left, [], why))
    refused(t.certificate(left, right, []))


@pytest.mark.parametrize("kept, share", [(GAIN, (1, 2)), (GAIN, (0, 1)), ("smallest singular value", (1, 1))])
def test_less_is_not_taken_off(kept: str, share: tuple[int, int]) -> None:
    """Nor is it said of last singular values: that of a wide block may be positive where some |A x| vanishes."""
    t = Table()
    left, right, why = gain_of_two(t, kept, share)
    refused(t.certificate(left, right, [], why))


# -- signs of largest numbers ------------------------------------------------------------------------------------------


def smaller_of(t: Table, *names: str) -> int:
    """max(-a, -b, ...), for a norm or the scalar of each name."""
    found = [t.add("scalar", name) if name == "x" else t.norm("2", t.matrix(name, "m", "n")) for name in names]
    return t.add("max", *(negative(t, item) for item in found))


def test_the_largest_of_numbers_below_0_is_below_0() -> None:
    t = Table()
    zero, N, M = t.add("q", 0, 1), smaller_of(t, "A", "C"), smaller_of(t, "A", "Z")
    mixed = smaller_of(t, "A", "x")
    accepted = [negative(t, N), t.add("*", N, M), squared(t, N), negative(t, t.add("^", N, 3, 1)), squared(t, mixed)]
    for place in accepted:
        check(t.certificate(zero, place, []))
    for place in (
        N,
        negative(t, mixed),
        mixed,
        negative(t, t.add("*", N, M)),
        t.add("^", N, 3, 1),
        t.add("*", N, mixed),
    ):
        refused(t.certificate(zero, place, []))


# -- reasons -----------------------------------------------------------------------------------------------------------


def with_factor(t: Table, factor: int) -> tuple[int, int, list[Any]]:
    """factor ||A||_2 <= factor ||A||_F."""
    A = t.matrix("A", "m", "n")
    one, other = t.norm("2", A), t.norm("F", A)
    why = ["instance", "spectral at most Frobenius", [A], [], t.one(), TERMS]
    return t.add("*", factor, one), t.add("*", factor, other), ["common factor", factor, one, other, why]


def test_a_common_factor_is_not_negative() -> None:
    t = Table()
    for factor in (t.add("scalar", "z"), t.norm("F", t.matrix("C", "m", "n")), t.add("q", 0, 1)):
        left, right, why = with_factor(t, factor)
        check(t.certificate(left, right, [], why))
    for factor in (t.add("scalar", "x"), t.add("q", -1, 1), minus(t, t.add("scalar", "z"), t.one())):
        left, right, why = with_factor(t, factor)
        assert "may be negative" in refused(t.certificate(left, right, [], why))


def test_a_common_factor_is_one_of_both_sides() -> None:
    t = Table()
    left, right, why = with_factor(t, t.add("scalar", "z"))
    for sides in ((right, right), (left, t.add("+", right, t.one())), (t.add("*", left, left), right)):
        refused(t.certificate(*sides, [], why))
    refused(t.certificate(right, left, [], ["common factor", why[1], why[3], why[2], TERMS]))


def test_a_common_factor_is_divided_by_nothing_new() -> None:
    """0 * 1 <= 0 * 0 says nothing of 1 <= 0; nor does x <= x 1 / x for a statement that does not divide by x."""
    t = Table()
    zero, one, z = t.add("q", 0, 1), t.one(), t.add("scalar", "z")
    refused(t.certificate(one, zero, [], ["common factor", zero, one, zero, TERMS]))
    with pytest.raises(Refused, match="division"):
        t.add("^", z, -1, 1)
    t.reader.nonzero.add(t.reader.table[z])
    inverse = t.add("^", z, -1, 1)
    why = ["common factor", z, inverse, one, TERMS]
    assert "place" in refused(t.certificate(one, z, [], why, nonzero=[z]))


def in_cases(t: Table, right: int, whys: Any) -> dict[str, Any]:
    """max(||A||, ||C||) <= right for each of both, where 2 - max(||A||, ||C||) >= 0 is assumed."""
    norms = [t.norm("2", t.matrix(name, "m", "n")) for name in "AC"]
    largest = t.add("max", *norms)
    assumed = minus(t, t.add("q", 2, 1), largest)
    reason = ["cases", largest, list(map(list, zip(norms, whys, strict=True)))]
    return t.certificate(largest, right, [], reason, assumptions=[assumed])


def test_what_is_assumed_of_the_largest_holds_of_it_in_each_case() -> None:
    """Fact 0 is assumed, 1 and 2 say that the number is at least both, and 3 is 0 with the number in its place."""
    t = Table()
    by_fact = ["facts", [[3, t.one()]], TERMS]
    check(in_cases(t, t.add("q", 2, 1), [by_fact, by_fact]))
    refused(in_cases(t, t.add("q", 1, 1), [by_fact, by_fact]))
    by_the_largest = ["facts", [[0, t.one()]], TERMS]  # which a case no longer speaks of
    refused(in_cases(t, t.add("q", 2, 1), [by_the_largest, by_fact]))
    refused(in_cases(t, t.add("q", 2, 1), [["facts", [[4, t.one()]], TERMS], by_fact]))


def test_what_is_assumed_is_not_moved_to_the_other_number() -> None:
    """2 - ||A|| >= 0 is assumed: that says nothing of ||C||, though it may be the largest."""
    t = Table()
    norms = [t.norm("2", t.matrix(name, "m", "n")) for name in "AC"]
    largest, two = t.add("max", *norms), t.add("q", 2, 1)
    assumed = minus(t, two, norms[0])
    by_fact = ["facts", [[0, t.one()]], TERMS]
    for other in (by_fact, ["facts", [[3, t.one()]], TERMS], ["facts", [[0, t.one()], [1, t.one()]], TERMS]):
        reason = ["cases", largest, [[norms[0], by_fact], [norms[1], other]]]
        refused(t.certificate(largest, two, [], reason, assumptions=[assumed]))
