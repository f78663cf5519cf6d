"""Normalised oscillations: the step (18), its Jacobian, and the bound of Appendix A.5 on its eigenvalues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import flint
import numpy as np

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import normalisation, unit_rows
from theorems.matrices import orthogonal_matrix
from verify.arithmetics import Constant, is_tensor, midpoint
from verify.matrix import concatenate, eye, inverse, kron, ones, row_norms, row_sums, spectral_norm, sqrt, total
from verify.oracles import jacobian
from verify.vocabulary import ArithmeticUnsupported, Assumption, AtMost, Claim, Equal, Real, Shape, subject

State = Annotated[Any, Shape("1", "D")]
Generator = Annotated[Any, Shape("D", "D")]
StepSize = Annotated[Any, Real(-2.0, 2.0)]
Frequency = Annotated[Any, Real(0.0, 3.0)]
Radius = Annotated[Any, Real(0.125, 4.0)]

ANTISYMMETRIC = Assumption(r"\Omega is anti-symmetric", zero=lambda Omega: Omega + Omega.T)
UNIT_STATE = Assumption(r"\|x\| = 1", zero=lambda x: row_sums(x * x) - 1)
EQUAL_FREQUENCIES = Assumption(
    r"all eigenvalues of \Omega have the magnitude \omega",
    zero=lambda Omega, omega: Omega.T @ Omega - eye(Omega.shape[0]) * (omega * omega),
)
EVEN = {"D": (2, 4)}


def is_even(sizes: Mapping[str, int]) -> bool:
    """Whether D is even, without which an anti-symmetric matrix has the eigenvalue 0."""
    return sizes["D"] % 2 == 0


def euler_step(x: Any, Omega: Any, eta: Any) -> Any:
    """y = (I + eta Omega) x for a state written as a row, shape (1, D) (Eq. (17))."""
    return x + x @ Omega.T * eta


@subject("dynamics.normalised_oscillation")
def normalised_step(x: State, Omega: Generator, eta: StepSize) -> Any:
    """Pi((I + eta Omega) x), shape (1, D) (Eq. (18))."""
    return normalisation(euler_step(x, Omega, eta))


def state_with_rational_step(G: Generator, direction: State, radius: Radius, eta: StepSize) -> dict[str, Any]:
    """Omega = G - G^T, and the state x whose y = (I + eta Omega) x has the norm `radius`, so that exact arithmetic decides."""
    Omega = G - G.T
    y = unit_rows(direction) * radius
    return {"x": y @ inverse(eye(G.shape[0]) + Omega * eta).T, "Omega": Omega, "eta": eta}


def equal_frequencies(G: Generator, direction: State, omega: Frequency, eta: StepSize) -> dict[str, Any]:
    """Omega = Q blockdiag(omega K) Q^T with K = [[0, 1], [-1, 0]] and Q a rotation, and a unit state.

    Reflecting Omega and the state together gives the rest, which changes no norm and no eigenvalue.
    """
    Q = orthogonal_matrix(G)
    K = kron(eye(G.shape[0] // 2), Constant([[0, 1], [-1, 0]]))
    return {"x": unit_rows(direction), "Omega": Q @ K @ Q.T * omega, "omega": omega, "eta": eta}


def _lapack_eigenvalues(A: Any) -> Any:
    """The eigenvalues of a tensor (n, n), complex, shape (n,); NaN where A is not finite."""
    import torch

    # LAPACK raises for the whole batch where one matrix is not finite; here that one becomes NaN.  It also fails to
    # converge on some anti-symmetric integer matrices, which a reflection, chosen without meaning, brings out of their way.
    finite = A.isfinite().all()
    v = torch.arange(1, A.shape[0] + 1, dtype=A.dtype, device=A.device).sqrt().reshape(-1, 1)
    reflection = torch.eye(A.shape[0], dtype=A.dtype, device=A.device) - v @ v.T * (4 / (A.shape[0] * (A.shape[0] + 1)))
    values = torch.linalg.eigvals(reflection @ torch.where(finite, A, torch.zeros_like(A)) @ reflection)
    return torch.where(finite, values, torch.full_like(values, torch.nan))


def _enclosed_eigenvalues(A: Any) -> list[flint.acb]:
    """The eigenvalues of a ball matrix (n, n), multiple ones included."""
    try:
        found = flint.acb_mat([[flint.acb(entry) for entry in row] for row in A]).eig(multiple=True)
    except ValueError as problem:
        raise ArithmeticUnsupported(f"the eigenvalues could not be enclosed: {problem}") from None
    # The float route computes those of A + E: two products with a reflection and a backward stable kernel, each with an
    # error of up to n roundings of |A|.  Balls can be sharper, exact for diagonal A even, so this is added.
    size = sum((flint.arb(entry) * flint.arb(entry) for entry in A.flat), flint.arb(0)).sqrt().abs_upper()
    spread = flint.arb(0, size * 3 * A.shape[0] * flint.arb(2) ** -flint.ctx.prec)
    return [value + flint.acb(spread, spread) for value in found]


def spectral_radius(A: Any) -> Any:
    """The largest absolute value of the eigenvalues of A (n, n), a scalar; balls enclose it."""
    if is_tensor(A):
        return _lapack_eigenvalues(A).abs().max()
    largest = flint.arb(0)
    for value in _enclosed_eigenvalues(A):
        largest = largest.max(abs(value))
    return largest


def eigenvalues(A: Any) -> Any:
    """Real and imaginary parts of the eigenvalues of A (n, n), imaginary parts ascending, shape (n, 2); balls enclose them."""
    if is_tensor(A):
        import torch

        values = _lapack_eigenvalues(A)
        order = values.imag.argsort()
        return torch.stack([values.real[order], values.imag[order]], dim=1)
    enclosed = sorted(_enclosed_eigenvalues(A), key=lambda value: midpoint(value.imag))
    return np.array([[value.real, value.imag] for value in enclosed], dtype=object).reshape(len(enclosed), 2)


# -- Eq. (18) ----------------------------------------------------------------------------------------------------------

EQ_18 = Claim(
    DYNAMICS,
    "dynamics.eq-18",
    label="Eq. (18) (= (77))",
    statement=r"x^{(t+1)}=\Pi((I_D+\eta\Omega)x^{(t)}),\quad J(x^{(t)})=\Big(I_D-\frac{yy^\top}{\|y\|^2}\Big)\frac{I_D+\eta\Omega}"
    r"{\|y\|},\ y=(I_D+\eta\Omega)x^{(t)}",
    assumptions=[
        ANTISYMMETRIC,
        Assumption(
            r"y \ne 0", positive=lambda x, Omega, eta: total(euler_step(x, Omega, eta) * euler_step(x, Omega, eta))
        ),
    ],
    relation=Equal(),
    sizes={"D": (1, 4)},
    exact=True,
    uses=("dynamics.lemma-a.2",),
)

EQ_18.inputs(state_with_rational_step)


def _jacobian(x: Any, Omega: Any, eta: Any, share: int = 1, power: int = 1, transposed: bool = False) -> Any:
    """(I - share y y^T / |y|^2)(I + eta Omega) / |y|^power, shape (D, D); mutants differ in share, power or transpose."""
    y, identity = euler_step(x, Omega, eta), eye(x.shape[1])
    r = row_norms(y)
    step = identity + (Omega.T if transposed else Omega) * eta
    return (identity - y.T @ y * share / (r * r)) @ step / (r if power == 1 else r * 0 + 1)


@EQ_18.formula
def normalised_step_jacobian(x: State, Omega: Generator, eta: StepSize) -> Any:
    """J(x), shape (D, D) (Eq. (18))."""
    return _jacobian(x, Omega, eta)


EQ_18.oracle(lambda x, Omega, eta: jacobian(normalised_step, "x")(x, Omega, eta))
EQ_18.mutant("Omega transposed", transposed=True)
EQ_18.mutant("factor 1/|y| dropped", power=0)
EQ_18.mutant("reflection instead of projection", share=2)


# -- the norm of y -----------------------------------------------------------------------------------------------------

EQ_81 = Claim(
    DYNAMICS,
    "dynamics.eq-81",
    label="Eqs. (78)-(81)",
    statement=r"\|y\|^2=x^\top x+\eta x^\top\Omega x+\eta x^\top\Omega^\top x+\eta^2x^\top\Omega^\top\Omega x=1+\eta^2"
    r"\|\Omega x\|^2",
    assumptions=[ANTISYMMETRIC, UNIT_STATE, r"y = (I + \eta\Omega) x"],
    relation=Equal(),
    sizes={"D": (1, 5)},
    exact=True,
    note="Lines (79)-(80) need no assumption, and two of their terms vanish under these; so they are compared for any matrix and"
    " state as well.",
)


@EQ_81.inputs
def unit_state_and_any(G: Generator, direction: State, eta: StepSize) -> dict[str, Any]:
    """Omega = G - G^T and a unit state; G and `direction`, which no assumption binds, besides."""
    return {**unit_state(G, direction, eta), "G": G, "z": direction}


def unit_state(G: Generator, direction: State, eta: StepSize) -> dict[str, Any]:
    """Omega = G - G^T and a unit state."""
    return {"x": unit_rows(direction), "Omega": G - G.T, "eta": eta}


def _expanded(x: Any, Omega: Any, eta: Any, second_sign: int = 1, factor: Any = None) -> Any:
    """Eq. (80), shape (1, 1); mutants differ in the sign of its third term or the factor of its last."""
    cross = x @ Omega @ x.T * eta + x @ Omega.T @ x.T * eta * second_sign
    return x @ x.T + cross + _turned(x, Omega) * (eta * eta if factor is None else factor)


def _turned(x: Any, Omega: Any) -> Any:
    """|Omega x|^2, shape (1, 1)."""
    return row_sums((x @ Omega.T) * (x @ Omega.T))


@EQ_81.formula
def squared_norm_expanded(x: State, Omega: Generator, z: State, G: Generator, eta: StepSize) -> Any:
    """Eq. (80) for any matrix G and state z, then Eqs. (80) and (81), shape (3, 1)."""
    lines = [_expanded(z, G, eta), _expanded(x, Omega, eta), 1 + _turned(x, Omega) * eta * eta]
    return concatenate(lines, axis=0)


@EQ_81.oracle
def squared_norms_of_steps(x: State, Omega: Generator, z: State, G: Generator, eta: StepSize) -> Any:
    y, general = euler_step(x, Omega, eta), euler_step(z, G, eta)
    return concatenate([row_sums(general * general), ones(2, 1) @ row_sums(y * y)], axis=0)


@EQ_81.mutant("eta instead of its square")
def _(x: State, Omega: Generator, z: State, G: Generator, eta: StepSize) -> Any:
    lines = [_expanded(z, G, eta), _expanded(x, Omega, eta, factor=eta), 1 + _turned(x, Omega) * eta]
    return concatenate(lines, axis=0)


EQ_81.mutant("sign of the quadratic term", "1 + _turned(x, Omega) * eta * eta -> 1 - _turned(x, Omega) * eta * eta")
EQ_81.mutant("sign of the third term of Eq. (80)", "_expanded(z, G, eta) -> _expanded(z, G, eta, second_sign=-1)")
EQ_81.mutant("Eq. (81) of any state: norm of x taken for 1", "_expanded(z, G, eta) -> 1 + _turned(z, G) * eta * eta")


EQ_82 = Claim(
    DYNAMICS,
    "dynamics.eq-82",
    label="Eq. (82)",
    statement=r"\|y\|^2=1+\eta^2\omega^2",
    assumptions=[ANTISYMMETRIC, EQUAL_FREQUENCIES, UNIT_STATE],
    relation=Equal(),
    sizes=EVEN,
    where=is_even,
    exact=True,
    uses=("dynamics.eq-81",),
)

EQ_82.inputs(equal_frequencies)


@EQ_82.formula
def squared_norm_by_frequency(omega: Frequency, eta: StepSize) -> Any:
    """1 + eta^2 omega^2, a scalar (Eq. (82))."""
    return 1 + eta * eta * omega * omega


@EQ_82.oracle
def squared_norm_of_rotated(x: State, Omega: Generator, eta: StepSize) -> Any:
    y = euler_step(x, Omega, eta)
    return total(y * y)


EQ_82.mutant("frequency not squared", lambda omega, eta: 1 + eta * eta * omega)
EQ_82.mutant("minus", lambda omega, eta: 1 - eta * eta * omega * omega)


EQ_84 = Claim(
    DYNAMICS,
    "dynamics.eq-84",
    label="Eq. (84)",
    statement=r"\|I_D+\eta\Omega\|_2=|1\pm i\eta\omega|=\sqrt{1+\eta^2\omega^2}",
    assumptions=[ANTISYMMETRIC, EQUAL_FREQUENCIES],
    relation=Equal(),
    sizes=EVEN,
    where=is_even,
)

EQ_84.inputs(equal_frequencies)


@EQ_84.formula
def norm_of_step_matrix(omega: Frequency, eta: StepSize) -> Any:
    """sqrt(1 + eta^2 omega^2), a scalar (Eq. (84))."""
    return sqrt(1 + eta * eta * omega * omega)


EQ_84.oracle(lambda Omega, eta: spectral_norm(eye(Omega.shape[0]) + Omega * eta))
EQ_84.mutant("square root dropped", lambda omega, eta: 1 + eta * eta * omega * omega)
EQ_84.mutant("triangle inequality", lambda omega, eta: 1 + sqrt(eta * eta * omega * omega))


# -- the bounds --------------------------------------------------------------------------------------------------------

EQS_85_87 = Claim(
    DYNAMICS,
    "dynamics.eq-85-87",
    label="Eqs. (85)-(87)",
    statement=r"\|J(x)\|_2\le\frac1{\|y\|}\|I_D+\eta\Omega\|_2\le\frac{\sqrt{1+\eta^2\omega^2}}{\sqrt{1+\eta^2\omega^2}}=1",
    assumptions=[ANTISYMMETRIC, EQUAL_FREQUENCIES, UNIT_STATE],
    relation=AtMost(),
    sizes=EVEN,
    where=is_even,
    uses=("dynamics.eq-18", "dynamics.eq-68", "dynamics.eq-82", "dynamics.eq-84"),
    note="|J| against both right-hand sides; that these are equal is Eqs. (82) and (84). Attained for D = 4.",
)

EQS_85_87.inputs(equal_frequencies)


def _norm_bounds(x: Any, Omega: Any, eta: Any, power: int = 1) -> Any:
    """(|I + eta Omega| / |y|^power, 1), shape (2, 1)."""
    r = row_norms(euler_step(x, Omega, eta))
    norm = spectral_norm(eye(x.shape[1]) + Omega * eta)
    return concatenate([norm / (r if power == 1 else r * r), r * 0 + 1], axis=0)


@EQS_85_87.formula
def norm_bounds(x: State, Omega: Generator, eta: StepSize) -> Any:
    """The bounds (86) and (87), shape (2, 1)."""
    return _norm_bounds(x, Omega, eta)


@EQS_85_87.oracle
def norm_of_jacobian(x: State, Omega: Generator, eta: StepSize) -> Any:
    J = jacobian(normalised_step, "x")(x, Omega, eta)
    return ones(2, 1) * spectral_norm(J)


EQS_85_87.mutant("square of |y|", power=2)


@EQS_85_87.mutant("1/|y| in place of 1")
def _(x: State, Omega: Generator, eta: StepSize) -> Any:
    r = row_norms(euler_step(x, Omega, eta))
    return concatenate([_norm_bounds(x, Omega, eta)[:1], 1 / r], axis=0)


A5 = Claim(
    DYNAMICS,
    "dynamics.a.5",
    label="Section 5.2 / A.5, main claim",
    statement=r"\text{all }\omega_j=\omega\ \Rightarrow\ \text{all eigenvalues }\lambda_j\text{ of }J(x)=\Big(I_D-\frac{yy^\top}"
    r"{\|y\|^2}\Big)\frac1{\|y\|}(I_D+\eta\Omega)\text{ satisfy }|\lambda_j|\le1",
    assumptions=[ANTISYMMETRIC, EQUAL_FREQUENCIES, UNIT_STATE],
    relation=AtMost(),
    sizes=EVEN,
    where=is_even,
    uses=("dynamics.eq-18",),
    proof=(
        "dynamics.eq-81",
        "dynamics.a.5-spectrum",
        "dynamics.eq-82",
        "dynamics.eq-68",
        "dynamics.eq-84",
        "dynamics.eq-85-87",
    ),
    note="Attained for D = 4, where J rotates the plane orthogonal to x and Omega x. There the eigenvalue enclosures contain 1."
    r" That \|x\| = 1 is used without a word in Eq. (81); it is the spherical constraint of Section 3, which every state of (18)"
    " but the first meets by itself. For any other x the bound is 1/|x|. For odd D equal frequencies are all 0.",
)

A5.inputs(equal_frequencies)


@A5.formula
def unit_circle(x: State, Omega: Generator, eta: StepSize) -> Any:
    """1."""
    return row_sums(x * 0) + 1


A5.oracle(lambda x, Omega, eta: spectral_radius(jacobian(normalised_step, "x")(x, Omega, eta)))
A5.mutant("1/|y|", lambda x, Omega, eta: 1 / row_norms(euler_step(x, Omega, eta)))
A5.mutant("|y| - 1", lambda x, Omega, eta: row_norms(euler_step(x, Omega, eta)) - 1)
