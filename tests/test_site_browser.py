"""The web site in a real browser, from disk: nothing fails, nothing is fetched, filters and keyboard work.

Needs Chromium, which continuous integration installs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.conftest import ON_THE_SITE
from tests.efforts import is_deep, whole_or_part
from tests.site_scan import scan

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: One page of every kind.
KINDS = (
    "index.html",
    "claims.html",
    "glossary.html",
    "papers/skipless.html",
    "map.html",
    "map/dynamics.html",
    "errata/skipless.html",
    "claims/dynamics.prop-4.1.html",
    "claims/osa.alg-1.html",
)
#: What axe checks: everything in WCAG 2.1 AA and its best practices on light pages, colours again on dark ones.  The
#: inside of formulas is left out: it has thousands of elements, made by the converter.
RULES = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]},
    "dark": {"type": "rule", "values": ["color-contrast"]},
}
WITHOUT_FORMULAS = {"include": [["html"]], "exclude": [["math"]]}

pytestmark = [
    pytest.mark.kept(".", programs=["chromium"]),
    pytest.mark.skipif(
        not CHROMIUM.is_file(),
        reason=f"no {CHROMIUM}: apt-get install chromium, as .ci/run does, to test the site in it",
    ),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # playwright makes an empty profile for every start
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, chromium_sandbox=False)
        yield started
        started.close()


class Visit:
    """One page for all tests, since each further one starts a process; what the console said and what was asked for."""

    def __init__(self, browser: Browser) -> None:
        self.page: Page = browser.new_context().new_page()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("requestfailed", lambda request: self.problems.append(f"failed: {request.url}"))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, site: Path, name: str, width: int = 1280, scheme: str = "light") -> Page:
        """The page, which shows a file; nothing is left of what was there."""
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(media="screen", color_scheme=scheme)  # type: ignore[arg-type]
        self.problems.clear()
        self.requests.clear()
        self.page.goto((site / name).as_uri(), wait_until="load")
        return self.page


@pytest.fixture(scope="module")
def visit(browser: Browser) -> Visit:
    return Visit(browser)


@pytest.mark.parametrize("name", KINDS)
def test_pages_open_without_errors_or_requests_and_fit_a_phone(visit: Visit, site: Path, name: str) -> None:
    page = visit.open(site, name, width=390)
    assert visit.problems == []
    assert all(url.startswith(("file:", "data:")) for url in visit.requests), visit.requests
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "the page does not scroll sideways"


@pytest.mark.parametrize(
    "planted", ["<script>document.title = 'taken'</script>", "<img src=x onerror=\"document.title = 'taken'\">"]
)
def test_what_stands_in_a_page_does_not_run(visit: Visit, site: Path, tmp_path: Path, planted: str) -> None:
    page = tmp_path / "planted.html"
    text = (site / "glossary.html").read_text(encoding="utf-8")
    page.write_text(text.replace("</main>", f"{planted}</main>"), encoding="utf-8")
    visit.open(tmp_path, page.name)
    assert "taken" not in visit.page.title()
    assert any("Content Security Policy" in problem for problem in visit.problems)
    page.write_text(
        re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</main>", f"{planted}</main>"), encoding="utf-8"
    )
    visit.page.reload(wait_until="load")
    assert visit.page.title() == "taken", "without the policy it would have run"


#: Words of code in one colour: all but the first of each kind in boxes of one kind become plain text.
REPEATED = """() => {
  const seen = new Set();
  for (const item of document.querySelectorAll("span[class^='hl-']")) {
    const box = item.closest("pre") || item.parentElement;
    const kind = [item, item.parentElement, box, box.parentElement].map((one) => one.className).join(" / ");
    if (seen.has(kind)) item.replaceWith(...item.childNodes);
    seen.add(kind);
  }
}"""


#: Rows, items of lists, parts of pages and nodes of maps: of those that stand side by side and have the same elements and
#: classes inside, all but the first two go.
ALIKE = """() => {
  const alike = (item) => {
    const inside = /^(math|svg)$/i.test(item.tagName) ? [] : [...item.children].map(alike);
    return `${item.tagName} ${item.getAttribute("class")} (${inside})`;
  };
  for (const box of document.querySelectorAll("main, section, tbody, ul, ol, div, svg, g")) {
    const seen = new Map();
    for (const item of [...box.children].filter((one) => /^(tr|li|section|article|details|div|g|a)$/i.test(one.tagName))) {
      const kind = alike(item);
      seen.set(kind, (seen.get(kind) || 0) + 1);
      if (seen.get(kind) > 2) item.remove();
    }
  }
}"""


@pytest.mark.parametrize("name", KINDS)
def test_pages_are_accessible(visit: Visit, site: Path, name: str, pytestconfig: pytest.Config) -> None:
    """One page of every kind; at effort deep all papers, claims, errata and maps, with all that is alike on them."""
    deep = is_deep(pytestconfig)
    pages = (site / name).parent.glob("*.html") if deep else [site / name]
    for page in sorted(pages):
        assert inaccessible(visit, site, page.relative_to(site).as_posix(), deep) == []


def inaccessible(visit: Visit, site: Path, name: str, whole: bool) -> list[str]:
    """What axe finds on a page, light and dark; without the whole of it, of code each colour once, and two of what is alike."""
    visit.open(site, name)
    problems, axe = [], Axe()
    visit.page.evaluate("document.querySelectorAll('details').forEach(item => { item.open = true })")
    if not whole:
        visit.page.evaluate(REPEATED)
        visit.page.evaluate(ALIKE)
    for scheme, rules in RULES.items():
        visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        # what passes is not listed, which takes half of the time
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        found = axe.run(visit.page, context=WITHOUT_FORMULAS, options=options)
        axe = Axe(axe_script="null")  # its script is in the page already
        problems += [
            f"{name}, {scheme}: {item['id']}: {node['target']} {node.get('failureSummary', '')}"
            for item in found.response["violations"]
            for node in item["nodes"][:3]
        ]
    return problems


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("place", ["<pre>{}</pre>", "<div class='other'><pre>{}</pre></div>"])
def test_a_colour_without_contrast_is_seen_in_code(visit: Visit, tmp_path: Path, place: str, whole: bool) -> None:
    """In a light and in a dark scheme, and where words of the same kind stand readable in another box."""
    words = "<span class='hl-k'>for</span> <span class='hl-n'>x</span> <span class='hl-k'>in</span>"
    body = f"<body><main><h1>Code</h1><pre>{words}</pre>{place.format(words)}</main></body></html>"
    pale = ".other .hl-k" if "other" in place else ".hl-k"
    for style in ("", f"{pale} {{ color: #888; background: #777 }}"):
        head = f"<!doctype html><html lang='en'><head><title>Code</title><style>{style}</style></head>"
        (tmp_path / "code.html").write_text(head + body, encoding="utf-8")
        found = inaccessible(visit, tmp_path, "code.html", whole)
        assert bool(found) == bool(style) and all("color-contrast" in problem for problem in found), found


def test_among_rows_that_are_alike_one_of_another_kind_is_seen(visit: Visit, tmp_path: Path) -> None:
    row, style = "<tr><td class='{}'>words</td></tr>", ".pale { color: #888; background: #777 }"
    head = f"<!doctype html><html lang='en'><head><title>Rows</title><style>{style}</style></head>"
    for kinds, wrong in ((["", "", "", ""], 0), (["", "", "", "pale"], 1), (["pale"] * 4, 2)):
        rows = "".join(map(row.format, kinds))
        page = f"{head}<body><main><h1>Rows</h1><table><tbody>{rows}</tbody></table></main></body></html>"
        (tmp_path / "rows.html").write_text(page, encoding="utf-8")
        found = inaccessible(visit, tmp_path, "rows.html", whole=False)
        assert sum("light: color-contrast" in problem for problem in found) == wrong, found


def wait_until(page: Page, script: str) -> None:
    """Wait until a script in the page is true; Playwright's own waiting compiles text, which the pages forbid."""
    deadline = time.monotonic() + 20
    while not page.evaluate(script):
        assert time.monotonic() < deadline, script
        page.wait_for_timeout(20)


def shown(page: Page) -> list[str]:
    """Ids of the claims that the front page shows."""
    return page.locator("#table tbody tr:visible code.id").all_inner_texts()


def test_search_and_filters(visit: Visit, site: Path) -> None:
    page = visit.open(site, "claims.html")
    everything = len(shown(page))
    page.locator("select[name=paper]").select_option("dynamics")
    assert shown(page) and all(claim.startswith("dynamics.") for claim in shown(page))
    page.locator("select[name=verdict]").select_option("refuted (error)")
    page.locator("select[name=weight]").select_option("core")
    assert shown(page) == ["dynamics.prop-4.1"]
    assert page.locator("#found").inner_text() == f"1 of {everything} claims"
    assert "paper=dynamics" in page.url
    page.locator("select[name=verdict]").select_option("refuted")
    assert shown(page) == ["dynamics.prop-4.1"], "the word of the command line means both kinds"
    page.reload()
    assert shown(page) == ["dynamics.prop-4.1"], "the address remembers the filters"
    page.get_by_role("button", name="Reset").click()
    wait_until(page, f"document.querySelectorAll('#table tbody tr:not([hidden])').length === {everything}")
    option = page.locator("select[name=paper] option[value=dynamics]")
    assert option.inner_text() == f"dynamics ({sum(claim.startswith('dynamics.') for claim in shown(page))})"
    page.locator("select[name=verdict]").select_option("refuted (error)")
    page.locator("select[name=paper]").select_option("dynamics")
    assert option.inner_text() == f"dynamics ({len(shown(page))})", "counts follow the other filters"
    page.get_by_role("button", name="Reset").click()
    wait_until(page, f"document.querySelectorAll('#table tbody tr:not([hidden])').length === {everything}")
    page.get_by_role("searchbox").fill("Newton–Schulz")
    assert "osa.ns-convergence" in shown(page), "any dash, and words of labels and notes"
    page.get_by_role("searchbox").fill("asymmetric W_Q")
    assert shown(page), "assumptions and notes"
    page.get_by_role("searchbox").fill("rmsnorm upheld")
    assert 0 < len(shown(page)) < everything
    page.get_by_role("searchbox").fill(r"\lambda no such words")
    assert shown(page) == []
    assert visit.problems == []


def test_addresses_of_the_front_pages_former_table_still_lead_to_it(visit: Visit, site: Path) -> None:
    page = visit.open(site, "index.html")
    page.goto((site / "index.html").as_uri() + "#claims?paper=osa")
    page.reload()
    page.wait_for_url("**/claims.html#claims?paper=osa")
    assert shown(page) and all(claim.startswith("osa.") for claim in shown(page))


def test_a_claim_is_looked_up_from_the_front_page(visit: Visit, site: Path) -> None:
    page = visit.open(site, "index.html")
    page.keyboard.press("/")
    page.keyboard.type("osa.alg-1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/claims.html#claims?q=osa.alg-1")
    assert shown(page) == ["osa.alg-1"]


def test_why_is_seen_without_scrolling_on_a_desktop(visit: Visit, site: Path) -> None:
    page = visit.open(site, "claims.html", width=1440)
    box = page.get_by_role("columnheader", name="why").bounding_box()
    assert box is not None and box["x"] + box["width"] < 1440


#: Widths of a desktop and of a phone, each with that at which formulas are looked at.
WIDTHS = {1440: 1280, 390: 390}
#: Pages of claims with every verdict, relation and kind of evidence, beside the pages of every kind.
SCANNED = sorted({*KINDS, *(f"claims/{claim_id}.html" for claim_id in ON_THE_SITE)})


def test_no_page_cuts_text_or_formulas_loses_letters_or_shows_source(
    visit: Visit, site: Path, pytestconfig: pytest.Config
) -> None:
    """Pages of every kind, and at effort deep all pages; at the width of a desktop and of a phone."""
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    for width, found in scan(visit.page, site, whole_or_part(pytestconfig, names, SCANNED), WIDTHS).items():
        assert found.problems == [], width
        wide = [scrolls for too_wide, scrolls in found.formulas if too_wide]
        assert all(wide), "what does not fit can be scrolled to"
        most = len(found.formulas) / 4 if width == 390 else 0
        assert found.formulas and len(wide) <= most, "a desktop shows all of every formula, a phone most"


@pytest.mark.parametrize(
    ("planted", "seen"),
    [
        (
            '<div class="formula"><math><mtext style="display: inline-block; width: 9px">much too long</mtext></math></div>',
            "",
        ),
        ('<math><mi mathvariant="double-struck">R</mi></math>', "a style that browsers ignore"),
        (r"<p>the \\norm of it</p>", "LaTeX in words"),
        ("<p>It ends..</p>", "two stops"),
        ("<p>1 claims rest on it</p>", "one of several"),
        ("<p>at {'d': 3}</p>", "a Python dict"),
        (
            '<svg class="chart" viewBox="0 0 100 20"><text x="90" y="10">cut at the edge</text></svg>',
            "clipped in a picture",
        ),
        ('<p style="width: 3000px">wide</p>', "scrolls sideways"),
    ],
)
def test_the_scan_sees_what_is_planted(visit: Visit, tmp_path: Path, planted: str, seen: str) -> None:
    (tmp_path / "page.html").write_text(f"<!doctype html><body>{planted}</body>")
    for found in scan(visit.page, tmp_path, ["page.html"], WIDTHS).values():
        assert any(seen in problem for problem in found.problems), found


def test_the_keyboard_reaches_everything(visit: Visit, site: Path) -> None:
    page = visit.open(site, "claims.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("osa.alg-1")
    assert shown(page) == ["osa.alg-1"]


def test_mathematics_is_typeset(visit: Visit, site: Path) -> None:
    page = visit.open(site, "claims/dynamics.prop-4.1.html")
    box = page.locator(".formula math mfrac").first.bounding_box()
    assert box is not None and box["height"] > 1.5 * box["width"] / 10 and box["height"] > 20
    matrix = page.locator(".counterexample math mtable").first.bounding_box()
    assert matrix is not None and matrix["height"] > 30, "rows stand below each other"


def test_a_node_of_the_map_shows_its_statement_and_leads_to_its_claim(visit: Visit, site: Path) -> None:
    page = visit.open(site, "map/dynamics.html")
    told = page.locator(".told").first
    assert "Point at a claim" in told.inner_text()
    node = page.locator("svg a[href$='dynamics.prop-4.1.html']").first
    node.hover()
    wait_until(page, "document.querySelector('.told math')")
    assert told.inner_text().startswith("Proposition 4.1") and "refuted (error)" in told.inner_text()
    page.locator("#steps-map").evaluate("map => map.scrollIntoView(false)")
    page.locator("#steps-map a").last.focus()
    wait_until(page, "document.querySelectorAll('.told')[1].querySelector('math')")
    seen = page.locator(".told").nth(1).bounding_box()
    assert seen is not None and 0 <= seen["y"] < 900, "the statement stays in sight of a tall map"
    page.locator("svg a[href$='dynamics.prop-5.1.html']").first.focus()
    wait_until(page, "document.querySelector('.told').textContent.startsWith('Proposition 5.1')")
    node.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/claims/dynamics.prop-4.1.html")
    assert page.locator("h1").inner_text().startswith("Proposition 4.1") and visit.problems == []


def test_a_claim_leads_to_its_own_place_on_the_map(visit: Visit, site: Path) -> None:
    page = visit.open(site, "claims/dynamics.prop-4.1.html")
    page.get_by_role("link", name="This claim on the map of the paper").click()
    page.wait_for_selector("#steps-map a.chosen")
    (node, frame) = (page.locator(name).bounding_box() for name in ("#steps-map a.chosen rect", "#steps-map"))
    assert node and frame and frame["x"] <= node["x"] and node["x"] + node["width"] <= frame["x"] + frame["width"]
    assert page.locator("#steps-map a.chosen").get_attribute("data-id") == "dynamics.prop-4.1" and visit.problems == []


def test_a_map_is_zoomed_by_buttons_keys_and_wheel_and_searched(visit: Visit, site: Path) -> None:
    page = visit.open(site, "map.html")
    box = page.locator("#dynamics-map")
    around = page.locator(".mapped", has=box)

    def width() -> float:
        return float(box.locator("svg").get_attribute("width") or 0)

    natural = width()
    around.get_by_role("button", name="Larger").click()
    assert width() == pytest.approx(1.25 * natural)
    around.get_by_role("button", name="Fit to width").click()
    assert box.evaluate("map => map.scrollWidth <= map.clientWidth")
    fitted = width()
    box.focus()
    page.keyboard.press("+")
    assert width() == pytest.approx(1.25 * fitted)
    page.keyboard.press("0")
    assert width() == pytest.approx(fitted)
    box.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    wait_until(page, f"document.querySelector('#dynamics-map svg').getAttribute('width') > {fitted + 1}")
    around.get_by_role("searchbox").fill("prop-4.1 ")
    assert "found" in around.get_by_role("status").inner_text()
    wait_until(page, "document.querySelector('.mapped:has(#dynamics-map) .told math')")
    assert box.locator("a:not(.other)").count() >= 1 and box.locator("a.other").count() >= 1
    around.get_by_role("searchbox").fill("no such claim")
    assert around.get_by_role("status").inner_text() == "0 found" and visit.problems == []


def test_a_map_is_a_picture_where_no_script_runs(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "map.html").as_uri())
    assert page.locator("#dynamics-map svg").is_visible() and page.locator(".tools").first.is_hidden()
    assert page.locator(".told").first.is_hidden()
    context.close()


def test_a_snippet_is_copied(visit: Visit, site: Path) -> None:
    page = visit.open(site, "claims/dynamics.prop-4.1.html")
    page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text }")
    buttons = page.locator(".counterexample").first.locator("button.copy")
    for place, start in enumerate(("import numpy as np\n", "from verify import at_inputs\nat_inputs(")):
        page.evaluate("window.copied = undefined")
        page.locator(".counterexample").first.evaluate(
            "box => box.querySelectorAll('details').forEach(d => { d.open = true })"
        )
        buttons.nth(place).click()
        wait_until(page, "window.copied !== undefined")
        assert page.evaluate("window.copied").startswith(start)


def test_nothing_is_lost_on_paper(visit: Visit, site: Path) -> None:
    page = visit.open(site, "errata/dynamics.html", scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("header").is_hidden() and page.locator("button.copy").first.is_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.formula')).overflowX") == "visible"
