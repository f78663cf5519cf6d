"""What a claim assumes, as data, in four kinds; there is no fifth.

=================  ============================================================================================
`Assumption`       a condition on inputs or sizes, with a test: inputs that fail it are no counterexample
`Definition`       what a symbol stands for, and the function that makes it so
`Convention`       a choice among usual ones (the order of vec, relu'(0) = 0), and where it is applied
`Construction`     what holds of every input by its shape alone
=================  ============================================================================================

A remark is no assumption: it belongs into the claim's note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verify.vocabulary.errors import RegistryError

#: A condition on named sizes.
SizeCondition = Callable[[Mapping[str, int]], bool]


@dataclass(frozen=True)
class Assumption:
    """A condition on the inputs or on the sizes of a claim.

    `positive` returns scalars or an array that must be > 0, `nonnegative` one that must be >= 0 and `zero` one that must
    vanish; each takes any subset of the claim's inputs by name.  `sizes` takes the named sizes and says whether they are
    admissible; the claim is drawn at no others.
    """

    text: str
    positive: Callable[..., Any] | None = None
    nonnegative: Callable[..., Any] | None = None
    zero: Callable[..., Any] | None = None
    sizes: SizeCondition | None = None

    @property
    def tests(self) -> tuple[Callable[..., Any], ...]:
        """The tests of inputs."""
        return tuple(test for test in (self.positive, self.nonnegative, self.zero) if test is not None)

    @property
    def tested(self) -> bool:
        return bool(self.tests) or self.sizes is not None


@dataclass(frozen=True)
class Definition:
    """What a symbol or an object of the statement stands for.

    `by` is what makes it so in the claim's functions: a function, a constant, or several.  Each is reached by them.
    """

    text: str
    by: Any

    def __post_init__(self) -> None:
        _require_objects(self, self.by)


@dataclass(frozen=True)
class Convention:
    """A choice among several that are usual; `by` is where it is applied, as in `Definition`."""

    text: str
    by: Any

    def __post_init__(self) -> None:
        _require_objects(self, self.by)


@dataclass(frozen=True)
class Construction:
    """What holds of every input by its shape: `shapes` names the sizes of each input that the text speaks about.

    A name stands for a size or a number, ``{"X": ("N", "d"), "w": ("d", "1")}``.
    """

    text: str
    shapes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.shapes:
            raise RegistryError(f"{self.text!r}: a construction names the shapes of inputs")


#: Whatever may stand among the assumptions of a claim.
Stated = str | Assumption | Definition | Convention | Construction


def text_of(item: Stated) -> str:
    """The words of an assumption."""
    return item if isinstance(item, str) else item.text


def objects_of(item: Definition | Convention) -> tuple[Any, ...]:
    """What makes a definition so, or applies a convention."""
    return item.by if isinstance(item.by, tuple) else (item.by,)


def _require_objects(item: Definition | Convention, by: Any) -> None:
    kind = type(item).__name__.lower()
    if by is None or by == () or isinstance(by, str):
        raise RegistryError(f"{item.text!r}: a {kind} names what realises it, a function or a constant; got {by!r}")


def together(where: SizeCondition | None, stated: Sequence[SizeCondition]) -> SizeCondition:
    """Sizes that meet `where` and all stated conditions."""
    conditions = [condition for condition in (where, *stated) if condition is not None]
    return conditions[0] if len(conditions) == 1 else lambda sizes: all(condition(sizes) for condition in conditions)
