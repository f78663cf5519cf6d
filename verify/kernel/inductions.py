"""Iterates in certificates of identities, and what an induction over their steps shows of them.

An iterate is the value of a map that is applied to a start, some number of times.  That number is not known: it has a name,
and is the same for all iterates that name it.  These move together: the map of each may use the matrices of all.  A map may
also use the number of its step, which is an index of the size that the count names.  An invariant is an equation in one matrix
for each iterate.  If it holds of the starts, and at every step of the images of any matrices that meet it, then it holds of the
iterates, whatever their number of steps.

This is sound only because starts, maps and invariants are defined everywhere, and no derivative is taken in what an iterate
depends on: see `Iterate` and `induction_of`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from verify.kernel.expressions import Hypothesis, Language, Scope, fields, listed, named
from verify.kernel.normal_forms import ONE, Form, Index
from verify.kernel.refusal import Refused

#: What follows from an induction is used by this name.
INDUCTION = "induction"


@dataclass(frozen=True)
class Iterate:
    """`value` is what the map makes of the start after `count` steps; start and image are forms over `indices`.

    The image may also be over `step`, the number of the step counted from 0.
    """

    value: int
    count: str
    variable: int
    indices: tuple[Index, ...]
    step: Index | None
    start: Form
    image: Form


@dataclass(frozen=True)
class Invariant:
    """left - right of an equation over indices, and what it says of starts, of images and of iterates."""

    scope: Scope
    steps: Scope
    assumed: Hypothesis
    at_start: Form
    after_step: Form
    concluded: Hypothesis


def iterates_of(language: Language, items: Any) -> list[Iterate]:
    """The iterates that a certificate declares.

    A start depends on inputs alone, and a map on inputs and the variables of iterates with its count: these are what all of
    them are before the step.  No iterate stands in either, so that none is declared by itself.  Both are total, so that no
    step leads to where the next one is not defined.  The index of the step is bound in the image alone, and has the size that
    the count names: there is no other step, and all that is read at it has as many entries as there are steps.
    """
    found: list[Iterate] = []
    for item in listed(items, "iterates"):
        fields(item, "an iterate", ["value", "count", "variable", "indices", "start", "image"], ["step"])
        value, sizes = language.tensor(item["value"])
        variable, own = language.tensor(item["variable"])
        if item["value"] in language.variables or language.algebra.kinds[value] != "t":
            raise Refused("the value of an iterate is no input, or one that is declared positive")
        if item["variable"] not in language.variables:
            raise Refused("a map of what is no variable")
        if any(value == other.value or variable == other.variable for other in found):
            raise Refused("an iterate is declared twice")
        scope = language.bound(item["indices"], {})
        indices = tuple(scope.values())
        if not [index[1] for index in indices] == sizes == own:
            raise Refused("an iterate, its start and its image have different sizes")
        count = named(item["count"], "the count")
        steps = language.bound([[item["step"], count]], scope) if "step" in item else {}
        start, image = _total(language, item["start"], scope), _total(language, item["image"], {**scope, **steps})
        found.append(Iterate(value, count, variable, indices, next(iter(steps.values()), None), start, image))
    for one in found:
        together = {other.variable for other in found if other.count == one.count}
        for form, allowed in ((one.start, set[int]()), (one.image, together)):
            if (_mentioned(language, form) - allowed) & _apart(language, found):
                raise Refused("a start or a map in which an iterate or another variable stands")
    return found


def _apart(language: Language, iterates: Sequence[Iterate]) -> set[int]:
    """The iterates and all variables: what a start, a map and an invariant have of these is looked at."""
    return {one.value for one in iterates} | {language.tensor(name)[0] for name in language.variables}


def _mentioned(language: Language, form: Form) -> set[int]:
    """The declared tensors that stand in a form, in arguments of functions too."""
    algebra = language.algebra
    atoms = {atom for key in form for atom, _, _ in key}
    return {target for target, _ in language.tensors.values() if any(algebra.mentions(atom, target) for atom in atoms)}


def _total(language: Language, expression: Any, scope: Scope) -> Form:
    """The form of an expression that is defined everywhere."""
    before, language.algebra.asked = language.algebra.asked, set()
    form = language.form(expression, scope)
    if any(what != "seen" for _, _, what in language.algebra.asked):
        raise Refused("an iterate or an invariant that is not defined everywhere")
    language.algebra.asked = before
    return form


def induction_of(language: Language, iterates: Sequence[Iterate], item: Any) -> list[Invariant]:
    """The invariants of an induction, whose numbers as hypotheses follow those that there are.

    They hold together: in a step each may be used.  Nothing else may be known of the matrices of a step, so that no
    hypothesis is about the variables of any map: an image may have those of iterates that the induction leaves out, which
    are then any matrices.  One step is shown for all, at one index that neither the invariants nor their starts have.
    """
    algebra = language.algebra
    fields(item, "an induction", ["iterates", "invariants"], ["step"])
    chosen = []
    for number in listed(item["iterates"], "the iterates of an induction"):
        if type(number) is not int or not 0 <= number < len(iterates) or iterates[number] in chosen:
            raise Refused(f"there is no iterate {number!r}, or it is named twice")
        chosen.append(iterates[number])
    if len({one.count for one in chosen}) != 1:
        raise Refused("an induction over different numbers of steps")
    variables = {one.variable for one in chosen}
    every = {one.variable for one in iterates}
    if any(_mentioned(language, known.difference) & every for known in language.hypotheses):
        raise Refused("a hypothesis about the variable of a map")
    if ("step" in item) != any(one.step is not None for one in chosen):
        raise Refused("an induction that names a step which its maps do not have, or does not name theirs")
    steps = language.bound([[item["step"], chosen[0].count]], {}) if "step" in item else {}
    found = []
    for invariant in listed(item["invariants"], "invariants"):
        fields(invariant, "an invariant", ["indices", "left", "right", "start", "step"])
        scope = language.bound(invariant["indices"], steps)
        left, right = (_total(language, invariant[side], scope) for side in ("left", "right"))
        difference = algebra.plus([(left, ONE), (right, -ONE)])
        if (_mentioned(language, difference) - variables) & _apart(language, iterates):
            raise Refused("an invariant in which an iterate or another variable stands")
        values = [_at(language, difference, chosen, kind, steps) for kind in ("start", "image", "value")]
        own = list(scope.values())
        assumed, concluded = (Hypothesis(INDUCTION, own, form, "rule") for form in (difference, values[2]))
        found.append(Invariant(scope, steps, assumed, values[0], values[1], concluded))
    if not found:
        raise Refused("an induction without an invariant")
    return found


def _at(language: Language, form: Form, chosen: Sequence[Iterate], kind: str, steps: Scope) -> Form:
    """The form with the start, image or value of each iterate in the place of its variable, all at the same step.

    An image has the variables of other iterates in it, which are not to be replaced in turn: so each variable gives way to
    what no certificate can name first.
    """
    algebra = language.algebra
    places = [algebra.atom("t", ("in the place of", one.variable), len(one.indices)) for one in chosen]
    for one, place in zip(chosen, places, strict=True):
        other = algebra.collected([(ONE, [(place, one.indices, ONE)], frozenset())])
        form = algebra.substituted(form, one.variable, one.indices, other)
    for one, place in zip(chosen, places, strict=True):
        if kind == "value":
            point = algebra.collected([(ONE, [(one.value, one.indices, ONE)], frozenset())])
        else:
            point = one.start if kind == "start" else algebra.renamed(one.image, _one_step(one, steps))
        form = algebra.substituted(form, place, one.indices, point)
    return form


def _one_step(one: Iterate, steps: Scope) -> dict[Index, Index]:
    return {} if one.step is None else {one.step: next(iter(steps.values()))}


def duties_of(language: Language, invariants: Sequence[Invariant]) -> Iterator[tuple[int, str, Form, Scope]]:
    """What is to be shown to vanish, invariant by invariant, "start" and then "step", with what may be used at that time.

    After the last one the invariants are known of the iterates.
    """
    before = list(language.hypotheses)
    language.stated = frozenset()  # nothing may be divided by
    for number, one in enumerate(invariants):
        language.hypotheses[:] = before
        yield number, "start", one.at_start, one.scope
        language.hypotheses[:] = [*before, *(other.assumed for other in invariants)]
        yield number, "step", one.after_step, {**one.scope, **one.steps}
    language.hypotheses[:] = [*before, *(one.concluded for one in invariants)]
