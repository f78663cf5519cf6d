"""Which rules for norms the modules of the prover declare, and what else a derivation does."""

from __future__ import annotations

from types import ModuleType

from verify.arithmetics.norms.statements import RULES_BY_NAME

#: What else a derivation does, and under which condition.
STEPS = {
    "replacement": "a quantity gives way to a bound where the whole certainly grows with it",
    "sign of a number": "a number is positive or negative where balls tell it from 0",
    "comparison of squares": "a <= b where a^2 <= b^2, for a and b that are not negative",
    "common denominator": "a quotient is not negative where numerator and denominator are not",
    "sizes from 1 on": "a size is (1 + t)^2 for some t >= 0",
    "term by term": "a sum is at most another where each term is at most one of the other's, each taken once, and none is negative",
    "assumed inequality": "non-negative multiples of what an assumption says is not negative are subtracted",
    "largest in an assumption": "what is not negative at the largest of several numbers, and falls with it, is so at each",
    "assumed bound of entries": "c - |A_ij| >= 0 for all entries says max|A| <= c",
    "assumed bound of a norm": "c - ||A|| >= 0 says ||A|| <= c",
    "equal signs": "A o B > 0 says that A and B have steps that agree",
    "orthonormal frame": "c (W^T W - I) = 0 for c != 0 says that W, and its blocks, have spectral norm at most 1",
    "multiple of the identity": "c A B + d I = 0 says A B = -d/c I where c or d is not 0; c A^2 = 0 says A^2 = 0 where c is not 0",
    "root of squares": "a root of a sum of squares is at least each of them, where none is taken off",
    "root of a quotient": "the root of a / b is that of a over that of b for a > 0, or where an assumption says b >= 0",
    "case of the largest": "what holds of each of several numbers holds of their largest",
    "entries in pairs": "entry by entry, in one order and of one shape, or each beside a single number",
    "numbers of symbols": "a formula does not decide on a symbol, and a slice lies within its axis",
}


def every_rule() -> frozenset[str]:
    """The names of all rules of derivations, and of all steps between them."""
    return frozenset(RULES_BY_NAME.keys() | STEPS.keys())


def stated() -> set[str]:
    """The names of all rules that say something of norms, not only how one is written down."""
    return {rule.name for rule in RULES_BY_NAME.values() if rule.says}


def stated_in(module: ModuleType) -> set[str]:
    """Those of them that a module applies."""
    return {name for name in stated() if RULES_BY_NAME[name].module == module.__name__}
