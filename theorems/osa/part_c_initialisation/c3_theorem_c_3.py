"""Theorem C.3, ||J_1||_2 <= C alpha, with a C that grows neither with K nor with 1 / eps; A near I (Appendix C.3).

Throughout W^V = U, W^O = V^T with U, V in V_{d_v}(R^d), and [W^Q, W^K] in V_{2 d_v}(R^d), 2 d_v <= d.  Every bound is
proved for all such weights, so their laws do not matter.

Gradient ascent attacks the bounds on J_1; what follows from them by Weyl's inequality is searched only.
"""

from __future__ import annotations

from typing import Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import attention_matrix, newton_schulz_basis, newton_schulz_iterate, orthonormal_columns
from theorems.osa.settings import (
    ANY_ALPHA, LEAST_BOUND, NONNEGATIVE_ALPHA, ORTHONORMAL_OUTPUTS, ORTHONORMAL_QUERIES_AND_KEYS, ORTHONORMAL_VALUES,
    POSITIVE_EPSILON, UNTRAINED,
    newton_schulz_attention_matrix, orthonormal_queries_and_keys, two_heads,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, Decay, Epsilon, Factor, Frame, HeadSize, Key, NonnegativeAlpha, Output, Query, Share, Steps, Tokens, Value,
)  # fmt: skip
from verify.matrix import (
    COLUMN, absolute, column, exp, eye, frobenius_norm, kron, maximum, rational, singular_values, spectral_norm, sqrt,
    unvec_r,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Reading, Setting, realises

ORTHONORMAL_WEIGHTS = [ORTHONORMAL_QUERIES_AND_KEYS, ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS]
NEWTON_SCHULZ = (
    Definition(
        "A = I + B (exp[S] - I) B^T with B from K Newton-Schulz steps on M / (||M||_F + eps), M = [X W^Q, X W^K]",
        by=newton_schulz_basis,
    ),
    POSITIVE_EPSILON,
)
THE_CONSTANT = (
    r"With $C = (2 + 4\sqrt2)R^2/\sqrt{d_v}$ for $\|X\|_2 \le R$, which depends on $d_v$ and $R$ alone,"
    r" not on $N$, $d$, $\epsilon$, $K$ or the weights."
)


def small(sizes: Any) -> bool:
    """Sizes with 2 d_v <= d at which the N d singular values of J are enclosed quickly."""
    return two_heads(sizes) and sizes["N"] * sizes["d"] <= 8


def orthonormal_weights(pair: Any, left: Any, right: Any, d_v: int) -> dict[str, Any]:
    """Orthonormal weights from three free (d, d) matrices."""
    V, O = orthonormal_columns(left, d_v), orthonormal_columns(right, d_v).T
    return {**orthonormal_queries_and_keys(pair, d_v), "W_V": V, "W_O": O}


@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def initialised(
    X: Tokens, pair: Frame, left: Frame, right: Frame, alpha: Alpha, decay: Decay, epsilon: Epsilon, K: Steps,
    d_v: HeadSize,
) -> Any:  # fmt: skip
    """Tokens and initialised weights, alpha of either sign and of all sizes up to 2."""
    return {
        "X": X,
        **orthonormal_weights(pair, left, right, d_v),
        "alpha": alpha * exp(-decay),
        "epsilon": epsilon,
        "K": K,
    }


@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def initialised_with_sign(
    X: Tokens, pair: Frame, left: Frame, right: Frame, alpha: NonnegativeAlpha, decay: Decay, epsilon: Epsilon,
    K: Steps, d_v: HeadSize,
) -> Any:  # fmt: skip
    """The same with alpha >= 0."""
    return initialised(X, pair, left, right, alpha, decay, epsilon, K, d_v)


#: Weights, alpha and basis as initialised.  For N = 1 the skew matrix S vanishes, A = 1 and J_1 = 0.
AT_INITIALISATION = Setting(
    OSA, "Appendix C.3", sizes={"N": (1, 3), "d": (2, 4), "d_v": (1, 2), "K": (0, 3)}, where=small, inputs=initialised
)
INITIALISED = AT_INITIALISATION.extended(assumptions=ORTHONORMAL_WEIGHTS)
#: With the sign of alpha that bounds by C alpha need.
WITH_SIGN = INITIALISED.extended(assumptions=[NONNEGATIVE_ALPHA], inputs=initialised_with_sign)


@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def initialised_with_small_alpha(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, epsilon: Epsilon, K: Steps, d_v: HeadSize
) -> Any:
    """Tokens and initialised weights, alpha > 0 with C alpha < share <= 1, so that C alpha < 1 whatever is drawn."""
    # 2 + 4 sqrt 2 < 8
    alpha = share * (sqrt(d_v) / 8) / (squared(frobenius_norm(X)) + rational(1, 256))
    return {"X": X, **orthonormal_weights(pair, left, right, d_v), "alpha": alpha, "epsilon": epsilon, "K": K}


@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def initialised_with_moderate_alpha(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, epsilon: Epsilon, K: Steps, d_v: HeadSize
) -> Any:
    """Tokens and initialised weights, alpha > 0 up to where J_1 takes up the margin 1 - delta - ||J_1||_2, and beyond."""
    alpha = share * (sqrt(d_v) / 2) / (squared(frobenius_norm(X)) + rational(1, 256))
    return {"X": X, **orthonormal_weights(pair, left, right, d_v), "alpha": alpha, "epsilon": epsilon, "K": K}


def squared(x: Any) -> Any:
    return x * x


def attention_at(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int | None) -> Any:
    """The attention matrix: from K Newton-Schulz steps, or exp(S), which any QR basis gives, for K = None."""
    if K is None:
        return attention_matrix(X, W_Q, W_K, alpha)
    return newton_schulz_attention_matrix(X, W_Q, W_K, alpha, epsilon, K)


def first_jacobian_term(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any = None, K: int | None = None
) -> Any:
    """J_1 = (X W_V W_O (x) I_N)^T dvec A / dvec X, shape (N d, N d)."""
    dA = jacobian(lambda X: attention_at(X, W_Q, W_K, alpha, epsilon, K), "X", COLUMN)(X)
    return kron(X @ W_V @ W_O, eye(X.shape[0])).T @ dA


def second_jacobian_term(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any = None, K: int | None = None
) -> Any:
    """J_2 = (W_V W_O)^T (x) A, shape (N d, N d)."""
    return kron((W_V @ W_O).T, attention_at(X, W_Q, W_K, alpha, epsilon, K))


def layer_jacobian(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any = None, K: int | None = None
) -> Any:
    """J, shape (N d, N d), column-major, by differentiation of the layer."""
    return jacobian(lambda X: attention_at(X, W_Q, W_K, alpha, epsilon, K) @ X @ W_V @ W_O, "X", COLUMN)(X)


def largest_deviation_from_one(values: Any) -> Any:
    """max_i |sigma_i - 1|."""
    return maximum(absolute(values - 1))


def delta_of(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """delta = max_i |sigma_i(A) - 1|, the smallest that Theorem C.4 allows."""
    return largest_deviation_from_one(singular_values(newton_schulz_attention_matrix(X, W_Q, W_K, alpha, epsilon, K)))


def unit_of_bounds(X: Any, W_V: Any, alpha: Any) -> Any:
    """||X||_2^2 alpha / sqrt(d_v), at least ||S||_2 for orthonormal [W_Q, W_K]."""
    return squared(spectral_norm(X)) * alpha * (1 / sqrt(W_V.shape[1]))


def linear_bound(X: Any, W_V: Any, alpha: Any) -> Any:
    """C alpha with R = ||X||_2: (2 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v)."""
    unit = unit_of_bounds(X, W_V, alpha)
    return unit * 2 + unit * sqrt(32)


def condition_excess(t: Any) -> Any:
    """(1 + t) / (1 - t) - 1 = 2 t / (1 - t), without cancellation for small t."""
    return 2 * t / (1 - t)


# -- J_1 is linear in alpha --------------------------------------------------------------------------------------------


NEWTON_SCHULZ_DIFFERENTIAL = Claim(OSA, "osa.newton-schulz-differential",
    label="Theorem C.3, a differential that does not grow with K",
    statement=r"""\mathbf{B} \text{ from } K \text{ Newton-Schulz steps on } \mathbf{M}_0,\ \|\mathbf{M}_0\|_2 \le 1:
        \quad \|\partial\mathbf{B}\,\mathbf{M}_0^\top\|_F,\ \|\partial\mathbf{B}^\top\mathbf{M}_0\|_F \le
        \sqrt2\,\|\partial\mathbf{M}_0\|_F \text{ for every } K""",
    assumptions=[Assumption("||M_0||_2 <= 1", nonnegative=lambda M_0: 1 - spectral_norm(M_0))],
    name="differential of Newton-Schulz, free of the steps", relation=AtMost(), all_sizes=True,
    sizes={"N": (1, 3), "m": (1, 3), "K": (0, 8)}, of_project=True,
    note=r"""$K$ steps act on singular values by a concave increasing $g$ with $g(0) = 0$, $g(1) = 1$. In singular bases
        $\partial B$ mixes the entries $(i, j)$, $(j, i)$ of $\partial M_0$ by divided differences; weighted by the
        singular values $u_j$ of $M_0$ their squares sum to at most $\frac{1 + s^2}{2}\big[\big(\frac{1 - t}{1 -
        s}\big)^2 + \big(\frac{1 + t}{1 +
        s}\big)^2\big] \le 2$ for $s = u_i/u_j$, $t = g(u_i)/g(u_j)$, $s \le t \le 1$.""",
)  # fmt: skip


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
NEWTON_SCHULZ_DIFFERENTIAL.mutant("sqrt 2 times the spectral norm of dM_0, halved",
    lambda D: spectral_norm(D) * sqrt(2) * rational(1, 2))  # fmt: skip

THEOREM_C3 = Claim(WITH_SIGN, "osa.thm-c.3", label="Theorem C.3, Eq. (15)", name="norm of the first Jacobian term",
    statement=r"""\|\mathbf{J}_1(\mathbf{X})\|_2\le C\alpha, \text{ where } C>0 \text{ is some constant}""",
    assumptions=[LEAST_BOUND, *NEWTON_SCHULZ],
    relation=AtMost(), all_sizes=True, hypotheses=ORTHONORMAL_WEIGHTS,
    uses=("osa.thm-c.1", "osa.thm-c.2", "osa.c1-kappa", "osa.newton-schulz-differential"),
    proof=("osa.eq-84", "osa.eq-86", "osa.eq-93", "osa.lemma-f.6", "osa.lemma-f.7", "osa.lemma-f.8", "osa.f6-orders"),
    expects="gap", presumes=("osa.thm-c.3-any-sign",), missing=r"$\alpha \ge 0$", correction="osa.thm-c.3-absolute",
    consequence=r"""For a learnable $\alpha$, which may turn negative, the bound as printed fails; use $\|J_1\|_2 \le
        C|\alpha|$ with $C = (2+4\sqrt2)R^2/\sqrt{d_v}$, free of $K$ and $\epsilon$ (osa.thm-c.3-absolute).""",
    note=THE_CONSTANT
    + r""" Theorem C.4 says $\alpha > 0$, this theorem, its lemmas and Eq. (5) do not. The printed chain gives a constant
        that grows like $(3/2)^K/\epsilon$; here neither factor is left, because $S =
        \frac{\alpha}{\sqrt{d_v}}MJM^\top$, $J = \begin{pmatrix}0 & I\\
        -I & 0\end{pmatrix}$, lets every $\partial B$ meet an $M$, and
        $\|\partial B\,M^\top\|_F, \|\partial B^\top M\|_F \le
        \sqrt2\|\partial X\|_F$ (osa.newton-schulz-differential). With $u = |\alpha|\|X\|_2/\sqrt{d_v}$,
        $E_1$ and $E_3$ of Eq. (87) are at most $\sqrt2 u$ each, and $E_2$ at most
        $(2 + 2\sqrt2)u$.""",
)  # fmt: skip


@THEOREM_C3.formula
def first_term_bound(X: Tokens, W_V: Value, alpha: Alpha) -> Any:
    """C alpha = (2 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v), a scalar, whatever K and eps (Eq. (15))."""
    return linear_bound(X, W_V, alpha)


@THEOREM_C3.oracle
def norm_of_first_term(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    return spectral_norm(first_jacobian_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))


THEOREM_C3.mutant("quadratic in alpha", lambda X, W_V, alpha: linear_bound(X, W_V, squared(alpha)))
THEOREM_C3.mutant("linear in ||X||_2", lambda value, X: value / spectral_norm(X))
THEOREM_C3.mutant("C / 10", lambda value: value * rational(1, 10))


def negative_alpha() -> dict[str, Any]:
    weights = {"W_Q": [[1], [0]], "W_K": [[0], [1]], "W_V": [[1], [0]], "W_O": [[1, 0]]}
    return {"X": [[1, 0], [0, 1]], **weights, "alpha": -1, "epsilon": 1, "K": 0}


THEOREM_C3_ANY_SIGN = THEOREM_C3.without(NONNEGATIVE_ALPHA, "osa.thm-c.3-any-sign",
    {"X = I, alpha = -1, no Newton-Schulz step: the right-hand side is negative": negative_alpha},
    setting=INITIALISED, assumptions=[ANY_ALPHA], label="Theorem C.3, for every real alpha",
    statement=r"""\|\mathbf{J}_1(\mathbf{X})\|_2\le C\alpha \text{ for every } \alpha\in\mathbb{R}, \quad C =
        (2+4\sqrt2)\|\mathbf{X}\|_2^2/\sqrt{d_v}""",
    name="norm of the first Jacobian term, signed scale", relation=AtMost(signed=True), mutants=["quadratic in alpha", "C / 10"],
    note=r"""For $\alpha < 0$ the right-hand side is negative, whatever $C > 0$; Eq. (5) lets $\alpha$ be any real
        number.""",
)  # fmt: skip

THEOREM_C3_ABSOLUTE = THEOREM_C3.corrected("osa.thm-c.3-absolute", setting=INITIALISED,
    assumptions=[LEAST_BOUND, *NEWTON_SCHULZ, ANY_ALPHA],
    label="Theorem C.3, with the size of alpha", name="norm of the first Jacobian term, corrected", all_sizes=True,
    mutants=True,
    statement=r"""\text{For weights as initialised, } \|\mathbf{X}\|_2\le R, \mathbf{B} \text{ from any number of
        Newton-Schulz steps}: \quad \|\mathbf{J}_1(\mathbf{X})\|_2\le C|\alpha|, \quad C = (2+4\sqrt2)R^2/\sqrt{d_v},
        \text{ for every } \alpha\in\mathbb{R}""",
    uses=("osa.thm-c.1", "osa.thm-c.2", "osa.newton-schulz-differential"),
    loose=r"""The norms of the three parts of the derivative are added up, two of them with the $\sqrt2$ of
        osa.newton-schulz-differential, which an unconverged basis comes near to. For $A = \exp(S)$ the constant is $2$
        (osa.rem-c.5-every-m).""",
)  # fmt: skip


@THEOREM_C3_ABSOLUTE.formula
def first_term_bound_by_size(X: Tokens, W_V: Value, alpha: Alpha) -> Any:
    """C |alpha| = (2 + 4 sqrt 2) ||X||_2^2 |alpha| / sqrt(d_v), a scalar, whatever K and eps."""
    return linear_bound(X, W_V, absolute(alpha))


NEAR_IDENTITY = Claim(AT_INITIALISATION.extended(scales=[UNTRAINED]), "osa.c3-near-identity",
    label="Appendix C.3, text after Theorem C.3", name="distance of the attention matrix from identity",
    statement=r"""\text{we initialise } \alpha \text{ to be some small number. Indeed this can be viewed as setting }
        \mathbf{A}(\mathbf{X}) \text{ to be close to the identity matrix at the start of training}""",
    assumptions=[ORTHONORMAL_QUERIES_AND_KEYS, LEAST_BOUND, *NEWTON_SCHULZ],
    relation=AtMost(), all_sizes=True, hypotheses=[ORTHONORMAL_QUERIES_AND_KEYS], where=two_heads, expects="reading",
    reading=Reading(("some small number", "close to the identity matrix"), r"""$\|A - I\|_2 \le
        |\alpha|\|X\|_2^2/\sqrt{d_v}$, for $A$ from Newton-Schulz and for $A = \exp(S)$ alike"""),
)  # fmt: skip


@NEAR_IDENTITY.formula
def distance_from_identity_bound(X: Tokens, W_Q: Query, alpha: Alpha) -> Any:
    """|alpha| ||X||_2^2 / sqrt(d_v), a scalar."""
    return unit_of_bounds(X, W_Q, absolute(alpha))


@NEAR_IDENTITY.oracle
def distances_from_identity(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    found = [attention_at(X, W_Q, W_K, alpha, epsilon, steps) for steps in (K, None)]
    return column(*(spectral_norm(A - eye(X.shape[0])) for A in found))


NEAR_IDENTITY.mutant("halved", lambda value: value * rational(1, 2))
NEAR_IDENTITY.mutant("quadratic in alpha", lambda X, W_Q, alpha: distance_from_identity_bound(X, W_Q, alpha * alpha))
