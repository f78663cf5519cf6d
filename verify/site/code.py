"""Python source, highlighted."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

_LEXER = PythonLexer()
_PLAIN = HtmlFormatter(nowrap=True, classprefix="hl-")
#: Styles whose colours keep their contrast on the page's backgrounds.
LIGHT, DARK = "vs", "github-dark"


def highlighted(code: str) -> Markup:
    """Code as spans that the style sheet colours."""
    return Markup(highlight(code, _LEXER, _PLAIN))


def source(function: Callable[..., Any]) -> Markup:
    """The source text of a function, highlighted; of a lambda, the statement it stands in."""
    return highlighted(source_text(function))


def source_text(function: Callable[..., Any]) -> str:
    """The source text of a function; of a lambda, the statement it stands in."""
    inner = inspect.unwrap(function)
    if inner.__name__ != "<lambda>":
        return textwrap.dedent(inspect.getsource(inner))
    lines, _ = inspect.findsource(inner)
    first, last = _statement_around("".join(lines), inner.__code__.co_firstlineno)
    return textwrap.dedent("".join(lines[first - 1 : last]))


def _statement_around(module: str, line: int) -> tuple[int, int]:
    """First and last line of the smallest statement that holds a line of a module."""
    around = [span for span in _statements(module) if span[0] <= line <= span[1]]
    return min(around, key=lambda span: span[1] - span[0])


@functools.lru_cache(maxsize=256)
def _statements(module: str) -> tuple[tuple[int, int], ...]:
    found = (node for node in ast.walk(ast.parse(module)) if isinstance(node, ast.stmt))
    return tuple((node.lineno, node.end_lineno or node.lineno) for node in found)


def place(function: Callable[..., Any]) -> str:
    """Module, name and line of a function."""
    return f"{function.__module__}.{function.__qualname__}, line {inspect.getsourcelines(function)[1]}"


def style_sheet() -> str:
    """The colours of highlighted code, light and dark."""
    light, dark = (HtmlFormatter(style=name, classprefix="hl-").get_token_style_defs(".code") for name in (LIGHT, DARK))
    return "\n".join([*light, "@media screen and (prefers-color-scheme: dark) {", *dark, "}", ""])
