"""What a rule says of a quantity, and the step by which it is written: both give the same bound, or the step is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sympy

from verify.arithmetics.norms import input_matrix, rules, telescoping
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL, norm
from verify.arithmetics.norms.derivation_search import Step
from verify.arithmetics.norms.derivations import EntryBound
from verify.arithmetics.norms.recording import Writer
from verify.arithmetics.norms.retraced import Retraced
from verify.arithmetics.norms.world import World, derivation
from verify.matrix import concatenate, expm, hadamard, kron, relu, softmax, step

pytestmark = pytest.mark.kept

m, n = (sympy.Symbol(name, positive=True, integer=True) for name in "mn")
KINDS = (SPECTRAL, FROBENIUS, LARGEST)
SHAPES = {"A": (m, n), "B": (m, n), "C": (n, m), "D": (n, m), "S": (n, n), "R": (n, n), "v": (1, n)}


def written_as(known: World, symbol: Any, candidate: Any) -> list[Any]:
    """What the checker makes of a quantity by each way in which a candidate is written, and the bound of the candidate."""
    retraced = Retraced(Writer(known), EntryBound(symbol, candidate.bound, None, None, (), False), [])
    start, retraced.kept = retraced.value, set()
    ((monomial, _),) = start.terms.items()
    ((g, _),) = monomial
    found = [retraced.aim]
    for steps in retraced._instances(g, Step(*candidate[:1], symbol, *candidate[1:])):
        retraced.value, retraced.steps = start, []
        if retraced._take(steps):
            found.append(retraced.value)
    return found


def agreeing(made: Callable[..., Any], *kinds: str) -> set[str]:
    """The rules whose bounds of norms of a matrix are those of the steps by which they are written; fails for another one."""
    names = made.__code__.co_varnames[: made.__code__.co_argcount]
    seen = set()
    with derivation() as known:
        known.properties |= {("is skew", "S"), ("is skew", "R")}
        operand = made(*(input_matrix(name, *SHAPES[name]) for name in names))
        for kind in kinds or KINDS:
            for symbol in norm(kind, operand.node).free_symbols & known.atoms.keys():
                for candidate in rules.candidates(symbol):
                    if candidate.written is not None:
                        bound, *reached = written_as(known, symbol, candidate)
                        assert bound in reached, (kind, candidate.name)
                        seen.add(candidate.name)
    return seen


CASES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "product": (lambda A, C: A @ C, (SPECTRAL, FROBENIUS)),
    "triangle inequality": (lambda A, B: A + 2 * B, (SPECTRAL, FROBENIUS)),
    "difference of products": (lambda A, B, C, D: A @ C - B @ D, (SPECTRAL, FROBENIUS)),
    "Kronecker product": (lambda A, C: 2 * kron(A, C), KINDS),
    "entrywise product": (lambda A, B: hadamard(A - B, B), (FROBENIUS,)),
    "gate": (lambda A, B: hadamard(A, step(B)), (FROBENIUS, LARGEST)),
    "softmax is 1/2-Lipschitz": (lambda A, B: softmax(A) - softmax(B), (SPECTRAL, FROBENIUS)),
    "softmax row": (lambda v: softmax(2 * v), KINDS),
    "relu": (lambda A, B: relu(A) - relu(B), (SPECTRAL, FROBENIUS)),
    "exponential of a skew matrix": (lambda S, R: expm(S) - expm(R), (SPECTRAL, FROBENIUS)),
    "antisymmetric product": (lambda A, B: A @ B.T - B @ A.T, (SPECTRAL,)),
    "blocks": (lambda A, B: concatenate([A, B], axis=0), (SPECTRAL, FROBENIUS)),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_a_bound_is_that_of_the_step_by_which_it_is_written(rule: str) -> None:
    made, kinds = CASES[rule]
    assert rule in agreeing(made, *kinds)


def test_a_bound_that_its_step_does_not_give_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = telescoping.DIFFERENCES["relu"]
    less = lambda *of: (item._replace(bound=item.bound / 2) for item in right(*of))  # noqa: E731
    monkeypatch.setitem(telescoping.DIFFERENCES, "relu", less)
    with pytest.raises(AssertionError, match="relu"):
        agreeing(lambda A, B: relu(A) - relu(B), FROBENIUS)
