"""Eqs. (16) and (17), anti-symmetric dynamics without normalisation, and what tames the latter (Section 5.2).

Surprising: for steps eta omega > 1 no diffusion term stabilises (17), and at unequal frequencies (18) does not at every state.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

import numpy as np

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.numerics import ascending
from theorems.dynamics.part_5_jacobians.normalised_oscillations import euler_step, normalised_step
from theorems.dynamics.settings import OSCILLATION, TURNING, UNIT_STATE, Generator, Row, Step, unit_state
from theorems.shared.matrices import orthogonal_matrix
from verify.matrix import (
    concatenate, eigenvalues, expm, eye, ones, row_norms, row_sums, spectral_norm, spectral_radius, sqrt, step, total, zeros,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import (
    Assumption, AtMost, Claim, Definition, Equal, HasStructure, Reading, Real, Setting, Shape, realises,
)  # fmt: skip

Basis = Annotated[Any, Shape("D", "D")]
Frequencies = Annotated[Any, Shape("1", "m")]
Frequency = Annotated[Any, Shape("1", "1")]
Time = Annotated[Any, Real(-2.0, 2.0)]
Damping = Annotated[Any, Real(0.125, 4.0)]
Share = Annotated[Any, Real(0.0, 1.0)]
PositiveStep = Annotated[Any, Real(0.125, 4.0)]

ORTHOGONAL = Assumption("Q is orthogonal", zero=lambda Q: Q.T @ Q - eye(Q.shape[0]))


@realises({"Q is orthogonal": reached.ROTATIONS})
def rotations_and_step(G: Basis, omega: Frequencies, x: Row, eta: Step) -> dict[str, Any]:
    """Q the Cayley transform of G; frequencies and state as drawn."""
    return {"Q": orthogonal_matrix(G), "omega": omega, "x": x, "eta": eta}


def rotations(Q: Any, omega: Any) -> Any:
    """Omega = Q blockdiag(omega_j K, 0) Q^T with K = [[0, 1], [-1, 0]] for orthogonal Q (D, D) and omega (1, m); (D, D)."""
    m = omega.shape[1]
    first, second = Q[:, 0 : 2 * m : 2], Q[:, 1 : 2 * m : 2]
    half = (first * omega) @ second.T
    return half - half.T


#: m planes, and one more dimension, on which Omega vanishes, if D is odd.
PLANES = Setting(
    DYNAMICS,
    "Section 5.2, any frequencies",
    assumptions=[
        ORTHOGONAL,
        Assumption("D is 2m or 2m + 1", sizes=lambda sizes: sizes["D"] in (2 * sizes["m"], 2 * sizes["m"] + 1)),
        Definition(
            r"\Omega = Q blockdiag(\omega_j K, 0) Q^\top, K = [[0, 1], [-1, 0]]: every anti-symmetric matrix has this form",
            by=rotations,
        ),
    ],
    sizes={"D": (2, 5), "m": (1, 2)},
    inputs=rotations_and_step,
)


def right_hand_side(x: Any, Omega: Any) -> Any:
    """Omega x for a state written as a row, shape (1, D) (Eq. (16))."""
    return x @ Omega.T


EQ_16 = Claim(OSCILLATION, "dynamics.eq-16", label="Eq. (16) and text", name="continuous oscillation and its Jacobian",
    statement=r"""\dot x=\Omega x,\ J(x)=\Omega;\ \text{``Since an anti-symmetric matrix has purely imaginary
        eigenvalues, these dynamics represent simple oscillatory systems''; ``they are on the boundary of stability,
        allowing persistent oscillations''}""",
    relation=HasStructure(), sizes={"D": (1, 5)}, uses=("dynamics.a.5-spectrum",),
    note=r"""A state in the kernel of $\Omega$, which an odd $D$ never lacks, rests.
        $J$ differentiated; the real parts of its eigenvalues; and $\exp(tJ)$ orthogonal, so that no solution grows
        or decays.""")  # fmt: skip


@EQ_16.inputs
@realises({"Omega is anti-symmetric": reached.SKEW})
def rotating_state(G: Generator, x: Row, t: Time) -> dict[str, Any]:
    """Omega = G - G^T, any state."""
    return {"Omega": G - G.T, "x": x, "t": t}


@EQ_16.formula
def oscillation(Omega: Generator, t: Time) -> Any:
    """J on top of exp(t J), shape (2 D, D) (Eq. (16))."""
    return concatenate([Omega, expm(Omega * t)], axis=0)


@EQ_16.part("structure")
def defects_of_oscillation(value: Any, Omega: Generator, x: Row) -> Any:
    """J - d(Omega x)/dx, exp(t J)^T exp(t J) - I, and the real parts of the eigenvalues of J as a row; (2 D + 1, D)."""
    D = Omega.shape[0]
    J, propagator = value[:D], value[D:]
    real = eigenvalues(J)[:, :1].reshape(1, D)
    return concatenate([J - jacobian(right_hand_side, "x")(x, Omega), propagator.T @ propagator - eye(D), real], axis=0)


EQ_16.mutant("transposed", "Omega -> Omega.T")
EQ_16.mutant("Jacobian of the discrete step", "Omega -> Omega + eye(Omega.shape[0])")
EQ_16.mutant("damped", "Omega -> Omega - eye(Omega.shape[0])")


JACOBIAN_WITH_ETA = Claim(OSCILLATION, "dynamics.sec-5.2-jacobian-eta", label="Section 5.2, text",
    statement=r"""\text{``In Eq. (16), the Jacobian }J(x)=\eta\Omega\text{ has purely imaginary eigenvalues and they are
        on the boundary of stability''}""",
    assumptions=[Definition(r"Eq. (16): \dot x = \Omega x", by=right_hand_side)],
    name="step size in the Jacobian of oscillations", relation=Equal(), expects="refuted", severity="slip",
    correction="dynamics.sec-5.2-jacobian-of-flow",
    note=r"Eq. (16) itself has $J = \Omega$. The conclusion, imaginary eigenvalues, is true of both.")  # fmt: skip


@JACOBIAN_WITH_ETA.inputs
@realises({"Omega is anti-symmetric": reached.SKEW})
def rotating_state_and_step(G: Generator, x: Row, eta: Step) -> dict[str, Any]:
    """Omega = G - G^T, any state."""
    return {"Omega": G - G.T, "x": x, "eta": eta}


@JACOBIAN_WITH_ETA.formula
def jacobian_as_printed(Omega: Generator, eta: Step) -> Any:
    """eta Omega, shape (D, D)."""
    return Omega * eta


JACOBIAN_WITH_ETA.oracle(lambda x, Omega: jacobian(right_hand_side, "x")(x, Omega))
JACOBIAN_WITH_ETA.counterexample("a quarter turn and eta = 2", Omega=[[0, 1], [-1, 0]], x=[[1, 0]], eta=2)
JACOBIAN_WITH_ETA.mutant("eta dropped", lambda Omega: Omega)
JACOBIAN_WITH_ETA.mutant("Jacobian of the discrete step", lambda value, Omega: value + eye(Omega.shape[0]))


JACOBIAN_OF_FLOW = JACOBIAN_WITH_ETA.corrected("dynamics.sec-5.2-jacobian-of-flow", label="Section 5.2 without eta",
    statement=r"\text{in Eq. (16), }J(x)=\Omega", name="Jacobian of the continuous oscillation", all_sizes=True,
    exact=True, assumptions=[])  # fmt: skip


@JACOBIAN_OF_FLOW.formula
def constant_jacobian(Omega: Generator) -> Any:
    """Omega, shape (D, D)."""
    return Omega


JACOBIAN_OF_FLOW.mutant("with eta, as printed", lambda Omega, eta: Omega * eta)
JACOBIAN_OF_FLOW.mutant("transposed", lambda Omega: Omega.T)


EQ_17 = Claim(PLANES, "dynamics.eq-17", label="Eq. (17) and text",
    statement=r"""x^{(t+1)}=(I_D+\eta\Omega)x^{(t)},\ J(x^{(t)})=I_D+\eta\Omega;\ \text{``all eigenvalues of the
        Jacobian }J(x)=I_D+\eta\Omega\text{ take the form }1\pm i\eta\omega_j\text{ for }\omega_j\ge0\text{, implying
        that }|\lambda_j|\ge1\text{''}""",
    name="eigenvalues of the Euler step of an oscillation", relation=Equal(), uses=("dynamics.a.5-spectrum",),
    note=r"""Frequencies unequal, zero and of either sign, odd $D$ included. Real parts of exactly 1 give $|\lambda_j|
        \ge 1$.""")  # fmt: skip


@EQ_17.formula
def euler_jacobian_and_spectrum(Q: Basis, omega: Frequencies, eta: Step) -> Any:
    """I + eta Omega, then 1 and the imaginary parts 0, +-eta omega_j in ascending order, shape (D, D + 2) (Eq. (17))."""
    turning, rest = omega * eta, zeros(1, Q.shape[0] - 2 * omega.shape[1])
    imaginary = ascending(concatenate([turning, -turning, rest], axis=1))
    J = eye(Q.shape[0]) + eta * rotations(Q, omega)
    return concatenate([J, imaginary * 0 + 1, imaginary], axis=1)


@EQ_17.oracle
def euler_step_differentiated(Q: Basis, omega: Frequencies, x: Row, eta: Step) -> Any:
    J = jacobian(euler_step, "x")(x, rotations(Q, omega), eta)
    return concatenate([J, eigenvalues(J)], axis=1)


EQ_17.mutant("eigenvalues +- i eta omega_j, as in continuous time", "imaginary * 0 + 1 -> imaginary * 0")
EQ_17.mutant("eigenvalues 1 +- i omega_j", "omega * eta -> omega")


#: Number of iterations in which the growth law of Eq. (17) is checked.
ITERATIONS = 5

UNSTABLE = r"\text{unstable: }\sup_t\|(I_D+\eta\Omega)^t\|_2=\infty\text{, that is }\max_j|\lambda_j|>1"

EULER_UNSTABLE = Claim(PLANES, "dynamics.sec-5.2-euler-unstable", label="Section 5.2, text",
    statement=r"|\lambda_j|\ge1.\ \text{``Therefore, the system becomes unstable''}",
    assumptions=[
        Assumption(r"\eta\Omega \ne O", positive=lambda omega, eta: row_sums(omega * omega) * (eta * eta)),
    ],
    name="instability of discretised oscillations", general="The comparison is one of moduli with 1, whatever the oscillators are.",
    relation=Equal(), uses=("dynamics.eq-17",),
    note=r"""(17) is normal, so it is unstable exactly if some $|\lambda_j| > 1$; compared are 1 and whether that is so.
        It fails where nothing turns, for $\eta\Omega = O$ alone: there the step is the identity and every state rests. What grows,
        and how fast, is dynamics.sec-5.2-euler-growth; states in the
        kernel of $\Omega$ rest.""")  # fmt: skip


@EULER_UNSTABLE.formula
def euler_step_is_unstable(x: Row) -> Any:
    """1: yes."""
    return row_sums(x * 0) + 1


def _grows(Q: Any, omega: Any, eta: Any) -> Any:
    """1 if eta Omega is not O, so that some |lambda_j|^2 = 1 + eta^2 omega_j^2 exceeds 1, else 0, shape (1, 1)."""
    turn = rotations(Q, omega) * eta
    return ones(1, 1) * step(total(turn * turn))


EULER_UNSTABLE.oracle(_grows)
EULER_UNSTABLE.mutant("stable, as in continuous time", lambda x: row_sums(x * 0))
EULER_UNSTABLE.mutant("unstable for eta > 1 only", lambda x, eta: row_sums(x * 0) + step(eta - 1))


EULER_GROWTH = Claim(PLANES, "dynamics.sec-5.2-euler-growth", label="Section 5.2, growth under (17)",
    statement=r"""
        \|x^{(t)}\|^2=\sum_j(1+\eta^2\omega_j^2)^t\|\Pi_jx^{(0)}\|^2+\|\Pi_0x^{(0)}\|^2\text{ under (17), }\Pi_j\text{
        the projections onto the planes of }\Omega\text{ with frequencies }\omega_j,\ \Pi_0\text{ onto its kernel}""",
    name="growth of discretised oscillations", relation=Equal(), at_sizes={"D": 2, "m": 1}, exact=True, of_project=True,
    note=r"""So every state off the kernel grows without bound when $\eta$ is not 0, and those in it rest. Checked for
        $t = 5$.""")  # fmt: skip


@EULER_GROWTH.formula
def squared_norm_after_iterations(Q: Basis, omega: Frequencies, x: Row, eta: Step) -> Any:
    """|x^(t)|^2 for t = 5, a scalar."""
    m, squares = omega.shape[1], (x @ Q) * (x @ Q)
    growth = 1 + omega * omega * eta * eta
    turning = (squares[:, 0 : 2 * m : 2] + squares[:, 1 : 2 * m : 2]) * prod([growth] * ITERATIONS)
    return total(turning) + (total(squares[:, 2 * m :]) if 2 * m < Q.shape[0] else 0)


@EULER_GROWTH.oracle
def iterated_squared_norm(Q: Basis, omega: Frequencies, x: Row, eta: Step) -> Any:
    Omega = rotations(Q, omega)
    for _ in range(ITERATIONS):
        x = euler_step(x, Omega, eta)
    return total(x * x)


EULER_GROWTH.mutant("one step less", "ITERATIONS -> ITERATIONS - 1")
EULER_GROWTH.mutant("norm preserved, as in continuous time", lambda x: total(x * x))
EULER_GROWTH.mutant("decay instead of growth", "1 + omega * omega * eta * eta -> 1 - omega * omega * eta * eta")


# -- diffusion ---------------------------------------------------------------------------------------------------------


def diffused_step(x: Any, Omega: Any, gamma: Any, eta: Any) -> Any:
    """(I + eta (Omega - gamma I)) x for a state written as a row, shape (1, D)."""
    return x + (x @ Omega.T - x * gamma) * eta


DIFFUSION = Claim(OSCILLATION, "dynamics.sec-5.2-diffusion",
    label="Section 5.2, text (Haber and Ruthotto; Chang et al.)", name="diffusion term against instability",
    statement=r"""\text{``To avoid the fundamental instability arising from discretization, previous work [...] proposed
        to add a diffusion term to the anti-symmetric weight matrix, i.e., }\Omega-\gamma I\ (\gamma>0)\text{''}""",
    assumptions=[
        Assumption(r"\gamma > 0", positive=lambda gamma: gamma),
        Assumption(r"\eta \ge 0, the step of the discretization", nonnegative=lambda eta: eta),
        Assumption(
            r"\eta(\gamma^2 + \omega^2) \le 2\gamma for the largest frequency \omega",
            nonnegative=lambda Omega, gamma, eta: 2 * gamma - eta * (gamma * gamma + spectral_norm(Omega @ Omega)),
        ),
    ],
    relation=AtMost(left="spectral norm of the step's Jacobian"), expects="gap",
    presumes=("dynamics.sec-5.2-diffusion-any",), correction="dynamics.sec-5.2-diffusion-modulus",
    missing=r"$\eta(\gamma^2 + \omega_j^2) \le 2\gamma$ for all $j$",
    consequence=r"""A diffusion term of the wrong size leaves the step unstable; choose $\gamma$ with $\eta(\gamma^2 +
        \omega_j^2) \le 2\gamma$, at best $\gamma = 1/\eta$ (dynamics.sec-5.2-diffusion-modulus).""",
    note=r"""A positive $\gamma$ alone is not enough, and for $\eta\omega_j > 1$ none is
        (dynamics.sec-5.2-diffusion-limit). Spectral radius and spectral norm of the step agree, since it is normal.""",
)  # fmt: skip


@DIFFUSION.inputs
@realises({"Omega is anti-symmetric": reached.SKEW})
def damped_enough(G: Generator, x: Row, gamma: Damping, share: Share) -> dict[str, Any]:
    """Omega = G - G^T, and eta = share of 2 gamma / (gamma^2 + omega^2), omega its largest frequency."""
    Omega = G - G.T
    return {
        "Omega": Omega, "x": x, "gamma": gamma,
        "eta": share * 2 * gamma / (gamma * gamma + spectral_norm(Omega @ Omega)),
    }  # fmt: skip


@DIFFUSION.formula
def no_growth_of_diffused_step(x: Row) -> Any:
    """1."""
    return row_sums(x * 0) + 1


DIFFUSION.oracle(lambda x, Omega, gamma, eta: spectral_norm(jacobian(diffused_step, "x")(x, Omega, gamma, eta)))
DIFFUSION.mutant("1 - eta gamma, as if nothing turned", lambda value, gamma, eta: value - eta * gamma)
DIFFUSION.mutant("1 - eta gamma / 2", lambda value, gamma, eta: value - eta * gamma / 2)


DIFFUSION_ANY = Claim(OSCILLATION, "dynamics.sec-5.2-diffusion-any", label="Diffusion of any size",
    statement=r"\eta>0,\ \gamma>0\ \Rightarrow\ \|I_D+\eta(\Omega-\gamma I_D)\|_2=\max_j|\lambda_j|\le1",
    assumptions=[
        Assumption(r"\gamma > 0", positive=lambda gamma: gamma),
        Assumption(r"\eta > 0", positive=lambda eta: eta),
    ],
    name="diffusion term of any size", relation=AtMost(left="spectral norm of the step's Jacobian"),
    sizes={"D": (2, 4)}, expects="refuted", severity="error",
    of_project=True)  # fmt: skip


@DIFFUSION_ANY.inputs
@realises({"Omega is anti-symmetric": reached.SKEW})
def damping_and_step(G: Generator, x: Row, gamma: Damping, eta: PositiveStep) -> dict[str, Any]:
    """Omega = G - G^T, damping and step as drawn."""
    return {"Omega": G - G.T, "x": x, "gamma": gamma, "eta": eta}


@DIFFUSION_ANY.formula
def no_growth_under_any_diffusion(x: Row) -> Any:
    """1."""
    return row_sums(x * 0) + 1


DIFFUSION_ANY.oracle(lambda x, Omega, gamma, eta: spectral_norm(jacobian(diffused_step, "x")(x, Omega, gamma, eta)))
# By hand: the eigenvalues are 2i and -2i
DIFFUSION_ANY.counterexample("frequency 2, gamma = eta = 1", Omega=[[0, 2], [-2, 0]], x=[[1, 0]], gamma=1, eta=1)
DIFFUSION_ANY.mutant("1/2", lambda value: value / 2)
DIFFUSION_ANY.mutant("1/4", lambda value: value / 4)


DIFFUSION_MODULUS = Claim(PLANES, "dynamics.sec-5.2-diffusion-modulus", label="Section 5.2, the step with diffusion",
    statement=r"""
        J^\top J=Q\operatorname{diag}(|\lambda_j|^2)Q^\top,\ |\lambda_j|^2=(1-\eta\gamma)^2+\eta^2\omega_j^2\text{
        for } J=I_D+\eta(\Omega-\gamma I_D)\text{, so that all }|\lambda_j|\le1\text{ exactly if
        }\eta(\gamma^2+\omega_j^2)\le2\gamma
        \text{ for all }j\ (\eta>0)""",
    name="eigenvalue moduli of a step with diffusion", relation=Equal(), at_sizes={"D": 2, "m": 1},
    exact=True, of_project=True, corrects="dynamics.sec-5.2-diffusion",
    note=r"""$J$ is normal, so that the step is stable exactly in that case; for $\eta\omega_j > 1$ no $\gamma$ is large
        or small enough (dynamics.sec-5.2-diffusion-limit). The best is $\gamma = 1/\eta$, with $|\lambda_j| =
        \eta\omega_j$.""")  # fmt: skip


@DIFFUSION_MODULUS.inputs
@realises({"Q is orthogonal": reached.ROTATIONS})
def rotations_and_damping(G: Basis, omega: Frequencies, x: Row, gamma: Damping, eta: Step) -> dict[str, Any]:
    """Q the Cayley transform of G; the rest as drawn."""
    return {**rotations_and_step(G, omega, x, eta), "gamma": gamma}


@DIFFUSION_MODULUS.formula
def squared_moduli_in_planes(Q: Basis, omega: Frequencies, gamma: Damping, eta: Step) -> Any:
    """Q diag(|lambda_j|^2) Q^T, shape (D, D)."""
    D, m = Q.shape[0], omega.shape[1]
    squares = omega * omega
    frequencies = [squares[:, j // 2 : j // 2 + 1] if j < 2 * m else squares[:, :1] * 0 for j in range(D)]
    shrinking = 1 - eta * gamma
    return (Q * (concatenate(frequencies, axis=1) * (eta * eta) + shrinking * shrinking)) @ Q.T


@DIFFUSION_MODULUS.oracle
def gram_matrix_of_diffused_step(Q: Basis, omega: Frequencies, x: Row, gamma: Damping, eta: Step) -> Any:
    J = jacobian(diffused_step, "x")(x, rotations(Q, omega), gamma, eta)
    return J.T @ J


DIFFUSION_MODULUS.mutant("diffusion without the step size", "1 - eta * gamma -> 1 - gamma")
DIFFUSION_MODULUS.mutant("frequencies not squared", "omega * omega -> omega")


DIFFUSION_LIMIT = Claim(OSCILLATION, "dynamics.sec-5.2-diffusion-limit", label="Diffusion and large steps",
    statement=r"\max_j|\lambda_j|\ge\eta\omega\ \text{for every}\ \gamma,\ \omega\ \text{the largest frequency of}\ "
    r"\Omega:\ \text{for}\ \eta\omega>1\ \text{no diffusion term stabilises (17)}",
    assumptions=[
        Assumption(r"\eta > 0", positive=lambda eta: eta),
        Assumption(r"\gamma > 0", positive=lambda gamma: gamma),
    ],
    name="steps too large for diffusion", relation=AtMost(left="eta |Omega|_2"), sizes={"D": (1, 4)}, of_project=True,
    note=r"Attained at $\gamma = 1/\eta$.")  # fmt: skip


@DIFFUSION_LIMIT.inputs
@realises({"Omega is anti-symmetric": reached.SKEW})
def any_damping(G: Generator, x: Row, gamma: Damping, eta: PositiveStep) -> dict[str, Any]:
    """Omega = G - G^T, damping and step as drawn."""
    return {"Omega": G - G.T, "x": x, "gamma": gamma, "eta": eta}


@DIFFUSION_LIMIT.formula
def norm_of_damped_jacobian(x: Row, Omega: Generator, gamma: Damping, eta: PositiveStep) -> Any:
    """|I + eta (Omega - gamma I)|_2, the largest |lambda_j|, a scalar."""
    return spectral_norm(jacobian(diffused_step, "x")(x, Omega, gamma, eta))


DIFFUSION_LIMIT.oracle(lambda Omega, eta: spectral_norm(Omega) * eta)


@DIFFUSION_LIMIT.domain("damping 1 / eta")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    arrays["gamma"][:] = 2.0 ** rng.integers(-2, 3, len(arrays["gamma"]))
    arrays["eta"][:] = 1 / arrays["gamma"]


DIFFUSION_LIMIT.mutant("half the norm", lambda value: value / 2)
DIFFUSION_LIMIT.mutant("the damping alone", lambda x, gamma, eta: row_norms(x * 0 + 1 - eta * gamma))


# -- normalisation -----------------------------------------------------------------------------------------------------

MITIGATE = Claim(OSCILLATION, "dynamics.sec-5.2-mitigate", label="Section 5.2, text",
    statement=r"""\text{``We find that a normalization layer (18) serves as an alternative way to mitigate this
        instability by effectively rescaling the system through division by }\|y\|\text{''}""",
    assumptions=[UNIT_STATE],
    name="normalisation mitigates the instability of oscillations", relation=AtMost(), all_sizes=True,
    hypotheses=TURNING[:2], expects="reading",
    uses=("dynamics.eq-17", "dynamics.eq-18", "dynamics.eq-81", "dynamics.a.5"),
    reading=Reading("mitigate this instability", r"""lessen, not remove: states stay on the unit sphere, and at every
            state $\max_j|\lambda_j|$ of (18) is at most that of (17) over $\|y\|$, and $\|y\| \ge 1$"""),
    note=r"""For equal frequencies $\max_j|\lambda_j|$ is at most 1 (dynamics.a.5); for unequal ones it may exceed 1, at
        rest points too (dynamics.sec-5.2-mitigate-kernel). (17) is normal, so $\max_j|\lambda_j| = \|I +
        \eta\Omega\|_2$. Three lines: spectral radius of (18) against $\|I + \eta\Omega\|_2/\|y\|$, this against $\|I +
        \eta\Omega\|_2$, and the norm of the next state against 1.""")  # fmt: skip
MITIGATE.inputs(unit_state)


@MITIGATE.formula
def growth_without_normalisation(x: Row, Omega: Generator, eta: Step) -> Any:
    """|I + eta Omega|_2 / |y|, |I + eta Omega|_2 and 1, shape (3, 1)."""
    norm, r = ones(1, 1) * spectral_norm(eye(x.shape[1]) + Omega * eta), row_norms(euler_step(x, Omega, eta))
    return concatenate([norm / r, norm, r * 0 + 1], axis=0)


@MITIGATE.oracle
def growth_with_normalisation(x: Row, Omega: Generator, eta: Step) -> Any:
    radius = ones(1, 1) * spectral_radius(jacobian(normalised_step, "x")(x, Omega, eta))
    reduced = ones(1, 1) * spectral_norm(eye(x.shape[1]) + Omega * eta) / row_norms(euler_step(x, Omega, eta))
    return concatenate([radius, reduced, row_norms(normalised_step(x, Omega, eta))], axis=0)


MITIGATE.mutant("divided by the square of |y|", "norm / r -> norm / (r * r)")
MITIGATE.mutant("identity dropped", "eye(x.shape[1]) + Omega * eta -> Omega * eta")


KERNEL = Claim(DYNAMICS, "dynamics.sec-5.2-mitigate-kernel", label="Eq. (18) at a rest point",
    statement=r"\Omega x=0,\ \|x\|=1\ \Rightarrow\ \text{(18) rests at }x\text{ and }\max_j|\lambda_j|=\sqrt{1+\eta^2"
    r"\omega^2},\ \omega\text{ the frequency of }\Omega",
    assumptions=[
        ORTHOGONAL,
        Assumption("D >= 3, without which the kernel of a rotation is 0", sizes=lambda sizes: sizes["D"] >= 3),
        Definition(
            r"\Omega = Q blockdiag(\omega K, O) Q^\top with K = [[0, -1], [1, 0]]; x is the third column of Q", by=rotations
        ),
    ],
    name="normalised oscillation at a rest point", relation=Equal(), sizes={"D": (3, 4)}, of_project=True,
    note=r"""The same as without normalisation: unequal frequencies, here $\omega$ and 0, leave the instability of (17)
        as it is.""")  # fmt: skip


@KERNEL.inputs
@realises({"Q is orthogonal": reached.ROTATIONS})
def one_plane(G: Basis, omega: Frequency, eta: Step) -> dict[str, Any]:
    """Q the Cayley transform of G."""
    return {"Q": orthogonal_matrix(G), "omega": omega, "eta": eta}


@KERNEL.formula
def growth_at_rest(Q: Basis, omega: Frequency, eta: Step) -> Any:
    """x^T, then sqrt(1 + eta^2 omega^2), shape (1, D + 1)."""
    return concatenate([Q[:, 2:3].T, sqrt(1 + omega * omega * eta * eta)], axis=1)


@KERNEL.oracle
def step_and_spectral_radius(Q: Basis, omega: Frequency, eta: Step) -> Any:
    x, Omega = Q[:, 2:3].T, rotations(Q, omega)
    radius = ones(1, 1) * spectral_radius(jacobian(normalised_step, "x")(x, Omega, eta))
    return concatenate([normalised_step(x, Omega, eta), radius], axis=1)


KERNEL.mutant("at most 1, as for equal frequencies", lambda Q, omega: concatenate([Q[:, 2:3].T, omega * 0 + 1], axis=1))
KERNEL.mutant("square root dropped", "sqrt(1 + omega * omega * eta * eta) -> 1 + omega * omega * eta * eta")
