"""What outlives a call of a claim's functions: they could be others the thousandth time than in a proof.

A function counts its calls in a list, in an attribute or in an iterator that it knows by a name, and is another one from some
call on.  No comparison with numbers goes that far.  So a function of a proof changes no attribute, has no iterator and no
method of an object in reach, and changes no container unless it made it itself, or no container is in reach.
"""

from __future__ import annotations

import collections
import dis
import functools
import inspect
import operator
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from verify.vocabulary.referred import defaults_of, named_values

#: What claims compute with.
LIBRARIES = {"torch", "numpy", "sympy", "flint", "mpmath"}
#: Methods that change what they belong to; those of tensors that do so end in an underscore.
CHANGING = {
    "append", "pop", "add", "update", "extend", "insert", "remove", "clear", "popitem", "setdefault", "discard", "sort", "reverse",
    "appendleft", "extendleft", "popleft", "rotate", "move_to_end", "subtract", "fill", "put", "itemset", "resize", "setflags",
    "intersection_update", "difference_update", "symmetric_difference_update",
}  # fmt: skip
STORING = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
#: In-place operators are the binary ones from this number on.
FIRST_IN_PLACE = 13
#: What an instruction leaves that nobody else has.
MAKING = ("BUILD_LIST", "BUILD_MAP", "BUILD_SET", "LIST_EXTEND", "DICT_UPDATE", "SET_UPDATE")
#: Where an object gets its attributes.
INITIALISERS = {"__init__", "__post_init__"}
IMMUTABLE = (str, bytes, int, float, complex, tuple, frozenset, type, types.ModuleType, type(None))


def state_kept(functions: Sequence[types.FunctionType]) -> str | None:
    """What some of these functions, which are all that a proof reaches, may keep from one call to the next.

    >>> made = {"counts": lambda box=[0]: box.append(1), "reads": lambda box=[0]: box[0]}
    >>> state_kept([made["counts"]]), state_kept([made["reads"]])
    ('append', None)
    """
    values = [value for function in functions for value in _in_reach(function)]
    for function in functions:
        for code in _codes(function.__code__):
            if how := _attribute_changed(code):
                return how
    for value in values:
        if how := _moving(value):
            return how
    if any(
        isinstance(value, (list, dict, set, bytearray, collections.deque, np.ndarray)) or _is_tensor(value)
        for value in values
    ):
        return next(
            (how for function in functions for code in _codes(function.__code__) if (how := _changed(code))), None
        )
    return None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def held_by(function: types.FunctionType) -> Iterator[Any]:
    """What the values hold that a function has names for: members of lists and tables, what partial functions call."""
    named = {id(value) for value in named_values(function).values()}
    yield from (value for value in _in_reach(function) if id(value) not in named)


def _in_reach(function: types.FunctionType) -> Iterator[Any]:
    """What a function has names for and by default, and what that holds."""
    stack = [*named_values(function).values(), *defaults_of(function)]
    seen: dict[int, Any] = {}
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        yield value
        if isinstance(value, dict):
            stack += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            stack += list(value)
        elif isinstance(value, functools.partial):
            stack += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, types.MethodType):
            stack.append(value.__self__)
        elif isinstance(value, (types.SimpleNamespace, types.MappingProxyType)) or _is_own(value):
            stack += list(value.values() if isinstance(value, types.MappingProxyType) else vars(value).values())
            if not isinstance(value, type) and _is_own(value):
                stack.append(type(value))


def _is_own(value: Any) -> bool:
    """Whether a class is one that a claim's module may have made, or an object with attributes is of such a class."""
    kind = value if isinstance(value, type) else type(value)
    home = kind.__module__.split(".")[0]
    return hasattr(value, "__dict__") and home not in {"verify", *LIBRARIES} | sys.stdlib_module_names


def _is_tensor(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "add_")


def _moving(value: Any) -> str | None:
    """That a value is another one after it was read or called, by what it is."""
    if isinstance(value, Iterator):
        return "an iterator"
    if isinstance(value, collections.defaultdict):
        return "a table that grows where it is read"
    if isinstance(
        value, (types.MethodWrapperType, types.WrapperDescriptorType, operator.methodcaller, operator.attrgetter)
    ):
        return "a method of an object"
    if isinstance(value, types.MethodDescriptorType) and (value.__name__ in CHANGING or value.__name__.endswith("_")):
        return value.__name__
    if isinstance(value, types.BuiltinMethodType) and not isinstance(value.__self__, IMMUTABLE):
        return f"the method {value.__name__} of an object"
    library = type(value).__module__.split(".")[0]
    if library == "torch" and callable(value) and not _is_tensor(value) and not isinstance(value, type):
        return "a layer with a state"
    return "a source of random numbers" if library in {"numpy", "random"} and hasattr(value, "bit_generator") else None


def _attribute_changed(code: types.CodeType) -> str | None:
    """An attribute that code sets, but for those of a new object."""
    instructions = list(dis.get_instructions(code))
    for place, item in enumerate(instructions):
        if item.opname in ("STORE_ATTR", "DELETE_ATTR"):
            owner = instructions[place - 1]
            is_self = owner.opname in ("LOAD_FAST", "LOAD_DEREF") and (owner.argval,) == code.co_varnames[:1]
            is_new = code.co_name in INITIALISERS and is_self
            if not is_new or item.opname == "DELETE_ATTR":
                return str(item.argval)
    return None


def _changed(code: types.CodeType) -> str | None:
    """How code changes a container that it may not have made."""
    instructions = list(dis.get_instructions(code))
    fresh = _fresh(code, instructions)
    for place, item in enumerate(instructions):
        if item.opname in STORING:
            if not (instructions[place - 2].opname == "LOAD_FAST" and instructions[place - 2].argval in fresh):
                return "an entry"
        elif item.opname == "BINARY_OP" and (item.arg or 0) >= FIRST_IN_PLACE:
            if instructions[place + 1].argval not in fresh:
                return "an operation in place"
        elif item.opname.startswith(ATTRIBUTES) and (
            item.argval in CHANGING or item.argval.rstrip("_") + "_" == item.argval
        ):
            if not (instructions[place - 1].opname == "LOAD_FAST" and instructions[place - 1].argval in fresh):
                return str(item.argval)
        elif item.opname == "KW_NAMES" and "out" in code.co_consts[item.arg or 0]:
            return "out"
    return None


def _fresh(code: types.CodeType, instructions: Sequence[dis.Instruction]) -> set[str]:
    """The variables of a function to which it assigns nothing but containers that it makes."""
    several = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    found = set(code.co_varnames[code.co_argcount + code.co_kwonlyargcount + several :])
    for place, item in enumerate(instructions):
        if item.opname.startswith("STORE_FAST"):
            before = instructions[place - 1]
            in_place = before.opname == "BINARY_OP" and (before.arg or 0) >= FIRST_IN_PLACE
            # what is called with an iterator alone is a comprehension
            around = [one.opname for one in instructions[place - 3 : place - 1]]
            is_comprehension = before.opname == "CALL" and "GET_ITER" in around
            if not (in_place or is_comprehension or before.opname in MAKING):
                found.discard(item.argval)
    return found


__all__ = ["LIBRARIES", "held_by", "state_kept"]
