"""Pictures of what the checks measured, as SVG files that follow the reader's colour scheme.

A plot is data first, so that a picture whose data has not changed is not drawn again.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import multiprocessing
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from verify.checks.equality import ROUNDING_LIMIT
from verify.checks.record import SEPARATION, Record
from verify.report.files import replace_file
from verify.vocabulary.claims import Claim

#: Raised when pictures are drawn differently from the same data.
DRAWING = 1
#: What drawing raises about data of another shape.
UNDRAWABLE = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)
#: So many pictures to draw repay the start of processes.
WORTH_A_POOL = 120
#: Width of a picture in inches.
WIDTH = 6.6
#: Residuals are drawn between these; what lies beyond is drawn at the edge and said so in the table.
SMALLEST, LARGEST, MOST_TIMES = 1e-3, 1e25, 1e100
#: Errors below this are drawn there, since zero has no logarithm.
TINIEST = 1e-300
#: Name of the row of the formula itself.
TRUTH = "as printed"
MARKERS = {"float64": "o", "float32": "s", "ball": "^", "exact": "D", "exact or ball": "^"}
#: Colours by role: as matplotlib draws them, on light pages, on dark ones.
ROLES = {
    "line": ("#010101", "#24292f", "#e6e6e6"),
    "quiet": ("#020202", "#6e7781", "#9aa4ae"),
    "truth": ("#030303", "#1a7f37", "#4cc46a"),
    "wrong": ("#040404", "#b3261e", "#ff8a80"),
    "second": ("#050505", "#0b57d0", "#8ab4f8"),
}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
INK = {role: colours[0] for role, colours in ROLES.items()}


#: How everything is drawn: text as text, and nothing that costs time without being seen.
LOOK: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK["line"],
    "xtick.color": INK["line"],
    "ytick.color": INK["line"],
    "axes.labelcolor": INK["line"],
    "axes.edgecolor": INK["quiet"],
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Plot:
    """A picture: its name among the claim's, what it shows in words, and the data it is drawn from."""

    name: str
    caption: str
    data: dict[str, Any]
    draw: Callable[[Axes, dict[str, Any]], None]
    height: float

    @property
    def mark(self) -> str:
        """What a file drawn from this data carries in its first line."""
        content = json.dumps([DRAWING, self.name, self.caption, self.height, self.data, ROLES], sort_keys=True)
        return f"<!-- {hashlib.sha256(content.encode()).hexdigest()} -->"

    def is_drawn(self, path: Path) -> bool:
        """Whether the file there was drawn from the same data."""
        if not path.is_file():
            return False
        with open(path, encoding="utf-8") as file:
            return file.readline().strip().endswith(self.mark)

    def write(self, path: Path) -> None:
        """Draw into `path`, unless the file there was drawn from the same data."""
        if not self.is_drawn(path):
            replace_file(path, f'<?xml version="1.0" encoding="utf-8"?>{self.mark}\n{self._svg()}')

    @property
    def longest_name(self) -> int:
        """Characters of the longest name along the vertical axis; 0 where numbers stand there."""
        return max((len(_short(row[0])) for row in self.data.get("rows", [])), default=0)

    def _svg(self) -> str:
        with mpl.rc_context(LOOK | {"svg.hashsalt": self.name}):
            figure = Figure(figsize=(WIDTH, self.height), facecolor="none")
            canvas = FigureCanvasSVG(figure)
            # fixed margins, and drawn once: layout by measuring takes twice as long
            left = (0.75 + 0.062 * self.longest_name) / WIDTH
            below, above = 0.5 / self.height, 0.28 / self.height
            axes = figure.add_axes((left, below, 1 - left - 0.45 / WIDTH, 1 - below - above))
            self.draw(axes, self.data)
            text = io.StringIO()
            canvas.print_svg(text, metadata={"Date": None, "Title": self.caption})
        drawn = text.getvalue()
        drawn = drawn[drawn.index("<svg") :]
        for role, (ink, _, _) in ROLES.items():
            drawn = drawn.replace(ink, f"var(--{role})")
        end = drawn.index(">") + 1
        return drawn[:end] + _style() + drawn[end:]


def _logarithmic(axes: Axes, which: str) -> None:
    """Powers of ten as plain text: the library's own labels are formulas, and cost more than the rest of a picture."""
    axes.set(**{f"{name}scale": "log" for name in which})
    for name in which:
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_locator(LogLocator(numticks=9))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, place: _in_powers(value)))


def _in_powers(value: float) -> str:
    exponent = round(math.log10(value))
    if not math.isclose(value, 10.0**exponent):
        return f"{value:g}"
    return "1" if exponent == 0 else "10" + str(exponent).translate(_RAISED)


def _style() -> str:
    light, dark = ("".join(f"--{role}:{colours[place]};" for role, colours in ROLES.items()) for place in (1, 2))
    return f"<style>:root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"


def draw(plot: Plot, path: Path) -> bool:
    """Draw one plot; False where its data has another shape than the plot expects."""
    try:
        plot.write(path)
    except UNDRAWABLE:
        return False
    return True


def draw_all(plots: list[tuple[Plot, Path]]) -> Iterator[bool]:
    """Draw many, in as many processes as there are processors if that pays; one answer each, in order."""
    work = [(plot, path) for plot, path in plots if not plot.is_drawn(path)]
    if len(work) < WORTH_A_POOL:
        yield from (draw(plot, path) for plot, path in plots)
        return
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        answers = pool.map(draw, *zip(*plots, strict=True), chunksize=8)
        yield from answers


def plots_of(claim: Claim, records: list[Record]) -> list[Plot]:
    """The pictures that a claim's evidence gives."""
    found = [_residuals(claim, records)]
    for record in records:
        if claim.relation.kind == "at most" and record.check != "enclosed":
            found.append(_search(record))
        if claim.relation.kind == "tends to" and record.details.get("curves"):
            found.append(_rate(record))
        if claim.relation.kind == "order" and record.details.get("curves"):
            found.append(_growth(record))
        if claim.relation.kind == "follows law":
            found += [_distribution(record), _averages(record)]
    return [plot for plot in found if plot is not None]


# -- right and wrong apart ---------------------------------------------------------------------------------------------


def _residuals(claim: Claim, records: list[Record]) -> Plot | None:
    """Truth and mutants on one axis: in rounding units, or for statistics and limits as factors apart."""
    in_units = claim.relation.kind in ("equal", "structure", "at most", "order")
    rows = []
    for mutant in claim.mutants:
        values = [[r.arithmetic, r.mutants[mutant.name]["residual"]] for r in records if mutant.name in r.mutants]
        rows.append([mutant.name, [[arithmetic, _within(value, in_units)] for arithmetic, value in values]])
    if not any(values for _, values in rows):
        return None
    if in_units:
        truths = [[r.arithmetic, _within(r.worst_residual, True)] for r in records if r.worst_residual is not None]
        rows.insert(0, [TRUTH, truths])
        caption = (
            "Residuals in rounding units, one point per check: a right formula stays below"
            f" {ROUNDING_LIMIT:g}, a mutant is dead once one check puts it above {SEPARATION:g}."
        )
    else:
        caption = f"Factor by which each mutant is less likely or less close than the truth; {SEPARATION:g} is needed."
    unit = "rounding units" if in_units else "times"
    return Plot("residuals", caption, {"rows": rows, "unit": unit}, _draw_residuals, 1.1 + 0.24 * len(rows))


def _within(value: float, in_units: bool) -> float:
    largest = LARGEST if in_units else MOST_TIMES
    return largest if math.isnan(value) else min(max(value, SMALLEST), largest)


def _draw_residuals(axes: Axes, data: dict[str, Any]) -> None:
    rows = data["rows"][::-1]
    _logarithmic(axes, "x")
    for height, (name, values) in enumerate(rows):
        for arithmetic, value in values:
            right = name == TRUTH and value <= ROUNDING_LIMIT
            marker = MARKERS.get(arithmetic, "o")
            axes.scatter([value], [height], s=22, marker=marker, color=INK["truth" if right else "wrong"], zorder=3)
    axes.axvline(ROUNDING_LIMIT, color=INK["truth"], linewidth=1, linestyle=":")
    axes.axvline(SEPARATION, color=INK["wrong"], linewidth=1, linestyle=":")
    for arithmetic in dict.fromkeys(arithmetic for _, values in rows for arithmetic, _ in values):
        axes.scatter([], [], s=22, marker=MARKERS.get(arithmetic, "o"), color=INK["quiet"], label=arithmetic)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderpad=0.2, handletextpad=0.2)
    axes.set_yticks(range(len(rows)), [_short(name) for name, _ in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel(data["unit"])
    axes.grid(axis="x", color=INK["quiet"], alpha=0.25, linewidth=0.5)


# -- the search for a bound's tightest case ----------------------------------------------------------------------------


def _search(record: Record) -> Plot | None:
    search = record.details.get("search")
    if not search or len(search["rises"]) < 3:
        return None
    caption = f"The largest {search['of']} found so far, over the number of inputs that the search has evaluated"
    caption += ", gradient ascent from the dotted line on." if search["ascent from"] else "."
    return Plot(f"search-{_slug(record)}", caption, search, _draw_search, 2.3)


def _draw_search(axes: Axes, data: dict[str, Any]) -> None:
    seen = [max(point[0], 1) for point in data["rises"]] + [max(data["inputs"], 1)]
    best = [point[1] for point in data["rises"]] + [data["rises"][-1][1]]
    _logarithmic(axes, "x")
    axes.step(seen, best, where="post", color=INK["second"])
    axes.scatter(seen[:-1], best[:-1], s=10, color=INK["second"])
    axes.axhline(1.0 if data["of"] == "ratio" else 0.0, color=INK["wrong"], linewidth=1, linestyle=":")
    if data["ascent from"]:
        axes.axvline(data["ascent from"], color=INK["quiet"], linewidth=1, linestyle=":")
    axes.set_xlabel("inputs")
    axes.set_ylabel(data["of"])


# -- limits ------------------------------------------------------------------------------------------------------------


def _rate(record: Record) -> Plot:
    """Errors over scales: with a fitted power for random sequences, step by step for those that converge quadratically."""
    curves = record.details["curves"]
    random = "rms error" in curves[0]
    lines = [[curve["scales"], curve["rms error"] if random else curve["log10 error"]] for curve in curves]
    if random:
        fitted = [[scales, errors, *_power(scales, errors)] for scales, errors in lines]
        found = ", ".join(f"{slope:.3f}" for *_, slope, _ in fitted)
        caption = f"Root mean square error over the scale, and fitted powers (dashed), of exponents {found}."
        return Plot(f"rate-{_slug(record)}", caption, {"lines": fitted}, _draw_power, 2.6)
    finite = [[x, [y for y in ys if math.isfinite(float(y)) and float(y) > -1e5]] for x, ys in lines]
    caption = "log10 of the error at each step: of convergence of order two when it doubles from step to step."
    return Plot(f"rate-{_slug(record)}", caption, {"lines": finite}, _draw_steps, 2.6)


def _power(scales: list[int], errors: list[float]) -> tuple[float, float]:
    """Exponent and factor of the power of the scale that fits the errors best, in logarithms."""
    slope, offset = np.polyfit(np.log(scales), np.log(np.maximum(errors, TINIEST)), 1)
    return float(slope), float(np.exp(offset))


def _draw_power(axes: Axes, data: dict[str, Any]) -> None:
    _logarithmic(axes, "xy")
    for scales, errors, slope, factor in data["lines"]:
        axes.plot(scales, np.maximum(errors, TINIEST), "o", markersize=4, color=INK["second"])
        axes.plot(scales, [factor * scale**slope for scale in scales], "--", linewidth=1, color=INK["quiet"])
    low, high = axes.get_ylim()
    if high < 100 * low:  # too few powers of ten to read
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.set_xlabel("scale")
    axes.set_ylabel("RMS error")


def _draw_steps(axes: Axes, data: dict[str, Any]) -> None:
    for scales, logs in data["lines"]:
        axes.plot(scales[: len(logs)], logs, "o-", markersize=4, linewidth=1, color=INK["second"])
    axes.set_xlabel("step")
    axes.set_ylabel("log10 error")


# -- orders of growth --------------------------------------------------------------------------------------------------


def _growth(record: Record) -> Plot:
    curves = record.details["curves"]
    lines = [
        [curve["along"], curve["scales"], [math.log10(max(row, 1)) for row in rows]]
        for curve in curves[: len({curve["along"] for curve in curves})]
        for rows in zip(*curve["counts"], strict=True)
    ]
    caption = "Operations or entries counted while the named sizes grow together, both axes logarithmic."
    return Plot(f"growth-{_slug(record)}", caption, {"lines": lines}, _draw_growth, 2.8)


def _draw_growth(axes: Axes, data: dict[str, Any]) -> None:
    styles = ["-", "--", "-.", ":"]
    names = list(dict.fromkeys(name for name, _, _ in data["lines"]))
    for name, scales, logs in data["lines"]:
        style = styles[names.index(name) % len(styles)]
        axes.plot(scales, logs, style, linewidth=1.2, color=INK["second"], label=name)
    labelled = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    axes.legend(labelled.values(), labelled.keys(), title="growing")
    _logarithmic(axes, "x")
    axes.set_xlabel("factor by which the sizes grow")
    axes.set_ylabel("log10 count")


# -- laws --------------------------------------------------------------------------------------------------------------


def _observed(record: Record, key: str) -> list[dict[str, Any]]:
    tests = record.details.get("tests", [])
    return [test for test in tests if key in test.get("observed", {})]


def _sizes(test: dict[str, Any]) -> str:
    """Sizes such as "{'n': 3}" as "n = 3"."""
    return re.sub("['{}]", "", str(test["sizes"])).replace(":", " =")


def _distribution(record: Record) -> Plot | None:
    tests = _observed(record, "at")
    if not tests:
        return None
    data = {"name": f"{tests[0]['name']} ({_sizes(tests[0])})", **tests[0]["observed"]}
    caption = (
        f"Distribution of the sample (points) and as stated (line): {data['name']}, {tests[0]['samples']} samples."
    )
    return Plot(f"distribution-{_slug(record)}", caption, data, _draw_distribution, 2.5)


def _draw_distribution(axes: Axes, data: dict[str, Any]) -> None:
    axes.plot(data["at"], data["stated"], color=INK["quiet"], linewidth=1.5, label="stated")
    axes.plot(data["at"], data["found"], "o", markersize=3, color=INK["second"], label="observed")
    axes.set_xlabel("value")
    axes.set_ylabel("probability below")
    axes.legend()


def _averages(record: Record) -> Plot | None:
    tests = [test for test in _observed(record, "mean") if test["observed"]["error"] > 0]
    if not tests:
        return None
    rows = []
    for test in tests:
        observed = test["observed"]
        error = observed["error"]
        rows.append([f"{test['name']} ({_sizes(test)})", (observed["mean"] - observed["stated"]) / error])
    caption = "Observed averages against the stated ones, in standard errors; the bar is two of them either way."
    return Plot(f"averages-{_slug(record)}", caption, {"rows": rows}, _draw_averages, 0.9 + 0.22 * len(rows))


def _draw_averages(axes: Axes, data: dict[str, Any]) -> None:
    rows = data["rows"][::-1]
    heights = range(len(rows))
    axes.axvline(0, color=INK["truth"], linewidth=1, linestyle=":")
    axes.errorbar([gap for _, gap in rows], heights, xerr=2, fmt="o", markersize=4, linewidth=1, color=INK["second"])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_yticks(heights, [_short(name) for name, _ in rows])
    axes.set_xlabel("standard errors from the stated value")


def _short(name: str) -> str:
    return name if len(name) <= 44 else name[:43] + "…"


def _slug(record: Record) -> str:
    """The check and its device as part of a file name."""
    return "-".join(f"{record.check} {record.device}".replace(":", " ").split())
