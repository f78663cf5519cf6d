"""The mathematics: one package per paper, each with its definitions, its claims in the paper's order, its formulas.

Certified functions are exported by topic: `theorems.layers`, `theorems.curvature`, `theorems.jacobians`.
"""

from __future__ import annotations

import importlib
from types import ModuleType

#: The topics; `theorems.reference` says what stands behind each function.
TOPICS = ("curvature", "jacobians", "layers")


def __getattr__(name: str) -> ModuleType:
    """Import a topic when it is first asked for: papers import this package too."""
    if name in TOPICS:
        return importlib.import_module(f"theorems.{name}")
    raise AttributeError(f"module 'theorems' has no attribute {name!r}")
