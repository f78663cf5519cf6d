"""The README says what the registry expects, and its example runs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.numbers import certified, kind_of, sizes
from tests.test_released import needs_a_release
from verify.cli import main
from verify.report.citations import edition, link, reference
from verify.report.contents import contents_markdown
from verify.report.weights import weights_of
from verify.site.badge import counted_kinds, drawn_badge
from verify.vocabulary import Claim, load

pytestmark = pytest.mark.kept(".")

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
VERDICTS = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")


def test_the_table_of_verdicts_is_the_registrys() -> None:
    table = VERDICTS.split("<!-- verdicts -->")[1].split("<!-- end -->")[0]
    rows = re.findall(r"^\| ([a-z]+\.\S+) \| [^|]* \| (\w+)", table, flags=re.MULTILINE)
    assert len(rows) == 19
    registry = load()
    assert {claim_id: verdict for claim_id, verdict in rows} == {
        claim_id: registry[claim_id].expects for claim_id, _ in rows
    }


def printed_claims() -> list[Claim]:
    return [claim for claim in load().values() if not claim.of_project]


def test_the_papers_are_named_as_their_packages_name_them() -> None:
    listed = " ".join(README.split("<!-- papers -->")[1].split("| paper |")[0].split())
    for paper in {claim.paper.key: claim.paper for claim in printed_claims()}.values():
        named, _, number = reference(paper).rpartition("; ")
        assert f"- `{paper.key}`: *{paper.title}*. {named}; [{number}]({link(paper)})" in listed


def test_the_page_of_a_paper_begins_with_its_authors_and_the_text_that_was_checked() -> None:
    for paper in {claim.paper.key: claim.paper for claim in printed_claims()}.values():
        page = " ".join((ROOT / f"docs/papers/{paper.key}.md").read_text(encoding="utf-8").split())
        named, _, number = reference(paper).rpartition("; ")
        assert page.split(") ", 1)[1].startswith(
            f"*{paper.title}*. {named}; [{number}]({link(paper)}). {edition(paper)}"
        )


def test_the_table_of_papers_is_the_registrys() -> None:
    table = README.split("<!-- papers -->")[1].split("<!-- end -->")[0]
    rows = {
        key: numbers.split(" | ") for key, numbers in re.findall(r"^\| \[(\w+)\][^|]*\| (.*) \|$", table, re.MULTILINE)
    }
    assert set(rows) == {claim.paper.key for claim in printed_claims()}
    for key, numbers in rows.items():
        printed = [claim for claim in printed_claims() if claim.paper.key == key]
        kinds = Counter(map(kind_of, printed))
        order = ("holds", "reading", "empirical", "gap", "error", "slip", "repeated")
        assert [int(number) for number in numbers] == [len(printed), *(kinds[kind] for kind in order)]
    own = sum(claim.of_project for claim in load().values())
    assert f"A further {own} claims are our own" in README


def test_the_numbers_in_the_text_are_the_registrys() -> None:
    text = " ".join(README.split())
    printed, weights = printed_claims(), weights_of(load())
    holding = [claim for claim in printed if claim.expects == "holds"]
    core = [claim for claim in holding if weights[claim.id] == "core"]
    proved = sum(claim.all_sizes for claim in holding), sum(claim.all_sizes for claim in core)
    grave = Counter(kind_of(claim) for claim in printed if claim.severity)
    assert f"state {len(printed)} formulas, bounds" in text
    assert f"state {len(printed)} formulas, bounds" in (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert f"{len(holding)} of the {len(printed)} printed claims hold as printed. {proved[0]} of these" in text
    assert f"these {len(holding)} are proved for all sizes, among them {proved[1]} of the {len(core)} core" in text
    assert f"{sum(grave.values())} are refuted" in text
    counted = f"{grave['error']} are false, {grave['slip']} are misprints, and {grave['repeated']} more repeat one"
    assert counted in text
    kinds = Counter(f"refuted ({kind_of(claim)})" if claim.severity else claim.expects for claim in printed)
    assert (ROOT / "docs/verdicts.svg").read_text(encoding="utf-8") == drawn_badge("theorems", counted_kinds(kinds))


def test_the_numbers_of_proofs_that_are_files_are_those_of_the_files() -> None:
    identities, bounds, confirmed = certified(list(load().values()))
    text = " ".join(README.split())
    assert f"{identities[0]} of the {identities[1]} identities and {bounds[0]} of the {bounds[1]} bounds" in text
    assert f"confirms {confirmed}." in text


def test_the_lines_that_have_to_be_trusted_are_those_of_the_modules() -> None:
    """All lines of a module, to 5 %; every module of the checker is in a row."""
    table = (ROOT / "docs/engine.md").read_text(encoding="utf-8").split("| what | lines |")[1].split("\n\n")[0]
    rows = {row[1]: row[2] for row in re.finditer(r"(?m)^\| ([^|]*`verify/[^|]*) \| ([\d,]+)", table)}
    listed = {row: {ROOT / name for name in re.findall(r"`(verify/[^`]+\.py)`", row)} for row in rows}
    (identities,) = (row for row, modules in listed.items() if not modules)
    (bounds,) = (row for row in rows if row.startswith("the checker of bounds"))
    listed[identities] = {*(ROOT / "verify/kernel").glob("*.py")} - listed[bounds]
    assert len(rows) == 6
    for row, modules in listed.items():
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules)
        assert abs(int(rows[row].replace(",", "")) / lines - 1) < 0.05, (row, lines)


@needs_a_release
def test_the_printed_lines_about_a_refutation_are_what_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *lines = re.findall(r"```console\n\$ (.*?)```", README, flags=re.DOTALL)[0].splitlines()
    assert main(["--evidence", str(tmp_path), *command.split()[1:]]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert lines and all(line in printed for line in lines)


@pytest.mark.parametrize("key", sorted({claim.paper.key for claim in load().values()}))
def test_the_papers_page_says_where_a_label_lives(key: str) -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "papers" / f"{key}.md").read_text(encoding="utf-8")
    table = page.split("<!-- contents -->")[1].split("<!-- end -->")[0].strip()
    assert table == "\n".join(contents_markdown(claim for claim in load().values() if claim.paper.key == key))


def test_the_broken_layer_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    (code, printed) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)[0]
    exec(code, {"__name__": "__main__"})
    assert capsys.readouterr().out.startswith(printed)


def test_the_example_runs() -> None:
    code = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)[1]
    names: dict[str, object] = {}
    exec(code, names)
    assert tuple(names["H"].shape) == (8, 8)  # type: ignore[attr-defined]


def test_links_lead_somewhere() -> None:
    root = Path(__file__).resolve().parents[1]
    pages = [root / "README.md", *root.glob("docs/**/*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_files_that_the_docs_name_are_there() -> None:
    """A page of a paper names modules below the paper's folder; the page about packages elsewhere names its own files."""
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]:
        for name in re.findall(r"`([\w./-]+\.py)`", page.read_text(encoding="utf-8")):
            folder = ROOT / "theorems" / (page.stem if page.parent.name == "papers" else "")
            found = (ROOT / name).exists() or any(folder.glob(f"**/{name}"))
            assert found or name.startswith("my_theorems/"), f"{page.name} names {name}"


def test_the_readme_begins_with_what_it_is_and_has_findings_that_are_the_registrys() -> None:
    first = "\n".join(README.splitlines()[:60])  # after the list of the papers
    assert all(f"**{words}.**" in first for words in ("A false statement", "A layer with a mistake", "What was found"))
    assert len(README.splitlines()) <= 160
    assert re.search(r"!\[[^]]+\]\(docs/\S+\.png\)", README)
    findings = re.findall(r"^- \*.*?\(`([a-z]+\.\S+)`\):", README, flags=re.MULTILINE)
    assert len(findings) == 3 and all(load()[claim_id].expects == "refuted" for claim_id in findings)


def test_the_citation_names_the_papers_as_their_packages_do() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    papers = {claim.paper.key: claim.paper for claim in load().values() if not claim.paper.of_project}
    found = {
        (
            item["title"],
            tuple(f"{author['given-names']} {author['family-names']}" for author in item["authors"]),
            item["conference"]["name"],
            item["url"],
        )
        for item in cited
    }
    assert found == {(paper.title, paper.authors, paper.venue, link(paper)) for paper in papers.values()}
    assert all(str(item["year"]) in item["conference"]["name"] for item in cited)
    assert all(paper.checked for paper in papers.values()), "each says which text was checked"


def test_the_citation_names_what_the_package_is() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in ("version", "license"):
        (stated,) = re.findall(rf'^{name} = "(.*)"$', project, flags=re.MULTILINE)
        assert f"{name}: {stated}" in text
    assert "doi:" not in text and "identifiers:" not in text, "no identifier that nobody has given"


def test_the_engine_is_about_as_large_as_its_page_says() -> None:
    """Within 2 percent: a change of a few lines is no reason to write the page anew."""
    page = (ROOT / "docs/engine.md").read_text(encoding="utf-8")
    for pattern, value in sizes(len(load())).items():
        (said,) = re.findall(pattern.replace("#", r"([\d,.]*\d)"), page)
        said, found = (float(number.replace(",", "")) for number in (said, value))
        assert abs(said - found) <= 0.02 * found, pattern
