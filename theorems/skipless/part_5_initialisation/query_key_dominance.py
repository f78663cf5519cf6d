"""Section 5.2: dominance of W_Q W_K^T = alpha Z + beta I, and what the default initialisation does instead.

Its rows are dominant in the sense of Proposition 1, in the usual sense they are not; neither carries over to the logits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Tokens, Weights
from theorems.skipless.part_5_initialisation.initialisation import Alpha, Beta, value_output_weights
from theorems.skipless.part_5_initialisation.proposition_2 import OneToken
from theorems.skipless.quantities import initial_product
from theorems.skipless.sampling import at_least_half, batched_input_jacobian, conditions, normal, truncated_normal
from verify.matrix import absolute, column, concatenate, eye, row_sums
from verify.oracles import LawTest, at_least_probability
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Definition, Equal, FollowsLaw, Reading, Real

if TYPE_CHECKING:
    import torch

Factor = Annotated[Any, Real(1.125, 4.0)]

#: Printed (d, alpha, beta); the third is that of Section A.8, at a dimension of our choice.
PRINTED = ((768, 2.0, 0.6), (384, 1.8, 1.0), (64, 0.0, 0.5))

BETA_DOMINANCE = Claim(SKIPLESS, "skipless.sec5.2-beta-dominance", label="Section 5.2, text after Eq. (11)",
    statement=r"""\text{the identity term }\beta\mathbf{I}\text{ encourages diagonal dominance in
        }\mathbf{W}_\ell^Q\mathbf{W}_\ell^{K^\top}""",
    assumptions=[Definition("Z of Eq. (11), alpha and beta as printed: (2, 0.6) at d = 768, (1.8, 1) at d = 384, (0, 0.5)",
        by=PRINTED)],
    name="diagonal dominance of the query-key product", relation=FollowsLaw(samples=100, instances=1),
    expects="reading",
    reading=Reading("encourages diagonal dominance", r"""dominance as in Proposition 1, $W_{ii} > \max_{j\ne i}W_{ij}$:
        all rows have it with probability at least $1 - \frac{d(d - 1)}2 e^{-\beta^2 d/(4\alpha^2)}$, for $\beta > 0$;
        0.99 and more at the printed values. In the usual sense, $|W_{ii}|$ above the sum of the others, no row has it
        unless $\alpha$ is 0 (skipless.sec5.2-beta-dominance-usual)"""),
    note=r"""The sentence goes on: 'which in turn helps ensure that the initial attention operator is well-conditioned',
        for which see skipless.a4.3-kappa-a. $W_{ii} - W_{ij}$ is normal of mean $\beta$ and variance $2\alpha^2/d$, so
        negative with probability at most $\frac12e^{-\beta^2 d/(4\alpha^2)}$; $d(d - 1)$ pairs. 'Ensures', in
        Proposition 2, is true with that probability only: any matrix is a value of $\alpha Z + \beta I$.""",
)  # fmt: skip


def _margin(W: Any, beta: float) -> Any:
    """W_ii - max_{j != i} W_ij for each row, positive for a dominant one."""
    others = W.clone()
    others.diagonal(dim1=-2, dim2=-1).fill_(-math.inf)
    return W.diagonal(dim1=-2, dim2=-1) - others.amax(-1)


def _usual_margin(W: Any, beta: float) -> Any:
    """|W_ii| - sum_{j != i} |W_ij| for each row."""
    sizes = W.abs()
    return 2 * sizes.diagonal(dim1=-2, dim2=-1) - sizes.sum(-1)


@BETA_DOMINANCE.formula
def margin_of_rows() -> Callable[[Any, float], Any]:
    """The margin W_ii - max_{j != i} W_ij of each row of W; positive for a dominant row."""
    return _margin


@BETA_DOMINANCE.part("laws")
def dominant_products(
    formula: Callable[[], Callable[[Any, float], Any]], generator: torch.Generator, samples: int
) -> list[LawTest]:
    """How often all rows are dominant, at the printed values, against the bound of the reading."""
    import torch

    tests, margin = [], formula()
    for d, alpha, beta in PRINTED:
        bound = 1 - d * (d - 1) / 2 * math.exp(-(beta**2) * d / (4 * alpha**2)) if alpha else 1.0
        dominant = 0
        for _ in range(samples):
            Z = torch.randn(d, d, generator=generator, device=generator.device) / math.sqrt(d)
            W = alpha * Z + beta * torch.eye(d, device=generator.device)
            dominant += bool(margin(W, beta).min() > 0)
        name = f"all rows dominant, d = {d}, alpha = {alpha}, beta = {beta}"
        tests.append(at_least_probability(name, dominant, samples, min(bound, 0.99)))
    return tests


BETA_DOMINANCE.mutant("dominance in the usual sense", lambda: _usual_margin)
BETA_DOMINANCE.mutant("without the identity", lambda: lambda W, beta: _margin(W, beta) - beta)

USUAL = Claim(SKIPLESS, "skipless.sec5.2-beta-dominance-usual",
    label="Dominance of the initial query-key product in the usual sense",
    statement=r"\sum_{j\ne i}|\mathbf{W}_{ij}|\le|\mathbf{W}_{ii}|\ \text{for}\ \mathbf{W}=\alpha\mathbf{Z}+\beta"
    r"\mathbf{I},\ \beta>0",
    assumptions=[Assumption("beta > 0", positive=lambda beta: beta)],
    name="usual dominance of the query-key product", relation=AtMost(left="sum_{j != i} |W_ij|"), sizes={"d": (2, 5)},
    expects="refuted", severity="error", of_project=True, correction="skipless.sec5.2-beta-dominance-margin",
    note=r"""$\mathbb{E}\sum_{j\ne i}|W_{ij}| = \alpha(d - 1)\sqrt{2/(\pi d)}$, 44 at $d = 768$ and $\alpha = 2$,
        against $|W_{ii}|$ near 0.6.""")  # fmt: skip


def _off_diagonal_sums(W: Any) -> Any:
    """sum_{j != i} |W_ij|, shape (d, 1)."""
    sizes = absolute(W)
    return row_sums(sizes) - row_sums(sizes * eye(W.shape[0]))


@USUAL.formula
def diagonal_sizes(Z: Weights, alpha: Alpha, beta: Beta) -> Any:
    """|W_ii|, shape (d, 1)."""
    return row_sums(absolute(initial_product(Z, alpha, beta)) * eye(Z.shape[0]))


USUAL.oracle(lambda Z, alpha, beta: _off_diagonal_sums(initial_product(Z, alpha, beta)))
USUAL.counterexample("d = 4, all entries of Z one standard deviation, alpha = 2, beta = 3/5", Z=[["1/2"] * 4] * 4,
    alpha="2", beta="3/5")  # fmt: skip
USUAL.mutant("Z without the identity", lambda Z, alpha: row_sums(absolute(Z * alpha) * eye(Z.shape[0])))
USUAL.mutant("beta doubled", "beta -> 2 * beta")

USUAL_MARGIN = Claim(SKIPLESS, "skipless.sec5.2-beta-dominance-margin",
    label="Margin of dominance of the initial query-key product", name="margin of the query-key product",
    statement=r"\mathbf{W}=\alpha\mathbf{Z}+\beta\mathbf{I}:\ |\mathbf{W}_{ii}|-\sum_{j\ne "
              r"i}|\mathbf{W}_{ij}|\ge\beta-|\alpha|\sum_j|\mathbf{Z}_{ij}|",
    assumptions=[],
    relation=AtMost(left="beta - |alpha| sum_j |Z_ij|", signed=True), sizes={"d": (1, 5)}, of_project=True,
    corrects="skipless.sec5.2-beta-dominance-usual",
    note=r"""So $\beta$ above $\alpha$ times the largest row sum of $|Z|$, near $\alpha\sqrt{2d/\pi}$ for Eq. (11),
        ensures dominance. Attained for $Z_{ii} \le 0$ and $\alpha \ge 0$.""")  # fmt: skip


@USUAL_MARGIN.formula
def margin_in_the_usual_sense(Z: Weights, alpha: Alpha, beta: Beta) -> Any:
    """|W_ii| - sum_{j != i} |W_ij|, shape (d, 1)."""
    W = initial_product(Z, alpha, beta)
    return row_sums(absolute(W) * eye(Z.shape[0])) - _off_diagonal_sums(W)


USUAL_MARGIN.oracle(lambda Z, alpha, beta: beta - row_sums(absolute(Z)) * absolute(alpha))
USUAL_MARGIN.mutant("off-diagonal entries counted twice", "_off_diagonal_sums(W) -> 2 * _off_diagonal_sums(W)")

USUAL_MARGIN.mutant("minus beta", lambda value, beta: value - 2 * absolute(beta) - 1)

NOT_AUTOMATIC = Claim(SKIPLESS, "skipless.sec5.2-not-automatic", label="Section 5.2, text",
    statement=r"""\text{diagonal dominance of }\mathbf{W}_\ell^Q\mathbf{W}_\ell^{K^\top}\text{ does not automatically
        imply that the transformed matrix }\mathbf{X}^\top\mathbf{W}_\ell^Q\mathbf{W}_\ell^{K^\top}\mathbf{X}\text{ is
        also diagonally dominant}""",
    assumptions=[Construction("X of shape (n, d), W = W_Q W_K^T of shape (d, d), as in Section 2", shapes={"X": ("n", "d"),
        "W": ("d", "d")})],
    name="dominance carried over to the logits", relation=Equal(), sizes={"n": (1, 4), "d": (1, 4)}, exact=True,
    expects="refuted", severity="slip", correction="skipless.sec5.2-not-automatic-corrected",
    consequence=r"""The product as printed exists only for $n = d$; the sentence is right of the logits $XWX^\top$
        (skipless.sec5.2-not-automatic-corrected).""",
    note=r"""The logits of the same section are $XWX^\top$, which is meant; $X^\top WX$ is a product only for $n = d$.
        The sizes that have to agree are compared: columns of $X^\top$ with rows of $W$, columns of $W$ with rows of
        $X$.""")  # fmt: skip


@NOT_AUTOMATIC.formula
def inner_sizes_as_printed(X: Tokens, W: Weights) -> Any:
    """Columns of X^T, and rows of X, shape (2, 1)."""
    return column(X.T.shape[1] + 0 * X[0, 0], X.shape[0] + 0 * X[0, 0])


NOT_AUTOMATIC.oracle(lambda X, W: column(*(size + 0 * W[0, 0] for size in W.shape)))
NOT_AUTOMATIC.counterexample("two tokens of dimension 1", X=[[1], [2]], W=[[1]])
NOT_AUTOMATIC.mutant("one token more", lambda value: value + 1)
NOT_AUTOMATIC.mutant("twice the tokens", lambda value: 2 * value)

NOT_AUTOMATIC_CORRECTED = Claim(SKIPLESS, "skipless.sec5.2-not-automatic-corrected",
    label="Section 5.2, text, for the logits X W X^T", name="dominance carried over to the logits, corrected",
    statement=r"""\text{Diagonal dominance of }\mathbf{W}=\mathbf{W}^Q\mathbf{W}^{K\top}\text{ does not imply that of
        }\mathbf{M}= \mathbf{X}\mathbf{W}\mathbf{X}^\top:\ \mathbf{M}_{11}-\mathbf{M}_{12}=-\beta(s-1)\|x\|^2\text{
        for }\mathbf{W} =\beta\mathbf{I},\ \mathbf{X}=(x,\,sx)^\top\text{, which is negative where }s>1,\ \beta>0,\ x\ne0""",
    assumptions=[
        Definition("W = beta I, dominant in either sense", by=eye),
        Assumption("beta > 0, s > 1, x != 0", positive=lambda x, beta, s: column(beta, s - 1, row_sums(x * x)[0, 0])),
    ],
    relation=Equal(), all_sizes=True, sizes={"d": (1, 4)}, exact=True, of_project=True,
    corrects="skipless.sec5.2-not-automatic",
    note="An example for every dimension $d$.")  # fmt: skip


@NOT_AUTOMATIC_CORRECTED.formula
def margin_of_shorter_token(x: OneToken, beta: Alpha, s: Factor) -> Any:
    """-beta (s - 1) |x|^2, shape (1, 1)."""
    return row_sums(x * x) * (1 - s) * beta


@NOT_AUTOMATIC_CORRECTED.oracle
def margin_of_first_row(x: OneToken, beta: Alpha, s: Factor) -> Any:
    X = concatenate([x, x * s], axis=0)
    M = X @ (eye(x.shape[1]) * beta) @ X.T
    return M[:1, :1] - M[:1, 1:]


NOT_AUTOMATIC_CORRECTED.mutant("margin of the longer token", lambda x, beta, s: row_sums(x * x) * (s * s - s) * beta)
NOT_AUTOMATIC_CORRECTED.mutant("s^2 in the place of s", lambda x, beta, s: row_sums(x * x) * (1 - s * s) * beta)


# -- what the default does ---------------------------------------------------------------------------------------------

SMALL, CHANNELS, LAYERS = 4, 12, 100


@functools.lru_cache(maxsize=4)
def _crossed(seed: int) -> tuple[Any, Any, Any, Any]:
    """Distance of A from uniform and kappa(A) at default weights; kappa(K) with either product replaced by the proposed one."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    X = normal(generator, LAYERS, SMALL, CHANNELS)
    Q, K, V, O = (truncated_normal(generator, LAYERS, CHANNELS, CHANNELS) for _ in range(4))
    W, P = Q @ K.transpose(1, 2), V @ O
    W_V, W_O = value_output_weights(normal(generator, LAYERS, CHANNELS, CHANNELS), 3.0)
    peaked = torch.eye(CHANNELS, dtype=X.dtype).expand(LAYERS, -1, -1) / 2
    A = torch.softmax(X @ W @ X.transpose(1, 2), -1)
    distance = torch.linalg.matrix_norm(A - 1 / SMALL)
    new_queries = conditions(batched_input_jacobian(X, peaked, P))
    new_values = conditions(batched_input_jacobian(X, W, W_V @ W_O))
    return distance, conditions(A), new_queries, new_values


DIFFUSE_AT_START = Claim(SKIPLESS, "skipless.sec5.2-random-init-diffuse", label="Section 5.2, text after Proposition 1",
    statement=r"""\text{at random initialization, the logits }\mathbf{M}\text{ are “diffuse”, hence, the attention
        matrix }\mathbf{A}\text{ is close to the uniform matrix and thus ill-conditioned (see Section A.4.1), which is
        the main cause of the ill-conditioned }\kappa(\mathbf{K}_\ell)""",
    assumptions=[Definition("truncated normal weights, one head, tokens N(0, I)", by=_crossed)],
    name="diffuse logits at random initialisation", relation=FollowsLaw(samples=LAYERS, instances=1),
    expects="empirical", uses=("skipless.a4.1-default-variance-exact", "skipless.default-row-range"),
    observed=r"""$n = 4$ tokens of dimension $d = 12$, weights of standard deviation 0.02, 100 draws; in at least half
        of them $\|A - \frac1n\mathbf{1}\mathbf{1}^\top\|_F$ is below 0.05, $\kappa(A)$ above 100, and $W^QW^{K\top} =
        I/2$ ($\alpha = 0$, $\beta = 0.5$) brings $\kappa(K)$ further down than the SVD initialisation of $W^VW^O$ with
        $c = 3$ (medians $10^6$ at default weights, 500 and $10^4$). The main cause is a matter of the remedy: with
        $(\alpha, \beta) = (2, 0.6)$ $\kappa(K)$ does not fall at this $d$. And the logits are diffuse at small $d$
        only: without a scale factor their standard deviation grows like $d\sqrt d$, 2.3 at $d = 384$ and 6.5 at $d =
        768$, where $A$ is far from uniform and $\kappa(A)$ between $10^3$ and $10^6$ all the same""")  # fmt: skip


@DIFFUSE_AT_START.formula
def observed_medians() -> tuple[float, float, int]:
    """Bounds of the distance from uniform and of kappa(A); the power of kappa(K) with new values over that with new queries."""
    return 0.05, 100.0, 1


@DIFFUSE_AT_START.part("laws")
def crossed(formula: Callable[[], tuple[float, float, int]], generator: torch.Generator) -> list[LawTest]:
    far, ill, power = formula()
    distance, kappa, new_queries, new_values = _crossed(generator.initial_seed())
    return [
        at_least_half("distance from uniform", distance <= far),
        at_least_half("kappa(A)", kappa >= ill),
        at_least_half("kappa(K)", (new_values / new_queries) ** power >= 1),
    ]


DIFFUSE_AT_START.mutant("W_V W_O the main cause", lambda: (0.05, 100.0, -1))
DIFFUSE_AT_START.mutant("uniform to 1e-4", lambda: (0.0001, 100.0, 1))
DIFFUSE_AT_START.mutant("kappa(A) of 1e6", lambda: (0.05, 1000000.0, 1))
