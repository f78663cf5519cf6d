"""Energies that survive the attack on dE/dt, followed along whole trajectories: Runge-Kutta with the step halved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, Heads, Tokens, energy, projection
from theorems.dynamics.energy import POSITIVE_BETA, UNIT_TOKENS, Factor
from theorems.dynamics.multi_head_energy import (
    SYMMETRIC_HEADS,
    SharedBasis,
    head_outputs,
    multi_head_energy,
    orthonormal_heads,
    products,
    symmetric_parts,
    symmetric_products,
    whole_blocks,
)
from theorems.dynamics.symmetric_attention import InverseTemperature, any_heads, asymmetric_integers
from verify.matrix import absolute, exp, frobenius_norm, ones, rational, row_sums, zeros
from verify.vocabulary import AtMost, Claim

STEPS = "classical Runge-Kutta, 2 and 4 steps, over a fixed share of the time on which the field changes"


def runge_kutta(field: Callable[[Any], Any], X: Any, time: Any, steps: int) -> Any:
    """X(time) for dX/dt = field(X) by the classical method of order 4, shape of X."""
    h = time * rational(1, steps)
    for _ in range(steps):
        a = field(X)
        b = field(X + a * h * rational(1, 2))
        c = field(X + b * h * rational(1, 2))
        d = field(X + c * h)
        X = X + (a + (b + c) * 2 + d) * h * rational(1, 6)
    return X


def energy_lost(field: Callable[[Any], Any], energy_of: Callable[[Any], Any], X: Any, time: Any) -> Any:
    """E(0) - E(time) plus the change of E(time) when the step is halved, shape (1, 1): not negative if E falls."""
    start, coarse, fine = (energy_of(Y) for Y in (X, runge_kutta(field, X, time, 2), runge_kutta(field, X, time, 4)))
    return ones(1, 1) * (start - fine + absolute(fine - coarse))


# -- Proposition 4.2 for symmetric heads -------------------------------------------------------------------------------

MULTI_HEAD = Claim(
    DYNAMICS,
    "dynamics.prop-4.2-integrated",
    label="Proposition 4.2 for symmetric heads, integrated forward",
    statement=r"A_h=A_h^\top=W_h^V,\ A_hA_{h'}=O\ \Rightarrow\ E_{\text{multi}}(X(\tau))-E_{\text{multi}}(X(0))\le\text{ the"
    r" change when the step is halved}",
    assumptions=[*SYMMETRIC_HEADS, STEPS],
    relation=AtMost(signed=True, ascent=False),
    sizes={"S": (1, 2), "D": (2, 4), "H": (1, 2)},
    where=whole_blocks,
    of_project=True,
    uses=("dynamics.prop-4.2-symmetric",),
)
MULTI_HEAD.inputs(orthonormal_heads)


def _multi_head_loss(X: Any, heads: list[Any], values: list[Any], beta: Any) -> Any:
    # |A_h| = 1, and the logits of a head change by 2 beta |X| for a unit change of X
    time = 1 / (4 * (1 + len(heads) * (1 + beta * (X * X).sum())))

    def field(Y: Any) -> Any:
        return sum(head_outputs(Y, heads, values, beta))

    return energy_lost(field, lambda Y: multi_head_energy(Y, heads, beta), X, time)


@MULTI_HEAD.formula
def multi_head_energy_lost(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """E(0) - E(tau) plus the change by halving the step for symmetric heads, shape (1, 1)."""
    heads = symmetric_products(U, H)
    return _multi_head_loss(X, heads, heads, beta)


@MULTI_HEAD.oracle
def nothing_lost() -> Any:
    return zeros(1, 1)


@MULTI_HEAD.mutant("values of the wrong sign")
def _(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    heads = symmetric_products(U, H)
    return _multi_head_loss(X, heads, [-A for A in heads], beta)


@MULTI_HEAD.mutant("the asymmetric heads of Eq. (13)")
def _(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    return _multi_head_loss(X, products(U, H), symmetric_parts(products(U, H)), beta)


# -- any A, with transposed heads --------------------------------------------------------------------------------------

TRANSPOSED = Claim(
    DYNAMICS,
    "dynamics.sec-4-transposed-heads-integrated",
    label="Energy for any A with transposed heads, integrated forward",
    statement=r"\text{along the flow of dynamics.sec-4-transposed-heads: } E_{\text{single}}(X(\tau))-E_{\text{single}}(X(0))\le"
    r"\text{ the change when the step is halved, for every }A",
    assumptions=[UNIT_TOKENS, POSITIVE_BETA, STEPS],
    relation=AtMost(signed=True, ascent=False),
    sizes={"S": (1, 3), "D": (2, 3), "D_H": (1, 3)},
    of_project=True,
    uses=("dynamics.sec-4-transposed-heads",),
)
TRANSPOSED.inputs(any_heads)


def _single_head_loss(X: Any, W_Q: Any, W_K: Any, beta: Any, drive: Callable[[Any, Any, Any], Any]) -> Any:
    A = W_Q @ W_K.T
    size = frobenius_norm(A)
    time = 1 / (4 * (1 + size * (1 + beta * size) * X.shape[0]))

    def field(Y: Any) -> Any:
        E = exp(Y @ A @ Y.T * beta)
        return projection(Y, drive(E, Y, A) / row_sums(E + E.T))

    return energy_lost(field, lambda Y: energy(Y, W_Q, W_K, beta), X, time)


@TRANSPOSED.formula
def energy_lost_by_transposed_heads(X: Tokens, W_Q: Factor, W_K: Factor, beta: InverseTemperature) -> Any:
    """E(0) - E(tau) plus the change by halving the step, shape (1, 1)."""
    return _single_head_loss(X, W_Q, W_K, beta, lambda E, Y, A: E @ Y @ A.T + E.T @ Y @ A)


TRANSPOSED.oracle(nothing_lost)
TRANSPOSED.domain("asymmetric integer weights")(asymmetric_integers)


TRANSPOSED.mutant("sign", drive=lambda E, Y, A: -(E @ Y @ A.T) - E.T @ Y @ A)
TRANSPOSED.mutant("values exchanged", drive=lambda E, Y, A: E @ Y @ A + E.T @ Y @ A.T)
TRANSPOSED.mutant(
    "one head with the values (A + A^T)/2, as in Proposition 4.1", drive=lambda E, Y, A: E @ Y @ (A + A.T)
)
