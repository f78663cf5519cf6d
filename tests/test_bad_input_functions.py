"""Reference functions and their initialisers refuse what they cannot work with, and name it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from tests.bad_input.functions import ACCEPTED, CALLS, CHANGES, FUNCTIONS, matrices

pytestmark = pytest.mark.kept

#: The dtypes of `attention`, in its messages.
WIDER = "of float64, float32, bfloat16 or float16"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_arguments_that_are_changed_below_fit(name: str) -> None:
    function, given = FUNCTIONS[name]
    function(**given)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_matrix_is_named_whatever_replaces_it(name: str) -> None:
    for change in CHANGES:
        if (name, change) not in ACCEPTED:
            is_named_where_it_is_replaced(name, change)


def is_named_where_it_is_replaced(name: str, change: str) -> None:
    """Fails unless a function refuses each of its matrices after the change, and names it."""
    function, given = FUNCTIONS[name]
    replaced_by, message = CHANGES[change]
    message = message.replace("of float32 or float64", WIDER) if name == "layers.attention" else message
    for argument in matrices(given):
        if change == "compressed rows" and given[argument].ndim == 1:
            continue  # a vector has no rows
        if change == "a vector too few" and given[argument].ndim == 1:
            continue
        changed: dict[str, Any] = {**given, argument: replaced_by(given[argument])}
        with pytest.raises(ValueError, match=r"^(?:\w+\(\): )?\w+: expected .*; got ") as caught:
            function(**changed)
        said = re.sub(r"^\w+\(\): ", "", str(caught.value))  # some put the name of the function first
        assert said.startswith(f"{argument}: ") or change == "a vector too few", (change, argument)
        assert message in str(caught.value), (change, argument)


@pytest.mark.parametrize("name", [name for name, (_, given) in FUNCTIONS.items() if len(matrices(given)) > 1])
def test_other_dtypes_and_devices_of_one_matrix_are_named(name: str) -> None:
    function, given = FUNCTIONS[name]
    last = matrices(given)[-1]
    for changed, expected in (
        (given[last].float(), "the dtype"),
        (torch.empty(given[last].shape, dtype=torch.float64, device="meta"), "device"),
    ):
        with pytest.raises(ValueError, match=rf"^(?:\w+\(\): )?{last}: expected .*{expected}"):
            function(**{**given, last: changed})


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_are_refused(name: str) -> None:
    call, message = CALLS[name]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert message in str(caught.value)
