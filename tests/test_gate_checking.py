"""A gate step by step: which checks it has, what their errors become, which are made, and what the report says beside them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from verify.checks.settings import settings_for
from verify.gate import checking
from verify.gate.checking import OTHER_SIZES, Gate, check, device_in_words, gate
from verify.gate.findings import (
    BIAS,
    BROKEN,
    COMPARISONS,
    DEFINITION,
    FIRST,
    FORWARD,
    LAW,
    LEFT_OUT,
    LONG,
    NOT_DIFFERENTIABLE,
    SATISFIED,
    SECOND,
    SIZES,
    UNCHECKABLE,
    Finding,
)
from verify.gate.measure import TWICE
from verify.gate.profiles import profile_of
from verify.gate.standing import CHANGED
from verify.gate.subject_errors import NotDifferentiable, Raised, WrongResult
from verify.oracles import LawTest
from verify.vocabulary import InputError
from verify.vocabulary.errors import RegistryError
from verify.vocabulary.registry import load
from verify.vocabulary.relations import Equal, FollowsLaw
from verify.vocabulary.subjects import public_name_of

pytestmark = pytest.mark.kept

SOFTMAX = "hessian.softmax"


def softmax(T: Any) -> Any:
    return torch.softmax(T, -1)


def claim(name: str, relation: Any = None) -> Any:
    return SimpleNamespace(id=name, label=f"label of {name}", relation=relation or Equal())


LAWFUL = FollowsLaw.__new__(FollowsLaw)


def made(
    *claims: Any, dtypes: Sequence[str] = ("float64", "float32"), comparisons: Sequence[str] | None = None,
    law: Any = None, narrowed: Any = None, **given: Any,
) -> Gate:  # fmt: skip
    """A gate of claims that are written down, with comparisons of these names if any."""
    load("theorems")
    choice = SimpleNamespace(ranges={}, condition=None)
    profile: Any = SimpleNamespace(is_drawn=False, law=law, choice=choice, claim=lambda: claim("own"), **given)
    settings = settings_for("quick")
    settings = type(settings)(**{**settings.__dict__, "dtypes": tuple(dtypes)})
    standing: Any = SimpleNamespace(bridged=False, definition=softmax, name=SOFTMAX)
    found = Gate(SOFTMAX, standing, "mine", profile, list(claims), settings, narrowed=narrowed or {})
    if comparisons is not None:
        found.comparison = SimpleNamespace(  # type: ignore[assignment]
            checks=list(comparisons), not_exercised=["what is large"], is_differentiable_once=False
        )
    return found


# -- which checks there are --------------------------------------------------------------------------------------------


def test_comparisons_come_first_in_every_precision_that_they_have_and_theorems_in_full_ones() -> None:
    assert made(claim("a"), claim("b", LAWFUL)).checks == [("a", "float64"), ("a", "float32"), ("b", "float64")]
    every = [FIRST, SECOND, FORWARD, SIZES, BIAS]
    assert made(claim("a"), comparisons=every, dtypes=("float64", "bfloat16"), law=print).checks == [
        (DEFINITION, "float64"), (DEFINITION, "bfloat16"), (FIRST, "float64"), (FIRST, "bfloat16"), (SECOND, "float64"),
        (FORWARD, "float64"), (SIZES, "float64"), (SIZES, "bfloat16"), (BIAS, "bfloat16"), ("a", "float64"),
        (LAW, "float64"),
    ]  # fmt: skip


def test_what_is_drawn_has_comparisons() -> None:
    load("theorems")
    found = gate(SOFTMAX, softmax)
    assert found.comparison is not None and found.comparison.profile is found.profile
    assert found.comparison.standing is found.standing and found.comparison.settings is found.settings
    assert gate("osa.stiefel_uniform", lambda *_: None).comparison is None


# -- what a check becomes ----------------------------------------------------------------------------------------------


def test_a_check_is_made_as_it_is_asked_for() -> None:
    of, asked = made(claim("a")), []  # type: ignore[var-annotated]
    found = Finding("a", "", "float64", SATISFIED)
    of._run = lambda *given: asked.append(given) or found  # type: ignore[method-assign,func-returns-value]
    assert of.run("a", "float64") is found and of.run("a", "float32", True, False) is found
    assert asked == [("a", "float64", False, True), ("a", "float32", True, False)]


class Lost(Exception):
    """Of a device that computes nothing any more."""


@pytest.mark.parametrize(("problem", "status", "why"), [
    (Raised("ValueError: no"), BROKEN, "it raised ValueError: no"),
    (WrongResult("result", "one", "none"), BROKEN, "result: expected one; got none"),
    (SystemExit(3), BROKEN, "it raised SystemExit: 3"),
    (NotDifferentiable("no"), UNCHECKABLE, "no value: no"),
    (Lost("no\nmore"), UNCHECKABLE, "cpu computes nothing any more: Lost: no"),
])  # fmt: skip
def test_what_is_raised_in_a_check_breaks_it_or_leaves_it_undecided(
    problem: BaseException, status: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "AcceleratorError", Lost, raising=False)
    of = made(claim("a"))

    def raising(*given: Any) -> Any:
        raise problem

    of._run = raising  # type: ignore[method-assign]
    for name, label in (("a", "label of a"), (DEFINITION, "label of own"), (FIRST, COMPARISONS[FIRST])):
        found = of.run(name, "float32")
        assert (found.check, found.label, found.dtype, found.status, found.why) == (name, label, "float32", status, why)


def test_other_errors_are_raised_and_torch_may_know_no_accelerators(monkeypatch: pytest.MonkeyPatch) -> None:
    of = made(claim("a"))

    def raising(*given: Any) -> Any:
        raise problem

    of._run = raising  # type: ignore[method-assign]
    problem: Exception = ZeroDivisionError("no")
    with pytest.raises(ZeroDivisionError):
        of.run("a", "float64")
    monkeypatch.delattr(torch, "AcceleratorError", raising=False)
    problem = Raised("no")
    assert of.run("a", "float64").status == BROKEN


class Mine(SimpleNamespace):
    def __call__(self, *given: Any) -> str:
        return "mine"


def running(of: Gate, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Finding, list[Any]]:
    """The finding of a check, and how claims were examined for it."""
    asked: list[Any] = []

    def examine(*given: Any, **options: Any) -> Finding:
        assert public_name_of(SOFTMAX)(torch.zeros(1, 1)) == "mine", "it stands in the place of the definition"
        for text in ("There is a performance drop because of it", "another"):
            warnings.warn(text, stacklevel=1)
        asked.append((*given, options))
        return Finding("", "", dtype, SATISFIED)

    monkeypatch.setattr(checking, "examine", examine)
    of.standing = Mine(bridged=False, definition=softmax)  # type: ignore[assignment]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("error")
        found = of._run(name, dtype, True, False)
    assert [str(each.message) for each in told] == ["another"] * len(asked), "what torch.func warns of is no news"
    return found, asked


def test_a_claim_is_examined_at_the_sizes_that_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, smaller = claim("a"), claim("b"), claim("a")
    of = made(a, b, claim("c"), narrowed={"a": smaller, "c": None})
    for name, examinee in (("a", smaller), ("b", b)):
        _, asked = running(of, name, "float32", monkeypatch)
        assert asked == [(examinee, of.standing, of.settings, "float32", None, True, False, False, {})]
    found, asked = running(of, "c", "float32", monkeypatch)
    assert asked == [] and (found.check, found.label, found.dtype) == ("c", "label of c", "float32")
    assert (found.status, found.why) == (LEFT_OUT, OTHER_SIZES)


def test_a_claim_is_examined_again_more_briefly_where_values_are_compared_in_this_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = made(claim("a"), comparisons=[FIRST], dtypes=("bfloat16", "float64", "float32"))
    assert [running(of, "a", dtype, monkeypatch)[1][0][7] for dtype in ("float64", "float32")] == [False, True]
    assert not of.standing.bridged
    of.comparison.is_differentiable_once = True  # type: ignore[union-attr,misc]
    running(of, "a", "float64", monkeypatch)
    assert of.standing.bridged, "torch.func would take what is differentiable once for a constant"
    of.comparison.is_differentiable_once = False  # type: ignore[union-attr,misc]
    own = claim("own")
    of.profile.claim = lambda: own  # type: ignore[method-assign]
    _, asked = running(of, DEFINITION, "float32", monkeypatch)
    assert asked == [(own, of.standing, of.settings, "float32", DEFINITION, {"shrinking": False})]
    assert not of.standing.bridged


def test_a_comparison_is_run_by_what_compares_and_a_law_by_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def law(*given: Any) -> list[LawTest]:
        asked.append(given)
        return [LawTest("one", 0.5, 10)]

    of = made(claim("a"), comparisons=[SIZES], law=law)
    kept = Finding(SIZES, "", "float64", SATISFIED)
    of.comparison.run = lambda *given: asked.append(given) or kept  # type: ignore
    assert running(of, SIZES, "float32", monkeypatch)[0] is kept and asked == [(SIZES, "float32", False)]
    asked.clear()
    found, _ = running(of, LAW, "float64", monkeypatch)
    assert asked == [(of.standing, softmax, of.settings)]
    assert (found.check, found.label, found.dtype) == (LAW, COMPARISONS[LAW], "float64")
    assert (found.status, found.examples) == (SATISFIED, 10)


# -- what is not exercised, and why something is wrong -----------------------------------------------------------------


def test_what_a_report_says_nothing_about() -> None:
    devices = "devices other than cpu"
    everything = ("float64", "float32", "bfloat16", "float16")
    for dtypes, said in (
        (everything, []), (everything[:3], ["precision float16"]), (everything[:2], ["precisions float16 and bfloat16"]),
        (("bfloat16",), ["precisions float64, float32 and float16"]),
    ):  # fmt: skip
        assert made(dtypes=dtypes).not_exercised({}) == [*said, devices]
    of = made(comparisons=[], dtypes=everything)
    assert of.not_exercised({}) == [devices, "what is large"]
    of = made(dtypes=everything)
    for kernels, said in (
        ({"attention_math": 1}, ["fused kernels: none ran"]),
        ({"flash_attention": 1, "attention_math": 1}, ["kernels efficient, cudnn"]),
        ({"flash": 1, "efficient": 2, "cudnn": 1}, []), ({"own::kernel": 1}, ["kernels flash, efficient, cudnn"]),
    ):  # fmt: skip
        assert of.not_exercised(kernels) == [devices, *said]
    for choice in (
        SimpleNamespace(ranges={"n": (1, 2)}, condition=None), SimpleNamespace(ranges={}, condition=lambda sizes: True),
    ):  # fmt: skip
        of.profile.choice = choice  # type: ignore[assignment]
        assert of.not_exercised({}) == [devices, "sizes that were not chosen"]


def test_a_device_is_named_with_its_card_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert [device_in_words(name) for name in ("cpu", "meta", "cuda:1")] == ["cpu", "meta", "cuda:1"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"Card {device.index or 0}")
    assert [device_in_words(name) for name in ("cpu", "meta", "cuda:1")] == ["cpu", "meta", "cuda:1 (Card 1)"]


def broken(name: str = "a", why: str = "", dtype: str = "float64", **given: Any) -> Finding:
    return Finding(name, "", dtype, BROKEN, why, **given)


def test_what_a_finding_says_itself_is_the_cause() -> None:
    of = made(claim("a"))
    of._search = lambda finding: ["searched"]  # type: ignore[method-assign]
    assert of.causes_of(broken(why=TWICE)) == [TWICE]
    assert of.causes_of(broken(why=f"X: expected an argument left as it was; got an argument {CHANGED}")) == [
        "it changes X in place"
    ]
    later = f"X: expected an argument left as it was; got an argument {CHANGED} in a backward pass, at ordinary, m = 2"
    assert of.causes_of(broken(why=later)) == ["it changes X in place in a backward pass"]
    assert of.causes_of(broken(why="it raised ValueError: no")) == []
    assert of.causes_of(broken(FIRST, "it raised ValueError: no")) == ["searched"]
    assert made(claim("a"))._causes is None


def test_causes_are_searched_for_once_and_an_error_there_is_none() -> None:
    of, asked = made(claim("a")), []  # type: ignore[var-annotated]
    of._search = lambda finding: asked.append(finding) or ["one"]  # type: ignore
    first = broken()
    assert of.causes_of(first) == of.causes_of(broken("b")) == ["one"] and asked == [first]
    for problem in (ValueError("no"), SystemExit(1)):
        of = made(claim("a"))

        def raising(finding: Finding, problem: BaseException = problem) -> list[str]:
            raise problem

        of._search = raising  # type: ignore[method-assign]
        assert of.causes_of(first) == [] == of.causes_of(first)


def test_a_cause_is_searched_among_wrong_formulas_and_then_among_derivatives_or_laws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of, asked, values = made(claim("a"), claim("b", LAWFUL)), [], []  # type: ignore[var-annotated]

    def searched(name: str, found: list[str]) -> Callable[..., list[str]]:
        def search(*given: Any) -> list[str]:
            assert name == "values" or public_name_of(SOFTMAX)(torch.zeros(1, 1)) == "mine"
            asked.append((name, *given))
            return found

        return search

    monkeypatch.setattr(checking, "causes", searched("values", values))
    monkeypatch.setattr(checking, "derivative_causes", searched("derivatives", ["derivative"]))
    monkeypatch.setattr(checking, "law_causes", searched("law", ["law"]))
    of.standing = Mine(definition=softmax)  # type: ignore[assignment]
    common = (of.profile, of.standing, of.settings)
    drawn = {"T": [[1.0]]}
    assert of._search(broken(DEFINITION, dtype="float16", drawn=drawn)) == []
    assert asked == [("values", *common, "float32", drawn)]
    asked.clear()
    assert of._search(broken("a", drawn=drawn)) == ["derivative"]
    assert asked == [("values", *common, "float64", {}), ("derivatives", *common, "float64")]
    asked.clear()
    assert of._search(broken(FIRST, dtype="bfloat16")) == ["derivative"]
    assert asked == [("values", *common, "float32", {}), ("derivatives", *common, "float32")]
    asked.clear()
    assert of._search(broken("b")) == ["law"] and asked[1:] == [("law", of.claims[1], of.settings)]
    values.append("value")
    for name in (DEFINITION, FIRST, "a", "b"):
        assert of._search(broken(name)) == ["value"]


# -- the arguments of a gate -------------------------------------------------------------------------------------------


def test_a_gate_has_what_was_asked_for() -> None:
    found = gate(
        SOFTMAX, softmax, claims=["hessian.lem-*"], require="hessian.*", accept=["derivatives", "sizes"], seed=5
    )
    assert (found.subject, found.title) == (SOFTMAX, f"{__name__}.softmax")
    assert found.required == ("hessian.*",) and found.accepted == ("derivatives", "sizes")
    assert found.claims and all(each.id.startswith("hessian.lem-") for each in found.claims)
    assert found.settings.effort.name == "quick" and found.settings.seed == 5 and found.settings.device == "cpu"
    assert found.settings.dtypes == ("float64", "float32") and found.standing.name == SOFTMAX
    assert found.standing.implementation(torch.zeros(1, 2)).tolist() == [[0.5, 0.5]]
    assert found.narrowed == {each.id: each for each in found.claims} and found.profile is profile_of(SOFTMAX)


def test_a_gate_has_the_precisions_the_effort_the_device_and_the_sizes_that_are_chosen() -> None:
    some = gate(SOFTMAX, softmax, dtypes=["bfloat16", "float32", "bfloat16"], effort="ci", device="cpu:0")
    assert some.settings.dtypes == ("bfloat16", "float32") and some.settings.effort.name == "ci"
    assert some.settings.device == "cpu:0"
    chosen = gate(SOFTMAX, softmax, sizes={"m": 2}, where=lambda sizes: sizes["n"] == 3)
    assert chosen.profile.choice.ranges == {"m": (2, 2)} and chosen.profile is not profile_of(SOFTMAX)
    assert chosen.profile.choice.condition is not None
    for each in filter(None, chosen.narrowed.values()):
        assert each.sizes.get("m", (2, 2)) == (2, 2)


def test_statistical_claims_are_left_out_unless_they_are_asked_for_or_the_subject_draws_samples() -> None:
    def laws(found: Gate) -> list[str]:
        return [each.id for each in found.claims if isinstance(each.relation, FollowsLaw)]

    assert laws(gate("osa.stiefel_uniform", lambda *_: None))
    by_name = {subject: known for subject, known in checking.claims_by_subject("theorems").items()}
    drawn = [
        (subject, each.id) for subject, known in by_name.items() if profile_of(subject).is_drawn
        for each in known if isinstance(each.relation, FollowsLaw)
    ]  # fmt: skip
    for subject, name in drawn[:1]:
        assert laws(gate(subject, lambda *_: None)) == [] and laws(gate(subject, lambda *_: None, claims=name)) == [
            name
        ]


def test_an_adapter_turns_an_implementation_and_is_part_of_its_title() -> None:
    def reversed_rows(function: Any) -> Any:
        return lambda T: function(T.flip(0)).flip(0)

    known = gate("transformer.layer_norm", torch.nn.LayerNorm)
    assert known.title.startswith("torch.nn.modules.normalization.LayerNorm through ")
    found = gate(SOFTMAX, softmax, adapter=reversed_rows)
    assert found.title.startswith(f"{__name__}.softmax through ") and found.title.endswith("reversed_rows")
    assert found.standing.implementation(torch.zeros(1, 2)).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(("given", "what"), [
    ({"subject": 3}, "subject: expected text; got 3"),
    ({"claims": "osa.*"}, "claims: expected a glob that matches one of ["),
    ({"claims": ["hessian.*", "nothing"]}, "claims: expected a glob that matches one of ["),
    ({"require": "nothing"}, "require: expected derivatives, or a glob that matches one of ['definition', 'first-"),
    ({"accept": ["derivatives", "nothing"]}, "accept: expected derivatives, or a glob that matches one of ['definition', "),
    ({"dtypes": "float64"}, "dtypes: expected a list of precisions by name, or None; got 'float64'"),
    ({"dtypes": ["float63"]}, "dtypes: expected float64, float32, float16 or bfloat16; got 'float63'"),
    ({"dtypes": [["float64"]]}, "dtypes: expected float64, float32, float16 or bfloat16; got ['float64']"),
    ({"subject": "hessian.softmx"}, "subject: expected"),
    ({"adapter": 3}, "adapter: expected"),
    ({"implementation": torch.nn.Linear}, "implementation: expected a function of (T)"),
    ({"where": 3}, "where: expected"),
    ({"seed": -1}, "seed: expected"),
])  # fmt: skip
def test_a_wrong_argument_is_named(given: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError) as raised:
        gate(**{"subject": SOFTMAX, "implementation": softmax, **given})
    assert str(raised.value).startswith(what)
    if "matches one of" in what:
        assert str(raised.value).endswith(("got 'osa.*'", "got 'nothing'"))


def test_a_class_that_is_not_recognised_is_said_with_those_that_are() -> None:
    with pytest.raises(InputError) as raised:
        gate("transformer.layer_norm", torch.nn.Linear)
    (first, *_) = checking.known_as("transformer.layer_norm")
    assert "that are recognised as transformer.layer_norm (" in str(raised.value) and first in str(raised.value)


def test_a_subject_about_which_nothing_can_be_checked_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    load("theorems")
    subject = "osa.stiefel_uniform"
    monkeypatch.setattr(profile_of(subject), "law", None)
    monkeypatch.setattr(checking, "claims_by_subject", lambda package: {"other": []})
    with pytest.raises(InputError) as raised:
        gate(subject, softmax)
    assert str(raised.value) == f"subject: expected one about which 'theorems' has a claim that holds; got {subject!r}"
    found = gate(SOFTMAX, softmax)
    assert found.claims == [] and found.narrowed == {} and found.checks


def test_a_package_that_has_no_claims_is_said() -> None:
    with pytest.raises((InputError, RegistryError)):
        gate(SOFTMAX, softmax, package="no_such_package_at_all")
    for package in (3, []):
        with pytest.raises(InputError) as raised:
            gate(SOFTMAX, softmax, package=package)  # type: ignore[arg-type]
        assert str(raised.value).endswith(f"got {package}")


# -- the report --------------------------------------------------------------------------------------------------------


class Written:
    """A gate whose findings are written down, by check and precision; keeps how each check was asked for."""

    title, required, accepted, comparison = "mine", ("a",), ("b",), None

    def __init__(self, **findings: Any) -> None:
        self.findings = {tuple(name.split("__")): value for name, value in findings.items()}
        self.checks = [(name.replace("_", "-"), dtype) for name, dtype in self.findings]
        self.settings = SimpleNamespace(dtypes=("float64", "float32"))
        self.asked: list[Any] = []
        self.searched: list[Finding] = []

    def run(self, name: str, dtype: str, briefly: bool = False, shrinking: bool = True) -> Finding:
        self.asked.append((name, dtype, briefly, shrinking))
        status, entries, calls = self.findings[name.replace("-", "_"), dtype]
        return Finding(name, "", dtype, status, entries=entries, calls=calls)

    def not_exercised(self, kernels: Any) -> list[str]:
        assert kernels == (dict(self.comparison.kernels) if self.comparison else {})
        return ["others"]

    def causes_of(self, finding: Finding) -> list[str]:
        self.searched.append(finding)
        return ["why"]


def reported(of: Written, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    given: list[Any] = []
    monkeypatch.setattr(checking, "gate", lambda *names, **arguments: given.append((*names, arguments)) or of)
    report = check("a.b", softmax, **options)
    defaults = {
        "adapter": None, "claims": "*", "effort": "quick", "dtypes": None, "device": "cpu", "require": (), "sizes": None,
        "where": None, "accept": (), "seed": None, "package": "theorems",
    }  # fmt: skip
    assert given == [("a.b", softmax, {**defaults, **options})]
    return report


GOOD, BAD = (SATISFIED, 0, 3), (BROKEN, 4, 3)


def test_all_checks_of_a_right_implementation_are_made_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    of = Written(definition__float64=GOOD, sizes__float32=GOOD, a__float64=GOOD, a__float32=GOOD)
    report = reported(of, monkeypatch)
    assert of.asked == [
        (DEFINITION, "float64", False, True), (SIZES, "float32", False, True), ("a", "float64", False, False),
        ("a", "float32", False, False),
    ]  # fmt: skip
    assert (report.subject, report.implementation, report.required, report.accepted) == ("a.b", "mine", ("a",), ("b",))
    assert len(report.findings) == 4 and report.causes == [] and of.searched == []
    assert report.not_exercised == ("others",) and report.kernels == {}
    of.comparison = SimpleNamespace(kernels={"flash": 2})  # type: ignore[assignment]
    assert reported(of, monkeypatch).kernels == {"flash": 2}


def test_all_options_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {
        "adapter": print, "claims": "a", "effort": "ci", "dtypes": ["float64"], "device": "meta", "require": "r",
        "sizes": {"n": 2}, "where": "w:w", "accept": "c", "seed": 3, "package": "other",
    }  # fmt: skip
    reported(Written(a__float64=GOOD), monkeypatch, **options)


def test_of_what_is_wrong_other_comparisons_are_not_made_and_theorems_are_met_briefly_in_one_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = Written(
        definition__float64=GOOD, definition__float32=GOOD, sizes__float64=BAD, sizes__float32=GOOD,
        long_sequences__float64=GOOD, a__float64=GOOD, a__float32=GOOD,
    )  # fmt: skip
    report = reported(of, monkeypatch)
    assert of.asked == [
        (DEFINITION, "float64", False, True), (DEFINITION, "float32", False, True), (SIZES, "float64", False, True),
        (SIZES, "float32", True, False), ("a", "float64", True, False),
    ]  # fmt: skip
    assert report.causes == ["why"] and [each.check for each in of.searched] == [SIZES]
    assert LONG == "long-sequences"


def test_theorems_are_met_in_their_first_precision_where_a_half_comes_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = Written(
        definition__bfloat16=BAD, definition__float32=GOOD, a__float32=GOOD, a__float64=GOOD, law__float64=GOOD,
        long_sequences__bfloat16=GOOD, b__float64=GOOD,
    )  # fmt: skip
    of.settings.dtypes = ("bfloat16", "float32", "float64")
    reported(of, monkeypatch)
    assert [asked[:2] for asked in of.asked] == [
        (DEFINITION, "bfloat16"), (DEFINITION, "float32"), ("a", "float32"), ("b", "float64"),
    ]  # fmt: skip


def test_a_law_is_examined_in_full_though_only_a_half_precision_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for dtypes in (("bfloat16",), ("float32", "float64")):
        of = made(claim("a", LAWFUL), comparisons=[FIRST], dtypes=dtypes)
        assert running(of, "a", "float64", monkeypatch)[1][0][7] is False


def test_what_raises_or_returns_nothing_of_use_meets_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    of = Written(definition__float64=(BROKEN, 0, 1), definition__float32=GOOD, a__float64=GOOD)
    assert [each.check for each in reported(of, monkeypatch).findings] == [DEFINITION] and len(of.asked) == 1
    of = Written(definition__float64=(BROKEN, 2, 1), definition__float32=GOOD, a__float64=GOOD)
    reported(of, monkeypatch)
    assert [asked[:2] for asked in of.asked] == [
        (DEFINITION, "float64"), (DEFINITION, "float32"), ("a", "float64"),
    ]  # fmt: skip
    of = Written(definition__float64=(UNCHECKABLE, 0, 1), a__float64=GOOD)
    assert len(reported(of, monkeypatch).findings) == 2
    of = Written(sizes__float64=(BROKEN, 0, 1), a__float64=GOOD)
    assert len(reported(of, monkeypatch).findings) == 2


def test_of_broken_theorems_the_one_that_costs_least_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    of = Written(
        a__float64=GOOD, b__float64=(BROKEN, 2, 9), c__float32=(BROKEN, 4, 4), d__float64=(BROKEN, 0, 1),
        e__float64=(BROKEN, 3, 6),
    )  # fmt: skip
    report = reported(of, monkeypatch)
    assert of.asked[5:] == [("c", "float32", False, True)] and [each.check for each in of.searched] == ["b"]
    assert [each.check for each in report.findings] == ["a", "b", "c", "d", "e"]
    of = Written(definition__float64=BAD, a__float64=(BROKEN, 2, 2))
    reported(of, monkeypatch)
    assert of.asked[-1] == ("a", "float64", True, True) and len(of.asked) == 3
    of = Written(first_derivatives__float64=BAD, a__float64=(BROKEN, 2, 2))
    reported(of, monkeypatch)
    assert of.asked[-1] == ("a", "float64", True, True)
    of = Written(a__float64=(BROKEN, 0, 2))
    reported(of, monkeypatch)
    assert len(of.asked) == 1


def test_undecided_derivatives_are_no_reason_to_leave_anything_out(monkeypatch: pytest.MonkeyPatch) -> None:
    of = Written(definition__float64=GOOD, first_derivatives__float64=(UNCHECKABLE, 0, 1), sizes__float64=GOOD)
    report = reported(of, monkeypatch)
    assert [each.status for each in report.findings] == [SATISFIED, UNCHECKABLE, SATISFIED] and not report.causes
    assert NOT_DIFFERENTIABLE not in report.verdict
