"""Inductions in certificates: what the checker accepts of iterates, and what a liar would write, which it has to refuse."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.test_kernel import ONE, ZERO, I, J, certificate, f, inverse, is_refused, minus, t
from tests.test_kernel import check as check_identity

pytestmark = pytest.mark.kept

A, B = ["a", "n"], ["b", "n"]
MATRIX = {"sizes": ["n", "n"]}


def product(left: str, right: str, i: str, j: str, over: str) -> Any:
    return ["sum", [over, "n"], ["*", t(left, i, over), t(right, over, j)]]


def used(number: int, *at: str, times: Any = ONE, over: Any = ()) -> dict[str, Any]:
    return {"hypothesis": number, "at": list(at), "over": list(over), "times": times}


def iterate(value: str, variable: str, start: Any, image: Any, **other: Any) -> dict[str, Any]:
    return {
        "value": value, "count": "K", "variable": variable, "indices": [A, B], "start": start, "image": image, **other,
    }  # fmt: skip


def invariant(left: Any, right: Any, start: Any = (), step: Any = ()) -> dict[str, Any]:
    return {"indices": [I, J], "left": left, "right": right, "start": list(start), "step": list(step)}


def times_m(variable: str) -> Any:
    """Z M, the image of Z."""
    return product(variable, "M", "a", "b", "k")


def powers() -> dict[str, Any]:
    """M B = B M for the iterate B of Z -> Z M from the identity: M commutes with its powers."""
    tensors = certificate(ZERO, ZERO)
    step = [used(0, "i", "k", times=t("M", "k", "j"), over=[["k", "n"]])]
    left, right = product("M", "B", "i", "j", "k"), product("B", "M", "i", "j", "k")
    return certificate(
        left,
        right,
        [used(0, "i", "j")],
        [I, J],
        inputs={**tensors["inputs"], "B": MATRIX, "C": MATRIX},
        variables={"Z": MATRIX, "Y": MATRIX},
        iterates=[iterate("B", "Z", ["delta", "a", "b"], times_m("Z"))],
        inductions=[
            {
                "iterates": [0],
                "invariants": [
                    invariant(product("M", "Z", "i", "j", "k"), product("Z", "M", "i", "j", "k"), step=step)
                ],
            }
        ],
    )


def test_a_matrix_commutes_with_its_powers() -> None:
    found = check_identity(powers())
    assert found.rules == ("induction",)
    assert found.hypotheses == ()


def pair() -> dict[str, Any]:
    """B = C, where both are iterates of Z -> 2 Z, the one from S and the other one from the transpose of a symmetric S."""
    made = powers()
    made["hypotheses"] = [
        {"name": "S is symmetric", "indices": [I, J], "left": t("S", "i", "j"), "right": t("S", "j", "i")}
    ]
    made["iterates"] = [
        iterate("B", "Z", t("S", "a", "b"), ["*", ["q", 2, 1], t("Z", "a", "b")]),
        iterate("C", "Y", t("S", "b", "a"), ["*", ["q", 2, 1], t("Y", "a", "b")]),
    ]
    shown = invariant(
        t("Z", "i", "j"), t("Y", "i", "j"), [used(0, "i", "j")], [used(1, "i", "j", times=["q", 2, 1])]
    )  # fmt: skip
    made["inductions"] = [{"iterates": [0, 1], "invariants": [shown]}]
    made["parts"] = [
        {"indices": [I, J], "left": t("B", "i", "j"), "right": t("C", "i", "j"), "uses": [used(1, "i", "j")]}
    ]
    return made


def test_two_iterates_of_one_number_of_steps_are_compared() -> None:
    found = check_identity(pair())
    assert (found.rules, found.hypotheses) == (("induction",), ("S is symmetric",))


@pytest.mark.parametrize("count", range(4))
def test_what_the_inductions_show_holds_in_floats(count: int) -> None:
    M = np.random.default_rng(count).normal(size=(3, 3))
    power = np.linalg.matrix_power(M, count)
    assert np.allclose(M @ power, power @ M)


Forged = Callable[[dict[str, Any]], Any]


def first(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = made["inductions"][0]["invariants"][0]
    return found


#: Changes of the certificate that M commutes with its powers, each with a word of the refusal.
FORGED: dict[str, tuple[Forged, str]] = {
    "another start": (lambda c: c["iterates"][0].update(start=t("N", "a", "b")), "start"),
    "another image": (lambda c: c["iterates"][0].update(image=product("Z", "N", "a", "b", "k")), "step"),
    "a step that is not shown": (lambda c: first(c).update(step=[]), "step"),
    "an invariant that the start lacks": (
        lambda c: first(c).update(
            left=ZERO, right=t("Z", "i", "j"), step=[used(0, "i", "k", times=t("M", "k", "j"), over=[["k", "n"]])]
        ),
        "start",
    ),
    "the invariant itself used at the start": (
        lambda c: (c["iterates"][0].update(start=t("N", "a", "b")), first(c).update(start=[used(0, "i", "j")])),
        "there is no hypothesis",
    ),
    "no induction, but its result": (lambda c: c.update(inductions=[]), "there is no hypothesis"),
    "an induction over nothing": (lambda c: c["inductions"][0].update(iterates=[]), "numbers of steps"),
    "an iterate that there is not": (lambda c: c["inductions"][0].update(iterates=[1]), "no iterate"),
    "an iterate counted from the end": (lambda c: c["inductions"][0].update(iterates=[-1]), "no iterate"),
    "an iterate named by a truth value": (lambda c: c["inductions"][0].update(iterates=[False]), "no iterate"),
    "an iterate named twice": (lambda c: c["inductions"][0].update(iterates=[0, 0]), "named twice"),
    "no invariant": (lambda c: c["inductions"][0].update(invariants=[]), "without an invariant"),
    "a key more": (lambda c: c["inductions"][0].update(more=1), "unknown key"),
    "a key more of an iterate": (lambda c: c["iterates"][0].update(more=1), "unknown key"),
    "no iterates": (lambda c: c.pop("iterates"), "no iterate"),
    "a start that is the iterate": (lambda c: c["iterates"][0].update(start=t("B", "a", "b")), "stands"),
    "an image that is the iterate": (lambda c: c["iterates"][0].update(image=t("B", "a", "b")), "stands"),
    "an image with the iterate in a function": (
        lambda c: c["iterates"][0].update(image=f("exp", t("B", "a", "b"))), "stands",
    ),
    "a start that is the variable": (lambda c: c["iterates"][0].update(start=t("Z", "a", "b")), "stands"),
    "a start that is another variable": (lambda c: c["iterates"][0].update(start=t("Y", "a", "b")), "stands"),
    "an image of another variable": (lambda c: c["iterates"][0].update(image=t("Y", "a", "b")), "stands"),
    "an image that is not everywhere": (
        lambda c: c["iterates"][0].update(image=["power", -1, 1, t("Z", "a", "b")]), "defined everywhere",
    ),
    "an inverse in the start": (lambda c: c["iterates"][0].update(start=inverse("M", "a", "b")), "defined everywhere"),
    "a root in the image": (
        lambda c: c["iterates"][0].update(image=["power", 1, 2, t("Z", "a", "b")]), "defined everywhere",
    ),
    "an invariant that is not everywhere": (
        lambda c: first(c).update(left=f("log", t("Z", "i", "j"))), "defined everywhere",
    ),
    "an invariant that names the iterate": (lambda c: first(c).update(right=t("B", "i", "j")), "stands"),
    "an invariant about another variable": (lambda c: first(c).update(right=t("Y", "i", "j")), "stands"),
    "a hypothesis about the variable": (
        lambda c: c.update(hypotheses=[{"name": "Z = 0", "indices": [I, J], "left": t("Z", "i", "j"), "right": ZERO}]),
        "about the variable",
    ),
    "a hypothesis about a function of the variable": (
        lambda c: c.update(
            hypotheses=[{"name": "e^Z = 1", "indices": [I, J], "left": f("exp", t("Z", "i", "j")), "right": ONE}]
        ),
        "about the variable",
    ),
    "declared twice": (lambda c: c["iterates"].append(copy.deepcopy(c["iterates"][0])), "twice"),
    "two maps of one variable": (
        lambda c: c["iterates"].append(iterate("C", "Z", ["delta", "a", "b"], times_m("Z"))), "twice",
    ),
    "the value is a variable": (lambda c: c["iterates"][0].update(value="Y"), "no input"),
    "the variable is an input": (lambda c: c["iterates"][0].update(variable="M"), "no variable"),
    "the value is not declared": (lambda c: c["iterates"][0].update(value="B'"), "not declared"),
    "no name of a count": (lambda c: c["iterates"][0].update(count=3), "no name"),
    "of another size": (lambda c: c["inputs"].update(B={"sizes": ["n", "m"]}), "sizes"),
    "the variable has another size": (lambda c: c["variables"].update(Z={"sizes": ["m", "n"]}), "sizes"),
}  # fmt: skip


PAIRED: dict[str, tuple[Forged, str]] = {
    "another number of steps": (lambda c: c["iterates"][1].update(count="L"), "numbers of steps"),
    "maps that differ": (lambda c: c["iterates"][1].update(image=t("Y", "a", "b")), "step"),
    "the starts differ": (lambda c: c["iterates"][1].update(start=t("N", "a", "b")), "start"),
    "an iterate that is left out": (lambda c: c["inductions"][0].update(iterates=[0]), "another variable stands"),
}


@pytest.mark.parametrize(
    ("whole", "change", "said"),
    [pytest.param(powers, *FORGED[name], id=name) for name in sorted(FORGED)]
    + [pytest.param(pair, *PAIRED[name], id=f"two iterates: {name}") for name in sorted(PAIRED)],
)
def test_a_forged_induction_is_refused(whole: Callable[[], dict[str, Any]], change: Any, said: str) -> None:
    made = whole()
    change(made)
    assert said in is_refused(made)


def test_a_positive_scalar_is_no_iterate() -> None:
    """p = -1 after one step from 1 by Z -> -Z, though the checker takes p to be positive."""
    made = powers()
    made["variables"]["w"] = {"sizes": []}
    made["iterates"] = [
        {"value": "p", "count": "K", "variable": "w", "indices": [], "start": ONE, "image": minus(t("w"))}
    ]  # fmt: skip
    made["inductions"] = []
    assert "positive" in is_refused(made)


def test_a_derivative_in_what_an_iterate_depends_on_is_refused() -> None:
    """dB / dM = 0 of an input B, and not of the iterate B of a map with M."""
    made = powers()
    made["inductions"] = []
    slope = ["diff", "M", ["i", "j"], t("B", "i", "j")]
    made["parts"] = [{"indices": [I, J], "left": slope, "right": ZERO, "uses": []}]
    assert "a derivative in an input" in is_refused(made)
    made["parts"][0]["left"] = ["diff", "Z", ["i", "j"], t("B", "i", "j")]
    check_identity(made)  # of the variable it is free
    made["definitions"] = [["D", [I, J], slope]]
    made["parts"][0]["left"] = t("D", "i", "j")
    assert "a derivative in an input" in is_refused(made)


def test_a_step_may_divide_by_nothing() -> None:
    """Z -> 0 from p M with a Z = 0 assumed: that a may be divided by is not known, whatever the parts divide by."""
    made = powers()
    made["hypotheses"] = [
        {"name": "a M = 0", "indices": [I, J], "left": ["*", t("a"), t("M", "i", "j")], "right": ZERO}
    ]  # fmt: skip
    made["iterates"] = [iterate("B", "Z", t("M", "a", "b"), t("Z", "a", "b"))]
    divided = used(0, "i", "j", times=["power", -1, 1, t("a")])
    made["inductions"] = [
        {"iterates": [0], "invariants": [invariant(t("Z", "i", "j"), ZERO, [divided], [used(1, "i", "j")])]}
    ]
    over = ["power", -1, 1, t("a")]
    made["parts"] = [
        {
            "indices": [I, J],
            "left": ["*", over, t("B", "i", "j")],
            "right": ZERO,
            "uses": [used(1, "i", "j", times=over)],
        }
    ]
    assert "divides by" in is_refused(made)


def test_invariants_hold_together_and_each_may_use_the_others() -> None:
    """Z = Y and Y = Z for Z -> Y', where only the two together are kept."""
    made = pair()
    both = [
        invariant(t("Z", "i", "j"), t("Y", "i", "j"), [used(0, "i", "j")], [used(2, "i", "j", times=["q", -2, 1])]),
        invariant(
            t("Y", "i", "j"), t("Z", "i", "j"), [used(0, "i", "j", times=["q", -1, 1])], [used(1, "i", "j", times=["q", -2, 1])]
        ),
    ]  # fmt: skip
    made["inductions"][0]["invariants"] = both
    check_identity(made)
    both[1]["start"] = []
    assert "start" in is_refused(made)


# -- maps that depend on the step, and matrices that move together -----------------------------------------------------

STACK = {"sizes": ["K", "n", "n"]}


def layer(variable: str, weights: str = "W") -> Any:
    """Z W_p, the image of Z at step p."""
    return ["sum", ["k", "n"], ["*", t(variable, "a", "k"), t(weights, "p", "k", "b")]]


def layers() -> dict[str, Any]:
    """B = S C, where Z -> Z W_p leads from S to B and from the identity to C, for a stack W of as many matrices as steps."""
    made = powers()
    made["sizes"]["K"] = None
    made["inputs"] |= {"W": STACK, "V": {"sizes": ["m", "n", "n"]}}
    made["iterates"] = [
        iterate("B", "Z", t("S", "a", "b"), layer("Z"), step="p"),
        iterate("C", "Y", ["delta", "a", "b"], layer("Y"), step="p"),
    ]
    step = [used(0, "i", "k", times=t("W", "q", "k", "j"), over=[["k", "n"]])]
    shown = invariant(t("Z", "i", "j"), product("S", "Y", "i", "j", "k"), step=step)
    made["inductions"] = [{"iterates": [0, 1], "step": "q", "invariants": [shown]}]
    right = product("S", "C", "i", "j", "k")
    made["parts"] = [{"indices": [I, J], "left": t("B", "i", "j"), "right": right, "uses": [used(0, "i", "j")]}]
    return made


def test_a_map_may_depend_on_the_step() -> None:
    assert check_identity(layers()).rules == ("induction",)


def only_first(made: dict[str, Any]) -> None:
    """W_0 = I is known, and is used as if it were W_q: B = S is claimed."""
    left = ["sum", ["l", "K"], ["*", ["unit", 0, "l"], t("W", "l", "i", "j")]]
    made["hypotheses"] = [{"name": "W_0 = I", "indices": [I, J], "left": left, "right": ["delta", "i", "j"]}]
    made["iterates"] = made["iterates"][:1]
    step = [
        used(1, "i", "k", times=t("W", "q", "k", "j"), over=[["k", "n"]]),
        used(0, "k", "j", times=t("S", "i", "k"), over=[["k", "n"]]),
    ]
    shown = invariant(t("Z", "i", "j"), t("S", "i", "j"), step=step)
    made["inductions"] = [{"iterates": [0], "step": "q", "invariants": [shown]}]
    made["parts"][0] |= {"right": t("S", "i", "j"), "uses": [used(1, "i", "j")]}


LAYERED: dict[str, tuple[Forged, str]] = {
    "a stack of another length": (lambda c: c["iterates"][0].update(image=layer("Z", "V")), "belong"),
    "two lengths under one count": (lambda c: c["inputs"].update(W={"sizes": ["m", "n", "n"]}), "belong"),
    "a count that is no size": (lambda c: c["sizes"].pop("K"), "not declared"),
    "the step in a start": (lambda c: c["iterates"][0].update(start=t("W", "p", "a", "b")), "not bound"),
    "the step in an invariant": (lambda c: first(c).update(left=t("W", "q", "i", "j")), "not bound"),
    "the step of the map in an invariant": (lambda c: first(c).update(left=t("W", "p", "i", "j")), "not bound"),
    "the step in the start of an induction": (
        lambda c: first(c).update(start=[used(0, "q", "q")]), "there is no hypothesis",
    ),
    "the step at which the start is shown": (
        lambda c: (
            c.update(hypotheses=[{"name": "W = 0", "indices": [["l", "K"], I, J], "left": t("W", "l", "i", "j"), "right": ZERO}]),
            first(c).update(start=[used(0, "q", "i", "j")]),
        ),
        "not bound",
    ),
    "the step in a part": (lambda c: c["parts"][0].update(left=t("W", "q", "i", "j")), "not bound"),
    "a step that is an index of the matrix": (lambda c: c["iterates"][0].update(step="a"), "bound twice"),
    "an index of the invariant named as the step": (lambda c: c["inductions"][0].update(step="i"), "bound twice"),
    "a step without a name": (lambda c: c["inductions"][0].pop("step"), "names a step"),
    "a name for a step that no map has": (
        lambda c: [one.update(image=t(one["variable"], "a", "b")) or one.pop("step") for one in c["iterates"]],
        "names a step",
    ),
    "before the first step": (lambda c: c["iterates"][0].update(image=["*", ["unit", -1, "p"], layer("Z")]), "no place"),
    "after the last step": (
        lambda c: (
            c["sizes"].update(K=["q", 3, 1]),
            c["iterates"][0].update(image=["*", ["unit", 3, "p"], layer("Z")]),
        ),
        "no place",
    ),
    "the first step at every step": (
        lambda c: c["iterates"][0].update(
            image=["sum", ["l", "K"], ["*", ["unit", 0, "l"],
                   ["sum", ["k", "n"], ["*", t("Z", "a", "k"), t("W", "l", "k", "b")]]]]
        ),
        "step",
    ),
    "all steps at once": (
        lambda c: c["iterates"][0].update(
            image=["sum", ["l", "K"], ["sum", ["k", "n"], ["*", t("Z", "a", "k"), t("W", "l", "k", "b")]]]
        ),
        "step",
    ),
    "what holds at the first step alone": (only_first, "step"),
    "moved by the variable of another count": (
        lambda c: (c["iterates"][1].pop("step"), c["iterates"][1].update(count="L", image=t("Z", "a", "b"))),
        "stands",
    ),
    "one after the other": (  # Z -> Y and Y -> 2 Y: if Y gave way in the image of Z, Z = Y would seem to be kept
        lambda c: (
            [one.pop("step") for one in c["iterates"]], c["inductions"][0].pop("step"),
            c["iterates"][0].update(image=t("Y", "a", "b")),
            c["iterates"][1].update(start=t("S", "a", "b"), image=["*", ["q", 2, 1], t("Y", "a", "b")]),
            first(c).update(right=t("Y", "i", "j"), step=[]),
        ),
        "step",
    ),
    "a hypothesis about a variable that is left out": (
        lambda c: (
            c.update(hypotheses=[{"name": "Y = 0", "indices": [I, J], "left": t("Y", "i", "j"), "right": ZERO}]),
            c["iterates"][0].update(image=t("Y", "a", "b")),
            c["inductions"][0].update(iterates=[0]),
        ),
        "about the variable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LAYERED))
def test_a_forged_induction_over_steps_is_refused(name: str) -> None:
    change, said = LAYERED[name]
    made = layers()
    change(made)
    assert said in is_refused(made)


def test_matrices_move_together() -> None:
    """Z -> Y and Y -> Z from S and S: both stay equal, by the images of both at once."""
    made = layers()
    for one, other in zip(made["iterates"], ("Y", "Z"), strict=True):
        one.pop("step")
        one.update(start=t("S", "a", "b"), image=t(other, "a", "b"))
    made["inductions"][0].pop("step")
    first(made).update(right=t("Y", "i", "j"), step=[used(0, "i", "j", times=["q", -1, 1])])
    made["parts"][0]["right"] = t("C", "i", "j")
    check_identity(made)
