"""What the symbols of a paper stand for, and which symbols of a claim nothing defines.

The package that declares the claims may hold a file `notation.yaml` for all its papers, and one in the folder of each
paper: lists of rows, each with a symbol in LaTeX (or several, with commas), its meaning, its shape, and where the paper
defines it.  A claim defines symbols itself: it introduces them in its statement ("with M = ...", "for every x in ...", an index,
what a sum runs over), its definitions do, or they are its inputs, which have shapes.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verify.evidence.data_files import data_file
from verify.report.introduced import introduced, left_of
from verify.report.symbols_in_latex import Node, Sign, Symbol, Words, every, nodes
from verify.report.typed_formulas import as_latex
from verify.vocabulary.assumptions import Construction, Convention, Definition, text_of
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError
from verify.vocabulary.shapes import Shape


@dataclass(frozen=True)
class NotationRow:
    """One row of a table: symbols, what they stand for, their shape, and where the source defines them."""

    symbol: str
    meaning: str
    shape: str = ""
    where: str = ""

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The symbols in the short form in which formulas are looked up."""
        found = tuple(node.pattern for node in nodes(self.symbol) if isinstance(node, Symbol))
        if not found:
            raise InputError("notation.yaml, symbol", "one symbol in LaTeX, or several", repr(self.symbol))
        return found


def row_of(data: Any, where: str) -> NotationRow:
    """A row as a file has it; raises `InputError`, which names the place, where it is none."""
    known = set(NotationRow.__dataclass_fields__)
    if not isinstance(data, Mapping) or not {"symbol", "meaning"} <= set(data) <= known:
        raise InputError(
            where, f"a mapping with symbol and meaning, and perhaps {', '.join(sorted(known))}", repr(data)
        )
    row = NotationRow(**{name: str(value) for name, value in data.items()})
    if not row.meaning.strip() or not row.names:
        raise InputError(f"{where}, meaning", "a few words", repr(row.meaning))
    return row


@functools.cache
def rows(package: str, key: str = "") -> tuple[NotationRow, ...]:
    """The table of one paper, or with no key of the whole package; empty where there is no such file."""
    source = data_file(package, f"{key}/notation.yaml" if key else "notation.yaml")
    if not source.is_file():
        return ()
    import yaml

    found = tuple(
        row_of(data, f"{source.name} of {key or package}, row {place}")
        for place, data in enumerate(yaml.safe_load(source.read_text(encoding="utf-8")) or (), 1)
    )
    names = [name for row in found for name in row.names]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{source.name} of {key or package}", "each symbol once", ", ".join(twice))
    return found


def table(claim: Claim) -> dict[str, NotationRow]:
    """The rows for a claim by the short form of their symbols: its paper's, and those common to all papers."""
    found = (*rows(claim.package), *rows(claim.package, claim.paper.key))
    return {name: row for row in found for name in row.names}


# -- what a claim defines ----------------------------------------------------------------------------------------------

#: Signs in a script that are a label and no index: with them a symbol is another one than without.
_LABELS = frozenset({"*", r"\star", r"\ast", r"\max", r"\min", r"\perp", r"\infty", r"\bullet"})
_COMMAS = (Sign(","), Sign(";"), Sign(":"), Sign("("), Sign(")"))
_DOLLARS = re.compile(r"(?<!\\)\$([^$]+)\$")


def undefined(claim: Claim) -> list[str]:
    """Symbols that a claim's statement, assumptions and remarks use and that neither it nor a table defines."""
    known = table(claim).keys() | defined_by(claim)
    found = [str(symbol) for symbol in used(claim) if not _is_known(symbol, known)]
    return list(dict.fromkeys(found))


def symbols_of(claim: Claim) -> list[NotationRow]:
    """The rows of the tables for the symbols of a statement and its assumptions, in order, then the claim's inputs with shapes."""
    known, found = table(claim), list[NotationRow]()
    for symbol in every(tuple(node for part in _parts(claim)[:2] for node in part)):
        for form, _ in symbol.forms():
            if form in known:
                found.append(known[form])
                break
    shown = {name for row in found for name in row.names}
    inputs = [
        NotationRow(name, "input", " × ".join(dims))
        for name, dims in input_shapes(claim).items()
        if _short(name) not in shown
    ]
    return list(dict.fromkeys([*found, *inputs]))


def used(claim: Claim) -> Iterator[Symbol]:
    """Every symbol of a claim's statement, assumptions and remarks."""
    for part in _parts(claim):
        yield from every(part)


def defined_by(claim: Claim) -> set[str]:
    """Short forms of the symbols that a claim introduces, defines or takes as inputs."""
    whole = table(claim)
    found = {_short(name) for name in (*input_shapes(claim), *claim.sizes)}
    found |= introduced(claim.statement, whole=whole)
    for item in claim.assumptions:
        read = _plain(text_of(item))
        found |= introduced(read, whole=whole)
        if isinstance(item, (Definition, Convention, Construction)):
            found |= _subjects(read)
    for text in _remarks(claim):
        found |= introduced(_prose(text), whole=whole)
        for formula in _DOLLARS.findall(text):
            found |= introduced(formula, prose=True, whole=whole)
    return found


def input_shapes(claim: Claim) -> dict[str, tuple[str, ...]]:
    """The inputs of a claim's functions, by name, with the sizes that their annotations give; () for a number."""
    found: dict[str, tuple[str, ...]] = {}
    for function in claim.named_functions().values():
        try:
            hints = inspect.get_annotations(function, eval_str=True)
        except (NameError, TypeError):  # of a callable object, or of names known to a type checker alone
            continue
        for name, hint in hints.items():
            for spec in getattr(hint, "__metadata__", ()):
                found.setdefault(name, tuple(map(str, spec.dims)) if isinstance(spec, Shape) else ())
    return found


def _parts(claim: Claim) -> list[tuple[Node, ...]]:
    """The statement, the assumptions, and each remark, read."""
    assumed = tuple(node for item in claim.assumptions for node in _plain(text_of(item)))
    return [nodes(claim.statement), assumed, *map(_formulas, _remarks(claim))]


def _remarks(claim: Claim) -> list[str]:
    found = (claim.note, claim.missing, claim.observed, claim.consequence)
    judged = (claim.reading.meaning if claim.reading else "", claim.doubt.reason if claim.doubt else "")
    return [text for text in (*found, *judged) if text]


def _formulas(text: str) -> tuple[Node, ...]:
    return tuple(node for formula in _DOLLARS.findall(text) for node in nodes(formula))


def _prose(text: str) -> tuple[Node, ...]:
    """Running text with formulas between dollars."""
    pieces = _DOLLARS.split(text)
    return tuple(
        node for place, piece in enumerate(pieces) for node in (nodes(piece) if place % 2 else (Words(piece),))
    )


def _plain(text: str) -> tuple[Node, ...]:
    """A text whose formulas are written as people type them: ||W_Q||_2 <= lambda_Q, or between dollars."""
    if "$" in text:
        return _prose(text)
    return nodes(as_latex(text))


def _subjects(found: tuple[Node, ...]) -> set[str]:
    """What a definition speaks of: symbols between its words, and left of its equals signs."""
    names = set[str]()
    for place, node in enumerate(found):
        before, after = (
            found[place - 1] if place else Words(""),
            found[place + 1] if place + 1 < len(found) else Words(""),
        )
        if isinstance(node, Sign) and node.text in ("=", ":"):
            names |= set(left_of(found, place))
        elif isinstance(node, Symbol) and all(isinstance(item, Words) or item in _COMMAS for item in (before, after)):
            names |= {str(node), node.name + node.primes}
    return names


def _short(name: str) -> str:
    """An input's name in the short form of formulas: W_Q, x_hat as hat x, lambda_min."""
    base, *rest = name.split("_")
    if rest and rest[-1] in ("hat", "tilde", "bar", "dot"):
        base, rest = f"{rest[-1]} {base}", rest[:-1]
    return base + (f"_{''.join(rest)}" if rest else "")


def _is_known(symbol: Symbol, known: Iterable[str]) -> bool:
    labelled = [
        part for part in (symbol.below, symbol.above) if len(part) == 1 and getattr(part[0], "text", "") in _LABELS
    ]
    for form, left in symbol.forms():
        apart = any(set(part) <= set(left) for part in labelled)
        if form in known and not apart and all(_script_is_known(node, known) for node in left):
            return True
    if symbol.primes:  # a second one of its kind, n' beside n
        return _is_known(Symbol(symbol.name, symbol.sub, symbol.sup, "", symbol.below, symbol.above), known)
    return False


def _script_is_known(node: Node, known: Iterable[str]) -> bool:
    if isinstance(node, Words):
        return False
    if isinstance(node, Symbol):
        return _is_known(node, known)
    return all(_script_is_known(part, known) for part in (*node.below, *node.above))
