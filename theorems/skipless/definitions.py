"""The objects under study: self-attention with one or several heads, the feed-forward network, and the stack of both.

Column-major vec, numerator layout.  n tokens of dimension d, the rows of X; weights are d x d but for heads, d x d_h, and
for the feed-forward network of hidden width d_f.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from verify.matrix import concatenate, each, exp, mapped, softmax, vec_c, visited
from verify.vocabulary import Shape, subject

Tokens = Annotated[Any, Shape("n", "d")]
QueryWeights = Annotated[Any, Shape("d", "d", role="query")]
Weights = Annotated[Any, Shape("d", "d")]
HeadQueryWeights = Annotated[Any, Shape("h", "d", "d_h", role="query")]
HeadWeights = Annotated[Any, Shape("h", "d", "d_h")]
Batch = Annotated[Any, Shape("m", "n", "d")]
#: Of each block: W_Q, W_K, W_V, W_O.
AttentionWeights = Annotated[Any, Shape("L", "4", "d", "d")]
#: Of each block: W_1^T and W_2, both (d_f, d).
FeedForwardWeights = Annotated[Any, Shape("L", "2", "d_f", "d")]


@subject("skipless.attention_matrix")
def attention_matrix(X: Tokens, W_Q: QueryWeights, W_K: Weights) -> Any:
    """A = softmax(X W_Q W_K^T X^T), row-wise and without a scale factor, shape (n, n) (Section 2)."""
    return softmax(X @ W_Q @ W_K.T @ X.T)


@subject("skipless.self_attention")
def self_attention(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """SA(X) = A X W_V W_O, shape (n, d) (Eq. (3))."""
    return attention_matrix(X, W_Q, W_K) @ X @ W_V @ W_O


@subject("skipless.attended_values")
def attended_values(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """A V with V = X W_V, shape (n, d): what Section A.3 calls SA(X), self-attention before W_O."""
    return attention_matrix(X, W_Q, W_K) @ (X @ W_V)


@subject("skipless.multi_head_attention")
def multi_head_attention(X: Tokens, W_Q: HeadQueryWeights, W_K: HeadWeights, W_V: HeadWeights, W_O: Weights) -> Any:
    """SA(X) = Concat(A_1 V_1, ..., A_h V_h) W_O, shape (n, d) (Eq. (4))."""
    heads = each(W_Q.shape[0], lambda i: softmax(X @ W_Q[i] @ W_K[i].T @ X.T) @ (X @ W_V[i]))
    return concatenate(heads, axis=1) @ W_O


def activation(T: Any) -> Any:
    """x / (1 + exp(-x)) entry by entry.  The paper names no activation; this one is smooth, like that of ViT."""
    return T / (1 + exp(-T))


@subject("skipless.feed_forward")
def feed_forward(X: Tokens, W_1: Annotated[Any, Shape("d", "d_f")], W_2: Annotated[Any, Shape("d_f", "d")]) -> Any:
    """MLP(X) = activation(X W_1) W_2, shape (n, d), for W_1 (d, d_f) and W_2 (d_f, d)."""
    return activation(X @ W_1) @ W_2


# -- the two branches as functions of their parameters -----------------------------------------------------------------


def column(weights: Any) -> Any:
    """Weights of any shape as one column."""
    return weights.reshape(-1, 1)


def attention_branch(X: Any, theta: Any) -> Any:
    """SA(X) for theta = (W_Q, W_K, W_V, W_O), a column of length 4 d^2; shape (n, d)."""
    W = theta.reshape(4, X.shape[1], X.shape[1])
    return self_attention(X, W[0], W[1], W[2], W[3])


def feed_forward_branch(X: Any, theta: Any) -> Any:
    """MLP(X) for theta = (W_1^T, W_2), a column of length 2 d d_f; shape (n, d)."""
    W = theta.reshape(2, -1, X.shape[1])
    return feed_forward(X, W[0].T, W[1])


#: In the order of the sub-blocks of a network: SA, MLP, SA, MLP, ...
BRANCHES = (attention_branch, feed_forward_branch)


def parameters(W: AttentionWeights, U: FeedForwardWeights) -> list[Any]:
    """theta^(1), theta-hat^(1), ..., theta^(L), theta-hat^(L), columns."""
    return [column(weights) for block in range(W.shape[0]) for weights in (W[block], U[block])]


def states(X: Any, thetas: Sequence[Any], skip: int = 1) -> list[Any]:
    """X-hat_0 = X, X_1, X-hat_1, ..., X_L, X-hat_L (Eqs. (1)-(2)); without skips for skip = 0."""
    found = [X]
    for i, theta in enumerate(thetas):
        found.append(BRANCHES[i % 2](found[-1], theta) + found[-1] * skip)
    return found


def network(X: Any, thetas: Sequence[Any], skip: int = 1) -> Any:
    """f(x; theta) as a matrix, shape (n, d): the blocks without embedding and output head (Section 4.1)."""
    return states(X, thetas, skip)[-1]


def states_of_blocks(X: Any, W: AttentionWeights, U: FeedForwardWeights) -> tuple[Any, Any]:
    """X_1, ..., X_L and X-hat_1, ..., X-hat_L (Eqs. (1)-(2)), two families of matrices (n, d), for any number of blocks."""

    def block(k: int, before: Any, _: Any) -> tuple[Any, Any]:
        _, between, after = states(before, [column(W[k]), column(U[k])])
        return after, between

    after, between = visited(W.shape[0], block, X, X * 0)
    return between, after


def on_top(*families: Any) -> Any:
    """The matrices of families as columns on top of each other, one family after the other."""
    return concatenate([mapped(vec_c, family) for family in families], axis=0)
