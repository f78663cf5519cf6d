"""Sections 1 and 4.4: what zero logits do to attention, what equal query and key weights do, on what a softmax depends."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import TokenLogits, attention_weights, self_attention
from theorems.convergence.part_1_introduction.scalings import ValueRows
from theorems.convergence.settings import WIDTHS, Tokens
from verify.matrix import absolute, eye, exp, maximum, ones, rational, softmax, total
from verify.oracles import jacobian, standard_normal
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, PowerRate, Real, Shape, TendsTo

OtherTokens = Annotated[Any, Shape("d_s", "d")]
Factor = Annotated[Any, Real(-2.0, 2.0)]

# -- zero logits -------------------------------------------------------------------------------------------------------


def pooled(X: Tokens, W_V: ValueRows) -> Any:
    """(1/d_s) 1 X W_V^T, shape (d_s, d_v): every token gets the mean of the values."""
    d_s = X.shape[0]
    return ones(d_s, d_s) @ X @ W_V.T * rational(1, d_s)


LINEAR = Claim(CONVERGENCE, "convergence.sec-1-linear-in-tokens", label="Section 1, second bullet, last sentence",
    statement=r"""\tau_0=d_m^{-1},\ d_m\to\infty:\ \text{That means, the non-linearity is missing}""",
    name="pooled attention is linear in the tokens",
    assumptions=[Definition("the limit of convergence.softmax-pooling, attention with all logits 0", by=self_attention)],
    relation=Equal(), all_sizes=True, sizes={"d_s": (1, 4), "d": (1, 3), "d_v": (1, 2)},
    uses=("convergence.softmax-pooling",),
    note="""What is missing is that of the softmax: attention with zero logits is additive and homogeneous in the tokens. The
        ReLU behind it remains, and the network stays nonlinear.""",
)  # fmt: skip


@LINEAR.formula
def sum_of_pooled_tokens(X: Tokens, Y: OtherTokens, W_V: ValueRows, c: Factor) -> Any:
    """c A(X) + A(Y) for A(X) = (1/d_s) 1 X W_V^T, shape (d_s, d_v) (Section 1)."""
    return pooled(X, W_V) * c + pooled(Y, W_V)


@LINEAR.oracle
def attention_with_zero_logits(X: Tokens, Y: OtherTokens, W_V: ValueRows, c: Factor) -> Any:
    """Self-attention of c X + Y with W_Q = W_K = 0."""
    none = W_V * 0
    return self_attention(X * c + Y, none, none, W_V, rational(1))


LINEAR.mutant("sum in place of mean", lambda value, X: value * X.shape[0])
LINEAR.mutant("each token attends to itself", "pooled(Y, W_V) -> Y @ W_V.T")


ALL_ONE = Claim(CONVERGENCE, "convergence.sec-4.4-all-one", label="Section 4.4, Technical difficulty, last paragraph",
    statement=r"""\text{previous NTK-based analysis is only valid under the }d_m^{-1}\text{ setting (the softmax degenerates to
        an all-one vector)}""",
    name="softmax of zero logits as an all-one vector", relation=Equal(), sizes={"d_s": (1, 6)}, expects="refuted",
    assumptions=[Definition("degenerates: all logits are 0, as Section 1 has it", by=attention_weights)],
    severity="slip", correction="convergence.softmax-of-zero",
    note=r"""The factor $1/d_s$ is missing. Lemma 1 and the remark after it have it, $\frac{1}{d_s} \mathbf 1$; Appendix D.1
        drops it once more, in $\mathrm{diag}(\mathbf 1) - \mathbf 1 \mathbf 1^\top$.""",
)  # fmt: skip


@ALL_ONE.formula
def all_one_vector(u: TokenLogits) -> Any:
    """1 in every entry, shape (1, d_s) (Section 4.4)."""
    return u * 0 + ones(1, u.shape[1])


ALL_ONE.oracle(lambda u: attention_weights(u * 0))
ALL_ONE.mutant("2 in every entry", lambda value: value * 2)
ALL_ONE.mutant("0 in every entry", lambda value: value * 0)
ALL_ONE.counterexample("two tokens: 1/2 and 1/2", u=[[0, 0]])


ZERO = Claim(CONVERGENCE, "convergence.softmax-of-zero", label="The softmax of equal logits", relation=Equal(),
    statement=r"\mathrm{softmax}(c\,\mathbf 1_{d_s})=\tfrac1{d_s}\mathbf 1_{d_s}\quad\text{for every number }c",
    name="softmax of equal logits", sizes={"d_s": (1, 6)}, all_sizes=True, corrects="convergence.sec-4.4-all-one",
    of_project=True)  # fmt: skip


@ZERO.formula
def uniform_weights(u: TokenLogits, c: Factor) -> Any:
    """1/d_s in every entry, shape (1, d_s)."""
    return u * 0 + ones(1, u.shape[1]) * rational(1, u.shape[1])


ZERO.oracle(lambda u, c: attention_weights(u * 0 + ones(1, u.shape[1]) * c))
ZERO.mutant("all-one vector, as printed", "rational(1, u.shape[1]) -> 1")
ZERO.mutant("1/d_s^2", "rational(1, u.shape[1]) -> rational(1, u.shape[1] ** 2)")


# -- equal query and key weights ---------------------------------------------------------------------------------------

SAME = Claim(CONVERGENCE, "convergence.sec-1-same-query-key", label="Section 1, after the second bullet",
    statement=r"""\text{For instance, under the }\tau_0=d_m^{-1}\text{ setting, Yang [2020] use the same query and key matrices
        to prevent the softmax from degenerating into a pooling layer.}""",
    name="attention with equal query and key weights", relation=TendsTo(WIDTHS, PowerRate(0.5), instances=3),
    all_sizes=True, assumptions=[
        Definition("W_Q = W_K with independent entries N(0, 1), tau_0 = 1/d_m", by=standard_normal),
        Definition("what it does not degenerate to: the limit is the softmax of X X^T", by=softmax),
    ],
    without_domains={
        "huge": "tokens of length 32 give logits of order 1000, whose deviations saturate the softmax at these widths"
    },
    sizes={"d_s": (2, 4), "d": (1, 3)}, uses=("convergence.tau0-one-lln",),
    note=r"""$W^\top W / d_m$ tends to the identity, so the weights tend to the softmax of $X X^\top$, uniform only where all
        tokens are equal. The source is not at hand; decided is what the sentence says it achieves.""",
)  # fmt: skip


@SAME.formula
def limiting_weights(X: Tokens) -> Any:
    """softmax(X X^T), shape (d_s, d_s) (Section 1)."""
    return softmax(X @ X.T)


def _logits(X: Any, scale: Any, generator: Any) -> Any:
    """X W^T W X^T / d_m, shape (d_s, d_s), at one draw of the weights."""
    W = standard_normal(generator, X, scale, X.shape[1])
    return X @ W.T @ W @ X.T * rational(1, scale)


SAME.part("sequence", lambda X, scale, generator: softmax(_logits(X, scale, generator)))


@SAME.part("square")
def squared_deviation_of_logits(X: Tokens, scale: int, generator: Any) -> Any:
    """A quarter of the sum of the squares of X W^T W X^T / d_m - X X^T, since the softmax is 1/2-Lipschitz."""
    deviation = _logits(X, scale, generator) - X @ X.T
    return total(deviation * deviation) * rational(1, 4)


@SAME.part("factor")
def variance_of_logits(X: Tokens) -> Any:
    """(||X X^T||_F^2 + ||X||_F^4) / 4: d_m / 4 times the sum of the variances of the logits."""
    return (total((X @ X.T) * (X @ X.T)) + total(X * X) * total(X * X)) * rational(1, 4)


SAME.part("rate", lambda scale: Fraction(1) / scale)
SAME.mutant("pooling", "softmax(X @ X.T) -> softmax(X @ X.T * 0)")
SAME.mutant("each token attends to itself", lambda X: X @ X.T * 0 + eye(len(X)))


# -- dependence on all inputs ------------------------------------------------------------------------------------------

MORE_TOKENS = Assumption(
    "d_s >= 2: with one token the softmax is 1 whatever the input", sizes=lambda sizes: sizes["d_s"] >= 2
)

DEPENDS = Claim(CONVERGENCE, "convergence.sec-1-all-inputs", label="Section 1; Section 4.4, Technical difficulty",
    statement=r"\text{each element of the output [of softmax] depends on all inputs}",
    name="every entry of the softmax Jacobian", assumptions=[MORE_TOKENS, Definition("v = softmax(u)", by=attention_weights)],
    relation=AtMost(left="exp(-2 (max u - min u)) / d_s^2", ascent=False), sizes={"d_s": (2, 5)}, uses=("convergence.lemma-11",),
    note=r"""What is compared: no entry of the Jacobian vanishes at any input, $|\partial v^{(j)} / \partial u^{(k)}| \ge e^{-2
        (\max u - \min u)} / d_s^2 > 0$ for all $j$, $k$, since $v^{(j)} v^{(k)}$ and $v^{(k)} (1 - v^{(k)})$ are at least
        that for $d_s \ge 2$. With one token nothing depends on the input.""",
)  # fmt: skip


@DEPENDS.formula
def sizes_of_slopes(u: TokenLogits) -> Any:
    """The absolute entries of the Jacobian of the softmax, shape (d_s, d_s) (Section 1)."""
    return absolute(jacobian(attention_weights, "u")(u))


@DEPENDS.oracle
def least_slope(u: TokenLogits) -> Any:
    d_s = u.shape[1]
    least = exp((maximum(u) + maximum(-u)) * -2) * rational(1, d_s * d_s)
    return ones(d_s, d_s) * least


DEPENDS.mutant("no dependence on other inputs", lambda value, u: value * eye(u.shape[1]))
DEPENDS.mutant("squared", lambda value: value * value)
