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
    \dot\sigma_r(W_VX^\top\beta_i))X^{(i,:)}X^{(j,:)\top}(w_O\circ\dot\sigma_r(W_VX'^\top\beta'_j))^\top W_VX'^\top
    (\mathrm{diag}(\beta_j')-\beta_j'\beta_j'^\top)X'W_K^\top\big)=\sum_{i,j}X^{(i,:)}X^{(j,:)\top}\Big\langle\tau_0\tau_1
    X^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)XW_V^\top(w_O\circ\dot\sigma_r(W_VX^\top\beta_i)),\tau_0\tau_1W_K^\top W_K
    X'^\top(\mathrm{diag}(\beta'_j)-\beta'_j\beta_j'^\top)X'W_V^\top(w_O\circ\dot\sigma_r(W_VX'^\top\beta'_j))\Big\rangle"""

TRACE_FORM = Claim(TRACE, "convergence.d1-trace-wq", label="D.1, the inner product in W_Q, second and third line",
    statement=_LINES, name="inner product of query gradients as a trace", relation=Equal(), all_sizes=True,
    uses=("convergence.d1-gradients",),
    doubt=Doubt((
        r"\boldsymbol{W}_k \boldsymbol{X}^\top", r"\boldsymbol{X}^{(j,:)\top}",
        r"\boldsymbol{\sigma}_r \left( \boldsymbol{W}_V \boldsymbol{X}'^\top "
        r"\boldsymbol{\beta}_j \right) \right)^\top \boldsymbol{W}_V \boldsymbol{X}'^\top",
    ),
        r"""$W_k$ stands for $W_K$, the dots of $\mathrm{relu}'$ are lost, and primes are: $\beta_j$ has lost one, which the third
            line has. So the prime of the token $X'^{(j,:)}$ may be lost too, in both lines. The second factor is the gradient at
            $X'$, and the gradient printed above, taken there, has that token, so it is taken; a mutant shows that with
            $X^{(j,:)}$ the lines are false."""),
    note="The limit 0 that follows is the same either way.",
)  # fmt: skip


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


@TRACE_FORM.formula
def inner_product_of_query_gradients(X: Tokens, Y: OtherTokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                                     w_O: OutputWeights, tau_0: Scale, tau_1: Scale) -> Any:  # fmt: skip
    """The second and the third line with X'^(j,:), shape (2, 1)."""
    return _both_lines(X, Y, Y, W_Q, W_K, W_V, w_O, tau_0, tau_1)


def inner_product_by_differentiation(X: Tokens, Y: OtherTokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                                     w_O: OutputWeights, tau_0: Scale, tau_1: Scale) -> Any:  # fmt: skip
    slopes = [jacobian(outputs, "W_Q")(Z.reshape(1, *Z.shape), W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") for Z in (X, Y)]
    value = total(slopes[0] * slopes[1]) + tau_0 * 0
    return column(value, value)


TRACE_FORM.oracle(inner_product_by_differentiation)
TRACE_FORM.mutant("twice the value", lambda value: value * 2)
TRACE_FORM.mutant("X^(j,:), as extracted",
    lambda X, Y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _both_lines(X, Y, X, W_Q, W_K, W_V, w_O, tau_0, tau_1))  # fmt: skip
