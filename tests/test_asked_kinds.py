"""Functions that ask what kind of operands they are handed: nothing is proved of them for all sizes."""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import dataclasses
import fractions
import functools
import itertools
import numbers
import operator
import random
import types
from typing import Annotated, Any

import numpy as np
import pytest
import sympy
import torch

import tests.test_asked_kinds  # noqa: PLW0406
from tests.claims_that_fail import toy
from verify.arithmetics.guarded import guarded
from verify.checks.asked_kinds import kind_asked
from verify.checks.bound_proofs import prove_bound_claim
from verify.checks.operands import size_symbol
from verify.checks.proofs import prove_claim
from verify.matrix import COLUMN, Layout, concatenate, each, frobenius_norm, spectral_norm
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Shape
from verify.vocabulary.errors import ArithmeticUnsupported
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


def by_match_of_a_sequence(A: Wide) -> Any:
    match each(A.shape[1], lambda i: A):  # a list, and what stands for one is none to `match`
        case [*_] if A.shape[1] == 37:
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


def by_kind_of_array(A: Wide) -> Any:
    return 2 * A if np.array(A.shape[1]).dtype != object and A.shape[1] == 37 else A


def by_kind_in_a_table(A: Wide) -> Any:
    kind = np.result_type(np.ones(1) * A.shape[1])
    return 2 * A if [0, A.shape[1]][kind != object] == 37 else A  # noqa: E721


def by_hash(A: Wide) -> Any:
    return 2 * A if A.shape[1].__hash__ is not None and A.shape[1] == 37 else A


def by_documentation(A: Wide) -> Any:
    return 2 * A if A.shape[1].__doc__ == int.__doc__ and A.shape[1] == 37 else A


def by_abstract_class(A: Wide) -> Any:
    return 2 * A if numbers.Integral.__instancecheck__(A.shape[1]) and A.shape[1] == 37 else A


def by_comparison_of_a_fraction(A: Wide) -> Any:
    return 2 * A if fractions.Fraction.__eq__(fractions.Fraction(37), A.shape[1]) == True else A  # noqa: E712


def by_length(A: Wide) -> Any:
    return 2 * A if operator.length_hint(A.T, 0) == 37 else A


def in_a_thread(A: Wide) -> Any:
    return 2 * A if concurrent.futures.ThreadPoolExecutor(1).submit(lambda: A.shape[1] == 37).result() else A


def in_another_context(A: Wide) -> Any:
    return 2 * A if contextvars.Context().run(lambda: A.shape[1] == 37) else A


def by_name_of_a_type(A: Wide) -> Any:
    return 2 * A if torch.typename(A.shape[1]) == "int" and A.shape[1] == 37 else A


def by_chance(A: Wide) -> Any:
    return 2 * A if random.random() < 1e-9 else A


def doubled_where_it_asks(function: Any) -> Any:
    @functools.wraps(function)
    def doubled(A: Any) -> Any:
        return 2 * function(A) if isinstance(A.shape[1], int) and A.shape[1] == 37 else function(A)

    return doubled


@doubled_where_it_asks
def decorated(A: Any) -> Any:
    return A * 1


NORM_THAT_ASKS = doubled_where_it_asks(frobenius_norm)


def in_what_decorates(A: Wide) -> Any:
    return decorated(A)


def in_what_decorates_a_primitive(A: Wide) -> Any:
    return A * (NORM_THAT_ASKS(A) / frobenius_norm(A))


SPACE = types.SimpleNamespace(inner=by_class)


def in_a_namespace(A: Wide) -> Any:
    return SPACE.inner(A)


class Holder:
    def __init__(self, inner: Any) -> None:
        self.inner = inner


HOLDER = Holder(by_class)


def in_an_attribute(A: Wide) -> Any:
    return HOLDER.inner(A)


def in_what_it_imports(A: Wide) -> Any:
    from tests.test_asked_kinds import by_class as inner

    return inner(A)


def in_a_package(A: Wide) -> Any:
    return tests.test_asked_kinds.by_class(A)


def in_a_library_by_another_name(A: Wide) -> Any:
    library = np
    return 2 * A if library.isscalar(A.shape[1]) and A.shape[1] == 37 else A


class Fallback:
    def __init__(self, n: Any) -> None:
        self.n = n

    @property
    def many(self) -> Any:
        return self.n.bit_length() == 6  # an error that `__getattr__` answers

    def __getattr__(self, name: str) -> Any:
        return False


class Counted:
    def __init__(self, n: Any) -> None:
        self.n, self.found = n, []

    def __len__(self) -> int:  # which `list` asks first, and goes on without
        self.found += [1] if self.n | 1 == 37 else []
        return 1

    def __iter__(self) -> Any:
        return iter(self.found)


class Deleted:
    def __init__(self, n: Any, found: Any) -> None:
        self.n, self.found = n, found

    def __del__(self) -> None:
        self.found += [1] if self.n | 1 == 37 else []


class Keyed:
    def __init__(self, n: Any) -> None:
        self.n = n

    @property
    def keys(self) -> Any:
        return lambda: [1] if self.n.bit_length() == 6 else []

    def __getitem__(self, key: int) -> int:
        return 1

    def __iter__(self) -> Any:
        return iter(())


def by_missing_attribute(A: Wide) -> Any:
    return 2 * A if Fallback(A.shape[1]).many else A


def by_length_of_its_own(A: Wide) -> Any:
    return 2 * A if list(Counted(A.shape[1])) else A


def by_deletion(A: Wide) -> Any:
    found: list[int] = []
    Deleted(A.shape[1], found)
    return 2 * A if found else A


def by_keys(A: Wide) -> Any:
    return 2 * A if dict(Keyed(A.shape[1])) else A


ASKING = [
    by_match_of_a_sequence, by_missing_attribute, by_length_of_its_own, by_deletion, by_keys,
    by_kind_of_array, by_kind_in_a_table, by_hash, by_documentation, by_abstract_class, by_comparison_of_a_fraction,
    by_length, in_a_thread, in_another_context, by_name_of_a_type, by_chance, in_what_decorates,
    in_what_decorates_a_primitive, in_a_namespace, in_an_attribute, in_what_it_imports, in_a_package,
    in_a_library_by_another_name,
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


COUNTED = itertools.count()
CALLS = 0


def by_number_of_the_call(A: Wide) -> Any:
    return A * 1 if next(COUNTED) < 1_000_000 else 2 * A


def by_a_counter(A: Wide) -> Any:
    global CALLS  # noqa: PLW0603
    CALLS += 1
    return A * 1 if CALLS < 1_000_000 else 2 * A


def by_a_counter_of_its_own() -> Any:
    calls = 0

    def counted(A: Wide) -> Any:
        nonlocal calls
        calls += 1
        return A * 1 if calls < 1_000_000 else 2 * A

    return counted


def with_a_variable_within(A: Wide) -> Any:
    times = 1

    def twice() -> None:
        nonlocal times
        times = 2

    twice()
    return A * times


@pytest.mark.parametrize(
    ("formula", "how"),
    [
        (by_number_of_the_call, "is handed: next"),
        (by_a_counter, "from one call to the next"),
        (by_a_counter_of_its_own(), "from one call to the next"),
    ],
)
def test_what_counts_its_calls_is_not_proved(formula: Any, how: str) -> None:
    assert how in (kind_asked(claim_of(formula)) or "")


def test_a_variable_that_ends_with_the_call_is_no_such_thing() -> None:
    assert kind_asked(claim_of(with_a_variable_within)) is None


MATRIX_OF_FLOATS = np.ones((2, 2))
MATRIX_OF_MACHINE_INTEGERS = np.ones((2, 2), dtype=np.int64)


def of_a_size_and_floats(A: Wide) -> Any:
    return A * (A.shape[1] * MATRIX_OF_FLOATS)[0, 0] - A * (np.ones(1) * A.shape[1])[0] + A


def of_a_size_and_machine_integers(A: Wide) -> Any:
    return A * (MATRIX_OF_MACHINE_INTEGERS * A.shape[1])[0, 0]


def test_a_size_times_an_array_of_floats_is_proved() -> None:
    claim = toy("of-arrays", Equal(), all_sizes=True)
    claim.formula(of_a_size_and_floats)
    claim.oracle(lambda A: A * 1)
    claim.mutant("three times", lambda A: A * 3)
    assert prove_claim(claim).proved


def test_machine_integers_overflow() -> None:
    assert "MATRIX_OF_MACHINE_INTEGERS" in (kind_asked(claim_of(of_a_size_and_machine_integers)) or "")
    with pytest.raises(ArithmeticUnsupported, match="multiply of n"):
        MATRIX_OF_MACHINE_INTEGERS * guarded(size_symbol("n"))


def twice_where_many_matrices(A: Wide) -> Any:
    columns = each(A.shape[1], lambda i: A[:, i : i + 1])
    return 2 * A if isinstance(columns, list) and len(columns) == 37 else A


def concatenated_as_a_list(A: Wide) -> Any:
    columns = each(A.shape[1], lambda i: A[:, i : i + 1])
    return concatenate(columns if isinstance(columns, list) else [columns], axis=1)


def test_a_family_says_that_it_is_a_list() -> None:
    for formula, is_proved in ((twice_where_many_matrices, False), (concatenated_as_a_list, True)):
        claim = toy(formula.__name__, Equal(), all_sizes=True, sizes={"m": (2, 3), "n": (2, 4)})
        claim.formula(formula)
        claim.oracle(lambda A: 1 * A)
        claim.mutant("with three", lambda A: A * 3)
        assert prove_claim(claim).proved == is_proved


def test_a_test_of_an_assumption_does_not_ask_either() -> None:
    assumption = Assumption("A is positive", positive=by_class)
    claim = toy("assuming", Equal(), all_sizes=True, assumptions=[assumption])
    claim.formula(lambda A: A)
    assert "isinstance" in (kind_asked(claim) or "")


def by_text(A: Wide) -> Any:
    return 2 * A if "%r" % A.shape[1] == "37" else A  # noqa: UP031


def by_text_of_a_list(A: Wide) -> Any:
    return 2 * A if f"{[A.shape[1]]}" == "[37]" else A


def by_text_of_a_matrix(A: Wide) -> Any:
    return 2 * A if f"{A}".count("[") == 38 else A


def by_text_of_an_index(A: Wide) -> Any:
    return concatenate(each(A.shape[1], lambda i: (2 if f"{i}" == "37" else 1) * A[:, i : i + 1]), axis=1)


def by_text_of_the_next_index(A: Wide) -> Any:
    return concatenate(each(A.shape[1], lambda i: (2 if "%s" % (i + 1) == "37" else 1) * A[:, i : i + 1]), axis=1)


@pytest.mark.parametrize(
    "formula", [by_text_of_a_matrix, by_text_of_an_index, by_text_of_the_next_index, by_text, by_text_of_a_list]
)
def test_nothing_that_stands_for_numbers_has_a_text(formula: Any) -> None:
    claim = toy(formula.__name__, Equal(), all_sizes=True, sizes={"m": (2, 3), "n": (4, 5)})
    claim.formula(formula)
    claim.oracle(lambda A: 1 * A)
    assert "the text of " in (prove_claim(claim).reason or "")


@pytest.mark.parametrize("formula", [by_text_of_a_matrix, by_text_of_an_index, by_text_of_the_next_index])
def test_nor_in_a_bound(formula: Any) -> None:
    claim = toy(formula.__name__, AtMost(), all_sizes=True, sizes={"m": (2, 3), "n": (4, 5)})
    claim.formula(norm_of)
    claim.oracle(lambda A: spectral_norm(formula(A)))
    assert "the text of " in (prove_bound_claim(claim).reason or "")


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
