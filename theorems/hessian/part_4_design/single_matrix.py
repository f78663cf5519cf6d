"""One query-key matrix W_QK instead of the product W_Q W_K^T: its Hessian (Lemma 4.1) and the proof, with Eq. (22).

The lemma drops the factor 2/(L d_V) of the loss.  `logit_curvature` is its right side for any attention matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import Z_1, Z_2, softmax_jacobian, softmax_second_derivative, square_loss
from theorems.hessian.settings import LAYOUT, Labels, Tokens, ValueWeights
from verify.matrix import concatenate, eye, kron, rational, softmax, sqrt, vec_r
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Convention, Definition, Equal, Setting, Shape, subject

QueryKeyWeights = Annotated[Any, Shape("d_V", "d_V", role="query")]
SINGLE: list[Definition | Convention] = [
    Definition("F = A X W_V with A = softmax(X W_QK X^T), row-wise", by=softmax),
    Definition("the square loss of Section 2, ||F - Y||_F^2 / (L d_V)", by=square_loss),
    LAYOUT,
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


def _parts(X: Any, W: Any, W_V: Any, Y: Any) -> Any:
    """U for the single-matrix layer at W_QK = `W`."""
    residual = single_matrix_attention(X, W, W_V) - Y
    return logit_curvature(X, softmax(X @ W @ X.T), W_V, residual)


def single_matrix_loss(X: Any, W: Any, W_V: Any, Y: Any) -> Any:
    """The square loss of the single-matrix layer, a scalar."""
    return square_loss(single_matrix_attention(X, W, W_V), Y)


# -- Lemma 4.1 ---------------------------------------------------------------------------------------------------------

SINGLE_MATRIX = Setting(
    HESSIAN,
    "Lemma 4.1",
    assumptions=[*SINGLE, Definition("Z_1, Z_2 as in Theorems 3.1 and 3.2; delta_XY = vec_r(F - Y)", by=(Z_1, Z_2))],
    sizes=SIZES,
    where=few_products,
    exact=True,
)

LEMMA_41 = Claim(SINGLE_MATRIX, "hessian.lem-4.1", label="Lemma 4.1 (Section 4.2 and Appendix B.2)",
    statement=r"""H(W_{QK},W_{QK}) = Z_1^\top(I_L\otimes W_V W_V^\top) Z_1 + \big(\delta_{XY}^\top(I_L\otimes
        W_V^\top)\otimes I_{d_V^2}\big) Z_2""",
    name="single-matrix attention, Hessian", relation=Equal(), expects="refuted", severity="error",
    correction="hessian.lem-4.1-corrected", uses=("hessian.lem-4.1-eq-22",), proof=("hessian.lem-4.1-eq-22",),
    consequence="""The printed Hessian is $Ld_V/2$ times that of the stated loss, which spoils comparisons with Theorems
        3.1 and 3.2; multiply it by $2/(Ld_V)$ (hessian.lem-4.1-corrected).""",
    note=r"""The factor $2/(Ld_V)$ of the square loss is missing, in Section 4.2 and in Appendix B.2 alike; Theorems 3.1
        and 3.2 have it. As printed the formula is the Hessian for $\|F - Y\|_F^2/2$, and right by accident where $Ld_V
        = 2$.""")  # fmt: skip


@LEMMA_41.formula
def single_matrix_hessian_as_printed(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The right side of Lemma 4.1, shape (d_V^2, d_V^2)."""
    return _parts(X, W, W_V, Y)


LEMMA_41.oracle(lambda X, W, W_V, Y: hessian(single_matrix_loss, ("W", "W"))(X, W, W_V, Y))
LEMMA_41.mutant("a factor 1/L", lambda value, X: value * rational(1, X.shape[0]))
LEMMA_41.mutant("residual with the wrong sign", "Y -> 2 * single_matrix_attention(X, W, W_V) - Y")
LEMMA_41.counterexample("three tokens 0, 0, 3 under uniform attention, labels 0: printed 54, true 36",
    X=[[0], [0], [3]], W=[[0]], W_V=[[1]], Y=[[0], [0], [0]])  # fmt: skip
LEMMA_41.counterexample("the same with labels equal to the outputs, so that only the outer product is left",
    X=[[0], [0], [3]], W=[[0]], W_V=[[1]], Y=[[1], [1], [1]])  # fmt: skip

LEMMA_41_CORRECTED = Claim(SINGLE_MATRIX, "hessian.lem-4.1-corrected", label="Lemma 4.1, with the factor of the loss",
    statement=r"""
        H(W_{QK},W_{QK}) = \frac{2}{L d_V}\Big(Z_1^\top(I_L\otimes W_V W_V^\top) Z_1 + \big(\delta_{XY}^\top(I_L\otimes
        W_V^\top)\otimes I_{d_V^2}\big) Z_2\Big), \text{ the summands being } H_o \text{ and } H_f""",
    name="single-matrix attention, Hessian corrected", relation=Equal(), all_sizes=True,
    uses=("hessian.lem-4.1-eq-22", "hessian.eq-2"), corrects="hessian.lem-4.1", of_project=True)  # fmt: skip


@LEMMA_41_CORRECTED.formula
def single_matrix_hessian(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_o on top of H = H_o + H_f, shape (2 d_V^2, d_V^2) (Lemma 4.1, corrected)."""
    (L, d_V), Z = X.shape, Z_1(softmax(X @ W @ X.T), X)
    outer = Z.T @ kron(eye(L), W_V @ W_V.T) @ Z
    return concatenate([outer, _parts(X, W, W_V, Y)], axis=0) * rational(2, L * d_V)


@LEMMA_41_CORRECTED.oracle
def outer_product_and_hessian(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    J = jacobian(single_matrix_attention, "W")(X, W, W_V)
    outer = J.T @ J * rational(2, X.shape[0] * X.shape[1])
    return concatenate([outer, hessian(single_matrix_loss, ("W", "W"))(X, W, W_V, Y)], axis=0)


LEMMA_41_CORRECTED.mutant("without the factor, as printed", "rational(2, L * d_V) -> 1")
LEMMA_41_CORRECTED.mutant("W_V^T W_V instead of W_V W_V^T", "W_V @ W_V.T -> W_V.T @ W_V")
LEMMA_41_CORRECTED.mutant("W_QK transposed", "W -> W.T")
LEMMA_41_CORRECTED.mutant("labels left out of the residual", "Y -> 0 * Y")

# -- its proof ---------------------------------------------------------------------------------------------------------

EQUATION_22 = Claim(HESSIAN, "hessian.lem-4.1-eq-22",
    label="Eq. (22) and the second-derivative formula, proof of Lemma 4.1", name="single-matrix attention, derivatives",
    statement=r"""\frac{\partial F}{\partial W_{QK}} = (I_L\otimes W_V^\top X^\top)\frac{\partial A}{\partial
        T}(X\otimes X);\quad\frac{\partial^2 F}{\partial W_{QK}\partial W_{QK}} = (I_L\otimes W_V^\top X^\top\otimes
        X^\top\otimes X^\top)\frac{\partial^2 A}{\partial T\partial T}(X\otimes X)""",
    assumptions=[SINGLE[0], SINGLE[2]],
    relation=Equal(), all_sizes=True, sizes=SIZES, where=few_products,
    uses=("hessian.lem-B.1", "hessian.eq-15", "hessian.lem-C.1-structure-corrected"), exact=True)  # fmt: skip


@EQUATION_22.formula
def single_matrix_derivatives(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights) -> Any:
    """dF/dW_QK on top of d^2F/dW_QK^2, shape (L d_V (1 + d_V^2), d_V^2) (Eq. (22) and below)."""
    A, L, left, right = softmax(X @ W @ X.T), X.shape[0], W_V.T @ X.T, kron(X, X)
    first = kron(eye(L), left) @ softmax_jacobian(A) @ right
    second = kron(eye(L), left, X.T, X.T) @ softmax_second_derivative(A) @ right
    return concatenate([first, second], axis=0)


@EQUATION_22.oracle
def single_matrix_layer_differentiated(X: Tokens, W: QueryKeyWeights, W_V: ValueWeights) -> Any:
    first = jacobian(single_matrix_attention, "W")(X, W, W_V)
    return concatenate([first, hessian(single_matrix_attention, ("W", "W"))(X, W, W_V)], axis=0)


EQUATION_22.mutant("W_V not transposed", "W_V.T -> W_V")
EQUATION_22.mutant("W_QK transposed", "W -> W.T")
EQUATION_22.mutant("divided by the root of d_V", lambda value, X: value / sqrt(X.shape[1] + 1))
