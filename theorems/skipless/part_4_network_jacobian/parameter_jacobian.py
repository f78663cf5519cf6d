"""Eq. (5) and the displays of Section 4.2: the Jacobian of the network by its parameters, over samples and in blocks.

The attention blocks of it are never of full column rank (`skipless.eq-5-null-directions`).
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import (
    BRANCHES, AttentionWeights, Batch, FeedForwardWeights, Tokens, attention_branch, column, feed_forward_branch, network,
    parameters,
)  # fmt: skip
from theorems.shared.matrices import over_units
from theorems.skipless.quantities import COLUMN_MAJOR
from verify.matrix import COLUMN, basis_vector, concatenate, kron, vec_c
from verify.oracles import jacobian
from verify.vocabulary import Claim, Convention, Definition, Equal, HasStructure, Setting, Shape

#: W_Q, W_K, W_V, W_O of one block.
BlockWeights = Annotated[Any, Shape("4", "d", "d")]

NETWORK = Setting(SKIPLESS, "Section 4.1",
    assumptions=[
        Definition("X_hat_l of Eqs. (1)-(2), single-head attention without biases, theta^(l) = (W_Q, W_K, W_V, W_O)",
        by=attention_branch),
        Definition("MLP(X) = activation(X W_1) W_2 with weights theta-hat^(l) = (W_1, W_2) and a smooth activation",
        by=feed_forward_branch),
        COLUMN_MAJOR,
    ],
    sizes={"L": (1, 2), "m": (1, 3), "n": (1, 2), "d": (1, 2), "d_f": (1, 3)})  # fmt: skip


def large_logits(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Query weights times eight."""
    arrays["W"][:, :, 0] *= 8.0


WHOLE_BATCH = NETWORK.extended("Section 4.2", exact=True, special_domains={"large query weights": large_logits})  # fmt: skip


def branch_parameter_jacobian(X: Any, theta: Any, which: int = 0) -> Any:
    """df_SA/dtheta (which = 0) or df_MLP/dtheta-hat (which = 1) at tokens X, shape (n d, p)."""
    return jacobian(BRANCHES[which], "theta", COLUMN)(X, theta)


def block_of_jacobian(X: Any, thetas: list[Any], index: int, skip: int = 1) -> Any:
    """df/d thetas[index] for one sample by differentiation, shape (n d, p of that sub-block)."""

    def varied(theta: Any) -> Any:
        return network(X, [*thetas[:index], theta, *thetas[index + 1 :]], skip)

    return jacobian(varied, "theta", COLUMN)(thetas[index])


def stacked_blocks(X: Batch, W: AttentionWeights, U: FeedForwardWeights, skip: int = 1) -> list[Any]:
    """J_1, J-hat_1, ..., J_L, J-hat_L for the whole batch, each of shape (m n d, p of that sub-block)."""
    thetas = parameters(W, U)
    return [concatenate([block_of_jacobian(x, thetas, i, skip) for x in X], axis=0) for i in range(len(thetas))]


def whole_jacobian(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """dF/dtheta for F stacked over the batch and theta all parameters, block by block, in one differentiation."""
    thetas = parameters(W, U)
    lengths = [theta.shape[0] for theta in thetas]
    ends = np.cumsum(lengths)

    def outputs(theta: Any) -> Any:
        own = [theta[end - length : end] for end, length in zip(ends, lengths, strict=True)]
        return concatenate([vec_c(network(x, own)) for x in X], axis=0)

    return jacobian(outputs, "theta", COLUMN)(concatenate(thetas, axis=0))


# -- Eq. (5) and the block columns -------------------------------------------------------------------------------------

EQ_5 = Claim(WHOLE_BATCH, "skipless.eq-5-jacobian", label="Eq. (5) and Section 4.1, text",
    statement=r"""F(\theta):=[f(\mathbf{x}_1;\theta);\dots;f(\mathbf{x}_m;\theta)]\in\mathbb{R}^{mnd}. \text{ The
        network Jacobian is then } \mathbf{J}=\frac{\partial F}{\partial\theta}\in\mathbb{R}^{mnd\times p}, \dots\
        \kappa(\mathbf{J})=s_{\max}\cdot s_{\min}^{-1}""",
    name="network Jacobian and its condition number", relation=Equal(),
    note=r"""$J$ is the Jacobians of the samples on top of each other. $s_{\min}$ is read as the last of the $\min(mnd,
        p)$ singular values; then $\kappa(J)$ is infinite as soon as $J$ has at least $p$ rows, whatever the weights
        (skipless.eq-5-null-directions).""")  # fmt: skip


@EQ_5.formula
def jacobian_of_samples(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """df(x_1)/dtheta, ..., df(x_m)/dtheta on top of each other, shape (m n d, p)."""
    thetas = parameters(W, U)
    rows = [concatenate([block_of_jacobian(x, thetas, i) for i in range(len(thetas))], axis=1) for x in X]
    return concatenate(rows, axis=0)


EQ_5.oracle(whole_jacobian)
EQ_5.mutant("first sample throughout", "x -> X[0]")
EQ_5.mutant("without skips", lambda X, W, U: concatenate(stacked_blocks(X, W, U, skip=0), axis=1))

BLOCK_COLUMNS = Claim(WHOLE_BATCH, "skipless.sec4.2-block-columns", label="Section 4.2, first two displays",
    statement=r"""\mathbf{J}=\frac{\partial
        F}{\partial\theta}=[\mathbf{J}_1,\hat{\mathbf{J}}_1,\dots,\mathbf{J}_L,\hat{\mathbf{J}}_L], \text{ where }
        \mathbf{J}_\ell=\frac{\partial F}{\partial\theta^{(\ell)}}\in\mathbb{R}^{mnd\times p_\ell},\
        \hat{\mathbf{J}}_\ell=\frac{\partial F}{\partial\hat\theta^{(\ell)}}\in\mathbb{R}^{mnd\times\hat p_\ell},\quad
        \sum_{\ell=1}^L(p_\ell+\hat p_\ell)=\dim(\theta)=p""",
    assumptions=[Convention("theta is ordered block by block", by=parameters)],
    name="network Jacobian in block columns", relation=Equal())  # fmt: skip


@BLOCK_COLUMNS.formula
def block_columns(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """[J_1, J-hat_1, ..., J_L, J-hat_L], shape (m n d, p)."""
    blocks = stacked_blocks(X, W, U)
    return concatenate(blocks, axis=1)


BLOCK_COLUMNS.oracle(whole_jacobian)
BLOCK_COLUMNS.mutant("feed-forward blocks before attention blocks", "blocks -> [*blocks[1::2], *blocks[::2]]")
BLOCK_COLUMNS.mutant("J_1 in the place of J_L", "blocks -> [*blocks[:-2], blocks[0], blocks[-1]]")

NULL_DIRECTIONS = Claim(SKIPLESS, "skipless.eq-5-null-directions", label="Null directions of the attention blocks of J",
    statement=r"""
        \frac{\partial f_{\mathrm{SA}}}{\partial\theta}\,(\mathbf{W}^QS,\,-\mathbf{W}^KS^\top,\,\mathbf{W}^VR,\,-R
        \mathbf{W}^O)=0\ \text{for all}\ R,S\in\mathbb{R}^{d\times d},\ \text{hence}\ \operatorname{rank}\mathbf{J}_\ell
        \le2d^2\ \text{where}\ p_\ell=4d^2""",
    assumptions=[NETWORK.assumptions[0], NETWORK.assumptions[2]],
    name="null directions of the attention blocks", relation=HasStructure(), all_sizes=True,
    sizes={"n": (1, 3), "d": (1, 2)}, exact=True, of_project=True, uses=("skipless.sec5-products-only",),
    note=r"""$f_{\mathrm{SA}}$ is a function of the two products, $2d^2$ numbers. So $\kappa(J_\ell)$, a quotient of the
        first and the last of $\min(mnd, 4d^2)$ singular values, is infinite for $mn > 2d$; with the blocks of the MLP
        at hand $J$ can only be of full rank while $mnd \le p - 2Ld^2$.""")  # fmt: skip


def gauge_directions(W: Any, sign: int = -1, output: int = 1) -> Any:
    """The 2 d^2 directions (W_Q S, -W_K S^T, W_V R, -R W_O) for unit matrices S, R; columns, shape (4 d^2, 2 d^2).

    Mutants take another sign of the second factors, or a multiple of the direction of W_O.
    """
    d = W.shape[1]

    def placed(k: int, M: Any) -> Any:
        return kron(basis_vector(4, k), column(M))

    first = over_units(d, lambda S: placed(0, W[0] @ S) + placed(1, W[1] @ S.T * sign))
    second = over_units(d, lambda R: placed(2, W[2] @ R) + placed(3, R @ W[3] * (sign * output)))
    return concatenate([first, second], axis=1)


@NULL_DIRECTIONS.formula
def change_along_equal_products(X: Tokens, W: BlockWeights) -> Any:
    """df_SA/dtheta times the 2 d^2 directions along which both products are stationary, shape (n d, 2 d^2)."""
    return branch_parameter_jacobian(X, column(W)) @ gauge_directions(W)


NULL_DIRECTIONS.part("structure", lambda value: value)
NULL_DIRECTIONS.mutant("plus instead of minus", sign=1)
NULL_DIRECTIONS.mutant("directions of twice the weights W_O", output=2)
