"""What the gate knows about our definitions: layouts, sizes, inputs, and the mistakes that implementations make.

Each variant is a definition that someone has written by mistake; an implementation that agrees with one to rounding is
told so by its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from theorems.convergence import definitions as convergence
from theorems.dynamics import definitions as dynamics
from theorems.hessian import definitions as hessian
from theorems.hessian.settings import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from theorems.skipless import definitions as skipless
from theorems.subjects.layers import BEFORE_THE_SCALE, tokens_before_the_scale
from verify.gate.profiles import Large, Profile
from verify.matrix import concatenate, exp, eye, normalize_rows, ones, rational, row_sums, softmax, sqrt
from verify.oracles import jacobian
from verify.vocabulary import Real, Shape, Size

IN_OPPOSITE_ORDER = "heads are concatenated in the opposite order"
TOKENS_ARE_ROWS = "tokens are the rows of X, weights act from the right: Q = X W_Q"
ROW_MAJOR = "row-major vec, numerator layout"

#: Constants that scale logits, where a paper leaves their range open.
Scale = Annotated[Any, Real(0.125, 4.0)]


def lower_triangle_softmax(T: Any) -> Any:
    """softmax over the keys j <= i of query i, shape (n, n): attention under a causal mask, without infinities."""
    n = T.shape[0]
    weights = exp(T)
    rows = [
        concatenate([weights[i : i + 1, : i + 1], weights[i : i + 1, i + 1 :] * 0], axis=1) if i + 1 < n
        else weights[i : i + 1]
        for i in range(n)
    ]  # fmt: skip
    masked = concatenate(rows, axis=0)
    return masked / row_sums(masked)


# -- softmax -----------------------------------------------------------------------------------------------------------

SOFTMAX = Profile("hessian.softmax", layout="one distribution per row")
SOFTMAX.rows("m", "n", of=lambda rows, T: softmax(T[rows]))
SOFTMAX.variant("softmax over the wrong axis: columns sum to 1, not rows", lambda T: softmax(T.T).T)
SOFTMAX.variant("the rows are not normalised", lambda T: exp(T))

SOFTMAX_ROW = Profile("convergence.softmax", layout="one distribution, a row")
SOFTMAX_ROW.rows("d_s", axis=1, of=lambda columns, u: softmax(u)[:, columns])
SOFTMAX_ROW.variant("softmax over the wrong axis: every entry is 1", lambda u: softmax(u.T).T)
SOFTMAX_ROW.variant("the row is not normalised", lambda u: exp(u))


# -- softmax attention -------------------------------------------------------------------------------------------------

ATTENTION_MATRIX = Profile("hessian.attention_matrix", layout=TOKENS_ARE_ROWS)


ATTENTION_MATRIX.domain(BEFORE_THE_SCALE, tokens_before_the_scale, in_half=True)
ATTENTION_MATRIX.rows(of=lambda rows, X, W_Q, W_K: softmax(X[rows] @ W_Q @ (X @ W_K).T / sqrt(W_Q.shape[1])))
ATTENTION_MATRIX.variant("the scale 1/sqrt(d_K) is missing", lambda X, W_Q, W_K: softmax(X @ W_Q @ W_K.T @ X.T))
ATTENTION_MATRIX.variant(
    "softmax over the wrong axis: columns sum to 1, not rows",
    lambda X, W_Q, W_K: softmax(hessian.attention_logits(X, W_Q, W_K).T).T,
)

ATTENTION = Profile("hessian.attention", layout=TOKENS_ARE_ROWS)
ATTENTION.domain(BEFORE_THE_SCALE, tokens_before_the_scale, in_half=True)
ATTENTION.variant("the scale 1/sqrt(d_K) is missing", lambda X, W_Q, W_K, W_V: softmax(X @ W_Q @ W_K.T @ X.T) @ X @ W_V)
ATTENTION.variant(
    "the logits are divided by d_K instead of sqrt(d_K)",
    lambda X, W_Q, W_K, W_V: softmax(X @ W_Q @ W_K.T @ X.T / W_Q.shape[1]) @ X @ W_V,
)
ATTENTION.variant(
    "the logits are divided by sqrt(d_V), of the width of the tokens X, not by sqrt(d_K)",
    lambda X, W_Q, W_K, W_V: softmax(X @ W_Q @ W_K.T @ X.T / sqrt(W_V.shape[1])) @ X @ W_V,
)
ATTENTION.variant(
    "softmax over the wrong axis: columns sum to 1, not rows",
    lambda X, W_Q, W_K, W_V: softmax(hessian.attention_logits(X, W_Q, W_K).T).T @ X @ W_V,
)
ATTENTION.variant(
    "the attention matrix is transposed",
    lambda X, W_Q, W_K, W_V: softmax(hessian.attention_logits(X, W_Q, W_K)).T @ X @ W_V,
)
ATTENTION.variant(
    "a causal mask is applied",
    lambda X, W_Q, W_K, W_V: lower_triangle_softmax(hessian.attention_logits(X, W_Q, W_K)) @ X @ W_V,
)
ATTENTION.variant("the softmax is missing", lambda X, W_Q, W_K, W_V: hessian.attention_logits(X, W_Q, W_K) @ X @ W_V)
ATTENTION.rows(of=lambda rows, X, W_Q, W_K, W_V: softmax(X[rows] @ W_Q @ (X @ W_K).T / sqrt(W_Q.shape[1])) @ X @ W_V)

SKIPLESS_HEADS = Profile(
    "skipless.multi_head_attention",
    sizes={"n": (1, 4), "d": (1, 4), "h": (1, 2), "d_h": (1, 4)},
    where=lambda sizes: sizes["h"] * sizes["d_h"] == sizes["d"],
    large=Large(counts=("h",), derived={"d": lambda sizes: sizes["h"] * sizes["d_h"]}),
    layout=TOKENS_ARE_ROWS + "; logits without a scale factor, heads first",
)


@SKIPLESS_HEADS.rows("n")
def _(rows: Any, X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    heads = [softmax(X[rows] @ Q @ (X @ K).T) @ (X @ V) for Q, K, V in zip(W_Q, W_K, W_V, strict=True)]
    return concatenate(heads, axis=1) @ W_O


SKIPLESS = Profile("skipless.self_attention", layout=TOKENS_ARE_ROWS + "; logits without a scale factor")
SKIPLESS.variant(
    "the logits are scaled by 1/sqrt(d), where this paper has no scale",
    lambda X, W_Q, W_K, W_V, W_O: softmax(X @ W_Q @ W_K.T @ X.T / sqrt(W_Q.shape[1])) @ X @ W_V @ W_O,
)
SKIPLESS.variant(
    "softmax over the wrong axis: columns sum to 1, not rows",
    lambda X, W_Q, W_K, W_V, W_O: softmax((X @ W_Q @ W_K.T @ X.T).T).T @ X @ W_V @ W_O,
)
SKIPLESS.variant(
    "a causal mask is applied",
    lambda X, W_Q, W_K, W_V, W_O: lower_triangle_softmax(X @ W_Q @ W_K.T @ X.T) @ X @ W_V @ W_O,
)
SKIPLESS.rows(of=lambda rows, X, W_Q, W_K, W_V, W_O: softmax(X[rows] @ W_Q @ (X @ W_K).T) @ (X @ W_V @ W_O))

HEAD = Profile("dynamics.attention_head", layout=TOKENS_ARE_ROWS + "; logits scaled by beta alone")


@HEAD.inputs
def head(
    X: dynamics.Tokens,
    W_Q: Annotated[Any, Shape("D", "D_H", role="query")],
    W_K: Annotated[Any, Shape("D", "D_H")],
    W_V: Annotated[Any, Shape("D", "D_H")],
    beta: Scale,
) -> dict[str, Any]:
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "beta": beta}


HEAD.variant("beta is missing", lambda X, W_Q, W_K, W_V, beta: softmax(X @ W_Q @ W_K.T @ X.T) @ X @ W_V)
HEAD.variant(
    "the logits are scaled by 1/sqrt(D_H) besides beta",
    lambda X, W_Q, W_K, W_V, beta: softmax(X @ W_Q @ W_K.T @ X.T * beta / sqrt(W_Q.shape[1])) @ X @ W_V,
)
HEAD.variant(
    "softmax over the wrong axis: columns sum to 1, not rows",
    lambda X, W_Q, W_K, W_V, beta: softmax((X @ W_Q @ W_K.T @ X.T * beta).T).T @ X @ W_V,
)
HEAD.rows(of=lambda rows, X, W_Q, W_K, W_V, beta: softmax(X[rows] @ W_Q @ (X @ W_K).T * beta) @ X @ W_V)

HEADS = Profile(
    "dynamics.multi_head_attention",
    sizes={"S": (1, 4), "D": (1, 6), "H": (1, 3)},
    where=lambda sizes: sizes["D"] % sizes["H"] == 0,
    layout=TOKENS_ARE_ROWS + "; head h has columns h D/H, ..., (h+1) D/H - 1 of W_Q, W_K, W_V",
)


@HEADS.rows()
def _(rows: Any, X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: Any) -> Any:
    heads = (W.unflatten(1, (H, -1)).unbind(1) for W in (W_Q, W_K, W_V))
    each = [softmax(X[rows] @ Q @ (X @ K).T * beta) @ (X @ V) for Q, K, V in zip(*heads, strict=True)]
    return concatenate(each, axis=1) @ W_O


@HEADS.variant("the output projection W_O is missing")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: Any) -> Any:
    return dynamics.multi_head_attention(X, W_Q, W_K, W_V, eye(W_O.shape[0]), beta, H)


HEADS.variant(
    "there is one head of the full width",
    lambda X, W_Q, W_K, W_V, W_O, beta, H: dynamics.attention_head(X, W_Q, W_K, W_V, beta) @ W_O,
)


@HEADS.variant("heads are interleaved: head h has the columns h, h + H, ...")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: Any) -> Any:
    turns = [n for h in range(H) for n in range(h, W_Q.shape[1], H)]
    return dynamics.multi_head_attention(X, W_Q[:, turns], W_K[:, turns], W_V[:, turns], W_O, beta, H)


@HEADS.variant(IN_OPPOSITE_ORDER)
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: Any) -> Any:
    return dynamics.multi_head_attention(X, W_Q, W_K, W_V, W_O.unflatten(0, (H, -1)).flip(0).flatten(0, 1), beta, H)


@SKIPLESS_HEADS.variant(IN_OPPOSITE_ORDER)
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    turned = W_O.unflatten(0, (len(W_Q), -1)).flip(0).flatten(0, 1)
    return skipless.multi_head_attention(X, W_Q, W_K, W_V, turned)


@HEADS.variant("the logits are scaled by sqrt(H/D) besides beta")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: Any) -> Any:
    return dynamics.multi_head_attention(X, W_Q, W_K, W_V, W_O, beta / sqrt(W_Q.shape[1] // H), H)


SHALLOW = Profile("convergence.self_attention", layout="tokens are the rows of X; weights act as X W^T")
SHALLOW.inputs(
    X=Annotated[Any, Shape("d_s", "d")],
    W_Q=convergence.QueryWeights,
    W_K=convergence.KeyWeights,
    W_V=convergence.ValueWeights,
    tau_0=Scale,
)
SHALLOW.variant(
    "the scale tau_0 is missing", lambda X, W_Q, W_K, W_V, tau_0: softmax((X @ W_Q.T) @ (X @ W_K.T).T) @ (X @ W_V.T)
)
SHALLOW.rows(of=lambda rows, X, W_Q, W_K, W_V, tau_0: softmax(X[rows] @ W_Q.T @ (X @ W_K.T).T * tau_0) @ (X @ W_V.T))


# -- normalisation -----------------------------------------------------------------------------------------------------

RMS_NORM = Profile(
    "dynamics.rms_norm",
    layout="rows of Y are normalised to unit norm, not to unit mean square: gamma / sqrt(D) of the usual RMSNorm",
    without_domains={"kinks": "rows vanish", "integers": "rows vanish", "repeated singular values": "rows vanish"},
)
RMS_NORM.sums("S")
RMS_NORM.variant(
    "rows have unit mean square, not unit norm: sqrt(D) times longer than in this paper",
    lambda Y, gamma: normalize_rows(Y) * gamma.reshape(1, -1) * sqrt(Y.shape[1]),
)


def _with_constant(Y: Any, gamma: Any, constant: float) -> Any:
    """gamma y / sqrt(|y|^2 + D constant): what torch computes with eps = `constant`, over sqrt(D)."""
    return Y / sqrt(row_sums(Y * Y) + Y.shape[1] * constant) * gamma.reshape(1, -1)


RMS_NORM.variant("a constant eps = 1e-5 is added under the root", lambda Y, gamma: _with_constant(Y, gamma, 1e-5))
RMS_NORM.variant("a constant eps = 1e-6 is added under the root", lambda Y, gamma: _with_constant(Y, gamma, 1e-6))
RMS_NORM.variant(
    "a constant eps = 2^-52, torch's default in float64, is added under the root",
    lambda Y, gamma: _with_constant(Y, gamma, 2.0**-52),
)
RMS_NORM.variant("the gain gamma is missing", lambda Y, gamma: normalize_rows(Y))
RMS_NORM.variant("the gain is 1 + gamma", lambda Y, gamma: normalize_rows(Y) * (gamma.reshape(1, -1) + 1))
RMS_NORM.variant(
    "the mean of each row is subtracted, as in LayerNorm",
    lambda Y, gamma: normalize_rows(Y - row_sums(Y) * rational(1, Y.shape[1])) * gamma.reshape(1, -1),
)
RMS_NORM.variant(
    "columns are normalised instead of rows", lambda Y, gamma: normalize_rows(Y.T).T * gamma.reshape(1, -1)
)

OSCILLATORS = Profile(
    "dynamics.oscillator_rms_norm",
    sizes={"S": (1, 3), "D": (1, 6), "N": (1, 3)},
    where=lambda sizes: sizes["D"] % sizes["N"] == 0,
    layout="oscillators are N consecutive entries of a row of Y, each normalised to unit norm",
    without_domains=RMS_NORM.without_domains,
)
OSCILLATORS.sums("S", N=3)

for _name, _excluded in (
    ("dynamics.oscillator_omega", None),
    ("dynamics.oscillator_projection", None),
    ("dynamics.oscillator_normalisation", RMS_NORM.without_domains),
):
    Profile(
        _name,
        sizes={"S": (1, 3), "D": (1, 6), "N": (1, 3)},
        where=lambda sizes: sizes["D"] % sizes["N"] == 0,
        layout="oscillators are N consecutive entries of a row",
        without_domains=_excluded,
    )

PROJECTION = Profile("dynamics.projection", layout="rows of Y are projected onto the tangent spaces at the rows of X")


@PROJECTION.inputs
def projected(X: dynamics.Tokens, Y: dynamics.Tokens) -> dict[str, Any]:
    return {"X": X, "Y": Y}


PROJECTION.variant("the normal part is returned instead of the tangent part", lambda X, Y: X * row_sums(X * Y))
PROJECTION.variant(
    "X is divided by its norm first, where the paper projects with X as it is",
    lambda X, Y: Y - X * row_sums(X * Y) / row_sums(X * X),
)


# -- energies and kernels ----------------------------------------------------------------------------------------------

ENERGY = Profile("dynamics.energy", layout=TOKENS_ARE_ROWS)
ENERGY.inputs(
    X=dynamics.Tokens,
    W_Q=Annotated[Any, Shape("D", "D_H", role="query")],
    W_K=Annotated[Any, Shape("D", "D_H")],
    beta=Scale,
)


TANGENT_KERNEL = Profile(
    "convergence.tangent_kernel",
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3), "d_m": (1, 3)},
    layout="entry (n, m) belongs to samples n and m; all four weights are trained",
    largest=0,
    derivatives=1,
)


@TANGENT_KERNEL.inputs
def network(
    X: convergence.Samples,
    W_Q: convergence.QueryWeights,
    W_K: convergence.KeyWeights,
    W_V: convergence.ValueWeights,
    w_O: convergence.OutputWeights,
    tau_0: Scale,
    tau_1: Scale,
) -> dict[str, Any]:
    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O}
    return {"X": X, **weights, "tau_0": tau_0, "tau_1": tau_1, "pooling": "average"}


HIDDEN = Profile(
    "convergence.last_hidden_layer", layout="row n belongs to sample n; pooling is an average over tokens", largest=17
)


@HIDDEN.inputs
def hidden(
    X: convergence.Samples,
    W_Q: convergence.QueryWeights,
    W_K: convergence.KeyWeights,
    W_V: convergence.ValueWeights,
    tau_0: Scale,
    tau_1: Scale,
) -> dict[str, Any]:
    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V}
    return {"X": X, **weights, "tau_0": tau_0, "tau_1": tau_1, "pooling": "average"}


@TANGENT_KERNEL.variant("only the last layer is trained")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, pooling: Any) -> Any:
    F = convergence.last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, pooling)
    return F @ F.T


@TANGENT_KERNEL.variant("tokens are summed, not averaged")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, pooling: Any) -> Any:
    kernel = convergence.tangent_kernel(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "average")
    return kernel * X.shape[1] ** 2


# -- Hessians ----------------------------------------------------------------------------------------------------------

#: Blocks that are drawn: mixed ones and a diagonal one.
BLOCKS = (("W_Q", "W_K"), ("W_V", "W_Q"), ("W_K", "W_K"), ("W_V", "W_K"))
BLOCK_SIZES = {"L": (1, 3), "d_V": (1, 2), "d_K": (1, 3), "block": (1, len(BLOCKS))}

LOSS_HESSIAN = Profile("hessian.loss_hessian", sizes=BLOCK_SIZES, layout=ROW_MAJOR, largest=0, derivatives=0)
OUTER = Profile("hessian.outer_product_hessian", sizes=BLOCK_SIZES, layout=ROW_MAJOR, largest=0, derivatives=0)
FUNCTIONAL = Profile("hessian.functional_hessian", sizes=BLOCK_SIZES, layout=ROW_MAJOR, largest=0, derivatives=0)


@LOSS_HESSIAN.inputs
@FUNCTIONAL.inputs
def block_of_a_hessian(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, block: Annotated[int, Size("block")]
) -> dict[str, Any]:
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "Y": Y, "wrt": BLOCKS[block - 1]}


@OUTER.inputs
def block_without_labels(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, block: Annotated[int, Size("block")]
) -> dict[str, Any]:
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "wrt": BLOCKS[block - 1]}


def _column_major(definition: Callable[..., Any]) -> Callable[..., Any]:
    """The variant of a Hessian that vectorises weights by columns."""

    def variant(*args: Any, **kwargs: Any) -> Any:
        arguments = inspect.signature(definition).bind(*args, **kwargs).arguments
        orders = [
            [i * cols + j for j in range(cols) for i in range(rows)]
            for rows, cols in (arguments[name].shape for name in arguments["wrt"])
        ]
        return definition(**arguments)[orders[0]][:, orders[1]]

    return variant


for _profile, _hessian in (
    (LOSS_HESSIAN, hessian.loss_hessian), (OUTER, hessian.outer_product_hessian),
    (FUNCTIONAL, hessian.functional_hessian),
):  # fmt: skip
    _profile.variant("weights are vectorised by columns, where this paper's vec is row-major")(_column_major(_hessian))

LOSS_HESSIAN.variant(
    "the functional part is missing: it is the Gauss-Newton (outer-product) Hessian",
    lambda X, W_Q, W_K, W_V, Y, wrt: hessian.outer_product_hessian(X, W_Q, W_K, W_V, wrt),
)
LOSS_HESSIAN.variant(
    "the outer-product part is missing: it is the functional Hessian",
    lambda X, W_Q, W_K, W_V, Y, wrt: hessian.functional_hessian(X, W_Q, W_K, W_V, Y, wrt),
)
LOSS_HESSIAN.variant(
    "the loss is a sum, not a mean, over the entries of F",
    lambda X, W_Q, W_K, W_V, Y, wrt: hessian.loss_hessian(X, W_Q, W_K, W_V, Y, wrt) * (X.shape[0] * X.shape[1]),
)

OUTER.variant(
    "the loss is a sum, not a mean, over the entries of F",
    lambda X, W_Q, W_K, W_V, wrt: hessian.outer_product_hessian(X, W_Q, W_K, W_V, wrt) * (X.shape[0] * X.shape[1]),
)


@OUTER.variant("the curvature of the loss, 2/(L d_V), is missing")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, wrt: Any) -> Any:
    first, second = (jacobian(hessian.attention, name)(X, W_Q, W_K, W_V) for name in wrt)
    return first.T @ second


NORMALISATION = Profile(
    "dynamics.normalisation", layout="rows of Y are normalised to unit norm", without_domains=RMS_NORM.without_domains
)
NORMALISATION.variant("rows have unit mean square, not unit norm", lambda Y: normalize_rows(Y) * sqrt(Y.shape[1]))
NORMALISATION.variant("rows are divided by their sums", lambda Y: Y / (Y @ ones(Y.shape[1], 1)))
