"""Bases by reduced QR and by Newton-Schulz: Section 2.3, and gradients through either."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from theorems.osa import OSA
from theorems.osa.definitions import (
    Alpha,
    Epsilon,
    KeyWeights,
    QueryWeights,
    Steps,
    Tokens,
    attention_matrix,
    cayley,
    newton_schulz_basis,
    newton_schulz_iterate,
    orthonormal_columns,
    queries_and_keys,
    skew_matrix,
)
from theorems.osa.experiments import decided_at_the_experiments
from theorems.osa.low_rank import Basis, Coordinates, NonzeroAlpha, attention_matrix_in_basis
from verify.arithmetics import is_tensor
from verify.matrix import (
    concatenate,
    diag,
    expm,
    eye,
    frobenius_norm,
    maximum,
    ones,
    rational,
    singular_values,
    smallest_singular_value,
    spectral_norm,
    sqrt,
    zeros,
)
from verify.oracles import LawTest, jacobian, proportion_test
from verify.vocabulary import (
    Assumption,
    AtMost,
    Claim,
    Equal,
    FollowsLaw,
    HasStructure,
    QuadraticRate,
    Shape,
    Size,
    TendsTo,
    subject,
)

Matrix = Annotated[Any, Shape("N", "m")]
LeftFrame = Annotated[Any, Shape("N", "N")]
RightFrame = Annotated[Any, Shape("m", "m")]
Parameters = Annotated[Any, Shape("k", "1")]
Coordinate = Annotated[Any, Shape("1", "1")]


def stacked(*scalars: Any) -> Any:
    """Scalars as a vector, shape (number of scalars,)."""
    if is_tensor(scalars[0]):
        import torch

        return torch.stack(scalars)
    return np.array(scalars, dtype=object)


# -- the basis by reduced QR -------------------------------------------------------------------------------------------


@subject("osa.qr_basis")
def qr_basis(M: Matrix) -> Any:
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


QR_GRADIENT = Claim(
    OSA,
    "osa.qr-gradient",
    label="Section 2.3, text",
    statement=r"\text{reduced QR of } \mathbf{M} \text{ can suffer from exploding gradients when } \mathbf{M} \text{ is close"
    r" to rank deficient}",
    assumptions=["M = [u, u cos eta + v sin eta] with u, v orthonormal in R^N, N >= 3, 0 < eta <= pi/3"],
    relation=Equal(),
    sizes={"N": (3, 5)},
    expects="reading",
    reading="the spectral norm of d vec B / d vec M has no bound near some rank deficient matrix; for the stated family it is"
    " 1 / sigma_min(M)",
    note="For N = 2 the family does not explode: the second column of Q is then fixed by the first.",
)


@QR_GRADIENT.inputs
def nearly_parallel_columns(frame: LeftFrame, x: Coordinate) -> Any:
    uv = orthonormal_columns(frame, 2)
    t = rational(1, 2) / (1 + x * x)  # tan(eta / 2), at most 1/2
    combination = concatenate([eye(1) + 0 * t, 0 * t], axis=0), concatenate([1 - t * t, 2 * t], axis=0) / (1 + t * t)
    return {"M": uv @ concatenate(combination, axis=1)}


@QR_GRADIENT.formula
def qr_jacobian_norm(M: Matrix) -> Any:
    """||d vec Q / d vec M||_2 = 1 / sigma_min(M), a scalar, for M (N, 2) with unit columns at an angle eta <= pi/3, N >= 3."""
    return 1 / smallest_singular_value(M)


QR_GRADIENT.oracle(lambda M: spectral_norm(jacobian(qr_basis, "M")(M)))
QR_GRADIENT.mutant("1 / sigma_min^2", lambda M: 1 / smallest_singular_value(M) ** 2)
QR_GRADIENT.mutant("1 / r_22", lambda M: 1 / frobenius_norm(M[:, 1:] - M[:, :1] @ (M[:, :1].T @ M[:, 1:])))
QR_GRADIENT.mutant("condition number of M", lambda M: spectral_norm(M) / smallest_singular_value(M))


QR_FIRST_COLUMN = Claim(
    OSA,
    "osa.qr-first-column",
    label="Section 2.3, text",
    statement=r"\text{QR fixes the first column of } \mathbf{M} \text{ up to scaling: } \mathbf{B}_{:,1} \propto \mathbf{M}_{:,1}",
    assumptions=["M = B R, B with orthonormal columns, R upper triangular", "M has nonzero first column"],
    relation=HasStructure(),
    sizes={"N": (2, 5), "m": (2, 4)},
    where=lambda sizes: sizes["m"] <= sizes["N"],
    exact=True,
)


@QR_FIRST_COLUMN.inputs
def product_with_triangular_factor(frame: LeftFrame, factor: RightFrame) -> Any:
    m = factor.shape[0]
    B = orthonormal_columns(frame, m)
    columns = [concatenate([factor[: j + 1, j : j + 1], zeros(m - j - 1, 1)], axis=0) for j in range(m)]
    return {"B": B, "M": B @ concatenate(columns, axis=1)}


@QR_FIRST_COLUMN.formula
def first_basis_direction(M: Matrix) -> Any:
    """M_{:,1}, shape (N, 1): the direction of the first column of every QR basis of M (N, m)."""
    return M[:, :1]


@QR_FIRST_COLUMN.part("structure")
def parallel_to_first_column(value: Any, B: Matrix) -> Any:
    """Two vectors are parallel exactly if their 2 x 2 minors vanish."""
    return value @ B[:, :1].T - B[:, :1] @ value.T


QR_FIRST_COLUMN.mutant("last column", lambda M: M[:, -1:])
QR_FIRST_COLUMN.mutant("mean of the columns", lambda M: M @ ones(M.shape[1], 1) / M.shape[1])


# -- pre-normalisation -------------------------------------------------------------------------------------------------

PRENORMALISATION = Claim(
    OSA,
    "osa.ns-prenorm",
    label="Section 2.3, text",
    statement=r"\sigma_{\max}(\mathbf{M}) \le \|\mathbf{M}\|_F, \text{ hence } \mathbf{M}_0 = \frac{\mathbf{M}}"
    r"{\|\mathbf{M}\|_F+\epsilon} \text{ satisfies the singular value requirement}",
    assumptions=["eps > 0", "the requirement: sigma_i(M_0) < sqrt(3) for all i"],
    relation=AtMost(),
    sizes={"N": (1, 5), "m": (1, 4)},
    note="Full rank, the other requirement of convergence, is not M_0's to give: it has the rank of M.",
)


@PRENORMALISATION.formula
def singular_value_limits(M: Matrix, epsilon: Epsilon) -> Any:
    """||M||_F and sqrt(3), shape (2,), which sigma_max(M) and sigma_max(M / (||M||_F + epsilon)) do not exceed."""
    size = frobenius_norm(M)
    return stacked(size, 0 * size + sqrt(3))


PRENORMALISATION.oracle(lambda M, epsilon: stacked(spectral_norm(M), spectral_norm(newton_schulz_basis(M, 0, epsilon))))


@PRENORMALISATION.mutant("longest column instead of the Frobenius norm")
def _(M: Matrix, epsilon: Epsilon) -> Any:
    longest = maximum(sqrt((M * M).sum(0)))
    return stacked(longest, 0 * longest + sqrt(3))


PRENORMALISATION.mutant("requirement 1/sqrt(3)", "sqrt(3) -> 1 / sqrt(3)")


PRENORMALISED_FLOOR = Claim(
    OSA,
    "osa.ns-prenorm-floor",
    label="Section 2.3, what pre-normalisation costs",
    statement=r"\min_i \sigma_i(\mathbf{M}_K) \le g^{K}\big(\min(N, 2d_v)^{-1/2}\big), \quad g(s) = \tfrac12 s(3 - s^2),"
    r"\text{ for every } \mathbf{M}, \text{ since } \min_i\sigma_i(\mathbf{M}_0) \le \|\mathbf{M}_0\|_F/\sqrt{\min(N, 2d_v)}",
    assumptions=["M_0 = M / (||M||_F + eps), eps > 0"],
    relation=AtMost(),
    sizes={"N": (1, 4), "m": (1, 4), "K": (0, 4)},
    of_project=True,
    note="With 2 d_v = 32 and K = 6 (Appendix E) the smallest singular value of B is at most 0.988, for any tokens; equality"
    " (as eps tends to 0) needs the singular values of M to be equal.",
)
decided_at_the_experiments(PRENORMALISED_FLOOR)


@PRENORMALISED_FLOOR.inputs
def matrix_to_normalise(M: Matrix, epsilon: Epsilon, K: Steps) -> Any:
    return {"M": M, "epsilon": epsilon, "K": K}


@PRENORMALISED_FLOOR.formula
def best_smallest_singular_value(M: Matrix, K: Steps) -> Any:
    """g^K(1 / sqrt(min(N, m))), a scalar, with g(s) = s (3 - s^2) / 2."""
    s = 0 * M[:1, :1] + 1 / sqrt(min(M.shape))
    return _scalar_iterate(s, K)


def _scalar_iterate(s: Any, steps: int) -> Any:
    """g^K(s) for K = `steps`, shape that of s."""
    for _ in range(steps):
        s = s * (3 - s * s) * rational(1, 2)
    return s


PRENORMALISED_FLOOR.oracle(lambda M, K, epsilon: smallest_singular_value(newton_schulz_basis(M, K, epsilon)))


@PRENORMALISED_FLOOR.mutant("1 / (m N) instead of 1 / sqrt(min(N, m))")
def _(M: Matrix, K: Steps) -> Any:
    return _scalar_iterate(0 * M[:1, :1] + rational(1, M.shape[0] * M.shape[1]), K)


@PRENORMALISED_FLOOR.mutant("s (3 - s^2) / 3 instead of s (3 - s^2) / 2")
def _(M: Matrix, K: Steps) -> Any:
    s = 0 * M[:1, :1] + 1 / sqrt(min(M.shape))
    for _ in range(K):
        s = s * (3 - s * s) * rational(1, 3)
    return s


# -- the iterate as a function of M ------------------------------------------------------------------------------------

UNROLLED = Claim(
    OSA,
    "osa.ns-unroll",
    label="Section 2.3, text",
    statement=r"\mathbf{M}_K = \mathbf{M}\,h(\mathbf{M}^\top\mathbf{M}) \text{ for some polynomial } h",
    assumptions=["fixed K", "M_0 = M (Eq. (9))"],
    relation=Equal(),
    sizes={"N": (1, 4), "m": (1, 4), "K": (1, 3)},
    exact=True,
    note="h has degree (3^K - 1)/2.  After pre-normalisation its coefficients depend on ||M||_F, so that M is then M_0.",
)


@UNROLLED.formula
def newton_schulz_unrolled(M: Matrix, K: Steps) -> Any:
    """M h(M^T M), shape (N, m), with s h(s^2) the K-fold composition of s (3 - s^2) / 2; h by Horner's rule."""
    return M @ _polynomial(unrolled_coefficients(K), M.T @ M)


def unrolled_coefficients(steps: int) -> list[Fraction]:
    """The coefficients of h, that of the constant first: g^K(s) = s h(s^2), g(s) = s (3 - s^2) / 2, K = `steps`."""
    h = [Fraction(1)]
    for _ in range(steps):  # s h(s^2) becomes s h (3 - s^2 h^2) / 2
        square = _product(h, h)
        h = [a / 2 for a in _product(h, [Fraction(3), *(-a for a in square)])]
    return h


def _product(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
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
def _(M: Matrix, K: Steps) -> Any:
    step = _polynomial(unrolled_coefficients(1), M.T @ M)
    result = M @ step
    for _ in range(K):
        result = result @ step
    return result


@UNROLLED.mutant("constant term (3/2)^K halved")
def _(M: Matrix, K: Steps) -> Any:
    h = unrolled_coefficients(K)
    return M @ _polynomial([h[0] / 2, *h[1:]], M.T @ M)


# -- the polar factor --------------------------------------------------------------------------------------------------

NEAREST = Claim(
    OSA,
    "osa.polar-nearest",
    label="Section 2.3, text",
    statement=r"\mathbf{U} \text{ (polar factor) is the closest orthonormal matrix under the Frobenius norm to } \mathbf{M}",
    assumptions=[
        "orthonormal: with orthonormal columns, N >= 2 d_v",
        Assumption("M has full column rank", positive=lambda M: singular_values(M)[-1]),
    ],
    relation=AtMost(),
    sizes={"N": (1, 4), "m": (1, 3)},
    where=lambda sizes: sizes["m"] <= sizes["N"],
)


@NEAREST.inputs
def matrix_with_polar_factor(
    left: LeftFrame, right: RightFrame, x: Annotated[Any, Shape("m", "1")], rotation: LeftFrame
) -> Any:
    P, R, turn = cayley(left)[:, : x.shape[0]], cayley(right), cayley(rotation)
    U = P @ R.T
    # Rotations alone would reach only half of the orthonormal matrices where N = m.
    mirrored = concatenate([-U[:, :1], U[:, 1:]], axis=1)
    return {"M": P @ diag(rational(1, 16) + x * x) @ R.T, "U": U, "V": turn @ U, "V_mirrored": turn @ mirrored}


@NEAREST.formula
def distance_to_others(M: Matrix, V: Matrix, V_mirrored: Matrix) -> Any:
    """||M - V||_F for two V with orthonormal columns, of either determinant where N = m, shape (2,)."""
    return stacked(frobenius_norm(M - V), frobenius_norm(M - V_mirrored))


@NEAREST.oracle
def distance_to_polar_factor(M: Matrix, U: Matrix) -> Any:
    nearest = frobenius_norm(M - U)
    return stacked(nearest, nearest)


NEAREST.mutant("spectral norm on one side", "frobenius_norm -> spectral_norm")
NEAREST.mutant(
    "M's component along V instead of V", "V -> V @ (V.T @ M); V_mirrored -> V_mirrored @ (V_mirrored.T @ M)"
)


UNBIASED = Claim(
    OSA,
    "osa.ns-unbiased",
    label="Section 2.3, text",
    statement=r"\mathbf{U} \text{ is not biased towards any feature dimensions}",
    assumptions=["R in R^{2 d_v x 2 d_v} orthogonal"],
    relation=Equal(),
    sizes={"N": (1, 4), "m": (2, 4), "K": (1, 3)},
    expects="reading",
    reading="the map from M to the basis commutes with every orthogonal change of the feature dimensions, permutations among"
    " them: M_K(M R) = M_K(M) R for every K, hence in the limit U(M R) = U(M) R",
    uses=("osa.ns-convergence",),
    exact=True,
)


@UNBIASED.inputs
def matrix_and_rotation(M: Matrix, frame: RightFrame, K: Steps) -> Any:
    R = cayley(frame)
    # columns moved round and one reversed: determinants of either sign, as m is even or odd
    return {"M": M, "R": concatenate([R[:, 1:], -R[:, :1]], axis=1), "K": K}


@UNBIASED.formula
def newton_schulz_then_rotation(M: Matrix, R: RightFrame, K: Steps) -> Any:
    """M_K(M) R, shape (N, m), for an orthogonal R (m, m)."""
    return newton_schulz_iterate(M, K) @ R


UNBIASED.oracle(lambda M, R, K: newton_schulz_iterate(M @ R, K))
UNBIASED.mutant("inverse change of features", lambda M, R, K: newton_schulz_iterate(M, K) @ R.T)
UNBIASED.mutant("invariant instead of equivariant", lambda M, K: newton_schulz_iterate(M, K))


# -- how far the iterate moves with M ----------------------------------------------------------------------------------

STABLE = Claim(
    OSA,
    "osa.ns-stable",
    label="Section 2.3, text",
    statement=r"\text{Newton-Schulz is stable when } \mathbf{M} \text{ is close to being rank deficient}",
    assumptions=[
        "fixed K",
        Assumption("||M_0||_2 <= 1, by pre-normalisation", nonnegative=lambda M: 1 - spectral_norm(M)),
    ],
    relation=AtMost(),
    sizes={"N": (1, 3), "m": (1, 3), "k": (1, 3), "K": (1, 3)},
    where=lambda sizes: sizes["k"] == min(sizes["N"], sizes["m"]),
    expects="reading",
    reading="the spectral norm of d vec M_K / d vec M_0 is at most (3/2)^K whatever the singular values of M_0 in [0, 1]; the"
    " constant is best, and attained where M_0 = 0",
    note="Stable for a fixed K only: the constant grows without bound as the iteration converges.",
)


@STABLE.inputs
def matrix_within_the_unit_ball(left: LeftFrame, right: RightFrame, y: Parameters, K: Steps) -> Any:
    k = y.shape[0]
    s = 2 * y / (1 + y * y)  # covers [-1, 1]; a sign moves into a singular vector
    return {"M": cayley(left)[:, :k] @ diag(s) @ cayley(right)[:, :k].T, "K": K}


@STABLE.formula
def newton_schulz_jacobian_bound(K: Steps) -> Any:
    """(3/2)^K, a scalar: bounds ||d vec M_K / d vec M_0||_2 for ||M_0||_2 <= 1."""
    return rational(3**K, 2**K)


STABLE.oracle(lambda M, K: spectral_norm(jacobian(newton_schulz_iterate, "M")(M, K)))
STABLE.mutant("one step fewer", lambda K: rational(3 ** (K - 1), 2 ** (K - 1)))
STABLE.mutant("(5/4)^K", lambda K: rational(5**K, 4**K))


NEVER_ABOVE_ONE = Claim(
    OSA,
    "osa.ns-sv-at-most-1",
    label="F.3, text after Eq. (41)",
    statement=r"\text{singular values of } \mathbf{M}_0 \text{ are less than 1, and Newton-Schulz cannot increase singular values"
    r" in } (0,1] \text{ to more than } 1",
    assumptions=["B from Newton-Schulz (9) with M_0 = M/(||M||_F + eps), M = [X W^Q, X W^K], eps > 0, fixed K"],
    relation=AtMost(),
    sizes={"N": (1, 4), "m": (1, 3), "k": (1, 3), "K": (1, 4)},
    where=lambda sizes: sizes["k"] == min(sizes["N"], sizes["m"]),
    uses=("osa.ns-prenorm",),
    note="1 - g(s) = (1 - s)^2 (2 + s) / 2 for g(s) = s (3 - s^2) / 2.",
)
decided_at_the_experiments(NEVER_ABOVE_ONE, k=32)


@NEVER_ABOVE_ONE.inputs
def any_matrix_and_one_within_the_unit_ball(
    M: Matrix, epsilon: Epsilon, left: LeftFrame, right: RightFrame, y: Parameters, K: Steps
) -> Any:
    return {"M": M, "epsilon": epsilon, "start": matrix_within_the_unit_ball(left, right, y, K)["M"], "K": K}


@NEVER_ABOVE_ONE.formula
def singular_value_ceiling(M: Matrix, epsilon: Epsilon, start: Matrix) -> Any:
    """||M||_F / (||M||_F + epsilon), below 1, and 1, shape (2,): the ceilings of sigma_max(M_0) and of sigma_max(M_K)."""
    size = frobenius_norm(M)
    return stacked(size / (size + epsilon), 0 * size + 1)


@NEVER_ABOVE_ONE.oracle
def largest_singular_values_reached(M: Matrix, epsilon: Epsilon, start: Matrix, K: Steps) -> Any:
    return stacked(spectral_norm(newton_schulz_basis(M, 0, epsilon)), spectral_norm(newton_schulz_iterate(start, K)))


NEVER_ABOVE_ONE.mutant("not increased at all", "0 * size + 1 -> spectral_norm(start)")
NEVER_ABOVE_ONE.mutant("normalised by ||M||_F + 2 epsilon", "epsilon -> 2 * epsilon")


# -- gradients through the basis ---------------------------------------------------------------------------------------


def weight_gradient(layer: Any) -> Any:
    """The function that returns [d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), of an attention matrix A."""

    def gradient(**inputs: Any) -> Any:
        return concatenate([jacobian(layer, "W_Q")(**inputs), jacobian(layer, "W_K")(**inputs)], axis=1)

    return gradient


def attention_through_qr(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    """Eq. (6) with B the reduced QR basis of [Q, K], shape (N, N)."""
    return attention_matrix_in_basis(X, W_Q, W_K, alpha, qr_basis(queries_and_keys(X, W_Q, W_K)))


def attention_through_newton_schulz(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, K: int, epsilon: Any = None
) -> Any:
    """Eq. (6) with B = M_K from M_0 = [Q, K], divided by its Frobenius norm + epsilon if given, shape (N, N)."""
    M = queries_and_keys(X, W_Q, W_K)
    B = newton_schulz_iterate(M, K) if epsilon is None else newton_schulz_basis(M, K, epsilon)
    return attention_matrix_in_basis(X, W_Q, W_K, alpha, B)


INDEPENDENT_COLUMNS = Assumption(
    "the columns of [Q, K] are linearly independent",
    positive=lambda X, W_Q, W_K: smallest_singular_value(queries_and_keys(X, W_Q, W_K)),
)

GRADIENT_THROUGH_QR = Claim(
    OSA,
    "osa.gradient-through-qr",
    label="Section 2.3, gradient through reduced QR where [Q, K] has full column rank",
    statement=r"\frac{\partial}{\partial\mathbf{W}^{Q,K}}\big(\mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I})"
    r"\mathbf{B}^\top\big) = \frac{\partial\exp(\mathbf{S})}{\partial\mathbf{W}^{Q,K}} \text{ with } \mathbf{B} ="
    r" \mathbf{B}([\mathbf{Q},\mathbf{K}]) \text{ from reduced QR differentiated along}",
    assumptions=[INDEPENDENT_COLUMNS],
    relation=Equal(),
    sizes={"N": (2, 4), "d": (2, 4), "m": (2, 4)},
    # m = 2 d_v
    where=lambda sizes: sizes["m"] % 2 == 0 and sizes["m"] <= min(sizes["N"], sizes["d"]),
    uses=("osa.thm-2.1-any-basis",),
    of_project=True,
)


@GRADIENT_THROUGH_QR.inputs
def tokens_with_independent_queries_and_keys(
    left: LeftFrame,
    right: RightFrame,
    x: Annotated[Any, Shape("m", "1")],
    mixing: Annotated[Any, Shape("d", "d")],
    E: Tokens,
    alpha: NonzeroAlpha,
) -> Any:
    s = (1 + x * x * rational(1, 1024)) / (1 + x * x)  # in (1/1024, 1]
    M = cayley(left)[:, : x.shape[0]] @ diag(s) @ cayley(right).T
    # alpha / 3 is rounded by balls too, so that exact cancellations in S, which floats miss, are none
    return {**_tokens_with_queries_and_keys(M, mixing, E), "alpha": alpha * rational(1, 3)}


def _tokens_with_queries_and_keys(M: Any, mixing: Any, E: Any) -> dict[str, Any]:
    """Tokens X (N, d) and weights with [X W_Q, X W_K] = M (N, m), m <= d; what [Q, K] leaves open of X is taken from E."""
    m, T = M.shape[1], cayley(mixing)
    return {"X": concatenate([M, E[:, m:]], axis=1) @ T.T, "W_Q": T[:, : m // 2], "W_K": T[:, m // 2 : m]}


@GRADIENT_THROUGH_QR.formula
def gradient_through_qr(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), of Eq. (6) with the QR basis of [Q, K]."""
    return weight_gradient(attention_through_qr)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha)


GRADIENT_THROUGH_QR.oracle(
    lambda X, W_Q, W_K, alpha: weight_gradient(attention_matrix)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha)
)


@GRADIENT_THROUGH_QR.mutant("last factor B^T held constant")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    constant = qr_basis(queries_and_keys(X, W_Q, W_K))

    def half_differentiated(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
        B = qr_basis(queries_and_keys(X, W_Q, W_K))
        return B @ (expm(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B) - eye(B.shape[1])) @ constant.T

    return weight_gradient(half_differentiated)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha)


GRADIENT_THROUGH_QR.mutant("exponential of -[S]", "alpha -> -alpha")


CONSTANT_BASIS = Claim(
    OSA,
    "osa.gradient-constant-basis",
    label="Eq. (6) with the basis held constant",
    statement=r"\frac{\partial\exp(\mathbf{S})}{\partial\mathbf{W}^{Q,K}} = \frac{\partial}{\partial\mathbf{W}^{Q,K}}\big("
    r"\mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I})\mathbf{B}^\top\big) \text{ with } \mathbf{B} \text{ held constant}",
    assumptions=[
        Assumption("the columns of B are orthonormal", zero=lambda B: B.T @ B - eye(B.shape[1])),
        Assumption(
            "their span contains the columns of Q and K",
            zero=lambda X, W_Q, W_K, B: queries_and_keys(X, W_Q, W_K) - B @ (B.T @ queries_and_keys(X, W_Q, W_K)),
        ),
    ],
    relation=Equal(),
    sizes={"N": (2, 3), "d": (2, 3), "m": (2, 3)},
    # m = 2 d_v columns of B
    where=lambda sizes: sizes["m"] % 2 == 0 and sizes["m"] <= min(sizes["N"], sizes["d"]),
    expects="refuted",
    severity="error",
    correction="osa.gradient-constant-basis-of-tokens",
    of_project=True,
    note="What detaching the basis computes: values are right, gradients are not, unless B has room for all tokens.",
)


@CONSTANT_BASIS.inputs
def tokens_whose_queries_and_keys_lie_in_basis(
    frame: LeftFrame,
    factor: Annotated[Any, Shape("m", "m")],
    mixing: Annotated[Any, Shape("d", "d")],
    E: Tokens,
    alpha: NonzeroAlpha,
) -> Any:
    B = orthonormal_columns(frame, factor.shape[0])
    return {**_tokens_with_queries_and_keys(B @ factor, mixing, E), "alpha": alpha * rational(1, 3), "B": B}


@CONSTANT_BASIS.formula
def gradient_in_constant_basis(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), of Eq. (6) with B (N, r) held constant."""
    return weight_gradient(attention_matrix_in_basis)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha, B=B)


@CONSTANT_BASIS.oracle
def gradient_of_the_exponential_again(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    return weight_gradient(attention_matrix)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha)


@CONSTANT_BASIS.counterexample("three tokens e_1, e_2, e_3, query weights e_1, key weights e_2: B knows nothing of e_3")
def third_token_outside_the_basis() -> dict[str, Any]:
    X = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    return {"X": X, "W_Q": [[1], [0], [0]], "W_K": [[0], [1], [0]], "alpha": 1, "B": [[1, 0], [0, 1], [0, 0]]}


BASIS_OF_TOKENS = Claim(
    OSA,
    "osa.gradient-constant-basis-of-tokens",
    label="Eq. (6) with a constant basis of the tokens",
    statement=r"\frac{\partial\exp(\mathbf{S})}{\partial\mathbf{W}^{Q,K}} = \frac{\partial}{\partial\mathbf{W}^{Q,K}}\big("
    r"\mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I})\mathbf{B}^\top\big) \text{ with } \mathbf{B} \text{ held constant,"
    r" if the span of } \mathbf{B} \text{ contains the columns of } \mathbf{X}",
    assumptions=[
        Assumption("the columns of B are orthonormal", zero=lambda B: B.T @ B - eye(B.shape[1])),
        Assumption("their span contains the columns of X", zero=lambda X, B: X - B @ (B.T @ X)),
    ],
    relation=Equal(),
    sizes={"N": (2, 3), "d": (1, 3), "d_v": (1, 2), "r": (2, 3)},
    where=lambda sizes: sizes["r"] <= sizes["N"],
    corrects="osa.gradient-constant-basis",
    uses=("osa.thm-2.1-any-basis",),
    exact=True,
    of_project=True,
    note="The natural basis where 2 d_v >= d (h <= 2), or where [Q, K] is rank deficient: it does not depend on the weights.",
)


@BASIS_OF_TOKENS.inputs
def tokens_in_basis(
    frame: LeftFrame, C: Coordinates, W_Q: QueryWeights, W_K: KeyWeights, alpha: NonzeroAlpha
) -> dict[str, Any]:
    B = orthonormal_columns(frame, C.shape[0])
    return {"X": B @ C, "W_Q": W_Q, "W_K": W_K, "alpha": alpha * rational(1, 3), "B": B}


@BASIS_OF_TOKENS.formula
def gradient_in_basis_of_tokens(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), with a constant B (N, r) that spans X."""
    return weight_gradient(attention_matrix_in_basis)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha, B=B)


BASIS_OF_TOKENS.oracle(gradient_of_the_exponential_again)


def _constant_basis_mutants(claim: Claim) -> None:
    @claim.mutant("exponential of -[S]")
    def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
        return weight_gradient(attention_matrix_in_basis)(X=X, W_Q=W_Q, W_K=W_K, alpha=-alpha, B=B)

    @claim.mutant("W_Q and W_K exchanged")
    def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
        return weight_gradient(attention_matrix_in_basis)(X=X, W_Q=W_K, W_K=W_Q, alpha=alpha, B=B)


_constant_basis_mutants(CONSTANT_BASIS)
_constant_basis_mutants(BASIS_OF_TOKENS)


def _defect_of_singular_values(X: Any, W_Q: Any, W_K: Any) -> Any:
    """M M^T M - M for M = [Q, K]: zero exactly if every nonzero singular value of M is 1."""
    M = queries_and_keys(X, W_Q, W_K)
    return M @ M.T @ M - M


EVERY_SINGULAR_VALUE_ONE = Assumption("every nonzero singular value of [Q, K] is 1", zero=_defect_of_singular_values)

THROUGH_NEWTON_SCHULZ = Claim(
    OSA,
    "osa.gradient-through-newton-schulz",
    label="Section 2.3, gradient through converged Newton-Schulz iterates",
    statement=r"\text{Where Newton-Schulz has converged (all nonzero singular values of } \mathbf{M} = [\mathbf{Q},\mathbf{K}]"
    r"\text{ are } 1 \text{, so that } \mathbf{M}_K = \mathbf{M} \text{ and Eq. (6) gives } \exp(\mathbf{S})), \text{ the"
    r" gradient by } \mathbf{W}^{Q,K} \text{ of Eq. (6) through } \mathbf{B} = \mathbf{M}_K,\ K \ge 1, \text{ is that of }"
    r" \exp(\mathbf{S}), \text{ whatever the rank of } \mathbf{M}",
    assumptions=[EVERY_SINGULAR_VALUE_ONE],
    relation=Equal(),
    sizes={"N": (2, 3), "d": (2, 3), "d_v": (1, 1), "K": (1, 2)},
    expects="refuted",
    severity="error",
    correction="osa.gradient-through-newton-schulz-full-rank",
    of_project=True,
    note="The iterates move in the column space of M.  Where M is rank deficient, a change of the weights that enlarges it"
    " changes exp(S) at first order and leaves the layer as computed where it was; its gradient (correct for what is"
    " computed) is another one.  Where the rank of M is that of X, no change of weights enlarges the space.",
)


@THROUGH_NEWTON_SCHULZ.inputs
def tokens_with_orthonormal_queries_and_keys(
    frame: LeftFrame,
    mixing: Annotated[Any, Shape("d", "d")],
    E: Tokens,
    alpha: NonzeroAlpha,
    d_v: Annotated[int, Size("d_v")],
    K: Steps,
) -> Any:
    M = orthonormal_columns(frame, 2 * d_v)
    return {**_tokens_with_queries_and_keys(M, mixing, E), "alpha": alpha * rational(1, 3), "K": K}


@THROUGH_NEWTON_SCHULZ.formula
def gradient_through_newton_schulz(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, K: Steps) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), of Eq. (6) with B = M_K from M_0 = [Q, K]."""
    return weight_gradient(attention_through_newton_schulz)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha, K=K)


THROUGH_NEWTON_SCHULZ.oracle(gradient_of_the_exponential_again)


@THROUGH_NEWTON_SCHULZ.counterexample("parallel queries and keys, two tokens: every iterate keeps to the line of e_1")
def parallel_queries_and_keys() -> dict[str, Any]:
    W_Q, W_K = [[Fraction(3, 5)], [0]], [[Fraction(4, 5)], [0]]
    return {"X": [[1, 0], [0, 1]], "W_Q": W_Q, "W_K": W_K, "alpha": 1, "K": 1}


NEWTON_SCHULZ_FULL_RANK = Claim(
    OSA,
    "osa.gradient-through-newton-schulz-full-rank",
    label="Section 2.3, gradient through converged Newton-Schulz iterates of full column rank",
    statement=r"\text{If the columns of } \mathbf{M} = [\mathbf{Q},\mathbf{K}] \text{ are orthonormal, the gradient by }"
    r" \mathbf{W}^{Q,K} \text{ of Eq. (6) through } \mathbf{B} = \mathbf{M}_K,\ K \ge 1, \text{ is that of } \exp(\mathbf{S})",
    assumptions=[
        Assumption(
            "the columns of M = [Q, K] are orthonormal",
            zero=lambda X, W_Q, W_K: (
                queries_and_keys(X, W_Q, W_K).T @ queries_and_keys(X, W_Q, W_K) - eye(2 * W_Q.shape[1])
            ),
        )
    ],
    relation=Equal(),
    sizes={"N": (2, 4), "d": (2, 4), "d_v": (1, 2), "K": (1, 1)},
    where=lambda sizes: 2 * sizes["d_v"] <= min(sizes["N"], sizes["d"]),
    corrects="osa.gradient-through-newton-schulz",
    uses=("osa.thm-2.1-any-basis",),
    exact=True,
    of_project=True,
    note="One step restores orthonormal columns up to second order and leaves the column space where it is.",
)

NEWTON_SCHULZ_FULL_RANK.inputs(tokens_with_orthonormal_queries_and_keys)


@NEWTON_SCHULZ_FULL_RANK.formula
def gradient_through_newton_schulz_of_full_rank(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, K: Steps
) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), with B = M_K from M_0 = [Q, K] orthonormal."""
    return weight_gradient(attention_through_newton_schulz)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha, K=K)


NEWTON_SCHULZ_FULL_RANK.oracle(gradient_of_the_exponential_again)


def _newton_schulz_mutants(claim: Claim) -> None:
    @claim.mutant("no step, B = M")
    def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
        return weight_gradient(attention_through_newton_schulz)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha, K=0)

    @claim.mutant("exponential of -[S]")
    def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, K: Steps) -> Any:
        return weight_gradient(attention_through_newton_schulz)(X=X, W_Q=W_Q, W_K=W_K, alpha=-alpha, K=K)


NEWTON_SCHULZ_SPANNING = Claim(
    OSA,
    "osa.gradient-through-newton-schulz-spanning",
    label="Section 2.3, gradient through converged Newton-Schulz iterates that span the tokens",
    statement=r"\text{If all nonzero singular values of } \mathbf{M} = [\mathbf{Q},\mathbf{K}] \text{ are } 1 \text{ and its"
    r" column space is that of } \mathbf{X} \text{ (as it can be for } 2d_v \ge d \text{), the gradient by }"
    r" \mathbf{W}^{Q,K} \text{ of Eq. (6) through } \mathbf{B} = \mathbf{M}_K,\ K \ge 1, \text{ is that of } \exp(\mathbf{S})",
    assumptions=[
        EVERY_SINGULAR_VALUE_ONE,
        Assumption(
            "the columns of [Q, K] span those of X",
            zero=lambda X, W_Q, W_K: X - queries_and_keys(X, W_Q, W_K) @ (queries_and_keys(X, W_Q, W_K).T @ X),
        ),
    ],
    relation=Equal(),
    sizes={"N": (2, 3), "d": (2, 3), "m": (2, 4), "K": (1, 2)},
    # m = 2 d_v
    where=lambda sizes: sizes["m"] % 2 == 0 and sizes["d"] <= min(sizes["N"], sizes["m"]),
    uses=("osa.thm-2.1-any-basis",),
    exact=True,
    of_project=True,
    note="[Q, K] is rank deficient for 2 d_v > d, where reduced QR fails (osa.gradient-through-qr-rank-deficient).",
)


@NEWTON_SCHULZ_SPANNING.inputs
def tokens_spanned_by_queries_and_keys(
    left: LeftFrame, right: RightFrame, mixing: Annotated[Any, Shape("d", "d")], alpha: NonzeroAlpha, K: Steps
) -> Any:
    d, m = mixing.shape[0], right.shape[0]
    T = cayley(mixing)
    W = T.T @ cayley(right)[:d, :]  # X W has d singular values 1 and m - d zeros
    inputs = {"X": orthonormal_columns(left, d) @ T, "W_Q": W[:, : m // 2], "W_K": W[:, m // 2 :]}
    return {**inputs, "alpha": alpha * rational(1, 3), "K": K}


@NEWTON_SCHULZ_SPANNING.formula
def gradient_through_spanning_newton_schulz(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, K: Steps
) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), with B = M_K from an M_0 = [Q, K] that spans X."""
    return weight_gradient(attention_through_newton_schulz)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha, K=K)


NEWTON_SCHULZ_SPANNING.oracle(gradient_of_the_exponential_again)

_newton_schulz_mutants(THROUGH_NEWTON_SCHULZ)
_newton_schulz_mutants(NEWTON_SCHULZ_FULL_RANK)
_newton_schulz_mutants(NEWTON_SCHULZ_SPANNING)

NEWTON_SCHULZ_GRADIENT = Claim(
    OSA,
    "osa.gradient-through-newton-schulz-limit",
    label="Section 2.3, gradient through Newton-Schulz as K grows",
    statement=r"\text{If } [\mathbf{Q},\mathbf{K}] \text{ has full column rank, the gradient by } \mathbf{W}^{Q,K} \text{ of Eq."
    r" (6) through } \mathbf{B} = \mathbf{M}_K,\ \mathbf{M}_0 = [\mathbf{Q},\mathbf{K}]/(\|[\mathbf{Q},\mathbf{K}]\|_F +"
    r" \epsilon), \text{ tends to that of } \exp(\mathbf{S}) \text{ as } K \to \infty",
    assumptions=[INDEPENDENT_COLUMNS, "eps > 0"],
    # singular values of M_0 are at least 1/14: seven steps lift them to about 1
    relation=TendsTo(scales=tuple(range(4, 17)), rate=QuadraticRate()),
    sizes={"N": (2, 3), "d": (2, 3), "m": (2, 2)},
    uses=("osa.ns-convergence", "osa.gradient-through-newton-schulz-full-rank"),
    of_project=True,
)


@NEWTON_SCHULZ_GRADIENT.inputs
def tokens_with_known_singular_values(
    left: LeftFrame,
    right: RightFrame,
    x: Annotated[Any, Shape("m", "1")],
    mixing: Annotated[Any, Shape("d", "d")],
    E: Tokens,
    alpha: NonzeroAlpha,
    epsilon: Epsilon,
) -> Any:
    s = (1 + x * x * rational(1, 4)) / (1 + x * x)  # in (1/4, 1]
    M = cayley(left)[:, : x.shape[0]] @ diag(s) @ cayley(right).T
    return {**_tokens_with_queries_and_keys(M, mixing, E), "alpha": alpha * rational(1, 3), "epsilon": epsilon}


@NEWTON_SCHULZ_GRADIENT.formula
def gradient_by_weights(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    """[d vec exp(S) / d vec W_Q, d vec exp(S) / d vec W_K], shape (N^2, 2 d d_v)."""
    return weight_gradient(attention_matrix)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha)


@NEWTON_SCHULZ_GRADIENT.part("sequence")
def gradient_after_steps(scale: int, X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any) -> Any:
    return weight_gradient(attention_through_newton_schulz)(
        X=X, W_Q=W_Q, W_K=W_K, alpha=alpha, K=scale, epsilon=epsilon
    )


@NEWTON_SCHULZ_GRADIENT.mutant("basis held constant on the left")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha) -> Any:
    constant = qr_basis(queries_and_keys(X, W_Q, W_K))

    def half_differentiated(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
        B = qr_basis(queries_and_keys(X, W_Q, W_K))
        return constant @ (expm(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B) - eye(B.shape[1])) @ B.T

    return weight_gradient(half_differentiated)(X=X, W_Q=W_Q, W_K=W_K, alpha=alpha)


NEWTON_SCHULZ_GRADIENT.mutant("gradient of exp(-S)", "alpha -> -alpha")


QR_DEFICIENT = Claim(
    OSA,
    "osa.gradient-through-qr-rank-deficient",
    label="Section 2.3, automatic differentiation through reduced QR of a rank deficient [Q, K]",
    statement=r"\text{With } N \ge 2d_v > d \text{, so that } \operatorname{rank}[\mathbf{Q},\mathbf{K}] \le d < 2d_v \text{,"
    r" automatic differentiation of Eq. (6) through reduced QR gives the right values and gradients by } \mathbf{W}^{Q,K}"
    r"\text{ that are off by more than one percent}",
    assumptions=["Gaussian tokens and weights; a fixed Gaussian linear functional of A is differentiated"],
    relation=FollowsLaw(samples=400, instances=2),
    sizes={"N": (6, 8), "d": (3, 3), "d_v": (2, 3)},
    expects="empirical",
    observed="torch.linalg.qr on the CPU in float64; N = 6 to 8, d = 3, d_v = 2 or 3, alpha = 0.3, 400 draws each; R_ii of one"
    " rounding divides roundings of the same size.  N < 2 d_v does no harm by itself: with full row rank gradients are right.",
    of_project=True,
    note="h = 1 (d_v = d), the case of Section 2.4, is among these; osa.gradient-constant-basis-of-tokens is the way out.",
)


@QR_DEFICIENT.inputs
def layer_sizes(
    N: Annotated[int, Size("N")], d: Annotated[int, Size("d")], d_v: Annotated[int, Size("d_v")]
) -> dict[str, int]:
    return {"N": N, "d": d, "d_v": d_v}


@QR_DEFICIENT.formula
def errors_through_qr(N: int, d: int, d_v: int, generator: Any, samples: int) -> Any:
    """Relative errors of values and of weight gradients through torch.linalg.qr, shape (2, samples)."""
    return _errors(N, d, d_v, generator, samples, lambda M, X: M)


def _errors(N: int, d: int, d_v: int, generator: Any, samples: int, source: Any) -> Any:
    """Relative errors (values, gradients) of Eq. (6) against exp(S), B by reduced QR of `source` (of [Q, K] and X)."""
    import torch

    def gaussian(*shape: int) -> Any:
        return torch.randn(samples, *shape, generator=generator, dtype=torch.float64, device=generator.device)

    X, W_Q, W_K, functional = gaussian(N, d), gaussian(d, d_v), gaussian(d, d_v), gaussian(N, N)
    found = []
    for dense in (True, False):
        weights = [W_Q.clone().requires_grad_(), W_K.clone().requires_grad_()]
        Q, K = X @ weights[0], X @ weights[1]
        S = (Q @ K.mT - K @ Q.mT) * (0.3 / d_v**0.5)
        A = torch.matrix_exp(S)
        if not dense:
            B = torch.linalg.qr(source(torch.cat([Q, K], dim=-1), X)).Q
            identity = torch.eye(B.shape[-1], dtype=X.dtype, device=X.device)
            A = torch.eye(N, dtype=X.dtype, device=X.device) + B @ (torch.matrix_exp(B.mT @ S @ B) - identity) @ B.mT
        (A * functional).sum().backward()
        found.append([A.detach(), torch.cat([w.grad for w in weights], dim=-1)])
    return torch.stack(
        [
            ((a - b).flatten(1).norm(dim=1) / a.flatten(1).norm(dim=1)).nan_to_num(torch.inf)
            for a, b in zip(*found, strict=True)
        ]
    )


QR_DEFICIENT.mutant("QR of the tokens instead", source=lambda M, X: X)
QR_DEFICIENT.mutant("QR of d columns of [Q, K], which span the rest", "M -> M[..., :d]")


@QR_DEFICIENT.part("laws")
def values_right_gradients_wrong(formula: Any, generator: Any, samples: int, N: int, d: int, d_v: int) -> list[LawTest]:
    values, gradients = (error.cpu().numpy() for error in formula(N, d, d_v, generator, samples))
    return [
        proportion_test("values within 1e-9", values < 1e-9, 1.0),
        proportion_test("gradients off by more than one percent", gradients > 0.01, 1.0),
    ]
