"""Biases by classes of pairs of queries and keys, such as T5's buckets of differences of positions."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.encodings import (
    Classes, Farthest, Table, attention_with_classes, bucket_of, bucketed_attention, bucketed_causal_attention,
    logits_of_classes,
)  # fmt: skip
from theorems.transformer.kernels import TokenHeadKeys, TokenHeadQueries, TokenHeadValues
from theorems.transformer.settings import Keys, Queries, Values
from verify.matrix import concatenate, indexed, softmax
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, Setting, Shape

ClassBiases = Annotated[Any, Shape("N")]

CLASSES = Setting(
    TRANSFORMER, "Biases by classes", exact=True,
    sizes={"m": (1, 3), "n": (1, 4), "N": (1, 3), "d_K": (1, 3), "d_V": (1, 2)},
    assumptions=[Definition("F is the softmax of Q K^T + sum_r Z_ijr a_r, times V", by=attention_with_classes)],
)  # fmt: skip

GRADIENT = Claim(CLASSES, "transformer.class-bias-jacobian", label="Derivative in the bias of a class",
    statement=r"\frac{\partial F_{ic}}{\partial a_r} = \sum_jP_{ij}Z_{ijr}(V_{jc} - F_{ic})",
    name="derivative in the bias of a class", relation=Equal(), all_sizes=True,
    note="With Z one-hot the sum is over the keys of the class: an embedding of buckets adds up their gradients.")  # fmt: skip


@GRADIENT.formula
def class_bias_jacobian(Q: Queries, K: Keys, V: Values, Z: Classes, a: ClassBiases) -> Any:
    """Weights of the keys of each class times deviations of their values, shape (m d_V, N)."""
    P = softmax(logits_of_classes(Q, K, Z, a))
    return indexed("ij,ijr,jc->(i c)(r)", P, Z, V) - indexed("ij,ijr,ic->(i c)(r)", P, Z, P @ V)


GRADIENT.oracle(lambda Q, K, V, Z, a: jacobian(attention_with_classes, "a")(Q, K, V, Z, a))
GRADIENT.mutant("values not centred", "P @ V -> 0 * (P @ V)")
GRADIENT.mutant("classes not told apart", lambda Q, K, V, Z, a: class_bias_jacobian(Q, K, V, 0 * Z + 1, a))

BUCKETS = Setting(
    TRANSFORMER, "Biases in buckets", exact=True,
    sizes={"B": (1, 2), "H": (1, 3), "n": (1, 5), "d_K": (1, 3), "d_V": (1, 2), "N": (4, 8), "D": (3, 9)},
    where=lambda sizes: sizes["N"] % 2 == 0 and sizes["B"] * sizes["H"] * sizes["n"] <= 16 and sizes["D"] > sizes["N"] // 2,
    assumptions=[
        Definition("the bucket of a distance is the function of T5", by=bucket_of),
        Assumption(
            "N >= 4 is even and D > N/2",
            sizes=lambda sizes: sizes["N"] >= 4 and sizes["N"] % 2 == 0 and sizes["D"] > sizes["N"] // 2,
        ),
    ],
)  # fmt: skip


def _bias(A: Table, h: int, i: int, j: int, D: int) -> Any:
    """The bias of head h for query i and key j, both directions apart, shape (1, 1)."""
    half = A.shape[0] // 2
    r = bucket_of(abs(j - i), half, D) + (half if j > i else 0)
    return A[r : r + 1, h : h + 1]


def _earlier_bias(A: Table, h: int, i: int, j: int, D: int) -> Any:
    """The bias of head h for query i and key j <= i, shape (1, 1)."""
    r = bucket_of(i - j, A.shape[0], D)
    return A[r : r + 1, h : h + 1]


ENCODER = Claim(BUCKETS, "transformer.bucketed-heads", label="T5's encoder, query by query",
    statement=r"""F_{bhi} = \operatorname{softmax}_j\big(Q_{bhi}K_{bhj}^\top + A_{r(j-i),h}\big)V_{bh},\quad
        r(x) = \beta(|x|) + \tfrac N2\mathbb 1_{\{x>0\}},\ \beta\ \text{the bucket among}\ \tfrac N2""",
    name="attention with T5's buckets", relation=Equal(), uses=("transformer.class-bias-jacobian",),
    at_sizes={"B": 1, "H": 2, "n": 3, "d_K": 1, "d_V": 1, "N": 4, "D": 3})  # fmt: skip


@ENCODER.formula
def query_by_query(Q: TokenHeadQueries, K: TokenHeadKeys, V: TokenHeadValues, A: Table, D: Farthest) -> Any:
    """The rows of all heads of all samples on top of each other, shape (B H n, d_V)."""
    (B, H, n, _), rows = Q.shape, []
    for b in range(B):
        for h in range(H):
            for i in range(n):
                bias = concatenate([_bias(A, h, i, j, D) for j in range(n)], axis=1)
                rows.append(softmax(Q[b][h][i : i + 1] @ K[b][h].T + bias) @ V[b][h])
    return concatenate(rows, axis=0)


ENCODER.oracle(lambda Q, K, V, A, D: bucketed_attention(Q, K, V, A, D).reshape(-1, V.shape[3]))
ENCODER.mutant("directions exchanged", "_bias(A, h, i, j, D) -> _bias(A, h, j, i, D)")
ENCODER.mutant("the table of the first head", "_bias(A, h, i, j, D) -> _bias(A, 0, i, j, D)")
ENCODER.mutant("scaled", "Q[b][h][i : i + 1] @ K[b][h].T -> Q[b][h][i : i + 1] @ K[b][h].T / 2")

DECODER = Claim(BUCKETS, "transformer.bucketed-causal-heads", label="T5's decoder, query by query",
    statement=r"""F_{bhi} = \operatorname{softmax}_{j \le i}\big(Q_{bhi}K_{bhj}^\top + A_{\beta(i-j),h}\big)V_{bh},\quad
        \beta\ \text{the bucket among}\ N""",
    name="causal attention with T5's buckets", relation=Equal(), uses=("transformer.class-bias-jacobian",),
    at_sizes={"B": 1, "H": 2, "n": 3, "d_K": 1, "d_V": 1, "N": 4, "D": 3})  # fmt: skip


@DECODER.formula
def earlier_keys(Q: TokenHeadQueries, K: TokenHeadKeys, V: TokenHeadValues, A: Table, D: Farthest) -> Any:
    """The rows of all heads of all samples on top of each other, shape (B H n, d_V)."""
    (B, H, n, _), rows = Q.shape, []
    for b in range(B):
        for h in range(H):
            for i in range(n):
                bias = concatenate([_earlier_bias(A, h, i, j, D) for j in range(i + 1)], axis=1)
                rows.append(softmax(Q[b][h][i : i + 1] @ K[b][h][: i + 1].T + bias) @ V[b][h][: i + 1])
    return concatenate(rows, axis=0)


DECODER.oracle(lambda Q, K, V, A, D: bucketed_causal_attention(Q, K, V, A, D).reshape(-1, V.shape[3]))
DECODER.mutant("buckets of both directions", "_earlier_bias(A, h, i, j, D) -> _bias(A, h, i, j, D)")
DECODER.mutant("the table of the first head", "_earlier_bias(A, h, i, j, D) -> _earlier_bias(A, 0, i, j, D)")
DECODER.mutant("no bias", "_earlier_bias(A, h, i, j, D) -> 0 * _earlier_bias(A, h, i, j, D)")
