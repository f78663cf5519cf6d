"""F.4 and F.5, Eqs. (47)-(53): the differential of the layer, and the square of W~."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.definitions import attention, attention_matrix, query_key_generator
from theorems.osa.settings import (
    COLUMN_MAJOR, HEADS, LAYER_OF_FEW_TOKENS, ORTHONORMAL_QUERIES_AND_KEYS, layer, orthonormal_queries_and_keys,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, AttentionMatrix, HeadWeights, Key, OtherRectangle, Output, Query, Rectangle, Tokens, Value,
)  # fmt: skip
from verify.matrix import (
    COLUMN, concatenate, diag, eye, inverse, kron, singular_values, symmetric_eigenvalues, total, unvec_r, vec_c,
    vec_r, zeros,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Claim, Construction, Convention, Definition, Equal, HasStructure, Shape

# -- the differential of the layer: Eqs. (47) - (49) -------------------------------------------------------------------


def _slope(curve: Callable[[Any], Any], like: Any) -> Any:
    """d curve / dt at t = 0 as a column (row-major), for a matrix-valued curve in the arithmetic of `like`."""
    return jacobian(curve, "t")(like[:1, :1] * 0)


EQUATION_47 = Claim(LAYER_OF_FEW_TOKENS, "osa.eq-47", label="Eq. (47), F.4", name="differential of the layer",
    statement=r"""\partial\mathrm{OSA}(\mathbf{X})=\partial\mathbf{A}(\mathbf{X})(\mathbf{X}\mathbf{W}^V\mathbf{W}^O)+
        \mathbf{A}(\mathbf{X})\partial\mathbf{X}(\mathbf{W}^V\mathbf{W}^O)+\mathbf{A}(\mathbf{X})\mathbf{X}\partial(
        \mathbf{W}^V\mathbf{W}^O)""",
    assumptions=[Definition("A, X and W^V W^O vary along lines", by=_slope)],
    relation=Equal(), all_sizes=True, sizes={"N": (1, 4), "d": (1, 3), "d_v": (1, 3)}, exact=True,
)  # fmt: skip


@EQUATION_47.inputs
def layer_and_directions(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, dX: Tokens, dW_V: HeadWeights, dW_O: Output
) -> Any:
    return {**layer(X, W_Q, W_K, W_V, W_O, alpha), "dX": dX, "dW_V": dW_V, "dW_O": dW_O}


@EQUATION_47.formula
def attention_differential(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, dX: Tokens, dW_V: HeadWeights, dW_O: Output
) -> Any:
    """dA X W + A dX W + A X dW for W = W_V W_O, shape (N, d) (Eq. (47))."""
    N, A, W = X.shape[0], attention_matrix(X, W_Q, W_K, alpha), W_V @ W_O
    dA = unvec_r(_slope(lambda t: attention_matrix(X + t * dX, W_Q, W_K, alpha), X), N, N)
    dW = dW_V @ W_O + W_V @ dW_O
    return dA @ X @ W + A @ dX @ W + A @ X @ dW


@EQUATION_47.oracle
def along_a_line(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, dX: Any, dW_V: Any, dW_O: Any) -> Any:
    slope = _slope(lambda t: attention(X + t * dX, W_Q, W_K, W_V + t * dW_V, W_O + t * dW_O, alpha), X)
    return unvec_r(slope, *X.shape)


EQUATION_47.mutant("A held fixed", "dA @ X @ W -> 0 * X")
EQUATION_47.mutant("X held fixed", "A @ dX @ W -> 0 * X")
EQUATION_47.mutant("W_V W_O held fixed", "A @ X @ dW -> 0 * X")
EQUATION_47.mutant("sign of the first term", "dA @ X @ W -> -(dA @ X @ W)")

KRON_VEC = Claim(OSA, "osa.kron-vec", label="F.4, text", name="Kronecker product times vec",
    statement=r"(A\otimes B)\operatorname{vec}C=\operatorname{vec}(BCA^\top)",
    assumptions=[Convention("column-major vec", by=vec_c)],
    relation=Equal(), all_sizes=True, sizes={"m": (1, 3), "n": (1, 3), "p": (1, 3), "q": (1, 3)}, exact=True,
)  # fmt: skip

Middle = Annotated[Any, Shape("q", "n")]


@KRON_VEC.formula
def kronecker_times_vec(A: Rectangle, B: OtherRectangle, C: Middle) -> Any:
    """(A (x) B) vec C, shape (m p, 1), column-major (F.4)."""
    return kron(A, B) @ vec_c(C)


KRON_VEC.oracle(lambda A, B, C: vec_c(B @ C @ A.T))
KRON_VEC.mutant("factors exchanged", lambda A, B, C: kron(B, A) @ vec_c(C))
KRON_VEC.mutant("rows stacked instead of columns", lambda A, B, C: kron(A, B) @ vec_r(C))

VECTORISED = HEADS.extended(
    "Appendix F.4", assumptions=[COLUMN_MAJOR], sizes={"N": (1, 4), "d": (1, 3), "d_v": (1, 3)}, exact=True
)

EQUATION_48 = Claim(VECTORISED, "osa.eq-48", label="Eq. (48), F.4", name="differential of the layer, vectorised",
    statement=r"""
        \partial\operatorname{vec}\mathrm{OSA}(\mathbf{X})=((\mathbf{X}\mathbf{W}^V\mathbf{W}^O)^\top\otimes\mathbf{I}_N)
        \partial\operatorname{vec}\mathbf{A}(\mathbf{X})+((\mathbf{W}^V\mathbf{W}^O)^\top\otimes\mathbf{A}(\mathbf{X}))
        \partial\operatorname{vec}\mathbf{X}+\cdots""",
    relation=Equal(), all_sizes=True, uses=("osa.kron-vec",),
)  # fmt: skip


def _head(A: Any, X: Any, W: Any) -> Any:
    """A X W, the product that is differentiated."""
    return A @ X @ W


def _swapped(A: Any, B: Any) -> Any:
    """B (x) A."""
    return kron(B, A)


@EQUATION_48.formula
def factors_of_attention_and_tokens(A: AttentionMatrix, X: Tokens, W_V: Value, W_O: Output) -> Any:
    """[(X W)^T (x) I_N, W^T (x) A] for W = W_V W_O, shape (N d, N^2 + N d): what multiplies vec dA and vec dX (Eq. (48))."""
    W = W_V @ W_O
    return concatenate([kron((X @ W).T, eye(A.shape[0])), kron(W.T, A)], axis=1)


EQUATION_48.oracle(
    lambda A, X, W_V, W_O: concatenate([jacobian(_head, name, COLUMN)(A, X, W_V @ W_O) for name in ("A", "X")], axis=1)
)
EQUATION_48.mutant("A transposed", lambda A, X, W_V, W_O: factors_of_attention_and_tokens(A.T, X, W_V, W_O))
EQUATION_48.mutant("W_V W_O not transposed beside A", "W.T -> W")
EQUATION_48.mutant("factors exchanged, as for row-major vec", "kron -> _swapped")

# elsewhere (I_{d_v} (x) A), of shape (d_v N, d_v N), cannot multiply vec dW, of length d^2, to give one of length N d
EQUATION_49 = Claim(VECTORISED, "osa.eq-49", label="Eq. (49), F.4", name="differential of the layer by its weights",
    statement=r"""
        \partial\operatorname{vec}\mathrm{OSA}(\mathbf{X})=\cdots+(\mathbf{I}_{d_v}\otimes\mathbf{A}(\mathbf{X}))\,\partial
        \operatorname{vec}(\mathbf{W}^V\mathbf{W}^O)""",
    assumptions=[Construction("W^V W^O in R^{d x d}", shapes={"W_V": ("d", "d_v"), "W_O": ("d_v", "d")})],
    relation=Equal(), sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 3)},
    where=lambda sizes: sizes["N"] == sizes["d"] == sizes["d_v"], uses=("osa.kron-vec",), expects="refuted",
    severity="slip", correction="osa.eq-49-corrected",
    note=r"""$X$ is missing and $d_v$ stands for $d$. The term is multiplied by
        $\partial\operatorname{vec}(W^VW^O)/\partial\operatorname{vec}X = 0$, so Eq. (50) is untouched.""",
)  # fmt: skip


@EQUATION_49.inputs
def frozen_head(A: AttentionMatrix, X: Tokens, W_V: Value, W_O: Output) -> Any:
    return {"A": A, "X": X, "W_V": W_V, "W_O": W_O}


@EQUATION_49.formula
def factor_of_weights_as_printed(A: AttentionMatrix, W_V: Value) -> Any:
    """I_{d_v} (x) A, shape (d_v N, d_v N) (Eq. (49))."""
    return kron(eye(W_V.shape[1]), A)


EQUATION_49.oracle(lambda A, X, W_V, W_O: jacobian(_head, "W", COLUMN)(A, X, W_V @ W_O))
EQUATION_49.mutant("A dropped", lambda A, W_V: kron(eye(W_V.shape[1]), A * 0 + eye(A.shape[0])))
EQUATION_49.mutant("factors exchanged", lambda A, W_V: kron(A, eye(W_V.shape[1])))
EQUATION_49.counterexample(
    "one token, d = d_v = 1: d(A X W) = A X dW is 2 dW, not dW", A=[[1]], X=[[2]], W_V=[[1]], W_O=[[1]]
)

EQUATION_49_CORRECTED = Claim(VECTORISED, "osa.eq-49-corrected", label="Eq. (49), with X",
    statement=r"""
        \mathrm{OSA}(\mathbf{X})=\mathbf{A}(\mathbf{X})\mathbf{X}\mathbf{W}^V\mathbf{W}^O,\ \mathbf{A}(\mathbf{X})\text{ and
        }\mathbf{X}\text{ fixed}:\ \partial\operatorname{vec}\mathrm{OSA}(\mathbf{X})=(\mathbf{I}_d\otimes
        \mathbf{A}(\mathbf{X})\mathbf{X})\,\partial\operatorname{vec}(\mathbf{W}^V\mathbf{W}^O)""",
    name="differential of the layer by its weights, corrected", relation=Equal(), all_sizes=True,
    uses=("osa.kron-vec",), corrects="osa.eq-49", of_project=True,
)  # fmt: skip
EQUATION_49_CORRECTED.inputs(frozen_head)


@EQUATION_49_CORRECTED.formula
def factor_of_weights(A: AttentionMatrix, X: Tokens) -> Any:
    """I_d (x) A X, shape (N d, d^2): what multiplies vec d(W_V W_O)."""
    return kron(eye(X.shape[1]), A @ X)


EQUATION_49_CORRECTED.oracle(lambda A, X, W_V, W_O: jacobian(_head, "W", COLUMN)(A, X, W_V @ W_O))
EQUATION_49_CORRECTED.mutant("A transposed", lambda A, X: kron(eye(X.shape[1]), A.T @ X))
EQUATION_49_CORRECTED.mutant("A dropped", lambda X: kron(eye(X.shape[1]), X))
EQUATION_49_CORRECTED.mutant("twice", lambda A, X: kron(eye(X.shape[1]), A @ X * 2))

CONSTANTS = Claim(VECTORISED, "osa.f4-constants", label="F.4, text before Eq. (50)",
    statement=r"""\partial \operatorname{vec}\mathbf{X}/\partial \operatorname{vec}\mathbf{X} = \mathbf{I} \text{ and }
        \partial \operatorname{vec}(\mathbf{W}^V\mathbf{W}^O)/\partial \operatorname{vec}\mathbf{X} = 0""",
    name="Jacobians of the tokens and of the weights by the tokens", relation=Equal(), all_sizes=True,
)  # fmt: skip


@CONSTANTS.formula
def identity_and_zero(X: Tokens, W_V: Value, W_O: Output) -> Any:
    """I of order N d and zeros of shape (d^2, N d), on top of each other (F.4)."""
    N, d = X.shape
    return concatenate([eye(N * d), zeros(W_V.shape[0] * W_O.shape[1], N * d)], axis=0) + 0 * total(X)


@CONSTANTS.oracle
def jacobians_by_tokens(X: Tokens, W_V: Value, W_O: Output) -> Any:
    def tokens(X: Any) -> Any:
        return X

    def weights(X: Any) -> Any:
        return W_V @ W_O + 0 * total(X)

    return concatenate([jacobian(tokens, "X", COLUMN)(X), jacobian(weights, "X", COLUMN)(X)], axis=0)


CONSTANTS.mutant("doubled", "eye(N * d) -> 2 * eye(N * d)")
CONSTANTS.mutant("1 added to every entry", lambda value: value + 1)

EQUATION_53 = Claim(OSA, "osa.eq-53", label="Eqs. (51)-(53), F.5", name="square of the query-key matrix",
    statement=r"""
        \tilde{\mathbf{W}}\tilde{\mathbf{W}}^\top=-\tilde{\mathbf{W}}^2=-(\mathbf{W}^Q(\mathbf{W}^K)^\top-\mathbf{W}^K(\mathbf{W}^Q)^\top)(\mathbf{W}^Q(\mathbf{W}^K)^\top-\mathbf{W}^K(\mathbf{W}^Q)^\top)=\mathbf{W}^Q(\mathbf{W}^Q)^\top+\mathbf{W}^K(\mathbf{W}^K)^\top.
        \text{ We note that the right-hand side is a projection matrix onto the subspace spanned by }
        \mathbf{W}^Q,\mathbf{W}^K""",
    assumptions=[ORTHONORMAL_QUERIES_AND_KEYS],
    relation=Equal(), all_sizes=True, hypotheses=(ORTHONORMAL_QUERIES_AND_KEYS,), exact=True,
    sizes={"d": (2, 6), "d_v": (1, 3)},
)  # fmt: skip
EQUATION_53.inputs(orthonormal_queries_and_keys)


def _three_times(P: Any) -> Any:
    return concatenate([P, P, P], axis=0)


@EQUATION_53.formula
def squared_query_key_matrix(W_Q: Query, W_K: Key) -> Any:
    """W_Q W_Q^T + W_K W_K^T, shape (d, d), once for each member of Eqs. (51) - (53), stacked."""
    return _three_times(W_Q @ W_Q.T + W_K @ W_K.T)


@EQUATION_53.oracle
def squares_and_projection(W_Q: Query, W_K: Key) -> Any:
    W, M = query_key_generator(W_Q, W_K), concatenate([W_Q, W_K], axis=1)
    return concatenate([W @ W.T, -(W @ W), M @ inverse(M.T @ M) @ M.T], axis=0)


EQUATION_53.mutant("difference instead of sum", lambda W_Q, W_K: _three_times(W_Q @ W_Q.T - W_K @ W_K.T))
EQUATION_53.mutant("mixed products", lambda W_Q, W_K: _three_times(W_Q @ W_K.T + W_K @ W_Q.T))

FACTS = Claim(OSA, "osa.f5-facts", label="F.5, text after Eq. (53)", name="products of orthonormal queries and keys",
    statement=r"""\tilde{\mathbf{W}} \text{ is skew-symmetric and } (\mathbf{W}^Q)^\top\mathbf{W}^Q =
        (\mathbf{W}^K)^\top\mathbf{W}^K = \mathbf{I} \text{ and } (\mathbf{W}^Q)^\top\mathbf{W}^K = 0""",
    assumptions=[ORTHONORMAL_QUERIES_AND_KEYS],
    general="So it repeats its hypothesis.",
    relation=HasStructure(), all_sizes=True, hypotheses=(ORTHONORMAL_QUERIES_AND_KEYS,), exact=True,
    sizes={"d": (2, 6), "d_v": (1, 3)},
    note="The products are the assumption, block by block; that $\\tilde{W}$ is skew holds for all weights.",
)  # fmt: skip
FACTS.inputs(orthonormal_queries_and_keys)


@FACTS.formula
def products_of_queries_and_keys(W_Q: Query, W_K: Key) -> list[Any]:
    """W~ (d, d), W_Q^T W_Q, W_K^T W_K and W_Q^T W_K (d_v, d_v)."""
    return [query_key_generator(W_Q, W_K), W_Q.T @ W_Q, W_K.T @ W_K, W_Q.T @ W_K]


@FACTS.part("structure")
def defects_of_products(value: list[Any]) -> Any:
    W, queries, keys, mixed = value
    identity = eye(queries.shape[0])
    return concatenate([vec_r(W + W.T), vec_r(queries - identity), vec_r(keys - identity), vec_r(mixed)], axis=0)


FACTS.mutant("sum instead of difference in W~",
    "query_key_generator(W_Q, W_K) -> W_Q @ W_K.T + W_K @ W_Q.T")  # fmt: skip
FACTS.mutant("rows instead of columns", "W_Q.T @ W_Q -> (W_Q @ W_Q.T)[: W_Q.shape[1], : W_Q.shape[1]]")
FACTS.mutant("keys in the place of queries in the last product", "W_Q.T @ W_K -> W_K.T @ W_K")

ROOTS = Claim(OSA, "osa.f5-square-roots", label="F.5, last sentence", name="singular values of the query-key matrix",
    statement=r"""\text{the singular values of } \tilde{\mathbf{W}} \text{ are the square-root of the absolute value of
        the eigenvalues of } \tilde{\mathbf{W}}\tilde{\mathbf{W}}^\top""",
    relation=Equal(), sizes={"d": (1, 4), "d_v": (1, 3)},
    note=r"""In decreasing order, for all weights: compared as squares. The eigenvalues are not negative, so that no
        absolute value is needed.""",
)  # fmt: skip


@ROOTS.formula
def eigenvalues_of_square(W_Q: Query, W_K: Key) -> Any:
    """The absolute eigenvalues of W~ W~^T, shape (d,), in decreasing order (F.5)."""
    W = query_key_generator(W_Q, W_K)
    return singular_values(diag(symmetric_eigenvalues(W @ W.T)))


@ROOTS.oracle
def squared_singular_values(W_Q: Query, W_K: Key) -> Any:
    values = singular_values(query_key_generator(W_Q, W_K))
    return values * values


ROOTS.mutant("W~ with a sum instead of a difference", "query_key_generator(W_Q, W_K) -> W_Q @ W_K.T + W_K @ W_Q.T")
ROOTS.mutant("eigenvalues of W~^2 added", "W @ W.T -> W @ W.T - W @ W")
