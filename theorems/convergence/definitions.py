"""The objects under study: the encoder-only shallow Transformer, its tangent kernel, its training by gradient descent.

N samples X_n of d_s tokens in dimension d, width d_m.  W_Q, W_K, W_V have shape (d_m, d), w_O has shape (d_m, 1).
"""

from __future__ import annotations

from typing import Annotated, Any

import flint
import numpy as np

from verify.arithmetics import is_tensor
from verify.matrix import concatenate, each, ones, rational, relu, softmax, stack_rows, total
from verify.oracles import jacobians
from verify.vocabulary import ArithmeticUnsupported, Shape, subject

Samples = Annotated[Any, Shape("N", "d_s", "d")]
Labels = Annotated[Any, Shape("N", "1")]
QueryWeights = Annotated[Any, Shape("d_m", "d", role="query")]
KeyWeights = Annotated[Any, Shape("d_m", "d")]
ValueWeights = Annotated[Any, Shape("d_m", "d")]
OutputWeights = Annotated[Any, Shape("d_m", "1")]
TokenLogits = Annotated[Any, Shape("1", "d_s", role="query")]

WEIGHTS = ("W_Q", "W_K", "W_V", "w_O")


@subject("convergence.softmax")
def attention_weights(u: TokenLogits) -> Any:
    """v = Softmax(u), both of shape (1, d_s) (Section 3.2)."""
    return softmax(u)


@subject("convergence.self_attention")
def self_attention(X: Any, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Any) -> Any:
    """A_1 = softmax(tau_0 (X W_Q^T)(X W_K^T)^T) (X W_V^T) of one sample X (d_s, d); shape (d_s, d_m) (Eq. (1.1))."""
    return softmax((X @ W_Q.T) @ (X @ W_K.T).T * tau_0) @ (X @ W_V.T)


def pooling_weight(pooling: str, d_s: int) -> Any:
    """The weight of each token: 1/d_s for "average" (Eq. (1.2)), 1 for "sum" (as used in Appendices C.2 and D.1)."""
    return {"average": rational(1, d_s), "sum": rational(1)}[pooling]


@subject("convergence.last_hidden_layer")
def last_hidden_layer(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Any, tau_1: Any,
                      pooling: str = "average") -> Any:  # fmt: skip
    """F_pre, shape (N, d_m): row n is a_3 = phi(tau_1 relu(A_1)) of sample n, with W_H = I (Eq. (1.2))."""
    d_s = X.shape[1]

    def pooled(n: int) -> Any:
        hidden = relu(self_attention(X[n], W_Q, W_K, W_V, tau_0))
        return ones(1, d_s) @ hidden * tau_1 * pooling_weight(pooling, d_s)

    return stack_rows(each(X.shape[0], pooled))


def outputs(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Any,
            tau_1: Any, pooling: str = "average") -> Any:  # fmt: skip
    """f(theta) = F_pre w_O, shape (N, 1) (Eq. (1.2))."""
    return last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, pooling) @ w_O


@subject("convergence.tangent_kernel")
def tangent_kernel(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Any,
                   tau_1: Any, pooling: str = "average") -> Any:  # fmt: skip
    """K = (df/dtheta)(df/dtheta)^T over all weights, shape (N, N), by differentiation (Eq. (5))."""
    blocks = jacobians(outputs, WEIGHTS)(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, pooling)
    J = concatenate(list(blocks.values()), axis=1)
    return J @ J.T


def squared_loss(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                 tau_0: Any, tau_1: Any) -> Any:  # fmt: skip
    """l(theta) = ||f(theta) - y||^2 / 2, a scalar (Section 3.2)."""
    residual = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - y
    return total(residual * residual) * rational(1, 2)


def gradient_descent(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                     tau_0: Any, tau_1: Any, gamma: Any, steps: int) -> list[dict[str, Any]]:  # fmt: skip
    """theta^0, ..., theta^steps of full-batch gradient descent on all weights, with relu'(0) = 0 (Algorithm 1)."""
    theta = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O}
    path = [theta]
    for _ in range(steps):
        slopes = jacobians(squared_loss, WEIGHTS)(X, y, **theta, tau_0=tau_0, tau_1=tau_1)
        theta = {name: W - slopes[name].reshape(W.shape) * gamma for name, W in theta.items()}
        path.append(theta)
    return path


# -- expectations over a Gaussian row of W_V ---------------------------------------------------------------------------


def _root(cross: flint.arb) -> flint.arb:
    """sqrt of an enclosure of a number known to be nonnegative, which may itself reach below zero."""
    return cross.upper().nonnegative_part().sqrt().union(cross.lower().nonnegative_part().sqrt())


def _angle(cross: Any, dot: Any) -> Any:
    """The angle whose sine and cosine are proportional to sqrt(cross) >= 0 and dot, in units of pi."""
    if is_tensor(dot):
        import torch

        return torch.atan2(cross.clamp(min=0).sqrt(), dot) / torch.pi
    if isinstance(dot, flint.arb):
        return flint.arb.atan2(_root(cross), dot) / flint.arb.pi()
    if cross != 0:
        raise ArithmeticUnsupported("angles that are no multiple of pi leave the rationals: evaluate in balls")
    return flint.fmpq(1 if dot < 0 else 0)


def _sine_over_pi(cross: Any) -> Any:
    """sqrt(cross) / pi."""
    if is_tensor(cross):
        import torch

        return cross.clamp(min=0).sqrt() / torch.pi
    if isinstance(cross, flint.arb):
        return _root(cross) / flint.arb.pi()
    if cross != 0:
        raise ArithmeticUnsupported("1/pi is irrational: evaluate in balls")
    return flint.fmpq(0)


def _entrywise(entry: Any, A: Any, B: Any) -> Any:
    """The matrix of entry(|a|^2 |b|^2 - (a.b)^2, a.b, |a|^2 |b|^2) over the rows a of A and b of B."""
    dots = A @ B.T
    norms = (A * A).sum(1).reshape(-1, 1) * (B * B).sum(1).reshape(1, -1)
    if is_tensor(dots):
        return entry(norms - dots * dots, dots, norms)
    result = np.empty(dots.shape, dtype=object)
    for index in np.ndindex(*dots.shape):
        result[index] = entry(norms[index] - dots[index] * dots[index], dots[index], norms[index])
    return result


def expected_relu_products(A: Any, B: Any) -> Any:
    """E relu(Aw) relu(Bw)^T for w ~ N(0, I): entries (sqrt(|a|^2|b|^2 - (a.b)^2) + (pi - angle) a.b) / (2 pi)."""

    def entry(cross: Any, dot: Any, norms: Any) -> Any:
        return (_sine_over_pi(cross) + (1 - _angle(cross, dot)) * dot) * rational(1, 2)

    return _entrywise(entry, A, B)


def expected_step_products(A: Any, B: Any) -> Any:
    """E relu'(Aw) relu'(Bw)^T for w ~ N(0, I): entries (pi - angle) / (2 pi), and 0 where a or b vanishes."""

    def entry(cross: Any, dot: Any, norms: Any) -> Any:
        present = (norms > 0).to(norms.dtype) if is_tensor(norms) else int(norms != 0)
        return (1 - _angle(cross, dot)) * present * rational(1, 2)

    return _entrywise(entry, A, B)


def mean_tokens(X: Samples) -> Any:
    """Phi^* = [X_1^T 1 / d_s, ..., X_N^T 1 / d_s]^T, shape (N, d) (Lemma 1)."""
    N, d_s = X.shape[0], X.shape[1]
    return stack_rows(each(N, lambda n: X[n].sum(0))) * rational(1, d_s)
