"""The model and its training: attention in two forms, the network of Eq. (1.2) as a sum, Algorithm 1, Table 1."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    WEIGHTS,
    KeyWeights,
    Labels,
    OutputWeights,
    QueryWeights,
    Samples,
    ValueWeights,
    outputs,
    self_attention,
    squared_loss,
)
from theorems.convergence.appendix_d_tangent_kernel.gradients import Scale, Tokens, attention_rows, network_gradients
from verify.claims import Claim
from verify.derivatives import jacobian
from verify.matrix import concatenate, ones, rational, relu, softmax, sqrt, stack_rows, total
from verify.relations import Equal
from verify.shapes import Real, Shape

SIZES = {"d_s": (1, 4), "d": (1, 3), "d_m": (1, 4)}

# -- self-attention ----------------------------------------------------------------------------------------------------

TWO_FORMS = Claim(
    CONVERGENCE,
    "convergence.sa-two-forms",
    label="Section 1, display of Self-attention(X)",
    statement=r"\sigma_s(\tau_0 (XW_Q^\top)(XW_K^\top)^\top)(XW_V^\top)=\sigma_s(\tau_0 XW_Q^\top W_KX^\top)(XW_V^\top)",
    assumptions=["sigma_s is the softmax of each row", "tau_0 > 0"],
    relation=Equal(),
    sizes=SIZES,
    exact=True,
)


@TWO_FORMS.formula
def attention_by_bilinear_form(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale) -> Any:
    """softmax(tau_0 X W_Q^T W_K X^T) X W_V^T, shape (d_s, d_m) (Section 1)."""
    return softmax(X @ W_Q.T @ W_K @ X.T * tau_0) @ (X @ W_V.T)


TWO_FORMS.oracle(lambda X, W_Q, W_K, W_V, tau_0: self_attention(X, W_Q, W_K, W_V, tau_0))
TWO_FORMS.mutant("queries and keys exchanged", "W_Q -> W_K; W_K -> W_Q")
TWO_FORMS.mutant(
    "softmax of each column", lambda X, W_Q, W_K, W_V, tau_0: softmax(X @ W_K.T @ W_Q @ X.T * tau_0).T @ (X @ W_V.T)
)
TWO_FORMS.mutant(
    "scale outside the softmax", lambda X, W_Q, W_K, W_V, tau_0: softmax(X @ W_Q.T @ W_K @ X.T) @ (X @ W_V.T) * tau_0
)


# -- the network as a sum over tokens ----------------------------------------------------------------------------------


def _output_of_one(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, pooling: str) -> Any:
    """f(X) of Eqs. (1.1)-(1.2) at one sample, shape (1, 1)."""
    return outputs(X.reshape(1, *X.shape), W_Q, W_K, W_V, w_O, tau_0, tau_1, pooling)


def output_as_sum(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Any, tau_1: Any
) -> Any:
    """tau_1 w_O^T sum_i relu(W_V X^T beta_i), shape (1, 1): the network as Appendices C and D write it (Appendix C.2)."""
    return w_O.T @ sum(relu(W_V @ X.T @ beta) for beta in attention_rows(X, W_Q, W_K, tau_0)) * tau_1


REFORMULATION = Claim(
    CONVERGENCE,
    "convergence.c2-reformulation",
    label='First display of C.2 ("We can reformulate Eq. (1.2) as")',
    statement=r"f(X)=\tau_1 w_O^\top\sum_{i=1}^{d_s}\sigma_r(W_VX^\top\beta_i)=w_O^\top f_{pre},\qquad"
    r" \beta_i:=\sigma_s(\tau_0X^{(i,:)}W_Q^\top W_KX^\top)^\top",
    assumptions=["f as in Eqs. (1.1)-(1.2): A_2 = tau_1 sigma_r(A_1), a_3 its column-wise average, f = a_3^T w_O"],
    relation=Equal(),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    correction="convergence.c2-reformulation-average",
    note="A clash of normalisations: Eq. (1.2) averages over the d_s tokens, the display sums, and so do all proofs in"
    " Appendices C and D. The upper bounds proved for the sum hold for the average with a factor d_s to spare; limits"
    " such as Lemma 1 come out d_s^2 too large. A tau_1 that absorbs 1/d_s would mend the display, but Table 1 fixes tau_1.",
)


@REFORMULATION.formula
def printed_reformulation(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Scale, tau_1: Scale
) -> Any:
    """tau_1 w_O^T sum_i relu(W_V X^T beta_i), shape (1, 1) (Appendix C.2)."""
    return output_as_sum(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)


REFORMULATION.oracle(
    lambda X, W_Q, W_K, W_V, w_O, tau_0, tau_1: _output_of_one(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "average")
)
REFORMULATION.mutant("tau_1 dropped", lambda value, tau_1: value / tau_1)
REFORMULATION.mutant(
    "first token only",
    lambda X, W_Q, W_K, W_V, w_O, tau_0, tau_1: w_O.T @ relu(W_V @ X.T @ attention_rows(X, W_Q, W_K, tau_0)[0]) * tau_1,
)


def _constant_tokens(tau_1: int, d_s: int) -> dict[str, Any]:
    """d_s tokens equal to 1, which attention returns whatever its weights."""
    return {
        "X": [[1]] * d_s, "W_Q": [[0]], "W_K": [[0]], "W_V": [[1]], "w_O": [[1]], "tau_0": 1, "tau_1": tau_1,
    }  # fmt: skip


REFORMULATION.counterexample(
    "two equal tokens, all sizes 1: Eq. (1.2) gives 3, the sum 6", lambda: _constant_tokens(3, 2)
)
REFORMULATION.counterexample("three equal tokens: 2 and 6", lambda: _constant_tokens(2, 3))


AVERAGE = Claim(
    CONVERGENCE,
    "convergence.c2-reformulation-average",
    label="Eq. (1.2) written out token by token",
    statement=r"f(X)=\frac{\tau_1}{d_s}w_O^\top\sum_{i=1}^{d_s}\sigma_r(W_VX^\top\beta_i)=w_O^\top a_3(X)",
    assumptions=["f as in Eqs. (1.1)-(1.2)"],
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    corrects="convergence.c2-reformulation",
    of_project=True,
)


@AVERAGE.formula
def output_as_average(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Scale, tau_1: Scale
) -> Any:
    """(tau_1 / d_s) w_O^T sum_i relu(W_V X^T beta_i), shape (1, 1)."""
    return output_as_sum(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) * rational(1, X.shape[0])


AVERAGE.oracle(
    lambda X, W_Q, W_K, W_V, w_O, tau_0, tau_1: _output_of_one(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "average")
)
AVERAGE.mutant(
    "sum over tokens, as printed",
    lambda X, W_Q, W_K, W_V, w_O, tau_0, tau_1: output_as_sum(X, W_Q, W_K, W_V, w_O, tau_0, tau_1),
)


@AVERAGE.mutant("ReLU after pooling")
def _(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Scale, tau_1: Scale
) -> Any:
    pooled = sum(W_V @ X.T @ beta for beta in attention_rows(X, W_Q, W_K, tau_0)) * rational(1, X.shape[0])
    return w_O.T @ relu(pooled) * tau_1


@AVERAGE.mutant("columns of the attention matrix in place of its rows")
def _(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Scale, tau_1: Scale
) -> Any:
    received = concatenate(attention_rows(X, W_Q, W_K, tau_0), axis=1).T
    return w_O.T @ relu(W_V @ X.T @ received) @ ones(X.shape[0], 1) * tau_1 * rational(1, X.shape[0])


# -- Algorithm 1 -------------------------------------------------------------------------------------------------------

Step = Annotated[Any, Real(0.0625, 1.0)]

ALGORITHM_1 = Claim(
    CONVERGENCE,
    "convergence.algorithm-1",
    label="Algorithm 1",
    statement=r"W_Q^{t+1}=W_Q^t-\gamma\nabla_{W_Q}\ell(\theta^t),\ W_K^{t+1}=W_K^t-\gamma\nabla_{W_V}\ell(\theta^t),\ "
    r"W_V^{t+1}=W_V^t-\gamma\nabla_{W_V}\ell(\theta^t),\ W_Q^{t+1}=W_Q^t-\gamma\nabla_{W_Q}\ell(\theta^t)\ "
    r"[\text{last line repeated}]",
    assumptions=["standard gradient descent on all of W_Q, W_K, W_V, w_O (Section 3.2)", "f as in Eq. (1.2)"],
    relation=Equal(),
    sizes={"N": (1, 2), "d_s": (1, 2), "d": (1, 2), "d_m": (1, 3)},
    expects="reading",
    uses=("convergence.d1-gradients", "convergence.gradient-wk"),
    exact=True,
    reading="each weight moves along its own gradient, all four at theta^t, as the text around the algorithm says",
    doubt="The box is damaged: its last lines repeat that of W_Q, that of w_O is missing, and W_K moves along the gradient"
    " in W_V. Taken literally it would leave w_O alone; two mutants show that it is then no gradient descent.",
)


def _after_one_step(X: Any, y: Any, theta: dict[str, Any], tau_0: Any, tau_1: Any, gamma: Any, along: Any) -> Any:
    """The weights after one step, row-major in one row; `along` names the gradient that moves each weight."""
    error = outputs(X, **theta, tau_0=tau_0, tau_1=tau_1) - y
    slopes = [network_gradients(X[n], **theta, tau_0=tau_0, tau_1=tau_1, pooling="average") for n in range(X.shape[0])]
    moved = []
    for name in WEIGHTS:
        W, source = theta[name], along[name]
        if source is None:
            moved.append(W)
            continue
        gradient = sum(slopes[n][source] * error[n, 0] for n in range(X.shape[0]))
        moved.append(W - gradient * gamma)
    return concatenate([W.reshape(1, -1) for W in moved], axis=1)


def _weights(W_Q: Any, W_K: Any, W_V: Any, w_O: Any) -> dict[str, Any]:
    return {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O}


OWN = {name: name for name in WEIGHTS}


@ALGORITHM_1.formula
def one_iteration(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Scale, tau_1: Scale, gamma: Step,
) -> Any:  # fmt: skip
    """theta^{t+1} in the order W_Q, W_K, W_V, w_O, shape (1, |theta|), by the gradients of Appendix D.1 (Algorithm 1)."""
    return _after_one_step(X, y, _weights(W_Q, W_K, W_V, w_O), tau_0, tau_1, gamma, OWN)


@ALGORITHM_1.oracle
def descent_on_the_loss(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Scale, tau_1: Scale, gamma: Step,
) -> Any:  # fmt: skip
    theta = _weights(W_Q, W_K, W_V, w_O)
    slopes = {name: jacobian(squared_loss, name)(X, y, **theta, tau_0=tau_0, tau_1=tau_1) for name in WEIGHTS}
    return concatenate([theta[name].reshape(1, -1) - slopes[name] * gamma for name in WEIGHTS], axis=1)


ALGORITHM_1.mutant("W_K moved along the gradient in W_V, as the extraction shows", along={**OWN, "W_K": "W_V"})
ALGORITHM_1.mutant("w_O not trained, as the extraction shows", along={**OWN, "w_O": None})
ALGORITHM_1.mutant("ascent", "gamma -> -gamma")


# -- Table 1 -----------------------------------------------------------------------------------------------------------

Token = Annotated[Any, Shape("1", "d")]
Hidden = Annotated[Any, Shape("1", "d_m")]

TABLE_1 = Claim(
    CONVERGENCE,
    "convergence.table-1",
    label="Table 1",
    statement=r"\text{LeCun: }\eta_O=d_m^{-1},\ \eta_V=\eta_Q=\eta_K=d^{-1},\ \tau_1=1;\quad\text{He: }2d_m^{-1},2d^{-1},"
    r"2d^{-1},2d^{-1},1;\quad\text{NTK: }1,1,1,1,\ \tau_1=d_m^{-1/2}",
    assumptions=[
        "entries of the weights independent and normal, of mean 0 and of the stated variances (Table 2)",
        "LeCun and He: the second moment of an output unit is 1 and 2 times the mean square of its inputs",
        "NTK: standard normal weights, and the second moment of f is the mean square of the last hidden layer",
    ],
    relation=Equal(),
    sizes={"d": (1, 5), "d_m": (1, 5)},
    exact=True,
    note="E[f^2] given the last hidden layer is eta_O tau_1^2 |relu(...)|^2, which stays of order 1 as d_m grows in all"
    " three rows; tau_1 of the NTK row is determined by this.",
)


def initialisation_table(d: int, d_m: int) -> dict[str, list[Any]]:
    """(eta_O, eta_V, eta_Q, eta_K, tau_1) by name of the scheme (Table 1)."""
    one = rational(1)
    return {
        "LeCun": [rational(1, d_m), rational(1, d), rational(1, d), rational(1, d), one],
        "He": [rational(2, d_m), rational(2, d), rational(2, d), rational(2, d), one],
        "NTK": [one, one, one, one, one / sqrt(d_m)],
    }


def _second_moments(x: Any, h: Any, table: dict[str, list[Any]]) -> Any:
    """Second moments of v.x, q.x, k.x and of f = tau_1 w_O.h for each scheme, shape (schemes, 4)."""
    size, hidden = total(x * x), total(h * h)
    rows = []
    for eta_O, eta_V, eta_Q, eta_K, tau_1 in table.values():
        moments = [size * eta_V, size * eta_Q, size * eta_K, hidden * (eta_O * tau_1 * tau_1)]
        rows.append(concatenate([ones(1, 1) * moment for moment in moments], axis=1))
    return stack_rows(rows)


@TABLE_1.formula
def moments_of_the_table(x: Token, h: Hidden) -> Any:
    """E[(W_V x)_k^2], E[(W_Q x)_k^2], E[(W_K x)_k^2] and E[(tau_1 w_O.h)^2] for each scheme, shape (3, 4) (Table 1)."""
    return _second_moments(x, h, initialisation_table(x.shape[1], h.shape[1]))


@TABLE_1.oracle
def moments_of_the_schemes(x: Token, h: Hidden) -> Any:
    """What the names mean: gain times the mean square of the inputs; for NTK the weights are standard normal."""
    mean_x, mean_h = total(x * x) * rational(1, x.shape[1]), total(h * h) * rational(1, h.shape[1])
    rows = [[mean_x, mean_x, mean_x, mean_h], [mean_x * 2, mean_x * 2, mean_x * 2, mean_h * 2]]
    rows.append([*[sum(x[0, j] * x[0, j] for j in range(x.shape[1]))] * 3, mean_h])
    return stack_rows([concatenate([ones(1, 1) * moment for moment in row], axis=1) for row in rows])


TABLE_1.mutant("d and d_m exchanged", lambda x, h: _second_moments(x, h, initialisation_table(h.shape[1], x.shape[1])))


@TABLE_1.mutant("standard deviations instead of variances")
def _(x: Token, h: Hidden) -> Any:
    table = initialisation_table(x.shape[1], h.shape[1])
    squared = {name: [*(eta * eta for eta in row[:4]), row[4]] for name, row in table.items()}
    return _second_moments(x, h, squared)


@TABLE_1.mutant("tau_1 = 1/d_m for NTK")
def _(x: Token, h: Hidden) -> Any:
    table = initialisation_table(x.shape[1], h.shape[1])
    table["NTK"][4] = rational(1, h.shape[1])
    return _second_moments(x, h, table)
