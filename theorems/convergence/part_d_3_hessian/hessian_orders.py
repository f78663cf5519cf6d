"""Orders of the Hessian blocks in the width: H_QV, H_QO, and the Hessian as a whole (Appendix D.3)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import outputs
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_d_3_hessian.hessian_blocks import (
    Queries, ScalarTokens, Weights, block, covariance, mixed_factor, scalar_attention,
)  # fmt: skip
from theorems.convergence.part_d_3_hessian.hessian_entries import output_value_entries
from theorems.convergence.part_d_3_hessian.hessian_norms import IN_THE_BALL, THIRD_MOMENT, Bound, Radius, scales
from verify.matrix import (
    absolute, concatenate, frobenius_norm, mapped, ones, rational, spectral_norm, sqrt, summed, total,
)  # fmt: skip
from verify.oracles import hessian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, PowerRate, Setting, Shape, TendsTo, realises

WIDTHS = (64, 256, 1024, 4096, 16384)
Deviations = Annotated[Any, Shape("d_s", "1")]


@realises(
    {
        "the mean of the tokens is not 0": (
            "deviations from any mean, with 1 in its place: tokens of mean 1 stay as they are"
        )
    }
)
def tokens_of_mean_one(deviations: Deviations) -> dict[str, Any]:
    """Tokens of mean exactly 1, shape (d_s, 1)."""
    return {"x": deviations - total(deviations) / deviations.shape[0] + 1}


def block_norms_of_a_draw(x: Any, width: int, generator: Any) -> Any:
    """sqrt(d_m) (||H_QV||, ||H_QO||, ||H_OV||) at one draw of the weights; the first two blocks have rank one."""
    import torch

    w_Q, w_K, w_V, w_O = torch.randn(4, width, 1, generator=generator, dtype=x.dtype, device=x.device)
    tau_0, tau_1 = 1 / width, width**-0.5
    mixed = [w_K.norm() * mixed_factor(x, w_Q, w_K, w_V, kept, tau_0, tau_1).norm() for kept in (w_O, w_V)]
    entries = output_value_entries(x, w_Q, w_K, w_V, tau_0, tau_1)
    return torch.stack([*mixed, entries.abs().max()]) * width**0.5


AT_START = Setting(
    CONVERGENCE,
    "Appendix D.3, d = 1, at initialisation",
    assumptions=[
        Definition(
            "the weights at initialisation, which lie in every ball B(theta, R): standard normal (NTK, Table 1); tau_0 = 1/d_m, "
            "tau_1 = d_m^{-1/2}",
            by=block_norms_of_a_draw,
        ),
        Definition("f with the sum over tokens", by=mixed_factor),
        Assumption(
            "the mean of the tokens is not 0; it is scaled to 1, since d_m^{1/2} H is homogeneous in x in the limit",
            zero=lambda x: total(x) - x.shape[0],
        ),
    ],
    sizes={"d_s": (2, 4)},
    inputs=tokens_of_mean_one,
)

# -- H_{Q,V} and H_{Q,O} -----------------------------------------------------------------------------------------------

QV_QO_NORM = Claim(AT_START, "convergence.h-qv-qo-norm", label="D.3, norms of H_QV and H_QO",
    statement=r"""\|H_{Q,V}\|_2=\|\tau_0\tau_1 \sum_ix^{(i)}\sigma_r(w_V^{(p)}x^\top
        \beta_i)x^\top(\mathrm{diag}(\beta_i)- \beta_i\beta_i^\top)xw_Kw_O^\top\|_2 \le|\tau_0\tau_1\sum_ix^{(i)}
        \sigma_r(w_V^{(p)}x^\top\beta_i)x^\top( \mathrm{diag}(\beta_i)-\beta_i \beta_i^\top)x|\|w_Kw_O^\top\|_2
        \le\tau_0\tau_1\sum_i|x_i|\| \mathrm{diag}(\beta_i)-\beta_i \beta_i^\top\|_2\|x\|_2^2\|w_K\|_2\|w_O\|_2
        \le\tau_0\tau_1\sum_i|x_i|\| \mathrm{diag}(\beta_i)-\beta_i \beta_i^\top\|_2\|x\|_2^2
        (3\sqrt{\eta_{QK}d_m}+R)(3\sqrt{\eta_Od_m}+R)=\mathcal O(1/d_m);\quad \|H_{Q,O}\|_2=\|\tau_0\tau_1
        \sum_ix^{(i)}\dot \sigma_r(w_V^{(p)}x^\top\beta_i)x^\top( \mathrm{diag}(\beta_i)-\beta_i
        \beta_i^\top)xw_Kw_V^\top\|_2 \le|\tau_0\tau_1\sum_ix^{(i)}\dot \sigma_r(w_V^{(p)}x^\top\beta_i)x^\top(
        \mathrm{diag}(\beta_i)-\beta_i \beta_i^\top)x|\|w_Kw_V^\top\|_2 \le\tau_0\tau_1\sum_i|x_i|\|
        \mathrm{diag}(\beta_i)-\beta_i \beta_i^\top\|_2\|x\|_2^2\|w_K\|_2\|w_V\|_2 \le\tau_0\tau_1\sum_i|x_i|\|
        \mathrm{diag}(\beta_i)-\beta_i \beta_i^\top\|_2\|x\|_2^2 (3\sqrt{\eta_{QK}d_m}+R)(3\sqrt{\eta_Vd_m}+R)=\mathcal
        O(1/d_m)""",
    name="norms of the mixed query Hessian blocks", relation=TendsTo(WIDTHS, PowerRate(0.5), instances=4),
    domains=("generic", "integers"), expects="refuted", severity="error",
    correction="convergence.h-qv-qo-norm-explicit",
    doubt=Doubt(r"\boldsymbol{x}^{(i)}\boldsymbol{\sigma}_{r}\left(\boldsymbol{w}_{V}^{(p)} \boldsymbol{x}^{\top}",
        r"""The dot of $\mathrm{relu}'$ is lost for $H_{QV}$; its entries and the lines for $H_{QO}$ have it."""),
    note=r"""The powers are $d_m^{-3/2} d_m = d_m^{-1/2}$: both inequalities hold, both orders do not. Judged by what
        $O(1/d_m)$ with probability $1 - 8 \exp(-d_m/2)$ implies, that $\sqrt{d_m}$ times the norm tends to 0 in
        probability; it tends to $|\sum_i x_i| \mathrm{Var}(x) / \sqrt{2}$, so that $O(d_m^{-1/2})$ is sharp. Theorem 3
        needs no more. In the lines between, a factor $\mathrm{relu}'(w_V^{(p)} x^\top \beta_i)$ with a free index $p$
        stands outside the vectors. A lost root, $O(1/\sqrt{d_m})$, would make both orders right. The extraction keeps
        it for $H_{QQ}$, $H_{QK}$ and $H$, and shows $1/d_m$ for $H_{QV}$, $H_{QO}$ and $H_{OV}$ alike.""")  # fmt: skip


def _variance(x: Any) -> Any:
    """The variance of the tokens under equal weights."""
    d_s = x.shape[0]
    centred = x - total(x) / d_s
    return total(centred * centred) / d_s


@QV_QO_NORM.formula
def printed_limits(x: ScalarTokens) -> Any:
    """lim sqrt(d_m) (||H_QV||, ||H_QO||) = (0, 0), as O(1/d_m) implies, shape (2,) (Appendix D.3)."""
    return stacked([total(x * 0), total(x * 0)])


@QV_QO_NORM.oracle
def limits_by_the_law_of_large_numbers(x: ScalarTokens) -> Any:
    """Attention becomes uniform, so all ReLUs share the sign of the mean token.

    tau_0 tau_1 |w_K| |w_O o relu'(w_V)| is d_m^{-1/2} sqrt(E w^2) sqrt(E w^2 / 2), and as much with relu(w_V).
    """
    weight = ones(x.shape[0], 1) / x.shape[0]
    variance = sum(weight[0, 0] * (x[i, 0] - total(weight.T @ x)) ** 2 for i in range(x.shape[0]))
    limit = absolute(total(x)) * variance / sqrt(2)
    return stacked([limit, limit])


QV_QO_NORM.part("sequence", lambda x, scale, generator: block_norms_of_a_draw(x, scale, generator)[:2])
QV_QO_NORM.mutant("sqrt(d_m) times the norm tends to 1", lambda value: value + 1)
QV_QO_NORM.mutant("the second moment for the variance", lambda value, x: value + total(x * x) / x.shape[0])
QV_QO_NORM.counterexample("tokens 0 and 2: both limits are sqrt 2, printed 0", x=[[0], [2]])


BLOCK_LIMITS = Claim(AT_START, "convergence.hessian-block-limits",
    label="D.3, the orders of H_QV, H_QO and H_OV at initialisation", name="limits of the Hessian block norms",
    statement=r"""\sqrt{d_m}\,\|H_{Q,V}\|_2,\ \sqrt{d_m}\,\|H_{Q,O}\|_2\to\tfrac1{\sqrt2}|\textstyle\sum_ix_i|
        \operatorname{Var}(x),\quad\sqrt{d_m}\,\|H_{O,V}\|_2\to|\textstyle\sum_ix_i|""",
    relation=TendsTo(WIDTHS, PowerRate(0.5), instances=4), domains=("generic", "integers"), of_project=True,
    note="""Var under equal weights. So the Hessian norm is of order $d_m^{-1/2}$ exactly, and Theorem 3 has the right
        order. Compared for two tokens or more: for one the first two norms are 0 at every width.""")  # fmt: skip


@BLOCK_LIMITS.formula
def block_limits(x: ScalarTokens) -> Any:
    """The limits of sqrt(d_m) (||H_QV||, ||H_QO||, ||H_OV||), shape (3,)."""
    size = absolute(total(x))
    mixed = size * _variance(x) / sqrt(2)
    return stacked([mixed, mixed, size])


BLOCK_LIMITS.part("sequence", lambda x, scale, generator: block_norms_of_a_draw(x, scale, generator))
BLOCK_LIMITS.mutant("0 for H_QV and H_QO, as printed", "mixed -> size * 0")
BLOCK_LIMITS.mutant("0 for H_OV, as printed", lambda value: stacked([value[0], value[1], value[2] * 0]))
BLOCK_LIMITS.mutant("every ReLU active", "mixed -> mixed * sqrt(2)")


QV_QO_EXPLICIT = Claim(IN_THE_BALL, "convergence.h-qv-qo-norm-explicit",
    label="D.3, norms of H_QV and H_QO with their order", name="norms of the mixed query Hessian blocks, corrected",
    statement=r"""\|H_{Q,V}\|_2,\
        \|H_{Q,O}\|_2\le\tau_0\tau_1\sum_i|x_i|\|\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top\|_2\|x
        \|_2^2(3\sqrt{d_m}+R)^2\le\tfrac1{\sqrt{d_m}}(3+R)^2\tfrac12d_s^2C_x^3""",
    relation=AtMost(), all_sizes=True, corrects="convergence.h-qv-qo-norm",
    uses=("convergence.diag-bound-interlacing", "convergence.lemma-20", "convergence.hessian-block-limits"),
    of_project=True,
    note=r"""Line by line. $|\mathrm{relu}'| \le 1$ and $w_O$ or $w_V$ are kept together with their gates, which depend
        on the token.""")  # fmt: skip


def _mixed_lines(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, R: Any, C_x: Any, width_power: int = 1,
                 factors: int = 2) -> list[Any]:  # fmt: skip
    """For H_QV and H_QO: ||w_K|| ||w|| tau_0 tau_1 sum |x_i| v_i, then with ||J|| ||x||^2 for v_i, and so on."""
    d_s, d_m = x.shape[0], w_Q.shape[0]
    tau_0, tau_1 = scales(w_Q)
    J = mapped(covariance, scalar_attention(x, w_Q, w_K, tau_0))

    def variance(i: int) -> Any:  # which is not negative
        return total(absolute(x[i])) * absolute(total(x.T @ J[i] @ x))

    variances = summed(d_s, variance) * tau_0 * tau_1
    norms = summed(d_s, lambda i: total(absolute(x[i])) * spectral_norm(J[i])) * total(x * x) * tau_0 * tau_1
    order = {1: sqrt(d_m) / d_m, 2: rational(1, d_m)}[width_power]
    lines = []
    for w in (w_O, w_V):
        both = frobenius_norm(w_K) * frobenius_norm(w)
        last = (R + 3) ** factors * C_x**3 * rational(d_s**2, 2) * order
        lines += [variances * both, norms * both, norms * (sqrt(d_m) * 3 + R) ** factors, last]
    return lines


@QV_QO_EXPLICIT.formula
def mixed_lines(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, R: Radius, C_x: Bound) -> Any:
    """The four lines after ||H_QV||, and the four after ||H_QO||, shape (8,)."""
    return stacked(_mixed_lines(x, w_Q, w_K, w_V, w_O, R, C_x))


@QV_QO_EXPLICIT.oracle
def previous_mixed_lines(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, R: Radius,
                         C_x: Bound) -> Any:  # fmt: skip
    lines = _mixed_lines(x, w_Q, w_K, w_V, w_O, R, C_x)
    norms = [spectral_norm(block("w_Q", name)(x, w_Q, w_K, w_V, w_O, *scales(w_Q))) for name in ("w_V", "w_O")]
    return stacked([norms[0], *lines[:3], norms[1], *lines[4:7]])


QV_QO_EXPLICIT.mutant("O(1/d_m), as printed", width_power=2)
QV_QO_EXPLICIT.mutant("one weight bounded by 3 sqrt(d_m) + R", factors=1)


# -- the Hessian as a whole --------------------------------------------------------------------------------------------


def _network_of(theta: Any, x: Any, tau_0: Any, tau_1: Any) -> Any:
    """f(x) for theta = (w_Q, w_K, w_V, w_O) stacked, shape (4 d_m, 1)."""
    d_m = theta.shape[0] // 4
    w_Q, w_K, w_V, w_O = (theta[k * d_m : (k + 1) * d_m] for k in range(4))
    return outputs(x.reshape(1, -1, 1), w_Q, w_K, w_V, w_O, tau_0, tau_1, "sum")


def whole_hessian(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any) -> Any:
    """H, shape (4 d_m, 4 d_m), by differentiation, with tau_0 = 1/d_m and tau_1 = d_m^{-1/2} (Eq. (72))."""
    theta = concatenate([w_Q, w_K, w_V, w_O], axis=0)
    return hessian(_network_of, ("theta", "theta"))(theta, x, *scales(w_Q))


def _parts(x: Any, w_Q: Any, R: Any, C_x: Any) -> tuple[Any, Any, Any]:
    """sqrt(d_m) times the bounds of f'' |w|^2, of f' (and H_QV, H_QO) and of H_OV.

    B bounds ||x||_2, omega is 3 + R / sqrt(d_m).
    """
    d_s, d_m = x.shape[0], w_Q.shape[0]
    B, omega = C_x * sqrt(d_s), R * (sqrt(d_m) / d_m) + 3
    top, bottom = THIRD_MOMENT
    return B**5 * omega**4 * sqrt(top) / bottom, B**3 * omega**2 * sqrt(d_s) / 2, B * d_s


BLOCK_BOUNDS = Claim(IN_THE_BALL, "convergence.hessian-block-bounds", label="D.3, five blocks with explicit constants",
    statement=r"""B=\sqrt{d_s}C_x,\ \omega=3+R/\sqrt{d_m}:\quad\sqrt{d_m}\|H_{Q,Q}\|_2\le\tfrac{\sqrt6}9B^5\omega^4,\
        \sqrt{d_m}\|H_{Q,K}\|_2\le\tfrac{\sqrt6}9B^5\omega^4+\tfrac{\sqrt{d_s}}2B^3\omega^2,\
        \sqrt{d_m}\|H_{Q,V}\|_2,\sqrt{d_m}\|H_{Q,O}\|_2\le\tfrac{\sqrt{d_s}}2B^3\omega^2,\ \sqrt{d_m}\|H_{O,V}\|_2\le
        d_sB""",
    name="bounds of the Hessian block norms", relation=AtMost(), all_sizes=True,
    uses=("convergence.h-qk-product-rule", "convergence.gamma-third-moment", "convergence.lemma-20"), of_project=True,
    note=r"""Cauchy-Schwarz, $\mathrm{Var} \le B^2 / 2$, $|\text{third moment}| \le (\sqrt{6} / 9) B^3$ and $\|x\|_1 \le
        \sqrt{d_s} B$. No other kind of block is left: $H_{O,O}$ and $H_{V,V}$ vanish (convergence.h-oo-vv), and those
        of $w_K$ are those of $w_Q$ with $w_Q$ and $w_K$ exchanged
        (convergence.hessian-key-blocks).""")  # fmt: skip


@BLOCK_BOUNDS.formula
def block_bounds(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, R: Radius, C_x: Bound) -> Any:
    """Bounds of the norms of H_QQ, H_QK, H_QV, H_QO and H_OV, shape (5,)."""
    curvature, slope, output = _parts(x, w_Q, R, C_x)
    d_m = w_Q.shape[0]
    return stacked([curvature, curvature + slope, slope, slope, output]) * (sqrt(d_m) / d_m)


@BLOCK_BOUNDS.oracle
def block_norms(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights) -> Any:
    pairs = (("w_Q", "w_Q"), ("w_Q", "w_K"), ("w_Q", "w_V"), ("w_Q", "w_O"), ("w_O", "w_V"))
    return stacked([spectral_norm(block(*pair)(x, w_Q, w_K, w_V, w_O, *scales(w_Q))) for pair in pairs])


BLOCK_BOUNDS.mutant("H_QK without the second term of the product rule", "curvature + slope -> curvature")
BLOCK_BOUNDS.mutant("H_OV without the factor d_s", "output -> output / x.shape[0]")
BLOCK_BOUNDS.mutant("1/d_m for H_OV, as printed", "output -> output / sqrt(d_m)")


OO_VV = Claim(IN_THE_BALL, "convergence.h-oo-vv", label="D.3", name="vanishing Hessian blocks and Hessian norm",
    statement=r"""H_{O,O}=0,\ H_{V,V}=0;\ \text{hence }\|H\|_2\le\mathcal O(1/\sqrt{d_m})\text{ using the symmetry of
        }w_K\text{ and }w_Q""",
    relation=AtMost(), expects="gap", uses=("convergence.hessian-block-bounds", "convergence.hessian-key-blocks"),
    proof=(
        "convergence.eq-72-blocksum", "convergence.eq-71", "convergence.eq-73", "convergence.gamma-def",
        "convergence.h-qq", "convergence.h-qq-norm", "convergence.eq-74", "convergence.h-qk", "convergence.h-qv",
        "convergence.h-qo", "convergence.h-qv-qo-norm", "convergence.diag-bound", "convergence.h-ov",
        "convergence.h-ov-norm", "convergence.lemma-20",
    ),
    note=r"""$O(1/\sqrt{d_m})$ is $(\tfrac{\sqrt6}3 B^5 \omega^4 + \tfrac52 \sqrt{d_s} B^3 \omega^2 + d_s B) /
        \sqrt{d_m}$ with $B = \sqrt{d_s} C_x$ and $\omega = 3 + R / \sqrt{d_m} \le 3 + R$; convergence.thm-3-ntk states
        the like for every $d$. At points of differentiability; where a pre-activation vanishes, $\mathrm{relu}'' = 0$
        by convention, and the jump of the gradient there is in no Hessian. The constant adds $H_{QQ}$, $H_{KK}$ and one
        of each pair of off-diagonal blocks (convergence.hessian-block-bounds). It is attained as the tokens tend
        to 0 at $d_s = 1$, so the order is sharp. Compared are both blocks with 0, and the norm with its bound.""")  # fmt: skip


@OO_VV.formula
def hessian_bounds(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, R: Radius,
                   C_x: Bound) -> Any:  # fmt: skip
    """0, 0 and the bound of ||H||_2, shape (3,)."""
    d_m, (curvature, slope, output) = w_Q.shape[0], _parts(x, w_Q, R, C_x)
    bound = curvature * 3 + slope * 5 + output
    return stacked([bound * 0, bound * 0, bound * (sqrt(d_m) / d_m)])


@OO_VV.oracle
def hessian_norms(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any) -> Any:
    """The sums of |entries| of H_OO and H_VV, and ||H||_2."""
    H, d_m = whole_hessian(x, w_Q, w_K, w_V, w_O), w_Q.shape[0]
    output, value = H[3 * d_m :, 3 * d_m :], H[2 * d_m : 3 * d_m, 2 * d_m : 3 * d_m]
    return stacked([total(absolute(output)), total(absolute(value)), spectral_norm(H)])


OO_VV.mutant("order 1/d_m", lambda value, w_Q: value * (sqrt(w_Q.shape[0]) / w_Q.shape[0]))
OO_VV.mutant("H_OV of order 1/d_m, as printed", "output -> output / sqrt(d_m)")
OO_VV.mutant("H_OV left out", "output -> output * 0")
