"""Section 3: gradient descent on all four weights (Algorithm 1), and what the initialisations of Table 1 mean."""

from __future__ import annotations

import functools
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    WEIGHTS, KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights, outputs, squared_loss,
)  # fmt: skip
from theorems.convergence.part_d_1_limiting_kernel.gradients import Scale, network_gradient
from verify.matrix import concatenate, ones, rational, sqrt, stack_rows, summed, total
from verify.oracles import jacobians
from verify.vocabulary import Claim, Definition, Doubt, Equal, Real, Shape


Step = Annotated[Any, Real(0.0625, 1.0)]

ALGORITHM_1 = Claim(CONVERGENCE, "convergence.algorithm-1", label="Algorithm 1",
    statement=r"""W_Q^{t+1}=W_Q^t-\gamma\nabla_{W_Q}\ell(\theta^t),\ W_K^{t+1}=W_K^t-\gamma\nabla_{W_V}\ell(\theta^t),\
        W_V^{t+1}=W_V^t-\gamma\nabla_{W_V}\ell(\theta^t),\ W_Q^{t+1}=W_Q^t-\gamma\nabla_{W_Q}\ell(\theta^t)\ [\text{last
        line repeated}]""",
    assumptions=[
        Definition("standard gradient descent on all of W_Q, W_K, W_V, w_O (Section 3.2)", by=squared_loss),
        Definition("f as in Eq. (1.2)", by=outputs),
    ],
    name="gradient descent on all four weights", relation=Equal(), all_sizes=True,
    sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 3)},
    uses=("convergence.d1-gradients", "convergence.gradient-wk"), exact=True,
    doubt=Doubt(
        r"$\boldsymbol{W}_K^{t+1} = \boldsymbol{W}_K^t - \gamma \cdot \nabla_{\boldsymbol{W}_V} "
        r"\ell(\boldsymbol{\theta}^t)$",
        """The box is damaged: its last lines repeat that of $W_Q$ several times, that of $w_O$ is missing, and $W_K$
            moves along the gradient in $W_V$. Each weight moves along its own gradient, as 'standard gradient descent
            (GD) training of Transformer' in the text beside the box has it; two mutants show that the lines of the
            extraction are no gradient descent."""))  # fmt: skip


def _after_one_step(X: Any, y: Any, theta: dict[str, Any], tau_0: Any, tau_1: Any, gamma: Any, along: Any) -> Any:
    """The weights after one step, row-major in one row; `along` names the gradient that moves each weight."""
    error = outputs(X, **theta, tau_0=tau_0, tau_1=tau_1) - y

    def slope(n: int, name: str) -> Any:
        return network_gradient(name, X[n], **theta, tau_0=tau_0, tau_1=tau_1, pooling="average") * error[n, 0]

    moved = []
    for name in WEIGHTS:
        W, source = theta[name], along[name]
        if source is None:
            moved.append(W)
            continue
        moved.append(W - summed(X.shape[0], functools.partial(slope, name=source)) * gamma)
    return concatenate([W.reshape(1, -1) for W in moved], axis=1)


OWN = {name: name for name in WEIGHTS}


@ALGORITHM_1.formula
def one_iteration(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                  tau_0: Scale, tau_1: Scale, gamma: Step) -> Any:  # fmt: skip
    """theta^{t+1} in the order W_Q, W_K, W_V, w_O, shape (1, |theta|), by the gradients of Appendix D.1 (Algorithm 1)."""
    return _after_one_step(X, y, dict(zip(WEIGHTS, (W_Q, W_K, W_V, w_O), strict=True)), tau_0, tau_1, gamma, OWN)


@ALGORITHM_1.oracle
def descent_on_the_loss(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                        w_O: OutputWeights, tau_0: Scale, tau_1: Scale, gamma: Step) -> Any:  # fmt: skip
    theta = dict(zip(WEIGHTS, (W_Q, W_K, W_V, w_O), strict=True))
    slopes = jacobians(squared_loss, WEIGHTS)(X, y, **theta, tau_0=tau_0, tau_1=tau_1)
    return concatenate([theta[name].reshape(1, -1) - slopes[name] * gamma for name in WEIGHTS], axis=1)


ALGORITHM_1.mutant("W_K moved along the gradient in W_V, as the extraction shows", along={**OWN, "W_K": "W_V"})
ALGORITHM_1.mutant("w_O not trained, as the extraction shows", along={**OWN, "w_O": None})
ALGORITHM_1.mutant("ascent", "gamma -> -gamma")


Token = Annotated[Any, Shape("1", "d")]
HiddenRow = Annotated[Any, Shape("1", "d_m")]


def initialisation_table(d: int, d_m: int) -> dict[str, list[Any]]:
    """(eta_O, eta_V, eta_Q, eta_K, tau_1) by name of the scheme (Table 1)."""
    one = rational(1)
    return {
        "LeCun": [rational(1, d_m), rational(1, d), rational(1, d), rational(1, d), one],
        "He": [rational(2, d_m), rational(2, d), rational(2, d), rational(2, d), one],
        "NTK": [one, one, one, one, one / sqrt(d_m)],
    }


def _second_moments(x: Any, h: Any, table: dict[str, list[Any]], variance: Any = lambda eta: eta,
                    scale: Any = lambda tau_1: tau_1) -> Any:  # fmt: skip
    """Second moments of v.x, q.x, k.x and of f = tau_1 w_O.h for each scheme, shape (schemes, 4)."""
    size, hidden = total(x * x), total(h * h)
    rows = []
    for eta_O, eta_V, eta_Q, eta_K, tau_1 in table.values():
        moments = [*(size * variance(eta) for eta in (eta_V, eta_Q, eta_K))]
        moments.append(hidden * (variance(eta_O) * scale(tau_1) * scale(tau_1)))
        rows.append(concatenate([ones(1, 1) * moment for moment in moments], axis=1))
    return stack_rows(rows)


def moments_of_the_schemes(x: Token, h: HiddenRow) -> Any:
    """What the names mean: gain times the mean square of the inputs; for NTK the weights are standard normal."""
    mean_x, mean_h = total(x * x) * rational(1, x.shape[1]), total(h * h) * rational(1, h.shape[1])
    rows = [[mean_x, mean_x, mean_x, mean_h], [mean_x * 2, mean_x * 2, mean_x * 2, mean_h * 2]]
    rows.append([*[summed(x.shape[1], lambda j: x[0, j] * x[0, j])] * 3, mean_h])
    return stack_rows([concatenate([ones(1, 1) * moment for moment in row], axis=1) for row in rows])


TABLE_1 = Claim(CONVERGENCE, "convergence.table-1", label="Table 1",
    statement=r"""\text{LeCun: }\eta_O=d_m^{-1},\ \eta_V=\eta_Q=\eta_K=d^{-1},\ \tau_1=1;\quad\text{He:
        }2d_m^{-1},2d^{-1},2d^{-1},2d^{-1},1;\quad\text{NTK: }1,1,1,1,\ \tau_1=d_m^{-1/2}""",
    assumptions=[
        Definition(
            "entries of the weights independent and normal, of mean 0 and of the stated variances (Table 2)",
            by=_second_moments,
        ),
        Definition(
            "LeCun and He: the second moment of an output unit is 1 and 2 times the mean square of its inputs; NTK: standard"
            " normal weights, and the second moment of f is the mean square of the last hidden layer",
            by=moments_of_the_schemes,
        ),
    ],
    name="variances of LeCun, He and NTK initialisation", relation=Equal(), all_sizes=True,
    sizes={"d": (1, 5), "d_m": (1, 5)}, exact=True,
    note=r"""$E[f^2]$ given the last hidden layer is $\eta_O \tau_1^2 |\mathrm{relu}(\dots)|^2$, which stays of order 1
        as $d_m$ grows in all three rows; $\tau_1$ of the NTK row is determined by this.""")  # fmt: skip


@TABLE_1.formula
def moments_of_the_table(x: Token, h: HiddenRow) -> Any:
    """E[(W_V x)_k^2], E[(W_Q x)_k^2], E[(W_K x)_k^2] and E[(tau_1 w_O.h)^2] for each scheme, shape (3, 4) (Table 1)."""
    return _second_moments(x, h, initialisation_table(x.shape[1], h.shape[1]))


TABLE_1.oracle(moments_of_the_schemes)
TABLE_1.mutant("d and d_m exchanged", "x.shape[1] -> h.shape[1]; h.shape[1] -> x.shape[1]")
TABLE_1.mutant("standard deviations instead of variances", variance=lambda eta: eta * eta)
TABLE_1.mutant("tau_1 = 1/d_m for NTK", scale=lambda tau_1: tau_1 * tau_1)
