"""One query-key matrix W_QK instead of the product W_Q W_K^T: its Hessian (Lemma 4.1), and which maps it adds (Section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations, product
from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import (
    Z_1,
    Z_2,
    Labels,
    Tokens,
    ValueWeights,
    attention_matrix,
    softmax_jacobian,
    softmax_second_derivative,
    square_loss,
)
from verify.arithmetic import exp
from verify.claims import Claim
from verify.derivatives import hessian, jacobian
from verify.matrix import column, concatenate, eye, kron, rational, singular_values, softmax, sqrt, vec_r, zeros
from verify.relations import AtMost, Equal
from verify.shapes import Shape, Size
from verify.subjects import subject

Matrix = Any
QueryKeyWeights = Annotated[Any, Shape("d_V", "d_V", role="query")]
Factor = Annotated[Any, Shape("d_V", "d_V")]
QueryKeyDimension = Annotated[int, Size("d_K")]

SINGLE = [
    "F = A X W_V with A = softmax(X W_QK X^T), row-wise",
    "the square loss of Section 2, ||F - Y||_F^2 / (L d_V)",
    "row-major vec_r, numerator layout, Eq. (4)",
]
SIZES = {"L": (1, 6), "d_V": (1, 3)}


def few_products(sizes: Mapping[str, int]) -> bool:
    """Whether d^2A/dT^2, of L^6 entries, meets few columns."""
    return bool(sizes["L"] <= 3 or sizes["L"] * sizes["d_V"] <= 6)


@subject("hessian.single_matrix_attention")
def single_matrix_attention(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights) -> Any:
    """F = softmax(X W X^T) X W_V, shape (L, d_V), for W = W_QK (Section 4.2)."""
    return softmax(X @ W @ X.T) @ X @ W_V


def logit_curvature(X: Tokens, A: Any, W_V: ValueWeights, residual: Labels) -> Any:
    """U = Z_1^T (I (x) W_V W_V^T) Z_1 + (delta^T (I (x) W_V^T) (x) I) Z_2, shape (d_V^2, d_V^2) (Lemma 4.1, Remark D.1).

    A is the attention matrix (L, L), `residual` is F - Y, and delta = vec_r(F - Y).
    """
    L, d_V = X.shape
    Z, left = Z_1(A, X), vec_r(residual).T @ kron(eye(L), W_V.T)
    return Z.T @ kron(eye(L), W_V @ W_V.T) @ Z + kron(left, eye(d_V**2)) @ Z_2(A, X)


def _parts(X: Matrix, W: Matrix, W_V: Matrix, Y: Matrix) -> Matrix:
    """U for the single-matrix layer at W_QK = `W`."""
    residual = single_matrix_attention(X, W, W_V) - Y
    return logit_curvature(X, softmax(X @ W @ X.T), W_V, residual)


def single_matrix_loss(X: Any, W: Any, W_V: Any, Y: Any) -> Any:
    """The square loss of the single-matrix layer, a scalar."""
    return square_loss(single_matrix_attention(X, W, W_V), Y)


# -- Lemma 4.1 ---------------------------------------------------------------------------------------------------------

LEMMA_41 = Claim(
    HESSIAN,
    "hessian.lem-4.1",
    label="Lemma 4.1 (Section 4.2 and Appendix B.2)",
    statement=r"H(W_{QK},W_{QK}) = Z_1^\top(I_L\otimes W_V W_V^\top) Z_1 + \big(\delta_{XY}^\top(I_L\otimes W_V^\top)\otimes"
    r" I_{d_V^2}\big) Z_2",
    assumptions=[*SINGLE, "Z_1, Z_2 as in Theorems 3.1 and 3.2; delta_XY = vec_r(F - Y)"],
    relation=Equal(),
    sizes=SIZES,
    where=few_products,
    expects="refuted",
    severity="slip",
    correction="hessian.lem-4.1-corrected",
    uses=("hessian.lem-4.1-eq-22",),
    proof=("hessian.lem-4.1-eq-22",),
    exact=True,
    note="The factor 2/(L d_V) of the square loss is missing, in Section 4.2 and in Appendix B.2 alike; Theorems 3.1 and 3.2"
    " have it.  As printed the formula is the Hessian for ||F - Y||_F^2 / 2, and right by accident where L d_V = 2.",
)


@LEMMA_41.formula
def single_matrix_hessian_as_printed(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The right side of Lemma 4.1, shape (d_V^2, d_V^2)."""
    return _parts(X, W, W_V, Y)


LEMMA_41.oracle(lambda X, W, W_V, Y: hessian(single_matrix_loss, ("W", "W"))(X, W, W_V, Y))
LEMMA_41.mutant("a factor 1/L", lambda value, X: value * rational(1, X.shape[0]))
LEMMA_41.mutant("residual with the wrong sign", "Y -> 2 * single_matrix_attention(X, W, W_V) - Y")
LEMMA_41.counterexample(
    "three tokens 0, 0, 3 under uniform attention, labels 0: printed 54, true 36",
    X=[[0], [0], [3]],
    W=[[0]],
    W_V=[[1]],
    Y=[[0], [0], [0]],
)
LEMMA_41.counterexample(
    "the same with labels equal to the outputs, so that only the outer product is left",
    X=[[0], [0], [3]],
    W=[[0]],
    W_V=[[1]],
    Y=[[1], [1], [1]],
)


LEMMA_41_CORRECTED = Claim(
    HESSIAN,
    "hessian.lem-4.1-corrected",
    label="Lemma 4.1, with the factor of the loss",
    statement=r"H(W_{QK},W_{QK}) = \frac{2}{L d_V}\Big(Z_1^\top(I_L\otimes W_V W_V^\top) Z_1 + \big(\delta_{XY}^\top(I_L\otimes"
    r" W_V^\top)\otimes I_{d_V^2}\big) Z_2\Big), \text{ the summands being } H_o \text{ and } H_f",
    assumptions=LEMMA_41.assumptions,
    relation=Equal(),
    sizes=SIZES,
    where=few_products,
    uses=("hessian.lem-4.1-eq-22", "hessian.eq-2"),
    corrects="hessian.lem-4.1",
    exact=True,
    of_project=True,
)


def _outer_first(X: Matrix, W: Matrix, W_V: Matrix, inner: Matrix) -> Matrix:
    Z = Z_1(softmax(X @ W @ X.T), X)
    return Z.T @ kron(eye(X.shape[0]), inner) @ Z


def _both(X: Matrix, W: Matrix, W_V: Matrix, Y: Matrix, outer: Matrix) -> Matrix:
    """`outer` on top of U, times 2/(L d_V)."""
    return concatenate([outer, _parts(X, W, W_V, Y)], axis=0) * rational(2, X.shape[0] * X.shape[1])


@LEMMA_41_CORRECTED.formula
def single_matrix_hessian(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_o on top of H = H_o + H_f, shape (2 d_V^2, d_V^2) (Lemma 4.1, corrected)."""
    return _both(X, W, W_V, Y, _outer_first(X, W, W_V, W_V @ W_V.T))


@LEMMA_41_CORRECTED.oracle
def outer_product_and_hessian(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    J = jacobian(single_matrix_attention, "W")(X, W, W_V)
    outer = J.T @ J * rational(2, X.shape[0] * X.shape[1])
    return concatenate([outer, hessian(single_matrix_loss, ("W", "W"))(X, W, W_V, Y)], axis=0)


LEMMA_41_CORRECTED.mutant("without the factor, as printed", lambda value, X: value * X.shape[0] * X.shape[1] / 2)
LEMMA_41_CORRECTED.mutant("W_V^T W_V instead of W_V W_V^T", "W_V @ W_V.T -> W_V.T @ W_V")
LEMMA_41_CORRECTED.mutant("W_QK transposed", "W -> W.T")
LEMMA_41_CORRECTED.mutant("labels left out of the residual", "Y -> 0 * Y")


# -- its proof ---------------------------------------------------------------------------------------------------------

EQUATION_22 = Claim(
    HESSIAN,
    "hessian.lem-4.1-eq-22",
    label="Eq. (22) and the second-derivative formula, proof of Lemma 4.1",
    statement=r"\frac{\partial F}{\partial W_{QK}} = (I_L\otimes W_V^\top X^\top)\frac{\partial A}{\partial T}(X\otimes X);\quad"
    r"\frac{\partial^2 F}{\partial W_{QK}\partial W_{QK}} = (I_L\otimes W_V^\top X^\top\otimes X^\top\otimes X^\top)"
    r"\frac{\partial^2 A}{\partial T\partial T}(X\otimes X)",
    assumptions=[SINGLE[0], SINGLE[2]],
    relation=Equal(),
    sizes=SIZES,
    where=few_products,
    uses=("hessian.lem-B.1", "hessian.eq-15", "hessian.lem-C.1-structure"),
    exact=True,
)


def _derivatives(X: Matrix, W: Matrix, left: Matrix, right: Matrix) -> Matrix:
    """The Jacobian on top of the second derivative, with W_V^T X^T replaced by `left` and X (x) X by `right`."""
    A, L = softmax(X @ W @ X.T), X.shape[0]
    first = kron(eye(L), left) @ softmax_jacobian(A) @ right
    second = kron(eye(L), left, X.T, X.T) @ softmax_second_derivative(A) @ right
    return concatenate([first, second], axis=0)


@EQUATION_22.formula
def single_matrix_derivatives(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights) -> Any:
    """dF/dW_QK on top of d^2F/dW_QK^2, shape (L d_V (1 + d_V^2), d_V^2) (Eq. (22) and below)."""
    return _derivatives(X, W, W_V.T @ X.T, kron(X, X))


@EQUATION_22.oracle
def single_matrix_layer_differentiated(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights) -> Any:
    first = jacobian(single_matrix_attention, "W")(X, W, W_V)
    return concatenate([first, hessian(single_matrix_attention, ("W", "W"))(X, W, W_V)], axis=0)


EQUATION_22.mutant("W_V not transposed", lambda X, W, W_V: _derivatives(X, W, W_V @ X.T, kron(X, X)))
EQUATION_22.mutant("W_QK transposed", lambda X, W, W_V: _derivatives(X, W.T, W_V.T @ X.T, kron(X, X)))
EQUATION_22.mutant("divided by the root of d_V", "kron(X, X) -> kron(X, X) / sqrt(X.shape[1] + 1)")


# -- which maps a single matrix adds -----------------------------------------------------------------------------------

FUNCTION_CLASS = Claim(
    HESSIAN,
    "hessian.sec4.2-function-class",
    label="Section 4.2, text",
    statement=r"\text{for small } d_K \text{ two matrices have fewer parameters; from a function class perspective, we could}"
    r"\text{ equivalently replace the product } W_Q W_K^\top \text{ with a single matrix } W_{QK}",
    assumptions=["W_Q, W_K in R^{d_V x d_K}, W_QK in R^{d_V x d_V}, any d_K"],
    relation=AtMost(signed=True, ascent=False),
    sizes={"d_V": (1, 4), "d_K": (1, 4)},
    expects="refuted",
    severity="error",
    correction="hessian.sec4.2-function-class-corrected",
    note="Judged by the distance, in the spectral norm, from W_QK to the products W_Q W_K^T, which is the singular value number"
    " d_K + 1 of W_QK (Eckart and Young).  One direction holds at all sizes: a single matrix realises every product; if no more"
    " is meant than that A depends on the product alone, W_QK is W_Q W_K^T under another name.  The"
    " classes agree for d_K >= d_V only, where two matrices have no fewer parameters; for d_K < d_V the single matrix adds"
    " attention maps, also modulo row shifts of T: at the tokens e_1, ..., e_{d_V}, 0 the map A determines W_QK, by"
    " log(A_ij / A_{i,d_V+1}).",
)


@FUNCTION_CLASS.formula
def distance_between_the_classes(W: QueryKeyWeights, d_K: QueryKeyDimension) -> Any:
    """How far W_QK may be from the nearest product W_Q W_K^T if the classes are the same: 0, shape (1, 1) (Section 4.2)."""
    return zeros(1, 1) + 0 * W[:1, :1]


@FUNCTION_CLASS.oracle
def distance_to_the_nearest_product(W: QueryKeyWeights, d_K: QueryKeyDimension) -> Any:
    """The singular value number d_K + 1 of W, and 0 if there is none."""
    values = singular_values(W)
    return values[d_K : d_K + 1] if d_K < W.shape[0] else 0 * values[:1]


FUNCTION_CLASS.mutant("a distance of one", lambda W: eye(1) + 0 * W[:1, :1])
FUNCTION_CLASS.mutant("half the norm", lambda W: singular_values(W)[:1] * rational(1, 2))
FUNCTION_CLASS.counterexample(
    "W_QK = I_2, d_K = 1: every product of a column and a row is at least 1 away", W=[[1, 0], [0, 1]], d_K=1
)


FUNCTION_CLASS_CORRECTED = Claim(
    HESSIAN,
    "hessian.sec4.2-function-class-corrected",
    label="Section 4.2, which matrices two factors reach",
    statement=r"\{W_Q W_K^\top/\sqrt{d_K}\} = \{W_{QK} : \operatorname{rk} W_{QK}\le d_K\},\text{ all matrices exactly if }"
    r"d_K\ge d_V;\ 2 d_V d_K < d_V^2 \text{ exactly if } d_K < d_V/2;\text{ at the tokens } e_1,\dots,e_{d_V},0"
    r"\text{ the map determines } W_{QK}",
    assumptions=FUNCTION_CLASS.assumptions,
    relation=Equal(),
    sizes={"d_V": (1, 3), "d_K": (1, 4)},
    corrects="hessian.sec4.2-function-class",
    of_project=True,
    exact=True,
    note="Every matrix of rank at most r = min(d_K, d_V) is P R^T with P, R in R^{d_V x r}; W_Q = sqrt(d_K) [P, 0] and W_K ="
    " [R, 0] realise it.  Conversely all minors of order d_K + 1 of W_Q W_K^T vanish.  The odds A_ij / A_{i,d_V+1} at the"
    " tokens e_1, ..., e_{d_V}, 0 are exp(W_ij), which gives W_ij back.",
)


def determinant(A: Matrix) -> Matrix:
    """det A of a small matrix by permutations, shape (1, 1)."""
    n = A.shape[0]
    result = 0 * A[:1, :1]
    for order in permutations(range(n)):
        inversions = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        term = eye(1) * (-1) ** inversions
        for i in range(n):
            term = term * A[i : i + 1, order[i] : order[i] + 1]
        result = result + term
    return result


def _padded(M: Matrix, width: int) -> Matrix:
    """The first `width` columns of M, and zeros where M has fewer."""
    kept = M[:, :width]
    return concatenate([kept, zeros(M.shape[0], width - kept.shape[1])], axis=1) if width > kept.shape[1] else kept


def basis_tokens(d_V: int) -> Matrix:
    """The tokens e_1, ..., e_{d_V}, 0, shape (d_V + 1, d_V)."""
    return concatenate([eye(d_V), zeros(1, d_V)], axis=0)


def _two_factors(P: Matrix, R: Matrix, d_K: int, scale: Any) -> Matrix:
    """The map of the two factors, its odds, their minors of order d_K + 1, and whether they have fewer parameters."""
    d_V, r = P.shape[0], min(d_K, P.shape[0])
    W_Q, W_K = _padded(P[:, :r], d_K) * scale, _padded(R[:, :r], d_K)
    A = attention_matrix(basis_tokens(d_V) + 0 * P[:1, :], W_Q, W_K)
    odds = A[:d_V, :d_V] / A[:d_V, d_V:]
    return concatenate(
        [vec_r(A), vec_r(odds), *_minors(W_Q @ W_K.T, d_K + 1), column(int(2 * d_V * d_K < d_V**2))], axis=0
    )


def _minors(A: Matrix, k: int) -> list[Matrix]:
    """All minors of order k of a square matrix, each of shape (1, 1)."""
    chosen = list(combinations(range(A.shape[0]), k))
    parts = []
    for rows, columns in product(chosen, chosen):
        picked = [concatenate([A[i : i + 1, j : j + 1] for j in columns], axis=1) for i in rows]
        parts.append(determinant(concatenate(picked, axis=0)))
    return parts


@FUNCTION_CLASS_CORRECTED.formula
def two_factors_of_a_given_matrix(P: Factor, R: Factor, d_K: QueryKeyDimension) -> Any:
    """A of W_Q = sqrt(d_K) [P, 0], W_K = [R, 0] at e_1, ..., e_{d_V}, 0, odds, minors, who has fewer parameters, in one column."""
    return _two_factors(P, R, d_K, sqrt(d_K))


@FUNCTION_CLASS_CORRECTED.oracle
def the_single_matrix_itself(P: Factor, R: Factor, d_K: QueryKeyDimension) -> Any:
    d_V, r = P.shape[0], min(d_K, P.shape[0])
    W, X = P[:, :r] @ R[:, :r].T, basis_tokens(d_V)
    A = softmax(X @ W @ X.T)
    minors = [0 * P[:1, :1]] * len(list(combinations(range(d_V), d_K + 1))) ** 2
    return concatenate([vec_r(A), vec_r(exp(W)), *minors, column(int(d_K + d_K < d_V))], axis=0)


FUNCTION_CLASS_CORRECTED.mutant("without the scale sqrt(d_K)", scale=1)
FUNCTION_CLASS_CORRECTED.mutant("factors exchanged", lambda P, R, d_K: _two_factors(R, P, d_K, sqrt(d_K)))
