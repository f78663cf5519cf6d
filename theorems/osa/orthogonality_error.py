"""The orthogonality error of an unconverged basis: Theorem A.1, the steps of its proof (F.3) and what follows from it."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.definitions import cayley, exponential_minus_identity
from theorems.osa.low_rank import (
    Factor,
    LogNorm,
    SkewMatrix,
    newton_schulz_basis_of_tokens,
    orthogonality_error,
    orthogonality_error_bound,
)
from theorems.osa.newton_schulz import stacked
from verify.arithmetics import exp
from verify.matrix import (
    absolute,
    concatenate,
    diag,
    expm,
    eye,
    frobenius_norm,
    maximum,
    rational,
    singular_values,
    spectral_norm,
    vec_r,
)
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, Shape

Square = Annotated[Any, Shape("m", "m")]
LeftFrame = Annotated[Any, Shape("N", "N")]
RightFrame = Annotated[Any, Shape("m", "m")]
Values = Annotated[Any, Shape("k", "1")]
UnitInterval = Annotated[Any, Real(0.0, 1.0)]
Growth = Annotated[Any, Real(1.0, 2.0)]

SKEW = Assumption("S is skew-symmetric", zero=lambda S: S + S.T)
LEFT_ORTHOGONAL = Assumption("U in R^{N x N} is orthogonal", zero=lambda U: U.T @ U - eye(U.shape[0]))
RIGHT_ORTHOGONAL = Assumption("V in R^{2 d_v x 2 d_v} is orthogonal", zero=lambda V: V.T @ V - eye(V.shape[0]))
DECOMPOSITION = "B = U Sigma V^T, Sigma in R^{N x 2 d_v} diagonal"


def all_of(*matrices: Any) -> Any:
    """The entries of several matrices, one below the other, shape (number of entries, 1)."""
    return concatenate([vec_r(A) for A in matrices], axis=0)


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


def rotation_excess(B: Any, S: Any) -> Any:
    """Delta = exp(B^T S B) - I, shape (m, m)."""
    return exponential_minus_identity(B.T @ S @ B)


def gram_excess(B: Any, S: Any) -> Any:
    """Y^T Y - I for Y = I + B (exp(B^T S B) - I) B^T, shape (N, N)."""
    Y = eye(B.shape[0]) + B @ rotation_excess(B, S) @ B.T
    return Y.T @ Y - eye(B.shape[0])


def series(T: Any, P: Any) -> Any:
    """sum_{n >= 1} (T P)^{n-1} T / n!, shape (N, N): the corner of exp [[T P, T], [0, 0]]."""
    N = T.shape[0]
    upper = concatenate([T @ P, T], axis=1)
    return expm(concatenate([upper, upper * 0], axis=0))[:N, N:]


def psi(U: Any, Sigma: Any, S: Any) -> Any:
    """Psi = sum_{n >= 1} (U^T S U Sigma Sigma^T)^{n-1} U^T S U / n!, shape (N, N) (Eq. (38))."""
    return series(U.T @ S @ U, Sigma @ Sigma.T)


# -- Theorem A.1, Eq. (11) ---------------------------------------------------------------------------------------------

EQUATION_11 = Claim(
    OSA,
    "osa.thm-a.1-eq-11",
    label="Theorem A.1, Eq. (11)",
    statement=r"\left(e^{\|\mathbf{S}\|_2}-1\right)^2\max_i|\sigma_i(\mathbf{B})^2(\sigma_i(\mathbf{B})^2-1)| \le"
    r" \tfrac14\left(e^{\|\mathbf{S}\|_2}-1\right)^2",
    assumptions=[
        "Y = I_N + B (exp[S] - I_r) B^T, [S] = B^T S B, S skew-symmetric",
        "B from Newton-Schulz (9) with M_0 = M/(||M||_F + eps), M = [X W^Q, X W^K], eps > 0, fixed K (context of Appendix A)",
    ],
    relation=AtMost(),
    # for N = 1 or d = 1 both sides vanish, since S = 0
    sizes={"N": (2, 4), "d": (2, 4), "d_v": (1, 2), "K": (0, 6)},
    where=lambda sizes: sizes["d"] % sizes["d_v"] == 0,
    uses=("osa.ns-sv-at-most-1",),
    proof=("osa.max-quarter",),
    note="Y^T Y - I is at most 4 in norm whatever S (osa.a1-saturation), so the bound says something for ||S||_2 < log 5.",
)

EQUATION_11.inputs(newton_schulz_basis_of_tokens)


@EQUATION_11.formula
def orthogonality_error_limit(S: SkewMatrix) -> Any:
    """(e^{||S||_2} - 1)^2 / 4, a scalar, whatever the basis (Eq. (11))."""
    return _growth(S) ** 2 * rational(1, 4)


def _growth(S: Any) -> Any:
    """e^{||S||_2} - 1, a scalar, without cancellation for small S."""
    return exponential_minus_identity(eye(1) * spectral_norm(S))[0, 0]


EQUATION_11.oracle(lambda B, S: orthogonality_error_bound(B, S))
EQUATION_11.mutant("1/5 instead of 1/4", denominator=5)
EQUATION_11.mutant("||S||_2 instead of e^{||S||_2} - 1", lambda S: spectral_norm(S) ** 2 * rational(1, 4))


# -- the proof of Eq. (10), step by step -------------------------------------------------------------------------------

EQUATION_22 = Claim(
    OSA,
    "osa.eq-22",
    label="Eqs. (20)-(22), F.3",
    statement=r"\Delta^\top\Delta = 2\mathbf{I} - \exp[\mathbf{S}] - \exp[\mathbf{S}]^\top = -\Delta-\Delta^\top,\quad \Delta ="
    r" \exp[\mathbf{S}]-\mathbf{I}_{2d_v}",
    assumptions=[SKEW],
    relation=Equal(),
    sizes={"m": (2, 5)},  # m = 2 d_v; for m = 1 both sides vanish
)


@EQUATION_22.inputs
def skew_part(direction: Square) -> Any:
    return {"S": (direction - direction.T) * rational(1, 3)}


@EQUATION_22.formula
def gram_of_rotation_excess(S: Square) -> Any:
    """2 I - exp(S) - exp(S)^T and -Delta - Delta^T for skew S (m, m), stacked, shape (2 m^2, 1)."""
    Delta = exponential_minus_identity(S)
    R = Delta + eye(S.shape[0])
    return all_of(2 * eye(S.shape[0]) - R - R.T, -Delta - Delta.T)


@EQUATION_22.oracle
def gram_by_multiplication(S: Square) -> Any:
    Delta = exponential_minus_identity(S)
    return all_of(Delta.T @ Delta, Delta.T @ Delta)


@EQUATION_22.mutant("transposes dropped")
def _(S: Square) -> Any:
    Delta = exponential_minus_identity(S)
    R = Delta + eye(S.shape[0])
    return all_of(2 * eye(S.shape[0]) - 2 * R, -2 * Delta)


@EQUATION_22.mutant("I instead of 2 I, sign of Delta reversed")
def _(S: Square) -> Any:
    Delta = exponential_minus_identity(S)
    R = Delta + eye(S.shape[0])
    return all_of(eye(S.shape[0]) - R - R.T, Delta + Delta.T)


EQUATION_28 = Claim(
    OSA,
    "osa.eq-28",
    label="Eqs. (23)-(28), F.3",
    statement=r"\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N = \mathbf{B}(\Delta+\Delta^\top+\Delta^\top\mathbf{E}\Delta+\Delta^\top"
    r"\Delta)\mathbf{B}^\top = \mathbf{B}\Delta^\top\mathbf{E}\Delta\mathbf{B}^\top,\quad \mathbf{E}=\mathbf{B}^\top\mathbf{B}"
    r"-\mathbf{I}_{2d_v}",
    assumptions=[SKEW, "any B"],
    relation=Equal(),
    # for N = 1 or one column Delta = 0
    sizes={"N": (2, 4), "m": (2, 4)},
    proof=("osa.eq-22",),
)


@EQUATION_28.inputs
def factor_and_skew_matrix(B: Factor, direction: LeftFrame) -> Any:
    return {"B": B, "S": (direction - direction.T) * rational(1, 3)}


@EQUATION_28.formula
def gram_excess_expanded(B: Factor, S: SkewMatrix) -> Any:
    """The right-hand sides of Eqs. (24)-(28) for B (N, m) and skew S (N, N), stacked, shape (5 N^2, 1)."""
    D, E, I = rotation_excess(B, S), excess(B), eye(B.shape[1])
    return all_of(
        B @ D @ B.T + B @ D.T @ B.T + B @ D.T @ B.T @ B @ D @ B.T,
        B @ D @ B.T + B @ D.T @ B.T + B @ D.T @ (E + I) @ D @ B.T,
        B @ D @ B.T + B @ D.T @ B.T + B @ D.T @ E @ D @ B.T + B @ D.T @ D @ B.T,
        B @ (D + D.T + D.T @ E @ D + D.T @ D) @ B.T,
        B @ D.T @ E @ D @ B.T,
    )


EQUATION_28.oracle(lambda B, S: all_of(*[gram_excess(B, S)] * 5))


def _shortened(product: Any) -> Any:
    """The formula with its last line replaced by B product(D, E) B^T, and the others left out."""

    def mutant(B: Factor, S: SkewMatrix) -> Any:
        return all_of(*[B @ product(rotation_excess(B, S), excess(B)) @ B.T] * 5)

    return mutant


EQUATION_28.mutant("Delta and its transpose exchanged")(_shortened(lambda D, E: D @ E @ D.T))
EQUATION_28.mutant("E with the opposite sign")(_shortened(lambda D, E: -D.T @ E @ D))
EQUATION_28.mutant("E + I instead of E")(_shortened(lambda D, E: D.T @ (E + eye(E.shape[0])) @ D))


def _decomposed(left: Any, right: Any, s: Any, S: Any) -> dict[str, Any]:
    """U, Sigma, V and B = U Sigma V^T with s (k, 1) on the diagonal of Sigma; a sign of s moves into a singular vector."""
    U, V = cayley(left), cayley(right)
    Sigma = diagonal(s, U.shape[0], V.shape[0])
    return {"U": U, "Sigma": Sigma, "V": V, "B": U @ Sigma @ V.T, "S": S}


def decomposed_factor(left: LeftFrame, right: RightFrame, s: Values, direction: LeftFrame) -> Any:
    """Any singular values, any skew S."""
    return _decomposed(left, right, s, (direction - direction.T) * rational(1, 3))


def decomposed_factor_within_the_unit_ball(
    left: LeftFrame, right: RightFrame, y: Values, direction: LeftFrame, log_norm: LogNorm
) -> Any:
    """Singular values in [0, 1], ||S||_F up to e^1.5."""
    # The offset keeps the last singular value off 0 and 1: with all of them there both sides vanish and no ratio exists.
    y = concatenate([y[:-1], y[-1:] + rational(1, 3)], axis=0)
    S = direction - direction.T
    return _decomposed(left, right, 2 * y / (1 + y * y), S * (exp(log_norm) / (frobenius_norm(S) + rational(1, 256))))


EQUATIONS_31_34 = Claim(
    OSA,
    "osa.eq-31-34",
    label="Eqs. (29)-(35), F.3",
    statement=r"\Delta=\mathbf{V}\hat\Delta\mathbf{V}^\top,\ \hat\Delta=\exp(\Sigma^\top\mathbf{U}^\top\mathbf{S}\mathbf{U}"
    r"\Sigma)-\mathbf{I};\quad \mathbf{E}=\mathbf{V}\hat{\mathbf{E}}\mathbf{V}^\top,\ \hat{\mathbf{E}}=\Sigma^\top\Sigma-"
    r"\mathbf{I};\quad \mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N=\mathbf{U}\Sigma\hat\Delta^\top\hat{\mathbf{E}}\hat\Delta"
    r"\Sigma^\top\mathbf{U}^\top",
    assumptions=[LEFT_ORTHOGONAL, RIGHT_ORTHOGONAL, DECOMPOSITION, SKEW],
    relation=Equal(),
    sizes={"N": (2, 4), "m": (2, 4), "k": (2, 4)},
    where=smallest_dimension,
    proof=("osa.eq-28",),
)

EQUATIONS_31_34.inputs(decomposed_factor)


@EQUATIONS_31_34.formula
def in_singular_vectors(U: LeftFrame, Sigma: Factor, V: RightFrame, S: SkewMatrix) -> Any:
    """V Delta^ V^T, V E^ V^T and U Sigma Delta^^T E^ Delta^ Sigma^T U^T, stacked, shape (2 m^2 + N^2, 1)."""
    D, E = rotation_excess(U @ Sigma, S), excess(Sigma)
    return all_of(V @ D @ V.T, V @ E @ V.T, U @ Sigma @ D.T @ E @ D @ Sigma.T @ U.T)


EQUATIONS_31_34.oracle(lambda B, S: all_of(rotation_excess(B, S), excess(B), gram_excess(B, S)))
EQUATIONS_31_34.mutant("V and its transpose exchanged", "V -> V.T; V.T -> V")
EQUATIONS_31_34.mutant("U dropped from Delta^", "rotation_excess(U @ Sigma, S) -> rotation_excess(Sigma, S)")


EQUATION_38 = Claim(
    OSA,
    "osa.eq-38",
    label="Eqs. (36)-(38), F.3",
    statement=r"\hat\Delta = \Sigma^\top\Psi\Sigma,\quad \Psi=\sum_{n=1}^\infty\frac1{n!}(\mathbf{U}^\top\mathbf{S}\mathbf{U}"
    r"\Sigma\Sigma^\top)^{n-1}\mathbf{U}^\top\mathbf{S}\mathbf{U}",
    assumptions=[LEFT_ORTHOGONAL, DECOMPOSITION, SKEW],
    relation=Equal(),
    sizes={"N": (2, 4), "m": (2, 4), "k": (2, 4)},
    where=smallest_dimension,
    exact=True,
)

EQUATION_38.inputs(decomposed_factor)


@EQUATION_38.formula
def rotation_excess_factored(U: LeftFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    """Sigma^T Psi Sigma, shape (m, m), with the series Psi read off one exponential (Eq. (38))."""
    return Sigma.T @ psi(U, Sigma, S) @ Sigma


EQUATION_38.oracle(lambda U, Sigma, S: rotation_excess(U @ Sigma, S))
EQUATION_38.mutant("Sigma Sigma^T left out of the series", "psi(U, Sigma, S) -> series(U.T @ S @ U, eye(U.shape[0]))")
EQUATION_38.mutant("series transposed", lambda U, Sigma, S: Sigma.T @ psi(U, Sigma, S).T @ Sigma)
EQUATION_38.mutant("U and its transpose exchanged", lambda U, Sigma, S: Sigma.T @ psi(U.T, Sigma, S) @ Sigma)


EQUATION_39 = Claim(
    OSA,
    "osa.eq-39",
    label="Eq. (39), F.3",
    statement=r"\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N=\mathbf{U}\Sigma\Sigma^\top\Psi^\top\Sigma\hat{\mathbf{E}}\Sigma^\top"
    r"\Psi\Sigma\Sigma^\top\mathbf{U}^\top",
    assumptions=[LEFT_ORTHOGONAL, RIGHT_ORTHOGONAL, DECOMPOSITION, SKEW],
    relation=Equal(),
    sizes={"N": (2, 4), "m": (2, 4), "k": (2, 4)},
    where=smallest_dimension,
    proof=("osa.eq-31-34", "osa.eq-38"),
)

EQUATION_39.inputs(decomposed_factor)


def _sandwiched(U: Any, Sigma: Any, outer: Any, Psi: Any) -> Any:
    """U outer Psi^T Sigma E^ Sigma^T Psi outer^T U^T, shape (N, N)."""
    return U @ outer @ Psi.T @ Sigma @ excess(Sigma) @ Sigma.T @ Psi @ outer.T @ U.T


@EQUATION_39.formula
def gram_excess_factored(U: LeftFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    """U Sigma Sigma^T Psi^T Sigma (Sigma^T Sigma - I) Sigma^T Psi Sigma Sigma^T U^T, shape (N, N) (Eq. (39))."""
    return _sandwiched(U, Sigma, Sigma @ Sigma.T, psi(U, Sigma, S))


EQUATION_39.oracle(lambda B, S: gram_excess(B, S))
EQUATION_39.mutant("Psi and its transpose exchanged", "psi(U, Sigma, S) -> psi(U, Sigma, S).T")
EQUATION_39.mutant("outer Sigma Sigma^T dropped", "Sigma @ Sigma.T -> eye(U.shape[0])")


EQUATION_41 = Claim(
    OSA,
    "osa.eq-41",
    label="Eqs. (40)-(41), F.3",
    statement=r"\|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2\le\|\mathbf{U}\|_2^2\|\Sigma\|_2^4\|\Psi\|_2^2\|\Sigma(\Sigma^\top"
    r"\Sigma-\mathbf{I}_{2d_v})\Sigma^\top\|_2\le\|\Psi\|_2^2\|\Sigma(\Sigma^\top\Sigma-\mathbf{I}_{2d_v})\Sigma^\top\|_2",
    assumptions=[
        LEFT_ORTHOGONAL,
        DECOMPOSITION,
        SKEW,
        Assumption("||Sigma||_2 <= 1", nonnegative=lambda Sigma: 1 - spectral_norm(Sigma)),
    ],
    relation=AtMost(),
    sizes={"N": (2, 3), "m": (1, 3), "k": (1, 3)},
    where=smallest_dimension,
    proof=("osa.eq-39", "osa.ns-sv-at-most-1"),
)

EQUATION_41.inputs(decomposed_factor_within_the_unit_ball)


def _members(U: Any, Sigma: Any, S: Any, outer: int = 4, inner: int = 2) -> tuple[Any, Any]:
    """The last two members of Eqs. (40)-(41); mutants change the exponents of ||Sigma||_2 and ||Psi||_2."""
    core = spectral_norm(psi(U, Sigma, S)) ** inner * spectral_norm(Sigma @ excess(Sigma) @ Sigma.T)
    return spectral_norm(U) ** 2 * spectral_norm(Sigma) ** outer * core, core


@EQUATION_41.formula
def submultiplicative_bounds(U: LeftFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    """||U||^2 ||Sigma||^4 ||Psi||^2 ||Sigma E^ Sigma^T|| and ||Psi||^2 ||Sigma E^ Sigma^T||, shape (2,) (Eqs. (40), (41))."""
    return stacked(*_members(U, Sigma, S))


EQUATION_41.oracle(lambda B, U, Sigma, S: stacked(orthogonality_error(B, S), _members(U, Sigma, S)[0]))
EQUATION_41.mutant("||Sigma||^6", outer=6)
EQUATION_41.mutant("||Psi||^3", inner=3)


EQUATION_44 = Claim(
    OSA,
    "osa.eq-44",
    label="Eqs. (42)-(44), F.3",
    statement=r"\|\Psi\|_2\le\sum_{n\ge1}\frac1{n!}\|\mathbf{U}^\top\mathbf{S}\mathbf{U}\Sigma\Sigma^\top\|_2^{n-1}\|\mathbf{U}"
    r"^\top\mathbf{S}\mathbf{U}\|_2\le\sum_{n\ge1}\frac{\|\mathbf{S}\|_2^n}{n!}=e^{\|\mathbf{S}\|_2}-1",
    assumptions=EQUATION_41.assumptions,
    relation=AtMost(),
    sizes={"N": (2, 3), "m": (1, 3), "k": (1, 3)},
    where=smallest_dimension,
    uses=("osa.ns-sv-at-most-1",),
)

EQUATION_44.inputs(decomposed_factor_within_the_unit_ball)


def _series_of_norms(U: Any, Sigma: Any, S: Any) -> Any:
    """sum_{n >= 1} a^{n-1} b / n!, a scalar, with a = ||U^T S U Sigma Sigma^T||_2 and b = ||U^T S U||_2."""
    T, one = U.T @ S @ U, eye(1)
    a, b = one * spectral_norm(T @ Sigma @ Sigma.T), one * spectral_norm(T)
    return expm(concatenate([concatenate([a, b], axis=1), concatenate([a * 0, b * 0], axis=1)], axis=0))[0, 1]


@EQUATION_44.formula
def series_bounds(U: LeftFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    """The series of norms (Eq. (42)) and e^{||S||_2} - 1 (Eq. (44)), shape (2,)."""
    return stacked(_series_of_norms(U, Sigma, S), _growth(S))


EQUATION_44.oracle(lambda U, Sigma, S: stacked(spectral_norm(psi(U, Sigma, S)), _series_of_norms(U, Sigma, S)))
EQUATION_44.mutant("||S||_2 instead of e^{||S||_2} - 1", "_growth -> spectral_norm")


@EQUATION_44.mutant("series from n = 2")
def _(U: LeftFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    size = spectral_norm(S)
    return stacked(_series_of_norms(U, Sigma, S) - size, _growth(S) - size)


EQUATION_45 = Claim(
    OSA,
    "osa.eq-45",
    label="Eq. (45), F.3",
    statement=r"\|\Sigma(\Sigma^\top\Sigma-\mathbf{I}_{2d_v})\Sigma^\top\|_2=\max_i|\sigma_i(\mathbf{B})^2(\sigma_i(\mathbf{B})^2"
    r"-1)|",
    assumptions=[DECOMPOSITION],
    relation=Equal(),
    sizes={"N": (1, 4), "m": (1, 4), "k": (1, 4)},
    where=smallest_dimension,
)


@EQUATION_45.inputs
def factor_and_its_singular_values(left: LeftFrame, right: RightFrame, s: Values) -> Any:
    # a third keeps singular values off 1, where the two sides vanish and nothing is compared
    return _decomposed(left, right, s + rational(1, 3), left)


@EQUATION_45.formula
def largest_deviation(B: Factor) -> Any:
    """max_i |sigma_i^2 (sigma_i^2 - 1)|, a scalar, over the min(N, m) singular values of B (N, m)."""
    x = singular_values(B) * singular_values(B)
    return maximum(absolute(x * (x - 1)))


EQUATION_45.oracle(lambda Sigma: spectral_norm(Sigma @ excess(Sigma) @ Sigma.T))


@EQUATION_45.mutant("sigma_i instead of sigma_i^2 outside")
def _(B: Factor) -> Any:
    s = singular_values(B)
    return maximum(absolute(s * (s * s - 1)))


EQUATION_45.mutant("largest singular value alone", "singular_values(B) -> singular_values(B)[:1]")


QUARTER = Claim(
    OSA,
    "osa.max-quarter",
    label="F.3, text after Eq. (45)",
    statement=r"\sigma_i(\mathbf{B})\in[0,1]\Rightarrow\max|x^2(x^2-1)|=\tfrac14",
    assumptions=["x in [0, 1]"],
    relation=Equal(),
    sizes={},
    exact=True,
)


@QUARTER.formula
def distance_to_the_quarter(x: UnitInterval) -> Any:
    """1/4 - |x^2 (x^2 - 1)| as the square (x^2 - 1/2)^2: never negative, and zero at x = 1/sqrt(2) in [0, 1] alone."""
    return (x * x - rational(1, 2)) * (x * x - rational(1, 2))


QUARTER.oracle(lambda x: rational(1, 4) - absolute(x * x * (x * x - 1)))
QUARTER.mutant("maximum at x = 1/2", lambda x: (x - rational(1, 2)) * (x - rational(1, 2)))
QUARTER.mutant("maximum 1/5 in place of 1/4", lambda value: value - rational(1, 20))


# -- what the bound is said to show ------------------------------------------------------------------------------------

ROBUST = Claim(
    OSA,
    "osa.a1-robust",
    label="Appendix A, text after Theorem A.1",
    statement=r"\text{the bound shows that the orthogonality error is robust to very small singular values of } \mathbf{B}"
    r" \text{ and that larger rotations incur a higher error if } \mathbf{B} \text{ has not converged well}",
    assumptions=["0 <= delta <= 1 is a singular value of B, the others in [0, 1]", "t >= 1", SKEW],
    relation=AtMost(),
    sizes={"N": (2, 3), "m": (1, 3), "k": (1, 3)},
    where=smallest_dimension,
    expects="reading",
    reading="of the bound (10): a singular value delta adds at most delta^2 (e^{||S||_2} - 1)^2 to it, and for a fixed B it does"
    " not decrease as S is scaled up",
    uses=("osa.thm-a.1-eq-10",),
    note="Of the error itself, which the sentence names, only the first half is true: it stops growing with S"
    " (osa.a1-larger-rotations), and no upper bound could show that an error is incurred.",
)


@ROBUST.inputs
def factor_with_one_small_singular_value(
    left: LeftFrame,
    right: RightFrame,
    y: Values,
    direction: LeftFrame,
    log_norm: LogNorm,
    delta: UnitInterval,
    t: Growth,
) -> Any:
    s = 2 * y[:-1] / (1 + y[:-1] * y[:-1])
    s = concatenate([s, eye(1) * delta], axis=0)
    S = direction - direction.T
    S = S * (exp(log_norm) / (frobenius_norm(S) + rational(1, 256)))
    return {**_decomposed(left, right, s, S), "s": s, "delta": delta, "t": t}


@ROBUST.formula
def bound_without_small_singular_value(B: Factor, S: SkewMatrix, s: Values, delta: UnitInterval, t: Growth) -> Any:
    """(e^{||S||} - 1)^2 max(max_i |s_i^2 (s_i^2 - 1)|, delta^2) without s_k = delta, and the bound (10) for t S, shape (2,)."""
    return stacked(_growth(S) ** 2 * _largest_with(s, delta * delta), orthogonality_error_bound(B, S * t))


def _largest_with(s: Any, last: Any) -> Any:
    """max(max_{i < k} |s_i^2 (s_i^2 - 1)|, last), a scalar."""
    x = s[:-1] * s[:-1]
    return maximum(concatenate([absolute(x * (x - 1)), eye(1) * last], axis=0))


@ROBUST.oracle
def bound_with_small_singular_value(B: Factor, S: SkewMatrix) -> Any:
    bound = orthogonality_error_bound(B, S)
    return stacked(bound, bound)


ROBUST.mutant("delta^3 instead of delta^2", "delta * delta -> delta * delta * delta")
ROBUST.mutant("smaller for larger S", "S * t -> S / t")


LARGER_ROTATIONS = Claim(
    OSA,
    "osa.a1-larger-rotations",
    label="Appendix A, text after Theorem A.1, of the error itself",
    statement=r"\|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2 \text{ for } \mathbf{S} \text{ is at most that for } t\mathbf{S},\ t"
    r" \ge 1",
    assumptions=[
        Assumption("S is skew-symmetric", zero=lambda S: S + S.T),
        Assumption("the singular values of B lie in [0, 1]", nonnegative=lambda B: 1 - spectral_norm(B)),
        Assumption("t >= 1", nonnegative=lambda t: t - 1),
    ],
    relation=AtMost(),
    sizes={"N": (2, 3), "m": (2, 3), "k": (2, 3)},
    where=smallest_dimension,
    expects="refuted",
    severity="error",
    correction="osa.a1-saturation",
    of_project=True,
    note="For N = 2, B = b I and S = theta J the error is 4 b^2 (1 - b^2) sin^2(b^2 theta / 2), periodic in theta.",
)


@LARGER_ROTATIONS.inputs
def two_rotations(
    left: LeftFrame, right: RightFrame, y: Values, direction: LeftFrame, log_norm: LogNorm, t: Growth
) -> Any:
    return {**decomposed_factor_within_the_unit_ball(left, right, y, direction, log_norm), "t": t}


@LARGER_ROTATIONS.formula
def error_of_larger_rotation(B: Factor, S: SkewMatrix, t: Growth) -> Any:
    """||Y^T Y - I||_2 for t S, a scalar."""
    return orthogonality_error(B, S * t)


LARGER_ROTATIONS.oracle(lambda B, S: orthogonality_error(B, S))
LARGER_ROTATIONS.mutant("half the error", lambda value: value * rational(1, 2))
LARGER_ROTATIONS.mutant("S divided by t", lambda B, S, t: orthogonality_error(B, S / t))


@LARGER_ROTATIONS.counterexample("B = I/2 in the plane: a rotation by nearly 2 pi / b^2 errs less than a small one")
def nearly_a_full_turn() -> dict[str, Any]:
    half = Fraction(1, 2)
    return {"B": [[half, 0], [0, half]], "S": [[0, 5], [-5, 0]], "t": 5}


SATURATION = Claim(
    OSA,
    "osa.a1-saturation",
    label="Theorem A.1, a bound that large rotations do not outgrow",
    statement=r"\|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2 \le \|\mathbf{B}\|_2^2\,\|\mathbf{B}^\top\mathbf{B}-\mathbf{I}\|_2\,"
    r"\min(2, \|[\mathbf{S}]\|_2)^2 \le 4 \text{ for } \|\mathbf{B}\|_2 \le 1",
    assumptions=[
        SKEW,
        Assumption("the singular values of B lie in [0, 1]", nonnegative=lambda B: 1 - spectral_norm(B)),
    ],
    relation=AtMost(),
    sizes={"N": (2, 3), "m": (2, 3), "k": (2, 3)},
    where=smallest_dimension,
    corrects="osa.a1-larger-rotations",
    uses=("osa.eq-28",),
    of_project=True,
    note="From Eq. (28) and ||exp[S] - I||_2 <= min(2, ||[S]||_2).  Quadratic in S where Eq. (10) is exponential; Eq. (10) is"
    " the better one where S is small and B has tiny singular values beside converged ones.",
)

SATURATION.inputs(decomposed_factor_within_the_unit_ball)


@SATURATION.formula
def saturating_bounds(B: Factor, S: SkewMatrix) -> Any:
    """||B||^2 ||B^T B - I|| min(2, ||B^T S B||)^2 and 4, shape (2,)."""
    bound = _saturating(B, S)
    return stacked(bound, 0 * bound + 4)


def _saturating(B: Any, S: Any, ceiling: Any = 2, power: int = 2) -> Any:
    """||B||_2^power ||B^T B - I||_2 min(ceiling, ||B^T S B||_2)^2, a scalar."""
    size = spectral_norm(B.T @ S @ B)
    least = -maximum(stacked(-size, 0 * size - ceiling))
    return spectral_norm(B) ** power * spectral_norm(excess(B)) * least**2


SATURATION.oracle(lambda B, S: stacked(orthogonality_error(B, S), _saturating(B, S)))
SATURATION.mutant("ceiling 1/2 instead of 2", ceiling=rational(1, 2))
SATURATION.mutant("||B||^4 instead of ||B||^2", power=4)
