"""Section 3.1 in words: growth of the Jacobians, the part that dominates for large X, and what the residual vector is."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import (
    attention, functional_hessian, outer_product_hessian, second_central_moments, shuffling_matrix,
    third_central_moments,
)  # fmt: skip
from theorems.hessian.part_3_structure.data_growth import (
    FROZEN, LargeScale, frozen_functional_blocks, frozen_outer_blocks, two_opposite_tokens,
)  # fmt: skip
from theorems.hessian.part_3_structure.data_growth import power as integer_power
from theorems.hessian.part_3_structure.whole_hessian import all_jacobians_squared, assembled, curvature_and_slope
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import (
    ATTENTION, LAYER, SQUARE_LOSS, KeyWeights, Labels, Logits, QueryWeights, Tokens, ValueWeights,
)  # fmt: skip
from verify.matrix import (
    column, concatenate, exp, eye, frobenius_norm, kron, rational, softmax, sqrt, total, vec_r, zeros,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, Equal, Reading, Real, Shape, realises

# -- Jacobians ---------------------------------------------------------------------------------------------------------

JACOBIAN_GROWTH = Claim(ATTENTION, "hessian.sec3.1-jacobian-growth", label="Section 3.1, text (Noci et al. 2022)",
    statement=r"""\|\partial F/\partial W_V\|_F\in O(\|X\|_F),\quad \|\partial F/\partial W_K\|_F,\ \|\partial
        F/\partial W_Q\|_F\in O(\|X\|_F^3)""",
    name="growth of the weight Jacobians with the data", exact=False, relation=AtMost(), all_sizes=True,
    sizes={"L": (1, 4), "d_V": (1, 3), "d_K": (1, 3)}, uses=("hessian.lem-B.1", "hessian.jacobian-key"),
    note=r"""With these constants: $\|\partial F/\partial W_V\|_F \le \sqrt{Ld_V}\|X\|_F$, $\|\partial F/\partial
        W_Q\|_F \le \|W_V\|_F\|W_K\|_F\|X\|_F^3/(2\sqrt{d_K})$, and the same for $W_K$ with $\|W_Q\|_F$, for every $X$;
        they depend on the sizes and on the weights, not on $X$. Squares are compared. $\partial F/\partial W_Q$ has the
        squared norm $\sum_i\|x_i\|^2\|W_V^\top M_{2,i}W_K\|_F^2/d_K$, and $\|M_{2,i}\|_F \le \operatorname{tr}M_{2,i}
        \le \|X\|_F^2/2$ because $\operatorname{diag}(a) - aa^\top$ has no eigenvalue above $1/2$. Attained by two
        opposite tokens under uniform attention; the first bound is approached by one large token to which all
        attend.""")  # fmt: skip


@JACOBIAN_GROWTH.formula
def squared_jacobian_norm_bounds(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """Bounds of ||dF/dW_V||_F^2, ||dF/dW_Q||_F^2, ||dF/dW_K||_F^2, shape (3, 1) (Section 3.1)."""
    (L, d_V), d_K, x = X.shape, W_Q.shape[1], total(X * X)
    both = integer_power(x, 3) * total(W_V * W_V) * rational(1, 4 * d_K)
    return column(x * (L * d_V), both * total(W_K * W_K), both * total(W_Q * W_Q))


@JACOBIAN_GROWTH.oracle
def squared_jacobian_norms(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    jacobians = [jacobian(attention, f"W_{name}")(X, W_Q, W_K, W_V) for name in "VQK"]
    return column(*(total(J * J) for J in jacobians))


@JACOBIAN_GROWTH.domain("tokens -1 and 1, or one large token")
def opposite_or_one_large(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Tokens -1 and 1 in turn under uniform attention, or one large token to which all attend: half of the batch each."""
    two_opposite_tokens(arrays, sizes, rng)
    arrays["X"][::2] = 0.125
    arrays["X"][::2, 0] = 32
    arrays["W_Q"][::2] = 8


@JACOBIAN_GROWTH.domain("two opposite tokens, the others zero, or one large token")
def two_or_one(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    opposite_or_one_large(arrays, sizes, rng)
    arrays["X"][1::2, 2:] = 0


JACOBIAN_GROWTH.mutant("square instead of cube", "3 -> 2")
JACOBIAN_GROWTH.mutant("no factor sqrt(L d_V)", "L * d_V -> 1")
JACOBIAN_GROWTH.mutant("2/5 of the bounds in the query and key weights", "both -> both * rational(4, 25)")

# -- 'the outer-product Hessian dominates the Hessian for large X' ------------------------------------------------------

AT_LEAST_ONE = Assumption("sigma >= 1", nonnegative=lambda s: s - 1)

OUTER_DOMINATES = Claim(HESSIAN, "hessian.sec3.1-outer-dominates", label="Section 3.1, text",
    statement=r"""\text{``If we ignore } \delta_{XY} \text{, then the outer-product Hessian dominates the Hessian for
        large } X\text{''}""",
    assumptions=[
        LAYER, SQUARE_LOSS, FROZEN, Definition("residual frozen", by=frozen_functional_blocks), AT_LEAST_ONE,
    ],
    name="outer-product Hessian dominates for large tokens", exact=False, relation=AtMost(ascent=False),
    sizes={"L": (1, 3), "d_V": (1, 2), "d_K": (1, 3)}, expects="reading",
    uses=("hessian.eq-5-outer", "hessian.eq-5-functional"),
    reading=Reading("dominates the Hessian for large", r"""with $A$ and the residual frozen, $\|H_o\|_F/\|H_f\|_F$ grows
            at least by the factor $\sigma$ when $X$ becomes $\sigma X$, in every block and in the whole matrix (there
            with the query-key part of $H_o$ at $X$, and with $H_f$ at $X$ counted by its summands). So $H_o$ wins in
            the end where its query-key part at $X$ is not zero. Where it is zero $H_f$ wins
            (hessian.outer-vanishes-functional-grows), and with the softmax as it is $H_f$ can win in the query block,
            exponentially (hessian.outer-loses-under-softmax)"""))  # fmt: skip


def _norms(X: Any, W_Q: Any, W_K: Any, W_V: Any, A: Any, R: Any) -> tuple[list[Any], list[Any], list[Any], Any]:
    """Norms of the blocks (Q,Q), (K,K), (V,Q), (V,K), (Q,K) and of the whole: of H_o, of H_f, of H_f by summands.

    Last comes the norm of the query-key part of H_o.
    """
    outer, bent = frozen_outer_blocks(X, W_Q, W_K, W_V, A), frozen_functional_blocks(X, W_Q, W_K, W_V, A, R)
    B = curvature_and_slope(second_central_moments(A, X), third_central_moments(A, X), X, W_Q, W_V, R)[1]
    straight = kron(B, eye(W_Q.shape[1]))
    curved = {("Q", "Q"): bent["Q", "Q"], ("Q", "K"): bent["Q", "K"] - straight, ("K", "K"): bent["K", "K"]}
    mixed = concatenate([bent["Q", "V"], bent["K", "V"]], axis=0)

    def part(blocks: Any) -> Any:
        rows = [[blocks["Q", "Q"], blocks["Q", "K"]], [blocks["Q", "K"].T, blocks["K", "K"]]]
        return frobenius_norm(concatenate([concatenate(row, axis=1) for row in rows], axis=0))

    first = [outer["Q", "Q"], outer["K", "K"], outer["V", "Q"], outer["V", "K"], outer["Q", "K"], assembled(outer)]
    second = [bent["Q", "Q"], bent["K", "K"], bent["Q", "V"], bent["K", "V"], bent["Q", "K"], assembled(bent)]
    of_outer, of_functional = [frobenius_norm(H) for H in first], [frobenius_norm(H) for H in second]
    steep = part(curved) + frobenius_norm(concatenate([straight, straight], axis=0))
    summed = [frobenius_norm(curved["Q", "K"]) + frobenius_norm(straight)]
    summed.append(steep + frobenius_norm(concatenate([mixed, mixed], axis=0)))
    return of_outer, of_functional, of_functional[:4] + summed, part(outer)


@OUTER_DOMINATES.formula
def products_of_norms(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, B: Logits, R: Labels, s: LargeScale
) -> Any:
    """||H_o(sigma X)|| ||H_f(X)|| for five blocks and the whole, H_f(X) by summands, shape (6, 1) (Section 3.1)."""
    A = softmax(B)
    far = _norms(X * s, W_Q, W_K, W_V, A, R)[0]
    near = _norms(X, W_Q, W_K, W_V, A, R)[2]
    return column(*(a * b for a, b in zip(far, near, strict=True)))


@OUTER_DOMINATES.oracle
def products_of_norms_exchanged(X: Any, W_Q: Any, W_K: Any, W_V: Any, B: Any, R: Any, s: Any) -> Any:
    """sigma ||H_o(X)|| ||H_f(sigma X)||, shape (6, 1)."""
    A = softmax(B)
    far = _norms(X * s, W_Q, W_K, W_V, A, R)[1]
    blocks, _, _, part = _norms(X, W_Q, W_K, W_V, A, R)
    near = [*blocks[:5], part]
    return column(*(s * a * b for a, b in zip(far, near, strict=True)))


OUTER_DOMINATES.mutant("H_o not scaled", "X * s -> X")
OUTER_DOMINATES.mutant("one more power of sigma", "a * b -> a * b / s")

Weight = Annotated[Any, Real(0.5, 2.0)]
Residuals = Annotated[Any, Shape("3", "1")]


def _uncorrelated(s: Any, k: Any, v: Any, r: Any) -> tuple[Any, ...]:
    """X, W_Q, W_K, W_V, and labels that leave the residual [r, 0]."""
    corner, rows = eye(2)[:, :1], eye(3)
    X = (concatenate([rows[:, 2:] - rows[:, :1], rows[:, 2:] + rows[:, :1]], axis=1)) * s
    X = X + 0 * r
    W_K = corner * k + 0 * r[:2]
    W_V = eye(2)[:, 1:] @ corner.T * v + 0 * r[:2]
    R = concatenate([r, 0 * r], axis=1)
    return X, 0 * W_K, W_K, W_V, attention(X, 0 * W_K, W_K, W_V) - R


OUTER_VANISHES = Claim(HESSIAN, "hessian.outer-vanishes-functional-grows",
    label="Section 3.1, where the outer-product Hessian does not dominate",
    statement=r"""X = \sigma\begin{bmatrix}-1&1\\0&0\\1&1\end{bmatrix},\ W_Q = 0,\ W_K =
        \begin{bmatrix}k\\0\end{bmatrix},\ W_V = \begin{bmatrix}0&0\\v&0\end{bmatrix},\ F - Y = [r,0]:\quad H_o = 0
        \text{ but for } H_o(W_V,W_V) = \tfrac49\sigma^2 E_{22}\otimes I,\quad H_f(W_Q,W_Q) =
        \tfrac{2}{27}\sigma^5k^2v\sum_i r_i x_i x_i^\top,\ x_i = X_{i,:}/\sigma""",
    assumptions=[
        Definition("softmax as it is; attention is uniform for every sigma, as W_Q = 0", by=attention),
        Definition("the residual does not depend on sigma", by=_uncorrelated),
    ],
    name="tokens for which the functional Hessian dominates", relation=Equal(), at_sizes=True, sizes={},
    uses=("hessian.eq-5-outer", "hessian.eq-5-functional"), exact=True, of_project=True,
    note=r"""The two features are uncorrelated, and the third moment $E[x_1^2(x_2 - E x_2)]$ is not zero.
        $\|H_f\|/\|H_o\|$ grows like $\sigma^3$, so no unconditional statement that $H_o$ dominates is true, residual
        ignored or not.""")  # fmt: skip


@OUTER_VANISHES.formula
def outer_and_functional_parts(s: LargeScale, k: Weight, v: Weight, r: Residuals) -> Any:
    """H_o over (W_Q, W_K, W_V) and H_f(W_Q, W_Q) for the three tokens, all entries in one column."""
    value = kron(eye(2)[:, 1:] @ eye(2)[:, 1:].T, eye(2)) * (s * s) * rational(4, 9)
    border, third = zeros(4, 4), integer_power(s, 5) * rational(2, 27)
    lower = concatenate([border + 0 * value, value], axis=1)
    outer = concatenate([concatenate([border, border], axis=1), lower], axis=0)
    tokens = [eye(2)[:, 1:] - eye(2)[:, :1], zeros(2, 1), eye(2)[:, 1:] + eye(2)[:, :1]]
    functional = sum(x @ x.T * r[i, 0] for i, x in enumerate(tokens)) * (k * k * v) * third
    return stacked(outer, functional)


@OUTER_VANISHES.oracle
def parts_by_differentiation(s: Any, k: Any, v: Any, r: Any) -> Any:
    X, W_Q, W_K, W_V, Y = _uncorrelated(s, k, v, r)
    outer = all_jacobians_squared(X, W_Q, W_K, W_V)
    return stacked(outer, functional_hessian(X, W_Q, W_K, W_V, Y, ("W_Q", "W_Q")))


OUTER_VANISHES.mutant("functional part of degree 3", "5 -> 3")
OUTER_VANISHES.mutant("functional part zero too", "third -> 0 * third")

One = Annotated[Any, Shape("1", "1")]


def _token_and_zero(s: Any, q: Any, k: Any, v: Any, r: Any, one: Any) -> dict[str, Any]:
    """X, the weights and the labels for which F - Y = r, as stated; `one` is the 1 x 1 matrix 1."""
    X = concatenate([one * s, 0 * one], axis=0)
    W_Q, W_K, W_V = one * q, one * k, one * v
    Y = attention(X, W_Q, W_K, W_V) - concatenate([one * r, one * r], axis=0)
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "Y": Y}


def _not_one_token_and_zero(
    s: Any, q: Any, k: Any, v: Any, r: Any, X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any
) -> Any:
    given = {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "Y": Y}
    stated = _token_and_zero(s, q, k, v, r, 0 * W_V + 1)
    return concatenate([given[name] - stated[name] for name in given], axis=0)


SOFTMAX_WINS = Claim(HESSIAN, "hessian.outer-loses-under-softmax",
    label="Section 3.1, the query block for large X with the softmax as it is",
    statement=r"""
        X = \sigma\begin{bmatrix}1\\0\end{bmatrix},\ d_V = d_K = 1,\ W_Q = q,\ W_K = k,\ W_V = v,\ F - Y = r:\quad
        \sigma^2 qk \ge 2 \Rightarrow H_o(W_Q,W_Q) \le \tfrac43\frac{\sigma v}{r}e^{-\sigma^2 qk}\,|H_f(W_Q,W_Q)|""",
    assumptions=[
        Assumption("sigma, q, k, v, r > 0", positive=lambda s, q, k, v, r: column(s, q, k, v, r)),
        Assumption(
            "X, the weights and F - Y are the stated ones for every sigma", zero=_not_one_token_and_zero
        ),
        Assumption("sigma^2 q k >= 2", nonnegative=lambda s, q, k: s * s * q * k - 2),
    ],
    name="functional query block dominates under softmax", relation=AtMost(left="H_o(W_Q, W_Q)", ascent=False),
    sizes={}, uses=("hessian.full-outer-product", "hessian.full-functional"), of_project=True,
    note=r"""With $p$ the attention of token 1 to itself, $H_o = \sigma^6p^2(1-p)^2v^2k^2$ and $H_f =
        \sigma^5p(1-p)(1-2p)vk^2r$; $p(1-p) \le e^{-\sigma^2qk}$ and $2p - 1 = \tanh(\sigma^2qk/2) \ge 3/4$. As rows
        become one-hot, $H_o$ falls as the square of the variance and $H_f$ as the variance.""")  # fmt: skip


@SOFTMAX_WINS.inputs
@realises({"are the stated ones": "they are computed as stated"})
def one_token_and_zero(s: LargeScale, q: Weight, k: Weight, v: Weight, r: Weight, unit: One) -> dict[str, Any]:
    return {"s": s, "q": q, "k": k, "v": v, "r": r, **_token_and_zero(s, q, k, v, r, 0 * unit + 1)}


@SOFTMAX_WINS.formula
def multiple_of_functional_block(
    s: Any, q: Any, k: Any, v: Any, r: Any, X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any
) -> Any:
    """(4/3) (sigma v / r) e^(-sigma^2 q k) |H_f(W_Q, W_Q)|, shape (1, 1)."""
    H_f = functional_hessian(X, W_Q, W_K, W_V, Y, ("W_Q", "W_Q"))
    return sqrt(H_f * H_f) * exp(-(s * s * q * k)) * (s * v / r) * rational(4, 3)


SOFTMAX_WINS.oracle(lambda X, W_Q, W_K, W_V: outer_product_hessian(X, W_Q, W_K, W_V, ("W_Q", "W_Q")))
SOFTMAX_WINS.mutant("twice the rate", "s * s * q * k -> 2 * (s * s * q * k)")
SOFTMAX_WINS.mutant("half of the bound", lambda value: value * rational(1, 2))

# -- the residual vector -----------------------------------------------------------------------------------------------

DELTA = Claim(HESSIAN, "hessian.delta-definition",
    label="Section 3.1, remark 4.1, remark D.1: definition of the residual vector",
    statement=r"""\text{Section 3.1: } \delta_{XY} := \operatorname{vec}_r(F(X)-Y)^\top;\ \text{Remarks 4.1 and D.1: }
        \delta_{XY} := \operatorname{vec}_r(F(X)-Y), \text{ with } \delta_{XY}^\top \text{ in the formulas of Remark
        4.1, Lemma 4.1 and Remark D.1}""",
    assumptions=[Definition("S of Theorem 3.2", by=shuffling_matrix)],
    name="definition of the residual vector", relation=Equal(), all_sizes=True, sizes={"L": (1, 4), "d_V": (1, 3)},
    exact=True,
    doubt=Doubt(r"\delta_{\mathbf{XY}} := \operatorname{vec}_r (\mathbf{F}(\mathbf{X}) - \mathbf{Y})^\top",
        r"""Section 3.1 defines the row, Remarks 4.1 and D.1 the column, which their formulas transpose. Section 3.1 has
            the symbol in no formula; the column is taken, for which the products $(\delta_{XY}^\top \otimes
            I_{d_V^2})(I_L \otimes S)$ and $\delta_{XY}^\top(I_L \otimes W_V^\top)$ exist. For the row neither exists
            unless $Ld_V = 1$."""))  # fmt: skip


@DELTA.formula
def columns_with_the_column_vector(R: Labels) -> Any:
    """Columns of delta^T (x) I_{d_V^2} and of delta^T with delta of Remarks 4.1 and D.1, R = F - Y; shape (2, 1)."""
    delta, d_V = vec_r(R), R.shape[1]
    return column(kron(delta.T, eye(d_V**2)).shape[1], delta.T.shape[1])


@DELTA.oracle
def rows_of_both_partners(R: Labels) -> Any:
    L, d_V = R.shape
    return column(kron(eye(L), shuffling_matrix(d_V)).shape[0], kron(eye(L), eye(d_V)).shape[0])


DELTA.mutant("the residual of one token", "vec_r(R) -> vec_r(R[:1])")
DELTA.mutant("I_{d_V} in the place of I_{d_V^2}", "d_V ** 2 -> d_V")
