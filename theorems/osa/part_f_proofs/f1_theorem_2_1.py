"""F.1, the proof of Theorem 2.1, Eqs. (17) and (18): the image of S, its restriction, powers and the series."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any

from theorems.shared import reached
from theorems.osa.definitions import queries_and_keys, rank, skew_matrix
from theorems.osa.part_2_1_low_rank_exponential.theorem_2_1 import symplectic
from theorems.osa.settings import (
    AROUND_THE_IMAGE,
    BASIS,
    LAYER,
    NONZERO_ALPHA,
    ORTHONORMAL,
    tokens_with_basis_of_the_image,
)
from theorems.osa.shapes import (
    Alpha, Basis, Coordinates, Key, NonzeroAlpha, OutsideSpan, Query, TokenFrame, Tokens,
)  # fmt: skip
from verify.matrix import concatenate, expm, eye, rational, sqrt, total
from verify.vocabulary import Assumption, Claim, Definition, Equal, HasStructure, Shape, realises

# -- the steps of the proof of Theorem 2.1 -----------------------------------------------------------------------------

IMAGE = Claim(LAYER, "osa.f1-image", label="F.1, first paragraph", name="image of the scores",
    statement=r"""\text{let } U \text{ be the subspace given by the image of } \mathbf{S}\text{. This is spanned by the
        span of the column space of } \mathbf{Q} \text{ and } \mathbf{K};\ \dim U = r""",
    assumptions=[Definition("r = rank S", by=rank), NONZERO_ALPHA],
    relation=Equal(), expects="refuted", severity="error", correction="osa.f1-image-independent",
    note=r"""The image of $S$ lies in the span of $Q$ and $K$ but may be smaller: $S$ has even rank, and vanishes for
        $Q$ parallel to $K$. The proof needs only the inclusion: osa.f1-restrict. With $h > 1$ and $2 d_v \le N$, the
        usual case, almost all inputs satisfy it; with $h = 1$ and odd $d \le N$, or odd $N$ below both $d$ and $2 d_v$,
        no input with $[Q,K]$ of the largest rank does.""",
)  # fmt: skip


@IMAGE.formula
def dimension_of_image(X: Tokens, W_Q: Query, W_K: Key, alpha: NonzeroAlpha) -> Any:
    """dim U = rank S, a scalar (Appendix F.1)."""
    return rank(skew_matrix(X, W_Q, W_K, alpha))


@IMAGE.oracle
def dimension_of_image_with_queries_and_keys(X: Tokens, W_Q: Query, W_K: Key, alpha: NonzeroAlpha) -> Any:
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


IMAGE_INDEPENDENT = Claim(LAYER, "osa.f1-image-independent", label="F.1, the image of S inside the span of Q and K",
    statement=r"""
        \text{The image of } \mathbf{S} \text{ lies in the span of the columns of } \mathbf{Q} \text{ and } \mathbf{K}, \text{
        with equality exactly if } \operatorname{rank}\mathbf{S} = \dim\operatorname{span}[\mathbf{Q},\mathbf{K}], \text{
        as where the columns of } \mathbf{M} = [\mathbf{Q},\mathbf{K}] \text{ are linearly independent}: \quad \mathbf{S} =
        \tfrac{\alpha}{\sqrt{d_v}}\,\mathbf{M}\begin{pmatrix}0 & \mathbf{I}\\ -\mathbf{I} & 0\end{pmatrix}\mathbf{M}^\top,
        \quad \mathbf{S}\mathbf{M} = \tfrac{\alpha}{\sqrt{d_v}}\,\mathbf{M}\begin{pmatrix}0 & \mathbf{I}\\ -\mathbf{I} &
        0\end{pmatrix}\mathbf{M}^\top\mathbf{M}""",
    assumptions=[NONZERO_ALPHA],
    name="image of the scores, corrected", relation=Equal(), all_sizes=True, corrects="osa.f1-image",
    uses=("osa.thm-2.1-rank-independent",), of_project=True, exact=True,
    note=r"""The first identity is the inclusion. A subspace is the whole space exactly if the dimensions agree. Where
        $M^\top M$ is nonsingular, the second has nonsingular factors on the right of $M$, so that $Q$ and $K$ lie in
        the image.""",
)  # fmt: skip


@IMAGE_INDEPENDENT.formula
def image_of_queries_and_keys(X: Tokens, W_Q: Query, W_K: Key, alpha: NonzeroAlpha) -> Any:
    """alpha / sqrt(d_v) M [[0, I], [-I, 0]] M^T, and that times M, for M = [Q, K], shape (N, N + 2 d_v)."""
    M, n = queries_and_keys(X, W_Q, W_K), W_Q.shape[1]
    S = M @ symplectic(n) @ M.T * (alpha / sqrt(n))
    return concatenate([S, S @ M], axis=1)


@IMAGE_INDEPENDENT.oracle
def skew_matrix_and_its_image_of_queries_and_keys(X: Tokens, W_Q: Query, W_K: Key, alpha: NonzeroAlpha) -> Any:
    S = skew_matrix(X, W_Q, W_K, alpha)
    return concatenate([S, S @ queries_and_keys(X, W_Q, W_K)], axis=1)


IMAGE_INDEPENDENT.mutant("sign of the scale reversed", lambda value: -value)
IMAGE_INDEPENDENT.mutant("symmetric instead of skew", sign=1)

ORTHOGONAL_TO_IMAGE = Assumption(
    "x is orthogonal to the image of S", zero=lambda X, W_Q, W_K, alpha, x: skew_matrix(X, W_Q, W_K, alpha).T @ x
)
RESTRICTION = Claim(LAYER, "osa.f1-restrict", label="F.1, first paragraph",
    statement=r"""\text{take } x \in U^\perp, \dots \text{ hence } \mathbf{S}x = 0. \text{ Therefore, } \mathbf{S}
        \text{ can be considered as a linear mapping } U \to U""",
    assumptions=[Definition("U is the image of S", by=skew_matrix), ORTHOGONAL_TO_IMAGE],
    name="restriction of the scores to their image",
    general=r"It repeats that $x$ is orthogonal to the image of $S$, by $Sx = -S^\top x$.",
    relation=HasStructure(), all_sizes=True,
    hypotheses=(ORTHOGONAL_TO_IMAGE,), exact=True, sizes={**LAYER.sizes, "q": (0, 1)},
    note=r"""So for $U$ the image of $S$, and for the span of $Q$ and $K$, which contains it. For the image the printed
        reason, left out above, that $x$ is orthogonal to the columns of $Q$ and $K$, is not available (osa.f1-image),
        and is not needed: $Sx = -S^\top x = 0$.""",
)  # fmt: skip

Vector = Annotated[Any, Shape("N", "1")]
Direction = Annotated[Any, Shape("d", "1")]


@RESTRICTION.inputs
@realises(
    {
        "x is orthogonal to the image of S": (
            "the weights are made orthogonal to y = X^T x, so that x is orthogonal to Q "
            "and K, or, with q = 1, to one of them alone"
        )
    },
    but=(
        "x is orthogonal to all columns of Q and K, or to all but one; only S is read of them, and every S whose image is"
        " orthogonal to x is that of some Q and K orthogonal to x"
    ),
)
def tokens_with_orthogonal_vector(
    X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, x: Vector, y: Direction, q: OutsideSpan
) -> dict[str, Any]:
    """Tokens with X^T x = y, and weights orthogonal to y: x is orthogonal to Q and K, not to the tokens.

    With q = 1 the first query feature reads y instead and the first key feature vanishes: x is orthogonal to S, not to Q.
    """

    def across(A: Any, b: Any) -> Any:
        """A (m, n) without its part along b (m, 1)."""
        return A - b @ (b.T @ A) / total(b * b)

    along = x @ y.T / total(x * x)
    W_Q, W_K = across(W_Q, y), across(W_K, y)
    if q:
        head = eye(W_K.shape[1])[:, :1]
        W_Q, W_K = W_Q + y @ head.T, W_K - W_K @ head @ head.T
    return {"X": across(X, x) + along, "W_Q": W_Q, "W_K": W_K, "alpha": alpha, "x": x}


@RESTRICTION.formula
def restricted_scores(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """S, shape (N, N)."""
    return skew_matrix(X, W_Q, W_K, alpha)


@RESTRICTION.part("structure")
def image_of_orthogonal_vector(value: Any, x: Vector) -> Any:
    """[S x, S^T x], shape (N, 2)."""
    return concatenate([value @ x, value.T @ x], axis=1)


RESTRICTION.mutant("Gram matrix of the tokens added", lambda value, X: value + X @ X.T)
RESTRICTION.mutant("exp(S) instead of S", lambda value: expm(value))


BasisVector = Annotated[Any, Shape("r", "1")]

COORDINATES = Claim(BASIS, "osa.f1-coordinates", label="F.1, second paragraph",
    statement=r"""
        \mathbf{B}^\top : \mathbb{R}^N \rightarrow \mathbb{R}^r \text{ is a change-of-basis map sending a vector in } U
        \text{ to its coordinate representation given by } u_1, \dots, u_r \text{ and that } \mathbf{B} : \mathbb{R}^r
        \rightarrow \mathbb{R}^N \text{ is the inverse mapping and } \mathbf{B}^\top\mathbf{B} = \mathbf{I}_r. \text{
        From this, we can conclude that there exists a matrix } [\mathbf{S}] = \mathbf{B}^\top\mathbf{S}\mathbf{B} \in
        \mathbb{R}^{r\times r} \text{ that represents } \mathbf{S} \text{ in the coordinates given by } u_1, \dots,
        u_r""",
    name="coordinates of vectors and of the scores in a basis", relation=Equal(), all_sizes=True,
    hypotheses=(ORTHONORMAL,), uses=("osa.f1-restrict",),
    note=r"""For every $u = Bc$ in $U$, the span of the columns $u_1, \dots, u_r$ of $B$: $B^\top u = c$, $BB^\top u =
        u$, and $B([S]B^\top u) = Su$. As $U$ may be any space that contains the image of $S$, it holds for the image,
        as printed, and for the span of $Q$ and $K$. $B$ inverts $B^\top$ on $U$ alone: on the rest of $\mathbb{R}^N$
        $BB^\top$ is a projection.""",
)  # fmt: skip


@COORDINATES.inputs
@realises(AROUND_THE_IMAGE, but=reached.IMAGES)
def basis_and_coordinates(
    frame: TokenFrame, C: Coordinates, W_Q: Query, W_K: Key, alpha: Alpha, outward: OutsideSpan, c: BasisVector
) -> dict[str, Any]:
    """A basis whose span contains the image of S, and the coordinates of a vector in it."""
    return {**tokens_with_basis_of_the_image(frame, C, W_Q, W_K, alpha, outward), "c": c}


@COORDINATES.formula
def coordinates_and_represented_scores(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, B: Basis, c: BasisVector) -> Any:
    """B^T u, B B^T u and B [S] B^T u for u = B c, shape (r + 2 N, 1) (Appendix F.1)."""
    found, S = B.T @ (B @ c), skew_matrix(X, W_Q, W_K, alpha)
    return concatenate([found, B @ found, B @ (B.T @ S @ B @ found)], axis=0)


@COORDINATES.oracle
def vector_and_its_image(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, B: Basis, c: BasisVector) -> Any:
    u = B @ c
    return concatenate([c, u, skew_matrix(X, W_Q, W_K, alpha) @ u], axis=0)


COORDINATES.mutant("[S] transposed", "B.T @ S @ B -> (B.T @ S @ B).T")
COORDINATES.mutant("coordinates doubled", "B.T @ (B @ c) -> B.T @ (B @ c) * 2")
COORDINATES.mutant("I_r added to [S]", "B.T @ S @ B -> (B.T @ S @ B + eye(B.shape[1]))")

POWERS = Claim(BASIS, "osa.eq-17", label="Eq. (17), F.1", name="powers of the scores through the basis",
    statement=r"""\mathbf{S} = \mathbf{B}[\mathbf{S}]\mathbf{B}^\top \implies \mathbf{S}^n =
        \mathbf{B}[\mathbf{S}]^n\mathbf{B}^ \top""",
    relation=Equal(), all_sizes=True, uses=("osa.f1-restrict",),
    note=r"""For $n \ge 1$, as Eq. (18) has it, which sets $n = 0$ apart: there $I_N$ and $BB^\top$ differ for $r < N$.
        Checked for $n = 1, \dots, 5$.""",
)  # fmt: skip
POWER_LIMIT = 5


def _powers(S: Any) -> list[Any]:
    """S, S^2, ..., S^5."""
    return list(itertools.accumulate([S] * POWER_LIMIT, lambda left, right: left @ right))


@POWERS.formula
def powers_through_basis(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, B: Basis) -> Any:
    """B [S]^n B^T for n = 1, ..., 5 on top of each other, shape (5 N, N) (Eq. (17))."""
    reduced = B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B
    return concatenate([B @ power @ B.T for power in _powers(reduced)], axis=0)


POWERS.oracle(lambda X, W_Q, W_K, alpha: concatenate(_powers(skew_matrix(X, W_Q, W_K, alpha)), axis=0))
POWERS.mutant("B [S]^(n-1) B^T, so B B^T at n = 1", "_powers(reduced) -> [eye(B.shape[1]), *_powers(reduced)[:-1]]")
POWERS.mutant("[S] transposed", "alpha -> -alpha")

SERIES = Claim(BASIS, "osa.eq-18", label="Eq. (18), F.1", name="series of the exponential through the basis",
    statement=r"""\exp(\mathbf{S}) = \sum_{n=0}^\infty \frac{\mathbf{S}^n}{n!} = \mathbf{I}_N + \sum_{n=1}^\infty
        \frac{\mathbf{S}^n}{n!} = \mathbf{I}_N + \sum_{n=1}^\infty \frac{\mathbf{B}[\mathbf{S}]^n\mathbf{B}^\top}{n!} =
        \mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I}_r)\mathbf{B}^\top""",
    relation=Equal(), all_sizes=True, uses=("osa.eq-17",),
    note=r"""Two comparisons: the partial sums to $n = 5$ of both series, term by term; and the two ends of the chain.
        That $\exp$ is the sum of the series is its definition.""",
)  # fmt: skip


def _partial_sums(S: Any) -> list[Any]:
    """S, S + S^2 / 2, ..., up to S^5 / 5!."""
    terms = [power * rational(1, math.factorial(n)) for n, power in enumerate(_powers(S), start=1)]
    return list(itertools.accumulate(terms, lambda left, right: left + right))


@SERIES.formula
def series_through_basis(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, B: Basis) -> Any:
    """I_N + sum_{n=1}^k B [S]^n B^T / n! for k = 1, ..., 5, then I_N + B (exp[S] - I_r) B^T, shape (6 N, N) (Eq. (18))."""
    reduced = B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B
    members = [*_partial_sums(reduced), expm(reduced) - eye(B.shape[1])]
    return concatenate([eye(B.shape[0]) + B @ member @ B.T for member in members], axis=0)


@SERIES.oracle
def series_of_scores(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    S = skew_matrix(X, W_Q, W_K, alpha)
    return concatenate([*(eye(S.shape[0]) + partial for partial in _partial_sums(S)), expm(S)], axis=0)


SERIES.mutant("I_N dropped", "eye(B.shape[0]) -> 0")
SERIES.mutant("I_r not subtracted", "eye(B.shape[1]) -> 0")
SERIES.mutant("[S] transposed", "alpha -> -alpha")
