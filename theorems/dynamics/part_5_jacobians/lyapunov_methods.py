"""Section 5, opening: what a falling energy proves of convergence, and what the Jacobian says of Lipschitz constants.

Surprising: the energy of several heads falls for ever, without a fixed point, since nothing keeps the tokens bounded.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, SquareWeights, Tokens, attention_head, energy, energy_rate_terms, flow,
)  # fmt: skip
from theorems.dynamics.numerics import loss_along
from theorems.dynamics.settings import POSITIVE_BETA, SYMMETRIC_ATTENTION, Factor, HeadQueries, InverseTemperature, Row
from verify.matrix import (
    concatenate, exp, eye, frobenius_norm, maximum, ones, rational, row_norms, spectral_norm, sqrt, total,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Definition, Equal, Reading, Setting, realises

# -- convergence from an energy ----------------------------------------------------------------------------------------


def slowest_normalisation(X: Any, A: Any, beta: Any) -> Any:
    """S exp(-beta |A|_2), at most every Z_i of unit tokens, a scalar."""
    return exp(-beta * spectral_norm(A)) * X.shape[0]


DIRECT_METHOD = Claim(SYMMETRIC_ATTENTION, "dynamics.sec-5-direct-method", label="Section 5, first sentence",
    statement=r"""\text{``In general, energy functions are used to guarantee the convergence of dynamics to fixed points
        (a.k.a. Lyapunov's direct method)''}""",
    assumptions=[Definition("the dynamics (3) with W^V = W^Q W^{K T}, where the energy (10) falls", by=flow)],
    name="convergence from a falling energy", relation=AtMost(left="what the speed takes", right="-dE/dt"),
    expects="gap", presumes=("dynamics.sec-5-direct-method-any",), correction="dynamics.sec-5-direct-method-sphere",
    uses=("dynamics.prop-4.1-rate",), missing="the states stay bounded",
    consequence="""Of the paper's energies those on the sphere prove convergence, since states stay bounded there
        (dynamics.sec-5-direct-method-sphere); that of several heads without projection falls while tokens go to
        infinity.""",
    note=r"""Checked is what the method rests on, for symmetric attention on the sphere: $-dE/dt \ge 2\beta S
        e^{-\beta\|A\|_2}\|\dot X\|_F^2$, so that the energy falls unless the state rests. That trajectories then
        converge needs an energy that is bounded below. The one of Proposition 4.2 is not: its tokens are not
        constrained, and for a single token and $A = I$ the energy falls for ever while the token grows like $e^t$
        (dynamics.sec-5-direct-method-any); under (13), with $A = E_{12}$ and the token $(1, 1)$, like $e^{t/2}$. Of other
        energies one has to ask as well that they fall at every state that is not fixed: $\|x\|^2$ never grows under a
        rotation. The introduction says of energies on the sphere that 'they offer convergence
        guarantees', which is right; Section 6.2 says of Proposition 4.2 that such architectures 'inherently minimize an
        energy function', which has no minimum there.""")  # fmt: skip


@DIRECT_METHOD.formula
def energy_lost_per_time(X: Tokens, W_Q: Factor, W_K: Factor, beta: Beta) -> Any:
    """-dE/dt along (3) with W^V = W^Q W^{K T}, a scalar."""
    return -total(energy_rate_terms(X, W_Q, W_K, W_Q @ W_K.T, beta))


@DIRECT_METHOD.oracle
def loss_that_the_speed_takes(X: Tokens, W_Q: Factor, W_K: Factor, beta: Beta) -> Any:
    """2 beta S exp(-beta |A|) |dX/dt|_F^2, a scalar."""
    velocity, A = flow(X, W_Q, W_K, W_Q @ W_K.T, beta), W_Q @ W_K.T
    return total(velocity * velocity) * slowest_normalisation(X, A, beta) * beta * 2


DIRECT_METHOD.mutant("a tenth of it", lambda value: value / 10)
DIRECT_METHOD.mutant("values of the wrong sign", "W_Q @ W_K.T -> -(W_Q @ W_K.T)")


@realises({"A is symmetric": "B B^T is", "A = BB": "A is computed so, and every positive semi-definite A is B B^T"})
def positive_semidefinite(B: SquareWeights, x: Row, beta: Beta) -> dict[str, Any]:
    """One token x as drawn, and A = B B^T."""
    return {"x": x, "A": B @ B.T, "B": B, "beta": beta}


def velocity_of_one_token(x: Any, A: Any, beta: Any) -> Any:
    """dX/dt = softmax(beta X A X^T) X A for one token, shape (1, D): x A, without projection."""
    return attention_head(x, A, eye(A.shape[0]), A, beta)


DIRECT_METHOD_ANY = Claim(DYNAMICS, "dynamics.sec-5-direct-method-any", label="Convergence from a falling energy alone",
    statement=r"""A=A^\top=W^V\ \Rightarrow\ \text{the trajectories of }dX/dt=\operatorname{softmax}(\beta
        XAX^\top)XW^V\text{, along which }E=-\sum_{i,j}\exp(\beta X_{[i,:]}^\top AX_{[j,:]})\text{ falls
        (dynamics.prop-4.2-symmetric), converge to fixed points}""",
    assumptions=[
        Assumption("A is symmetric", zero=lambda A: A - A.T),
        POSITIVE_BETA,
        Assumption(r"A = BB^\top for some B, so that A is positive semi-definite", zero=lambda A, B: A - B @ B.T),
        Construction("one token: x in R^{1 x D}", shapes={"x": ("1", "D")}),
    ],
    name="convergence from a falling energy without bounds", relation=Equal(), sizes={"D": (1, 3)}, exact=True,
    expects="refuted", severity="error", of_project=True, uses=("dynamics.prop-4.2-symmetric",),
    note=r"""For one token attention is 1, so that $X(t) = X(0)e^{tA}$. With $A$ positive semi-definite this converges
        only if $X(0)A = 0$; so compared with 0 is the velocity $X(0)A$ of an orbit that converges.""")  # fmt: skip
DIRECT_METHOD_ANY.inputs(positive_semidefinite)


@DIRECT_METHOD_ANY.formula
def velocity_of_a_converging_orbit(x: Row) -> Any:
    """0: such an orbit rests, shape (1, D)."""
    return x * 0


DIRECT_METHOD_ANY.oracle(velocity_of_one_token)
DIRECT_METHOD_ANY.counterexample("a token on the line, A = 1", x=[[1]], A=[[1]], B=[[1]], beta=1)
DIRECT_METHOD_ANY.mutant("the state", lambda x: x)
DIRECT_METHOD_ANY.mutant("the state reversed", lambda x: -x)


DIRECT_METHOD_SPHERE = Claim(SYMMETRIC_ATTENTION, "dynamics.sec-5-direct-method-sphere",
    label="Convergence from the energy on the sphere", name="convergence of symmetric attention on the sphere",
    statement=r"""A=W^QW^{K\top}=A^\top=W^V\ \Rightarrow\ -E_{\text{single}}(X)\le S^2e^{\beta\|A\|_2}\text{ and
        }2\beta Se^{-\beta\|A\|_2}\|\dot X\|_F^2\le-\frac{dE_{\text{single}}}{dt}\text{ along (3)}:\ \int_0^\infty\|\dot
        X\|_F^2dt\le\frac{Se^{2\beta\|A\|_2}}{2\beta}\text{, and every trajectory converges to a fixed point}""",
    assumptions=[Definition("W^V = A = W^Q W^{K T} in (3)", by=flow)],
    relation=AtMost(left="-E, and what the speed takes of it"), of_project=True, corrects="dynamics.sec-5-direct-method",
    uses=("dynamics.sec-3-minima",),
    note=r"""Checked are the two inequalities; together they bound the integral. (3) is then the gradient flow of an
        analytic function in a metric on a product of spheres (dynamics.sec-3-minima), and bounded trajectories of such
        flows converge to one point (Lojasiewicz).""")  # fmt: skip


@DIRECT_METHOD_SPHERE.formula
def bounds_of_energy_and_speed(X: Tokens, W_Q: Factor, W_K: Factor, beta: Beta) -> Any:
    """S^2 exp(beta |A|) above -dE/dt, shape (2, 1)."""
    A, S = W_Q @ W_K.T, X.shape[0]
    loss = loss_along(partial(energy, W_Q=W_Q, W_K=W_K, beta=beta), X, flow(X, W_Q, W_K, A, beta))[:1]
    return concatenate([ones(1, 1) * exp(beta * spectral_norm(A)) * S**2, loss], axis=0)


@DIRECT_METHOD_SPHERE.oracle
def energy_and_speed(X: Tokens, W_Q: Factor, W_K: Factor, beta: Beta) -> Any:
    lost = loss_that_the_speed_takes(X, W_Q, W_K, beta)
    return concatenate([ones(1, 1) * -energy(X, W_Q, W_K, beta), ones(1, 1) * lost], axis=0)


DIRECT_METHOD_SPHERE.mutant("S for S^2", "S**2 -> S / 2")
DIRECT_METHOD_SPHERE.mutant("a tenth of the loss", "loss_along -> _tenth_of_the_loss")


def _tenth_of_the_loss(*arguments: Any) -> Any:
    return loss_along(*arguments) / 10


# -- Lipschitz constants -----------------------------------------------------------------------------------------------


def largest_norm(X: Any, Y: Any) -> Any:
    """The largest norm r of a token of X or Y, shape (1, 1)."""
    return ones(1, 1) * maximum(concatenate([row_norms(X), row_norms(Y)], axis=0))


LIPSCHITZ = Claim(
    Setting(DYNAMICS, "Section 5, one head", sizes={"S": (1, 3), "D": (1, 3), "D_H": (1, 3)}),
    "dynamics.sec-5-lipschitz", label="Section 5, text", name="Lipschitz constant of attention from its Jacobian",
    statement=r"""\text{``The Jacobian controls the Lipschitzness of the function'': }\|f(Y)-f(X)\|\le L\|Y-X\|\text{
        where }\|J\|_2\le L\text{ between }X\text{ and }Y""",
    assumptions=[
        POSITIVE_BETA,
        Definition("f = SA, one head", by=attention_head),
        Definition("r is the largest norm of a token of X and Y", by=largest_norm),
    ],
    general="The bound is far from tight, so that a function that is not attention seldom breaks it.",
    relation=AtMost(left="|SA(Y) - SA(X)|_F"), expects="reading", uses=("dynamics.eq-15-any-length",),
    reading=Reading("controls the Lipschitzness", r"""a bound of $\|J\|_2$ on a convex set is a Lipschitz constant there;
            decided with the bound of dynamics.eq-15-any-length on tokens of norm at most $r$, $L =
            \sqrt3\|W^V\|_2\sqrt{a^2+(a^2+1)e^{2a}}$, $a = \beta\|W^QW^{K\top}\|_2r^2$"""),
    note="""The set of states whose tokens have norm at most $r$ is convex. On unit tokens $L$ does not depend on them:
        in this sense the spherical constraint 'plays a key role in controlling the Lipschitz continuity of SA'; without
        a bound on the tokens there is no such constant.""")  # fmt: skip


@LIPSCHITZ.formula
def lipschitz_bound(X: Tokens, Y: Tokens, W_Q: HeadQueries, W_K: Factor, W_V: Factor, beta: InverseTemperature) -> Any:
    """L |Y - X|_F, shape (1, 1)."""
    r = largest_norm(X, Y)
    a = spectral_norm(W_Q @ W_K.T) * beta * r * r
    return sqrt((a * a + (a * a + 1) * exp(2 * a)) * 3) * spectral_norm(W_V) * frobenius_norm(Y - X)


@LIPSCHITZ.oracle
def change_of_output(X: Tokens, Y: Tokens, W_Q: HeadQueries, W_K: Factor, W_V: Factor, beta: InverseTemperature) -> Any:
    change = attention_head(Y, W_Q, W_K, W_V, beta) - attention_head(X, W_Q, W_K, W_V, beta)
    return ones(1, 1) * frobenius_norm(change)


@LIPSCHITZ.domain("weak logits")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Logits near 0, and values that the difference of the states stretches most."""
    arrays["W_Q"][:] *= 2.0**-6
    arrays["Y"][:] = -arrays["X"]


LIPSCHITZ.mutant("a quarter of the bound", lambda value: value * rational(1, 4))
LIPSCHITZ.mutant("without the values", "spectral_norm(W_V) -> 1")
