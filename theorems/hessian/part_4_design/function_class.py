"""One query-key matrix or two (Section 4.2): which maps a single matrix adds, and what its Hessian is a part of."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention_matrix
from theorems.hessian.part_4_design.single_matrix import QueryKeyWeights, single_matrix_loss
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.part_d_query_key.split_at_logits import SPLIT_ANYWHERE, U_matrix, V_matrix, gauss_newton_at_logits
from theorems.hessian.settings import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from verify.arithmetics import exp
from verify.matrix import column, concatenate, eye, rational, singular_values, softmax, sqrt, vec_r, zeros
from verify.oracles import hessian
from verify.vocabulary import AtMost, Claim, Construction, Definition, Equal, Shape, Size

Factor = Annotated[Any, Shape("d_V", "d_V")]
QueryKeyDimension = Annotated[int, Size("d_K")]

# -- which maps a single matrix adds -----------------------------------------------------------------------------------


def distance_to_the_nearest_product(W: QueryKeyWeights, d_K: QueryKeyDimension) -> Any:
    """The singular value number d_K + 1 of W, and 0 if there is none."""
    values = singular_values(W)
    return values[d_K : d_K + 1] if d_K < W.shape[0] else 0 * values[:1]


FUNCTION_CLASS = Claim(HESSIAN, "hessian.sec4.2-function-class", label="Section 4.2, text",
    statement=r"""\text{``for small } d_K \text{ results in fewer parameters. From a function class perspective, we
        could equivalently replace the product } W_Q W_K^\top \text{ with a single matrix } W_{QK}\text{''}""",
    assumptions=[
        Definition("W_Q, W_K in R^{d_V x d_K} for any d_K", by=distance_to_the_nearest_product),
        Construction("W_QK in R^{d_V x d_V}", shapes={"W": ("d_V", "d_V")}),
    ],
    relation=AtMost(signed=True, ascent=False, left="distance to the nearest product", right="0, for equal classes"),
    name="function class of two query-key matrices", sizes={"d_V": (1, 4), "d_K": (1, 4)}, expects="refuted",
    severity="error", correction="hessian.sec4.2-function-class-corrected",
    consequence="""For $d_K < d_V$ a single matrix realises attention maps that no two factors do, so the two models are
        not interchangeable; the classes agree up to rank $d_K$ (hessian.sec4.2-function-class-corrected).""",
    note=r"""Judged by the distance, in the spectral norm, from $W_{QK}$ to the products $W_QW_K^\top$, which is the
        singular value number $d_K + 1$ of $W_{QK}$ (Eckart and Young). One direction holds at all sizes: a single
        matrix realises every product; if no more is meant than that $A$ depends on the product alone, $W_{QK}$ is
        $W_QW_K^\top$ under another name. The classes agree for $d_K \ge d_V$ only, where two matrices have no fewer
        parameters; for $d_K < d_V$ the single matrix adds attention maps, also modulo row shifts of $T$: at the tokens
        $e_1, \ldots, e_{d_V}, 0$ the map $A$ determines $W_{QK}$, by $\log(A_{ij}/A_{i,d_V+1})$.""")  # fmt: skip


@FUNCTION_CLASS.formula
def distance_between_the_classes(W: QueryKeyWeights, d_K: QueryKeyDimension) -> Any:
    """How far W_QK may be from the nearest product W_Q W_K^T if the classes are the same: 0, shape (1, 1) (Section 4.2)."""
    return zeros(1, 1) + 0 * W[:1, :1]


FUNCTION_CLASS.oracle(distance_to_the_nearest_product)
FUNCTION_CLASS.mutant("a distance of one", lambda W: eye(1) + 0 * W[:1, :1])
FUNCTION_CLASS.mutant("half the norm", lambda W: singular_values(W)[:1] * rational(1, 2))
FUNCTION_CLASS.counterexample(
    "W_QK = I_2, d_K = 1: every product of a column and a row is at least 1 away", W=[[1, 0], [0, 1]], d_K=1
)


def _padded(M: Any, width: int) -> Any:
    """The first `width` columns of M, and zeros where M has fewer."""
    kept = M[:, :width]
    return concatenate([kept, zeros(M.shape[0], width - kept.shape[1])], axis=1) if width > kept.shape[1] else kept


FUNCTION_CLASS_CORRECTED = Claim(HESSIAN, "hessian.sec4.2-function-class-corrected",
    label="Section 4.2, which matrices two factors reach", name="rank of products of two query-key matrices",
    statement=r"""\{W_Q W_K^\top/\sqrt{d_K}\} = \{W_{QK} : \operatorname{rk} W_{QK}\le d_K\},\text{ all matrices exactly
        if }d_K\ge d_V;\ \text{the two matrices have fewer entries than the one exactly if } d_K < d_V/2;\text{ at the tokens }
        e_1,\dots,e_{d_V},0\text{ the map determines } W_{QK}""",
    assumptions=[
        Definition("W_Q, W_K in R^{d_V x d_K}, any d_K: P and R, with zeros where d_K > d_V", by=_padded),
        Construction("P, R in R^{d_V x d_V}, of which the first columns count", shapes={"P": ("d_V", "d_V"), "R": ("d_V", "d_V")}),
    ],
    relation=Equal(), at_sizes=True,
    sizes={"d_V": (1, 3), "d_K": (1, 4)}, corrects="hessian.sec4.2-function-class", of_project=True, exact=True,
    note=r"""Every matrix of rank at most $r = \min(d_K, d_V)$ is $PR^\top$ with $P, R \in \mathbb{R}^{d_V\times r}$;
        $W_Q = \sqrt{d_K}[P, 0]$ and $W_K = [R, 0]$ realise it. Conversely all minors of order $d_K + 1$ of
        $W_QW_K^\top$ vanish. The odds $A_{ij}/A_{i,d_V+1}$ at the tokens $e_1, \ldots, e_{d_V}, 0$ are $\exp(W_{ij})$,
        which gives $W_{ij}$ back.""")  # fmt: skip


def determinant(A: Any) -> Any:
    """det A of a small matrix by permutations, shape (1, 1)."""
    n = A.shape[0]
    result = 0 * A[:1, :1]
    for order in permutations(range(n)):
        inversions = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        term = eye(1) * (-1) ** inversions
        for i in range(n):
            term = term * A[i : i + 1, order[i] : order[i] + 1]
        result = result + term
    return result


def basis_tokens(d_V: int) -> Any:
    """The tokens e_1, ..., e_{d_V}, 0, shape (d_V + 1, d_V)."""
    return concatenate([eye(d_V), zeros(1, d_V)], axis=0)


def _minors(A: Any, k: int) -> list[Any]:
    """All minors of order k of a square matrix, each of shape (1, 1)."""
    chosen = list(combinations(range(A.shape[0]), k))
    parts = []
    for rows, columns in product(chosen, chosen):
        picked = [concatenate([A[i : i + 1, j : j + 1] for j in columns], axis=1) for i in rows]
        parts.append(determinant(concatenate(picked, axis=0)))
    return parts


@FUNCTION_CLASS_CORRECTED.formula
def two_factors_of_a_given_matrix(P: Factor, R: Factor, d_K: QueryKeyDimension) -> Any:
    """A of W_Q = sqrt(d_K) [P, 0], W_K = [R, 0] at e_1, ..., e_{d_V}, 0, odds, minors, who has fewer parameters, in one column."""
    d_V, r, scale = P.shape[0], min(d_K, P.shape[0]), sqrt(d_K)
    W_Q, W_K = _padded(P[:, :r], d_K) * scale, _padded(R[:, :r], d_K)
    A = attention_matrix(basis_tokens(d_V) + 0 * P[:1, :], W_Q, W_K)
    odds, fewer = A[:d_V, :d_V] / A[:d_V, d_V:], int(2 * d_V * d_K < d_V**2)
    return concatenate([vec_r(A), vec_r(odds), *_minors(W_Q @ W_K.T, d_K + 1), column(fewer)], axis=0)


@FUNCTION_CLASS_CORRECTED.oracle
def the_single_matrix_itself(P: Factor, R: Factor, d_K: QueryKeyDimension) -> Any:
    d_V, r = P.shape[0], min(d_K, P.shape[0])
    W, X = P[:, :r] @ R[:, :r].T, basis_tokens(d_V)
    A = softmax(X @ W @ X.T)
    minors = [0 * P[:1, :1]] * len(list(combinations(range(d_V), d_K + 1))) ** 2
    return concatenate([vec_r(A), vec_r(exp(W)), *minors, column(int(d_K + d_K < d_V))], axis=0)


FUNCTION_CLASS_CORRECTED.mutant("without the scale sqrt(d_K)", "sqrt(d_K) -> 1")
FUNCTION_CLASS_CORRECTED.mutant("factors exchanged", "P -> R; R -> P")

# -- one matrix against two (Section 4.2) ------------------------------------------------------------------------------

SINGLE_VS_DOUBLE = Claim(SPLIT_ANYWHERE, "hessian.sec4.2-single-vs-double", label="Section 4.2, text after Lemma 4.1",
    statement=r"""\text{``The expression for the Hessian } H(W_{QK},W_{QK})\text{ is part of the } T\text{-outer-product
        Hessian of the classical self-attention in remark D.1, while there is no counterpart expression to the }
        T\text{-functional Hessian. Double matrix parameterization of self-attention implies also that the query-key
        Hessian part explicitly depends on the query and key weight matrices } W_Q\text{ and } W_K\text{''}""",
    name="single and double query-key parameterisation", relation=Equal(), all_sizes=True,
    uses=("hessian.lem-4.1-corrected", "hessian.rem-D.1-corrected"),
    note=r"""What is compared, at $W_{QK} = W_QW_K^\top/\sqrt{d_K}$: the Hessian of the single matrix is $U$, the
        $T$-outer-product part of the two matrices is $V^\top UV/d_K$ with the same $U$ and a $V$ that consists of $W_Q$
        and $W_K$. There is no counterpart to the $T$-functional part because $T$ is linear in $W_{QK}$, so that its
        second derivative vanishes. The sentence compares two printed expressions. Lemma 4.1 and Remark D.1 drop the same
        factor $2/(Ld_V)$ from both, so that the comparison stands as it is; here both sides carry the factor.""")  # fmt: skip


@SINGLE_VS_DOUBLE.formula
def single_matrix_hessian_inside(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """2/(L d_V) U, V^T (2/(L d_V) U) V / d_K, and zeros, all entries in one column (Section 4.2)."""
    (L, d_V), d_K, V = X.shape, W_Q.shape[1], V_matrix(W_Q, W_K)
    U = U_matrix(X, W_Q, W_K, W_V, Y) * rational(2, L * d_V)
    return stacked(U, V.T @ U @ V * rational(1, d_K), zeros(L * L * d_V**2, d_V**2))


def _single_matrix_logits(W: Any, X: Any) -> Any:
    return X @ W @ X.T


@SINGLE_VS_DOUBLE.oracle
def single_matrix_hessian_and_outer_part(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    W = W_Q @ W_K.T / sqrt(W_Q.shape[1])
    return stacked(
        hessian(single_matrix_loss, ("W", "W"))(X, W, W_V, Y),
        gauss_newton_at_logits(X, W_Q, W_K, W_V, Y)[0],
        hessian(_single_matrix_logits, ("W", "W"))(W, X),
    )


SINGLE_VS_DOUBLE.mutant("without the factor 2/(L d_V)", "rational(2, L * d_V) -> 1")
SINGLE_VS_DOUBLE.mutant("keys and queries exchanged in V", "V_matrix(W_Q, W_K) -> V_matrix(W_K, W_Q)")
