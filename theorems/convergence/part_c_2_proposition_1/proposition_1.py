"""Global convergence of gradient descent: Proposition 1, where it fails, and the form that holds.

Stated in Section 4.1, proved in Appendix C.2.  `GRADIENT_DESCENT` and `PRINTED_STEP` are the settings of the proof, with
inputs that meet Eqs. (2) and (3).  What is surprising: no step size saves Eq. (4) where a ReLU changes its state.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE, definitions
from theorems.convergence.definitions import KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights
from theorems.convergence.part_c_1_lemmas.constants import (
    KINK, NOT_NARROW, ROOM_ONE, TINY, TWO_C_1, Z_WITH_O, Bounds, sample_bound, stacked,
)  # fmt: skip
from verify.matrix import absolute, frobenius_norm, smallest_singular_value, spectral_norm, sqrt, total
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, Real, Setting, Shape, checked, realises

Positive = Annotated[Any, Real(0.0625, 1.0)]
Share = Annotated[Any, Real(0.0625, 0.9375)]
Direction = Annotated[Any, Shape("N", "1")]
Constant = Callable[[Bounds, Any], Any]

#: Steps of gradient descent that are followed; a violation at any of them refutes.
STEPS = 3

# -- the assumptions, and inputs that satisfy them ---------------------------------------------------------------------


def _assumption_1(X: Any, C_x: Any) -> Any:
    return stacked([C_x * sqrt(X.shape[1]) - frobenius_norm(X[n]) for n in range(X.shape[0])])


def _at_start(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any) -> Any:
    """The constants of Proposition 1, and ||f(theta^0) - y||_2 = sqrt(2 l(theta^0))."""
    error = frobenius_norm(definitions.outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - y)
    return Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x), error


def _conditions(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any) -> Any:
    """Left minus right sides of Eqs. (2) and (3), the latter with lambda_O and with lambda_Q in z; shape (3,)."""
    b, error = _at_start(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x)
    third = [b.alpha**3 - b.condition_3(first) * error for first in (b.O, b.Q)]
    return stacked([b.alpha**2 - b.condition_2() * error, *third])


def _room_below(constant: Constant) -> Callable[..., Any]:
    """The test of gamma <= 1 / constant."""

    def room(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any,
             gamma: Any) -> Any:  # fmt: skip
        return 1 - gamma * constant(*_at_start(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x))

    return room


def _near_labels(constant: Constant) -> Callable[..., dict[str, Any]]:
    """Inputs that satisfy the assumptions: ||f - y|| a share of what (2) and (3) allow, gamma = pace / constant."""

    @realises(
        but=(
            "C_x is the least that Assumption 1 admits; a larger one makes every condition harder to meet and claims no more."
            " The labels are at most as far from the outputs as Eqs. (2) and (3) together allow, at least a third of what is"
            " admitted; it is often so little that floats do not tell all directions apart"
        )
    )
    def inputs(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Positive,
               tau_1: Positive, direction: Direction, share: Share, pace: Share) -> dict[str, Any]:  # fmt: skip
        C_x = sample_bound(X)
        b = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x)
        # with p, q the factors of Eqs. (2) and (3), 1 / (p/alpha^2 + q/alpha^3) meets both; q covers both readings of z
        p, q = b.condition_2(), b.condition_3(b.O) + b.condition_3(b.Q)
        allowed = share * b.alpha**3 / (p * b.alpha + q + TINY)
        error = direction / (frobenius_norm(direction) + TINY) * allowed
        return {
            "X": X, "y": definitions.outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - error,
            "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O, "tau_0": tau_0, "tau_1": tau_1, "C_x": C_x,
            "gamma": pace / (constant(b, allowed) + TINY),
        }  # fmt: skip

    return inputs


def near_a_kink(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Samples of opposite sign, one neuron for each, and a third a hair above zero with a large output weight."""
    for name in ("X", *definitions.WEIGHTS):
        arrays[name][:] = 0.0
    arrays["X"][:, 0, :, 0], arrays["X"][:, 1, :, 0] = 1.0, -1.0
    arrays["W_V"][:, 0, 0], arrays["W_V"][:, 1, 0], arrays["W_V"][:, 2, 0] = 1.0, -1.0, 2.0**-44
    arrays["w_O"][:, 2, 0] = rng.choice([1.5, 2.0, 3.0], len(arrays["w_O"]))
    arrays["direction"][:] = 1.0


def output_weights_zero(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Only w_O moves: the kernel is F_pre F_pre^T alone, and the loss falls as slowly as alpha allows."""
    arrays["w_O"][:] = 0.0


GRADIENT_DESCENT = Setting(
    CONVERGENCE,
    "Section 4.1: gradient descent from weights that meet Eqs. (2) and (3)",
    assumptions=[
        Definition(
            "f and F_pre of Eqs. (1.1)-(1.2), squared loss, full-batch gradient descent (Algorithm 1)",
            by=definitions.gradient_descent,
        ),
        KINK,
        NOT_NARROW,
        ROOM_ONE,
        Assumption("Assumption 1: ||X_n||_F <= sqrt(d_s) C_x", nonnegative=_assumption_1),
        Assumption("Eqs. (2) and (3), the latter with lambda_O and with lambda_Q in z", nonnegative=_conditions),
        Assumption("tau_0, tau_1, gamma > 0", positive=lambda tau_0, tau_1, gamma: stacked([tau_0, tau_1, gamma])),
    ],
)
PRINTED_STEP = GRADIENT_DESCENT.extended(
    "Section 4.1, with the step size of Eq. (37)",
    assumptions=[Assumption("gamma <= 1/C, C of Eq. (37)", nonnegative=_room_below(Bounds.C))],
    # two samples and a spare neuron, so that a ReLU can change its state without F_pre losing rank
    sizes={"N": (2, 2), "d_s": (1, 3), "d": (1, 1), "d_m": (3, 3)},
    inputs=_near_labels(Bounds.C),
    special_domains={"near a kink": near_a_kink},
)


def _losses(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, gamma: Any) -> Any:
    """l(theta^1), ..., l(theta^STEPS), shape (STEPS,)."""
    path = definitions.gradient_descent(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma, STEPS)
    return stacked([definitions.squared_loss(X, y, **theta, tau_0=tau_0, tau_1=tau_1) for theta in path[1:]])


def _alpha(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any,
           singular: Callable[..., Any] = smallest_singular_value) -> Any:  # fmt: skip
    return singular(definitions.last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1))


@checked
def _decay(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
           tau_0: Positive, tau_1: Positive, gamma: Positive) -> Any:  # fmt: skip
    """(1 - gamma alpha^2 / 2)^t l(theta^0) for t = 1, ..., STEPS, shape (STEPS,) (Eq. (4))."""
    alpha = _alpha(X, W_Q, W_K, W_V, tau_0, tau_1)
    losses = [definitions.squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)]
    for _ in range(STEPS):
        losses.append(losses[-1] * (1 - gamma * alpha**2 / 2))
    return stacked(losses[1:])


PROP_1 = Claim(PRINTED_STEP, "convergence.prop-1", label="Proposition 1, Eqs. (2)-(4)",
    statement=r"""d_m\ge N,\ C_Q,C_K,C_V,C_O\text{ positive constants},\ \bar\lambda_Q\triangleq\|W_Q^0\|_2+C_Q,\
        \bar\lambda_K\triangleq\|W_K^0\|_2+C_K,\ \bar\lambda_V\triangleq\|W_V^0\|_2+C_V,\
        \bar\lambda_O\triangleq\|w_O^0\|_2+C_O,\ \rho\triangleq N^{1/2}d_s^{3/2}\tau_1C_x,\
        z\triangleq\bar\lambda_O^2(1+4\tau_0^2C_x^4d_s^2\bar\lambda_V^2(\bar\lambda_O^2+\bar\lambda_K^2)).\ \text{Under
        Assumption 1, if }\alpha\triangleq\sigma_{\min}(F^0_{pre})\text{ satisfies
        }\alpha^2\ge8\rho\max(\bar\lambda_VC_O^{-1},\bar\lambda_OC_V^{-1},
        2\tau_0C_x^2d_s\bar\lambda_K\bar\lambda_V\bar\lambda_OC_Q^{-1},
        2\tau_0C_x^2d_s\bar\lambda_Q\bar\lambda_V\bar\lambda_OC_K^{-1})\sqrt{2\ell(\theta^0)}\ (2),\
        \alpha^3\ge32\rho^2z\sqrt{2\ell(\theta^0)}/\bar\lambda_O\ (3)\text{, and the step size satisfies
        }\gamma\le1/C\text{ with a constant }C\text{ depending on
        }(\bar\lambda_Q,\bar\lambda_K,\bar\lambda_V,\bar\lambda_O,\ell(\theta^0),\rho,\tau_0)\text{, then GD converges
        to a global minimum as follows: }\ell(\theta^t)\le\Big(1-\gamma\frac{\alpha^2}2\Big)^t\,\ell(\theta^0),\ \forall
        t\ge0\ (4)""",
    name="linear convergence of gradient descent", relation=AtMost(ascent=False),
    sizes={"N": (2, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (3, 5)}, expects="refuted", severity="error",
    correction="convergence.prop-1-initial-margin",
    proof=(
        "convergence.eq-26-34", "convergence.fpre-chain", "convergence.eq-35", "convergence.eq-36", "convergence.eq-37",
        "convergence.descent-chain", "convergence.rate-last-line",
    ),
    doubt=Doubt((Z_WITH_O, *TWO_C_1), r"""$z$ shows $\lambda_O^2$ in its inner bracket, Table 2 and Appendix C.2
            $\lambda_Q^2$: Eq. (3) is required in both forms. Of the two right-hand sides of Eq. (36) the larger is
            $c_1$."""),
    consequence="""A step size read off Eq. (37) guarantees no decrease of the loss where a ReLU can change its state;
        check the margin at initialisation first (convergence.prop-1-initial-margin).""",
    note=r"""Eq. (19) bounds the change of $\mathrm{relu}'$ as if $\mathrm{relu}'$ were Lipschitz; it jumps. In the
        counterexample the third neuron sits just above its kink on the first sample: one step carries it below, where
        it stops lowering $f(X_1)$ and starts raising $f(X_2)$, and the loss grows. No other $C$ made of the printed
        quantities helps: for $W_V = (1, -1, e)$ the relative loss after one step tends to $1 + 2 \gamma + 5 \gamma^2$
        as $e \to 0$, for every $\gamma > 0$. With $(a, -a, e)$, $2 a^2 + e^2 = 2$, and labels that keep
        $\ell(\theta^0)$, all that $C$ may depend on is the same for every $e$. Eqs. (2), (3) and the violation are
        strict and no pre-activation is zero, so a neighbourhood of these weights breaks (4), and Gaussian
        initialisation meets it with positive probability. Section 4.1 says that the proposition 'holds with high
        probability under some conditions', to be validated in Sections 4.2 and 4.3; what is validated there is (2) and
        (3), so that, given these, the proposition is taken as it stands. That (4) holds with high probability over a
        Gaussian start at large width, where few neurons come near to their kinks, is not denied.""")  # fmt: skip


printed_decay = PROP_1.formula(_decay)
PROP_1.oracle(_losses)
PROP_1.mutant("alpha instead of alpha^2", "gamma * alpha ** 2 / 2 -> gamma * alpha")
PROP_1.mutant("step size dropped", "gamma * alpha ** 2 -> alpha ** 2")


def third_neuron_near_its_kink(height: Fraction, gamma: Fraction) -> dict[str, Any]:
    label, zeros = Fraction(-1, 10**4), [[0], [0], [0]]
    return {
        "X": [[[1]], [[-1]]], "y": [[label], [label]],
        "W_Q": zeros, "W_K": zeros, "W_V": [[1], [-1], [height]], "w_O": [[0], [0], [2]],
        "tau_0": Fraction(1, 3), "tau_1": Fraction(1), "C_x": Fraction(1), "gamma": gamma,
    }  # fmt: skip


def crossing() -> dict[str, Any]:
    """One step of gamma = 1/300 carries the third neuron across its kink; C < 237."""
    return third_neuron_near_its_kink(Fraction(1, 10**7), Fraction(1, 300))


def crossing_by_a_short_step() -> dict[str, Any]:
    """The same nearer to the kink, with gamma = 10^-6."""
    return third_neuron_near_its_kink(Fraction(1, 10**12), Fraction(1, 10**6))


PROP_1.counterexample(
    "d = d_s = 1, samples 1 and -1, three neurons, the third just above its kink; C < 237, gamma = 1/300", crossing
)
PROP_1.counterexample(
    "the same, nearer to the kink, with gamma = 10^-6: a shorter step does not help", crossing_by_a_short_step
)


# -- while no ReLU changes its state -----------------------------------------------------------------------------------


def _distance_to_kinks(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any,
                       gamma: Any) -> Any:  # fmt: skip
    """For every step and pre-activation: its size minus the most that it can move on the way to the next iterate.

    A pre-activation W_V X^T beta_i moves by at most sqrt(d_s) C_x (1 + lambda_V z) ||theta^{t+1} - theta^t|| (Eq. (6)).
    """
    at_start = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x)
    speed = C_x * sqrt(at_start.d_s) * (1 + at_start.V * at_start.slope)
    path = definitions.gradient_descent(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma, STEPS)
    margins: list[Any] = []
    for theta, following in pairwise(path):
        moved = sqrt(sum(total((a - b) * (a - b)) for a, b in zip(theta.values(), following.values(), strict=True)))
        for n in range(at_start.N):
            sizes = absolute(definitions.self_attention(X[n], theta["W_Q"], theta["W_K"], theta["W_V"], tau_0)).reshape(
                -1
            )
            margins += [sizes[k] - speed * moved for k in range(sizes.shape[0])]
    return stacked(margins)


#: What the corrected claims assume in the place of gamma <= 1/C.
NO_KINKS = [
    Assumption("gamma <= 1/C'", nonnegative=_room_below(Bounds.C_of_fixed_pattern)),
    Assumption(
        "no pre-activation changes its sign: each exceeds the most it can move along the next segment",
        positive=_distance_to_kinks,
    ),
]
FIXED_STEP = GRADIENT_DESCENT.extended(
    "Section 4.1, with a step size for weights whose ReLUs keep their states",
    inputs=_near_labels(Bounds.C_of_fixed_pattern),
    special_domains={"output weights zero": output_weights_zero},
)

FIXED_PATTERN = Claim(FIXED_STEP, "convergence.prop-1-fixed-pattern",
    label="Proposition 1, while no ReLU changes its state",
    statement=r"""\text{If (2), (3) hold, no pre-activation changes its sign along the segments
        }[\theta^t,\theta^{t+1}]\text{, and }\gamma\le1/C',\ C'=c_1c_2+c_3'\sqrt{2\ell(\theta^0)},\
        c_1=\rho(\bar\lambda_V+\bar\lambda_O(1+\bar\lambda_Vz')),\ c_2\text{ of Eq. (11)},\ c_3'\text{ and }z'=z\text{
        of Lemma 14 on a fixed pattern, then }\ell(\theta^t)\le(1-\gamma\tfrac{\alpha^2}{2})^t\ell(\theta^0)\ \forall
        t\ge0""",
    name="linear convergence of gradient descent, fixed pattern", assumptions=NO_KINKS, relation=AtMost(ascent=False),
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 4)}, of_project=True,
    uses=(
        "convergence.eq-37-fixed-pattern", "convergence.descent-chain-fixed-pattern",
        "convergence.rate-from-condition-3",
    ),
    note=r"""On a fixed pattern $f$ is smooth along each segment, $c_3'$ is a true Lipschitz constant of its Jacobian,
        and the induction of Appendix C.2 goes through. Eq. (3) keeps $F_{pre}$ within $\alpha/8$ of its start, so that
        $\sigma_{\min}(F_{pre}^t) \ge 7 \alpha / 8$, which gives the printed rate $\alpha^2/2$; the $\alpha/2$ of the
        induction would give $\alpha^2/4$. Three steps are followed, with the average over tokens;
        convergence.prop-1-initial-margin follows ten, with the sum.""",
)  # fmt: skip


decay_of_fixed_pattern = FIXED_PATTERN.formula(_decay)
FIXED_PATTERN.oracle(_losses)
FIXED_PATTERN.mutant("largest singular value of F_pre", singular=spectral_norm)
FIXED_PATTERN.mutant("alpha instead of alpha^2", "alpha ** 2 -> alpha")
FIXED_PATTERN.mutant("4 in the numerator", "gamma * alpha ** 2 / 2 -> gamma * alpha ** 2 * 4")


@FIXED_PATTERN.domain("beside a kink")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """As in the counterexample to Proposition 1, with the third neuron far enough from zero to stay on its side."""
    if sizes["N"] == 2 and sizes["d_m"] >= 3:
        near_a_kink(arrays, sizes, rng)
        arrays["W_V"][:, 2, 0] = 2.0 ** rng.integers(-16, -2, len(arrays["W_V"]))
