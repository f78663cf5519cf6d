"""Appendix C.2, Eq. (97): AKOrN's operators on oscillators, N consecutive entries of a token each."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Gain, Tokens, normalisation, projection, unit_rows
from theorems.dynamics.part_5_jacobians.normalised_oscillations import normalised_step
from theorems.dynamics.settings import Step, Width
from verify.matrix import concatenate, each, eye, mapped, parts_of_width, row_norms, row_sums
from verify.vocabulary import Assumption, Claim, Definition, Equal, Shape, subject, realises


@subject("dynamics.oscillator_rms_norm")
def oscillator_rms_norm(Y: Tokens, gamma: Gain, N: Width) -> Any:
    """Every oscillator, N consecutive entries of a row, divided by its norm and scaled by gamma, shape (S, D) (Section 6.1)."""
    return normalisation(Y.reshape(-1, N)).reshape(Y.shape[0], Y.shape[1]) * gamma.reshape(1, -1)


Oscillators = Annotated[Any, Shape("S", "J", "N")]
Radii = Annotated[Any, Shape("S", "J")]
Frequencies = Annotated[Any, Shape("J", "N", "N")]
UnitTokens = Annotated[Any, Shape("S", "N")]
Skew = Annotated[Any, Shape("N", "N")]
#: Omega_1, ..., Omega_{D/N} on top of each other.
Stacked = Annotated[Any, Shape("D", "N")]

UNIT_OSCILLATORS = Assumption(
    "every oscillator has unit norm", zero=lambda X, N: row_sums(split(X, N) * split(X, N)) - 1
)


def split(X: Any, N: int) -> Any:
    """The oscillators of X (S, D) as rows, token by token, shape (S D/N, N)."""
    return X.reshape(-1, N)


def antisymmetric_blocks(G: Any) -> Any:
    """Omega_j = G_j - G_j^T for G (J, N, N), stacked, shape (J N, N)."""
    return concatenate([G[j] - G[j].T for j in range(G.shape[0])], axis=0)


@subject("dynamics.oscillator_omega")
def oscillator_omega(X: Tokens, Omega: Stacked, N: Width) -> Any:
    """Omg^(osc)(X): Omega_j times oscillator j of each token, shape (S, D); Omega_j in rows (j-1) N + 1, ..., j N (Eq. (97))."""
    turned = mapped(lambda x, block: x @ block.T, parts_of_width(X, N, 1), parts_of_width(Omega, N, 0))
    return concatenate(turned, axis=1)


@subject("dynamics.oscillator_projection")
def oscillator_projection(X: Tokens, Y: Tokens, N: Width) -> Any:
    """Proj_X^(osc)(Y): the projection (5), each oscillator taken for a token; shape (S, D) (Eq. (97))."""
    return projection(split(X, N), split(Y, N)).reshape(*X.shape)


@subject("dynamics.oscillator_normalisation")
def oscillator_normalisation(Y: Tokens, N: Width) -> Any:
    """Pi^(osc)(Y): each oscillator divided by its norm, shape (S, D) (Eq. (97))."""
    return normalisation(split(Y, N)).reshape(*Y.shape)


ANTISYMMETRIC_BLOCKS = Assumption(
    r"\Omega_j anti-symmetric",
    zero=lambda Omega, N: concatenate(mapped(lambda block: block + block.T, parts_of_width(Omega, N, 0)), axis=0),
)

EQ_97 = Claim(DYNAMICS, "dynamics.eq-97", label="Eq. (97)", name="operators on oscillators",
    statement=r"\widetilde{\operatorname{Omg}^{(osc)}(X)}_{i,j}=\Omega_j\tilde X_{i,j},\ \widetilde{"
    r"\operatorname{Proj}_X^{(osc)}(Y)}_{i,j}=(I_N-\tilde X_{i,j}\tilde X_{i,j}^\top)\tilde Y_{i,j},\ \widetilde{"
    r"\Pi^{(osc)}(Y)}_{i,j}=\tilde Y_{i,j}/\|\tilde Y_{i,j}\|,\ \tilde X_{i,j}=X_{[i,(j-1)N+1:jN]}",
    assumptions=[
        Definition("N divides D: D = JN", by=split),
        UNIT_OSCILLATORS,
        ANTISYMMETRIC_BLOCKS,
        Assumption("no oscillator of Y vanishes", positive=lambda Y, N: row_sums(split(Y, N) * split(Y, N))),
    ],
    relation=Equal(), at_sizes=True, sizes={"S": (1, 3), "J": (1, 3), "N": (1, 3)}, exact=True,
    note="With $J = D/N = 1$ the last two are the operators (5).")  # fmt: skip


@EQ_97.inputs
@realises({"oscillator has unit norm": reached.UNIT_ROWS, "Omega_j anti-symmetric": reached.SKEW})
def oscillators_of_rational_norm(
    directions: Oscillators, others: Oscillators, radii: Radii, G: Frequencies
) -> dict[str, Any]:
    """Unit oscillators X, oscillators Y of rational norms, both (S, J N), and Omega (J N, N)."""
    S, J, N = directions.shape
    Y = unit_rows(others.reshape(-1, N)) * radii.reshape(-1, 1)
    X = unit_rows(directions.reshape(-1, N))
    return {"X": X.reshape(S, J * N), "Y": Y.reshape(S, J * N), "Omega": antisymmetric_blocks(G), "N": N}


@EQ_97.formula
def oscillator_operators(X: Any, Y: Any, Omega: Any, N: int) -> Any:
    """Omg(X) above Proj_X(Y) above Pi(Y), all oscillator-wise, shape (3 S, D) (Eq. (97))."""
    return concatenate(
        [oscillator_omega(X, Omega, N), oscillator_projection(X, Y, N), oscillator_normalisation(Y, N)], axis=0
    )


@EQ_97.oracle
def oscillator_operators_by_loops(X: Any, Y: Any, Omega: Any, N: int) -> Any:
    """Every oscillator as a column vector, for each token i and index j."""
    rows: list[list[Any]] = [[], [], []]
    for i in range(X.shape[0]):
        parts: list[list[Any]] = [[], [], []]
        for j in range(X.shape[1] // N):
            at = slice(j * N, (j + 1) * N)
            x, y, Omega_j = X[i, at].reshape(-1, 1), Y[i, at].reshape(-1, 1), Omega[at]
            norm = row_norms(y.T)
            for part, column in zip(parts, (Omega_j @ x, (eye(N) - x @ x.T) @ y, y / norm), strict=True):
                part.append(column.T)
        for row, part in zip(rows, parts, strict=True):
            row.append(concatenate(part, axis=1))
    return concatenate([row for block in rows for row in block], axis=0)


EQ_97.mutant("Omega_j transposed", "oscillator_omega(X, Omega, N) -> -oscillator_omega(X, Omega, N)")
EQ_97.mutant("whole tokens",
    "oscillator_projection(X, Y, N) -> projection(X, Y); oscillator_normalisation(Y, N) -> normalisation(Y)"
)  # fmt: skip
EQ_97.mutant("the first Omega for every oscillator",
    "Omega -> concatenate([Omega[:N]] * (Omega.shape[0] // N), axis=0)")  # fmt: skip


EQ_97_OSCILLATION = Claim(DYNAMICS, "dynamics.eq-97-oscillation", label="Eqs. (7)-(8) and (97) without C and MSA",
    statement=r"""N=D,\ C=\operatorname{MSA}=0:\quad\Pi(X+\eta\operatorname{Omg}(X))_i=\Pi((I_D+\eta\Omega)x_i),\text{
        the update (18)}""",
    assumptions=[
        Assumption(r"\Omega anti-symmetric", zero=lambda Omega: Omega + Omega.T),
        Assumption("unit tokens", zero=lambda X: row_sums(X * X) - 1),
    ],
    name="AKOrN without attention is the normalised oscillation", relation=Equal(), all_sizes=True,
    sizes={"S": (1, 3), "J": (1, 1), "N": (1, 4)}, of_project=True, uses=("dynamics.eq-97",),
    note="Section 5.2: 'isolating the Omega layer used in AKOrN'.")  # fmt: skip


@EQ_97_OSCILLATION.inputs
@realises({"Omega anti-symmetric": reached.SKEW, "unit tokens": reached.UNIT_ROWS})
def unit_tokens_and_omega(directions: Oscillators, G: Frequencies, eta: Step) -> dict[str, Any]:
    """Unit tokens (S, N) and one anti-symmetric Omega (N, N)."""
    N = directions.shape[2]
    return {"X": unit_rows(directions.reshape(-1, N)), "Omega": antisymmetric_blocks(G), "eta": eta}


@EQ_97_OSCILLATION.formula
def akorn_step_of_omega_alone(X: UnitTokens, Omega: Skew, eta: Step) -> Any:
    """Pi(X + eta Omg(X)) with N = D, shape (S, D)."""
    N = X.shape[1]
    turned = oscillator_omega(X, Omega, N)
    return oscillator_normalisation(X + turned * eta, N)


EQ_97_OSCILLATION.oracle(
    lambda X, Omega, eta: concatenate(each(X.shape[0], lambda i: normalised_step(X[i : i + 1], Omega, eta)), axis=0)
)
EQ_97_OSCILLATION.mutant("Omega transposed", "turned -> -turned")
EQ_97_OSCILLATION.mutant("state counted twice", "X + turned * eta -> 2 * X + turned * eta")
