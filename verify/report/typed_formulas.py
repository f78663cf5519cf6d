"""Formulas as people type them, ||W_Q||_2 <= lambda_Q, as LaTeX: what the assumptions of claims are written in."""

from __future__ import annotations

import re

from verify.report.symbols_in_latex import GREEK

#: Words of a text without dollars: commands and names of letters, small signs, words, everything else.
_PLAIN = re.compile(r"\\[A-Za-z]+|d(?=[A-Z](?![A-Za-z])|vec\b)|[A-Za-z]+|<=|>=|!=|->|\|\||.", re.DOTALL)
_PLAIN_SIGNS = {"<=": r"\le ", ">=": r"\ge ", "!=": r"\ne ", "->": r"\to ", "||": r"\|", "~": r"\sim ", "%": "",
                "#": "", "&": "", "$": ""}  # fmt: skip
#: Sections and results by their numbers, ids of claims, and the s of a genitive.
_PLACES = re.compile(
    r"\b[a-z]{3,}\.[a-z0-9][\w.]*-[\w.-]+|\b(?:Appendix|Appendices|Section|Table|Figure)\s+[A-Z]\b"
    r"|\b[A-Z]\.\d[\d.]*|(?<=\w)'s\b"
)
#: Names that are commands of LaTeX.
_OPERATORS = frozenset((
    "arccos", "cos", "cosh", "det", "exp", "inf", "int", "lim", "ln", "log", "max", "min", "prod", "sin", "sinh", "sqrt", "sum",
    "sup",
))  # fmt: skip
#: Behind the letter A or a these say that it is a symbol and no article.
_VERBS = frozenset({"and", "are", "as", "at", "for", "from", "has", "have", "in", "is", "of", "on", "or", "to", "with"})
#: What is typed for a command.
_COMMANDS = (
    (re.compile(r"\bR\^(?=[{A-Za-z])"), r"\\mathbb R^"),
    (re.compile(r"\(x\)"), r"\\otimes "),
    (re.compile(r"(?<=[\w)]) x (?=[\w(])"), r" \\times "),
    (re.compile(r"\b([A-Za-z]\w*)_(hat|tilde|bar|dot)\b"), r"\\\2{\1}"),
    (re.compile(r"\b([a-z])\^(?=[\s,;)\]}]|$)"), r"\\hat{\1}"),  # c^
    (re.compile(r"\^(\([^()]*\))"), r"^{\1}"),
    (re.compile(r"\^([A-Za-z])T\b"), r"^{\1 T}"),
)


def as_latex(text: str) -> str:
    """The text as LaTeX, its words inside ``\\text``.

        >>> as_latex("tau_0 > 0 for X in R^{n x d}")
        '\\\\tau _0 > 0 \\\\text{for} X \\\\in  \\\\mathbb R^{n \\\\times d}'

    In what is written in LaTeX already, with commands, a script without braces is one letter; elsewhere it is the word.
    """
    in_latex = "\\" in text
    found, tokens, depth = list[str](), _PLAIN.findall(_prepared(text, in_latex)), 0
    for place, token in enumerate(tokens):
        before, after = tokens[place - 1] if place else "", "".join(tokens[place + 1 : place + 3])
        depth += bool(token == "{" and (depth or before in ("_", "^"))) - bool(token == "}" and depth)
        script = bool(depth) or before in ("_", "^")
        if token in _PLAIN_SIGNS:
            found.append(_PLAIN_SIGNS[token])
        elif token in GREEK or token in _OPERATORS:
            found.append(f"\\{token} ")
        elif token == "in" and re.match(r"\s(?:R\b|Z\b|\{|\(|\[|\\)", "".join(tokens[place + 1 : place + 4])):
            found.append(r"\in ")
        elif token.isalpha() and (len(token) > 1 or _is_article(token, before, after)):
            argument = before == "{" and tokens[place - 2].startswith("\\")  # of \text{multi}
            indices = script and (in_latex or set(token) <= set("ijklmnpqrst"))
            product = token.isupper() and len(token) < 4 and after.startswith(("_", "^"))
            if argument or indices or product:
                found.append(token if argument or depth else f"{{{token}}}")
            else:
                found.append(rf"\mathrm{{{token}}}" if script or after.startswith(("_", "^")) else rf"\text{{{token}}}")
        elif token in ("_", "^") and not "".join(found).strip():
            continue
        else:
            found.append(token)
    return "".join(found)


def _prepared(text: str, in_latex: bool) -> str:
    """The text without references, with what stands for a command put as one."""
    text = _PLACES.sub("", text)
    if in_latex:
        text = re.sub(r"([_^])(?!max|min)([A-Za-z])(?=[A-Za-z])", r"\1{\2} ", text)
    for typed, latex in _COMMANDS:
        text = typed.sub(latex, text)
    return text


def _is_article(letter: str, before: str, after: str) -> bool:
    """Whether a single letter is a word: "a" and "A" before another word."""
    word = after.strip()
    return (
        letter in "aA"
        and before in ("", " ", "(")
        and after.startswith(" ")
        and word.isalpha()
        and word not in _VERBS
        and len(word) > 1
    )
