"""Keys that are masked, moved or taken in blocks: padding, order, and what fast kernels rest on."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer.definitions import masked_attention
from theorems.transformer.settings import ATTENTION, Keys, Mask, Queries, Values, mask_of
from verify.matrix import concatenate, exp, indexed, ones, row_sums, sqrt
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Equal, Shape

# -- keys that nobody may attend to ------------------------------------------------------------------------------------

Padding = Annotated[Any, Shape("1", "n", role="gate")]
REAL = Assumption("c has the entries 0 and 1, M = 1 c", zero=lambda c: c * c - c)

GRADIENT = Claim(ATTENTION, "transformer.masked-keys-get-no-gradient", label="No gradient to masked keys and values",
    statement=r"""c_l = 0 \Rightarrow \frac{\partial F}{\partial K_l} = 0,\ \frac{\partial F}{\partial V_l} = 0:\quad
        \frac{\partial F}{\partial K}\big(\operatorname{diag}(c)\otimes I\big) = \frac{\partial F}{\partial K},\
        \frac{\partial F}{\partial V}\big(\operatorname{diag}(c)\otimes I\big) = \frac{\partial F}{\partial V}""",
    assumptions=[REAL, Assumption("c consists of zeros and ones", zero=lambda c: c * c - c),
        Assumption("M = 1 c, the same keys for all queries", zero=lambda M, c: M - ones(M.shape[0], 1) @ c)], hypotheses=[REAL],
    name="gradients of masked keys and values", relation=Equal(), all_sizes=True,
    uses=("transformer.attention-jacobian-key", "transformer.attention-jacobian-value"))  # fmt: skip


@GRADIENT.inputs
def padded(Q: Queries, K: Keys, V: Values, c: Padding) -> dict[str, Any]:
    real = mask_of(c)
    return {"Q": Q, "K": K, "V": V, "c": real, "M": ones(Q.shape[0], 1) @ real}


def _flat_jacobian(Q: Any, K: Any, V: Any, c: Any, wrt: str) -> Any:
    """The Jacobian in the keys or values, shape (m d_V, n, width)."""
    J = jacobian(masked_attention, wrt)(Q, K, V, ones(Q.shape[0], 1) @ c)
    return J.reshape(Q.shape[0] * V.shape[1], K.shape[0], -1)


@GRADIENT.formula
def gradients_of_real_keys(Q: Queries, K: Keys, V: Values, c: Padding) -> Any:
    """Both Jacobians with the columns of masked tokens set to zero, side by side."""
    in_keys, in_values = (_flat_jacobian(Q, K, V, c, wrt) for wrt in ("K", "V"))
    return concatenate([indexed("rjb,xj->(r)(x j b)", J, c) for J in (in_keys, in_values)], axis=1)


GRADIENT.oracle(
    lambda Q, K, V, c: concatenate(
        [indexed("rjb->(r)(j b)", _flat_jacobian(Q, K, V, c, wrt)) for wrt in ("K", "V")], axis=1
    )
)
GRADIENT.mutant("masked keys alone", "indexed('rjb,xj->(r)(x j b)', J, c) -> indexed('rjb,xj->(r)(x j b)', J, 1 - c)")
GRADIENT.mutant("twice the gradient", lambda value: value * 2)

# -- keys in two blocks ------------------------------------------------------------------------------------------------

SecondKeys = Annotated[Any, Shape("p", "d_K")]
SecondValues = Annotated[Any, Shape("p", "d_V")]
SecondMask = Annotated[Any, Shape("m", "p")]
SecondSigns = Annotated[Any, Shape("m", "p", role="gate")]


def two_blocks(
    Q: Queries, K: Keys, V: Values, S: Mask, L: SecondKeys, W: SecondValues, R: SecondSigns
) -> dict[str, Any]:
    """Keys K, L, values V, W and masks M, N of two blocks, in each of which every query has some key."""
    return {"Q": Q, "K": K, "V": V, "M": mask_of(S), "L": L, "W": W, "N": mask_of(R)}


BLOCKS = ATTENTION.extended(
    "Keys in two blocks", inputs=two_blocks, sizes={"p": (1, 3), "n": (1, 3)},
    assumptions=[Assumption("N allows every query some key", positive=lambda N: row_sums(N))],
)  # fmt: skip

PADDING = Claim(BLOCKS, "transformer.masked-keys-are-absent", label="Masked keys are as good as absent",
    statement=r"F\Big(Q,\begin{bmatrix}K\\L\end{bmatrix},\begin{bmatrix}V\\W\end{bmatrix},[M, 0]\Big) = F(Q, K, V, M)",
    name="padding changes nothing", relation=Equal(), all_sizes=True)  # fmt: skip


@PADDING.formula
def with_padding(Q: Queries, K: Keys, V: Values, M: Mask, L: SecondKeys, W: SecondValues) -> Any:
    """Attention to the keys K and the masked keys L, shape (m, d_V)."""
    mask = concatenate([M, ones(Q.shape[0], L.shape[0]) * 0], axis=1)
    return masked_attention(Q, concatenate([K, L], axis=0), concatenate([V, W], axis=0), mask)


PADDING.oracle(lambda Q, K, V, M: masked_attention(Q, K, V, M))
PADDING.mutant("padding not masked", "ones(Q.shape[0], L.shape[0]) * 0 -> ones(Q.shape[0], L.shape[0])")
PADDING.mutant("values in the other order", "concatenate([V, W], axis=0) -> concatenate([W, V], axis=0)",)  # fmt: skip

ORDER = Claim(BLOCKS, "transformer.key-order", label="The order of keys does not matter",
    statement=r"""F\Big(Q,\begin{bmatrix}L\\K\end{bmatrix},\begin{bmatrix}W\\V\end{bmatrix},[N, M]\Big) =
        F\Big(Q,\begin{bmatrix}K\\L\end{bmatrix},\begin{bmatrix}V\\W\end{bmatrix},[M, N]\Big)""",
    name="permutations of keys", relation=Equal(), all_sizes=True,
    note="Exchanges of neighbouring blocks, of any sizes, generate all permutations.")  # fmt: skip


def in_this_order(Q: Any, K: Any, V: Any, M: Any, L: Any, W: Any, N: Any) -> Any:
    keys, values = concatenate([K, L], axis=0), concatenate([V, W], axis=0)
    return masked_attention(Q, keys, values, concatenate([M, N], axis=1))


@ORDER.formula
def in_the_other_order(Q: Queries, K: Keys, V: Values, M: Mask, L: SecondKeys, W: SecondValues, N: SecondMask) -> Any:
    """Attention to L before K, shape (m, d_V)."""
    keys, values = concatenate([L, K], axis=0), concatenate([W, V], axis=0)
    return masked_attention(Q, keys, values, concatenate([N, M], axis=1))


ORDER.oracle(in_this_order)
ORDER.mutant("the second block masked", "N -> 0 * N")
ORDER.mutant("the first block not masked", "M -> 0 * M + 1")

MERGED = Claim(BLOCKS, "transformer.blocks-of-keys-merge", label="Attention to two blocks of keys",
    statement=r"""F = \frac{ZF(Q,K,V,M) + Z'F(Q,L,W,N)}{Z+Z'},\quad Z_i = \sum_jM_{ij}e^{T_{ij}},\ Z'_i =
        \sum_jN_{ij}e^{T'_{ij}},\ T = \frac{QK^\top}{\sqrt{d_K}},\ T' = \frac{QL^\top}{\sqrt{d_K}}""",
    name="attention merged from blocks of keys", relation=Equal(), all_sizes=True,
    domains=("generic", "integers", "tied", "kinks", "tiny", "uniform attention"),
    note="What kernels that read keys in blocks, and keys on several machines, rest on; they keep $\\log Z$.")  # fmt: skip


@MERGED.formula
def merged(Q: Queries, K: Keys, V: Values, M: Mask, L: SecondKeys, W: SecondValues, N: SecondMask) -> Any:
    """Outputs of both blocks, averaged with the masses of their keys, shape (m, d_V)."""
    root = sqrt(Q.shape[1])
    first, second = row_sums(exp(Q @ K.T / root) * M), row_sums(exp(Q @ L.T / root) * N)
    return (masked_attention(Q, K, V, M) * first + masked_attention(Q, L, W, N) * second) / (first + second)


MERGED.oracle(in_this_order)
MERGED.mutant("outputs averaged alike", "first -> 1; second -> 1")
MERGED.mutant("masses without the mask", "exp(Q @ K.T / root) * M -> exp(Q @ K.T / root)")
MERGED.mutant("no scale in the masses", "root -> 1")
