"""The objects under study: self-attention, its softmax derivatives, moments, and the loss split into its two Hessians.

Row-major vec, numerator layout (Eq. (4)).  L tokens, embedding dimension d_V, query-key dimension d_K.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian.settings import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights, loss_normalisation
from verify.matrix import (
    commutation_matrix, diag, each, eye, indexed, kron, kron_matmul, softmax, sqrt, total, vec_r,
)  # fmt: skip
from verify.oracles import hessian, jacobian
from verify.vocabulary import Shape, subject


@subject("hessian.attention_logits")
def attention_logits(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """T = X W_Q W_K^T X^T / sqrt(d_K), shape (L, L) (Section 2)."""
    return X @ W_Q @ W_K.T @ X.T / sqrt(W_Q.shape[1])


@subject("hessian.softmax")
def row_softmax(T: Annotated[Any, Shape("m", "n", role="query")]) -> Any:
    """softmax(T), row-wise, shape that of T (m, n) (Section 2)."""
    return softmax(T)


@subject("hessian.attention_matrix")
def attention_matrix(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """A = softmax(T), row-wise, shape (L, L) (Section 2)."""
    return row_softmax(attention_logits(X, W_Q, W_K))


@subject("hessian.attention")
def attention(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """F = A X W_V, shape (L, d_V) (Eq. (1))."""
    return attention_matrix(X, W_Q, W_K) @ X @ W_V


@subject("hessian.square_loss")
def square_loss(F: Labels, Y: Labels) -> Any:
    """||F - Y||_F^2 / (L d_V), a scalar (Section 2)."""
    return total((F - Y) * (F - Y)) * loss_normalisation(*F.shape)


def softmax_jacobian(A: Any) -> Any:
    """dA/dT = blockdiag(diag(A_i) - A_i A_i^T) of the row softmax, shape (L^2, L^2) (Lemma B.1, Eq. (19))."""
    return indexed("ij,jk->(i j)(i k)", A, eye(A.shape[1])) - indexed("ij,ik->(i j)(i k)", A, A)


def softmax_second_derivative(A: Any) -> Any:
    """d^2A/dT^2 of the row softmax, shape (L^4, L^2), Hessians of the entries of A stacked row by row (Lemma C.1).

    The Hessian of A_ij lives in the rows and columns of T_i: it is A_ij ((e_j - A_i)(e_j - A_i)^T - dA_i/dT_i).
    """
    m, n = A.shape
    deviations = eye(n).reshape(1, n, n) - A.reshape(m, 1, n)  # e_j - A_i at i, j
    covariances = indexed("ik,kl->(i)(k)(l)", A, eye(n)) - A.reshape(m, n, 1) * A.reshape(m, 1, n)
    curvatures = deviations.reshape(m, n, n, 1) * deviations.reshape(m, n, 1, n) - covariances.reshape(m, 1, n, n)
    return indexed("ijkl->(i j i k)(i l)", curvatures * A.reshape(m, n, 1, 1))


def first_moment(A: Any, X: Tokens) -> Any:
    """M_1 = A X, shape (L, d_V) (Definition 3.1)."""
    return A @ X


def _deviations(A: Any, X: Any, i: Any) -> Any:
    """X_j - [M_1]_i in row j, shape (L, d_V)."""
    return X - (A @ X)[i : i + 1]


def second_central_moments(A: Any, X: Tokens) -> Any:
    """The L blocks of M_2, each (d_V, d_V): covariance of the tokens under row i of A (Definition 3.1)."""

    def block(i: Any) -> Any:
        Y = _deviations(A, X, i)
        return Y.T @ diag(A[i]) @ Y

    return each(X.shape[0], block)


def third_central_moments(A: Any, X: Tokens) -> Any:
    """The L blocks of M_3, each (d_V^2, d_V): third central moments of the tokens under row i of A (Definition 3.1)."""

    def block(i: Any) -> Any:
        Y = _deviations(A, X, i)
        return indexed("j,ja,jb,jc->(a b)(c)", A[i], Y, Y, Y)

    return each(X.shape[0], block)


def Z_1(A: Any, X: Tokens) -> Any:
    """Z_1 = (I_L (x) X^T)(dA/dT)(X (x) X), shape (L d_V, d_V^2) (Theorem 3.1)."""
    return kron_matmul([eye(X.shape[0]), X.T], softmax_jacobian(A)) @ kron(X, X)


def Z_2(A: Any, X: Tokens) -> Any:
    """Z_2 = (I_L (x) X^T (x) X^T (x) X^T)(d^2A/dT^2)(X (x) X), shape (L d_V^3, d_V^2) (Theorem 3.2, Appendix B.1)."""
    return kron_matmul([eye(X.shape[0]), X.T, X.T, X.T], softmax_second_derivative(A)) @ kron(X, X)


def duplicated_residual(residual: Any, m: int) -> Any:
    """R_m = vec_r(F - Y)^T (x) I_m for a residual F - Y of shape (L, d_V); shape (m, m L d_V) (Theorem 3.2)."""
    return kron(vec_r(residual).T, eye(m))


def shuffling_matrix(d_V: int) -> Any:
    """S = (I (x) K_{d_V,d_V})(vec_r I (x) I), shape (d_V^3, d_V) (Theorem 3.2)."""
    identity = eye(d_V)
    return kron(identity, commutation_matrix(d_V, d_V)) @ kron(vec_r(identity), identity)


@subject("hessian.outer_product_hessian")
def outer_product_hessian(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, wrt: tuple[str, str]
) -> Any:
    """Block (wrt_i, wrt_j) of the outer-product Hessian by differentiation: J_i^T (d^2 loss/dF^2) J_j (Eq. (2))."""
    L, d_V = X.shape
    J_i = jacobian(attention, wrt[0])(X, W_Q, W_K, W_V)
    J_j = jacobian(attention, wrt[1])(X, W_Q, W_K, W_V)
    return J_i.T @ J_j * (2 * loss_normalisation(L, d_V))


@subject("hessian.functional_hessian")
def functional_hessian(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, wrt: tuple[str, str]
) -> Any:
    """Block (wrt_i, wrt_j) of the functional Hessian by differentiation: that of <dloss/dF, F> with dloss/dF frozen (Eq. (2))."""
    L, d_V = X.shape
    gradient = (attention(X, W_Q, W_K, W_V) - Y) * (2 * loss_normalisation(L, d_V))

    def paired(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        return total(gradient * attention(X, W_Q, W_K, W_V))

    return hessian(paired, wrt)(X, W_Q, W_K, W_V)


@subject("hessian.loss_hessian")
def loss_hessian(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, wrt: tuple[str, str]
) -> Any:
    """Block (wrt_i, wrt_j) of the Hessian of the square loss of the layer, by differentiation (Eq. (2), left side)."""

    def loss(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        return square_loss(attention(X, W_Q, W_K, W_V), Y)

    return hessian(loss, wrt)(X, W_Q, W_K, W_V)
