"""The length of an addition problem (Appendix F), and the blocks of two layers for small tokens (Appendix G)."""

from __future__ import annotations

from typing import Annotated, Any

import flint

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention
from theorems.hessian.settings import Labels, Tokens
from verify.arithmetics import is_tensor, midpoint
from verify.matrix import column, concatenate, eye, frobenius_norm, rational, total
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Definition, Equal, QuadraticRate, Reading, Shape, TendsTo

Digits = Annotated[Any, Shape("2", "5")]
#: [W_Q, W_K, W_V] of one layer side by side, with d_K = 1.
Layer = Annotated[Any, Shape("d_V", "all")]

# -- Appendix G: two layers --------------------------------------------------------------------------------------------


def residual_layer(X: Any, W: Any) -> Any:
    """X + A X W_V for W = [W_Q, W_K, W_V] with d_K = 1, shape (L, d_V)."""
    return X + attention(X, W[:, :1], W[:, 1:2], W[:, 2:])


def _norms(X: Any, W_1: Any, W_2: Any, Y: Any) -> list[Any]:
    """||H_o(Q)||, ||H_f(Q)||, ||H_o(V)|| for both layers, then ||H_f(V)|| for both."""

    def output(Q: Any, V: Any, layer: int) -> Any:
        weights = [W_1, W_2]
        weights[layer] = concatenate([Q, weights[layer][:, 1:2], V], axis=1)
        return residual_layer(residual_layer(X, weights[0]), weights[1])

    scale = rational(2, X.shape[0] * X.shape[1])
    found, values = [], []
    for layer, W in enumerate((W_1, W_2)):
        point = {"Q": W[:, :1], "V": W[:, 2:], "layer": layer}
        gradient = (output(**point) - Y) * scale

        def paired(Q: Any, V: Any, layer: int, gradient: Any = gradient) -> Any:
            return total(gradient * output(Q, V, layer))

        J_Q, J_V = (jacobian(output, name)(**point) for name in ("Q", "V"))
        functional = [hessian(paired, (name, name))(**point) for name in ("Q", "V")]
        found += [J_Q.T @ J_Q * scale, functional[0], J_V.T @ J_V * scale]
        values.append(functional[1])
    return [frobenius_norm(H) for H in (*found, *values)]


LAYERS = Claim(HESSIAN, "hessian.sec-G-layers", label="Appendix G, text (multi-layer networks)",
    statement=r"""\text{``for a realistic range of } \sigma\in(0,1)\text{ [...] the query outer-product and functional
        blocks as well as the value outer-product block scale exactly as the prediction for a single layer. Moreover,
        the lines corresponding to earlier layers are lower on the log-log scale for } \sigma\in(0,1)\text{''; ``For
        layers other than the top one, the value functional Hessian block does not follow our theoretical prediction,
        because, for deeper layers, this Hessian block no longer equals zero''}""",
    assumptions=[Definition("tokens sigma X; weights, labels and loss do not depend on sigma", by=_norms)],
    name="growth of blocks at different layers",
    relation=TendsTo(scales=tuple(2**k for k in range(2, 7)), rate=QuadraticRate(order=1.8)),
    sizes={"L": (3, 3), "d_V": (2, 2), "all": (4, 4)}, domains=["generic"], expects="empirical",
    uses=("hessian.thm-3.2-vv", "hessian.fn-1-2", "hessian.eq-5-slopes", "hessian.fig-3a"),
    observed=r"""two residual softmax layers $X + AXW_V$ without MLP and layer norm, square loss, labels of order one;
        $L = 3$, $d_V = 2$, $d_K = 1$, normal entries of variance 0.64; local exponents
        $\log_2(\|H(\sigma)\|/\|H(\sigma/2)\|)$ at $\sigma = 2^{-4}, \ldots, 2^{-64}$, in balls. The value functional
        block of the lower layer is not zero and has exponent 5. The paper has GPT-2 blocks with MLP and cross-entropy
        and states neither depth, weights nor the exponents measured; whether the lines of earlier layers are lower
        depends on the weights and is not judged""",
    note="""Exponents, in the order $H_o(Q)$, $H_f(Q)$, $H_o(V)$ for the lower and the upper layer, then $H_f(V)$ of the
        lower one, then the norm of $H_f(V)$ of the upper one, which is zero. The residual stream is essential: without
        it uniform attention makes all tokens of the second layer equal in the limit, and its query blocks fall
        faster.""")  # fmt: skip


@LAYERS.formula
def predicted_exponents(X: Tokens, W_1: Layer, W_2: Layer, Y: Labels) -> Any:
    """Exponents of the three blocks per layer, of the lower H_f(V), and the norm of the upper one, shape (8, 1)."""
    return column(6, 5, 2, 6, 5, 2, 5, 0)


@LAYERS.part("sequence")
def local_exponents(scale: int, X: Any, W_1: Any, W_2: Any, Y: Any) -> Any:
    near, far = (_norms(X * rational(1, 2**power), W_1, W_2, Y) for power in (scale, scale + 1))
    exponents = [(a / b).log() / flint.arb(2).log() for a, b in zip(near[:-1], far[:-1], strict=True)]
    return [*exponents, near[-1]]


LAYERS.mutant("no residual in the exponents: sixth power for both query blocks", lambda: column(6, 6, 2, 6, 6, 2, 5, 0))
LAYERS.mutant("value block of the lower layer like that of the upper", lambda: column(6, 5, 2, 6, 5, 2, 0, 0))

# -- Appendix F: the length of a problem -------------------------------------------------------------------------------


def problem(D: Any) -> str:
    """The text of the problem whose summands have the digits |D| modulo 10."""
    entry = float if is_tensor(D) else midpoint
    first, second = (int("".join(str(int(abs(entry(x)) * 8) % 10) for x in row)) for row in D)
    return f"{first:05}+{second:05}={first + second:06}"


LENGTH = Claim(HESSIAN, "hessian.sec-F-length", label="Appendix F, text", name="sequence length of number addition",
    statement=r"\text{``For 5-digit number addition that we use, the sequence length is equal to } L = 17\text{''}",
    assumptions=[
        Definition("problems read XXXXX+YYYYY=ZZZZZZ; digits and signs are single tokens; the sum has six digits", by=problem),
    ],
    relation=Equal(), expects="reading", batched=False,
    reading=Reading("the sequence length", """the sequence is what the model is fed for next-token prediction, all
            tokens of a problem but the last"""),
    note="""A whole problem has $5 + 1 + 5 + 1 + 6 = 18$ tokens, $3n + 3$ for $n$ digits; 17 is right for inputs and
        wrong for problems.""")  # fmt: skip


@LENGTH.formula
def sequence_length(D: Digits) -> Any:
    """L = 17, shape (1, 1) (Appendix F)."""
    return eye(1) * 17


LENGTH.oracle(lambda D: eye(1) * len(problem(D)[:-1]))
LENGTH.mutant("the whole problem", lambda: eye(1) * 18)
LENGTH.mutant("a sum of five digits", lambda: eye(1) * 16)
