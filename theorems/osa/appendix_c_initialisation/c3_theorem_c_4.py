"""Theorem C.4, the condition number of J, and the sentences of Appendix C.3 on those of J_2 and J."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.osa.appendix_c_initialisation.initialised_layer import (
    INITIALISED,
    NEWTON_SCHULZ,
    condition_excess,
    delta_of,
    first_jacobian_term,
    initialised_with_moderate_alpha,
    initialised_with_small_alpha,
    layer_jacobian,
    linear_bound,
    second_jacobian_term,
    squared,
    unit_of_bounds,
)
from theorems.osa.settings import POSITIVE_ALPHA
from theorems.osa.shapes import (
    Alpha,
    Epsilon,
    KeyWeights,
    OutputWeights,
    PositiveAlpha,
    QueryWeights,
    Steps,
    Tokens,
    ValueWeights,
)
from verify.claims import Assumption, Claim
from verify.matrix import column, effective_condition_number, rational, spectral_norm
from verify.relations import AtMost

C3_KAPPA_J2 = Claim(
    INITIALISED,
    "osa.c3-kappa-j2",
    label="Appendix C.3, text",
    statement=r"\text{the condition number of } \mathbf{J}_2 \text{ is very close to (or exactly) } 1",
    assumptions=[
        "effective condition number",
        NEWTON_SCHULZ,
        Assumption(
            "delta = max_i |sigma_i(A) - 1| < 1",
            positive=lambda X, W_Q, W_K, alpha, epsilon, K: 1 - delta_of(X, W_Q, W_K, alpha, epsilon, K),
        ),
    ],
    relation=AtMost(ascent=False),
    uses=("osa.c1-kappa", "osa.f7-j2-form-corrected"),
    expects="reading",
    reading="very close: kappa(J_2) <= (1 + delta)/(1 - delta) with |sigma_i(A) - 1| <= delta; exactly 1 for orthogonal A,"
    " where delta = 0",
)


@C3_KAPPA_J2.formula
def second_term_condition_bound(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    """(1 + delta) / (1 - delta) - 1 with delta = max_i |sigma_i(A) - 1|, a scalar: what bounds kappa(J_2) - 1."""
    return condition_excess(delta_of(X, W_Q, W_K, alpha, epsilon, K))


@C3_KAPPA_J2.oracle
def second_term_condition_number(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    J_2 = second_jacobian_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return effective_condition_number(J_2, X.shape[0] * W_V.shape[1]) - 1


C3_KAPPA_J2.mutant(
    "delta / 2", "delta_of(X, W_Q, W_K, alpha, epsilon, K) -> delta_of(X, W_Q, W_K, alpha, epsilon, K) * rational(1, 2)"
)
C3_KAPPA_J2.mutant(
    "delta^2",
    lambda X, W_Q, W_K, alpha, epsilon, K: condition_excess(squared(delta_of(X, W_Q, W_K, alpha, epsilon, K))),
)


def _first_norm(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """||J_1||_2, the least that C alpha can be (Theorem C.3)."""
    return spectral_norm(first_jacobian_term(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))


def interval_half_width(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int, C: Any = 1, d: Any = 1
) -> Any:
    """delta + C alpha with C alpha = ||J_1||_2, each with a weight in which mutants differ."""
    delta = delta_of(X, W_Q, W_K, alpha, epsilon, K)
    return delta * d + _first_norm(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K) * C


ASSUMED_BY_C4 = INITIALISED.extended(
    "Theorem C.4",
    assumptions=[
        NEWTON_SCHULZ,
        "|sigma_i(A) - 1| <= delta, delta in [0, 1)",
        POSITIVE_ALPHA,
        Assumption(
            "1 - delta - C alpha > 0",
            positive=lambda X, W_Q, W_K, W_V, W_O, alpha, epsilon, K: (
                1 - interval_half_width(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
            ),
        ),
    ],
    inputs=initialised_with_moderate_alpha,
)
LEAST_CONSTANT = (
    "Checked with C alpha = ||J_1||_2 and delta = max_i |sigma_i(A) - 1|, the least that Eq. (15) and the assumption allow;"
    " both sides of what is claimed only move apart for larger ones."
)


def c4_mutant(claim: Claim, name: str, result: Callable[[Any], Any], C: Any = 1, d: Any = 1) -> None:
    """A mutant with weights C and d of C alpha and delta in the radius, of which `result` makes the bound."""

    @claim.mutant(name)
    def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int) -> Any:
        return result(interval_half_width(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K, C=C, d=d))


def itself(t: Any) -> Any:
    return t


THEOREM_C4 = Claim(
    ASSUMED_BY_C4,
    "osa.thm-c.4",
    label="Theorem C.4, Eq. (16)",
    statement=r"1\le\kappa(\mathbf{J}(\mathbf{X}))\le\frac{1+\delta+C\alpha}{1-\delta-C\alpha} \text{ for any } \alpha>0"
    r" \text{ such that } 1-\delta-C\alpha>0",
    assumptions=["kappa = effective condition number of Appendix C.1"],
    relation=AtMost(ascent=False),
    uses=("osa.thm-c.3", "osa.f7-range"),
    presumes=("osa.f7-perturbation-alone",),
    proof=("osa.f7-j2-form", "osa.eq-98", "osa.eq-99", "osa.f7-interval"),
    expects="gap",
    note=f"{LEAST_CONSTANT}  The theorem stands; kappa takes the least non-zero singular value, and the printed proof, by Weyl's"
    " inequality, leaves out why J has no small ones where those of J_2 are zero: osa.f7-range supplies it.  The author would"
    " call that evident, as A X W^V W^O has its rows in the row space of W^O.",
)


def jacobian_condition_number(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int | None
) -> Any:
    """sigma_max(J) over the N d_v-th singular value of J, the last that is not zero (osa.f7-range)."""
    J = layer_jacobian(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return effective_condition_number(J, X.shape[0] * W_V.shape[1])


def _bounds_of_16(t: Any) -> Any:
    """What bounds kappa - 1 and 1 - kappa for t = delta + C alpha."""
    return column(condition_excess(t), 0)


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
    return _bounds_of_16(interval_half_width(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K))


@THEOREM_C4.oracle
def condition_number_of_jacobian(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    kappa = jacobian_condition_number(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K)
    return column(kappa - 1, 1 - kappa)


c4_mutant(THEOREM_C4, "C alpha dropped", _bounds_of_16, C=0)
c4_mutant(THEOREM_C4, "C / 4", _bounds_of_16, C=rational(1, 4))
c4_mutant(THEOREM_C4, "delta dropped", _bounds_of_16, d=0)
c4_mutant(THEOREM_C4, "(delta + C alpha)^2", lambda t: _bounds_of_16(t * t))

ARBITRARILY_CLOSE = Claim(
    INITIALISED,
    "osa.c3-arbitrarily-close",
    label="Appendix C.3, text before Theorem C.4 and after Remark C.5",
    statement=r"\text{under our initialisation (Newton-Schulz converged well enough, } \alpha \text{ small, } K \text{ large"
    r" enough) the condition number of the Jacobian can be made arbitrarily close to } 1",
    assumptions=[
        NEWTON_SCHULZ,
        "single head",
        "effective condition number",
        POSITIVE_ALPHA,
        Assumption("t < 1", positive=lambda X, W_V, alpha: 1 - _total_perturbation(X, W_V, alpha)),
    ],
    relation=AtMost(ascent=False),
    uses=("osa.thm-c.3", "osa.c3-near-identity", "osa.c1-kappa", "osa.f7-range"),
    expects="reading",
    reading="kappa(J) <= (1 + t)/(1 - t) with t = (3 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v) < 1: for bounded ||X||_2 and any K a"
    " small enough alpha brings kappa(J) as close to 1 as wanted, whether Newton-Schulz has converged or not",
    note="J = W^T (x) I + (J_1 + W^T (x) (A - I)), and the non-zero singular values of W^T (x) I are 1.",
)
ARBITRARILY_CLOSE.inputs(initialised_with_small_alpha)


def _total_perturbation(X: Any, W_V: Any, alpha: Any) -> Any:
    """(3 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v), at least ||J_1||_2 + ||A - I||_2."""
    return linear_bound(X, W_V, alpha) + unit_of_bounds(X, W_V, alpha)


@ARBITRARILY_CLOSE.formula
def condition_number_excess_without_delta(X: Tokens, W_V: ValueWeights, alpha: PositiveAlpha) -> Any:
    """(1 + t) / (1 - t) - 1 with t = (3 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v), a scalar: what bounds kappa(J) - 1."""
    return condition_excess(_total_perturbation(X, W_V, alpha))


ARBITRARILY_CLOSE.oracle(
    lambda X, W_Q, W_K, W_V, W_O, alpha, epsilon, K: (
        jacobian_condition_number(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K) - 1
    )
)
ARBITRARILY_CLOSE.mutant("t^2", lambda X, W_V, alpha: condition_excess(squared(_total_perturbation(X, W_V, alpha))))
ARBITRARILY_CLOSE.mutant(
    "t / 100", lambda X, W_V, alpha: condition_excess(_total_perturbation(X, W_V, alpha) * rational(1, 100))
)
