"""Eqs. (12) and (13), line by line: the Jacobian K of self-attention by its input, up to Eq. (10).

Section A.3 calls A V, without W_O, SA(X), against Eq. (3); lines 4 to 6 of Eq. (13) lack six transposes, and the products of
line 6 do not fit together whatever its transposes.  The last line repeats Eq. (10) and is right.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import QueryWeights, Tokens, Weights, attended_values, attention_matrix
from theorems.skipless.quantities import COLUMN_MAJOR, attention_slope, input_jacobian
from verify.matrix import COLUMN, ROW, concatenate, eye, kron, ones
from verify.oracles import jacobian
from verify.vocabulary import Claim, Definition, Equal, Setting, Shape

SECTION_A3 = Setting(SKIPLESS, "Section A.3", assumptions=[COLUMN_MAJOR], sizes={"n": (1, 4), "d": (1, 3)}, exact=True)
SINGLE_HEAD = SECTION_A3.extended(
    assumptions=[Definition("A = softmax(X W_Q W_K^T X^T), V = X W_V, single head", by=attention_matrix)])  # fmt: skip


def values(X: Tokens, W_V: Weights) -> Any:
    """V = X W_V, shape (n, d)."""
    return X @ W_V


def through_attention(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """(V^T (x) I_n) A', the derivative of A V with V kept fixed, shape (n d, n d)."""
    return kron((X @ W_V).T, eye(X.shape[0])) @ attention_slope(X, W_Q, W_K)


EQ_12_1 = Claim(SINGLE_HEAD, "skipless.eq-12-line-1", label="Eq. (12), line 1", name="Jacobian of attention, first line",
    statement=r"""
        \frac{\partial\mathrm{vec}\left(\mathrm{SA}_\ell(\hat{\mathbf{X}}_{\ell-1})\right)}{\partial\hat{\mathbf{x}}^{(
        \ell-1)}}=\frac{\partial\mathrm{vec}\left(\mathbf{A}_\ell(\hat{\mathbf{X}}_{\ell-1})\mathbf{V}_\ell\right)}{
        \partial\hat{\mathbf{x}}^{(\ell-1)}}""",
    assumptions=[Definition("SA(X) = A V W_O, Eq. (3)", by=input_jacobian)],
    relation=Equal(), expects="refuted", severity="slip", correction="skipless.eq-12-line-1-corrected",
    note=r"""By Eq. (3) a factor $W^O$ is missing on the right. Eq. (13) goes on to differentiate $\mathrm{SA}(X)W^O$,
        so that $\mathrm{SA}$ stands for $AV$ in Section A.3; with that the line is $\mathrm{SA} = AV$, a tautology.""",
)  # fmt: skip


@EQ_12_1.formula
def attended_values_jacobian(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """d vec(A V) / d vec X, shape (n d, n d) (Eq. (12), line 1)."""
    return jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V)


EQ_12_1.oracle(input_jacobian)
ZERO, ONE = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
TURN = [[0, 1], [-1, 0]]
EQ_12_1.counterexample(
    "two tokens, uniform attention, W_O a rotation: the right-hand side is symmetric, the left-hand side is not",
    X=[[1, 0], [0, 2]], W_Q=ZERO, W_K=ZERO, W_V=ONE, W_O=TURN,
)  # fmt: skip
EQ_12_1.mutant("values taken as constant", lambda X, W_Q, W_K, W_V: 2 * through_attention(X, W_Q, W_K, W_V))
EQ_12_1.mutant("attention matrix taken as constant",
    lambda X, W_Q, W_K, W_V: 2 * kron(W_V, attention_matrix(X, W_Q, W_K)))  # fmt: skip

EQ_12_1_CORRECTED = EQ_12_1.corrected("skipless.eq-12-line-1-corrected", label="Eq. (12), line 1, corrected",
    statement=r"""
        \frac{\partial\mathrm{vec}(\mathrm{SA}(\mathbf{X}))}{\partial\mathrm{vec}(\mathbf{X})}=(\mathbf{W}^{O\top}
        \otimes\mathbf{I}_n)\frac{\partial\mathrm{vec}(\mathbf{A}\mathbf{V})}{\partial\mathrm{vec}(\mathbf{X})},\quad
        \mathrm{SA}(\mathbf{X})=\mathbf{A}\mathbf{V}\mathbf{W}^O""",
    name="Jacobian of attention, first line, corrected", all_sizes=True, assumptions=[])  # fmt: skip


@EQ_12_1_CORRECTED.formula
def projected_attended_values_jacobian(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(W_O^T (x) I_n) d vec(A V) / d vec X, shape (n d, n d)."""
    return kron(W_O.T, eye(X.shape[0])) @ jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V)


EQ_12_1_CORRECTED.mutant("without W_O, as printed", attended_values_jacobian)
EQ_12_1_CORRECTED.mutant("W_O not transposed", "W_O.T -> W_O")
EQ_12_1_CORRECTED.mutant("row-major vec", layout=ROW)

EQ_12_2 = Claim(SINGLE_HEAD, "skipless.eq-12-line-2", label="Eq. (12), line 2", name="product rule for attended values",
    statement=r"""
        \partial\mathrm{vec}(\mathbf{A}_\ell\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}=(\mathbf{V}_\ell^\top
        \otimes\mathbf{I}_n)\mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)\,\partial\mathrm{vec}(\mathbf{V}_
        \ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}""",
    relation=Equal(), all_sizes=True)  # fmt: skip


@EQ_12_2.formula
def product_rule(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """(V^T (x) I_n) A' + (I_d (x) A) dvec V/dvec X, shape (n d, n d) (Eq. (12), line 2)."""
    A, I_d, slope_of_values = attention_matrix(X, W_Q, W_K), eye(X.shape[1]), jacobian(values, "X", COLUMN)(X, W_V)
    return through_attention(X, W_Q, W_K, W_V) + kron(I_d, A) @ slope_of_values


EQ_12_2.oracle(lambda X, W_Q, W_K, W_V: jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V))
EQ_12_2.mutant("factors of the second Kronecker product exchanged", "kron(I_d, A) -> kron(A, I_d)")
EQ_12_2.mutant("first term dropped", "through_attention(X, W_Q, W_K, W_V) -> 0 * slope_of_values")
EQ_12_2.mutant("A transposed in the second term", "A -> A.T")

EQ_12_3 = Claim(SECTION_A3, "skipless.eq-12-line-3", label="Eq. (12), line 3", name="Jacobian of the values",
    assumptions=[Definition("V = X W_V", by=values)],
    statement=r"""
        (\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)\frac{\partial
        \mathrm{vec}(\mathbf{V}_\ell)}{\partial\hat{\mathbf{x}}^{(\ell-1)}}=(\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)
        \mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)(\mathbf{W}_\ell^{V\top}\otimes\mathbf{I}_{n\times n})""",
    relation=Equal(), all_sizes=True,
    note=r"""Checked as $\partial\mathrm{vec}(V)/\partial\mathrm{vec}(X) = W^{V\top}\otimes I_n$, the factor in which
        the two sides differ.""")  # fmt: skip


@EQ_12_3.formula
def values_jacobian(X: Tokens, W_V: Weights) -> Any:
    """W_V^T (x) I_n, shape (n d, n d) (Eq. (12), line 3)."""
    return kron(W_V.T, eye(X.shape[0]))


EQ_12_3.oracle(lambda X, W_V: jacobian(values, "X", COLUMN)(X, W_V))
EQ_12_3.mutant("W_V not transposed", lambda X, W_V: kron(W_V, eye(X.shape[0])))
EQ_12_3.mutant("factors exchanged, as for row-major vec", lambda X, W_V: kron(eye(X.shape[0]), W_V.T))

EQ_12_4 = Claim(SINGLE_HEAD, "skipless.eq-12-line-4", label="Eq. (12), line 4", name="Jacobian of attended values",
    statement=r"""
        (\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)(\mathbf{W}_
        \ell^{V\top}\otimes\mathbf{I}_{n\times n})=(\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_
        \ell^{V\top}\otimes\mathbf{A}_\ell""",
    general=r"It holds of any matrix in the place of $\mathbf{A}_\ell$: the mixed product of Kronecker products.",
    relation=Equal(), all_sizes=True, proof=("skipless.eq-12-line-1", "skipless.eq-12-line-2", "skipless.eq-12-line-3"),
)  # fmt: skip


@EQ_12_4.formula
def attended_values_closed_form(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """(V^T (x) I_n) A' + W_V^T (x) A, shape (n d, n d) (Eq. (12), line 4)."""
    A = attention_matrix(X, W_Q, W_K)
    return through_attention(X, W_Q, W_K, W_V) + kron(W_V.T, A)


@EQ_12_4.oracle
def attended_values_line_three(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """The third line, both Kronecker products multiplied out."""
    A, (n, d) = attention_matrix(X, W_Q, W_K), X.shape
    return through_attention(X, W_Q, W_K, W_V) + kron(eye(d), A) @ kron(W_V.T, eye(n))


EQ_12_4.mutant("W_V not transposed", "W_V.T -> W_V")
EQ_12_4.mutant("A transposed", "A -> A.T")
EQ_12_4.mutant("factors exchanged", "kron(W_V.T, A) -> kron(A, W_V.T)")

Summands = Annotated[Any, Shape("n", "d")]

#: What lines 4-6 of Eq. (13) share.
NO_TRANSPOSES = (
    r"Lines 4 to 6 lack six transposes on $W^O$ and $W^V$, while $V^\top$ beside them, Eq. (12)"
    " before and the last line after them have theirs."
)


def projected(S: Summands, W_O: Weights) -> Any:
    """S W_O, shape (n, d)."""
    return S @ W_O


EQ_13_1 = Claim(SINGLE_HEAD, "skipless.eq-13-lines-1-3", label="Eq. (13), lines 1-3",
    statement=r"""
        \mathbf{K}_\ell=\frac{\partial f_{\mathrm{SA}}(\hat{\mathbf{x}}^{(\ell-1)};\theta^{(\ell)})}{\partial\hat{
        \mathbf{x}}^{(\ell-1)}}\in\mathbb{R}^{nd\times nd},\ =\frac{\partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{
        \ell-1})\mathbf{W}_\ell^O)}{\partial\hat{\mathbf{x}}^{(\ell-1)}}=\frac{\partial\mathrm{vec}(\mathrm{SA}_\ell(
        \mathbf{X}_{\ell-1})\mathbf{W}_\ell^O)}{\partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{\ell-1}))}\frac{
        \partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{\ell-1}))}{\partial\hat{\mathbf{x}}^{(\ell-1)}}""",
    assumptions=[Definition("SA(X) = A V W_O, Eq. (3), of which K_l is the Jacobian, Eq. (7)", by=input_jacobian)],
    name="chain rule through the output weights", relation=Equal(), expects="refuted", severity="slip",
    repeats="skipless.eq-12-line-1",
    correction="skipless.eq-13-lines-1-3-corrected", uses=("skipless.eq-12-line-1",),
    note=r"""The misprint of Eq. (12), line 1: $\mathrm{SA}$ stands for $AV$ in Section A.3; with Eq. (3) $W^O$ is
        applied twice. Introduced as the Jacobian of the attention matrix; it is that of the output of self-attention.
        """)  # fmt: skip


def _chain(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """dvec(S W_O)/dvec S at S = A X W_V, times dvec S/dvec X."""
    S = attended_values(X, W_Q, W_K, W_V)
    outer, inner = jacobian(projected, "S", COLUMN), jacobian(attended_values, "X", COLUMN)
    return outer(S, W_O) @ inner(X, W_Q, W_K, W_V)


@EQ_13_1.formula
def chain_rule_as_printed(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """dvec(S W_O)/dvec S at S = A V W_O, times dvec S/dvec X, shape (n d, n d) (Eq. (13), line 3)."""
    return _chain(X, W_Q, W_K, W_V @ W_O, W_O)


EQ_13_1.oracle(input_jacobian)
EQ_13_1.counterexample(
    "two tokens, uniform attention, W_O a quarter turn, applied twice",
    X=[[1, 0], [0, 2]], W_Q=ZERO, W_K=ZERO, W_V=ONE, W_O=TURN,
)  # fmt: skip
EQ_13_1.mutant("W_O three times", "W_V @ W_O -> W_V @ W_O @ W_O")
EQ_13_1.mutant("attention matrix taken as constant",
    lambda X, W_Q, W_K, W_V, W_O: 2 * kron(W_V, attention_matrix(X, W_Q, W_K)))  # fmt: skip

EQ_13_1_CORRECTED = EQ_13_1.corrected("skipless.eq-13-lines-1-3-corrected", label="Eq. (13), lines 1-3, corrected",
    statement=r"""
        \mathbf{K}=\frac{\partial\mathrm{vec}(\mathbf{A}\mathbf{V}\mathbf{W}^O)}{\partial\mathrm{vec}(\mathbf{X})}=\frac{
        \partial\mathrm{vec}(\mathbf{A}\mathbf{V}\mathbf{W}^O)}{\partial\mathrm{vec}(\mathbf{A}\mathbf{V})}\frac{
        \partial\mathrm{vec}(\mathbf{A}\mathbf{V})}{\partial\mathrm{vec}(\mathbf{X})}""",
    name="chain rule through the output weights, corrected", all_sizes=True, assumptions=[])  # fmt: skip


@EQ_13_1_CORRECTED.formula
def chain_rule(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """dvec(S W_O)/dvec S at S = A V, times dvec S/dvec X, shape (n d, n d)."""
    return _chain(X, W_Q, W_K, W_V, W_O)


EQ_13_1_CORRECTED.mutant("SA of Eq. (3), with W_O in both factors", chain_rule_as_printed)
EQ_13_1_CORRECTED.mutant("W_O transposed", lambda X, W_Q, W_K, W_V, W_O: _chain(X, W_Q, W_K, W_V, W_O.T))

EQ_13_4 = Claim(SINGLE_HEAD, "skipless.eq-13-line-4", label="Eq. (13), line 4", name="output weights in the Jacobian",
    statement=r"""
        \mathbf{K}_\ell=(\mathbf{W}_\ell^O\otimes\mathbf{I}_n)\frac{\partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{
        \ell-1}))}{\partial\hat{\mathbf{x}}^{(\ell-1)}}""",
    assumptions=[Definition("SA = A V, as Eq. (12), line 1, has it", by=attended_values)],
    relation=Equal(), expects="refuted", severity="slip", correction="skipless.eq-13-line-4-corrected",
    note=NO_TRANSPOSES + r" Here $W^O$ stands for $W^{O\top}$.")  # fmt: skip


@EQ_13_4.formula
def line_four_as_printed(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(W_O (x) I_n) d vec(A V) / d vec X, shape (n d, n d) (Eq. (13), line 4)."""
    return kron(W_O, eye(X.shape[0])) @ jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V)


EQ_13_4.oracle(input_jacobian)
EQ_13_4.counterexample(
    "two tokens, uniform attention, W_O a quarter turn, whose transpose is its opposite",
    X=[[1, 0], [0, 2]], W_Q=ZERO, W_K=ZERO, W_V=ONE, W_O=TURN,
)  # fmt: skip
EQ_13_4.mutant("factors exchanged, as for row-major vec", "kron(W_O, eye(X.shape[0])) -> kron(eye(X.shape[0]), W_O)")
EQ_13_4.mutant("W_O twice", "kron(W_O, eye(X.shape[0])) -> kron(2 * W_O, eye(X.shape[0]))")

EQ_13_4_CORRECTED = Claim(SECTION_A3, "skipless.eq-13-line-4-corrected", label="Eq. (13), line 4, corrected",
    statement=r"\frac{\partial\mathrm{vec}(\mathbf{S}\mathbf{W}^O)}{\partial\mathrm{vec}(\mathbf{S})}="
    r"\mathbf{W}^{O\top}\otimes\mathbf{I}_n\ \text{for}\ \mathbf{S}\in\mathbb{R}^{n\times d},\ \text{hence}\ \mathbf{K}="
    r"(\mathbf{W}^{O\top}\otimes\mathbf{I}_n)\frac{\partial\mathrm{vec}(\mathbf{A}\mathbf{V})}{\partial\mathrm{vec}("
    r"\mathbf{X})}",
    name="output weights in the Jacobian, corrected", relation=Equal(), all_sizes=True, of_project=True,
    corrects="skipless.eq-13-line-4")  # fmt: skip


@EQ_13_4_CORRECTED.formula
def projection_jacobian(S: Summands, W_O: Weights) -> Any:
    """W_O^T (x) I_n, shape (n d, n d)."""
    return kron(W_O.T, eye(S.shape[0]))


EQ_13_4_CORRECTED.oracle(lambda S, W_O: jacobian(projected, "S", COLUMN)(S, W_O))
EQ_13_4_CORRECTED.mutant("W_O not transposed, as printed", "W_O.T -> W_O")
EQ_13_4_CORRECTED.mutant("factors exchanged, as for row-major vec", lambda S, W_O: kron(eye(S.shape[0]), W_O.T))

EQ_13_5 = Claim(SINGLE_HEAD, "skipless.eq-13-line-5", label="Eq. (13), line 5",
    statement=r"""\mathbf{K}_\ell=(\mathbf{W}_\ell^O\otimes\mathbf{I}_n)\left((\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)
        \mathbf{A}'_\ell+\mathbf{W}_\ell^V\otimes\mathbf{A}_\ell\right)""",
    name="Jacobian with both weights outside", relation=Equal(), expects="refuted", severity="slip",
    repeats="skipless.eq-13-line-4",
    correction="skipless.eq-13-line-5-corrected",
    note=NO_TRANSPOSES
    + r""" With either one of the two alone restored the line is still false, as mutants of its correction show: for one
        token $A = 1$, $A' = 0$ and $K = (W^VW^O)^\top$, where
        $W^OW^V$ stands.""")  # fmt: skip


def _line_five(X: Any, W_Q: Any, W_K: Any, W_V: Any, outer: Any, inner: Any) -> Any:
    A, I_n = attention_matrix(X, W_Q, W_K), eye(X.shape[0])
    return kron(outer, I_n) @ (kron((X @ W_V).T, I_n) @ attention_slope(X, W_Q, W_K) + kron(inner, A))


@EQ_13_5.formula
def line_five_as_printed(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(W_O (x) I_n) ((V^T (x) I_n) A' + W_V (x) A), shape (n d, n d) (Eq. (13), line 5)."""
    return _line_five(X, W_Q, W_K, W_V, W_O, W_V)


EQ_13_5.oracle(input_jacobian)
EQ_13_5.counterexample(
    "one token: K = (W_V W_O)^T, and W_O W_V stands there",
    X=[[1, 1]], W_Q=ZERO, W_K=ZERO, W_V=[[0, 1], [0, 0]], W_O=ONE,
)  # fmt: skip
EQ_13_5.counterexample(
    "two tokens, uniform attention, W_V a quarter turn",
    X=[[1, 0], [0, 2]], W_Q=ZERO, W_K=ZERO, W_V=TURN, W_O=ONE,
)  # fmt: skip
EQ_13_5.mutant("W_V twice in the second term", lambda X, W_Q, W_K, W_V, W_O: _line_five(X, W_Q, W_K, W_V, W_O, 2 * W_V))
EQ_13_5.mutant("W_O twice", lambda X, W_Q, W_K, W_V, W_O: _line_five(X, W_Q, W_K, W_V, 2 * W_O, W_V))

EQ_13_5_CORRECTED = EQ_13_5.corrected("skipless.eq-13-line-5-corrected", label="Eq. (13), line 5, corrected",
    statement=r"""
        \mathbf{K}=(\mathbf{W}^{O\top}\otimes\mathbf{I}_n)\left((\mathbf{V}^\top\otimes\mathbf{I}_n)\mathbf{A}'+
        \mathbf{W}^{V\top}\otimes\mathbf{A}\right),\quad\mathbf{A}'=\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial
        \mathrm{vec}(\mathbf{X})}""", name="Jacobian with both weights outside, corrected", all_sizes=True,
    uses=("skipless.eq-12-line-4", "skipless.eq-13-line-4-corrected"))  # fmt: skip


@EQ_13_5_CORRECTED.formula
def line_five(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(W_O^T (x) I_n) ((V^T (x) I_n) A' + W_V^T (x) A), shape (n d, n d)."""
    return _line_five(X, W_Q, W_K, W_V, W_O.T, W_V.T)


EQ_13_5_CORRECTED.mutant("neither transposed, as printed", line_five_as_printed)
EQ_13_5_CORRECTED.mutant("W_O not transposed", "W_O.T -> W_O")
EQ_13_5_CORRECTED.mutant("W_V not transposed", "W_V.T -> W_V")

EQ_13_6 = Claim(SINGLE_HEAD, "skipless.eq-13-line-6", label="Eq. (13), line 6", name="Jacobian multiplied out",
    statement=r"""
        \mathbf{K}_\ell=((\mathbf{W}_\ell^O\otimes\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_
        \ell^O\otimes\mathbf{W}_\ell^V\otimes\mathbf{A}_\ell)""",
    relation=Equal(), sizes={"n": (1, 3), "d": (1, 2)}, expects="refuted", severity="slip",
    correction="skipless.eq-13-line-6-corrected",
    note=r"""Ordinary products were meant: $(P\otimes I)(Q\otimes R) = PQ\otimes R$ for every $P$, $Q$, $R$. As
        printed the line is no equation
        between matrices but for $d = 1$: the sizes that have to agree are compared, columns of the first factor with
        rows of $A'$, and both sides of the second term with the sides of $K$. Transposes, of which the line lacks
        three, change no size.""")  # fmt: skip


def _sizes_of(*matrices: Any) -> Any:
    """The given numbers of rows or columns, shape (count, 1)."""
    return concatenate([ones(1, 1) * size for size in matrices], axis=0)


@EQ_13_6.formula
def sizes_as_printed(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """Columns of W_O (x) V^T (x) I_n, then rows and columns of W_O (x) W_V (x) A, shape (3, 1)."""
    A = attention_matrix(X, W_Q, W_K)
    first, second = kron(W_O, (X @ W_V).T, eye(X.shape[0])), kron(W_O, W_V, A)
    return _sizes_of(first.shape[1], *second.shape)


@EQ_13_6.oracle
def sizes_required(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """Rows of A', then rows and columns of K, shape (3, 1)."""
    return _sizes_of(attention_slope(X, W_Q, W_K).shape[0], *input_jacobian(X, W_Q, W_K, W_V, W_O).shape)


EQ_13_6.counterexample(
    "n = 1, d = 2: a factor with 2 columns before A' with 1 row, a 4 x 4 term in the 2 x 2 matrix K",
    X=[[1, 0]], W_Q=ZERO, W_K=ZERO, W_V=ONE, W_O=ONE,
)  # fmt: skip
EQ_13_6.mutant("one Kronecker factor more", "W_O -> kron(W_O, W_O)")
EQ_13_6.mutant("W_V (x) W_V (x) W_O in the second term", "kron(W_O, W_V, A) -> kron(W_V, W_V, W_O, A)")

EQ_13_6_CORRECTED = Claim(SINGLE_HEAD, "skipless.eq-13-line-6-corrected", label="Eq. (13), line 6, corrected",
    statement=r"""
        \mathbf{K}_\ell=(\mathbf{W}_\ell^{O\top}\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_
        \ell^{O\top}\mathbf{W}_\ell^{V\top}\otimes\mathbf{A}_\ell""",
    name="Jacobian multiplied out, corrected", relation=Equal(), all_sizes=True, of_project=True,
    corrects="skipless.eq-13-line-6", uses=("skipless.eq-13-line-5-corrected",))  # fmt: skip


@EQ_13_6_CORRECTED.formula
def line_six(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(W_O^T V^T (x) I_n) A' + W_O^T W_V^T (x) A, shape (n d, n d)."""
    A, I_n = attention_matrix(X, W_Q, W_K), eye(X.shape[0])
    return kron(W_O.T @ (X @ W_V).T, I_n) @ attention_slope(X, W_Q, W_K) + kron(W_O.T @ W_V.T, A)


EQ_13_6_CORRECTED.oracle(input_jacobian)
EQ_13_6_CORRECTED.mutant("W_O not transposed", "W_O.T -> W_O")
EQ_13_6_CORRECTED.mutant("W_V not transposed in the second term", "W_V.T -> W_V")
EQ_13_6_CORRECTED.mutant("W_V^T W_O^T in the second term", "W_O.T @ W_V.T -> W_V.T @ W_O.T")

EQ_13_7 = Claim(SINGLE_HEAD, "skipless.eq-13-line-7", label="Eq. (13), last line",
    statement=r"""\mathbf{K}_\ell=(\hat{\mathbf{X}}_{\ell-1}\mathbf{W}_\ell^V\mathbf{W}_\ell^O\otimes\mathbf{I}_n)^\top
        \mathbf{A}'_\ell+(\mathbf{W}_\ell^V\mathbf{W}_\ell^O)^\top\otimes\mathbf{A}_\ell""",
    name="Jacobian of self-attention, last line", relation=Equal(), all_sizes=True,
    uses=("skipless.eq-13-line-6-corrected",),
    proof=(
        "skipless.eq-12-line-4", "skipless.eq-13-lines-1-3", "skipless.eq-13-line-4", "skipless.eq-13-line-5",
        "skipless.eq-13-line-6",
    ),
    note="The line is right; it follows from line 6 with its transposes and ordinary products restored.")  # fmt: skip


@EQ_13_7.formula
def last_line(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(X W_V W_O (x) I_n)^T A' + (W_V W_O)^T (x) A, shape (n d, n d) (Eq. (13), last line)."""
    A, I_n = attention_matrix(X, W_Q, W_K), eye(X.shape[0])
    return kron(X @ W_V @ W_O, I_n).T @ attention_slope(X, W_Q, W_K) + kron((W_V @ W_O).T, A)


EQ_13_7.oracle(input_jacobian)
EQ_13_7.mutant("W_O W_V instead of W_V W_O", "W_V -> W_O; W_O -> W_V")
EQ_13_7.mutant("second term not transposed", "(W_V @ W_O).T -> W_V @ W_O")
EQ_13_7.mutant("first term dropped", "X @ W_V @ W_O -> 0 * X")
