"""Softmax rows of which one entry is large, by the gaps of their logits, and their covariances."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.norms.functions import corner_of_exponential
from theorems.norms.settings import RULES, SMALL, Column, Matrix, Next, RowLogits, Square, largest
from verify.matrix import (
    absolute, column, diag, exp, eye, frobenius_norm, maximum, ones, rational, softmax, spectral_norm, sqrt, total,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, Shape

Weights = Annotated[Any, Shape("1", "n", role="query")]
Positive = Annotated[Any, Real(2.0**-6, 4.0)]

AT_LEAST_TWO = Assumption("n >= 2", sizes=lambda sizes: sizes["n"] >= 2)
LESS = RULES.extended(assumptions=[AT_LEAST_TWO], sizes={"n": (2, 4)})


def covariance(p: Any) -> Any:
    """diag(p) - p^T p for a row p, shape (n, n)."""
    return diag(p[0]) - p.T @ p


def others(p: Any) -> Any:
    """The sum of all entries of a row but the first, a scalar."""
    return total(p[:, 1:])


GAP = Claim(LESS, "norms.softmax-less-an-entry", label="Softmax row less an entry", name="one less an entry of a softmax row",
    statement=r"\sum_{j\ne1}p_j = \frac{s}{1 + s},\quad s = \sum_{j\ne1}e^{t_j - t_1},\quad p = \operatorname{softmax}(t)",
    relation=Equal(), sizes=("n",))  # fmt: skip


@GAP.formula
def share_of_the_others(t: RowLogits) -> Any:
    """s / (1 + s), a scalar."""
    s = total(exp(t[:, 1:] - t[0, 0]))
    return s / (1 + s)


GAP.oracle(lambda t: others(softmax(t)))
GAP.mutant("not divided", "s / (1 + s) -> s")
GAP.mutant("the wrong gap", "t[:, 1:] - t[0, 0] -> t[0, 0] - t[:, 1:]")

SUM = Claim(RULES, "norms.sum-of-exponentials", label="Sum of exponentials", name="a sum of exponentials and the largest exponent",
    statement=r"\sum_{ij}e^{A_{ij}} \le mn\,e^{\max A}", sizes=("m", "n"),
    relation=AtMost(left="the sum of all e^A_ij"))  # fmt: skip


@SUM.formula
def terms_times_largest(A: Matrix) -> Any:
    """m n e^(max A), a scalar."""
    return exp(maximum(A)) * (A.shape[0] * A.shape[1])


SUM.oracle(lambda A: total(exp(A)))
SUM.mutant("nine tenths", lambda value: value * rational(9, 10))
SUM.mutant("one row", "A.shape[0] * A.shape[1] -> A.shape[1]")

TRACE = Claim(LESS, "norms.trace-of-a-covariance", label="Trace of a covariance", name="norms and trace of a softmax covariance",
    statement=r"""\|C\|_2 \le \|C\|_F \le \operatorname{tr}C = 1 - \sum_jp_j^2 \le 2\sum_{j\ne1}p_j,\quad \max|C| \le
        \max_jp_j(1 - p_j) \le \sum_{j\ne1}p_j,\quad C = \operatorname{diag}p - p^\top p""",
    relation=AtMost(left="||C||_2, ||C||_F, tr C, max|C|, max p_j (1 - p_j)"), sizes=("n",))  # fmt: skip


def variances(p: Any) -> Any:
    """p_j (1 - p_j) for all j, each as p_j times the sum of the other entries, shape (1, n)."""
    n = p.shape[1]
    return p * (p @ (ones(n, n) - eye(n)))


@TRACE.formula
def traces_and_weights(t: RowLogits) -> Any:
    """tr C twice, 2 sum_(j != 1) p_j, max p_j (1 - p_j) and sum_(j != 1) p_j, shape (5, 1)."""
    p = softmax(t)
    trace = total(variances(p))
    return column(trace, trace, others(p) * 2, largest(variances(p)), others(p))


@TRACE.oracle
def norms_of_covariance(t: Any) -> Any:
    p = softmax(t)
    C = covariance(p)
    return column(spectral_norm(C), frobenius_norm(C), total(variances(p)), largest(C), largest(variances(p)))


TRACE.mutant("nine tenths", lambda value: value * rational(9, 10))
TRACE.mutant("the weight of the others once", "others(p) * 2 -> others(p)")
TRACE.mutant("half of the largest variance", "largest(variances(p)) -> largest(variances(p)) * rational(1, 2)")

OFF = Claim(LESS, "norms.covariance-off-the-diagonal", label="Covariance off the diagonal", sizes=("n",), exact=True,
    statement=r"C_{jk} = -p_jp_k\text{ for } j\ne k,\quad C = \operatorname{diag}p - p^\top p",
    name="entries of a covariance off the diagonal", relation=Equal(), all_sizes=True)  # fmt: skip


@OFF.formula
def negative_products(t: RowLogits) -> Any:
    """-p_j p_k off the diagonal, 0 on it, shape (n, n)."""
    p, n = softmax(t), t.shape[1]
    return -(p.T @ p) * (ones(n, n) - eye(n))


OFF.oracle(lambda t: covariance(softmax(t)) * (ones(t.shape[1], t.shape[1]) - eye(t.shape[1])))
OFF.mutant("wrong sign", lambda value: -value)
OFF.mutant("the diagonal too", "ones(n, n) - eye(n) -> ones(n, n)")

PAIR = Claim(LESS, "norms.product-of-two-weights", label="Product of two weights", name="the product of two of several weights",
    statement=r"p_jp_k \le \tfrac14\Big(\sum_lp_l\Big)^2\text{ for } j\ne k\text{ and } p\ge0", sizes=("n",),
    relation=AtMost(left="the largest p_j p_k with j != k"))  # fmt: skip


@PAIR.formula
def quarter_of_the_square(x: Annotated[Any, Shape("1", "n")]) -> Any:
    """(sum_l p_l)^2 / 4, a scalar; p_l = x_l^2."""
    return total(x * x) ** 2 * rational(1, 4)


PAIR.oracle(lambda x: maximum((x * x).T @ (x * x) * (ones(x.shape[1], x.shape[1]) - eye(x.shape[1]))))
PAIR.mutant("nine tenths", lambda value: value * rational(9, 10))
PAIR.mutant("a ninth", "rational(1, 4) -> rational(1, 9)")

THIRD = Claim(RULES, "norms.third-central-moment", label="Third central moment", name="a bound of the third central moment",
    statement=r"""|x^\top Gx| \le \frac{\sqrt6}9\|x\|_2^3,\quad G = \operatorname{diag}v - vp^\top - pv^\top,\quad v =
        (\operatorname{diag}p - pp^\top)x,\quad p = \operatorname{softmax}(t)^\top""",
    assumptions=[AT_LEAST_TWO], relation=AtMost(left="|x^T G x|"), sizes={"n": (2, 4)},
    note=r"""$x^\top Gx = \sum_kp_k(x_k - p^\top x)^3$, at most $(\max x - \min x)^3/(6\sqrt3)$ in size, and $\max x - \min x
        \le \sqrt2\|x\|_2$. Attained by $x = (1, -1)$ with the weights $(1 \mp 1/\sqrt3)/2$.""")  # fmt: skip


@THIRD.formula
def bound_of_third_moment(t: RowLogits, x: Column) -> Any:
    """sqrt(6) ||x||_2^3 / 9, a scalar."""
    size = frobenius_norm(x)
    return size * size * size * sqrt(6) * rational(1, 9)


@THIRD.oracle
def third_moment(t: RowLogits, x: Column) -> Any:
    """|x^T G x|, a scalar."""
    p = softmax(t).T
    C = covariance(p.T)
    v = C @ x
    return absolute(total(x.T @ (diag(v) - v @ p.T - p @ v.T) @ x))


@THIRD.domain("two opposite numbers, near the largest skewness")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Weights (1 - 1/sqrt 3)/2 and (1 + 1/sqrt 3)/2 to three digits, none on what is left."""
    arrays["t"][:], arrays["x"][:] = -32.0, 0.0
    arrays["t"][:, 0, :2] = 0.0, 1.3125
    arrays["x"][:, :2, 0] = rng.choice([-1.0, 1.0], (len(arrays["x"]), 1)) * (1.0, -1.0)


THIRD.mutant("nine tenths", lambda value: value * rational(9, 10))
THIRD.mutant("quadratic", lambda x: total(x * x) * sqrt(6) * rational(1, 9))

RANK = Claim(RULES, "norms.rank", label="Norms of a matrix of known rank", name="spectral and Frobenius norm of a product",
    statement=r"\|AB\|_F \le \sqrt n\,\|AB\|_2\text{ for } n \text{ columns of } A", relation=AtMost(left="||AB||_F"),
    sizes=("m", "n", "p"))  # fmt: skip


@RANK.formula
def root_of_inner_size(A: Matrix, B: Next) -> Any:
    """sqrt(n) ||AB||_2, a scalar."""
    return sqrt(A.shape[1]) * spectral_norm(A @ B)


RANK.oracle(lambda A, B: frobenius_norm(A @ B))
RANK.mutant("nine tenths", lambda value: value * rational(9, 10))
RANK.mutant("no size", "sqrt(A.shape[1]) -> 1")

SERIES = Claim(SMALL, "norms.series-of-an-exponential", label="Series of an exponential", sizes=("n",),
    statement=r"""\Big\|\sum_{k\ge1}\frac{P^{k-1}C}{k!}\Big\|_2 \le \|C\|_2\frac{e^a - 1}{a},\ a = \|P\|_2,\text{ a block of
        }\exp\begin{bmatrix}P&C\\0&0\end{bmatrix}""",
    assumptions=[Assumption("P is not 0", positive=lambda P: total(P * P))],
    name="norm of the factored series of an exponential", relation=AtMost(left="the norm of the block"))  # fmt: skip


@SERIES.formula
def mean_exponential_times_norm(P: Square, C: Square) -> Any:
    """||C||_2 (e^a - 1) / a with a = ||P||_2, a scalar."""
    a = spectral_norm(P)
    return spectral_norm(C) * ((exp(a) - 1) / a)


SERIES.oracle(lambda P, C: spectral_norm(corner_of_exponential(P, C, 0 * P)))
SERIES.mutant("the first term", "(exp(a) - 1) / a -> 1")
SERIES.mutant("half of the exponent", "spectral_norm(P) -> spectral_norm(P) * rational(1, 2)")

MEAN = Claim(RULES, "norms.mean-exponential", label="Mean of exponentials", name="growth of the mean of exponentials",
    statement=r"\frac{e^a - 1}{a} \le \frac{e^b - 1}{b}\text{ for } 0 < a \le b", sizes={},
    assumptions=[Assumption("0 < a", positive=lambda a: a), Assumption("a <= b", nonnegative=lambda a, b: b - a)],
    relation=AtMost(left="(e^a - 1) / a"), all_sizes=True)  # fmt: skip


@MEAN.inputs
def ordered(a: Positive, more: Annotated[Any, Real(0.0, 4.0)]) -> dict[str, Any]:
    return {"a": a, "b": a + more}


@MEAN.formula
def mean_exponential(b: Positive) -> Any:
    """(e^b - 1) / b, a scalar."""
    return (exp(b) - 1) / b


MEAN.oracle(lambda a: (exp(a) - 1) / a)
MEAN.mutant("nine tenths", lambda value: value * rational(9, 10))
MEAN.mutant("half of the exponent", "exp(b) -> exp(b * rational(1, 2))")
