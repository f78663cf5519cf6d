"""Certificates of bounds: a quantity on the left gives way to a bound by a rule, one after another, until it is below the right.

Nothing is searched for: which rule, of which matrices, and why the final comparison holds stands in the certificate.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from verify.kernel import boxes, isometries, varying
from verify.kernel import quantities as q
from verify.kernel.bound_rules import HEADS, PROPERTIES, RULES, multiplied, two
from verify.kernel.expressions import rational
from verify.kernel.identities import Accepted
from verify.kernel.places import replaced, rises, stands_in
from verify.kernel.quantities import Index, Matrix, Scalar, number
from verify.kernel.refusal import Refused


class Assumed(NamedTuple):
    """Scalars that are at least 0, matrices with orthonormal columns or rows, and products that are multiples of the identity,
    by what the claim assumes.
    """

    facts: list[Scalar]
    frames: list[Matrix]
    multiples: Sequence[tuple[Matrix, Scalar]] = ()


# -- comparisons -------------------------------------------------------------------------------------------------------


def without_denominators(gap: Scalar, facts: Sequence[Scalar] = ()) -> Scalar:
    """A scalar times powers of the sums that are its denominators, none of which may be negative, or is so by an assumption."""
    for g in {g for m in gap.terms for g, e in m if g[0] == "sum" and e < 0 and g[1].number() is None}:
        if not (q.is_nonnegative(g[1]) or g[1] in facts):
            raise Refused("a denominator that may be negative")
        lowest = min(dict(m).get(g, 0) for m in gap.terms)
        gap = gap.over(Scalar({frozenset({(g, lowest)}): 1})) * number(1)
    return gap


def compare(a: Scalar, b: Scalar, reason: list[Any], assumed: Assumed, table: Any) -> None:
    """Accept a <= b for the reason given, or refuse."""
    name, *rest = reason
    holds = True
    if name == "terms":
        holds = q.is_nonnegative(b - a)
    elif name == "squares":
        holds = q.is_nonnegative(a) and q.is_nonnegative(b)
        compare(a**2, b**2, rest[0], assumed, table)
    elif name == "denominators":
        compare(number(0), without_denominators(b - a, assumed.facts), rest[0], assumed, table)
    elif name == "steps":
        for step in rest[0]:
            a = stepped(a, step, assumed, table)
        compare(a, b, rest[1], assumed, table)
    elif name == "facts":
        gap = b - a
        for which, multiplier in rest[0]:
            taken = [assumed.facts[k] for k in (which if isinstance(which, list) else [which])]
            gap = gap - multiplied(_not_negative(table[multiplier]), *taken)
        compare(number(0), gap, rest[1], assumed, table)
    elif name == "instance":  # of a rule, which says that one side is at most the other
        rule, arguments, reasons, multiplier, why = rest
        left, right = instance(
            rule, [table[k] if isinstance(k, int) else k for k in arguments], reasons, assumed, table
        )
        if not right.free <= left.free:
            raise Refused("a free index would be bound")
        compare(number(0), b - a - _not_negative(table[multiplier]) * (right - left), why, assumed, table)
    elif name == "common factor":  # f a' <= f b' for f >= 0
        factor, one, other = (table[place] for place in rest[:3])
        holds = a == _not_negative(factor) * one and b == factor * other
        compare(one, other, rest[3], assumed, table)
    elif name == "exponents":
        x, y = table[rest[0]], table[rest[1]]
        holds = a == HEADS["exp"](x) and b == HEADS["exp"](y)
        compare(x, y, rest[2], assumed, table)
    elif name == "turned":  # -b <= -a says the same
        compare(b * number(-1), a * number(-1), rest[0], assumed, table)
    elif name == "cases":  # the largest of several numbers is one of them, and at least each of the others
        _, largest = q.only_generator(table[rest[0]])
        if largest[0] != "max" or q.free_in(largest):
            raise Refused("no largest of several numbers, or cases that differ with an index")
        holds = {table[member] for member, _ in rest[1]} == largest[1]
        for member, why in rest[1]:
            value = table[member]
            known = in_case(assumed, largest, value, [table[other] for other, _ in rest[1]])
            left, right = (replaced(side, largest, value) for side in (a, b))
            compare(left, right, why, known, table)
    elif name == "growth":  # e^x = 1 + x + h for some h >= 0
        _, power = q.only_generator(table[rest[0]])
        instead = number(1) + power[1] + q.generator("scalar", ("growth", power), "nonnegative")
        holds = power[0] == "exp"
        compare(replaced(a, power, instead), replaced(b, power, instead), rest[1], assumed, table)
    elif name == "boxes":
        boxes.holds(b - a, rest[0], assumed.facts)
    elif name == "parts":
        parts = [(table[one], table[other], why) for one, other, why in rest[0]]
        for one, other, why in parts:
            compare(one, other, why, assumed, table)
        holds = sum((one for one, _, _ in parts), number(0)) == a
        holds = holds and q.is_nonnegative(b - sum((other for _, other, _ in parts), number(0)))
    else:
        raise Refused(f"no reason {name!r} for an inequality")
    if not holds:
        raise Refused(f"the final comparison does not hold by {name!r}")


def in_case(assumed: Assumed, largest: Any, value: Scalar, members: Sequence[Scalar]) -> Assumed:
    """What is known where one of several numbers is their largest: it is at least each, and what is assumed holds of it."""
    known = [*assumed.facts, *(value - other for other in members)]
    for fact in assumed.facts:
        with contextlib.suppress(Refused):  # where that would be divided by 0 it says nothing
            if (said := replaced(fact, largest, value)) != fact:
                known.append(said)
    return assumed._replace(facts=known)


def _not_negative(factor: Scalar) -> Scalar:
    if not q.is_nonnegative(factor):
        raise Refused("a multiplier that may be negative")
    return factor


# -- certificates ------------------------------------------------------------------------------------------------------

FORMAT = 1
KEYS = {
    "format",
    "kind",
    "claim",
    "sizes",
    "scalars",
    "inputs",
    "table",
    "nonzero",
    "assumptions",
    "orthonormal",
    "parts",
}
#: A certificate for sizes from 2 on may have others for smaller ones; few assume that a product is a multiple of the identity.
ALLOWED = {*KEYS, "cases", "multiples"}
#: Between which places a shape follows a head.
SHAPED = {
    "zeros": (0, 2),
    "identity": (0, 1),
    "embedding": (0, 2),
    "input": (1, 3),
    "opaque": (1, 3),
    "reshape": (1, 3),
}
ERRORS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError, AssertionError)


class Reader:
    """The expressions of a certificate, in normal form; each names earlier ones by their places in the table."""

    def __init__(self, sizes: list[Any], scalars: dict[str, str], inputs: dict[str, list[str]]) -> None:
        self.sizes, self.scalars, self.inputs = dict(map(declared_size, sizes)), scalars, inputs
        self.table: list[Any] = []
        self.asked: list[frozenset[Any]] = []  # for each place, what has to be so where it is defined
        self.nonzero: set[Scalar] = set()  # what the claim divides by
        self.shapes: dict[str, Any] = {}
        if len({*self.sizes, *scalars, *inputs}) < len(sizes) + len(scalars) + len(inputs):
            raise Refused("a name is declared twice")
        if not set(scalars.values()) <= {"real", "nonnegative", "positive"}:
            raise Refused("a scalar is real, nonnegative or positive")
        if not all(set(known) <= set(PROPERTIES) for known in inputs.values()):
            raise Refused("an input has a property that nobody knows")

    def read(self, entry: list[Any]) -> Any:
        """The value of one expression."""
        if not {bool, float}.isdisjoint(map(type, entry)):  # 0.1 is read as another number, and true as place 1
            raise Refused(f"{entry[0]!r} of a number that is not whole")
        value = self._read(entry)
        # a name at a place would be read as one where `asked` looks for it by its letters
        if not _is_expression(value):
            raise Refused(f"{entry[0]!r} of what is no expression")
        of_derivative = entry[:2] == ["opaque", "derivative"]
        operands = entry[1:] if entry[0] not in ("q", "^") else entry[1:2] if entry[0] == "^" else []  # not numbers
        operands = [*entry[1:4], *entry[5:]] if of_derivative else operands
        asked = frozenset().union(*(self.asked[item] for item in operands if self._is_place(item)))
        if entry[0] in ("index", "rows", *SHAPED):
            sizes = [size for size in map(self.value, operands) if isinstance(size, Scalar)]
            asked |= {(size, "whole") for size in sizes if q.is_quotient(size)}
        if entry[0] in ("rows", "embedding"):
            asked |= _asked_of_rows(entry[0], [self.value(item) for item in entry[1:]])
        if entry[:2] == ["function", "inverse"]:
            asked |= {(frozenset({self.value(entry[2]), self.value(entry[2]).T}), "invertible")}
        if of_derivative:  # what is asked of the variable is asked at the point alone: the name may be an input's too
            f, P, x = map(self.value, (entry[4], entry[5], entry[7]))
            rows = {
                (found[4], "rows that are not 0") for found in varying.within(f) if found[:1] == ("normalised rows",)
            }
            inside = self.asked[entry[4]] | rows
            asked |= {((what, P) if varying.mentions(what, x) else what, why) for what, why in inside}
        if entry[0] == "log" and not q.is_positive(self.value(entry[1])):
            asked |= {(self.value(entry[1]), "positive")}
        if entry[0] == "^":
            base, exponent = self.value(entry[1]), Fraction(entry[2], entry[3])
            wanted = [(exponent < 0 and not q.is_positive(base), "not 0")]
            wanted.append((exponent.denominator > 1 and not q.is_nonnegative(base), "not negative"))
            asked |= {(base, what) for needed, what in wanted if needed}
        self.asked.append(asked)
        return value

    def _is_place(self, item: Any) -> bool:
        return isinstance(item, int) and 0 <= item < len(self.table)

    def _read(self, entry: list[Any]) -> Any:
        head, *data = entry
        if head == "q":
            return number(rational(*data))
        if head == "size" and data[0] in self.sizes:
            return number(self.sizes[data[0]] - 1) + q.generator("size", *data)  # the generator is at least 1
        if head == "scalar" and data[0] in self.scalars:
            return q.generator("scalar", data[0], self.scalars[data[0]])
        if head == "^":
            base, exponent = self.value(data[0]), rational(data[1], data[2])
            if exponent < 0 and not (q.is_positive(base) or base in self.nonzero):
                raise Refused("a division by what may vanish")
            return base**exponent
        values = [self.value(item) for item in data]
        if (rows := _rows_of(head, values)) is not None:
            return rows
        if head == "index":
            name, size = values
            if not q.is_whole(size, 1):
                raise Refused("an index that may run over nothing")
            return Index(name, size)
        if not all(q.is_whole(size, 1) for size in values[slice(*SHAPED.get(head, (0, 0)))]):
            raise Refused("a shape that may be no whole number of at least 1")
        if head == "input" and data[0] in self.inputs:
            name, rows, columns, *at = values
            if {"is symmetric", "is skew"} & set(self.inputs[name]) and rows != columns:
                raise Refused(f"{name} is not square")
            if self.shapes.setdefault(name, (rows, columns, len(at))) != (rows, columns, len(at)):
                raise Refused(f"{name} has two shapes")
            return q.atom("input", rows, columns, name, tuple(map(_place, at)), frozenset(self.inputs[name]))
        if head not in HEADS:
            raise Refused(f"no expression {head!r}, or what it names is not declared")
        return HEADS[head](*values)

    def value(self, item: Any) -> Any:
        return self.table[item] if self._is_place(item) else item


def declared_size(item: Any) -> tuple[str, int]:
    """The name of a size, and what it is at least: 1 if nothing else is said."""
    name, least = (item, 1) if isinstance(item, str) else item
    if not isinstance(name, str) or type(least) is not int or least < 1:
        raise Refused("a size has a name, and is at least a whole number from 1 on")
    return name, least


def _is_expression(value: Any) -> bool:
    """Whether a value is a scalar, a matrix, an index, or the beginning of the part of rows that an index numbers."""
    is_part = type(value) is tuple and len(value) == 2 and value[0] == "part" and isinstance(value[1], Index)
    return is_part or isinstance(value, (Scalar, Matrix, Index))


def _asked_of_rows(head: str, values: list[Any]) -> frozenset[Any]:
    """That rows from a number on lie within a matrix, where that is not certain: it is asked of sizes."""
    total, count, start = (values[0].rows, values[2], values[1]) if head == "rows" else values
    gap = total - start - count if isinstance(start, Scalar) else number(0)
    if q.is_nonnegative(number(-1) - gap):
        raise Refused("rows that lie outside of a matrix")
    return frozenset() if q.is_nonnegative(gap) else frozenset({(gap, "not negative")})


def _rows_of(head: str, values: list[Any]) -> Matrix | None:
    """Rows, or an embedding, that are within a matrix for sizes of which it is asked."""
    if head not in ("rows", "embedding") or not _asked_of_rows(head, values):
        return None
    total, count, start = (values[0].rows, values[2], values[1]) if head == "rows" else values
    if not (q.is_whole(total, 1) and q.is_whole(start) and q.is_whole(count, 1)):
        raise Refused("rows that may lie outside of a matrix")
    made = q.atom("embedding", total, count, start)
    return made.T @ values[0] if head == "rows" else made


def _place(item: Any) -> Any:
    if not isinstance(item, (Index, Scalar)):
        raise Refused("an input is one of a stack by an index or a number")
    return item


class Stated(dict[int, Any]):
    """The places of a table that divide by, and take roots of, nothing but what a statement does."""

    def __missing__(self, place: int) -> Any:
        raise Refused(f"place {place} is none, or divides by or takes a root of what the statement does not")


def check(certificate: dict[str, Any]) -> Accepted:
    """Accept a certificate of a bound; raise `Refused` where it proves nothing."""
    return checked(certificate)[0]


def checked(certificate: dict[str, Any]) -> tuple[Accepted, Any]:
    """What `check` says of a certificate, and its `statement`, which takes reading it once; raise `Refused` as `check` does."""
    try:
        reader, assumed = _read(certificate)
        for part in certificate["parts"]:
            sides = [part["left"], part["right"], *_assumed_places(certificate)]
            stated = frozenset().union(*(reader.asked[place] for place in sides))
            seen = {k: value for k, value in enumerate(reader.table) if reader.asked[k] <= stated}
            _check_part(part, assumed, Stated(seen))
        sides = [reader.table[part[side]] for side in ("left", "right") for part in certificate["parts"]]
        rules = {step["rule"] for part in certificate["parts"] for step in part["steps"]}
        of_cases, cases = _check_cases(certificate) if "cases" in certificate else (set(), [])
        rules |= of_cases
        stated_here = _statement(certificate, reader, assumed, cases)
    except ERRORS as error:
        raise Refused(f"{type(error).__name__}: {error}") from error
    count = [len(side.terms) for side in sides]
    half = len(count) // 2
    accepted = Accepted(certificate["claim"], (sum(count[:half]), sum(count[half:])), tuple(sorted(rules)), ())
    return accepted, stated_here


def _check_cases(certificate: dict[str, Any]) -> tuple[set[str], list[Any]]:
    """The rules and statements of the certificates for sizes below those of a certificate: one for each, so for all sizes."""
    small = {(name, k) for name, least in map(declared_size, certificate["sizes"]) for k in range(1, least)}
    rules: set[str] = set()
    statements = []
    for case in certificate["cases"]:
        name, inner = case["size"], case["certificate"]
        small.remove((name, case["value"]))
        own = dict(map(declared_size, inner["sizes"]))
        if name in own or inner["claim"] != certificate["claim"] or ("cases" not in inner and {*own.values()} - {1}):
            raise Refused(f"no certificate for all sizes where {name} is {case['value']}")
        accepted, said = checked(inner)
        rules |= set(accepted.rules)
        statements.append(said)
    if small:
        raise Refused("sizes that no case is for")
    return rules, statements


def statement(certificate: dict[str, Any]) -> Any:
    """What a certificate says, for comparison with another: declarations, assumptions and both sides, in normal form."""
    cases = [statement(case["certificate"]) for case in certificate.get("cases", [])]
    return _statement(certificate, *_read(certificate), cases)


def _statement(certificate: dict[str, Any], reader: Reader, assumed: Assumed, cases: list[Any]) -> Any:
    """What a certificate that was read says, given the statements of its cases."""
    sides = [(part["index"], part["left"], part["right"]) for part in certificate["parts"]]
    declared = reader.sizes, reader.scalars, reader.inputs, reader.nonzero
    asked = [reader.asked[left] | reader.asked[right] for _, left, right in sides]
    asked += [reader.asked[place] for place in _assumed_places(certificate)]
    return (
        *declared,
        assumed,
        asked,
        [tuple(None if place is None else reader.table[place] for place in item) for item in sides],
        [(case["size"], case["value"], said) for case, said in zip(certificate.get("cases", []), cases, strict=True)],
    )


def _assumed_places(certificate: dict[str, Any]) -> list[int]:
    """Where what a certificate assumes stands in its table."""
    pairs = certificate.get("multiples", [])
    return [*certificate["assumptions"], *certificate["orthonormal"], *(place for pair in pairs for place in pair)]


def _read(certificate: dict[str, Any]) -> tuple[Reader, Assumed]:
    if not KEYS <= certificate.keys() <= ALLOWED or (certificate["format"], certificate["kind"]) != (FORMAT, "bound"):
        raise Refused(f"the keys of a certificate of a bound are {sorted(KEYS)}")
    reader = Reader(certificate["sizes"], certificate["scalars"], certificate["inputs"])
    for place, entry in enumerate(certificate["table"]):
        reader.table.append(reader.read(entry))
        if place in certificate["nonzero"]:
            reader.nonzero.add(reader.table[place])
    if not certificate["parts"]:
        raise Refused("a certificate without parts")
    facts, frames = ([reader.table[place] for place in certificate[key]] for key in ("assumptions", "orthonormal"))
    multiples = [isometries.multiple(reader.table[P], reader.table[c]) for P, c in certificate.get("multiples", [])]
    return reader, Assumed(facts, frames, multiples)


def _check_part(part: dict[str, Any], assumed: Assumed, table: Any) -> None:
    if (
        part.keys() - {"turned"} != {"index", "left", "right", "steps", "comparison"}
        or part.get("turned", True) is not True
    ):
        raise Refused("a part has an index, a left and a right side, steps and a comparison, and is perhaps turned")
    value, right = table[part["left"]], table[part["right"]]
    if "turned" in part:  # -right <= -left says the same
        value, right = right * number(-1), value * number(-1)
    index = set() if part["index"] is None else {table[part["index"]]}
    if not (value.free | right.free) <= index:
        raise Refused("an index is free in the statement")
    for number_of_step, step in enumerate(part["steps"]):
        try:
            value = stepped(value, step, assumed, table)
        except Refused as error:
            raise Refused(f"step {number_of_step}, {step['rule']}: {error}") from error
    compare(value, right, part["comparison"], assumed, table)


def stepped(value: Scalar, step: dict[str, Any], assumed: Assumed, table: Any) -> Scalar:
    """The value with a quantity replaced by what a rule says that it is at most."""
    if not {"rule", "arguments"} <= step.keys() <= {"rule", "arguments", "reasons", "outside"}:
        raise Refused("a step has a rule, arguments and perhaps reasons and what it stands outside of")
    kept = {g for place in step.get("outside", []) for monomial in table[place].terms for g, _ in monomial}
    arguments = [table[item] if isinstance(item, int) else item for item in step["arguments"]]
    if step["rule"] == "comparison":
        compare(value, arguments[0], step["reasons"], assumed, table)
        return arguments[0]
    if step["rule"] == "from below":
        whole, b, inverse = arguments
        return lowered(value, whole, b, inverse, step["reasons"], assumed, table)
    left, right = instance(step["rule"], arguments, step.get("reasons", []), assumed, table)
    c, quantity = q.only_generator(left)
    if not any(stands_in(g, quantity, kept) for m in value.terms for g, _ in m):
        raise Refused("the quantity does not stand in the whole")
    if not rises(value, quantity, kept):
        raise Refused("the whole may fall as the quantity grows")
    if not right.free <= q.free_in(quantity):
        raise Refused("a free index would be bound")
    return replaced(value, quantity, right * c**-1, kept)


def lowered(
    value: Scalar, whole: Scalar, b: Scalar, inverse: Scalar, reasons: Any, assumed: Assumed, table: Any
) -> Scalar:
    """The value with b in the place of a quantity q >= b, or of a sum, where it does not grow with that.

    b is positive: it is not negative for a reason, and its inverse stands in the table, so that the statement divides by it.
    """
    if inverse != b**-1 or not b.free <= whole.free:
        raise Refused("no inverse of what takes the place of a quantity, or a free index in it")
    at_least, not_negative = reasons
    compare(whole * number(-1), b * number(-1), at_least, assumed, table)
    compare(number(0), b, not_negative, assumed, table)
    quantity = ("sum", whole)
    if len(whole.terms) == 1:
        c, quantity = q.only_generator(whole)
        if c != number(1):
            raise Refused("a multiple of a quantity")
    places = {g for monomial in value.terms for g, _ in monomial if stands_in(g, quantity)}
    if places != {quantity}:  # within a root, or another quantity, something smaller might have no value
        raise Refused("the quantity does not stand in the whole, or within another")
    if not rises(value, quantity, (), -1):
        raise Refused("the whole may grow with the quantity")
    return replaced(value, quantity, b)


def instance(
    rule: str, arguments: list[Any], reasons: Any, assumed: Assumed, table: list[Any]
) -> tuple[Scalar, Scalar]:
    """Both sides of what a step says."""
    if rule == "largest of several":
        left, right = arguments
        _, largest = q.only_generator(left)
        members = {table[member] for member, _ in reasons}
        if largest[0] not in ("max", "max over") or members != (largest[1] if largest[0] == "max" else {largest[2]}):
            raise Refused("other numbers than those of the largest")
        for member, reason in reasons:
            compare(table[member], right, reason, assumed, table)
        return q.generator(*largest), right
    if rule == "one of several":
        return arguments[0], q.largest(arguments)
    if rule == "assumption":
        if arguments[0] not in assumed.facts:
            raise Refused("no such assumption")
        return arguments[1], arguments[1] + arguments[0]
    if rule == "orthonormal by assumption":
        if not {arguments[0], arguments[0].T} & set(assumed.frames):
            raise Refused("no such assumption")
        return two(arguments[0]), number(1)
    known = isometries.RULES.get(rule)
    left, right, *conditions = known[1](assumed.multiples, *arguments) if known else RULES[rule][1](*arguments)
    compared = [
        condition for condition in conditions if isinstance(condition, tuple)
    ]  # a <= b, for a reason that is given
    if len(compared) != len(reasons) or not all(item is True for item in conditions if item not in compared):
        raise Refused("a condition of the rule does not hold")
    for (a, b), reason in zip(compared, reasons, strict=True):
        compare(a, b, reason, assumed, table)
    return left, right
