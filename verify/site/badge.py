"""The verdicts in one line, as an SVG badge for a README or a dashboard."""

from __future__ import annotations

import anybadge

from verify.report import Report, counts

#: Statuses that a badge names, and how.
_NAMED = {"holds": "hold", "refuted": "refuted", "gap": "gaps", "open": "open"}


def badge(report: Report) -> str:
    """How many claims hold, are refuted, have a gap or are open; red when evidence disagrees with the source."""
    found = counts(report.verdicts)
    words = [f"{found[status]} {word}" for status, word in _NAMED.items() if status in found]
    colour = "#b3261e" if report.disagreements and not report.missing else "#6b6b6b" if report.missing else "#1a7f37"
    text = ", ".join(words) or "no claims"
    partial = " (partial)" if report.missing else ""
    return str(anybadge.Badge("theorems", text + partial, default_color=colour).badge_svg_text)
