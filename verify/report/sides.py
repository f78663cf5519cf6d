"""The two sides of a statement: what they are called, and where a counterexample puts them."""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from verify.vocabulary.claims import Claim

#: Longest description that a side is called by.
LONGEST = 72
#: What a docstring says beside what a function is: shapes, where it is printed.
_SHAPE = re.compile(r",? (?:each )?(?:of )?shapes? \(|, (?:an? )?(?:scalar|vector|matrix|number)s?\b")
_WHERE = re.compile(
    r"\s*\((?:Eqs?|Section|Lemma|Theorem|Proposition|Appendix|Table|Remark|Corollary|Definition)[^()]*(?:\([^()]*\)[^()]*)*\)$"
)
_SENTENCE = re.compile(r"(?<!Eq)(?<!Eqs)(?<!Fig)(?<!cf)(?<!i\.e)(?<!e\.g)\.(?:\s|$)|\n\s*\n|[;:] ")
_ROUNDING = 2.0**-53
#: A name of nothing but zero, perhaps with a word on why; a minus sign at the start of a name.
_ZERO = re.compile(r"0(,|$)")
_MINUS = re.compile(r"-(?=\w)|minus ")
_SUM = re.compile(r" (?:[+-]|plus|minus) ")
_BRACKETS = re.compile(r"\([^()]*\)")
T = TypeVar("T")


@dataclass(frozen=True)
class Sides:
    """What the two sides of a statement are called, and the sign that the statement puts between them."""

    left: str
    right: str
    sign: str


def sides_of(claim: Claim) -> Sides:
    """The names that the claim gives, else what the docstrings or names of its functions say."""
    relation = claim.relation
    if relation.one_sided:
        left = relation.left or (described(claim.the_oracle) if claim.has_oracle else "") or "left side"
        right = relation.right or described(claim.the_formula) or "right side"
        return Sides(*((left, right) if left != right else (f"{left}, left", f"{right}, right")), "≤")
    printed = "as stated" if claim.of_project else "as printed"
    return Sides(relation.left or printed, relation.right or "in truth", "=")


def described(function: Callable[..., Any]) -> str:
    """A few words on what a function computes: the start of its docstring, else its name, else its expression as code."""
    inner = inspect.unwrap(function)
    if inner.__doc__:
        return _first_clause(inner.__doc__)
    if inner.__name__ == "<lambda>":
        return _expression(inner)
    return inner.__name__.strip("_").replace("_", " ")


def _first_clause(docstring: str) -> str:
    sentence = _SHAPE.split(" ".join(_SENTENCE.split(docstring.strip(), maxsplit=1)[0].split()), maxsplit=1)[0]
    sentence = _WHERE.sub("", sentence.rstrip(". "))
    if len(sentence) > LONGEST:
        sentence = _shortened(sentence)
    if sentence[:1].isupper() and sentence[1:2].islower():
        sentence = sentence[0].lower() + sentence[1:]
    return sentence


def _shortened(sentence: str) -> str:
    """Up to the last comma or `for` that fits, outside brackets; else cut with an ellipsis."""
    ends = [
        m.start()
        for m in re.finditer(r", | for | of | with | at ", sentence[:LONGEST])
        if _closed(sentence[: m.start()])
    ]
    return sentence[: ends[-1]] if ends and ends[-1] > LONGEST // 3 else sentence[: LONGEST - 1] + "…"


def _closed(text: str) -> bool:
    return all(text.count(left) == text.count(right) for left, right in ("()", "[]", "{}"))


def _expression(function: Callable[..., Any]) -> str:
    """The body of a lambda as code, if it is short."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):  # part of a longer statement
        return ""
    bodies = [ast.unparse(node.body) for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    if len(bodies) != 1 or len(bodies[0]) > LONGEST:
        return ""
    return "0" if re.fullmatch(r"zeros\([^()]*\)", bodies[0]) else f"`{bodies[0]}`"


@dataclass(frozen=True)
class Violation:
    """Both sides of a statement at a certified counterexample, as enclosures in text, and how far apart they are."""

    title: str
    sides: Sides
    left: str
    right: str
    difference: str
    arithmetic: str

    @property
    def sign(self) -> str:
        """What stands between the two values in truth."""
        return {"≤": ">", "≥": "<", "=": "≠"}[self.sides.sign]

    @property
    def ratio(self) -> float | None:
        """Left over right; None where the right side is not positive, or so small that a ratio says nothing."""
        left, right = number(self.left), number(self.right)
        return left / right if right > 0 and left / right < 1e300 else None

    @property
    def roundings(self) -> float:
        """The difference in roundings of the larger side in float64."""
        largest = max(abs(number(self.left)), abs(number(self.right)), 1e-300)
        return abs(number(self.difference)) / (largest * _ROUNDING)

    @property
    def one_line(self) -> str:
        """One line: "dE/dt here = 0.5 > 0 = the printed bound"."""
        shown = self.as_printed
        return f"{shown.sides.left} = {short(shown.left)} {shown.sign} {short(shown.right)} = {shown.sides.right}"

    @property
    def as_printed(self) -> Violation:
        """The same in the sign of the paper: what is encoded as 0 <= -q is printed as q <= 0."""
        sides, signs = in_its_own_sign(self.sides)
        left, right = arranged(signs, self.left, self.right, negated)
        return replace(self, sides=sides, left=left, right=right)


#: What is done to (left, right): the factor of each, and whether they change places.
Signs = tuple[int, int, bool]


def in_its_own_sign(sides: Sides) -> tuple[Sides, Signs]:
    """A bound without the minus signs and zeros that only its encoding has.

    0 <= -q becomes q <= 0, 0 <= q becomes q >= 0, and -p <= -q becomes q <= p.
    """
    left, right = sides.left, sides.right
    if sides.sign != "≤":
        return sides, (1, 1, False)
    if _ZERO.match(left):
        if positive := _without_minus(right):
            return Sides(positive, "the claimed bound", "≤"), (1, -1, True)
        return Sides(right, "the claimed bound", "≥"), (1, 1, True)
    if (greater := _without_minus(right)) and (smaller := _without_minus(left)):
        return Sides(greater, smaller, "≤"), (-1, -1, True)
    return sides, (1, 1, False)


def _without_minus(name: str) -> str:
    """What a name says after its minus sign; nothing where it has none, or where the sign is that of a first term alone."""
    found = _MINUS.match(name)
    if found is None or _SUM.search(_BRACKETS.sub("", name[found.end() :])):
        return ""
    return name[found.end() :]


def arranged(signs: Signs, left: T, right: T, negative: Callable[[T], T]) -> tuple[T, T]:
    """Two values with the signs, and in the places, that `in_its_own_sign` gives their names."""
    of_left, of_right, exchanged = signs
    left, right = left if of_left > 0 else negative(left), right if of_right > 0 else negative(right)
    return (right, left) if exchanged else (left, right)


def violation(claim: Claim, certificate: Mapping[str, Any]) -> Violation:
    """What a certificate of a claim's counterexample shows."""
    formula, oracle = certificate["formula"], certificate["oracle"]
    left, right = (oracle, formula) if claim.relation.one_sided else (formula, oracle)
    return Violation(
        certificate["title"], sides_of(claim), left, right, certificate["violation"], certificate["arithmetic"]
    )


def negated(text: str) -> str:
    """Minus an enclosure such as "[-0.25 +/- 1e-30]", or a rational such as "-3/8"."""
    opening, inside = ("[", text[1:]) if text.startswith("[") else ("", text)
    return opening + (inside[1:] if inside.startswith("-") else f"-{inside}" if number(text) else inside)


def number(text: str) -> float:
    """The middle of an enclosure such as "[0.25 +/- 1e-30]", or a rational such as "3/8"."""
    middle = text.strip("[]").split("+/-")[0].strip()
    try:
        return float(Fraction(middle)) if middle else 0.0
    except OverflowError:
        return math.inf if not middle.startswith("-") else -math.inf
    except ValueError:
        return float(middle)


def short(text: str, digits: int = 6) -> str:
    """An enclosure or a rational in few characters; short rationals in full."""
    if re.fullmatch(r"-?\d{1,7}(/\d{1,7})?", text):
        return text
    return f"{number(text):.{digits}g}"
