"""What parts of the paper assume: assumptions, inputs that satisfy them, and the settings that claims of several parts name.

A setting that only one part uses stands in that part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import (
    newton_schulz_basis, orthonormal_columns, queries_and_keys, skew_matrix, whole_heads,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, Coordinates, Epsilon, Frame, HeadSize, Key, Output, OutsideSpan, Query, Steps, TokenFrame, Tokens, Value,
)  # fmt: skip
from verify.matrix import COLUMN, column, concatenate, expm, eye, rational, smallest_singular_value, spectral_norm
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Construction, Convention, Definition, Scale, Setting, subject, realises

# -- Appendix E --------------------------------------------------------------------------------------------------------


#: The scale of S in the experiments, and a regulariser, which the source does not state.
UNTRAINED_ALPHA, UNTRAINED_EPSILON = 0.1, 1e-7


def untrained(arrays: dict[str, Any], sizes: Mapping[str, int], rng: np.random.Generator) -> None:
    """Give the drawn arrays the values of the experiments, in place.

    The source does not state the scale of the tokens: independent standard normal entries are taken.
    """
    for name, value in {"alpha": UNTRAINED_ALPHA, "epsilon": UNTRAINED_EPSILON, "decay": 0.0}.items():
        if name in arrays:
            arrays[name][:] = value
    if "X" in arrays:
        arrays["X"][:] = rng.standard_normal(arrays["X"].shape)


#: 49 patches and [cls], h = 4 heads, K = 6 Newton-Schulz steps; m and r stand for 2 d_v, l for the number of blocks.
UNTRAINED = Scale("untrained network of Appendix E",
    {"N": 50, "d": 64, "d_v": 16, "K": 6, "m": 32, "r": 32, "l": 6}, untrained)  # fmt: skip

# -- Section 2 ---------------------------------------------------------------------------------------------------------

WHOLE_HEADS = Assumption("d_v = d/h for a whole number h of heads", sizes=whole_heads)
SHAPES = Construction("X in R^{N x d}; W^Q, W^K, W^V in R^{d x d_v}; W^O in R^{d_v x d}",
    shapes={"X": ("N", "d"), "W_Q": ("d", "d_v"), "W_K": ("d", "d_v"), "W_V": ("d", "d_v"), "W_O": ("d_v", "d")})  # fmt: skip
COLUMN_MAJOR = Convention("column-major vec", by=COLUMN)

HEADS = Setting(OSA, "Section 2", assumptions=[WHOLE_HEADS], sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4)})
#: The layer of Eq. (5).
LAYER = HEADS.extended("Section 2, Eq. (5)", assumptions=[SHAPES])
#: The same, for what is decided at the sizes of the experiments too.
UNTRAINED_LAYER = LAYER.extended(scales=[UNTRAINED])
#: The same on fewer tokens, for what is large or slow: Jacobians, all heads at once.
LAYER_OF_FEW_TOKENS = LAYER.extended(sizes={"N": (1, 4)})


def tokens_and_weights(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> dict[str, Any]:
    """Inputs of S, with a scale that balls have to round as floats do.

    For parallel Q and K, exact in balls otherwise, they then see the cancellation in Q K^T - K Q^T.
    """
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "alpha": alpha * rational(1, 3)}


def layer(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> dict[str, Any]:
    """Inputs of the layer, with such a scale."""
    return {**tokens_and_weights(X, W_Q, W_K, alpha), "W_V": W_V, "W_O": W_O}


# -- Section 2.1 -------------------------------------------------------------------------------------------------------

ORTHONORMAL = Assumption("the columns of B are orthonormal", zero=lambda B: B.T @ B - eye(B.shape[1]))


def outside(X: Any, W_Q: Any, W_K: Any, B: Any) -> Any:
    """The part of [Q, K] outside the span of B, shape (N, 2 d_v)."""
    M = queries_and_keys(X, W_Q, W_K)
    return M - B @ (B.T @ M)


CONTAINS_QUERIES_AND_KEYS = Assumption("the columns of B span a space that contains those of Q and K", zero=outside)


def image_outside(X: Any, W_Q: Any, W_K: Any, alpha: Any, B: Any) -> Any:
    """The part of S outside the span of B, shape (N, N)."""
    S = skew_matrix(X, W_Q, W_K, alpha)
    return S - B @ (B.T @ S)


CONTAINS_THE_IMAGE = Assumption("the columns of B span a space that contains the image of S", zero=image_outside)


def with_basis(frame: Any, C: Any, W_Q: Any, W_K: Any, alpha: Any) -> dict[str, Any]:
    """Tokens X = B C inside the span of an exactly orthonormal B (N, r), so that Q and K lie in it too."""
    B = orthonormal_columns(frame, C.shape[0])
    return {"X": B @ C, "W_Q": W_Q, "W_K": W_K, "alpha": alpha, "B": B}


#: What tokens in the span of a basis reach, and what queries that may leave it do.
WITHIN_THE_SPAN = {
    "columns of B are orthonormal": reached.FRAMES,
    "contains those of Q and K": "the tokens are B C, so that Q and K lie in the span of B",
}
NOT_OUTSIDE_IT = (
    "the tokens lie in the span of B; B B^T X in the place of X has the same Q and K, and nothing else of X is read"
)
AROUND_THE_IMAGE = {
    "columns of B are orthonormal": reached.FRAMES,
    "contains the image of S": "S is made of queries and keys in the span of B, or of queries that leave it where the keys vanish",
}


@realises(WITHIN_THE_SPAN, but=NOT_OUTSIDE_IT)
def tokens_with_wide_basis(frame: TokenFrame, C: Coordinates, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """The same as inputs, for any alpha."""
    return with_basis(frame, C, W_Q, W_K, alpha)


@realises(AROUND_THE_IMAGE, but=reached.IMAGES)
def tokens_with_basis_of_the_image(
    frame: TokenFrame, C: Coordinates, W_Q: Query, W_K: Key, alpha: Alpha, outward: OutsideSpan
) -> dict[str, Any]:
    """The same, or with `outward` = 1 tokens X = B C + p e_1^T, p orthogonal to B, whose queries leave the span of B.

    Of C the first column is cleared, of W_K the first row and the first column, and W_Q has the first row e_1^T.  So Q is
    a matrix in the span of B plus p e_1^T, and K e_1 = 0: p is lost in Q K^T - K Q^T, whose image stays inside.
    """
    if not outward:
        return with_basis(frame, C, W_Q, W_K, alpha)
    d, d_v = W_Q.shape
    r = C.shape[0]
    first, head = eye(d)[:, :1], eye(d_v)[:, :1]
    rest, rest_of_head = eye(d) - first @ first.T, eye(d_v) - head @ head.T
    columns = orthonormal_columns(frame, r + 1)
    X = columns[:, :r] @ C @ rest + columns[:, r:] @ first.T
    W_Q, W_K = rest @ W_Q + first @ head.T, rest @ W_K @ rest_of_head
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "alpha": alpha, "B": columns[:, :r]}


#: Orthonormal columns whose span contains the image of S, as many as one likes; that of Q and K may be larger.
BASIS = Setting(OSA, "Section 2.1, any basis",
    assumptions=[
        ORTHONORMAL, CONTAINS_THE_IMAGE,
        Assumption("r <= N and d_v <= d; r + q <= N, where q = 1 leaves out of B a direction of Q and K",
            sizes=lambda sizes: sizes["r"] + sizes["q"] <= sizes["N"] and sizes["d_v"] <= sizes["d"]),
    ],
    hypotheses=[CONTAINS_THE_IMAGE],
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4), "r": (1, 5), "q": (0, 1)},
    inputs=tokens_with_basis_of_the_image, exact=True)  # fmt: skip

NONZERO_ALPHA = Assumption("alpha is not 0", positive=lambda alpha: alpha * alpha)
INDEPENDENT_COLUMNS = Assumption(
    "the columns of [Q, K] are linearly independent",
    positive=lambda X, W_Q, W_K: smallest_singular_value(queries_and_keys(X, W_Q, W_K)),
)
#: What that asks of the sizes where [Q, K] has 2 d_v columns.
TALL_AND_WIDE = Assumption("2 d_v <= N, d", sizes=lambda sizes: 2 * sizes["d_v"] <= min(sizes["N"], sizes["d"]))
INDEPENDENT = Setting(OSA, "Section 2.1, [Q, K] of full column rank",
    assumptions=[INDEPENDENT_COLUMNS, NONZERO_ALPHA, TALL_AND_WIDE],
    sizes={"N": (2, 5), "d": (2, 5), "d_v": (1, 2)},
    without_domains={
        "rank deficient": "deficient weights make columns of [Q, K] dependent",
        "tied": "repeated rows of X and of the weights make columns of [Q, K] dependent",
        "uniform attention": "W^Q = 0 makes Q vanish",
    },
    exact=True)  # fmt: skip

# -- Section 2.3 -------------------------------------------------------------------------------------------------------

# A column, of which proofs of bounds make nothing: of a bare number they would keep only that it is not negative.
POSITIVE_EPSILON = Assumption("eps > 0", positive=lambda epsilon: column(epsilon))
#: The context of Section 2.3, Appendix A and the lemmas of Appendix F.6.
FROM_NEWTON_SCHULZ = Definition(
    "B from Newton-Schulz (9) with M_0 = M/(||M||_F + eps), M = [X W^Q, X W^K], fixed K", by=newton_schulz_basis
)


@subject("osa.newton_schulz_attention_matrix")
def newton_schulz_attention_matrix(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """A = I_N + B (exp[S] - I_{2 d_v}) B^T, shape (N, N), for B from K Newton-Schulz steps on [Q, K] (Sections 2.1, 2.3)."""
    B = newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon)
    S = B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B
    return eye(B.shape[0]) + B @ (expm(S) - eye(B.shape[1])) @ B.T


def newton_schulz_jacobian(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """dvec A/dvec X, shape (N^2, N d), column-major, for this A."""
    return jacobian(newton_schulz_attention_matrix, "X", COLUMN)(X, W_Q, W_K, alpha, epsilon, K)


# -- Appendix C --------------------------------------------------------------------------------------------------------


def gram_defect(W: Any) -> Any:
    """W^T W - I, shape (n, n) for W (m, n): zero exactly if the columns of W are orthonormal."""
    return W.T @ W - eye(W.shape[1])


def frame_defect(W_Q: Query, W_K: Key) -> Any:
    """[W_Q, W_K]^T [W_Q, W_K] - I, shape (2 d_v, 2 d_v)."""
    return gram_defect(concatenate([W_Q, W_K], axis=1))


def two_heads(sizes: Any) -> bool:
    """Whether d_v = d / h for h > 1, so that 2 d_v <= d (Appendix C.2)."""
    return whole_heads(sizes) and 2 * sizes["d_v"] <= sizes["d"]


def narrow_heads(sizes: Any) -> bool:
    """Whether d_v <= d, as for orthonormal columns."""
    return bool(sizes["d_v"] <= sizes["d"])


NARROW_HEADS = Assumption("d_v <= d", sizes=narrow_heads)
ORTHONORMAL_QUERIES_AND_KEYS = Assumption(
    "[W^Q, W^K] in V_{2 d_v}(R^d), uniform, 2 d_v <= d", zero=frame_defect, sizes=two_heads
)
ORTHONORMAL_VALUES = Assumption(
    "W^V = U in V_{d_v}(R^d), uniform", zero=lambda W_V: gram_defect(W_V), sizes=narrow_heads
)
ORTHONORMAL_OUTPUTS = Assumption(
    "(W^O)^T = V in V_{d_v}(R^d), uniform", zero=lambda W_O: gram_defect(W_O.T), sizes=narrow_heads
)
POSITIVE_ALPHA = Assumption("alpha > 0", positive=lambda alpha: alpha)
#: What the bounds by C alpha presuppose: Eq. (5) has alpha in R, and nothing before Theorem C.4 says more.
NONNEGATIVE_ALPHA = Assumption("alpha >= 0 (not printed)", nonnegative=lambda alpha: alpha)
ANY_ALPHA = Construction("alpha in R (Eq. (5))", shapes={"X": ("N", "d")})
LEAST_BOUND = Definition("||X||_2 <= R; the bounds take R = ||X||_2, the least", by=spectral_norm)


@realises({"[W^Q, W^K] in R^{d x 2 d_v} has": reached.FRAMES, "[W^Q, W^K] in V": reached.FRAMES})
def orthonormal_queries_and_keys(frame: Frame, d_v: HeadSize) -> dict[str, Any]:
    """[W_Q, W_K] with orthonormal columns from a free (d, d) matrix."""
    W = orthonormal_columns(frame, 2 * d_v)
    return {"W_Q": W[:, :d_v], "W_K": W[:, d_v:]}
