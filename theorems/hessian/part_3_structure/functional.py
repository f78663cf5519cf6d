"""The functional Hessian: Theorem 3.2, its layout matrices, and the blocks in the key weights that the paper omits."""

from __future__ import annotations

from typing import Any

from theorems.hessian.definitions import (
    Z_1, Z_2, attention, attention_matrix, duplicated_residual, functional_hessian, outer_product_hessian,
    shuffling_matrix, square_loss,
)  # fmt: skip
from theorems.hessian.part_3_structure.outer_product import KEY_NOTE
from theorems.hessian.part_b_derivatives.functional_proof import THEOREM_32_Z2_APPENDIX
from theorems.hessian.settings import (
    ATTENTION_LOSS, CLOSED_FORMS, SECOND_DERIVATIVES, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights,
    loss_normalisation,
)  # fmt: skip
from verify.matrix import (
    column, commutation_matrix, concatenate, eye, kron, kron_matmul, rational, softmax, sqrt, vec_r,
)  # fmt: skip
from verify.oracles import hessian
from verify.vocabulary import Claim, Convention, Definition, Doubt, Equal, HasStructure

FOUR_FACTORS = Doubt(
    r"(\mathbf{I}_L \otimes \mathbf{X}^\top \otimes \mathbf{X}^\top \otimes \mathbf{X}^\top \otimes \mathbf{X}^\top)",
    r"""Four factors $X^\top$ in Section 3 only; the theorem as restated in Appendix B.1, its proof there and the proof
    of Remark 3.1 have three, and so have the size printed beside it and the $L^4$ rows of $\partial^2A/\partial T^2$.
    Taken as three.""",
)
# -- the value block ---------------------------------------------------------------------------------------------------

THEOREM_32_VV = Claim(ATTENTION_LOSS, "hessian.thm-3.2-vv", label="Theorem 3.2, value block",
    statement=r"H_f(W_V,W_V) = 0",
    name="functional Hessian, value block", relation=HasStructure(), all_sizes=True, uses=("hessian.eq-2",),
)  # fmt: skip


def loss_of_attention(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    return square_loss(attention(X, W_Q, W_K, W_V), Y)


def _functional_twice(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, wrt: tuple[str, str], weight: Any = 1) -> Any:
    """A block of H_f by itself, on top of the same block as the loss Hessian less `weight` times H_o.

    F is linear in W_V, so by itself H_f(W_V, W_V) is an exact zero in every arithmetic, at which nothing can be
    measured; the difference is subject to rounding.
    """
    difference = (
        hessian(loss_of_attention, wrt)(X, W_Q, W_K, W_V, Y) - outer_product_hessian(X, W_Q, W_K, W_V, wrt) * weight
    )
    return concatenate([functional_hessian(X, W_Q, W_K, W_V, Y, wrt), difference], axis=0)


@THEOREM_32_VV.formula
def functional_hessian_value(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_f(W_V, W_V) by its definition and by Eq. (2), shape (2 d_V^2, d_V^2): zero by Theorem 3.2."""
    return _functional_twice(X, W_Q, W_K, W_V, Y, wrt=("W_V", "W_V"))


THEOREM_32_VV.part("structure", lambda value: value)
THEOREM_32_VV.mutant("the query block, which does not vanish", wrt=("W_Q", "W_Q"))
THEOREM_32_VV.mutant("the mixed value-query block, which does not vanish", wrt=("W_V", "W_Q"))
THEOREM_32_VV.mutant("half of the outer product subtracted, as Appendix B.1 scales it", weight=rational(1, 2))

# -- the query block ---------------------------------------------------------------------------------------------------

THEOREM_32_QQ = Claim(SECOND_DERIVATIVES, "hessian.thm-3.2-qq", label="Theorem 3.2, query block",
    statement=r"""H_f(W_Q,W_Q) = \frac{2}{L d_V d_K} R_{d_V d_K}(I_L\otimes W_V^\top\otimes I_{d_V}\otimes W_K^\top) Z_2
        (I_{d_V}\otimes W_K)""",
    assumptions=[Definition("R_m = vec_r(F - Y)^T (x) I_m", by=duplicated_residual), Definition("Z_2 as in Appendix B.1", by=Z_2)],
    name="functional Hessian, query block", relation=Equal(), all_sizes=True, uses=("hessian.thm-3.2-z2-appendix",),
    proof=("hessian.thm-3.2-proof-qq",))  # fmt: skip


def _curvature(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, left: Any, right: Any) -> Any:
    """2 / (L d_V d_K) R (I_L (x) W_V^T (x) `left`) Z_2 `right`."""
    L, d_V, d_K = X.shape[0], X.shape[1], W_Q.shape[1]
    A = attention_matrix(X, W_Q, W_K)
    R = duplicated_residual(attention(X, W_Q, W_K, W_V) - Y, d_V * d_K)
    return R @ kron(eye(L), W_V.T, left) @ Z_2(A, X) @ right * rational(2, L * d_V * d_K)


def _curvature_with(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, values: Any, left_sided: bool = True, swapped: bool = False
) -> Any:
    """The query block for mutants: `values` for W_V^T, I_m (x) vec_r(F - Y)^T for R_m, or Z_2 with two indices exchanged."""
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    row, unit, second = vec_r(attention(X, W_Q, W_K, W_V) - Y).T, eye(d_V * d_K), Z_2(attention_matrix(X, W_Q, W_K), X)
    R = kron(row, unit) if left_sided else kron(unit, row)
    order = kron(eye(L), commutation_matrix(d_V, d_V), eye(d_V)) if swapped else eye(L * d_V**3)
    middle = kron(eye(L), values, eye(d_V), W_K.T) @ order @ second
    return R @ middle @ kron(eye(d_V), W_K) * rational(2, L * d_V * d_K)


@THEOREM_32_QQ.formula
def functional_hessian_query(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_f(W_Q, W_Q), shape (d_V d_K, d_V d_K) (Theorem 3.2)."""
    d_V = X.shape[1]
    return _curvature(X, W_Q, W_K, W_V, Y, left=kron(eye(d_V), W_K.T), right=kron(eye(d_V), W_K))


THEOREM_32_QQ.oracle(lambda X, W_Q, W_K, W_V, Y: functional_hessian(X, W_Q, W_K, W_V, Y, wrt=("W_Q", "W_Q")))
THEOREM_32_QQ.mutant("residual with the wrong sign", lambda value: -value)
THEOREM_32_QQ.mutant("W_V instead of W_V^T",
    lambda X, W_Q, W_K, W_V, Y: _curvature_with(X, W_Q, W_K, W_V, Y, values=W_V))  # fmt: skip
THEOREM_32_QQ.mutant("residual on the right of the identity in R_m",
    lambda X, W_Q, W_K, W_V, Y: _curvature_with(X, W_Q, W_K, W_V, Y, values=W_V.T, left_sided=False))  # fmt: skip
THEOREM_32_QQ.mutant("Z_2 without its commutation matrix",
    lambda X, W_Q, W_K, W_V, Y: _curvature_with(X, W_Q, W_K, W_V, Y, values=W_V.T, swapped=True))  # fmt: skip
THEOREM_32_QQ.mutant("query instead of key weights", "W_K.T -> W_Q.T; kron(eye(d_V), W_K) -> kron(eye(d_V), W_Q)")
THEOREM_32_QQ.mutant("labels left out of the residual", "Y -> 0 * Y")
THEOREM_32_QQ.mutant("1/sqrt(d_K) instead of 1/d_K", lambda value, W_K: value * sqrt(W_K.shape[1]))

# -- the mixed value-query block ---------------------------------------------------------------------------------------

THEOREM_32_VQ = Claim(ATTENTION_LOSS, "hessian.thm-3.2-vq", label="Theorem 3.2, mixed value-query block",
    statement=r"H_f(W_V,W_Q) = \frac{2}{L d_V\sqrt{d_K}} R_{d_V^2}(I_L\otimes S) Z_1 (I_{d_V}\otimes W_K)",
    assumptions=[
        Definition(
            "R_m = vec_r(F - Y)^T (x) I_m; S = (I (x) K_{d_V,d_V})(vec_r I (x) I)",
            by=(vec_r, shuffling_matrix),
        ),
    ],
    name="functional Hessian, value-query block", relation=Equal(), all_sizes=True,
    uses=("hessian.lem-B.1", "hessian.lem-B.2", "hessian.eq-16-17"), proof=("hessian.thm-3.2-proof-vq",))  # fmt: skip


def _left_sided(row: Any, m: int) -> Any:
    """`row` (x) I_m, shape (m, m L d_V) for a residual in one row."""
    return kron(row, eye(m))


def _slope(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, right: Any, S: Any = shuffling_matrix, residual: Any = None
) -> Any:
    """2 / (L d_V sqrt(d_K)) R_{d_V^2} (I_L (x) S) Z_1 `right`; a mutant has another S(d_V) or R."""
    L, d_V, d_K = X.shape[0], X.shape[1], W_Q.shape[1]
    R = (residual or _left_sided)(vec_r(attention(X, W_Q, W_K, W_V) - Y).T, d_V**2)
    return (
        R
        @ kron(eye(L), S(d_V))
        @ Z_1(attention_matrix(X, W_Q, W_K), X)
        @ right
        * ((2 * loss_normalisation(L, d_V)) / sqrt(d_K))
    )


@THEOREM_32_VQ.formula
def functional_hessian_value_query(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_f(W_V, W_Q), shape (d_V^2, d_V d_K) (Theorem 3.2)."""
    return _slope(X, W_Q, W_K, W_V, Y, right=kron(eye(X.shape[1]), W_K))


THEOREM_32_VQ.oracle(lambda X, W_Q, W_K, W_V, Y: functional_hessian(X, W_Q, W_K, W_V, Y, wrt=("W_V", "W_Q")))
THEOREM_32_VQ.mutant("S without its commutation matrix", S=lambda d: kron(vec_r(eye(d)), eye(d)))
THEOREM_32_VQ.mutant("query instead of key weights", "kron(eye(X.shape[1]), W_K) -> kron(eye(X.shape[1]), W_Q)")
THEOREM_32_VQ.mutant("residual with the wrong sign", lambda value: -value)
THEOREM_32_VQ.mutant("residual on the right of the identity in R_m", residual=lambda row, m: kron(eye(m), row))

THEOREM_32_QK = Claim(SECOND_DERIVATIVES, "hessian.thm-3.2-qk", label="Theorem 3.2, mixed query-key block",
    statement=r"""H_f(W_Q,W_K) = \frac{2}{L d_V d_K} R_{d_V d_K}(I_L\otimes W_V^\top\otimes I_{d_V}\otimes W_K^\top) Z_2
        (W_Q\otimes I_{d_V}) K_{d_K,d_V} + \frac{2}{L d_V\sqrt{d_K}} R_{d_V}(I_L\otimes W_V^\top\otimes
        I_{d_V})(Z_1\otimes I_{d_V}) S\otimes I_{d_K}""",
    assumptions=[
        Definition(
            "R_m = vec_r(F - Y)^T (x) I_m; S = (I (x) K_{d_V,d_V})(vec_r I (x) I)",
            by=(duplicated_residual, shuffling_matrix),
        ),
        Definition("Z_2 = (I_L (x) X^T (x) X^T (x) X^T)(d^2A/dT^2)(X (x) X), of shape (L d_V^3, d_V^2)", by=Z_2),
        Convention("matrix products bind tighter than the final (x) I_{d_K}, the only reading with matching sizes", by=kron),
    ],
    name="functional Hessian, query-key block", relation=Equal(), all_sizes=True,
    uses=("hessian.thm-3.2-z2-appendix", "hessian.lem-B.2", "hessian.lem-B.3"),
    proof=("hessian.eq-21", "hessian.eq-21-dF2"),
    doubt=FOUR_FACTORS)  # fmt: skip


@THEOREM_32_QK.formula
def functional_hessian_query_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_f(W_Q, W_K), shape (d_V d_K, d_V d_K) (Theorem 3.2)."""
    (L, d_V), d_K, A = X.shape, W_Q.shape[1], attention_matrix(X, W_Q, W_K)
    residual = attention(X, W_Q, W_K, W_V) - Y
    curvature = (
        duplicated_residual(residual, d_V * d_K)
        @ kron_matmul([eye(L), W_V.T, eye(d_V), W_K.T], Z_2(A, X))
        @ kron(W_Q, eye(d_V))
        @ commutation_matrix(d_K, d_V)
    )
    slope = (
        duplicated_residual(residual, d_V)
        @ kron_matmul([eye(L), W_V.T, eye(d_V)], kron(Z_1(A, X), eye(d_V)))
        @ shuffling_matrix(d_V)
    )
    second = kron(slope, eye(d_K)) * ((2 * loss_normalisation(L, d_V)) / sqrt(d_K))
    return curvature * rational(2, L * d_V * d_K) + second


THEOREM_32_QK.oracle(lambda X, W_Q, W_K, W_V, Y: functional_hessian(X, W_Q, W_K, W_V, Y, wrt=("W_Q", "W_K")))
THEOREM_32_QK.mutant("product-rule term dropped", "second -> 0 * second")
THEOREM_32_QK.mutant("product-rule term with the wrong sign", "second -> -second")
THEOREM_32_QK.mutant("I_{d_K} on the left of the last product", "kron(slope, eye(d_K)) -> kron(eye(d_K), slope)")
THEOREM_32_QK.mutant("no commutation matrix", "commutation_matrix(d_K, d_V) -> eye(d_V * d_K)")
THEOREM_32_QK.mutant("residual with the wrong sign", "Y -> 2 * attention(X, W_Q, W_K, W_V) - Y")

# -- sizes of the layout matrices --------------------------------------------------------------------------------------

THEOREM_32_SIZES = Claim(CLOSED_FORMS, "hessian.thm-3.2-sizes", label="Theorem 3.2, sizes of R_m, S, Z_1",
    statement=r"""R_m := \operatorname{vec}_r(F(X)-Y)^\top\otimes I_m \in \mathbb{R}^{m\times m L d_V},\quad S :=
        (I_{d_V}\otimes K_{d_V,d_V})(\operatorname{vec}_r I_{d_V}\otimes I_{d_V}) \in \mathbb{R}^{d_V^3\times d_V},\quad
        Z_1 \in \mathbb{R}^{L d_V\times d_V^2},\ \text{and the products of Theorem 3.2 exist}""",
    name="sizes in the functional Hessian", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 3), "d_V": (1, 3), "d_K": (1, 4)},
    uses=("hessian.thm-3.2-qq", "hessian.thm-3.2-vq", "hessian.thm-3.2-qk"),
    note="That the products exist is seen by forming them; the blocks have the sizes of the weights.")  # fmt: skip


@THEOREM_32_SIZES.formula
def printed_sizes(X: Tokens, W_Q: QueryWeights) -> Any:
    """Rows and columns of R_m for m = d_V d_K, d_V^2, d_V, of S, Z_1 and the three blocks, shape (16, 1) (Theorem 3.2)."""
    L, d_V, d_K = X.shape[0], X.shape[1], W_Q.shape[1]
    residuals = [size for m in (d_V * d_K, d_V**2, d_V) for size in (m, m * L * d_V)]
    n, values = d_V * d_K, d_V * d_V
    return column(*residuals, d_V**3, d_V, L * d_V, d_V**2, n, n, values, n, n, n)


@THEOREM_32_SIZES.oracle
def sizes_of_the_matrices(X: Tokens, W_Q: QueryWeights) -> Any:
    d_V, d_K = W_Q.shape
    residuals = [duplicated_residual(X, m) for m in (d_V * d_K, d_V**2, d_V)]
    every = [*residuals, shuffling_matrix(d_V), Z_1(softmax(X @ X.T), X)]
    arguments = (X, W_Q, W_Q, eye(d_V) + 0 * X[:1, :1], X)
    blocks = (functional_hessian_query, functional_hessian_value_query, functional_hessian_query_key)
    return column(*(size for matrix in [*every, *(block(*arguments) for block in blocks)] for size in matrix.shape))


THEOREM_32_SIZES.mutant("S of shape (d_V^2, d_V)", "3 -> 2")
THEOREM_32_SIZES.mutant("R_m of shape (m, L d_V)", "m * L -> L")
THEOREM_32_SIZES.mutant("value-query block transposed", "values -> n; n -> values")

# -- Z_2, in the main text and in the appendix -------------------------------------------------------------------------

THEOREM_32_Z2_MAIN = THEOREM_32_Z2_APPENDIX.restated("hessian.thm-3.2-z2-main",
    label="Theorem 3.2 (Section 3), definition of Z_2", name="second softmax derivatives between tokens, main text",
    doubt=FOUR_FACTORS)  # fmt: skip

# -- the key blocks, which the paper omits -----------------------------------------------------------------------------

FUNCTIONAL_KK = Claim(SECOND_DERIVATIVES, "hessian.functional-key-key", label="Theorem 3.2, key block",
    statement=r"""H_f(W_K,W_K) = \frac{2}{L d_V d_K} R_{d_V d_K}\big(I_L\otimes W_V^\top\otimes
        K_{d_V,d_K}(W_Q^\top\otimes I_{d_V})\big) Z_2 (W_Q\otimes I_{d_V}) K_{d_K,d_V}""",
    name="functional Hessian, key block", relation=Equal(), all_sizes=True,
    uses=("hessian.jacobian-key", "hessian.thm-3.2-z2-appendix"), of_project=True,
    note=KEY_NOTE)  # fmt: skip


@FUNCTIONAL_KK.formula
def functional_hessian_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_f(W_K, W_K), shape (d_V d_K, d_V d_K)."""
    d_V, d_K = W_Q.shape
    right = kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V)
    return _curvature(X, W_Q, W_K, W_V, Y, left=right.T, right=right)


FUNCTIONAL_KK.oracle(lambda X, W_Q, W_K, W_V, Y: functional_hessian(X, W_Q, W_K, W_V, Y, wrt=("W_K", "W_K")))
FUNCTIONAL_KK.mutant("commutation matrix on the right only", "right.T -> kron(W_Q, eye(d_V)).T")
FUNCTIONAL_KK.mutant("the query block with query weights in it",
    "kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V) -> kron(eye(d_V), W_Q)")  # fmt: skip
FUNCTIONAL_KK.mutant("labels left out of the residual", "Y -> 0 * Y")

FUNCTIONAL_VK = Claim(ATTENTION_LOSS, "hessian.functional-value-key", label="Theorem 3.2, mixed value-key block",
    statement=r"H_f(W_V,W_K) = \frac{2}{L d_V\sqrt{d_K}} R_{d_V^2}(I_L\otimes S) Z_1 (W_Q\otimes I_{d_V}) K_{d_K,d_V}",
    name="functional Hessian, value-key block", relation=Equal(), all_sizes=True,
    uses=("hessian.jacobian-key", "hessian.lem-B.2", "hessian.eq-16-17"), of_project=True,
    note="Appendix B.1 says of this block that it 'can be derived in the same way' and states no formula.")  # fmt: skip


@FUNCTIONAL_VK.formula
def functional_hessian_value_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_f(W_V, W_K), shape (d_V^2, d_V d_K)."""
    d_V, d_K = W_Q.shape
    return _slope(X, W_Q, W_K, W_V, Y, right=kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V))


FUNCTIONAL_VK.oracle(lambda X, W_Q, W_K, W_V, Y: functional_hessian(X, W_Q, W_K, W_V, Y, wrt=("W_V", "W_K")))
FUNCTIONAL_VK.mutant("no commutation matrix", "commutation_matrix(d_K, d_V) -> eye(d_V * d_K)")
FUNCTIONAL_VK.mutant("S without its commutation matrix", S=lambda d: kron(vec_r(eye(d)), eye(d)))
FUNCTIONAL_VK.mutant("residual with the wrong sign", lambda value: -value)
