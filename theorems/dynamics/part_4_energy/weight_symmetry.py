"""The text of Section 4: which products of weights are symmetric, may be asymmetric, or have low rank.

Surprising: under condition (11) four tokens can turn round for ever, so no energy exists; two transposed heads have one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Heads, Tokens, energy, flow, projection, unit_rows
from theorems.dynamics.numerics import STEPS, energy_lost, loss_along, no_loss
from theorems.dynamics.part_3_preliminaries.symmetric_attention import PlanarDirection, energy_loss
from theorems.dynamics.part_4_energy.multi_head import (
    ORTHONORMAL_BLOCKS, WHOLE_BLOCKS, SharedBasis, multi_head_loss_of, multi_head_rate, products, symmetric_parts,
)  # fmt: skip
from theorems.dynamics.part_4_energy.single_head import climbing_weights, symmetrised_values
from theorems.dynamics.settings import ENERGY, POSITIVE_BETA, SYMMETRIC, UNIT_TOKENS, Core, Factor, InverseTemperature
from theorems.shared.matrices import orthogonal_matrix
from verify.arithmetics import Constant
from verify.matrix import concatenate, exp, eye, frobenius_norm, ones, row_sums, trace, zeros
from verify.vocabulary import (
    Assumption, AtMost, Claim, Construction, Definition, Equal, HasStructure, Real, Shape, realises,
)  # fmt: skip

Corners = Annotated[Any, Shape("4", "2")]
Asymmetry = Annotated[Any, Real(-2.0, 2.0, avoid_zero=True)]

#: The rotation of rows (1, 2) by a quarter turn.
QUARTER_TURN = Constant([[0, 1], [-1, 0]])


# -- what is symmetric -------------------------------------------------------------------------------------------------

SYMMETRIC_CONSTRAINT = Claim(DYNAMICS, "dynamics.sec-4-symmetric-constraint",
    label="Section 4, 'Extension of weight symmetry'", name="symmetric constraints on query-key products",
    statement=r"\text{``Symmetric SA imposes symmetric constraints on both }W^{Q\top}W^K\text{ and }W^V\text{''}",
    assumptions=[SYMMETRIC],
    relation=Equal(), sizes={"D": (2, 4), "D_H": (2, 4)}, expects="refuted", severity="slip",
    correction="dynamics.sec-4-symmetric-logits",
    note=r"""$W^{Q\top}W^K$ stands for $W^QW^{K\top}$, as in Eqs. (11), (13), (31) and (47). The former is $D_H \times
        D_H$ and changes its symmetry with $W^Q \to W^QT$, $W^K \to W^KT^{-\top}$, which leaves Eq. (4) as it is.""",
)  # fmt: skip


@SYMMETRIC_CONSTRAINT.inputs
@realises({r"A = W^Q W^{K\top} is symmetric": reached.SYMMETRIC_PRODUCT})
def symmetric_factors(factor: Factor, core: Core) -> dict[str, Any]:
    """W_Q = F (M + M^T), W_K = F."""
    return {"W_Q": factor @ (core + core.T), "W_K": factor}


@SYMMETRIC_CONSTRAINT.formula
def skew_part_of_printed_product(W_Q: Factor, W_K: Factor) -> Any:
    """W_Q^T W_K - W_K^T W_Q, shape (D_H, D_H)."""
    return W_Q.T @ W_K - W_K.T @ W_Q


SYMMETRIC_CONSTRAINT.oracle(lambda W_Q: zeros(W_Q.shape[1], W_Q.shape[1]))
# By hand: W_Q^T W_K has the rows (1, 1) and (0, 0)
SYMMETRIC_CONSTRAINT.counterexample("two integer matrices with W^Q W^{K T} = E_11",
    W_Q=[[1, 0], [0, 0]], W_K=[[1, 1], [0, 1]])  # fmt: skip
SYMMETRIC_CONSTRAINT.mutant("W^Q W^{K T}, as Eq. (4) has it", lambda W_Q, W_K: W_Q @ W_K.T - W_K @ W_Q.T)
SYMMETRIC_CONSTRAINT.mutant("symmetric part", lambda W_Q, W_K: W_Q.T @ W_K + W_K.T @ W_Q)


SYMMETRIC_LOGITS = Claim(DYNAMICS, "dynamics.sec-4-symmetric-logits", label="Section 4 with W^Q W^{K T}",
    statement=r"""T-T^\top=X(W^QW^{K\top}-W^KW^{Q\top})X^\top\text{ for the logits }T=XW^QW^{K\top}X^\top:\text{ they are symmetric
        for all tokens exactly if }W^QW^{K\top}\text{ is, whatever }W^{Q\top}W^K""",
    name="symmetric logits and values", relation=Equal(), all_sizes=True,
    sizes={"S": (1, 3), "D": (1, 4), "D_H": (1, 4)},
    exact=True, of_project=True, corrects="dynamics.sec-4-symmetric-constraint",
    note="Take $X = I$ for the necessity. Eq. (4) adds that $W^V = W^QW^{K\\top}$ is symmetric.")  # fmt: skip


@SYMMETRIC_LOGITS.formula
def skew_part_by_weights(X: Tokens, W_Q: Factor, W_K: Factor) -> Any:
    """X (W_Q W_K^T - W_K W_Q^T) X^T, shape (S, S)."""
    return X @ (W_Q @ W_K.T - W_K @ W_Q.T) @ X.T


@SYMMETRIC_LOGITS.oracle
def skew_part_of_logits(X: Tokens, W_Q: Factor, W_K: Factor) -> Any:
    """T - T^T for the logits T = (X W_Q) (X W_K)^T, shape (S, S)."""
    logits = (X @ W_Q) @ (X @ W_K).T
    return logits - logits.T


SYMMETRIC_LOGITS.mutant("queries and keys exchanged", lambda X, W_Q, W_K: skew_part_by_weights(X, W_K, W_Q))
SYMMETRIC_LOGITS.mutant("half of it", lambda value: value / 2)


# -- asymmetric W^Q W^{K T} --------------------------------------------------------------------------------------------

ASYMMETRIC = Claim(DYNAMICS, "dynamics.sec-4-asymmetric-allowed", label="Text after Proposition 4.2",
    statement=r"""\text{``Propositions 4.1 and 4.2 imply that certain structures of weight matrices are desirable to
        ensure the existence of an energy function. Specifically, }W_QW_K^\top\text{ can be asymmetric, whereas
        }W_V\text{ should remain symmetric''}""",
    assumptions=[
        Definition("E_single of Proposition 4.1, along (3)", by=flow),
        Definition("E_multi of Proposition 4.2, along the sum of the heads", by=multi_head_rate),
        Definition(r"A_h = U_{1,h}U_{2,h}^\top", by=products),
        WHOLE_BLOCKS,
        UNIT_TOKENS,
        ORTHONORMAL_BLOCKS,
        POSITIVE_BETA,
        Definition(r"W^V = (A + A^\top)/2 for A = W^Q W^{K\top}, any head dimension", by=symmetrised_values),
        Definition(r"W_h^V = (A_h + A_h^\top)/2 for every head", by=symmetric_parts),
        Construction(
            "free tokens Y for several heads, besides the unit tokens X of the single one", shapes={"Y": ("S", "D")}
        ),
    ],
    name="asymmetric query-key weights with an energy",
    relation=AtMost(signed=True, left="0, the least that falling energies lose", right="-dE/dt of both energies"),
    sizes={"S": (1, 3), "D": (2, 4), "D_H": (1, 4), "H": (1, 2)}, expects="refuted", severity="error",
    correction="dynamics.sec-4-transposed-heads", presumes=("dynamics.prop-4.1", "dynamics.prop-4.2"),
    consequence=r"""Symmetric $W^V$ does not give asymmetric $W^QW^{K\top}$ an energy, trajectories can cycle; for any
        $A$ use two heads with queries and keys exchanged (dynamics.sec-4-transposed-heads).""",
    note=r"""Judged with $W^V$ symmetric whichever way Eq. (11) is read, in any dimension of heads. For one token any
        $A$ will do (dynamics.sec-4-transposed-heads); for two it will not. No other function of the tokens helps: under
        condition (11) four tokens can turn round for ever (dynamics.sec-4-rotating-square), and nothing falls all along
        a closed orbit. The energies decrease for symmetric $A$; an asymmetric one needs the values $A^\top$ and $A$,
        not their mean.""")  # fmt: skip


@ASYMMETRIC.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS, r"U_{k,h}^\top": reached.ROTATIONS})
def single_and_multiple_heads(
    directions: Tokens, W_Q: Factor, W_K: Factor, Y: Tokens, G: SharedBasis, beta: InverseTemperature, H: Heads
) -> dict[str, Any]:
    """Unit tokens X and free tokens Y; U = [U_11, U_21, ...], the Cayley transform of G."""
    return {"X": unit_rows(directions), "W_Q": W_Q, "W_K": W_K, "Y": Y, "U": orthogonal_matrix(G), "beta": beta, "H": H}


@ASYMMETRIC.formula
def losses_with_symmetric_values(
    X: Tokens, W_Q: Factor, W_K: Factor, Y: Tokens, U: SharedBasis, beta: InverseTemperature, H: Heads
) -> Any:
    """-dE_single/dt and its scale, then -dE_multi/dt, shape (3, 1)."""
    W_V, values = symmetrised_values(W_Q, W_K), symmetric_parts(products(U, H))
    several = -multi_head_rate(Y, products(U, H), values, beta)
    return concatenate([energy_loss(X, W_Q, W_K, W_V, beta), ones(1, 1) * several], axis=0)


ASYMMETRIC.oracle(lambda: zeros(3, 1))


@ASYMMETRIC.counterexample("W^Q = [[-1, 3], [0, 0]], W^K = I for the single head; A = E_12 for the other")
def _() -> dict[str, Any]:
    """dE_single/dt = 4.49..., dE_multi/dt = 1.23...; see Propositions 4.1 and 4.2."""
    return {**climbing_weights(), "Y": [[-4, 1], [1, 1]], "U": [[1, 0], [0, 1]], "H": 1}


ASYMMETRIC.mutant("sign of the values", "W_V -> -W_V; values -> [-V for V in values]")
ASYMMETRIC.mutant("factor two in the values", "W_V -> W_V * 2; values -> [V * 2 for V in values]")


TRANSPOSED_HEADS = Claim(ENERGY, "dynamics.sec-4-transposed-heads", label="Energy for any A, with transposed heads",
    statement=r"""\frac{dX_{[i,:]}}{dt}=P_i\frac{\sum_j\big(E_{ij}A+E_{ji}A^\top\big)X_{[j,:]}}{\sum_j(E_{ij}+E_{ji})},\
        E_{ij}=\exp(\beta X_{[i,:]}^\top AX_{[j,:]})\ \Rightarrow\ \frac{dE_{\text{single}}}{dt}\le0\text{ for
        }E_{\text{single}}=-\sum_{i,j}E_{ij}\text{ and every }A""",
    assumptions=[Definition(r"A = W^Q W^{K\top} of any kind, any head dimension; P_i = I - X_i X_i^\top", by=projection)],
    name="energy for any weights with transposed heads", relation=AtMost(signed=True),
    sizes={"S": (1, 3), "D": (1, 4), "D_H": (1, 4)}, of_project=True, corrects="dynamics.sec-4-asymmetric-allowed",
    note=r"""Two heads, one the transpose of the other (queries and keys exchanged), with the values $A$ and $A^\top$
        and one common normalisation for each token. Any positive normalisation will do: the drive is $-\partial
        E/\partial X$, token by token, over $\beta$ times it. For $A$ symmetric it is Eq. (3) with normalisation over
        both heads. For one token it is Eq. (3) with $W^V = (A + A^\top)/2$ for every $A$, so that the counterexamples
        to Proposition 4.1 with two tokens are the smallest.""")  # fmt: skip


@TRANSPOSED_HEADS.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS})
def any_heads(directions: Tokens, W_Q: Factor, W_K: Factor, beta: InverseTemperature) -> dict[str, Any]:
    """Unit tokens, weights as drawn."""
    return {"X": unit_rows(directions), "W_Q": W_Q, "W_K": W_K, "beta": beta}


@TRANSPOSED_HEADS.formula
def loss_of_transposed_heads(X: Tokens, W_Q: Factor, W_K: Factor, beta: InverseTemperature) -> Any:
    """-dE/dt and its scale, shape (2, 1)."""
    A = W_Q @ W_K.T
    E = exp(X @ A @ X.T * beta)
    drive = E @ X @ A.T + E.T @ X @ A
    return loss_along(partial(energy, W_Q=W_Q, W_K=W_K, beta=beta), X, projection(X, drive / row_sums(E + E.T)))


TRANSPOSED_HEADS.oracle(no_loss)


@TRANSPOSED_HEADS.domain("asymmetric integer weights")
def asymmetric_integers(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """W^K = I, where D_H = D, and integers in W^Q."""
    arrays["W_K"][:] = np.eye(sizes["D"], sizes["D_H"])
    arrays["W_Q"][:] = rng.integers(-3, 4, arrays["W_Q"].shape)


TRANSPOSED_HEADS.mutant("values exchanged", "drive -> E @ X @ A + E.T @ X @ A.T")
TRANSPOSED_HEADS.mutant("one head with the values (A + A^T)/2, as in Proposition 4.1", "drive -> E @ X @ (A + A.T)")
TRANSPOSED_HEADS.mutant("sign", "drive -> -drive")


ROTATING_SQUARE = Claim(ENERGY, "dynamics.sec-4-rotating-square", label="No energy for asymmetric A: a closed orbit",
    statement=r"""X=(x,xK,-x,-xK),\ K=\begin{pmatrix}0&1\\-1&0\end{pmatrix},\ A=I+cK,\ W^V=(A+A^\top)/2=I\ \Rightarrow\
        \dot X=\omega XK,\ \omega=\frac{\sinh(\beta c)}{\cosh\beta+\cosh(\beta c)}""",
    assumptions=[
        Construction("D = 2, S = 4", shapes={"X": ("4", "2")}),
        Assumption(
            "the tokens are the corners of a square on the circle, X = (x, xK, -x, -xK)",
            zero=lambda X: X - concatenate([X[:1], X[:1] @ QUARTER_TURN, -X[:1], -X[:1] @ QUARTER_TURN], axis=0),
        ),
        Definition("W^Q = A, W^K = I in (3)", by=flow),
    ],
    name="closed orbit of four tokens, no energy", relation=Equal(), at_sizes=True, exact=True, of_project=True,
    note=r"""The velocity is the same at every turned square, so the tokens turn rigidly, with the period $2\pi/\omega$
        where $c \ne 0$. A function that falls along every motion would be lower after one turn, at the state where it
        began. The weights satisfy condition (11) in both readings; $E_{\text{single}}$ is constant on the orbit.""",
)  # fmt: skip


@ROTATING_SQUARE.inputs
@realises(
    {
        r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS,
        "corners of a square": (
            "the corners of a square on the circle are turned into one another by quarter "
            "turns, and the first may be any unit vector"
        ),
    }
)
def square_of_tokens(direction: PlanarDirection, c: Asymmetry, beta: InverseTemperature) -> dict[str, Any]:
    """The corners x, xK, -x, -xK of a square for a unit row x, shape (4, 2)."""
    x = unit_rows(direction)
    quarter = x @ QUARTER_TURN
    return {"X": concatenate([x, quarter, -x, -quarter], axis=0), "c": c, "beta": beta}


@ROTATING_SQUARE.formula
def turning_velocity(X: Corners, c: Asymmetry, beta: InverseTemperature) -> Any:
    """omega X K with omega = sinh(beta c) / (cosh beta + cosh beta c), shape (4, 2)."""
    ahead, behind, own, opposite = exp(beta * c), exp(-(beta * c)), exp(beta), exp(-beta)
    return X @ QUARTER_TURN * ((ahead - behind) / (ahead + behind + own + opposite))


@ROTATING_SQUARE.oracle
def velocity_of_the_square(X: Corners, c: Asymmetry, beta: InverseTemperature) -> Any:
    A = eye(2) + QUARTER_TURN * c
    return flow(X, A, eye(2), symmetrised_values(A, eye(2)), beta)


ROTATING_SQUARE.mutant("the other way round", lambda value: -value)
ROTATING_SQUARE.mutant("no motion, as for symmetric A", lambda value: value * 0)
ROTATING_SQUARE.mutant("a token does not attend to itself", "own -> 0")
ROTATING_SQUARE.mutant("a token does not attend to the opposite one", "opposite -> 0")


# -- rank --------------------------------------------------------------------------------------------------------------

LOW_RANK = Claim(DYNAMICS, "dynamics.sec-4-low-rank", label="Text after Proposition 4.2",
    statement=r"""\text{``In the multi-head scenario, a low-rank structure in the QK product is required'':
        }\operatorname{rank}(W_h^QW_h^{K\top})=D/(2H)\le D_H""",
    assumptions=[ORTHONORMAL_BLOCKS, WHOLE_BLOCKS, Definition(r"W_h^QW_h^{K\top} = U_{1,h}U_{2,h}^\top, D_H = D/H", by=products)],
    name="low rank of query-key products required", relation=HasStructure(), at_sizes={"D": 2, "H": 1},
    sizes={"D": (2, 6), "H": (1, 3)}, exact=True, expects="gap", presumes=("dynamics.prop-4.2",),
    uses=("dynamics.eq-13-orthogonality",), correction="dynamics.sec-4-equal-heads",
    consequence="""An energy of several heads is no reason for a low rank: equal symmetric heads of any rank have one
        (dynamics.sec-4-equal-heads).""",
    note=r"""$A_hA_h^\top$ is a projection of trace $D/(2H)$, the rank of $A_h$; $(A_h + A_h^\top)^2$ one of trace
        $D/H$, so that the values have the full rank $D_H$ of a head. The ranks are as stated. That an energy requires
        them rests on Proposition 4.2, which fails. Symmetric heads with $A_hA_{h'} = O$, for which it holds, have ranks
        of sum at most $D$; but even that is not required: equal symmetric heads of any rank have a falling energy
        (dynamics.sec-4-equal-heads), $A_h = \operatorname{diag}(1, 1, 0, 0)$ for two heads, say, of rank $2 > D/(2H) =
        1$.""")  # fmt: skip


@LOW_RANK.inputs
@realises({r"U_{k,h}^\top": reached.ROTATIONS})
def bases(G: SharedBasis, H: Heads) -> dict[str, Any]:
    """U = [U_11, U_21, ..., U_2H], the Cayley transform of G."""
    return {"U": orthogonal_matrix(G), "H": H}


@LOW_RANK.formula
def query_key_products(U: SharedBasis, H: Heads) -> Any:
    """A_1, ..., A_H on top of each other, shape (H D, D)."""
    return concatenate(products(U, H), axis=0)


@LOW_RANK.part("structure")
def distance_from_ranks(value: Any, H: Heads) -> Any:
    """For A A^T and (A + A^T)^2: P^2 - P, then tr P - rank in every entry of a row; shape (H (2 D + 2), D)."""
    D = value.shape[1]
    defects = []
    for h in range(H):
        A = value[h * D : (h + 1) * D]
        M = A + A.T
        for P, rank in ((A @ A.T, D // (2 * H)), (M @ M, D // H)):
            defects += [P @ P - P, ones(1, D) * (trace(P) - rank)]
    return concatenate(defects, axis=0)


LOW_RANK.mutant("heads symmetrised", lambda U, H: concatenate(symmetric_parts(products(U, H)), axis=0))
LOW_RANK.mutant("full rank", lambda U, H: concatenate([U] * H, axis=0))
LOW_RANK.mutant("blocks not normalised", lambda U, H: concatenate([A * 2 for A in products(U, H)], axis=0))


EQUAL_HEADS = Claim(DYNAMICS, "dynamics.sec-4-equal-heads", label="Energy for equal heads of any rank",
    statement=r"""A_1=\dots=A_H=A=A^\top=W_h^V\ \Rightarrow\ \frac{dE_{\text{multi}}}{dt}\le0\text{ along
        }dX/dt=\sum_h\operatorname{softmax}(\beta XA_hX^\top)XW_h^V\text{ for }E_{\text{multi}}=-\sum_h\sum_{i,j}\exp(
        \beta X_{[i,:]}^\top A_hX_{[j,:]})\text{ and every rank of }A""",
    assumptions=[POSITIVE_BETA, Assumption("A symmetric, no constraint on the tokens", zero=lambda A: A - A.T)],
    name="energy of equal heads of any rank", relation=AtMost(signed=True),
    sizes={"S": (1, 3), "D": (1, 4), "H": (1, 3)}, of_project=True, corrects="dynamics.sec-4-low-rank",
    note="""So no low rank is required for an energy. What is known to suffice: symmetric heads with $A_hA_{h'} = O$
        (dynamics.prop-4.2-symmetric), and equal ones.""")  # fmt: skip


@EQUAL_HEADS.inputs
@realises({"A symmetric": reached.SYMMETRIC})
def one_symmetric_product(X: Tokens, G: SharedBasis, beta: InverseTemperature, H: Heads) -> dict[str, Any]:
    """Tokens as drawn, A = G + G^T."""
    return {"X": X, "A": G + G.T, "beta": beta, "H": H}


@EQUAL_HEADS.formula
def loss_of_equal_heads(X: Tokens, A: SharedBasis, beta: InverseTemperature, H: Heads) -> Any:
    """-dE_multi/dt and its scale, shape (2, 1)."""
    heads = values = [A] * H
    return multi_head_loss_of(X, heads, values, beta)


EQUAL_HEADS.oracle(no_loss)


@EQUAL_HEADS.domain("small tokens")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    arrays["X"][:] = rng.integers(-3, 4, arrays["X"].shape) / 4
    arrays["G"][:] = rng.integers(-2, 3, arrays["G"].shape) / 2


EQUAL_HEADS.mutant("sign of W_h^V", "values -> [-A] * H")
EQUAL_HEADS.mutant("W_h^V the identity", "values -> [eye(A.shape[0])] * H")


# -- any A, with transposed heads --------------------------------------------------------------------------------------

TRANSPOSED = Claim(ENERGY, "dynamics.sec-4-transposed-heads-integrated",
    label="Energy for any A with transposed heads, integrated forward",
    statement=r"""
        \text{along the flow of dynamics.sec-4-transposed-heads: } E_{\text{single}}(X(\tau))-E_{\text{single}}(X(0))\le
        \text{ the change when the step is halved, for every }A\text{ and a time }\tau>0""",
    assumptions=[STEPS],
    name="transposed heads along integrated trajectories", relation=AtMost(signed=True, ascent=False),
    sizes={"S": (1, 3), "D": (1, 3), "D_H": (1, 3)}, of_project=True, uses=("dynamics.sec-4-transposed-heads",),
)  # fmt: skip
TRANSPOSED.inputs(any_heads)


def _single_head_loss(X: Any, W_Q: Any, W_K: Any, beta: Any, drive: Callable[[Any, Any, Any], Any]) -> Any:
    A = W_Q @ W_K.T
    size = frobenius_norm(A)
    time = 1 / (4 * (1 + size * (1 + beta * size) * X.shape[0]))

    def field(Y: Any) -> Any:
        E = exp(Y @ A @ Y.T * beta)
        return projection(Y, drive(E, Y, A) / row_sums(E + E.T))

    return energy_lost(field, lambda Y: energy(Y, W_Q, W_K, beta), X, time)


@TRANSPOSED.formula
def energy_lost_by_transposed_heads(X: Tokens, W_Q: Factor, W_K: Factor, beta: InverseTemperature) -> Any:
    """E(0) - E(tau) plus the change by halving the step, shape (1, 1)."""
    return _single_head_loss(X, W_Q, W_K, beta, lambda E, Y, A: E @ Y @ A.T + E.T @ Y @ A)


TRANSPOSED.oracle(lambda: zeros(1, 1))
TRANSPOSED.domain("asymmetric integer weights")(asymmetric_integers)
TRANSPOSED.mutant("sign", drive=lambda E, Y, A: -(E @ Y @ A.T) - E.T @ Y @ A)
TRANSPOSED.mutant("values exchanged", drive=lambda E, Y, A: E @ Y @ A + E.T @ Y @ A.T)
TRANSPOSED.mutant(
    "one head with the values (A + A^T)/2, as in Proposition 4.1", drive=lambda E, Y, A: E @ Y @ (A + A.T)
)
