"""Reference functions for models: the layer in O(N d^2) through a reduced basis, and the Newton-Schulz basis.

`attention_through_basis` is certified here against the definition; the other functions check their arguments and call
what is certified.  `theorems.osa.initialisation.stiefel_uniform` samples the weights.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.definitions import (
    Alpha,
    KeyWeights,
    OutputWeights,
    QueryWeights,
    Tokens,
    ValueWeights,
    attention,
    newton_schulz_basis,
    newton_schulz_iterate,
    queries_and_keys,
)
from theorems.osa.low_rank import (
    CONTAINS_QUERIES_AND_KEYS,
    ORTHONORMAL,
    Basis,
    Coordinates,
    Frame,
    tokens_with_wide_basis,
)
from verify.claims import Claim
from verify.errors import InputError
from verify.matrix import expm, eye, sqrt
from verify.relations import Equal
from verify.shapes import Shape, checked

LOW_RANK_LAYER = Claim(
    OSA,
    "osa.low-rank-layer",
    label="Section 2.4, the layer without any N x N matrix",
    statement=r"\mathrm{OSA}(\mathbf{X}) = \mathbf{V} + \mathbf{B}\big((\exp[\mathbf{S}] - \mathbf{I}_r)(\mathbf{B}^\top"
    r"\mathbf{V})\big), \quad \mathbf{V} = \mathbf{X}\mathbf{W}^V\mathbf{W}^O, \quad [\mathbf{S}] = \tfrac{\alpha}{\sqrt{d_v}}"
    r"\big((\mathbf{B}^\top\mathbf{Q})(\mathbf{B}^\top\mathbf{K})^\top - (\mathbf{B}^\top\mathbf{K})(\mathbf{B}^\top\mathbf{Q})"
    r"^\top\big)",
    assumptions=[ORTHONORMAL, CONTAINS_QUERIES_AND_KEYS],
    relation=Equal(),
    sizes={"N": (2, 5), "d": (2, 4), "d_v": (1, 4), "r": (2, 5)},
    where=lambda sizes: sizes["r"] <= sizes["N"] and sizes["d_v"] <= sizes["d"],
    uses=("osa.thm-2.1-any-basis",),
    exact=True,
    of_project=True,
)


@LOW_RANK_LAYER.inputs
def layer_with_basis(
    frame: Frame,
    C: Coordinates,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
) -> Any:
    return {**tokens_with_wide_basis(frame, C, W_Q, W_K, alpha), "W_V": W_V, "W_O": W_O}


@LOW_RANK_LAYER.formula
def attention_through_basis(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
    B: Basis,
) -> Any:
    """OSA(X), shape (N, d), in O(N d r + r^3), for B (N, r) with orthonormal columns whose span contains Q and K."""
    return _through_basis(X, W_Q, W_K, W_V, W_O, alpha, B)


def _through_basis(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, B: Any, sign: int = -1, dropped: Any = 1
) -> Any:
    """The layer's shape; mutants change the sign between the products of [S] or drop I_r."""
    Q, K, V = B.T @ (X @ W_Q), B.T @ (X @ W_K), X @ W_V @ W_O
    S = (Q @ K.T + K @ Q.T * sign) * (alpha / sqrt(W_Q.shape[1]))
    return V + B @ ((expm(S) - eye(B.shape[1]) * dropped) @ (B.T @ V))


@LOW_RANK_LAYER.oracle
def attention_by_definition(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    return attention(X, W_Q, W_K, W_V, W_O, alpha)


@LOW_RANK_LAYER.mutant("[S] symmetric instead of skew")
def _(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha, B: Basis
) -> Any:
    return _through_basis(X, W_Q, W_K, W_V, W_O, alpha, B, sign=1)


@LOW_RANK_LAYER.mutant("I_r not subtracted")
def _(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha, B: Basis
) -> Any:
    return _through_basis(X, W_Q, W_K, W_V, W_O, alpha, B, dropped=0)


@LOW_RANK_LAYER.mutant("query and key exchanged")
def _(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha, B: Basis
) -> Any:
    return _through_basis(X, W_K, W_Q, W_V, W_O, alpha, B)


# -- with arguments checked --------------------------------------------------------------------------------------------


@checked
def orthogonal_self_attention(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Any = 1.0,
    basis: Any = None,
) -> Any:
    """OSA(X) = exp(S) X W_V W_O, a tensor of shape (N, d), in O(N d^2) without an N x N matrix (Eq. (5), Theorem 2.1).

    `basis` (N, r) has orthonormal columns whose span contains Q = X W_Q and K = X W_K; a reduced QR of [Q, K] by
    default, which serves even where its columns are dependent (but is differentiable only where they are not).
    """
    import torch

    if not isinstance(X, torch.Tensor):
        raise InputError("X", "a torch tensor", type(X).__name__)
    d, d_v = W_Q.shape
    if d_v > d:
        raise InputError("W_Q", "d_v <= d, since d_v = d / h", f"shape {(d, d_v)}")
    if not (isinstance(alpha, (int, float)) or (isinstance(alpha, torch.Tensor) and alpha.ndim == 0)):
        raise InputError("alpha", "a number or a tensor without dimensions", repr(alpha))
    scale = torch.as_tensor(alpha, dtype=X.dtype, device=X.device)
    if not bool(scale.detach().isfinite()):
        raise InputError("alpha", "a finite number", repr(alpha))
    M = queries_and_keys(X, W_Q, W_K)
    if basis is None:
        basis = torch.linalg.qr(M).Q
    else:
        _require_basis(basis, M)
    return attention_through_basis(X, W_Q, W_K, W_V, W_O, scale, basis)


def _require_basis(basis: Any, M: Any) -> None:
    """Raise unless the columns of `basis` are orthonormal and span those of M, up to half the digits of the dtype."""
    import torch

    if not isinstance(basis, torch.Tensor) or basis.ndim != 2 or basis.shape[0] != M.shape[0]:
        got = f"shape {tuple(basis.shape)}" if isinstance(basis, torch.Tensor) else type(basis).__name__
        raise InputError("basis", f"a torch tensor of shape (N, r) with N = {M.shape[0]}, from X", got)
    if basis.dtype != M.dtype:
        raise InputError("basis", f"the dtype of X, {M.dtype}", str(basis.dtype))
    basis, M = basis.detach(), M.detach()
    allowed = math.sqrt(torch.finfo(basis.dtype).eps)
    defect = float((basis.T @ basis - eye(basis.shape[1])).abs().max())
    if not defect <= allowed:
        raise InputError("basis", f"orthonormal columns, B^T B = I within {allowed:.1e}", f"a defect of {defect:.3g}")
    outside, size = float((M - basis @ (basis.T @ M)).abs().max()), float(M.abs().max())
    if not outside <= allowed * size:
        raise InputError(
            "basis", "a span that contains the columns of Q and K", f"a part of size {outside:.3g} outside"
        )


@checked
def newton_schulz(M: Annotated[Any, Shape("N", "m")], steps: int, epsilon: float | None = 1e-7) -> Any:
    """The Newton-Schulz iterate M_K after K = `steps` steps, a tensor of shape (N, m) (Eq. (9)).

    Starts from M / (||M||_F + epsilon), or from M itself if `epsilon` is None; then every singular value of M has to be
    below sqrt(3).  Tends to the polar factor of a full-rank M, whose columns (rows, if N < m) are orthonormal.
    """
    import torch

    if not isinstance(M, torch.Tensor):
        raise InputError("M", "a torch tensor", type(M).__name__)
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise InputError("steps", "an integer >= 0", repr(steps))
    if epsilon is not None:
        if not 0 < epsilon < math.inf:
            raise InputError("epsilon", "a positive number, or None for no normalisation", repr(epsilon))
        return newton_schulz_basis(M, steps, epsilon)
    largest = float(torch.linalg.matrix_norm(M.detach(), 2))
    if not largest < math.sqrt(3):
        raise InputError(
            "M", "singular values below sqrt(3), or an epsilon to normalise with", f"||M||_2 = {largest:.6g}"
        )
    return newton_schulz_iterate(M, steps)
