"""The default initialisation that Section A.4.1 compares with: its alpha, and the variance and range of its logits.

Its alpha is not O(1/d) in any of the usual normalisations, and at the stated 0.04 its logits are not diffuse.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.part_a4_1_logits.dominance import Tolerance
from theorems.skipless.part_a4_1_logits.enumeration import Scale
from theorems.skipless.sampling import truncated_normal
from theorems.skipless.settings import AT_PRINTED_DIMENSIONS, BY_DIMENSION, LENGTH, Dimension
from verify.matrix import absolute, column, concatenate, eye, kron, rational, vec_r, zeros
from verify.oracles import LawTest, Normal, at_least_probability, expectation, proportion_test
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, FollowsLaw, Reading, Real, Size
from verify.vocabulary.hypotheses import normal_entries

if TYPE_CHECKING:
    import torch

Inner = Annotated[int, Size("d_in")]
DefaultAlpha = Annotated[Any, Real(0.035, 0.045)]
Variance = Annotated[Any, Real(0.00390625, 1.0)]


def squared_alpha(d: int, d_in: int, variance: Any, t: Any) -> Any:
    """alpha^2 = variance^2 d d_in / t^2, a scalar."""
    return variance * variance * (d * d_in) / (t * t)


ORDER_OF_ALPHA = Definition(
    "alpha is that of the entries of W_Q W_K^T: alpha^2 = d Var = sigma^4 d d_in for entries of W_Q, W_K of standard deviation"
    " sigma and inner dimension d_in, over the square of a scale of the logits, t, if any",
    by=squared_alpha,
)


def order_over_dimension(C: Any, d: int) -> Any:
    """C / d, a scalar."""
    return C / d


DEFAULT_ALPHA = Claim(SKIPLESS, "skipless.a4.1-default-alpha", label="Section A.4.1, text after Eq. (19)",
    statement=r"""\text{The default initialization is equivalent to }\beta=0\text{ (no diagonal dominance in weight
        initialization) and }\alpha=\mathcal{O}(1/d)\text{ (usually around }0.04)""",
    assumptions=[ORDER_OF_ALPHA, Definition("O(1/d): alpha <= C / d, C any number given", by=order_over_dimension)],
    name="noise scale of the default initialisation", relation=AtMost(left="the square of the default alpha", ascent=False),
    sizes={"d": (1, 64), "d_in": (1, 64)}, expects="refuted", severity="error",
    uses=("skipless.a4.1-default-alpha-exact",), correction="skipless.a4.1-default-alpha-exact",
    consequence=r"""Do not compare with a default of $\alpha = O(1/d)$: compute it from your own weights, $\alpha =
        \sigma^2\sqrt{d\,d_{in}}$ (skipless.a4.1-default-alpha-exact).""",
    note=r"""Neither $\sigma$ nor $d_{in}$ is printed. With $\sigma = 0.02$ (the ViT default) $\alpha$ grows with $d$:
        like $d$ for $d_{in} = d$, like $\sqrt d$ for heads of 64. With $\sigma^2 = 1/d$ it is 1, or $\sqrt{64/d}$, and
        the like for any $\sigma^2$ proportional to $1/d$; with logits divided by $\sqrt{64}$ as well, $1/\sqrt d$,
        which is 0.036 at $d = 768$, and 0.038 with $\sigma = 0.02$ and $d_{in} = d = 768$: that may be the 0.04. In
        none of these cases is it $O(1/d)$; the counterexamples take $C = 384 \cdot 0.04$, for which $\alpha = 0.04$ at
        $d = 384$. That $\beta = 0$ is right on average, but for $d_{in} < d$ the product has rank $d_{in}$, which
        $\alpha Z$ has not.""")  # fmt: skip


@DEFAULT_ALPHA.formula
def squared_order(d: Dimension, C: Tolerance) -> Any:
    """C^2 / d^2, a scalar."""
    return order_over_dimension(C, d) * order_over_dimension(C, d)


DEFAULT_ALPHA.inputs(d=Dimension, d_in=Inner, variance=Variance, t=Tolerance, C=Tolerance)


DEFAULT_ALPHA.oracle(lambda d, d_in, variance, t: squared_alpha(d, d_in, variance, t))


FIXED = Fraction(1, 2500)
for _title, (_d, _d_in, _variance, _t) in {
    "sigma = 0.02, d = d_in = 768": (768, 768, FIXED, 1),
    "sigma = 0.02, d = 768, heads of 64": (768, 64, FIXED, 1),
    "sigma = 0.02, d = 1536, heads of 64, logits over 8": (1536, 64, FIXED, 8),
    "sigma = 0.02, d = d_in = 768, logits over 8": (768, 768, FIXED, 8),
    "sigma^2 = 1/d, d = d_in = 768": (768, 768, Fraction(1, 768), 1),
    "sigma^2 = 1/d, d = 768, heads of 64": (768, 64, Fraction(1, 768), 1),
    "sigma^2 = 1/d, d = 768, heads of 64, logits over 8": (768, 64, Fraction(1, 768), 8),
}.items():
    DEFAULT_ALPHA.counterexample(_title, d=_d, d_in=_d_in, variance=_variance, t=Fraction(_t), C=Fraction(384 * 4, 100))

DEFAULT_ALPHA.mutant("O(1)", lambda C: C * C)
DEFAULT_ALPHA.mutant("O(1 / sqrt(d))", lambda d, C: C * C / d)


def _entries(W_Q: Any, W_K: Any, sigma: Any) -> Any:
    """The entries of W_Q W_K^T, row by row, from W_Q / sigma and W_K / sigma, shape (d^2, 1)."""
    return vec_r(W_Q @ W_K.T * sigma * sigma)


ALPHA_EXACT = Claim(SKIPLESS, "skipless.a4.1-default-alpha-exact", label="The default product of query and key weights",
    statement=r"""
        \mathbb{E}(\mathbf{W}^Q\mathbf{W}^{K\top})_{kl}=0,\ d\,\mathrm{Var}(\mathbf{W}^Q\mathbf{W}^{K\top})_{kl}=
        \sigma^4dd_{in}=\alpha^2,\ \text{any two entries are uncorrelated}""",
    assumptions=[Definition("W_Q, W_K of shape (d, d_in), independent normal entries of mean 0 and standard deviation sigma",
        by=(Normal, _entries))],
    hypotheses=tuple(normal_entries(W, stated="W_Q, W_K of shape (d, d_in), independent normal") for W in ("W_Q", "W_K")),
    name="moments of the default query-key product", relation=Equal(), all_sizes=True,
    sizes={"d": (1, 2), "d_in": (1, 3)}, exact=True, of_project=True, corrects="skipless.a4.1-default-alpha",
    note=r"""Only variances enter, so truncation matters through $\sigma$ alone.""")  # fmt: skip


def _products(W_Q: Any, W_K: Any, sigma: Any) -> Any:
    return _entries(W_Q, W_K, sigma) @ _entries(W_Q, W_K, sigma).T


@ALPHA_EXACT.formula
def default_product_moments(sigma: Scale, d: Dimension, d_in: Inner) -> Any:
    """Means of all entries and d times their covariances, alpha^2 I, shape (d^2, 1 + d^2)."""
    fourth = sigma * sigma * sigma * sigma
    return concatenate([zeros(d**2, 1) + 0 * sigma, kron(eye(d), eye(d)) * (fourth * (d * d_in))], axis=1)


@ALPHA_EXACT.oracle
def default_product_expected(sigma: Scale, d: Dimension, d_in: Inner) -> Any:
    weights = {"W_Q": Normal(d, d_in), "W_K": Normal(d, d_in)}
    mean, products = (expectation(f, **weights)(sigma=sigma) for f in (_entries, _products))
    return concatenate([mean, (products - mean @ mean.T) * d], axis=1)


ALPHA_EXACT.mutant("sigma^2 instead of sigma^4", "fourth -> sigma * sigma")
ALPHA_EXACT.mutant("d_in dropped", "d * d_in -> d")


def variances_of_noise(alpha: Any, d: int) -> Any:
    """Var C_ii and Var C_ij at beta = 0, shape (2, 1)."""
    return column(alpha * alpha * (d + 2), alpha * alpha * d)


def unit_variance(alpha: Any) -> Any:
    """1, a scalar."""
    return 0 * alpha + 1


DEFAULT_VARIANCE = Claim(AT_PRINTED_DIMENSIONS, "skipless.a4.1-default-variance",
    label="Section A.4.1, text after Eq. (19)", name="variance of the default logits",
    statement=r"""\text{The default initialization is equivalent to }\beta=0\text{ (no diagonal dominance in weight
        initialization) and }\alpha=\mathcal{O}(\tfrac1d)\text{ (usually around }0.04)\text{. All the values in the
        attention map are mean }0\text{ with a variance much smaller than }1\text{, which satisfy the diffuse condition}
        """,
    assumptions=[
        Definition("X ~ N(0, I), C = alpha X Z X^T, of which the variances are known (skipless.logit-moments)",
        by=variances_of_noise),
        Assumption("d = 384 or 768, as in the experiments", sizes=lambda sizes: sizes["d"] in BY_DIMENSION),
        Definition("much smaller than 1, as generously as possible: at most 1", by=unit_variance),
        Assumption(
            "alpha within 1/200 of 0.04", nonnegative=lambda alpha: rational(1, 200) - absolute(alpha - rational(1, 25))
        ),
    ],
    relation=AtMost(left="Var C_ii and Var C_ij", ascent=False), expects="refuted", severity="error",
    uses=("skipless.logit-moments",),
    correction="skipless.a4.1-default-variance-exact",
    consequence=r"""Default attention at the printed sizes is not diffuse without a scale factor, so that near-uniform
        rows are no explanation of its conditioning; use $\mathrm{Var}(C_{ij}) = \sigma^4 d_{in}d^2$ with the
        variance $\sigma^2$ of the weights (skipless.a4.1-default-variance-exact).""",
    note=r"""The means are 0. The variances are $\alpha^2(d + 2)$ and $\alpha^2 d$: 0.62 at $d = 384$, 1.23 at $d =
        768$, by the paper's own Eq. (18). For $\alpha = O(1/d)$ they would vanish as $d$ grows, but 0.04 is far above
        $1/d$. Nor are the rows diffuse for a softmax without temperature: their range is 4 to 6
        (skipless.default-row-range); over $8 = \sqrt{64}$ it is below 1.""")  # fmt: skip


@DEFAULT_VARIANCE.formula
def one(alpha: DefaultAlpha) -> Any:
    """1, a scalar."""
    return unit_variance(alpha)


DEFAULT_VARIANCE.inputs(alpha=DefaultAlpha, d=Dimension)


DEFAULT_VARIANCE.oracle(lambda alpha, d: variances_of_noise(alpha, d))


DEFAULT_VARIANCE.counterexample("alpha = 0.04, d = 768: 1.232 on the diagonal, 1.2288 off it", alpha=Fraction(1, 25),
    d=768)  # fmt: skip
DEFAULT_VARIANCE.mutant("at most 1/10", lambda value: value / 10)
DEFAULT_VARIANCE.mutant("at most 2", lambda alpha: 0 * alpha + 2)


def _squared_logits(X: Any, W_Q: Any, W_K: Any, sigma: Any) -> Any:
    """C_ii^2 and C_ij^2 for two tokens X, shape (1, 2)."""
    row = (X @ (W_Q * sigma) @ (W_K * sigma).T @ X.T)[:1]
    return row * row


VARIANCE_EXACT = Claim(SKIPLESS, "skipless.a4.1-default-variance-exact",
    label="Variance of the logits at default initialisation", name="variance of the default logits, corrected",
    statement=r"""
        \mathrm{Var}(\mathbf{C}_{ii})=\sigma^4d_{in}d(d+2),\ \mathrm{Var}(\mathbf{C}_{ij})=\sigma^4d_{in}d^2\quad(i\ne
        j)""",
    assumptions=[
        Definition("X ~ N(0, I), C = X W_Q W_K^T X^T, W_Q and W_K of shape (d, d_in), independent normal entries of mean 0 and"
            " standard deviation sigma, independent of X", by=(Normal, _squared_logits)),
    ],
    hypotheses=(
        normal_entries("X", stated="X ~ N(0, I)"),
        *(normal_entries(W, stated="W_Q and W_K of shape (d, d_in), independent normal entries") for W in ("W_Q", "W_K")),
    ),
    relation=Equal(), all_sizes=True, sizes={"d": (1, 2), "d_in": (1, 3)}, exact=True, of_project=True,
    corrects="skipless.a4.1-default-variance",
    note=r"""$\alpha^2(d + 2)$ and $\alpha^2 d$ with $\alpha^2 = \sigma^4 d\,d_{in}$. At $\sigma = 0.02$ and heads of
        64: 1.5 at $d = 384$, 6.0 at $d = 768$; over 8 (a temperature not printed): 0.02 and 0.09.""")  # fmt: skip


@VARIANCE_EXACT.formula
def default_variances(sigma: Scale, d: Dimension, d_in: Inner) -> Any:
    """Var C_ii and Var C_ij, shape (2, 1)."""
    fourth = sigma * sigma * sigma * sigma
    return column(fourth * (d_in * d * (d + 2)), fourth * (d_in * d * d))


@VARIANCE_EXACT.oracle
def default_variances_expected(sigma: Scale, d: Dimension, d_in: Inner) -> Any:
    """The means are 0: W_Q enters the logits once."""
    weights = {"W_Q": Normal(d, d_in), "W_K": Normal(d, d_in)}
    squares = expectation(_squared_logits, X=Normal(2, d), **weights)(sigma=sigma)
    return column(squares[:, :1], squares[:, 1:2])


VARIANCE_EXACT.mutant("diagonal without the 2", "d + 2 -> d")
VARIANCE_EXACT.mutant("d for d^2 off the diagonal", "d_in * d * d -> d_in * d")


def row_ranges(rng: np.random.Generator, samples: int, d: int, alpha: float) -> np.ndarray:
    """Ranges of independent rows of logits, the diagonal left out, shape (samples,).

    Given row x, the entries of the row are independent normal of variance alpha^2 |x|^2 |g|^2 / d, g = Z^T x sqrt(d) / |x|.
    """
    spread = alpha * np.sqrt(rng.chisquare(d, samples) * rng.chisquare(d, samples) / d)
    row = rng.standard_normal((samples, LENGTH - 1)) * spread[:, None]
    return row.max(1) - row.min(1)


ROW_RANGE = Claim(AT_PRINTED_DIMENSIONS, "skipless.default-row-range",
    label="Range of a row of logits at default initialisation", name="range of the default logits",
    statement=r"P\Big(\max_j\mathbf{C}_{ij}-\min_j\mathbf{C}_{ij}>3\Big)\ge\tfrac9{10}\quad\text{at }\alpha=0.04,\ "
    r"\beta=0,\ d=384\text{ and }768",
    assumptions=[Definition(f"X ~ N(0, I) with n = {LENGTH} rows, the diagonal left out", by=row_ranges)],
    relation=FollowsLaw(samples=400, instances=2), of_project=True,
    note=r"So the range is not small beside a temperature of 1. A mutant takes $\alpha = 1/d$, for which it is.",
)  # fmt: skip


@ROW_RANGE.formula
def stated_alpha(d: int) -> float:
    """0.04 (Section A.4.1)."""
    return 0.04


@ROW_RANGE.part("laws")
def laws_of_range(formula: Callable[..., float], generator: torch.Generator, samples: int, d: int) -> list[LawTest]:
    import torch

    rng = np.random.default_rng(int(torch.randint(2**62, (1,), generator=generator, device=generator.device)))
    wide = int((row_ranges(rng, samples, d, formula(d)) > 3).sum())
    return [at_least_probability(f"range above 3, d = {d}", wide, samples, 0.9)]


ROW_RANGE.mutant("alpha = 1/d", lambda d: 1 / d)
ROW_RANGE.mutant("logits over 8", lambda d: 0.04 / 8)


# -- dominance by chance -----------------------------------------------------------------------------------------------

NO_DOMINANCE = Claim(SKIPLESS, "skipless.sec-a.4.1-no-dominance", label="Section A.4.1, parenthesis after Eq. (19)",
    statement=r"""\text{The default initialization is equivalent to }\beta=0\text{ (no diagonal dominance in weight
        initialization)}""",
    assumptions=[Definition("W = W_Q W_K^T with independent truncated normal weights, one head", by=truncated_normal)],
    name="dominance of the default query-key product", relation=FollowsLaw(samples=4000, instances=4), sizes={"d": (2, 8)},
    expects="reading", uses=("skipless.a4.1-default-alpha-exact", "skipless.sec5.2-beta-dominance"),
    reading=Reading("no diagonal dominance in weight initialization", r"""the diagonal is dominant, $W_{ii}>\max_{j\ne
        i}W_{ij}$, no more often than chance has it: in a given row with probability $1/d$"""),
    note=r"""Given row $i$ of $W^Q$ the entries of row $i$ of $W$ are independent and of one law, so that each is the
        largest with the same probability. A single row may well be dominant; all rows of a $W$ of the printed sizes
        hardly ever are.""")  # fmt: skip


@NO_DOMINANCE.formula
def probability_of_a_dominant_row(d: Dimension) -> float:
    """1 / d."""
    return 1 / d


@NO_DOMINANCE.part("laws")
def laws_of_dominant_rows(
    formula: Callable[..., float], generator: torch.Generator, samples: int, d: Dimension
) -> list[LawTest]:
    """Whether the first entry of the first row is the largest of its row, in independent draws."""
    row, K = truncated_normal(generator, samples, 1, d), truncated_normal(generator, samples, d, d)
    largest = (row @ K.transpose(1, 2))[:, 0].argmax(-1)
    return [proportion_test(f"first row dominant, d = {d}", (largest == 0).cpu(), formula(d))]


NO_DOMINANCE.mutant("one half", lambda d: 0.5 if d > 2 else 0.4)
NO_DOMINANCE.mutant("certain dominance", lambda d: 1.0)
