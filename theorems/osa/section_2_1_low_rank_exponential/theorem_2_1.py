"""Theorem 2.1, Eqs. (6) and (7): the exponential of a low-rank skew matrix through a small basis.

The theorem gives the basis of span[Q, K] as many columns as S has rank: the two differ already for one token.
"""

from __future__ import annotations

from typing import Any

from theorems.osa.appendix_e_experiments.untrained import decided_at_the_experiments
from theorems.osa.definitions import attention_matrix, queries_and_keys, rank, skew_matrix, whole_heads
from theorems.osa.settings import (
    BASIS,
    CONTAINS_QUERIES_AND_KEYS,
    INDEPENDENT,
    LAYER,
    NONZERO_ALPHA,
    ORTHONORMAL,
    with_basis,
)
from theorems.osa.shapes import Alpha, Basis, Coordinates, KeyWeights, NonzeroAlpha, QueryWeights, TokenFrame, Tokens
from verify.claims import Assumption, Claim
from verify.matrix import concatenate, expm, eye, rational, smallest_singular_value, sqrt, zeros
from verify.relations import Equal

THEOREM_21 = Claim(
    LAYER,
    "osa.thm-2.1",
    label="Theorem 2.1, Eqs. (6), (7)",
    statement=r"\text{Let } \mathbf{B}(\mathbf{X}) \in \mathbb{R}^{N\times r} \text{ have columns that provide an orthonormal"
    r" basis for the subspace } U \text{ spanned by the columns of } \mathbf{Q},\mathbf{K}\ (r = \operatorname{rank}\mathbf{S})."
    r" \text{ Then } \exp(\mathbf{S}(\mathbf{X})) = \mathbf{I}_N + \mathbf{B}(\mathbf{X})(\exp[\mathbf{S}](\mathbf{X}) -"
    r" \mathbf{I}_r)\mathbf{B}(\mathbf{X})^\top,\quad [\mathbf{S}](\mathbf{X}) ="
    r" \mathbf{B}(\mathbf{X})^\top\mathbf{S}(\mathbf{X})\mathbf{B}(\mathbf{X}) \in \mathbb{R}^{r\times r}",
    assumptions=[
        ORTHONORMAL,
        CONTAINS_QUERIES_AND_KEYS,
        # [S] is r x r and has the rank of S; nonsingular, it also leaves the span of Q and K no room below r
        Assumption(
            "r = rank S (Section 2.1), which makes that space U itself",
            positive=lambda X, W_Q, W_K, alpha, B: smallest_singular_value(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B),
        ),
    ],
    relation=Equal(),
    sizes={"N": (2, 5), "d": (2, 4), "d_v": (1, 4), "r": (2, 4)},
    where=lambda sizes: (
        whole_heads(sizes) and sizes["r"] % 2 == 0 and sizes["r"] <= min(sizes["N"], sizes["d"], 2 * sizes["d_v"])
    ),
    without_domains={
        "rank deficient": "coordinates of deficient rank leave span[Q, K] smaller than r",
        "tied": "equal rows of the coordinates leave span[Q, K] smaller than r",
        "uniform attention": "W^Q = 0 gives S = 0, whose rank is not r",
    },
    expects="gap",
    presumes=("osa.thm-2.1-rank",),
    proof=("osa.f1-image", "osa.f1-restrict", "osa.eq-17", "osa.eq-18"),
    correction="osa.thm-2.1-any-basis",
    exact=True,
    note="r is used both for rank S and for dim span[Q, K].  Where the two differ no B satisfies the hypotheses; the"
    " identity itself needs only orthonormal columns whose span contains Q and K.  Read as dim U alone, r makes the theorem true"
    " as it stands, and leaves the proof, where U is the image of S: osa.f1-image.",
)
decided_at_the_experiments(THEOREM_21)


@THEOREM_21.inputs
def tokens_with_basis(
    frame: TokenFrame, C: Coordinates, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha
) -> Any:
    return with_basis(frame, C, W_Q, W_K, alpha)


@THEOREM_21.formula
def attention_matrix_in_basis(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    """I_N + B (exp(B^T S B) - I_r) B^T, shape (N, N), for B of shape (N, r) (Theorem 2.1)."""
    S = skew_matrix(X, W_Q, W_K, alpha)
    return eye(B.shape[0]) + B @ (expm(B.T @ S @ B) - eye(B.shape[1])) @ B.T


THEOREM_21.oracle(lambda X, W_Q, W_K, alpha: attention_matrix(X, W_Q, W_K, alpha))
THEOREM_21.mutant(
    "I_r not subtracted",
    lambda X, W_Q, W_K, alpha, B: eye(B.shape[0]) + B @ expm(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B) @ B.T,
)
THEOREM_21.mutant(
    "I_N and I_r both dropped", lambda X, W_Q, W_K, alpha, B: B @ expm(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B) @ B.T
)
THEOREM_21.mutant("[S] transposed", "B.T @ S @ B -> (B.T @ S @ B).T")

THEOREM_21_ANY_BASIS = Claim(
    BASIS,
    "osa.thm-2.1-any-basis",
    label="Theorem 2.1, for any basis",
    statement=r"\text{For every } \mathbf{B} \in \mathbb{R}^{N\times r} \text{ with orthonormal columns whose span contains the"
    r" columns of } \mathbf{Q},\mathbf{K}, \text{ whatever } r \ge \dim U: \quad \exp(\mathbf{S}) = \mathbf{I}_N +"
    r" \mathbf{B}(\exp(\mathbf{B}^\top\mathbf{S}\mathbf{B}) - \mathbf{I}_r)\mathbf{B}^\top",
    relation=Equal(),
    corrects="osa.thm-2.1",
    of_project=True,
    note="A reduced QR of [Q, K] supplies such a B even where the columns of [Q, K] are dependent.",
)
decided_at_the_experiments(THEOREM_21_ANY_BASIS)


@THEOREM_21_ANY_BASIS.formula
def attention_matrix_in_any_basis(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    """I_N + B (exp(B^T S B) - I_r) B^T, shape (N, N), for B of shape (N, r) of any width that suffices."""
    return attention_matrix_in_basis(X, W_Q, W_K, alpha, B)


THEOREM_21_ANY_BASIS.oracle(lambda X, W_Q, W_K, alpha: attention_matrix(X, W_Q, W_K, alpha))


@THEOREM_21_ANY_BASIS.mutant("last column of B left out")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    narrow = concatenate([B[:, :-1], B[:, -1:] * 0], axis=1)
    return attention_matrix_in_basis(X, W_Q, W_K, alpha, narrow)


THEOREM_21_ANY_BASIS.mutant("exponential of -[S]", "alpha -> -alpha")

# -- the rank that Theorem 2.1 takes for granted -----------------------------------------------------------------------

THEOREM_21_RANK = Claim(
    LAYER,
    "osa.thm-2.1-rank",
    label="Theorem 2.1, r",
    statement=r"\operatorname{rank}\mathbf{S} = \dim\operatorname{span}[\mathbf{Q},\mathbf{K}]",
    assumptions=[NONZERO_ALPHA],
    relation=Equal(),
    expects="refuted",
    severity="error",
    correction="osa.thm-2.1-rank-independent",
    of_project=True,
    note="Presupposed where Theorem 2.1 and Appendix F.1 give an orthonormal basis of span[Q, K] as many columns as S has"
    " rank.  S is skew, so its rank is even, and Q parallel to K gives S = 0.",
)


@THEOREM_21_RANK.formula
def rank_of_skew_matrix(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha) -> Any:
    """r = rank S, a scalar (Section 2.1)."""
    return rank(skew_matrix(X, W_Q, W_K, alpha))


THEOREM_21_RANK.oracle(lambda X, W_Q, W_K: rank(queries_and_keys(X, W_Q, W_K)))
THEOREM_21_RANK.mutant("rank of Q K^T alone", lambda X, W_Q, W_K, alpha: rank(X @ W_Q @ (X @ W_K).T * alpha))


@THEOREM_21_RANK.mutant("symmetric instead of skew")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha) -> Any:
    Q, K = X @ W_Q, X @ W_K
    return rank((Q @ K.T + K @ Q.T) * alpha)


THEOREM_21_RANK.counterexample("one token: S = 0, but Q = K = 1 spans a line", X=[[1]], W_Q=[[1]], W_K=[[1]], alpha=1)
THEOREM_21_RANK.counterexample(
    "d = 1: Q and K are parallel whatever the weights, so S = 0", X=[[1], [2]], W_Q=[[1]], W_K=[[3]], alpha=1
)


@THEOREM_21_RANK.counterexample("three independent columns: rank S is even, dim span[Q, K] = 3")
def odd_dimension() -> dict[str, Any]:
    W_Q = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    W_K = [[0, 0, 0, 1], [1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]]
    return {"X": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], "W_Q": W_Q, "W_K": W_K, "alpha": 1}


THEOREM_21_RANK_INDEPENDENT = Claim(
    INDEPENDENT,
    "osa.thm-2.1-rank-independent",
    label="Theorem 2.1, r where [Q, K] has independent columns",
    statement=r"\mathbf{M}^\top\mathbf{S}\mathbf{M} = \tfrac{\alpha}{\sqrt{d_v}}\,\mathbf{M}^\top\mathbf{M}"
    r"\begin{pmatrix}0 & \mathbf{I}\\ -\mathbf{I} & 0\end{pmatrix}\mathbf{M}^\top\mathbf{M} \text{ for } \mathbf{M} ="
    r" [\mathbf{Q},\mathbf{K}]. \text{ If the columns of } \mathbf{M} \text{ are linearly independent, this is nonsingular, so"
    r" } \operatorname{rank}\mathbf{S} = 2d_v = \dim\operatorname{span}[\mathbf{Q},\mathbf{K}]",
    relation=Equal(),
    corrects="osa.thm-2.1-rank",
    of_project=True,
)


@THEOREM_21_RANK_INDEPENDENT.formula
def skew_form_of_queries_and_keys(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha) -> Any:
    """alpha / sqrt(d_v) G [[0, I], [-I, 0]] G with G = M^T M the Gram matrix of M = [Q, K], shape (2 d_v, 2 d_v)."""
    M = queries_and_keys(X, W_Q, W_K)
    return M.T @ M @ _symplectic(W_Q.shape[1]) @ M.T @ M * (alpha / sqrt(W_Q.shape[1]))


def _symplectic(n: int, sign: int = -1) -> Any:
    """[[0, I], [sign I, 0]], shape (2 n, 2 n)."""
    return concatenate(
        [concatenate([zeros(n, n), eye(n)], axis=1), concatenate([eye(n) * sign, zeros(n, n)], axis=1)], axis=0
    )


@THEOREM_21_RANK_INDEPENDENT.oracle
def skew_matrix_between_queries_and_keys(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha) -> Any:
    M = queries_and_keys(X, W_Q, W_K)
    return M.T @ skew_matrix(X, W_Q, W_K, alpha) @ M


THEOREM_21_RANK_INDEPENDENT.mutant(
    "sign reversed", lambda X, W_Q, W_K, alpha: skew_form_of_queries_and_keys(X, W_Q, W_K, -alpha)
)
THEOREM_21_RANK_INDEPENDENT.mutant(
    "symmetric instead of skew", "_symplectic(W_Q.shape[1]) -> _symplectic(W_Q.shape[1], 1)"
)
THEOREM_21_RANK_INDEPENDENT.mutant("scaled by alpha / (2 sqrt(d_v))", lambda value: value * rational(1, 2))
