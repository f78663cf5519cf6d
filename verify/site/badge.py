"""The verdicts in one line, as an SVG badge for a README or a dashboard."""

from __future__ import annotations

import anybadge

from verify.report import Report

#: Kinds of verdicts that a badge names, and how.
_NAMED = {
    ("holds", "reading"): "hold", ("refuted (error)",): "false", ("refuted (slip)",): "misprinted", ("gap",): "with a gap",
    ("open",): "open",
}  # fmt: skip


def badge(report: Report) -> str:
    """How many printed claims hold, are false, misprinted, have a gap or are open; red when evidence disagrees."""
    found = report.kinds(own=False)
    numbers = {word: sum(found[kind] for kind in kinds) for kinds, word in _NAMED.items()}
    words = [f"{number} {word}" for word, number in numbers.items() if number]
    colour = "#b3261e" if report.disagreements and not report.missing else "#6b6b6b" if report.missing else "#1a7f37"
    text = ", ".join(words) or "no claims"
    partial = " (partial)" if report.missing else ""
    drawn = anybadge.Badge("theorems", text + partial, default_color=colour)
    return str(drawn.badge_svg_text).replace(drawn.mask_str, "mask")  # the library counts its badges
