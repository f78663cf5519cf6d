"""Python source, highlighted."""

from __future__ import annotations

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
    """The source text of a function, highlighted."""
    return highlighted(textwrap.dedent(inspect.getsource(function)))


def place(function: Callable[..., Any]) -> str:
    """Module, name and line of a function."""
    return f"{function.__module__}.{function.__qualname__}, line {inspect.getsourcelines(function)[1]}"


def style_sheet() -> str:
    """The colours of highlighted code, light and dark."""
    light, dark = (HtmlFormatter(style=name, classprefix="hl-").get_token_style_defs(".code") for name in (LIGHT, DARK))
    return "\n".join([*light, "@media screen and (prefers-color-scheme: dark) {", *dark, "}", ""])
