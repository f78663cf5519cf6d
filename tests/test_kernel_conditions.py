"""What theorems in Rocq assume holds at the inputs that their claims draw: it can be met, and it is no more than a claim says.

A grade rests on this: what is said here of `theorems/kernel.json` is computed again, with fewer inputs.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import flint
import mpmath
import pytest

from tests.kernel_points import Point
from tests.test_kernel_hypotheses import certificate_of
from tests.test_kernel_hypotheses import expanded as with_definitions
from verify import matrix
from verify.checks.certified import kept_of
from verify.inputs.generators import applicable_domains
from verify.vocabulary import Claim, Equal, Paper, Shape, load

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "rocq"))

import conditions  # noqa: E402
from meaning import Meaning, Unknown, as_ball  # noqa: E402
from syntax import Node, expanded  # noqa: E402
from words import words_of  # noqa: E402

pytestmark = pytest.mark.kept("rocq/*.py")

FOUND = json.loads((ROOT / "theorems/kernel.json").read_text(encoding="utf-8"))["claims"]
REGISTRY = load()
GRADED = [
    name
    for name, line in {name: kept_of(REGISTRY[name]) for name in FOUND if name in REGISTRY}.items()
    if line is not None and sha256(line.encode()).hexdigest() == FOUND[name]["certificate"]  # others have no grade
]
WITH_CONDITIONS = [name for name in GRADED if FOUND[name]["conditions"]]
MASKED = "transformer.masked-softmax-jacobian"
#: Layers that give 0 in a row where nothing may be attended to; the theorems divide by the sums of rows.
EMPTY_ROWS = {"transformer.empty-rows-jacobian-query", "transformer.empty-rows-mean-jacobian"}


@pytest.fixture(autouse=True)
def deep_expressions() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20000)
    yield
    sys.setrecursionlimit(before)


# -- the claims --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_CONDITIONS)
def test_conditions_hold_where_the_file_says_so(name: str) -> None:
    """The conditions as the exporter writes them now, from the certificate that is kept, at one draw of every domain."""
    claim, said = conditions.exported(certificate_of(name)), FOUND[name]
    assert [f"{what} {entry}" for what, entry in claim.conditions] == said["conditions"]
    assert words_of(claim) == said["assumed"] and len(said["assumed"]) > 0
    found = conditions.met(claim, REGISTRY[name], rounds=1)
    assert found["inputs"] >= len(applicable_domains(REGISTRY[name])) or name in EMPTY_ROWS
    assert found["not met"].keys() <= said["met"]["not met"].keys()
    assert said["met"]["inputs"] > found["inputs"]


def test_every_claim_in_the_file_was_tested() -> None:
    assert all(FOUND[name]["met"]["inputs"] >= 10 for name in GRADED)


def test_what_assumes_more_than_its_claim_is_about_a_ramp_away_from_its_kink_or_empty_rows() -> None:
    """Claims about ramps say with autodiff what the derivative is at the kink; the theorems leave it out."""
    more = {name for name, item in FOUND.items() if item["met"]["not met"]}
    assert more >= EMPTY_ROWS & FOUND.keys()
    more -= EMPTY_ROWS
    assert {"convergence.eq-73", "convergence.algorithm-1"} <= more
    for name in more:
        assert "step" in json.dumps(certificate_of(name)) or "relu" in json.dumps(certificate_of(name))
        assert re.fullmatch(r"sum_.* softmax\(.* is not 0", FOUND[name]["assumed"][-1])


# -- planted -----------------------------------------------------------------------------------------------------------


def planted(what: str, argument: Any, slots: tuple[Any, ...] = (), name: str = MASKED) -> dict[str, Any]:
    """What is found of a claim whose theorem assumes this besides."""
    claim = conditions.exported(certificate_of(name))
    argument = argument(claim) if callable(argument) else argument
    claim.add_node(10**6, Node(("Log",), slots, argument))
    claim.conditions.append((what, 10**6))
    return conditions.met(claim, REGISTRY[name], rounds=1)


def entry(name: str) -> Any:
    return lambda claim: ("e", claim.entries[name], ((0, 0), (1, 1)))


SLOTS = ((0, 0), (1, 1))


@pytest.mark.parametrize("what", ["IsPositive", "IsNonzero", "IsInvertible"])
def test_a_condition_that_no_input_meets_is_found(what: str) -> None:
    zero = ("+", ("p", ("l", 0), 1, 1), ("*", ("n", -1, 1), ("p", ("l", 0), 1, 1)))
    matrix_slots = ((0, 0), (1, 0)) if what == "IsInvertible" else ()
    found = planted(what, zero, matrix_slots)
    assert found["inputs"] == 0 and f"{what} 1000000" in found["not met"]


@pytest.mark.parametrize(
    ("what", "name"), [("IsPositive", "T"), ("IsNonzero", "T"), ("IsPositive", "M"), ("IsNonzero", "M")]
)
def test_a_condition_that_some_inputs_do_not_meet_is_found(what: str, name: str) -> None:
    """The claim says nothing of the signs of T, and a mask has zeros; at some inputs both are positive."""
    found = planted(what, entry(name), SLOTS)
    assert "it does not hold at an input of the domain" in found["not met"][f"{what} 1000000"]


def test_a_condition_that_every_input_meets_is_no_problem() -> None:
    assert (
        planted("IsPositive", lambda claim: ("+", ("n", 1, 1), ("*", *[entry("T")(claim)] * 2)), SLOTS)["not met"] == {}
    )


def test_what_has_no_value_is_not_met() -> None:
    found = planted("IsPositive", ("e", 999, ()))
    assert found["inputs"] == 0 and "has no value" in found["not met"]["IsPositive 1000000"]


def test_a_size_that_may_be_0_and_a_scalar_that_may_be_negative_are_found() -> None:
    made = copy.deepcopy(certificate_of("transformer.rms-norm-jacobian"))
    made["sizes"]["less"] = ["+", ["size", "d"], ["q", -1, 1]]
    found = conditions.met(conditions.exported(made), REGISTRY["transformer.rms-norm-jacobian"], rounds=1)
    assert found["not met"].keys() == {"size less"}
    number = "dynamics.eq-97-oscillation"
    claim = conditions.exported(certificate_of(number))
    claim.scalars["eta"] = 0
    assert conditions.met(claim, REGISTRY[number], rounds=1)["not met"].keys() == {"scalar eta"}


# -- from a certificate on: the root of a number, of which nothing is said, and of a square ----------------------------

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
Vector = Annotated[Any, Shape("n", "1")]


def toy(side: Any) -> Claim:
    claim = Claim(PAPER, "toy.a", "a", name="toy", statement="x", relation=Equal(), assumptions=(), sizes={"n": (1, 3)})
    claim.formula(side)
    claim.oracle(side)
    return claim


def of_any(x: Vector) -> Any:
    return x * 1


def of_root(x: Vector) -> Any:
    return matrix.sqrt(x)


def of_log(x: Vector) -> Any:
    return matrix.log(x)


def root_of(inner: Any) -> dict[str, Any]:
    """The derivative of the root of something, which is differentiable where it is positive."""
    side = ["diff", "x", ["b"], ["power", 1, 2, inner]]
    return {
        "format": 1, "kind": "identity", "claim": "toy.a", "sizes": {"n": None}, "inputs": {"x": {"sizes": ["n"]}},
        "variables": {}, "definitions": [], "hypotheses": [],
        "parts": [{"indices": [["a", "n"], ["b", "n"]], "left": side, "right": side, "uses": []}],
    }  # fmt: skip


X = ["t", "x", ["a"]]


def test_the_exporters_own_condition_is_found_where_the_claim_has_no_such_assumption() -> None:
    claim = conditions.exported(root_of(X))
    assert words_of(claim) == ["x[i] is positive"]
    found = conditions.met(claim, toy(of_any))
    assert found["inputs"] > 0 and found["not met"].keys() == {f"{what} {k}" for what, k in claim.conditions}
    never = conditions.met(conditions.exported(root_of(["+", ["*", ["q", -1, 1], X, X], ["q", -1, 1]])), toy(of_any))
    assert never["inputs"] == 0 and never["not met"]


def test_where_a_side_has_no_value_nothing_is_asked() -> None:
    """The claim's own function is the logarithm: what is not positive is no input of it.  A root has a value at 0, and no slope."""
    theorem = conditions.exported(root_of(X))
    found = conditions.met(theorem, toy(of_log))
    assert found["inputs"] > 0 and found["not met"] == {}
    at_zero = conditions.met(theorem, toy(of_root))
    assert at_zero["inputs"] == found["inputs"] and at_zero["not met"]
    assert conditions.met(conditions.exported(root_of(["+", ["*", X, X], ["q", 1, 1]])), toy(of_any))["not met"] == {}


# -- what expressions mean ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [MASKED, "transformer.rms-norm-jacobian", "convergence.eq-73"])
def test_expressions_mean_here_what_they_mean_in_the_certificate(name: str) -> None:
    """Balls of the exporter's expressions against numbers of the certificate's, derivatives as difference quotients."""
    claim, stated = conditions.exported(certificate_of(name)), REGISTRY[name]
    part = certificate_of(name)["parts"][0]
    own, taken, largest = claim.bound(part["indices"]), itertools.count(), 0.0
    sides = [expanded(claim.read(part[side], own, {})) for side in ("left", "right")]
    written = [with_definitions(part[side], certificate_of(name), taken) for side in ("left", "right")]
    for draw, seed, arrays in conditions.drawn(stated, 1)[:9:4]:
        here = conditions.meaning(claim, stated, draw, seed, arrays)
        point = point_of(claim, here)
        for at, k in itertools.islice(itertools.product(point.each(part["indices"]), range(2)), 40):
            ball = here.value(sides[k], {own[index]: place for index, place in at.items()})
            with mpmath.workdps(36):
                number = float(point.value(written[k], at))
            assert float(ball.mid()) == pytest.approx(number, abs=1e-9, rel=1e-9)
            largest = max(largest, abs(number))
    assert largest > 0


def point_of(claim: Any, here: Meaning) -> Point:
    """The same inputs for the other evaluation."""
    tensors = {
        name: {place: mpmath.mpf(float(x)) for place, x in here.inputs[k].items()}
        for name, k in claim.entries.items()
        if k in here.inputs
    }
    scalars = {name: {(): mpmath.mpf(float(here.scalars[k]))} for name, k in claim.scalars.items()}
    return Point({size: here.sizes[k] for size, k in claim.sizes.items()}, {**tensors, **scalars})


def test_functions_outside_their_domains_are_those_of_the_theory() -> None:
    """A root and a logarithm of what is negative, 1 / 0 and a step at 0 are 0; an inverse that does not exist is not known."""
    heads = [("Raised", Fraction(1, 2)), ("Log",), ("Raised", Fraction(-1)), ("Step",)]
    nodes = {k: Node(head, (), ("n", -1 if k < 2 else 0, 1)) for k, head in enumerate(heads)}
    nodes[9] = Node(("Inverse", 1), ((0, 0), (1, 0)), ("n", 1, 1))
    made = Meaning({0: 2}, {}, {}, nodes)
    assert all(made.entry(k, ()) == 0 for k in range(4))
    with pytest.raises(Unknown):
        made.entry(9, (0, 0))
    with pytest.raises(Unknown, match="finite"):
        as_ball(float("nan"))


def test_an_inverse_and_a_softmax() -> None:
    delta = ("+", ("d", (0, 0), (1, 0)), ("n", 1, 1))
    made = Meaning(
        {0: 2},
        {},
        {},
        {1: Node(("Inverse", 1), ((0, 0), (1, 0)), delta), 2: Node(("Softmax", 1), ((0, 0),), ("n", 3, 1))},
    )
    assert [float(made.entry(1, place)) for place in ((0, 0), (0, 1))] == pytest.approx([2 / 3, -1 / 3])
    assert float(made.entry(2, (0,))) == pytest.approx(0.5)
    assert made.holds("IsInvertible", 1) and made.holds("IsPositive", 1)


def test_balls_that_cannot_tell_are_not_met() -> None:
    third = Node(("Log",), (), ("+", ("p", ("l", 0), 1, 2), ("*", ("n", -1, 1), ("p", ("l", 0), 1, 2))))
    with flint.ctx.workprec(64), pytest.raises(Unknown):
        Meaning({0: 3}, {}, {}, {1: third}).holds("IsNonzero", 1)
