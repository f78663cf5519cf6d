"""Python source, highlighted: a function, and the functions of the same package that it consists of."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

_LEXER = PythonLexer()
_PLAIN = HtmlFormatter(nowrap=True, classprefix="hl-")
#: Styles whose colours keep their contrast on the page's backgrounds.
LIGHT, DARK = "vs", "github-dark"
#: Helpers shown of one function; what is further away is in the repository.
MOST_HELPERS = 16


@functools.lru_cache(maxsize=8192)
def highlighted(code: str) -> Markup:
    """Code as spans that the style sheet colours."""
    return Markup(highlight(code, _LEXER, _PLAIN))


def source(function: Callable[..., Any]) -> Markup:
    """The source text of a function, highlighted; of a lambda, the statement it stands in."""
    return highlighted(source_text(function))


def source_text(function: Callable[..., Any]) -> str:
    """The source text of a function; of a lambda, the statement it stands in."""
    return _source_text(inspect.unwrap(function))


@functools.lru_cache(maxsize=8192)
def _source_text(inner: Callable[..., Any]) -> str:
    if inner.__name__ != "<lambda>":
        return textwrap.dedent("".join(_lines(inner)))
    lines, _ = inspect.findsource(inner)
    first, last = _statement_around("".join(lines), inner.__code__.co_firstlineno)
    return textwrap.dedent("".join(lines[first - 1 : last]))


def _lines(function: Callable[..., Any]) -> list[str]:
    """The lines of a function; those of a class or of what has no code of its own, as `inspect` finds them."""
    code = getattr(function, "__code__", None)
    if code is None:
        return inspect.getsourcelines(function)[0]
    lines, _ = inspect.findsource(function)
    first, last = _statement_around("".join(lines), code.co_firstlineno)
    return lines[code.co_firstlineno - 1 : max(last, first)]


def _statement_around(module: str, line: int) -> tuple[int, int]:
    """First and last line of the smallest statement that holds a line of a module, decorators included."""
    around = [span for span in _statements(module) if span[0] <= line <= span[1]]
    return min(around, key=lambda span: span[1] - span[0])


@functools.lru_cache(maxsize=256)
def _statements(module: str) -> tuple[tuple[int, int], ...]:
    found = []
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.stmt):
            decorators = [item.lineno for item in getattr(node, "decorator_list", [])]
            found.append((min([node.lineno, *decorators]), node.end_lineno or node.lineno))
    return tuple(found)


def helpers(functions: Iterable[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The functions of the same top-level package that `functions` consist of, directly or not, nearest first."""
    queue = [inspect.unwrap(function) for function in functions]
    seen = set(map(id, queue))
    found: list[Callable[..., Any]] = []
    while queue and len(found) < MOST_HELPERS:
        function = queue.pop(0)
        package = function.__module__.partition(".")[0]
        names = getattr(function, "__globals__", {})
        for name in _names(getattr(function, "__code__", None)):
            value = names.get(name)
            if not inspect.isroutine(value) and not (callable(value) and hasattr(value, "__wrapped__")):
                continue
            inner = inspect.unwrap(value)
            if id(inner) in seen or not hasattr(inner, "__code__"):
                continue
            if (getattr(inner, "__module__", None) or "").partition(".")[0] == package:
                seen.add(id(inner))
                found.append(inner)
                queue.append(inner)
    return found[:MOST_HELPERS]


def _names(code: CodeType | None) -> list[str]:
    """Global names that a function refers to, those of functions inside it included."""
    if code is None:
        return []
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return [*code.co_names, *inner]


def place(function: Callable[..., Any]) -> str:
    """Module, name and line of a function."""
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    line = code.co_firstlineno if code is not None else inspect.getsourcelines(inner)[1]
    return f"{function.__module__}.{function.__qualname__}, line {line}"


@functools.cache
def style_sheet() -> str:
    """The colours of highlighted code, light and dark."""
    light, dark = (HtmlFormatter(style=name, classprefix="hl-").get_token_style_defs(".code") for name in (LIGHT, DARK))
    return "\n".join([*light, "@media screen and (prefers-color-scheme: dark) {", *dark, "}", ""])
