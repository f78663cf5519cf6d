"""The web site: its pages, what stands on them, and what they say about evidence that is not complete."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from verify.report import Report, restricted
from verify.report.baseline import Change
from verify.site import require_libraries, write_site
from verify.site.graph import folded, picture, proof_status
from verify.site.mathematics import Typesetter, parts, symbol, text
from verify.site.pages import slug
from verify.site.plots import draw_all, plots_of
from verify.vocabulary import InputError, load

#: Formulas of the registry that may be shown as LaTeX source.
PLAIN_ALLOWED = 3


class Page(HTMLParser):
    """What the tests ask about a page: ids, links, headings, landmarks, images, labels."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.tags if "id" in attributes]

    @property
    def references(self) -> Iterator[str]:
        for _, attributes in self.tags:
            yield from (attributes[name] or "" for name in ("href", "src") if name in attributes)


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, Page]:
    return {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}


def test_every_claim_paper_and_map_has_its_page(full_report: Report, site: Path, pages: dict[str, Page]) -> None:
    expected = {"index.html", "map.html"}
    expected |= {f"{kind}/{paper.key}.html" for kind in ("errata", "map") for paper in full_report.papers}
    expected |= {f"claims/{slug(claim_id)}.html" for claim_id in full_report.claims}
    assert set(pages) == expected
    assert len({name.lower() for name in pages}) == len(pages), "file systems that ignore case tell all pages apart"


def test_links_are_relative_and_lead_somewhere(site: Path, pages: dict[str, Page]) -> None:
    for page in pages.values():
        for reference in page.references:
            if reference == "data:,":
                continue
            assert not re.match(r"[a-z]+:|/", reference), f"{page.path}: {reference}"
            name, _, anchor = reference.partition("#")
            target = (page.path.parent / name).resolve() if name else page.path
            assert target.is_file(), f"{page.path}: {reference}"
            if anchor and "?" not in anchor:
                assert anchor in pages[target.relative_to(site).as_posix()].ids, f"{page.path}: {reference}"


def test_pages_have_the_basics_of_accessibility(pages: dict[str, Page]) -> None:
    for page in pages.values():
        assert page.all("html")[0]["lang"] == "en" and page.all("title"), page.path
        assert len(page.all("h1")) == len(page.all("main")) == len(page.all("header")) == 1, page.path
        assert len(page.ids) == len(set(page.ids)), f"{page.path}: an id occurs twice"
        assert all(image.get("alt") for image in page.all("img")), page.path
        assert all(link.get("aria-label") or link.get("aria-labelledby") for link in page.all("nav")), page.path
        assert len(page.all("caption")) == len(page.all("table")), f"{page.path}: a table without caption"
        assert page.all("a")[0]["class"] == "skip"


def test_a_refuted_claim_shows_statement_counterexample_snippet_and_links(site: Path) -> None:
    page = (site / "claims/dynamics.prop-4.1.html").read_text()
    assert "<math" in page and "refuted (error)" in page and "<mtable>" in page
    assert "at_inputs(&#34;dynamics.prop-4.1&#34;, X=[[1, 0], [0, 1]]" in page
    assert 'href="../claims/dynamics.prop-4.1-symmetric.html"' in page and "Steps of its proof" in page
    assert "def " in re.sub(r"<[^>]*>", "", page)
    assert 'src="../plots/dynamics.prop-4.1.' in page


def test_pictures_are_drawn_once_and_again_when_their_data_changes(full_report: Report, tmp_path: Path) -> None:
    claim = full_report.claims["dynamics.prop-5.1"]
    records = full_report.records_of[claim.id]
    first, *_ = plots_of(claim, records)
    path = tmp_path / "plot.svg"
    first.write(path)
    before = path.stat().st_mtime_ns
    first.write(path)
    assert path.stat().st_mtime_ns == before
    changed = [replace(record, worst_residual=0.5) for record in records]
    plots_of(claim, changed)[0].write(path)
    assert path.stat().st_mtime_ns > before
    root = ElementTree.parse(path).getroot()
    assert root.tag.endswith("svg") and "prefers-color-scheme" in path.read_text()


@pytest.mark.parametrize(
    ("claim_id", "kinds"),
    [
        ("dynamics.prop-5.1", {"residuals", "search"}),
        ("convergence.lemma-1", {"residuals", "rate"}),
        ("osa.ns-convergence", {"residuals", "rate"}),
        ("osa.alg-1", {"residuals", "distribution", "averages"}),
        ("osa.cost-ssa", {"residuals", "growth"}),
    ],
)
def test_each_relation_has_its_pictures(full_report: Report, site: Path, claim_id: str, kinds: set[str]) -> None:
    found = plots_of(full_report.claims[claim_id], full_report.records_of[claim_id])
    assert {plot.name.split("-")[0] for plot in found} == kinds
    assert all((site / f"plots/{claim_id}.{plot.name}.svg").is_file() for plot in found)


def test_many_pictures_are_drawn_by_several_processes(
    full_report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verify.site.plots.WORTH_A_POOL", 1)
    plots = plots_of(full_report.claims["osa.alg-1"], full_report.records_of["osa.alg-1"])
    plots.append(replace(plots[0], name="broken", data={"rows": "none"}))
    paths = [tmp_path / f"{plot.name}.svg" for plot in plots]
    answers = list(draw_all(list(zip(plots, paths, strict=True))))
    assert answers == [path.is_file() for path in paths] == [True] * (len(plots) - 1) + [False]


def test_details_of_another_shape_cost_the_picture_and_not_the_page(full_report: Report, tmp_path: Path) -> None:
    one = restricted(full_report, [full_report.claims["dynamics.prop-5.1"]])
    broken = [replace(record, details={"search": {"rises": "none"}}) for record in one.records]
    write_site(replace(one, records=broken), tmp_path)
    assert (tmp_path / "claims/dynamics.prop-5.1.html").is_file()


# -- mathematics -------------------------------------------------------------------------------------------------------


def test_nearly_every_statement_is_typeset() -> None:
    typesetter = Typesetter()
    for claim in load().values():
        typesetter.display(claim.statement)
    assert len(typesetter.plain) <= PLAIN_ALLOWED, sorted(typesetter.plain)


def test_what_cannot_be_converted_is_shown_as_source_and_counted() -> None:
    typesetter = Typesetter()
    shown = typesetter.display(r"a < \sqrt[3")
    assert shown == r'<code class="latex">a &lt; \sqrt[3</code>' and typesetter.plain == {r"a < \sqrt[3"}
    assert typesetter.display(r"\undefinedcommand x").startswith("<code")


def test_statements_break_between_formulas_and_nowhere_else() -> None:
    assert parts(r"a = b,\quad c = d") == ["a = b,", " c = d"]
    assert parts(r"\left(a \quad b\right)") == [r"\left(a \quad b\right)"]
    assert parts(r"a \rightarrow b \quad c") == [r"a \rightarrow b ", " c"]
    assert parts(r"\begin{bmatrix} a \quad b \end{bmatrix}") == [r"\begin{bmatrix} a \quad b \end{bmatrix}"]
    assert parts(r"f_\text{pre} = 0\ \text{for all } x") == [r"f_\text{pre} = 0", r"\text{for all } x"]


def test_names_and_words_become_symbols() -> None:
    assert [symbol(name) for name in ("W_Q", "beta", "eps", "d")] == ["W_{Q}", r"\beta", r"\mathrm{eps}", "d"]
    assert text(r"\|x\| \in \operatorname{rank} \exp \tilde W <") == r"‖x‖ ∈ rank exp \tilde W &lt;"


def test_counterexample_inputs_are_typeset_unless_too_large() -> None:
    (small,) = Typesetter().inputs({"X": [["1", "-1/2"]], "big": [["0"] * 9]})
    assert "<mfrac>" in small and "<mtable" in small


# -- the map -----------------------------------------------------------------------------------------------------------


def test_steps_fold_into_their_theorem(full_report: Report) -> None:
    into = folded(full_report.claims)
    assert into["dynamics.eq-34"] == into["dynamics.prop-4.1-symmetric"] == "dynamics.prop-4.1"
    whole, small = (picture(full_report, full_report.claims, fold) for fold in (False, True))
    assert len(small.nodes) < len(whole.nodes)
    corners = [(node.x, node.y) for node in whole.nodes]
    assert len(set(corners)) == len(corners)


def test_the_map_is_the_same_every_time(full_report: Report) -> None:
    code = (
        "from tests.conftest import ON_THE_SITE; from tests.made_up_evidence import with_links;"
        "from verify.vocabulary import load; from verify.report import Report; from verify.site.graph import picture;"
        "from verify.evidence.verdicts import judge_all; claims = with_links(load(), ON_THE_SITE);"
        "drawn = picture(Report(claims, [], judge_all(claims, []), []), claims, True);"
        "print([(node.name, node.x, node.y) for node in drawn.nodes], drawn.lines)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1] and "prop-4.1" in runs[0]


def test_claims_that_rest_on_each_other_are_drawn_all_the_same(full_report: Report) -> None:
    first, second = (full_report.claims[claim_id] for claim_id in ("osa.alg-1", "osa.cost-ssa"))
    circular = {c.id: copy.copy(c) for c in (first, second)}
    circular[first.id].uses, circular[second.id].uses = [second.id], [first.id]
    drawn = picture(replace(full_report, claims=circular), circular, fold=True)
    assert len(drawn.nodes) == 2 and len(drawn.lines) >= 1


def test_the_map_tells_statements_from_proofs_and_marks_what_stands_on_sand(full_report: Report, site: Path) -> None:
    assert proof_status(full_report, full_report.claims["dynamics.prop-4.1"]) == "broken"
    assert proof_status(full_report, full_report.claims["dynamics.prop-5.1"]) == "slips"
    drawn = (site / "map/dynamics.html").read_text()
    assert 'class="node refuted proof-broken"' in drawn and 'class="node holds proof-slips"' in drawn
    assert 'class="line sand"' in drawn and 'href="../claims/dynamics.prop-4.1.html"' in drawn


# -- errata ------------------------------------------------------------------------------------------------------------


def test_errata_as_page_markdown_and_latex(site: Path) -> None:
    page, markdown, latex = ((site / f"errata/dynamics.{kind}").read_text() for kind in ("html", "md", "tex"))
    assert 'id="dynamics.prop-4.1"' in page and "What is wrong" in page and "Corrected statement" in page
    assert markdown.startswith("# Errata") and "## Proposition 4.1" in markdown and "at_inputs(" in markdown
    assert latex.startswith(r"\documentclass") and latex.rstrip().endswith(r"\end{document}")
    for environment in ("document", "lstlisting"):
        assert latex.count(rf"\begin{{{environment}}}") == latex.count(rf"\end{{{environment}}}")
    outside = re.sub(
        r"\\begin\{lstlisting\}.*?\\end\{lstlisting\}|^\\printed\{.*?\}$", "", latex, flags=re.DOTALL | re.M
    )
    assert not re.search(r"(?<!\\)[_^&#%]", outside.split(r"\begin{document}")[1]), "text is escaped"


# -- partial evidence, leftovers, libraries ----------------------------------------------------------------------------


def test_partial_evidence_is_said_on_every_page_it_affects(full_report: Report, site: Path, tmp_path: Path) -> None:
    shutil.copytree(site / "plots", tmp_path / "plots")  # as drawn before
    broken = "dynamics.eq-34"
    records = [record for record in full_report.records if record.claim != broken]
    partial = replace(full_report, records=records, rejected=[])
    write_site(partial, tmp_path)
    said = {
        path.relative_to(tmp_path).as_posix()
        for path in tmp_path.rglob("*.html")
        if "Partial evidence" in path.read_text()
    }
    assert {"index.html", "map.html", "errata/dynamics.html", "map/dynamics.html"} <= said
    assert {f"claims/{broken}.html", "claims/dynamics.prop-4.1.html"} <= said, "what rests on it is affected"
    assert "claims/osa.alg-1.html" not in said and "errata/osa.html" not in said
    assert "CPU only" in (tmp_path / "claims/osa.alg-1.html").read_text()
    assert "(partial)" in (tmp_path / "badge.svg").read_text()


def test_an_accelerators_evidence_is_told_apart(full_report: Report) -> None:
    cuda = [replace(record, device="cuda") for record in full_report.records_of["osa.alg-1"]]
    both = replace(full_report, records=[*full_report.records, *cuda])
    texts = [item.text for item in both.shortfalls_of("osa.alg-1")]
    assert texts == [] and len(full_report.shortfalls_of("osa.alg-1")) == 1


def test_a_report_of_some_claims_says_so_and_links_to_no_page_that_is_absent(
    full_report: Report, tmp_path: Path
) -> None:
    one = restricted(full_report, [full_report.claims["dynamics.prop-4.1"]])
    write_site(one, tmp_path)
    page = (tmp_path / "claims/dynamics.prop-4.1.html").read_text()
    assert f"This report shows 1 of {len(full_report.claims)} claims" in page
    assert "dynamics.eq-34</code> (not in this report)" in page


def test_pages_of_an_earlier_report_are_removed_and_nothing_else(full_report: Report, tmp_path: Path) -> None:
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims/osa.gone.html").touch()
    (tmp_path / "notes.txt").touch()
    seen: list[tuple[int, int]] = []
    write_site(
        restricted(full_report, [full_report.claims["osa.alg-1"]]),
        tmp_path,
        lambda done, total: seen.append((done, total)),
    )
    assert not (tmp_path / "claims/osa.gone.html").exists() and (tmp_path / "notes.txt").exists()
    assert seen[-1] == (len(seen), len(seen)), "progress ends at the total"


def test_changes_against_a_baseline_are_on_the_front_page(full_report: Report, tmp_path: Path) -> None:
    one = restricted(full_report, [full_report.claims["osa.alg-1"]])
    write_site(one, tmp_path, changes=[])
    front = (tmp_path / "index.html").read_text()
    assert "Against the baseline" in front and "No verdict changed." in front
    found = [
        Change("osa.gone", "osa.gone: was holds, and is no claim any more", True),
        Change("osa.alg-1", "osa.alg-1: new, holds", False),
    ]
    write_site(one, tmp_path, changes=found)
    front, links = (tmp_path / "index.html").read_text(), set(Page(tmp_path / "index.html").references)
    assert "osa.gone: was holds" in front and "No verdict changed." not in front
    assert "claims/osa.alg-1.html" in links and "claims/osa.gone.html" not in links
    write_site(one, tmp_path)
    assert "baseline" not in (tmp_path / "index.html").read_text()


def test_missing_libraries_are_named_with_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.site.LIBRARIES", ("jinja2", "no_such_library"))
    with pytest.raises(InputError, match=r"extra 'report'.*without no_such_library"):
        require_libraries()


def test_the_badge_counts(site: Path) -> None:
    badge = (site / "badge.svg").read_text()
    ElementTree.fromstring(badge)
    assert "refuted" in badge and "hold" in badge
