"""How iterates are written down: an input for the value at a point, another for the slope there.

Of an iterate of a start that is differentiated by, only the value and the slope at the point take part in a proof.  A
certificate has B + J (M - M_0) in its place, where M is the start, M_0 the start at the point, and B and J are inputs of which
nothing is known: an identity that holds for all B and J holds for the value and the slope of the iterate.  Where a proof uses
induction, the certificate also says what B is an iterate of, and which invariants show what is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verify.arithmetics.symbols.calculus import rebuilt, substituted
from verify.arithmetics.symbols.heads import AT_STEP, Head, Size, tensor
from verify.arithmetics.symbols.indexed import Indexed, lifted
from verify.arithmetics.symbols.iterates import ITERATE_SLOPE, Iteration
from verify.arithmetics.symbols.recurrences import STEPPED
from verify.arithmetics.symbols.step_induction import BY_STEPS, StepInduction
from verify.arithmetics.symbols.sums import Sum, keeping_origins, sum_of_head


class Iterates:
    """The points at which variables are taken, and the names of iterates by their start there."""

    def __init__(self) -> None:
        self._points: dict[Head, Sum | None] = {}
        self._found: dict[int, tuple[Sum, Sum]] = {}
        self._names: dict[Any, int] = {}

    def note(self, value: Sum) -> None:
        """Note where a sum takes a variable: at one point, or at none that is known."""
        if value.origin is not None and value.origin[0] == "at":
            _, _, variable, point = value.origin
            before = self._points.setdefault(variable, point)
            if before is None or before.key != point.key:
                self._points[variable] = None

    def point_of(self, start: Sum) -> Sum | None:
        """The start at the point of its only variable; itself where it has none, None where the point is not known."""
        variables = [made for made in start.heads() if made.kind == "tensor" and "~" in made.name]
        if not variables:
            return start
        if len(variables) > 1 or (point := self._points.get(variables[0])) is None:
            return None
        if any("~" in made.name for made in point.heads() if made.kind == "tensor"):
            return None
        if id(start) not in self._found:
            with keeping_origins():
                self._found[id(start)] = start, substituted(start, variables[0], point)
        return self._found[id(start)][1]

    def names(self, point: Sum, iteration: Iteration) -> tuple[str, str]:
        """The names of the value and of the slope at a point: equal ones for equal iterations and points."""
        number = self._names.setdefault((_met_here(point).key, iteration), len(self._names) + 1)
        return f"iterate({number})", f"slope of iterate({number})"


class Inductions:
    """The iterates of which something was shown by induction, as a certificate declares them."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder  # what writes sums down, and has this
        self._declared: dict[str, tuple[Sum, Iteration]] = {}
        self._commuted: dict[str, tuple[str, Sum]] = {}
        self._stepped: dict[Head, str] = {}
        self._points: set[str] = set()

    def name_of(self, made: Head) -> str:
        """The name of the value of an iterate that takes part in an induction over steps."""
        if made.kind == STEPPED:
            return self._stepped.setdefault(made, f"recurrence({len(self._stepped) + 1})")
        return self._recorder.iterates.names(made.inner, made.parameter)[made.kind == ITERATE_SLOPE]

    def are_declared(self, induction: StepInduction | None) -> bool:
        """Whether start and map are written down of all that moves from step to step and was named."""
        return self._stepped.keys() <= set(induction.declared if induction is not None else ())

    def note(self, value: str, start: Sum, iteration: Iteration, is_point: bool = False) -> None:
        """Note what the input `value` is an iterate of; `is_point` where the start varies, and this is it at the point."""
        self._declared.setdefault(value, (start, iteration))
        if is_point:
            self._points.add(value)

    def note_commuted(self, value: str, rest: str, factor: Sum) -> None:
        """Note that the iterate `value` is the iterate `rest`, times the factor."""
        self._commuted[value] = rest, factor

    def of(self, symmetric: bool) -> dict[str, Any]:
        """What a certificate says of them: start and map of each, and inductions; of symmetric products if asked."""
        kept = [
            n for n, (_, iteration) in self._declared.items() if symmetric and iteration.keeps and n not in self._points
        ]
        names = list(dict.fromkeys([*kept, *(n for v, (rest, _) in self._commuted.items() for n in (rest, v))]))
        others = (n for n, (start, iteration) in self._declared.items() if iteration.sizes(start) == start.slots)
        names = list(dict.fromkeys([*names, *others]))
        if not names:
            return {}
        iterates = [self._iterate(name) for name in names]
        variables = {item["value"]: item["variable"] for item in iterates}
        inductions = [self._with_start(name, names.index(name), variables[name]) for name in kept]
        for value, (rest, factor) in self._commuted.items():
            (i, j, k), (a, b, c) = self._indices(value, (0, 1, 1))
            turned = ["sum", k, ["*", ["t", variables[rest], [a, c]], self._recorder.of(factor, [(c,), (b,)])]]
            invariant = _invariant([i, j], ["t", variables[value], [a, b]], turned)
            inductions.append({"iterates": [names.index(value), names.index(rest)], "invariants": [invariant]})
        return {"iterates": iterates, **({"inductions": inductions} if inductions else {})}

    def over_steps(self, induction: StepInduction) -> dict[str, Any]:
        """What a certificate says of an induction over steps: the iterates, and the equations as invariants."""
        recorder = self._recorder
        iterates = [self._moving(induction, made) for made in induction.declared]
        if not induction.iterates:
            return {"iterates": iterates}
        invariants: list[dict[str, Any]] = []
        for equation in induction.invariants:
            recorder.note([equation])
            bound, at = recorder.indices(equation.slots, (BY_STEPS, len(invariants)))
            invariants.append(_invariant(bound, recorder.of(equation, at), ["q", 0, 1]))
        item = {"iterates": list(range(len(induction.iterates))), "invariants": invariants}
        if any("step" in iterate for iterate in iterates[: len(induction.iterates)]):
            (item["step"],) = recorder.index(induction.count)[1]
        return {"iterates": iterates, "inductions": [item]}

    def _moving(self, induction: StepInduction, made: Head) -> dict[str, Any]:
        """An iterate whose map may depend on the step, and on others of the same number of steps."""
        recorder, name = self._recorder, self.name_of(made)
        recorder.inputs.setdefault(name, {"sizes": [recorder.size(size) for size in made.sizes]})
        recorder.note(induction.moves[made])
        variable = tensor(induction.variable(made), made.sizes)
        return self._item(name, made.parameter.count, variable, *induction.moves[made])

    def _item(self, name: str, count: Size, variable: Head, start: Sum, image: Sum) -> dict[str, Any]:
        """The start of an iterate, and what a step makes of a variable in its place."""
        recorder = self._recorder
        bound, at = recorder.indices(variable.sizes, (name, "start"))
        item = {
            "value": name, "count": str(count), "variable": recorder.tensor(variable), "indices": bound,
            "start": recorder.of(start, at),
        }  # fmt: skip
        if not any(one.kind == AT_STEP for one in image.heads()):
            return {**item, "image": recorder.of(image, at)}
        with recorder.one_step(count) as step:  # the count is a size, of at least 1
            return {**item, "image": recorder.of(image, at), "step": step}

    def _indices(self, name: str, slots: Sequence[int]) -> tuple[list[list[str]], list[str]]:
        """New indices of the sizes of these slots of an iterate, as what binds them and as their names."""
        sizes = self._declared[name][0].slots
        bound = [self._recorder.index(sizes[slot])[0][0] for slot in slots]
        return bound, [index for index, _ in bound]

    def _iterate(self, name: str) -> dict[str, Any]:
        start, iteration = self._declared[name]
        made = tensor(f"{name}~", start.slots)
        with keeping_origins():
            axes = (iteration.rows, len(start.slots) - iteration.rows)
            image = lifted(iteration.step(Indexed(sum_of_head(made), axes))).value
        self._recorder.note([image])
        return self._item(name, iteration.count, made, start, image)

    def _with_start(self, name: str, number: int, variable: str) -> dict[str, Any]:
        """Z^T S and Z S^T stay symmetric, for the start S."""
        start, invariants = self._declared[name][0], []
        for along in (0, 1):
            (i, j, k), (a, b, c) = self._indices(name, (1 - along, 1 - along, along))
            one, other = ((c, a), (c, b)) if along == 0 else ((a, c), (b, c))
            left = ["*", ["t", variable, list(one)], self._recorder.of(start, [(n,) for n in other])]
            right = ["*", self._recorder.of(start, [(n,) for n in one]), ["t", variable, list(other)]]
            invariants.append(_invariant([i, j], ["sum", k, left], ["sum", k, right]))
        return {"iterates": [number], "invariants": invariants}


def _invariant(indices: list[list[str]], left: Any, right: Any) -> dict[str, Any]:
    return {"indices": indices, "left": left, "right": right, "start": [], "step": []}


def _met_here(point: Sum) -> Sum:
    """A sum over other tensors, all functions of which are met anew: of equal points of a proof, some are made after it."""

    def other(made: Head) -> Sum | None:
        if made.kind != "tensor":
            return None
        return sum_of_head(tensor(f"{made.name}~", made.sizes, made.symmetries))

    return rebuilt(point, other)
