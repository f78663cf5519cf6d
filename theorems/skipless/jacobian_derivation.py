"""The derivation of the Jacobian of self-attention, line by line: Eqs. (12)-(13)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import (
    QueryWeights,
    Tokens,
    Weights,
    attended_values,
    attention_matrix,
    self_attention,
)
from verify.matrix import COLUMN, ROW, eye, kron
from verify.oracles import jacobian
from verify.vocabulary import Claim, Equal, Shape

Summands = Annotated[Any, Shape("n", "d")]

SETUP = ["A = softmax(X W_Q W_K^T X^T), V = X W_V, single head", "column-major vec, numerator layout"]
SIZES = {"n": (1, 4), "d": (1, 3)}


def values(X: Tokens, W_V: Weights) -> Any:
    """V = X W_V, shape (n, d)."""
    return X @ W_V


def slope(X: Any, W_Q: Any, W_K: Any) -> Any:
    """A', shape (n^2, n d)."""
    return jacobian(attention_matrix, "X", COLUMN)(X, W_Q, W_K)


# -- Eq. (12) ----------------------------------------------------------------------------------------------------------

EQ_12_1 = Claim(
    SKIPLESS,
    "skipless.eq-12-line-1",
    label="Eq. (12), line 1",
    statement=r"\partial\mathrm{vec}(\mathrm{SA}_\ell(\hat{\mathbf{X}}_{\ell-1}))/\partial\hat{\mathbf{x}}^{(\ell-1)}="
    r"\partial\mathrm{vec}(\mathbf{A}_\ell(\hat{\mathbf{X}}_{\ell-1})\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    reading="SA means A V in Section A.3, the self-attention of Eq. (3) at W_O = I: Eq. (13) goes on to differentiate"
    " SA(X) W_O. With the SA of Eq. (3), A V W_O, a factor W_O is missing on the right",
    expects="reading",
)


@EQ_12_1.formula
def attended_values_jacobian(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """d vec(A V) / d vec X, shape (n d, n d)."""
    return jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V)


@EQ_12_1.oracle
def self_attention_without_output_weights(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    identity = eye(X.shape[1])
    return jacobian(self_attention, "X", COLUMN)(X, W_Q, W_K, W_V, identity)


EQ_12_1.mutant(
    "values taken as constant", lambda X, W_Q, W_K, W_V: kron((X @ W_V).T, eye(X.shape[0])) @ slope(X, W_Q, W_K)
)
EQ_12_1.mutant(
    "attention matrix taken as constant", lambda X, W_Q, W_K, W_V: kron(W_V.T, attention_matrix(X, W_Q, W_K))
)
EQ_12_1.mutant("row-major vec", layout=ROW)


EQ_12_2 = Claim(
    SKIPLESS,
    "skipless.eq-12-line-2",
    label="Eq. (12), line 2",
    statement=r"\partial\mathrm{vec}(\mathbf{A}_\ell\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}=(\mathbf{V}_\ell^\top\otimes"
    r"\mathbf{I}_n)\mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)\,\partial\mathrm{vec}(\mathbf{V}_\ell)/\partial"
    r"\hat{\mathbf{x}}^{(\ell-1)}",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    exact=True,
)


@EQ_12_2.formula
def product_rule(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """(V^T (x) I_n) A' + (I_d (x) A) dvec V/dvec X, shape (n d, n d) (Eq. (12), line 2)."""
    n, d = X.shape
    first = kron((X @ W_V).T, eye(n)) @ slope(X, W_Q, W_K)
    return first + kron(eye(d), attention_matrix(X, W_Q, W_K)) @ jacobian(values, "X", COLUMN)(X, W_V)


EQ_12_2.oracle(lambda X, W_Q, W_K, W_V: jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V))


@EQ_12_2.mutant("factors of the second Kronecker product exchanged")
def _(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    n, d = X.shape
    first = kron((X @ W_V).T, eye(n)) @ slope(X, W_Q, W_K)
    return first + kron(attention_matrix(X, W_Q, W_K), eye(d)) @ jacobian(values, "X", COLUMN)(X, W_V)


@EQ_12_2.mutant("first term dropped")
def _(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    A = attention_matrix(X, W_Q, W_K)
    return kron(eye(X.shape[1]), A) @ jacobian(values, "X", COLUMN)(X, W_V)


EQ_12_2.mutant("A transposed in the second term", "attention_matrix(X, W_Q, W_K) -> attention_matrix(X, W_Q, W_K).T")


EQ_12_3 = Claim(
    SKIPLESS,
    "skipless.eq-12-line-3",
    label="Eq. (12), line 3",
    statement=r"\partial\mathrm{vec}(\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}=\mathbf{W}_\ell^{V\top}\otimes"
    r"\mathbf{I}_{n\times n}",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    exact=True,
)


@EQ_12_3.formula
def values_jacobian(X: Tokens, W_V: Weights) -> Any:
    """W_V^T (x) I_n, shape (n d, n d) (Eq. (12), line 3)."""
    return kron(W_V.T, eye(X.shape[0]))


EQ_12_3.oracle(lambda X, W_V: jacobian(values, "X", COLUMN)(X, W_V))
EQ_12_3.mutant("W_V not transposed", lambda X, W_V: kron(W_V, eye(X.shape[0])))
EQ_12_3.mutant("factors exchanged, as for row-major vec", lambda X, W_V: kron(eye(X.shape[0]), W_V.T))


EQ_12_4 = Claim(
    SKIPLESS,
    "skipless.eq-12-line-4",
    label="Eq. (12), line 4",
    statement=r"(\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)(\mathbf{W}_\ell^{V\top}"
    r"\otimes\mathbf{I}_n)=(\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_\ell^{V\top}\otimes\mathbf{A}_\ell",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    proof=("skipless.eq-12-line-1", "skipless.eq-12-line-2", "skipless.eq-12-line-3"),
)


def _last_line(X: Any, W_Q: Any, W_K: Any, W_V: Any, second: Any = kron) -> Any:
    """(V^T (x) I_n) A' + second(W_V^T, A)."""
    first = kron((X @ W_V).T, eye(X.shape[0])) @ slope(X, W_Q, W_K)
    return first + second(W_V.T, attention_matrix(X, W_Q, W_K))


@EQ_12_4.formula
def attended_values_closed_form(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """(V^T (x) I_n) A' + W_V^T (x) A, shape (n d, n d) (Eq. (12), line 4)."""
    return _last_line(X, W_Q, W_K, W_V)


@EQ_12_4.oracle
def attended_values_line_three(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """The third line, both Kronecker products multiplied out."""
    n, d = X.shape
    first = kron((X @ W_V).T, eye(n)) @ slope(X, W_Q, W_K)
    return first + kron(eye(d), attention_matrix(X, W_Q, W_K)) @ kron(W_V.T, eye(n))


EQ_12_4.mutant("W_V not transposed", lambda X, W_Q, W_K, W_V: _last_line(X, W_Q, W_K, W_V, lambda W, A: kron(W.T, A)))
EQ_12_4.mutant("A transposed", lambda X, W_Q, W_K, W_V: _last_line(X, W_Q, W_K, W_V, lambda W, A: kron(W, A.T)))
EQ_12_4.mutant("factors exchanged", lambda X, W_Q, W_K, W_V: _last_line(X, W_Q, W_K, W_V, lambda W, A: kron(A, W)))


# -- Eq. (13) ----------------------------------------------------------------------------------------------------------

IN_DOUBT = (
    "Transposes on W_O and W_V may have been lost in the extraction: none is left in three lines, while V^T beside them, Eq. (12)"
    " before and the last line have theirs."
)


def projected(S: Summands, W_O: Weights) -> Any:
    """S W_O, shape (n, d)."""
    return S @ W_O


EQ_13_1 = Claim(
    SKIPLESS,
    "skipless.eq-13-lines-1-3",
    label="Eq. (13), lines 1-3",
    statement=r"\mathbf{K}_\ell=\frac{\partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{\ell-1})\mathbf{W}_\ell^O)}{\partial"
    r"\hat{\mathbf{x}}^{(\ell-1)}}=\frac{\partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{\ell-1})\mathbf{W}_\ell^O)}{\partial"
    r"\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{\ell-1}))}\frac{\partial\mathrm{vec}(\mathrm{SA}_\ell(\mathbf{X}_{\ell-1}))}"
    r"{\partial\hat{\mathbf{x}}^{(\ell-1)}}",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    reading="SA means A V here, not the self-attention A V W_O of Eq. (3), of which K_l is the Jacobian",
    expects="reading",
    note="Introduced as the Jacobian of the attention matrix; it is that of the output of self-attention.",
)


@EQ_13_1.formula
def chain_rule(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """dvec(S W_O)/dvec S at S = A V, times dvec S/dvec X, shape (n d, n d) (Eq. (13), line 3)."""
    S = attended_values(X, W_Q, W_K, W_V)
    return jacobian(projected, "S", COLUMN)(S, W_O) @ jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V)


@EQ_13_1.oracle
def self_attention_differentiated(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    return jacobian(self_attention, "X", COLUMN)(X, W_Q, W_K, W_V, W_O)


@EQ_13_1.mutant("SA of Eq. (3), with W_O in both factors")
def _(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    S = attended_values(X, W_Q, W_K, W_V @ W_O)
    inner = jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V @ W_O)
    return jacobian(projected, "S", COLUMN)(S, W_O) @ inner


@EQ_13_1.mutant("factors exchanged")
def _(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    S = attended_values(X, W_Q, W_K, W_V)
    return jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V) @ jacobian(projected, "S", COLUMN)(S, W_O)


EQ_13_4 = Claim(
    SKIPLESS,
    "skipless.eq-13-line-4",
    label="Eq. (13), line 4",
    statement=r"\frac{\partial\mathrm{vec}(\mathrm{SA}_\ell\mathbf{W}_\ell^O)}{\partial\mathrm{vec}(\mathrm{SA}_\ell)}="
    r"\mathbf{W}_\ell^O\otimes\mathbf{I}_n",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    expects="reading",
    reading="W_O stands for its transpose, as in Eq. (10) and the last line: W_O^T (x) I_n",
    doubt=IN_DOUBT,
    note="As extracted the line is false, a mutant: at one token with d = 2 and W_O = [[0, 1], [0, 0]] it gives the transpose of"
    " the derivative. If the paper shows it so, it is a misprint, for the last line has the transpose again.",
)


@EQ_13_4.formula
def projection_jacobian(S: Summands, W_O: Weights) -> Any:
    """W_O^T (x) I_n, shape (n d, n d) (Eq. (13), line 4)."""
    return kron(W_O.T, eye(S.shape[0]))


EQ_13_4.oracle(lambda S, W_O: jacobian(projected, "S", COLUMN)(S, W_O))
EQ_13_4.mutant("W_O not transposed, as extracted", lambda S, W_O: kron(W_O, eye(S.shape[0])))
EQ_13_4.mutant("factors exchanged, as for row-major vec", lambda S, W_O: kron(eye(S.shape[0]), W_O.T))


EQ_13_5 = Claim(
    SKIPLESS,
    "skipless.eq-13-line-5",
    label="Eq. (13), line 5",
    statement=r"\mathbf{K}_\ell=(\mathbf{W}_\ell^O\otimes\mathbf{I}_n)\left((\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+"
    r"\mathbf{W}_\ell^V\otimes\mathbf{A}_\ell\right)",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    uses=("skipless.eq-12-line-4", "skipless.eq-13-line-4"),
    expects="reading",
    reading="W_O and W_V stand for their transposes, as in Eqs. (10) and (12):"
    " (W_O^T (x) I_n) ((V^T (x) I_n) A' + W_V^T (x) A)",
    doubt=IN_DOUBT,
    note="As extracted, or with either transpose missing, the line is false, as mutants show: for one token A = 1, A' = 0 and"
    " K = (W_V W_O)^T, where W_O W_V stands. If the paper shows it so, it is a misprint.",
)


def _line_five(X: Any, W_Q: Any, W_K: Any, W_V: Any, outer: Any, inner: Any) -> Any:
    """(outer (x) I_n) ((V^T (x) I_n) A' + inner (x) A)."""
    I_n, A = eye(X.shape[0]), attention_matrix(X, W_Q, W_K)
    return kron(outer, I_n) @ (kron((X @ W_V).T, I_n) @ slope(X, W_Q, W_K) + kron(inner, A))


@EQ_13_5.formula
def line_five(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(W_O^T (x) I_n) ((V^T (x) I_n) A' + W_V^T (x) A), shape (n d, n d) (Eq. (13), line 5)."""
    return _line_five(X, W_Q, W_K, W_V, W_O.T, W_V.T)


EQ_13_5.oracle(self_attention_differentiated)
EQ_13_5.mutant("neither transposed, as extracted", lambda X, W_Q, W_K, W_V, W_O: _line_five(X, W_Q, W_K, W_V, W_O, W_V))
EQ_13_5.mutant("W_O not transposed", lambda X, W_Q, W_K, W_V, W_O: _line_five(X, W_Q, W_K, W_V, W_O, W_V.T))
EQ_13_5.mutant("W_V not transposed", lambda X, W_Q, W_K, W_V, W_O: _line_five(X, W_Q, W_K, W_V, W_O.T, W_V))
