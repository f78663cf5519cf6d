"""The layer itself: Sections 1 and 2, the steps of the proofs of Theorems 2.1 and 2.2, and what the experiments set up."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.definitions import (
    SHAPES,
    Alpha,
    Epsilon,
    KeyWeights,
    OutputWeights,
    QueryWeights,
    Steps,
    Tokens,
    ValueWeights,
    attention,
    attention_matrix,
    cayley,
    newton_schulz_basis,
    queries_and_keys,
    rank,
    skew_matrix,
    whole_heads,
)
from theorems.osa.experiments import decided_at_the_experiments
from theorems.osa.initialisation import stiefel_uniform, uniform_on_stiefel
from theorems.osa.low_rank import (
    CONTAINS_QUERIES_AND_KEYS,
    ORTHONORMAL,
    Basis,
    Coordinates,
    Frame,
    NonzeroAlpha,
    tokens_with_wide_basis,
)
from verify.matrix import (
    basis_matrix,
    concatenate,
    determinant,
    expm,
    eye,
    ones,
    rational,
    smallest_singular_value,
    softmax,
    sqrt,
    total,
    trace,
    vec_r,
    zeros,
)
from verify.oracles import LawTest, at_least_probability
from verify.vocabulary import Assumption, Claim, Equal, FollowsLaw, HasStructure, Real, Shape, Size

# -- S is skew, exp(S) special orthogonal ------------------------------------------------------------------------------

SKEW = Claim(
    OSA,
    "osa.eq-5-skew",
    label="Eq. (5) and text below",
    statement=r"\mathbf{S} = \frac{\alpha}{\sqrt{d_v}}(\mathbf{Q}\mathbf{K}^\top - \mathbf{K}\mathbf{Q}^\top)"
    r" \text{ is skew-symmetric}",
    assumptions=[SHAPES, "alpha real"],
    relation=HasStructure(),
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    exact=True,
)


@SKEW.formula
def skew_scores(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    """S = alpha / sqrt(d_v) (Q K^T - K Q^T), shape (N, N) (Eq. (5))."""
    return skew_matrix(X, W_Q, W_K, alpha)


SKEW.part("structure", lambda value: value + value.T)


@SKEW.mutant("symmetric: Q K^T + K Q^T")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    S = X @ W_Q @ (X @ W_K).T * (alpha / sqrt(W_Q.shape[1]))
    return S + S.T


SKEW.mutant("second product dropped", lambda X, W_Q, W_K, alpha: X @ W_Q @ (X @ W_K).T * (alpha / sqrt(W_Q.shape[1])))


@SKEW.mutant("second product counted twice")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    S = X @ W_Q @ (X @ W_K).T * (alpha / sqrt(W_Q.shape[1]))
    return S - 2 * S.T


SPECIAL_ORTHOGONAL = Claim(
    OSA,
    "osa.so-n",
    label="Section 2, text below Eqs. (4), (5)",
    statement=r"\mathbf{A}(\mathbf{X}) = \exp(\mathbf{S}) \in \mathrm{SO}(N)",
    assumptions=[SHAPES],
    relation=HasStructure(),
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    uses=("osa.eq-5-skew",),
)
decided_at_the_experiments(SPECIAL_ORTHOGONAL)


def _rotation_defect(A: Any) -> Any:
    """[A^T A - I; det A - 1], shape (n + 1, n): zero exactly for A in SO(n)."""
    n = A.shape[0]
    return concatenate([A.T @ A - eye(n), ones(1, n) * (determinant(A) - 1)], axis=0)


@SPECIAL_ORTHOGONAL.formula
def special_orthogonal_attention(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    """A = exp(S), shape (N, N) (Eq. (5))."""
    return attention_matrix(X, W_Q, W_K, alpha)


SPECIAL_ORTHOGONAL.part("structure", lambda value: _rotation_defect(value))


@SPECIAL_ORTHOGONAL.mutant("exponential of Q K^T alone")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    return expm(X @ W_Q @ (X @ W_K).T * (alpha / sqrt(W_Q.shape[1])))


SPECIAL_ORTHOGONAL.mutant(
    "I + S, to first order", lambda X, W_Q, W_K, alpha: eye(X.shape[0]) + skew_matrix(X, W_Q, W_K, alpha)
)


@SPECIAL_ORTHOGONAL.mutant("orthogonal with determinant -1")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    A = attention_matrix(X, W_Q, W_K, alpha)
    return concatenate([-A[:1], A[1:]], axis=0)


# -- permutations of the tokens ----------------------------------------------------------------------------------------

EQUIVARIANCE = Claim(
    OSA,
    "osa.perm-equivariance",
    label='Section 2, text ("easy to see")',
    statement=r"\mathrm{OSA}(\mathbf{P}\mathbf{X}) = \mathbf{P}\,\mathrm{OSA}(\mathbf{X}) \text{ for every permutation matrix }"
    r" \mathbf{P} \in \mathbb{R}^{N\times N}",
    assumptions=[SHAPES],
    relation=Equal(),
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    exact=True,
    note="Checked for the cycle (1 2 ... N) and the exchange of the first two tokens, which generate all permutations.",
)


def _generators(X: Any) -> list[Any]:
    """The tokens X (N, d) with their rows in cyclic order from the second, and with the first two exchanged."""
    return [_cycled(X), _exchanged(X)]


def _cycled(X: Any) -> Any:
    return concatenate([X[1:], X[:1]], axis=0)


def _exchanged(X: Any) -> Any:
    return concatenate([X[1:2], X[:1], X[2:]], axis=0)


@EQUIVARIANCE.formula
def permuted_output(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    """P OSA(X) for both generators P, shape (2 N, d)."""
    return concatenate(_generators(attention(X, W_Q, W_K, W_V, W_O, alpha)), axis=0)


@EQUIVARIANCE.oracle
def output_of_permuted(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    return concatenate([attention(PX, W_Q, W_K, W_V, W_O, alpha) for PX in _generators(X)], axis=0)


@EQUIVARIANCE.mutant("invariance: tokens not permuted")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha) -> Any:
    return concatenate([attention(X, W_Q, W_K, W_V, W_O, alpha)] * 2, axis=0)


@EQUIVARIANCE.mutant("P^T instead of P")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha) -> Any:
    Y = attention(X, W_Q, W_K, W_V, W_O, alpha)
    return concatenate([Y[-1:], Y[:-1], _exchanged(Y)], axis=0)


@EQUIVARIANCE.mutant("attention matrix not permuted")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha) -> Any:
    A = attention_matrix(X, W_Q, W_K, alpha)
    return concatenate([A @ PX @ W_V @ W_O for PX in _generators(X)], axis=0)


EQUIVARIANCE_THROUGH_BASIS = Claim(
    OSA,
    "osa.perm-equivariance-basis",
    label="Section 2, permutations of the tokens when B comes from Newton-Schulz",
    statement=r"\mathbf{Y}(\mathbf{P}\mathbf{X}) = \mathbf{P}\,\mathbf{Y}(\mathbf{X})\,\mathbf{P}^\top \text{ for }"
    r" \mathbf{Y} = \mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}] - \mathbf{I})\mathbf{B}^\top \text{ with } \mathbf{B} \text{ from"
    r" any number of Newton-Schulz steps}",
    assumptions=[SHAPES, "eps > 0"],
    relation=Equal(),
    sizes={"N": (1, 4), "d": (1, 3), "d_v": (1, 3), "K": (0, 4)},
    where=whole_heads,
    of_project=True,
)


def _through_newton_schulz(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """Y, shape (N, N), with B the Newton-Schulz iterate of [Q, K]."""
    B = newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon)
    return eye(X.shape[0]) + B @ (expm(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B) - eye(B.shape[1])) @ B.T


@EQUIVARIANCE_THROUGH_BASIS.formula
def permuted_attention_through_basis(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    """P Y(X) P^T for both generators P, shape (2 N, N)."""
    Y = _through_newton_schulz(X, W_Q, W_K, alpha, epsilon, K)
    return concatenate([_cycled(_cycled(Y).T).T, _exchanged(_exchanged(Y).T).T], axis=0)


@EQUIVARIANCE_THROUGH_BASIS.oracle
def attention_of_permuted_through_basis(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    return concatenate([_through_newton_schulz(PX, W_Q, W_K, alpha, epsilon, K) for PX in _generators(X)], axis=0)


@EQUIVARIANCE_THROUGH_BASIS.mutant("invariance: tokens not permuted")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    return concatenate([_through_newton_schulz(X, W_Q, W_K, alpha, epsilon, K)] * 2, axis=0)


@EQUIVARIANCE_THROUGH_BASIS.mutant("rows permuted, columns not")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    return concatenate(_generators(_through_newton_schulz(X, W_Q, W_K, alpha, epsilon, K)), axis=0)


# -- the scale of the dot products -------------------------------------------------------------------------------------

HeadSize = Annotated[int, Size("d_v")]
#: Determines a law of mean 0 and variance 1 on two values, in rationals.
Skewness = Annotated[Any, Real(-4.0, 4.0, avoid_zero=True)]

SCALING = Claim(
    OSA,
    "osa.scaling-dv",
    label="Section 2, text below Eq. (5)",
    statement=r"\tfrac{1}{\sqrt{d_v}} \text{ normalises the dot-product of vectors in } \mathbb{R}^{d_v}",
    assumptions=["no distribution is stated"],
    relation=HasStructure(),
    sizes={"d_v": (1, 4)},
    expects="reading",
    reading="the entries of the two vectors are independent with mean 0 and variance 1; then the scaled dot product has"
    " variance 1.  Every such law with two values is enumerated.",
    exact=True,
    note="What is scaled in Eq. (5) is the difference of two such products, whose variance is 2: see osa.scaling-scores.",
)


def two_point_law(a: Any) -> list[tuple[Any, Any]]:
    """Values and probabilities of the law on {a, -1/a} that has mean 0 and variance 1."""
    return [(a, 1 / (1 + a * a)), (-1 / a, a * a / (1 + a * a))]


def _second_moment(a: Any, terms: int, products: int) -> Any:
    """E of the square of a signed sum of `terms` * `products` independent products q k, by enumeration of every outcome.

    The first `terms` products have sign +, the next -, and so on.
    """
    law = two_point_law(a)
    product = [(x * y, p * r) for (x, p), (y, r) in itertools.product(law, law)]
    second = a * 0
    for outcome in itertools.product(product, repeat=terms * products):
        value, probability = a * 0, a * 0 + 1
        for index, (x, p) in enumerate(outcome):
            value, probability = value + x * (-1) ** (index // terms), probability * p
        second = second + value * value * probability
    return second


@SCALING.formula
def scale_of_dot_product(d_v: HeadSize) -> Any:
    """1 / sqrt(d_v), a scalar (Section 2)."""
    return 1 / sqrt(d_v)


@SCALING.inputs
def law_and_head_size(a: Skewness, d_v: HeadSize) -> Any:
    return {"a": a, "d_v": d_v}


SCALING.part("structure", lambda value, a, d_v: _second_moment(a, d_v, 1) * (value * value) - 1)
SCALING.mutant("1 / d_v", lambda d_v: rational(1, d_v))
SCALING.mutant("not scaled", lambda: rational(1))
SCALING.mutant("1 / sqrt(2 d_v)", lambda d_v: 1 / sqrt(2 * d_v))


SCALING_SCORES = Claim(
    OSA,
    "osa.scaling-scores",
    label="Section 2, the scale of the entries of S",
    statement=r"\operatorname{Var}(S_{ij}/\alpha) = 2 \text{ for } i \ne j, \text{ when the entries of } \mathbf{Q},\mathbf{K}"
    r" \text{ are independent with mean 0 and variance 1; the scale } \tfrac{1}{\sqrt{2d_v}} \text{ would make it 1}",
    assumptions=[],
    relation=HasStructure(),
    sizes={"d_v": (1, 2)},
    exact=True,
    of_project=True,
)


@SCALING_SCORES.formula
def scale_of_skew_scores(d_v: HeadSize) -> Any:
    """1 / sqrt(2 d_v), a scalar, with which the entries of Q K^T - K Q^T off the diagonal have variance 1."""
    return 1 / sqrt(2 * d_v)


@SCALING_SCORES.inputs
def law_of_scores(a: Skewness, d_v: HeadSize) -> Any:
    return {"a": a, "d_v": d_v}


@SCALING_SCORES.part("structure")
def excess_variance_of_scores(value: Any, a: Any, d_v: int) -> Any:
    # q_i . k_j - k_i . q_j: two dot products of independent vectors
    return _second_moment(a, d_v, 2) * (value * value) - 1


SCALING_SCORES.mutant("1 / sqrt(d_v), as in Eq. (5)", lambda d_v: 1 / sqrt(d_v))
SCALING_SCORES.mutant("1 / (2 sqrt(d_v))", lambda d_v: rational(1, 2) / sqrt(d_v))


# -- ranks -------------------------------------------------------------------------------------------------------------


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
        e.append(_sum([e[j - i] * traces[i - 1] * (-1) ** (i - 1) for i in range(1, j + 1)]) * rational(1, j))
    return e[k]


def _sum(terms: list[Any]) -> Any:
    return functools.reduce(lambda left, right: left + right, terms)


RANK = Claim(
    OSA,
    "osa.rank-s",
    label="Section 2.1, text",
    statement=r"r \le 2 d_v, \quad r = \operatorname{rank} \mathbf{S}",
    assumptions=[SHAPES],
    relation=HasStructure(),
    sizes={"N": (1, 6), "d": (1, 6), "d_v": (1, 2)},
    where=whole_heads,
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

SquareQuery = Annotated[Any, Shape("d", "d", role="query")]
SquareWeights = Annotated[Any, Shape("d", "d")]


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
def single_head(
    X: Tokens, W_Q: SquareQuery, W_K: SquareWeights, alpha: NonzeroAlpha, d: Annotated[int, Size("d")]
) -> dict[str, Any]:
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "alpha": alpha, "d": d}


@SINGLE_HEAD_RANK_AT_MOST_D.formula
def rank_bound_with_a_single_head(d: Annotated[int, Size("d")]) -> int:
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
    return concatenate([vec_r(_gram(first)), vec_r(_gram(second))], axis=0)


RANK_ATTAINED.mutant("rank d_v + 1 with two heads", lambda d_v, alpha: _projections(d_v, alpha, d_v + 1, d_v // 2 * 2))
RANK_ATTAINED.mutant("rank d with a single head, for odd d too", "d_v // 2 * 2 -> d_v")
RANK_ATTAINED.mutant("rank 2 at most with a single head", "d_v // 2 * 2 -> min(d_v // 2 * 2, 2)")


# -- what happens to the rank of the representation --------------------------------------------------------------------

REPRESENTATION_RANK = Claim(
    OSA,
    "osa.intro-rank",
    label="Section 1, text",
    statement=r"\text{by enforcing the attention matrix to be orthogonal in OSA, we preserve the rank of representation}",
    assumptions=["which object is the representation, A X or the whole head A X W^V W^O, is not stated"],
    relation=Equal(),
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    uses=("osa.so-n",),
    expects="reading",
    reading="attention alone, A X against X: they have the same Gram matrix (A X)^T A X = X^T X, hence the same rank and"
    " singular values.  A head A X W^V W^O does not preserve the rank: see osa.intro-rank-head.",
)


@REPRESENTATION_RANK.formula
def gram_matrix_after_attention(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    """(A X)^T A X, shape (d, d), for A = exp(S)."""
    return _gram(attention_matrix(X, W_Q, W_K, alpha) @ X)


def _gram(Y: Any) -> Any:
    return Y.T @ Y


REPRESENTATION_RANK.oracle(lambda X: X.T @ X)


@REPRESENTATION_RANK.mutant("softmax attention")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    return _gram(softmax(X @ W_Q @ (X @ W_K).T * (alpha / sqrt(W_Q.shape[1]))) @ X)


REPRESENTATION_RANK.mutant(
    "I + S, to first order", lambda X, W_Q, W_K, alpha: _gram(X + skew_matrix(X, W_Q, W_K, alpha) @ X)
)


HEAD_RANK = Claim(
    OSA,
    "osa.intro-rank-head",
    label="Section 1, the rank of a whole head",
    statement=r"\operatorname{rank}\mathrm{OSA}(\mathbf{X}) = \operatorname{rank}\mathbf{X}",
    assumptions=[SHAPES],
    relation=Equal(),
    sizes={"N": (1, 4), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    expects="refuted",
    severity="error",
    correction="osa.intro-rank-head-gram",
    of_project=True,
    note="The other reading of osa.intro-rank: the output of the head is the representation.",
)


@HEAD_RANK.formula
def rank_after_head(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    """rank OSA(X), a scalar."""
    return rank(attention(X, W_Q, W_K, W_V, W_O, alpha))


HEAD_RANK.oracle(lambda X: rank(X))
HEAD_RANK.mutant("attention alone", lambda X, W_Q, W_K, alpha: rank(attention_matrix(X, W_Q, W_K, alpha) @ X))
HEAD_RANK.mutant("rank of the output weights", lambda W_O: rank(W_O))


@HEAD_RANK.counterexample("a token orthogonal to the value weights: the head maps it to 0")
def token_without_value() -> dict[str, Any]:
    column, row = [[1], [0]], [[1, 0]]
    return {"X": [[1, 0]], "W_Q": column, "W_K": column, "W_V": [[0], [1]], "W_O": row, "alpha": 1}


@HEAD_RANK.counterexample("two heads in R^2: a head has rank d_v = 1, its input rank 2")
def narrow_head() -> dict[str, Any]:
    column, row = [[1], [0]], [[1, 0]]
    return {"X": [[1, 0], [0, 1]], "W_Q": column, "W_K": column, "W_V": column, "W_O": row, "alpha": 1}


HEAD_GRAM = Claim(
    OSA,
    "osa.intro-rank-head-gram",
    label="Section 1, what a whole head preserves",
    statement=r"\mathrm{OSA}(\mathbf{X})^\top\mathrm{OSA}(\mathbf{X}) = \mathbf{W}^\top\mathbf{X}^\top\mathbf{X}\mathbf{W}"
    r" \text{ for } \mathbf{W} = \mathbf{W}^V\mathbf{W}^O, \text{ so } \operatorname{rank}\mathrm{OSA}(\mathbf{X}) ="
    r" \operatorname{rank}(\mathbf{X}\mathbf{W}) \le \min(\operatorname{rank}\mathbf{X}, d_v)",
    assumptions=[SHAPES],
    relation=Equal(),
    sizes={"N": (1, 4), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    uses=("osa.so-n",),
    of_project=True,
    corrects="osa.intro-rank-head",
)


@HEAD_GRAM.formula
def gram_matrix_of_projected_tokens(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    """W^T X^T X W, shape (d, d), for W = W_V W_O."""
    return _gram(X @ W_V @ W_O)


@HEAD_GRAM.oracle
def gram_matrix_after_head(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    Y = attention(X, W_Q, W_K, W_V, W_O, alpha)
    return Y.T @ Y


HEAD_GRAM.mutant("X^T X, as for attention alone", lambda X: _gram(X))
HEAD_GRAM.mutant("W transposed", lambda X, W_V, W_O: _gram(X @ (W_V @ W_O).T))
HEAD_GRAM.mutant("tokens and value weights dropped", lambda W_O: _gram(W_O))


# -- causality ---------------------------------------------------------------------------------------------------------

NONCAUSAL = Claim(
    OSA,
    "osa.noncausal",
    label="Section 1, text",
    statement=r"\text{orthogonality of } \mathbf{A} \text{ restricts OSA to non-causal Transformers}",
    assumptions=["causal is read as: A lower triangular"],
    relation=Equal(),
    # a single token attends to itself alone
    sizes={"N": (2, 5), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    uses=("osa.so-n",),
    expects="reading",
    reading="what 'does restricts the applicability' is the orthogonality, and a causal A would be lower triangular.  For"
    " orthogonal A, sum_{j>i} (j - i) A_ij^2 = sum_{j<i} (i - j) A_ij^2: attention weighted by distance looks ahead as much as it"
    " looks back, so a triangular A is diagonal and mixes nothing.",
)


def _ahead(A: Any, power: int = 1) -> Any:
    """The sum of (j - i)^power A_ij^2 over j > i, a scalar; mutants change the power."""
    n = A.shape[0]
    return _sum([A[i, j] * A[i, j] * (j - i) ** power for i in range(n) for j in range(i + 1, n)])


@NONCAUSAL.formula
def attention_ahead(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    """sum over j > i of (j - i) A_ij^2, a scalar."""
    return _ahead(attention_matrix(X, W_Q, W_K, alpha))


@NONCAUSAL.oracle
def attention_back(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    A, back = attention_matrix(X, W_Q, W_K, alpha), alpha * 0
    for i, j in itertools.product(range(A.shape[0]), repeat=2):
        back = back + A[i, j] * A[i, j] * max(i - j, 0)
    return back


NONCAUSAL.mutant("not weighted by distance", power=0)
NONCAUSAL.mutant("weighted by the squared distance", power=2)


@NONCAUSAL.mutant("softmax attention")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    return _ahead(softmax(X @ W_Q @ (X @ W_K).T * (alpha / sqrt(W_Q.shape[1]))))


# -- rank collapse of softmax attention --------------------------------------------------------------------------------

#: The number of blocks in Appendix E.
DEPTH = 6

COLLAPSE = Claim(
    OSA,
    "osa.ssa-collapse",
    label="Section 1, text",
    statement=r"\text{under Softmax Self-Attention without skip connections token representations quickly converge to a rank-1"
    r" matrix with depth}",
    assumptions=["skipless, attention only", "neither the weights nor the rate are stated"],
    relation=FollowsLaw(samples=400, instances=6),
    sizes={"N": (4, 10), "d": (4, 8)},
    expects="empirical",
    observed="N = 4 to 10 tokens of dimension d = 4 to 8, one head, entries of X normal with variance 1, of W^Q and W^K with"
    " variance 1/d, W^V W^O orthogonal, 400 networks of 6 layers for each size: in more than 90 of 100 the part of X off its"
    " mean token falls below 1e-6 of X.  The paper states no weights.  Large logits collapse later or, one-hot, not at all.",
)


@COLLAPSE.inputs
def length_and_width(N: Annotated[int, Size("N")], d: Annotated[int, Size("d")]) -> Any:
    return {"N": N, "d": d}


@COLLAPSE.formula
def softmax_layer(X: Any, scores: Any) -> Any:
    """softmax(scores) X for X (..., N, d) and scores = Q K^T / sqrt(d) (..., N, N)."""
    return scores.softmax(-1) @ X


COLLAPSE.mutant("orthogonal attention", lambda X, scores: (scores - scores.mT).matrix_exp() @ X)
COLLAPSE.mutant("skip connections kept", lambda value, X: X + value)


@COLLAPSE.part("laws")
def off_the_mean_token(formula: Any, generator: Any, samples: int, N: int, d: int) -> list[LawTest]:
    import torch

    def normal(*shape: int) -> Any:
        return torch.randn(samples, *shape, generator=generator, dtype=torch.float64, device=generator.device)

    X = normal(N, d)
    for _ in range(DEPTH):
        queries, keys = X @ normal(d, d) / math.sqrt(d), X @ normal(d, d) / math.sqrt(d)
        X = formula(X, queries @ keys.mT / math.sqrt(d)) @ stiefel_uniform(d, d, generator, samples)
    off = (X - X.mean(1, keepdim=True)).norm(dim=(1, 2)) / X.norm(dim=(1, 2))
    return [at_least_probability("collapsed", int((off < 1e-6).sum()), samples, 0.9)]


# -- the steps of the proof of Theorem 2.1 -----------------------------------------------------------------------------

IMAGE = Claim(
    OSA,
    "osa.f1-image",
    label="F.1, first paragraph",
    statement=r"\text{Let } U \text{ be the image of } \mathbf{S}\text{. This is spanned by the column space of } \mathbf{Q}"
    r" \text{ and } \mathbf{K};\ \dim U = r",
    assumptions=[SHAPES, "r = rank S", Assumption("alpha is not 0", positive=lambda alpha: alpha * alpha)],
    relation=Equal(),
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    expects="refuted",
    severity="error",
    correction="osa.f1-image-independent",
    note="The image of S lies in the span of Q and K but may be smaller: S has even rank, and vanishes for Q parallel to K."
    "  The proof needs only the inclusion: osa.f1-restrict.  With h > 1 and 2 d_v <= N, the usual case, almost all inputs satisfy"
    " it; with h = 1 and odd d <= N, or odd N below both d and 2 d_v, no input with [Q, K] of the largest rank does.",
)


@IMAGE.formula
def dimension_of_image(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha) -> Any:
    """dim U = rank S, a scalar (Appendix F.1)."""
    return rank(skew_matrix(X, W_Q, W_K, alpha))


@IMAGE.oracle
def dimension_of_image_with_queries_and_keys(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha) -> Any:
    """dim of the span of U, Q and K together, which exceeds dim U unless Q and K lie in U."""
    return rank(concatenate([skew_matrix(X, W_Q, W_K, alpha), queries_and_keys(X, W_Q, W_K)], axis=1))


IMAGE.mutant("rank of Q K^T alone", lambda X, W_Q, W_K: rank(X @ W_Q @ (X @ W_K).T))
IMAGE.mutant("columns of Q and K counted", lambda W_Q, W_K: W_Q.shape[1] + W_K.shape[1])
IMAGE.counterexample("one token: S = 0, but Q = K = 1 spans a line", X=[[1]], W_Q=[[1]], W_K=[[1]], alpha=1)


@IMAGE.counterexample("one head in R^4, three tokens: dim U = 2, but Q and K span R^3")
def image_of_three_tokens() -> dict[str, Any]:
    X = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    W_Q = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    W_K = [[0, 0, 0, 1], [1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]]
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "alpha": 1}


IMAGE_INDEPENDENT = Claim(
    OSA,
    "osa.f1-image-independent",
    label="F.1, the image of S where [Q, K] has independent columns",
    statement=r"\mathbf{S}\mathbf{M} = \tfrac{\alpha}{\sqrt{d_v}}\,\mathbf{M}\begin{pmatrix}0 & \mathbf{I}\\ -\mathbf{I} &"
    r" 0\end{pmatrix}\mathbf{M}^\top\mathbf{M} \text{ for } \mathbf{M} = [\mathbf{Q},\mathbf{K}]. \text{ If the columns of"
    r" } \mathbf{M} \text{ are linearly independent, the factors of } \mathbf{M} \text{ on the right are nonsingular, so }"
    r" \mathbf{Q}, \mathbf{K} \text{ lie in the image of } \mathbf{S} \text{ and span it}",
    assumptions=[
        Assumption(
            "the columns of [Q, K] are linearly independent",
            positive=lambda X, W_Q, W_K: smallest_singular_value(queries_and_keys(X, W_Q, W_K)),
        ),
        Assumption("alpha is not 0", positive=lambda alpha: alpha * alpha),
    ],
    relation=Equal(),
    sizes={"N": (2, 5), "d": (2, 5), "d_v": (1, 2)},
    where=lambda sizes: 2 * sizes["d_v"] <= min(sizes["N"], sizes["d"]),
    without_domains={
        "rank deficient": "deficient weights make columns of [Q, K] dependent",
        "tied": "repeated rows of X and of the weights make columns of [Q, K] dependent",
        "uniform attention": "W^Q = 0 makes Q vanish",
    },
    corrects="osa.f1-image",
    uses=("osa.f1-restrict",),
    exact=True,
    of_project=True,
)


@IMAGE_INDEPENDENT.formula
def image_of_queries_and_keys(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha) -> Any:
    """alpha / sqrt(d_v) M [[0, I], [-I, 0]] M^T M for M = [Q, K], shape (N, 2 d_v)."""
    return _turned(X, W_Q, W_K, alpha)


def _turned(X: Any, W_Q: Any, W_K: Any, alpha: Any, sign: int = -1) -> Any:
    """M [[0, I], [sign I, 0]] M^T M, scaled; mutants change the sign."""
    M, n = queries_and_keys(X, W_Q, W_K), W_Q.shape[1]
    upper, lower = concatenate([zeros(n, n), eye(n)], axis=1), concatenate([eye(n) * sign, zeros(n, n)], axis=1)
    return M @ concatenate([upper, lower], axis=0) @ (M.T @ M) * (alpha / sqrt(n))


IMAGE_INDEPENDENT.oracle(lambda X, W_Q, W_K, alpha: skew_matrix(X, W_Q, W_K, alpha) @ queries_and_keys(X, W_Q, W_K))
IMAGE_INDEPENDENT.mutant("sign of the scale reversed", lambda X, W_Q, W_K, alpha: _turned(X, W_Q, W_K, -alpha))
IMAGE_INDEPENDENT.mutant("symmetric instead of skew", sign=1)


RESTRICTION = Claim(
    OSA,
    "osa.f1-restrict",
    label="F.1, first paragraph",
    statement=r"x \in U^\perp \Rightarrow \mathbf{S}x = 0, \qquad \mathbf{S}: U \to U \quad (U = \operatorname{span}"
    r"\{\text{columns of } \mathbf{Q},\mathbf{K}\})",
    assumptions=[
        SHAPES,
        Assumption(
            "x is orthogonal to the columns of Q and K", zero=lambda X, W_Q, W_K, x: queries_and_keys(X, W_Q, W_K).T @ x
        ),
    ],
    relation=HasStructure(),
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    exact=True,
    note="S maps into U, as every x orthogonal to U is orthogonal to the image: x^T S = 0.",
)

Vector = Annotated[Any, Shape("N", "1")]
Direction = Annotated[Any, Shape("d", "1")]


@RESTRICTION.inputs
def tokens_with_orthogonal_vector(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, x: Vector, y: Direction
) -> dict[str, Any]:
    """Tokens with X^T x = y, and weights orthogonal to y: x is orthogonal to Q and K, not to the tokens."""

    def across(A: Any, b: Any) -> Any:
        """A (m, n) without its part along b (m, 1)."""
        return A - b @ (b.T @ A) / total(b * b)

    along = x @ y.T / total(x * x)
    return {"X": across(X, x) + along, "W_Q": across(W_Q, y), "W_K": across(W_K, y), "alpha": alpha, "x": x}


@RESTRICTION.formula
def restricted_scores(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    """S, shape (N, N)."""
    return skew_matrix(X, W_Q, W_K, alpha)


@RESTRICTION.part("structure")
def image_of_orthogonal_vector(value: Any, x: Vector) -> Any:
    """[S x, S^T x], shape (N, 2)."""
    return concatenate([value @ x, value.T @ x], axis=1)


RESTRICTION.mutant("Gram matrix of the tokens added", lambda value, X: value + X @ X.T)
RESTRICTION.mutant("exp(S) instead of S", lambda value: expm(value))


POWERS = Claim(
    OSA,
    "osa.eq-17",
    label="Eq. (17), F.1",
    statement=r"\mathbf{S} = \mathbf{B}[\mathbf{S}]\mathbf{B}^\top \implies \mathbf{S}^n = \mathbf{B}[\mathbf{S}]^n"
    r"\mathbf{B}^\top",
    assumptions=[ORTHONORMAL, CONTAINS_QUERIES_AND_KEYS],
    relation=Equal(),
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4), "r": (1, 5)},
    where=lambda sizes: sizes["r"] <= sizes["N"] and sizes["d_v"] <= sizes["d"],
    uses=("osa.f1-restrict",),
    expects="reading",
    reading="n >= 1, which is all that Eq. (18) uses; checked for n = 1, ..., 5.  At n = 0 the left side is I_N and the right"
    " B B^T, which differ for r < N.",
    exact=True,
)
POWER_LIMIT = 5


@POWERS.inputs
def tokens_with_basis_for_powers(
    frame: Frame, C: Coordinates, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha
) -> dict[str, Any]:
    return tokens_with_wide_basis(frame, C, W_Q, W_K, alpha)


def _powers(S: Any) -> list[Any]:
    """S, S^2, ..., S^5."""
    return list(itertools.accumulate([S] * POWER_LIMIT, lambda left, right: left @ right))


@POWERS.formula
def powers_through_basis(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    """B [S]^n B^T for n = 1, ..., 5 on top of each other, shape (5 N, N) (Eq. (17))."""
    reduced = B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B
    return concatenate([B @ power @ B.T for power in _powers(reduced)], axis=0)


@POWERS.oracle
def powers_of_scores(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    S = skew_matrix(X, W_Q, W_K, alpha)
    return concatenate(_powers(S), axis=0)


POWERS.mutant("B [S]^(n-1) B^T, so B B^T at n = 1", "_powers(reduced) -> [eye(B.shape[1]), *_powers(reduced)[:-1]]")
POWERS.mutant("[S] transposed", lambda X, W_Q, W_K, alpha, B: powers_through_basis(X, W_Q, W_K, -alpha, B))


SERIES = Claim(
    OSA,
    "osa.eq-18",
    label="Eq. (18), F.1",
    statement=r"\exp(\mathbf{S}) = \sum_{n=0}^\infty \frac{\mathbf{S}^n}{n!} = \mathbf{I}_N + \sum_{n=1}^\infty"
    r" \frac{\mathbf{B}[\mathbf{S}]^n\mathbf{B}^\top}{n!} = \mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I}_r)"
    r"\mathbf{B}^\top",
    assumptions=[ORTHONORMAL, CONTAINS_QUERIES_AND_KEYS],
    relation=Equal(),
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4), "r": (1, 5)},
    where=lambda sizes: sizes["r"] <= sizes["N"] and sizes["d_v"] <= sizes["d"],
    uses=("osa.eq-17",),
    exact=True,
    note="Two comparisons: the partial sums to n = 5 of both series, term by term; and the two ends of the chain.  That exp is"
    " the sum of the series is its definition.",
)


@SERIES.inputs
def tokens_with_basis_for_series(
    frame: Frame, C: Coordinates, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha
) -> dict[str, Any]:
    return tokens_with_wide_basis(frame, C, W_Q, W_K, alpha)


def _partial_sums(S: Any) -> list[Any]:
    """S, S + S^2 / 2, ..., up to S^5 / 5!."""
    terms = [power * rational(1, math.factorial(n)) for n, power in enumerate(_powers(S), start=1)]
    return list(itertools.accumulate(terms, lambda left, right: left + right))


@SERIES.formula
def series_through_basis(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    """I_N + sum_{n=1}^k B [S]^n B^T / n! for k = 1, ..., 5, then I_N + B (exp[S] - I_r) B^T, shape (6 N, N) (Eq. (18))."""
    return _members(X, W_Q, W_K, alpha, B)


def _members(X: Any, W_Q: Any, W_K: Any, alpha: Any, B: Any, outer: int = 1, inner: int = 1) -> Any:
    """Partial sums and limit in the basis B; mutants drop the identities outside or inside."""
    reduced = B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B
    members = [*_partial_sums(reduced), expm(reduced) - eye(B.shape[1]) * inner]
    return concatenate([eye(B.shape[0]) * outer + B @ member @ B.T for member in members], axis=0)


@SERIES.oracle
def series_of_scores(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    S = skew_matrix(X, W_Q, W_K, alpha)
    return concatenate([*(eye(S.shape[0]) + partial for partial in _partial_sums(S)), expm(S)], axis=0)


SERIES.mutant("I_N dropped", outer=0)
SERIES.mutant("I_r not subtracted", inner=0)
SERIES.mutant("[S] transposed", lambda X, W_Q, W_K, alpha, B: _members(X, W_Q, W_K, -alpha, B))


# -- several layers: Theorem 2.2 ---------------------------------------------------------------------------------------

LayerQueries = Annotated[Any, Shape("l", "d", "d", role="query")]
LayerWeights = Annotated[Any, Shape("l", "d", "d")]


def layers_worth_telling_apart(sizes: Mapping[str, int]) -> bool:
    """Below three tokens or dimensions all layers turn the same plane, and a third says nothing that two do not."""
    return sizes["l"] < 3 or min(sizes["N"], sizes["d"]) >= 3


def tokens_of_rank_one(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    """The collapsed representation: all tokens are multiples of the first, so S = 0."""
    arrays["X"] = arrays["X"][:, :1] * rng.integers(-2, 3, (1, sizes["N"], 1))


def layers_in_different_planes(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    """Layer k turns coordinates k and k + 1 by a large angle, so that the order of the layers shows."""
    m = min(sizes["N"], sizes["d"])
    for name in arrays.keys() - {"alpha", "l"}:
        arrays[name] = arrays[name] * 0
    arrays["X"][:, range(m), range(m)] = [(i + 1) / 2 for i in range(m)]
    arrays["alpha"] = arrays["alpha"] * 0 + 2
    for k in range(sizes["l"]):
        arrays["W_Q"][:, k, k % m, k % m] = 4
        arrays["W_K"][:, k, (k + 1) % m, k % m] = 1
        for name in {"W_V", "W_O"} & arrays.keys():
            arrays[name][:, k, range(sizes["d"]), range(sizes["d"])] = 2


def _add_layer_domains(claim: Claim) -> None:
    claim.domain("tokens of rank one")(tokens_of_rank_one)
    claim.domain("layers in different planes")(layers_in_different_planes)


#: Scales drawn alphas so that S has generic entries of order 1.
MODERATE = rational(1, 4)


def _last(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """X_l, shape (N, d), after layers with the weights W_Q[k], ..., each attending to its input."""
    for k in range(len(W_Q)):
        X = attention(X, W_Q[k], W_K[k], W_V[k], W_O[k], alpha)
    return X


def _attention_matrices(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> list[Any]:
    """A_1, ..., A_l, each (N, N), of the same layers."""
    found = []
    for k in range(len(W_Q)):
        found.append(attention_matrix(X, W_Q[k], W_K[k], alpha))
        X = found[-1] @ X @ W_V[k] @ W_O[k]
    return found


def _product(matrices: list[Any]) -> Any:
    """The product from left to right."""
    return functools.reduce(lambda left, right: left @ right, matrices)


def _values_times_outputs(W_V: Any, W_O: Any) -> list[Any]:
    """W_1^V W_1^O, ..., W_l^V W_l^O, each (d, d)."""
    return [W_V[k] @ W_O[k] for k in range(len(W_V))]


PRODUCT_FORM = Claim(
    OSA,
    "osa.eq-19",
    label="Eq. (19), F.2",
    statement=r"\mathbf{X}_l = \mathbf{A}\mathbf{X}_0\mathbf{W}, \quad \mathbf{A} = \mathbf{A}_l\cdots\mathbf{A}_1,\ \mathbf{W}"
    r" = \mathbf{W}_1^V\mathbf{W}_1^O\cdots\mathbf{W}_l^V\mathbf{W}_l^O",
    assumptions=["h = 1, no MLP, no skip connection"],
    relation=Equal(),
    sizes={"N": (1, 5), "d": (1, 5), "l": (1, 3)},
    where=layers_worth_telling_apart,
    exact=True,
)
_add_layer_domains(PRODUCT_FORM)


@PRODUCT_FORM.inputs
def layers_of_moderate_growth(
    X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: LayerWeights, W_O: LayerWeights, alpha: Alpha
) -> dict[str, Any]:
    # Scores are quadratic in tokens that grow from layer to layer: unscaled draws would leave floats no digits to compare.
    half = rational(1, 2)
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V * half, "W_O": W_O * half, "alpha": alpha * MODERATE}


@PRODUCT_FORM.formula
def output_as_product(
    X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: LayerWeights, W_O: LayerWeights, alpha: Alpha
) -> Any:
    """A_l ... A_1 X W_1^V W_1^O ... W_l^V W_l^O, shape (N, d), for weights of shape (l, d, d) (Eq. (19))."""
    attentions = _attention_matrices(X, W_Q, W_K, W_V, W_O, alpha)
    return _product(attentions[::-1]) @ X @ _product(_values_times_outputs(W_V, W_O))


PRODUCT_FORM.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: _last(X, W_Q, W_K, W_V, W_O, alpha))
PRODUCT_FORM.mutant("A_1 ... A_l", "attentions[::-1] -> attentions")
PRODUCT_FORM.mutant(
    "weights of the last layer first", "_values_times_outputs(W_V, W_O) -> _values_times_outputs(W_V, W_O)[::-1]"
)


@PRODUCT_FORM.mutant("attention matrices all of the first layer's input")
def _(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: LayerWeights, W_O: LayerWeights, alpha: Alpha) -> Any:
    attentions = [attention_matrix(X, W_Q[k], W_K[k], alpha) for k in range(len(W_Q))]
    return _product(attentions[::-1]) @ X @ _product(_values_times_outputs(W_V, W_O))


def _stacked_defect(W_V: Any, W_O: Any) -> Any:
    return concatenate([W @ W.T - eye(W.shape[0]) for W in _values_times_outputs(W_V, W_O)], axis=0)


ORTHOGONAL_WEIGHTS = Assumption("W_l^V W_l^O in R^{d x d} is orthogonal", zero=_stacked_defect)


def _orthogonal_layers(X: Any, W_Q: Any, W_K: Any, left: Any, right: Any, alpha: Any) -> dict[str, Any]:
    """Layers whose W^V and W^O are multiples of orthogonal matrices, and their product orthogonal."""
    W_V = [cayley(left[k]) * 2 for k in range(len(W_Q))]
    W_O = [cayley(right[k]) * rational(1, 2) for k in range(len(W_Q))]
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O, "alpha": alpha * MODERATE}


PRODUCTS_ORTHOGONAL = Claim(
    OSA,
    "osa.f2-orthogonality",
    label="F.2, text",
    statement=r"\mathbf{A} \in \mathrm{SO}(N), \qquad \mathbf{W}\mathbf{W}^\top = \mathbf{I}_d",
    assumptions=["h = 1", ORTHOGONAL_WEIGHTS],
    relation=HasStructure(),
    sizes={"N": (1, 5), "d": (1, 5), "l": (1, 3)},
    where=layers_worth_telling_apart,
    uses=("osa.so-n",),
)
_add_layer_domains(PRODUCTS_ORTHOGONAL)


@PRODUCTS_ORTHOGONAL.inputs
def layers_with_orthogonal_weights(
    X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, left: LayerWeights, right: LayerWeights, alpha: Alpha
) -> dict[str, Any]:
    return _orthogonal_layers(X, W_Q, W_K, left, right, alpha)


@PRODUCTS_ORTHOGONAL.formula
def products_of_layers(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> list[Any]:
    """A = A_l ... A_1 (N, N) and W = W_1^V W_1^O ... W_l^V W_l^O (d, d), for sequences of l weights (Appendix F.2)."""
    attentions = _attention_matrices(X, W_Q, W_K, W_V, W_O, alpha)
    return [_product(attentions[::-1]), _product(_values_times_outputs(W_V, W_O))]


@PRODUCTS_ORTHOGONAL.part("structure")
def defect_of_products(value: list[Any]) -> Any:
    A, W = value
    return concatenate([_rotation_defect(A).reshape(-1, 1), (W @ W.T - eye(W.shape[0])).reshape(-1, 1)], axis=0)


@PRODUCTS_ORTHOGONAL.mutant("exponential of Q K^T alone")
def _(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> list[Any]:
    attentions = [expm(X @ W_Q[k] @ (X @ W_K[k]).T * alpha) for k in range(len(W_Q))]
    return [_product(attentions[::-1]), _product(_values_times_outputs(W_V, W_O))]


@PRODUCTS_ORTHOGONAL.mutant("output weights left out of W")
def _(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> list[Any]:
    return [_product(_attention_matrices(X, W_Q, W_K, W_V, W_O, alpha)[::-1]), _product(list(W_V))]


THEOREM_22 = Claim(
    OSA,
    "osa.thm-2.2",
    label="Theorem 2.2, Eq. (8)",
    statement=r"\Sigma_l = \mathbf{X}_l\mathbf{X}_l^\top = \mathbf{A}\Sigma_0\mathbf{A}^\top, \quad \mathbf{A}\in\mathrm{SO}(N)."
    r" \text{ Therefore the rank and eigenvalues of } \Sigma_0 \text{ are preserved}",
    assumptions=["skipless OSA-only Transformer (no MLP)", "h = 1, at initialisation", ORTHOGONAL_WEIGHTS],
    relation=Equal(),
    sizes={"N": (1, 5), "d": (1, 5), "l": (1, 2)},
    where=layers_worth_telling_apart,
    uses=("osa.so-n",),
    proof=("osa.eq-19", "osa.f2-orthogonality"),
    note="The eigenvalues are compared through tr (Sigma / (1 + tr Sigma))^k, k = 1, ..., N, which determine them with their"
    " multiplicities.",
)
decided_at_the_experiments(THEOREM_22, l=2)
_add_layer_domains(THEOREM_22)


@THEOREM_22.inputs
def skipless_transformer(
    X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, left: LayerWeights, right: LayerWeights, alpha: Alpha
) -> dict[str, Any]:
    return _orthogonal_layers(X, W_Q, W_K, left, right, alpha)


def _power_traces(Sigma: Any) -> Any:
    """tr (Sigma / (1 + tr Sigma))^k for k = 1, ..., N, all below 1, shape (1, N)."""
    scaled = Sigma / (1 + trace(Sigma))
    powers = itertools.accumulate([scaled] * Sigma.shape[0], lambda left, right: left @ right)
    return concatenate([ones(1, 1) * trace(power) for power in powers], axis=1)


def _kernel_and_spectrum(A: Any, X: Any) -> Any:
    """A X X^T A^T on top of the power traces of X X^T, shape (N + 1, N)."""
    Sigma = X @ X.T
    return concatenate([A @ Sigma @ A.T, _power_traces(Sigma)], axis=0)


@THEOREM_22.formula
def kernel_of_layers(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> Any:
    """A Sigma_0 A^T with A = A_l ... A_1, then the power traces of Sigma_0, shape (N + 1, N) (Theorem 2.2)."""
    return _kernel_and_spectrum(_product(_attention_matrices(X, W_Q, W_K, W_V, W_O, alpha)[::-1]), X)


@THEOREM_22.oracle
def kernel_of_output(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> Any:
    X_l = _last(X, W_Q, W_K, W_V, W_O, alpha)
    return concatenate([X_l @ X_l.T, _power_traces(X_l @ X_l.T)], axis=0)


@THEOREM_22.mutant("A^T Sigma_0 A")
def _(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> Any:
    return _kernel_and_spectrum(_product(_attention_matrices(X, W_Q, W_K, W_V, W_O, alpha)[::-1]).T, X)


@THEOREM_22.mutant("A_1 ... A_l")
def _(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> Any:
    return _kernel_and_spectrum(_product(_attention_matrices(X, W_Q, W_K, W_V, W_O, alpha)), X)


THEOREM_22.mutant("Sigma_0 itself", lambda X: _kernel_and_spectrum(eye(X.shape[0]), X))


@THEOREM_22.mutant("eigenvalues of the values, X W_1^V")
def _(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> Any:
    A = _product(_attention_matrices(X, W_Q, W_K, W_V, W_O, alpha)[::-1])
    return concatenate([A @ X @ X.T @ A.T, _power_traces(X @ W_V[0] @ (X @ W_V[0]).T)], axis=0)


# -- the set-up of the experiments -------------------------------------------------------------------------------------

TOKEN_COUNT = Claim(
    OSA,
    "osa.e-n50",
    label="Appendix E",
    statement=r"n=50 \text{ tokens: patch size 4 on } 28\times28 \text{ images plus the [cls] token}",
    relation=Equal(),
    sizes={"side": (28, 28), "patch": (4, 4)},
    exact=True,
)
Image = Annotated[Any, Shape("side", "side")]
PatchSize = Annotated[int, Size("patch")]


@TOKEN_COUNT.formula
def number_of_tokens(image: Image, patch: PatchSize) -> int:
    """50, for an image of shape (28, 28) and patches of shape (4, 4) (Appendix E)."""
    return 50


@TOKEN_COUNT.oracle
def counted_tokens(image: Image, patch: PatchSize) -> int:
    corners = range(0, image.shape[0], patch)
    patches = [image[i : i + patch, j : j + patch] for i, j in itertools.product(corners, corners)]
    return len([whole for whole in patches if whole.shape == (patch, patch)]) + 1


TOKEN_COUNT.mutant("without the [cls] token", lambda: 49)
TOKEN_COUNT.mutant("patches that overlap by half", lambda: 13 * 13 + 1)


TRUNCATION = Claim(
    OSA,
    "osa.fn-5",
    label="Footnote 5",
    statement=r"\text{sampling from } \mathcal{U}_{n\times n} \text{ and truncating to } m \text{ columns samples }"
    r" \mathcal{U}_{n\times m}",
    assumptions=["n >= m"],
    relation=FollowsLaw(),
    sizes={"n": (1, 5), "m": (1, 4)},
    where=lambda sizes: sizes["n"] >= sizes["m"],
    uses=("osa.alg-1",),
)


@TRUNCATION.inputs
def dimensions_of_frame(n: Annotated[int, Size("n")], m: Annotated[int, Size("m")]) -> Any:
    return {"n": n, "m": m}


@TRUNCATION.formula
def truncated_uniform(n: int, m: int, generator: Any = None, samples: int = 1) -> Any:
    """The first m columns of `samples` uniform orthogonal matrices, shape (samples, n, m) (Footnote 5)."""
    return stiefel_uniform(n, n, generator, samples)[..., :m]


TRUNCATION.part("laws")(uniform_on_stiefel)


def _normal(n: int, generator: Any, samples: int) -> Any:
    import torch

    return torch.randn(samples, n, n, generator=generator, dtype=torch.float64, device=generator.device)


@TRUNCATION.mutant("QR without sign correction, truncated")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    import torch

    return torch.linalg.qr(_normal(n, generator, samples)).Q[..., :m]


@TRUNCATION.mutant("rotations only: the first column turned to make the determinant 1")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    Q = stiefel_uniform(n, n, generator, samples)
    Q[..., 0] *= Q.det()[:, None]
    return Q[..., :m]


@TRUNCATION.mutant("columns normalised, not orthogonalised")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    Z = _normal(n, generator, samples)[..., :m]
    return Z / Z.norm(dim=1, keepdim=True)
