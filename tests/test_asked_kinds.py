"""Functions that ask what kind of operands they are handed: nothing is proved of them for all sizes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
import types
from typing import Annotated, Any

import numpy as np
import pytest
import sympy
import torch

from tests.claims_that_fail import toy
from verify.checks.asked_kinds import kind_asked
from verify.checks.bound_proofs import prove_bound_claim
from verify.checks.proofs import prove_claim
from verify.matrix import COLUMN, Layout, frobenius_norm, spectral_norm
from verify.vocabulary import AtMost, Claim, Equal, Shape
from verify.vocabulary.registry import load

pytestmark = pytest.mark.kept

Wide = Annotated[Any, Shape("m", "n")]


def by_class(A: Wide) -> Any:
    return 2 * A if isinstance(A.shape[1], int) and A.shape[1] == 37 else A


def by_attribute(A: Wide) -> Any:
    return 2 * A if hasattr(A.shape[1], "bit_length") and A.shape[1] == 37 else A


def by_type(A: Wide) -> Any:
    return 2 * A if type(A.shape[1]) is int and A.shape[1] == 37 else A


def by_refusal(A: Wide) -> Any:
    try:
        return 2 * A if A.shape[1] * A.shape[1] == 37 * 37 else A
    except Exception:
        return A


def by_suppressed_refusal(A: Wide) -> Any:
    with contextlib.suppress(Exception):
        return 2 * A if A.shape[1] * A.shape[1] == 37 * 37 else A
    return A


def by_sameness(A: Wide) -> Any:
    return 2 * A if A.shape[0] is A.shape[1] else A


def by_representation(A: Wide) -> Any:
    return 2 * A if f"{A.shape[1]!r}" == "37" else A


def by_sympy(A: Wide) -> Any:
    return 2 * A if sympy.Integer(37) == A.shape[1] else A


def by_numpy(A: Wide) -> Any:
    return 2 * A if np.isscalar(A.shape[1]) and A.shape[1] == 37 else A


def by_torch(A: Wide) -> Any:
    return 2 * A if torch.is_tensor(A) and A.shape[1] == 37 else A


def within(A: Wide) -> Any:
    return by_class(A)


def as_default(A: Wide, inner: Any = by_class) -> Any:
    return inner(A)


OTHER = types.ModuleType("other")
OTHER.inner = by_class  # type: ignore[attr-defined]
PART = functools.partial(by_class)


def in_another_module(A: Wide) -> Any:
    return OTHER.inner(A)


def in_a_partial_function(A: Wide) -> Any:
    return PART(A)


def by_match(A: Wide) -> Any:
    match A.shape[1]:
        case int() if A.shape[1] == 37:
            return 2 * A
    return A


RENAMED = isinstance


def by_another_name(A: Wide) -> Any:
    return 2 * A if RENAMED(A.shape[1], int) and A.shape[1] == 37 else A


def by_sameness_or_none(A: Wide) -> Any:
    return 2 * A if A.shape[1] is (A.shape[0] or None) else A


def by_operator(A: Wide) -> Any:
    return 2 * A if operator.is_(A.shape[1], A.shape[0]) else A


@functools.singledispatch
def dispatched(size: Any, A: Any) -> Any:
    return A


@dispatched.register
def _(size: int, A: Any) -> Any:
    return 2 * A


def by_dispatch(A: Wide) -> Any:
    return dispatched(A.shape[1], A)


class Asker:
    def __call__(self, A: Any) -> Any:
        return by_class(A)

    def ask(self, A: Any) -> Any:
        return by_class(A)


ASKER = Asker()
TABLE = {"first": by_class}


def in_an_object(A: Wide) -> Any:
    return ASKER(A)


def in_a_method(A: Wide) -> Any:
    return ASKER.ask(A)


def in_a_table(A: Wide) -> Any:
    return TABLE["first"](A)


ASKING = [
    by_class, by_attribute, by_type, by_refusal, by_suppressed_refusal, by_sameness, by_representation, by_sympy, by_numpy,
    by_torch, within, as_default, in_another_module, in_a_partial_function, by_match, by_another_name,
    by_sameness_or_none, by_operator, by_dispatch, in_an_object, in_a_method, in_a_table,
]  # fmt: skip


@pytest.mark.parametrize("formula", ASKING)
def test_what_asks_is_not_proved(formula: Any) -> None:
    claim = toy(formula.__name__, Equal(), all_sizes=True, sizes={"m": (2, 3), "n": (4, 5)})
    claim.formula(formula)
    claim.oracle(lambda A: 1 * A)
    assert "asks what kind of operands" in (prove_claim(claim).reason or "")


def by_text(A: Wide) -> Any:
    return 2 * A if "%r" % A.shape[1] == "37" else A  # noqa: UP031


def by_text_of_a_list(A: Wide) -> Any:
    return 2 * A if f"{[A.shape[1]]}" == "[37]" else A


@pytest.mark.parametrize("formula", [by_text, by_text_of_a_list])
def test_no_number_that_stands_for_others_has_a_text(formula: Any) -> None:
    claim = toy(formula.__name__, Equal(), all_sizes=True, sizes={"m": (2, 3), "n": (4, 5)})
    claim.formula(formula)
    claim.oracle(lambda A: 1 * A)
    assert "the text of n" in (prove_claim(claim).reason or "")


def norm_of(A: Wide) -> Any:
    return frobenius_norm(A)


def test_nor_is_a_bound_by_it() -> None:
    claim = toy("no-bound", AtMost(), all_sizes=True)
    claim.formula(norm_of)
    claim.oracle(lambda A: spectral_norm(by_class(A)))
    assert "asks what kind of operands" in (prove_bound_claim(claim).reason or "")


def in_one_layout(A: Any, layout: Layout = COLUMN) -> Any:
    return A * 1 if layout is COLUMN else A.T


def in_a_list(A: Any, parts: Any = None) -> Any:
    parts = [A, A] if parts is None else parts
    return parts[0] + parts[1] if isinstance(parts, (list, tuple)) else A


@dataclasses.dataclass
class Pair:
    one: Any
    other: Any


def of_layouts_and_lists(A: Wide) -> Any:
    pair = Pair(in_one_layout(A), in_a_list(A))
    return pair.one + pair.other


def test_what_asks_for_a_layout_or_a_list_is_proved() -> None:
    claim = toy("layouts-and-lists", Equal(), all_sizes=True)
    claim.formula(of_layouts_and_lists)
    claim.oracle(lambda A: A * 3)
    claim.mutant("with four", lambda A: A * 4)
    assert prove_claim(claim).proved


def test_no_function_of_a_claim_that_is_proved_asks() -> None:
    asking = {claim.id: kind_asked(claim) for claim in load("theorems").values() if claim.all_sizes}
    assert len(asking) > 500
    assert not {name: how for name, how in asking.items() if how}


def claim_of(function: Any) -> Claim:
    claim = toy("asked", Equal(), all_sizes=True)
    claim.formula(function)
    return claim


def test_the_question_is_named() -> None:
    assert kind_asked(claim_of(within)) == "by_class asks what kind of operands it is handed: isinstance"
    assert kind_asked(claim_of(in_one_layout)) is None
