"""Footnote 3: which of the matrices whose condition number is considered have low rank: all but W~ with two heads."""

from __future__ import annotations

from typing import Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import query_key_generator
from theorems.osa.part_2_1_low_rank_exponential.theorem_2_1 import elementary_symmetric
from theorems.osa.part_c_initialisation.c3_theorem_c_3 import ORTHONORMAL_WEIGHTS, orthonormal_weights
from theorems.osa.settings import two_heads
from theorems.osa.shapes import AttentionMatrix, Frame, HeadSize, Key, Output, Query, Value
from verify.matrix import column, determinant, kron, total
from verify.vocabulary import Assumption, Claim, Definition, Equal, Reading, Setting, realises


@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def initialised_weights(pair: Frame, left: Frame, right: Frame, d_v: HeadSize) -> dict[str, Any]:
    """The weights of Appendices C.1 and C.2."""
    return orthonormal_weights(pair, left, right, d_v)


WEIGHTS = Setting(OSA, "Appendix C.1",
    assumptions=[Assumption("d_v = d/h for h > 1 heads", sizes=two_heads), *ORTHONORMAL_WEIGHTS],
    sizes={"d": (2, 6), "d_v": (1, 3)}, inputs=initialised_weights, exact=True)  # fmt: skip


@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def weights_beside_attention(
    A: AttentionMatrix, pair: Frame, left: Frame, right: Frame, d_v: HeadSize
) -> dict[str, Any]:
    """The weights of Appendices C.1 and C.2, and any attention matrix."""
    return {"A": A, **orthonormal_weights(pair, left, right, d_v)}


def jacobian_with_attention_held(A: Any, W_V: Any, W_O: Any) -> Any:
    """J_2 = (W_V W_O)^T (x) A of Eq. (13), shape (N d, N d)."""
    return kron((W_V @ W_O).T, A)


FOOTNOTE_3 = Claim(WEIGHTS.extended(sizes={"N": (1, 2), "d": (2, 4), "d_v": (1, 2)}, inputs=weights_beside_attention),
    "osa.fn-3", label="Footnote 3", name="rank of the products of weights", exact=False,
    statement=r"""\text{We consider this version of the condition number as } \mathbf{W}^V \mathbf{W}^O \text{ and other
        matrices we consider are constrained to be low rank since we consider the case where } h > 1""",
    assumptions=[Definition("J_2 = (W^V W^O)^T (x) A, for any A", by=jacobian_with_attention_held)],
    relation=Equal(left="determinants of W^V W^O and J_2"), expects="reading",
    uses=("osa.c1-kappa", "osa.f7-range"),
    reading=Reading("other matrices we consider", r"""those that have $W^VW^O$ for a factor, and whose conditioning Appendix C is
        about: $J_2$, and $J$, of rank at most $N d_v < N d$ (osa.f7-range). Low rank is rank below the order. Not so
        $\tilde{W}$ with two heads, whose rank $2 d_v$ is then $d$ (osa.fn-3-ranks)"""),
    note=r"""The footnote does not say that all others are meant. $W^VW^O$ has rank $d_v < d$, and $\tilde{W}$ low rank for $h
        > 2$, as in Appendix E. With two heads Theorem C.2 gives the condition number of $\tilde{W}$ in the usual sense
        too. Compared are $W^VW^O$ and $J_2$, by their determinants.""",
)  # fmt: skip


@FOOTNOTE_3.formula
def determinants_of_low_rank(W_V: Value) -> Any:
    """0 and 0, shape (2, 1): the determinants of square matrices of rank below their order."""
    return column(0 * total(W_V), 0)


@FOOTNOTE_3.oracle
def determinants_of_products(A: AttentionMatrix, W_Q: Query, W_K: Key, W_V: Value, W_O: Output) -> Any:
    return column(determinant(W_V @ W_O), determinant(jacobian_with_attention_held(A, W_V, W_O)))


FOOTNOTE_3.mutant("1 for both, as for rotations", lambda value: value + 1)
FOOTNOTE_3.mutant("1 for W^V W^O", lambda W_V: column(0 * total(W_V) + 1, 0))

RANKS = Claim(WEIGHTS, "osa.fn-3-ranks", label="Footnote 3, the ranks", name="ranks of the products of weights",
    statement=r"""\operatorname{rank}\mathbf{W}^V\mathbf{W}^O = d_v \text{ and }
        \operatorname{rank}\tilde{\mathbf{W}} = 2d_v \text{ for weights as initialised with } h > 1 \text{ heads}: \quad
        \tilde{\mathbf{W}} \text{ has low rank for } h > 2, \text{ and rank } d \text{ for } h = 2""",
    relation=Equal(), uses=("osa.c1-kappa", "osa.thm-c.2"), of_project=True,
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
