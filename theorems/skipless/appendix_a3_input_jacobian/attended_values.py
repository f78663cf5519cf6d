"""Eq. (12), line by line: the Jacobian of A V, which Section A.3 calls SA(X), by the input."""

from __future__ import annotations

from typing import Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import QueryWeights, Tokens, Weights, attended_values, attention_matrix
from theorems.skipless.quantities import attention_slope, input_jacobian
from verify.claims import Claim, Setting
from verify.derivatives import jacobian
from verify.matrix import COLUMN, ROW, eye, kron
from verify.relations import Equal

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


EQ_12_1 = Claim(
    SECTION_A3,
    "skipless.eq-12-line-1",
    label="Eq. (12), line 1",
    statement=r"\partial\mathrm{vec}(\mathrm{SA}_\ell(\hat{\mathbf{X}}_{\ell-1}))/\partial\hat{\mathbf{x}}^{(\ell-1)}="
    r"\partial\mathrm{vec}(\mathbf{A}_\ell(\hat{\mathbf{X}}_{\ell-1})\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}",
    relation=Equal(),
    reading="SA means A V in Section A.3, the self-attention of Eq. (3) at W_O = I: Eq. (13) goes on to differentiate"
    " SA(X) W_O. With the SA of Eq. (3), A V W_O, a factor W_O is missing on the right",
    expects="reading",
)


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

EQ_12_2 = Claim(
    SECTION_A3,
    "skipless.eq-12-line-2",
    label="Eq. (12), line 2",
    statement=r"\partial\mathrm{vec}(\mathbf{A}_\ell\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}=(\mathbf{V}_\ell^\top\otimes"
    r"\mathbf{I}_n)\mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)\,\partial\mathrm{vec}(\mathbf{V}_\ell)/\partial"
    r"\hat{\mathbf{x}}^{(\ell-1)}",
    relation=Equal(),
)


@EQ_12_2.formula
def product_rule(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights) -> Any:
    """(V^T (x) I_n) A' + (I_d (x) A) dvec V/dvec X, shape (n d, n d) (Eq. (12), line 2)."""
    A, I_d, slope_of_values = attention_matrix(X, W_Q, W_K), eye(X.shape[1]), jacobian(values, "X", COLUMN)(X, W_V)
    return through_attention(X, W_Q, W_K, W_V) + kron(I_d, A) @ slope_of_values


EQ_12_2.oracle(lambda X, W_Q, W_K, W_V: jacobian(attended_values, "X", COLUMN)(X, W_Q, W_K, W_V))
EQ_12_2.mutant("factors of the second Kronecker product exchanged", "kron(I_d, A) -> kron(A, I_d)")
EQ_12_2.mutant("first term dropped", "through_attention(X, W_Q, W_K, W_V) -> 0 * slope_of_values")
EQ_12_2.mutant("A transposed in the second term", "A -> A.T")

EQ_12_3 = Claim(
    SECTION_A3,
    "skipless.eq-12-line-3",
    label="Eq. (12), line 3",
    statement=r"\partial\mathrm{vec}(\mathbf{V}_\ell)/\partial\hat{\mathbf{x}}^{(\ell-1)}=\mathbf{W}_\ell^{V\top}\otimes"
    r"\mathbf{I}_{n\times n}",
    relation=Equal(),
)


@EQ_12_3.formula
def values_jacobian(X: Tokens, W_V: Weights) -> Any:
    """W_V^T (x) I_n, shape (n d, n d) (Eq. (12), line 3)."""
    return kron(W_V.T, eye(X.shape[0]))


EQ_12_3.oracle(lambda X, W_V: jacobian(values, "X", COLUMN)(X, W_V))
EQ_12_3.mutant("W_V not transposed", lambda X, W_V: kron(W_V, eye(X.shape[0])))
EQ_12_3.mutant("factors exchanged, as for row-major vec", lambda X, W_V: kron(eye(X.shape[0]), W_V.T))

EQ_12_4 = Claim(
    SECTION_A3,
    "skipless.eq-12-line-4",
    label="Eq. (12), line 4",
    statement=r"(\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+(\mathbf{I}_d\otimes\mathbf{A}_\ell)(\mathbf{W}_\ell^{V\top}"
    r"\otimes\mathbf{I}_n)=(\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_\ell^{V\top}\otimes\mathbf{A}_\ell",
    relation=Equal(),
    proof=("skipless.eq-12-line-1", "skipless.eq-12-line-2", "skipless.eq-12-line-3"),
)


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
