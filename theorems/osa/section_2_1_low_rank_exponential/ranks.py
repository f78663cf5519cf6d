"""The rank of S: r <= 2 d_v (Section 2.1), the r = 2d of Section 2.4, which no input has, and where the bounds are attained."""

from __future__ import annotations

import functools
from typing import Any

from theorems.osa import OSA
from theorems.osa.definitions import SHAPES, rank, skew_matrix
from theorems.osa.settings import LAYER
from theorems.osa.shapes import (
    HeadSize,
    KeyWeights,
    NonzeroAlpha,
    QueryWeights,
    SquareQuery,
    SquareWeights,
    Tokens,
    Width,
)
from verify.claims import Claim
from verify.matrix import basis_matrix, concatenate, eye, rational, trace, vec_r, zeros
from verify.relations import Equal, HasStructure


def elementary_symmetric(A: Any, k: int) -> Any:
    """The sum of the squares of all k x k minors of A (m, n), a scalar: zero exactly if rank A < k.

    It is the k-th elementary symmetric function of the squared singular values, by Newton's identities from the traces of
    the powers of A^T A, and unlike a rank it can be enclosed.
    """
    gram = A.T @ A if A.shape[1] <= A.shape[0] else A @ A.T
    power, traces = gram, [trace(gram)]
    for _ in range(k - 1):
        power = power @ gram
        traces.append(trace(power))
    e = [traces[0] * 0 + 1]
    for j in range(1, k + 1):
        e.append(added([e[j - i] * traces[i - 1] * (-1) ** (i - 1) for i in range(1, j + 1)]) * rational(1, j))
    return e[k]


def added(terms: list[Any]) -> Any:
    return functools.reduce(lambda left, right: left + right, terms)


def gram_matrix(Y: Any) -> Any:
    return Y.T @ Y


RANK = Claim(
    LAYER,
    "osa.rank-s",
    label="Section 2.1, text",
    statement=r"r \le 2 d_v, \quad r = \operatorname{rank} \mathbf{S}",
    relation=HasStructure(),
    sizes={"N": (1, 6), "d": (1, 6), "d_v": (1, 2)},
    exact=True,
    note="Checked as: all minors of S of order 2 d_v + 1 vanish.  The bound is attained: osa.rank-s-attained.",
)


@RANK.inputs
def tokens_and_head_size(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha, d_v: HeadSize
) -> dict[str, Any]:
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "alpha": alpha, "d_v": d_v}


@RANK.formula
def rank_bound(d_v: HeadSize) -> int:
    """2 d_v, which rank S does not exceed (Section 2.1)."""
    return 2 * d_v


RANK.part(
    "structure", lambda value, X, W_Q, W_K, alpha: elementary_symmetric(skew_matrix(X, W_Q, W_K, alpha), value + 1)
)
RANK.mutant("d_v", lambda d_v: d_v)
RANK.mutant("2 d_v - 1", lambda value: value - 1)

SINGLE_HEAD_RANK = Claim(
    OSA,
    "osa.sec-2.4-r",
    label="Section 2.4, text",
    statement=r"\text{For simplicity, we assume that we have } h = 1 \text{ and } r = 2d",
    assumptions=["h = 1, so d_v = d", "r = rank S (Section 2.1)"],
    relation=Equal(),
    sizes={"N": (1, 6), "d": (1, 4)},
    expects="refuted",
    severity="error",
    correction="osa.sec-2.4-r-at-most-d",
    note="No input satisfies the assumption.  The orders of Section 2.4 use only that B has 2d columns, as Newton-Schulz"
    " makes it, and stand: osa.cost-osa, osa.mem-osa.  The author would say that nothing is asserted, and that r = 2d stands for"
    " its bound 2 d_v, the width of the B computed; but Section 2.1 defines r as rank S.",
)


@SINGLE_HEAD_RANK.formula
def assumed_rank(X: Tokens, W_Q: SquareQuery, W_K: SquareWeights, alpha: NonzeroAlpha) -> int:
    """2 d, a scalar (Section 2.4)."""
    return 2 * X.shape[1]


SINGLE_HEAD_RANK.oracle(lambda X, W_Q, W_K, alpha: rank(skew_matrix(X, W_Q, W_K, alpha)))
SINGLE_HEAD_RANK.mutant("r = d", lambda X: X.shape[1])
SINGLE_HEAD_RANK.mutant("r = 2d + 1", lambda value: value + 1)
SINGLE_HEAD_RANK.counterexample("d = 1: Q and K are parallel, so S = 0", X=[[1], [2]], W_Q=[[1]], W_K=[[3]], alpha=1)


@SINGLE_HEAD_RANK.counterexample("d = 4, N = 8: rank S = 4, as large as d allows, not 8")
def single_head_of_dimension_four() -> dict[str, Any]:
    identity = [[int(i == j) for j in range(4)] for i in range(4)]
    shift = [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    return {"X": identity + shift, "W_Q": identity, "W_K": shift, "alpha": 1}


SINGLE_HEAD_RANK_AT_MOST_D = Claim(
    OSA,
    "osa.sec-2.4-r-at-most-d",
    label="Section 2.4, the rank of S with a single head",
    statement=r"\operatorname{rank}\mathbf{S} = \operatorname{rank}(\mathbf{X}\tilde{\mathbf{W}}\mathbf{X}^\top) \le"
    r" 2\lfloor d/2 \rfloor < 2d \text{ for } h = 1",
    assumptions=["h = 1, so d_v = d"],
    relation=HasStructure(),
    sizes={"N": (1, 6), "d": (1, 4)},
    exact=True,
    of_project=True,
    corrects="osa.sec-2.4-r",
    note="Checked as: all minors of S of the next order vanish.  The bound is attained for N >= d: osa.rank-s-attained.",
)


@SINGLE_HEAD_RANK_AT_MOST_D.inputs
def single_head(X: Tokens, W_Q: SquareQuery, W_K: SquareWeights, alpha: NonzeroAlpha, d: Width) -> dict[str, Any]:
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "alpha": alpha, "d": d}


@SINGLE_HEAD_RANK_AT_MOST_D.formula
def rank_bound_with_a_single_head(d: Width) -> int:
    """2 floor(d / 2), which rank S does not exceed for h = 1."""
    return d // 2 * 2


SINGLE_HEAD_RANK_AT_MOST_D.part(
    "structure", lambda value, X, W_Q, W_K, alpha: elementary_symmetric(skew_matrix(X, W_Q, W_K, alpha), value + 1)
)

# No mutant goes below rank S <= 1: where S = 0 is all there is, it is not to be found wrong for free.


SINGLE_HEAD_RANK_AT_MOST_D.mutant("one less", lambda value: max(value - 1, 1))
SINGLE_HEAD_RANK_AT_MOST_D.mutant("floor(d / 2)", lambda d: max(d // 2, 1))

RANK_ATTAINED = Claim(
    OSA,
    "osa.rank-s-attained",
    label="Sections 2.1 and 2.4, where the bounds of the rank of S are attained",
    statement=r"\mathbf{X} = \mathbf{I}_{2d_v}, \mathbf{W}^Q = [\mathbf{I}, \mathbf{0}]^\top, \mathbf{W}^K = [\mathbf{0},"
    r" \mathbf{I}]^\top:\ \mathbf{S}^\top\mathbf{S} = \tfrac{\alpha^2}{d_v}\mathbf{I}_{2d_v};\quad h = 1, \mathbf{X} ="
    r" \mathbf{W}^Q = \mathbf{I}_d, \mathbf{W}^K = \mathbf{E}_{12}+\mathbf{E}_{34}+\dots:\ \mathbf{S}^\top\mathbf{S} ="
    r" \tfrac{\alpha^2}{d}\mathbf{I}_d \text{ for even } d \text{, with a zero in the last place for odd } d",
    assumptions=[SHAPES],
    relation=Equal(),
    sizes={"d_v": (1, 6)},
    exact=True,
    of_project=True,
    uses=("osa.rank-s", "osa.sec-2.4-r-at-most-d"),
    note="So rank S = 2 d_v with two heads, and 2 floor(d / 2) with a single one, where d_v stands for d.",
)


def _pairs(d: int) -> Any:
    """E_12 + E_34 + ..., shape (d, d)."""
    return sum((basis_matrix(d, d, i, i + 1) for i in range(0, d - 1, 2)), zeros(d, d))


def _projections(d_v: int, alpha: Any, two_heads: int, one_head: int) -> Any:
    """alpha^2 / d_v times diag(1, ..., 1, 0, ..., 0) of two ranks and of the sizes 2 d_v and d_v, all entries in one column."""
    parts = [concatenate([eye(n)[:, :r], zeros(n, n - r)], axis=1) for n, r in ((2 * d_v, two_heads), (d_v, one_head))]
    return concatenate([vec_r(part) for part in parts], axis=0) * (alpha * alpha * rational(1, d_v))


@RANK_ATTAINED.formula
def scaled_projections(d_v: HeadSize, alpha: NonzeroAlpha) -> Any:
    """alpha^2 / d_v times I_{2 d_v}, and times I with a zero in the last place for odd d_v, all entries in one column."""
    return _projections(d_v, alpha, 2 * d_v, d_v // 2 * 2)


@RANK_ATTAINED.oracle
def squares_of_two_scores(d_v: HeadSize, alpha: NonzeroAlpha) -> Any:
    identity, nothing = eye(d_v), zeros(d_v, d_v)
    W_Q, W_K = concatenate([identity, nothing], axis=0), concatenate([nothing, identity], axis=0)
    first = skew_matrix(eye(2 * d_v), W_Q, W_K, alpha)
    second = skew_matrix(identity, identity, _pairs(d_v), alpha)
    return concatenate([vec_r(gram_matrix(first)), vec_r(gram_matrix(second))], axis=0)


RANK_ATTAINED.mutant("rank d_v + 1 with two heads", lambda d_v, alpha: _projections(d_v, alpha, d_v + 1, d_v // 2 * 2))
RANK_ATTAINED.mutant("rank d with a single head, for odd d too", "d_v // 2 * 2 -> d_v")
RANK_ATTAINED.mutant("rank 2 at most with a single head", "d_v // 2 * 2 -> min(d_v // 2 * 2, 2)")
