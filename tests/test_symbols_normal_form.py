"""The normal form does not depend on how an expression is written: names, order, association, distribution."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.symbolic_cases import SIZES
from verify.arithmetics.symbols.canonical import canonical
from verify.arithmetics.symbols.heads import delta, head, tensor
from verify.arithmetics.symbols.indexed import named
from verify.arithmetics.symbols.scalars import ONE, scalar
from verify.arithmetics.symbols.sums import collected
from verify.matrix import exp, kron, row_sums, softmax

n = SIZES["n"]
pytestmark = pytest.mark.kept

HEADS = [
    tensor("A", (n, n)),
    tensor("B", (n, n)),
    tensor("v", (n,)),
    tensor("S", (n, n), [((1, 0), 1)]),
    delta(n),
    head("tensor", "C", (n, n, n), [((1, 2, 0), 1), ((2, 0, 1), 1)]),
]
SLOTS = 2


@st.composite
def products(draw: st.DrawFn) -> list[tuple[Any, tuple[int, ...]]]:
    """A product over two slots and a few summed indices."""
    chosen = draw(st.lists(st.sampled_from(HEADS), min_size=1, max_size=5))
    index = st.integers(0, SLOTS + 2)
    return [(made, tuple(draw(index) for _ in made.sizes)) for made in chosen]


def _sum_of(factors: list[Any]) -> Any:
    moved = [(made, tuple(i if i < SLOTS else 10**6 + i for i in indices)) for made, indices in factors]
    summed = {i: n for _, indices in moved for i in indices if i >= SLOTS}
    return collected([(ONE, moved, summed)], (n, n))


@given(products(), st.permutations(range(5)), st.permutations(range(SLOTS, SLOTS + 3)), st.randoms())
@settings(deadline=None, max_examples=150)
def test_renaming_and_reordering_change_nothing(
    factors: list[Any], order: list[int], names: list[int], random: Any
) -> None:
    renamed = [(made, tuple(i if i < SLOTS else names[i - SLOTS] for i in indices)) for made, indices in factors]
    shuffled = [renamed[k] for k in order if k < len(renamed)]
    turned = []
    for made, indices in shuffled:
        perm, _ = random.choice(made.symmetries)
        turned.append((made, tuple(indices[i] for i in perm)))
    assert _sum_of(turned).key == _sum_of(factors).key


@given(products())
@settings(deadline=None, max_examples=100)
def test_the_canonical_form_is_a_fixed_point(factors: list[Any]) -> None:
    moved = [(made, indices) for made, indices in factors if made.kind != "delta"]
    if moved:
        found, _ = canonical(moved, SLOTS)
        assert canonical(found, SLOTS)[0] == found


MATRICES = st.sampled_from(["A", "B", "C", "D"])


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> Any:
    """Polynomials in square matrices, as nested tuples."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(MATRICES)
    kind = draw(st.sampled_from("+-@@o"))
    return kind, draw(trees(depth=depth - 1)), draw(trees(depth=depth - 1))


def _evaluated(tree: Any) -> Any:
    if isinstance(tree, str):
        return named(tree, n, n)
    kind, left, right = tree
    a, b = _evaluated(left), _evaluated(right)
    return {"+": lambda: a + b, "-": lambda: a - b, "@": lambda: a @ b, "o": lambda: a * b}[kind]()


@given(trees(2), trees(2), trees(2))
@settings(deadline=None, max_examples=60)
def test_association_and_distribution(one: Any, two: Any, three: Any) -> None:
    a, b, c = map(_evaluated, (one, two, three))
    assert ((a @ b) @ c).value.key == (a @ (b @ c)).value.key
    assert (a @ (b + c)).value.key == (a @ b + a @ c).value.key
    assert (a * (b - c)).value.key == (a * b - c * a).value.key
    assert ((a @ b).T).value.key == (b.T @ a.T).value.key
    assert (kron(a, b) @ kron(c, a)).value.key == kron(a @ c, b @ a).value.key


@given(trees(2))
@settings(deadline=None, max_examples=30)
def test_functions_of_equal_arguments_are_equal(tree: Any) -> None:
    a = _evaluated(tree)
    assert softmax(a + a).value.key == softmax(2 * a).value.key
    assert softmax(a + row_sums(a)).value.key == softmax(a).value.key
    assert exp(a.T).T.value.key == exp(a).value.key


def test_a_skew_tensor_vanishes_on_its_diagonal_and_between_equal_vectors() -> None:
    K = tensor("K", (n, n), [((1, 0), -1)])
    v = tensor("v", (n,))
    assert not collected([(ONE, [(K, (0, 0))], {})], (n,))
    assert not collected([(ONE, [(K, (10, 11)), (v, (10,)), (v, (11,))], {10: n, 11: n})], ())
    w = tensor("w", (n,))
    assert collected([(ONE, [(K, (10, 11)), (v, (10,)), (w, (11,))], {10: n, 11: n})], ())


def test_symmetric_chains_of_any_order_have_one_form() -> None:
    S = tensor("S", (n, n), [((1, 0), 1)])
    cycle = [(10, 11), (11, 12), (12, 13), (13, 10)]
    forms = {
        canonical([(S, pair) for pair in order], 0)[0]
        for order in itertools.permutations([cycle[0], cycle[1], (13, 12), cycle[3]])
    }
    assert len(forms) == 1


def test_sizes_and_roots_multiply_exactly() -> None:
    root = scalar(SIZES["d"]).power(Fraction(1, 2))
    assert root * root == scalar(SIZES["d"])
    assert scalar((n + 1) / (n + 1)) == ONE
    assert (scalar(n / (n + 1)) + scalar(1 / (n + 1)) + -ONE).vanishes()
    assert not (scalar(n / (n + 1)) + scalar(1 / (n + 1))).vanishes()


def test_a_coefficient_over_sums_vanishes_where_its_numerator_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sympy, "ratsimp", None)  # it is not asked
    x, y = sympy.symbols("x y", positive=True)
    n = sympy.Symbol("n", integer=True, positive=True)
    for value, vanishes in (
        (x / (x + y) + y / (x + y) - 1, True),
        (1 / (n + 1) - 1 / (n + 1) ** 2 - n / (n + 1) ** 2, True),
        (1 / (n + 1) - 1 / (n + 2) - 1 / ((n + 1) * (n + 2)), True),
        (1 / (n + 1) - 1 / (n + 2), False),
        (x / (x + y) + 2 * y / (x + y) - 1, False),
        (1 / (x - 1) + 1 / (1 - x), True),
    ):
        assert scalar(value).vanishes() == vanishes, value


def test_roots_of_sums_are_left_to_sympy() -> None:
    x = sympy.Symbol("x", positive=True)
    assert scalar(1 / sympy.sqrt(x + 1) - 1 / (x + 1))._numerator() is None
    assert not scalar(1 / sympy.sqrt(x + 1) - 1 / (x + 1)).vanishes()
    assert scalar(sympy.sqrt(x + 1) * (1 / (x + 1)) - 1 / sympy.sqrt(x + 1)).vanishes()
