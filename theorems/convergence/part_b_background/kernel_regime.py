"""Appendix B.1, training in the kernel regime: gradient flow of the outputs (Eq. (5)), and kernel regression.

The predictor of B.1 leaves out the output at initialisation.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights, outputs, squared_loss, tangent_kernel,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import KINK
from theorems.convergence.settings import Positive
from verify.matrix import concatenate, eye, inverse
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, Setting, Shape, realises

EQ_5 = Claim(CONVERGENCE, "convergence.eq-5", label="Eq. (5), B.1", name="gradient flow of the outputs",
    statement=r"""\frac{df(\theta^t)}{dt}=-K^t(f(\theta^t)-y),\quad K^t=\Big(\frac{\partial
        f(\theta^t)}{\partial\theta}\Big)\Big( \frac{\partial f(\theta^t)}{\partial\theta}\Big)^\top""",
    assumptions=[Definition("gradient flow d theta/dt = -grad l, l = |f - y|^2 / 2", by=squared_loss), KINK],
    relation=Equal(), all_sizes=True, sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)}, exact=True,
)  # fmt: skip


@EQ_5.formula
def flow_of_outputs(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                    tau_0: Positive, tau_1: Positive) -> Any:  # fmt: skip
    """-K (f - y), shape (N, 1) (Eq. (5))."""
    return -tangent_kernel(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) @ (outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - y)


@EQ_5.oracle
def derivative_along_flow(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                          w_O: OutputWeights, tau_0: Positive, tau_1: Positive) -> Any:  # fmt: skip
    """d/ds f(theta - s grad l(theta)) at s = 0."""
    theta = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O}
    slopes = {
        name: jacobian(squared_loss, name)(X, y, **theta, tau_0=tau_0, tau_1=tau_1).reshape(W.shape)
        for name, W in theta.items()
    }

    def moved(s: Any) -> Any:
        return outputs(X, **{name: W - slopes[name] * s[0, 0] for name, W in theta.items()}, tau_0=tau_0, tau_1=tau_1)

    return jacobian(moved, "s")((y * 0)[:1, :1])


def _kernel_of_w_O(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    J = jacobian(outputs, "w_O")(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    return J @ J.T


EQ_5.mutant("sign", lambda value: -value)
EQ_5.mutant("loss without 1/2", lambda value: value * 2)
EQ_5.mutant("w_O alone trained", "tangent_kernel -> _kernel_of_w_O")


ModelFeatures = Annotated[Any, Shape("N", "p")]
TestFeatures = Annotated[Any, Shape("1", "p")]
Parameters = Annotated[Any, Shape("p", "1")]


def _independent(F: Any) -> Any:
    """det(F F^T) for N <= 2, which is positive where the kernel is definite."""
    K = F @ F.T
    return K[0, 0] if K.shape[0] == 1 else K[0, 0] * K[1, 1] - K[0, 1] * K[1, 0]


@realises(
    but=(
        "the first N columns of F are symmetric with eigenvalues of at least 1; every F of full row rank gets this form, by its"
        " polar decomposition, if parameters and features are turned together, and features multiplied and parameters divided"
        " by a number, which changes no output"
    )
)
def definite_kernel(M: Annotated[Any, Shape("N", "N")], G: Annotated[Any, Shape("N", "q")],
                    phi: Annotated[Any, Shape("1", "N")], psi: Annotated[Any, Shape("1", "q")], start: Labels,
                    rest: Annotated[Any, Shape("q", "1")], y: Labels) -> dict[str, Any]:  # fmt: skip
    """Features F = [M M^T + I, G], whose rows are independent, with p = N + q."""
    F = concatenate([M @ M.T + eye(M.shape[0]), G], axis=1)
    return {"F": F, "phi": concatenate([phi, psi], axis=1), "theta_0": concatenate([start, rest], axis=0), "y": y}


def _gram(F: Any) -> Any:
    return F @ F.T


def _end_of_flow(F: Any, theta_0: Any, y: Any) -> Any:
    p = F.shape[1]
    zero = _gram(F) * 0
    identity = F.T @ F * 0 + eye(p)
    M = concatenate([concatenate([identity, F.T], axis=1), concatenate([F, zero], axis=1)], axis=0)
    right = concatenate([theta_0, y], axis=0)
    return (inverse(M) @ right)[:p]


FLOW = Setting(
    CONVERGENCE, "Appendix B.1: constant kernels",
    assumptions=[
        Definition(
            "df/dt = -K (f - y) with constant K: a model f = theta.phi(x) that is linear in its parameters", by=_end_of_flow
        ),
        Assumption("K positive definite", positive=_independent),
    ],
    sizes={"N": (1, 2), "q": (1, 2)}, inputs=definite_kernel,
)  # fmt: skip

REGRESSION = Claim(FLOW, "convergence.kernel-regression", label="B.1, last display", name="kernel regression predictor",
    statement=r"f(X)=(K^\star(X,X_1),\cdots,K^\star(X,X_N))\cdot(K^\star)^{-1}y",
    relation=Equal(), expects="refuted", severity="error", correction="convergence.kernel-regression-initial-output",
    note="""True only where the network vanishes at initialisation: the flow adds $(K(X, X_n))_n K^{-1} (y - f_0)$ to
        the initial output $f_0(X)$. A Gaussian initialisation does not start at $f_0 = 0$. The display is usual, for
        networks with $f_0 = 0$, or close to it by a small scale, and right in the mean over a centred $f_0$ with $K$
        fixed; B.1 supposes neither.""")  # fmt: skip


@REGRESSION.formula
def kernel_regression(F: ModelFeatures, phi: TestFeatures, theta_0: Parameters, y: Labels) -> Any:
    """k K^{-1} y, shape (1, 1), k = phi F^T."""
    return phi @ F.T @ inverse(_gram(F)) @ y


@REGRESSION.oracle
def limit_of_flow(F: ModelFeatures, phi: TestFeatures, theta_0: Parameters, y: Labels) -> Any:
    """phi.theta at the interpolating theta nearest to theta_0, where the flow ends.

    It solves [[I, F^T], [F, 0]] [theta; mu] = [theta_0; y].
    """
    return phi @ _end_of_flow(F, theta_0, y)


REGRESSION.mutant("k K y", "inverse(_gram(F)) -> _gram(F)")
REGRESSION.mutant("k y", lambda F, phi, y: phi @ F.T @ y)
REGRESSION.counterexample("phi(X_1) = (1, 0), phi(X) = (1, 1), theta_0 = (0, 1), y = 3: the flow ends at 4, printed 3",
    F=[[1, 0]], phi=[[1, 1]], theta_0=[[0], [1]], y=[[3]])  # fmt: skip


WITH_INITIAL = Claim(FLOW, "convergence.kernel-regression-initial-output",
    label="B.1, last display, with the initial output", name="kernel regression predictor with initial output",
    statement=r"f(X)=f_0(X)+(K^\star(X,X_1),\cdots,K^\star(X,X_N))\cdot(K^\star)^{-1}(y-f_0)",
    relation=Equal(), all_sizes=True, corrects="convergence.kernel-regression", of_project=True, exact=True,
)  # fmt: skip


@WITH_INITIAL.formula
def prediction_of_flow(F: ModelFeatures, phi: TestFeatures, theta_0: Parameters, y: Labels) -> Any:
    """phi.theta_0 + k K^{-1} (y - F theta_0), shape (1, 1)."""
    return phi @ theta_0 + phi @ F.T @ inverse(_gram(F)) @ (y - F @ theta_0)


WITH_INITIAL.oracle(lambda F, phi, theta_0, y: phi @ _end_of_flow(F, theta_0, y))
WITH_INITIAL.mutant("initial output dropped at the training points", "y - F @ theta_0 -> y")
WITH_INITIAL.mutant("initial output dropped at the test point", lambda value, phi, theta_0: value - phi @ theta_0)
