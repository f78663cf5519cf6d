"""LaTeX as MathML, which browsers typeset without scripts or fonts from elsewhere."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from latex2mathml.converter import convert
from latex2mathml.symbols_parser import convert_symbol
from markupsafe import Markup, escape

#: A command that the converter left as it stood.
_UNCONVERTED = re.compile(r">[^<]*(\\|&#x0005C;)[^<]*<")
_COMMAND = re.compile(r"\\(?:operatorname|mathrm|mathbf|text)\{(\w+)\}|\\([A-Za-z]+|\|)")
#: Operators that are their own names in running text.
_NAMED = frozenset({"det", "dim", "exp", "inf", "ker", "lim", "ln", "log", "max", "min", "sup"})
#: Accents stand before their letter in LaTeX and after it in text, so they stay as they are.
_ACCENTS = frozenset(
    {"bar", "breve", "check", "ddot", "dot", "hat", "mathring", "tilde", "vec", "widehat", "widetilde"}
)
#: What splits a statement into formulas, where no brace, fence or environment is open.
_TOKEN = re.compile(r"\\(?:begin|end)\{[^}]*\}|\\[A-Za-z]+|\\.|.", re.DOTALL)
_OPENING, _CLOSING = re.compile(r"\{|\\left$|\\begin"), re.compile(r"\}|\\right$|\\end")
#: Names of arguments that are longer than a letter and no Greek one.
_WORD = re.compile(r"[A-Za-z]{2,}")
#: Matrices with more rows or columns are left to the snippet beside them.
LARGEST = 8


class Typesetter:
    """Converts formulas, and remembers those it could not."""

    def __init__(self) -> None:
        self.formulas: set[str] = set()
        self.plain: set[str] = set()

    def display(self, latex: str) -> Markup:
        """A formula on a line of its own; its source where it cannot be converted."""
        self.formulas.add(latex)
        found = [_mathml(part) for part in parts(latex)]
        typeset = found if None not in found else [_mathml(latex)]
        if None in typeset:
            self.plain.add(latex)
            return Markup('<code class="latex">{}</code>').format(latex)
        return Markup("\n").join(part for part in typeset if part is not None)

    def inputs(self, values: Mapping[str, Any]) -> list[Markup]:
        """Explicit inputs such as ``{"X": [["1", "1/2"]], "d": 2}``, one typeset equation each; too large ones left out."""
        equations = [f"{symbol(name)} = {_matrix(value)}" for name, value in values.items() if _fits(value)]
        return [self.display(equation) for equation in equations]


@cache
def _mathml(latex: str) -> Markup | None:
    # what the converter does not know: enlarged commands, the double bar as a fence, := as one sign, a space by line end
    known = re.sub(r"\\[bB]igg?[lrm]?\s*(?=\\)", "", latex)
    known = re.sub(r"\\(left|right)\\\|", r"\\\1\\Vert ", known)
    known = known.replace(":=", r"\coloneqq ").replace("\\\n", "\\ ")
    try:
        found = convert(known, display="block")
    except Exception:  # its errors have no common base, and no formula may cost the page
        return None
    return None if _UNCONVERTED.search(found) else Markup(found)


def parts(latex: str) -> list[str]:
    """A statement split at wide spaces and before words, so that it can break into lines where browsers break no formula."""
    found, depth = [""], 0
    tokens = _TOKEN.findall(latex)
    for token, following in itertools.zip_longest(tokens, tokens[1:], fillvalue=""):
        depth += bool(_OPENING.match(token)) - bool(_CLOSING.match(token))
        before = found[-1].rstrip()
        wide = token in ("\\quad", "\\qquad") or (token == "\\ " and (before.endswith(";") or following == "\\text"))
        if depth == 0 and wide:
            found.append("")
        elif depth == 0 and token == "\\text" and before and not before.endswith(("_", "^", "\\ ")):
            found.append(token)
        else:
            found[-1] += token
    return [part for part in found if part.strip()]


def text(words: str) -> Markup:
    """Running text with LaTeX commands for symbols and names, such as \\beta or \\operatorname{rank}, replaced by those."""
    return escape(_COMMAND.sub(lambda match: match[1] or _symbol(match[2]), words))


@cache
def _symbol(command: str) -> str:
    if command in _NAMED:
        return command
    code = None if command in _ACCENTS else convert_symbol(f"\\{command}")
    return chr(int(code, 16)) if code else f"\\{command}"


def symbol(name: str) -> str:
    """An argument's name as LaTeX: W_Q as W_{Q}, beta as \\beta."""
    base, *rest = name.split("_")
    if _WORD.fullmatch(base):
        base = f"\\{base}" if convert_symbol(f"\\{base}") else f"\\mathrm{{{base}}}"
    return base + (f"_{{{', '.join(rest)}}}" if rest else "")


def _fits(value: Any) -> bool:
    if not isinstance(value, list):
        return True
    return len(value) <= LARGEST and all(_fits(entry) for entry in value)


def _matrix(value: Any) -> str:
    """Nested lists as a column, a matrix, or a row of matrices; an empty list as (), rationals as fractions."""
    if not isinstance(value, list):
        return _rational(str(value))
    if not value:
        return "()"
    if not isinstance(value[0], list):
        return r"\begin{bmatrix}" + r" \\ ".join(map(_matrix, value)) + r"\end{bmatrix}"
    if value[0] and isinstance(value[0][0], list):
        return r",\ ".join(map(_matrix, value))
    rows = [" & ".join(map(_matrix, row)) for row in value]
    return r"\begin{bmatrix}" + r" \\ ".join(rows) + r"\end{bmatrix}"


def _rational(number: str) -> str:
    top, slash, bottom = number.partition("/")
    if not slash:
        return number
    sign = "-" if top.startswith("-") else ""
    return f"{sign}\\frac{{{top.lstrip('-')}}}{{{bottom}}}"
