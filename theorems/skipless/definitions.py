"""The objects under study: single-head self-attention and its output projection.

Column-major vec, numerator layout.  n tokens of dimension d, the rows of X; all weights are d x d.
"""

from __future__ import annotations

from typing import Annotated, Any

from verify.matrix import softmax
from verify.shapes import Shape
from verify.subjects import subject

Tokens = Annotated[Any, Shape("n", "d")]
QueryWeights = Annotated[Any, Shape("d", "d", role="query")]
Weights = Annotated[Any, Shape("d", "d")]


@subject("skipless.attention_matrix")
def attention_matrix(X: Tokens, W_Q: QueryWeights, W_K: Weights) -> Any:
    """A = softmax(X W_Q W_K^T X^T), row-wise and without a scale factor, shape (n, n) (Section 2)."""
    return softmax(X @ W_Q @ W_K.T @ X.T)


@subject("skipless.self_attention")
def self_attention(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """SA(X) = A X W_V W_O, shape (n, d) (Eq. (3))."""
    return attention_matrix(X, W_Q, W_K) @ X @ W_V @ W_O
