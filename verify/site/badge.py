"""The verdicts in one line, as an SVG badge for a README or a dashboard."""

from __future__ import annotations

from collections.abc import Mapping

import anybadge

from verify.report import Report

#: Kinds of verdicts that a badge names, and how.
_NAMED = {
    ("holds", "reading"): "hold", ("refuted (error)",): "false", ("refuted (slip)",): "misprinted", ("gap",): "with a gap",
    ("open",): "open",
}  # fmt: skip


def badge(report: Report) -> str:
    """How many printed claims hold, are false, misprinted, have a gap or are open; red when evidence disagrees."""
    colour = "#b3261e" if report.disagreements and not report.missing else "#6b6b6b" if report.missing else "#1a7f37"
    partial = " (partial)" if report.missing else " (as released)" if report.released else ""
    return drawn_badge("theorems", counted_kinds(report.kinds(own=False)) + partial, colour)


def counted_kinds(found: Mapping[str, int]) -> str:
    """Numbers of verdicts by kind in words: "270 hold, 101 false"."""
    numbers = {word: sum(found[kind] for kind in kinds) for kinds, word in _NAMED.items()}
    return ", ".join(f"{number} {word}" for word, number in numbers.items() if number) or "no claims"


def drawn_badge(name: str, text: str, colour: str = "#1a7f37") -> str:
    """A badge as SVG."""
    drawn = anybadge.Badge(name, text, default_color=colour)
    return str(drawn.badge_svg_text).replace(drawn.mask_str, "mask")  # the library counts its badges
