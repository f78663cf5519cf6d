"""Gradients of the layer through d x d matrices: those of its definition, whatever the ranks.  Claims of this project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.osa import OSA
from theorems.osa.definitions import SHAPES, attention, orthonormal_columns
from theorems.osa.section_2_4_cost.push_through import (
    attention_in_frame,
    attention_in_frame_of_tokens,
    attention_pushed_through,
    attention_pushed_through_low_rank,
    frame_factor,
    low_rank_factor,
    push_through_factor,
    scaled_generator,
)
from theorems.osa.settings import ORTHONORMAL, layer
from theorems.osa.shapes import (
    Alpha,
    Basis,
    Coordinates,
    KeyWeights,
    OutputWeights,
    QueryWeights,
    TokenFrame,
    Tokens,
    ValueWeights,
)
from verify.claims import Claim
from verify.derivatives import jacobian
from verify.matrix import concatenate, expm
from verify.relations import Equal

GRADIENT_STATEMENT = (
    r"\frac{\partial\operatorname{vec}\mathrm{OSA}}{\partial\operatorname{vec}\mathbf{X}},\ \frac{\partial\operatorname{vec}"
    r"\mathrm{OSA}}{\partial\operatorname{vec}\mathbf{W}^Q},\ \frac{\partial\operatorname{vec}\mathrm{OSA}}{\partial"
    r"\operatorname{vec}\mathbf{W}^K} \text{ of this form of the layer are those of } \exp(\mathbf{S})\mathbf{X}\mathbf{W}^V"
    r"\mathbf{W}^O, \text{ whatever the rank of } \mathbf{X}, [\mathbf{Q},\mathbf{K}]"
)


def _gradients(form: Callable[..., Any], *arguments: Any) -> Any:
    """Jacobians of the layer `form` with respect to X, W_Q and W_K, side by side, shape (N d, N d + 2 d d_v)."""
    return concatenate([jacobian(form, wrt)(*arguments) for wrt in ("X", "W_Q", "W_K")], axis=1)


def _gradient_claim(claim_id: str, label: str, uses: str, note: str | None = None) -> Claim:
    claim = Claim(
        OSA,
        claim_id,
        label=label,
        statement=GRADIENT_STATEMENT,
        assumptions=[SHAPES, *([ORTHONORMAL] if uses == "osa.qr-of-x-layer" else [])],
        relation=Equal(),
        # N < 2 d_v, where [Q, K] cannot have independent columns, and 2 d_v > d among them
        sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 2), **({"r": (1, 2)} if uses == "osa.qr-of-x-layer" else {})},
        where=lambda sizes: sizes["d_v"] <= sizes["d"] and sizes.get("r", 1) <= sizes["N"],
        uses=(uses,),
        of_project=True,
        note=note,
    )

    @claim.oracle
    def gradients_of_the_definition(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
        return _gradients(attention, X, W_Q, W_K, W_V, W_O, alpha)

    return claim


GRADIENT = _gradient_claim("osa.layer-gradient", "Gradients through exp(W X^T X)", "osa.push-through-layer")
GRADIENT.inputs(layer)


@GRADIENT.formula
def gradients_pushed_through(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    """d vec OSA / d (X, W_Q, W_K) through X [exp(W X^T X) W_V W_O], shape (N d, N d + 2 d d_v), row-major."""
    return _gradients(attention_pushed_through, X, W_Q, W_K, W_V, W_O, alpha)


GRADIENT_LOW_RANK = _gradient_claim(
    "osa.layer-gradient-low-rank", "Gradients through phi(L^T X^T X U)", "osa.push-through-low-rank"
)
GRADIENT_LOW_RANK.inputs(layer)


@GRADIENT_LOW_RANK.formula
def gradients_pushed_through_low_rank(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    """d vec OSA / d (X, W_Q, W_K) through a matrix of order 4 d_v, shape (N d, N d + 2 d d_v), row-major."""
    return _gradients(attention_pushed_through_low_rank, X, W_Q, W_K, W_V, W_O, alpha)


def _gradient_mutants(claim: Claim, factor: Callable[..., Any]) -> None:
    @claim.mutant("X^T X held fixed")
    def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
        G = X.T @ X

        def form(X: Any, W_Q: Any, W_K: Any) -> Any:
            return X @ factor(G, W_Q, W_K, W_V, W_O, alpha)

        return _gradients(form, X, W_Q, W_K)

    @claim.mutant("X outside the brackets held fixed")
    def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
        fixed = X

        def form(X: Any, W_Q: Any, W_K: Any) -> Any:
            return fixed @ factor(X.T @ X, W_Q, W_K, W_V, W_O, alpha)

        return _gradients(form, X, W_Q, W_K)


_gradient_mutants(GRADIENT, push_through_factor)
_gradient_mutants(GRADIENT_LOW_RANK, low_rank_factor)

GRADIENT_QR = _gradient_claim(
    "osa.layer-gradient-qr",
    "Gradients in a frame of the tokens held fixed",
    "osa.qr-of-x-layer",
    note="X = B C, so P = 0 at the point; r < d among the cases, where X has deficient rank.",
)


@GRADIENT_QR.inputs
def tokens_in_frame(
    frame: TokenFrame,
    C: Coordinates,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
) -> Any:
    B = orthonormal_columns(frame, C.shape[0])
    return {**layer(B @ C, W_Q, W_K, W_V, W_O, alpha), "B": B}


@GRADIENT_QR.formula
def gradients_in_frame_of_tokens(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha, B: Basis
) -> Any:
    """d vec OSA / d (X, W_Q, W_K) with the frame B (N, r) of X held fixed, shape (N d, N d + 2 d d_v), row-major."""
    return _gradients(attention_in_frame_of_tokens, X, W_Q, W_K, W_V, W_O, alpha, B)


@GRADIENT_QR.mutant("P left out, as it vanishes")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, B: Basis) -> Any:
    def form(X: Any, W_Q: Any, W_K: Any) -> Any:
        return B @ expm(B.T @ X @ scaled_generator(W_Q, W_K, alpha) @ (B.T @ X).T) @ B.T @ X @ W_V @ W_O

    return _gradients(form, X, W_Q, W_K)


@GRADIENT_QR.mutant("W R^T left out")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, B: Basis) -> Any:
    def form(X: Any, W_Q: Any, W_K: Any) -> Any:
        return attention_in_frame(X, B, lambda R, P: frame_factor(R, P, W_Q, W_K, W_V, W_O, alpha, drift=0))

    return _gradients(form, X, W_Q, W_K)
