"""The parenthesis before Eq. (23), that a larger beta leads to more dominance of the diagonal: of W_Q W_K^T it does; of the
attention matrix it depends on the tokens."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Tokens, Weights
from theorems.skipless.part_a4_2_softmax_jacobian.lemma_1 import Alpha, Beta, initial_logits
from theorems.skipless.quantities import initial_product
from verify.matrix import diag_part, eye, ones, row_sums, softmax
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading, Real, Setting

Increase = Annotated[Any, Real(0.0, 8.0)]

AT_BETA = Setting(SKIPLESS, "Section A.4.2",
    assumptions=[Definition("M = X (alpha Z + beta I) X^T, the logits at the initialisation of Eq. (11)", by=initial_logits)],
    sizes={"n": (1, 4), "d": (1, 3)})  # fmt: skip

LARGER = Claim(SKIPLESS, "skipless.sec-a.4.2-larger-beta", label="Section A.4.2, parenthesis before Eq. (23)",
    statement=r"""\text{Obviously, using our proposed initialization (larger }\beta\text{ leads to more diagonally dominant)}""",
    assumptions=[Definition("alpha Z + beta I is W_Q W_K^T at the initialisation of Eq. (11)", by=initial_product)],
    name="dominance of the query-key product with growing beta", relation=Equal(), all_sizes=True, sizes={"d": (1, 4)}, exact=True,
    expects="reading",
    reading=Reading("leads to more diagonally dominant", r"""of $W^QW^{K\top} = \alpha Z + \beta I$, of which Section 5.2 says it:
        every gap $W_{ii} - W_{ij}$, $j \ne i$, grows by as much as $\beta$. Of the attention matrix it depends on the tokens
        (skipless.sec-a.4.2-larger-beta-by-tokens), and for some it is false
        (skipless.sec-a.4.2-larger-beta-attention)"""),
    consequence=r"""A larger $\beta$ takes attention away from every token that has a larger product with another token than with
        itself; check that $x_i\cdot x_j \le |x_i|^2$ (skipless.sec-a.4.2-larger-beta-by-tokens).""",
    note="Eq. (23), which is drawn from it, is about the attention matrix.")  # fmt: skip


@LARGER.formula
def growth_of_gaps(Z: Weights, alpha: Alpha, beta: Beta, increase: Increase) -> Any:
    """increase off the diagonal, 0 on it, shape (d, d)."""
    return ones(Z.shape[0], Z.shape[0]) * increase - eye(Z.shape[0]) * increase


@LARGER.oracle
def growth_of_gaps_by_products(Z: Weights, alpha: Alpha, beta: Beta, increase: Increase) -> Any:
    later, earlier = (initial_product(Z, alpha, value) for value in (beta + increase, beta))
    return (diag_part(later).reshape(-1, 1) - later) - (diag_part(earlier).reshape(-1, 1) - earlier)


LARGER.mutant("halved", "increase -> increase / 2")
LARGER.mutant("the diagonal taken off twice", "eye(Z.shape[0]) -> 2 * eye(Z.shape[0])")

OF_ATTENTION = Claim(AT_BETA, "skipless.sec-a.4.2-larger-beta-attention", label="Attention to itself with growing beta",
    statement=r"""\mathbf{A}_{ii}(\beta)\le\mathbf{A}_{ii}(\beta')\ \text{for}\ \beta\le\beta',\quad
        \mathbf{A}=\mathrm{softmax}(\mathbf{X}(\alpha\mathbf{Z}+\beta\mathbf{I})\mathbf{X}^\top)""",
    assumptions=[Assumption("increase >= 0", nonnegative=lambda increase: increase)],
    name="attention on the diagonal with growing beta", relation=AtMost(left="A_ii at beta", ascent=False), expects="refuted",
    severity="error", correction="skipless.sec-a.4.2-larger-beta-by-tokens", of_project=True,
    note=r"""The other meaning of skipless.sec-a.4.2-larger-beta; $\beta'$ is $\beta$ and an increase. For tokens 1 and 2 the
        attention of the first to itself falls from 1/2 at $\beta = 0$ to 0.27 at $\beta = 1$. True of tokens of equal
        length, such as those after a layer normalisation.""")  # fmt: skip


@OF_ATTENTION.formula
def own_attention_at_larger_beta(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, increase: Increase) -> Any:
    """A_ii at beta + increase, shape (n,)."""
    return diag_part(softmax(initial_logits(X, Z, alpha, beta + increase)))


OF_ATTENTION.oracle(lambda X, Z, alpha, beta: diag_part(softmax(initial_logits(X, Z, alpha, beta))))
OF_ATTENTION.counterexample("tokens 1 and 2, alpha = 0, beta from 0 to 1", X=[[1], [2]], Z=[[0]], alpha=Fraction(0),
    beta=Fraction(0), increase=Fraction(1))  # fmt: skip
OF_ATTENTION.counterexample("two tokens of dimension 2, alpha = 1, beta from 1/2 to 1", X=[[1, 0], [2, 1]],
    Z=[[0, 1], [-1, 0]], alpha=Fraction(1), beta=Fraction(1, 2), increase=Fraction(1, 2))  # fmt: skip
OF_ATTENTION.mutant("beta decreased", "beta + increase -> beta - increase")
OF_ATTENTION.mutant("half of it", lambda value: value / 2)

BY_TOKENS = Claim(AT_BETA, "skipless.sec-a.4.2-larger-beta-by-tokens", label="Change of the gaps of logits with beta",
    statement=r"""(\mathbf{M}_{ii}-\mathbf{M}_{ij})(\beta')-(\mathbf{M}_{ii}-\mathbf{M}_{ij})(\beta)=(\beta'-\beta)\,x_i\cdot(x_i-x_j),
        \text{ so that a larger }\beta\text{ leads to more dominance in row }i\text{ if }x_i\cdot x_j\le|x_i|^2\text{ for all }j""",
    name="gaps of logits with growing beta", relation=Equal(), all_sizes=True, of_project=True, exact=True,
    corrects="skipless.sec-a.4.2-larger-beta-attention",
    note=r"$x_1, \dots, x_n$ are the tokens, the rows of $X$. For tokens of equal length the condition always holds.")  # fmt: skip


@BY_TOKENS.formula
def change_by_tokens(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, increase: Increase) -> Any:
    """increase x_i.(x_i - x_j), shape (n, n)."""
    return (row_sums(X * X) - X @ X.T) * increase


@BY_TOKENS.oracle
def change_of_gaps(X: Tokens, Z: Weights, alpha: Alpha, beta: Beta, increase: Increase) -> Any:
    later, earlier = (initial_logits(X, Z, alpha, value) for value in (beta + increase, beta))
    return (diag_part(later).reshape(-1, 1) - later) - (diag_part(earlier).reshape(-1, 1) - earlier)


BY_TOKENS.mutant("squared distance of the tokens", "X @ X.T -> 2 * X @ X.T - row_sums(X * X).T")
BY_TOKENS.mutant("row j in the place of row i", "row_sums(X * X) -> row_sums(X * X).T")
