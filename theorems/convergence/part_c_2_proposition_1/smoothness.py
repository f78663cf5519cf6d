"""How smooth the loss is: Eqs. (35)-(37) of Appendix C.2, two of them refuted, and the forms that hold.

`Ends` is the network at t + phi and at t, weights as one matrix; `OneStep` is one step of gradient descent.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    WEIGHTS, KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights, gradient_descent, last_hidden_layer,
    outputs, squared_loss,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, KINK, NORMS, SCALES_POSITIVE, SUM_OVER_TOKENS, THETA_T, TWO_C_1, Bounds, NormBounds, PositiveScale,
        Theta, joined, same_signs, split, stacked, two_ends,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.extreme_inputs import close_pairs, equal_ends, opposite_tokens
from theorems.convergence.part_c_2_proposition_1.proposition_1 import (
    PRINTED_STEP, Positive, crossing, crossing_by_a_short_step,
)  # fmt: skip
from verify.matrix import concatenate, frobenius_norm, rational, spectral_norm, sqrt, total
from verify.oracles import jacobian, jacobians
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, Setting
from verify.vocabulary.assumptions import Stated


class Ends:
    """The network at t + phi and at t: outputs f, residuals, Jacobians J by differentiation, and the norm bounds."""

    def __init__(self, X: Any, y: Any, theta: Any, theta_0: Any, tau_0: Any, tau_1: Any) -> None:
        self.X, self.tau_0, self.tau_1 = X, tau_0, tau_1
        self.ends = [split(theta), split(theta_0)]
        self.b = NormBounds(X, self.ends, tau_0, tau_1)
        self.distance = frobenius_norm(theta - theta_0)
        self.f = [outputs(X, **W, tau_0=tau_0, tau_1=tau_1, pooling="sum") for W in self.ends]
        self.error = self.f[1] - y
        self.y = y

    @functools.cached_property
    def jacobians(self) -> list[Any]:
        """df/dtheta at both ends, (N, |theta|), in the arithmetic of tau_1 where plain zeros come back."""
        scales = {"tau_0": self.tau_0, "tau_1": self.tau_1, "pooling": "sum"}
        return [
            joined(*jacobians(outputs, WEIGHTS)(self.X, **W, **scales).values()) + self.tau_1 * 0 for W in self.ends
        ]

    def loss_gradient_change(self) -> Any:
        """||grad l(theta^{t+phi}) - grad l(theta^t)||_2."""
        J, J_0 = self.jacobians
        return frobenius_norm(J.T @ (self.f[0] - self.y) - J_0.T @ self.error)


def _residual_given(X: Samples, error: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                    w_O: OutputWeights, W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights,
                    w_O_0: OutputWeights, tau_0: PositiveScale, tau_1: PositiveScale) -> dict[str, Any]:  # fmt: skip
    """Weights at t + phi and, with the suffix _0, at t, where the residual is `error`."""
    y = outputs(X, W_Q_0, W_K_0, W_V_0, w_O_0, tau_0, tau_1, "sum") - error
    return {**two_ends(X, W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0, tau_0, tau_1), "y": y}


def labels_fitted(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Hardly a residual at t."""
    close_pairs(arrays, sizes, rng)
    arrays["error"][:] = 2.0**-40


def labels_far(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Residuals at t that dwarf everything else."""
    close_pairs(arrays, sizes, rng)
    arrays["error"][:] = 2.0**40


AT_TWO_ENDS = Setting(
    CONVERGENCE,
    "Appendix C.2, weights at t + phi and at t",
    sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
    inputs=_residual_given,
    special_domains={"close pairs": close_pairs, "fitted": labels_fitted, "far labels": labels_far},
)
LOSS_FALLEN = AT_TWO_ENDS.extended(
    "Appendix C.2, Eq. (25) at t",
    assumptions=[Definition("l(theta^t) <= l(theta^0), taken with equality (t = 0)", by=Ends), SUM_OVER_TOKENS],
)
NORMS_HELD: list[Stated] = [SUM_OVER_TOKENS, ASSUMPTION_1, NORMS, KINK, *SCALES_POSITIVE]
OUTPUTS_MOVE = Setting(
    CONVERGENCE,
    "Appendix C.2, Eq. (25) at t + phi and at t",
    assumptions=NORMS_HELD,
    sizes=AT_TWO_ENDS.sizes,
    inputs=_residual_given,
    special_domains={"close pairs": close_pairs},
)


EQ_35 = Claim(LOSS_FALLEN, "convergence.eq-35", label="Eq. (35)", name="change of the loss gradient",
    statement=r"""\|\nabla_\theta\ell(\theta^{t+\phi})-\nabla_\theta\ell(\theta^\top)\|_2 =\|\nabla_\theta
        f^{t+\phi}\cdot(f^{t+\phi}-y)-\nabla_\theta f^t\cdot(f^t-y)\|_2 \le\|f^{t+\phi}-f^t\|_2\|\nabla_\theta
        f^{t+\phi}\|_2 +\|\nabla_\theta f^{t+\phi}-\nabla_\theta f^t\|_2\|f^t-y\|_2
        \le\|f^{t+\phi}-f^t\|_2\|\nabla_\theta f^{t+\phi}\|_2 +2\|\nabla_\theta f^{t+\phi}-\nabla_\theta
        f^t\|_2\,\ell(\theta^0)""",
    relation=AtMost(ascent=False), expects="refuted", severity="error", correction="convergence.eq-35-norm",
    doubt=Doubt(r"\nabla_{\boldsymbol{\theta}} \ell(\boldsymbol{\theta}^{\top})", r"""$\theta^\top$ stands for
            $\theta^t$, as in Lemma 12."""),
    note=r"""$\|f^t - y\|$ is $\sqrt{2 \ell(\theta^t)}$, which exceeds $2 \ell$ as soon as $2 \ell < 1$. The induction
        gives $\sqrt{2 \ell(\theta^0)}$, the printed $2 \ell(\theta^0)$ is its square; Eq. (37) and the definition of
        $C$ repeat it.""")  # fmt: skip


def _lines_35(e: Ends, last: Any, of_output: Any = 1) -> list[Any]:
    outer = frobenius_norm(e.f[0] - e.f[1]) * spectral_norm(e.jacobians[0]) * of_output
    moved = spectral_norm(e.jacobians[0] - e.jacobians[1])
    return [outer + moved * frobenius_norm(e.error), outer + moved * last]


@EQ_35.formula
def loss_gradient_change_bounds(X: Samples, y: Labels, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The first, the second, and the second right-hand side again as bound of the left one, shape (3,)."""
    e = Ends(X, y, theta, theta_0, tau_0, tau_1)
    first, second = _lines_35(e, total(e.error * e.error))
    return stacked([first, second, second])


@EQ_35.oracle
def loss_gradient_change(X: Samples, y: Labels, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    e = Ends(X, y, theta, theta_0, tau_0, tau_1)
    left = e.loss_gradient_change()
    return stacked([left, _lines_35(e, left)[0], left])


EQ_35.mutant("l(theta^0) without the 2", "total(e.error * e.error) -> total(e.error * e.error) * rational(1, 2)")
EQ_35.mutant("change of the Jacobian dropped", last=rational(0))
EQ_35.counterexample(
    "all sizes 1, f - y = 1/2, w_O moves from 1 to 2: the gradient moves by sqrt(29)/2 > sqrt(5) + 1/4",
    X=[[[1]]], y=[[Fraction(1, 2)]], theta=[[0, 0, 1, 2]], theta_0=[[0, 0, 1, 1]], tau_0=Fraction(1), tau_1=Fraction(1),
)  # fmt: skip
EQ_35.counterexample(
    "one step of gradient descent, gamma = 1/200, from W_V = 1, w_O = 0, f - y = 1/2000, which meets (2) and (3)",
    X=[[[1]]], y=[[Fraction(-1, 2000)]], theta=[[0, 0, 1, Fraction(-1, 400000)]], theta_0=[[0, 0, 1, 0]],
    tau_0=Fraction(1), tau_1=Fraction(1),
)  # fmt: skip


EQ_35_NORM = Claim(LOSS_FALLEN, "convergence.eq-35-norm", label="Eq. (35), with the norm of the residual",
    statement=r"""\|\nabla_\theta\ell(\theta^{t+\phi})-\nabla_\theta\ell(\theta^t)\|_2
        \le\|f^{t+\phi}-f^t\|_2\|\nabla_\theta f^{t+\phi}\|_2 +\|\nabla_\theta f^{t+\phi}-\nabla_\theta
        f^t\|_2\sqrt{2\ell(\theta^0)}""",
    name="change of the loss gradient, corrected", relation=AtMost(ascent=False), all_sizes=True,
    corrects="convergence.eq-35",
    of_project=True)  # fmt: skip


@EQ_35_NORM.formula
def loss_gradient_change_bound(X: Samples, y: Labels, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The corrected right-hand side of Eq. (35), a scalar."""
    e = Ends(X, y, theta, theta_0, tau_0, tau_1)
    return _lines_35(e, frobenius_norm(e.error))[1]


@EQ_35_NORM.oracle
def change_of_loss_gradient(X: Samples, y: Labels, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    return Ends(X, y, theta, theta_0, tau_0, tau_1).loss_gradient_change()


EQ_35_NORM.mutant("change of the Jacobian dropped", last=rational(0))
EQ_35_NORM.mutant("change of f dropped", of_output=0)


EQ_36 = Claim(OUTPUTS_MOVE, "convergence.eq-36", label="Eq. (36)", name="Lipschitz constant of the outputs",
    statement=r"""\|f^{t+\phi}-f^t\|_2
        \le\rho\|W_V^{t+\phi}\|_2\|w_O^{t+\phi}-w_O^t\|_2+\|w_O^t\|_2\|F_{pre}^{t+\phi}-F_{pre}^t\|_2
        \le\rho\|W_V^{t+\phi}\|_2\|w_O^{t+\phi}-w_O^t\|_2
        +\rho\|w_O^t\|_2\big(\|W_V^{t+\phi}-W_V^t\|_2+\|W_V^t\|_22\tau_0C_x^2d_s
        (\|W_Q^{t+\phi}\|_2\|W_K^{t+\phi}-W_K^t\|_2+\|W_K^t\|_2\|W_Q^{t+\phi}-W_K^t\|_2
        +\|W_K^t\|_2\|W_Q^{t+\phi}-W_Q^t\|_2)\big) \le\rho\bar\lambda_V\|\theta^{t+\phi}-\theta^\top\|_2
        +\rho\bar\lambda_O(1+\bar\lambda_V2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K))\|\theta^{t+\phi}-\theta^\top\|_2
        =\rho(\bar\lambda_V+\bar\lambda_O
        +\bar\lambda_V2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K))\|\theta^{t+\phi}-\theta^\top\|_2 \triangleq
        c_1\|\theta^{t+\phi}-\theta^\top\|_2""",
    relation=AtMost(ascent=False), expects="refuted", severity="slip", correction="convergence.eq-36-with-lambda-o",
    proof=("convergence.lemma-9", "convergence.lemma-10"),
    doubt=Doubt((
        r"\left\| \boldsymbol{W}_{Q}^{t+\phi} - \boldsymbol{W}_{K}^{t} \right\|_{2} + \left\| "
        r"\boldsymbol{W}_{K}^{t} \right\|_{2} \left\| \boldsymbol{W}_{Q}^{t+\phi} - \boldsymbol{W}_{Q}^{t} "
        r"\right\|_{2}",
        THETA_T,
    ),
        r"""The extraction repeats a product in the second inequality; the line that defines $c_1$ shows no damage.
            $\theta^\top$ stands for $\theta^t$, as in Lemma 12."""),
    note=r"""Taking out $\rho$, the line defining $c_1$ drops $\lambda_O$ from its last term. Read literally this $c_1$
        is no Lipschitz constant of $f$ (second counterexample); with $\lambda_O$, as on the line before, it is.""",
)  # fmt: skip


def _lines_36(e: Ends) -> list[Any]:
    """What the first inequality gives, what the second gives, and the line before c_1."""
    b, (W, W_0) = e.b, e.ends
    moved = {name: spectral_norm(W[name] - W_0[name]) for name in WEIGHTS}
    F, F_0 = (last_hidden_layer(e.X, V["W_Q"], V["W_K"], V["W_V"], e.tau_0, e.tau_1, "sum") for V in e.ends)
    of_output = b.rho * spectral_norm(W["W_V"]) * moved["w_O"]
    attention = spectral_norm(W["W_Q"]) * moved["W_K"] + spectral_norm(W_0["W_K"]) * moved["W_Q"]
    inner = moved["W_V"] + spectral_norm(W_0["W_V"]) * b.kappa * attention
    size = spectral_norm(W_0["w_O"])
    return [
        of_output + size * spectral_norm(F - F_0 + e.tau_1 * 0),
        of_output + b.rho * size * inner,
        b.rho * (b.V + b.O * (1 + b.V * b.slope)) * e.distance,
    ]


def _c_1_as_printed(e: Ends, values: Any = 1, attention: Any = 1) -> Any:
    return e.b.rho * (e.b.V * values + e.b.O + e.b.V * e.b.slope * attention) * e.distance


@EQ_36.formula
def output_change_bounds(X: Samples, y: Labels, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """Three right-hand sides, c_1 as printed above and below the third, and above the left side; shape (6,)."""
    e = Ends(X, y, theta, theta_0, tau_0, tau_1)
    first, second, third = _lines_36(e)
    last = _c_1_as_printed(e)
    return stacked([first, second, third, last, third, last])


@EQ_36.oracle
def output_change(X: Samples, y: Labels, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    e = Ends(X, y, theta, theta_0, tau_0, tau_1)
    first, second, third = _lines_36(e)
    left = frobenius_norm(e.f[0] - e.f[1])
    return stacked([left, first, second, third, _c_1_as_printed(e), left])


EQ_36.mutant("attention taken as fixed", attention=0)
EQ_36.mutant("lambda_V dropped", values=0)
EQ_36.counterexample(
    "all sizes and weights 1 but w_O = 2: the two right sides differ",
    X=[[[1]]], y=[[0]], theta=[[1, 1, 1, 2]], theta_0=[[1, 1, 1, 1]], tau_0=Fraction(1), tau_1=Fraction(1),
)  # fmt: skip
EQ_36.counterexample(
    "tokens 2 and -2, w_O = 1000, W_Q moves from 0 to 1/100: f moves by more than c_1 allows",
    X=[[[2], [-2]]], y=[[0]], theta=[[Fraction(1, 100), 1, 1, 1000]], theta_0=[[0, 1, 1, 1000]], tau_0=Fraction(1),
    tau_1=Fraction(1),
)  # fmt: skip


EQ_36_WITH_O = Claim(OUTPUTS_MOVE, "convergence.eq-36-with-lambda-o", label="Eq. (36), up to the line before c_1",
    statement=r"""\tau_0,\tau_1>0:\ \|f^{t+\phi}-f^t\|_2 \le\rho\bar\lambda_V\|\theta^{t+\phi}-\theta^t\|_2
        +\rho\bar\lambda_O(1+\bar\lambda_V2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K))\|\theta^{t+\phi}-\theta^t\|_2
        =\rho(\bar\lambda_V+\bar\lambda_O
        +\bar\lambda_O\bar\lambda_V2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K))\|\theta^{t+\phi}-\theta^t\|_2""",
    name="Lipschitz constant of the outputs, corrected", relation=AtMost(ascent=False), all_sizes=True,
    corrects="convergence.eq-36", of_project=True)  # fmt: skip


def _large_output(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """As the second counterexample to Eq. (36): opposite tokens, a large w_O, and W_Q moving from zero."""
    opposite_tokens(arrays, 2.0)
    arrays["W_K"][:, 0, 0] = arrays["W_V"][:, 0, 0] = 1.0
    arrays["w_O"][:, 0, 0] = 2.0**12
    equal_ends(arrays)
    arrays["W_Q"][:, 0, 0] = 2.0**-7


EQ_36_WITH_O.domain("large output weights")(_large_output)


@EQ_36_WITH_O.formula
def lipschitz_bounds_of_f(X: Samples, y: Labels, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The three right-hand sides before the printed c_1, and the last again over the left side, shape (4,)."""
    e = Ends(X, y, theta, theta_0, tau_0, tau_1)
    first, second, third = _lines_36(e)
    return stacked([first, second, third, third])


@EQ_36_WITH_O.oracle
def change_of_outputs(X: Samples, y: Labels, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    e = Ends(X, y, theta, theta_0, tau_0, tau_1)
    first, second, _ = _lines_36(e)
    left = frobenius_norm(e.f[0] - e.f[1])
    return stacked([left, first, second, left])


EQ_36_WITH_O.mutant("lambda_O dropped from the last term, as printed", "third -> _c_1_as_printed(e)")
EQ_36_WITH_O.mutant("lambda_V dropped", "third -> third - e.b.rho * e.b.V * e.distance")


class OneStep:
    """theta^0 and theta^1 of gradient descent on f of Eq. (1.2), with the gradient of the loss by differentiation."""

    def __init__(self, X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any,
                 gamma: Any) -> None:  # fmt: skip
        self.X, self.y, self.tau_0, self.tau_1, self.gamma = X, y, tau_0, tau_1, gamma
        self.path = gradient_descent(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma, 1)
        self.losses = [squared_loss(X, y, **W, tau_0=tau_0, tau_1=tau_1) for W in self.path]

    def slope(self, t: int) -> Any:
        """The gradient of the loss over all weights, a row."""
        W = self.path[t]
        return concatenate([self.slope_in(name, W) for name in WEIGHTS], axis=1)

    def slope_in(self, name: str, W: dict[str, Any]) -> Any:
        return jacobian(squared_loss, name)(self.X, self.y, **W, tau_0=self.tau_0, tau_1=self.tau_1).reshape(1, -1)

    def jump(self) -> Any:
        """||grad l(theta^1) - grad l(theta^0)||_2."""
        return frobenius_norm(self.slope(1) - self.slope(0))

    def distance(self) -> Any:
        """||theta^1 - theta^0||_2."""
        return sqrt(sum(total((self.path[1][name] - W) * (self.path[1][name] - W)) for name, W in self.path[0].items()))


FIRST_STEP = Definition("decided at t = 0, phi = 1: one step of gradient descent", by=OneStep)

EQ_37 = Claim(PRINTED_STEP, "convergence.eq-37", label="Eq. (37)", name="smoothness constant of the loss",
    statement=r"""\|\nabla_\theta\ell(\theta^{t+\phi})-\nabla_\theta\ell(\theta^\top)\|_2 \le
        c_1c_2\|\theta^{t+\phi}-\theta^\top\|_2+2c_3\ell(\theta^0)\|\theta^{t+\phi}-\theta^\top\|_2 \triangleq
        C\|\theta^{t+\phi}-\theta^\top\|_2""",
    assumptions=[FIRST_STEP], relation=AtMost(left="change of the loss gradient", ascent=False),
    expects="refuted", severity="error",
    proof=("convergence.eq-35", "convergence.eq-36", "convergence.lemma-13", "convergence.lemma-14"),
    correction="convergence.eq-37-fixed-pattern",
    doubt=Doubt((*TWO_C_1, THETA_T),
        r"""Eq. (36) prints $c_1$ in two ways; the first, the larger one since $\lambda_O \ge 1$, is taken.
            $\theta^\top$ stands for $\theta^t$, as in Lemma 12."""),
    note="""The counterexamples are those of Proposition 1: all its conditions hold, one step carries a neuron across
        its kink, and the gradient of the loss jumps. The jump does not shrink with the step, so no $C$ can do.""",
)  # fmt: skip


@EQ_37.formula
def smoothness_bound(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                     tau_0: Positive, tau_1: Positive, C_x: Positive, gamma: Positive) -> Any:  # fmt: skip
    """C ||theta^1 - theta^0||_2 with C = c_1 c_2 + 2 c_3 l(theta^0), a scalar (Eq. (37))."""
    run = OneStep(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma)
    b = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x)
    return b.C(sqrt(2 * run.losses[0])) * run.distance()


EQ_37.oracle(
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma: OneStep(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma).jump()
)
EQ_37.mutant("c_1 c_2 dropped", "b.C(sqrt(2 * run.losses[0])) -> b.c_3() * 2 * run.losses[0]")
EQ_37.mutant("the distance squared", "run.distance() -> run.distance() ** 2")
EQ_37.counterexample("as for Proposition 1: the third neuron crosses its kink, gamma = 1/300", crossing)
EQ_37.counterexample("the same, nearer to the kink, with gamma = 10^-6", crossing_by_a_short_step)


EQ_37_FIXED = Claim(AT_TWO_ENDS, "convergence.eq-37-fixed-pattern", label="Eq. (37), while no ReLU differs in state",
    statement=r"""\tau_0,\tau_1>0:\ \text{If no pre-activation differs in sign and }\|f^t-y\|\le\sqrt{2\ell(\theta^0)},\
        \|\nabla_\theta\ell(\theta^{t+\phi})- \nabla_\theta\ell(\theta^t)\|_2 \le(c_1c_2+c_3'\sqrt{2\ell(\theta^0)})\|
        \theta^{t+\phi}-\theta^t\|_2,\ c_1=\rho(\bar\lambda_V+\bar\lambda_O(1+\bar\lambda_Vz)),\ c_2\text{ of Eq. (11)},\
        z\text{ and }c_3'\text{ of Lemma 14 on a fixed pattern}""",
    assumptions=[
        *NORMS_HELD,
        Assumption("every pre-activation has the same sign at t + phi and t, none is zero", positive=same_signs),
    ],
    name="smoothness constant of the loss, fixed pattern", relation=AtMost(ascent=False), all_sizes=True,
    corrects="convergence.eq-37",
    of_project=True,
    uses=(
        "convergence.eq-35-norm", "convergence.eq-36-with-lambda-o", "convergence.lemma-14-fixed-pattern",
        "convergence.lemma-13",
    ),
    note="$c_3'$ is the Lipschitz constant of the Jacobian on a fixed pattern (Eqs. (20), (23), (24), corrected).",
)  # fmt: skip


@EQ_37_FIXED.formula
def smoothness_bound_of_fixed_pattern(X: Samples, y: Labels, theta: Theta, theta_0: Theta, tau_0: Any,
                                      tau_1: Any) -> Any:  # fmt: skip
    """(c_1 c_2 + c_3' ||f^t - y||) ||theta^{t+phi} - theta^t||_2, a scalar."""
    e = Ends(X, y, theta, theta_0, tau_0, tau_1)
    return e.b.C_of_fixed_pattern(frobenius_norm(e.error)) * e.distance


EQ_37_FIXED.oracle(change_of_loss_gradient)
EQ_37_FIXED.mutant(
    "c_1 c_2 dropped",
    "e.b.C_of_fixed_pattern(frobenius_norm(e.error)) -> e.b.c_3_of_fixed_pattern() * frobenius_norm(e.error)",
)
EQ_37_FIXED.mutant("c_3 dropped", "e.b.C_of_fixed_pattern(frobenius_norm(e.error)) -> e.b.c_1() * e.b.c_2()")
