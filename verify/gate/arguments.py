"""Arguments of the gate, looked at before anything is checked; and other people's functions, kept from ending the check."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verify.checks.settings import HALVES, Settings
from verify.gate.subject_errors import Raised
from verify.vocabulary.errors import InputError, in_one_line, shown


def named(implementation: Callable[..., Any] | str, argument: str = "implementation") -> Callable[..., Any]:
    """A callable, given itself, as "package.module:function", or as "$NAME", an environment variable that says so.

    Raises `InputError` when the text does not lead to a callable, whatever its module does when it is imported.
    """
    if callable(implementation):
        return implementation
    if isinstance(implementation, str) and implementation.startswith("$"):
        found_in = os.environ.get(implementation[1:])
        if not found_in:
            raise InputError(
                argument, f"the environment variable {implementation[1:]} with 'package.module:function'", "none"
            )
        implementation = found_in
    expected = "a callable, or text 'package.module:function' that leads to one"
    module_name, colon, path = implementation.partition(":") if isinstance(implementation, str) else ("", "", "")
    if not colon or not module_name or not path:
        raise InputError(argument, expected, shown(implementation))
    try:
        if module_name.partition(".")[0] == "transformers":
            without_broken_torchvision()
        found: Any = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # an exit at import is no success
        raise InputError(argument, expected, f"{implementation!r} ({in_one_line(problem)})") from None
    if not callable(found):
        raise InputError(argument, expected, f"{implementation!r}, a {type(found).__name__}")
    return found


def without_broken_torchvision() -> None:
    """Let a torchvision that cannot be imported count as absent, before transformers is imported and fails with it.

    curvlinops brings PyPI's, which is built for CUDA and raises beside a CPU build of torch; nobody here uses it.
    """
    if "torchvision" in sys.modules or importlib.util.find_spec("torchvision") is None:
        return
    try:
        importlib.import_module("torchvision")
    except Exception:  # RuntimeError for a missing operator, OSError for a missing library
        sys.modules["torchvision"] = None  # type: ignore[assignment]  # to importers: no such module


def adapter_of(given: Callable[..., Any] | str | Mapping[str, Any]) -> Callable[..., Any]:
    """An adapter, given itself, as text, or as a mapping {"call": text, ...} with the options that what it names takes.

    Raises `InputError` when that leads to no callable.
    """
    if not isinstance(given, Mapping):
        return named(given, "adapter")
    options = dict(given)
    factory = named(options.pop("call", ""), "adapter.call")
    try:
        found = factory(**options)
    except TypeError as problem:
        raise InputError("adapter", f"options that {given['call']} takes", in_one_line(problem)) from None
    if not callable(found):
        raise InputError("adapter", f"options with which {given['call']} returns an adapter", shown(found))
    return found  # type: ignore[no-any-return]


def adapted(function: Callable[..., Any], adapter: Callable[..., Any] | str) -> Callable[..., Any]:
    """What the adapter makes of a function; raises `InputError` unless that is a callable."""
    expected = "a function that returns a callable"
    found = named(adapter, "adapter")
    try:
        result = found(function)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        if isinstance(problem, InputError) and problem.argument == "adapter":
            raise
        name = getattr(found, "__qualname__", None)
        given = repr(f"{found.__module__}:{name}") if name else shown(adapter)
        raise InputError("adapter", expected, f"{given}, which raised {in_one_line(problem)}") from problem
    if not callable(result):
        raise InputError("adapter", expected, f"one that returns {shown(result)}")
    return result  # type: ignore[no-any-return]


def require_known(subject: str, function: Callable[..., Any], parameters: Sequence[str], known: Sequence[str]) -> None:
    """Raise `InputError` for a class, or a module with weights of its own, that nobody has named an adapter for.

    Called as it is it would fail somewhere inside, or be tested with weights that nobody chose.
    """
    weights = getattr(function, "parameters", None)
    is_module = callable(weights) and hasattr(function, "forward")
    if not inspect.isclass(function) and not (is_module and any(True for _ in weights())):  # type: ignore[misc]
        return
    name = (function if inspect.isclass(function) else type(function)).__qualname__
    given = ", ".join(parameters)
    sketch = (
        f"def adapter(module):\n"
        f"    def adapted({given}):\n"
        f"        made = module(...)  # of the sizes of these arguments\n"
        f"        return call_module(made, {{...: ...}}, {parameters[0]})  # its weights by name, then what it is called with\n"
        f"    return adapted"
    )
    raise InputError(
        "implementation",
        f"a function of ({given}), one of the classes that are recognised as {subject}"
        + (f" ({', '.join(known)})" if known else ""),
        f"{name}, which is not recognised; give adapter=, with `from verify.gate.adapters import call_module`:\n\n{sketch}\n",
    )


def contained(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with an exit, a skipped test and whatever else is no error raised as `Raised`: it has not passed."""

    @functools.wraps(function, updated=("__dict__",) if isinstance(function, types.FunctionType) else ())
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as problem:
            raise Raised(in_one_line(problem)) from problem

    return called


def require_text(**arguments: Any) -> None:
    """Raise `InputError` for an argument that is no text."""
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise InputError(name, "text", shown(value))


def texts(**argument: str | Sequence[str]) -> tuple[str, ...]:
    """The globs of the one argument given, a text or a sequence of texts; raises `InputError` for anything else."""
    ((name, value),) = argument.items()
    found = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else None
    if found is None or not all(isinstance(text, str) for text in found) or (not found and name == "claims"):
        raise InputError(name, "text, or a list of texts", shown(value))
    return found


def dtypes_of(dtypes: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of dtypes, each once, None for all; raises `InputError` for what is no list of precisions, and for an empty one."""
    if dtypes is None:
        return None
    if isinstance(dtypes, str) or not isinstance(dtypes, Sequence) or not dtypes:
        raise InputError("dtypes", "a list of precisions by name, or None", shown(dtypes))
    for dtype in dtypes:
        if not isinstance(dtype, str) or dtype not in (*Settings.dtypes, *HALVES):
            raise InputError("dtypes", "float64, float32, float16 or bfloat16", shown(dtype))
    return tuple(dict.fromkeys(dtypes))


def seeds_of(text: str) -> range:
    """The seeds that an option --seeds names: one, or two as FIRST:LAST, both included; raises `InputError` for other text."""
    first, colon, last = text.partition(":")
    numbers = [first, last if colon else first]
    if not all(number.isdecimal() for number in numbers) or int(numbers[0]) > int(numbers[1]):
        raise InputError("--seeds", "a seed, or two as FIRST:LAST, none negative", repr(text))
    return range(int(numbers[0]), int(numbers[1]) + 1)
