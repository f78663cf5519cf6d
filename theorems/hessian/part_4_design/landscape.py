"""What two query-key matrices and depth do to the landscape: critical points (Section 4.2), growth with the data (4.3)."""

from __future__ import annotations

from typing import Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention, second_central_moments, square_loss
from theorems.hessian.part_3_structure.data_growth import Scale, power
from theorems.hessian.part_4_design.depth import (
    SIDE_BY_SIDE, STACKED, Depth, KeyStack, QueryStack, ValueStack, deep_linear_attention, diagonal_blocks, fits_and_is_small,
    layer_weights,
)  # fmt: skip
from theorems.hessian.part_4_design.single_matrix import single_matrix_loss
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import SIZES, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from verify.matrix import concatenate, ones, rational, summed, zeros
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Definition, Equal

# -- critical points of two matrices -----------------------------------------------------------------------------------

LANDSCAPE = Claim(HESSIAN, "hessian.sec4.2-landscape", label="Section 4.2, text",
    statement=r"""\text{``However, this changes the landscape of loss''}:\ \frac{\partial(\ell\circ F)}{\partial(W_Q,W_K)} =
        0 \text{ at } W_Q = W_K = 0,\quad \frac{\partial(\ell\circ F)}{\partial W_{QK}} =
        \frac{2}{Ld_V}\sum_ix_i(CW_Vr_i)^\top \text{ at } W_{QK} = 0,\ C \text{ the covariance of the tokens},\ r_i
        \text{ row } i \text{ of } F - Y""",
    assumptions=[
        Definition("two matrices: F = A X W_V with A = softmax(X W_Q W_K^T X^T / sqrt(d_K)), row-wise", by=attention),
        Definition("one matrix: F = A X W_V with A = softmax(X W_QK X^T)", by=single_matrix_loss),
        Definition("the loss is ||F - Y||_F^2 / (L d_V)", by=square_loss),
    ],
    name="critical points of two query-key matrices", relation=Equal(), all_sizes=True, sizes=SIZES, exact=True,
    uses=("hessian.sec4.2-single-vs-double",),
    note=r"""The sentence has no formula; these two gradients show the change. Zero is a critical point of the pair for
        all data and labels, and of the single matrix only if the sum vanishes: for $X = (1, 2)^\top$, $W_V = 1$ and $Y
        = 0$ its derivative is 9/8. There the pair has a saddle.""")  # fmt: skip


@LANDSCAPE.formula
def gradients_at_zero(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """Zeros for the pair, and the gradient of the single matrix, all entries in one column (Section 4.2)."""
    L, d_V = X.shape
    A = ones(L, L) * rational(1, L)
    C, R = second_central_moments(A, X)[0], A @ X @ W_V - Y
    gradient = summed(L, lambda i: X[i : i + 1].T @ (C @ W_V @ R[i : i + 1].T).T) * rational(2, L * d_V)
    return stacked(0 * W_Q, 0 * W_K, gradient)


@LANDSCAPE.oracle
def gradients_by_differentiation(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    def pair_loss(W_Q: Any, W_K: Any) -> Any:
        return square_loss(attention(X, W_Q, W_K, W_V), Y)

    pair = [jacobian(pair_loss, name)(0 * W_Q, 0 * W_K) for name in ("W_Q", "W_K")]
    single = jacobian(single_matrix_loss, "W")(X, zeros(X.shape[1], X.shape[1]) + 0 * W_V, W_V, Y)
    return stacked(*pair, single)


LANDSCAPE.mutant("tokens not centred", "second_central_moments(A, X)[0] -> X.T @ X * rational(1, L)")
LANDSCAPE.mutant("transposed", "gradient -> gradient.T")
LANDSCAPE.mutant("critical for the single matrix too", "gradient -> 0 * gradient")

# -- exploding and vanishing -------------------------------------------------------------------------------------------

PRONOUNCED = Claim(HESSIAN, "hessian.sec4.3-pronounced", label="Section 4.3, text (layer norm)",
    statement=r"""\text{``unless the data is standardized, we can observe exploding or vanishing phenomena, which will be
        more pronounced than in MLPs''}:\ H_{ii}(\sigma X,Y) = \sigma^{2\cdot3^D}H_{ii}(X,Y) \text{ for the weights of
        the last of } D \text{ linear self-attention layers},\ H_{ii}(\sigma X,Y) = \sigma^2H_{ii}(X,Y) \text{ for every
        layer of a linear MLP of depth } D""",
    assumptions=[
        Definition("D linear self-attention layers, X_l = T_l X_{l-1} W_V^l, F = X_D", by=deep_linear_attention),
        Definition("the MLP is X W_V^1 ... W_V^D, of the same widths", by=layer_weights),
        SIDE_BY_SIDE,
        Definition("the loss is ||F - Y||_F^2 / (L d_V)", by=square_loss),
    ],
    name="growth with the data, deep attention and deep MLPs", relation=Equal(), sizes=STACKED | {"D": (1, 2)},
    where=fits_and_is_small, exact=True, uses=("hessian.depth-diagonal", "hessian.sec4.1-mlp-depth"),
    note=r"""The factor $\sigma^{2\cdot3^D}$ is $\sigma^6$, $\sigma^{18}$, $\sigma^{54}$ for $D = 1, 2, 3$ where an MLP
        has $\sigma^2$: larger for $\sigma > 1$, smaller for $\sigma < 1$. Layers below the last have a second term, of
        degree $3^D$ (hessian.depth-diagonal). Compared at $D = 1$ and 2.""")  # fmt: skip


@PRONOUNCED.inputs
def layers_and_scale(
    X: Tokens, Y: Labels, W_Q: QueryStack, W_K: KeyStack, W_V: ValueStack, D: Depth, s: Scale
) -> dict[str, Any]:
    return {"X": X, "Y": Y, "layers": layer_weights(W_Q, W_K, W_V, D), "D": D, "s": s}


def _last_layer_and_mlp(X: Any, layers: list[Any], Y: Any) -> tuple[Any, Any]:
    """The diagonal blocks of the last attention layer and of all layers of the MLP, both with all entries in one column."""
    values = [weights[2] for weights in layers]

    def mlp_loss(W: Any, i: int) -> Any:
        Z = X
        for j, V in enumerate(values):
            Z = Z @ (W if i == j else V)
        return square_loss(Z, Y)

    blocks = [hessian(mlp_loss, ("W", "W"))(V, i) for i, V in enumerate(values)]
    return stacked(*diagonal_blocks(X, layers, Y)[-3:]), stacked(*blocks)


@PRONOUNCED.formula
def blocks_times_powers(X: Any, Y: Any, layers: list[Any], D: int, s: Any) -> Any:
    """sigma^(2 3^D) and sigma^2 times the blocks, all entries in one column (Section 4.3)."""
    deep, shallow = _last_layer_and_mlp(X, layers, Y)
    return concatenate([deep * power(s, 2 * 3**D), shallow * power(s, 2)], axis=0)


PRONOUNCED.oracle(lambda X, Y, layers, s: concatenate(_last_layer_and_mlp(X * s, layers, Y), axis=0))
PRONOUNCED.mutant("2 D in the place of 2 3^D", "2 * 3 ** D -> 2 * D")
PRONOUNCED.mutant("sigma^2 for both", "2 * 3 ** D -> 2")
