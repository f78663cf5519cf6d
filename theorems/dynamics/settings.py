"""What sections of the paper assume once: tokens and states on the sphere, weights, the update (9), oscillations.

A module takes its setting from here, or states its own above its claims where only that part of the paper uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, Gain, Heads, QueryWeights, SquareWeights, Tokens, rms_norm, unit_rows
from theorems.shared.matrices import orthogonal_matrix
from verify.arithmetics import Constant
from verify.matrix import eye, kron, row_sums
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Convention, Definition, Real, Setting, Shape, Size, realises
from verify.vocabulary.hypotheses import skew, unit_rows as has_unit_rows

Factor = Annotated[Any, Shape("D", "D_H")]
HeadQueries = Annotated[Any, Shape("D", "D_H", role="query")]
Core = Annotated[Any, Shape("D_H", "D_H", role="query")]
InverseTemperature = Annotated[Any, Real(0.1, 10.0)]
Row = Annotated[Any, Shape("1", "D")]
Radii = Annotated[Any, Shape("S", "1")]
Width = Annotated[int, Size("N")]
Step = Annotated[Any, Real(-2.0, 2.0)]
Generator = Annotated[Any, Shape("D", "D")]
Frequency = Annotated[Any, Real(0.0, 3.0)]


def heads_fit(sizes: Mapping[str, int]) -> bool:
    """Whether H divides D."""
    return sizes["D"] % sizes["H"] == 0


#: The layout of derivatives, and the order of vec.
NUMERATOR_LAYOUT = Convention("numerator layout, row-major vec", by=jacobian)

HEADS_FIT = Assumption("H divides D; D_H = D/H", sizes=heads_fit)

# -- Section 3: tokens on the sphere -----------------------------------------------------------------------------------

UNIT_TOKENS = Assumption(r"\|X_{[i,:]}\| = 1 for every token i", zero=lambda X: row_sums(X * X) - 1)
POSITIVE_BETA = Assumption(r"\beta > 0", positive=lambda beta: beta)
SYMMETRIC = Assumption(r"A = W^Q W^{K\top} is symmetric", zero=lambda W_Q, W_K: W_Q @ W_K.T - W_K @ W_Q.T)


@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS})
def on_the_sphere(directions: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> dict[str, Any]:
    """Unit tokens X in the given directions, the weights as drawn."""
    return {"X": unit_rows(directions), "W_Q": W_Q, "W_K": W_K, "beta": beta}


@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS})
def unit_tokens_and_values(
    directions: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta
) -> dict[str, Any]:
    """Unit tokens in the given directions, weights as drawn."""
    return {**on_the_sphere(directions, W_Q, W_K, beta), "W_V": W_V}


@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS, r"A = W^Q W^{K\top} is symmetric": reached.SYMMETRIC_PRODUCT})
def symmetric_weights(directions: Tokens, factor: Factor, core: Core, beta: Beta) -> dict[str, Any]:
    """Unit tokens, and W_Q = F (M + M^T), W_K = F: then W_Q W_K^T is symmetric, and every symmetric matrix arises."""
    return {"X": unit_rows(directions), "W_Q": factor @ (core + core.T), "W_K": factor, "beta": beta}


SPHERE = Setting(DYNAMICS, "Section 3, spherical constraint", assumptions=[UNIT_TOKENS])
ENERGY = SPHERE.extended("Section 3, the energy along Eq. (3)", assumptions=[POSITIVE_BETA])
SYMMETRIC_ATTENTION = ENERGY.extended(
    "Section 3, Eq. (4), at any head dimension",
    assumptions=[SYMMETRIC],
    sizes={"S": (1, 4), "D": (1, 4), "D_H": (1, 4)},
    inputs=symmetric_weights,
)

# -- Section 3: rows that are normalised -------------------------------------------------------------------------------

NO_ZERO_ROW = Assumption("no row of Y vanishes", positive=lambda Y: row_sums(Y * Y))


def rows_of_rational_norm(directions: Tokens, radii: Radii) -> dict[str, Any]:
    """Y with rows radii_i (unit vector), shape (S, D)."""
    return {"Y": unit_rows(directions) * radii}


def gain_and_rows(directions: Tokens, radii: Radii, gamma: Gain) -> dict[str, Any]:
    """gamma as drawn, and Y with rows of rational norm, shape (S, D)."""
    return {**rows_of_rational_norm(directions, radii), "gamma": gamma}


# -- Section 5: the update (9) -----------------------------------------------------------------------------------------


def update_as_drawn(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """State, input, weights, gain and step of the update (9), as drawn."""
    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
    return {"X": X, "C": C, **weights, "gamma": gamma, "beta": beta, "eta": eta, "H": H}


UPDATE = Setting(
    DYNAMICS,
    "Section 5, the update (9) with RMSNorm (6)",
    assumptions=[HEADS_FIT, Definition("the update (9) normalises by RMSNorm of Eq. (6)", by=rms_norm)],
    inputs=update_as_drawn,
)

# -- Section 5.2: oscillations -----------------------------------------------------------------------------------------

ANTISYMMETRIC = Assumption(r"\Omega is anti-symmetric", zero=lambda Omega: Omega + Omega.T)
UNIT_STATE = Assumption(r"\|x\| = 1", zero=lambda x: row_sums(x * x) - 1)
EQUAL_FREQUENCIES = Assumption(
    r"all eigenvalues of \Omega have the magnitude \omega",
    zero=lambda Omega, omega: Omega.T @ Omega - eye(Omega.shape[0]) * (omega * omega),
)


@realises({"Omega is anti-symmetric": reached.SKEW, r"|x\| = 1": reached.UNIT_ROWS})
def unit_state(G: Generator, direction: Row, eta: Step) -> dict[str, Any]:
    """Omega = G - G^T and a unit state."""
    return {"x": unit_rows(direction), "Omega": G - G.T, "eta": eta}


#: What oscillations of one frequency reach.
ONE_FREQUENCY_REACHED = {
    "Omega is anti-symmetric": reached.SKEW,
    r"all eigenvalues of \Omega have the magnitude \omega": "Omega = omega Q K Q^T with K of quarter turns: by the spectral "
    "theorem all are of this form, with a rotation Q or with its mirror image, which changes no norm and no eigenvalue",
    r"|x\| = 1": reached.UNIT_ROWS,
}


@realises(ONE_FREQUENCY_REACHED)
def equal_frequencies(G: Generator, direction: Row, omega: Frequency, eta: Step) -> dict[str, Any]:
    """Omega = Q blockdiag(omega K) Q^T with K = [[0, 1], [-1, 0]] and Q a rotation, and a unit state.

    Reflecting Omega and the state together gives the rest, which changes no norm and no eigenvalue.
    """
    Q = orthogonal_matrix(G)
    K = kron(eye(G.shape[0] // 2), Constant([[0, 1], [-1, 0]]))
    return {"x": unit_rows(direction), "Omega": Q @ K @ Q.T * omega, "omega": omega, "eta": eta}


OSCILLATION = Setting(DYNAMICS, "Section 5.2, simplified dynamics", assumptions=[ANTISYMMETRIC], sizes={"D": (1, 4)})
ONE_FREQUENCY = OSCILLATION.extended(
    "Section 5.2, equal frequencies",
    assumptions=[
        EQUAL_FREQUENCIES,
        Assumption(
            "D is even, since an anti-symmetric matrix of odd size has the eigenvalue 0",
            sizes=lambda sizes: sizes["D"] % 2 == 0,
        ),
    ],
    sizes={"D": (1, 4)},
    inputs=equal_frequencies,
)
TURNING_STATE = ONE_FREQUENCY.extended("Section 5.2, equal frequencies and a unit state", assumptions=[UNIT_STATE])
#: What proofs of bounds use of such a state.
TURNING = (
    skew("Omega", stated=r"\Omega is anti-symmetric"),
    has_unit_rows("x", stated=r"\|x\| = 1"),
    EQUAL_FREQUENCIES,
)
