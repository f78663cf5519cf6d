"""Which claims the rules of a derivation rest on: each is attacked like every other, and a derivation lists those of its rules."""

from __future__ import annotations

from collections.abc import Iterable

from verify.arithmetics.norms.statements import RULES_BY_NAME


def rests_on_claims(name: str) -> bool:
    """Whether a name is that of a rule which claims state."""
    return name in RULES_BY_NAME and bool(RULES_BY_NAME[name].claims)


def facts_of(rules: Iterable[str]) -> list[str]:
    """The claims that these rules rest on, in order, each once; a rule may be several, separated by semicolons.

    Raises KeyError for a rule that is not declared.
    """
    names = [name for rule in rules for name in rule.split("; ")]
    return list(dict.fromkeys(fact for name in names for fact in RULES_BY_NAME[name].claims))
