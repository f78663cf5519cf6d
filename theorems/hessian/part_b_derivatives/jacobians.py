"""First derivatives of the layer: Lemma B.1 with Eq. (19), and the Jacobian in the key weights that it leaves out."""

from __future__ import annotations

from typing import Any

from theorems.hessian.definitions import attention, attention_logits, attention_matrix, softmax_jacobian
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import ATTENTION, KeyWeights, QueryWeights, Tokens, ValueWeights
from verify.matrix import block_diag, commutation_matrix, diag, each, eye, kron, softmax, sqrt
from verify.oracles import closed_form, jacobian
from verify.vocabulary import Claim, Equal, checked

# -- Lemma B.1 ---------------------------------------------------------------------------------------------------------


@checked
def attention_jacobian_wrt_value(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """dF/dW_V = A X (x) I_{d_V}, shape (L d_V, d_V^2) (Lemma B.1)."""
    return kron(attention_matrix(X, W_Q, W_K) @ X, eye(X.shape[1]))


@checked
def attention_jacobian_wrt_query(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """dF/dW_Q = (I_L (x) W_V^T X^T)(dA/dT)(X (x) X W_K) / sqrt(d_K), shape (L d_V, d_V d_K) (Lemma B.1)."""
    return _through_logits(X, W_Q, W_K, W_V.T, kron(X, X @ W_K))


def _through_logits(X: Any, W_Q: Any, W_K: Any, left: Any, logits: Any) -> Any:
    """(I_L (x) `left` X^T)(dA/dT) `logits` / sqrt(d_K)."""
    S = softmax_jacobian(attention_matrix(X, W_Q, W_K))
    return kron(eye(X.shape[0]), left @ X.T) @ S @ logits / sqrt(W_Q.shape[1])


LEMMA_B1 = Claim(ATTENTION, "hessian.lem-B.1", label="Lemma B.1 and eq. (19)",
    statement=r"""\frac{\partial F}{\partial W_V} = \operatorname{softmax}\Big(\frac{X W_Q W_K^\top
        X^\top}{\sqrt{d_K}}\Big) X\otimes I_{d_V},\quad \frac{\partial F}{\partial W_Q} = (I_L\otimes W_V^\top
        X^\top)\frac{\partial A}{\partial T}\Big(\frac{X\otimes X W_K}{\sqrt{d_K}}\Big),\quad \frac{\partial A}{\partial
        T} = \operatorname{blockdiag}\Big(\frac{\partial A_{i,:}}{\partial T_{i,:}}\Big),\ \frac{\partial
        A_{i,:}}{\partial T_{i,:}} = \operatorname{diag}(A_{i,:}) - A_{i,:}A_{i,:}^\top""",
    name="Jacobians of self-attention and softmax", relation=Equal(), all_sizes=True)  # fmt: skip


@LEMMA_B1.formula
def attention_jacobians(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """dF/dW_V, dF/dW_Q and dA/dT, all entries in one column (Lemma B.1)."""
    value, query = attention_jacobian_wrt_value(X, W_Q, W_K), attention_jacobian_wrt_query(X, W_Q, W_K, W_V)
    A = attention_matrix(X, W_Q, W_K)
    return stacked(value, query, softmax_jacobian(A))


def _slopes_alone(A: Any) -> Any:
    """dA/dT without the rank-one terms of its blocks, as a mutant has it."""
    return block_diag(each(A.shape[0], lambda i: diag(A[i])))


@LEMMA_B1.oracle
def jacobians_by_differentiation(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    return stacked(
        jacobian(attention, "W_V")(X, W_Q, W_K, W_V),
        jacobian(attention, "W_Q")(X, W_Q, W_K, W_V),
        jacobian(softmax, "T")(attention_logits(X, W_Q, W_K)),
    )


LEMMA_B1.mutant("I (x) A X instead of A X (x) I", "value -> kron(eye(X.shape[1]), A @ X)")
LEMMA_B1.mutant("W_V not transposed", "W_V -> W_V.T")
LEMMA_B1.mutant("key and query weights exchanged in dF/dW_Q",
    "query -> _through_logits(X, W_Q, W_K, W_V.T, kron(X, X @ W_Q))")  # fmt: skip
LEMMA_B1.mutant("not divided by sqrt(d_K)", "query -> query * sqrt(W_Q.shape[1])")
LEMMA_B1.mutant("X W_K (x) X instead of X (x) X W_K", "query -> _through_logits(X, W_Q, W_K, W_V.T, kron(X @ W_K, X))")
LEMMA_B1.mutant("dA/dT without its rank-one terms", "softmax_jacobian(A) -> _slopes_alone(A)")

JACOBIAN_KEY = Claim(ATTENTION, "hessian.jacobian-key", label="Lemma B.1, key weights",
    statement=r"""\frac{\partial F}{\partial W_K} = \frac{1}{\sqrt{d_K}}(I_L\otimes W_V^\top X^\top)\frac{\partial
        A}{\partial T}(X W_Q\otimes X) K_{d_K,d_V}""",
    name="Jacobian in the key weights", relation=Equal(), all_sizes=True, uses=("hessian.lem-B.1", "hessian.eq-18"),
    of_project=True,
    note="Lemma B.1 states the Jacobians in the value and query weights only; the key blocks rest on this one.",
)  # fmt: skip


@JACOBIAN_KEY.formula
def attention_jacobian_wrt_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """dF/dW_K, shape (L d_V, d_V d_K)."""
    d_V, d_K = W_K.shape
    return _through_logits(X, W_Q, W_K, W_V.T, kron(X @ W_Q, X) @ commutation_matrix(d_K, d_V))


for _name, _form, _by in (("V", attention_jacobian_wrt_value, "lem-B.1"), ("Q", attention_jacobian_wrt_query, "lem-B.1"),
                          ("K", attention_jacobian_wrt_key, "jacobian-key")):  # fmt: skip
    closed_form(attention, f"W_{_name}", f"hessian.{_by}")(_form)

JACOBIAN_KEY.oracle(lambda X, W_Q, W_K, W_V: jacobian(attention, "W_K")(X, W_Q, W_K, W_V))
JACOBIAN_KEY.mutant("no commutation matrix", "commutation_matrix(d_K, d_V) -> eye(d_V * d_K)")
JACOBIAN_KEY.mutant("the query Jacobian with query weights in it",
    "kron(X @ W_Q, X) @ commutation_matrix(d_K, d_V) -> kron(X, X @ W_Q)")  # fmt: skip
