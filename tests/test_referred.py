"""What the code of a function refers to, and values of a context that hold inside a block."""

from __future__ import annotations

import contextvars
from typing import Any

import pytest

from verify.vocabulary.contexts import assigned
from verify.vocabulary.referred import bare, defaults_of, named_values, names_in

SEVEN = 7


def reader(inner: Any, later: bool) -> Any:
    def read(x: Any, y: int = 3, *, z: int = 4) -> Any:
        nested = [inner(k) + SEVEN for k in range(x)]
        return nested, unfilled, absent  # type: ignore[name-defined]  # noqa: F821

    if later:
        unfilled = 5
    return read


def test_names_of_a_function_and_of_those_within_it_are_found_with_their_values() -> None:
    read = reader(len, later=True)
    assert {"inner", "SEVEN", "unfilled", "absent"} <= set(names_in(read.__code__))
    values = named_values(read)
    assert values["inner"] is len and values["SEVEN"] == 7 and values["unfilled"] == 5 and "absent" not in values
    assert defaults_of(read) == (3, 4)


def test_what_is_closed_over_and_not_there_yet_is_left_out() -> None:
    assert "unfilled" not in named_values(reader(len, later=False))


def test_a_decorated_function_is_found_below_what_decorates_it() -> None:
    def plain() -> None: ...

    def around() -> None: ...

    around.__wrapped__ = plain  # type: ignore[attr-defined]
    assert bare(around) is plain and bare(plain) is plain and bare(3) == 3


def test_a_value_holds_inside_its_block_and_the_former_one_after_it() -> None:
    depth: contextvars.ContextVar[int] = contextvars.ContextVar("depth", default=0)
    with assigned(depth, 1) as outer, assigned(depth, 2):
        assert (outer, depth.get()) == (1, 2)
    assert depth.get() == 0
    with pytest.raises(ValueError), assigned(depth, 3):
        raise ValueError
    assert depth.get() == 0
