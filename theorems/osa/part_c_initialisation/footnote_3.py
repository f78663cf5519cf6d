"""Footnote 3: which of the matrices whose condition number is considered have low rank (not W~ with two heads)."""

from __future__ import annotations

from typing import Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import query_key_generator
from theorems.osa.part_2_1_low_rank_exponential.theorem_2_1 import elementary_symmetric
from theorems.osa.part_c_initialisation.c3_theorem_c_3 import ORTHONORMAL_WEIGHTS, orthonormal_weights
from theorems.osa.settings import two_heads
from theorems.osa.shapes import Frame, HeadSize, Key, Output, Query, Value
from verify.matrix import column, determinant, total
from verify.vocabulary import Assumption, Claim, Equal, Setting, realises


@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def initialised_weights(pair: Frame, left: Frame, right: Frame, d_v: HeadSize) -> dict[str, Any]:
    """The weights of Appendices C.1 and C.2."""
    return orthonormal_weights(pair, left, right, d_v)


WEIGHTS = Setting(OSA, "Appendix C.1",
    assumptions=[Assumption("d_v = d/h for h > 1 heads", sizes=two_heads), *ORTHONORMAL_WEIGHTS],
    sizes={"d": (2, 6), "d_v": (1, 3)}, inputs=initialised_weights, exact=True)  # fmt: skip


FOOTNOTE_3 = Claim(WEIGHTS, "osa.fn-3", label="Footnote 3", name="rank of the products of weights",
    statement=r"""\text{We consider this version of the condition number as } \mathbf{W}^V \mathbf{W}^O \text{ and other
        matrices we consider are constrained to be low rank since we consider the case where } h > 1""",
    relation=Equal(left="determinants of W^V W^O and W~"), expects="refuted", severity="error",
    uses=("osa.c1-kappa", "osa.thm-c.2"), correction="osa.fn-3-ranks",
    consequence=r"""With two heads $\tilde{W}$ is an orthogonal matrix of order $d$, so Theorem C.2 gives its condition
        number in the usual sense too. Nothing else follows.""",
    note=r"""Low rank is taken as rank below the order $d$, the weakest meaning: both determinants vanish. Of the
        other matrices whose condition numbers Appendix C considers, $\tilde{W}$ has rank $2 d_v$: all of $d$ for $h = 2$.
        $W^VW^O$ has rank $d_v < d$, and $J_2$ and $J$ at most $N d_v < N d$ (osa.f7-range).""",
)  # fmt: skip


@FOOTNOTE_3.formula
def determinants_of_low_rank(W_V: Value) -> Any:
    """0 and 0, shape (2, 1): the determinants of matrices (d, d) of rank below d."""
    return column(0 * total(W_V), 0)


@FOOTNOTE_3.oracle
def determinants_of_products(W_Q: Query, W_K: Key, W_V: Value, W_O: Output) -> Any:
    return column(determinant(W_V @ W_O), determinant(query_key_generator(W_Q, W_K)))


FOOTNOTE_3.mutant("1 for both, as for rotations", lambda value: value + 1)
FOOTNOTE_3.mutant("1 for W^V W^O", lambda W_V: column(0 * total(W_V) + 1, 0))
FOOTNOTE_3.counterexample("two heads in the plane: W~ = e_1 e_2^T - e_2 e_1^T has rank 2",
    W_Q=[[1], [0]], W_K=[[0], [1]], W_V=[[1], [0]], W_O=[[1, 0]])  # fmt: skip

RANKS = Claim(WEIGHTS, "osa.fn-3-ranks", label="Footnote 3, the ranks", name="ranks of the products of weights",
    statement=r"""\operatorname{rank}\mathbf{W}^V\mathbf{W}^O = d_v \text{ and }
        \operatorname{rank}\tilde{\mathbf{W}} = 2d_v \text{ for weights as initialised with } h > 1 \text{ heads}: \quad
        \tilde{\mathbf{W}} \text{ has low rank for } h > 2, \text{ and rank } d \text{ for } h = 2""",
    relation=Equal(), uses=("osa.c1-kappa", "osa.thm-c.2"), corrects="osa.fn-3", of_project=True,
    note=r"""A matrix has rank $r$ exactly if the sum of the squares of its minors of order $r$ is not zero and that of
        order $r + 1$ is. Those of order $r$ sum to 1, as the non-zero singular values are 1.""",
)  # fmt: skip


@RANKS.formula
def sums_at_the_ranks(W_V: Value) -> Any:
    """1, 0, 1, 0, shape (4, 1)."""
    zero = 0 * total(W_V)
    return column(1 + zero, zero, 1 + zero, zero)


def _sums(W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """Sums of the squared minors of W_V W_O of order d_v and d_v + 1, and of W~ of order 2 d_v and 2 d_v + 1."""
    W, generator, r = W_V @ W_O, query_key_generator(W_Q, W_K), W_V.shape[1]
    pairs = ((W, r), (W, r + 1), (generator, 2 * r), (generator, 2 * r + 1))
    return column(*(elementary_symmetric(A, order) if order <= A.shape[0] else 0 * total(W_V) for A, order in pairs))


RANKS.oracle(_sums)
RANKS.mutant("twice the minors of order d_v", lambda value: value * 2)
RANKS.mutant("rank one higher", lambda value: 1 - value)
