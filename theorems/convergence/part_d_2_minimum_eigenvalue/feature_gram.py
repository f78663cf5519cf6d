"""How far the Gram matrix of the features is from its limit: the last steps of Lemma 16, and the lemma.

Printed bounds lose a factor d_s and a square root of a logarithm; the orders in N and in lambda_* are right.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import Samples, mean_tokens
from theorems.convergence.part_b_background.sub_exponential import logarithm
from theorems.convergence.part_c_1_lemmas.constants import ASSUMPTION_1, TINY, sample_bound, stacked
from theorems.convergence.part_c_3_theorem_1.minimum_eigenvalue import smallest_eigenvalue
from theorems.convergence.part_d_2_minimum_eigenvalue.limiting_attention import (
    M_IS, ON_THE_EVENT, POSITIVE, TIGHT, WIDE, Logarithm, Product, RealWidth, SmallPositive, entry_bound,
    features_of_product, gram_shift, product_on_the_event,
)  # fmt: skip
from theorems.convergence.settings import drawn
from verify.matrix import absolute, frobenius_norm, maximum, rational, sqrt
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Real, Size, checked, realises

# -- entries and Frobenius norm of the change --------------------------------------------------------------------------

Half = Annotated[int, Size("k")]
Length = Annotated[int, Size("d_s")]
EntryLogarithm = Annotated[Any, Real(4.0, 12.0)]


def log_of_tail_at_least(k: Any, x: Any) -> Any:
    """log of (1/2) e^{-y} y^{k-1} / (k-1)! with y = k + x, which P(G - G' > x) is not below for Gamma(k) variables G and G'.

    The median of Gamma(k) is below k, so that P(G' <= k) >= 1/2; the rest is one term of the sum that is P(G > y).
    """
    y, log_factorial = x + k, x * 0 + k
    log_factorial = log_factorial.lgamma()  # of a tensor or a ball
    return logarithm(y * 0 + rational(1, 2)) - y + logarithm(y) * (k - 1) - log_factorial


def _least_attention(ell: Any, k: Any, d_s: Any) -> Any:
    """The square of the attention of the long token to itself above which the entry is above its printed bound."""
    return sqrt(ell / (2 * k)) * 8 + rational(1, d_s * d_s)


ENTRY = Claim(CONVERGENCE, "convergence.lemma-16-entry", label="Proof of Lemma 16, entry and Frobenius bounds",
    statement=r"""d_m\ge2\log\tfrac{2d^2}{\delta'}:\ |(\Phi\Phi^\top-\Phi^*\Phi^{* \top})^{(n,r)}|\le8\tau_0
        \eta_{QK}C_x^4d_sd\sqrt{d_m\log(2d^2/\delta')}\ \text{``with the same width requirement and probability'' } 1-
        \delta';\quad d_m\ge2\log\tfrac{2d^2N^2}{\delta''}:\ \| \Phi\Phi^\top-\Phi^*\Phi^{*\top}\|_F
        \le8N\tau_0\eta_{QK}C_x^4d_sd\sqrt{d_m \log(2d^2N^2/\delta'')}\text{ with probability at least }1-\delta''""",
    assumptions=[
        Definition(
            "W_Q, W_K independent N(0, eta_QK): their product is a difference of two Gamma(k) variables", by=log_of_tail_at_least
        ),
        Definition(
            "decided for one sample of d_s tokens of width d = 1, the first of length sqrt(d_s), the others zero, so that "
            "C_x = 1 in Assumption 1; tau_0 = 1/d_m, eta_QK = 1, d_m = 2k, ell = log(2/delta'). For N = 1 both displays say "
            "the same",
            by=_least_attention,
        ),
        Assumption("d_m >= 2 ell", nonnegative=lambda ell, k: 2 * k - 2 * ell),
        Assumption("decided where the bound is below the largest change that an entry can have",
            positive=lambda ell, k, d_s: 1 - _least_attention(ell, k, d_s)),
    ],
    name="deviation of the feature Gram matrix",
    relation=AtMost(left="log of the probability that the bound fails", ascent=False, signed=True),
    sizes={"k": (800, 815), "d_s": (1016, 1031)}, expects="refuted", severity="error",
    correction="convergence.lemma-16-entry-squared-length", uses=("convergence.eq-66-68",),
    consequence="""The bound may be used at a fixed number of tokens, where $d_s$ is a constant. It gives no dependence on
        $d_s$: take $d_s^2$.""",
    note=r"""Eqs. (65) and (68) have a factor $d_s$ each; one was lost. The bound itself is false, not only its
        derivation: one long token among zero tokens has $C_x = 1$, and attention moves to it long before the bound
        allows. The printed probability allows failures too, so the probability of failure is compared with $\delta'$. With
        $m = \tau_0W_Q^\top W_K$ the token attends to itself with $a = e^{d_sm}/(e^{d_sm} + d_s - 1)$, the entry changes
        by $a^2d_s - 1/d_s$, and $d_mm$ is a difference of two Gamma($k$) variables. What is computed is a lower bound
        of the probability. At $\ell = 4$, $d_m = 1600$ the bound fails with a probability of about 0.002 for $d_s = 64$,
        which $\delta' = 0.037$ allows, and of about 0.17 for $d_s = 256$, which it does not.""")  # fmt: skip


ENTRY.inputs(drawn(ell=EntryLogarithm, k=Half, d_s=Length))


@ENTRY.formula
def log_of_allowed_failure(ell: EntryLogarithm) -> Any:
    """log delta' = log 2 - ell, a scalar (proof of Lemma 16)."""
    return logarithm(ell * 0 + 2) - ell


@ENTRY.oracle
def log_of_entry_failure_at_least(ell: EntryLogarithm, k: Half, d_s: Length) -> Any:
    """log of a lower bound of the probability that the entry is above its printed bound."""
    a = sqrt(_least_attention(ell, k, d_s))
    return log_of_tail_at_least(k, logarithm(a * (d_s - 1) / (1 - a)) * rational(2 * k, d_s))


ENTRY.mutant("failure allowed always", lambda ell: ell * 0)
ENTRY.mutant("delta'^2", lambda value: 2 * value)
ENTRY.counterexample("ell = 8, d_m = 1600, 1024 tokens: failure above 0.006, delta' = 0.0007", ell="8", k=800, d_s=1024)


def _gram_bounds(X: Any, tau_0: Any, eta_QK: Any, d_m: Any, ell: Any, power: int = 4) -> Any:
    single = sample_bound(X) ** power * entry_bound(tau_0, eta_QK, d_m, ell) * X.shape[2] * 4 * X.shape[1] ** 2
    return stacked([single, single * X.shape[0]])


ENTRY_SQUARED = Claim(TIGHT, "convergence.lemma-16-entry-squared-length",
    label="Proof of Lemma 16, entry and Frobenius bounds with d_s^2",
    statement=r"""|(\Phi\Phi^\top-\Phi^*\Phi^{* \top})^{(n,r)}|\le8\tau_0 \eta_{QK}C_x^4d_s^2d\sqrt{d_m\ell},
        \qquad\|\Phi\Phi^\top- \Phi^*\Phi^{*\top}\|_F\le8N\tau_0\eta_{QK}C_x^4d_s^2d\sqrt{d_m\ell}""",
    name="deviation of the feature Gram matrix, corrected", relation=AtMost(),
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3)}, uses=("convergence.eq-65-transposed", "convergence.eq-66-68"),
    corrects="convergence.lemma-16-entry", of_project=True,
    note=r"""$\ell = \log(2 d^2/\delta)$ suffices for both: all entries depend on the same $d^2$ entries of $W_Q^\top
        W_K$, so the second union bound, over $N^2$ pairs, is not needed.""",
    loose=r"""All entries of $W_Q^\top W_K$ are taken at the edge of Eq. (67) at once, all tokens as long as $\|X_n\|_F$, and
        softmax to move four times as fast as it can.""")  # fmt: skip


@ENTRY_SQUARED.formula
def gram_bounds(X: Samples, tau_0: SmallPositive, eta_QK: SmallPositive, d_m: RealWidth, ell: Logarithm) -> Any:
    """Bounds of every entry and of the Frobenius norm, shape (2,)."""
    return _gram_bounds(X, tau_0, eta_QK, d_m, ell)


@ENTRY_SQUARED.oracle
def size_of_gram_shift(X: Samples, M: Product) -> Any:
    """The largest entry and the Frobenius norm of Phi Phi^T - Phi^* Phi^{*T}, shape (2,)."""
    shift = gram_shift(X, M)
    return stacked([maximum(absolute(shift)), frobenius_norm(shift)])


ENTRY_SQUARED.mutant("C_x^2 for C_x^4", power=2)
ENTRY_SQUARED.mutant("tau_0^2", "tau_0 -> tau_0 * tau_0")


# -- the width ---------------------------------------------------------------------------------------------------------

LargeHidden = Annotated[Any, Real(0.0625, 64.0)]
LongLogarithm = Annotated[Any, Real(1.0, 1024.0)]
Eigenvalue = Annotated[Any, Real(0.0625, 1.0)]
Extra = Annotated[Any, Real(0.0, 2.0)]


@checked
def quarter_of_eigenvalue(eigenvalue: Eigenvalue) -> Any:
    """lambda_* / 4, a scalar (proof of Lemma 16)."""
    return eigenvalue * rational(1, 4)


def printed_bound_at_inverse_width(N: int, ell: LongLogarithm, d_m: Any) -> Any:
    """8 N sqrt(ell / d_m), a scalar."""
    return sqrt(ell / d_m) * (8 * N)


WIDTH = Claim(CONVERGENCE, "convergence.lemma-16-width", label="Proof of Lemma 16, width",
    statement=r"""\text{In the case of LeCun initialization when
        }d_m=\Omega\Big(\frac{N^2\sqrt{\log(2d^2N^2/\delta'')}}{\lambda_0^2}\Big),\
        \|\Phi\Phi^\top-\Phi^\star\Phi^{\star\top}\|_F\le\frac{\lambda_*}4;\quad
        \lambda_{\min}(\Phi\Phi^\top)\ge\lambda_*-\|\Phi\Phi^\top-\Phi^*\Phi^{*\top}\|_2
        \ge\lambda_*-\|\Phi\Phi^\top-\Phi^*\Phi^{*\top}\|_F\ge\frac{3\lambda_*}4""",
    assumptions=[
        Definition(
            "the bound 8 N tau_0 eta_QK C_x^4 d_s d sqrt(d_m ell) of the previous display, at tau_0 = 1/d_m and eta_QK "
            "C_x^4 d_s d = 1",
            by=printed_bound_at_inverse_width,
        ),
        Assumption("K, ell, lambda_* > 0", positive=lambda K, ell, eigenvalue: stacked([K, ell, eigenvalue])),
        Assumption(
            "d_m >= K N^2 sqrt(ell) / lambda^2, with K the constant hidden in Omega",
            nonnegative=lambda K, N, ell, eigenvalue, d_m: d_m * eigenvalue**2 - K * sqrt(ell) * N**2,
        ),
        Definition("lambda_0 stands for lambda_*", by=quarter_of_eigenvalue),
    ],
    name="width for the feature Gram matrix", relation=AtMost(left="8 N sqrt(ell / d_m)", ascent=False),
    sizes={"N": (1, 4)}, expects="refuted", severity="error", correction="convergence.lemma-16-width-squared",
    note=r"""$8N \sqrt{\ell/d_m} \le \lambda/4$ asks for $d_m \ge 1024 N^2 \ell / \lambda^2$: solving for $d_m$ squares
        the root of the logarithm as well. Orders in $N$ and in $\lambda$ are right, and where logarithms are hidden
        nothing changes.""")  # fmt: skip


@WIDTH.inputs
def width_of_printed_order(K: LargeHidden, ell: LongLogarithm, eigenvalue: Eigenvalue, extra: Extra,
                           N: Annotated[int, Size("N")]) -> dict[str, Any]:  # fmt: skip
    d_m = K * sqrt(ell) / (eigenvalue * eigenvalue) * (1 + extra) * N**2
    return {"K": K, "ell": ell, "eigenvalue": eigenvalue, "d_m": d_m, "N": N}


WIDTH.formula(quarter_of_eigenvalue)
WIDTH.oracle(printed_bound_at_inverse_width)
WIDTH.mutant("lambda / 8", denominator=8)
WIDTH.mutant("lambda^2 / 4", "eigenvalue -> eigenvalue * eigenvalue")
WIDTH.counterexample("K = 2^20, ell = 2^40, N = 1, lambda = 1/2, d_m = 2^42: the bound is 4, lambda/4 = 1/8",
    K=str(2**20), ell=str(2**40), eigenvalue="1/2", d_m=str(2**42), N=1)  # fmt: skip


WIDTH_SQUARED = Claim(CONVERGENCE, "convergence.lemma-16-width-squared", label="Proof of Lemma 16, width, solved",
    statement=r"""d_m\ge1024N^2(\eta_{QK}C_x^4d_s^2d)^2\ell/\lambda_*^2\ \Rightarrow\
        8N\tau_0\eta_{QK}C_x^4d_s^2d\sqrt{d_m\ell} \le\lambda_*/4\ \text{at }\tau_0=1/d_m""",
    name="width for the feature Gram matrix, corrected", relation=AtMost(left="8 N a sqrt(ell / d_m)"),
    assumptions=[
        Assumption("lambda_*, d_m > 0", positive=lambda eigenvalue, d_m: stacked([eigenvalue, d_m])),
        Assumption("a, ell >= 0", nonnegative=lambda a, ell: stacked([a, ell])),
        Assumption("d_m >= 1024 N^2 a^2 ell / lambda_*^2",
            nonnegative=lambda a, N, ell, eigenvalue, d_m: d_m * eigenvalue**2 - a * a * ell * (1024 * N**2)),
    ],
    sizes={"N": (1, 4)}, corrects="convergence.lemma-16-width", of_project=True,
    note=r"Equality at the smallest width; $a$ stands for $\eta_{QK} C_x^4 d_s^2 d$.")  # fmt: skip


@WIDTH_SQUARED.inputs
def width_of_right_order(a: SmallPositive, ell: LongLogarithm, eigenvalue: Eigenvalue, extra: Extra,
                         N: Annotated[int, Size("N")]) -> dict[str, Any]:  # fmt: skip
    d_m = a * a * ell / (eigenvalue * eigenvalue) * (1 + extra) * (1024 * N**2)
    return {"a": a, "ell": ell, "eigenvalue": eigenvalue, "d_m": d_m, "N": N}


WIDTH_SQUARED.formula(quarter_of_eigenvalue)
WIDTH_SQUARED.oracle(lambda a, N, ell, d_m: a * sqrt(ell / d_m) * (8 * N))
WIDTH_SQUARED.mutant("lambda / 8", denominator=8)
WIDTH_SQUARED.mutant("lambda^2 / 4", "eigenvalue -> eigenvalue * eigenvalue")


SmallHidden = Annotated[Any, Real(0.0625, 1.0)]
LemmaLogarithm = Annotated[Any, Real(1.0, 32.0)]

LEMMA_16 = Claim(CONVERGENCE, "convergence.lemma-16", label="Lemma 16", name="feature Gram matrix near its limit",
    statement=r"""\lambda_*=\lambda_{\min}(\Phi^*\Phi^{*\top}),\
        d_m=\Omega\Big(\frac{N^2\sqrt{\log(2d^2N^2/\delta)}}{\lambda_*^2}\Big):\ \text{w.p.}\ge1-\delta:\
        \|\Phi\Phi^\top-\Phi^*\Phi^{*\top}\|_F\le\frac{\lambda_*}4,\ \lambda_{\min}(\Phi\Phi^\top)\ge\frac{3\lambda_*}4
    """,
    assumptions=[
        Definition(
            "Phi of (53), tau_0 = 1/d_m, LeCun initialisation; decided for one sample of the two tokens 1 and 0 with d = 1, where "
            "lambda_* = 1/4; d_m = 2k, ell = log(2/delta)",
            by=log_of_tail_at_least,
        ),
        Assumption(
            "d_m >= K N^2 sqrt(ell) / lambda_*^2, with K the constant hidden in Omega",
            nonnegative=lambda K, ell, k: 2 * k - 16 * K * sqrt(ell),
        ),
        Assumption("d_m >= 2 ell, as in the proof", nonnegative=lambda ell, k: 2 * k - 2 * ell),
    ],
    relation=AtMost(ascent=False, signed=True), sizes={"k": (32, 256)}, expects="refuted", severity="error",
    correction="convergence.lemma-16-logarithm",
    proof=(
        "convergence.eq-65", "convergence.eq-66-68", "convergence.se-product", "convergence.eq-67",
        "convergence.lemma-16-entry", "convergence.lemma-16-width",
    ),
    consequence="""Widths computed with the root of the logarithm are too small where a small failure probability is
        wanted; take the logarithm to the first power, and $d_s^2$ (convergence.lemma-16-logarithm).""",
    note=r"""The logarithm is needed to the first power: at $d_m = K \sqrt{\ell}/\lambda_*^2$ the failure probability is
        of order $\exp(-\text{const}\, K \sqrt{\ell})$, far above $\delta = 2 \exp(-\ell)$ for small $\delta$. Here
        $W_Q^\top W_K$ is a difference of two Gamma($k$) variables $G - G'$, and failure includes $G' \le k$, $G > k +
        2k \log(\sqrt{5}/(4 - \sqrt{5}))$. Where only orders in $N$ and $\lambda_*$ count, as in Lemma 18, the root is
        harmless; for $N > d$, $\lambda_* = 0$ and no width qualifies.""")  # fmt: skip


LEMMA_16.inputs(drawn(K=SmallHidden, ell=LemmaLogarithm, k=Half))


@LEMMA_16.formula
def log_of_printed_failure(ell: LemmaLogarithm) -> Any:
    """log delta = log 2 - ell, a scalar (Lemma 16)."""
    return logarithm(ell * 0 + 2) - ell


@LEMMA_16.oracle
def log_of_failure_at_least(K: SmallHidden, ell: LemmaLogarithm, k: Half) -> Any:
    """log of a lower bound of P(G - G' > 2k log(sqrt 5 / (4 - sqrt 5)))."""
    root = sqrt(ell * 0 + 5)
    return log_of_tail_at_least(k, logarithm(root / (4 - root)) * (2 * k))


LEMMA_16.mutant("sqrt(ell) for ell: the delta that the printed width does reach",
    lambda ell: logarithm(ell * 0 + 2) - sqrt(ell))  # fmt: skip
LEMMA_16.mutant("delta^2", lambda value: 2 * value)
LEMMA_16.counterexample("K = 1, ell = 1000, d_m = 2000: log of the failure probability above -95, log delta below -999",
    K="1", ell="1000", k=1000)  # fmt: skip
LEMMA_16.counterexample("K = 100, ell = 10^5, d_m = 510000", K="100", ell="100000", k=255000)


LEMMA_16_LOGARITHM = Claim(CONVERGENCE, "convergence.lemma-16-logarithm",
    label="Lemma 16, with the logarithm to the first power", name="feature Gram matrix near its limit, corrected",
    statement=r"""d_m\ge\max\Big(2\ell,\frac{1024N^2(\eta_{QK}C_x^4d_s^2d)^2\ell}{\lambda_*^2}\Big),\
        \ell=\log(2d^2/\delta):\ \text{w.p.}\ge1-\delta:\ \|\Phi\Phi^\top-\Phi^*\Phi^{*\top}\|_F\le\frac{\lambda_*}4,\
        \lambda_{\min}(\Phi\Phi^\top)\ge\frac{3\lambda_*}4""",
    assumptions=[
        ASSUMPTION_1, M_IS, Assumption("tau_0 = 1/d_m", zero=lambda tau_0, d_m: tau_0 * d_m - 1), ON_THE_EVENT, WIDE,
        POSITIVE,
        Assumption(
            "the width",
            nonnegative=lambda X, eta_QK, d_m, ell: (
                d_m * _limiting_eigenvalue(X) ** 2 - (_width_factor(X, eta_QK) ** 2) * ell
            ),
        ),
        Assumption("lambda_* > 0, hence N <= d", positive=lambda X: stacked([_limiting_eigenvalue(X)]),
            sizes=lambda sizes: sizes["N"] <= sizes["d"]),
    ],
    levels={"delta": "ell"},
    relation=AtMost(ascent=False), sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 4)},
    uses=("convergence.eq-67", "convergence.lemma-16-entry-squared-length", "convergence.lemma-16-width-squared"),
    corrects="convergence.lemma-16", of_project=True,
    without_domains={"rank deficient": "tokens of rank below N make lambda_* vanish"},
    note=r"Certified on the event of Eq. (67), which has probability at least $1 - \delta$.")  # fmt: skip


def _limiting_eigenvalue(X: Any) -> Any:
    Phi = mean_tokens(X)
    return smallest_eigenvalue(Phi @ Phi.T)


def _width_factor(X: Any, eta_QK: Any) -> Any:
    """32 N eta_QK C_x^4 d_s^2 d."""
    N, d_s, d = X.shape
    return sample_bound(X) ** 4 * eta_QK * (32 * N * d_s**2 * d)


@LEMMA_16_LOGARITHM.inputs
@realises(
    {"tau_0 = 1/d_m": "tau_0 is computed from d_m"},
    but=(
        "the largest entry of M meets Eq. (67) with equality: ell is the least that admits M, and asks for the least width. The"
        " width is at least the sum of the two of which the larger is asked, so that no comparison is a tie"
    ),
)
def wide_enough(X: Samples, share: Product, eta_QK: SmallPositive, ell: Logarithm, extra: Extra) -> dict[str, Any]:
    least = _limiting_eigenvalue(X)
    d_m = _width_factor(X, eta_QK) ** 2 * ell / (least * least + TINY) * (1 + extra) + 2 * ell
    return product_on_the_event(X, share, 1 / d_m, eta_QK, d_m, ell)


@LEMMA_16_LOGARITHM.formula
def quarter_and_smallest(X: Samples, M: Product) -> Any:
    """lambda_*/4, and lambda_min(Phi Phi^T); shape (2,)."""
    Phi = features_of_product(X, M)
    return stacked([_limiting_eigenvalue(X) * rational(1, 4), smallest_eigenvalue(Phi @ Phi.T)])


LEMMA_16_LOGARITHM.oracle(
    lambda X, M: stacked([frobenius_norm(gram_shift(X, M)), _limiting_eigenvalue(X) * rational(3, 4)])
)
LEMMA_16_LOGARITHM.mutant("no deviation at all", "rational(1, 4) -> 0")
LEMMA_16_LOGARITHM.mutant("half the eigenvalue", lambda value: stacked([value[0], value[1] * rational(1, 2)]))
