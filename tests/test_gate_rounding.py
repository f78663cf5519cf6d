"""Random rounding operation by operation, and what is made of it: spreads, units, kinks, overflow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from verify.gate.rounding import (
    BLURRED_IN_HALF,
    DERIVATIVE,
    FEW,
    FEW_IN_HALF,
    RUNS_AT_A_JUMP,
    RUNS_IN_HALF,
    SPREADS,
    UNDERFLOW,
    VALUE,
    WHOLE,
    RandomRounding,
    Reference,
    Rounded,
    _finite,
    _is_view,
    _is_whole,
    _largest,
    _largest_finite,
    _rounded,
    reference,
)

pytestmark = pytest.mark.kept

GRAIN = 2.0**-20
EPS = torch.finfo(torch.float64).eps
HALF = torch.finfo(torch.bfloat16).eps


def of(*entries: Any) -> torch.Tensor:
    return torch.tensor(entries, dtype=torch.float64)


A, B, C = of([1.5, -0.25], [0.75, 2.5]), of([-0.5, 1.25], [3.5, 0.125]), of([0.375, -4.5], [1.75, 0.625])
x, y = of(1.5, -1.25, 0.75), of(0.5, 2.25, -0.375)
SINGLE = x.float()
WEIGHTS, COTANGENT = torch.softmax(A, -1), C
_aten = torch.ops.aten

#: Operations, and the numbers of which an error may be a grain.
SIZES: dict[str, tuple[Callable[[], torch.Tensor], torch.Tensor]] = {
    "product": (lambda: A @ B, A.abs() @ B.abs()),
    "products of a batch": (lambda: torch.bmm(A[None], B[None]), (A.abs() @ B.abs())[None]),
    "matrix and vector": (lambda: torch.mv(A, of(0.5, -2.5)), A.abs() @ of(0.5, 2.5)),
    "inner product": (lambda: torch.dot(x, y), x.abs() @ y.abs()),
    "product and sum": (lambda: torch.addmm(C, A, B), C.abs() + A.abs() @ B.abs()),
    "sum": (lambda: torch.sum(x), x.abs().sum()),
    "sum of rows": (lambda: torch.sum(A, -1, keepdim=True), A.abs().sum(-1, keepdim=True)),
    "sum in another precision": (lambda: torch.sum(SINGLE, dtype=torch.float64), x.abs().sum()),
    "mean": (lambda: torch.mean(x), x.abs().mean()),
    "mean of columns": (lambda: torch.mean(A, 0), A.abs().mean(0)),
    "softmax": (lambda: torch.softmax(A, -1), torch.softmax(A, -1) * (1 + A.abs())),
    "derivative of a softmax": (
        lambda: _aten._softmax_backward_data(COTANGENT, WEIGHTS, -1, torch.float64),
        (C.abs() + (C.abs() * WEIGHTS).sum(-1, keepdim=True)) * WEIGHTS,
    ),
    "exponential": (lambda: torch.exp(A), torch.exp(A)),
    "entrywise": (lambda: A * B, (A * B).abs()),
    "difference": (lambda: x - y, (x - y).abs()),
}


def errors(call: Callable[[], torch.Tensor], wide_sums: bool = False) -> torch.Tensor:
    """The errors of 200 runs, in grains."""
    exact, found = call(), []
    for seed in range(200):
        with RandomRounding(GRAIN, seed, wide_sums):
            result = call()
        assert result.dtype == exact.dtype and result.shape == exact.shape
        found.append((result - exact) / GRAIN)
    return torch.stack(found)


@pytest.mark.parametrize("name", SIZES)
def test_the_error_of_an_operation_is_of_the_size_of_its_terms(name: str) -> None:
    call, size = SIZES[name]
    found = errors(call) / size
    assert bool((found.abs() <= 1 + 1e-6).all())
    assert bool((found.amax(0) > 0.9).all()) and bool((found.amin(0) < -0.9).all())


@pytest.mark.parametrize("name", SIZES)
def test_wide_sums_are_rounded_once(name: str) -> None:
    call, size = SIZES[name]
    sums = any(word in name for word in ("product", "sum", "mean", "matrix"))
    found = errors(call, wide_sums=True) / (call().abs() if sums else size)
    assert bool((found.abs() <= 1 + 1e-6).all()) and bool((found.abs().amax(0) > 0.9).all())


def test_errors_are_even_and_of_their_own_generator() -> None:
    like = of(2.0, -3.0, 0.5)
    noise = torch.rand(3, generator=torch.Generator().manual_seed(5), dtype=torch.float64) * 2 - 1
    assert torch.allclose(RandomRounding(GRAIN, 5).error(like), like * noise * GRAIN, rtol=1e-12, atol=0)
    single = RandomRounding(GRAIN, 5).error(like.float())
    assert single.dtype == torch.float32 and torch.allclose(single.double(), like * noise * GRAIN, rtol=1e-6)
    for endless in (-math.inf, math.inf, math.nan):  # logits of masked keys have no error, and leave others theirs
        found = RandomRounding(GRAIN, 5).error(of(2.0, endless, 0.5))
        assert torch.allclose(found, of(2.0, 0.0, 0.5) * noise * GRAIN, rtol=1e-12, atol=0)
    single = RandomRounding(GRAIN, 5).error(of(2.0, -math.inf, 0.5).float())
    assert single.dtype == torch.float32 and torch.allclose(
        single.double(), of(2.0, 0.0, 0.5) * noise * GRAIN, rtol=1e-6
    )
    assert RandomRounding(GRAIN, 5).error(torch.zeros(0, 3)).shape == (0, 3)
    assert not RandomRounding(GRAIN, 5).wide_sums


def test_what_moves_numbers_about_or_gives_none_is_exact() -> None:
    with RandomRounding(GRAIN, 0) as seen:
        moved = (A.mT, A.reshape(-1), A[1:], A > B, torch.max(A, -1).values)
    assert seen.largest == 2.5
    for got, exact in zip(moved, (A.mT, A.reshape(-1), A[1:], A > B, torch.max(A, -1).values), strict=True):
        assert torch.equal(got, exact)
    assert _is_view(_aten.t.default) and _is_view(_aten.add_.Tensor) and not _is_view(_aten.add.Tensor)


def test_the_largest_numbers_are_kept() -> None:
    with RandomRounding(0.0, 0) as seen:
        pass
    assert (seen.largest, seen.exponent, seen.apart, seen.of_matrices) == (0.0, 0.0, 0.0, 0.0)
    with RandomRounding(0.0, 0) as seen:
        torch.softmax(of(-9.5, 0.5), -1)
        assert (seen.exponent, seen.apart) == (9.5, 0.0)
        torch.exp(of(1.5, -7.5))
        assert (seen.exponent, seen.apart) == (9.5, 7.5)
        torch.logsumexp(of(-math.inf, 20.5), -1)  # of which torch makes a difference, an exponential and a sum
        torch.exp(of(0.5))
        assert seen.apart >= 7.5 and seen.exponent >= 9.5
    with RandomRounding(0.0, 0) as seen:
        of(1000.5, -math.inf) * 2.0
        of(1.5) * 2.0
        assert seen.largest == 2001.0 and seen.of_matrices == 0.0
        torch.linalg.matrix_exp(of([0.5, -1.5], [-2.5, 0.25]))
        torch.linalg.matrix_exp(of([0.5, 0.25], [0.25, 0.5]))
        assert seen.of_matrices == 3.0 and seen.exponent == 0.0


def test_arguments_are_rounded_where_they_are_real() -> None:
    mask, count = torch.tensor([True, False]), 3
    noise = torch.rand(3, generator=torch.Generator().manual_seed(7), dtype=torch.float64) * 2 - 1
    found = _rounded({"x": x, "M": mask, "n": count}, GRAIN, torch.Generator().manual_seed(7))
    assert torch.equal(found["x"], x * (1 + GRAIN * noise)) and found["M"] is mask and found["n"] == 3


def test_small_measures_of_tensors() -> None:
    assert _largest(of(1.0, -3.0)) == 3.0 and _largest(torch.zeros(0)) == 0.0
    ends = of(1.0, math.inf, -math.inf, math.nan, -2.0)
    assert torch.equal(_finite(ends), of(1.0, 0.0, 0.0, 0.0, -2.0))
    assert _largest_finite(ends) == 2.0 and _largest_finite(of(1.0, -3.0)) == 3.0
    whole = (torch.tensor([1, 2]), torch.zeros(0), of(1.0, -2.0), of(WHOLE))
    broken = (of(0.5, 1.0), of(1.0, 0.5), of(WHOLE + 2), of(-WHOLE - 2))
    assert all(_is_whole(each) for each in whole) and not any(_is_whole(each) for each in broken)


def truth(function: Callable[[Any], dict[str, torch.Tensor]], **arguments: torch.Tensor) -> Reference:
    found = reference(function, arguments)
    assert found is not None
    return found


def test_a_result_that_is_zero_is_smooth_where_it_moves_with_its_argument() -> None:
    for function, smooth in (
        (lambda at: at, True), (lambda at: at.abs() ** 0.5, True), (torch.sign, False),
        (lambda at: at.abs() ** 0.125, False),
    ):  # fmt: skip
        assert truth(lambda given, function=function: {"a": function(given["x"])}, x=of(0.0)).smooth == smooth
    quarter = truth(lambda given: {"a": 1 + (given["x"] > 0) / 4}, x=of(0.0))
    assert not quarter.smooth, "a jump is measured from the result, which is not zero"
    # each of the results has to, and a mask is no argument to be moved
    both = {"x": of(0.0), "M": torch.tensor([True])}
    assert not truth(lambda given: {"a": given["x"], "b": torch.sign(given["x"]) * given["M"]}, **both).smooth
    assert truth(lambda given: {"a": given["x"], "b": given["x"] * given["M"]}, **both).smooth


#: As many ones as that errors of some of them are nearly as large as they may be, and of either sign.
ONES = torch.ones(64, dtype=torch.float64)


def test_a_jump_counts_within_a_few_roundings() -> None:
    for dtype, eps, few in (("float32", torch.finfo(torch.float32).eps, FEW), ("bfloat16", HALF, FEW_IN_HALF)):
        for share, jumps in ((0.75, True), (1.25, False)):
            asked: list[float] = []

            def step(given: Any, at: float = 1 + share * few * eps, asked: Any = asked) -> dict[str, torch.Tensor]:
                asked.append(1.0)
                return {"d": 1 + (given["x"] > at).double(), "e": given["x"]}

            found = truth(step, x=ONES)
            _ = found.unit("d", eps)  # evaluated before, not among those counted
            asked.clear()
            assert found.jumps(step, dtype, "d") == jumps and len(asked) <= RUNS_AT_A_JUMP
            assert jumps or len(asked) == RUNS_AT_A_JUMP
            assert not found.jumps(step, dtype, "e")


def test_a_jump_to_no_number_is_no_kink_and_small_ones_do_not_count() -> None:
    eps = torch.finfo(torch.float32).eps
    for size, jumps in ((math.inf, False), (1.0, True), (64 * eps, True), (4 * eps, False)):
        threshold = 1 + 4 * eps

        def step(given: Any, size: float = size, threshold: float = threshold) -> dict[str, torch.Tensor]:
            return {"d": torch.where(given["x"] > threshold, 1 + size, 1.0 + 0 * given["x"])}

        # a unit of what is 1 for certain: four roundings of its largest entry, and four spreads
        found = truth(step, x=ONES)
        found.rounded = Rounded({"d": 0.0})
        assert found.jumps(step, "float32", "d") == jumps, size


def test_what_was_asked_of_a_kink_is_kept_by_precision_and_name() -> None:
    eps = torch.finfo(torch.float32).eps
    found = truth(lambda given: {"d": given["x"], "e": given["x"]}, x=ONES)

    def step(given: Any) -> dict[str, torch.Tensor]:
        return {"d": 1 + (given["x"] > 1 + 4 * eps).double(), "e": given["x"]}

    asked = "first"
    assert found.jumps(step, "float32", "d", asked) and not found.jumps(step, "float64", "d", asked)
    assert not found.jumps(step, "float32", "e", asked) and found.jumps(step, "float32", "d", asked)
    assert found.jumps(lambda given: {"d": given["x"]}, "float32", "d", asked), "kept"
    assert not found.jumps(lambda given: {"d": given["x"]}, "float32", "d", "second")


def test_the_spread_in_half_precision_is_the_largest_of_some_runs_and_found_once() -> None:
    calls: list[int] = []

    def summed(given: Any) -> dict[str, torch.Tensor]:
        calls.append(1)
        return {"a": (given["x"] * 1.5).sum()[None], "b": given["x"][:1] * 1.5}

    entries = of(*(1.0 + 0.37 * (number % 7) for number in range(64)))
    found = truth(summed, x=entries)
    calls.clear()
    spread = found._spread_in_half("a", HALF)
    assert len(calls) == RUNS_IN_HALF
    size = float(found.results["a"])
    # sums are rounded once: of 64 terms, whose own errors go against each other, no error is as large as of a sum in halves
    assert HALF * size / 8 < spread < 2.5 * HALF * size
    first = found._spread_in_half("b", HALF)
    assert len(calls) == RUNS_IN_HALF and HALF / 2 < first / 1.5 < 2.5 * HALF
    fine = found._spread_in_half("a", 2.0**-10)
    assert len(calls) == 2 * RUNS_IN_HALF and fine < spread / 2
    assert found._spread_in_half("a", HALF) == spread and len(calls) == 2 * RUNS_IN_HALF

    def lost(given: Any) -> dict[str, torch.Tensor]:
        return {"a": torch.where(given["x"] == 1.0, given["x"], math.nan)}

    assert truth(lost, x=of(1.0))._spread_in_half("a", HALF) == math.inf


#: Numbers of both signs, of which a sum is small: an error of the sum of their sizes is far larger than what their own come to.
BOTH_SIGNS = 1.375 * of(*([1.0, -1.0] * 2048))


def test_sums_are_wide_in_half_precision_alone() -> None:
    found = truth(lambda given: {"a": given["x"].sum()[None]}, x=BOTH_SIGNS)
    assert found._spread_in_half("a", HALF) < 400 * 1.375 * HALF
    for dtype, eps, jumps in (("bfloat16", HALF, False), ("float32", torch.finfo(torch.float32).eps, True)):

        def step(given: Any, eps: float = eps) -> dict[str, torch.Tensor]:
            return {"d": 1 + (given["x"].sum()[None] > 1000 * 1.375 * eps).double()}

        flat = truth(lambda given: {"d": torch.ones(1, dtype=torch.float64)}, x=BOTH_SIGNS)
        assert flat.jumps(step, dtype, "d") == jumps


def test_errors_are_the_same_whatever_was_drawn_before() -> None:
    def step(given: Any) -> dict[str, torch.Tensor]:
        seen.append(float(given["x"]))
        return {"d": given["x"] * 1.5}

    found: list[tuple[Any, ...]] = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        seen: list[float] = []
        once = truth(step, x=of(1.0))
        found.append((once._spread_in_half("d", HALF), once.jumps(step, "float32", "d"), tuple(seen)))
    assert found[0] == found[1]


def in_half(spread: float, value: float) -> Reference:
    results = {"a": of(value), "b": of(1.0)}
    return Reference(results, {}, lambda arguments: results, _in_half={HALF: {"a": spread, "b": 0.0}})


def test_a_unit_in_half_precision_is_a_spread_and_one_rounding() -> None:
    assert in_half(0.25, 4.0).unit("a", HALF) == 0.25 + 4 * HALF + UNDERFLOW[HALF]
    most = BLURRED_IN_HALF * 4.0 - 4 * HALF
    assert in_half(most, 4.0).unit("a", HALF) == BLURRED_IN_HALF * 4.0 + UNDERFLOW[HALF]
    assert in_half(most + 2.0**-20, 4.0).unit("a", HALF) == math.inf
    single = torch.finfo(torch.float16).eps
    found = in_half(0.0, 4.0)
    found._in_half[single] = {"a": 0.25}
    assert found.unit("a", single) == 0.25 + 4 * single + UNDERFLOW[single] > 0.25 + 4 * single
    zero = in_half(0.0, 0.0)
    zero.results["b"] = of(3.0)
    zero.rounded = Rounded({"a": 0.0, "b": 0.0})
    assert zero.unit("a", HALF) == SPREADS * HALF * 3.0 + UNDERFLOW[HALF]


def test_steep_exponentials_make_units_larger() -> None:
    results = {"a": of(0.0), "b": of(3.0)}
    found = Reference(results, {}, lambda arguments: results)
    found.rounded = Rounded({"a": 0.0, "b": 2.0}, apart=2047.0)
    assert found.unit("a", EPS) == 2048.0 * SPREADS * EPS * 3.0 + UNDERFLOW[EPS]
    assert found.unit("b", EPS) == 2048.0 * SPREADS * EPS * 5.0 + UNDERFLOW[EPS]
    assert [found.roundings(name, EPS, 0.0) for name in "ab"] == [0.0, 0.0] and found.roundings(
        "a", EPS, 1.0
    ) == math.inf
    assert found.roundings("b", EPS, 24 * EPS) == 2.0 and found.roundings("b", HALF, 6 * HALF) == 2.0
    single = torch.finfo(torch.float32).eps  # no half precision
    assert found.roundings("b", single, 24 * single) == 2.0


def test_a_derivative_may_be_what_moves_the_value_by_a_rounding() -> None:
    results = {VALUE: of(0.5), f"{VALUE} in row 3": of(-8.0), f"{DERIVATIVE}x": of(1.0), f"{DERIVATIVE}y": of(16.0)}
    found = Reference(results, {"x": of(0.25, 4.0), "y": of(0.25)}, lambda arguments: results)
    found.rounded = Rounded(dict.fromkeys(results, 0.0))
    own = SPREADS * EPS * 1.0 + UNDERFLOW[EPS]
    assert found.unit(f"{DERIVATIVE}x", EPS) == own + SPREADS * EPS * 8.0 / 4.0
    assert found.unit(f"{DERIVATIVE}y", EPS) == 16 * SPREADS * EPS + UNDERFLOW[EPS] + SPREADS * EPS * 8.0
    assert found.unit(VALUE, EPS) == 0.5 * SPREADS * EPS + UNDERFLOW[EPS]
    # what is named as an argument is no derivative by it, and without a value nothing is moved
    same = Reference({VALUE: of(8.0), "x": of(1.0)}, {"x": of(1.0)}, lambda arguments: {})
    same.rounded = Rounded({VALUE: 0.0, "x": 0.0})
    assert same.unit("x", EPS) == own
    alone = Reference({f"{DERIVATIVE}x": of(1.0)}, {"x": of(1.0)}, lambda arguments: {})
    alone.rounded = Rounded({f"{DERIVATIVE}x": 0.0})
    assert alone.unit(f"{DERIVATIVE}x", EPS) == own
    alone._in_half[HALF] = {f"{DERIVATIVE}x": 0.0}
    alone.results[VALUE] = of(8.0)
    assert alone.unit(f"{DERIVATIVE}x", HALF) == HALF + UNDERFLOW[HALF]
    unknown = Reference({f"{DERIVATIVE}z": of(1.0)}, {}, lambda arguments: {})
    unknown.rounded = Rounded({f"{DERIVATIVE}z": 0.0})
    assert unknown.unit(f"{DERIVATIVE}z", EPS) == own


def test_values_may_overflow_where_a_matrix_is_the_exponent_alone() -> None:
    at_most = math.log(torch.finfo(torch.float32).max) / (FEW * torch.finfo(torch.float32).eps)
    found = in_half(0.0, 1.0)
    for exponent, of_matrices, derivative, value in (
        (1.01, 0.0, True, False), (0.99, 0.0, False, False), (0.0, 1.01, True, True), (0.0, 0.99, False, False),
    ):  # fmt: skip
        found.rounded = Rounded({}, exponent=exponent * at_most, of_matrices=of_matrices * at_most)
        assert found.may_overflow(torch.float32) == derivative
        assert found.may_overflow(torch.float32, True) == found.may_overflow(torch.float32, value=True) == value
    found.rounded = Rounded({}, largest=torch.finfo(torch.float16).max / 3)
    assert found.overflows(torch.float16) and not found.overflows(torch.bfloat16)
