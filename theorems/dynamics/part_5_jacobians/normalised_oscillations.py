"""Eq. (18), the normalised oscillation, its Jacobian, and the bound |lambda_j| <= 1 at equal frequencies (Section 5.2)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics.definitions import normalisation, unit_rows
from theorems.dynamics.settings import OSCILLATION, TURNING, TURNING_STATE, Generator, Row, Step
from verify.matrix import eye, inverse, row_norms, row_sums, spectral_radius, total
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, subject, realises

Radius = Annotated[Any, Real(0.125, 4.0)]


def euler_step(x: Any, Omega: Any, eta: Any) -> Any:
    """y = (I + eta Omega) x for a state written as a row, shape (1, D) (Eq. (17))."""
    return x + x @ Omega.T * eta


@subject("dynamics.normalised_oscillation")
def normalised_step(x: Row, Omega: Generator, eta: Step) -> Any:
    """Pi((I + eta Omega) x), shape (1, D) (Eq. (18))."""
    return normalisation(euler_step(x, Omega, eta))


@realises({"Omega is anti-symmetric": reached.SKEW})
def state_with_rational_step(G: Generator, direction: Row, radius: Radius, eta: Step) -> dict[str, Any]:
    """Omega = G - G^T, and the state x whose y = (I + eta Omega) x has the norm `radius`, so that exact arithmetic decides."""
    Omega = G - G.T
    y = unit_rows(direction) * radius
    return {"x": y @ inverse(eye(G.shape[0]) + Omega * eta).T, "Omega": Omega, "eta": eta}


EQ_18 = Claim(OSCILLATION, "dynamics.eq-18", label="Eq. (18) (= (77))",
    statement=r"""x^{(t+1)}=\Pi((I_D+\eta\Omega)x^{(t)}),\quad
        J(x^{(t)})=\Big(I_D-\frac{yy^\top}{\|y\|^2}\Big)\frac{I_D+\eta \Omega}{\|y\|},\ y=(I_D+\eta\Omega)x^{(t)}""",
    assumptions=[
        Assumption(
            r"y \ne 0", positive=lambda x, Omega, eta: total(euler_step(x, Omega, eta) * euler_step(x, Omega, eta))
        ),
    ],
    name="Jacobian of the normalised oscillation step", relation=Equal(), all_sizes=True, exact=True,
    uses=("dynamics.lemma-a.2",))  # fmt: skip
EQ_18.inputs(state_with_rational_step)


@EQ_18.formula
def normalised_step_jacobian(x: Row, Omega: Generator, eta: Step) -> Any:
    """J(x), shape (D, D) (Eq. (18))."""
    y, I = euler_step(x, Omega, eta), eye(x.shape[1])
    r = row_norms(y)
    return (I - y.T @ y / (r * r)) @ (I + Omega * eta) / r


EQ_18.oracle(lambda x, Omega, eta: jacobian(normalised_step, "x")(x, Omega, eta))
EQ_18.mutant("Omega transposed", "I + Omega * eta -> I + Omega.T * eta")
EQ_18.mutant("factor 1/|y| dropped", lambda value, x, Omega, eta: value * row_norms(euler_step(x, Omega, eta)))
EQ_18.mutant("reflection instead of projection", "y.T @ y -> 2 * y.T @ y")


A5 = Claim(TURNING_STATE, "dynamics.a.5", label="Section 5.2 / A.5, main claim",
    statement=r"""\text{all }\omega_j=\omega\ \Rightarrow\ \text{all eigenvalues }\lambda_j\text{ of
        }J(x)=\Big(I_D-\frac{yy^ \top}{\|y\|^2}\Big)\frac1{\|y\|}(I_D+\eta\Omega)\text{ satisfy }|\lambda_j|\le1""",
    name="eigenvalues of the normalised oscillation step, bound",
    relation=AtMost(left="spectral radius of the step's Jacobian"), all_sizes=True, hypotheses=TURNING, uses=("dynamics.eq-18",),
    proof=(
        "dynamics.eq-81", "dynamics.a.5-spectrum", "dynamics.eq-82", "dynamics.eq-68", "dynamics.eq-84",
        "dynamics.eq-85-87",
    ),
    note=r"""Attained for $D = 4$, where $J$ rotates the plane orthogonal to $x$ and $\Omega x$; for $D = 2$ the
        eigenvalues are 0 and $1/\|y\|$ (dynamics.a.5-eigenvalues). Where it is attained the eigenvalue enclosures
        contain 1. That $\|x\| = 1$ is used without a word in Eq. (81); it is the spherical constraint of Section 3,
        which every state of (18) but the first meets by itself. For any other $x$ the bound is $1/\|x\|$. For odd $D$
        equal frequencies are all 0.""")  # fmt: skip


@A5.formula
def unit_circle(x: Row, Omega: Generator, eta: Step) -> Any:
    """1."""
    return row_sums(x * 0) + 1


A5.oracle(lambda x, Omega, eta: spectral_radius(jacobian(normalised_step, "x")(x, Omega, eta)))
A5.mutant("1/|y|", lambda x, Omega, eta: 1 / row_norms(euler_step(x, Omega, eta)))
A5.mutant("|y| - 1", lambda x, Omega, eta: row_norms(euler_step(x, Omega, eta)) - 1)
