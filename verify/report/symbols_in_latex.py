"""The symbols of a formula in LaTeX: letters with their accents and scripts, what binds them, and what defines them.

    >>> [str(symbol) for symbol in symbols(r"\\hat x_i = W_Q^\\top A^{(l)}")]
    ['hat x_i', 'W_Q', 'A^(l)']

A symbol is a letter, Greek or Latin, or a name of several letters (`\\operatorname{diag}`, `\\mathrm{MHA}`), with accents in front
and a subscript and a superscript behind.  Fonts make no other symbol, but for `\\mathbb` and `\\mathcal`.  Numbers, transposes
and signs in scripts are none; operators that LaTeX knows by name (`\\exp`, `\\max`) are none either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(r"\\(?:begin|end)\s*\{[^}]*\}(?:\{[lcr|]*\})?|\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
GREEK = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "vartheta", "iota", "kappa", "lambda",
    "mu", "nu", "xi", "pi", "rho", "varrho", "sigma", "tau", "upsilon", "phi", "varphi", "chi", "psi", "omega", "Gamma", "Delta",
    "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega", "ell", "hbar",
))  # fmt: skip
_FONTS = frozenset((
    "mathbf", "boldsymbol", "bm", "mathrm", "mathit", "mathsf", "mathtt", "operatorname", "textbf", "mathscr", "mathfrak",
))  # fmt: skip
_ALPHABETS = frozenset({"mathbb", "mathcal"})
_ACCENTS = {
    "hat": "hat", "widehat": "hat", "tilde": "tilde", "widetilde": "tilde", "bar": "bar", "overline": "bar", "dot": "dot",
    "ddot": "ddot", "vec": "vec", "check": "check", "underline": "underline",
}  # fmt: skip
_WORDS = frozenset({"text", "textit", "textrm", "mbox", "textsc"})
#: What only says how large or how far apart.
_LAYOUT = frozenset((
    "left", "right", "middle", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr", "Biggl", "Biggr",
    "textstyle", "displaystyle", "limits", "nolimits", "nonumber", "mathop", ",", ";", ":", "!",
))  # fmt: skip
#: What closes a norm or a product, whose subscript says which.
_NORMS = frozenset({r"\|", "|", r"\rVert", r"\rvert", r"\rangle"})
#: In a superscript: transposed, inverted, a conjugate.
_POWERS = frozenset({"T", r"\top", r"\intercal", r"\dagger", "+", "-", r"\pm", "/", ".", "1", "2"})


@dataclass(frozen=True)
class Symbol:
    """A symbol where it stands: its name with accents, and its scripts in short form."""

    name: str
    sub: str = ""
    sup: str = ""
    primes: str = ""
    below: tuple[Node, ...] = field(default=(), compare=False)  #: the subscript, read
    above: tuple[Node, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return self.name + self.primes + (f"_{self.sub}" if self.sub else "") + (f"^{self.sup}" if self.sup else "")

    def forms(self) -> Iterator[tuple[str, tuple[Node, ...]]]:
        """The symbol with all of its scripts, then with fewer, each with what was left off and has to be known by itself."""
        name = self.name + self.primes
        sub, sup = (f"_{self.sub}" if self.sub else ""), (f"^{self.sup}" if self.sup else "")
        yield name + sub + sup, ()
        for other in dict.fromkeys((sub.replace("'", ""), *(f"_{places}" for places in _places(self.below)))):
            if sub and other != sub:
                yield name + other + sup, self.below
                if sup:
                    yield name + other, (*self.below, *self.above)
        if sub and sup:
            yield name + sub, self.above
            yield name + sup, self.below
        if sub or sup:
            yield name, (*self.below, *self.above)

    @property
    def pattern(self) -> str:
        """The short form with # for each index, of a symbol in whose subscript are numbers and the letters i, j, k, l, n, ell."""
        names = {node.name for node in self.below if isinstance(node, Symbol)}
        if not names or names - set("ijkln") - {"ell"} or any(isinstance(node, Words) for node in self.below):
            return str(self)
        return str(Symbol(self.name, _places(self.below)[0], self.sup, self.primes))


@dataclass(frozen=True)
class Words:
    """Running text inside a formula."""

    text: str


@dataclass(frozen=True)
class Sign:
    """Anything else: a relation, a bracket, a number, an operator with what stands under it."""

    text: str
    below: tuple[Node, ...] = ()
    above: tuple[Node, ...] = ()


Node = Symbol | Words | Sign


def nodes(latex: str) -> tuple[Node, ...]:
    """A formula as symbols, words and signs in their order; braces are gone, fractions stand as numerator and denominator."""
    found: list[Node] = []
    for node in _Reader(latex).read():
        if isinstance(node, Words) and found and isinstance(found[-1], Words):
            found[-1] = Words(f"{found[-1].text} {node.text}")
        else:
            found.append(node)
    return tuple(found)


def symbols(latex: str) -> list[Symbol]:
    """All symbols of a formula, those in scripts behind the symbol that bears them."""
    return list(every(nodes(latex)))


def every(found: tuple[Node, ...]) -> Iterator[Symbol]:
    """All symbols among nodes, without those scripts that are part of a symbol's short form only by being numbers."""
    for node in found:
        if isinstance(node, Symbol):
            yield node
        elif isinstance(node, Sign):
            yield from every((*node.below, *node.above))


class _Reader:
    def __init__(self, latex: str) -> None:
        self.tokens = _TOKEN.findall(latex)
        self.place = 0

    def peek(self) -> str:
        while self.place < len(self.tokens) and self.tokens[self.place].isspace():
            self.place += 1
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        """The next token that is no space; nothing at the end."""
        token = self.peek()
        self.place += 1
        return token

    def read(self) -> Iterator[Node]:
        """What stands up to the end, or up to the brace that closes this group."""
        while token := self.take():
            if token == "}":
                return
            yield from self.one(token)

    def one(self, token: str) -> Iterator[Node]:
        command = token[1:] if token.startswith("\\") else ""
        if token == "{":
            inner = tuple(self.read())
            scripts = self.scripts()
            if len(inner) == 1 and isinstance(inner[0], Symbol) and any(scripts):  # {W_Q}^t
                yield _scripted(inner[0], scripts)
            else:
                yield from inner
                if any(scripts):
                    yield Sign("", *scripts[:2])
        elif command in _WORDS:
            yield Words(self.raw())
        elif command in _LAYOUT:
            return
        elif command in _FONTS:
            yield from self.named(self.raw(), plain=command not in ("operatorname",))
        elif command in _ALPHABETS:
            yield _scripted(Symbol(f"{command[4:]} {self.raw()}"), self.scripts())
        elif command in _ACCENTS:
            inner = tuple(self.argument())
            first, *rest = inner or (Sign(""),)
            if isinstance(first, Symbol) and not rest:
                yield _scripted(_accented(first, _ACCENTS[command]), self.scripts())
            else:  # over an expression
                yield from inner
        elif command in GREEK:
            yield _scripted(Symbol("epsilon" if command == "varepsilon" else command), self.scripts())
        elif len(token) == 1 and (token.isalpha() or (token == "1" and self.peek() == "_")):  # 1_n, a vector of ones
            yield _scripted(Symbol(token), self.scripts())
        else:
            below, above, _ = self.scripts()
            if token in _NORMS and len(below) == 1:  # ||x||_F is a norm of its own, f|_{x = 0} is none
                yield _scripted(Symbol("norm"), (below, above, ""))
            else:
                yield Sign(token, below, tuple(node for node in above if not _is_power(node)))

    def named(self, content: str, plain: bool) -> Iterator[Node]:
        """A letter in a font, or a name of several."""
        content = re.sub(r"\\(?:text|textrm|mathrm|operatorname)\s*\{([^{}]*)\}", r"\1", content)
        if len(content.strip()) == 1 or not plain or re.fullmatch(r"[A-Za-z][A-Za-z0-9 .-]*", content.strip()):
            yield _scripted(Symbol(re.sub(r"\\[,;!]|\s+", "", content)), self.scripts())
            return
        inner = nodes(content)
        if len(inner) == 1 and isinstance(inner[0], Symbol):
            yield _scripted(inner[0], self.scripts())
            return
        yield from inner
        yield Sign("", *self.scripts()[:2])

    def raw(self) -> str:
        """The argument of a command as it is written."""
        if self.peek() != "{":
            return self.take()
        depth, found = 0, []
        while self.place < len(self.tokens):
            token = self.tokens[self.place]
            self.place += 1
            depth += (token == "{") - (token == "}")
            if not depth:
                break
            found.append(token)
        return "".join(found[1:])

    def argument(self) -> Iterator[Node]:
        token = self.take()
        yield from self.read() if token == "{" else self.one_alone(token)

    def one_alone(self, token: str) -> Iterator[Node]:
        """An argument of one token: what stands behind it is no script of it."""
        if token.startswith("\\") and token[1:] in (_FONTS | _ALPHABETS | _WORDS | set(_ACCENTS)):
            yield from _Reader(token + "{" + self.raw() + "}").read()
        elif token:
            yield from _Reader(token).read()

    def scripts(self) -> tuple[tuple[Node, ...], tuple[Node, ...], str]:
        below: tuple[Node, ...] = ()
        above: tuple[Node, ...] = ()
        primes = ""
        while self.peek() in ("_", "^", "'", r"\limits", r"\nolimits"):
            sign = self.take()
            if sign == "'":
                primes += "'"
            elif sign == "_":
                below += tuple(self.argument())
            elif sign == "^":
                above += tuple(self.argument())
        return below, above, primes


def _accented(symbol: Symbol, accent: str) -> Symbol:
    return Symbol(f"{accent} {symbol.name}", symbol.sub, symbol.sup, symbol.primes, symbol.below, symbol.above)


def _scripted(symbol: Symbol, scripts: tuple[tuple[Node, ...], tuple[Node, ...], str]) -> Symbol:
    below, above, primes = scripts
    below, above = symbol.below + below, symbol.above + above
    if above and all(isinstance(node, Sign) and node.text == r"\prime" for node in above):
        primes, above = primes + "'" * len(above), ()
    above = tuple(node for node in above if not _is_power(node))
    return Symbol(symbol.name, _short(below), _short(above), symbol.primes + primes, below, above)


def _places(below: tuple[Node, ...]) -> tuple[str, str]:
    """A # for each index of a subscript, separated by commas or letters in a row: with numbers as they are, and without."""
    groups: list[list[Node]] = [[]]
    for node in below:
        if isinstance(node, Sign) and node.text in (",", ";"):
            groups.append([])
        else:
            groups[-1].append(node)
    if len(groups) == 1 and not any(isinstance(node, Sign) and not node.text.isdigit() for node in below):
        groups = [[node] for node in below]
    exact = "".join(
        group[0].text if len(group) == 1 and isinstance(group[0], Sign) and group[0].text.isdigit() else "#"
        for group in groups
    )
    return exact, "#" * len(groups)


def _is_power(node: Node) -> bool:
    """Whether it makes no other symbol of its base: transposed, squared, inverted."""
    if isinstance(node, Symbol):
        return node.name == "T" and not (node.sub or node.sup)
    return isinstance(node, Sign) and (node.text in _POWERS or node.text.isdigit())


def _short(found: tuple[Node, ...]) -> str:
    parts = [
        str(node) if isinstance(node, Symbol) else node.text.strip() if isinstance(node, Words) else node.text
        for node in found
    ]
    return re.sub(r"\s", "", "".join(parts)).replace("\\", "")
