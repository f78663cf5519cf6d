"""The steps behind Theorems C.1 and C.2: differentials of the layer, and the weights through which it sees queries and keys."""

from __future__ import annotations

from collections.abc import Callable
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
    orthonormal_columns,
    queries_and_keys,
    query_key_generator,
    skew_matrix,
    whole_heads,
)
from theorems.osa.initialisation import layer
from verify.matrix import (
    COLUMN,
    concatenate,
    expm,
    eye,
    inverse,
    kron,
    ones,
    rational,
    sqrt,
    total,
    unvec_r,
    vec_c,
    vec_r,
)
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Equal, HasStructure, Shape, Size, subject

TokenDirection = Annotated[Any, Shape("N", "d")]
ValueDirection = Annotated[Any, Shape("d", "d_v")]
OutputDirection = Annotated[Any, Shape("d_v", "d")]
AttentionMatrix = Annotated[Any, Shape("N", "N")]
Frame = Annotated[Any, Shape("d", "d")]
HeadSize = Annotated[int, Size("d_v")]


@subject("osa.newton_schulz_attention_matrix")
def newton_schulz_attention_matrix(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    """A = I_N + B (exp[S] - I_{2 d_v}) B^T, shape (N, N), for B from K Newton-Schulz steps on [Q, K] (Sections 2.1, 2.3)."""
    B = newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon)
    S = B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B
    return eye(B.shape[0]) + B @ (expm(S) - eye(B.shape[1])) @ B.T


def gram_defect(W: Any) -> Any:
    """W^T W - I, shape (n, n) for W (m, n): zero exactly if the columns of W are orthonormal."""
    return W.T @ W - eye(W.shape[1])


ORTHONORMAL_QUERIES_AND_KEYS = Assumption(
    "[W^Q, W^K] in V_{2 d_v}(R^d), uniform, 2 d_v <= d",
    zero=lambda W_Q, W_K: gram_defect(concatenate([W_Q, W_K], axis=1)),
)
ORTHONORMAL_VALUES = Assumption("W^V = U in V_{d_v}(R^d), uniform", zero=lambda W_V: W_V.T @ W_V - eye(W_V.shape[1]))
ORTHONORMAL_OUTPUTS = Assumption(
    "(W^O)^T = V in V_{d_v}(R^d), uniform", zero=lambda W_O: W_O @ W_O.T - eye(W_O.shape[0])
)


def two_heads(sizes: Any) -> bool:
    """Whether d_v = d / h for h > 1, so that 2 d_v <= d (Appendix C.2)."""
    return whole_heads(sizes) and 2 * sizes["d_v"] <= sizes["d"]


# -- the differential of the layer: Eqs. (47) - (49) -------------------------------------------------------------------

EQUATION_47 = Claim(
    OSA,
    "osa.eq-47",
    label="Eq. (47), F.4",
    statement=r"\partial\mathrm{OSA}=\partial\mathbf{A}(\mathbf{X}\mathbf{W}^V\mathbf{W}^O)+\mathbf{A}\,\partial\mathbf{X}"
    r"(\mathbf{W}^V\mathbf{W}^O)+\mathbf{A}\mathbf{X}\,\partial(\mathbf{W}^V\mathbf{W}^O)",
    assumptions=[SHAPES, "all three factors vary"],
    relation=Equal(),
    sizes={"N": (1, 4), "d": (1, 3), "d_v": (1, 3)},
    where=whole_heads,
    exact=True,
)


@EQUATION_47.inputs
def layer_and_directions(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
    dX: TokenDirection,
    dW_V: ValueDirection,
    dW_O: OutputDirection,
) -> Any:
    return {**layer(X, W_Q, W_K, W_V, W_O, alpha), "dX": dX, "dW_V": dW_V, "dW_O": dW_O}


def _slope(curve: Callable[[Any], Any], like: Any) -> Any:
    """d curve / dt at t = 0 as a column (row-major), for a matrix-valued curve in the arithmetic of `like`."""
    return jacobian(curve, "t")(like[:1, :1] * 0)


def _product_rule(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, dX: Any, dW_V: Any, dW_O: Any, keep: Any = (1, 1, 1)
) -> Any:
    """The three terms of the product rule, each kept or not."""
    N, A, W = X.shape[0], attention_matrix(X, W_Q, W_K, alpha), W_V @ W_O
    dA = unvec_r(_slope(lambda t: attention_matrix(X + t * dX, W_Q, W_K, alpha), X), N, N)
    dW = dW_V @ W_O + W_V @ dW_O
    return dA @ X @ W * keep[0] + A @ dX @ W * keep[1] + A @ X @ dW * keep[2]


@EQUATION_47.formula
def attention_differential(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
    dX: TokenDirection,
    dW_V: ValueDirection,
    dW_O: OutputDirection,
) -> Any:
    """dA X W + A dX W + A X dW for W = W_V W_O, shape (N, d) (Eq. (47))."""
    return _product_rule(X, W_Q, W_K, W_V, W_O, alpha, dX, dW_V, dW_O)


@EQUATION_47.oracle
def along_a_line(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
    dX: TokenDirection,
    dW_V: ValueDirection,
    dW_O: OutputDirection,
) -> Any:
    return _slope(lambda t: attention(X + t * dX, W_Q, W_K, W_V + t * dW_V, W_O + t * dW_O, alpha), X)


def _dropped(name: str, keep: tuple[int, int, int]) -> None:
    @EQUATION_47.mutant(name)
    def _(
        X: Tokens,
        W_Q: QueryWeights,
        W_K: KeyWeights,
        W_V: ValueWeights,
        W_O: OutputWeights,
        alpha: Alpha,
        dX: TokenDirection,
        dW_V: ValueDirection,
        dW_O: OutputDirection,
    ) -> Any:
        return _product_rule(X, W_Q, W_K, W_V, W_O, alpha, dX, dW_V, dW_O, keep)


_dropped("A held fixed", (0, 1, 1))
_dropped("X held fixed", (1, 0, 1))
_dropped("W_V W_O held fixed", (1, 1, 0))
_dropped("sign of the first term", (-1, 1, 1))


KRON_VEC = Claim(
    OSA,
    "osa.kron-vec",
    label="F.4, text",
    statement=r"(A\otimes B)\operatorname{vec}C=\operatorname{vec}(BCA^\top)",
    assumptions=["column-major vec"],
    relation=Equal(),
    sizes={"m": (1, 3), "n": (1, 3), "p": (1, 3), "q": (1, 3)},
    exact=True,
)

LeftFactor = Annotated[Any, Shape("m", "n")]
RightFactor = Annotated[Any, Shape("p", "q")]
Middle = Annotated[Any, Shape("q", "n")]


@KRON_VEC.formula
def kronecker_times_vec(A: LeftFactor, B: RightFactor, C: Middle) -> Any:
    """(A (x) B) vec C, shape (m p, 1), column-major (F.4)."""
    return kron(A, B) @ vec_c(C)


KRON_VEC.oracle(lambda A, B, C: vec_c(B @ C @ A.T))
KRON_VEC.mutant("factors exchanged", lambda A, B, C: kron(B, A) @ vec_c(C))
KRON_VEC.mutant("rows stacked instead of columns", lambda A, B, C: kron(A, B) @ vec_r(C))


EQUATION_48 = Claim(
    OSA,
    "osa.eq-48",
    label="Eq. (48), F.4",
    statement=r"\partial\operatorname{vec}\mathrm{OSA}=((\mathbf{X}\mathbf{W}^V\mathbf{W}^O)^\top\otimes\mathbf{I}_N)\partial"
    r"\operatorname{vec}\mathbf{A}+((\mathbf{W}^V\mathbf{W}^O)^\top\otimes\mathbf{A})\partial\operatorname{vec}\mathbf{X}"
    r"+\cdots",
    assumptions=["column-major vec"],
    relation=Equal(),
    sizes={"N": (1, 4), "d": (1, 3), "d_v": (1, 3)},
    where=whole_heads,
    uses=("osa.kron-vec",),
    exact=True,
)


def _head(A: Any, X: Any, W: Any) -> Any:
    """A X W, the product that is differentiated."""
    return A @ X @ W


@EQUATION_48.formula
def factors_of_attention_and_tokens(A: AttentionMatrix, X: Tokens, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    """[(X W)^T (x) I_N, W^T (x) A] for W = W_V W_O, shape (N d, N^2 + N d): what multiplies vec dA and vec dX (Eq. (48))."""
    W = W_V @ W_O
    return concatenate([kron((X @ W).T, eye(A.shape[0])), kron(W.T, A)], axis=1)


@EQUATION_48.oracle
def partial_jacobians(A: AttentionMatrix, X: Tokens, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    W = W_V @ W_O
    return concatenate([jacobian(_head, name, COLUMN)(A, X, W) for name in ("A", "X")], axis=1)


EQUATION_48.mutant("A transposed", lambda A, X, W_V, W_O: factors_of_attention_and_tokens(A.T, X, W_V, W_O))
EQUATION_48.mutant("W_V W_O not transposed beside A", "W.T -> W")


@EQUATION_48.mutant("factors exchanged, as for row-major vec")
def _(A: AttentionMatrix, X: Tokens, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    W = W_V @ W_O
    return concatenate([kron(eye(A.shape[0]), (X @ W).T), kron(A, W.T)], axis=1)


EQUATION_49 = Claim(
    OSA,
    "osa.eq-49",
    label="Eq. (49), F.4",
    statement=r"\partial\operatorname{vec}\mathrm{OSA}=\cdots+(\mathbf{I}_{d_v}\otimes\mathbf{A}(\mathbf{X}))\,\partial"
    r"\operatorname{vec}(\mathbf{W}^V\mathbf{W}^O)",
    assumptions=["column-major vec", "W^V W^O in R^{d x d}"],
    relation=Equal(),
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 3)},
    # elsewhere (I_{d_v} (x) A), of shape (d_v N, d_v N), cannot multiply vec dW, of length d^2, to give one of length N d
    where=lambda sizes: sizes["N"] == sizes["d"] == sizes["d_v"],
    uses=("osa.kron-vec",),
    expects="refuted",
    severity="slip",
    correction="osa.eq-49-corrected",
    exact=True,
    note="X is missing and d_v stands for d.  The term is multiplied by d vec(W^V W^O)/d vec X = 0, so Eq. (50) is untouched.",
)


@EQUATION_49.inputs
def frozen_head(A: AttentionMatrix, X: Tokens, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    return {"A": A, "X": X, "W_V": W_V, "W_O": W_O}


@EQUATION_49.formula
def factor_of_weights_as_printed(A: AttentionMatrix, W_V: ValueWeights) -> Any:
    """I_{d_v} (x) A, shape (d_v N, d_v N) (Eq. (49))."""
    return kron(eye(W_V.shape[1]), A)


EQUATION_49.oracle(lambda A, X, W_V, W_O: jacobian(_head, "W", COLUMN)(A, X, W_V @ W_O))
EQUATION_49.mutant("A dropped", lambda A, W_V: kron(eye(W_V.shape[1]), A * 0 + eye(A.shape[0])))
EQUATION_49.mutant("factors exchanged", lambda A, W_V: kron(A, eye(W_V.shape[1])))
EQUATION_49.counterexample(
    "one token, d = d_v = 1: d(A X W) = A X dW is 2 dW, not dW", A=[[1]], X=[[2]], W_V=[[1]], W_O=[[1]]
)


EQUATION_49_CORRECTED = Claim(
    OSA,
    "osa.eq-49-corrected",
    label="Eq. (49), with X",
    statement=r"\partial\operatorname{vec}\mathrm{OSA}=\cdots+(\mathbf{I}_d\otimes\mathbf{A}(\mathbf{X})\mathbf{X})\,\partial"
    r"\operatorname{vec}(\mathbf{W}^V\mathbf{W}^O)",
    assumptions=["column-major vec"],
    relation=Equal(),
    sizes={"N": (1, 4), "d": (1, 3), "d_v": (1, 3)},
    where=whole_heads,
    uses=("osa.kron-vec",),
    corrects="osa.eq-49",
    exact=True,
    of_project=True,
)


@EQUATION_49_CORRECTED.inputs
def frozen_head_again(A: AttentionMatrix, X: Tokens, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    return {"A": A, "X": X, "W_V": W_V, "W_O": W_O}


@EQUATION_49_CORRECTED.formula
def factor_of_weights(A: AttentionMatrix, X: Tokens) -> Any:
    """I_d (x) A X, shape (N d, d^2): what multiplies vec d(W_V W_O)."""
    return kron(eye(X.shape[1]), A @ X)


EQUATION_49_CORRECTED.oracle(lambda A, X, W_V, W_O: jacobian(_head, "W", COLUMN)(A, X, W_V @ W_O))
EQUATION_49_CORRECTED.mutant("A transposed", lambda A, X: kron(eye(X.shape[1]), A.T @ X))
EQUATION_49_CORRECTED.mutant("A dropped", lambda X: kron(eye(X.shape[1]), X))
EQUATION_49_CORRECTED.mutant("twice", lambda A, X: kron(eye(X.shape[1]), A @ X * 2))


# -- value and output weights ------------------------------------------------------------------------------------------

C1_KAPPA = Claim(
    OSA,
    "osa.c1-kappa",
    label="Appendix C.1",
    statement=r"\kappa(\mathbf{W}^V\mathbf{W}^O)=1,\quad\kappa(\mathbf{D})=\frac{\sigma_{\max}(\mathbf{D})}"
    r"{\sigma_{\min>0}(\mathbf{D})}",
    assumptions=[ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS],
    relation=HasStructure(),
    sizes={"d": (1, 4), "d_v": (1, 4)},
    where=lambda sizes: sizes["d_v"] <= sizes["d"],
    exact=True,
    note="True of every U and V on the Stiefel manifold, whatever their law; the non-zero singular values are all 1 (F.7).",
)


@C1_KAPPA.inputs
def orthonormal_values_and_outputs(left: Frame, right: Frame, d_v: HeadSize) -> Any:
    return {"W_V": orthonormal_columns(left, d_v), "W_O": orthonormal_columns(right, d_v).T}


@C1_KAPPA.formula
def value_output_product(W_V: ValueWeights, W_O: OutputWeights) -> Any:
    """W_V W_O, shape (d, d)."""
    return W_V @ W_O


@C1_KAPPA.part("structure")
def d_v_singular_values_are_one(value: Any, W_V: ValueWeights) -> Any:
    """W W^T W - W vanishes exactly if every non-zero singular value of W is 1; ||W||_F^2 = d_v then counts them."""
    cube = value @ value.T @ value - value
    return concatenate([cube, ones(1, value.shape[1]) * (total(value * value) - W_V.shape[1])], axis=0)


C1_KAPPA.mutant("first column of U doubled", lambda value, W_V, W_O: value + W_V[:, :1] @ W_O[:1])
C1_KAPPA.mutant("sum with the transpose", lambda value, W_V, W_O: value + W_O.T @ W_V.T)


# -- query and key weights ---------------------------------------------------------------------------------------------

C2_DIMS = Claim(
    OSA,
    "osa.c2-dims",
    label="Appendix C.2, text",
    statement=r"2d_v\le d \text{ is satisfied for } h>1",
    assumptions=["d_v = d/h, h divides d"],
    relation=AtMost(),
    sizes={"d": (2, 9), "d_v": (1, 4)},
    where=lambda sizes: whole_heads(sizes) and sizes["d_v"] < sizes["d"],
    note="For h = 1, d_v = d and the scheme of Appendix C.2 does not exist: no 2 d columns of R^d are orthonormal.",
)


@C2_DIMS.inputs
def query_and_key_weights(W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    return {"W_Q": W_Q, "W_K": W_K}


@C2_DIMS.formula
def token_dimension(W_Q: QueryWeights) -> Any:
    """d, a scalar."""
    return W_Q.shape[0]


C2_DIMS.oracle(lambda W_Q, W_K: W_Q.shape[1] + W_K.shape[1])
C2_DIMS.mutant("d - d_v, as for h > 2", lambda value, W_Q: value - W_Q.shape[1])
C2_DIMS.mutant("d - 1", lambda value: value - 1)


EQUATION_53 = Claim(
    OSA,
    "osa.eq-53",
    label="Eqs. (51)-(53), F.5",
    statement=r"\tilde{\mathbf{W}}\tilde{\mathbf{W}}^\top=-\tilde{\mathbf{W}}^2=\mathbf{W}^Q(\mathbf{W}^Q)^\top+\mathbf{W}^K"
    r"(\mathbf{W}^K)^\top, \text{ a projection onto } \operatorname{span}\{\mathbf{W}^Q,\mathbf{W}^K\}",
    assumptions=[ORTHONORMAL_QUERIES_AND_KEYS],
    relation=Equal(),
    sizes={"d": (2, 6), "d_v": (1, 3)},
    where=two_heads,
    exact=True,
)


@EQUATION_53.inputs
def orthonormal_pair(frame: Frame, d_v: HeadSize) -> Any:
    W = orthonormal_columns(frame, 2 * d_v)
    return {"W_Q": W[:, :d_v], "W_K": W[:, d_v:]}


def _three_times(P: Any) -> Any:
    return concatenate([P, P, P], axis=0)


@EQUATION_53.formula
def squared_query_key_matrix(W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """W_Q W_Q^T + W_K W_K^T, shape (d, d), once for each member of Eqs. (51) - (53), stacked."""
    return _three_times(W_Q @ W_Q.T + W_K @ W_K.T)


@EQUATION_53.oracle
def squares_and_projection(W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    W, M = query_key_generator(W_Q, W_K), concatenate([W_Q, W_K], axis=1)
    return concatenate([W @ W.T, -(W @ W), M @ inverse(M.T @ M) @ M.T], axis=0)


EQUATION_53.mutant("difference instead of sum", lambda W_Q, W_K: _three_times(W_Q @ W_Q.T - W_K @ W_K.T))
EQUATION_53.mutant("mixed products", lambda W_Q, W_K: _three_times(W_Q @ W_K.T + W_K @ W_Q.T))


VIA_GENERATOR = Claim(
    OSA,
    "osa.c2-via-wtilde",
    label="Appendix C.2, text",
    statement=r"\text{the query, key weights only affect the Jacobian via } \tilde{\mathbf{W}}=\mathbf{W}^Q(\mathbf{W}^K)^\top-"
    r"\mathbf{W}^K(\mathbf{W}^Q)^\top;\ \text{the proof of Theorem C.3 shows that the Jacobian of } \mathbf{A}(\mathbf{X})"
    r" \text{ is a function of } \tilde{\mathbf{W}}",
    assumptions=["from Eq. (13), A = exp(S) (Eq. (5))", "proof of C.3 uses B from Newton-Schulz"],
    relation=Equal(),
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 3)},
    where=whole_heads,
    expects="gap",
    uses=("osa.thm-c.1",),
    proof=("osa.c2-via-wtilde-newton-schulz",),
    exact=True,
    note="True of A = exp(S).  The proof of Theorem C.3 speaks of another A, made from Newton-Schulz iterates of"
    " [X W^Q, X W^K], which is a function of W~ only where [W^Q, W^K] has orthonormal columns.  The author would say that the"
    " theorem assumes just that (osa.c2-via-wtilde-orthonormal); but its proof does not show it there, and the sentence, from"
    " which the initialisation is derived, is about weights not yet chosen.",
)


@VIA_GENERATOR.inputs
def any_layer(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    return layer(X, W_Q, W_K, W_V, W_O, alpha)


def _generated(X: Any, W: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """The Jacobian of exp(alpha / sqrt(d_v) X W X^T) X W_V W_O, which knows the query and key weights through W alone."""
    scale = alpha / sqrt(W_V.shape[1])

    def head(X: Any) -> Any:
        return expm(X * scale @ W @ X.T) @ X @ W_V @ W_O

    return jacobian(head, "X", COLUMN)(X)


@VIA_GENERATOR.formula
def jacobian_through_generator(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    """J as a function of W~ = W_Q W_K^T - W_K W_Q^T, shape (N d, N d), column-major."""
    return _generated(X, query_key_generator(W_Q, W_K), W_V, W_O, alpha)


VIA_GENERATOR.oracle(
    lambda X, W_Q, W_K, W_V, W_O, alpha: jacobian(attention, "X", COLUMN)(X, W_Q, W_K, W_V, W_O, alpha)
)
VIA_GENERATOR.mutant("through W_Q W_K^T alone", "query_key_generator(W_Q, W_K) -> W_Q @ W_K.T")
VIA_GENERATOR.mutant("through the symmetric part", "query_key_generator(W_Q, W_K) -> W_Q @ W_K.T + W_K @ W_Q.T")
VIA_GENERATOR.mutant("sign reversed", "W_Q -> W_K; W_K -> W_Q")


SAME_GENERATOR = Assumption(
    "[W^Q, W^K] and [P^Q, P^K] have the same W~",
    zero=lambda W_Q, W_K, P_Q, P_K: query_key_generator(W_Q, W_K) - query_key_generator(P_Q, P_K),
)

VIA_GENERATOR_NEWTON_SCHULZ = Claim(
    OSA,
    "osa.c2-via-wtilde-newton-schulz",
    label="Appendix C.2, text, for the A of the proof of Theorem C.3",
    statement=r"\mathbf{A} = \mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}] - \mathbf{I}_{2d_v})\mathbf{B}^\top, \mathbf{B}"
    r" \text{ from Newton-Schulz: the Jacobian of } \mathbf{A}(\mathbf{X}) \text{ is a function of } \tilde{\mathbf{W}}",
    assumptions=[SHAPES, SAME_GENERATOR],
    relation=Equal(),
    sizes={"N": (1, 3), "d": (2, 3), "d_v": (1, 2), "K": (0, 2)},
    where=whole_heads,
    expects="refuted",
    severity="error",
    correction="osa.c2-via-wtilde-orthonormal",
    of_project=True,
    note="The iterates start from [X W^Q, X W^K], whose singular values W~ does not determine.",
)

OtherQueryWeights = Annotated[Any, Shape("d", "d_v")]
OtherKeyWeights = Annotated[Any, Shape("d", "d_v")]


@VIA_GENERATOR_NEWTON_SCHULZ.inputs
def sheared_weights(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    shear: Annotated[Any, Shape("d_v", "d_v")],
    alpha: Alpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    # W_Q (W_K + W_Q H)^T - (W_K + W_Q H) W_Q^T = W~ for symmetric H
    P_K = W_K + W_Q @ (shear + shear.T)
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "P_Q": W_Q, "P_K": P_K, "alpha": alpha, "epsilon": epsilon, "K": K}


def _attention_jacobian(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    return jacobian(newton_schulz_attention_matrix, "X", COLUMN)(X, W_Q, W_K, alpha, epsilon, K)


@VIA_GENERATOR_NEWTON_SCHULZ.formula
def newton_schulz_jacobian(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    """dvec A/dvec X, shape (N^2, N d), column-major, for A from K Newton-Schulz steps."""
    return _attention_jacobian(X, W_Q, W_K, alpha, epsilon, K)


VIA_GENERATOR_NEWTON_SCHULZ.oracle(
    lambda X, P_Q, P_K, alpha, epsilon, K: _attention_jacobian(X, P_Q, P_K, alpha, epsilon, K)
)
VIA_GENERATOR_NEWTON_SCHULZ.mutant("halved", lambda value: value * rational(1, 2))
VIA_GENERATOR_NEWTON_SCHULZ.mutant("queries and keys exchanged", "W_Q -> W_K; W_K -> W_Q")


@VIA_GENERATOR_NEWTON_SCHULZ.counterexample("queries doubled, keys halved, no Newton-Schulz step")
def queries_doubled() -> dict[str, Any]:
    columns = {"W_Q": [[1], [0]], "W_K": [[0], [1]], "P_Q": [[2], [0]], "P_K": [[0], ["1/2"]]}
    return {"X": [[1, 0], [0, 1]], **columns, "alpha": 1, "epsilon": 1, "K": 0}


VIA_GENERATOR_NEWTON_SCHULZ.counterexample("the same after two steps", lambda: {**queries_doubled(), "K": 2})


VIA_GENERATOR_ORTHONORMAL = Claim(
    OSA,
    "osa.c2-via-wtilde-orthonormal",
    label="Appendix C.2, text, for Newton-Schulz and orthonormal [W^Q, W^K]",
    statement=r"[\mathbf{W}^Q, \mathbf{W}^K] \text{ and } [\mathbf{P}^Q, \mathbf{P}^K] \text{ with orthonormal columns and the"
    r" same } \tilde{\mathbf{W}} \text{ give the same } \mathbf{A}(\mathbf{X}) \text{ from Newton-Schulz, for every } K, \text{"
    r" hence the same Jacobian: } [\mathbf{P}^Q, \mathbf{P}^K] = [\mathbf{W}^Q, \mathbf{W}^K]\mathbf{R} \text{ with }"
    r" \mathbf{R} \text{ orthogonal and symplectic}",
    assumptions=[
        ORTHONORMAL_QUERIES_AND_KEYS,
        Assumption(
            "[P^Q, P^K] has orthonormal columns", zero=lambda P_Q, P_K: gram_defect(concatenate([P_Q, P_K], axis=1))
        ),
        SAME_GENERATOR,
    ],
    relation=Equal(),
    sizes={"N": (1, 3), "d": (2, 4), "d_v": (1, 2), "K": (0, 2)},
    where=lambda sizes: two_heads(sizes) and sizes["N"] * sizes["d"] <= 8,
    corrects="osa.c2-via-wtilde-newton-schulz",
    of_project=True,
)


@VIA_GENERATOR_ORTHONORMAL.inputs
def rotated_weights(
    X: Tokens,
    frame: Frame,
    turn: Annotated[Any, Shape("d_v", "d_v")],
    mix: Annotated[Any, Shape("d_v", "d_v")],
    alpha: Alpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    d_v = turn.shape[0]
    W = orthonormal_columns(frame, 2 * d_v)
    # the Cayley transform of a skew matrix that commutes with [[0, I], [-I, 0]] does so too
    blocks = [concatenate([turn, mix], axis=1), concatenate([-mix, turn], axis=1)]
    P = W @ cayley(concatenate(blocks, axis=0))
    weights = {"W_Q": W[:, :d_v], "W_K": W[:, d_v:], "P_Q": P[:, :d_v], "P_K": P[:, d_v:]}
    return {"X": X, **weights, "alpha": alpha * rational(1, 3), "epsilon": epsilon, "K": K}


@VIA_GENERATOR_ORTHONORMAL.formula
def newton_schulz_jacobian_of_orthonormal(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    """dvec A/dvec X, shape (N^2, N d), column-major, for A from K Newton-Schulz steps and orthonormal [W_Q, W_K]."""
    return _attention_jacobian(X, W_Q, W_K, alpha, epsilon, K)


VIA_GENERATOR_ORTHONORMAL.oracle(
    lambda X, P_Q, P_K, alpha, epsilon, K: _attention_jacobian(X, P_Q, P_K, alpha, epsilon, K)
)
VIA_GENERATOR_ORTHONORMAL.mutant(
    "queries times 8 and keys over 8, which keeps W~", "W_Q -> W_Q * 8; W_K -> W_K * rational(1, 8)"
)
VIA_GENERATOR_ORTHONORMAL.mutant("queries and keys exchanged", "W_Q -> W_K; W_K -> W_Q")
VIA_GENERATOR_ORTHONORMAL.mutant("one more Newton-Schulz step", "K -> K + 1")
