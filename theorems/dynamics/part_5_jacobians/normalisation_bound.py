"""Proposition 5.1, Eq. (14): what normalisation does to the Jacobian of one update, and the update (9) itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorems.dynamics.definitions import (
    Beta, Gain, Heads, QueryWeights, SquareWeights, Tokens, multi_head_attention, rms_norm,
)  # fmt: skip
from theorems.dynamics.settings import UPDATE, Step
from verify.matrix import absolute, frobenius_norm, maximum, ones, row_norms, row_sums, spectral_norm, sqrt
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition


def updated(X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, eta: Any, H: int) -> Any:
    """X + eta (C + MSA(X)), the input of the normalisation, shape (S, D) (Eq. (9))."""
    return X + (C + multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H)) * eta


def squared_radii(X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, eta: Any, H: int) -> Any:
    """The squared norms of the rows of X + eta (C + MSA(X)), shape (S, 1)."""
    Y = updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)
    return row_sums(Y * Y)


def itrsa_step(X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int) -> Any:
    """RMSNorm(X + eta (C + MSA(X))), shape (S, D) (Eq. (9))."""
    return rms_norm(updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H), gamma)


def two_step_jacobian(X: Any, *rest: Any) -> Any:
    """The derivative of two steps (9), differentiated in one piece, shape (S D, S D)."""
    return jacobian(lambda X: itrsa_step(itrsa_step(X, *rest), *rest), "X")(X)


def _norm_of_all_rows(Y: Any) -> Any:
    return ones(1, 1) * frobenius_norm(Y)


def _root_mean_square(gamma: Any) -> Any:
    return frobenius_norm(gamma.reshape(1, -1)) / sqrt(gamma.shape[0])


PROPOSITION_51 = Claim(UPDATE, "dynamics.prop-5.1", label="Proposition 5.1, Eq. (14) (= (67))",
    statement=r"""\left\|\frac{\partial\operatorname{RMSNorm}(X+\eta\Delta X)}{\partial X}\right\|_2\le\frac{\max_j(|
        \gamma_j|)}{R} \left(1+|\eta|\left\|J_{\text{MSA}}(X)\right\|_2\right),\quad J_{\text{MSA}}(X):=\partial
        \operatorname{MSA}(X)/\partial X,\ \Delta X=C+\operatorname{MSA}(X)""",
    assumptions=[
        Assumption(
            r"\|X_{[i,:]}+\eta\Delta X_{[i,:]}\| \ge R > 0 for all i; R is the smallest of these norms, the strongest case",
            positive=squared_radii,
        ),
        Definition("MSA of Eqs. (1)-(2)", by=multi_head_attention),
    ],
    name="normalised Jacobian norm bound", relation=AtMost(), all_sizes=True, sizes={"S": (1, 3), "D": (1, 4), "H": (1, 2)},
    uses=("dynamics.lemma-a.2", "dynamics.lemma-a.3"),
    proof=("dynamics.eq-68", "dynamics.eq-69-70", "dynamics.eq-71", "dynamics.eq-73-76"),
    note=r"""For $\eta$ and $\gamma$ of either sign, 0 included, and for RMSNorm
        as Eq. (6) defines it. The RMSNorm of common libraries divides by the root mean square; with
        its gains the right-hand side needs the factor $\sqrt D$ (dynamics.eq-6-root-mean-square): for one token of
        dimension 2 with $X + \eta\Delta X = Y$, $R = 1$ and $\gamma = \mathbf 1$ its derivative by $Y$ has the norm
        $\sqrt 2 > 1$.""")  # fmt: skip


@PROPOSITION_51.formula
def update_jacobian_bound(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """max_j |gamma_j| / R (1 + |eta| |J_MSA(X)|_2), a scalar (Eq. (14))."""
    J = jacobian(multi_head_attention, "X")(X, W_Q, W_K, W_V, W_O, beta, H)
    inverse_radius = maximum(1 / row_norms(updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)))
    return maximum(absolute(gamma)) * inverse_radius * (1 + absolute(eta) * spectral_norm(J))


@PROPOSITION_51.oracle
def update_jacobian_norm(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    """Spectral norm of the derivative of the whole update, differentiated in one piece."""
    return spectral_norm(jacobian(itrsa_step, "X")(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H))


@PROPOSITION_51.domain("equal tokens, identity values")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Uniform attention over equal tokens with W_V = W_O = I, eta > 0 and constant gamma: equality when D > 1."""
    arrays["W_Q"][:] = 0.0
    arrays["W_V"][:] = arrays["W_O"][:] = np.eye(sizes["D"])
    for name in ("X", "C"):
        arrays[name][:] = arrays[name][:, :1, :]
    arrays["gamma"][:] = arrays["gamma"][:, :1]
    arrays["eta"][:] = np.abs(arrays["eta"])


PROPOSITION_51.mutant("|eta| replaced by eta", "absolute(eta) -> eta")
PROPOSITION_51.mutant("attention term dropped", "absolute(eta) -> 0")
PROPOSITION_51.mutant("largest gamma_j without the absolute value", "absolute(gamma) -> gamma")
PROPOSITION_51.mutant("norm of the whole matrix instead of the smallest row norm", "row_norms -> _norm_of_all_rows")
PROPOSITION_51.mutant("identity dropped", "1 + absolute(eta) * spectral_norm(J) -> absolute(eta) * spectral_norm(J)")
PROPOSITION_51.mutant("root mean square of gamma", "maximum(absolute(gamma)) -> _root_mean_square(gamma)")
