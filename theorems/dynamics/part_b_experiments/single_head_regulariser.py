"""Appendix B.2, the single-head regulariser (88), and the energy where it vanishes.

Surprising: it does not know W^Q and W^K, so where it vanishes the energy may grow.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, SquareWeights, Tokens, unit_rows
from theorems.dynamics.numerics import no_loss
from theorems.dynamics.part_3_preliminaries.symmetric_attention import energy_loss
from theorems.dynamics.part_4_energy.single_head import printed_values
from theorems.dynamics.part_6_inference.regularisers import squared_norm
from theorems.dynamics.settings import ENERGY, SYMMETRIC, SYMMETRIC_ATTENTION, Core, Factor
from verify.matrix import concatenate, eye
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Equal, Real, realises

Multiple = Annotated[Any, Real(-2.0, 2.0)]


# -- Eq. (88) ----------------------------------------------------------------------------------------------------------

SINGLE_VANISHES = Assumption(r"R_{\text{E-single}} = 0", zero=lambda W_V, W_O: W_V @ W_O - (W_V @ W_O).T)

EQ_88 = Claim(DYNAMICS, "dynamics.eq-88", label="Eq. (88) and text", name="single-head energy regulariser",
    statement=r"""R_{\text{E-single}}:=\left\|W_1^VW_1^O-(W_1^VW_1^O)^\top\right\|_F^2;\ \text{``If
        }R_{\text{E-single}}=0\text{, setting }W^V=W_1^VW_1^O\text{ satisfies the condition on }W^V\text{ described in
        Proposition 4.1''}""",
    assumptions=[SINGLE_VANISHES, Construction("H = 1, D_H = D", shapes={"W_V": ("D", "D"), "W_O": ("D", "D")})],
    relation=Equal(), sizes={"D": (1, 3)}, expects="refuted", severity="error", correction="dynamics.eq-88-regulariser",
    presumes=("dynamics.prop-4.1",),
    consequence=r"""A vanishing regulariser neither gives the condition (11) nor a falling energy; penalise
        $\|M-A\|_F^2+\|A-A^\top\|_F^2$ with $M = W_1^VW_1^O$, $A = W^QW^{K\top}$ (dynamics.eq-88-regulariser).""",
    note=r"""The regulariser does not know $W^Q$ and $W^K$, which the condition (11) prescribes. For $D = 1$ it is
        always 0, and (11) says $W_1^VW_1^O = W^QW^K$. $W^{Q\top}W^K$ and $W^KW^{Q\top}$ agree at the counterexamples.
        At the second the energy even increases along (3) (dynamics.eq-88-decrease). If the symmetry of $W^V$ alone is
        meant, which the text after Proposition 4.2 asks for, the sentence repeats $R_{\text{E-single}} = 0$;
        Proposition 4.1 has no condition but (11).""")  # fmt: skip


@EQ_88.inputs
@realises({r"R_{\text{E-single}} = 0": reached.SYMMETRIC_PRODUCT})
def symmetric_value_product(
    L: SquareWeights, N: SquareWeights, W_Q: SquareWeights, W_K: SquareWeights
) -> dict[str, Any]:
    """W_1^V = L (N + N^T) and W_1^O = L^T, whose product is symmetric; W^Q and W^K as drawn."""
    return {"W_V": L @ (N + N.T), "W_O": L.T, "W_Q": W_Q, "W_K": W_K}


@EQ_88.formula
def single_head_value_product(W_V: SquareWeights, W_O: SquareWeights) -> Any:
    """W_1^V W_1^O, shape (D, D) (Eq. (88))."""
    return W_V @ W_O


EQ_88.oracle(printed_values)
EQ_88.counterexample("numbers: values 2, queries and keys 1", W_V=[[1]], W_O=[[2]], W_Q=[[1]], W_K=[[1]])
EQ_88.counterexample("values with the sign opposite to that of the logits", W_V=[[-1, 0], [0, 0]], W_O=[[1, 0], [0, 1]],
    W_Q=[[1, 0], [0, 0]], W_K=[[1, 0], [0, 1]])  # fmt: skip
EQ_88.mutant("W_1^V alone", lambda W_V: W_V)
EQ_88.mutant("sign", lambda value: -value)


EQ_88_REGULARISER = Claim(DYNAMICS, "dynamics.eq-88-regulariser", label="Eq. (88), a regulariser that the energy knows",
    statement=r"""R=\|M-A\|_F^2+\|A-A^\top\|_F^2,\ M=W_1^VW_1^O,\ A=W^QW^{K\top}:\quad\frac{\partial R}{\partial
        M}=2(M-A),\ \frac{\partial R}{\partial A}=2(A-M)+4(A-A^\top);\ R=0\text{ exactly if }M=A=A^\top\text{, where
        }E_{\text{single}}\text{ falls along (3)}""",
    assumptions=[Construction("one head; W^V = M", shapes={"M": ("D", "D")})],
    name="single-head energy regulariser, corrected", relation=Equal(), all_sizes=True, sizes={"D": (1, 3)}, exact=True,
    of_project=True, corrects="dynamics.eq-88", uses=("dynamics.prop-4.1-symmetric",),
    note=r"""The condition (11) itself, $\|M - (W^{Q\top}W^K + W^QW^{K\top})/2\|_F = 0$, would not do: for asymmetric
        $A$ the energy may grow under it (dynamics.prop-4.1). A multiple $cA$ with $c \ge 0$ of a symmetric $A$ will do
        as well (dynamics.eq-88-multiple).""")  # fmt: skip


def _distance_from_falling_energy(M: Any, A: Any) -> Any:
    """|M - A|_F^2 + |A - A^T|_F^2, shape (1, 1)."""
    return squared_norm(M - A) + squared_norm(A - A.T)


@EQ_88_REGULARISER.formula
def gradients_of_the_regulariser(M: SquareWeights, W_Q: SquareWeights, W_K: SquareWeights) -> Any:
    """2 (M - A) above 2 (A - M) + 4 (A - A^T), shape (2 D, D)."""
    A = W_Q @ W_K.T
    return concatenate([(M - A) * 2, (A - M) * 2 + (A - A.T) * 4], axis=0)


@EQ_88_REGULARISER.oracle
def regulariser_differentiated(M: Any, W_Q: Any, W_K: Any) -> Any:
    A = W_Q @ W_K.T
    parts = [jacobian(_distance_from_falling_energy, name)(M, A).reshape(*M.shape) for name in ("M", "A")]
    return concatenate(parts, axis=0)


EQ_88_REGULARISER.mutant("gradient of (88) by M, as if A were not there",
    lambda M: concatenate([(M - M.T) * 4, M * 0], axis=0))  # fmt: skip
EQ_88_REGULARISER.mutant("A^T held constant", "(A - A.T) * 4 -> (A - A.T) * 2")


EQ_88_DECREASE = Claim(SYMMETRIC_ATTENTION, "dynamics.eq-88-decrease",
    label="Eq. (88), does the energy decrease where the regulariser vanishes",
    statement=r"""R_{\text{E-single}}=0,\ A=W^QW^{K\top}=A^\top\ \Rightarrow\ \frac{dE_{\text{single}}}{dt}\le0\text{
        along (3) with }W^V=W_1^VW_1^O""",
    assumptions=[Assumption(r"R_{\text{E-single}} = 0", zero=lambda M: M - M.T)],
    name="energy where the single-head regulariser vanishes", relation=AtMost(signed=True, ascent=False),
    sizes={"S": (1, 3), "D": (1, 3)}, expects="refuted", severity="error", correction="dynamics.eq-88-multiple",
    of_project=True,
    note="""Even with symmetric $A$, for which Proposition 4.1 does hold. For $D = 1$ the rate is 0; one token in the
        plane suffices.""")  # fmt: skip


@EQ_88_DECREASE.inputs
@realises(
    {
        r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS,
        r"A = W^Q W^{K\top} is symmetric": reached.SYMMETRIC_PRODUCT,
        r"R_{\text{E-single}} = 0": reached.SYMMETRIC_PRODUCT,
    }
)
def symmetric_weights(directions: Tokens, B: SquareWeights, N: SquareWeights, beta: Beta) -> dict[str, Any]:
    """Unit tokens, W^Q = B + B^T, W^K = I, and M = N + N^T for W_1^V W_1^O."""
    return {"X": unit_rows(directions), "W_Q": B + B.T, "W_K": B * 0 + eye(B.shape[0]), "M": N + N.T, "beta": beta}


@EQ_88_DECREASE.formula
def energy_loss_with_symmetric_values(
    X: Tokens, W_Q: SquareWeights, W_K: SquareWeights, M: SquareWeights, beta: Beta
) -> Any:
    """-dE/dt along (3) with W^V = M, and its scale; shape (2, 1)."""
    return energy_loss(X, W_Q, W_K, M, beta)


EQ_88_DECREASE.oracle(no_loss)
# By hand: dE/dt = 2 |P_x A x|^2 e^(9/25) with |P_x A x|^2 = 144/625
EQ_88_DECREASE.counterexample("one token in the plane, A = E_11, values -E_11",
    X=[["3/5", "4/5"]], W_Q=[[1, 0], [0, 0]], W_K=[[1, 0], [0, 1]], M=[[-1, 0], [0, 0]], beta=1)  # fmt: skip
EQ_88_DECREASE.mutant("values A", "M -> W_Q @ W_K.T")
EQ_88_DECREASE.mutant("values of twice the size", "M -> M * 2")


@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS, r"A = W^Q W^{K\top} is symmetric": reached.SYMMETRIC_PRODUCT})
def symmetric_low_rank(directions: Tokens, F: Factor, G: Core, c: Multiple, beta: Beta) -> dict[str, Any]:
    """Unit tokens, W^Q = F (G + G^T), W^K = F, a factor c of either sign."""
    return {"X": unit_rows(directions), "W_Q": F @ (G + G.T), "W_K": F, "c": c, "beta": beta}


SYMMETRIC_FACTORS = ENERGY.extended(
    "Appendix B.2, symmetric A of any rank",
    assumptions=[SYMMETRIC],
    sizes={"S": (1, 3), "D": (1, 3), "D_H": (1, 3)},
    inputs=symmetric_low_rank,
)

EQ_88_MULTIPLE = Claim(SYMMETRIC_FACTORS, "dynamics.eq-88-multiple",
    label="Eq. (88), values that are a multiple of symmetric A",
    statement=r"A=W^QW^{K\top}=A^\top,\ W^V=cA\ \Rightarrow\ c\,\frac{dE_{\text{single}}}{dt}\le0\text{ along (3)}",
    name="energy with values proportional to logit weights", relation=AtMost(signed=True), of_project=True,
    corrects="dynamics.eq-88-decrease", uses=("dynamics.prop-4.1-rate",),
    note=r"""The rate is $-2\beta c\sum_i Z_i\|P_iAm_i\|^2$ with $m_i$ the attended mean. So the energy falls for $c \ge
        0$ and rises for $c < 0$. What a regulariser has to make small is therefore $\|W_1^VW_1^O-W^QW^{K\top}\|_F^2+
        \|W^QW^{K\top}-W^KW^{Q\top}\|_F^2$. For one token in the plane, $W^V$ symmetric and $A$ no multiple of $I$, $c
        \ge 0$ is also necessary, up to adding a multiple of $I$ to $W^V$, which moves a single token nowhere.""",
)  # fmt: skip


@EQ_88_MULTIPLE.formula
def energy_loss_by_sign(X: Tokens, W_Q: Factor, W_K: Factor, c: Multiple, beta: Beta) -> Any:
    """-c dE/dt along (3) with W^V = c A, and its scale; shape (2, 1)."""
    A = W_Q @ W_K.T
    loss = energy_loss(X, W_Q, W_K, A * c, beta)
    return concatenate([loss[:1] * c, loss[1:]], axis=0)


EQ_88_MULTIPLE.oracle(no_loss)
EQ_88_MULTIPLE.mutant("the square of A", "A -> A @ A")
EQ_88_MULTIPLE.mutant("c A + I", "A * c -> A * c + eye(X.shape[1])")
