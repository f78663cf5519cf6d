"""Certificates of bounds: a quantity on the left gives way to a bound by a rule, one after another, until it is below the right.

Nothing is searched for: which rule, of which matrices, and why the final comparison holds stands in the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from verify.kernel import quantities as q
from verify.kernel.quantities import Index, Matrix, Scalar, norm, number
from verify.kernel.refusal import Refused

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
    if kind not in OPAQUE:
        raise Refused(f"no matrix {kind!r}")
    return q.atom(kind, rows, columns, *data)


OPAQUE = (
    "ones", "permutation", "unit", "row norms", "projection", "rows as diagonals", "rows as outer products", "iterate", "derivative",
    "mean of rotations", "variances", "without column", "numbers", "exponential differential", "softmax differential",
    "iterate differential", "normalised differential",
)  # fmt: skip

MEASURES = ("spectral radius", "largest shift of singular values", "largest column sum", "largest row sum",
            "total of exponentials", "sum of absolute values", "mean of exponentials")  # fmt: skip

HEADS: dict[str, Callable[..., Any]] = {
    # scalars
    "+": lambda *parts: sum(parts[1:], parts[0]),
    "*": lambda first, *rest: _product(first, *rest),
    "exp": lambda x: q.generator("exp", x) if x.terms else number(1),
    "abs": q.absolute,
    "power": lambda base, exponent: q.generator("power", base, exponent) if (base.number() or 0) > 0 else None,
    "norm": norm,
    "entry": lambda A: q.generator("entry", A),
    "measure": lambda name, *of: q.generator("measure", name, *of) if name in MEASURES else None,
    "value": lambda name, *of: q.generator("value", name, *of),
    "max": lambda *values: q.largest(values),
    "max over": lambda index, value: q.over("max over", index, value),
    "sum over": lambda index, value: q.over("sum over", index, value),
    # matrices
    "zeros": q.zeros,
    "identity": q.identity,
    "sum": lambda *terms: sum((A.times(c) for c, A in zip(terms[2::2], terms[3::2], strict=True)), terms[1].times(terms[0])),
    "product": lambda first, *rest: _product(first, *rest),
    "transpose": lambda A: A.T,
    "entrywise": lambda A, B: q.bilinear("entrywise", A, B),
    "kronecker": lambda A, B: q.bilinear("kronecker", A, B),
    "diagonal": lambda v: q.linear("diagonal", v, v.rows, v.rows),
    "reshape": lambda A, rows, columns: q.linear("reshape", A, rows, columns),
    "rows": q.selected,
    "part": lambda index: ("part", index),  # where the part of rows that has this number begins
    "embedding": q.embedding,
    "concatenate": concatenated,
    "stack": lambda index, A: q.linear("stack", A, index.size * A.rows, A.columns, index),
    "block diagonal": lambda index, A: q.linear("block diagonal", A, index.size * A.rows, index.size * A.columns, index),
    "sum of matrices": lambda index, A: q.linear("sum over", A, A.rows, A.columns, index),
    "function": lambda name, A: _function(name, A),
    "opaque": opaque,
}


def _product(first: Any, *rest: Any) -> Any:
    for other in rest:
        first = first @ other if isinstance(first, Matrix) else first * other
    return first


def _function(name: str, A: Matrix) -> Matrix:
    if name not in (*q.ENTRYWISE, *q.ROWWISE, "exponential", "inverse"):
        raise Refused(f"no function {name!r}")
    return q.applied(name, A)


# -- rules -------------------------------------------------------------------------------------------------------------

Instance = tuple[Any, ...]  # left and right side, and conditions


def is_skew(S: Matrix) -> bool:
    return S.T == S.times(number(-1))


def has(A: Matrix, property: str) -> bool:
    """Whether a matrix is an input that is declared to have a property."""
    item = q.single_atom(A, "input")
    return item is not None and property in item


def covariance(t: Matrix) -> Matrix:
    """diag(p) - p^T p for the softmax row p of one row of logits."""
    p = q.applied("softmax", t)
    return HEADS["diagonal"](p.T) - p.T @ p


def covariances(T: Matrix) -> Matrix:
    p, size = q.applied("softmax", T), T.rows * T.columns
    return opaque("rows as diagonals", size, size, p) - opaque("rows as outer products", size, size, p)


def rotation(S: Matrix) -> Matrix:
    return q.applied("exponential", S)


RULES: dict[str, tuple[str, Callable[..., Instance]]] = {
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
    "Kronecker product": (
        "||A (x) B|| <= ||A|| ||B||",
        lambda kind, A, B: (norm(kind, q.bilinear("kronecker", A, B)), norm(kind, A) * norm(kind, B)),
    ),
    "spectral at most Frobenius": ("||A||_2 <= ||A||_F", lambda A: (two(A), fro(A))),
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
        "||[A_1; ...; A_n]||^2 <= sum_i ||A_i||^2",
        lambda kind, i, A: (
            norm(kind, HEADS["stack"](i, A)), q.over("sum over", i, norm(kind, A) ** 2) ** HALF, kind in ("2", "F"),
        ),
    ),
    "block diagonal": (
        "||diag(A_1, ..., A_n)||_2 <= max_i ||A_i||_2",
        lambda i, A: (two(HEADS["block diagonal"](i, A)), q.over("max over", i, two(A))),
    ),
    "softmax row": ("||softmax(T)||_F <= sqrt(m)", lambda T: (fro(q.applied("softmax", T)), T.rows**HALF)),
    "largest weight": ("max softmax(T) <= 1", lambda T: (big(q.applied("softmax", T)), number(1))),
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
    "open gates": ("||step(A)||_F <= sqrt(m n)", lambda A: (fro(q.applied("step", A)), (A.rows * A.columns) ** HALF)),
    "absolute values": ("||(|A|)||_F <= ||A||_F", lambda A: (fro(q.applied("absolute", A)), fro(A))),
    "entrywise product": ("||A o B||_2 <= ||A||_2 ||B||_2", lambda A, B: (two(q.bilinear("entrywise", A, B)), two(A) * two(B))),
    "entrywise product, largest": (
        "||A o B||_F <= max|A| ||B||_F",
        lambda A, B: (fro(q.bilinear("entrywise", A, B)), big(A) * fro(B)),
    ),
    "exponential of a skew matrix": (
        "||exp(S)||_2 <= 1 for skew S",
        lambda S: (two(rotation(S)), number(1), is_skew(S)),
    ),
    "exponentials of skew matrices": (
        "||exp(S) - exp(R)|| <= ||S - R|| for skew S and R",
        lambda kind, S, R: (norm(kind, rotation(S) - rotation(R)), norm(kind, S - R), is_skew(S) and is_skew(R) and kind in ("2", "F")),
    ),
    "antisymmetric product": (
        "||A B^T - B A^T||_2 <= ||[A, B]||_2^2",
        lambda A, B: (two(A @ B.T - B @ A.T), two(concatenated(A.T, B.T)) ** 2),
    ),
    "orthonormal": (
        "||W||_2 <= 1 for W with orthonormal columns or rows, or singular values at most 1",
        lambda W: (two(W), number(1), any(has(W, p) for p in PROPERTIES[2:5])),
    ),
    "unit direction": ("||D||_F <= 1 for a unit direction D", lambda D: (fro(D), number(1), has(D, PROPERTIES[5]))),
    "unit rows": ("||U||_F <= sqrt(m) for U with unit rows", lambda U: (fro(U), U.rows**HALF, has(U, PROPERTIES[6]))),
    "normalised rows": ("m rows of length 1", lambda A: (fro(q.applied("normalised rows", A)), A.rows**HALF)),
    "projection": (
        "||I - a^T a / ||a||^2||_2 <= 1",
        lambda a: (two(opaque("projection", a.columns, a.columns, a)), number(1), a.rows == number(1)),
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
    "Gram matrix of a rotation": (
        "D + D^T + D^T D = A R^T (A^T A - I) R A^T for D = A R A^T, R = exp(S) - I, skew S",
        lambda kind, A, S: (norm(kind, gram_defect(A, rotation(S) - q.identity(S.rows))), norm(kind, gram_factored(A, rotation(S) - q.identity(S.rows))), is_skew(S)),
    ),
    "Cauchy-Schwarz": (
        "sum_i ||a_i|| <= sqrt(m) ||A||_F for the rows a_i of A",
        lambda i, A: (
            q.over("sum over", i, fro(q.selected(A, i, number(1)))), A.rows**HALF * fro(A), i.size == A.rows and i not in A.free,
        ),
    ),
    "squares of rows": (
        "sum_i ||a_i||^2 <= ||A||_F^2 for the rows a_i of A",
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
    "Cauchy-Schwarz for all entries": ("sum_ij |A_ij| <= sqrt(m n) ||A||_F", lambda A: (total(A), (A.rows * A.columns) ** HALF * fro(A))),
    "softmax in the 1-norm": (
        "sum_ij |softmax(S) - softmax(T)|_ij <= m max|S - T|",
        lambda S, T: (total(q.applied("softmax", S) - q.applied("softmax", T)), S.rows * big(S - T)),
    ),
    "iterate of a normalised matrix": (
        "||iterate||_2 <= 1 of M -> M p(M^T M) from M / (||M||_F + e), e >= 0, where |s p(s^2)| <= 1 on [0, 1]",
        lambda M, e, count, *p: (
            two(opaque("iterate", M.rows, M.columns, M.times((fro(M) + e) ** -1), count, *p)), number(1),
            q.is_nonnegative(e) and keeps_unit_interval(p),
        ),
    ),
    "iterate of a contraction": (
        "||iterate||_2 <= 1 of M -> M p(M^T M) from M with singular values at most 1, where |s p(s^2)| <= 1 on [0, 1]",
        lambda M, count, *p: (
            two(opaque("iterate", M.rows, M.columns, M, count, *p)), number(1),
            any(has(M, known) for known in PROPERTIES[2:5]) and keeps_unit_interval(p),
        ),
    ),
    "largest over an index": ("a_i <= max_i a_i", lambda i, value: (value, q.over("max over", i, value))),
    "covariances of softmax rows": (
        "||blockdiag(diag(p_i) - p_i^T p_i)||_2 <= 1/2 for the rows p_i of a softmax",
        lambda T: (two(covariances(T)), number(HALF)),
    ),
    "root of a sum of squares": (
        "a <= sqrt(a^2 + b) for b >= 0",
        lambda a, b: (a, (a**2 + b) ** HALF, q.is_nonnegative(b)),
    ),
    "Weyl": ("|sigma_i(A) - sigma_i(B)| <= ||A - B||_2", lambda A, B: (q.generator("measure", "largest shift of singular values", A, B), two(A - B))),
    "spectral radius": ("|lambda(A)| <= ||A||_2", lambda A: (q.generator("measure", "spectral radius", A), two(A))),
}  # fmt: skip


def total(A: Matrix) -> Scalar:
    return q.generator("measure", "sum of absolute values", A)


def bernstein(coefficients: list[Fraction]) -> list[Fraction]:
    """The coefficients of a polynomial in the Bernstein basis of its degree: it is nowhere on [0, 1] below the least."""
    n = len(coefficients) - 1
    return [sum((Fraction(math.comb(k, j), math.comb(n, j)) * coefficients[j] for j in range(k + 1)), Fraction(0)) for k in range(n + 1)]


def odd(p: Sequence[Scalar]) -> list[Fraction]:
    """The coefficients of s p(s^2) by the powers of s."""
    return [Fraction(0) if k % 2 == 0 else p[k // 2].terms.get(frozenset(), Fraction(0)) for k in range(2 * len(p))]


def keeps_unit_interval(p: Sequence[Scalar]) -> bool:
    """Whether |s p(s^2)| <= 1 on [0, 1]."""
    return all(c.number() is not None for c in p) and all(abs(c) <= 1 for c in bernstein(odd(p)))


def mean(S: Matrix) -> Matrix:
    return opaque("mean of rotations", S.rows, S.columns, S)


def gram_defect(A: Matrix, R: Matrix) -> Matrix:
    D = A @ R @ A.T
    return D + D.T + D.T @ D


def gram_factored(A: Matrix, R: Matrix) -> Matrix:
    return A @ R.T @ (A.T @ A - q.identity(A.columns)) @ R @ A.T


# -- comparisons -------------------------------------------------------------------------------------------------------


def without_denominators(gap: Scalar) -> Scalar:
    """A scalar times powers of the sums that are its denominators, none of which may be negative."""
    for g in {g for m in gap.terms for g, e in m if g[0] == "sum" and e < 0 and g[1].number() is None}:
        if not q.is_nonnegative(g[1]):
            raise Refused("a denominator that may be negative")
        lowest = min(dict(m).get(g, Fraction(0)) for m in gap.terms)
        gap = gap.over(Scalar({frozenset({(g, lowest)}): Fraction(1)})) * number(1)
    return gap


def compare(a: Scalar, b: Scalar, reason: list[Any], facts: list[Scalar], table: list[Any]) -> None:
    """Accept a <= b for the reason given, or refuse."""
    name, *rest = reason
    if name == "terms":
        holds = q.is_nonnegative(b - a)
    elif name == "squares":
        holds = q.is_nonnegative(a) and q.is_nonnegative(b)
        compare(a**2, b**2, rest[0], facts, table)
    elif name == "denominators":
        gap, holds = without_denominators(b - a), True
        compare(number(0), gap, rest[0], facts, table)
    elif name == "facts":
        gap = b - a
        for which, multiplier in rest[0]:
            factor = table[multiplier]
            if not q.is_nonnegative(factor):
                raise Refused("a multiplier of an assumption that may be negative")
            gap = gap - factor * facts[which]
        holds = True
        compare(number(0), gap, rest[1], facts, table)
    elif name == "exponents":
        (x,), (y,) = ([g[1] for m in side.terms for g, e in m if g[0] == "exp" and e == 1] for side in (a, b))
        holds = a == HEADS["exp"](x) and b == HEADS["exp"](y)
        compare(x, y, rest[0], facts, table)
    elif name == "cases":
        _, largest = q.only_generator(table[rest[0]])
        holds = largest[0] == "max" and {table[member] for member, _ in rest[1]} == largest[1] and q.rises(a, largest)
        for member, why in rest[1]:
            compare(q.replaced(a, largest, table[member]), b, why, facts, table)
    elif name == "growth":  # e^x = 1 + x + h for some h >= 0
        _, power = q.only_generator(table[rest[0]])
        instead, holds = number(1) + power[1] + q.generator("scalar", ("growth", power), "nonnegative"), power[0] == "exp"
        compare(q.replaced(a, power, instead), q.replaced(b, power, instead), rest[1], facts, table)
    elif name == "parts":
        parts = [(table[one], table[other], why) for one, other, why in rest[0]]
        for one, other, why in parts:
            compare(one, other, why, facts, table)
        holds = sum((one for one, _, _ in parts), number(0)) == a
        holds = holds and q.is_nonnegative(b - sum((other for _, other, _ in parts), number(0)))
    else:
        raise Refused(f"no reason {name!r} for an inequality")
    if not holds:
        raise Refused(f"the final comparison does not hold by {name!r}")


# -- certificates ------------------------------------------------------------------------------------------------------

FORMAT = 1
KEYS = {"format", "kind", "claim", "sizes", "scalars", "inputs", "table", "nonzero", "assumptions", "orthonormal", "parts"}
ERRORS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError, RecursionError, AssertionError)


class Assumed(NamedTuple):
    """Scalars that are at least 0, and matrices with orthonormal columns or rows, by what the claim assumes."""

    facts: list[Scalar]
    frames: list[Matrix]


class Reader:
    """The expressions of a certificate, in normal form; each names earlier ones by their places in the table."""

    def __init__(self, sizes: list[str], scalars: dict[str, str], inputs: dict[str, list[str]]) -> None:
        self.sizes, self.scalars, self.inputs = set(sizes), scalars, inputs
        self.table: list[Any] = []
        self.nonzero: set[Scalar] = set()  # what the claim divides by
        if len(self.sizes) < len(sizes) or self.sizes & scalars.keys():
            raise Refused("a name is declared twice")
        if not set(scalars.values()) <= {"real", "nonnegative", "positive"}:
            raise Refused("a scalar is real, nonnegative or positive")
        if not all(set(known) <= set(PROPERTIES) for known in inputs.values()):
            raise Refused("an input has a property that nobody knows")

    def read(self, entry: list[Any]) -> Any:
        """The value of one expression."""
        head, *data = entry
        if head == "q":
            return number(Fraction(*data))
        if head == "size" and data[0] in self.sizes:
            return q.generator("size", *data)
        if head == "scalar" and data[0] in self.scalars:
            return q.generator("scalar", data[0], self.scalars[data[0]])
        if head == "^":
            base, exponent = self.value(data[0]), Fraction(data[1], data[2])
            if exponent < 0 and not (q.is_positive(base) or base in self.nonzero):
                raise Refused("a division by what may vanish")
            return base**exponent
        values = [self.value(item) for item in data]
        if head == "index":
            return Index(*values)
        if head == "input" and data[0] in self.inputs:
            name, rows, columns, *at = values
            if {"is symmetric", "is skew"} & set(self.inputs[name]) and rows != columns:
                raise Refused(f"{name} is not square")
            return q.atom("input", rows, columns, name, *at, *self.inputs[name])
        if head not in HEADS:
            raise Refused(f"no expression {head!r}, or what it names is not declared")
        return HEADS[head](*values)

    def value(self, item: Any) -> Any:
        return self.table[item] if isinstance(item, int) and 0 <= item < len(self.table) else item


def check(certificate: dict[str, Any]) -> None:
    """Accept a certificate of a bound; raise `Refused` where it proves nothing."""
    try:
        reader, assumed = _read(certificate)
        for part in certificate["parts"]:
            _check_part(part, assumed, reader.table)
    except ERRORS as error:
        raise Refused(f"{type(error).__name__}: {error}") from error


def statement(certificate: dict[str, Any]) -> Any:
    """What a certificate says, for comparison with another: declarations, assumptions and both sides, in normal form."""
    reader, assumed = _read(certificate)
    sides = [(part["index"], part["left"], part["right"]) for part in certificate["parts"]]
    declared = reader.sizes, reader.scalars, reader.inputs, reader.nonzero
    return *declared, assumed, [tuple(None if place is None else reader.table[place] for place in item) for item in sides]


def _read(certificate: dict[str, Any]) -> tuple[Reader, Assumed]:
    if certificate.keys() != KEYS or (certificate["format"], certificate["kind"]) != (FORMAT, "bound"):
        raise Refused(f"the keys of a certificate of a bound are {sorted(KEYS)}")
    reader = Reader(certificate["sizes"], certificate["scalars"], certificate["inputs"])
    for place, entry in enumerate(certificate["table"]):
        reader.table.append(reader.read(entry))
        if place in certificate["nonzero"]:
            reader.nonzero.add(reader.table[place])
    if not certificate["parts"]:
        raise Refused("a certificate without parts")
    return reader, Assumed(*([reader.table[place] for place in certificate[key]] for key in ("assumptions", "orthonormal")))


def _check_part(part: dict[str, Any], assumed: Assumed, table: list[Any]) -> None:
    if part.keys() != {"index", "left", "right", "steps", "comparison"}:
        raise Refused("a part has an index, a left and a right side, steps and a comparison")
    value, right = table[part["left"]], table[part["right"]]
    index = set() if part["index"] is None else {table[part["index"]]}
    if not (value.free | right.free) <= index:
        raise Refused("an index is free in the statement")
    for number_of_step, step in enumerate(part["steps"]):
        try:
            value = stepped(value, step, assumed, table)
        except Refused as error:
            raise Refused(f"step {number_of_step}, {step['rule']}: {error}") from error
    compare(value, right, part["comparison"], assumed.facts, table)


def stepped(value: Scalar, step: dict[str, Any], assumed: Assumed, table: list[Any]) -> Scalar:
    """The value with a quantity replaced by what a rule says that it is at most."""
    if not {"rule", "arguments"} <= step.keys() <= {"rule", "arguments", "reasons", "outside"}:
        raise Refused("a step has a rule, arguments and perhaps reasons and what it stands outside of")
    kept = {q.only_generator(table[place])[1] for place in step.get("outside", [])}
    arguments = [table[item] if isinstance(item, int) else item for item in step["arguments"]]
    if step["rule"] == "comparison":
        compare(value, arguments[0], step["reasons"], assumed.facts, table)
        return arguments[0]
    left, right = instance(step["rule"], arguments, step.get("reasons", []), assumed, table)
    c, quantity = q.only_generator(left)
    if not any(q.stands_in(g, quantity, kept) for m in value.terms for g, _ in m):
        raise Refused("the quantity does not stand in the whole")
    if not q.rises(value, quantity, kept):
        raise Refused("the whole may fall as the quantity grows")
    if not right.free <= q.free_in(quantity):
        raise Refused("a free index would be bound")
    return q.replaced(value, quantity, right * c**-1, kept)


def instance(rule: str, arguments: list[Any], reasons: Any, assumed: Assumed, table: list[Any]) -> tuple[Scalar, Scalar]:
    """Both sides of what a step says."""
    if rule == "largest of several":
        left, right = arguments
        _, largest = q.only_generator(left)
        members = {table[member] for member, _ in reasons}
        if largest[0] not in ("max", "max over") or members != (largest[1] if largest[0] == "max" else {largest[2]}):
            raise Refused("other numbers than those of the largest")
        for member, reason in reasons:
            compare(table[member], right, reason, assumed.facts, table)
        return q.generator(*largest), right
    if rule == "one of several":
        return arguments[0], q.largest(arguments)
    if rule == "assumption":
        if arguments[0] not in assumed.facts:
            raise Refused("no such assumption")
        return arguments[1], arguments[1] + arguments[0]
    if rule == "orthonormal by assumption":
        if not {arguments[0], arguments[0].T} & set(assumed.frames):
            raise Refused("no such assumption")
        return two(arguments[0]), number(1)
    left, right, *conditions = RULES[rule][1](*arguments)
    if not all(condition is True for condition in conditions):
        raise Refused("a condition of the rule does not hold")
    return left, right
