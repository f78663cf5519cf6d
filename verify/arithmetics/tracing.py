"""A formula that is not evaluated in numbers runs once, on traced operands, and gives a tree that many readers share.

A traced operand is a node of the tree together with its value in one arithmetic, which knows the shapes that a formula may ask
for.  The value is made as the node is: by the form that the arithmetic has for the primitive, from the values of the operands.
Forms see values only, formulas see traced operands only.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np

from verify.arithmetics.formal import Formal, is_guarded, registered_form
from verify.arithmetics.kinds import is_symbolic
from verify.vocabulary.errors import ArithmeticUnsupported

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Input:
    """An operand that a formula, or a function within it, is handed under a name."""

    name: str


@dataclass(frozen=True, eq=False)
class Call:
    """A primitive or an operator with its operands: nodes, tuples of them, functions, and whatever else it was handed.

    That is sizes, scalars, constants, indices, keys.
    """

    name: str
    operands: tuple[Any, ...]


class Function:
    """A function that a primitive was handed: on values it is what it was, and running it gives the tree of its value."""

    def __init__(self, function: Callable[..., Any], known: Mapping[int, Any]) -> None:
        self.function, self._known = function, known
        self.parameters: tuple[Any, ...] = ()
        self.named: dict[str, Any] = {}
        self.body: Any = None

    def __call__(self, *values: Any, **named: Any) -> Any:
        given = [self._seen(value, str(k)) for k, value in enumerate(values)]
        by_name = {name: self._seen(value, name) for name, value in named.items()}
        found = self.function(*given, **by_name)
        self.parameters, self.named, self.body = node_of(tuple(given)), node_of(by_name), node_of(found)
        return value_of(found)

    def _seen(self, value: Any, name: str) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self._seen(item, name) for item in value)
        return as_traced(value, self._known.get(id(value)) or Input(name))


class Traced(Formal):
    """What a formula computes with where it is not evaluated in numbers: a node and its value."""

    __slots__ = ("node", "value")
    __array_ufunc__ = None  # numpy and constants hand the operation over to us
    _op_priority = 1000.0  # so does sympy

    def __init__(self, node: Any, value: Any) -> None:
        self.node, self.value = node, value

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(map(_seen, self.value.shape))

    @property
    def ndim(self) -> int:
        return self.value.ndim  # type: ignore[no-any-return]

    @property
    def T(self) -> Any:
        return recorded("T", lambda A: A.T, self)

    def __repr__(self) -> str:  # a decision on these letters would be one on how an operand is written, as of a size
        raise ArithmeticUnsupported(f"the text of an operand of shape {tuple(map(str, self.value.shape))}")

    def described(self) -> str:
        return repr(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return iter(self.value)

    def adapted(self, other: Any) -> Any:
        """A constant or exact scalar in the arithmetic of the value."""
        return as_traced(self.value.adapted(other), other)

    def adapt(self, other: Any) -> Any:
        """Itself: it has an arithmetic already."""
        return self

    def __getitem__(self, key: Any) -> Any:
        return recorded("[]", operator.getitem, self, key)

    def reshape(self, *shape: Any) -> Any:
        """The same entries in another shape."""
        numbers = [n for n in shape if isinstance(n, int)]  # a size is not asked whether it is 1
        name = "vec" if self.ndim == 2 and numbers == [-1, 1] else "reshape"
        return recorded(name, lambda A, *dims: A.reshape(*dims), self, *shape)

    def swapaxes(self, one: int, other: int) -> Any:
        """Two axes exchanged."""
        return recorded("swapaxes", lambda A, *axes: A.swapaxes(*axes), self, one, other)

    def __neg__(self) -> Any:
        return recorded("neg", operator.neg, self)

    def sum(self, axis: int | None = None) -> Any:
        """The sum over one axis, or over all."""
        return recorded("sum", lambda A, along: A.sum(along), self, axis)

    def new_zeros(self, shape: Any) -> Any:
        """What torch's tensors call so."""
        return self.value.new_zeros(shape)


class TracedFamily(Traced):
    """What `each` and its like give a formula: a list where sizes are numbers, so a formula that asks is told that it is one."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return list


def _operator(name: str, function: Callable[[Any, Any], Any]) -> None:
    """Give traced operands an operator, also with one on the right alone."""
    bare = function.__name__.strip("_")
    setattr(Traced, f"__{bare}__", lambda one, other: recorded(name, function, one, other))
    setattr(Traced, f"__r{bare}__", lambda one, other: recorded(name, function, other, one))


for _name, _function in (
    ("@", operator.matmul), ("+", operator.add), ("-", operator.sub), ("*", operator.mul), ("/", operator.truediv),
    ("^", operator.pow),
):  # fmt: skip
    _operator(_name, _function)
for _function in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
    setattr(
        Traced, f"__{_function.__name__}__", lambda one, other, compare=_function: compare(one.value, value_of(other))
    )


# -- running a formula -------------------------------------------------------------------------------------------------


def as_traced(value: Any, node: Any) -> Any:
    """A value as a formula sees it, under a node; numbers, sizes and indices as they are."""
    if isinstance(value, Traced):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(as_traced(item, Call("item", (node, k))) for k, item in enumerate(value))
    if not isinstance(value, Formal):
        return _seen(value)
    return TracedFamily(node, value) if value.is_family else Traced(node, value)


def _seen(value: Any) -> Any:
    """A size or scalar as a formula sees it: one that is not silently decided on."""
    if not is_symbolic(value):
        return value
    from verify.arithmetics.guarded import guarded  # needs sympy, which numbers do without

    return guarded(value)


def traced_inputs(operands: Mapping[str, Any]) -> dict[str, Any]:
    """The operands that a formula is handed, by name."""
    return {name: as_traced(value, Input(name)) for name, value in operands.items()}


def value_of(found: Any) -> Any:
    """What a formula gave, in the arithmetic that it ran in."""
    return _taken_apart(found, {})[0]


def node_of(found: Any) -> Any:
    """The tree of what a formula gave."""
    return _taken_apart(found, {})[1]


def _taken_apart(item: Any, known: dict[int, Any]) -> tuple[Any, Any]:
    """Value and node of what a primitive is handed; `known` collects the nodes of values."""
    if isinstance(item, Traced):
        known[id(item.value)] = item.node
        return item.value, item.node
    if isinstance(item, (list, tuple)):
        pairs = [_taken_apart(part, known) for part in item]
        return type(item)(value for value, _ in pairs), tuple(node for _, node in pairs)
    if isinstance(item, slice):
        ends = slice(*(_taken_apart(end, known)[0] for end in (item.start, item.stop, item.step)))
        return ends, ends
    if isinstance(item, np.ndarray) and item.dtype == object:
        pairs = [_taken_apart(part, known) for part in item.flat]
        values, nodes = np.empty(item.shape, dtype=object), np.empty(item.shape, dtype=object)
        for place, (value, node) in zip(np.ndindex(*item.shape), pairs, strict=True):
            values[place], nodes[place] = value, node
        return values, nodes
    if isinstance(item, Mapping):
        named = {name: _taken_apart(part, known) for name, part in item.items()}
        return {name: value for name, (value, _) in named.items()}, {name: node for name, (_, node) in named.items()}
    if callable(item) and not is_symbolic(item) and not isinstance(item, Formal):
        made = Function(item, known)
        return made, made
    plain = item.expression if is_guarded(item) else item
    if is_dataclass(item) and not isinstance(item, type):  # such as what says how entries are distributed
        sizes = {each.name: size.expression for each in fields(item) if is_guarded(size := getattr(item, each.name))}
        plain = replace(item, **sizes) if sizes else item
    return plain, plain


def recorded(name: str, form: Callable[..., Any], *operands: Any) -> Any:
    """The value of a form at the values of the operands, under the node of the call."""
    known: dict[int, Any] = {}
    pairs = [_taken_apart(item, known) for item in operands]
    found = value_of(form(*(value for value, _ in pairs)))
    return as_traced(found, Call(name, tuple(node for _, node in pairs)))


def handed_over(function: Any) -> Any:
    """The function that a primitive was handed, as the code that calls the primitive has it."""
    return function.function if isinstance(function, Function) else function


def _members(item: Any) -> Iterator[Any]:
    several = isinstance(item, (list, tuple)) and not isinstance(item, Traced)
    if several or (isinstance(item, np.ndarray) and item.dtype == object):
        for part in item.flat if isinstance(item, np.ndarray) else item:
            yield from _members(part)
    else:
        yield item


def form_of(name: str, *operands: Any) -> Callable[..., Any] | None:
    """The form that the primitive `name` has for its operands, None where they are numbers; a formula's calls are recorded."""
    form = registered_form(name, *operands)
    if form is None:
        return None
    from_formula = any(isinstance(item, Traced) or is_guarded(item) for item in _members(operands))
    return functools.partial(recorded, name, form) if from_formula else form


def primitive(function: F) -> F:
    """`function`, handed over to its form for `Formal` operands when one is among the arguments."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        form = form_of(function.__name__, *args, *kwargs.values())
        return form(*signature.bind(*args, **kwargs).args) if form else function(*args, **kwargs)

    return dispatched  # type: ignore[return-value]
