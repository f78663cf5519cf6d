"""Section 5.1: a Transformer of one token is a two-layer network of the same width."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, OutputWeights, QueryWeights, ValueWeights, outputs
from theorems.convergence.settings import Scale
from verify.matrix import concatenate, relu, zeros
from verify.oracles import jacobian
from verify.vocabulary import Claim, Definition, Equal, Shape

Vectors = Annotated[Any, Shape("N", "1", "d")]

TWO_LAYERS = Claim(CONVERGENCE, "convergence.sec-5.1-two-layer", label="Section 5.1, vector input, one token",
    statement=r"""\text{the training of Transformer with }d_s=1,d=100\text{ is similar to that of two-layer FCNN with the same width
        }d_m=100""",
    name="one token and the two-layer network", relation=Equal(), all_sizes=True,
    assumptions=[Definition("f as in Eqs. (1.1)-(1.2), compared with tau_1 relu(x W_V^T) w_O", by=outputs)],
    sizes={"N": (1, 3), "d": (1, 3), "d_m": (1, 3)},
    note=r"""More than similar: at $d_s = 1$ the two are the same function of $W_V$ and $w_O$ at all weights, and the gradients in
        $W_Q$ and $W_K$ vanish, so training from the same weights is the same step by step. Compared are the outputs and the
        gradient in $W_Q$ and $W_K$.""",
)  # fmt: skip


@TWO_LAYERS.formula
def two_layer_outputs(X: Vectors, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Scale,
                      tau_1: Scale) -> Any:  # fmt: skip
    """tau_1 relu(x W_V^T) w_O beside the gradients 0 in W_Q and W_K, shape (N, 1 + 2 d d_m) (Section 5.1)."""
    N, _, d = X.shape
    f = relu(X.reshape(N, d) @ W_V.T) @ w_O * tau_1
    slope = f @ zeros(1, d * W_V.shape[0])
    return concatenate([f, slope, slope], axis=1)


@TWO_LAYERS.oracle
def outputs_of_one_token(X: Vectors, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Scale,
                         tau_1: Scale) -> Any:  # fmt: skip
    at = (X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    f = outputs(*at)
    slopes = [jacobian(outputs, name)(*at).reshape(X.shape[0], -1) + f * 0 for name in ("W_Q", "W_K")]
    return concatenate([f, *slopes], axis=1)


TWO_LAYERS.mutant("without the ReLU", "relu(X.reshape(N, d) @ W_V.T) -> X.reshape(N, d) @ W_V.T")
TWO_LAYERS.mutant("without tau_1", lambda value, tau_1: value / tau_1)
