"""Lemma 1 and the lines of its proof that are bounds O(alpha e^-beta): Eqs. (21), (23)-(29), all of them refuted.

What holds in their place is in `bounds_by_gap`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Tokens, Weights
from theorems.skipless.part_a4_2_softmax_jacobian.bounds_by_gap import attention_given_away
from theorems.skipless.part_a4_2_softmax_jacobian.softmax_jacobian import (
    BLOCK, Logits, Product, attention, differentiated_blocks, largest_block_norm, norm_by_tokens, printed_blocks,
    slope_by_logits, weights_norm,
)  # fmt: skip
from theorems.skipless.quantities import initial_product
from verify.matrix import (
    absolute, column, concatenate, diag_part, exp, frobenius_norm, hadamard, mapped, ones, row_sums, softmax, spectral_norm,
    stack_rows,
)  # fmt: skip
from verify.vocabulary import AtMost, Claim, Construction, Definition, Equal, Real, Setting, checked

Alpha = Annotated[Any, Real(0.0, 2.0)]
Beta = Annotated[Any, Real(0.0, 8.0)]
Constant = Annotated[Any, Real(1.0, 64.0)]

AT_INITIALISATION = Setting(SKIPLESS, "Lemma 1",
    assumptions=[
        Definition("A = softmax(M), M = X W X^T, W = W_Q W_K^T = alpha Z + beta I (Eq. (11)), of which any Z of shape (d, "
        "d) may be drawn",
            by=initial_product),
    ],
    sizes={"n": (1, 3), "d": (1, 2)})  # fmt: skip
WHY = (
    r"At $\alpha = 0$, the choice of Section A.8, the right-hand side is 0 for every constant and every $X$, well"
    r" separated tokens included, and the left-hand side is not (for Gaussian tokens with probability 1): it does not tend "
    "to 0 with"
    r" $\alpha$. For $\alpha > 0$ it does not"
    r" decay like $e^{-\beta}$ either: equal tokens attend to each other equally at any $\beta$."
)


def initial_logits(X: Any, Z: Any, alpha: Any, beta: Any) -> Any:
    """X (alpha Z + beta I) X^T, shape (n, n)."""
    return X @ initial_product(Z, alpha, beta) @ X.T


BIG = Fraction(10**6)
#: Equal tokens attend uniformly at any beta; orthonormal ones are well separated, at the alpha and beta of Section A.8;
#: of the last two the shorter attends to the longer, and the gap grows like beta / 4.
EXAMPLES: dict[str, dict[str, Any]] = {
    "two equal tokens, alpha = 1, beta = 24, C = 10^6": {
        "X": [[1], [1]], "Z": [[1]], "alpha": Fraction(1), "beta": Fraction(24), "C": BIG,
    },
    "two orthonormal tokens, alpha = 0, beta = 1/2, C = 10^6": {
        "X": [[1, 0], [0, 1]], "Z": [[1, 0], [0, 1]], "alpha": Fraction(0), "beta": Fraction(1, 2), "C": BIG,
    },
    "tokens 1/2 and 1, alpha = 1, beta = 40, C = 10^6": {
        "X": [[Fraction(1, 2)], [1]], "Z": [[0]], "alpha": Fraction(1), "beta": Fraction(40), "C": BIG,
    },
}  # fmt: skip


@checked
def printed_order(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """C alpha e^-beta, shape (1, 1) (Lemma 1 and Eqs. (23)-(26))."""
    return column(C * alpha * exp(-beta))


@checked
def printed_order_with_dimension(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """C d alpha e^-beta, shape (1, 1) (Eq. (27))."""
    return column(C * alpha * exp(-beta) * X.shape[1])


ORDER = "O(x) means: at most C x, with a constant C that does not depend on alpha and beta; here C is any number given"
OF_ORDER = AT_INITIALISATION.extended(assumptions=[Definition(ORDER, by=printed_order)])


def refuted_order(claim: Claim, formula: Callable[..., Any] = printed_order) -> None:
    """What the claims of order alpha e^-beta share: formula, counterexamples and mutants."""
    claim.formula(formula)
    for title, inputs in EXAMPLES.items():
        claim.counterexample(title, **inputs)
    claim.mutant("alpha dropped: e^-beta", "alpha -> 2")
    claim.mutant("polynomial in beta: alpha / (1 + beta)", "exp(-beta) -> 1 / (1 + beta)")


LEMMA_1 = Claim(OF_ORDER, "skipless.lemma-1", label="Lemma 1", name="derivative of attention at initialisation",
    statement=r"""\text{Let }\mathbf{A}=\mathrm{softmax}(\mathbf{M})\text{, where
        }\mathbf{M}=\mathbf{X}\mathbf{W}^Q\mathbf{W}^{K^\top}\mathbf{X}^\top\text{. With the proposed initialization
        (see in Eq. (11)), we can show that the 2-norm of the derivative scales,
        }\left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{X})}\right\|_2=O(\alpha e^{-\beta})
        """,
    relation=AtMost(left="norm of A' by tokens", ascent=False), expects="refuted", severity="error",
    correction="skipless.lemma-1-gap",
    proof=(
        "skipless.eq-21", "skipless.eq-22-structure", "skipless.eq-22", "skipless.eq-23", "skipless.eq-24-25",
        "skipless.eq-26", "skipless.eq-27-28", "skipless.eq-29",
    ),
    consequence=r"""A large $\beta$ does not make attention insensitive to its input, and $\alpha \to 0$ does not
        either: compute the smallest gap $\gamma$ of the logits and use the bound
        $2(n-1)e^{-\gamma}(\|XW\|_2+\|XW^\top\|_2)$ (skipless.lemma-1-gap).""",
    note=WHY
    + r""" For equal tokens the norm even grows, like $\beta$. What does hold has the smallest gap of the logits in the
        exponent; for Gaussian tokens of large dimension that is near $\beta d$, so the norm is then far smaller than
        $e^{-\beta}$, but $\alpha$ is still no factor of it. In the paper's favour: at a fixed $\alpha > 0$, where that
        factor is a constant, and for given tokens with $x_i\cdot(x_i - x_j) > 1$, as Gaussian ones of large dimension have,
        the norm is $O(e^{-\beta})$ as $\beta$ grows. The Lemma states neither.""")  # fmt: skip

refuted_order(LEMMA_1)
LEMMA_1.oracle(lambda X, Z, alpha, beta: norm_by_tokens(X, initial_product(Z, alpha, beta)))

EQ_23 = Claim(OF_ORDER, "skipless.eq-23", label="Eq. (23)", name="attention off the diagonal at initialisation",
    statement=r"""\text{Obviously, using our proposed initialization (larger }\beta\text{ leads to more diagonally
        dominant), we have: }\mathbf{A}_{ii}=1-\mathcal{O}(\alpha
        e^{-\beta})\quad\text{and}\quad\mathbf{A}_{ij}=\mathcal{O}(\alpha e^{-\beta})""",
    relation=AtMost(left="attention off the diagonal", ascent=False), expects="refuted", severity="error",
    correction="skipless.eq-23-gap",
    note=WHY
    + r""" Nor does larger $\beta$ always lead to more dominance: where $x_i\cdot x_j > |x_i|^2$ it takes attention away from
        the diagonal.""")  # fmt: skip

refuted_order(EQ_23)
EQ_23.oracle(lambda X, Z, alpha, beta: attention_given_away(initial_logits(X, Z, alpha, beta)))

EQ_24_25 = Claim(OF_ORDER, "skipless.eq-24-25", label="Eqs. (24)-(25)", name="diagonal entries of the softmax Jacobian",
    statement=r"""
        \text{In the case of }j=k:\ (\mathbf{J}_{\mathbf{A},i})_{ii}=\mathbf{A}_{ii}(1-\mathbf{A}_{ii})=\mathcal{O}(\alpha
        e^{-\beta})\text{ if }i=j;\ (\mathbf{J}_{\mathbf{A},i})_{ii}=\mathbf{A}_{ii}(1-\mathbf{A}_{ii})=\mathcal{O}(
        \alpha e^{-\beta})\text{ if }i\ne j""",
    relation=AtMost(ascent=False), expects="refuted", severity="error", uses=("skipless.eq-22",),
    presumes=("skipless.eq-25-index",), correction="skipless.eq-24-25-entries",
    note="The order fails in both lines: all diagonal entries are bounded here. The first equality of Eq. (24) is Eq. (22) and"
    " holds; that of Eq. (25) repeats the indices of Eq. (24) and is a misprint (skipless.eq-25-index). " + WHY,
)  # fmt: skip

refuted_order(EQ_24_25)


@EQ_24_25.oracle
def diagonals_of_blocks(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta) -> Any:
    """(J_{A,i})_{jj} for all i and j by differentiation, shape (n^2, 1)."""
    blocks = differentiated_blocks(initial_logits(X, Z, alpha, beta))
    return column(*(block[j, j] for block in blocks for j in range(X.shape[0])))


OF_LOGITS = Setting(
    SKIPLESS, "Eqs. (24)-(25)", assumptions=[Definition("A = softmax(M)", by=softmax)], sizes={"n": (1, 5)}, exact=True
)


def _others(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(n) if i != j]


IN_CASE = Definition("(J_{A,i})_{jj} for all i and j != i: the case j = k, 'if i != j'", by=_others)

EQ_25_INDEX = Claim(OF_LOGITS.extended(sizes={"n": (3, 5)}), "skipless.eq-25-index", label="Eq. (25), its indices",
    statement=r"(\mathbf{J}_{\mathbf{A},i})_{jj}=\mathbf{A}_{ii}(1-\mathbf{A}_{ii})\text{ if }i\ne j",
    assumptions=[IN_CASE],
    name="indices of the diagonal entries", relation=Equal(), expects="refuted", severity="slip", of_project=True,
    correction="skipless.eq-25-index-corrected",
    note=r"""As labelled, the entry is $A_{ij}(1 - A_{ij})$: for $A_1 = (1/2, 1/3, 1/6)$ it is 2/9 at $j = 2$, and
        $A_{11}(1 - A_{11})$ is 1/4. Taken as it stands, $(J_{A,i})_{ii}$ on the left, the line is Eq. (24) again and
        nothing is said of $j \ne i$. For two tokens the two agree.""")  # fmt: skip


@EQ_25_INDEX.formula
def diagonal_as_printed(M: Logits) -> Any:
    """A_ii (1 - A_ii) for all i and j != i, shape (n (n - 1), 1) (Eq. (25))."""
    A = softmax(M)
    return column(*(A[i, i] * (1 - A[i, i]) for i, j in _others(A.shape[0])))


@EQ_25_INDEX.oracle
def other_diagonals_of_blocks(M: Logits) -> Any:
    blocks = differentiated_blocks(M)
    return column(*(blocks[i][j, j] for i, j in _others(M.shape[0])))


EQ_25_INDEX.counterexample("three tokens, logits 0, -1, -2 in each row", M=[[0, -1, -2], [0, -1, -2], [0, -1, -2]])
EQ_25_INDEX.mutant("rank-one term dropped", "1 - A[i, i] -> 1")
EQ_25_INDEX.mutant("twice", lambda value: 2 * value)

EQ_25_INDEX_CORRECTED = Claim(OF_LOGITS, "skipless.eq-25-index-corrected", label="Eq. (25), its indices corrected",
    statement=r"(\mathbf{J}_{\mathbf{A},i})_{jj}=\mathbf{A}_{ij}(1-\mathbf{A}_{ij})\text{ for all }i,j,\ \mathbf{A}="
    r"\mathrm{softmax}(\mathbf{M}),\ (\mathbf{J}_{\mathbf{A},i})_{jk}=\partial\mathbf{A}_{ij}/\partial\mathbf{M}_{ik}",
    assumptions=[BLOCK],
    name="indices of the diagonal entries, corrected", relation=Equal(), all_sizes=True, of_project=True,
    corrects="skipless.eq-25-index", uses=("skipless.eq-22",))  # fmt: skip


@EQ_25_INDEX_CORRECTED.formula
def diagonal_entries(M: Logits) -> Any:
    """A_ij (1 - A_ij) for all i and j, shape (n, n)."""
    A = softmax(M)
    return A * (1 - A)


EQ_25_INDEX_CORRECTED.oracle(lambda M: stack_rows(mapped(diag_part, differentiated_blocks(M))))
EQ_25_INDEX_CORRECTED.mutant("as printed", lambda value: diag_part(value).reshape(-1, 1) + 0 * value)
EQ_25_INDEX_CORRECTED.mutant("rank-one term dropped", "1 - A -> 1")

EQ_26 = Claim(OF_ORDER, "skipless.eq-26", label="Eq. (26)", name="off-diagonal entries of the softmax Jacobian",
    statement=r"""
        \text{In the case of }j\ne k:\ (\mathbf{J}_{\mathbf{A},i})_{jk}=-\mathbf{A}_{ij}\mathbf{A}_{ik}=\mathcal{O}(\alpha
        e^{-\beta})""",
    relation=AtMost(ascent=False), sizes={"n": (2, 3), "d": (1, 2)}, expects="refuted", severity="error",
    uses=("skipless.eq-22",), correction="skipless.eq-26-entries",
    note="The first equality is Eq. (22) and holds; the order does not. " + WHY)  # fmt: skip

refuted_order(EQ_26)


@EQ_26.oracle
def entries_off_the_diagonals_of_blocks(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta) -> Any:
    """|(J_{A,i})_{jk}| for all i and j != k by differentiation, shape (n^2 (n - 1), 1)."""
    blocks, n = [absolute(block) for block in differentiated_blocks(initial_logits(X, Z, alpha, beta))], X.shape[0]
    return column(*(block[j, k] for block in blocks for j in range(n) for k in range(n) if j != k))


EQ_27_28 = Claim(AT_INITIALISATION, "skipless.eq-27-28", label="Eqs. (27)-(28)",
    statement=r"""
        \|\mathbf{J}_{\mathbf{A},i}\|_F=\sqrt{\sum_{j,k=1}^d((\mathbf{J}_{\mathbf{A},i})_{jk})^2}=d\cdot\mathcal{O}(
        \alpha e^{-\beta}),\qquad \|\mathbf{J}_{\mathbf{A},i}\|_2\le\|\mathbf{J}_{\mathbf{A},i}\|_F=\mathcal{O}(\alpha
        e^{-\beta})""",
    assumptions=[Definition(ORDER + "; the factor d of Eq. (27) is granted to both", by=printed_order_with_dimension)],
    name="norms of the softmax Jacobian's blocks", relation=AtMost(ascent=False), expects="refuted", severity="error",
    presumes=("skipless.eq-27-index",), correction="skipless.eq-27-28-norms",
    note=r"""The order fails even with the factor $d$ that Eq. (28) drops. The sum runs to $d$, but the block has $n$ rows
        (skipless.eq-27-index). $\|J\|_2 \le \|J\|_F$ holds. """ + WHY)  # fmt: skip

refuted_order(EQ_27_28, printed_order_with_dimension)


@EQ_27_28.oracle
def frobenius_norms_of_blocks(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta) -> Any:
    """|J_{A,i}|_F for all i by differentiation, shape (n, 1)."""
    return column(*map(frobenius_norm, differentiated_blocks(initial_logits(X, Z, alpha, beta))))


BLOCK_OF_TOKENS = Setting(SKIPLESS, "Eq. (27)",
    assumptions=[Construction("A = softmax(X W X^T), X of shape (n, d), so J_{A,i} has n rows and columns", shapes={"X":
        ("n", "d")})],
    sizes={"n": (1, 4), "d": (1, 3)})  # fmt: skip

INDEX = Claim(BLOCK_OF_TOKENS, "skipless.eq-27-index", label="Eq. (27), the range of its sum",
    statement=r"\|\mathbf{J}_{\mathbf{A},i}\|_F=\sqrt{\textstyle\sum_{j,k=1}^d((\mathbf{J}_{\mathbf{A},i})_{jk})^2}",
    name="range of the Frobenius sum", relation=Equal(), expects="refuted", severity="slip", of_project=True,
    correction="skipless.eq-27-index-corrected",
    note="For $d > n$ the sum has terms that do not exist, which are left out here.")  # fmt: skip


def _root_of_sum(X: Any, W: Any, rows: int, columns: int) -> Any:
    """The root of the sum over j up to `rows` and k up to `columns`, as far as they exist, for all i; shape (n, 1)."""
    blocks = printed_blocks(attention(X, W))
    return concatenate(mapped(lambda block: ones(1, 1) * frobenius_norm(block[:rows, :columns]), blocks), axis=0)


@INDEX.formula
def root_of_sum_to_dimension(X: Tokens, W: Product) -> Any:
    """The printed sum for all i, shape (n, 1)."""
    return _root_of_sum(X, W, X.shape[1], X.shape[1])


@INDEX.oracle
def frobenius_norms(X: Tokens, W: Product) -> Any:
    blocks = differentiated_blocks(X @ W @ X.T)
    return concatenate(mapped(lambda block: ones(1, 1) * frobenius_norm(block), blocks), axis=0)


INDEX.counterexample("n = 2, d = 1, a token 0 and a token 1", X=[[0], [1]], W=[[1]])
INDEX.mutant("one index to d only", lambda X, W: _root_of_sum(X, W, X.shape[0], X.shape[1]))
INDEX.mutant("up to n", lambda X, W: _root_of_sum(X, W, X.shape[0], X.shape[0]))

INDEX_CORRECTED = Claim(BLOCK_OF_TOKENS, "skipless.eq-27-index-corrected", label="Eq. (27), its sum corrected",
    statement=r"""\|\mathbf{J}_{\mathbf{A},i}\|_F^2=\textstyle\sum_{j,k=1}^n((\mathbf{J}_{\mathbf{A},i})_{jk})^2=s_{2,i}-2s_{3,i}+
        s_{2,i}^2,\quad s_{p,i}=\sum_j\mathbf{A}_{ij}^p,\ \mathbf{J}_{\mathbf{A},i}=\partial\mathbf{A}_{i,:}/\partial
        \mathbf{M}_{i,:}""",
    name="range of the Frobenius sum, corrected", relation=Equal(), all_sizes=True, of_project=True,
    corrects="skipless.eq-27-index", uses=("skipless.eq-22",))  # fmt: skip


@INDEX_CORRECTED.formula
def squared_norms_by_power_sums(X: Tokens, W: Product) -> Any:
    """s_2 - 2 s_3 + s_2^2 for all rows of the attention, shape (n, 1)."""
    A = attention(X, W)
    squares = hadamard(A, A)
    s_2, s_3 = row_sums(squares), row_sums(hadamard(squares, A))
    return s_2 - s_3 * 2 + hadamard(s_2, s_2)


@INDEX_CORRECTED.oracle
def sums_of_squares_differentiated(X: Tokens, W: Product) -> Any:
    """The sum of the squares of all entries of each differentiated block, shape (n, 1)."""
    blocks = differentiated_blocks(X @ W @ X.T)
    return concatenate(mapped(lambda block: row_sums(row_sums(hadamard(block, block)).T), blocks), axis=0)


INDEX_CORRECTED.mutant("up to d in one index", "row_sums(squares) -> row_sums(squares[:, : X.shape[1]])")
INDEX_CORRECTED.mutant("the diagonal of the block alone", "hadamard(s_2, s_2) -> 0 * s_2")


# -- the derivative of the logits, left out ----------------------------------------------------------------------------

SCALED = Setting(SKIPLESS, "Eq. (21), proof of Lemma 1",
    assumptions=[Definition("A = softmax(M), M = X W X^T, W = W_Q W_K^T", by=attention)],
    sizes=AT_INITIALISATION.sizes)  # fmt: skip
LEFT_OUT = (
    r"The factor $\partial\mathrm{vec}(M)/\partial\mathrm{vec}(X)$ is missing: $W \to W/s^2$,"
    r" $X \to sX$ leaves $M$ and the right-hand side as they are and multiplies the left-hand side by"
    r" $1/s$. The example has $\alpha = 0$ and $\beta = 4$, which are among the choices of Eq. (11)."
)

EQ_21 = Claim(SCALED, "skipless.eq-21", label="Eq. (21), proof of Lemma 1",
    statement=r"""
        \left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{X})}\right\|_2\le\left\|\frac{
        \partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{M})}\right\|_2""",
    name="derivative of attention by tokens and logits", relation=AtMost(ascent=False), expects="refuted",
    severity="error", correction="skipless.eq-21-chain-rule",
    note=LEFT_OUT + " Eq. (12), cited for it, says nothing of this derivative.")  # fmt: skip


@EQ_21.formula
def norm_by_logits(X: Tokens, W: Product) -> Any:
    """|d vec A / d vec M|_2, a scalar."""
    return spectral_norm(slope_by_logits(X @ W @ X.T))


EQ_21.oracle(norm_by_tokens)
TWO_TOKENS: dict[str, Any] = {"X": [[1], [1]], "W": [[4]]}
EQ_21.counterexample("two tokens 1 of dimension 1, alpha = 0, beta = 4: 2 sqrt(2) against 1/2", **TWO_TOKENS)
EQ_21.mutant("with the factor |X W|_2 + |X W^T|_2", lambda value, X, W: value * weights_norm(X, W))
EQ_21.mutant("with the factor |X|_2 alone", lambda value, X: value * spectral_norm(X))

EQ_29 = Claim(SCALED, "skipless.eq-29", label="Eq. (29)", name="norm of the derivative by blocks",
    statement=r"""
        \left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{X})}\right\|_2=\max_i\|\mathbf{J}_{
        \mathbf{A},i}\|_2=\mathcal{O}(\alpha e^{-\beta})""",
    relation=Equal(), expects="refuted", severity="error", uses=("skipless.eq-27-28",),
    correction="skipless.eq-29-logits",
    note="The first equality is judged here, the order in Lemma 1. The maximum is the norm of the derivative by the logits,"
    " not by the tokens; Eq. (21) had an inequality between the two. " + LEFT_OUT)  # fmt: skip


@EQ_29.formula
def largest_norm_of_blocks(X: Tokens, W: Product) -> Any:
    """max_i |J_{A,i}|_2, a scalar."""
    return largest_block_norm(X @ W @ X.T)


EQ_29.oracle(norm_by_tokens)
EQ_29.counterexample("two tokens 1 of dimension 1, alpha = 0, beta = 4: 2 sqrt(2) against 1/2", **TWO_TOKENS)
EQ_29.mutant("sum over the rows", lambda X, W: sum(map(spectral_norm, differentiated_blocks(X @ W @ X.T))))
EQ_29.mutant("norm of A", lambda X, W: spectral_norm(softmax(X @ W @ X.T)))
