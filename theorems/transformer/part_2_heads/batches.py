"""Batches, heads, and groups of heads that share keys and values."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import HeadKeys, HeadValues, batched_attention, masked_attention
from theorems.transformer.settings import SOME_KEY, Mask, Signs, mask_of
from verify.matrix import concatenate, each, eye, indexed, ones
from verify.oracles import jacobian
from verify.vocabulary import Claim, Definition, Equal, Setting, Shape

#: R consecutive heads of each group.
GroupedQueries = Annotated[Any, Shape("B", "G", "R", "m", "d_K", role="query")]


def grouped_operands(Q: GroupedQueries, K: HeadKeys, V: HeadValues, S: Signs) -> dict[str, Any]:
    return {"Q": Q, "K": K, "V": V, "M": mask_of(S)}


def in_line(Q: GroupedQueries) -> Any:
    """The heads of all groups as one axis of H = G R, shape (B, H, m, d_K)."""
    B, G, R, m, d_K = Q.shape
    return Q.reshape(B, G * R, m, d_K)


def repeated(K: HeadKeys, R: int) -> Any:
    """Every one of the G matrices of a sample R times in a row, shape (B, G R, n, width)."""
    return indexed("bgjc,r->(b)(g r)(j)(c)", K, ones(1, R).reshape(-1))


HEADS = Setting(
    TRANSFORMER, "Heads in groups", inputs=grouped_operands, exact=True,
    assumptions=[
        SOME_KEY, Definition("heads r = 1, ..., R of group g stand at g R + r of the H = G R heads", by=batched_attention)
    ],
    sizes={"B": (1, 2), "G": (1, 2), "R": (1, 3), "m": (1, 2), "n": (1, 3), "d_K": (1, 4), "d_V": (1, 2)},
    where=lambda sizes: sizes["B"] * sizes["G"] * sizes["R"] * sizes["d_K"] <= 16,
)  # fmt: skip

SINGLE = Claim(HEADS, "transformer.heads-alone", label="Each head of each sample alone",
    statement=r"F_{bgr} = F(Q_{bgr}, K_{bg}, V_{bg}, M)",
    name="attention head by head", relation=Equal(), all_sizes=True)  # fmt: skip


@SINGLE.formula
def head_by_head(Q: GroupedQueries, K: HeadKeys, V: HeadValues, M: Mask) -> Any:
    """The outputs of all heads on top of each other, shape (B G R m, d_V)."""
    B, G, R, _, _ = Q.shape

    def group(b: Any, g: Any) -> Any:
        return concatenate(each(R, lambda r: masked_attention(Q[b][g][r], K[b][g], V[b][g], M)), axis=0)

    return concatenate(each(B, lambda b: concatenate(each(G, lambda g: group(b, g)), axis=0)), axis=0)


SINGLE.oracle(lambda Q, K, V, M: batched_attention(in_line(Q), K, V, M).reshape(-1, V.shape[3]))
SINGLE.mutant("the keys of the first sample", "K[b][g] -> K[0][g]")
SINGLE.mutant("the values of the first group", "V[b][g] -> V[b][0]")
SINGLE.mutant("queries of the first head", "Q[b][g][r] -> Q[b][g][0]")

REPEATED = Claim(HEADS, "transformer.grouped-is-repeated", label="Grouped heads are heads with repeated keys",
    statement=r"F(Q, K, V, M) = F(Q, K\otimes\mathbf 1_R, V\otimes\mathbf 1_R, M)\ \text{along the axis of heads}",
    name="grouped heads by repetition", relation=Equal(), all_sizes=True,
    note="R = 1 is multi-head attention, G = 1 is multi-query attention.")  # fmt: skip


@REPEATED.formula
def with_repeated_keys(Q: GroupedQueries, K: HeadKeys, V: HeadValues, M: Mask) -> Any:
    """Attention in which every head has keys and values of its own, shape (B, G R, m, d_V)."""
    R = Q.shape[2]
    return batched_attention(in_line(Q), repeated(K, R), repeated(V, R), M)


REPEATED.oracle(lambda Q, K, V, M: batched_attention(in_line(Q), K, V, M))
REPEATED.mutant("keys in turns", "repeated(K, R) -> indexed('bgjc,r->(b)(r g)(j)(c)', K, ones(1, R).reshape(-1))")
REPEATED.mutant("values in turns", "repeated(V, R) -> indexed('bgjc,r->(b)(r g)(j)(c)', V, ones(1, R).reshape(-1))")
REPEATED.mutant("no mask", "M -> 0 * M + 1")

SHARED = HEADS.extended(
    "Derivatives of heads in groups", sizes={"B": (1, 2), "G": (1, 2), "R": (1, 2), "n": (1, 2)},
)  # fmt: skip
KEY_SUM = Claim(SHARED, "transformer.shared-key-gradient", label="The gradient of shared keys",
    statement=r"""\frac{\partial F}{\partial K_{bg}} = \sum_{r=1}^R\frac{\partial F}{\partial\tilde K_{b,gR+r}},\quad
        \tilde K = K\otimes\mathbf 1_R""",
    name="gradients of shared keys add up", relation=Equal(), all_sizes=True,
    uses=("transformer.grouped-is-repeated",))  # fmt: skip


@KEY_SUM.formula
def summed_over_the_group(Q: GroupedQueries, K: HeadKeys, V: HeadValues, M: Mask) -> Any:
    """The Jacobian in repeated keys, added over each group, shape (B G R m d_V, B G n d_K)."""
    (B, G, R, _, d_K), n = Q.shape, K.shape[2]
    J = jacobian(batched_attention, "K")(in_line(Q), repeated(K, R), repeated(V, R), M)
    return indexed("xbgrjc->(x)(b g j c)", J.reshape(-1, B, G, R, n, d_K))


KEY_SUM.oracle(lambda Q, K, V, M: jacobian(batched_attention, "K")(in_line(Q), K, V, M))
KEY_SUM.mutant("the mean over the group", lambda value, Q: value / Q.shape[2])
KEY_SUM.mutant("heads in turns", "J.reshape(-1, B, G, R, n, d_K) -> J.reshape(-1, B, R, G, n, d_K).swapaxes(2, 3)")

VALUE_SUM = Claim(SHARED, "transformer.shared-value-gradient", label="The derivative in shared values",
    statement=r"""\frac{\partial F_{bgria}}{\partial V_{b'g'je}} = \delta_{bb'}\delta_{gg'}\delta_{ae}P_{bgrij},\quad
        P_{bgr} = \text{the weights of the head}""",
    name="derivative in shared values", relation=Equal(), all_sizes=True, uses=("transformer.heads-alone",),
    note="Entries of different samples, or of different groups, do not act on each other.")  # fmt: skip


@VALUE_SUM.formula
def shared_value_jacobian(Q: GroupedQueries, K: HeadKeys, V: HeadValues, M: Mask) -> Any:
    """Weights of the heads at equal samples, groups and features, shape (B G R m d_V, B G n d_V)."""
    B, G, R, m, _ = Q.shape
    n, d_V = V.shape[2], V.shape[3]
    own = indexed("bg,jk->(b)(g)(j)(k)", ones(B, G), eye(n))
    P = batched_attention(in_line(Q), K, own, M).reshape(B, G, R, m, n)
    return indexed("bgrij,bp,gq,ae->(b g r i a)(p q j e)", P, eye(B), eye(G), eye(d_V))


VALUE_SUM.oracle(lambda Q, K, V, M: jacobian(batched_attention, "V")(in_line(Q), K, V, M))
VALUE_SUM.mutant("samples act on each other", "eye(B) -> ones(B, B)")
VALUE_SUM.mutant("groups act on each other", "eye(G) -> ones(G, G)")
