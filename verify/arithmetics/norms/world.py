"""What one derivation speaks of: interned nodes, the quantities that norms of them are, and what is assumed of inputs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import sympy

from verify.arithmetics.formal import derived
from verify.arithmetics.guarded import UnknownNumber
from verify.vocabulary.contexts import assigned
from verify.vocabulary.errors import ArithmeticUnsupported

Size = Any
#: What a node is: the operations on matrices that norms are asked of.
Kind = Literal[
    "input", "zeros", "ones", "identity", "numbers", "unit", "permutation", "projection",
    "sum", "product", "transpose", "entrywise", "kronecker", "diagonal", "block diagonal", "sum over", "inverse", "exponential",
    "reshape", "rows", "part", "without column", "concatenate", "stack", "rows as diagonals", "rows as outer products",
    "softmax", "relu", "step", "absolute", "reciprocal", "normalised rows", "row norms", "variances", "iterate",
    "derivative", "exponential differential", "softmax differential", "iterate differential", "normalised differential",
    "mean of rotations",
]  # fmt: skip


@dataclass(frozen=True)
class Index:
    """An index of summation or of a family; `level` tells nested ones of the same size apart."""

    size: Size
    level: int

    def __add__(self, offset: Any) -> Next:
        if offset != 1:
            raise ArithmeticUnsupported(f"an index plus {offset!r} has no norm")
        return Next(self)

    def __repr__(self) -> str:
        return "ijklpq"[self.level] if self.level < 6 else f"i{self.level}"


@dataclass(frozen=True)
class Next:
    """i + 1, the end of the slice i:i + 1."""

    index: Index


class LoopNumber(UnknownNumber):
    """An index, or the number after it, as a formula sees it: compared with nothing."""

    __slots__ = ("index",)

    def __init__(self, index: Index | Next) -> None:
        self.index = index

    def __add__(self, offset: Any) -> LoopNumber:
        if not isinstance(self.index, Index):
            raise ArithmeticUnsupported(f"an index plus more than 1 has no norm: {self.text} + {offset!r}")
        return LoopNumber(self.index + offset)

    @property
    def text(self) -> str:
        return repr(self.index)


def of_loops(key: Any) -> Any:
    """A key in which indices stand as a formula sees them, with what they are."""
    if isinstance(key, LoopNumber):
        return key.index
    if isinstance(key, slice):
        return slice(*map(of_loops, (key.start, key.stop, key.step)))
    return tuple(map(of_loops, key)) if isinstance(key, tuple) else key


class Node:
    """A matrix as an expression: an operation, its operands, and data such as coefficients, indices or names.

    Equal expressions are one object (`World.node`), so that nodes compare by identity.
    """

    __slots__ = ("data", "indices", "kind", "number", "parts", "shape")

    def __init__(
        self, kind: Kind, parts: tuple[Node, ...], data: tuple[Any, ...], shape: tuple[Size, Size], number: int
    ) -> None:
        self.kind, self.parts, self.data, self.shape, self.number = kind, parts, data, shape, number
        self.indices: frozenset[Index] = frozenset()

    def __repr__(self) -> str:
        return f"<{self.kind} of shape {self.shape}>"


@dataclass(frozen=True)
class Atom:
    """A non-negative (or, for entries and sums of them, real) quantity: a norm of a node, a largest value, a sum."""

    kind: str
    payload: tuple[Any, ...]
    indices: frozenset[Index] = frozenset()


@dataclass
class World:
    """The nodes, quantities and hypotheses of one derivation."""

    nodes: dict[Any, Node] = field(default_factory=dict)
    symbols: dict[tuple[str, tuple[Any, ...]], sympy.Symbol] = field(default_factory=dict)
    atoms: dict[sympy.Symbol, Atom] = field(default_factory=dict)
    active: list[Index] = field(default_factory=list)
    #: (property, name of an input) for each declared hypothesis.
    properties: set[tuple[str, str]] = field(default_factory=set)
    #: Pairs of nodes whose entries have equal signs, none of them zero, as an assumption of the claim says.
    same_signs: list[tuple[Node, Node]] = field(default_factory=list)
    #: Scalars that are not negative, as an assumption of the claim says.
    facts: list[Any] = field(default_factory=list)
    #: Differences of sizes that are not negative, as an assumption of the claim says: facts only where none is derived without.
    orders: list[Any] = field(default_factory=list)
    #: Nodes with orthonormal columns, or blocks of such, as an assumption of the claim says.
    contractions: set[int] = field(default_factory=set)
    #: Pairs of factors, as numbers of nodes, of which an assumption says that their product is a multiple of the identity.
    reductions: dict[tuple[int, int], Any] = field(default_factory=dict)
    #: Products, as the numbers of their factors, whose norms the right-hand side contains.
    pieces: set[tuple[int, ...]] = field(default_factory=set)
    #: Pairs of products, likewise, of whose differences the right-hand side contains norms.
    pairs: set[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=set)
    #: Whether the right-hand side contains largest row or column sums.
    entrywise: bool = False
    #: Numbers that norms do not exceed, as an assumption of the claim says.
    assumed: dict[sympy.Symbol, Any] = field(default_factory=dict)
    #: The quantities that a search ends at.
    targets: frozenset[sympy.Symbol] = frozenset()
    #: What the right-hand side divides by: the statement says nothing where one of these is 0.
    divisors: frozenset[sympy.Symbol] = frozenset()
    #: The searches so far, by what they end at: variants of a formula mostly contain the same quantities.
    searches: dict[Any, Any] = field(default_factory=dict)
    #: Whether nodes contain a variable, by the variable and the node: neither changes once it is made.
    depending: dict[Node, dict[Node, bool]] = field(default_factory=dict)
    #: How many derivatives enclose what is being evaluated.
    variables: int = 0
    #: What of the assumptions was used.
    used: set[str] = field(default_factory=set)
    #: Rules that norms were simplified by when they were written down.
    simplified: set[str] = field(default_factory=set)
    #: Claims that closed forms of derivatives were taken from.
    closed: set[str] = field(default_factory=set)

    def node(self, kind: Kind, parts: tuple[Node, ...], data: tuple[Any, ...], shape: tuple[Any, Any]) -> Node:
        """The node of these operands; the same object each time."""
        shape = (sympy.sympify(shape[0]), sympy.sympify(shape[1]))
        key = (kind, tuple(part.number for part in parts), data, shape)
        if key not in self.nodes:
            made = Node(kind, parts, data, shape, len(self.nodes))
            free = frozenset().union(*(part.indices for part in parts))
            for item in data:
                free |= self.indices_of(item)
            bound = {item for item in data[:1] if isinstance(item, Index)} if kind in BINDING else set()
            made.indices = free - bound
            self.nodes[key] = made
        return self.nodes[key]

    def has_node(self, kind: Kind, parts: tuple[Node, ...], data: tuple[Any, ...], shape: tuple[Any, Any]) -> bool:
        """Whether a node of these operands was met before."""
        return (kind, tuple(part.number for part in parts), data, tuple(map(sympy.sympify, shape))) in self.nodes

    def indices_of(self, item: Any) -> frozenset[Index]:
        """The free indices of an index, a scalar or a tuple of them."""
        if isinstance(item, Index):
            return frozenset({item})
        if isinstance(item, Node):
            return item.indices
        if isinstance(item, tuple):
            return frozenset().union(*map(self.indices_of, item))
        if isinstance(item, sympy.Basic):
            atoms = (self.atoms[symbol] for symbol in item.free_symbols if symbol in self.atoms)
            return frozenset().union(*(atom.indices for atom in atoms))
        return frozenset()

    def atom(self, kind: str, payload: tuple[Any, ...], sign: str = "nonnegative") -> sympy.Symbol:
        """The symbol of a quantity; the same one each time."""
        key = (kind, payload)
        if key not in self.symbols:
            symbol = sympy.Dummy(kind, nonnegative=True) if sign == "nonnegative" else sympy.Dummy(kind, real=True)
            bound = {payload[0]} if kind in ("largest over", "sum over") else set()
            self.symbols[key] = symbol
            self.atoms[symbol] = Atom(kind, payload, self.indices_of(payload) - bound)
        return self.symbols[key]

    def fresh(self, size: Size) -> Index:
        """An index of this size that no enclosing sum or family uses."""
        return Index(sympy.sympify(size), len(self.active))

    @contextlib.contextmanager
    def using(self, index: Index) -> Iterator[None]:
        self.active.append(index)
        try:
            yield
        finally:
            self.active.pop()


def unused_index(size: Any, node: Node) -> Index:
    """An index that a node does not depend on."""
    level = 0
    while Index(size, level) in node.indices:
        level += 1
    return Index(size, level)


#: Kinds of node whose first datum is an index that they bind.
BINDING: frozenset[Kind] = frozenset({"stack", "block diagonal", "sum over"})


def world() -> World:
    """The world of the derivation in progress."""
    found: World | None = derived.get()
    if found is None:
        raise ArithmeticUnsupported("norms are derived within `norms.derivation()` only")
    return found


def quantity(symbol: Any, *kinds: str) -> Atom | None:
    """What a symbol is a quantity of, if it is one, and of one of these kinds."""
    atom = world().atoms.get(symbol)
    return atom if atom is not None and (not kinds or atom.kind in kinds) else None


def quantities_in(symbols: Iterable[Any], *kinds: str) -> list[Any]:
    """The quantities among some symbols, of these kinds, in a fixed order."""
    known = world().atoms
    found = [symbol for symbol in symbols if symbol in known and (not kinds or known[symbol].kind in kinds)]
    return sorted(found, key=sympy.default_sort_key) if len(found) > 1 else found


def resumed(known: World) -> contextlib.AbstractContextManager[World]:
    """A world again as the current one, where nodes are made after its derivation."""
    return assigned(derived, known)


@contextlib.contextmanager
def derivation() -> Iterator[World]:
    """A fresh world in which the primitives work on norms."""
    with resumed(World()) as found:
        yield found
