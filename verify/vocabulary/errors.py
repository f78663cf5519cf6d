"""Errors that say which argument is wrong, what was expected, and what came."""

from __future__ import annotations

import difflib
import importlib
import traceback
from collections.abc import Iterable


class InputError(ValueError):
    """A public function was given something it cannot work with."""

    def __init__(self, argument: str, expected: str, got: str) -> None:
        super().__init__(f"{argument}: expected {expected}; got {got}")
        self.argument, self.expected, self.got = argument, expected, got

    def of(self, function: str) -> InputError:
        """This error, with the name of the function that was called in front of its text."""
        self.args = (f"{function}(): {self.args[0]}",)
        return self

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:  # it crosses from workers to their parent
        return type(self), (self.argument, self.expected, self.got)


class NotFiniteError(InputError):
    """A matrix holds NaN or infinity."""


class ArithmeticUnsupported(ArithmeticError):
    """An operation does not exist in the arithmetic of its operands."""


class RegistryError(ValueError):
    """The claims do not form a consistent registry."""


def in_one_line(problem: BaseException) -> str:
    """An exception as its type, the first line of its message, and the line of an imported module that raised it."""
    text = next(iter(str(problem).splitlines()), "")[:200]
    frames = traceback.extract_tb(problem.__traceback__)
    importing = [number for number, frame in enumerate(frames) if frame.filename == importlib.__file__]
    imported = frames[importing[0] + 1 :] if importing else []
    places = [f" at {frame.filename}:{frame.lineno}" for frame in imported if not frame.filename.startswith("<frozen")]
    place = places[-1] if places else ""
    return f"{type(problem).__name__}: {text}{place}" if text else f"{type(problem).__name__}{place}"


def with_neighbours(mistyped: object, known: Iterable[str]) -> str:
    """What came, for a message, and the known names that look most like it, also without what stands before a point."""
    names = list(known)
    near = difflib.get_close_matches(mistyped.replace("*", ""), names, n=3) if isinstance(mistyped, str) else []
    if not near and isinstance(mistyped, str) and "." not in mistyped:
        last = {name: name.rpartition(".")[2] for name in names}
        close = difflib.get_close_matches(mistyped, set(last.values()), n=3)
        near = [name for name in names if last[name] in close][:3]
    return f"{shown(mistyped)}; close to it: {', '.join(near)}" if near else shown(mistyped)


def shown(value: object, limit: int = 200) -> str:
    """What came, for a message: its repr, cut, or its type where it has none."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= limit else f"{text[:limit]} ..."
