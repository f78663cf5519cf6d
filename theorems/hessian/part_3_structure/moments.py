"""Attention moments: Definition 3.1, and Z_1 and Z_2 as functions of them (Remark 3.1)."""

from __future__ import annotations

from typing import Any

from theorems.hessian.definitions import Z_1, first_moment, second_central_moments, third_central_moments
from theorems.hessian.settings import SOFTMAX_OF_T, Logits, Tokens
from verify.matrix import column, commutation_matrix, concatenate, each, eye, khatri_rao, kron, softmax, summed
from verify.oracles import hessian
from verify.vocabulary import Claim, Convention, Definition, Equal


def row(X: Any, i: int) -> Any:
    """X_{i,:} in column format, shape (d_V, 1)."""
    return X[i].reshape(-1, 1)


DEFINITION_31 = Claim(SOFTMAX_OF_T, "hessian.def-3.1", label="Definition 3.1", name="attention moment matrices",
    statement=r"""M_1 := AX = [A_{i,:}^\top X]_{1\le i\le L} \in \mathbb{R}^{L\times d_V};\quad M_2 :=
        \Big[\sum_{j=1}^LA_{i,j}(X_{j,:}-[M_1]_{i,:})(X_{j,:}-[M_1]_{i,:})^\top\Big]_{1\le i\le L} \in \mathbb{R}^{L
        d_V\times d_V};\quad M_3 := \Big[\sum_{j=1}^LA_{i,j}(X_{j,:}-[M_1]_{i,:})
        \otimes(X_{j,:}-[M_1]_{i,:})(X_{j,:}-[M_1]_{i,:})^\top\Big]_{1\le i\le L} \in \mathbb{R}^{L d_V^2\times d_V}""",
    assumptions=[Convention("X_{j,:} and [M_1]_{i,:} are column vectors", by=third_central_moments)],
    relation=Equal(), all_sizes=True,
    note="""Checked to be the first moment and the second and third central moments of token $j$ with probability
        $A_{i,j}$, flattened with the last index as the column.""")  # fmt: skip


@DEFINITION_31.formula
def attention_moments(X: Tokens, T: Logits) -> Any:
    """M_1, M_2 and M_3 on top of each other, shape (L (1 + d_V + d_V^2), d_V) (Definition 3.1)."""
    A = softmax(T)
    return concatenate([first_moment(A, X), second_central_moments(A, X), third_central_moments(A, X)], axis=0)


def _raw(A: Any, X: Any, i: int, *indices: int) -> Any:
    """E[x_a x_b ...] for the token x under row i of A, shape (1, 1)."""
    product = X[:, indices[0] : indices[0] + 1]
    for index in indices[1:]:
        product = product * X[:, index : index + 1]
    return A[i : i + 1] @ product


def covariance(A: Any, X: Any, i: int) -> Any:
    """E[x_a x_b] - E[x_a] E[x_b], shape (d_V, d_V)."""
    d = X.shape[1]

    def E(*indices: int) -> Any:
        return _raw(A, X, i, *indices)

    return concatenate(each(d, lambda a: concatenate(each(d, lambda b: E(a, b) - E(a) * E(b)), axis=1)), axis=0)


def third_cumulant(A: Any, X: Any, i: int) -> Any:
    """E[x_a x_b x_c] - (three products of a mean and a second moment) + 2 E[x_a] E[x_b] E[x_c], shape (d_V^2, d_V)."""
    d = X.shape[1]

    def entry(a: int, b: int, c: int) -> Any:
        def E(*indices: int) -> Any:
            return _raw(A, X, i, *indices)

        return E(a, b, c) - E(a) * E(b, c) - E(b) * E(a, c) - E(c) * E(a, b) + 2 * E(a) * E(b) * E(c)

    def row_of(a: int, b: int) -> Any:
        return concatenate(each(d, lambda c: entry(a, b, c)), axis=1)

    return concatenate(each(d, lambda a: concatenate(each(d, lambda b: row_of(a, b)), axis=0)), axis=0)


@DEFINITION_31.oracle
def cumulants_from_raw_moments(X: Tokens, T: Logits) -> Any:
    A, (L, d) = softmax(T), X.shape
    means = each(L, lambda i: concatenate(each(d, lambda a: _raw(A, X, i, a)), axis=1))
    seconds = each(L, lambda i: covariance(A, X, i))
    return concatenate([means, seconds, each(L, lambda i: third_cumulant(A, X, i))], axis=0)


def _with_third(X: Any, T: Any, third: Any) -> Any:
    """The moments with A_{i,j} `third(X_j, X_j - [M_1]_i)` summed to M_3."""
    A, L = softmax(T), X.shape[0]
    mean = A @ X
    blocks = each(L, lambda i: summed(L, lambda j: third(row(X, j), row(X, j) - row(mean, i)) * A[i, j]))
    return concatenate([mean, second_central_moments(A, X), blocks], axis=0)


DEFINITION_31.mutant("third moment with one factor not centred",
    lambda X, T: _with_third(X, T, lambda x, y: kron(x, y @ y.T)))  # fmt: skip
DEFINITION_31.mutant("third moment with the wrong sign", lambda X, T: _with_third(X, T, lambda x, y: -kron(y, y @ y.T)))
DEFINITION_31.mutant("attention transposed", lambda X, T: attention_moments(X, T.T))

REMARK_31_Z1 = Claim(SOFTMAX_OF_T, "hessian.rem-3.1-z1", label="Remark 3.1, Z_1",
    statement=r"""Z_1 = X * M_2, \text{ with } * \text{ the Khatri-Rao product of } X \text{ split row-wise} \text{ and
        } M_2 \text{ split block-row-wise}""",
    assumptions=[Definition("M_2 holds the second central moments of Definition 3.1", by=second_central_moments)],
    name="first softmax derivatives as second moments", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 4), "d_V": (1, 3)})  # fmt: skip


@REMARK_31_Z1.formula
def Z_1_by_moments(X: Tokens, T: Logits) -> Any:
    """X * M_2, shape (L d_V, d_V^2) (Remark 3.1)."""
    tokens, M_2 = each(X.shape[0], lambda i: X[i : i + 1]), second_central_moments(softmax(T), X)
    return khatri_rao(tokens, M_2)


REMARK_31_Z1.oracle(lambda X, T: Z_1(softmax(T), X))
REMARK_31_Z1.mutant("moments not centred", "M_2 -> [(X.T * a) @ X for a in softmax(T)]")
REMARK_31_Z1.mutant("factors of the Kronecker products exchanged", "tokens -> M_2; M_2 -> tokens")
REMARK_31_Z1.mutant("attention transposed", "T -> T.T")

# -- Z_2 ---------------------------------------------------------------------------------------------------------------


def _pieces(M: Any, number: int) -> list[Any]:
    """The rows of M cut into `number` parts as even as can be, empty ones left out, with the index of each part."""
    n = M.shape[0]
    cuts = [k * n // number for k in range(number + 1)]
    return [(k, M[cuts[k] : cuts[k + 1]]) for k in range(number) if cuts[k] < cuts[k + 1]]


def _khatri_rao_sizes(X: Any, T: Any, copies: int = 1, centred: bool = True) -> Any:
    """Columns of I_L (x) K (x) I and of Z_2 for the Khatri-Rao product with X^T in L block rows, shape (2, 1)."""
    moments = third_central_moments(softmax(T), X) if centred else second_central_moments(softmax(T), X)
    blocks = [kron(X[i : i + 1], *[piece] * copies, moments[i]) for i, piece in _pieces(X.T, X.shape[0])]
    return column(*concatenate(blocks, axis=0).shape)


REMARK_31_Z2 = Claim(SOFTMAX_OF_T, "hessian.rem-3.1-z2", label="Remark 3.1, Z_2",
    statement=r"Z_2 = (I_L\otimes K_{d_V,d_V}\otimes I_{d_V})(X * X^\top * M_3)",
    assumptions=[
        Definition("M_3 holds the third central moments of Definition 3.1", by=third_central_moments),
        Convention("X split row-wise, M_3 block-row-wise", by=_khatri_rao_sizes),
    ],
    name="second softmax derivatives as third moments", relation=Equal(), expects="refuted", severity="slip",
    correction="hessian.rem-3.1-z2-corrected", uses=("hessian.def-3.1",),
    proof=(
        "hessian.rem-3.1-proof-z2i", "hessian.rem-3.1-proof-step", "hessian.rem-3.1-proof-moment",
        "hessian.rem-3.1-proof-size",
    ),
    consequence=r"""Coded as printed the product does not exist for $L \ge 2$; use $X * \operatorname{vec}_r(X) * M_3$
        with one column $X_{i,:}$ per token (hessian.rem-3.1-z2-corrected).""",
    note=r"""Judged by sizes. Definition A.2 pairs the $L$ blocks of $X$ and of $M_3$ with $L$ blocks of $X^\top$, one
        under the other; however its $d_V$ rows are cut, the product is $d_V^3 \times Ld_V^2$ (with $r_i$ of the
        rows in block $i$, that block of the product has $r_id_V^2$ rows, and the $r_i$ add up to $d_V$). $Z_2$ is
        $Ld_V^3 \times d_V^2$, and the left factor has $Ld_V^3$ columns: for
        $L \ge 2$ the right side does not exist. The last display of Appendix C.2 shows what was meant, blocks
        $X_iX_i^\top \otimes M_{3,i}$: the columns of $X^\top$, one under the other, in the place of $X^\top$. At $L =
        1$ the two agree.""")  # fmt: skip


@REMARK_31_Z2.formula
def size_of_the_product_as_printed(X: Tokens, T: Logits) -> Any:
    """Rows and columns of X * X^T * M_3 by Definition A.2, X^T cut into L block rows, shape (2, 1) (Remark 3.1)."""
    return _khatri_rao_sizes(X, T)


@REMARK_31_Z2.oracle
def size_required_of_the_product(X: Tokens, T: Logits) -> Any:
    L, d = X.shape
    left = kron(eye(L), commutation_matrix(d, d), eye(d))
    return column(left.shape[1], Z_2_by_differentiation(X, T).shape[1])


REMARK_31_Z2.mutant("X^T twice", copies=2)
REMARK_31_Z2.mutant("the second moment", centred=False)
REMARK_31_Z2.counterexample(
    "two tokens on a line: X * X^T * M_3 is 1 x 2, where 2 x 1 is needed", X=[[0], [1]], T=[[0, 0], [0, 0]]
)

REMARK_31_Z2_CORRECTED = Claim(SOFTMAX_OF_T, "hessian.rem-3.1-z2-corrected",
    label="Remark 3.1, Z_2, with the tokens as columns in the place of X^T",
    statement=r"""Z_2 = (I_L\otimes K_{d_V,d_V}\otimes I_{d_V})(X * \operatorname{vec}_r(X) * M_3) = (I_L\otimes
        K_{d_V,d_V}\otimes I_{d_V})[X_{i,:}X_{i,:}^\top\otimes[M_3]_{i,:}]_{1\le i\le L} \in \mathbb{R}^{Ld_V^3\times
        d_V^2}, \text{ with } X \text{ split into its rows, } \operatorname{vec}_r(X) \text{ into the } L \text{ columns
        } X_{i,:} \text{, and } M_3 \text{ into its } L \text{ blocks of size } d_V^2\times d_V""",
    assumptions=[Definition("M_3 holds the third central moments of Definition 3.1", by=third_central_moments)],
    name="second softmax derivatives as third moments, corrected", relation=Equal(), all_sizes=True,
    uses=("hessian.def-3.1", "hessian.lem-C.1-structure-corrected", "hessian.eq-14"), corrects="hessian.rem-3.1-z2",
    of_project=True)  # fmt: skip


def _z2_from(X: Any, thirds: list[Any], K: Any, product: Any = kron) -> Any:
    """(I_L (x) `K` (x) I)[X_i X_i^T (x) block i of `thirds`]_i; a mutant takes another `product`."""
    L, d = X.shape
    blocks = each(L, lambda i: product(kron(X[i : i + 1], row(X, i)), thirds[i]))
    return kron(eye(L), K, eye(d)) @ concatenate(blocks, axis=0)


@REMARK_31_Z2_CORRECTED.formula
def Z_2_by_moments(X: Tokens, T: Logits) -> Any:
    """(I_L (x) K (x) I)(X * vec_r(X) * M_3), shape (L d_V^3, d_V^2) (Remark 3.1, corrected)."""
    d = X.shape[1]
    return _z2_from(X, third_central_moments(softmax(T), X), commutation_matrix(d, d))


def Z_2_by_differentiation(X: Any, T: Any) -> Any:
    """Z_2 with d^2A/dT^2 by differentiation, shape (L d_V^3, d_V^2)."""
    return kron(eye(X.shape[0]), X.T, X.T, X.T) @ hessian(softmax, ("T", "T"))(T) @ kron(X, X)


REMARK_31_Z2_CORRECTED.oracle(lambda X, T: Z_2_by_differentiation(X, T))
REMARK_31_Z2_CORRECTED.mutant("no commutation matrix", "commutation_matrix(d, d) -> eye(d * d)")
REMARK_31_Z2_CORRECTED.mutant(
    "factors of the Kronecker products exchanged", product=lambda square, third: kron(third, square)
)
REMARK_31_Z2_CORRECTED.mutant("attention transposed", "T -> T.T")
