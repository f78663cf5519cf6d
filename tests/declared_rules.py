"""Which rules for norms the modules of the prover declare."""

from __future__ import annotations

from types import ModuleType

from verify.arithmetics.norms.statements import RULES_BY_NAME


def stated() -> set[str]:
    """The names of all rules that say something of norms, not only how one is written down."""
    return {rule.name for rule in RULES_BY_NAME.values() if rule.says}


def stated_in(module: ModuleType) -> set[str]:
    """Those of them that a module applies."""
    return {name for name in stated() if RULES_BY_NAME[name].module == module.__name__}
