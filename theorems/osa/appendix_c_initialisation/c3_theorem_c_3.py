"""Theorem C.3, ||J_1||_2 <= C alpha, with a C that grows neither with K nor with 1 / eps; A near I (Appendix C.3).

Gradient ascent attacks the bounds on J_1; what follows from them by Weyl's inequality is searched only.
"""

from __future__ import annotations

from typing import Any

from theorems.osa import OSA
from theorems.osa.appendix_c_initialisation.initialised_layer import (
    AT_INITIALISATION,
    INITIALISED,
    NEWTON_SCHULZ,
    THE_CONSTANT,
    attention_at,
    first_jacobian_term,
    linear_bound,
    squared,
    unit_of_bounds,
)
from theorems.osa.appendix_e_experiments.untrained import decided_at_the_experiments
from theorems.osa.definitions import newton_schulz_iterate
from theorems.osa.settings import ORTHONORMAL_QUERIES_AND_KEYS, two_heads
from theorems.osa.shapes import (
    Alpha,
    Epsilon,
    Factor,
    KeyWeights,
    OutputWeights,
    QueryWeights,
    Steps,
    Tokens,
    ValueWeights,
)
from verify.claims import Assumption, Claim
from verify.derivatives import jacobian
from verify.matrix import absolute, column, eye, frobenius_norm, rational, spectral_norm, sqrt, unvec_r
from verify.relations import AtMost

# -- J_1 is linear in alpha --------------------------------------------------------------------------------------------


NEWTON_SCHULZ_DIFFERENTIAL = Claim(
    OSA,
    "osa.newton-schulz-differential",
    label="Theorem C.3, a differential that does not grow with K",
    statement=r"\mathbf{B} \text{ from } K \text{ Newton-Schulz steps on } \mathbf{M}_0,\ \|\mathbf{M}_0\|_2 \le 1: \quad"
    r" \|\partial\mathbf{B}\,\mathbf{M}_0^\top\|_F,\ \|\partial\mathbf{B}^\top\mathbf{M}_0\|_F \le"
    r" \sqrt2\,\|\partial\mathbf{M}_0\|_F \text{ for every } K",
    assumptions=[Assumption("||M_0||_2 <= 1", nonnegative=lambda M_0: 1 - spectral_norm(M_0))],
    relation=AtMost(),
    sizes={"N": (1, 3), "m": (1, 3), "K": (0, 8)},
    of_project=True,
    note="K steps act on singular values by a concave increasing g with g(0) = 0, g(1) = 1.  In singular bases dB mixes the"
    " entries (i, j), (j, i) of dM_0 by divided differences; weighted by u_j their squares sum to at most"
    " (1 + s^2)/2 [((1 - t)/(1 - s))^2 + ((1 + t)/(1 + s))^2] <= 2 for s = u_i/u_j <= t = g(u_i)/g(u_j) <= 1.",
)


@NEWTON_SCHULZ_DIFFERENTIAL.inputs
def normalised_factor(M: Factor, D: Factor, epsilon: Epsilon, K: Steps) -> Any:
    return {"M_0": M / (frobenius_norm(M) + epsilon), "D": D, "K": K}


@NEWTON_SCHULZ_DIFFERENTIAL.formula
def newton_schulz_differential_bound(D: Factor) -> Any:
    """sqrt 2 ||dM_0||_F, a scalar."""
    return frobenius_norm(D) * sqrt(2)


@NEWTON_SCHULZ_DIFFERENTIAL.oracle
def weighted_differentials(M_0: Factor, D: Factor, K: Steps) -> Any:
    derivative = jacobian(lambda t: newton_schulz_iterate(M_0 + t * D, K), "t")(M_0[:1, :1] * 0)
    dB = unvec_r(derivative, *M_0.shape)
    return column(frobenius_norm(dB @ M_0.T), frobenius_norm(dB.T @ M_0))


@NEWTON_SCHULZ_DIFFERENTIAL.domain("a converged singular value beside a small one")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    # sqrt 2 is the limit of ever smaller ones that converge too: 8 steps, and 1 : 16, come to 1.30
    if min(sizes["N"], sizes["m"]) < 2:
        return
    arrays["M"] *= 0
    arrays["M"][:, 0, 0], arrays["M"][:, 1, 1] = 16, 1
    arrays["D"] *= 0
    arrays["D"][:, 0, 1], arrays["D"][:, 1, 0] = 1, -1


NEWTON_SCHULZ_DIFFERENTIAL.mutant("||dM_0||_F, without sqrt 2", lambda D: frobenius_norm(D))
NEWTON_SCHULZ_DIFFERENTIAL.mutant(
    "sqrt 2 times the spectral norm of dM_0, halved", lambda D: spectral_norm(D) * sqrt(2) * rational(1, 2)
)

THEOREM_C3 = Claim(
    INITIALISED,
    "osa.thm-c.3",
    label="Theorem C.3, Eq. (15)",
    statement=r"\|\mathbf{J}_1(\mathbf{X})\|_2\le C\alpha,\quad C>0 \text{ some constant}",
    assumptions=["||X||_2 bounded", NEWTON_SCHULZ, "alpha real (Section 2), a small number (text below)"],
    relation=AtMost(),
    uses=("osa.thm-c.1", "osa.thm-c.2", "osa.c1-kappa", "osa.newton-schulz-differential"),
    proof=("osa.eq-84", "osa.eq-86", "osa.eq-93", "osa.lemma-f.6", "osa.lemma-f.7", "osa.lemma-f.8", "osa.f6-orders"),
    expects="reading",
    reading=THE_CONSTANT,
    note="For alpha < 0 and J_1 != 0 the printed right-hand side is negative.  The printed chain gives a constant that grows"
    " like (3/2)^K / eps; here neither factor is left, because S = alpha/sqrt(d_v) M J M^T, J = [[0, I], [-I, 0]], lets every"
    " dB meet an M, and ||dB M^T||_F, ||dB^T M||_F <= sqrt 2 ||dX||_F (osa.newton-schulz-differential).  So E_1 and E_3 of"
    " Eq. (87) are at most sqrt 2 |alpha| ||X||_2 / sqrt(d_v) each, and E_2 at most 2 + 2 sqrt 2 times that unit.",
)


@THEOREM_C3.formula
def first_term_bound(X: Tokens, W_V: ValueWeights, alpha: Alpha) -> Any:
    """C |alpha| = (2 + 4 sqrt 2) ||X||_2^2 |alpha| / sqrt(d_v), a scalar, whatever K and eps."""
    return linear_bound(X, W_V, absolute(alpha))


@THEOREM_C3.oracle
def norm_of_first_term(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    return spectral_norm(first_jacobian_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))


THEOREM_C3.mutant("quadratic in alpha", lambda X, W_V, alpha: linear_bound(X, W_V, squared(alpha)))
THEOREM_C3.mutant("linear in ||X||_2", lambda value, X: value / spectral_norm(X))
THEOREM_C3.mutant("C / 10", lambda value: value * rational(1, 10))

NEAR_IDENTITY = Claim(
    AT_INITIALISATION,
    "osa.c3-near-identity",
    label="Appendix C.3, text after Theorem C.3",
    statement=r"\text{small } \alpha \text{ sets } \mathbf{A}(\mathbf{X}) \text{ close to the identity at the start of"
    r" training}",
    assumptions=[ORTHONORMAL_QUERIES_AND_KEYS, "||X||_2 bounded", NEWTON_SCHULZ],
    relation=AtMost(),
    where=two_heads,
    expects="reading",
    reading="||A - I||_2 <= |alpha| ||X||_2^2 / sqrt(d_v), for A from Newton-Schulz and for A = exp(S) alike",
)
decided_at_the_experiments(NEAR_IDENTITY)


@NEAR_IDENTITY.formula
def distance_from_identity_bound(X: Tokens, W_Q: QueryWeights, alpha: Alpha) -> Any:
    """|alpha| ||X||_2^2 / sqrt(d_v), a scalar."""
    return unit_of_bounds(X, W_Q, absolute(alpha))


@NEAR_IDENTITY.oracle
def distances_from_identity(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    found = [attention_at(X, W_Q, W_K, alpha, epsilon, steps) for steps in (K, None)]
    return column(*(spectral_norm(A - eye(X.shape[0])) for A in found))


NEAR_IDENTITY.mutant("halved", lambda value: value * rational(1, 2))
NEAR_IDENTITY.mutant("quadratic in alpha", lambda X, W_Q, alpha: distance_from_identity_bound(X, W_Q, alpha * alpha))
