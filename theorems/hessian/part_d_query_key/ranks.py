"""Ranks in Appendix D: of a stack of two Kronecker products (Lemma D.1), and of the T-outer-product Hessian (Lemma D.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import flint
import numpy as np

from theorems.hessian import HESSIAN
from theorems.hessian.part_4_design.function_class import determinant
from theorems.hessian.part_d_query_key.spectra_and_ranks import rationals
from theorems.hessian.part_d_query_key.split_at_logits import QUERY_KEY, V_matrix, gauss_newton_at_logits
from theorems.hessian.settings import IDENTITIES, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from theorems.shared.matrices import over_units
from verify.arithmetics import Constant, is_tensor
from verify.matrix import column, concatenate, eye, kron, singular_values, symmetric_eigenvalues, vec_r
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Equal, HasStructure, Shape, Size, realises

Left = Annotated[Any, Shape("m", "a")]
RightOfLeft = Annotated[Any, Shape("a", "n")]
Lower = Annotated[Any, Shape("p", "b")]
RightOfLower = Annotated[Any, Shape("b", "q")]
MbyN = Annotated[Any, Shape("m", "n")]
PbyQ = Annotated[Any, Shape("p", "q")]
Dimension = Annotated[int, Size("d_V")]
QueryKeyDimension = Annotated[int, Size("d_K")]
OneEntry = Annotated[Any, Shape("1", "1")]
#: Below this share of the largest, or this many roundings, an eigenvalue in floats counts as zero; what floats report is
#: decided in balls.
NEGLIGIBLE, ROUNDINGS = 1e-9, 2**10


def rank(A: Any) -> int:
    """The rank of A over the rationals, entries taken as they are: floats are rationals, balls stand for their midpoints."""
    return int(rationals(A).rank())


def certain_rank(values: Any) -> Any:
    """How many of the eigenvalues or singular values are certainly not zero, shape (1, 1): at most the rank."""
    if is_tensor(values):
        import torch

        size, share = values.abs(), max(NEGLIGIBLE, ROUNDINGS * torch.finfo(values.dtype).eps)
        return (size > size.max() * share).sum().reshape(1, 1) + 0 * size[:1].reshape(1, 1)
    return column(sum(not flint.arb(value).contains(0) for value in values))


LEMMA_D1 = Claim(IDENTITIES, "hessian.lem-D.1", label="Lemma D.1", name="rank of stacked Kronecker products",
    statement=r"""\operatorname{rk}\Big(\begin{bmatrix}I_q\otimes A\\B\otimes I_n\end{bmatrix}\Big) =
        q\operatorname{rk}(A) + n\operatorname{rk}(B) - \operatorname{rk}(A)\operatorname{rk}(B)""",
    assumptions=[Construction("A in R^{m x n}, B in R^{p x q}", shapes={"A": ("m", "n"), "B": ("p", "q")})],
    relation=Equal(), sizes={"m": (1, 3), "a": (1, 3), "n": (1, 3), "p": (1, 2), "b": (1, 3), "q": (1, 3)},
    batched=False,
    note=r"""Ranks are computed exactly, from the floats as drawn. $A = PR$ and $B = ST$ take every rank from 0 on. Why
        it holds: the kernel of the stack is $\ker B \otimes \ker A$, of dimension $(q - \operatorname{rk}B)(n -
        \operatorname{rk}A)$.""")  # fmt: skip


@LEMMA_D1.inputs
@realises(
    but="a product with few inner columns has a low rank; up to the full rank, all numbers of inner columns are drawn"
)
def products_of_any_rank(P: Left, R: RightOfLeft, S: Lower, T: RightOfLower) -> dict[str, Any]:
    """A = P R and B = S T, of any rank."""
    return {"A": P @ R, "B": S @ T}


@LEMMA_D1.domain("rank zero")
def no_rank(arrays: dict[str, Any], sizes: Mapping[str, int], rng: np.random.Generator) -> None:
    """One of the two matrices vanishes, for every second draw the other."""
    arrays["P"][::2] = 0
    arrays["S"][1::2] = 0


@LEMMA_D1.formula
def rank_of_kronecker_stack(A: MbyN, B: PbyQ) -> Any:
    """q rk(A) + n rk(B) - rk(A) rk(B), shape (1, 1) (Lemma D.1)."""
    (n, q), a, b = (A.shape[1], B.shape[1]), rank(A), rank(B)
    return column(q * a + n * b - a * b)


LEMMA_D1.oracle(lambda A, B: column(rank(concatenate([kron(eye(B.shape[1]), A), kron(B, eye(A.shape[1]))], axis=0))))
LEMMA_D1.mutant("product of the ranks not subtracted", lambda A, B: column(B.shape[1] * rank(A) + A.shape[1] * rank(B)))
LEMMA_D1.mutant("rows instead of columns", "A.shape[1] -> A.shape[0]; B.shape[1] -> B.shape[0]")
LEMMA_D1.mutant("A and B exchanged", "q * a -> q * b; n * b -> n * a")


# -- Lemma D.2 ---------------------------------------------------------------------------------------------------------


def gram_determinants(W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """det of the smaller Gram matrix of W_Q and of W_K, positive exactly at full rank, shape (2, 1)."""
    grams = [W.T @ W if W.shape[1] <= W.shape[0] else W @ W.T for W in (W_Q, W_K)]
    return concatenate([determinant(gram) for gram in grams], axis=0)


FULL_RANK = Assumption("W_K and W_Q have full rank", positive=gram_determinants)
#: The same decided exactly, also for floats, whose determinants of singular matrices need not vanish.
FULL_RANK_EXACTLY = Assumption(
    FULL_RANK.text, positive=lambda W_Q, W_K: column(*(rank(W) - min(W.shape) + 1 for W in (W_Q, W_K)))
)
RANKS = QUERY_KEY.extended("Lemma D.2", sizes={"L": (1, 4)}, where=lambda sizes: sizes["d_V"] * sizes["d_K"] <= 6)

LEMMA_D2 = Claim(RANKS, "hessian.lem-D.2", label="Lemma D.2 with proof, and the eigenvalue count in Appendix D",
    statement=r"""\operatorname{rk}\left(H_o^T(W_{QK},W_{QK})\right)\le\begin{cases}2d_Kd_V-d_K^2&\text{if
        }d_K<d_V\\d_V^2&\text{if }d_K\ge d_V\end{cases};\quad\operatorname{rk}(V^\top)\le\operatorname{rk}\left(
        \begin{bmatrix}W_Q^\top\otimes I_{d_V}\\I_{d_V}\otimes W_K^\top\end{bmatrix}\right)=\operatorname{rk}\left(
        \begin{bmatrix}I_{d_V}\otimes W_K^\top\\W_Q^\top\otimes I_{d_V}\end{bmatrix}\right) =
        d_V\operatorname{rk}(W_K)+d_V\operatorname{rk}(W_Q)-\operatorname{rk}(W_K)\operatorname{rk}(W_Q);\ \text{``the }
        T\text{-outer-product Hessian has at most''}\text{ that many ``non-zero eigenvalues''}""",
    assumptions=[FULL_RANK],
    without_domains={
        "uniform attention": "W_Q = 0 has no full rank",
        "rank deficient": "W_Q and W_K would lose their rank",
    },
    name="rank of the outer-product Hessian at the logits", exact=False, relation=AtMost(ascent=False),
    uses=("hessian.lem-D.1", "hessian.rem-D.1-corrected", "hessian.lem-D.2-rank-of-v", "hessian.lem-D.2-null-vectors"),
    note=r"""The left sides count the eigenvalues of $H_o^T$ and singular values of $V$ whose enclosures exclude 0,
        hence are at most the ranks, and reach the bounds: both are attained, in both cases, from $L = d_V + 1$ tokens
        on (hessian.lem-D.2-attained). With fewer the bound can be far off: $U = \sum_i x_ix_i^\top \otimes N_i$ with
        $N_i$ of rank at most $L - 1$, so that $H_o^T = 0$ for $L = 1$. Neither the missing factor nor the order of the
        weights in Remark D.1 changes a rank. An eigenvalue too small to be told from 0 is not counted here, so that a
        tiny violation would pass; hessian.lem-D.2-null-vectors excludes it, with $d_K^2$ or $2d_Vd_K - d_V^2$
        independent null vectors of $H_o^T$ and $V$ exactly (hessian.lem-D.2-rank-of-v).""")  # fmt: skip


def _bound(d_V: int, d_K: int) -> int:
    return 2 * d_K * d_V - d_K**2 if d_K < d_V else d_V**2


@LEMMA_D2.formula
def outer_product_rank_bounds(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """Bounds of the number of non-zero eigenvalues of H_o^T, and of rk V^T, shape (2, 1) (Lemma D.2)."""
    (d_V, d_K), full = W_Q.shape, min(W_Q.shape)
    return column(_bound(d_V, d_K), 2 * d_V * full - full**2)


@LEMMA_D2.oracle
def certain_ranks(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    outer, _ = gauss_newton_at_logits(X, W_Q, W_K, W_V, Y)
    spectra = symmetric_eigenvalues((outer + outer.T) / 2), singular_values(V_matrix(W_Q, W_K))
    return concatenate([certain_rank(values) for values in spectra], axis=0)


@LEMMA_D2.domain("large tokens")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    arrays["X"] *= 4


@LEMMA_D2.domain("small weights")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """The rank of the first case, d_K < d_V with more tokens than features, is reached by ordinary numbers alone."""
    arrays["W_Q"] /= 2
    arrays["W_K"] /= 2


LEMMA_D2.mutant("one less where d_K < d_V", "_bound(d_V, d_K) -> _bound(d_V, d_K) - int(d_K < d_V)")
LEMMA_D2.mutant("one less where d_K >= d_V > 1", "_bound(d_V, d_K) -> _bound(d_V, d_K) - int(d_K >= d_V > 1)")
LEMMA_D2.mutant("the first case at all sizes", "_bound(d_V, d_K) -> 2 * d_V * d_K - d_K ** 2")
LEMMA_D2.mutant("d_V d_K, the rank of one weight alone", "_bound(d_V, d_K) -> d_V * d_K")
LEMMA_D2.mutant("product of the ranks subtracted twice in rk V^T", "full ** 2 -> 2 * full ** 2 - 1")
LEMMA_D2.mutant("one less in rk V^T where d_K < d_V", "full ** 2 -> full ** 2 + int(d_K < d_V)")

# -- the bound is attained ---------------------------------------------------------------------------------------------

ATTAINED = Claim(RANKS, "hessian.lem-D.2-attained", label="Lemma D.2, where the bound is attained",
    statement=r"""\text{for } L = d_V+1 \text{ there are } X, W_Q, W_K, W_V, Y \text{ with } \operatorname{rk}H_o^T =
        \operatorname{rk}V = \begin{cases}2d_Kd_V-d_K^2&d_K<d_V\\d_V^2&d_K\ge d_V\end{cases}""",
    name="rank of the outer-product Hessian attained", exact=False, relation=Equal(), sizes=("d_V", "d_K"),
    where=lambda sizes: (sizes["d_V"], sizes["d_K"]) != (3, 4),
    uses=("hessian.lem-D.2", "hessian.lem-D.2-null-vectors", "hessian.lem-D.2-rank-of-v"), of_project=True,
    note="""At one fixed rational point for every size. Eigenvalues and singular values whose enclosures exclude 0 are
        counted, so that the ranks are no less; that they are no more is Lemma D.2.""")  # fmt: skip


def _fixed(rows: int, columns: int, salt: int) -> Constant:
    """Multiples of 1/8 without a simple pattern, 11/8 at most."""
    values = [[7 * i * i + 3 * j * j + 5 * i * j + salt * (i + 2 * j + 1) for j in range(columns)] for i in range(rows)]
    return Constant(np.array([[flint.fmpq(k % 23 - 11, 8) for k in row] for row in values], dtype=object))


#: Of the salts tried, those that keep nonzero eigenvalues farthest from zero: above 1/25 of the largest at all sizes.
SALTS = {"X": 17, "W_Q": 11, "W_K": 1, "W_V": 4, "Y": 15}


def fixed_point(d_V: int, d_K: int, like: Any) -> dict[str, Any]:
    """X (d_V + 1, d_V), W_Q, W_K, W_V and Y in the arithmetic of `like`."""
    tokens, weights, values = (d_V + 1, d_V), (d_V, d_K), (d_V, d_V)
    shapes = {"X": tokens, "W_Q": weights, "W_K": weights, "W_V": values, "Y": tokens}
    return {name: _fixed(*shape, SALTS[name]) + 0 * like for name, shape in shapes.items()}


@ATTAINED.formula
def attained_ranks(d_V: Dimension, d_K: QueryKeyDimension, unused: OneEntry) -> Any:
    """The bound of Lemma D.2 twice, shape (2, 1)."""
    return column(_bound(d_V, d_K), _bound(d_V, d_K)) + 0 * unused


ATTAINED.oracle(lambda d_V, d_K, unused: certain_ranks(**fixed_point(d_V, d_K, unused)) + 0 * unused)
# Right for d_K = 1 the first, for d_K = d_V - 1 the second.
ATTAINED.mutant("2 d_V - 1 where d_K < d_V", "_bound(d_V, d_K) -> 2 * d_V - 1 if d_K < d_V else d_V ** 2")
ATTAINED.mutant("d_V^2 - 1 where d_K < d_V", "_bound(d_V, d_K) -> d_V ** 2 - int(d_K < d_V)")
ATTAINED.mutant("one less where d_K >= d_V > 1", "_bound(d_V, d_K) -> _bound(d_V, d_K) - int(d_K >= d_V > 1)")

# -- the same by explicit null vectors ---------------------------------------------------------------------------------

NULL_VECTORS = Claim(RANKS, "hessian.lem-D.2-null-vectors", label="Lemma D.2, by null vectors",
    statement=r"""H_o^T\begin{bmatrix}-W_KM^\top\\W_QM\end{bmatrix} = 0,\ V\begin{bmatrix}-W_KM^\top\\W_QM\end{bmatrix}
        = 0\text{ for all } M\in\mathbb{R}^{d_K\times d_K},\text{ where } V = \partial(W_QW_K^\top)/\partial(W_K, W_Q)\text{
        as in Remark D.1, and a stack } [A; B]\text{ stands for the direction that moves } W_K\text{ by } A\text{ and } W_Q
        \text{ by } B""",
    name="null vectors of the outer-product Hessian", relation=HasStructure(), all_sizes=True,
    uses=("hessian.rem-D.1-corrected",), of_project=True,
    note=r"""With the dimension of these vectors this is the bound of Lemma D.2: $\operatorname{rk}H_o^T \le 2d_Vd_K$
        less that dimension.""")  # fmt: skip


def gauge_vectors(W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """The directions [-W_K M^T; W_Q M] for M = E_ij side by side, shape (2 d_V d_K, d_K^2)."""
    n = W_Q.shape[1]
    first, second = over_units(n, lambda M: vec_r(-(W_K @ M.T))), over_units(n, lambda M: vec_r(W_Q @ M))
    return concatenate([first, second], axis=0)


@NULL_VECTORS.formula
def images_of_gauge_vectors(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The images of [-W_K M^T; W_Q M] for all M = E_ij under H_o^T and V, shape (2 d_V d_K + d_V^2, d_K^2)."""
    outer, vectors = gauss_newton_at_logits(X, W_Q, W_K, W_V, Y)[0], gauge_vectors(W_Q, W_K)
    return concatenate([outer @ vectors, V_matrix(W_Q, W_K) @ vectors], axis=0)


NULL_VECTORS.part("structure", lambda value: value)
NULL_VECTORS.mutant("keys moved with the same sign", "gauge_vectors(W_Q, W_K) -> gauge_vectors(W_Q, -W_K)")
NULL_VECTORS.mutant("queries and keys exchanged", "gauge_vectors(W_Q, W_K) -> gauge_vectors(W_K, W_Q)")

RANK_OF_V = Claim(HESSIAN, "hessian.lem-D.2-rank-of-v", label="Lemma D.2, the rank of V",
    statement=r"""\operatorname{rk}V = d_V\operatorname{rk}W_K + d_V\operatorname{rk}W_Q - \operatorname{rk}W_K
        \operatorname{rk}W_Q;\ \text{for all } M \in \mathbb{R}^{d_K\times d_K} \text{ the vectors }
        \begin{bmatrix}-W_KM^\top\\W_QM\end{bmatrix} \text{ span }
        2d_Vd_K-\operatorname{rk}V\text{ dimensions, the null space of } V""",
    assumptions=[FULL_RANK_EXACTLY],
    name="rank of the logit Jacobian", relation=Equal(), sizes={"d_V": (1, 3), "d_K": (1, 4)},
    where=lambda sizes: sizes["d_V"] * sizes["d_K"] <= 6, uses=("hessian.lem-D.1",),
    without_domains=LEMMA_D2.without_domains, exact=True, batched=False, of_project=True,
    note=r"An equality, where Lemma D.2 prints $\le$ for $\operatorname{rk}V^\top$; the first part needs no full rank.",
)  # fmt: skip


@RANK_OF_V.formula
def rank_of_v_twice(W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """rk V from the ranks of W_Q and W_K, and from the number of its null vectors, shape (2, 1)."""
    (d_V, d_K), a, b = W_Q.shape, rank(W_Q), rank(W_K)
    return column(d_V * (a + b) - a * b, 2 * d_V * d_K - rank(gauge_vectors(W_Q, W_K)))


@RANK_OF_V.oracle
def rank_of_v_itself(W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    r = rank(V_matrix(W_Q, W_K))
    return column(r, r)


RANK_OF_V.mutant("product of the ranks not subtracted", "d_V * (a + b) - a * b -> d_V * (a + b)")
RANK_OF_V.mutant("d_K^2 null vectors at all sizes", "rank(gauge_vectors(W_Q, W_K)) -> d_K ** 2")
