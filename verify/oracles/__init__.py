"""Oracles: independent ways to a quantity, which theorems hold their formulas against.

derivatives   Jacobians and Hessians by torch.func or by jets
expectations  moments of matrices of independent normal entries
statistics    tests of laws, each of a stated false-alarm probability
counting      operations and memory of an implementation, counted instead of timed
"""

from verify.arithmetics.closed_forms import closed_form, closed_forms
from verify.oracles.counting import Count, count, largest, without_numbers
from verify.oracles.derivatives import hessian, jacobian, jacobians
from verify.oracles.expectations import Drawn, Normal, expectation, standard_normal
from verify.oracles.statistics import (
    SMALLEST_P,
    LawTest,
    Moments,
    NormalLaw,
    at_least_probability,
    at_most_probability,
    kolmogorov_smirnov,
    moment_test,
    proportion_test,
    same_law,
    two_sided_p,
)

__all__ = [
    "SMALLEST_P",
    "Count",
    "Drawn",
    "LawTest",
    "Moments",
    "Normal",
    "NormalLaw",
    "at_least_probability",
    "at_most_probability",
    "closed_form",
    "closed_forms",
    "count",
    "expectation",
    "hessian",
    "jacobian",
    "jacobians",
    "kolmogorov_smirnov",
    "largest",
    "moment_test",
    "proportion_test",
    "same_law",
    "standard_normal",
    "two_sided_p",
    "without_numbers",
]
