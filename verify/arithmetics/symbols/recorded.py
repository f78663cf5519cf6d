"""Sums as expressions of certificates: the calls that built them, not the terms that they were simplified to.

docs/certificates.md has the language.  A sum that is used more than once becomes a definition.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sympy

from verify.arithmetics.symbols.canonical import Factor
from verify.arithmetics.symbols.heads import AT_STEP, Head, Size
from verify.arithmetics.symbols.iterates import COMMUTED, ITERATE
from verify.arithmetics.symbols.positions import ORDER
from verify.arithmetics.symbols.recorded_iterates import Inductions, Iterates
from verify.arithmetics.symbols.recorded_structures import of_structure
from verify.arithmetics.symbols.recurrences import STEPPED
from verify.arithmetics.symbols.scalars import Scalar
from verify.arithmetics.symbols.sums import Sum

Expression = list[Any]


#: The names of an index: one, or several where an index of a product size is taken apart.
At = tuple[str, ...]


class TakenApart(Exception):
    """An index has to be taken apart where it is bound: everything is to be written down again."""


class NotRecorded(Exception):
    """A sum that has no expression yet; the text is the reason."""


#: What takes part in a proof and has no expression in certificates.
WITHOUT_FORM = {
    "phi": "integrals of matrix exponentials", "dexpm": "integrals of matrix exponentials",
    "named part": "a matrix that a hypothesis names",
}  # fmt: skip
ENTRYWISE = ("exp", "log", "step", "relu", "abs")


class SumRecorder:
    """The declarations of a certificate, and the expressions of its sums."""

    def __init__(self, splits: dict[Any, tuple[Size, ...]]) -> None:
        self._splits = splits
        self._places: dict[At, Any] = {}
        self._sizes_of: dict[str, Size] = {}
        self.sizes: dict[str, Expression | None] = {}
        self.inputs: dict[str, dict[str, Any]] = {}
        self.variables: dict[str, dict[str, Any]] = {}
        self.definitions: list[list[Any]] = []
        self.structures: dict[str, Head] = {}
        self._uses: Counter[int] = Counter()
        self._kept: dict[int, Sum] = {}
        self._defined: dict[Any, str] = {}
        self._named: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self.iterates = Iterates()
        self.inductions = Inductions(self)
        self._step: str | None = None

    # -- declarations --------------------------------------------------------------------------------------------------

    def size(self, size: Size) -> str:
        """The name of a size, declared."""
        size = sympy.sympify(size)
        name = str(size)
        if name not in self.sizes:
            value = None if size.is_Symbol else self.of_expression(size)
            self.sizes[name] = value
        return name

    def index(self, size: Size, place: Any = None) -> tuple[list[list[str]], At]:
        """A new index, as what binds it and as its name; several where the index at a `place` has to be taken apart."""
        parts = self._splits.get(place, (size,))
        bound = [[f"i{next(self._numbers)}", self.size(part)] for part in parts]
        at = tuple(name for name, _ in bound)
        for name, part in zip(at, parts, strict=True):
            self._sizes_of[name] = part
        self._places[at] = place
        return bound, at

    def indices(self, sizes: Iterable[Size], place: Any = None) -> tuple[list[list[str]], list[At]]:
        """New indices of these sizes."""
        bound, at = [], []
        for number, size in enumerate(sizes):
            more, name = self.index(size, (place, number))
            bound += more
            at.append(name)
        return bound, at

    def tensor(self, head: Head) -> str:
        name = head.name
        if "~" in name:
            name = self._named.setdefault(name, f"{name.split('~')[0]}'{len(self._named) + 1}")
            self.variables.setdefault(name, {"sizes": [self.size(size) for size in head.sizes]})
        else:
            self.inputs.setdefault(name, {"sizes": [self.size(size) for size in head.sizes]})
        return name

    # -- scalars -------------------------------------------------------------------------------------------------------

    def of_scalar(self, value: Scalar) -> Expression:
        """A coefficient."""
        return self.of_expression(value.expression)

    def of_expression(self, value: Any) -> Expression:
        """An expression in sizes and scalar inputs, as sympy has it."""
        value = sympy.sympify(value)
        if value.is_Rational:
            return ["q", int(value.p), int(value.q)]
        if value.is_Symbol:
            if value.is_integer and value.is_positive:
                return ["size", self.size(value)]
            self.inputs.setdefault(str(value), {"sizes": [], **({"positive": True} if value.is_positive else {})})
            return ["t", str(value), []]
        if value.is_Add or value.is_Mul:
            return ["+" if value.is_Add else "*", *map(self.of_expression, value.args)]
        if value.is_Pow and value.exp.is_Rational:
            return ["power", int(value.exp.p), int(value.exp.q), self.of_expression(value.base)]
        if isinstance(value, sympy.exp):
            return ["f", "exp", [[[], self.of_expression(value.args[0])]], []]
        raise NotRecorded(f"the scalar {value}")

    @contextlib.contextmanager
    def one_step(self, count: Size) -> Iterator[str]:
        """Write down inside the block what is taken at one step, under a new index, which is yielded."""
        before = self._step
        (self._step,) = self.index(count)[1]
        try:
            yield self._step
        finally:
            self._step = before

    # -- sums ----------------------------------------------------------------------------------------------------------

    def note(self, sums: Iterable[Sum]) -> None:
        """Count how often every sum is used, so that one used twice is written once."""
        for value in sums:
            self._uses[id(value)] += 1
            if self._uses[id(value)] == 1:
                self._kept[id(value)] = value
                self.iterates.note(value)
                self.note(_operands(value))

    def of(self, value: Sum, at: Sequence[At]) -> Expression:
        """A sum at indices with these names."""
        if self._uses[id(value)] > 1 and value.origin is not None and value.origin[0] not in ("single", "constant"):
            key = (id(value), tuple(map(len, at)), self._step is not None)
            if key not in self._defined:
                sizes = [[self._sizes_of[name] for name in names] for names in at]
                self._splits.update({((key, k),): tuple(parts) for k, parts in enumerate(sizes)})
                bound, own = [], []
                for k, parts in enumerate(sizes):
                    more, name = self.index(sympy.Mul(*parts), ((key, k),))
                    bound += more
                    own.append(name)
                with self.one_step(self._sizes_of[self._step]) if self._step else contextlib.nullcontext() as step:
                    made = self._built(value, own)
                bound += [[step, self.size(self._sizes_of[step])]] if step else []
                self._defined[key] = f"D{len(self._defined) + 1}"
                self.definitions.append([self._defined[key], bound, made])
            return ["t", self._defined[key], [*_flat(at), *([self._step] if self._step else [])]]
        return self._built(value, at)

    def _built(self, value: Sum, at: Sequence[At]) -> Expression:
        if value.origin is None:
            return self._of_terms(value, at)
        kind, *given = value.origin
        if kind == "constant":
            return self._of_terms(value, at)
        if kind == "single":
            return self._term([(given[0], tuple(given[1]))], [], at)
        if kind == "contract":
            return self._contracted(value, given[0], given[1], at, given[2] if len(given) > 2 else None)
        if kind == "split":
            inner, place, _ = given
            return self.of(
                inner, [tuple(name for new in place[k] for name in at[new]) for k in range(len(inner.slots))]
            )
        if kind == "plus":
            factor = self.of_scalar(given[2]) if len(given) > 2 else ["q", 1, 1]
            right = self.of(given[1], at)
            return ["+", self.of(given[0], at), right if factor == ["q", 1, 1] else ["*", factor, right]]
        if kind == "times":
            return ["*", self.of_scalar(given[1]), self.of(given[0], at)]
        if kind in ENTRYWISE:
            return ["f", kind, [[[], self.of(given[0], at)]], []]
        if kind == "power":
            return ["power", given[1].numerator, given[1].denominator, self.of(given[0], at)]
        if kind == "softmax":
            inner, last = given
            count = len(at) - last
            bound, own = self.alike(at[count:])
            return ["f", "softmax", [[bound, self.of(inner, [*at[:count], *own])]], _flat(at[count:])]
        if kind in ("inverse", "expm"):
            bound, own = self.alike(at)
            return ["f", kind, [[bound, self.of(given[0], own)]], _flat(at)]
        if kind == "block of expm":
            return self._block_of_exponential(at, *given[1:])
        if kind == "diff":
            inner, by = given
            count = len(inner.slots)
            return ["diff", self.tensor(by), _whole(at[count:]), self.of(inner, at[:count])]
        if kind == "at":
            inner, head, point = given
            name = self.tensor(head)
            bound, own = self.indices(head.sizes)
            return ["at", name, bound, self.of(point, own), self.of(inner, at)]
        if kind == ITERATE:
            return self._iterate(given[0], given[1], at)
        if kind == COMMUTED:
            start, iteration, rest, factor = given
            return self._commuted(start, iteration, rest, factor, at)
        if kind == "expectation":
            inner, name, variance = given
            found = self.of(inner, at)
            return ["mean", self._named[name], self.of_scalar(variance), found] if name in self._named else found
        raise NotRecorded(WITHOUT_FORM.get(kind, kind))

    def _block_of_exponential(self, at: Sequence[At], p: int, q: int, M: Sum, E: Sum, N: Sum) -> Expression:
        """The block (p, q) of exp [[M, E], [0, N]] for blocks of one size: the exponential over pairs of a block and an index."""
        if len(M.slots) != 2 or len({*M.slots, *E.slots, *N.slots}) > 1 or not M.slots == E.slots == N.slots:
            raise NotRecorded("exponentials of blocks of several sizes")
        bound, own = self.alike(at)
        half = len(bound) // 2
        (first, second, above, beside) = (self.index(sympy.Integer(2))[0][0] for _ in range(4))

        def block(i: int, j: int, value: Sum) -> Expression:
            return ["*", ["unit", i, above[0]], ["unit", j, beside[0]], self.of(value, own)]

        matrix = ["+", block(0, 0, M), block(0, 1, E), block(1, 1, N)]
        ends = [first[0], *at[0], second[0], *at[1]]
        entry = ["f", "expm", [[[above, *bound[:half], beside, *bound[half:]], matrix]], ends]
        return _summed([first, second], ["*", ["unit", p, first[0]], ["unit", q, second[0]], entry])

    def _iterate(self, start: Sum, iteration: Any, at: Sequence[At]) -> Expression:
        """An iterate as the input that is its value, and next to it the slope, another input, times the change of the start."""
        point = self.iterates.point_of(start)
        if point is None:
            raise NotRecorded("an iterate whose start varies in more than one way")
        sizes = iteration.sizes(start)
        value, slope = self.iterates.names(point, iteration)
        self.inputs.setdefault(value, {"sizes": [self.size(size) for size in sizes]})
        found = ["t", value, _whole(at)]
        if point is start:
            self.inductions.note(value, start, iteration)
            return found
        self.inductions.note(value, point, iteration, True)
        self.inputs.setdefault(slope, {"sizes": [self.size(size) for size in (*sizes, *start.slots)]})
        over, own = self.indices(start.slots)
        change = ["+", self.of(start, own), ["*", ["q", -1, 1], self.of(point, own)]]
        return ["+", found, _summed(over, ["*", ["t", slope, [*_whole(at), *_whole(own)]], change])]

    def _commuted(self, start: Sum, iteration: Any, rest: Sum, factor: Sum, at: Sequence[At]) -> Expression:
        """An iterate of a product, by its own name; that it is another iterate times a matrix is left to an induction."""
        if self.iterates.point_of(start) is not start:
            raise NotRecorded("induction over the steps of an iterate that varies")
        assert rest.origin is not None
        self._iterate(rest.origin[1], iteration, at)
        other, _ = self.iterates.names(rest.origin[1], iteration)
        found = self._iterate(start, iteration, at)
        self.inductions.note_commuted(found[1], other, factor)
        return found

    def alike(self, at: Sequence[At]) -> tuple[list[list[str]], list[At]]:
        """New indices that are taken apart as these are."""
        bound, own = [], []
        for names in at:
            parts = [self.index(self._sizes_of[name]) for name in names]
            bound += [index for more, _ in parts for index in more]
            own.append(tuple(name for _, (name,) in parts))
        return bound, own

    def _contracted(
        self, value: Sum, operands: Any, out: Sequence[int], at: Sequence[At], sizes: Mapping[int, Size] | None
    ) -> Expression:
        names = dict(zip(out, at, strict=True))
        known = dict(sizes or {})
        for operand, labels in operands:
            known.update(zip(labels, operand.slots, strict=True))
        over = []
        for label, size in known.items():
            if label not in names:
                bound, names[label] = self.index(size, (id(value), label))
                over += bound
        return _summed(over, _product([self.of(operand, [names[k] for k in labels]) for operand, labels in operands]))

    def _term(self, factors: Sequence[Factor], number: Sequence[Expression], at: Sequence[At]) -> Expression:
        """A number, if any, times factors, summed over what is no slot."""
        names, over = dict(enumerate(at)), []
        for head, indices in factors:
            for place, index in enumerate(indices):
                if index not in names:
                    bound, names[index] = self.index(head.sizes[place])
                    over += bound
        return _summed(
            over, _product([*number, *(self._factor(head, [names[k] for k in indices]) for head, indices in factors)])
        )

    def _factor(self, head: Head, at: Sequence[At]) -> Expression:
        if head.kind == "delta":
            one, other = at
            if len(one) != len(other):
                self._take_apart(*sorted((one, other), key=len))
            pairs = [["delta", *pair] for pair in zip(one, other, strict=True)]
            if any(self._sizes_of[a] != self._sizes_of[b] for a, b in zip(one, other, strict=True)):
                raise NotRecorded("indices taken apart in two ways")
            return _product(pairs)
        if head.kind == "unit":
            (names,) = at
            if len(names) > 1 and head.parameter == 0:
                return _product([["unit", 0, name] for name in names])
            return ["unit", int(head.parameter), _whole(at)[0]]
        if head.kind == "tensor":
            return ["t", self.tensor(head), _whole(at)]
        if head.kind == STEPPED:
            name = self.inductions.name_of(head)
            self.inputs.setdefault(name, {"sizes": [self.size(size) for size in head.sizes]})
            return ["t", name, _whole(at)]
        if head.kind == AT_STEP and self._step is not None:
            return ["delta", *_whole(at), self._step]
        if head.kind in ("grouping", "selection", ORDER):
            return ["t", self.structure(head), _whole(at)]
        raise NotRecorded(WITHOUT_FORM.get(head.kind, f"{head.kind} outside of a call"))

    def structure(self, head: Head) -> str:
        """The tensor of an axis and its parts, under a name; what is known of it are hypotheses (`of_structures`)."""
        sizes = [self.size(size) for size in head.sizes]
        name = f"{head.name}({', '.join([*sizes, *([str(head.parameter)] if head.parameter is not None else [])])})"
        self.inputs.setdefault(name, {"sizes": sizes})
        self.structures[name] = head
        return name

    def of_structures(self) -> list[dict[str, Any]]:
        """What is known of groupings, selections and comparisons of positions, each an identity in itself."""
        return [
            fact
            for name, head in self.structures.items()
            for fact in of_structure(name, head, self.structures, lambda size: self.index(size)[0][0])
        ]

    def _take_apart(self, one: At, other: At) -> None:
        place = self._places.get(one)
        if len(one) > 1 or place is None or place in self._splits:
            raise NotRecorded("indices taken apart in two ways")
        self._splits[place] = tuple(self._sizes_of[name] for name in other)
        raise TakenApart

    def _of_terms(self, value: Sum, at: Sequence[At]) -> Expression:
        """A sum that no call made, of deltas and tensors alone."""
        terms = [
            self._term(key, [] if coefficient.is_one else [self.of_scalar(coefficient)], at)
            for key, coefficient in value.terms.items()
        ]
        return terms[0] if len(terms) == 1 else ["+", *terms]


def _flat(at: Sequence[At]) -> list[str]:
    return [name for names in at for name in names]


def _whole(at: Sequence[At]) -> list[str]:
    """The names of indices that are not taken apart."""
    if any(len(names) > 1 for names in at):
        raise NotRecorded("parts of an axis")
    return _flat(at)


def _operands(value: Sum) -> list[Sum]:
    if value.origin is None:
        return []
    kind, *given = value.origin
    if kind == "contract":
        return [operand for operand, _ in given[0]]
    return [item for item in given if isinstance(item, Sum)]


def _product(factors: list[Expression]) -> Expression:
    return factors[0] if len(factors) == 1 else ["*", *factors]


def _summed(over: Sequence[list[str]], expression: Expression) -> Expression:
    for index in reversed(over):
        expression = ["sum", index, expression]
    return expression
