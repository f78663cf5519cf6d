"""Growth of the Hessian with the tokens: Landau notation of Section 3, Eq. (5), and the text of Section 3.1 around it.

Two readings of O(X^k) are proved.  With the softmax frozen a block is homogeneous in X of degree exactly k; with the softmax
as it is, its entries are at most C max|X|^k, the constant C made of the weights and stated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import (
    attention, attention_logits, first_moment, second_central_moments, third_central_moments,
)  # fmt: skip
from theorems.hessian.part_3_structure.functional import loss_of_attention
from theorems.hessian.part_3_structure.whole_hessian import (
    curvature_and_slope, functional_blocks, outer_product_blocks, paired_layer_twice_differentiated, separate_weights,
    stacked_weights,
)  # fmt: skip
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import (
    ATTENTION_LOSS, KeyWeights, Labels, Logits, QueryWeights, Tokens, ValueWeights, loss_normalisation,
)  # fmt: skip
from verify.matrix import (
    absolute, column, concatenate, each, eye, khatri_rao, kron, maximum, ones, rational, softmax, sqrt, total,
)  # fmt: skip
from verify.oracles import hessian, jacobian
from verify.vocabulary import AtMost, Claim, Definition, Equal, HasStructure, Reading, Real

Scale = Annotated[Any, Real(0.25, 3.0)]
LargeScale = Annotated[Any, Real(1.0, 8.0)]
PAIRS = {
    "outer": (("Q", "Q"), ("Q", "K"), ("K", "K"), ("V", "Q"), ("V", "K"), ("V", "V")),
    "functional": (("Q", "Q"), ("Q", "K"), ("K", "K"), ("Q", "V"), ("K", "V")),
}


def largest(A: Any) -> Any:
    """max |A_ij|, a scalar."""
    return maximum(absolute(A))


def power(s: Any, k: int) -> Any:
    """s^k for an integer k >= 1."""
    result = s
    for _ in range(k - 1):
        result = result * s
    return result


# -- the layer with its softmax frozen ----------------------------------------------------------------------------------


def biased_attention(X: Any, W_Q: Any, W_K: Any, W_V: Any, C: Any) -> Any:
    """softmax(T + C) X W_V, shape (L, d_V): with C = B - T at the point of evaluation the attention matrix is softmax(B)."""
    return softmax(attention_logits(X, W_Q, W_K) + C) @ X @ W_V


def _biased_layer(w: Any, X: Any, C: Any) -> Any:
    """`biased_attention` as a function of all weights in one column."""
    return biased_attention(X, *separate_weights(w, X.shape[1]), C)


def frozen_outer_product_hessian(X: Any, W_Q: Any, W_K: Any, W_V: Any, B: Any) -> Any:
    """J^T (2 / (L d_V)) J over (W_Q, W_K, W_V) by differentiation where the attention matrix is softmax(B)."""
    C = B - attention_logits(X, W_Q, W_K)
    J = jacobian(_biased_layer, "w")(stacked_weights(W_Q, W_K, W_V), X, C)
    return J.T @ J * (2 * loss_normalisation(*X.shape))


def frozen_functional_hessian(X: Any, W_Q: Any, W_K: Any, W_V: Any, B: Any, R: Any) -> Any:
    """The Hessian of <2 R / (L d_V), F> over (W_Q, W_K, W_V), R fixed, where the attention matrix is softmax(B)."""
    C = B - attention_logits(X, W_Q, W_K)

    def paired(w: Any) -> Any:
        return total(R * _biased_layer(w, X, C)) * (2 * loss_normalisation(*X.shape))

    return hessian(paired, ("w", "w"))(stacked_weights(W_Q, W_K, W_V))


def picked(H: Any, pairs: Iterable[tuple[str, str]], n: int) -> Any:
    """Some blocks of a whole matrix, all entries in one column; n = d_V d_K."""
    place = {"Q": slice(0, n), "K": slice(n, 2 * n), "V": slice(2 * n, None)}
    return stacked(*(H[place[i], place[j]] for i, j in pairs))


def frozen_outer_blocks(X: Any, W_Q: Any, W_K: Any, W_V: Any, A: Any) -> dict[tuple[str, str], Any]:
    """The blocks of Theorem 3.1 and their key counterparts at a given attention matrix A."""
    return outer_product_blocks(first_moment(A, X), second_central_moments(A, X), X, W_Q, W_K, W_V)


def frozen_functional_blocks(X: Any, W_Q: Any, W_K: Any, W_V: Any, A: Any, R: Any) -> dict[tuple[str, str], Any]:
    """The blocks of Theorem 3.2 and their key counterparts at a given attention matrix A and residual R."""
    return functional_blocks(second_central_moments(A, X), third_central_moments(A, X), X, W_Q, W_K, W_V, R)


# -- Landau notation ---------------------------------------------------------------------------------------------------

LANDAU = Claim(HESSIAN, "hessian.sec3-landau", label="Section 3, Landau notation", name="big-O notation for matrices",
    statement=r"""f\in O(AB)\text{ ``means all entries of } f \text{ are } O(A_{i,j}B_{k,l}) \text{ for any }
        i,j,k,l\text{. Due to their boundedness to } [0,1] \text{, we can ignore the softmax expressions in the
        attention matrix''}""",
    assumptions=[Definition("A = softmax(T), row-wise, for any T", by=softmax)],
    relation=AtMost(), sizes={"L": (1, 4), "d_V": (1, 3)}, expects="reading",
    uses=("hessian.rem-3.1-z1", "hessian.rem-3.1-z2-corrected"),
    reading=Reading((r"are $\mathcal{O}(A_{i,j}B_{k,l})$ for any i, j, k, l", "ignore the softmax expressions"),
        r"""$f \in O(X^k)$ means that every entry of $f$ is at most $C\max|X|^k$ with $C$ free of $X$; ignoring the
            softmax then costs nothing: $\max|M_1| \le \max|X|$, $\max|Z_1| \le \max|X|^3$, $\max|Z_2| \le \max|X|^5$
            for every attention matrix. Not true if any entry of $X$ may stand in the bound, for $X$ may have a zero
            entry where $f$ has none"""),
    note="""For every $m$ and $a$ in $[-m, m]$ the variance and $E|a - Ea|^3$ are largest for two equally likely
        values $-m$ and $m$,
        where they are $m^2$ and $m^3$; mixed moments by Cauchy-Schwarz and Hoelder. All three are attained: the last
        for four tokens $(1,1,1)$, $(1,-1,-1)$, $(-1,1,-1)$, $(-1,-1,1)$ under uniform attention.""")  # fmt: skip
LANDAU.inputs(X=Tokens, T=Logits)


@LANDAU.formula
def bounds_free_of_softmax(X: Tokens) -> Any:
    """max|X|, max|X|^3, max|X|^5, shape (3, 1) (Section 3)."""
    m = largest(X)
    return column(m, power(m, 3), power(m, 5))


@LANDAU.oracle
def largest_entries(X: Tokens, T: Logits) -> Any:
    A, tokens = softmax(T), each(X.shape[0], lambda i: X[i : i + 1])
    squares = [x.T @ x for x in tokens]
    Z_1 = khatri_rao(tokens, second_central_moments(A, X))
    Z_2 = khatri_rao(squares, third_central_moments(A, X))
    return column(largest(A @ X), largest(Z_1), largest(Z_2))


@LANDAU.domain("one token opposite to the others, near the largest skewness")
def skewed(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Probability (1 - 1/sqrt(3))/2 for the last token, to two digits: the third moment is 0.77 of that of a fair coin."""
    arrays["X"][...] = 1
    arrays["X"][:, -1] = -1
    arrays["T"][...] = 0
    arrays["T"][:, :, -1] = np.round(256 * np.log(0.268 * max(1, sizes["L"] - 1))) / 256


@LANDAU.domain("signs of three bits with even product, or skewed")
def even_signs_or_skewed(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    skewed(arrays, sizes, rng)
    L, d_V = sizes["L"], sizes["d_V"]
    design = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    arrays["X"][::2] = [[design[i][j] for j in range(d_V)] for i in range(L)]
    arrays["T"][::2] = 0


LANDAU.mutant("one power of X less", "3 -> 2; 5 -> 4")
LANDAU.mutant("9/10 of the bound of M_1", lambda value: concatenate([value[:1] * rational(9, 10), value[1:]], axis=0))
LANDAU.mutant("9/10 of the bound of Z_1", "power(m, 3) -> power(m, 3) * rational(9, 10)")
LANDAU.mutant("3/4 of the bound of Z_2", "power(m, 5) -> power(m, 5) * rational(3, 4)")

# -- Eq. (5), outer product --------------------------------------------------------------------------------------------

DEGREES = {("Q", "Q"): 6, ("Q", "K"): 6, ("K", "K"): 6, ("V", "Q"): 4, ("V", "K"): 4, ("V", "V"): 2}
FROZEN = Definition(
    "softmax frozen: A is a fixed row-stochastic matrix while X is scaled, as 'we can ignore the softmax expressions' says",
    by=softmax,
)
SOFTMAX_FROZEN = ATTENTION_LOSS.extended("Eq. (5)", assumptions=[FROZEN], sizes={"L": (1, 6), "d_V": (1, 2)})

EQUATION_5_OUTER = Claim(SOFTMAX_FROZEN, "hessian.eq-5-outer", label="Eq. (5), H_o",
    statement=r"""H_o\in\begin{bmatrix}O(X^6)&O(X^6)&O(X^4)\\\vdots&O(X^6)&O(X^4)\\\vdots&\vdots&O(X^2)\end{bmatrix}
        \text{ in the order } Q,K,V;\ \text{``each key and query weight contributes a cubic dependence on } X \text{
        while value weight matrix } W_V \text{ brings a linear dependence on }X\text{''}""",
    name="growth of the outer-product Hessian with the data", relation=Equal(), all_sizes=True, expects="reading",
    uses=("hessian.full-outer-product", "hessian.sec3-landau"),
    reading=Reading((r"\mathcal{O}(\mathbf{X}^{6})", "cubic dependence"), r"""with $A$ frozen each block is homogeneous
            in $X$ of exactly the printed degree: for the printed degree $k$, $H(\sigma X) = \sigma^kH(X)$. With
            the softmax as it is the $k$ are upper bounds, $\max|H| \le C\max|X|^k$ with some $C$, for which the
            constants serve of hessian.eq-5-outer-bound"""),
    note="""The derivative at frozen $A$ is that of the layer with a bias added to its logits that restores the wanted
        attention matrix, so that nothing but the definition is differentiated.""")  # fmt: skip


@EQUATION_5_OUTER.formula
def scaled_outer_blocks(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, B: Logits, s: Scale) -> Any:
    """sigma^k H_o(X) block by block, all entries in one column (Eq. (5))."""
    blocks = frozen_outer_blocks(X, W_Q, W_K, W_V, softmax(B))
    return stacked(*(blocks[pair] * power(s, DEGREES[pair]) for pair in PAIRS["outer"]))


@EQUATION_5_OUTER.oracle
def outer_blocks_of_scaled_tokens(X: Any, W_Q: Any, W_K: Any, W_V: Any, B: Any, s: Any) -> Any:
    H = frozen_outer_product_hessian(X * s, W_Q, W_K, W_V, B)
    return picked(H, PAIRS["outer"], W_Q.shape[0] * W_Q.shape[1])


EQUATION_5_OUTER.mutant("degree 5 in the query-key part", "DEGREES[pair] -> min(DEGREES[pair], 5)")
EQUATION_5_OUTER.mutant("degree 3 in the mixed blocks", "DEGREES[pair] -> 3 if DEGREES[pair] == 4 else DEGREES[pair]")
EQUATION_5_OUTER.mutant("the same degree 6 in every block, as without softmax", "DEGREES[pair] -> 6")

OUTER_BOUND = Claim(ATTENTION_LOSS, "hessian.eq-5-outer-bound",
    label="Eq. (5), H_o, with constants and the softmax as it is", name="bounds for the outer-product Hessian entries",
    statement=r"""\max|H_o(i,j)| \le \frac{2}{d_K}m^6 v^2\kappa_i\kappa_j,\quad \max|H_o(W_V,j)| \le
        \frac{2}{d_V\sqrt{d_K}}m^4 v\kappa_j,\quad \max|H_o(W_V,W_V)| \le \frac{2}{d_V}m^2,\quad i,j\in\{Q,K\},\ m
        = \max|X|,\text{ with } v,\kappa_Q,\kappa_K \text{ the largest column sums of } |W_V|, |W_K|, |W_Q|""",
    exact=False, relation=AtMost(), all_sizes=True, sizes={"L": (1, 5), "d_V": (1, 2), "d_K": (1, 3)},
    uses=("hessian.sec3-landau", "hessian.lem-B.1", "hessian.jacobian-key"), of_project=True,
    note=r"""From $|\partial F_{id}/\partial (W_Q)_{ak}| = |x_{ia}(W_V^\top M_{2,i}W_K)_{dk}|/\sqrt{d_K} \le
        m^3v\kappa_Q/\sqrt{d_K}$, summed over $i$ and $d$. Attained by tokens $-1$ and 1 under uniform attention; for
        the mixed blocks, with a constant feature beside.""")  # fmt: skip


def column_sum(W: Any) -> Any:
    """The largest column sum of |W|, a scalar."""
    return maximum(ones(1, W.shape[0]) @ absolute(W))


@OUTER_BOUND.formula
def outer_block_bounds(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """Bounds of the largest entries of the blocks (Q,Q), (Q,K), (K,K), (V,Q), (V,K), (V,V) of H_o, shape (6, 1)."""
    (d_V, d_K), m, v, q, k = W_Q.shape, largest(X), column_sum(W_V), column_sum(W_K), column_sum(W_Q)
    both = power(m, 6) * v * v * rational(2, d_K)
    one = power(m, 4) * v * (rational(2, d_V) / sqrt(d_K))
    return column(both * q * q, both * q * k, both * k * k, one * q, one * k, m * m * rational(2, d_V))


@OUTER_BOUND.oracle
def largest_outer_entries(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    J = {name: jacobian(attention, f"W_{name}")(X, W_Q, W_K, W_V) for name in "QKV"}
    scale = 2 * loss_normalisation(*X.shape)
    return column(*(largest(J[i].T @ J[j]) * scale for i, j in PAIRS["outer"]))


def two_opposite_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    arrays["X"][...] = rng.integers(4, 9)
    arrays["X"][:, 1::2] *= -1
    arrays["W_Q"][...] = 0
    arrays["W_K"][...] = arrays["W_V"][...] = 1


@OUTER_BOUND.domain("opposite tokens under uniform attention")
def opposite_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Tokens -1 and 1 in turn; the same beside a constant feature; one opposite to the others: a third of the batch each."""
    two_opposite_tokens(arrays, sizes, rng)
    arrays["X"][2::3] = np.abs(arrays["X"][2::3])
    arrays["X"][2::3, -1] *= -1
    if sizes["d_V"] > 1:
        arrays["X"][::3, :, 0] = arrays["X"][::3, :1, 0]
        arrays["W_K"][::3, 0] = arrays["W_V"][::3, 0] = 0


@OUTER_BOUND.domain("large opposite tokens under uniform attention")
def large_opposite_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    opposite_tokens(arrays, sizes, rng)
    arrays["X"][...] = 32 * np.sign(arrays["X"])


OUTER_BOUND.mutant("one power of X less in the query-key part", "power(m, 6) -> power(m, 5)")
OUTER_BOUND.mutant("one power of X less in the mixed blocks", "power(m, 4) -> power(m, 3)")
OUTER_BOUND.mutant("3/4 of the bounds of the query-key part", "both -> both * rational(3, 4)")
OUTER_BOUND.mutant("4/5 of the bounds of the mixed blocks", "one -> one * rational(4, 5)")
OUTER_BOUND.mutant("9/10 of the bound of the value block", "m * m -> m * m * rational(9, 10)")

# -- Eq. (5), functional -----------------------------------------------------------------------------------------------

EQUATION_5_FUNCTIONAL = Claim(SOFTMAX_FROZEN, "hessian.eq-5-functional",
    label="Eq. (5), H_f (all blocks except the V,V corner)", name="growth of the functional Hessian with the data",
    statement=r"""H_f\in\begin{bmatrix}O(X^5)&O(X^5+X^3)&O(X^3)\\\vdots&O(X^5)&O(X^3)\\\vdots&\vdots&O(X^2)\end{bmatrix}
        \text{ in the order } Q,K,V,\ \text{``omitting the dependence of all the functional Hessian blocks on the
        residual } \delta_{XY}\text{''}""",
    assumptions=[Definition("residual frozen: F - Y is a fixed matrix while X is scaled", by=frozen_functional_blocks)],
    relation=Equal(), all_sizes=True, expects="reading", uses=("hessian.full-functional", "hessian.sec3-landau"),
    reading=Reading(
        (
            r"\mathcal{O}(\mathbf{X}^{5} + \mathbf{X}^{3})",
            "omitting the dependence of all the functional Hessian blocks on the residual",
        ),
        """with $A$ and the residual frozen the blocks $(Q,Q)$, $(K,K)$ are homogeneous in $X$ of degree 5, $(V,Q)$,
            $(V,K)$ of degree 3, and $(Q,K)$ is the sum of its curvature, of degree 5, and its product-rule term, of
            degree 3. With the softmax as it is the degrees are upper bounds, with the constants of
            hessian.eq-5-functional-bound"""),
    note="The corner $(V,V)$ is hessian.eq-5-vv-corner.")  # fmt: skip


@EQUATION_5_FUNCTIONAL.formula
def scaled_functional_blocks(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, B: Logits, R: Labels, s: Scale
) -> Any:
    """sigma^k H_f(X) block by block, (Q,K) by its two summands, all entries in one column (Eq. (5))."""
    A, high, low, mixed = softmax(B), power(s, 5), power(s, 3), power(s, 3)
    blocks = frozen_functional_blocks(X, W_Q, W_K, W_V, A, R)
    slope = curvature_and_slope(second_central_moments(A, X), third_central_moments(A, X), X, W_Q, W_V, R)[1]
    first = kron(slope, eye(W_Q.shape[1]))
    return stacked(
        blocks["Q", "Q"] * high,
        (blocks["Q", "K"] - first) * high + first * low,
        blocks["K", "K"] * high,
        blocks["Q", "V"] * mixed,
        blocks["K", "V"] * mixed,
    )


@EQUATION_5_FUNCTIONAL.oracle
def functional_blocks_of_scaled_tokens(X: Any, W_Q: Any, W_K: Any, W_V: Any, B: Any, R: Any, s: Any) -> Any:
    H = frozen_functional_hessian(X * s, W_Q, W_K, W_V, B, R)
    return picked(H, PAIRS["functional"], W_Q.shape[0] * W_Q.shape[1])


EQUATION_5_FUNCTIONAL.mutant("degree 6, as in the outer product", "high -> power(s, 6)")
EQUATION_5_FUNCTIONAL.mutant("(Q,K) of degree 5 alone", "low -> high")
EQUATION_5_FUNCTIONAL.mutant("degree 4 in the mixed value blocks", "mixed -> power(s, 4)")

FUNCTIONAL_BOUND = Claim(ATTENTION_LOSS, "hessian.eq-5-functional-bound",
    label="Eq. (5), H_f, with constants and the softmax as it is", name="bounds for the functional Hessian entries",
    statement=r"""\max|H_f(i,i)| \le \frac{2}{d_K}r m^5 v\kappa_i^2,\quad \max|H_f(W_Q,W_K)| \le 2 r
        v\Big(\frac{m^5\kappa_Q \kappa_K}{d_K} + \frac{m^3}{\sqrt{d_K}}\Big),\quad \max|H_f(W_V,i)| \le
        \frac{2}{d_V\sqrt{d_K}}r m^3\kappa_i,\quad i\in\{Q,K\},\ r = \max|F - Y|,\ m = \max|X|,\text{ with }
        v,\kappa_Q,\kappa_K \text{ the largest column sums of } |W_V|, |W_K|, |W_Q|""",
    exact=False, relation=AtMost(), sizes={"L": (1, 4), "d_V": (1, 2), "d_K": (1, 3)},
    uses=("hessian.sec3-landau", "hessian.full-functional"), of_project=True,
    note=r"""Term by term in the closed form: $\max|M_{2,l}| \le m^2$ and $\max|M_{3,l}| \le m^3$. The residual stays a
        factor. Two opposite tokens whose residuals have their signs attain the bounds of $(W_Q,W_K)$, with $W_Q = 0$,
        and of $(W_V,W_Q)$; the four tokens of hessian.sec3-landau attain that of $(W_Q,W_Q)$. For $d_V \le 2$, as
        drawn, 3/4 of it are reached.""")  # fmt: skip


def _functional_bounds(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, high: int = 5, low: int = 3, mixed: int = 3, less: Any = (1, 1, 1)
) -> Any:
    """The bounds; mutants change the powers of m, or weigh the curvature, the product-rule term, the value blocks `less`."""
    d_V, d_K = W_Q.shape
    m, v, q, k = largest(X), column_sum(W_V), column_sum(W_K), column_sum(W_Q)
    r = largest(attention(X, W_Q, W_K, W_V) - Y)
    bent = power(m, high) * r * v * rational(2, d_K) * less[0]
    straight = power(m, low) * r * v * (rational(2) / sqrt(d_K)) * less[1]
    one = power(m, mixed) * r * (rational(2, d_V) / sqrt(d_K)) * less[2]
    return column(bent * q * q, bent * q * k + straight, bent * k * k, one * q, one * k)


@FUNCTIONAL_BOUND.formula
def functional_block_bounds(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """Bounds of the largest entries of the blocks (Q,Q), (Q,K), (K,K), (Q,V), (K,V) of H_f, shape (5, 1)."""
    return _functional_bounds(X, W_Q, W_K, W_V, Y)


@FUNCTIONAL_BOUND.oracle
def largest_functional_entries(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    H, n = paired_layer_twice_differentiated(X, W_Q, W_K, W_V, Y), W_Q.shape[0] * W_Q.shape[1]
    place = {"Q": slice(0, n), "K": slice(n, 2 * n), "V": slice(2 * n, None)}
    return column(*(largest(H[place[i], place[j]]) for i, j in PAIRS["functional"]))


@FUNCTIONAL_BOUND.domain("opposite tokens, residuals like them or constant")
def opposite_tokens_with_residuals(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Tokens -1 and 1 in turn, F - Y = X to two digits; one opposite to the others, labels zero: half of the batch each."""
    two_opposite_tokens(arrays, sizes, rng)
    output = sizes["d_V"] * arrays["X"].mean(1, keepdims=True)
    arrays["Y"][...] = np.round(256 * (output - arrays["X"])) / 256
    arrays["X"][::2] = np.abs(arrays["X"][::2])
    arrays["X"][::2, -1] *= -1
    arrays["Y"][::2] = 0


@FUNCTIONAL_BOUND.domain("large opposite tokens, residuals like them or constant")
def large_opposite_tokens_with_residuals(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    opposite_tokens_with_residuals(arrays, sizes, rng)
    for name in ("X", "Y"):
        arrays[name] *= 2


FUNCTIONAL_BOUND.mutant("two powers of X less", high=3, low=1)
FUNCTIONAL_BOUND.mutant("one power of X less in the mixed value blocks", mixed=2)
FUNCTIONAL_BOUND.mutant("half of the curvature's bounds", less=(rational(1, 2), 1, 1))
FUNCTIONAL_BOUND.mutant("4/5 of the product-rule term's bound", less=(1, rational(4, 5), 1))
FUNCTIONAL_BOUND.mutant("4/5 of the bounds of the mixed value blocks", less=(1, 1, rational(4, 5)))

EQUATION_5_VV = Claim(ATTENTION_LOSS, "hessian.eq-5-vv-corner", label="Eq. (5), V,V corner of H_f",
    statement=r"H_f(W_V,W_V)\in O(X^2)",
    name="growth of the functional value block", relation=HasStructure(), all_sizes=True, uses=("hessian.thm-3.2-vv",),
    note=r"""$O$ is an upper bound, true with the constant 0: the block vanishes (Theorem 3.2), which is what is
        checked, and nothing grows. The
        loss Hessian in $W_V$ is entirely the corner of $H_o$, $\frac2{Ld_V}M_1^\top M_1 \otimes I$, of degree 2.""",
)  # fmt: skip


@EQUATION_5_VV.formula
def value_corner(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_f(W_V, W_V) as the loss Hessian less H_o(W_V, W_V), shape (d_V^2, d_V^2): zero."""
    M_1 = softmax(attention_logits(X, W_Q, W_K)) @ X
    outer = kron(M_1.T @ M_1, eye(X.shape[1])) * (2 * loss_normalisation(*X.shape))
    return hessian(loss_of_attention, ("W_V", "W_V"))(X, W_Q, W_K, W_V, Y) - outer


EQUATION_5_VV.part("structure", lambda value: value)
EQUATION_5_VV.mutant("half of the outer product, as Appendix B.1 scales it", "outer -> outer * rational(1, 2)")
EQUATION_5_VV.mutant("a corner that grows like X^2: H_o not subtracted", "outer -> 0 * outer")
