"""Appendix A.5, Eqs. (78)-(87): the norm of the step at equal frequencies, and the bound on its normalised Jacobian."""

from __future__ import annotations

from typing import Any

from theorems.shared import reached
from theorems.dynamics.part_5_jacobians.normalised_oscillations import euler_step, normalised_step
from theorems.dynamics.settings import (
    ANTISYMMETRIC, EQUAL_FREQUENCIES, ONE_FREQUENCY, OSCILLATION, TURNING, TURNING_STATE, UNIT_STATE, Frequency,
    Generator, Row, Step, unit_state,
)  # fmt: skip
from verify.arithmetics import is_tensor
from verify.matrix import concatenate, eigenvalues, eye, ones, row_norms, row_sums, spectral_norm, sqrt, total, trace
from verify.oracles import jacobian
from verify.vocabulary import AtMost, Claim, Definition, Equal, HasStructure, realises

# -- the norm of y -----------------------------------------------------------------------------------------------------

EQ_81 = Claim(OSCILLATION, "dynamics.eq-81", label="Eqs. (78)-(81)", name="norm of an oscillation step",
    statement=r"""\|y\|^2=\|(I_D+\eta\Omega)x\|^2=x^\top(I_D+\eta\Omega^\top)(I_D+\eta\Omega)x =x^\top x+\eta
        x^\top\Omega x+\eta x^\top\Omega^\top x+\eta^2x^\top\Omega^\top\Omega x=1+\eta^2\|\Omega x\|^2""",
    assumptions=[UNIT_STATE, Definition(r"y = (I + \eta\Omega) x", by=euler_step)],
    relation=Equal(), all_sizes=True, hypotheses=(ANTISYMMETRIC, UNIT_STATE), sizes={"D": (1, 5)}, exact=True,
    note=r"""$\|x\| = 1$, which Eq. (81) uses without a word, is not printed here; it is the spherical constraint of
        Section 3, which every state of (18) but the first meets by itself. Lines (79)-(80) need no assumption, and two
        of their terms vanish under these; so they are compared for any matrix and state as well.""")  # fmt: skip


@EQ_81.inputs
@realises(
    {"Omega is anti-symmetric": reached.SKEW, r"|x\| = 1": reached.UNIT_ROWS},
    but="G and z, which may be any, are those from which Omega and x are made; no line has G beside Omega or z beside x",
)
def unit_state_and_any(G: Generator, direction: Row, eta: Step) -> dict[str, Any]:
    """Omega = G - G^T and a unit state; G and `direction`, which no assumption binds, besides."""
    return {**unit_state(G, direction, eta), "G": G, "z": direction}


def _expanded(x: Any, Omega: Any, eta: Any, second_sign: int = 1, factor: Any = None) -> Any:
    """Eq. (80), shape (1, 1); mutants differ in the sign of its third term or the factor of its last."""
    cross = x @ Omega @ x.T * eta + x @ Omega.T @ x.T * eta * second_sign
    return x @ x.T + cross + _turned(x, Omega) * (eta * eta if factor is None else factor)


def _turned(x: Any, Omega: Any) -> Any:
    """|Omega x|^2, shape (1, 1)."""
    return row_sums((x @ Omega.T) * (x @ Omega.T))


@EQ_81.formula
def squared_norm_expanded(x: Row, Omega: Generator, z: Row, G: Generator, eta: Step) -> Any:
    """Eq. (80) for any matrix G and state z, then Eqs. (80) and (81), shape (3, 1)."""
    lines = [_expanded(z, G, eta), _expanded(x, Omega, eta), 1 + _turned(x, Omega) * eta * eta]
    return concatenate(lines, axis=0)


@EQ_81.oracle
def squared_norms_of_steps(x: Row, Omega: Generator, z: Row, G: Generator, eta: Step) -> Any:
    y, general = euler_step(x, Omega, eta), euler_step(z, G, eta)
    return concatenate([row_sums(general * general), ones(2, 1) @ row_sums(y * y)], axis=0)


EQ_81.mutant(
    "eta instead of its square",
    "_expanded(x, Omega, eta) -> _expanded(x, Omega, eta, factor=eta);"
    " 1 + _turned(x, Omega) * eta * eta -> 1 + _turned(x, Omega) * eta",
)
EQ_81.mutant("sign of the quadratic term", "1 + _turned(x, Omega) * eta * eta -> 1 - _turned(x, Omega) * eta * eta")
EQ_81.mutant("sign of the third term of Eq. (80)", "_expanded(z, G, eta) -> _expanded(z, G, eta, second_sign=-1)")
EQ_81.mutant("Eq. (81) of any state: norm of x taken for 1", "_expanded(z, G, eta) -> 1 + _turned(z, G) * eta * eta")


EQ_82 = Claim(TURNING_STATE, "dynamics.eq-82", label="Eq. (82)", name="norm of an oscillation step, equal frequencies",
    statement=r"\|y\|^2=1+\eta^2\omega^2",
    relation=Equal(), all_sizes=True, hypotheses=(ANTISYMMETRIC, EQUAL_FREQUENCIES, UNIT_STATE),
    exact=True, uses=("dynamics.eq-81",))  # fmt: skip


@EQ_82.formula
def squared_norm_by_frequency(omega: Frequency, eta: Step) -> Any:
    """1 + eta^2 omega^2, a scalar (Eq. (82))."""
    return 1 + eta * eta * omega * omega


@EQ_82.oracle
def squared_norm_of_rotated(x: Row, Omega: Generator, eta: Step) -> Any:
    y = euler_step(x, Omega, eta)
    return total(y * y)


EQ_82.mutant("frequency not squared", lambda omega, eta: 1 + eta * eta * omega)
EQ_82.mutant("minus", lambda omega, eta: 1 - eta * eta * omega * omega)


EQ_84 = Claim(ONE_FREQUENCY, "dynamics.eq-84", label="Eq. (84)", name="spectral norm of an oscillation step",
    statement=r"\|I_D+\eta\Omega\|_2=|1\pm i\eta\omega|=\sqrt{1+\eta^2\omega^2}",
    relation=Equal())  # fmt: skip


@EQ_84.formula
def norm_of_step_matrix(omega: Frequency, eta: Step) -> Any:
    """sqrt(1 + eta^2 omega^2), a scalar (Eq. (84))."""
    return sqrt(1 + eta * eta * omega * omega)


EQ_84.oracle(lambda Omega, eta: spectral_norm(eye(Omega.shape[0]) + Omega * eta))
EQ_84.mutant("square root dropped", lambda omega, eta: 1 + eta * eta * omega * omega)
EQ_84.mutant("triangle inequality", lambda omega, eta: 1 + sqrt(eta * eta * omega * omega))


# -- the bounds --------------------------------------------------------------------------------------------------------

EQS_85_87 = Claim(TURNING_STATE, "dynamics.eq-85-87", label="Eqs. (85)-(87)",
    statement=r"""\|J(x)\|_2=\Big\|\Big(I_D-\frac{yy^\top}{\|y\|^2}\Big)\frac1{\|y\|}(I_D+\eta\Omega)\Big\|_2\le
        \frac1{\|y\|}\|I_D+\eta\Omega\|_2\le\frac{\sqrt{1+\eta^2\omega^2}}{\sqrt{1+\eta^2\omega^2}}=1""",
    name="spectral norm of the normalised oscillation step", relation=AtMost(), all_sizes=True,
    hypotheses=TURNING, uses=("dynamics.eq-18", "dynamics.eq-68", "dynamics.eq-82", "dynamics.eq-84"),
    note=r"$\|J\|_2$ against both right-hand sides; that these are equal is Eqs. (82) and (84). Attained for $D = 4$.",
)  # fmt: skip


@EQS_85_87.formula
def norm_bounds(x: Row, Omega: Generator, eta: Step) -> Any:
    """The bounds (86) and (87), shape (2, 1)."""
    norm, r = spectral_norm(eye(x.shape[1]) + Omega * eta), row_norms(euler_step(x, Omega, eta))
    return concatenate([norm / r, r * 0 + 1], axis=0)


EQS_85_87.oracle(lambda x, Omega, eta: ones(2, 1) * spectral_norm(jacobian(normalised_step, "x")(x, Omega, eta)))
EQS_85_87.mutant("square of |y|", "norm / r -> norm / (r * r)")
EQS_85_87.mutant("1/|y| in place of 1", "r * 0 + 1 -> 1 / r")


NORMALISED_SPECTRUM = Claim(TURNING_STATE, "dynamics.a.5-eigenvalues", label="A.5, the eigenvalues themselves",
    statement=r"""J(J-\cos\theta\,I_D)(J^2-2\cos\theta\,J+I_D)=O,\ \operatorname{tr}J=(D-1)\cos\theta,\
        \theta=\arctan(\eta\omega): \ \text{the eigenvalues of }J(x)\text{ are }0,\ \cos\theta\text{ and }e^{\pm
        i\theta},\ (D-2)/2\text{ times each}""",
    name="eigenvalues of the normalised oscillation step", relation=HasStructure(), at_sizes=True, of_project=True,
    uses=("dynamics.eq-82",),
    note=r"""So for $D = 2$ all eigenvalues lie strictly inside the unit circle unless $\eta\omega = 0$, and for $D \ge
        4$ the largest modulus is 1, at every state. $J = (I - yy^\top/\|y\|^2)Q$ with the rotation $Q = (I +
        \eta\Omega)/\|y\|$ by $\theta$: $Jx = 0$, $x$ turned by a right angle is stretched by $\cos\theta$ up to a
        multiple of $x$, and the rest rotates.""")  # fmt: skip


@NORMALISED_SPECTRUM.formula
def jacobian_of_normalised_step(x: Row, Omega: Generator, eta: Step) -> Any:
    """J(x), shape (D, D)."""
    return jacobian(normalised_step, "x")(x, Omega, eta)


@NORMALISED_SPECTRUM.part("structure")
def defects_of_eigenvalues(value: Any, omega: Frequency, eta: Step) -> Any:
    """The polynomial at J, and its trace beside (D - 1) cos theta, shape (D + 1, D)."""
    D = value.shape[0]
    cosine, identity = 1 / sqrt(1 + eta * eta * omega * omega), eye(D)
    polynomial = value @ (value - identity * cosine) @ (value @ value - value * (2 * cosine) + identity)
    return concatenate([polynomial, ones(1, D) * (trace(value) - (D - 1) * cosine)], axis=0)


NORMALISED_SPECTRUM.mutant("twice the Jacobian", lambda value: value * 2)
NORMALISED_SPECTRUM.mutant("before the normalisation", lambda Omega, eta: eye(Omega.shape[0]) + Omega * eta)


# -- the spectrum ------------------------------------------------------------------------------------------------------

SPECTRUM = Claim(OSCILLATION, "dynamics.a.5-spectrum", label="A.5, text", name="eigenvalues of antisymmetric matrices",
    statement=r"\text{an antisymmetric matrix has eigenvalues of the form }\pm i\omega_j,\ \omega_j\ge0",
    relation=HasStructure(), sizes={"D": (1, 6)},
    note=r"For odd $D$ one eigenvalue is 0, alone: the form then reads $\omega_j = 0$ with a single sign.")  # fmt: skip


@SPECTRUM.inputs
@realises({"Omega is anti-symmetric": reached.SKEW})
def antisymmetric(G: Generator) -> dict[str, Any]:
    """Omega = G - G^T."""
    return {"Omega": G - G.T}


@SPECTRUM.formula
def spectrum(Omega: Generator) -> Any:
    """Real and imaginary parts of the eigenvalues, imaginary parts ascending, shape (D, 2)."""
    return eigenvalues(Omega)


@SPECTRUM.part("structure")
def distance_from_imaginary_pairs(value: Any) -> Any:
    """The real parts, and the imaginary parts added to themselves in reverse order, shape (D, 2)."""
    reverse = value.flip(0) if is_tensor(value) else value[::-1]
    return concatenate([value[:, :1], value[:, 1:] + reverse[:, 1:]], axis=1)


SPECTRUM.mutant("the matrix of Eq. (17)", lambda Omega: eigenvalues(Omega + eye(Omega.shape[0])))
SPECTRUM.mutant("its square", lambda Omega: eigenvalues(Omega @ Omega))
