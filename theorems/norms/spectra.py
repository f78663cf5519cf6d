"""Singular values and rotations near the identity."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.norms.functions import corner_of_exponential
from theorems.norms.settings import RULES, SKEW, SMALL, Matrix, Square, largest, number
from verify.matrix import (
    column, concatenate, expm, eye, rational, singular_values, spectral_norm,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, realises
from verify.vocabulary.hypotheses import skew

Coefficient = Annotated[Any, Real(-2.0, 2.0)]

WEYL = Claim(RULES, "norms.weyl", label="Weyl's inequality", name="singular values of two matrices",
    statement=r"|\sigma_i(A) - \sigma_i(B)| \le \|A - B\|_2", relation=AtMost(left="the largest |sigma_i(A) - sigma_i(B)|"),
    sizes=("m", "n"))  # fmt: skip


@WEYL.formula
def norm_of_difference(A: Matrix, B: Matrix) -> Any:
    """||A - B||_2, a scalar."""
    return spectral_norm(A - B)


WEYL.oracle(lambda A, B: largest(singular_values(A) - singular_values(B)))
WEYL.mutant("nine tenths", lambda value: value * rational(9, 10))
WEYL.mutant("largest entry", "spectral_norm(A - B) -> largest(A - B)")

POLYNOMIAL = Claim(RULES, "norms.polynomial-of-singular-values", label="Polynomials of singular values",
    statement=r"""\|Mp(M^\top M)\|_2 = \max_i|\sigma_ip(\sigma_i^2)|,\qquad \|Mp(M^\top M)M^\top\|_2 =
        \max_i|\sigma_i^2p(\sigma_i^2)|,\qquad p(x) = a + bx""",
    name="norms of polynomials of a matrix", relation=Equal(), sizes=("m", "n"))  # fmt: skip


@POLYNOMIAL.formula
def largest_values(M: Matrix, a: Coefficient, b: Coefficient) -> Any:
    """max |s (a + b s^2)| and max |s^2 (a + b s^2)| over the singular values s, shape (2, 1)."""
    s = singular_values(M)
    values = s * a + s * s * s * b
    return column(largest(values), largest(s * values))


@POLYNOMIAL.oracle
def norms_of_polynomials(M: Any, a: Any, b: Any) -> Any:
    value = M * a + M @ M.T @ M * b
    return column(spectral_norm(value), spectral_norm(value @ M.T))


POLYNOMIAL.mutant("at the first power", "s * s * s -> s")
POLYNOMIAL.mutant("at the largest alone", "singular_values(M) -> singular_values(M)[:1]")

GRAM = Claim(SMALL, "norms.gram-of-rotation", label="Gram matrix of a rotation", name="a rotation in a frame, multiplied out",
    statement=r"""D + D^\top + D^\top D = LR^\top(L^\top L - I)RL^\top\text{ for } D = LRL^\top,\ R = e^S - I,\ S\text{ skew}""",
    assumptions=[SKEW], hypotheses=[skew("S", SKEW.text)], relation=Equal(), sizes={"m": (1, 3), "n": (1, 3)},
    all_sizes=True)  # fmt: skip


@GRAM.inputs
@realises({"S is skew": reached.SKEW})
def frame_and_skew(L: Matrix, G: Square) -> dict[str, Any]:
    return {"L": L, "S": G - G.T}


@GRAM.formula
def defect_between(L: Matrix, S: Square) -> Any:
    """L R^T (L^T L - I) R L^T with R = exp(S) - I, shape (m, m)."""
    R = expm(S) - eye(S.shape[0])
    return L @ R.T @ (L.T @ L - eye(S.shape[0])) @ R @ L.T


@GRAM.oracle
def sum_of_three(L: Any, S: Any) -> Any:
    D = L @ (expm(S) - eye(S.shape[0])) @ L.T
    return D + D.T + D.T @ D


GRAM.mutant("no identity", "L.T @ L - eye(S.shape[0]) -> L.T @ L")
GRAM.mutant("the rotation itself", "expm(S) - eye(S.shape[0]) -> expm(S)")

MEAN = Claim(SMALL, "norms.mean-of-rotations", label="Mean of rotations", name="the exponential less the identity, factored",
    statement=r"e^A - I = AF = FA,\quad F = \int_0^1e^{tA}\,dt", relation=Equal(), sizes=("n",), all_sizes=True)  # fmt: skip


@MEAN.formula
def exponential_twice(A: Square) -> Any:
    """exp(A) beside itself, shape (n, 2 n)."""
    return concatenate([expm(A), expm(A)], axis=1)


@MEAN.oracle
def factored(A: Any) -> Any:
    identity = eye(A.shape[0])
    F = corner_of_exponential(A, identity, 0 * A)
    return concatenate([identity + A @ F, identity + F @ A], axis=1)


MEAN.mutant("no identity", "expm(A) -> expm(A) - eye(A.shape[0])")
MEAN.mutant("the first terms", "expm(A) -> A + eye(A.shape[0])")

NORM_OF_MEAN = Claim(SMALL, "norms.norm-of-mean-of-rotations", label="Norm of a mean of rotations",
    statement=r"\Big\|\int_0^1e^{tS}\,dt\Big\|_2 \le 1\text{ for skew } S", name="norm of a mean of rotations",
    assumptions=[SKEW], relation=AtMost(left="the norm of the mean"), sizes=("n",))  # fmt: skip


@NORM_OF_MEAN.inputs
@realises({"S is skew": reached.SKEW})
def skew_matrix(G: Square) -> dict[str, Any]:
    return {"S": G - G.T}


@NORM_OF_MEAN.formula
def one(S: Square) -> Any:
    """1, a scalar."""
    return number(1, S)


NORM_OF_MEAN.oracle(lambda S: spectral_norm(corner_of_exponential(S, eye(S.shape[0]), 0 * S)))
NORM_OF_MEAN.mutant("nine tenths", "number(1, S) -> number(rational(9, 10), S)")
NORM_OF_MEAN.mutant("decay", "number(1, S) -> 1 / (1 + spectral_norm(S))")

CONTRACTION = Claim(RULES, "norms.gram-of-a-contraction", label="Gram matrix of a contraction",
    statement=r"\|I - A^\top A\|_2 \le 1\text{ where }\|A\|_2 \le 1",
    assumptions=[Assumption("no singular value of A is above 1", nonnegative=lambda A: 1 - spectral_norm(A))],
    name="distance of the Gram matrix of a contraction from the identity", relation=AtMost(left="||I - A^T A||_2"),
    sizes=("m", "n"),
    note=r"The eigenvalues of $I - A^\top A$ are $1 - \sigma_i^2$, and 1 where $A$ has more columns than rows.")  # fmt: skip


@CONTRACTION.inputs
@realises({"no singular value of A is above 1": "a share of at most 1 of any matrix over its norm, or the matrix 0"})
def contraction(M: Matrix, share: Annotated[Any, Real(0.0, 1.0)]) -> dict[str, Any]:
    return {"A": M * (share / (spectral_norm(M) + rational(1, 2**20)))}


@CONTRACTION.formula
def one_for_a_contraction(A: Matrix) -> Any:
    """1, a scalar."""
    return number(1, A)


CONTRACTION.oracle(lambda A: spectral_norm(eye(A.shape[1]) - A.T @ A))
CONTRACTION.mutant("nine tenths", "number(1, A) -> number(rational(9, 10), A)")
CONTRACTION.mutant("norm of A, as if I were taken off again", "number(1, A) -> spectral_norm(A)")
