"""Proposition 4.1 with Eqs. (10) and (11): does single-head self-attention decrease its energy, and which W^V is meant?

Surprising: not for asymmetric W^Q W^{K T}, which the proposition is about; for symmetric weights it does, at any head dimension.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, QueryWeights, SquareWeights, Tokens, attention_head, energy_rate_terms, flow, projection,
)  # fmt: skip
from theorems.dynamics.numerics import no_loss
from theorems.dynamics.part_3_preliminaries.symmetric_attention import energy_loss, weak_weights
from theorems.dynamics.settings import ENERGY, SYMMETRIC, SYMMETRIC_ATTENTION, Factor, on_the_sphere
from verify.matrix import exp, eye, rational, row_sums, total, zeros
from verify.vocabulary import AtMost, Claim, Construction, Definition, Equal, HasStructure

PROPOSITION_41 = Claim(ENERGY, "dynamics.prop-4.1", label="Proposition 4.1 (Eqs. (10)-(11), restated (30)-(31))",
    statement=r"""E_{\text{single}}(X):=-\sum_{i,j}\exp\left(\beta X_{[i,:]}^\top W^QW^{K\top}X_{[j,:]}\right)\text{ is
        monotonically decreasing as }dE_{\text{single}}(X)/dt\le 0\text{ along (3) under the condition
        }W^V=(W^{Q\top}W^K+W^QW^{K\top})/2.""",
    assumptions=[
        Definition("single-head self-attention with projection (3), continuous time", by=flow),
        Construction(
            r"D_H = D, without which the two summands of the condition have different shapes; W^Q W^{K\top} of any kind, which"
            r" 'can be asymmetric' (text after Proposition 4.2)",
            shapes={"W_Q": ("D", "D"), "W_K": ("D", "D")},
        ),
    ],
    name="energy of single-head attention, asymmetric weights",
    relation=AtMost(signed=True, left="0, the least that a falling energy loses", right="-dE/dt here"),
    sizes={"S": (1, 4), "D": (2, 4)}, expects="refuted", severity="error", correction="dynamics.prop-4.1-symmetric",
    presumes=("dynamics.eq-11-form",),
    proof=(
        "dynamics.eq-33", "dynamics.eq-34", "dynamics.eq-35", "dynamics.eq-36", "dynamics.eq-37", "dynamics.eq-38",
        "dynamics.eq-41", "dynamics.eq-42", "dynamics.eq-43-44", "dynamics.eq-44", "dynamics.eq-45",
    ),
    consequence=r"""For asymmetric $W^QW^{K\top}$ the energy can grow, so that it proves no convergence; keep
        $W^QW^{K\top} = W^V$ symmetric (dynamics.prop-4.1-symmetric) or add the transposed head
        (dynamics.sec-4-transposed-heads).""",
    note=r"""$W^{Q\top}W^K$ in the condition, which (11) and (31) have alike, is taken as printed. $W^K W^{Q\top}$ would
        symmetrise $W^Q W^{K\top}$ and agree with the text, where $W^V$ 'should remain symmetric'; the counterexamples
        have $W^K = I$, where both give the same $W^V$. With the $A = A^\top$ of Eq. (37) as an assumption the
        proposition is dynamics.prop-4.1-symmetric, which is the first alternative of Eq. (4) and relaxes nothing. For
        asymmetric $A$ the replacement is another update, dynamics.sec-4-transposed-heads: two heads with queries and
        keys exchanged. The printed proof breaks at Eq. (34): its second sum, the derivative of $\exp(\beta X_j^\top A
        X_i)$ by $X_i$, is printed with the weights $\exp(\beta X_i^\top A X_j)$, which agrees only when $A$ is
        symmetric; Eq. (37) then writes $\operatorname{softmax}(\beta X W^V X^\top)$ for $\operatorname{softmax}(\beta X
        A X^\top)$ and appeals to $A = A^\top$, which the condition on $W^V$ does not imply. Eqs. (34)-(44) also drop
        the factor $\beta > 0$, which does not matter.""")  # fmt: skip
PROPOSITION_41.inputs(on_the_sphere)


@PROPOSITION_41.formula
def energy_loss_under_printed_condition(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """-dE/dt along Eq. (3) with W_V = (W_Q^T W_K + W_Q W_K^T)/2, and its scale; shape (2, 1) (Eq. (11))."""
    return energy_loss(X, W_Q, W_K, printed_values(W_Q, W_K), beta)


PROPOSITION_41.oracle(no_loss)


@PROPOSITION_41.domain("identity keys, integer queries")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    arrays["W_K"][:] = np.eye(sizes["D"])
    arrays["W_Q"][:] = rng.integers(-3, 4, arrays["W_Q"].shape)


@PROPOSITION_41.counterexample("two tokens on the axes, W^K = I, W^Q with entries -1, 3, 0, 0")
def climbing_weights() -> dict[str, Any]:
    """Two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]]: the energy grows (Proposition 4.1).

    By hand: dE/dt = (e^3 - 2)/4 - 9/(2 e (1 + e^4)) = 4.49..., carried by the second token.
    """
    return {"X": [[1, 0], [0, 1]], "W_Q": [[-1, 3], [0, 0]], "W_K": [[1, 0], [0, 1]], "beta": 1}


@PROPOSITION_41.counterexample("two Pythagorean tokens, W^K = I, W^Q nilpotent")
def _() -> dict[str, Any]:
    X = [[Fraction(3, 5), Fraction(4, 5)], [Fraction(4, 5), Fraction(3, 5)]]
    return {"X": X, "W_Q": [[0, 2], [0, 0]], "W_K": [[1, 0], [0, 1]], "beta": 1}


PROPOSITION_41.mutant("W_V with the wrong sign", "printed_values(W_Q, W_K) -> -printed_values(W_Q, W_K)")
PROPOSITION_41.mutant("W_V not symmetrised", "printed_values(W_Q, W_K) -> W_Q @ W_K.T")
PROPOSITION_41.mutant("factor 1/2 dropped from W_V", "printed_values(W_Q, W_K) -> 2 * printed_values(W_Q, W_K)")


SYMMETRIC_ENERGY = Claim(SYMMETRIC_ATTENTION, "dynamics.prop-4.1-symmetric",
    label="Proposition 4.1 for symmetric weights", name="energy of single-head attention, symmetric weights",
    statement=r"""E_{\text{single}}(X)=-\sum_{i,j}\exp(\beta X_{[i,:]}^\top W^QW^{K\top}X_{[j,:]})\text{ has
        }\frac{dE_{\text{single}}(X)}{dt}\le 0\text{ along (3), }\dot X=\operatorname{Proj}_X(\operatorname{softmax}(
        \beta XW^QW^{K\top}X^\top)XW^V)\text{, when }W^QW^{K\top}=W^KW^{Q\top}=W^V""",
    assumptions=[Definition("W^V = W^Q W^{K T} in (3)", by=flow)],
    relation=AtMost(signed=True), sizes={"S": (1, 4), "D": (1, 4), "D_H": (1, 4)}, of_project=True,
    corrects="dynamics.prop-4.1", proof=("dynamics.prop-4.1-rate",),
    note=r"""This is the first alternative of Eq. (4): no relaxation of the symmetry is left. What has a falling energy
        for asymmetric $A = W^Q W^{K\top}$ is not (3) but two heads with the values $A$ and $A^\top$
        (dynamics.sec-4-transposed-heads), which for a single token are (3) with any $A$.""",
)  # fmt: skip


@SYMMETRIC_ENERGY.formula
def energy_loss_of_symmetric_weights(X: Tokens, W_Q: Factor, W_K: Factor, beta: Beta) -> Any:
    """-dE/dt along Eq. (3) with W_V = W_Q W_K^T symmetric, and its scale; shape (2, 1)."""
    return energy_loss(X, W_Q, W_K, W_Q @ W_K.T, beta)


SYMMETRIC_ENERGY.oracle(no_loss)
SYMMETRIC_ENERGY.mutant("W_V with the wrong sign", "W_Q @ W_K.T -> -(W_Q @ W_K.T)")
SYMMETRIC_ENERGY.mutant("W_V the identity", lambda X, W_Q, W_K, beta: energy_loss(X, W_Q, W_K, eye(X.shape[1]), beta))
SYMMETRIC_ENERGY.mutant("W_V from the keys alone", "W_Q @ W_K.T -> W_K @ W_K.T")


SYMMETRIC_RATE = Claim(SYMMETRIC_ATTENTION, "dynamics.prop-4.1-rate", label="Eq. (44) for symmetric weights",
    statement=r"""\frac{dE_{\text{single}}(X)}{dt}=-2\beta\sum_i
        Z_i\,\Delta_{[i,:]}^\top\big(I_D-X_{[i,:]}X_{[i,:]}^\top\big) \Delta_{[i,:]},\quad
        \Delta=\operatorname{softmax}(\beta XAX^\top)XA,\ Z_i=\sum_j\exp(\beta X_{[i,:]}^\top AX_{[j,:]})""",
    assumptions=[Definition(r"A = W^Q W^{K\top} = W^V in (3)", by=flow)],
    name="rate of the single-head energy, symmetric weights", relation=Equal(), all_sizes=True, hypotheses=(SYMMETRIC,),
    exact=True, of_project=True, corrects="dynamics.eq-44",
    note=r"""Eq. (44) with its factor $\beta$ restored. Each summand is nonnegative for unit tokens, which proves the
        bound.""")  # fmt: skip


SYMMETRIC_RATE.domain("weak weights", weak_weights)


@SYMMETRIC_RATE.formula
def symmetric_energy_rate(X: Tokens, W_Q: Factor, W_K: Factor, beta: Beta) -> Any:
    """dE/dt = -2 beta sum_i Z_i Delta_i^T (I - X_i X_i^T) Delta_i, a scalar (Eq. (44))."""
    A = W_Q @ W_K.T
    Z, step = row_sums(exp(X @ A @ X.T * beta)), attention_head(X, W_Q, W_K, A, beta)
    return -2 * beta * total(row_sums(step * projection(X, step)) * Z)


SYMMETRIC_RATE.oracle(lambda X, W_Q, W_K, beta: total(energy_rate_terms(X, W_Q, W_K, W_Q @ W_K.T, beta)))
SYMMETRIC_RATE.mutant("without beta, as Eq. (44) is printed", "-2 * beta -> -2")
SYMMETRIC_RATE.mutant("factor 2 dropped", "-2 -> -1")
SYMMETRIC_RATE.mutant("projection dropped", "projection(X, step) -> step")
SYMMETRIC_RATE.mutant("normalisation Z_i dropped", "Z -> 1")

AGREES = (
    r"The counterexample has $W^K = I$, where $W^{Q\top}W^K$ of (11) and (31) is $W^K W^{Q\top}$, so that"
    r" $W^V = (A^\top + A)/2$."
)


def printed_values(W_Q: Any, W_K: Any) -> Any:
    """(W_Q^T W_K + W_Q W_K^T)/2, shape (D, D) for square weights (Eqs. (11), (31))."""
    return (W_Q.T @ W_K + W_Q @ W_K.T) * rational(1, 2)


def symmetrised_values(W_Q: Any, W_K: Any) -> Any:
    """(A^T + A)/2 for A = W_Q W_K^T, shape (D, D), for any head dimension."""
    return (W_K @ W_Q.T + W_Q @ W_K.T) * rational(1, 2)


# -- the condition on W^V ----------------------------------------------------------------------------------------------

EQ_11 = Claim(DYNAMICS, "dynamics.eq-11-form", label="Eq. (11) and text 'W_V should remain symmetric'",
    statement=r"""W^V=(W^{Q\top}W^K+W^QW^{K\top})/2\ \text{is a well-defined symmetric matrix in }\mathbb R^{D\times D}\
        \text{for }W^Q,W^K\in\mathbb R^{D\times D_H}""",
    assumptions=[
        Construction(
            "D_H = D; for D_H < D the summands have the shapes D_H x D_H and D x D",
            shapes={"W_Q": ("D", "D"), "W_K": ("D", "D")},
        ),
    ],
    name="shapes in the single-head weight condition", relation=Equal(), sizes={"D": (2, 4)}, expects="refuted",
    severity="slip", repeats="dynamics.sec-4-symmetric-constraint", correction="dynamics.eq-11-symmetrised",
    note=r"""$W^{Q\top}W^K$ stands for $W^K W^{Q\top}$, the transpose of the other summand: then both are $D \times D$,
        $W^V$ is symmetric, and Eq. (38) is what follows. Eqs. (11), (13), (31), (47) and the text before Proposition
        4.1 all have $W^{Q\top}W^K$.""")  # fmt: skip


@EQ_11.formula
def skew_part_of_values(W_Q: QueryWeights, W_K: SquareWeights) -> Any:
    """W^V - W^{V T} for W^V of Eq. (11), shape (D, D)."""
    W_V = printed_values(W_Q, W_K)
    return W_V - W_V.T


EQ_11.oracle(lambda W_Q, W_K: zeros(W_Q.shape[0], W_Q.shape[0]))
# By hand: W^V = E_21 / 2
EQ_11.counterexample("two unit matrices", W_Q=[[0, 1], [0, 0]], W_K=[[1, 0], [0, 0]])
EQ_11.mutant("first summand transposed", "printed_values(W_Q, W_K) -> (W_K.T @ W_Q + W_Q @ W_K.T) * rational(1, 2)")
EQ_11.mutant("first summand W^K W^{Q T}", "printed_values -> symmetrised_values")


EQ_11_SYMMETRISED = Claim(DYNAMICS, "dynamics.eq-11-symmetrised", label="Eq. (11) with W^K W^{Q T}",
    statement=r"""W^V=(W^QW^{K\top}+W^KW^{Q\top})/2\in\mathbb R^{D\times D}\ \text{is symmetric for }W^Q,W^K\in\mathbb
        R^{D\times D_H}""",
    name="single-head weight condition, symmetrised", relation=HasStructure(), all_sizes=True,
    sizes={"D": (1, 4), "D_H": (1, 4)}, exact=True, of_project=True, corrects="dynamics.eq-11-form")  # fmt: skip


@EQ_11_SYMMETRISED.formula
def values_of_symmetrised_condition(W_Q: Factor, W_K: Factor) -> Any:
    """(W_Q W_K^T + W_K W_Q^T)/2, shape (D, D), for any head dimension."""
    return symmetrised_values(W_Q, W_K)


# W^V - W^{V T}, with the shape (D, D) built in
EQ_11_SYMMETRISED.part("structure", lambda value, W_Q: value - value.T + zeros(W_Q.shape[0], W_Q.shape[0]))
EQ_11_SYMMETRISED.mutant("not symmetrised", lambda W_Q, W_K: W_Q @ W_K.T)
EQ_11_SYMMETRISED.mutant("minus between the summands", lambda W_Q, W_K: (W_Q @ W_K.T - W_K @ W_Q.T) * rational(1, 2))
