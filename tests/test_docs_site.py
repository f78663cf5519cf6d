"""The docs as a web site: built without warnings, every link leads somewhere, ids of claims are registered and are links."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests import loaded
from tests.efforts import whole_or_part
from tests.test_site_browser import CHROMIUM, FLAGS
from verify.report import Report, restricted
from verify.site import write_site
from verify.vocabulary import load

pytestmark = pytest.mark.kept(".", programs=["chromium"])

pytest.importorskip("sphinx", reason="the docs are built by Sphinx, which is in the extra 'docs'")
pytest.importorskip("myst_parser", reason="the docs are read by MyST, which is in the extra 'docs'")

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).with_suffix("") for path in DOCS.glob("**/*.md"))


def sphinx(source: Path, out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As `make docs` does it, for pages of `source`."""
    options = ["-W", "--keep-going", "-q", "-E", "-c", str(DOCS), *arguments]
    return loaded.run("sphinx", [*options, str(source), str(out)], ROOT)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, in a folder `docs` beside which the report would stand."""
    folder = tmp_path_factory.mktemp("report") / "docs"
    result = sphinx(DOCS, folder, "-D", "report_url=..")
    assert result.returncode == 0 and not result.stderr, result.stdout + result.stderr
    return folder


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.formulas = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.anchors.add(values.get("id", ""))
        self.formulas += tag == "math"
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif "src" in values or (tag == "link" and values.get("rel") in ("stylesheet", "preload")):
            self.loads.append(values.get("src") or values["href"])


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(built.glob("**/*.html"))}


@pytest.mark.long("it builds all pages")
def test_every_markdown_file_is_a_page_and_stands_in_the_contents(built: Path, pages: dict[Path, Page]) -> None:
    assert {path.relative_to(built).with_suffix("") for path in pages} >= set(PAGES)
    listed = {urldefrag(link).url for link in pages[built / "index.html"].links}
    missing = [str(page) for page in PAGES if str(page) != "index" and f"{page}.html" not in listed]
    assert not missing, "not in a toctree"


def test_links_within_the_site_lead_somewhere(built: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(link)
            if "://" in address or address.startswith("mailto:"):
                continue
            target = (path.parent / unquote(address)).resolve() if address else path
            if not target.is_relative_to(built):
                continue  # the report's, below
            if not target.exists() or (anchor and target in pages and unquote(anchor) not in pages[target].anchors):
                broken.append(f"{path.relative_to(built)}: {link}")
    assert not broken


def test_the_report_is_linked_by_ids_of_claims_alone(built: Path, pages: dict[Path, Page]) -> None:
    claims = load()
    outside = set()
    for path, page in pages.items():
        targets = ((path.parent / unquote(link)).resolve() for link in page.links if "://" not in link)
        outside |= {target.relative_to(built.parent) for target in targets if not target.is_relative_to(built)}
    assert outside and outside <= {Path("claims") / f"{claim_id}.html" for claim_id in claims}
    # in a sentence, in a table's cell without backticks, and in a docstring
    for name, claim_id in (
        ("bounds", "osa.ns-stable"),
        ("reference", "osa.alg-1"),
        ("api/functions", "osa.ns-convergence"),
    ):
        assert any(link.endswith(f"../claims/{claim_id}.html") for link in pages[built / f"{name}.html"].links), name


def test_pages_need_no_network(pages: dict[Path, Page]) -> None:
    assert not [load for page in pages.values() for load in page.loads if "://" in load or load.startswith("//")]


def test_the_reference_is_made_from_the_code(built: Path) -> None:
    texts = {name: (built / f"api/{name}.html").read_text(encoding="utf-8") for name in ("cli", "functions", "verify")}
    assert 'id="verify.check"' in texts["verify"] and 'id="verify.vocabulary.Claim"' in texts["verify"]
    assert 'id="theorems.layers.newton_schulz"' in texts["functions"]
    assert "--effort" in texts["cli"] and "--baseline" in texts["cli"]


def test_signatures_show_shapes_and_no_annotations(built: Path) -> None:
    page = re.sub(r"<[^>]+>", "", (built / "api/functions.html").read_text(encoding="utf-8"))
    shown = " ".join(html.unescape(page).split())
    assert "X: Tensor[N, d], W_Q: Tensor[d, d_v]" in shown and "gamma: Tensor[D]" in shown and "alpha: float" in shown
    for rest in ("Annotated", "Shape(dims", "Real(low"):
        assert rest not in shown


PROBE = r"""# A probe

The claims `osa.alg-1` and `osa.alg-99`, a formula $\frac{a}{b}$, S_1 as people write it, $\nosuch{x}$.

$$
\sum_i x_i
$$
"""


def test_an_unknown_claim_and_a_formula_that_cannot_be_typeset_are_errors(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text(PROBE)
    result = sphinx(tmp_path, tmp_path / "out")
    assert result.returncode != 0 and result.stderr.count("WARNING") == 2
    assert "no claim has the id 'osa.alg-99'" in result.stderr and "cannot be typeset: \\nosuch{x}" in result.stderr
    text, page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8"), Page(tmp_path / "out" / "index.html")
    assert page.formulas == 2 and "<var>S<sub>1</sub></var>" in text
    assert not [link for link in page.links if "claims/" in link], "no report was given"


#: One line for each thing that a reader cannot see whole, nor scroll to.
CUT_OFF = """() => {
  const problems = [];
  const say = (what, item) => problems.push(`${what}: ${item.textContent.trim().slice(0, 80)}`);
  if (document.documentElement.scrollWidth > innerWidth) say("scrolls sideways", document.querySelector("h1"));
  const scrolls = (item) => item && (/auto|scroll/.test(getComputedStyle(item).overflowX) || scrolls(item.parentElement));
  for (const item of document.querySelectorAll("article math, article code, article img, article table, article pre")) {
    const box = item.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1 && !scrolls(item)) say("cut off", item);
  }
  for (const item of document.querySelectorAll("article math")) {
    const inside = document.createRange();
    inside.selectNodeContents(item);
    const edge = item.parentElement.getBoundingClientRect().left + item.parentElement.scrollWidth + 4;
    if (inside.getBoundingClientRect().right > edge && !scrolls(item)) say("painted beyond its box", item);
  }
  return problems;
}"""


#: What may be too wide for a page, and the part of it that does not break.
WIDE = {"pre": r"[^\n]+", "code": r"\S+", "math": r".+", "table": r"\S+"}


def with_the_widest(built: Path, number: int = 2) -> list[Path]:
    """Of each kind of thing that may be cut off, the pages with the longest; and one page of each folder."""
    widest: dict[str, dict[Path, int]] = {kind: {} for kind in WIDE}
    folders: dict[Path, Path] = {}
    for path in sorted(built.glob("**/*.html")):
        folders.setdefault(path.parent, path)
        article = path.read_text(encoding="utf-8").partition("<article")[2]
        for kind, unbroken in WIDE.items():
            inside = re.findall(rf"<{kind}\b.*?</{kind}>", article, re.DOTALL)
            words = re.findall(unbroken, html.unescape(re.sub(r"<[^>]+>", "", "\n".join(inside))))
            widest[kind][path] = max(map(len, words), default=0)
    longest = [sorted(found, key=lambda path: -found[path])[:number] for found in widest.values()]
    return sorted({*folders.values(), *(path for several in longest for path in several)})


@pytest.mark.skipif(not CHROMIUM.is_file(), reason=f"no {CHROMIUM}: apt-get install chromium, as .ci/run does")
def test_nothing_is_cut_off_on_any_page_and_what_is_would_be_seen(built: Path, pytestconfig: pytest.Config) -> None:
    """At the width of a phone and of a desktop, pages with the widest of all, and at effort deep every page."""
    from playwright.sync_api import sync_playwright

    found, widths = [], (1280, 390)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, chromium_sandbox=False)
        page = started.new_context().new_page()

        def cut_off() -> list[list[str]]:
            said = []
            for width in widths:
                page.set_viewport_size({"width": width, "height": 900})
                said.append(page.evaluate(CUT_OFF))
            return said

        for path in whole_or_part(pytestconfig, sorted(built.glob("**/*.html")), with_the_widest(built)):
            page.goto(path.as_uri(), wait_until="load")
            found += [f"{path.relative_to(built)}: {problem}" for problems in cut_off() for problem in problems]
        assert found == []
        page.set_content(
            "<article style='overflow: hidden'><h1>A page</h1><pre style='width: 5000px'>a line</pre></article>"
        )
        assert cut_off() == [["cut off: a line"]] * 2
        page.set_content("<article><h1>A page</h1><table style='width: 5000px'><tr><td>1</td></tr></table></article>")
        assert cut_off() == [["scrolls sideways: A page", "cut off: 1"]] * 2
        page.set_content("<article><h1>A page</h1><pre style='width: 800px'>a line</pre></article>")
        assert cut_off() == [[], ["scrolls sideways: A page", "cut off: a line"]], "at the width of a phone alone"
        started.close()


def test_the_report_links_to_docs_beside_it_and_to_an_address(full_report: Report, tmp_path: Path) -> None:
    claim = "claims/convergence.lemma-11.html"
    report = restricted(full_report, [full_report.claims["convergence.lemma-11"]])

    def links(page: str, docs: str | None = None) -> list[str]:
        write_site(report, tmp_path, docs=docs)
        return Page(tmp_path / page).links

    assert not [link for link in links(claim) if "docs/" in link]
    assert "https://example.org/docs/" in links(claim, docs="https://example.org/docs/")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.html").touch()
    assert "../docs/index.html" in links(claim) and "docs/index.html" in Page(tmp_path / "index.html").links


def test_what_looks_like_an_id() -> None:
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        from claim_ids import unknown_ids
    finally:
        sys.path.remove(str(DOCS / "_ext"))
    known = "`osa.alg-1`, osa.thm-2.1. The folder theorems/osa.md, theorems.osa.fast; `osa.*`; dynamics. Then hessian.attention(X)"
    assert unknown_ids(known) == []
    assert unknown_ids("osa.alg-2, `hessian.thm-3.1-*`, convergence.nosuch-*, not hessian.thm-9.") == [
        "osa.alg-2", "convergence.nosuch-*", "hessian.thm-9",
    ]  # fmt: skip
