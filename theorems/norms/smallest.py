"""Smallest singular values, and softmax matrices near the identity or near the uniform matrix."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.norms.gaps import AT_LEAST_TWO
from theorems.norms.settings import FRAMES, RULES, Factor, Logits, Matrix, largest, number
from verify.matrix import (
    column, concatenate, exp, eye, frobenius_norm, hadamard, maximum, ones, rational, singular_values,
    smallest_singular_value, softmax,
    spectral_norm, sqrt, symmetric_eigenvalues, without_column,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, Shape

Short = Annotated[Any, Shape("n", "p")]
SquareLogits = Annotated[Any, Shape("n", "n", role="query")]
Left = Annotated[Any, Shape("m", "1")]
Right = Annotated[Any, Shape("1", "n")]
Small = Annotated[Any, Real(0.0, 0.5)]

NOT_WIDE = Assumption("m >= n >= p", sizes=lambda sizes: sizes["m"] >= sizes["n"] >= sizes["p"])

PRODUCT = Claim(RULES, "norms.smallest-of-a-product", label="Smallest singular value of a product",
    statement=r"\sigma_{\min}(AB) \ge \sigma_{\min}(A)\,\sigma_{\min}(B),\quad A \in \mathbb{R}^{m\times n},\ B \in "
        r"\mathbb{R}^{n\times p},\ m \ge n \ge p",
    assumptions=[NOT_WIDE], name="smallest singular value of a product", sizes={"m": (1, 4), "n": (1, 3), "p": (1, 3)},
    relation=AtMost(left="the product of the smallest"),
    note=r"""$\|ABx\| \ge \sigma_{\min}(A)\|Bx\|$ for every vector $x$ where $A$ has no more columns than rows; by
        transposition also for $m \le n \le p$. Of a wide $A$ and a tall $B$ it is false: $AB$ may vanish.""")  # fmt: skip


@PRODUCT.formula
def smallest_of_product(A: Matrix, B: Short) -> Any:
    """sigma_min(A B), a scalar."""
    return smallest_singular_value(A @ B)


PRODUCT.oracle(lambda A, B: smallest_singular_value(A) * smallest_singular_value(B))
PRODUCT.mutant("nine tenths", lambda value: value * rational(9, 10))
PRODUCT.mutant("of the first factor alone", lambda A: smallest_singular_value(A))

SIDE = Claim(RULES, "norms.smallest-side-by-side", label="Smallest singular value of blocks side by side",
    statement=r"\sigma_{\min}([A\ B])^2 \ge \sigma_{\min}(A)^2 + \sigma_{\min}(B)^2,\quad A \in \mathbb{R}^{m\times n},\ "
        r"B \in \mathbb{R}^{m\times p},\ m \le n, p",
    assumptions=[Assumption("m <= n and m <= p", sizes=lambda sizes: sizes["m"] <= min(sizes["n"], sizes["p"]))],
    name="smallest singular value of two blocks", sizes=("m", "n", "p"), relation=AtMost(left="the root of the sum"),
    note=r"""$\|M^\top x\|^2 = \|A^\top x\|^2 + \|B^\top x\|^2$ for every vector $x$, and no block has more rows than
        columns.""")  # fmt: skip


@SIDE.formula
def smallest_of_blocks(A: Matrix, B: Annotated[Any, Shape("m", "p")]) -> Any:
    """sigma_min([A B]), a scalar."""
    return smallest_singular_value(concatenate([A, B], axis=1))


@SIDE.oracle
def root_of_squares(A: Any, B: Any) -> Any:
    one, other = smallest_singular_value(A), smallest_singular_value(B)
    return sqrt(one * one + other * other)


SIDE.mutant("nine tenths", lambda value: value * rational(9, 10))
SIDE.mutant("of the first block alone", lambda A: smallest_singular_value(A))

ORDER = Claim(RULES, "norms.smallest-at-most-largest", label="Smallest and largest singular value", sizes=("m", "n"),
    statement=r"\sigma_{\min}(A) \le \|A\|_2", name="the smallest and the largest singular value",
    relation=AtMost(left="the smallest singular value"))  # fmt: skip


@ORDER.formula
def largest_value(A: Matrix) -> Any:
    """||A||_2, a scalar."""
    return spectral_norm(A)


ORDER.oracle(lambda A: smallest_singular_value(A))
ORDER.mutant("nine tenths", lambda value: value * rational(9, 10))
ORDER.mutant("largest entry", "spectral_norm -> largest")

OF_FRAMES = Claim(FRAMES, "norms.smallest-of-orthonormal", label="Orthonormal columns, from below",
    statement=r"W^\top W = I \implies \sigma_{\min}(W) \ge 1", name="smallest singular value of orthonormal columns",
    relation=AtMost(left="1"), sizes=("m", "n"),
    note=r"$\|Wx\| = \|x\|$ for every $x$. Rows or columns of the identity are a case of it, or of its transpose.")  # fmt: skip


@OF_FRAMES.formula
def smallest_of_frame(W: Matrix) -> Any:
    """sigma_min(W), a scalar."""
    return smallest_singular_value(W)


OF_FRAMES.oracle(lambda W: number(1, W))
OF_FRAMES.mutant("nine tenths", lambda value: value * rational(9, 10))
OF_FRAMES.mutant("smallest entry", "smallest_singular_value(W) -> -largest(W)")

RANK_ONE = Claim(RULES, "norms.distance-from-rank-one", label="Distance from a matrix of rank one",
    statement=r"(\min(m, n) - 1)\,\sigma_{\min}(A)^2 \le \|A - uv\|_F^2\text{ for a column }u\text{ and a row }v",
    name="distance from rank one", sizes=("m", "n"), relation=AtMost(left="the root of the left side"),
    note=r"By Eckart and Young $\|A - R\|_F^2 \ge \sigma_2^2 + \dots$ for every $R$ of rank one.")  # fmt: skip


@RANK_ONE.formula
def distance(A: Matrix, u: Left, v: Right) -> Any:
    """||A - u v||_F, a scalar."""
    return frobenius_norm(A - u @ v)


RANK_ONE.oracle(lambda A: smallest_singular_value(A) * sqrt(min(A.shape) - 1))
RANK_ONE.mutant("spectral norm", "frobenius_norm(A - u @ v) -> spectral_norm(A - u @ v) * rational(9, 10)")
RANK_ONE.mutant("three quarters", lambda value: value * rational(3, 4))


@RANK_ONE.domain("a frame less a dyad")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """A the identity and u v a part of it, at which the bound is attained."""
    arrays["A"][:] = np.eye(sizes["m"], sizes["n"])
    for name in ("u", "v"):
        arrays[name][:] = 0.0
        arrays[name][:, 0, 0] = 1.0


AT_ONES = Claim(RULES, "norms.softmax-at-ones", label="Norm of a softmax from below", sizes=("m", "n"),
    statement=r"\|\operatorname{softmax}(T)\|_2 \ge \sqrt{m/n},\quad T \in \mathbb{R}^{m\times n}",
    name="norm of a softmax from below", relation=AtMost(left="the root of m / n"),
    note=r"Rows add up to one, so that $\|A\mathbf 1\| = \sqrt m$, and $\|\mathbf 1\| = \sqrt n$.")  # fmt: skip


@AT_ONES.formula
def norm_of_softmax(T: Logits) -> Any:
    """||softmax(T)||_2, a scalar."""
    return spectral_norm(softmax(T))


AT_ONES.oracle(lambda T: sqrt(number(rational(T.shape[0], T.shape[1]), T)))
AT_ONES.mutant("nine tenths", lambda value: value * rational(9, 10))
AT_ONES.mutant("largest entry", "spectral_norm -> largest")

TWO = RULES.extended(assumptions=[AT_LEAST_TWO], sizes={"n": (2, 4)})


def beside_the_diagonal(A: Any) -> Any:
    """max_(i != j) A_ij for entries that are not negative, a scalar; n >= 2."""
    n = A.shape[0]
    return largest(hadamard(A, ones(n, n) - eye(n)))


def attractive(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Rows that give weight to themselves and to the first entry, at which the bounds are tight."""
    T, n = arrays["T"], sizes["n"]
    T[:] = -24.0
    T[:, :, 0] = 0.0
    gap = rng.integers(2, 12, len(T))
    for i in range(n):
        T[:, i, i] = gap


NEAR = Claim(TWO, "norms.stochastic-near-identity", label="A softmax near the identity",
    statement=r"""\|A - I\|_2 \le 2(n - 1)w,\quad \|A\|_2 \le \sqrt{1 + (n - 1)w},\quad w = \max_{i\ne j}A_{ij},\quad
        A = \operatorname{softmax}(T) \in \mathbb{R}^{n\times n}""",
    name="a softmax near the identity", relation=AtMost(left="||A - I||_2 and ||A||_2"), sizes={"n": (2, 4)},
    note=r"""$A - I = N - D$ with $0 \le N_{ij} \le w$ off the diagonal and $D = \operatorname{diag}(N\mathbf 1)$, both of
        norm at most $(n - 1)w$. Rows of $A$ add up to 1 and columns to at most $1 + (n - 1)w$.""")  # fmt: skip


@NEAR.formula
def bounds_by_other_weights(T: SquareLogits) -> Any:
    """2 (n - 1) w and sqrt(1 + (n - 1) w), shape (2, 1)."""
    w = beside_the_diagonal(softmax(T)) * (T.shape[0] - 1)
    return column(2 * w, sqrt(1 + w))


@NEAR.oracle
def distance_and_norm(T: Any) -> Any:
    A = softmax(T)
    return column(spectral_norm(A - eye(T.shape[0])), spectral_norm(A))


NEAR.domain("attractive", attractive)
NEAR.mutant("half of the first", "2 * w -> w")
NEAR.mutant("without n - 1", "(T.shape[0] - 1) -> rational(1, 2)")
NEAR.mutant("half of the weight in the second", "sqrt(1 + w) -> sqrt(1 + w / 4)")

GAPS = Claim(TWO, "norms.weight-by-its-gap", label="A softmax weight by its gap", sizes={"n": (2, 4)},
    statement=r"\operatorname{softmax}(T)_{ij} \le e^{T_{ij} - T_{ii}}\text{, and so the largest with }i\ne j",
    name="a softmax weight by its gap", relation=AtMost(left="max_(i != j) softmax(T)_ij"))  # fmt: skip


@GAPS.formula
def exponential_of_largest_gap(T: SquareLogits) -> Any:
    """The largest e^(T_ij - T_ii) with i != j, a scalar."""
    rows = [without_column(T[i : i + 1], i) - T[i, i] for i in range(T.shape[0])]
    return exp(maximum(concatenate(rows, axis=0)))


GAPS.oracle(lambda T: beside_the_diagonal(softmax(T)))
GAPS.mutant("nine tenths", lambda value: value * rational(9, 10))
GAPS.mutant("twice the gap", "T[i, i] -> 2 * T[i, i]")
GAPS.domain("attractive", attractive)


def half_and_half(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Logits of two values, small ones among them, at which the bound is tight."""
    T = arrays["T"]
    T[:] = rng.integers(0, 2, T.shape) * 2.0 ** -rng.integers(0, 8, (len(T), 1, 1))


UNIFORM = Claim(RULES, "norms.softmax-near-uniform", label="A softmax near the uniform matrix", sizes=("m", "n"),
    statement=r"""\|\operatorname{softmax}(T) - \tfrac1n\mathbf 1\mathbf 1^\top\|_F \le \sqrt{m/n}\,\sinh(\Delta/2),\quad
        \Delta\text{ the largest range of a row of }T""",
    name="a softmax near the uniform matrix", relation=AtMost(left="the distance in ||.||_F"),
    note=r"""Of a row $p$ with weights $w$ in $[a, ae^\Delta]$ for some $a$: $n\|p - 1/n\|^2 =
        \mathbb{E}[w^2]/\mathbb{E}[w]^2 - 1 \le (1 + e^\Delta)^2/(4e^\Delta) - 1 = \sinh(\Delta/2)^2$
        (Kantorovich).""")  # fmt: skip


@UNIFORM.formula
def hyperbolic_sine_of_range(T: Logits) -> Any:
    """sqrt(m / n) sinh(D / 2), a scalar."""
    ranges = [maximum(T[i : i + 1]) + maximum(-T[i : i + 1]) for i in range(T.shape[0])]
    t = maximum(column(*ranges)) * rational(1, 2)
    return (exp(t) - exp(-t)) * rational(1, 2) * sqrt(number(rational(T.shape[0], T.shape[1]), T))


UNIFORM.oracle(lambda T: frobenius_norm(softmax(T) - ones(*T.shape) * rational(1, T.shape[1])))
UNIFORM.domain("half and half", half_and_half)
UNIFORM.mutant("nine tenths", lambda value: value * rational(9, 10))
UNIFORM.mutant("a quarter of the range", "maximum(column(*ranges)) -> maximum(column(*ranges)) * rational(1, 2)")

SINH = Claim(RULES, "norms.sinh-on-an-interval", label="sinh on an interval", name="a chord of sinh",
    statement=r"\sinh t \le 2t\sinh\tfrac12\text{ for }0 \le t \le \tfrac12", relation=AtMost(left="sinh t"), all_sizes=True,
    assumptions=[Assumption("0 <= t <= 1/2", nonnegative=lambda t: column(t, t * 0 + rational(1, 2) - t))],
    note=r"sinh is convex on $[0, \infty)$, and both sides agree at 0 and 1/2.")  # fmt: skip


@SINH.formula
def chord(t: Small) -> Any:
    """2 t sinh(1/2), a scalar."""
    half = t * 0 + rational(1, 2)
    return t * (exp(half) - exp(-half))


SINH.oracle(lambda t: (exp(t) - exp(-t)) * rational(1, 2))
SINH.mutant("nine tenths", lambda value: value * rational(9, 10))
SINH.mutant("t itself", lambda t: t)

GRAM = Claim(RULES, "norms.smallest-eigenvalue-of-a-gram", label="Smallest eigenvalue of a Gram matrix", sizes=("m", "n"),
    statement=r"\lambda_{\min}(AA^\top) \le \tfrac1m\|A\|_F^2,\quad A \in \mathbb{R}^{m\times n}",
    name="the smallest eigenvalue of a Gram matrix", relation=AtMost(left="the smallest eigenvalue"),
    note=r"The mean of the $m$ eigenvalues is $\operatorname{tr}(AA^\top)/m$.")  # fmt: skip


@GRAM.formula
def mean_eigenvalue(A: Matrix) -> Any:
    """||A||_F^2 / m, a scalar."""
    return frobenius_norm(A) * frobenius_norm(A) * rational(1, A.shape[0])


GRAM.oracle(lambda A: symmetric_eigenvalues(A @ A.T)[0])
GRAM.mutant("nine tenths", lambda value: value * rational(9, 10))
GRAM.mutant("squared", lambda value: value * value)


@GRAM.domain("orthogonal rows")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """A multiple of a part of the identity, at which the bound is attained where m <= n."""
    arrays["A"][:] = np.eye(sizes["m"], sizes["n"]) / 2


SHIFTED = Claim(RULES, "norms.shifted-gram", label="Gram matrix and a multiple of the identity", sizes=("m", "n"),
    statement=r"c \ge 0:\quad \sigma_i(AA^\top + cI) = \sigma_i(AA^\top) + c\text{ for the first and the last }i",
    name="singular values of a shifted Gram matrix", relation=Equal(),
    assumptions=[Assumption("c >= 0", nonnegative=lambda c: c)])  # fmt: skip


@SHIFTED.formula
def shifted_values(A: Matrix, c: Factor) -> Any:
    """The first and the last singular value of A A^T, plus c, shape (2, 1)."""
    values = singular_values(A @ A.T)
    return column(values[0] + c, values[-1] + c)


@SHIFTED.oracle
def values_of_shifted(A: Any, c: Any) -> Any:
    values = singular_values(A @ A.T + eye(A.shape[0]) * c)
    return column(values[0], values[-1])


SHIFTED.mutant("the first one alone", "values[-1] + c -> values[-1]")
SHIFTED.mutant("twice", "values[0] + c -> values[0] + 2 * c")
