"""The gate piece by piece: what findings say, what is accepted of an implementation, how far it may be off, what is undecided."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any

import flint
import numpy as np
import pytest
import torch

from tests.false_alarms import seeded
from tests.wrong_layers import layers
from verify.checks.settings import settings_for
from verify.gate import measure
from verify.gate.autograd import Gap, Point, gap_at
from verify.gate.comparison import PATIENCE, Comparison
from verify.gate.findings import (
    BROKEN,
    DEFINITION,
    FIRST,
    FORWARD,
    LAW,
    LEFT_OUT,
    LONG,
    NOT_DIFFERENTIABLE,
    NOT_OK,
    OK,
    SATISFIED,
    SECOND,
    SIZES,
    UNCHECKABLE,
    UNDECIDED,
    UNREACHED,
    Finding,
    SubjectReport,
)
from verify.gate.known import found_once
from verify.gate.measure import ALLOWED, ALLOWED_IN_HALF, TWICE, ComparedSides, allowed, examine, judge_laws, sample_at
from verify.gate.profiles import profile_of
from verify.gate.rounding import (
    BLURRED,
    DERIVATIVE,
    GRAIN,
    SPREADS,
    UNDERFLOW,
    VALUE,
    WHOLE,
    RandomRounding,
    Reference,
    Rounded,
    reference,
    too_large,
)
from verify.gate.standing import Standing, require_unchanged, title_of
from verify.gate.subject_errors import NotDifferentiable, Raised, SubjectFailure, WrongResult
from verify.matrix import ones
from verify.oracles import LawTest
from verify.vocabulary import AtMost, Claim, Paper, Shape
from verify.vocabulary.registry import load
from verify.vocabulary.subjects import public_name_of, replaced

pytestmark = pytest.mark.kept

QUICK = settings_for("quick")
SOFTMAX = "hessian.softmax"


def softmax(T: Any) -> Any:
    return torch.softmax(T, -1)


def standing(function: Any = softmax) -> Standing:
    load("theorems")
    return Standing(SOFTMAX, function)


# -- findings ----------------------------------------------------------------------------------------------------------


def finding(
    check: str = "toy.claim", status: str = SATISFIED, why: str = "", dtype: str = "float64", **values: Any
) -> Finding:
    return Finding(check, f"label of {check}", dtype, status, why, **values)


REFUSED = f"{NOT_DIFFERENTIABLE}: no"


@pytest.mark.parametrize(
    ("status", "why", "undecided"),
    [
        (SATISFIED, "", False), (SATISFIED, f"values alone, {REFUSED}", True), (SATISFIED, "something else", False),
        (UNCHECKABLE, "", True), (UNCHECKABLE, REFUSED, True), (BROKEN, REFUSED, False), (UNREACHED, "", False),
    ],
)  # fmt: skip
def test_a_finding_is_undecided_where_a_check_or_its_derivatives_were_not_made(
    status: str, why: str, undecided: bool
) -> None:
    assert finding(status=status, why=why).is_undecided == undecided


def test_what_is_required_or_accepted_is_named_by_globs_or_as_derivatives() -> None:
    refused, plain = finding("a.one", UNCHECKABLE, REFUSED), finding("a.one", UNCHECKABLE, "too small")
    assert refused.is_among(("derivatives",)) and not plain.is_among(("derivatives",))
    assert plain.is_among(("b.*", "a.*")) and not plain.is_among(("b.*",)) and not plain.is_among(())
    assert not finding("a.ONE").is_among(("a.one",))


def test_accuracy_says_units_ulps_and_where() -> None:
    assert finding().accuracy() == "" and finding(why="no value").accuracy() == "no value"
    assert finding(residual=0.51234, at="ties").accuracy() == "0.512 units"
    assert finding(residual=1.0, at="ties").accuracy() == "1 units"
    assert (
        finding(residual=3.5, ulps=2.0, at="ties").accuracy()
        == "3.5 units, 2 ulps of the largest entry, at 'ties' inputs"
    )
    assert finding(residual=1.5, at="ties").accuracy() == "1.5 units, at 'ties' inputs"
    assert finding(residual=3.5, why="it is off").accuracy() == "3.5 units; it is off"
    assert finding(ulps=0.25).accuracy() == "0.25 ulps of the largest entry" and finding(at="ties").accuracy() == ""
    assert finding(residual=3.5).accuracy() == "3.5 units"


def test_an_example_can_be_pasted() -> None:
    inputs = {"X": [[1.0, 2.0]], "n": 3, "t": 0.5, "mask": [[True, False]], "empty": []}
    broken = finding(DEFINITION, BROKEN, "off", inputs=inputs, yours=[1.0], expected=[True], residual=20.0)
    assert broken.example() == (
        "at\n  X = torch.tensor([[1.0, 2.0]], dtype=torch.float64)\n  n = 3\n  t = 0.5\n"
        "  mask = torch.tensor([[True, False]], dtype=torch.bool)\n  empty = torch.tensor([], dtype=torch.float64)\n"
        "yours       [1.0]\ndefinition  [True]"
    )
    for own in (FIRST, SECOND, SIZES, LONG, LAW):
        assert "yours       [1.0]\ndefinition  " in replace(broken, check=own).example()
    assert replace(broken, check="a.b").example().endswith("one side    [1.0]\nother side  [True]")
    text = broken.describe()
    assert text.startswith("broken: definition in float64 (label of definition): 20 units; off\n  at\n    X = ")
    assert finding(why="so").describe() == "satisfied: toy.claim in float64 (label of toy.claim): so"
    long = replace(broken, yours=[1.0] * 200).example()
    assert long.splitlines()[-2].endswith(" ...") and len(long.splitlines()[-2]) == len("yours       ") + 404
    exactly = replace(broken, yours="a" * 398).example().splitlines()[-2]
    assert exactly == f'yours       "{"a" * 398}"'


def report(*findings: Finding, **values: Any) -> SubjectReport:
    return SubjectReport("toy.subject", "mine", list(findings), **values)


def test_a_report_is_ok_only_where_all_was_decided_or_accepted_and_nothing_is_broken_or_required_is_missing() -> None:
    good, bad = finding("a"), finding("b", BROKEN)
    left, refused = finding("c", UNCHECKABLE, "small"), finding(FIRST, UNCHECKABLE, REFUSED)
    assert report(good).ok and report(good).outcome == OK and report(good).verdict == "ok"
    wrong = report(good, bad)
    assert report(good) and not wrong and not report()  # as `assert verify.check(...)` asks
    assert wrong.outcome == NOT_OK and wrong.verdict == "NOT the definition"
    nothing = "no check was made"
    for none, said in (
        (report(), nothing), (report(finding("d", UNREACHED)), nothing),
        (report(left), "1 not decided, c; nothing is broken"),
        (report(refused, finding("d", UNREACHED)), f"1 not decided, {FIRST}; nothing is broken"),
    ):  # fmt: skip
        assert none.outcome == UNDECIDED and none.verdict == f"UNDECIDED: {said}"
    for failing in (wrong, none):  # broken, or with nothing that was decided
        assert not failing.ok
        with pytest.raises(SubjectFailure, match=rf"^toy.subject implemented by mine: {failing.verdict}"):
            failing.raise_if_broken()
    partly = report(good, left, refused, replace(left, dtype="float32"))
    assert not partly.ok and partly.outcome == UNDECIDED and partly.undecided == partly.open == ["c", FIRST]
    assert partly.verdict == f"UNDECIDED: 2 not decided, c, {FIRST}; nothing is broken" and partly.missing == []
    partly.raise_if_broken()
    with pytest.raises(SubjectFailure, match="UNDECIDED: 2 not decided"):
        partly.raise_unless_ok()
    half = replace(partly, accepted=("derivatives",))
    assert not half.ok and half.open == ["c"] and half.verdict == "UNDECIDED: 1 not decided, c; nothing is broken"
    whole = replace(partly, accepted=("derivatives", "c"))
    assert whole.ok and whole.open == [] and whole.verdict == f"ok, with 2 accepted as undecided: c, {FIRST}"
    whole.raise_unless_ok()
    for accepted in ((), ("*",)):  # what is required has to be decided, accepted or not
        strict = replace(partly, required=("derivatives",), accepted=accepted)
        assert strict.outcome == NOT_OK and strict.missing == [FIRST] and not strict.ok
        assert strict.verdict == f"NOT decided, though required: {FIRST}"
        with pytest.raises(SubjectFailure):
            strict.raise_if_broken()
    every = replace(partly, required=("*",))
    assert every.missing == ["c", FIRST]
    for status in (UNREACHED, LEFT_OUT):  # what was required and not made is not decided either
        absent = report(good, finding("d", status))
        assert absent.ok and absent
        named = replace(absent, required=("d",), accepted=("d",))
        assert named.missing == ["d"] and named.outcome == NOT_OK and not named.ok
        assert replace(absent, required=("a",)).ok
        assert replace(absent, required=("derivatives",)).ok
    # without a forward mode, derivatives are not all there; what was tried and not reached is no derivative
    for status, missing in ((LEFT_OUT, [FORWARD]), (UNREACHED, [])):
        assert replace(report(good, finding(FORWARD, status)), required=("derivatives",)).missing == missing
    many = report(good, *(finding(name, UNCHECKABLE) for name in "vwxyz"))
    assert many.verdict == "UNDECIDED: 5 not decided, v, w, x and 2 more; nothing is broken"
    three = report(good, *(finding(name, UNCHECKABLE) for name in "xyz"), accepted=("*",))
    assert three.verdict == "ok, with 3 accepted as undecided: x, y, z"


def test_a_claim_is_satisfied_where_it_is_in_every_dtype() -> None:
    found = report(
        finding(DEFINITION, ulps=1.0), finding(DEFINITION, dtype="float32", ulps=2.0), finding(FIRST), finding("a"),
        finding("a", UNCHECKABLE, dtype="float32"), finding("b"), finding("b", dtype="float32"),
        finding("c", BROKEN), finding("c", BROKEN, dtype="float32"), finding("d", UNREACHED),
    )  # fmt: skip
    assert found.satisfied == ["b"] and found.broken == ["c"] and found.accuracy == {"float64": 1.0, "float32": 2.0}
    assert [item.check for item in found.with_status(UNREACHED)] == ["d"]


def test_a_report_names_no_status_that_nothing_has_and_breaks_long_lists() -> None:
    names = [f"claim-{number:03}" for number in range(9)] + ["claim-00009", "claim-010"]  # ten are 111 characters
    text = str(report(*(finding(name, UNCHECKABLE, "too small") for name in names)))
    first = "  " + ", ".join(names[:9]) + ","
    assert text.splitlines()[1:] == ["", "not checkable: 11, too small", first, "  " + ", ".join(names[9:])]
    assert len(", ".join(names[:10]) + ",") == 111


def test_a_report_in_full() -> None:
    inputs = {"n": 2}
    found = report(
        finding(DEFINITION, BROKEN, residual=20.0, inputs=inputs, yours=[1.0], expected=[2.0]),
        finding(DEFINITION, BROKEN, dtype="float32", residual=30.0, inputs={"n": 7}),
        finding("a", BROKEN, "off", inputs={"n": 3}, yours=[1.0], expected=[2.0]),
        finding("b", BROKEN, "off", inputs={"n": 4}, yours=[1.0], expected=[2.0]),
        finding("c", residual=0.5), finding("d", UNCHECKABLE, "too small"), finding("e", UNCHECKABLE, "too small"),
        finding("f", UNREACHED, "not called"), causes=["a factor 2"],
    )  # fmt: skip
    assert str(found) == (
        "toy.subject implemented by mine: NOT the definition\n"
        "  likely cause: a factor 2\n"
        "\n"
        "broken: 3\n"
        "  definition  (label of definition)  float64 20 units, float32 30 units\n"
        "  at\n    n = 2\n  yours       [1.0]\n  definition  [2.0]\n"
        "  a  (label of a)  float64 off\n"
        "  at\n    n = 3\n  one side    [1.0]\n  other side  [2.0]\n"
        "  b  (label of b)  float64 off\n"
        "\n"
        "satisfied: 1\n"
        "  c  (label of c)  float64 0.5 units\n"
        "\n"
        "not checkable: 2, too small\n"
        "  d, e\n"
        "\n"
        "not reached: 1, not called\n"
        "  f"
    )


def test_a_report_ends_with_the_kernels_that_ran_and_what_was_not_exercised() -> None:
    found = report(
        finding("a"), kernels={"math": 1, "flash": 20}, not_exercised=("precision float32", "long sequences")
    )
    assert str(found).splitlines() == [
        "toy.subject implemented by mine: ok", "", "satisfied: 1", "  a  (label of a)  float64 ",
        "", "kernels that ran: flash 20 times, math 1 times", "", "not exercised: precision float32; long sequences",
    ]  # fmt: skip


def test_a_report_as_json_has_the_outcome_and_every_finding() -> None:
    broken = finding(DEFINITION, BROKEN, residual=math.inf, yours=[math.nan])
    found = report(
        broken, finding("a", UNCHECKABLE, "small"), causes=["a factor 2"], kernels={"math": 1}, not_exercised=("b", "c")
    ).as_dict()
    first, second = found.pop("findings")
    assert found == {
        "subject": "toy.subject", "implementation": "mine", "outcome": NOT_OK, "verdict": "NOT the definition",
        "causes": ["a factor 2"], "broken": [DEFINITION], "undecided": ["a"], "kernels": {"math": 1},
        "not_exercised": ["b", "c"],
    }  # fmt: skip
    assert (first["check"], first["residual"], first["yours"]) == (DEFINITION, "inf", ["nan"])
    assert (second["check"], second["why"], second["residual"]) == ("a", "small", None)


# -- what stands in the place of a definition --------------------------------------------------------------------------


def test_tensors_go_to_the_implementation_and_all_else_to_the_definition() -> None:
    called: list[Any] = []
    mine = standing(lambda T: called.append(T) or softmax(T))
    T = torch.zeros(2, 2, dtype=torch.float64)
    assert torch.equal(mine(T), softmax(T)) and mine.calls == 1 and len(called) == 1 and not mine.differentiated
    assert torch.equal(mine(T=T), softmax(T)) and mine.calls == 2
    ball = np.array([[flint.arb(0), flint.arb(0)]], dtype=object)
    assert float(mine(ball)[0, 0].mid()) == 0.5 and mine.calls == 2
    mine(T.requires_grad_())
    assert mine.differentiated and mine.calls == 3


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (lambda T: 0.5, "result: expected a torch tensor; got float"),
        (lambda T: softmax(T)[None], r"result: expected shape \(2, 2\); got shape \(1, 2, 2\)"),
        (
            lambda T: softmax(T).float(),
            r"result: expected the dtype of the arguments, torch.float64; got torch.float32",
        ),
        (
            lambda T: softmax(T).to("meta"),
            r"result: expected the device of the arguments, cpu; got meta: its result has to be moved there, by "
            r".to\(X.device\), or made there$",
        ),
        (lambda T: softmax(T).to_sparse(), "result: expected a dense tensor; got layout torch.sparse_coo"),
        (lambda T: T.mul_(2), "T: expected an argument left as it was; got an argument changed in place$"),
        (lambda T: T.data.mul_(2) * 1, "T: expected an argument left as it was; got an argument changed in place$"),
    ],
)
def test_what_no_check_can_use_is_named(result: Any, said: str) -> None:
    with pytest.raises(WrongResult, match=said):
        standing(result)(torch.ones(2, 2, dtype=torch.float64))


def test_what_an_implementation_raises_is_told_from_a_derivative_that_it_refuses() -> None:
    def failing(T: Any) -> Any:
        raise KeyError("a\nb")

    T = torch.ones(1, 2)
    with pytest.raises(Raised, match=r"^KeyError: 'a\\nb'$"):
        standing(failing)(T)
    with pytest.raises(NotDifferentiable, match=r"^KeyError: "):
        standing(failing)(T.requires_grad_())
    with pytest.raises(Raised, match="^RuntimeError: " + "x" * 200 + "$"):
        standing(lambda T: (_ for _ in ()).throw(RuntimeError("x" * 300 + "\nmore")))(torch.ones(1, 2))
    with pytest.raises(Raised, match=r"^RuntimeError: first$"):
        standing(lambda T: (_ for _ in ()).throw(RuntimeError("first\nsecond")))(torch.ones(1, 2))
    with pytest.raises(Raised, match=r"^ValueError: $"):
        standing(lambda T: (_ for _ in ()).throw(ValueError))(torch.ones(1, 2))


def test_an_argument_that_is_no_number_is_left_as_it_was_too() -> None:
    T = torch.tensor([[math.nan, 1.0]])
    assert standing()(T).shape == (1, 2)


def test_a_mask_is_handed_on_as_booleans_and_a_constant_as_a_tensor() -> None:
    taken: list[Any] = []

    def masked(T: Any, M: Any) -> Any:
        taken.append(M)
        return torch.softmax(T.masked_fill(~M, -math.inf), -1)

    load("theorems")
    mine, T = Standing("transformer.masked_softmax", masked), torch.zeros(2, 3, dtype=torch.float64)
    M = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    for mask in (M, M != 0, ones(2, 3)):
        assert mine(T, mask).shape == (2, 3) and taken[-1].dtype == torch.bool
    assert torch.equal(taken[0], M != 0) and torch.equal(taken[1], M != 0) and bool(taken[2].all()) and len(taken) == 3
    assert not mine.differentiated, "booleans have no derivatives"
    ball = np.array([[flint.arb(0), flint.arb(0)]], dtype=object)
    assert float(mine(T=ball, M=ones(1, 2))[0, 0].mid()) == 0.5 and mine.calls == 3


def test_under_torch_func_an_implementation_is_called_and_where_that_refuses_it_behind_a_bridge() -> None:
    def refused(T: Any) -> Any:
        float(T.detach().sum())  # which vmap does not allow
        return softmax(T)

    batch = torch.arange(6, dtype=torch.float64).reshape(2, 1, 3)
    plain, mine = standing(), standing(refused)
    for found in (plain, mine, mine):
        assert torch.allclose(torch.func.vmap(found)(batch), softmax(batch))
    assert (plain.bridged, mine.bridged) == (False, True) and plain.differentiated and mine.calls == 2
    J = torch.func.jacrev(softmax)(batch[0])
    assert torch.allclose(torch.func.jacrev(plain)(batch[0]), J) and torch.allclose(
        torch.func.jacrev(mine)(batch[0]), J
    )
    failing = standing(lambda T: 1 / 0)
    with pytest.raises(Raised, match=r"^ZeroDivisionError: "):
        failing(batch[0])
    assert not failing.bridged, "torch.func had no part in it"


def test_an_implementation_that_calls_the_public_name_means_the_definition() -> None:
    mine, T = standing(public_name_of(SOFTMAX)), torch.zeros(1, 2)
    with replaced(SOFTMAX, mine):
        assert torch.equal(public_name_of(SOFTMAX)(T), softmax(T)) and mine.calls == 1


def test_what_an_implementation_is_refused_for_within_another_keeps_its_name() -> None:
    for problem in (Raised("inner"), NotDifferentiable("inner"), WrongResult("A", "b", "c")):
        with pytest.raises(type(problem)) as found:
            standing(lambda T, problem=problem: (_ for _ in ()).throw(problem))(torch.ones(1, 2))
        assert found.value is problem


def test_a_forward_derivative_is_seen_and_a_nested_result_is_named() -> None:
    mine, T = standing(), torch.zeros(2, 2)
    mine(T)
    assert not mine.differentiated
    with torch.autograd.forward_ad.dual_level():
        mine(torch.autograd.forward_ad.make_dual(T, torch.ones(2, 2)))
    assert mine.differentiated
    mine(T)
    assert mine.differentiated, "once seen it stays"
    with pytest.raises(WrongResult, match=r"^result: expected a dense tensor; got a nested one$"):
        standing(lambda T: torch.nested.nested_tensor([T[0], T[1]]))(T)
    with pytest.raises(
        WrongResult, match=r"^A: expected an argument left as it was; got an argument changed in place, later$"
    ):
        require_unchanged({"A": T}, {"A": T + 1}, ", later")


def test_the_definition_says_the_shape_once_for_equal_arguments_and_in_full_precision() -> None:
    mine, asked = standing(), []
    definition = mine.definition

    def counted(T: Any) -> Any:
        asked.append((tuple(T.shape), T.dtype, T.device.type))
        assert bool((T == 1).all()), "no value of the caller"
        return definition(T)

    mine.definition = counted
    for T in (torch.zeros(2, 3), torch.ones(2, 3), torch.zeros(3, 2)):
        assert mine(T).shape == T.shape
    assert asked == [((2, 3), torch.float32, "cpu"), ((3, 2), torch.float32, "cpu")]
    for dtype in (torch.float16, torch.bfloat16):
        half = standing()
        half.definition = counted
        assert half(torch.zeros(1, 2, dtype=dtype)).dtype == dtype
        assert asked.pop() == ((1, 2), torch.float32, "cpu")
    wide = standing()
    wide.definition = counted
    wide(torch.zeros(1, 2, dtype=torch.float64))
    assert asked.pop() == ((1, 2), torch.float64, "cpu")


def test_the_shape_is_that_at_numbers_that_are_no_tensors() -> None:
    load("theorems")
    mine, asked = Standing("transformer.rotary_table", lambda X, b, o: 1 * X), []  # type: ignore[var-annotated]
    definition = mine.definition

    def counted(X: Any, b: Any, o: Any) -> Any:
        asked.append((X.tolist(), o))
        return definition(X, b, o)

    mine.definition = counted
    for first in (0, 0, 2):
        assert mine(torch.zeros(1, 2), torch.tensor(10.0), first).shape == (1, 2)
    assert asked == [([[1.0, 1.0]], 0), ([[1.0, 1.0]], 2)]


def test_implementations_are_named_by_module_and_name() -> None:
    assert title_of(softmax) == f"{softmax.__module__}.softmax"
    assert title_of(torch.nn.Linear(1, 1)) == "Linear"
    bare = type("Bare", (), {"__qualname__": "named", "__module__": None, "__call__": lambda self: 0})()
    bare.__qualname__, bare.__module__ = "named", None
    assert title_of(bare) == "named"


# -- rounding units ----------------------------------------------------------------------------------------------------

EPS = torch.finfo(torch.float64).eps


def known(
    *spreads: float, values: tuple[float, ...] = (2.0, 1.0), apart: float = 0.0, exponent: float = 0.0
) -> Reference:
    """What a definition gives, and the spread that random rounding is said to have shown."""
    results = {name: torch.tensor([value], dtype=torch.float64) for name, value in zip("ab", values, strict=True)}
    found = Reference(results, {}, lambda arguments: results)
    found.rounded = Rounded(dict(zip("ab", spreads, strict=True)), exponent=exponent, apart=apart, largest=8.0)
    return found


def test_a_unit_is_four_spreads_and_as_many_roundings_of_the_largest_entry() -> None:
    truth = known(3.0, 0.0)
    assert SPREADS == 4.0
    assert truth.unit("a", EPS) == 4.0 * EPS * (3.0 + 2.0) + UNDERFLOW[EPS]
    assert truth.unit("b", EPS) == 4.0 * EPS * 1.0 + UNDERFLOW[EPS]
    assert truth.roundings("a", EPS, 0.0) == 0.0 and truth.roundings("a", EPS, 8.0 * EPS) == 1.0
    assert known(0.0, 0.0, values=(0.0, 1.0)).roundings("a", EPS, 1.0) == math.inf
    half = torch.finfo(torch.float16).eps
    assert truth.roundings("a", half, 2.0 * half) == 1.0, "in half precision one rounding is the measure"


def test_a_result_that_is_zero_has_the_unit_of_the_largest_beside_it() -> None:
    assert known(0.0, 0.0, values=(0.0, 1.0)).unit("a", EPS) == 4.0 * EPS + UNDERFLOW[EPS]


def test_where_a_unit_is_a_large_part_of_the_largest_entry_nothing_is_decided() -> None:
    most = BLURRED * 2.0 / (4.0 * EPS) - 2.0
    assert known(most, 0.0).unit("a", EPS) == BLURRED * 2.0 + UNDERFLOW[EPS]
    assert known(most * (1 + 1e-9), 0.0).unit("a", EPS) == math.inf


def test_weights_found_from_a_logarithm_of_a_sum_have_as_many_roundings_as_their_exponents() -> None:
    assert known(0.0, 0.0, apart=1024.0).unit("a", EPS) == 8.0 * EPS + UNDERFLOW[EPS]
    assert known(0.0, 0.0, apart=2048.0).unit("a", EPS) == pytest.approx(8.0 * EPS * 2049.0 + UNDERFLOW[EPS])


def test_what_overflows_is_told_by_the_largest_numbers() -> None:
    limit = torch.finfo(torch.float16).max
    assert too_large(limit / 4 * 1.01, torch.float16) and not too_large(limit / 4, torch.float16)
    assert known(0.0, 0.0).overflows(torch.float16) is False
    at_most = math.log(torch.finfo(torch.float64).max) / (8.0 * EPS)
    assert known(0.0, 0.0, exponent=at_most * 1.01).may_overflow(torch.float64)
    assert not known(0.0, 0.0, exponent=at_most * 0.99).may_overflow(torch.float64)


def test_a_kink_is_no_place_to_compare_derivatives() -> None:
    def slope(arguments: Any) -> dict[str, torch.Tensor]:
        return {"d": (arguments["x"] > 0).double() + 1}

    for x, smooth in ((1.0, True), (0.0, False), (-1.0, True)):
        found = reference(slope, {"x": torch.tensor([x], dtype=torch.float64)})
        assert found is not None and found.smooth == smooth
    assert reference(lambda arguments: {"d": torch.tensor([math.nan])}, {}) is None
    assert reference(lambda arguments: {"d": torch.tensor([math.inf]), "e": torch.zeros(1)}, {}) is None


def test_random_rounding_shows_how_an_expression_is_conditioned() -> None:
    def cancelling(arguments: Any) -> dict[str, torch.Tensor]:
        return {"a": (arguments["x"] + 1e6) - 1e6}

    found = reference(cancelling, {"x": torch.tensor([1.0], dtype=torch.float64)})
    assert found is not None and 1e5 < found.rounded.spreads["a"] < 1e7 and found.rounded.largest > 1e6
    assert found.jumps(cancelling, "float64", "a") is False


def test_a_gap_is_counted_in_units() -> None:
    truth = known(3.0, 0.0)
    unit = truth.unit("a", EPS)
    value = truth.results["a"]
    gap = Gap("a", value, value, 3 * unit, truth, EPS, 1.0)
    assert (
        gap.residual == 3.0
        and replace(gap, slack=2.0).residual == 1.5
        and gap.roundings == truth.roundings("a", EPS, 3 * unit)
    )
    assert replace(gap, distance=0.0).residual == 0.0 and replace(gap, distance=math.inf).residual == math.inf


@pytest.mark.parametrize("slack", [1.0, 8.0])
def test_what_is_near_by_the_largest_entry_alone_is_within_a_unit(slack: float) -> None:
    truth = known(3.0, 0.0)
    value = truth.results["a"]
    grain = SPREADS * EPS * float(value.abs().max())
    near, far = (Gap("a", value, value, part * slack * grain, truth, EPS, slack) for part in (0.99, 1.01))
    assert near.is_near and near.residual <= near.at_most <= 1.0
    assert not far.is_near and far.residual <= far.at_most


def test_what_balls_say_is_found_once_for_the_same_inputs_and_never_where_the_implementation_was_called() -> None:
    mine = standing()
    claim = profile_of(SOFTMAX).claim()
    seen: list[str] = []

    def find(text: str, seed: dict[str, Any], what: Any = "a test", functions: Any = (softmax,)) -> str:
        return found_once(claim, functions, seed, what, lambda: seen.append(text) or text, lambda: mine.calls)

    T, other = np.array([[1.0, 2.0]]), np.array([[1.0, np.nextafter(2.0, 3.0)]])
    assert [find("first", {"T": T}), find("second", {"T": T.copy()})] == ["first", "first"]
    assert find("other inputs", {"T": other}) == "other inputs" and find("a column", {"T": T.T}) == "a column"
    assert find("asked otherwise", {"T": T}, "another test") == "asked otherwise"
    assert find("another function", {"T": T}, functions=(abs,)) == "another function"
    assert len(seen) == 5

    def calling() -> int:
        mine(torch.zeros(1, 2, dtype=torch.float64))
        return mine.calls

    asked = [found_once(claim, [softmax], {"T": T}, "calls", calling, lambda: mine.calls) for _ in range(2)]
    assert asked[1] == asked[0] + 1


def test_a_shape_that_is_expected_spares_the_definition_and_a_wrong_one_does_not_count() -> None:
    asked: list[tuple[int, ...]] = []
    mine, T = standing(), torch.zeros(2, 3, dtype=torch.float64)
    definition = mine.definition
    mine.definition = lambda T: asked.append(tuple(T.shape)) or definition(T)
    mine.expect({"T": T}, (2, 3))
    assert mine(T).shape == (2, 3) and asked == []
    mine.expect({"T": T.mT}, (2, 3))  # wrong: the definition has the last word
    assert mine(T.mT).shape == (3, 2) and asked == [(3, 2)]
    wrong = standing(lambda T: softmax(T).mT)
    wrong.expect({"T": T}, (2, 3))
    with pytest.raises(WrongResult, match=r"shape \(2, 3\)"):
        wrong(T)


# -- values ------------------------------------------------------------------------------------------------------------


def of_values(function: Any, dtype: str = "float64", settings: Any = QUICK) -> Finding:
    mine = standing(function)
    with replaced(SOFTMAX, mine):
        return examine(profile_of(SOFTMAX).claim(), mine, settings, dtype, DEFINITION)


def test_values_are_satisfied_within_the_units_that_are_allowed() -> None:
    found = of_values(softmax)
    assert (
        found.status == SATISFIED
        and found.residual is not None
        and found.residual <= allowed("float64") == ALLOWED == 16.0
    )
    assert found.ulps is not None and found.examples > 0 and found.calls >= found.examples
    assert allowed("float16") == allowed("bfloat16") == ALLOWED_IN_HALF == 2.0 and allowed("float32") == 16.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_value_that_is_no_number_is_broken_wherever_it_comes(dtype: str) -> None:
    """Also where balls of this precision cannot say how accurate a value has to be."""
    for wrong in (math.nan, math.inf, -math.inf):

        def sometimes(T: Any, wrong: float = wrong) -> Any:
            return softmax(T) + (wrong if T.shape[0] == 2 else 0.0)

        found = of_values(sometimes, dtype)
        assert found.status == BROKEN and found.residual == math.inf and found.entries >= 2


def test_a_value_that_is_no_number_is_measured_where_no_unit_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from verify.checks.units import Unit

    monkeypatch.setattr(measure, "unit_at", lambda *_: Unit(math.inf))
    claim, mine = profile_of(SOFTMAX).claim(), standing(lambda T: T / 0)
    claim.batched = False
    with replaced(SOFTMAX, mine):
        sides = ComparedSides.of(claim)
        assert sides is not None
        arrays = {name: np.ones((1, 2, 2)) for name in claim.parameters}
        found = sample_at(claim, sides, arrays, QUICK, "float64", of_values=True)
        assert found is not None and found.residual == math.inf
        assert sample_at(claim, sides, arrays, QUICK, "float64", of_values=False) is None


@pytest.mark.parametrize("size", [1e-13, 1e-10, 1e-7, 1e-3])
def test_randomness_of_every_size_that_is_not_rounding_is_named(size: float) -> None:
    generator = torch.Generator().manual_seed(0)

    def noisy(T: Any) -> Any:
        return softmax(T) * (1 + size * torch.randn((), generator=generator, dtype=torch.float64).to(T))

    found = of_values(noisy)
    assert (found.status, found.why, found.residual) == (BROKEN, TWICE, math.inf)


def test_a_state_that_keeps_within_what_is_allowed_is_named_as_well() -> None:
    count = iter(range(10**6))
    found = of_values(lambda T: softmax(T) + (1e-12 if next(count) % 2 else 0.0))
    assert (found.status, found.why) == (BROKEN, TWICE)


def test_a_wrong_value_is_shown_at_a_small_example() -> None:
    found = of_values(lambda T: softmax(T) * (1 + 1e-9))
    assert found.status == BROKEN and found.entries == 1 and found.why == "" and found.inputs.keys() == {"T"}
    assert found.yours[0] == pytest.approx(1 + 1e-9, rel=1e-12) and found.expected == [1.0]
    assert found.residual is not None and ALLOWED < found.residual < math.inf


def test_what_no_check_calls_is_not_reached() -> None:
    mine = standing()
    claim = profile_of(SOFTMAX).claim()
    found = examine(claim, mine, QUICK, "float64", DEFINITION)  # the standing is not active, so that nothing calls it
    assert found.status == UNREACHED and found.calls == 0


def test_laws_are_judged_by_tests_that_reject_and_by_samples_that_are_no_numbers() -> None:
    def judged(*p: float) -> Finding:
        found = finding(LAW, UNCHECKABLE)
        judge_laws(found, [LawTest(f"test {number}", value, 100) for number, value in enumerate(p)])
        return found

    assert judged(0.5, 1e-8).status == SATISFIED and judged(0.5, 1e-8).examples == 200
    assert judged(0.5, 1e-8).why == "none of 2 statistical tests rejects it (false alarm below 2e-09)"
    assert judged(0.5, 1e-10).status == BROKEN
    assert judged(1e-10, 0.5, 1e-12).why == "2 of 3 statistical tests reject it: test 2, p = 1e-12; test 0, p = 1e-10"
    assert judged(0.5, math.nan).status == BROKEN
    assert judged(0.5, math.nan).why == "1 of 2 statistical tests reject it: test 1, a sample is no number"


# -- derivatives -------------------------------------------------------------------------------------------------------


def compared(function: Any, check: str = FIRST, dtype: str = "float64") -> Finding:
    mine = standing(function)
    with replaced(SOFTMAX, mine):
        return Comparison(profile_of(SOFTMAX), mine, QUICK).run(check, dtype)


def test_right_derivatives_are_satisfied_at_as_many_points_as_are_asked_for() -> None:
    found = compared(softmax)
    assert (found.status, found.why) == (SATISFIED, "") and found.examples >= 12 and (found.residual or 0.0) < 1.0
    assert compared(softmax, SECOND).status == SATISFIED


class OnceOnly(torch.autograd.Function):
    """A softmax whose backward pass is refused where the first logit is above zero, and every time after `limit` points."""

    @staticmethod
    def forward(ctx: Any, T: Any) -> Any:
        A = torch.softmax(T, -1)
        ctx.save_for_backward(A, T)
        return A

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        A, T = ctx.saved_tensors
        if bool(T[0, 0] > 0):
            raise RuntimeError("no derivative for positive numbers")
        return A * (g - (g * A).sum(-1, keepdim=True))


def test_a_derivative_that_is_refused_at_some_points_is_undecided() -> None:
    found = compared(OnceOnly.apply)
    assert found.status == UNCHECKABLE and found.is_undecided
    assert found.why == f"{NOT_DIFFERENTIABLE}: RuntimeError: no derivative for positive numbers"
    refusals = iter([True] + [False] * 10**4)

    def once(T: Any) -> Any:
        if T.requires_grad and next(refusals):
            raise RuntimeError("not now")
        return softmax(T)

    single = compared(once)
    assert single.status == UNCHECKABLE and single.examples > 0, "one refusal is enough, however many points agree"
    assert PATIENCE == 3


def test_a_derivative_that_is_refused_always_is_asked_for_a_few_times_only() -> None:
    calls: list[int] = []

    def never(T: Any) -> Any:
        if T.requires_grad:
            calls.append(1)
            raise RuntimeError("never")
        return softmax(T)

    found = compared(never)
    assert found.status == UNCHECKABLE and len(calls) == PATIENCE and found.examples == 0
    sizes = compared(never, SIZES)
    assert sizes.status == SATISFIED and sizes.why == f"values alone, {NOT_DIFFERENTIABLE}: RuntimeError: never"
    assert sizes.is_undecided


class WrongSlope(OnceOnly):
    factor = 1 + 1e-9

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        A, _ = ctx.saved_tensors
        return A * (g - (g * A).sum(-1, keepdim=True)) * WrongSlope.factor


@pytest.mark.parametrize("factor", [1 + 1e-9, math.nan, math.inf])
def test_a_wrong_derivative_is_broken_and_shown_at_a_small_example(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WrongSlope, "factor", factor)
    found = compared(WrongSlope.apply)
    assert found.status == BROKEN and found.why == "d/dT is wrong" and 1 <= found.entries <= 4
    assert found.residual is not None and found.residual > ALLOWED
    assert found.inputs.keys() == {"T"} and found.yours is not None and found.expected is not None


@pytest.mark.parametrize("check", [FIRST, SIZES])
def test_what_raises_or_has_another_shape_is_broken_with_the_place(check: str) -> None:
    def raising(T: Any) -> Any:
        raise WrongResult("result", "a softmax", "nothing")

    found = compared(raising, check)
    assert (
        found.status == BROKEN and found.why == f"result: expected a softmax; got nothing, at {found.at}" and found.at
    )


def test_a_gap_at_a_point_is_infinite_where_a_value_is_no_number() -> None:
    load("theorems")
    T = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64)
    point = Point({"T": T}, 0, 0)
    mine = standing(lambda T: softmax(T) * math.nan)
    truth = point.reference(mine.definition)
    assert truth is not None
    gap = gap_at(point, mine, truth, torch.float64, "cpu", 16.0)
    assert gap is not None and gap.name == VALUE and gap.distance == gap.residual == math.inf and not gap.agrees
    right = gap_at(point, standing(), truth, torch.float64, "cpu", 16.0)
    assert right is not None and right.agrees and right.roundings < 1.0
    off = gap_at(point, standing(lambda T: softmax(T) * (1 + 1e-9)), truth, torch.float64, "cpu", 16.0)
    assert off is not None and not off.agrees and 1e4 < off.residual < 1e7


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_measured_where_no_unit_is(wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    load("theorems")
    point = Point({"T": torch.zeros(1, 2, dtype=torch.float64)}, 0, 0)
    mine = standing(lambda T: softmax(T) + wrong)
    truth = point.reference(mine.definition)
    assert truth is not None
    monkeypatch.setattr(Reference, "unit", lambda *_: math.inf)
    gap = gap_at(point, mine, truth, torch.float64, "cpu", 16.0)
    assert gap is not None and gap.residual == math.inf
    off = standing(lambda T: softmax(T) + 1.0)
    assert gap_at(point, off, truth, torch.float64, "cpu", 16.0) is None, "what is finite needs a unit"


def test_below_a_bound_without_end_is_no_better_than_above_it() -> None:
    for wrong in (-math.inf, math.nan, math.inf):
        claim = bound_on_softmax(wrong)
        sides = ComparedSides.of(claim)
        assert sides is not None and sides.bound
        found = sample_at(claim, sides, {"T": np.zeros((1, 2, 2))}, QUICK, "float64")
        assert found is not None and found.residual == math.inf


def bound_on_softmax(wrong: float) -> Claim:
    claim = Claim(
        Paper("units", "t", "", "row-major"),
        f"units.{wrong}",
        label="l",
        statement="s",
        relation=AtMost(),
        sizes={"n": (2, 2)},
    )

    @claim.formula
    def one(T: Annotated[Any, Shape("n", "n")]) -> Any:
        return 1 + 0 * T

    @claim.oracle
    def entries(T: Annotated[Any, Shape("n", "n")]) -> Any:
        return 0 * T + (wrong if isinstance(T, torch.Tensor) else 0)

    claim.batched = False
    return claim


# -- what no value shows, and inputs that are none ----------------------------------------------------------------------


def of_a_weight(z: float) -> Reference:
    """1 - w and its derivative by z, where w = 1 / (1 + e^z) is the weight of a sink."""

    def evaluate(arguments: Any) -> dict[str, torch.Tensor]:
        w = torch.sigmoid(-arguments["z"])
        return {VALUE: 1 - w, f"{DERIVATIVE}z": w * (1 - w)}

    found = reference(evaluate, {"z": torch.tensor([z], dtype=torch.float64)})
    assert found is not None
    return found


def test_a_derivative_too_small_to_move_the_value_may_come_from_an_equal_formula() -> None:
    eps = torch.finfo(torch.float64).eps
    for z, differs in ((14.0, 1e-16), (21.0, 1e-16), (40.0, 4e-18)):
        truth = of_a_weight(z)
        assert differs <= ALLOWED * truth.unit(f"{DERIVATIVE}z", eps)
        assert ALLOWED * truth.unit(f"{DERIVATIVE}z", eps) < 1e-13


def test_a_derivative_that_moves_the_value_is_held_to_its_own_digits() -> None:
    eps, truth = torch.finfo(torch.float64).eps, of_a_weight(1.0)
    assert truth.unit(f"{DERIVATIVE}z", eps) < 50 * eps
    for small in (0.0, 2.0**-40):  # a small argument excuses no more than one of size 1
        assert of_a_weight(small)._unseen(f"{DERIVATIVE}z", eps) < SPREADS * eps
    assert truth._unseen(VALUE, eps) == truth._unseen("d2/dz", eps) == 0.0


@pytest.mark.parametrize(("factor", "seen"), [(1.0, False), (1 + 1e-9, True), (-1.0, True)])
@pytest.mark.parametrize("seed", [2, 5])
def test_a_sink_by_logarithms_passes_where_its_derivative_is_a_rounding_and_is_caught_where_it_is_wrong(
    factor: float, seen: bool, seed: int
) -> None:
    layer = next(each for each in layers()[1] if each.name == "sink_attention: by logarithms")

    def scaled(Q: Any, K: Any, V: Any, M: Any, z: Any) -> Any:
        return layer.make()(Q, K, V, M, z * factor + z.detach() * (1 - factor))

    made = seeded(replace(layer, make=lambda: scaled), seed)
    assert (made.run(FIRST, "float64", shrinking=False).status == BROKEN) is seen


def test_a_draw_that_prepares_no_finite_inputs_is_no_example() -> None:
    """In one dimension a row of zeros makes no unit token; the layer must not be blamed for refusing it."""
    layer = next(each for each in layers()[1] if each.name == "kernel as dynamics.attention_head")
    made = seeded(layer, 6)
    assert made.run("dynamics.sec-3-minima", "float32").status == SATISFIED
    claim = load("theorems")["dynamics.sec-3-minima"]
    raw = {
        "directions": torch.zeros(1, 1, 1),
        "factor": torch.ones(1, 1, 1),
        "core": torch.ones(1, 1, 1),
        "beta": torch.ones(1),
    }
    assert not measure._has_inputs(claim, raw)
    assert measure._has_inputs(claim, {**raw, "directions": torch.ones(1, 1, 1)})


@pytest.mark.parametrize("wide_sums", [False, True])
def test_masks_and_numbers_of_sequences_are_exact_under_random_rounding_and_nothing_else_is(wide_sums: bool) -> None:
    starts = torch.tensor([[1.0], [0.0], [1.0], [0.0]], dtype=torch.float64)
    below, halves = torch.ones(4, 4, dtype=torch.float64).tril(), torch.full((4, 1), 0.5, dtype=torch.float64)
    with RandomRounding(GRAIN, 0, wide_sums) as rounding:
        number = below @ starts
        same = (number - number.T) * (number - number.T)
        assert number.flatten().tolist() == [1, 1, 2, 2] and set(same.flatten().tolist()) == {0.0, 1.0}
        assert not (halves + halves == 1).any()  # whole, but not of whole numbers
        assert not (starts + halves == starts.round() + 0.5).any()
        assert not (below @ (WHOLE * below) == WHOLE * 4).any()
    assert rounding.largest == 4 * WHOLE
