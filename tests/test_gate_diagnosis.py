"""Why an implementation is wrong, rule by rule: which wrong formula is named, which factor, which precision, and which is not."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from verify.checks.record import SEPARATION
from verify.checks.settings import settings_for
from verify.checks.units import Unit
from verify.gate import diagnosis
from verify.gate.diagnosis import ONE_HOT, OVERFLOW, _Point, causes, derivative_causes, law_causes
from verify.gate.measure import ALLOWED
from verify.gate.profiles import FAR_BELOW, profile_of
from verify.gate.standing import Standing
from verify.oracles import LawTest
from verify.vocabulary.registry import load

pytestmark = pytest.mark.kept

QUICK = settings_for("quick")
SOFTMAX, HEAD, ATTENTION = "hessian.softmax", "dynamics.attention_head", "hessian.attention"


def softmax(T: Any) -> Any:
    return torch.softmax(T, -1)


def tensor(*rows: Any, dtype: Any = torch.float64) -> torch.Tensor:
    return torch.tensor(rows, dtype=dtype)


def point(yours: Any, truth: Any, unit: float = 1e-16, **given: Any) -> _Point:
    sizes = given.pop("sizes", {})
    return _Point(given, sizes, *(torch.as_tensor(x, dtype=torch.float64) for x in (truth, yours)), unit)  # type: ignore[arg-type,call-arg]


def found(function: Callable[..., Any], subject: str = SOFTMAX, dtype: str = "float64", at: Any = ()) -> list[str]:
    load("theorems")
    return causes(profile_of(subject), Standing(subject, function), QUICK, dtype, dict(at))


# -- when two values are different -------------------------------------------------------------------------------------


def test_values_are_far_from_each_other_from_a_thousand_units_on() -> None:
    a = tensor(1.0, 2.0)
    assert not diagnosis._far(a, a, 1.0) and SEPARATION == 1000.0
    for gap, far in ((999.0, False), (1000.0, True), (-1000.0, True), (-999.0, False)):
        assert diagnosis._far(a + tensor(0.0, gap), a, 1.0) is far
    assert not diagnosis._far(a + 1999.0, a, 2.0) and diagnosis._far(a + 2000.0, a, 2.0)
    assert diagnosis._far(a, a[:1], 1.0) and diagnosis._far(a, a.float(), 1.0) and diagnosis._far(a[None], a, 1.0)
    assert not diagnosis._far(a[:0], a[:0], 1.0)


def test_numbers_that_are_none_are_the_same_at_the_same_places_alone() -> None:
    never = tensor(math.nan, 1.0)
    assert not diagnosis._far(never, never.clone(), 1.0)
    assert diagnosis._far(never, tensor(1.0, math.nan), 1.0) and diagnosis._far(never, tensor(1.0, 1.0), 1.0)
    assert diagnosis._far(tensor(1.0, 1.0), never, 1.0) and diagnosis._far(tensor(math.inf, 1.0), tensor(0.0, 1.0), 1.0)
    assert diagnosis._far(tensor(math.nan, 1e9), never, 1.0) and not diagnosis._far(never, never.clone(), 1e-6)


def test_only_dense_floats_on_the_device_of_the_definition_are_compared() -> None:
    truth = tensor(1.0)
    assert diagnosis._comparable(truth, truth) is True and diagnosis._comparable(truth.float(), truth) is True
    others = (
        1.0, tensor(1, dtype=torch.int64), truth.to("meta"), truth.to_sparse(),
        torch.nested.nested_tensor([truth, truth]),
    )  # fmt: skip
    assert [diagnosis._comparable(other, truth) for other in others] == [False] * 5


def test_the_largest_error_is_taken_relative_to_the_largest_entry() -> None:
    for yours, truth, expected in (
        ([1.0, -5.0], [1.0, -4.0], 0.25), ([3.0, 1.0], [1.0, -4.0], 1.25), ([0.0], [0.0], 0.0), ([1.0], [0.0], math.inf),
        ([], [], 0.0), ([math.inf], [1.0], math.inf), ([math.nan, 1.0], [1.0, 1.0], math.inf), ([1.0, 1.0], [1.0], math.inf),
    ):  # fmt: skip
        assert diagnosis._relative(point(yours, truth)) == expected


# -- wrong formulas ----------------------------------------------------------------------------------------------------


def test_a_wrong_formula_explains_what_agrees_everywhere_and_differs_from_the_definition_somewhere() -> None:
    x = tensor(1.0, 2.0)
    doubled, same = point(2 * x, x, x=x), point(0 * x, 0 * x, x=0 * x)

    def double(x: Any) -> Any:
        return 2 * x

    assert diagnosis._explains(double, [doubled, same]) and diagnosis._explains(double, [same, doubled])
    assert not diagnosis._explains(double, [same]) and diagnosis._explains(double, []) is False
    assert not diagnosis._explains(lambda x: 3 * x, [doubled]) and not diagnosis._explains(double, [point(x, x, x=x)])
    assert not diagnosis._explains(double, [doubled, point(3 * x, x, x=x)])

    def misfit(problem: Exception) -> Callable[..., Any]:
        def raising(x: Any) -> Any:
            raise problem

        return raising

    for problem in (RuntimeError(), ValueError(), TypeError(), IndexError(), ZeroDivisionError()):
        assert not diagnosis._explains(misfit(problem), [doubled])
    with pytest.raises(KeyError):
        diagnosis._explains(misfit(KeyError()), [doubled])
    assert diagnosis._explains(double, [point(2 * x, x, 1e-3, x=x), doubled])
    assert not diagnosis._explains(double, [point(2 * x, x, 1.0, x=x)]), "the difference is below a thousand units"


def test_wrong_formulas_are_those_of_the_profile_then_exchanged_and_transposed_arguments() -> None:
    load("theorems")
    profile = profile_of(HEAD)
    mine = Standing(HEAD, print)
    candidates = dict(diagnosis._candidates(profile, mine))
    names = [variant.name for variant in profile.variants]
    assert list(candidates)[: len(names)] == names
    rest = list(candidates)[len(names) :]
    assert rest == [
        "W_Q and W_K are exchanged", "W_Q and W_V are exchanged", "W_K and W_V are exchanged", "X is transposed",
        "W_Q is transposed", "W_K is transposed", "W_V is transposed", "the result is transposed",
    ]  # fmt: skip
    g = torch.Generator().manual_seed(0)
    X, Q, K, V = (torch.randn(3, 3, generator=g).double() for _ in range(4))
    beta = torch.tensor(0.5).double()
    of = mine.definition
    given = {"X": X, "W_Q": Q, "W_K": K, "W_V": V, "beta": beta}
    assert set(given) == set(mine.signature.parameters)
    for name, expected in (
        ("W_Q and W_K are exchanged", of(X, K, Q, V, beta)), ("X is transposed", of(X.mT, Q, K, V, beta)),
        ("W_V is transposed", of(X, Q, K, V.mT, beta)), ("the result is transposed", of(X, Q, K, V, beta).mT),
    ):  # fmt: skip
        assert torch.equal(candidates[name](**given), expected)


def test_shapes_are_those_of_annotations_and_a_definition_without_any_has_none() -> None:
    load("theorems")
    assert diagnosis._shapes(Standing(SOFTMAX, print).definition) == {"T": ("m", "n")}
    assert diagnosis._shapes(lambda x: x) == {}


def test_arguments_come_in_the_order_of_the_definition_with_its_defaults() -> None:
    def definition(a: Any, b: Any, c: int = 3) -> Any: ...

    mine: Any = SimpleNamespace(signature=inspect.signature(definition))
    assert diagnosis._in_order(mine, {"b": 2, "a": 1}) == [1, 2, 3] and diagnosis._in_order(
        mine, {"a": 1, "b": 2, "c": 4}
    ) == [1, 2, 4]


@pytest.mark.parametrize(("function", "said"), [
    (softmax, []),
    (lambda T: torch.softmax(T, 0), ["the softmax goes over the columns"]),
    (lambda T: softmax(T).mT, None),
    (lambda T: 3 * softmax(T), ["the result has a constant factor 3"]),
    (lambda T: -softmax(T), ["the result has the opposite sign"]),
    (lambda T: softmax(T) * T.shape[1] ** 0.5, ["the result has a factor n^0.5"]),
    (lambda T: softmax(T) / T.shape[0], ["the result has a factor m^-1"]),
    (lambda T: softmax(T.float()).double(), ["it computes in float32"]),
    (lambda T: softmax(T).to(torch.bfloat16).double(), ["it computes in bfloat16"]),
    (lambda T: 1 / 0, []), (lambda T: "text", []),
    (lambda T: softmax(T) + 0.25 * torch.sin(3 * T), []),
])  # fmt: skip
def test_mistakes_of_a_softmax_are_named(function: Callable[..., Any], said: list[str] | None) -> None:
    names = found(function)
    if said and said[0] == "the softmax goes over the columns":  # by the name that the profile has for it
        assert len(names) == 1 and names[0] in [variant.name for variant in profile_of(SOFTMAX).variants]
    else:
        assert names == (["the result is transposed"] if said is None else said)


def test_a_mistake_at_the_broken_example_alone_is_held_against_every_formula() -> None:
    """A formula has to explain what is wrong there, and an implementation that is right elsewhere is no overflow."""

    def wrong(T: Any) -> Any:
        return softmax(T) * (3 if T.shape == (1, 1) and float(T) == 7.0 else 1)

    assert found(wrong) == []
    assert found(wrong, at={"T": [[7.0]]}) == [] == found(wrong, at={"other": [[7.0]]})
    assert found(lambda T: 3 * softmax(T), at={"T": [[7.0]]}) == ["the result has a constant factor 3"]
    assert found(lambda T: softmax(T) * (3 if T.numel() > 1 else 2), at={"T": [[7.0]]}) == []


def test_what_cannot_be_drawn_has_no_causes() -> None:
    load("theorems")
    assert not profile_of("osa.stiefel_uniform").is_drawn
    assert found(print, "osa.stiefel_uniform") == []
    assert (
        derivative_causes(profile_of("osa.stiefel_uniform"), Standing("osa.stiefel_uniform", print), QUICK, "float64")
        == []
    )


def test_points_without_a_unit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for unit, said in ((1e-16, ["the result has a constant factor 3"]), (0.0, []), (math.inf, [])):
        monkeypatch.setattr(diagnosis, "_unit_of", lambda *_, unit=unit: Unit(unit))
        assert found(lambda T: 3 * softmax(T)) == said
    monkeypatch.setattr(diagnosis, "_unit_of", lambda *_: Unit(0.0))
    assert found(lambda T: softmax(T).bfloat16().double()) == [], "what no unit shows is no precision"


# -- factors -----------------------------------------------------------------------------------------------------------


def scaled(*factors: float, **sizes: tuple[int, ...]) -> list[str]:
    x = tensor(1.0, -2.0)
    at = [{name: values[number] for name, values in sizes.items()} for number in range(len(factors))]
    return diagnosis._scalings([point(factor * x, x, sizes=of) for factor, of in zip(factors, at, strict=True)])


def test_a_factor_is_constant_or_a_power_of_one_size() -> None:
    assert scaled(1.0, 1.0) == scaled(1 + 1e-7, 1.0) == [] and scaled(2.0, 2.0) == [
        "the result has a constant factor 2"
    ]
    assert scaled(-1.0, -1.0) == ["the result has the opposite sign"]
    assert scaled(1 / 3, 1 / 3) == ["the result has a constant factor 0.333333"]
    assert scaled(2.0, 3.0, n=(2, 2)) == [] and scaled(2.0, 2 + 1e-6) == ["the result has a constant factor 2"]
    assert scaled(2.0, 2.001, n=(4, 9)) == []
    for power in (-2, -1, -0.5, 0.5, 1, 2):
        assert scaled(4.0**power, 9.0**power, n=(4, 9), m=(2, 3)) == (
            [f"the result has a factor m^{2 * power:g}", f"the result has a factor n^{power:g}"][:: -1]
            if abs(power) < 2 and 2 * power in (-2, -1, 1, 2) else [f"the result has a factor n^{power:g}"]
        )  # fmt: skip
    assert scaled(4.0, 5.0, n=(4, 9)) == []


def test_points_that_say_nothing_of_a_factor_and_those_that_no_factor_explains() -> None:
    x, zero = tensor(1.0, -2.0), tensor(0.0, 0.0)
    doubled = point(2 * x, x, sizes={"n": 3})
    assert diagnosis._scalings([point(zero, zero), doubled]) == ["the result has a constant factor 2"]
    assert diagnosis._scalings([doubled, point(4 * x, x, sizes={})]) == []
    for other in (
        point([[2.0, -4.0]], [1.0, -2.0]), point([2.0, -4.0, 6.0], [1.0, -2.0]),
        point([math.inf, -4.0], [1.0, -2.0]), point([2.0, -4.001], [1.0, -2.0]),
    ):  # fmt: skip
        assert diagnosis._scalings([doubled, other]) == []
    # the unit grows with the factor, and does not shrink with it
    assert diagnosis._scalings([point([20.0, -40.5], [1.0, -2.0], 1e-3)]) == ["the result has a constant factor 20.2"]
    assert diagnosis._scalings([point([0.01, -0.5], [1.0, -2.0], 1e-3)]) != []
    assert diagnosis._scalings([point([1.4, 0.7], [1.0, -2.0], 1e-3)]) == []
    # a broken example without sizes holds the factor as well, and names no size
    assert diagnosis._scalings([point(3 * x, x, sizes={"n": 3}), point(4 * x, x, sizes={"n": 4}), point(5 * x, x)]) == [
        "the result has a factor n^1"
    ]


# -- precisions --------------------------------------------------------------------------------------------------------


def computing_in(lower: torch.dtype, dtype: torch.dtype = torch.float64) -> Callable[..., Any]:
    return lambda T: softmax(T.to(lower)).to(dtype)


@pytest.mark.parametrize(("function", "dtype", "said"), [
    (computing_in(torch.float32), "float64", ["it computes in float32"]),
    (computing_in(torch.float16), "float64", ["it computes in float16"]),
    (computing_in(torch.bfloat16), "float64", ["it computes in bfloat16"]),
    (computing_in(torch.bfloat16, torch.float32), "float32", ["it computes in bfloat16"]),
    (lambda T: softmax(T.bfloat16().double()), "float64", ["it computes in bfloat16"]),
    (lambda T: softmax(T) + 1e-4 * T, "float64", []),
    (lambda T: softmax(T) * (1 + 1e-3), "float64", ["the result has a constant factor 1.001"]),
    (lambda T: softmax(T.clamp(max=1.5)), "float64", []),
])  # fmt: skip
def test_a_lower_precision_is_told_from_other_small_errors(
    function: Callable[..., Any], dtype: str, said: list[str]
) -> None:
    assert found(function, dtype=dtype) == said


def test_rounded_values_move_in_steps_and_smooth_mistakes_with_the_definition() -> None:
    load("theorems")
    eps, T = 2.0**-7, tensor([0.5, -1.0, 0.25], [1.0, 2.0, -0.5])

    def steps(function: Callable[..., Any], **given: Any) -> bool:
        mine = Standing(SOFTMAX, function)
        at = point(function(T), softmax(T), T=T, **given)
        return diagnosis._moves_in_steps(mine, at, eps)

    assert steps(lambda T: softmax(T.bfloat16()).double()) and steps(lambda T: softmax(T).bfloat16().double())
    assert (
        not steps(softmax)
        and not steps(lambda T: softmax(T) + 0.001 * T)
        and not steps(lambda T: softmax(T).detach() * 0)
    )
    assert not steps(lambda T: softmax(T.clamp(max=-2))), "what does not follow at all is no rounding"

    def raising(T: Any) -> Any:
        if bool((T.round(decimals=2) != T).any()):
            raise ValueError("no")
        return softmax(T)

    assert not steps(raising)
    mine = Standing(SOFTMAX, softmax)
    assert not diagnosis._moves_in_steps(mine, point(T, T, n=3, M=torch.tensor([True])), eps)
    rounded = point(softmax(T.bfloat16()).double(), softmax(T), 1.0, T=T)
    assert not diagnosis._moves_in_steps(Standing(SOFTMAX, lambda T: softmax(T.bfloat16()).double()), rounded, eps), (
        "a change that no unit shows says nothing"
    )


@pytest.mark.parametrize(("error", "said"), [
    (2.0**-24, ["it computes in float32"]), (2.0**-11, ["it computes in float16"]), (2.0**-8, ["it computes in bfloat16"]),
    (2.0**-9.6, ["it computes in float16"]), (2.0**-9.4, ["it computes in bfloat16"]), (2.0**-4, []), (0.0, []),
    (2.0**-40, []), (math.inf, []),
])  # fmt: skip
def test_of_all_precisions_that_is_named_of_which_the_error_is_nearest_to_half_a_rounding(
    error: float, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "_moves_in_steps", lambda *_: True)
    x = tensor(1.0, 1 / 3)
    of = [point(x + tensor(0.0, error), x), point(x - tensor(0.0, error / 2), x)]
    assert diagnosis._precision(None, of, "float64") == said  # type: ignore[arg-type]
    in_single = [] if said == ["it computes in float32"] else said
    assert diagnosis._precision(None, of, "float32") == in_single  # type: ignore[arg-type]


def test_values_that_a_precision_has_name_it_and_most_of_those_with_errors_have_to_move_in_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values that bfloat16 has, beside those of a definition that are off by a known part of the largest."""
    stepped: list[_Point] = []
    monkeypatch.setattr(diagnosis, "_moves_in_steps", lambda standing, at, eps: any(at is each for each in stepped))

    def named(*errors: float, of: int = 9) -> list[str]:
        points = [point([1.0, 0.5], [1.0, 0.5 + error]) for error in errors]
        stepped[:] = points[:of]
        return diagnosis._precision(None, points, "float64")  # type: ignore[arg-type]

    bf = ["it computes in bfloat16"]
    assert named(2.0**-12, 2.0**-12) == bf, "float16 would be nearer"
    assert named(2.0**-5, 2.0**-12) == bf and named(2.0**-5 + 2.0**-9, 2.0**-12) == []
    assert named(2.0**-12) == [] == named(2.0**-12, 0.0), "one point alone is no precision"
    assert named(2.0**-12, 2.0**-15) == [] and named(2.0**-12, 2.0**-15 + 2.0**-20) == bf
    assert named(2.0**-12, 2.0**-15 - 2.0**-24) == []
    assert named(2.0**-12, 2.0**-12, of=1) == [] and named(2.0**-12, 2.0**-12, 2.0**-12, of=2) == bf
    assert named(2.0**-12, 2.0**-12, 2.0**-12, of=1) == []


def controlled(
    small: float, true_small: float, large: float, true_large: float, unit: float = 1e-9, **given: Any
) -> bool:
    """Whether values move in steps that move by these numbers, and the definition's by those."""
    names = list(given) or ["x"]
    parameters = {name: inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names}
    yours, truths = iter((small, large)), iter((true_small, true_large))
    standing: Any = SimpleNamespace(
        signature=SimpleNamespace(parameters=parameters),
        implementation=lambda *_: tensor(3.0 + next(yours)), definition=lambda **_: tensor(2.0 + next(truths)),
    )  # fmt: skip
    return diagnosis._moves_in_steps(standing, point([3.0], [2.0], unit, **(given or {"x": tensor(1.0)})), 2.0**-7)


def test_steps_are_moves_that_differ_by_a_quarter_where_larger_ones_follow_the_definition() -> None:
    assert controlled(0.0, 1.0, 1.0, 1.0) is True and controlled(1.0, 1.0, 1.0, 1.0) is False
    assert not controlled(0.0, 1.0, 0.25, 1.0) and not controlled(0.0, 1.0, 0.234375, 1.0)
    assert controlled(0.0, 1.0, 0.265625, 1.0)
    assert not controlled(0.75, 1.0, 1.0, 1.0) and not controlled(0.765625, 1.0, 1.0, 1.0)
    assert controlled(0.734375, 1.0, 1.0, 1.0) and controlled(2.0, 1.0, 1.0, 1.0)
    assert not controlled(0.0, 1.0, 1.0, 1.0, 1.0 / ALLOWED) and controlled(0.0, 1.0, 1.0, 1.0, 0.5 / ALLOWED)
    assert controlled(0.0, 1.0, 1.0, 1.0, n=3, M=torch.tensor([True]), x=tensor(1.0)), (
        "what is no number is passed over"
    )


def test_arguments_are_moved_by_drawn_parts_of_themselves_in_their_own_precision() -> None:
    for dtype in (torch.float64, torch.float32):
        for eps, large in ((2.0**-7, 0.25), (2.0**-23, 2.0**-13)):
            x, taken = tensor(1.0, -3.0, dtype=dtype), []  # type: ignore[var-annotated]
            parameters = {"x": inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)}
            standing: Any = SimpleNamespace(
                signature=SimpleNamespace(parameters=parameters),
                implementation=lambda x, taken=taken: taken.append(x) or x, definition=lambda x: x,
            )  # fmt: skip
            assert not diagnosis._moves_in_steps(standing, _Point({"x": x}, {}, x, x, 1e-9), eps)
            g = torch.Generator().manual_seed(0)
            noise = [torch.rand(2, generator=g, dtype=torch.float64).to(dtype) for _ in range(2)]
            expected = [x * (1 + step * part) for step, part in zip((eps / 256, large), noise, strict=True)]
            assert all(torch.equal(*pair) for pair in zip(taken, expected, strict=True)), (
                "whatever the seed of torch is"
            )


# -- overflow ----------------------------------------------------------------------------------------------------------


def test_an_overflow_is_what_is_not_finite_where_the_definition_is() -> None:
    load("theorems")

    def exponentials(T: Any) -> Any:
        return torch.exp(T) / torch.exp(T).sum(-1, keepdim=True)

    def layer(weights: Callable[..., Any]) -> Callable[..., Any]:
        return lambda X, W_Q, W_K, W_V: weights(X @ W_Q @ (X @ W_K).mT / W_K.shape[1] ** 0.5) @ X @ W_V

    def overflows(function: Callable[..., Any], definition: Any = None, dtype: str = "float64") -> bool:
        mine = Standing(ATTENTION, layer(function))
        mine.definition = layer(definition) if definition else mine.definition
        return diagnosis._overflows(profile_of(ATTENTION).claim(), mine, QUICK, dtype)

    assert overflows(exponentials) and overflows(exponentials, dtype="float32") and not overflows(softmax)
    assert not overflows(exponentials, exponentials) and not overflows(torch.tanh)
    assert found(layer(exponentials), ATTENTION) == [OVERFLOW] and found(layer(softmax), ATTENTION) == []
    assert found(layer(lambda T: 2 * exponentials(T)), ATTENTION) == ["the result has a constant factor 2"]


# -- derivatives -------------------------------------------------------------------------------------------------------


def cut(T: Any) -> Any:
    return softmax(T.detach()) + 0 * T


def of_derivatives(function: Callable[..., Any], subject: str = SOFTMAX, dtype: str = "float64") -> list[str]:
    load("theorems")
    return derivative_causes(profile_of(subject), Standing(subject, function), QUICK, dtype)


class Written:
    """Draws, tensors and what is found once, written down: which were asked for, and one answer for all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], unit: float = 1e-16) -> None:
        self.asked: list[Any] = []
        self.arguments = arguments
        self.claim: Any = SimpleNamespace(prepare=lambda raw: raw, parameters=list(arguments))
        self.profile: Any = SimpleNamespace(is_drawn=True, claim=lambda: self.claim)
        monkeypatch.setattr(diagnosis, "systematic", self.systematic)
        monkeypatch.setattr(diagnosis, "raw_tensors", self.raw_tensors)
        monkeypatch.setattr(diagnosis, "one_of", lambda claim, arrays, number: ("seed", arrays, number))
        monkeypatch.setattr(diagnosis, "found_once", self.found_once)
        self.once: list[Any] = []

    def systematic(self, claim: Any, count: int, seed: int, domain: str) -> list[Any]:
        self.asked.append((claim is self.claim, count, seed, domain))

        def arrays(of: Any, size: int, number: int) -> Any:
            assert of is self.claim and size == 1
            return {"drawn": number}

        return [
            SimpleNamespace(sizes={"n": number}, arrays=lambda of, size, number=number: arrays(of, size, number))
            for number in range(count)
        ]

    def raw_tensors(self, claim: Any, arrays: Any, settings: Any, dtype: str) -> Any:
        self.asked.append((arrays, settings is QUICK, dtype))
        return {name: value if isinstance(value, int) else value[None] for name, value in self.arguments.items()}

    def found_once(self, claim: Any, of: Any, seed: Any, what: Any, find: Any, calls: Any) -> Any:
        self.once.append((claim is self.claim, of, seed, what, calls()))
        return find()

    def standing(self, function: Any, definition: Any) -> Any:
        parameters = {name: inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in self.arguments}
        made = SimpleNamespace(signature=SimpleNamespace(parameters=parameters), definition=definition, calls=17)
        made.implementation = function

        class Called(SimpleNamespace):
            def __call__(self, *given: Any) -> Any:
                return function(*given)

        return Called(**vars(made))


def test_derivatives_are_compared_at_two_plain_draws_and_those_of_the_definition_found_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    M, one = torch.tensor([True, False]), tensor(1.0)

    def definition(n: int, M: Any, X: Any, Y: Any) -> Any:
        assert n == 3 and M.dtype == torch.bool
        return X * Y

    def by_drawn(error: float, X: Any = one, Y: Any = one) -> list[str]:
        written = Written(monkeypatch, {"n": 3, "M": M, "X": X, "Y": Y})
        mine = written.standing(
            lambda n, M, X, Y: (1 + error) * X * Y.detach() + X.detach() * (Y - Y.detach()), definition
        )
        found = derivative_causes(written.profile, mine, QUICK, "float64")
        assert written.asked == [
            (True, 4, QUICK.seed, "generic"), ({"drawn": 0}, True, "float64"), ({"drawn": 2}, True, "float64")
        ]  # fmt: skip
        assert written.once == [
            (True, [definition], ("seed", {"drawn": number}, 0), (derivative_causes, name, "cpu"), 17)
            for number in (0, 2) for name in ("X", "Y")
        ]  # fmt: skip
        return found

    wrong = ["its values are right, its derivative by X is wrong"]
    assert by_drawn(2.0**-20) == wrong and by_drawn(0.0) == []
    assert by_drawn(2.0**-26) == [] and by_drawn(2.0**-25) == wrong, "half of all digits"
    assert by_drawn(2.0**-27, Y=tensor(4.0)) == [] and by_drawn(2.0**-25, Y=tensor(4.0)) == wrong
    assert by_drawn(2.0**-20, tensor()[:0], tensor()[:0]) == [] == by_drawn(2.0**-20, Y=tensor(0.0))


def test_causes_are_searched_at_plain_draws_of_one_and_at_the_broken_example(monkeypatch: pytest.MonkeyPatch) -> None:
    units: list[Any] = []
    monkeypatch.setattr(diagnosis, "_unit_of", lambda *given: units.append(given) or Unit(1e-16))  # type: ignore[func-returns-value]
    monkeypatch.setattr(diagnosis, "_candidates", lambda *_: [])
    written = Written(monkeypatch, {"n": 3, "X": tensor(1.0, 2.0)})
    mine = written.standing(lambda n, X: 5 * X, lambda n, X: X)
    said = causes(written.profile, mine, QUICK, "float32", {"n": 3, "X": [1, 2]})
    assert said == ["the result has a constant factor 5"]
    *drawn, last = written.asked[1:]
    assert written.asked[0] == (True, 12, QUICK.seed, "generic")
    assert drawn == [({"drawn": number}, True, "float32") for number in range(0, 12, 2)]
    arrays, same, dtype = last
    assert (
        isinstance(arrays["n"], int)
        and (arrays["n"], same, dtype) == (3, True, "float32")
        and arrays["X"].tolist() == [[1.0, 2.0]]
    )
    assert arrays["X"].dtype == float
    assert [given[:2] for given in units] == [(written.claim, mine)] * 7 and {given[3] for given in units} == {24}
    assert units[1][2] == ("seed", {"drawn": 2}, 0)


def test_a_unit_is_found_once_for_all_implementations(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Written(monkeypatch, {"X": tensor(1.0)})
    found = Unit(2.0)

    def unit_at(*given: Any) -> Unit:
        assert given == (written.claim, [print], {"X": 1}, 53)
        return found

    monkeypatch.setattr(diagnosis, "unit_at", unit_at)
    assert diagnosis._unit_of(written.claim, written.standing(print, print), {"X": 1}, 53) is found
    assert written.once == [(True, [print], {"X": 1}, (unit_at, 53), 17)]


def test_an_overflow_is_looked_for_at_draws_of_one_of_both_domains_that_a_claim_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = Written(monkeypatch, {"n": 3, "X": tensor(1.0, 2.0)})
    for domains in ((ONE_HOT, FAR_BELOW, "generic"), (FAR_BELOW,), ()):
        monkeypatch.setattr(diagnosis, "applicable_domains", lambda claim, domains=domains: domains)
        written.asked.clear()
        mine = written.standing(lambda n, X: X, lambda n, X: X)
        assert diagnosis._overflows(written.claim, mine, QUICK, "float32") is False
        asked = [(True, 6, QUICK.seed, domain) for domain in domains if domain != "generic"]
        assert [each for each in written.asked if each[0] is True] == asked
        assert len(written.asked) == 7 * len(asked) and {each[2] for each in written.asked if len(each) == 3} <= {
            "float32"
        }


CUT = "its values are right, its derivative by {} is cut (detach, no_grad, .data or an in-place copy)"


def off_by(relative: float) -> Callable[..., Any]:
    """Right values, and a derivative that is wrong by a part of itself."""
    return lambda T: (1 + relative) * softmax(T) - relative * softmax(T).detach()


def test_arguments_by_which_a_derivative_is_cut_or_wrong_are_named() -> None:
    assert of_derivatives(softmax) == [] and of_derivatives(cut) == [CUT.format("T")]
    wrong = ["its values are right, its derivative by T is wrong"]
    assert of_derivatives(off_by(1e-3)) == wrong and of_derivatives(off_by(1e-9)) == []
    assert of_derivatives(off_by(1e-5)) == wrong and of_derivatives(off_by(1e-5), dtype="float32") == []

    def head(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> Any:
        return softmax(beta * (X @ W_Q.detach()) @ (X @ W_K).mT) @ X @ W_V

    assert of_derivatives(head, HEAD) == [CUT.format("W_Q")]

    def refusing(T: Any) -> Any:
        raise RuntimeError("no")

    assert of_derivatives(refusing) == []


# -- laws --------------------------------------------------------------------------------------------------------------


def test_a_wrong_law_is_named_if_it_fails_exactly_the_tests_that_the_implementation_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = {"mine": {"a", "b"}, "same": {"b", "a"}, "more": {"a", "b", "c"}, "less": {"a"}, "none": set[str]()}

    def rejected(claim: Any, formula: Any, settings: Any) -> list[LawTest]:
        assert claim is of and settings is QUICK
        return [LawTest(name, 0.0, 1) for name in sorted(failing[formula])]

    monkeypatch.setattr(diagnosis, "rejected_laws", rejected)
    mutants = [SimpleNamespace(name=f"called {name}", function=name) for name in failing if name != "mine"]
    of: Any = SimpleNamespace(the_formula="mine", mutants=mutants)
    assert law_causes(of, QUICK) == ["called same"]
    of.the_formula = "none"
    assert law_causes(of, QUICK) == []
