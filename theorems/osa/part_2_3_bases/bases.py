"""Bases of span[Q, K] (Section 2.3, Eq. (9)): reduced QR and Newton-Schulz, pre-normalisation, the polar factor, stability.

Gradients through QR explode near rank deficiency; the first column of the basis is fixed by that of M.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.osa import OSA
from theorems.osa.definitions import newton_schulz_basis, newton_schulz_iterate, orthonormal_columns
from theorems.osa.settings import POSITIVE_EPSILON, UNTRAINED, gram_defect
from theorems.osa.shapes import Column, Entry, Epsilon, Factor, Square, Steps, TokenFrame, Values
from verify.arithmetics import Constant
from verify.matrix import (
    concatenate, diag, eye, frobenius_norm, hadamard, maximum, ones, rational, singular_values, smallest_singular_value,
    spectral_norm, sqrt, symmetric_eigenvalues, vector, zeros,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import (
    Assumption, AtMost, Claim, Definition, Equal, HasStructure, QuadraticRate, Reading, Setting, Shape, TendsTo, subject,
    realises,
)  # fmt: skip
from verify.vocabulary.hypotheses import orthonormal_rows

# -- the basis by reduced QR -------------------------------------------------------------------------------------------


@subject("osa.qr_basis")
def qr_basis(M: Factor) -> Any:
    """The factor Q of the reduced QR decomposition with positive diagonal of R, shape that of M (N, m), rank M = m.

    By Gram-Schmidt, the columns in turn.
    """
    columns: list[Any] = []
    for j in range(M.shape[1]):
        rest = M[:, j : j + 1]
        for q in columns:
            rest = rest - q @ (q.T @ rest)
        columns.append(rest / frobenius_norm(rest))
    return concatenate(columns, axis=1)


def total_of_squares(M: Any) -> Any:
    """The squared lengths of the columns, shape (m,)."""
    return (M * M).sum(0)


QR_GRADIENT = Claim(OSA, "osa.qr-gradient", label="Section 2.3, text", name="exploding gradients of reduced QR",
    statement=r"""\text{The standard approach to achieve this is to apply a reduced QR decomposition to the matrix }
        \mathbf{M} = [\mathbf{Q},\mathbf{K}] \in \mathbb{R}^{N\times 2d_v} \text{ where we usually have } 2d_v < N.
        \text{ However, this can suffer from exploding gradients when } \mathbf{M} \text{ is close to being rank
        deficient}""",
    assumptions=[
        Assumption(
            "M = [u, u cos eta + v sin eta] for unit columns u, v, orthogonal to each other",
            zero=lambda M: total_of_squares(M) - 1,
        ),
        Assumption("eta <= pi/3", nonnegative=lambda M: M[:, :1].T @ M[:, 1:] - rational(1, 2)),
        Assumption("eta > 0", positive=lambda M: 1 - M[:, :1].T @ M[:, 1:]),
        Assumption("N >= 3", sizes=lambda sizes: sizes["N"] >= 3),
    ],
    relation=Equal(), sizes={"N": (3, 5)}, expects="reading",
    reading=Reading("exploding gradients", r"""of the basis: the spectral norm of
        $\partial\operatorname{vec}B/\partial\operatorname{vec}M$ has no bound near some rank deficient matrix; for the
        stated family it is $1/\sigma_{\min}(M)$"""),
    note=r"""The gradient of the basis explodes, not that of the layer: at $\eta = 10^{-4}$ it has norm 14142, while
        $\partial A/\partial M$ through the same QR stays at 2.0, as $A = \exp(S)$ does not depend on the basis. What is
        lost there is precision (osa.gradient-through-qr-rank-deficient). For $N = 2$ the family does not explode: the
        second column of $Q$ is then fixed by the first.""",
)  # fmt: skip


@QR_GRADIENT.inputs
@realises({"M = [u, u cos eta": reached.FRAMES})
def nearly_parallel_columns(frame: TokenFrame, x: Entry) -> Any:
    uv = orthonormal_columns(frame, 2)
    t = rational(1, 2) / (1 + x * x)  # tan(eta / 2), at most 1/2
    combination = concatenate([eye(1) + 0 * t, 0 * t], axis=0), concatenate([1 - t * t, 2 * t], axis=0) / (1 + t * t)
    return {"M": uv @ concatenate(combination, axis=1)}


@QR_GRADIENT.formula
def qr_jacobian_norm(M: Factor) -> Any:
    """||d vec Q / d vec M||_2 = 1 / sigma_min(M), a scalar, for M (N, 2) with unit columns at an angle eta <= pi/3, N >= 3."""
    return 1 / smallest_singular_value(M)


QR_GRADIENT.oracle(lambda M: spectral_norm(jacobian(qr_basis, "M")(M)))
QR_GRADIENT.mutant("1 / sigma_min^2", lambda M: 1 / smallest_singular_value(M) ** 2)
QR_GRADIENT.mutant("1 / r_22", lambda M: 1 / frobenius_norm(M[:, 1:] - M[:, :1] @ (M[:, :1].T @ M[:, 1:])))
QR_GRADIENT.mutant("condition number of M", lambda M: spectral_norm(M) / smallest_singular_value(M))


def _no_triangular_product(M: Any, B: Any) -> Any:
    """M - B R and what R = B^T M has below the diagonal, shape (N + m, m)."""
    R = B.T @ M
    m = R.shape[0]
    below = hadamard(Constant([[int(i > j) for j in range(m)] for i in range(m)]), R)
    return concatenate([M - B @ R, below], axis=0)


QR_FIRST_COLUMN = Claim(OSA, "osa.qr-first-column", label="Section 2.3, text", name="first column fixed by QR",
    statement=r"""\text{QR always fixes the first column of } \mathbf{M} \text{ (up to some scaling) when constructing }
        \mathbf{B}(\mathbf{X})""",
    assumptions=[
        Assumption("M = B R, R upper triangular", zero=_no_triangular_product),
        Assumption("m <= N", sizes=lambda sizes: sizes["m"] <= sizes["N"]),
    ],
    relation=HasStructure(), at_sizes={"N": 3, "m": 2},
    sizes={"N": (1, 5), "m": (1, 4)}, exact=True,
)  # fmt: skip


@QR_FIRST_COLUMN.inputs
@realises({"M = B R, R upper": "M is computed as the product"})
def product_with_triangular_factor(frame: TokenFrame, factor: Square) -> Any:
    m = factor.shape[0]
    B = orthonormal_columns(frame, m)
    columns = [concatenate([factor[: j + 1, j : j + 1], zeros(m - j - 1, 1)], axis=0) for j in range(m)]
    return {"B": B, "M": B @ concatenate(columns, axis=1)}


@QR_FIRST_COLUMN.formula
def first_basis_direction(M: Factor) -> Any:
    """M_{:,1}, shape (N, 1): the direction of the first column of every QR basis of M (N, m)."""
    return M[:, :1]


@QR_FIRST_COLUMN.part("structure")
def parallel_to_first_column(value: Any, B: Factor) -> Any:
    """Two vectors are parallel exactly if their 2 x 2 minors vanish."""
    return value @ B[:, :1].T - B[:, :1] @ value.T


QR_FIRST_COLUMN.mutant("last column", lambda M: M[:, -1:])
QR_FIRST_COLUMN.mutant("mean of the columns", lambda M: M @ ones(M.shape[1], 1) / M.shape[1])

# -- the basis by Newton-Schulz iterates -------------------------------------------------------------------------------


def stacked(*scalars: Any) -> Any:
    """Scalars as a vector, shape (number of scalars,)."""
    return vector(*scalars)


LeftVectors = Annotated[Any, Shape("N", "k")]
RightVectors = Annotated[Any, Shape("m", "k")]

# 33 steps lift a singular value of 1.6e-6 (or 3 - sigma^2 of that size) to about 1, the rest see it squared away; m = 2 d_v
CONVERGENCE = Claim(OSA, "osa.ns-convergence", label="Section 2.3, Eq. (9)",
    statement=r"""\mathbf{B}(\mathbf{X}) = \mathbf{M}_K, \text{ where } \mathbf{M}_{k+1} =
        \tfrac12\mathbf{M}_k(3\mathbf{I}_{2d_v} - \mathbf{M}_k^\top\mathbf{M}_k) \text{ and } \mathbf{M}_0 = \mathbf{M}.
        \text{ When } \mathbf{M} \text{ is full rank and the singular values } \{\sigma_i(\mathbf{M})\}_i \text{ of }
        \mathbf{M} \text{ satisfy } \sigma_i(\mathbf{M}) < \sqrt3 \text{ for all } i,\ \mathbf{M}_K \text{ converges
        towards the matrix } \mathbf{U} \text{ of orthonormal basis elements given by the Polar decomposition of }
        \mathbf{M}""",
    assumptions=[
        Assumption("M in R^{N x 2 d_v} has full rank", positive=lambda M: singular_values(M)[-1]),
        Assumption("the singular values of M are below sqrt(3)", positive=lambda M: 3 - spectral_norm(M) ** 2),
        Assumption("M = P diag(s) R^T, its singular value decomposition", zero=lambda M, P, s, R: M - P @ diag(s) @ R.T),
        Assumption("the columns of P are orthonormal", zero=lambda P: P.T @ P - eye(P.shape[1])),
        Assumption("the columns of R are orthonormal", zero=lambda R: R.T @ R - eye(R.shape[1])),
        Assumption("s > 0", positive=lambda s: s),
    ],
    name="convergence of Newton-Schulz to the polar factor",
    relation=TendsTo(scales=tuple(range(49)), rate=QuadraticRate(), bits=2000),
    sizes={"N": (1, 5), "m": (2, 4), "k": (1, 4)},
    where=lambda sizes: sizes["m"] % 2 == 0 and sizes["k"] == min(sizes["N"], sizes["m"]),
    needless=dict.fromkeys(
        ("P has a positive determinant", "R has a positive determinant"),
        "a step commutes with orthogonal matrices on both sides, reflections too: it changes s alone",
    ),
    note=r"The columns of $U$ are orthonormal for $N \ge 2 d_v$; for $N < 2 d_v$ its rows are.",
)  # fmt: skip


@CONVERGENCE.inputs
@realises(
    {
        "M = P diag(s) R^T, its": "M is computed as the product",
        "columns of P are orthonormal": reached.FRAMES,
        "columns of R are orthonormal": reached.FRAMES,
    }
)
def matrix_with_known_polar_factor(left: TokenFrame, right: Square, x: Values) -> Any:
    P, R = orthogonal_matrix(left)[:, : x.shape[0]], orthogonal_matrix(right)[:, : x.shape[0]]
    # in (0, 168/97] with 168/97 = sqrt(3) - 9e-5: close to sqrt(3) at x = 0, to 0 at large x
    s = rational(168, 97) / (1 + x * x)
    return {"P": P, "s": s, "R": R, "M": P @ diag(s) @ R.T}


@CONVERGENCE.formula
def polar_factor(P: LeftVectors, R: RightVectors) -> Any:
    """U = P R^T, shape (N, m), for M = P diag(s) R^T with orthonormal columns in P (N, k) and R (m, k), s > 0."""
    return P @ R.T


CONVERGENCE.part("sequence", lambda scale, M: newton_schulz_iterate(M, scale))
CONVERGENCE.mutant("M divided by its Frobenius norm", lambda M: M / frobenius_norm(M))
CONVERGENCE.mutant("one singular direction reversed", lambda value, P, R: value - 2 * P[:, :1] @ R[:, :1].T)
CONVERGENCE.mutant("one singular direction lost", lambda P, R: P[:, 1:] @ R[:, 1:].T if P.shape[1] > 1 else 0 * P @ R.T)
CONVERGENCE.mutant("squares of the singular values kept", lambda P, s, R: P @ diag(s * s) @ R.T)

# -- pre-normalisation -------------------------------------------------------------------------------------------------

PRENORMALISATION = Claim(OSA, "osa.ns-prenorm", label="Section 2.3, text", name="pre-normalisation for Newton-Schulz",
    statement=r"""\text{Due to the requirement on singular values and the inequality } \sigma_{\max}(\mathbf{M}) \le
        \|\mathbf{M}\|_F, \text{ we follow standard practice by pre-normalising the matrix } \mathbf{M} \text{ so that }
        \mathbf{M}_0 = \frac{\mathbf{M}}{\|\mathbf{M}\|_F+\epsilon} \text{ where } \epsilon > 0""",
    assumptions=[POSITIVE_EPSILON],
    relation=AtMost(), all_sizes=True, sizes={"N": (1, 5), "m": (1, 4)},
    note="""The requirement is that all singular values of $M_0$ are below the root of 3. Full rank, the other one, is not
        $M_0$'s to give: it has the rank of $M$.""",
)  # fmt: skip


def _longest(M: Any) -> Any:
    """The length of the longest column, a scalar."""
    return maximum(sqrt((M * M).sum(0)))


@PRENORMALISATION.formula
def singular_value_limits(M: Factor, epsilon: Epsilon) -> Any:
    """||M||_F and sqrt(3), shape (2,), which sigma_max(M) and sigma_max(M / (||M||_F + epsilon)) do not exceed."""
    size = frobenius_norm(M)
    return stacked(size, 0 * size + sqrt(3))


PRENORMALISATION.oracle(lambda M, epsilon: stacked(spectral_norm(M), spectral_norm(newton_schulz_basis(M, 0, epsilon))))
PRENORMALISATION.mutant("longest column instead of the Frobenius norm",
    lambda M: stacked(_longest(M), 0 * _longest(M) + sqrt(3)))  # fmt: skip
PRENORMALISATION.mutant("requirement 1/sqrt(3)", "sqrt(3) -> 1 / sqrt(3)")

PRENORMALISED_FLOOR = Claim(Setting(OSA, scales=[UNTRAINED]), "osa.ns-prenorm-floor",
    label="Section 2.3, what pre-normalisation costs", name="smallest singular value after pre-normalisation",
    statement=r"""\min_i \sigma_i(\mathbf{M}_K) \le g^{K}\big(\min(N, 2d_v)^{-1/2}\big), \quad g(s) = \tfrac12 s(3 -
        s^2),\text{ for every } \mathbf{M}, \text{ since } \min_i\sigma_i(\mathbf{M}_0) \le
        \|\mathbf{M}_0\|_F/\sqrt{\min(N, 2d_v)}""",
    assumptions=[Definition("M_0 = M / (||M||_F + eps)", by=newton_schulz_basis), POSITIVE_EPSILON],
    relation=AtMost(left="smallest singular value of B"), sizes={"N": (1, 4), "m": (1, 4), "K": (0, 4)},
    of_project=True,
    note=r"""With $2 d_v = 32$ and $K = 6$ (Appendix E) the smallest singular value of $B$ is at most 0.988, for any
        tokens; equality (as $\epsilon$ tends to 0) needs the singular values of $M$ to be equal.""",
)  # fmt: skip
PRENORMALISED_FLOOR.inputs(M=Factor, epsilon=Epsilon, K=Steps)


@PRENORMALISED_FLOOR.formula
def best_smallest_singular_value(M: Factor, K: Steps) -> Any:
    """g^K(1 / sqrt(min(N, m))), a scalar, with g(s) = s (3 - s^2) / 2."""
    s = 0 * M[:1, :1] + 1 / sqrt(min(M.shape))
    return _scalar_iterate(s, K)


def _scalar_iterate(s: Any, steps: int, divisor: int = 2) -> Any:
    """g^K(s) for K = `steps`, shape that of s; a mutant changes the divisor of g."""
    for _ in range(steps):
        s = s * (3 - s * s) * rational(1, divisor)
    return s


PRENORMALISED_FLOOR.oracle(lambda M, K, epsilon: smallest_singular_value(newton_schulz_basis(M, K, epsilon)))
PRENORMALISED_FLOOR.mutant("1 / (m N) instead of 1 / sqrt(min(N, m))",
    "1 / sqrt(min(M.shape)) -> rational(1, M.shape[0] * M.shape[1])")  # fmt: skip
PRENORMALISED_FLOOR.mutant("s (3 - s^2) / 3 instead of s (3 - s^2) / 2", divisor=3)

# -- the iterate as a function of M ------------------------------------------------------------------------------------

UNROLLED = Claim(OSA, "osa.ns-unroll", label="Section 2.3, text", name="Newton-Schulz iterates as a polynomial",
    statement=r"""\text{we can unroll the repeated application of Newton-Schulz iterates to express } \mathbf{M}_K
        \text{ in terms of } \mathbf{M}h(\mathbf{M}^\top\mathbf{M}) \text{ where } h \text{ is some polynomial}""",
    assumptions=[Definition("M_0 = M (Eq. (9)), any fixed K", by=newton_schulz_iterate)],
    relation=Equal(), at_sizes={"N": 2, "m": 2, "K": 2}, sizes={"N": (1, 4), "m": (1, 4), "K": (1, 3)}, exact=True,
    note=r"""$h$ has degree $(3^K - 1)/2$. After pre-normalisation its coefficients depend on $\|M\|_F$, so that $M$ is
        then $M_0$.""",
)  # fmt: skip


@UNROLLED.formula
def newton_schulz_unrolled(M: Factor, K: Steps) -> Any:
    """M h(M^T M), shape (N, m), with s h(s^2) the K-fold composition of s (3 - s^2) / 2; h by Horner's rule."""
    return M @ _polynomial(unrolled_coefficients(K), M.T @ M)


def unrolled_coefficients(steps: int) -> list[Fraction]:
    """The coefficients of h, that of the constant first: g^K(s) = s h(s^2), g(s) = s (3 - s^2) / 2, K = `steps`."""
    h = [Fraction(1)]
    for _ in range(steps):  # s h(s^2) becomes s h (3 - s^2 h^2) / 2
        square = _polynomial_product(h, h)
        h = [a / 2 for a in _polynomial_product(h, [Fraction(3), *(-a for a in square)])]
    return h


def _polynomial_product(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return result


def _polynomial(coefficients: list[Fraction], G: Any) -> Any:
    """sum_i c_i G^i for a square G, by Horner's rule."""
    identity, result = eye(G.shape[0]), G * 0
    for c in reversed(coefficients):
        result = result @ G + identity * rational(c.numerator, c.denominator)
    return result


UNROLLED.oracle(lambda M, K: newton_schulz_iterate(M, K))
UNROLLED.mutant("leading term of h dropped", lambda M, K: M @ _polynomial(unrolled_coefficients(K)[:-1], M.T @ M))


@UNROLLED.mutant("powers taken one by one, not composed")
def _(M: Factor, K: Steps) -> Any:
    step = _polynomial(unrolled_coefficients(1), M.T @ M)
    result = M @ step
    for _ in range(K):
        result = result @ step
    return result


UNROLLED.mutant("constant term (3/2)^K halved", lambda value, M, K: value - M * rational(3**K, 2 * 2**K))

# -- the polar factor --------------------------------------------------------------------------------------------------


def _no_polar_factor(M: Any, U: Any) -> Any:
    """U^T U - I, U^T M - M^T U and M - U U^T M, on top of each other, shape (2 m + N, m)."""
    H = U.T @ M
    return concatenate([gram_defect(U), H - H.T, M - U @ H], axis=0)


NEAREST = Claim(OSA, "osa.polar-nearest", label="Section 2.3, text", name="nearest orthonormal matrix",
    statement=r"""\text{we can view } \mathbf{U} \text{ as the closest orthonormal matrix under the Frobenius norm to }
        \mathbf{M}""",
    assumptions=[
        Assumption(
            "orthonormal matrices are those with orthonormal columns",
            zero=lambda V, V_mirrored: concatenate([gram_defect(V), gram_defect(V_mirrored)], axis=0),
        ),
        Assumption("N >= 2 d_v", sizes=lambda sizes: sizes["m"] <= sizes["N"]),
        Assumption("U is the polar factor of M: U^T U = I, M = U H with H symmetric", zero=_no_polar_factor),
        Assumption("and H positive definite", positive=lambda M, U: symmetric_eigenvalues(U.T @ M)),
        Assumption("M has full column rank", positive=lambda M: singular_values(M)[-1]),
    ],
    relation=AtMost(), sizes={"N": (1, 4), "m": (1, 3)},
)  # fmt: skip


@NEAREST.inputs
@realises(
    {
        "orthonormal matrices are those": reached.FRAMES,
        "U is the polar factor": (
            "M = P diag(s) R^T with s > 0 and U = P R^T: by the singular value decomposition every M of full rank"
        ),
    },
    but=(
        "V and V_mirrored come from one rotation, and no line compares them; of the two, one is any orthonormal matrix. The"
        " singular values of M are at least 1/16: |M - V|^2 - |M - U|^2 is proportional to M"
    ),
)
def matrix_with_polar_factor(left: TokenFrame, right: Square, x: Column, rotation: TokenFrame) -> Any:
    P, R, turn = orthogonal_matrix(left)[:, : x.shape[0]], orthogonal_matrix(right), orthogonal_matrix(rotation)
    U = P @ R.T
    # Rotations alone would reach only half of the orthonormal matrices where N = m.
    mirrored = concatenate([-U[:, :1], U[:, 1:]], axis=1)
    return {"M": P @ diag(rational(1, 16) + x * x) @ R.T, "U": U, "V": turn @ U, "V_mirrored": turn @ mirrored}


@NEAREST.formula
def distance_to_others(M: Factor, V: Factor, V_mirrored: Factor) -> Any:
    """||M - V||_F for two V with orthonormal columns, of either determinant where N = m, shape (2,)."""
    return stacked(frobenius_norm(M - V), frobenius_norm(M - V_mirrored))


@NEAREST.oracle
def distance_to_polar_factor(M: Factor, U: Factor) -> Any:
    nearest = frobenius_norm(M - U)
    return stacked(nearest, nearest)


NEAREST.mutant("spectral norm on one side", "frobenius_norm -> spectral_norm")
NEAREST.mutant("M's component along V instead of V",
    "V -> V @ (V.T @ M); V_mirrored -> V_mirrored @ (V_mirrored.T @ M)")  # fmt: skip

UNBIASED = Claim(OSA, "osa.ns-unbiased", label="Section 2.3, text", name="basis unbiased towards feature dimensions",
    statement=r"\mathbf{U} \text{ is not biased towards any feature dimensions}",
    assumptions=[Assumption("R in R^{2 d_v x 2 d_v} orthogonal", zero=lambda R: gram_defect(R))],
    relation=Equal(), all_sizes=True, hypotheses=[orthonormal_rows("R", stated="R in R^{2 d_v x 2 d_v} orthogonal")],
    sizes={"N": (1, 4), "m": (1, 4), "K": (1, 3)}, expects="reading", uses=("osa.ns-convergence",), exact=True,
    reading=Reading("not biased towards any feature dimensions", """the map from $M$ to the basis commutes with every
        orthogonal change of the feature dimensions, permutations among them: $M_K(MR) = M_K(M)R$ for every $K$, hence
        in the limit $U(MR) = U(M)R$"""),
)  # fmt: skip


@UNBIASED.inputs
@realises(
    {
        "R in R^{2 d_v x 2 d_v} orthogonal": (
            "Cayley transforms with their columns moved round and one reversed: determinants of both signs"
        )
    }
)
def matrix_and_rotation(M: Factor, frame: Square, K: Steps) -> Any:
    R = orthogonal_matrix(frame)
    # columns moved round and one reversed: determinants of either sign, as m is even or odd
    return {"M": M, "R": concatenate([R[:, 1:], -R[:, :1]], axis=1), "K": K}


@UNBIASED.formula
def newton_schulz_then_rotation(M: Factor, R: Square, K: Steps) -> Any:
    """M_K(M) R, shape (N, m), for an orthogonal R (m, m)."""
    return newton_schulz_iterate(M, K) @ R


UNBIASED.oracle(lambda M, R, K: newton_schulz_iterate(M @ R, K))
UNBIASED.mutant("inverse change of features", lambda M, R, K: newton_schulz_iterate(M, K) @ R.T)
UNBIASED.mutant("invariant instead of equivariant", lambda M, K: newton_schulz_iterate(M, K))

# -- how far the iterate moves with M ----------------------------------------------------------------------------------

STABLE = Claim(OSA, "osa.ns-stable", label="Section 2.3, text", name="stability of Newton-Schulz near rank deficiency",
    statement=r"\text{it is stable when } \mathbf{M} \text{ is close to being rank deficient}",
    assumptions=[
        Assumption("||M_0||_2 <= 1, by pre-normalisation", nonnegative=lambda M: 1 - spectral_norm(M)),
        Assumption("k = min(N, m) singular values", sizes=lambda sizes: sizes["k"] == min(sizes["N"], sizes["m"])),
    ],
    relation=AtMost(left="spectral norm of the iterate's Jacobian"),
    sizes={"N": (1, 3), "m": (1, 3), "k": (1, 3), "K": (1, 3)},
    expects="reading",
    reading=Reading("stable when", r"""the spectral norm of
        $\partial\operatorname{vec}M_K/\partial\operatorname{vec}M_0$ is at most $(3/2)^K$ whatever the singular values
        of $M_0$ in $[0, 1]$; the constant is best, and attained where $M_0 = 0$"""),
    note="Stable for a fixed $K$ only: the constant grows without bound as the iteration converges.",
)  # fmt: skip


@STABLE.inputs
def matrix_within_the_unit_ball(left: TokenFrame, right: Square, y: Values, K: Steps) -> Any:
    k = y.shape[0]
    s = 2 * y / (1 + y * y)  # covers [-1, 1]; a sign moves into a singular vector
    return {"M": orthogonal_matrix(left)[:, :k] @ diag(s) @ orthogonal_matrix(right)[:, :k].T, "K": K}


@STABLE.formula
def newton_schulz_jacobian_bound(K: Steps) -> Any:
    """(3/2)^K, a scalar: bounds ||d vec M_K / d vec M_0||_2 for ||M_0||_2 <= 1."""
    return rational(3**K, 2**K)


STABLE.oracle(lambda M, K: spectral_norm(jacobian(newton_schulz_iterate, "M")(M, K)))
STABLE.mutant("one step fewer", lambda K: rational(3 ** (K - 1), 2 ** (K - 1)))
STABLE.mutant("(5/4)^K", lambda K: rational(5**K, 4**K))
