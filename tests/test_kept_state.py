"""A function of a proof keeps nothing from one call to the next: one that counts its calls is another one some time."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import pytest
import torch

from tests.claims_that_fail import toy
from verify.checks.asked_kinds import kind_asked
from verify.checks.proofs import prove_claim
from verify.vocabulary import Claim, Equal, Shape

pytestmark = pytest.mark.kept

Square = Annotated[Any, Shape("n", "n")]
BOX, COUNTS, CALLS, QUEUE = [0], {"calls": 0}, list[int](), collections.deque([1] * 400)
GROWING: Any = collections.defaultdict(int)
TENSOR, NORMALISED = torch.zeros(1), torch.nn.BatchNorm1d(1)


def once_more() -> Iterator[int]:
    yield from [1] * 400
    while True:
        yield 2


class Counter:
    """What counts in an attribute, by whatever way it is asked."""

    calls = 0
    seen: list[int] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.calls = self.calls + 1

    def __call__(self) -> int:
        self.calls += 1
        return 1 if self.calls < 400 else 2

    def __getitem__(self, place: int) -> int:
        Counter.calls += 1
        return 1 if Counter.calls < 400 else 2

    @property
    def value(self) -> int:
        Counter.calls += 1
        return 1 if Counter.calls < 400 else 2


def counted() -> int:
    counted.calls = counted.calls + 1  # type: ignore[attr-defined]
    return 1 if counted.calls < 400 else 2  # type: ignore[attr-defined]


def pushed(calls: list[int]) -> list[int]:
    calls.append(1)
    return calls


def in_place() -> int:
    BOX[0] += 1
    return BOX[0] // 400


def of_an_alias() -> int:
    calls: list[int] = []
    calls = calls or CALLS
    calls.append(1)
    return len(CALLS) // 400


def again() -> int:
    COUNTER.__init__()  # type: ignore[misc]
    return COUNTER.calls // 400


def of_one_of_two() -> int:
    calls = CALLS if CALLS else []
    calls.append(1)
    return len(CALLS) // 400


def of_a_new_one_if_none_is_known() -> int:
    calls = CALLS or []
    calls.append(1)
    return len(CALLS) // 400


def of_the_one_or_the_other() -> int:
    calls: list[int] = []
    (CALLS or calls).append(1)
    return len(CALLS) // 400


def entry_of_the_one_or_the_other() -> int:
    calls: list[int] = []
    (BOX or calls)[0] = BOX[0] + 1
    return BOX[0] // 400


def at_a_place_by_a_new_list() -> int:
    calls: list[int] = []
    BOX[not calls] = 1
    return BOX[0]


def at_a_text_of_a_new_list() -> int:
    calls: list[int] = []
    COUNTS[f"{calls}"] = 1
    return len(COUNTS)


class Started:
    """What counts how often it is initialised, under another name."""

    calls = 0

    def __init__(self) -> None:
        self.calls = self.calls + 1

    start = __init__


class Known:
    """Whose new objects change another one."""

    def __init__(self) -> None:
        self = STARTED  # noqa: PLW0642
        self.calls = self.calls + 1


class Later(Started):
    def __init__(self) -> None:
        super(Later, LATER).__init__()


def initialised_within() -> int:
    def __init__(self: Any) -> None:  # noqa: N807
        self.calls = self.calls + 1

    __init__(STARTED)
    return STARTED.calls // 400


STARTED, LATER, INITIALISING = Started(), Later.__new__(Later), Counter.__init__


@functools.cache
def remembered(k: int) -> int:
    return k


COUNTER, APPEND, POP, FOLLOWING = Counter(), list.append, [1, 2].pop, once_more().__next__
ITERATORS = [once_more()]
HELD = types.SimpleNamespace(steps=itertools.chain([1] * 400, itertools.repeat(2)))
PARTIAL, CALLING = functools.partial(next, once_more()), operator.methodcaller("append", 1)
RANDOM, ARRAYS, CLOCK, DRAWN = [torch.rand], {"r": np.random.rand}, (time.time,), functools.partial(torch.rand, 1)
ALIAS = torch.rand

#: What a factor of A would keep, or take from where nothing is said of it.
KEEPING: dict[str, Callable[[], Any]] = {
    "operation in place on a list": in_place,
    "entry of a table": lambda: operator.setitem(COUNTS, "calls", COUNTS["calls"] + 1),
    "append": lambda: CALLS.append(1),
    "append by another function": lambda: pushed(CALLS),
    "append to an alias": of_an_alias,
    "append to one of two": of_one_of_two,
    "append to a new one if none is known": of_a_new_one_if_none_is_known,
    "append to the one or the other": of_the_one_or_the_other,
    "entry of the one or the other": entry_of_the_one_or_the_other,
    "entry at what a new list says": at_a_place_by_a_new_list,
    "entry at the text of a new list": at_a_text_of_a_new_list,
    "append by a method of the class": lambda: APPEND(CALLS, 1),
    "append by a caller of methods": lambda: CALLING(CALLS),
    "append to a list of a class": lambda: Counter.seen.append(1),
    "pop": lambda: 1 * QUEUE.pop(),
    "bound pop": lambda: 1 * POP(),
    "bound next": lambda: 1 * FOLLOWING(),
    "iterator in a list": lambda: sum(itertools.islice(ITERATORS[0], 1)),
    "iterator in a namespace": lambda: sum(itertools.islice(HELD.steps, 1)),
    "iterator in a partial function": lambda: 1 * PARTIAL(),
    "call of an object": lambda: 1 * COUNTER(),
    "entry of an object": lambda: COUNTER[0],
    "property": lambda: COUNTER.value,
    "constructor": again,
    "constructor by another name": lambda: STARTED.start() or STARTED.calls,  # type: ignore[func-returns-value]
    "constructor by a name outside": lambda: INITIALISING(COUNTER) or COUNTER.calls,  # type: ignore[func-returns-value]
    "constructor of another object": lambda: Known() and 1,
    "constructor of another object by super": lambda: Later() and LATER.calls,
    "constructor within": initialised_within,
    "attribute of a function": lambda: 1 * counted(),
    "table that grows": lambda: GROWING[len(GROWING)],
    "cache": lambda: remembered.cache_info().hits,
    "tensor": lambda: TENSOR.add_(1),
    "result of torch": lambda: torch.add(TENSOR, 1, out=TENSOR),
    "means that torch keeps": lambda: torch.nn.functional.batch_norm(torch.ones(2, 1), TENSOR, TENSOR, training=True),
    "means that torch itself keeps": lambda: torch.instance_norm(
        torch.ones(1, 1, 2), None, None, TENSOR, TENSOR, True, 0.1, 1e-5, False
    ),
    "torch in place": lambda: torch.nn.functional.relu(TENSOR, True),
    "layer": lambda: NORMALISED(torch.ones(2, 1)),
    "setattr": lambda: setattr(COUNTER, "calls", 1),
    "random numbers": lambda: torch.rand(1),
    "random numbers by another name": lambda: ALIAS(1),
    "random numbers in a list": lambda: RANDOM[0](1),
    "random numbers in a table": lambda: 1 * ARRAYS["r"](),
    "random numbers in a partial function": lambda: 1 * DRAWN(),
    "memory": lambda: torch.empty(1),
    "clock": lambda: 1 * CLOCK[0](),
    "command": lambda: len(sys.argv),
    "file": lambda: open("/etc/hostname").read(),  # noqa: SIM115
}


def of_own_list(n: Any) -> Any:
    found = []
    found.append(n)
    found += [n]
    found[0] = n
    return found[0]


def of_own_table(n: Any) -> Any:
    found = {key: n for key in "ab"}
    found |= {"c": n}
    return found["a"] * TABLE["one"]


class Sized:
    """What has attributes from its start, and a method of one."""

    def __init__(self, n: Any) -> None:
        self.n = n
        self.twice = lambda: 2 * self.n


class Larger(Sized):
    def __init__(self, n: Any) -> None:
        super().__init__(n)
        self.more = n


TABLE = {"one": 1}
#: What is made anew at each call, and what is only read.
FRESH: dict[str, Callable[[Any], Any]] = {
    "list": of_own_list,
    "table beside one that is read": of_own_table,
    "object": lambda n: Larger(n).twice() / 2,
    "remembered": lambda n: n * remembered(1),
    "read": lambda n: n * TABLE["one"],
}


def claim_of(factor: Callable[[Any], Any]) -> Claim:
    def left(A: Square) -> Any:
        return A * factor(A.shape[0])

    def right(A: Square) -> Any:
        return (A.T * factor(A.shape[0])).T

    claim = toy("keeping", Equal(), all_sizes=True)
    claim.formula(left)
    claim.oracle(right)
    return claim


@pytest.mark.parametrize("keeping", KEEPING.values(), ids=KEEPING)
def test_nothing_is_proved_of_what_a_call_changes(keeping: Callable[[], Any]) -> None:
    claim = claim_of(lambda n: keeping())
    assert kind_asked(claim) is not None
    assert not prove_claim(claim).proved


@pytest.mark.parametrize("factor", FRESH.values(), ids=FRESH)
def test_what_a_function_makes_itself_it_may_change(factor: Callable[[Any], Any]) -> None:
    proof = prove_claim(claim_of(factor))
    assert proof.proved, proof.reason
