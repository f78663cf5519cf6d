"""Heads with a bias of their own, as of T5 and ALiBi, masks of samples, and a sink for each head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import HeadKeys, HeadValues
from theorems.transformer.kernels import (
    TokenHeadKeys, TokenHeadQueries, TokenHeadValues, alibi_attention, alibi_slopes, biased_heads, biased_weights,
    mask_from_the_first, sink_attention, softmax_with_sink,
)  # fmt: skip
from theorems.transformer.part_2_heads.batches import GroupedQueries, in_line
from theorems.transformer.settings import SOME_KEY, Mask, Signs, mask_of
from verify.matrix import concatenate, each, eye, indexed, ones, row_sums, sqrt
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, Setting, Shape

GroupedBias = Annotated[Any, Shape("G", "R", "m", "n")]
SampleSigns = Annotated[Any, Shape("B", "m", "n", role="mask")]
GroupedSinks = Annotated[Any, Shape("G", "R", "1", "1")]


def biased_operands(Q: GroupedQueries, K: HeadKeys, V: HeadValues, A: GroupedBias, S: SampleSigns) -> dict[str, Any]:
    B, m, n = S.shape
    masks = concatenate([mask_of(S[b]).reshape(1, m * n) for b in range(B)], axis=0)
    return {"Q": Q, "K": K, "V": V, "A": A, "M": masks.reshape(B, m, n)}


SIZES = {"B": (1, 2), "G": (1, 2), "R": (1, 2), "m": (1, 2), "n": (1, 3), "d_K": (1, 4), "d_V": (1, 2)}
SOME_KEYS = Assumption(
    "M allows every query of every sample some key", positive=lambda M: row_sums(M.reshape(-1, M.shape[2]))
)
BIASED = Setting(
    TRANSFORMER, "Heads with biases", inputs=biased_operands, exact=True, sizes=SIZES,
    assumptions=[
        SOME_KEYS,
        Definition("heads r = 1, ..., R of group g stand at g R + r of the H = G R heads, biases too", by=biased_heads),
    ],
    where=lambda sizes: sizes["B"] * sizes["G"] * sizes["R"] * sizes["d_K"] <= 16,
)  # fmt: skip


def of_all_heads(B: int, G: int, R: int, head: Callable[[Any, Any, Any], Any]) -> Any:
    """What head(b, g, r) gives for every head of every group of every sample, on top of each other."""

    def group(b: Any, g: Any) -> Any:
        return concatenate(each(R, lambda r: head(b, g, r)), axis=0)

    return concatenate(each(B, lambda b: concatenate(each(G, lambda g: group(b, g)), axis=0)), axis=0)


def biases_in_line(A: GroupedBias) -> Any:
    """The biases of all groups as one axis of H = G R, shape (H, m, n)."""
    return A.reshape(-1, A.shape[2], A.shape[3])


SINGLE = Claim(BIASED, "transformer.biased-heads-alone", label="Each head has its bias, each sample its mask",
    statement=r"F_{bgr} = \operatorname{softmax}_{M_b}\Big(\frac{Q_{bgr}K_{bg}^\top}{\sqrt{d_K}} + A_{gr}\Big)V_{bg}",
    name="biased attention head by head", relation=Equal(), all_sizes=True)  # fmt: skip


@SINGLE.formula
def head_by_head(Q: GroupedQueries, K: HeadKeys, V: HeadValues, A: GroupedBias, M: SampleSigns) -> Any:
    """The outputs of all heads on top of each other, shape (B G R m, d_V)."""
    (B, G, R, _, d_K) = Q.shape

    def head(b: Any, g: Any, r: Any) -> Any:
        return biased_weights(Q[b][g][r], K[b][g], A[g][r], M[b], 1 / sqrt(d_K)) @ V[b][g]

    return of_all_heads(B, G, R, head)


SINGLE.oracle(lambda Q, K, V, A, M: biased_heads(in_line(Q), K, V, biases_in_line(A), M).reshape(-1, V.shape[3]))
SINGLE.mutant("the mask of the first sample", "M[b] -> M[0]")
SINGLE.mutant("the bias of the first head", "A[g][r] -> A[g][0]")
SINGLE.mutant("no scale", "1 / sqrt(d_K) -> 1")

GRADIENT = Claim(BIASED, "transformer.bias-jacobian", label="Derivative in the bias of a head",
    statement=r"""\frac{\partial F_{bhia}}{\partial A_{h'kj}} = \delta_{hh'}\delta_{ik}P_{bhij}(V_{bja} - F_{bhia}),\quad
        P_{bh} = \text{the weights of the head},\ V\ \text{those of its group}""",
    name="derivative in the bias of a head", relation=Equal(), all_sizes=True, uses=("transformer.biased-heads-alone",),
    note="So the gradient of a loss is added over samples, which share the bias.")  # fmt: skip


@GRADIENT.formula
def bias_jacobian(Q: GroupedQueries, K: HeadKeys, V: HeadValues, A: GroupedBias, M: SampleSigns) -> Any:
    """Weights times deviations of values at equal heads and queries, shape (B H m d_V, H m n)."""
    B, G, R, m, _ = Q.shape
    n = K.shape[2]
    own = indexed("bg,jk->(b)(g)(j)(k)", ones(B, G), eye(n))
    P = biased_heads(in_line(Q), K, own, biases_in_line(A), M).reshape(B, G, R, m, n)
    F = indexed("bgrij,bgja->(b)(g)(r)(i)(a)", P, V)
    same = (eye(G), eye(R), eye(m))
    first = indexed("bgrij,bgja,gp,rq,ik->(b g r i a)(p q k j)", P, V, *same)
    return first - indexed("bgrij,bgria,gp,rq,ik->(b g r i a)(p q k j)", P, F, *same)


GRADIENT.oracle(lambda Q, K, V, A, M: jacobian(biased_heads, "A")(in_line(Q), K, V, biases_in_line(A), M))
GRADIENT.mutant("values not centred", "F -> 0 * F")
GRADIENT.mutant("heads act on each other", "eye(G) -> ones(G, G)")

# -- ALiBi -------------------------------------------------------------------------------------------------------------

ALIBI = Claim(
    Setting(TRANSFORMER, "ALiBi", sizes={"B": (1, 2), "H": (1, 5), "n": (1, 4), "d_K": (1, 3), "d_V": (1, 2)},
        where=lambda sizes: sizes["B"] * sizes["H"] * sizes["n"] <= 20),
    "transformer.alibi-by-keys", label="ALiBi by places of keys",
    statement=r"""F_{bh} = \operatorname{softmax}_{\text{causal}}\Big(\frac{Q_{bh}K_{bh}^\top}{\sqrt{d_K}} + m_h\mathbf 1(1, \dots,
        n)\Big)V_{bh},\quad m_h = \text{the slope of the head}""",
    name="ALiBi without differences of positions", relation=Equal(),
    note="The logits of a query differ from those with $m_h(j - i)$ by $m_hi$, which the softmax does not see.")  # fmt: skip


@ALIBI.formula
def by_places_of_keys(Q: TokenHeadQueries, K: TokenHeadKeys, V: TokenHeadValues) -> Any:
    """The outputs of all heads of all samples on top of each other, shape (B H n, d_V)."""
    B, H, n, d_K = Q.shape
    slopes = alibi_slopes(H, Q[:1, :1, :1, 0] * 0 + 2)
    count = indexed("ij->(j)()", mask_from_the_first(n, n).T)  # 1, ..., n
    rows = []
    for b in range(B):
        for h in range(H):
            A = ones(n, 1) @ (count.T * slopes[h].reshape(1, 1))
            rows.append(biased_weights(Q[b][h], K[b][h], A, mask_from_the_first(n, n), 1 / sqrt(d_K)) @ V[b][h])
    return concatenate(rows, axis=0)


ALIBI.oracle(lambda Q, K, V: alibi_attention(Q, K, V).reshape(-1, V.shape[3]))
ALIBI.mutant("the slope of the first head", "slopes[h] -> slopes[0]")
ALIBI.mutant("the other sign", "slopes[h] -> 0 - slopes[h]")
ALIBI.mutant("no bias", "slopes[h] -> 0 * slopes[h]")

# -- sinks -------------------------------------------------------------------------------------------------------------


def operands_with_sinks(Q: GroupedQueries, K: HeadKeys, V: HeadValues, S: Signs, Z: GroupedSinks) -> dict[str, Any]:
    return {"Q": Q, "K": K, "V": V, "M": mask_of(S), "Z": Z}


SUNK = Setting(
    TRANSFORMER, "Heads with sinks", inputs=operands_with_sinks, exact=True, sizes=SIZES,
    assumptions=[
        SOME_KEY,
        Definition("heads r = 1, ..., R of group g stand at g R + r of the H = G R heads, sinks too", by=sink_attention),
    ],
    where=lambda sizes: sizes["B"] * sizes["G"] * sizes["R"] * sizes["d_K"] <= 16,
)  # fmt: skip

SINKS = Claim(SUNK, "transformer.sinks-of-heads", label="Each head has its sink",
    statement=r"""F_{bgr} = PV_{bg},\quad P_{ij} = \frac{M_{ij}\exp(T_{ij})}{\exp(z_{gr}) + \sum_kM_{ik}\exp(T_{ik})},\ T =
        \frac{Q_{bgr}K_{bg}^\top}{\sqrt{d_K}}""",
    name="attention with sinks head by head", relation=Equal(), all_sizes=True)  # fmt: skip


@SINKS.formula
def sinks_head_by_head(Q: GroupedQueries, K: HeadKeys, V: HeadValues, M: Mask, Z: GroupedSinks) -> Any:
    """The outputs of all heads on top of each other, shape (B G R m, d_V)."""
    (B, G, R, m, d_K) = Q.shape

    def head(b: Any, g: Any, r: Any) -> Any:
        return softmax_with_sink(Q[b][g][r] @ K[b][g].T / sqrt(d_K), M, ones(m, 1) @ Z[g][r]) @ V[b][g]

    return of_all_heads(B, G, R, head)


SINKS.oracle(lambda Q, K, V, M, Z: sink_attention(in_line(Q), K, V, M, Z.reshape(-1)).reshape(-1, V.shape[3]))
SINKS.mutant("the sink of the first head", "Z[g][r] -> Z[g][0]")
SINKS.mutant("no mask", "M -> 0 * M + 1")
SINKS.mutant("no scale", "sqrt(d_K) -> 1")
