"""Appendix D.1, the inner product of the gradients in W_Q as a trace, before the limit."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, OutputWeights, QueryWeights, ValueWeights, outputs
from theorems.convergence.part_d_1_limiting_kernel.gradients import (
    Scale, Tokens, attention_rows, gated_output_weights, softmax_covariance,
)  # fmt: skip
from verify.matrix import column, mapped, step, summed, total, trace
from verify.oracles import jacobian
from verify.vocabulary import Claim, Convention, Definition, Doubt, Equal, Setting, Shape

OtherTokens = Annotated[Any, Shape("d_s", "d")]

TRACE = Setting(
    CONVERGENCE, "Appendix D.1, the gradients in W_Q",
    assumptions=[
        Definition("f with the sum over tokens, at finite width, before the limit", by=outputs),
        Convention("relu'(0) = 0", by=step),
    ],
    sizes={"d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
)  # fmt: skip

_LINES = r"""\Big\langle\frac{\partial f(X)}{\partial W_Q},\frac{\partial f(X')}{\partial W_Q}\Big\rangle
    =\tau_0^2\tau_1^2\sum_{i,j}\mathrm{Trace}\big(W_KX^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)XW_V^\top(w_O\circ
    \dot\sigma_r(W_VX^\top\beta_i))X^{(i,:)}%s^{(j,:)\top}(w_O\circ\dot\sigma_r(W_VX'^\top\beta'_j))^\top W_VX'^\top
    (\mathrm{diag}(\beta_j')-\beta_j'\beta_j'^\top)X'W_K^\top\big)=\sum_{i,j}X^{(i,:)}%s^{(j,:)\top}\Big\langle\tau_0\tau_1
    X^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)XW_V^\top(w_O\circ\dot\sigma_r(W_VX^\top\beta_i)),\tau_0\tau_1W_K^\top W_K
    X'^\top(\mathrm{diag}(\beta'_j)-\beta'_j\beta_j'^\top)X'W_V^\top(w_O\circ\dot\sigma_r(W_VX'^\top\beta'_j))\Big\rangle"""

PRINTED = Claim(TRACE, "convergence.d1-trace-wq", label="D.1, the inner product in W_Q, second and third line",
    statement=_LINES % ("X", "X"), name="inner product of query gradients as a trace", relation=Equal(), expects="refuted",
    severity="slip", correction="convergence.d1-trace-wq-primed",
    doubt=Doubt((
        r"\boldsymbol{W}_k \boldsymbol{X}^\top", r"\boldsymbol{\sigma}_r \left( \boldsymbol{W}_V \boldsymbol{X}'^\top "
        r"\boldsymbol{\beta}_j \right) \right)^\top \boldsymbol{W}_V \boldsymbol{X}'^\top",
    ),
        r"""$W_k$ stands for $W_K$, the dots of $\mathrm{relu}'$ are lost, and $\beta_j$ has lost its prime, which the third line
            has."""),
    note=r"""The second factor is the gradient at $X'$, whose token is $X'^{(j,:)}$, as the gradient printed above it
        shows. Both lines
        have $X^{(j,:)}$; whether this prime, too, was lost in the extraction cannot be told. The limit 0 that follows is
        not touched.""",
)  # fmt: skip
PRIMED = Claim(TRACE, "convergence.d1-trace-wq-primed", label="D.1, the inner product in W_Q, with the tokens of both samples",
    statement=_LINES % ("X'", "X'"), name="inner product of query gradients as a trace, corrected",
    relation=Equal(), all_sizes=True,
    corrects="convergence.d1-trace-wq", uses=("convergence.d1-gradients",), of_project=True)  # fmt: skip


def _inner(X: Any, W_V: Any, w_O: Any, beta: Any) -> Any:
    """X^T (diag(beta) - beta beta^T) X W_V^T (w_O o relu'(W_V X^T beta)), shape (d, 1)."""
    return X.T @ softmax_covariance(beta) @ X @ W_V.T @ gated_output_weights(w_O, W_V @ X.T @ beta)


def _both_lines(X: Any, Y: Any, tokens: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    """The trace, and the sum of products; `tokens` are those of the second factor."""
    d_s = X.shape[0]
    ones_of, others_of = attention_rows(X, W_Q, W_K, tau_0), attention_rows(Y, W_Q, W_K, tau_0)
    first = mapped(lambda beta: _inner(X, W_V, w_O, beta), ones_of)
    second = mapped(lambda beta: _inner(Y, W_V, w_O, beta), others_of)
    by_trace = summed(d_s, lambda i: summed(
        d_s, lambda j: trace(W_K @ first[i] @ X[i : i + 1] @ tokens[j : j + 1].T @ second[j].T @ W_K.T)))  # fmt: skip
    by_products = summed(d_s, lambda i: summed(
        d_s, lambda j: (X[i : i + 1] @ tokens[j : j + 1].T)[0, 0] * total(first[i] * (W_K.T @ W_K @ second[j]))))  # fmt: skip
    return column(by_trace, by_products) * (tau_0 * tau_1) ** 2


@PRINTED.formula
def printed_inner_product(X: Tokens, Y: OtherTokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                          tau_0: Scale, tau_1: Scale) -> Any:  # fmt: skip
    """The second and the third line with X^(j,:), shape (2, 1) (Appendix D.1)."""
    return _both_lines(X, Y, X, W_Q, W_K, W_V, w_O, tau_0, tau_1)


@PRIMED.formula
def inner_product_of_query_gradients(X: Tokens, Y: OtherTokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                                     w_O: OutputWeights, tau_0: Scale, tau_1: Scale) -> Any:  # fmt: skip
    """The second and the third line with X'^(j,:), shape (2, 1)."""
    return _both_lines(X, Y, Y, W_Q, W_K, W_V, w_O, tau_0, tau_1)


def inner_product_by_differentiation(X: Tokens, Y: OtherTokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                                     w_O: OutputWeights, tau_0: Scale, tau_1: Scale) -> Any:  # fmt: skip
    slopes = [jacobian(outputs, "W_Q")(Z.reshape(1, *Z.shape), W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") for Z in (X, Y)]
    value = total(slopes[0] * slopes[1]) + tau_0 * 0
    return column(value, value)


for claim in (PRINTED, PRIMED):
    claim.oracle(inner_product_by_differentiation)
    claim.mutant("twice the value", lambda value: value * 2)
PRINTED.mutant("without tau_0", lambda value, tau_0: value / tau_0)
PRIMED.mutant("X^(j,:), as printed", printed_inner_product)
PRINTED.counterexample("tokens 1, 0 and 1, 2, all weights 1 but W_Q = 0: 3/4, printed 1/4", X=[[1], [0]], Y=[[1], [2]], W_Q=[[0]],
    W_K=[[1]], W_V=[[1]], w_O=[[1]], tau_0=1, tau_1=1)  # fmt: skip
