"""The layer as GPT writes it: a fused projection with a bias, a causal mask, heads."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import Samples, Shift, causal_attention
from theorems.transformer.layers import gpt_attention
from verify.matrix import concatenate, each, indexed, ones, summed
from verify.vocabulary import Assumption, Claim, Definition, Equal, Setting, Shape

HeadQueryWeights = Annotated[Any, Shape("H", "d", "e", role="query")]
HeadWeights = Annotated[Any, Shape("H", "d", "e")]
HeadShift = Annotated[Any, Shape("H", "1", "e")]
HeadOutputWeights = Annotated[Any, Shape("H", "e", "d")]

GPT = Setting(
    TRANSFORMER, "The layer of GPT", exact=True,
    assumptions=[
        Assumption("d = H e", sizes=lambda sizes: sizes["d"] == sizes["H"] * sizes["e"]),
        Definition("weights and biases are those of queries, keys and values side by side, each of its heads", by=gpt_attention),
    ],
    sizes={"B": (1, 2), "n": (1, 3), "H": (1, 2), "d": (1, 4), "e": (1, 4)},
    where=lambda sizes: sizes["d"] == sizes["H"] * sizes["e"],
)  # fmt: skip

LAYER = Claim(GPT, "transformer.gpt-sum-over-heads", label="GPT's layer is a sum over its heads",
    statement=r"""F_b = \mathbf 1c^\top + \sum_hF^{\text{causal}}(X_bU_h + \mathbf 1q_h^\top, X_bK_h + \mathbf 1k_h^\top, X_bV_h +
        \mathbf 1v_h^\top)\,O_h""",
    name="GPT's layer with a fused projection and biases", relation=Equal(),
    all_sizes=True, uses=("transformer.heads-alone",))  # fmt: skip


@LAYER.formula
def sum_over_heads(
    X: Samples, U: HeadQueryWeights, K: HeadWeights, V: HeadWeights, q: HeadShift, k: HeadShift, v: HeadShift,
    O: HeadOutputWeights, c: Shift,
) -> Any:  # fmt: skip
    """Causal attention of every head by itself, projected and added, samples on top of each other, shape (B n, d)."""
    one = ones(X.shape[1], 1)

    def head(b: int, h: int) -> Any:
        return causal_attention(X[b] @ U[h] + one @ q[h], X[b] @ K[h] + one @ k[h], X[b] @ V[h] + one @ v[h]) @ O[h]

    def sample(b: int) -> Any:
        return one @ c.reshape(1, -1) + summed(U.shape[0], lambda h: head(b, h))

    return concatenate(each(X.shape[0], sample), axis=0)


@LAYER.oracle
def the_layer(
    X: Samples, U: HeadQueryWeights, K: HeadWeights, V: HeadWeights, q: HeadShift, k: HeadShift, v: HeadShift,
    O: HeadOutputWeights, c: Shift,
) -> Any:  # fmt: skip
    H, d = U.shape[0], X.shape[2]
    W = concatenate([indexed("hde->(d)(h e)", weights) for weights in (U, K, V)], axis=1)
    b = concatenate([shift.reshape(1, -1) for shift in (q, k, v)], axis=1).reshape(-1)
    return gpt_attention(X, W, b, indexed("hed->(h e)(d)", O), c, H).reshape(-1, d)


LAYER.mutant("the bias of the queries left out", "q[h] -> 0 * q[h]")
LAYER.mutant("keys and values exchanged", "K[h] -> V[h]; V[h] -> K[h]")
LAYER.mutant("the output weights of the first head", "O[h] -> O[0]")
LAYER.mutant("no bias of the output", "c -> 0 * c")
