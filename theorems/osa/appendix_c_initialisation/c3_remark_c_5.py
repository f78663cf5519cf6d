"""QR instead of Newton-Schulz: footnote 4 and Remark C.5 (Appendix C.3)."""

from __future__ import annotations

from typing import Any

from theorems.osa import OSA
from theorems.osa.appendix_c_initialisation.c3_theorem_c_4 import jacobian_condition_number
from theorems.osa.appendix_c_initialisation.initialised_layer import (
    INITIALISED,
    condition_excess,
    first_jacobian_term,
    orthonormal_weights,
    squared,
    unit_of_bounds,
)
from theorems.osa.definitions import skew_matrix
from theorems.osa.section_2_1_low_rank_exponential.theorem_2_1 import attention_matrix_in_any_basis
from theorems.osa.settings import CONTAINS_QUERIES_AND_KEYS, ORTHONORMAL, POSITIVE_ALPHA, tokens_with_wide_basis
from theorems.osa.shapes import (
    Alpha,
    Basis,
    Decay,
    Frame,
    HeadSize,
    KeyWeights,
    PositiveAlpha,
    QueryWeights,
    Share,
    Tokens,
    ValueWeights,
)
from verify.claims import Assumption, Claim
from verify.matrix import absolute, concatenate, exp, expm, eye, frobenius_norm, rational, spectral_norm, sqrt
from verify.relations import AtMost, HasStructure

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


FOOTNOTE_4.mutant(
    "I_r not subtracted",
    lambda X, W_Q, W_K, alpha, B: eye(B.shape[0]) + B @ expm(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B) @ B.T,
)


@FOOTNOTE_4.mutant("first column of B doubled")
def _(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, B: Basis) -> Any:
    B = concatenate([B[:, :1] * 2, B[:, 1:]], axis=1)
    return attention_matrix_in_any_basis(X, W_Q, W_K, alpha, B)


REMARK_C5 = Claim(
    INITIALISED,
    "osa.rem-c.5",
    label="Remark C.5",
    statement=r"\text{a similar result should be available when } \mathbf{B} \text{ is computed using QR but would require more"
    r" assumptions on the properties of } \mathbf{M}",
    assumptions=["||X||_2 bounded", "A = exp(S), which every QR basis gives (Theorem 2.1)"],
    relation=AtMost(),
    sizes=("N", "d", "d_v"),
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
    return {"X": X, **orthonormal_weights(pair, left, right, d_v), "alpha": alpha * exp(-decay)}


@REMARK_C5.formula
def first_term_bound_for_qr(X: Tokens, W_V: ValueWeights, alpha: Alpha) -> Any:
    """2 ||X||_2^2 |alpha| / sqrt(d_v), a scalar."""
    return unit_of_bounds(X, W_V, absolute(alpha)) * 2


REMARK_C5.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: spectral_norm(first_jacobian_term(X, W_Q, W_K, W_V, W_O, alpha)))
REMARK_C5.mutant("C halved", lambda value: value * rational(1, 2))
REMARK_C5.mutant("quadratic in alpha", lambda X, W_V, alpha: first_term_bound_for_qr(X, W_V, alpha * alpha))
REMARK_C5.mutant("linear in ||X||_2", lambda value, X: value / spectral_norm(X))

REMARK_C5_CONDITION = Claim(
    INITIALISED,
    "osa.rem-c.5-condition-number",
    label="Remark C.5, Theorem C.4 for QR",
    statement=r"\mathbf{A} = \exp(\mathbf{S}): \quad 1 \le \kappa(\mathbf{J}(\mathbf{X})) \le \frac{1 + C\alpha}{1 - C\alpha}"
    r" \text{ for } \alpha > 0,\ C\alpha < 1, \quad C = 2\|\mathbf{X}\|_2^2/\sqrt{d_v}",
    assumptions=[
        POSITIVE_ALPHA,
        Assumption("C alpha < 1", positive=lambda X, W_V, alpha: 1 - _linear_for_qr(X, W_V, alpha)),
    ],
    relation=AtMost(ascent=False),
    sizes=("N", "d", "d_v"),
    uses=("osa.rem-c.5", "osa.fn-4", "osa.f7-range"),
    of_project=True,
)


def _linear_for_qr(X: Any, W_V: Any, alpha: Any) -> Any:
    """C alpha = 2 ||X||_2^2 alpha / sqrt(d_v)."""
    return unit_of_bounds(X, W_V, alpha) * 2


@REMARK_C5_CONDITION.inputs
def initialised_with_small_alpha_for_qr(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, d_v: HeadSize
) -> Any:
    alpha = share * (sqrt(d_v) / 2) / (squared(frobenius_norm(X)) + rational(1, 256))
    return {"X": X, **orthonormal_weights(pair, left, right, d_v), "alpha": alpha}


@REMARK_C5_CONDITION.formula
def condition_number_excess_for_qr(X: Tokens, W_V: ValueWeights, alpha: PositiveAlpha) -> Any:
    """(1 + C alpha) / (1 - C alpha) - 1 with C = 2 ||X||_2^2 / sqrt(d_v), a scalar: what bounds kappa(J) - 1."""
    return condition_excess(_linear_for_qr(X, W_V, alpha))


REMARK_C5_CONDITION.oracle(
    lambda X, W_Q, W_K, W_V, W_O, alpha: jacobian_condition_number(X, W_Q, W_K, W_V, W_O, alpha, None, None) - 1
)
REMARK_C5_CONDITION.mutant(
    "C / 4", lambda X, W_V, alpha: condition_excess(_linear_for_qr(X, W_V, alpha) * rational(1, 4))
)
REMARK_C5_CONDITION.mutant(
    "(C alpha)^2", lambda X, W_V, alpha: condition_excess(squared(_linear_for_qr(X, W_V, alpha)))
)
