"""What is known of the heads of a kind, in one place: their entries in floats, their LaTeX, and of functions of a sum more.

The module that makes heads of a kind says what they are, by `head_kind`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.formula_latex import name_latex
from verify.arithmetics.symbols.heads import AT_STEP, Head
from verify.arithmetics.symbols.scalars import Scalar
from verify.arithmetics.symbols.sums import Sum, contract, step_named
from verify.vocabulary.errors import InputError


def below(at: Sequence[str]) -> str:
    """Indices as a subscript."""
    return f"_{{{' '.join(at)}}}" if at else ""


def scaled_latex(coefficient: Scalar, product: str) -> str:
    """A coefficient times a product, as LaTeX."""
    expression = coefficient.expression
    if not product:
        return str(sympy.latex(expression))
    if expression == 1:
        return product
    if expression == -1:
        return f"-{product}"
    text = sympy.latex(expression)
    return f"({text})\\, {product}" if len(coefficient.terms) > 1 else f"{text}\\, {product}"


def _as_operator(made: Head, at: Sequence[str], written: Callable[..., str]) -> str:
    return rf"\operatorname{{{made.kind}}}({written(made.inner)}){below(at)}"


@dataclass(frozen=True)
class HeadKind:
    """What is known of all heads of a kind.

    `values` are the entries of a head at a `NumericPoint`, in any shape.  `latex` is its text, given those of its indices and what
    writes sums.  A function of a sum has more: `again` is the function of another sum, given that and the parameter, and `along`
    the derivative of a head along a change of its argument, which has the slots of that and then others, by the rule `slope`.
    It is 0 for a kind that is `flat`.
    """

    values: Callable[[Head, Any], Any]
    latex: Callable[[Head, Sequence[str], Callable[..., str]], str] = _as_operator
    again: Callable[[Sum, Any], Sum] | None = None
    along: Callable[[Head, Sum], Sum] | None = None
    slope: str = ""
    flat: bool = False
    title: str = ""  #: of its derivative, where that has no symbolic form


KINDS: dict[str, HeadKind] = {}


def head_kind(kind: str, values: Callable[[Head, Any], Any], **more: Any) -> None:
    """Say what is known of the heads of this kind: the fields of `HeadKind`."""
    if "along" in more and "slope" not in more:
        more["slope"] = step_named(f"derivative of {kind}")
    KINDS[kind] = HeadKind(values, **more)


def times_change(value: Sum, change: Sum) -> Sum:
    """A sum times a change over its slots and others, entry by entry."""
    slots = range(len(change.slots))
    return contract([(value, slots[: len(value.slots)]), (change, slots)], slots)


# -- tensors and structures --------------------------------------------------------------------------------------------


def _of_tensor(made: Head, point: Any) -> Any:
    if made.name not in point.arrays:
        raise InputError("arrays", f"values of {made.name}", str(sorted(point.arrays)))
    return point.arrays[made.name]


def _identity(made: Head, point: Any) -> Any:
    return np.eye(point.size(made.sizes[0]))


def _selection(made: Head, point: Any) -> Any:
    start, count = map(point.size, (made.parameter, made.sizes[1]))
    return _identity(made, point)[:, start : start + count]


head_kind("tensor", values=_of_tensor, latex=lambda made, at, written: f"[{name_latex(made.name)}]{below(at)}")
head_kind(AT_STEP, values=_of_tensor)
head_kind("delta", values=_identity, latex=lambda made, at, written: rf"\delta{below(at)}")
head_kind(
    "unit",
    values=lambda made, point: _identity(made, point)[made.parameter],
    latex=lambda made, at, written: rf"[e_{{{made.parameter + 1}}}]{below(at)}",
)
head_kind(
    "selection",
    values=_selection,
    latex=lambda made, at, written: rf"[I_{{:, {sympy.latex(made.parameter)}+1:}}]{below(at)}",
)
head_kind("grouping", values=_identity, latex=lambda made, at, written: rf"\delta_{{{at[0]}, ({' '.join(at[1:])})}}")
