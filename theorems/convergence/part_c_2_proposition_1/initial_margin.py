"""Proposition 1 with a condition that can be checked at initialisation: no pre-activation is near to its kink.

Eq. (2) bounds how far the weights travel, hence how far a pre-activation moves; one that starts further from zero keeps
its state for ever, and Eq. (4) holds for all t.
"""

from __future__ import annotations

from typing import Any

from theorems.convergence import CONVERGENCE, definitions
from theorems.convergence.definitions import KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, NOT_NARROW, ROOM_ONE, SUM_OVER_TOKENS, TINY, Bounds, by_name, pre_activations, sample_bound, stacked,
)  # fmt: skip
from theorems.convergence.part_c_2_proposition_1.proposition_1 import Direction, Positive, Share, output_weights_zero
from verify.matrix import absolute, frobenius_norm, maximum, smallest_singular_value, spectral_norm, sqrt
from verify.vocabulary import Assumption, AtMost, Claim, Definition, realises

#: Steps of gradient descent that are followed.
STEPS = 10


def _start(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> tuple[Bounds, Any, Any]:
    """The constants of Proposition 1, alpha and ||f - y||_2 at theta^0, f and F_pre with the sum over tokens."""
    b = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, sample_bound(X))
    error = frobenius_norm(definitions.outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - y)
    return b, b.alpha * b.d_s, error


def _reach(b: Bounds, alpha: Any) -> Any:
    """How far a pre-activation can move, over sqrt(2 l(theta^0)): sqrt(d_s) C_x (1 + lambda_V z) 4 c_2 / alpha^2."""
    return b.C_x * sqrt(b.d_s) * (1 + b.V * b.slope) * b.c_2() * 4 / (alpha**2 + TINY)


def _sizes(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any) -> Any:
    return absolute(pre_activations(X, by_name(W_Q, W_K, W_V, w_O), tau_0)).reshape(-1)


def _conditions(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    """Left minus right sides of Eqs. (2) and (3), the latter with lambda_O and with lambda_Q in z; shape (3,)."""
    b, alpha, error = _start(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    third = [alpha**3 - b.condition_3(first) * error for first in (b.O, b.Q)]
    return stacked([alpha**2 - b.condition_2() * error, *third])


def _step_size(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, gamma: Any) -> Any:
    b, _, error = _start(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    return 1 - gamma * b.C_of_fixed_pattern(error)


def _margin(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    b, alpha, error = _start(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    return _sizes(X, W_Q, W_K, W_V, w_O, tau_0) - _reach(b, alpha) * error


MARGIN = Claim(CONVERGENCE, "convergence.prop-1-initial-margin",
    label="Proposition 1, for weights that start away from the kinks",
    statement=r"""\text{If (2), (3) hold, }\gamma\le1/C',\ C'=c_1c_2+c_3'\sqrt{2\ell(\theta^0)},\text{ and
        }|W_V^0X_n^\top \beta_{i,n}^0|>\sqrt{d_s}C_x(1+\bar\lambda_Vz')\frac{4c_2}{\alpha^2}\sqrt{2\ell(\theta^0)}\text{
        in every entry, for all }i,n,\ z'=2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K),\text{ then no ReLU ever changes
        its state and }\ell(\theta^t)\le(1-\gamma\tfrac{\alpha^2}2)^t\ell(\theta^0)\ \forall t\ge0""",
    assumptions=[
        SUM_OVER_TOKENS, ASSUMPTION_1,
        Definition("squared loss, full-batch gradient descent on all four weights", by=definitions.gradient_descent),
        Definition("c_1, c_2 of Eqs. (36), (11), c_3' of convergence.lemma-14-fixed-pattern", by=Bounds.c_3_of_fixed_pattern),
        NOT_NARROW, ROOM_ONE,
        Assumption("Eqs. (2) and (3), the latter with lambda_O and with lambda_Q in z", nonnegative=_conditions),
        Assumption("gamma <= 1/C'", nonnegative=_step_size),
        Assumption("every pre-activation starts further from 0 than it can move", positive=_margin),
        Assumption("tau_0, tau_1, gamma > 0", positive=lambda tau_0, tau_1, gamma: stacked([tau_0, tau_1, gamma])),
    ],
    name="linear convergence from a margin at initialisation", relation=AtMost(ascent=False),
    sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 3)},
    corrects="convergence.prop-1", of_project=True,
    uses=("convergence.prop-1-fixed-pattern", "convergence.eq-26-34", "convergence.eq-16"),
    note=r"""$\|\theta^t - \theta^0\| \le \gamma \sum_s c_2 \sqrt{2 \ell(\theta^s)} \le (4 c_2 / \alpha^2) \sqrt{2
        \ell(\theta^0)}$ as after Eq. (27), and a pre-activation moves by at most $\sqrt{d_s} C_x (1 + \lambda_V z')$
        times that (Eq. (16)): by induction no sign changes, and convergence.prop-1-fixed-pattern applies at every $t$.
        10 steps are followed. The average of Eq. (1.2) is the sum with $\tau_1 / d_s$, for which (2), (3) and the
        margin ask for less.""")  # fmt: skip
MARGIN.domain("output weights zero", output_weights_zero)


@MARGIN.inputs
@realises(
    but=(
        "the labels are at most as far from the outputs as the least of the margin and of what Eqs. (2) and (3) together"
        " allow, at least a third of what is admitted; it is often so little that floats do not tell all directions apart"
    )
)
def away_from_kinks(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                    tau_0: Positive, tau_1: Positive, direction: Direction, share: Share,
                    pace: Share) -> dict[str, Any]:  # fmt: skip
    """Labels near to the outputs: ||f - y|| a share of what (2), (3) and the margin allow, gamma = pace / C'."""
    b = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, sample_bound(X))
    alpha = b.alpha * b.d_s
    p, q = b.condition_2(), b.condition_3(b.O) + b.condition_3(b.Q)
    margin = -maximum(-_sizes(X, W_Q, W_K, W_V, w_O, tau_0)) / (_reach(b, alpha) + TINY)
    allowed = -maximum(stacked([-(alpha**3) / (p * alpha + q + TINY), -margin])) * share
    error = direction / (frobenius_norm(direction) + TINY) * allowed
    return {
        "X": X, "y": definitions.outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - error,
        "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O, "tau_0": tau_0, "tau_1": tau_1,
        "gamma": pace / (b.C_of_fixed_pattern(allowed) + TINY),
    }  # fmt: skip


@MARGIN.formula
def decay_from_a_margin(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                        w_O: OutputWeights, tau_0: Positive, tau_1: Positive, gamma: Positive) -> Any:  # fmt: skip
    """(1 - gamma alpha^2 / 2)^t l(theta^0) for t = 1, ..., STEPS, shape (STEPS,)."""
    return _decay(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma)


def _decay(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, gamma: Any,
           singular: Any = smallest_singular_value, factor: Any = 1) -> Any:  # fmt: skip
    summed = tau_1 * X.shape[1]  # the sum over tokens is the average with d_s tau_1
    alpha = singular(definitions.last_hidden_layer(X, W_Q, W_K, W_V, tau_0, summed))
    losses = [definitions.squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, summed)]
    for _ in range(STEPS):
        losses.append(losses[-1] * (1 - gamma * alpha**2 * factor / 2))
    return stacked(losses[1:])


@MARGIN.oracle
def losses_from_a_margin(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any,
                         gamma: Any) -> Any:  # fmt: skip
    summed = tau_1 * X.shape[1]
    path = definitions.gradient_descent(X, y, W_Q, W_K, W_V, w_O, tau_0, summed, gamma, STEPS)
    return stacked([definitions.squared_loss(X, y, **theta, tau_0=tau_0, tau_1=summed) for theta in path[1:]])


MARGIN.mutant("largest singular value of F_pre", singular=spectral_norm)
MARGIN.mutant("8 in the numerator", factor=8)
