"""The checker of certificates of bounds: what it accepts, and planted certificates that it refuses."""

from __future__ import annotations

import copy
import json
import lzma
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.efforts import whole_or_part
from tests.kernel_values import Values
from verify.kernel import bounds, varying
from verify.kernel import quantities as q
from verify.kernel.bound_rules import HEADS, RULES
from verify.kernel.bounds import Reader, check, statement
from verify.kernel.coherent_blocks import beside
from verify.kernel.quantities import Index, number
from verify.kernel.refusal import Refused

pytestmark = pytest.mark.kept

INPUTS = {
    "A": [], "B": [], "C": [], "X": [], "Y": [], "t": [], "v": [], "S": ["is skew"], "R": ["is skew"], "G": ["is symmetric"],
    "W": ["has orthonormal columns"], "D": ["has Frobenius norm at most 1"], "U": ["has unit rows"], "c": [],
    "K": ["has singular values at most 1"], "Z": [], "N": ["has a symmetric part without positive eigenvalues"],
    "u": ["has unit rows"], "Q": [],
}  # fmt: skip
SIZES = {"m": 3, "n": 4, "k": 2, "s": 3}  #: s is a size of at least 2, of which the checker has what is above 1: 3 of 4
DECLARED = ["m", "n", "k", ["s", 2]]
SCALARS = {"x": "real", "e": "positive", "z": "nonnegative"}


class Table:
    """A table of expressions in the making, with names for matrices."""

    def __init__(self) -> None:
        self.reader = Reader(DECLARED, SCALARS, INPUTS)
        self.entries: list[list[Any]] = []

    def add(self, *entry: Any) -> int:
        self.reader.table.append(self.reader.read(list(entry)))
        self.entries.append(list(entry))
        return len(self.entries) - 1

    def value(self, *entry: Any) -> Any:
        return self.reader.table[self.add(*entry)]

    def one(self) -> int:
        return self.add("q", 1, 1)

    def matrix(self, name: str, rows: str, columns: str, *at: int) -> int:
        sizes = [self.one() if size == "1" else self.add("size", size) for size in (rows, columns)]
        return self.add("input", name, *sizes, *at)

    def norm(self, kind: str, A: int) -> int:
        return self.add("norm", kind, A)

    def derivative(self, function: str, name: str = "Z", layout: str = "row-major") -> int:
        """d vec f / d vec Z at Z = Y for a function f of Z, or for ||Z|| Z."""
        Z, size = self.matrix(name, "n", "n"), self.add("^", self.add("size", "n"), 2, 1)
        f = self.add("sum", self.norm("F", Z), Z) if function == "scaled" else self.add("function", function, Z)
        return self.add("opaque", "derivative", size, size, f, self.matrix("Y", "n", "n"), layout, name)

    def square(self) -> int:
        return self.add("identity", self.add("^", self.add("size", "n"), 2, 1))

    def certificate(self, left: int, right: int, steps: Any, comparison: Any = None, **changes: Any) -> dict[str, Any]:
        made = [dict(zip(("rule", "arguments", "reasons"), step, strict=False)) for step in steps]
        part = {"index": None, "left": left, "right": right, "steps": made, "comparison": comparison or ["terms"]}
        return {
            "format": 1, "kind": "bound", "claim": "toy", "sizes": DECLARED, "scalars": SCALARS, "inputs": INPUTS,
            "table": self.entries, "nonzero": [], "assumptions": [], "orthonormal": [], "parts": [part],
        } | changes  # fmt: skip


def product() -> tuple[Table, dict[str, Any]]:
    """||A B||_F <= ||A||_F ||B||_F."""
    table = Table()
    A, B = table.matrix("A", "m", "n"), table.matrix("B", "n", "k")
    left = table.norm("F", table.add("product", A, B))
    right = table.add("*", table.norm("F", A), table.norm("F", B))
    steps = [("product, right", [A, B]), ("spectral at most Frobenius", [B])]
    return table, table.certificate(left, right, steps)


def refused(certificate: Any) -> str:
    with pytest.raises(Refused) as found:
        check(certificate)
    return str(found.value)


def test_a_certificate_is_accepted_after_a_file() -> None:
    _, certificate = product()
    check(json.loads(json.dumps(certificate)))


# -- every rule, in numbers --------------------------------------------------------------------------------------------


def arrays(rng: np.random.Generator, scale: float) -> dict[str, np.ndarray]:
    m, n, k, _ = SIZES.values()
    skew = rng.normal(size=(2, n, n)) * scale
    found = {
        "A": rng.normal(size=(m, n)), "B": rng.normal(size=(n, k)), "C": rng.normal(size=(m, n)), "t": rng.normal(size=(1, n)),
        "v": rng.normal(size=(n, 1)), "X": rng.normal(size=(k, m, n)), "Y": rng.normal(size=(n, n)), "c": rng.normal(size=(1, 1)),
        "G": skew[0] + skew[0].T, "Q": skew[1], "U": rng.normal(size=(m, n)),
    }  # fmt: skip
    found = {name: array * scale for name, array in found.items()}
    found["U"] /= np.linalg.norm(found["U"], axis=1, keepdims=True)
    found["u"] = found["U"][:1]
    found["D"] = found["A"] / np.linalg.norm(found["A"])
    found["W"] = np.linalg.qr(rng.normal(size=(n, k)))[0]
    found["K"] = found["A"] / np.linalg.norm(found["A"], 2)
    found["N"] = skew[0] - 2 * skew[1] @ skew[1].T - skew[0].T
    return found | {"S": skew[0] - skew[0].T, "R": skew[1] - skew[1].T, "Z": found["A"]}


def cases() -> dict[str, Callable[[Table], list[Any]]]:
    """Arguments for every rule, as values."""

    def A(t: Table) -> Any:
        return t.reader.table[t.matrix("A", "m", "n")]

    def of(name: str, rows: str = "m", columns: str = "n") -> Callable[[Table], Any]:
        return lambda t: t.reader.table[t.matrix(name, rows, columns)]

    def index(t: Table, size: str) -> Index:
        return t.value("index", "i", t.add("size", size))

    def sample(t: Table) -> Any:
        return t.reader.table[t.matrix("X", "m", "n", t.add("index", "i", t.add("size", "k")))]

    def other(t: Table) -> Any:
        return t.reader.table[t.matrix("X", "m", "n", t.add("index", "j", t.add("size", "k")))]

    def first(t: Table) -> Any:
        return t.reader.table[t.matrix("X", "m", "n", t.add("q", 0, 1))]

    def framed(t: Table, side: str) -> list[Any]:
        P, R = A(t), of("C")(t)
        i = t.add("index", "i", t.add("size", "k"))
        dN = t.reader.table[t.matrix("X", "m", "n", i)]
        A_ = q.identity(P.rows) if side == "rows" else HEADS["concatenate"](P.T, R.T).T
        both = HEADS["concatenate"](dN.T, R.T).T
        return [side, A_, P, R, of("A")(t), both, t.value("scalar", "e"), number(3), *half]

    def apart(P: Any, R: Any) -> Any:
        """[P 0; 0 R]."""
        over, under = q.zeros(P.rows, R.columns), q.zeros(R.rows, P.columns)
        return beside(q.concatenated(P, under), q.concatenated(over, R))

    def columns_apart(t: Table) -> list[Any]:
        v = of("v", "n", "1")(t)
        slant = of("t", "1", "n")(t).T.times(number(Fraction(1, 8)))
        return [q.norm("F", v), q.concatenated(v, q.zeros(v.rows, v.columns)), q.concatenated(slant, v)]

    def logits(t: Table) -> list[Any]:
        return [t.value("index", "i", t.add("size", "s")), of("Q", "s", "s")(t)]

    def row_of_logits(t: Table) -> list[Any]:
        i, Q = logits(t)
        return [i, q.selected(Q, i, number(1))]

    B, C, S, R, Y = of("B", "n", "k"), of("C"), of("S", "n", "n"), of("R", "n", "n"), of("Y", "n", "n")

    def moving(layout: str, made: str = "softmax") -> Callable[[Table], Any]:
        """d vec f(Z Y + C) / d vec Z at Z = A."""

        def derivative(t: Table) -> Any:
            inner = t.add("product", t.matrix("Z", "m", "n"), t.matrix("Y", "n", "n"))
            one = t.one()
            inner = t.add("sum", one, inner, one, t.matrix("C", "m", "n"))
            size = t.add("*", t.add("size", "m"), t.add("size", "n"))
            f = inner if made == "sum" else t.add("function", made, inner)
            return t.value("opaque", "derivative", size, size, f, t.matrix("A", "m", "n"), layout, "Z")

        return derivative

    def first_factor(t: Table) -> list[Any]:
        """softmax(Z Z^T), its derivative by columns at Z = A, and a fixed matrix."""
        Z = t.reader.table[t.matrix("Z", "m", "n")]
        F = q.applied("softmax", Z @ Z.T)
        return [F, varying.derivative_of(F, A(t), "column-major", "Z"), B(t)]

    def eye(t: Table, rows: str = "m") -> Any:
        return q.identity(t.value("size", rows) * t.value("size", "k" if rows == "n" else "n"))

    def kept(t: Table, skew: Any, X: Any) -> Any:
        """A with X^T X A skew, and small, since the norm of an exponential in floats is found with its logarithm's digits."""
        return (skew(t) @ X.T @ X).times(number(Fraction(1, 64)))

    half = [number(3) * number(Fraction(1, 2)), number(-1) * number(Fraction(1, 2))]
    two_kinds: list[tuple[str, Callable[[Table, str], list[Any]]]] = [
        ("triangle inequality", lambda t, kind: [kind, A(t), C(t)]),
        ("sum over an index", lambda t, kind: [kind, index(t, "k"), sample(t)]),
        ("sum of rows", lambda t, kind: [kind, index(t, "m"), A(t)]),
        ("Kronecker product", lambda t, kind: [kind, A(t), B(t)]),
        ("block", lambda t, kind: [kind, A(t), number(0), number(1)]),
        ("blocks", lambda t, kind: [kind, A(t), C(t)]),
        ("stack", lambda t, kind: [kind, index(t, "k"), sample(t)]),
        ("stack of one length", lambda t, kind: [kind, index(t, "k"), sample(t)]),
        ("exponentials of skew matrices", lambda t, kind: [kind, S(t), R(t)]),
        ("rotation by its mean", lambda t, kind: [kind, A(t), S(t), Y(t)]),
        ("rotation by its mean, reversed", lambda t, kind: [kind, A(t), S(t), Y(t)]),
        ("Gram matrix of a rotation", lambda t, kind: [kind, A(t), S(t)]),
        ("one of a stack", lambda t, kind: [kind, index(t, "k"), sample(t), first(t)]),
        ("product from below", lambda t, kind: [kind, Y(t), B(t)]),
        ("exponential that keeps lengths", lambda t, kind: [kind, A(t), kept(t, S, A(t)), B(t)]),
        ("exponentials that keep lengths", lambda t, kind: [kind, A(t), Y(t), kept(t, S, Y(t)), kept(t, R, A(t))]),
        ("number among the factors", lambda t, kind: [kind, of("v", "n", "1")(t), of("c", "1", "1")(t), of("t", "1", "n")(t)]),
    ]  # fmt: skip
    found: dict[str, Callable[[Table], list[Any]]] = {
        f"{name} ({kind})": lambda t, make=make, kind=kind: make(t, kind) for name, make in two_kinds for kind in "2F"
    }
    return found | {
        "product": lambda t: [A(t), B(t)],
        "product, left": lambda t: [A(t), B(t)],
        "product, right": lambda t: [A(t), B(t)],
        "spectral at most Frobenius": lambda t: [A(t)],
        "row norms": lambda t: [A(t)],
        "rank": lambda t: [A(t), B(t)],
        "largest entry": lambda t: [A(t)],
        "largest of all entries": lambda t: [A(t)],
        "block (max)": lambda t: ["max", A(t), number(0), number(1)],
        "block diagonal": lambda t: [index(t, "k"), sample(t)],
        "softmax row": lambda t: [A(t)],
        "softmax is 1/2-Lipschitz": lambda t: [A(t), C(t)],
        "softmax in the 1-norm": lambda t: [A(t), C(t)],
        "covariance of a softmax row": lambda t: [of("t", "1", "n")(t)],
        "covariances of softmax rows": lambda t: [A(t)],
        "relu (F)": lambda t: ["F", A(t), C(t)],
        "relu (max)": lambda t: ["max", A(t), C(t)],
        "gate (F)": lambda t: ["F", A(t), C(t)],
        "gate (max)": lambda t: ["max", A(t), C(t)],
        "exponential of a skew matrix": lambda t: [S(t)],
        "antisymmetric product": lambda t: [A(t), C(t)],
        "orthonormal": lambda t: [of("W", "n", "k")(t)],
        "unit direction": lambda t: [of("D")(t)],
        "unit rows": lambda t: [of("U")(t)],
        "projection": lambda t: [of("t", "1", "n")(t)],
        "Gram matrix of a contraction": lambda t: [of("K")(t)],
        "series of an exponential": lambda t: [Y(t), B(t)],
        "mean of exponentials": lambda t: [q.norm("F", A(t))],
        "permutation": lambda t: [q.atom("permutation", number(4), number(4), "commutation", number(2), number(2))],
        "mean of rotations": lambda t: [S(t)],
        "Cauchy-Schwarz": lambda t: [index(t, "m"), A(t)],
        "squares of rows": lambda t: [index(t, "m"), A(t)],
        "sum of absolute values": lambda t: [index(t, "n"), of("v", "n", "1")(t)],
        "Cauchy-Schwarz for all entries": lambda t: [A(t)],
        "one of a stack (another index)": lambda t: [
            "2",
            t.value("index", "j", t.add("size", "k")),
            other(t),
            sample(t),
        ],
        "sum of all absolute values": lambda t: [A(t)],
        "lengths of rows and columns": lambda t: [index(t, "m"), A(t), index(t, "k"), B(t).T],
        "squares of blocks": lambda t: [A(t), C(t)],
        "squares of a stack": lambda t: [index(t, "k"), sample(t)],
        "iterate": lambda t: [of("K")(t), number(3), *half],
        "largest of open gates": lambda t: [A(t)],
        "similar matrices": lambda t: [Y(t), q.applied("inverse", Y(t)), S(t)],
        "exponential of a dissipative matrix": lambda t: [t.value("scalar", "e"), of("N", "n", "n")(t)],
        "polynomial of a contraction": lambda t: [of("K")(t), *map(number, (Fraction(1, 4), 1, Fraction(1, 2), -1, 1))],
        "derivative along a unit direction (rows)": lambda t: [moving("row-major")(t)],
        "derivative along a unit direction (columns)": lambda t: [moving("column-major")(t)],
        "derivative of a sum of products": lambda t: ["2", eye(t), moving("row-major", "sum")(t), eye(t)],
        "derivative of a sum of products (columns)": lambda t: ["2", eye(t), moving("column-major", "sum")(t), eye(t)],
        "derivative of a sum": lambda t: ["2", eye(t), moving("row-major", "sum")(t), eye(t)],
        "product rule (of a derivative, 2)": lambda t: ["2", *first_factor(t)],
        "product rule (of a derivative, F)": lambda t: ["F", *first_factor(t)],
        "Weyl": lambda t: [A(t), C(t)],
        "chain rule (rows)": lambda t: ["2", eye(t, "n"), A(t).T, moving("row-major")(t), B(t), eye(t)],
        "chain rule (columns)": lambda t: ["F", eye(t, "n"), A(t).T, moving("column-major")(t), B(t), eye(t)],
        "chain rule of normalised rows": lambda t: [
            "2",
            index(t, "m"),
            eye(t),
            moving("row-major", "normalised rows")(t),
            eye(t),
        ],
        "differential of the exponential (2)": lambda t: ["2", S(t), Y(t)],
        "differential of the exponential (F)": lambda t: ["F", S(t), Y(t)],
        "differential of softmax": lambda t: [index(t, "m"), A(t), C(t)],
        "differential of a normalisation": lambda t: [A(t), C(t), t.value("scalar", "e")],
        "differential of an iteration": lambda t: [number(Fraction(3, 2)), of("K")(t), C(t), number(3), *half],
        "largest over an index": lambda t: [index(t, "k"), q.norm("F", sample(t))],
        "root of a sum of squares": lambda t: [q.norm("F", A(t)), q.norm("F", C(t)) ** 2],
        "sum": lambda t: [q.norm("F", A(t)) + number(1), q.norm("F", A(t)) + q.norm("F", C(t)) + number(1)],
        "integral of orthogonal matrices": lambda t: [S(t), R(t)],
        "spectral radius": lambda t: [Y(t)],
        "smallest singular value of a sum": lambda t: [A(t), C(t).times(number(Fraction(1, 8)))],
        "smallest singular value of a product": lambda t: [Y(t), B(t)],
        "entrywise product": lambda t: [A(t), C(t)],
        "diagonal of a column": lambda t: ["max", of("v", "n", "1")(t), of("v", "n", "1")(t)],
        "smallest singular value of blocks": lambda t: [Y(t), B(t) @ B(t).T, Y(t)],
        "smallest at most largest singular value": lambda t: [A(t)],
        "smallest eigenvalue of a Gram matrix": lambda t: [A(t)],
        "norm of two blocks": lambda t: [A(t), C(t)],
        "norm of two blocks of bounded norm": lambda t: [q.norm("F", A(t)) + q.norm("F", C(t)), A(t), C(t)],
        "smallest gain of two blocks": lambda t: [of("v", "n", "1")(t), of("t", "1", "n")(t).T],
        "smallest gain of two blocks (wide)": lambda t: [A(t).T, Y(t)],
        "smallest gain of two blocks of bounded gain": columns_apart,
        "smallest gain of a product": lambda t: [A(t).T, A(t)],
        "smallest gain of a product (blocks)": lambda t: [apart(Y(t), S(t)), B(t), B(t)],
        "smallest gain at most norm": lambda t: [Y(t)],
        "root of two squares": lambda t: [q.norm("F", A(t)), q.norm("F", C(t))],
        "normalised rows": lambda t: [A(t)],
        "distance from equal entries": lambda t: [of("Q", "s", "s")(t), t.value("scalar", "x")],
        "softmax at the vector of ones": lambda t: [A(t)],
        "range": lambda t: [index(t, "m"), A(t)],
        "softmax of larger logits": lambda t: [t.value("scalar", "e"), number(1), A(t)],
        "softmax near equal weights": lambda t: [index(t, "m"), A(t)],
        "softmax near equal weights, by a chord": lambda t: [
            index(t, "m"),
            q.applied("softmax", of("A")(t)).times(number(Fraction(1, 2))),
        ],
        "weights beside the identity": lambda t: [of("Q", "s", "s")(t)],
        "columns of weights": lambda t: [of("Q", "s", "s")(t)],
        "weight by its gap": logits,
        "softmax row less an entry": row_of_logits,
        "covariance by the weights beside one": row_of_logits,
        "row of a covariance": row_of_logits,
        "third central moment": lambda t: [of("t", "1", "n")(t), of("v", "n", "1")(t)],
        "covariance off the diagonal": row_of_logits,
        "unit row and its skew image": lambda t: [of("u", "1", "n")(t), t.value("scalar", "x"), S(t)],
        "differential of an iteration in the frame of its start (rows)": lambda t: framed(t, "rows"),
        "differential of an iteration in the frame of its start (columns)": lambda t: framed(t, "columns"),
        "differential of an iteration beside its start (rows)": lambda t: ["rows", of("K")(t), C(t), number(3), *half],
        "differential of an iteration beside its start (columns)": lambda t: [
            "columns",
            of("K")(t),
            C(t),
            number(3),
            *half,
        ],
    }


def rule_of(case: str) -> str:
    return case.split(" (", maxsplit=1)[0]


def test_every_rule_has_a_case() -> None:
    assert {rule_of(case) for case in cases()} == set(RULES)


#: How large the entries of matrices are.
SCALES = (0.01, 1.0, 5.0)


@pytest.mark.parametrize("case", cases())
def test_every_rule_holds_in_numbers(case: str, pytestconfig: pytest.Config) -> None:
    table = Table()
    left, right, *conditions = RULES[rule_of(case)][1](*cases()[case](table))
    compared = [condition for condition in conditions if isinstance(condition, tuple)]
    assert all(condition is True for condition in conditions if condition not in compared)
    slack = (
        1e-7 if any(word in case for word in ("chain", "deriv", "differential")) else 1e-9
    )  # of difference quotients
    for scale in SCALES:
        rng = np.random.default_rng(7)
        for _ in range(whole_or_part(pytestconfig, 8, 3)):
            values = Values(SIZES, {"x": -0.7, "e": 0.3, "z": 0.0}, arrays(rng, scale))
            assert all(values.number(a) <= values.number(b) * (1 + 1e-9) for a, b in compared), scale
            for k in range(SIZES["k"]) if left.free else [0]:
                at = dict.fromkeys(left.free, k)
                assert values.number(left, at) <= values.number(right, at) * (1 + slack) + slack / 1000, scale


#: Of these the left side is 0 or less.
EMPTY = {"range", "smallest gain of two blocks (wide)"}


def test_no_rule_is_larger_than_it_says() -> None:
    """Not one is an empty statement: the left side of each is above a thousandth of the right one somewhere."""
    assert [case for case in cases() if case not in EMPTY and not largest_ratio(case) > 1e-3] == []


def largest_ratio(case: str) -> float:
    """Of the left side of a rule to its right side, at three inputs."""
    left, right, *_ = RULES[rule_of(case)][1](*cases()[case](Table()))
    rng = np.random.default_rng(11)
    ratios = []
    for scale in SCALES:
        values = Values(SIZES, {"x": -0.7, "e": 0.3, "z": 0.0}, arrays(rng, scale))
        at = dict.fromkeys(left.free, 1)
        ratios.append(values.number(left, at) / values.number(right, at))
    return max(ratios)


# -- where a rule must not fire ----------------------------------------------------------------------------------------

Wrong = Callable[[Table], tuple[Any, ...]]


def contraction(t: Table, name: str = "K") -> list[Any]:
    """The reason why the norm of K is at most 1."""
    return [["instance", "orthonormal", [t.matrix(name, "m", "n")], [], t.one(), ["terms"]]]


def product_rule(t: Table, layout: str, last: str, name: str, other: str = "") -> tuple[Any, ...]:
    """The product rule for softmax(Z) Z C, or another function in the place of one of the softmax matrices."""
    size, Z = t.add("^", t.add("size", "n"), 2, 1), t.matrix(name, "n", "n")
    F = t.add("function", "softmax", Z)
    inner = t.add("function", other, Z) if other else F
    J = t.add("opaque", "derivative", size, size, inner, t.matrix("Y", "n", "n"), layout, name)
    return "product rule", ["2", F, J, Z if last == name else t.matrix(last, "n", "k")]


def in_frame(t: Table, factor: str, frame: str, rows: str = "m") -> int:
    """W X^T X for a factor W and a frame X of so many rows."""
    X = t.matrix(frame, rows, "n")
    return t.add("product", t.matrix(factor, "n", "n"), t.add("transpose", X), X)


def frame_of(t: Table, side: str, offset: str, p: list[Any]) -> tuple[Any, ...]:
    """The rule about a skew matrix in the frame of an iteration's start, for square blocks of it."""
    P, R = (t.matrix(name, "n", "n") for name in "YZ")
    A = t.add("identity", t.add("size", "n")) if side == "rows" else t.add("concatenate", P, R)
    A = A if side == "rows" else t.add("transpose", A)
    dN = t.add("transpose", t.add("concatenate", R, P))
    numbers = [t.add("q", Fraction(c).numerator, Fraction(c).denominator) for c in p]
    name = "differential of an iteration in the frame of its start"
    return name, [side, A, P, R, P, dN, t.add("scalar", offset), t.one(), *numbers]


WRONG: dict[str, Wrong] = {
    "a matrix that is not skew": lambda t: ("exponential of a skew matrix", [t.matrix("Y", "n", "n")]),
    "a symmetric one": lambda t: ("exponential of a skew matrix", [t.matrix("G", "n", "n")]),
    "one skew, one not": lambda t: ("exponentials of skew matrices", ["2", t.matrix("S", "n", "n"), t.matrix("Y", "n", "n")]),
    "largest entries of rotations": lambda t: (
        "exponentials of skew matrices", ["max", t.matrix("S", "n", "n"), t.matrix("R", "n", "n")],
    ),
    "an exponential that keeps no lengths in a frame": lambda t: (
        "exponential that keeps lengths",
        ["2", t.matrix("A", "m", "n"), t.matrix("S", "n", "n"), t.add("identity", t.add("size", "n"))],
    ),
    "an exponential that keeps those of another frame": lambda t: (
        "exponential that keeps lengths", ["2", t.matrix("A", "m", "n"), in_frame(t, "S", "C"), t.matrix("B", "n", "k")],
    ),
    "a factor of a Gram matrix that is not skew": lambda t: (
        "exponential that keeps lengths", ["2", t.matrix("A", "m", "n"), in_frame(t, "Q", "A"), t.matrix("B", "n", "k")],
    ),
    "largest entries that an exponential is to keep": lambda t: (
        "exponential that keeps lengths", ["max", t.matrix("A", "m", "n"), in_frame(t, "S", "A"), t.matrix("B", "n", "k")],
    ),
    "exponentials of which each keeps the lengths of the other": lambda t: (
        "exponentials that keep lengths",
        ["2", t.matrix("A", "m", "n"), t.matrix("Y", "n", "n"), in_frame(t, "R", "A"), in_frame(t, "S", "Y", "n")], [["terms"]],
    ),
    "exponentials of which one keeps no lengths": lambda t: (
        "exponentials that keep lengths",
        ["2", t.matrix("A", "m", "n"), t.matrix("Y", "n", "n"), in_frame(t, "S", "Y", "n"), t.matrix("R", "n", "n")], [["terms"]],
    ),
    "exponentials in a frame of more columns than rows": lambda t: (
        "exponentials that keep lengths",
        ["2", t.matrix("A", "m", "n"), t.matrix("C", "m", "n"), in_frame(t, "S", "C"), in_frame(t, "R", "A")], [["terms"]],
    ),
    "largest entries of a difference that exponentials are to keep": lambda t: (
        "exponentials that keep lengths",
        ["max", t.matrix("A", "m", "n"), t.matrix("Y", "n", "n"), in_frame(t, "S", "Y", "n"), in_frame(t, "R", "A")], [["terms"]],
    ),
    "a product from below of a wide matrix": lambda t: (
        "product from below", ["2", t.matrix("A", "m", "n"), t.matrix("B", "n", "k")], [["terms"]],
    ),
    "a product from below of which no order of sizes is shown": lambda t: (
        "product from below", ["2", t.matrix("Y", "n", "n"), t.matrix("B", "n", "k")],
    ),
    "the largest entry of a product from below": lambda t: (
        "product from below", ["max", t.matrix("Y", "n", "n"), t.matrix("B", "n", "k")], [["terms"]],
    ),
    "a Gram matrix of what may be no contraction": lambda t: (
        "Gram matrix of a contraction", [t.matrix("A", "m", "n")], [["terms"]],
    ),
    "a contraction without a reason": lambda t: ("Gram matrix of a contraction", [t.matrix("K", "m", "n")]),
    "a contraction because another matrix is one": lambda t: (
        "Gram matrix of a contraction", [t.matrix("A", "m", "n")], contraction(t),
    ),
    "softmax of smaller logits": lambda t: (
        "softmax of larger logits", [t.one(), t.add("q", 1, 2), t.matrix("A", "m", "n")], [["terms"], ["terms"]],
    ),
    "softmax of logits of opposite sign": lambda t: (
        "softmax of larger logits", [t.add("q", -2, 1), t.one(), t.matrix("A", "m", "n")], [["terms"], ["terms"]],
    ),
    "softmax of logits times a number of any size": lambda t: (
        "softmax of larger logits", [t.one(), t.add("scalar", "z"), t.matrix("A", "m", "n")], [["terms"], ["terms"]],
    ),
    "a mean of what does not rotate": lambda t: ("mean of rotations", [t.matrix("Y", "n", "n")]),
    "a Gram matrix of what does not rotate": lambda t: (
        "Gram matrix of a rotation", ["2", t.matrix("A", "m", "n"), t.matrix("Y", "n", "n")],
    ),
    "columns that are not declared orthonormal": lambda t: ("orthonormal", [t.matrix("B", "n", "k")]),
    "no assumption of orthonormal columns": lambda t: ("orthonormal by assumption", [t.matrix("B", "n", "k")]),
    "a direction of any length": lambda t: ("unit direction", [t.matrix("A", "m", "n")]),
    "rows of any length": lambda t: ("unit rows", [t.matrix("A", "m", "n")]),
    "a permutation that is none": lambda t: ("permutation", [t.matrix("Y", "n", "n")]),
    "a covariance of several rows": lambda t: ("covariance of a softmax row", [t.matrix("A", "m", "n")]),
    "a projection of several rows": lambda t: ("projection", [t.matrix("A", "m", "n")]),
    "the spectral norm of a relu": lambda t: ("relu", ["2", t.matrix("A", "m", "n"), t.matrix("C", "m", "n")]),
    "the spectral norm behind a gate": lambda t: ("gate", ["2", t.matrix("A", "m", "n"), t.matrix("C", "m", "n")]),
    "largest entries of blocks": lambda t: ("blocks", ["max", t.matrix("A", "m", "n"), t.matrix("C", "m", "n")]),
    "largest entries of a stack": lambda t: (
        "stack", ["max", i := t.add("index", "i", t.add("size", "k")), t.matrix("X", "m", "n", i)],
    ),
    "lengths of fewer rows than there are": lambda t: (
        "lengths of rows and columns",
        [t.add("index", "i", t.add("size", "k")), t.matrix("A", "m", "n"),
         t.add("index", "j", t.add("size", "m")), t.matrix("C", "m", "n")],
    ),
    "lengths of columns in the place of those of rows": lambda t: (
        "lengths of rows and columns",
        [t.add("index", "i", t.add("size", "m")), t.matrix("A", "m", "n"),
         t.add("index", "j", t.add("size", "n")), t.matrix("B", "n", "k")],
    ),
    "lengths of rows that the index moves": lambda t: (
        "lengths of rows and columns",
        [
            i := t.add("index", "i", t.add("size", "m")), t.matrix("A", "m", "n"),
            i, t.add("product", t.add("rows", t.matrix("v", "n", "1"), t.add("q", 0, 1), t.one()),
                     t.add("rows", t.matrix("C", "m", "n"), i, t.one())),
        ],
    ),
    "squares of fewer rows than there are": lambda t: (
        "squares of rows", [t.add("index", "i", t.add("size", "k")), t.matrix("A", "m", "n")],
    ),
    "squares of rows that the index moves": lambda t: (
        "squares of rows", [i := t.add("index", "i", t.add("size", "m")), t.matrix("X", "m", "n", i)],
    ),
    "more rows than an index has": lambda t: ("Cauchy-Schwarz", [t.add("index", "i", t.add("size", "k")), t.matrix("A", "m", "n")]),
    "rows of a matrix that the index moves": lambda t: (
        "Cauchy-Schwarz",
        [i := t.add("index", "i", t.add("size", "m")), t.matrix("X", "m", "n", i)],
    ),
    "a block outside of the matrix": lambda t: (
        "block", ["2", t.matrix("A", "m", "n"), t.add("size", "m"), t.one()],
    ),
    "a polynomial that leaves the unit interval": lambda t: (
        "iterate", [t.matrix("K", "m", "n"), t.one(), t.add("q", 2, 1)], contraction(t),
    ),
    "a start without a reason": lambda t: ("iterate", [t.matrix("K", "m", "n"), t.one(), t.one()]),
    "a start of any size": lambda t: (
        "iterate", [t.matrix("A", "m", "n"), t.one(), t.one()], contraction(t, "A"),
    ),
    "a start that another matrix is to bound": lambda t: ("iterate", [t.matrix("A", "m", "n"), t.one(), t.one()], contraction(t)),
    "an offset of any sign": lambda t: (
        "differential of a normalisation", [t.matrix("A", "m", "n"), t.matrix("C", "m", "n"), t.add("scalar", "x")],
    ),
    "an offset that may be 0": lambda t: (
        "differential of a normalisation", [t.matrix("A", "m", "n"), t.matrix("C", "m", "n"), t.add("scalar", "z")],
    ),
    "a slope that is exceeded": lambda t: (
        "differential of an iteration",
        [t.add("q", 5, 4), t.matrix("K", "m", "n"), t.matrix("C", "m", "n"), t.one(), t.add("q", 3, 2), t.add("q", -1, 2)],
        contraction(t),
    ),
    "a polynomial above its bound": lambda t: (
        "polynomial of a contraction",
        [t.matrix("K", "m", "n"), t.add("q", 1, 5), t.one(), t.add("q", 1, 2), t.add("q", -1, 1), t.one()], contraction(t),
    ),
    "a bound less a square that is none": lambda t: (
        "polynomial of a contraction",
        [t.matrix("K", "m", "n"), t.add("q", 1, 5), t.add("q", -1, 1), t.add("q", 1, 2), t.add("q", -1, 1), t.one()],
        contraction(t),
    ),
    "similar by what is not the inverse": lambda t: (
        "similar matrices", [t.matrix("Y", "n", "n"), t.matrix("S", "n", "n"), t.matrix("R", "n", "n")],
    ),
    "an exponential of what is not dissipative": lambda t: (
        "exponential of a dissipative matrix", [t.one(), t.matrix("Y", "n", "n")],
    ),
    "an exponential of a multiple of any sign": lambda t: (
        "exponential of a dissipative matrix", [t.add("scalar", "x"), t.matrix("N", "n", "n")],
    ),
    "a differential of what does not rotate": lambda t: (
        "differential of the exponential", ["2", t.matrix("Y", "n", "n"), t.matrix("S", "n", "n")],
    ),
    "largest entries of the differential of a rotation": lambda t: (
        "differential of the exponential", ["max", t.matrix("S", "n", "n"), t.matrix("Y", "n", "n")],
    ),
    "an index of other rows": lambda t: (
        "differential of softmax", [t.add("index", "i", t.add("size", "k")), t.matrix("A", "m", "n"), t.matrix("C", "m", "n")],
    ),
    "a change of another shape": lambda t: (
        "differential of softmax", [t.add("index", "i", t.add("size", "m")), t.matrix("A", "m", "n"), t.matrix("B", "n", "k")],
    ),
    "what is no derivative": lambda t: ("derivative along a unit direction", [t.matrix("Y", "n", "n")]),
    "a derivative of a step": lambda t: ("derivative along a unit direction", [t.derivative("step")]),
    "a derivative by a skew matrix": lambda t: ("derivative along a unit direction", [t.derivative("softmax", "S")]),
    "a product rule by rows": lambda t: product_rule(t, "row-major", "B", "Z"),
    "a product rule with a last factor that varies": lambda t: product_rule(t, "column-major", "Z", "Z"),
    "a product rule with the derivative of another factor": lambda t: product_rule(t, "column-major", "B", "Z", "step"),
    "a shift of matrices of other shapes": lambda t: ("Weyl", [t.matrix("A", "m", "n"), t.matrix("B", "n", "k")]),
    "a factor that varies with the variable": lambda t: (
        "chain rule", ["2", t.square(), t.matrix("Z", "n", "n"), t.derivative("softmax"), t.matrix("Y", "n", "n"), t.square()],
    ),
    "a coefficient that varies with the variable": lambda t: (
        "derivative of a sum", ["2", t.square(), t.derivative("scaled"), t.square()],
    ),
    "a coefficient of a product that varies": lambda t: (
        "derivative of a sum of products", ["2", t.square(), t.derivative("scaled"), t.square()],
    ),
    "normalised rows by columns": lambda t: (
        "chain rule of normalised rows",
        ["2", t.add("index", "i", t.add("size", "n")), t.square(),
         t.derivative("normalised rows", layout="column-major"), t.square()],
    ),
    "normalised rows of another number": lambda t: (
        "chain rule of normalised rows",
        ["2", t.add("index", "i", t.add("size", "m")), t.square(), t.derivative("normalised rows"), t.square()],
    ),
    "what is taken off under a root": lambda t: (
        "root of a sum of squares", [t.norm("F", t.matrix("A", "m", "n")), t.add("scalar", "x")],
    ),
    "a number among the factors that is none": lambda t: (
        "number among the factors",
        ["F", t.matrix("A", "m", "n"), t.matrix("Y", "n", "n"), t.matrix("B", "n", "k")],
    ),
    "a stack of another matrix": lambda t: (
        "one of a stack", ["2", i := t.add("index", "i", t.add("size", "k")), t.matrix("X", "m", "n", i), t.matrix("A", "m", "n")],
    ),
    "a place that a stack may not have": lambda t: (
        "one of a stack",
        ["2", i := t.add("index", "i", t.add("size", "k")), t.matrix("X", "m", "n", i), t.matrix("X", "m", "n", t.one())],
    ),
    "an index that runs further than the stack is long": lambda t: (
        "one of a stack",
        ["2", i := t.add("index", "i", t.add("size", "k")), t.matrix("X", "m", "n", i),
         t.matrix("X", "m", "n", t.add("index", "j", t.add("size", "m")))],
    ),
    "a place of another stack": lambda t: (
        "one of a stack",
        ["2", i := t.add("index", "i", t.add("size", "k")), t.matrix("X", "m", "n", i),
         t.matrix("Y", "m", "n", t.add("q", 0, 1))],
    ),
    "a sum that may be larger": lambda t: (
        "sum", [t.add("+", t.one(), t.add("scalar", "z")), t.one()], [["terms"]],
    ),
    "an integral of what does not rotate": lambda t: (
        "integral of orthogonal matrices", [t.matrix("S", "n", "n"), t.matrix("Y", "n", "n")],
    ),
    "a row of any length and its image": lambda t: (
        "unit row and its skew image", [t.matrix("t", "1", "n"), t.add("scalar", "x"), t.matrix("S", "n", "n")],
    ),
    "several unit rows and their images": lambda t: (
        "unit row and its skew image", [t.matrix("U", "m", "n"), t.add("scalar", "x"), t.matrix("S", "n", "n")],
    ),
    "a column of unit rows, turned, and its image": lambda t: (
        "unit row and its skew image",
        [t.add("transpose", t.matrix("U", "n", "1")), t.add("scalar", "x"), t.matrix("S", "n", "n")],
    ),
    "a unit row and an image that is not orthogonal": lambda t: (
        "unit row and its skew image", [t.matrix("u", "1", "n"), t.add("scalar", "x"), t.matrix("Y", "n", "n")],
    ),
    "an iteration that is not concave beside its start": lambda t: (
        "differential of an iteration beside its start",
        ["rows", t.matrix("K", "m", "n"), t.matrix("C", "m", "n"), t.one(), t.add("q", 0, 1), t.one()], contraction(t),
    ),
    "an iteration that grows beside its start": lambda t: (
        "differential of an iteration beside its start",
        ["rows", t.matrix("K", "m", "n"), t.matrix("C", "m", "n"), t.one(), t.add("q", 2, 1)], contraction(t),
    ),
    "an iteration from any start beside it": lambda t: (
        "differential of an iteration beside its start",
        ["rows", t.matrix("A", "m", "n"), t.matrix("C", "m", "n"), t.one(), t.add("q", 3, 2), t.add("q", -1, 2)],
        contraction(t),
    ),
    "a column without others": lambda t: ("softmax row less an entry", [t.add("index", "i", t.one()), t.matrix("c", "1", "1")]),
    "a size that may be 1 without a column": lambda t: (
        "softmax row less an entry", [t.add("index", "i", t.add("size", "n")), t.matrix("t", "1", "n")],
    ),
    "an index of other columns": lambda t: (
        "softmax row less an entry", [t.add("index", "i", t.add("size", "s")), t.matrix("t", "1", "n")],
    ),
    "gaps of several rows": lambda t: (
        "softmax row less an entry", [t.add("index", "i", t.add("size", "s")), t.matrix("Q", "s", "s")],
    ),
    "a covariance of several rows by weights": lambda t: (
        "covariance by the weights beside one", [t.add("index", "i", t.add("size", "s")), t.matrix("Q", "s", "s")],
    ),
    "a third moment of several rows of weights": lambda t: (
        "third central moment", [t.matrix("A", "m", "n"), t.matrix("v", "n", "1")],
    ),
    "a third moment of several columns": lambda t: ("third central moment", [t.matrix("t", "1", "n"), t.matrix("Y", "n", "n")]),
    "a row of a covariance of several rows": lambda t: (
        "row of a covariance", [t.add("index", "i", t.add("size", "s")), t.matrix("Q", "s", "s")],
    ),
    "a row of a covariance of a weight that there may not be": lambda t: (
        "row of a covariance", [t.add("index", "i", t.add("size", "n")), t.matrix("t", "1", "n")],
    ),
    "a covariance of several rows off the diagonal": lambda t: (
        "covariance off the diagonal", [t.add("index", "i", t.add("size", "s")), t.matrix("Q", "s", "s")],
    ),
    "a covariance off the diagonal with an index of other columns": lambda t: (
        "covariance off the diagonal", [t.add("index", "i", t.add("size", "s")), t.matrix("t", "1", "n")],
    ),
    "weights beside the diagonal of what is wide": lambda t: ("weights beside the identity", [t.matrix("A", "m", "n")]),
    "columns of weights of what is wide": lambda t: ("columns of weights", [t.matrix("A", "m", "n")]),
    "a gap that the index moves": lambda t: (
        "weight by its gap", [i := t.add("index", "i", t.add("size", "s")), t.matrix("X", "s", "s", i)],
    ),
    "a gap over another index": lambda t: (
        "weight by its gap", [t.add("index", "i", t.add("size", "n")), t.matrix("Q", "s", "s")],
    ),
    "a gap of one row": lambda t: ("weight by its gap", [t.add("index", "i", t.add("size", "n")), t.matrix("Y", "n", "n")]),
    "a range over another index": lambda t: ("range", [t.add("index", "i", t.add("size", "n")), t.matrix("A", "m", "n")]),
    "a chord beyond its end": lambda t: (
        "softmax near equal weights, by a chord",
        [t.add("index", "i", t.add("size", "m")), t.matrix("A", "m", "n")], [["terms"]],
    ),
    "a chord without a reason": lambda t: (
        "softmax near equal weights, by a chord", [t.add("index", "i", t.add("size", "m")), t.matrix("A", "m", "n")],
    ),
    "a distance from rank one of a wide matrix": lambda t: ("distance from equal entries", [t.matrix("A", "m", "s"), t.one()]),
    "a distance from rank one of a number": lambda t: ("distance from equal entries", [t.matrix("Y", "n", "n"), t.one()]),
    "a smallest singular value of another shape": lambda t: (
        "smallest singular value of a sum", [t.matrix("A", "m", "n"), t.matrix("B", "n", "k")],
    ),
    "a frame of an iteration that is not concave": lambda t: frame_of(t, "rows", "e", [0, 1]),
    "a frame of a start that may be larger than 1": lambda t: frame_of(t, "columns", "x", [Fraction(3, 2), -Fraction(1, 2)]),
    "an assumption that is not declared": lambda t: ("assumption", [t.add("scalar", "z"), t.norm("F", t.matrix("A", "m", "n"))]),
    "a product of a wide matrix and a tall one": lambda t: (
        "smallest singular value of a product", [t.matrix("A", "m", "n"), t.matrix("B", "n", "k")],
        [["terms"], ["terms"]],
    ),
    "a product of which no order of sizes is shown": lambda t: (
        "smallest singular value of a product", [t.matrix("Y", "n", "n"), t.matrix("B", "n", "k")],
    ),
    "blocks of which one has more columns than rows": lambda t: (
        "smallest singular value of blocks", [t.matrix("Y", "n", "n"), t.matrix("A", "m", "n")], [["terms"], ["terms"]],
    ),
    "blocks of which no order of sizes is shown": lambda t: (
        "smallest singular value of blocks", [t.matrix("Y", "n", "n"), t.matrix("A", "m", "n")],
    ),
    "a diagonal matrix times a matrix of several columns": lambda t: (
        "diagonal of a column", ["F", t.matrix("v", "n", "1"), t.matrix("Y", "n", "n")],
    ),
    "the diagonal of a row": lambda t: ("diagonal of a column", ["F", t.matrix("t", "1", "n"), t.matrix("v", "n", "1")]),
    "an entrywise product of other shapes": lambda t: ("entrywise product", [t.matrix("A", "m", "n"), t.matrix("Y", "n", "n")]),
    "no blocks": lambda t: ("smallest singular value of blocks", []),
    "two blocks of different heights": lambda t: ("norm of two blocks", [t.matrix("A", "m", "n"), t.matrix("B", "n", "k")]),
    "a bound of the norm of one block alone": lambda t: (
        "norm of two blocks of bounded norm", [t.norm("2", A := t.matrix("A", "m", "n")), A, t.matrix("C", "m", "n")],
        [["terms"], ["terms"]],
    ),
    "a bound of norms without a reason": lambda t: (
        "norm of two blocks of bounded norm", [t.one(), t.matrix("A", "m", "n"), t.matrix("C", "m", "n")],
    ),
    "gains of two blocks of different heights": lambda t: (
        "smallest gain of two blocks", [t.matrix("A", "m", "n"), t.matrix("B", "n", "k")],
    ),
    "a bound of gains that may be negative": lambda t: (
        "smallest gain of two blocks of bounded gain", [t.add("scalar", "x"), t.matrix("A", "m", "n"), t.matrix("C", "m", "n")],
        [["terms"]] * 3,
    ),
    "a bound of one gain alone": lambda t: (
        "smallest gain of two blocks of bounded gain",
        [t.add("smallest gain", A := t.matrix("A", "m", "n")), A, t.matrix("C", "m", "n")], [["terms"]] * 3,
    ),
    "a bound of gains that is a norm": lambda t: (
        "smallest gain of two blocks of bounded gain", [t.norm("2", A := t.matrix("A", "m", "n")), A, A], [["terms"]] * 3,
    ),
    "a gain of a product without a factor": lambda t: ("smallest gain of a product", [t.matrix("A", "m", "n")]),
    "a gain of a product of other shapes": lambda t: (
        "smallest gain of a product", [t.matrix("A", "m", "n"), t.matrix("C", "m", "n")],
    ),
    "a root of the squares of what may be negative": lambda t: (
        "root of two squares", [t.add("scalar", "x"), t.one()], [["terms"], ["terms"]],
    ),
    "shapes that do not fit": lambda t: ("product", [t.matrix("A", "m", "n"), t.matrix("C", "m", "n")]),
    "a rule that nobody knows": lambda t: ("sorcery", [t.matrix("A", "m", "n")]),
}  # fmt: skip


def test_a_rule_is_refused_where_a_condition_fails() -> None:
    assert [case for case in WRONG if is_accepted(case)] == []


def is_accepted(case: str) -> bool:
    """Whether the checker takes a rule where one of its conditions fails."""
    table = Table()
    try:
        rule, arguments, *reasons = WRONG[case](table)
        values = [table.reader.table[item] if isinstance(item, int) else item for item in arguments]
        bounds.instance(rule, values, *(reasons or [[]]), bounds.Assumed([], []), table.reader.table)
    except (Refused, *bounds.ERRORS):
        return False
    return True


# -- planted certificates ----------------------------------------------------------------------------------------------


def test_a_mutants_right_side_is_refused() -> None:
    table, certificate = product()
    certificate["parts"][0]["right"] = table.add("*", table.add("q", 99, 100), certificate["parts"][0]["right"])
    assert "final comparison" in refused(certificate)


def test_a_dropped_step_is_refused() -> None:
    _, certificate = product()
    del certificate["parts"][0]["steps"][1]
    assert "final comparison" in refused(certificate)


def test_a_quantity_that_does_not_stand_there_is_refused() -> None:
    _, certificate = product()
    certificate["parts"][0]["steps"].reverse()
    assert "does not stand in the whole" in refused(certificate)


def test_a_replacement_under_a_minus_sign_is_refused() -> None:
    table = Table()
    A, B = table.matrix("A", "m", "n"), table.matrix("B", "n", "k")
    whole, other = table.norm("F", table.add("product", A, B)), table.add("*", table.norm("F", A), table.norm("2", B))
    minus = table.add("q", -1, 1)
    left, right = table.add("*", minus, whole), table.add("*", minus, other)
    assert "may fall" in refused(table.certificate(left, right, [("product, right", [A, B])]))
    inverse = [table.add("+", table.one(), value) for value in (whole, other)]
    left, right = (table.add("^", value, -1, 1) for value in inverse)
    assert "may fall" in refused(table.certificate(left, right, [("product, right", [A, B])]))


def test_a_replacement_beside_a_factor_of_unknown_sign_is_refused() -> None:
    table = Table()
    A = table.matrix("A", "m", "n")
    x = table.add("scalar", "x")
    left, right = (table.add("*", x, table.norm(kind, A)) for kind in "2F")
    assert "may fall" in refused(table.certificate(left, right, [("spectral at most Frobenius", [A])]))
    z = table.add("scalar", "z")
    left, right = (table.add("*", z, table.norm(kind, A)) for kind in "2F")
    check(table.certificate(left, right, [("spectral at most Frobenius", [A])]))


def test_a_factor_that_may_vanish_is_not_divided_by() -> None:
    table = Table()
    A, B = table.matrix("A", "m", "n"), table.matrix("B", "n", "k")
    scaled = table.add("sum", table.add("scalar", "z"), A)
    left, right = table.norm("F", table.add("product", A, B)), table.add("*", table.norm("F", A), table.norm("2", B))
    certificate = table.certificate(left, right, [("product, right", [scaled, B])])
    assert "no positive multiple" in refused(certificate)


def test_a_division_by_what_may_vanish_is_refused_unless_the_claim_divides_by_it() -> None:
    table = Table()
    z = table.add("scalar", "z")
    with pytest.raises(Refused, match="may vanish"):
        table.add("^", z, -1, 1)
    certificate = table.certificate(z, z, [])
    certificate["table"] = [*table.entries, ["^", z, -1, 1]]
    assert "may vanish" in refused(certificate)
    check(certificate | {"nonzero": [z]})


def test_a_wrong_sign_is_refused() -> None:
    table = Table()
    A, C = table.matrix("A", "m", "n"), table.matrix("C", "m", "n")
    one, minus = table.one(), table.add("q", -1, 1)
    difference = table.add("sum", one, A, minus, C)
    left, right = table.norm("2", difference), table.add("+", table.norm("2", A), table.norm("2", C))
    pieces = [A, table.add("sum", minus, C)]
    check(table.certificate(left, right, [("triangle inequality", ["2", *pieces])]))
    assert "does not stand" in refused(table.certificate(left, right, [("triangle inequality", ["2", A, C])]))


def test_a_free_index_is_not_bound_by_chance() -> None:
    table = Table()
    i = table.add("index", "i", table.add("size", "k"))
    A, X = table.matrix("A", "m", "n"), table.matrix("X", "m", "n", i)
    left = table.add("max over", i, table.norm("2", X))
    assert "free in the statement" in refused(table.certificate(table.norm("2", X), left, []))
    fact = table.add("+", table.norm("F", X), table.add("*", table.add("q", -1, 1), table.norm("2", A)))
    certificate = table.certificate(
        table.norm("2", A), table.norm("F", X), [("assumption", [fact, table.norm("2", A)])], assumptions=[fact]
    )
    assert "free" in refused(certificate)


def test_a_largest_of_several_needs_all_of_them() -> None:
    table = Table()
    A, C = table.matrix("A", "m", "n"), table.matrix("C", "m", "n")
    a, c = table.norm("2", A), table.norm("2", C)
    both, total = table.add("max", a, c), table.add("+", a, c)
    steps = [("largest of several", [both, total], [[a, ["terms"]], [c, ["terms"]]])]
    check(table.certificate(both, total, steps))
    assert "other numbers" in refused(table.certificate(both, a, [("largest of several", [both, a], [[a, ["terms"]]])]))
    cases = ["cases", both, [[a, ["terms"]]]]
    assert "does not hold" in refused(table.certificate(both, a, [], cases))
    check(table.certificate(both, total, [], ["cases", both, [[a, ["terms"]], [c, ["terms"]]]]))


def smallest_of_two(table: Table) -> tuple[int, int, int, int, int]:
    """||A||_2, ||C||_2, the same with a minus, and the larger of these two."""
    a, c = (table.norm("2", table.matrix(name, "m", "n")) for name in "AC")
    less = [table.add("*", table.add("q", -1, 1), place) for place in (a, c)]
    return a, c, *less, table.add("max", *less)  # type: ignore[return-value]


def test_in_each_case_the_largest_is_at_least_the_others() -> None:
    table = Table()
    a, c, less_a, less_c, larger = smallest_of_two(table)
    smaller, one = table.add("*", table.add("q", -1, 1), larger), table.one()
    by_fact = ["facts", [[1, one]], ["terms"]]  # c - a is not negative where -a is the larger one
    check(table.certificate(smaller, c, [], ["cases", larger, [[less_a, by_fact], [less_c, ["terms"]]]]))
    for reasons in (
        [[less_a, ["terms"]], [less_c, ["terms"]]],  # of which the first needs that
        [[less_a, ["facts", [[0, one]], ["terms"]]], [less_c, ["terms"]]],  # the case less itself, which is 0
        [[less_a, by_fact], [less_c, ["facts", [[2, one]], ["terms"]]]],  # more facts than there are
        [[less_a, by_fact], [a, ["terms"]]],  # not one of them
        [[less_a, by_fact]],
        [],
    ):
        refused(table.certificate(smaller, c, [], ["cases", larger, reasons]))
    # what is true is not turned round: the smaller of two numbers is not at least either
    for first in (["terms"], by_fact, ["facts", [[0, one]], ["terms"]]):
        for second in (["terms"], by_fact, ["facts", [[0, one]], ["terms"]]):
            refused(table.certificate(c, smaller, [], ["cases", larger, [[less_a, first], [less_c, second]]]))


def test_what_is_known_of_a_case_is_forgotten_after_it() -> None:
    table = Table()
    a, c, less_a, less_c, larger = smallest_of_two(table)
    one, total = table.one(), table.add("+", a, c)
    cases = ["cases", larger, [[less_a, ["terms"]], [less_c, ["terms"]]]]
    zero = table.add("q", 0, 1)
    check(table.certificate(larger, zero, [], ["parts", [[larger, zero, cases]]]))
    known = ["facts", [[1, one]], ["terms"]]  # a <= c, of the first case
    assert "IndexError" in refused(table.certificate(a, c, [], known))
    parts = ["parts", [[larger, zero, cases], [a, c, known]]]
    refused(table.certificate(table.add("+", larger, a), c, [], parts))
    refused(table.certificate(total, c, [], cases))
    index = table.add("index", "i", table.add("size", "k"))
    samples = table.add("max", table.norm("F", table.matrix("X", "m", "n", index)), a)
    whole = table.add("max over", index, samples)
    assert "differ with an index" in refused(table.certificate(whole, whole, [], ["cases", samples, []]))
    assert "no largest" in refused(table.certificate(a, a, [], ["cases", a, [[a, ["terms"]]]]))


def test_an_inequality_is_turned_with_both_signs() -> None:
    table = Table()
    a, c, less_a, less_c, _ = smallest_of_two(table)
    fact = table.add("+", c, less_a)  # a <= c
    by_fact = ["facts", [[0, table.one()]], ["terms"]]
    check(
        table.certificate(less_c, less_a, [], ["turned", ["squares", by_fact_squared(table, a, c)]], assumptions=[fact])
    )
    check(table.certificate(less_c, less_a, [], ["turned", by_fact], assumptions=[fact]))
    refused(table.certificate(less_a, less_c, [], ["turned", by_fact], assumptions=[fact]))
    refused(table.certificate(less_c, a, [], ["turned", ["squares", ["terms"]]], assumptions=[fact]))


def by_fact_squared(table: Table, a: int, c: int) -> list[Any]:
    """a^2 <= c^2, as (c + a) (c - a) is not negative."""
    return ["facts", [[0, table.add("+", a, c)]], ["terms"]]


def test_an_assumption_is_used_with_multipliers_that_are_not_negative() -> None:
    table = Table()
    x, e, one = table.add("scalar", "x"), table.add("scalar", "e"), table.one()
    minus = table.add("q", -1, 1)
    fact = table.add("+", e, table.add("*", minus, x))  # x <= e
    check(table.certificate(x, e, [], ["facts", [[0, one]], ["terms"]], assumptions=[fact]))
    assert "negative" in refused(table.certificate(e, x, [], ["facts", [[0, minus]], ["terms"]], assumptions=[fact]))
    assert "IndexError" in refused(table.certificate(x, e, [], ["facts", [[0, one]], ["terms"]]))


@pytest.mark.parametrize("name", ["squares", "denominators", "exponents", "parts", "growth", "magic"])
def test_no_reason_proves_the_converse(name: str) -> None:
    table = Table()
    e, one = table.add("scalar", "e"), table.one()
    larger = table.add("+", one, e)
    rest: dict[str, list[Any]] = {"parts": [[[larger, one, ["terms"]]]], "growth": [one, ["terms"]], "magic": []}
    reason = [name, *rest.get(name, [["terms"]])]
    refused(table.certificate(larger, one, [], reason))


def test_squares_prove_nothing_of_what_may_be_negative() -> None:
    table = Table()
    x, z = table.add("scalar", "x"), table.add("scalar", "z")
    right = table.add("*", table.add("q", -2, 1), table.add("abs", x))
    refused(table.certificate(table.add("abs", x), right, [], ["squares", ["terms"]]))
    refused(table.certificate(x, table.add("*", table.add("q", -1, 1), z), [], ["squares", ["terms"]]))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", 2),
        ("kind", "identity"),
        ("parts", []),
        ("sizes", ["m", "m", "n", "k"]),
        ("sizes", ["m", "n"]),
        ("sizes", ["m", "n", "k", "x"]),
        ("scalars", {"x": "whatever"}),
        ("inputs", {"A": ["is magic"], "B": []}),
        ("inputs", {"A": []}),
        ("inputs", {"A": ["is skew"], "B": []}),
        ("table", []),
        ("orthonormal", [10**6]),
        ("more", 1),
    ],
)
def test_what_is_not_declared_is_refused(key: str, value: Any) -> None:
    _, certificate = product()
    refused(certificate | {key: value})


@pytest.mark.parametrize("key", sorted(bounds.KEYS))
def test_a_missing_field_is_refused(key: str) -> None:
    _, certificate = product()
    del certificate[key]
    refused(certificate)


def test_an_unknown_field_of_a_step_or_a_part_is_refused() -> None:
    _, certificate = product()
    for place in (certificate["parts"][0], certificate["parts"][0]["steps"][0]):
        place["hint"] = "trust me"
        refused(copy.deepcopy(certificate))
        del place["hint"]
    check(certificate)


def test_an_expression_names_only_earlier_ones() -> None:
    _, certificate = product()
    for entry in (
        ["transpose", 10**6],
        ["transpose", -1],
        ["transpose", True],
        ["conjure", 0],
        ["function", "magic", 2],
        [],
    ):
        refused(certificate | {"table": [*certificate["table"], entry]})


@pytest.mark.parametrize(
    "entry",
    [
        ["q", 0.1], ["q", 0.5, 1], ["q", "1/2"], ["q", "1", "2"], ["q", 2], ["q", True, 2], ["q", 1, True], ["q", -1, -2],
        ["q", 1, 0], ["^", 0, 0.5, 1], ["^", 0, "1/2", 1], ["^", 0, 1, -2], ["^", 0, True, 2], ["^", True, 1, 2],
        ["+", 0, True], ["exp", 0.0],
    ],
)  # fmt: skip
def test_a_number_of_a_certificate_is_two_whole_ones(entry: list[Any]) -> None:
    """0.1 is no tenth once it is read; true is no place, and "1/2" no number."""
    table = Table()
    table.add("size", "m"), table.add("size", "n")
    with pytest.raises((Refused, TypeError)):
        table.add(*entry)


def test_statements_are_compared_in_normal_form() -> None:
    _, certificate = product()
    other = copy.deepcopy(certificate)
    other["parts"][0]["steps"] = []
    assert statement(other) == statement(certificate)
    other["parts"][0]["right"] = other["parts"][0]["left"]
    assert statement(other) != statement(certificate)
    assert statement(certificate | {"assumptions": [certificate["parts"][0]["left"]]}) != statement(certificate)


def test_what_a_statement_divides_by_is_a_part_of_it() -> None:
    """z + 0 / z says something of z other than 0 alone."""
    table = Table()
    z = table.add("scalar", "z")
    table.reader.nonzero.add(table.reader.table[z])
    hidden = table.add("+", z, table.add("*", table.add("q", 0, 1), table.add("^", z, -1, 1)))
    plain, other = (table.certificate(left, z, [], nonzero=[z]) for left in (z, hidden))
    assert statement(plain) != statement(other)
    assert statement(plain)[-1] == statement(other)[-1]


# -- normal forms ------------------------------------------------------------------------------------------------------


def test_normal_forms_agree_with_numbers() -> None:
    table = Table()
    A, C, Y = table.matrix("A", "m", "n"), table.matrix("C", "m", "n"), table.matrix("Y", "n", "n")
    one = table.one()
    i = table.add("index", "i", table.add("size", "k"))
    X = table.matrix("X", "m", "n", i)
    softmax = table.add("function", "softmax", table.add("product", A, Y))
    gated = table.add("entrywise", C, table.add("function", "step", A))
    first = table.add("rows", softmax, table.add("q", 0, 1), one)
    stacked = table.add("concatenate", A, table.add("sum", table.add("q", 2, 1), C, table.add("q", -1, 1), gated))
    total = table.add("sum of matrices", i, table.add("product", X, table.add("transpose", gated)))
    values = Values(SIZES, {}, arrays(np.random.default_rng(3), 1.0))
    a, c, y, x = (values.arrays[name] for name in "ACYX")
    p = np.exp(a @ y) / np.exp(a @ y).sum(axis=1, keepdims=True)
    g = c * (a > 0)
    expected = {first: p[:1], stacked: np.concatenate([a, 2 * c - g]), total: sum(x) @ g.T, gated: g}
    for place, wanted in expected.items():
        found = table.reader.table[place]
        assert np.allclose(values.array(found), wanted)
        assert np.allclose(values.array(found.T), wanted.T)
        assert found == found.T.T
        for kind, size in (
            ("2", np.linalg.norm(wanted, 2)),
            ("F", np.linalg.norm(wanted)),
            ("max", np.abs(wanted).max()),
        ):
            assert values.number(q.norm(kind, found)) == pytest.approx(size)


def test_equal_matrices_have_equal_norms() -> None:
    table = Table()
    A, C, B = (table.reader.table[table.matrix(*item)] for item in (("A", "m", "n"), ("C", "m", "n"), ("B", "n", "k")))
    assert q.norm("2", (A - C) @ B) == q.norm("2", (C @ B - A @ B).T)
    assert q.norm("F", A.times(number(-2))) == number(2) * q.norm("F", A)
    assert q.norm("F", A) != q.norm("F", C)
    assert q.norm("F", HEADS["concatenate"](A, C) @ B) == q.norm("F", HEADS["concatenate"](A @ B, C @ B))
    assert q.norm("2", A + C) != q.norm("2", A - C)


def test_signs_are_those_that_are_certain() -> None:
    table = Table()
    m, x, z = table.value("size", "m"), table.value("scalar", "x"), table.value("scalar", "z")
    assert q.is_nonnegative(m - number(1)) and not q.is_nonnegative(m - number(2))
    assert q.is_nonnegative(m * m - m) and not q.is_nonnegative(x) and q.is_nonnegative(x * x) and q.is_nonnegative(z)
    root = number(2) ** Fraction(1, 2)
    assert q.is_nonnegative(root - number(1)) and not q.is_nonnegative(root - number(2))
    assert q.is_nonnegative(m ** Fraction(1, 2) - number(1)) and not q.is_positive(z) and q.is_positive(z + number(1))


def test_every_rule_is_used_by_a_certificate() -> None:
    """What nothing uses is not to be believed; two rules are kept for the attacks that are written with them."""
    used: set[str] = set()

    def visit(item: Any) -> None:
        if isinstance(item, dict):
            used.update([item["rule"]] if "rule" in item else [])
            item = list(item.values())
        if isinstance(item, list):
            used.update(item[1:2] if item[:1] == ["instance"] else [])
            for part in item:
                visit(part)

    for path in sorted((Path(__file__).parents[1] / "theorems").glob("*/certificates.jsonl.xz")):
        for line in lzma.decompress(path.read_bytes()).decode().splitlines():
            for part in json.loads(line)["parts"] if '"kind":"bound"' in line else ():
                visit(part["comparison"])
                for step in part["steps"]:
                    used.add(step["rule"])
                    visit(step.get("reasons", []))
    attacked = {"unit rows"}
    assert set(RULES) - used == attacked
