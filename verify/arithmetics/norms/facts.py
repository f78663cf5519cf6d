"""Which claims the rules of a derivation rest on: each is attacked like every other, and a derivation lists those of its rules."""

from __future__ import annotations

from collections.abc import Iterable

import verify.arithmetics.norms.derivations  # noqa: F401  (declares all rules; the package itself loads most of them)
from verify.arithmetics.norms.statements import RULES_BY_NAME

#: Rules of the checker of certificates that derivations know by other names: those whose claims state them.
OF_CHECKER: dict[str, tuple[str, ...]] = {
    "product, left": ("product",), "product, right": ("product",), "sum of rows": ("sum over an index",), "stack": ("blocks",),
    "squares of blocks": ("blocks",), "squares of a stack": ("blocks",), "stack of one length": ("blocks",),
    "squares of rows": ("row norms",), "normalised rows": ("row norms",), "Cauchy-Schwarz for all entries": ("Cauchy-Schwarz",),
    "covariances of softmax rows": ("covariance of a softmax row",),
    "covariance by the weights beside one": ("trace of a covariance",),
    "exponentials of skew matrices": ("exponential of a skew matrix",),
    "rotation by its mean": ("mean of rotations",), "rotation by its mean, reversed": ("mean of rotations",),
    "iterate": ("iterated polynomial",),
    "differential of an iteration in the frame of its start": ("differential of an iteration beside its start",),
    "derivative of a sum": ("chain rule",), "derivative of a sum of products": ("chain rule",),
    "chain rule of normalised rows": ("chain rule",), "largest of open gates": ("gate",),
    "unit row and its skew image": ("inner product",), "orthonormal by assumption": ("orthonormal",),
    "norm of two blocks of bounded norm": ("norm of two blocks",),
    "smallest gain of two blocks of bounded gain": ("smallest gain of two blocks",),
    "smallest singular value of blocks": ("blocks",),
    "multiple of an isometry": ("||A||_2 = sqrt(c) where A^T A = c I",),
    "unit row times a multiple of an isometry": ("||A||_2 = sqrt(c) where A^T A = c I",),
    "distance from equal entries": ("distance from rank one",),
    "softmax near equal weights": ("softmax near the uniform matrix",),
    "softmax near equal weights, by a chord": ("softmax near the uniform matrix",),
}  # fmt: skip
#: Rules of the checker that no claim states: definitions, what is assumed, and how scalars are compared.
DEFINITIONS = frozenset({
    "sum of absolute values", "largest over an index", "one of a stack", "root of a sum of squares", "sum", "comparison",
    "from below",
})  # fmt: skip


def rests_on_claims(name: str) -> bool:
    """Whether a name is that of a rule which claims state."""
    return name in RULES_BY_NAME and bool(RULES_BY_NAME[name].claims)


def facts_of(rules: Iterable[str]) -> list[str]:
    """The claims that these rules rest on, in order, each once; a rule may be several, separated by semicolons.

    Raises KeyError for a rule that is not declared.
    """
    names = [name for rule in rules for name in rule.split("; ")]
    return list(dict.fromkeys(fact for name in names for fact in RULES_BY_NAME[name].claims))


def facts_of_checker(rules: Iterable[str]) -> list[str]:
    """The claims that these rules of the checker of certificates rest on, in order, each once.

    Raises KeyError for a rule of which nothing is said.
    """
    names = [name for rule in rules if rule not in DEFINITIONS for name in OF_CHECKER.get(rule, (rule,))]
    return facts_of(names)
