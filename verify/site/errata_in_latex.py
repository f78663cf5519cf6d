"""The errata of a paper as a LaTeX document."""

from __future__ import annotations

import re
import unicodedata

from pylatexenc.latexencode import UnicodeToLatexEncoder

from verify.report.citations import edition
from verify.report.errata import Erratum, remarks_of
from verify.report.wording import sentence, titled
from verify.site.page_parts import GREEK
from verify.vocabulary.sections import Paper

#: What signs are called in a listing.
_WORDS = {"…": "...", "≤": "<=", "≥": ">=", "‖": "||", "·": "*", "−": "-", "–": "-", "“": '"', "”": '"', "’": "'"}

_ENCODER = UnicodeToLatexEncoder(unknown_char_policy="replace", unknown_char_warning=False)

_HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[margin=2.5cm]{geometry}
\usepackage{amsmath,amssymb,bm,mathtools,mathrsfs,graphicx,listings}
\lstset{basicstyle=\ttfamily\small,breaklines=true,columns=fullflexible}
% a formula no wider than the page
\newcommand{\printed}[1]{\[\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{$\displaystyle #1$}\]}
\begin{document}
"""


def as_latex(paper: Paper, items: list[Erratum], shortfalls: list[str]) -> str:
    """One section per erratum: as printed, what is wrong, counterexamples, correction."""
    lines = [_HEAD + rf"\section*{{Errata: {encoded(paper.title)}}}", encoded(paper.citation) + ".", ""]
    lines += [encoded(edition(paper)), ""] * bool(paper.checked)
    for text in shortfalls:
        lines += [rf"\textbf{{{encoded(text)}}}", ""]
    for item in items:
        lines += _section(item)
    return "\n".join([*lines, r"\end{document}", ""])


def _section(item: Erratum) -> list[str]:
    claim = item.claim
    lines = [rf"\subsection*{{{encoded(titled(claim))}: {encoded(item.status)}}}"]
    lines += ["As printed:", rf"\printed{{{claim.statement}}}", encoded(sentence(item.verdict.why)), ""]
    if claim.consequence:
        lines += [rf"\emph{{What follows:}} {encoded(sentence(claim.consequence))}", ""]
    for counterexample in item.counterexamples:
        lines += [rf"Counterexample ({encoded(counterexample.certificate['title'])}):"]
        lines += [r"\begin{lstlisting}", counterexample.snippet]
        lines += [_in_ascii(f"# {name}: {value}") for name, value in counterexample.sides]
        lines += [r"\end{lstlisting}", ""]
    if item.elsewhere:
        lines += [rf"Counterexamples that it shares: see {encoded(', '.join(item.elsewhere))}.", ""]
    for correction, verdict in item.corrections:
        lines += [rf"Correction ({encoded(verdict.status)}):", rf"\printed{{{correction.statement}}}", ""]
    for name, remark in remarks_of(claim):
        lines += [f"{name}: {encoded(remark)}", ""]
    return lines


def _in_ascii(text: str) -> str:
    """Text for a listing, which takes no other characters: Greek letters by name, accents left out."""
    named = "".join(_WORDS.get(letter) or GREEK.get(letter.lower(), letter) for letter in text)
    return unicodedata.normalize("NFKD", named).encode("ascii", "ignore").decode("ascii")


def encoded(text: str) -> str:
    """Text in which nothing is special to LaTeX but the formulas between dollars."""
    pieces = re.split(r"(?<!\\)(\$[^$]+\$)", text)
    return "".join(piece if place % 2 else str(_ENCODER.unicode_to_latex(piece)) for place, piece in enumerate(pieces))
