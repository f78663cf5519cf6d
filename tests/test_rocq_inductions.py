"""Inductions and matrix exponentials in Rocq: what is true is accepted, and a change that makes it false is refused."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.test_kernel import ZERO, certificate, t
from tests.test_kernel_inductions import first, layers, only_first, pair, powers
from tests.test_kernel_inductions import product as matrix_product
from tests.test_rocq import FOLDER, accepted_as, needs_rocq, planted
from tests.test_rocq_rules import OK, SQUARE, A, B, Identity, S, U, declared, e, n, one

sys.path.insert(0, str(FOLDER))

from export import HEADER, written
from formulas import formula
from theory import coqc

pytestmark = pytest.mark.kept(".", programs=["coqc"])

# -- inductions --------------------------------------------------------------------------------------------------------
TRUE: dict[str, Callable[[], dict[str, Any]]] = {"powers": powers, "pair": pair, "layers": layers}
#: Changes that make a certificate false.
FALSE: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[dict[str, Any]], Any]]] = {
    "another start": (powers, lambda c: c["iterates"][0].update(start=t("N", "a", "b"))),
    "another image": (powers, lambda c: c["iterates"][0].update(image=matrix_product("Z", "N", "a", "b", "k"))),
    "a step that is not shown": (powers, lambda c: first(c).update(step=[])),
    "a start that is not shown": (pair, lambda c: first(c).update(start=[])),
    "an invariant that the start lacks": (powers, lambda c: first(c).update(left=ZERO, right=t("Z", "i", "j"))),
    "no induction": (powers, lambda c: c.update(inductions=[])),
    "maps that differ": (pair, lambda c: c["iterates"][1].update(image=t("Y", "a", "b"))),
    "what holds at the first step alone": (layers, only_first),
}


@pytest.mark.parametrize("name", TRUE)
def test_a_true_induction_is_written(name: str) -> None:
    found = written(TRUE[name]())
    assert found.text and "Induction" in found.checked.rules, found.reason
    assert not formula(TRUE[name]())[0].text


@pytest.mark.parametrize("name", FALSE)
def test_a_false_induction_is_not_written(name: str) -> None:
    whole, change = FALSE[name]
    made = whole()
    change(made)
    try:
        text = written(made).text
    except LookupError:  # a use of what is not there
        text = ""
    assert not text


def test_a_derivative_in_an_input_on_which_an_iterate_may_depend_is_not_written() -> None:
    """B is an iterate of M: its derivative in M is not 0, as that of an input would be."""
    made = powers()
    indices = [[i, "n"] for i in "ijkl"]
    left = ["diff", "M", ["k", "l"], t("B", "i", "j")]
    made["parts"] = [{"indices": indices, "left": left, "right": ZERO, "uses": []}]
    assert "derivative" in written(made).reason


# -- exponentials ------------------------------------------------------------------------------------------------------
W, V = "(i 20 0)", "(i 21 0)"
OF_ONE, OF_TWO = "Arbitrary 1", "Arbitrary 2"
MINUS, TURNED = f"(Neg {SQUARE})", e(0, U, S)
NOTHING = f"(Add {SQUARE} {MINUS})"


def square(head: str, argument: str) -> tuple[str, list[str], str]:
    return one(head, argument, (S, U))


def summed(name: str, a: str, b: str) -> str:
    return f"(Sum {name} (Mul {a} {b}))"


OPPOSITE = {10: square(OF_ONE, SQUARE), 11: square(OF_ONE, MINUS)}
FIXED = {10: square(OF_ONE, NOTHING)}
BETWEEN = {10: square(OF_ONE, NOTHING), 11: square(OF_ONE, NOTHING)}
BETWEEN_SIDES = {
    "left": summed(W, e(10, A, W), e(2, W, B)), "right": summed(V, e(2, A, V), e(11, V, B)),
}  # fmt: skip
#: Input 0 is a matrix X, 2 is one that stands between, and 3 is a vector; X - X annihilates all.
LINKS = {
    "Known": Identity(
        "(Known (StepSquare 10))",
        f"(Mul {e(10, S)} {e(10, S)})",
        e(10, S),
        {10: one("Step")},
        wrong={"no step": {"table": {10: one("Exp")}}},
    ),
    "Intertwined": Identity(
        f"(Intertwined 10 11 2 [::] [:: {A}] [:: {B}] [:: {W}] [:: {V}] {OK})",
        **BETWEEN_SIDES,
        table=BETWEEN,
        wrong={
            "not intertwined": {"table": {**BETWEEN, 11: square(OF_ONE, SQUARE)}},
            "no exponential": {"table": {**BETWEEN, 11: square("Softmax 1", NOTHING)}},
            "another count": {"table": {**BETWEEN, 11: square(OF_TWO, NOTHING)}},
            "not square": {"table": {**BETWEEN, 11: one(OF_ONE, n(0), (S, "(i 1 1)"))}},
            "a name of both sides": {
                "step": f"(Intertwined 10 11 2 [::] [:: {A}] [:: {A}] [:: {W}] [:: {V}] {OK})",
                "left": summed(W, e(10, A, W), e(2, W, A)),
                "right": summed(V, e(2, A, V), e(11, V, A)),
            },
            "a name of a row for the sum": {
                "step": f"(Intertwined 10 11 2 [::] [:: {A}] [:: {B}] [:: {A}] [:: {V}] {OK})",
                "left": summed(A, e(10, A, A), e(2, A, B)),
            },
            "the other way round": {"right": summed(V, e(11, A, V), e(2, V, B))},
        },
    ),
    "Fixes": Identity(
        f"(Fixes 10 3 [::] [:: {A}] [:: {W}] {OK})",
        summed(W, e(10, A, W), e(3, W)),
        e(3, A),
        FIXED,
        wrong={
            "not annihilated": {"table": {10: square(OF_ONE, SQUARE)}},
            "no exponential": {"table": {10: square("Inverse 1", NOTHING)}},
            "another count": {"table": {10: square(OF_TWO, NOTHING)}},
            "a name of a row for the sum": {
                "step": f"(Fixes 10 3 [::] [:: {A}] [:: {A}] {OK})",
                "left": summed(A, e(10, A, A), e(3, A)),
            },
            "a name that stands in the vector": {
                "step": f"(Fixes 10 3 [:: {W}] [:: {A}] [:: {W}] {OK})",
                "left": summed(W, e(10, A, W), e(3, W, W)),
                "right": e(3, W, A),
            },
        },
    ),
    "Opposite": Identity(
        f"(Opposite 10 11 [:: {W}] {OK})",
        summed(W, e(10, S, W), e(11, W, U)),
        f"(Mul (Delta {S} {U}) {n(1)})",
        OPPOSITE,
        wrong={
            "the same": {"table": {**OPPOSITE, 11: square(OF_ONE, SQUARE)}},
            "the negative transpose": {"table": {**OPPOSITE, 11: square(OF_ONE, f"(Neg {TURNED})")}},
            "no exponential": {"table": {10: square("Softmax 1", SQUARE), 11: square("Softmax 1", MINUS)}},
            "two functions": {"table": {**OPPOSITE, 11: square("Exp", MINUS)}},
            "another count": {"table": {10: square(OF_TWO, SQUARE), 11: square(OF_TWO, MINUS)}},
            "a name of a column for the sum": {
                "step": f"(Opposite 10 11 [:: {U}] {OK})",
                "left": summed(U, e(10, S, U), e(11, U, U)),
            },
        },
    ),
    "Transposed": Identity(
        f"(Transposed 10 11 {OK})",
        e(11, S, U),
        e(10, U, S),
        {10: square(OF_ONE, SQUARE), 11: square(OF_ONE, TURNED)},
        wrong={
            "no transpose": {"table": {10: square(OF_ONE, SQUARE), 11: square(OF_ONE, MINUS)}},
            "not turned": {"right": e(10, S, U)},
            "no exponential": {"table": {10: square("Softmax 1", SQUARE), 11: square("Softmax 1", TURNED)}},
            "two functions": {"table": {10: square(OF_ONE, SQUARE), 11: square("Inverse 1", TURNED)}},
            "another count": {"table": {10: square(OF_TWO, SQUARE), 11: square(OF_TWO, TURNED)}},
        },
    ),
}


def asked(case: Identity) -> str:
    """Whether the checker accepts a case, as a term."""
    text = case.text().replace("in accepts functions", "in accepts_by_links functions")
    return f"Eval vm_compute in ({text}).\n"


def test_every_link_has_a_case() -> None:
    assert set(LINKS) == declared("ExponentialRules", "link")


@pytest.fixture(scope="module")
def answers(compiled_rocq: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], bool]:
    cases = {(rule, ""): case for rule, case in LINKS.items()}
    cases |= {(rule, name): new for rule, case in LINKS.items() for name, new in case.changed().items()}
    path = tmp_path_factory.mktemp("links") / "Asked.v"
    path.write_text(HEADER + "".join(map(asked, cases.values())), encoding="utf-8")
    accepted, said = coqc(compiled_rocq, path)
    assert accepted, said
    found = re.findall(r"= (true|false)\s*: bool", said)
    assert len(found) == len(cases), said
    return {name: answer == "true" for name, answer in zip(cases, found, strict=True)}


@needs_rocq
@pytest.mark.parametrize("rule", LINKS)
def test_a_link_that_is_used_wrongly_is_refused(rule: str, answers: dict[tuple[str, str], bool]) -> None:
    assert answers[rule, ""]
    assert not [name for name in LINKS[rule].changed() if answers[rule, name]]


def turned_exponential(sign: int) -> dict[str, Any]:
    """exp(M^T) = exp(M)^T, or that with another sign."""

    def expm(first_: str, second: str, i: str, j: str) -> Any:
        return ["f", "expm", [[[["r", "n"], ["c", "n"]], t("M", first_, second)]], [i, j]]

    return certificate(
        expm("c", "r", "i", "j"), ["*", ["q", sign, 1], expm("r", "c", "j", "i")], indices=[["i", "n"], ["j", "n"]]
    )


def test_the_exponential_of_a_transpose_is_found() -> None:
    assert "Transposed" in written(turned_exponential(1)).checked.rules
    assert not written(turned_exponential(-1)).text


@needs_rocq
def test_the_kernel_accepts_true_inductions_and_refuses_planted_ones(compiled_rocq: Path, tmp_path: Path) -> None:
    texts = {name: written({**made(), "claim": name}).text for name, made in TRUE.items()}
    texts["turned"] = written({**turned_exponential(1), "claim": "turned"}).text
    assert all(texts.values())
    image = "(Mul (Entry 10 [:: (i 1000 0); (i 1002 0)]) (Entry 3 [:: (i 1002 0); (i 1001 0)]))"
    found = re.search(r"Iterate 8 10 12 .*?(?=\]\.$)", texts["powers"], re.M)
    assert found is not None

    def beside(other: str) -> str:
        return planted(texts["powers"], found[0], f"{found[0]}; {found[0].replace('Iterate 8 10 12', other)}")

    false = {
        # two iterates that move as one, and one input that is two: no inputs might be both, and all is true of none
        "one": beside("Iterate 9 10 13"),
        "both": beside("Iterate 8 11 13"),
        "start": planted(texts["powers"], "(Delta (i 1000 0) (i 1001 0)) (Plain", "(Entry 4 [:: (i 1000 0); (i 1001 0)]) (Plain"),
        "image": planted(texts["powers"], image, image.replace("Entry 3", "Entry 4")),
        # an image that is the number of the next variable, a variable twice, and a start that moves
        "circle": planted(texts["powers"], "Iterate 8 10 12", "Iterate 8 10 10"),
        "twice": planted(texts["pair"], "Iterate 9 11 13", "Iterate 9 11 12"),
        "moving": planted(texts["powers"], "(Delta (i 1000 0) (i 1001 0)) (Plain", "(Entry 10 [:: (i 1000 0); (i 1001 0)]) (Plain"),
        # another iterate is said to be the one
        "value": planted(texts["powers"], "Iterate 8 10 12", "Iterate 9 10 12"),
        # a hypothesis about what moves
        "hypothesis": planted(texts["powers"], "((Size 2), (Int 3%Z))", "((Entry 10 [:: (i 1 0); (i 2 0)]), (Int 0%Z))"),
        # the number of the step in an invariant, and no number of a step
        "clock": re.sub(r"(clock : seq index := )\[:: .*?\]", r"\1[::]", accepted_as("false", texts["layers"])),
    }  # fmt: skip
    source = HEADER + "".join(texts.values())
    for name, text in false.items():
        source += re.sub(r"\b(Module|End) C_\w+", rf"\1 Wrong_{name}", text)
    path = tmp_path / "Inductions.v"
    path.write_text(source, encoding="utf-8")
    accepted, said = coqc(compiled_rocq, path)
    assert accepted, said
