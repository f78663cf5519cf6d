"""Eqs. (12) and (13), line by line: the Jacobian K of self-attention by its input, up to Eq. (10).

Section A.3 calls A V, without W_O, SA(X).  The products of line 6 of Eq. (13) do not fit together, whatever its
transposes; the last line repeats Eq. (10) and is right.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import QueryWeights, Tokens, Weights, attended_values, attention_matrix
from theorems.skipless.quantities import attention_slope, input_jacobian
from verify.matrix import COLUMN, ROW, concatenate, eye, kron, ones
from verify.oracles import jacobian
from verify.vocabulary import Claim, Equal, Setting, Shape

SECTION_A3 = Setting(
    SKIPLESS,
    "Section A.3",
    assumptions=["A = softmax(X W_Q W_K^T X^T), V = X W_V, single head", "column-major vec, numerator layout"],
    sizes={"n": (1, 4), "d": (1, 3)},
    exact=True,
)


def values(X: Tokens, W_V: Weights) -> Any:
    """V = X W_V, shape (n, d)."""
    return X @ W_V


def through_attention(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """(V^T (x) I_n) A', the derivative of A V with V kept fixed, shape (n d, n d)."""
    return kron((X @ W_V).T, eye(X.shape[0])) @ attention_slope(X, W_Q, W_K)


EQ_12_1 = Claim(SECTION_A3, "skipless.eq-12-line-1", label="Eq. (12), line 1",
    statement=r"""
        \partial\mathrm{vec}(\mathrm{SA}_\ell(\hat{\mathbf{X}}_{\ell-1}))/\partial\hat{\mathbf{x}}^{(\ell-1)}=\partial
        \mathrm{vec}(\mathbf{A}_\ell(\hat{\mathbf{X}}_{\ell-1})\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}""",
    relation=Equal(), all_sizes=True, expects="reading",
    reading="""
        SA means A V in Section A.3, the self-attention of Eq. (3) at W_O = I: Eq. (13) goes on to differentiate SA(X)
        W_O. With the SA of Eq. (3), A V W_O, a factor W_O is missing on the right""",
)  # fmt: skip


@EQ_12_1.formula
def attended_values_jacobian(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """d vec(A V) / d vec X, shape (n d, n d)."""
    return jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V)


EQ_12_1.oracle(lambda X, W_Q, W_K, W_V: input_jacobian(X, W_Q, W_K, W_V, eye(X.shape[1])))
EQ_12_1.mutant("values taken as constant", through_attention)
EQ_12_1.mutant(
    "attention matrix taken as constant", lambda X, W_Q, W_K, W_V: kron(W_V.T, attention_matrix(X, W_Q, W_K))
)
EQ_12_1.mutant("row-major vec", layout=ROW)

EQ_12_2 = Claim(SECTION_A3, "skipless.eq-12-line-2", label="Eq. (12), line 2",
    statement=r"""
        \partial\mathrm{vec}(\mathbf{A}_\ell\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}=(\mathbf{V}_\ell^\top
        \otimes\mathbf{I}_n)\mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)\,\partial\mathrm{vec}(\mathbf{V}_
        \ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}""",
    relation=Equal(), all_sizes=True,
)  # fmt: skip


@EQ_12_2.formula
def product_rule(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """(V^T (x) I_n) A' + (I_d (x) A) dvec V/dvec X, shape (n d, n d) (Eq. (12), line 2)."""
    A, I_d, slope_of_values = attention_matrix(X, W_Q, W_K), eye(X.shape[1]), jacobian(values, "X", COLUMN)(X, W_V)
    return through_attention(X, W_Q, W_K, W_V) + kron(I_d, A) @ slope_of_values


EQ_12_2.oracle(lambda X, W_Q, W_K, W_V: jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V))
EQ_12_2.mutant("factors of the second Kronecker product exchanged", "kron(I_d, A) -> kron(A, I_d)")
EQ_12_2.mutant("first term dropped", "through_attention(X, W_Q, W_K, W_V) -> 0 * slope_of_values")
EQ_12_2.mutant("A transposed in the second term", "A -> A.T")

EQ_12_3 = Claim(SECTION_A3, "skipless.eq-12-line-3", label="Eq. (12), line 3",
    statement=r"""
        \partial\mathrm{vec}(\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}=\mathbf{W}_\ell^{V\top}\otimes
        \mathbf{I}_{n\times n}""",
    relation=Equal(), all_sizes=True,
)  # fmt: skip


@EQ_12_3.formula
def values_jacobian(X: Tokens, W_V: Weights) -> Any:
    """W_V^T (x) I_n, shape (n d, n d) (Eq. (12), line 3)."""
    return kron(W_V.T, eye(X.shape[0]))


EQ_12_3.oracle(lambda X, W_V: jacobian(values, "X", COLUMN)(X, W_V))
EQ_12_3.mutant("W_V not transposed", lambda X, W_V: kron(W_V, eye(X.shape[0])))
EQ_12_3.mutant("factors exchanged, as for row-major vec", lambda X, W_V: kron(eye(X.shape[0]), W_V.T))

EQ_12_4 = Claim(SECTION_A3, "skipless.eq-12-line-4", label="Eq. (12), line 4",
    statement=r"""
        (\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)(\mathbf{W}_
        \ell^{V\top}\otimes\mathbf{I}_n)=(\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_\ell^{V
        \top}\otimes\mathbf{A}_\ell""",
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

IN_DOUBT = (
    "Transposes on W_O and W_V may have been lost in the extraction: none is left in three lines, while V^T beside them, Eq. (12)"
    " before and the last line have theirs."
)


def projected(S: Summands, W_O: Weights) -> Any:
    """S W_O, shape (n, d)."""
    return S @ W_O


EQ_13_1 = Claim(SECTION_A3, "skipless.eq-13-lines-1-3", label="Eq. (13), lines 1-3",
    statement=r"""
        \mathbf{K}_\ell=\frac{\partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{\ell-1})\mathbf{W}_\ell^O)}{\partial
        \hat{\mathbf{x}}^{(\ell-1)}}=\frac{\partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{\ell-1})\mathbf{W}_
        \ell^O)}{\partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{\ell-1}))}\frac{\partial\mathrm{vec}(\mathrm{SA}_
        \ell(\mathbf{X}_{\ell-1}))}{\partial\hat{\mathbf{x}}^{(\ell-1)}}""",
    relation=Equal(), all_sizes=True, expects="reading",
    reading="SA means A V here, not the self-attention A V W_O of Eq. (3), of which K_l is the Jacobian",
    note="Introduced as the Jacobian of the attention matrix; it is that of the output of self-attention.",
)  # fmt: skip


@EQ_13_1.formula
def chain_rule(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """dvec(S W_O)/dvec S at S = A V, times dvec S/dvec X, shape (n d, n d) (Eq. (13), line 3)."""
    S = attended_values(X, W_Q, W_K, W_V)
    outer, inner = jacobian(projected, "S", COLUMN), jacobian(attended_values, "X", COLUMN)
    return outer(S, W_O) @ inner(X, W_Q, W_K, W_V)


EQ_13_1.oracle(input_jacobian)
EQ_13_1.mutant("SA of Eq. (3), with W_O in both factors", "W_V -> W_V @ W_O")
EQ_13_1.mutant(
    "factors exchanged", "outer(S, W_O) -> inner(X, W_Q, W_K, W_V); inner(X, W_Q, W_K, W_V) -> outer(S, W_O)"
)

EQ_13_4 = Claim(SECTION_A3, "skipless.eq-13-line-4", label="Eq. (13), line 4",
    statement=r"""
        \frac{\partial\mathrm{vec}(\mathrm{SA}_\ell\mathbf{W}_\ell^O)}{\partial\mathrm{vec}(\mathrm{SA}_\ell)}=
        \mathbf{W}_\ell^O\otimes\mathbf{I}_n""",
    relation=Equal(), all_sizes=True, expects="reading",
    reading="W_O stands for its transpose, as in Eq. (10) and the last line: W_O^T (x) I_n",
    doubt=IN_DOUBT,
    note="""
        As extracted the line is false, a mutant: at one token with d = 2 and W_O = [[0, 1], [0, 0]] it gives the
        transpose of the derivative. If the paper shows it so, it is a misprint, for the last line has the transpose
        again.""",
)  # fmt: skip


@EQ_13_4.formula
def projection_jacobian(S: Summands, W_O: Weights) -> Any:
    """W_O^T (x) I_n, shape (n d, n d) (Eq. (13), line 4)."""
    return kron(W_O.T, eye(S.shape[0]))


EQ_13_4.oracle(lambda S, W_O: jacobian(projected, "S", COLUMN)(S, W_O))
EQ_13_4.mutant("W_O not transposed, as extracted", lambda S, W_O: kron(W_O, eye(S.shape[0])))
EQ_13_4.mutant("factors exchanged, as for row-major vec", lambda S, W_O: kron(eye(S.shape[0]), W_O.T))

EQ_13_5 = Claim(SECTION_A3, "skipless.eq-13-line-5", label="Eq. (13), line 5",
    statement=r"""
        \mathbf{K}_\ell=(\mathbf{W}_\ell^O\otimes\mathbf{I}_n)\left((\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)
        \mathbf{A}'_\ell+\mathbf{W}_\ell^V\otimes\mathbf{A}_\ell\right)""",
    relation=Equal(), all_sizes=True, uses=("skipless.eq-12-line-4", "skipless.eq-13-line-4"), expects="reading",
    reading="""
        W_O and W_V stand for their transposes, as in Eqs. (10) and (12): (W_O^T (x) I_n) ((V^T (x) I_n) A' + W_V^T (x)
        A)""",
    doubt=IN_DOUBT,
    note="""
        As extracted, or with either transpose missing, the line is false, as mutants show: for one token A = 1, A' = 0
        and K = (W_V W_O)^T, where W_O W_V stands. If the paper shows it so, it is a misprint.""",
)  # fmt: skip


@EQ_13_5.formula
def line_five(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(W_O^T (x) I_n) ((V^T (x) I_n) A' + W_V^T (x) A), shape (n d, n d) (Eq. (13), line 5)."""
    A, I_n = attention_matrix(X, W_Q, W_K), eye(X.shape[0])
    return kron(W_O.T, I_n) @ (kron((X @ W_V).T, I_n) @ attention_slope(X, W_Q, W_K) + kron(W_V.T, A))


EQ_13_5.oracle(input_jacobian)
EQ_13_5.mutant("neither transposed, as extracted", "W_O.T -> W_O; W_V.T -> W_V")
EQ_13_5.mutant("W_O not transposed", "W_O.T -> W_O")
EQ_13_5.mutant("W_V not transposed", "W_V.T -> W_V")

EQ_13_6 = Claim(SECTION_A3, "skipless.eq-13-line-6", label="Eq. (13), line 6",
    statement=r"""
        \mathbf{K}_\ell=(\mathbf{W}_\ell^O\otimes\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_
        \ell^O\otimes\mathbf{W}_\ell^V\otimes\mathbf{A}_\ell""",
    relation=Equal(), sizes={"n": (1, 3), "d": (1, 2)}, expects="refuted", severity="slip",
    correction="skipless.eq-13-line-6-corrected",
    doubt="The brackets are damaged in the extraction; the Kronecker signs between W_O and V^T and between W_O and W_V are"
    " not, and no bracketing makes the line fit. "
    + IN_DOUBT
    + " Sizes alone are judged, which transposes do not change.",
    note="""
        Ordinary products were meant: (P (x) I)(Q (x) R) = P Q (x) R. As printed the line is no equation between
        matrices but for d = 1: the sizes that have to agree are compared, columns of the first factor with rows of A',
        and both sides of the second term with the sides of K.""",
)  # fmt: skip


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


ZERO, ONE = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
EQ_13_6.counterexample(
    "n = 1, d = 2: a factor with 2 columns before A' with 1 row, a 4 x 4 term in the 2 x 2 matrix K",
    X=[[1, 0]], W_Q=ZERO, W_K=ZERO, W_V=ONE, W_O=ONE,
)  # fmt: skip
EQ_13_6.mutant("one Kronecker factor more", "W_O -> kron(W_O, W_O)")
EQ_13_6.mutant("W_V (x) W_V (x) W_O in the second term", "kron(W_O, W_V, A) -> kron(W_V, W_V, W_O, A)")

EQ_13_6_CORRECTED = Claim(SECTION_A3, "skipless.eq-13-line-6-corrected", label="Eq. (13), line 6, corrected",
    statement=r"""
        \mathbf{K}_\ell=(\mathbf{W}_\ell^{O\top}\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_
        \ell^{O\top}\mathbf{W}_\ell^{V\top}\otimes\mathbf{A}_\ell""",
    relation=Equal(), all_sizes=True,
    of_project=True, corrects="skipless.eq-13-line-6", uses=("skipless.eq-13-line-5",),
)  # fmt: skip


@EQ_13_6_CORRECTED.formula
def line_six(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(W_O^T V^T (x) I_n) A' + W_O^T W_V^T (x) A, shape (n d, n d)."""
    A, I_n = attention_matrix(X, W_Q, W_K), eye(X.shape[0])
    return kron(W_O.T @ (X @ W_V).T, I_n) @ attention_slope(X, W_Q, W_K) + kron(W_O.T @ W_V.T, A)


EQ_13_6_CORRECTED.oracle(input_jacobian)
EQ_13_6_CORRECTED.mutant("W_O not transposed", "W_O.T -> W_O")
EQ_13_6_CORRECTED.mutant("W_V not transposed in the second term", "W_V.T -> W_V")
EQ_13_6_CORRECTED.mutant("W_V^T W_O^T in the second term", "W_O.T @ W_V.T -> W_V.T @ W_O.T")

EQ_13_7 = Claim(SECTION_A3, "skipless.eq-13-line-7", label="Eq. (13), last line",
    statement=r"""
        \mathbf{K}_\ell=(\hat{\mathbf{X}}_{\ell-1}\mathbf{W}_\ell^V\mathbf{W}_\ell^O\otimes\mathbf{I}_n)^\top
        \mathbf{A}'_\ell+(\mathbf{W}_\ell^V\mathbf{W}_\ell^O)^\top\otimes\mathbf{A}_\ell""",
    relation=Equal(), all_sizes=True, uses=("skipless.eq-13-line-6-corrected",),
    proof=(
        "skipless.eq-12-line-4", "skipless.eq-13-lines-1-3", "skipless.eq-13-line-4", "skipless.eq-13-line-5",
        "skipless.eq-13-line-6",
    ),
    note="The line is right; it follows from line 6 with its transposes and ordinary products restored.",
)  # fmt: skip


@EQ_13_7.formula
def last_line(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(X W_V W_O (x) I_n)^T A' + (W_V W_O)^T (x) A, shape (n d, n d) (Eq. (13), last line)."""
    A, I_n = attention_matrix(X, W_Q, W_K), eye(X.shape[0])
    return kron(X @ W_V @ W_O, I_n).T @ attention_slope(X, W_Q, W_K) + kron((W_V @ W_O).T, A)


EQ_13_7.oracle(input_jacobian)
EQ_13_7.mutant("W_O W_V instead of W_V W_O", "W_V -> W_O; W_O -> W_V")
EQ_13_7.mutant("second term not transposed", "(W_V @ W_O).T -> W_V @ W_O")
EQ_13_7.mutant("first term dropped", "X @ W_V @ W_O -> 0 * X")
