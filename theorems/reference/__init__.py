"""Reference functions: formulas that claims certify, with batches.

A function is exported by registering it here, under a topic that is a module beside this package; a test refuses those whose
claims do not hold.
"""

from theorems.reference.batches import over_batches
from theorems.reference.registry import Reference, certified, references

__all__ = ["Reference", "certified", "over_batches", "references"]
