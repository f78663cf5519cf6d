"""Sections 5 and 5.1 around Proposition 5.1: linearisation, leaving the sphere, the radius R, suppression.

Surprising: normalisation suppresses the spectral norm for R above max |gamma_j| only, and eigenvalues not even then.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Gain, Heads, QueryWeights, SquareWeights, Tokens, attention_head, flow, rms_norm,
)  # fmt: skip
from theorems.dynamics.part_5_jacobians.normalisation_bound import itrsa_step, squared_radii, updated
from theorems.dynamics.settings import (
    NUMERATOR_LAYOUT, SPHERE, UPDATE, Factor, HeadQueries, Step, unit_tokens_and_values, update_as_drawn,
)  # fmt: skip
from verify.matrix import (
    COLUMN, absolute, concatenate, eye, maximum, ones, rational, row_norms, row_sums, softmax, spectral_norm,
    spectral_radius, unvec_r, vec_r,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import (
    Assumption, AtMost, Claim, Definition, Equal, QuadraticRate, Reading, Real, TendsTo, realises,
)  # fmt: skip
from verify.vocabulary.hypotheses import unit_rows

NonzeroStep = Annotated[Any, Real(-2.0, 2.0, avoid_zero=True)]
Scale = Annotated[Any, Real(0.125, 8.0)]
Radius = Annotated[Any, Real(0.125, 8.0)]

NO_ZERO_INPUT = Assumption(r"no row of X + \eta\Delta X vanishes", positive=squared_radii)


# -- linearisation -----------------------------------------------------------------------------------------------------

LINEARISATION = Claim(DYNAMICS, "dynamics.sec-5-linearisation", label="Section 5, text",
    statement=r"f(x+\Delta x)\approx f(x)+J(x_t)\Delta x,\quad J:=\partial f/\partial x",
    assumptions=[Definition("f = SA, one head, any head dimension", by=attention_head), NUMERATOR_LAYOUT],
    needless={"beta has positive entries": "attention is smooth in its tokens for every real beta"},
    name="linearisation by the Jacobian", relation=TendsTo(scales=tuple(range(3, 10)), rate=QuadraticRate(), bits=1200),
    sizes={"S": (1, 3), "D": (1, 3), "D_H": (1, 3)}, expects="reading",
    reading=Reading(r"\approx", """for every direction $d$, $(f(x + hd) - f(x))/h$ tends to $Jd$ with an error
            proportional to $h$, so that the
            remainder is $O(h^2)$"""),
    note="""For every $k$, $h = 2^{-2^k}$ is squared from one $k$ to the next, and so is the error: observed order 2. $x_t$ is the
        state $x$ at the present time.""")  # fmt: skip


@LINEARISATION.formula
def linearised_head(X: Tokens, dX: Tokens, W_Q: HeadQueries, W_K: Factor, W_V: Factor, beta: Beta) -> Any:
    """J(x) d as a matrix, shape (S, D_H)."""
    J = jacobian(attention_head, "X")(X, W_Q, W_K, W_V, beta)
    return unvec_r(J @ vec_r(dX), X.shape[0], W_V.shape[1])


@LINEARISATION.part("sequence")
def difference_quotient(scale: int, X: Any, dX: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> Any:
    """(f(x + h d) - f(x)) / h for h = 2^(-2^scale), shape (S, D_H)."""
    h = rational(1, 2 ** (2**scale))
    moved = attention_head(X + dX * h, W_Q, W_K, W_V, beta) - attention_head(X, W_Q, W_K, W_V, beta)
    return moved * rational(2 ** (2**scale))


LINEARISATION.mutant("column-major Jacobian", layout=COLUMN)
LINEARISATION.mutant("attention weights held fixed",
    lambda X, dX, W_Q, W_K, W_V, beta: softmax(X @ W_Q @ W_K.T @ X.T * beta) @ dX @ W_V)  # fmt: skip
LINEARISATION.mutant("sign", lambda value: -value)


# -- off the sphere ----------------------------------------------------------------------------------------------------

DEVIATION = Claim(SPHERE, "dynamics.sec-5.1-deviation", label="Section 5.1, text", name="Euler steps leave the sphere",
    statement=r"\text{``discretizing state updates causes the state vector to deviate from the hypersphere''}",
    assumptions=[Definition("an Euler step of (3)", by=flow)],
    relation=Equal(), all_sizes=True, sizes={"S": (1, 3), "D": (1, 4)}, exact=True, uses=("dynamics.eq-3-sphere",),
    hypotheses=(unit_rows("X", stated=r"\|X_{[i,:]}\| = 1 for every token i"),),
    note=r"""The step is tangent, so $\|X_i + \eta \dot X_i\|^2 = 1 + \eta^2 \|\dot X_i\|^2$: outwards, by an amount of
        second order, at every token that moves.""")  # fmt: skip


@DEVIATION.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS})
def unit_tokens_and_step(
    directions: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta, eta: Step
) -> dict[str, Any]:
    """Unit tokens, weights and step as drawn."""
    return {**unit_tokens_and_values(directions, W_Q, W_K, W_V, beta), "eta": eta}


@DEVIATION.formula
def squared_norms_after_euler_step(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta, eta: Step
) -> Any:
    """1 + eta^2 |dX_i/dt|^2 for every token, shape (S, 1)."""
    velocity = flow(X, W_Q, W_K, W_V, beta)
    return 1 + row_sums(velocity * velocity) * (eta * eta)


@DEVIATION.oracle
def squared_norms_by_stepping(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any, eta: Any) -> Any:
    stepped = X + flow(X, W_Q, W_K, W_V, beta) * eta
    return row_sums(stepped * stepped)


DEVIATION.mutant("on the sphere, as in continuous time", lambda X: row_sums(X * X))
DEVIATION.mutant("first order in eta", "eta * eta -> eta")


# -- the radius R ------------------------------------------------------------------------------------------------------


def step_matrix(X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, eta: Any, H: int) -> Any:
    """I + eta J_MSA(X), the Jacobian of the update (9) before its normalisation, shape (S D, S D)."""
    return jacobian(updated, "X")(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)


def normalised_step_matrix(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    """The Jacobian of the whole update (9), shape (S D, S D)."""
    return jacobian(itrsa_step, "X")(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)


def _growth(J: Any) -> Any:
    """Spectral radius and spectral norm of J, shape (2, 1)."""
    return concatenate([ones(1, 1) * spectral_radius(J), ones(1, 1) * spectral_norm(J)], axis=0)


def update_and_scale(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: NonzeroStep, c: Scale, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """Everything as drawn."""
    return {**update_as_drawn(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H), "c": c}


SCALED_UPDATE = UPDATE.extended(
    "Section 5.1, the update (9) at any scale", sizes={"S": (1, 3), "D": (1, 3), "H": (1, 2)}, inputs=update_and_scale
)

INVERSE_RADIUS = Claim(UPDATE, "dynamics.sec-5.1-inverse-r", label="Section 5.1, text",
    statement=r"\text{``the spectral norm is inversely proportional to }R\text{''}",
    assumptions=[
        Definition("R is the smallest norm of a row of the input of RMSNorm", by=row_norms),
        NO_ZERO_INPUT,
        Assumption(
            "nor for the input C' in the place of C",
            positive=lambda X, other, W_Q, W_K, W_V, W_O, beta, eta, H: squared_radii(
                X, other, W_Q, W_K, W_V, W_O, beta, eta, H
            ),
        ),
    ],
    name="spectral norm inversely proportional to the radius", relation=Equal(),
    sizes={"S": (1, 3), "D": (1, 3), "H": (1, 2)}, expects="refuted", severity="slip",
    correction="dynamics.sec-5.1-inverse-r-scaled", uses=("dynamics.lemma-a.3",),
    consequence="""A larger $R$ with other token directions need not shrink the Jacobian; rely on the bound (14), or on
        rescaled inputs (dynamics.sec-5.1-inverse-r-scaled).""",
    note="""Decided as weakly as can be: with $X$, the weights and the gains held, two injected inputs $C$ and $C'$ give
        the same product of $R$ and the norm. They do not where the tokens change their directions
        (dynamics.sec-5.1-inverse-r-direction). The sentence speaks of Proposition 5.1, which shows what is meant: the
        bound (14) is inversely proportional to $R$. In the paper's favour: so is the norm itself along a ray.""",
)  # fmt: skip


@INVERSE_RADIUS.inputs
def update_and_other_input(
    X: Tokens, C: Tokens, other: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights,
    W_O: SquareWeights, gamma: Gain, beta: Beta, eta: NonzeroStep, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """Everything as drawn."""
    return {**update_as_drawn(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H), "other": other}


@INVERSE_RADIUS.formula
def radius_times_norm(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: NonzeroStep, H: Heads,
) -> Any:  # fmt: skip
    """R |J|_2, a scalar."""
    R = -maximum(-row_norms(updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)))
    return R * spectral_norm(normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H))


@INVERSE_RADIUS.oracle
def radius_times_norm_at_other_input(
    X: Any, other: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    Y = updated(X, other, W_Q, W_K, W_V, W_O, beta, eta, H)
    J = jacobian(itrsa_step, "X")(X, other, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    return -maximum(-row_norms(Y)) * spectral_norm(J)


@INVERSE_RADIUS.counterexample("one token, no attention: both R are 1, the norms are 2 and 1")
def _() -> dict[str, Any]:
    """By hand: the normalised rows are e_1 and e_2, the Jacobians diag(0, 2) and diag(1, 0)."""
    nothing = [[0, 0], [0, 0]]
    return {
        "X": [[1, 0]], "C": [[0, 0]], "other": [[-1, 1]], "W_Q": nothing, "W_K": nothing, "W_V": nothing,
        "W_O": nothing, "gamma": [1, 2], "beta": 1, "eta": 1, "H": 1,
    }  # fmt: skip


INVERSE_RADIUS.mutant("independent of R", "R -> 1")
INVERSE_RADIUS.mutant("inverse square of R", "R -> R * R")


SCALED_RADIUS = Claim(SCALED_UPDATE, "dynamics.sec-5.1-inverse-r-scaled", label="Section 5.1 along a ray",
    name="spectral norm when the normalised input is scaled",
    statement=r"""Y=X+\eta(C+\operatorname{MSA}(X)),\ Y'=X+\eta(C'+\operatorname{MSA}(X))=cY,\ c>0\ \Rightarrow\ R'=cR,\
        \Big\|\frac{\partial\operatorname{RMSNorm}(Y')}{\partial X}\Big\|_2=\frac1c\Big\|\frac{\partial
        \operatorname{RMSNorm}(Y)}{\partial X}\Big\|_2\text{ for }R=\min_i\|Y_{[i,:]}\|,\ R'=\min_i\|Y'_{[i,:]}\|,\ \eta\ne0""",
    assumptions=[
        NO_ZERO_INPUT,
        Assumption("c > 0", positive=lambda c: c),
        Assumption(r"\eta \ne 0", positive=lambda eta: eta * eta),
    ],
    relation=Equal(), of_project=True, corrects="dynamics.sec-5.1-inverse-r", uses=("dynamics.lemma-a.3",),
    note=r"""$X$, the weights and the gains are held and the input of the normalisation is scaled through the injected
        $C' = C + (c-1)Y/\eta$. In general only the bound (14) is inversely proportional to $R$.""")  # fmt: skip


@SCALED_RADIUS.formula
def norm_divided_by_scale(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: NonzeroStep, c: Scale, H: Heads,
) -> Any:  # fmt: skip
    """|J|_2 / c, a scalar."""
    return spectral_norm(normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)) / c


@SCALED_RADIUS.oracle
def norm_at_scaled_input(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, c: Any, H: int
) -> Any:
    """|J|_2 with C' such that X + eta (C' + MSA(X)) is c times what it was."""
    injected = C + updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H) * (c - 1) / eta
    return spectral_norm(normalised_step_matrix(X, injected, W_Q, W_K, W_V, W_O, gamma, beta, eta, H))


SCALED_RADIUS.mutant("independent of R", "c -> 1")
SCALED_RADIUS.mutant("inverse square of R", "c -> c * c")


ALONG_AN_AXIS = Definition("one token of norm R along a coordinate axis; tried are k = 1 and k = D", by=eye)

DIRECTION = Claim(DYNAMICS, "dynamics.sec-5.1-inverse-r-direction", label="The spectral norm depends on more than R",
    statement=r"D\ge2,\ R>0,\ Y=Re_k\ \Rightarrow\ R\,\|\partial\operatorname{RMSNorm}(Y)/\partial Y\|_2=\max_{j\ne k}|\gamma_j|",
    assumptions=[
        ALONG_AN_AXIS,
        Assumption("D >= 2", sizes=lambda sizes: sizes["D"] >= 2),
        Assumption("R > 0", positive=lambda radius: radius),
    ],
    name="spectral norm depends on the token direction", relation=Equal(), sizes={"D": (2, 5)}, of_project=True,
    note=r"For $\gamma = (1, 2)$ the product of $R$ and the norm is 2 along the first axis and 1 along the second.",
)  # fmt: skip
DIRECTION.inputs(gamma=Gain, radius=Radius)


@DIRECTION.formula
def largest_other_gain(gamma: Gain) -> Any:
    """max_{j > 1} |gamma_j| above max_{j < D} |gamma_j|, shape (2, 1)."""
    gains = absolute(gamma).reshape(1, -1)
    return concatenate([ones(1, 1) * maximum(gains[:, 1:]), ones(1, 1) * maximum(gains[:, :-1])], axis=0)


@DIRECTION.oracle
def norm_times_radius(gamma: Gain, radius: Radius) -> Any:
    D = gamma.shape[0]
    rows = []
    for k in (0, D - 1):
        Y = eye(D)[k : k + 1] * radius
        rows.append(ones(1, 1) * spectral_norm(jacobian(rms_norm, "Y")(Y, gamma)) * radius)
    return concatenate(rows, axis=0)


DIRECTION.mutant("largest gain of all, as in the bound (14)", lambda gamma: ones(2, 1) * maximum(absolute(gamma)))
DIRECTION.mutant("largest other gain without the absolute value", "absolute(gamma) -> gamma")


# -- suppression -------------------------------------------------------------------------------------------------------

SUPPRESSION = Claim(SCALED_UPDATE, "dynamics.sec-5.1-suppress", label="Section 5.1, text",
    statement=r"\text{``We find that the normalization operators suppress the Jacobian's eigenvalues''}",
    assumptions=[NO_ZERO_INPUT],
    name="normalisation suppresses eigenvalues", relation=AtMost(left="with normalisation", right="without it"),
    expects="refuted", severity="error", correction="dynamics.sec-5.1-suppress-norm",
    consequence=r"""Normalisation can raise the eigenvalues of a step; count on its spectral norm only, and where $R \ge
        \max_j|\gamma_j|$ (dynamics.sec-5.1-suppress-norm).""",
    note=r"""Without a condition, as printed: normalised, the largest $|\lambda_j|$ and the spectral norm of the step
        are at most what they are without. Proposition 5.1, which follows, bounds the norm by $\max_j|\gamma_j|/R$,
        which suppresses for $R$ above $\max_j|\gamma_j|$ only. The first counterexample has $R = 1/2$; the second $R =
        1 = \max_j|\gamma_j|$, where the norm cannot grow but the eigenvalue of a non-normal step does. In the paper's
        favour: the introduction says 'suppress the Jacobian's spectral norm (Proposition 5.1)'.""")  # fmt: skip


@SUPPRESSION.formula
def growth_without(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """Spectral radius and spectral norm of I + eta J_MSA, shape (2, 1)."""
    J = step_matrix(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)
    return _growth(J)


SUPPRESSION.oracle(
    lambda X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H: _growth(
        normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    )
)


@SUPPRESSION.counterexample("one token, no attention, C = -X/2: the eigenvalue grows from 1 to 2")
def _() -> dict[str, Any]:
    """By hand: y = x/2, so the normalised step has the Jacobian 2 (I - x x^T)."""
    nothing = [[0, 0], [0, 0]]
    return {
        "X": [[1, 0]], "C": [["-1/2", "0"]], "W_Q": nothing, "W_K": nothing, "W_V": nothing, "W_O": nothing,
        "gamma": [1, 1], "beta": 1, "eta": 1, "c": 1, "H": 1,
    }  # fmt: skip


@SUPPRESSION.counterexample("one token with R = 1 = max gamma: the eigenvalue grows from 1 to 11/5")
def _() -> dict[str, Any]:
    """By hand: the step is [[1, 4], [0, -1]], the output direction (4, 3)/5."""
    nothing, identity = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
    return {
        "X": [[1, 0]], "C": [["-2/5", "-4/5"]], "W_Q": nothing, "W_K": nothing, "W_V": [[0, 0], [4, -2]],
        "W_O": identity, "gamma": [1, 1], "beta": 1, "eta": 1, "c": 1, "H": 1,
    }  # fmt: skip


SUPPRESSION.mutant(
    "the normalised Jacobian times -eta",
    lambda X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H: _growth(
        normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H) * (-eta)
    ),
)
SUPPRESSION.mutant("step without its identity", "_growth(J) -> _growth(J - eye(J.shape[0]))")


def smallest_radius(X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, eta: Any, H: int) -> Any:
    """R, the smallest norm of a row of X + eta Delta X, a scalar."""
    return -maximum(-row_norms(updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)))


SUPPRESSED_NORM = Claim(SCALED_UPDATE, "dynamics.sec-5.1-suppress-norm", label="Suppression of the spectral norm",
    statement=r"""R:=\min_i\|X_{[i,:]}+\eta\Delta X_{[i,:]}\|\ge\max_j|\gamma_j|\ \Rightarrow\ \Big\|\frac{\partial
        \operatorname{RMSNorm}(X+\eta\Delta X)}{\partial X}\Big\|_2\le\|I+\eta J_{\text{MSA}}(X)\|_2,\quad \Delta
        X=C+\operatorname{MSA}(X),\ J_{\text{MSA}}=\partial\operatorname{MSA}/\partial X""",
    assumptions=[
        NO_ZERO_INPUT,
        Assumption(
            r"R \ge max_j|\gamma_j|; drawn with equality, the strongest case",
            nonnegative=lambda X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H: (
                smallest_radius(X, C, W_Q, W_K, W_V, W_O, beta, eta, H) - maximum(absolute(gamma))
            ),
        ),
    ],
    name="normalisation suppresses the spectral norm", relation=AtMost(ascent=False), all_sizes=True, of_project=True,
    corrects="dynamics.sec-5.1-suppress", uses=("dynamics.eq-71", "dynamics.eq-73-76"),
    note=r"""Of eigenvalues it says that those of the normalised step are at most $\|I + \eta J_{\text{MSA}}\|_2$, not
        at most those of the step.""")  # fmt: skip


@SUPPRESSED_NORM.inputs
@realises(
    but="the largest gain is as large as it may be; the left side is proportional to the gains, the right does not read them"
)
def gain_as_large_as_radius(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """gamma scaled so that max |gamma_j| is the smallest norm of a row of X + eta Delta X."""
    gamma = gamma * (smallest_radius(X, C, W_Q, W_K, W_V, W_O, beta, eta, H) / maximum(absolute(gamma)))
    return update_as_drawn(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)


@SUPPRESSED_NORM.formula
def norm_without_normalisation(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """|I + eta J_MSA(X)|_2, a scalar."""
    J = step_matrix(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)
    return spectral_norm(J)


@SUPPRESSED_NORM.oracle
def norm_with_normalisation(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Gain, beta: Any, eta: Any, H: int
) -> Any:
    return spectral_norm(normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H))


SUPPRESSED_NORM.mutant("spectral radius of the step", "spectral_norm -> spectral_radius")
SUPPRESSED_NORM.mutant("identity dropped", "J -> J - eye(J.shape[0])")
