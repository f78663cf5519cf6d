"""The gradients of the network with respect to its four weights, in closed form: Appendix D.1.

One sample X of d_s tokens.  `pooling` is "sum" as in Appendices C.2 and D.1, or "average" as in Eq. (1.2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    WEIGHTS, KeyWeights, OutputWeights, QueryWeights, ValueWeights, outputs, pooling_weight,
)  # fmt: skip
from verify.matrix import basis_matrix, concatenate, diag, each, hadamard, relu, softmax, stack_rows, step, summed
from verify.oracles import closed_form, jacobian
from verify.vocabulary import Claim, Convention, Definition, Doubt, Equal, Real, Setting, Shape

Tokens = Annotated[Any, Shape("d_s", "d")]
Scale = Annotated[Any, Real(0.0625, 2.0)]

#: What stands in place of relu' in the gradients, and of diag(beta) - beta beta^T; mutants exchange them.
Gate = Callable[[Any], Any]


def attention_row(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Any, i: int) -> Any:
    """beta_i = softmax(tau_0 X^{(i,:)} W_Q^T W_K X^T)^T, shape (d_s, 1): how token i attends to all tokens (Table 2)."""
    return softmax(X[i : i + 1] @ W_Q.T @ W_K @ X.T * tau_0).T


def attention_rows(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Any) -> list[Any]:
    """beta_1, ..., beta_{d_s}, each of shape (d_s, 1) (Table 2)."""
    return each(X.shape[0], lambda i: attention_row(X, W_Q, W_K, tau_0, i))


def softmax_covariance(beta: Any) -> Any:
    """diag(beta) - beta beta^T, shape (d_s, d_s), for beta of shape (d_s, 1) (Lemma 11)."""
    return diag(beta) - beta @ beta.T


def gated_output_weights(w_O: OutputWeights, pre_activation: Any, gate: Gate = step) -> Any:
    """w_O o relu'(W_V X^T beta_i), shape (d_m, 1), with relu'(0) = 0 (Appendix D.1)."""
    return hadamard(w_O, gate(pre_activation))


def output_weight_gradient(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Any, tau_1: Any,
                           pooling: str = "sum", activation: Gate = relu) -> Any:  # fmt: skip
    """df/dw_O = tau_1 sum_i relu(W_V X^T beta_i), shape (d_m, 1): the last hidden layer (Appendix D.1)."""
    betas = attention_rows(X, W_Q, W_K, tau_0)
    hidden = summed(X.shape[0], lambda i: activation(W_V @ X.T @ betas[i]))
    return hidden * tau_1 * pooling_weight(pooling, X.shape[0])


def value_gradient(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Any,
                   tau_1: Any, pooling: str = "sum", gate: Gate = step) -> Any:  # fmt: skip
    """df/dW_V = tau_1 sum_i (w_O o relu'(W_V X^T beta_i)) beta_i^T X, shape (d_m, d) (Appendix D.1)."""
    betas = attention_rows(X, W_Q, W_K, tau_0)

    def term(i: int) -> Any:
        return gated_output_weights(w_O, W_V @ X.T @ betas[i], gate) @ betas[i].T @ X

    return summed(X.shape[0], term) * tau_1 * pooling_weight(pooling, X.shape[0])


def query_gradient(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Any,
                   tau_1: Any, pooling: str = "sum", gate: Gate = step,
                   covariance: Gate = softmax_covariance) -> Any:  # fmt: skip
    """df/dW_Q, shape (d_m, d) (Appendix D.1).

    tau_0 tau_1 sum_i W_K X^T (diag(beta_i) - beta_i beta_i^T) X W_V^T (w_O o relu'(W_V X^T beta_i)) X^{(i,:)}.
    """
    betas = attention_rows(X, W_Q, W_K, tau_0)

    def term(i: int) -> Any:
        gated = gated_output_weights(w_O, W_V @ X.T @ betas[i], gate)
        return W_K @ X.T @ covariance(betas[i]) @ X @ W_V.T @ gated @ X[i : i + 1]

    return summed(X.shape[0], term) * tau_0 * tau_1 * pooling_weight(pooling, X.shape[0])


def key_gradient(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Any,
                 tau_1: Any, pooling: str = "sum", gate: Gate = step,
                 covariance: Gate = softmax_covariance) -> Any:  # fmt: skip
    """df/dW_K, shape (d_m, d); not printed, the counterpart of Appendix D.1 that Eq. (10) needs.

    tau_0 tau_1 sum_i W_Q X^{(i,:)T} (w_O o relu'(W_V X^T beta_i))^T W_V X^T (diag(beta_i) - beta_i beta_i^T) X.
    """
    betas = attention_rows(X, W_Q, W_K, tau_0)

    def term(i: int) -> Any:
        gated = gated_output_weights(w_O, W_V @ X.T @ betas[i], gate)
        return W_Q @ X[i : i + 1].T @ gated.T @ W_V @ X.T @ covariance(betas[i]) @ X

    return summed(X.shape[0], term) * tau_0 * tau_1 * pooling_weight(pooling, X.shape[0])


def network_gradient(name: str, X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                     tau_0: Any, tau_1: Any, pooling: str = "sum") -> Any:  # fmt: skip
    """The gradient of f at one sample in the weight of this name, in its shape (Appendix D.1)."""
    if name == "w_O":
        return output_weight_gradient(X, W_Q, W_K, W_V, tau_0, tau_1, pooling)
    by_name = {"W_Q": query_gradient, "W_K": key_gradient, "W_V": value_gradient}
    return by_name[name](X, W_Q, W_K, W_V, w_O, tau_0, tau_1, pooling)


def network_gradients(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Any,
                      tau_1: Any, pooling: str = "sum") -> dict[str, Any]:  # fmt: skip
    """The gradients of f at one sample by name of the weight, each in the shape of its weight (Appendix D.1)."""
    weights = W_Q, W_K, W_V, w_O
    return {name: network_gradient(name, X, *weights, tau_0, tau_1, pooling) for name in WEIGHTS}


def _for_all_samples(wrt: str, gradient: Callable[..., Any]) -> None:
    """The gradients of the samples, as rows, stand for the Jacobian of the network in derivations of bounds."""

    @closed_form(outputs, wrt, "convergence.gradient-wk" if wrt == "W_K" else "convergence.d1-gradients")
    def rows(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, pooling: str) -> Any:
        weights = (W_Q, W_K, W_V) if wrt == "w_O" else (W_Q, W_K, W_V, w_O)
        return stack_rows(each(X.shape[0], lambda n: gradient(X[n], *weights, tau_0, tau_1, pooling).reshape(1, -1)))


for _wrt, _gradient in (
    ("W_Q", query_gradient), ("W_K", key_gradient), ("W_V", value_gradient), ("w_O", output_weight_gradient),
):  # fmt: skip
    _for_all_samples(_wrt, _gradient)


def network_jacobian(X: Any, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Any,
                     tau_1: Any, pooling: str = "sum") -> Any:  # fmt: skip
    """df/dtheta for samples X (N, d_s, d), shape (N, |theta|), the weights in the order W_Q, W_K, W_V, w_O, row-major."""
    rows = []
    for n in range(X.shape[0]):
        slopes = network_gradients(X[n], W_Q, W_K, W_V, w_O, tau_0, tau_1, pooling)
        rows.append(_row(*(slopes[name] for name in WEIGHTS)))
    return stack_rows(rows)


def _row(*blocks: Any) -> Any:
    """Blocks of any shape, row-major, as one row."""
    return concatenate([block.reshape(1, -1) for block in blocks], axis=1)


GRADIENTS = Setting(
    CONVERGENCE,
    "Appendix D.1",
    assumptions=[
        Definition("f(X) = tau_1 w_O^T sum_i relu(W_V X^T beta_i), as in C.2", by=pooling_weight),
        Convention("relu'(0) = 0", by=step),
    ],
    sizes={"d_s": (1, 3), "d": (1, 3), "d_m": (1, 3)},
    exact=True,
)

D1_GRADIENTS = Claim(GRADIENTS, "convergence.d1-gradients", label="D.1, gradients of f",
    statement=r"""\beta_i:=\sigma_s(\tau_0X^{(i,:)}W_O^\top W_KX^\top)^\top,\ \frac{\partial f}{\partial
        w_O}=\tau_1\sum_i\sigma_r(W_VX^\top\beta_i);\ \frac{\partial f}{\partial W_Q^{(p,q)}}
        =\tau_0\tau_1\sum_i(w_O\circ\dot\sigma_r(W_VX^\top\beta_i))^\top
        W_VX^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)XW_K^\top e_pe_q^\top X^{(i,:)\top},\ \frac{\partial
        f}{\partial W_Q}=\tau_0\tau_1\sum_iW_kX^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)XW_V^\top
        (w_O\circ\dot\sigma_r(W_VX^\top\beta_i))X^{(i,:)};\ \frac{\partial f}{\partial W_V^{(p,q)}}
        =\tau_1\sum_i(w_O\circ\dot\sigma_r(W_VX^\top\beta_i))^\top e_pe_q^\top X^\top\beta_i,\ \frac{\partial
        f}{\partial W_V}=\tau_1\sum_i(w_O\circ\sigma_r(W_VX^\top\beta_i))\beta_i^\top X""",
    name="gradients of the network", relation=Equal(), all_sizes=True, uses=("convergence.lemma-11",),
    doubt=Doubt((
        r"\left(\boldsymbol{w}_{O} \circ \boldsymbol{\sigma}_{r} \left(\boldsymbol{W}_{V} \boldsymbol{X}^{\top} "
        r"\boldsymbol{\beta}_{i} \right) \right) \boldsymbol{\beta}_{i}^{\top} \boldsymbol{X} \,.",
        r"\mathbf{W}_O^\top \mathbf{W}_K \mathbf{X}^\top",
    ),
        r"""The dot of $\mathrm{relu}'$ is lost in the matrix form of the gradient in $W_V$, which the entry above it
            has; $W_k$ stands for $W_K$, and $W_O$ for $W_Q$ where $\beta_i$ is introduced, against Table 2."""),
    note="For the average pooling of Eq. (1.2) every gradient is $1/d_s$ times this one.")  # fmt: skip


def _entries(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, pooling: str = "sum",
             gate: Gate = step, covariance: Gate = softmax_covariance) -> tuple[Any, Any]:  # fmt: skip
    """The printed entries (p, q) of the gradients in W_Q and in W_V, each in a column, with e_p e_q^T written out."""
    (d_m, d), d_s = W_Q.shape, X.shape[0]
    betas = attention_rows(X, W_Q, W_K, tau_0)
    scale = tau_1 * pooling_weight(pooling, d_s)

    def gated(i: int) -> Any:
        return gated_output_weights(w_O, W_V @ X.T @ betas[i], gate)

    def of_query(E: Any, i: int) -> Any:
        return gated(i).T @ W_V @ X.T @ covariance(betas[i]) @ X @ W_K.T @ (E @ X[i : i + 1].T)

    def in_order(term: Callable[[Any, int], Any]) -> Any:
        def entry(p: int, q: int) -> Any:
            return summed(d_s, lambda i: term(basis_matrix(d_m, d, p, q), i))

        return concatenate(each(d_m, lambda p: concatenate(each(d, lambda q: entry(p, q)), axis=0)), axis=0)

    of_values = in_order(lambda E, i: gated(i).T @ (E @ (X.T @ betas[i])))
    return in_order(of_query) * tau_0 * scale, of_values * scale


@D1_GRADIENTS.formula
def printed_gradients(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                      tau_0: Scale, tau_1: Scale) -> Any:  # fmt: skip
    """df/dw_O, df/dW_Q by entries and as a matrix, df/dW_V by entries and as a matrix, in one row (Appendix D.1)."""
    of_queries, of_values = _entries(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    hidden = output_weight_gradient(X, W_Q, W_K, W_V, tau_0, tau_1)
    queries = query_gradient(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    return _row(hidden, of_queries, queries, of_values, value_gradient(X, W_Q, W_K, W_V, w_O, tau_0, tau_1))


@D1_GRADIENTS.oracle
def gradients_by_differentiation(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    slopes = {
        wrt: jacobian(outputs, wrt)(X.reshape(1, *X.shape), W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum")
        for wrt in ("w_O", "W_Q", "W_V")
    }
    return _row(*(slopes[wrt] for wrt in ("w_O", "W_Q", "W_Q", "W_V", "W_V")))


D1_GRADIENTS.mutant("relu for relu', as the extraction prints it", gate=relu)
D1_GRADIENTS.mutant("rank-one term of the softmax Jacobian dropped", covariance=diag)
D1_GRADIENTS.mutant("1/d_s of average pooling", pooling="average")
D1_GRADIENTS.mutant("tau_0 dropped", "queries -> queries / tau_0; of_queries -> of_queries / tau_0")


@D1_GRADIENTS.mutant("gradient in W_K in place of that in W_Q")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    hidden = output_weight_gradient(X, W_Q, W_K, W_V, tau_0, tau_1)
    keys = key_gradient(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    values = value_gradient(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    return _row(hidden, keys, keys, values, values)


GRADIENT_IN_W_K = Claim(GRADIENTS, "convergence.gradient-wk", label="The gradient of f with respect to W_K",
    statement=r"""\frac{\partial f}{\partial
        W_K}=\tau_0\tau_1\sum_iW_QX^{(i,:)\top}(w_O\circ\dot\sigma_r(W_VX^\top\beta_i))^\top
        W_VX^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)X""",
    name="gradient in the key weights", relation=Equal(), all_sizes=True, uses=("convergence.lemma-11",),
    of_project=True,
    note="Eqs. (10) and (24) and the last limit of Appendix D.1 speak of this gradient without giving it.")  # fmt: skip


@GRADIENT_IN_W_K.formula
def gradient_in_keys(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Scale,
                     tau_1: Scale) -> Any:  # fmt: skip
    """df/dW_K, shape (d_m, d), for the sum over tokens."""
    return key_gradient(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)


GRADIENT_IN_W_K.oracle(
    lambda X, W_Q, W_K, W_V, w_O, tau_0, tau_1: jacobian(outputs, "W_K")(
        X.reshape(1, *X.shape), W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum"
    ).reshape(*W_K.shape)
)
GRADIENT_IN_W_K.mutant("W_K in place of W_Q", "W_Q -> W_K; W_K -> W_Q")
GRADIENT_IN_W_K.mutant("relu for relu'", gate=relu)
GRADIENT_IN_W_K.mutant("outer product the other way round", "key_gradient -> query_gradient; W_K -> W_Q")
