"""The induction of Appendix C.2: how far the weights and the last hidden layer move, Eqs. (26)-(34) and after.

f and F_pre are the sums over tokens of Appendix C.2, with the weights as one matrix (`constants.split`).  For the
average of Eq. (1.2) outputs, gradients and F_pre are d_s times smaller, so the same bounds hold.  z of Proposition 1 and the
remark on its step size, which is refuted, are here too.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE, definitions
from theorems.convergence.definitions import KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, NORMS, SCALES_POSITIVE, TWO_C_1, Z_WITH_O, NormBounds, PositiveScale, Scalars, Theta, joined, split,
    stacked, two_ends,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.extreme_inputs import close_pairs, dominating_token, equal_samples
from theorems.convergence.part_d_1_limiting_kernel.gradients import network_jacobian
from verify.matrix import frobenius_norm, maximum, rational, smallest_singular_value, spectral_norm, sqrt
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, Equal, Real, Setting, Size

Count = Annotated[int, Size("N")]
Length = Annotated[int, Size("d_s")]
Step = Annotated[Any, Real(0.00390625, 0.25)]

SMALL = {"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)}


PROP_1_Z = Claim(CONVERGENCE, "convergence.prop-1-z",
    label="Prop. 1, second bullet, versus Table 2 and the F_pre chain of C.2",
    statement=r"""z\triangleq\bar\lambda_O^2(1+4\tau_0^2C_x^4d_s^2\bar\lambda_V^2(\bar\lambda_O^2+\bar\lambda_K^2))\
        [\text{Prop. 1}];\quad
        z\triangleq\bar\lambda_O^2(1+4\tau_0^2C_x^2d_s^2\bar\lambda_V^2(\bar\lambda_Q^2+\bar\lambda_K^2))\ [\text{Table
        2}];\quad \rho^2\bar\lambda_O[1+4\tau_0^2C_x^4d_s^2\bar\lambda_V^2(\bar\lambda_Q^2+\bar\lambda_K^2)]=\rho^2
        z/\bar\lambda_O\ [\text{C.2}]""",
    assumptions=[Assumption("all lambdas positive", positive=lambda Q, K, V, O: stacked([Q, K, V, O]))],
    name="auxiliary constant of Proposition 1", relation=Equal(), all_sizes=True, sizes={"N": (1, 4), "d_s": (1, 4)},
    doubt=Doubt((Z_WITH_O, r"4\tau_0^2 C_x^2 d_s^2 \bar{\lambda}_V^2 \left(\bar{\lambda}_Q^2 + \bar{\lambda}_K^2"),
        r"""Proposition 1 shows $\lambda_O^2$ in its inner bracket, Table 2 and Appendix C.2 $\lambda_Q^2$; Table 2
            shows $C_x^2$, Proposition 1 and Appendix C.2 $C_x^4$. Taken is $\lambda_Q^2$ with $C_x^4$, as the proof
            writes $z$ out. The extraction takes O for Q elsewhere, and the rows of Table 2 beside $z$ are damaged
            ($W_O$ for $W_Q$, a squared norm in $\lambda_V$)."""),
    note=r"""The bounds (26), (33), (34) on the weights put into Lemma 9, each per unit of $\gamma \sum_s \sqrt{2
        \ell(\theta^s)}$, give $\rho^2 z / \lambda_O$ with this $z$ and with neither of the other two. Compared at
        $\tau_1 = 1$: both sides have the factor $\tau_1^2$, and $z$ has none.""")  # fmt: skip


def _rho_squared_z(N: Any, d_s: Any, tau_0: Any, C_x: Any, Q: Any, K: Any, V: Any, O: Any, four: Any = 4,
                   power: int = 4) -> Any:  # fmt: skip
    attention = four * tau_0**2 * C_x**power * d_s**2 * V**2
    return C_x**2 * (N * d_s**3) * O**2 * (1 + attention * (Q**2 + K**2))


@PROP_1_Z.formula
def z_needed(N: Count, d_s: Length, tau_0: PositiveScale, C_x: PositiveScale, Q: PositiveScale, K: PositiveScale,
             V: PositiveScale, O: PositiveScale) -> Any:  # fmt: skip
    """rho^2 z / lambda_O at tau_1 = 1, with lambda_Q and C_x^4 in z."""
    return _rho_squared_z(N, d_s, tau_0, C_x, Q, K, V, O) / O


@PROP_1_Z.oracle
def movement_of_hidden_layer(N: Any, d_s: Any, tau_0: Any, C_x: Any, Q: Any, K: Any, V: Any, O: Any) -> Any:
    b = Scalars(N, d_s, tau_0, rational(1), C_x, Q, K, V, O)
    moved = b.speeds()
    return b.rho * (moved["W_V"] + V * b.kappa * (Q * moved["W_K"] + K * moved["W_Q"]))


PROP_1_Z.mutant("lambda_O in place of lambda_Q, as Prop. 1 shows", "Q -> O")
PROP_1_Z.mutant("C_x^2, as Table 2 shows", power=2)
PROP_1_Z.mutant("4 dropped", four=1)


# -- the step size -----------------------------------------------------------------------------------------------------


def _C(N: int, d_s: int, tau_0: Any, C_x: Any, lam: Any, loss: Any) -> tuple[Any, Any]:
    """c_1 c_2 and 2 c_3 l(theta^0) with all lambdas equal and tau_1 = 1."""
    b = Scalars(N, d_s, tau_0, rational(1), C_x, lam, lam, lam, lam)
    return b.c_1() * b.c_2(), 2 * b.c_3() * loss


POSITIVE_CONSTANTS = Assumption(
    "tau_0, C_x, lambda, l(theta^0) > 0", positive=lambda tau_0, C_x, lam, loss: stacked([tau_0, C_x, lam, loss])
)

STEPSIZE = Claim(CONVERGENCE, "convergence.prop-1-stepsize", label="Remark after Prop. 1",
    statement=r"""\text{The step-size }\gamma\text{ is inversely proportional to }N^{1/2}\text{ due to the construction
        of }C\text{ in Appendix C.2.}""",
    assumptions=[
        Definition("C = c_1 c_2 + 2 c_3 l(theta^0), Eqs. (11), (14), (36), (37), gamma = 1/C", by=_C),
        Definition("all else fixed, l(theta^0) included; all lambdas equal, tau_1 = 1", by=_C),
        POSITIVE_CONSTANTS,
    ],
    name="step size and number of samples", relation=Equal(), sizes={"N": (1, 4), "d_s": (1, 3)}, expects="refuted",
    severity="error", correction="convergence.prop-1-stepsize-exponent",
    doubt=Doubt(TWO_C_1, "Eq. (36) prints $c_1$ in two ways; both have the same power of $N$."),
    note=r"""Read as $C(4N) = 2 C(N)$. $c_1$ and $c_2$ each carry $N^{1/2}$, so $c_1 c_2$ is proportional to $N$ and
        $\gamma$ at best to $1/N$; where $\ell(\theta^0)$ itself grows like $N$, as for labels of fixed size, $c_3
        \ell(\theta^0)$ grows like $N^{3/2}$.""")  # fmt: skip


@STEPSIZE.formula
def printed_growth(N: Count, d_s: Length, tau_0: PositiveScale, C_x: PositiveScale, lam: PositiveScale,
                   loss: PositiveScale) -> Any:  # fmt: skip
    """C at 4 N samples if it is proportional to N^{1/2}: 2 C(N)."""
    return sum(_C(N, d_s, tau_0, C_x, lam, loss)) * 2


STEPSIZE.oracle(lambda N, d_s, tau_0, C_x, lam, loss: sum(_C(4 * N, d_s, tau_0, C_x, lam, loss)))
STEPSIZE.mutant("independent of N", lambda value: value / 2)
STEPSIZE.mutant("proportional to N", "2 -> 4")
STEPSIZE.counterexample(
    "all quantities 1, from N = 1 to N = 4: C grows by more than the factor 2",
    N=1, d_s=1, tau_0=Fraction(1), C_x=Fraction(1), lam=Fraction(1), loss=Fraction(1),
)  # fmt: skip


STEPSIZE_EXPONENT = Claim(CONVERGENCE, "convergence.prop-1-stepsize-exponent", label="The powers of N in C",
    statement=r"""C(N)=c_1c_2+2c_3\ell(\theta^0)\text{ of Eqs. (11), (14), (36), (37), at
        }N:\quad C(4N)=4c_1c_2+2\cdot2c_3\ell(\theta^0)\ [\ell(\theta^0)\text{ fixed}],\qquad
        C(4N)=4c_1c_2+8\cdot2c_3\ell( \theta^0)\ [\ell(\theta^0)\propto N]""",
    name="step size and number of samples, corrected", assumptions=[
        Definition("all lambdas fixed and equal, tau_1 = 1", by=_C), POSITIVE_CONSTANTS,
    ], relation=Equal(),
    all_sizes=True,
    sizes={"N": (1, 4), "d_s": (1, 3)}, corrects="convergence.prop-1-stepsize", of_project=True,
    note=r"So $C$ is of order $N$ for fixed $\ell(\theta^0)$, and of order $N^{3/2}$ for labels of fixed size.",
)  # fmt: skip


@STEPSIZE_EXPONENT.formula
def powers_of_N(N: Count, d_s: Length, tau_0: PositiveScale, C_x: PositiveScale, lam: PositiveScale,
                loss: PositiveScale) -> Any:  # fmt: skip
    """C at 4 N samples from its two terms at N, for l(theta^0) fixed and proportional to N, shape (2,)."""
    smooth, jump = _C(N, d_s, tau_0, C_x, lam, loss)
    return stacked([4 * smooth + 2 * jump, 4 * smooth + 8 * jump])


@STEPSIZE_EXPONENT.oracle
def C_at_four_times_N(N: Any, d_s: Any, tau_0: Any, C_x: Any, lam: Any, loss: Any) -> Any:
    return stacked([sum(_C(4 * N, d_s, tau_0, C_x, lam, each)) for each in (loss, 4 * loss)])


STEPSIZE_EXPONENT.mutant("N^{1/2} in both terms", "4 -> 2")
STEPSIZE_EXPONENT.mutant("N in both terms", "2 -> 4; 8 -> 4")


class TwoSteps:
    """theta^0, theta^1, theta^2 of gradient descent, their losses, and the constants of the induction at t = 1.

    u^2 = l(theta^1) / l(theta^0) is the smallest for which the last line of Eq. (25) holds at s = 0, 1, and alpha^2 =
    2 (1 - u^2) / gamma; each lambda is the largest norm on the way.
    """

    def __init__(self, X: Any, y: Any, theta: Any, tau_0: Any, tau_1: Any, gamma: Any) -> None:
        self.gamma, self.path, self.slopes, self.losses = gamma, [split(theta)], [], []
        for _ in range(2):
            W = self.path[-1]
            error = definitions.outputs(X, **W, tau_0=tau_0, tau_1=tau_1, pooling="sum") - y
            slope = (network_jacobian(X, **W, tau_0=tau_0, tau_1=tau_1).T @ error).reshape(-1)
            self.losses.append((error * error).sum() * rational(1, 2))
            ends = list(accumulate(W[name].shape[0] * W[name].shape[1] for name in definitions.WEIGHTS))
            starts = zip(definitions.WEIGHTS, [0, *ends], ends, strict=False)
            parts = {name: slope[start:end].reshape(*W[name].shape) for name, start, end in starts}
            self.slopes.append(parts)
            self.path.append({name: W[name] - parts[name] * gamma for name in definitions.WEIGHTS})
        self.b = NormBounds(X, self.path[:2], tau_0, tau_1)
        self.u = sqrt(self.losses[1] / self.losses[0])
        self.alpha_squared = 2 * (1 - self.u**2) / gamma
        self.error = sqrt(2 * self.losses[0])

    def lines(self, bound: Any = 4, speeds: Callable[[Scalars], dict[str, Any]] = Scalars.speeds) -> list[list[Any]]:
        """For each weight what its movement is bounded by in turn, ending with the least C_W that Eq. (2) allows."""
        rows = []
        for name in definitions.WEIGHTS:
            speed, u, a = speeds(self.b)[name], self.u, self.alpha_squared
            rows.append(
                [
                    self.gamma * sum(frobenius_norm(parts[name]) for parts in self.slopes),
                    self.gamma * speed * sum(sqrt(2 * loss) for loss in self.losses),
                    speed * (2 / a) * (1 - u**2) * (1 - u**2) / (1 - u) * self.error,
                    speed * bound / a * self.error,
                    8 * speed * self.error / a,
                ]
            )
        return rows


def loss_falls(X: Any, y: Any, theta: Any, tau_0: Any, tau_1: Any, gamma: Any) -> Any:
    run = TwoSteps(X, y, theta, tau_0, tau_1, gamma)
    return stacked([run.losses[1], run.losses[0] - run.losses[1]])


EQ_26_34 = Claim(CONVERGENCE, "convergence.eq-26-34", label="Eqs. (26)-(29), (31), (33), (34)",
    statement=r"""\|W_Q^{t+1}-W_Q^0\|_F\le \sum_{s=0}^t\|W_Q^{s+1}-W_Q^s\|_F=\gamma \sum_{s=0}^t\|\nabla_{W_Q}\ell(
        \theta^s)\|_F \le2\gamma\rho\tau_0\bar\lambda_K\bar \lambda_V\bar\lambda_Od_sC_x^2
        \sum_{s=0}^t\sqrt{2\ell(\theta^s)} \le2\gamma\rho\tau_0\bar\lambda_K\bar \lambda_V\bar\lambda_Od_sC_x^2
        \sum_{s=0}^t(1-\gamma \tfrac{\alpha^2}2)^{s/2}\sqrt{2\ell( \theta^0)},\ u:=\sqrt{1-\gamma\alpha^2/2}:\
        \rho2\tau_0\bar\lambda_K\bar\lambda_V \bar\lambda_Od_sC_x^2 \tfrac2{\alpha^2}(1-u^2)
        \tfrac{1-u^{t+1}}{1-u}\sqrt{2\ell( \theta^0)} \le\rho2\tau_0\bar\lambda_K\bar\lambda_V
        \bar\lambda_Od_sC_x^2\tfrac4{\alpha^2} \sqrt{2\ell(\theta^0)} \le C_Q\ (\text{by Eq. (2)});\quad
        \|w_O^{t+1}-w_O^0\|_2\le\sum_{s=0}^t\|w_O^{s+1}-w_O^s\|_2 =\gamma\sum_{s=0}^t\|\nabla_{w_O}\Phi(W^s)\|_2
        \le\gamma\rho\bar\lambda_V\sum_{s=0}^t\sqrt{2\ell(\theta^s)} \le\gamma\rho\bar\lambda_V \sum_{s=0}^t(1-\gamma
        \tfrac{\alpha^2}2)^{s/2}\sqrt{2\ell( \theta^0)} \le\rho\bar\lambda_V \tfrac2{\alpha^2}(1-u^2)
        \tfrac{1-u^{t+1}}{1-u}\sqrt{2\ell( \theta^0)} \le\rho\bar\lambda_V\tfrac4{\alpha^2}\sqrt{2\ell(\theta^0)}\le
        C_O;\quad \|W_K^{t+1}-W_K^0\|_F\le2\rho\tau_0\bar \lambda_Q\bar\lambda_V\bar \lambda_Od_sC_x^2\tfrac4{\alpha^2}
        \sqrt{2\ell(\theta^0)},\ \|W_K^{t+1}\|_2\le\bar\lambda_K;\quad \|W_V^{t+1}-W_V^0\|_F\le\rho\bar
        \lambda_O\tfrac4{\alpha^2}\sqrt{2\ell( \theta^0)},\ \|W_V^{t+1}\|_2\le\bar\lambda_V""",
    assumptions=[
        ASSUMPTION_1,
        Definition("Eq. (25) up to t = 1, with the least lambdas and the largest alpha for which it holds", by=TwoSteps),
        *SCALES_POSITIVE,
        Assumption("gamma > 0", positive=lambda gamma: gamma),
        Assumption("gamma alpha^2 / 2 in (0, 1)", positive=loss_falls),
        Definition("Eq. (2), with the least C_Q, C_K, C_V, C_O", by=TwoSteps.lines),
    ],
    name="movement of the weights during training", relation=AtMost(ascent=False), sizes=SMALL,
    uses=("convergence.d1-gradients", "convergence.gradient-wk", "convergence.lemma-12"),
    doubt=Doubt(r"\nabla_{\boldsymbol{w}_{O}} \Phi(\boldsymbol{W}^{s})", r"""Eq. (26) has the loss $\ell(\theta^s)$ in
            this place; $\Phi$ is another thing in this paper."""),
    note="""The induction hypothesis is what Proposition 1 fails to establish (Eq. (37)); granted it, these lines hold,
        with a factor 2 to spare in Eq. (29).""")  # fmt: skip


@EQ_26_34.inputs
def errors_given(X: Samples, error: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                 tau_0: PositiveScale, tau_1: PositiveScale, gamma: Step) -> dict[str, Any]:  # fmt: skip
    y = definitions.outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - error
    return {"X": X, "y": y, "theta": joined(W_Q, W_K, W_V, w_O), "tau_0": tau_0, "tau_1": tau_1, "gamma": gamma}


EQ_26_34.domain("equal samples", equal_samples)
EQ_26_34.domain("dominating token", dominating_token)


@EQ_26_34.formula
def movement_bounds(X: Samples, y: Labels, theta: Theta, tau_0: Any, tau_1: Any, gamma: Any) -> Any:
    """The right-hand sides for W_Q, W_K, W_V, w_O in turn, shape (20,)."""
    run = TwoSteps(X, y, theta, tau_0, tau_1, gamma)
    return stacked([line for row in run.lines() for line in row])


@EQ_26_34.oracle
def movements(X: Samples, y: Labels, theta: Theta, tau_0: Any, tau_1: Any, gamma: Any) -> Any:
    run = TwoSteps(X, y, theta, tau_0, tau_1, gamma)
    moved = [frobenius_norm(run.path[2][name] - run.path[0][name]) for name in definitions.WEIGHTS]
    return stacked([side for start, row in zip(moved, run.lines(), strict=True) for side in [start, *row[:-1]]])


def _exchanged_speeds(b: Scalars) -> dict[str, Any]:
    speeds = b.speeds()
    return {**speeds, "W_V": speeds["w_O"], "w_O": speeds["W_V"]}


def _half_speeds(b: Scalars) -> dict[str, Any]:
    return {name: speed * rational(1, 2) for name, speed in b.speeds().items()}


EQ_26_34.mutant("2 / alpha^2 for 4 / alpha^2", "run.lines() -> run.lines(bound=2)")
EQ_26_34.mutant("lambda_O for w_O and lambda_V for W_V", "run.lines() -> run.lines(speeds=_exchanged_speeds)")
EQ_26_34.mutant("rho halved", "run.lines() -> run.lines(speeds=_half_speeds)")


# -- the chain for F_pre -----------------------------------------------------------------------------------------------


class Hidden:
    """F_pre at theta^0 and theta^{t+1}, and the least S = gamma sum_s sqrt(2 l(theta^s)) that (26), (33), (34) allow."""

    def __init__(self, X: Any, theta: Any, theta_0: Any, tau_0: Any, tau_1: Any) -> None:
        self.ends = [split(theta), split(theta_0)]
        self.b = NormBounds(X, self.ends, tau_0, tau_1)
        self.moved = {name: spectral_norm(self.ends[0][name] - self.ends[1][name]) for name in definitions.WEIGHTS}
        self.F, self.F_0 = (
            definitions.last_hidden_layer(X, W["W_Q"], W["W_K"], W["W_V"], tau_0, tau_1, "sum") for W in self.ends
        )
        # every bound of a movement is at least this fraction of S; a weight of norm 0 leaves its bound undefined
        speeds = self.b.speeds()
        self.S = maximum(stacked([self.moved[name] / speeds[name] for name in ("W_Q", "W_K", "W_V")]))

    def lines(self, kappa: Any) -> list[Any]:
        """The first three right-hand sides, kappa being the factor of the change of attention in the first."""
        b, (W, W_0), moved = self.b, self.ends, self.moved
        attention = spectral_norm(W["W_Q"]) * moved["W_K"] + spectral_norm(W_0["W_K"]) * moved["W_Q"]
        mixed = b.rho * b.kappa * (b.K**2 + b.Q**2) * b.V * b.O
        return [
            b.rho * (moved["W_V"] + spectral_norm(W_0["W_V"]) * attention * kappa),
            b.rho * (b.rho * b.O + b.V * b.kappa * mixed) * self.S,
            b.rho**2 * b.z(b.Q) / b.O * 4 * self.S,
        ]

    def lefts(self, kappa: Any) -> Any:
        """||F_pre^{t+1} - F_pre^0||_F, the first two lines, and what Weyl's inequality bounds."""
        weyl = smallest_singular_value(self.F_0) - smallest_singular_value(self.F)
        return stacked([frobenius_norm(self.F - self.F_0), *self.lines(kappa)[:2], weyl])

    def rights(self, kappa: Any) -> Any:
        return stacked([*self.lines(kappa), frobenius_norm(self.F - self.F_0)])


def _weights_present(X: Any, theta: Any, theta_0: Any, tau_0: Any, tau_1: Any) -> Any:
    b = NormBounds(X, [split(theta), split(theta_0)], tau_0, tau_1)
    return stacked([b.C_x, b.Q, b.K, b.V, b.O])


_CHAIN = (
    r"\|F_{pre}^{t+1}-F_{pre}^0\|_F\le\rho\{\|W_V^{t+1}-W_V^0\|_2+\|W_V^0\|_22\tau_0C_x^2%s(\|W_Q^{t+1}\|_2\|W_K^{t+1}-"
    r"W_K^0\|_2+\|W_K^0\|_2\|W_Q^{t+1}-W_Q^0\|_2)\}\le\sum_{s=0}^t\gamma\rho\{\rho\bar\lambda_O\sqrt{2\ell(\theta^s)}+"
    r"\bar\lambda_V2\tau_0C_x^2d_s[2\rho\tau_0(\bar\lambda_K^2+\bar\lambda_Q^2)\bar\lambda_V\bar\lambda_OC_x^2d_s\sqrt{2"
    r"\ell(\theta^s)}]\}\le\rho^2\bar\lambda_O[1+4\tau_0^2C_x^4d_s^2\bar\lambda_V^2(\bar\lambda_Q^2+\bar\lambda_K^2)]"
    r"\tfrac{16}{\alpha^2}\sqrt{2\ell(\theta^0)}=\rho^2\tfrac z{\bar\lambda_O}\tfrac{16}{\alpha^2}\sqrt{2\ell(\theta^0)}"
    r"\le\tfrac12\alpha\ (\text{by (3)});\ \text{hence }\sigma_{\min}(F_{pre}^{t+1})\ge\tfrac12\alpha"
)


def _values_move(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """One active neuron whose value weights move, with little attention: where the first line is nearly attained."""
    equal_samples(arrays, sizes, rng)
    for name in definitions.WEIGHTS:
        if sizes["d_s"] == 1:
            arrays[name][:] = np.abs(arrays[name])
            if name in ("W_Q", "W_K"):
                arrays[name][:, 0, 0] = 2.0**-10
        arrays[f"{name}_0"][:] = arrays[name]
    arrays["W_V"][:, 0, 0] *= 1.5


GRANTED = Setting(
    CONVERGENCE,
    "Appendix C.2, after Eq. (34)",
    assumptions=[
        ASSUMPTION_1,
        NORMS,
        Definition(
            "theta^0 and theta^{t+1} any weights that move no further than (26), (33), (34) say, which gives gamma sum_s"
            " sqrt(2 l(theta^s)) its least value S; S <= (4 / alpha^2) sqrt(2 l(theta^0)) as after Eq. (27), Eq. (3) with"
            " equality",
            by=Hidden,
        ),
        *SCALES_POSITIVE,
        Assumption("C_x and all lambdas positive", positive=_weights_present),
    ],
    sizes=SMALL,
    inputs=two_ends,
    special_domains={"close pairs": close_pairs, "values move": _values_move},
)

FPRE_CHAIN = Claim(GRANTED, "convergence.fpre-chain", label="C.2, chain bounding ||F_pre^{t+1}-F_pre^0||_F",
    statement=_CHAIN % "",
    name="movement of the hidden layer during training", relation=AtMost(ascent=False, signed=True), expects="refuted",
    severity="slip", correction="convergence.fpre-chain-with-d-s", uses=("convergence.lemma-9", "convergence.lemma-12"),
    doubt=Doubt((
        Z_WITH_O,
        r"\bar{\lambda}_{V}^{2} \left( \bar{\lambda}_{Q}^{2} + \bar{\lambda}_{K}^{2} \right) \right] "
        r"\frac{16}{\alpha^{2}}",
    ),
        r"""$z$ is taken as Appendix C.2 writes it out; Proposition 1 shows $\lambda_O^2$ in its inner bracket. The
            first line shows no trace of damage where $d_s$ is missing."""),
    note=r"""Lemma 9, which the first line quotes, has $d_s$ there, and so have the second line and Eq. (36). Without it
        the line is false for long sequences only: one large pair of opposite tokens, to which all others attend, moves
        every row of attention. With $d_s$ the chain holds. Its $16 / \alpha^2$ may be $4 / \alpha^2$, since $\gamma
        \sum_s u^s \le 4 / \alpha^2$: Eq. (3) then keeps $\sigma_{\min}(F_{pre})$ above $7 \alpha / 8$.""")  # fmt: skip
FPRE_CHAIN_WITH_D_S = Claim(GRANTED, "convergence.fpre-chain-with-d-s",
    label="C.2, chain bounding ||F_pre^{t+1}-F_pre^0||_F, with d_s on its first line",
    statement=_CHAIN % "d_s",
    name="movement of the hidden layer, corrected", relation=AtMost(ascent=False, signed=True), all_sizes=True,
    uses=("convergence.prop-1-z",), corrects="convergence.fpre-chain", of_project=True)  # fmt: skip


@FPRE_CHAIN.formula
def hidden_layer_movement_bounds(X: Samples, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """Three lines as printed, the third equal to alpha / 2, and ||F_pre^{t+1} - F_pre^0||_F again; shape (4,)."""
    h = Hidden(X, theta, theta_0, tau_0, tau_1)
    return h.rights(h.b.kappa / X.shape[1])


@FPRE_CHAIN.oracle
def hidden_layer_movement(X: Samples, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    h = Hidden(X, theta, theta_0, tau_0, tau_1)
    return h.lefts(h.b.kappa / X.shape[1])


@FPRE_CHAIN.at_scale("146 tokens, two of them opposite and large", N=1, d_s=146, d=2, d_m=1)
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """All tokens attend to the large pair, and W_K moves by 1/1000; short sequences cannot show it."""
    X = arrays["X"]
    X[..., 0], X[..., 1] = 1.0, 0.0
    X[:, :, 0], X[:, :, 1] = (12.0, 0.001), (-12.0, 0.001)
    for suffix, moved in (("", 0.001), ("_0", 0.0)):
        for name, row in (("W_Q", (1.0, 0.0)), ("W_K", (moved, 20000.0)), ("W_V", (1.0, 0.1))):
            arrays[name + suffix][:, 0] = row
        arrays["w_O" + suffix][:] = 1.0
    arrays["tau_0"][:] = arrays["tau_1"][:] = 1.0


FPRE_CHAIN.mutant("no attention", "h.b.kappa / X.shape[1] -> 0")
FPRE_CHAIN.mutant("d_s kept", "h.b.kappa / X.shape[1] -> h.b.kappa")


@FPRE_CHAIN.counterexample("146 tokens, two of them opposite and large, and W_K moves by 1/1000")
def _() -> dict[str, Any]:
    b, moved, v = Fraction(1, 1000), Fraction(1, 1000), Fraction(1, 10)
    return {
        "X": [[[12, b], [-12, b], *[[1, 0]] * 144]],
        "theta": [[1, 0, moved, 20000, 1, v, 1]],
        "theta_0": [[1, 0, 0, 20000, 1, v, 1]],
        "tau_0": 1,
        "tau_1": 1,
    }


@FPRE_CHAIN_WITH_D_S.formula
def hidden_layer_movement_bounds_with_d_s(X: Samples, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The same with d_s on the first line, shape (4,)."""
    h = Hidden(X, theta, theta_0, tau_0, tau_1)
    return h.rights(h.b.kappa)


@FPRE_CHAIN_WITH_D_S.oracle
def hidden_layer_movement_with_d_s(X: Samples, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    h = Hidden(X, theta, theta_0, tau_0, tau_1)
    return h.lefts(h.b.kappa)


@FPRE_CHAIN_WITH_D_S.mutant("change of W_V dropped")
def _(X: Samples, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    h = Hidden(X, theta, theta_0, tau_0, tau_1)
    h.moved["W_V"] = h.moved["W_V"] * 0
    return h.rights(h.b.kappa)


FPRE_CHAIN_WITH_D_S.mutant("change of attention dropped", "h.b.kappa -> 0")


@FPRE_CHAIN_WITH_D_S.mutant("z without its attention term")
def _(X: Samples, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    h = Hidden(X, theta, theta_0, tau_0, tau_1)
    first, second, _, last = h.rights(h.b.kappa)
    return stacked([first, second, h.b.rho**2 * h.b.O * 4 * h.S, last])
