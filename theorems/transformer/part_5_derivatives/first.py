"""The gradient of <W, F> in queries, keys, values and bias, and the differential of F, for logits s Q K^T + B under a mask."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.kernels import Bias, Scale, biased_attention
from theorems.transformer.kernels import biased_weights as weights
from theorems.transformer.settings import SOME_KEY, Keys, Mask, Queries, Signs, Values, mask_of
from verify.matrix import indexed, row_sums, softmax, total  # noqa: F401  (mutants name softmax)
from verify.oracles import jacobian
from verify.vocabulary import Claim, Construction, Equal, Setting, Shape

#: What outputs are weighted with: a cotangent of F.
Cotangent = Annotated[Any, Shape("m", "d_V")]
QueryChange = Annotated[Any, Shape("m", "d_K")]

ANY_SCALE = Construction("B is any matrix with a row for every query and a column for every key, s any number",
    shapes={"B": ("m", "n")})  # fmt: skip


def weighted(Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, M: Mask, s: Scale) -> Any:
    """<W, F> = sum_ia W_ia F_ia, a scalar."""
    return total(W * biased_attention(Q, K, V, B, M, s))


def deviations(P: Any, X: Any) -> Any:
    """X_ij - sum_k P_ik X_ik: every row less its mean under a row of P, shape (m, n)."""
    return X - row_sums(P * X)


def line(X: Any) -> Any:
    """The entries of X row by row, shape (1, number of entries)."""
    return indexed("ij->()(i j)", X)


def column(X: Any) -> Any:
    """The entries of X row by row, shape (number of entries, 1)."""
    return indexed("ij->(i j)()", X)


def weighted_operands(Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, S: Signs, s: Scale) -> dict[str, Any]:
    return {"Q": Q, "K": K, "V": V, "B": B, "W": W, "M": mask_of(S), "s": s}


SIZES = {"m": (1, 3), "n": (1, 4), "d_K": (1, 3), "d_V": (1, 2)}
WEIGHTED = Setting(
    TRANSFORMER, "Weighted sums of attention with a bias", assumptions=[SOME_KEY, ANY_SCALE],
    inputs=weighted_operands, exact=True, sizes=SIZES,
)  # fmt: skip

NOTE = (
    r"$F = PV$, where $P$ is the softmax of $sQK^\top + B$ under the mask, and $\langle W, F\rangle = \sum_{ia}W_{ia}F_{ia}$; "
    r"a sum over heads or samples has the sum of their gradients."
)


def gradient(name: str, label: str, words: str, statement: str) -> Any:
    """A claim about one part of the gradient, proved for all sizes."""
    return Claim(WEIGHTED, f"transformer.gradient-{name}", label=label, statement=statement, name=words, relation=Equal(),
                 all_sizes=True, uses=("transformer.masked-softmax-jacobian",), note=NOTE)  # fmt: skip


def masks(claim: Any) -> None:
    claim.mutant("no mask", "weights(Q, K, B, M, s) -> softmax(Q @ K.T * s + B)")
    claim.mutant("no bias", "weights(Q, K, B, M, s) -> weights(Q, K, 0 * B, M, s)")


BIAS = gradient("bias", "Gradient in the bias", "gradient of attention in a bias",
    r"G_{ij} = \frac{\partial\langle W,F\rangle}{\partial B_{ij}} = P_{ij}\Big((WV^\top)_{ij} - \sum_kP_{ik}(WV^\top)_{ik}\Big)"
)  # fmt: skip


@BIAS.formula
def bias_gradient(Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, M: Mask, s: Scale) -> Any:
    """P o (W V^T less its mean under P), row by row, shape (1, m n)."""
    P = weights(Q, K, B, M, s)
    return line(P * deviations(P, W @ V.T))


BIAS.oracle(lambda Q, K, V, B, W, M, s: jacobian(weighted, "B")(Q, K, V, B, W, M, s))
BIAS.mutant("not centred", "deviations(P, W @ V.T) -> W @ V.T")
BIAS.mutant("no scale in the logits", "weights(Q, K, B, M, s) -> weights(Q, K, B, M, 1)")
masks(BIAS)

QUERY = gradient("query", "Gradient in the queries", "gradient of attention in the queries",
    r"\frac{\partial\langle W,F\rangle}{\partial Q} = sGK,\quad G = P\circ(WV^\top - \operatorname{mean}_P(WV^\top))"
)  # fmt: skip


@QUERY.formula
def query_gradient(Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, M: Mask, s: Scale) -> Any:
    """s G K row by row, shape (1, m d_K)."""
    P = weights(Q, K, B, M, s)
    return line(P * deviations(P, W @ V.T) @ K * s)


QUERY.oracle(lambda Q, K, V, B, W, M, s: jacobian(weighted, "Q")(Q, K, V, B, W, M, s))
QUERY.mutant("not centred", "deviations(P, W @ V.T) -> W @ V.T")
QUERY.mutant("no scale", lambda value, s: value / s)
masks(QUERY)

KEY = gradient("key", "Gradient in the keys", "gradient of attention in the keys",
    r"\frac{\partial\langle W,F\rangle}{\partial K} = sG^\top Q,\quad G = P\circ(WV^\top - \operatorname{mean}_P(WV^\top))"
)  # fmt: skip


@KEY.formula
def key_gradient(Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, M: Mask, s: Scale) -> Any:
    """s G^T Q row by row, shape (1, n d_K)."""
    P = weights(Q, K, B, M, s)
    return line((P * deviations(P, W @ V.T)).T @ Q * s)


KEY.oracle(lambda Q, K, V, B, W, M, s: jacobian(weighted, "K")(Q, K, V, B, W, M, s))
KEY.mutant("not centred", "deviations(P, W @ V.T) -> W @ V.T")
KEY.mutant("no scale", lambda value, s: value / s)
masks(KEY)

VALUE = gradient("value", "Gradient in the values", "gradient of attention in the values",
    r"\frac{\partial\langle W,F\rangle}{\partial V} = P^\top W")  # fmt: skip


@VALUE.formula
def value_gradient(Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, M: Mask, s: Scale) -> Any:
    """P^T W row by row, shape (1, n d_V)."""
    return line(weights(Q, K, B, M, s).T @ W)


VALUE.oracle(lambda Q, K, V, B, W, M, s: jacobian(weighted, "V")(Q, K, V, B, W, M, s))
VALUE.mutant("no scale in the logits", "weights(Q, K, B, M, s) -> weights(Q, K, B, M, 1)")
masks(VALUE)

# -- forward mode ------------------------------------------------------------------------------------------------------


def moved_operands(
    Q: Queries, K: Keys, V: Values, B: Bias, S: Signs, s: Scale,
    dQ: QueryChange, dK: Keys, dV: Values, dB: Bias,
) -> dict[str, Any]:  # fmt: skip
    return {"Q": Q, "K": K, "V": V, "B": B, "M": mask_of(S), "s": s, "dQ": dQ, "dK": dK, "dV": dV, "dB": dB}


MOVED = Setting(
    TRANSFORMER, "Attention with a bias along a direction", assumptions=[SOME_KEY, ANY_SCALE],
    inputs=moved_operands, exact=True, sizes=SIZES,
)  # fmt: skip

DIFFERENTIAL = Claim(MOVED, "transformer.differential", label="Differential of attention",
    statement=r"""dF = (P\circ(\dot T - \operatorname{mean}_P\dot T))V + P\,dV,\quad \dot T = s(dQ\,K^\top + Q\,dK^\top) + dB""",
    name="differential of attention along a direction", relation=Equal(), all_sizes=True,
    uses=("transformer.masked-softmax-jacobian",), note="Forward mode: Jacobians times a direction.")  # fmt: skip


def change_of_logits(Q: Any, K: Any, s: Any, dQ: Any, dK: Any, dB: Any) -> Any:
    """s (dQ K^T + Q dK^T) + dB, shape (m, n)."""
    return (dQ @ K.T + Q @ dK.T) * s + dB


@DIFFERENTIAL.formula
def differential(
    Q: Queries, K: Keys, V: Values, B: Bias, M: Mask, s: Scale, dQ: QueryChange, dK: Keys, dV: Values, dB: Bias
) -> Any:
    """dF row by row, shape (m d_V, 1)."""
    P = weights(Q, K, B, M, s)
    return column(P * deviations(P, change_of_logits(Q, K, s, dQ, dK, dB)) @ V + P @ dV)


@DIFFERENTIAL.oracle
def products_with_jacobians(
    Q: Queries, K: Keys, V: Values, B: Bias, M: Mask, s: Scale, dQ: QueryChange, dK: Keys, dV: Values, dB: Bias
) -> Any:
    """The Jacobians in Q, K, V and B times the direction, shape (m d_V, 1)."""
    along = {"Q": dQ, "K": dK, "V": dV, "B": dB}
    of_Q, of_K, of_V, of_B = (
        jacobian(biased_attention, name)(Q, K, V, B, M, s) @ column(d) for name, d in along.items()
    )
    return of_Q + of_K + of_V + of_B


DIFFERENTIAL.mutant("changes of logits not centred", "deviations(P, change_of_logits(Q, K, s, dQ, dK, dB)) -> "
                    "change_of_logits(Q, K, s, dQ, dK, dB)")  # fmt: skip
DIFFERENTIAL.mutant(
    "keys held fixed", "change_of_logits(Q, K, s, dQ, dK, dB) -> change_of_logits(Q, K, s, dQ, 0 * dK, dB)"
)
DIFFERENTIAL.mutant("values held fixed", "P @ dV -> 0 * (P @ dV)")
DIFFERENTIAL.mutant(
    "bias held fixed", "change_of_logits(Q, K, s, dQ, dK, dB) -> change_of_logits(Q, K, s, dQ, dK, 0 * dB)"
)
masks(DIFFERENTIAL)
