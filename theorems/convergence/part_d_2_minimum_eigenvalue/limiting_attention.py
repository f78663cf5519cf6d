"""How far the attention of a wide network is from uniform: Eqs. (65) to (68), the steps of Lemma 16.

They are certified on the event of Eq. (67) for every entry of M = tau_0 W_Q^T W_K (`EVENT`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import Samples, mean_tokens
from theorems.convergence.part_b_background.sub_exponential import logarithm
from theorems.convergence.part_c_1_lemmas.constants import ASSUMPTION_1, TINY, sample_bound, stacked
from theorems.convergence.settings import Tokens, Width
from verify.matrix import absolute, frobenius_norm, maximum, ones, rational, softmax, sqrt, stack_rows
from verify.oracles import LawTest, at_most_probability, standard_normal
from verify.vocabulary import Assumption, AtMost, Claim, Definition, FollowsLaw, Real, Setting, Shape, Size, realises

Product = Annotated[Any, Shape("d", "d", role="query")]
SmallPositive = Annotated[Any, Real(0.00390625, 2.0)]
Logarithm = Annotated[Any, Real(0.75, 8.0)]
RealWidth = Annotated[Any, Real(16.0, 256.0)]
Level = Annotated[int, Size("level")]


def first_attention(X: Tokens, M: Product) -> Any:
    """beta_1 = softmax(X^{(1,:)} M X^T)^T with M = tau_0 W_Q^T W_K, shape (d_s, 1)."""
    return softmax(X[0:1] @ M @ X.T).T


M_IS = Definition(
    "M stands for tau_0 W_Q^T W_K; its value at infinite width is 0, so beta^* = 1/d_s", by=first_attention
)


def shift_from_uniform(X: Tokens, M: Product) -> Any:
    """beta_1 - 1/d_s, shape (d_s, 1)."""
    d_s = X.shape[0]
    return first_attention(X, M) - ones(d_s, 1) * rational(1, d_s)


def features_of_product(X: Samples, M: Product) -> Any:
    """Phi with M = tau_0 W_Q^T W_K, shape (N, d) (Eq. (53))."""
    return stack_rows([first_attention(X[n], M).T @ X[n] for n in range(X.shape[0])])


def gram_shift(X: Samples, M: Product) -> Any:
    """Phi Phi^T - Phi^* Phi^{*T}, shape (N, N)."""
    Phi, limit = features_of_product(X, M), mean_tokens(X)
    return Phi @ Phi.T - limit @ limit.T


def entry_bound(tau_0: Any, eta_QK: Any, d_m: Any, ell: Any) -> Any:
    """2 tau_0 eta_QK sqrt(d_m ell) for ell = log(2/delta), a scalar (Eq. (67))."""
    return tau_0 * eta_QK * sqrt(d_m * ell) * 2


def _entry(X: Any, Y: Any, M: Any) -> Any:
    """The absolute value of the entry (n, r) for X_n = X and X_r = Y."""
    a, b = first_attention(X, M).T @ X, first_attention(Y, M).T @ Y
    d_s = X.shape[0]
    uniform = ones(1, d_s) * rational(1, d_s)
    return absolute((a @ b.T - (uniform @ X) @ (uniform @ Y).T)[0, 0])


def _middle(X: Any, Y: Any, M: Any, transposed: bool) -> Any:
    C = X @ Y.T
    first = (C.T if transposed else C) @ shift_from_uniform(X, M)
    return frobenius_norm(first) + frobenius_norm(C @ shift_from_uniform(Y, M))


def last_member_of_65(X: Any, Y: Any, M: Any, d_s: int) -> Any:
    C_x = maximum(stacked([frobenius_norm(X), frobenius_norm(Y)])) / sqrt(X.shape[0])
    shifts = frobenius_norm(shift_from_uniform(X, M)) + frobenius_norm(shift_from_uniform(Y, M))
    return C_x * C_x * shifts * d_s


SAMPLES_BOUNDED = Definition(
    "Assumption 1: ||X_n||_F, ||X_r||_F <= sqrt(d_s) C_x, with the least such C_x", by=last_member_of_65
)

EQ_65 = Claim(CONVERGENCE, "convergence.eq-65", label="Eq. (65)", name="change of a feature Gram entry",
    statement=r"""|(\Phi\Phi^\top-\Phi^*\Phi^{*\top})^{(n,r)}|=|\beta_{1,n}^\top
        X_nX_r^\top\beta_{1,r}-\beta_{1,n}^{*\top}X_nX_r^
        \top\beta_{1,r}^*|\le\|X_nX_r^\top(\beta_{1,n}-\beta_{1,n}^*)\|_2+\|X_nX_r^\top(\beta_{1,r}-\beta_{1,r}^*)\|_2
        \le C_x^2d_s(\|\beta_{1,n}-\beta_{1,n}^*\|_2+\|\beta_{1,r}-\beta_{1,r}^*\|_2)""",
    assumptions=[SAMPLES_BOUNDED, M_IS],
    relation=AtMost(left="the first and the middle member", ascent=False),
    sizes={"d_s": (1, 3), "d": (1, 3)}, expects="refuted", severity="slip", correction="convergence.eq-65-transposed",
    note=r"""The change of $\beta_{1,n}$ meets $X_n X_r^\top$ from the left: the first norm wants the transpose, $X_r
        X_n^\top$. The last bound is the same for both.""",
)  # fmt: skip


@EQ_65.formula
def printed_entry_bounds(X: Tokens, Y: Tokens, M: Product) -> Any:
    """The middle and the last member, shape (2,), for X_n = X and X_r = Y (Eq. (65))."""
    return stacked([_middle(X, Y, M, False), last_member_of_65(X, Y, M, X.shape[0])])


EQ_65.oracle(lambda X, Y, M: stacked([_entry(X, Y, M), _middle(X, Y, M, False)]))
EQ_65.mutant("C_x^2 without d_s", d_s=1)
EQ_65.mutant("first norm only",
    lambda value, X, Y, M: stacked([frobenius_norm(X @ Y.T @ shift_from_uniform(X, M)) / 2, value[1] / 2]))  # fmt: skip
EQ_65.counterexample(
    "d = 1, X_n = (1, 0), X_r = (1, 1/2), M = 1: the entry changes by 0.218, the middle member is 0.177",
    X=[[1], [0]],
    Y=[[1], ["1/2"]],
    M=[[1]],
)


EQ_65_TRANSPOSED = Claim(CONVERGENCE, "convergence.eq-65-transposed", label="Eq. (65), with the transpose",
    statement=r"""|(\Phi\Phi^\top-\Phi^*\Phi^{* \top})^{(n,r)}|\le\|X_rX_n^\top( \beta_{1,n}-
        \beta_{1,n}^*)\|_2+\|X_nX_r^\top( \beta_{1,r}-\beta_{1,r}^*)\|_2\le
        C_x^2d_s(\|\beta_{1,n}-\beta_{1,n}^*\|_2+\|\beta_{1,r}-\beta_{1,r}^*\|_2)""",
    name="change of a feature Gram entry, corrected", assumptions=[SAMPLES_BOUNDED, M_IS],
    relation=AtMost(left="the first and the middle member"), all_sizes=True,
    sizes={"d_s": (1, 3), "d": (1, 3)}, corrects="convergence.eq-65", of_project=True,
)  # fmt: skip


@EQ_65_TRANSPOSED.formula
def entry_bounds(X: Tokens, Y: Tokens, M: Product) -> Any:
    """The middle and the last member, shape (2,)."""
    return stacked([_middle(X, Y, M, True), last_member_of_65(X, Y, M, X.shape[0])])


EQ_65_TRANSPOSED.oracle(lambda X, Y, M: stacked([_entry(X, Y, M), _middle(X, Y, M, True)]))
EQ_65_TRANSPOSED.mutant("not transposed, as printed", transposed=False)
EQ_65_TRANSPOSED.mutant("C_x^2 without d_s", d_s=1)


ON_THE_EVENT = Assumption(
    "Eq. (67) for all d^2 entries: |M^(i,j)| <= 2 tau_0 eta_QK sqrt(d_m ell), ell = log(2 d^2 / delta')",
    nonnegative=lambda M, tau_0, eta_QK, d_m, ell: entry_bound(tau_0, eta_QK, d_m, ell) - absolute(M).reshape(-1),
)
WIDE = Assumption("d_m >= 2 ell", nonnegative=lambda d_m, ell: d_m - 2 * ell)
POSITIVE = Assumption("tau_0, eta_QK, ell > 0", positive=lambda tau_0, eta_QK, ell: stacked([tau_0, eta_QK, ell]))


@realises(
    but=(
        "the largest entry of M meets Eq. (67) with equality: ell is the least that admits M, the bounds grow with ell, and"
        " nothing else reads it"
    )
)
def product_on_the_event(X: Samples, share: Product, tau_0: SmallPositive, eta_QK: SmallPositive, d_m: RealWidth,
                         ell: Logarithm) -> dict[str, Any]:  # fmt: skip
    """M with entries up to the bound of Eq. (67), in the proportions of `share`."""
    M = share / (maximum(absolute(share)) + TINY) * entry_bound(tau_0, eta_QK, d_m, ell)
    return {"X": X, "M": M, "tau_0": tau_0, "eta_QK": eta_QK, "d_m": d_m, "ell": ell}


def equal_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """All tokens of a sample equal, except that the last one is zero."""
    arrays["X"][:] = arrays["X"][:, :, :1]
    arrays["X"][:, :, -1] = 0.0


def one_long_token(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Zero tokens but for a long first one, and a product M that just begins to tell them apart."""
    arrays["X"][:] = 0.0
    arrays["X"][:, :, 0, 0] = 90.0
    arrays["share"][:] = 1.0
    arrays["tau_0"][:], arrays["eta_QK"][:] = 1 / 256, 1 / 256
    arrays["d_m"][:], arrays["ell"][:] = 16.0, 0.75


EVENT = Setting(
    CONVERGENCE, "Lemma 16, on the event of Eq. (67)", assumptions=[ASSUMPTION_1, M_IS, ON_THE_EVENT, WIDE, POSITIVE],
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3)}, inputs=product_on_the_event,
)  # fmt: skip
#: With inputs at which the bounds are tight.
TIGHT = EVENT.extended(special_domains={"equal tokens": equal_tokens, "one long token": one_long_token})

EQ_66_68 = Claim(TIGHT, "convergence.eq-66-68", label="Eqs. (66), (68)", name="deviation of attention from uniform",
    statement=r"""\|\beta_{1,n}-\beta_{1,n}^\star\|_2 =\|\sigma_s(\tau_0X_n^{(1,:)}W_Q^\top W_KX_n^\top)^\top
        -\sigma_s(\tau_0X_n^{(1,:)}W_Q^{\star\top}W_K^\star X_n^\top)^\top\|_2 \le2C_x^2d_s\|\tau_0W_Q^\top
        W_K-\tau_0W_Q^{\star\top}W_K^\star\|_F\ (\text{By Lemma 7});\quad \text{when
        }d_m\ge2\log\tfrac{2d^2}{\delta'},\text{ with probability at least }1-\delta':\
        \|\beta_{1,n}-\beta_{1,n}^\star\|_2\le4\tau_0\eta_{QK}C_x^2d_sd\sqrt{d_m\log(2d^2/\delta')}""",
    levels={"delta": "ell"},
    relation=AtMost(), all_sizes=True, sizes={"N": (1, 1), "d_s": (1, 3), "d": (1, 3)}, uses=("convergence.lemma-7",),
    note=r"""Certified on the event of Eq. (67) for every entry, which the union bound over $d^2$ entries gives with
        probability at least $1 - \delta'$.""")  # fmt: skip


def _attention_bounds(X: Any, M: Any, tau_0: Any, eta_QK: Any, d_m: Any, ell: Any, d: Any, power: int = 2) -> Any:
    d_s, C_x = X.shape[1], sample_bound(X)
    first = C_x**power * frobenius_norm(M) * (2 * d_s)
    return stacked([first, entry_bound(tau_0, eta_QK, d_m, ell) * C_x * C_x * (2 * d_s) * d])


@EQ_66_68.formula
def printed_attention_bounds(X: Samples, M: Product, tau_0: SmallPositive, eta_QK: SmallPositive, d_m: RealWidth,
                             ell: Logarithm) -> Any:  # fmt: skip
    """Both bounds of |beta_1 - beta_1^*|, shape (2,), the last as 2 C_x^2 d_s d times Eq. (67) (Eqs. (66), (68))."""
    return _attention_bounds(X, M, tau_0, eta_QK, d_m, ell, X.shape[2])


@EQ_66_68.oracle
def attention_shift_and_bound(X: Samples, M: Product) -> Any:
    C_x = sample_bound(X)
    first = C_x * C_x * frobenius_norm(M) * (2 * X.shape[1])
    return stacked([frobenius_norm(shift_from_uniform(X[0], M)), first])


EQ_66_68.mutant("sqrt(d) for d entries by d entries", "X.shape[2] -> sqrt(X.shape[2])")
EQ_66_68.mutant("2 for 4", "X.shape[2] -> rational(X.shape[2], 2)")
EQ_66_68.mutant("C_x for C_x^2", power=1)


# -- the products of the weights ---------------------------------------------------------------------------------------

Share = Annotated[Any, Real(-0.998, 0.998, avoid_zero=True)]


def _quadratics(tau_0: Any, eta_QK: Any, share: Any, nu: Any, sum_nu: Any) -> Any:
    """nu^2 l^2 / 2 at l = share / alpha, for the product and for the sum."""
    half = rational(1, 2)
    l, l_sum = share / (sqrt(2) * eta_QK), share / (sqrt(2) * tau_0 * eta_QK)
    return stacked([(nu * l) ** 2 * half, (sum_nu * l_sum) ** 2 * half])


def log_moment_generating_functions(tau_0: SmallPositive, eta_QK: SmallPositive, share: Share, d_m: Width) -> Any:
    half = rational(1, 2)
    l, l_sum = share / (sqrt(2) * eta_QK), share / (sqrt(2) * tau_0 * eta_QK)
    product, term = 1 - (l * eta_QK) ** 2, 1 - (l_sum * tau_0 * eta_QK) ** 2
    return stacked([-logarithm(product) * half, -logarithm(term) * half * d_m])


SE_PRODUCT = Claim(CONVERGENCE, "convergence.se-product", label="Proof of Lemma 16, before (67)",
    statement=r"""W_Q^{(q,i)}W_k^{(q,j)}\sim
        SE(\sqrt2\eta_{QK},\sqrt2\eta_{QK}),\quad\tau_0\sum_{q=1}^{d_m}W_Q^{(q,i)}W_k^{(q,j)} \sim
        SE(\tau_0\eta_{QK}\sqrt{2d_m},\sqrt2\tau_0\eta_{QK})""",
    assumptions=[
        Definition("W_Q, W_K independent N(0, eta_QK)", by=log_moment_generating_functions),
        Definition("X ~ SE(nu, alpha): log E exp(l X) <= nu^2 l^2/2 for |l| < 1/alpha", by=_quadratics),
        Assumption("tau_0, eta_QK > 0", positive=lambda tau_0, eta_QK: stacked([tau_0, eta_QK])),
        Assumption("l = share / alpha, |share| < 1", positive=lambda share: 1 - share * share),
    ],
    name="sub-exponential products of Gaussians", relation=AtMost(), sizes={"d_m": (1, 8)}, all_sizes=True,
    note=r"""Given one factor the other makes the product normal, so with $\eta = \eta_{QK}$ and $|\ell| \eta < 1$,
        $E \exp(\ell W_Q W_K) = E \exp(\ell^2 \eta W_Q^2 / 2) = (1 - \ell^2 \eta^2)^{-1/2}$. With $u = \ell^2
        \eta^2 < 1/2$ the claim is $-\log(1 - u) \le 2u$, which holds up to $u = 0.796$. Compared are both sides of
        the inequality that defines the class.""")  # fmt: skip


@SE_PRODUCT.formula
def printed_sub_exponential_bounds(tau_0: SmallPositive, eta_QK: SmallPositive, share: Share, d_m: Width) -> Any:
    """nu^2 l^2 / 2 for a product and for the sum, at l = share / alpha; shape (2,) (proof of Lemma 16)."""
    return _quadratics(tau_0, eta_QK, share, sqrt(2) * eta_QK, sqrt(2 * d_m) * tau_0 * eta_QK)


SE_PRODUCT.oracle(log_moment_generating_functions)
SE_PRODUCT.mutant("nu = eta_QK, the deviation of the product", "sqrt(2) * eta_QK -> eta_QK; 2 * d_m -> d_m")
SE_PRODUCT.mutant("nu of the sum without sqrt(d_m)", x=2)


def exceedances(formula: Any, generator: Any, samples: int, d_m: Width, level: Level, tau_0: SmallPositive,
                eta_QK: SmallPositive) -> list[LawTest]:  # fmt: skip
    """Whether the sum exceeds the threshold more often than delta allows, at 1/2, 1/16 and the drawn level."""
    W_Q, W_K = standard_normal(generator, None, 2, samples, d_m)
    sums = (W_Q * W_K).sum(1) * float(eta_QK) * float(tau_0)
    tests = []
    for k in (1, 4, level):
        above = sums.abs() > formula(d_m, k, tau_0, eta_QK)
        tests.append(
            at_most_probability(f"|sum| above the bound, delta = 2^-{k}", int(above.sum()), above.numel(), 2.0**-k)
        )
    return tests


EQ_67 = Claim(CONVERGENCE, "convergence.eq-67", label="Eq. (67)", name="tail of the query-key product",
    statement=r"""d_m\ge2\log(2/\delta):\
        \Big|\tau_0\sum_qW_Q^{(q,i)}W_k^{(q,j)}-\tau_0\sum_qW_Q^{*(q,i)}W_k^{*(q,j)}\Big|\le2
        \tau_0\eta_{QK}\sqrt{d_m\log(2/\delta)}\ \text{w.p.}\ge1-\delta""",
    assumptions=[
        Definition("the starred sum, that of infinite width, is the mean 0", by=exceedances),
        Definition("W_Q, W_K independent N(0, eta_QK)", by=exceedances),
        Assumption("tau_0, eta_QK > 0", positive=lambda tau_0, eta_QK: stacked([tau_0, eta_QK])),
        Assumption("d_m >= 2 log(2/delta), delta = 2^-level",
            sizes=lambda sizes: sizes["d_m"] >= 2 * (sizes["level"] + 1) * math.log(2)),
    ],
    levels={"delta": (1 / 2, 1 / 16, 1 / 64)},
    relation=FollowsLaw(instances=6), sizes={"d_m": (10, 20), "level": (6, 8)},
    uses=("convergence.se-product", "convergence.lemma-4"),
    note=r"""Tested at $\delta = 1/2$, 1/16 and $2^{-k}$ for the drawn level $k$ from 6 to 8. In
        $\max(\nu \sqrt{2 \ell}, 2 \alpha \ell)$ of Lemma 4 the first
        is the larger exactly for $d_m \ge 2 \ell$, $\ell = \log(2/\delta)$. Directly: Markov at $t =
        \sqrt{\ell/d_m}/(\tau_0 \eta_{QK})$, within the range of the previous step, gives $2 \exp(-2 \ell + \ell) =
        \delta$.""")  # fmt: skip


@EQ_67.formula
def printed_threshold(d_m: Width, level: Level, tau_0: SmallPositive, eta_QK: SmallPositive) -> float:
    """2 tau_0 eta_QK sqrt(d_m log(2/delta)) for delta = 2^-level (Eq. (67))."""
    return float(2 * tau_0 * eta_QK * math.sqrt(d_m * (level + 1) * math.log(2)))


EQ_67.part("laws", exceedances)
EQ_67.mutant("factor 2 dropped", "2 * tau_0 -> tau_0")
EQ_67.mutant("d_m dropped", "d_m * (level + 1) -> level + 1")
