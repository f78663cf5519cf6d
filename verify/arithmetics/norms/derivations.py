"""A bound, entry by entry: what its left-hand side is bounded by, by which rules, and whether that is at most the right."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from verify.arithmetics.conditions import Condition, recording_conditions
from verify.arithmetics.norms import nodes, subdivision
from verify.arithmetics.norms.assumed import consequences, follows, follows_in_cases, largest_in
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, NORMS, SPECTRAL, largest, norm, sum_over
from verify.arithmetics.norms.bounded import Bounded, is_scalar
from verify.arithmetics.norms.bounded_forms import entries_of
from verify.arithmetics.norms.deciding import is_certain
from verify.arithmetics.norms.derivation_search import Alternative, Step, replaceable, search_for
from verify.arithmetics.norms.from_below import derived_from_below, has_smallest, speaks_from_below
from verify.arithmetics.norms.monomials import difference
from verify.arithmetics.norms.monotone import grows_with
from verify.arithmetics.norms.row_lengths import row_lengths_in
from verify.arithmetics.norms.signs import is_nonnegative, is_nonzero, is_positive
from verify.arithmetics.norms.statements import rule
from verify.arithmetics.norms.text import scalar_text
from verify.arithmetics.norms.two_blocks import derived_by_blocks
from verify.arithmetics.norms.world import Index, Node, World, quantities_in, world
from verify.arithmetics.tracing import traced_inputs, value_of
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

Side = Callable[[Mapping[str, Any]], Any]
#: The value of a side at the prepared inputs.
Evaluation = Callable[[Side], Any]


@dataclass
class EntryBound:
    """One entry of a bound: both sides, what the left one is bounded by (None where that was not derived), and how."""

    left: Any
    right: Any
    index: Index | None
    bound: Any
    steps: tuple[Step, ...]
    proved: bool
    #: Whether the steps lead from the right-hand side down to the bound: they are those of -right <= -left.
    turned: bool = False
    #: The inequality with each of several numbers in the place of their largest, on the right-hand side.
    cases: tuple[EntryBound, ...] = ()


@dataclass
class BoundProof:
    """The outcome: `proved`, or the `reason` why not; for each mutant whether it could be proved too, or why it was not tried."""

    proved: bool
    reason: str | None
    entries: list[EntryBound] = field(default_factory=list)
    mutants: dict[str, str] = field(default_factory=dict)
    world: World | None = None
    seconds: float = 0.0
    #: What slices, parts and shapes take for granted of sizes.
    conditions: list[Condition] = field(default_factory=list)
    #: Values of sizes, by their names, that have a derivation of their own.
    cases: dict[tuple[str, int], BoundProof] = field(default_factory=dict)

    @property
    def is_stated(self) -> bool:
        """Whether both sides were written down and nothing speaks against a proof: it was derived, or that was not tried."""
        return self.reason is None and bool(self.entries)

    @property
    def rules(self) -> list[str]:
        """The names of the rules that were used, in the order of their first use."""
        names = [name for entry in self.entries for step in entry.steps for name in step.rule.split("; ")]
        return list(dict.fromkeys(names))


def prove_bound(
    formula: Side,
    oracle: Side,
    inputs: Callable[[], Mapping[str, Any]],
    mutants: Mapping[str, Side],
    assumed_positive: Sequence[Side] = (),
    assumed_zero: Sequence[Side] = (),
    assumed_nonnegative: Sequence[Side] = (),
    derive: bool = True,
) -> BoundProof:
    """Try to prove oracle <= formula for all inputs and sizes, within the current derivation.

    Only a derivation of every entry counts as a proof: whatever goes wrong is a reason why there is none; and where a
    wrong variant of the formula can be proved as well, nothing is.  Not to `derive`, only both sides are written down, which
    is no proof.
    """
    start = time.perf_counter()
    with recording_conditions() as noted:
        try:
            prepared = traced_inputs(inputs())

            def of(side: Side) -> Any:
                return value_of(side(prepared))

            _assume(of, assumed_positive, assumed_zero, assumed_nonnegative)
            proof = _proof(of, formula, oracle, mutants, derive)
        except Exception as error:  # whatever goes wrong, it is not proved
            proof = BoundProof(False, f"{type(error).__name__}: {error}", world=world())
    proof.conditions = sorted(noted, key=str)
    proof.seconds = time.perf_counter() - start
    return proof


def _assume(of: Evaluation, positive: Sequence[Side], zero: Sequence[Side], nonnegative: Sequence[Side]) -> None:
    """Record what assumptions say, as far as they are of a form that is used."""
    for side in positive:
        with contextlib.suppress(ArithmeticUnsupported, InputError):
            same_signs_in(of(side))
    for side in nonnegative:
        with contextlib.suppress(ArithmeticUnsupported, InputError, KeyError, TypeError):
            value = of(side)
            bounded_in(value)
            world().facts += facts_in(value)
    for side in zero:
        value = of(side)
        orthonormal_in(value)
        reduction_in(value)
        world().facts += row_lengths_in(value)


def _proof(of: Evaluation, formula: Side, oracle: Side, mutants: Mapping[str, Side], derive: bool) -> BoundProof:
    known, sides = world(), (of(oracle), of(formula))
    _refuse_other_shapes(*sides)
    pairs = _paired(*map(entries_of, sides))
    if not derive:
        return BoundProof(False, None, [EntryBound(*pair, None, (), False) for pair in pairs], world=known)
    entries = [derived(*pair) for pair in pairs]
    if known.orders and not all(entry.proved for entry in entries):  # only then are orders of sizes assumed
        known.facts += known.orders
        known.searches.clear()  # which a rule may have looked at in vain for an order
        entries = [entry if entry.proved else derived(entry.left, entry.right, entry.index) for entry in entries]
    open_ones = [entry for entry in entries if not entry.proved]
    proof = BoundProof(not open_ones, None, entries, world=known)
    if open_ones:
        proof.reason = f"{len(open_ones)} of {len(entries)} inequalities are not derived"
    else:
        left = entries_of(of(oracle))
        _tell_apart(proof, left, {name: functools.partial(of, side) for name, side in mutants.items()})
    return proof


def _refuse_other_shapes(left: Any, right: Any) -> None:
    """Raise `InputError` for two matrices of different shapes, unless the right one is a single number."""
    shapes = [side.shape for side in (left, right) if isinstance(side, Bounded)]
    if len(shapes) == 2 and shapes[0] != shapes[1] and any(size != 1 for size in shapes[1]):
        raise InputError("the sides", f"shape {shapes[0]} on both", f"shape {shapes[1]}")


def _tell_apart(
    proof: BoundProof, left: list[tuple[Any, Index | None]], mutants: Mapping[str, Callable[[], Any]]
) -> None:
    right = [entry.right for entry in proof.entries]
    for name, mutant in mutants.items():
        try:
            with recording_conditions():  # of the mutant, which no proof rests on
                pairs = _paired(left, entries_of(mutant()))
        except Exception as error:
            proof.mutants[name] = f"not comparable: {type(error).__name__}: {error}"
            continue
        if [other for _, other, _ in pairs] == right:
            proof.mutants[name] = "not comparable: the formula itself where sizes are symbols"
        elif all(derived(one, other, index).proved for one, other, index in pairs):
            proof.proved, proof.reason = False, f"the wrong variant {name!r} is proved as well"
            proof.mutants[name] = "proved as well"
        else:
            proof.mutants[name] = "not proved"


def _paired(
    left: list[tuple[Any, Index | None]], right: list[tuple[Any, Index | None]]
) -> list[tuple[Any, Any, Index | None]]:
    """The entries of both sides, the indices of families made one."""
    if len(right) == 1 and right[0][1] is None:
        right = right * len(left)
    if len(left) != len(right) or not left:
        raise InputError("the sides", f"{len(left)} entries", str(len(right)))
    found = []
    for (one, i), (other, j) in zip(left, right, strict=True):
        if j is not None:
            if i is None or i.size != j.size:
                raise InputError("the sides", "families over one index", f"{i} and {j}")
            other = nodes.at(other, j, i)
        found.append((one, other, i))
    return found


def derived(left: Any, right: Any, index: Index | None = None) -> EntryBound:
    """The best bound of the left-hand side in the quantities of the right one, and whether it is at most that."""
    before, world().divisors = world().divisors, _divisors(right)
    try:
        return _best(left, right, index)
    finally:
        world().divisors = before


def _divisors(value: Any) -> frozenset[Any]:
    """The quantities that a scalar is divided by."""
    powers = [power for power in sympy.sympify(value).atoms(sympy.Pow) if is_positive(-power.exp)]
    return frozenset(power.base for power in powers if power.base in world().atoms)


def _best(left: Any, right: Any, index: Index | None) -> EntryBound:
    plain = _derived(left, left, right, index)
    start = _with_smaller_denominators(left)
    found = plain if plain.proved or start == left else _derived(start, left, right, index)
    if found.proved:
        return found
    others = (_by_cases, _from_below, _to_below, _by_cases_of_right)
    found = next(filter(None, (other(left, right, index) for other in others)), found)
    if not found.proved and largest_in(found.bound):
        used = follows_in_cases(found.bound, right, world().facts)
        if used is not None:
            world().used |= {f"{scalar_text(fact, world())} >= 0" for fact in used}
            return replace(found, proved=True)
    if not found.proved and index is None and (between := derived_by_blocks(left, right)) is not None:
        return EntryBound(left, right, None, *between, True)
    steps = None if found.proved or index is not None else subdivision.decided(left, right)
    return found if steps is None else EntryBound(left, right, None, left, steps, True)


def _to_below(left: Any, right: Any, index: Index | None) -> EntryBound | None:
    """The derivation from the right-hand side downwards, where it has a smallest singular value: that of -right <= -left."""
    if not has_smallest(right):
        return None
    between = derived_from_below(-right, -left, ())
    if between is None:
        return None
    value, steps = between
    return EntryBound(left, right, index, -value, steps, True, turned=True)


def _from_below(left: Any, right: Any, index: Index | None) -> EntryBound | None:
    """The derivation in which quantities that the left-hand side falls with are replaced by smaller ones."""
    if not speaks_from_below(left):
        return None
    between = derived_from_below(left, right, reverse_triangles(right).values())
    return EntryBound(left, right, index, *between, True) if between is not None else None


def _by_cases(left: Any, right: Any, index: Index | None) -> EntryBound | None:
    """The derivation for each of several numbers in the place of their largest, in which the left-hand side does not decrease."""
    for symbol in quantities_in(replaceable(left) - right.free_symbols, "largest of"):
        values = world().atoms[symbol].payload
        cases = [derived(left.xreplace({symbol: value}), right, index) for value in values]
        if all(case.proved for case in cases):
            bound = largest([case.bound for case in cases])
            steps = [step for case in cases for step in case.steps]
            return EntryBound(left, right, index, bound, (Step("largest of several", left, bound), *steps), True)
    return None


@rule("one of several", says="the largest of several numbers is one of them")
def _by_cases_of_right(left: Any, right: Any, index: Index | None) -> EntryBound | None:
    """The derivation for each of several numbers in the place of their largest on the right-hand side: it is one of them."""
    for symbol in largest_in(right):
        if symbol not in left.free_symbols and not world().atoms[symbol].indices:
            cases = [derived(left, right.xreplace({symbol: value}), index) for value in world().atoms[symbol].payload]
            if all(case.proved for case in cases):
                steps = (Step("one of several", symbol, symbol), *(step for case in cases for step in case.steps))
                return EntryBound(left, right, index, right, steps, True, cases=tuple(cases))
    return None


def _with_smaller_denominators(value: Any) -> Any:
    """The scalar with the quantities in its denominators c + q replaced by 0, where something positive is left.

    One quotient after another, each where the scalar grows with it.
    """
    known = world().atoms
    for power in sorted(value.atoms(sympy.Pow), key=sympy.default_sort_key):
        if is_positive(-power.exp) and power.base.is_Add and all(map(is_nonnegative, power.base.args)):
            less = sympy.Add(*(term for term in power.base.args if not term.free_symbols & known.keys()))
            if is_positive(less) and grows_with(value, power):
                value = value.xreplace({power: less**power.exp})
    return value


def _derived(start: Any, left: Any, right: Any, index: Index | None) -> EntryBound:
    last: Alternative | None = None
    tried: set[Any] = set()
    aims: list[tuple[Any, bool, tuple[Step, ...], frozenset[Any]]]
    before = () if start == left else (Step("smaller denominator", left, start),)
    none: frozenset[Any] = frozenset()
    aims = [(target, through, (), none) for through in (False, True) for target in (right, _with_roots(right))]
    by_blocks, of_blocks = _by_blocks(right)
    aims += [(by_blocks, False, of_blocks, none)] if by_blocks != right else []
    aims += [(right, False, (), divisors)] if (divisors := _largest_in_denominators(start)) else []
    aims += [(right, False, (), members)] if (members := _members_of_largest(right)) else []
    for target, through, after, beside in aims:
        known = world().atoms
        targets = frozenset(symbol for symbol in target.free_symbols if symbol in known) | beside
        search = search_for(targets, through, frozenset(right.free_symbols - known.keys()))
        found, reverse = search.of_expression(start), reverse_triangles(target)
        for fact, step in reverse.items():
            if is_certain(difference(target, start + fact)):
                return EntryBound(left, right, index, start, (*before, step, *after), True)
        for item in found:
            if (item.bound, target) in tried:
                continue
            tried.add((item.bound, target))
            in_cases = beside and beside == members
            used = (follows_in_cases if in_cases else follows)(item.bound, target, world().facts)
            if used is not None:
                world().used |= {f"{scalar_text(fact, world())} >= 0" for fact in used}
                return EntryBound(left, right, index, item.bound, (*before, *item.steps, *after), True)
            for fact, step in reverse.items():
                if is_certain(difference(target, item.bound + fact)):
                    return EntryBound(left, right, index, item.bound, (*before, *item.steps, step, *after), True)
        last = last or (found[0] if found else None)
    bound, steps = (last.bound, last.steps) if last is not None else (start, ())
    return EntryBound(left, right, index, bound, (*before, *steps), False)


def reverse_triangles(value: Any) -> dict[Any, Step]:
    """||A + B|| + ||B|| - ||A|| >= 0 and with A and B exchanged, for the norms of sums of two that a scalar contains.

    Of a Frobenius norm of A + B also with the spectral norms of A and B, since ||A + B||_2 is at most that.
    """
    found = {}
    for symbol in quantities_in(value.free_symbols, SPECTRAL, FROBENIUS):
        atom = world().atoms[symbol]
        terms = _as_sum(atom.payload[0])
        for kind in dict.fromkeys([atom.kind, SPECTRAL]) if len(terms) == 2 else ():
            for (c, A), (d, B) in (terms, terms[::-1]):
                one, other = (sympy.expand(_size(x) * norm(kind, part)) for x, part in ((c, A), (d, B)))
                written = functools.partial(_turned_triangle, kind, atom.payload[0], nodes.scaled(c, A))
                found[symbol + other - one] = Step("reverse triangle inequality", one, symbol + other, written)
    return found


def _turned_triangle(kind: str, whole: Node, part: Node, _: Any) -> list[Any]:
    """How it is written that a part of a sum is the whole less the rest."""
    return [[("triangle inequality", kind, whole, nodes.minus(part, whole))]]


def _largest_in_denominators(value: Any) -> frozenset[Any]:
    """The largest values over an index that a scalar divides by: what stands beside such a one may be bounded by it."""
    powers = [power for power in value.atoms(sympy.Pow) if is_positive(-power.exp)]
    return frozenset(symbol for power in powers for symbol in quantities_in(power.base.free_symbols, "largest over"))


def _members_of_largest(value: Any) -> frozenset[Any]:
    """The quantities that compound numbers consist of whose largest a scalar contains, as of movements over what bounds them."""
    members = [item for symbol in largest_in(value) for item in world().atoms[symbol].payload if not item.is_Symbol]
    return frozenset(symbol for item in members for symbol in quantities_in(item.free_symbols))


def _by_blocks(value: Any) -> tuple[Any, tuple[Step, ...]]:
    """A scalar with the Frobenius norms of blocks in the place of that of the whole, and the steps that say that they are equal."""
    steps: list[Step] = []
    for symbol in quantities_in(value.free_symbols, FROBENIUS):
        node = world().atoms[symbol].payload[0]
        turned = node.parts[0] if node.kind == "transpose" else node
        if turned.kind in ("concatenate", "stack"):
            squares, rule = sympy.Add(*(norm(FROBENIUS, part) ** 2 for part in turned.parts)), "squares of blocks"
            if turned.kind == "stack":
                squares, rule = sum_over(turned.data[0], squares), "squares of a stack"
            inner, before = _by_blocks(squares)
            steps += [*before, Step("blocks", sympy.sqrt(squares), symbol, (rule, *turned.data, *turned.parts))]
            value = value.xreplace({symbol: sympy.sqrt(inner)})
    return value, tuple(steps)


def _size(c: Any) -> Any:
    """|c|, which is c itself for a sum of what is not negative."""
    return c if all(map(is_nonnegative, sympy.Add.make_args(c))) else abs(c)


def _as_sum(node: Node) -> list[tuple[Any, Node]]:
    """The terms of a node, multiplied out where one factor of a product is a sum."""
    factors = nodes.factors_of(node)
    sums = [k for k, factor in enumerate(factors) if factor.kind == "sum"]
    if node.kind != "product" or len(sums) != 1:
        return nodes.terms_of(node)
    (k,) = sums
    return [(c, nodes.product([*factors[:k], part, *factors[k + 1 :]])) for c, part in nodes.terms_of(factors[k])]


def _with_roots(value: Any) -> Any:
    """Roots of sums of squares of quantities as quantities of their own, each at least every one of those."""
    changes = {}
    for power in value.atoms(sympy.Pow):
        squares = power.base.is_Add and all(
            term.as_coeff_Mul()[1].is_Pow
            and term.as_coeff_Mul()[1].exp == 2
            and term.as_coeff_Mul()[1].base in world().atoms
            for term in power.base.args
        )
        if squares and power.exp == sympy.Rational(1, 2):
            changes[power] = world().atom("root", (power.base,))
    return value.xreplace(changes)


# -- assumptions on signs ----------------------------------------------------------------------------------------------


def same_signs_in(value: Any) -> None:
    """Record which matrices have entries of equal signs, where an assumption says that their product is positive."""
    if not isinstance(value, Bounded):
        raise ArithmeticUnsupported(f"an assumption that {value!r} is positive")
    coefficient, core = nodes.single(value.node)
    if core.kind != "entrywise" or coefficient != 1:
        raise ArithmeticUnsupported(f"an assumption that {core!r} is positive")
    for pair in _members(*core.parts):
        if pair[0].indices != pair[1].indices:
            continue  # one of them is the same for all values of an index of the other
        world().same_signs += [pair, (nodes.transposed(pair[0]), nodes.transposed(pair[1]))]


def bounded_in(value: Any) -> None:
    """Record the number that a norm does not exceed, where an assumption says that number - norm is not negative."""
    if not is_scalar(value):
        return
    number, rest = sympy.sympify(value).as_coeff_Add()
    if -rest in world().atoms and world().atoms[-rest].kind in NORMS and number.is_Rational:
        world().assumed[-rest] = min(number, world().assumed.get(-rest, number))


def facts_in(value: Any) -> list[Any]:
    """The scalars that are at least 0 where an assumption says so of a value; c - max|A| for c - |A_ij| of all entries."""
    if not isinstance(value, Bounded):
        scalars = [scalar for scalar, index in entries_of(value) if index is None and scalar.free_symbols]
        return [item for scalar in scalars for item in consequences(scalar)]
    for (c, flat), (d, sizes) in nodes.both_orders(value.node):
        inner = sizes.parts[0] if sizes.kind in ("reshape", "transpose") else sizes
        if flat.kind == "ones" and inner.kind == "absolute" and d == -1:
            return [c - norm(LARGEST, inner.parts[0])]
    raise ArithmeticUnsupported(f"an assumption that {value!r} is not negative")


def orthonormal_in(value: Any) -> None:
    """Record W, and the blocks that it consists of, where an assumption says that W^T W - I vanishes."""
    for (c, gram), (d, identity) in nodes.both_orders(value.node) if isinstance(value, Bounded) else ():
        kinds, factors = (identity.kind, gram.kind), len(gram.parts)
        if d == -c and is_nonzero(c) and kinds == ("identity", "product") and factors == 2:
            frame = gram.parts[1]
            if gram.parts[0] is nodes.transposed(frame):
                blocks = frame.parts if frame.kind == "transpose" else (frame,)
                blocks = blocks[0].parts if blocks[0].kind == "concatenate" else ()
                world().contractions |= {frame.number, *(block.number for block in blocks)}


def reduction_in(value: Any) -> None:
    """Record that a product of two inputs is a multiple of the identity, where an assumption says that c A B + d I vanishes.

    Or that A^2 is 0, where it says that of an input A.
    """
    terms = nodes.terms_of(value.node) if isinstance(value, Bounded) else []
    for (c, product), (d, identity) in nodes.both_orders(value.node) if terms else ():
        pair = product.parts if product.kind == "product" else ()
        if not (is_nonzero(c) or is_nonzero(d)):
            continue  # where both are 0 nothing is said
        if identity.kind == "identity" and len(pair) == 2 and all(part.kind == "input" for part in pair):
            world().reductions[pair[0].number, pair[1].number] = -d / c
    alone = len(terms) == 1 and is_nonzero(terms[0][0])
    square = terms[0][1].parts if alone and terms[0][1].kind == "product" else ()
    if len(square) == 2 and square[0] is square[1] and square[0].kind == "input":
        for node in (square[0], nodes.transposed(square[0])):
            world().reductions[node.number, node.number] = sympy.Integer(0)


def _members(one: Node, other: Node) -> list[tuple[Node, Node]]:
    """Matrices that two equal arrangements of blocks consist of."""
    if one.kind == other.kind and one.kind in ("transpose", "reshape", "stack"):
        if one.kind == "stack" and one.data[0] != other.data[0]:
            raise ArithmeticUnsupported("two families over different indices")
        if one.parts[0].shape != other.parts[0].shape:
            raise ArithmeticUnsupported("two matrices of different shapes in one arrangement")
        return _members(one.parts[0], other.parts[0])
    if one.kind == other.kind == "concatenate" and [p.shape for p in one.parts] == [p.shape for p in other.parts]:
        return [pair for two in zip(one.parts, other.parts, strict=True) for pair in _members(*two)]
    return [(one, other)]
