"""Beyond one layer and one sequence: batches and last layers (footnotes 1, 2), deeper networks (Appendix G), the task (F)."""

from __future__ import annotations

from typing import Annotated, Any

import flint

from theorems.hessian import HESSIAN
from theorems.hessian.blocks import SETUP, functional_hessian_query_key, outer_product_hessian_query_key
from theorems.hessian.definitions import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights, attention, square_loss
from theorems.hessian.functional import functional_hessian_query, functional_hessian_value_query
from theorems.hessian.kronecker import stacked
from theorems.hessian.outer_product import (
    outer_product_hessian_query,
    outer_product_hessian_value,
    outer_product_hessian_value_query,
)
from verify.arithmetic import is_tensor, midpoint
from verify.claims import Claim
from verify.derivatives import hessian, jacobian
from verify.matrix import column, concatenate, eye, frobenius_norm, rational, total
from verify.relations import Equal, QuadraticRate, TendsTo
from verify.shapes import Shape

Matrix = Any
Block = tuple[str, str]
Digits = Annotated[Any, Shape("2", "5")]
#: [W_Q, W_K, W_V] of one layer side by side, with d_K = 1.
Layer = Annotated[Any, Shape("d_V", "all")]

# -- footnotes 1 and 2 -------------------------------------------------------------------------------------------------

FOOTNOTES = Claim(
    HESSIAN,
    "hessian.fn-1-2",
    label="Footnotes 1 and 2",
    statement=r"\text{batch setting: average the Hessian formulas over the data points;}\quad\text{Theorems 3.1 and 3.2 generalize}"
    r"\text{ to the last layer of any deep self-attention network if } X \text{ is replaced with the output of the}"
    r"\text{ penultimate layer}",
    assumptions=SETUP,
    relation=Equal(),
    sizes={"L": (1, 3), "d_V": (1, 2), "d_K": (1, 2)},
    where=lambda sizes: sizes["L"] * sizes["d_V"] * sizes["d_K"] <= 6,
    uses=tuple(f"hessian.thm-3.{n}-{block}" for n in (1, 2) for block in ("vv", "qq", "vq", "qk")),
    exact=True,
    note="Both at once: two sequences of a batch through two layers, whose first shares the weights of the second transposed in"
    " their roles; the blocks (V,V), (Q,Q), (V,Q), (Q,K) in the weights of the second layer.",
)

BLOCKS: list[Block] = [("W_V", "W_V"), ("W_Q", "W_Q"), ("W_V", "W_Q"), ("W_Q", "W_K")]


def first_layer(X: Matrix, P_Q: Matrix, P_K: Matrix, P_V: Matrix) -> Matrix:
    """The output of the penultimate layer, shape (L, d_V)."""
    return attention(X, P_Q, P_K, P_V)


def _closed_blocks(X: Matrix, W_Q: Matrix, W_K: Matrix, W_V: Matrix, Y: Matrix) -> Matrix:
    """H = H_o + H_f of Theorems 3.1 and 3.2 for each of the blocks, all entries in one column."""
    return stacked(
        outer_product_hessian_value(X, W_Q, W_K, W_V),
        outer_product_hessian_query(X, W_Q, W_K, W_V) + functional_hessian_query(X, W_Q, W_K, W_V, Y),
        outer_product_hessian_value_query(X, W_Q, W_K, W_V) + functional_hessian_value_query(X, W_Q, W_K, W_V, Y),
        outer_product_hessian_query_key(X, W_Q, W_K, W_V) + functional_hessian_query_key(X, W_Q, W_K, W_V, Y),
    )


@FOOTNOTES.formula
def averaged_last_layer_hessian(
    X_1: Tokens, X_2: Tokens, P: ValueWeights, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels
) -> Any:
    """The average over two sequences of Theorems 3.1 and 3.2 at the output of the first layer, all entries in one column."""
    first, second = (first_layer(X, W_K, W_Q, P) for X in (X_1, X_2))
    both = _closed_blocks(first, W_Q, W_K, W_V, Y) + _closed_blocks(second, W_Q, W_K, W_V, -Y)
    return both * rational(1, 2)


def batch_loss(Z_1: Any, Z_2: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    """The mean loss of two sequences Z_1, Z_2 that reach the last layer, with labels Y and -Y."""
    losses = square_loss(attention(Z_1, W_Q, W_K, W_V), Y) + square_loss(attention(Z_2, W_Q, W_K, W_V), -Y)
    return losses * rational(1, 2)


@FOOTNOTES.oracle
def batch_hessian_by_differentiation(
    X_1: Tokens, X_2: Tokens, P: ValueWeights, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels
) -> Any:
    inner = [first_layer(X, W_K, W_Q, P) for X in (X_1, X_2)]
    return stacked(*(hessian(batch_loss, wrt)(*inner, W_Q, W_K, W_V, Y) for wrt in BLOCKS))


FOOTNOTES.mutant("sum over the batch", "rational(1, 2) -> 1")
FOOTNOTES.mutant("input of the network instead of the penultimate output", "first_layer(X, W_K, W_Q, P) -> X")
FOOTNOTES.mutant(
    "the formulas at the average sequence", "first -> (first + second) / 2; second -> (first + second) / 2; Y -> 0 * Y"
)

# -- Appendix G: two layers --------------------------------------------------------------------------------------------

LAYERS = Claim(
    HESSIAN,
    "hessian.sec-G-layers",
    label="Appendix G, text (multi-layer networks)",
    statement=r"\text{for layers other than the top one the value functional block does not equal zero, for the top layer it does;}"
    r"\text{ for } \sigma<1 \text{ the query outer-product and functional and the value outer-product blocks scale as predicted}"
    r"\text{ for a single layer } (6, 5, 2) \text{, and the lines of earlier layers are lower}",
    assumptions=["tokens sigma X; weights, labels and loss do not depend on sigma"],
    # sigma = 2^-(2^k): an error of order sigma is squared at each step
    relation=TendsTo(scales=tuple(2**k for k in range(2, 7)), rate=QuadraticRate(order=1.8)),
    sizes={"L": (3, 3), "d_V": (2, 2), "all": (4, 4)},
    domains=["generic"],
    expects="empirical",
    observed="two residual softmax layers X + A X W_V without MLP and layer norm, square loss, labels of order one; L = 3, d_V = 2,"
    " d_K = 1, normal entries of variance 0.64; local exponents log2(||H(sigma)|| / ||H(sigma / 2)||) at sigma = 2^-4 ... 2^-64,"
    " in balls.  The value functional block of the lower layer is not zero and has exponent 5.  The paper has GPT-2 blocks with"
    " MLP and cross-entropy and states neither depth, weights nor the exponents measured; whether the lines of earlier layers are"
    " lower depends on the weights and is not judged",
    uses=(
        "hessian.thm-3.2-vv",
        "hessian.fn-1-2",
        "hessian.eq-5-slopes",
        "hessian.fig-3a",
    ),
    note="Exponents, in the order H_o(Q), H_f(Q), H_o(V) for the lower and the upper layer, then H_f(V) of the lower one, then the"
    " norm of H_f(V) of the upper one, which is zero.  The residual stream is essential: without it uniform attention makes all"
    " tokens of the second layer equal in the limit, and its query blocks fall faster.",
)


def residual_layer(X: Any, W: Any) -> Any:
    """X + A X W_V for W = [W_Q, W_K, W_V] with d_K = 1, shape (L, d_V)."""
    return X + attention(X, W[:, :1], W[:, 1:2], W[:, 2:])


def _norms(X: Matrix, W_1: Matrix, W_2: Matrix, Y: Matrix) -> list[Any]:
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

LENGTH = Claim(
    HESSIAN,
    "hessian.sec-F-length",
    label="Appendix F, text",
    statement=r"\text{for 5-digit number addition the sequence length is } L = 17",
    assumptions=["problems read XXXXX+YYYYY=ZZZZZZ; digits and signs are single tokens; the sum has six digits"],
    relation=Equal(),
    expects="reading",
    reading="the sequence is what the model is fed for next-token prediction, all tokens of a problem but the last",
    batched=False,
    note="A whole problem has 5 + 1 + 5 + 1 + 6 = 18 tokens, 3 n + 3 for n digits; 17 is right for inputs and wrong for problems.",
)


def problem(D: Matrix) -> str:
    """The text of the problem whose summands have the digits |D| modulo 10."""
    entry = float if is_tensor(D) else midpoint
    first, second = (int("".join(str(int(abs(entry(x)) * 8) % 10) for x in row)) for row in D)
    return f"{first:05}+{second:05}={first + second:06}"


@LENGTH.formula
def sequence_length(D: Digits) -> Any:
    """L = 17, shape (1, 1) (Appendix F)."""
    return eye(1) * 17


LENGTH.oracle(lambda D: eye(1) * len(problem(D)[:-1]))
LENGTH.mutant("the whole problem", lambda: eye(1) * 18)
LENGTH.mutant("a sum of five digits", lambda: eye(1) * 16)
