"""Which symbols a formula, a note or an assumption introduces itself.

They are: what a sum, a maximum, a limit or an integral runs over; what stands behind "for every"; what is an element of a set or
has a law; what stands left of := ; what is said to be something behind "with", "where" or "let"; what is an index, a small
letter in a subscript; in a condition in front, what is positive, nonnegative, or not zero.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

from verify.report.symbols_in_latex import Node, Sign, Symbol, Words, every, nodes

_RUNNING = frozenset(
    {r"\sum", r"\prod", r"\max", r"\min", r"\sup", r"\inf", r"\lim", r"\int", r"\bigcup", r"\bigcap", r"\bigoplus"}
)
_QUANTIFIERS = frozenset({r"\forall", r"\exists"})
_ELEMENT = frozenset({r"\in", r"\sim", r"\mapsto", r"\subset", r"\subseteq"})
_DEFINING = frozenset({r"\triangleq", r"\coloneqq", r"\coloneq", r"\equiv", r"\leftarrow"})
_RELATIONS = (
    _ELEMENT
    | _DEFINING
    | frozenset({"=", "<", ">", r"\le", r"\leq", r"\ge", r"\geq", r"\ne", r"\neq", r"\to", r"\approx", r"\ll", r"\gg"})
)
_NOT_ZERO = frozenset({">", r"\ge", r"\geq", r"\ne", r"\neq", r"\to"})
OPENING, CLOSING = frozenset({"(", "[", r"\{", r"\langle"}), frozenset({")", "]", r"\}", r"\rangle"})
#: Words behind which a symbol is new: "for every x", "a unit vector x", "the gap g", "for numbers a, b".
_NO_PREPOSITION = r"(?:\s+(?!(?:and|as|at|by|for|from|in|is|of|on|or|than|to|with)\b)[\w-]+){1,3}"
_NEW = re.compile(
    r"(?:^|[\s(])(?:with|where|let|for|for (?:all|any|each|every|some)|an?|any|both|each|every|say|some|write|there (?:is|are)"
    rf"|(?:all|an?|any|each|every|its|no|some|the|their|three|two|unit){_NO_PREPOSITION}"
    r"|(?:and|at|for|over|with) (?:columns|factors|matrices|numbers|rows|singular values|singular vectors|unit vectors|vectors)"
    r")\s*$",
    re.IGNORECASE,
)
#: Words in front of which stands what they explain: "kappa the largest column sum".
_APPOSED = re.compile(r"\s*(?:the|an?|any|all|row|as in|as for|stands? for|being|denotes?)\b")
_OF_NUMBER = re.compile(r"probability at (?:least|most)\s*$|with probability\s*$|at (?:least|most)\s*$", re.IGNORECASE)


def introduced(latex: str | Sequence[Node], prose: bool = False, whole: Container[str] = ()) -> set[str]:
    """Short forms of the symbols that a formula introduces; in `prose`, also what a formula begins with and is equal to.

    Scripts of symbols that are known as a `whole`, the s of d_s, are no indices.
    """
    found = tuple(nodes(latex) if isinstance(latex, str) else latex)
    return {*_introduced(found, prose), *_indices(found, whole), *_set_equal(found)}


def _set_equal(found: tuple[Node, ...]) -> Iterator[str]:
    """What a condition in front sets equal to something, and what a later clause does after the symbol was used."""
    condition, used, start, depth = _end_of_condition(found), set[str](), 0, 0
    for place, node in enumerate((*found, Sign(","))):
        sign = node.text if isinstance(node, Sign) else ""
        depth += (sign in OPENING) - (sign in CLOSING and depth > 0)
        ends = isinstance(node, Words) or (
            not depth and sign in (",", ";", ":", r"\quad", r"\qquad", r"\\", r"\Rightarrow")
        )
        if not ends:
            continue
        clause = found[start:place]
        while clause and _is(clause[0], "\\ "):
            clause = clause[1:]
        if isinstance(node, Words) and _APPOSED.match(node.text):
            yield from _apposed(clause)
        equals = next((at for at, part in enumerate(clause) if _is(part, "=") or _is(part, "~")), 0)
        if equals and not (len(clause) == equals + 2 and _is_number(clause[equals + 1 :])):
            left = set(left_of(clause, equals))
            alone = equals == 1 or _is(clause[equals - 1], ")")
            if left and alone and (place <= condition or left & used):
                yield from left
        used |= {name for symbol in every(clause) for name in (symbol.name, *_names(symbol))}
        start = place + 1


def _introduced(found: tuple[Node, ...], prose: bool) -> Iterator[str]:
    listing = False  # inside a list of definitions, "with a = ..., b = ..."
    condition = _end_of_condition(found)
    for place, node in enumerate(found):
        before = found[place - 1] if place else Sign("")
        if isinstance(node, Sign):
            if node.text in _RUNNING:
                yield from _heads(node.below)
            elif node.text in _QUANTIFIERS:
                yield from _heads(found[place + 1 :])
            elif node.text in _ELEMENT:
                yield from _list_before(found, place)
                yield from _sizes(found[place + 1 :])
            elif node.text in _DEFINING or (node.text == "=" and _is(before, ":")):
                yield from left_of(found, place - (node.text == "="))
            elif node.text == ":" and _is(before, "="):
                yield from _heads(found[place + 1 : place + 2])
            elif node.text in _NOT_ZERO and place < condition and _is_number(found[place + 1 : place + 2]):
                yield from _list_before(found, place)
            elif node.text == r"\to":
                yield from _scaling(found, place)
            if node.text in (";", "."):
                listing = False
            elif node.text in (",", r"\\", r"\quad", r"\qquad") and listing:
                yield from _defined_next(found[place + 1 :])
        elif isinstance(node, Words):
            if re.match(r"\s*in\s*$", node.text):
                yield from _list_before(found, place)
            if _NEW.search(node.text) and not _OF_NUMBER.search(node.text):
                listing = True
                yield from _heads(found[place + 1 :])
                yield from _left_of_equals(found[place + 1 :])
            elif listing and re.search(r"(?:^|\s)(?:and|or)\s*$", node.text):
                yield from _defined_next(found[place + 1 :])
            elif re.search(r"[.;]\s*\w*\s*$", node.text) or len(node.text.split()) > 3:
                listing = False
        else:
            if node.name in ("bb E", "bb P", "E", "P", "Var", "Pr"):
                yield from _heads(node.below)
            if node.name == "d" and not (node.sub or node.sup) and _variable(found[place + 1 : place + 2]):
                yield "d"
                if any(_is(other, r"\int") for other in found):
                    yield from _names(found[place + 1])
            yield from _introduced(node.below, False)
            yield from _introduced(node.above, False)
    if prose:
        yield from _left_of_equals(found)


def _apposed(clause: tuple[Node, ...]) -> Iterator[str]:
    """The symbols of a clause that consists of nothing else, with commas dropped before it."""
    if len(clause) == 1 or (clause and _is(clause[-1], ")")):
        yield from left_of(clause, len(clause))


def _scaling(found: tuple[Node, ...], place: int) -> Iterator[str]:
    """The factor of a scaling: s of X -> s X."""
    if place and isinstance(found[place - 1], Symbol) and len(found) > place + 2:
        scale, same = found[place + 1 : place + 3]
        if isinstance(scale, Symbol) and same == found[place - 1]:
            yield from _names(scale)


def _end_of_condition(found: tuple[Node, ...]) -> int:
    """Where the condition in front ends: at a colon, an arrow of implication, or a word that says so; 0 without one."""
    for place, node in enumerate(found):
        after = found[place + 1] if place + 1 < len(found) else Sign("")
        if isinstance(node, Sign) and (
            node.text in (r"\Rightarrow", r"\implies", r"\Longrightarrow", r"\iff")
            or (node.text in (":", r"\colon") and not _is(after, "="))
        ):
            return place
        if isinstance(node, Words) and (":" in node.text or re.search(r"\b(?:then|one has|we have)\b", node.text)):
            return place
    return 0


def _indices(found: tuple[Node, ...], whole: Container[str]) -> Iterator[str]:
    """Small Latin letters in subscripts, and in superscripts between brackets."""
    for node in found:
        if isinstance(node, Words):
            continue
        left = (*node.below, *node.above)
        if isinstance(node, Symbol):
            left = next((rest for form, rest in node.forms() if form in whole), left)
        below, above = (part if set(part) <= set(left) else () for part in (node.below, node.above))
        yield from _letters(below)
        if above and _is(above[0], "("):
            yield from _letters(above)
        yield from _indices(left, whole)


def _letters(found: tuple[Node, ...]) -> Iterator[str]:
    for node in found:
        if isinstance(node, Symbol) and len(node.name) == 1 and node.name.islower() and not node.sup:
            yield node.name + node.primes
            yield str(node)


def _is(node: Node, text: str) -> bool:
    return isinstance(node, Sign) and node.text == text


def _is_number(found: tuple[Node, ...]) -> bool:
    return (
        bool(found)
        and isinstance(found[0], Sign)
        and (found[0].text.isdigit() or found[0].text in (r"\infty", r"\tfrac", r"\frac"))
    )


def _variable(found: tuple[Node, ...]) -> bool:
    return bool(found) and isinstance(found[0], Symbol)


def _names(node: Node) -> Iterator[str]:
    if isinstance(node, Symbol):
        yield str(node)
        yield node.name + node.primes


def _heads(found: Sequence[Node]) -> Iterator[str]:
    """The symbols, separated by commas, with which a clause begins."""
    for node in found:
        if isinstance(node, Symbol):
            yield from _names(node)
        elif isinstance(node, Words) and node.text.strip(" ,") in ("", "and", "or"):
            continue
        elif not (
            isinstance(node, Sign)
            and node.text in (",", "(", ")", r"\dots", r"\ldots", r"\cdots", "\\ ", r"\ne", r"\neq", "'")
        ):
            return


def _list_before(found: tuple[Node, ...], place: int) -> Iterator[str]:
    """The symbols, separated by commas, that end before a sign."""
    for node in reversed(found[:place]):
        if isinstance(node, Symbol):
            yield from _names(node)
        elif not (
            isinstance(node, Sign) and node.text in (",", ")", "(", r"\dots", r"\ldots", r"\cdots", r"\ne", r"\neq")
        ):
            return


def _sizes(found: Sequence[Node]) -> Iterator[str]:
    """The sizes of a set of matrices: n and d of R^{n x d}."""
    if found and isinstance(found[0], Symbol) and found[0].name.startswith(("bb ", "cal ")):
        for node in found[0].above:
            yield from _names(node)


def left_of(found: tuple[Node, ...], place: int) -> Iterator[str]:
    """What is defined left of a sign: a symbol, or a function with its arguments."""
    if not place:
        return
    last = found[place - 1]
    if isinstance(last, Symbol):
        yield from _names(last)
    elif isinstance(last, Sign) and last.text in CLOSING:
        depth = 0
        for at in range(place - 1, -1, -1):
            node = found[at]
            text = node.text if isinstance(node, Sign) else ""
            depth += (text in CLOSING) - (text in OPENING)
            yield from _names(node)
            if not depth:
                if at:
                    yield from _names(found[at - 1])
                return


def _left_of_equals(found: Sequence[Node]) -> Iterator[str]:
    """The symbol at the beginning, or the function with its arguments, if an equals sign or another relation is next."""
    for place, node in enumerate(found[:8]):
        if isinstance(node, Sign) and node.text in _RELATIONS:
            yield from left_of(tuple(found), place)
            return
        if isinstance(node, Words):
            return


def _defined_next(found: Sequence[Node]) -> Iterator[str]:
    while found and isinstance(found[0], Sign) and found[0].text in ("\\ ", ",", r"\quad", r"\qquad"):
        found = found[1:]
    yield from _left_of_equals(found)
