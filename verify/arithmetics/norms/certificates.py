"""Certificates of derivations: what `verify.kernel.bounds` checks, written from the steps that a search has found.

Nothing here is trusted: what a derivation leaves out is tried, and whatever comes out the checker has to accept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import sympy

from verify.arithmetics.norms import nodes, rules
from verify.arithmetics.norms.proof import BoundProof, Entry
from verify.arithmetics.norms.quantities import FROBENIUS, LARGEST, MEAN_EXPONENTIAL, NORMS, SPECTRAL, norm
from verify.arithmetics.norms.world import Index, Node, World, resumed
from verify.kernel import bounds as kernel
from verify.kernel import quantities
from verify.kernel.refusal import Refused

KINDS = {SPECTRAL: "2", FROBENIUS: "F", LARGEST: "max"}
FUNCTIONS = ("softmax", "relu", "step", "absolute", "reciprocal", "exponential", "inverse", "normalised rows")


#: Choices of steps that are tried for one claim: beyond, there is no certificate.
TRIED = 1500


class NotCertified(Exception):
    """A derivation has a part that no certificate says yet; the text says which."""


class Writer:
    """The table of a certificate: expressions of a derivation, each once."""

    def __init__(self, known: World) -> None:
        self.known = known
        self.entries: list[list[Any]] = []
        self.places: dict[Any, int] = {}
        self.inputs: dict[str, list[str]] = {}
        self.scalars: dict[str, str] = {}
        self.sizes: set[str] = set()
        self.nonzero: set[int] = set()
        self.tried = 0
        self.reader = kernel.Reader([], self.scalars, self.inputs)
        self.reader.sizes = self.sizes
        self._of_nodes: dict[int, int] = {}
        self._of_scalars: dict[Any, int] = {}

    def add(self, *entry: Any) -> int:
        key = tuple(entry)
        if key not in self.places:
            self.reader.table.append(self.reader.read(list(entry)))
            self.places[key] = len(self.entries)
            self.entries.append(list(entry))
        return self.places[key]

    def value(self, place: int) -> Any:
        return self.reader.table[place]

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
                self.sizes.add(value.name)
                return self.add("size", value.name)
            self.scalars[value.name] = (
                "positive" if value.is_positive else "nonnegative" if value.is_nonnegative else "real"
            )
            return self.add("scalar", value.name)
        if value.is_Add or value.is_Mul:
            return self.add("+" if value.is_Add else "*", *map(self.scalar, value.args))
        if isinstance(value, sympy.exp):
            return self.add("exp", self.scalar(value.args[0]))
        if isinstance(value, sympy.Abs):
            return self.add("abs", self.scalar(value.args[0]))
        if value.is_Pow and value.exp.is_Rational:
            return self.power(self.scalar(value.base), value.exp)
        if value.is_Pow and value.base.is_Rational and value.base > 0:
            c, exponent = value.exp.as_coeff_Mul()
            whole = self.add("power", self.scalar(value.base), self.scalar(exponent))
            return self.power(whole, c)
        raise NotCertified(f"scalars such as {value.func.__name__}")

    def power(self, base: int, exponent: Any) -> int:
        if exponent < 0 and not quantities.is_positive(self.value(base)):
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
        if atom.kind == "largest of":
            return self.add("max", *map(self.scalar, atom.payload))
        if atom.kind == "root":
            return self.add("^", self.scalar(first), 1, 2)
        if atom.kind == "entry":
            entry = self.one_entry(*atom.payload)
            return self.add("norm", "F", entry) if symbol.is_nonnegative else self.add("entry", entry)
        if atom.kind == MEAN_EXPONENTIAL:
            return self.add("measure", atom.kind, self.scalar(first))
        if atom.kind == "total" and symbol.is_nonnegative:
            inner = first.parts[0] if first.kind == "absolute" else first
            return self.add("measure", "sum of absolute values", self.node(inner))
        head = "measure" if atom.kind in kernel.MEASURES else "value"
        return self.add(head, atom.kind, *map(self.node, atom.payload))

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
        if kind == "input":
            name, *at = data
            known = sorted(which for which, of in self.known.properties if of == name)
            if node.shape[0] != node.shape[1]:
                known = [which for which in known if which not in kernel.PROPERTIES[:2]]
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
        alone = [node for node in named if node.kind == "input" and node.number not in blocks]
        return list(dict.fromkeys([*whole, *alone]))

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
            self.add("*", self.add("q", c.numerator, c.denominator), *(self.of_power(g, e) for g, e in sorted(m, key=_text)))
            for m, c in sorted(value.terms.items(), key=_text)
        ]
        return self.add("+", *terms) if terms else self.add("q", 0, 1)

    def of_power(self, g: Any, e: Any) -> int:
        return self.add("^", self.of_generator(g), e.numerator, e.denominator)

    def of_generator(self, g: Any) -> int:
        kind, *data = g
        if kind in ("size", "scalar"):
            return self.add(kind, data[0])
        if kind == "norm":
            return self.add(kind, data[0], self.matrix(_any(data[1])))
        if kind == "max":
            return self.add(kind, *sorted(map(self.of_scalar, data[0])))
        if kind == "sum":
            return self.of_scalar(data[0])
        if kind == "abs":
            return self.add(kind, self.of_generator(data[0]))
        return self.add(kind, *map(self.place_of, data))

    def matrix(self, A: Any) -> int:
        rows, columns = self.of_scalar(A.rows), self.of_scalar(A.columns)
        terms = []
        for word, c in sorted(A.terms.items(), key=_text):
            factors = [self.of_atom(item) for item in word] or [self.add("identity", rows)]
            terms += [self.of_scalar(c), self.add("product", *factors)]
        return self.add("sum", *terms) if terms else self.add("zeros", rows, columns)

    def of_atom(self, item: Any) -> int:
        kind, turned, rows, columns, *data = item
        if turned:
            return self.transposed(self.of_atom((kind, False, columns, rows, *data)))
        shape = self.of_scalar(rows), self.of_scalar(columns)
        if kind == "input":
            name, *at = [part for part in data if part not in kernel.PROPERTIES]
            return self.add(kind, name, *shape, *map(self.place_of, at))
        if kind == "embedding":
            return self.add(kind, *shape, *map(self.place_of, data))
        if kind in FUNCTIONS:
            return self.add("function", kind, *map(self.place_of, data))
        if kind == "entrywise":
            parts = sorted(map(self.matrix, data[0]))
            return self.add(kind, *(parts * 2)[:2])
        if kind == "sum over":
            return self.add("sum of matrices", *map(self.place_of, data))
        if kind == "reshape":
            return self.add(kind, self.matrix(data[0]), *shape)
        if kind in ("stack", "block diagonal", "kronecker", "diagonal"):
            return self.add(kind, *map(self.place_of, data))
        return self.add("opaque", kind, *shape, *map(self.place_of, data))

    def _datum(self, item: Any) -> Any:
        return item if isinstance(item, str) else self.place(item)


# -- from a derivation to steps ----------------------------------------------------------------------------------------


def certificate_of(claim_id: str, proof: BoundProof) -> dict[str, Any]:
    """The certificate of a proved bound; raises `NotCertified` where a part of it cannot be written yet."""
    assert proof.world is not None
    if proof.cases:
        raise NotCertified("sizes with a derivation of their own")
    with resumed(proof.world):
        writer = Writer(proof.world)
        facts = [writer.scalar(fact) for fact in proof.world.facts]
        facts += [
            writer.add("+", writer.scalar(bound), writer.scalar(-symbol))
            for symbol, bound in proof.world.assumed.items()
        ]
        frames = list(map(writer.node, writer.frames))
        writer.assumed = kernel.Assumed([writer.value(fact) for fact in facts], [writer.value(frame) for frame in frames])
        parts = [_Replay(writer, entry, facts).part() for entry in proof.entries]
    return {
        "format": kernel.FORMAT, "kind": "bound", "claim": claim_id, "sizes": sorted(writer.sizes), "scalars": writer.scalars,
        "inputs": writer.inputs, "table": writer.entries, "nonzero": sorted(writer.nonzero), "assumptions": facts, "orthonormal": frames,
        "parts": parts,
    }  # fmt: skip


Steps = list[tuple[str, list[Any]]]
ONE = quantities.number(1)


class _Replay:
    """One entry: its value as the checker sees it, and the steps that have led there."""

    def __init__(self, writer: Writer, entry: Entry, facts: list[int]) -> None:
        self.w, self.entry, self.facts = writer, entry, facts
        self.left, self.right = writer.scalar(entry.left), writer.scalar(entry.right)
        self.value = writer.value(self.left)
        self.steps: list[dict[str, Any]] = []
        self.outside = [
            g
            for g in _generators(writer.value(self.right))
            if g[0] in ("max", "max over", "sum over") or (g[0] == "sum" and g[1].number() is None)
        ]
        self.kept: set[Any] = set(_generators(writer.value(self.right), self.outside))
        self.offers: dict[Any, list[Any]] = {}

    def part(self) -> dict[str, Any]:
        for step in self.entry.steps:
            self._offer(step)
        start = self.value, list(self.steps)
        try:
            comparison = self._finished()
        except NotCertified:
            if not self.kept & self.offers.keys():
                raise
            self.value, self.steps = start[0], list(start[1])
            self.kept = set(self.outside)
            comparison = self._finished()
        index = None if self.entry.index is None else self.w.index(self.entry.index)
        return {"index": index, "left": self.left, "right": self.right, "steps": self.steps, "comparison": comparison}

    def _offer(self, step: Any) -> None:
        value = self.w.value(self.w.scalar(step.quantity))
        if value == self.w.value(self.w.scalar(step.bound)):
            return  # the checker sees no difference
        for g in {g for monomial in value.terms for g, _ in monomial if g[0] not in ("size", "scalar", "sum", "abs")}:
            self.offers.setdefault(g, []).append(step)

    def _finished(self) -> list[Any]:
        for _ in range(150):
            if not self._step():
                break
        reason = comparison_of(self.value, self.w.value(self.right), self.w, self.facts)
        if reason is None:
            left = sorted({str(g[0]) + (f" {g[1]}" if g[0] == "norm" else "") for g in _generators(self.value)} - {"size", "scalar"})
            raise NotCertified(f"the end of the derivation is not reached: {', '.join(left)}")
        return reason

    def _step(self) -> bool:
        reached = [g for g in _generators(self.value, set(self.outside)) if g not in self.kept]
        for exactly in (True, False):
            for g in reached:
                for step in self.offers.get(g, ()):
                    wanted = self.w.value(self.w.scalar(step.quantity)), self.w.value(self.w.scalar(step.bound))
                    if self._any(self._instances(g, step), (g, *wanted) if exactly else None):
                        return True
        return any(self._any(self._own(g)) for g in reached)

    def _any(self, choices: Iterator[Steps], wanted: Any = None) -> bool:
        """Take the first of several choices that leads on."""
        try:
            return any(self._take(steps, wanted) for steps in choices)
        except (Refused, StopIteration):  # a choice that cannot even be written
            return False

    def _take(self, steps: Steps, wanted: Any = None) -> bool:
        """Take steps, where they lead on; with what is wanted only where they lead to that bound of the quantity."""
        before = self.value, len(self.steps)
        self.w.tried += 1
        if self.w.tried > TRIED:
            raise NotCertified(f"none within {TRIED} choices of steps")
        if wanted is not None:
            g, quantity, bound = wanted
            ((monomial, c),) = quantity.terms.items()
            factor = quantities.Scalar({monomial - {(g, Fraction(1))}: c})
            after = quantities.replaced(before[0], g, bound.over(factor), self.outside)
        try:
            for rule, arguments, *reasons in steps:
                made: dict[str, Any] = {"rule": rule, "arguments": arguments}
                inside = _generators(self.value, set())
                if outside := [self.w.of_generator(g) for g in self.outside if g[0] != "sum" and g in inside]:
                    made["outside"] = outside
                if reasons:
                    made["reasons"] = reasons[0]
                self.value = kernel.stepped(self.value, made, self.w.assumed, self.w.reader.table)
                self.steps.append(made)
        except (Refused, *kernel.ERRORS):
            pass
        else:
            if self.value != before[0] and (wanted is None or self.value == after):
                return True
        self.value = before[0]
        del self.steps[before[1] :]
        return False

    # -- instances of rules --------------------------------------------------------------------------------------------

    def _instances(self, g: Any, step: Any) -> Iterator[Steps]:
        """Steps of the checker that may stand for one step of the derivation."""
        rule, bound = step.rule, step.bound
        atom = self.w.known.atoms.get(step.quantity)
        if rule == "definition of the largest":
            yield from self._below_a_largest(step)
        elif rule == "assumption":
            quantity = self.w.scalar(step.quantity)
            for fact in self.facts:
                yield [("assumption", [fact, quantity])]
        elif rule == "Cauchy-Schwarz" and atom is not None:
            inner = atom.payload[0].parts[0] if atom.payload[0].kind == "absolute" else atom.payload[0]
            yield [("Cauchy-Schwarz for all entries", [self.w.node(inner)])]
        elif rule == "softmax in the 1-norm" and atom is not None:
            terms = [part for _, part in nodes.terms_of(atom.payload[0].parts[0])]
            yield [("softmax in the 1-norm", [self.w.node(part.parts[0]) for part in terms])]
        elif rule == "Weyl" and atom is not None:
            yield [("Weyl", list(map(self.w.node, atom.payload)))]
        elif rule == "spectral radius" and atom is not None:
            yield [("spectral radius", [self.w.node(atom.payload[0])])]
        elif rule == "largest entry" and isinstance(step.quantity, sympy.Abs):
            pass
        elif atom is not None and atom.kind in NORMS:
            yield from self._of_norm(KINDS[atom.kind], atom.payload[0], rule, bound)

    def _below_a_largest(self, step: Any) -> Iterator[Steps]:
        for symbol in step.bound.free_symbols & self.w.known.atoms.keys():
            atom = self.w.known.atoms[symbol]
            if atom.kind == "largest of":
                values = list(map(self.w.scalar, atom.payload))
                for place in range(len(values)):
                    yield [("one of several", [values[place], *values[:place], *values[place + 1 :]])]
            if atom.kind == "largest over":
                yield [("largest over an index", [self.w.index(atom.payload[0]), self.w.scalar(atom.payload[1])])]
            if atom.kind == "root":
                terms = sympy.Add.make_args(atom.payload[0])
                for term in terms:
                    rest = self.w.scalar(sympy.Add(*(other for other in terms if other != term)))
                    yield [("root of a sum of squares", [self.w.scalar(sympy.sqrt(term)), rest])]

    def _of_norm(self, kind: str, node: Node, rule: str, bound: Any) -> Iterator[Steps]:
        w, A = self.w, self.w.node(node)
        names = rule.split("; ")
        if node.kind == "transpose":
            yield from self._of_norm(kind, node.parts[0], rule, bound)
        inner = [w.node(part) for part in node.parts]
        plain = {
            "spectral at most Frobenius": [("spectral at most Frobenius", [A])],
            "largest entry": [("largest entry", [A])],
            "largest of all entries": [("largest of all entries", [A])],
            "unit direction": [("unit direction", [A])],
            "unit rows": [("unit rows", [A]), ("normalised rows", inner)],
            "permutation": [("permutation", [A])],
            "projection": [("projection", inner)],
            "absolute values": [("absolute values", inner)],
            "softmax row": [("softmax row", inner), ("largest weight", inner)],
            "Kronecker product": [("Kronecker product", [kind, *inner])],
        }  # fmt: skip
        for one in plain.get(rule, ()):
            yield [one]
        if rule == "product":
            yield from self._product(kind, node, w.value(w.scalar(bound)))
        elif rule == "sum over an index" and node.kind == "product":
            i = rules.unused_index(node.parts[0].shape[1], node)
            yield [("sum of rows", [kind, w.index(i), w.node(nodes.product(node.parts[1:]))])]
        elif rule == "block" and node.kind in ("rows", "part"):
            yield [("block", [kind, inner[0], w.start(node), w.scalar(node.shape[0])])]
        elif rule == "blocks" and node.kind == "concatenate":
            yield [("blocks", [kind, *self._without_content(w.value(A), inner)])]
        elif rule == "blocks" and node.kind == "stack":
            yield [("stack", [kind, w.index(node.data[0]), *inner])]
        elif rule == "block diagonal" and node.kind == "block diagonal":
            yield [("block diagonal", [w.index(node.data[0]), *inner])]
        elif rule == "rank":
            yield [("rank", [A, w.add("identity", w.scalar(node.shape[1]))])]
            yield [("rank", [w.add("identity", w.scalar(node.shape[0])), A])]
        elif rule == "gate" and node.kind == "entrywise":
            for gate, other in (node.parts, node.parts[::-1]):
                flipped = gate.parts[0] if gate.kind == "transpose" else gate
                if flipped.kind == "step":
                    argument = w.node(flipped.parts[0])
                    yield [("gate", [kind, w.node(other), w.transposed(argument) if flipped is not gate else argument])]
        elif rule == "gate" and node.kind == "step":
            yield [("open gates", inner)]
        elif rule == "relu" and node.kind == "relu":
            yield [("relu", [kind, inner[0], w.add("zeros", *map(w.scalar, node.shape))])]
        elif rule == "entrywise product":
            yield [("entrywise product", inner)]
            yield [("entrywise product, largest", inner)]
            yield [("entrywise product, largest", inner[::-1])]
        elif rule == "orthonormal" or rule == "contraction":
            yield [("orthonormal", [A])]
            yield [("orthonormal by assumption", [A])]
            for frame in w.frames:
                start = w.scalar(0)
                for block in frame.parts:
                    count = w.scalar(block.shape[0])
                    yield [("block", ["2", w.node(frame), start, count]), ("orthonormal by assumption", [w.node(frame)])]
                    start = w.add("+", start, count)
        elif rule == "exponential of a skew matrix" and node.kind == "exponential":
            yield [("exponential of a skew matrix", inner)]
        elif rule == "iterated polynomial":
            multiple, core = nodes.single(node.parts[0])
            offset = sympy.expand(1 / multiple - norm(FROBENIUS, core))
            data = list(map(w.scalar, node.data))
            if w.known.atoms.keys() & offset.free_symbols:
                yield [("iterate of a contraction", [inner[0], *data])]
            else:
                yield [("iterate of a normalised matrix", [w.node(core), w.scalar(offset), *data])]
        elif rule == "mean of rotations" and node.kind == "mean of rotations":
            yield [("mean of rotations", inner)]
        elif rule == "mean of rotations":
            yield from self._rotations_by_means(kind, node)
        elif node.kind == "sum over" and rule == "sum over an index":
            scaled = w.add("sum", w.scalar(node.data[1]), inner[0])
            yield [("sum over an index", [kind, w.index(node.data[0]), scaled])]
        elif node.kind == "product" and rule == "number among the factors":
            yield from self._number_among(kind, node)
        elif node.kind == "sum":
            yield from self._of_sum(kind, node, names, bound)

    def _product(self, kind: str, node: Node, bound: Any) -> Iterator[Steps]:
        count = len(node.parts)
        runs = [(0, 0)] + [(a, b) for a in range(count) for b in range(a + 2, count + 1) if b - a < count]
        for a, b in runs:
            pieces = [*node.parts[:a], *([nodes.product(node.parts[a:b])] if b else []), *node.parts[b:]]
            values = [self.w.value(self.w.node(piece)) for piece in pieces]
            if kind == "2" and kernel._product(*map(kernel.two, values)) == bound:
                yield self._split(pieces, None)
            for place in range(len(pieces)) if kind == "F" else ():
                norms = [(kernel.fro if k == place else kernel.two)(value) for k, value in enumerate(values)]
                if kernel._product(*norms) == bound:
                    yield self._split(pieces, place)

    def _split(self, pieces: list[Node], place: int | None) -> Steps:
        """One factor after another of a product; `place` is that of the Frobenius norm."""
        found: Steps = []
        for k in range(len(pieces) - 1):
            rule = "product" if place is None or k > place else "product, left" if k < place else "product, right"
            sides = self.w.node(pieces[k]), self.w.node(nodes.product(pieces[k + 1 :]))
            found.append((rule, [self._core(side) for side in sides]))
        return found

    def _number_among(self, kind: str, node: Node) -> Iterator[Steps]:
        def whole(factors: Any, size: Any) -> int:
            return self.w.node(nodes.product(factors)) if factors else self.w.add("identity", self.w.scalar(size))

        for start, stop in itertools.combinations(range(len(node.parts) + 1), 2):
            if node.parts[start].shape[0] == 1 == node.parts[stop - 1].shape[1]:
                A, B = whole(node.parts[:start], 1), whole(node.parts[stop:], 1)
                yield [("number among the factors", [kind, A, whole(node.parts[start:stop], 1), B])]

    def _rotations_by_means(self, kind: str, node: Node) -> Iterator[Steps]:
        from verify.arithmetics.norms.spectra import rotation_less_identity

        w = self.w
        places = [k for k, factor in enumerate(node.parts) if rotation_less_identity(factor) is not None]
        for first in {1: (False, True), 2: (True,)}.get(len(places), ()):
            found: Steps = []
            parts = list(node.parts)
            for place in reversed(places):
                A = rotation_less_identity(parts[place])
                assert A is not None
                sides = [
                    w.node(nodes.product(side)) if side else w.add("identity", w.scalar(A.shape[0]))
                    for side in (parts[:place], parts[place + 1 :])
                ]
                reversed_ = first == (place == places[0])
                name = "rotation by its mean, reversed" if reversed_ else "rotation by its mean"
                found.append((name, [kind, sides[0], w.node(A), sides[1]]))
                pair = [nodes.of("mean of rotations", A), A]
                parts[place : place + 1] = pair if reversed_ else pair[::-1]
            yield found

    # -- sums ----------------------------------------------------------------------------------------------------------

    def _of_sum(self, kind: str, node: Node, names: list[str], bound: Any) -> Iterator[Steps]:
        w, terms = self.w, nodes.terms_of(node)
        if names == ["covariance of a softmax row"]:
            for part in node.parts:
                if part.kind == "diagonal" and rules.is_softmax_column(part.parts[0]):
                    yield [("covariance of a softmax row", [w.node(part.parts[0].parts[0].parts[0])])]
                if part.kind == "rows as diagonals" and part.parts[0].kind == "softmax":
                    yield [("covariances of softmax rows", [w.node(part.parts[0].parts[0])])]
            return
        if names == ["antisymmetric product"]:
            for part in node.parts:
                for split in range(1, len(part.parts)):
                    A, B = nodes.product(part.parts[:split]), nodes.transposed(nodes.product(part.parts[split:]))
                    yield [("antisymmetric product", [w.node(A), w.node(B)])]
                    yield [("antisymmetric product", [w.node(B), w.node(A)])]
            return
        if names == ["exponential of a skew matrix"]:
            for part in node.parts:
                if part.kind == "exponential":
                    zeros = w.add("zeros", *map(w.scalar, part.shape))
                    yield [("exponentials of skew matrices", [kind, w.node(part.parts[0]), zeros])]
        if names == ["softmax is 1/2-Lipschitz"]:
            for part in node.parts:
                part = part.parts[0] if part.kind == "transpose" else part
                if part.kind == "softmax":
                    zeros = w.add("zeros", *map(w.scalar, part.shape))
                    yield [("softmax is 1/2-Lipschitz", [w.node(part.parts[0]), zeros])]
        if names == ["Gram matrix of a rotation"]:
            for part in node.parts:
                factors = nodes.factors_of(part)
                if len(factors) == 3 and (S := _rotated(factors[1])) is not None:
                    yield [("Gram matrix of a rotation", [kind, w.node(factors[0]), w.node(S)])]
            return
        yield from self._by_pieces(kind, node, bound)
        pairs, rest = rules._pairing(terms)
        found = [list(self._difference(kind, A, B)) for _, A, B in pairs]
        summands = [w.add("sum", w.scalar(c), w.node(A), w.scalar(-c), w.node(B)) for c, A, B in pairs]
        summands += [w.add("sum", w.scalar(c), w.node(A)) for c, A in rest]
        if len(pairs) == 1 and not rest and pairs[0][1].kind in ("product", "entrywise"):
            summands = []
        first: Steps = [("triangle inequality", [kind, *self._without_content(w.value(w.node(node)), summands)])] if len(summands) > 1 else []
        for choice in itertools.islice(itertools.product(*found), 64):
            yield [*first, *(step for steps in choice for step in steps)]

    def _by_pieces(self, kind: str, node: Node, bound: Any) -> Iterator[Steps]:
        """||A|| <= sum of the norms of pieces that a bound is the sum of, where they add up to A with some signs."""
        w, A, pieces = self.w, self.w.value(self.w.node(node)), []
        for term in sympy.Add.make_args(sympy.expand(bound)):
            quantity = [s for s in term.free_symbols if s in w.known.atoms and w.known.atoms[s].kind in NORMS]
            for symbol in quantity:
                piece = w.known.atoms[symbol].payload[0]
                c = sympy.cancel(term / symbol)
                if symbol in c.free_symbols:
                    return
                options = [(sign * c, turned) for sign in (1, -1) for turned in (piece, nodes.transposed(piece))
                           if turned.shape == node.shape]  # fmt: skip
                pieces.append([w.add("sum", w.scalar(d), w.node(turned)) for d, turned in options])
        if not 0 < len(pieces) <= 3:
            return
        for choice in itertools.islice(itertools.product(*pieces), 1024):
            values = [w.value(place) for place in choice]
            if sum(values[1:], values[0]) == A:
                yield [("triangle inequality", [kind, *self._without_content(A, choice)])]

    def _without_content(self, A: Any, places: Iterable[int]) -> list[int]:
        """Matrices that add up to A, less a factor of A that may vanish."""
        content = quantities.content_of(A)
        if quantities.is_positive(content):
            return list(places)
        return [self.w.matrix(self.w.value(place).divided(content)) for place in places]

    def _core(self, place: int) -> int:
        """A matrix less a factor that may vanish."""
        A = self.w.value(place)
        return self._without_content(A, [place])[0] if A.terms else place

    def _difference(self, kind: str, A: Node, B: Node) -> Iterator[Steps]:
        """Steps from ||A - B|| for nodes of like form."""
        w = self.w
        if A.kind == B.kind == "transpose":
            A, B = A.parts[0], B.parts[0]
        inner = [w.node(X.parts[0]) if X.parts else -1 for X in (A, B)]
        if A.kind == B.kind == "softmax":
            if kind == "2":
                minus = w.add("sum", w.scalar(1), w.node(A), w.scalar(-1), w.node(B))
                yield [("spectral at most Frobenius", [minus]), ("softmax is 1/2-Lipschitz", inner)]
            yield [("softmax is 1/2-Lipschitz", inner)]
        if A.kind == "softmax" and B.kind == "ones":
            yield [("softmax is 1/2-Lipschitz", [inner[0], w.add("zeros", *map(w.scalar, A.parts[0].shape))])]
        if A.kind == B.kind == "relu":
            yield [("relu", [kind, *inner])]
        if A.kind == B.kind == "exponential":
            yield [("exponentials of skew matrices", [kind, *inner])]
        if A.kind == "exponential" and B.kind == "identity":
            zeros = w.add("zeros", *map(w.scalar, A.shape))
            yield [("exponentials of skew matrices", [kind, inner[0], zeros])]
        if A.kind == B.kind and A.kind in ("rows", "part") and A.data == B.data:
            minus = w.node(nodes.minus(A.parts[0], B.parts[0]))
            yield [("block", [kind, minus, w.start(A), w.scalar(A.shape[0])])]
        if A.kind == B.kind == "sum over" and A.data == B.data:
            minus = w.add("sum", w.scalar(A.data[1]), inner[0], w.scalar(-A.data[1]), inner[1])
            yield [("sum over an index", [kind, w.index(A.data[0]), minus])]
        if A.kind == B.kind and A.kind in ("product", "entrywise"):
            yield from self._telescoped(kind, A, B)
        pieces = [w.node(A), w.add("sum", w.scalar(-1), w.node(B))]
        yield [("triangle inequality", [kind, *pieces])]

    def _telescoped(self, kind: str, A: Node, B: Node) -> Iterator[Steps]:
        for pieces in _piece_lists(A, B):
            if len(pieces) > 1:
                whole = self.w.value(self.w.node(nodes.minus(A, B)))
                yield [("triangle inequality", [kind, *self._without_content(whole, map(self.w.node, pieces))])]

    # -- what no step of a derivation says -----------------------------------------------------------------------------

    def _own(self, g: Any) -> Iterator[Steps]:
        if g[0] == "sum over":
            yield from self._of_sum_over(g[1], g[2])
        if g[0] == "norm":
            for A in sorted(g[2], key=_text):
                if (family := _family(A)) is not None:
                    kind, index, inner = family
                    yield [({"sum over": "sum over an index"}.get(kind, kind), [g[1], self.w.place_of(index), self.w.matrix(inner)])]
        if g[0] == "norm" and g[1] == "2":
            A = _any(g[2])
            if (item := quantities.single_atom(A, "exponential")) is not None:
                yield [("exponential of a skew matrix", [self.w.matrix(item[4])])]

    def _of_sum_over(self, index: Any, body: Any) -> Iterator[Steps]:
        i = self.w.place_of(index)
        for monomial in body.terms:
            rows = [(h, e, A) for h, e in monomial if (A := _row_source(h, index)) is not None]
            for _, e, A in rows:
                total = ("measure", "sum of absolute values", A)
                if len(monomial) == 1 and e == 1 and total in self.kept:
                    yield [("sum of absolute values", [i, self.w.matrix(A)])]
                if len(monomial) == 1 and e in (1, 2):
                    name = "Cauchy-Schwarz" if e == 1 else "squares of rows"
                    yield [(name, [i, self.w.matrix(A)])]
            for h, _ in monomial:
                if not (len(rows) == 1 and h == rows[0][0]) and index in quantities.free_in(h):
                    yield [("largest over an index", [i, self.w.of_generator(h)])]
            for h, _, _ in rows:
                yield [("largest over an index", [i, self.w.of_generator(h)])]


def _piece_lists(A: Node, B: Node) -> Iterator[list[Node]]:
    """Matrices that add up to A - B, one for each factor in which two products differ."""
    if A.kind == "entrywise":
        for (p, s), (r, t) in itertools.product((A.parts, A.parts[::-1]), (B.parts, B.parts[::-1])):
            yield [nodes.hadamard(nodes.minus(p, r), s), nodes.hadamard(r, nodes.minus(s, t))]
        return
    left, right = rules.shared_ends(A.parts, B.parts)
    inner = slice(left, len(A.parts) - right), slice(left, len(B.parts) - right)
    found = [(A.parts[inner[0]], B.parts[inner[1]], A.parts[:left], A.parts[len(A.parts) - right :])]
    if (groups := nodes.grouped(A.parts, B.parts)) is not None:
        found.insert(0, (tuple(groups[0]), tuple(groups[1]), (), ()))
    for ours, theirs, before, after in found:
        if len(ours) != len(theirs):
            continue
        places = [k for k in range(len(ours)) if ours[k] is not theirs[k]]
        for first, second in ((theirs, ours), (ours, theirs)):
            yield [
                nodes.product([*before, *first[:k], nodes.minus(ours[k], theirs[k]), *second[k + 1 :], *after])
                for k in places
            ]


def _rotated(node: Node) -> Node | None:
    from verify.arithmetics.norms.spectra import rotation_less_identity

    return rotation_less_identity(node)


def _any(variants: Iterable[Any]) -> Any:
    """One of several equal norms' matrices, the same one each time."""
    return min(variants, key=lambda A: (str(len(A.terms)), _text(A)))


def _text(item: Any) -> str:
    """A text that tells data apart, the same in every run."""
    if isinstance(item, quantities.Matrix):
        terms = sorted(f"{_text(word)}:{_text(c)}" for word, c in item.terms.items())
        return f"M{_text(item.rows)}{_text(item.columns)}{terms}"
    if isinstance(item, quantities.Scalar):
        return str(sorted(f"{_text(m)}:{c}" for m, c in item.terms.items()))
    if isinstance(item, frozenset):
        return "{" + ",".join(sorted(map(_text, item))) + "}"
    if isinstance(item, tuple):
        return "(" + ",".join(map(_text, item)) + ")"
    return str(item)


def _row_source(g: Any, index: Any) -> Any:
    """A where a generator is the Euclidean norm of row i of A, which has as many rows as the index values."""
    if g[:2] != ("norm", "F"):
        return None
    for X in g[2]:
        if X.rows != ONE or not all(w and (w[0][0], w[0][1], *w[0][4:]) == ("embedding", True, index) for w in X.terms):
            continue
        if any(index in c.free for c in X.terms.values()):
            continue
        total = next(iter(X.terms))[0][3]
        A = quantities.zeros(total, X.columns)
        for word, c in X.terms.items():
            A = A + (quantities.identity(total) @ quantities.Matrix(total, X.columns, {word[1:]: c}))
        if index not in A.free and index.size == total:
            return A
    return None


def _family(A: Any) -> Any:
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


def _generators(value: Any, kept: Any = ()) -> list[Any]:
    """All generators that a scalar grows or falls with, outermost first, in a fixed order."""
    found: list[Any] = []

    def visit(part: Any) -> None:
        for monomial in part.terms:
            for g, _ in monomial:
                if g not in found:
                    for inner in quantities.parts(g, kept):
                        visit(inner)
                    if g not in found:
                        found.append(g)

    visit(value)
    return found


# -- comparisons -------------------------------------------------------------------------------------------------------


def comparison_of(a: Any, b: Any, w: Writer, facts: list[int], depth: int = 4) -> list[Any] | None:
    """A reason for a <= b that the checker accepts."""
    for reason in _reasons(a, b, w, facts, depth):
        try:
            kernel.compare(a, b, reason, w.assumed.facts, w.reader.table)
        except (Refused, *kernel.ERRORS):
            continue
        return reason
    return None


def _reasons(a: Any, b: Any, w: Writer, facts: list[int], depth: int) -> Iterator[list[Any]]:
    yield ["terms"]
    yield ["squares", ["terms"]]
    yield ["denominators", ["terms"]]
    if depth == 0:
        return
    for g in _generators(a):
        if g[0] == "max" and quantities.rises(a, g):
            members = [(w.of_scalar(member), member) for member in sorted(g[1], key=_text)]
            cases = [
                [place, comparison_of(quantities.replaced(a, g, member), b, w, facts, depth - 1)]
                for place, member in members
            ]
            if all(reason for _, reason in cases):
                yield ["cases", w.of_generator(g), cases]
    if facts and (used := _subtracted(b - a, w, facts, 8)) is not None:
        yield ["facts", used, ["terms"]]
    if facts and (used := _subtracted(b * b - a * a, w, facts, 8)) is not None:
        yield ["squares", ["facts", used, ["terms"]]]
    if facts and (cleared := kernel.without_denominators(b - a)) is not None:
        if (used := _subtracted(cleared, w, facts, 8)) is not None:
            yield ["denominators", ["facts", used, ["terms"]]]
    for g in _generators(b):
        if g[0] == "exp":
            yield ["growth", w.of_generator(g), ["terms"]]
            yield ["denominators", ["growth", w.of_generator(g), ["terms"]]]
    exponents = [[g[1] for m in side.terms for g, e in m if g[0] == "exp" and e == 1] for side in (a, b)]
    if all(len(found) == 1 for found in exponents):
        inner = comparison_of(exponents[0][0], exponents[1][0], w, facts, depth - 1)
        if inner is not None:
            yield ["exponents", inner]


def _subtracted(gap: Any, w: Writer, facts: list[int], depth: int) -> list[list[int]] | None:
    """Assumptions with multipliers that are not negative, of which a scalar is the sum and more."""
    if quantities.is_nonnegative(gap):
        return []
    negative = [(m, c) for m, c in gap.terms.items() if c < 0]
    if depth == 0 or not negative:
        return None
    monomial, c = max(negative, key=lambda item: (sum(e for _, e in item[0]), _text(item)))
    options = []
    for fact in facts:
        for own, d in w.value(fact).terms.items():
            factor = quantities.Scalar({monomial: c}).over(quantities.Scalar({own: d})) if d < 0 else None
            if factor is None or not quantities.is_nonnegative(factor):
                continue
            rest = gap - factor * w.value(fact)
            options.append((sum(e < 0 for e in rest.terms.values()), len(options), fact, factor, rest))
    for *_, fact, factor, rest in sorted(options, key=lambda option: option[:2])[:3]:
        used = _subtracted(rest, w, facts, depth - 1)
        if used is not None:
            return [[facts.index(fact), w.of_scalar(factor)], *used]
    return None
