"""Global convergence of gradient descent: Proposition 1, where it fails, and the form that holds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    KeyWeights,
    Labels,
    OutputWeights,
    QueryWeights,
    Samples,
    ValueWeights,
    gradient_descent,
    last_hidden_layer,
    outputs,
    self_attention,
    squared_loss,
)
from verify.arithmetics import is_tensor
from verify.matrix import (
    absolute,
    frobenius_norm,
    maximum,
    rational,
    singular_values,
    smallest_singular_value,
    spectral_norm,
    sqrt,
    total,
)
from verify.vocabulary import Assumption, AtMost, Claim, Real, Shape

Positive = Annotated[Any, Real(0.0625, 1.0)]
Share = Annotated[Any, Real(0.0625, 0.9375)]
Direction = Annotated[Any, Shape("N", "1")]

#: Steps of gradient descent that are followed; a violation at any of them refutes.
STEPS = 3
#: C_Q = C_K = C_V = C_O = 1, as in the paper's own applications (Appendices C.3 and C.4).
ROOM = 1
#: Keeps quotients defined where all samples or all residuals vanish.
TINY = rational(1, 2**100)


def stacked(scalars: list[Any]) -> Any:
    """Scalars as a vector."""
    if is_tensor(scalars[0]):
        import torch

        return torch.stack(scalars)
    return np.array(scalars, dtype=object)


class Bounds:
    """The printed quantities at initialisation, and the constants of Appendix C.1-C.2 made of them."""

    def __init__(self, X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any) -> None:
        self.N, self.d_s = X.shape[0], X.shape[1]
        self.Q, self.K, self.V, self.O = (spectral_norm(W) + ROOM for W in (W_Q, W_K, W_V, w_O))
        self.tau_0, self.tau_1, self.C_x = tau_0, tau_1, C_x
        self.alpha = smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1))
        self.per_sample = tau_1 * C_x * (self.d_s * sqrt(self.d_s))
        self.rho = self.per_sample * sqrt(self.N)
        self.kappa = tau_0 * C_x * C_x * (2 * self.d_s)  # 2 tau_0 C_x^2 d_s
        self.slope = self.kappa * (self.Q + self.K)  # z of Lemma 14: Lipschitz constant of the attention weights

    def z(self, first: Any) -> Any:
        """lambda_O^2 (1 + 4 tau_0^2 C_x^4 d_s^2 lambda_V^2 (first^2 + lambda_K^2)) (second bullet of Proposition 1)."""
        return self.O**2 * (1 + (self.kappa * self.V) ** 2 * (first**2 + self.K**2))

    def condition_2(self) -> Any:
        """8 rho max(...), shape (): the factor of sqrt(2 l(theta^0)) in Eq. (2)."""
        mixed = self.kappa * self.V * self.O
        return self.rho * 8 * maximum(stacked([self.V, self.O, mixed * self.K, mixed * self.Q])) / ROOM

    def condition_3(self, first: Any) -> Any:
        """32 rho^2 z / lambda_O: the factor of sqrt(2 l(theta^0)) in Eq. (3)."""
        return self.rho**2 * 32 * self.z(first) / self.O

    def c_1(self) -> Any:
        """Lipschitz constant of f: the first right-hand side of Eq. (36), the larger one since lambda_O >= 1."""
        return self.rho * (self.V + self.O * (1 + self.V * self.slope))

    def c_2(self) -> Any:
        """Bound of the Jacobian of f (Eq. (11))."""
        mixed = self.kappa * self.V * self.O
        return self.rho * sqrt(self.O**2 + self.V**2 + mixed**2 * (self.K**2 + self.Q**2))

    def c_3(self) -> Any:
        """Lipschitz constant of the Jacobian as printed (Eq. (14))."""
        Q, K, V, O, C_x, z, d_s = self.Q, self.K, self.V, self.O, self.C_x, self.slope, self.d_s
        gate = O * C_x * sqrt(d_s) * (1 + V * z) + 1

        def mixed(norm: Any) -> Any:
            inner = norm * C_x**2 * (2 * d_s) * (V * gate + O) + V * O * (C_x**2 * d_s + 3 * K * z)
            return self.tau_0 * self.tau_1 * C_x * d_s * inner

        blocks = [self.per_sample * (1 + V * z), self.per_sample * (O * z + gate), mixed(K), mixed(Q)]
        return sqrt(sum(block**2 for block in blocks) * self.N)

    def c_3_of_fixed_pattern(self) -> Any:
        """Lipschitz constant of the Jacobian while no ReLU changes state.

        As Eqs. (15)-(24) with relu' constant: the term lambda_O C_x sqrt(d_s) (1 + lambda_V z) of Eq. (19) disappears,
        tokens are bounded by sqrt(d_s) C_x, and the last block carries its own norm lambda_Q in front of 3 z.
        """
        Q, K, V, O, C_x, z, d_s = self.Q, self.K, self.V, self.O, self.C_x, self.slope, self.d_s

        def mixed(norm: Any) -> Any:
            inner = norm * C_x**2 * (2 * d_s) * (V + O) + V * O * C_x**2 * d_s * (1 + 3 * norm * z)
            return self.tau_0 * self.per_sample * inner

        blocks = [self.per_sample * (1 + V * z), self.per_sample * (O * z + 1), mixed(K), mixed(Q)]
        return sqrt(sum(block**2 for block in blocks) * self.N)

    def C(self, error: Any) -> Any:
        """C = c_1 c_2 + 2 c_3 l(theta^0) for ||f(theta^0) - y|| = error (Eq. (37))."""
        return self.c_1() * self.c_2() + self.c_3() * error**2

    def C_of_fixed_pattern(self, error: Any) -> Any:
        """c_1 c_2 + c_3 ||f(theta^0) - y||: Eq. (37) with the norm where the last step of Eq. (35) has its square."""
        return self.c_1() * self.c_2() + self.c_3_of_fixed_pattern() * error


def sample_bound(X: Samples) -> Any:
    """The smallest C_x with ||X_n||_F <= sqrt(d_s) C_x for all n (Assumption 1)."""
    norms = stacked([frobenius_norm(X[n]) for n in range(X.shape[0])])
    return maximum(norms) / sqrt(X.shape[1])


def _assumption_1(X: Any, C_x: Any) -> Any:
    return stacked([C_x * sqrt(X.shape[1]) - frobenius_norm(X[n]) for n in range(X.shape[0])])


def _initial_error(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    """||f(theta^0) - y||_2 = sqrt(2 l(theta^0))."""
    return frobenius_norm(outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - y)


def _conditions(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any) -> Any:
    """Left minus right sides of Eqs. (2) and (3), the latter with lambda_O and with lambda_Q in z; shape (3,)."""
    at_start = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x)
    error = _initial_error(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    second = at_start.alpha**2 - at_start.condition_2() * error
    third = [at_start.alpha**3 - at_start.condition_3(first) * error for first in (at_start.O, at_start.Q)]
    return stacked([second, *third])


def room_below(constant: Callable[[Bounds, Any], Any]) -> Callable[..., Any]:
    """The test of gamma <= 1 / constant."""

    def room(
        X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any, gamma: Any
    ) -> Any:
        at_start = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x)
        return 1 - gamma * constant(at_start, _initial_error(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1))

    return room


def inputs_near_labels(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, direction: Any, share: Any, pace: Any,
    constant: Callable[[Bounds, Any], Any],
) -> dict[str, Any]:  # fmt: skip
    """Inputs that satisfy the assumptions: ||f - y|| a share of what (2) and (3) allow, gamma = pace / constant."""
    C_x = sample_bound(X)
    at_start = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x)
    # with p and q the factors of Eqs. (2) and (3), 1 / (p/alpha^2 + q/alpha^3) meets both; q covers both readings of z
    p, q = at_start.condition_2(), at_start.condition_3(at_start.O) + at_start.condition_3(at_start.Q)
    allowed = share * at_start.alpha**3 / (p * at_start.alpha + q + TINY)
    error = direction / (frobenius_norm(direction) + TINY) * allowed
    return {
        "X": X,
        "y": outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - error,
        "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O, "tau_0": tau_0, "tau_1": tau_1, "C_x": C_x,
        "gamma": pace / (constant(at_start, allowed) + TINY),
    }  # fmt: skip


def loss_along_descent(
    X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, gamma: Any
) -> Any:
    """l(theta^1), ..., l(theta^STEPS), shape (STEPS,)."""
    path = gradient_descent(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma, STEPS)
    return stacked([squared_loss(X, y, **theta, tau_0=tau_0, tau_1=tau_1) for theta in path[1:]])


def _decay(start: Any, factor: Any) -> Any:
    """factor^t start for t = 1, ..., STEPS, shape (STEPS,)."""
    values = []
    for _ in range(STEPS):
        start = start * factor
        values.append(start)
    return stacked(values)


SETUP: list[str | Assumption] = [
    "f and F_pre of Eqs. (1.1)-(1.2), squared loss, full-batch gradient descent (Algorithm 1) with relu'(0) = 0",
    "d_m >= N",
    "C_Q = C_K = C_V = C_O = 1",
    Assumption("Assumption 1: ||X_n||_F <= sqrt(d_s) C_x", nonnegative=_assumption_1),
    Assumption("Eqs. (2) and (3), the latter with lambda_O and with lambda_Q in z", nonnegative=_conditions),
    Assumption("tau_0, tau_1, gamma > 0", positive=lambda tau_0, tau_1, gamma: stacked([tau_0, tau_1, gamma])),
]

PROP_1 = Claim(
    CONVERGENCE,
    "convergence.prop-1",
    label="Proposition 1, Eqs. (2)-(4)",
    statement=r"\text{If }\alpha=\sigma_{\min}(F^0_{pre})\text{ satisfies } \alpha^2\ge 8\rho\max("
    r"\bar\lambda_VC_O^{-1},\bar\lambda_OC_V^{-1},2\tau_0C_x^2d_s\bar\lambda_K\bar\lambda_V\bar\lambda_OC_Q^{-1},"
    r"2\tau_0C_x^2d_s\bar\lambda_Q\bar\lambda_V\bar\lambda_OC_K^{-1})\sqrt{2\ell(\theta^0)}\ (2),"
    r"\ \alpha^3\ge 32\rho^2z\sqrt{2\ell(\theta^0)}/\bar\lambda_O\ (3),\text{ and }\gamma\le1/C,"
    r"\ C\text{ depending on }(\bar\lambda_Q,\bar\lambda_K,\bar\lambda_V,\bar\lambda_O,\ell(\theta^0),\rho,\tau_0),"
    r"\text{ then }\ell(\theta^t)\le(1-\gamma\tfrac{\alpha^2}{2})^t\ell(\theta^0)\ \forall t\ge0\ (4)",
    assumptions=[*SETUP, Assumption("gamma <= 1/C, C of Eq. (37)", nonnegative=room_below(Bounds.C))],
    relation=AtMost(ascent=False),
    # two samples and a spare neuron, so that a ReLU can change its state without F_pre losing rank
    sizes={"N": (2, 2), "d_s": (1, 2), "d": (1, 2), "d_m": (3, 5)},
    where=lambda sizes: sizes["d_m"] >= sizes["N"],
    expects="refuted",
    severity="error",
    proof=(
        "convergence.eq-26-34",
        "convergence.fpre-chain",
        "convergence.eq-35",
        "convergence.eq-36",
        "convergence.eq-37",
        "convergence.descent-chain",
        "convergence.rate-last-line",
    ),
    correction="convergence.prop-1-fixed-pattern",
    doubt="z shows lambda_O^2 in its inner bracket, Table 2 and Appendix C.2 lambda_Q^2; Eq. (3) is required in both"
    " readings. The updates printed in Algorithm 1 are damaged; plain gradient descent on all weights is taken, as the"
    " text says. The two right-hand sides of Eq. (36) differ by a factor lambda_O; c_1 is the larger. Section 4.1 says that the"
    " proposition 'holds with high probability under some conditions', to be validated in Sections 4.2 and 4.3; what is validated"
    " there is (2) and (3), so that, given these, the proposition is taken as it stands. That (4) holds with high probability"
    " over a Gaussian start at large width, where few neurons come near to their kinks, is not denied.",
    note="Eq. (19) bounds the change of relu' as if relu' were Lipschitz; it jumps. In the counterexample the third"
    " neuron sits just above its kink on the first sample: one step carries it below, where it stops lowering f(X_1)"
    " and starts raising f(X_2), and the loss grows. No other C made of the printed quantities helps: for"
    " W_V = (1, -1, e) the relative loss after one step tends to 1 + 2 gamma + 5 gamma^2 as e -> 0, for every"
    " gamma > 0. With (a, -a, e), 2 a^2 + e^2 = 2, and labels that keep l(theta^0), all that C may depend on is the same"
    " for every e. Eqs. (2), (3) and the violation are strict and no pre-activation is zero, so a neighbourhood of these"
    " weights breaks (4), and Gaussian initialisation meets it with positive probability.",
)


@PROP_1.inputs
def close_labels(
    X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, direction: Direction, share: Share, pace: Share,
) -> dict[str, Any]:  # fmt: skip
    return inputs_near_labels(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, direction, share, pace, Bounds.C)


@PROP_1.formula
def printed_decay(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    """(1 - gamma alpha^2 / 2)^t l(theta^0) for t = 1, ..., STEPS (Eq. (4))."""
    alpha = smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1))
    return _decay(squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1), 1 - gamma * alpha**2 / 2)


@PROP_1.oracle
def trained_loss(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    return loss_along_descent(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma)


PROP_1.mutant("alpha instead of alpha^2", "gamma * alpha ** 2 / 2 -> gamma * alpha")
PROP_1.mutant("step size dropped", "gamma * alpha ** 2 -> alpha ** 2")


@PROP_1.domain("near a kink")
def near_a_kink(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Samples of opposite sign, one neuron for each, and a third a hair above zero with a large output weight."""
    for name in ("X", "W_Q", "W_K", "W_V", "w_O"):
        arrays[name][:] = 0.0
    arrays["X"][:, 0, :, 0], arrays["X"][:, 1, :, 0] = 1.0, -1.0
    arrays["W_V"][:, 0, 0], arrays["W_V"][:, 1, 0], arrays["W_V"][:, 2, 0] = 1.0, -1.0, 2.0**-44
    arrays["w_O"][:, 2, 0] = rng.choice([1.5, 2.0, 3.0], len(arrays["w_O"]))
    arrays["direction"][:] = 1.0


def third_neuron_near_its_kink(height: Fraction, gamma: Fraction) -> dict[str, Any]:
    label = Fraction(-1, 10**4)
    return {
        "X": [[[1]], [[-1]]],
        "y": [[label], [label]],
        "W_Q": [[0], [0], [0]],
        "W_K": [[0], [0], [0]],
        "W_V": [[1], [-1], [height]],
        "w_O": [[0], [0], [2]],
        "tau_0": Fraction(1, 3),
        "tau_1": Fraction(1),
        "C_x": Fraction(1),
        "gamma": gamma,
    }


PROP_1.counterexample(
    "d = d_s = 1, samples 1 and -1, three neurons, the third just above its kink; C < 237, gamma = 1/300",
    lambda: third_neuron_near_its_kink(Fraction(1, 10**7), Fraction(1, 300)),
)
PROP_1.counterexample(
    "the same, nearer to the kink, with gamma = 10^-6: a shorter step does not help",
    lambda: third_neuron_near_its_kink(Fraction(1, 10**12), Fraction(1, 10**6)),
)


def distance_to_kinks(
    X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any, gamma: Any
) -> Any:
    """For every step and pre-activation: its size minus the most that it can move on the way to the next iterate.

    A pre-activation W_V X^T beta_i moves by at most sqrt(d_s) C_x (1 + lambda_V z) ||theta^{t+1} - theta^t|| (Eq. (6)).
    """
    at_start = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, C_x)
    speed = C_x * sqrt(at_start.d_s) * (1 + at_start.V * at_start.slope)
    path = gradient_descent(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma, STEPS)
    margins: list[Any] = []
    for theta, following in pairwise(path):
        moved = sqrt(sum(total((a - b) * (a - b)) for a, b in zip(theta.values(), following.values(), strict=True)))
        for n in range(at_start.N):
            sizes = absolute(self_attention(X[n], theta["W_Q"], theta["W_K"], theta["W_V"], tau_0)).reshape(-1)
            margins += [sizes[k] - speed * moved for k in range(sizes.shape[0])]
    return stacked(margins)


FIXED_PATTERN = Claim(
    CONVERGENCE,
    "convergence.prop-1-fixed-pattern",
    label="Proposition 1, while no ReLU changes its state",
    statement=r"\text{If (2), (3) hold, no pre-activation changes its sign along the segments }"
    r" [\theta^t,\theta^{t+1}],\text{ and } \gamma\le 1/C',\ C'=c_1c_2+c_3'\sqrt{2\ell(\theta^0)},\text{ then }"
    r" \ell(\theta^t)\le(1-\gamma\tfrac{\alpha^2}{2})^t\ell(\theta^0)\ \forall t\ge0",
    assumptions=[
        *SETUP,
        Assumption("gamma <= 1/C'", nonnegative=room_below(Bounds.C_of_fixed_pattern)),
        Assumption(
            "no pre-activation changes its sign: each exceeds the most it can move along the next segment",
            positive=distance_to_kinks,
        ),
    ],
    relation=AtMost(ascent=False),
    sizes={"N": (1, 3), "d_s": (1, 2), "d": (1, 2), "d_m": (1, 4)},
    where=lambda sizes: sizes["d_m"] >= sizes["N"],
    corrects="convergence.prop-1",
    of_project=True,
    uses=(
        "convergence.eq-37-fixed-pattern",
        "convergence.descent-chain-fixed-pattern",
        "convergence.rate-from-condition-3",
    ),
    note="On a fixed pattern f is smooth along each segment, c_3' is a true Lipschitz constant of its Jacobian, and the"
    " induction of Appendix C.2 goes through. Eq. (3) keeps F_pre within alpha/8 of its start, so that sigma_min(F_pre^t) >="
    " 7 alpha / 8, which gives the printed rate alpha^2/2; the alpha/2 of the induction would give alpha^2/4.",
)


@FIXED_PATTERN.inputs
def close_labels_of_fixed_pattern(
    X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, direction: Direction, share: Share, pace: Share,
) -> dict[str, Any]:  # fmt: skip
    return inputs_near_labels(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, direction, share, pace, Bounds.C_of_fixed_pattern)


@FIXED_PATTERN.domain("beside a kink")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """As in the counterexample to Proposition 1, with the third neuron far enough from zero to stay on its side."""
    if sizes["N"] == 2 and sizes["d_m"] >= 3:
        near_a_kink(arrays, sizes, rng)
        arrays["W_V"][:, 2, 0] = 2.0 ** rng.integers(-16, -2, len(arrays["W_V"]))


@FIXED_PATTERN.domain("output weights zero")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Where the kernel is F_pre F_pre^T alone, and the loss falls as slowly as alpha allows."""
    arrays["w_O"][:] = 0.0


@FIXED_PATTERN.formula
def decay_of_fixed_pattern(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    """(1 - gamma alpha^2 / 2)^t l(theta^0) for t = 1, ..., STEPS."""
    alpha = smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1))
    return _decay(squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1), 1 - gamma * alpha**2 / 2)


@FIXED_PATTERN.oracle
def trained_loss_of_fixed_pattern(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    return loss_along_descent(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma)


@FIXED_PATTERN.mutant("largest singular value of F_pre")
def _(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive, gamma: Positive,
) -> Any:  # fmt: skip
    largest = singular_values(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1))[0]
    return _decay(squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1), 1 - gamma * largest**2 / 2)


FIXED_PATTERN.mutant("alpha instead of alpha^2", "alpha ** 2 -> alpha")
FIXED_PATTERN.mutant("4 in the numerator", "gamma * alpha ** 2 / 2 -> gamma * alpha ** 2 * 4")
