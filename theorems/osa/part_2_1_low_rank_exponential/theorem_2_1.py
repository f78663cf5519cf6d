"""Theorem 2.1, Eqs. (6) and (7): the exponential of a low-rank skew matrix through a small basis; ranks of S.

The theorem gives the basis of span[Q, K] as many columns as S has rank: the two differ already for one token.  Section 2.4
assumes r = 2d, which no input has.
"""

from __future__ import annotations

import functools
from typing import Any

from theorems.osa import OSA
from theorems.osa.definitions import (
    attention_matrix, dot_products, queries_and_keys, rank, skew_matrix, whole_heads,
)  # fmt: skip
from theorems.osa.settings import (
    BASIS, CONTAINS_QUERIES_AND_KEYS, INDEPENDENT, LAYER, NONZERO_ALPHA, NOT_OUTSIDE_IT, ORTHONORMAL, UNTRAINED,
    UNTRAINED_LAYER, WITHIN_THE_SPAN, with_basis,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, Basis, Coordinates, HeadSize, Key, Length, NonzeroAlpha, Query, SquareQuery, SquareWeights, TokenFrame,
    Tokens, Width,
)  # fmt: skip
from verify.matrix import (
    basis_matrix, concatenate, expm, eye, rational, smallest_singular_value, sqrt, trace, vec_r, zeros,
)  # fmt: skip
from verify.vocabulary import Assumption, Claim, Construction, Definition, Equal, HasStructure, realises

THEOREM_21 = Claim(UNTRAINED_LAYER, "osa.thm-2.1", label="Theorem 2.1, Eqs. (6), (7)",
    statement=r"""\text{Let } \mathbf{B}(\mathbf{X}) \in \mathbb{R}^{N\times r} \text{ be a matrix where the columns
        provide an orthonormal basis for the subspace } U \text{ spanned by the columns of } \mathbf{Q},\mathbf{K}.
        \text{ Then we have: } \exp(\mathbf{S}(\mathbf{X})) = \mathbf{I}_N +
        \mathbf{B}(\mathbf{X})(\exp[\mathbf{S}](\mathbf{X}) - \mathbf{I}_r)\mathbf{B}(\mathbf{X})^\top, \text{ where }
        [\mathbf{S}](\mathbf{X}) = \mathbf{B}(\mathbf{X})^\top\mathbf{S}(\mathbf{X})\mathbf{B}(\mathbf{X}) \in
        \mathbb{R}^{r\times r}""",
    assumptions=[
        ORTHONORMAL,
        CONTAINS_QUERIES_AND_KEYS,
        Assumption(
            "r = rank S (Section 2.1), which makes that space U itself; r is even, r <= N, d, 2 d_v, and d_v = d/h",
            positive=lambda X, W_Q, W_K, alpha, B: smallest_singular_value(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B),
            sizes=lambda sizes: (
                whole_heads(sizes) and sizes["r"] % 2 == 0 and sizes["r"] <= min(sizes["N"], sizes["d"], 2 * sizes["d_v"])
            ),
        ),
    ],
    without_domains={
        "rank deficient": "coordinates of deficient rank leave span[Q, K] smaller than r",
        "tied": "equal rows of the coordinates leave span[Q, K] smaller than r",
        "uniform attention": "W^Q = 0 gives S = 0, whose rank is not r",
    },
    name="exponential of the scores through a small basis", relation=Equal(), all_sizes=True,
    hypotheses=(CONTAINS_QUERIES_AND_KEYS,), sizes={"N": (2, 5), "d": (2, 4), "d_v": (1, 4), "r": (2, 4)},
    expects="gap", presumes=("osa.thm-2.1-rank",), proof=("osa.f1-image", "osa.f1-restrict", "osa.eq-17", "osa.eq-18"),
    correction="osa.thm-2.1-any-basis", exact=True,
    missing=r"$\operatorname{rank}S = \dim\operatorname{span}[Q,K]$",
    consequence="""Code that takes as many basis columns as $S$ has rank is right only if they span the image of $S$;
        take any orthonormal basis of the columns of $Q,K$, whatever its width (osa.thm-2.1-any-basis).""",
    note=r"""$r$ is used both for $\operatorname{rank}S$ (Section 2.1, Appendix F.1) and for
        $\dim\operatorname{span}[Q,K]$. Where the two differ no $B$ satisfies the hypotheses; the identity itself needs
        only orthonormal columns whose span contains the image of $S$. Read as $\dim U$ alone, $r$ makes the theorem
        true as it stands, and leaves the proof, where $U$ is the image of $S$: osa.f1-image.""")  # fmt: skip


@THEOREM_21.inputs
@realises(WITHIN_THE_SPAN, but=NOT_OUTSIDE_IT)
def tokens_with_basis(frame: TokenFrame, C: Coordinates, W_Q: Query, W_K: Key, alpha: NonzeroAlpha) -> Any:
    return with_basis(frame, C, W_Q, W_K, alpha)


@THEOREM_21.formula
def attention_matrix_in_basis(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, B: Basis) -> Any:
    """I_N + B (exp(B^T S B) - I_r) B^T, shape (N, N), for B of shape (N, r) (Theorem 2.1)."""
    S = skew_matrix(X, W_Q, W_K, alpha)
    return eye(B.shape[0]) + B @ (expm(B.T @ S @ B) - eye(B.shape[1])) @ B.T


THEOREM_21.oracle(lambda X, W_Q, W_K, alpha: attention_matrix(X, W_Q, W_K, alpha))
THEOREM_21.mutant("I_r not subtracted", "expm(B.T @ S @ B) - eye(B.shape[1]) -> expm(B.T @ S @ B)")
THEOREM_21.mutant("I_N and I_r both dropped", lambda value, B: value - eye(B.shape[0]) + B @ B.T)
THEOREM_21.mutant("[S] transposed", "B.T @ S @ B -> (B.T @ S @ B).T")

THEOREM_21_ANY_BASIS = Claim(BASIS.extended(scales=[UNTRAINED.at(q=0)]), "osa.thm-2.1-any-basis",
    label="Theorem 2.1, for any basis", name="exponential of the scores through any basis",
    statement=r"""\text{For every } \mathbf{B} \in \mathbb{R}^{N\times r} \text{ with orthonormal columns whose span
        contains the image of } \mathbf{S} = \tfrac{\alpha}{\sqrt{d_v}}(\mathbf{Q}\mathbf{K}^\top -
        \mathbf{K}\mathbf{Q}^\top), \text{ as it does if it contains the columns of } \mathbf{Q},\mathbf{K}, \text{
        whatever } r \ge \operatorname{rank}\mathbf{S}: \quad \exp(\mathbf{S}) = \mathbf{I}_N +
        \mathbf{B}(\exp(\mathbf{B}^\top\mathbf{S}\mathbf{B}) - \mathbf{I}_r)\mathbf{B}^\top""",
    relation=Equal(), all_sizes=True, corrects="osa.thm-2.1", of_project=True,
    note=r"""A reduced QR of $[Q,K]$ supplies such a $B$ even where the columns of $[Q,K]$ are dependent. With $r =
        \operatorname{rank}S$ the columns of $B$ are a basis of the image of $S$, as in Appendix F.1: $Q = [e_1, e_1]$,
        $K = [e_2, e_3]$ has $\operatorname{rank}S = 2$, and $\operatorname{span}[Q,K] = \mathbb{R}^3$.""")  # fmt: skip


@THEOREM_21_ANY_BASIS.formula
def attention_matrix_in_any_basis(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, B: Basis) -> Any:
    """I_N + B (exp(B^T S B) - I_r) B^T, shape (N, N), for B of shape (N, r) of any width that suffices."""
    return attention_matrix_in_basis(X, W_Q, W_K, alpha, B)


THEOREM_21_ANY_BASIS.oracle(lambda X, W_Q, W_K, alpha: attention_matrix(X, W_Q, W_K, alpha))
THEOREM_21_ANY_BASIS.mutant("last column of B left out", "B -> concatenate([B[:, :-1], B[:, -1:] * 0], axis=1)")
THEOREM_21_ANY_BASIS.mutant("exponential of -[S]", "alpha -> -alpha")

# -- the rank that Theorem 2.1 takes for granted -----------------------------------------------------------------------

THEOREM_21_RANK = Claim(LAYER, "osa.thm-2.1-rank", label="Theorem 2.1, r", name="rank of the scores against the span",
    statement=r"\operatorname{rank}\mathbf{S} = \dim\operatorname{span}[\mathbf{Q},\mathbf{K}]",
    assumptions=[NONZERO_ALPHA],
    relation=Equal(), expects="refuted", severity="error", correction="osa.thm-2.1-rank-independent", of_project=True,
    note=r"""Presupposed where Theorem 2.1 and Appendix F.1 give an orthonormal basis of $\operatorname{span}[Q,K]$ as
        many columns as $S$ has rank. $S$ is skew, so its rank is even, and $Q$ parallel to $K$ gives $S = 0$.""",
)  # fmt: skip


@THEOREM_21_RANK.formula
def rank_of_skew_matrix(X: Tokens, W_Q: Query, W_K: Key, alpha: NonzeroAlpha) -> Any:
    """r = rank S, a scalar (Section 2.1)."""
    return rank(skew_matrix(X, W_Q, W_K, alpha))


THEOREM_21_RANK.oracle(lambda X, W_Q, W_K: rank(queries_and_keys(X, W_Q, W_K)))
THEOREM_21_RANK.mutant("rank of Q K^T alone", lambda X, W_Q, W_K, alpha: rank(X @ W_Q @ (X @ W_K).T * alpha))
THEOREM_21_RANK.mutant(
    "symmetric instead of skew",
    lambda X, W_Q, W_K, alpha: rank(skew_matrix(X, W_Q, W_K, alpha) + 2 * dot_products(X, W_Q, W_K, alpha).T),
)
THEOREM_21_RANK.counterexample("one token: S = 0, but Q = K = 1 spans a line", X=[[1]], W_Q=[[1]], W_K=[[1]], alpha=1)
THEOREM_21_RANK.counterexample(
    "d = 1: Q and K are parallel whatever the weights, so S = 0", X=[[1], [2]], W_Q=[[1]], W_K=[[3]], alpha=1
)


@THEOREM_21_RANK.counterexample("three independent columns: rank S is even, dim span[Q, K] = 3")
def odd_dimension() -> dict[str, Any]:
    W_Q = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    W_K = [[0, 0, 0, 1], [1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]]
    return {"X": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], "W_Q": W_Q, "W_K": W_K, "alpha": 1}


THEOREM_21_RANK_INDEPENDENT = Claim(INDEPENDENT, "osa.thm-2.1-rank-independent",
    label="Theorem 2.1, r where [Q, K] has independent columns",
    statement=r"""
        \mathbf{M}^\top\mathbf{S}\mathbf{M} = \tfrac{\alpha}{\sqrt{d_v}}\,\mathbf{M}^\top\mathbf{M}\begin{pmatrix}0 &
        \mathbf{I}\\ -\mathbf{I} & 0\end{pmatrix}\mathbf{M}^\top\mathbf{M} \text{ for } \mathbf{M} =
        [\mathbf{Q},\mathbf{K}]. \text{ If the columns of } \mathbf{M} \text{ are linearly independent, this is
        nonsingular, so } \operatorname{rank}\mathbf{S} = 2d_v = \dim\operatorname{span}[\mathbf{Q},\mathbf{K}]""",
    name="rank of the scores, independent queries and keys", relation=Equal(), all_sizes=True,
    corrects="osa.thm-2.1-rank", of_project=True)  # fmt: skip


@THEOREM_21_RANK_INDEPENDENT.formula
def skew_form_of_queries_and_keys(X: Tokens, W_Q: Query, W_K: Key, alpha: NonzeroAlpha) -> Any:
    """alpha / sqrt(d_v) G [[0, I], [-I, 0]] G with G = M^T M the Gram matrix of M = [Q, K], shape (2 d_v, 2 d_v)."""
    M = queries_and_keys(X, W_Q, W_K)
    return M.T @ M @ symplectic(W_Q.shape[1]) @ M.T @ M * (alpha / sqrt(W_Q.shape[1]))


def symplectic(n: int, sign: int = -1) -> Any:
    """[[0, I], [sign I, 0]], shape (2 n, 2 n)."""
    return concatenate(
        [concatenate([zeros(n, n), eye(n)], axis=1), concatenate([eye(n) * sign, zeros(n, n)], axis=1)], axis=0
    )


@THEOREM_21_RANK_INDEPENDENT.oracle
def skew_matrix_between_queries_and_keys(X: Tokens, W_Q: Query, W_K: Key, alpha: NonzeroAlpha) -> Any:
    M = queries_and_keys(X, W_Q, W_K)
    return M.T @ skew_matrix(X, W_Q, W_K, alpha) @ M


THEOREM_21_RANK_INDEPENDENT.mutant("sign reversed",
    lambda X, W_Q, W_K, alpha: skew_form_of_queries_and_keys(X, W_Q, W_K, -alpha))  # fmt: skip
THEOREM_21_RANK_INDEPENDENT.mutant("symmetric instead of skew",
    "symplectic(W_Q.shape[1]) -> symplectic(W_Q.shape[1], 1)")  # fmt: skip
THEOREM_21_RANK_INDEPENDENT.mutant("scaled by alpha / (2 sqrt(d_v))", lambda value: value * rational(1, 2))

# -- the rank of S: Sections 2.1 and 2.4 -------------------------------------------------------------------------------


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


RANK = Claim(LAYER, "osa.rank-s", label="Section 2.1, text", name="rank of the scores",
    statement=r"\mathbf{S} \text{ has } r \leq 2d_v \text{ where } r = \operatorname{rank}\mathbf{S}",
    relation=HasStructure(), at_sizes={"N": 2, "d": 2, "d_v": 1},
    sizes={"N": (1, 6), "d": (1, 6), "d_v": (1, 2)}, exact=True,
    note="Checked as: all minors of $S$ of order $2 d_v + 1$ vanish. The bound is attained: osa.rank-s-attained.",
)  # fmt: skip
RANK.inputs(X=Tokens, W_Q=Query, W_K=Key, alpha=NonzeroAlpha, d_v=HeadSize)


@RANK.formula
def rank_bound(d_v: HeadSize) -> int:
    """2 d_v, which rank S does not exceed (Section 2.1)."""
    return 2 * d_v


RANK.part("structure",
    lambda value, X, W_Q, W_K, alpha: elementary_symmetric(skew_matrix(X, W_Q, W_K, alpha), value + 1))  # fmt: skip
RANK.mutant("d_v", lambda d_v: d_v)
RANK.mutant("2 d_v - 1", lambda value: value - 1)

SINGLE_HEAD = Construction("h = 1, so d_v = d", shapes={"W_Q": ("d", "d"), "W_K": ("d", "d")})
SINGLE_HEAD_RANK = Claim(OSA, "osa.sec-2.4-r", label="Section 2.4, text", name="rank assumed for a single head",
    statement=r"\text{For simplicity, we assume that we have } h = 1 \text{ and } r = 2d",
    assumptions=[SINGLE_HEAD, Definition("r = rank S (Section 2.1)", by=rank)],
    relation=Equal(), sizes={"N": (1, 6), "d": (1, 4)}, expects="refuted", severity="slip",
    correction="osa.sec-2.4-r-at-most-d",
    consequence=r"""Nothing follows for the costs of Section 2.4, which count the $2d$ columns of the computed $B$; the
        rank of $S$ with a single head is at most $2\lfloor\min(d,N)/2\rfloor$.""",
    note=r"""No input satisfies the assumption. The orders of Section 2.4 use only that $B$ has $2d$ columns, as
        Newton-Schulz makes it, and stand: osa.cost-osa, osa.mem-osa. What is meant shows in what follows: $r = 2d$ is the
        bound $2 d_v$, the width of the $B$ computed, while Section 2.1 defines $r$ as $\operatorname{rank}S$. So this is a
        slip in a symbol, and nothing that the paper concludes is wrong by it.""")  # fmt: skip


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


SINGLE_HEAD_RANK_AT_MOST_D = Claim(OSA, "osa.sec-2.4-r-at-most-d",
    label="Section 2.4, the rank of S with a single head", name="rank of the scores with a single head",
    statement=r"\operatorname{rank}\mathbf{S} \le 2\lfloor \min(d,N)/2 \rfloor < 2d \text{ for } h = 1",
    assumptions=[SINGLE_HEAD],
    relation=HasStructure(), at_sizes={"N": 2, "d": 2}, sizes={"N": (1, 6), "d": (1, 4)}, exact=True, of_project=True,
    corrects="osa.sec-2.4-r",
    note=r"""$S$ is skew and of size $N$, so its rank is even and at most $N$; as a multiple of $X\tilde{W}X^\top$ it
        has at most the rank of $\tilde{W}$, which is skew and of size $d$. Checked as: all minors of $S$ of the next
        order vanish. The bound is attained: osa.rank-s-attained.""")  # fmt: skip
SINGLE_HEAD_RANK_AT_MOST_D.inputs(X=Tokens, W_Q=SquareQuery, W_K=SquareWeights, alpha=NonzeroAlpha, N=Length, d=Width)


@SINGLE_HEAD_RANK_AT_MOST_D.formula
def rank_bound_with_a_single_head(N: Length, d: Width) -> int:
    """2 floor(min(d, N) / 2), which rank S does not exceed for h = 1."""
    return min(d, N) // 2 * 2


SINGLE_HEAD_RANK_AT_MOST_D.part("structure",
    lambda value, X, W_Q, W_K, alpha: elementary_symmetric(skew_matrix(X, W_Q, W_K, alpha), value + 1))  # fmt: skip

# No mutant goes below rank S <= 1: where S = 0 is all there is, it is not to be found wrong for free.


SINGLE_HEAD_RANK_AT_MOST_D.mutant("one less", lambda value: max(value - 1, 1))
SINGLE_HEAD_RANK_AT_MOST_D.mutant("floor(min(d, N) / 2)", lambda N, d: max(min(d, N) // 2, 1))

RANK_ATTAINED = Claim(OSA, "osa.rank-s-attained",
    label="Sections 2.1 and 2.4, where the bounds of the rank of S are attained", name="scores of the largest rank",
    statement=r"""
        \mathbf{X} = \mathbf{I}_{2d_v}, \mathbf{W}^Q = [\mathbf{I}, \mathbf{0}]^\top, \mathbf{W}^K = [\mathbf{0},
        \mathbf{I}]^\top:\ \mathbf{S}^\top\mathbf{S} = \tfrac{\alpha^2}{d_v}\mathbf{I}_{2d_v};\quad h = 1, \mathbf{X} =
        \mathbf{W}^Q = \mathbf{I}_d, \mathbf{W}^K = \mathbf{E}_{12}+\mathbf{E}_{34}+\dots:\ \mathbf{S}^\top\mathbf{S} =
        \tfrac{\alpha^2}{d}\mathbf{I}_d \text{ for even } d \text{, with a zero in the last place for odd } d""",
    assumptions=[Definition("S as in Eq. (5)", by=skew_matrix)],
    relation=Equal(), at_sizes={"d_v": 5}, sizes={"d_v": (1, 6)}, exact=True, of_project=True,
    uses=("osa.rank-s", "osa.sec-2.4-r-at-most-d"),
    note=r"""So, for $\alpha \ne 0$, $\operatorname{rank}S = 2 d_v$ with two heads, and $2\lfloor d/2\rfloor$ with a single
        one, where $d_v$ stands for $d$.""")  # fmt: skip


def _pairs(d: int) -> Any:
    """E_12 + E_34 + ..., shape (d, d)."""
    return sum((basis_matrix(d, d, i, i + 1) for i in range(0, d - 1, 2)), zeros(d, d))


def _projection(n: int, r: int) -> Any:
    """diag(1, ..., 1, 0, ..., 0) of rank r, shape (n, n), all entries in one column."""
    return vec_r(concatenate([eye(n)[:, :r], zeros(n, n - r)], axis=1))


@RANK_ATTAINED.formula
def scaled_projections(d_v: HeadSize, alpha: NonzeroAlpha) -> Any:
    """alpha^2 / d_v times I_{2 d_v}, and times I with a zero in the last place for odd d_v, all entries in one column."""
    parts = [_projection(2 * d_v, 2 * d_v), _projection(d_v, d_v // 2 * 2)]
    return concatenate(parts, axis=0) * (alpha * alpha * rational(1, d_v))


@RANK_ATTAINED.oracle
def squares_of_two_scores(d_v: HeadSize, alpha: NonzeroAlpha) -> Any:
    identity, nothing = eye(d_v), zeros(d_v, d_v)
    W_Q, W_K = concatenate([identity, nothing], axis=0), concatenate([nothing, identity], axis=0)
    first = skew_matrix(eye(2 * d_v), W_Q, W_K, alpha)
    second = skew_matrix(identity, identity, _pairs(d_v), alpha)
    return concatenate([vec_r(gram_matrix(first)), vec_r(gram_matrix(second))], axis=0)


RANK_ATTAINED.mutant("rank d_v + 1 with two heads", "_projection(2 * d_v, 2 * d_v) -> _projection(2 * d_v, d_v + 1)")
RANK_ATTAINED.mutant("rank d with a single head, for odd d too", "d_v // 2 * 2 -> d_v")
RANK_ATTAINED.mutant("rank 2 at most with a single head", "d_v // 2 * 2 -> min(d_v // 2 * 2, 2)")
