"""The orthogonality error of an unconverged basis: Theorem A.1, Eqs. (10) and (11), and what the text says they show."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.osa import OSA
from theorems.osa.definitions import (
    exponential_minus_identity, newton_schulz_basis, queries_and_keys, skew_matrix,
)  # fmt: skip
from theorems.osa.part_2_3_bases.bases import stacked
from theorems.osa.settings import (
    FROM_NEWTON_SCHULZ, POSITIVE_EPSILON, UNTRAINED, WHOLE_HEADS, newton_schulz_attention_matrix,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, Epsilon, Factor, Key, Query, Rank, SkewMatrix, Square, Steps, TokenFrame, Tokens, UnitInterval, Values,
)  # fmt: skip
from verify.matrix import (
    absolute, concatenate, diag, exp, expm, eye, frobenius_norm, maximum, rational, singular_values, spectral_norm, sqrt,
    vec_r,
)  # fmt: skip
from verify.vocabulary import (
    Assumption,
    AtMost,
    Claim,
    Definition,
    Equal,
    HasStructure,
    Reading,
    Real,
    Setting,
    realises,
)
from verify.vocabulary.hypotheses import contraction, skew

LogNorm = Annotated[Any, Real(-18.0, 1.5)]

Growth = Annotated[Any, Real(1.0, 2.0)]

SKEW = Assumption("S is skew-symmetric", zero=lambda S: S + S.T)


def smallest_dimension(sizes: Any) -> bool:
    """Whether k = min(N, m), the number of singular values of an N x m matrix."""
    return bool(sizes["k"] == min(sizes["N"], sizes["m"]))


def diagonal(s: Any, N: int, m: int) -> Any:
    """The N x m matrix with the entries of s (min(N, m), 1) on its diagonal."""
    k = s.shape[0]
    return eye(N)[:, :k] @ diag(s) @ eye(m)[:k, :]


def excess(B: Any) -> Any:
    """E = B^T B - I, shape (m, m)."""
    return B.T @ B - eye(B.shape[1])


def growth_of_norm(S: Any) -> Any:
    """e^{||S||_2} - 1, a scalar, without cancellation for small S."""
    return exponential_minus_identity(eye(1) * spectral_norm(S))[0, 0]


def decomposition(left: Any, right: Any, s: Any, S: Any) -> dict[str, Any]:
    """U, Sigma, V and B = U Sigma V^T with s (k, 1) on the diagonal of Sigma; a sign of s moves into a singular vector."""
    U, V = orthogonal_matrix(left), orthogonal_matrix(right)
    Sigma = diagonal(s, U.shape[0], V.shape[0])
    return {"U": U, "Sigma": Sigma, "V": V, "B": U @ Sigma @ V.T, "S": S}


@realises(
    {
        "skew-symmetric": reached.SKEW,
        "U in R^{N x N} is orthogonal": reached.ROTATIONS,
        "V in R^{2 d_v x 2 d_v} is orthogonal": reached.ROTATIONS,
        "B = U Sigma V^T": "B is computed as the product",
        "is diagonal": "Sigma is made of its diagonal",
    }
)
def decomposed_factor_within_the_unit_ball(
    left: TokenFrame, right: Square, y: Values, direction: TokenFrame, log_norm: LogNorm
) -> Any:
    """Singular values in [0, 1], ||S||_F up to e^1.5."""
    # The offset keeps the last singular value off 0 and 1: with all of them there both sides vanish and no ratio exists.
    y = concatenate([y[:-1], y[-1:] + rational(1, 3)], axis=0)
    S = direction - direction.T
    return decomposition(left, right, 2 * y / (1 + y * y), S * (exp(log_norm) / (frobenius_norm(S) + rational(1, 256))))


def _scaled_frame(s: Any) -> tuple[Any, Any, Any]:
    """X = I_2, W_Q = s e_1 and W_K = s e_2."""
    first, second = eye(2)[:, :1] * s, eye(2)[:, 1:] * s
    return eye(2) + 0 * first, first, second


#: k singular values of an N x m matrix.
AS_MANY_VALUES = Assumption("k = min(N, m) singular values of an N x m matrix", sizes=smallest_dimension)
SINGULAR_VALUES = Setting(
    OSA, "Appendix A", assumptions=[AS_MANY_VALUES], sizes={"N": (2, 3), "m": (1, 3), "k": (1, 3)}
)
AT_MOST_ONE = Assumption("the singular values of B lie in [0, 1]", nonnegative=lambda B: 1 - spectral_norm(B))

# -- an unconverged basis is not orthonormal ---------------------------------------------------------------------------

Scalar = Annotated[Any, Real(0.25, 4.0)]

UNCONVERGED_BASIS = Claim(OSA, "osa.app-a-not-orthogonal", label="Appendix A, text before Theorem A.1",
    statement=r"""\text{the matrix } \mathbf{B} \text{ is not guaranteed to provide an orthonormal basis when the algorithm has
        not converged, thus the right-hand side of Equation 6 may not be exactly orthogonal}""",
    assumptions=[
        Definition("X = I_2, W^Q = s e_1, W^K = s e_2, so that [Q, K] = s I", by=_scaled_frame),
        POSITIVE_EPSILON,
        Assumption("s > 0", positive=lambda s: s),
    ],
    name="an input whose attention matrix is not orthogonal", relation=Equal(), sizes={"K": (0, 4)}, batched=False,
    note=r"""An input for every $K$: $B = bI$ with $b = g^K(s/(\sqrt2 s + \epsilon))$ in $(0, 1)$, $g(x) = x(3 - x^2)/2$, so that
        $B^\top B - I = (b^2 - 1)I$ is never zero, and $Y^\top Y - I = -2b^2(1 - b^2)(1 - \cos(b^2\alpha s^2))I$, which is
        zero for the rotations by multiples of $2\pi$ alone.""",
)  # fmt: skip


def _deviations_of_basis(b: Any, angle: Any) -> Any:
    """(b^2 - 1) I over -2 b^2 (1 - b^2) (1 - cos(angle)) I, shape (4, 2)."""
    turn = expm((eye(2)[:, :1] @ eye(2)[1:] - eye(2)[:, 1:] @ eye(2)[:1]) * angle)
    return concatenate([eye(2) * (b * b - 1), eye(2) * (b * b * (b * b - 1) * (2 - turn[0, 0] - turn[1, 1]))], axis=0)


@UNCONVERGED_BASIS.formula
def deviations_of_scaled_frame(s: Scalar, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """B^T B - I and Y^T Y - I for [Q, K] = s I, on top of each other, shape (4, 2)."""
    b = s / (s * sqrt(2) + epsilon)
    for _ in range(K):
        b = b * (3 - b * b) * rational(1, 2)
    return _deviations_of_basis(b, b * b * (alpha * s * s))


@UNCONVERGED_BASIS.oracle
def deviations_of_the_layer(s: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    X, W_Q, W_K = _scaled_frame(s)
    B = newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon)
    Y = newton_schulz_attention_matrix(X, W_Q, W_K, alpha, epsilon, K)
    return concatenate([excess(B), Y.T @ Y - eye(2)], axis=0)


UNCONVERGED_BASIS.mutant("orthonormal", lambda value: 0 * value)
UNCONVERGED_BASIS.mutant("one step more", "range(K) -> range(K + 1)")
UNCONVERGED_BASIS.mutant("angle alpha s^2, whatever b", "b * b * (alpha * s * s) -> alpha * s * s")


def orthogonality_error(B: Factor, S: SkewMatrix) -> Any:
    """||Y^T Y - I||_2 with Y = I + D, expanded to D + D^T + D^T D so that I need not be cancelled."""
    D = B @ exponential_minus_identity(B.T @ S @ B) @ B.T
    return spectral_norm(D + D.T + D.T @ D)


ERROR = Definition("Y = I_N + B (exp[S] - I_r) B^T, [S] = B^T S B", by=orthogonality_error)

# -- Theorem A.1, Eq. (10) ---------------------------------------------------------------------------------------------

#: B from Newton-Schulz, S of any size.  For N = 1 or d = 1 both sides of the bounds vanish, since S = 0.
UNCONVERGED = Setting(OSA, "Appendix A",
    assumptions=[SKEW, FROM_NEWTON_SCHULZ, AT_MOST_ONE, WHOLE_HEADS],
    sizes={"N": (1, 4), "d": (1, 4), "d_v": (1, 2), "K": (0, 6)})  # fmt: skip
FROM_THE_CONTEXT = [skew("S", SKEW.text), contraction("B", "B from Newton-Schulz", by="osa.lemma-f.1")]

EQUATION_10 = Claim(UNCONVERGED.extended(scales=[UNTRAINED]), "osa.thm-a.1-eq-10", label="Theorem A.1, Eq. (10)/(46)",
    statement=r"""\|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2 \le \left(e^{\|\mathbf{S}\|_2}-1\right)^2\max_i|\sigma_i(
        \mathbf{B})^2(\sigma_i(\mathbf{B})^2-1)|""",
    assumptions=[ERROR],
    name="orthogonality error of an unconverged basis", relation=AtMost(), all_sizes=True, hypotheses=FROM_THE_CONTEXT,
    proof=(
        "osa.eq-22", "osa.eq-28", "osa.eq-31-34", "osa.eq-38", "osa.eq-39", "osa.eq-41", "osa.ns-sv-at-most-1",
        "osa.eq-44", "osa.eq-45",
    ),
    note=r"""The theorem prints $I_r$ for the identity of the size of $[S]$, which is $2 d_v$, as in F.3, whatever the
        rank of $S$. Of Newton-Schulz the proof uses $\|B\|_2 \le 1$ alone, which is needed
        (osa.thm-a.1-eq-10-any-norm); for every such $B$, $\|S\|_2^2$ can stand for $(e^{\|S\|_2} - 1)^2$
        (osa.thm-a.1-quadratic). Tight as $S$ tends to 0 for $N = 2$, $B = \operatorname{diag}(1, b)$ with any $b$.""",
)  # fmt: skip


@EQUATION_10.inputs
@realises(
    {"skew-symmetric": reached.SKEW},
    but=(
        "S and B are made of the same queries and keys, as in Section 2; osa.thm-a.1-quadratic, whose bound is no larger, is"
        " tried at any S and B"
    ),
)
def newton_schulz_basis_of_tokens(
    X: Tokens, W_Q: Query, W_K: Key, log_norm: LogNorm, epsilon: Epsilon, K: Steps
) -> Any:
    B = newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon)
    # the free scalar alpha sets the norm of S, which a drawn alpha would leave to the scale of X and the weights
    unscaled = skew_matrix(X, W_Q, W_K, 1)
    return {"B": B, "S": unscaled * (exp(log_norm) / (frobenius_norm(unscaled) + epsilon))}


def _bound(B: Any, S: Any, deviation: Any) -> Any:
    """(e^{||S||_2} - 1)^2 max_i deviation(sigma_i(B)^2), the bound's shape, with the part in which its mutants differ."""
    s, g = singular_values(B), growth_of_norm(S)
    return g * g * maximum(absolute(deviation(s * s)))


@EQUATION_10.formula
def orthogonality_error_bound(B: Factor, S: SkewMatrix) -> Any:
    """(e^{||S||_2} - 1)^2 max_i |sigma_i^2 (sigma_i^2 - 1)| for B (N, m) and skew S (N, N), a scalar (Eq. (10))."""
    return _bound(B, S, lambda x: x * (x - 1))


EQUATION_10.oracle(orthogonality_error)
EQUATION_10.mutant("halved", lambda value: value * rational(1, 2))
EQUATION_10.mutant("e^{||S||} - 1 cubed", lambda value, S: value * growth_of_norm(S))
EQUATION_10.mutant("sigma^4 instead of sigma^2", lambda B, S: _bound(B, S, lambda x: x * x * (x - 1)))
EQUATION_10.mutant("(sigma^2 - 1)^2 instead of sigma^2 - 1", lambda B, S: _bound(B, S, lambda x: x * (x - 1) * (x - 1)))

# -- without the bound on B, and a bound that is quadratic in S --------------------------------------------------------

#: Any B and any skew S.
ANY_FACTOR = Setting(OSA, "Appendix A, any B", assumptions=[ERROR, SKEW],
    sizes={"N": (1, 4), "m": (1, 4)})  # fmt: skip


@realises({"skew-symmetric": reached.SKEW})
def any_factor(B: Factor, direction: TokenFrame, log_norm: LogNorm) -> Any:
    """Any B, ||S||_F up to e^1.5."""
    S = direction - direction.T
    return {"B": B, "S": S * (exp(log_norm) / (frobenius_norm(S) + rational(1, 256)))}


EQUATION_10_ANY_NORM = Claim(ANY_FACTOR, "osa.thm-a.1-eq-10-any-norm",
    label="Theorem A.1, Eq. (10), without the bound on B", name="orthogonality error for a basis of any norm",
    statement=r"""\|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2 \le \left(e^{\|\mathbf{S}\|_2}-1\right)^2\max_i|\sigma_i(
        \mathbf{B})^2(\sigma_i(\mathbf{B})^2-1)| \text{ for every } \mathbf{B}""",
    relation=AtMost(left="orthogonality error"), expects="refuted", severity="error",
    correction="osa.thm-a.1-quadratic", of_project=True,
    note=r"""So Eq. (10) does need the pre-normalised Newton-Schulz of its context, by which $\|B\|_2 \le 1$. For $N =
        2$, $B = bI$ and small $S$ the ratio of the two sides tends to $b^4$, 16 for $b = 2$.""",
)  # fmt: skip
EQUATION_10_ANY_NORM.inputs(any_factor)


@EQUATION_10_ANY_NORM.formula
def orthogonality_error_bound_of_any_factor(B: Factor, S: SkewMatrix) -> Any:
    """(e^{||S||_2} - 1)^2 max_i |sigma_i^2 (sigma_i^2 - 1)| for any B (N, m), a scalar."""
    return orthogonality_error_bound(B, S)


EQUATION_10_ANY_NORM.oracle(lambda B, S: orthogonality_error(B, S))
EQUATION_10_ANY_NORM.mutant("halved", lambda value: value * rational(1, 2))
EQUATION_10_ANY_NORM.mutant("a tenth", lambda value: value * rational(1, 10))
EQUATION_10_ANY_NORM.counterexample("B = 2 I in the plane, S = J / 10: 48 sin^2(1/5) against 12 (e^{1/10} - 1)^2",
    B=[[2, 0], [0, 2]], S=[[0, Fraction(1, 10)], [Fraction(-1, 10), 0]])  # fmt: skip

QUADRATIC = Claim(ANY_FACTOR, "osa.thm-a.1-quadratic", label="Theorem A.1, a bound for every B, quadratic in S",
    statement=r"""\mathbf{Y} = \mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I})\mathbf{B}^\top,\ [\mathbf{S}] =
        \mathbf{B}^\top\mathbf{S}\mathbf{B}: \quad \|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2 \le
        \|\mathbf{B}\|_2^4\,\|\mathbf{S}\|_2^2\max_i|\sigma_i(\mathbf{B})^2(\sigma_i(\mathbf{B})^2-1)| \text{ for every
        } \mathbf{B} \text{ and skew } \mathbf{S}; \text{ for } \|\mathbf{B}\|_2\le1 \text{ the factor }
        \|\mathbf{B}\|_2^4 \text{ may be dropped}""",
    name="orthogonality error, quadratic in the scores", relation=AtMost(left="orthogonality error"), all_sizes=True,
    hypotheses=[skew("S", SKEW.text)],
    corrects="osa.thm-a.1-eq-10-any-norm", uses=("osa.eq-28",), of_project=True,
    note=r"""$\Delta B^\top = B^\top SB\Phi B^\top$ with $\Phi$ the integral of $\exp(t[S])$ over $t$ in $[0, 1]$,
        $\|\Phi\|_2 \le 1$; so by Eq. (28) the error is $(B\Phi B^\top)^\top S^\top(BEB^\top)S(B\Phi B^\top)$. For
        $\|B\|_2 \le 1$ it is never above Eq. (10), as $\|S\|_2 \le e^{\|S\|_2} - 1$.""",
)  # fmt: skip
QUADRATIC.inputs(any_factor)


@QUADRATIC.formula
def quadratic_bound(B: Factor, S: SkewMatrix) -> Any:
    """||B||_2^4 ||S||_2^2 max_i |sigma_i^2 (sigma_i^2 - 1)|, a scalar."""
    return _quadratic(B, S, spectral_norm(B) ** 4)


def _quadratic(B: Any, S: Any, factor: Any) -> Any:
    """factor ||S||_2^2 max_i |sigma_i(B)^2 (sigma_i(B)^2 - 1)|."""
    s = singular_values(B)
    return factor * spectral_norm(S) ** 2 * maximum(absolute(s * s * (s * s - 1)))


QUADRATIC.oracle(orthogonality_error)


@QUADRATIC.domain("a small rotation in a plane that B scales evenly")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    arrays["B"] *= 0
    for i in range(min(sizes["N"], sizes["m"], 2)):
        arrays["B"][:, i, i] = 2
    arrays["direction"] *= 0
    arrays["direction"][:, 0, 1] = 1
    arrays["log_norm"][:] = -3


QUADRATIC.mutant("||B||_2^4 dropped for every B", lambda B, S: _quadratic(B, S, 1))
QUADRATIC.mutant("halved", lambda value: value * rational(1, 2))
QUADRATIC.mutant("cubic in S", lambda value, S: value * spectral_norm(S))

# -- Theorem A.1, Eq. (11) ---------------------------------------------------------------------------------------------

# for N = 1 or d = 1 both sides vanish, since S = 0
EQUATION_11 = Claim(UNCONVERGED, "osa.thm-a.1-eq-11", label="Theorem A.1, Eq. (11)",
    statement=r"""\left(e^{\|\mathbf{S}\|_2}-1\right)^2\max_i|\sigma_i(\mathbf{B})^2(\sigma_i(\mathbf{B})^2-1)| \le
        \tfrac14\left(e^{\|\mathbf{S}\|_2}-1\right)^2""",
    name="orthogonality error whatever the basis", relation=AtMost(left="the bound of Eq. (10)"), all_sizes=True,
    hypotheses=FROM_THE_CONTEXT,
    sizes={"N": (1, 4), "d": (1, 4), "d_v": (1, 2), "K": (0, 6)},
    uses=("osa.ns-sv-at-most-1",), proof=("osa.max-quarter",),
    note=r"""$Y^\top Y - I$ is at most 4 in norm whatever $S$ (osa.a1-saturation), so the bound says something for
        $\|S\|_2 < \log 5$.""",
)  # fmt: skip
EQUATION_11.inputs(newton_schulz_basis_of_tokens)


@EQUATION_11.formula
def orthogonality_error_limit(S: SkewMatrix) -> Any:
    """(e^{||S||_2} - 1)^2 / 4, a scalar, whatever the basis (Eq. (11))."""
    return growth_of_norm(S) ** 2 * rational(1, 4)


EQUATION_11.oracle(orthogonality_error_bound)
EQUATION_11.mutant("1/5 instead of 1/4", denominator=5)
EQUATION_11.mutant("||S||_2 instead of e^{||S||_2} - 1", lambda S: spectral_norm(S) ** 2 * rational(1, 4))

# -- what the bound is said to show ------------------------------------------------------------------------------------

DELTA_LAST = (
    Definition("s are the singular values of B, with signs", by=decomposition),
    Assumption("the last of them is delta", zero=lambda s, delta: s[-1:] - delta),
    Assumption("0 <= delta <= 1", nonnegative=lambda delta: delta * (1 - delta)),
    Assumption("t >= 1", nonnegative=lambda t: t - 1),
)

ROBUST = Claim(SINGULAR_VALUES, "osa.a1-robust", label="Appendix A, text after Theorem A.1",
    statement=r"""
        \text{the above bound shows that the orthogonality error is robust to very small singular values of } \mathbf{B}
        \text{ and that larger rotations incur a higher error if } \mathbf{B} \text{ has not converged well}""",
    assumptions=[
        *DELTA_LAST, SKEW, AT_MOST_ONE,
        Assumption("t ||S||_2 <= 3, less than half a turn (the reading)", nonnegative=lambda S, t: 3 - t * spectral_norm(S)),
    ],
    name="larger rotations and the orthogonality error", relation=AtMost(),
    sizes={"N": (1, 3), "m": (1, 3), "k": (1, 3)}, expects="reading", uses=("osa.thm-a.1-eq-10",),
    reading=Reading(("robust to", "larger rotations"), r"""a singular value $\delta$ adds at most $\delta^2 (e^{\|S\|_2} - 1)^2$ to
        the bound (10), and so to the error; and a rotation is larger if its angles are, up to half a turn, beyond which
        they come back: for the rotation $\exp(tS)$, $t \ge 1$, the error is not below that for $\exp(S)$, if $t\|S\|_2$ is at
        most 3"""),
    consequence=r"""Beyond half a turn a larger $S$ need not err more (osa.a1-robust-any), and Eq. (10), which grows
        exponentially, cannot be used to compare errors; use $\|B\|_2^2\|B^\top B-I\|_2\min(2,\|[S]\|_2)^2$, which never
        exceeds 4 (osa.a1-saturation).""",
    note=r"""No upper bound shows that an error is incurred; that it is was found by trying, in two and three dimensions. In
        terms of the norm of $S$ alone it is false, as the error is periodic for some $B$ (osa.a1-robust-any).""",
)  # fmt: skip


@ROBUST.inputs
@realises({"the last of them is delta": "delta is put in the last place", "skew-symmetric": reached.SKEW})
def factor_and_rotations_below_half_a_turn(
    left: TokenFrame,
    right: Square,
    y: Values,
    direction: TokenFrame,
    delta: UnitInterval,
    share: UnitInterval,
    t: Growth,
) -> Any:
    s = concatenate([2 * y[:-1] / (1 + y[:-1] * y[:-1]), eye(1) * delta], axis=0)
    S = (
        direction - direction.T
    )  # of rank 2 in up to three dimensions: its spectral norm is the Frobenius one over sqrt 2
    S = S * (3 * share / (t * (frobenius_norm(S) * rational(5, 7) + rational(1, 256))))
    return {**decomposition(left, right, s, S), "s": s, "delta": delta, "t": t}


ANY_ROTATION = Claim(SINGULAR_VALUES, "osa.a1-robust-any", label="Appendix A, the error of rotations by any angle",
    statement=r"""\|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2\text{ for }\mathbf{S}\text{ is at most that for
        }t\mathbf{S},\ t\ge1""",
    assumptions=[*DELTA_LAST, SKEW, AT_MOST_ONE],
    name="rotations by any angle and the orthogonality error", relation=AtMost(), of_project=True,
    sizes={"N": (2, 3), "m": (2, 3), "k": (2, 3)}, expects="refuted", severity="error", uses=("osa.thm-a.1-eq-10",),
    correction="osa.a1-saturation",
    note=r"""For $N = 2$, $B = bI$ with a number $b$ and $S$ the angle $\theta$ times a quarter turn the error is $4 b^2 (1 -
        b^2)\sin^2(b^2\theta/2)$, periodic in $\theta$. Compared with the bound without the smallest singular value, too,
        as in osa.a1-robust.""",
)  # fmt: skip


@ANY_ROTATION.inputs
@realises({"the last of them is delta": "delta is put in the last place", "skew-symmetric": reached.SKEW})
def factor_with_one_small_singular_value(
    left: TokenFrame, right: Square, y: Values, direction: TokenFrame, log_norm: LogNorm, delta: UnitInterval, t: Growth
) -> Any:
    s = 2 * y[:-1] / (1 + y[:-1] * y[:-1])
    s = concatenate([s, eye(1) * delta], axis=0)
    S = direction - direction.T
    S = S * (exp(log_norm) / (frobenius_norm(S) + rational(1, 256)))
    return {**decomposition(left, right, s, S), "s": s, "delta": delta, "t": t}


@ROBUST.formula
@ANY_ROTATION.formula
def bound_without_small_singular_value(B: Factor, S: SkewMatrix, s: Values, delta: UnitInterval, t: Growth) -> Any:
    """(e^{||S||} - 1)^2 max(max_i |s_i^2 (s_i^2 - 1)|, delta^2) without s_k = delta, and the error for t S, shape (2,)."""
    return stacked(growth_of_norm(S) ** 2 * _largest_with(s, delta * delta), orthogonality_error(B, S * t))


def _largest_with(s: Any, last: Any) -> Any:
    """max(max_{i < k} |s_i^2 (s_i^2 - 1)|, last), a scalar."""
    x = s[:-1] * s[:-1]
    return maximum(concatenate([absolute(x * (x - 1)), eye(1) * last], axis=0))


@ROBUST.oracle
@ANY_ROTATION.oracle
def error_with_small_singular_value(B: Factor, S: SkewMatrix) -> Any:
    error = orthogonality_error(B, S)
    return stacked(error, error)


ROBUST.mutant("half the error", lambda value: value * rational(1, 2))
ROBUST.mutant("S divided by t", "S * t -> S / t")
ANY_ROTATION.mutant("half the error", lambda value: value * rational(1, 2))
ANY_ROTATION.mutant("S divided by t", "S * t -> S / t")


@ANY_ROTATION.counterexample("B = I/2 in the plane: a rotation by nearly 2 pi / b^2 errs less than a small one")
def nearly_a_full_turn() -> dict[str, Any]:
    half = Fraction(1, 2)
    factor = {"B": [[half, 0], [0, half]], "s": [[half], [half]], "delta": half}
    return {**factor, "S": [[0, 5], [-5, 0]], "t": 5}


@ANY_ROTATION.domain("a large rotation in a plane that B scales evenly")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    # singular values 2 y / (1 + y^2) = 0.95 = delta: the error turns back where 0.95^2 theta passes pi
    arrays["y"][:] = 0.724
    arrays["delta"][:] = 0.95
    arrays["left"] *= 0
    arrays["right"] *= 0
    arrays["direction"] *= 0
    arrays["direction"][:, 0, 1] = 1
    arrays["log_norm"][:] = 1.5
    arrays["t"][:] = 2


SATURATION = Claim(SINGULAR_VALUES, "osa.a1-saturation",
    label="Theorem A.1, a bound that large rotations do not outgrow", name="orthogonality error of large rotations",
    statement=r"""
        \|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2 \le \|\mathbf{B}\|_2^2\,\|\mathbf{B}^\top\mathbf{B}-\mathbf{I}\|_2
        \,\min(2, \|[\mathbf{S}]\|_2)^2 \le 4 \text{ and } \|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2 \le
        \|\mathbf{S}\|_2^2\max_i|\sigma_i(\mathbf{B})^2(\sigma_i(\mathbf{B})^2-1)| \text{ for } \|\mathbf{B}\|_2 \le 1,
        \quad \mathbf{Y} = \mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I})\mathbf{B}^\top""",
    assumptions=[SKEW, AT_MOST_ONE],
    relation=AtMost(), all_sizes=True,
    hypotheses=[skew("S", SKEW.text), contraction("B", "the singular values of B lie in [0, 1]")],
    sizes={"N": (2, 3), "m": (2, 3), "k": (2, 3)}, corrects="osa.a1-robust-any",
    uses=("osa.eq-28", "osa.thm-a.1-quadratic"), of_project=True,
    note=r"""From Eq. (28) and $\|\exp[S] - I\|_2 \le \min(2, \|[S]\|_2)$, and osa.thm-a.1-quadratic: a singular value
        $\sigma$ adds at most $\sigma^2\|S\|_2^2$, and rotations of any size err by at most $4\|B\|_2^2\|B^\top B -
        I\|_2$.""",
)  # fmt: skip
SATURATION.inputs(decomposed_factor_within_the_unit_ball)


@SATURATION.formula
def saturating_bounds(B: Factor, S: SkewMatrix) -> Any:
    """||B||^2 ||B^T B - I|| min(2, ||B^T S B||)^2, 4 and ||S||^2 max_i |sigma_i^2 (sigma_i^2 - 1)|, shape (3,)."""
    bound = _saturating(B, S)
    return stacked(bound, 0 * bound + 4, _quadratic(B, S, 1))


def _saturating(B: Any, S: Any, ceiling: Any = 2, power: int = 2) -> Any:
    """||B||_2^power ||B^T B - I||_2 min(ceiling, ||B^T S B||_2)^2, a scalar."""
    size = spectral_norm(B.T @ S @ B)
    least = -maximum(stacked(-size, 0 * size - ceiling))
    return spectral_norm(B) ** power * spectral_norm(excess(B)) * least**2


SATURATION.oracle(lambda B, S: stacked(orthogonality_error(B, S), _saturating(B, S), orthogonality_error(B, S)))
SATURATION.mutant("ceiling 1/2 instead of 2", ceiling=rational(1, 2))
SATURATION.mutant("||B||^4 instead of ||B||^2", power=4)

CONVERGED = Assumption("the singular values of B are 1 or 0: B B^T B = B", zero=lambda B: B @ (B.T @ B) - B)
CONVERGED_FACTORS = Setting(OSA, "Appendix A, B converged",
    assumptions=[SKEW, CONVERGED,
        Assumption("r <= N, m", sizes=lambda sizes: sizes["r"] <= min(sizes["N"], sizes["m"]))],
    sizes={"N": (1, 4), "m": (1, 4), "r": (0, 4)})  # fmt: skip

OFFSET = Claim(CONVERGED_FACTORS, "osa.a1-offset", label="Appendix A, text after Theorem A.1, in brackets",
    statement=r"\text{of course this effect is offset if } \mathbf{B} \text{ has converged}",
    name="orthogonality error of a converged basis", relation=HasStructure(), all_sizes=True,
    hypotheses=(skew("S", SKEW.text), CONVERGED),
    uses=("osa.eq-28",),
    note=r"""Wholly: where all singular values of $B$ are 1 (or 0, where $M$ is rank deficient) both the error and the bound
        of Eq. (10) vanish, however large the rotation. What is offset is an effect of the bound: osa.a1-robust-any.""",
)  # fmt: skip


@OFFSET.inputs
@realises(
    {
        "skew-symmetric": reached.SKEW,
        "B B^T B = B": (
            "B = U V^T with orthonormal columns: by the singular value decomposition "
            "every B whose singular values are 1 or 0"
        ),
    }
)
def converged_factor(left: TokenFrame, right: Square, direction: TokenFrame, r: Rank) -> Any:
    return {
        "B": orthogonal_matrix(left)[:, :r] @ orthogonal_matrix(right)[:, :r].T,
        "S": (direction - direction.T) * rational(1, 3),
    }


@OFFSET.formula
def attention_matrix_of_factor(B: Factor, S: SkewMatrix) -> Any:
    """Y = I + B (exp(B^T S B) - I) B^T, shape (N, N)."""
    return eye(B.shape[0]) + B @ exponential_minus_identity(B.T @ S @ B) @ B.T


@OFFSET.part("structure")
def error_and_deviations(value: Any, B: Factor) -> Any:
    """Y^T Y - I, and what the maximum in Eq. (10) is taken over: the entries of B^T B (B^T B - I)."""
    G = B.T @ B
    return concatenate([vec_r(value.T @ value - eye(value.shape[0])), vec_r(G @ (G - eye(G.shape[0])))], axis=0)


OFFSET.mutant(
    "B twice as long",
    "B @ exponential_minus_identity(B.T @ S @ B) @ B.T -> 4 * B @ exponential_minus_identity(4 * B.T @ S @ B) @ B.T",
)
OFFSET.mutant("I + B [S] B^T, to first order", "exponential_minus_identity(B.T @ S @ B) -> B.T @ S @ B")
