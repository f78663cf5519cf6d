"""Charts as SVG text: axes, marks and lines, in the colours of the page they stand on.

Sizes are in pixels of a chart `WIDTH` wide.  Margins are computed from the labels, so that none is cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

WIDTH = 660
#: Size of the letters, and room for one; wider than most letters of most fonts.
SIZE, LETTER = 12, 7.2
#: Marks of an axis: at most so many.
MOST_MARKS = 8
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Axis:
    """Numbers from `low` to `high` as places from 0 to 1, on a logarithmic scale or an even one."""

    low: float
    high: float
    logarithmic: bool = False

    @staticmethod
    def around(values: Iterable[float], logarithmic: bool = False) -> Axis:
        """An axis that holds `values` with some room; raises ValueError where none is finite."""
        given = list(values)
        found = [value for value in given if math.isfinite(value) and (value > 0 or not logarithmic)]
        if not found:
            raise ValueError(f"an axis needs a finite {'positive ' * logarithmic}value; got {given[:3]}")
        low, high = min(found), max(found)
        if logarithmic:
            room = max(0.04 * math.log(high / low), 0.15)
            return Axis(low * math.exp(-room), min(high * math.exp(room), 1e307), True)
        room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        return Axis(low - room, high + room)

    def place(self, value: float) -> float:
        if self.logarithmic:
            value = min(max(value, self.low), self.high)
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def marks(self) -> list[tuple[float, str]]:
        """Round values and what to write beside them."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            if last - first < 1:
                fine = [digit * 10.0**power for power in range(first - 1, last + 1) for digit in (1, 2, 5)]
                return [(value, f"{value:.4g}") for value in fine if self.low <= value <= self.high]
            stride = -(-(last - first + 1) // MOST_MARKS)
            return [(10.0**power, in_powers(power)) for power in range(first, last + 1, stride)]
        step = _round_step((self.high - self.low) / MOST_MARKS)
        count = math.ceil(self.low / step)
        found: list[tuple[float, str]] = []
        while count * step <= self.high:
            found.append((count * step, f"{count * step + 0.0:.6g}".replace("-", "\u2212")))
            count += 1
        return found


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def in_powers(exponent: int) -> str:
    """A power of ten as text."""
    return "1" if exponent == 0 else "10" + str(exponent).translate(_RAISED)


@dataclass
class Chart:
    """A chart of `height` pixels between its axes; `rows` are names along the vertical axis in the place of numbers."""

    caption: str
    height: float
    across: Axis
    up: Axis | None = None
    rows: Sequence[str] = ()
    below: str = ""
    beside: str = ""
    legend: list[tuple[str, str, str]] = field(default_factory=list)  #: (mark, colour, words)
    drawn: list[Markup] = field(default_factory=list)

    @property
    def left(self) -> float:
        names = [text for _, text in self.up.marks()] if self.up else self.rows
        return 12 + LETTER * max((len(name) for name in names), default=0) + (18 if self.beside else 0)

    @property
    def top(self) -> float:
        return 24.0 * len(self._legend_lines()) if self.legend else 8.0

    def x(self, value: float) -> float:
        return self.left + self.across.place(value) * (WIDTH - self.left - 30)

    def y(self, value: float) -> float:
        """From the top; rows are numbered from above."""
        if self.up is None:
            return self.top + (value + 0.5) * self.height / max(len(self.rows), 1)
        return self.top + (1 - self.up.place(value)) * self.height

    def mark(self, kind: str, colour: str, x: float, y: float, title: str = "") -> None:
        """One mark: circle, square, triangle, diamond or cross."""
        self.drawn.append(_mark(kind, colour, self.x(x), self.y(y), title))

    def line(self, colour: str, points: Iterable[tuple[float, float]], style: str = "") -> None:
        """A line through points; `style` is "", "dashed" or "dotted"."""
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.drawn.append(Markup('<polyline class="c-{} {}" points="{}"/>').format(colour, style, path))

    def upright(self, colour: str, x: float) -> None:
        """A dotted line across the height, where `x` lies on the axis."""
        if self.across.low <= x <= self.across.high:
            ends = (self.top, self.top + self.height)
            self.drawn.append(_straight(colour, self.x(x), ends[0], self.x(x), ends[1]))

    def level(self, colour: str, y: float) -> None:
        """A dotted line across the width, where `y` lies on the axis."""
        if self.up is not None and self.up.low <= y <= self.up.high:
            self.drawn.append(_straight(colour, self.left, self.y(y), WIDTH - 30, self.y(y)))

    def _legend_lines(self) -> list[list[tuple[str, str, str]]]:
        lines: list[list[tuple[str, str, str]]] = [[]]
        used = 0.0
        for entry in self.legend:
            room = 34 + LETTER * len(entry[2])
            if lines[-1] and used + room > WIDTH - 20:
                lines.append([])
                used = 0.0
            lines[-1].append(entry)
            used += room
        return lines

    def svg(self) -> Markup:
        """The chart as an SVG element that a screen reader calls by its caption."""
        bottom = self.top + self.height
        parts = [_straight("line solid", self.left, bottom, WIDTH - 30, bottom)]
        for value, words in self.across.marks():
            parts.append(_straight("grid", self.x(value), self.top, self.x(value), bottom))
            parts.append(_words(self.x(value), bottom + 16, words, "middle"))
        if self.up is not None:
            for value, words in self.up.marks():
                parts.append(_straight("grid", self.left, self.y(value), WIDTH - 30, self.y(value)))
                parts.append(_words(self.left - 6, self.y(value) + 4, words, "end"))
        parts += [_words(self.left - 6, self.y(place) + 4, name, "end") for place, name in enumerate(self.rows)]
        if self.below:
            parts.append(_words((self.left + WIDTH - 30) / 2, bottom + 34, self.below, "middle"))
        if self.beside:
            middle = self.top + self.height / 2
            parts.append(
                Markup('<text transform="translate(13 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>').format(
                    middle, self.beside
                )
            )
        for row, entries in enumerate(self._legend_lines()):
            used = 14.0
            for kind, colour, words in entries:
                parts += [_mark(kind, colour, used, 12 + 20 * row), _words(used + 10, 16 + 20 * row, words, "start")]
                used += 34 + LETTER * len(words)
        total = bottom + (42 if self.below else 24)
        return Markup('<svg class="chart" viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
            WIDTH, total, self.caption, Markup("").join([*parts, *self.drawn])
        )


def _straight(colour: str, x: float, y: float, to_x: float, to_y: float) -> Markup:
    style = "" if " " in colour or colour == "grid" else " dotted"
    return Markup('<path class="c-{}{}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>').format(colour, style, x, y, to_x, to_y)


def _words(x: float, y: float, words: str, anchor: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, words)


_SHAPES = {
    "circle": "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
    "square": "M-3.5 -3.5H3.5V3.5H-3.5Z",
    "triangle": "M0 -4.5L4.5 3.5H-4.5Z",
    "diamond": "M0 -5L5 0L0 5L-5 0Z",
    "cross": "M-4.5 -4.5L4.5 4.5M4.5 -4.5L-4.5 4.5",
    "dash": "M-7 0H7",
    "dashes": "M-8 0H-2M2 0H8",
}


def _mark(kind: str, colour: str, x: float, y: float, title: str = "") -> Markup:
    said = Markup("<title>{}</title>").format(title) if title else ""
    fill = "stroke" if kind in ("cross", "dash", "dashes") else "fill"
    shape = escape(_SHAPES[kind])
    return Markup('<path class="m-{} {}" transform="translate({:.1f} {:.1f})" d="{}">{}</path>').format(
        colour, fill, x, y, shape, said
    )
