"""Checks: how each relation is attacked.

equality, inequality, limits, laws, growth   the attacks on relations, one module each
counterexamples                          declared ones, certified
proofs, bound_proofs, fixed_sizes        identities and bounds proved for all sizes, identities at given ones
evaluation, units, satisfied             a claim's functions at inputs, rounding units, assumptions tested
stated                                   whether inputs that meet the stated assumptions, and no others, uphold it
invariants, free_inputs                  what every prepared input has and nobody stated; inputs that only meet what is stated
search, settings, record                 draws examined, the run asked for, what a check returns
independence                             whether an oracle shares code with its formula
"""

from typing import Any

from verify.checks.attack import Attack, Check
from verify.checks.counterexamples import certify
from verify.checks.equality import EqualityAttack, StructureAttack
from verify.checks.growth import GrowthAttack
from verify.checks.inequality import BoundAttack
from verify.checks.invariants import JUDGED, nothing_unstated
from verify.checks.laws import LawAttack
from verify.checks.limits import LimitAttack
from verify.checks.preparations import all_reached
from verify.checks.record import Record
from verify.checks.settings import Settings
from verify.checks.stated import as_stated, comparable
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import RegistryError
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

__all__ = ["ATTACKS", "Check", "attack_on", "checks_of"]

#: How claims are attacked, by the relation that they state.
ATTACKS: dict[type[Relation], type[Attack[Any]]] = {
    Equal: EqualityAttack,
    HasStructure: StructureAttack,
    AtMost: BoundAttack,
    TendsTo: LimitAttack,
    FollowsLaw: LawAttack,
    OrderOfGrowth: GrowthAttack,
}


def attack_on(claim: Claim) -> Attack[Any]:
    """The attack on the relation of a claim."""
    attack = by_type(ATTACKS, claim.relation)
    if attack is None:
        raise RegistryError(f"{claim.id}: verify.checks.ATTACKS says of no attack on relation {claim.relation.kind!r}")
    return attack(claim.relation)


def checks_of(claim: Claim, settings: Settings) -> list[Check]:
    """The checks that gather evidence about `claim`, primary first."""
    attack = attack_on(claim)
    found = attack.checks(claim, settings)
    if claim.counterexamples:

        def certified(claim: Claim, settings: Settings) -> Record:
            return certify(claim, attack)

        found.append(Check("counterexample", "exact or ball", certified, draws=False))
    if settings.effort.name == "deep":
        if comparable(claim):
            found.append(Check("as stated", "float64", as_stated))
        if claim.expects in JUDGED:
            found.append(Check("nothing unstated", "float64", nothing_unstated))
        if claim.prepares_inputs:
            found.append(Check("all reached", "float64", all_reached))
    return found
