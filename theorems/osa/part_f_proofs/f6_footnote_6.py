"""Footnote 6 of Appendix F.6: Newton-Schulz as a polynomial of the singular values, its fixed point and its values."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.osa import OSA
from theorems.osa.definitions import newton_schulz_iterate
from theorems.osa.settings import gram_defect
from theorems.osa.shapes import Entry, Square, Steps, TokenFrame, Values
from verify.matrix import absolute, concatenate, diag, iterated, rational, sqrt, vec_r
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Shape, realises


def _scalar_step(s: Any) -> Any:
    """g(s) = s (3 - s^2) / 2."""
    return s * (3 - s * s) * rational(1, 2)


FOOTNOTE_6 = Claim(OSA, "osa.fn-6", label="Footnote 6 and proof of Lemma F.1", name="scalar Newton-Schulz polynomial",
    statement=r"""\text{Proof of Lemma F.1: ``Newton-Schultz cannot increase the singular values greater than } \sqrt3 \text{
        for all choices of } K\text{''}.\ \text{Footnote 6: ``the repeated application of the polynomial has a fixed point at
        1 for values in the range } (0,\sqrt3)\text{''}""",
    assumptions=[
        Definition("g(s) = s (3 - s^2)/2", by=_scalar_step),
        Assumption("s > 0", positive=lambda s: s),
        Assumption("s < sqrt 3", positive=lambda s: 3 - s * s),
    ],
    relation=AtMost(), sizes={"K": (1, 6)},
    note=r"""The fixed point attracts all of $(0, \sqrt3)$: with $s_1 = g(s)$ in $(0, 1]$ and $q = 1 - s_1(1 + s_1)/2 <
        1$, $|1 - g^K(s)| \le q^{K-1}(1 - s_1)$, which tends to 0. After one step no value exceeds 1.""",
)  # fmt: skip


@FOOTNOTE_6.inputs
def starting_value(y: Entry, K: Steps) -> dict[str, Any]:
    # sqrt 3 t with t = (1 + y / (1 + |y|)) / 2 covers (0, sqrt 3)
    t = (1 + y / (1 + absolute(y))) * rational(1, 2)
    return {"s": t * sqrt(3), "K": K}


def _contracted(s: Any, powers: int) -> Any:
    """q^powers (1 - s_1) with s_1 = g(s), q = 1 - s_1 (1 + s_1) / 2, shape (1, 1)."""
    s = _scalar_step(s)
    error = 1 - s
    for _ in range(powers):
        error = error * (1 - s * (1 + s) * rational(1, 2))
    return error


@FOOTNOTE_6.formula
def scalar_limits(s: Entry, K: Steps) -> Any:
    """sqrt 3 and q^{K-1} (1 - s_1), shape (2, 1): they bound g^K(s) and |1 - g^K(s)|."""
    return concatenate([s * 0 + sqrt(3), _contracted(s, K - 1)], axis=0)


@FOOTNOTE_6.oracle
def iterated_value(s: Entry, K: Steps) -> Any:
    value = newton_schulz_iterate(s, K)
    return concatenate([value, absolute(1 - value)], axis=0)


FOOTNOTE_6.mutant("values stay below 1/sqrt 3", "sqrt(3) -> sqrt(3) / 3")
FOOTNOTE_6.mutant("one step fewer", "K - 1 -> K")


@FOOTNOTE_6.mutant("(1 - s)^2 / 2 after each step")
def _(s: Entry, K: Steps) -> Any:
    error = absolute(1 - s)
    for _ in range(K):
        error = error * error * rational(1, 2)
    return concatenate([s * 0 + sqrt(3), error], axis=0)


LeftVectors = Annotated[Any, Shape("N", "k")]
RightVectors = Annotated[Any, Shape("m", "k")]

ORTHONORMAL_VECTORS = Assumption(
    "P and R have orthonormal columns, M = P diag(s) R^T",
    zero=lambda P, R: _gram_defects(P, R),
    sizes=lambda sizes: sizes["k"] <= min(sizes["N"], sizes["m"]),
)

APPLIED_TO_VALUES = Claim(OSA, "osa.fn-6-polynomial", label="Footnote 6, first half",
    statement=r"""\text{we can write the Newton-Schultz iterates as a polynomial applied to the singular values of }
        \mathbf{M} \text{ (use the SVD decomposition)}""",
    assumptions=[ORTHONORMAL_VECTORS], hypotheses=(ORTHONORMAL_VECTORS,),
    name="Newton-Schulz iterates by singular values", general="Both sides are the polynomial of the definition of the iteration.",
    relation=Equal(), exact=True,
    all_sizes=True, sizes={"N": (1, 4), "m": (1, 4), "k": (1, 4), "K": (0, 3)},
    note=r"""$M_K = P\operatorname{diag}(g^K(s))R^\top$ for $M = P\operatorname{diag}(s)R^\top$, with the $K$-fold
        composition of $g(s) = s(3 - s^2)/2$; $s$ of either sign.""",
)  # fmt: skip


def _gram_defects(P: Any, R: Any) -> Any:
    return concatenate([vec_r(gram_defect(P)), vec_r(gram_defect(R))], axis=0)


@APPLIED_TO_VALUES.inputs
@realises({"P and R have orthonormal columns": reached.FRAMES})
def singular_vectors_and_values(left: TokenFrame, right: Square, s: Values, K: Steps) -> dict[str, Any]:
    k = s.shape[0]
    return {"P": orthogonal_matrix(left)[:, :k], "s": s, "R": orthogonal_matrix(right)[:, :k], "K": K}


def _iterated(s: Any, steps: int) -> Any:
    """g^K(s), entry by entry, shape that of s."""
    return iterated(steps, _scalar_step, s)


@APPLIED_TO_VALUES.formula
def polynomial_of_singular_values(P: LeftVectors, s: Values, R: RightVectors, K: Steps) -> Any:
    """P diag(g^K(s)) R^T, shape (N, m), for P (N, k), s (k, 1), R (m, k) and g(s) = s (3 - s^2) / 2 (Footnote 6)."""
    return P @ diag(_iterated(s, K)) @ R.T


APPLIED_TO_VALUES.oracle(lambda P, s, R, K: newton_schulz_iterate(P @ diag(s) @ R.T, K))
APPLIED_TO_VALUES.mutant("one step more", "_iterated(s, K) -> _iterated(s, K + 1)")
APPLIED_TO_VALUES.mutant("squares of the singular values", "_iterated(s, K) -> _iterated(s * s, K)")
