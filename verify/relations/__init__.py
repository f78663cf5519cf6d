"""Relations: what a claim asserts, and how that assertion is attacked.

=================  ============================================================================================
`Equal`            formula == oracle (identities, derivatives)
`AtMost`           oracle <= formula (bounds), attacked by targeted search and gradient ascent
`TendsTo`          a sequence tends to the formula, at an observed rate
`FollowsLaw`       samples of the formula follow a law, by tests of fixed size and stated false-alarm probability
`HasStructure`     a defect of the formula's value vanishes (rank, symmetry, singular values, ...)
`OrderOfGrowth`    a count of operations or memory is O(formula), by exponents along growing sizes
=================  ============================================================================================
"""

from verify.relations.at_most import AtMost
from verify.relations.base import Check, Relation
from verify.relations.equal import Equal, HasStructure
from verify.relations.follows_law import (
    FollowsLaw,
    Moments,
    at_least_probability,
    at_most_probability,
    kolmogorov_smirnov,
    moment_test,
    proportion_test,
    same_law,
)
from verify.relations.order import Count, OrderOfGrowth, count
from verify.relations.tends_to import PowerRate, QuadraticRate, TendsTo

__all__ = [
    "AtMost",
    "Check",
    "Count",
    "Equal",
    "FollowsLaw",
    "HasStructure",
    "Moments",
    "OrderOfGrowth",
    "PowerRate",
    "QuadraticRate",
    "Relation",
    "TendsTo",
    "at_least_probability",
    "at_most_probability",
    "count",
    "kolmogorov_smirnov",
    "moment_test",
    "proportion_test",
    "same_law",
]
