"""The last two lines of Eq. (13): one whose products do not fit together, and one that repeats Eq. (10)."""

from __future__ import annotations

from typing import Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import QueryWeights, Tokens, Weights, attention_matrix
from theorems.skipless.jacobian_derivation import IN_DOUBT, SETUP, SIZES, self_attention_differentiated, slope
from verify.matrix import concatenate, eye, kron, ones
from verify.vocabulary import Claim, Equal

EQ_13_6 = Claim(
    SKIPLESS,
    "skipless.eq-13-line-6",
    label="Eq. (13), line 6",
    statement=r"\mathbf{K}_\ell=(\mathbf{W}_\ell^O\otimes\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_\ell^O"
    r"\otimes\mathbf{W}_\ell^V\otimes\mathbf{A}_\ell",
    assumptions=SETUP,
    relation=Equal(),
    sizes={"n": (1, 3), "d": (1, 2)},
    exact=True,
    expects="refuted",
    severity="slip",
    correction="skipless.eq-13-line-6-corrected",
    doubt="The brackets are damaged in the extraction; the Kronecker signs between W_O and V^T and between W_O and W_V are"
    " not, and no bracketing makes the line fit. "
    + IN_DOUBT
    + " Sizes alone are judged, which transposes do not change.",
    note="Ordinary products were meant: (P (x) I)(Q (x) R) = P Q (x) R. As printed the line is no equation between matrices"
    " but for d = 1: the sizes that have to agree are compared, columns of the first factor with rows of A', and both sides"
    " of the second term with the sides of K.",
)


def _sizes_of(*matrices: Any) -> Any:
    """The given numbers of rows or columns, shape (count, 1)."""
    return concatenate([ones(1, 1) * size for size in matrices], axis=0)


@EQ_13_6.formula
def sizes_as_printed(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """Columns of W_O (x) V^T (x) I_n, then rows and columns of W_O (x) W_V (x) A, shape (3, 1)."""
    first = kron(W_O, (X @ W_V).T, eye(X.shape[0]))
    second = kron(W_O, W_V, attention_matrix(X, W_Q, W_K))
    return _sizes_of(first.shape[1], *second.shape)


@EQ_13_6.oracle
def sizes_required(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """Rows of A', then rows and columns of K, shape (3, 1)."""
    K = self_attention_differentiated(X, W_Q, W_K, W_V, W_O)
    return _sizes_of(slope(X, W_Q, W_K).shape[0], *K.shape)


@EQ_13_6.counterexample(
    "n = 1, d = 2: a factor with 2 columns before A' with 1 row, a 4 x 4 term in the 2 x 2 matrix K"
)
def _() -> dict[str, Any]:
    zero, one = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
    return {"X": [[1, 0]], "W_Q": zero, "W_K": zero, "W_V": one, "W_O": one}


@EQ_13_6.mutant("one Kronecker factor more")
def _(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    first = kron(W_O, W_O, (X @ W_V).T, eye(X.shape[0]))
    second = kron(W_O, W_O, W_V, attention_matrix(X, W_Q, W_K))
    return _sizes_of(first.shape[1], *second.shape)


@EQ_13_6.mutant("W_V (x) W_V (x) W_O in the second term")
def _(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    first = kron(W_O, (X @ W_V).T, eye(X.shape[0]))
    second = kron(W_V, W_V, W_O, attention_matrix(X, W_Q, W_K))
    return _sizes_of(first.shape[1], *second.shape)


EQ_13_6_CORRECTED = Claim(
    SKIPLESS,
    "skipless.eq-13-line-6-corrected",
    label="Eq. (13), line 6, corrected",
    statement=r"\mathbf{K}_\ell=(\mathbf{W}_\ell^{O\top}\mathbf{V}_\ell^\top\otimes\mathbf{I}_n)\mathbf{A}'_\ell+\mathbf{W}_\ell^{O\top}"
    r"\mathbf{W}_\ell^{V\top}\otimes\mathbf{A}_\ell",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    of_project=True,
    corrects="skipless.eq-13-line-6",
    uses=("skipless.eq-13-line-5",),
)
EQ_13_6_CORRECTED.oracle(self_attention_differentiated)


def _line_six(X: Any, W_Q: Any, W_K: Any, before: Any, second: Any) -> Any:
    """(before (x) I_n) A' + second (x) A."""
    A = attention_matrix(X, W_Q, W_K)
    return kron(before, eye(X.shape[0])) @ slope(X, W_Q, W_K) + kron(second, A)


@EQ_13_6_CORRECTED.formula
def line_six(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(W_O^T V^T (x) I_n) A' + W_O^T W_V^T (x) A, shape (n d, n d)."""
    return _line_six(X, W_Q, W_K, W_O.T @ (X @ W_V).T, W_O.T @ W_V.T)


EQ_13_6_CORRECTED.mutant("W_O not transposed", "W_O.T -> W_O")
EQ_13_6_CORRECTED.mutant("W_V not transposed in the second term", "W_V.T -> W_V")
EQ_13_6_CORRECTED.mutant("W_V^T W_O^T in the second term", "W_O.T @ W_V.T -> W_V.T @ W_O.T")


EQ_13_7 = Claim(
    SKIPLESS,
    "skipless.eq-13-line-7",
    label="Eq. (13), last line",
    statement=r"\mathbf{K}_\ell=(\hat{\mathbf{X}}_{\ell-1}\mathbf{W}_\ell^V\mathbf{W}_\ell^O\otimes\mathbf{I}_n)^\top\mathbf{A}'_\ell+"
    r"(\mathbf{W}_\ell^V\mathbf{W}_\ell^O)^\top\otimes\mathbf{A}_\ell",
    assumptions=SETUP,
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    uses=("skipless.eq-13-line-6-corrected",),
    proof=(
        "skipless.eq-12-line-4",
        "skipless.eq-13-lines-1-3",
        "skipless.eq-13-line-4",
        "skipless.eq-13-line-5",
        "skipless.eq-13-line-6",
    ),
    note="The line is right; it follows from line 6 with its transposes and ordinary products restored.",
)
EQ_13_7.oracle(self_attention_differentiated)


def _last_line(X: Any, W_Q: Any, W_K: Any, first: Any, second: Any) -> Any:
    """(X first (x) I_n)^T A' + second (x) A."""
    A = attention_matrix(X, W_Q, W_K)
    return kron(X @ first, eye(X.shape[0])).T @ slope(X, W_Q, W_K) + kron(second, A)


@EQ_13_7.formula
def last_line(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(X W_V W_O (x) I_n)^T A' + (W_V W_O)^T (x) A, shape (n d, n d) (Eq. (13), last line)."""
    return _last_line(X, W_Q, W_K, W_V @ W_O, (W_V @ W_O).T)


EQ_13_7.mutant("W_O W_V instead of W_V W_O", "W_V -> W_O; W_O -> W_V")
EQ_13_7.mutant("second term not transposed", "(W_V @ W_O).T -> W_V @ W_O")
EQ_13_7.mutant("first term dropped", lambda X, W_Q, W_K, W_V, W_O: _last_line(X, W_Q, W_K, 0 * W_V, (W_V @ W_O).T))
