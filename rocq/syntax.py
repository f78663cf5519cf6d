"""Expressions with functions and derivatives: their text for Rocq, other names for indices, and what a claim is made of."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from normal_forms import Expr, Index

FIRST_NAME = 1000
ONE = Fraction(1)


class NotExported(Exception):
    """A claim that this writes no file for; the text is the reason."""


@dataclass(frozen=True)
class Node:
    """A function of an expression; `head` is ("Exp",), ("Raised", Fraction), ("Softmax", 1), ("Inverse", 1), ..."""

    head: tuple[Any, ...]
    slots: tuple[Index, ...]
    argument: Expr


@dataclass
class Proof:
    """Passes of rewriting, uses of equations, and the exchanges of each term."""

    passes: list[list[int]]
    uses: list[Expr]
    exchanges: list[Any]


# -- text --------------------------------------------------------------------------------------------------------------


def rocq_z(value: int) -> str:
    return f"({value})%Z" if value < 0 else f"{value}%Z"


def rocq_ratio(value: Fraction) -> str:
    return f"({rocq_z(value.numerator)}, {value.denominator}%positive)"


def rocq_index(index: Index) -> str:
    return f"(i {index[0]} {index[1]})"


def rocq_listed(items: Iterable[str]) -> str:
    found = "; ".join(items)
    return f"[:: {found}]" if found else "[::]"


def rocq_indices(items: Iterable[Index]) -> str:
    return rocq_listed(map(rocq_index, items))


def rocq_base(base: tuple[str, int]) -> str:
    return f"(in{base[0]} {base[1]})"


def rocq_expr(e: Expr) -> str:
    kind = e[0]
    if kind == "n":
        return f"(Int {rocq_z(e[1])})" if e[2] == 1 else f"(Number {rocq_ratio(Fraction(e[1], e[2]))})"
    if kind == "p":
        q = Fraction(e[2], e[3])
        return f"(Size {e[1][1]})" if q == 1 and e[1][0] == "l" else f"(Power {rocq_base(e[1])} {rocq_ratio(q)})"
    if kind == "d":
        return f"(Delta {rocq_index(e[1])} {rocq_index(e[2])})"
    if kind == "e":
        return f"(Entry {e[1]} {rocq_indices(e[2])})"
    if kind == "D":
        return f"(derivative T{e[5]} {e[1]} {rocq_indices(e[2])} {rocq_expr(e[3])})"
    if kind == "s":
        return f"(Sum {rocq_index(e[1])} {rocq_expr(e[2])})"
    return f"({'Add' if kind == '+' else 'Mul'} {rocq_expr(e[1])} {rocq_expr(e[2])})"


def has_derivative(e: Expr) -> bool:
    """Whether a derivative is yet to be carried out in it."""
    kind = e[0]
    if kind in "+*":
        return has_derivative(e[1]) or has_derivative(e[2])
    return kind == "D" or (kind == "s" and has_derivative(e[2]))


def rocq_formula(e: Expr) -> str:
    """A statement's side, in which derivatives are real ones."""
    if not has_derivative(e):
        return f"(Plain {rocq_expr(e)})"
    kind = e[0]
    if kind == "D":
        return f"(Partial {e[1]} {rocq_indices(e[2])} {rocq_formula(e[3])})"
    if kind == "s":
        return f"(Total {rocq_index(e[1])} {rocq_formula(e[2])})"
    return f"({'Plus' if kind == '+' else 'Product'} {rocq_formula(e[1])} {rocq_formula(e[2])})"


def rocq_head(head: tuple[Any, ...]) -> str:
    if head[0] == "Raised":
        return f"(Raised {rocq_ratio(head[1])})"
    return f"({' '.join(map(str, head))})" if len(head) > 1 else head[0]


def expanded(e: Expr) -> Expr:
    """The expression with derivatives written out."""
    kind = e[0]
    if kind == "D":
        return expanded(e[4])
    if kind in "+*":
        return (kind, expanded(e[1]), expanded(e[2]))
    return ("s", e[1], expanded(e[2])) if kind == "s" else e


@dataclass
class Checked:
    """What the kernel checked of a claim."""

    blocks: int = 0
    functions: int = 0
    derivatives: int = 0
    rules: set[str] = field(default_factory=set)
    hypotheses: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)


def fixed(k: int) -> Callable[[Index], Index]:
    """Names below k stay."""
    return lambda w: w if w[0] < k else (w[0] + k, w[1])


def every_index(e: Expr) -> list[Index]:
    """All indices, bound ones too."""
    kind = e[0]
    if kind == "d":
        return [e[1], e[2]]
    if kind == "e":
        return list(e[2])
    if kind in "+*":
        return every_index(e[1]) + every_index(e[2])
    return [e[1], *every_index(e[2])] if kind == "s" else []


def place_at(names: dict[Index, Index], e: Expr) -> Expr:
    """Free indices by other names that no bound one has."""
    kind = e[0]
    if kind == "D":
        at = tuple(names.get(w, w) for w in e[2])
        return ("D", e[1], at, place_at(names, e[3]), place_at(names, e[4]), e[5])
    if kind == "d":
        return ("d", names.get(e[1], e[1]), names.get(e[2], e[2]))
    if kind == "e":
        return ("e", e[1], tuple(names.get(w, w) for w in e[2]))
    if kind in "+*":
        return (kind, place_at(names, e[1]), place_at(names, e[2]))
    return ("s", e[1], place_at(names, e[2])) if kind == "s" else e


def alpha(e: Expr) -> Any:
    """The expression with its bound indices numbered in turn."""
    count = itertools.count(FIRST_NAME)

    def walk(e: Expr, names: dict[Index, Index]) -> Any:
        kind = e[0]
        if kind == "d":
            return ("d", names.get(e[1], e[1]), names.get(e[2], e[2]))
        if kind == "e":
            return ("e", e[1], tuple(names.get(w, w) for w in e[2]))
        if kind in "+*":
            return (kind, walk(e[1], names), walk(e[2], names))
        if kind == "s":
            new = (-next(count), e[1][1])
            return ("s", new, walk(e[2], {**names, e[1]: new}))
        return e

    return walk(e, {})
