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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from verify.vocabulary.referred import bare, defaults_of, named_values

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
#: What puts one value on the stack and does nothing else.
LOADING = {"LOAD_FAST", "LOAD_CONST", "LOAD_DEREF", "LOAD_GLOBAL"}
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
            if how := _attribute_changed(code, is_method=code is function.__code__):
                return how
        if how := next(_renamed_initialisers([*named_values(function).values(), *defaults_of(function)]), None):
            return how
    for value in values:
        if how := _moving(value) or next(_renamed_initialisers(_members(value)), None):
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


def _members(value: Any) -> list[Any]:
    """What a container, a partial function or a namespace holds, and what a class calls by another name than its own."""
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, type) and _is_own(value):
        return [member for name, member in vars(value).items() if name not in INITIALISERS]
    if isinstance(value, (dict, types.MappingProxyType)):
        return [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        return list(value)
    return list(vars(value).values()) if isinstance(value, types.SimpleNamespace) or _is_own(value) else []


def _renamed_initialisers(values: Iterable[Any]) -> Iterator[str]:
    """What initialises an object, among values that can be called: Python calls it for new objects, others for any."""
    for value in values:
        code = getattr(bare(value), "__code__", None)
        if isinstance(code, types.CodeType) and code.co_name in INITIALISERS:
            yield code.co_name


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


def _attribute_changed(code: types.CodeType, is_method: bool) -> str | None:
    """An attribute that code sets, but for those of a new object: where a method initialises what it is called with."""
    instructions = list(dis.get_instructions(code))
    is_initialiser = is_method and code.co_name in INITIALISERS
    own = code.co_varnames[:1]
    for place, item in enumerate(instructions):
        if (
            is_initialiser
            and item.opname.startswith(("STORE_FAST", "STORE_DEREF"))
            and set(own) & set(_variables(item))
        ):
            return f"another {own[0]}"
        if item.opname in ("STORE_ATTR", "DELETE_ATTR"):
            owner = instructions[place - 1]
            is_self = owner.opname in ("LOAD_FAST", "LOAD_DEREF") and (owner.argval,) == own and not item.is_jump_target
            if not (is_initialiser and is_self) or item.opname == "DELETE_ATTR":
                return str(item.argval)
    return None


def _variables(item: dis.Instruction) -> tuple[str, ...]:
    """The variables that an instruction stores: some versions of Python do two things in one."""
    return item.argval if isinstance(item.argval, tuple) else (item.argval,)


def _changed(code: types.CodeType) -> str | None:
    """How code changes a container that it may not have made."""
    instructions = list(dis.get_instructions(code))
    fresh = _fresh(code, instructions)

    def is_fresh(start: int, place: int) -> bool:
        """Whether what one instruction loads is new, and the others up to a place load what comes above it, on every way."""
        first, between = instructions[start], instructions[start + 1 : place]
        is_straight = not any(item.is_jump_target for item in instructions[start + 1 : place + 1])
        is_new = first.opname == "LOAD_FAST" and first.argval in fresh
        return is_new and is_straight and all(item.opname in LOADING for item in between)

    for place, item in enumerate(instructions):
        if item.opname in STORING:
            if not is_fresh(place - (3 if item.opname == "STORE_SLICE" else 2), place):
                return "an entry"
        elif _is_in_place(item):
            if instructions[place + 1].argval not in fresh:
                return "an operation in place"
        elif (
            item.opname.startswith(ATTRIBUTES)
            and (item.argval in CHANGING or item.argval.rstrip("_") + "_" == item.argval)
            and not is_fresh(place - 1, place)
        ):
            return str(item.argval)
    return "out" if any(isinstance(names, tuple) and "out" in names for names in code.co_consts) else None


def _is_in_place(item: dis.Instruction) -> bool:
    """Whether an instruction is an operator such as +=; Python 3.10 has one instruction for each of them."""
    return item.opname.startswith("INPLACE_") or (item.opname == "BINARY_OP" and (item.arg or 0) >= FIRST_IN_PLACE)


def _fresh(code: types.CodeType, instructions: Sequence[dis.Instruction]) -> set[str]:
    """The variables of a function to which it assigns nothing but containers that it makes."""
    several = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    found = set(code.co_varnames[code.co_argcount + code.co_kwonlyargcount + several :])
    for place, item in enumerate(instructions):
        if item.opname.startswith("STORE_FAST"):
            before, *earlier = [one for one in instructions[place - 1 :: -1][:3] if one.opname != "PRECALL"]
            # what is called with an iterator alone is a comprehension
            is_comprehension = before.opname == "CALL" and earlier[0].opname == "GET_ITER"
            is_made = _is_in_place(before) or is_comprehension or before.opname in MAKING
            if not is_made or item.is_jump_target or item.opname != "STORE_FAST":  # as in `found = known or []`
                found.difference_update(_variables(item))
    return found


__all__ = ["LIBRARIES", "held_by", "state_kept"]
