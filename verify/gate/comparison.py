"""Findings about derivatives, other sizes and long sequences: the implementation beside the definition, point by point."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from verify.checks.evaluation import one_of
from verify.checks.settings import HALVES, Settings, torch_dtype
from verify.evidence.runner import warnings_only_warn
from verify.gate.autograd import AGAIN, Gap, Point, gap_at, taken_for_constants
from verify.gate.batch_places import place
from verify.gate.bias import biases, relative_errors
from verify.gate.findings import (
    BIAS,
    BROKEN,
    COMPARISONS,
    FIRST,
    FORWARD,
    LEFT_OUT,
    LONG,
    NOT_DIFFERENTIABLE,
    REPEATED,
    SATISFIED,
    SECOND,
    SIZES,
    UNCHECKABLE,
    Finding,
)
from verify.gate.kernels import counted
from verify.gate.measure import READABLE, ROUND, allowed, batch_of_one, in_range
from verify.gate.prepared import SMALL, Prepared, points_of
from verify.gate.probes import DRAWS_OF_BIAS, arguments_of, ordinary_points, smaller_sizes, widest
from verify.gate.probes import LONG as LENGTHS_OF_ROWS
from verify.gate.profiles import Profile
from verify.gate.rounding import DERIVATIVE, Reference
from verify.gate.standing import Standing
from verify.gate.subject_errors import NotDifferentiable, OnceDifferentiable, Raised, WrongResult
from verify.inputs.shrinking import shrunk
from verify.vocabulary.errors import in_one_line
from verify.vocabulary.shapes import Real

#: A derivative that is refused so often in a row is not asked for again.
PATIENCE = 3
#: Where values are compared once more, where no gradient is asked for: with this title, for which fast paths are the same.
LARGE, ORDINARY = (SIZES, LONG), "ordinary"
#: Evaluations that the search for a small example may cost.
SHRINKING = 40
#: How often it is called at the same arguments at effort deep: a failure of one call in 300 is missed once in 700 times.
REPETITIONS = 2000


@dataclasses.dataclass
class Walk:
    """A comparison in one dtype on its way from point to point, and what it has found so far."""

    finding: Finding
    refused: str = ""  #: why a derivative was refused, the last time
    refusals: int = 0
    elsewhere: list[tuple[Point, str]] = dataclasses.field(
        default_factory=list
    )  #: large points, and what was refused there
    compared: int = 0  #: at how many points; where a kink leaves nothing to compare, the point does not count
    agreeing: list[tuple[Gap, str]] = dataclasses.field(default_factory=list)  #: with the points, by their titles
    #: Choices of arguments of which derivatives were taken by themselves.
    parts: list[list[str]] = dataclasses.field(default_factory=list)

    @property
    def is_given_up(self) -> bool:
        """Whether derivatives were refused so often that they are not asked for again."""
        return self.refusals >= PATIENCE

    def measured(self, residual: float, title: str) -> None:
        """Keep the largest distance, and the point where it is."""
        if residual >= (self.finding.residual or 0.0):
            self.finding.residual, self.finding.at = residual, title

    def concluded(self) -> Finding:
        """The finding of a walk that met nothing wrong."""
        finding = self.finding
        self._measure_one_that_agrees()
        finding.residual = finding.residual or 0.0
        if finding.examples and not (self.refused and finding.check in SMALL):
            finding.status = SATISFIED
            finding.why = f"values alone, {self.refused}" if self.refused else ""
        elif finding.check == FORWARD and self.refused:  # whoever asks for it gets an error, and no wrong number
            finding.status, finding.why = LEFT_OUT, f"it has no forward mode ({self.refused.partition(': ')[2]})"
        else:
            finding.why = self.refused or "rounding leaves nothing to compare"
        return finding

    def _measure_one_that_agrees(self) -> None:
        """Of the results that agree, measure the one that differs most and whose distance can be told."""
        for gap, title in sorted(self.agreeing, key=lambda each: -each[0].roundings):
            # what is within a unit by the largest entry alone needs no measurement, but in half precision it is of interest
            if gap.is_near and self.finding.dtype not in HALVES:
                self.measured(gap.at_most, title)
                return
            if gap.reference.smooth:
                self.measured(gap.residual, title)
                return


class Comparison:
    """The comparisons of one implementation with its definition, at `points` that others may share."""

    def __init__(self, profile: Profile, standing: Standing, settings: Settings) -> None:
        self.profile, self.standing, self.settings = profile, standing, settings
        self.points = points_of(profile, settings.effort, settings.seed)
        self.claim = self.points.claim
        self.kernels: Counter[str] = Counter()  #: how often which kernel ran

    @property
    def checks(self) -> list[str]:
        """Names of the comparisons that this subject admits."""
        found = [FIRST] * (self.profile.derivatives >= 1) + [SECOND] * (self.profile.derivatives >= 2)
        found += [FORWARD] * (self.profile.derivatives >= 1)
        found += [SIZES] * bool(self.profile.largest) + [LONG] * (self.profile.few_rows is not None)
        found += [BIAS] * bool(self.profile.largest and self.profile.derivatives)
        return found + [REPEATED] * bool(self.profile.largest and self.settings.effort.name == "deep")

    @property
    def not_exercised(self) -> list[str]:
        """Lengths beyond those that are drawn at this effort, derivatives and layouts of memory that are not asked for."""
        largest = self.profile.largest
        wide = {name: n for name, n in widest(self.profile, self.settings.effort.name).items() if n > largest}
        of_others = f"{'other ' * bool(wide)}widths beyond {largest}" if largest else "large sizes"
        found = [*(f"{name} beyond {n}" for name, n in wide.items()), of_others]
        found.append(f"derivatives beyond order {self.profile.derivatives}")
        if constants := self._constants:
            found.append(
                f"derivatives by {' and '.join(constants)}, which {'are' if constants[1:] else 'is'} a constant"
            )
        if any(dtype in HALVES for dtype in self.settings.dtypes):
            found.append("second and forward derivatives in half precision")
        found.append(
            "tensors that are sparse, nested or quantised" if self.profile.largest else "layouts other than contiguous"
        )
        longest = max(LENGTHS_OF_ROWS[self.settings.effort.name])
        return [*found, f"more than {longest} tokens" if self.profile.few_rows is not None else "long sequences"]

    @property
    def _constants(self) -> list[str]:
        """Numbers by which derivatives are not compared: they are no tensors, or the implementation cuts its value from them."""
        known = self.standing.signature.parameters
        numbers = [name for name, spec in self.claim.parameters.items() if isinstance(spec, Real) and name in known]
        prepared = next(self.points.prepared(FIRST), None) if numbers and self.profile.derivatives else None
        if prepared is None:
            return []
        point = prepared.point
        arguments = point.in_dtype(torch_dtype(self.settings.dtypes[0]), self.settings.device)  # it may take no other
        with warnings_only_warn():  # of numbers that are made of tensors, say
            cut = taken_for_constants(point, self.standing, arguments)
        return [name for name in numbers if name not in point.moving or name in cut]

    def run(self, check: str, dtype: str, shrinking: bool = True) -> Finding:
        """The finding of one comparison in one dtype; `shrinking`: with a small example where it is broken."""
        if check == BIAS:
            return self._bias(dtype)
        if check == REPEATED:
            return self._repeated(dtype)
        walk = Walk(Finding(check, COMPARISONS[check], dtype, UNCHECKABLE))
        points = self.points.prepared(check)
        if dtype in HALVES:
            beside = self.points.prepared(check, in_half=True)
            points = (each for each in itertools.chain(points, beside) if not each.point.is_beyond_first)
        for number, prepared in enumerate(points):
            if walk.compared == self.points.count(check):
                break
            with place(number + number // ROUND):
                if self._is_broken_at(prepared, walk, shrinking):
                    return walk.finding
            if check in SMALL and walk.is_given_up:
                break
        finding = walk.concluded()
        if finding.status == SATISFIED:
            finding.why = "; ".join(filter(None, [finding.why, *self._refused_there_alone(walk)]))
        return finding

    def _refused_there_alone(self, walk: Walk) -> Iterator[str]:
        """What is said of second and forward derivatives that large points refuse, and small ones, which say so, do not."""
        for point, problem in walk.elsewhere:
            small = self.run(FORWARD if point.forward else SECOND, walk.finding.dtype, shrinking=False)
            where = ", ".join(f"{name} = {n}" for name, n in point.sizes.items())
            if small.status == SATISFIED and point.forward:
                yield f"it has no forward mode where {where} ({problem})"
            elif small.status == SATISFIED:
                yield f"no second derivatives where {where}, {NOT_DIFFERENTIABLE}: {problem}"

    def _is_broken_at(self, prepared: Prepared, walk: Walk, shrinking: bool) -> bool:
        """Compare at one point and note what it shows: whether the implementation is wrong there, so that the walk ends."""
        finding, point = walk.finding, prepared.point
        others = finding.check in LARGE and point.is_beyond_first
        if others and walk.is_given_up:
            return False
        try:
            gap = self._gap(point, prepared.truth, finding.dtype, values=walk.is_given_up)
        except NotDifferentiable as problem:
            if others:
                walk.elsewhere.append((point, str(problem)))
                return False
            walk.refused, walk.refusals = f"{NOT_DIFFERENTIABLE}: {problem}", walk.refusals + 1
            if finding.check in SMALL:
                return False
            gap = self._gap(point, prepared.truth, finding.dtype, values=True)
        except (Raised, WrongResult) as problem:
            finding.status, finding.at = BROKEN, point.title
            finding.why = f"{'it raised ' if isinstance(problem, Raised) else ''}{problem}, at {finding.at}"
            return True
        walk.compared += gap is not None or prepared.truth.smooth
        if gap is None:
            return False
        finding.examples += 1
        if gap.agrees:
            walk.agreeing.append((gap, point.title))
            if finding.check == FIRST:
                return self._is_wrong_in_part(finding, prepared, walk.parts)
        else:
            walk.measured(gap.residual, point.title)
            if gap.residual > allowed(finding.dtype):
                self._describe(finding, prepared, gap, shrinking)
                return True
        return finding.check in LARGE and self._is_wrong_without_gradients(finding, prepared)

    @functools.cached_property
    def is_differentiable_once(self) -> bool:
        """Whether the implementation is marked as differentiable once only, so that second derivatives are refused."""
        for prepared in itertools.islice(self.points.prepared(SECOND) if self.profile.derivatives >= 2 else (), 2):
            try:
                prepared.point.evaluate(self.standing, prepared.point.in_dtype(torch.float64, self.settings.device))
            except OnceDifferentiable:
                return True
            except Exception:  # said where second derivatives are compared
                continue
        return False

    def _is_wrong_without_gradients(self, finding: Finding, prepared: Prepared) -> bool:
        """Whether values are wrong under no_grad, for which layers and libraries have paths of their own."""
        if not prepared.point.title.startswith(ORDINARY):
            return False
        where = "where no gradient is asked for"
        point = dataclasses.replace(prepared.point, order=0)
        try:
            gap = self._gap(point, prepared.truth, finding.dtype, around=torch.no_grad)
        except (Raised, WrongResult) as problem:
            finding.status, finding.at = BROKEN, point.title
            finding.why = f"{'it raised ' if isinstance(problem, Raised) else ''}{problem}, {where}"
            return True
        if gap is None or gap.agrees or gap.residual <= allowed(finding.dtype):
            return False
        self._describe(finding, dataclasses.replace(prepared, point=point), gap, shrinking=False)
        finding.why += f" {where}"
        return True

    def _is_wrong_in_part(self, finding: Finding, prepared: Prepared, asked: list[list[str]]) -> bool:
        """Whether derivatives are wrong where only some arguments need one, as of frozen keys: one of them, or all but one.

        Of the choices of arguments the first one is taken that is not among those `asked` for, and of which some derivative
        is not zero at this point; arguments that the implementation takes for constants are left out.
        """
        arguments = prepared.point.in_dtype(torch_dtype(finding.dtype), self.settings.device)
        constants = taken_for_constants(prepared.point, self.standing, arguments)
        names = [name for name in prepared.point.moving if name not in constants]
        choices = [[name] for name in names] + [[other for other in names if other != name] for name in names]
        telling = [name for name in names if bool(prepared.truth.results[f"{DERIVATIVE}{name}"].any())]
        left = (each for each in choices if each not in asked and each != names and set(each) & set(telling))
        chosen = next(left, None)
        if not chosen:
            return False
        where = f"where only {' and '.join(chosen)} need{'s' * (len(chosen) == 1)} a gradient"
        point = prepared.point.only(chosen)
        try:
            gap = self._gap(point, prepared.truth, finding.dtype)
        except (NotDifferentiable, Raised, WrongResult) as problem:
            finding.status, finding.at, finding.why = BROKEN, point.title, f"{problem}, {where}"
            return True
        asked += [chosen] if gap is not None else []
        if gap is None or gap.agrees or gap.residual <= allowed(finding.dtype):
            return False
        self._describe(finding, dataclasses.replace(prepared, point=point), gap, shrinking=False)
        finding.why += f" {where}"
        return True

    def _bias(self, dtype: str) -> Finding:
        """Whether errors in half precision have a mean, in values and, where there are such, in first derivatives."""
        finding = Finding(BIAS, COMPARISONS[BIAS], dtype, UNCHECKABLE)
        points = list(ordinary_points(self.profile, self.settings, DRAWS_OF_BIAS[self.settings.effort.name]))
        eps = torch.finfo(torch_dtype(dtype)).eps
        for order in (1, 0):
            asked = (dataclasses.replace(point, order=order) for point in points)
            try:
                errors = relative_errors(
                    asked, self.standing, self.standing.definition, torch_dtype(dtype), self.settings.device
                )
            except (Raised, WrongResult) as problem:
                finding.status, finding.why = BROKEN, f"{problem}"
                return finding
            except (NotDifferentiable, RuntimeError) as problem:
                finding.why = f"{NOT_DIFFERENTIABLE}: {problem}"
                continue
            if found := biases(errors, eps):
                worst = found[-1]
                finding.status, finding.examples = BROKEN if worst.is_rejected else SATISFIED, len(points)
                told = f"{worst.name} is off by {100 * worst.mean:.2g} % on average"
                finding.why = f"{told} (p = {worst.p:.2g})" if worst.is_rejected else finding.why
            return finding
        return finding

    def _repeated(self, dtype: str) -> Finding:
        """Whether any of many calls at the same arguments gives other results than the first, derivatives too if there are such."""
        finding = Finding(REPEATED, COMPARISONS[REPEATED], dtype, UNCHECKABLE, "the definition has no value")
        eps = torch.finfo(torch_dtype(dtype)).eps
        for point, order in ((p, order) for p in ordinary_points(self.profile, self.settings, 1) for order in (1, 0)):
            asked = dataclasses.replace(point, order=order)
            truth = asked.reference(self.standing.definition)
            first: dict[str, torch.Tensor] = {}
            if truth is None:
                continue
            arguments = asked.in_dtype(torch_dtype(dtype), self.settings.device)
            for number in range(REPETITIONS):
                try:
                    found = asked.evaluate(self.standing, arguments)
                except (Raised, WrongResult) as problem:  # first: what is raised is a RuntimeError
                    finding.status, finding.why = BROKEN, f"call {number + 1} at the same arguments: {problem}"
                    return finding
                except (NotDifferentiable, RuntimeError) as problem:
                    finding.why = f"{NOT_DIFFERENTIABLE}: {problem}"
                    break
                first = first or found
                for name, value in found.items():
                    gap = float((value - first[name]).abs().nan_to_num(nan=torch.inf).max()) if value.numel() else 0.0
                    # additions in another order, as on an accelerator, differ by units
                    if gap > allowed(dtype) * truth.unit(name, eps):
                        finding.status, finding.at = BROKEN, asked.title
                        finding.why = f"call {number + 1} at the same arguments: {name} is not that of the first"
                        return finding
            else:
                finding.status, finding.why, finding.examples = SATISFIED, "", REPETITIONS
                return finding
        return finding

    def _gap(
        self,
        point: Point,
        truth: Reference,
        dtype: str,
        values: bool = False,
        kinks: bool = True,
        around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> Gap | None:
        """The largest distance from the definition; not `kinks`: those that a kink of the definition may explain as well.

        `around`: a context in which the implementation is called.
        """
        asked = dataclasses.replace(point, order=0) if values else point

        @contextlib.contextmanager
        def watched() -> Iterator[None]:
            with counted(self.kernels), around():
                yield

        self.standing.expect(asked.arguments, point.shape_of_value(truth.results))
        gap = gap_at(asked, self.standing, truth, torch_dtype(dtype), self.settings.device, allowed(dtype), watched)
        if gap is None or gap.agrees or gap.residual <= allowed(dtype):
            return gap
        definition = point.of or self.standing.definition
        if dtype in HALVES and not gap.yours.isfinite().all():
            return None if truth.overflows(torch_dtype(dtype)) else gap
        if not gap.yours.isfinite().all():  # the definition may overflow in this precision as well
            own = asked.evaluate(definition, asked.in_dtype(torch_dtype(dtype), "cpu"))[gap.name]
            return gap if own.isfinite().all() else None
        # a kink that rounding in this precision may step over: there the definition has several derivatives
        if not kinks:
            return gap
        of = (definition, asked.order, *asked.moving)
        return None if truth.jumps(lambda at: asked.evaluate(definition, at), dtype, gap.name, of) else gap

    def _describe(self, finding: Finding, prepared: Prepared, gap: Gap, shrinking: bool) -> None:
        """Keep the smallest example found at which the implementation is still wrong."""
        point = prepared.point
        ended = ""
        try:
            for smaller, found in self._smaller(prepared, finding.dtype) if shrinking else ():
                point, gap = smaller, found
        except RuntimeError as problem:  # of a device, say, that computes nothing any more: what was found stays found
            ended = f"; the search for a smaller example ended with {in_one_line(problem)}"
        finding.status, finding.residual, finding.at = BROKEN, gap.residual, point.title
        finding.entries = sum(point.arguments[name].numel() for name in point.moving)
        finding.why = f"{gap.name} is wrong{AGAIN * gap.again}{ended}"
        if finding.entries <= READABLE:
            finding.inputs = {
                name: (x.detach() + 0.0 if name in point.moving else x).tolist() if hasattr(x, "tolist") else x
                for name, x in point.arguments.items()
            }
            finding.yours, finding.expected = gap.yours.reshape(-1).tolist(), gap.truth.reshape(-1).tolist()

    def _broken_at(self, point: Point, dtype: str, kinks: bool = True) -> Gap | None:
        """The distance from the definition at another point, None where the implementation is not wrong there."""
        truth = point.reference(self.standing.definition)
        try:
            gap = None if truth is None else self._gap(point, truth, dtype, kinks=kinks)
        except (NotDifferentiable, Raised, WrongResult):
            return None
        return None if gap is None or gap.agrees or gap.residual <= allowed(dtype) else gap

    def _smaller(self, prepared: Prepared, dtype: str) -> Iterator[tuple[Point, Gap]]:
        """Points at which the implementation is still wrong, each smaller than the one before, and how far it is off."""
        point = prepared.point
        if prepared.arrays is not None:

            def at(candidate: dict[str, Any]) -> Point:
                return dataclasses.replace(
                    point, arguments=arguments_of(self.claim, batch_of_one(candidate), self.settings)
                )

            seed = one_of(self.claim, prepared.arrays, 0)
            for kinks in (False, True):  # to tell a kink apart takes most of the time: first without

                def breaks(candidate: dict[str, Any], kinks: bool = kinks) -> bool:
                    return in_range(self.claim, candidate) and self._broken_at(at(candidate), dtype, kinks) is not None

                small = at(shrunk(self.claim, seed, breaks, SHRINKING))
                if (gap := self._broken_at(small, dtype)) is not None:
                    yield small, gap
                    return
        elif point.remade is not None:
            sizes, left = point.sizes, SHRINKING
            while left > 0:
                for candidate in smaller_sizes(self.profile, self.claim, sizes):
                    left -= 1
                    smaller = point.remade(candidate)
                    if (gap := self._broken_at(smaller, dtype)) is not None:
                        sizes = candidate
                        yield smaller, gap
                        break
                    if left <= 0:
                        return
                else:
                    return
