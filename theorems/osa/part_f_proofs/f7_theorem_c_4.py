"""F.7, the proof of Theorem C.4, Eqs. (98) and (99): the singular values of J_2, and of J by Weyl's inequality.

Weyl's inequality alone leaves open small singular values of J where those of J_2 are zero; the range of J settles it.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.osa import OSA
from theorems.osa.definitions import orthonormal_columns
from theorems.osa.part_c_initialisation.c3_theorem_c_3 import (
    AT_INITIALISATION, NEWTON_SCHULZ, ORTHONORMAL_WEIGHTS, THE_CONSTANT, first_jacobian_term, initialised_with_sign,
    largest_deviation_from_one, layer_jacobian, linear_bound, second_jacobian_term,
)  # fmt: skip
from theorems.osa.part_c_initialisation.c3_theorem_c_4 import ASSUMED_BY_C4, LEAST_CONSTANT, interval_half_width
from theorems.osa.settings import (
    LEAST_BOUND, NARROW_HEADS, ORTHONORMAL_OUTPUTS, ORTHONORMAL_VALUES, POSITIVE_ALPHA, gram_defect, two_heads,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, AttentionMatrix, Epsilon, Frame, HeadSize, Key, Output, PositiveAlpha, Query, Rectangle, Share, Steps,
    TokenFrame, Tokens, UnitInterval, Value,
)  # fmt: skip
from verify.matrix import (
    COLUMN, absolute, column, concatenate, diag, eye, frobenius_norm, kron, maximum, rational, singular_values,
    smallest_singular_value, spectral_norm, vec_r,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Convention, Definition, Equal, Real, Shape, realises

Columns = Annotated[Any, Shape("n", "r")]
Square = Annotated[Any, Shape("n", "n")]
Weights = Annotated[Any, Shape("r", "1")]
Deviation = Annotated[Any, Real(2.0**-8, 1 - 2.0**-8)]

# -- J_2 and its singular values ---------------------------------------------------------------------------------------

WITH_FROZEN_ATTENTION = Definition(
    "J_2 as in Theorem C.1: the Jacobian in X of A X W^V W^O with A held fixed", by=jacobian
)
J2_FORM = Claim(OSA, "osa.f7-j2-form", label="F.7, text", name="second Jacobian term and its singular values",
    statement=r"""\text{the singular values of } \mathbf{J}_2=(\mathbf{W}^V\mathbf{W}^O)\otimes\mathbf{A}(\mathbf{X})
        \text{ are the product of singular values of } \mathbf{W}^V\mathbf{W}^O \text{ and } \mathbf{A}""",
    assumptions=[WITH_FROZEN_ATTENTION, ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS],
    relation=Equal(), sizes={"N": (1, 3), "d": (2, 4), "d_v": (1, 2)}, where=two_heads, expects="refuted",
    severity="slip", correction="osa.f7-j2-form-corrected", exact=True,
    note=r"A transpose is missing, $(W^VW^O)^\top$ in Eq. (13); the singular values are the same with and without it.",
)  # fmt: skip


@J2_FORM.inputs
@realises({"W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def frozen_attention(A: AttentionMatrix, X: Tokens, left: Frame, right: Frame, d_v: HeadSize) -> Any:
    return {"A": A, "X": X, "W_V": orthonormal_columns(left, d_v), "W_O": orthonormal_columns(right, d_v).T}


@J2_FORM.formula
def second_term_as_printed(A: AttentionMatrix, W_V: Value, W_O: Output) -> Any:
    """(W_V W_O) (x) A, shape (N d, N d) (F.7)."""
    return kron(W_V @ W_O, A)


J2_FORM.oracle(lambda A, X, W_V, W_O: jacobian(lambda X: A @ X @ W_V @ W_O, "X", COLUMN)(X))
J2_FORM.mutant("factors exchanged", lambda A, W_V, W_O: kron(A, W_V @ W_O))
J2_FORM.mutant("halved", lambda value: value * rational(1, 2))
J2_FORM.counterexample("one token, d = 2: W^V W^O = e_1 e_2^T, while x W^V W^O depends on x_1 alone", A=[[1]],
    X=[[1, 0]], W_V=[[1], [0]], W_O=[[0, 1]])  # fmt: skip

J2_FORM_CORRECTED = Claim(OSA, "osa.f7-j2-form-corrected", label="F.7, J_2 with the transpose, and its singular values",
    statement=r"""\mathbf{J}_2=(\mathbf{W}^V\mathbf{W}^O)^\top\otimes\mathbf{A}(\mathbf{X}), \text{ and its singular
        values are the products of those of } \mathbf{W}^V\mathbf{W}^O \text{ and } \mathbf{A}: \quad \operatorname{tr}\big((
        \mathbf{J}_2\mathbf{J}_2^\top)^k\big) = \operatorname{tr}\big((\mathbf{W}\mathbf{W}^\top)^k\big) \,
        \operatorname{tr}\big((\mathbf{A}\mathbf{A}^\top)^k\big) \text{ for every } k = 1, \dots, Nd \text{ with } \mathbf{W}
        = \mathbf{W}^V\mathbf{W}^O""",
    assumptions=[WITH_FROZEN_ATTENTION, NARROW_HEADS],
    name="second Jacobian term and its singular values, corrected", relation=Equal(),
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 2)},
    where=lambda sizes: sizes["N"] * sizes["d"] <= 6,
    corrects="osa.f7-j2-form", exact=True, of_project=True,
    note="$N d$ power sums determine $N d$ numbers.",
)  # fmt: skip
J2_FORM_CORRECTED.inputs(A=AttentionMatrix, X=Tokens, W_V=Value, W_O=Output)


def _power_sums(G: Any, count: int) -> list[Any]:
    """tr G^k for k = 1, ..., count."""
    sums, power = [], G
    for _ in range(count):
        sums.append((power * eye(G.shape[0])).sum())
        power = power @ G
    return sums


def _products_of_power_sums(W: Any, A: Any, combine: Any = lambda w, a: w * a) -> Any:
    n = W.shape[0] * A.shape[0]
    pairs = zip(_power_sums(W @ W.T, n), _power_sums(A @ A.T, n), strict=True)
    return column(*(combine(w, a) for w, a in pairs))


@J2_FORM_CORRECTED.formula
def second_term_and_power_sums(A: AttentionMatrix, W_V: Value, W_O: Output) -> Any:
    """W^T (x) A for W = W_V W_O, and tr (W W^T)^k tr (A A^T)^k for k = 1, ..., N d, stacked in a column."""
    W = W_V @ W_O
    return concatenate([vec_r(kron(W.T, A)), _products_of_power_sums(W, A)], axis=0)


@J2_FORM_CORRECTED.oracle
def jacobian_and_its_power_sums(A: AttentionMatrix, X: Tokens, W_V: Value, W_O: Output) -> Any:
    J = jacobian(lambda X: A @ X @ W_V @ W_O, "X", COLUMN)(X)
    return concatenate([vec_r(J), column(*_power_sums(J @ J.T, J.shape[0]))], axis=0)


J2_FORM_CORRECTED.mutant("not transposed, as printed", "W.T -> W")
J2_FORM_CORRECTED.mutant("sums of singular values instead of products", combine=lambda w, a: w + a)

EQUATION_98 = Claim(OSA, "osa.eq-98", label="Eq. (98), F.7", name="singular values of the second Jacobian term",
    statement=r"""\text{the non-zero singular values of } \mathbf{J}_2 \text{ satisfy }
        \sigma_i(\mathbf{J}_2)\in[1-\delta,1+ \delta]""",
    assumptions=[
        ORTHONORMAL_VALUES,
        ORTHONORMAL_OUTPUTS,
        Assumption(
            "|sigma_i(A) - 1| <= delta",
            nonnegative=lambda A, delta: delta - largest_deviation_from_one(singular_values(A)),
        ),
    ],
    relation=AtMost(), sizes={"N": (1, 3), "d": (1, 4), "d_v": (1, 2)},
    where=lambda sizes: sizes["N"] * sizes["d_v"] <= 4, uses=("osa.c1-kappa", "osa.f7-j2-form-corrected"),
    note=r"""For every $N \times N$ matrix $A$ with these singular values. Equality where some $\sigma_i(A) = 1 \pm
        \delta$.""",
)  # fmt: skip


@EQUATION_98.inputs
@realises({"W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def attention_near_orthogonal(
    first: TokenFrame, second: TokenFrame, y: Annotated[Any, Shape("N", "1")],
    delta: Deviation, left: Frame, right: Frame, d_v: HeadSize,
) -> Any:  # fmt: skip
    deviations = 2 * y / (1 + y * y) * delta  # covers [-delta, delta]
    A = orthogonal_matrix(first) @ diag(1 + deviations) @ orthogonal_matrix(second)
    return {"A": A, "delta": delta, "W_V": orthonormal_columns(left, d_v), "W_O": orthonormal_columns(right, d_v).T}


@EQUATION_98.formula
def allowed_deviation(delta: UnitInterval) -> Any:
    """delta, a scalar."""
    return delta


EQUATION_98.oracle(
    lambda A, W_V, W_O: largest_deviation_from_one(singular_values(kron((W_V @ W_O).T, A))[: A.shape[0] * W_V.shape[1]])
)
EQUATION_98.mutant("delta / 2", lambda delta: delta * rational(1, 2))
EQUATION_98.mutant("delta^2", lambda delta: delta * delta)

# -- singular values of J: F.7 -----------------------------------------------------------------------------------------

EQUATION_99 = Claim(AT_INITIALISATION, "osa.eq-99", label="Eq. (99), F.7",
    statement=r"|\sigma_i(\mathbf{J})-\sigma_i(\mathbf{J}_2)|\le\|\mathbf{J}_1\|_2\le C\alpha",
    assumptions=[
        Convention("singular values in decreasing order", by=singular_values), *ORTHONORMAL_WEIGHTS, *NEWTON_SCHULZ,
        LEAST_BOUND, POSITIVE_ALPHA,
    ],
    name="singular values of the Jacobian by Weyl's inequality", relation=AtMost(ascent=False), all_sizes=True,
    hypotheses=ORTHONORMAL_WEIGHTS,
    uses=("osa.thm-c.1", "osa.thm-c.3"),
    note="Weyl's inequality for all $N d$ ordered singular values, then Theorem C.3, for the $\\alpha > 0$ of Theorem C.4. "
    + THE_CONSTANT,
)  # fmt: skip
EQUATION_99.inputs(initialised_with_sign)


@EQUATION_99.formula
def perturbation_bounds(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    """||J_1||_2 and C alpha, shape (2, 1) (Eq. (99))."""
    J_1 = first_jacobian_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return column(spectral_norm(J_1), linear_bound(X, W_V, alpha))


@EQUATION_99.oracle
def shifts_of_singular_values(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    J, J_2 = (term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K) for term in (layer_jacobian, second_jacobian_term))
    return column(maximum(absolute(singular_values(J) - singular_values(J_2))), spectral_norm(J - J_2))


EQUATION_99.mutant("||J_1||_2 / 2", "spectral_norm(J_1) -> spectral_norm(J_1) * rational(1, 2)")
EQUATION_99.mutant("C / 10", "linear_bound(X, W_V, alpha) -> linear_bound(X, W_V, alpha) * rational(1, 10)")

JACOBIAN_RANGE = Claim(OSA, "osa.f7-range", label="F.7, the range of J", name="range of the Jacobian",
    statement=r"""\mathbf{J} = (\mathbf{X}\mathbf{W}^V\mathbf{W}^O\otimes\mathbf{I}_N)^\top \partial\mathbf{A} +
        (\mathbf{W}^V\mathbf{W}^O)^\top\otimes\mathbf{A} = \big((\mathbf{W}^O)^\top\mathbf{W}^O \otimes
        \mathbf{I}_N\big)\mathbf{J} \text{ for all matrices } \mathbf{A}, \partial\mathbf{A}: \text{ at most } N d_v
        \text{ of the } N d \text{ singular values of } \mathbf{J} \text{ are not zero}""",
    assumptions=[
        ORTHONORMAL_OUTPUTS,
        Assumption("dA has m = N^2 rows and n = N d columns",
            sizes=lambda sizes: sizes["m"] == sizes["N"] ** 2 and sizes["n"] == sizes["N"] * sizes["d"]),
    ],
    relation=Equal(), at_sizes=True,
    sizes={"N": (1, 2), "d": (1, 3), "d_v": (1, 2), "m": (1, 4), "n": (1, 6)}, exact=True, of_project=True,
    note=r"""$\mathrm{OSA}(X) = AXW^VW^O$ has its rows in the row space of $W^O$, so $J_1$ cannot add small singular
        values to those of $J_2$.""",
)  # fmt: skip


@JACOBIAN_RANGE.inputs
@realises({"(W^O)^T = V in V": reached.FRAMES})
def free_derivative(X: Tokens, A: AttentionMatrix, dA: Rectangle, W_V: Value, right: Frame, d_v: HeadSize) -> Any:
    return {"X": X, "A": A, "dA": dA, "W_V": W_V, "W_O": orthonormal_columns(right, d_v).T}


def _sum_of_terms(X: Any, A: Any, dA: Any, W_V: Any, W_O: Any) -> Any:
    W = W_V @ W_O
    return kron(X @ W, eye(X.shape[0])).T @ dA + kron(W.T, A)


@JACOBIAN_RANGE.formula
def projected_jacobian(X: Tokens, A: AttentionMatrix, dA: Rectangle, W_V: Value, W_O: Output) -> Any:
    """(W_O^T W_O (x) I_N) J, shape (N d, N d), for J with any A (N, N) and any dA (N^2, N d)."""
    return kron(W_O.T @ W_O, eye(X.shape[0])) @ _sum_of_terms(X, A, dA, W_V, W_O)


JACOBIAN_RANGE.oracle(lambda X, A, dA, W_V, W_O: _sum_of_terms(X, A, dA, W_V, W_O))
JACOBIAN_RANGE.mutant("projection on the columns of W_V", "W_O.T @ W_O -> W_V @ W_V.T")
JACOBIAN_RANGE.mutant("projection after J",
    lambda X, A, dA, W_V, W_O: _sum_of_terms(X, A, dA, W_V, W_O) @ kron(W_O.T @ W_O, eye(len(X))))  # fmt: skip
JACOBIAN_RANGE.mutant("factors of the projection exchanged",
    "W_O.T @ W_O -> eye(X.shape[0]); eye(X.shape[0]) -> W_O.T @ W_O")  # fmt: skip

FACTORS_OF_J_2 = Assumption(
    "J_2 = P diag(s) R^T with a row s and orthonormal columns in P and R",
    zero=lambda P, R: concatenate([gram_defect(P), gram_defect(R)], axis=0),
)

PERTURBED = Claim(OSA, "osa.f7-perturbation-alone", label="F.7, what Weyl's inequality does not give",
    statement=r"""\text{If the non-zero singular values of } \mathbf{J}_2 \text{ lie in } [1-\delta,1+\delta] \text{ and
        } \|\mathbf{J}_1\|_2 < 1-\delta, \text{ the non-zero singular values of } \mathbf{J} = \mathbf{J}_1+\mathbf{J}_2
        \text{ lie in } [1-\delta-\|\mathbf{J}_1\|_2, 1+\delta+\|\mathbf{J}_1\|_2]""",
    assumptions=[
        FACTORS_OF_J_2,
        Assumption("|s_i - 1| <= delta", nonnegative=lambda s, delta: delta - absolute(s - 1)),
        Assumption("||J_1||_2 < 1 - delta", positive=lambda J_1, delta: 1 - delta - spectral_norm(J_1)),
        Assumption(
            "J is nonsingular, so that all its singular values count",
            positive=lambda P, s, R, J_1: smallest_singular_value(P @ diag(s) @ R.T + J_1),
        ),
    ],
    name="non-zero singular values under any perturbation",
    relation=AtMost(left="largest distance of a singular value from 1"), sizes={"n": (2, 3), "r": (1, 2)},
    where=lambda sizes: sizes["r"] < sizes["n"], expects="refuted", severity="error",
    correction="osa.f7-perturbation-in-range", of_project=True,
    note="""What F.7 draws from Eqs. (98) and (99), instead of osa.f7-interval-nonzero. A small $J_1$ makes small
        singular values of those of $J_2$ that are zero, and the effective condition number of Appendix C.1 jumps from
        that of $J_2$ to any size. The $J_1$ of the layer does not, as its range is that of $J_2$ (osa.f7-range): an
        argument that the proof needs and does not give.""",
)  # fmt: skip


@PERTURBED.inputs
@realises({"J_2 = P diag(s) R^T": reached.FRAMES})
def perturbed_matrix_of_low_rank(
    left: Square, right: Square, y: Weights, D: Square, share: Share, delta: Deviation
) -> Any:
    s = 1 + 2 * y / (1 + y * y) * delta  # covers [1 - delta, 1 + delta]
    size = share * (1 - delta) / (frobenius_norm(D) + rational(1, 256))
    P, R = orthonormal_columns(left, y.shape[0]), orthonormal_columns(right, y.shape[0])
    return {"P": P, "s": s, "R": R, "J_1": D * size, "delta": delta}


@PERTURBED.formula
def radius_of_perturbed(J_1: Square, delta: UnitInterval) -> Any:
    """delta + ||J_1||_2, a scalar."""
    return delta + spectral_norm(J_1)


PERTURBED.oracle(lambda P, s, R, J_1: largest_deviation_from_one(singular_values(P @ diag(s) @ R.T + J_1)))
PERTURBED.mutant("||J_1||_2 dropped", lambda delta: delta)
PERTURBED.mutant("halved", lambda value: value * rational(1, 2))


@PERTURBED.counterexample("J_2 = diag(1, 0), J_1 = diag(0, 1/10): the singular value 1/10 is not in [9/10, 11/10]")
def small_second_value() -> dict[str, Any]:
    first = [[1], [0]]
    return {"P": first, "s": [[1]], "R": first, "J_1": [[0, 0], [0, "1/10"]], "delta": 0}


PERTURBED_IN_RANGE = Claim(OSA, "osa.f7-perturbation-in-range", label="F.7, a perturbation that keeps the range",
    statement=r"""\text{If the } r \text{ non-zero singular values of } \mathbf{J}_2 \text{ lie in } [1-\delta,1+\delta]
        \text{ and the columns of } \mathbf{J}_1 \text{ in the column space of } \mathbf{J}_2, \text{ then the } r
        \text{ largest singular values of } \mathbf{J} = \mathbf{J}_1+\mathbf{J}_2 \text{ lie in }
        [1-\delta-\|\mathbf{J}_1\|_2, 1+\delta+\|\mathbf{J}_1\|_2] \text{ and the others are } 0""",
    assumptions=[
        FACTORS_OF_J_2,
        Assumption("|s_i - 1| <= delta", nonnegative=lambda s, delta: delta - absolute(s - 1)),
        Assumption("J_1 = P P^T J_1", zero=lambda P, J_1: J_1 - P @ (P.T @ J_1)),
        Assumption("r < n", sizes=lambda sizes: sizes["r"] < sizes["n"]),
    ],
    name="singular values under a perturbation in range", relation=AtMost(), sizes={"n": (2, 3), "r": (1, 2)},
    of_project=True, corrects="osa.f7-perturbation-alone",
    note="The rank of $J$ is at most $r$, so that the others are 0; Weyl's inequality gives the rest.",
)  # fmt: skip


@PERTURBED_IN_RANGE.inputs
@realises(
    {
        "J_2 = P diag(s) R^T": reached.FRAMES,
        "J_1 = P P^T J_1": "a projection leaves columns in the span of P as they are",
    }
)
def perturbed_within_the_range(
    left: Square, right: Square, y: Weights, D: Square, share: Share, delta: Deviation
) -> Any:
    found = perturbed_matrix_of_low_rank(left, right, y, D, share, delta)
    P = found["P"]
    return {**found, "J_1": P @ (P.T @ found["J_1"])}


PERTURBED_IN_RANGE.formula(radius_of_perturbed)


@PERTURBED_IN_RANGE.oracle
def deviation_of_largest_values(P: Any, s: Any, R: Any, J_1: Any) -> Any:
    return largest_deviation_from_one(singular_values(P @ diag(s) @ R.T + J_1)[: s.shape[0]])


PERTURBED_IN_RANGE.mutant("||J_1||_2 dropped", lambda delta: delta)
PERTURBED_IN_RANGE.mutant("halved", lambda value: value * rational(1, 2))

# -- the interval of the last lines ------------------------------------------------------------------------------------

F7_INTERVAL = Claim(ASSUMED_BY_C4, "osa.f7-interval", label="F.7, last lines",
    statement=r"""
        \text{This implies that } \sigma_i(\mathbf{J})\in[1-\delta-C\alpha,1+\delta+C\alpha]. \text{ Therefore, }
        \sigma_{\max}(\mathbf{J})\le1+\delta+C\alpha \text{ and } \sigma_{\min}(\mathbf{J})\ge1-\delta-C\alpha""",
    name="interval of the Jacobian's singular values", relation=AtMost(ascent=False),
    sizes={"N": (1, 3), "d": (2, 4), "d_v": (1, 2), "K": (0, 3)}, uses=("osa.eq-98", "osa.eq-99"), expects="refuted",
    severity="error", correction="osa.f7-interval-nonzero",
    note=r"""False for every input that Theorem C.4 admits: $N(d - d_v) > 0$ of the singular values of $J$ are 0, as
        $2 d_v \le d$, and $\sigma_{\min}$, where the paper has a symbol $\sigma_{\min>0}$ of its own, is 0. No
        convention helps: a zero is outside of the interval, while the zeros of osa.f3-singular-values have the form that
        is printed for them. Nor does the interval follow from Eqs. (98) and (99) for the non-zero ones:
        osa.f7-perturbation-alone. """
    + LEAST_CONSTANT,
)  # fmt: skip


def _jacobian_deviation(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int, count: int | None = None
) -> Any:
    """max |sigma_i(J) - 1| over the `count` largest singular values, or over all."""
    return largest_deviation_from_one(singular_values(layer_jacobian(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))[:count])


@F7_INTERVAL.formula
def interval_radius(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: PositiveAlpha, epsilon: Epsilon, K: Steps
) -> Any:
    """delta + C alpha with C alpha = ||J_1||_2, the half-width of the interval around 1, a scalar."""
    return interval_half_width(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)


@F7_INTERVAL.oracle
def deviation_of_all_singular_values(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int
) -> Any:
    return _jacobian_deviation(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)


F7_INTERVAL.mutant("halved", lambda value: value * rational(1, 2))
F7_INTERVAL.mutant("a quarter", lambda value: value * rational(1, 4))


@F7_INTERVAL.counterexample(
    "one token, d = 2, d_v = 1: J = W^T has the singular values 1 and 0, the interval is [1, 1]"
)
def one_token() -> dict[str, Any]:
    weights = {"W_Q": [[1], [0]], "W_K": [[0], [1]], "W_V": [[1], [0]], "W_O": [[1, 0]]}
    return {"X": [[1, 0]], **weights, "alpha": "1/10", "epsilon": 1, "K": 1}


F7_INTERVAL.counterexample(
    "two small tokens: J still has two singular values 0", lambda: {**one_token(), "X": [["1/4", 0], [0, "1/4"]]}
)

F7_INTERVAL_NONZERO = Claim(ASSUMED_BY_C4, "osa.f7-interval-nonzero", label="F.7, last lines, with the range of i",
    statement=r"""
        \text{With the singular values of } \mathbf{J} \text{ in decreasing order, } \sigma_i(\mathbf{J})\in
        [1-\delta-C\alpha,1+\delta+C\alpha] \text{ for } i\le Nd_v, \text{ and } \sigma_i(\mathbf{J}) = 0 \text{ for the
        other } N(d-d_v): \text{ therefore } \sigma_{\max}(\mathbf{J})\le1+\delta+C\alpha,\
        \sigma_{\min>0}(\mathbf{J})\ge1-\delta-C\alpha""",
    name="interval of the non-zero singular values", relation=AtMost(ascent=False),
    uses=("osa.eq-98", "osa.eq-99", "osa.f7-range"), corrects="osa.f7-interval", of_project=True,
    note="The zeros are those of osa.f7-range. " + LEAST_CONSTANT,
)  # fmt: skip


F7_INTERVAL_NONZERO.formula(interval_radius)


@F7_INTERVAL_NONZERO.oracle
def deviation_of_nonzero_singular_values(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int
) -> Any:
    return _jacobian_deviation(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K, X.shape[0] * W_V.shape[1])


F7_INTERVAL_NONZERO.mutant("C alpha dropped", C=0)
F7_INTERVAL_NONZERO.mutant("C / 2", C=rational(1, 2))
F7_INTERVAL_NONZERO.mutant("delta dropped", d=0)
