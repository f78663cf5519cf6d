"""The last chain of Appendix C.2: by how much one step of gradient descent lowers the loss, and where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.convergence import definitions
from theorems.convergence.definitions import KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights
from theorems.convergence.part_c_1_lemmas.constants import THETA_T, TWO_C_1, Bounds, stacked
from theorems.convergence.part_c_2_proposition_1.proposition_1 import (
    FIXED_STEP, NO_KINKS, PRINTED_STEP, Constant, Positive, crossing, crossing_by_a_short_step,
)  # fmt: skip
from theorems.convergence.part_c_2_proposition_1.smoothness import OneStep
from verify.matrix import rational, smallest_singular_value, spectral_norm, sqrt, total
from verify.vocabulary import AtMost, Claim, Definition, Doubt

HALF = rational(1, 2)


class Falls(OneStep):
    """The sides of the chain less l(theta^t), with the constant C for ||f(theta^0) - y||."""

    def __init__(self, constant: Constant, X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any,
                 tau_1: Any, C_x: Any, gamma: Any) -> None:  # fmt: skip
        super().__init__(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma)
        self.C = constant(Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x), sqrt(2 * self.losses[0]))
        self.F = definitions.last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1)

    def lines(self, curvature: Any = 1, half: Any = HALF) -> list[Any]:
        """From the second on, but for the last."""
        W = self.path[0]
        slopes = {name: self.slope_in(name, W).reshape(W[name].shape) for name in W}
        square = sum(total(slope * slope) for slope in slopes.values())
        inner = sum(total(slopes[name] * (self.path[1][name] - W[name])) for name in W)
        pulled = self.F.T @ (self.F @ W["w_O"] - self.y)
        return [
            inner + self.C * curvature * self.distance() ** 2 * rational(1, 2),
            square * self.gamma * (self.C * curvature * self.gamma * rational(1, 2) - 1),
            -square * self.gamma * half,
            -total(slopes["w_O"] * slopes["w_O"]) * self.gamma * half,
            -total(pulled * pulled) * self.gamma * half,
        ]


def _right_sides(run: Falls, curvature: Any = 1, half: Any = HALF,
                 singular: Callable[[Any], Any] = smallest_singular_value) -> Any:  # fmt: skip
    return stacked(
        [*run.lines(curvature, half), -(singular(run.F) ** 2) * 2 * run.losses[0] * run.gamma * rational(1, 2)]
    )


def _left_sides(run: Falls) -> Any:
    return stacked([run.losses[1] - run.losses[0], *run.lines()])


AT_THE_START = Definition("decided at t = 0: one step of gradient descent", by=Falls)


DESCENT_CHAIN = Claim(PRINTED_STEP, "convergence.descent-chain", label="C.2, final chain up to sigma_min",
    statement=r"""\ell(\theta^{t+1})\le\ell(\theta^\top)+ \langle\nabla_\theta\ell(\theta^\top),
        \theta^{t+1}-\theta^\top\rangle +\tfrac C2\|\theta^{t+1}-\theta^\top\|_F^2
        =\ell(\theta^\top)-\gamma\|\nabla_\theta\ell(\theta^\top)\|_F^2 +\tfrac
        C2\gamma^2\|\nabla_\theta\ell(\theta^\top)\|_F^2
        \le\ell(\theta^\top)-\tfrac12\gamma\|\nabla_\theta\ell(\theta^\top)\|_F^2
        \le\ell(\theta^\top)-\tfrac12\gamma\|\nabla_{w_o}\ell(\theta^\top)\|_2^2
        =\ell(\theta^\top)-\tfrac12\gamma\|(F_{pre}^t)^\top(f^t-y)\|_2^2
        \le\ell(\theta^\top)-\tfrac12\gamma(\sigma_{\min}(F_{pre}^t))^2\|f^t-y\|_2^2""",
    assumptions=[AT_THE_START],
    name="decrease of the loss per step", relation=AtMost(ascent=False, signed=True), expects="refuted",
    severity="error", proof=("convergence.eq-37",), correction="convergence.descent-chain-fixed-pattern",
    doubt=Doubt((*TWO_C_1, THETA_T), r"""Eq. (36) prints $c_1$ in two ways that differ by a factor $\lambda_O$; the
            first, the larger one since $\lambda_O \ge 1$, is taken in $C$. $\theta^\top$ stands for $\theta^t$, as in
            Lemma 12."""),
    note=r"""Each side is taken as its change $\ell(\cdot) - \ell(\theta^t)$. The first inequality is that of Eq. (37),
        integrated, and fails with it: in the counterexamples of Proposition 1 $\ell(\theta^1)$ exceeds
        $\ell(\theta^0)$, while every other member of the chain is below $\ell(\theta^0)$. All other steps hold. Read as
        an implication, the chain follows from Eq. (37) for any $C$ that makes it true; judged is what it asserts, for
        the $C$ that is defined.""")  # fmt: skip


@DESCENT_CHAIN.formula
def printed_falls_of_the_loss(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                              w_O: OutputWeights, tau_0: Positive, tau_1: Positive, C_x: Positive,
                              gamma: Positive) -> Any:  # fmt: skip
    """The right-hand sides of the chain less l(theta^t), shape (6,) (Appendix C.2)."""
    return _right_sides(Falls(Bounds.C, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma))


@DESCENT_CHAIN.oracle
def change_of_the_loss_by_one_step(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any,
                                   C_x: Any, gamma: Any) -> Any:  # fmt: skip
    return _left_sides(Falls(Bounds.C, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma))


DESCENT_CHAIN.mutant("curvature dropped", curvature=0)
DESCENT_CHAIN.mutant("gamma for gamma/2", half=1)
DESCENT_CHAIN.mutant("largest singular value", singular=spectral_norm)
DESCENT_CHAIN.counterexample(
    "as for Proposition 1: the third neuron crosses its kink, and the loss grows; gamma = 1/300", crossing
)
DESCENT_CHAIN.counterexample("the same, nearer to the kink, with gamma = 10^-6", crossing_by_a_short_step)


FIXED_PATTERN = Claim(FIXED_STEP, "convergence.descent-chain-fixed-pattern",
    label="C.2, final chain up to sigma_min, while no ReLU changes its state",
    statement=r"""\text{If no pre-activation changes its sign on }[\theta^t,\theta^{t+1}]\text{ and }\gamma\le1/C',\
        C'=c_1c_2+c_3'\sqrt{2\ell(\theta^0)},\text{ the chain holds with }C'\text{ for }C""",
    name="decrease of the loss per step, fixed pattern", assumptions=[AT_THE_START, *NO_KINKS],
    relation=AtMost(ascent=False, signed=True), sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
    uses=("convergence.eq-37-fixed-pattern",), corrects="convergence.descent-chain", of_project=True,
)  # fmt: skip


@FIXED_PATTERN.formula
def falls_of_the_loss(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                      tau_0: Positive, tau_1: Positive, C_x: Positive, gamma: Positive) -> Any:  # fmt: skip
    """The right-hand sides of the chain less l(theta^t), shape (6,)."""
    return _right_sides(Falls(Bounds.C_of_fixed_pattern, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma))


@FIXED_PATTERN.oracle
def fall_of_the_loss(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any,
                     gamma: Any) -> Any:  # fmt: skip
    return _left_sides(Falls(Bounds.C_of_fixed_pattern, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma))


FIXED_PATTERN.mutant("curvature dropped", curvature=0)
FIXED_PATTERN.mutant("gamma for gamma/2", half=1)
FIXED_PATTERN.mutant("largest singular value", singular=spectral_norm)
