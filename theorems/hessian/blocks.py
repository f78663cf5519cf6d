"""The mixed query-key blocks of the attention Hessian: Theorems 3.1 and 3.2."""

from __future__ import annotations

from typing import Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import (
    SIZES,
    Z_1,
    Z_2,
    KeyWeights,
    Labels,
    QueryWeights,
    Tokens,
    ValueWeights,
    attention,
    attention_matrix,
    duplicated_residual,
    functional_hessian,
    outer_product_hessian,
    shuffling_matrix,
)
from verify.claims import Claim
from verify.matrix import commutation_matrix, eye, kron, kron_matmul, rational, sqrt
from verify.relations import Equal

SETUP = [
    "classical self-attention F = A X W_V with A = softmax(X W_Q W_K^T X^T / sqrt(d_K)), row-wise",
    "square loss ||F - Y||_F^2 / (L d_V)",
    "row-major vec_r, numerator layout, Eq. (4)",
]

THEOREM_31_QK = Claim(
    HESSIAN,
    "hessian.thm-3.1-qk",
    label="Theorem 3.1 (Section 3), mixed query-key block",
    statement=r"H_o(W_Q,W_K) = \frac{2}{L d_V d_K}(I_{d_V}\otimes W_K^\top) Z_1^\top (I_L\otimes W_V W_V^\top) Z_1"
    r" (W_Q\otimes I_{d_V}) K_{d_K,d_V}",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    uses=("hessian.lem-B.1", "hessian.jacobian-key"),
    exact=True,
)


def _outer(X: Any, W_Q: Any, W_K: Any, W_V: Any, *, inner: Any, shuffle: Any, root: bool = False) -> Any:
    """The block's common shape, with the parts in which its mutants differ."""
    L, d_V, d_K = X.shape[0], X.shape[1], W_Q.shape[1]
    Z = Z_1(attention_matrix(X, W_Q, W_K), X)
    scale = rational(2, L * d_V) / sqrt(d_K) if root else rational(2, L * d_V * d_K)
    return kron(eye(d_V), W_K.T) @ Z.T @ kron(eye(L), inner) @ Z @ kron(W_Q, eye(d_V)) @ shuffle * scale


@THEOREM_31_QK.formula
def outer_product_hessian_query_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o(W_Q, W_K), shape (d_V d_K, d_V d_K) (Theorem 3.1)."""
    return _outer(X, W_Q, W_K, W_V, inner=W_V @ W_V.T, shuffle=commutation_matrix(*W_K.shape[::-1]))


THEOREM_31_QK.oracle(lambda X, W_Q, W_K, W_V: outer_product_hessian(X, W_Q, W_K, W_V, wrt=("W_Q", "W_K")))
THEOREM_31_QK.mutant(
    "no commutation matrix", "commutation_matrix(*W_K.shape[::-1]) -> eye(W_K.shape[0] * W_K.shape[1])"
)
THEOREM_31_QK.mutant("commutation matrix transposed", "W_K.shape[::-1] -> W_K.shape")
THEOREM_31_QK.mutant("W_V^T W_V instead of W_V W_V^T", "W_V @ W_V.T -> W_V.T @ W_V")
THEOREM_31_QK.mutant("1/sqrt(d_K) instead of 1/d_K", root=True)
THEOREM_31_QK.mutant("query and key weights exchanged", "W_Q -> W_K; W_K -> W_Q")

THEOREM_32_QK = Claim(
    HESSIAN,
    "hessian.thm-3.2-qk",
    label="Theorem 3.2, mixed query-key block",
    statement=r"H_f(W_Q,W_K) = \frac{2}{L d_V d_K} R_{d_V d_K}(I_L\otimes W_V^\top\otimes I_{d_V}\otimes W_K^\top) Z_2"
    r" (W_Q\otimes I_{d_V}) K_{d_K,d_V} + \frac{2}{L d_V\sqrt{d_K}} R_{d_V}(I_L\otimes W_V^\top\otimes I_{d_V})"
    r"(Z_1\otimes I_{d_V}) S\otimes I_{d_K}",
    assumptions=[
        *SETUP,
        "R_m = vec_r(F - Y)^T (x) I_m; S = (I (x) K_{d_V,d_V})(vec_r I (x) I)",
        "Z_2 = (I_L (x) X^T (x) X^T (x) X^T)(d^2A/dT^2)(X (x) X), of shape (L d_V^3, d_V^2)",
        "matrix products bind tighter than the final (x) I_{d_K}, the only reading with matching sizes",
    ],
    doubt="In Section 3 the extraction of Z_2 shows four factors X^T after I_L; the size printed beside it and Appendix B.1"
    " have three, which is the reading taken.",
    relation=Equal(),
    sizes={"L": (1, 3), "d_V": (1, 3), "d_K": (1, 4)},
    uses=("hessian.thm-3.2-z2-appendix", "hessian.lem-B.2", "hessian.lem-B.3"),
    proof=("hessian.eq-21", "hessian.eq-21-dF2"),
    exact=True,
)


def _functional(
    X: Any,
    W_Q: Any,
    W_K: Any,
    W_V: Any,
    Y: Any,
    *,
    second: int = 1,
    shuffle: Any = commutation_matrix,
    last: Any = kron,
) -> Any:
    """The block's two summands; mutants change the weight of the second, the shuffle, or the order of the last product."""
    L, d_V, d_K = X.shape[0], X.shape[1], W_Q.shape[1]
    A = attention_matrix(X, W_Q, W_K)
    residual = attention(X, W_Q, W_K, W_V) - Y
    curvature = (
        duplicated_residual(residual, d_V * d_K)
        @ kron_matmul([eye(L), W_V.T, eye(d_V), W_K.T], Z_2(A, X))
        @ kron(W_Q, eye(d_V))
        @ shuffle(d_K, d_V)
    )
    slope = (
        duplicated_residual(residual, d_V)
        @ kron_matmul([eye(L), W_V.T, eye(d_V)], kron(Z_1(A, X), eye(d_V)))
        @ shuffling_matrix(d_V)
    )
    return curvature * rational(2, L * d_V * d_K) + last(slope, eye(d_K)) * second * (rational(2, L * d_V) / sqrt(d_K))


@THEOREM_32_QK.formula
def functional_hessian_query_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_f(W_Q, W_K), shape (d_V d_K, d_V d_K) (Theorem 3.2)."""
    return _functional(X, W_Q, W_K, W_V, Y)


THEOREM_32_QK.oracle(lambda X, W_Q, W_K, W_V, Y: functional_hessian(X, W_Q, W_K, W_V, Y, wrt=("W_Q", "W_K")))
THEOREM_32_QK.mutant("product-rule term dropped", second=0)
THEOREM_32_QK.mutant("product-rule term with the wrong sign", second=-1)
THEOREM_32_QK.mutant("I_{d_K} on the left of the last product", last=lambda slope, identity: kron(identity, slope))
THEOREM_32_QK.mutant("no commutation matrix", shuffle=lambda m, n: eye(m * n))
THEOREM_32_QK.mutant("residual with the wrong sign", "Y -> 2 * attention(X, W_Q, W_K, W_V) - Y")
