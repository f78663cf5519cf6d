"""The last chain of Appendix C.2: by how much one step of gradient descent lowers the loss, and where it does not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    WEIGHTS,
    KeyWeights,
    Labels,
    OutputWeights,
    QueryWeights,
    Samples,
    ValueWeights,
    last_hidden_layer,
)
from theorems.convergence.descent import (
    SETUP,
    Bounds,
    Direction,
    Share,
    distance_to_kinks,
    inputs_near_labels,
    near_a_kink,
    room_below,
    stacked,
    third_neuron_near_its_kink,
)
from theorems.convergence.descent_smoothness import GRADIENT_DESCENT, OneStep, Positive
from verify.matrix import rational, smallest_singular_value, spectral_norm, sqrt, total
from verify.vocabulary import Assumption, AtMost, Claim

HALF = rational(1, 2)


class Falls(OneStep):
    """The sides of the chain less l(theta^t)."""

    def lines(self, C: Any, curvature: Any = 1, half: Any = HALF) -> list[Any]:
        """From the second on, but for the last."""
        W = self.path[0]
        slopes = {name: self.slope_in(name, W).reshape(W[name].shape) for name in WEIGHTS}
        square = sum(total(slope * slope) for slope in slopes.values())
        inner = sum(total(slopes[name] * (self.path[1][name] - W[name])) for name in WEIGHTS)
        of_output = slopes["w_O"]
        F = last_hidden_layer(self.X, W["W_Q"], W["W_K"], W["W_V"], self.tau_0, self.tau_1)
        pulled = F.T @ (F @ W["w_O"] - self.y)
        return [
            inner + C * curvature * self.distance() ** 2 * rational(1, 2),
            square * self.gamma * (C * curvature * self.gamma * rational(1, 2) - 1),
            -square * self.gamma * half,
            -total(of_output * of_output) * self.gamma * half,
            -total(pulled * pulled) * self.gamma * half,
        ]

    def last(self, singular_value: Any) -> Any:
        return -(singular_value**2) * 2 * self.losses[0] * self.gamma * rational(1, 2)


def _falls(
    constant: Callable[[Bounds, Any], Any], X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any,
    tau_1: Any, C_x: Any, gamma: Any,
) -> tuple[Falls, Any, Any]:  # fmt: skip
    """One step of gradient descent, the constant C, and F_pre before the step."""
    run = Falls(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma)
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1)
    C = constant(Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x), sqrt(2 * run.losses[0]))
    return run, C, F


DESCENT_CHAIN = Claim(
    CONVERGENCE,
    "convergence.descent-chain",
    label="C.2, final chain up to sigma_min",
    statement=r"\ell(\theta^{t+1})\le\ell(\theta^t)+\langle\nabla\ell(\theta^t),\theta^{t+1}-\theta^t\rangle+\tfrac C2\|"
    r"\theta^{t+1}-\theta^t\|^2=\ell(\theta^t)-\gamma\|\nabla\ell(\theta^t)\|^2+\tfrac C2\gamma^2\|\nabla\ell(\theta^t)\|^2"
    r"\le\ell(\theta^t)-\tfrac12\gamma\|\nabla\ell(\theta^t)\|^2\le\ell(\theta^t)-\tfrac12\gamma\|\nabla_{w_O}\ell(\theta^t)"
    r"\|_2^2=\ell(\theta^t)-\tfrac12\gamma\|(F_{pre}^t)^\top(f^t-y)\|_2^2\le\ell(\theta^t)-\tfrac12\gamma(\sigma_{\min}"
    r"(F_{pre}^t))^2\|f^t-y\|_2^2",
    assumptions=[*GRADIENT_DESCENT, "t = 0"],
    relation=AtMost(ascent=False, signed=True),
    sizes={"N": (2, 2), "d_s": (1, 2), "d": (1, 1), "d_m": (3, 3)},
    where=lambda sizes: sizes["d_m"] >= sizes["N"],
    expects="refuted",
    severity="error",
    proof=("convergence.eq-37",),
    correction="convergence.descent-chain-fixed-pattern",
    doubt="c_1 in C is the first right-hand side of Eq. (36), the larger one since lambda_O >= 1. Read as an implication, the"
    " chain follows from Eq. (37) for any C that makes it true; judged is what it asserts, for the C that is defined.",
    note="Each side is taken as its change l(.) - l(theta^t). The first inequality is that of Eq. (37), integrated, and fails"
    " with it: in the counterexamples of Proposition 1 l(theta^1) exceeds l(theta^0), while every other member of the chain is"
    " below l(theta^0). All other steps hold.",
)


@DESCENT_CHAIN.inputs
def near_labels(
    X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, direction: Direction, share: Share, pace: Share,
) -> dict[str, Any]:  # fmt: skip
    return inputs_near_labels(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, direction, share, pace, Bounds.C)


DESCENT_CHAIN.domain("near a kink")(near_a_kink)


@DESCENT_CHAIN.formula
def printed_falls_of_the_loss(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, C_x: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    """The right-hand sides of the chain less l(theta^t), shape (6,) (Appendix C.2)."""
    run, C, F = _falls(Bounds.C, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma)
    return stacked([*run.lines(C), run.last(smallest_singular_value(F))])


@DESCENT_CHAIN.oracle
def change_of_the_loss_by_one_step(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, C_x: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    run, C, _ = _falls(Bounds.C, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma)
    return stacked([run.losses[1] - run.losses[0], *run.lines(C)])


DESCENT_CHAIN.mutant("curvature dropped", "run.lines(C) -> run.lines(C, curvature=0)")
DESCENT_CHAIN.mutant("gamma for gamma/2", "run.lines(C) -> run.lines(C, half=1)")


@DESCENT_CHAIN.mutant("largest singular value")
def _(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, C_x: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    run, C, F = _falls(Bounds.C, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma)
    return stacked([*run.lines(C), run.last(spectral_norm(F))])


DESCENT_CHAIN.counterexample(
    "as for Proposition 1: the third neuron crosses its kink, and the loss grows; gamma = 1/300",
    lambda: third_neuron_near_its_kink(Fraction(1, 10**7), Fraction(1, 300)),
)
DESCENT_CHAIN.counterexample(
    "the same, nearer to the kink, with gamma = 10^-6",
    lambda: third_neuron_near_its_kink(Fraction(1, 10**12), Fraction(1, 10**6)),
)


FIXED_PATTERN = Claim(
    CONVERGENCE,
    "convergence.descent-chain-fixed-pattern",
    label="C.2, final chain up to sigma_min, while no ReLU changes its state",
    statement=r"\text{If no pre-activation changes its sign on }[\theta^t,\theta^{t+1}]\text{ and }\gamma\le1/C',\ C'=c_1c_2"
    r"+c_3'\sqrt{2\ell(\theta^0)},\text{ the chain holds with }C'\text{ for }C",
    assumptions=[
        *SETUP,
        "t = 0",
        Assumption("gamma <= 1/C'", nonnegative=room_below(Bounds.C_of_fixed_pattern)),
        Assumption(
            "no pre-activation changes its sign: each exceeds the most it can move along the next segment",
            positive=distance_to_kinks,
        ),
    ],
    relation=AtMost(ascent=False, signed=True),
    sizes={"N": (1, 2), "d_s": (1, 2), "d": (1, 2), "d_m": (1, 2)},
    where=lambda sizes: sizes["d_m"] >= sizes["N"],
    uses=("convergence.eq-37-fixed-pattern",),
    corrects="convergence.descent-chain",
    of_project=True,
)


@FIXED_PATTERN.inputs
def near_labels_of_fixed_pattern(
    X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, direction: Direction, share: Share, pace: Share,
) -> dict[str, Any]:  # fmt: skip
    return inputs_near_labels(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, direction, share, pace, Bounds.C_of_fixed_pattern)


@FIXED_PATTERN.domain("output weights zero")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Where only w_O moves."""
    arrays["w_O"][:] = 0.0


@FIXED_PATTERN.formula
def falls_of_the_loss(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, C_x: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    """The right-hand sides of the chain less l(theta^t), shape (6,)."""
    run, C, F = _falls(Bounds.C_of_fixed_pattern, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma)
    return stacked([*run.lines(C), run.last(smallest_singular_value(F))])


@FIXED_PATTERN.oracle
def fall_of_the_loss(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, C_x: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    run, C, _ = _falls(Bounds.C_of_fixed_pattern, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma)
    return stacked([run.losses[1] - run.losses[0], *run.lines(C)])


FIXED_PATTERN.mutant("curvature dropped", "run.lines(C) -> run.lines(C, curvature=0)")
FIXED_PATTERN.mutant("gamma for gamma/2", "run.lines(C) -> run.lines(C, half=1)")


@FIXED_PATTERN.mutant("largest singular value")
def _(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, C_x: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    run, C, F = _falls(Bounds.C_of_fixed_pattern, X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x, gamma)
    return stacked([*run.lines(C), run.last(spectral_norm(F))])
