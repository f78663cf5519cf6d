"""Expressions of certificates, read into normal forms; whatever is not as docs/certificates.md has it is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from verify.kernel.functions import Algebra
from verify.kernel.normal_forms import ONE, Asked, Form, Index, Number, plain
from verify.kernel.refusal import Refused

#: The indices that may be named at a place, with their numbers and sizes.
Scope = Mapping[str, Index]


def fields(value: Any, what: str, needed: Sequence[str], allowed: Sequence[str] = ()) -> None:
    """Refuse what is no object with these keys, and no others but those that are allowed."""
    if not isinstance(value, dict):
        raise Refused(f"{what} is no object")
    for key in value:
        if key not in needed and key not in allowed:
            raise Refused(f"{what} has the unknown key {key!r}")
    for key in needed:
        if key not in value:
            raise Refused(f"{what} lacks {key!r}")


def listed(value: Any, what: str, count: int | None = None) -> list[Any]:
    """The value, a list of `count` items."""
    if not isinstance(value, list) or count not in (None, len(value)):
        raise Refused(f"{what} is no list{'' if count is None else f' of {count}'}")
    return value


def named(value: Any, what: str) -> str:
    """The value, a name."""
    if not isinstance(value, str) or not value:
        raise Refused(f"{what} is no name")
    return value


def rational(p: Any, q: Any) -> Number:
    """p / q for whole p and q > 0."""
    if type(p) is not int or type(q) is not int or q <= 0:
        raise Refused(f"{p!r} / {q!r} is no rational number")
    return plain(Fraction(p, q))


class Hypothesis(NamedTuple):
    """left - right of an equation over indices."""

    name: str
    indices: list[Index]
    difference: Form
    used_as: str = "hypothesis"


class Language:
    """What a certificate declares, and its expressions as forms."""

    def __init__(self, certificate: Mapping[str, Any]) -> None:
        self.algebra = Algebra(self._value_of)
        self.sizes: dict[str, Any] = {}
        self.tensors: dict[str, tuple[int, list[str]]] = {}
        self.variables: set[str] = set()
        self.definitions: dict[str, tuple[list[Index], Form]] = {}
        self._values: dict[str, Form] = {}
        self.hypotheses: list[Hypothesis] = []
        self.used: dict[str, set[str]] = {"rule": set(), "hypothesis": set()}
        self.stated: frozenset[Asked] = frozenset()
        self._has_iterates = "iterates" in certificate
        for name, value in _items(certificate["sizes"], "sizes"):
            if value is not None:
                self._values[name] = self._whole(self.form(value, {}))
            self.sizes[name] = value
        for kind in ("inputs", "variables"):
            for name, item in _items(certificate[kind], kind):
                self._declare(name, item, kind)
        for item in listed(certificate["definitions"], "definitions"):
            name, indices, expression = listed(item, "a definition", 3)
            self._free(named(name, "the name of a definition"))
            scope = self.bound(indices, {})
            self.definitions[name] = list(scope.values()), self.form(expression, scope)

    def _declare(self, name: str, item: Any, kind: str) -> None:
        self._free(name)
        fields(item, f"tensor {name!r}", ["sizes"], ["positive"])
        sizes = [self._size(size) for size in listed(item["sizes"], f"the sizes of {name!r}")]
        positive = item.get("positive", False)
        if not isinstance(positive, bool) or (positive and (sizes or kind == "variables")):
            raise Refused(f"tensor {name!r} is no scalar input, which could be positive")
        self.tensors[name] = self.algebra.atom("positive" if positive else "t", name, len(sizes)), sizes
        if kind == "variables":
            self.variables.add(name)

    def _free(self, name: str) -> None:
        if name in self.tensors or name in self.definitions:
            raise Refused(f"{name!r} is declared twice")

    def _size(self, name: Any) -> str:
        if not isinstance(name, str) or name not in self.sizes:
            raise Refused(f"the size {name!r} is not declared")
        return name

    def _value_of(self, size: str) -> Form:
        """A size as a number: a symbol, or the value that is declared."""
        return self._values[size] if size in self._values else self.algebra.tensor("size", size, ())

    def _whole(self, value: Form) -> Form:
        """The value of a size, which is certainly whole and at least 1, or is so where one product of sizes divides another."""
        powers = [p for key in value for _, _, p in key]
        sizes = all(self.algebra.kinds[atom] == "size" for key in value for atom, _, _ in key)
        quotient = len(value) == 1 and bool(powers)
        numbers = [*powers, *([] if quotient else value.values())]
        if not (value and sizes and all(c > 0 for c in value.values()) and all(n.denominator == 1 for n in numbers)):
            raise Refused("the value of a size may be no whole number of at least 1")
        if not quotient and any(p < 0 for p in powers):
            raise Refused("the value of a size may be no whole number of at least 1")
        return value

    def bound(self, indices: Any, scope: Scope) -> dict[str, Index]:
        """New indices, none of which is in scope."""
        found: dict[str, Index] = {}
        for pair in listed(indices, "the indices bound"):
            name, size = listed(pair, "an index", 2)
            if named(name, "an index") in scope or name in found:
                raise Refused(f"index {name!r} is bound twice")
            found[name] = self.algebra.fresh(self._size(size))
        return found

    def at(self, names: Any, scope: Scope, sizes: Sequence[str] | None = None) -> list[Index]:
        """Indices in scope, of these sizes."""
        found = []
        for name in listed(names, "indices", None if sizes is None else len(sizes)):
            if not isinstance(name, str) or name not in scope:
                raise Refused(f"index {name!r} is not bound")
            found.append(scope[name])
        if sizes is not None and [index[1] for index in found] != list(sizes):
            raise Refused(f"indices {names} of sizes {[index[1] for index in found]} where {list(sizes)} belong")
        return found

    def argument(self, value: Any, scope: Scope) -> tuple[list[Index], Form]:
        """The argument of a function: the indices that it binds, and its form."""
        own, form = self.within(value, scope)
        return list(own.values()), form

    def within(self, value: Any, scope: Scope) -> tuple[dict[str, Index], Form]:
        """The same, with the names of the indices."""
        indices, expression = listed(value, "an argument", 2)
        own = self.bound(indices, scope)
        return own, self.form(expression, {**scope, **own})

    def form(self, expression: Any, scope: Scope) -> Form:
        """The normal form of an expression."""
        algebra = self.algebra
        kind, *rest = listed(expression, "an expression") or [None]
        if kind in ("+", "*"):
            forms = [self.form(part, scope) for part in rest]
            return algebra.times(*forms) if kind == "*" else algebra.plus((form, ONE) for form in forms)
        if kind not in ARITY:
            raise Refused(f"no expression begins with {kind!r}")
        listed(rest, f"what follows {kind!r}", ARITY[kind])
        readers: dict[str, Callable[..., Form]] = {
            "q": self._q, "size": self._size_value, "delta": self._delta, "unit": self._unit, "t": self._t, "sum": self._sum,
            "power": self._power, "f": self._f, "diff": self._diff, "at": self._at,
            "mean": self._mean,
        }  # fmt: skip
        return readers[kind](scope, *rest)

    def _q(self, scope: Scope, p: Any, q: Any) -> Form:
        return self.algebra.number(rational(p, q))

    def _size_value(self, scope: Scope, name: Any) -> Form:
        return self._value_of(self._size(name))

    def _delta(self, scope: Scope, one: Any, other: Any) -> Form:
        return self.algebra.delta(*self.at([one, other], scope))

    def _unit(self, scope: Scope, place: Any, index: Any) -> Form:
        at = self.at([index], scope)
        count = self._value_of(at[0][1]).get((), 0) if set(self._value_of(at[0][1])) == {()} else 1
        if type(place) is not int or not 0 <= place < count:
            raise Refused(f"there is no place {place!r} in size {at[0][1]}")
        return self.algebra.tensor("unit", (place, at[0][1]), at)

    def _t(self, scope: Scope, name: Any, names: Any) -> Form:
        if isinstance(name, str) and name in self.definitions:
            own, form = self.definitions[name]
            at = self.at(names, scope, [index[1] for index in own])
            return self.algebra.renamed(form, dict(zip(own, at, strict=True)))
        atom, sizes = self.tensor(name)
        return self.algebra.collected([(ONE, [(atom, tuple(self.at(names, scope, sizes)), ONE)], frozenset())])

    def tensor(self, name: Any) -> tuple[int, list[str]]:
        """A declared tensor and its sizes."""
        if not isinstance(name, str) or name not in self.tensors:
            raise Refused(f"the tensor {name!r} is not declared")
        return self.tensors[name]

    def _sum(self, scope: Scope, index: Any, expression: Any) -> Form:
        own = self.bound([index], scope)
        inside: dict[str, Index] = {**scope, **own}
        while isinstance(expression, list) and len(expression) == 3 and expression[0] == "sum":  # sums in a row at once
            more = self.bound([expression[1]], inside)
            own, inside, expression = {**own, **more}, {**inside, **more}, expression[2]
        if isinstance(expression, list) and expression[:1] == ["*"]:
            return self.algebra.times(*(self.form(part, inside) for part in expression[1:]), over=list(own.values()))
        return self.algebra.summed(self.form(expression, inside), list(own.values()))

    def _power(self, scope: Scope, p: Any, q: Any, expression: Any) -> Form:
        return self.algebra.power(self.form(expression, scope), rational(p, q))

    def _f(self, scope: Scope, head: Any, arguments: Any, names: Any) -> Form:
        (argument,) = listed(arguments, "the arguments of a function", 1)
        own, form = self.argument(argument, scope)
        at = self.at(names, scope, [index[1] for index in own])
        return self.algebra.renamed(self.algebra.of(head, form, own), dict(zip(own, at, strict=True)))

    def _diff(self, scope: Scope, name: Any, names: Any, expression: Any) -> Form:
        atom, sizes = self.tensor(name)
        if self._has_iterates and name not in self.variables:
            raise Refused("a derivative in an input, where iterates may depend on it")
        return self.algebra.derivative(self.form(expression, scope), atom, self.at(names, scope, sizes))

    def _at(self, scope: Scope, name: Any, indices: Any, point: Any, expression: Any) -> Form:
        atom, sizes = self.tensor(name)
        if name not in self.variables:
            raise Refused(f"{name!r} is no variable")
        own = self.bound(indices, scope)
        if [index[1] for index in own.values()] != sizes:
            raise Refused(f"a value of {name!r} with other sizes")
        value = self.form(point, {**scope, **own})
        asked = set(self.algebra.asked)
        form = self.form(expression, scope)
        self.algebra.asked = asked  # what is asked of the variable is asked of its value instead
        return self.algebra.substituted(form, atom, list(own.values()), value)

    def _mean(self, scope: Scope, name: Any, variance: Any, expression: Any) -> Form:
        atom, _ = self.tensor(name)
        if name not in self.variables:
            raise Refused(f"{name!r} is no variable")
        forms = [self.form(e, scope) for e in (variance, expression)]
        if any(self.algebra.mentions(other, atom) for key in forms[0] for other, _, _ in key) or any(
            self.algebra.mentions(other, atom) for other, _, _ in self.algebra.asked
        ):
            raise Refused("a mean of what is no polynomial")
        return self.algebra.mean(forms[1], atom, forms[0])


#: What each kind of expression is followed by, in numbers.
ARITY = {"q": 2, "size": 1, "delta": 2, "unit": 2, "t": 2, "sum": 2, "power": 3, "f": 3, "diff": 3, "at": 4, "mean": 3}


def _items(value: Any, what: str) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise Refused(f"{what} is no object")
    return list(value.items())
