"""Devices without a device: formulas, oracles and mutants run on torch's meta device, where no tensor has entries.

What makes a tensor on the wrong device raises there as on an accelerator, or is seen by `OneDevice` where the meta kernels
do not look (products, solvers, copies).  Nearly all functions run; those of nine claims decide by looking at entries,
which `READ` lists with the reason.  A law runs until its samples are drawn, its numbers go to the host, or it has made
`ENOUGH` operations.  Six laws never leave the host, and `ON_HOST` lists them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.claims_that_fail import Square, toy
from tests.efforts import tried
from verify.checks.evaluation import defect_of
from verify.checks.laws import called_like
from verify.inputs.generators import systematic
from verify.oracles import jacobian
from verify.vocabulary import Claim, Equal, FollowsLaw, HasStructure, PowerRate, TendsTo, load

pytestmark = pytest.mark.kept

REGISTRY = load()
#: The claims run in so many tests, for workers to share.
PARTS = 12

#: Claims of which some function looks at entries, which tensors without entries do not have; and why it has to.
READ = {
    "hessian.lem-D.1": "ranks are computed exactly, from the entries as they are",
    "hessian.sec1-definite-parts": "ranks are computed exactly, from the entries as they are",
    "hessian.sec-D-symmetric-rank": "ranks are computed exactly, from the entries as they are",
    "hessian.lem-D.2-proof-product": "ranks are computed exactly, from the entries as they are",
    "hessian.lem-D.2-rank-of-v": "ranks are computed exactly, from the entries as they are",
    "hessian.sec-F-length": "digits become the text of a problem, whose letters are counted",
    "hessian.sec4.3-temperature-small-t": "the limit belongs to the row whose two largest logits are closest",
    "hessian.temperature-small-t-limit": "the limit belongs to the row whose two largest logits are closest",
    "osa.lemma-f.5": "at M = 0 the derivative has a form of its own",
}

#: Laws whose samples are drawn on the host, once for each seed: they ask the generator for its seed, and for nothing else.
ON_HOST = {
    "skipless.eq-11-multihead-logits",
    "skipless.sec-3-rank-collapse",
    "skipless.sec-4.1-poorly-conditioned",
    "skipless.sec-4.2-sab-worse",
    "skipless.sec4.3-sa-worse-than-mlp",
    "skipless.sec5.2-random-init-diffuse",
}

#: After so many operations a sampler counts as run: networks are trained with the same few over and over.
ENOUGH = 5000

#: What torch says of everything raised in TorchScript, to which it hands some derivatives: neither type nor text is kept.
IN_SCRIPT = "failed in the TorchScript interpreter"

#: What torch says where entries are asked for.
NO_ENTRIES = ("cannot be called on meta tensors", "Cannot copy out of meta tensor", "nonzero() raises unimplemented")


class WrongDeviceError(AssertionError):
    """A tensor on another device than the inputs, combined with them or returned."""


class Sampled(Exception):
    """The sampler of a law has run."""


class DrawnOnHostError(AssertionError):
    """A law came to its end: its samples have entries, so they were drawn elsewhere."""


class OneDevice(TorchDispatchMode):
    """Raises where tensors with axes meet on two devices; numbers and indices may come from the host, as on accelerators."""

    def __init__(self, most: int | None) -> None:
        super().__init__()
        self.most = most
        self.begin()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here: torch would import its compiler, and pass every operation through it."""
        return False

    def begin(self) -> None:
        """What was seen and raised so far belongs to another function."""
        self.seen = 0
        self.raised: Exception | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen += 1
        given = _described((args, kwargs))
        if given is None:  # of what is all on the meta device nothing is on another one
            operands = args[:1] + args[2:] if func._schema.name.startswith("aten::index") else args
            devices = {tensor.device.type for tensor in _tensors(operands) if tensor.dim()}
            if len(devices) > 1:
                self.raised = WrongDeviceError(f"{func} combines tensors on {sorted(devices)}")
                raise self.raised
        if self.seen == self.most:
            self.raised = Sampled()
            raise self.raised
        if given is None or _shares(func):
            return func(*args, **(kwargs or {}))
        return _remembered(func, args, kwargs or {}, given)


@functools.cache
def _shares(func: Any) -> bool:
    """Whether an operation changes what it is given, or returns it or a view of it."""
    return func._schema.is_mutable or any(value.alias_info for value in func._schema.returns)


#: The shapes that operations gave for the shapes that they were given: for torch to find them again takes half the time.
_SHAPES: dict[Any, Any] = {}


def _remembered(func: Any, args: Any, kwargs: Any, given: Any) -> Any:
    """The value of an operation on tensors without entries, of which nothing but its shape is to be known."""
    if (func, given) not in _SHAPES:
        value = func(*args, **kwargs)
        many = type(value) in (list, tuple)
        told = _described(value if many else [value])
        tensors = told is not None and all(isinstance(item, torch.Tensor) for item in (value if many else [value]))
        _SHAPES[func, given] = (type(value) if many else None, told[1:]) if tensors else None
        return value
    if (known := _SHAPES[func, given]) is None:
        return func(*args, **kwargs)
    kind, shapes = known
    made = [torch.empty_strided(shape, stride, dtype=dtype, device="meta") for shape, stride, dtype in shapes]
    return made[0] if kind is None else kind(made)


#: What an operation is told beside tensors.
_TOLD = {bool, int, float, str, torch.dtype, torch.device, torch.layout, torch.memory_format, type(None)}


def _described(items: Any) -> Any:
    """What the shape of a value depends on: shapes of tensors, and what else is given; None if a tensor has entries."""
    found: list[Any] = [type(items)]
    for item in items.items() if isinstance(items, dict) else items:
        if (kind := type(item)) in _TOLD:
            found.append((kind, item))  # 1, 1.0 and True are equal, and give values of other types
        elif isinstance(item, torch.Tensor):
            if not item.is_meta or item.layout is not torch.strided:
                return None
            found.append((item.shape, item.stride(), item.dtype))
        elif isinstance(item, (tuple, list, dict)):
            if not item:
                found.append(kind)
            elif (inner := _described(item)) is None:
                return None
            else:
                found.append(inner)
        else:
            return None
    return tuple(found)


class OnMeta(torch.Generator):
    """A generator that says it belongs to the meta device, for which torch has none: nothing is drawn there."""

    asked = False  #: whether its seed was asked for

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("meta")

    def initial_seed(self) -> int:
        self.asked = True
        return super().initial_seed()


class DrawnOnMeta(TorchFunctionMode):
    """Raises where the generator of the meta device fills a tensor of the host: on an accelerator torch refuses that."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = (*args, *(kwargs or {}).values())
        value = func(*args, **(kwargs or {}))
        if any(isinstance(item, OnMeta) for item in given):
            _on_meta(value)
        return value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _on_meta(value: Any) -> None:
    for tensor in _tensors(value):
        if tensor.device.type != "meta":
            raise WrongDeviceError(f"the value is on {tensor.device}")


def functions_of(claim: Claim) -> dict[str, Callable[..., Any]]:
    """Formula, oracle, mutants and tests of assumptions, and what runs in floats of a sequence."""
    found = {"formula": claim.the_formula} | ({"oracle": claim.the_oracle} if claim.has_oracle else {})
    found |= {f"mutant {mutant.name}": mutant.function for mutant in claim.mutants}
    if isinstance(claim.relation, HasStructure):
        found = {name: defect_of(claim, function) for name, function in found.items()}
    for item in claim.tested_assumptions:
        tests = {"> 0": item.positive, ">= 0": item.nonnegative, "= 0": item.zero}
        found |= {f"{item.text} {sign}": test for sign, test in tests.items() if test is not None}
    if isinstance(claim.relation, TendsTo) and isinstance(claim.relation.rate, PowerRate):
        found |= {} if claim.relation.rate.deterministic else {"sequence": claim.the_part("sequence")}
    return found


def problems_on_meta(claim: Claim) -> dict[str, str]:
    """What the functions of a claim raise on the meta device, by function; a law ends where its samples are drawn."""
    (draw,) = systematic(claim, 1, 0)
    arrays = draw.arrays(claim, 1)
    drawn = {
        name: value if isinstance(value, int) else torch.empty(value.shape[1:], dtype=torch.float64, device="meta")
        for name, value in arrays.items()
    }
    problems: dict[str, str] = {}
    law = isinstance(claim.relation, FollowsLaw)
    with DrawnOnMeta(), OneDevice(ENOUGH if law else None) as mode:
        inputs = claim.prepare(drawn)
        if law:
            told = {name: value if isinstance(value, int) else value[0] for name, value in arrays.items()}
            given = {**claim.prepare(told), "generator": OnMeta(), "samples": 16}  # a law is told numbers of the host
            runs = {
                name: _evaluation(claim, function, inputs) if name.endswith(" 0") else _law(claim, function, given)
                for name, function in functions_of(claim).items()
            }
        else:
            if isinstance(claim.relation, TendsTo):
                inputs |= {"scale": claim.relation.scales[0], "generator": OnMeta()}
            runs = {name: _evaluation(claim, function, inputs) for name, function in functions_of(claim).items()}
        for name, run in runs.items():
            if problem := _problem(mode, run):
                problems[name] = problem
    return problems


def _problem(mode: OneDevice, run: Callable[[], Any]) -> str | None:
    """What a function raises under the mode, in whose name if it was the mode; that a sampler has run is no problem."""
    mode.begin()
    try:
        run()
    except Exception as problem:
        raised = mode.raised if mode.raised and IN_SCRIPT in str(problem) else problem
        return None if isinstance(raised, Sampled) else f"{type(raised).__name__}: {raised}"
    return None


def _evaluation(claim: Claim, function: Callable[..., Any], inputs: Mapping[str, Any]) -> Callable[[], None]:
    return lambda: _on_meta(claim.evaluate(function, inputs))


def _law(claim: Claim, function: Callable[..., Any], inputs: Mapping[str, Any]) -> Callable[[], None]:
    law = function if function is claim.the_formula else called_like(claim.the_formula, function, inputs)

    def sampled(*args: Any, **kwargs: Any) -> Any:
        value = law(*args, **kwargs)
        _on_meta(value)
        if next(_tensors(value), None) is not None:
            raise Sampled
        return value  # a number, told before its samples are drawn, or after

    def run() -> None:
        inputs["generator"].asked = False
        try:
            claim.evaluate(claim.the_part("laws"), {**inputs, "formula": sampled})
        except Sampled:
            return
        except (RuntimeError, NotImplementedError) as problem:  # statistics are computed on the host
            if not any(words in str(problem) for words in NO_ENTRIES):
                raise
        else:
            raise DrawnOnHostError("by the seed" if inputs["generator"].asked else "by nothing that the law was given")

    return run


@pytest.mark.parametrize("part", range(PARTS))
def test_every_function_keeps_to_the_device_of_its_inputs(part: int, pytestconfig: pytest.Config) -> None:
    found = {claim.id: problems_on_meta(claim) for claim in tried(REGISTRY.values(), pytestconfig)[part::PARTS]}
    assert {claim_id: told for claim_id, told in found.items() if told and claim_id not in READ.keys() | ON_HOST} == {}
    for claim_id in ON_HOST & found.keys():
        assert set(found[claim_id].values()) == {"DrawnOnHostError: by the seed"}, found[claim_id]
    for claim_id in READ:
        if problems := found.get(claim_id):
            assert all(any(words in text for words in NO_ENTRIES) for text in problems.values()), problems
        assert problems != {}, f"{claim_id} runs without entries, and need not be listed"


# -- planted: tensors that are made without saying where ---------------------------------------------------------------


def _square(function: Callable[..., Any]) -> Claim:
    claim = toy("device-planted", Equal(), sizes={"n": (2, 2)})
    function.__annotations__ = {"S": Square}
    claim.formula(function)
    return claim


def _product(S: Any) -> Any:
    return S @ torch.eye(2, dtype=S.dtype)


def _differentiated(S: Any) -> Any:
    return jacobian(_product, "S")(S)


def _filled(S: Any) -> Any:
    value = S.clone()
    value[0] = torch.ones(2, dtype=S.dtype)
    return value


@pytest.mark.parametrize(
    "planted",
    [
        lambda S: S + torch.eye(2, dtype=S.dtype),
        _product,
        lambda S: torch.eye(2, dtype=S.dtype) @ S,
        lambda S: torch.linalg.solve(S, torch.eye(2, dtype=S.dtype)),
        lambda S: torch.eye(2, dtype=S.dtype),
        lambda S: [S, torch.eye(2, dtype=S.dtype)],
        _differentiated,
        lambda S: torch.func.vmap(lambda row: row @ torch.eye(2, dtype=S.dtype))(S),
        _filled,
    ],
    ids=["sum", "product", "product from the left", "solve", "value", "part of it", "Jacobian", "vmap", "assignment"],
)
def test_a_tensor_made_without_a_device_is_caught(planted: Callable[..., Any]) -> None:
    (problem,) = problems_on_meta(_square(planted)).values()
    assert "device" in problem or "tensors on ['cpu', 'meta']" in problem or "is on cpu" in problem


@pytest.mark.parametrize(
    ("law", "told"),
    [
        (lambda formula, generator: [formula()], "by nothing that the law was given"),
        (lambda formula, generator: [formula() + torch.randn(4).mean().item()], "by nothing that the law was given"),
        (lambda formula, generator: [formula() + generator.initial_seed()], "by the seed"),
        (
            lambda formula, generator: [formula() + torch.randn(4, generator=generator, device="meta").mean().item()],
            None,
        ),
        (lambda formula, generator: [formula() + torch.randn(4, generator=generator).mean().item()], "is on cpu"),
    ],
    ids=["nothing drawn", "another generator", "the seed", "on the device", "on the host"],
)
def test_a_law_that_only_tells_numbers_draws_where_it_is_told(law: Callable[..., Any], told: str | None) -> None:
    claim = toy("law-planted", FollowsLaw(samples=4, instances=1))
    claim.formula(lambda: 1.0)
    claim.part("laws", law)
    problems = problems_on_meta(claim)
    assert (told is None and problems == {}) or (told is not None and told in problems["formula"])


def test_shapes_that_are_known_are_those_that_torch_finds() -> None:
    """Each operation twice: by torch, and as it is remembered."""
    X, n = torch.empty(3, 4, dtype=torch.float64, device="meta"), torch.empty(3, dtype=torch.int64, device="meta")
    for run in (
        lambda: X @ X.T, lambda: X.T + 1, lambda: n + 1, lambda: n + 1.0, lambda: n * True, lambda: X.sum(0, keepdim=True),
        lambda: X.sum(0), lambda: torch.linalg.svd(X), lambda: X.max(1), lambda: torch.cat([X, X]), lambda: torch.cat([X.T, X.T]),
        lambda: X.new_zeros(2, dtype=torch.float32), lambda: X > 0, lambda: X.softmax(-1), X.T.contiguous,
    ):  # fmt: skip
        wanted = [(item.shape, item.stride(), item.dtype) for item in _tensors(run())]
        for _ in range(2):
            with OneDevice(None):
                found = run()
            assert [(item.shape, item.stride(), item.dtype) for item in _tensors(found)] == wanted
            assert {item.device.type for item in _tensors(found)} == {"meta"}


def test_what_is_remembered_is_not_what_tensors_with_entries_give() -> None:
    X = torch.ones(2, 2, dtype=torch.float64)
    for device in ("meta", "cpu", "meta", "cpu"):
        with OneDevice(None):
            found = X.to(device) @ X.to(device)
        assert found.device.type == device and (device == "meta" or bool((found == 2).all()))


def test_a_tensor_made_where_its_inputs_are_is_not() -> None:
    claim = _square(lambda S: S @ torch.eye(2, dtype=S.dtype, device=S.device))
    assert problems_on_meta(claim) == {}


def test_every_kind_of_function_is_asked() -> None:
    claim = _square(lambda S: S)
    claim.oracle(lambda S: S @ torch.eye(2, dtype=S.dtype))
    claim.mutant("a matrix from elsewhere", lambda value: value + torch.eye(2, dtype=value.dtype))
    assert set(problems_on_meta(claim)) == {"oracle", "mutant a matrix from elsewhere"}


def _curvature(factor: torch.Tensor) -> torch.Tensor:
    """A second derivative, of which torch takes a part in TorchScript."""
    point = torch.ones(2, dtype=torch.float64, device="meta")
    return torch.func.jacfwd(torch.func.jacrev(lambda x: (x.softmax(-1) @ factor).sum()))(point)


def test_a_sampler_that_has_run_in_torchscript_has_run() -> None:
    told, factor = [], torch.ones(2, 2, dtype=torch.float64, device="meta")

    def run() -> None:
        try:
            _curvature(factor)
        except RuntimeError as problem:
            told.append(str(problem))
            raise

    for most in range(1, 200):
        with OneDevice(most) as mode:
            assert _problem(mode, run) is None
        if mode.raised is None:
            break
    else:
        raise AssertionError("so many operations are not made")
    assert any(IN_SCRIPT in text for text in told), "torch needs TorchScript no longer"
