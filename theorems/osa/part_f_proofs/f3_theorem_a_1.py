"""F.3, the proof of Theorem A.1, Eqs. (20)-(45), step by step."""

from __future__ import annotations

from typing import Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import exponential_minus_identity, newton_schulz_basis, newton_schulz_iterate
from theorems.osa.part_2_3_bases.bases import matrix_within_the_unit_ball, stacked
from theorems.osa.part_a_orthogonality_error.theorem_a_1 import (
    SKEW, decomposed_factor_within_the_unit_ball, decomposition, excess, growth_of_norm, orthogonality_error,
    AS_MANY_VALUES,
)  # fmt: skip
from theorems.osa.settings import FROM_NEWTON_SCHULZ, POSITIVE_EPSILON, UNTRAINED
from theorems.osa.shapes import Epsilon, Factor, SkewMatrix, Square, Steps, TokenFrame, UnitInterval, Values
from verify.arithmetics import Constant
from verify.matrix import (
    absolute, block_diag, concatenate, diag, expm, eye, frobenius_norm, hadamard, maximum, rational, singular_values,
    spectral_norm, vec_r, zeros,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Setting, realises
from verify.vocabulary.hypotheses import contraction, orthonormal_rows

LEFT_ORTHOGONAL = Assumption("U in R^{N x N} is orthogonal", zero=lambda U: U.T @ U - eye(U.shape[0]))
RIGHT_ORTHOGONAL = Assumption("V in R^{2 d_v x 2 d_v} is orthogonal", zero=lambda V: V.T @ V - eye(V.shape[0]))


def _apart_from_product(B: Factor, U: TokenFrame, Sigma: Factor, V: Square) -> Any:
    return B - U @ Sigma @ V.T


def _off_the_diagonal(Sigma: Factor) -> Any:
    N, m = Sigma.shape
    return hadamard(Constant([[int(i != j) for j in range(m)] for i in range(N)]), Sigma)


DECOMPOSITION = Assumption("B = U Sigma V^T", zero=_apart_from_product)
DIAGONAL = Assumption("Sigma in R^{N x 2 d_v} is diagonal", zero=_off_the_diagonal)


def all_of(*matrices: Any) -> Any:
    """The entries of several matrices, one below the other, shape (number of entries, 1)."""
    return concatenate([vec_r(A) for A in matrices], axis=0)


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


# m = 2 d_v; for m = 1 both sides vanish
EQUATION_22 = Claim(OSA, "osa.eq-22", label="Eqs. (20)-(22), F.3", name="Gram matrix of the rotation excess",
    statement=r"""\Delta = \exp[\mathbf{S}]-\mathbf{I}_{2d_v}: \quad \Delta^\top\Delta =
        (\exp[\mathbf{S}]-\mathbf{I}_{2d_v})^\top(\exp[\mathbf{S}]-\mathbf{I}_{2d_v}) = 2\mathbf{I}_{2d_v} -
        \exp[\mathbf{S}] - \exp[\mathbf{S}]^\top = -\Delta-\Delta^\top""",
    assumptions=[SKEW],
    relation=Equal(), all_sizes=True, hypotheses=(SKEW,), sizes={"m": (1, 5)},
)  # fmt: skip


@EQUATION_22.inputs
@realises({"skew-symmetric": reached.SKEW})
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


EQUATION_22.mutant("transposes dropped", "R.T -> R; Delta.T -> Delta")
EQUATION_22.mutant("I instead of 2 I, sign of Delta reversed",
    "2 * eye(S.shape[0]) -> eye(S.shape[0]); -Delta - Delta.T -> Delta + Delta.T")  # fmt: skip

# for N = 1 or one column Delta = 0
EQUATION_28 = Claim(OSA, "osa.eq-28", label="Eqs. (23)-(28), F.3", name="orthogonality error as a product",
    statement=r"""\mathbf{E}=\mathbf{B}^\top\mathbf{B}-\mathbf{I}_{2d_v}: \quad \mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N =
        (\mathbf{I}_N+\mathbf{B}\Delta\mathbf{B}^\top)^\top(\mathbf{I}_N+\mathbf{B}\Delta\mathbf{B}^\top)-\mathbf{I}_N =
        \mathbf{B}\Delta\mathbf{B}^\top+\mathbf{B}\Delta^\top\mathbf{B}^\top+\mathbf{B}\Delta^\top\mathbf{B}^\top\mathbf{B}\Delta\mathbf{B}^\top
        =
        \mathbf{B}\Delta\mathbf{B}^\top+\mathbf{B}\Delta^\top\mathbf{B}^\top+\mathbf{B}\Delta^\top(\mathbf{E}+\mathbf{I}_{2d_v})\Delta\mathbf{B}^\top
        =
        \mathbf{B}\Delta\mathbf{B}^\top+\mathbf{B}\Delta^\top\mathbf{B}^\top+\mathbf{B}\Delta^\top\mathbf{E}\Delta\mathbf{B}^\top+\mathbf{B}\Delta^\top\Delta\mathbf{B}^\top
        = \mathbf{B}(\Delta+\Delta^\top+\Delta^\top\mathbf{E}\Delta+\Delta^\top\Delta)\mathbf{B}^\top =
        \mathbf{B}\Delta^\top\mathbf{E}\Delta\mathbf{B}^\top""",
    assumptions=[SKEW],
    relation=Equal(), all_sizes=True, hypotheses=(SKEW,), sizes={"N": (1, 4), "m": (1, 4)}, proof=("osa.eq-22",),
)  # fmt: skip


@EQUATION_28.inputs
@realises({"skew-symmetric": reached.SKEW})
def factor_and_skew_matrix(B: Factor, direction: TokenFrame) -> Any:
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


def _last_line(B: Any, S: Any, product: Any) -> Any:
    """The formula with its last line replaced by B product(D, E) B^T, and the others left out."""
    return all_of(*[B @ product(rotation_excess(B, S), excess(B)) @ B.T] * 5)


EQUATION_28.mutant("Delta and its transpose exchanged", lambda B, S: _last_line(B, S, lambda D, E: D @ E @ D.T))
EQUATION_28.mutant("E with the opposite sign", lambda B, S: _last_line(B, S, lambda D, E: -D.T @ E @ D))
EQUATION_28.mutant("E + I instead of E", lambda B, S: _last_line(B, S, lambda D, E: D.T @ (E + eye(E.shape[0])) @ D))


@realises(
    {
        "U in R^{N x N} is orthogonal": reached.ROTATIONS,
        "V in R^{2 d_v x 2 d_v} is orthogonal": reached.ROTATIONS,
        "B = U Sigma V^T": "B is computed as the product",
        "is diagonal": "Sigma is made of its diagonal",
        "skew-symmetric": reached.SKEW,
    },
    but="V is orthogonal also where nothing is asked of it; then neither side reads V",
)
def decomposed_factor(left: TokenFrame, right: Square, s: Values, direction: TokenFrame) -> Any:
    """Any singular values, any skew S."""
    return decomposition(left, right, s, (direction - direction.T) * rational(1, 3))


DECOMPOSED = Setting(OSA, "Appendix F.3, B = U Sigma V^T",
    assumptions=[LEFT_ORTHOGONAL, RIGHT_ORTHOGONAL, DECOMPOSITION, DIAGONAL, SKEW, AS_MANY_VALUES],
    hypotheses=[DECOMPOSITION, LEFT_ORTHOGONAL, RIGHT_ORTHOGONAL, orthonormal_rows("V", stated="2 d_v} is orthogonal"), SKEW],
    sizes={"N": (1, 4), "m": (1, 4), "k": (1, 4)}, inputs=decomposed_factor)  # fmt: skip
WITHIN_THE_UNIT_BALL = Setting(OSA, "Appendix F.3, ||Sigma||_2 <= 1",
    assumptions=[
        LEFT_ORTHOGONAL,
        RIGHT_ORTHOGONAL,
        DECOMPOSITION,
        DIAGONAL,
        SKEW,
        Assumption("||Sigma||_2 <= 1", nonnegative=lambda Sigma: 1 - spectral_norm(Sigma)),
        AS_MANY_VALUES,
    ],
    hypotheses=[LEFT_ORTHOGONAL],
    sizes={"N": (1, 3), "m": (1, 3), "k": (1, 3)},
    inputs=decomposed_factor_within_the_unit_ball)  # fmt: skip

EQUATIONS_31_34 = Claim(DECOMPOSED, "osa.eq-31-34", label="Eqs. (29)-(35), F.3",
    statement=r"""
        \Delta=\exp(\mathbf{B}^\top\mathbf{S}\mathbf{B})-\mathbf{I}_{2d_v}=\exp(\mathbf{V}\Sigma^\top\mathbf{U}^\top\mathbf{S}\mathbf{U}\Sigma\mathbf{V}^\top)-\mathbf{I}_{2d_v}=\mathbf{V}\hat\Delta\mathbf{V}^\top,
        \text{ where } \hat\Delta=\exp([\hat{\mathbf{S}}])-\mathbf{I}_{2d_v} \text{ and }
        [\hat{\mathbf{S}}]=\Sigma^\top\mathbf{U}^\top\mathbf{S}\mathbf{U}\Sigma, \text{ and }
        \mathbf{E}=\mathbf{B}^\top\mathbf{B}-\mathbf{I}_{2d_v}=\mathbf{V}\Sigma^\top\mathbf{U}^\top\mathbf{U}\Sigma\mathbf{V}^\top-\mathbf{I}_{2d_v}=\mathbf{V}\hat{\mathbf{E}}\mathbf{V}^\top,
        \text{ where } \hat{\mathbf{E}}=\Sigma^\top\Sigma-\mathbf{I}_{2d_v}. \quad
        \mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N=\mathbf{U}\Sigma\hat\Delta^\top\hat{\mathbf{E}}\hat\Delta\Sigma^\top\mathbf{U}^\top
        """,
    name="orthogonality error in singular vectors", relation=Equal(), all_sizes=True, proof=("osa.eq-28",),
)  # fmt: skip


@EQUATIONS_31_34.formula
def in_singular_vectors(U: TokenFrame, Sigma: Factor, V: Square, S: SkewMatrix) -> Any:
    """The right-hand sides of Eqs. (30), (31), (33), (34) and (35), stacked, shape (4 m^2 + N^2, 1)."""
    D, E = rotation_excess(U @ Sigma, S), excess(Sigma)
    members = [
        rotation_excess(U @ Sigma @ V.T, S),
        V @ D @ V.T,
        V @ Sigma.T @ U.T @ U @ Sigma @ V.T - eye(V.shape[0]),
        V @ E @ V.T,
    ]
    return all_of(*members, U @ Sigma @ D.T @ E @ D @ Sigma.T @ U.T)


@EQUATIONS_31_34.oracle
def excesses_of_factor(B: Factor, S: SkewMatrix) -> Any:
    D, E = rotation_excess(B, S), excess(B)
    return all_of(D, D, E, E, gram_excess(B, S))


EQUATIONS_31_34.mutant("V and its transpose exchanged", "V -> V.T; V.T -> V")
EQUATIONS_31_34.mutant("U dropped from Delta^", "rotation_excess(U @ Sigma, S) -> rotation_excess(Sigma, S)")

EQUATION_37 = Claim(OSA, "osa.eq-37", label="Eqs. (36)-(37), F.3", name="series of the rotation excess",
    statement=r"""\hat\Delta = \exp(\Sigma^\top\mathbf{U}^\top\mathbf{S}\mathbf{U}\Sigma)-\mathbf{I}_{2d_v} =
        \sum_{n=1}^\infty\frac1{n!}(\Sigma^\top\mathbf{U}^\top\mathbf{S}\mathbf{U}\Sigma)^n""",
    assumptions=[LEFT_ORTHOGONAL, DECOMPOSITION, DIAGONAL, SKEW, AS_MANY_VALUES],
    relation=Equal(), all_sizes=True, sizes={"N": (1, 4), "m": (1, 4), "k": (1, 4)},
    note="""The series is summed as a block of one exponential of twice the order, which loses no digits where it is
        small. The next member of the chain is in osa.eq-38.""",
)  # fmt: skip
EQUATION_37.inputs(decomposed_factor)


# I stands on the side of the series: exp(T) - I of a small T would lose its digits in floats.
@EQUATION_37.formula
def identity_and_series(U: TokenFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    """I + sum_{n >= 1} T^n / n!, shape (m, m), for T = Sigma^T U^T S U Sigma (Eq. (37))."""
    return eye(Sigma.shape[1]) + rotation_excess(U @ Sigma, S)


EQUATION_37.oracle(lambda U, Sigma, S: expm(Sigma.T @ U.T @ S @ U @ Sigma))
EQUATION_37.mutant("U and its transpose exchanged", "U @ Sigma -> U.T @ Sigma")
EQUATION_37.mutant("series from n = 2", lambda value, U, Sigma, S: value - Sigma.T @ U.T @ S @ U @ Sigma)

EQUATION_38 = Claim(OSA, "osa.eq-38", label="Eqs. (36)-(38), F.3", name="factored series of the rotation excess",
    statement=r"""\hat\Delta = \exp(\Sigma^\top\mathbf{U}^\top\mathbf{S}\mathbf{U}\Sigma)-\mathbf{I}_{2d_v} =
        \sum_{n=1}^\infty\frac1{n!}(\Sigma^\top\mathbf{U}^\top\mathbf{S}\mathbf{U}\Sigma)^n =
        \Sigma^\top\Big(\underbrace{\sum_{n=1}^\infty\frac1{n!}(\mathbf{U}^\top\mathbf{S}\mathbf{U}\Sigma\Sigma^\top)^{n-1}\mathbf{U}^\top\mathbf{S}\mathbf{U}}_{\Psi}\Big)\Sigma
        """,
    assumptions=[LEFT_ORTHOGONAL, DECOMPOSITION, DIAGONAL, SKEW, AS_MANY_VALUES],
    relation=Equal(), all_sizes=True, sizes={"N": (1, 4), "m": (1, 4), "k": (1, 4)}, exact=True,
    note="The series of Eq. (37) is in osa.eq-37.",
)  # fmt: skip
EQUATION_38.inputs(decomposed_factor)


@EQUATION_38.formula
def rotation_excess_factored(U: TokenFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    """Sigma^T Psi Sigma, shape (m, m), with the series Psi read off one exponential (Eq. (38))."""
    return Sigma.T @ psi(U, Sigma, S) @ Sigma


EQUATION_38.oracle(lambda U, Sigma, S: rotation_excess(U @ Sigma, S))
EQUATION_38.mutant("Sigma Sigma^T left out of the series", "psi(U, Sigma, S) -> series(U.T @ S @ U, eye(U.shape[0]))")
EQUATION_38.mutant("series transposed", lambda U, Sigma, S: Sigma.T @ psi(U, Sigma, S).T @ Sigma)
EQUATION_38.mutant("U and its transpose exchanged", lambda U, Sigma, S: Sigma.T @ psi(U.T, Sigma, S) @ Sigma)

EQUATION_39 = Claim(DECOMPOSED, "osa.eq-39", label="Eq. (39), F.3", name="orthogonality error in factored form",
    statement=r"""
        \mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N=\mathbf{U}\Sigma\Sigma^\top\Psi^\top\Sigma\hat{\mathbf{E}}\Sigma^\top\Psi
        \Sigma\Sigma^\top\mathbf{U}^\top""",
    relation=Equal(), all_sizes=True, proof=("osa.eq-31-34", "osa.eq-38"),
)  # fmt: skip


@EQUATION_39.formula
def gram_excess_factored(U: TokenFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    """U Sigma Sigma^T Psi^T Sigma (Sigma^T Sigma - I) Sigma^T Psi Sigma Sigma^T U^T, shape (N, N) (Eq. (39))."""
    outer, Psi = Sigma @ Sigma.T, psi(U, Sigma, S)
    return U @ outer @ Psi.T @ Sigma @ excess(Sigma) @ Sigma.T @ Psi @ outer.T @ U.T


EQUATION_39.oracle(lambda B, S: gram_excess(B, S))
EQUATION_39.mutant("Psi and its transpose exchanged", "psi(U, Sigma, S) -> psi(U, Sigma, S).T")
EQUATION_39.mutant("outer Sigma Sigma^T dropped", "Sigma @ Sigma.T -> eye(U.shape[0])")

EQUATION_41 = Claim(WITHIN_THE_UNIT_BALL, "osa.eq-41", label="Eqs. (40)-(41), F.3",
    statement=r"""
        \|\mathbf{Y}^\top\mathbf{Y}-\mathbf{I}_N\|_2\le\|\mathbf{U}\|_2^2\|\Sigma\|_2^4\|\Psi\|_2^2\|\Sigma(\Sigma^\top
        \Sigma-\mathbf{I}_{2d_v})\Sigma^\top\|_2\le\|\Psi\|_2^2\|\Sigma(\Sigma^\top\Sigma-\mathbf{I}_{2d_v})\Sigma^\top
        \|_2""",
    name="submultiplicative bound of the orthogonality error",
    relation=AtMost(left="the error, and the norm of the first member"), proof=("osa.eq-39", "osa.ns-sv-at-most-1"),
)  # fmt: skip


def _members(U: Any, Sigma: Any, S: Any, outer: int = 4, inner: int = 2) -> tuple[Any, Any]:
    """The last two members of Eqs. (40)-(41); mutants change the exponents of ||Sigma||_2 and ||Psi||_2."""
    core = spectral_norm(psi(U, Sigma, S)) ** inner * spectral_norm(Sigma @ excess(Sigma) @ Sigma.T)
    return spectral_norm(U) ** 2 * spectral_norm(Sigma) ** outer * core, core


@EQUATION_41.formula
def submultiplicative_bounds(U: TokenFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    """||U||^2 ||Sigma||^4 ||Psi||^2 ||Sigma E^ Sigma^T|| and ||Psi||^2 ||Sigma E^ Sigma^T||, shape (2,) (Eqs. (40), (41))."""
    return stacked(*_members(U, Sigma, S))


EQUATION_41.oracle(lambda B, U, Sigma, S: stacked(orthogonality_error(B, S), _members(U, Sigma, S)[0]))
EQUATION_41.mutant("||Sigma||^6", outer=6)
EQUATION_41.mutant("||Psi||^3", inner=3)

EQUATION_44 = Claim(WITHIN_THE_UNIT_BALL, "osa.eq-44", label="Eqs. (42)-(44), F.3", name="norm of the factored series",
    statement=r"""
        \|\Psi\|_2\le\sum_{n=1}^\infty\frac1{n!}\|\mathbf{U}^\top\mathbf{S}\mathbf{U}\Sigma\Sigma^\top\|_2^{n-1}\|\mathbf{U}^
        \top\mathbf{S}\mathbf{U}\|_2\le\sum_{n=1}^\infty\frac{\|\mathbf{S}\|_2^n}{n!}=e^{\|\mathbf{S}\|_2}-1""",
    relation=AtMost(left="||Psi||_2, and the series of norms"), all_sizes=True, uses=("osa.ns-sv-at-most-1",),
)  # fmt: skip


def _series_of_norms(U: Any, Sigma: Any, S: Any) -> Any:
    """sum_{n >= 1} a^{n-1} b / n!, a scalar, with a = ||U^T S U Sigma Sigma^T||_2 and b = ||U^T S U||_2."""
    T, one = U.T @ S @ U, eye(1)
    a, b = one * spectral_norm(T @ Sigma @ Sigma.T), one * spectral_norm(T)
    return expm(concatenate([concatenate([a, b], axis=1), concatenate([a * 0, b * 0], axis=1)], axis=0))[0, 1]


@EQUATION_44.formula
def series_bounds(U: TokenFrame, Sigma: Factor, S: SkewMatrix) -> Any:
    """The series of norms (Eq. (42)) and e^{||S||_2} - 1 (Eq. (44)), shape (2,)."""
    return stacked(_series_of_norms(U, Sigma, S), growth_of_norm(S))


EQUATION_44.oracle(lambda U, Sigma, S: stacked(spectral_norm(psi(U, Sigma, S)), _series_of_norms(U, Sigma, S)))
EQUATION_44.mutant("||S||_2 instead of e^{||S||_2} - 1", "growth_of_norm -> spectral_norm")
EQUATION_44.mutant("series from n = 2", lambda value, S: value - spectral_norm(S))

EQUATION_45 = Claim(OSA, "osa.eq-45", label="Eq. (45), F.3", name="norm of the deviation from orthonormality",
    statement=r"""\|\Sigma(\Sigma^\top\Sigma-\mathbf{I}_{2d_v})\Sigma^\top\|_2=\max_i|\sigma_i(\mathbf{B})^2(\sigma_i(
        \mathbf{B})^2-1)|""",
    assumptions=[LEFT_ORTHOGONAL, RIGHT_ORTHOGONAL, DECOMPOSITION, DIAGONAL, AS_MANY_VALUES],
    relation=Equal(), sizes={"N": (1, 4), "m": (1, 4), "k": (1, 4)},
)  # fmt: skip


@EQUATION_45.inputs
@realises(
    {
        "U in R^{N x N} is orthogonal": reached.ROTATIONS,
        "V in R^{2 d_v x 2 d_v} is orthogonal": reached.ROTATIONS,
        "B = U Sigma V^T": "B is computed as the product",
        "is diagonal": "Sigma is made of its diagonal",
    }
)
def factor_and_its_singular_values(left: TokenFrame, right: Square, s: Values) -> Any:
    # a third keeps singular values off 1, where the two sides vanish and nothing is compared
    return decomposition(left, right, s + rational(1, 3), left)


@EQUATION_45.formula
def largest_deviation(B: Factor) -> Any:
    """max_i |sigma_i^2 (sigma_i^2 - 1)|, a scalar, over the min(N, m) singular values of B (N, m)."""
    x = singular_values(B) * singular_values(B)
    return maximum(absolute(x * (x - 1)))


EQUATION_45.oracle(lambda Sigma: spectral_norm(Sigma @ excess(Sigma) @ Sigma.T))
EQUATION_45.mutant("sigma_i instead of sigma_i^2 outside", "x * (x - 1) -> singular_values(B) * (x - 1)")
EQUATION_45.mutant("largest singular value alone", "singular_values(B) -> singular_values(B)[:1]")

SINGULAR_VALUES = Claim(OSA, "osa.f3-singular-values", label="F.3, text before Eq. (45)",
    statement=r"""\text{the singular values of the matrix } \Sigma(\Sigma^\top\Sigma-\mathbf{I}_{2d_v})\Sigma^\top \text{
        have the form: } |\sigma_i(\mathbf{B})^2(\sigma_i(\mathbf{B})^2-1)|""",
    assumptions=[LEFT_ORTHOGONAL, RIGHT_ORTHOGONAL, DECOMPOSITION, DIAGONAL, AS_MANY_VALUES],
    name="singular values of the deviation from orthonormality", relation=Equal(),
    sizes={"N": (1, 4), "m": (1, 4), "k": (1, 4)},
    note=r"""All of them, with their multiplicities: those of the $\min(N, 2 d_v)$ singular values of $B$ and, for $N > 2
        d_v$, as many zeros as are missing. A zero has the printed form, with the value 0 that $\sigma_i(B)$ has by
        convention for $i > 2 d_v$, and the maximum of Eq. (45) is the same. The zeros of $J$ in osa.f7-interval are
        another matter: they lie outside of the interval that is printed for them, so that it is refuted.""",
)  # fmt: skip
SINGULAR_VALUES.inputs(factor_and_its_singular_values)


@SINGULAR_VALUES.formula
def deviations(B: Factor) -> Any:
    """|sigma_i^2 (sigma_i^2 - 1)| in decreasing order, for all singular values of B (N, m) and zeros besides, N numbers."""
    x = singular_values(B) * singular_values(B)
    found = diag(x * (x - 1))
    missing = B.shape[0] - found.shape[0]
    return singular_values(block_diag([found, zeros(missing, missing)]) if missing else found)


SINGULAR_VALUES.oracle(lambda Sigma: singular_values(Sigma @ excess(Sigma) @ Sigma.T))
SINGULAR_VALUES.mutant("sigma_i instead of sigma_i^2 outside", "x * (x - 1) -> singular_values(B) * (x - 1)")
SINGULAR_VALUES.mutant("1 not subtracted", "x * (x - 1) -> x * x")

QUARTER = Claim(OSA, "osa.max-quarter", label="F.3, text after Eq. (45)", name="largest deviation of one quarter",
    statement=r"""\text{by construction } \sigma_i(\mathbf{B})\in[0,1] \text{ therefore the maximum possible value of
        the above expression is } \tfrac14 \text{ (from inspecting the graph of } |x^2(x^2-1)|)""",
    assumptions=[Assumption("x in [0, 1]", nonnegative=lambda x: x * (1 - x))],
    relation=Equal(), sizes={}, exact=True,
)  # fmt: skip


@QUARTER.formula
def distance_to_the_quarter(x: UnitInterval) -> Any:
    """1/4 - |x^2 (x^2 - 1)| as the square (x^2 - 1/2)^2: never negative, and zero at x = 1/sqrt(2) in [0, 1] alone."""
    return (x * x - rational(1, 2)) * (x * x - rational(1, 2))


QUARTER.oracle(lambda x: rational(1, 4) - absolute(x * x * (x * x - 1)))
QUARTER.mutant("maximum at x = 1/2", lambda x: (x - rational(1, 2)) * (x - rational(1, 2)))
QUARTER.mutant("maximum 1/5 in place of 1/4", lambda value: value - rational(1, 20))

NEVER_ABOVE_ONE = Claim(Setting(OSA, scales=[UNTRAINED.at(k=32)]), "osa.ns-sv-at-most-1",
    label="F.3, text after Eq. (41)", name="singular values of Newton-Schulz iterates",
    statement=r"""\|\Sigma\|_2 \leq 1 \text{ as we normalise the singular values of } \mathbf{M}_0 \text{ to be less
        than 1 and the Newton-Schultz iterations cannot increase initial singular values in the range } (0,1] \text{ to
        be more than } 1""",
    assumptions=[
        FROM_NEWTON_SCHULZ,
        POSITIVE_EPSILON,
        Assumption(
            "initial singular values in the range (0, 1], of the start in the second half",
            nonnegative=lambda start: 1 - spectral_norm(start),
        ),
        AS_MANY_VALUES,
    ],
    hypotheses=[contraction("start", "singular values in the range (0, 1]")],
    relation=AtMost(), all_sizes=True, sizes={"N": (1, 4), "m": (1, 3), "k": (1, 3), "K": (1, 4)},
    uses=("osa.ns-prenorm",),
    note="$1 - g(s) = (1 - s)^2(2 + s)/2$ for $g(s) = s(3 - s^2)/2$.",
)  # fmt: skip


@NEVER_ABOVE_ONE.inputs
def any_matrix_and_one_within_the_unit_ball(
    M: Factor, epsilon: Epsilon, left: TokenFrame, right: Square, y: Values, K: Steps
) -> Any:
    return {"M": M, "epsilon": epsilon, "start": matrix_within_the_unit_ball(left, right, y, K)["M"], "K": K}


@NEVER_ABOVE_ONE.formula
def singular_value_ceiling(M: Factor, epsilon: Epsilon, start: Factor) -> Any:
    """||M||_F / (||M||_F + epsilon), below 1, and 1, shape (2,): the ceilings of sigma_max(M_0) and of sigma_max(M_K)."""
    size = frobenius_norm(M)
    return stacked(size / (size + epsilon), 0 * size + 1)


@NEVER_ABOVE_ONE.oracle
def largest_singular_values_reached(M: Factor, epsilon: Epsilon, start: Factor, K: Steps) -> Any:
    return stacked(spectral_norm(newton_schulz_basis(M, 0, epsilon)), spectral_norm(newton_schulz_iterate(start, K)))


NEVER_ABOVE_ONE.mutant("not increased at all", "0 * size + 1 -> spectral_norm(start)")
NEVER_ABOVE_ONE.mutant("normalised by ||M||_F + 2 epsilon", "epsilon -> 2 * epsilon")
