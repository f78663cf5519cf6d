"""Sentences of the induction of Appendix C.2: its start, u in (0, 1), Weyl's inequality, the segment between two steps."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE, definitions
from theorems.convergence.definitions import (
    KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights, last_hidden_layer,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, SCALES_POSITIVE, TINY, TWO_C_1, Bounds, PositiveScale, Theta, sample_bound, stacked,
)  # fmt: skip
from theorems.convergence.part_c_2_proposition_1.induction import SMALL, Step, TwoSteps, errors_given, loss_falls
from verify.matrix import frobenius_norm, rational, smallest_singular_value, spectral_norm
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, Real, Shape

Fraction01 = Annotated[Any, Real(0.0, 1.0)]
OtherValueWeights = Annotated[Any, Shape("d_m", "d")]

# -- the start ---------------------------------------------------------------------------------------------------------

START = Claim(CONVERGENCE, "convergence.c2-induction-start", label="C.2, Eq. (25) at t = 0",
    statement=r"\text{It is clear that Eq. (25) holds for }t=0.", name="start of the induction",
    relation=AtMost(ascent=False), all_sizes=True,
    assumptions=[
        Assumption("C_Q, C_K, C_V, C_O > 0; one number c for all four", positive=lambda c: c),
        Definition("alpha = sigma_min(F_pre^0)", by=smallest_singular_value),
    ],
    sizes={"N": (1, 3), "d_s": (1, 2), "d": (1, 2), "d_m": (1, 3)},
    note=r"""The four norms, $\sigma_{\min}(F_{pre}^0) \ge \alpha / 2$ and $\ell(\theta^0) \le \ell(\theta^0)$; the last says
        nothing and is left out.""",
)  # fmt: skip


@START.formula
def bounds_at_the_start(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                        tau_0: PositiveScale, c: PositiveScale) -> Any:  # fmt: skip
    """The four lambdas, and sigma_min(F_pre^0), shape (5,) (Eq. (25))."""
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_0 * 0 + 1)
    return stacked([*(spectral_norm(W) + c for W in (W_Q, W_K, W_V, w_O)), smallest_singular_value(F)])


@START.oracle
def quantities_at_the_start(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any) -> Any:
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_0 * 0 + 1)
    return stacked([*(spectral_norm(W) for W in (W_Q, W_K, W_V, w_O)), smallest_singular_value(F) * rational(1, 2)])


START.mutant("C subtracted", "spectral_norm(W) + c -> spectral_norm(W) - c")
START.mutant("a third of everything", lambda value: value * rational(1, 3))


# -- u -----------------------------------------------------------------------------------------------------------------

U = Claim(CONVERGENCE, "convergence.c2-u-below-one", label="C.2, Eq. (28), in brackets",
    statement=r"\text{Let }u:=\sqrt{1-\gamma\alpha^2/2}\ \dots\ (\text{since }u\in(0,1))",
    name="step size and the rate of the induction",
    general="""It holds of all matrices in the place of the hidden layer: a smallest singular value is at most the
        largest.""",
    relation=AtMost(left="alpha^2"),
    assumptions=[
        *SCALES_POSITIVE, Assumption("the error ||f(theta^0) - y|| >= 0", nonnegative=lambda error: error),
        ASSUMPTION_1, Definition("C = c_1 c_2 + 2 c_3 l(theta^0) of Eq. (37), C_Q = C_K = C_V = C_O = 1", by=Bounds)],
    sizes={"N": (1, 2), "d_s": (1, 2), "d": (1, 2), "d_m": (1, 2)},
    doubt=Doubt(TWO_C_1, "Eq. (36) prints $c_1$ in two ways; both give the inequality."),
    note=r"""With $\gamma \le 1/C$ the bracket needs $\alpha^2 < 2 C$, and $\alpha > 0$, which Eq. (3) gives unless
        $\ell(\theta^0) =
        0$. Compared is $\alpha^2 \le C$, for the sum over tokens: $c_1 c_2 \ge \rho^2 \lambda_V^2 > \rho^2 \|W_V^0\|_2^2 \ge
        \alpha^2$. So $u^2 \ge 1/2$.""",
)  # fmt: skip


@U.formula
def C_of_eq_37(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: PositiveScale,
               tau_1: PositiveScale, error: PositiveScale) -> Any:  # fmt: skip
    """C of Eq. (37) at ||f(theta^0) - y|| = error, a scalar."""
    return Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, sample_bound(X) + TINY).C(error)


@U.oracle
def squared_alpha(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any) -> Any:
    alpha = smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, "sum"))
    return alpha * alpha


@U.domain("one large active neuron")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """One short token and one neuron of large weight, where the bound is nearly attained."""
    arrays["X"][:] = 0.0
    arrays["X"][..., 0] = 2.0**-6
    for name in ("W_Q", "W_K", "W_V", "w_O"):
        arrays[name][:] = 0.0
    arrays["W_V"][:, 0, 0] = rng.choice([64.0, 256.0], len(arrays["X"]))
    arrays["error"][:] = 2.0**-4


U.mutant("half of C", lambda value: value * rational(1, 2))
U.mutant("rho dropped", lambda value, X, tau_1: value / (sample_bound(X) * tau_1 * 64))


# -- Weyl --------------------------------------------------------------------------------------------------------------

WEYL = Claim(CONVERGENCE, "convergence.c2-weyl-norms", label="C.2, Eqs. (30), (32)",
    statement=r"""\text{By Weyl's inequality, this implies: }\|W_Q^{t+1}\|_2\le\|W_Q^0\|_2+C_Q=\bar\lambda_Q;\quad\text{By Weyl's
        inequality, this implies }\|w_O^{t+1}\|_2\le\|w_O^0\|_2+C_O=\bar\lambda_O""",
    name="norm of a weight that has moved", relation=AtMost(left="the norms at the point"), all_sizes=True,
    assumptions=[Definition("C_Q and C_O: the bounds (29), (31) of the movements, as small as they allow", by=frobenius_norm)],
    sizes={"d": (1, 3), "d_m": (1, 3)},
    note="The other two weights are the same.",
)  # fmt: skip


@WEYL.formula
def norms_and_movements(W_V: ValueWeights, w_O: OutputWeights, W_V_0: OtherValueWeights,
                        w_O_0: Annotated[Any, Shape("d_m", "1")]) -> Any:  # fmt: skip
    """||W^0||_2 + ||W^{t+1} - W^0||_F for a matrix and for w_O, shape (2,) (Eqs. (30), (32))."""
    return stacked(
        [spectral_norm(W_V_0) + frobenius_norm(W_V - W_V_0), frobenius_norm(w_O_0) + frobenius_norm(w_O - w_O_0)]
    )


WEYL.oracle(lambda W_V, w_O, W_V_0, w_O_0: stacked([spectral_norm(W_V), frobenius_norm(w_O)]))
WEYL.mutant("movement dropped", "frobenius_norm(W_V - W_V_0) -> 0")
WEYL.mutant("half of the movement of w_O", "frobenius_norm(w_O - w_O_0) -> frobenius_norm(w_O - w_O_0) / 2")


# -- the segment -------------------------------------------------------------------------------------------------------

SEGMENT = Claim(CONVERGENCE, "convergence.c2-segment-norms", label="C.2, after Eq. (35)",
    statement=r"""\|W_Q^{t+\phi}-W_Q^0\|_F\le\|W_Q^{t+\phi}-W_Q^t\|_F+\sum_{s=0}^{t-1}\|W_Q^{s+1}-W_Q^s\|_F
        =\phi\gamma\|\nabla_{W_Q}\ell(\theta^\top)\|_F+\gamma\sum_{s=0}^{t-1}\|\nabla_{W_Q}\ell(\theta^s)\|_F
        \le\gamma\sum_{s=0}^t\|\nabla_{W_Q}\ell(\theta^s)\|_F.\text{ Then \dots\ we have:
        }\|W_Q^{t+\phi}\|_2\le\bar\lambda_Q.\text{ By
        the same method, we have: }\|W_K^{t+\phi}\|_2\le\bar\lambda_K,\ \|W_V^{t+\phi}\|_2\le\bar\lambda_V,\
        \|w_O^{t+\phi}\|_2\le\bar\lambda_O""",
    name="norms of the weights between two steps", relation=AtMost(ascent=False), sizes=SMALL,
    assumptions=[
        *SCALES_POSITIVE, Assumption("gamma > 0", positive=lambda gamma: gamma),
        ASSUMPTION_1,
        Definition("theta^{t+phi} = theta^t + phi (theta^{t+1} - theta^t), t = 1; Eq. (25) up to t with the least lambdas and the "
                   "largest alpha for which it holds; C_Q, C_K, C_V, C_O the least that Eq. (2) allows", by=TwoSteps),
        Assumption("gamma alpha^2 / 2 in (0, 1)", positive=loss_falls),
        Assumption("phi in [0, 1]", nonnegative=lambda phi: stacked([phi, 1 - phi])),
    ],
    uses=("convergence.eq-26-34", "convergence.c2-weyl-norms"),
    note="Granted the induction hypothesis up to $t$, which is what Proposition 1 fails to establish.",
)  # fmt: skip


@SEGMENT.inputs
def errors_and_fraction(X: Samples, error: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                        tau_0: PositiveScale, tau_1: PositiveScale, gamma: Step, phi: Fraction01) -> dict[str, Any]:  # fmt: skip
    return {**errors_given(X, error, W_Q, W_K, W_V, w_O, tau_0, tau_1, gamma), "phi": phi}


def _on_the_segment(run: TwoSteps, phi: Any) -> dict[str, Any]:
    return {name: run.path[1][name] + (run.path[2][name] - run.path[1][name]) * phi for name in definitions.WEIGHTS}


@SEGMENT.formula
def bounds_on_the_segment(X: Samples, y: Labels, theta: Theta, tau_0: Any, tau_1: Any, gamma: Any, phi: Any) -> Any:
    """The second, third and fourth member for W_Q, then ||W^0||_2 + C for the four weights, shape (7,) (after Eq. (35))."""
    run = TwoSteps(X, y, theta, tau_0, tau_1, gamma)
    at = _on_the_segment(run, phi)
    steps = frobenius_norm(at["W_Q"] - run.path[1]["W_Q"]) + frobenius_norm(run.path[1]["W_Q"] - run.path[0]["W_Q"])
    slopes = [frobenius_norm(parts["W_Q"]) * gamma for parts in run.slopes]
    room = dict(zip(definitions.WEIGHTS, (row[-1] for row in run.lines()), strict=True))
    norms = [spectral_norm(run.path[0][name]) + room[name] for name in definitions.WEIGHTS]
    return stacked([steps, slopes[1] * phi + slopes[0], slopes[1] + slopes[0], *norms])


@SEGMENT.oracle
def norms_on_the_segment(X: Samples, y: Labels, theta: Theta, tau_0: Any, tau_1: Any, gamma: Any, phi: Any) -> Any:
    run = TwoSteps(X, y, theta, tau_0, tau_1, gamma)
    at = _on_the_segment(run, phi)
    steps = frobenius_norm(at["W_Q"] - run.path[1]["W_Q"]) + frobenius_norm(run.path[1]["W_Q"] - run.path[0]["W_Q"])
    slopes = [frobenius_norm(parts["W_Q"]) * gamma for parts in run.slopes]
    moved = frobenius_norm(at["W_Q"] - run.path[0]["W_Q"])
    return stacked(
        [moved, steps, slopes[1] * phi + slopes[0], *(spectral_norm(at[name]) for name in definitions.WEIGHTS)]
    )


SEGMENT.mutant("the last step without its gradient", "slopes[1] * phi + slopes[0] -> slopes[0]")
SEGMENT.mutant(
    "norms at the start", "spectral_norm(run.path[0][name]) + room[name] -> spectral_norm(run.path[0][name])"
)
SEGMENT.mutant("C alone", "spectral_norm(run.path[0][name]) + room[name] -> room[name]")
