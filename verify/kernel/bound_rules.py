"""Expressions in certificates of bounds, and the table of rules: each says that one scalar is at most another.

A rule takes matrices and gives both sides, and conditions that have to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from verify.kernel import quantities as q
from verify.kernel import smallest_values, varying
from verify.kernel.exponential_rules import EXPONENTIAL_RULES, is_skew, rotation
from verify.kernel.polynomials import is_concave, odd, rational, slope, stays_below, stays_within
from verify.kernel.quantities import Index, Matrix, Scalar, norm, number
from verify.kernel.refusal import Refused
from verify.kernel.smallest_values import EIGENVALUE, SHIFT, SMALLEST, shift, smallest, smallest_eigenvalue
from verify.kernel.softmax_rules import SOFTMAX_RULES, covariance, largest_value, others, weight_beside

HALF = Fraction(1, 2)
PROPERTIES = (
    "is symmetric", "is skew", "has orthonormal columns", "has orthonormal rows", "has singular values at most 1",
    "has Frobenius norm at most 1", "has unit rows", "has a symmetric part without positive eigenvalues",
)  # fmt: skip


def two(A: Matrix) -> Scalar:
    return norm("2", A)


def fro(A: Matrix) -> Scalar:
    return norm("F", A)


def big(A: Matrix) -> Scalar:
    return norm("max", A)


# -- expressions -------------------------------------------------------------------------------------------------------


def concatenated(*blocks: Matrix) -> Matrix:
    """Blocks on top of each other."""
    total = sum((A.rows for A in blocks[1:]), blocks[0].rows)
    found, start = q.zeros(total, blocks[0].columns), number(0)
    for A in blocks:
        found, start = found + q.embedding(total, A.rows, start) @ A, start + A.rows
    return found


def opaque(kind: str, rows: Scalar, columns: Scalar, *data: Any) -> Matrix:
    """A matrix of which only rules say something."""
    if kind not in OPAQUE or (kind in q.SYMMETRIC and rows != columns):
        raise Refused(f"no matrix {kind!r}")
    if kind == "derivative":
        return shaped(varying.derivative_of(*data), rows, columns)
    return q.atom(kind, rows, columns, *data)


OPAQUE = (
    "ones", "permutation", "row norms", "projection", "rows as diagonals", "rows as outer products", "iterate",
    "derivative", "mean of rotations", "exponential differential", "softmax differential",
    "iterate differential", "normalised differential", "direction",
)  # fmt: skip


def shaped(A: Matrix, rows: Scalar, columns: Scalar) -> Matrix:
    if (A.rows, A.columns) != (rows, columns):
        raise Refused("a matrix of another shape")
    return A


def reshaped(A: Matrix, rows: Scalar, columns: Scalar) -> Matrix:
    if rows * columns != A.rows * A.columns:
        raise Refused("a shape for another number of entries")
    return q.linear("reshape", A, rows, columns)


def scalar(x: Scalar) -> Scalar:
    if not isinstance(x, Scalar):
        raise Refused("no scalar")
    return x


def multiplied(first: Any, *rest: Any) -> Any:
    for other in rest:
        first = first @ other if isinstance(first, Matrix) else first * other
    return first


def _function(name: str, A: Matrix) -> Matrix:
    if name not in (*q.ENTRYWISE, *q.ROWWISE, "exponential", "inverse"):
        raise Refused(f"no function {name!r}")
    return q.applied(name, A)


HEADS: dict[str, Callable[..., Any]] = {
    # scalars
    "+": lambda *parts: sum(parts[1:], parts[0]),
    "*": multiplied,
    "exp": lambda x: q.exponential(scalar(x)),
    "mean of exponentials": lambda x: q.mean_of_exponentials(scalar(x)),
    "log": lambda x: q.logarithm(scalar(x)),
    "abs": lambda x: q.absolute(scalar(x)),
    "power": lambda base, exponent: q.generator("power", base, exponent) if (base.number() or 0) > 0 else None,
    "norm": norm,
    "entry": lambda A: q.generator("entry", shaped(A, number(1), number(1))),
    "max": lambda *values: q.largest(map(scalar, values)),
    "spectral radius": lambda A: q.generator("spectral radius", shaped(A, A.rows, A.rows)),
    SMALLEST: smallest,
    EIGENVALUE: smallest_eigenvalue,
    SHIFT: shift,
    "largest value": largest_value,
    "weight off the diagonal": weight_beside,
    "max over": lambda index, value: q.over("max over", index, scalar(value)),
    "sum over": lambda index, value: q.over("sum over", index, scalar(value)),
    # matrices
    "zeros": q.zeros,
    "identity": q.identity,
    "sum": lambda *terms: sum(
        (A.times(c) for c, A in zip(terms[2::2], terms[3::2], strict=True)), terms[1].times(terms[0])
    ),
    "product": multiplied,
    "transpose": lambda A: A.T,
    "entrywise": lambda A, B: q.bilinear("entrywise", A, B),
    "kronecker": lambda A, B: q.bilinear("kronecker", A, B),
    "diagonal": lambda v: q.linear("diagonal", shaped(v, v.rows, number(1)), v.rows, v.rows),
    "reshape": reshaped,
    "rows": q.selected,
    "other columns": others,
    "part": lambda index: ("part", index),  # where the part of rows that has this number begins
    "embedding": q.embedding,
    "concatenate": concatenated,
    "stack": lambda index, A: q.linear("stack", A, index.size * A.rows, A.columns, index),
    "block diagonal": lambda index, A: q.linear(
        "block diagonal", A, index.size * A.rows, index.size * A.columns, index
    ),
    "sum of matrices": lambda index, A: q.linear("sum over", A, A.rows, A.columns, index),
    "function": _function,
    "opaque": opaque,
}


# -- rules -------------------------------------------------------------------------------------------------------------

Instance = tuple[Any, ...]  # left and right side, and conditions


def has(A: Matrix, property: str) -> bool:
    """Whether a matrix is an input that is declared to have a property."""
    return q.is_input(q.single_atom(A, "input"), property)


def covariances(T: Matrix) -> Matrix:
    p, size = q.applied("softmax", T), T.rows * T.columns
    return opaque("rows as diagonals", size, size, p) - opaque("rows as outer products", size, size, p)


RULES: dict[str, tuple[str, Callable[..., Instance]]] = SOFTMAX_RULES | EXPONENTIAL_RULES | {
    "triangle inequality": (
        "||A + B + ...|| <= ||A|| + ||B|| + ...",
        lambda kind, *terms: (norm(kind, sum(terms[1:], terms[0])), sum((norm(kind, A) for A in terms), number(0))),
    ),
    "sum over an index": (
        "||sum_i A_i|| <= sum_i ||A_i||",
        lambda kind, i, A: (norm(kind, HEADS["sum of matrices"](i, A)), q.over("sum over", i, norm(kind, A))),
    ),
    "sum of rows": (
        "||1^T A|| <= sum_i ||row i of A||",
        lambda kind, i, A: (
            norm(kind, q.atom("ones", number(1), A.rows) @ A),
            q.over("sum over", i, norm(kind, q.selected(A, i, number(1)))),
            i.size == A.rows and i not in A.free,
        ),
    ),
    "product": ("||AB||_2 <= ||A||_2 ||B||_2", lambda A, B: (two(A @ B), two(A) * two(B))),
    "product, left": ("||AB||_F <= ||A||_2 ||B||_F", lambda A, B: (fro(A @ B), two(A) * fro(B))),
    "product, right": ("||AB||_F <= ||A||_F ||B||_2", lambda A, B: (fro(A @ B), fro(A) * two(B))),
    "number among the factors": (
        "||A c B|| <= |c| ||AB|| for a number c",
        lambda kind, A, c, B: (norm(kind, A @ c @ B), fro(c) * norm(kind, A @ B), c.rows == c.columns == number(1)),
    ),
    "entrywise product": (
        "||A o B||_F <= max|A| ||B||_F", lambda A, B: (fro(q.bilinear("entrywise", A, B)), big(A) * fro(B)),
    ),
    "diagonal of a column": (
        "diag(v) x = v o x for columns v and x",
        lambda kind, v, x: (
            norm(kind, HEADS["diagonal"](v) @ x), norm(kind, q.bilinear("entrywise", v, x)), x.columns == number(1),
        ),
    ),
    "Kronecker product": (
        "||A (x) B|| <= ||A|| ||B||",
        lambda kind, A, B: (norm(kind, q.bilinear("kronecker", A, B)), norm(kind, A) * norm(kind, B)),
    ),
    "spectral at most Frobenius": ("||A||_2 <= ||A||_F", lambda A: (two(A), fro(A))),
    "row norms": (
        "||(||a_1||, ..., ||a_m||)|| <= ||A||_F for the rows a_i of A",
        lambda A: (fro(opaque("row norms", A.rows, number(1), A)), fro(A)),
    ),
    "rank": ("||AB||_F <= sqrt(r) ||AB||_2 for r columns of A", lambda A, B: (fro(A @ B), A.columns**HALF * two(A @ B))),
    "largest entry": ("max|A| <= ||A||_2", lambda A: (big(A), two(A))),
    "largest of all entries": ("||A||_F <= sqrt(m n) max|A|", lambda A: (fro(A), (A.rows * A.columns) ** HALF * big(A))),
    "block": (
        "some of the rows have no larger norm than all",
        lambda kind, A, start, count: (norm(kind, q.selected(A, start, count)), norm(kind, A)),
    ),
    "blocks": (
        "||[A; B; ...]||^2 <= ||A||^2 + ||B||^2 + ...",
        lambda kind, *parts: (
            norm(kind, concatenated(*parts)),
            sum((norm(kind, A) ** 2 for A in parts), number(0)) ** HALF,
            kind in ("2", "F"),
        ),
    ),
    "stack": (
        "||[A_1; ...; A_n]||^2 <= ||A_1||^2 + ... + ||A_n||^2",
        lambda kind, i, A: (
            norm(kind, HEADS["stack"](i, A)), q.over("sum over", i, norm(kind, A) ** 2) ** HALF, kind in ("2", "F"),
        ),
    ),
    "squares of blocks": (
        "||A||_F^2 + ||B||_F^2 + ... = ||[A; B; ...]||_F^2",
        lambda *parts: (sum((fro(A) ** 2 for A in parts), number(0)), fro(concatenated(*parts)) ** 2),
    ),
    "squares of a stack": (
        "||A_1||_F^2 + ... + ||A_n||_F^2 = ||[A_1; ...; A_n]||_F^2",
        lambda i, A: (q.over("sum over", i, fro(A) ** 2), fro(HEADS["stack"](i, A)) ** 2),
    ),
    "stack of one length": (
        "||[A_1; ...; A_n]|| <= sqrt(n) max_i ||A_i||",
        lambda kind, i, A: (
            norm(kind, HEADS["stack"](i, A)), i.size**HALF * q.over("max over", i, norm(kind, A)), kind in ("2", "F"),
        ),
    ),
    "block diagonal": (
        "||diag(A_1, ..., A_n)||_2 <= max_i ||A_i||_2",
        lambda i, A: (two(HEADS["block diagonal"](i, A)), q.over("max over", i, two(A))),
    ),
    "softmax row": ("||softmax(T)||_F <= sqrt(m)", lambda T: (fro(q.applied("softmax", T)), T.rows**HALF)),
    "softmax is 1/2-Lipschitz": (
        "||softmax(S) - softmax(T)||_F <= ||S - T||_F / 2",
        lambda S, T: (fro(q.applied("softmax", S) - q.applied("softmax", T)), number(HALF) * fro(S - T)),
    ),
    "covariance of a softmax row": (
        "||diag(p) - p^T p||_2 <= 1/2 for a softmax row p",
        lambda t: (two(covariance(t)), number(HALF), t.rows == number(1)),
    ),
    "relu": (
        "||relu(A) - relu(B)|| <= ||A - B||, Frobenius norms or largest entries",
        lambda kind, A, B: (norm(kind, q.applied("relu", A) - q.applied("relu", B)), norm(kind, A - B), kind in ("F", "max")),
    ),
    "gate": (
        "||A o step(B)|| <= ||A||, Frobenius norms or largest entries",
        lambda kind, A, B: (norm(kind, q.bilinear("entrywise", A, q.applied("step", B))), norm(kind, A), kind in ("F", "max")),
    ),
    "largest of open gates": ("max step(A) <= 1", lambda A: (big(q.applied("step", A)), number(1))),
    "antisymmetric product": (
        "||A B^T - B A^T||_2 <= ||[A, B]||_2^2",
        lambda A, B: (two(A @ B.T - B @ A.T), two(concatenated(A.T, B.T)) ** 2),
    ),
    "orthonormal": (
        "||W||_2 <= 1 for W with orthonormal columns or rows, or singular values at most 1",
        lambda W: (two(W), number(1), any(has(W, p) for p in PROPERTIES[2:5])),
    ),
    "unit direction": (
        "||D||_F <= 1 for a unit direction D",
        lambda D: (fro(D), number(1), has(D, PROPERTIES[5]) or q.single_atom(D, "direction") is not None),
    ),
    "unit rows": (
        "||U||_F <= sqrt(m) for U with unit rows",
        lambda U: (fro(U), U.rows**HALF, has(U, PROPERTIES[6]) and not q.single_atom(U, "input")[1]),
    ),
    "normalised rows": (
        "||A||_F <= sqrt(m) for m rows of length 1", lambda A: (fro(q.applied("normalised rows", A)), A.rows**HALF),
    ),
    "unit row and its skew image": (
        "||x + c x S||^-1 = (1 + c^2 ||x S||^2)^(-1/2) for a unit row x and a skew S, as x and x S are orthogonal",
        lambda x, c, S: (
            fro(x + (x @ S).times(c)) ** -1, (number(1) + c**2 * fro(x @ S) ** 2) ** -HALF,
            has(x, PROPERTIES[6]) and not q.single_atom(x, "input")[1] and x.rows == number(1) and is_skew(S),
        ),
    ),
    "projection": (
        "||I - a^T a / ||a||^2||_2 <= 1",
        lambda a: (two(opaque("projection", a.columns, a.columns, a)), number(1), a.rows == number(1)),
    ),
    "Gram matrix of a contraction": (
        "||I - A^T A||_2 <= 1 for ||A||_2 <= 1, as its eigenvalues are 1 less the squares of singular values, and perhaps 1",
        lambda A: (two(q.identity(A.columns) - A.T @ A), number(1), (two(A), number(1))),
    ),
    "permutation": ("||P||_2 <= 1", lambda P: (two(P), number(1), q.single_atom(P, "permutation") is not None)),
    "mean of rotations": ("||int_0^1 exp(t S) dt||_2 <= 1 for skew S", lambda S: (two(mean(S)), number(1), is_skew(S))),
    "rotation by its mean": (
        "exp(S) - I = S int_0^1 exp(t S) dt",
        lambda kind, A, S, B: (norm(kind, A @ (rotation(S) - q.identity(S.rows)) @ B), norm(kind, A @ S @ mean(S) @ B)),
    ),
    "rotation by its mean, reversed": (
        "exp(S) - I = int_0^1 exp(t S) dt S",
        lambda kind, A, S, B: (norm(kind, A @ (rotation(S) - q.identity(S.rows)) @ B), norm(kind, A @ mean(S) @ S @ B)),
    ),
    "exponential of a dissipative matrix": (
        "||exp(c M)||_2 <= 1 for c >= 0 and M with x^T M x <= 0",
        lambda c, M: (two(rotation(M.times(c))), number(1), q.is_nonnegative(c) and has(M, PROPERTIES[7])),
    ),
    "polynomial of a contraction": (
        "||M p(M^T M) M^T||_2 <= c for ||M||_2 <= 1, where |x p(x)| <= c - k (x - r)^2 on [0, 1], k >= 0",
        lambda M, c, k, r, *p: (
            two(polynomial(M, p) @ M.T), c, stays_below(p, *map(rational, (c, k, r))), (two(M), number(1)),
        ),
    ),
    "Gram matrix of a rotation": (
        "D + D^T + D^T D = A R^T (A^T A - I) R A^T for D = A R A^T, R = exp(S) - I, skew S",
        lambda kind, A, S: (norm(kind, gram_defect(A, S)), norm(kind, gram_factored(A, S)), is_skew(S)),
    ),
    "Cauchy-Schwarz": (
        "sum_i ||a_i|| <= sqrt(m) ||A||_F for the rows a_i of A",
        lambda i, A: (
            q.over("sum over", i, fro(q.selected(A, i, number(1)))), A.rows**HALF * fro(A), i.size == A.rows and i not in A.free,
        ),
    ),
    "squares of rows": (
        "sum_i ||a_i||^2 = ||A||_F^2 for the rows a_i of A",
        lambda i, A: (
            q.over("sum over", i, fro(q.selected(A, i, number(1))) ** 2), fro(A) ** 2, i.size == A.rows and i not in A.free,
        ),
    ),
    "sum of absolute values": (
        "sum_i |e_i| is the sum of all entries of |e| for a column e",
        lambda i, A: (
            q.over("sum over", i, fro(q.selected(A, i, number(1)))), total(A),
            i.size == A.rows and i not in A.free and A.columns == number(1),
        ),
    ),
    "sum of all absolute values": ("||A||_F <= sum_ij |A_ij|", lambda A: (fro(A), total(A))),
    "lengths of rows and columns": (
        "max|A B^T| <= max_i ||a_i|| max_j ||b_j|| for the rows a_i of A and b_j of B",
        lambda i, A, j, B: (
            big(A @ B.T), longest_row(i, A) * longest_row(j, B),
            i.size == A.rows and i not in A.free and j.size == B.rows and j not in B.free,
        ),
    ),
    "Cauchy-Schwarz for all entries": (
        "sum_ij |A_ij| <= sqrt(m n) ||A||_F", lambda A: (total(A), (A.rows * A.columns) ** HALF * fro(A)),
    ),
    "softmax in the 1-norm": (
        "sum_ij |softmax(S) - softmax(T)|_ij <= m max|S - T|",
        lambda S, T: (total(q.applied("softmax", S) - q.applied("softmax", T)), S.rows * big(S - T)),
    ),
    "iterate": (
        "||iterate||_2 <= 1 of M -> M p(M^T M) from M with ||M||_2 <= 1, where |s p(s^2)| <= 1 on [0, 1]",
        lambda M, count, *p: (two(iterate(M, count, *p)), number(1), stays_within(odd(p), 1), (two(M), number(1))),
    ),
    "largest over an index": ("a_i <= max_i a_i", lambda i, value: (value, q.over("max over", i, value))),
    "one of a stack": (
        "||X_k|| <= max_i ||X_i|| for inputs X_i and a number or an index k",
        lambda kind, i, A, B: (norm(kind, B), q.over("max over", i, norm(kind, A)), is_one_of(B, A, i)),
    ),
    "covariances of softmax rows": (
        "||blockdiag(diag(p_i) - p_i^T p_i)||_2 <= 1/2 for the rows p_i of a softmax",
        lambda T: (two(covariances(T)), number(HALF)),
    ),
    "root of a sum of squares": (
        "a <= sqrt(a^2 + b) for b >= 0",
        lambda a, b: (a, (a**2 + b) ** HALF, q.is_nonnegative(b)),
    ),
    "sum": (
        "a <= b for a sum a, in a root or a quotient",
        lambda a, b: (Scalar({frozenset({(("sum", a), Fraction(1))}): Fraction(1)}), b, (a, b)),
    ),
    "integral of orthogonal matrices": (
        "||int_0^1 exp((1 - s) P) exp(s R) ds||_2 <= 1, a block of exp [[P, I], [0, R]], for skew P and R",
        lambda P, R: (two(corner(P, q.identity(P.rows), R)), number(1), is_skew(P) and is_skew(R)),
    ),
    "series of an exponential": (
        "||C + P C / 2! + P^2 C / 3! + ...||_2 <= ||C||_2 int_0^1 e^(t ||P||_2) dt, a block of exp [[P, C], [0, 0]]",
        lambda P, C: (two(corner(P, C, q.zeros(C.columns, C.columns))), two(C) * q.mean_of_exponentials(two(P))),
    ),
    **smallest_values.RULES,
    "smallest singular value of blocks": (
        "sqrt(sigma_min(A)^2 + sigma_min(B)^2 + ...) <= sigma_min([A; B; ...]) where no block has more columns than rows",
        lambda *parts: (
            sum((smallest(A) ** 2 for A in parts), number(0)) ** HALF, smallest(concatenated(*parts)),
            *map(smallest_values.is_tall, parts),
        ),
    ),
    "spectral radius": ("|lambda(A)| <= ||A||_2", lambda A: (HEADS["spectral radius"](A), two(A))),
    "derivative along a unit direction": (
        "||d vec f / d vec X||_2 = ||df||_F along some direction with ||dX||_F <= 1",
        lambda J: (two(J), fro(varying.along(J, direction(J)))),
    ),
    "derivative of a sum": (
        "d vec(c A + d B + ...) = c d vec A + d d vec B + ...",
        lambda kind, L, J, R: (norm(kind, L @ J @ R), norm(kind, L @ varying.termwise(J, False) @ R)),
    ),
    "derivative of a sum of products": (
        "d vec(c A f B + ...) = c (A (x) B^T) d vec f + ... by rows, (B^T (x) A) by columns, for fixed A and B",
        lambda kind, L, J, R: (norm(kind, L @ J @ R), norm(kind, L @ varying.termwise(J, True) @ R)),
    ),
    "chain rule": (
        "d vec(A f B) = (A (x) B^T) d vec f by rows, (B^T (x) A) d vec f by columns",
        lambda kind, L, A, J, B, R: tuple(norm(kind, L @ side @ R) for side in varying.chain(A, J, B)),
    ),
    "product rule": (
        "d vec(F X C) - C^T (x) F = ((X C)^T (x) I) d vec F by columns, for the variable X and a fixed C",
        lambda kind, F, J, C: tuple(norm(kind, side) for side in varying.product(F, J, C)),
    ),
    "chain rule of normalised rows": (
        "d vec f = blockdiag_i((I - y_i^T y_i / |y_i|^2) / |y_i|) d vec Y for the normalised rows f of Y",
        lambda kind, i, L, J, R: (norm(kind, L @ J @ R), norm(kind, L @ varying.chain_of_rows(J, i) @ R)),
    ),
    "differential of the exponential": (
        "||d exp(S)|| <= ||dS|| for skew S",
        lambda kind, S, dS: (
            norm(kind, opaque("exponential differential", S.rows, S.rows, S, dS)), norm(kind, shaped(dS, S.rows, S.rows)),
            is_skew(S) and kind in ("2", "F"),
        ),
    ),
    "differential of softmax": (
        "||d softmax(T)||_F <= max_i ||diag(p_i) - p_i^T p_i||_2 ||dT||_F for the rows p_i of softmax(T)",
        lambda i, T, dT: (
            fro(opaque("softmax differential", T.rows, T.columns, T, dT)),
            q.over("max over", i, two(covariance(q.selected(T, i, number(1))))) * fro(shaped(dT, T.rows, T.columns)),
            i.size == T.rows and i not in T.free,
        ),
    ),
    "differential of a normalisation": (
        "||d(M / (||M||_F + e))||_F <= ||dM||_F / e for e > 0",
        lambda M, dM, e: (
            fro(opaque("normalised differential", M.rows, M.columns, M, dM, e)), fro(shaped(dM, M.rows, M.columns)) * e**-1,
            q.is_positive(e),
        ),
    ),
    "differential of an iteration beside its start": (
        "||d iterate M^T||_F, ||d iterate^T M||_F <= sqrt(2) ||dM||_F from ||M||_2 <= 1, where g = s p(s^2) has g(1) <= 1, and "
        "g' >= 0 and g'' <= 0 on [0, 1]",
        lambda side, M, dM, count, *p: (
            fro(beside(side, opaque("iterate differential", M.rows, M.columns, M, dM, count, *p), M)),
            number(2) ** HALF * fro(shaped(dM, M.rows, M.columns)), is_concave(odd(p)), (two(M), number(1)),
        ),
    ),
    "differential of an iteration in the frame of its start": (
        "||A dB^T S C||_F <= sqrt(2) ||A||_2 ||C||_2 ||N||_2 ||dN||_F, and ||A dB B^T S C||_F ||B||_2 times that at most, for "
        "S = P R^T - R P^T = N J N^T with N = [P R] and ||J||_2 = 1, and the iterate B of N / (||N||_F + e), e > 0, as beside its "
        "start; dN / (||N||_F + e) is no smaller than the change of the start, and B^T N = N^T B",
        lambda side, A, P, R, C, dN, e, count, *p: (*in_frame(side, A, P, R, C, dN, e, count, *p), is_concave(odd(p))),
    ),
    "differential of an iteration": (
        "||d iterate||_F <= c^K ||dM||_F after K steps M -> M p(M^T M) from ||M||_2 <= 1, where g = s p(s^2) has |g| <= 1 and "
        "|g'| <= c on [0, 1]",
        lambda c, M, dM, count, *p: (
            fro(opaque("iterate differential", M.rows, M.columns, M, dM, count, *p)),
            power(c, count) * fro(shaped(dM, M.rows, M.columns)),
            stays_within(odd(p), 1) and stays_within(slope(odd(p)), rational(c)), (two(M), number(1)),
        ),
    ),
}  # fmt: skip


def is_one_of(B: Matrix, A: Matrix, i: Index) -> bool:
    """Whether A is an input X_i of a stack, and B the X_k of a number k, or of an index that runs as far as i does."""
    one, other = q.single_atom(A, "input"), q.single_atom(B, "input")
    if one is None or other is None or one[5] != (i,) or (*one[:5], *one[6:]) != (*other[:5], *other[6:]):
        return False
    (k,) = other[5]
    if isinstance(k, Index):
        return k.size == i.size
    return isinstance(k, Scalar) and q.is_whole(k) and q.is_nonnegative(i.size - k - number(1))


def corner(P: Matrix, C: Matrix, R: Matrix) -> Matrix:
    """The upper right block of exp [[P, C], [0, R]]."""
    whole = concatenated(concatenated(P.T, C.T).T, concatenated(q.zeros(P.columns, R.rows), R.T).T)
    return q.selected(q.selected(rotation(whole), number(0), P.rows).T, P.rows, C.columns).T


def beside(side: Any, dB: Matrix, M: Matrix) -> Matrix:
    return dB @ M.T if side == "rows" else dB.T @ M


def longest_row(i: Index, A: Matrix) -> Scalar:
    """max_i ||a_i|| for the rows a_i of A."""
    return q.over("max over", i, fro(q.selected(A, i, number(1))))


def in_frame(
    side: str, A: Matrix, P: Matrix, R: Matrix, C: Matrix, dN: Matrix, e: Scalar, *data: Any
) -> tuple[Scalar, Scalar]:
    """A dB B^T S C ("rows"), or A dB^T S C, in the Frobenius norm, and its bound."""
    if not q.is_positive(e):
        raise Refused("a start that may be larger than 1")
    N = concatenated(P.T, R.T).T
    M = N.times((fro(N) + e) ** -1)
    dM = opaque("normalised differential", N.rows, N.columns, N, shaped(dN, N.rows, N.columns), e)
    dB, B = opaque("iterate differential", N.rows, N.columns, M, dM, *data), iterate(M, *data)
    S, moved = P @ R.T - R @ P.T, dB @ B.T if side == "rows" else dB.T
    bound = number(2) ** HALF * two(A) * two(C) * two(N) * fro(dN)
    return fro(A @ moved @ S @ C), bound * two(B) if side == "rows" else bound


def total(A: Matrix) -> Scalar:
    return norm("1", A)


def power(base: Scalar, exponent: Scalar) -> Scalar:
    """A power of a positive rational number, as the quotient of powers of whole numbers."""
    value = rational(base)
    parts = [
        q.generator("power", number(n), exponent) if n > 1 else number(1) for n in (value.numerator, value.denominator)
    ]
    return parts[0] * parts[1] ** -1


def direction(J: Matrix) -> Matrix:
    """A direction, of norm at most 1, along which the value of a derivative moves by the norm of this."""
    P = varying.derivative(J)[1]
    return opaque("direction", P.rows, P.columns, J)


def polynomial(M: Matrix, p: Sequence[Scalar]) -> Matrix:
    """M p(M^T M)."""
    found, power = q.zeros(M.rows, M.columns), M
    for c in p:
        found, power = found + power.times(c), power @ M.T @ M
    return found


def iterate(M: Matrix, *data: Any) -> Matrix:
    return opaque("iterate", M.rows, M.columns, M, *data)


def mean(S: Matrix) -> Matrix:
    return opaque("mean of rotations", S.rows, S.columns, S)


def gram_defect(A: Matrix, S: Matrix) -> Matrix:
    D = A @ (rotation(S) - q.identity(S.rows)) @ A.T
    return D + D.T + D.T @ D


def gram_factored(A: Matrix, S: Matrix) -> Matrix:
    R = rotation(S) - q.identity(S.rows)
    return A @ R.T @ (A.T @ A - q.identity(A.columns)) @ R @ A.T
