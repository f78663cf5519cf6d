"""What negative cases of rules for norms are made of: matrices of which a rule says nothing, statements without a derivation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from verify.arithmetics.norms import Bounded, derivation, input_matrix, nodes, rules
from verify.arithmetics.norms.atoms import LARGEST, SPECTRAL, entry, largest_over, norm
from verify.arithmetics.norms.derivation_search import DerivationSearch
from verify.arithmetics.norms.derivations import derived, prove_bound
from verify.arithmetics.norms.rules import candidates
from verify.arithmetics.norms.smallest import is_range, largest_gap, largest_range
from verify.arithmetics.norms.world import Index, world
from verify.matrix import (
    COLUMN,
    absolute,
    concatenate,
    diag,
    expm,
    frobenius_norm,
    maximum,
    ones,
    softmax,
    spectral_norm,
    without_column,
    zeros,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

F, N = frobenius_norm, spectral_norm
m, n, k, L, K = (sympy.Symbol(name, positive=True, integer=True) for name in ("m", "n", "k", "L", "K"))
SHAPES = {
    "A": (m, n), "B": (n, m), "C": (m, n), "D": (n, m), "S": (n, n), "T": (n, n), "G": (n, n), "H": (n, n), "P": (n, n),
    "Q": (n, m), "U": (m, n), "v": (1, n), "u": (1, n), "e": (n, 1), "x": (n, 1), "X": (L, m, n), "Y": (L, m, n),
    "small": (m, n), "tall": (2, 6), "wide": (3, 4),
}  # fmt: skip
PROPERTIES = {
    ("is skew", "S"), (rules.DISSIPATIVE, "P"), ("has orthonormal columns", "Q"), ("has unit rows", "U"),
    ("has singular values at most 1", "small"),
}  # fmt: skip
SCALARS = {"w": sympy.Symbol("w", real=True), "m": m, "n": n, "k": k, "L": L}


@dataclass(frozen=True)
class Silent:
    """Matrices, or a quantity, of which a rule gives no bound; `entrywise`: while largest column sums are spoken of."""

    kind: str
    made: Callable[..., Any]

    def holds(self, rule: str) -> bool:
        with derivation() as known:
            known.properties |= PROPERTIES
            known.entrywise = self.kind == LARGEST
            value = self.made(*inputs_of(self.made).values())
            quantity = norm(self.kind, value.node) if isinstance(value, Bounded) else value
            symbols = [symbol for symbol in quantity.free_symbols if symbol in world().atoms]
            found = [name for symbol in symbols for names, _, _ in candidates(symbol) for name in names.split("; ")]
            return bool(symbols) and rule not in found


@dataclass(frozen=True)
class Unproved:
    """left <= right, which is false or says nothing, with what assumptions say is positive, zero, or not negative."""

    left: Callable[..., Any]
    right: Callable[..., Any]
    positive: Sequence[Callable[..., Any]] = ()
    zero: Sequence[Callable[..., Any]] = ()
    nonnegative: Sequence[Callable[..., Any]] = ()

    def holds(self, rule: str) -> bool:
        return not is_proved(self)


@dataclass(frozen=True)
class Holds:
    """Anything else that is true only where a rule does not fire."""

    test: Callable[[], bool]

    def holds(self, rule: str) -> bool:
        with derivation() as known:
            known.properties |= PROPERTIES
            return self.test()


def is_by_boxes(left: Callable[..., Any], right: Callable[..., Any]) -> bool:
    """Whether an inequality of functions of a real number is derived by boxes."""
    t = sympy.Symbol("t", real=True)
    found = derived(sympy.sympify(left(t)), right(t))
    return found.proved and [step.rule for step in found.steps] == ["boxes"]


def inputs_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The operands that a function names."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {name: SCALARS[name] if name in SCALARS else input_matrix(name, *SHAPES[name]) for name in names}


def is_proved(statement: Unproved) -> bool:
    """Whether there is a derivation whose conditions on sizes are none."""
    functions = [statement.left, statement.right, *statement.positive, *statement.zero, *statement.nonnegative]

    def side(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda prepared: function(**{name: prepared[name] for name in inputs_of(function)})

    with derivation() as known:
        known.properties |= PROPERTIES
        proof = prove_bound(
            side(statement.right), side(statement.left), lambda: {key: v for f in functions for key, v in inputs_of(f).items()}, {},
            *([side(f) for f in given] for given in (statement.positive, statement.zero, statement.nonnegative)),
        )  # fmt: skip
    refused = ("inequalities are not derived", "ArithmeticUnsupported", "InputError")
    assert proof.proved or any(text in str(proof.reason) for text in refused), proof.reason
    return proof.proved and not proof.conditions


def raises(function: Callable[..., Any]) -> bool:
    """Whether something has no norm."""
    try:
        function(*inputs_of(function).values())
    except (ArithmeticUnsupported, InputError):
        return True
    return False


def corner(upper: Any, right: Any, lower: Any) -> Any:
    """The upper right block of exp [[upper, right], [0, lower]]."""
    rows = [concatenate([upper, right], axis=1), concatenate([zeros(n, n), lower], axis=1)]
    return expm(concatenate(rows, axis=0))[:n, n:]


def of(value: Any) -> Any:
    """A node as an operand."""
    return Bounded(value)


def differential_of(kind: str, *parts: Any, data: tuple[Any, ...] = ()) -> Any:
    """The differential of a function along a direction, both of them matrices."""
    return of(nodes.of(f"{kind} differential", *(part.node for part in parts), data=data, shape=parts[0].node.shape))


def less_a_weight(p: Any, q: Any) -> Any:
    """diag(p) - q q^T for rows p and q."""
    return diag(p.T) - q.T @ q


def largest_column_sum(A: Any) -> Any:
    return maximum(ones(1, A.shape[0]) @ absolute(A))


ITERATION = (K, sympy.Rational(3, 2), -sympy.Rational(1, 2))


def weights(name: str) -> Any:
    """softmax of an input row."""
    return softmax(input_matrix(name, *SHAPES[name]))


def numbers() -> tuple[Any, Any, Any]:
    """||A||_F, ||B||_F and ||A B||_F."""
    A, B = (input_matrix(name, *SHAPES[name]) for name in "AB")
    return F(A), F(B), F(A @ B)


def root_of_a_multiple_of_entries(sign: int) -> bool:
    """Whether sum_i c ||A||_F |e_i| is bounded through ||e||_F, for a number c of this sign."""
    index, (A, e) = Index(n, 0), (input_matrix(name, *SHAPES[name]) for name in "Ae")
    bound = DerivationSearch(frozenset())._uniform(index, sign * F(A) * abs(entry(e.node, index, 0)))
    return F(e) in bound.free_symbols


def block_of(A: Any, factor: int = 1) -> Any:
    """blockdiag(diag(p_i) - f p_i p_i^T) for the rows p_i of the softmax of n logits, shape (n^2, n^2)."""
    T = nodes.of("softmax", input_matrix("G", n, n).node)
    shape = (n * n, n * n)
    diagonals, products = (nodes.of(kind, T, shape=shape) for kind in ("rows as diagonals", "rows as outer products"))
    return of(nodes.sum_of([(1, diagonals), (-factor, products)], shape))


def minor(M: Any, i: int, j: int) -> Any:
    """M without row i and column j."""
    return without_column(without_column(M, j).T, i)


def third_moment(v: Any, x: Any, y: Any, z: Any, sign: int = -1) -> Any:
    """z^T (diag(u) - u p^T + sign p u^T) x for u = (diag(p) - p p^T) y."""
    p = softmax(v).T
    u = (diag(p) - p @ p.T) @ y
    return z.T @ (diag(u) - u @ p.T + sign * p @ u.T) @ x


def gram_of_rotation(A: Any, R: Any, sign: int = 1) -> Any:
    """D + D^T + sign D^T D for D = A R A^T."""
    D = A @ R @ A.T
    return D + D.T + sign * D.T @ D


def raises_at_offset(offset: int) -> bool:
    """Whether no differential of M / (||M||_F + e) is found for this e."""

    def normalised(A: Any) -> Any:
        return A / (F(A) + offset)

    A = input_matrix("A", m, n)
    (symbol,) = (
        s for s in norm(SPECTRAL, jacobian(normalised, "A", COLUMN)(A).node).free_symbols if s in world().atoms
    )
    return not any("derivative along" in name for name, _, _ in candidates(symbol))


def names_of(kind: str, made: Callable[..., Any]) -> set[str]:
    """The rules for softmax matrices by which a norm is bounded, where largest values over rows are spoken of."""
    largest_range(input_matrix("G", *SHAPES["G"]).node)
    quantity = norm(kind, made(*inputs_of(made).values()).node)
    symbols = [symbol for symbol in quantity.free_symbols if symbol in world().atoms]
    of_softmax = {
        "weights beside the identity", "columns of weights", "softmax near the uniform matrix", "chord of sinh",
    }  # fmt: skip
    found = {name for symbol in symbols for names, _, _ in candidates(symbol) for name in names.split("; ")}
    return found & of_softmax


def tall_of(rows: int, columns: int) -> Any:
    """An input of this shape."""
    return input_matrix(f"tall {rows} {columns}", rows, columns)


def largest_gap_of(sign: int) -> Any:
    """The largest gap of a multiple of logits."""
    return largest_gap(nodes.scaled(sign, input_matrix("G", *SHAPES["G"]).node))


def is_range_of(c: int, d: int) -> bool:
    """Whether the largest over rows of max c A + max d A counts as a range, which is not negative."""
    index, A = Index(n, 0), input_matrix("G", *SHAPES["G"]).node
    row = nodes.rows(A, index, index + 1, 1)
    values = [world().atom("largest value", (nodes.scaled(factor, row),), "real") for factor in (c, d)]
    return is_range(largest_over(index, sympy.Add(*values)))
