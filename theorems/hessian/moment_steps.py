"""The remaining steps of the proof for Z_2 (Appendix C.2): the mixed product that is misprinted, and N = M_3."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import Logits, Tokens
from theorems.hessian.moments import SMALL, SOFTMAX, covariance, entry_hessian, row, third_cumulant
from verify.claims import Claim
from verify.matrix import basis_vector, column, concatenate, diag, eye, kron, softmax, stack_rows
from verify.relations import Equal
from verify.shapes import Shape

Matrix = Any
Token = Annotated[Any, Shape("d_V", "1")]

# -- 'the last equality follows from' ----------------------------------------------------------------------------------

PROOF_STEP = Claim(
    HESSIAN,
    "hessian.rem-3.1-proof-step",
    label="Appendix C.2, 'the last equality follows from'",
    statement=r"(X_{j,:}\otimes X^\top) e_i X_{i,:}^\top = (X_{j,:}^\top\otimes X^\top)(1\otimes e_i X_{i,:}^\top) = X_{j,:}"
    r"\otimes X^\top e_i X_{i,:}^\top = X_{j,:}\otimes X_{i,:}X_{i,:}^\top",
    assumptions=["X_{j,:} in R^{d_V} is a column vector, X in R^{L x d_V}, e_i in R^L", "so that the products exist"],
    relation=Equal(),
    sizes=SMALL,
    expects="refuted",
    severity="slip",
    correction="hessian.rem-3.1-proof-step-corrected",
    exact=True,
    doubt="The transpose of X_{j,:} in the second member is clear in the extraction, and only there; the members on either side"
    " have none.",
    note="Judged by the inner sizes of the second member: X_{j,:}^T (x) X^T has L d_V columns, its partner L rows."
    "  Without the transpose, as in the members around it, every step holds.",
)


@PROOF_STEP.formula
def columns_of_the_left_factor(X: Tokens) -> Any:
    """The number of columns of X_{j,:}^T (x) X^T, shape (1, 1) (Appendix C.2)."""
    return column(kron(X[:1], X.T).shape[1])


PROOF_STEP.oracle(lambda X: column(kron(eye(1), basis_vector(X.shape[0], 0) @ X[:1]).shape[0]))
PROOF_STEP.mutant("both factors transposed", lambda X: column(kron(X[:1], X).shape[1]))
PROOF_STEP.mutant("X_{i,:} once more", lambda X: column(kron(X[:1], X[:1], X.T).shape[1]))
PROOF_STEP.counterexample("one token in the plane: two columns meet one row", X=[[1, 1]])


PROOF_STEP_CORRECTED = Claim(
    HESSIAN,
    "hessian.rem-3.1-proof-step-corrected",
    label="Appendix C.2, the step without the transpose",
    statement=r"(X_{j,:}\otimes X^\top) e_i X_{i,:}^\top = (X_{j,:}\otimes X^\top)(1\otimes e_i X_{i,:}^\top) = X_{j,:}"
    r"\otimes X^\top e_i X_{i,:}^\top = X_{j,:}\otimes X_{i,:}X_{i,:}^\top \in \mathbb{R}^{d_V^2\times d_V}",
    assumptions=["X_{j,:} in R^{d_V} is a column vector, X in R^{L x d_V}, e_i in R^L"],
    relation=Equal(),
    sizes=SMALL,
    uses=("hessian.eq-6-10",),
    corrects="hessian.rem-3.1-proof-step",
    exact=True,
    of_project=True,
)


def _step(x: Matrix, X: Matrix, i: int, third: Any = kron) -> Matrix:
    """The four members for X_{j,:} = x, on top of each other; a mutant takes another product in the `third`."""
    e, X_i = basis_vector(X.shape[0], i), row(X, i)
    members = [
        kron(x, X.T) @ (e @ X_i.T),
        kron(x, X.T) @ kron(eye(1), e @ X_i.T),
        third(x, X.T @ (e @ X_i.T)),
        kron(x, X_i @ X_i.T),
    ]
    return concatenate(members, axis=0)


@PROOF_STEP_CORRECTED.formula
def mixed_product_step(x: Token, X: Tokens) -> Any:
    """The four members for every i, shape (4 L d_V^2, d_V); x is an arbitrary X_{j,:}."""
    return concatenate([_step(x, X, i) for i in range(X.shape[0])], axis=0)


@PROOF_STEP_CORRECTED.oracle
def products_of_three_entries(x: Token, X: Tokens) -> Any:
    L, d = X.shape
    members = [stack_rows([X[i] * (x[a, 0] * X[i, b]) for a in range(d) for b in range(d)]) for i in range(L)]
    return concatenate([member for member in members for _ in range(4)], axis=0)


PROOF_STEP_CORRECTED.mutant("factors exchanged in the third member", third=lambda a, b: kron(b, a))
PROOF_STEP_CORRECTED.mutant("another unit vector", "range -> reversed; X.shape[0] -> range(X.shape[0])")


# -- N = M_3 -----------------------------------------------------------------------------------------------------------

PROOF_MOMENT = Claim(
    HESSIAN,
    "hessian.rem-3.1-proof-moment",
    label="Appendix C.2, N = M_3",
    statement=r"N = \sum_j X_{j,:}\otimes X^\top A_{i,j}(2A_{i,:}A_{i,:}^\top + E_{j,j} - \operatorname{diag}(A_{i,:}) - e_j"
    r" A_{i,:}^\top - A_{i,:}e_j^\top) X = [M_1]_{i,:}\otimes([M_1]_{i,:}[M_1]_{i,:}^\top - X^\top\operatorname{diag}"
    r"(A_{i,:})X) + \sum_j A_{i,j}X_{j,:}\otimes([M_1]_{i,:}-X_{j,:})([M_1]_{i,:}-X_{j,:})^\top = [M_3]_{i,:};\ "
    r"X^\top\operatorname{diag}(A_{i,:})X - [M_1]_{i,:}[M_1]_{i,:}^\top = \sum_j A_{i,j}([M_1]_{i,:}-X_{j,:})"
    r"([M_1]_{i,:}-X_{j,:})^\top",
    assumptions=[SOFTMAX, "so that the rows of A sum to 1"],
    relation=Equal(),
    sizes=SMALL,
    uses=("hessian.def-3.1", "hessian.lem-C.1-entry", "hessian.eq-6-10"),
    exact=True,
)


def _members_of_n(X: Matrix, A: Matrix, sign: int = 1, weight: int = 2) -> Matrix:
    """Per row i: four members of N on top of each other, then the left side of the helper identity.

    Mutants change the `sign` of the mean in the third member and the `weight` of the mean's square in the second.
    """
    L, mean = X.shape[0], A @ X
    blocks = []
    for i in range(L):
        mu, a, xs = row(mean, i), row(A, i), [row(X, j) for j in range(L)]
        second = X.T @ diag(a) @ X
        spread = [(mu - x) @ (mu - x).T for x in xs]
        bracket = [weight * (mu @ mu.T) + x @ x.T - second - x @ mu.T - mu @ x.T for x in xs]
        blocks += [
            sum(kron(xs[j], X.T @ entry_hessian(a, j) @ X) for j in range(L)),
            sum(kron(xs[j], bracket[j]) * A[i, j] for j in range(L)),
            kron(mu, mu @ mu.T - second) * sign + sum(kron(xs[j], spread[j]) * A[i, j] for j in range(L)),
            sum(kron(xs[j] - mu, spread[j]) * A[i, j] for j in range(L)),
            second - mu @ mu.T,
        ]
    return concatenate(blocks, axis=0)


@PROOF_MOMENT.formula
def members_for_third_moment(X: Tokens, T: Logits) -> Any:
    """Four members of N and the helper identity for every i, shape (L (4 d_V^2 + d_V), d_V) (Appendix C.2)."""
    return _members_of_n(X, softmax(T))


@PROOF_MOMENT.oracle
def cumulants(X: Tokens, T: Logits) -> Any:
    A = softmax(T)
    blocks = [[third_cumulant(A, X, i)] * 4 + [covariance(A, X, i)] for i in range(X.shape[0])]
    return concatenate([block for per_row in blocks for block in per_row], axis=0)


PROOF_MOMENT.mutant("the covariance with the wrong sign", sign=-1)
PROOF_MOMENT.mutant("the square of the mean once instead of twice", weight=1)
PROOF_MOMENT.mutant("attention transposed", lambda X, T: _members_of_n(X, softmax(T.T)))
