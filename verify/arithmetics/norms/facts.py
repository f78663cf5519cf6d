"""Which claims a rule for norms rests on: each is attacked like every other, and a derivation lists those of its rules.

A rule without claims is the definition of a norm, of a largest value or of a derivative's norm, or quotes an assumption.
"""

from __future__ import annotations

from collections.abc import Iterable

from verify.arithmetics.norms.statements import STEPS

#: Rules that only spell out what norms, largest values, sums and comparisons of numbers are, or what a claim assumes.
DEFINITIONS = frozenset({
    "triangle inequality", "sum over an index", "smaller denominator", "largest of several", "definition of the largest",
    "absolute values", "weight of several", "unit vector", "unit direction", "derivative along a unit direction",
    "assumption", "contraction", "number among the factors", "reverse triangle inequality",
})  # fmt: skip

#: The claims that each other rule states.
FACTS: dict[str, tuple[str, ...]] = {
    "spectral radius": ("norms.spectral-radius",),
    "spectral at most Frobenius": ("norms.spectral-frobenius",),
    "rank": ("norms.spectral-frobenius", "norms.rank"),
    "largest entry": ("norms.largest-entry", "norms.spectral-frobenius"),
    "largest of all entries": ("norms.largest-entry",),
    "product": ("norms.product",),
    "difference of products": ("norms.difference-of-products", "norms.difference-of-other-products"),
    "Kronecker product": ("norms.kronecker",),
    "block": ("norms.block", "norms.rearranged"),
    "blocks": ("norms.blocks",),
    "block diagonal": ("norms.block-diagonal",),
    "common factor": ("norms.common-factor",),
    "entrywise product": ("norms.entrywise-product",),
    "antisymmetric product": ("norms.antisymmetric-product",),
    "permutation": ("norms.permutation",),
    "orthonormal": ("norms.orthonormal",),
    "projection": ("norms.projection",),
    "unit rows": ("norms.rows",),
    "row norms": ("norms.rows",),
    "Cauchy-Schwarz": ("norms.cauchy-schwarz",),
    "Weyl": ("norms.weyl",),
    "softmax row": ("norms.softmax-row",),
    "softmax is 1/2-Lipschitz": ("norms.softmax-lipschitz",),
    "softmax in the 1-norm": ("norms.softmax-1-norm",),
    "covariance of a softmax row": ("norms.softmax-covariance", "norms.block-diagonal"),
    "relu": ("norms.relu",),
    "gate": ("norms.gate",),
    "exponential of a skew matrix": ("norms.exponential-of-skew",),
    "similar matrices": ("norms.exponential-of-similar", "norms.product"),
    "exponential of a dissipative matrix": ("norms.exponential-of-dissipative",),
    "exponential": ("norms.exponential",),
    "series of an exponential": ("norms.series-of-an-exponential",),
    "mean of exponentials": ("norms.mean-exponential",),
    "integral of orthogonal matrices": ("norms.integral-of-orthogonal",),
    "iterated polynomial": ("norms.iterated-polynomial",),
    "chain rule": ("norms.chain-rule", "norms.normalisation-jacobian"),
    # largest entries of products
    "largest entry of a product": ("norms.largest-entry-of-a-product",),
    "average of rows": ("norms.average-of-rows",),
    "covariance of entries": ("norms.covariance-of-entries", "norms.largest-entry-of-a-product"),
    "blocks of rows": ("norms.blocks-of-rows", "norms.kronecker", "norms.largest-entry-of-a-product"),
    "mixed product": ("norms.mixed-product", "norms.kronecker"),
    "permuted columns": ("norms.permutation",),
    # softmax rows by the gaps of their logits, and their covariances
    "softmax row less an entry": ("norms.softmax-less-an-entry",),
    "sum of exponentials": ("norms.sum-of-exponentials",),
    "trace of a covariance": ("norms.trace-of-a-covariance",),
    "variance of a softmax row": ("norms.trace-of-a-covariance",),
    "largest entry of a covariance": ("norms.trace-of-a-covariance",),
    "diagonal of a covariance": ("norms.trace-of-a-covariance",),
    "row of a covariance": ("norms.covariance-off-the-diagonal",),
    "covariance off the diagonal": ("norms.covariance-off-the-diagonal",),
    "product of two weights": ("norms.product-of-two-weights",),
    "third central moment": ("norms.third-central-moment",),
    # derivatives
    "constant factors of a derivative": ("norms.chain-rule", "norms.constant-factors"),
    "differential of the exponential": ("norms.exponential-differential",),
    "differential of softmax": ("norms.softmax-differential",),
    "differential of a normalisation": ("norms.normalisation-differential",),
    "differential of an iteration": ("norms.iteration-differential",),
    "differential of an iteration beside its start": ("norms.iteration-beside-its-start", "norms.iterate-and-start"),
    "product rule": ("norms.product-rule",),
    # singular values and rotations
    "Gram matrix of a rotation": ("norms.gram-of-rotation",),
    "mean of rotations": ("norms.mean-of-rotations", "norms.norm-of-mean-of-rotations"),
    "polynomial of a contraction": ("norms.polynomial-of-singular-values",),
    # what norms are simplified by when they are written down, also by assumptions
    "transposes and vectors": ("norms.rearranged",),
    "diagonals and ones": ("norms.diagonal",),
    "polynomials of singular values": ("norms.polynomial-of-singular-values",),
    "||A||_2 = sqrt(c) where A^T A = c I": ("norms.multiple-of-an-isometry",),
    "||y||^2 = sum_k c_k ||x_k||^2 for rows where y y^T = sum_k c_k x_k x_k^T": ("norms.multiple-of-an-isometry",),
}


def every_rule() -> frozenset[str]:
    """The names of all rules of derivations, and of all steps between them."""
    return DEFINITIONS | FACTS.keys() | STEPS.keys()


def facts_of(rules: Iterable[str]) -> list[str]:
    """The claims that these rules rest on, in order, each once; a rule may be several, separated by semicolons.

    Raises KeyError for a rule that neither names claims nor is a definition.
    """
    names = [name for rule in rules for name in rule.split("; ") if name not in DEFINITIONS]
    return list(dict.fromkeys(fact for name in names for fact in FACTS[name]))
