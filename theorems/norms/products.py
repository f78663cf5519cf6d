"""Products, blocks and rearrangements: spectral norm, Frobenius norm, largest entry."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared.matrices import orthogonal_matrix
from theorems.norms.settings import (
    FRAMES, RULES, Column, Matrix, Next, Other, Row, Square, largest, number, three_norms, two_norms,
)  # fmt: skip
from verify.matrix import (
    absolute, block_diag, column, commutation_matrix, concatenate, diag, eye, frobenius_norm, hadamard, kron, maximum,
    normalize_rows, rational, row_norms, spectral_norm, spectral_radius, sqrt, total, vec_r,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, Shape

Beside = Annotated[Any, Shape("m", "p")]
NONZERO = Assumption("no row vanishes", positive=row_norms)

# -- one matrix --------------------------------------------------------------------------------------------------------

REARRANGED = Claim(RULES, "norms.rearranged", label="Transposes and vectors", name="norms of transposed and flattened matrices",
    statement=r"""\|A^\top\| = \|A\|\text{ for }\|\cdot\|_2\text{, for }\|\cdot\|_F\text{ and for }\max|\cdot|,\qquad
        \|\operatorname{vec}A\|_2 = \|A\|_F""",
    relation=Equal(), sizes=("m", "n"))  # fmt: skip


@REARRANGED.formula
def norms_as_they_stand(A: Matrix) -> Any:
    """||A||_2, ||A||_F, max|A| and ||A||_F, shape (4, 1)."""
    return concatenate([three_norms(A), column(frobenius_norm(A))], axis=0)


REARRANGED.oracle(lambda A: concatenate([three_norms(A.T), column(spectral_norm(vec_r(A)))], axis=0))
REARRANGED.mutant("largest row", "three_norms(A) -> three_norms(A[:1])")
REARRANGED.mutant("spectral norm of the vector", "frobenius_norm(A) -> spectral_norm(A)")

SPECTRAL_FROBENIUS = Claim(RULES, "norms.spectral-frobenius", label="Spectral and Frobenius norm",
    statement=r"\|A\|_2 \le \|A\|_F \le \sqrt{\min(m, n)}\,\|A\|_2", name="spectral and Frobenius norm of one matrix",
    relation=AtMost(left="||A||_2, ||A||_F, ||A||_F"), sizes=("m", "n"))  # fmt: skip


@SPECTRAL_FROBENIUS.formula
def other_norms(A: Matrix) -> Any:
    """||A||_F, sqrt(m) ||A||_2 and sqrt(n) ||A||_2, shape (3, 1)."""
    m, n = A.shape
    return column(frobenius_norm(A), sqrt(m) * spectral_norm(A), sqrt(n) * spectral_norm(A))


SPECTRAL_FROBENIUS.oracle(lambda A: column(spectral_norm(A), frobenius_norm(A), frobenius_norm(A)))
SPECTRAL_FROBENIUS.mutant("largest entry", "frobenius_norm(A) -> largest(A)")
SPECTRAL_FROBENIUS.mutant("nine tenths by rows", "sqrt(m) -> sqrt(m) * rational(9, 10)")
SPECTRAL_FROBENIUS.mutant("no size", "sqrt(n) -> 1")

LARGEST = Claim(RULES, "norms.largest-entry", label="Largest entry", name="largest entry and norms of one matrix",
    statement=r"\max|A| \le \|A\|_2,\qquad \|A\|_F \le \sqrt{mn}\,\max|A|", sizes=("m", "n"),
    relation=AtMost(left="max|A|, ||A||_F"))  # fmt: skip


@LARGEST.formula
def norms_about_the_largest_entry(A: Matrix) -> Any:
    """||A||_2 and sqrt(m n) max|A|, shape (2, 1)."""
    return column(spectral_norm(A), sqrt(A.shape[0] * A.shape[1]) * largest(A))


LARGEST.oracle(lambda A: column(largest(A), frobenius_norm(A)))
LARGEST.mutant("nine tenths of the spectral norm", "spectral_norm(A) -> spectral_norm(A) * rational(9, 10)")
LARGEST.mutant("one size", "sqrt(A.shape[0] * A.shape[1]) -> sqrt(A.shape[0])")

DIAGONAL = Claim(RULES, "norms.diagonal", label="Diagonal matrices and matrices of ones",
    statement=r"""\|\operatorname{diag}v\|_2 = \max|v|,\quad \|\operatorname{diag}v\|_F = \|v\|\text{ for every row }v,\quad
        \|\mathbf 1_n\mathbf 1_m^\top\|_2 = \sqrt{mn}""",
    name="norms of diagonal matrices and of ones", relation=Equal(), sizes=("m", "n"))  # fmt: skip


@DIAGONAL.formula
def norms_of_entries(A: Matrix) -> Any:
    """max|v|, ||v|| and sqrt(m n) for the first row v of A, shape (3, 1)."""
    return column(largest(A[:1]), frobenius_norm(A[:1]), number(sqrt(A.shape[0] * A.shape[1]), A))


DIAGONAL.oracle(lambda A: column(*[f(diag(A[0])) for f in (spectral_norm, frobenius_norm)], spectral_norm(0 * A + 1)))
DIAGONAL.mutant("the Euclidean norm twice", "largest(A[:1]) -> frobenius_norm(A[:1])")
DIAGONAL.mutant("the largest twice", "frobenius_norm(A[:1]) -> largest(A[:1])")
DIAGONAL.mutant("one of ones", "sqrt(A.shape[0] * A.shape[1]) -> 1")

OF_A_COLUMN = Claim(RULES, "norms.diagonal-of-a-column", label="Diagonal matrix times a column",
    statement=r"\operatorname{diag}(v)\,x = v \circ x\text{ for columns }v\text{ and }x",
    name="diagonal matrix times a column", relation=Equal(), sizes=("m",), all_sizes=True, exact=True)  # fmt: skip


@OF_A_COLUMN.formula
def entrywise_column(v: Annotated[Any, Shape("m", "1")], x: Annotated[Any, Shape("m", "1")]) -> Any:
    """v o x, shape (m, 1)."""
    return hadamard(v, x)


OF_A_COLUMN.oracle(lambda v, x: diag(v) @ x)
OF_A_COLUMN.mutant("x itself", lambda x: x)
OF_A_COLUMN.mutant("twice v", lambda v, x: hadamard(v * 2, x))

RADIUS = Claim(RULES, "norms.spectral-radius", label="Spectral radius", name="eigenvalues and the spectral norm",
    statement=r"\rho(A) \le \|A\|_2", relation=AtMost(left="the spectral radius", ascent=False), sizes=("n",))  # fmt: skip


@RADIUS.formula
def norm_above_eigenvalues(A: Square) -> Any:
    """||A||_2, a scalar."""
    return spectral_norm(A)


RADIUS.oracle(lambda A: spectral_radius(A))
RADIUS.mutant("nine tenths", "spectral_norm(A) -> spectral_norm(A) * rational(9, 10)")
RADIUS.mutant("largest entry", "spectral_norm(A) -> largest(A)")

ROW_NORMS = Claim(RULES, "norms.rows", label="Norms of rows", name="norms of rows and of normalised rows",
    statement=r"\big\|(\|a_1\|, \dots, \|a_m\|)\big\| = \|A\|_F,\qquad \|A\|_F = \sqrt m \text{ for unit rows }a_1, "
              r"\dots, a_m\text{ of } A",
    assumptions=[NONZERO], relation=Equal(), sizes=("m", "n"), all_sizes=True)  # fmt: skip


@ROW_NORMS.formula
def norm_and_root(A: Matrix) -> Any:
    """||A||_F and sqrt(m), shape (2, 1)."""
    return column(frobenius_norm(A), number(sqrt(A.shape[0]), A))


ROW_NORMS.oracle(lambda A: column(frobenius_norm(row_norms(A)), frobenius_norm(normalize_rows(A))))
ROW_NORMS.mutant("spectral norm", "frobenius_norm(A) -> spectral_norm(A)")
ROW_NORMS.mutant("columns counted", "A.shape[0] -> A.shape[1]")

CAUCHY_SCHWARZ = Claim(RULES, "norms.cauchy-schwarz", label="Cauchy-Schwarz", name="a sum of absolute values and the norm",
    statement=r"\sum_{ij}|A_{ij}| \le \sqrt{mn}\,\|A\|_F", relation=AtMost(left="the sum of all |A_ij|"),
    sizes=("m", "n"))  # fmt: skip


@CAUCHY_SCHWARZ.formula
def root_times_norm(A: Matrix) -> Any:
    """sqrt(m n) ||A||_F, a scalar."""
    return sqrt(A.shape[0] * A.shape[1]) * frobenius_norm(A)


CAUCHY_SCHWARZ.oracle(lambda A: total(absolute(A)))
CAUCHY_SCHWARZ.mutant("nine tenths", "frobenius_norm(A) -> frobenius_norm(A) * rational(9, 10)")
CAUCHY_SCHWARZ.mutant("spectral norm", "frobenius_norm(A) -> spectral_norm(A)")

SUM_OF_ENTRIES = Claim(RULES, "norms.sum-of-absolute-values", label="The norm of a sum of single entries",
    name="the Frobenius norm and a sum of absolute values", statement=r"\|A\|_F \le \sum_{ij}|A_{ij}|",
    relation=AtMost(left="||A||_F"), sizes=("m", "n"))  # fmt: skip


@SUM_OF_ENTRIES.formula
def sum_of_absolute_values(A: Matrix) -> Any:
    """The sum of all |A_ij|, a scalar."""
    return total(absolute(A))


SUM_OF_ENTRIES.oracle(lambda A: frobenius_norm(A))
SUM_OF_ENTRIES.mutant("nine tenths", "total(absolute(A)) -> total(absolute(A)) * rational(9, 10)")
SUM_OF_ENTRIES.mutant("largest entry", "total(absolute(A)) -> largest(A)")

# -- products ----------------------------------------------------------------------------------------------------------

PRODUCT = Claim(RULES, "norms.product", label="Norms of a product", name="submultiplicativity of matrix norms",
    statement=r"\|AB\|_2 \le \|A\|_2\|B\|_2,\qquad \|AB\|_F \le \|A\|_2\|B\|_F,\ \|A\|_F\|B\|_2",
    relation=AtMost(left="||AB||_2, ||AB||_F, ||AB||_F"), sizes=("m", "n", "p"))  # fmt: skip


@PRODUCT.formula
def products_of_norms(A: Matrix, B: Next) -> Any:
    """||A||_2 ||B||_2, ||A||_2 ||B||_F and ||A||_F ||B||_2, shape (3, 1)."""
    return concatenate([spectral_norm(A) * two_norms(B), column(frobenius_norm(A) * spectral_norm(B))], axis=0)


PRODUCT.oracle(lambda A, B: concatenate([two_norms(A @ B), column(frobenius_norm(A @ B))], axis=0))
PRODUCT.mutant("largest entry of the first", "spectral_norm(A) -> largest(A)")
PRODUCT.mutant("spectral norms alone", "frobenius_norm(A) -> spectral_norm(A)")
PRODUCT.mutant("nine tenths", "spectral_norm(A) -> spectral_norm(A) * rational(9, 10)")

KRONECKER = Claim(RULES, "norms.kronecker", label="Norms of a Kronecker product", name="norms of a Kronecker product",
    statement=r"\|A\otimes B\| = \|A\|\,\|B\|\text{ for }\|\cdot\|_2\text{, for }\|\cdot\|_F\text{ and for }\max|\cdot|",
    relation=Equal())  # fmt: skip


@KRONECKER.formula
def products_of_three_norms(A: Matrix, B: Other) -> Any:
    """||A||_2 ||B||_2, ||A||_F ||B||_F and max|A| max|B|, shape (3, 1)."""
    return three_norms(A) * three_norms(B)


KRONECKER.oracle(lambda A, B: three_norms(kron(A, B)))
KRONECKER.mutant("norms of the first alone", "three_norms(B) -> 1")
KRONECKER.mutant("entries of one row", "three_norms(B) -> three_norms(B[:1])")

MIXED = Claim(RULES, "norms.mixed-product", label="Mixed products", name="the mixed product of Kronecker products",
    statement=r"(A\otimes B)(C\otimes D) = AC\otimes BD", relation=Equal(), all_sizes=True,
    sizes={"m": (1, 2), "n": (1, 2), "p": (1, 3), "q": (1, 2)}, exact=True)  # fmt: skip


@MIXED.formula
def product_of_products(A: Matrix, B: Other, C: Next, D: Annotated[Any, Shape("q", "m")]) -> Any:
    """A C (x) B D, shape (m p, p m)."""
    return kron(A @ C, B @ D)


MIXED.oracle(lambda A, B, C, D: kron(A, B) @ kron(C, D))
MIXED.mutant("factors exchanged", "kron(A @ C, B @ D) -> kron(B @ D, A @ C)")
MIXED.mutant("one factor twice", "A @ C -> A @ C * 2")

ENTRYWISE = Claim(RULES, "norms.entrywise-product", label="Norms of an entrywise product",
    statement=r"\|A\circ B\|_2 \le \|A\|_2\|B\|_2,\qquad \|A\circ B\|_F \le \max|A|\,\|B\|_F",
    name="norms of an entrywise product", relation=AtMost(left="||A o B||_2, ||A o B||_F"), sizes=("m", "n"))  # fmt: skip


@ENTRYWISE.formula
def bounds_of_entrywise_product(A: Matrix, B: Matrix) -> Any:
    """||A||_2 ||B||_2 and max|A| ||B||_F, shape (2, 1)."""
    return column(spectral_norm(A) * spectral_norm(B), largest(A) * frobenius_norm(B))


ENTRYWISE.oracle(lambda A, B: two_norms(hadamard(A, B)))
ENTRYWISE.mutant("nine tenths", "spectral_norm(A) -> spectral_norm(A) * rational(9, 10)")
ENTRYWISE.mutant("spectral norm of the second", "frobenius_norm(B) -> spectral_norm(B)")

# -- differences of products, factors in common ------------------------------------------------------------------------

DIFFERENCE = Claim(RULES, "norms.difference-of-products", label="Difference of products",
    statement=r"AB - A'B' = (A - A')B + A'(B - B')", name="a difference of products, factor by factor", relation=Equal(),
    all_sizes=True, sizes=("m", "n", "p"), exact=True)  # fmt: skip


@DIFFERENCE.formula
def change_by_factors(A: Matrix, B: Next, A_0: Matrix, B_0: Next) -> Any:
    """(A - A') B + A' (B - B'), shape (m, p)."""
    return (A - A_0) @ B + A_0 @ (B - B_0)


DIFFERENCE.oracle(lambda A, B, A_0, B_0: A @ B - A_0 @ B_0)
DIFFERENCE.mutant("both at the first place", "A_0 @ (B - B_0) -> A @ (B - B_0)")
DIFFERENCE.mutant("one change alone", "A_0 @ (B - B_0) -> 0 * A_0 @ B")

OTHER_DIFFERENCES = Claim(RULES, "norms.difference-of-other-products", label="Difference of Kronecker and entrywise products",
    statement=r"A\otimes B - A'\otimes B' = (A - A')\otimes B + A'\otimes(B - B'),\text{ and so for } \circ",
    name="a difference of Kronecker or entrywise products", relation=Equal(), all_sizes=True, sizes=("m", "n"),
    exact=True)  # fmt: skip


@OTHER_DIFFERENCES.formula
def other_changes_by_factors(A: Matrix, B: Matrix, A_0: Matrix, B_0: Matrix) -> Any:
    """(A - A') (x) B + A' (x) (B - B'), and the same with o, all entries in one column."""
    return concatenate([vec_r(f(A - A_0, B) + f(A_0, B - B_0)) for f in (kron, hadamard)], axis=0)


OTHER_DIFFERENCES.oracle(
    lambda A, B, A_0, B_0: concatenate([vec_r(f(A, B) - f(A_0, B_0)) for f in (kron, hadamard)], axis=0)
)
OTHER_DIFFERENCES.mutant("both at the first place", "f(A_0, B - B_0) -> f(A, B - B_0)")
OTHER_DIFFERENCES.mutant("one change alone", "f(A_0, B - B_0) -> 0 * f(A_0, B)")

COMMON = Claim(RULES, "norms.common-factor", label="Common factor of blocks", name="a factor that two blocks share",
    statement=r"\begin{bmatrix}AC\\BC\end{bmatrix} = \begin{bmatrix}A\\B\end{bmatrix}C", relation=Equal(), all_sizes=True,
    sizes=("m", "n", "p"), exact=True)  # fmt: skip


@COMMON.formula
def blocks_times_factor(A: Matrix, B: Matrix, C: Next) -> Any:
    """[A; B] C, shape (2 m, p)."""
    return concatenate([A, B], axis=0) @ C


COMMON.oracle(lambda A, B, C: concatenate([A @ C, B @ C], axis=0))
COMMON.mutant("blocks exchanged", "[A, B] -> [B, A]")
COMMON.mutant("the first block twice", "[A, B] -> [A, A]")

ANTISYMMETRIC = Claim(RULES, "norms.antisymmetric-product", label="Antisymmetric product",
    statement=r"\|AB^\top - BA^\top\|_2 \le \|[A, B]\|_2^2", name="norm of an antisymmetric product",
    relation=AtMost(left="||A B^T - B A^T||_2"), sizes={"m": (1, 4), "n": (1, 2)})  # fmt: skip


@ANTISYMMETRIC.formula
def square_of_the_frame(A: Matrix, B: Matrix) -> Any:
    """||[A, B]||_2^2, a scalar."""
    return spectral_norm(concatenate([A, B], axis=1)) ** 2


ANTISYMMETRIC.oracle(lambda A, B: spectral_norm(A @ B.T - B @ A.T))
ANTISYMMETRIC.mutant("nine tenths", lambda value: value * rational(9, 10))
ANTISYMMETRIC.mutant("the first factor alone", "[A, B] -> [A, A]")

# -- blocks ------------------------------------------------------------------------------------------------------------

BLOCK = Claim(RULES, "norms.block", label="A block of a matrix", name="norms of a block of a matrix",
    statement=r"\|A\| \le \|[A, B]\|\text{ for }\|\cdot\|_2\text{, for }\|\cdot\|_F\text{ and for }\max|\cdot|",
    sizes=("m", "n", "p"), relation=AtMost(left="||A||_2, ||A||_F, max|A|"))  # fmt: skip


@BLOCK.formula
def norms_of_the_whole(A: Matrix, B: Beside) -> Any:
    """||[A, B]||_2, ||[A, B]||_F and max|[A, B]|, shape (3, 1)."""
    return three_norms(concatenate([A, B], axis=1))


BLOCK.oracle(lambda A, B: three_norms(A))
BLOCK.mutant("the other block", "concatenate([A, B], axis=1) -> B")
BLOCK.mutant("nine tenths", lambda value: value * rational(9, 10))

BLOCKS = Claim(RULES, "norms.blocks", label="Blocks of a matrix", name="norms of blocks side by side",
    statement=r"\|[A, B]\|_2^2 \le \|A\|_2^2 + \|B\|_2^2,\qquad \|[A, B]\|_F^2 = \|A\|_F^2 + \|B\|_F^2",
    relation=AtMost(left="||[A, B]||_2, ||[A, B]||_F"), sizes=("m", "n", "p"))  # fmt: skip


@BLOCKS.formula
def roots_of_sums_of_squares(A: Matrix, B: Beside) -> Any:
    """The roots of ||A||^2 + ||B||^2 for both norms, shape (2, 1)."""
    return sqrt(two_norms(A) ** 2 + two_norms(B) ** 2)


BLOCKS.oracle(lambda A, B: two_norms(concatenate([A, B], axis=1)))
BLOCKS.mutant("the first block alone", "two_norms(B) ** 2 -> 0")
BLOCKS.mutant("nine tenths", lambda value: value * rational(9, 10))

BLOCK_DIAGONAL = Claim(RULES, "norms.block-diagonal", label="Block diagonal matrices", name="norms of a block diagonal matrix",
    statement=r"""\|\operatorname{diag}(A, B)\|_2 = \max(\|A\|_2, \|B\|_2),\quad
        \|\operatorname{diag}(A, B)\|_F^2 = \|A\|_F^2 + \|B\|_F^2""", relation=Equal())  # fmt: skip


@BLOCK_DIAGONAL.formula
def norms_of_blocks(A: Matrix, B: Other) -> Any:
    """max(||A||_2, ||B||_2) and the root of ||A||_F^2 + ||B||_F^2, shape (2, 1)."""
    larger = maximum(column(spectral_norm(A), spectral_norm(B)))
    return column(larger, frobenius_norm(column(frobenius_norm(A), frobenius_norm(B))))


BLOCK_DIAGONAL.oracle(lambda A, B: two_norms(block_diag([A, B])))
BLOCK_DIAGONAL.mutant("the first block", "larger -> spectral_norm(A)")
BLOCK_DIAGONAL.mutant("sum of norms", "frobenius_norm(column(frobenius_norm(A), frobenius_norm(B))) -> "
    "frobenius_norm(A) + frobenius_norm(B)")  # fmt: skip

# -- orthonormal matrices, permutations, projections -------------------------------------------------------------------

ORTHONORMAL = Claim(FRAMES, "norms.orthonormal", label="Orthonormal columns", name="norms of orthonormal columns and their blocks",
    statement=r"W^\top W = I \implies \|W\|_2 \le 1,\ \|W\|_F = \sqrt n, \text{ and blocks of } W \text{ have norm at most } 1",
    relation=AtMost(left="||W||_2, ||W||_F, the norm of a block"), sizes=("m", "n"))  # fmt: skip


@ORTHONORMAL.formula
def norms_of_frames(W: Matrix) -> Any:
    """1, sqrt(n) and 1, shape (3, 1)."""
    return column(number(1, W), number(sqrt(W.shape[1]), W), number(1, W))


ORTHONORMAL.oracle(lambda W: column(spectral_norm(W), frobenius_norm(W), spectral_norm(W[1:, 1:])))
ORTHONORMAL.mutant("a smaller Frobenius norm", "sqrt(W.shape[1]) -> rational(9, 10) * sqrt(W.shape[1])")
ORTHONORMAL.mutant("nine tenths", "number(1, W) -> number(rational(9, 10), W)")

MULTIPLE = Claim(RULES, "norms.multiple-of-an-isometry", label="Multiples of isometries",
    statement=r"""A^\top A = c^2I,\ c \ge 0 \implies \|A\|_2 = c,\qquad yy^\top = \sum_k c_kx_kx_k^\top \implies \|y\|^2 = \sum_k
        c_k\|x_k\|^2 \text{ for rows } y, x_k""",
    name="norms of multiples of orthogonal matrices", relation=Equal(), sizes={"n": (1, 4)},
    assumptions=[Assumption("c >= 0", nonnegative=lambda c: c)])  # fmt: skip


@MULTIPLE.formula
def norms_from_squares(G: Square, x: Row, c: Annotated[Any, Real(0.0625, 2.0)]) -> Any:
    """c and c ||x||, shape (2, 1)."""
    return column(c, c * frobenius_norm(x))


MULTIPLE.oracle(
    lambda G, x, c: column(spectral_norm(c * orthogonal_matrix(G)), frobenius_norm(x @ (c * orthogonal_matrix(G))))
)
MULTIPLE.mutant("the square", "column(c, c * frobenius_norm(x)) -> column(c * c, c * frobenius_norm(x))")
MULTIPLE.mutant("largest entry of the row", "frobenius_norm(x) -> largest(x)")

PERMUTATION = Claim(RULES, "norms.permutation", label="Permutations", name="norms of permuted matrices",
    statement=r"""\|K\|_2 = 1,\qquad \|AK\| = \|A\|\text{ for }\|\cdot\|_2\text{, for }\|\cdot\|_F\text{ and for }\max|\cdot|,\quad
        A \in \mathbb{R}^{p\times mn},\ K = K_{m,n}\text{ the commutation matrix}""",
    relation=Equal(), sizes={"m": (1, 2), "n": (1, 3), "p": (1, 3)})  # fmt: skip


@PERMUTATION.formula
def norms_before_permuting(A: Annotated[Any, Shape("p", "m", "n")]) -> Any:
    """1 and the three norms of A as a matrix of shape (p, m n), shape (4, 1)."""
    rows = A.reshape(A.shape[0], -1)
    return concatenate([column(number(1, rows)), three_norms(rows)], axis=0)


@PERMUTATION.oracle
def norms_after_permuting(A: Any) -> Any:
    rows, K = A.reshape(A.shape[0], -1), commutation_matrix(*A.shape[1:])
    return concatenate([column(spectral_norm(K @ eye(K.shape[0]) + 0 * total(rows))), three_norms(rows @ K)], axis=0)


PERMUTATION.mutant("a row lost", "three_norms(rows) -> three_norms(rows[:1])")
PERMUTATION.mutant("the root of a size for 1", "number(1, rows) -> number(sqrt(A.shape[1] + 1), rows)")

PROJECTION = Claim(RULES, "norms.projection", label="Projections", name="norm of a projection",
    statement=r"\Big\|I - \frac{aa^\top}{\|a\|^2}\Big\|_2 \le 1", relation=AtMost(left="||I - a a^T / ||a||^2||_2", ascent=False),
    assumptions=[Assumption("a is not 0", positive=lambda a: total(a * a))], sizes={"n": (1, 4)})  # fmt: skip


@PROJECTION.formula
def norm_of_projection(a: Column) -> Any:
    """1, a scalar."""
    return number(1, a)


PROJECTION.oracle(lambda a: spectral_norm(eye(a.shape[0]) - a @ a.T / total(a * a)))
PROJECTION.mutant("nine tenths", lambda value: value * rational(9, 10))
PROJECTION.mutant("one less entry", lambda a: number(1, a) - number(1, a) / a.shape[0])
