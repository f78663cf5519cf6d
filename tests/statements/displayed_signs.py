"""Whether the relation that a statement displays is the one that is compared.

What stands in front of a colon or an arrow of implication is a condition, and so is what "for", "if" or "where" introduce;
"so that" introduces a consequence, which is not compared.  Of the signs that are left each kind of relation has to show one of
its own, and an identity no inequality.  A statement without any sign speaks in words, and is read by people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.statements.introduced import CLOSING, OPENING
from verify.report.symbols_in_latex import Node, Sign, Symbol, Words, nodes
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import (
    AtMost,
    Equal,
    FollowsLaw,
    HasStructure,
    OrderOfGrowth,
    Relation,
    TendsTo,
    by_type,
)

_EQUAL = frozenset({"=", r"\equiv", r"\propto", r"\triangleq", r"\coloneqq"})
_INEQUALITIES = frozenset(
    {
        "<",
        ">",
        r"\le",
        r"\leq",
        r"\ge",
        r"\geq",
        r"\ll",
        r"\gg",
        r"\lesssim",
        r"\gtrsim",
        r"\preceq",
        r"\succeq",
        r"\ne",
        r"\neq",
    }
)
_NEAR = frozenset({r"\approx", r"\simeq"})
_LIMITS = frozenset({r"\to", r"\rightarrow", r"\lim", r"\longrightarrow"})
_LAWS = frozenset({r"\sim", "P", "Pr", r"\Pr", "bb P", "bb E", "E", "Var", "Cov", "cal N"})
_ORDERS = frozenset({"O", "cal O", "tilde O", "tilde cal O", "Omega", "tilde Omega", "Theta"})

#: Letters that are signs only where a bracket stands behind them.
_OF_ARGUMENTS = frozenset({"P", "E", "O", "Omega", "Theta", "tilde O"})
#: The signs of which a statement of each kind shows one.
SIGNS: dict[type[Relation], frozenset[str]] = {
    Equal: _EQUAL | _NEAR,
    HasStructure: _EQUAL | _INEQUALITIES,
    AtMost: _INEQUALITIES | _ORDERS,
    TendsTo: _LIMITS,
    FollowsLaw: _LAWS,
    OrderOfGrowth: _ORDERS,
}
_ALL = frozenset().union(*SIGNS.values())
#: Signs that a statement of this kind does not assert.
FOREIGN: dict[type[Relation], frozenset[str]] = {Equal: _INEQUALITIES - {r"\ne", r"\neq"}}
#: Words behind which a condition or a consequence stands, up to the next words, a semicolon or a wide space.
_ASIDE = re.compile(
    r"(?:^|[\s(])(?:as|at|because|for|given|if|in|let|on|once|provided|since|suppose|though|under|unless|until|when|whenever|where"
    r"|while|with|exactly if|so|so that|hence|that is|therefore|thus)(?:\s+[\w-]+){0,3}\s*$",
    re.IGNORECASE,
)
#: Those of which what they introduce ends at a comma; behind "with" and "where" there may be a list.
_WEAK = re.compile(
    r"(?:^|[\s(])(?:as|at|for|given|if|in|on|suppose|under|when|whenever)(?:\s+[\w-]+){0,3}\s*$", re.IGNORECASE
)
#: From so many words on a printed statement is a sentence.
SENTENCE = 12
#: Words with which a note says what is compared.
_SAYS = re.compile(r"\b(?:checked|compared|decided|judged|proved|read as|tested)\b", re.IGNORECASE)
_FROM_HERE = frozenset({":", r"\colon", r"\Rightarrow", r"\implies", r"\Longrightarrow"})
_APART = frozenset({";", r"\quad", r"\qquad"})
#: What a law or a limit may be called in words.
_IN_WORDS: dict[type[Relation], re.Pattern[str]] = {
    AtMost: re.compile(r"at (?:most|least)\b|below|above|between|lies? in|decreas|increas|bounded|exceed", re.I),
    FollowsLaw: re.compile(
        r"normal|probab|random|draw|\blaw\b|expect|variance|\bmean\b|uncorrelated|independent|w\.p\.|initiali", re.I
    ),
    TendsTo: re.compile(r"tends?\b|limit|converg|infinit|grows", re.I),
    OrderOfGrowth: re.compile(r"order|complexity|cost|memory|scales", re.I),
}


def asserted_signs(statement: str) -> set[str]:
    """The signs of a statement's formulas that are asserted, without those of conditions, consequences and domains."""
    return {sign for part in _split(nodes(statement), frozenset({";"})) for sign in _asserted(part)}


def _asserted(found: tuple[Node, ...]) -> set[str]:
    """Those behind the last colon or arrow of implication behind which something is asserted."""
    starts, depth = [0], 0
    for place, node in enumerate(found):
        text = node.text if isinstance(node, Sign) else ""
        depth += (text in OPENING) - (text in CLOSING and depth > 0)
        defines = place + 1 < len(found) and found[place + 1] == Sign("=")  # :=
        if text in _FROM_HERE and not depth and not defines:
            starts.append(place + 1)
    for start in reversed(starts):
        words = sum(len(node.text.split()) for node in found[start:] if isinstance(node, Words))
        if (signs := set(_signs(found[start:]))) or words > 2:  # else what is asserted stands before, or in words
            return signs
    return set()


def _signs(found: tuple[Node, ...]) -> Iterator[str]:
    aside = weak = False
    inside = 0  # of the braces of a set
    for number, clause in enumerate(_split(found, frozenset({","}))):
        bound = clause[-1] if clause else None
        domain = number > 0 and len(clause) <= 5 and isinstance(bound, Sign) and bound.text.isdigit()  # n >= 2
        aside = aside and not weak
        for node in clause:
            if isinstance(node, Words):
                aside, weak = bool(_ASIDE.search(node.text)), bool(_WEAK.search(node.text))
            elif isinstance(node, Sign) and node.text in (r"\{", r"\}"):
                inside += 1 if node.text == r"\{" else -1
            elif isinstance(node, Sign) and node.text in _APART:
                aside = False
            elif not aside and not domain and not inside:
                name = node.name if isinstance(node, Symbol) else node.text
                if name in _ALL and (name not in _OF_ARGUMENTS or _opens(clause, node)):
                    yield name


def _opens(clause: tuple[Node, ...], node: Node) -> bool:
    """Whether a bracket stands behind a letter: E[x] is an expectation, E alone a matrix."""
    place = next(at for at, other in enumerate(clause) if other is node)
    after = clause[place + 1] if place + 1 < len(clause) else None
    return isinstance(after, Sign) and after.text in OPENING | {"|"}


def _split(found: tuple[Node, ...], signs: frozenset[str]) -> Iterator[tuple[Node, ...]]:
    """The parts between signs outside of brackets."""
    start = depth = 0
    for place, node in enumerate(found):
        text = node.text if isinstance(node, Sign) else ""
        depth += (text in OPENING) - (text in CLOSING and depth > 0)
        if text in signs and not depth:
            yield found[start:place]
            start = place + 1
    yield found[start:]


def problem_of(claim: Claim) -> str:
    """How the displayed relation differs from the one that is compared; empty where it does not, or where it is said.

    What is printed stands as it is, so that its note, reading or set-up has to say what is compared; a sentence asserts in words.
    """
    said = " ".join(filter(None, (claim.note, claim.observed, str(claim.reading or ""), str(claim.doubt or ""))))
    words = sum(len(node.text.split()) for node in nodes(claim.statement) if isinstance(node, Words))
    if not claim.of_project and (words >= SENTENCE or _SAYS.search(said)):
        return ""
    return difference(claim)


def difference(claim: Claim) -> str:
    """How the displayed relation differs from the one that is compared, whether that is said or not."""
    signs, relation = asserted_signs(claim.statement), claim.relation
    words = " ".join(node.text for node in nodes(claim.statement) if isinstance(node, Words))
    in_words = by_type(_IN_WORDS, relation)
    said = in_words is not None and in_words.search(words)
    if not signs or said:
        return ""
    if not signs & (by_type(SIGNS, relation) or _ALL):
        return f"compared is {relation.kind!r}, displayed {', '.join(sorted(signs))}"
    if foreign := signs & (by_type(FOREIGN, relation) or frozenset()):
        return f"compared is {relation.kind!r}, displayed besides {', '.join(sorted(foreign))}"
    return ""
