"""Relations: what kind of statement a claim makes.

=================  ============================================================================================
`Equal`            formula == oracle (identities, derivatives)
`HasStructure`     a defect of the formula's value vanishes (rank, symmetry, singular values, ...)
`AtMost`           oracle <= formula (bounds)
`TendsTo`          a sequence tends to the formula, at a stated rate
`FollowsLaw`       samples of the formula follow a law
`OrderOfGrowth`    a count of operations or memory is O(formula)
=================  ============================================================================================

A relation says nothing of how it is attacked; that is found by its type, in `verify.checks`.  So is whatever else other
packages keep of relations, such as the pictures of `verify.site`: in tables by type, which `by_type` reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, TypeVar

from verify.vocabulary.errors import RegistryError

T = TypeVar("T")


@dataclass(frozen=True)
class Relation:
    """Base of the relations.  `kind` names it in reports, `parts` are the functions that its claims must declare.

    `entrywise`: it compares two values entry by entry, for all inputs; such a statement can be proved for all sizes.
    `proof_part`: of another kind, the part that its claims declare where they are marked as proved for all sizes.
    `one_sided`: only an excess of the oracle, which is then the left side, breaks it.  `tried` is what checks do, and to
    what, in the words of a report: "checked at 12 inputs".

    `left` and `right` say in a few words what the two sides are ("dE/dt here", "the printed bound"); without them reports
    take the first words of the functions' docstrings.
    """

    left: str = field(default="", kw_only=True)
    right: str = field(default="", kw_only=True)
    kind: ClassVar[str] = "relation"
    parts: ClassVar[tuple[str, ...]] = ("oracle",)
    entrywise: ClassVar[bool] = False
    proof_part: ClassVar[str] = ""
    one_sided: ClassVar[bool] = False

    @property
    def tried(self) -> tuple[str, str]:
        return "checked at", "input"


def by_type(table: Mapping[type[Relation], T], relation: Relation) -> T | None:
    """What a table has for the type of a relation, or for the nearest type that it is made from; None where it has nothing.

    Example
    -------
    >>> by_type({Equal: "=", AtMost: "<="}, AtMost(signed=True))
    '<='
    """
    return next((table[kind] for kind in type(relation).__mro__ if kind in table), None)


@dataclass(frozen=True)
class Equal(Relation):
    """formula == oracle, entry by entry."""

    kind: ClassVar[str] = "equal"
    entrywise: ClassVar[bool] = True


@dataclass(frozen=True)
class HasStructure(Relation):
    """A defect of the formula's value vanishes: the claim's part "structure" maps inputs (and `value`) to the defect."""

    kind: ClassVar[str] = "structure"
    parts: ClassVar[tuple[str, ...]] = ("structure",)
    entrywise: ClassVar[bool] = True


@dataclass(frozen=True)
class AtMost(Relation):
    """oracle <= formula, entry by entry.

    `ascent`: whether gradient ascent may move the drawn parameters (off where they must stay on a grid).
    `signed`: for right-hand sides that can vanish, score by the excess instead of the ratio.
    """

    ascent: bool = True
    signed: bool = False
    kind: ClassVar[str] = "at most"
    entrywise: ClassVar[bool] = True
    one_sided: ClassVar[bool] = True


@dataclass(frozen=True)
class PowerRate:
    """The error of a random sequence falls like scale^-exponent; the observed exponent must come within `slack`.

    With `deterministic` the sequence is run in balls, as under `QuadraticRate`, and at every input its error must fall at
    least that fast, but for `slack`, which leaves room for a logarithm of the scale.
    """

    exponent: float
    slack: float = 0.15
    deterministic: bool = False


@dataclass(frozen=True)
class QuadraticRate:
    """The error of a deterministic sequence is squared at each step: order at least `order` once it is small."""

    order: float = 1.8


@dataclass(frozen=True)
class TendsTo(Relation):
    """The claim's part "sequence" tends to its formula as the scale grows.

    Deterministic sequences, ``sequence(scale, **inputs)``, run in balls at `bits` bits.  Random ones,
    ``sequence(scale, generator, **inputs)``, run in float64 with one torch generator per seed; the mean error
    over seeds, extrapolated from the two largest scales, must vanish within its standard error, so a wrong limit is seen
    however slowly it is reached.

    A random limit can be proved for all sizes, in mean square.  Its parts are then "rate", a function of the scale and of
    sizes that tends to 0; "factor", of the inputs (1 without it); and "square", ``square(scale, generator, **inputs)``, a
    polynomial in what is drawn that is at least the squared error and whose mean is factor * rate (without it, the squared error
    itself).
    """

    scales: tuple[int, ...]
    rate: PowerRate | QuadraticRate
    bits: int = 1200
    instances: int = 3
    kind: ClassVar[str] = "tends to"
    parts: ClassVar[tuple[str, ...]] = ("sequence",)
    proof_part: ClassVar[str] = "rate"

    @property
    def random(self) -> bool:
        """Whether its sequence is drawn, so that it is run in floats."""
        return isinstance(self.rate, PowerRate) and not self.rate.deterministic

    @property
    def tried(self) -> tuple[str, str]:
        what = ("in", "random run") if self.random else ("at", "input")
        return f"followed along growing scales {what[0]}", what[1]

    def __post_init__(self) -> None:
        if len(self.scales) < 5:
            raise RegistryError(f"a limit is fitted over at least five scales, not {len(self.scales)}")


@dataclass(frozen=True)
class FollowsLaw(Relation):
    """The claim's part "laws" turns the formula into a list of `verify.oracles.LawTest`.

    ``laws(formula, generator, samples, **inputs)`` draws `samples` independent samples (from the formula, or from the
    definition that the formula makes a statement about) with the torch `generator`.
    """

    samples: int = 20_000
    instances: int = 6
    kind: ClassVar[str] = "follows law"
    parts: ClassVar[tuple[str, ...]] = ("laws",)

    @property
    def tried(self) -> tuple[str, str]:
        return "tested on", "random sample"


@dataclass(frozen=True)
class OrderOfGrowth(Relation):
    """The claim's part "cost" is O(formula); both take sizes and return one number per row of the claim.

    `along` names the directions in which sizes are multiplied by the scales, such as ``("N", "d", "N d", "N N d")``, the
    last with N growing as the square of d; sizes not named stay at their drawn values.  cost <= C formula for a constant C
    if the exponent of cost / formula, log(f(s') / f(s)) / log(s' / s), does not end above 0.  What terms of lower order
    add to it dies out, by the ratio of the scales at each step; so its last value must be within its last change, the
    resolution.  That is also the unit of the residual; a mutant's exponent is measured in the coarser of its own
    resolution and the claim's.  A logarithm too many already fails.
    """

    along: tuple[str, ...]
    scales: tuple[int, ...] = tuple(4**k for k in range(9))
    instances: int = 2
    kind: ClassVar[str] = "order"
    parts: ClassVar[tuple[str, ...]] = ("cost",)
    proof_part: ClassVar[str] = "constant"

    @property
    def tried(self) -> tuple[str, str]:
        return "counted at", "input"

    def __post_init__(self) -> None:
        if len(self.scales) < 5:
            raise RegistryError(f"an order of growth is fitted over at least five scales, not {len(self.scales)}")
        if len({Fraction(b, a) for a, b in itertools.pairwise(self.scales)}) != 1:
            raise RegistryError("the scales of an order of growth are geometric")
        if not self.along or self.scales[1] <= self.scales[0]:
            raise RegistryError("an order of growth needs directions and growing scales")


#: The kinds that can be proved for all sizes, for messages.
PROVABLE = tuple(relation.kind for relation in (Equal, HasStructure, AtMost) if relation.entrywise)
