"""Functions that ask what kind of operands they are handed: in numbers they could be others than in a proof.

A proof for all sizes runs a claim's functions once, on symbols.  One that asks whether a size is an `int`, or goes on where an
operation is refused, answers with one branch there and with the other wherever anybody calls it, at sizes that nobody tries.
So neither side of a claim that is proved for all sizes may ask, as far as code objects show, and nor may what they call, the
engine's own functions left out.

Nor may they use what answers numbers and symbols differently without being asked by such a name: a module of the standard
library that goes on where an operation is refused, or runs it where conditions are not noted (threads, contexts); a
function of numpy or torch that takes any object; and what is kept from one call to the next.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import importlib
import importlib.util
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from verify.checks.kept_state import LIBRARIES, held_by, state_kept
from verify.oracles import Drawn
from verify.vocabulary.assumptions import Assumption
from verify.vocabulary.claims import Claim
from verify.vocabulary.referred import bare, defaults_of, named_values, names_in
from verify.vocabulary.subjects import definition_of, is_dispatcher, name_of

#: Builtins whose answer depends on what an object is, or how it is written, and not only on what it stands for; or on what
#: came before.
BUILTINS = {
    "isinstance", "issubclass", "type", "hasattr", "getattr", "callable", "vars", "dir", "id", "hash", "repr", "str", "ascii",
    "format", "eval", "exec", "globals", "locals", "__import__", "setattr", "delattr", "next", "iter", "open", "input",
}  # fmt: skip
#: Functions of libraries and of ours, and attributes, of which that is so too.
OTHERS = {
    "is_tensor", "is_floating_point", "isscalar", "iscomplexobj", "isrealobj", "is_symbolic", "is_guarded", "kind_of",
    "value_of", "node_of", "expression", "is_", "is_not", "length_hint",
    "dtype", "itemsize", "nbytes", "strides", "tobytes", "data", "cache_info", "bernoulli", "multinomial", "new_empty",
}  # fmt: skip
#: The only attribute with two underscores that may be taken: of what `super` gives, in a method of this name.
CONSTRUCTOR = "__init__"
#: The same where they have another name.
RENAMED = (
    *(vars(builtins)[name] for name in BUILTINS),
    operator.is_,
    operator.is_not,
    operator.length_hint,
    operator.attrgetter,
    operator.methodcaller,
    *(
        vars(operator)[name]
        for name in ("setitem", "delitem", "iadd", "iconcat", "ior", "iand", "ixor", "isub", "imul")
    ),
)
#: Methods in which Python takes an error for an answer, and goes on: what refuses an operation there is a branch.
SWALLOWING = {"__getattr__", "__getattribute__", "__len__", "__length_hint__", "__del__", "keys"}
#: Instructions that ask whatever they are handed: a class or a sequence in a `match`, and the text of {n!r}.
ASKING = {"MATCH_CLASS": "match", "MATCH_SEQUENCE": "match", "MATCH_MAPPING": "match", "CONVERT_VALUE": "text"}
#: What a value may be asked to be an instance of: what holds several is the same in numbers and on symbols.
CONTAINERS = (list, tuple, Drawn)
#: Instructions that have such a name.
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
NAMED = ("LOAD_GLOBAL", "LOAD_NAME", *ATTRIBUTES)
#: Those that load what a variable stands for.
VARIABLES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FAST")
#: What functions of a claim may use of the standard library: it computes, and refuses what it is not handed numbers for.
STANDARD = {
    "math", "cmath", "fractions", "operator", "_operator", "functools", "_functools", "itertools", "collections",
    "_collections", "dataclasses", "typing", "types", "enum", "abc", "builtins", "__future__",
}  # fmt: skip
#: Of numpy, what makes matrices of floats; arrays that are given have entries that do not overflow.
OF_NUMPY = {"ones", "zeros", "eye", "pi", "e"}
#: Of torch, functions of tensors: what is compiled refuses all else, but for questions.
MODULES_OF_TORCH = {"torch", "torch.linalg", "torch.special", "torch.fft", "torch.nn", "torch.nn.functional"}
WRITTEN_IN_PYTHON = {"torch.functional", "torch.nn.functional"}
#: What gives something else at each call, or what was in memory before.
RANDOM_OF_TORCH = (
    "rand", "empty", "normal", "bernoulli", "binomial", "multinomial", "poisson", "seed", "initial_seed", "manual_seed", "rrelu",
    "gumbel_softmax", "fractional_max_pool",
)  # fmt: skip
#: What its functions change of what they are handed, by the name of a parameter, and those without names of parameters.
CHANGED_BY_TORCH, CHANGING_OF_TORCH = (
    {"inplace", "running_mean", "max_norm"},
    ("batch_norm", "instance_norm", "moving_avg", "dropout"),
)
QUESTIONS_OF_TORCH = ("is_", "are_", "has_", "get_", "set_", "typename", "_")


#: What may be used besides where sizes are numbers: their tables are the same then, and indeterminates have no text or order.
AT_SIZES = frozenset({"str", "array", "arange", "tri", "tile", "maximum", "abs"})


def kind_asked(claim: Claim, allowed: frozenset[str] = frozenset()) -> str | None:
    """Which function of a claim asks what kind of operands it is handed, and how; None where none does.

    What is `allowed` by its name may be used: `AT_SIZES` for a proof at given sizes, in indeterminates.
    """
    own = [function for role, function in claim.named_functions().items() if role != "inputs"]
    tests = [
        test for item in claim.tested_assumptions for test in item.tests
    ]  # proofs of bounds take these for granted
    zeros = [item.zero for item in claim.hypotheses if isinstance(item, Assumption)]
    sizes = [claim.where, *(item.sizes for item in claim.assumptions if isinstance(item, Assumption) and item.sizes)]
    reached = list(_reached([*own, *tests, *zeros, *sizes]))
    for function in reached:
        how = next((_asked(code, function, allowed) or _caught(code) for code in _codes(function.__code__)), None)
        if how:
            return f"{function.__qualname__} asks what kind of operands it is handed: {how}"
        if held := next(
            (how for value in held_by(function) if (how := _held_asks(value)) and how not in allowed), None
        ):
            return f"{function.__qualname__} asks what kind of operands it is handed: {held}"
        if kept := next(_kept(function), None):
            return f"{function.__qualname__} keeps something from one call to the next: {kept}"
    if kept := state_kept(reached):
        return f"{claim.id} has a function that keeps something from one call to the next: {kept}"
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
        found = getattr(found, "__func__", found)
        if (inner := getattr(found, "__wrapped__", None)) is not None:  # what decorates it has code of its own
            stack.append(inner)
        if id(found) in seen or _is_of_engine(found):
            continue
        seen.add(id(found))
        kept.append(found)
        if not isinstance(found, types.FunctionType):
            stack += _held(found)
            continue
        yield found
        stack += [*_named(found), *defaults_of(found)]


def _named(function: types.FunctionType) -> list[Any]:
    """The values that a function has names for, and those of the modules among them, also of what it imports itself."""
    names = set(names_in(function.__code__))
    values = list(named_values(function).values())
    values += [module for code in _codes(function.__code__) for module in _imported(code, function)]
    modules = [value for value in values if isinstance(value, types.ModuleType)]
    followed: list[types.ModuleType] = []
    while modules:
        module = modules.pop()
        if module in followed or _home(module) in sys.stdlib_module_names | LIBRARIES | {"verify"}:
            continue
        followed.append(module)
        own = [vars(module)[name] for name in names if name in vars(module)]
        values += own
        modules += [value for value in own if isinstance(value, types.ModuleType)]
    return values


def _imported(code: types.CodeType, function: types.FunctionType) -> Iterator[types.ModuleType]:
    """The modules that code imports when it runs."""
    package = function.__globals__.get("__package__") or ""
    instructions = list(_instructions(code))
    for place, item in enumerate(instructions):
        if item.opname == "IMPORT_NAME":
            level = instructions[place - 2].argval if place >= 2 else 0
            name = importlib.util.resolve_name("." * int(level or 0) + item.argval, package)
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                yield importlib.import_module(".".join(parts[:length]))


def _held(value: Any) -> list[Any]:
    """What several values hold, and what stands in the class of an object."""
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return list(value.values() if isinstance(value, dict) else value)
    if isinstance(value, property):
        return [value.fget]
    kinds = [*value.__mro__, type(value)] if isinstance(value, type) else type(value).__mro__
    members = [member for one in kinds if not _is_of_engine(one) for member in vars(one).values()]
    own = [] if isinstance(value, (type, types.ModuleType)) else list(getattr(value, "__dict__", {}).values())
    return [*own, *(one for one in members if not _is_written_by_library(one))]


def _is_written_by_library(member: Any) -> bool:
    """Whether a method is one that a library wrote for a class, as that of dataclasses does: it stands in no file."""
    code = getattr(bare(member), "__code__", None)
    return code is not None and code.co_filename.startswith("<")


def _is_of_engine(value: Any) -> bool:
    """Whether a function, a class or an object is the engine's, or a library's: these are not followed."""
    if isinstance(value, (list, tuple, set, frozenset, dict, property, functools.partial, types.SimpleNamespace)):
        return False
    if isinstance(value, types.FunctionType):  # a decorator gives what it makes the name of another's module
        home = str(value.__globals__.get("__name__"))
    else:
        home = (value if isinstance(value, type) else type(value)).__module__
    return home.split(".")[0] in {"verify", *LIBRARIES, *sys.stdlib_module_names}


@functools.cache
def _instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """What a function does, read once: claims share most of the functions that they call."""
    return tuple(dis.get_instructions(code))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _asked(code: types.CodeType, function: types.FunctionType, allowed: frozenset[str]) -> str | None:
    """What a function asks by a name, or by whether two objects are one."""
    known = named_values(function)
    instructions = list(_instructions(code))
    brought = _brought(instructions, function)
    for place, item in enumerate(instructions):
        if item.opname == "IS_OP":
            if item.is_jump_target or not _is_settled(instructions[place - 1], known):  # as `n is (m or None)` is not
                return "is"
        elif item.opname in ASKING:
            return ASKING[item.opname]
        elif item.opname == "LOAD_SUPER_ATTR" and (item.arg or 0) & 2:  # super with arguments, since Python 3.12
            return "super"
        elif item.opname == "FORMAT_VALUE" and item.argval[0] is not None:  # as {n!r}
            return "text"
        elif item.opname.startswith(NAMED):
            name = item.argval
            if name == "isinstance" and name not in known and _is_of_container(instructions[place + 1 :], known):
                continue
            is_special = name.startswith("__") and name.endswith("__")
            if name == CONSTRUCTOR and code.co_name == CONSTRUCTOR and "super" in code.co_names:
                before = instructions[place - 1]  # as super().__init__, and not super(Other, another).__init__
                is_special = before.opname != "CALL" or bool(before.arg)
            if is_special and item.opname.startswith(ATTRIBUTES):
                return str(name)
            if name not in allowed and (name in OTHERS or (name in BUILTINS and name not in known)):
                return str(name)
        if item.opname.startswith((*VARIABLES, "IMPORT_FROM")) and (item.argval in brought or item.argval in known):
            value = brought[item.argval] if item.argval in brought else known[item.argval]
            how = _asks(str(item.argval), value, instructions[place + 1 :], code)
            if how and how.split(".")[-1] not in allowed:
                return how
    return None


def _brought(instructions: list[dis.Instruction], function: types.FunctionType) -> dict[str, Any]:
    """What code imports when it runs, by the name under which it uses it."""
    found: dict[str, Any] = {}
    package = function.__globals__.get("__package__") or ""
    module: Any = None
    for place, item in enumerate(instructions):
        if item.opname == "IMPORT_NAME":
            level = int(instructions[place - 2].argval or 0) if place >= 2 else 0
            module = importlib.import_module(importlib.util.resolve_name("." * level + item.argval, package))
            if instructions[place - 1].argval is None:  # `import a.b` gives a, `import a.b as c` takes it from there
                module = sys.modules[module.__name__.split(".")[0]]
            value = module
        elif item.opname == "IMPORT_FROM":
            value = getattr(module, item.argval)
            found[item.argval] = value
        elif item.opname.startswith("STORE_") and place and instructions[place - 1].opname.startswith("IMPORT_"):
            found[item.argval] = value
    return found


def _asks(name: str, value: Any, following: list[dis.Instruction], code: types.CodeType) -> str | None:
    """By what a value asks: one of these functions by another name, or what is taken out of a library that may ask."""
    if any(value is one for one in RENAMED) or hasattr(value, "dispatch"):
        return name
    if not isinstance(value, types.ModuleType):
        return name if _may_ask(name, value) else None
    path, place = [name], 0
    while isinstance(value, types.ModuleType):
        if _home(value) not in sys.stdlib_module_names | LIBRARIES:
            return None  # what it has by these names is followed
        if _home(value) not in STANDARD | LIBRARIES:  # whatever it has: a text of the command, the state of the program
            return name
        if place == len(following) or not following[place].opname.startswith(ATTRIBUTES):
            names = [one for one in code.co_names if one in vars(value)]  # of a module under another name
            return next((f"{name}.{one}" for one in names if _may_ask(one, vars(value)[one])), None)
        path.append(following[place].argval)
        value, place = vars(value).get(path[-1]), place + 1
    renamed = any(value is one for one in RENAMED)
    return ".".join(path) if renamed or _may_ask(path[-1], value) else None


def _may_ask(name: str, value: Any) -> bool:
    """Whether a value of a library is none of those that take numbers alone, or refuse what is none."""
    home = _home(value)
    if home == "numpy":
        return not (_is_array(value) if isinstance(value, np.ndarray) else name in OF_NUMPY or isinstance(value, float))
    if home == "torch":
        module = str(getattr(value, "__module__", None) or "")
        is_function = isinstance(value, (types.BuiltinFunctionType, types.BuiltinMethodType))
        if is_function or (isinstance(value, types.FunctionType) and module in WRITTEN_IN_PYTHON):
            asking = (*QUESTIONS_OF_TORCH, *RANDOM_OF_TORCH)
            code = getattr(value, "__code__", None)
            return (code is not None and not CHANGED_BY_TORCH.isdisjoint(code.co_varnames[: code.co_argcount])) or any(
                one.startswith(asking) or one.endswith("_") or any(part in one for part in CHANGING_OF_TORCH)
                for one in (name, value.__name__)
            )
        if isinstance(value, types.ModuleType):
            return value.__name__ not in MODULES_OF_TORCH
        return isinstance(value, (type, types.FunctionType))
    return home in LIBRARIES or (home in sys.stdlib_module_names and home not in STANDARD)


def _held_asks(value: Any) -> str | None:
    """By what a member of a list, a table or a partial function asks: the name of a function of a library that may."""
    if not callable(value) or (isinstance(value, (type, types.FunctionType)) and _is_of_claims(value)):
        return None
    name = str(getattr(value, "__name__", type(value).__name__))
    return name if any(value is one for one in RENAMED) or _may_ask(name, value) else None


def _is_of_claims(value: Any) -> bool:
    """Whether a function or class is the engine's or of a claim's module."""
    home = str(value.__module__ or "").split(".")[0]
    return home not in LIBRARIES | sys.stdlib_module_names or home == "builtins"


def _is_array(value: np.ndarray) -> bool:
    """Whether the entries of an array are floats or objects: machine integers overflow where symbols do not."""
    return value.dtype in (np.float64, object)


def _home(value: Any) -> str:
    """The library that a module is, or that a value comes from."""
    owner = getattr(value, "__self__", None)
    if isinstance(value, types.BuiltinMethodType) and owner is not None and not isinstance(owner, types.ModuleType):
        value = owner  # as random.random is a method of a generator
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(type(value), "__module__", "")
    own = None if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return str(own or name).split(".")[0]


def _kept(function: types.FunctionType) -> Iterator[str]:
    """What a function changes that outlives its call, as far as a name shows it: a variable outside, an iterator."""
    outside = set(function.__code__.co_freevars)
    for code in _codes(function.__code__):
        for item in _instructions(code):
            if item.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
                item.opname in ("STORE_DEREF", "DELETE_DEREF") and item.argval in outside
            ):
                yield str(item.argval)
    yield from (name for name, value in named_values(function).items() if isinstance(value, Iterator))


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
    """That a function goes on where an operation is refused, or that Python does so for it."""
    if code.co_name in SWALLOWING:
        return code.co_name
    if any(item.opname in ("PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH") for item in _instructions(code)):
        return "try or with"
    return None


__all__ = ["kind_asked"]
