"""What every attack on a relation has: its checks, and what breaks a statement at explicit inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from verify.checks.record import Record
from verify.checks.settings import Settings
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import Relation

R = TypeVar("R", bound=Relation)


@dataclass(frozen=True)
class Check:
    """One piece of evidence that can be gathered about a claim."""

    name: str
    arithmetic: str
    run: Callable[[Claim, Settings], Record]
    draws: bool = True  #: whether what it finds may depend on the seed


class Attack(Generic[R]):
    """How claims of one kind of relation are attacked; `relation` holds what the relation states."""

    def __init__(self, relation: R) -> None:
        self.relation = relation

    def checks(self, claim: Claim, settings: Settings) -> list[Check]:
        """The checks that gather evidence about `claim`, primary first; declared counterexamples come after them."""
        raise NotImplementedError

    def proved(self, claim: Claim, settings: Settings) -> Record:
        """The check `proved`, of claims that are marked as proved for all sizes; it loads its arithmetic when it runs."""
        raise NotImplementedError

    def compared(self, claim: Claim) -> tuple[Callable[..., Any], Callable[..., Any] | None] | None:
        """Both sides as functions of inputs, the second None where the first has to vanish; None if floats do not decide."""
        return None

    def violation(self, formula: np.ndarray, oracle: np.ndarray) -> np.ndarray:
        """Entrywise excess: the statement is false where `excludes` says so of an entry."""
        return formula - oracle

    def excludes(self, excess: Any) -> bool:
        """Whether one entry of `violation` certainly breaks the statement: for an equality, where it is not zero."""
        return not excess.contains(0) if hasattr(excess, "contains") else bool(excess != 0)
