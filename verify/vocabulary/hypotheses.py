"""Hypotheses: properties of one input that a proof for all sizes may use, as data.

Each names the assumption of the claim that states it; a claim with a hypothesis that it does not assume is an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

#: Of a matrix over which an expectation is taken, no input of the claim's functions.
NORMAL_ENTRIES = "has independent normal entries"

#: Before the name of the size of the parts.
UNIT_PARTS = "has unit parts of width "

#: What a quotation that states a property says, one of these; "symmetric" is no word of "anti-symmetric".
WORDS = {
    "has orthonormal columns": (r"ortho(normal|gonal)", r"isometr", r"\\delta", r"= ?I\b"),
    "has orthonormal rows": (r"ortho(normal|gonal)", r"isometr", r"\\delta", r"= ?I\b"),
    "has singular values at most 1": (r"contraction", r"singular value", r"norm"),
    NORMAL_ENTRIES: (r"normal", r"Gaussian", r"N\("),
    "has unit rows": (r"unit", r"norm", r"= ?1\b"),
    UNIT_PARTS: (r"unit", r"norm", r"= ?1\b"),
    "has skew blocks": (r"skew", r"anti-?symmetric"),
    "is symmetric": (r"symmetric", r"symmetry"),
    "is skew": (r"skew", r"anti-?symmetric"),
    "has a symmetric part without positive eigenvalues": (r"dissipative", r"negative", r"skew", r"anti-?symmetric"),
    "is idempotent": (r"idempotent", r"projection"),
}

#: A text with one of these words states a property of an input sometimes, of one of several, or not at all.
UNCERTAIN = re.compile(r"(?i)\b(not|no|never|neither|nor|or|if|unless|except|without|almost|nearly|roughly)\b|n't\b")
#: What may stand at a symbol: its index and its transpose or another power.
_INDICES = r"(?:_(?:\{[^}]*(?:\[[^]]*\][^}]*)?\}|[a-z]))?"


def names(text: str, symbol: str) -> bool:
    """Whether a text speaks of a symbol, be it with an index: "Q_k is orthogonal" of Q; "A B is symmetric" of neither.

    >>> names("Q_k is orthogonal", "Q"), names("A B is symmetric", "A"), names("B is symmetric", "A")
    (True, False, False)
    """
    power = r"(?:\^(?:\{[^}]*\}|\\?\w+))?"
    factor = rf"(?!{re.escape(symbol)}(?![A-Za-z0-9]))[A-Z]"  # another matrix beside it
    found = re.finditer(rf"(?<![A-Za-z0-9_]){re.escape(symbol)}{_INDICES}(?![A-Za-z0-9_])", text)
    return any(
        not re.match(rf"{power} ?{factor}(?![a-z])", text[at.end() :])
        and not re.search(rf"(?<![A-Za-z]){factor}{_INDICES}{power} ?\\?$", text[: at.start()])
        for at in found
    )


@dataclass(frozen=True)
class Hypothesis:
    """A property of the input `of`; `stated` is part of the text of the assumption that says so.

    Where the assumption implies the property by a claim that is proved for all sizes, `by` is the id of that claim.
    """

    property: str
    of: str
    stated: str
    by: str = ""

    def is_stated_in(self, text: str, tested: Collection[str] = ()) -> bool:
        """Whether `stated` is a part of the text in whole words, and has a word of the property, and is said of the input.

        That is so where the text names it, or where the test of the assumption takes it: it is among `tested`.  A text that
        denies something, or leaves a choice, states nothing.  Where the property follows by a claim, the text states what
        that claim assumes, in any words.
        """
        beside = text.replace(self.property, "")  # which itself may say what a matrix is without
        if UNCERTAIN.search(beside) or not (self.of in tested or names(text, self.of)):
            return False
        known = next((words for property, words in WORDS.items() if self.property.startswith(property)), ())
        if self.by:
            known = (r"\w",)
        quoted = re.escape(self.stated)
        whole = re.search(rf"(?<![\w-]){quoted}(?!\w)", text)
        return bool(whole and any(re.search(rf"(?<![\w-]){word}", self.stated) for word in known))

    def __str__(self) -> str:
        return f"{self.of} {self.property}" + (f" ({self.by})" if self.by else "")


def orthonormal_columns(of: str, stated: str) -> Hypothesis:
    """W^T W = I."""
    return Hypothesis("has orthonormal columns", of, stated)


def orthonormal_rows(of: str, stated: str) -> Hypothesis:
    """W W^T = I."""
    return Hypothesis("has orthonormal rows", of, stated)


def contraction(of: str, stated: str, by: str = "") -> Hypothesis:
    """No singular value is above 1."""
    return Hypothesis("has singular values at most 1", of, stated, by)


def normal_entries(of: str, stated: str) -> Hypothesis:
    """Independent normal entries of mean 0, of one variance; `of` is a name over which an expectation is taken."""
    return Hypothesis(NORMAL_ENTRIES, of, stated)


def unit_rows(of: str, stated: str) -> Hypothesis:
    """Every row has Euclidean norm 1."""
    return Hypothesis("has unit rows", of, stated)


def unit_parts(of: str, width: str, stated: str) -> Hypothesis:
    """Every row consists of parts of `width` entries, a named size, of Euclidean norm 1."""
    return Hypothesis(UNIT_PARTS + width, of, stated)


def skew_blocks(of: str, stated: str) -> Hypothesis:
    """Square blocks on top of each other, each with S^T = -S."""
    return Hypothesis("has skew blocks", of, stated)


def symmetric(of: str, stated: str) -> Hypothesis:
    """S^T = S."""
    return Hypothesis("is symmetric", of, stated)


def skew(of: str, stated: str) -> Hypothesis:
    """S^T = -S."""
    return Hypothesis("is skew", of, stated)


def dissipative(of: str, stated: str) -> Hypothesis:
    """x^T M x <= 0 for every x."""
    return Hypothesis("has a symmetric part without positive eigenvalues", of, stated)


def idempotent(of: str, stated: str) -> Hypothesis:
    """P P = P."""
    return Hypothesis("is idempotent", of, stated)
