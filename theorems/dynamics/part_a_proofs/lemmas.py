"""Appendix A.1, Eqs. (21)-(29): the Jacobians of a matrix product, of normalisation, and of RMSNorm.

`product_jacobian` (Lemma A.1), `normalisation_jacobian` (Lemma A.2), `rms_norm_jacobian` (Lemma A.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Gain, Tokens, normalisation, rms_norm, unit_rows
from theorems.dynamics.settings import NO_ZERO_ROW, NUMERATOR_LAYOUT, Row, gain_and_rows, rows_of_rational_norm
from verify.matrix import absolute, block_diag, concatenate, diag, each, eye, kron, row_norms, row_sums
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Construction, Definition, Equal, Real, Shape

LEMMA_A2 = Claim(DYNAMICS, "dynamics.lemma-a.2", label="Lemma A.2, Eqs. (22)-(23)",
    statement=r"""\frac{\partial\Pi(Y)}{\partial Y}=\operatorname{blockdiag}\left(\Big\{\frac1{\|Y_{[i,:]}\|}\Big(I_D-
        \frac{Y_{[i,:]}Y_{[i,:]}^\top}{\|Y_{[i,:]}\|^2}\Big)\Big\}_{i=1}^S\right)=\operatorname{blockdiag}\left(\Big
        \{\frac{\partial\Pi(Y)_{[i,:]}}{\partial Y_{[i,:]}}\Big\}_{i=1}^S\right)""",
    assumptions=[
        Construction(r"Y \in R^{S x D}", shapes={"Y": ("S", "D")}),
        NUMERATOR_LAYOUT,
        Assumption("no row of Y vanishes, so that Pi is defined", positive=lambda Y: row_sums(Y * Y)),
    ],
    without_domains={"repeated singular values": "of a column of radii one entry is not 0: the other rows vanish"},
    name="Jacobian of row normalisation", relation=Equal(), all_sizes=True, sizes={"S": (1, 4), "D": (1, 4)},
    exact=True, proof=("dynamics.eq-25-26",),
    note="Compared are the derivative and the second member; the third names its blocks. Rows are drawn as radius "
         "times unit vector: their norms are then rational, and exact arithmetic decides.",
)  # fmt: skip
LEMMA_A2.inputs(rows_of_rational_norm)


def _block_diagonal(Y: Any, block: Callable[[Any, Any], Any]) -> Any:
    """blockdiag of `block(y, |y|)` over the rows y of Y, taken as columns (D, 1)."""
    norms = row_norms(Y)
    return block_diag(each(Y.shape[0], lambda i: block(Y[i].reshape(-1, 1), norms[i, 0])))


@LEMMA_A2.formula
def normalisation_jacobian(Y: Tokens) -> Any:
    """dPi/dY, shape (S D, S D) (Lemma A.2)."""
    return _block_diagonal(Y, lambda y, r: (eye(y.shape[0]) - y @ y.T / (r * r)) / r)


LEMMA_A2.oracle(lambda Y: jacobian(normalisation, "Y")(Y))
LEMMA_A2.mutant("norm not squared in the projection", block=lambda y, r: (eye(y.shape[0]) - y @ y.T / r) / r)
LEMMA_A2.mutant("rank-one term with the wrong sign", block=lambda y, r: (eye(y.shape[0]) + y @ y.T / (r * r)) / r)
LEMMA_A2.mutant("factor 1/|Y_i| dropped", block=lambda y, r: eye(y.shape[0]) - y @ y.T / (r * r))
LEMMA_A2.mutant("norm of the first row in every block",
    lambda Y: _block_diagonal(Y, lambda y, r: (eye(y.shape[0]) - y @ y.T / (r * r)) / row_norms(Y)[0, 0]))  # fmt: skip


EQ_23 = Claim(DYNAMICS, "dynamics.eq-23", label="Eq. (23), proof of Lemma A.2", name="normalisation row by row",
    statement=r"""\text{``Since }\Pi\text{ operates independently on each row of }Y\text{, the Jacobian is block-diagonal'':
        }\frac{\partial\Pi(Y)}{\partial Y}=\operatorname{blockdiag}\Big(\Big\{\frac{\partial\Pi(Y)_{[i,:]}}{\partial
        Y_{[i,:]}}\Big\}_{i=1}^S\Big)""",
    assumptions=[NO_ZERO_ROW],
    without_domains={"repeated singular values": "of a column of radii one entry is not 0: the other rows vanish"},
    relation=Equal(), all_sizes=True, sizes={"S": (1, 4), "D": (1, 4)}, exact=True)  # fmt: skip
EQ_23.inputs(rows_of_rational_norm)


@EQ_23.formula
def blocks_of_single_rows(Y: Tokens) -> Any:
    """blockdiag of the Jacobians of the single rows, each differentiated by itself, shape (S D, S D)."""
    return block_diag(each(Y.shape[0], lambda i: jacobian(normalisation, "Y")(Y[i : i + 1])))


EQ_23.oracle(lambda Y: jacobian(normalisation, "Y")(Y))
EQ_23.mutant("without the norms of the rows",
    lambda Y: block_diag(each(Y.shape[0], lambda i: jacobian(normalisation, "Y")(Y[i : i + 1]) * row_norms(Y)[i, 0])))  # fmt: skip
EQ_23.mutant("sign", lambda value: -value)


Left = Annotated[Any, Shape("m", "n")]
Middle = Annotated[Any, Shape("n", "p")]
Right = Annotated[Any, Shape("p", "q")]
Radius = Annotated[Any, Real(0.125, 4.0)]


LEMMA_A1 = Claim(DYNAMICS, "dynamics.lemma-a.1", label="Lemma A.1, Eq. (21)", name="derivative of a matrix product",
    statement=r"\frac{\partial AXB}{\partial X}=A\otimes B^\top",
    assumptions=[NUMERATOR_LAYOUT],
    relation=Equal(), all_sizes=True, sizes={"m": (1, 4), "n": (1, 4), "p": (1, 4), "q": (1, 4)}, exact=True,
)  # fmt: skip


@LEMMA_A1.formula
def product_jacobian(A: Left, X: Middle, B: Right) -> Any:
    """d(A X B)/dX = A (x) B^T, shape (m q, n p) (Lemma A.1)."""
    return kron(A, B.T)


LEMMA_A1.oracle(lambda A, X, B: jacobian(lambda X: A @ X @ B, "X")(X))
LEMMA_A1.mutant("column-major order, B^T (x) A", lambda A, B: kron(B.T, A))
LEMMA_A1.mutant("sign", lambda value: -value)
LEMMA_A1.mutant("B instead of its transpose, reshaped to fit", lambda A, B: kron(A, B.reshape(B.shape[1], B.shape[0])))


# -- Lemma A.3 and the proof of Lemma A.2 ------------------------------------------------------------------------------

LEMMA_A3 = Claim(DYNAMICS, "dynamics.lemma-a.3", label="Lemma A.3, Eqs. (28)-(29)", name="Jacobian of RMSNorm",
    statement=r"""
        \frac{\partial\operatorname{RMSNorm}(Y)}{\partial Y}=\operatorname{blockdiag}\Big(\Big\{\tfrac1{\|Y_{[i,:]}\|}
        \operatorname{diag}(\gamma)\big(I_D-\tfrac{Y_{[i,:]}Y_{[i,:]}^\top}{\|Y_{[i,:]}\|^2}\big)\Big\}_{i=1}^S\Big)""",
    assumptions=[Definition("RMSNorm as in Eq. (6)", by=rms_norm), NUMERATOR_LAYOUT, NO_ZERO_ROW],
    without_domains={"repeated singular values": "of a column of radii one entry is not 0: the other rows vanish"},
    relation=Equal(), all_sizes=True, sizes={"S": (1, 4), "D": (1, 4)}, exact=True, proof=("dynamics.lemma-a.2",),
)  # fmt: skip
LEMMA_A3.inputs(gain_and_rows)


def row_block(y: Any, gamma: Any) -> Any:
    """diag(gamma) (I - y y^T / |y|^2) / |y| for a row y (1, D), shape (D, D)."""
    r = row_norms(y)
    return diag(gamma) @ (eye(y.shape[1]) - y.T @ y / (r * r)) / r


@LEMMA_A3.formula
def rms_norm_jacobian(Y: Tokens, gamma: Gain) -> Any:
    """dRMSNorm/dY, shape (S D, S D) (Lemma A.3)."""
    return block_diag(each(Y.shape[0], lambda i: row_block(Y[i : i + 1], gamma)))


LEMMA_A3.oracle(lambda Y, gamma: jacobian(rms_norm, "Y")(Y, gamma))
LEMMA_A3.mutant("diag(gamma) on the right",
    "row_block(Y[i : i + 1], gamma) -> row_block(Y[i : i + 1], gamma * 0 + 1) @ diag(gamma)")  # fmt: skip
LEMMA_A3.mutant("diag(gamma) dropped", lambda Y, gamma: rms_norm_jacobian(Y, gamma * 0 + 1))
LEMMA_A3.mutant("gain in absolute value", lambda Y, gamma: rms_norm_jacobian(Y, absolute(gamma)))


EQS_24_27 = Claim(DYNAMICS, "dynamics.eq-25-26", label="Eqs. (24)-(27)", name="gradient of a normalised row",
    statement=r"""\frac{\partial\Pi(Y)_{[i,:]}}{\partial Y_{[i,:]}}=\frac{\partial Y_{[i,:]}/\|Y_{[i,:]}\|}{\partial
        Y_{[i,:]}}=\frac1{\|Y_{[i,:]}\|}\frac{\partial Y_{[i,:]}}{\partial Y_{[i,:]}}+Y_{[i,:]}\frac{\partial
        1/\|Y_{[i,:]}\|}{\partial Y_{[i,:]}}=\frac1{\|Y_{[i,:]}\|}I_D-Y_{[i,:]}\frac{Y_{[i,:]}^\top}{\|Y_{[i,:]}\|^3}=
        \frac1{\|Y_{[i,:]}\|}\Big(I_D-\frac{Y_{[i,:]}Y_{[i,:]}^\top}{\|Y_{[i,:]}\|^2}\Big)""",
    assumptions=[NO_ZERO_ROW],
    relation=Equal(), all_sizes=True, sizes={"D": (1, 5)}, exact=True)  # fmt: skip


@EQS_24_27.inputs
def row_of_rational_norm(direction: Row, radius: Radius) -> dict[str, Any]:
    """One row Y of norm `radius`, shape (1, D)."""
    return {"Y": unit_rows(direction) * radius}


@EQS_24_27.formula
def direction_jacobian(Y: Row) -> Any:
    """Eqs. (25), (26) and (27) on top of each other, shape (3 D, D)."""
    I, r = eye(Y.shape[1]), row_norms(Y)
    product_rule = I / r + Y.T @ jacobian(lambda Y: 1 / row_norms(Y), "Y")(Y)
    return concatenate([product_rule, I / r - Y.T @ Y / (r * r * r), (I - Y.T @ Y / (r * r)) / r], axis=0)


EQS_24_27.oracle(lambda Y: concatenate([jacobian(normalisation, "Y")(Y)] * 3, axis=0))
EQS_24_27.mutant("square instead of cube of the norm", "r * r * r -> r * r")
EQS_24_27.mutant("sign of the rank-one term", "Y.T @ Y -> -Y.T @ Y")
EQS_24_27.mutant("second summand of the product rule dropped",
    lambda Y: concatenate([eye(Y.shape[1]) / row_norms(Y)] * 3, axis=0))  # fmt: skip
