"""Section 3.2 on attention scores: uniform at initialisation, similar words, dispersed and one-hot attention."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import Z_1, Z_2, attention_logits, second_central_moments, third_central_moments
from theorems.hessian.part_3_structure.data_growth import (
    PAIRS, frozen_functional_hessian, frozen_outer_blocks, frozen_outer_product_hessian, picked, power,
)  # fmt: skip
from theorems.hessian.part_3_structure.whole_hessian import functional_blocks, outer_product_blocks
from theorems.hessian.part_4_design.single_matrix import logit_curvature
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.part_d_query_key.split_at_logits import V_matrix, logit_slope
from theorems.hessian.settings import (
    ATTENTION_LOSS, KeyWeights, Labels, Logits, QueryWeights, Tokens, ValueWeights, loss_normalisation,
)  # fmt: skip
from verify.matrix import (
    basis_vector, column, commutation_matrix, concatenate, eye, khatri_rao, kron, maximum, ones, rational, row_sums,
    softmax, sqrt, summed, total, trace, zeros,
)  # fmt: skip
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading, Real, Shape, Size, realises

# -- logits at initialisation ------------------------------------------------------------------------------------------

Variance = Annotated[Any, Real(0.25, 2.0)]
SquareQuery = Annotated[Any, Shape("d", "d")]
TokensOfWidth = Annotated[Any, Shape("L", "d")]
Width = Annotated[int, Size("d")]


def _below_one(X: TokensOfWidth) -> Any:
    return 1 - X * X


def _products_of_squares(X: Any, scale: Any) -> Any:
    squares = row_sums(X * X)
    return squares @ squares.T * scale


def _squared_coefficients(X: Any, W_Q: Any, W_K: Any) -> Any:
    """The sum of the squared coefficients of T_ij as a bilinear form in W_Q and W_K, shape (L, L)."""
    H = hessian(attention_logits, ("W_Q", "W_K"))(X, W_Q, W_K)
    return row_sums((H * H).reshape(X.shape[0] ** 2, -1)).reshape(X.shape[0], X.shape[0])


LOGIT_VARIANCE = Claim(HESSIAN, "hessian.logit-variance", label="Section 3.2, variance of the logits at initialisation",
    statement=r"\operatorname{Var}(T_{ij}) = s^4\,|x_i|^2|x_j|^2 \text{ whatever } d_K",
    assumptions=[
        Definition(
            "entries of W_Q and W_K independent, of mean 0 and variance s^2; tokens fixed", by=_squared_coefficients
        ),
    ],
    name="variance of the logits at initialisation", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 3), "d_V": (1, 3), "d_K": (1, 4)}, exact=True, of_project=True,
    corrects="hessian.uniform-at-init-any-tokens",
    note="""$T_{ij}$ is bilinear in $W_Q$ and $W_K$, so its variance is $s^4$ times the sum of its squared coefficients.
        With $s^2 = 0.64/d_V$ (Appendix F) and $d_V$ fixed the logits do not shrink as $d_K$ grows, and the attention
        does not become uniform.""")  # fmt: skip
LOGIT_VARIANCE.inputs(X=Tokens, W_Q=QueryWeights, W_K=KeyWeights, variance=Variance)


@LOGIT_VARIANCE.formula
def logit_variances(X: Tokens, variance: Variance) -> Any:
    """Var(T_ij) for all i, j, shape (L, L)."""
    return _products_of_squares(X, variance * variance)


LOGIT_VARIANCE.oracle(lambda X, W_Q, W_K, variance: _squared_coefficients(X, W_Q, W_K) * (variance * variance))
LOGIT_VARIANCE.mutant("divided by d_K, as if entries of W_Q W_K^T were averaged",
    lambda value, W_Q: value / W_Q.shape[1])  # fmt: skip
LOGIT_VARIANCE.mutant("norms not squared twice", lambda X, variance: _products_of_squares(X, variance))

UNIFORM_AT_INIT = Claim(HESSIAN, "hessian.sec3.2-uniform-at-init", label="Section 3.2, text",
    statement=r"""\text{``If the attention scores were data-independent (similar to the uniform attention assumption in
        Noci et al. (2022)), which happens almost surely at initialization for large } d_K\text{''}""",
    assumptions=[
        Definition(
            "W_Q, W_K with independent entries N(0, 0.64/d_V), d_V = d_K = d (Appendix F); tokens fixed",
            by=_squared_coefficients,
        ),
    ],
    name="uniform attention at initialisation", relation=Equal(), all_sizes=True, sizes={"L": (1, 3), "d": (1, 4)},
    expects="gap", uses=("hessian.logit-variance",), exact=True, presumes=("hessian.uniform-at-init-any-tokens",),
    missing="the norms of the tokens stay bounded as $d_V = d_K = d$ grows",
    consequence="""A large $d_K$ alone does not make attention uniform at initialisation, nor does a large $d_V$ where
        token norms grow with it; check the variance of the logits (hessian.logit-variance).""",
    note=r"""With the hypothesis: $\operatorname{Var}(T_{ij}) = 0.4096\|x_i\|^2\|x_j\|^2/d^2$ is summable over $d$, so
        by Chebyshev and Borel-Cantelli all logits tend to 0 almost surely and the attention to $1/L$. Not true if $d_K$
        alone grows (hessian.logit-variance: the variance does not depend on it), nor for tokens with entries of fixed
        size, $\|x\|^2$ of order $d$. Which weights and tokens are meant is not said where the sentence stands.""",
)  # fmt: skip
UNIFORM_AT_INIT.inputs(X=TokensOfWidth, W_Q=SquareQuery, W_K=SquareQuery, d=Width)


@UNIFORM_AT_INIT.formula
def logit_variances_at_initialisation(X: Any, d: int) -> Any:
    """Var(T_ij) for d_V = d_K = d and weights N(0, 0.64/d), shape (L, L) (Section 3.2, Appendix F)."""
    return _products_of_squares(X, rational(64 * 64, 100 * 100 * d * d))


@UNIFORM_AT_INIT.oracle
def squared_coefficients_at_initialisation(X: Any, W_Q: Any, W_K: Any, d: int) -> Any:
    variance = rational(64, 100 * d)
    return _squared_coefficients(X, W_Q, W_K) * (variance * variance)


UNIFORM_AT_INIT.mutant("variance that does not fall with d", scale=rational(64 * 64, 100 * 100))
UNIFORM_AT_INIT.mutant("variance that falls like 1/d", "100 * 100 * d -> 100 * 100")

UNIFORM_ANYWHERE = Claim(HESSIAN, "hessian.uniform-at-init-any-tokens",
    label="Section 3.2, logits at initialisation for tokens of any norm",
    statement=r"""\operatorname{Var}(T_{ij}) \to 0 \text{ as } d_V = d_K = d \text{ grows, whatever the tokens: for
        entries in } [-1,1],\ \operatorname{Var}(T_{ij}) \le 0.4096/d""",
    assumptions=[
        Definition("W_Q, W_K with independent entries N(0, 0.64/d)", by=_products_of_squares),
        Assumption("tokens with entries in [-1, 1]", nonnegative=_below_one),
    ],
    name="uniform attention at initialisation, tokens of any norm", relation=AtMost(ascent=False),
    sizes={"L": (1, 3), "d": (1, 4)}, expects="refuted", severity="error", correction="hessian.logit-variance",
    exact=True, of_project=True,
    note="""Tokens with all entries 1 have the variance 0.4096 at every $d$, so that no bound which tends to 0 holds;
        $1/d$ stands for all of them.""")  # fmt: skip


@UNIFORM_ANYWHERE.formula
def vanishing_variance(X: TokensOfWidth) -> Any:
    """0.4096/d, a scalar."""
    return rational(4096, 10000 * X.shape[1]) + 0 * X[0, 0]


UNIFORM_ANYWHERE.oracle(lambda X: maximum(_products_of_squares(X, rational(64 * 64, 100 * 100 * X.shape[1] ** 2))))
UNIFORM_ANYWHERE.mutant("twice the bound", lambda value: 2 * value)
UNIFORM_ANYWHERE.mutant("1/d^2", lambda value, X: value * rational(1, X.shape[1] + 1))


@UNIFORM_ANYWHERE.domain("entries of fixed size")
def _(arrays: dict[str, Any], sizes: Any, rng: Any) -> None:
    arrays["X"][:] = 1


UNIFORM_ANYWHERE.counterexample("a token (1, 1): the variance is 0.4096, not 0.2048", X=[[1, 1]])

# -- similar words -----------------------------------------------------------------------------------------------------

Common = Annotated[Any, Shape("1", "d_V")]
Spread = Annotated[Any, Real(0.0625, 1.0)]


def _unequal_rows(X: Any, E: Any, eps: Any) -> Any:
    common = X - E * eps
    return common - ones(X.shape[0], 1) @ common[:1]


SIMILAR_WORDS = Claim(ATTENTION_LOSS, "hessian.sec3.2-similar-words", label="Section 3.2, text",
    statement=r"""\text{``[With data-independent attention scores,] sequences with more similar words will result in a
        lower contribution of the query-key block''}""",
    assumptions=[
        Definition(
            "attention scores data-independent: A fixed, as under uniform attention", by=frozen_outer_product_hessian
        ),
        Definition("residual fixed", by=frozen_functional_hessian),
        Assumption("tokens x + eps e_i: all rows of X - eps E are equal", zero=_unequal_rows),
    ],
    name="similar words and the query-key block", relation=Equal(), at_sizes={"L": 2, "d_V": 1, "d_K": 2},
    sizes={"L": (1, 4), "d_V": (1, 2), "d_K": (1, 4)}, expects="reading", uses=("hessian.sec3.2-moment-dependence",),
    reading=Reading(("more similar words", "lower contribution"), r"""tokens $x + \varepsilon e_i$ for $\varepsilon
            \to 0$, with $A$ and the residual fixed: the query-key part of $H_o$ is $\varepsilon^4$ times, its
            curvature in $H_f$ $\varepsilon^3$
            times and its product-rule term $\varepsilon^2$ times an expression that is affine or quadratic in the
            tokens, with the moments of the $e_i$ in it. All vanish for equal tokens. Lower in this sense of order, not
            monotonically in $\varepsilon$"""))  # fmt: skip


@SIMILAR_WORDS.inputs
@realises({"all rows of X - eps E are equal": "one row is added to each row of eps E"})
def similar_tokens(
    x: Common, E: Tokens, eps: Spread, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, B: Logits, R: Labels
) -> dict[str, Any]:
    X = ones(E.shape[0], 1) @ x + E * eps
    return {"X": X, "E": E, "eps": eps, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "B": B, "R": R}


@SIMILAR_WORDS.formula
def query_key_part_of_similar_tokens(X: Any, E: Any, eps: Any, W_Q: Any, W_K: Any, W_V: Any, B: Any, R: Any) -> Any:
    """(Q,Q), (Q,K), (K,K) of H_o and of H_f from the moments of the deviations, all entries in one column."""
    A, pairs = softmax(B), PAIRS["outer"][:3]
    M_2 = [C * power(eps, 2) for C in second_central_moments(A, E)]
    M_3 = [C * power(eps, 3) for C in third_central_moments(A, E)]
    outer = outer_product_blocks(A @ X, M_2, X, W_Q, W_K, W_V)
    bent = functional_blocks(M_2, M_3, X, W_Q, W_K, W_V, R)
    return stacked(*(outer[pair] for pair in pairs), *(bent[pair] for pair in pairs))


@SIMILAR_WORDS.oracle
def query_key_part_by_differentiation(X: Any, W_Q: Any, W_K: Any, W_V: Any, B: Any, R: Any) -> Any:
    pairs, n = PAIRS["outer"][:3], W_Q.shape[0] * W_Q.shape[1]
    outer = picked(frozen_outer_product_hessian(X, W_Q, W_K, W_V, B), pairs, n)
    return concatenate([outer, picked(frozen_functional_hessian(X, W_Q, W_K, W_V, B, R), pairs, n)], axis=0)


SIMILAR_WORDS.mutant("second moment of order eps", "power(eps, 2) -> eps")
SIMILAR_WORDS.mutant("third moment of order eps^2", "power(eps, 3) -> power(eps, 2)")

# -- dispersed attention -----------------------------------------------------------------------------------------------


def _uniform_logits(X: Any) -> Any:
    return zeros(X.shape[0], X.shape[0]) + 0 * X[:1, :1]


DISPERSED = Claim(ATTENTION_LOSS, "hessian.sec3.2-dispersed", label="Section 3.2, text",
    statement=r"""\text{``Considering an orthogonal setting with a fixed input sequence and studying the influence of
        varying attention scores, the query-key outer-product Hessian will dominate if the attention scores are highly
        dispersed across tokens''}""",
    assumptions=[
        Definition(
            "X, weights and residual fixed; the scores as dispersed as can be: A = 1/L, whatever the weights",
            by=_uniform_logits,
        ),
    ],
    name="dispersed attention scores and the query-key block", exact=False,
    relation=AtMost(ascent=False, left="the smaller of the other two parts", right="the query-key part of H_o"),
    sizes={"L": (1, 4), "d_V": (1, 2), "d_K": (1, 2)}, expects="refuted", severity="error",
    correction="hessian.dispersed-corrected",
    consequence="""Dispersed scores do not make the query-key part the largest, for small tokens the value block is;
        compare the parts by their closed forms (hessian.dispersed-corrected).""",
    note=r"""What is dominated is not said. Decided as weakly as can be: under uniform attention the query-key part of
        $H_o$ is at least as large, in the Frobenius norm, as its value block or the query-key part of $H_f$. No
        constant in front helps: for $\sigma X$ with the residual fixed the ratio to the first is $\sigma^4$ times that
        at $X$, and the ratio to the second falls at least like $\sigma$, so for small tokens, the practical case, both
        are as small as one likes. Nor is uniform attention where the second moment is largest: that is attention to two
        extremes. If 'dominate' only means that this part grows with the dispersion, orthonormal tokens do not save the
        sentence either: for three, with $W_K = W_V = I$, a row adds to $H_o(W_Q,W_Q)$ a summand of norm $2/27$ times
        $1/4$ with the scores $(1/2, 1/2, 0)$, times $\sqrt2/9$ with uniform ones. 'Orthogonal' may mean 'other than the
        setting of the sentence before' or orthogonal tokens; one of the counterexamples has orthonormal tokens, which
        are their own labels. $W_Q = 0$, which makes $A$ uniform by itself, is not needed, and does not help: the first
        counterexample then has $1/256$ against $1/4$ and $1/32$. Squares are compared, which are rational.""",
)  # fmt: skip
DISPERSED.inputs(X=Tokens, W_Q=QueryWeights, W_K=KeyWeights, W_V=ValueWeights, Y=Labels)


def _squared(M: Any) -> Any:
    return total(M * M)


@DISPERSED.formula
def squared_norm_of_query_key_part(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """The squared Frobenius norm of the query-key part of H_o under uniform attention, a scalar (Section 3.2)."""
    blocks = frozen_outer_blocks(X, W_Q, W_K, W_V, softmax(_uniform_logits(X)))
    return sum(_squared(blocks[i, j]) for i in "QK" for j in "QK")


@DISPERSED.oracle
def smaller_of_the_others_squared(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    n, B = W_K.shape[0] * W_K.shape[1], _uniform_logits(X)
    residual = softmax(B) @ X @ W_V - Y
    value = _squared(frozen_outer_product_hessian(X, W_Q, W_K, W_V, B)[2 * n :, 2 * n :])
    bent = _squared(frozen_functional_hessian(X, W_Q, W_K, W_V, B, residual)[: 2 * n, : 2 * n])
    return value + bent - maximum(column(value, bent))


DISPERSED.counterexample("tokens 0 and 1, all weights 1, labels 0: 1/64 against 1/4 and 1/32", X=[[0], [1]], W_Q=[[1]],
    W_K=[[1]], W_V=[[1]], Y=[[0], [0]])  # fmt: skip
DISPERSED.counterexample("two orthonormal tokens, which are their own labels, W_Q = 0: 1/128 against 1/2 and 1/8",
    X=[[1, 0], [0, 1]], W_Q=[[0], [0]], W_K=[[1], [0]], W_V=[[1, 0], [0, 1]], Y=[[1, 0], [0, 1]])  # fmt: skip
DISPERSED.mutant("twice the part", lambda value: 4 * value)
DISPERSED.mutant("the square of the norm", lambda value: value * value)


def _loss_slope(T: Any, X: Any, W_V: Any, R: Any) -> Any:
    """<2 R / (L d_V), F> as a function of the logits, R fixed."""
    return total(R * (softmax(T) @ X @ W_V)) * (2 * loss_normalisation(*X.shape))


DISPERSED_CORRECTED = Claim(ATTENTION_LOSS, "hessian.dispersed-corrected",
    label="Section 3.2, how the parts of the Hessian depend on any attention scores",
    statement=r"""\text{for any } A, \text{ with } M_{2,i} \text{ the covariance of the tokens under row } i \text{ of }
        A,\ x_i = X_{i,:},\ r_i \text{ row } i \text{ of } F-Y:\ \text{the query-key part of } H_o \text{ in } [W_K;W_Q]
        \text{ is } \frac{2}{Ld_Vd_K}V^\top\Big(\sum_i x_ix_i^\top\otimes M_{2,i}W_VW_V^\top M_{2,i}\Big)V,\ V =
        [(W_Q\otimes I_{d_V})K_{d_K,d_V},\ I_{d_V}\otimes W_K];\ H_o(W_V,W_V) = \frac{2}{Ld_V}M_1^\top M_1\otimes
        I_{d_V},\ M_1 = AX;\ \text{the first-derivative term of } H_f(W_Q,W_K) \text{ is }
        \frac{2}{Ld_V\sqrt{d_K}}B\otimes I_{d_K},\ B = \sum_i x_i(M_{2,i}W_Vr_i)^\top""",
    assumptions=[
        Definition("A = softmax(T) for any T, whatever the weights; F - Y is any matrix R", by=(softmax, _loss_slope)),
    ],
    name="Hessian parts for any attention scores", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 4), "d_V": (1, 2), "d_K": (1, 3)}, corrects="hessian.sec3.2-dispersed",
    uses=("hessian.full-outer-product", "hessian.full-functional"), of_project=True,
    note=r"""The first grows with the square of the second moments, the last with the moments themselves, and the value
        block with the means. For $\sigma X$ with $A$ and the residual held they have the degrees 6, 3 and 2: for small
        tokens the value block is the largest, for large ones the query-key part of $H_o$ unless it vanishes, whatever
        the dispersion. Under uniform attention all $M_{2,i}$ are the covariance $C$ of the tokens, and with $W_Q = 0$
        the norms are $\frac2{Ld_Vd_K}\|X^\top X\|\,\|W_K^\top CW_VW_V^\top CW_K\|$ and $\frac2{\sqrt{d_V}}$ times the
        squared norm of their mean.""")  # fmt: skip


@DISPERSED_CORRECTED.formula
def parts_from_the_second_moments(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, T: Logits, R: Labels
) -> Any:
    """The query-key part of H_o, H_o(W_V, W_V) and the first-derivative term, all entries in one column."""
    (L, d_V), d_K, A = X.shape, W_K.shape[1], softmax(T)
    V, C = V_matrix(W_Q, W_K), second_central_moments(A, X)

    def core_of(i: Any) -> Any:
        return kron(X[i : i + 1].T @ X[i : i + 1], C[i] @ W_V @ W_V.T @ C[i])

    core = summed(L, core_of) * rational(2, L * d_V * d_K)
    slope = summed(L, lambda i: X[i : i + 1].T @ R[i : i + 1] @ W_V.T @ C[i]) * (
        (2 * loss_normalisation(L, d_V)) / sqrt(d_K)
    )
    value = kron((A @ X).T @ (A @ X), eye(d_V)) * (2 * loss_normalisation(L, d_V))
    return stacked(V.T @ core @ V, value, kron(slope, eye(d_K)))


@DISPERSED_CORRECTED.oracle
def parts_by_differentiation(X: Any, W_Q: Any, W_K: Any, W_V: Any, T: Any, R: Any) -> Any:
    H, n = frozen_outer_product_hessian(X, W_Q, W_K, W_V, T), W_K.shape[0] * W_K.shape[1]
    keys_first = [slice(n, 2 * n), slice(0, n)]
    part = concatenate([concatenate([H[i, j] for j in keys_first], axis=1) for i in keys_first], axis=0)
    gradient = jacobian(_loss_slope, "T")(T, X, W_V, R).reshape(*T.shape)
    slope = X.T @ gradient @ X / sqrt(W_K.shape[1])
    return stacked(part, H[2 * n :, 2 * n :], kron(slope, eye(W_K.shape[1])))


DISPERSED_CORRECTED.mutant("second moments not centred",
    "second_central_moments(A, X) -> [X.T @ (X * a.reshape(-1, 1)) for a in A]")  # fmt: skip
DISPERSED_CORRECTED.mutant("attention transposed", "softmax(T) -> softmax(T).T")
DISPERSED_CORRECTED.mutant("W_V not transposed",
    "X[i : i + 1].T @ R[i : i + 1] @ W_V.T -> X[i : i + 1].T @ R[i : i + 1] @ W_V")  # fmt: skip

# -- one-hot attention -------------------------------------------------------------------------------------------------

Position = Annotated[int, Size("p")]

INDEX_OF_A_TOKEN = Assumption("p is the index of a token, from 0", sizes=lambda sizes: sizes["p"] < sizes["L"])

ONE_HOT = Claim(HESSIAN, "hessian.sec3.2-one-hot", label="Section 3.2, text",
    statement=r"""\text{``If instead, the attention matrix is sparse and some tokens attend to only one token (attention
        row is a one-hot vector), the contribution of the query-key part of the Hessian diminishes because the second
        and third central moment matrices of such one-hot self-attention distributions equal zero''}""",
    assumptions=[
        Assumption("row 1 of A is one-hot", zero=lambda A: A[:1] - A[:1] * A[:1]),
        Assumption("rows of A sum to 1", zero=lambda A: row_sums(A) - 1),
        INDEX_OF_A_TOKEN,
        Assumption("L >= 2, as the one token of a sequence attends to itself", sizes=lambda sizes: sizes["L"] >= 2),
    ],
    name="one-hot attention rows and the query-key block", relation=Equal(), at_sizes=True,
    sizes={"L": (2, 3), "d_V": (1, 3), "p": (0, 2)}, expects="reading",
    uses=("hessian.rem-3.1-z1", "hessian.rem-3.1-z2-corrected"), exact=True,
    reading=Reading("the contribution of the query-key part of the Hessian diminishes", """what diminishes is the share
            of such a token: $Z_1$ and $Z_2$, by their definitions from the softmax derivatives at $A$, have zero rows
            for it, so that it adds nothing to the query-key part of $H_o$ and $H_f$; all rows one-hot leave none. The
            part as a whole can grow, for in $H_f$ the shares of two tokens may have cancelled:
            hessian.one-hot-ends-cancellation"""),
    note="""In $H_o$ the shares are positive semidefinite, and its query-key part does become smaller with the other
        rows as they are. No finite logits give a one-hot row: hessian.nearly-one-hot bounds what is left.""",
)  # fmt: skip


@ONE_HOT.inputs
@realises(
    {
        "row 1 of A is one-hot": "the first row is a unit vector",
        "rows of A sum to 1": ("a softmax: the logarithms of positive rows of sum 1 are logits of them"),
    }
)
def first_row_one_hot(X: Tokens, T: Logits, p: Position) -> dict[str, Any]:
    A = concatenate([basis_vector(X.shape[0], p).T, softmax(T)[1:]], axis=0)
    return {"X": X, "A": A}


def _from_row(X: Any, A: Any, first: int, centre: bool = True) -> Any:
    """Z_1 and Z_2 from central moments in the rows of tokens `first`, ..., L - 1 and zero above, in one column."""
    L, d_V = X.shape
    tokens = [X[i : i + 1] for i in range(first, L)]
    origin = 1 if centre else 0
    shifted = [X - ones(L, 1) @ (A[i : i + 1] @ X) * origin for i in range(first, L)]
    second, third = [], []
    for i, D in enumerate(shifted, start=first):
        second.append(sum(D[j : j + 1].T @ D[j : j + 1] * A[i, j] for j in range(L)))
        third.append(sum(kron(D[j : j + 1].T, D[j : j + 1].T @ D[j : j + 1]) * A[i, j] for j in range(L)))
    swap = kron(commutation_matrix(d_V, d_V), eye(d_V))
    outer = [swap @ kron(x, x.T, M) for x, M in zip(tokens, third, strict=True)]
    above = [zeros(first * d_V * d_V**2, 1), zeros(first * d_V**3 * d_V**2, 1)]
    return concatenate([above[0], stacked(khatri_rao(tokens, second)), above[1], stacked(*outer)], axis=0)


@ONE_HOT.formula
def derivatives_with_a_one_hot_row(X: Any, A: Any) -> Any:
    """Z_1 and Z_2 with zeros in the rows of the first token, all entries in one column (Section 3.2)."""
    return _from_row(X, A, first=1)


ONE_HOT.oracle(lambda X, A: stacked(Z_1(A, X), Z_2(A, X)))
ONE_HOT.mutant("moments not centred, which leaves the first token in", first=0, centre=False)
ONE_HOT.mutant("the first two tokens left out",
    lambda value, X, A: _from_row(X, A, first=2) if X.shape[0] > 2 else value * 2)  # fmt: skip

ENDS_CANCELLATION = Claim(HESSIAN, "hessian.one-hot-ends-cancellation",
    label="Section 3.2, a one-hot row after which the query-key part is larger",
    statement=r"""X = \begin{bmatrix}1\\2\end{bmatrix},\ A_{2,:} = (\tfrac34, \tfrac14),\ F - Y =
        \tfrac{15}{16}v\begin{bmatrix}2 \\-1\end{bmatrix},\ d_V = d_K = 1,\ W_Q = q, W_K = k, W_V = v:\ \text{the
        query-key part of } H \text{ is } 0 \text{ for } A_{1,:} = A_{2,:} \text{ and }
        -\tfrac{v^2}{128}\begin{bmatrix}27k^2&27qk+45\\27qk+45&27q^2 \end{bmatrix} \text{ for } A_{1,:} = (1, 0)""",
    assumptions=[
        Definition(
            "A is free of the weights, as where scores are varied for a fixed sequence; the labels leave the residual"
            " given",
            by=(logit_curvature, logit_slope),
        ),
    ],
    name="one-hot row that enlarges the query-key part", relation=Equal(), all_sizes=True, sizes={},
    uses=("hessian.rem-D.1-corrected", "hessian.rem-3.1-z1", "hessian.rem-3.1-z2-corrected"), exact=True,
    of_project=True,
    note="""Row 1 has variance $3/16$ and third moment $3/32$, as has row 2. The residual of row 1 does not matter once
        it is one-hot.""")  # fmt: skip

Weight = Annotated[Any, Real(0.5, 2.0)]


@ENDS_CANCELLATION.formula
def query_key_part_before_and_after(q: Weight, k: Weight, v: Weight) -> Any:
    """(Q,Q), (Q,K), (K,K) of H with A_1 = A_2, then with A_1 one-hot, shape (6, 1)."""
    zero = eye(1) * (0 * q)
    bend, slope = v * v * rational(-27, 128), v * v * rational(-45, 128)
    after = [k * k * bend, q * k * bend + slope, q * q * bend]
    return concatenate([zero, zero, zero, *(zero + block for block in after)], axis=0)


@ENDS_CANCELLATION.oracle
def query_key_part_from_softmax_derivatives(q: Weight, k: Weight, v: Weight) -> Any:
    """V^T U V / d_K and B / sqrt(d_K) of Remark D.1, times 2/(L d_V) = 1, Z_1 and Z_2 by definition."""
    zero = eye(1) * (0 * q)
    X, W_V = concatenate([zero + 1, zero + 2], axis=0), zero + v
    R = concatenate([zero + v * rational(15, 8), zero - v * rational(15, 16)], axis=0)
    even = concatenate([zero + rational(3, 4), zero + rational(1, 4)], axis=1)
    blocks = []
    for first in (even, concatenate([zero + 1, zero], axis=1)):
        A = concatenate([first, even], axis=0)
        U, B = logit_curvature(X, A, W_V, R), logit_slope(X, A, W_V, R)
        blocks += [U * (k * k), U * (q * k) + B, U * (q * q)]
    return concatenate(blocks, axis=0)


ENDS_CANCELLATION.mutant("the second row left out as well", "bend -> 0 * bend; slope -> 0 * slope")
ENDS_CANCELLATION.mutant("the functional part alone", "bend -> slope")

NEARLY_ONE_HOT = Claim(HESSIAN, "hessian.nearly-one-hot", label="Section 3.2, rows that are nearly one-hot",
    statement=r"\operatorname{tr} M_{2,i} \le (1 - A_{ip})\max_j|x_j - x_p|^2 \text{ for every } i, p",
    assumptions=[
        Definition("A = softmax(T), row-wise", by=softmax),
        INDEX_OF_A_TOKEN,
    ],
    name="second moment of nearly one-hot attention rows", relation=AtMost(left="tr M_{2,i} for every row i"),
    sizes={"L": (1, 4), "d_V": (1, 3), "p": (0, 2)}, of_project=True,
    note="""The variance is at most the mean squared distance from any point, here from $x_p$. As a row becomes one-hot
        the query-key part of $H_o$ that belongs to its token falls with the square of this bound.""")  # fmt: skip


@NEARLY_ONE_HOT.formula
def variance_bounds(X: Tokens, T: Logits, p: Position) -> Any:
    """(1 - A_ip) max_j |x_j - x_p|^2 for every row i, shape (L, 1)."""
    L, distance = X.shape[0], X - ones(X.shape[0], 1) @ X[p : p + 1]
    rest = softmax(T) @ (ones(L, 1) - basis_vector(L, p))
    return rest * maximum(row_sums(distance * distance))


NEARLY_ONE_HOT.oracle(lambda X, T: column(*(trace(C) for C in second_central_moments(softmax(T), X))))
NEARLY_ONE_HOT.mutant("square of 1 - A_ip", "rest -> rest * rest")
NEARLY_ONE_HOT.mutant("half of the bound", lambda value: value * rational(1, 2))
