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
_ORTHOGONAL, _SKEW = r"(?:semi-)?ortho(?:normal|gonal)", r"(?:skew-symmetric|skew|anti-?symmetric)"
WORDS = {
    "has orthonormal columns": (_ORTHOGONAL, r"isometr", r"\\delta", r"= ?I\b"),
    "has orthonormal rows": (_ORTHOGONAL, r"isometr", r"\\delta", r"= ?I\b"),
    "has singular values at most 1": (r"contraction", r"singular value", r"norm"),
    NORMAL_ENTRIES: (r"normal", r"Gaussian", r"N\("),
    "has unit rows": (r"unit", r"norm", r"= ?1\b"),
    UNIT_PARTS: (r"unit", r"norm", r"= ?1\b"),
    "has skew blocks": (_SKEW,),
    "is symmetric": (r"symmetric", r"symmetry"),
    "is skew": (_SKEW,),
    "has a symmetric part without positive eigenvalues": (r"dissipative", r"negative", r"skew", r"anti-?symmetric"),
    "is idempotent": (r"idempotent", r"projection"),
}

#: The index of a symbol, which runs: Q_k and U_{k,h}, and not Q_{1} or Q_{1,h}, which are some of several.
_RUNNING = r"(?:_(?:\{[^}0-9]*[a-z][^}0-9]*\}|[a-z](?![A-Za-z0-9])))?"
_T = r"\^(?:\{?\\top\}?|\{?T\}?)"
#: A sentence about a symbol begins, names it and perhaps others beside it, says their shapes, and ends after the property.
_BEGINS = r"(?:^|(?P<after>[,;] )|\b(?:so that|such that|where) )(?:every |each |all of |all )?"
_BESIDE = r"(?:\\[A-Za-z]+|[A-Z]|[a-z])(?:_(?:\{[^}]*\}|[A-Za-z0-9]+))?(?![A-Za-z0-9])"
_SHAPE = r"(?: of shape \([^)]*\)| in R\^\{[^}]*\})*"
_ENDS = r"(?=$|[,.;]| \(| and\b| for every\b)"
_IS, _WITH = r" (?:is|are)(?: both| all)? (?:a |an )?", r" "
#: What a sentence says of the symbols that it names.
SAID = {
    "has orthonormal columns": rf"{_ORTHOGONAL}(?: columns)?|isometr(?:y|ies)",
    "has orthonormal rows": rf"{_ORTHOGONAL}(?: rows)?",
    "has singular values at most 1": r"contractions?",
    "has skew blocks": _SKEW,
    "is symmetric": r"symmetric",
    "is skew": _SKEW,
    "has a symmetric part without positive eigenvalues": rf"dissipative|{_SKEW}",
    "is idempotent": r"idempotent|(?:orthogonal )?projections?",
}
#: What else states it: an equation in S alone, S^T being ^T behind it, or a phrase; ROW and PART are S with such an index.
_IDENTITY = r"(?:\\delta_\{[^}]*\} ?)*I(?:_(?:\{[^}]*\}|[a-z]))?"
EQUATIONS = {
    "has orthonormal columns": (rf"S^T S = {_IDENTITY}", r"S has orthonormal columns"),
    "has orthonormal rows": (rf"S S^T = {_IDENTITY}", r"S has orthonormal rows"),
    "has singular values at most 1": (
        r"singular values of S (?:lie|are) in [\[(]0, 1\]", r"singular values of S are at most 1",
        r"singular values in the range [\[(]0, 1\], of (?:the )?S(?: in the second half)?",
    ),
    "has unit rows": (r"\\*\|ROW\\*\| = 1", r"S has unit rows"),
    UNIT_PARTS: (r"\\*\|PART\\*\| = 1",),
    "is symmetric": (r"S^T = S", r"S = S^T"),
    "is skew": (r"S^T = -S", r"S = -S^T"),
    "is idempotent": (r"S S = S", r"S\^2 = S"),
}  # fmt: skip
#: The index of a row, X_{[i,:]} or x_i; of a part of a row, X_{i,j}.
_ROW, _PART = r"_(?:\{\[?[a-z], ?:\]?\}|\{?[a-z]\}?)", r"_\{[a-z], ?[a-z]\}"

#: A text with one of these words states a property of an input sometimes, of one of several, or not at all.
UNCERTAIN = re.compile(
    r"(?i)\b(not|no|never|neither|nor|or|if|unless|except|without|almost|nearly|roughly|approximately|asymptotically|either|"
    r"sometimes|often|usually|mostly|one of|every other|even|odd|on average|in expectation|in distribution|in the limit|"
    r"at initiali[sz]ation)\b|n't\b|\bfor some \\?(?-i:[a-z])\b"
)
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


def says(text: str, symbol: str, property_: str) -> bool:
    """Whether a text says a property of a symbol itself, in a sentence or an equation about nothing else.

    What is said of exp(Q), of Q + Q^T, of Q^2 or of Q_1 alone is said of another matrix than Q.

    >>> says("Q_k is symmetric", "Q", "is symmetric"), says("exp(Q) is symmetric", "Q", "is symmetric")
    (True, False)
    >>> says("with U, V orthonormal", "V", "has orthonormal columns"), says("Q Q^T = I", "Q", "has orthonormal columns")
    (True, False)
    """
    bare = rf"\\?(?:tilde )?\\?{re.escape(symbol)}(?![A-Za-z0-9])"
    own = bare + _RUNNING
    several = rf"(?:{_BESIDE}(?:, | and |, and ))*{own}(?:(?:, | and |, and ){_BESIDE})*"
    subject = rf"(?:\[{own}\]|{several}){_SHAPE}"
    known = next((key for key in (*SAID, *EQUATIONS) if property_.startswith(key)), None)
    if known is None:
        return names(text, symbol)  # as of what an expectation is taken over
    row = bare + (rf"(?:{_ROW})?" if symbol.islower() else _ROW)  # a small letter is a vector
    parts = {"S": own, "ROW": row, "PART": bare + _PART, "@": _T}
    ways = [
        rf"{_BEGINS}(?:the |initial )?{_filled(item.replace('^T', '@'), parts)}{_ENDS}"
        for item in EQUATIONS.get(known, ())
    ]
    if known in SAID:
        said = rf"(?:{SAID[known]}){_ENDS}"
        if any(
            not (
                at["after"] and re.search(rf"(?:^| ){_BESIDE}{_SHAPE}$", text[: at.start()])
            )  # as of "the trace of P, Q"
            for at in re.finditer(rf"{_BEGINS}{subject}(?:{_IS}|{_WITH}){said}", text)
        ):
            return True
        ways.append(rf"\bwith {subject}{_WITH}{said}")
    return any(re.search(way, text) for way in ways)


def _filled(pattern: str, parts: dict[str, str]) -> str:
    """A pattern of `EQUATIONS` with what S, ROW, PART and the transpose stand for."""
    return re.sub(r"\b(?:S|ROW|PART)\b|@", lambda found: parts[found[0]], pattern)


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

        That is so where the text says it of the input itself (`says`), or where the test of the assumption takes the input,
        which is among `tested` then, and the text does not name it.  A text that denies something, or leaves a choice, states
        nothing.  Where the property follows by a claim, the text states what that claim assumes of it, in any words.
        """
        beside = text.replace(self.property, "")  # which itself may say what a matrix is without
        if UNCERTAIN.search(beside):
            return False
        is_named = re.search(rf"(?<![A-Za-z0-9_]){re.escape(self.of)}(?![A-Za-z0-9])", text)
        if is_named and not (names(text, self.of) if self.by else says(text, self.of, self.property)):
            return False
        if not is_named and self.of not in tested:
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
