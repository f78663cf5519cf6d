"""Products and sums of the checker's normal forms that are formed at once: equal to those formed one after the other."""

from __future__ import annotations

import random

import pytest

from verify.kernel.functions import Algebra
from verify.kernel.normal_forms import ONE, Form, Index


def algebra() -> Algebra:
    found: list[Algebra] = []
    found.append(Algebra(lambda size: found[0].tensor("size", size, ())))
    return found[0]


def drawn(a: Algebra, rng: random.Random, over: list[Index]) -> Form:
    """A sum of a few products of tensors, deltas and units, partly summed."""
    forms = []
    for _ in range(rng.randint(1, 3)):
        own = [a.fresh("n") for _ in range(rng.randint(0, 2))]
        factors = []
        for _ in range(rng.randint(1, 3)):
            i, j = (rng.choice([*over, *own]) for _ in range(2))
            kind = rng.choice(["A", "A", "B", "delta", "unit"])
            if kind == "delta":
                factors.append(a.delta(i, j))
            elif kind == "unit":
                factors.append(a.tensor("unit", (rng.randint(0, 1), "n"), [i]))
            else:
                factors.append(a.tensor("t", kind, [i, j]))
        product = factors[0]
        for factor in factors[1:]:
            product = a.times(product, factor)
        forms.append((a.summed(product, own), rng.choice([ONE, -ONE, 2])))
    return a.plus(forms)


@pytest.mark.parametrize("seed", range(40))
def test_a_product_that_is_summed_at_once_is_the_sum_of_the_product(seed: int) -> None:
    a, rng = algebra(), random.Random(seed)
    over = [a.fresh("n") for _ in range(3)]
    forms = [drawn(a, rng, over) for _ in range(rng.randint(2, 4))]
    found = forms[0]
    for form in forms[1:]:
        found = a.times(found, form)
    summed = found
    for index in over[:2]:
        summed = a.summed(summed, [index])
    assert a.times(*forms) == found
    assert a.times(*forms, over=over[:2]) == summed


def test_sums_of_two_factors_are_not_one_sum() -> None:
    a = algebra()
    i = a.fresh("n")
    x, y = a.tensor("t", "x", [i]), a.tensor("t", "y", [i])
    apart = a.times(a.summed(x, [i]), a.summed(y, [i]))
    assert apart != a.times(x, y, over=[i])
    assert a.times(apart, a.summed(x, [i])) == a.times(a.summed(x, [i]), a.summed(x, [i]), a.summed(y, [i]))


def test_a_sum_over_what_no_factor_has_is_a_multiple() -> None:
    a = algebra()
    i, j = a.fresh("n"), a.fresh("n")
    x = a.tensor("t", "x", [i])
    assert a.times(x, x, over=[j]) == a.times(a.tensor("size", "n", ()), x, x) != a.times(x, x)
    assert a.times(x, {}, over=[j]) == {}


def test_indices_that_tell_nothing_apart_have_one_form_in_any_order() -> None:
    """The three of a ring are alike until the first is told apart; of a ring of four, or of two rings, the form is another."""
    a = algebra()

    def ring(*order: int) -> Form:
        names = [a.fresh("n") for _ in order]
        at = [names[k] for k in order]
        pairs = [a.tensor("t", "A", [one, other]) for one, other in zip(at, [*at[1:], at[0]], strict=True)]
        return a.times(*pairs, over=names)

    assert ring(0, 1, 2) == ring(2, 0, 1) == ring(1, 0, 2)
    assert ring(0, 1, 2, 3) == ring(3, 1, 0, 2) != a.times(ring(0, 1), ring(0, 1))
