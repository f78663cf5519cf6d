"""Eqs. (7)-(9): Jacobians of the sub-blocks by their input, and of the network by the attention weights of each block.

The K_i of Eqs. (8) and (9) belong to two different networks.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import (
    BRANCHES, AttentionWeights, FeedForwardWeights, QueryWeights, Tokens, Weights, feed_forward, parameters,
    self_attention, states,
)  # fmt: skip
from theorems.skipless.part_4_network_jacobian.parameter_jacobian import (
    NETWORK, block_of_jacobian, branch_parameter_jacobian, large_logits,
)  # fmt: skip
from theorems.skipless.quantities import COLUMN_MAJOR, input_jacobian
from verify.matrix import COLUMN, concatenate, eye
from verify.oracles import jacobian
from verify.vocabulary import Claim, Convention, Definition, Equal, Setting, Shape

Hidden = Annotated[Any, Shape("d", "d_f")]
HiddenOut = Annotated[Any, Shape("d_f", "d")]


EQ_7 = Claim(SKIPLESS, "skipless.eq-7", label="Eq. (7)", name="input Jacobians of the sub-blocks",
    statement=r"""\mathbf{K}_\ell=\frac{\partial
        f_{\mathrm{SA}}(\hat{\mathbf{x}}^{(\ell-1)};\theta^{(\ell)})}{\partial\hat{\mathbf{x}}^{(\ell-1)}}\in\mathbb{R}^{nd\times
        nd},\quad\hat{\mathbf{K}}_\ell=\frac{\partial
        f_{\mathrm{MLP}}(\mathbf{x}^{(\ell)};\hat\theta^{(\ell)})}{\partial\mathbf{x}^{(\ell)}}\in\mathbb{R}^{nd\times
        nd}""",
    assumptions=[Definition("f_SA and f_MLP are the branches without their skips", by=(self_attention, feed_forward)),
        COLUMN_MAJOR],
    general="What is compared holds of any differentiable sub-blocks: a skip adds the identity to the Jacobian.",
    relation=Equal(), all_sizes=True, sizes={"n": (1, 3), "d": (1, 3), "d_f": (1, 3)}, exact=True,
    note=r"Checked as: the sub-blocks with their skips have the Jacobians $K + I$ and $\hat{K} + I$ of order $nd$.",
)  # fmt: skip


@EQ_7.formula
def sub_block_jacobians(
    X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights, W_1: Hidden, W_2: HiddenOut
) -> Any:
    """K + I above K-hat + I, shape (2 n d, n d) (Eq. (7))."""
    K, K_hat = input_jacobian(X, W_Q, W_K, W_V, W_O), jacobian(feed_forward, "X", COLUMN)(X, W_1, W_2)
    I = eye(X.shape[0] * X.shape[1])
    return concatenate([K + I, K_hat + I], axis=0)


@EQ_7.oracle
def sub_blocks_differentiated(
    X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights, W_1: Hidden, W_2: HiddenOut
) -> Any:
    def first(X: Any) -> Any:
        return X + self_attention(X, W_Q, W_K, W_V, W_O)

    def second(X: Any) -> Any:
        return X + feed_forward(X, W_1, W_2)

    return concatenate([jacobian(f, "X", COLUMN)(X) for f in (first, second)], axis=0)


EQ_7.mutant("K without the identity", "I -> 0 * I")
EQ_7.mutant("K - I", "I -> -I")


# -- Eqs. (8) and (9) --------------------------------------------------------------------------------------------------


def small_weights(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Weights of order 1/2, with which products of many factors stay well-conditioned, in float32 too."""
    arrays["W"] /= 2.0
    arrays["U"] /= 2.0


#: L = 3 shows the order of the factors.
DEEP = Setting(SKIPLESS, "Section 4.3", sizes={"L": (1, 3), "n": (1, 2), "d": (1, 2), "d_f": (1, 2)}, exact=True,
    special_domains={"large query weights": large_logits, "small weights": small_weights})  # fmt: skip


def _chain(
    X: Any, W: Any, U: Any, skip: int, *, along: int | None = None, reverse: bool = False, last: bool = True,
    swapped: bool = False,
) -> Any:  # fmt: skip
    """The products of Eqs. (8) and (9) for l = 1, ..., L side by side; `along` is the skip with which activations are computed."""
    thetas, nd = parameters(W, U), X.shape[0] * X.shape[1]
    visited = states(X, thetas, skip if along is None else along)
    factors = [
        jacobian(BRANCHES[i % 2], "X", COLUMN)(visited[i], theta) + eye(nd) * skip for i, theta in enumerate(thetas)
    ]
    found = []
    for start in range(0, len(thetas), 2):
        J = branch_parameter_jacobian(visited[start], thetas[start])
        if last:
            J = factors[start + 1] @ J
        pairs = [(factors[i], factors[i + 1]) for i in range(start + 2, len(thetas), 2)]
        for sa, mlp in pairs[::-1] if reverse else pairs:
            J = sa @ mlp @ J if swapped else mlp @ sa @ J
        found.append(J)
    return concatenate(found, axis=1)


#: How the products are written.
PRODUCT = Convention(
    "the product runs from i = L, leftmost, down to i = l + 1, rightmost, and is I for l = L", by=_chain
)


def attention_columns(X: Any, W: Any, U: Any, skip: int) -> Any:
    """df/dtheta^(1), ..., df/dtheta^(L) side by side by differentiation, shape (n d, 4 L d^2)."""
    thetas = parameters(W, U)
    return concatenate([block_of_jacobian(X, thetas, i, skip) for i in range(0, len(thetas), 2)], axis=1)


EQ_8 = Claim(DEEP, "skipless.eq-8", label="Eq. (8)", name="parameter Jacobian with skips",
    statement=r"""
        \frac{\partial f(\mathbf{x};\theta)}{\partial\theta^{(\ell)}}=\prod_{i=L}^{\ell+1}\{(\hat{\mathbf{K}}_i+
        \mathbf{I}_{nd})(\mathbf{K}_i+\mathbf{I}_{nd})\}(\hat{\mathbf{K}}_\ell+\mathbf{I}_{nd})\frac{\partial
        f_{\mathrm{SA}}(\hat{\mathbf{x}}^{(\ell-1)};\theta^{(\ell)})}{\partial\theta^{(\ell)}}\in\mathbb{R}^{nd\times
        p_\ell}""",
    assumptions=[*NETWORK.assumptions, PRODUCT],
    relation=Equal(), uses=("skipless.eq-7",),
    note=r"All $\ell$ at once, side by side.")  # fmt: skip


@EQ_8.formula
def parameter_jacobian_with_skips(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """df/dtheta^(1), ..., df/dtheta^(L) side by side, shape (n d, 4 L d^2) (Eq. (8))."""
    return _chain(X, W, U, 1)


EQ_8.oracle(lambda X, W, U: attention_columns(X, W, U, skip=1))
EQ_8.mutant("product in ascending order", reverse=True)
EQ_8.mutant("K before K-hat in each factor", swapped=True)
EQ_8.mutant("factor K-hat_l + I missing", last=False)
EQ_8.mutant("activations of the network without skips", along=0)

EQ_9 = Claim(DEEP, "skipless.eq-9", label="Eq. (9)", name="parameter Jacobian without skips",
    statement=r"""\frac{\partial f(\mathbf{x};\theta)}{\partial\theta^{(\ell)}}=\prod_{i=L}^{\ell+1}(\hat{\mathbf{K}}_i
        \mathbf{K}_i)\,\hat{\mathbf{K}}_\ell\,\frac{\partial f_{\mathrm{SA}}(\hat{\mathbf{x}}^{(\ell-1)};\theta^{(
        \ell)})}{\partial\theta^{(\ell)}}\in\mathbb{R}^{nd\times p_\ell}""",
    assumptions=[Definition("the network of Eq. (8) with both skips removed", by=states), *NETWORK.assumptions[1:], PRODUCT],
    relation=Equal(), uses=("skipless.eq-7",),
    note=r"""The $K_i$ of Eqs. (8) and (9) are taken at the activations of two different networks, and agree at $\ell =
        1$ only.""")  # fmt: skip


@EQ_9.formula
def parameter_jacobian_without_skips(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """df/dtheta^(1), ..., df/dtheta^(L) side by side, shape (n d, 4 L d^2) (Eq. (9))."""
    return _chain(X, W, U, 0)


EQ_9.oracle(lambda X, W, U: attention_columns(X, W, U, skip=0))
EQ_9.mutant("product in ascending order", reverse=True)
EQ_9.mutant("activations of the network with skips", along=1)
EQ_9.mutant("factor K-hat_l missing", last=False)
