"""Random formulas over the matrix primitives, and true statements about them that are broken afterwards.

A formula is text: it is drawn top down, by the shape that is wanted, from operands whose shapes are products of the sizes n, d, k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from verify.vocabulary import Real, Shape, Size

Dim = tuple[str, ...]
Dims = tuple[Dim, Dim]

#: Operands by name: rows and columns, "1" for none.
OPERANDS = {
    "X": "nd", "Y": "nd", "W": "dk", "G": "dd", "H": "dd", "T": "nn", "t": "1n", "u": "n1", "v": "d1",
    "S": "dd", "K": "dd", "U": "nd", "P": "dd", "Q": "nd", "C": "dd", "M": "dd",
}  # fmt: skip
#: Operands with a property, and how they are made of a matrix of the same shape, or of another one.
PROPERTIES = {
    "S": ("is symmetric", "S + S.T"),
    "K": ("is skew", "K - K.T"),
    "U": ("has unit rows", "normalize_rows(U)"),
    "P": ("is idempotent", "(P[:, :1] @ (P[:, :1] + P[:1].T).T) / total(P[:, :1] * (P[:, :1] + P[:1].T))"),
    "Q": ("has orthonormal columns", "(inverse(eye(n) + O - O.T) @ (eye(n) - O + O.T))[:, :d]"),
    "C": ("has singular values at most 1", "C / (1 + frobenius_norm(C))"),
    "M": ("has a symmetric part without positive eigenvalues", "M - M.T - M @ M.T"),
}
PLAIN = [name for name in OPERANDS if name not in PROPERTIES]
SIZES = {"n": (1, 4), "d": (1, 3), "k": (1, 3)}


def said_of(name: str) -> str:
    """The assumption that an operand has its property, in words."""
    known = {"M": "is dissipative, as it ", "C": "is a contraction, as it "}
    return f"{name} {known.get(name, '')}{PROPERTIES[name][0]}"


def dims_of(name: str) -> Dims:
    first, second = (() if letter == "1" else (letter,) for letter in OPERANDS[name])
    return first, second


@dataclass
class Maker:
    """Draws formulas of operands, which it picks at the beginning."""

    rng: np.random.Generator
    operands: list[str]
    scalars: list[str] = field(default_factory=list)
    #: whether only what has a norm is used
    of_norms: bool = False

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    @property
    def known_sizes(self) -> list[str]:
        """Names of sizes that an operand has."""
        return [name for name in SIZES if any((name,) in dims_of(operand) for operand in self.operands)]

    def size(self, dim: Dim) -> str:
        return " * ".join(self._size(name) for name in dim) or "1"

    def _size(self, name: str) -> str:
        for operand in self.operands:
            if (name,) in dims_of(operand):
                return f"{operand}.shape[{dims_of(operand).index((name,))}]"
        raise KeyError(name)

    def any_dims(self) -> Dims:
        return self.pick([dims_of(name) for name in self.operands])

    def dim(self) -> Dim:
        return (self.pick(self.known_sizes),)

    # -- formulas ------------------------------------------------------------------------------------------------------

    def formula(self, dims: Dims, depth: int) -> str:
        """A random formula of this shape."""
        if depth <= 0:
            return self.leaf(dims)
        for _ in range(8):
            made = self.pick(NORMED if self.of_norms else MAKERS)(self, dims, depth - 1)
            if made is not None:
                return f"({made})" if " " in made and not made.endswith(")") else made
        return self.leaf(dims)

    def leaf(self, dims: Dims) -> str:
        own = [name for name in self.operands if dims_of(name) == dims]
        turned = [f"{name}.T" for name in self.operands if dims_of(name)[::-1] == dims and name not in own]
        if own + turned:
            return self.pick(own + turned)
        (rows, columns), size = dims, self.size
        for name in self.operands:  # a product of two operands that has this shape
            for other in self.operands:
                if dims_of(name)[0] == rows and dims_of(other)[1] == columns and dims_of(name)[1] == dims_of(other)[0]:
                    return f"({name} @ {other})"
        first = [name for name in self.operands if dims_of(name)[0] == rows]
        if first and columns == ():
            return f"row_sums({self.pick(first)})"
        if first and rows == columns:
            name = self.pick(first)
            return f"({name} @ {name}.T)"
        return f"ones({size(rows)}, {size(columns)})"

    def number(self) -> str:
        return self.pick(["2", "3", "rational(1, 3)", "rational(-1, 2)", *self.scalars])

    def square(self, depth: int) -> tuple[str, Dim]:
        dim = self.dim()
        return self.formula((dim, dim), depth), dim


Rule = Callable[[Maker, Dims, int], "str | None"]


def _function(name: str, of: str = "{}") -> Rule:
    return lambda m, dims, depth: f"{name}({of.format(m.formula(dims, depth))})"


def _product(m: Maker, dims: Dims, depth: int) -> str:
    inner = m.dim()
    return f"{m.formula((dims[0], inner), depth)} @ {m.formula((inner, dims[1]), depth)}"


def _sum(m: Maker, dims: Dims, depth: int) -> str:
    return f"{m.formula(dims, depth)} {m.pick('+-')} {m.formula(dims, depth)}"


def _scaled(m: Maker, dims: Dims, depth: int) -> str:
    return f"{m.number()} * {m.formula(dims, depth)}"


def _by_a_scalar(m: Maker, dims: Dims, depth: int) -> str:
    square, _ = m.square(depth - 1)
    return f"{m.pick(['total', 'trace'])}({square}) * {m.formula(dims, depth)}"


def _entrywise(m: Maker, dims: Dims, depth: int) -> str:
    return f"hadamard({m.formula(dims, depth)}, {m.formula(dims, depth)})"


def _broadcast(m: Maker, dims: Dims, depth: int) -> str | None:
    if () in dims:
        return None
    return f"{m.formula(dims, depth)} * {m.formula((dims[0], ()), depth)}"


def _transposed(m: Maker, dims: Dims, depth: int) -> str:
    return f"({m.formula(dims[::-1], depth)}).T"


def _kronecker(m: Maker, dims: Dims, depth: int) -> str | None:
    if max(map(len, dims)) != 2 or min(map(len, dims)) == 1:
        return None
    (a, b), (c, e) = ((dim[:1], dim[1:]) if dim else ((), ()) for dim in dims)
    return f"kron({m.formula((a, c), depth)}, {m.formula((b, e), depth)})"


def _of_a_kronecker_product(m: Maker, dims: Dims, depth: int) -> str | None:
    """A product whose inner size is a product of sizes."""
    if any(len(dim) > 1 for dim in dims):
        return None
    inner = (*m.dim(), *m.dim())
    left, right = ((dims[0], inner), (inner, dims[1]))
    return f"{m.formula(left, depth)} @ {m.formula(right, depth)}" if () in dims else None


def _row_sums(m: Maker, dims: Dims, depth: int) -> str | None:
    if dims[1] == () and len(dims[0]) == 1:
        return f"{m.pick(['row_sums', 'row_norms'])}({m.formula((dims[0], m.dim()), depth)})"
    return None


def _vector(m: Maker, dims: Dims, depth: int) -> str | None:
    if dims[1] == () and len(dims[0]) == 2:
        one, other = dims[0][:1], dims[0][1:]
        return m.pick([f"vec_r({m.formula((one, other), depth)})", f"vec_c({m.formula((other, one), depth)})"])
    return None


def _constant(m: Maker, dims: Dims, depth: int) -> str | None:
    rows, columns = map(m.size, dims)
    if dims[0] == dims[1] and len(dims[0]) == 2:
        one, other = dims[0]
        return m.pick(
            [
                f"eye({rows})",
                f"commutation_matrix({m.size((one,))}, {m.size((other,))})" if one == other else f"eye({rows})",
            ]
        )
    if dims[0] == dims[1]:
        return f"eye({rows})"
    if dims[1] == () and len(dims[0]) == 1:
        return f"basis_vector({rows}, 0)"
    return f"ones({rows}, {columns})"


def _diagonal(m: Maker, dims: Dims, depth: int) -> str | None:
    if dims[0] != dims[1] or len(dims[0]) != 1:
        return None
    inner = m.formula(dims, depth)
    return m.pick([f"diag(diag_part({inner}))", f"diag({m.formula((dims[0], ()), depth)})"])


def _inverse(m: Maker, dims: Dims, depth: int) -> str | None:
    if dims[0] != dims[1] or len(dims[0]) != 1:
        return None
    A, one = m.formula(dims, depth - 1), f"eye({m.size(dims[0])})"
    return m.pick([f"inverse({A})", f"inverse({one} + {A} @ ({A}).T)", f"inverse({one} + {A} - ({A}).T)", f"expm({A})"])


def _slices(m: Maker, dims: Dims, depth: int) -> str | None:
    A = m.formula(dims, depth)
    options = [f"concatenate([{A}, {m.formula((m.dim(), dims[1]), depth)}], axis=0)[:{m.size(dims[0])}]"]
    if dims[0] == () and len(dims[1]) == 1:
        options = [f"{m.formula((m.dim(), dims[1]), depth)}[:1]"]
    return m.pick(options) if max(map(len, dims)) < 2 else None


def _rows(m: Maker, dims: Dims, depth: int) -> str | None:
    """Sums and stacks over an index."""
    if max(map(len, dims)) > 1:
        return None
    n = m.dim()
    row, other = m.formula((n, dims[0]), depth), m.formula((n, dims[1]), depth)
    size, weight = m.size(n), m.leaf((n, n))
    return m.pick(
        [
            f"summed({size}, lambda i: {row}[i:i + 1].T @ {other}[i:i + 1])",
            f"summed({size}, lambda i: {row}[i:i + 1].T @ {other}[i:i + 1] * {weight}[i, i])",
            f"summed({size}, lambda i: softmax({row}[i:i + 1]).T @ {other}[i:i + 1])",
            f"summed({size}, lambda i: summed({size}, lambda j: {weight}[i, j] * ({row}[i:i + 1].T @ {other}[j:j + 1])))",
        ]
    )


def _power(m: Maker, dims: Dims, depth: int) -> str:
    return m.pick(
        ["({0}) ** 2", "1 / (1 + ({0}) ** 2)", "sqrt(1 + ({0}) ** 2)", "log(1 + ({0}) ** 2)", "sqrt(({0}) ** 2)"]
    ).format(m.formula(dims, depth))


MAKERS: list[Rule] = [
    _product, _product, _sum, _scaled, _by_a_scalar, _entrywise, _broadcast, _transposed, _kronecker,
    _of_a_kronecker_product, _row_sums, _vector, _constant, _diagonal, _inverse, _slices, _rows, _power,
    _function("softmax"), _function("exp"), _function("relu"), _function("step"), _function("absolute"),
    _function("normalize_rows"), _function("relu", "-{}"),
]  # fmt: skip
#: What the arithmetic of norms has a form for.
NORMED: list[Rule] = [
    _product, _sum, _scaled, _entrywise, _transposed, _kronecker, _constant, _function("softmax"), _function("relu"),
    _function("normalize_rows"), _diagonal, _slices, _broadcast,
]  # fmt: skip


def maker(rng: np.random.Generator, of_norms: bool = False) -> Maker:
    """A maker with two to four operands, some of them with a property, and scalars."""
    operands = [
        "X",
        *rng.choice([name for name in PLAIN if name != "X"], int(rng.integers(1, 3)), replace=False).tolist(),
    ]
    if rng.random() < 0.4:
        operands.append(str(rng.choice(list(PROPERTIES))))
    return Maker(rng, operands, ["c", "s"] if rng.random() < 0.4 else [], of_norms)


# -- what a claim needs ------------------------------------------------------------------------------------------------


def annotations_of(m: Maker, raw: bool = False) -> dict[str, Any]:
    """The operands and scalars as parameters of a formula; with `raw` of the function that prepares them."""
    found: dict[str, Any] = {name: Annotated[Any, Shape(*OPERANDS[name])] for name in m.operands}
    found |= {name: Annotated[Any, Real(-2.0, 2.0) if name == "c" else Real(0.25, 4.0)] for name in m.scalars}
    if raw and "Q" in m.operands:
        del found["Q"]
        found |= {"O": Annotated[Any, Shape("n", "n")], "n": Annotated[Any, Size("n")], "d": Annotated[Any, Size("d")]}
    return found


def preparation_of(m: Maker) -> str | None:
    """How operands with a property are made, as text; None where there are none."""
    if not any(name in PROPERTIES for name in m.operands):
        return None
    made = [f"{name}={PROPERTIES[name][1] if name in PROPERTIES else name}" for name in [*m.operands, *m.scalars]]
    return f"lambda {', '.join(annotations_of(m, raw=True))}: dict({', '.join(made)})"
