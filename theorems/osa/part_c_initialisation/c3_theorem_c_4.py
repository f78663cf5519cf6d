"""Theorem C.4, the condition numbers of J and J_2, and QR instead of Newton-Schulz: footnote 4, Remark C.5 (Appendix C.3)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import attention_matrix, queries_and_keys, skew_matrix
from theorems.osa.part_2_1_low_rank_exponential.theorem_2_1 import attention_matrix_in_any_basis, elementary_symmetric
from theorems.osa.part_c_initialisation.c3_theorem_c_3 import (
    INITIALISED, NEWTON_SCHULZ, ORTHONORMAL_WEIGHTS, condition_excess, delta_of, first_jacobian_term,
    initialised_with_moderate_alpha, initialised_with_small_alpha, layer_jacobian, linear_bound, orthonormal_weights,
    second_jacobian_term, squared, unit_of_bounds,
)  # fmt: skip
from theorems.osa.settings import (
    CONTAINS_QUERIES_AND_KEYS, LEAST_BOUND, ORTHONORMAL, POSITIVE_ALPHA, tokens_with_wide_basis,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, Basis, Decay, Epsilon, Frame, HeadSize, Key, Output, PositiveAlpha, Query, Share, Steps, Tokens, Value,
)  # fmt: skip
from verify.matrix import (
    absolute, column, concatenate, effective_condition_number, exp, eye, frobenius_norm, rational, spectral_norm, sqrt,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, HasStructure, Reading, Shape, realises

EFFECTIVE = Definition("kappa: the effective condition number of Appendix C.1", by=effective_condition_number)
BY_QR = Definition("A = exp(S), which every QR basis gives (Theorem 2.1)", by=attention_matrix)

C3_KAPPA_J2 = Claim(INITIALISED, "osa.c3-kappa-j2", label="Appendix C.3, text",
    statement=r"""\text{our initialisation scheme has been designed to ensure the condition number of } \mathbf{J}_2
        \text{ is very close to (or exactly) } 1""",
    assumptions=[
        EFFECTIVE,
        *NEWTON_SCHULZ,
        Assumption(
            "t = ||S||_2^2 / 4 < 1", positive=lambda X, W_Q, W_K, alpha: 1 - _quarter_of_square(X, W_Q, W_K, alpha)
        ),
    ],
    name="condition number of the second Jacobian term",
    general="""Inputs at which other matrices in the place of $A$ break it are rare; that it is about $A$ is seen by
        the mutants.""",
    relation=AtMost(ascent=False),
    uses=("osa.c1-kappa", "osa.f7-j2-form-corrected", "osa.eq-28", "osa.thm-a.1-quadratic"), expects="reading",
    reading=Reading("very close to (or exactly) 1", r"""very close: $\kappa(J_2) \le 1/\sqrt{1 - t}$ with $t =
        \|S\|_2^2/4$, quadratic in $\alpha$, whether Newton-Schulz has converged or not; exactly 1 for orthogonal $A$
        """),
    note=r"""$1 - t \le \sigma_i(A)^2 \le 1$: $A^\top A - I = B\Delta^\top(B^\top B - I)\Delta B^\top$ (osa.eq-28) is
        negative semidefinite, as $\|B\|_2 \le 1$, and at most $t$ in norm by osa.thm-a.1-quadratic, as $\sigma^2(1 -
        \sigma^2) \le 1/4$.""",
)  # fmt: skip


def _quarter_of_square(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
    """||S||_2^2 / 4."""
    return squared(spectral_norm(skew_matrix(X, W_Q, W_K, alpha))) * rational(1, 4)


@C3_KAPPA_J2.formula
def second_term_condition_bound(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """1 / sqrt(1 - t) - 1 with t = ||S||_2^2 / 4, a scalar: what bounds kappa(J_2) - 1."""
    t = _quarter_of_square(X, W_Q, W_K, alpha)
    return _excess_of_root(t)


def _excess_of_root(t: Any) -> Any:
    """1 / sqrt(1 - t) - 1 = t / (r (1 + r)) with r = sqrt(1 - t), without cancellation for small t."""
    r = sqrt(1 - t)
    return t / (r * (1 + r))


@C3_KAPPA_J2.oracle
def second_term_condition_number(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int
) -> Any:
    J_2 = second_jacobian_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return effective_condition_number(J_2, X.shape[0] * W_V.shape[1]) - 1


C3_KAPPA_J2.mutant("||S||_2^2 / 32", "_excess_of_root(t) -> _excess_of_root(t * rational(1, 8))")
C3_KAPPA_J2.mutant("||S||_2^4 / 16", "_excess_of_root(t) -> _excess_of_root(t * t)")


def _first_norm(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """||J_1||_2, the least that C alpha can be (Theorem C.3)."""
    return spectral_norm(first_jacobian_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))


def interval_half_width(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int, C: Any = 1, d: Any = 1
) -> Any:
    """delta + C alpha with C alpha = ||J_1||_2, each with a weight in which mutants differ."""
    delta = delta_of(X, W_Q, W_K, alpha, epsilon, K)
    return delta * d + _first_norm(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K) * C


ASSUMED_BY_C4 = INITIALISED.extended("Theorem C.4",
    assumptions=[
        *NEWTON_SCHULZ,
        Definition("delta = max_i |sigma_i(A) - 1|, the least with |sigma_i(A) - 1| <= delta", by=delta_of),
        POSITIVE_ALPHA,
        Assumption(
            "1 - delta - C alpha > 0",
            positive=lambda X, W_Q, W_K, W_V, W_O, alpha, epsilon, K: (
                1 - interval_half_width(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
            ),
        ),
    ],
    inputs=initialised_with_moderate_alpha)  # fmt: skip
LEAST_CONSTANT = (
    r"Checked with $C\alpha = \|J_1\|_2$ and $\delta = \max_i|\sigma_i(A) - 1|$, the least that Eq. (15) and"
    " the assumption allow; both sides of what is claimed only move apart for larger ones."
)

THEOREM_C4 = Claim(ASSUMED_BY_C4, "osa.thm-c.4", label="Theorem C.4, Eq. (16)",
    statement=r"""1\le\kappa(\mathbf{J}(\mathbf{X}))\le\frac{1+\delta+C\alpha}{1-\delta-C\alpha} \text{ for any }
        \alpha>0 \text{ such that } 1-\delta-C\alpha>0""",
    assumptions=[EFFECTIVE],
    name="condition number of the layer's Jacobian", relation=AtMost(ascent=False),
    uses=("osa.thm-c.3", "osa.f7-range"), presumes=("osa.f7-perturbation-alone",),
    proof=("osa.f7-j2-form", "osa.eq-98", "osa.eq-99", "osa.f7-interval"), expects="gap",
    doubt=Doubt(r"|\sigma_i(\mathbf{A}) - 1| \leq \delta^4", r"""the 4 is the mark of footnote 4, which the extraction
        sets as an exponent: F.7 quotes the assumption with $\delta$, and Eqs. (16) and (98) use it so"""),
    consequence="""The theorem may be used for one head: the printed proof leaves out why $J$ has no small non-zero
        singular values, and osa.f7-range supplies it. It does not extend to several heads, where the condition number
        is in the thousands at $d = 64$ (osa.c4-several-heads).""",
    note=LEAST_CONSTANT
    + r""" The theorem stands, for a single head; it does not extend to the layer of Eq. (3) with $h > 1$
        (osa.c4-several-heads). $\kappa$ takes the least non-zero singular value, and the printed proof, by Weyl's
        inequality, leaves out why $J$ has no small ones where those of $J_2$ are zero: osa.f7-range
        supplies it. The author would call that evident, as $AXW^VW^O$ has its rows in
        the row space of $W^O$.""",
)  # fmt: skip


def jacobian_condition_number(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int | None
) -> Any:
    """sigma_max(J) over the N d_v-th singular value of J, the last that is not zero (osa.f7-range)."""
    J = layer_jacobian(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return effective_condition_number(J, X.shape[0] * W_V.shape[1])


@THEOREM_C4.formula
def condition_number_bounds(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: PositiveAlpha, epsilon: Epsilon, K: Steps
) -> Any:
    """(1 + delta + C alpha) / (1 - delta - C alpha) - 1 and 0, what bounds kappa - 1 and 1 - kappa (Eq. (16))."""
    t = interval_half_width(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return column(condition_excess(t), 0)


@THEOREM_C4.oracle
def condition_number_of_jacobian(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int
) -> Any:
    kappa = jacobian_condition_number(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return column(kappa - 1, 1 - kappa)


THEOREM_C4.mutant("C alpha dropped", C=0)
THEOREM_C4.mutant("C / 4", C=rational(1, 4))
THEOREM_C4.mutant("delta dropped", d=0)
THEOREM_C4.mutant("(delta + C alpha)^2", "condition_excess(t) -> condition_excess(t * t)")

ARBITRARILY_CLOSE = Claim(INITIALISED, "osa.c3-arbitrarily-close",
    label="Appendix C.3, text before Theorem C.4 and after Remark C.5",
    statement=r"""\text{Theorem C.4 which shows under our initialisation (assuming Newton-Schultz converges well
        enough), we can set the condition number of the Jacobian to be arbitrary close to 1}; \text{ our initialisation
        scheme, provided we set } \alpha \text{ to be small enough and } K \text{ large enough, ensures that the
        Jacobian of OSA is well-conditioned at initialisation}""",
    assumptions=[
        *NEWTON_SCHULZ,
        EFFECTIVE,
        POSITIVE_ALPHA,
        Assumption("t < 1", positive=lambda X, W_V, alpha: 1 - _total_perturbation(X, W_V, alpha)),
    ],
    name="well-conditioned Jacobian at initialisation", relation=AtMost(left="kappa(J) - 1", ascent=False),
    uses=("osa.thm-c.3", "osa.c3-near-identity", "osa.c1-kappa", "osa.f7-range"),
    note=r"""$\kappa(J) \le (1 + t)/(1 - t)$ with $t = (3 + 4\sqrt2)\|X\|_2^2\alpha/\sqrt{d_v}$, for every $K$, 0
        included: a small enough $\alpha$ brings $\kappa(J)$ as close to 1 as wanted, whether Newton-Schulz has converged
        or not. So nothing depends on what "well enough" and "large enough" mean. With $W = W^VW^O$, $J =
        W^\top\otimes I + (J_1 + W^\top\otimes(A - I))$, and the non-zero singular values of $W^\top\otimes I$ are 1.""",
)  # fmt: skip
ARBITRARILY_CLOSE.inputs(initialised_with_small_alpha)


def _total_perturbation(X: Any, W_V: Any, alpha: Any) -> Any:
    """(3 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v), at least ||J_1||_2 + ||A - I||_2."""
    return linear_bound(X, W_V, alpha) + unit_of_bounds(X, W_V, alpha)


@ARBITRARILY_CLOSE.formula
def condition_number_excess_without_delta(X: Tokens, W_V: Value, alpha: PositiveAlpha) -> Any:
    """(1 + t) / (1 - t) - 1 with t = (3 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v), a scalar: what bounds kappa(J) - 1."""
    t = _total_perturbation(X, W_V, alpha)
    return condition_excess(t)


ARBITRARILY_CLOSE.oracle(
    lambda X, W_Q, W_K, W_V, W_O, alpha, epsilon, K: (
        jacobian_condition_number(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K) - 1
    )
)
ARBITRARILY_CLOSE.mutant("t^2", "condition_excess(t) -> condition_excess(t * t)")
ARBITRARILY_CLOSE.mutant("t / 100", "condition_excess(t) -> condition_excess(t * rational(1, 100))")

# -- QR instead of Newton-Schulz: footnote 4 and Remark C.5 ------------------------------------------------------------

FOOTNOTE_4 = Claim(OSA, "osa.fn-4", label="Footnote 4", name="orthogonal attention matrix through QR",
    statement=r"\text{If we use QR for OSA, we have } \sigma_i(\mathbf{A})=1 \text{ for all } i",
    assumptions=[
        ORTHONORMAL, CONTAINS_QUERIES_AND_KEYS,
        Assumption("r <= N, d_v <= d", sizes=lambda sizes: sizes["r"] <= sizes["N"] and sizes["d_v"] <= sizes["d"]),
    ],
    relation=HasStructure(), all_sizes=True, hypotheses=(CONTAINS_QUERIES_AND_KEYS,),
    sizes={"N": (1, 4), "d": (1, 4), "d_v": (1, 2), "r": (1, 4)}, uses=("osa.thm-2.1-any-basis",),
    note="Whatever orthonormal columns QR returns where those of $M$ are dependent.",
)  # fmt: skip
FOOTNOTE_4.inputs(tokens_with_wide_basis)


@FOOTNOTE_4.formula
def attention_matrix_through_qr(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, B: Basis) -> Any:
    """A = I_N + B (exp(B^T S B) - I_r) B^T, shape (N, N), for the B (N, r) of a reduced QR of [Q, K]."""
    return attention_matrix_in_any_basis(X, W_Q, W_K, alpha, B)


@FOOTNOTE_4.part("structure")
def all_singular_values_are_one(value: Any) -> Any:
    """A^T A - I."""
    return value.T @ value - eye(value.shape[0])


FOOTNOTE_4.mutant("I_r not subtracted", lambda value, B: value + B @ B.T)
FOOTNOTE_4.mutant(
    "first column of B doubled",
    lambda X, W_Q, W_K, alpha, B: attention_matrix_in_any_basis(
        X, W_Q, W_K, alpha, concatenate([B[:, :1] * 2, B[:, 1:]], axis=1)
    ),
)

REMARK_C5 = Claim(INITIALISED, "osa.rem-c.5", label="Remark C.5", name="condition number of the Jacobian with QR",
    statement=r"""\text{a similar result should be available for the case when } \mathbf{B} \text{ is computed using the
        QR decomposition but would require more assumptions on the properties of } \mathbf{M}""",
    assumptions=[LEAST_BOUND, BY_QR],
    relation=AtMost(left="||J_1||_2"), all_sizes=True, hypotheses=ORTHONORMAL_WEIGHTS, sizes=("N", "d", "d_v"),
    uses=("osa.thm-2.1-any-basis", "osa.fn-4", "osa.thm-c.1", "osa.thm-c.2", "osa.c1-kappa"), expects="gap",
    presumes=("osa.rem-c.5-more-assumptions",), correction="osa.rem-c.5-condition-number",
    reading=Reading("a similar result", r"""(15) with $C = 2R^2/\sqrt{d_v}$ for $\|X\|_2 \le R$ and $|\alpha|$ for
        $\alpha$, and (16) with $\delta = 0$ (osa.rem-c.5-condition-number)"""),
    consequence=r"""With QR nothing need be assumed of $M$: the bounds hold with a smaller constant, $C =
        2\|X\|_2^2/\sqrt{d_v}$ (osa.rem-c.5-condition-number); only differentiating through the QR itself needs full
        column rank.""",
    note=r"""The first half is true of every $M$: $A(X) = \exp(S)$ does not depend on $B$,
        $\|\partial\operatorname{vec}A/\partial\operatorname{vec}S\|_2 \le 1$ and
        $\|\partial\operatorname{vec}S/\partial\operatorname{vec}X\|_2 \le 2|\alpha|\|X\|_2/\sqrt{d_v}$. So the second
        half, that more assumptions on $M$ are required, is false (osa.rem-c.5-more-assumptions). What needs a full
        column rank is the computation of the Jacobian by differentiating a QR (osa.gradient-through-qr-rank-deficient).
        """,
)  # fmt: skip


@REMARK_C5.inputs
@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def initialised_without_basis(
    X: Tokens, pair: Frame, left: Frame, right: Frame, alpha: Alpha, decay: Decay, d_v: HeadSize
) -> Any:
    return {"X": X, **orthonormal_weights(pair, left, right, d_v), "alpha": alpha * exp(-decay)}


@REMARK_C5.formula
def first_term_bound_for_qr(X: Tokens, W_V: Value, alpha: Alpha) -> Any:
    """2 ||X||_2^2 |alpha| / sqrt(d_v), a scalar."""
    return unit_of_bounds(X, W_V, absolute(alpha)) * 2


REMARK_C5.mutant("C halved", lambda value: value * rational(1, 2))
REMARK_C5.mutant("quadratic in alpha", lambda X, W_V, alpha: first_term_bound_for_qr(X, W_V, alpha * alpha))
REMARK_C5.mutant("linear in ||X||_2", lambda value, X: value / spectral_norm(X))

REMARK_C5_MORE = Claim(INITIALISED, "osa.rem-c.5-more-assumptions", label="Remark C.5, second half",
    statement=r"""\text{the result for QR requires more assumptions on } \mathbf{M}: \text{ where } \mathbf{M} =
        [\mathbf{Q},\mathbf{K}] \text{ has not full column rank, } \|\mathbf{J}_1\|_2 \text{ is not below }
        2\|\mathbf{X}\|_2^2|\alpha|/\sqrt{d_v}""",
    assumptions=[
        BY_QR,
        Assumption(
            "the columns of M are linearly dependent",
            zero=lambda X, W_Q, W_K: elementary_symmetric(queries_and_keys(X, W_Q, W_K), 2 * W_Q.shape[1]),
        ),
    ],
    name="assumptions needed for QR", relation=AtMost(left="2 ||X||_2^2 |alpha| / sqrt(d_v)", ascent=False),
    sizes=("N", "d", "d_v"), expects="refuted",
    severity="error", uses=("osa.thm-2.1-any-basis",), correction="osa.rem-c.5-every-m", of_project=True,
    note="The bound holds for every $M$: osa.rem-c.5 is checked without any assumption on it.",
)  # fmt: skip

TokenColumn = Annotated[Any, Shape("N", "1")]
TokenRow = Annotated[Any, Shape("1", "d")]


@REMARK_C5_MORE.inputs
@realises(
    {
        "[W^Q, W^K] in V": reached.FRAMES,
        "W^V = U in V": reached.FRAMES,
        "(W^O)^T = V in V": reached.FRAMES,
        "columns of M are linearly dependent": "tokens that are multiples of one make M of rank one",
    }
)
def tokens_of_rank_one(
    x: TokenColumn, y: TokenRow, pair: Frame, left: Frame, right: Frame, alpha: Alpha, decay: Decay, d_v: HeadSize
) -> Any:
    """Tokens that are multiples of one, so that M has rank one at most."""
    return initialised_without_basis(x @ y, pair, left, right, alpha, decay, d_v)


@REMARK_C5_MORE.formula
def norm_of_first_term_for_qr(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """||J_1||_2, a scalar, for A = exp(S)."""
    return spectral_norm(first_jacobian_term(X, W_Q, W_K, W_V, W_O, alpha))


REMARK_C5.oracle(norm_of_first_term_for_qr)
REMARK_C5_MORE.oracle(lambda X, W_V, alpha: _linear_for_qr(X, W_V, absolute(alpha)))
REMARK_C5_MORE.mutant("halved", lambda value: value * rational(1, 2))
REMARK_C5_MORE.mutant("a tenth", lambda value: value * rational(1, 10))
REMARK_C5_MORE.counterexample("two equal tokens, d = 2: M has rank one, and the bound 4 is above ||J_1||",
    X=[[1, 0], [1, 0]], W_Q=[[1], [0]], W_K=[[0], [1]], W_V=[[1], [0]], W_O=[[1, 0]], alpha=1)  # fmt: skip

REMARK_C5_EVERY_M = Claim(INITIALISED, "osa.rem-c.5-every-m", label="Remark C.5, Theorem C.3 for QR",
    statement=r"""\text{For weights as initialised and } \mathbf{A} = \exp(\mathbf{S}), \text{ which every QR basis
        gives: } \quad \|\mathbf{J}_1(\mathbf{X})\|_2 \le C|\alpha|, \quad C = 2R^2/\sqrt{d_v} \text{ for }
        \|\mathbf{X}\|_2 \le R, \text{ whatever the rank of } \mathbf{M} = [\mathbf{Q},\mathbf{K}]""",
    assumptions=[LEAST_BOUND],
    name="norm of the first Jacobian term with QR", relation=AtMost(left="||J_1||_2"), all_sizes=True,
    hypotheses=ORTHONORMAL_WEIGHTS, sizes=("N", "d", "d_v"),
    uses=("osa.thm-2.1-any-basis", "osa.lemma-f.8-absolute"), corrects="osa.rem-c.5-more-assumptions", of_project=True,
)  # fmt: skip
REMARK_C5_EVERY_M.inputs(initialised_without_basis)


REMARK_C5_EVERY_M.formula(first_term_bound_for_qr)


REMARK_C5_EVERY_M.oracle(norm_of_first_term_for_qr)
REMARK_C5_EVERY_M.mutant("C halved", lambda value: value * rational(1, 2))
REMARK_C5_EVERY_M.mutant("quadratic in alpha", "absolute(alpha) -> alpha * alpha")

REMARK_C5_CONDITION = Claim(INITIALISED, "osa.rem-c.5-condition-number", label="Remark C.5, Theorem C.4 for QR",
    statement=r"""\text{For weights as initialised and } \mathbf{A} = \exp(\mathbf{S}), \text{ which every QR basis
        gives, whatever the rank of } \mathbf{M}: \quad \|\mathbf{J}_1(\mathbf{X})\|_2 \le C\alpha \text{ and } 1 \le
        \kappa(\mathbf{J}(\mathbf{X})) \le \frac{1 + C\alpha}{1 - C\alpha} \text{ for } \alpha > 0,\ C\alpha < 1, \quad
        C = 2\|\mathbf{X}\|_2^2/\sqrt{d_v}""",
    assumptions=[
        POSITIVE_ALPHA,
        Assumption("C alpha < 1", positive=lambda X, W_V, alpha: 1 - _linear_for_qr(X, W_V, alpha)),
    ],
    name="condition number of the Jacobian with QR, corrected", relation=AtMost(left="kappa(J) - 1", ascent=False),
    sizes=("N", "d", "d_v"),
    uses=("osa.rem-c.5-every-m", "osa.fn-4", "osa.f7-range"), corrects="osa.rem-c.5", of_project=True,
    note=r"The bound of $J_1$ is osa.rem-c.5-every-m, for $\alpha$ of either sign; that of $\kappa$ is checked here.",
    loose=r"""It lets $J_1$ raise the largest singular value of $J$ and lower the smallest by the whole bound of its norm; no
        input that was found does both.""",
)  # fmt: skip


def _linear_for_qr(X: Any, W_V: Any, alpha: Any) -> Any:
    """C alpha = 2 ||X||_2^2 alpha / sqrt(d_v)."""
    return unit_of_bounds(X, W_V, alpha) * 2


@REMARK_C5_CONDITION.inputs
@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def initialised_with_small_alpha_for_qr(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, d_v: HeadSize
) -> Any:
    alpha = share * (sqrt(d_v) / 2) / (squared(frobenius_norm(X)) + rational(1, 256))
    return {"X": X, **orthonormal_weights(pair, left, right, d_v), "alpha": alpha}


@REMARK_C5_CONDITION.formula
def condition_number_excess_for_qr(X: Tokens, W_V: Value, alpha: PositiveAlpha) -> Any:
    """(1 + C alpha) / (1 - C alpha) - 1 with C = 2 ||X||_2^2 / sqrt(d_v), a scalar: what bounds kappa(J) - 1."""
    return condition_excess(_linear_for_qr(X, W_V, alpha))


REMARK_C5_CONDITION.oracle(
    lambda X, W_Q, W_K, W_V, W_O, alpha: jacobian_condition_number(X, W_Q, W_K, W_V, W_O, alpha, None, None) - 1
)
REMARK_C5_CONDITION.mutant("C / 4",
    lambda X, W_V, alpha: condition_excess(_linear_for_qr(X, W_V, alpha) * rational(1, 4)))  # fmt: skip
REMARK_C5_CONDITION.mutant("(C alpha)^2",
    lambda X, W_V, alpha: condition_excess(squared(_linear_for_qr(X, W_V, alpha))))  # fmt: skip
