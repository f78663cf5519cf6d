"""Every rule that Rocq's checker of certificates has: used rightly it is accepted, used wrongly it is refused.

The rules are the constructors that the files in rocq/ declare: steps of a proof, functions with their slopes, statements with
derivatives, expressions with their normal form, and matrices.  A case is a certificate in which one rule is used rightly, and
changes to it, each of which makes it wrong: a side condition that does not hold, another sign, another function.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.test_rocq import FOLDER, needs_rocq

sys.path.insert(0, str(FOLDER))

from formulas import FORMULA_HEADER
from theory import coqc

pytestmark = pytest.mark.kept(".", programs=["coqc"])

#: An index of a function's own, and one that is none's, each of size 0; likewise of size 1.
S, U, A, B, C = "(i 0 0)", "(i 1 0)", "(i 5 0)", "(i 6 0)", "(i 7 0)"
OF_TWO = "(i 8 1)"
OK = "(Shown [::] (Certificate [::] [::]))"
HALF, MINUS_ONE, TWO = "(1%Z, 2%positive)", "((-1)%Z, 1%positive)", "(2%Z, 1%positive)"


def e(number: int, *indices: str) -> str:
    return f"(Entry {number} [:: {'; '.join(indices)}])"


def n(value: int) -> str:
    return f"(Int ({value})%Z)"


def listed(items: Any) -> str:
    found = "; ".join(items)
    return f"[:: {found}]" if found else "[::]"


@dataclass(frozen=True)
class Identity:
    """A certificate about entries, whose one step is used once as it stands, and what makes it wrong."""

    step: str
    left: str
    right: str
    #: Of functions (head, slots, argument) with their numbers.
    table: dict[int, tuple[str, list[str], str]] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    #: A side in which derivatives are real ones is a formula.
    formula: bool = False
    proof: str = ""
    wrong: dict[str, dict[str, Any]] = field(default_factory=dict, compare=False)
    #: Whether the right side is 0, which is its own negative.
    is_zero: bool = False

    def text(self) -> str:
        nodes = (
            f"({k}, Node {h} {listed(slots)} {argument})"
            for k, (h, slots, argument) in sorted(self.table.items(), reverse=True)
        )
        use = f"(Shown [::] (Certificate [:: (Use [::] {n(1)} 0 [::] [::])] [::]))" if self.step else OK
        sides = (self.left, self.right) if self.formula else (f"(Plain {self.left})", f"(Plain {self.right})")
        return (
            f"let functions : table := {listed(nodes)} in accepts functions {listed(self.given)} [::] "
            f"{listed([self.step] if self.step else [])} ({sides[0]}, {sides[1]}) {self.proof or use}"
        )

    def changed(self) -> dict[str, Identity]:
        negative = f"(Product (Plain {n(-1)}) {self.right})" if self.formula else f"(Neg {self.right})"
        cases = {name: replace(self, wrong={}, **change) for name, change in self.wrong.items()}
        return cases if self.is_zero else {"sign": replace(self, right=negative, wrong={}), **cases}


@dataclass(frozen=True)
class Matrices:
    """An equation between matrices X, Y of sizes (0, 0), Z of (0, 1), v of (0), and what makes it wrong."""

    left: str
    right: str
    table: dict[int, tuple[str, list[str], str]] = field(default_factory=dict)
    proof: str = OK
    wrong: dict[str, dict[str, Any]] = field(default_factory=dict, compare=False)

    def text(self) -> str:
        nodes = (
            f"({k}, Node {h} {listed(slots)} {argument})"
            for k, (h, slots, argument) in sorted(self.table.items(), reverse=True)
        )
        shapes = "[:: ([:: 0], [:: 0]); ([:: 0], [:: 0]); ([:: 0], [:: 1]); ([:: 0], [::]); ([:: 0], [:: 0])]"
        return f"accepts_formula {listed(nodes)} [::] [::] [::] {shapes} 4 {self.left} {self.right} {self.proof}"

    def changed(self) -> dict[str, Matrices]:
        return {name: replace(self, wrong={}, **change) for name, change in self.wrong.items()}


def one(head: str, argument: str = e(0, S), slots: tuple[str, ...] = (S,)) -> tuple[str, list[str], str]:
    """A function for a table."""
    return f"({head})", list(slots), argument


X, Y, SQUARE = e(0, S), e(1, S), e(0, S, U)
# -- steps of a proof --------------------------------------------------------------------------------------------------
#: Functions have numbers from 10 on, so that 0 and 1 are inputs.
STEPS = {
    "Equal": Identity(
        f"(Equal (Mul {X} {Y}, Mul {Y} {X}) {OK})",
        f"(Mul {X} {Y})",
        f"(Mul {Y} {X})",
        wrong={"false": {"step": f"(Equal (Mul {X} {Y}, Mul {X} {X}) {OK})", "right": f"(Mul {X} {X})"}},
    ),
    "SameEntries": Identity(
        f"(SameEntries 10 [:: {A}] 11 [:: {A}] {OK})",
        e(10, A),
        e(11, A),
        {10: one("Exp"), 11: one("Exp")},
        wrong={
            "other arguments": {"table": {10: one("Exp"), 11: one("Exp", Y)}},
            "other indices": {"step": f"(SameEntries 10 [:: {A}] 11 [:: {B}] {OK})", "right": e(11, B)},
            "other functions": {"table": {10: one("Exp"), 11: one("Log")}},
            "not entrywise": {"table": {10: one("Softmax 1"), 11: one("Softmax 1")}},
            "other sizes": {
                "step": f"(SameEntries 10 [:: {OF_TWO}] 11 [:: {OF_TWO}] {OK})",
                "left": e(10, OF_TWO),
                "right": e(11, OF_TWO),
            },
        },
    ),
    "SameFunctions": Identity(
        f"(SameFunctions 10 11 {OK})",
        e(10, S),
        e(11, S),
        {10: one("Softmax 1"), 11: one("Softmax 1")},
        wrong={
            "other arguments": {"table": {10: one("Softmax 1"), 11: one("Softmax 1", Y)}},
            "other functions": {"table": {10: one("Softmax 1"), 11: one("Softmax 0")}},
            "other slots": {
                "table": {10: one("Softmax 1", SQUARE, (S, U)), 11: one("Softmax 1", SQUARE, (U, S))},
                "left": e(10, S, U),
                "right": e(11, U, S),
            },
        },
    ),
    "SoftmaxRows": Identity(
        "(SoftmaxRows 10)",
        f"(Sum {U} {e(10, S, U)})",
        n(1),
        {10: one("Softmax 1", SQUARE, (S, U))},
        wrong={
            "columns": {"left": f"(Sum {S} {e(10, S, U)})"},
            "no softmax": {"table": {10: one("Exp", SQUARE, (S, U))}},
            "over more than there are": {"table": {10: one("Softmax 3", SQUARE, (S, U))}},
        },
    ),
    "SoftmaxShift": Identity(
        f"(SoftmaxShift 11 10 {e(1, S)} {OK})",
        e(11, S, U),
        e(10, S, U),
        {10: one("Softmax 1", SQUARE, (S, U)), 11: one("Softmax 1", f"(Add {SQUARE} {e(1, S)})", (S, U))},
        wrong={
            "not constant in a row": {
                "step": f"(SoftmaxShift 11 10 {e(1, U)} {OK})",
                "table": {
                    10: one("Softmax 1", SQUARE, (S, U)),
                    11: one("Softmax 1", f"(Add {SQUARE} {e(1, U)})", (S, U)),
                },
            },
            "not the sum": {
                "table": {
                    10: one("Softmax 1", SQUARE, (S, U)),
                    11: one("Softmax 1", f"(Mul {SQUARE} {e(1, S)})", (S, U)),
                }
            },
            "another softmax": {
                "table": {
                    10: one("Softmax 2", SQUARE, (S, U)),
                    11: one("Softmax 1", f"(Add {SQUARE} {e(1, S)})", (S, U)),
                }
            },
            "no softmax": {
                "table": {10: one("Exp", SQUARE, (S, U)), 11: one("Exp", f"(Add {SQUARE} {e(1, S)})", (S, U))}
            },
        },
    ),
    "SoftmaxUniform": Identity(
        "(SoftmaxUniform 10)",
        e(10, S),
        f"(Mul (Power (inl 0) {MINUS_ONE}) {n(1)})",
        {10: one("Softmax 1", n(3))},
        wrong={
            "not uniform": {"table": {10: one("Softmax 1")}},
            "no softmax": {"table": {10: one("Exp", n(0))}},
            "the size": {"right": f"(Mul (Power (inl 0) (1%Z, 1%positive)) {n(1)})"},
            "over more than there are": {"table": {10: one("Softmax 2", n(3))}},
        },
    ),
    "SoftmaxRatio": Identity(
        f"(SoftmaxRatio 11 10 {OK})",
        f"(Mul {e(11, S)} (Sum {S} {e(10, S)}))",
        e(10, S),
        {10: one("Exp"), 11: one("Softmax 1")},
        wrong={
            "other arguments": {"table": {10: one("Exp", Y), 11: one("Softmax 1")}},
            "no exponential": {"table": {10: one("Log"), 11: one("Softmax 1")}},
            "over more than there are": {"table": {10: one("Exp"), 11: one("Softmax 2")}},
            "other slots": {"table": {10: one("Exp", SQUARE, (S, U)), 11: one("Softmax 1")}},
        },
    ),
    "ExpSum": Identity(
        f"(ExpSum 12 10 11 {OK})",
        e(12, S),
        f"(Mul {e(10, S)} {e(11, S)})",
        {10: one("Exp"), 11: one("Exp", Y), 12: one("Exp", f"(Add {X} {Y})")},
        wrong={
            "difference": {"table": {10: one("Exp"), 11: one("Exp", Y), 12: one("Exp", f"(Sub {X} {Y})")}},
            "of a product": {"table": {10: one("Exp"), 11: one("Exp", Y), 12: one("Exp", f"(Mul {X} {Y})")}},
            "another function": {"table": {10: one("Exp"), 11: one("Log", Y), 12: one("Exp", f"(Add {X} {Y})")}},
            "of another": {"table": {10: one("Exp"), 11: one("Exp", Y), 12: one("Step", f"(Add {X} {Y})")}},
        },
    ),
    "ExpZero": Identity(
        f"(ExpZero 10 {OK})",
        e(10, S),
        n(1),
        {10: one("Exp", n(0))},
        wrong={"of 1": {"table": {10: one("Exp", n(1))}}, "another function": {"table": {10: one("Log", n(0))}}},
    ),
    "PowerSum": Identity(
        f"(PowerSum 12 10 11 {OK} {OK})",
        f"(Mul {e(10, S)} {e(11, S)})",
        e(12, S),
        {10: one(f"Raised {HALF}"), 11: one(f"Raised {TWO}"), 12: one("Raised (5%Z, 2%positive)")},
        ("IsPositive 12",),
        wrong={
            "not positive": {"given": ()},
            "only not 0": {"given": ("IsNonzero 12",)},
            "another is positive": {"given": ("IsPositive 10",)},
            "exponents": {
                "table": {10: one(f"Raised {HALF}"), 11: one(f"Raised {TWO}"), 12: one("Raised (3%Z, 2%positive)")}
            },
            "other arguments": {
                "table": {10: one(f"Raised {HALF}"), 11: one(f"Raised {TWO}", Y), 12: one("Raised (5%Z, 2%positive)")}
            },
            "the other's argument": {
                "table": {10: one(f"Raised {HALF}", Y), 11: one(f"Raised {TWO}"), 12: one("Raised (5%Z, 2%positive)")}
            },
        },
    ),
    "PowerOne": Identity(
        "(PowerOne 10)",
        e(10, S),
        X,
        {10: one("Raised (1%Z, 1%positive)")},
        wrong={"squared": {"table": {10: one(f"Raised {TWO}")}}, "another function": {"table": {10: one("Exp")}}},
    ),
    "PowerOfProduct": Identity(
        f"(PowerOfProduct 12 10 11 {OK})",
        e(12, S),
        f"(Mul {e(10, S)} {e(11, S)})",
        {10: one(f"Raised {HALF}"), 11: one(f"Raised {HALF}", Y), 12: one(f"Raised {HALF}", f"(Mul {X} {Y})")},
        ("IsPositive 10", "IsPositive 11"),
        wrong={
            "neither positive": {"given": ()},
            "the first is not positive": {"given": ("IsPositive 11",)},
            "the second is not positive": {"given": ("IsPositive 10",)},
            "the product is positive": {"given": ("IsPositive 12",)},
            "of a sum": {
                "table": {
                    10: one(f"Raised {HALF}"),
                    11: one(f"Raised {HALF}", Y),
                    12: one(f"Raised {HALF}", f"(Add {X} {Y})"),
                }
            },
            "exponents": {
                "table": {
                    10: one(f"Raised {HALF}"),
                    11: one(f"Raised {TWO}", Y),
                    12: one(f"Raised {HALF}", f"(Mul {X} {Y})"),
                }
            },
            "exponent of the first": {
                "table": {
                    10: one(f"Raised {TWO}"),
                    11: one(f"Raised {HALF}", Y),
                    12: one(f"Raised {HALF}", f"(Mul {X} {Y})"),
                }
            },
        },
    ),
    "PowerOfBase": Identity(
        f"(PowerOfBase 10 (inl 0) {TWO} {OK})",
        e(10, S),
        f"(Power (inl 0) (times {HALF} {TWO}))",
        {10: one(f"Raised {HALF}", f"(Power (inl 0) {TWO})")},
        wrong={
            "another size": {"table": {10: one(f"Raised {HALF}", f"(Power (inl 1) {TWO})")}},
            "another power": {"table": {10: one(f"Raised {HALF}", f"(Power (inl 0) {MINUS_ONE})")}},
            "exponents added": {"right": f"(Power (inl 0) (plus {HALF} {TWO}))"},
            "another function": {"table": {10: one("Exp", f"(Power (inl 0) {TWO})")}},
        },
    ),
    "PowerOfNumber": Identity(
        f"(PowerOfNumber 10 (3%Z, 1%positive) (9%Z, 1%positive) {OK})",
        e(10, S),
        "(Number (9%Z, 1%positive))",
        {10: one(f"Raised {TWO}", n(3))},
        wrong={
            "another number": {"step": f"(PowerOfNumber 10 (3%Z, 1%positive) (6%Z, 1%positive) {OK})", "right": n(6)},
            "of another": {"table": {10: one(f"Raised {TWO}", n(-2))}},
            "one over 0": {
                "table": {10: one(f"Raised {MINUS_ONE}", n(0))},
                "step": f"(PowerOfNumber 10 (0%Z, 1%positive) (1%Z, 1%positive) {OK})",
                "right": n(1),
            },
            "a root": {
                "table": {10: one(f"Raised {HALF}", n(4))},
                "step": f"(PowerOfNumber 10 (4%Z, 1%positive) ((-2)%Z, 1%positive) {OK})",
                "right": n(-2),
            },
        },
    ),
    "PowerOfPower": Identity(
        f"(PowerOfPower 12 10 11 {OK} {OK})",
        e(12, S),
        e(11, S),
        {10: one(f"Raised {TWO}"), 11: one(f"Raised (times {HALF} {TWO})"), 12: one(f"Raised {HALF}", e(10, S))},
        ("IsPositive 10",),
        wrong={
            "not positive": {"given": ()},
            "only the square is positive": {"given": ("IsPositive 12",)},
            "exponents": {
                "table": {10: one(f"Raised {TWO}"), 11: one(f"Raised {HALF}"), 12: one(f"Raised {HALF}", e(10, S))}
            },
            "of another": {
                "table": {
                    10: one(f"Raised {TWO}"),
                    11: one(f"Raised (times {HALF} {TWO})", Y),
                    12: one(f"Raised {HALF}", e(10, S)),
                }
            },
            "the power of another": {
                "table": {
                    10: one(f"Raised {TWO}"),
                    11: one(f"Raised (times {HALF} {TWO})"),
                    12: one(f"Raised {HALF}", X),
                }
            },
        },
    ),
    "PowerOfExp": Identity(
        f"(PowerOfExp 12 10 11 {OK} {OK})",
        e(12, S),
        e(11, S),
        {10: one("Exp"), 11: one("Exp", f"(Mul (Number {HALF}) {X})"), 12: one(f"Raised {HALF}", e(10, S))},
        wrong={
            "no factor": {"table": {10: one("Exp"), 11: one("Exp"), 12: one(f"Raised {HALF}", e(10, S))}},
            "of another": {
                "table": {10: one("Exp"), 11: one("Exp", f"(Mul (Number {HALF}) {X})"), 12: one(f"Raised {HALF}", X)}
            },
            "another function": {
                "table": {
                    10: one("Log"),
                    11: one("Exp", f"(Mul (Number {HALF}) {X})"),
                    12: one(f"Raised {HALF}", e(10, S)),
                }
            },
        },
    ),
    "LogOfExp": Identity(
        f"(LogOfExp 11 10 {OK})",
        e(11, S),
        X,
        {10: one("Exp"), 11: one("Log", e(10, S))},
        wrong={
            "the exponential of a logarithm": {"table": {10: one("Log"), 11: one("Exp", e(10, S))}},
            "of another": {"table": {10: one("Exp"), 11: one("Log", X)}},
        },
    ),
    "PowerInverse": Identity(
        "(PowerInverse 10)",
        f"(Mul {X} {e(10, S)})",
        n(1),
        {10: one(f"Raised {MINUS_ONE}")},
        ("IsNonzero 10",),
        wrong={
            "it may be 0": {"given": ()},
            "another is not 0": {"given": ("IsNonzero 11",)},
            "squared": {"table": {10: one("Raised ((-2)%Z, 1%positive)")}},
        },
    ),
    "StepSquare": Identity(
        "(StepSquare 10)",
        f"(Mul {e(10, S)} {e(10, S)})",
        e(10, S),
        {10: one("Step")},
        wrong={"another function": {"table": {10: one("Exp")}}},
    ),
    "StepScale": Identity(
        f"(StepScale 11 10 {n(2)} {OK})",
        e(11, S),
        e(10, S),
        {10: one("Step"), 11: one("Step", f"(Mul {n(2)} {X})")},
        wrong={
            "negative": {
                "step": f"(StepScale 11 10 {n(-2)} {OK})",
                "table": {10: one("Step"), 11: one("Step", f"(Mul {n(-2)} {X})")},
            },
            "0": {
                "step": f"(StepScale 11 10 {n(0)} {OK})",
                "table": {10: one("Step"), 11: one("Step", f"(Mul {n(0)} {X})")},
            },
            "of unknown sign": {
                "step": f"(StepScale 11 10 {Y} {OK})",
                "table": {10: one("Step"), 11: one("Step", f"(Mul {Y} {X})")},
            },
            "added": {"table": {10: one("Step"), 11: one("Step", f"(Add {n(2)} {X})")}},
            "another function": {"table": {10: one("Step"), 11: one("Exp", f"(Mul {n(2)} {X})")}},
            "of another": {"table": {10: one("Exp"), 11: one("Step", f"(Mul {n(2)} {X})")}},
        },
    ),
    "StepOne": Identity(
        "(StepOne 10)",
        e(10, S),
        n(1),
        {9: one("Exp"), 10: one("Step", f"(Add {n(2)} {e(9, S)})")},
        wrong={
            "of unknown sign": {"table": {10: one("Step")}},
            "only not 0": {"table": {10: one("Step")}, "given": ("IsNonzero 10",)},
            "another is positive": {"table": {10: one("Step")}, "given": ("IsPositive 11",)},
            "0": {"table": {10: one("Step", n(0))}},
            "negative": {"table": {9: one("Exp"), 10: one("Step", f"(Mul {n(-1)} {e(9, S)})")}},
            "another function": {"table": {9: one("Exp"), 10: one("Exp", e(9, S))}},
        },
    ),
    "StepZero": Identity(
        f"(StepZero 10 {n(2)} {OK})",
        e(10, S),
        n(0),
        {10: one("Step", n(-2))},
        wrong={
            "positive": {"step": f"(StepZero 10 {n(-2)} {OK})", "table": {10: one("Step", n(2))}},
            "of unknown sign": {"step": f"(StepZero 10 {X} {OK})", "table": {10: one("Step", f"(Mul {n(-1)} {X})")}},
            "another number": {"table": {10: one("Step", n(-1))}},
            "another function": {"table": {10: one("Exp", n(-2))}},
            "1": {"right": n(1)},
        },
        is_zero=True,
    ),
    "PowerZero": Identity(
        "(PowerZero 10)",
        e(10, S),
        n(1),
        {10: one("Raised (0%Z, 1%positive)")},
        wrong={
            "the power 1": {"table": {10: one("Raised (1%Z, 1%positive)")}},
            "not as a whole number": {"table": {10: one("Raised (0%Z, 2%positive)")}},
            "another function": {"table": {10: one("Exp")}},
        },
    ),
    "UnitSquare": Identity(
        "(UnitSquare 10)",
        f"(Mul {e(10, S)} {e(10, S)})",
        e(10, S),
        {10: one("Unit 1", n(0))},
        wrong={
            "another function": {"table": {10: one("Exp", n(0))}},
            "at another index": {"left": f"(Mul {e(10, S)} {e(10, U)})"},
        },
    ),
    "UnitsApart": Identity(
        "(UnitsApart 10 11)",
        f"(Mul {e(10, S)} {e(11, S)})",
        n(0),
        {10: one("Unit 0", n(0)), 11: one("Unit 1", n(0))},
        wrong={
            "the same position": {"table": {10: one("Unit 1", n(0)), 11: one("Unit 1", n(0))}},
            "another function": {"table": {10: one("Unit 0", n(0)), 11: one("Exp", n(0))}},
            "at another index": {"left": f"(Mul {e(10, S)} {e(11, U)})"},
            "of another index": {
                "left": f"(Mul {e(10, S)} {e(11, U)})",
                "table": {10: one("Unit 0", n(0)), 11: one("Unit 1", n(0), (U,))},
            },
            "1": {"right": n(1)},
        },
        is_zero=True,
    ),
    "UnitSum": Identity(
        f"(UnitSum 10 1%positive {OK})",
        f"(Sum {S} {e(10, S)})",
        n(1),
        {10: one("Unit 0", n(0))},
        wrong={
            "a position beyond": {"table": {10: one("Unit 1", n(0))}},
            "a size that is not known": {"step": f"(UnitSum 10 2%positive {OK})", "table": {10: one("Unit 1", n(0))}},
            "another function": {"table": {10: one("Softmax 1", n(0))}},
            "of two indices": {"table": {10: one("Unit 0", n(0), (S, U))}},
        },
    ),
}


def inverse(step: str, product: str) -> Identity:
    """N A = I or A N = I; `product` has {} for the index that is summed."""

    def with_index(*names: str) -> dict[str, Any]:
        return {
            "step": f"({step} 10 {listed(names)})",
            "left": f"(Sum {names[0]} {product.format(names[0])})" if names else n(1),
        }

    matrix = one("Inverse 1", SQUARE, (S, U))
    return Identity(
        **with_index(A),
        right=f"(Mul (Delta {S} {U}) {n(1)})",
        table={10: matrix},
        given=("IsInvertible 10",),
        wrong={
            "there may be no inverse": {"given": ()},
            "another has an inverse": {"given": ("IsInvertible 11",)},
            "only not 0": {"given": ("IsNonzero 10",)},
            "the index of a row": with_index(S),
            "the index of a column": with_index(U),
            "another size": with_index(OF_TWO),
            "no index": with_index(),
            "an index more": with_index(A, B),
            "no inverse": {"table": {10: one("Softmax 1", SQUARE, (S, U))}},
            "not square": {"table": {10: one("Inverse 1", e(0, S, "(i 1 1)"), (S, "(i 1 1)"))}},
            "a family": {"table": {10: one("Inverse 1", e(0, S, U, A), (S, U, A))}},
        },
    )


STEPS["InverseLeft"] = inverse("InverseLeft", f"(Mul {e(10, S, '{}')} {e(0, '{}', U)})".replace("{}", "{0}"))
STEPS["InverseRight"] = inverse("InverseRight", f"(Mul {e(0, S, '{}')} {e(10, '{}', U)})".replace("{}", "{0}"))


# -- slopes of functions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moved:
    """An argument with its slots, and the indices at which its function is differentiated by those of input 0."""

    argument: str = X
    slots: tuple[str, ...] = (S,)
    at: tuple[str, ...] = (A,)
    by: tuple[str, ...] = (B,)

    def of(self, head: str) -> tuple[str, list[str], str]:
        return one(head, self.argument, self.slots)

    def sides(self, number: int = 0, by: tuple[str, ...] = ()) -> dict[str, str]:
        """The real derivative of function 10 in an entry of this number, and the one that is computed."""
        by = by or self.by
        return {
            "left": f"(Partial {number} {listed(by)} (Plain {e(10, *self.at)}))",
            "right": f"(Plain (derivative functions {number} {listed(by)} {e(10, *self.at)}))",
        }


VECTOR, MATRIX = Moved(), Moved(SQUARE, (S, U), (A, B), (C, "(i 9 0)"))


def slope(
    head: str, *given: str, of: Moved = VECTOR, beside: str = "", zero: bool = False, **wrong: dict[str, Any]
) -> Identity:
    """The real derivative of a function of x is what `derivative` writes; `beside`: the function that its slope needs."""
    table = {9: of.of(beside), 10: of.of(head)} if beside else {10: of.of(head)}
    sides = of.sides()
    changes: dict[str, dict[str, Any]] = {
        "more by 1": {"right": f"(Plain {n(1)})" if zero else f"(Plus {sides['right']} (Plain {n(1)}))"},
        "in a function": of.sides(10),
        "an index more": of.sides(by=(*of.by, "(i 11 0)")),
        "an index of the function": of.sides(by=(S, *of.by[1:])),
        **wrong,
    }
    if not zero:
        changes["in another input"] = {"left": of.sides(1)["left"]}
    if given:
        changes["no condition"] = {"given": ()}
        changes["a condition of another"] = {"given": tuple(f"{c.split()[0]} 8" for c in given)}
    return Identity("", table=table, given=given, formula=True, proof=OK, wrong=changes, is_zero=zero, **sides)


def no_slope(head: str) -> Identity:
    """A function that is not differentiated: as it does not move with another input, its derivative there is 0."""
    return Identity(
        "",
        f"(Partial 3 [::] (Plain {e(10, A)}))",
        f"(Plain {n(0)})",
        {10: one(head)},
        formula=True,
        proof=OK,
        wrong={
            "where it moves": VECTOR.sides(),
            "with conditions": {**VECTOR.sides(), "given": ("IsPositive 10", "IsNonzero 10", "IsInvertible 10")},
            "1": {"right": f"(Plain {n(1)})"},
        },
        is_zero=True,
    )


ONE_LESS = "Raised ((-1)%Z, 2%positive)"
SLOPES = {
    "Exp": slope("Exp"),
    "Log": slope(
        "Log",
        "IsPositive 10",
        beside=f"Raised {MINUS_ONE}",
        **{"only not 0": {"given": ("IsNonzero 10",)}, "no reciprocal": {"table": {10: one("Log")}}},
    ),
    "Step": slope("Step", "IsNonzero 10", zero=True),
    "Raised": slope(
        f"Raised {HALF}",
        "IsPositive 10",
        beside=ONE_LESS,
        **{
            "only not 0": {"given": ("IsNonzero 10",)},
            "no power": {"table": {10: one(f"Raised {HALF}")}},
            "a reciprocal where it may be 0": {
                "table": {9: one("Raised ((-2)%Z, 1%positive)"), 10: one(f"Raised {MINUS_ONE}")},
                "given": (),
            },
        },
    ),
    "Softmax": slope("Softmax 1", **{"over more than there are": {"table": {10: one("Softmax 2")}}}),
    "Inverse": slope(
        "Inverse 1",
        "IsInvertible 10",
        of=MATRIX,
        **{
            "only not 0": {"given": ("IsNonzero 10",)},
            "not square": {"table": {10: one("Inverse 1", e(0, S, "(i 1 1)"), (S, "(i 1 1)"))}},
            "a family": {"table": {10: one("Inverse 0", SQUARE, (S, U))}},
        },
    ),
    "Unit": slope("Unit 0", zero=True),
    "Split": slope("Split", zero=True),
    "Arbitrary": no_slope("Arbitrary 0"),
}
ENTRY = f"(Partial 0 [:: {B}] (Plain {e(0, A)}))"
DELTA = f"(Mul (Delta {A} {B}) {n(1)})"
#: The root of x, and what its slope needs; the slope has to be there near the point too where it is differentiated again.
ROOTS = {8: one("Raised ((-3)%Z, 2%positive)"), 9: one(ONE_LESS), 10: one(f"Raised {HALF}")}
TWICE = f"(derivative functions 0 [:: {C}] (derivative functions 0 [:: {B}] {e(10, A)}))"
STATEMENTS = {
    "Plain": Identity(
        "", f"(Plain {e(0, A)})", f"(Plain {e(0, A)})", {}, (), True, OK, {"another": {"right": f"(Plain {e(0, B)})"}}
    ),
    "Plus": Identity(
        "",
        f"(Plus {ENTRY} {ENTRY})",
        f"(Plain (Add {DELTA} {DELTA}))",
        {},
        (),
        True,
        OK,
        {"once": {"right": f"(Plain {DELTA})"}},
    ),
    "Product": Identity(
        "",
        f"(Product (Plain {e(1, A)}) {ENTRY})",
        f"(Plain (Mul {e(1, A)} {DELTA}))",
        {},
        (),
        True,
        OK,
        {"the sum": {"left": f"(Plus (Plain {e(1, A)}) {ENTRY})"}, "no factor": {"right": f"(Plain {DELTA})"}},
    ),
    "Total": Identity(
        "",
        f"(Total {A} {ENTRY})",
        f"(Plain (Sum {A} {DELTA}))",
        {},
        (),
        True,
        OK,
        {
            "the size": {"right": f"(Plain (Power (inl 0) {TWO}))"},
            "no sum": {"right": f"(Plain {DELTA})"},
            "the index of the derivative": {"left": f"(Total {B} {ENTRY})", "right": f"(Plain {DELTA})"},
        },
    ),
    "Partial": Identity(
        "",
        f"(Partial 0 [:: {C}] (Partial 0 [:: {B}] (Plain {e(10, A)})))",
        f"(Plain {TWICE})",
        ROOTS,
        ("IsPositive 8", "IsPositive 9", "IsPositive 10"),
        True,
        OK,
        {
            "no condition": {"given": ()},
            "no condition inside": {"given": ("IsPositive 9",)},
            "the first derivative": {"left": f"(Partial 0 [:: {B}] (Plain {e(10, A)}))"},
            "an inverse of what is not square, near the point": {
                "table": {**ROOTS, 11: one("Inverse 1", e(0, S), (S, "(i 1 1)"))},
                "given": ("IsPositive 8", "IsPositive 9", "IsPositive 10", "IsInvertible 11"),
            },
            "in a function": {"left": f"(Partial 10 [:: {C}] (Partial 10 [:: {B}] (Plain {e(10, A)})))"},
        },
    ),
}
# -- normal forms ------------------------------------------------------------------------------------------------------
EXPRESSIONS = {
    "Number": Identity("", f"(Mul {n(2)} {n(3)})", n(6), wrong={"the sum": {"right": n(5)}, "0": {"right": n(0)}}),
    "Power": Identity(
        "",
        f"(Mul (Power (inl 0) {HALF}) (Power (inl 0) {HALF}))",
        "(Size 0)",
        wrong={
            "exponents": {"right": f"(Power (inl 0) {HALF})"},
            "another size": {"right": "(Size 1)"},
            "a scalar": {"right": "(Power (inr 0) (1%Z, 1%positive))"},
        },
    ),
    "Delta": Identity(
        "",
        f"(Sum {B} (Mul (Delta {A} {B}) {e(0, B)}))",
        e(0, A),
        wrong={
            "another index": {"right": e(0, C)},
            "the sum": {"right": f"(Sum {B} {e(0, B)})"},
            "two sizes": {"left": f"(Sum {OF_TWO} (Mul (Delta {A} {OF_TWO}) {e(0, OF_TWO)}))"},
            "no sum": {"left": f"(Mul (Delta {A} {B}) {e(0, B)})"},
        },
    ),
    "Entry": Identity(
        "",
        f"(Mul {e(0, A, B)} {e(1, C)})",
        f"(Mul {e(1, C)} {e(0, A, B)})",
        wrong={
            "transpose": {"right": f"(Mul {e(1, C)} {e(0, B, A)})"},
            "another tensor": {"right": f"(Mul {e(1, C)} {e(1, A, B)})"},
        },
    ),
    "Add": Identity(
        "", f"(Add {X} {Y})", f"(Add {Y} {X})", wrong={"the product": {"right": f"(Mul {Y} {X})"}, "one": {"right": X}}
    ),
    "Mul": Identity(
        "",
        f"(Mul {X} (Add {X} {Y}))",
        f"(Add (Mul {X} {X}) (Mul {X} {Y}))",
        wrong={"one": {"right": f"(Mul {X} {X})"}, "the sum": {"right": f"(Add {X} {Y})"}},
    ),
    "Sum": Identity(
        "",
        f"(Sum {B} {e(0, A)})",
        f"(Mul (Size 0) {e(0, A)})",
        proof="(Shown [::] (Certificate [::] [::]))",
        wrong={
            "no size": {"right": e(0, A)},
            "another size": {"right": f"(Mul (Size 1) {e(0, A)})"},
            "captured": {"left": f"(Sum {A} {e(0, A)})"},
            "renamed to what is free": {
                "left": f"(Sum {B} {e(0, A, B)})",
                "right": f"(Sum {A} {e(0, A, A)})",
                "proof": f"(Shown [::] (Certificate [::] [:: [:: ({B}, {A})]; [::]]))",
            },
        },
    ),
}
# -- matrices ----------------------------------------------------------------------------------------------------------
G0, G1, WIDE, COLUMN = "(Given 0)", "(Given 1)", "(Given 2)", "(Given 3)"
I0, I1 = "(i 0 0)", "(i 1 0)"
FUNCTION = e(0, I0, I1)


def of_matrix(constructor: str, head: str, other: str, **wrong: dict[str, Any]) -> Matrices:
    """A function of X that the table has."""
    made = f"({constructor} 10 {G0})"
    return Matrices(
        made,
        made,
        {10: one(head, FUNCTION, (I0, I1))},
        wrong={
            "another function": {"table": {10: one(other, FUNCTION, (I0, I1))}},
            "of another matrix": {"table": {10: one(head, e(1, I0, I1), (I0, I1))}},
            "of the transpose": {"table": {10: one(head, e(0, I1, I0), (I0, I1))}},
            "no function": {"table": {}},
            "the matrix": {"right": G0},
            **wrong,
        },
    )


def same(t: str, *others: str, **wrong: str) -> Matrices:
    """t = t; `others` are other matrices of the same shape, `wrong` are no matrices."""
    changes: dict[str, dict[str, Any]] = {f"not {other}": {"right": other} for other in others}
    changes |= {name.replace("_", " "): {"left": other, "right": other} for name, other in wrong.items()}
    return Matrices(t, t, wrong=changes)


EYE, BOTH = "(Eye [:: 0])", "[:: 0]"
CROSSED = "(Commutation [:: 0] [:: 0])"
MATRICES = {
    "Given": same(G0, G1, no_input="(Given 7)", variable="(Given 4)"),
    "OfNumber": same(f"(OfNumber {HALF})", f"(OfNumber {TWO})"),
    "OfBase": same(f"(OfBase (inl 0) {HALF})", f"(OfBase (inl 0) {TWO})", f"(OfBase (inl 1) {HALF})"),
    "Ones": same(f"(Ones {BOTH} {BOTH})", EYE, f"(Scale (OfNumber {TWO}) (Ones {BOTH} {BOTH}))"),
    "Eye": same(EYE, f"(Ones {BOTH} {BOTH})", G0),
    "AddM": Matrices(
        f"(AddM {G0} {G1})",
        f"(AddM {G1} {G0})",
        wrong={"one": {"right": G0}, "two shapes": {"left": f"(AddM {G0} {WIDE})", "right": f"(AddM {G0} {WIDE})"}},
    ),
    "Scale": same(f"(Scale (OfNumber {TWO}) {G0})", G0, by_a_matrix=f"(Scale {G1} {G0})"),
    "MulM": same(f"(MulM {G0} {WIDE})", f"(MulM {G1} {WIDE})", WIDE, two_shapes=f"(MulM {WIDE} {G0})"),
    "Entries": Matrices(
        f"(Entries {G0} {G1})",
        f"(Entries {G1} {G0})",
        wrong={
            "the product": {"right": f"(MulM {G0} {G1})"},
            "two shapes": {"left": f"(Entries {G0} {WIDE})", "right": f"(Entries {G0} {WIDE})"},
        },
    ),
    "Transpose": same(f"(Transpose {G0})", G0),
    "Kron": same(f"(Kron {G0} {G1})", f"(Kron {G1} {G0})", f"(Kron {G0} {G0})"),
    "Vec": same(f"(Vec {G0})", f"(Vec (Transpose {G0}))"),
    "Trace": Matrices(
        f"(Trace {G0})",
        f"(Trace {G0})",
        wrong={
            "not square": {"left": f"(Trace {WIDE})", "right": f"(Trace {WIDE})"},
            "of another": {"right": f"(Trace {G1})"},
        },
    ),
    "Diag": same(f"(Diag {COLUMN})", f"(Kron {COLUMN} (Ones [::] {BOTH}))", of_a_matrix=f"(Diag {G0})"),
    "DiagPart": same(f"(DiagPart {G0})", COLUMN, of_what_is_not_square=f"(DiagPart {WIDE})"),
    "Each": of_matrix(
        "Each Exp",
        "Exp",
        "Log",
        **{
            "not entrywise": {
                "left": f"(Each (Softmax 1) 10 {G0})",
                "right": f"(Each (Softmax 1) 10 {G0})",
                "table": {10: one("Softmax 1", FUNCTION, (I0, I1))},
            }
        },
    ),
    "Relu": of_matrix("Relu", "Step", "Exp"),
    "SoftmaxRows_": of_matrix("SoftmaxRows_", "Softmax 1", "Softmax 2"),
    "InverseM": of_matrix(
        "InverseM",
        "Inverse 1",
        "Inverse 2",
        **{
            "not square": {
                "left": f"(InverseM 10 {WIDE})",
                "right": f"(InverseM 10 {WIDE})",
                "table": {10: one("Inverse 1", e(2, I0, "(i 1 1)"), (I0, "(i 1 1)"))},
            }
        },
    ),
    "SoftmaxJacobian": same(
        f"(SoftmaxJacobian {G0})", f"(SoftmaxJacobian {G1})", f"(SoftmaxJacobian (Transpose {G0}))", f"(Kron {G0} {G0})"
    ),
    "SoftmaxHessian": same(
        f"(SoftmaxHessian {G0})",
        f"(SoftmaxHessian {G1})",
        f"(SoftmaxHessian (Transpose {G0}))",
        f"(Kron (SoftmaxJacobian {G0}) (Vec {G0}))",
    ),
    "Commutation": same(CROSSED, "(Eye [:: 0; 0])", f"(Kron {G0} {G0})"),
    "Jacobian": Matrices(
        f"(Jacobian 4 (Vec (MulM (Given 4) {WIDE})) {G0})",
        f"(Kron {EYE} (Transpose {WIDE}))",
        {4: one("Raised (1%Z, 1%positive)", FUNCTION, (I0, I1))},
        wrong={
            "transpose": {"right": f"(Kron (Transpose {WIDE}) {EYE})"},
            "no column": {"left": f"(Jacobian 4 (MulM (Given 4) {WIDE}) {G0})"},
            "at another point": {"table": {4: one("Raised (1%Z, 1%positive)", e(1, I0, I1), (I0, I1))}},
            "in an input that is not the point": {"left": f"(Jacobian 1 (Vec (MulM {G1} {WIDE})) {G0})"},
            "in no variable": {"table": {4: one(f"Raised {TWO}", FUNCTION, (I0, I1))}},
            "a point of another shape": {"left": f"(Jacobian 4 (Vec (MulM (Given 4) {WIDE})) {WIDE})"},
            "outside of the derivative": {
                "left": f"(AddM (Jacobian 4 (Vec (MulM (Given 4) {WIDE})) {G0}) (Kron {EYE} (Transpose (MulM (Given 4) {WIDE}))))"
            },
        },
    ),
}

#: Where rules are declared, and the cases of each.
RULES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "step": ("Rules", "step", STEPS),
    "slope": ("Functions", "head", SLOPES),
    "statement": ("Statements", "formula", STATEMENTS),
    "expression": ("Expressions", "expr", EXPRESSIONS),
    "matrix": ("Matrices", "term", MATRICES),
}
CASES = {(kind, rule): case for kind, (_, _, cases) in RULES.items() for rule, case in cases.items()}
#: Tables that are none, whatever is said of them.
NO_TABLE = {
    "a circle": Identity("", e(10, A), e(10, A), {10: one("Exp", e(10, S))}),
    "of a later one": Identity("", e(10, A), e(10, A), {10: one("Exp", e(11, S)), 11: one("Exp")}),
    "an index that is none of its own": Identity("", e(10, A), e(10, A), {10: one("Exp", e(0, A))}),
    "one index twice": Identity("", e(10, A, B), e(10, A, B), {10: one("Exp", X, (S, S))}),
}


def declared(file: str, kind: str) -> set[str]:
    """The constructors that a file declares."""
    text = re.sub(r"\(\*.*?\*\)", "", (FOLDER / f"{file}.v").read_text(encoding="utf-8"), flags=re.DOTALL)
    body = re.search(rf"Inductive {kind} :=(.*?)\.\n", text, re.DOTALL)
    assert body is not None
    return {part.split()[0] for part in body[1].split("|") if part.strip()}


@pytest.fixture(scope="module")
def answers(compiled_rocq: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], bool]:
    """What the compiled checker says of every case, by its kind, rule and change."""
    asked = {(kind, rule, ""): case for (kind, rule), case in CASES.items()}
    asked |= {(kind, rule, name): new for (kind, rule), case in CASES.items() for name, new in case.changed().items()}
    asked |= {("table", name, ""): case for name, case in NO_TABLE.items()}
    path = tmp_path_factory.mktemp("rules") / "Asked.v"
    lines = (f"Eval vm_compute in ({case.text()}).\n" for case in asked.values())
    path.write_text(FORMULA_HEADER + "".join(lines), encoding="utf-8")
    accepted, said = coqc(compiled_rocq, path)
    assert accepted, said
    found = re.findall(r"= (true|false)\s*: bool", said)
    assert len(found) == len(asked), said
    return {name: answer == "true" for name, answer in zip(asked, found, strict=True)}


@pytest.mark.parametrize("kind", RULES)
def test_every_rule_has_a_case(kind: str) -> None:
    file, name, cases = RULES[kind]
    assert set(cases) == declared(file, name)
    for case in cases.values():
        changed = [new.text() for new in case.changed().values()]
        assert changed and case.text() not in changed


@needs_rocq
@pytest.mark.parametrize(("kind", "rule"), CASES, ids=str)
def test_a_rule_that_is_used_wrongly_is_refused(kind: str, rule: str, answers: dict[tuple[str, ...], bool]) -> None:
    """The right use is accepted, so that it is what was changed that is refused."""
    assert answers[kind, rule, ""]
    accepted = [name for name in CASES[kind, rule].changed() if answers[kind, rule, name]]
    assert not accepted


@needs_rocq
@pytest.mark.parametrize("name", NO_TABLE)
def test_a_table_that_is_none_is_refused(name: str, answers: dict[tuple[str, ...], bool]) -> None:
    assert not answers["table", name, ""]
