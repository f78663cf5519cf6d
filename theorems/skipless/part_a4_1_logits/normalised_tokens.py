"""Section A.4.1, text on Fig. 6: tokens after a layer normalisation beside the N(0, I) on which Eqs. (14)-(20) rest.

Mean and variance of the entries agree exactly; the squared norm, which Eq. (14) gives the variance 2d, is d for every token.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Tokens
from theorems.skipless.part_a4_1_logits.enumeration import Scale, gap
from verify.matrix import centred, column, concatenate, layer_norm, ones, rational, row_sums, total
from verify.oracles import Normal, expectation
from verify.vocabulary import Assumption, Claim, Definition, Equal, Reading, Setting, Shape
from verify.vocabulary.hypotheses import normal_entries

Pair = Annotated[Any, Shape("2", "d")]


def spreads(T: Any) -> Any:
    """The sum of the squared entries of each centred row."""
    return row_sums(centred(T) * centred(T))


NORMALISED = Setting(SKIPLESS, "Section A.4.1",
    assumptions=[
        Definition("tokens after the layer normalisation of T: rows of mean 0 and squared norm d; unit gain, no shift, no"
            " constant under the root", by=layer_norm),
        Assumption("no row of T is constant, which needs d >= 2", positive=spreads, sizes=lambda sizes: sizes["d"] >= 2),
    ],
    sizes={"n": (1, 4), "d": (2, 5)})  # fmt: skip

FIGURE_6 = Claim(NORMALISED, "skipless.fig-6-tokens", label="Section A.4.1, text on Fig. 6, and its caption",
    statement=r"""\text{To justify our assumption that the token embeddings }\mathbf{X}\in\mathbb{R}^{n\times d}\sim\mathcal{N}(0,
        \mathbf{I})\text{, we show that their empirical distribution closely matches a zero-mean, approximately isotropic
        Gaussian (shown in Fig. 6)}\ \dots\ \text{Distribution of token embeddings after the pre-layer norm throughout the
        blocks using proposed initialization}""",
    name="tokens after layer normalisation", relation=Equal(), all_sizes=True, expects="reading",
    uses=("skipless.fig-6-squared-norm",),
    reading=Reading("closely matches a zero-mean, approximately isotropic Gaussian", r"""the entries of each token have the
        mean 0 and the
        mean square 1, those of $\mathcal{N}(0, 1)$, exactly and for any tokens: the layer normalisation makes it so. Not so the
        squared norm of a token, on which Eqs. (14), (16), (18) and (20) rest (skipless.fig-6-squared-norm)"""),
    note="""How near the histogram of the entries is to a normal one, and how near the tokens are to isotropic, needs the
        authors' data: equal tokens, as after rank collapse, have these means and squares too. The layer normalisation is in the
        caption; Eqs. (1) and (2) have none.""")  # fmt: skip


@FIGURE_6.formula
def normal_mean_and_square(T: Tokens) -> Any:
    """0 and 1 for each token, shape (n, 2)."""
    n = T.shape[0]
    return concatenate([0 * ones(n, 1), ones(n, 1)], axis=1)


@FIGURE_6.oracle
def means_and_squares(T: Tokens) -> Any:
    """The mean and the mean square of the entries of each normalised token, shape (n, 2)."""
    X, share = layer_norm(T), rational(1, T.shape[1])
    return concatenate([row_sums(X) * share, row_sums(X * X) * share], axis=1)


FIGURE_6.mutant("variance 1/d", lambda T: normal_mean_and_square(T) * rational(1, T.shape[1]))
FIGURE_6.mutant("mean 1", lambda T: ones(T.shape[0], 2))

SQUARED_NORM = Claim(NORMALISED, "skipless.fig-6-squared-norm", label="Eq. (14) for tokens after a layer normalisation",
    statement=r"""\mathrm{Var}(\mathbf{A}_{ii})=2d\text{ for }\mathbf{A}=\mathbf{X}\mathbf{X}^\top\text{ and tokens }\mathbf{X}
        \text{ after a layer normalisation}""",
    assumptions=[Definition("the variance over the tokens about the mean d of Eq. (14)", by=total)],
    name="squared norms of normalised tokens", relation=Equal(), expects="refuted", severity="error", of_project=True,
    correction="skipless.fig-6-gap-given-tokens",
    note=r"""It is 0: $|x_i|^2 = d$ for every token. So $\mathrm{Var}(C_{ii})$ of Eq. (18) is 0 at $\alpha = 0$, not
        $2\beta^2d$.""")  # fmt: skip


@SQUARED_NORM.formula
def variance_of_squared_norm(T: Tokens) -> Any:
    """2 d, a scalar (Eq. (14))."""
    return 0 * T[0, 0] + 2 * T.shape[1]


@SQUARED_NORM.oracle
def mean_squared_deviation(T: Tokens) -> Any:
    """The mean over the tokens of (|x_i|^2 - d)^2, a scalar."""
    X = layer_norm(T)
    off = row_sums(X * X) - T.shape[1]
    return total(off * off) * rational(1, T.shape[0])


SQUARED_NORM.counterexample("two tokens of dimension 2", T=[[1, 0], [0, 1]])
SQUARED_NORM.counterexample("two tokens of dimension 4", T=[[1, 0, 0, 0], [1, 2, 0, -1]])
SQUARED_NORM.mutant("variance d", lambda value: value / 2)
SQUARED_NORM.mutant("variance 2", lambda T: 0 * T[0, 0] + 2)

STATED = "Z of shape (d, d) independent of X, entries independent normal of mean 0 and variance 1/d (Eq. (11))"
GAP = Claim(SKIPLESS, "skipless.fig-6-gap-given-tokens", label="The gap of two logits for tokens after a layer normalisation",
    statement=r"""|x_i|^2=|x_j|^2=d\text{ after a layer normalisation, and given such tokens}\quad\gamma=\mathbf{C}_{ii}-
        \mathbf{C}_{ij}\sim\mathcal{N}\big(\beta\delta,\,2\alpha^2\delta\big),\quad\delta=d-x_i\cdot
        x_j,\quad\mathbf{C}=\alpha\mathbf{X}
        \mathbf{Z}\mathbf{X}^\top+\beta\mathbf{X}\mathbf{X}^\top,\ \mathbf{Z}_{kl}\sim\mathcal{N}(0,\tfrac1d)\text{ independent}""",
    assumptions=[
        Definition("x_i, x_j are the two rows of T after the layer normalisation", by=layer_norm),
        Definition(STATED, by=Normal),
        Assumption("no row of T is constant, which needs d >= 2", positive=spreads, sizes=lambda sizes: sizes["d"] >= 2),
    ],
    hypotheses=(normal_entries("Z", stated=STATED),),
    name="gap of logits of normalised tokens", relation=Equal(), all_sizes=True, sizes={"d": (2, 4)}, of_project=True,
    corrects="skipless.fig-6-squared-norm", uses=("skipless.eq-20-corrected",),
    note=r"""$\gamma = \beta x_i\cdot(x_i - x_j) + \alpha x_i^\top Z(x_i - x_j)$ is linear in $Z$, hence normal; its mean
        and variance are compared,
        the latter $\alpha^2|x_i|^2|x_i - x_j|^2/d$ for any tokens. So one logit is dominated with probability
        $\Phi(\beta\sqrt{\delta/2}/\alpha)$: no Gaussian tokens
        are needed, only that $\delta$ is large beside $\alpha^2/\beta^2$; it is near $d$ for tokens that are nearly
        orthogonal.""")  # fmt: skip


def _gap(Z: Any, X: Any, alpha: Any, beta: Any) -> Any:
    return gap(X, Z, alpha, beta)


def _squared_gap(Z: Any, X: Any, alpha: Any, beta: Any) -> Any:
    return gap(X, Z, alpha, beta) * gap(X, Z, alpha, beta)


@GAP.formula
def gap_given_tokens(T: Pair, alpha: Scale, beta: Scale) -> Any:
    """|x_i|^2, and mean and variance of gamma, shape (3, 1)."""
    X, d = layer_norm(T), T.shape[1]
    delta = d - X[:1] @ X[1:].T
    return column(0 * delta + d, beta * delta, 2 * alpha * alpha * delta)


@GAP.oracle
def gap_expected_over_noise(T: Pair, alpha: Scale, beta: Scale) -> Any:
    X, d = layer_norm(T), T.shape[1]
    noise = Normal(d, d, rational(1, d))
    mean, square = (expectation(f, Z=noise)(X=X, alpha=alpha, beta=beta) for f in (_gap, _squared_gap))
    return column(X[:1] @ X[:1].T, mean, square - mean * mean)


GAP.mutant(
    "variance of Eq. (20) for Gaussian tokens, 2 d + 2",
    "2 * alpha * alpha * delta -> alpha * alpha * (0 * delta + 2 * d + 2)",
)
GAP.mutant("mean beta d", "beta * delta -> beta * (0 * delta + d)")
