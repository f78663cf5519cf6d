"""Gram matrices A A^T: their smallest eigenvalues, and their distance from the identity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verify.arithmetics.formal import Formal, register_forms
from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, SPECTRAL, norm
from verify.arithmetics.norms.bounded import lifted
from verify.arithmetics.norms.rules import QUANTITIES, RULES, is_contraction, one_after_another
from verify.arithmetics.norms.signs import is_nonnegative
from verify.arithmetics.norms.statements import RuleBound, rule
from verify.arithmetics.norms.world import Node, world
from verify.vocabulary.errors import ArithmeticUnsupported

SMALLEST_EIGENVALUE = "smallest eigenvalue"


class Eigenvalues(Formal):
    """The eigenvalues of a Gram matrix in ascending order, of which the first is asked."""

    __slots__ = ("node",)
    __array_ufunc__ = None

    def __init__(self, node: Node) -> None:
        self.node = node

    def __getitem__(self, key: Any) -> Any:
        c, core = nodes.single(self.node)
        if not (isinstance(key, int) and key == 0 and is_nonnegative(c) and nodes.gram_factor(core) is not None):
            raise ArithmeticUnsupported(f"eigenvalue {key!r} of {self.node!r} has no form for all sizes")
        return c * world().atom(SMALLEST_EIGENVALUE, (core,))


def symmetric_eigenvalues(B: Any) -> Eigenvalues:
    """The eigenvalues of a symmetric matrix."""
    return Eigenvalues(lifted(B).node)


@rule(
    "smallest eigenvalue of a Gram matrix",
    says="lambda_min(A A^T) <= tr(A A^T) / m = ||A||_F^2 / m for m rows",
    rests_on=("smallest-eigenvalue-of-a-gram",),
)
def _smallest_eigenvalue(node: Node) -> Iterator[RuleBound]:
    A = nodes.gram_factor(node)
    if A is not None:
        name = "smallest eigenvalue of a Gram matrix"
        yield RuleBound(name, norm(FROBENIUS, A) ** 2 / A.shape[0], (name, A))


@rule(
    "Gram matrix of a contraction", says="||I - A A^T||_2 <= 1 where ||A||_2 <= 1", rests_on=("gram-of-a-contraction",)
)
def _less_identity(kind: str, node: Node) -> Iterator[RuleBound]:
    """A bound of c (I - A A^T)."""
    for (c, one), (d, square) in nodes.both_orders(node) if kind == SPECTRAL else ():
        A = nodes.gram_factor(square) if one.kind == "identity" and d == -c else None
        if A is not None and (is_contraction(A) or is_contraction(nodes.transposed(A))):
            written = lambda _, A=A: [[("Gram matrix of a contraction", nodes.transposed(A))]]  # noqa: E731
            yield RuleBound("Gram matrix of a contraction", abs(c), written)


QUANTITIES |= {SMALLEST_EIGENVALUE: _smallest_eigenvalue}
RULES |= {"sum": one_after_another(RULES["sum"], _less_identity)}

register_forms({"symmetric_eigenvalues": symmetric_eigenvalues}, "norms")
