"""Where the rules for two blocks side by side must not fire."""

from __future__ import annotations

from typing import Any

import sympy

from tests.negative_cases.derivations import SHAPES, F, Holds, N, Silent, Unproved
from verify.arithmetics.norms import input_matrix, nodes
from verify.arithmetics.norms.assumed import root_of_quotient
from verify.arithmetics.norms.atoms import FROBENIUS, SPECTRAL, norm
from verify.arithmetics.norms.bounded import total_of
from verify.arithmetics.norms.world import world
from verify.matrix import concatenate, maximum, rational, smallest_gain, smallest_singular_value, sqrt, total

gain = smallest_gain


def beside(A: Any, C: Any) -> Any:
    """[A C]."""
    return concatenate([A, C], axis=1)


def coherence(A: Any, C: Any) -> Any:
    return N(A.T @ C)


def eigenvalue(a: Any, b: Any, r: Any, sign: int) -> Any:
    """The larger or the smaller eigenvalue of [[a, r], [r, b]]."""
    h = (a - b) * rational(1, 2)
    return (a + b) * rational(1, 2) + sign * sqrt(h * h + r * r)


def smaller(a: Any, b: Any) -> Any:
    return -maximum([-a, -b])


def larger_norm(A: Any, C: Any) -> Any:
    return maximum([N(A), N(C)])


def image(A: Any, C: Any, e: Any, x: Any) -> Any:
    """||A e + C x||^2 / (||e||^2 + ||x||^2)."""
    return F(A @ e + C @ x) ** 2 / (F(e) ** 2 + F(x) ** 2)


def f(name: str) -> Any:
    """The Frobenius norm of an input, as a scalar."""
    return norm(FROBENIUS, input_matrix(name, *SHAPES[name]).node)


def splits(above: Any, below: Any, facts: Any = ()) -> bool:
    """Whether the root of a quotient is taken apart."""
    world().facts[:] = facts
    found = root_of_quotient(above / below)
    assert found in (sympy.sqrt(above / below), sympy.sqrt(above) / sympy.sqrt(below))
    return bool(found != sympy.sqrt(above / below))


def total_of_entrywise(one: str, other: str) -> Any:
    """The sum of the products of the entries of two inputs, as a scalar."""
    return total_of(nodes.hadamard(*(input_matrix(name, *SHAPES[name]).node for name in (one, other))))


TWO_BLOCKS: dict[str, tuple[Silent | Unproved | Holds, ...]] = {
    "norm of two blocks": (
        Unproved(lambda A, C: N(beside(A, C)), lambda A, C: larger_norm(A, C)),
        Unproved(lambda A, C: N(beside(A, C)) ** 2, lambda A, C: larger_norm(A, C) ** 2 + coherence(A, C) / 2),
        Unproved(lambda A, C: N(beside(A, C)) ** 2, lambda A, C: larger_norm(A, C) ** 2 + N(A @ C.T)),  # of rows
        Unproved(lambda A, C: N(beside(A, C)) ** 2, lambda A, C: eigenvalue(N(A) ** 2, N(C) ** 2, coherence(A, C), -1)),
        Unproved(lambda A, C: F(beside(A, C)) ** 2, lambda A, C: larger_norm(A, C) ** 2 + coherence(A, C)),
        Unproved(  # of three
            lambda A, C, U: N(concatenate([A, C, U], axis=1)) ** 2,
            lambda A, C, U: maximum([N(A), N(C), N(U)]) ** 2 + maximum([coherence(A, C), coherence(A, U), coherence(C, U)]),
        ),
        Silent(SPECTRAL, lambda A, C: beside(A, C)),  # nobody speaks of A^T C
    ),
    "product of blocks": (
        Unproved(lambda A, C, e, x: image(A, C, e, x), lambda A, C: maximum([N(A), N(C)]) ** 2),
        Unproved(lambda A, C, e, x: F(A @ e - C @ e) ** 2, lambda A, C, e: N(beside(A, C)) ** 2 * F(e) ** 2),
        Unproved(lambda A, C, e, x: image(A, C, e, x) + 1, lambda A, C: N(beside(A, C)) ** 2),
        Unproved(lambda A, C, e, x: F(A @ e + 2 * C @ x) ** 2 / (F(e) ** 2 + F(x) ** 2), lambda A, C: N(beside(A, C)) ** 2),
        Unproved(lambda A, C, e, x: F(A @ e + C @ x) ** 2 / (F(e) ** 2), lambda A, C: N(beside(A, C)) ** 2),
        Silent(FROBENIUS, lambda A, C, e, x: A @ e + C @ x),
    ),
    "smallest gain at most norm": (
        Unproved(lambda A: N(A), lambda A: gain(A)),
        Unproved(lambda A, C: gain(A), lambda C: N(C)),
        Unproved(lambda A: gain(A), lambda A: gain(A.T)),
        Unproved(lambda A: smallest_singular_value(A), lambda A: gain(A)),
    ),
    "smallest gain of two blocks": (
        Unproved(lambda A, C: smaller(gain(A), gain(C)) ** 2, lambda A, C: gain(beside(A, C)) ** 2),
        Unproved(
            lambda A, C: eigenvalue(gain(A) ** 2, gain(C) ** 2, coherence(A, C) / 2, -1), lambda A, C: gain(beside(A, C)) ** 2
        ),
        Unproved(
            lambda A, C: eigenvalue(gain(A) ** 2, gain(C) ** 2, coherence(A, C), 1), lambda A, C: gain(beside(A, C)) ** 2
        ),
        Unproved(  # of last singular values, where the blocks or both are wide
            lambda A, C: eigenvalue(
                smallest_singular_value(A) ** 2, smallest_singular_value(C) ** 2, coherence(A, C), -1
            ),
            lambda A, C: gain(beside(A, C)) ** 2,
        ),
        Unproved(lambda A, C: eigenvalue(gain(A) ** 2, gain(C) ** 2, coherence(A, C), -1), lambda A, C: gain(beside(A, C))),
        Unproved(  # on top of each other
            lambda G, H: eigenvalue(gain(G) ** 2, gain(H) ** 2, N(G @ H.T), -1) + gain(G) ** 2,
            lambda G, H: gain(concatenate([G, H], axis=0)) ** 2,
        ),
        Unproved(  # which grows with the square where that is not negative, as the bound of it may be
            lambda A, C: -1 / (eigenvalue(gain(A) ** 2, gain(C) ** 2, coherence(A, C), -1) + 1),
            lambda A, C: -1 / (gain(beside(A, C)) ** 2 + 1),
        ),
        Unproved(  # which may be a quotient by what is no real number
            lambda A, C: N(beside(A, C)) / gain(beside(A, C)),
            lambda A, C: sqrt(larger_norm(A, C) ** 2 + coherence(A, C)) / sqrt(smaller(gain(A), gain(C)) ** 2),
        ),
    ),
    "smallest gain of a product": (
        Unproved(lambda A, C: gain(beside(A, C)) ** 2 + 1, lambda A, C, e, x: image(A, C, e, x)),
        Unproved(lambda A, C, e, x: image(A, C, e, x), lambda A, C: gain(beside(A, C)) ** 2),
        Unproved(lambda A, C: gain(beside(A, C)), lambda A, C, e, x: image(A, C, e, x)),
        Unproved(lambda A, C: gain(beside(C, C)) ** 2, lambda A, C, e, x: image(A, C, e, x)),
        Unproved(
            lambda A, C: gain(beside(A, C)) ** 2, lambda A, C, e, x: F(A @ e + C @ x) ** 2 / (F(e) ** 2 + 2 * F(x) ** 2)
        ),
    ),
    "root of two squares": (
        Unproved(lambda A, C: sqrt(F(A) ** 2 + F(C) ** 2), lambda A, C: maximum([F(A), F(C)])),
        Unproved(lambda A, C, w: sqrt(w**2 + F(C) ** 2) + 0 * F(A), lambda A, C, w: w + F(C)),
        Unproved(lambda A, C: F(A) + F(C), lambda A, C: sqrt(F(A) ** 2 + F(C) ** 2)),
        Unproved(
            lambda A, C, G: eigenvalue(N(A) ** 2, N(C) ** 2, N(G), 1), lambda A, C, G: larger_norm(A, C) ** 2 + N(G) / 2
        ),
        Unproved(
            lambda A, C, G: smaller(gain(A), gain(C)) ** 2 - N(G) / 2,
            lambda A, C, G: eigenvalue(gain(A) ** 2, gain(C) ** 2, N(G), -1),
        ),
    ),
    "smaller of two gains": (
        Unproved(lambda A, C: 1 / smaller(gain(A), gain(C)), lambda A, C: 1 / gain(A)),
        Unproved(
            lambda A, C: 1 / smaller(gain(A), gain(C)), lambda A, C: maximum([N(A) / gain(A), N(C) / gain(C)]) / larger_norm(A, C)
        ),
        Unproved(
            lambda A, C: 1 / smaller(gain(A), gain(C)),
            lambda A, C: -maximum([-N(A) / gain(A), -N(C) / gain(C)]) / smaller(N(A), N(C)),
        ),
        Unproved(  # two largest numbers that may be 0, and the product of what is below 0 in both
            lambda A, C, U: smaller(gain(A), gain(C)) + F(U) ** 2,
            lambda A, C, G, U: smaller(gain(A), gain(C)) + maximum([-F(U), F(G) ** 2]) * maximum([-F(U) - 1, F(G) ** 3]),
        ),
    ),
    "inner product": (
        Unproved(lambda e, x: total(e * x), lambda e, x: F(e) * F(x) / 2),
        Unproved(lambda e, x: 2 * total(e * x), lambda e, x: F(e) ** 2 + F(x) ** 2 - 1),
        Unproved(lambda e, x: 2 * total(e * x) + F(e) ** 2 + 2 * F(x) ** 2, lambda e, x: F(e + x) ** 2),
        Holds(lambda: not total_of_entrywise("A", "C").has(sympy.Pow) and total_of_entrywise("e", "x").has(sympy.Pow)),
    ),
    "root of a quotient": (
        Holds(lambda: splits(1 + f("A"), 1 - f("C")) and not splits(f("A"), 1 - f("C"))),  # which may be 0 over less than 0
        Holds(lambda: not splits(f("A") - 1, f("C") - 1)),
        Holds(lambda: splits(f("A") - 1, f("C") - 1, [f("C") - 1]) and not splits(f("A") - 1, f("C") - 1, [f("A") - 1])),
        Holds(lambda: not splits(f("A") - 1, f("C") - 1, [1 - f("C")])),
    ),
}  # fmt: skip
