"""Statements as lines of Unicode, for a terminal: what cannot be said so stays LaTeX."""

from __future__ import annotations

import re
from functools import cache

from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db
from pylatexenc.latexwalker import LatexWalker
from pylatexenc.latexwalker import get_default_latex_context_db as macros_with_arguments
from pylatexenc.macrospec import MacroSpec

_RAISED = str.maketrans("0123456789+-=()in", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁱⁿ")
_LOWERED = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_RAISABLE, _LOWERABLE = (frozenset(map(chr, table)) for table in (_RAISED, _LOWERED))
_SCRIPT = re.compile(r"([_^])\s*(?:\{([^{}]*)\}|(\S))")
#: A script that no character is, set aside while others are read.
_LOW, _HIGH = "\ue000", "\ue001"
#: What needs brackets where something stands directly before or behind it.
_OPEN, _CLOSE = "\ue002", "\ue003"
_WHOLE = re.compile(rf"(.?){_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}(\s*.?)", re.DOTALL)
#: What a fraction or a root need not put between brackets: one name or number, with scripts on it.
_SINGLE = re.compile(r"[^\W_](?:[_^](?:\{[^{}]*\}|\S))*|\d+")
#: Commands that only say how large or how far apart.
_LAYOUT = ("big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr", "Biggl", "Biggr", "textstyle",
           "displaystyle", "limits", "nolimits", "left", "right", "middle", "nonumber")  # fmt: skip
#: Accents, as characters that stand behind their letter.
_ACCENTS = {"tilde": "\u0303", "widetilde": "\u0303", "hat": "\u0302", "widehat": "\u0302", "bar": "\u0304",
            "overline": "\u0304", "dot": "\u0307", "ddot": "\u0308", "vec": "\u20d7"}  # fmt: skip


class _Unknown(ValueError):
    """A command that no character stands for."""


def _refuse(node: object) -> str:
    raise _Unknown(str(node))


def _bracketed(text: str) -> str:
    return text if _SINGLE.fullmatch(text) else f"({text})"


def _fraction(node: object, l2tobj: LatexNodes2Text) -> str:
    top, bottom = (l2tobj.nodelist_to_text([item]).strip() for item in node.nodeargd.argnlist)  # type: ignore[attr-defined]
    return f"{_OPEN}{_bracketed(_plain(top))}/{_bracketed(_plain(bottom))}{_CLOSE}"


def _root(node: object, l2tobj: LatexNodes2Text) -> str:
    degree, inside = node.nodeargd.argnlist  # type: ignore[attr-defined]
    if degree is not None:
        raise _Unknown("a root with a degree")
    return f"{_OPEN}√{_bracketed(_plain(l2tobj.nodelist_to_text([inside]).strip()))}{_CLOSE}"


def _name(node: object, l2tobj: LatexNodes2Text) -> str:
    return _plain(l2tobj.nodelist_to_text([node.nodeargd.argnlist[-1]]))  # type: ignore[attr-defined]


def _plain(text: str) -> str:
    """Without the braces around all of it."""
    whole = re.fullmatch(r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", text)
    return whole[1] if whole else text


@cache
def _converters() -> tuple[object, LatexNodes2Text]:
    arguments = macros_with_arguments()
    two = [MacroSpec(name, "{{") for name in ("frac", "tfrac", "dfrac")]
    one = [MacroSpec(name, "{") for name in ("operatorname", "boldsymbol", "bm", "mathop", "text", "textrm", "mathrm")]
    arguments.add_context_category("here", macros=[*two, *one, MacroSpec("sqrt", "[{")], prepend=True)
    context = get_default_latex_context_db()
    words = [
        MacroTextSpec(name, _name)
        for name in ("operatorname", "text", "textrm", "mathrm", "boldsymbol", "bm", "mathop")
    ]
    known = [MacroTextSpec(name, _fraction) for name in ("frac", "tfrac", "dfrac")]
    known += [MacroTextSpec("sqrt", _root), *words, *(MacroTextSpec(name, "") for name in _LAYOUT)]
    signs = {"|": "‖", "Vert": "‖", "lVert": "‖", "rVert": "‖", "lvert": "|", "rvert": "|", "{": "❴", "}": "❵",
             "top": "ᵀ", "intercal": "ᵀ", "triangleq": "≜", "coloneqq": "≔", "ell": "ℓ", "circ": "∘", ",": " ", ";": " ",
             ":": " ", "!": "", "ne": "≠", "neq": "≠", "Pr": "Pr", "dim": "dim", "det": "det", "dotsb": "⋯",
             "dotsc": "…", "colon": ":", "implies": "⟹", "iff": "⟺", "quad": "   ",
             "qquad": "   ", "\\": ";  ", "prime": "′"}  # fmt: skip
    known += [MacroTextSpec(name, sign) for name, sign in signs.items()]
    known += [MacroTextSpec(name, _accent) for name in _ACCENTS]
    known += [MacroTextSpec(name, _refuse) for name in ("underbrace", "overbrace")]  # what has no place in a line
    context.add_context_category("here", macros=known, prepend=True)
    context.set_unknown_macro_spec(MacroTextSpec("", simplify_repl=_refuse))
    return arguments, LatexNodes2Text(
        context, math_mode="text", keep_braced_groups=True, keep_braced_groups_minlen=0, strict_latex_spaces=False
    )


def _accent(node: object, l2tobj: LatexNodes2Text) -> str:
    letter = _plain(_name(node, l2tobj).strip())
    if len(letter) != 1:
        raise _Unknown("an accent over more than one letter")
    return letter + _ACCENTS[node.macroname]  # type: ignore[attr-defined]


@cache
def readable(latex: str) -> str:
    """A statement in Unicode: x_i^2 as xᵢ², \\frac{a+b}{2} as (a+b)/2; the source itself where that cannot be done."""
    arguments, converter = _converters()
    source = re.sub(r"\\(?:left|right)\.", "", latex)
    try:
        nodes, _, _ = LatexWalker(f"${source}$", latex_context=arguments, tolerant_parsing=False).get_latex_nodes()
        text = converter.nodelist_to_text(nodes)
    except Exception:  # its errors have no common base, and what it cannot say is shown as it is written
        return latex
    if "\\" in text or "$" in text:
        return latex
    return re.sub(r"[ \n]+", " ", _scripts(text)).replace("❴", "{").replace("❵", "}").strip()


def readable_words(words: str) -> str:
    """Running text in which formulas, between dollars or written with commands, are Unicode."""
    pieces = words.split("$")
    return "".join(readable(piece) if place % 2 else _words(piece) for place, piece in enumerate(pieces))


def _words(piece: str) -> str:
    if "\\" not in piece:
        return piece
    inner = piece.strip()
    return piece.replace(inner, readable(inner))


def _scripts(text: str) -> str:
    before = None
    while before != text:  # from the inside out
        before, text = text, _WHOLE.sub(_apart, _SCRIPT.sub(_script, text))
    return re.sub(r"\{([^{}]*)\}", r"\1", text.replace(_LOW, "_").replace(_HIGH, "^").replace("∂ ", "∂"))


def _apart(match: re.Match[str]) -> str:
    """A fraction or a root, between brackets unless signs that part it from its neighbours stand on both sides."""
    before, inside, after = match.groups()
    parted = (not before or before in " ([{=≤≥<>+-−,;:∑∏") and (not after.strip() or after.strip() in ")]}=≤≥<>+-−,;:")
    return f"{before}{inside if parted else f'({inside})'}{after}"


def _script(match: re.Match[str]) -> str:
    sign, content = match[1], (match[2] if match[2] is not None else match[3]).strip()
    letters, table = (_LOWERABLE, _LOWERED) if sign == "_" else (_RAISABLE, _RAISED)
    if set(content) <= letters:
        return content.translate(table)
    if sign == "^" and content == "ᵀ":
        return content
    return (_LOW if sign == "_" else _HIGH) + (content if len(content) == 1 else f"({content})")
