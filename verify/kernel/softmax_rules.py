"""Rules about softmax matrices beside the identity and equal weights, by gaps and ranges of their logits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from verify.kernel import quantities as q
from verify.kernel.quantities import Index, Matrix, Scalar, norm, number
from verify.kernel.refusal import Refused
from verify.kernel.smallest_values import smallest

HALF = Fraction(1, 2)


def largest_value(A: Matrix) -> Scalar:
    """The largest of the entries of a matrix, of any sign."""
    content = q.content_of(A) if A.terms else number(1)
    if not q.is_nonnegative(content):
        content = number(1)
    core = A.divided(content)
    return content * q.generator("largest value", frozenset({core, core.T})) if A.terms else number(0)


def weight_beside(T: Matrix) -> Scalar:
    """The largest softmax(T)_ij with i != j for square logits, 0 where there is none."""
    if T.rows != T.columns:
        raise Refused("weights beside the diagonal of what is not square")
    return q.generator("weight off the diagonal", T)


def others(i: Any, n: Scalar) -> Matrix:
    """The identity without column i, shape (n, n - 1): A times this is A without column i."""
    if not isinstance(i, Index) or i.size != n or not q.is_whole(n - number(1), 1):
        raise Refused("a matrix without a column that it may not have")
    return q.atom("other columns", n, n - number(1), i)


def relative(t: Matrix, i: Any) -> Matrix:
    """t_j - t_i for all j but i, for a row t."""
    if t.rows != number(1):
        raise Refused("gaps of several rows")
    n = t.columns
    return t @ others(i, n) - t @ q.embedding(n, number(1), i) @ q.atom("ones", number(1), n - number(1))


def of_rows(T: Matrix, i: Any, value: Callable[[Matrix], Scalar]) -> Scalar:
    """The largest over all rows of T of a number of each, which is c times as large for c T and c >= 0."""
    if not isinstance(i, Index) or i.size != T.rows or i in T.free:
        raise Refused("an index that is not one of the rows")
    content = q.content_of(T) if T.terms else number(1)
    content = content if q.is_nonnegative(content) else number(1)
    return content * q.over("max over", i, value(q.selected(T.divided(content), i, number(1))))


def gap(T: Matrix, i: Any) -> Scalar:
    """max_i max_{j != i} (T_ij - T_ii) for square T of at least two rows."""
    return of_rows(T, i, lambda t: largest_value(relative(t, i)))


def spread(T: Matrix, i: Any) -> Scalar:
    """max_i (max_j T_ij - min_j T_ij)."""
    return of_rows(T, i, lambda t: largest_value(t) + largest_value(t.times(number(-1))))


def near_uniform(T: Matrix) -> Scalar:
    weights = q.applied("softmax", T)
    return norm("F", weights - q.atom("ones", T.rows, T.columns).times(T.columns**-1))


def root_of_ratio(T: Matrix) -> Scalar:
    """sqrt(m / n) for the shape (m, n)."""
    return number(1) if T.rows == T.columns else (T.rows * T.columns**-1) ** HALF


def sinh(t: Scalar) -> Scalar:
    return (q.exponential(t) - q.exponential(t * number(-1))) * number(HALF)


def weights_less(t: Matrix, i: Any) -> Scalar:
    """sum_{j != i} p_j for the softmax p of one row of logits."""
    return norm("1", weights(t) @ others(i, t.columns))


def weights(t: Matrix) -> Matrix:
    """The softmax p of one row of logits."""
    if t.rows != number(1):
        raise Refused("weights of several rows")
    return q.applied("softmax", t)


def off_the_diagonal(A: Matrix) -> Matrix:
    """A square matrix with 0 on its diagonal."""
    return q.bilinear("entrywise", A, q.atom("ones", A.rows, A.columns) - q.identity(A.rows))


def covariance(t: Matrix) -> Matrix:
    """diag(p) - p^T p for the softmax row p of one row of logits."""
    p = weights(t)
    return q.linear("diagonal", p.T, p.columns, p.columns) - p.T @ p


def third_moment(t: Matrix, x: Matrix) -> Matrix:
    """x^T (diag(v) - v p^T - p v^T) x for v = (diag(p) - p p^T) x, sum_k p_k (x_k - p^T x)^3, for the softmax p of one row."""
    p, v = weights(t), covariance(t) @ x
    return x.T @ (q.linear("diagonal", v, v.rows, v.rows) - v @ p - p.T @ v.T) @ x


SOFTMAX_RULES: dict[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "distance from equal entries": (
        "sigma_min(A) <= ||A - c 1 1^T||_F / sqrt(n - 1) for A of shape (n, n), as c 1 1^T has rank one (Eckart and Young)",
        lambda A, c: (
            smallest(A),
            norm("F", A - q.atom("ones", A.rows, A.columns).times(c)) * (A.rows - number(1)) ** -HALF,
            A.rows == A.columns and q.is_whole(A.rows - number(1), 1),
        ),
    ),
    "softmax at the vector of ones": (
        "sqrt(m / n) <= ||softmax(T)||_2, as the rows add up to one",
        lambda T: (root_of_ratio(T), norm("2", q.applied("softmax", T))),
    ),
    "softmax of larger logits": (
        "||softmax(c T)||_F <= ||softmax(d T)||_F for 0 <= c <= d, as the derivative of the sum of the squares of weights p_i by c "
        "is twice the covariance of p_i and t_i under these weights, which rise together",
        lambda c, d, T: (
            norm("F", q.applied("softmax", T.times(c))),
            norm("F", q.applied("softmax", T.times(d))),
            (number(0), c),
            (c, d),
        ),
    ),
    "range": ("0 <= max_i (max_j T_ij - min_j T_ij)", lambda i, T: (number(0), spread(T, i))),
    "softmax near equal weights": (
        "||softmax(T) - 1/n||_F <= sqrt(m / n) sinh(D / 2), D the largest range of a row of T",
        lambda i, T: (near_uniform(T), root_of_ratio(T) * sinh(spread(T, i) * number(HALF))),
    ),
    "softmax near equal weights, by a chord": (
        "||softmax(T) - 1/n||_F <= sqrt(m / n) (10/19) D for the largest range D <= 1 of a row of T, as sinh(1/2) < 10/19",
        lambda i, T: (
            near_uniform(T),
            root_of_ratio(T) * number(Fraction(10, 19)) * spread(T, i),
            (spread(T, i), number(1)),
        ),
    ),
    "weights beside the identity": (
        "||softmax(T) - I||_2 <= 2 (n - 1) max_{i != j} softmax(T)_ij for square T",
        lambda T: (
            norm("2", q.applied("softmax", T) - q.identity(T.rows)),
            number(2) * (T.rows - number(1)) * weight_beside(T),
        ),
    ),
    "columns of weights": (
        "||softmax(T)||_2^2 <= 1 + (n - 1) max_{i != j} softmax(T)_ij for square T",
        lambda T: (norm("2", q.applied("softmax", T)), (number(1) + (T.rows - number(1)) * weight_beside(T)) ** HALF),
    ),
    "weight by its gap": (
        "softmax(T)_ij <= e^g for i != j, g = max_i max_{j != i} (T_ij - T_ii)",
        lambda i, T: (weight_beside(T), q.exponential(gap(T, i))),
    ),
    "softmax row less an entry": (
        "sum_{j != i} p_j = s / (1 + s) <= 1 - 1 / (1 + (n - 1) e^g) for p = softmax(t), as s = sum_{j != i} e^(t_j - t_i) "
        "is at most (n - 1) e^g, g = max_{j != i} (t_j - t_i)",
        lambda i, t: (
            weights_less(t, i),
            number(1) - (number(1) + (t.columns - number(1)) * q.exponential(largest_value(relative(t, i)))) ** -1,
        ),
    ),
    "row of a covariance": (
        "row i of diag(p) - p^T p without p_i - p_i^2 has the entries -p_i p_j, for a softmax row p",
        lambda i, t: (
            norm("max", q.selected(covariance(t), i, number(1)) @ others(i, t.columns)),
            norm("F", weights(t) @ q.embedding(t.columns, number(1), i))
            * norm("max", weights(t) @ others(i, t.columns)),
        ),
    ),
    "covariance off the diagonal": (
        "the entries of diag(p) - p^T p off the diagonal, and not in row or column i, are -p_j p_k, and p_j p_k <= "
        "(p_j + p_k)^2 / 4 <= (sum_{l != i} p_l)^2 / 4 for j != k, for a softmax row p",
        lambda i, t: (
            norm("max", off_the_diagonal(others(i, t.columns).T @ covariance(t) @ others(i, t.columns))),
            weights_less(t, i) ** 2 * number(Fraction(1, 4)),
        ),
    ),
    "third central moment": (
        "|sum_k p_k (x_k - p^T x)^3| <= (max x - min x)^3 / (6 sqrt(3)) <= sqrt(6) / 9 ||x||^3 for weights p, a softmax",
        lambda t, x: (
            norm("F", third_moment(t, x)),
            number(Fraction(1, 9)) * number(6) ** HALF * norm("F", x) ** 3,
            x.columns == number(1),
        ),
    ),
    "covariance by the weights beside one": (
        "||diag(p) - p^T p||_2 <= 1 - sum_j p_j^2 <= 1 - p_i^2 <= 2 sum_{j != i} p_j for a softmax row p and each i",
        lambda i, t: (norm("2", covariance(t)), number(2) * weights_less(t, i)),
    ),
}
