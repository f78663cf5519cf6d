"""F.6, Lemmas F.1 - F.3, Eqs. (54)-(63): norms of the basis B, of S and of exp[S] - I.

The lemmas assert that some constant exists.  Here each constant is named and is the best for the quantities it names:
no smaller multiple will do, as the tightest ratios, near 1, show.  M = [X W^Q, X W^K], M_0 = M / (||M||_F + eps), B = M_K.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import (
    newton_schulz_basis, queries_and_keys, query_key_generator, skew_matrix,
)  # fmt: skip
from theorems.osa.part_2_0_layer.layer import rotation_defect
from theorems.osa.part_2_3_bases.bases import stacked
from theorems.osa.settings import (
    ANY_ALPHA, FROM_NEWTON_SCHULZ, LAYER, LAYER_OF_FEW_TOKENS, LEAST_BOUND, NONNEGATIVE_ALPHA, ORTHONORMAL_QUERIES_AND_KEYS,
    POSITIVE_EPSILON,
    orthonormal_queries_and_keys, tokens_and_weights, two_heads,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, Decay, Epsilon, Frame, HeadSize, Key, NonnegativeAlpha, Query, Square, Steps, Tokens,
    UnitInterval,
)  # fmt: skip
from verify.matrix import (
    absolute, concatenate, exp, expm, eye, rational, spectral_norm, sqrt, total, unvec_r,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import (
    Assumption, AtMost, Claim, Construction, Doubt, Equal, HasStructure, Real, Setting, realises,
)  # fmt: skip

#: Of the reduced scores.
SKEW = Assumption("[S] skew-symmetric", zero=lambda S: S + S.T)
NONZERO = Assumption("M nonzero", positive=lambda M: total(M * M))
NEGATIVE = (
    r"For $\alpha < 0$ the right-hand side is negative, whatever $C > 0$; Eq. (5) lets $\alpha$ be any real number."
)

SIZES = {"N": (1, 3), "d": (2, 4), "d_v": (1, 2)}


def small(sizes: Any) -> bool:
    """Sizes with 2 d_v <= d at which norms of Jacobians and exponentials are enclosed quickly."""
    return two_heads(sizes) and sizes["N"] * sizes["d_v"] <= 4


@realises({"[W^Q, W^K] in V": reached.FRAMES})
def initialised(
    X: Tokens, frame: Frame, alpha: Alpha, decay: Decay, epsilon: Epsilon, K: Steps, d_v: HeadSize
) -> dict[str, Any]:
    """Tokens and initialised weights; alpha of either sign and of all sizes up to 2."""
    return {
        "X": X,
        **orthonormal_queries_and_keys(frame, d_v),
        "alpha": alpha * exp(-decay),
        "epsilon": epsilon,
        "K": K,
    }


@realises({"[W^Q, W^K] in V": reached.FRAMES})
def initialised_without_steps(X: Tokens, frame: Frame, alpha: Alpha, decay: Decay, d_v: HeadSize) -> dict[str, Any]:
    """The same where no basis is formed."""
    return {"X": X, **orthonormal_queries_and_keys(frame, d_v), "alpha": alpha * exp(-decay)}


@realises({"[W^Q, W^K] in V": reached.FRAMES})
def initialised_with_sign(
    X: Tokens, frame: Frame, alpha: NonnegativeAlpha, decay: Decay, epsilon: Epsilon, K: Steps, d_v: HeadSize
) -> dict[str, Any]:
    """Tokens and initialised weights with alpha >= 0."""
    return initialised(X, frame, alpha, decay, epsilon, K, d_v)


@realises({"[W^Q, W^K] in V": reached.FRAMES})
def initialised_with_sign_without_steps(
    X: Tokens, frame: Frame, alpha: NonnegativeAlpha, decay: Decay, d_v: HeadSize
) -> dict[str, Any]:
    """The same where no basis is formed."""
    return initialised_without_steps(X, frame, alpha, decay, d_v)


@realises({"[W^Q, W^K] in V": reached.FRAMES})
def initialised_with_epsilon(X: Tokens, frame: Frame, epsilon: Epsilon, d_v: HeadSize) -> dict[str, Any]:
    """Tokens and initialised weights where M_0 is all that is formed."""
    return {"X": X, **orthonormal_queries_and_keys(frame, d_v), "epsilon": epsilon}


def squared_norm(M: Any) -> Any:
    """||M||_2^2."""
    norm = spectral_norm(M)
    return norm * norm


def column_slope(curve: Any, like: Any) -> Any:
    """d curve / dt at t = 0 as a column (row-major), in the arithmetic of `like`."""
    return jacobian(curve, "t")(like[:1, :1] * 0)


QUERIES_AND_KEYS = Setting(OSA, "Appendix F.6", assumptions=[ORTHONORMAL_QUERIES_AND_KEYS],
    hypotheses=[ORTHONORMAL_QUERIES_AND_KEYS], sizes=SIZES, inputs=initialised_without_steps)  # fmt: skip
#: With a basis from K Newton-Schulz steps.
WITH_BASIS = QUERIES_AND_KEYS.extended(sizes={"K": (0, 3)}, inputs=initialised)
#: Both with the sign of alpha that bounds by C alpha need.
WITH_SIGN = QUERIES_AND_KEYS.extended(assumptions=[NONNEGATIVE_ALPHA], inputs=initialised_with_sign_without_steps)
WITH_BASIS_AND_SIGN = WITH_BASIS.extended(assumptions=[NONNEGATIVE_ALPHA], inputs=initialised_with_sign)

# -- Lemma F.1: the basis ----------------------------------------------------------------------------------------------

LEMMA_F1 = Claim(LAYER, "osa.lemma-f.1", label="Lemma F.1, Eq. (54)", name="norm of the basis",
    statement=r"\text{There exists some constant } C>0 \text{ such that } \|\mathbf{B}\|_2\le C",
    assumptions=[FROM_NEWTON_SCHULZ, POSITIVE_EPSILON],
    relation=AtMost(), all_sizes=True, sizes={**SIZES, "d": (1, 4), "K": (0, 5)}, uses=("osa.ns-sv-at-most-1",),
    proof=("osa.ns-prenorm", "osa.fn-6"),
    note=r"With $C = 1$, whatever $X$, the weights, $\epsilon$ and $K$. Footnote 6 alone would give $\sqrt3$.",
)  # fmt: skip
LEMMA_F1.inputs(X=Tokens, W_Q=Query, W_K=Key, epsilon=Epsilon, K=Steps)


@LEMMA_F1.formula
def basis_bound(X: Tokens) -> Any:
    """1, a scalar."""
    return 1


@LEMMA_F1.oracle
def norm_of_basis(X: Any, W_Q: Any, W_K: Any, epsilon: Any, K: int) -> Any:
    return spectral_norm(newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon))


LEMMA_F1.mutant("1/2", lambda: rational(1, 2))
LEMMA_F1.mutant("||M_0||_2, as if the steps did not increase it",
    lambda X, W_Q, W_K, epsilon: norm_of_basis(X, W_Q, W_K, epsilon, 0))  # fmt: skip

# Footnote 6, on which the printed proof rests, is `f6_footnote_6`.

# -- Lemma F.2: the skew matrix ----------------------------------------------------------------------------------------

FACTORED = Claim(LAYER_OF_FEW_TOKENS, "osa.s-factor", label="Proof of Lemma F.2",
    statement=r"\mathbf{S}=\frac{\alpha}{\sqrt{d_v}}\mathbf{X}\tilde{\mathbf{W}}\mathbf{X}^\top",
    name="scores through the query-key matrix", relation=Equal(), all_sizes=True, exact=True,
)  # fmt: skip
FACTORED.inputs(tokens_and_weights)


@FACTORED.formula
def skew_matrix_through_generator(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """alpha / sqrt(d_v) X W~ X^T, shape (N, N), with W~ = W_Q W_K^T - W_K W_Q^T (proof of Lemma F.2)."""
    return X * (alpha / sqrt(W_Q.shape[1])) @ query_key_generator(W_Q, W_K) @ X.T


FACTORED.oracle(lambda X, W_Q, W_K, alpha: skew_matrix(X, W_Q, W_K, alpha))
FACTORED.mutant("W~ transposed", "query_key_generator(W_Q, W_K) -> query_key_generator(W_Q, W_K).T")
FACTORED.mutant("sqrt(d) instead of sqrt(d_v)", "W_Q.shape -> X.shape")
FACTORED.mutant("W_Q W_K^T instead of W~", "query_key_generator(W_Q, W_K) -> (W_Q @ W_K.T)")

LEMMA_F2 = Claim(WITH_SIGN, "osa.lemma-f.2", label="Lemma F.2, Eq. (55)", name="norm of the scores",
    statement=r"""\text{There exists some constant } C>0 \text{ such that } \|\mathbf{S}\|_2\le C\alpha""",
    assumptions=[LEAST_BOUND],
    relation=AtMost(left="||S||_2"), all_sizes=True, expects="gap", uses=("osa.thm-c.2",),
    proof=("osa.s-factor", "osa.eq-56", "osa.eq-57"),
    presumes=("osa.lemma-f.2-any-sign",), missing=r"$\alpha \ge 0$", correction="osa.lemma-f.2-absolute",
    consequence=r"""For $\alpha$ of either sign, as Eq. (5) allows, use $\|S\|_2 \le |\alpha|R^2/\sqrt{d_v}$
        (osa.lemma-f.2-absolute).""",
    note=r"With $C = R^2/\sqrt{d_v}$ for $\|X\|_2 \le R$, which serves all weights, $N$ and $d$. Equality for $X = I$.",
)  # fmt: skip


def _unit(X: Any, W_Q: Any, alpha: Any) -> Any:
    """||X||_2^2 alpha / sqrt(d_v)."""
    return squared_norm(X) * (alpha / sqrt(W_Q.shape[1]))


def norm_of_scores(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
    """||S||_2."""
    return spectral_norm(skew_matrix(X, W_Q, W_K, alpha))


@LEMMA_F2.formula
def bound_by_scale(X: Tokens, W_Q: Query, alpha: Alpha) -> Any:
    """||X||_2^2 alpha / sqrt(d_v), a scalar."""
    return _unit(X, W_Q, alpha)


LEMMA_F2.oracle(norm_of_scores)
LEMMA_F2.mutant("halved", lambda value: value * rational(1, 2))
LEMMA_F2.mutant("quadratic in alpha", lambda X, W_Q, alpha: _unit(X, W_Q, alpha * alpha))


def negative_alpha() -> dict[str, Any]:
    return {"X": [[1, 0], [0, 1]], "W_Q": [[1], [0]], "W_K": [[0], [1]], "alpha": -1}


LEMMA_F2_ANY_SIGN = LEMMA_F2.without(NONNEGATIVE_ALPHA, "osa.lemma-f.2-any-sign",
    {"X = I, W^Q = e_1, W^K = e_2, alpha = -1: 1 against -1": negative_alpha},
    setting=QUERIES_AND_KEYS, assumptions=[ANY_ALPHA], label="Lemma F.2 and Eq. (57), for every real alpha",
    statement=r"""\|\mathbf{S}\|_2\le C\alpha \text{ for every } \alpha\in\mathbb{R},\quad C =
        \|\mathbf{X}\|_2^2/\sqrt{d_v}""",
    name="norm of the scores, signed scale", relation=AtMost(left="||S||_2", signed=True), note=NEGATIVE,
)  # fmt: skip

LEMMA_F2_ABSOLUTE = LEMMA_F2.corrected("osa.lemma-f.2-absolute", setting=QUERIES_AND_KEYS, assumptions=[LEAST_BOUND, ANY_ALPHA],
    label="Lemma F.2, with the size of alpha", name="norm of the scores, corrected", all_sizes=True,
    mutants=True,
    statement=r"""[\mathbf{W}^Q,\mathbf{W}^K] \text{ with orthonormal columns}, \|\mathbf{X}\|_2\le R: \quad
        \|\mathbf{S}\|_2\le C|\alpha|, \quad C = R^2/\sqrt{d_v}, \text{ for every } \alpha\in\mathbb{R}""",
    corrects=("osa.lemma-f.2", "osa.eq-57"), uses=("osa.eq-56-corrected", "osa.thm-c.2"),
)  # fmt: skip


@LEMMA_F2_ABSOLUTE.formula
def bound_by_size_of_scale(X: Tokens, W_Q: Query, alpha: Alpha) -> Any:
    """||X||_2^2 |alpha| / sqrt(d_v), a scalar."""
    return _unit(X, W_Q, absolute(alpha))


ANY_WEIGHTS = LAYER.extended("Eq. (56)", assumptions=[ANY_ALPHA], sizes={**SIZES, "d": (1, 4)}, inputs=None)

EQUATION_56 = Claim(ANY_WEIGHTS, "osa.eq-56", label="Eq. (56), proof of Lemma F.2",
    statement=r"\|\mathbf{S}\|_2\le\frac{\alpha}{\sqrt{d_v}}\|\mathbf{X}\|_2\|\tilde{\mathbf{W}}\|_2",
    name="norm of the scores by the query-key matrix", relation=AtMost(left="||S||_2", signed=True), expects="refuted",
    severity="slip", correction="osa.eq-56-corrected", uses=("osa.s-factor",),
    note=r"""The square of $\|X\|_2$, which the next line has, is missing: so for $\alpha > 0$ too. For $\alpha < 0$ the
        right-hand side is negative, as in Eq. (57).""",
)  # fmt: skip


def _through_generator(W_Q: Any, W_K: Any, alpha: Any) -> Any:
    """alpha / sqrt(d_v) ||W~||_2."""
    return spectral_norm(query_key_generator(W_Q, W_K)) * (alpha / sqrt(W_Q.shape[1]))


@EQUATION_56.formula
def skew_matrix_bound_as_printed(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """alpha / sqrt(d_v) ||X||_2 ||W~||_2, a scalar (Eq. (56))."""
    return spectral_norm(X) * _through_generator(W_Q, W_K, alpha)


EQUATION_56.oracle(norm_of_scores)
EQUATION_56.mutant("halved", lambda value: value * rational(1, 2))
EQUATION_56.mutant("no ||X||_2 at all", lambda W_Q, W_K, alpha: _through_generator(W_Q, W_K, alpha))
EQUATION_56.counterexample(
    "X = 2 I, W^Q = e_1, W^K = e_2: 4 against 2", X=[[2, 0], [0, 2]], W_Q=[[1], [0]], W_K=[[0], [1]], alpha=1
)

EQUATION_56_CORRECTED = EQUATION_56.corrected("osa.eq-56-corrected", label="Eq. (56), with the square and |alpha|",
    statement=r"""\|\mathbf{S}\|_2\le\frac{|\alpha|}{\sqrt{d_v}}\|\mathbf{X}\|_2^2\|\tilde{\mathbf{W}}\|_2, \quad
        \tilde{\mathbf{W}}=\mathbf{W}^Q(\mathbf{W}^K)^\top-\mathbf{W}^K(\mathbf{W}^Q)^\top, \text{ for all weights and
        every } \alpha\in\mathbb{R}""", name="norm of the scores by query-key matrix, corrected",
    relation=AtMost(left="||S||_2"), all_sizes=True, uses=("osa.s-factor",),
    note=r"With $\|\tilde{W}\|_2 = 1$, as initialised, it is Lemma F.2 and Eq. (57) for $\alpha$ of either sign.")  # fmt: skip


@EQUATION_56_CORRECTED.formula
def skew_matrix_bound_with_generator(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """|alpha| / sqrt(d_v) ||X||_2^2 ||W~||_2, a scalar."""
    return squared_norm(X) * _through_generator(W_Q, W_K, absolute(alpha))


EQUATION_56_CORRECTED.mutant("linear in ||X||_2", "squared_norm -> spectral_norm")
EQUATION_56_CORRECTED.mutant("halved", lambda value: value * rational(1, 2))

EQUATION_57 = Claim(WITH_SIGN, "osa.eq-57", label="Eq. (57), proof of Lemma F.2",
    statement=r"\|\mathbf{S}\|_2\le\cdots\le\frac{\alpha}{\sqrt{d_v}}\|\mathbf{X}\|_2^2",
    name="norm of the scores at initialisation", relation=AtMost(left="||S||_2"), all_sizes=True, expects="gap",
    uses=("osa.thm-c.2", "osa.eq-56-corrected"), presumes=("osa.lemma-f.2-any-sign",), missing=r"$\alpha \ge 0$",
    correction="osa.lemma-f.2-absolute",
    note=r"Of $S$ itself: from the right-hand side printed in Eq. (56), $\|X\|_2 \le \|X\|_2^2$ would be needed.",
)  # fmt: skip


EQUATION_57.formula(bound_by_scale)
EQUATION_57.oracle(norm_of_scores)
EQUATION_57.mutant("linear in ||X||_2",
    lambda X, W_Q, alpha: spectral_norm(X) * (absolute(alpha) / sqrt(W_Q.shape[1])))  # fmt: skip
EQUATION_57.mutant("halved", lambda value: value * rational(1, 2))

# -- Lemma F.3: the reduced exponential --------------------------------------------------------------------------------

LEMMA_F3 = Claim(WITH_BASIS_AND_SIGN, "osa.lemma-f.3", label="Lemma F.3, Eq. (58)",
    statement=r"""\text{There exists some constant } C>0 \text{ such that } \|\exp[\mathbf{S}]-\mathbf{I}_{2d_v}\|_2\le
        C\alpha""",
    assumptions=[LEAST_BOUND, FROM_NEWTON_SCHULZ, POSITIVE_EPSILON],
    name="distance of the reduced exponential from identity", relation=AtMost(left="distance from I"), all_sizes=True,
    expects="gap",
    uses=("osa.lemma-f.1", "osa.lemma-f.2"), proof=("osa.eq-60", "osa.eq-61-63"), presumes=("osa.lemma-f.3-any-sign",),
    missing=r"$\alpha \ge 0$", correction="osa.lemma-f.3-absolute",
    consequence=r"""For $\alpha$ of either sign use $\|\exp[S] - I\|_2 \le |\alpha|R^2/\sqrt{d_v}$
        (osa.lemma-f.3-absolute).""",
    note=r"""With $C = R^2/\sqrt{d_v}$ for $\|X\|_2 \le R$, whatever $K$ and $\epsilon$. $\|\exp[S] - I\|_2 =
        2\sin(\|[S]\|_2/2)$ where $\|[S]\|_2 \le \pi$.""",
)  # fmt: skip


def _reduced(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> tuple[Any, Any, Any]:
    """S (N, N), B (N, 2 d_v) and [S] = B^T S B (2 d_v, 2 d_v)."""
    S, B = skew_matrix(X, W_Q, W_K, alpha), newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon)
    return S, B, B.T @ S @ B


def _distance_from_identity(D: Any) -> Any:
    """||exp(D) - I||_2."""
    return spectral_norm(expm(D) - eye(D.shape[0]))


LEMMA_F3.formula(bound_by_scale)
LEMMA_F3.oracle(
    lambda X, W_Q, W_K, alpha, epsilon, K: _distance_from_identity(_reduced(X, W_Q, W_K, alpha, epsilon, K)[2])
)
LEMMA_F3.mutant("halved", lambda value: value * rational(1, 2))
LEMMA_F3.mutant("quadratic in alpha", lambda X, W_Q, alpha: _unit(X, W_Q, alpha * alpha))

LEMMA_F3_ANY_SIGN = LEMMA_F3.without(NONNEGATIVE_ALPHA, "osa.lemma-f.3-any-sign",
    {"X = I, W^Q = e_1, W^K = e_2, alpha = -1, no Newton-Schulz step": lambda: {**negative_alpha(), "epsilon": 1, "K": 0}},
    setting=WITH_BASIS, assumptions=[ANY_ALPHA], label="Lemma F.3, for every real alpha",
    statement=r"""\|\exp[\mathbf{S}]-\mathbf{I}_{2d_v}\|_2\le C\alpha \text{ for every } \alpha\in\mathbb{R},\quad C =
        \|\mathbf{X}\|_2^2/\sqrt{d_v}""",
    name="reduced exponential, signed scale", relation=AtMost(left="distance from I", signed=True), note=NEGATIVE,
)  # fmt: skip

LEMMA_F3_ABSOLUTE = LEMMA_F3.corrected("osa.lemma-f.3-absolute", setting=WITH_BASIS,
    assumptions=[LEAST_BOUND, FROM_NEWTON_SCHULZ, POSITIVE_EPSILON, ANY_ALPHA],
    label="Lemma F.3, with the size of alpha", name="distance of the reduced exponential, corrected", all_sizes=True,
    mutants=True,
    statement=r"""[\mathbf{W}^Q,\mathbf{W}^K] \text{ with orthonormal columns}, \|\mathbf{X}\|_2\le R, \mathbf{B} \text{
        from any number of Newton-Schulz steps}, [\mathbf{S}] = \mathbf{B}^\top\mathbf{S}\mathbf{B}: \quad
        \|\exp[\mathbf{S}]-\mathbf{I}_{2d_v}\|_2\le C|\alpha|, \quad C = R^2/\sqrt{d_v}, \text{ for every }
        \alpha\in\mathbb{R}""",
    uses=("osa.lemma-f.1", "osa.lemma-f.2-absolute"),
)  # fmt: skip
LEMMA_F3_ABSOLUTE.formula(bound_by_size_of_scale)

EQUATION_60 = Claim(OSA, "osa.eq-60", label="Eqs. (59)-(60), proof of Lemma F.3",
    statement=r"""
        \frac{\partial}{\partial t}\exp(t\mathbf{D})=\mathbf{D}\exp(t\mathbf{D}),\qquad\int_0^1[\mathbf{S}]\exp(t[
        \mathbf{S}])\,dt=\exp[\mathbf{S}]-\mathbf{I}_{2d_v}""",
    assumptions=[Construction("D any square matrix", shapes={"D": ("m", "m")}), SKEW],
    name="derivative and integral of the exponential", relation=Equal(), all_sizes=True, sizes={"m": (1, 4)},
    note=r"The integral of $\exp(t[S])$ is a block of $\exp\begin{pmatrix}{[S]} & I\\ 0 & 0\end{pmatrix}$ (Van Loan).",
)  # fmt: skip


@EQUATION_60.inputs
@realises({"skew-symmetric": reached.SKEW})
def generators_and_time(D: Square, G: Square, size: Annotated[Any, Real(0.0, 4.0)], t: UnitInterval) -> dict[str, Any]:
    return {"D": _resized(D, size), "S": _resized(G - G.T, size), "t": t * rational(1, 3)}


def _resized(A: Any, size: Any) -> Any:
    """A with Frobenius norm just below `size`, or 0."""
    return A * (size / sqrt(total(A * A) + rational(1, 2**16)))  # a root at 0 has no ball


def _integral(D: Any) -> Any:
    """The integral of exp(t D) over t in [0, 1], shape (n, n)."""
    n = D.shape[0]
    block = concatenate([concatenate([D, D * 0 + eye(n)], axis=1), concatenate([D * 0, D * 0], axis=1)], axis=0)
    return expm(block)[:n, n:]


# The identity of Eq. (60) stands on the side of the integral: exp[S] - I of a small [S] would lose its digits in floats.
def _derivative_and_exponential(D: Any, t: Any, integral: Any) -> Any:
    return concatenate([D @ expm(D * t), integral + eye(D.shape[0])], axis=0)


@EQUATION_60.formula
def derivative_and_integral(D: Square, S: Square, t: UnitInterval) -> Any:
    """D exp(t D), and I plus the integral of [S] exp(t [S]) over t in [0, 1], shape (2 m, m) (Eqs. (59)-(60))."""
    return _derivative_and_exponential(D, t, S @ _integral(S))


@EQUATION_60.oracle
def slope_and_exponential(D: Square, S: Square, t: UnitInterval) -> Any:
    m, start = D.shape[0], t

    def at(t: Any) -> Any:
        return expm(D * (start + t))

    return concatenate([unvec_r(column_slope(at, D), m, m), expm(S)], axis=0)


EQUATION_60.mutant("[S] dropped under the integral", lambda D, S, t: _derivative_and_exponential(D, t, _integral(S)))
EQUATION_60.mutant("end point instead of the integral", lambda D, S, t: _derivative_and_exponential(D, t, S @ expm(S)))
EQUATION_60.mutant("time reversed", lambda D, S, t: _derivative_and_exponential(D, -t, S @ _integral(S)))

EQUATIONS_61_63 = Claim(WITH_BASIS, "osa.eq-61-63", label="Eqs. (61)-(63), proof of Lemma F.3",
    statement=r"""
        \|\exp[\mathbf{S}]-\mathbf{I}_{2d_v}\|_2\le\int_0^1\|\mathbf{S}\|_2\|\exp(t[\mathbf{S}])\|_2\,dt\le\|\mathbf{S}
        \|_2\le\|\mathbf{B}\|_2^2\|\mathbf{S}\|_2""",
    assumptions=[FROM_NEWTON_SCHULZ, POSITIVE_EPSILON],
    name="chain of bounds of the reduced exponential", relation=AtMost(), all_sizes=True, where=small,
    uses=("osa.eq-60", "osa.ns-sv-at-most-1", "osa.f3-lemma-rotations"),
    note=r"The integrand is constant, as $\exp(t[S])$ is orthogonal for every $t$ (osa.f3-lemma-rotations).",
    doubt=Doubt(
        (r"\int_0^1 \|\mathbf{S}\|_2 \|\exp(t[\mathbf{S}])\|_2 dt \quad (61)", r"\leq \|\mathbf{S}\|_2 \quad (62)"),
        r"""square brackets around $S$ may be lost, in both: $\|\exp[S] - I\|_2 \le \int\|[S]\|_2\|\exp(t[S])\|_2\,dt
        \le \|[S]\|_2 \le \|B\|_2^2\|S\|_2$. Eq. (60), of which (61) is the norm, has them, and Lemma F.1 is cited for a
        last step that only they make one. Without them that step, $\|S\|_2 \le \|B\|_2^2\|S\|_2$, would need $\|B\|_2
        \ge 1$, and Newton-Schulz gives $\|B\|_2 < 1$: a mutant shows it."""),
)  # fmt: skip


def _mean_norm(D: Any) -> Any:
    """The integral of ||exp(t D)||_2 over t in [0, 1], by the midpoint rule: exact for the constant that it is, D skew."""
    return spectral_norm(expm(D * rational(1, 2)))


@EQUATIONS_61_63.formula
def chain_of_reduced_exponential(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """The right-hand sides, ||[S]||_2 times the mean of ||exp(t[S])||_2, ||[S]||_2 and ||B||_2^2 ||S||_2, shape (3,)."""
    S, B, reduced = _reduced(X, W_Q, W_K, alpha, epsilon, K)
    size = spectral_norm(reduced)
    return stacked(size * _mean_norm(reduced), size, squared_norm(B) * spectral_norm(S))


@EQUATIONS_61_63.oracle
def left_hand_sides(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    reduced = _reduced(X, W_Q, W_K, alpha, epsilon, K)[2]
    size = spectral_norm(reduced)
    return stacked(_distance_from_identity(reduced), size * _mean_norm(reduced), size)


EQUATIONS_61_63.mutant("no brackets: ||B||_2^2 relates a norm to itself", "spectral_norm(S) -> size")
EQUATIONS_61_63.mutant("||B||_2^2 ||S||_2 halved", "spectral_norm(S) -> spectral_norm(S) * rational(1, 2)")
EQUATIONS_61_63.mutant("||B||_2^4 ||S||_2", "squared_norm(B) -> squared_norm(B) * squared_norm(B)")
EQUATIONS_61_63.mutant("integrand averaged to 1/2",
    "size * _mean_norm(reduced) -> size * _mean_norm(reduced) * rational(1, 2)")  # fmt: skip

ROTATIONS = Claim(OSA, "osa.f3-lemma-rotations", label="Proof of Lemma F.3, text after Eq. (63)",
    statement=r"\exp(t[\mathbf{S}]) \in \mathrm{SO}(2d_v) \text{ for all } t \in [0, 1]",
    assumptions=[SKEW],
    name="rotations on the way to the reduced exponential", relation=HasStructure(), sizes={"m": (1, 4)},
    note=r"For skew $[S]$ of every order, and so for $2d_v$.",
)  # fmt: skip


@ROTATIONS.inputs
@realises({"skew-symmetric": reached.SKEW})
def skew_matrix_and_time(G: Square, size: Annotated[Any, Real(0.0, 4.0)], t: UnitInterval) -> dict[str, Any]:
    return {"S": _resized(G - G.T, size), "t": t}


@ROTATIONS.formula
def rotation_on_the_way(S: Square, t: UnitInterval) -> Any:
    """exp(t [S]), shape (m, m), for skew [S]."""
    return expm(S * t)


ROTATIONS.part("structure", lambda value: rotation_defect(value))
ROTATIONS.mutant("I + t [S], to first order", lambda S, t: eye(S.shape[0]) + S * t)
ROTATIONS.mutant("a reflection", lambda value: concatenate([-value[:1], value[1:]], axis=0))
