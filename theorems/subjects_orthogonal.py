"""What the gate knows about the definitions of orthogonal self-attention, as `theorems.subjects` does of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.osa import definitions as osa
from theorems.osa.settings import newton_schulz_attention_matrix
from theorems.osa.shapes import Epsilon
from theorems.subjects import TOKENS_ARE_ROWS
from verify.gate.profiles import Profile
from verify.matrix import exp, eye, rational, sqrt
from verify.vocabulary import Shape, Size

SKEW = Profile("osa.skew_matrix", layout=TOKENS_ARE_ROWS, where=osa.whole_heads)


@SKEW.variant("the scale 1/sqrt(d_v) is missing")
def _(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
    return osa.skew_matrix(X, W_Q, W_K, alpha) * sqrt(W_Q.shape[1])


@SKEW.variant("Q K^T + K Q^T: symmetric instead of skew")
def _(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
    Q, K = X @ W_Q * (alpha / sqrt(W_Q.shape[1])), X @ W_K
    return Q @ K.T + K @ Q.T


@SKEW.variant("the second product is missing: Q K^T alone is not skew")
def _(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
    return X @ W_Q * (alpha / sqrt(W_Q.shape[1])) @ (X @ W_K).T


OSA = Profile("osa.attention", layout=TOKENS_ARE_ROWS, where=osa.whole_heads)


@OSA.variant("the scale 1/sqrt(d_v) is missing")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    return osa.attention(X, W_Q, W_K, W_V, W_O, alpha * sqrt(W_Q.shape[1]))


@OSA.variant("the exponential acts on Q K^T, which is not skew")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    S = X @ W_Q * (alpha / sqrt(W_Q.shape[1])) @ (X @ W_K).T
    return osa.matrix_exponential(S) @ X @ W_V @ W_O


@OSA.variant("the output projection is missing, where it is square")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    return osa.attention_matrix(X, W_Q, W_K, alpha) @ X @ W_V


EXPONENTIAL = Profile("osa.matrix_exponential", layout="square matrices, skew or not")


def _small(exponent: int) -> Callable[..., None]:
    def edit(arrays: dict[str, Any], sizes: Any, rng: Any) -> None:
        arrays["S"] *= 2.0**exponent

    return edit


# libraries choose the length of their series by the norm, so each choice has to be met
for exponent in range(-10, -2):
    EXPONENTIAL.domain(f"entries about 2^{exponent}", _small(exponent))


@EXPONENTIAL.variant("the exponential is taken entry by entry")
def _(S: Any) -> Any:
    return exp(S)


@EXPONENTIAL.variant("the series is cut after its linear term")
def _(S: Any) -> Any:
    return S + eye(S.shape[0])


ITERATE = Profile("osa.newton_schulz_iterate", layout="columns of M are orthogonalised")
BASIS = Profile(
    "osa.newton_schulz_basis",
    layout="columns of M are orthogonalised, M divided by ||M||_F + epsilon first",
    without_domains={"kinks": "M may vanish", "repeated singular values": "||M||_F leaves the rationals"},
)


@ITERATE.inputs
def iterate_inputs(M: Annotated[Any, Shape("N", "m")], K: Annotated[int, Size("K")]) -> dict[str, Any]:
    return {"M": M * rational(1, 8), "steps": K}


@BASIS.inputs
def basis_inputs(M: Annotated[Any, Shape("N", "m")], K: Annotated[int, Size("K")], epsilon: Epsilon) -> dict[str, Any]:
    return {"M": M, "steps": K, "epsilon": epsilon}


@ITERATE.variant("one step too many")
def _(M: Any, steps: Any) -> Any:
    return osa.newton_schulz_iterate(M, steps + 1)


@ITERATE.variant("one step too few")
def _(M: Any, steps: Any) -> Any:
    return osa.newton_schulz_iterate(M, max(steps - 1, 0))


@BASIS.variant("one Newton-Schulz step too few")
def _(M: Any, steps: Any, epsilon: Any) -> Any:
    return osa.newton_schulz_basis(M, max(steps - 1, 0), epsilon)


@ITERATE.variant("the factor 1/2 of each step is missing")
def _(M: Any, steps: Any) -> Any:
    for _ in range(steps):
        M = M @ (3 * eye(M.shape[1]) - M.T @ M)
    return M


@BASIS.variant("M is not normalised")
def _(M: Any, steps: Any, epsilon: Any) -> Any:
    return osa.newton_schulz_iterate(M, steps)


@BASIS.variant("epsilon is missing")
def _(M: Any, steps: Any, epsilon: Any) -> Any:
    return osa.newton_schulz_basis(M, steps, epsilon * 0)


Profile("osa.qr_basis", layout="columns of M are orthogonalised", largest=33)
OSA_MATRIX = Profile(
    "osa.newton_schulz_attention_matrix", layout=TOKENS_ARE_ROWS, where=osa.whole_heads, largest=33
)  # fmt: skip


@OSA_MATRIX.variant("one Newton-Schulz step too few")
def _(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: Any) -> Any:
    return newton_schulz_attention_matrix(X, W_Q, W_K, alpha, epsilon, max(K - 1, 0))


STIEFEL = Profile("osa.stiefel_uniform", layout="samples along the first axis, orthonormal columns of shape (n, m)")
