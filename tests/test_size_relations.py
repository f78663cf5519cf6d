"""Sizes that a statement gives by others: which assumptions say so, and that a proof with them is no proof without."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Annotated, Any

import pytest
import sympy

from tests.claims_that_fail import toy
from verify.checks.proofs import prove_claim
from verify.checks.size_orders import size_orders
from verify.checks.size_relations import size_relations
from verify.vocabulary import Assumption, Claim, Equal, Shape
from verify.vocabulary.registry import load

pytestmark = pytest.mark.kept

Wide = Annotated[Any, Shape("n", "d")]
Parts = Annotated[Any, Shape("H", "n", "e")]
SIZES = {"n": (1, 3), "d": (1, 6), "H": (1, 3), "e": (1, 3)}
PRODUCT = Assumption("d = H e", sizes=lambda sizes: sizes["d"] == sizes["H"] * sizes["e"])


def claim(name: str, *assumptions: Assumption) -> Claim:
    """X plus its parts side by side, which needs that d is H e."""
    made = toy(
        name, Equal(), sizes=SIZES, where=lambda sizes: sizes["d"] == sizes["H"] * sizes["e"], assumptions=assumptions
    )

    @made.formula
    def added_to_parts(X: Wide, P: Parts) -> Any:
        return X * 2 + P.swapaxes(0, 1).reshape(X.shape[0], -1)

    @made.oracle
    def parts_added_twice(X: Wide, P: Parts) -> Any:
        return X + (P.swapaxes(0, 1).reshape(X.shape[0], -1) + X)

    made.mutant("once", lambda value, X: value - X)
    made.mutant("thrice", lambda value, X: value + X)
    return made


def test_a_size_that_is_given_is_put_in() -> None:
    made = claim("given-size", PRODUCT)
    assert size_relations(made) == {"d": sympy.Symbol("H", positive=True, integer=True) * _size("e")}
    proof = prove_claim(made)
    assert proof.proved, proof.reason
    assert "d = H*e" in proof.hypotheses


def _size(name: str) -> Any:
    return sympy.Symbol(name, positive=True, integer=True)


def test_a_size_may_be_given_by_a_number() -> None:
    assert size_relations(claim("size-by-a-number", Assumption("six", sizes=lambda sizes: sizes["d"] == 6))) == {"d": 6}


def test_without_the_assumption_nothing_is_proved() -> None:
    assert not prove_claim(claim("size-not-given")).proved


OTHERS: dict[str, Callable[[Any], Any]] = {
    "an inequality": lambda sizes: sizes["d"] <= sizes["H"] * sizes["e"],
    "two at once": lambda sizes: sizes["d"] == sizes["H"] * sizes["e"] and sizes["n"] == sizes["d"],
    "one of two": lambda sizes: sizes["d"] == sizes["H"] * sizes["e"] or sizes["n"] == sizes["d"],
    "not equal": lambda sizes: sizes["d"] != sizes["H"] * sizes["e"],
    "divides": lambda sizes: sizes["d"] % sizes["H"] == 0,
    "no positive number": lambda sizes: sizes["d"] == 0,
    "a number and more": lambda sizes: sizes["d"] == 6 and sizes["n"] == 2,
    "a sum": lambda sizes: sizes["d"] == sizes["H"] + sizes["e"],
    "a product on the left": lambda sizes: sizes["H"] * sizes["e"] == sizes["d"],
    "where another is not 0": lambda sizes: not sizes["n"] or sizes["d"] == sizes["H"] * sizes["e"],
    "a size of its own": lambda sizes: sizes["d"] == sizes["n"],
    "nothing": lambda sizes: True,
}


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_other_assumptions_on_sizes_give_none(name: str) -> None:
    assert size_relations(claim(f"sizes-{name.replace(' ', '-')}", Assumption(name, sizes=OTHERS[name]))) == {}


def test_proofs_that_rest_on_a_given_size_say_so() -> None:
    assert "d = H*e" in prove_claim(load()["transformer.gpt-sum-over-heads"]).hypotheses


# -- orders of sizes ---------------------------------------------------------------------------------------------------

n, d, H, e = map(_size, "ndHe")
ORDERS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "one": (lambda sizes: sizes["n"] <= sizes["d"], [d - n]),
    "the other way round": (lambda sizes: sizes["n"] >= sizes["d"], [n - d]),
    "less": (lambda sizes: sizes["n"] < sizes["d"], [d - n]),
    "greater": (lambda sizes: sizes["n"] > sizes["d"], [n - d]),
    "a chain": (lambda sizes: sizes["n"] <= sizes["d"] <= sizes["H"], [H - d, H - n, d - n]),
    "the least of two": (lambda sizes: sizes["n"] <= min(sizes["d"], sizes["H"]), [H - n, d - n]),
    "the largest of two": (lambda sizes: sizes["n"] <= max(sizes["d"], sizes["H"]), []),
    "both": (lambda sizes: sizes["n"] <= sizes["d"] and sizes["e"] <= sizes["H"], [H - e, d - n]),
    "all of them": (lambda sizes: all([sizes["n"] <= sizes["d"], sizes["e"] <= sizes["H"]]), [H - e, d - n]),
    "one of two": (lambda sizes: sizes["n"] <= sizes["d"] or sizes["e"] <= sizes["H"], []),
    "one of two, and a third": (
        lambda sizes: (sizes["n"] <= sizes["d"] or sizes["e"] <= sizes["H"]) and sizes["n"] <= sizes["e"], [e - n],
    ),
    "one of two that agree": (lambda sizes: sizes["n"] <= sizes["d"] or sizes["n"] < sizes["d"], [d - n]),
    "not so": (lambda sizes: not sizes["d"] <= sizes["n"], [d - n]),
    "a choice": (lambda sizes: sizes["n"] <= sizes["d"] if sizes["e"] <= sizes["H"] else sizes["n"] <= sizes["e"], []),
    "never": (lambda sizes: sizes["n"] < sizes["d"] and sizes["d"] <= sizes["n"], [d - n, n - d]),
    "a multiple": (lambda sizes: 2 * sizes["n"] <= sizes["d"], [d - 2 * n]),
    "not a multiple": (lambda sizes: not 2 * sizes["n"] <= sizes["d"] * 3, [2 * n - 3 * d]),
    "a chain of multiples": (lambda sizes: sizes["n"] <= 2 * sizes["d"] <= sizes["H"], [H - 2 * d, H - n, 2 * d - n]),
    "a multiple by less than 1": (lambda sizes: sizes["n"] * 0 <= sizes["d"], []),
    "a multiple by a truth": (lambda sizes: sizes["n"] * (sizes["e"] <= sizes["H"]) <= sizes["d"], []),
    "a product": (lambda sizes: sizes["n"] <= sizes["d"] * sizes["H"], []),
    "a number": (lambda sizes: sizes["n"] <= 4, []),
    "an equation": (lambda sizes: sizes["n"] == sizes["d"], []),
    "an order of an equation": (lambda sizes: (sizes["n"] <= sizes["d"]) == (sizes["e"] <= sizes["H"]), []),
    "whether it is one of some": (lambda sizes: sizes["n"] in (sizes["d"], sizes["H"]), []),
    "a size that is none": (lambda sizes: sizes["q"] <= sizes["d"], []),
    "the number of sizes": (lambda sizes: len(sizes) > 2 and sizes["n"] <= sizes["d"], [d - n]),
    "a number in the end": (lambda sizes: sizes["n"] <= sizes["d"] and 1, []),
    "whether one is 0": (lambda sizes: not sizes["e"] or sizes["n"] <= sizes["d"], []),
    "whether one is not 0": (lambda sizes: bool(sizes["e"]) and sizes["n"] <= sizes["d"], []),
    "how one is written": (lambda sizes: str(sizes["e"]) < "3" and sizes["n"] <= sizes["d"], []),
    "how one is printed": (lambda sizes: f"{sizes['e']}" < "3" and sizes["n"] <= sizes["d"], []),
    "a method of numbers": (lambda sizes: sizes["e"].bit_length() > 2 or sizes["n"] <= sizes["d"], []),
    "nothing": (lambda sizes: True, []),
    "too much": (lambda sizes: sum(sizes[a] <= sizes[b] for a in sizes for b in sizes) > 8, []),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ORDERS))
def test_what_an_assumption_says_of_the_order_of_sizes(name: str) -> None:
    test, expected = ORDERS[name]
    assert size_orders(claim(f"order-{name.replace(' ', '-')}", Assumption(name, sizes=test))) == expected


@pytest.mark.parametrize("name", sorted(ORDERS))
def test_every_order_holds_wherever_the_assumption_does(name: str) -> None:
    test, expected = ORDERS[name]
    for values in itertools.product(range(1, 4), repeat=4):
        sizes = dict(zip("ndHe", values, strict=True))
        if expected and test(sizes):
            assert all(order.subs({_size(key): value for key, value in sizes.items()}) >= 0 for order in expected)
