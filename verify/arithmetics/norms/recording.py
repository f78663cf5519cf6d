"""Expressions of derivations as certificates have them: a table in which each stands once."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, GAIN, LARGEST, MEAN_EXPONENTIAL, SHIFT, SMALLEST, SPECTRAL
from verify.arithmetics.norms.statements import ways_of
from verify.arithmetics.norms.world import Index, Node, World
from verify.kernel import bound_rules, places, quantities
from verify.kernel import bounds as kernel
from verify.kernel.smallest_values import EIGENVALUE

KINDS = {SPECTRAL: "2", FROBENIUS: "F", LARGEST: "max"}
FUNCTIONS = ("softmax", "relu", "step", "absolute", "reciprocal", "exponential", "inverse", "normalised rows")
#: Rules of the checker that say the same of c A as of A, for each matrix or for all together: where c may vanish it is left out.
FOR_EACH_MULTIPLE = (
    "product", "product, left", "product, right", "entrywise product", "spectral at most Frobenius", "largest entry",
    "largest of all entries", "sum of all absolute values",
)  # fmt: skip
FOR_ONE_MULTIPLE = ("triangle inequality", "blocks")
Steps = list[tuple[Any, ...]]
#: Choices of steps and multipliers that are tried for one claim: beyond, there is no certificate.
TRIED = 12_000
LARGEST_SIZE = 1000


class NotCertified(Exception):
    """A derivation has a part that no certificate says yet; the text says which."""


class Writer:
    """The table of a certificate: expressions of a derivation, each once."""

    def __init__(self, known: World, least: Mapping[str, int] = MappingProxyType({})) -> None:
        self.known, self.least = known, least
        self.entries: list[list[Any]] = []
        self.places: dict[Any, int] = {}
        self.inputs: dict[str, list[str]] = {}
        self.directions: dict[str, int] = {}  # of unit directions, the derivatives that move most along them
        self.scalars: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.nonzero: set[int] = set()
        self.tried = 0
        self.stated = False
        self.assumed = kernel.Assumed([], [])
        self.given = 0  # how many facts the claim assumes; those of a case follow
        self.reader = kernel.Reader([], self.scalars, self.inputs)
        self.reader.sizes = self.sizes
        self._of_nodes: dict[int, int] = {}
        self._of_scalars: dict[Any, int] = {}

    def try_one(self, weight: int = 1) -> None:
        """Count a choice; raise `NotCertified` where there have been too many."""
        self.tried += weight
        if self.tried > TRIED:
            raise NotCertified(f"none within a weight of {TRIED}")

    def add(self, *entry: Any) -> int:
        key = tuple(entry)
        if key not in self.places:
            self.reader.table.append(self.reader.read(list(entry)))
            self.places[key] = len(self.entries)
            self.entries.append(list(entry))
        return self.places[key]

    def value(self, place: int) -> Any:
        return self.reader.table[place]

    def point_directions(self, steps: Iterable[Any]) -> None:
        """Take unit directions for those along which the derivatives of these steps move most."""
        found = {}
        for step in steps:
            if step.rule == "derivative along a unit direction":
                node = self.known.atoms[step.quantity].payload[0]
                found[f"direction of {node.data[1]}"] = self.node(node)
        if found != self.directions:
            self.directions = found
            self._of_nodes.clear()
            self._of_scalars.clear()

    # -- scalars -------------------------------------------------------------------------------------------------------

    def scalar(self, value: Any) -> int:
        value = sympy.sympify(value)
        if value not in self._of_scalars:
            self._of_scalars[value] = self._scalar(value)
        return self._of_scalars[value]

    def _scalar(self, value: Any) -> int:
        if value.is_Rational:
            return self.add("q", int(value.p), int(value.q))
        if value in self.known.atoms:
            return self._quantity(value)
        if value.is_Symbol:
            if value.is_integer and value.is_positive:
                self.sizes[value.name] = self.least.get(value.name, 1)
                return self.add("size", value.name)
            self.scalars[value.name] = (
                "positive" if value.is_positive else "nonnegative" if value.is_nonnegative else "real"
            )
            return self.add("scalar", value.name)
        if value.is_Add or value.is_Mul:
            return self.add("+" if value.is_Add else "*", *map(self.scalar, value.args))
        if isinstance(value, (sympy.exp, sympy.log, sympy.Abs)):
            return self.add(value.func.__name__.lower(), self.scalar(value.args[0]))
        if value.is_Pow and value.exp.is_Rational:
            return self.power(self.scalar(value.base), value.exp)
        if value.is_Pow and value.base.is_Rational and value.base > 0:
            c, exponent = value.exp.as_coeff_Mul()
            whole = self.add("power", self.scalar(value.base), self.scalar(exponent))
            return self.power(whole, c)
        raise NotCertified(f"scalars such as {value.func.__name__}")

    def power(self, base: int, exponent: Any) -> int:
        known = quantities.is_positive(self.value(base)) or self.value(base) in self.reader.nonzero
        if exponent < 0 and not known and not self.stated:  # afterwards nothing else may be divided by
            self.nonzero.add(base)
            self.reader.nonzero.add(self.value(base))
        return self.add("^", base, int(exponent.p), int(exponent.q))

    def _quantity(self, symbol: Any) -> int:
        atom = self.known.atoms[symbol]
        first = atom.payload[0]
        if atom.kind in KINDS:
            return self.add("norm", KINDS[atom.kind], self.node(first))
        if atom.kind in ("largest over", "sum over"):
            kind = "max over" if atom.kind == "largest over" else "sum over"
            return self.add(kind, self.index(first), self.scalar(atom.payload[1]))
        if atom.kind == SHIFT:
            return self.add(atom.kind, *map(self.node, atom.payload))
        if atom.kind == MEAN_EXPONENTIAL:
            return self.add("mean of exponentials", self.scalar(first))
        if atom.kind == "largest of":
            return self.add("max", *map(self.scalar, atom.payload))
        if atom.kind == "root":
            return self.add("^", self.scalar(first), 1, 2)
        if atom.kind == "entry":
            entry = self.one_entry(*atom.payload)
            return self.add("norm", "F", entry) if symbol.is_nonnegative else self.add("entry", entry)
        if atom.kind == "total" and symbol.is_nonnegative:
            inner = first.parts[0] if first.kind == "absolute" else first
            return self.add("norm", "1", self.node(inner))
        if atom.kind in ("spectral radius", SMALLEST, GAIN, "largest value"):
            return self.add(atom.kind, self.node(first))
        if atom.kind == EIGENVALUE and (factor := nodes.gram_factor(first)) is not None:
            return self.add(atom.kind, self.node(factor))
        if atom.kind == "largest weight off the diagonal":
            return self.add("weight off the diagonal", self.node(first.parts[0]))
        raise NotCertified(f"no expression for a {atom.kind}")

    def one_entry(self, node: Node, i: Any, j: Any) -> int:
        row = self.rows(self.node(node), i)
        return row if node.shape[1] == 1 else self.transposed(self.rows(self.transposed(row), j))

    def rows(self, A: int, i: Any) -> int:
        if self.value(A).rows == quantities.number(1):
            return A
        return self.add("rows", A, self.place(i), self.scalar(1))

    def transposed(self, A: int) -> int:
        return self.add("transpose", A)

    def index(self, index: Index) -> int:
        return self.add("index", f"i{index.level}", self.scalar(index.size))

    def place(self, item: Any) -> int:
        return self.index(item) if isinstance(item, Index) else self.scalar(item)

    # -- matrices ------------------------------------------------------------------------------------------------------

    def node(self, node: Node) -> int:
        if node.number not in self._of_nodes:
            made = self._node(node)
            A, shape = self.value(made), [self.value(self.scalar(size)) for size in node.shape]
            if [A.rows, A.columns] != shape:
                raise NotCertified(f"the shape of a {node.kind}")
            self._of_nodes[node.number] = made
        return self._of_nodes[node.number]

    def _node(self, node: Node) -> int:
        rows, columns = map(self.scalar, node.shape)
        kind, data = node.kind, node.data
        if kind == "input" and data[0] in self.directions:
            return self.add("opaque", "direction", rows, columns, self.directions[data[0]])
        if kind == "input":
            name, *at = data
            known = sorted(which for which, of in self.known.properties if of == name)
            if node.shape[0] != node.shape[1]:
                known = [which for which in known if which not in bound_rules.PROPERTIES[:2]]
            if self.inputs.setdefault(name, known) != known:
                raise NotCertified(f"two shapes of {name}")
            return self.add("input", name, rows, columns, *map(self.place, at))
        if kind == "zeros":
            return self.add("zeros", rows, columns)
        if kind == "identity":
            return self.add("identity", rows)
        parts = [self.node(part) for part in node.parts]
        if kind == "sum":
            terms = zip(map(self.scalar, data), parts, strict=True)
            return self.add("sum", *(item for term in terms for item in term))
        if kind in ("product", "transpose", "entrywise", "kronecker", "concatenate", "diagonal"):
            return self.add(kind, *parts)
        if kind in ("stack", "block diagonal"):
            return self.add(kind, self.index(data[0]), *parts)
        if kind == "sum over":
            inner = self.add("sum", self.scalar(data[1]), *parts)
            return self.add("sum of matrices", self.index(data[0]), inner)
        if kind == "reshape":
            return self.add(kind, *parts, rows, columns)
        if kind in ("rows", "part"):
            return self.add("rows", *parts, self.start(node), rows)
        if kind in FUNCTIONS:
            return self.add("function", kind, *parts)
        if kind == "without column" and isinstance(data[0], Index):
            others = self.add("other columns", self.index(data[0]), self.scalar(node.parts[0].shape[1]))
            return self.add("product", *parts, others)
        return self.add("opaque", kind, rows, columns, *parts, *map(self._datum, data))

    def start(self, node: Node) -> int:
        """Where the rows of a node of kind "rows" or "part" begin."""
        return self.add("part", self.index(node.data[0])) if node.kind == "part" else self.place(node.data[0])

    @property
    def frames(self) -> list[Node]:
        """Matrices that an assumption says have orthonormal columns, as blocks on top of each other where they have blocks."""
        numbers = self.known.contractions
        named = [node for node in list(self.known.nodes.values()) if node.number in numbers]
        whole = [node if node.kind == "concatenate" else nodes.transposed(node) for node in named]
        whole = [node for node in whole if node.kind == "concatenate"]
        blocks = {block.number for node in whole for block in node.parts}
        blocks |= {nodes.transposed(block).number for node in whole for block in node.parts}
        plain = [node.parts[0] if node.kind == "transpose" else node for node in named]
        alone = [node for node in plain if node.kind == "input" and node.number not in blocks]
        return list(dict.fromkeys([*whole, *alone]))

    # -- steps ---------------------------------------------------------------------------------------------------------

    def alternatives(self, written: Any) -> list[Steps]:
        """The steps that a candidate may be written as, with the places of what they are of."""
        return [[self.step(*step) for step in steps] for steps in ways_of(written, self)]

    def step(self, *step: Any) -> tuple[Any, ...]:
        """A step of the checker; one that begins with "instance" takes a multiple of what its rule says."""
        if step[0] == "instance":
            return "instance", *self.step(*step[1:])
        places = list(map(self.operand, step[1:]))
        if step[0] in FOR_EACH_MULTIPLE:
            places = [self.without_content(self.value(place), [place])[0] for place in places]
        if step[0] in FOR_ONE_MULTIPLE:
            kind, *parts = places
            values = list(map(self.value, parts))
            whole = sum(values[1:], values[0]) if step[0] == "triangle inequality" else quantities.concatenated(*values)
            places = [kind, *self.without_content(whole, parts)]
        return step[0], places

    def operand(self, item: Any) -> Any:
        """Where what a rule is of stands in the table; the kind of a norm is a name, as are other texts."""
        if isinstance(item, Node):
            return self.node(item)
        if isinstance(item, str):
            return KINDS.get(item, item)
        return item if isinstance(item, int) else self.place(item)

    def split(self, pieces: Sequence[Node], place: int | None = None) -> Steps:
        """One factor after another of a product; `place` is that of the Frobenius norm."""
        found: Steps = []
        for k in range(len(pieces) - 1):
            rule = "product" if place is None or k > place else "product, left" if k < place else "product, right"
            found.append((rule, pieces[k], nodes.product(pieces[k + 1 :])))
        return found

    def parts_of_numbers(self, *factors: Node) -> Steps:
        """The steps from norms of products of numbers, as matrices of shape (1, 1), to those of the numbers."""
        products = [node for node in factors if node.kind == "entrywise" and node.shape == (1, 1)]
        inner = [step for node in products for step in self.parts_of_numbers(*node.parts)]
        return [*(("entrywise product", *node.parts) for node in products), *inner]

    def without_content(self, A: Any, places: Iterable[int]) -> list[int]:
        """Matrices that add up to A, less a factor of A that may vanish."""
        content = quantities.content_of(A) if A.terms else quantities.number(1)
        if quantities.is_positive(content):
            return list(places)
        return [self.matrix(self.value(place).divided(content)) for place in places]

    # -- from normal forms ---------------------------------------------------------------------------------------------

    def place_of(self, item: Any) -> Any:
        """Where a datum of a generator or an atom stands in the table."""
        if isinstance(item, quantities.Scalar):
            return self.of_scalar(item)
        if isinstance(item, quantities.Matrix):
            return self.matrix(item)
        if isinstance(item, quantities.Index):
            return self.add("index", item.name, self.of_scalar(item.size))
        if isinstance(item, tuple) and item[0] == "part":
            return self.add("part", self.place_of(item[1]))
        return item

    def of_scalar(self, value: Any) -> int:
        terms = [
            self.add(
                "*",
                self.add("q", c.numerator, c.denominator),
                *(self.of_power(g, e) for g, e in sorted(m, key=text_of)),
            )
            for m, c in sorted(value.terms.items(), key=text_of)
        ]
        return self.add("+", *terms) if terms else self.add("q", 0, 1)

    def of_power(self, g: Any, e: Any) -> int:
        return self.add("^", self.of_generator(g), e.numerator, e.denominator)

    def of_generator(self, g: Any) -> int:
        kind, *data = g
        if kind == "size":  # less what the size is at least
            return self.add("+", self.add(kind, data[0]), self.add("q", 1 - self.sizes[data[0]], 1))
        if kind == "scalar":
            return self.add(kind, data[0])
        if kind == "norm":
            return self.add(kind, data[0], self.matrix(any_of(data[1])))
        if kind in (SMALLEST, GAIN, "largest value"):
            return self.add(kind, self.matrix(any_of(data[0])))
        if kind == "max":
            return self.add(kind, *sorted(map(self.of_scalar, sorted(data[0], key=text_of))))
        if kind == "sum":
            return self.of_scalar(data[0])
        if kind == "abs":
            return self.add(kind, self.of_generator(data[0]))
        return self.add(kind, *map(self.place_of, data))

    def difference(self, one: int, other: int) -> int:
        """The place of one scalar less another."""
        return self.add("+", one, self.add("*", self.add("q", -1, 1), other))

    def in_a_scalar(self, g: Any) -> int:
        """A scalar in which a generator stands."""
        return self.add("^", self.of_scalar(g[1]), 1, 2) if g[0] == "sum" else self.of_generator(g)

    def matrix(self, A: Any) -> int:
        rows, columns = self.of_scalar(A.rows), self.of_scalar(A.columns)
        terms = []
        for word, c in sorted(A.terms.items(), key=text_of):
            factors = [self.of_atom(item) for item in word] or [self.add("identity", rows)]
            terms += [self.of_scalar(c), self.add("product", *factors)]
        return self.add("sum", *terms) if terms else self.add("zeros", rows, columns)

    def of_atom(self, item: Any) -> int:
        kind, turned, rows, columns, *data = item
        if turned:
            return self.transposed(self.of_atom((kind, False, columns, rows, *data)))
        shape = self.of_scalar(rows), self.of_scalar(columns)
        if kind == "input":
            name, at, _ = data
            return self.add(kind, name, *shape, *map(self.place_of, at))
        if kind == "embedding":
            return self.add(kind, *shape, *map(self.place_of, data))
        if kind in FUNCTIONS:
            return self.add("function", kind, *map(self.place_of, data))
        if kind == "entrywise":
            parts = sorted(map(self.matrix, sorted(data[0], key=text_of)))
            return self.add(kind, *(parts * 2)[:2])
        if kind == "sum over":
            return self.add("sum of matrices", *map(self.place_of, data))
        if kind == "other columns":
            return self.add(kind, self.place_of(data[0]), shape[0])
        if kind == "reshape":
            return self.add(kind, self.matrix(data[0]), *shape)
        if kind in ("stack", "block diagonal", "kronecker", "diagonal"):
            return self.add(kind, *map(self.place_of, data))
        return self.add("opaque", kind, *shape, *map(self.place_of, data))

    def _datum(self, item: Any) -> Any:
        return item if isinstance(item, str) else self.place(item)


# -- what normal forms consist of --------------------------------------------------------------------------------------


def any_of(variants: Iterable[Any]) -> Any:
    """One of several equal norms' matrices, the same one each time."""
    return min(variants, key=lambda A: (str(len(A.terms)), text_of(A)))


@functools.lru_cache(2**16, typed=True)
def text_of(item: Any) -> str:
    """A text that tells data apart, the same in every run."""
    if isinstance(item, quantities.Matrix):
        terms = sorted(f"{text_of(word)}:{text_of(c)}" for word, c in item.terms.items())
        return f"M{text_of(item.rows)}{text_of(item.columns)}[{'+'.join(terms)}]"
    if isinstance(item, quantities.Scalar):
        return f"[{'+'.join(sorted(f'{text_of(m)}:{c}' for m, c in item.terms.items()))}]"
    if isinstance(item, frozenset):
        return "{" + ",".join(sorted(map(text_of, item))) + "}"
    if isinstance(item, tuple):
        return "(" + ",".join(map(text_of, item)) + ")"
    return str(item)


def generators(value: Any, kept: Any = ()) -> list[Any]:
    """All generators that a scalar grows or falls with, outermost first, in a fixed order."""
    found: list[Any] = []

    def visit(part: Any) -> None:
        for monomial in sorted(part.terms, key=text_of):
            for g, _ in sorted(monomial, key=text_of):
                if g not in found:
                    for inner in sorted(places.parts(g, kept), key=text_of):
                        visit(inner)
                    if g not in found:
                        found.append(g)

    visit(value)
    return found


def beside(value: Any, g: Any, exponent: int = 1) -> Any:
    """What stands beside a power of a generator in a scalar: 0 where it is nowhere."""
    item = (g, Fraction(exponent))
    return quantities.Scalar({monomial - {item}: c for monomial, c in value.terms.items() if item in monomial})


def size_of(value: Any) -> int:
    """The number of terms of a scalar, those within roots, sums and largest values among them."""
    inner = (part for monomial in value.terms for g, _ in monomial for part in places.parts(g))
    return len(value.terms) + sum(map(size_of, inner))


def row_source(g: Any, index: Any) -> Any:
    """A where a generator is the Euclidean norm of row i of A, which has as many rows as the index values."""
    if g[:2] != ("norm", "F"):
        return None
    found = (matrix_of_rows(X, index) for X in sorted(g[2], key=text_of))
    return next((A for A in found if A is not None), None)


def matrix_of_rows(X: Any, index: Any) -> Any:
    """A where a matrix is row i of A, which has as many rows as the index values."""
    if X.rows != quantities.number(1) or not all(
        w and (w[0][0], w[0][1], *w[0][4:]) == ("embedding", True, index) for w in X.terms
    ):
        return None
    if any(index in c.free for c in X.terms.values()):
        return None
    total = next(iter(X.terms))[0][3]
    A = quantities.zeros(total, X.columns)
    for word, c in X.terms.items():
        A = A + (quantities.identity(total) @ quantities.Matrix(total, X.columns, {word[1:]: c}))
    return A if index not in A.free and index.size == total else None


def family_of(A: Any) -> Any:
    """The kind, the index and B where a matrix is a sum, or a stack, of the B over an index."""
    items = [word[0] for word in A.terms if len(word) == 1]
    if len(items) < len(A.terms) or len({(item[0], item[1], *item[4:5]) for item in items}) != 1:
        return None
    kind, turned = items[0][:2]
    if kind not in ("sum over", "stack") or turned:
        return None
    index, first = items[0][4:]
    inner = quantities.zeros(first.rows, first.columns)
    for (item,), c in A.terms.items():
        inner = inner + item[5].times(c)
    return kind, index, inner
