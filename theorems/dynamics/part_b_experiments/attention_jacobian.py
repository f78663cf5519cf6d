"""Appendix B.5, Eqs. (92), (93) and (95): the Jacobian of self-attention and its value part.

Surprising: the output weights W_h^O are missing in (93) and (95).
"""

from __future__ import annotations

from typing import Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Heads, QueryWeights, SquareWeights, Tokens, attention_head, multi_head_attention,
)  # fmt: skip
from theorems.dynamics.settings import HEADS_FIT, NUMERATOR_LAYOUT, Factor, HeadQueries
from verify.matrix import added, concatenate, eye, kron, mapped, parts, rational, softmax, sqrt, trace, vec_r
from verify.oracles import jacobian
from verify.vocabulary import Claim, Construction, Convention, Definition, Equal, Setting


def attention_weights(X: Any, W_Q: Any, W_K: Any, beta: Any) -> Any:
    """P = softmax(beta X W_Q W_K^T X^T), shape (S, S); beta = 1/sqrt(D_H) in Eq. (92)."""
    return softmax(X @ W_Q @ W_K.T @ X.T * beta)


def head_slices(W: Any, H: int) -> list[Any]:
    """The columns of W (D, D) that belong to each head, each (D, D/H)."""
    return parts(W, H, 1)


def head_weights(X: Any, W_Q: Any, W_K: Any, beta: Any, H: int) -> list[Any]:
    """P_h for h = 1, ..., H, each (S, S)."""
    return mapped(lambda Q, K: attention_weights(X, Q, K, beta), head_slices(W_Q, H), head_slices(W_K, H))


def output_values(W_V: Any, W_O: Any, H: int) -> list[Any]:
    """W_h^V W_h^O for h = 1, ..., H, each (D, D)."""
    return mapped(lambda V, O: V @ O, head_slices(W_V, H), parts(W_O, H, 0))


ROW_MAJOR = Convention("row-major vec", by=vec_r)

ALL_HEADS = Setting(
    DYNAMICS,
    "Appendix B.5, all heads",
    assumptions=[HEADS_FIT],
    sizes={"S": (1, 3), "D": (1, 4), "H": (1, 4)},
    exact=True,
)

EQ_92 = Claim(DYNAMICS, "dynamics.eq-92", label="Eq. (92) (Noci et al., Lemma A.3)",
    statement=r"""J=\frac{\partial\operatorname{SA}(X)}{\partial X}=(I_S\otimes W^{V\top}X^\top)\frac{\partial
        P}{\partial X}+P\otimes W^{V\top},\quad P=\operatorname{softmax}(XW^QW^{K\top}X^\top/\sqrt{D_H})""",
    assumptions=[NUMERATOR_LAYOUT],
    name="Jacobian of a self-attention head", relation=Equal(), all_sizes=True,
    sizes={"S": (1, 3), "D": (1, 3), "D_H": (1, 4)}, exact=True,
    note="Exact arithmetic decides at $D_H = 1$ and 4, where the root is rational.")  # fmt: skip


@EQ_92.formula
def attention_jacobian_by_terms(X: Tokens, W_Q: HeadQueries, W_K: Factor, W_V: Factor) -> Any:
    """(I_S (x) W_V^T X^T) dP/dX + P (x) W_V^T, shape (S D_H, S D) (Eq. (92))."""
    beta = rational(1) / sqrt(W_Q.shape[1])
    P, dP = attention_weights(X, W_Q, W_K, beta), jacobian(attention_weights, "X")(X, W_Q, W_K, beta)
    return kron(eye(X.shape[0]), W_V.T @ X.T) @ dP + kron(P, W_V.T)


EQ_92.oracle(lambda X, W_Q, W_K, W_V: jacobian(attention_head, "X")(X, W_Q, W_K, W_V, rational(1) / sqrt(W_Q.shape[1])))
EQ_92.mutant("derivative of P left out", "dP -> 0 * dP")
EQ_92.mutant("P transposed", "P -> P.T")
EQ_92.mutant("column-major order in the value term", "kron(P, W_V.T) -> kron(W_V.T, P)")


B5_VEC = Claim(DYNAMICS, "dynamics.b.5-vec", label="B.5, text", name="vectorised self-attention head",
    statement=r"\operatorname{vec}(\operatorname{SA}(X))=(P\otimes W^{V\top})x",
    assumptions=[ROW_MAJOR],
    relation=Equal(), all_sizes=True, sizes={"S": (1, 4), "D": (1, 3), "D_H": (1, 3)}, exact=True)  # fmt: skip


@B5_VEC.formula
def attention_as_kronecker_product(X: Tokens, W_Q: HeadQueries, W_K: Factor, W_V: Factor, beta: Beta) -> Any:
    """(P (x) W_V^T) vec X, shape (S D_H, 1)."""
    P = attention_weights(X, W_Q, W_K, beta)
    return kron(P, W_V.T) @ vec_r(X)


B5_VEC.oracle(lambda X, W_Q, W_K, W_V, beta: vec_r(attention_head(X, W_Q, W_K, W_V, beta)))
B5_VEC.mutant("column-major order", "kron(P, W_V.T) -> kron(W_V.T, P)")
B5_VEC.mutant("P transposed", "P -> P.T")


EQ_93 = Claim(ALL_HEADS, "dynamics.eq-93", label="Eq. (93)",
    statement=r"""J_t\approx\sum_{h=1}^HP_h^{(t)}\otimes W_h^{V\top},\quad
        J_t=\partial\operatorname{MSA}(X^{(t)})/\partial X^{(t)}\in\mathbb R^{DS\times DS}""",
    assumptions=[HEADS_FIT, Definition(r"W_h^V \in R^{D x D_H}", by=head_slices)],
    name="Jacobian of multi-head attention, constant attention", relation=Equal(),
    sizes={"S": (1, 3), "D": (1, 4), "H": (1, 4)}, exact=False, expects="refuted", severity="slip",
    correction="dynamics.eq-93-output",
    note=r"""The output weights are missing: $P_h \otimes W_h^{V\top}$ has $SD/H$ rows, $J_t$ has $SD$. For $H = 1$ the
        shapes agree and the values differ by $W^O$, however small the derivative of $P$. Reading $W_h^V$ as
        $W_h^VW_h^O$, as after Eq. (19), makes it right.""")  # fmt: skip


def _shape_of_sum(terms: list[Any]) -> Any:
    """Rows and columns of a sum of matrices, shape (2,)."""
    return list(sum(terms[1:], terms[0]).shape)


EQ_93.inputs(X=Tokens, W_Q=QueryWeights, W_K=SquareWeights, W_V=SquareWeights, W_O=SquareWeights, beta=Beta, H=Heads)


@EQ_93.formula
def shape_of_head_sum(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """Rows and columns of sum_h P_h (x) W_h^V^T (Eq. (93))."""
    weights, values = head_weights(X, W_Q, W_K, beta, H), head_slices(W_V, H)
    return _shape_of_sum([kron(P, V.T) for P, V in zip(weights, values, strict=True)])


EQ_93.oracle(
    lambda X, W_Q, W_K, W_V, W_O, beta, H: list(
        jacobian(multi_head_attention, "X")(X, W_Q, W_K, W_V, W_O, beta, H).shape
    )
)


@EQ_93.counterexample("one token of dimension 2, two heads")
def _() -> dict[str, Any]:
    identity = [[1, 0], [0, 1]]
    return {"X": [[1, 0]], "W_Q": identity, "W_K": identity, "W_V": identity, "W_O": identity, "beta": 1, "H": 2}


EQ_93.mutant("W_h^V W_h^O in place of W_h^V", "head_slices(W_V, H) -> output_values(W_V, W_O, H)")
EQ_93.mutant("W_h^V not transposed", "V.T -> V")


EQ_93_OUTPUT = Claim(ALL_HEADS, "dynamics.eq-93-output", label="Eq. (93) with output weights",
    statement=r"""\frac{\partial\operatorname{MSA}(X)}{\partial X}\Big|_{P_h\text{ constant}}=\sum_{h=1}^HP_h
        \otimes(W_h^VW_h^O)^\top,\quad P_h=\operatorname{softmax}(\beta XW_h^QW_h^{K\top}X^\top)""",
    name="Jacobian of multi-head attention, constant attention corrected", relation=Equal(), all_sizes=True,
    of_project=True, corrects="dynamics.eq-93")  # fmt: skip


def value_part(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int, transposed: bool = True) -> Any:
    """sum_h P_h (x) (W_h^V W_h^O)^T, shape (S D, S D)."""

    def term(P: Any, M: Any) -> Any:
        return kron(P, M.T if transposed else M)

    return added(mapped(term, head_weights(X, W_Q, W_K, beta, H), output_values(W_V, W_O, H)))


@EQ_93_OUTPUT.formula
def jacobian_at_constant_weights(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """sum_h P_h (x) (W_h^V W_h^O)^T, shape (S D, S D): the Jacobian of MSA but for the derivative of P."""
    return value_part(X, W_Q, W_K, W_V, W_O, beta, H)


@EQ_93_OUTPUT.oracle
def differentiated_at_constant_weights(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int) -> Any:
    weights = mapped(lambda Q, K: softmax(X @ Q @ K.T @ X.T * beta), head_slices(W_Q, H), head_slices(W_K, H))

    def attended(Y: Any) -> Any:
        return concatenate(mapped(lambda P, V: P @ Y @ V, weights, head_slices(W_V, H)), axis=1) @ W_O

    return jacobian(attended, "Y")(X)


EQ_93_OUTPUT.mutant("values not transposed", transposed=False)
EQ_93_OUTPUT.mutant("weights of the first head for all",
    lambda X, W_Q, W_K, W_V, W_O, beta, H: kron(head_weights(X, W_Q, W_K, beta, H)[0], (W_V @ W_O).T))  # fmt: skip
EQ_93_OUTPUT.mutant("block columns of W^O", "W_O -> W_O.T")


EQ_95 = Claim(DYNAMICS, "dynamics.eq-95", label="Eq. (95)", name="pseudo-energy with initial attention",
    statement=r"E_{\text{pseudo}}\approx-x_t^\top\Big(\sum_{h=1}^HP_h^{(0)}\otimes W_h^{V\top}\Big)x_t",
    assumptions=[
        Construction("H = 1, without which the matrix is not square", shapes={"W_V": ("D", "D")}),
        Definition("t = 0, where P^{(0)} is the present P and nothing is approximated; C neglected", by=attention_weights),
        Definition(r"E_{\text{pseudo}} = -\operatorname{Tr}(X^\top\operatorname{MSA}(X))", by=multi_head_attention),
    ],
    relation=Equal(), sizes={"S": (1, 3), "D": (1, 3)}, expects="refuted", severity="slip", repeats="dynamics.eq-93",
    correction="dynamics.eq-95-output", uses=("dynamics.eq-93",),
    note="""$W^O$ is missing, as in Eq. (93), and with it any relation between the two sides: $W^O = -I$ changes the
        sign of one of them. For $H > 1$ the quadratic form is not defined.""")  # fmt: skip
EQ_95.inputs(X=Tokens, W_Q=QueryWeights, W_K=SquareWeights, W_V=SquareWeights, W_O=SquareWeights, beta=Beta)


@EQ_95.formula
def quadratic_form_of_values(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    """-x^T (P (x) W_V^T) x for H = 1, shape (1, 1) (Eq. (95))."""
    return -vec_r(X).T @ kron(attention_weights(X, W_Q, W_K, beta), W_V.T) @ vec_r(X)


EQ_95.oracle(
    lambda X, W_Q, W_K, W_V, W_O, beta: (
        vec_r(X)[:1] * 0 - trace(X.T @ multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, 1))
    )
)
EQ_95.counterexample(
    "numbers: one token 1, values 1, output weight 2", X=[[1]], W_Q=[[1]], W_K=[[1]], W_V=[[1]], W_O=[[2]], beta=1
)
EQ_95.mutant("sign", "-vec_r(X).T -> vec_r(X).T")
EQ_95.mutant("with output weights", "W_V -> W_V @ W_O")


EQ_95_OUTPUT = Claim(ALL_HEADS, "dynamics.eq-95-output",
    label="Eq. (95) with output weights, at the present attention weights",
    statement=r"""-\operatorname{Tr}(X_t^\top\operatorname{MSA}(X_t))=-x_t^\top\Big(\sum_{h=1}^HP_h^{(t)}
        \otimes(W_h^VW_h^O)^\top\Big)x_t,\quad x_t=\operatorname{vec}X_t,\ P_h^{(t)}=\operatorname{softmax}(\beta
        X_tW_h^QW_h^{K\top}X_t^\top)""",
    name="quadratic form of the drive with output weights", relation=Equal(), all_sizes=True, of_project=True,
    corrects="dynamics.eq-95",
    note=r"""No approximation. With $P_h^{(0)}$ for $P_h^{(t)}$ the error is at most $\|x_t\|^2\sum_h
        \|P_h^{(t)}-P_h^{(0)}\|_2\|W_h^VW_h^O\|_2$.""")  # fmt: skip


@EQ_95_OUTPUT.formula
def quadratic_form_of_outputs(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """-x^T (sum_h P_h (x) (W_h^V W_h^O)^T) x, shape (1, 1)."""
    return -vec_r(X).T @ value_part(X, W_Q, W_K, W_V, W_O, beta, H) @ vec_r(X)


EQ_95_OUTPUT.oracle(
    lambda X, W_Q, W_K, W_V, W_O, beta, H: (
        vec_r(X)[:1] * 0 - trace(X.T @ multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H))
    )
)
EQ_95_OUTPUT.mutant("values not transposed", transposed=False)
EQ_95_OUTPUT.mutant("one half", lambda value: value * rational(1, 2))
