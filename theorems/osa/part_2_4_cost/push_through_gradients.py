"""Gradients of the layer through d x d matrices: those of its definition, whatever the ranks.  Claims of this project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import attention, orthonormal_columns
from theorems.osa.part_2_4_cost.push_through import (
    attention_in_frame, attention_in_frame_of_tokens, attention_pushed_through, attention_pushed_through_low_rank,
    frame_factor, low_rank_factor, push_through_factor, scaled_generator,
)  # fmt: skip
from theorems.osa.settings import ORTHONORMAL, SHAPES, layer
from theorems.osa.shapes import Alpha, Basis, Coordinates, Key, Output, Query, TokenFrame, Tokens, Value
from verify.matrix import concatenate, expm
from verify.oracles import jacobians
from verify.vocabulary import Assumption, Claim, Equal, Setting, realises


def gradients_through(form: str) -> str:
    """The statement about a form of the layer."""
    return (
        r"\frac{\partial\operatorname{vec}\mathrm{OSA}}{\partial\operatorname{vec}\mathbf{X}},\ \frac{\partial\operatorname{vec}"
        r"\mathrm{OSA}}{\partial\operatorname{vec}\mathbf{W}^Q},\ \frac{\partial\operatorname{vec}\mathrm{OSA}}{\partial"
        r"\operatorname{vec}\mathbf{W}^K} \text{ of } \exp(\mathbf{S})\mathbf{X}\mathbf{W}^V\mathbf{W}^O \text{ are those of } "
        + form
        + r" \text{ whatever the rank of } \mathbf{X}, [\mathbf{Q},\mathbf{K}]"
    )


def _gradients(form: Callable[..., Any], *arguments: Any) -> Any:
    """Jacobians of the layer `form` with respect to X, W_Q and W_K, side by side, shape (N d, N d + 2 d d_v)."""
    return concatenate(list(jacobians(form, ("X", "W_Q", "W_K"))(*arguments).values()), axis=1)


#: N < 2 d_v, where [Q, K] cannot have independent columns, and 2 d_v > d among them.
GRADIENTS = Setting(OSA, "Section 2.4, gradients", assumptions=[SHAPES, Assumption("d_v <= d; r <= N where B has r columns",
        sizes=lambda sizes: sizes["d_v"] <= sizes["d"] and sizes.get("r", 1) <= sizes["N"])],
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 2)}, inputs=layer)  # fmt: skip


def gradients_of_the_definition(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """d vec OSA / d (X, W_Q, W_K) by differentiation of Eq. (5)."""
    return _gradients(attention, X, W_Q, W_K, W_V, W_O, alpha)


GRADIENT = Claim(GRADIENTS, "osa.layer-gradient", label="Gradients through exp(W X^T X)",
    statement=gradients_through(r"\mathbf{X}\exp(\mathbf{W}\mathbf{X}^\top\mathbf{X})\mathbf{W}^V\mathbf{W}^O,"),
    name="gradients of the push-through form", relation=Equal(), all_sizes=True,
    uses=("osa.push-through-layer",), of_project=True,
)  # fmt: skip
GRADIENT.oracle(gradients_of_the_definition)


@GRADIENT.formula
def gradients_pushed_through(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """d vec OSA / d (X, W_Q, W_K) through X [exp(W X^T X) W_V W_O], shape (N d, N d + 2 d d_v), row-major."""
    return _gradients(attention_pushed_through, X, W_Q, W_K, W_V, W_O, alpha)


GRADIENT_LOW_RANK = Claim(GRADIENTS, "osa.layer-gradient-low-rank", label="Gradients through phi(L^T X^T X U)",
    statement=gradients_through(r"""\mathbf{X}\big(\mathbf{I}_d + \mathbf{U}\,\varphi(\mathbf{L}^\top\mathbf{X}^\top\mathbf{X}
        \mathbf{U})\,\mathbf{L}^\top\mathbf{X}^\top\mathbf{X}\big)\mathbf{W}^V\mathbf{W}^O, \mathbf{U} = [\mathbf{W}^Q,
        \mathbf{W}^K],\ \mathbf{L} = \tfrac{\alpha}{\sqrt{d_v}}[\mathbf{W}^K, -\mathbf{W}^Q],\ \varphi(z) = (e^z - 1)/z,"""),
    name="gradients of the low-rank push-through form", relation=Equal(), at_sizes={"N": 2, "d": 2, "d_v": 1},
    uses=("osa.push-through-low-rank",), of_project=True,
)  # fmt: skip
GRADIENT_LOW_RANK.oracle(gradients_of_the_definition)


@GRADIENT_LOW_RANK.formula
def gradients_pushed_through_low_rank(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """d vec OSA / d (X, W_Q, W_K) through a matrix of order 4 d_v, shape (N d, N d + 2 d d_v), row-major."""
    return _gradients(attention_pushed_through_low_rank, X, W_Q, W_K, W_V, W_O, alpha)


def _with_constant(factor: Any, outer: bool, X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """Gradients of X factor(X^T X) with the X outside held fixed, or the X^T X inside."""
    fixed = X

    def form(X: Any, W_Q: Any, W_K: Any) -> Any:
        left, inside = (fixed, X) if outer else (X, fixed)
        return left @ factor(inside.T @ inside, W_Q, W_K, W_V, W_O, alpha)

    return _gradients(form, X, W_Q, W_K)


GRADIENT.mutant(
    "X^T X held fixed",
    lambda X, W_Q, W_K, W_V, W_O, alpha: _with_constant(push_through_factor, False, X, W_Q, W_K, W_V, W_O, alpha),
)
GRADIENT.mutant(
    "X outside the brackets held fixed",
    lambda X, W_Q, W_K, W_V, W_O, alpha: _with_constant(push_through_factor, True, X, W_Q, W_K, W_V, W_O, alpha),
)
GRADIENT_LOW_RANK.mutant(
    "X^T X held fixed",
    lambda X, W_Q, W_K, W_V, W_O, alpha: _with_constant(low_rank_factor, False, X, W_Q, W_K, W_V, W_O, alpha),
)
GRADIENT_LOW_RANK.mutant(
    "X outside the brackets held fixed",
    lambda X, W_Q, W_K, W_V, W_O, alpha: _with_constant(low_rank_factor, True, X, W_Q, W_K, W_V, W_O, alpha),
)

GRADIENT_QR = Claim(GRADIENTS, "osa.layer-gradient-qr", label="Gradients in a frame of the tokens held fixed",
    statement=gradients_through(r"\text{the form of osa.qr-of-x-layer with } \mathbf{B} \text{ held fixed,}"),
    assumptions=[ORTHONORMAL],
    name="gradients in a fixed frame of the tokens", relation=Equal(), all_sizes=True, hypotheses=(ORTHONORMAL,),
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 2), "r": (1, 2)}, uses=("osa.qr-of-x-layer",), of_project=True,
    note="$X = BC$, so $P = 0$ at the point; $r < d$ among the cases, where $X$ has deficient rank.",
)  # fmt: skip
GRADIENT_QR.oracle(gradients_of_the_definition)


@GRADIENT_QR.inputs
@realises(
    {"columns of B are orthonormal": reached.FRAMES},
    but="the tokens lie in the span of B, as they do if B is computed from them; others are tried as free inputs",
)
def tokens_in_frame(
    frame: TokenFrame, C: Coordinates, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha
) -> Any:
    B = orthonormal_columns(frame, C.shape[0])
    return {**layer(B @ C, W_Q, W_K, W_V, W_O, alpha), "B": B}


@GRADIENT_QR.formula
def gradients_in_frame_of_tokens(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, B: Basis
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
