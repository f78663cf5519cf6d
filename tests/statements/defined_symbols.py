"""The symbols of a claim that neither it nor a table of notation defines.

A claim defines symbols itself: it introduces them in its statement ("with M = ...", "for every x in ...", an index, what a sum
runs over), its definitions do, or they are its inputs, which have shapes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from tests.statements.introduced import introduced, left_of
from verify.report.notation import FORMULAS, input_shapes, plain, prose, short, table
from verify.report.symbols_in_latex import Node, Sign, Symbol, Words, every, nodes
from verify.vocabulary.assumptions import Construction, Convention, Definition, text_of
from verify.vocabulary.claims import Claim

#: Signs in a script that are a label and no index: with them a symbol is another one than without.
_LABELS = frozenset({"*", r"\star", r"\ast", r"\max", r"\min", r"\perp", r"\infty", r"\bullet"})
#: What uses symbols and what defines them reads the same texts, and many claims have the same assumptions.
formula_of, plain_of = functools.cache(nodes), functools.cache(plain)
_COMMAS = (Sign(","), Sign(";"), Sign(":"), Sign("("), Sign(")"))


def undefined(claim: Claim) -> list[str]:
    """Symbols that a claim's statement, assumptions and remarks use and that neither it nor a table defines."""
    known = table(claim).keys() | defined_by(claim)
    found = [str(symbol) for symbol in used(claim) if not _is_known(symbol, known)]
    return list(dict.fromkeys(found))


def used(claim: Claim) -> Iterator[Symbol]:
    """Every symbol of a claim's statement, assumptions and remarks."""
    yield from every(formula_of(claim.statement))
    for item in claim.assumptions:
        yield from every(plain_of(text_of(item)))
    for text in remarks(claim):
        for formula in FORMULAS.findall(text):
            yield from every(formula_of(formula))


def remarks(claim: Claim) -> list[str]:
    """The texts beside a claim's statement in which formulas stand."""
    found = (claim.note, claim.missing, claim.observed, claim.consequence)
    judged = (claim.reading.meaning if claim.reading else "", claim.doubt.reason if claim.doubt else "")
    return [text for text in (*found, *judged) if text]


def defined_by(claim: Claim) -> set[str]:
    """Short forms of the symbols that a claim introduces, defines or takes as inputs."""
    whole = table(claim)
    found = {short(name) for name in (*input_shapes(claim), *claim.sizes)}
    found |= introduced(formula_of(claim.statement), whole=whole)
    for item in claim.assumptions:
        read = plain_of(text_of(item))
        found |= introduced(read, whole=whole)
        if isinstance(item, (Definition, Convention, Construction)):
            found |= _subjects(read)
    for text in remarks(claim):
        found |= introduced(prose(text), whole=whole)
        for formula in FORMULAS.findall(text):
            found |= introduced(formula_of(formula), prose=True, whole=whole)
    return found


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
