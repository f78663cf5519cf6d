"""Lemma 1 and the lines of its proof that are bounds O(alpha e^-beta): Eqs. (21), (23)-(29)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.appendix_a4_2_softmax_jacobian.bounds_by_gap import attention_given_away
from theorems.skipless.appendix_a4_2_softmax_jacobian.softmax_jacobian import (
    Product,
    attention,
    differentiated_block,
    largest_block_norm,
    slope_by_logits,
    slope_by_tokens,
    softmax_block,
    weights_norm,
)
from theorems.skipless.definitions import Tokens, Weights
from verify.claims import Claim
from verify.matrix import absolute, column, exp, eye, frobenius_norm, softmax, spectral_norm
from verify.relations import AtMost, Equal
from verify.shapes import Real

Alpha = Annotated[Any, Real(0.0, 2.0)]
Beta = Annotated[Any, Real(0.0, 8.0)]
Constant = Annotated[Any, Real(1.0, 64.0)]

INITIALISATION = [
    "A = softmax(M), M = X W X^T, W = W_Q W_K^T = alpha Z + beta I (Eq. (11)), Z of shape (d, d) with normal entries",
    "nothing is assumed of X; at alpha = 0 what is printed fails for the Gaussian tokens of Section A.4.1 with probability 1",
]
ORDER = "O(x) means: at most C x, with a constant C that does not depend on alpha and beta; here C is any number given"
WHY = (
    "At alpha = 0, the choice of Section A.8, the right-hand side is 0 for every constant and every X, well separated"
    " tokens"
    " included, and the left-hand side is not: it does not tend to 0 with alpha. For alpha > 0 it does not decay like"
    " e^-beta"
    " either: equal tokens attend to each other equally at any beta."
)
SIZES = {"n": (1, 3), "d": (1, 2)}


def initial_product(Z: Any, alpha: Any, beta: Any) -> Any:
    """alpha Z + beta I, shape (d, d) (Eq. (11))."""
    return Z * alpha + eye(Z.shape[0]) * beta


def initial_logits(X: Any, Z: Any, alpha: Any, beta: Any) -> Any:
    """X (alpha Z + beta I) X^T, shape (n, n)."""
    return X @ initial_product(Z, alpha, beta) @ X.T


def equal_tokens() -> dict[str, Any]:
    """Two equal tokens at a large beta: attention is uniform."""
    return {"X": [[1], [1]], "Z": [[1]], "alpha": Fraction(1), "beta": Fraction(24), "C": Fraction(10**6)}


def orthogonal_tokens() -> dict[str, Any]:
    """Two orthonormal tokens, well separated, at the alpha and beta of Section A.8."""
    return {
        "X": [[1, 0], [0, 1]],
        "Z": [[1, 0], [0, 1]],
        "alpha": Fraction(0),
        "beta": Fraction(1, 2),
        "C": Fraction(10**6),
    }


def collinear_tokens() -> dict[str, Any]:
    """Tokens 1/2 and 1: the shorter one attends to the longer, and the gap grows like beta / 4."""
    return {"X": [[Fraction(1, 2)], [1]], "Z": [[0]], "alpha": Fraction(1), "beta": Fraction(40), "C": Fraction(10**6)}


EXAMPLES = {
    "two equal tokens, alpha = 1, beta = 24, C = 10^6": equal_tokens,
    "two orthonormal tokens, alpha = 0, beta = 1/2, C = 10^6": orthogonal_tokens,
    "tokens 1/2 and 1, alpha = 1, beta = 40, C = 10^6": collinear_tokens,
}


def refuted_order(claim: Claim, power: Callable[..., Any] = lambda X: 1) -> None:
    """Counterexamples and mutants that the claims of order alpha e^-beta share; `power` is a further factor."""
    for title, inputs in EXAMPLES.items():
        claim.counterexample(title)(inputs)

    @claim.mutant("alpha dropped: e^-beta")
    def _(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
        return column(C * exp(-beta) * power(X) * 2)

    @claim.mutant("polynomial in beta: alpha / (1 + beta)")
    def _(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
        return column(C * alpha / (1 + beta) * power(X))


def order(alpha: Any, beta: Any, C: Any) -> Any:
    """C alpha e^-beta, shape (1, 1)."""
    return column(C * alpha * exp(-beta))


LEMMA_1 = Claim(
    SKIPLESS,
    "skipless.lemma-1",
    label="Lemma 1",
    statement=r"\text{Let }\mathbf{A}=\mathrm{softmax}(\mathbf{M}),\ \mathbf{M}=\mathbf{X}\mathbf{W}^Q\mathbf{W}^{K\top}"
    r"\mathbf{X}^\top.\text{ With the initialisation of Eq. (11), }\left\|\partial\mathrm{vec}(\mathbf{A})/\partial"
    r"\mathrm{vec}(\mathbf{X})\right\|_2=O(\alpha e^{-\beta})",
    assumptions=[*INITIALISATION, ORDER],
    relation=AtMost(ascent=False),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    proof=(
        "skipless.eq-21",
        "skipless.eq-22-structure",
        "skipless.eq-22",
        "skipless.eq-23",
        "skipless.eq-24-25",
        "skipless.eq-26",
        "skipless.eq-27-28",
        "skipless.eq-29",
    ),
    correction="skipless.lemma-1-gap",
    note=WHY
    + " For equal tokens the norm even grows, like beta. What does hold has the smallest gap of the logits in the"
    " exponent; for Gaussian tokens of large dimension that is near beta d, so the norm is then far smaller than e^-beta,"
    " but"
    " alpha is still no factor of it. In the paper's favour: at a fixed alpha > 0, where that factor is a constant, and for"
    " given tokens with x_i.(x_i - x_j) > 1, as Gaussian ones of large dimension have, the norm is O(e^-beta) as beta"
    " grows. The Lemma states neither.",
)


@LEMMA_1.formula
def printed_order(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """C alpha e^-beta, shape (1, 1) (Lemma 1)."""
    return order(alpha, beta, C)


LEMMA_1.oracle(lambda X, Z, alpha, beta, C: spectral_norm(slope_by_tokens(X, initial_product(Z, alpha, beta))))


refuted_order(LEMMA_1)

EQ_23 = Claim(
    SKIPLESS,
    "skipless.eq-23",
    label="Eq. (23)",
    statement=r"\mathbf{A}_{ii}=1-\mathcal{O}(\alpha e^{-\beta})\text{ and }\mathbf{A}_{ij}=\mathcal{O}(\alpha e^{-\beta})"
    r"\ (i\ne j)\text{ under the proposed initialisation (larger }\beta\text{ leads to more diagonally dominant)}",
    assumptions=[*INITIALISATION, ORDER],
    relation=AtMost(ascent=False),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    correction="skipless.eq-23-gap",
    note=WHY
    + " Nor does larger beta always lead to more dominance: where x_i.x_j > |x_i|^2 it takes attention away from the"
    " diagonal.",
)


@EQ_23.formula
def printed_order_of_attention(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """C alpha e^-beta, shape (1, 1) (Eq. (23))."""
    return order(alpha, beta, C)


@EQ_23.oracle
def initial_attention_given_away(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """1 - A_ii for all i, shape (n, 1)."""
    return attention_given_away(initial_logits(X, Z, alpha, beta))


refuted_order(EQ_23)

EQ_24_25 = Claim(
    SKIPLESS,
    "skipless.eq-24-25",
    label="Eqs. (24)-(25)",
    statement=r"\text{In the case }j=k:\ (\mathbf{J}_{\mathbf{A},i})_{ii}=\mathbf{A}_{ii}(1-\mathbf{A}_{ii})="
    r"\mathcal{O}(\alpha e^{-\beta})\text{ if }i=j;\ (\mathbf{J}_{\mathbf{A},i})_{ii}=\mathbf{A}_{ii}(1-\mathbf{A}_{ii})="
    r"\mathcal{O}(\alpha e^{-\beta})\text{ if }i\ne j",
    assumptions=[*INITIALISATION, ORDER],
    relation=AtMost(ascent=False),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    uses=("skipless.eq-22",),
    correction="skipless.eq-24-25-entries",
    doubt="Both lines show the same indices. The second must mean (J_{A,i})_{jj} = A_ij (1 - A_ij); all diagonal entries"
    " are"
    " bounded here, so either reading is covered.",
    note="The first equality of each line is Eq. (22) and holds; the order does not. " + WHY,
)


@EQ_24_25.formula
def printed_order_of_diagonals(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """C alpha e^-beta, shape (1, 1) (Eqs. (24)-(25))."""
    return order(alpha, beta, C)


@EQ_24_25.oracle
def diagonals_of_blocks(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """(J_{A,i})_{jj} for all i and j by differentiation, shape (n^2, 1)."""
    M = initial_logits(X, Z, alpha, beta)
    n = M.shape[0]
    blocks = [differentiated_block(M, i) for i in range(n)]
    return column(*(block[j, j] for block in blocks for j in range(n)))


refuted_order(EQ_24_25)

EQ_26 = Claim(
    SKIPLESS,
    "skipless.eq-26",
    label="Eq. (26)",
    statement=r"\text{In the case }j\ne k:\ (\mathbf{J}_{\mathbf{A},i})_{jk}=-\mathbf{A}_{ij}\mathbf{A}_{ik}="
    r"\mathcal{O}(\alpha e^{-\beta})",
    assumptions=[*INITIALISATION, ORDER],
    relation=AtMost(ascent=False),
    sizes={"n": (2, 3), "d": (1, 2)},
    expects="refuted",
    severity="error",
    uses=("skipless.eq-22",),
    correction="skipless.eq-26-entries",
    note="The first equality is Eq. (22) and holds; the order does not. " + WHY,
)


@EQ_26.formula
def printed_order_of_products(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """C alpha e^-beta, shape (1, 1) (Eq. (26))."""
    return order(alpha, beta, C)


@EQ_26.oracle
def entries_off_the_diagonals_of_blocks(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """|(J_{A,i})_{jk}| for all i and j != k by differentiation, shape (n^2 (n - 1), 1)."""
    M = initial_logits(X, Z, alpha, beta)
    n = M.shape[0]
    blocks = [absolute(differentiated_block(M, i)) for i in range(n)]
    return column(*(block[j, k] for block in blocks for j in range(n) for k in range(n) if j != k))


refuted_order(EQ_26)

EQ_27_28 = Claim(
    SKIPLESS,
    "skipless.eq-27-28",
    label="Eqs. (27)-(28)",
    statement=r"\|\mathbf{J}_{\mathbf{A},i}\|_F=\sqrt{\sum_{j,k=1}^d((\mathbf{J}_{\mathbf{A},i})_{jk})^2}=d\cdot"
    r"\mathcal{O}(\alpha e^{-\beta}),\qquad \|\mathbf{J}_{\mathbf{A},i}\|_2\le\|\mathbf{J}_{\mathbf{A},i}\|_F="
    r"\mathcal{O}(\alpha e^{-\beta})",
    assumptions=[*INITIALISATION, ORDER + "; the factor d of Eq. (27) is granted to both"],
    relation=AtMost(ascent=False),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    presumes=("skipless.eq-27-index",),
    correction="skipless.eq-27-28-norms",
    note="The order fails even with the factor d that Eq. (28) drops. The sum runs to d, but the block has n rows"
    " (skipless.eq-27-index). |J|_2 <= |J|_F holds. " + WHY,
)


@EQ_27_28.formula
def printed_order_with_dimension(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """C d alpha e^-beta, shape (1, 1) (Eq. (27))."""
    return column(C * alpha * exp(-beta) * X.shape[1])


@EQ_27_28.oracle
def frobenius_norms_of_blocks(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """|J_{A,i}|_F for all i by differentiation, shape (n, 1)."""
    M = initial_logits(X, Z, alpha, beta)
    return column(*(frobenius_norm(differentiated_block(M, i)) for i in range(M.shape[0])))


refuted_order(EQ_27_28, lambda X: X.shape[1])

INDEX = Claim(
    SKIPLESS,
    "skipless.eq-27-index",
    label="Eq. (27), the range of its sum",
    statement=r"\|\mathbf{J}_{\mathbf{A},i}\|_F=\sqrt{\textstyle\sum_{j,k=1}^d((\mathbf{J}_{\mathbf{A},i})_{jk})^2}",
    assumptions=["A = softmax(X W X^T), X of shape (n, d), so J_{A,i} has n rows and columns"],
    relation=Equal(),
    sizes={"n": (1, 4), "d": (1, 3)},
    expects="refuted",
    severity="slip",
    of_project=True,
    correction="skipless.eq-27-index-corrected",
    note="For d > n the sum has terms that do not exist, which are left out here.",
)


def _root_of_sum(X: Any, W: Any, rows: int, columns: int) -> Any:
    """The root of the sum over j up to `rows` and k up to `columns`, as far as they exist, for all i; shape (n, 1)."""
    A = attention(X, W)
    blocks = [softmax_block(A, i)[:rows, :columns] for i in range(A.shape[0])]
    return column(*map(frobenius_norm, blocks))


@INDEX.formula
def root_of_sum_to_dimension(X: Tokens, W: Product) -> Any:
    """The printed sum for all i, shape (n, 1)."""
    return _root_of_sum(X, W, X.shape[1], X.shape[1])


@INDEX.oracle
def frobenius_norms(X: Tokens, W: Product) -> Any:
    M = X @ W @ X.T
    return column(*(frobenius_norm(differentiated_block(M, i)) for i in range(M.shape[0])))


INDEX.counterexample("n = 2, d = 1, a token 0 and a token 1", X=[[0], [1]], W=[[1]])
INDEX.mutant("one index to d only", lambda X, W: _root_of_sum(X, W, X.shape[0], X.shape[1]))
INDEX.mutant("up to n", lambda X, W: _root_of_sum(X, W, X.shape[0], X.shape[0]))


INDEX_CORRECTED = Claim(
    SKIPLESS,
    "skipless.eq-27-index-corrected",
    label="Eq. (27), its sum corrected",
    statement=r"\|\mathbf{J}_{\mathbf{A},i}\|_F=\sqrt{\textstyle\sum_{j,k=1}^n((\mathbf{J}_{\mathbf{A},i})_{jk})^2}",
    assumptions=INDEX.assumptions,
    relation=Equal(),
    sizes=INDEX.sizes,
    of_project=True,
    corrects="skipless.eq-27-index",
    uses=("skipless.eq-22",),
)


@INDEX_CORRECTED.formula
def root_of_sum_to_length(X: Tokens, W: Product) -> Any:
    """The sum over j, k = 1..n for all i, shape (n, 1)."""
    return _root_of_sum(X, W, X.shape[0], X.shape[0])


INDEX_CORRECTED.oracle(frobenius_norms)
INDEX_CORRECTED.mutant("up to d, as printed")(root_of_sum_to_dimension)
INDEX_CORRECTED.mutant("one index to d only", lambda X, W: _root_of_sum(X, W, X.shape[0], X.shape[1]))


# -- the derivative of the logits, left out ----------------------------------------------------------------------------

SCALED = ["A = softmax(M), M = X W X^T, W = alpha Z + beta I; alpha = 0 and any beta are among the choices of Eq. (11)"]
LEFT_OUT = (
    "The factor d vec M / d vec X is missing: W -> W / s^2, X -> s X leaves M and the right-hand side as they are and"
    " multiplies the left-hand side by 1 / s."
)

EQ_21 = Claim(
    SKIPLESS,
    "skipless.eq-21",
    label="Eq. (21), proof of Lemma 1",
    statement=r"\left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{X})}\right\|_2\le"
    r"\left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{M})}\right\|_2",
    assumptions=SCALED,
    relation=AtMost(ascent=False),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    correction="skipless.eq-21-chain-rule",
    note=LEFT_OUT + " Eq. (12), cited for it, says nothing of this derivative.",
)


@EQ_21.formula
def norm_by_logits(X: Tokens, W: Product) -> Any:
    """|d vec A / d vec M|_2, a scalar."""
    return spectral_norm(slope_by_logits(X @ W @ X.T))


@EQ_21.oracle
def norm_by_tokens(X: Tokens, W: Product) -> Any:
    return spectral_norm(slope_by_tokens(X, W))


def two_tokens_at_one() -> dict[str, Any]:
    """alpha = 0, beta = 4, two equal tokens: 2 sqrt(2) against 1/2."""
    return {"X": [[1], [1]], "W": [[4]]}


EQ_21.counterexample("two tokens 1 of dimension 1, alpha = 0, beta = 4: 2 sqrt(2) against 1/2")(two_tokens_at_one)
EQ_21.mutant("with the factor |X W|_2 + |X W^T|_2", lambda value, X, W: value * weights_norm(X, W))
EQ_21.mutant("with the factor |X|_2 alone", lambda value, X: value * spectral_norm(X))


EQ_29 = Claim(
    SKIPLESS,
    "skipless.eq-29",
    label="Eq. (29)",
    statement=r"\left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{X})}\right\|_2="
    r"\max_i\|\mathbf{J}_{\mathbf{A},i}\|_2=\mathcal{O}(\alpha e^{-\beta})",
    assumptions=SCALED,
    relation=Equal(),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    uses=("skipless.eq-27-28",),
    correction="skipless.eq-29-logits",
    note="The first equality is judged here, the order in Lemma 1. The maximum is the norm of the derivative by the logits,"
    " not by the tokens; Eq. (21) had an inequality between the two. " + LEFT_OUT,
)


@EQ_29.formula
def largest_norm_of_blocks(X: Tokens, W: Product) -> Any:
    """max_i |J_{A,i}|_2, a scalar."""
    return largest_block_norm(X @ W @ X.T)


EQ_29.oracle(norm_by_tokens)
EQ_29.counterexample("two tokens 1 of dimension 1, alpha = 0, beta = 4: 2 sqrt(2) against 1/2")(two_tokens_at_one)


@EQ_29.mutant("sum over the rows")
def _(X: Tokens, W: Product) -> Any:
    M = X @ W @ X.T
    return sum(spectral_norm(differentiated_block(M, i)) for i in range(M.shape[0]))


EQ_29.mutant("norm of A", lambda X, W: spectral_norm(softmax(X @ W @ X.T)))
