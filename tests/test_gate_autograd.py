"""Values and derivatives at a point, in small numbers: what is asked of autograd, how arguments lie in memory, what a gap is."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd.function import once_differentiable

from verify.gate import autograd
from verify.gate.autograd import (
    AGAIN,
    FORWARD_DERIVATIVE,
    Gap,
    Point,
    column_major,
    cut_from_product,
    every_other,
    gap_at,
    one_row,
    taken_for_constants,
)
from verify.gate.rounding import VALUE
from verify.gate.subject_errors import NotDifferentiable, OnceDifferentiable, Raised, WrongResult

pytestmark = pytest.mark.kept

A = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64)


def stored(x: torch.Tensor) -> list[Any]:
    """What lies in memory behind a tensor."""
    return torch.as_strided(x, (x.untyped_storage().nbytes() // x.element_size(),), (1,), 0).tolist()


# -- how arguments lie in memory ---------------------------------------------------------------------------------------


def test_a_matrix_by_columns_is_the_same_matrix() -> None:
    found = column_major(A)
    assert torch.equal(found, A) and found.stride() == (1, 3)
    assert column_major(torch.ones(4)[::2]).is_contiguous()
    assert column_major(A[0]).tolist() == [1.0, 2.0]


def test_every_other_entry_lies_beside_no_numbers() -> None:
    found = every_other(A)
    assert torch.equal(found, A) and found.stride() == (4, 2)
    behind = stored(found)
    assert behind[::2] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] and all(map(math.isnan, behind[1::2]))
    mask = torch.tensor([True, False])
    assert every_other(mask).tolist() == [True, False] and stored(every_other(mask)) == [True, False, False, True]
    assert every_other(torch.tensor(2.0)).tolist() == 2.0


def test_equal_rows_are_stored_as_one_and_other_matrices_as_they_are() -> None:
    equal = torch.tensor([[1.0, 2.0]] * 3)
    assert one_row(equal).stride() == (0, 1) and one_row(equal).tolist() == equal.tolist()
    assert one_row(A).stride() == (2, 1) and one_row(A.mT).is_contiguous()
    assert one_row(torch.ones(3)).stride() == (1,)
    cube = torch.stack([A[:2], A[1:]])
    assert torch.equal(one_row(cube), cube) and one_row(cube).is_contiguous()
    assert one_row(torch.stack([equal, 2 * equal])).stride() == (2, 0, 1)


def test_a_part_of_a_product_has_no_numbers_on_either_side() -> None:
    found = cut_from_product(A)
    assert torch.equal(found, A) and found.stride() == (4, 1) and found.storage_offset() == 1
    behind = stored(found)
    assert all(math.isnan(behind[at]) for at in (0, 3, 4, 7, 8, 11)) and behind[1:3] == [1.0, 2.0]
    mask = torch.tensor([[True, True], [False, True]])
    assert torch.equal(cut_from_product(mask), mask)
    assert stored(cut_from_product(mask)) == [False, True, True, False, True, False, True, True]
    heads = torch.arange(12.0).reshape(1, 2, 3, 2)
    part = cut_from_product(heads)
    assert torch.equal(part, heads) and part.stride() == (24, 4, 8, 1)
    assert cut_from_product(torch.arange(6.0).reshape(1, 3, 2)).stride() == (12, 4, 1)
    assert torch.equal(cut_from_product(heads[None]), heads[None])
    assert cut_from_product(torch.tensor(2.0)).tolist() == 2.0


# -- what is evaluated -------------------------------------------------------------------------------------------------


def product(X: Any, Y: Any) -> Any:
    return X * X * Y


def at(order: int = 1, seed: int = 0, **given: Any) -> Point:
    X, Y = torch.tensor([[1.0, 2.0]]).double(), torch.tensor([[3.0, -1.0]]).double()
    point = Point({"X": X, "Y": Y}, order, seed)
    for name, value in given.items():
        setattr(point, name, value)
    return point


def numbers(seed: int, stream: int, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng([seed, stream]).integers(-4, 5, shape) / 2)


def test_only_numbers_that_are_real_move() -> None:
    point = Point({"X": A, "mask": torch.tensor([True]), "n": 3, "t": torch.tensor(1)}, 1, 0)
    assert point.moving == ["X"]
    assert at().only(["Y", "Z"]).moving == ["Y"] and at().moving == ["X", "Y"]
    assert [at(order).is_beyond_first for order in (0, 1, 2)] == [False, False, True] and at(
        forward=True
    ).is_beyond_first


def test_drawn_numbers_are_halves_of_each_stream_and_seed() -> None:
    for seed, stream in ((0, 1), (3, 2)):
        found = at(seed=seed).drawn(torch.zeros(9, 5), stream)
        assert torch.equal(found, numbers(seed, stream, (9, 5)).float()) and found.dtype == torch.float32
        assert float(found.min()) == -2.0 and float(found.max()) == 2.0


def test_values_and_first_derivatives() -> None:
    point = at()
    found = point.evaluate(product, point.arguments)
    X, Y, G = point.arguments["X"], point.arguments["Y"], numbers(0, 0, (1, 2))
    assert list(found) == [VALUE, "d/dX", "d/dY"]
    assert torch.equal(found[VALUE], X * X * Y) and not found[VALUE].requires_grad
    assert torch.equal(found["d/dX"], 2 * X * Y * G) and torch.equal(found["d/dY"], X * X * G)
    assert list(at(0).evaluate(product, point.arguments)) == [VALUE]
    alone = at().only(["Y"]).evaluate(product, point.arguments)
    assert list(alone) == [VALUE, "d/dY"] and torch.equal(alone["d/dY"], X * X * G)
    without = point.evaluate(lambda X, Y: 2 * X, point.arguments)
    assert without["d/dY"].tolist() == [[0.0, 0.0]]
    given = {"X": X.clone().requires_grad_(), "Y": Y}
    assert not at(0).evaluate(product, given)[VALUE].requires_grad


def test_second_derivatives_are_those_along_drawn_directions() -> None:
    point = at(2)
    X, Y, G = point.arguments["X"], point.arguments["Y"], numbers(0, 0, (1, 2))
    D, E = numbers(0, 1, (1, 2)), numbers(0, 2, (1, 2))
    found = point.evaluate(product, point.arguments)
    assert list(found) == ["d2/dX", "d2/dY"]
    assert torch.allclose(found["d2/dX"], 2 * G * (D * Y + E * X)) and torch.allclose(found["d2/dY"], 2 * G * D * X)
    assert not found["d2/dX"].requires_grad
    alone = point.evaluate(lambda X, Y: X * X, point.arguments)
    assert torch.equal(alone["d2/dX"], 2 * G * D) and alone["d2/dY"].tolist() == [[0.0, 0.0]]


def test_forward_derivatives_agree_with_reverse_mode_twice() -> None:
    point = at(forward=True)
    X, Y = point.arguments["X"], point.arguments["Y"]
    expected = 2 * X * Y * numbers(0, 1, (1, 2)) + X * X * numbers(0, 2, (1, 2))
    for yours in (True, False):
        found = point.evaluate(product, point.arguments, yours=yours)
        assert list(found) == [FORWARD_DERIVATIVE] and torch.allclose(found[FORWARD_DERIVATIVE], expected)
    assert torch.allclose(
        point.evaluate(lambda X, Y: X * X, point.arguments)[FORWARD_DERIVATIVE], 2 * X * numbers(0, 1, (1, 2))
    )
    only = at(forward=True).only(["Y"])
    for yours in (True, False):
        found = only.evaluate(product, only.arguments, yours=yours)
        assert torch.allclose(found[FORWARD_DERIVATIVE], X * X * numbers(0, 1, (1, 2)))
    assert not point.evaluate(product, point.arguments, yours=True)[FORWARD_DERIVATIVE].requires_grad
    with pytest.raises(NotDifferentiable, match=r"^its result is cut from all arguments in forward mode$"):
        point.evaluate(lambda X, Y: X.detach() * 1, point.arguments, yours=True)
    kept: list[Any] = []
    tracked = {"X": X.clone().requires_grad_(), "Y": Y}
    point.evaluate(lambda X, Y: kept.extend([X, Y]) or product(X, Y), tracked)
    assert all(x.is_leaf for x in kept) and kept[0] is not tracked["X"]


def test_some_rows_are_results_of_their_own() -> None:
    X = torch.arange(8.0).reshape(4, 2).double()
    for axis, whole in ((0, X), (1, X.mT.contiguous())):
        point = Point({"X": whole}, 1, 1, rows=[0, 3], axis=axis)
        for function in (lambda X: 2 * X, lambda X, axis=axis: 2 * X.index_select(axis, torch.tensor([0, 3]))):
            found = point.evaluate(function, point.arguments)
            assert list(found) == ["the value in row 0", "the value in row 3", "d/dX"]
            assert found["the value in row 3"].tolist() == [12.0, 14.0]
            moved = found["d/dX"].abs().sum(1 - axis)
            assert moved[1] == moved[2] == 0.0
        assert point.shape_of_value(found) == tuple(whole.shape)
    heads = torch.zeros(2, 4, 3)
    point = Point({"X": heads}, 0, 0, rows=[1, 2], axis=1)
    assert point.shape_of_value(point.evaluate(lambda X: X, point.arguments)) == (2, 3, 3)
    for rows in ([1], [0, 1, 2]):
        some = Point({"X": heads}, 0, 0, rows=rows, axis=1)
        assert some.shape_of_value(some.evaluate(lambda X: X, some.arguments)) == (2, rows[-1] + 1, 3)
    assert at(0).shape_of_value({VALUE: A}) == (3, 2) == at(0).shape_of_value({FORWARD_DERIVATIVE: A})
    assert at(0).shape_of_value({"d2/dX": A}) is None
    assert point.shape_of_value({VALUE: A}) == (3, 2)


def test_what_is_cut_is_refused_with_the_reason() -> None:
    for order in (1, 2):
        with pytest.raises(
            NotDifferentiable, match=r"^its result is cut from all arguments .detach, no_grad, or torch"
        ):
            at(order).evaluate(lambda X, Y: X.detach(), at().arguments)
    with pytest.raises(NotDifferentiable, match=r"^its first derivatives are cut from all arguments$"):
        at(2).evaluate(FirstOnly.apply, at().arguments)
    with pytest.raises(OnceDifferentiable):
        at(2).evaluate(Marked.apply, at().arguments)
    assert torch.equal(at(2).evaluate(lambda X, Y: X + Y * Y, at().arguments)["d2/dX"], torch.zeros(1, 2).double())


class FirstOnly(torch.autograd.Function):
    """A product whose derivatives are constants to torch."""

    @staticmethod
    def forward(ctx: Any, X: Any, Y: Any) -> Any:
        ctx.save_for_backward(X, Y)
        return X * Y

    @staticmethod
    def backward(ctx: Any, G: Any) -> Any:
        X, Y = ctx.saved_tensors
        return (G * Y).detach(), (G * X).detach()


class Marked(FirstOnly):
    """The same, marked as differentiable once."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: Any) -> Any:
        X, Y = ctx.saved_tensors
        return G * Y, G * X


class Changing(torch.autograd.Function):
    """The identity, which changes its cotangent, or the argument that it has kept."""

    which = "cotangent"

    @staticmethod
    def forward(ctx: Any, X: Any) -> Any:
        ctx.kept = X.detach()
        return X * 1

    @staticmethod
    def backward(ctx: Any, G: Any) -> Any:
        found = G.clone()
        (G if Changing.which == "cotangent" else ctx.kept).data.add_(1.0)
        return found


def test_a_backward_pass_may_not_change_the_cotangent(monkeypatch: pytest.MonkeyPatch) -> None:
    point = at().only(["X"])
    with pytest.raises(WrongResult, match=r"^the cotangent of its backward pass: expected an argument left as it was"):
        point.evaluate(lambda X, Y: Changing.apply(X), point.arguments, yours=True)
    point.evaluate(lambda X, Y: Changing.apply(X), point.arguments)
    monkeypatch.setattr(Changing, "which", "argument")
    point.evaluate(lambda X, Y: Changing.apply(X), point.in_dtype(torch.float64, "cpu"), yours=True)


class Twice(torch.autograd.Function):
    """Twice X, with another derivative, or an error, in a second backward pass."""

    second: Any = 3.0

    @staticmethod
    def forward(ctx: Any, X: Any) -> Any:
        ctx.passes = 0
        return 2 * X

    @staticmethod
    def backward(ctx: Any, G: Any) -> Any:
        ctx.passes += 1
        if ctx.passes == 2 and Twice.second is None:
            raise RuntimeError("once only")
        return (Twice.second if ctx.passes == 2 else 2.0) * G


def test_a_second_backward_pass_is_a_result_where_it_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    point = at(twice=True).only(["X"])
    G = numbers(0, 0, (1, 2))

    def derivatives(order: int = 1, yours: bool = True, twice: bool = True) -> dict[str, Any]:
        asked = replace(point, twice=twice, order=order).only(["X"])
        return asked.evaluate(lambda X, Y: Twice.apply(X), point.arguments, yours)

    found = derivatives()
    assert torch.equal(found[f"d/dX{AGAIN}"], 3 * G) and torch.equal(found["d/dX"], 2 * G)
    for other in (derivatives(yours=False), derivatives(twice=False)):
        assert list(other) == [VALUE, "d/dX"]
    for second in (2.0, None):
        monkeypatch.setattr(Twice, "second", second)
        assert list(derivatives()) == [VALUE, "d/dX"]


def test_cotangents_lie_in_memory_in_several_ways() -> None:
    value = torch.zeros(2, 3)
    by_seed = [at(seed=seed).cotangent(value) for seed in range(6)]
    strides = [found.stride() for found in by_seed]
    assert strides == [(3, 1), (1, 2), (0, 1), (5, 1), (1, 2), (0, 1)]
    for seed in (0, 1, 3, 4):
        assert torch.equal(by_seed[seed], numbers(seed, 0, (2, 3)).float())
    assert torch.equal(by_seed[2], numbers(2, 0, (2, 3))[:1].float().expand(2, 3))
    assert at(seed=2).cotangent(torch.zeros(3)).stride() == (1,)
    one_sign = at(seed=5, one_sign=True).cotangent(value)
    assert one_sign.is_contiguous() and one_sign.dtype == torch.float32 and torch.equal(one_sign[0], one_sign[1])
    expected = np.random.default_rng([5, 0]).integers(33, 64, (3,)) / 64
    assert one_sign[0].tolist() == expected.tolist()
    assert at(seed=5, one_sign=True).cotangent(torch.zeros(2, 4, 3))[1, 2].tolist() == expected.tolist()
    assert at(seed=9).cotangent(value).stride() == (5, 1) and at(seed=6).cotangent(value).stride() == (3, 1)
    elsewhere = value.to("meta")
    assert at(one_sign=True).cotangent(elsewhere).device == at().cotangent(elsewhere).device == elsewhere.device


def test_arguments_are_copies_in_another_precision_and_layout() -> None:
    mask, n = torch.tensor([[True, False], [False, True]]), 3
    point = Point({"X": A, "mask": mask, "n": n}, 1, 0, layout=column_major)
    found = point.in_dtype(torch.float32, "cpu")
    assert found["X"].dtype == torch.float32 and found["X"].stride() == (1, 3) and torch.equal(found["X"].double(), A)
    assert found["mask"].dtype == torch.bool and found["mask"].stride() == (1, 2) and found["n"] == 3
    same = Point({"X": A}, 1, 0).in_dtype(torch.float64, "cpu")["X"]
    same += 1.0
    assert A[0, 0] == 1.0
    assert point.in_dtype(torch.float16, "meta")["X"].device.type == "meta"


def test_a_reference_is_that_of_the_function_of_the_point_and_none_where_it_has_none() -> None:
    point = at()
    found = point.reference(product)
    assert found is not None and list(found.results) == [VALUE, "d/dX", "d/dY"]
    assert found.arguments is point.arguments
    point.of = lambda X, Y: X + Y
    other = point.reference(product)
    assert other is not None and other.results[VALUE].tolist() == [[4.0, 1.0]]
    again = other.evaluate(at().arguments)
    assert again[VALUE].tolist() == [[4.0, 1.0]]
    for problem in (NotDifferentiable("no"), RuntimeError("no"), ValueError("no")):

        def raising(X: Any, Y: Any, problem: Exception = problem) -> Any:
            raise problem

        assert at().reference(raising) is None
    assert at().reference(lambda X, Y: X / 0) is None
    with pytest.raises(KeyError):
        at().reference(lambda X, Y: {}["no"])


# -- numbers that are taken for constants ------------------------------------------------------------------------------


def of_numbers(order: int = 1, **given: Any) -> Point:
    point = Point(
        {"X": torch.tensor([2.0, 3.0]).double(), "s": torch.tensor(0.5).double(), "t": torch.tensor(2.0).double()}, order, 0
    )  # fmt: skip
    for name, value in given.items():
        setattr(point, name, value)
    return point


def constants_of(function: Callable[..., Any], *names: str) -> list[str]:
    point = of_numbers().only(names or ["X", "s", "t"])
    return taken_for_constants(point, function, point.in_dtype(torch.float64, "cpu"))  # type: ignore[arg-type]


def test_a_number_from_which_the_value_is_cut_is_a_constant_and_one_without_effect_is_not() -> None:
    assert constants_of(lambda X, s, t: X * s.detach() * t) == ["s"]
    assert constants_of(lambda X, s, t: X * s * t) == [] == constants_of(lambda X, s, t: X * s * (0 * t))
    assert constants_of(lambda X, s, t: X * 1) == ["s", "t"]
    assert constants_of(lambda X, s, t: X.detach() * s) == ["t"]
    calls: list[Any] = []
    assert constants_of(lambda X, s, t: calls.append(X) or X, "X") == [] and calls == []
    assert constants_of(lambda X, s, t: X * 1, "X", "t") == ["t"]

    def raising(X: Any, s: Any, t: Any) -> Any:
        raise Raised("no")

    assert constants_of(raising) == [] == constants_of(lambda X, s, t: X.detach())


# -- gaps --------------------------------------------------------------------------------------------------------------


class Yours:
    """An implementation with its definition, called as a standing is."""

    def __init__(self, function: Callable[..., Any], definition: Callable[..., Any]) -> None:
        self.function, self.definition, self.seen = function, definition, []  # type: ignore[var-annotated]

    def __call__(self, **arguments: Any) -> Any:
        self.seen.append({name: x.dtype for name, x in arguments.items()})
        return self.function(**arguments)


def gap(
    function: Callable[..., Any], definition: Callable[..., Any] = product, point: Point | None = None,
    dtype: torch.dtype = torch.float64, enough: float = 16.0, **given: Any,
) -> Gap | None:  # fmt: skip
    point = point or at()
    truth = point.reference(definition)
    assert truth is not None
    for name, value in given.pop("of_truth", {}).items():
        truth.__dict__[name] = value
    return gap_at(point, Yours(function, definition), truth, dtype, "cpu", enough, **given)  # type: ignore[arg-type]


def test_of_results_that_agree_the_farthest_is_given_in_roundings() -> None:
    found = gap(lambda X, Y: product(X, Y) * (1 + 2.0**-50))
    assert found is not None and found.agrees and 0.0 < found.roundings <= 16.0 and not found.again
    assert found.eps == 2.0**-52 and found.slack == 1.0
    largest = max(gap(lambda X, Y: product(X, Y) * (1 + 2.0**-50), enough=e).roundings for e in (16.0, 99.0))  # type: ignore[union-attr]
    assert found.roundings == largest
    only = gap(lambda X, Y: product(X, Y) + (2.0**-48 * Y - (2.0**-48 * Y).detach()))
    assert only is not None and only.name == "d/dY" and only.agrees
    assert gap(product, enough=0.0).agrees  # type: ignore[union-attr]


def test_a_wrong_result_is_the_one_that_is_farthest_in_units() -> None:
    found = gap(lambda X, Y: product(X, Y) * (1 + 1e-6) - (1e-6 * product(X, Y)).detach())
    assert found is not None and found.name.startswith("d/d") and not found.agrees and found.residual > 16.0
    value = gap(lambda X, Y: product(X, Y) + 1e-6)
    assert value is not None and value.name == VALUE and value.distance == pytest.approx(1e-6)
    assert torch.equal(value.truth, product(**at().arguments)) and value.yours.dtype == torch.float64
    single = gap(lambda X, Y: product(X, Y) + 1e-2, dtype=torch.float32)
    assert single is not None and single.eps == 2.0**-23 and single.yours.dtype == torch.float64
    yours, asked = Yours(product, product), []  # type: ignore[var-annotated]

    class Recording(Point):
        def in_dtype(self, dtype: torch.dtype, device: str) -> dict[str, Any]:
            asked.append((dtype, device))
            return super().in_dtype(dtype, "cpu")

    truth = at().reference(product)
    gap_at(Recording(at().arguments, 1, 0), yours, truth, torch.float32, "elsewhere", 16.0)  # type: ignore[arg-type]
    assert asked == [(torch.float32, "elsewhere")] and yours.seen == [{"X": torch.float32, "Y": torch.float32}]
    for wrong in (math.nan, math.inf, -math.inf):
        without_end = gap(lambda X, Y, wrong=wrong: product(X, Y) + wrong)
        assert without_end is not None and without_end.distance == math.inf and not without_end.agrees


def test_what_has_a_kink_or_no_unit_is_not_decided() -> None:
    def wrong(X: Any, Y: Any) -> Any:
        return product(X, Y) + 1e-6

    assert gap(wrong, of_truth={"smooth": False}) is None
    assert gap(lambda X, Y: 2 * product(X, Y), point=at(2), of_truth={"smooth": False}) is None
    assert gap(wrong, of_truth={"unit": lambda *_: math.inf}) is None
    found = gap(lambda X, Y: product(X, Y) / 0, of_truth={"unit": lambda *_: math.inf})
    assert found is not None and found.residual == math.inf
    asked: list[Any] = []

    def may_overflow(dtype: Any, value: bool = False) -> bool:
        asked.append((dtype, value))
        return True

    assert gap(lambda X, Y: product(X, Y) / 0, of_truth={"may_overflow": may_overflow}) is None
    assert set(asked) == {(torch.float64, True), (torch.float64, False)}
    kept = gap(lambda X, Y: product(X, Y) / 0, of_truth={"may_overflow": lambda dtype, value: value})
    assert kept is not None and kept.name.startswith("d/d")
    assert gap(wrong, of_truth={"may_overflow": lambda *_: True}) is not None, "what is finite is not excused"


def test_sums_of_many_terms_may_lose_digits_but_not_in_half_precision() -> None:
    long = Point({"X": torch.ones(1, 64).double(), "Y": torch.ones(1, 1).double()}, 0, 0)
    for dtype, slack in ((torch.float32, 2.0), (torch.float64, 2.0), (torch.float16, 1.0), (torch.bfloat16, 1.0)):
        found = gap(product, point=long, dtype=dtype)
        assert found is not None and found.slack == slack and found.eps == torch.finfo(dtype).eps
    short = gap(product, point=Point({"X": torch.ones(1, 9).double(), "Y": torch.ones(1, 1).double()}, 0, 0))
    assert short is not None and short.slack == 1.0
    none = gap(product, point=Point({"X": torch.ones(0, 2).double(), "Y": torch.ones(1, 2).double()}, 0, 0))
    assert none is not None and none.agrees and none.distance == 0.0


def times(X: Any, s: Any, t: Any) -> Any:
    return X * X * s * t


def constant(X: Any, s: Any, t: Any) -> Any:
    return X * X * s.detach() * t


def test_derivatives_by_a_constant_are_not_compared() -> None:
    for point in (of_numbers(), of_numbers(2), of_numbers(forward=True)):
        found = gap(constant, times, point)
        assert found is not None and found.agrees, "the derivatives that are left are right"
        wrong = gap(lambda X, s, t: times(X, s.detach(), t) + 1e-6 * X * X * t, times, point)
        assert wrong is not None and not wrong.agrees
    cut = gap(lambda X, s, t: constant(X, s, t) + 1e-6 * (s - s.detach()), times, of_numbers())
    assert cut is not None and cut.name == "d/ds" and not cut.agrees
    behind = gap(lambda X, s, t: constant(X, s, t) + 1e-6 * (t - t.detach()), times, of_numbers())
    assert behind is not None and behind.name == "d/dt" and not behind.agrees, "what comes after a constant is compared"
    yours = Yours(constant, times)
    point = of_numbers(0)
    gap_at(point, yours, point.reference(times), torch.float64, "cpu", 16.0)  # type: ignore[arg-type]
    assert len(yours.seen) == 1, "of a value alone nobody asks for constants"
    beyond = of_numbers(2)
    kept = beyond.reference(times)

    def undefined(X: Any, s: Any, t: Any) -> Any:
        raise ValueError("no")

    yours.definition = undefined
    assert gap_at(beyond, yours, kept, torch.float64, "cpu", 16.0) is None  # type: ignore[arg-type]
    assert beyond.moving == ["X", "s", "t"]


def test_what_an_implementation_raises_is_told_from_what_its_backward_pass_raises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for problem in (NotDifferentiable("no"), Raised("no"), WrongResult("result", "one", "none")):

        def raising(X: Any, Y: Any, problem: Exception = problem) -> Any:
            raise problem

        with pytest.raises(type(problem)) as caught:
            gap(raising)
        assert caught.value is problem

    def other(X: Any, Y: Any) -> Any:
        raise KeyError("no")

    with pytest.raises(NotDifferentiable, match=r"^KeyError: 'no'$"):
        gap(other)
    monkeypatch.setattr(Changing, "which", "argument")
    with pytest.raises(
        WrongResult, match=r"^X: expected an argument left as it was; got .* changed in place in its back"
    ):
        gap(lambda X, Y: Changing.apply(X) * Y)


def test_calls_are_inside_what_watches_them_and_backward_passes_are_outside() -> None:
    inside: list[bool] = []
    open_: list[int] = []

    @contextlib.contextmanager
    def watched() -> Iterator[None]:
        open_.append(1)
        yield
        open_.pop()

    class Watching(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, X: Any) -> Any:
            inside.append(bool(open_))
            return 1 * X

        @staticmethod
        def backward(ctx: Any, G: Any) -> Any:
            inside.append(bool(open_))
            return G

    gap(lambda X, Y: product(Watching.apply(X), Y), watched=watched)
    assert inside == [True, False]


def test_a_second_pass_is_named_only_where_the_first_one_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Twice, "second", 3.0)
    point = at(twice=True)
    second = gap(lambda X, Y: Twice.apply(X) * Y, lambda X, Y: 2 * X * Y, point)
    assert second is not None and second.name == "d/dX" and second.again
    both = gap(lambda X, Y: Twice.apply(X) * Y + 0.1 * (X - X.detach()), lambda X, Y: 2 * X * Y, point)
    assert both is not None and both.name == "d/dX" and not both.again


def test_lengths_are_those_of_what_moves() -> None:
    assert autograd._lengths(at().only(["X"])) == [1, 1, 2]
    assert autograd._lengths(SimpleNamespace(moving=[], arguments={})) == [1]  # type: ignore[arg-type]
