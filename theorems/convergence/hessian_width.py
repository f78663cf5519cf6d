"""Theorem 3, the Hessian of the network and its width at d = 1, and what it says about the tangent kernel.

The weights are one matrix theta = [w_Q w_K w_V w_O] of shape (d_m, 4).  f is the sum over tokens of Appendix C.2 and
tau_0 = 1/d_m, tau_1 = d_m^{-1/2} (NTK, Table 1).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import outputs
from theorems.convergence.descent import stacked
from verify.claims import Assumption, Claim
from verify.derivatives import hessian, jacobian
from verify.matrix import frobenius_norm, rational, spectral_norm, sqrt
from verify.relations import AtMost
from verify.shapes import Real, Shape

Column = Annotated[Any, Shape("d_s", "1")]
Theta = Annotated[Any, Shape("d_m", "4")]
Radius = Annotated[Any, Real(0.0625, 4.0)]


def scalar_network(x: Column, theta: Theta) -> Any:
    """f(x), shape (1, 1), for tokens of dimension 1 (Eq. (71))."""
    d_m = theta.shape[0]
    W_Q, W_K, W_V, w_O = (theta[:, k : k + 1] for k in range(4))
    zero = x.sum() * 0
    tau_0, tau_1 = zero + rational(1, d_m), zero + 1 / sqrt(d_m)
    return outputs(x.reshape(1, *x.shape), W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum")


def hessian_constant(x: Column, R: Any) -> Any:
    """2 c^4 B^5 + (1/2 + sqrt(2)) c^2 sqrt(d_s) B^3 + d_s B with c = 3 + R and B = ||x||_2 (see `THM_3.note`)."""
    B, c, d_s = frobenius_norm(x), R + 3, x.shape[0]
    return 2 * c**4 * B**5 + c**2 * B**3 * sqrt(d_s) * rational(1, 2) + c**2 * B**3 * sqrt(d_s) * sqrt(2) + B * d_s


def _norms_in_the_ball(theta: Any, R: Any) -> Any:
    """(3 + R) sqrt(d_m) less the norm of each weight."""
    return stacked([(R + 3) * sqrt(theta.shape[0]) - frobenius_norm(theta[:, k : k + 1]) for k in range(4)])


BALL = Assumption(
    "theta in B(theta^0, R) and ||w^0||_2 <= 3 sqrt(d_m) for the four weights, as Lemma 6 gives with probability at least"
    " 1 - 8 exp(-d_m / 2); then ||w||_2 <= (3 + R) sqrt(d_m)",
    nonnegative=_norms_in_the_ball,
)
SETUP = [
    "d = 1, as in the proof",
    "NTK initialisation, tau_0 = 1/d_m, tau_1 = d_m^{-1/2}",
    "f with the sum over tokens",
]


def _start_in_the_ball(theta_0: Any, R: Any) -> Any:
    return _norms_in_the_ball(theta_0, R)


START = Assumption("theta^0 in the same ball", nonnegative=_start_in_the_ball)

THM_3 = Claim(
    CONVERGENCE,
    "convergence.thm-3",
    label="Theorem 3",
    statement=r"\text{Assumption 1, }\tau_0=d_m^{-1},\ R>0\text{ fixed, }\theta^t\in B(\theta^0,R):\ \text{with probability "
    r"at least }1-8e^{-d_m/2}:\ \|H(\theta^t)\|_2\le\mathcal O(d_m^{-1/2})",
    assumptions=[*SETUP, BALL, Assumption("R > 0", positive=lambda R: stacked([R]))],
    relation=AtMost(ascent=False),
    sizes={"d_s": (1, 2), "d_m": (1, 3)},
    expects="gap",
    reading="NTK initialisation (Section 4.3), d = 1, and the Hessian where f is twice differentiable (no pre-activation is"
    " 0; relu'' = 0); O(d_m^{-1/2}) with the explicit constant 2 c^4 B^5 + (1/2 + sqrt 2) c^2 sqrt(d_s) B^3 + d_s B, c ="
    " 3 + R, B = ||x||_2 <= sqrt(d_s) C_x, on the event of probability 1 - 8 exp(-d_m/2) that the proof uses",
    note="With p = w_Q.w_K, f = tau_1 sum_i g(m_i(p)), |g'| <= |w_O||w_V|, dm_i/dp = tau_0 x_i Var_i(x), d^2m_i/dp^2 ="
    " tau_0^2 x_i^2 k_i, |Var_i| <= B^2/2 and |k_i| <= B^3 (third cumulant). The blocks of Q and K give |f_pp| (|w_Q|^2 +"
    " |w_K|^2) + |f_p|, those with V and O tau_1 tau_0 sqrt(d_s) B^3 (|w_O| + |w_V|) (|w_Q|^2 + |w_K|^2)^{1/2} / 2, and O with V"
    " tau_1 d_s B: each of order d_m^{-1/2}. Under LeCun and He initialisation tau_1 = 1, and the block of O and V is of"
    " order 1: there the statement fails. At a kink f has no Hessian, and every ball of fixed radius holds kinks.",
    proof=(
        "convergence.lemma-20",
        "convergence.h-qq-norm",
        "convergence.h-qv-qo-norm",
        "convergence.h-ov-norm",
        "convergence.h-oo-vv",
    ),
    uses=(
        "convergence.hessian-block-bounds",
        "convergence.hessian-block-limits",
    ),
)


@THM_3.formula
def hessian_bound(x: Column, theta: Theta, R: Radius) -> Any:
    """hessian_constant / sqrt(d_m), a scalar."""
    return hessian_constant(x, R) / sqrt(theta.shape[0])


@THM_3.oracle
def hessian_norm(x: Column, theta: Theta) -> Any:
    """||H||_2 by differentiation."""
    return spectral_norm(hessian(scalar_network, ("theta", "theta"))(x, theta) + x.sum() * 0)


@THM_3.domain("small tokens")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Equal small tokens, all neurons active: the block of O and V rules, and at d_s = 1 attains the bound."""
    arrays["x"][:] = 2.0**-12
    arrays["theta"][:] = np.abs(arrays["theta"]) + 2.0**-8


@THM_3.mutant("1/d_m, as the proof has it for the block of O and V")
def _(x: Column, theta: Theta, R: Radius) -> Any:
    return hessian_constant(x, R) / theta.shape[0]


@THM_3.mutant("tau_1 d_s B dropped: no block of O and V")
def _(x: Column, theta: Theta, R: Radius) -> Any:
    return (hessian_constant(x, R) - frobenius_norm(x) * x.shape[0]) / sqrt(theta.shape[0])


# -- the remark --------------------------------------------------------------------------------------------------------

REMARK = Claim(
    CONVERGENCE,
    "convergence.thm-3-remark",
    label="Remark after Theorem 3",
    statement=r"\text{By [Liu et al., 2020, Prop. 2.3] the small Hessian norm is a sufficient condition for small change of"
    r" NTK.}",
    assumptions=[*SETUP, BALL, START],
    relation=AtMost(ascent=False),
    sizes={"d_s": (1, 2), "d_m": (1, 3)},
    expects="refuted",
    severity="error",
    correction="convergence.thm-3-remark-fixed-pattern",
    note="Read as that proposition: a Hessian norm of at most epsilon on the ball bounds the change of the gradient by"
    " epsilon ||theta - theta^0||, hence that of the kernel. It is the mean value theorem, which needs a gradient without"
    " jumps. For ReLU the Hessian is small wherever it exists, and the gradient still jumps by tau_1 |w_O| |m| at every kink.",
    uses=("convergence.hessian-misses-kinks",),
)  # fmt: skip


def _gradient_change(x: Any, theta: Any, theta_0: Any) -> Any:
    slopes = [jacobian(scalar_network, "theta")(x, W) for W in (theta, theta_0)]
    return frobenius_norm(slopes[0] - slopes[1] + x.sum() * 0)


@REMARK.formula
def change_allowed_by_hessian(x: Column, theta: Theta, theta_0: Theta, R: Radius) -> Any:
    """The bound of Theorem 3 times ||theta - theta^0||, a scalar."""
    return hessian_constant(x, R) / sqrt(theta.shape[0]) * frobenius_norm(theta - theta_0)


@REMARK.oracle
def change_of_gradient(x: Column, theta: Theta, theta_0: Theta) -> Any:
    return _gradient_change(x, theta, theta_0)


@REMARK.mutant("bound times d_m^{-1/2}")
def _(x: Column, theta: Theta, theta_0: Theta, R: Radius) -> Any:
    return hessian_constant(x, R) / theta.shape[0] * frobenius_norm(theta - theta_0)


@REMARK.mutant("||theta - theta^0||^2")
def _(x: Column, theta: Theta, theta_0: Theta, R: Radius) -> Any:
    return hessian_constant(x, R) / sqrt(theta.shape[0]) * frobenius_norm(theta - theta_0) ** 2


@REMARK.counterexample("one token 1, four neurons: one value weight moves from -10^-6 to 10^-6, the gradient by 1/2")
def _() -> dict[str, Any]:
    e = Fraction(1, 10**6)
    rest = [[1, 1, 1, 1]] * 3
    return {"x": [[1]], "theta": [[1, 1, e, 1], *rest], "theta_0": [[1, 1, -e, 1], *rest], "R": Fraction(1)}


FIXED_PATTERN = Claim(
    CONVERGENCE,
    "convergence.thm-3-remark-fixed-pattern",
    label="The remark after Theorem 3, while no ReLU changes its state",
    statement=r"\text{If all tokens are positive and no entry of }w_V\text{ changes its sign, }\|\nabla f(\theta)-\nabla f("
    r"\theta^0)\|_2\le\mathcal O(d_m^{-1/2})\,\|\theta-\theta^0\|_2",
    assumptions=[
        *SETUP,
        BALL,
        START,
        Assumption("positive tokens", positive=lambda x: x.reshape(-1)),
        Assumption("no entry of w_V changes its sign", positive=lambda theta, theta_0: theta[:, 2] * theta_0[:, 2]),
    ],
    relation=AtMost(ascent=False),
    sizes={"d_s": (1, 2), "d_m": (1, 3)},
    corrects="convergence.thm-3-remark",
    of_project=True,
    note="Every pre-activation w_V m has m > 0, so the pattern is that of w_V, constant on the segment, which lies in the"
    " ball; the mean value theorem applies with the constant of Theorem 3.",
)


def _positive_and_close(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    arrays["x"][:] = np.abs(arrays["x"]) + 2.0**-8
    arrays["theta"][:] = np.abs(arrays["theta"]) + 2.0**-8
    arrays["theta_0"][:] = arrays["theta"] * (1 + 2.0 ** -rng.integers(1, 8))


def _small_positive(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    _positive_and_close(arrays, sizes, rng)
    arrays["x"][:] = 2.0**-12
    # the direction in which the block of O and V is largest: one neuron, both weights
    arrays["theta_0"][:] = arrays["theta"]
    arrays["theta_0"][:, 0, 2:] += 2.0**-4


FIXED_PATTERN.domain("positive and close")(_positive_and_close)
FIXED_PATTERN.domain("small and positive")(_small_positive)


@FIXED_PATTERN.formula
def change_allowed_of_fixed_pattern(x: Column, theta: Theta, theta_0: Theta, R: Radius) -> Any:
    """The bound of Theorem 3 times ||theta - theta^0||, a scalar."""
    return hessian_constant(x, R) / sqrt(theta.shape[0]) * frobenius_norm(theta - theta_0)


@FIXED_PATTERN.oracle
def change_of_gradient_of_fixed_pattern(x: Column, theta: Theta, theta_0: Theta) -> Any:
    return _gradient_change(x, theta, theta_0)


@FIXED_PATTERN.mutant("1/d_m")
def _(x: Column, theta: Theta, theta_0: Theta, R: Radius) -> Any:
    return hessian_constant(x, R) / theta.shape[0] * frobenius_norm(theta - theta_0)


@FIXED_PATTERN.mutant("||theta - theta^0||^2")
def _(x: Column, theta: Theta, theta_0: Theta, R: Radius) -> Any:
    return hessian_constant(x, R) / sqrt(theta.shape[0]) * frobenius_norm(theta - theta_0) ** 2
