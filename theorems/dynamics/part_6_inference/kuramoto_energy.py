"""Section 6.3: the pseudo-energy beside the energy of the generalised Kuramoto model.

Surprising: beside an input C the coupling enters the pseudo-energy twice as strongly as it should.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import projection, unit_rows
from theorems.dynamics.numerics import energy_lost, loss_along, no_loss
from verify.matrix import basis_matrix, frobenius_norm, rational, row_sums, vec_r, zeros
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Reading, Setting, Shape, realises

Phases = Annotated[Any, Shape("P", "N")]
Coupling = Annotated[Any, Shape("n", "n")]


# -- the Kuramoto energy -----------------------------------------------------------------------------------------------

SYMMETRIC_COUPLING = Assumption("J is symmetric", zero=lambda J: J - J.T)
UNIT_PHASES = Assumption("unit oscillators", zero=lambda X: row_sums(X * X) - 1)


@realises({"J is symmetric": reached.SYMMETRIC, "unit oscillators": reached.UNIT_ROWS})
def symmetric_coupling(directions: Phases, C: Phases, K: Coupling) -> dict[str, Any]:
    """Unit oscillators, inputs C, and J = K + K^T."""
    return {"X": unit_rows(directions), "C": C, "J": K + K.T}


def drive(X: Any, C: Any, J: Any) -> Any:
    """c + J x, shape (P, N) like the oscillators X."""
    return C + (J @ vec_r(X)).reshape(*X.shape)


KURAMOTO = Setting(
    DYNAMICS,
    "Section 6.3, the generalised Kuramoto model",
    assumptions=[
        SYMMETRIC_COUPLING,
        UNIT_PHASES,
        Assumption("n = PN: P oscillators of dimension N", sizes=lambda sizes: sizes["n"] == sizes["P"] * sizes["N"]),
        Definition(r"\Omega = 0, MSA(X) replaced by JX; x' = Proj(c + Jx) in continuous time", by=drive),
    ],
    sizes={"P": (1, 3), "N": (1, 3), "n": (1, 6)},
    inputs=symmetric_coupling,
)


def quadratic_energy(X: Any, C: Any, J: Any, share: Any) -> Any:
    """-Tr(X^T C) - share x^T J x, shape (1, 1): the Kuramoto energy with share 1/2, E_pseudo with share 1."""
    return -(vec_r(X).T @ vec_r(C)) - vec_r(X).T @ J @ vec_r(X) * share


def kuramoto_energy(X: Any, C: Any, J: Any) -> Any:
    """E_K = (E_pseudo - Tr(C^T X))/2, shape (1, 1)."""
    return (quadratic_energy(X, C, J, 1) - vec_r(C).T @ vec_r(X)) * rational(1, 2)


KURAMOTO_ENERGY = Claim(KURAMOTO, "dynamics.sec-6.3-kuramoto", label="Section 6.3, text",
    statement=r"""\text{``Under certain symmetry assumptions without SA, it reduces to the energy function of a
        generalized Kuramoto model''}""",
    assumptions=[Assumption("C = O", zero=lambda C: C)],
    name="pseudo-energy reduced to the Kuramoto energy", relation=AtMost(signed=True, ascent=False), expects="gap",
    presumes=("dynamics.sec-6.3-kuramoto-input",), correction="dynamics.sec-6.3-kuramoto-energy",
    reading=Reading("the energy function of a generalized Kuramoto model", r"""an energy function of the flow does not
            increase along it, whatever its normalisation: $dE_{\text{pseudo}}/dt \le 0$ for $E_{\text{pseudo}} =
            -\operatorname{Tr}(X^\top(C+JX))$, $\Delta X$ as in Eq. (9)"""),
    missing="$C = O$",
    consequence="""With an input $C$ the pseudo-energy is not the energy of the model that runs and can rise; use
        dynamics.sec-6.3-kuramoto-energy.""",
    note=r"""The Kuramoto energy is $-x^\top Jx/2 - c^\top x$. Without $C$, which is no assumption of symmetry,
        $E_{\text{pseudo}}$ is twice that. With $C$ the coupling enters $E_{\text{pseudo}}$ twice as strongly as it
        should: it is the energy of a model with the coupling $2J$, literally, but not of the one that runs
        (dynamics.sec-6.3-kuramoto-input). With $\Delta X$ exactly as in Eq. (7) $E_{\text{pseudo}}$ is 0.""",
)  # fmt: skip


@KURAMOTO_ENERGY.inputs
@realises({"J is symmetric": reached.SYMMETRIC, "unit oscillators": reached.UNIT_ROWS, "C = O": "C is 0"})
def symmetric_coupling_without_input(directions: Phases, C: Phases, K: Coupling) -> dict[str, Any]:
    """Unit oscillators, no input, and J = K + K^T."""
    return symmetric_coupling(directions, C * 0, K)


@KURAMOTO_ENERGY.formula
def loss_of_pseudo_energy_without_input(X: Phases, C: Phases, J: Coupling) -> Any:
    """-dE_pseudo/dt along x' = Proj(Jx), and its scale; shape (2, 1)."""
    return loss_along(lambda X: quadratic_energy(X, C, J, 1), X, projection(X, drive(X, C, J)))


KURAMOTO_ENERGY.oracle(no_loss)
KURAMOTO_ENERGY.mutant("sign of the coupling in the energy",
    "quadratic_energy(X, C, J, 1) -> quadratic_energy(X, C, J, -1)")  # fmt: skip
KURAMOTO_ENERGY.mutant("coupling made asymmetric in the flow", "drive -> _drive_by_asymmetric_coupling")


KURAMOTO_INPUT = Claim(KURAMOTO, "dynamics.sec-6.3-kuramoto-input", label="Section 6.3, E_pseudo of a model with input",
    statement=r"""\frac{d}{dt}\big(-\operatorname{Tr}(X^\top(C+JX))\big)\le0\text{ along }x'=\operatorname{Proj}(c+Jx),\
        J=J^\top,\text{ for every input }C""",
    name="pseudo-energy of a Kuramoto model with input", relation=AtMost(signed=True, ascent=False), expects="refuted",
    severity="error", of_project=True,
    note="The coupling counts twice: it is the energy of the model with the coupling $2J$.")  # fmt: skip


@KURAMOTO_INPUT.formula
def loss_of_pseudo_energy(X: Phases, C: Phases, J: Coupling) -> Any:
    """-dE_pseudo/dt along x' = Proj(c + Jx), and its scale; shape (2, 1)."""
    return loss_along(lambda X: quadratic_energy(X, C, J, 1), X, projection(X, drive(X, C, J)))


KURAMOTO_INPUT.oracle(no_loss)
# By hand, in the tangent direction: drive 3 - 2, gradient -(3 - 4), so dE/dt = 1
KURAMOTO_INPUT.counterexample("one oscillator in the plane", X=[[1, 0]], C=[[0, 3]], J=[[0, -2], [-2, 0]])


@KURAMOTO_INPUT.counterexample("two oscillators that repel each other, without self-coupling")
def _() -> dict[str, Any]:
    """By hand, at each of them: drive 3 - 2, gradient -(3 - 4), so dE/dt = 2."""
    J = [[0, 0, -2, 0], [0, 0, 0, -2], [-2, 0, 0, 0], [0, -2, 0, 0]]
    return {"X": [[1, 0], [0, 1]], "C": [[0, 3], [3, 0]], "J": J}


KURAMOTO_INPUT.mutant("without C in the energy", "quadratic_energy(X, C, J, 1) -> quadratic_energy(X, C * 0, J, 1)")
KURAMOTO_INPUT.mutant("the Kuramoto energy", share=rational(1, 2))


KURAMOTO_HALF = Claim(KURAMOTO, "dynamics.sec-6.3-kuramoto-energy",
    label="Section 6.3, the energy of the generalised Kuramoto model", name="energy of the generalised Kuramoto model",
    statement=r"""E_K=-\tfrac12x^\top Jx-c^\top x=\tfrac12\big(E_{\text{pseudo}}-\operatorname{Tr}(C^\top
        X)\big),\quad\frac{dE_K}{dt}\le0\text{ along }x'=\operatorname{Proj}(c+Jx)""",
    relation=AtMost(signed=True), of_project=True, corrects="dynamics.sec-6.3-kuramoto",
    note=r"""$dE_K/dt = -\|\operatorname{Proj}(c+Jx)\|^2$. The energy is evaluated in the second form, from
        $E_{\text{pseudo}}$.""")  # fmt: skip


def _drive_by_asymmetric_coupling(X: Any, C: Any, J: Any) -> Any:
    return drive(X, C, J + basis_matrix(J.shape[0], J.shape[0], 0, 1))


@KURAMOTO_HALF.formula
def loss_of_kuramoto_energy(X: Phases, C: Phases, J: Coupling) -> Any:
    """-dE_K/dt along x' = Proj(c + Jx) with E_K = (E_pseudo - Tr(C^T X))/2, and its scale; shape (2, 1)."""
    return loss_along(lambda X: kuramoto_energy(X, C, J), X, projection(X, drive(X, C, J)))


KURAMOTO_HALF.oracle(no_loss)
KURAMOTO_HALF.mutant("E_pseudo", "kuramoto_energy(X, C, J) -> quadratic_energy(X, C, J, 1)")
KURAMOTO_HALF.mutant("coupling made asymmetric in the flow", "drive -> _drive_by_asymmetric_coupling")


KURAMOTO_INTEGRATED = Claim(KURAMOTO, "dynamics.sec-6.3-kuramoto-integrated",
    label="Section 6.3, the energy of the generalised Kuramoto model, integrated forward",
    statement=r"E_K(X(\tau))\le E_K(X(0))+\text{the change when the step is halved}",
    assumptions=[
        Definition(r"classical Runge-Kutta, 4 and 8 steps, \tau = 1/(1+\|C\|_F+\|J\|_F)", by=energy_lost),
    ],
    name="Kuramoto energy along integrated trajectories", relation=AtMost(signed=True, ascent=False),
    sizes={"P": (1, 2), "N": (1, 2), "n": (1, 4)}, of_project=True, uses=("dynamics.sec-6.3-kuramoto-energy",),
)  # fmt: skip


@KURAMOTO_INTEGRATED.formula
def loss_of_kuramoto_energy_over_time(X: Phases, C: Phases, J: Coupling) -> Any:
    """E_K(0) - E_K(tau) and the allowance for the step, shape (1, 1)."""
    time = 1 / (1 + frobenius_norm(C) + frobenius_norm(J))
    return energy_lost(
        lambda Y: projection(Y, drive(Y, C, J)), lambda Y: quadratic_energy(Y, C, J, rational(1, 2)), X, time, 4
    )


KURAMOTO_INTEGRATED.oracle(lambda: zeros(1, 1))
KURAMOTO_INTEGRATED.mutant("E_pseudo", share=1)
KURAMOTO_INTEGRATED.mutant("the opposite coupling in the energy", share=rational(-1, 2))
