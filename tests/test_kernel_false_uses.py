"""Every rule of the checker of bounds is used wrongly once, in a certificate of what is false, and refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.kernel_values import Values
from tests.test_kernel_bounds import SIZES, WRONG, Table, arrays, refused
from verify.kernel.bound_rules import RULES
from verify.kernel.bounds import check
from verify.kernel.refusal import Refused

pytestmark = pytest.mark.kept

#: Left side, right side, which is smaller somewhere, and the arguments of the rule that is used.
FalseUse = Callable[[Table], tuple[int, int, list[object]]]


def A(t: Table) -> int:
    return t.matrix("A", "m", "n")


def B(t: Table) -> int:
    return t.matrix("B", "n", "k")


def C(t: Table) -> int:
    return t.matrix("C", "m", "n")


def index(t: Table, size: str) -> int:
    return t.add("index", "i", t.add("size", size))


def sample(t: Table) -> int:
    return t.matrix("X", "m", "n", index(t, "k"))


def difference(t: Table, a: int, b: int) -> int:
    one, minus = t.one(), t.add("q", -1, 1)
    return t.add("sum", one, a, minus, b)


def root(t: Table, size: str) -> int:
    return t.add("^", t.add("size", size), 1, 2)


def times(t: Table, *factors: int) -> int:
    return t.add("*", *factors)


def largest_norm(t: Table, kind: str) -> int:
    return t.add("max over", index(t, "k"), t.norm(kind, sample(t)))


def turned(t: Table) -> tuple[int, int, list[object]]:
    """||A (exp(S) - I) Y||_2 <= ||A S Y||_2."""
    S, Y = t.matrix("S", "n", "n"), t.matrix("Y", "n", "n")
    change = difference(t, t.add("function", "exponential", S), t.add("identity", t.add("size", "n")))
    left = t.norm("2", t.add("product", A(t), change, Y))
    return left, t.norm("2", t.add("product", A(t), S, Y)), ["2", A(t), S, Y]


def softmaxes(t: Table) -> int:
    return difference(t, *(t.add("function", "softmax", M) for M in (A(t), C(t))))


def covariances(t: Table) -> int:
    p, size = t.add("function", "softmax", A(t)), t.add("*", t.add("size", "m"), t.add("size", "n"))
    kinds = ("rows as diagonals", "rows as outer products")
    return difference(t, *(t.add("opaque", kind, size, size, p) for kind in kinds))


def antisymmetric(t: Table) -> int:
    products = [t.add("product", M, t.add("transpose", N)) for M, N in ((A(t), C(t)), (C(t), A(t)))]
    return difference(t, *products)


def corner(t: Table) -> int:
    """The upper right block of exp [[Y, B], [0, 0]]."""
    n, k = t.add("size", "n"), t.add("size", "k")
    total, first = t.add("+", n, k), t.add("q", 0, 1)
    upper = t.add("transpose", t.add("concatenate", *(t.add("transpose", M) for M in (t.matrix("Y", "n", "n"), B(t)))))
    whole = t.add("function", "exponential", t.add("concatenate", upper, t.add("zeros", k, total)))
    rows = t.add("rows", whole, first, n)
    return t.add("transpose", t.add("rows", t.add("transpose", rows), n, k))


def column(t: Table) -> tuple[int, int, list[object]]:
    """sum_i |v_i| <= ||v||."""
    v, i = t.matrix("v", "n", "1"), index(t, "n")
    return t.add("sum over", i, t.norm("F", t.add("rows", v, i, t.one()))), t.norm("F", v), [i, v]


FALSE_USES: dict[str, FalseUse] = {
    "triangle inequality": lambda t: (
        t.norm("2", t.add("sum", t.one(), A(t), t.one(), C(t))), t.add("max", *(t.norm("2", M) for M in (A(t), C(t)))),
        ["2", A(t), C(t)],
    ),
    "sum over an index": lambda t: (
        t.norm("F", t.add("sum of matrices", index(t, "k"), sample(t))), largest_norm(t, "F"), ["F", index(t, "k"), sample(t)],
    ),
    "sum of rows": lambda t: (
        t.norm("2", t.add("product", t.add("opaque", "ones", t.one(), t.add("size", "m")), A(t))), t.norm("2", A(t)),
        ["2", index(t, "m"), A(t)],
    ),
    "product, left": lambda t: (t.norm("F", t.add("product", A(t), B(t))), t.norm("F", B(t)), [A(t), B(t)]),
    "product, right": lambda t: (t.norm("F", t.add("product", A(t), B(t))), t.norm("F", A(t)), [A(t), B(t)]),
    "Kronecker product": lambda t: (
        t.norm("2", t.add("kronecker", A(t), B(t))), times(t, t.norm("2", A(t)), t.norm("max", B(t))), ["2", A(t), B(t)],
    ),
    "spectral at most Frobenius": lambda t: (t.norm("F", A(t)), t.norm("2", A(t)), [A(t)]),
    "row norms": lambda t: (
        t.norm("F", t.add("opaque", "row norms", t.add("size", "m"), t.one(), A(t))), t.norm("2", A(t)), [A(t)],
    ),
    "rank": lambda t: (
        t.norm("F", t.add("product", A(t), B(t))), t.norm("2", t.add("product", A(t), B(t))), [A(t), B(t)],
    ),
    "largest entry": lambda t: (t.norm("F", A(t)), t.norm("max", A(t)), [A(t)]),
    "largest of all entries": lambda t: (t.norm("F", A(t)), t.norm("max", A(t)), [A(t)]),
    "squares of blocks": lambda t: (
        t.add("+", *(t.add("^", t.norm("2", M), 2, 1) for M in (A(t), C(t)))),
        t.add("^", t.norm("2", t.add("concatenate", A(t), C(t))), 2, 1), [A(t), C(t)],
    ),
    "squares of a stack": lambda t: (
        t.add("sum over", index(t, "k"), t.add("^", t.norm("2", sample(t)), 2, 1)),
        t.add("^", t.norm("2", t.add("stack", index(t, "k"), sample(t))), 2, 1), [index(t, "k"), sample(t)],
    ),
    "sum of all absolute values": lambda t: (t.norm("1", A(t)), t.norm("F", A(t)), [A(t)]),
    "stack of one length": lambda t: (
        t.norm("F", t.add("stack", index(t, "k"), sample(t))), largest_norm(t, "F"), ["F", index(t, "k"), sample(t)],
    ),
    "block diagonal": lambda t: (
        t.norm("F", t.add("block diagonal", index(t, "k"), sample(t))), largest_norm(t, "F"), [index(t, "k"), sample(t)],
    ),
    "softmax row": lambda t: (t.norm("F", t.add("function", "softmax", A(t))), t.one(), [A(t)]),
    "softmax is 1/2-Lipschitz": lambda t: (
        t.norm("F", softmaxes(t)), times(t, t.add("q", 1, 5), t.norm("F", difference(t, A(t), C(t)))), [A(t), C(t)],
    ),
    "softmax in the 1-norm": lambda t: (
        t.norm("1", softmaxes(t)), t.norm("max", difference(t, A(t), C(t))), [A(t), C(t)],
    ),
    "covariances of softmax rows": lambda t: (t.norm("F", covariances(t)), t.add("q", 1, 2), [A(t)]),
    "largest of open gates": lambda t: (t.norm("max", t.add("function", "relu", A(t))), t.one(), [A(t)]),
    "antisymmetric product": lambda t: (
        t.norm("2", antisymmetric(t)), t.norm("2", t.add("concatenate", *(t.add("transpose", M) for M in (A(t), C(t))))),
        [A(t), C(t)],
    ),
    "rotation by its mean": turned,
    "rotation by its mean, reversed": turned,
    "series of an exponential": lambda t: (  # as if the first term were the sum
        t.norm("2", corner(t)), t.norm("2", B(t)), [t.matrix("Y", "n", "n"), B(t)],
    ),
    "mean of exponentials": lambda t: (
        times(t, t.norm("F", A(t)), t.add("mean of exponentials", t.norm("F", A(t)))), t.norm("F", A(t)), [t.norm("F", A(t))],
    ),
    "Cauchy-Schwarz for all entries": lambda t: (
        t.norm("1", A(t)), times(t, root(t, "m"), t.norm("F", A(t))), [A(t)],
    ),
    "sum of absolute values": column,
    "largest over an index": lambda t: (
        largest_norm(t, "F"), t.norm("F", t.matrix("X", "m", "n", t.add("q", 0, 1))), [index(t, "k"), t.norm("F", sample(t))],
    ),
    "spectral radius": lambda t: (
        t.norm("2", Y := t.matrix("Y", "n", "n")), t.add("spectral radius", Y), [Y],
    ),
    "smallest singular value of a sum": lambda t: (
        t.add("smallest singular value", A(t)),
        t.add(
            "+", t.add("smallest singular value", t.add("sum", t.one(), A(t), t.one(), C(t))),
            t.add("smallest singular value", C(t)),
        ),
        [A(t), C(t)],
    ),
    "entrywise product": lambda t: (  # of two largest entries
        t.norm("F", t.add("entrywise", A(t), C(t))), times(t, t.norm("max", A(t)), t.norm("max", C(t))), [A(t), C(t)],
    ),
    "diagonal of a column": lambda t: (  # as if v o x were v
        t.norm("F", t.add("product", t.add("diagonal", v := t.matrix("v", "n", "1")), v)), t.norm("F", v), ["F", v, v],
    ),
    "Weyl": lambda t: (
        t.add("largest shift of singular values", A(t), C(t)), t.add("smallest singular value", difference(t, A(t), C(t))),
        [A(t), C(t)],
    ),
    "smallest at most largest singular value": lambda t: (
        t.norm("2", A(t)), t.add("smallest singular value", A(t)), [A(t)],
    ),
    "smallest eigenvalue of a Gram matrix": lambda t: (
        t.add("smallest eigenvalue", A(t)), t.add("^", t.add("smallest singular value", A(t)), 4, 1), [A(t)],
    ),
    "softmax at the vector of ones": lambda t: (
        t.norm("2", t.add("function", "softmax", A(t))), t.norm("2", A(t)), [A(t)],
    ),
    "softmax near equal weights": lambda t: (
        t.norm("F", t.add("function", "softmax", A(t))), t.norm("F", A(t)), [index(t, "m"), A(t)],
    ),
    "normalised rows": lambda t: (  # as many as the rows of a transpose
        t.norm("F", t.add("function", "normalised rows", B(t))), root(t, "k"), [t.add("transpose", B(t))],
    ),
}  # fmt: skip


def test_every_rule_is_used_wrongly() -> None:
    """Beside matrices that a condition keeps out (`WRONG`): where there is no condition, a false statement."""
    wrong = {case(Table())[0] for case in WRONG.values()}
    assert wrong - {"assumption", "orthonormal by assumption", "sorcery"} | FALSE_USES.keys() == set(RULES)


@pytest.mark.parametrize("rule", FALSE_USES)
def test_a_false_statement_is_refused(rule: str) -> None:
    table = Table()
    left, right, arguments = FALSE_USES[rule](table)
    rng = np.random.default_rng(5)
    sides = [table.reader.table[place] for place in (left, right)]
    points = [
        Values(SIZES, {"x": -0.7, "e": 0.3, "z": 0.0}, arrays(rng, scale))
        for scale in (0.01, 1.0, 5.0)
        for _ in range(8)
    ]
    values = [tuple(map(point.number, sides)) for point in points]
    assert any(a > b * (1 + 1e-6) for a, b in values)
    refused(table.certificate(left, right, [(rule, arguments)]))
    refused(table.certificate(left, right, []))
    check(table.certificate(right, right, []))  # only the statement is at fault


def test_squares_of_blocks_are_those_of_one_norm_and_each_once() -> None:
    """As a reason for the final comparison: of Frobenius norms it holds, of others it is refused, and so is twice a block."""

    def certificate(kind: str, count: int) -> dict[str, Any]:
        t = Table()
        squares = t.add("^", t.norm(kind, A(t)), 2, 1), *[t.add("^", t.norm(kind, C(t)), 2, 1)] * count
        left, right = t.add("^", t.add("+", *squares), 1, 2), t.norm(kind, t.add("concatenate", A(t), C(t)))
        reason = ["squares", ["instance", "squares of blocks", [A(t), C(t)], [], t.one(), ["terms"]]]
        return t.certificate(left, right, [], reason)

    check(certificate("F", 1))
    refused(certificate("2", 1))
    refused(certificate("F", 2))

    def of_a_stack(kind: str, factor: int) -> dict[str, Any]:
        t = Table()
        i = index(t, "k")
        squares = t.add("sum over", i, t.add("^", t.norm(kind, sample(t)), 2, 1))
        right = t.add("^", t.norm(kind, t.add("stack", i, sample(t))), 2, 1)
        reason = ["instance", "squares of a stack", [i, sample(t)], [], t.one(), ["terms"]]
        return t.certificate(times(t, t.add("q", factor, 1), squares), right, [], reason)

    check(of_a_stack("F", 1))
    refused(of_a_stack("2", 1))
    refused(of_a_stack("F", 2))


def test_the_spectral_radius_is_that_of_a_square_matrix() -> None:
    table = Table()
    with pytest.raises(Refused, match="another shape"):
        table.add("spectral radius", A(table))
    with pytest.raises(Refused, match="another shape"):
        RULES["spectral radius"][1](table.reader.table[A(table)])
