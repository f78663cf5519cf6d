"""Functions that ask what kind of operands they are handed: in numbers they could be others than in a proof.

A proof for all sizes runs a claim's functions once, on symbols.  One that asks whether a size is an `int`, or goes on where an
operation is refused, answers with one branch there and with the other wherever anybody calls it, at sizes that nobody tries.
So neither side of a claim that is proved for all sizes may ask, as far as code objects show, and nor may what they call, the
engine's own functions left out.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any

from verify.oracles import Drawn
from verify.vocabulary.assumptions import Assumption
from verify.vocabulary.claims import Claim
from verify.vocabulary.referred import bare, defaults_of, named_values, names_in
from verify.vocabulary.subjects import definition_of, is_dispatcher, name_of

#: Builtins whose answer depends on what an object is, or how it is written, and not only on what it stands for.
BUILTINS = {
    "isinstance", "issubclass", "type", "hasattr", "getattr", "callable", "vars", "dir", "id", "hash", "repr", "str", "ascii",
    "format", "eval", "exec", "globals", "locals", "__import__",
}  # fmt: skip
#: Functions of libraries and of ours, and attributes, of which that is so too.
OTHERS = {
    "is_tensor", "is_floating_point", "isscalar", "iscomplexobj", "isrealobj", "is_symbolic", "is_guarded", "kind_of",
    "value_of", "node_of", "expression", "__class__", "__dict__", "__name__", "is_", "is_not",
}  # fmt: skip
#: The same where they have another name.
RENAMED = (
    *(vars(builtins)[name] for name in BUILTINS),
    operator.is_,
    operator.is_not,
    operator.attrgetter,
    operator.methodcaller,
)
#: Instructions that ask whatever they are handed: a class in a `match`, and the text of {n!r}.
ASKING = {"MATCH_CLASS": "match", "CONVERT_VALUE": "text"}
#: What a value may be asked to be an instance of: what holds several is the same in numbers and on symbols.
CONTAINERS = (list, tuple, Drawn)
#: Instructions that have such a name.
NAMED = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD")
#: What claims compute with, and what they are made of.
LIBRARIES = {"torch", "numpy", "sympy", "flint", "mpmath"}
#: A library that compares its own numbers with a size, and says that they differ.
COMPARING = "sympy"


def kind_asked(claim: Claim) -> str | None:
    """Which function of a claim asks what kind of operands it is handed, and how; None where none does."""
    own = [function for role, function in claim.named_functions().items() if role != "inputs"]
    zeros = [item.zero for item in claim.hypotheses if isinstance(item, Assumption)]
    for function in _reached([*own, *zeros]):
        how = next((_asked(code, function) or _caught(code) for code in _codes(function.__code__)), None)
        if how:
            return f"{function.__qualname__} asks what kind of operands it is handed: {how}"
    return None


def _reached(functions: list[Any]) -> Iterator[types.FunctionType]:
    """The functions, and those outside of the engine that they call by a name or have as a default value.

    What a list, a table or an object has that they know by a name counts too, and the methods of its class.
    """
    seen: set[int] = set()
    kept: list[Any] = []  # so that no other object gets the same number
    stack = list(functions)
    while stack:
        found = stack.pop()
        if isinstance(found, types.FunctionType) and is_dispatcher(found):
            found = definition_of(name_of(found))
        found = bare(getattr(found, "__func__", found))
        if id(found) in seen or _is_of_engine(found):
            continue
        seen.add(id(found))
        kept.append(found)
        if not isinstance(found, types.FunctionType):
            stack += _held(found)
            continue
        yield found
        values = list(named_values(found).values())
        modules = [value for value in values if isinstance(value, types.ModuleType)]
        values += [vars(module).get(name) for module in modules for name in names_in(found.__code__)]
        stack += [*values, *defaults_of(found)]


def _held(value: Any) -> list[Any]:
    """What several values hold, and what stands in the class of an object."""
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return list(value.values() if isinstance(value, dict) else value)
    if isinstance(value, property):
        return [value.fget]
    own = [one for one in (value if isinstance(value, type) else type(value)).__mro__ if not _is_of_engine(one)]
    members = [member for one in own for member in vars(one).values()]
    return [one for one in members if not _is_written_by_library(one)]


def _is_written_by_library(member: Any) -> bool:
    """Whether a method is one that a library wrote for a class, as that of dataclasses does: it stands in no file."""
    code = getattr(bare(member), "__code__", None)
    return code is not None and code.co_filename.startswith("<")


def _is_of_engine(value: Any) -> bool:
    """Whether a function, a class or an object is the engine's, or a library's: these are not followed."""
    if isinstance(value, (list, tuple, set, frozenset, dict, property, functools.partial)):
        return False
    home = value if isinstance(value, (type, types.FunctionType)) else type(value)
    return home.__module__.split(".")[0] in {"verify", *LIBRARIES, *sys.stdlib_module_names}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _asked(code: types.CodeType, function: types.FunctionType) -> str | None:
    """What a function asks by a name, or by whether two objects are one."""
    known = named_values(function)
    instructions = list(dis.get_instructions(code))
    for place, item in enumerate(instructions):
        if item.opname == "IS_OP":
            if item.is_jump_target or not _is_settled(instructions[place - 1], known):  # as `n is (m or None)` is not
                return "is"
        elif item.opname in ASKING:
            return ASKING[item.opname]
        elif item.opname == "FORMAT_VALUE" and item.argval[0] is not None:  # as {n!r}
            return "text"
        elif item.opname.startswith(NAMED):
            name = item.argval
            if name == "isinstance" and name not in known and _is_of_container(instructions[place + 1 :], known):
                continue
            if name in OTHERS or (name in BUILTINS and name not in known) or _asks(known.get(name)):
                return str(name)
    return None


def _asks(value: Any) -> bool:
    """Whether a value is one of these functions by another name, one that is chosen by a class, or from sympy."""
    return any(value is one for one in RENAMED) or hasattr(value, "dispatch") or _home(value) == COMPARING


def _home(value: Any) -> str:
    """The library that a module is, or that a value comes from."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(type(value), "__module__", "")
    return str(getattr(value, "__module__", None) or name).split(".")[0]


def _is_settled(other: dis.Instruction, known: dict[str, Any]) -> bool:
    """Whether an object is compared with None, or with a member of an enumeration, which no number is."""
    return (other.opname == "LOAD_CONST" and other.argval is None) or isinstance(known.get(other.argval), enum.Enum)


def _is_of_container(following: list[dis.Instruction], known: dict[str, Any]) -> bool:
    """Whether what follows `isinstance` up to its call names containers alone."""
    names: list[str] = []
    for item in following:
        if item.opname.startswith(("PRECALL", "CALL")):
            break
        if item.opname.startswith("LOAD_GLOBAL"):
            names.append(item.argval)
    classes = [known.get(name, {"list": list, "tuple": tuple}.get(name)) for name in names]
    return bool(classes) and all(any(one is allowed for allowed in CONTAINERS) for one in classes)


def _caught(code: types.CodeType) -> str | None:
    """That a function goes on where an operation is refused."""
    if any(item.opname in ("PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH") for item in dis.get_instructions(code)):
        return "try or with"
    return None


__all__ = ["kind_asked"]
