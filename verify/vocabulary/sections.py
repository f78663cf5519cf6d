"""Where claims stand: papers, what a section assumes once for all its claims, and sizes that a source names.

SECTION_3 = Setting(CONVERGENCE, "Section 3", assumptions=["..."], sizes={"d_s": (1, 4)})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from verify.vocabulary.assumptions import Assumption, Stated
from verify.vocabulary.errors import RegistryError
from verify.vocabulary.hypotheses import Hypothesis


@dataclass(frozen=True)
class Paper:
    """A source of claims.

    Parameters
    ----------
    key: with which the ids of its claims begin.
    title, citation: its title, and authors and place in a few words, for a line beside a claim.
    vec: its vec convention, "row-major" or "column-major".
    authors: full names in order.
    venue: where it appeared, with the year, "NeurIPS 2023".
    arxiv: its number there, "2311.01575".
    checked: which text the claims were taken from, in words that go on "an anonymous submission", "version 2".
    of_project: a collection of this project's own claims, none of them printed.
    """

    key: str
    title: str
    citation: str
    vec: str
    authors: tuple[str, ...] = ()
    venue: str = ""
    arxiv: str = ""
    checked: str = ""
    of_project: bool = False


@dataclass(frozen=True)
class Scale:
    """Sizes and values that a source names, at which a claim is decided besides those that are drawn.

    `sizes` may name more sizes than a claim has; ``edit(arrays, sizes, rng)`` gives generic drawn arrays the values that
    the source fixes, in place.
    """

    name: str
    sizes: Mapping[str, int]
    edit: Callable[..., None]

    def at(self, **sizes: int) -> Scale:
        """This scale with other or further sizes."""
        return replace(self, sizes={**self.sizes, **sizes})


@dataclass(frozen=True)
class Setting:
    """What a section of a paper assumes once: claims name their setting and say only what is their own.

    Parameters
    ----------
    paper: the source.
    title: where the source states it, "Section 2".
    assumptions: assumptions that all its claims share; a claim adds its own.
    sizes: the named sizes with inclusive ranges, which a claim replaces by a mapping or narrows to some names.
    where: condition on the sizes; a claim's own replaces it.
    inputs: how drawn parameters become inputs that satisfy the assumptions; a claim's own replaces it.
    exact: whether its claims can be decided in exact arithmetic.
    without_domains: generator domains that cannot satisfy the assumptions, each with the reason.
    special_domains: generator domains of its claims, by name: ``function(arrays, sizes, rng)`` edits the drawn arrays.
    hypotheses: what its assumptions say of single inputs, or assumptions with `zero` themselves, for proofs for all sizes.
    scales: sizes and values that the source names, at which all its claims are decided too; a claim takes those of the
        sizes that it has, and may declare more (`Claim.at_scale`).
    """

    paper: Paper
    title: str = ""
    assumptions: Sequence[Stated] = ()
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    where: Callable[[Mapping[str, int]], bool] | None = None
    inputs: Callable[..., Mapping[str, Any]] | None = None
    exact: bool = False
    without_domains: Mapping[str, str] = field(default_factory=dict)
    special_domains: Mapping[str, Callable[..., None]] = field(default_factory=dict)
    hypotheses: Sequence[Hypothesis | Assumption] = ()
    scales: Sequence[Scale] = ()

    def extended(self, title: str = "", **more: Any) -> Setting:
        """This setting and more: assumptions, hypotheses, scales, sizes and domains are added, all else is replaced."""
        known = {item.name for item in fields(self)}
        if set(more) - known:
            raise RegistryError(f"a setting has no {sorted(set(more) - known)}; it has {sorted(known)}")
        for name in ("sizes", "without_domains", "special_domains"):
            if name in more:
                more[name] = {**getattr(self, name), **more[name]}
        for name in ("assumptions", "hypotheses", "scales"):
            if name in more:
                more[name] = (*getattr(self, name), *more[name])
        return replace(self, title=title or self.title, **more)
