"""The outer-product Hessian: Theorem 3.1, and the blocks in the key weights that the paper omits."""

from __future__ import annotations

from typing import Any

from theorems.hessian.definitions import Z_1, attention_matrix, first_moment, outer_product_hessian
from theorems.hessian.settings import ATTENTION_LOSS, KeyWeights, QueryWeights, Tokens, ValueWeights, loss_normalisation
from verify.matrix import commutation_matrix, eye, kron, rational, sqrt
from verify.vocabulary import Claim, Definition, Equal


def mean_tokens(X: Any, W_Q: Any, W_K: Any) -> Any:
    """M_1 at the layer's own attention, shape (L, d_V)."""
    return first_moment(attention_matrix(X, W_Q, W_K), X)


def _softmax_term(X: Any, W_Q: Any, W_K: Any) -> Any:
    return Z_1(attention_matrix(X, W_Q, W_K), X)


# -- the value block ---------------------------------------------------------------------------------------------------

THEOREM_31_VV = Claim(ATTENTION_LOSS, "hessian.thm-3.1-vv", label="Theorem 3.1 (Section 3), value block",
    statement=r"H_o(W_V,W_V) = \frac{2}{L d_V} M_1^\top M_1 \otimes I_{d_V}",
    assumptions=[Definition("M_1 = A X", by=mean_tokens)],
    name="outer-product Hessian, value block", relation=Equal(), all_sizes=True, uses=("hessian.lem-B.1",))  # fmt: skip


@THEOREM_31_VV.formula
def outer_product_hessian_value(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o(W_V, W_V), shape (d_V^2, d_V^2) (Theorem 3.1)."""
    (L, d_V), M_1 = X.shape, mean_tokens(X, W_Q, W_K)
    return kron(M_1.T @ M_1, eye(d_V)) * (2 * loss_normalisation(L, d_V))


THEOREM_31_VV.oracle(lambda X, W_Q, W_K, W_V: outer_product_hessian(X, W_Q, W_K, W_V, wrt=("W_V", "W_V")))
THEOREM_31_VV.mutant("factors of the Kronecker product exchanged", "M_1.T @ M_1 -> eye(d_V); eye(d_V) -> M_1.T @ M_1")
THEOREM_31_VV.mutant("tokens instead of their first moment", "M_1 -> X")
THEOREM_31_VV.mutant("not divided by d_V", "loss_normalisation(L, d_V) -> loss_normalisation(L, 1)")

# -- the query block and the mixed value-query block -------------------------------------------------------------------

THEOREM_31_QQ = Claim(ATTENTION_LOSS, "hessian.thm-3.1-qq", label="Theorem 3.1 (Section 3), query block",
    statement=r"""H_o(W_Q,W_Q) = \frac{2}{L d_V d_K}(I_{d_V}\otimes W_K^\top) Z_1^\top (I_L\otimes W_V W_V^\top) Z_1
        (I_{d_V}\otimes W_K)""",
    assumptions=[Definition("Z_1 = (I_L (x) X^T)(dA/dT)(X (x) X)", by=_softmax_term)],
    name="outer-product Hessian, query block", relation=Equal(), all_sizes=True, uses=("hessian.lem-B.1",))  # fmt: skip


def _squared(X: Any, W_Q: Any, W_K: Any, inner: Any, factor: Any) -> Any:
    """2 / (L d_V d_K) times the Gram matrix of Z_1 `factor` in the metric I (x) `inner`."""
    L, d_V, d_K = X.shape[0], X.shape[1], W_Q.shape[1]
    J = _softmax_term(X, W_Q, W_K) @ factor
    return J.T @ kron(eye(L), inner) @ J * rational(2, L * d_V * d_K)


@THEOREM_31_QQ.formula
def outer_product_hessian_query(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o(W_Q, W_Q), shape (d_V d_K, d_V d_K) (Theorem 3.1)."""
    L, d_V, d_K = X.shape[0], X.shape[1], W_Q.shape[1]
    Z = _softmax_term(X, W_Q, W_K)
    left = kron(eye(d_V), W_K.T) @ Z.T @ kron(eye(L), W_V @ W_V.T)
    return left @ Z @ kron(eye(d_V), W_K) * rational(2, L * d_V * d_K)


THEOREM_31_QQ.oracle(lambda X, W_Q, W_K, W_V: outer_product_hessian(X, W_Q, W_K, W_V, wrt=("W_Q", "W_Q")))
THEOREM_31_QQ.mutant("W_V^T W_V instead of W_V W_V^T", "W_V @ W_V.T -> W_V.T @ W_V")
THEOREM_31_QQ.mutant("W_K (x) I instead of I (x) W_K",
    "kron(eye(d_V), W_K.T) -> kron(W_K.T, eye(d_V)); kron(eye(d_V), W_K) -> kron(W_K, eye(d_V))")  # fmt: skip
THEOREM_31_QQ.mutant("query instead of key weights", "W_K.T -> W_Q.T; kron(eye(d_V), W_K) -> kron(eye(d_V), W_Q)")
THEOREM_31_QQ.mutant("not divided by L", "L * d_V * d_K -> d_V * d_K")

THEOREM_31_VQ = Claim(ATTENTION_LOSS, "hessian.thm-3.1-vq", label="Theorem 3.1 (Section 3), mixed value-query block",
    statement=r"H_o(W_V,W_Q) = \frac{2}{L d_V\sqrt{d_K}}(M_1^\top\otimes W_V^\top) Z_1 (I_{d_V}\otimes W_K)",
    assumptions=[Definition("M_1 = A X", by=mean_tokens), Definition("Z_1 = (I_L (x) X^T)(dA/dT)(X (x) X)", by=_softmax_term)],
    name="outer-product Hessian, value-query block", relation=Equal(), all_sizes=True, uses=("hessian.lem-B.1",),
    proof=("hessian.thm-3.1-proof-vq",))  # fmt: skip


def _mixed(X: Any, W_Q: Any, W_K: Any, W_V: Any, factor: Any) -> Any:
    """2 / (L d_V sqrt(d_K)) (M_1^T (x) W_V^T) Z_1 `factor`."""
    L, d_V, d_K = X.shape[0], X.shape[1], W_Q.shape[1]
    scale = (2 * loss_normalisation(L, d_V)) / sqrt(d_K)
    return kron(mean_tokens(X, W_Q, W_K).T, W_V.T) @ _softmax_term(X, W_Q, W_K) @ factor * scale


@THEOREM_31_VQ.formula
def outer_product_hessian_value_query(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o(W_V, W_Q), shape (d_V^2, d_V d_K) (Theorem 3.1)."""
    return _mixed(X, W_Q, W_K, W_V, kron(eye(X.shape[1]), W_K))


THEOREM_31_VQ.oracle(lambda X, W_Q, W_K, W_V: outer_product_hessian(X, W_Q, W_K, W_V, wrt=("W_V", "W_Q")))
THEOREM_31_VQ.mutant("W_V not transposed", "W_V -> W_V.T")
THEOREM_31_VQ.mutant("W_K (x) I instead of I (x) W_K", "kron(eye(X.shape[1]), W_K) -> kron(W_K, eye(X.shape[1]))")
THEOREM_31_VQ.mutant("1/d_K instead of 1/sqrt(d_K)", lambda value, W_Q: value / sqrt(W_Q.shape[1]))

THEOREM_31_QK = Claim(ATTENTION_LOSS, "hessian.thm-3.1-qk", label="Theorem 3.1 (Section 3), mixed query-key block",
    statement=r"""H_o(W_Q,W_K) = \frac{2}{L d_V d_K}(I_{d_V}\otimes W_K^\top) Z_1^\top (I_L\otimes W_V W_V^\top) Z_1
        (W_Q\otimes I_{d_V}) K_{d_K,d_V}""",
    name="outer-product Hessian, query-key block", relation=Equal(), all_sizes=True,
    uses=("hessian.lem-B.1", "hessian.jacobian-key"))  # fmt: skip


@THEOREM_31_QK.formula
def outer_product_hessian_query_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o(W_Q, W_K), shape (d_V d_K, d_V d_K) (Theorem 3.1)."""
    (L, d_V), d_K, Z = X.shape, W_Q.shape[1], _softmax_term(X, W_Q, W_K)
    left = kron(eye(d_V), W_K.T) @ Z.T @ kron(eye(L), W_V @ W_V.T)
    return left @ Z @ kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V) * rational(2, L * d_V * d_K)


THEOREM_31_QK.oracle(lambda X, W_Q, W_K, W_V: outer_product_hessian(X, W_Q, W_K, W_V, wrt=("W_Q", "W_K")))
THEOREM_31_QK.mutant("no commutation matrix", "commutation_matrix(d_K, d_V) -> eye(d_V * d_K)")
THEOREM_31_QK.mutant("commutation matrix transposed", "commutation_matrix(d_K, d_V) -> commutation_matrix(d_V, d_K)")
THEOREM_31_QK.mutant("W_V^T W_V instead of W_V W_V^T", "W_V @ W_V.T -> W_V.T @ W_V")
THEOREM_31_QK.mutant("1/sqrt(d_K) instead of 1/d_K", lambda value, W_Q: value * sqrt(W_Q.shape[1]))
THEOREM_31_QK.mutant("query and key weights exchanged", "W_Q -> W_K; W_K -> W_Q")

# -- the key blocks, which the paper omits -----------------------------------------------------------------------------

KEY_NOTE = "The paper omits the key blocks: 'essentially symmetric to the ones w.r.t. the query weight matrix'."


OUTER_KK = Claim(ATTENTION_LOSS, "hessian.outer-key-key", label="Theorem 3.1, key block",
    statement=r"""H_o(W_K,W_K) = \frac{2}{L d_V d_K} K_{d_V,d_K}(W_Q^\top\otimes I_{d_V}) Z_1^\top (I_L\otimes W_V
        W_V^\top) Z_1 (W_Q\otimes I_{d_V}) K_{d_K,d_V}""",
    name="outer-product Hessian, key block", relation=Equal(), all_sizes=True, uses=("hessian.jacobian-key",),
    of_project=True,
    note=KEY_NOTE)  # fmt: skip


@OUTER_KK.formula
def outer_product_hessian_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o(W_K, W_K), shape (d_V d_K, d_V d_K)."""
    d_V, d_K = W_Q.shape
    return _squared(X, W_Q, W_K, W_V @ W_V.T, kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V))


OUTER_KK.oracle(lambda X, W_Q, W_K, W_V: outer_product_hessian(X, W_Q, W_K, W_V, wrt=("W_K", "W_K")))
OUTER_KK.mutant("no commutation matrices", "commutation_matrix(d_K, d_V) -> eye(d_V * d_K)")
OUTER_KK.mutant("the query block with query weights in it",
    "kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V) -> kron(eye(d_V), W_Q)")  # fmt: skip
OUTER_KK.mutant("W_V^T W_V instead of W_V W_V^T", "W_V -> W_V.T; W_V.T -> W_V")

OUTER_VK = Claim(ATTENTION_LOSS, "hessian.outer-value-key", label="Theorem 3.1, mixed value-key block",
    statement=r"""
        H_o(W_V,W_K) = \frac{2}{L d_V\sqrt{d_K}}(M_1^\top\otimes W_V^\top) Z_1 (W_Q\otimes I_{d_V}) K_{d_K,d_V}""",
    name="outer-product Hessian, value-key block", relation=Equal(), all_sizes=True,
    uses=("hessian.lem-B.1", "hessian.jacobian-key"), of_project=True,
    note=KEY_NOTE)  # fmt: skip


@OUTER_VK.formula
def outer_product_hessian_value_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o(W_V, W_K), shape (d_V^2, d_V d_K)."""
    d_V, d_K = W_Q.shape
    return _mixed(X, W_Q, W_K, W_V, kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V))


OUTER_VK.oracle(lambda X, W_Q, W_K, W_V: outer_product_hessian(X, W_Q, W_K, W_V, wrt=("W_V", "W_K")))
OUTER_VK.mutant("no commutation matrix", "commutation_matrix(d_K, d_V) -> eye(d_V * d_K)")
OUTER_VK.mutant("commutation matrix transposed", "commutation_matrix(d_K, d_V) -> commutation_matrix(d_V, d_K)")
OUTER_VK.mutant("W_V not transposed", "W_V -> W_V.T")
