"""F.6, Lemmas F.4 and F.5, Eqs. (64)-(76): the first links of dvec B / dvec X, from X to M_0 and from M_0 to B."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.definitions import (
    newton_schulz_basis, newton_schulz_iterate, orthonormal_columns, queries_and_keys, within_unit_ball,
)  # fmt: skip
from theorems.osa.part_2_1_low_rank_exponential.theorem_2_1 import elementary_symmetric
from theorems.osa.part_2_3_bases.bases import stacked
from theorems.osa.part_f_proofs.f6_lemmas_f_1_to_f_3 import (
    NONZERO, QUERIES_AND_KEYS, SIZES, WITH_BASIS, column_slope, initialised_with_epsilon, small,
    squared_norm,
)  # fmt: skip
from theorems.osa.settings import (
    FROM_NEWTON_SCHULZ, LEAST_BOUND, ORTHONORMAL_QUERIES_AND_KEYS, POSITIVE_EPSILON, orthonormal_queries_and_keys,
)  # fmt: skip
from theorems.osa.shapes import Epsilon, Factor, Key, Query, Rank, Square, Steps, TokenFrame, Tokens
from verify.matrix import (
    COLUMN, concatenate, diag, eye, frobenius_norm, ones, rational, singular_values, spectral_norm, sqrt, stepped, total,
    trace, unvec_r, vanishes, vec_c, vec_r,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Convention, Equal, Shape, realises

INNER_PRODUCT = Convention("column-major vec; vec M^T is the transpose of vec M", by=vec_c)

# -- Lemma F.4: from M_0 to B ------------------------------------------------------------------------------------------

LEMMA_F4 = Claim(WITH_BASIS, "osa.lemma-f.4", label="Lemma F.4, Eq. (64)", name="Jacobian of Newton-Schulz",
    statement=r"""\text{There exists some constant } C>0 \text{ such that }
        \left\|\frac{\partial\operatorname{vec}\mathbf{B}}{\partial\operatorname{vec}\mathbf{M}_0}\right\|_2\le C""",
    assumptions=[LEAST_BOUND, FROM_NEWTON_SCHULZ, POSITIVE_EPSILON],
    relation=AtMost(), all_sizes=True, sizes={**SIZES, "K": (0, 4)}, where=small, proof=("osa.eq-65-67",),
    note=r"""With $C = (3/2)^K$ for the fixed $K$ of Section 2.3: it depends on $K$ alone, not on $X$, the weights or
        $\epsilon$. In singular bases the differential is diagonal in pairs, with factors $(g(s) \mp g(t))/(s \mp
        t)$ and $g(s)/s$ for singular values $s$, $t$ in $[0, 1]$, $g$ the $K$-fold scalar map: concave on $[0,
        1]$, so all are at most $g'(0) = (3/2)^K$, reached as
        $M_0$ tends to 0. No constant serves all $K$.""",
)  # fmt: skip


@LEMMA_F4.formula
def basis_jacobian_bound(X: Tokens, K: Steps) -> Any:
    """(3/2)^K, a scalar."""
    return rational(3**K, 2**K)


@LEMMA_F4.oracle
def norm_of_basis_jacobian(X: Tokens, W_Q: Query, W_K: Key, epsilon: Epsilon, K: Steps) -> Any:
    M_0 = newton_schulz_basis(queries_and_keys(X, W_Q, W_K), 0, epsilon)
    return spectral_norm(jacobian(lambda M: newton_schulz_iterate(M, K), "M", COLUMN)(M_0))


LEMMA_F4.mutant("(5/4)^K", lambda K: rational(5**K, 4**K))
LEMMA_F4.mutant("3/2 for every K", numerator=3, denominator=2)

WITH_EPSILON = QUERIES_AND_KEYS.extended(assumptions=[POSITIVE_EPSILON], inputs=initialised_with_epsilon)

EQUATIONS_65_67 = Claim(WITH_EPSILON, "osa.eq-65-67", label="Eqs. (65)-(68), proof of Lemma F.4",
    statement=r"""
        \|\mathbf{M}_0\|_2\le\frac1\epsilon\|\mathbf{M}\|_2\le\frac1\epsilon\sqrt{\|\mathbf{X}\mathbf{W}^Q\|_2^2+\|\mathbf{X}\mathbf{W}^K\|_2^2}\le\frac{\sqrt2}{\epsilon}\|\mathbf{X}\|_2\le
        C_1, \text{ where } C_1>0 \text{ is some constant}""",
    name="norm of the normalised queries and keys", relation=AtMost(), all_sizes=True,
    note=r"So $C_1 = \sqrt2 R/\epsilon$ in Eq. (68) for $\|X\|_2 \le R$. $\|M_0\|_2 < 1$ needs no bound on $X$.",
)  # fmt: skip


def _root_sum(X: Any, W_Q: Any, W_K: Any) -> Any:
    """sqrt(||X W_Q||^2 + ||X W_K||^2), spectral norms."""
    q, k = spectral_norm(X @ W_Q), spectral_norm(X @ W_K)
    return sqrt(q * q + k * k)


@EQUATIONS_65_67.formula
def norm_chain(X: Tokens, W_Q: Query, W_K: Key, epsilon: Epsilon) -> Any:
    """||M||_2, sqrt(||X W_Q||_2^2 + ||X W_K||_2^2) and sqrt 2 ||X||_2, over epsilon, shape (3,) (Eqs. (65)-(67))."""
    largest = spectral_norm(queries_and_keys(X, W_Q, W_K))
    return stacked(largest / epsilon, _root_sum(X, W_Q, W_K) / epsilon, spectral_norm(X) * sqrt(2) / epsilon)


@EQUATIONS_65_67.oracle
def norm_chain_from_below(X: Tokens, W_Q: Query, W_K: Key, epsilon: Epsilon) -> Any:
    M = queries_and_keys(X, W_Q, W_K)
    M_0 = newton_schulz_basis(M, 0, epsilon)
    return stacked(spectral_norm(M_0), spectral_norm(M) / epsilon, _root_sum(X, W_Q, W_K) / epsilon)


EQUATIONS_65_67.mutant("sqrt 2 dropped", "spectral_norm(X) * sqrt(2) -> spectral_norm(X)")
EQUATIONS_65_67.mutant("norm of the queries alone", "_root_sum(X, W_Q, W_K) -> spectral_norm(X @ W_Q)")
EQUATIONS_65_67.mutant("2 epsilon in the first bound", "largest / epsilon -> largest / (2 * epsilon)")

UNIT_WEIGHTS = Claim(OSA, "osa.f4-lemma-weights", label="Proof of Lemma F.4, text after Eq. (68)",
    statement=r"\text{our initialisation ensures } \|\mathbf{W}^Q\|_2 = \|\mathbf{W}^K\|_2 = 1",
    assumptions=[ORTHONORMAL_QUERIES_AND_KEYS],
    name="norms of query and key weights as initialised", relation=Equal(), sizes={"d": (2, 5), "d_v": (1, 2)},
)  # fmt: skip
UNIT_WEIGHTS.inputs(orthonormal_queries_and_keys)


@UNIT_WEIGHTS.formula
def norms_of_query_and_key_weights(W_Q: Query, W_K: Key) -> Any:
    """||W_Q||_2 and ||W_K||_2, shape (2,)."""
    return stacked(spectral_norm(W_Q), spectral_norm(W_K))


UNIT_WEIGHTS.oracle(lambda W_Q: stacked(1 + 0 * total(W_Q), 1 + 0 * total(W_Q)))
UNIT_WEIGHTS.mutant("Frobenius norms", "spectral_norm -> frobenius_norm")
UNIT_WEIGHTS.mutant("norm of the sum", "spectral_norm(W_K) -> spectral_norm(W_Q + W_K)")

DIFFERENTIAL = Claim(OSA, "osa.f4-lemma-differential", label="Proof of Lemma F.4, last sentence",
    statement=r"""\text{as the output } \mathbf{B} = \mathbf{M}_K \text{ of Newton-Schultz can be expressed as a polynomial,
        then the matrix differential of } \mathbf{B} \text{ can be expressed in terms of some polynomial of }
        \mathbf{M}_0""",
    name="differential of Newton-Schulz", relation=Equal(), all_sizes=True, exact=True,
    sizes={"N": (1, 3), "m": (1, 3), "K": (0, 3)},
    note=r"""$\partial M_{k+1} = \frac12(3\,\partial M_k - \partial M_k\,M_k^\top M_k - M_k\,\partial M_k^\top M_k -
        M_kM_k^\top\partial M_k)$, with the $M_k$ themselves polynomials of $M_0$. A polynomial has no bound by itself:
        what bounds the Jacobian is $\|M_0\|_2 \le C_1$, Eq. (68).""",
)  # fmt: skip


@DIFFERENTIAL.inputs
def start_and_direction(M_0: Factor, D: Factor, K: Steps) -> dict[str, Any]:
    return {"M_0": within_unit_ball(M_0), "D": within_unit_ball(D), "K": K}


@DIFFERENTIAL.formula
def newton_schulz_differential(M_0: Factor, D: Factor, K: Steps) -> Any:
    """dM_K along dM_0 = D, shape (N, m), by the recursion of the differentials."""

    def both(k: int, M: Any, dM: Any) -> tuple[Any, Any]:
        moved = (3 * dM - dM @ M.T @ M - M @ dM.T @ M - M @ M.T @ dM) * rational(1, 2)
        return M @ (3 * eye(M.shape[1]) - M.T @ M) * rational(1, 2), moved

    return stepped(K, both, M_0, D)[1]


DIFFERENTIAL.oracle(
    lambda M_0, D, K: unvec_r(column_slope(lambda t: newton_schulz_iterate(M_0 + t * D, K), M_0), *M_0.shape)
)
DIFFERENTIAL.mutant("M_k^T held fixed", "M @ dM.T @ M -> 0 * dM")
DIFFERENTIAL.mutant("transposed differential", "M @ dM.T @ M -> M @ M.T @ dM")

# -- Lemma F.5: from X to M_0 ------------------------------------------------------------------------------------------

LEMMA_F5 = Claim(WITH_EPSILON, "osa.lemma-f.5", label="Lemma F.5, Eq. (69)", name="Jacobian of the normalisation",
    statement=r"""\text{There exists some constant } C>0 \text{ such that }
        \left\|\frac{\partial\operatorname{vec}\mathbf{M}_0}{\partial\operatorname{vec}\mathbf{X}}\right\|_2\le C""",
    assumptions=[LEAST_BOUND],
    relation=AtMost(), all_sizes=True, proof=("osa.f5-frobenius", "osa.eq-73", "osa.eq-76", "osa.f5-norms"), batched=False,
    note=r"""With $C = 1/\epsilon$; no bound on $\|X\|_2$ is needed.
        $\|\partial\operatorname{vec}M_0/\partial\operatorname{vec}M\|_2 = 1/(\|M\|_F + \epsilon)$, on directions
        orthogonal to $M$, and $\|\partial\operatorname{vec}M/\partial\operatorname{vec}X\|_2 = 1$. At $M = 0$, where
        Eq. (76) is undefined, $\|M_0 - M/\epsilon\| \le \|M\|^2/\epsilon^2$, so the derivative exists and is
        $1/\epsilon$ times $\partial\operatorname{vec}M/\partial\operatorname{vec}X$, of norm $1/\epsilon$; checked
        there in this form.""",
)  # fmt: skip


def _normalised(X: Any, W_Q: Any, W_K: Any, epsilon: Any) -> Any:
    """M_0, shape (N, 2 d_v)."""
    return newton_schulz_basis(queries_and_keys(X, W_Q, W_K), 0, epsilon)


@LEMMA_F5.formula
def normalisation_jacobian_bound(X: Tokens, epsilon: Epsilon) -> Any:
    """1 / epsilon, a scalar."""
    return 1 / epsilon


@LEMMA_F5.oracle
def norm_of_normalisation_jacobian(X: Tokens, W_Q: Query, W_K: Key, epsilon: Epsilon) -> Any:
    if vanishes(queries_and_keys(X, W_Q, W_K)):
        return spectral_norm(jacobian(queries_and_keys, "X", COLUMN)(X, W_Q, W_K)) / epsilon
    return spectral_norm(jacobian(_normalised, "X", COLUMN)(X, W_Q, W_K, epsilon))


@LEMMA_F5.domain("X = 0, where M = 0")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    arrays["X"] *= 0


LEMMA_F5.mutant("1 / (2 epsilon)", lambda epsilon: 1 / (2 * epsilon))
LEMMA_F5.mutant("1, whatever epsilon", lambda: 1)

FROBENIUS = Claim(OSA, "osa.f5-frobenius", label="Proof of Lemma F.5, text before Eq. (71)",
    statement=r"\|\mathbf{M}\|_F=\operatorname{tr}(\mathbf{M}^\top\mathbf{M})",
    name="Frobenius norm and trace", relation=Equal(), sizes={"N": (1, 4), "m": (1, 4)}, expects="refuted",
    severity="slip", correction="osa.f5-frobenius-corrected",
    note="The square is missing.  Eq. (71) differentiates the square root, rightly.",
)  # fmt: skip


@FROBENIUS.formula
def gram_trace(M: Factor) -> Any:
    """tr(M^T M), a scalar (proof of Lemma F.5)."""
    return trace(M.T @ M)


FROBENIUS.oracle(lambda M: frobenius_norm(M))
FROBENIUS.mutant("halved", lambda value: value * rational(1, 2))
FROBENIUS.mutant("||M||_2^2", lambda M: squared_norm(M))
FROBENIUS.counterexample("M = diag(3, 4): 5 against 25", M=[[3, 0], [0, 4]])

FROBENIUS_CORRECTED = Claim(OSA, "osa.f5-frobenius-corrected",
    label="Proof of Lemma F.5, text before Eq. (71), with the square", name="Frobenius norm and trace, corrected",
    statement=r"\|\mathbf{M}\|_F^2=\operatorname{tr}(\mathbf{M}^\top\mathbf{M})",
    relation=Equal(), all_sizes=True, sizes={"N": (1, 4), "m": (1, 4)}, corrects="osa.f5-frobenius", of_project=True,
    exact=True,
)  # fmt: skip


FROBENIUS_CORRECTED.formula(gram_trace)


FROBENIUS_CORRECTED.oracle(lambda M: total(M * M))
FROBENIUS_CORRECTED.mutant("sum of all entries of M^T M", lambda M: total(M.T @ M))
FROBENIUS_CORRECTED.mutant("first diagonal entry dropped", lambda value, M: value - total(M[:, :1] * M[:, :1]))

EQUATION_73 = Claim(OSA, "osa.eq-73", label="Eqs. (71)-(73), proof of Lemma F.5",
    statement=r"""
        \partial\frac1{\|\mathbf{M}\|_F+\epsilon}=-\frac1{(\|\mathbf{M}\|_F+\epsilon)^2}\frac1{2\|\mathbf{M}\|_F}\partial\operatorname{tr}(\mathbf{M}^\top\mathbf{M})=-\frac1{(\|\mathbf{M}\|_F+\epsilon)^2}\frac1{2\|\mathbf{M}\|_F}\operatorname{tr}(\partial\mathbf{M}^\top\mathbf{M}+\mathbf{M}^\top\partial\mathbf{M})=-\frac1{(\|\mathbf{M}\|_F+\epsilon)^2}\frac1{\|\mathbf{M}\|_F}\operatorname{tr}\mathbf{M}^\top\partial\mathbf{M}
        """,
    assumptions=[NONZERO, POSITIVE_EPSILON],
    name="differential of the reciprocal norm", relation=Equal(), at_sizes=True, sizes={"N": (1, 4), "m": (1, 3)},
)  # fmt: skip


@EQUATION_73.inputs
def matrix_and_direction(M: Factor, D: Factor, epsilon: Epsilon) -> dict[str, Any]:
    # thirds are rounded by balls too, which then see the cancellation in tr(M^T D) that floats suffer
    return {"M": M, "D": D * rational(1, 3), "epsilon": epsilon}


def _factor(M: Any, epsilon: Any) -> Any:
    """1 / ((||M||_F + epsilon)^2 ||M||_F)."""
    size = frobenius_norm(M)
    return 1 / ((size + epsilon) * (size + epsilon) * size)


def _three_members(M: Any, D: Any, epsilon: Any, factor: Any) -> Any:
    """Eqs. (71), (72), (73) with a given factor, shape (3, 1)."""
    growth = column_slope(lambda t: trace((M + t * D).T @ (M + t * D)), M)
    traces = trace(D.T @ M + M.T @ D), trace(M.T @ D)
    members = [growth * rational(1, 2), ones(1, 1) * traces[0] * rational(1, 2), ones(1, 1) * traces[1]]
    return concatenate(members, axis=0) * -factor


@EQUATION_73.formula
def reciprocal_differential(M: Factor, D: Factor, epsilon: Epsilon) -> Any:
    """The right-hand sides of Eqs. (71), (72) and (73) along dM = D, shape (3, 1)."""
    return _three_members(M, D, epsilon, _factor(M, epsilon))


@EQUATION_73.oracle
def reciprocal_slope(M: Factor, D: Factor, epsilon: Epsilon) -> Any:
    slope = column_slope(lambda t: 1 / (frobenius_norm(M + t * D) + epsilon), M)
    return concatenate([slope, slope, slope], axis=0)


EQUATION_73.mutant("sign reversed", lambda value: -value)
EQUATION_73.mutant("1/||M||_F dropped, as ||M||_F = tr(M^T M) would have it",
    lambda M, D, epsilon: _three_members(M, D, epsilon, _factor(M, epsilon) * frobenius_norm(M)))  # fmt: skip
EQUATION_73.mutant("||M||_F + epsilon not squared",
    "_factor(M, epsilon) -> _factor(M, epsilon) * (frobenius_norm(M) + epsilon)")  # fmt: skip

EQUATION_76 = Claim(OSA, "osa.eq-76", label="Eqs. (70), (74)-(76), proof of Lemma F.5",
    statement=r"""
        \partial\mathbf{M}_0=\frac1{\|\mathbf{M}\|_F+\epsilon}\partial\mathbf{M}+\mathbf{M}\partial\frac1{\|\mathbf{M}\|_F+\epsilon}=\frac1{\|\mathbf{M}\|_F+\epsilon}\partial\mathbf{M}-\frac1{(\|\mathbf{M}\|_F+\epsilon)^2}\frac1{\|\mathbf{M}\|_F}\mathbf{M}\operatorname{tr}\mathbf{M}^\top\partial\mathbf{M};\quad
        \partial\operatorname{vec}\mathbf{M}_0=\frac1{\|\mathbf{M}\|_F+\epsilon}\partial\operatorname{vec}\mathbf{M}-\frac1{(\|\mathbf{M}\|_F+\epsilon)^2}\frac1{\|\mathbf{M}\|_F}\operatorname{vec}\mathbf{M}\operatorname{vec}\mathbf{M}^\top\partial\operatorname{vec}\mathbf{M}
        \implies
        \frac{\partial\operatorname{vec}\mathbf{M}_0}{\partial\operatorname{vec}\mathbf{M}}=\frac1{\|\mathbf{M}\|_F+\epsilon}\mathbf{I}-\frac1{(\|\mathbf{M}\|_F+\epsilon)^2}\frac1{\|\mathbf{M}\|_F}\operatorname{vec}\mathbf{M}\operatorname{vec}\mathbf{M}^\top
        """,
    assumptions=[INNER_PRODUCT, NONZERO, POSITIVE_EPSILON],
    name="Jacobian of the normalisation by queries and keys", relation=Equal(), at_sizes=True,
    sizes={"N": (1, 3), "m": (1, 3)}, uses=("osa.eq-73",),
    note=r"As $M$ tends to 0 the second term vanishes and $I/\epsilon$ is left, the derivative at $M = 0$.",
)  # fmt: skip
EQUATION_76.inputs(matrix_and_direction)


def _jacobian_and_differential(M: Any, D: Any, epsilon: Any, v: Any, factor: Any, sign: int = -1) -> Any:
    """Eq. (76) for vec M = v, and vec of Eqs. (70) and (74) along D, side by side."""
    size = frobenius_norm(M) + epsilon
    J = eye(M.shape[0] * M.shape[1]) / size + v @ v.T * (factor * sign)
    product_rule = D / size + M * column_slope(lambda t: 1 / (frobenius_norm(M + t * D) + epsilon), M)
    differential = D / size + M * (trace(M.T @ D) * factor * sign)
    return concatenate([J, vec_c(product_rule), vec_c(differential)], axis=1)


@EQUATION_76.formula
def normalisation_jacobian(M: Factor, D: Factor, epsilon: Epsilon) -> Any:
    """The Jacobian (76) and, as two more columns, vec dM_0 of (70) and (74) along dM = D, shape (N m, N m + 2)."""
    return _jacobian_and_differential(M, D, epsilon, vec_c(M), _factor(M, epsilon))


@EQUATION_76.oracle
def jacobian_and_slope(M: Factor, D: Factor, epsilon: Epsilon) -> Any:
    J = jacobian(lambda M: newton_schulz_basis(M, 0, epsilon), "M", COLUMN)(M)
    slope = vec_c(unvec_r(column_slope(lambda t: newton_schulz_basis(M + t * D, 0, epsilon), M), *M.shape))
    return concatenate([J, slope, slope], axis=1)


EQUATION_76.mutant("rows stacked instead of columns",
    lambda M, D, epsilon: _jacobian_and_differential(M, D, epsilon, vec_r(M), _factor(M, epsilon)))  # fmt: skip
EQUATION_76.mutant("sum instead of difference", sign=1)
EQUATION_76.mutant("1/||M||_F dropped", "_factor(M, epsilon) -> _factor(M, epsilon) * frobenius_norm(M)")

TRACE = Claim(OSA, "osa.f5-trace", label="Proof of Lemma F.5, text after Eq. (76)", name="trace and inner product",
    statement=r"""\text{the trivial fact that } \operatorname{tr}\mathbf{M}^\top\partial\mathbf{M} =
        \operatorname{vec}\mathbf{M}^\top\partial\operatorname{vec}\mathbf{M}""",
    assumptions=[INNER_PRODUCT],
    relation=Equal(), all_sizes=True, sizes={"N": (1, 4), "m": (1, 4)}, exact=True,
)  # fmt: skip


@TRACE.formula
def product_of_vectors(M: Factor, D: Factor) -> Any:
    """(vec M)^T vec dM, shape (1, 1), column-major, for dM = D."""
    return vec_c(M).T @ vec_c(D)


TRACE.oracle(lambda M, D: ones(1, 1) * trace(M.T @ D))
TRACE.mutant("vec of the transpose", lambda M, D: vec_c(M).T @ vec_r(D))
TRACE.mutant("all entries of M^T dM", lambda M, D: ones(1, 1) * total(M.T @ D))

FROBENIUS_BOUND = Claim(OSA, "osa.f5-frobenius-bounded", label="Proof of Lemma F.5, last lines, of the Jacobian",
    statement=r"""\text{It is easy to see that the Frobenius norm of the Jacobian is bounded as we assume }
        \|\mathbf{M}\|_2 \text{ is bounded}""",
    assumptions=[NONZERO, POSITIVE_EPSILON],
    name="Frobenius norm of the normalisation's Jacobian", relation=AtMost(), sizes={"N": (1, 3), "m": (1, 3)},
    all_sizes=True,
    uses=("osa.eq-76",),
    note=r"""By $\sqrt{2Nd_v}/\epsilon$, which no bound of $M$ is needed for: in Eq. (76) all eigenvalues are
        $1/(\|M\|_F + \epsilon)$ but that of $\operatorname{vec}M$, which is smaller. Attained at $M = 0$, where Eq. (76)
        divides by 0 but the Jacobian is $I/\epsilon$.""",
)  # fmt: skip


@FROBENIUS_BOUND.formula
def frobenius_bound_of_normalisation(M: Factor, epsilon: Epsilon) -> Any:
    """sqrt(N m) / epsilon, a scalar, for M (N, m), m = 2 d_v."""
    return sqrt(M.shape[0] * M.shape[1]) / epsilon


@FROBENIUS_BOUND.oracle
def frobenius_norm_of_normalisation(M: Factor, epsilon: Epsilon) -> Any:
    return frobenius_norm(jacobian(lambda M: newton_schulz_basis(M, 0, epsilon), "M", COLUMN)(M))


@FROBENIUS_BOUND.domain("M near 0")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    arrays["M"] *= 2.0**-20


FROBENIUS_BOUND.mutant("halved", lambda value: value * rational(1, 2))
FROBENIUS_BOUND.mutant("1, whatever epsilon", lambda M: sqrt(M.shape[0] * M.shape[1]))

NORMS = Claim(OSA, "osa.f5-norms", label="Proof of Lemma F.5, last lines", name="spectral and Frobenius norm",
    statement=r"\|\mathbf{M}\|_2\le\|\mathbf{M}\|_F\le\sqrt{\operatorname{rank}(\mathbf{M})}\,\|\mathbf{M}\|_2",
    assumptions=[
        Assumption("rank M <= r", zero=lambda M, r: elementary_symmetric(M, r + 1) if r < min(M.shape) else 0 * total(M)),
        Assumption("rank M >= r", positive=lambda M, r: singular_values(M)[r - 1],
            sizes=lambda sizes: sizes["r"] <= min(sizes["N"], sizes["m"])),
    ],
    relation=AtMost(left="||M||_2 and ||M||_F"), sizes={"N": (1, 4), "m": (1, 4), "r": (1, 4)},
    note=r"Every matrix of rank $r \ge 1$ has this form; for $M = 0$ all members vanish.",
)  # fmt: skip


@NORMS.inputs
@realises(
    {"rank M <= r": ("M = U diag(s) V^T, its singular value decomposition, with r positive values")},
    but="no singular value is below 1/256; all three members are proportional to M, and a multiple of M has none",
)
def matrix_of_known_rank(
    left: TokenFrame, right: Square, y: Annotated[Any, Shape("r", "1")], r: Rank
) -> dict[str, Any]:
    s = y * y + rational(1, 256)
    return {"M": orthonormal_columns(left, r) @ diag(s) @ orthonormal_columns(right, r).T, "s": s, "r": r}


@NORMS.formula
def norm_equivalence(M: Factor, r: int) -> Any:
    """||M||_F and sqrt(r) ||M||_2, shape (2,), for M of rank r."""
    return stacked(frobenius_norm(M), spectral_norm(M) * sqrt(r))


NORMS.oracle(lambda M: stacked(spectral_norm(M), frobenius_norm(M)))
NORMS.mutant("fourth root of the rank", lambda M, r: stacked(frobenius_norm(M), sqrt(squared_norm(M) * sqrt(r))))
NORMS.mutant("1 / 100 less where the rank is not 1", "sqrt(r) -> sqrt(r) * (rational(99, 100) if r > 1 else 1)")
NORMS.mutant("||M||_F over the root of the rank", "frobenius_norm(M) -> frobenius_norm(M) / sqrt(r)")
