"""Which instances of the checker's rules may stand for a step of a derivation."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sympy

from verify.arithmetics.norms import entries, isometry_instances, lower_instances, nodes, rules
from verify.arithmetics.norms.atoms import NORMS
from verify.arithmetics.norms.diagonals import multiplied_out
from verify.arithmetics.norms.differentials import depends, largest_slope
from verify.arithmetics.norms.length_instances import of_lengths
from verify.arithmetics.norms.recording import KINDS, Writer, family_of, generators, row_source, text_of
from verify.arithmetics.norms.singular_polynomials import blocks_of_exponential, rotation_less_identity
from verify.arithmetics.norms.softmax_instances import of_softmax
from verify.arithmetics.norms.two_block_instances import of_blocks
from verify.arithmetics.norms.world import Node, unused_index
from verify.kernel import bound_rules, quantities, varying
from verify.kernel import bounds as kernel
from verify.kernel.refusal import Refused

Steps = list[tuple[Any, ...]]
ONE = quantities.number(1)


class Instances:
    """Instances for the inequality whose right side has the generators `kept`, and perhaps sums over an index."""

    w: Writer
    facts: list[int]
    kept: set[Any]
    outside: list[Any]
    value: Any
    aims_at_sums: bool

    def _reason(self, a: Any, b: Any) -> list[Any] | None:
        """A reason for a <= b."""
        raise NotImplementedError

    # -- instances of rules --------------------------------------------------------------------------------------------

    def _instances(self, g: Any, step: Any) -> Iterator[Steps]:
        """Steps of the checker that may stand for one step of the derivation."""
        rule, bound = step.rule, step.bound
        yield from of_softmax(self.w, step, self._reason)
        yield from of_lengths(self.w, self.value, g, step)
        yield from of_blocks(self.w, step)
        atom = self.w.known.atoms.get(step.quantity)
        if rule == "definition of the largest":
            yield from self._below_a_largest(step)
        elif rule in lower_instances.RULES:
            yield from lower_instances.lower_steps(self.w, self.value, g, step)
        elif rule == "assumption":
            quantity = self.w.scalar(step.quantity)
            for fact in self.facts:
                yield [("assumption", [fact, quantity])]
        elif rule == "Cauchy-Schwarz" and atom is not None:
            inner = atom.payload[0].parts[0] if atom.payload[0].kind == "absolute" else atom.payload[0]
            yield [("Cauchy-Schwarz for all entries", [self.w.node(inner)])]
        elif rule == "softmax in the 1-norm" and atom is not None:
            terms = [part for _, part in nodes.terms_of(atom.payload[0].parts[0])]
            terms = [part.parts[0] if part.kind == "transpose" else part for part in terms]
            yield [("softmax in the 1-norm", [self.w.node(part.parts[0]) for part in terms])]
        elif rule == "largest entry" and isinstance(step.quantity, sympy.Abs):
            pass
        elif rule == "Weyl" and atom is not None:
            yield [(rule, list(map(self.w.node, atom.payload)))]
        elif rule == "spectral radius" and atom is not None:
            yield [(rule, [self.w.node(atom.payload[0])])]
        elif rule == "smallest eigenvalue of a Gram matrix" and atom is not None:
            factor = nodes.gram_factor(atom.payload[0])
            if factor is not None:
                yield [(rule, [self.w.node(factor)])]
        elif rule == "smallest at most largest singular value" and atom is not None:
            yield [(rule, [self.w.node(atom.payload[0])])]
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
                index, inner = self.w.index(atom.payload[0]), self.w.known.atoms.get(atom.payload[1])
                yield [("largest over an index", [index, self.w.scalar(atom.payload[1])])]
                one = self.w.known.atoms.get(step.quantity)
                if inner is not None and one is not None and inner.kind == one.kind and one.kind in NORMS:
                    places = [self.w.node(item.payload[0]) for item in (inner, one)]
                    yield [("one of a stack", [KINDS[one.kind], index, *places])]
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
        inner, core = [w.node(part) for part in node.parts], self._core(A)
        plain: dict[str, list[Any]] = {
            "spectral at most Frobenius": [("spectral at most Frobenius", [core])],
            "largest entry": [("largest entry", [core])],
            "largest of all entries": [("largest of all entries", [core])],
            "unit direction": [("unit direction", [A])],
            "unit rows": [("unit rows", [A]), ("normalised rows", inner)],
            "permutation": [("permutation", [A])],
            "projection": [("projection", inner)],
            "row norms": [("row norms", inner)],
            "sum of all absolute values": [("sum of all absolute values", [core])],
            "softmax row": [("softmax row", inner)],
            "Kronecker product": [("Kronecker product", [kind, *inner])],
        }  # fmt: skip
        for one in plain.get(rule, ()):
            yield [one]
        if rule == "reverse triangle inequality":
            symbols = sorted(bound.free_symbols & w.known.atoms.keys(), key=sympy.default_sort_key)
            for other in (w.known.atoms[symbol] for symbol in symbols):
                if other.kind in NORMS and other.payload[0].shape == node.shape:
                    rest = w.node(nodes.minus(node, other.payload[0]))
                    yield [("triangle inequality", [kind, w.node(other.payload[0]), rest])]
        if rule == "triangle inequality" and (terms := multiplied_out(node)):
            yield [(rule, [kind, *(w.add("sum", w.scalar(c), w.node(part)) for c, part in terms)])]
        elif rule == "softmax row" and kind == "max":
            yield [("largest entry", [core]), ("softmax row", inner)]
        elif rule == "entrywise product" and kind == "F":
            yield from ([(rule, pair)] for pair in (inner, inner[::-1]))
        elif rule == "diagonal of a column":
            yield [(rule, [kind, w.node(node.parts[0].parts[0]), inner[1]])]
        if rule == "product":
            yield from self._product(kind, node, w.value(w.scalar(bound)))
        elif rule == "sum over an index" and node.kind == "product":
            i = unused_index(node.parts[0].shape[1], node)
            yield [("sum of rows", [kind, w.index(i), w.node(nodes.product(node.parts[1:]))])]
        elif rule == "lengths of rows and columns":
            yield from self._by_lengths(node)
        elif rule == "block" and node.kind in ("rows", "part"):
            yield [("block", [kind, inner[0], w.start(node), w.scalar(node.shape[0])])]
        elif rule == "blocks" and node.kind == "concatenate":
            yield [("blocks", [kind, *self._without_content(w.value(A), inner)])]
        elif rule == "blocks" and node.kind == "stack":
            yield from self._stacks(kind, w.index(node.data[0]), *inner)
        elif rule == "block diagonal" and node.kind == "block diagonal":
            yield [("block diagonal", [w.index(node.data[0]), *inner])]
        elif rule == "rank":
            yield [("rank", [A, w.add("identity", w.scalar(node.shape[1]))])]
            yield [("rank", [w.add("identity", w.scalar(node.shape[0])), A])]
        elif rule == "gate" and node.kind == "entrywise":
            for gate, factor in (node.parts, node.parts[::-1]):
                flipped = gate.parts[0] if gate.kind == "transpose" else gate
                if flipped.kind == "step":
                    argument = w.node(flipped.parts[0])
                    yield [
                        ("gate", [kind, w.node(factor), w.transposed(argument) if flipped is not gate else argument])
                    ]
        elif rule == "gate" and node.kind == "step":
            yield [("largest of open gates", inner)]
        elif rule == "relu" and node.kind == "relu":
            yield [("relu", [kind, inner[0], w.add("zeros", *map(w.scalar, node.shape))])]
        elif rule in ("orthonormal", "contraction"):
            yield [("orthonormal", [A])]
            yield [("orthonormal by assumption", [A])]
            for frame in w.frames:
                start = w.scalar(0)
                for block in frame.parts:
                    count = w.scalar(block.shape[0])
                    yield [
                        ("block", ["2", w.node(frame), start, count]),
                        ("orthonormal by assumption", [w.node(frame)]),
                    ]
                    start = w.add("+", start, count)
        elif rule == "exponential of a skew matrix" and node.kind == "exponential":
            yield [("exponential of a skew matrix", inner)]
        elif rule == "iterated polynomial":
            yield from self._starting([inner[0]], lambda M: ("iterate", [M[0], *map(w.scalar, node.data)]))
        elif rule == "Gram matrix of a contraction":
            for factor in filter(None, map(nodes.gram_factor, node.parts)):
                yield from self._starting([w.transposed(w.node(factor))], lambda M: (rule, M))
        elif rule == "derivative along a unit direction":
            yield [(rule, [A])]
        elif rule == "chain rule":
            yield from self._chain(kind, node)
        elif rule == "product rule":
            for J in (part for part in node.parts if part.kind == "derivative"):
                F, _, *others = nodes.factors_of(J.parts[0])
                entries = F.shape[0] * F.shape[1]
                dF = nodes.of("derivative", F, J.parts[1], data=J.data, shape=(entries, J.shape[1]))
                fixed = nodes.product(others)
                yield [(rule, [kind, *map(w.node, (F, dF, fixed))])]
        elif rule == "constant factors of a derivative":
            yield from self._constant_factors(node)
        elif rule == "differential of the exponential":
            yield [(rule, [kind, *inner])]
        elif rule == "differential of softmax":
            yield [(rule, [w.index(unused_index(node.shape[0], node)), *inner])]
        elif rule == "differential of a normalisation":
            yield [(rule, [*inner, *map(w.scalar, node.data)])]
        elif rule == "differential of an iteration":
            slope, data = largest_slope(node.data[1:]), list(map(w.scalar, node.data))
            yield from self._starting(inner, lambda M: (rule, [w.scalar(slope), *M, *data]))
        elif rule == "similar matrices":
            c, inside = nodes.single(node.parts[0])
            middle = nodes.scaled(c, nodes.product(inside.parts[1:-1]))
            yield [(rule, [w.node(part) for part in (inside.parts[0], inside.parts[-1], middle)])]
        elif rule == "exponential of a dissipative matrix":
            c, inside = nodes.single(node.parts[0])
            yield [(rule, [w.scalar(c), w.node(inside.parts[0] if inside.kind == "transpose" else inside)])]
        elif rule == "integral of orthogonal matrices":
            blocks = blocks_of_exponential(node) or ()
            yield [(rule, list(map(w.node, blocks[::3])))]
        elif rule == "series of an exponential":
            yield [(rule, list(map(w.node, (blocks_of_exponential(node) or ())[:2])))]
        elif rule == "differential of an iteration beside its start":
            yield from self._beside_the_start(node)
        elif rule == "polynomial of a contraction":
            yield from self._polynomial(node, bound)
        elif rule == "mean of rotations" and node.kind == "mean of rotations":
            yield [("mean of rotations", inner)]
        elif rule == "mean of rotations":
            yield from self._rotations_by_means(kind, node)
        elif node.kind == "sum over" and rule == "sum over an index":
            scaled = w.add("sum", w.scalar(node.data[1]), inner[0])
            yield [("sum over an index", [kind, w.index(node.data[0]), scaled]), *self._numbers(node.parts[0])]
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
            apart = [step for piece in pieces for step in self._numbers(piece)]
            if (
                kind == "2"
                and bound_rules.multiplied(*(self._size(piece, bound_rules.two) for piece in pieces)) == bound
            ):
                yield [*self._split(pieces, None), *apart, *isometry_instances.of_factors(self.w, pieces)]
            for place in range(len(pieces)) if kind == "F" else ():
                norms = [
                    self._size(piece, bound_rules.fro if k == place else bound_rules.two)
                    for k, piece in enumerate(pieces)
                ]
                if bound_rules.multiplied(*norms) == bound:
                    yield [*self._split(pieces, place), *apart]

    def _size(self, piece: Node, norm: Any) -> Any:
        """A norm of a factor; of a product of two numbers, the product of their absolute values."""
        if piece.kind == "entrywise" and piece.shape == (1, 1):
            return bound_rules.multiplied(*(self._size(part, norm) for part in piece.parts))
        known = isometry_instances.known_norm(self.w, piece) if norm is bound_rules.two else None
        return norm(self.w.value(self.w.node(piece))) if known is None else known

    def _numbers(self, node: Node) -> Steps:
        """The steps from the norm of a product of numbers, as a matrix of shape (1, 1), to those of the numbers."""
        if node.kind != "entrywise" or node.shape != (1, 1):
            return []
        apart = [step for part in node.parts for step in self._numbers(part)]
        return [("entrywise product", [self._core(self.w.node(part)) for part in node.parts]), *apart]

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

    def _by_lengths(self, node: Node) -> Iterator[Steps]:
        """The longest rows of two factors; what is one row is the whole."""
        w, factors = self.w, nodes.factors_of(node)
        for k in range(1, len(factors)):
            both = entries.split_at(factors, k)
            indices, sides = [w.index(unused_index(A.shape[0], A)) for A in both], list(map(w.node, both))
            alone = [
                ("block", ["F", side, index, w.scalar(1)])
                for index, side, A in zip(indices, sides, both, strict=True) if A.shape[0] == 1
            ]  # fmt: skip
            yield [("lengths of rows and columns", [indices[0], sides[0], indices[1], sides[1]]), *alone]

    def _rotations_by_means(self, kind: str, node: Node) -> Iterator[Steps]:
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

    # -- iterations, derivatives and moments ---------------------------------------------------------------------------

    def _starting(self, inner: list[int], made: Any) -> Iterator[Steps]:
        """A rule of matrices of which the first has ||M||_2 <= 1, with the reasons for that."""
        w, M = self.w, inner[0]
        size, one = w.value(w.add("norm", "2", M)), w.scalar(1)
        core = w.matrix(w.value(M).divided(quantities.content_of(w.value(M))))
        multiple = w.of_scalar(quantities.content_of(w.value(M)))
        instances = [("spectral at most Frobenius", core), ("orthonormal", core), ("orthonormal by assumption", core)]
        reasons: list[list[Any]] = [["facts", [[k, one]], ["terms"]] for k in range(len(self.facts))]
        for name, matrix in instances:
            for why in (["terms"], ["denominators", ["terms"]]):
                reasons.append(["instance", name, [matrix], [], multiple, why])
        for reason in reasons:
            try:
                kernel.compare(size, ONE, reason, w.assumed, w.reader.table)
            except (Refused, *kernel.ERRORS):
                continue
            yield [(*made(inner), [reason])]

    def _beside_the_start(self, node: Node) -> Iterator[Steps]:
        """||A dB M^T C||_F, or with dB^T M, by the norms of A and C."""
        for factors in (node.parts, nodes.factors_of(nodes.single(nodes.transposed(node))[1])):
            for place, factor in enumerate(factors[:-1]):
                flipped = factor.kind == "transpose"
                D = factor.parts[0] if flipped else factor
                if D.kind == "iterate differential":
                    yield from self._in_the_frame(factors, place, flipped, D)
                    inner, data = list(map(self.w.node, D.parts)), list(map(self.w.scalar, D.data))
                    yield from self._starting(inner, functools.partial(_beside, "columns" if flipped else "rows", data))

    def _in_the_frame(self, factors: Sequence[Node], place: int, flipped: bool, D: Node) -> Iterator[Steps]:
        """||A dB^T S C||_F and ||A dB B^T S C||_F for skew S = c (P R^T - R P^T) of the columns [P R] that start the iteration."""
        inner, at = nodes.single(D.parts[1])[1], place + 1 if flipped else place + 2
        sides = nodes.skew_factors(factors[at], inner.parts[0]) if inner.parts and at < len(factors) else None
        if sides is None or inner.kind != "normalised differential":
            return
        A, C = factors[:place], factors[at + 1 :]
        ends = [
            self.w.node(nodes.product(part)) if part else self.w.add("identity", self.w.scalar(size))
            for part, size in ((A, factors[place].shape[0]), (C, factors[at].shape[1]))
        ]
        data = [self.w.scalar(item) for item in (inner.data[0], *D.data)]
        middle = list(map(self.w.node, sides))
        arguments = ["columns" if flipped else "rows", ends[0], *middle, ends[1], self.w.node(inner.parts[1]), *data]
        apart = [step for part in (A, C) for step in self._split(list(part), None)]
        yield [("differential of an iteration in the frame of its start", arguments), *apart]

    def _chain(self, kind: str, node: Node) -> Iterator[Steps]:
        """A derivative of normalised rows, and then of the sum that they are of; or of a sum."""
        w, J, found = self.w, self.w.value(self.w.node(node)), []
        L, R = (w.add("identity", w.of_scalar(size)) for size in (J.rows, J.columns))
        (V, *_), i = varying.derivative(J), w.index(unused_index(node.parts[0].shape[0], node))
        if len(V.terms) == 1 and next(iter(V.terms))[0][0] == "normalised rows":
            found.append(("chain rule of normalised rows", [kind, i, L, w.matrix(J), R]))
            (word,) = varying.chain_of_rows(J, w.value(i)).terms
            L = w.matrix(quantities.Matrix(J.rows, word[-1][2], {word[:-1]: ONE}))
            J = quantities.Matrix(word[-1][2], J.columns, {word[-1:]: ONE})
        for rule in ("derivative of a sum of products", "derivative of a sum"):
            yield [*found, (rule, [kind, L, w.matrix(J), R])]
        yield found

    def _constant_factors(self, node: Node) -> Iterator[Steps]:
        """A derivative of A f B, bounded by the norms of A, B and d vec f, or that of f^T."""
        w, (value, point), (_, name) = self.w, node.parts, node.data
        c, core = nodes.single(value)
        factors, variable = nodes.factors_of(core), nodes.leaf(name, point.shape)
        (k,) = (k for k, factor in enumerate(factors) if depends(factor, variable))
        f, sides = factors[k], (factors[:k], factors[k + 1 :])
        rows, columns = map(w.scalar, (f.shape[0] * f.shape[1], node.shape[1]))
        J = w.add("opaque", "derivative", rows, columns, w.node(f), w.node(point), *node.data)
        A, B = (
            w.node(nodes.product(side)) if side else w.add("identity", w.scalar(size))
            for side, size in zip(sides, f.shape, strict=True)
        )
        A = w.add("sum", w.scalar(c), A)
        L, R = (w.add("identity", w.scalar(size)) for size in node.shape)
        outer = (A, B) if node.data[0] == "row-major" else (B, A)
        turned = [w.transposed(side) if side == B else side for side in outer]
        steps: Steps = [("chain rule", ["2", L, A, J, B, R]), ("product", [w.add("kronecker", *turned), J])]
        steps.append(("Kronecker product", ["2", *turned]))
        yield steps

    def _polynomial(self, node: Node, bound: Any) -> Iterator[Steps]:
        """|x p(x)| <= c on [0, 1] for p of degree 1, where c is taken at the end or where the slope vanishes."""
        w, M = self.w, node.parts[0]
        p = nodes.odd_polynomial(nodes.product(node.parts[:-1]), M)
        if p is None or len(p) != 2 or p[1] == 0:
            return
        data = [w.scalar(item) for item in (bound, abs(p[1]), -p[0] / (2 * p[1]), *p)]
        yield from self._starting([w.node(M)], lambda one: ("polynomial of a contraction", [*one, *data]))

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
                if len(factors) == 3 and (S := rotation_less_identity(factors[1])) is not None:
                    yield [("Gram matrix of a rotation", [kind, w.node(factors[0]), w.node(S)])]
            return
        yield from self._by_pieces(kind, node, bound)
        pairs, rest = rules._pairing(terms)
        found = [list(self._difference(kind, A, B)) for _, A, B in pairs]
        summands = [w.add("sum", w.scalar(c), w.node(A), w.scalar(-c), w.node(B)) for c, A, B in pairs]
        summands += [w.add("sum", w.scalar(c), w.node(A)) for c, A in rest]
        if len(pairs) == 1 and not rest and pairs[0][1].kind in ("product", "entrywise"):
            summands = []
        cores = self._without_content(w.value(w.node(node)), summands)
        first: Steps = [("triangle inequality", [kind, *cores])] if len(summands) > 1 else []
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
        if A.kind == B.kind and A.kind in ("diagonal", "reshape", "stack", "concatenate", "block diagonal"):
            yield []  # they are linear, which the checker knows
        pieces = [w.node(A), w.add("sum", w.scalar(-1), w.node(B))]
        yield [("triangle inequality", [kind, *pieces])]

    def _telescoped(self, kind: str, A: Node, B: Node) -> Iterator[Steps]:
        for pieces in nodes.piece_lists(A, B):
            if len(pieces) == 1:
                yield []
            if len(pieces) > 1:
                whole = self.w.value(self.w.node(nodes.minus(A, B)))
                yield [("triangle inequality", [kind, *self._without_content(whole, map(self.w.node, pieces))])]

    # -- what no step of a derivation says -----------------------------------------------------------------------------

    def _by_assumption(self, g: Any) -> Iterator[Steps]:
        """What an assumption says that a largest value is at most."""
        for fact in self.facts if g[0] == "max over" else ():
            if g not in generators(self.w.value(fact) + quantities.generator_of(g)):
                yield [("assumption", [fact, self.w.of_generator(g)])]

    def _own(self, g: Any) -> Iterator[Steps]:
        if g[0] == "sum":
            for h in self.outside:
                if h[0] == "sum" and (reason := self._reason(g[1], h[1])) is not None:
                    yield [("sum", [self.w.of_scalar(g[1]), self.w.of_scalar(h[1])], [reason])]
        if g[0] == "sum over":
            yield from self._of_sum_over(g[1], g[2])
        if g[0] == "norm":
            for A in sorted(g[2], key=text_of):
                if (family := family_of(A)) is not None:
                    kind, index, inner = family
                    if kind == "stack":
                        yield from self._stacks(g[1], self.w.place_of(index), self.w.matrix(inner))
                        continue
                    yield [("sum over an index", [g[1], self.w.place_of(index), self.w.matrix(inner)])]
            weights = [
                item
                for A in sorted(g[2], key=text_of)
                if (item := quantities.single_atom(A, "softmax")) and not item[1]
            ]
            for item in weights:
                yield [("softmax row", [self.w.matrix(item[4])])]
        for A in sorted(g[2], key=text_of) if g[:2] == ("norm", "2") else ():
            if (item := quantities.single_atom(A, "exponential")) is not None:
                yield [("exponential of a skew matrix", [self.w.matrix(item[4])])]

    def _stacks_of(self, g: Any) -> Iterator[Steps]:
        for A in sorted(g[2], key=text_of) if g[0] == "norm" else ():
            if (family := family_of(A)) is not None and family[0] == "stack":
                yield from self._stacks(g[1], self.w.place_of(family[1]), self.w.matrix(family[2]))

    def _stacks(self, kind: str, index: int, inner: int) -> Iterator[Steps]:
        if self.aims_at_sums:
            yield [("stack", [kind, index, inner])]
        yield [("stack of one length", [kind, index, inner])]

    def _of_sum_over(self, index: Any, body: Any) -> Iterator[Steps]:
        i = self.w.place_of(index)
        for monomial in body.terms:
            rows = [(h, e, A) for h, e in monomial if (A := row_source(h, index)) is not None]
            for _, e, A in rows:
                total = {h for m in bound_rules.total(A).terms for h, _ in m}
                if len(monomial) == 1 and e == 1 and total & self.kept:
                    yield [("sum of absolute values", [i, self.w.matrix(A)])]
                if len(monomial) == 1 and e == 2:
                    yield [("squares of rows", [i, self.w.matrix(A)])]
                if len(monomial) == 1 and e == 1:
                    yield [("Cauchy-Schwarz", [i, self.w.matrix(A)])]
            for h, _ in monomial:
                if not (len(rows) == 1 and h == rows[0][0]) and index in quantities.free_in(h):
                    yield [("largest over an index", [i, self.w.of_generator(h)])]
            for h, _, _ in rows:
                yield [("largest over an index", [i, self.w.of_generator(h)])]


def _beside(side: str, data: list[int], M: list[int]) -> tuple[Any, ...]:
    return "differential of an iteration beside its start", [side, *M, *data]
