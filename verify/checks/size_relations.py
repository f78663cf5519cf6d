"""Sizes that a statement gives by others: d = H e, as an assumption on sizes that is this equation and nothing else."""

from __future__ import annotations

from typing import Any

import sympy

from verify.vocabulary.claims import Claim


class _Undecided(Exception):
    """An assumption asks something else of its sizes than one equation."""


class _Equation:
    """What the comparison of two products of sizes gives: it cannot be asked whether it holds."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right

    def __bool__(self) -> bool:
        raise _Undecided


class _Product:
    """A product of sizes, which only multiplies and is compared for equality."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    def __mul__(self, other: Any) -> _Product:
        if not isinstance(other, _Product):
            raise _Undecided
        return _Product(self.expression * other.expression)

    def __eq__(self, other: Any) -> Any:
        if type(other) is int and other > 0:
            return _Equation(self.expression, sympy.Integer(other))
        if not isinstance(other, _Product):
            raise _Undecided
        return _Equation(self.expression, other.expression)

    def __bool__(self) -> bool:  # whether it is 0
        raise _Undecided


def size_relations(claim: Claim) -> dict[str, Any]:
    """The sizes that assumptions of a claim give as products of others, which are given by none.

    An assumption ``sizes=lambda sizes: sizes["d"] == sizes["H"] * sizes["e"]`` gives d; whatever is not one equation with a size
    alone on its left gives nothing.
    """
    symbols = {name: sympy.Symbol(name, positive=True, integer=True) for name in claim.sizes}
    found: dict[str, Any] = {}
    for assumption in claim.assumptions:
        test = getattr(assumption, "sizes", None)
        if test is None:
            continue
        try:
            equation = test({name: _Product(symbol) for name, symbol in symbols.items()})
        except (_Undecided, TypeError, KeyError):
            continue
        if isinstance(equation, _Equation) and equation.left.is_Symbol and not equation.right.is_Symbol:
            found[str(equation.left)] = equation.right
    given = {symbols[name] for name in found}
    return {name: value for name, value in found.items() if not value.free_symbols & given}


__all__ = ["size_relations"]
