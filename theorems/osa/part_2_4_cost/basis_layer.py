"""The layer through a basis without any N x N matrix (Section 2.4): as reference function, and as counted.

What is counted is the code below, run on torch's meta device: it has all shapes and no numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.shared import reached
from theorems.osa.definitions import attention, queries_and_keys
from theorems.osa.settings import BASIS, tokens_with_wide_basis
from theorems.osa.shapes import Alpha, Basis, Coordinates, Key, Output, Query, TokenFrame, Tokens, Value
from verify.matrix import expm, eye, softmax, sqrt
from verify.oracles import Count, count, without_numbers
from verify.vocabulary import Claim, Equal, realises

#: h = 1, so d_v = d.  Newton-Schulz steps, any fixed number.
STEPS = 6

# -- the implementation that is counted --------------------------------------------------------------------------------


def orthonormal_basis(M: Any) -> Any:
    """B (N, min(N, m)) for M (N, m): the orthonormal factor of a reduced QR."""
    import torch

    return torch.linalg.qr(M).Q


def newton_schulz(M: Any) -> Any:
    """M_K (N, m) by Eq. (9) from M / (||M||_F + 1), with M_k^T M_k (m, m) formed first."""
    M = M / ((M * M).sum().sqrt() + 1)
    for _ in range(STEPS):
        M = (3 * M - M @ (M.T @ M)) / 2
    return M


def reduced_scores(B: Any, Q: Any, K: Any, alpha: Any) -> Any:
    """[S] = B^T S B (r, r) from B^T Q and B^T K, without S (N, N)."""
    Q, K = B.T @ Q * (alpha / sqrt(Q.shape[1])), B.T @ K
    return Q @ K.T - K @ Q.T


def applied(B: Any, exponential: Any, X: Any, W_V: Any, W_O: Any) -> Any:
    """Eq. (6) applied to X W_V W_O, shape (N, d): from right to left, without A (N, N)."""
    V = X @ W_V @ W_O
    U = B.T @ V
    return V + B @ (exponential @ U - U)


def orthogonal_attention(basis: Callable[[Any], Any]) -> Callable[..., Any]:
    """The layer through a basis of [Q, K], as a function of X and the weights, with alpha = 1."""

    def layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
        B = basis(queries_and_keys(X, W_Q, W_K))
        return applied(B, expm(reduced_scores(B, X @ W_Q, X @ W_K, 1)), X, W_V, W_O)

    return layer


def naive_orthogonal_attention(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """exp(S) X W_V W_O, shape (N, d), with S (N, N) formed (Eq. (5))."""
    return expm(scores(X @ W_Q, X @ W_K)) @ (X @ W_V @ W_O)


def scores(Q: Any, K: Any) -> Any:
    """S (N, N) with alpha = 1."""
    Q = Q * (1 / sqrt(Q.shape[1]))
    return Q @ K.T - K @ Q.T


def softmax_attention(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """softmax(Q K^T / sqrt(d_v)) X W_V W_O, shape (N, d)."""
    return softmax(X @ W_Q @ (X @ W_K).T * (1 / sqrt(W_Q.shape[1]))) @ (X @ W_V @ W_O)


def count_of_layer(layer: Callable[..., Any], N: int, d: int) -> Count:
    """What a layer with one head does on N tokens of dimension d."""
    return count(layer, without_numbers(N, d), *(without_numbers(d, d) for _ in range(4)))


def counts_of_components(N: int, d: int) -> list[Count]:
    """What the rows of Table 1 do: QR, Newton-Schulz, [S], exp[S], and Eq. (6) applied to X W_V W_O."""
    M, Q, small, weights = (
        without_numbers(N, 2 * d),
        without_numbers(N, d),
        without_numbers(2 * d, 2 * d),
        without_numbers(d, d),
    )
    return [
        count(orthonormal_basis, M),
        count(newton_schulz, M),
        count(lambda B, Q, K: reduced_scores(B, Q, K, 1), M, Q, Q),
        count(expm, small),
        count(applied, M, small, Q, weights, weights),
    ]


@realises(
    {
        "columns of B are orthonormal": reached.FRAMES,
        "contains the image of S": "the tokens are B C, so that Q, K and the image of S lie in the span of B",
    },
    but=(
        "the tokens lie in the span of B; the condition speaks of the image of S alone, and tokens outside the span are tried"
        " as free inputs"
    ),
)
def layer_with_basis(
    frame: TokenFrame, C: Coordinates, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha
) -> Any:
    """The layer, and a basis whose span contains Q and K."""
    return {**tokens_with_wide_basis(frame, C, W_Q, W_K, alpha), "W_V": W_V, "W_O": W_O}


BASIS_LAYER = BASIS.extended(
    "Section 2.4", sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4), "r": (1, 5)}, inputs=layer_with_basis
)

COUNTED_LAYER = Claim(BASIS_LAYER, "osa.counted-layer", label="Section 2.4, the implementation that is counted",
    statement=r"""\mathbf{V} + \mathbf{B}(\exp[\mathbf{S}]\,\mathbf{U} - \mathbf{U}) = \mathrm{OSA}(\mathbf{X}), \quad
        \mathbf{V} = \mathbf{X}\mathbf{W}^V\mathbf{W}^O,\ \mathbf{U} = \mathbf{B}^\top\mathbf{V}""",
    name="implementation that is counted", relation=Equal(), all_sizes=True,
    uses=("osa.thm-2.1-any-basis",), of_project=True,
    note="Without it, a count of operations would say nothing about the layer.",
)  # fmt: skip


@COUNTED_LAYER.formula
def counted_layer(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, B: Basis) -> Any:
    """OSA(X), shape (N, d), from the functions counted here, for B (N, r) whose span contains Q and K."""
    return applied(B, expm(reduced_scores(B, X @ W_Q, X @ W_K, alpha)), X, W_V, W_O)


COUNTED_LAYER.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: attention(X, W_Q, W_K, W_V, W_O, alpha))
COUNTED_LAYER.mutant("U not subtracted", lambda value, X, W_V, W_O, B: value + B @ (B.T @ X @ W_V @ W_O))
COUNTED_LAYER.mutant("query and key exchanged", "W_Q -> W_K; W_K -> W_Q")

LOW_RANK_LAYER = Claim(BASIS_LAYER, "osa.low-rank-layer", label="Section 2.4, the layer without any N x N matrix",
    statement=r"""\mathrm{OSA}(\mathbf{X}) = \mathbf{V} + \mathbf{B}\big((\exp[\mathbf{S}] -
        \mathbf{I}_r)(\mathbf{B}^\top \mathbf{V})\big), \quad \mathbf{V} = \mathbf{X}\mathbf{W}^V\mathbf{W}^O, \quad
        [\mathbf{S}] = \tfrac{\alpha}{\sqrt{d_v}}\big((\mathbf{B}^\top\mathbf{Q})(\mathbf{B}^\top\mathbf{K})^\top -
        (\mathbf{B}^\top\mathbf{K})(\mathbf{B}^\top\mathbf{Q})^\top\big)""",
    name="layer without any large matrix", relation=Equal(), all_sizes=True,
    uses=("osa.thm-2.1-any-basis",), of_project=True,
)  # fmt: skip


@LOW_RANK_LAYER.formula
def attention_through_basis(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, B: Basis) -> Any:
    """OSA(X), shape (N, d), in O(N d r + r^3), for B (N, r) with orthonormal columns whose span contains Q and K."""
    Q, K, V = B.T @ (X @ W_Q), B.T @ (X @ W_K), X @ W_V @ W_O
    S = (Q @ K.T - K @ Q.T) * (alpha / sqrt(W_Q.shape[1]))
    return V + B @ ((expm(S) - eye(B.shape[1])) @ (B.T @ V))


LOW_RANK_LAYER.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: attention(X, W_Q, W_K, W_V, W_O, alpha))
LOW_RANK_LAYER.mutant("[S] symmetric instead of skew", "Q @ K.T - K @ Q.T -> Q @ K.T + K @ Q.T")
LOW_RANK_LAYER.mutant("I_r not subtracted", "expm(S) - eye(B.shape[1]) -> expm(S)")
LOW_RANK_LAYER.mutant("query and key exchanged", "W_Q -> W_K; W_K -> W_Q")
