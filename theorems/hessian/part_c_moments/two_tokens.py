"""The softmax for two tokens, entry by entry (Remark C.1), with a misprinted index in its Jacobian."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.part_c_moments.softmax import layer_of_logits
from theorems.hessian.settings import LAYOUT, ValueWeights
from verify.matrix import column, concatenate, ones, softmax, stack_rows
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Definition, Doubt, Equal, Setting, Shape

TokenPair = Annotated[Any, Shape("2", "d_V")]
TwoByTwo = Annotated[Any, Shape("2", "2", role="query")]

# -- the Jacobian ------------------------------------------------------------------------------------------------------

TWO_TOKENS = Setting(
    HESSIAN,
    "Remark C.1",
    assumptions=[Definition("L = 2, A = [a_ij] is the row-wise softmax of T", by=softmax), LAYOUT],
    sizes={"L": (2, 2)},
    exact=True,
)

JACOBIAN = Claim(TWO_TOKENS, "hessian.rem-C.1-jacobian", label="Remark C.1, Jacobian for L=2",
    statement=r"""\frac{\partial A}{\partial T} = \begin{bmatrix}a_{1,1}-a_{1,1}^2&-a_{1,1}a_{1,2}&0&0
        \\-a_{1,1}a_{1,2}&a_{1,2}-a_{1,2}^2&0&0\\0&0&a_{2,1}-a_{2,1}^2&-a_{2,1}a_{2,2}
        \\0&0&-a_{2,1}a_{2,1}&a_{2,2}-a_{2,2}^2\end{bmatrix}""",
    name="softmax Jacobian for two tokens", relation=Equal(), expects="refuted", severity="slip",
    correction="hessian.rem-C.1-jacobian-corrected",
    consequence="""Coded as printed the Jacobian is not symmetric and wrong in entry $(4, 3)$; put $-a_{2,1}a_{2,2}$
        there (hessian.rem-C.1-jacobian-corrected).""",
    note="""Entry $(4, 3)$ is $-a_{2,1}a_{2,2}$, the mirror image of $(3, 4)$ and what Lemma B.1 has, to which the
        remark refers; the other fifteen entries are right.""")  # fmt: skip


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

JACOBIAN_CORRECTED = JACOBIAN.corrected("hessian.rem-C.1-jacobian-corrected",
    label="Remark C.1, Jacobian for L=2, entry (4, 3)", name="softmax Jacobian for two tokens, corrected",
    statement=r"""\frac{\partial A}{\partial T} = \begin{bmatrix}a_{1,1}-a_{1,1}^2&-a_{1,1}a_{1,2}&0&0
        \\-a_{1,1}a_{1,2}&a_{1,2}-a_{1,2}^2&0&0\\0&0&a_{2,1}-a_{2,1}^2&-a_{2,1}a_{2,2}
        \\0&0&-a_{2,1}a_{2,2}&a_{2,2}-a_{2,2}^2\end{bmatrix}""", at_sizes=True, uses=("hessian.lem-B.1",))  # fmt: skip


@JACOBIAN_CORRECTED.formula
def jacobian_for_two_tokens(T: TwoByTwo) -> Any:
    """dA/dT, shape (4, 4) (Remark C.1, corrected)."""
    return _jacobian(T, lambda c, d: -c * d)


JACOBIAN_CORRECTED.mutant("as printed", lower=lambda c, d: -c * c)
JACOBIAN_CORRECTED.mutant("the wrong sign at (4, 3)", lower=lambda c, d: c * d)

# -- the second derivative ---------------------------------------------------------------------------------------------

SECOND = Claim(TWO_TOKENS, "hessian.rem-C.1-second", label="Remark C.1, second derivative for L=2",
    statement=r"""b_{i,j} := 1-2a_{i,j}:\ \frac{\partial^2 F}{\partial T\partial T} =
        \begin{bmatrix}(a_{11}-a_{11}^2)b_{11}&-a_{11}a_{12}b_{11}
        \\-a_{11}a_{12}b_{11}&-a_{11}a_{12}b_{12}\end{bmatrix},\ \begin{bmatrix}-a_{11}a_{12}b_{11}&-a_{11}a_{12}b_{12}
        \\-a_{11}a_{12}b_{12}&(a_{12}-a_{12}^2)b_{12}\end{bmatrix} \text{ in columns 1, 2, then }
        \begin{bmatrix}(a_{21}-a_{21}^2)b_{21}&-a_{21}a_{22}b_{21}\\-a_{21}a_{22}b_{21}&-a_{21}a_{22}b_{22}
        \end{bmatrix},\ \begin{bmatrix}-a_{21}a_{22}b_{21}&-a_{21}a_{22}b_{22}
        \\-a_{21}a_{22}b_{22}&(a_{22}-a_{22}^2)b_{22}\end{bmatrix} \text{ in columns 3, 4, with rows of zeros between}
        """,
    assumptions=[Definition("F = A X W_V is the layer, 2 x d_V, which the symbol F denotes throughout", by=softmax)],
    name="second softmax derivatives for two tokens", relation=Equal(), sizes={"d_V": (1, 4)}, expects="refuted",
    severity="slip", repeats="hessian.lem-C.1-structure", correction="hessian.rem-C.1-second-corrected",
    doubt=Doubt("$\\partial^2 {f F}$\t0\t0\t0\t0", """The box is damaged: the extraction shows ten rows, with rows of
            zeros lost, where four of the 16 x 4 matrix stand for each of the first two and of the last two blocks with
            zeros between. The zeros are taken where Eq. (4), the remark's own recipe and Lemma C.1 have them. The F is
            no damage: it is printed three times."""),
    consequence="Read $A$ for $F$, and sixteen rows with zeros between the blocks (hessian.rem-C.1-second-corrected).",
    note=r"""$F$ stands for $A$, as in Lemma C.1. Judged by size: $\partial^2F/\partial T\partial T$ has $8d_V$ rows,
        and 16 only for $d_V = 2$. The words 'vectorizing the above matrix', which is $\partial A/\partial T$, show what
        was meant.""")  # fmt: skip


@SECOND.formula
def printed_size_for_two_tokens(X: TokenPair, T: TwoByTwo, W_V: ValueWeights) -> Any:
    """Rows and columns of the matrix of Remark C.1, shape (2, 1)."""
    return column(T.shape[0] ** 4, T.shape[0] ** 2)


SECOND.oracle(lambda X, T, W_V: column(*hessian(layer_of_logits, ("T", "T"))(T, X, W_V).shape))
SECOND.mutant("8 x 4, the size of one D_i", "4 -> 3")
SECOND.mutant("4 x 4, the size of the Jacobian", "4 -> 2")
SECOND.counterexample("two tokens on a line: 8 x 4, not 16 x 4", X=[[0], [1]], T=[[0, 0], [0, 0]], W_V=[[1]])

SECOND_CORRECTED = Claim(TWO_TOKENS, "hessian.rem-C.1-second-corrected",
    label="Remark C.1, second derivative for L=2, of A", name="second softmax derivatives for two tokens, corrected",
    statement=r"""
        b_{i,j} := 1-2a_{i,j}:\ \frac{\partial^2 A}{\partial T\partial T} \in \mathbb{R}^{16\times4} \text{ has }
        \begin{bmatrix}(a_{11}-a_{11}^2)b_{11}&-a_{11}a_{12}b_{11}\\-a_{11}a_{12}b_{11}&-a_{11}a_{12}b_{12}\end{bmatrix}
        \text{ in rows 1, 2 and } \begin{bmatrix}-a_{11}a_{12}b_{11}&-a_{11}a_{12}b_{12}
        \\-a_{11}a_{12}b_{12}&(a_{12}-a_{12}^2)b_{12}\end{bmatrix} \text{ in rows 5, 6, of columns 1, 2, then }
        \begin{bmatrix}(a_{21}-a_{21}^2)b_{21}&-a_{21}a_{22}b_{21}\\-a_{21}a_{22}b_{21}&-a_{21}a_{22}b_{22}
        \end{bmatrix} \text{ in rows 11, 12 and } \begin{bmatrix}-a_{21}a_{22}b_{21}&-a_{21}a_{22}b_{22}
        \\-a_{21}a_{22}b_{22}&(a_{22}-a_{22}^2)b_{22}\end{bmatrix} \text{ in rows 15, 16, of columns 3, 4, and
        zeros elsewhere}""",
    relation=Equal(), at_sizes=True, uses=("hessian.eq-4-layout", "hessian.lem-C.1-structure-corrected"),
    corrects="hessian.rem-C.1-second", of_project=True)  # fmt: skip


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


@SECOND_CORRECTED.formula
def second_derivative_for_two_tokens(T: TwoByTwo) -> Any:
    """d^2A/dT^2, shape (16, 4) (Remark C.1)."""
    return _second_derivative(T)


SECOND_CORRECTED.oracle(lambda T: hessian(softmax, ("T", "T"))(T))
SECOND_CORRECTED.mutant("non-zero rows without gaps, as extracted", gaps=False)
SECOND_CORRECTED.mutant("b_11 and b_12 exchanged", swapped=True)
