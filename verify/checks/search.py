"""Searching through draws: every domain once, then what Hypothesis draws and shrinks."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verify.checks.settings import Settings
from verify.inputs.generators import Draw, applicable_domains, draws, size_features, systematic
from verify.inputs.witnesses import Given
from verify.vocabulary.claims import Claim

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass
class Tally:
    """What a search saw."""

    draws: int = 0
    examples: int = 0
    satisfied: int = 0
    undefined: int = 0
    domains: Counter[str] = field(default_factory=Counter)

    def count(self, draw: Draw | Given, seeds: int, satisfied: int, undefined: int) -> None:
        self.draws += 1
        self.examples += seeds
        self.satisfied += satisfied
        self.undefined += undefined
        self.domains[draw.domain] += satisfied
        for feature in size_features(dict(draw.sizes)):
            self.domains[feature] += satisfied

    def has_decided(self, draw: Draw | Given) -> bool:
        """Whether inputs of the domain of a draw were decided, and of sizes with each feature of its sizes."""
        return self.has_decided_kinds((draw.domain, *size_features(dict(draw.sizes))))

    def has_decided_kinds(self, kinds: Iterable[str]) -> bool:
        """Whether inputs of each of these kinds were decided."""
        return all(self.domains[kind] for kind in kinds)

    def values(self) -> dict[str, Any]:
        return {
            "examples": self.examples,
            "satisfied": self.satisfied,
            "undefined": self.undefined,
            "domains": dict(self.domains),
        }


class Violated(AssertionError):
    """Raised inside a search so that Hypothesis shrinks the draw; carries what is worth printing."""

    def __init__(self, message: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.details = details


def one_of_each_domain(claim: Claim, settings: Settings) -> list[Draw]:
    """The draws with which every search begins."""
    return systematic(claim, max(4, len(applicable_domains(claim))), settings.seed)


def search(
    claim: Claim,
    settings: Settings,
    examine: Callable[[Draw | Given], None],
    examples: int,
    first: Sequence[Draw | Given] = (),
) -> Violated | None:
    """Examine `first`, then every domain once, then let Hypothesis draw and shrink.

    Returns the violation that `examine` raised, or None.  Deterministic unless a seed was asked for.
    """
    try:
        for draw in first:
            examine(draw)
        if violations := list(_violations(everywhere(claim, settings), examine)):
            return violations[-1]  # of the most ordinary domain, which is read soonest
        drawn(claim.id, draws(claim), settings, examine, examples)
    except Violated as found:
        return found
    return None


def _violations(among: Sequence[Draw], examine: Callable[[Draw], None]) -> Iterator[Violated]:
    """What `examine` raised, of each of the draws of which it did."""
    for draw in among:
        try:
            examine(draw)
        except Violated as found:
            yield found


def everywhere(claim: Claim, settings: Settings) -> list[Draw]:
    """The draws of every domain in the order in which they are examined: the claim's own domains come first."""
    return one_of_each_domain(claim, settings)[::-1]


def drawn(
    name: str, strategy: SearchStrategy[Draw], settings: Settings, examine: Callable[[Draw], None], examples: int
) -> None:
    """Examine what Hypothesis draws; where `examine` raises, it is examined smaller, and what it raised at last is raised.

    Which draws they are depends on the code of `attempt` too.
    """
    import hypothesis

    configured = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=not settings.seeded,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    def attempt(draw: Draw) -> None:
        examine(draw)

    attempt.__qualname__ = name
    wrapped = configured(hypothesis.given(strategy)(attempt))
    if settings.seeded:
        wrapped = hypothesis.seed(settings.seed)(wrapped)
    with without_numbers_of_code():
        wrapped()


#: What Hypothesis found to be allowed for a choice inside `without_numbers_of_code`.
_ALLOWED: dict[Any, Any] = {}


@contextlib.contextmanager
def without_numbers_of_code() -> Iterator[None]:
    """Inside, Hypothesis draws no number because it stands in the source of a module that is loaded.

    Otherwise the draws of a claim would depend on every other module and on where the package lies, and each process
    would read all of the source first.  Releases of Hypothesis that know no such numbers are left as they are.
    """
    try:
        from hypothesis.internal.conjecture import providers
    except ImportError:  # of an earlier release
        providers = None
    if not (hasattr(providers, "_get_local_constants") and hasattr(providers, "CONSTANTS_CACHE")):
        yield
        return
    none = providers.Constants()
    before = providers._get_local_constants, providers.CONSTANTS_CACHE
    # the cache too: numbers that a user's own tests may draw must not be found here, nor ours be all that they find there
    providers._get_local_constants, providers.CONSTANTS_CACHE = (lambda: none), _ALLOWED
    try:
        yield
    finally:
        providers._get_local_constants, providers.CONSTANTS_CACHE = before
