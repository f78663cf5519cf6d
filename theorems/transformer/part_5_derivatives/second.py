"""The differential of the gradient of <W, F>: the product of the Hessian in (Q, K, V, B, W) with a direction.

The part in W is the differential of F (`first`).  Double backward takes the direction with dW = 0, forward over reverse any.
"""

from __future__ import annotations

from typing import Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.kernels import Bias, Scale
from theorems.transformer.kernels import biased_weights as weights
from theorems.transformer.part_5_derivatives.first import (
    ANY_SCALE, SIZES, Cotangent, QueryChange, change_of_logits, column, deviations, weighted,
)  # fmt: skip
from theorems.transformer.settings import SOME_KEY, Keys, Mask, Queries, Signs, Values, mask_of
from verify.oracles import hessian
from verify.vocabulary import Claim, Equal, Setting


def direction(
    Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, S: Signs, s: Scale,
    dQ: QueryChange, dK: Keys, dV: Values, dB: Bias, dW: Cotangent,
) -> dict[str, Any]:  # fmt: skip
    return {"Q": Q, "K": K, "V": V, "B": B, "W": W, "M": mask_of(S), "s": s,
            "dQ": dQ, "dK": dK, "dV": dV, "dB": dB, "dW": dW}  # fmt: skip


SECOND = Setting(
    TRANSFORMER, "Weighted sums of attention along a direction", assumptions=[SOME_KEY, ANY_SCALE],
    inputs=direction, exact=True, sizes={**SIZES, "n": (1, 5)},
)  # fmt: skip

NOTE = (
    r"$G = P\circ C$ is the gradient in $B$, $\dot P = P\circ(\dot T - \operatorname{mean}_P\dot T)$ with "
    r"$\dot T = s(dQ\,K^\top + Q\,dK^\top) + dB$, $C = WV^\top - \operatorname{mean}_P(WV^\top)$, and "
    r"$\dot G = P\circ(X - \operatorname{mean}_PX)$ with "
    r"$X = (\dot T - \operatorname{mean}_P\dot T)\circ C + dW\,V^\top + W\,dV^\top$."
)


def changes(
    Q: Any, K: Any, V: Any, B: Any, W: Any, M: Any, s: Any, dQ: Any, dK: Any, dV: Any, dB: Any, dW: Any
) -> tuple[Any, Any, Any, Any]:
    """P, its change, G and its change, all (m, n)."""
    P = weights(Q, K, B, M, s)
    slope, C = deviations(P, change_of_logits(Q, K, s, dQ, dK, dB)), deviations(P, W @ V.T)
    return P, P * slope, P * C, P * deviations(P, slope * C + dW @ V.T + W @ dV.T)


def part(name: str, label: str, words: str, statement: str) -> Any:
    """A claim about one part of the product, proved for all sizes."""
    return Claim(SECOND, f"transformer.second-differential-{name}", label=label, statement=statement, name=words,
                 relation=Equal(), all_sizes=True, note=NOTE,
                 uses=("transformer.masked-softmax-hessian", "transformer.differential"))  # fmt: skip


def product(name: str) -> Any:
    """The rows of the Hessian of <W, F> that belong to `name`, times the direction."""

    def rows_times_direction(
        Q: Any, K: Any, V: Any, B: Any, W: Any, M: Any, s: Any, dQ: Any, dK: Any, dV: Any, dB: Any, dW: Any
    ) -> Any:
        """The Hessian of the weighted sum times the direction, in one column."""
        along = {"Q": dQ, "K": dK, "V": dV, "B": dB, "W": dW}
        terms = [hessian(weighted, (name, other))(Q, K, V, B, W, M, s) @ column(d) for other, d in along.items()]
        return terms[0] + terms[1] + terms[2] + terms[3] + terms[4]

    return rows_times_direction


def mutants(claim: Any) -> None:
    """What loses a term of the change of G."""
    everything = "changes(Q, K, V, B, W, M, s, dQ, dK, dV, dB, dW)"
    for words, changed in (
        ("keys held fixed", "changes(Q, K, V, B, W, M, s, dQ, 0 * dK, dV, dB, dW)"),
        ("bias held fixed", "changes(Q, K, V, B, W, M, s, dQ, dK, dV, 0 * dB, dW)"),
        ("weights held fixed", "changes(Q, K, V, B, W, M, s, dQ, dK, dV, dB, 0 * dW)"),
        ("values held fixed", "changes(Q, K, V, B, W, M, s, dQ, dK, 0 * dV, dB, dW)"),
        ("no mask", "changes(Q, K, V, B, W, 0 * M + 1, s, dQ, dK, dV, dB, dW)"),
        ("no scale", "changes(Q, K, V, B, W, M, 1, dQ, dK, dV, dB, dW)"),
    ):
        claim.mutant(words, f"{everything} -> {changed}")


BIAS = part("bias", "Second differential in the bias", "product with the Hessian of attention, bias",
    r"d\,\frac{\partial\langle W,F\rangle}{\partial B} = \dot G")  # fmt: skip


@BIAS.formula
def bias_change(
    Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, M: Mask, s: Scale,
    dQ: QueryChange, dK: Keys, dV: Values, dB: Bias, dW: Cotangent,
) -> Any:  # fmt: skip
    """The change of G row by row, shape (m n, 1)."""
    _, _, _, dG = changes(Q, K, V, B, W, M, s, dQ, dK, dV, dB, dW)
    return column(dG)


BIAS.oracle(product("B"))
mutants(BIAS)

QUERY = part("query", "Second differential in the queries", "product with the Hessian of attention, queries",
    r"d\,\frac{\partial\langle W,F\rangle}{\partial Q} = s(\dot GK + G\,dK)")  # fmt: skip


@QUERY.formula
def query_change(
    Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, M: Mask, s: Scale,
    dQ: QueryChange, dK: Keys, dV: Values, dB: Bias, dW: Cotangent,
) -> Any:  # fmt: skip
    """s (dG K + G dK) row by row, shape (m d_K, 1)."""
    _, _, G, dG = changes(Q, K, V, B, W, M, s, dQ, dK, dV, dB, dW)
    return column((dG @ K + G @ dK) * s)


QUERY.oracle(product("Q"))
QUERY.mutant("the bilinear term left out", "G @ dK -> 0 * (G @ dK)")
mutants(QUERY)

KEY = part("key", "Second differential in the keys", "product with the Hessian of attention, keys",
    r"d\,\frac{\partial\langle W,F\rangle}{\partial K} = s(\dot G^\top Q + G^\top dQ)")  # fmt: skip


@KEY.formula
def key_change(
    Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, M: Mask, s: Scale,
    dQ: QueryChange, dK: Keys, dV: Values, dB: Bias, dW: Cotangent,
) -> Any:  # fmt: skip
    """s (dG^T Q + G^T dQ) row by row, shape (n d_K, 1)."""
    _, _, G, dG = changes(Q, K, V, B, W, M, s, dQ, dK, dV, dB, dW)
    return column((dG.T @ Q + G.T @ dQ) * s)


KEY.oracle(product("K"))
KEY.mutant("the bilinear term left out", "G.T @ dQ -> 0 * (G.T @ dQ)")
mutants(KEY)

VALUE = part("value", "Second differential in the values", "product with the Hessian of attention, values",
    r"d\,\frac{\partial\langle W,F\rangle}{\partial V} = \dot P^\top W + P^\top dW")  # fmt: skip


@VALUE.formula
def value_change(
    Q: Queries, K: Keys, V: Values, B: Bias, W: Cotangent, M: Mask, s: Scale,
    dQ: QueryChange, dK: Keys, dV: Values, dB: Bias, dW: Cotangent,
) -> Any:  # fmt: skip
    """dP^T W + P^T dW row by row, shape (n d_V, 1)."""
    P, dP, _, _ = changes(Q, K, V, B, W, M, s, dQ, dK, dV, dB, dW)
    return column(dP.T @ W + P.T @ dW)


VALUE.oracle(product("V"))
VALUE.mutant("weights of outputs held fixed", "P.T @ dW -> 0 * (P.T @ dW)")
VALUE.mutant("keys held fixed", "changes(Q, K, V, B, W, M, s, dQ, dK, dV, dB, dW) -> "
             "changes(Q, K, V, B, W, M, s, dQ, 0 * dK, dV, dB, dW)")  # fmt: skip
VALUE.mutant("no mask", "changes(Q, K, V, B, W, M, s, dQ, dK, dV, dB, dW) -> "
             "changes(Q, K, V, B, W, 0 * M + 1, s, dQ, dK, dV, dB, dW)")  # fmt: skip
