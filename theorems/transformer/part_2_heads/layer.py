"""The layer: projections of tokens to heads, attention, and the projection of what the heads give."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import Samples, TokenMask, attention_layer, masked_weights
from theorems.transformer.settings import SOME_KEY, mask_of
from verify.matrix import concatenate, each, indexed, summed
from verify.vocabulary import Assumption, Claim, Definition, Equal, Setting, Shape

#: Weights of R heads in each of G groups, and of the keys and values of the groups.
HeadQueryWeights = Annotated[Any, Shape("G", "R", "d", "e", role="query")]
GroupWeights = Annotated[Any, Shape("G", "d", "e")]
HeadOutputWeights = Annotated[Any, Shape("G", "R", "e", "d")]


def layer_operands(
    X: Samples, U: HeadQueryWeights, K: GroupWeights, V: GroupWeights, O: HeadOutputWeights,
    S: Annotated[Any, Shape("n", "n", role="gate")],
) -> dict[str, Any]:  # fmt: skip
    return {"X": X, "U": U, "K": K, "V": V, "O": O, "M": mask_of(S)}


LAYER = Setting(
    TRANSFORMER, "Attention layer", inputs=layer_operands, exact=True,
    assumptions=[
        SOME_KEY, Assumption("d = G R e", sizes=lambda sizes: sizes["d"] == sizes["G"] * sizes["R"] * sizes["e"])
    ],
    sizes={"B": (1, 2), "G": (1, 2), "R": (1, 2), "n": (1, 3), "d": (1, 8), "e": (1, 4)},
    where=lambda sizes: sizes["B"] * sizes["n"] <= 4,
)  # fmt: skip

SUM = Claim(LAYER, "transformer.layer-is-a-sum-over-heads", label="The layer is a sum over its heads",
    statement=r"""F_b = \sum_{g,r}P_{bgr}X_bW_V^gW_O^{gr},\quad P_{bgr} =
        \operatorname{softmax}_M\Big(\frac{X_bW_Q^{gr}(X_bW_K^g)^\top}{\sqrt e}\Big)""",
    assumptions=[
        Definition("W_Q, W_K, W_V are the weights of heads and groups side by side, W_O those of heads on top of each other",
            by=attention_layer),
    ],
    name="the layer as a sum over heads", relation=Equal(), all_sizes=True,
    uses=("transformer.heads-alone",))  # fmt: skip


@SUM.formula
def sum_over_heads(
    X: Samples, U: HeadQueryWeights, K: GroupWeights, V: GroupWeights, O: HeadOutputWeights, M: TokenMask
) -> Any:
    """The outputs of all samples on top of each other, shape (B n, d)."""
    G, R = U.shape[0], U.shape[1]

    def head(b: Any, g: Any, r: Any) -> Any:
        return masked_weights(X[b] @ U[g][r], X[b] @ K[g], M) @ X[b] @ V[g] @ O[g][r]

    return concatenate(each(X.shape[0], lambda b: summed(G, lambda g: summed(R, lambda r: head(b, g, r)))), axis=0)


@SUM.oracle
def the_layer(
    X: Samples, U: HeadQueryWeights, K: GroupWeights, V: GroupWeights, O: HeadOutputWeights, M: TokenMask
) -> Any:
    G, R = U.shape[0], U.shape[1]
    W_Q, W_O = indexed("grde->(d)(g r e)", U), indexed("gred->(g r e)(d)", O)
    W_K, W_V = (indexed("gde->(d)(g e)", W) for W in (K, V))
    return attention_layer(X, W_Q, W_K, W_V, W_O, M, G * R, G).reshape(-1, X.shape[2])


SUM.mutant("the keys of the first group", "K[g] -> K[0]")
SUM.mutant("the output weights of the first head", "O[g][r] -> O[g][0]")
SUM.mutant("the keys of the first sample", "X[b] @ K[g] -> X[0] @ K[g]")
