"""The scale 1 / sqrt(d_v) of Eq. (5): it normalises one dot product, while an entry of S is the difference of two."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.shapes import HeadSize
from verify.claims import Claim, Setting
from verify.matrix import rational, sqrt
from verify.relations import HasStructure
from verify.shapes import Real

#: Determines a law of mean 0 and variance 1 on two values, in rationals.
Skewness = Annotated[Any, Real(-4.0, 4.0, avoid_zero=True)]


def law_and_head_size(a: Skewness, d_v: HeadSize) -> Any:
    """A law on two values, and how many products are summed."""
    return {"a": a, "d_v": d_v}


DOT_PRODUCTS = Setting(OSA, "Section 2", sizes={"d_v": (1, 4)}, inputs=law_and_head_size, exact=True)

SCALING = Claim(
    DOT_PRODUCTS,
    "osa.scaling-dv",
    label="Section 2, text below Eq. (5)",
    statement=r"\tfrac{1}{\sqrt{d_v}} \text{ normalises the dot-product of vectors in } \mathbb{R}^{d_v}",
    assumptions=["no distribution is stated"],
    relation=HasStructure(),
    expects="reading",
    reading="the entries of the two vectors are independent with mean 0 and variance 1; then the scaled dot product has"
    " variance 1.  Every such law with two values is enumerated.",
    note="What is scaled in Eq. (5) is the difference of two such products, whose variance is 2: see osa.scaling-scores.",
)


def two_point_law(a: Any) -> list[tuple[Any, Any]]:
    """Values and probabilities of the law on {a, -1/a} that has mean 0 and variance 1."""
    return [(a, 1 / (1 + a * a)), (-1 / a, a * a / (1 + a * a))]


def _second_moment(a: Any, terms: int, products: int) -> Any:
    """E of the square of a signed sum of `terms` * `products` independent products q k, by enumeration of every outcome.

    The first `terms` products have sign +, the next -, and so on.
    """
    law = two_point_law(a)
    product = [(x * y, p * r) for (x, p), (y, r) in itertools.product(law, law)]
    second = a * 0
    for outcome in itertools.product(product, repeat=terms * products):
        value, probability = a * 0, a * 0 + 1
        for index, (x, p) in enumerate(outcome):
            value, probability = value + x * (-1) ** (index // terms), probability * p
        second = second + value * value * probability
    return second


@SCALING.formula
def scale_of_dot_product(d_v: HeadSize) -> Any:
    """1 / sqrt(d_v), a scalar (Section 2)."""
    return 1 / sqrt(d_v)


SCALING.part("structure", lambda value, a, d_v: _second_moment(a, d_v, 1) * (value * value) - 1)
SCALING.mutant("1 / d_v", lambda d_v: rational(1, d_v))
SCALING.mutant("not scaled", lambda: rational(1))
SCALING.mutant("1 / sqrt(2 d_v)", lambda d_v: 1 / sqrt(2 * d_v))

SCALING_SCORES = Claim(
    DOT_PRODUCTS,
    "osa.scaling-scores",
    label="Section 2, the scale of the entries of S",
    statement=r"\operatorname{Var}(S_{ij}/\alpha) = 2 \text{ for } i \ne j, \text{ when the entries of } \mathbf{Q},\mathbf{K}"
    r" \text{ are independent with mean 0 and variance 1; the scale } \tfrac{1}{\sqrt{2d_v}} \text{ would make it 1}",
    relation=HasStructure(),
    sizes={"d_v": (1, 2)},
    of_project=True,
)


@SCALING_SCORES.formula
def scale_of_skew_scores(d_v: HeadSize) -> Any:
    """1 / sqrt(2 d_v), a scalar, with which the entries of Q K^T - K Q^T off the diagonal have variance 1."""
    return 1 / sqrt(2 * d_v)


@SCALING_SCORES.part("structure")
def excess_variance_of_scores(value: Any, a: Any, d_v: int) -> Any:
    # q_i . k_j - k_i . q_j: two dot products of independent vectors
    return _second_moment(a, d_v, 2) * (value * value) - 1


SCALING_SCORES.mutant("1 / sqrt(d_v), as in Eq. (5)", lambda d_v: 1 / sqrt(d_v))
SCALING_SCORES.mutant("1 / (2 sqrt(d_v))", lambda d_v: rational(1, 2) / sqrt(d_v))
