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
from verify.gate.autograd import Gap, Point, gap_at, taken_for_constants
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
from verify.gate.places import place
from verify.gate.prepared import SMALL, Prepared, points_of
from verify.gate.probes import DRAWS_OF_BIAS, arguments_of, ordinary_points, smaller_sizes, widest
from verify.gate.probes import LONG as LENGTHS_OF_ROWS
from verify.gate.profiles import Profile
from verify.gate.rounding import DERIVATIVE, Reference
from verify.gate.standing import Standing
from verify.gate.subject_errors import NotDifferentiable, OnceDifferentiable, Raised, WrongResult
from verify.inputs.shrinking import shrunk

#: A derivative that is refused so often in a row is not asked for again.
PATIENCE = 3
#: Where values are compared once more, where no gradient is asked for: with this title, for which fast paths are the same.
LARGE, ORDINARY = (SIZES, LONG), "ordinary"
#: Evaluations that the search for a small example may cost.
SHRINKING = 40
#: How often it is called at the same arguments at effort deep: a failure of one call in 300 is missed once in 700 times.
REPETITIONS = 2000


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
        if any(dtype in HALVES for dtype in self.settings.dtypes):
            found.append("second and forward derivatives in half precision")
        found.append(
            "tensors that are sparse, nested or quantised" if self.profile.largest else "layouts other than contiguous"
        )
        longest = max(LENGTHS_OF_ROWS[self.settings.effort.name])
        return [*found, f"more than {longest} tokens" if self.profile.few_rows is not None else "long sequences"]

    def run(self, check: str, dtype: str, shrinking: bool = True) -> Finding:
        """The finding of one comparison in one dtype; `shrinking`: with a small example where it is broken."""
        if check == BIAS:
            return self._bias(dtype)
        if check == REPEATED:
            return self._repeated(dtype)
        finding = Finding(check, COMPARISONS[check], dtype, UNCHECKABLE)
        refused, times, compared = "", 0, 0
        agreeing: list[tuple[Gap, str]] = []
        in_part: list[list[str]] = []  # the choices of arguments of which derivatives were taken by themselves
        for number, prepared in enumerate(self.points.prepared(check)):
            if compared == self.points.count(check):
                break
            if prepared.point.in_half and dtype not in HALVES:
                continue
            with place(number + number // ROUND):
                try:
                    gap = self._gap(prepared.point, prepared.truth, dtype, values=times >= PATIENCE)
                except NotDifferentiable as problem:
                    refused, times = f"{NOT_DIFFERENTIABLE}: {problem}", times + 1
                    if check in SMALL:
                        if times >= PATIENCE:
                            break
                        continue
                    gap = self._gap(prepared.point, prepared.truth, dtype, values=True)
                except (Raised, WrongResult) as problem:
                    finding.status, finding.at = BROKEN, prepared.point.title
                    finding.why = f"{'it raised ' if isinstance(problem, Raised) else ''}{problem}, at {finding.at}"
                    return finding
                compared += gap is not None or prepared.truth.smooth
                if gap is None:
                    continue
                finding.examples += 1
                right = gap.agrees or gap.residual <= allowed(dtype)
                if right and check in LARGE and self._is_wrong_without_gradients(finding, prepared):
                    return finding
                if gap.agrees:
                    agreeing.append((gap, prepared.point.title))
                    if check == FIRST and self._is_wrong_in_part(finding, prepared, in_part):
                        return finding
                    continue
                if gap.residual >= (finding.residual or 0.0):
                    finding.residual, finding.at = gap.residual, prepared.point.title
                if not right:
                    self._describe(finding, prepared, gap, shrinking)
                    return finding

        def within(gap: Gap) -> bool:
            """Whether a result is within a unit for certain; in half precision the distance itself is of interest."""
            return gap.is_near and dtype not in HALVES

        agreeing.sort(key=lambda each: -each[0].roundings)  # of those that agree the one that differs most is measured
        for gap, title in itertools.islice(
            (each for each in agreeing if within(each[0]) or each[0].reference.smooth), 1
        ):
            # what is within a unit by the largest entry alone needs no measurement
            residual = gap.at_most if within(gap) else gap.residual
            if residual >= (finding.residual or 0.0):
                finding.residual, finding.at = residual, title
        finding.residual = finding.residual or 0.0
        if finding.examples and not (refused and check in SMALL):
            finding.status = SATISFIED
            finding.why = f"values alone, {refused}" if refused else ""
        elif check == FORWARD and refused:  # whoever asks for it gets an error, and no wrong number
            finding.status, finding.why = LEFT_OUT, f"it has no forward mode ({refused.partition(': ')[2]})"
        else:
            finding.why = refused or "rounding leaves nothing to compare"
        return finding

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
        point = dataclasses.replace(prepared.point, order=0)
        gap = self._gap(point, prepared.truth, finding.dtype, around=torch.no_grad)
        if gap is None or gap.agrees or gap.residual <= allowed(finding.dtype):
            return False
        self._describe(finding, dataclasses.replace(prepared, point=point), gap, shrinking=False)
        finding.why += " where no gradient is asked for"
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
                except (NotDifferentiable, RuntimeError) as problem:
                    finding.why = f"{NOT_DIFFERENTIABLE}: {problem}"
                    break
                except (Raised, WrongResult) as problem:
                    finding.status, finding.why = BROKEN, f"call {number + 1} at the same arguments: {problem}"
                    return finding
                first = first or found
                for name, value in found.items():
                    gap = float((value - first[name]).abs().nan_to_num(nan=torch.inf).max()) if value.numel() else 0.0
                    # additions in another order, as on an accelerator, differ by units
                    if gap > 0.0 and gap > allowed(dtype) * truth.unit(name, eps):
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
        return None if truth.jumps(lambda at: asked.evaluate(definition, at), dtype, gap.name) else gap

    def _describe(self, finding: Finding, prepared: Prepared, gap: Gap, shrinking: bool) -> None:
        """Keep the smallest example found at which the implementation is still wrong."""
        point = prepared.point
        for smaller, found in self._smaller(prepared, finding.dtype) if shrinking else ():
            point, gap = smaller, found
        finding.status, finding.residual, finding.at = BROKEN, gap.residual, point.title
        finding.entries = sum(point.arguments[name].numel() for name in point.moving)
        finding.why = f"{gap.name} is wrong"
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
