"""The web site: its pages, what stands on them, and what they say about evidence that is not complete."""

from __future__ import annotations

import copy
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.made_up_evidence import made_up, with_links
from verify.checks import checks_of
from verify.checks.bound_proofs import proved_bound
from verify.checks.settings import Settings, settings_for
from verify.evidence.store import EvidenceWriter
from verify.matrix import stepped, visited
from verify.report import Report, build, restricted
from verify.report.baseline import Change
from verify.report.citations import link, section_link
from verify.report.errata import Erratum, counterexamples_of, errata, of_paper
from verify.report.history import Changes
from verify.report.model import status_of
from verify.report.papers import findings, is_headline
from verify.report.sides import LONGEST, described, negated, number, short, sides_of
from verify.site import code, require_libraries, write_site
from verify.site.byhand import by_hand
from verify.site.errata_in_latex import _in_ascii, as_latex
from verify.site.graph import folded, picture, proof_status
from verify.site.mathematics import Typesetter, prose, segments, symbol, text
from verify.site.page_parts import searchable
from verify.site.pages import _known_term, slug
from verify.site.plots import plots_of
from verify.site.side_by_side import compared
from verify.vocabulary import Claim, InputError, load

pytestmark = pytest.mark.kept(".", programs=["pdflatex"])


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
    expected = {"index.html", "claims.html", "glossary.html", "map.html"}
    expected |= {f"{kind}/{paper.key}.html" for kind in ("errata", "map", "papers") for paper in full_report.papers}
    expected |= {f"claims/{slug(claim_id)}.html" for claim_id in full_report.claims}
    assert set(pages) == expected
    assert len({name.lower() for name in pages}) == len(pages), "file systems that ignore case tell all pages apart"


def test_links_are_relative_and_lead_somewhere(full_report: Report, site: Path, pages: dict[str, Page]) -> None:
    papers = {link(paper) for paper in full_report.printed_papers}
    papers |= {section_link(claim) for claim in full_report.claims.values()}
    for page in pages.values():
        for reference in page.references:
            if reference == "data:," or reference in papers:
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


def test_symbols_stand_on_the_pages_of_claims_and_papers(site: Path) -> None:
    page = (site / "claims/dynamics.prop-4.1.html").read_text()
    table = page.split('<details class="symbols">')[1].split("</details>")[0]
    assert "query, key and value weights" in table and "Section 3" in table and "<math" in table
    assert "the imaginary unit" in (site / "papers/dynamics.html").read_text()


def test_a_refuted_claim_shows_statement_counterexample_snippet_and_links(site: Path) -> None:
    page = (site / "claims/dynamics.prop-4.1.html").read_text()
    assert "<math" in page and "refuted (error)" in page and "<mtable>" in page
    assert "at_inputs(&#34;dynamics.prop-4.1&#34;, X=[[1, 0], [0, 1]]" in page
    assert 'href="../claims/dynamics.prop-4.1-symmetric.html"' in page and "The steps of its proof" in page
    assert "def " in re.sub(r"<[^>]*>", "", page)
    assert '<svg class="chart"' in page and "as printed, at the counterexample" in page


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
    assert all(plot.drawn for plot in found)
    page = (site / f"claims/{claim_id}.html").read_text()
    assert page.count('<svg class="chart"') == len(found)


def test_a_picture_is_valid_svg_with_its_caption_as_its_name(full_report: Report) -> None:
    for claim_id, records in full_report.records_of.items():
        for plot in plots_of(full_report.claims[claim_id], records):
            assert plot.svg is not None, plot
            assert ElementTree.fromstring(plot.svg).get("aria-label") == plot.caption
            assert not re.search(
                "nan|inf", re.sub('<title>.*?</title>|aria-label="[^"]*"|<text.*?</text>', "", plot.svg)
            )


def test_a_refuted_claims_picture_shows_the_counterexample_in_red_and_nothing_printed_in_green(
    full_report: Report,
) -> None:
    for claim_id in ("dynamics.prop-4.1", "skipless.eq-17"):
        plot = plots_of(full_report.claims[claim_id], full_report.records_of[claim_id])[0].svg
        assert plot is not None and 'class="m-wrong stroke"' in plot
        assert 'class="m-truth fill"' not in plot, "where a search missed the violation, that is no success"
    held = plots_of(full_report.claims["osa.ns-convergence"], full_report.records_of["osa.ns-convergence"])
    sound = plots_of(full_report.claims["dynamics.prop-5.1"], full_report.records_of["dynamics.prop-5.1"])
    assert sound[0].svg is not None and 'class="m-truth fill"' in sound[0].svg and held


def test_errors_of_zero_have_no_logarithm_and_are_counted(full_report: Report) -> None:
    claim = full_report.claims["convergence.lemma-1"]
    (record,) = (r for r in full_report.records_of[claim.id] if r.check == "rate")
    curves = [{"scales": [1, 2, 4, 8], "rms error": [1.0, 0.5, 0.25, 0.0]}]
    found = plots_of(claim, [replace(record, details={"curves": curves})])
    rate = next(plot for plot in found if plot.name.startswith("rate"))
    assert rate.drawn and "1 error is of exactly zero left out" in rate.caption


def test_evidence_of_another_shape_costs_the_picture_and_not_the_page_and_is_said(
    full_report: Report, tmp_path: Path
) -> None:
    one = restricted(full_report, [full_report.claims["dynamics.prop-5.1"]])
    broken = [replace(record, details={"search": {"rises": "none"}}) for record in one.records]
    write_site(replace(one, records=broken), tmp_path)
    page = (tmp_path / "claims/dynamics.prop-5.1.html").read_text()
    assert "No picture of kind “search”: the evidence has another shape" in page


# -- how sure, what is violated, totals --------------------------------------------------------------------------------


def test_a_derivation_and_its_facts_link_to_each_other_and_attempts_at_refuted_bounds_are_shown(tmp_path: Path) -> None:
    names = ("dynamics.eq-94-logits", "norms.softmax-lipschitz", "osa.eq-56")
    claims, recorder = with_links(load(), names), EvidenceWriter(tmp_path / "evidence")
    for record in made_up(claims):
        if record.check == "proved" and record.claim == names[0]:
            record.details = proved_bound(claims[record.claim], Settings()).details
        recorder.append(record)
    report = build(claims, recorder.folder)
    assert report.facts_of["dynamics.eq-94-logits"][0] == "norms.softmax-lipschitz"
    write_site(report, tmp_path / "site")
    derived, fact, refuted = ((tmp_path / "site" / "claims" / f"{slug(name)}.html").read_text() for name in names)
    link = f'href="../claims/{slug("norms.softmax-lipschitz")}.html"'
    assert link in derived.split('id="all-sizes"')[1].split("</section>")[0], "at the step"
    assert "Facts of its derivation" in derived and link in derived.split('id="links"')[1]
    assert "Fact in the derivation of" in fact and f'href="../claims/{slug("dynamics.eq-94-logits")}.html"' in fact
    assert 'id="attempt"' not in derived + fact
    shown = refuted.split('id="attempt"')[1].split("</section>")[0]
    assert "Where a derivation stops" in shown and "The counterexample proves that it is false" in shown
    assert "which may be above 0" in shown and "||X||_2" in shown


def test_a_page_says_how_sure_it_is(site: Path) -> None:
    said = {
        "dynamics.prop-4.1": "Certain. At each of two explicit inputs every assumption holds",
        "dynamics.prop-5.1": "Proved for all sizes, by a derivation from rules for norms. Besides, checked at 120 inputs, 60",
        "skipless.eq-37": "Not a proof: checked at 120 inputs, 60 of them in balls; ",
        "osa.alg-1": "Not a proof: tested on",
    }
    for claim_id, words in said.items():
        assert words in (site / f"claims/{claim_id}.html").read_text(), claim_id


def test_a_violation_is_shown_with_both_sides_named(full_report: Report, site: Path) -> None:
    page = (site / "claims/dynamics.prop-4.1.html").read_text().split("As printed")[0]
    assert ">4.49161<" in page and ">dE/dt here<" in page and ">the claimed bound<" in page, "in the sign of the paper"
    assert full_report.quality("dynamics.prop-4.1") == "violated: 4.492 > 0", "no ratio of a search that missed it"


def test_every_side_of_a_bound_has_a_name() -> None:
    for claim in load().values():
        sides = sides_of(claim)
        assert sides.left and sides.right and sides.left != sides.right, claim.id
        assert max(len(sides.left), len(sides.right)) <= LONGEST + 10, claim.id
        assert "`" not in sides.left + sides.right, (
            f"{claim.id}: a side is called by an expression of its code, {sides}"
        )


def test_sides_are_called_by_docstring_name_or_expression() -> None:
    def growth_of_the_norm() -> None:
        """The norm after ten steps, shape (3, 1) (Eq. (7)).  It grows."""

    def left_over() -> None: ...

    assert described(growth_of_the_norm) == "the norm after ten steps"
    assert described(left_over) == "left over"
    assert described(lambda X: X.T @ X) == "`X.T @ X`"


def test_a_number_is_negated_as_it_stands() -> None:
    assert [negated(text) for text in ("[-4.5 +/- 1e-3]", "[4.5 +/- 1e-3]", "-3/8", "3/8", "0", "[+/- 1e-9]")] == [
        "[4.5 +/- 1e-3]", "[-4.5 +/- 1e-3]", "3/8", "-3/8", "0", "[+/- 1e-9]",
    ]  # fmt: skip


def test_numbers_of_enclosures() -> None:
    assert number("[0.25 +/- 1e-30]") == 0.25 and number("-3/8") == -0.375 and number("[+/- 1e-9]") == 0
    assert short("[4.491608824883507 +/- 2e-30]") == "4.49161" and short("-3/8") == "-3/8"


def test_totals_of_printed_and_own_claims_are_apart_everywhere(full_report: Report, site: Path) -> None:
    printed = full_report.chosen(own=False)
    errors = sum(status_of(full_report.verdicts[claim.id]) == "refuted (error)" for claim in printed)
    assert full_report.kinds(own=False)["refuted (error)"] == errors
    assert f"{errors} false" in (site / "badge.svg").read_text()
    assert f"{errors} are false." in (site / "index.html").read_text()
    rows = [line.split(" | ") for line in (site / "summary.md").read_text().splitlines() if line.startswith("| ")]
    column = rows[0].index("refuted (error)")
    assert sum(int(row[column]) for row in rows[1:]) == errors


def test_errata_tell_gaps_from_what_is_refuted(full_report: Report, site: Path) -> None:
    page = (site / "errata/skipless.html").read_text()
    assert "printed claims do not hold" not in page and "stands with a gap" in page


def test_a_counterexample_stands_once_on_a_page_of_errata(full_report: Report, site: Path) -> None:
    for paper in full_report.papers:
        items = of_paper(errata(full_report), paper)
        shown = [(each.claim.id, each.certificate["title"]) for item in items for each in item.counterexamples]
        assert len(shown) == len(set(shown)), paper.key
        needed = {name for item in errata(full_report) if item.claim.paper == paper for name in _ids(item)}
        assert {claim_id for claim_id, _ in shown} == needed, "and none is lost"
    assert "Counterexamples that it shares" in (site / "errata/dynamics.html").read_text()


def _ids(item: Erratum) -> set[str]:
    return {counterexample.claim.id for counterexample in item.counterexamples}


# -- the front page, papers, glossary ----------------------------------------------------------------------------------


def test_the_front_page_says_what_how_and_what_was_found_before_anything_else(site: Path) -> None:
    page = (site / "index.html").read_text()
    opening = page.split('class="opening"')[1].split("</div>")[0]
    for words in ("papers make", "Programs compared each statement with an independent computation", "core statements"):
        assert words in opening
    assert (
        page.index("Paper by paper")
        < page.index("What was found that matters most")
        < page.index("About this evidence")
    )
    assert page.count("CPU only") == 1 and len(page) < 300_000
    assert "CPU only" not in (site / "claims/osa.alg-1.html").read_text()


def test_a_papers_page_says_what_to_rely_on_and_what_to_use_instead(site: Path) -> None:
    page = (site / "papers/dynamics.html").read_text()
    rely, instead, order = (
        page.index(words) for words in ("What can I rely on?", "Use this, not that", "in the paper's order")
    )
    assert (
        rely
        < page.index("Proposition 5.1, Eq. (14)")
        < instead
        < page.index("Proposition 4.1 for symmetric weights")
        < order
    )
    assert "@misc{attention-theorems-dynamics" in page and "author = {Akiyoshi Tomihari and Ryo Karakida}" in page
    assert 'Akiyoshi Tomihari and Ryo Karakida; NeurIPS 2025; arXiv:2505.19458 (<a href="https://arxiv.org/' in page
    assert "about the text that was checked: a conversion" in page and "eprint = {2505.19458}" in page
    assert "“37th Conference on Neural Information Processing Systems" in (site / "papers/convergence.html").read_text()
    assert "What was found, at length" in page
    assert re.search(r'<a href="../claims/(dynamics\.[\w.-]+)\.html"><code>\1</code></a>', page), (
        "ids in the docs are links"
    )


def test_headlines_are_core_errors_that_ask_something_of_those_who_build_on_them(full_report: Report) -> None:
    items = errata(full_report)
    chosen = findings(items, full_report.papers, 4)
    assert chosen and all(item.weight == "core" and item.status == "refuted (error)" for item in chosen)
    assert len({item.claim.paper.key for item in chosen}) > 1
    first = chosen[0]
    assert is_headline(first)
    for planted in (
        replace(first, weight="text"),
        replace(first, weight="step"),
        replace(first, verdict=replace(first.verdict, severity="slip")),
        replace(first, verdict=replace(first.verdict, status="gap", severity=None)),
        replace(first, claim=with_consequence(first.claim, None)),
        replace(first, claim=with_consequence(first.claim, "Nothing that rests on it is safe.")),
        replace(first, claim=with_consequence(first.claim, "The use of it is a mistake, and the check of it failed.")),
    ):
        assert not is_headline(planted)
        rest = [item for item in items if item is not first]
        assert first.claim.id not in [item.claim.id for item in findings([planted, *rest], full_report.papers, 99)]


def with_consequence(claim: Claim, text: str | None) -> Claim:
    changed = copy.copy(claim)
    changed.consequence = text
    return changed


def test_words_of_the_report_are_explained_where_they_stand(site: Path, pages: dict[str, Page]) -> None:
    explained = set(pages["glossary.html"].ids)
    assert {"holds", "refuted", "gap", "reading", "unit", "separation", "core", "variant"} <= explained
    links = [link for page in pages.values() for link in page.references if "glossary.html#" in link]
    assert links and all(link.split("#")[1] in explained for link in links)
    with pytest.raises(ValueError, match="the glossary explains"):
        _known_term("no such word")


def test_names_and_consequences_are_shown_where_they_are_given(full_report: Report, tmp_path: Path) -> None:
    claim = copy.copy(full_report.claims["dynamics.prop-4.1"])
    claim.name, claim.consequence = "energy of self-attention", "Use another bound: stability of $W_Q$ does not follow"
    write_site(restricted(replace(full_report, claims={**full_report.claims, claim.id: claim}), [claim]), tmp_path)
    for name in ("index.html", "claims.html", "claims/dynamics.prop-4.1.html", "errata/dynamics.html"):
        assert "energy of self-attention" in (tmp_path / name).read_text(), name
    assert "does not follow." in (tmp_path / "claims/dynamics.prop-4.1.html").read_text()
    assert "stability of $W_Q$ does not follow." in (tmp_path / "errata/dynamics.tex").read_text()
    assert "energy" in (tmp_path / "assets/search.js").read_text()


def test_the_code_comes_with_the_functions_that_it_consists_of(full_report: Report, site: Path) -> None:
    claim = full_report.claims["dynamics.prop-4.1"]
    names = [helper.__name__ for helper in code.helpers(claim.named_functions().values())]
    assert {"energy_loss", "flow", "energy"} <= set(names)
    page = re.sub(r"<[^>]*>", "", (site / "claims/dynamics.prop-4.1.html").read_text())
    assert "def energy_loss(" in page and "def flow(" in page


def test_search_words_are_compared_without_dashes_braces_or_scripts() -> None:
    assert searchable("λ_min") == searchable(r"\lambda_{\min}").strip() == "lambda_min"
    assert searchable("Newton–Schulz") == searchable("newton-schulz")


@pytest.mark.parametrize(
    ("printed", "corrected"),
    [("a := b + c", "a = b + c"), (r"\mathbf{x} + y = z", "x + y = z"), (r"\left( a + b \right) c", "(a + b) c")],
)
def test_neither_fonts_nor_definition_signs_are_differences(printed: str, corrected: str) -> None:
    assert not any("changed" in side for side in compared(Typesetter(), printed, corrected))


def test_a_long_statement_may_break_before_its_relations() -> None:
    shown = Typesetter().display(r"f(X) := \frac{1}{2} \|A X - B\|_F^2 + \lambda \|X\|_F^2 \le \left(a = b\right) + c")
    assert shown.count("<math") == 3 and "≔" in shown


def test_errata_stand_under_headings_by_gravity(site: Path) -> None:
    page = (site / "errata/dynamics.html").read_text()
    assert page.index(">Errors</h2>") < page.index("dynamics.prop-4.1-title") < page.index(">Misprints</h2>")


def test_printed_and_corrected_are_compared_element_by_element() -> None:
    left, right = compared(
        Typesetter(), r"x^2 = \frac{a}{b} + c\ \text{for all } x", r"x^2 = \frac{a}{d} + c\ \text{for some } x"
    )
    assert left.count('class="changed"') == right.count('class="changed"') == 2
    assert '<mi class="changed">b</mi>' in left and '<span class="changed">some </span>' in right
    same = compared(Typesetter(), "a = b", r"\int f \le \sup g")
    assert "changed" not in same[0] + same[1], "where everything differs nothing is marked"


# -- counterexamples in plain numpy ------------------------------------------------------------------------------------


def test_a_counterexample_runs_in_plain_numpy_and_shows_what_it_computed(
    full_report: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    counterexample = counterexamples_of(full_report, full_report.claims["dynamics.prop-4.1"])[0]
    found = by_hand(counterexample.claim, counterexample.certificate)
    assert found is not None and "verify" not in found.code and "theorems" not in found.code
    exec(found.code, space := {})
    assert space["left"] == 0 and space["right"] == pytest.approx(-4.4916088248835, rel=1e-6)
    assert "-dE/dt here: -4.49" in capsys.readouterr().out
    assert found.values["printed_values(...)"].startswith("[[-1. ,  1.5]")


def test_a_snippet_that_does_not_give_the_certified_values_is_not_shown(full_report: Report) -> None:
    counterexample = counterexamples_of(full_report, full_report.claims["dynamics.prop-4.1"])[0]
    assert by_hand(counterexample.claim, {**counterexample.certificate, "formula": "[-4.4917 +/- 1e-30]"}) is None
    assert by_hand(counterexample.claim, {**counterexample.certificate, "inputs": {"X": [["1", "0"]]}}) is None


@pytest.mark.parametrize("count", [0, 1, 4])
def test_steps_in_plain_numpy_are_those_of_the_engine(count: int) -> None:
    space = runpy.run_path(str(Path(code.__file__).with_name("in_numpy.py")))
    for function in (stepped, visited):
        for step, starts in ((lambda k, x: x * (k + 2), (3,)), (lambda k, x, y: (x + y * k, x), (1, 2))):
            assert space[function.__name__](count, step, *starts) == function(count, step, *starts)


def test_a_counterexample_of_steps_has_a_snippet() -> None:
    claim, quick = load()["skipless.sec-2-output"], settings_for("quick")
    (check,) = (check for check in checks_of(claim, quick) if check.name == "counterexample")
    found = by_hand(claim, check.run(claim, quick).details["certificates"][0])
    assert found is not None and "visited(" in found.code


def test_most_counterexamples_have_a_snippet(full_report: Report) -> None:
    every = [w for claim in full_report.claims.values() for w in counterexamples_of(full_report, claim)]
    snippets = [found for w in every if (found := by_hand(w.claim, w.certificate)) is not None]
    assert len(snippets) >= len(every) / 2
    assert all("import torch" not in found.code and "is_tensor" not in found.code for found in snippets)


# -- mathematics -------------------------------------------------------------------------------------------------------


def test_every_statement_is_typeset() -> None:
    typesetter = Typesetter()
    for claim in load().values():
        typesetter.display(claim.statement)
    assert sorted(typesetter.plain) == []


def test_letters_of_styles_are_characters_of_their_own() -> None:
    shown = Typesetter().display(
        r"\mathbb{R}^n, \mathbb E, \mathbb{P}, \mathbb{1}, \mathcal O(n), \mathscr{L}, \mathbf{x}, \mathrm{tr}"
    )
    for letter in "ℝ𝔼ℙ𝟙𝒪ℒ𝐱":
        assert letter in shown, letter
    assert "mathvariant" not in shown and "<mi>tr</mi>" in shown


def test_running_text_is_typeset_with_and_without_dollars() -> None:
    assert (
        prose("$x^2$ and W_Q")
        == "<math><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math> and <var>W<sub>Q</sub></var>"
    )
    assert prose("d_m^{-1/2}") == "<var>d<sub>m</sub><sup>−1/2</sup></var>"
    assert prose("S_i, P_1, pi_j") == (
        "<var>S<sub>i</sub></var>, <var>P<sub>1</sub></var>, <var>π<sub>j</sub></var>"
    ), "no paragraph signs: LaTeX has commands of one letter"
    assert prose("||x||_2 <= 10^-9") == "‖x‖<sub>2</sub> &lt;= 10<sup>−9</sup>"
    assert prose("softmax_jacobian in `x_i`") == "softmax_jacobian in <code>x_i</code>"
    assert "<mfrac>" in prose(r"at most \frac{1}{2} of it") and "<code>" in prose(r"“\left(a”: torn")


def test_no_text_of_a_claim_shows_a_command() -> None:
    for claim in load().values():
        remarks = [claim.note, claim.missing, claim.consequence, claim.name, claim.label, claim.reading, claim.doubt]
        for words in [*remarks, *claim.assumption_texts, *(item.title for item in claim.counterexamples)]:
            shown = re.sub(r"<code>.*?</code>", "", prose(str(words or "")))
            assert not re.search(r"\\[A-Za-z]", shown), f"{claim.id}: {shown}"


def test_what_cannot_be_converted_is_shown_as_source_and_counted() -> None:
    typesetter = Typesetter()
    shown = typesetter.display(r"a < \sqrt[3")
    assert shown == r'<code class="latex">a &lt; \sqrt[3</code>' and typesetter.plain == {r"a < \sqrt[3"}
    assert typesetter.display(r"\undefinedcommand x").startswith("<code")


SCRIPT = "<script>document.title='taken'</script>"


@pytest.mark.parametrize(
    "latex",
    [
        rf"a \text{{{SCRIPT}}}",
        rf"\frac{{\text{{{SCRIPT}}}}}{{2}}",
        rf"\mbox{{{SCRIPT}}}",
        rf"\textbf{{{SCRIPT}}}",
        rf"\fbox{{{SCRIPT}}}",
        rf"\verb|{SCRIPT}|",
        r"\text{&lt;script>document.title='taken'&lt;/script>}",
        r"\text{&#x3C;script>document.title='taken'&#x3C;/script>}",
        r"\href{javascript:document.title='taken'}{x}",
        r"\style{background:url(x)}{x}",
        SCRIPT,
    ],
)
def test_a_statement_puts_no_element_of_its_own_on_a_page(latex: str) -> None:
    for shown in (Typesetter().display(latex), prose(f"${latex}$"), prose(latex)):
        tree = ElementTree.fromstring(f"<p>{shown}</p>".replace("<wbr>", ""))
        assert not {element.tag for element in tree.iter()} & {"script", "a", "img"}
        assert not any({"href", "style"} & element.attrib.keys() for element in tree.iter())


def test_pages_allow_no_script_but_their_own_files(pages: dict[str, Page]) -> None:
    for page in pages.values():
        policies = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
        assert len(policies) == 1 and "default-src 'none'" in str(policies[0]) and "unsafe" not in str(policies[0])
        assert all(script.get("src") for script in page.all("script")), "no script stands in a page"
        assert not any(name.startswith("on") or name == "style" for _, given in page.tags for name in given)


def test_statements_break_around_words_and_at_wide_spaces_and_nowhere_else() -> None:
    def found(latex: str) -> list[str]:
        return [content.strip() or "|" for _, content in segments(latex)]

    assert found(r"a = b,\quad c = d") == ["a = b,", "|", "c = d"]
    assert found(r"\left(a \quad b\right)") == [r"\left(a \quad b\right)"]
    assert found(r"a \rightarrow b \quad c") == [r"a \rightarrow b", "|", "c"]
    assert found(r"\begin{bmatrix} a \quad b \end{bmatrix}") == [r"\begin{bmatrix} a \quad b \end{bmatrix}"]
    assert found(r"f_\text{pre} = 0\ \text{for all } x") == [r"f_\text{pre} = 0", "|", "for all", "x"]
    assert found(r"\text{tr}(A)\text{ is a sum}") == [r"\text{tr}(A)", "is a sum"]
    assert "<span>for all words </span>" in Typesetter().display(r"\text{for all words } x")


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
    assert 'id="dynamics.prop-4.1"' in page and "What is wrong" in page and "What holds" in page
    assert markdown.startswith("# Errata") and "## Proposition 4.1" in markdown and "at_inputs(" in markdown
    assert latex.startswith(r"\documentclass") and latex.rstrip().endswith(r"\end{document}")
    for environment in ("document", "lstlisting"):
        assert latex.count(rf"\begin{{{environment}}}") == latex.count(rf"\end{{{environment}}}")
    outside = re.sub(
        r"\\begin\{lstlisting\}.*?\\end\{lstlisting\}|^\\printed\{.*?\}$", "", latex, flags=re.DOTALL | re.M
    )
    outside = re.sub(r"(?<!\\)\$[^$]+\$", "", outside)  # formulas in running text
    assert not re.search(r"(?<!\\)[_^&#%]", outside.split(r"\begin{document}")[1]), "text is escaped"


def test_listings_of_the_latex_hold_ascii_alone(full_report: Report) -> None:
    for paper in full_report.papers:
        latex = as_latex(paper, of_paper(errata(full_report), paper), [])
        for listing in re.findall(r"\\begin\{lstlisting\}(.*?)\\end", latex, flags=re.DOTALL):
            assert listing.isascii(), listing
    assert _in_ascii("‖θ‖ ≤ 3…") == "||theta|| <= 3..."


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex: texlive-latex-extra, to compile the errata")
def test_the_latex_errata_compile(site: Path, tmp_path: Path) -> None:
    for path in sorted((site / "errata").glob("*.tex")):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"-output-directory={tmp_path}", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{path.name}: {done.stdout[-2000:]}"


# -- partial evidence, leftovers, libraries ----------------------------------------------------------------------------


def test_partial_evidence_is_said_on_every_page_it_affects(full_report: Report, site: Path, tmp_path: Path) -> None:
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
    assert "(partial)" in (tmp_path / "badge.svg").read_text()


def test_an_accelerators_evidence_is_told_apart(full_report: Report) -> None:
    cuda = [replace(record, device="cuda") for record in full_report.records_of["osa.alg-1"]]
    both = replace(full_report, records=[*full_report.records, *cuda])
    (before,), (after,) = full_report.shortfalls, both.shortfalls
    assert "osa.alg-1" in before.claims and "osa.alg-1" not in after.claims and before.once and after.once


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


def test_the_log_of_changed_verdicts_has_a_page_once_there_is_one(full_report: Report, tmp_path: Path) -> None:
    one = restricted(full_report, [full_report.claims["osa.alg-1"]])
    changed = (("osa.alg-1", "osa.alg-1: open -> holds"), ("osa.gone", "osa.gone: was holds, and is no claim any more"))
    write_site(one, tmp_path, log=[Changes("2026-01-01T10:00:00Z", "2026-02-03T10:00:00Z", None, "abc", changed, 3)])
    page = (tmp_path / "changes.html").read_text()
    assert "2026-02-03 10:00 UTC, against 2026-01-01 10:00 UTC" in page and ">osa.alg-1</a>: open -&gt; holds" in page
    assert set(Page(tmp_path / "changes.html").references) >= {"claims/osa.alg-1.html"} and "osa.gone.html" not in page
    assert 'href="changes.html"' in (tmp_path / "index.html").read_text()
    write_site(one, tmp_path)
    assert 'href="changes.html"' not in (tmp_path / "index.html").read_text()


#: A stand-in for a program that makes PDFs: it says how it was called, and writes what it was asked for.
FAKE = """#!/bin/sh
for word in "$@"; do
  case $word in
    -output-directory=*) out=${word#*=} ;;
    --print-to-pdf=*) made=${word#*=} ;;
    *.tex) made=$out/$(basename "$word" .tex).pdf ;;
  esac
done
[ -z "$BROKEN" ] || { echo "no such package"; exit 1; }
echo "%PDF by $(basename "$0")" > "$made"
"""


@pytest.mark.parametrize(
    ("there", "by"), [(["pdflatex", "chromium"], "pdflatex"), (["google-chrome"], "google-chrome")]
)
def test_errata_are_printed_by_latex_or_else_by_a_browser(
    full_report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: list[str], by: str
) -> None:
    for name in there:
        (tmp_path / name).write_text(FAKE)
        (tmp_path / name).chmod(0o755)
    for name in ("basename", "sh"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path))
    one = restricted(full_report, [full_report.claims["dynamics.prop-4.1"]])
    folder = tmp_path / "report"
    write_site(one, folder, pdf=True)
    assert (folder / "errata/dynamics.pdf").read_text() == f"%PDF by {by}\n"
    assert 'href="dynamics.pdf"' in (folder / "errata/dynamics.html").read_text()
    monkeypatch.setenv("BROKEN", "yes")
    with pytest.raises(
        InputError, match=rf"--pdf: expected a PDF of dynamics; got status 1 of .*{by}: no such package"
    ):
        write_site(one, folder, pdf=True)
    write_site(one, folder)
    assert not (folder / "errata/dynamics.pdf").exists(), "one that nobody asked for would grow old"
    assert 'href="dynamics.pdf"' not in (folder / "errata/dynamics.html").read_text()


def test_where_nothing_prints_that_is_said_before_anything_is_written(
    full_report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        InputError, match=r"--pdf: expected one of pdflatex, .*chromium.*; got none of them: install one"
    ):
        write_site(full_report, tmp_path / "report", pdf=True)
    assert not (tmp_path / "report").exists()


def test_missing_libraries_are_named_with_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.site.LIBRARIES", ("jinja2", "no_such_library"))
    with pytest.raises(InputError, match=r"extra 'report'.*without no_such_library"):
        require_libraries()


def test_the_badge_counts(site: Path) -> None:
    badge = (site / "badge.svg").read_text()
    ElementTree.fromstring(badge)
    assert "false" in badge and "hold" in badge and "misprinted" in badge
