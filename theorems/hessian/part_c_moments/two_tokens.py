"""The softmax for two tokens, entry by entry (Remark C.1), with a misprinted index in its Jacobian."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.settings import LAYOUT
from verify.matrix import concatenate, ones, softmax, stack_rows
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Equal, Setting, Shape

TwoByTwo = Annotated[Any, Shape("2", "2", role="query")]

# -- the Jacobian ------------------------------------------------------------------------------------------------------

TWO_TOKENS = Setting(
    HESSIAN,
    "Remark C.1",
    assumptions=["L = 2, A = [a_ij] is the row-wise softmax of T", LAYOUT],
    sizes={"L": (2, 2)},
    exact=True,
)

JACOBIAN = Claim(TWO_TOKENS, "hessian.rem-C.1-jacobian", label="Remark C.1, Jacobian for L=2",
    statement=r"""
        \frac{\partial A}{\partial T} = \begin{bmatrix}a_{1,1}-a_{1,1}^2&-a_{1,1}a_{1,2}&0&0
        \\-a_{1,1}a_{1,2}&a_{1,2}-a_{1,2}^2&0&0\\0&0&a_{2,1}-a_{2,1}^2&-a_{2,1}a_{2,2}
        \\0&0&-a_{2,1}a_{2,1}&a_{2,2}-a_{2,2}^2\end{bmatrix}""",
    relation=Equal(), expects="refuted", severity="slip", correction="hessian.rem-C.1-jacobian-corrected",
    doubt="""
        The index in -a_{2,1}a_{2,1} at (4, 3) is clear in the extraction, and only there. The brackets of the display
        are damaged, its entries are not; Lemma B.1, to which the remark refers, has the right entry.""",
    note="Entry (4, 3) is -a_{2,1}a_{2,2}, the mirror image of (3, 4); the other fifteen entries are right.",
)  # fmt: skip


def _assembled(entries: list[list[Any]]) -> Any:
    """A matrix from rows of scalars, shape as listed."""
    return stack_rows([concatenate([entry.reshape(1, 1) for entry in row], axis=1) for row in entries])


def _scalars(T: Any) -> tuple[Any, ...]:
    """a_11, a_12, a_21, a_22 and a zero, each of shape (1, 1)."""
    A = softmax(T)
    a, b, c, d = (A[i : i + 1, j : j + 1] for i in range(2) for j in range(2))
    return a, b, c, d, 0 * a


def _jacobian(T: Any, lower: Any) -> Any:
    """The matrix with `lower(a_21, a_22)` at (4, 3)."""
    a, b, c, d, o = _scalars(T)
    return _assembled(
        [
            [a - a * a, -a * b, o, o],
            [-a * b, b - b * b, o, o],
            [o, o, c - c * c, -c * d],
            [o, o, lower(c, d), d - d * d],
        ]
    )


@JACOBIAN.formula
def jacobian_for_two_tokens_as_printed(T: TwoByTwo) -> Any:
    """dA/dT, shape (4, 4) (Remark C.1)."""
    return _jacobian(T, lambda c, d: -c * c)


JACOBIAN.oracle(lambda T: jacobian(softmax, "T")(T))
JACOBIAN.mutant("the wrong sign at (4, 3)", lower=lambda c, d: c * d)
JACOBIAN.mutant("zero at (4, 3)", lower=lambda c, d: 0 * c)
JACOBIAN.counterexample("second row of T = (1, 0), so that a_21 is not a_22", T=[[0, 0], [1, 0]])

JACOBIAN_CORRECTED = Claim(TWO_TOKENS, "hessian.rem-C.1-jacobian-corrected",
    label="Remark C.1, Jacobian for L=2, entry (4, 3)",
    statement=r"\Big[\frac{\partial A}{\partial T}\Big]_{4,3} = -a_{2,1}a_{2,2},\text{ all other entries as printed}",
    relation=Equal(), uses=("hessian.lem-B.1",), corrects="hessian.rem-C.1-jacobian", of_project=True,
)  # fmt: skip


@JACOBIAN_CORRECTED.formula
def jacobian_for_two_tokens(T: TwoByTwo) -> Any:
    """dA/dT, shape (4, 4) (Remark C.1, corrected)."""
    return _jacobian(T, lambda c, d: -c * d)


JACOBIAN_CORRECTED.oracle(lambda T: jacobian(softmax, "T")(T))
JACOBIAN_CORRECTED.mutant("as printed", lower=lambda c, d: -c * c)
JACOBIAN_CORRECTED.mutant("the wrong sign at (4, 3)", lower=lambda c, d: c * d)

# -- the second derivative ---------------------------------------------------------------------------------------------

SECOND = Claim(TWO_TOKENS, "hessian.rem-C.1-second", label="Remark C.1, second derivative for L=2",
    statement=r"""
        b_{i,j} = 1-2a_{i,j}:\ \begin{bmatrix}(a_{11}-a_{11}^2)b_{11}&-a_{11}a_{12}b_{11}
        \\-a_{11}a_{12}b_{11}&-a_{11}a_{12}b_{12}\end{bmatrix},\ \begin{bmatrix}-a_{11}a_{12}b_{11}&-a_{11}a_{12}b_{12}
        \\-a_{11}a_{12}b_{12}&(a_{12}-a_{12}^2)b_{12}\end{bmatrix} \text{ in columns 1, 2, then }
        \begin{bmatrix}(a_{21}-a_{21}^2)b_{21}&-a_{21}a_{22}b_{21}\\-a_{21}a_{22}b_{21}&-a_{21}a_{22}b_{22}
        \end{bmatrix},\ \begin{bmatrix}-a_{21}a_{22}b_{21}&-a_{21}a_{22}b_{22}
        \\-a_{21}a_{22}b_{22}&(a_{22}-a_{22}^2)b_{22}\end{bmatrix} \text{ in columns 3, 4, with rows of zeros between}
    """,
    relation=Equal(), uses=("hessian.eq-4-layout", "hessian.lem-C.1-structure"),
    doubt="""
        The extraction has lost rows of zeros: it shows ten rows where 16 x 4 is meant, the non-zero ones of each pair
        of columns without a gap. The zeros are read where Eq. (4), the remark's own recipe and Lemma C.1 have them:
        below each of the first two blocks and above each of the last two. The matrix is labelled d^2F/dT dT, read as
        that of A.""",
)  # fmt: skip


def _second_derivative(T: Any, gaps: bool = True, swapped: bool = False) -> Any:
    """The 16 x 4 matrix; mutants leave no gaps between non-zero rows, or exchange b_11 and b_12."""
    a, b, c, d, o = _scalars(T)
    one = ones(1, 1)
    weights = [one - 2 * x for x in (a, b, c, d)]
    if swapped:
        weights[0], weights[1] = weights[1], weights[0]
    p, q, r, s = weights
    first = [[(a - a * a) * p, -a * b * p], [-a * b * p, -a * b * q]]
    second = [[-a * b * p, -a * b * q], [-a * b * q, (b - b * b) * q]]
    third = [[(c - c * c) * r, -c * d * r], [-c * d * r, -c * d * s]]
    fourth = [[-c * d * r, -c * d * s], [-c * d * s, (d - d * d) * s]]
    empty = [[o] * 4] * 2
    upper = [[[*row, o, o] for row in block] for block in (first, second)]
    lower = [[[o, o, *row] for row in block] for block in (third, fourth)]
    if gaps:
        rows = [*upper[0], *empty, *upper[1], *empty, *empty, *lower[0], *empty, *lower[1]]
    else:
        rows = [*upper[0], *upper[1], *empty, *empty, *empty, *empty, *lower[0], *lower[1]]
    return _assembled(rows)


@SECOND.formula
def second_derivative_for_two_tokens(T: TwoByTwo) -> Any:
    """d^2A/dT^2, shape (16, 4) (Remark C.1)."""
    return _second_derivative(T)


SECOND.oracle(lambda T: hessian(softmax, ("T", "T"))(T))
SECOND.mutant("non-zero rows without gaps, as extracted", gaps=False)
SECOND.mutant("b_11 and b_12 exchanged", swapped=True)
