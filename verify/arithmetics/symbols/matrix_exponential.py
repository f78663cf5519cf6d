"""The matrix exponential and its Frechet derivative as formal functions, made of legs.

A leg is exp(s M) between two indices.  exp(M) has one leg at s = 1, phi(M) = int_0^1 exp(s M) ds has one, and
D(M, N)_{ab,cd} = int_0^1 exp(s M)_ab exp((1 - s) N)_cd ds has two: d exp(M)_ij = D(M, M)_{ik,lj} dM_kl, and the block
exp [[M, E], [0, N]] has the corner D(M, N)_{ik,lj} E_kl.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import sympy

from verify.arithmetics import block_exponentials
from verify.arithmetics.symbols.canonical import Factor
from verify.arithmetics.symbols.head_kinds import below, head_kind
from verify.arithmetics.symbols.heads import Head, Symmetry, delta, generated_group, head, unit
from verify.arithmetics.symbols.scalars import scalar
from verify.arithmetics.symbols.sums import (
    Sum,
    as_built,
    contract,
    identity_over,
    note_rule,
    single,
    step_named,
    sum_of_head,
)
from verify.vocabulary.errors import ArithmeticUnsupported

#: The kinds of heads that are made of legs.
LEGGED = ("expm", "phi", "dexpm")
#: The Frechet derivative is a function of two matrices: of M e_1 + N e_2, with a slot more for e.
_PAIR = sympy.Integer(2)


BESIDE_IDENTITIES = step_named("f(I (x) K) = I (x) f(K)")


class Leg(NamedTuple):
    """exp(s `matrix`) between the slots `row` and `column` of a head; `turned` is the transpose of the matrix."""

    matrix: Sum
    turned: Sum
    row: int
    column: int


@functools.lru_cache(maxsize=4096)
def legs_of(made: Head) -> tuple[Leg, ...]:
    """The legs of a head of one of the kinds `LEGGED`."""
    parts = [part_of_pair(made.inner, which) for which in (0, 1)] if made.kind == "dexpm" else [made.inner]
    return tuple(Leg(part, part.permuted([1, 0]), 2 * k, 2 * k + 1) for k, part in enumerate(parts))


def with_leg(made: Head, number: int, matrix: Sum) -> Sum:
    """The same function with another matrix in one of its legs, over the slots of the head."""
    if made.kind == "expm":
        return exponential_of_matrix(matrix)
    if made.kind == "phi":
        return mean_exponential(matrix)
    first, second = (leg.matrix for leg in legs_of(made))
    return frechet_derivative(matrix, second) if number == 0 else frechet_derivative(first, matrix)


def comes_first(one: Sum, other: Sum) -> bool:
    """Whether a leg of `one` is preferred to that of `other`: a total order, so that rewriting ends."""
    return _rank(one) < _rank(other)


def _rank(value: Sum) -> tuple[Any, ...]:
    turned = value.permuted([1, 0])
    longest = max((len(key) for key in value.terms), default=0)
    return longest, str(value.slots[0]), len(value.terms), min(value.order, turned.order)


# -- functions of matrices ---------------------------------------------------------------------------------------------


@as_built("expm")
def exponential_of_matrix(inner: Sum) -> Sum:
    """exp of a matrix, the first half of whose slots are its rows; over the same slots."""
    return _of_one_matrix("expm", inner)


@as_built("phi")
def mean_exponential(inner: Sum) -> Sum:
    """phi(M) = int_0^1 exp(s M) ds, so that M phi(M) = exp(M) - I; over the slots of the matrix."""
    return _of_one_matrix("phi", inner)


def _of_one_matrix(kind: str, inner: Sum) -> Sum:
    if not inner:
        return identity_over(inner.slots[: len(inner.slots) // 2])
    core, place, identities = _core(inner)
    matrix, order, symmetries = _settled(core)
    found = single(head(kind, kind, matrix.slots, symmetries, matrix), order, core.slots)
    return contract([(found, [place, place + len(inner.slots) // 2]), *identities], range(len(inner.slots)))


@as_built("dexpm")
def frechet_derivative(first: Sum, second: Sum) -> Sum:
    """D(M, N)_{ab,cd} = int_0^1 exp(s M)_ab exp((1 - s) N)_cd ds, over the slots of M, then those of N."""
    count, other = len(first.slots), len(second.slots)
    slots = range(count + other)
    if not first or not second:
        parts = [mean_exponential(first), mean_exponential(second)]
        return contract([(parts[0], slots[:count]), (parts[1], slots[count:])], slots)
    legs, places, beside = [], [], []
    for matrix, start in ((first, 0), (second, count)):
        core, place, identities = _core(matrix)
        legs.append(_settled(core))
        places.append((start + place, start + place + len(matrix.slots) // 2))
        beside += [(identity, [start + label for label in labels]) for identity, labels in identities]
    if comes_first(legs[1][0], legs[0][0]):  # s and 1 - s exchanged
        legs.reverse()
        places.reverse()
    (one, order, own), (two, turn, its) = legs
    generators = [((*perm, 2, 3), 1) for perm, _ in own] + [((0, 1, 2 + perm[0], 2 + perm[1]), 1) for perm, _ in its]
    if one.slots == two.slots and one.key == two.key:
        generators.append(((2, 3, 0, 1), 1))
    sizes = (*one.slots, *two.slots)
    parts = [
        contract([(leg, [2 * k, 2 * k + 1]), (sum_of_head(unit(_PAIR, k)), [4])], range(5), dict(enumerate(sizes)))
        for k, leg in enumerate((one, two))
    ]
    made = head("dexpm", "dexpm", sizes, generated_group(generators, 4), parts[0].plus(parts[1]))
    at = [places[0][k] for k in order] + [places[1][k] for k in turn]
    return contract([(sum_of_head(made), at), *beside], slots)


def part_of_pair(pair: Sum, which: int) -> Sum:
    """M (0) or N (1) of the pair that D(M, N) is a function of; or of one in which tensors have been replaced."""
    chosen = contract([(pair, range(5)), (sum_of_head(unit(_PAIR, which)), [4])], range(4))
    for slot in ((3, 2), (1, 0))[which]:
        chosen = chosen.without(slot)
    return chosen


def _settled(matrix: Sum) -> tuple[Sum, tuple[int, int], list[Symmetry]]:
    """The matrix or its transpose, where its slots are found in the other, and the symmetries of its functions."""
    turned = matrix.permuted([1, 0])
    if turned.order < matrix.order:  # f(M)^T = f(M^T)
        return turned, (1, 0), []
    return matrix, (0, 1), [((1, 0), 1)] if turned.key == matrix.key else []


def _core(inner: Sum) -> tuple[Sum, int, list[tuple[Sum, list[int]]]]:
    """K and its place among the rows where the matrix is K beside identities: f(I (x) K) = I (x) f(K).

    The identities come with the slots that they join.
    """
    count = len(inner.slots) // 2
    if 2 * count != len(inner.slots) or inner.slots[:count] != inner.slots[count:]:
        raise ArithmeticUnsupported("the exponential of a matrix whose rows and columns are grouped differently")
    beside: list[int] = []
    for k in range(count):
        if len(beside) < count - 1 and all(_is_identity_at(key, k, count + k) for key in inner.terms):
            beside.append(k)
    if beside:
        note_rule(BESIDE_IDENTITIES)
    places = [k for k in range(count) if k not in beside]
    if len(places) != 1:
        raise ArithmeticUnsupported("the exponential of a matrix whose rows group several indices")
    (place,) = places
    labels = [*range(count), *(k if k in beside else count + k for k in range(count))]
    core = contract([(inner, labels)], [place, count + place])  # summed over, an identity gives its size
    for k in beside:
        core = core.times(scalar(inner.slots[k]).power(Fraction(-1)))
    sizes = [(inner.slots[k], k) for k in beside]
    return core, place, [(sum_of_head(delta(size)), [k, count + k]) for size, k in sizes]


def _is_identity_at(key: Sequence[Factor], row: int, column: int) -> bool:
    """Whether a product is a delta of two slots that are in no other factor: blocks on a diagonal may differ."""
    at = [(made.kind, indices) for made, indices in key if row in indices or column in indices]
    return at == [("delta", (row, column))]


# -- their values, texts and derivatives -------------------------------------------------------------------------------


def _slope(made: Head, change: Sum) -> Sum:
    """d exp(M)_ij = D(M, M)_{ik,lj} dM_kl, the Frechet derivative."""
    ends = range(2, len(change.slots))
    frechet = frechet_derivative(made.inner, made.inner)
    return contract([(frechet, [0, 100, 101, 1]), (change, [100, 101, *ends])], [0, 1, *ends])


def _derivative_in_floats(made: Head, point: Any) -> np.ndarray:
    M, N = (point.values(leg.matrix) for leg in legs_of(made))
    found = np.empty((*M.shape, *N.shape))
    for b, c in np.ndindex(len(M), len(N)):
        entry = np.outer(np.eye(len(M))[b], np.eye(len(N))[c])
        found[:, b, c, :] = block_exponentials.corner(M, entry, N)
    return found


def _derivative_latex(made: Head, at: Sequence[str], written: Callable[..., str]) -> str:
    first, second = (rf"\operatorname{{expm}}({written(leg.matrix)})" for leg in legs_of(made))
    one, two = " ".join(at[:2]), " ".join(at[2:])
    return rf"\int_0^1 [{first}^{{s}}]_{{{one}}}\, [{second}^{{1-s}}]_{{{two}}}\,ds"


INTEGRAL = "derivative of an integral of matrix exponentials"
head_kind(
    "expm",
    values=lambda made, point: block_exponentials.exponential(point.values(made.inner)),
    again=lambda inner, _: exponential_of_matrix(inner),
    along=_slope,
)
head_kind(
    "phi",
    values=lambda made, point: block_exponentials.mean(point.values(made.inner)),
    latex=lambda made, at, written: rf"\varphi({written(made.inner)}){below(at)}",
    again=lambda inner, _: mean_exponential(inner),
    title=INTEGRAL,
)
head_kind(
    "dexpm",
    values=_derivative_in_floats,
    latex=_derivative_latex,
    again=lambda inner, _: frechet_derivative(part_of_pair(inner, 0), part_of_pair(inner, 1)),
    title=INTEGRAL,
)
