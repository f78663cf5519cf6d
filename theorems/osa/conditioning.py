"""Conditioning of the Jacobian at initialisation: Appendices C.3, F.6 (its end) and F.7, Remark C.5, footnotes 2 and 4.

Gradient ascent attacks the bounds on J_1; what follows from them by Weyl's inequality is searched only.

Throughout W^V = U, W^O = V^T with U, V in V_{d_v}(R^d), and [W^Q, W^K] in V_{2 d_v}(R^d), 2 d_v <= d.  Every bound is
proved for all such weights, so their laws do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.definitions import (
    Alpha,
    Epsilon,
    KeyWeights,
    OutputWeights,
    QueryWeights,
    Steps,
    Tokens,
    ValueWeights,
    attention_matrix,
    cayley,
    newton_schulz_iterate,
    orthonormal_columns,
    skew_matrix,
)
from theorems.osa.experiments import decided_at_the_experiments
from theorems.osa.jacobian import (
    ORTHONORMAL_OUTPUTS,
    ORTHONORMAL_QUERIES_AND_KEYS,
    ORTHONORMAL_VALUES,
    AttentionMatrix,
    Frame,
    HeadSize,
    gram_defect,
    newton_schulz_attention_matrix,
    two_heads,
)
from theorems.osa.low_rank import (
    CONTAINS_QUERIES_AND_KEYS,
    ORTHONORMAL,
    Basis,
    attention_matrix_in_any_basis,
    tokens_with_wide_basis,
)
from theorems.osa.low_rank import Frame as TokenFrame
from verify.matrix import (
    COLUMN,
    absolute,
    column,
    concatenate,
    diag,
    effective_condition_number,
    exp,
    expm,
    eye,
    frobenius_norm,
    kron,
    maximum,
    rational,
    singular_values,
    smallest_singular_value,
    spectral_norm,
    sqrt,
    unvec_r,
    vec_r,
)
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Equal, HasStructure, Real, Shape

PositiveAlpha = Annotated[Any, Real(2.0**-8, 2.0)]
Share = Annotated[Any, Real(2.0**-8, 1.0)]
Decay = Annotated[Any, Real(0.0, 9.0)]
Margin = Annotated[Any, Real(0.0, 1.0)]
Columns = Annotated[Any, Shape("n", "r")]
Square = Annotated[Any, Shape("n", "n")]
Weights = Annotated[Any, Shape("r", "1")]

INITIALISED: list[str | Assumption] = [ORTHONORMAL_QUERIES_AND_KEYS, ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS]
NEWTON_SCHULZ = (
    "A = I + B (exp[S] - I) B^T with B from K Newton-Schulz steps on M / (||M||_F + eps), M = [X W^Q, X W^K]"
)
THE_CONSTANT = (
    "C = (2 + 4 sqrt 2) R^2 / sqrt(d_v) for ||X||_2 <= R: it depends on d_v and R alone, not on N, d, eps, K or the weights;"
    " alpha >= 0, or |alpha| in its place"
)


def small(sizes: Any) -> bool:
    """Sizes with 2 d_v <= d at which the N d singular values of J are enclosed quickly."""
    return two_heads(sizes) and sizes["N"] * sizes["d"] <= 8


#: For N = 1 the skew matrix S vanishes, A = 1 and J_1 = 0.
SIZES = {"N": (2, 3), "d": (2, 4), "d_v": (1, 2)}
SIZES_WITH_STEPS = {**SIZES, "K": (0, 3)}


def _weights(pair: Any, left: Any, right: Any, d_v: int) -> dict[str, Any]:
    """Orthonormal weights from three free (d, d) matrices."""
    W = orthonormal_columns(pair, 2 * d_v)
    V, O = orthonormal_columns(left, d_v), orthonormal_columns(right, d_v).T
    return {"W_Q": W[:, :d_v], "W_K": W[:, d_v:], "W_V": V, "W_O": O}


def initialised(
    X: Tokens,
    pair: Frame,
    left: Frame,
    right: Frame,
    alpha: Alpha,
    decay: Decay,
    epsilon: Epsilon,
    K: Steps,
    d_v: HeadSize,
) -> Any:
    """Tokens and initialised weights, alpha of either sign and of all sizes up to 2."""
    return {"X": X, **_weights(pair, left, right, d_v), "alpha": alpha * exp(-decay), "epsilon": epsilon, "K": K}


def initialised_with_small_alpha(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, epsilon: Epsilon, K: Steps, d_v: HeadSize
) -> Any:
    """Tokens and initialised weights, alpha > 0 with C alpha < share <= 1, so that C alpha < 1 whatever is drawn."""
    # 2 + 4 sqrt 2 < 8
    alpha = share * (sqrt(d_v) / 8) / (_square(frobenius_norm(X)) + rational(1, 256))
    return {"X": X, **_weights(pair, left, right, d_v), "alpha": alpha, "epsilon": epsilon, "K": K}


def initialised_with_moderate_alpha(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, epsilon: Epsilon, K: Steps, d_v: HeadSize
) -> Any:
    """Tokens and initialised weights, alpha > 0 up to where J_1 takes up the margin 1 - delta - ||J_1||_2, and beyond."""
    alpha = share * (sqrt(d_v) / 2) / (_square(frobenius_norm(X)) + rational(1, 256))
    return {"X": X, **_weights(pair, left, right, d_v), "alpha": alpha, "epsilon": epsilon, "K": K}


def _square(x: Any) -> Any:
    return x * x


def _attention(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int | None) -> Any:
    """The attention matrix: from K Newton-Schulz steps, or exp(S), which any QR basis gives, for K = None."""
    if K is None:
        return attention_matrix(X, W_Q, W_K, alpha)
    return newton_schulz_attention_matrix(X, W_Q, W_K, alpha, epsilon, K)


def _first_term(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any = None, K: int | None = None
) -> Any:
    """J_1 = (X W_V W_O (x) I_N)^T dvec A / dvec X, shape (N d, N d)."""
    dA = jacobian(lambda X: _attention(X, W_Q, W_K, alpha, epsilon, K), "X", COLUMN)(X)
    return kron(X @ W_V @ W_O, eye(X.shape[0])).T @ dA


def _second_term(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any = None, K: int | None = None
) -> Any:
    """J_2 = (W_V W_O)^T (x) A, shape (N d, N d)."""
    return kron((W_V @ W_O).T, _attention(X, W_Q, W_K, alpha, epsilon, K))


def _whole(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any = None, K: int | None = None
) -> Any:
    """J, shape (N d, N d), column-major, by differentiation of the layer."""
    return jacobian(lambda X: _attention(X, W_Q, W_K, alpha, epsilon, K) @ X @ W_V @ W_O, "X", COLUMN)(X)


def _largest_deviation(values: Any) -> Any:
    """max_i |sigma_i - 1|."""
    return maximum(absolute(values - 1))


def _delta(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """delta = max_i |sigma_i(A) - 1|, the smallest that Theorem C.4 allows."""
    return _largest_deviation(singular_values(newton_schulz_attention_matrix(X, W_Q, W_K, alpha, epsilon, K)))


def _unit(X: Any, W_V: Any, alpha: Any) -> Any:
    """||X||_2^2 alpha / sqrt(d_v), at least ||S||_2 for orthonormal [W_Q, W_K]."""
    return _square(spectral_norm(X)) * alpha * (1 / sqrt(W_V.shape[1]))


def _linear(X: Any, W_V: Any, alpha: Any) -> Any:
    """C alpha with R = ||X||_2: (2 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v)."""
    unit = _unit(X, W_V, alpha)
    return unit * 2 + unit * sqrt(32)


# -- J_2 and its singular values ---------------------------------------------------------------------------------------

J2_FORM = Claim(
    OSA,
    "osa.f7-j2-form",
    label="F.7, text",
    statement=r"\mathbf{J}_2=(\mathbf{W}^V\mathbf{W}^O)\otimes\mathbf{A}(\mathbf{X}), \text{ whose singular values are the"
    r" products of singular values of } \mathbf{W}^V\mathbf{W}^O \text{ and } \mathbf{A}",
    assumptions=["J_2 as in Theorem C.1", ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS],
    relation=Equal(),
    sizes={"N": (1, 3), "d": (2, 4), "d_v": (1, 2)},
    where=two_heads,
    expects="refuted",
    severity="slip",
    correction="osa.f7-j2-form-corrected",
    exact=True,
    note="A transpose is missing, (W^V W^O)^T in Eq. (13); the singular values are the same with and without it.",
)


@J2_FORM.inputs
def frozen_attention(
    A: AttentionMatrix,
    X: Tokens,
    left: Frame,
    right: Frame,
    d_v: HeadSize,
) -> Any:
    return {"A": A, "X": X, "W_V": orthonormal_columns(left, d_v), "W_O": orthonormal_columns(right, d_v).T}


@J2_FORM.formula
def second_term_as_printed(A: AttentionMatrix, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    """(W_V W_O) (x) A, shape (N d, N d) (F.7)."""
    return kron(W_V @ W_O, A)


J2_FORM.oracle(lambda A, X, W_V, W_O: jacobian(lambda X: A @ X @ W_V @ W_O, "X", COLUMN)(X))
J2_FORM.mutant("factors exchanged", lambda A, W_V, W_O: kron(A, W_V @ W_O))
J2_FORM.mutant("halved", lambda value: value * rational(1, 2))
J2_FORM.counterexample(
    "one token, d = 2: W^V W^O = e_1 e_2^T, while x W^V W^O depends on x_1 alone",
    A=[[1]],
    X=[[1, 0]],
    W_V=[[1], [0]],
    W_O=[[0, 1]],
)


J2_FORM_CORRECTED = Claim(
    OSA,
    "osa.f7-j2-form-corrected",
    label="F.7, J_2 with the transpose, and its singular values",
    statement=r"\mathbf{J}_2=(\mathbf{W}^V\mathbf{W}^O)^\top\otimes\mathbf{A}(\mathbf{X}), \text{ and its singular values are"
    r" the products of those of } \mathbf{W}^V\mathbf{W}^O \text{ and } \mathbf{A}: \quad"
    r" \operatorname{tr}(\mathbf{J}_2\mathbf{J}_2^\top)^k = \operatorname{tr}(\mathbf{W}\mathbf{W}^\top)^k \,"
    r" \operatorname{tr}(\mathbf{A}\mathbf{A}^\top)^k, \quad k = 1, \dots, Nd",
    assumptions=["J_2 as in Theorem C.1"],
    relation=Equal(),
    sizes={"N": (1, 2), "d": (1, 3), "d_v": (1, 2)},
    where=lambda sizes: sizes["d_v"] <= sizes["d"] and sizes["N"] * sizes["d"] <= 4,
    corrects="osa.f7-j2-form",
    exact=True,
    of_project=True,
    note="N d power sums determine N d numbers.",
)


@J2_FORM_CORRECTED.inputs
def frozen_head(A: AttentionMatrix, X: Tokens, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    return {"A": A, "X": X, "W_V": W_V, "W_O": W_O}


def _power_sums(G: Any, count: int) -> list[Any]:
    """tr G^k for k = 1, ..., count."""
    sums, power = [], G
    for _ in range(count):
        sums.append((power * eye(G.shape[0])).sum())
        power = power @ G
    return sums


def _products_of_power_sums(W: Any, A: Any) -> Any:
    n = W.shape[0] * A.shape[0]
    pairs = zip(_power_sums(W @ W.T, n), _power_sums(A @ A.T, n), strict=True)
    return column(*(w * a for w, a in pairs))


@J2_FORM_CORRECTED.formula
def second_term_and_power_sums(A: AttentionMatrix, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    """W^T (x) A for W = W_V W_O, and tr (W W^T)^k tr (A A^T)^k for k = 1, ..., N d, stacked in a column."""
    W = W_V @ W_O
    return concatenate([vec_r(kron(W.T, A)), _products_of_power_sums(W, A)], axis=0)


@J2_FORM_CORRECTED.oracle
def jacobian_and_its_power_sums(A: AttentionMatrix, X: Tokens, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    J = jacobian(lambda X: A @ X @ W_V @ W_O, "X", COLUMN)(X)
    return concatenate([vec_r(J), column(*_power_sums(J @ J.T, J.shape[0]))], axis=0)


J2_FORM_CORRECTED.mutant("not transposed, as printed", "W.T -> W")


@J2_FORM_CORRECTED.mutant("sums of singular values instead of products")
def _(A: AttentionMatrix, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    W = W_V @ W_O
    n = W.shape[0] * A.shape[0]
    pairs = zip(_power_sums(W @ W.T, n), _power_sums(A @ A.T, n), strict=True)
    return concatenate([vec_r(kron(W.T, A)), column(*(w + a for w, a in pairs))], axis=0)


EQUATION_98 = Claim(
    OSA,
    "osa.eq-98",
    label="Eq. (98), F.7",
    statement=r"\text{the non-zero singular values of } \mathbf{J}_2 \text{ satisfy }"
    r" \sigma_i(\mathbf{J}_2)\in[1-\delta,1+\delta]",
    assumptions=[
        ORTHONORMAL_VALUES,
        ORTHONORMAL_OUTPUTS,
        Assumption(
            "|sigma_i(A) - 1| <= delta",
            nonnegative=lambda A, delta: delta - _largest_deviation(singular_values(A)),
        ),
    ],
    relation=AtMost(),
    sizes={"N": (1, 3), "d": (2, 4), "d_v": (1, 2)},
    where=small,
    uses=("osa.c1-kappa", "osa.f7-j2-form-corrected"),
    note="For every N x N matrix A with these singular values.  Equality where some sigma_i(A) = 1 +- delta.",
)


@EQUATION_98.inputs
def attention_near_orthogonal(
    first: TokenFrame,
    second: TokenFrame,
    y: Annotated[Any, Shape("N", "1")],
    delta: Annotated[Any, Real(2.0**-8, 1 - 2.0**-8)],
    left: Frame,
    right: Frame,
    d_v: HeadSize,
) -> Any:
    deviations = 2 * y / (1 + y * y) * delta  # covers [-delta, delta]
    A = cayley(first) @ diag(1 + deviations) @ cayley(second)
    return {"A": A, "delta": delta, "W_V": orthonormal_columns(left, d_v), "W_O": orthonormal_columns(right, d_v).T}


@EQUATION_98.formula
def allowed_deviation(delta: Annotated[Any, Real(0.0, 1.0)]) -> Any:
    """delta, a scalar."""
    return delta


EQUATION_98.oracle(
    lambda A, W_V, W_O: _largest_deviation(singular_values(kron((W_V @ W_O).T, A))[: A.shape[0] * W_V.shape[1]])
)
EQUATION_98.mutant("delta / 2", lambda delta: delta * rational(1, 2))
EQUATION_98.mutant("delta^2", lambda delta: delta * delta)


C3_KAPPA_J2 = Claim(
    OSA,
    "osa.c3-kappa-j2",
    label="Appendix C.3, text",
    statement=r"\text{the condition number of } \mathbf{J}_2 \text{ is very close to (or exactly) } 1",
    assumptions=[
        *INITIALISED,
        "effective condition number",
        NEWTON_SCHULZ,
        Assumption(
            "delta = max_i |sigma_i(A) - 1| < 1",
            positive=lambda X, W_Q, W_K, alpha, epsilon, K: 1 - _delta(X, W_Q, W_K, alpha, epsilon, K),
        ),
    ],
    relation=AtMost(ascent=False),
    sizes=SIZES_WITH_STEPS,
    where=small,
    uses=("osa.c1-kappa", "osa.f7-j2-form-corrected"),
    expects="reading",
    reading="very close: kappa(J_2) <= (1 + delta)/(1 - delta) with |sigma_i(A) - 1| <= delta; exactly 1 for orthogonal A,"
    " where delta = 0",
)
C3_KAPPA_J2.inputs(initialised)


def _excess(t: Any) -> Any:
    """(1 + t) / (1 - t) - 1 = 2 t / (1 - t), without cancellation for small t."""
    return 2 * t / (1 - t)


@C3_KAPPA_J2.formula
def second_term_condition_bound(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    """(1 + delta) / (1 - delta) - 1 with delta = max_i |sigma_i(A) - 1|, a scalar: what bounds kappa(J_2) - 1."""
    return _excess(_delta(X, W_Q, W_K, alpha, epsilon, K))


@C3_KAPPA_J2.oracle
def second_term_condition_number(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    J_2 = _second_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return effective_condition_number(J_2, X.shape[0] * W_V.shape[1]) - 1


C3_KAPPA_J2.mutant(
    "delta / 2", "_delta(X, W_Q, W_K, alpha, epsilon, K) -> _delta(X, W_Q, W_K, alpha, epsilon, K) * rational(1, 2)"
)
C3_KAPPA_J2.mutant(
    "delta^2", lambda X, W_Q, W_K, alpha, epsilon, K: _excess(_square(_delta(X, W_Q, W_K, alpha, epsilon, K)))
)


# -- J_1 is linear in alpha --------------------------------------------------------------------------------------------

Factor = Annotated[Any, Shape("N", "m")]
Direction = Annotated[Any, Shape("N", "m")]

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
def normalised_factor(M: Factor, D: Direction, epsilon: Epsilon, K: Steps) -> Any:
    return {"M_0": M / (frobenius_norm(M) + epsilon), "D": D, "K": K}


@NEWTON_SCHULZ_DIFFERENTIAL.formula
def newton_schulz_differential_bound(D: Direction) -> Any:
    """sqrt 2 ||dM_0||_F, a scalar."""
    return frobenius_norm(D) * sqrt(2)


@NEWTON_SCHULZ_DIFFERENTIAL.oracle
def weighted_differentials(M_0: Factor, D: Direction, K: Steps) -> Any:
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
    OSA,
    "osa.thm-c.3",
    label="Theorem C.3, Eq. (15)",
    statement=r"\|\mathbf{J}_1(\mathbf{X})\|_2\le C\alpha,\quad C>0 \text{ some constant}",
    assumptions=[*INITIALISED, "||X||_2 bounded", NEWTON_SCHULZ, "alpha real (Section 2), a small number (text below)"],
    relation=AtMost(),
    sizes=SIZES_WITH_STEPS,
    where=small,
    uses=("osa.thm-c.1", "osa.thm-c.2", "osa.c1-kappa", "osa.newton-schulz-differential"),
    proof=("osa.eq-84", "osa.eq-86", "osa.eq-93", "osa.lemma-f.6", "osa.lemma-f.7", "osa.lemma-f.8", "osa.f6-orders"),
    expects="reading",
    reading=THE_CONSTANT,
    note="For alpha < 0 and J_1 != 0 the printed right-hand side is negative.  The printed chain gives a constant that grows"
    " like (3/2)^K / eps; here neither factor is left, because S = alpha/sqrt(d_v) M J M^T, J = [[0, I], [-I, 0]], lets every"
    " dB meet an M, and ||dB M^T||_F, ||dB^T M||_F <= sqrt 2 ||dX||_F (osa.newton-schulz-differential).  So E_1 and E_3 of"
    " Eq. (87) are at most sqrt 2 |alpha| ||X||_2 / sqrt(d_v) each, and E_2 at most 2 + 2 sqrt 2 times that unit.",
)
THEOREM_C3.inputs(initialised)


@THEOREM_C3.formula
def first_term_bound(X: Tokens, W_V: ValueWeights, alpha: Alpha) -> Any:
    """C |alpha| = (2 + 4 sqrt 2) ||X||_2^2 |alpha| / sqrt(d_v), a scalar, whatever K and eps."""
    return _linear(X, W_V, absolute(alpha))


@THEOREM_C3.oracle
def norm_of_first_term(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    return spectral_norm(_first_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))


THEOREM_C3.mutant("quadratic in alpha", lambda X, W_V, alpha: _linear(X, W_V, _square(alpha)))
THEOREM_C3.mutant("linear in ||X||_2", lambda value, X: value / spectral_norm(X))
THEOREM_C3.mutant("C / 10", lambda value: value * rational(1, 10))


NEAR_IDENTITY = Claim(
    OSA,
    "osa.c3-near-identity",
    label="Appendix C.3, text after Theorem C.3",
    statement=r"\text{small } \alpha \text{ sets } \mathbf{A}(\mathbf{X}) \text{ close to the identity at the start of"
    r" training}",
    assumptions=[ORTHONORMAL_QUERIES_AND_KEYS, "||X||_2 bounded", NEWTON_SCHULZ],
    relation=AtMost(),
    sizes=SIZES_WITH_STEPS,
    where=two_heads,
    expects="reading",
    reading="||A - I||_2 <= |alpha| ||X||_2^2 / sqrt(d_v), for A from Newton-Schulz and for A = exp(S) alike",
)
decided_at_the_experiments(NEAR_IDENTITY)
NEAR_IDENTITY.inputs(initialised)


@NEAR_IDENTITY.formula
def distance_from_identity_bound(X: Tokens, W_Q: QueryWeights, alpha: Alpha) -> Any:
    """|alpha| ||X||_2^2 / sqrt(d_v), a scalar."""
    return _unit(X, W_Q, absolute(alpha))


@NEAR_IDENTITY.oracle
def distances_from_identity(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    found = [_attention(X, W_Q, W_K, alpha, epsilon, steps) for steps in (K, None)]
    return column(*(spectral_norm(A - eye(X.shape[0])) for A in found))


NEAR_IDENTITY.mutant("halved", lambda value: value * rational(1, 2))
NEAR_IDENTITY.mutant("quadratic in alpha", lambda X, W_Q, alpha: distance_from_identity_bound(X, W_Q, alpha * alpha))


# -- singular values of J: F.7 -----------------------------------------------------------------------------------------

EQUATION_99 = Claim(
    OSA,
    "osa.eq-99",
    label="Eq. (99), F.7",
    statement=r"|\sigma_i(\mathbf{J})-\sigma_i(\mathbf{J}_2)|\le\|\mathbf{J}_1\|_2\le C\alpha",
    assumptions=["singular values ordered", *INITIALISED, NEWTON_SCHULZ, "||X||_2 bounded"],
    relation=AtMost(ascent=False),
    sizes=SIZES_WITH_STEPS,
    where=small,
    uses=("osa.thm-c.1", "osa.thm-c.3"),
    expects="reading",
    reading=THE_CONSTANT,
    note="Weyl's inequality for all N d ordered singular values, then Theorem C.3.",
)
EQUATION_99.inputs(initialised)


@EQUATION_99.formula
def perturbation_bounds(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    """||J_1||_2 and C |alpha|, shape (2, 1)."""
    J_1 = _first_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return column(spectral_norm(J_1), _linear(X, W_V, absolute(alpha)))


@EQUATION_99.oracle
def shifts_of_singular_values(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    J, J_2 = (term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K) for term in (_whole, _second_term))
    return column(maximum(absolute(singular_values(J) - singular_values(J_2))), spectral_norm(J - J_2))


def _shrunk(name: str, first: Any, second: Any) -> None:
    @EQUATION_99.mutant(name)
    def _(
        X: Tokens,
        W_Q: QueryWeights,
        W_K: KeyWeights,
        W_V: ValueWeights,
        W_O: OutputWeights,
        alpha: Alpha,
        epsilon: Epsilon,
        K: Steps,
    ) -> Any:
        J_1 = _first_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
        return column(spectral_norm(J_1) * first, _linear(X, W_V, absolute(alpha)) * second)


_shrunk("||J_1||_2 / 2", rational(1, 2), 1)
_shrunk("C / 10", 1, rational(1, 10))

JACOBIAN_RANGE = Claim(
    OSA,
    "osa.f7-range",
    label="F.7, the range of J",
    statement=r"\mathbf{J} = (\mathbf{X}\mathbf{W}^V\mathbf{W}^O\otimes\mathbf{I}_N)^\top \partial\mathbf{A} +"
    r" (\mathbf{W}^V\mathbf{W}^O)^\top\otimes\mathbf{A} = \big((\mathbf{W}^O)^\top\mathbf{W}^O \otimes \mathbf{I}_N\big)"
    r"\mathbf{J} \text{ for all matrices } \mathbf{A}, \partial\mathbf{A}: \text{ at most } N d_v \text{ of the } N d"
    r" \text{ singular values of } \mathbf{J} \text{ are not zero}",
    assumptions=[ORTHONORMAL_OUTPUTS],
    relation=Equal(),
    sizes={"N": (1, 2), "d": (1, 3), "d_v": (1, 2), "m": (1, 4), "n": (1, 6)},
    where=lambda sizes: (
        sizes["d_v"] <= sizes["d"] and sizes["m"] == sizes["N"] ** 2 and sizes["n"] == sizes["N"] * sizes["d"]
    ),
    exact=True,
    of_project=True,
    corrects="osa.f7-perturbation-alone",
    note="OSA(X) = A X W^V W^O has its rows in the row space of W^O, so J_1 cannot add small singular values to those of J_2.",
)

AttentionDerivative = Annotated[Any, Shape("m", "n")]


@JACOBIAN_RANGE.inputs
def free_derivative(
    X: Tokens, A: AttentionMatrix, dA: AttentionDerivative, W_V: ValueWeights, right: Frame, d_v: HeadSize
) -> Any:
    return {"X": X, "A": A, "dA": dA, "W_V": W_V, "W_O": orthonormal_columns(right, d_v).T}


def _sum_of_terms(X: Any, A: Any, dA: Any, W_V: Any, W_O: Any) -> Any:
    W = W_V @ W_O
    return kron(X @ W, eye(X.shape[0])).T @ dA + kron(W.T, A)


@JACOBIAN_RANGE.formula
def projected_jacobian(
    X: Tokens, A: AttentionMatrix, dA: AttentionDerivative, W_V: ValueWeights, W_O: OutputWeights
) -> Any:
    """(W_O^T W_O (x) I_N) J, shape (N d, N d), for J with any A (N, N) and any dA (N^2, N d)."""
    return kron(W_O.T @ W_O, eye(X.shape[0])) @ _sum_of_terms(X, A, dA, W_V, W_O)


JACOBIAN_RANGE.oracle(lambda X, A, dA, W_V, W_O: _sum_of_terms(X, A, dA, W_V, W_O))
JACOBIAN_RANGE.mutant("projection on the columns of W_V", "W_O.T @ W_O -> W_V @ W_V.T")


@JACOBIAN_RANGE.mutant("projection after J")
def _(X: Tokens, A: AttentionMatrix, dA: AttentionDerivative, W_V: ValueWeights, W_O: OutputWeights) -> Any:
    return _sum_of_terms(X, A, dA, W_V, W_O) @ kron(W_O.T @ W_O, eye(X.shape[0]))


JACOBIAN_RANGE.mutant(
    "factors of the projection exchanged", "W_O.T @ W_O -> eye(X.shape[0]); eye(X.shape[0]) -> W_O.T @ W_O"
)


def _first_norm(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """||J_1||_2, the least that C alpha can be (Theorem C.3)."""
    return spectral_norm(_first_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))


def _radius(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int, C: Any = 1, d: Any = 1
) -> Any:
    """delta + C alpha with C alpha = ||J_1||_2, each with a weight in which mutants differ."""
    delta = _delta(X, W_Q, W_K, alpha, epsilon, K)
    return delta * d + _first_norm(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K) * C


ASSUMPTIONS_OF_C4: list[str | Assumption] = [
    *INITIALISED,
    NEWTON_SCHULZ,
    "|sigma_i(A) - 1| <= delta, delta in [0, 1)",
    Assumption("alpha > 0", positive=lambda alpha: alpha),
    Assumption(
        "1 - delta - C alpha > 0",
        positive=lambda X, W_Q, W_K, W_V, W_O, alpha, epsilon, K: 1 - _radius(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K),
    ),
]
LEAST_CONSTANT = (
    "Checked with C alpha = ||J_1||_2 and delta = max_i |sigma_i(A) - 1|, the least that Eq. (15) and the assumption allow;"
    " both sides of what is claimed only move apart for larger ones."
)

PERTURBED = Claim(
    OSA,
    "osa.f7-perturbation-alone",
    label="F.7, what Weyl's inequality does not give",
    statement=r"\text{If the non-zero singular values of } \mathbf{J}_2 \text{ lie in } [1-\delta,1+\delta] \text{ and }"
    r" \|\mathbf{J}_1\|_2 < 1-\delta, \text{ the non-zero singular values of } \mathbf{J} = \mathbf{J}_1+\mathbf{J}_2"
    r" \text{ lie in } [1-\delta-\|\mathbf{J}_1\|_2, 1+\delta+\|\mathbf{J}_1\|_2]",
    assumptions=[
        Assumption(
            "J_2 = P diag(s) R^T with orthonormal columns in P and R",
            zero=lambda P, R: concatenate([gram_defect(P), gram_defect(R)], axis=0),
        ),
        Assumption("|s_i - 1| <= delta", nonnegative=lambda s, delta: delta - absolute(s - 1)),
        Assumption("||J_1||_2 < 1 - delta", positive=lambda J_1, delta: 1 - delta - spectral_norm(J_1)),
        Assumption(
            "J is nonsingular, so that all its singular values count",
            positive=lambda P, s, R, J_1: smallest_singular_value(P @ diag(s) @ R.T + J_1),
        ),
    ],
    relation=AtMost(),
    sizes={"n": (2, 3), "r": (1, 2)},
    where=lambda sizes: sizes["r"] < sizes["n"],
    expects="refuted",
    severity="error",
    correction="osa.f7-range",
    of_project=True,
    note="What F.7 draws from Eqs. (98) and (99).  A small J_1 makes small singular values of those of J_2 that are zero, and the"
    " effective condition number of Appendix C.1 jumps from that of J_2 to any size.  The J_1 of the layer does not, as its range"
    " is that of J_2 (osa.f7-range): an argument that the proof needs and does not give.",
)


@PERTURBED.inputs
def perturbed_matrix_of_low_rank(
    left: Square,
    right: Square,
    y: Weights,
    D: Square,
    share: Share,
) -> Any:
    delta = rational(1, 4)
    s = 1 + y / (1 + y * y) * delta
    size = share * rational(1, 2) / (frobenius_norm(D) + rational(1, 256))
    P, R = orthonormal_columns(left, y.shape[0]), orthonormal_columns(right, y.shape[0])
    return {"P": P, "s": s, "R": R, "J_1": D * size, "delta": delta + 0 * share}


@PERTURBED.formula
def radius_of_perturbed(J_1: Square, delta: Margin) -> Any:
    """delta + ||J_1||_2, a scalar."""
    return delta + spectral_norm(J_1)


PERTURBED.oracle(lambda P, s, R, J_1: _largest_deviation(singular_values(P @ diag(s) @ R.T + J_1)))
PERTURBED.mutant("||J_1||_2 dropped", lambda delta: delta)
PERTURBED.mutant("halved", lambda value: value * rational(1, 2))


@PERTURBED.counterexample("J_2 = diag(1, 0), J_1 = diag(0, 1/10): the singular value 1/10 is not in [9/10, 11/10]")
def small_second_value() -> dict[str, Any]:
    first = [[1], [0]]
    return {"P": first, "s": [[1]], "R": first, "J_1": [[0, 0], [0, "1/10"]], "delta": 0}


F7_INTERVAL = Claim(
    OSA,
    "osa.f7-interval",
    label="F.7, last lines",
    statement=r"\sigma_i(\mathbf{J})\in[1-\delta-C\alpha,1+\delta+C\alpha]; \text{ therefore }"
    r" \sigma_{\max}(\mathbf{J})\le1+\delta+C\alpha,\ \sigma_{\min}(\mathbf{J})\ge1-\delta-C\alpha",
    assumptions=ASSUMPTIONS_OF_C4,
    relation=AtMost(ascent=False),
    sizes=SIZES_WITH_STEPS,
    where=small,
    uses=("osa.eq-98", "osa.eq-99", "osa.f7-range"),
    presumes=("osa.f7-perturbation-alone",),
    expects="gap",
    reading="i runs over the N d_v non-zero singular values of J_2, of which Eq. (98) speaks; the other N (d - d_v) singular"
    " values of J are zero (osa.f7-range), and sigma_min, which is not defined, is the least non-zero one of Appendix C.1,"
    " sigma_min>0",
    note="For all N d singular values the interval would be wrong: one token, d = 2, d_v = 1 has J = W^T with the singular"
    f" values 1 and 0.  That J has no further, small non-zero ones does not follow from Eqs. (98) and (99).  {LEAST_CONSTANT}",
)
F7_INTERVAL.inputs(initialised_with_moderate_alpha)


def _jacobian_deviation(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int, count: int
) -> Any:
    """max |sigma_i(J) - 1| over the `count` largest singular values."""
    return _largest_deviation(singular_values(_whole(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))[:count])


@F7_INTERVAL.formula
def interval_radius(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: PositiveAlpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    """delta + C alpha with C alpha = ||J_1||_2, the half-width of the interval around 1, a scalar."""
    return _radius(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)


@F7_INTERVAL.oracle
def deviation_of_nonzero_singular_values(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: PositiveAlpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    return _jacobian_deviation(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K, X.shape[0] * W_V.shape[1])


def _c4_mutant(claim: Claim, name: str, result: Callable[[Any], Any], C: Any = 1, d: Any = 1) -> None:
    """A mutant with weights C and d of C alpha and delta in the radius, of which `result` makes the bound."""

    @claim.mutant(name)
    def _(
        X: Tokens,
        W_Q: QueryWeights,
        W_K: KeyWeights,
        W_V: ValueWeights,
        W_O: OutputWeights,
        alpha: PositiveAlpha,
        epsilon: Epsilon,
        K: Steps,
    ) -> Any:
        return result(_radius(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K, C=C, d=d))


def _itself(t: Any) -> Any:
    return t


_c4_mutant(F7_INTERVAL, "C alpha dropped", _itself, C=0)
_c4_mutant(F7_INTERVAL, "C / 2", _itself, C=rational(1, 2))
_c4_mutant(F7_INTERVAL, "delta dropped", _itself, d=0)

THEOREM_C4 = Claim(
    OSA,
    "osa.thm-c.4",
    label="Theorem C.4, Eq. (16)",
    statement=r"1\le\kappa(\mathbf{J}(\mathbf{X}))\le\frac{1+\delta+C\alpha}{1-\delta-C\alpha} \text{ for any } \alpha>0"
    r" \text{ such that } 1-\delta-C\alpha>0",
    assumptions=[*ASSUMPTIONS_OF_C4, "kappa = effective condition number of Appendix C.1"],
    relation=AtMost(ascent=False),
    sizes=SIZES_WITH_STEPS,
    where=small,
    uses=("osa.thm-c.3", "osa.f7-range"),
    presumes=("osa.f7-perturbation-alone",),
    proof=("osa.f7-j2-form", "osa.eq-98", "osa.eq-99", "osa.f7-interval"),
    expects="gap",
    note=f"{LEAST_CONSTANT}  The theorem stands; kappa takes the least non-zero singular value, and the printed proof, by Weyl's"
    " inequality, leaves out why J has no small ones where those of J_2 are zero: osa.f7-range supplies it.  The author would"
    " call that evident, as A X W^V W^O has its rows in the row space of W^O.",
)
THEOREM_C4.inputs(initialised_with_moderate_alpha)


def _condition_number(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int | None) -> Any:
    """sigma_max(J) over the N d_v-th singular value of J, the last that is not zero (osa.f7-range)."""
    J = _whole(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return effective_condition_number(J, X.shape[0] * W_V.shape[1])


def _bounds_of_16(t: Any) -> Any:
    """What bounds kappa - 1 and 1 - kappa for t = delta + C alpha."""
    return column(_excess(t), 0)


@THEOREM_C4.formula
def condition_number_bounds(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: PositiveAlpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    """(1 + delta + C alpha) / (1 - delta - C alpha) - 1 and 0, what bounds kappa - 1 and 1 - kappa (Eq. (16))."""
    return _bounds_of_16(_radius(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))


@THEOREM_C4.oracle
def condition_number_of_jacobian(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: PositiveAlpha,
    epsilon: Epsilon,
    K: Steps,
) -> Any:
    kappa = _condition_number(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return column(kappa - 1, 1 - kappa)


_c4_mutant(THEOREM_C4, "C alpha dropped", _bounds_of_16, C=0)
_c4_mutant(THEOREM_C4, "C / 4", _bounds_of_16, C=rational(1, 4))
_c4_mutant(THEOREM_C4, "delta dropped", _bounds_of_16, d=0)
_c4_mutant(THEOREM_C4, "(delta + C alpha)^2", lambda t: _bounds_of_16(t * t))

ARBITRARILY_CLOSE = Claim(
    OSA,
    "osa.c3-arbitrarily-close",
    label="Appendix C.3, text before Theorem C.4 and after Remark C.5",
    statement=r"\text{under our initialisation (Newton-Schulz converged well enough, } \alpha \text{ small, } K \text{ large"
    r" enough) the condition number of the Jacobian can be made arbitrarily close to } 1",
    assumptions=[
        *INITIALISED,
        NEWTON_SCHULZ,
        "single head",
        "effective condition number",
        Assumption("alpha > 0", positive=lambda alpha: alpha),
        Assumption("t < 1", positive=lambda X, W_V, alpha: 1 - _total_perturbation(X, W_V, alpha)),
    ],
    relation=AtMost(ascent=False),
    sizes=SIZES_WITH_STEPS,
    where=small,
    uses=("osa.thm-c.3", "osa.c3-near-identity", "osa.c1-kappa", "osa.f7-range"),
    expects="reading",
    reading="kappa(J) <= (1 + t)/(1 - t) with t = (3 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v) < 1: for bounded ||X||_2 and any K a"
    " small enough alpha brings kappa(J) as close to 1 as wanted, whether Newton-Schulz has converged or not",
    note="J = W^T (x) I + (J_1 + W^T (x) (A - I)), and the non-zero singular values of W^T (x) I are 1.",
)
ARBITRARILY_CLOSE.inputs(initialised_with_small_alpha)


def _total_perturbation(X: Any, W_V: Any, alpha: Any) -> Any:
    """(3 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v), at least ||J_1||_2 + ||A - I||_2."""
    return _linear(X, W_V, alpha) + _unit(X, W_V, alpha)


@ARBITRARILY_CLOSE.formula
def condition_number_excess_without_delta(X: Tokens, W_V: ValueWeights, alpha: PositiveAlpha) -> Any:
    """(1 + t) / (1 - t) - 1 with t = (3 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v), a scalar: what bounds kappa(J) - 1."""
    return _excess(_total_perturbation(X, W_V, alpha))


ARBITRARILY_CLOSE.oracle(
    lambda X, W_Q, W_K, W_V, W_O, alpha, epsilon, K: _condition_number(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K) - 1
)
ARBITRARILY_CLOSE.mutant("t^2", lambda X, W_V, alpha: _excess(_square(_total_perturbation(X, W_V, alpha))))
ARBITRARILY_CLOSE.mutant(
    "t / 100", lambda X, W_V, alpha: _excess(_total_perturbation(X, W_V, alpha) * rational(1, 100))
)


# -- QR instead of Newton-Schulz: footnote 4 and Remark C.5 ------------------------------------------------------------

FOOTNOTE_4 = Claim(
    OSA,
    "osa.fn-4",
    label="Footnote 4",
    statement=r"\text{if QR is used, } \sigma_i(\mathbf{A})=1 \text{ for all } i",
    assumptions=["B from reduced QR of M", ORTHONORMAL, CONTAINS_QUERIES_AND_KEYS],
    relation=HasStructure(),
    sizes={"N": (1, 4), "d": (1, 4), "d_v": (1, 2), "r": (1, 4)},
    where=lambda sizes: sizes["r"] <= sizes["N"] and sizes["d_v"] <= sizes["d"],
    uses=("osa.thm-2.1-any-basis",),
    note="Whatever orthonormal columns QR returns where those of M are dependent.",
)
FOOTNOTE_4.inputs(tokens_with_wide_basis)


@FOOTNOTE_4.formula
def attention_matrix_through_qr(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    """A = I_N + B (exp(B^T S B) - I_r) B^T, shape (N, N), for the B (N, r) of a reduced QR of [Q, K]."""
    return attention_matrix_in_any_basis(X, W_Q, W_K, alpha, B)


@FOOTNOTE_4.part("structure")
def all_singular_values_are_one(value: Any) -> Any:
    """A^T A - I."""
    return value.T @ value - eye(value.shape[0])


@FOOTNOTE_4.mutant("I_r not subtracted")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    return eye(B.shape[0]) + B @ expm(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B) @ B.T


@FOOTNOTE_4.mutant("first column of B doubled")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    B = concatenate([B[:, :1] * 2, B[:, 1:]], axis=1)
    return attention_matrix_in_any_basis(X, W_Q, W_K, alpha, B)


REMARK_C5 = Claim(
    OSA,
    "osa.rem-c.5",
    label="Remark C.5",
    statement=r"\text{a similar result should be available when } \mathbf{B} \text{ is computed using QR but would require more"
    r" assumptions on the properties of } \mathbf{M}",
    assumptions=[*INITIALISED, "||X||_2 bounded", "A = exp(S), which every QR basis gives (Theorem 2.1)"],
    relation=AtMost(),
    sizes=SIZES,
    where=small,
    uses=("osa.thm-2.1-any-basis", "osa.fn-4", "osa.thm-c.1", "osa.thm-c.2", "osa.c1-kappa"),
    expects="reading",
    reading="similar result: (15) with C = 2 R^2 / sqrt(d_v) for ||X||_2 <= R and |alpha| for alpha, and (16) with delta = 0"
    " (osa.rem-c.5-condition-number); more assumptions: that M has full column rank, where a QR basis can be differentiated"
    " at all.  Nothing else is needed, and C does not depend on how close to rank deficient M is",
    note="Checked for every M, of the function A(X) = exp(S): it does not depend on B, ||dvec A/dvec S||_2 <= 1 and"
    " ||dvec S/dvec X||_2 <= 2 |alpha| ||X||_2 / sqrt(d_v).  So the result itself needs no assumption on M; its computation by"
    " differentiating a QR does (osa.gradient-through-qr-rank-deficient).",
)


@REMARK_C5.inputs
def initialised_without_basis(
    X: Tokens, pair: Frame, left: Frame, right: Frame, alpha: Alpha, decay: Decay, d_v: HeadSize
) -> Any:
    return {"X": X, **_weights(pair, left, right, d_v), "alpha": alpha * exp(-decay)}


@REMARK_C5.formula
def first_term_bound_for_qr(X: Tokens, W_V: ValueWeights, alpha: Alpha) -> Any:
    """2 ||X||_2^2 |alpha| / sqrt(d_v), a scalar."""
    return _unit(X, W_V, absolute(alpha)) * 2


REMARK_C5.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: spectral_norm(_first_term(X, W_Q, W_K, W_V, W_O, alpha)))
REMARK_C5.mutant("C halved", lambda value: value * rational(1, 2))
REMARK_C5.mutant("quadratic in alpha", lambda X, W_V, alpha: first_term_bound_for_qr(X, W_V, alpha * alpha))
REMARK_C5.mutant("linear in ||X||_2", lambda value, X: value / spectral_norm(X))


REMARK_C5_CONDITION = Claim(
    OSA,
    "osa.rem-c.5-condition-number",
    label="Remark C.5, Theorem C.4 for QR",
    statement=r"\mathbf{A} = \exp(\mathbf{S}): \quad 1 \le \kappa(\mathbf{J}(\mathbf{X})) \le \frac{1 + C\alpha}{1 - C\alpha}"
    r" \text{ for } \alpha > 0,\ C\alpha < 1, \quad C = 2\|\mathbf{X}\|_2^2/\sqrt{d_v}",
    assumptions=[
        *INITIALISED,
        Assumption("alpha > 0", positive=lambda alpha: alpha),
        Assumption("C alpha < 1", positive=lambda X, W_V, alpha: 1 - _linear_for_qr(X, W_V, alpha)),
    ],
    relation=AtMost(ascent=False),
    sizes=SIZES,
    where=small,
    uses=("osa.rem-c.5", "osa.fn-4", "osa.f7-range"),
    of_project=True,
)


def _linear_for_qr(X: Any, W_V: Any, alpha: Any) -> Any:
    """C alpha = 2 ||X||_2^2 alpha / sqrt(d_v)."""
    return _unit(X, W_V, alpha) * 2


@REMARK_C5_CONDITION.inputs
def initialised_with_small_alpha_for_qr(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, d_v: HeadSize
) -> Any:
    alpha = share * (sqrt(d_v) / 2) / (_square(frobenius_norm(X)) + rational(1, 256))
    return {"X": X, **_weights(pair, left, right, d_v), "alpha": alpha}


@REMARK_C5_CONDITION.formula
def condition_number_excess_for_qr(X: Tokens, W_V: ValueWeights, alpha: PositiveAlpha) -> Any:
    """(1 + C alpha) / (1 - C alpha) - 1 with C = 2 ||X||_2^2 / sqrt(d_v), a scalar: what bounds kappa(J) - 1."""
    return _excess(_linear_for_qr(X, W_V, alpha))


REMARK_C5_CONDITION.oracle(
    lambda X, W_Q, W_K, W_V, W_O, alpha: _condition_number(X, W_Q, W_K, W_V, W_O, alpha, None, None) - 1
)
REMARK_C5_CONDITION.mutant("C / 4", lambda X, W_V, alpha: _excess(_linear_for_qr(X, W_V, alpha) * rational(1, 4)))
REMARK_C5_CONDITION.mutant("(C alpha)^2", lambda X, W_V, alpha: _excess(_square(_linear_for_qr(X, W_V, alpha))))


# -- a network of blocks: footnote 2 -----------------------------------------------------------------------------------

BLOCKS = [
    Assumption(
        "J_l = U_l diag(s_l) V_l^T with orthonormal columns",
        zero=lambda U_2, V_2, U_1, V_1: concatenate([gram_defect(F) for F in (U_2, V_2, U_1, V_1)], axis=0),
    ),
    Assumption("s_l > 0", positive=lambda s_2, s_1: concatenate([s_2, s_1], axis=0)),
    Assumption("J_2 J_1 has the rank of its factors", positive=lambda V_2, U_1: smallest_singular_value(V_2.T @ U_1)),
]

SIDE_BY_SIDE = Claim(
    OSA,
    "osa.fn-2-side-by-side",
    label="Footnote 2, of sub-blocks side by side",
    statement=r"\operatorname{rank}\mathbf{J}_1 = \operatorname{rank}\mathbf{J}_2 = n: \quad"
    r" \kappa([\mathbf{J}_1\ \mathbf{J}_2]) \le \max_l \kappa(\mathbf{J}_l)",
    assumptions=[
        "Jacobians by the parameters, as in Ji et al.: the network's has those of its sub-blocks side by side",
        Assumption(
            "the sub-blocks have full row rank",
            positive=lambda J_1, J_2: column(smallest_singular_value(J_1), smallest_singular_value(J_2)),
        ),
    ],
    relation=AtMost(),
    sizes={"n": (1, 3), "p": (1, 4), "q": (1, 4)},
    where=lambda sizes: sizes["n"] <= min(sizes["p"], sizes["q"]),
    of_project=True,
    note="Without full row rank it fails there too; Ji et al. say that it 'does not hold universally' (skipless.eq-6,"
    " skipless.eq-6-universal).",
)

WideBlock = Annotated[Any, Shape("n", "p")]
OtherWideBlock = Annotated[Any, Shape("n", "q")]
RowWeights = Annotated[Any, Shape("n", "1")]


@SIDE_BY_SIDE.inputs
def blocks_of_full_row_rank(
    first: Square,
    second: Square,
    third: Annotated[Any, Shape("p", "p")],
    fourth: Annotated[Any, Shape("q", "q")],
    s_1: RowWeights,
    s_2: RowWeights,
) -> Any:
    def block(left: Any, s: Any, right: Any) -> Any:
        return cayley(left) @ diag(s * s + rational(1, 4)) @ orthonormal_columns(right, s.shape[0]).T

    return {"J_1": block(first, s_1, third), "J_2": block(second, s_2, fourth)}


@SIDE_BY_SIDE.formula
def worse_of_two_blocks(J_1: WideBlock, J_2: OtherWideBlock) -> Any:
    """max(kappa(J_1), kappa(J_2)), a scalar, for J_1 (n, p) and J_2 (n, q) of rank n."""
    n = J_1.shape[0]
    return _larger(effective_condition_number(J_1, n), effective_condition_number(J_2, n))


SIDE_BY_SIDE.oracle(lambda J_1, J_2: effective_condition_number(concatenate([J_1, J_2], axis=1), J_1.shape[0]))


@SIDE_BY_SIDE.mutant("the better conditioned block")
def _(J_1: WideBlock, J_2: OtherWideBlock) -> Any:
    a, b = (effective_condition_number(J, J_1.shape[0]) for J in (J_1, J_2))
    return a + b - _larger(a, b)


SIDE_BY_SIDE.mutant("its square root", lambda value: sqrt(value))


FOOTNOTE_2 = Claim(
    OSA,
    "osa.fn-2",
    label="Footnote 2",
    statement=r"\text{Following the justification of Ji et al. (i.e. the conditioning of the full network Jacobian is bounded by"
    r" the worse-conditioned sub-block), it is reasonable to assume that this will improve the trainability and performance}",
    assumptions=[
        "Jacobians by the input, as that of Theorem C.1: the network's is the product of its sub-blocks'",
        *BLOCKS,
    ],
    relation=AtMost(),
    sizes={"n": (1, 3), "r": (1, 3)},
    where=lambda sizes: sizes["r"] <= sizes["n"],
    expects="refuted",
    severity="error",
    correction="osa.fn-2-product",
    doubt="Section 1 calls it an assumption, of Ji et al., whose network Jacobian, by the parameters, has its sub-blocks side by"
    " side: there it is a theorem for full row rank (osa.fn-2-side-by-side). That theirs is meant is not said; every other Jacobian"
    " of the paper is by the input.",
    note="With the effective condition number of Appendix C.1.  Where blocks have low rank, as for h > 1, no function of the"
    " kappa(J_l) bounds kappa(J_2 J_1): two with kappa = 1 can have a product with any.",
)


def _blocks(frames: list[Any], s_2: Any, s_1: Any) -> dict[str, Any]:
    r = s_1.shape[0]
    names = dict(zip(("U_2", "V_2", "U_1", "V_1"), [orthonormal_columns(frame, r) for frame in frames], strict=True))
    return {**names, "s_2": s_2 * s_2 + rational(1, 4), "s_1": s_1 * s_1 + rational(1, 4)}


@FOOTNOTE_2.inputs
def two_blocks(first: Square, second: Square, third: Square, fourth: Square, s_2: Weights, s_1: Weights) -> Any:
    return _blocks([first, second, third, fourth], s_2, s_1)


def _block_condition(U: Any, s: Any, V: Any) -> Any:
    return effective_condition_number(U @ diag(s) @ V.T, s.shape[0])


def _larger(a: Any, b: Any) -> Any:
    return (a + b + absolute(a - b)) * rational(1, 2)


@FOOTNOTE_2.formula
def worse_condition_number(U_2: Columns, s_2: Weights, V_2: Columns, U_1: Columns, s_1: Weights, V_1: Columns) -> Any:
    """max_l kappa(J_l), a scalar, for J_l = U_l diag(s_l) V_l^T."""
    return _larger(_block_condition(U_2, s_2, V_2), _block_condition(U_1, s_1, V_1))


@FOOTNOTE_2.oracle
def condition_number_of_product(
    U_2: Columns, s_2: Weights, V_2: Columns, U_1: Columns, s_1: Weights, V_1: Columns
) -> Any:
    product = (U_2 @ diag(s_2) @ V_2.T) @ (U_1 @ diag(s_1) @ V_1.T)
    return effective_condition_number(product, s_1.shape[0])


@FOOTNOTE_2.mutant("the better conditioned block")
def _(U_2: Columns, s_2: Weights, V_2: Columns, U_1: Columns, s_1: Weights, V_1: Columns) -> Any:
    a, b = _block_condition(U_2, s_2, V_2), _block_condition(U_1, s_1, V_1)
    return a + b - _larger(a, b)


FOOTNOTE_2.mutant("its square root", lambda value: sqrt(value))


@FOOTNOTE_2.counterexample("J_1 = J_2 = diag(2, 1): the product has condition number 4")
def same_direction_twice() -> dict[str, Any]:
    identity = [[1, 0], [0, 1]]
    frames = {"U_2": identity, "V_2": identity, "U_1": identity, "V_1": identity}
    return {**frames, "s_2": [[2], [1]], "s_1": [[2], [1]]}


@FOOTNOTE_2.counterexample("two blocks of rank 2 with condition number 1: the product has condition number 5/3")
def tilted_planes() -> dict[str, Any]:
    plane, tilted = [[1, 0], [0, 1], [0, 0]], [[1, 0], [0, "3/5"], [0, "4/5"]]
    frames = {"U_2": plane, "V_2": plane, "U_1": tilted, "V_1": plane}
    return {**frames, "s_2": [[1], [1]], "s_1": [[1], [1]]}


FOOTNOTE_2_PRODUCT = Claim(
    OSA,
    "osa.fn-2-product",
    label="Footnote 2, with all that conditions the product",
    statement=r"\mathbf{J}_l = \mathbf{U}_l\operatorname{diag}(s_l)\mathbf{V}_l^\top \text{ of rank } r: \quad"
    r" \kappa(\mathbf{J}_2\mathbf{J}_1) \le \kappa(\mathbf{J}_2)\,\kappa(\mathbf{V}_2^\top\mathbf{U}_1)\,"
    r"\kappa(\mathbf{J}_1); \text{ the middle factor, of the angles between what one block reads and the other writes, is }"
    r" 1 \text{ for nonsingular blocks}",
    assumptions=["network Jacobian = product of sub-block Jacobians", *BLOCKS],
    relation=AtMost(),
    sizes={"n": (1, 3), "r": (1, 3)},
    where=lambda sizes: sizes["r"] <= sizes["n"],
    corrects="osa.fn-2",
    of_project=True,
)


@FOOTNOTE_2_PRODUCT.inputs
def two_blocks_again(first: Square, second: Square, third: Square, fourth: Square, s_2: Weights, s_1: Weights) -> Any:
    return _blocks([first, second, third, fourth], s_2, s_1)


@FOOTNOTE_2_PRODUCT.formula
def product_of_condition_numbers(
    U_2: Columns, s_2: Weights, V_2: Columns, U_1: Columns, s_1: Weights, V_1: Columns
) -> Any:
    """kappa(J_2) kappa(V_2^T U_1) kappa(J_1), a scalar."""
    angles = effective_condition_number(V_2.T @ U_1, s_1.shape[0])
    return _block_condition(U_2, s_2, V_2) * angles * _block_condition(U_1, s_1, V_1)


@FOOTNOTE_2_PRODUCT.oracle
def condition_number_of_product_again(
    U_2: Columns, s_2: Weights, V_2: Columns, U_1: Columns, s_1: Weights, V_1: Columns
) -> Any:
    product = (U_2 @ diag(s_2) @ V_2.T) @ (U_1 @ diag(s_1) @ V_1.T)
    return effective_condition_number(product, s_1.shape[0])


@FOOTNOTE_2_PRODUCT.mutant("angles ignored")
def _(U_2: Columns, s_2: Weights, V_2: Columns, U_1: Columns, s_1: Weights, V_1: Columns) -> Any:
    return _block_condition(U_2, s_2, V_2) * _block_condition(U_1, s_1, V_1)


@FOOTNOTE_2_PRODUCT.mutant("the worse block instead of the product")
def _(U_2: Columns, s_2: Weights, V_2: Columns, U_1: Columns, s_1: Weights, V_1: Columns) -> Any:
    angles = effective_condition_number(V_2.T @ U_1, s_1.shape[0])
    return _larger(_block_condition(U_2, s_2, V_2), _block_condition(U_1, s_1, V_1)) * angles
