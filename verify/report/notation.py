"""What the symbols of a paper stand for.

The package that declares the claims may hold a file `notation.yaml` for all its papers, and one in the folder of each
paper: lists of rows, each with a symbol in LaTeX (or several, with commas), its meaning, its shape, and where the paper
defines it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verify.checks.free_inputs import hints_of
from verify.evidence.data_files import data_file, read_yaml
from verify.report.symbols_in_latex import Node, Symbol, Words, every, nodes
from verify.report.typed_formulas import as_latex
from verify.vocabulary.assumptions import text_of
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
    found = tuple(
        row_of(data, f"{source.name} of {key or package}, row {place}")
        for place, data in enumerate(read_yaml(source) or (), 1)
    )
    names = [name for row in found for name in row.names]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{source.name} of {key or package}", "each symbol once", ", ".join(twice))
    return found


def table(claim: Claim) -> dict[str, NotationRow]:
    """The rows for a claim by the short form of their symbols: its paper's, and those common to all papers."""
    found = (*rows(claim.package), *rows(claim.package, claim.paper.key))
    return {name: row for row in found for name in row.names}


# -- the symbols of a claim --------------------------------------------------------------------------------------------

#: A formula in running text.
FORMULAS = re.compile(r"(?<!\\)\$([^$]+)\$")


def symbols_of(claim: Claim) -> list[NotationRow]:
    """The rows of the tables for the symbols of a statement and its assumptions, in order, then the claim's inputs with shapes."""
    known, found = table(claim), list[NotationRow]()
    for symbol in every(stated(claim)):
        for form, _ in symbol.forms():
            if form in known:
                found.append(known[form])
                break
    shown = {name for row in found for name in row.names}
    inputs = [
        NotationRow(name, "input", " × ".join(dims))
        for name, dims in input_shapes(claim).items()
        if short(name) not in shown
    ]
    return list(dict.fromkeys([*found, *inputs]))


def input_shapes(claim: Claim) -> dict[str, tuple[str, ...]]:
    """The inputs of a claim's functions, by name, with the sizes that their annotations give; () for a number."""
    found: dict[str, tuple[str, ...]] = {}
    for function in claim.named_functions().values():
        for name, hint in hints_of(function).items():
            for spec in getattr(hint, "__metadata__", ()):
                found.setdefault(name, tuple(map(str, spec.dims)) if isinstance(spec, Shape) else ())
    return found


def stated(claim: Claim) -> tuple[Node, ...]:
    """The statement and the assumptions, read."""
    return (*nodes(claim.statement), *(node for item in claim.assumptions for node in plain(text_of(item))))


def prose(text: str) -> tuple[Node, ...]:
    """Running text with formulas between dollars."""
    pieces = FORMULAS.split(text)
    return tuple(
        node for place, piece in enumerate(pieces) for node in (nodes(piece) if place % 2 else (Words(piece),))
    )


def plain(text: str) -> tuple[Node, ...]:
    """A text whose formulas are written as people type them: ||W_Q||_2 <= lambda_Q, or between dollars."""
    if "$" in text:
        return prose(text)
    return nodes(as_latex(text))


def short(name: str) -> str:
    """An input's name in the short form of formulas: W_Q, x_hat as hat x, lambda_min."""
    base, *rest = name.split("_")
    if rest and rest[-1] in ("hat", "tilde", "bar", "dot"):
        base, rest = f"{rest[-1]} {base}", rest[:-1]
    return base + (f"_{''.join(rest)}" if rest else "")
