"""What is done to logits before the softmax: a cap, and a sink, one more term in its sum."""

from __future__ import annotations

from typing import Any

from theorems.transformer.definitions import masked_attention, softmax_under_mask
from theorems.transformer.kernels import Cap, RowSinks, capped_attention, softmax_with_sink, tanh
from theorems.transformer.part_1_masks.keys import SecondKeys, SecondValues, two_blocks
from theorems.transformer.settings import ATTENTION, Keys, Mask, Queries, Signs, Values, mask_of
from verify.matrix import concatenate, exp, eye, indexed, ones, row_sums, sqrt
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Equal

# -- capped logits -----------------------------------------------------------------------------------------------------


def operands_to_cap(Q: Queries, K: Keys, V: Values, S: Signs, c: Cap) -> dict[str, Any]:
    return {"Q": Q, "K": K, "V": V, "M": mask_of(S), "c": c}


POSITIVE = Assumption("c > 0", positive=lambda c: c)
CAPPED = ATTENTION.extended("Attention with capped logits", inputs=operands_to_cap, assumptions=[POSITIVE])

CAP = Claim(CAPPED, "transformer.capped-jacobian-query", label="Derivative in the queries, capped",
    statement=r"""\frac{\partial F_{ia}}{\partial Q_{ib}} = \frac1{\sqrt{d_K}}\sum_jP_{ij}(V_{ja}-F_{ia})(1-t_{ij}^2)K_{jb},\quad
        t = \tanh\frac{QK^\top}{c\sqrt{d_K}},\ P\text{ the masked softmax of }ct,\ F = PV""",
    name="derivative of capped attention in the queries", relation=Equal(), all_sizes=True)  # fmt: skip


@CAP.formula
def capped_query_jacobian(Q: Queries, K: Keys, V: Values, M: Mask, c: Cap) -> Any:
    """Covariances of values and keys, keys weighted with 1 - t^2, shape (m d_V, m d_K)."""
    t, identity = tanh(Q @ K.T / sqrt(Q.shape[1]) / c), eye(Q.shape[0])
    P = softmax_under_mask(t * c, M)
    slopes = P * (1 - t * t)
    own = indexed("ij,ja,jb,ik->(i a)(k b)", slopes, V, K, identity)
    return (own - indexed("ia,ib,ik->(i a)(k b)", P @ V, slopes @ K, identity)) / sqrt(Q.shape[1])


CAP.oracle(lambda Q, K, V, M, c: jacobian(capped_attention, "Q")(Q, K, V, M, c))
CAP.mutant("the derivative of the cap left out", "1 - t * t -> 1 + 0 * t")
CAP.mutant("values not centred", "P @ V -> 0 * (P @ V)")
CAP.mutant("not multiplied by c again", "t * c -> t")


def two_blocks_to_cap(
    Q: Queries, K: Keys, V: Values, S: Mask, L: SecondKeys, W: SecondValues, c: Cap
) -> dict[str, Any]:
    return {**two_blocks(Q, K, V, S, L, W, 0 * (Q[:, :1] @ L[:, :1].T)), "c": c}


CAPPED_BLOCKS = CAPPED.extended(
    "Capped logits and keys in two blocks", inputs=two_blocks_to_cap, sizes={"p": (1, 3), "n": (1, 3)}
)
PADDING = Claim(CAPPED_BLOCKS, "transformer.capped-masked-keys", label="Masked keys are absent, capped or not",
    statement=r"""F\Big(Q,\begin{bmatrix}K\\L\end{bmatrix},\begin{bmatrix}V\\W\end{bmatrix},[M, 0]\Big) = F(Q, K, V, M)\text{ for
        the logits }c\tanh(T/c)""",
    name="padding under capped logits", relation=Equal(),
    note="Not so where the mask is a number that is added to the logits before the cap, which then makes it about -c.")  # fmt: skip


@PADDING.formula
def with_padding(Q: Queries, K: Keys, V: Values, M: Mask, L: SecondKeys, W: SecondValues, c: Cap) -> Any:
    """Capped attention to the keys K and the masked keys L, shape (m, d_V)."""
    mask = concatenate([M, ones(Q.shape[0], L.shape[0]) * 0], axis=1)
    return capped_attention(Q, concatenate([K, L], axis=0), concatenate([V, W], axis=0), mask, c)


PADDING.oracle(lambda Q, K, V, M, c: capped_attention(Q, K, V, M, c))
PADDING.mutant("padding not masked", "ones(Q.shape[0], L.shape[0]) * 0 -> ones(Q.shape[0], L.shape[0])")
PADDING.mutant("values in the other order", "concatenate([V, W], axis=0) -> concatenate([W, V], axis=0)")

# -- sinks -------------------------------------------------------------------------------------------------------------


def operands_with_sink(Q: Queries, K: Keys, V: Values, S: Signs, z: RowSinks) -> dict[str, Any]:
    return {"Q": Q, "K": K, "V": V, "M": mask_of(S), "z": z}


SUNK = ATTENTION.extended("Attention with a sink", inputs=operands_with_sink)

DAMPED = Claim(SUNK, "transformer.sink-damps", label="A sink takes part of every row",
    statement=r"""P^z_{ij} = P_{ij}\frac{Z_i}{Z_i + e^{z_i}},\quad Z_i = \sum_kM_{ik}e^{T_{ik}},\ P =
        \text{the weights without it}""",
    name="weights beside a sink", relation=Equal(), all_sizes=True,
    domains=("generic", "integers", "tied", "kinks", "tiny", "uniform attention"),
    note="What kernels rest on that correct the output without a sink afterwards; they keep $\\log Z$.")  # fmt: skip


@DAMPED.formula
def damped(Q: Queries, K: Keys, V: Values, M: Mask, z: RowSinks) -> Any:
    """Attention without a sink, every row times the part of the sum that is not the sink's, shape (m, d_V)."""
    sums = row_sums(exp(Q @ K.T / sqrt(Q.shape[1])) * M)
    return masked_attention(Q, K, V, M) * sums / (sums + exp(z))


DAMPED.oracle(lambda Q, K, V, M, z: softmax_with_sink(Q @ K.T / sqrt(Q.shape[1]), M, z) @ V)
DAMPED.mutant("a sink of one", "exp(z) -> exp(0 * z)")
DAMPED.mutant("sums without the mask", "exp(Q @ K.T / sqrt(Q.shape[1])) * M -> exp(Q @ K.T / sqrt(Q.shape[1]))")
DAMPED.mutant("no sink", "sums + exp(z) -> sums")

SINK = Claim(SUNK, "transformer.sink-jacobian", label="Derivative in the sink",
    statement=r"""\frac{\partial F_{ia}}{\partial z_k} = -\delta_{ik}(1 - P_i\mathbf 1)F_{ia},\quad F = PV,\ P\text{ the weights
        beside the sinks }z""",
    name="derivative in the sink", relation=Equal(), all_sizes=True)  # fmt: skip


@SINK.formula
def sink_jacobian(Q: Queries, K: Keys, V: Values, M: Mask, z: RowSinks) -> Any:
    """Minus the weight of the sink times the output, shape (m d_V, m)."""
    P = softmax_with_sink(Q @ K.T / sqrt(Q.shape[1]), M, z)
    return indexed("io,ia,ik->(i a)(k)", row_sums(P) - 1, P @ V, eye(Q.shape[0]))


def attention_beside(Q: Any, K: Any, V: Any, M: Any, z: Any) -> Any:
    """Attention with the sink z_i in row i, shape (m, d_V)."""
    return softmax_with_sink(Q @ K.T / sqrt(Q.shape[1]), M, z) @ V


SINK.oracle(lambda Q, K, V, M, z: jacobian(attention_beside, "z")(Q, K, V, M, z))
SINK.mutant("the weight of the sink left out", "row_sums(P) - 1 -> 0 * row_sums(P) - 1")
SINK.mutant("the other sign", lambda value: 0 - value)
