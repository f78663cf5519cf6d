"""Eqs. (3) and (4): self-attention on the sphere, its energy for symmetric weights, and the stability it is said to ensure.

`energy_loss` is -dE/dt along Eq. (3).  Surprising: a falling energy does not make rest points stable (an antipodal pair).
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np

from theorems.shared import reached
from theorems.dynamics.definitions import (
    Beta, QueryWeights, SquareWeights, Tokens, attention_head, energy, flow, projection, unit_rows,
)  # fmt: skip
from theorems.dynamics.numerics import loss_along
from theorems.dynamics.settings import (
    ENERGY, POSITIVE_BETA, SPHERE, SYMMETRIC, SYMMETRIC_ATTENTION, Core, Factor, InverseTemperature, symmetric_weights,
    unit_tokens_and_values,
)  # fmt: skip
from verify.matrix import block_diag, concatenate, eigenvalues, exp, eye, maximum, ones, row_sums, step, zeros
from verify.oracles import jacobian
from verify.vocabulary import (
    Assumption, AtMost, Claim, Construction, Definition, Equal, HasStructure, Shape, realises,
)  # fmt: skip
from verify.vocabulary.hypotheses import unit_rows as has_unit_rows

PlanarTokens = Annotated[Any, Shape("S", "2")]
PlanarDirection = Annotated[Any, Shape("1", "2")]
Signs = Annotated[Any, Shape("S", "1", role="gate")]
Axis = Annotated[Any, Shape("1", "D")]


def energy_loss(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> Any:
    """-dE_single/dt along Eq. (3), and its scale; shape (2, 1)."""
    return loss_along(partial(energy, W_Q=W_Q, W_K=W_K, beta=beta), X, flow(X, W_Q, W_K, W_V, beta))


SPHERE_INVARIANT = Claim(SPHERE, "dynamics.eq-3-sphere",
    label="Eq. (3), text 'restricting updates to the tangent space of the sphere'",
    statement=r"""\dot X=\operatorname{Proj}_X\left(\operatorname{softmax}(\beta XW^QW^{K\top}X^\top)XW^V\right)\text{,
        ``restricting updates to the tangent space of the sphere'': }\frac{d}{dt}\|X_{[i,:]}\|^2=0""",
    assumptions=[Definition("continuous time: dX/dt is the right-hand side of (3)", by=flow)],
    name="continuous self-attention stays on the sphere", relation=HasStructure(), sizes={"S": (1, 4), "D": (1, 4)},
    exact=True, uses=("dynamics.eq-5-operators",), all_sizes=True,
    hypotheses=(has_unit_rows("X", stated=r"\|X_{[i,:]}\| = 1 for every token i"),))  # fmt: skip
SPHERE_INVARIANT.inputs(unit_tokens_and_values)


@SPHERE_INVARIANT.formula
def velocity(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    """dX/dt, shape (S, D) (Eq. (3))."""
    return flow(X, W_Q, W_K, W_V, beta)


# d|X_i|^2/dt = 2 X_i^T (dX/dt)_i, shape (S, 1)
SPHERE_INVARIANT.part("structure", lambda value, X: 2 * row_sums(X * value))
SPHERE_INVARIANT.mutant("without the projection", "flow -> attention_head")
SPHERE_INVARIANT.mutant("projection onto the orthogonal complement of the drive",
    lambda X, W_Q, W_K, W_V, beta: projection(attention_head(X, W_Q, W_K, W_V, beta), X))  # fmt: skip
SPHERE_INVARIANT.mutant("reflection instead of projection",
    lambda value, X, W_Q, W_K, W_V, beta: 2 * value - attention_head(X, W_Q, W_K, W_V, beta))  # fmt: skip


CONDITION_4 = Claim(SYMMETRIC_ATTENTION, "dynamics.eq-4-energy", label="Eq. (4) and following text, Section 3",
    statement=r"""W^QW^{K\top}=W^V=W^{V\top}\;\text{or}\;W^Q=W^K=W^V=I_D;\ \text{``Under these conditions, the SA update
        can decrease an energy function'': }\frac{d}{dt}\Big(-\sum_{i,j}\exp(\beta X_{[i,:]}^\top
        W^QW^{K\top}X_{[j,:]})\Big)\le 0\text{ along (3)}""",
    assumptions=[Definition("W^V = W^Q W^{K T} in (3)", by=flow)],
    name="energy of symmetric self-attention falls", relation=AtMost(signed=True), uses=("dynamics.prop-4.1-rate",),
    note=r"""With the softmax of Eq. (3) and with the unnormalised one. The second condition is the first with $W^Q =
        W^K = I$. For each token the loss is $2\beta Z_i\|P_i\Delta_i\|^2$, or $2\beta Z_i^2\|P_i\Delta_i\|^2$ without
        normalisation.""")  # fmt: skip


@CONDITION_4.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS, r"A = W^Q W^{K\top} is symmetric": reached.SYMMETRIC_PRODUCT})
def symmetric_products(directions: Tokens, factor: Factor, core: Core, beta: InverseTemperature) -> dict[str, Any]:
    """Unit tokens, and weights whose product is symmetric."""
    return symmetric_weights(directions, factor, core, beta)


@CONDITION_4.formula
def loss_under_condition_4(X: Tokens, W_Q: Factor, W_K: Factor, beta: InverseTemperature) -> Any:
    """-dE/dt and its scale, with softmax and with the unnormalised softmax, shape (4, 1)."""
    W_V = W_Q @ W_K.T
    unnormalised = projection(X, exp(X @ W_Q @ W_K.T @ X.T * beta) @ X @ W_V)
    losses = [
        energy_loss(X, W_Q, W_K, W_V, beta),
        loss_along(partial(energy, W_Q=W_Q, W_K=W_K, beta=beta), X, unnormalised),
    ]
    return concatenate(losses, axis=0)


CONDITION_4.oracle(lambda: zeros(4, 1))


@CONDITION_4.domain("W^Q = W^K = I where D_H = D")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    arrays["factor"][:] = np.eye(sizes["D"], sizes["D_H"])
    arrays["core"][:] = np.eye(sizes["D_H"]) / 2


CONDITION_4.mutant("W^V with the wrong sign", "W_Q @ W_K.T -> -(W_Q @ W_K.T)")
CONDITION_4.mutant("W^V the identity, W^Q and W^K not", "W_Q @ W_K.T -> eye(X.shape[1])")
CONDITION_4.mutant("W^V from the keys alone", "W_Q @ W_K.T -> W_K @ W_K.T")


# -- Lyapunov stability ------------------------------------------------------------------------------------------------

LYAPUNOV_STABILITY = Claim(ENERGY, "dynamics.sec-3-lyapunov-stability", label="Section 3, text after Eq. (4)",
    statement=r"""\text{``That is, the dynamics evolve in a way that monotonically decreases the energy, thereby
        ensuring the Lyapunov stability''}""",
    assumptions=[
        Definition("W^Q = W^K = W^V = I in (3)", by=flow),
        Construction("D = 2", shapes={"X": ("S", "2")}),
        Assumption("X is a rest point of (3)", zero=lambda X, beta: flow(X, eye(2), eye(2), eye(2), beta)),
    ],
    name="falling energy and Lyapunov stability of rest points",
    relation=AtMost(signed=True, left="0", right="minus the growth rate near the rest point"), sizes={"S": (2, 4)},
    expects="refuted", severity="error", correction="dynamics.sec-3-minima", uses=("dynamics.eq-4-energy",),
    consequence="""An energy that falls does not make every rest point stable; check that the energy has a local minimum
        there.""",
    note="""Lyapunov stability is a property of rest points, as in Section 5.2, and the sentence leaves none out. A rest point with
        an eigenvalue of positive real part is not Lyapunov stable. That the energy never grows is true, and makes its sublevel sets
        invariant; it makes a rest point stable where the energy has a local minimum (dynamics.sec-3-minima). At an
        antipodal pair it has a maximum. In the paper's favour: of the states of least energy, which Lyapunov's direct method is
        about, the sentence is true (dynamics.sec-3-lyapunov-stability-least). With $W^V = I$ alone a cap of at most 90
        degrees that holds all tokens keeps them (dynamics.sec-3-caps).""")  # fmt: skip


@LYAPUNOV_STABILITY.inputs
@realises(
    {
        r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS,
        "X is a rest point of (3)": (
            "unit tokens of the plane on one line rest; small moves of them that rest too stay on one line"
        ),
    },
    but="there are rest points whose tokens are not on one line; one that is not stable refutes the sentence, wherever it is",
)
def collinear_tokens(direction: PlanarDirection, signs: Signs, beta: InverseTemperature) -> dict[str, Any]:
    """Tokens +e or -e, which rest; shape (S, 2)."""
    return {"X": (2 * step(signs) - 1) @ unit_rows(direction), "beta": beta}


@LYAPUNOV_STABILITY.formula
def decay_of_perturbations(X: PlanarTokens, beta: InverseTemperature) -> Any:
    """Minus the largest real part of an eigenvalue of the linearisation, a scalar: nonnegative if the rest point is stable."""
    S, I = X.shape[0], eye(2)
    tangents = concatenate([-X[:, 1:], X[:, :1]], axis=1)
    T = block_diag([tangents[i : i + 1].T for i in range(S)])
    J = T.T @ jacobian(flow, "X")(X, I, I, I, beta) @ T  # in the angles of the tokens, shape (S, S)
    return -maximum(eigenvalues(J)[:, 0])


LYAPUNOV_STABILITY.oracle(lambda X: (X[:1, :1] * 0).reshape(-1))
# By hand: the angle between the tokens leaves pi at the rate 2/(e^2 + 1) = 0.238
LYAPUNOV_STABILITY.counterexample("an antipodal pair on the circle, beta = 1", X=[[1, 0], [-1, 0]], beta=1)
LYAPUNOV_STABILITY.mutant("flow that increases the energy", "eigenvalues(J) -> eigenvalues(-J)")
LYAPUNOV_STABILITY.mutant("tokens perturbed one at a time", "eigenvalues(J) -> eigenvalues(J * eye(S))")


LEAST_ENERGY = Claim(SPHERE, "dynamics.sec-3-lyapunov-stability-least", label="Lyapunov stability of the states of least energy",
    statement=r"""W^Q=W^K=W^V=I,\ \beta>0:\ \|X_{[i,:]}-X_{[j,:]}\|^2\le\frac{e^\beta}{\beta}\left(E+S^2e^\beta\right)
        \text{ for }E=-\sum_{i,j}e^{\beta X_{[i,:]}^\top X_{[j,:]}}""",
    assumptions=[
        POSITIVE_BETA,
        Definition("E, the energy that falls along (3) with these weights", by=energy),
    ],
    name="distances of tokens and their energy",
    relation=AtMost(left="how far tokens are apart, squared", right="the energy above the least one, times e^beta / beta"),
    sizes={"S": (1, 4), "D": (1, 3)}, of_project=True, uses=("dynamics.eq-4-energy",),
    note=r"""The energy is least, and $-S^2e^\beta$, where all tokens agree. Its excess over that never grows
        (dynamics.eq-4-energy), so that tokens that start near each other stay near each other: this is Lyapunov stability
        of the set of these states.""")  # fmt: skip


@LEAST_ENERGY.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS})
def unit_tokens(directions: Tokens, beta: InverseTemperature) -> dict[str, Any]:
    """Unit tokens, shape (S, D)."""
    return {"X": unit_rows(directions), "beta": beta}


@LEAST_ENERGY.formula
def excess_of_energy(X: Tokens, beta: InverseTemperature) -> Any:
    """(E + S^2 e^beta) e^beta / beta for every pair of tokens, shape (S, S)."""
    S, I = X.shape[0], eye(X.shape[1])
    excess = energy(X, I, I, beta) + S * S * exp(beta)
    return ones(S, S) * (excess * exp(beta) / beta)


@LEAST_ENERGY.oracle
def squared_distances(X: Tokens) -> Any:
    squares = row_sums(X * X)
    return squares + squares.T - 2 * X @ X.T


LEAST_ENERGY.mutant("a thousandth of the excess", lambda value: value / 1024)
LEAST_ENERGY.mutant("the energy below the least one", lambda value: -value)


MINIMA = Claim(SYMMETRIC_ATTENTION, "dynamics.sec-3-minima", label="Lyapunov stability of local minima of the energy",
    statement=r"""
        A=W^QW^{K\top}=A^\top=W^V\ \Rightarrow\ \frac{dX_{[i,:]}}{dt}=-\frac1{2\beta Z_i}\big(I_D-X_{[i,:]}X_{[i,:]}^\top
        \big)\frac{\partial E_{\text{single}}}{\partial X_{[i,:]}}\text{ along (3)},\ Z_i=\sum_j\exp(\beta X_{[i,:]}^\top
        AX_{[j,:]}):\ \text{every local minimum of }E_{\text{single}}\text{ is Lyapunov stable}""",
    assumptions=[Definition("A = W^Q W^{K T} = W^V in (3)", by=flow)],
    name="Lyapunov stability of local energy minima", relation=Equal(), all_sizes=True, hypotheses=(SYMMETRIC,),
    exact=True, of_project=True, corrects="dynamics.sec-3-lyapunov-stability",
    note=r"""Checked is the identity. It makes (3) the gradient flow of an analytic function, on a product of spheres,
        in a metric rescaled token by token by the positive $2\beta Z_i$; local minima of an analytic function, strict
        or not, are stable under its gradient flow (Absil and Kurdyka, 2006). Other rest points are saddles or maxima
        and need not be. For $W^V = A = I$ all tokens at one place are a global minimum.""")  # fmt: skip


@MINIMA.domain("weak weights")
def weak_weights(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Exponentials near 1, where float32 has its digits."""
    arrays["core"] *= 2.0**-4
    arrays["beta"][:] = 1.0 + rng.integers(0, 5, len(arrays["beta"])) / 4


@MINIMA.formula
def rescaled_gradient_flow(X: Tokens, W_Q: Factor, W_K: Factor, beta: Beta) -> Any:
    """-P_i dE/dX_i / (2 beta Z_i), row i for token i, shape (S, D)."""
    Z = row_sums(exp(X @ W_Q @ W_K.T @ X.T * beta))
    gradient = jacobian(energy, "X")(X, W_Q, W_K, beta).reshape(*X.shape)
    return -projection(X, gradient) / (2 * beta * Z)


MINIMA.oracle(lambda X, W_Q, W_K, beta: flow(X, W_Q, W_K, W_Q @ W_K.T, beta))
MINIMA.mutant("factor 2 dropped", "2 * beta -> beta")
MINIMA.mutant("sign", lambda value: -value)
MINIMA.mutant("not rescaled", "(2 * beta * Z) -> (2 * beta)")


CAPS = Claim(SPHERE, "dynamics.sec-3-caps", label="Lyapunov stability of consensus",
    statement=r"""W^V=I,\ \langle u,X_{[i,:]}\rangle\ge0\ \Rightarrow\ \frac{d}{dt}\langle
        u,X_{[i,:]}\rangle\ge\min_j\langle u,X_{[j,:]}\rangle-\langle u,X_{[i,:]}\rangle:\ \text{a cap }\{x:\langle
        u,x\rangle\ge c\ge0\}\text{ that holds all tokens keeps them}""",
    assumptions=[
        Assumption("u is a unit vector", zero=lambda u: row_sums(u * u) - 1),
        Assumption(r"\langle u, X_i \rangle \ge 0", nonnegative=lambda X, u: X @ u.T),
        Definition("W^V = I in (3), any W^Q and W^K", by=flow),
    ],
    name="spherical caps keep their tokens", relation=AtMost(signed=True), sizes={"S": (1, 4), "D": (1, 4)},
    of_project=True,
    note=r"""At the token nearest to the rim of the cap the right-hand side vanishes, so no token leaves. As the cap
        shrinks, this is Lyapunov stability of $X = \mathbf 1 u^\top$. Proof: $d\langle u,x_i\rangle/dt = \langle
        u,m_i\rangle - \langle u,x_i\rangle\langle x_i,m_i\rangle$ with $m_i$ a convex combination of tokens, $\langle
        x_i,m_i\rangle$ at most 1.""")  # fmt: skip


@CAPS.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS, "u is a unit vector": reached.UNIT_ROWS})
def tokens_on_one_side(
    directions: Tokens, axis: Axis, W_Q: QueryWeights, W_K: SquareWeights, beta: InverseTemperature
) -> dict[str, Any]:
    """Unit tokens, turned to the side of the unit vector u (1, D)."""
    X, u = unit_rows(directions), unit_rows(axis)
    return {"X": X * (2 * step(X @ u.T) - 1), "u": u, "W_Q": W_Q, "W_K": W_K, "beta": beta}


@CAPS.formula
def motion_towards_axis(X: Tokens, u: Axis, W_Q: QueryWeights, W_K: SquareWeights, beta: InverseTemperature) -> Any:
    """d<u, X_i>/dt for every token, then ones, shape (2 S, 1)."""
    rates = flow(X, W_Q, W_K, eye(X.shape[1]), beta) @ u.T
    return concatenate([rates, ones(X.shape[0], 1) + rates * 0], axis=0)


@CAPS.oracle
def height_above_lowest(X: Tokens, u: Axis) -> Any:
    heights = X @ u.T
    return concatenate([-maximum(-heights) - heights, heights * 0], axis=0)


CAPS.mutant("W^V = -I", "eye(X.shape[1]) -> -eye(X.shape[1])")
CAPS.mutant("W^V = W^Q W^{K T}", "eye(X.shape[1]) -> W_Q @ W_K.T")
