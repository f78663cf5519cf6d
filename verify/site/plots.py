"""Pictures of what the checks measured, as SVG text within the page, in its colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from verify.checks.equality import ROUNDING_LIMIT
from verify.checks.inequality import BEYOND
from verify.checks.record import SEPARATION, Record
from verify.report.sides import Violation, violation
from verify.site.chart import Axis, Chart
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import AtMost, FollowsLaw, OrderOfGrowth, Relation, TendsTo, by_type

#: What drawing raises about data of another shape.
UNDRAWABLE = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)
#: Residuals are drawn between these; what lies beyond is drawn at the edge, and is a number in the table.
SMALLEST, LARGEST, MOST_TIMES = 1e-3, 1e25, 1e100
MARKS = {"float64": "circle", "float32": "square", "ball": "triangle", "exact": "diamond", "exact or ball": "triangle"}
COUNTEREXAMPLE = "cross"
#: Longest name beside a row.
LONGEST_NAME = 42
#: Steps of a sequence below this are beyond what a picture shows.
DEEPEST = -1e5


@dataclass(frozen=True)
class Plot:
    """A picture: its kind and check, what it shows in words, and the SVG; no SVG where the evidence has another shape."""

    name: str
    caption: str
    svg: Markup | None

    @property
    def in_units(self) -> bool:
        """Whether it shows rounding units and no mathematics."""
        return self.name == "residuals"

    @property
    def drawn(self) -> bool:
        return self.svg is not None


def plots_of(claim: Claim, records: list[Record]) -> list[Plot]:
    """The pictures that a claim's evidence gives; one that cannot be drawn says so in its caption."""
    refuted = [violation(claim, item) for record in records for item in record.details.get("certificates", [])]
    wanted: list[tuple[str, Callable[[], Chart | None]]] = [("residuals", lambda: _residuals(claim, records, refuted))]
    for record in records:
        for kind, draw in _kinds(claim, record, refuted):
            wanted.append((f"{kind}-{_slug(record)}", lambda draw=draw, record=record: draw(record)))  # type: ignore[misc]
    found = []
    for name, make in wanted:
        try:
            chart = make()
            if chart is not None:
                found.append(Plot(name, chart.caption, chart.svg()))
        except UNDRAWABLE as problem:
            kind, words = name.partition("-")[0], f"{type(problem).__name__}: {problem}"
            found.append(Plot(name, f"No picture of kind “{kind}”: the evidence has another shape ({words}).", None))
    return found


def _kinds(
    claim: Claim, record: Record, refuted: list[Violation]
) -> Iterable[tuple[str, Callable[[Record], Chart | None]]]:
    for name, draw in (by_type(PICTURES, claim.relation) or _no_pictures)(record):
        yield name, lambda found, draw=draw: draw(found, refuted)  # type: ignore[misc]


# -- right and wrong apart ---------------------------------------------------------------------------------------------


def _residuals(claim: Claim, records: list[Record], refuted: list[Violation]) -> Chart | None:
    """Truth and mutants on one axis: in rounding units, or for statistics and limits as factors apart."""
    in_units = type(claim.relation) not in IN_FACTORS
    rows: list[tuple[str, list[tuple[str, float]]]] = []
    if refuted:
        rows.append(("as printed, at the counterexample", [(COUNTEREXAMPLE, found.roundings) for found in refuted]))
    if in_units:
        drawn = [(r.arithmetic, r.worst_residual) for r in records if r.worst_residual is not None]
        rows.append(("as printed, at inputs drawn" if refuted else "as printed", drawn))
    for mutant in claim.mutants:
        values = [(r.arithmetic, r.mutants[mutant.name]["residual"]) for r in records if mutant.name in r.mutants]
        rows.append((mutant.name, values))
    rows = [(name, values) for name, values in rows if values]
    if not rows:
        return None
    chart = Chart(
        caption=_caption(bool(refuted), in_units),
        height=24.0 * len(rows),
        across=Axis(SMALLEST / 2, _edge(rows, in_units), True),
        rows=[_short(name) for name, _ in rows],
        below="rounding units" if in_units else "times",
    )
    marks = dict.fromkeys(kind for _, values in rows for kind, _ in values if kind != COUNTEREXAMPLE)
    chart.legend = [(MARKS.get(kind, "circle"), "quiet", kind) for kind in marks]
    if refuted:
        chart.legend.insert(0, ("cross", "wrong", "counterexample"))
    chart.upright("truth", ROUNDING_LIMIT)
    chart.upright("wrong", SEPARATION)
    for place, (name, values) in enumerate(rows):
        for kind, value in values:
            shown = chart.across.high if math.isnan(value) else min(max(value, SMALLEST), chart.across.high / 1.5)
            right = name == "as printed" and value <= ROUNDING_LIMIT
            missed = name == "as printed, at inputs drawn" and value <= ROUNDING_LIMIT
            colour = "truth" if right else "quiet" if missed else "wrong"
            mark = "cross" if kind == COUNTEREXAMPLE else MARKS.get(kind, "circle")
            chart.mark(mark, colour, shown, place, f"{name}, {kind}: {value:.3g}")
    return chart


def _edge(rows: list[tuple[str, list[tuple[str, float]]]], in_units: bool) -> float:
    """The right end of the axis: beyond what was found, within reason."""
    found = [value for _, values in rows for _, value in values if math.isfinite(value)]
    return 3 * min(max([*found, 10 * SEPARATION]), LARGEST if in_units else MOST_TIMES)


def _caption(refuted: bool, in_units: bool) -> str:
    if not in_units:
        return (
            f"Factor by which each wrong variant is less likely or less close than the truth; {SEPARATION:g} is needed."
        )
    if refuted:
        return (
            "How far the two sides are apart, in rounding units: at the counterexample (cross) the printed statement fails;"
            " inputs drawn at random may miss that. Below, wrong variants of the formula."
        )
    return (
        "Residuals in rounding units, one mark per check: a right formula stays below"
        f" {ROUNDING_LIMIT:g}, a wrong variant counts as detected above {SEPARATION:g}."
    )


# -- the search for a bound's tightest case ----------------------------------------------------------------------------


def _search(record: Record, refuted: list[Violation]) -> Chart | None:
    search = record.details.get("search") or {}
    rises = [point for point in search.get("rises", ()) if float(point[1]) < BEYOND]
    if len(rises) < 3:
        return None
    caption = f"The largest {search['of']} found so far, over the number of inputs that the search has evaluated"
    caption += ", gradient ascent from the dotted line on." if search["ascent from"] else "."
    if len(rises) < len(search["rises"]):
        caption += " Inputs at which the bound is broken by no finite ratio are left out."
    seen = [max(float(point[0]), 1.0) for point in rises] + [max(float(search["inputs"]), 1.0)]
    best = [float(point[1]) for point in rises] + [float(rises[-1][1])]
    limit = 1.0 if search["of"] == "ratio" else 0.0
    ratios = [found.ratio for found in refuted if found.ratio is not None and search["of"] == "ratio"]
    if ratios:
        caption += " Crosses: the ratio at the counterexample, which is what decides; a search may miss it."
    span = Axis.around([*best, limit, *ratios])
    chart = Chart(caption, 150, Axis.around(seen, True), span, (), "inputs", search["of"])
    for ratio in ratios:
        chart.mark("cross", "wrong", seen[-1], ratio, f"ratio {ratio:.6g} at the counterexample")
    chart.level("wrong", limit)
    if search["ascent from"]:
        chart.upright("quiet", float(search["ascent from"]))
    steps = [(seen[0], best[0])]
    for x, y in zip(seen[1:], best[1:], strict=True):
        steps += [(x, steps[-1][1]), (x, y)]
    chart.line("second", steps)
    for x, y in zip(seen[:-1], best[:-1], strict=True):
        chart.mark("circle", "second", x, y, f"{search['of']} {y:.6g} after {x:.0f} inputs")
    return chart


# -- limits ------------------------------------------------------------------------------------------------------------


def _rate(record: Record) -> Chart:
    """Errors over scales: with a fitted power for random sequences, step by step for those that run in balls."""
    curves = record.details["curves"]
    if "rms error" in curves[0]:
        return _powers([(curve["scales"], curve["rms error"]) for curve in curves], "Root mean square error")
    first, second, third = curves[0]["scales"][:3]
    if first * third == second * second:  # no steps, but sizes: the rate is a power of theirs
        return _powers([(curve["scales"], [10.0**y for y in curve["log10 error"]]) for curve in curves], "Error")
    lines = [[(x, float(y)) for x, y in zip(c["scales"], c["log10 error"], strict=True)] for c in curves]
    kept = [[(x, y) for x, y in line if math.isfinite(y) and y > DEEPEST] for line in lines]
    left_out = sum(map(len, lines)) - sum(map(len, kept))
    caption = "log10 of the error at each step: of convergence of order two when it doubles from step to step."
    if left_out:
        caption += f" {_counted(left_out, 'step')} with an error of zero left out."
    if not any(kept):
        raise ValueError("every error is zero")
    across, up = Axis.around(x for line in kept for x, _ in line), Axis.around(y for line in kept for _, y in line)
    chart = Chart(caption, 170, across, up, (), "step", "log10 error")
    for line in kept:
        chart.line("second", line)
        for x, y in line:
            chart.mark("circle", "second", x, y, f"step {x}: {y:.4g}")
    return chart


def _powers(lines: list[tuple[list[int], list[float]]], errors: str) -> Chart:
    """Errors, called `errors`, with the powers of the scale that fit them; zeros have no logarithm and are counted."""
    kept = [[(scale, error) for scale, error in zip(*line, strict=True) if error > 0] for line in lines]
    left_out = sum(len(scales) for scales, _ in lines) - sum(map(len, kept))
    fitted = [(points, *_power(points)) for points in kept if len(points) > 1]
    caption = f"{errors} over the scale, and fitted powers (dashed)"
    caption += f", of exponents {', '.join(f'{slope:.3f}' for _, slope, _ in fitted)}." if fitted else "."
    if left_out:
        caption += f" {_counted(left_out, 'error')} of exactly zero left out."
    across = Axis.around((x for scales, _ in lines for x in scales), True)
    up = Axis.around((y for points in kept for _, y in points), True)
    chart = Chart(caption, 170, across, up, (), "scale", errors.lower())
    for points, slope, factor in fitted:
        chart.line("quiet", [(x, factor * x**slope) for x, _ in points], "dashed")
    for points in kept:
        for x, y in points:
            chart.mark("circle", "second", x, y, f"scale {x}: {y:.3g}")
    return chart


def _power(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Exponent and factor of the power of the scale that fits the errors best, in logarithms."""
    scales, errors = zip(*points, strict=True)
    slope, offset = np.polyfit(np.log(np.array(scales, dtype=float)), np.log(errors), 1)
    return float(slope), float(np.exp(offset))


def _counted(number: int, noun: str) -> str:
    return f"1 {noun} is" if number == 1 else f"{number} {noun}s are"


# -- orders of growth --------------------------------------------------------------------------------------------------


def _growth(record: Record) -> Chart:
    curves = record.details["curves"]
    lines = [
        (curve["along"], [(x, math.log10(max(y, 1))) for x, y in zip(curve["scales"], rows, strict=True)])
        for curve in curves[: len({curve["along"] for curve in curves})]
        for rows in zip(*curve["counts"], strict=True)
    ]
    caption = "Operations or entries counted while the named sizes grow together, both axes logarithmic."
    across = Axis.around((x for _, line in lines for x, _ in line), True)
    up = Axis.around(y for _, line in lines for _, y in line)
    chart = Chart(caption, 180, across, up, (), "factor by which the sizes grow", "log10 count")
    names = list(dict.fromkeys(name for name, _ in lines))
    marks = ("circle", "square", "triangle", "diamond")
    chart.legend = [(marks[place % 4], "second", f"growing {name}") for place, name in enumerate(names)]
    for name, line in lines:
        chart.line("second", line)
        for x, y in line:
            chart.mark(marks[names.index(name) % 4], "second", x, y)
    return chart


# -- laws --------------------------------------------------------------------------------------------------------------


def _observed(record: Record, key: str) -> list[dict[str, Any]]:
    tests = record.details.get("tests", [])
    return [test for test in tests if key in test.get("observed", {})]


def _distribution(record: Record) -> Chart | None:
    tests = _observed(record, "at")
    if not tests:
        return None
    seen = tests[0]["observed"]
    what = f"{tests[0]['name']} at {tests[0]['sizes']}, {tests[0]['samples']} samples"
    caption = f"Distribution of the sample (circles) and as stated (line): {what}."
    chart = Chart(caption, 160, Axis.around(seen["at"]), Axis(0, 1.02), (), "value", "probability below")
    chart.legend = [("dash", "quiet", "stated"), ("circle", "second", "observed")]
    chart.line("quiet", zip(seen["at"], seen["stated"], strict=True))
    for x, y in zip(seen["at"], seen["found"], strict=True):
        chart.mark("circle", "second", x, y)
    return chart


def _averages(record: Record) -> Chart | None:
    tests = [test for test in _observed(record, "mean") if test["observed"]["error"] > 0]
    if not tests:
        return None
    rows = []
    for test in tests:
        seen = test["observed"]
        rows.append((f"{test['name']}, {test['sizes']}", (seen["mean"] - seen["stated"]) / seen["error"]))
    caption = "Observed averages against the stated ones, in standard errors; the bar is two of them either way."
    reach = Axis.around([value + step for _, value in rows for step in (-2, 2)] + [0.0])
    chart = Chart(
        caption, 22.0 * len(rows), reach, None, [_short(n) for n, _ in rows], "standard errors from the stated value"
    )
    chart.upright("truth", 0.0)
    for place, (name, value) in enumerate(rows):
        chart.line("second", [(value - 2, place), (value + 2, place)])
        chart.mark("circle", "second", value, place, f"{name}: {value:.3g}")
    return chart


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _slug(record: Record) -> str:
    """The check and its device as part of a name."""
    return "-".join(f"{record.check} {record.device}".replace(":", " ").split())


# -- which relation has which pictures ---------------------------------------------------------------------------------

Draw = Callable[[Record, list[Violation]], Chart | None]


def _no_pictures(record: Record) -> list[tuple[str, Draw]]:
    return []


def _of_curves(name: str, draw: Callable[[Record], Chart | None]) -> Callable[[Record], list[tuple[str, Draw]]]:
    """A picture of the curves that a record has, if it has any."""
    return lambda record: [(name, lambda found, _: draw(found))] if record.details.get("curves") else []


#: The pictures of a record, by the relation of its claim.
PICTURES: dict[type[Relation], Callable[[Record], list[tuple[str, Draw]]]] = {
    AtMost: lambda record: [("search", _search)] if record.check != "enclosed" else [],
    TendsTo: _of_curves("rate", _rate),
    OrderOfGrowth: _of_curves("growth", _growth),
    FollowsLaw: lambda record: [
        ("distribution", lambda found, _: _distribution(found)),
        ("averages", lambda found, _: _averages(found)),
    ],
}
#: The relations whose residuals are statistics, so that mutants are drawn as factors apart.
IN_FACTORS = (TendsTo, FollowsLaw)
