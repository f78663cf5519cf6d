"""Several heads, Eqs. (3)-(4): concatenated as in other architectures, and merged into one product with the tokens."""

from __future__ import annotations

from typing import Any

from theorems.osa.definitions import attention, attention_matrix
from theorems.osa.part_2_4_cost.push_through import push_through_factor, scaled_generator
from theorems.osa.settings import HEADS, layer
from theorems.osa.shapes import Alpha, HeadSize, SquareQuery, SquareWeights, Tokens
from verify.matrix import concatenate, expm, sqrt
from verify.vocabulary import Claim, Definition, Equal


def _heads(W_Q: Any, W_K: Any, W_V: Any, W_O: Any, d_v: int) -> list[tuple[Any, Any, Any, Any]]:
    """The weights of each head, from matrices (d, d) that hold the heads side by side (W_O: on top of each other)."""
    cuts = [slice(i, i + d_v) for i in range(0, W_Q.shape[1], d_v)]
    return [(W_Q[:, cut], W_K[:, cut], W_V[:, cut], W_O[cut]) for cut in cuts]


def all_heads(
    X: Tokens, W_Q: SquareQuery, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, alpha: Alpha, d_v: HeadSize
) -> Any:
    """Tokens, and the weights of all heads side by side."""
    return {**layer(X, W_Q, W_K, W_V, W_O, alpha), "d_v": d_v}


ALL_HEADS = HEADS.extended("Section 2, Eqs. (3)-(4)",
    assumptions=[Definition("W_Q = [W_1^Q, ..., W_h^Q], W_K, W_V likewise; W_O = [W_1^O; ...; W_h^O]", by=_heads)],
    sizes={"N": (1, 4), "d": (1, 4), "d_v": (1, 2)}, inputs=all_heads, exact=True)  # fmt: skip


def sum_over_heads(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, d_v: int) -> Any:
    """sum_i OSA_i(X), shape (N, d), by the definition of each head."""
    return sum(attention(X, *weights, alpha) for weights in _heads(W_Q, W_K, W_V, W_O, d_v))


CONCATENATED = Claim(ALL_HEADS, "osa.multi-head-concatenated", label="Eqs. (3)-(4), heads concatenated",
    statement=r"""\sum_{i=1}^h \mathbf{A}_i\mathbf{X}\mathbf{W}_i^V\mathbf{W}_i^O =
        [\mathbf{A}_1\mathbf{X}\mathbf{W}_1^V, \dots, \mathbf{A}_h\mathbf{X}\mathbf{W}_h^V]\,\mathbf{W}^O""",
    name="heads concatenated", relation=Equal(), at_sizes={"N": 2, "d": 2, "d_v": 1}, of_project=True)  # fmt: skip
CONCATENATED.oracle(sum_over_heads)


@CONCATENATED.formula
def heads_concatenated(
    X: Tokens, W_Q: SquareWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, alpha: Alpha,
    d_v: HeadSize,
) -> Any:  # fmt: skip
    """M-OSA(X) = [A_1 X W_1^V, ..., A_h X W_h^V] W^O, shape (N, d), with N x N matrices A_i."""
    heads = _heads(W_Q, W_K, W_V, W_O, d_v)
    return concatenate([attention_matrix(X, Q, K, alpha) @ X @ V for Q, K, V, _ in heads], axis=1) @ W_O


CONCATENATED.mutant("heads in reversed order",
    "_heads(W_Q, W_K, W_V, W_O, d_v) -> _heads(W_Q, W_K, W_V, W_O, d_v)[::-1]")  # fmt: skip
CONCATENATED.mutant("W^O transposed", "W_O -> W_O.T")

MERGED = Claim(ALL_HEADS, "osa.multi-head-push-through", label="Eqs. (3)-(4) through one d x d matrix",
    statement=r"""\sum_{i=1}^h \mathbf{A}_i\mathbf{X}\mathbf{W}_i^V\mathbf{W}_i^O = \mathbf{X}\sum_{i=1}^h
        \exp(\mathbf{W}_i\mathbf{X}^\top\mathbf{X})\,\mathbf{W}_i^V\mathbf{W}_i^O""",
    name="all heads through one product with the tokens", relation=Equal(), at_sizes={"N": 2, "d": 2, "d_v": 1},
    uses=("osa.push-through-layer",), of_project=True)  # fmt: skip
MERGED.oracle(sum_over_heads)


@MERGED.formula
def heads_merged(
    X: Tokens, W_Q: SquareWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, alpha: Alpha,
    d_v: HeadSize,
) -> Any:  # fmt: skip
    """M-OSA(X) = X sum_i exp(W_i X^T X) W_i^V W_i^O, shape (N, d): tokens are multiplied twice, whatever h."""
    G = X.T @ X
    return X @ sum(push_through_factor(G, *weights, alpha) for weights in _heads(W_Q, W_K, W_V, W_O, d_v))


@MERGED.mutant("one exponential for all heads")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, d_v: HeadSize) -> Any:
    W = sum(scaled_generator(Q, K, alpha) for Q, K, _, _ in _heads(W_Q, W_K, W_V, W_O, d_v))
    return X @ expm(W @ (X.T @ X)) @ W_V @ W_O


MERGED.mutant(
    "scaled by alpha / sqrt(d) instead of alpha / sqrt(d_v)",
    lambda X, W_Q, W_K, W_V, W_O, alpha, d_v: heads_merged(
        X, W_Q, W_K, W_V, W_O, alpha * sqrt(d_v) / sqrt(X.shape[1]), d_v
    ),
)
