"""LaTeX as MathML, which browsers typeset without scripts or fonts from elsewhere; words between formulas as HTML.

A browser breaks lines in text and not in formulas, so whatever is text in a statement becomes HTML.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element
from latex2mathml.symbols_parser import convert_symbol
from markupsafe import Markup, escape

#: A command that the converter left as it stood.
_UNCONVERTED = re.compile(r">[^<]*\\[^<]*<")
#: What a formula on a page may consist of.  None of these elements and attributes runs a script or leads elsewhere.
_ELEMENTS = frozenset((
    "math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow",
    "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover",
))  # fmt: skip
_NO_ATTRIBUTES = re.compile(r"(?:on.*|href|src|style|class|id|xlink.*)\Z", re.IGNORECASE)
_COMMAND = re.compile(r"\\(?:operatorname|mathrm|mathbf|text)\{(\w+)\}|\\([A-Za-z]+|\|)")
#: Operators that are their own names in running text.
_NAMED = frozenset({"cos", "cosh", "det", "dim", "exp", "inf", "ker", "lim", "ln", "log", "max", "min", "sin", "sup"})
#: Accents stand before their letter in LaTeX and after it in text, so they stay as they are.
_ACCENTS = frozenset(
    {"bar", "breve", "check", "ddot", "dot", "hat", "mathring", "tilde", "vec", "widehat", "widetilde"}
)
_TOKEN = re.compile(r"\\(?:begin|end)\{[^}]*\}|\\[A-Za-z]+|\\.|.", re.DOTALL)
_OPENING, _CLOSING = re.compile(r"\{|\\left$|\\begin"), re.compile(r"\}|\\right$|\\end")
_TEXT = frozenset({"\\text", "\\textrm", "\\mbox"})
#: What stands between formulas that wide spaces separate.
_GAP = Markup('<span class="gap"> </span>')
_WIDE = frozenset({"\\quad", "\\qquad", "\\\\", "\n\n"})
#: Names of arguments that are longer than a letter and no Greek one.
_WORD = re.compile(r"[A-Za-z]{2,}")
#: Matrices with more rows or columns are left to the snippet beside them.
LARGEST = 8

#: A letter in a style that MathML Core knows only as a character of its own.
_STYLED = re.compile(r'<(m[ino]|mtext) mathvariant="([a-z-]+)">([^<]*)</\1>')
_STYLES = {
    "double-struck": ("DOUBLE-STRUCK",), "script": ("SCRIPT",), "fraktur": ("FRAKTUR", "BLACK-LETTER"), "bold": ("BOLD",),
    "bold-italic": ("BOLD ITALIC",), "sans-serif": ("SANS-SERIF",), "monospace": ("MONOSPACE",),
}  # fmt: skip
#: A row of one element.
_ALONE = re.compile(r"<mrow>(<(m[ino])(?: [^>]*)?>[^<]*</\2>)</mrow>")
#: Upright letters in a row are one name.
_UPRIGHT = re.compile(r'(?:<mi mathvariant="normal">\w</mi>){2,}')

#: A formula in running text, and what people write where they do not mark one: x_i, d^{-1/2}, W^Q, ‖x‖_2, tau_0^2.
_DOLLARS = re.compile(r"(?<!\\)\$([^$]+)\$")
_SCRIPT = r"(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\([\w,:]+\)|-?\d+|[A-Za-zα-ωΑ-Ω⊤*][A-Za-z0-9α-ωΑ-Ω⊤*]*)"
_LOOSE = re.compile(rf"((?<![\w\\^_.])[A-Za-zα-ωΑ-Ω]+['’]*|(?<=\d)[α-ω]|\d+|[)\]‖|∑∏])((?:[_^]{_SCRIPT})+)(?![_^])")
_SCRIPTS = re.compile(rf"([_^])({_SCRIPT})")
#: LaTeX that no character stands for, with as much around it as can belong to the same formula.
_HARD = r"\\(?:bar|boldsymbol|dot|frac|hat|left|mathcal|mathbf|right|sqrt|tfrac|tilde|widehat|widetilde)(?![A-Za-z])"
_RUN = re.compile(
    r"(?:\\[A-Za-z]+|\\[|{}]|[_^{}()\[\]|+*/=<>'‖-]|\d|(?<![A-Za-z])[A-Za-zα-ω](?![A-Za-z])|(?<=[_{^])[A-Za-z]+"
    r"|[ ,](?=[\\\d_^{}()|+=<>-]))+"
)
#: A formula in running text that is longer than this may break into lines, at these relations.
LONGEST_IN_LINE = 24
#: The same of a statement.
LONGEST_IN_DISPLAY = 40
_RELATIONS = frozenset((
    "=", "<", ">", "\\le", "\\leq", "\\ge", "\\geq", "\\ne", "\\neq", "\\to", "\\in", "\\sim", "\\approx", "\\equiv",
    "\\coloneqq", "\\triangleq",
))  # fmt: skip
#: What is still LaTeX after all that, shown as the source it is.
_LEFT = re.compile(r"([^\s,;]*\\[A-Za-z]+[^\s,;]*)")
#: Longest name that counts as a variable where it carries an index: f, Re, E, but not softmax_jacobian.
_LONGEST_VARIABLE = 3


class Typesetter:
    """Converts formulas, and remembers those it could not."""

    def __init__(self) -> None:
        self.plain: set[str] = set()

    def display(self, latex: str) -> Markup:
        """A statement: formulas as MathML, words between them as HTML; its source where it cannot be converted."""
        found = _statement(latex)
        if found is None:
            self.plain.add(latex)
            return Markup('<code class="latex">{}</code>').format(latex)
        return found

    def inputs(self, values: Mapping[str, Any]) -> list[Markup]:
        """Explicit inputs such as ``{"X": [["1", "1/2"]], "d": 2}``, one typeset equation each; too large ones left out."""
        equations = [f"{symbol(name)} = {_matrix(value)}" for name, value in values.items() if _fits(value)]
        return [self.display(equation) for equation in equations]


@cache
def _statement(latex: str) -> Markup | None:
    shown = []
    for kind, content in segments(latex):
        if kind == "gap":
            shown.append(_GAP)
        elif kind == "words":
            shown.append(Markup("<span>{}</span>").format(prose(content)))
        elif (typeset := mathml(content)) is None:
            return None
        else:
            shown.append(_in_rows(content) or typeset)
    return Markup("").join(shown)


def _in_rows(latex: str) -> Markup | None:
    """A long formula in pieces between which a line may break; None for a short one, and where a piece is no formula."""
    pieces = _pieces(latex) if len(latex) > LONGEST_IN_DISPLAY else []
    typeset = [mathml(piece) for piece in pieces]
    return None if len(typeset) < 2 or None in typeset else Markup(" ").join(filter(None, typeset))


@cache
def mathml(latex: str, inline: bool = False) -> Markup | None:
    """One formula, in the size of displayed ones or of running text; None where it cannot be converted."""
    # what the converter does not know: enlarged commands, the double bar as a fence, := as one sign, a space by line end
    known = re.sub(r"\\[bB]igg?[lrm]?\s*(?=\\)", "", latex)
    known = re.sub(r"\\(left|right)\\\|", r"\\\1\\Vert ", known)
    known = known.replace(":=", r"\coloneqq ").replace("\\\n", "\\ ").replace("\\textstyle", "")
    try:
        tree = convert_to_element(known, display="inline" if inline else "block")
    except Exception:  # its errors have no common base, and no formula may cost the page
        return None
    found = _serialised(tree)
    if found is None or _UNCONVERTED.search(found):
        return None
    found = _UPRIGHT.sub(lambda run: f"<mi>{re.sub('<[^>]*>', '', run[0])}</mi>", found)
    found = _STYLED.sub(_as_code_points, found)
    found = _ALONE.sub(r"\1", found)
    return Markup(re.sub(r"<math [^>]*>", "<math>" if inline else '<math displaystyle="true">', found, count=1))


def _serialised(tree: ElementTree.Element) -> str | None:
    """The converter's elements as text with everything escaped; None where one could do more than show mathematics.

    The converter writes characters as references, and leaves words inside ``\\text{...}`` as they came.
    """
    for element in tree.iter():
        if element.tag not in _ELEMENTS or any(map(_NO_ATTRIBUTES.match, element.attrib)):
            return None
        element.text, element.tail = (html.unescape(text) if text else text for text in (element.text, element.tail))
        for name, value in element.attrib.items():
            element.set(name, html.unescape(value))
    return ElementTree.tostring(tree, encoding="unicode", short_empty_elements=False)


def _as_code_points(match: re.Match[str]) -> str:
    """A styled letter as the character that means it, where there is one."""
    tag, style, content = match.groups()
    if style not in _STYLES:
        return match[0]
    letters = [_styled(letter, style) for letter in html.unescape(content)]
    if None in letters:
        return match[0]
    return f"<{tag}>{''.join(filter(None, letters))}</{tag}>"


@cache
def _styled(letter: str, style: str) -> str | None:
    name = unicodedata.name(letter, "").replace("LATIN ", "").replace("GREEK ", "").replace("LETTER ", "")
    for words in _STYLES[style]:
        for candidate in (f"MATHEMATICAL {words} {name}", f"{words} {name}"):
            try:
                return unicodedata.lookup(candidate)
            except KeyError:
                continue
    return None


def segments(latex: str) -> list[tuple[str, str]]:
    """A statement as ("formula", LaTeX), ("words", text) and ("gap", ""), split at wide spaces and around words.

    Words are text of more than one word outside every brace, fence and environment; a name such as ``\\text{tr}`` is part of
    its formula.
    """
    found: list[tuple[str, str]] = [("formula", "")]
    depth, place, tokens = 0, 0, _TOKEN.findall(latex)
    while place < len(tokens):
        token = tokens[place]
        if depth == 0 and token in _TEXT and place + 1 < len(tokens) and tokens[place + 1] == "{":
            end = _closing(tokens, place + 1)
            content = "".join(tokens[place + 2 : end])
            following = "".join(tokens[end + 1 :]).lstrip()[:1]
            attached = found[-1][1].rstrip().endswith(("_", "^")) or following in ("_", "^")
            if not attached and (_is_words(content) or (not found[-1][1].strip() and not following)):
                before = found[-1][0] == "formula" and found[-1][1].endswith("\\ ")
                after = "".join(tokens[end + 1 :]).startswith(("\\ ", "~"))
                found += [("words", " " * before + content + " " * after), ("formula", "")]
                place = end + 1
                continue
        depth += bool(_OPENING.match(token)) - bool(_CLOSING.match(token))
        if depth == 0 and (
            token in _WIDE
            or (
                token == "\\ "
                and (found[-1][1].rstrip().endswith(";") or "".join(tokens[place + 1 : place + 2]) in _TEXT)
            )
        ):
            found += [("gap", ""), ("formula", "")]
        else:
            found[-1] = (found[-1][0], found[-1][1] + token)
        place += 1
    kept = [part for part in found if part[0] == "gap" or part[1].replace("\\ ", "").replace("~", "").strip()]
    return [part for place, part in enumerate(kept) if part[0] != "gap" or 0 < place < len(kept) - 1]


def _closing(tokens: list[str], start: int) -> int:
    """Where the brace that opens at `start` closes."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += (tokens[place] == "{") - (tokens[place] == "}")
        if depth == 0:
            return place
    return len(tokens)


def _is_words(content: str) -> bool:
    return " " in content or "~" in content


def text(words: str) -> Markup:
    """Running text with LaTeX commands for symbols and names, such as \\beta or \\operatorname{rank}, replaced by those."""
    return escape(plain(words))


def plain(words: str) -> str:
    """Running text with LaTeX commands replaced by characters, as for a title or a search."""
    words = words.replace("\\%", "%").replace("\\&", "&").replace("\\ ", " ").replace("~", " ").replace("``", "\u201c")
    return _COMMAND.sub(lambda match: match[1] or _symbol(match[2]), words)


def prose(words: str) -> Markup:
    """Running text: `$...$` as MathML, code between backticks, and indices and exponents of variables raised and lowered."""
    shown, place = [], 0
    for match in _DOLLARS.finditer(words):
        typeset = _in_line(match[1])
        shown += [_loose(words[place : match.start()]), text(match[1]) if typeset is None else typeset]
        place = match.end()
    return Markup("").join([*shown, _loose(words[place:])])


@cache
def _in_line(latex: str) -> Markup | None:
    """A formula of running text; a long one in pieces before its relations and after its commas, where lines may break."""
    if len(latex) <= LONGEST_IN_LINE:
        return mathml(latex, inline=True)
    typeset = [mathml(piece, inline=True) for piece in _pieces(latex)]
    if None in typeset:
        typeset = [mathml(latex, inline=True)]
    if None in typeset:
        return None
    return Markup("<wbr>").join(Markup('<span class="piece">{}</span>').format(piece) for piece in typeset)


def _pieces(latex: str) -> list[str]:
    """A formula cut before its relations and after its commas, outside all brackets."""
    pieces, depth = [""], 0
    for token in _TOKEN.findall(latex.replace(":=", r"\coloneqq ")):
        depth += bool(_OPENING.match(token)) - bool(_CLOSING.match(token))
        depth += (token in ("(", "[")) - (token in (")", "]"))
        if depth == 0 and token in _RELATIONS and pieces[-1].strip():
            pieces.append("")
        pieces[-1] += token
        if depth == 0 and token == ",":
            pieces.append("")
    return [piece for piece in pieces if piece.strip()]


def _loose(words: str) -> Markup:
    """Text without marked formulas; what stands between backticks is code."""
    pieces = re.split(r"`([^`]+)`", words)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if place % 2 else _hard(piece) for place, piece in enumerate(pieces)
    )


def _hard(words: str) -> Markup:
    """Text in which LaTeX with fractions or accents is typeset, though nothing marks it, and quoted glyphs are what they are."""
    quotes = re.split(r"“([^“”]*\\[^“”]*)”", words)
    if len(quotes) > 1:
        shown = [_quoted(part) if place % 2 else _hard(part) for place, part in enumerate(quotes)]
        return Markup("").join(shown)
    shown, place = [], 0
    for match in _RUN.finditer(words) if re.search(_HARD, words) else ():
        formula = match[0].strip()
        if re.search(_HARD, formula) and (typeset := mathml(formula, inline=True)) is not None:
            start = match.start() + match[0].index(formula)
            shown += [_indexed(plain(words[place:start])), typeset]
            place = start + len(formula)
    return Markup("").join([*shown, _indexed(plain(words[place:]))])


def _quoted(glyphs: str) -> Markup:
    """LaTeX in quotes: typeset where it is whole, and as source where it is the torn piece that a doubt is about."""
    typeset = mathml(glyphs, inline=True)
    return Markup("“{}”").format(Markup("<code>{}</code>").format(glyphs) if typeset is None else typeset)


def _indexed(words: str) -> Markup:
    """Text in which W_Q, x_i^T and d^{-1/2} stand as they would in print; identifiers of programs stay as they are."""
    pieces = _LEFT.split(words)
    if len(pieces) > 1:
        shown = [Markup("<code>{}</code>").format(p) if place % 2 else _indexed(p) for place, p in enumerate(pieces)]
        return Markup("").join(shown)
    words = words.replace("||", "‖")
    shown, place = [], 0
    for match in _LOOSE.finditer(words):
        named = (
            len(match[1]) > 1 and match[1] not in _ACCENTS and convert_symbol(f"\\{match[1]}")
        )  # \S is a sign, S a matrix
        base = _symbol(match[1]) if named else match[1]
        if len(base.rstrip("'’")) > _LONGEST_VARIABLE:
            continue
        scripts = [_script(*script) for script in _SCRIPTS.findall(match[2])]
        shown += [
            escape(words[place : match.start()]),
            Markup("<var>{}{}</var>" if base.isalpha() else "{}{}").format(base, Markup("").join(scripts)),
        ]
        place = match.end()
    return Markup("").join([*shown, escape(words[place:])])


def _script(sign: str, content: str) -> Markup:
    inside = content[1:-1] if content.startswith("{") else content
    tag = "sub" if sign == "_" else "sup"
    inside = "⊤" if (tag, inside) == ("sup", "T") else inside.replace("-", "\u2212") if tag == "sup" else inside
    if convert_symbol(f"\\{inside}") and len(inside) > 1:
        inside = _symbol(inside)
    return Markup("<{0}>{1}</{0}>").format(tag, _indexed(inside))


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
