"""What a verdict may lean on: words that have no definite meaning, and glyphs that the extracted text leaves in doubt.

Both quote the text, so that a reader sees what is interpreted and what is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from verify.vocabulary.errors import RegistryError


@dataclass(frozen=True)
class Reading:
    """A meaning given to printed words that have none of their own: "close to", O(.) in several variables, "dominates".

    A reading never adds a hypothesis, never changes a symbol, an index or a factor, and never drops a definition.

    Parameters
    ----------
    words: the words as printed, or several passages.
    meaning: what they are taken to say.
    """

    words: str | tuple[str, ...]
    meaning: str

    def __post_init__(self) -> None:
        _require_text("a reading", words=self.words, meaning=self.meaning)
        object.__setattr__(self, "meaning", unwrapped(self.meaning))

    @property
    def passages(self) -> tuple[str, ...]:
        return (self.words,) if isinstance(self.words, str) else self.words

    def __str__(self) -> str:
        return f"{_quoted(self.passages)} is read as: {self.meaning}"


@dataclass(frozen=True)
class Doubt:
    """Glyphs that the extracted text may have damaged, and the form under which the paper agrees with itself.

    Parameters
    ----------
    glyphs: the passage as the extraction has it, or several.
    reason: what is uncertain, and what speaks for the form taken.
    """

    glyphs: str | tuple[str, ...]
    reason: str

    def __post_init__(self) -> None:
        _require_text("a doubt", glyphs=self.glyphs, reason=self.reason)
        object.__setattr__(self, "reason", unwrapped(self.reason))

    @property
    def passages(self) -> tuple[str, ...]:
        return (self.glyphs,) if isinstance(self.glyphs, str) else self.glyphs

    def __str__(self) -> str:
        return f"{_quoted(self.passages)}: {self.reason}"


#: A sentence whose verb is an assumption of the authors.
_ASSUMES = re.compile(
    r"\b(?:we|it is)\s+(?:(?:also|further|simply|will|shall|now)\s+)*(?:assume|assumed|suppose)\b", re.IGNORECASE
)
#: What follows from an assumption is a statement again.
_CONCLUDES = re.compile(
    r"\b(?:then|therefore|hence|thus|so that|suffices|(?<!that )we (?:have|get|obtain|show|prove)|converges?)\b|\\Rightarrow"
)


def states_an_assumption(statement: str) -> bool:
    """Whether a statement does no more than assume: "for simplicity, we assume r = 2d" asserts nothing that could be false."""
    return bool(_ASSUMES.search(statement)) and not _CONCLUDES.search(statement)


#: A hypothesis that leaves out zero, in one formula or in words.
_NOT_ZERO = re.compile(r"\$?[^$]*(?:\\ne|\\neq)\s*[0O]\$?|.* (?:is|are) not (?:both |all )?(?:0|zero)", re.DOTALL)


def excludes_zero_alone(hypothesis: str) -> bool:
    """Whether a hypothesis says no more than that something is not zero."""
    return bool(_NOT_ZERO.fullmatch(hypothesis.strip().rstrip(".")))


def unwrapped(text: str) -> str:
    """Text written over several lines as one line: a line break with its indentation is a space."""
    return " ".join(text.split())


def _quoted(passages: tuple[str, ...]) -> str:
    return ", ".join(f"\u201c{passage}\u201d" for passage in passages)


def _require_text(what: str, **values: str | tuple[str, ...]) -> None:
    for name, value in values.items():
        texts = (value,) if isinstance(value, str) else value
        if not texts or any(not isinstance(text, str) or not text.strip() for text in texts):
            raise RegistryError(f"{what}: {name} is text, or several texts, none of them empty; got {value!r}")
