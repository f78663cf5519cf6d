"""What is looked for on every page in a browser: nothing cut off, no letter lost, no source where mathematics should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page

#: Runs in the page and returns one line per problem.
SCAN = r"""
() => {
  const problems = [];
  const say = (what, text) => problems.push(`${what}: ${text.trim().slice(0, 90)}`);
  document.querySelectorAll("details").forEach((item) => { item.open = true; });
  if (document.documentElement.scrollWidth > innerWidth) say("scrolls sideways", `${document.documentElement.scrollWidth}`);
  // painted against measured: text must end where its box does, or where its box can be scrolled to
  for (const box of document.querySelectorAll(".formula")) {
    const edge = box.getBoundingClientRect().left + box.scrollWidth + 4;  // italics lean out of their boxes
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(node);
      const painted = range.getBoundingClientRect();
      if (painted.right + box.scrollLeft > edge) { say("painted beyond its box", node.textContent); break; }
    }
  }
  for (const item of document.querySelectorAll("mtext, mi, mn")) {
    const range = document.createRange();
    range.selectNodeContents(item);
    const [painted, measured] = [range, item].map((part) => part.getBoundingClientRect().width);
    if (painted > measured + 4) say("painted beyond its box", item.textContent);
  }
  for (const item of document.querySelectorAll("math [mathvariant]")) {
    if (item.getAttribute("mathvariant") !== "normal") say("a style that browsers ignore", item.outerHTML);
  }
  for (const item of document.querySelectorAll("code.latex")) say("LaTeX source", item.textContent);
  for (const chart of document.querySelectorAll("svg.chart")) {
    const frame = chart.getBoundingClientRect();
    for (const text of chart.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
        say("clipped in a picture", text.textContent);
      }
    }
    if (/NaN|Infinity/.test(chart.outerHTML)) say("no number in a picture", chart.getAttribute("aria-label"));
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("pre, code, script, style, svg title")) continue;
    const text = node.textContent;
    if (/\\[A-Za-z]+/.test(text)) say("LaTeX in words", text);
    if (/[^.]\.\.(\s|$)/.test(text)) say("two stops", text);
    if (/\b1 (claims|inputs|checks|formulas|errors)\b/.test(text)) say("one of several", text);
    if (/\{'\w+':/.test(text)) say("a Python dict", text);
  }
  return problems;
}
"""
#: For pages of refuted claims: whether the violation, with both sides named, is on the first screen.
FIRST_SCREEN = r"""
() => {
  const shown = document.querySelector(".verdict .violated");
  if (!shown) return "no violation";
  const names = [...shown.querySelectorAll(".name")].map((item) => item.textContent.trim());
  if (names.length < 2 || names.some((name) => !name)) return "a side without a name";
  return shown.getBoundingClientRect().bottom > innerHeight ? "the violation is below the first screen" : "";
}
"""


#: Of each box for a formula: whether a part of it is cut off, and whether it scrolls and the keyboard reaches it.
FORMULAS = """[...document.querySelectorAll(".formula")].filter((box) => box.clientWidth).map((box) =>
    [box.scrollWidth - box.clientWidth > 1, getComputedStyle(box).overflowX === "auto" && box.tabIndex === 0])"""


@dataclass
class Scanned:
    """The problems of pages, each with the name of its page, and what `FORMULAS` says of their formulas."""

    problems: list[str] = field(default_factory=list)
    formulas: list[tuple[bool, bool]] = field(default_factory=list)


def scan(page: Page, site: Path, names: list[str], widths: Mapping[int, int]) -> dict[int, Scanned]:
    """What is found at each width, in a page of a browser; every file is opened once.

    To each width of a page belongs the one at which its formulas are looked at.
    """
    found = {width: Scanned() for width in sorted(widths, reverse=True)}
    for name in names:
        page.goto((site / name).as_uri(), wait_until="load")
        for width, scanned in reversed(found.items()):  # the page has the least width from the one before
            page.set_viewport_size({"width": widths[width], "height": 900})
            scanned.formulas += page.evaluate(FORMULAS)
        for width, scanned in found.items():
            page.set_viewport_size({"width": width, "height": 900})
            # the scan opens what is folded, so the first screen is looked at before, at the larger width
            refuted = width > 1000 and name.startswith("claims/") and page.locator(".verdict.refuted-box").count() > 0
            if refuted and (problem := page.evaluate(FIRST_SCREEN)):
                scanned.problems.append(f"{name}: {problem}")
            scanned.problems += [f"{name}: {problem}" for problem in page.evaluate(SCAN)]
    return found
