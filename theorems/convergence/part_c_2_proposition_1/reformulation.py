"""The first display of Appendix C.2: the network as a sum over tokens, which is d_s times that of Eq. (1.2)."""

from __future__ import annotations

from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, OutputWeights, QueryWeights, ValueWeights, outputs
from theorems.convergence.part_d_1_limiting_kernel.gradients import Scale, Tokens, attention_rows
from verify.matrix import concatenate, each, rational, relu, summed
from verify.vocabulary import Claim, Definition, Equal, Setting

NETWORK = Setting(CONVERGENCE, "Appendix C.2", sizes={"d_s": (1, 4), "d": (1, 3), "d_m": (1, 4)})


def _output_of_one(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, pooling: str) -> Any:
    """f(X) of Eqs. (1.1)-(1.2) at one sample, shape (1, 1)."""
    return outputs(X.reshape(1, *X.shape), W_Q, W_K, W_V, w_O, tau_0, tau_1, pooling)


REFORMULATION = Claim(NETWORK, "convergence.c2-reformulation",
    label='First display of C.2 ("We can reformulate Eq. (1.2) as")', name="network output as a sum over tokens",
    statement=r"""f(X)=\tau_1 w_O^\top\sum_{i=1}^{d_s}\sigma_r(W_VX^\top\beta_i)=w_O^\top f_{pre},\qquad
        \beta_i:=\sigma_s(\tau_0X^{(i,:)}W_Q^\top W_KX^\top)^\top""",
    assumptions=[
        Definition("f as in Eqs. (1.1)-(1.2): A_2 = tau_1 sigma_r(A_1), a_3 its column-wise average, f = a_3^T w_O", by=outputs),
    ],
    relation=Equal(), expects="refuted", severity="error", correction="convergence.c2-reformulation-average",
    consequence="""Outputs, gradients and limits taken from Appendices C and D belong to a network that is $d_s$ times
        that of Eq. (1.2): divide by $d_s$, kernels by $d_s^2$, or use convergence.c2-reformulation-average.""",
    note=r"""A clash of normalisations: Eq. (1.2) averages over the $d_s$ tokens, the display sums, and so do all proofs
        in Appendices C and D. The upper bounds proved for the sum hold for the average with a factor $d_s$ to spare;
        limits such as Lemma 1 come out $d_s^2$ too large. A $\tau_1$ that absorbs $1/d_s$ would mend the display, but
        Table 1 fixes $\tau_1$.""")  # fmt: skip


@REFORMULATION.formula
def output_as_sum(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Scale,
                  tau_1: Scale) -> Any:  # fmt: skip
    """tau_1 w_O^T sum_i relu(W_V X^T beta_i), shape (1, 1): the network as Appendices C and D write it (Appendix C.2)."""
    betas = attention_rows(X, W_Q, W_K, tau_0)
    return w_O.T @ summed(X.shape[0], lambda i: relu(W_V @ X.T @ betas[i])) * tau_1


REFORMULATION.oracle(
    lambda X, W_Q, W_K, W_V, w_O, tau_0, tau_1: _output_of_one(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "average")
)
REFORMULATION.mutant("tau_1 dropped", lambda value, tau_1: value / tau_1)
REFORMULATION.mutant("first token only", "X.shape[0] -> 1")


def _constant_tokens(tau_1: int, d_s: int) -> dict[str, Any]:
    """d_s tokens equal to 1, which attention returns whatever its weights."""
    return {
        "X": [[1]] * d_s, "W_Q": [[0]], "W_K": [[0]], "W_V": [[1]], "w_O": [[1]], "tau_0": 1, "tau_1": tau_1,
    }  # fmt: skip


REFORMULATION.counterexample(
    "two equal tokens, all sizes 1: Eq. (1.2) gives 3, the sum 6", lambda: _constant_tokens(3, 2)
)
REFORMULATION.counterexample("three equal tokens: 2 and 6", lambda: _constant_tokens(2, 3))


AVERAGE = REFORMULATION.corrected("convergence.c2-reformulation-average", label="Eq. (1.2) written out token by token",
    statement=r"""f(X)=\frac{\tau_1}{d_s}w_O^\top\sum_{i=1}^{d_s}\sigma_r(W_VX^\top\beta_i)=w_O^\top a_3(X),\quad
        \beta_i=\sigma_s(\tau_0X^{(i,:)}W_Q^\top W_KX^\top)^\top""", name="network output as an average over tokens",
    assumptions=[Definition("f as in Eqs. (1.1)-(1.2)", by=outputs)], all_sizes=True, exact=True)  # fmt: skip


@AVERAGE.formula
def output_as_average(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                      tau_0: Scale, tau_1: Scale) -> Any:  # fmt: skip
    """(tau_1 / d_s) w_O^T sum_i relu(W_V X^T beta_i), shape (1, 1)."""
    betas, d_s = attention_rows(X, W_Q, W_K, tau_0), X.shape[0]
    hidden = each(d_s, lambda i: W_V @ X.T @ betas[i])
    return w_O.T @ summed(d_s, lambda i: relu(hidden[i])) * tau_1 * rational(1, d_s)


def _attention_columns(X: Any, W_Q: Any, W_K: Any, tau_0: Any) -> list[Any]:
    received = concatenate(attention_rows(X, W_Q, W_K, tau_0), axis=1).T
    return each(X.shape[0], lambda i: received[:, i : i + 1])


AVERAGE.mutant("sum over tokens, as printed", "rational(1, d_s) -> 1")
AVERAGE.mutant("ReLU after pooling", "summed(d_s, lambda i: relu(hidden[i])) -> relu(summed(d_s, lambda i: hidden[i]))")
AVERAGE.mutant("columns of the attention matrix in place of its rows", "attention_rows -> _attention_columns")
