"""The blocks of the Hessian at width-one embedding, in closed form: Eqs. (71) and (73) and the entries in Appendix D.3.

One sample of d_s scalar tokens x, shape (d_s, 1); all four weights have shape (d_m, 1); f sums over tokens.  Queries and
keys enter f through the number w_Q . w_K alone, so that everything follows from the first two derivatives in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import outputs
from verify.matrix import absolute, diag, each, hadamard, relu, softmax, step, summed
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Construction, Convention, Definition, Doubt, Equal, Real, Setting, Shape

ScalarTokens = Annotated[Any, Shape("d_s", "1")]
Queries = Annotated[Any, Shape("d_m", "1", role="query")]
Weights = Annotated[Any, Shape("d_m", "1")]
Scale = Annotated[Any, Real(0.0625, 2.0)]

LOST_DOT = "The extraction loses the dot of relu' here; the matching displays have it."


def opposite_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """The second half of the tokens is the first half with the opposite sign."""
    half = sizes["d_s"] // 2
    arrays["x"][:, sizes["d_s"] - half :] = -arrays["x"][:, :half]


def scalar_network(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Any,
                   tau_1: Any) -> Any:  # fmt: skip
    """f(x), shape (1, 1): the network of Eqs. (1.1)-(1.2) at d = 1, with the sum over tokens."""
    return outputs(x.reshape(1, -1, 1), w_Q, w_K, w_V, w_O, tau_0, tau_1, "sum")


ONE_DIMENSION = Construction(
    "d = 1: x in R^{d_s}, w_Q, w_K, w_V, w_O in R^{d_m}",
    shapes={"x": ("d_s", "1"), "w_Q": ("d_m", "1"), "w_K": ("d_m", "1"), "w_V": ("d_m", "1"), "w_O": ("d_m", "1")},
)
SCALAR = Setting(
    CONVERGENCE,
    "Appendix D.3, d = 1",
    assumptions=[
        ONE_DIMENSION,
        Definition(
            "f with the sum over tokens, as in Eq. (71); for the average of Eq. (1.2) everything is divided by d_s",
            by=scalar_network,
        ),
    ],
    sizes={"d_s": (1, 4), "d_m": (1, 4)},
)
PROVED = SCALAR.extended(exact=True, special_domains={"opposite tokens": opposite_tokens})
#: Of derivatives of the network, and of the closed forms.
AT_KINKS = Convention("where a pre-activation vanishes, derivatives are those of autodiff, with relu'(0) = 0", by=relu)
DERIVATIVES = PROVED.extended(assumptions=[AT_KINKS])


def block(first: str, second: str) -> Callable[..., Any]:
    """d^2 f / d(first) d(second), shape (d_m, d_m), by differentiation of the network, as a function of the inputs."""
    second_derivative = hessian(scalar_network, (first, second))
    return lambda x, w_Q, w_K, w_V, w_O, tau_0, tau_1: second_derivative(x, w_Q, w_K, w_V, w_O, tau_0, tau_1)


def scalar_attention(x: ScalarTokens, w_Q: Queries, w_K: Weights, tau_0: Any) -> list[Any]:
    """beta_1, ..., beta_{d_s}, each of shape (d_s, 1), at d = 1 (Table 2)."""
    return each(x.shape[0], lambda i: softmax(x[i : i + 1] @ w_Q.T @ w_K @ x.T * tau_0).T)


def covariance(beta: Any) -> Any:
    """diag(beta) - beta beta^T, shape (d_s, d_s) (Lemma 11)."""
    return diag(beta) - beta @ beta.T


def active(w_V: Weights, mean: Any) -> Any:
    """relu'(w_V x^T beta_i), shape (d_m, 1), for mean = x^T beta_i of shape (1, 1)."""
    return step(w_V @ mean)


def covariance_slope(beta: Any, x: ScalarTokens) -> Any:
    """Gamma_i as it should read: how diag(beta) - beta beta^T moves along beta' = (diag(beta) - beta beta^T) x."""
    v = covariance(beta) @ x
    return diag(v) - v @ beta.T - beta @ v.T


GAMMA_AS_A_MATRIX = Definition("Gamma_i with its third term as a matrix", by=covariance_slope)


def slope_as_printed(beta: Any, x: ScalarTokens) -> Any:
    """Gamma_i as printed: its third term, a column, is added to every column."""
    v = covariance(beta) @ x
    return diag(v) - v @ beta.T - beta @ x.T @ v


def logit_slope(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, tau_0: Any, tau_1: Any,
                gate: Callable[[Any, Any], Any] = active) -> Any:  # fmt: skip
    """df / d(w_Q . w_K), shape (1, 1): tau_0 tau_1 sum_i x_i w_V^T (w_O o relu') x^T (diag(beta_i) - beta_i beta_i^T) x."""
    betas = scalar_attention(x, w_Q, w_K, tau_0)

    def term(i: int) -> Any:
        return x[i : i + 1] * (w_V.T @ hadamard(w_O, gate(w_V, x.T @ betas[i]))) * (x.T @ covariance(betas[i]) @ x)

    return summed(x.shape[0], term) * tau_0 * tau_1


def logit_curvature(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, tau_0: Any, tau_1: Any,
                    Gamma: Callable[[Any, Any], Any] = covariance_slope) -> Any:  # fmt: skip
    """d^2 f / d(w_Q . w_K)^2, shape (1, 1): tau_0^2 tau_1 sum_i x_i^2 w_V^T (w_O o relu') x^T Gamma_i x."""
    betas = scalar_attention(x, w_Q, w_K, tau_0)

    def term(i: int) -> Any:
        return x[i : i + 1] ** 2 * (w_V.T @ hadamard(w_O, active(w_V, x.T @ betas[i]))) * (x.T @ Gamma(betas[i], x) @ x)

    return summed(x.shape[0], term) * tau_0 * tau_0 * tau_1


def mixed_factor(x: Any, w_Q: Any, w_K: Any, w_V: Any, kept: Any, tau_0: Any, tau_1: Any) -> Any:
    """tau_0 tau_1 sum_i x_i (kept o relu') x^T (diag(beta_i) - beta_i beta_i^T) x, shape (d_m, 1).

    The derivative of df / d(w_Q . w_K) in w_V where kept = w_O, in w_O where kept = w_V.
    """
    betas = scalar_attention(x, w_Q, w_K, tau_0)

    def term(i: int) -> Any:
        return hadamard(kept, active(w_V, x.T @ betas[i])) @ (x[i : i + 1] * (x.T @ covariance(betas[i]) @ x))

    return summed(x.shape[0], term) * tau_0 * tau_1


EQ_71 = Claim(SCALAR, "convergence.eq-71", label="Eq. (71)", name="scalar-token network",
    statement=r"""f(x)=\tau_0\sum_{i=1}^{d_s}\sigma_r\Big(\sigma_s(\tau_1x^{(i)}w_Q^\top w_Kx^\top)(w_Vx^\top)\Big)^\top
        w_O""",
    relation=Equal(), expects="refuted", severity="slip", correction="convergence.eq-71-scales",
    note=r"""$\tau_0$ and $\tau_1$ have changed places: Eqs. (1.1)-(1.2), (73) and the entries of $H$ have $\tau_0$
        inside the softmax and $\tau_1$ outside. The sum over tokens stands for the average of Eq. (1.2), as everywhere
        in the proofs. The printed factors do not conform; the only arrangement that does is taken, softmax times $(w_V
        x^\top)^\top$. This does not matter in the counterexamples, where all sizes are 1.""")  # fmt: skip


def _scalar_output(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, inner: Any, outer: Any) -> Any:
    """outer sum_i relu(softmax(inner x_i w_Q^T w_K x^T) (w_V x^T)^T) w_O, shape (1, 1)."""

    def row(i: int) -> Any:
        return relu(softmax(x[i : i + 1] @ w_Q.T @ w_K @ x.T * inner) @ x @ w_V.T)

    return summed(x.shape[0], row) @ w_O * outer


@EQ_71.formula
def printed_scalar_output(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                          tau_1: Scale) -> Any:  # fmt: skip
    """f(x) as printed, shape (1, 1), with tau_1 inside and tau_0 outside (Eq. (71))."""
    return _scalar_output(x, w_Q, w_K, w_V, w_O, tau_1, tau_0)


EQ_71.oracle(scalar_network)
EQ_71.mutant("no factor outside", "tau_0 -> tau_1 / tau_1")
EQ_71.mutant("average over tokens", lambda value, x: value / x.shape[0])
EQ_71.counterexample(
    "two equal tokens, tau_0 = 2, tau_1 = 3: f = 6, printed 4",
    x=[[1], [1]], w_Q=[[1]], w_K=[[1]], w_V=[[1]], w_O=[[1]], tau_0=2, tau_1=3,
)  # fmt: skip
EQ_71.counterexample(
    "all sizes and weights 1, tau_0 = 2, tau_1 = 3: f = 3, printed 2",
    x=[[1]], w_Q=[[1]], w_K=[[1]], w_V=[[1]], w_O=[[1]], tau_0=2, tau_1=3,
)  # fmt: skip


EQ_71_SCALES = EQ_71.corrected("convergence.eq-71-scales", setting=PROVED,
    label="Eq. (71), with tau_0 and tau_1 in their places",
    statement=r"""f(x)=\tau_1\sum_{i=1}^{d_s}\sigma_r\Big(\sigma_s(\tau_0x^{(i)}w_Q^\top
        w_Kx^\top)(w_Vx^\top)^\top\Big)w_O""", name="scalar-token network, corrected", all_sizes=True)  # fmt: skip


@EQ_71_SCALES.formula
def scalar_output(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                  tau_1: Scale) -> Any:  # fmt: skip
    """f(x) at d = 1 with the sum over tokens, shape (1, 1)."""
    return _scalar_output(x, w_Q, w_K, w_V, w_O, tau_0, tau_1)


EQ_71_SCALES.mutant("tau_0 and tau_1 exchanged, as printed", "tau_0 -> tau_1; tau_1 -> tau_0")
EQ_71_SCALES.mutant("w_Q and w_V exchanged", "w_Q -> w_V; w_V -> w_Q")


EQ_73 = Claim(DERIVATIVES, "convergence.eq-73", label="Eq. (73)", name="query gradient of the scalar-token network",
    statement=r"""\frac{\partial f(x)}{\partial
        w_Q^{(j)}}=\tau_0\tau_1\sum_ix^{(i)}w_K^{(j)}w_V^\top(w_O\circ\sigma_r(w_Vx^
        \top\beta_i))x^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x""",
    relation=Equal(), all_sizes=True, uses=("convergence.eq-71-scales",),
    doubt=Doubt(
        r"\boldsymbol{w}_O \circ \boldsymbol{\sigma}_r \left( \boldsymbol{w}_V \boldsymbol{x}^\top "
        r"\boldsymbol{\beta}_i \right) \right) \boldsymbol{x}^\top \left( \operatorname{diag}",
        r"The dot of $\mathrm{relu}'$ is lost; the entries of $H_{QQ}$, derived from it, have it."))  # fmt: skip


@EQ_73.formula
def scalar_query_gradient(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                          tau_1: Scale) -> Any:  # fmt: skip
    """df/dw_Q as a row, shape (1, d_m) (Eq. (73))."""
    slope = logit_slope(x, w_Q, w_K, w_V, w_O, tau_0, tau_1)
    return (w_K @ slope).T


EQ_73.oracle(
    lambda x, w_Q, w_K, w_V, w_O, tau_0, tau_1: jacobian(scalar_network, "w_Q")(x, w_Q, w_K, w_V, w_O, tau_0, tau_1)
)
EQ_73.mutant("w_Q for w_K", "w_K @ slope -> w_Q @ slope")
EQ_73.mutant("relu for its derivative, as extracted", gate=lambda w_V, mean: relu(w_V @ mean))
EQ_73.mutant("tau_1 inside the softmax, as Eq. (71) is printed", "tau_0 -> tau_1; tau_1 -> tau_0")


# -- what no Hessian contains ------------------------------------------------------------------------------------------

KINKS = Claim(PROVED, "convergence.hessian-misses-kinks", label="D.3, the jump of the gradient at a kink",
    statement=r"""\frac{\partial f}{\partial w_V}(w_V)-\frac{\partial f}{\partial w_V}(-w_V)=\tau_1\,w_O\circ
        \operatorname{sign}(w_V)\sum_i|x^\top\beta_i|\ \text{ for every } w_V,\text{ however short, although } H_{V,V}=0
    """,
    name="jump of the value gradient at kinks", relation=Equal(), of_project=True,
    note=r"""$f$ is piecewise linear in $w_V$, so its Hessian at points of differentiability says nothing about the
        change of the gradient between two points on either side of $w_V^{(p)} x^\top \beta_i = 0$: the quotient with
        the distance $2 \|w_V\|$ is not bounded, whatever bound the Hessian norm has.""")  # fmt: skip


def _jump(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, tau_0: Any, tau_1: Any, size: Callable[[Any], Any]) -> Any:
    """tau_1 w_O o sign(w_V) sum_i size(x^T beta_i), shape (1, d_m)."""
    betas = scalar_attention(x, w_Q, w_K, tau_0)
    sizes = summed(x.shape[0], lambda i: size(x.T @ betas[i]))
    return (hadamard(w_O, step(w_V) - step(-w_V)) @ sizes * tau_1).T


@KINKS.formula
def jump_of_the_value_gradient(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                               tau_1: Scale) -> Any:  # fmt: skip
    """The difference of df/dw_V at w_V and -w_V, shape (1, d_m)."""
    return _jump(x, w_Q, w_K, w_V, w_O, tau_0, tau_1, absolute)


@KINKS.oracle
def gradients_on_both_sides(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                            tau_1: Scale) -> Any:  # fmt: skip
    slope = jacobian(scalar_network, "w_V")
    return slope(x, w_Q, w_K, w_V, w_O, tau_0, tau_1) - slope(x, w_Q, w_K, -w_V, w_O, tau_0, tau_1)


KINKS.mutant("no jump, as H_VV = 0 suggests", lambda w_V: (w_V * 0).T)
KINKS.mutant("sum without absolute values", size=lambda mean: mean)
KINKS.mutant("active tokens on one side only", size=relu)
