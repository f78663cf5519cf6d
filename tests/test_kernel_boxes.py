"""Trees of boxes: enclosures contain the values, trees are found and checked, and what a liar would write is refused."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import pytest
import sympy

from verify.arithmetics import precision
from verify.arithmetics.norms.recording import Writer
from verify.arithmetics.norms.subdivision import decided, tree_of
from verify.arithmetics.norms.world import derivation
from verify.kernel import boxes
from verify.kernel.bounds import FORMAT, check, statement
from verify.kernel.refusal import Refused

pytestmark = pytest.mark.kept

x, t, s = (sympy.Symbol(name, real=True) for name in "xts")
a, b = (sympy.Symbol(name, positive=True) for name in "ab")
n = sympy.Symbol("n", integer=True, positive=True)
exp, log, sqrt, half = sympy.exp, sympy.log, sympy.sqrt, sympy.Rational(1, 2)
INTERVAL = [x, 1 - x]


def stated(left: Any, right: Any, facts: Sequence[Any] = (), tree: Any = ()) -> dict[str, Any]:
    """The certificate of left <= right, where facts are assumed not to be negative, by a tree."""
    with derivation() as known:
        w = Writer(known)
        assumptions = [w.scalar(sympy.sympify(fact)) for fact in facts]
        part = {"index": None, "left": w.scalar(sympy.sympify(left)), "right": w.scalar(sympy.sympify(right))}
        made = {
            "format": FORMAT, "kind": "bound", "claim": "test", "sizes": sorted(w.sizes), "scalars": w.scalars, "inputs": {},
            "table": w.entries, "nonzero": sorted(w.nonzero), "assumptions": assumptions, "orthonormal": [],
            "parts": [{**part, "steps": [], "comparison": ["boxes", list(tree)]}],
        }  # fmt: skip
    return json.loads(json.dumps(made))


def gap_of(left: Any, right: Any, facts: Sequence[Any] = ()) -> tuple[Any, list[Any]]:
    with derivation() as known:
        w = Writer(known)
        sides = [w.value(w.scalar(sympy.sympify(side))) for side in (left, right)]
        return sides[1] - sides[0], [w.value(w.scalar(sympy.sympify(fact))) for fact in facts]


def refused(left: Any, right: Any, facts: Sequence[Any], tree: Any) -> str:
    with pytest.raises(Refused) as found:
        check(stated(left, right, facts, tree))
    return str(found.value)


# -- enclosures --------------------------------------------------------------------------------------------------------


def contains(interval: Any, value: Any) -> bool:
    ends = [flint.arb(flint.fmpq(end.numerator, end.denominator)) for end in interval]
    return bool(ends[0] <= value) and bool(value <= ends[1])


def test_enclosures_contain_the_values_and_are_narrow() -> None:
    rng = random.Random(1)
    with precision(400):
        for _ in range(60):
            p = Fraction(rng.randint(-(10**6), 10**6), rng.randint(1, 10**4))
            q_ = flint.arb(flint.fmpq(p.numerator, p.denominator))
            found = boxes.exponential((p, p))
            if abs(p) <= boxes.LARGEST_EXPONENT:
                assert contains(found, q_.exp())
                assert found[1] - found[0] <= max(Fraction(1), found[1]) * Fraction(1, 2**40)
            if p > 0:
                found = boxes.logarithm((p, p))
                assert contains(found, q_.log()) and found[1] - found[0] < Fraction(1, 2**40)
                found = boxes.power((p, p), Fraction(-3, 2))
                assert contains(found, q_ ** flint.arb(flint.fmpq(-3, 2)))


def test_enclosures_of_random_intervals_contain_what_points_give() -> None:
    rng = random.Random(2)
    for _ in range(300):
        ends = [sorted(Fraction(rng.randint(-20, 20), rng.randint(1, 6)) for _ in range(2)) for _ in range(2)]
        points = [low + (high - low) * Fraction(rng.randint(0, 8), 8) for low, high in ends]
        low, high = boxes.product(tuple(ends[0]), tuple(ends[1]))
        assert low <= points[0] * points[1] <= high
        e = Fraction(rng.choice([-3, -2, -1, 2, 3, 4]))
        if e < 0 and ends[0][0] <= 0 <= ends[0][1]:
            with pytest.raises(Refused, match="division"):
                boxes.power(tuple(ends[0]), e)
            continue
        low, high = boxes.power(tuple(ends[0]), e)
        assert low <= points[0] ** int(e) <= high


def test_intervals_without_an_end() -> None:
    up, down, none = (Fraction(2), boxes.INFINITY), (-boxes.INFINITY, Fraction(-2)), (-boxes.INFINITY, boxes.INFINITY)
    assert boxes.power(down, Fraction(2)) == (4, boxes.INFINITY)
    assert boxes.power(down, Fraction(3)) == (-boxes.INFINITY, -8)
    assert boxes.power(none, Fraction(2)) == (0, boxes.INFINITY)
    assert boxes.power(none, Fraction(3)) == none
    assert boxes.power(up, Fraction(-1)) == (0, half) and boxes.power(down, Fraction(-1)) == (-half, 0)
    assert boxes.product(up, (Fraction(-1), Fraction(0))) == (-boxes.INFINITY, 0)
    assert boxes.exponential(none) == (0, boxes.INFINITY) and boxes.logarithm(up)[1] == boxes.INFINITY
    assert boxes.exponential((Fraction(-5000), Fraction(5000))) == (0, boxes.INFINITY)
    for low in (Fraction(0), Fraction(-1), -boxes.INFINITY):
        with pytest.raises(Refused, match="logarithm"):
            boxes.logarithm((low, Fraction(3)))


@pytest.mark.parametrize("value", [
    x**3 * exp(-2 * x) - 3 * x, log(1 + x**2) * x, sqrt(2 + x) / (3 + x) ** 2, exp(x**2 - 1) * sqrt(3),
    (2 - x) ** half * log(3 + x),
])  # fmt: skip
def test_slopes_and_values_are_what_sympy_says(value: Any) -> None:
    gap, _ = gap_of(0, value)
    (g,) = boxes.variables(gap)
    rates = boxes.slope(gap, g), boxes.slope(boxes.slope(gap, g), g)
    for k in range(-8, 9):
        point = {g: (Fraction(k, 8), Fraction(k, 8))}
        for ours, theirs in zip((gap, *rates), (value, sympy.diff(value, x), sympy.diff(value, x, 2)), strict=True):
            exact = theirs.subs(x, sympy.Rational(k, 8)).evalf(30)
            low, high = boxes.enclosed(ours, point)
            assert float(low) - 1e-12 <= exact <= float(high) + 1e-12 and high - low < 1e-12


# -- trees -------------------------------------------------------------------------------------------------------------

TRUE = {
    "tangent": (1 + x, exp(x), []),
    "chord of sinh": (exp(t) / 2 - exp(-t) / 2, t * (exp(half) - exp(-half)), [t, half - t]),
    "mean of exponentials": ((exp(a) - 1) / a, (exp(b) - 1) / b, [b - a]),
    "logarithm": (-n * log(1 - s**2 / 2), n * s**2, [1 - s**2]),
    "sizes": (sqrt(n), (1 + n) / 2, []),
    "absolute value": (abs(x) * (1 + 6 * x**2), abs(x * (1 + x**2) ** 6), []),
}
#: Where it is false, or what is left out.
FALSE = {
    "tangent, steeper": (1 + sympy.Rational(101, 100) * x, exp(x), []),
    "chord beyond its interval": (exp(t) / 2 - exp(-t) / 2, t * (exp(half) - exp(-half)), [t, sympy.Rational(51, 100) - t]),
    "chord below 0": (exp(t) / 2 - exp(-t) / 2, t * (exp(half) - exp(-half)), [half - t]),
    "mean of exponentials in any order": ((exp(a) - 1) / a, (exp(b) - 1) / b, []),
    "false in a tiny box": (sympy.Rational(1, 10**14), (x - sympy.Rational(1, 3)) ** 2, INTERVAL),
    "logarithm of a wider range": (-log(1 - s**2 / 2), s**2, [sympy.Rational(8, 5) - s**2]),
    "division by 0": (0, x**-1, [1 - x**2]),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_true_statements_have_trees(name: str) -> None:
    left, right, facts = TRUE[name]
    tree = tree_of(*gap_of(left, right, facts))
    assert tree is not None
    certificate = stated(left, right, facts, tree)
    check(certificate)
    assert statement(certificate) == statement(stated(left, right, facts))


@pytest.mark.parametrize("name", FALSE)
def test_false_statements_have_none_even_with_the_trees_of_true_ones(name: str) -> None:
    left, right, facts = FALSE[name]
    assert tree_of(*gap_of(left, right, facts)) is None
    for other in TRUE.values():
        tree = tree_of(*gap_of(*other))
        assert refused(left, right, facts, renamed(tree, left, right))


def renamed(tree: Any, left: Any, right: Any) -> Any:
    """A tree with the one variable of a statement in the place of its own."""
    names = sorted(symbol.name for symbol in (sympy.sympify(left) - right).free_symbols)
    return [renamed(item, left, right) if isinstance(item, list) else names[0] if item in list("xtsabn") else item
            for item in tree]  # fmt: skip


def test_a_domain_larger_than_the_tree_is_refused() -> None:
    """The trees of true statements, where an assumption is weaker, or is another one."""
    left, right, facts = TRUE["chord of sinh"]
    tree = tree_of(*gap_of(left, right, facts))
    check(stated(left, right, facts, tree))
    assert "beyond" in refused(left, right, [t, sympy.Rational(51, 100) - t], tree)
    assert "beyond" in refused(left, right, [t + 1, half - t], tree)
    assert refused(left, right, [t], tree) and refused(left, right, [], tree)
    left, right, facts = TRUE["mean of exponentials"]
    tree = tree_of(*gap_of(left, right, facts))
    assert refused(left, right, [b - a + 1], tree) and refused(left, right, [b**2 - a], tree)


def test_forged_trees_are_refused() -> None:
    """0 <= x (1 - x) on [0, 1]: every box is needed, no box is another, and a side is on the box."""
    gap, holds = x * (1 - x), ["holds"]
    beyond = [["beyond", 0, "x", "high", holds], ["beyond", 1, "x", "low", holds]]
    middle = ["concave", "x", holds, holds, holds]
    right = ["split", "x", [0, 1], beyond[0], ["split", "x", [1, 1], middle, beyond[1]]]
    check(stated(0, gap, INTERVAL, right))
    inner = ["split", "x", [1, 1], middle, beyond[1]]
    for forged in (
        [], holds, ["holds", 1], middle, ["nothing"], ["split", "x", [0, 1], beyond[0]], ["split", "x", [0, 1], inner, beyond[0]],
        ["split", "x", [0, 0], beyond[0], inner], ["split", "y", [0, 1], beyond[0], inner],
        ["split", "x", [0, 1], beyond[0], ["split", "x", [-1, 1], middle, beyond[1]]],  # a box that is not there
        ["split", "x", [0, 1], beyond[0], ["split", "x", [0, 1], middle, beyond[1]]],  # an empty one
        ["split", "x", [-1, 1], beyond[0], ["split", "x", [1, 1], middle, beyond[1]]],
        ["split", "x", [1, 2], beyond[0], inner], ["split", "x", [0, 1], beyond[1], inner],
        *(["split", "x", point, beyond[0], inner] for point in ([0.0], ["0"], [0], [0, True], [False, 1], [0, -1], ["0/1"])),
        ["split", "x", [0, 1], ["beyond", 1, "x", "high", holds], inner],
        ["split", "x", [0, 1], ["beyond", 5, "x", "high", holds], inner],
        ["split", "x", [0, 1], ["beyond", 0, "x", "low", holds], inner], ["split", "x", [0, 1], beyond[0], beyond[1]],
        ["instead", 0, "x", holds], ["instead", -1, "x", holds], ["rises", "x", "low", holds, holds], ["signs", middle],
    ):  # fmt: skip
        assert refused(0, gap, INTERVAL, forged), forged


def test_a_slope_uses_no_assumption() -> None:
    """x^2 >= 1 leaves out the points between -1 and 1, through which the way to the side leads."""
    gap, facts, holds = 1 - x, [1 - x, x**2 - 1], ["holds"]
    left = ["split", "x", [1, 1], ["holds"], ["beyond", 0, "x", "low", holds]]
    assert refused(0, gap - 3 * x**2, facts, left)
    # 0 <= x - 1 where x >= 1, by a slope on [-2, ...) that is told of as if only x >= 1 counted
    why = ["split", "x", [1, 1], ["beyond", 0, "x", "high", holds], holds]
    tree = ["split", "x", [-2, 1], ["beyond", 0, "x", "high", holds], ["rises", "x", "low", why, holds]]
    assert refused(0, (x - 1) ** 3, [x - 1], tree)


def test_what_is_divided_by_and_absolute_values_are_seen_in_slopes() -> None:
    whole = [x + 1, 1 - x]
    rises, after = ["rises", "x", "low", ["holds"], ["holds"]], ["beyond", 1, "x", "low", ["holds"]]
    inside = ["split", "x", [-1, 1], ["beyond", 0, "x", "high", ["holds"]], ["split", "x", [1, 1], rises, after]]
    check(stated(-1, x, whole, inside))
    assert "vanish" in refused(-1, -1 / x, whole, inside)  # which rises on both sides of 0
    assert "absolute value" in refused(-1, x - abs(x) / 2 + half, whole, inside)
    assert "power" in refused(-1, sqrt(x) - 1, whole, inside)


def test_the_number_of_an_assumption_is_no_declared_name() -> None:
    left, right, facts = TRUE["mean of exponentials"]
    certificate = stated(left, right, facts, tree_of(*gap_of(left, right, facts)))
    certificate["scalars"]["0"] = "real"
    certificate["table"].append(["scalar", "0"])
    check(certificate)
    forged = copy.deepcopy(certificate)
    forged["parts"][0]["comparison"][1] = ["instead", "0", *certificate["parts"][0]["comparison"][1][2:]]
    with pytest.raises(Refused):
        check(forged)


def test_a_step_takes_no_logarithm_that_the_statement_does_not() -> None:
    """x <= 1 does not follow from x = x + 0 log x where log x has no value."""
    certificate = stated(x, 1 + log(x) - log(x), [], ["holds"])
    place = len(certificate["table"])
    at = certificate["table"].index(["scalar", "x"])
    certificate["table"].append(["log", at])
    certificate["parts"][0]["steps"] = [{"rule": "comparison", "arguments": [place], "reasons": ["terms"]}]
    with pytest.raises(Refused, match="what the statement does not"):
        check(certificate)


def test_norms_have_no_place_in_a_box() -> None:
    from tests.test_kernel_bounds import Table

    table = Table()
    size = table.reader.table[table.norm("F", table.matrix("A", "m", "n"))]
    with pytest.raises(Refused, match="no place in a box"):
        boxes.holds(size, ["holds"], [])


def test_a_derivation_takes_boxes_for_scalars_alone_and_names_the_assumptions() -> None:
    with derivation() as known:
        left, right, facts = TRUE["chord of sinh"]
        known.facts += [x + 2, *facts]
        assert decided(left, right) and known.used == {"t >= 0", "1/2 - t >= 0"}
    with derivation():
        assert decided(1 + x, exp(x)) and decided(exp(x), 1 + x) is None
        assert decided(sympy.Integer(1), sympy.Integer(2)) is None
